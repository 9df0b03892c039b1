"""Parts of equal size, the same for the same seed, whatever the order of the rows and the engine."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from evaluate_tables import COLUMNS, PORTABLE, QUICK, TARGET, random_rows, store
from sqlglot import exp

from ppdm_sql.errors import PolicyError
from ppdm_sql.evaluate.folds import FOLD, deal, folds, halves, hold_out, sources, train_and_test
from ppdm_sql.statements.names import Name, column, own

DEALT, TRAIN, TEST = own("ppdm_test_dealt"), own("ppdm_test_train"), own("ppdm_test_test")
ALL = COLUMNS | {TARGET: "TEXT"}


def fetched(engine, relation, names=tuple(ALL)):
    query = exp.Select(expressions=[exp.cast(column(name), "TEXT") for name in names]).from_(relation.table())
    return [tuple(row) for row in engine.fetch(query)]


@QUICK
@pytest.mark.parametrize(("rows", "parts"), [(120, 2), (121, 10), (7, 10), (0, 3), (50, 1)])
def test_parts_are_equally_large_and_hold_every_row_once(engine, make_table, rows, parts):
    relation = store(engine, make_table, random_rows(3, rows))
    deal(engine, relation, DEALT, parts=parts, seed=7)
    dealt = fetched(engine, DEALT, (*ALL, FOLD))
    assert Counter(row[:-1] for row in dealt) == Counter(fetched(engine, relation))
    sizes = Counter(int(row[-1]) for row in dealt)
    assert set(sizes) <= set(range(parts))
    assert max(sizes.values(), default=0) - min((sizes[part] for part in range(parts)), default=0) <= 1
    assert [info.name for info in engine.columns(DEALT)] == [*ALL, FOLD]


def test_the_order_of_the_rows_does_not_matter_and_seed_and_repeat_do(duckdb_engine, make_table):
    rows = random_rows(5, 200)
    found = {}
    for name, shuffled in (("one", rows), ("two", random.Random(1).sample(rows, len(rows)))):
        relation = store(duckdb_engine, make_table, shuffled, name)
        for seed, repeat in ((7, 0), (7, 1), (8, 0)):
            deal(duckdb_engine, relation, DEALT, parts=4, seed=seed, repeat=repeat)
            found[name, seed, repeat] = Counter(fetched(duckdb_engine, DEALT, (*ALL, FOLD)))
    assert all(found["one", *key] == found["two", *key] for key in ((7, 0), (7, 1), (8, 0)))
    assert len({tuple(sorted(map(str, found["one", *key]))) for key in ((7, 0), (7, 1), (8, 0))}) == 3


def test_engines_deal_alike(duckdb_engine, postgres_engine, make_table):
    """Of values that every engine prints alike."""
    rows, kept = random_rows(9, 150), PORTABLE | {TARGET: "TEXT"}
    dealt = []
    for engine in (duckdb_engine, postgres_engine):
        relation = store(engine, make_table, rows, columns=kept)
        deal(engine, relation, DEALT, parts=3, seed=1)
        dealt.append(Counter(fetched(engine, DEALT, (*kept, FOLD))))
    assert dealt[0] == dealt[1]


def test_equal_rows_are_dealt_like_any_others(duckdb_engine, make_table):
    """A thousand equal pairs: with ranks side by side every pair would be parted, by chance half of them are."""
    pairs = [(number // 2,) for number in range(2000)]
    relation = make_table(duckdb_engine, "t", {"x": "INTEGER"}, pairs)
    deal(duckdb_engine, relation, DEALT, parts=2, seed=3)
    parts = {}
    for number, part in fetched(duckdb_engine, DEALT, ("x", FOLD)):
        parts.setdefault(number, set()).add(part)
    parted = sum(len(found) == 2 for found in parts.values())
    assert 400 < parted < 600


@QUICK
def test_rows_of_a_person_stay_together(engine, make_table):
    rows = [(number % 37, None if number % 11 == 0 else number) for number in range(400)]
    relation = make_table(engine, "t", {"per son": "INTEGER", "x": "INTEGER"}, rows)
    deal(engine, relation, DEALT, parts=5, seed=3, by=["per son"])
    parts = {}
    for person, part in fetched(engine, DEALT, ("per son", FOLD)):
        parts.setdefault(person, set()).add(part)
    assert all(len(found) == 1 for found in parts.values())
    sizes = Counter(next(iter(found)) for found in parts.values())
    assert sorted(sizes.values()) == [7, 7, 7, 8, 8]


@QUICK
def test_halves_are_each_once_the_one_to_learn_from(engine, make_table):
    relation = store(engine, make_table, random_rows(2, 41))
    whole, seen = Counter(fetched(engine, relation)), []
    for repeat, half in halves(engine, relation, seed=5, train=TRAIN, test=TEST, columns=list(ALL)):
        train, test = Counter(fetched(engine, TRAIN)), Counter(fetched(engine, TEST))
        assert train + test == whole
        assert abs(train.total() - test.total()) == 1
        seen.append((repeat, half, train, test))
    assert [one[:2] for one in seen] == [(repeat, half) for repeat in range(5) for half in range(2)]
    for first, second in zip(seen[::2], seen[1::2], strict=True):
        assert (first[2], first[3]) == (second[3], second[2])
    assert len({tuple(sorted(map(str, one[2].elements()))) for one in seen}) == 10  # no repeat deals alike


def test_every_part_is_once_held_out(duckdb_engine, make_table):
    relation = store(duckdb_engine, make_table, random_rows(2, 30))
    tested = Counter()
    for _, _part in folds(duckdb_engine, relation, parts=4, seed=5, train=TRAIN, test=TEST, columns=list(ALL)):
        tested += Counter(fetched(duckdb_engine, TEST))
    assert tested == Counter(fetched(duckdb_engine, relation))
    hold_out(duckdb_engine, relation, parts=4, seed=5, train=TRAIN, test=TEST, columns=["source"])
    assert (len(fetched(duckdb_engine, TEST, ["source"])), [info.name for info in duckdb_engine.columns(TRAIN)]) == (
        8,
        ["source"],
    )


def test_several_sources_share_the_rows_evenly(duckdb_engine, make_table):
    relation = store(duckdb_engine, make_table, random_rows(2, 103))
    named = sources(duckdb_engine, relation, number=10, seed=5, columns=list(ALL))
    parts = [Counter(fetched(duckdb_engine, name)) for name in named]
    assert sum(parts, Counter()) == Counter(fetched(duckdb_engine, relation))
    assert sorted(part.total() for part in parts) == [10] * 7 + [11] * 3


def test_ten_parts_each_once_held_out_and_the_rest_dealt_to_sources(duckdb_engine, make_table):
    """The protocol of several sources: while the parts go round, what is left is dealt again."""
    relation = store(duckdb_engine, make_table, random_rows(2, 50))
    whole, tested = Counter(fetched(duckdb_engine, relation)), Counter()
    for _, part in folds(duckdb_engine, relation, parts=10, seed=5, train=TRAIN, test=TEST, columns=list(ALL)):
        named = sources(duckdb_engine, TRAIN, number=3, seed=5, repeat=part, columns=list(ALL))
        shared = sum((Counter(fetched(duckdb_engine, name)) for name in named), Counter())
        held = Counter(fetched(duckdb_engine, TEST))
        assert shared + held == whole
        tested += held
    assert tested == whole


def test_what_cannot_be_dealt_is_refused(duckdb_engine, make_table):
    relation = store(duckdb_engine, make_table, random_rows(2, 3))
    with pytest.raises(PolicyError, match="must be at least 1"):
        deal(duckdb_engine, relation, DEALT, parts=0, seed=1)
    with pytest.raises(PolicyError, match="does not exist"):
        deal(duckdb_engine, Name("nowhere"), DEALT, parts=2, seed=1)
    with pytest.raises(PolicyError, match='no column "person"'):
        deal(duckdb_engine, relation, DEALT, parts=2, seed=1, by=["person"])
    deal(duckdb_engine, relation, DEALT, parts=2, seed=1)
    train_and_test(duckdb_engine, DEALT, 5, train=TRAIN, test=TEST, columns=list(ALL))
    assert fetched(duckdb_engine, TEST) == []
