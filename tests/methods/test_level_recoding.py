"""What a full-domain recoding says of rows: of those it was made from what was published, of others nothing untrue."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from fractions import Fraction

import pytest
from lattice_cases import Case, random_case
from test_recoding import recode

from ppdm_sql.errors import RequirementBreached
from ppdm_sql.methods.recoding import read_recoding
from ppdm_sql.requirements import KAnonymity
from ppdm_sql.source.hierarchy import build
from tests.sizes import seeds

pytestmark = pytest.mark.duckdb


@seeds(small=8, full=60, nightly=400)
def test_rows_that_were_published_are_recoded_as_they_were(duckdb_engine, seeds):
    for seed in seeds:
        case = random_case(seed)
        try:
            plan, rows = case.run(duckdb_engine)
        except RequirementBreached:
            continue
        recoding = read_recoding(plan.recoding.to_json())
        trees = {name: build(name, lines) for name, lines in case.hierarchies.items()}
        source = {row["id"]: row for row in case.rows}
        kept = [source[row["ppdm_key0"]] for row in rows]
        found = recode(duckdb_engine, recoding, case.policy, case.columns, kept, case.quasi, trees)
        assert found == [tuple(row[name] for name in case.quasi) for row in rows]


@seeds(small=8, full=60, nightly=400)
def test_other_rows_get_labels_that_are_true_of_them(duckdb_engine, seeds):
    for seed in seeds:
        case, rng = random_case(seed), random.Random(seed)
        try:
            plan, _ = case.run(duckdb_engine)
        except RequirementBreached:
            continue
        ladders = {one.name: one for one in case.ladders()}
        pools = {name: list(ladders[name].labels) for name in case.quasi}
        rows = [
            {**rng.choice(case.rows), **{name: rng.choice(pool) for name, pool in pools.items()}} for _ in range(20)
        ]
        trees = {name: build(name, lines) for name, lines in case.hierarchies.items()}
        found = recode(duckdb_engine, plan.recoding, case.policy, case.columns, rows, case.quasi, trees)
        for row, labels in zip(rows, found, strict=True):
            for name, label in zip(case.quasi, labels, strict=True):
                own = ladders[name].labels[row[name]][plan.choices[0].levels[name]]
                told = None if own is None else own if own == "all" else own[1]
                assert label == told or label.strip("*") == ""


@pytest.mark.parametrize("kind", ["date", "timestamp", "float"])
def test_columns_without_a_hierarchy_are_recoded_by_period_or_interval(duckdb_engine, kind):
    """Every value lies in one period or interval of each level; NaN keeps its own label."""
    days = [date(1988, 1, 31) + timedelta(days=31 * number) for number in range(60)]
    made = {
        "date": days,
        "timestamp": [datetime(day.year, day.month, day.day, number % 24, 30) for number, day in enumerate(days)],
        "float": [float("nan"), *(number / 8 for number in range(59))],
    }[kind]
    rows = [{"id": number, "seen": value} for number, value in enumerate([*made, *made])]
    levels = set()
    for k in (2, 5, 6, 16, 20, 60):
        case = Case({"id": "integer", "seen": kind}, rows, ["seen"], (KAnonymity(k),), suppress=Fraction(1, 3))
        plan, published = case.run(duckdb_engine)
        levels.add(plan.choices[0].levels["seen"])
        recoding = read_recoding(plan.recoding.to_json())
        kept = [rows[row["ppdm_key0"]] for row in published]
        found = recode(duckdb_engine, recoding, case.policy, case.columns, kept, ["seen"], {})
        assert found == [(row["seen"],) for row in published]
    assert len(levels) >= 3
