"""DMPD's counting, folding, validity and search: the vectors of its spec, and random tables with a naive oracle."""

from __future__ import annotations

import csv
import random
from collections import Counter

import numpy as np
import pytest

from ppdm_sql.cells.aggregate import aggregate
from ppdm_sql.methods.dmpd.counting import DmpdCells
from ppdm_sql.methods.dmpd.folding import fold
from ppdm_sql.methods.dmpd.front import attainment
from ppdm_sql.methods.dmpd.options import DmpdOptions
from ppdm_sql.methods.dmpd.search import PartsSearch, canonical, cross
from ppdm_sql.methods.dmpd.validity import partition_validity
from ppdm_sql.methods.dmpd.wrapper import CodedRows, Wrapper, tree_probabilities, unique_rows
from ppdm_sql.policy.policy import Policy, Roles
from ppdm_sql.requirements import KAnonymity
from ppdm_sql.source.relation import resolve
from ppdm_sql.statements.names import Name, Word
from tests.oracles import naive_dmpd
from tests.public_data import DATA, needs_data
from tests.sizes import seeds

NAMES = ("q1", "q2", "q3", "y")


def table_of(engine, make_table, rows, names=NAMES, name="t"):
    make_table(engine, name, dict.fromkeys(names, "TEXT"), rows)
    *quasi, target = names
    roles = Roles(quasi=tuple(map(Word, quasi)), target=Word(target))
    policy = Policy("dmpd", (KAnonymity(2),), roles)
    cells = aggregate(engine, resolve(Name(name), engine.columns(Name(name)), policy, (name,)), names)
    codes = {one: cells[one].codes.astype(np.int64) for one in quasi}
    return DmpdCells(cells, target, codes, {one: cells[one].size for one in quasi})


def random_rows(draw, classes, most=60):
    sizes = [draw.randint(1, 3) for _ in range(3)]
    return [
        (*(draw.choice([None, *"abc"][: size + 1]) for size in sizes), f"c{draw.randrange(classes)}")
        for _ in range(draw.randint(5, most))
    ]


PARTITIONS = [[("q1",), ("q2",), ("q3",)], [("q1", "q2"), ("q3",)], [("q1", "q3"), ("q2",)], [("q1", "q2", "q3")]]


@seeds(small=25, full=150, nightly=500)
def test_both_levels_are_those_of_loops_over_rows(duckdb_engine, make_table, seeds):
    for seed in seeds:
        draw = random.Random(seed)
        rows, parts = random_rows(draw, draw.randint(1, 4)), draw.choice(PARTITIONS)
        with duckdb_engine.workspace():
            table = table_of(duckdb_engine, make_table, rows, name=f"t{seed}")
            k = draw.randint(1, 6)
            found = partition_validity(table, parts, frozenset(NAMES[:3]), k, "exact")
        places = [[NAMES.index(name) for name in part] for part in parts]
        least, joined = naive_dmpd.level(rows, places, 3)
        every = naive_dmpd.joined_counts(rows, places, 3)
        assert min(one.smallest for one in found.parts.values()) == least
        assert min(found.joined.smallest, least) == min(joined, least)
        if k <= least:  # the products are exact up to the least group
            below = [combination for combination, (size, _) in every.items() if size < k]
            assert found.joined.breaching_groups == len(below)
            if not below:
                combination = draw.choice(sorted(every, key=repr))
                if len(rows) <= 20:  # the join made row by row
                    flat = tuple(value for values in combination for value in values)
                    assert naive_dmpd.join_size(rows, places, 3, flat) == every[combination][0] >= k
        certain = {combination for combination, (_, left) in every.items() if left == 1}
        held = [tuple(tuple(row[place] for place in part) for part in places) for row in rows]
        assert found.certain_rows == sum(one in certain for one in held)


@seeds(small=40, full=300, nightly=1500)
def test_of_two_classes_the_first_level_implies_the_second(duckdb_engine, make_table, seeds):
    for seed in seeds:
        draw = random.Random(seed)
        rows, parts = random_rows(draw, 2), draw.choice(PARTITIONS)
        with duckdb_engine.workspace():
            table = table_of(duckdb_engine, make_table, rows, name=f"t{seed}")
            k = min(group.smallest for group in (table.groups(part) for part in parts))
            for rejoin in ("exact", "all"):
                assert partition_validity(table, parts, frozenset(NAMES[:3]), k, rejoin).holds


def test_d1(duckdb_engine, make_table):
    rows = [("a", "b", "y0"), *2 * [("a", "d", "y1")], *2 * [("c", "b", "y2")], ("c", "d", "y0"),
            *2 * [("c", "d", "y1")], *2 * [("c", "d", "y2")]]  # fmt: skip
    table = table_of(duckdb_engine, make_table, rows, ("q1", "q2", "y"))
    found = partition_validity(table, [("q1",), ("q2",)], frozenset({"q1", "q2"}), 3, "exact")
    assert {number: one.smallest for number, one in found.parts.items()} == {1: 3, 2: 3}
    assert (found.joined.smallest, found.joined.breaching_groups, found.certain_rows) == (1, 1, 1)
    strict = partition_validity(table, [("q1",), ("q2",)], frozenset({"q1", "q2"}), 3, "class")
    assert (strict.joined.smallest, strict.holds) == (1, False)
    assert naive_dmpd.joined_counts(rows, [(0,), (1,)], 2) == {
        (("a",), ("b",)): (1, 1), (("a",), ("d",)): (9, 2), (("c",), ("b",)): (9, 2), (("c",), ("d",)): (17, 3),
    }  # fmt: skip
    assert naive_dmpd.join_size(rows, [(0,), (1,)], 2, ("c", "d")) == 17


