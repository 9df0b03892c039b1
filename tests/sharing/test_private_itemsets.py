"""Frequent itemsets over the rows of several sites are those of the union; nothing small is printed or follows."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from oracles.naive_itemsets import frequent, small_groups
from rounds import PEOPLE, keys_of, open_people, random_hospitals
from sizes import seeds

from ppdm_sql.classifiers.domains import CategoricalDomain
from ppdm_sql.engines.base import Kind
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import PolicyError, PpdmError
from ppdm_sql.sharing.private import folder as files
from ppdm_sql.sharing.private.codebook import AgreedAttribute, Codebook
from ppdm_sql.sharing.private.itemsets import (
    Threshold,
    association_rules,
    candidates_of,
    items_text,
    next_candidates,
    open_level,
    open_levels,
    printable_sets,
    subject_of,
    support_vector,
)
from ppdm_sql.trees.tree import Attribute


def hold_level(codebook, engines, folder, threshold, level) -> None:
    """Every site counts the level; mixers add up."""
    candidates = candidates_of(codebook, folder, threshold, level)
    subject = subject_of(candidates, level, threshold)
    for name, engine in engines.items():
        with engine.workspace():
            vector = support_vector(engine, PEOPLE, codebook, candidates)
        files.write_vector(vector, codebook, keys_of(name), folder, subject)
    for mixer in codebook.mixers:
        files.mix(codebook, keys_of(mixer.name), folder, folder, len(candidates) + 1, subject)


@pytest.mark.parametrize("mode", ["masks", "mixers"])
def test_the_example_of_the_specification(tmp_path, mode):
    """Vector B5: support 1/2 over three sites; ab is frequent at the very threshold, ac and bc are not."""
    rows = {"east": ["ab", "ac", "abc", "b"], "north": ["ab", "bc", "ab"], "west": ["c", "ac", "abc"]}
    attributes = tuple(
        AgreedAttribute(Attribute(name, Kind.BOOLEAN, False), CategoricalDomain((True,))) for name in "abc"
    )
    codebook = Codebook(
        "r1", mode, 1, Attribute("class", Kind.TEXT, False), ("x",), attributes,
        tuple(keys_of(name).public for name in rows),
        tuple(keys_of(f"mixer-{place}").public for place in range(2 if mode == "mixers" else 0)),
    )  # fmt: skip
    engines = {}
    for name, baskets in rows.items():
        engines[name] = engine = DuckDBEngine.open(":memory:")
        engine._connection.execute("CREATE TABLE people (a BOOLEAN, b BOOLEAN, c BOOLEAN, class VARCHAR)")
        for basket in baskets:
            values = [True if item in basket else None for item in "abc"]
            engine._connection.execute("INSERT INTO people VALUES (?, ?, ?, NULL)", values)
    threshold = Threshold(Fraction(1, 2))
    for level in (1, 2):
        hold_level(codebook, engines, tmp_path, threshold, level)
    found = open_levels(codebook, tmp_path, threshold, 2)
    named = {"".join("abc"[place] for place, _ in one): number for one, number in found.items()}
    assert named == {"": 10, "a": 7, "b": 7, "c": 6, "ab": 5}
    with pytest.raises(PolicyError, match="no candidates at level 3"):
        candidates_of(codebook, tmp_path, threshold, 3)
    (first, second) = association_rules(found, Fraction(7, 10))
    assert {(items_text(codebook, rule.left), rule.confidence) for rule in (first, second)} == {
        ("a = true", Fraction(5, 7)), ("b = true", Fraction(5, 7)),
    }  # fmt: skip
    assert association_rules(found, Fraction(3, 4)) == []
    for engine in engines.values():
        engine.close()


@seeds(small=1, full=4, nightly=40)
def test_frequent_sets_are_those_of_the_union(seeds, tmp_path):
    for seed in seeds:
        draw = random.Random(seed)
        hospitals, _ = random_hospitals(seed, draw.choice(["masks", "mixers"]), 3)
        hospitals.union.close()
        book, folder = replace(hospitals.codebook, k=2), tmp_path / str(seed)
        folder.mkdir()
        threshold = Threshold(Fraction(draw.choice([1, 2, 3]), 10))
        listed = {
            name: [row for row in rows if row[-1] is None or row[-1] in book.classes]
            for name, rows in hospitals.rows.items()
        }
        engines = {name: open_people(rows) for name, rows in listed.items()}
        everybody = [items_of(book, row) for rows in listed.values() for row in rows]
        expected = frequent(everybody, threshold.least_rows(len(everybody), book.k), 3)
        found = {(): len(everybody)}
        for level in (1, 2, 3):
            if level > 1 and not next_candidates([one for one in found if len(one) == level - 1]):
                with pytest.raises(PolicyError, match="no candidates"):
                    candidates_of(book, folder, threshold, level)
                break
            hold_level(book, engines, folder, threshold, level)
            found |= open_level(book, folder, threshold, level).supports
        assert found == expected
        compare_with_mlxtend(everybody, expected)
        for engine in engines.values():
            engine.close()


def items_of(codebook, row) -> frozenset:
    """The items of one row, one value at a time."""
    *values, label = row
    names = ["age", 'o"brien; --', "dose", "paid", "born", "smokes"]
    found = set()
    for place, one in enumerate(codebook.attributes):
        value = values[names.index(one.attribute.name)]
        if one.attribute.kind is Kind.DECIMAL and value is not None:
            value = Decimal(value)
        code = one.domain.code_of(one.attribute, value)
        if code < one.width:
            found.add((place, code))
    if label is not None:
        found.add((len(codebook.attributes), codebook.classes.index(label)))
    return frozenset(found)


def compare_with_mlxtend(rows: list[frozenset], expected: dict) -> None:
    patterns = pytest.importorskip("mlxtend.frequent_patterns")
    import pandas as pd

    items = sorted(set().union(*rows))
    table = pd.DataFrame([[item in row for item in items] for row in rows], columns=range(len(items)))
    least = min(number for number in expected.values())
    found = patterns.apriori(table, min_support=(least - 0.5) / len(rows), max_len=3)
    told = {tuple(sorted(items[place] for place in one)) for one in found["itemsets"]}
    assert {one for one in expected if one} == {one for one in told if one in expected}
    assert len([one for one in told if one not in expected]) == 0


@seeds(small=60, full=400, nightly=4000)
def test_nothing_small_follows_from_what_is_printed(seeds):
    """Rows with some items of a printed set and none of its others; rows without any printed value of an attribute."""
    hidden = 0
    for seed in seeds:
        draw = random.Random(seed)
        k, number = draw.choice([2, 3, 5]), draw.choice([20, 60])
        attributes = 3
        rows = [
            frozenset((place, draw.choice([0, 0, 0, 1, 1, 2])) for place in range(attributes) if draw.random() < 0.97)
            for _ in range(number)
        ]
        found = frequent(rows, draw.choice([k, 2 * k]), 3)
        found = {one: support for one, support in found.items() if len({place for place, _ in one}) == len(one)}
        found[()] = number
        printed = printable_sets(found, attributes, k)
        assert small_groups(rows, printed, k) == []
        hidden += len(found) - len(printed)
        for base in printed:
            for place in range(attributes):
                values = [one for one in printed if len(one) == len(base) + 1 and set(base) < set(one) and (set(one) - set(base)).pop()[0] == place]  # fmt: skip
                left = printed[base] - sum(printed[one] for one in values)
                assert not values or left == 0 or left >= k
    assert hidden


def test_candidates_are_those_of_apriori():
    one, two, three = ((0, 0),), ((0, 1),), ((1, 0),)
    assert next_candidates([one, two, three]) == [((0, 0), (1, 0)), ((0, 1), (1, 0))]
    pairs = [((0, 0), (1, 0)), ((0, 0), (2, 0)), ((1, 0), (2, 0))]
    assert next_candidates(pairs) == [((0, 0), (1, 0), (2, 0))]
    assert next_candidates(pairs[:2]) == []


def test_sites_with_another_support_cannot_be_added_up(tmp_path):
    hospitals, _ = random_hospitals(11, "masks", 3)
    hospitals.union.close()
    engines = {name: open_people([row for row in rows if row[-1] in hospitals.codebook.classes]) for name, rows in hospitals.rows.items()}  # fmt: skip
    book = hospitals.codebook
    hold_level(book, engines, tmp_path, Threshold(Fraction(1, 4)), 1)
    with pytest.raises(PpdmError, match="no message from"):
        open_level(book, tmp_path, Threshold(Fraction(1, 5)), 1)
    for engine in engines.values():
        engine.close()
