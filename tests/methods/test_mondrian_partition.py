"""Mondrian against the naive one, and against what it promises, on random tables."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import naive_mondrian as naive
import pytest
from mondrian_cases import Case, meets, outlier_case, random_case, run
from mondrian_labels import covers, members
from naive_mondrian import leaf_text

from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import RequirementBreached
from ppdm_sql.methods.plan import ENTITY, PART
from ppdm_sql.requirements import KAnonymity
from tests.sizes import are_many, seeds


def marker_of(case: Case) -> str:
    """Stars, one more than any word that consists of stars has."""
    words = {row[name] for row in case.rows for name in case.quasi if isinstance(row[name], str)}
    return "*" * (1 + max((len(word) for word in words if set(word) == {"*"}), default=0))


@pytest.fixture(scope="module")
def small_engine():
    """One thread: on sixty rows a second one only waits."""
    with DuckDBEngine.open(":memory:", threads=1) as engine:
        yield engine


@pytest.mark.duckdb
@seeds(small=8, full=48, nightly=300, block=40)
def test_random_tables(small_engine, seeds):
    """Each table is partitioned and printed as the naive one does it, and keeps every promise."""
    run_random_tables(small_engine, seeds, skewed=False)


@pytest.mark.duckdb
@seeds(small=20, full=100, nightly=300, block=40)
def test_random_tables_with_rare_values_along_hierarchies(small_engine, seeds):
    """Labels stay behind, rows are pulled up or left out."""
    run_random_tables(small_engine, seeds, skewed=True)


@pytest.mark.duckdb
@seeds(small=30, full=100, nightly=300, block=40)
def test_random_tables_with_outliers_on_number_lines(small_engine, seeds):
    """Ends of number lines are left out."""
    lost = run_random_tables(small_engine, seeds, make=outlier_case)
    assert lost or not are_many(seeds)


def run_random_tables(small_engine, seeds, skewed=False, make=None):
    """How many rows were left out."""
    ran = lost = 0
    for seed in seeds:
        case = make(seed) if make else random_case(seed, skewed=skewed)
        table = case.naive()
        if not table.fine(list(range(len(case.rows)))):
            with pytest.raises(RequirementBreached):
                run(small_engine, case)
            continue
        outcome = run(small_engine, case)
        check_against_naive(case, table, outcome)
        check_promises(case, table, outcome)
        ran += 1
        lost += outcome.plan.suppressed_rows
    assert ran > len(seeds) // 3 or not are_many(seeds)
    return lost


def check_against_naive(case, table, outcome):
    most = int(case.options["max_parts"]) if case.options else None
    parts = naive.partition(table, most)
    marker, expected, lost = marker_of(case), Counter(), 0
    for part in parts:
        printed = tuple(naive.printed(table, part, name, marker) for name in case.quasi)
        expected.update((table.codes(i), None if part.lost else printed) for i in part.rows)
        lost += len(part.rows) if part.lost else 0
    place = {row["id"]: i for i, row in enumerate(case.rows)}
    # Rows that are alike in all codes may be exchanged: how many of them are printed how is what counts.
    found = Counter((table.codes(place[row["id"]]), tuple(row[name] for name in case.quasi)) for row in outcome.rows)
    gone = set(place) - {row["id"] for row in outcome.rows}
    found.update((table.codes(place[number]), None) for number in gone)
    assert found == expected
    assert outcome.plan.suppressed_rows == lost == len(gone)
    assert outcome.plan.classes == len({row[PART] for row in outcome.rows})
    assert outcome.plan.classes == len({printed for _, printed in expected if printed is not None})
    assert outcome.plan.figures["parts"] == sum(not part.lost for part in parts)
    if most is None:
        for part in parts:
            if not part.lost:
                assert all(naive.best_of(table, part, name) is None for name in case.quasi)


def check_promises(case, table, outcome):
    by_id = {row["id"]: row for row in case.rows}
    published = Counter(row["id"] for row in outcome.rows)
    assert set(published.values()) == {1}
    assert not set(published) - set(by_id)
    assert len(by_id) - len(published) == outcome.plan.suppressed_rows <= case.suppress * len(by_id)
    assert outcome.plan.rows == len(case.rows)
    check_rows_unchanged(case, by_id, outcome)
    check_requirements(case, by_id, outcome)
    check_labels(case, table, by_id, outcome)
    check_apart(case, outcome)


def check_rows_unchanged(case, by_id, outcome):
    for row in outcome.rows:
        source = by_id[row["id"]]
        for name in outcome.plan.published:
            if name not in case.quasi:
                assert row[name] == source[name]
        assert row["ppdm_key0"] == row["id"]
        if case.entity:
            assert row[ENTITY] == source[case.entity]


def classes_of(case, outcome):
    """Row ids by what is printed: what a recipient sees."""
    found = {}
    for row in outcome.rows:
        found.setdefault(tuple(row[name] for name in case.quasi), []).append(row)
    return found


def check_requirements(case, by_id, outcome):
    for rows in classes_of(case, outcome).values():
        assert len({row[PART] for row in rows}) == 1
        members_ = [by_id[row["id"]] for row in rows]
        persons = {row[case.entity] for row in members_} - {None} if case.entity else members_
        assert len(persons) >= case.k
        for requirement in case.requirements:
            if not isinstance(requirement, KAnonymity):
                assert all(meets(requirement, case, members_, name) for name in case.sensitive)


def check_labels(case, table, by_id, outcome):
    """Every label stands for the row's value; what fewer than k hold is not printed."""
    marker = marker_of(case)
    trees = case.trees
    for name in case.quasi:
        held = table.held[name]
        rare = {
            leaf_text(row[name]) for row in case.rows if row[name] is not None and held[naive.key(row[name])] < case.k
        }
        for row in outcome.rows:
            value = by_id[row["id"]][name]
            levels = trees[name].levels_of(value) if name in trees and value is not None else None
            assert covers(row[name], value, marker, levels, case.orders.get(name))
            if name not in trees and row[name] is not None:
                assert row[name] not in rare
                assert not rare & set(members(row[name]))


def check_apart(case, outcome):
    """Two classes have no combination of values in common, where nothing is suppressed for NULL or length."""
    if any(row[name] is None for row in case.rows for name in case.quasi) or case.trees or case.orders:
        return
    domains = {name: {naive.key(row[name]): row[name] for row in case.rows} for name in case.quasi}
    if any(case.columns[name] == "text" and len(domains[name]) > 12 for name in case.quasi):
        return
    marker = marker_of(case)
    for one, other in combinations(classes_of(case, outcome), 2):
        if any(label == marker or "..." in label or "{other}" in label for label in (*one, *other)):
            continue
        assert not all(
            any(covers(a, value, marker) and covers(b, value, marker) for value in domains[name].values())
            for name, a, b in zip(case.quasi, one, other, strict=True)
        )


@pytest.mark.duckdb
def test_the_order_of_the_rows_makes_no_difference(small_engine):
    cases = [random_case(seed, demanding=False) for seed in range(3, 20)]
    for case in [case for case in cases if case.naive().fine(list(range(len(case.rows))))][:4]:
        first = run(small_engine, case)
        case.rows.reverse()
        assert key_of(case, run(small_engine, case)) == key_of(case, first)


def key_of(case, outcome):
    return {row["id"]: (row[PART], *(row[name] for name in case.quasi)) for row in outcome.rows}