def test_rare_values_become_one_that_takes_in_a_frequent_one(duckdb_engine, make_table):
    rows = [(value, "y") for value, times in (("a", 900), ("b", 60), ("c", 30), ("d", 13)) for _ in range(times)]
    table = table_of(duckdb_engine, make_table, rows, ("q", "y"))
    found = fold(table, "q", 50, pool=True)
    sizes = Counter(found.labels[found.of_code[code]] for code in np.repeat(table.codes["q"], table.cells.rows))
    assert sizes == {"a": 900, "other": 103}


def test_crossover_is_closed():
    draw = random.Random(4)
    for _ in range(500):
        items = range(draw.randint(2, 7))
        parents = []
        for _ in range(2):
            groups = [[] for _ in range(4)]
            for item in items:
                groups[draw.randrange(4)].append(item)
            parents.append(canonical(groups[:3]))
        first, second = parents
        for anchor in first:
            child = cross(first, second, anchor, filters=False)
            placed = [item for group in child for item in group]
            assert len(placed) == len(set(placed))
            assert all(child)
            assert tuple(anchor) in child


def test_d4_the_combination_of_two_parts():
    probabilities = tree_probabilities(np.array([[0]], dtype=np.int32), np.array([[3, 1]]))
    assert probabilities[0] == pytest.approx([4 / 6, 2 / 6])
    scores = np.array([0.75 * 0.5 / 0.6, 0.25 * 0.5 / 0.4])
    assert scores / scores.sum() == pytest.approx([2 / 3, 1 / 3])


def test_d5_surfaces():
    runs = [[(3, 0.86), (100, 0.83), (600, 0.80)], [(3, 0.85), (200, 0.83)], [(5, 0.84), (100, 0.82), (700, 0.79)]]
    found = {
        one.k: (one.best, one.median, one.worst) for one in attainment(runs, [1, 3, 4, 5, 100, 150, 200, 600, 700])
    }
    assert found[1] == found[3] == (0.86, 0.85, 0.84)
    assert found[4] == found[5] == (0.84, 0.83, 0.83)
    assert (found[100], found[150], found[200]) == ((0.83, 0.83, 0.82), (0.83, 0.80, 0.79), (0.83, 0.80, 0.79))
    assert (found[600], found[700]) == ((0.80, 0.79, None), (0.79, None, None))


def coded(rows, folds=3):
    values = np.array([[int(value) for value in row[:-1]] for row in rows], dtype=np.int32)
    classes = np.array([int(row[-1]) for row in rows], dtype=np.int64)
    fold_of = np.arange(len(rows)) % folds
    return CodedRows(tuple("abc"), values, classes, 2, fold_of, folds, np.ones(len(rows), dtype=np.int64))


def test_naive_bayes_is_the_same_whatever_the_partition_of_single_columns():
    draw = random.Random(5)
    rows = coded([(draw.randrange(3), draw.randrange(2), draw.randrange(4), draw.randrange(2)) for _ in range(200)])
    wrapper = Wrapper(rows, grows=False)
    assert wrapper.accuracy([(0,), (1,), (2,)]) == wrapper.accuracy([(2,), (0,), (1,)])
    assert wrapper.tried == 1


def test_unique_rows_gives_them_back():
    codes = np.array([[1, 2], [0, 2], [1, 2], [3, 0]], dtype=np.int32)
    values, number = unique_rows(codes)
    assert (values[number] == codes).all()
    assert len(values) == 3


OPTIONS = DmpdOptions(population=8, generations=4, folds=2)


def searched(engine, make_table, seed, rows, **more):
    with engine.workspace():
        table = table_of(engine, make_table, rows, name=f"t{random.Random(str(more)).randrange(10**6)}")
        search = PartsSearch(table, NAMES[:3], frozenset(NAMES[:3]), 8, OPTIONS, seed=seed, **more)
        return search.run(), table


def learnable(seed=2, rows=300):
    draw = random.Random(seed)
    made = []
    for _ in range(rows):
        one, two, three = draw.choice("ab"), draw.choice("abc"), draw.choice("abcd")
        made.append((one, two, three, "x" if (one == "a") == (two == "b") else "z"))
    return made


def test_the_same_seed_finds_the_same_parts(duckdb_engine, make_table):
    pytest.importorskip("pymoo")
    rows = learnable()
    first, table = searched(duckdb_engine, make_table, 1, rows)
    again, _ = searched(duckdb_engine, make_table, 1, rows, together=())
    assert (first.parts, first.accuracy, first.tried) == (again.parts, again.accuracy, again.tried)
    assert partition_validity(table, first.parts, frozenset(NAMES[:3]), 8, "exact").holds
    assert {"q1", "q2"} <= set(next(part for part in first.parts if "q1" in part))  # the class is made of both


def test_columns_stay_together_or_apart(duckdb_engine, make_table):
    pytest.importorskip("pymoo")
    rows = learnable()
    kept, _ = searched(duckdb_engine, make_table, 1, rows, together=(("q1", "q3"),))
    assert all(("q1" in part) == ("q3" in part) for part in kept.parts)
    parted, _ = searched(duckdb_engine, make_table, 1, rows, apart=(("q1", "q2"),))
    assert not any({"q1", "q2"} <= set(part) for part in parted.parts)


@needs_data
def test_nursery_by_a_closed_form(duckdb_engine, make_table):
    """Every combination occurs once, so K of a group is 12,960 over the product of its domain sizes."""
    with (DATA / "nursery.csv").open(encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    table = table_of(duckdb_engine, make_table, [tuple(row) for row in rows], tuple(names))
    for group in (names[:3], names[3:5], [names[7]], names[:8]):
        assert table.groups(group).smallest == 12_960 // np.prod([table.sizes[name] for name in group])
