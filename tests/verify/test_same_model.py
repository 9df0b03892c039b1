"""The contract of preserved trees: grown again from a release, and every kind of change is found."""

from __future__ import annotations

import copy
import random
from datetime import date

import pytest
from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.names import own
from ppdm_sql.verify.intervals import nanoseconds
from ppdm_sql.verify.same_model import _Grower, _same_split, _Split, _sums, tree_differences

# age < 6.5 first, then the ward of those above: a tree worked out by hand, see test_a_tree_by_hand.
TYPES = {"age": "INTEGER", "ward": "TEXT", "note": "TEXT", "y": "TEXT"}
ROWS = (
    [(2, "{east, west}", "*", "no")] * 6
    + [(11, "{east, west}", "*", "yes")] * 3
    + [(11, "north", "*", "yes")] * 1
    + [(11, "north", "*", "no")] * 2
)
PATTERN = {
    "inducer": "cart",
    "criterion": "gini",
    "max_depth": 30,
    "min_leaf": 1,
    "min_gain": 0.0,
    "leaves": 3,
    "closed": [],
    "target": "y",
    "attributes": [
        {"name": "age", "ordered": True},
        {"name": "ward", "ordered": False, "groups": [["{east, west}", [0, 2]], ["north", [1]]]},
        {"name": "note", "ordered": False, "groups": [["*", [0]]]},
    ],
    "root": {
        "rows": 12,
        "column": "age",
        "at": "6.5",
        "branches": [
            {"rows": 6},
            {
                "rows": 6,
                "column": "ward",
                "groups": [["{east, west}"], ["north"]],
                "branches": [{"rows": 3}, {"rows": 3}],
            },
        ],
    },
}


@pytest.fixture
def differences(duckdb_engine, make_table):
    return lambda *given, **changed: measured(duckdb_engine, make_table, *given, **changed)


def measured(engine, make_table, rows=ROWS, types=TYPES, **changed):
    name = make_table(engine, own("ppdm_release"), types, rows, temporary=True)
    return tree_differences(engine, name, [PATTERN | changed])


def test_a_tree_by_hand(engine, make_table):
    """Gini in total: at the root 4 of 12 are yes, 16/3; after age 0 + 6 (1 - 4/9 - 1/9) = 8/3; ward then leaves 4/3."""
    assert measured(engine, make_table) == []
    assert measured(engine, make_table, criterion="entropy") == []
    assert measured(engine, make_table, inducer="id3") == []


def replaced(rows, old, new, count=1):
    """The rows with some of one kind changed."""
    found = list(rows)
    for _ in range(count):
        found[found.index(old)] = new
    return found


CHANGES = {
    "a row less": (ROWS[1:], "the root has 11 rows instead of the promised 12"),
    "another class": (
        replaced(ROWS, (2, "{east, west}", "*", "no"), (2, "{east, west}", "*", "yes"), 6),
        "the root splits",
    ),
    "a boundary moved": ([(12 if row[0] == 11 else row[0], *row[1:]) for row in ROWS], "at a different threshold"),
    "a number on the other side": (
        replaced(ROWS, (2, "{east, west}", "*", "no"), (11, "{east, west}", "*", "no")),
        "branch 1 of the root has 5 rows instead of the promised 6",
    ),
    "a category nobody promised": (
        replaced(ROWS, (11, "north", "*", "no"), (11, "south", "*", "no")),
        'column "ward" has 1 values that are in none of its groups',
    ),
    "an unused column that varies": (
        [(*row[:2], "*" if number else "other", row[3]) for number, row in enumerate(ROWS)],
        'column "note"',
    ),
    "NULL among numbers": (
        replaced(ROWS, (2, "{east, west}", "*", "no"), (None, "{east, west}", "*", "no")),
        'column "age" mixes NULLs and numbers',
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_found(differences, change):
    rows, message = CHANGES[change]
    found = differences(rows)
    assert any(message in one for one in found), found
    assert all(one.startswith("tree 1: ") for one in found)


def test_an_unused_number_must_be_constant(differences):
    """The gap of the theorem: a column the tree does not use that predicts the class would win the split."""
    types = TYPES | {"code": "INTEGER"}
    rows = [(*row, 1 if row[3] == "yes" else 0) for row in ROWS]
    attributes = [{"name": "code", "ordered": True}, *PATTERN["attributes"]]
    assert differences([(*row, 7) for row in ROWS], types, attributes=attributes) == []
    found = differences(rows, types, attributes=attributes)
    assert found == ['tree 1: column "code" is used by no tree and has 2 values']


def test_a_column_that_is_gone(differences):
    assert differences(target="z") == ['tree 1: column "z" does not exist']


PROMISES = {
    "another threshold": (("at",), "6.4", "at a different threshold"),
    "another column": (("column",), "ward", 'column "age" is used by no tree'),
    "another column below": (("branches", 1, "column"), "age", 'column "ward" is used by no tree'),
    "a split less": (("branches", 1), {"rows": 6}, None),
    "other groups": (("branches", 1, "groups"), [["north"], ["{east, west}"]], "at a different threshold"),
    "other rows": (("branches", 1, "branches", 0, "rows"), 4, "has 3 rows instead of the promised 4"),
}


@pytest.mark.parametrize("promise", PROMISES)
def test_another_promise_is_another_tree(differences, promise):
    path, value, message = PROMISES[promise]
    root = copy.deepcopy(PATTERN["root"])
    here = root
    for step in path[:-1]:
        here = here[step]
    here[path[-1]] = value
    found = differences(root=root)
    if message is None:  # a smaller tree is what fewer expansions give: it keeps its promise
        assert found == ['tree 1: column "ward" is used by no tree and has 2 values']
    else:
        assert any(message in one for one in found), found


@pytest.mark.parametrize(
    "changed",
    [{"root": {"rows": 12, "branches": []}}, {"attributes": [{"name": "ward"}]}, {"attributes": 7}, {"min_leaf": "x"}],
)
def test_a_pattern_that_is_none(differences, changed):
    assert differences(**changed) == ["tree 1: its pattern was written by another version"]


def test_a_tie_is_decided_by_the_original_values(duckdb_engine, make_table):
    """{b} and {a, c} gain the same apart from a third; the label sorts elsewhere, its values do not."""
    rows = [("b", "p"), ("{a, c}", "q"), ("d", "r")] * 2
    name = make_table(duckdb_engine, own("ppdm_release"), {"w": "TEXT", "y": "TEXT"}, rows, temporary=True)
    attribute = {"name": "w", "ordered": False, "groups": [["{a, c}", [0, 2]], ["b", [1]], ["d", [3]]]}
    tree = PATTERN | {"attributes": [attribute], "leaves": 2}
    first = {"rows": 6, "column": "w", "branches": [{"rows": 4}, {"rows": 2}]}
    assert tree_differences(duckdb_engine, name, [tree | {"root": first | {"groups": [["{a, c}", "b"], ["d"]]}}]) == []
    other = first | {"groups": [["{a, c}"], ["b", "d"]], "branches": [{"rows": 2}, {"rows": 4}]}
    assert tree_differences(duckdb_engine, name, [tree | {"root": other}]) != []


@pytest.mark.parametrize("kind", ["INTEGER", "DOUBLE", "DECIMAL(10, 2)"])
def test_a_response_is_measured_exactly(engine, make_table, kind):
    """y = 1, 2, 2, 10, 11, 12: cut in the middle, then where the squared error falls most."""
    rows = list(enumerate((1, 2, 2, 10, 11, 12)))
    name = make_table(engine, own("ppdm_release"), {"n": "INTEGER", "y": kind}, rows, temporary=True)
    split = {"rows": 6, "column": "n", "at": "2.5", "branches": [{"rows": 3}, {"rows": 3}]}
    tree = PATTERN | {
        "inducer": "regression",
        "criterion": "deviance",
        "attributes": [{"name": "n", "ordered": True}],
        "root": split,
    }
    assert tree_differences(engine, name, [tree]) == []
    upper = {"rows": 3, "column": "n", "at": "3.5", "branches": [{"rows": 1}, {"rows": 2}]}
    assert tree_differences(engine, name, [tree | {"root": split | {"branches": [{"rows": 3}, upper]}}]) == []
    wrong = upper | {"at": "4.5", "branches": [{"rows": 2}, {"rows": 1}]}
    assert tree_differences(engine, name, [tree | {"root": split | {"branches": [{"rows": 3}, wrong]}}]) != []


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMPTZ"])
def test_moments_are_cut_at_the_middle(engine, make_table, kind):
    from datetime import UTC, datetime

    zone = UTC if kind == "TIMESTAMPTZ" else None
    days = [date(2024, 2, 27), date(2024, 3, 1)]
    moments = days if kind == "DATE" else [datetime(day.year, day.month, day.day, tzinfo=zone) for day in days]
    name = make_table(
        engine,
        own("ppdm_release"),
        {"t": kind, "y": "TEXT"},
        [(moments[0], "u"), (moments[1], "v")] * 3,
        temporary=True,
    )
    at = "2024-02-29" if kind == "DATE" else "2024-02-28 12:00:00"
    at += "+00" if zone else ""
    split = {"rows": 6, "column": "t", "at": at, "branches": [{"rows": 3}, {"rows": 3}]}
    tree = PATTERN | {"attributes": [{"name": "t", "ordered": True}], "root": split}
    assert tree_differences(engine, name, [tree]) == []
    assert tree_differences(engine, name, [tree | {"root": split | {"at": "2024-03-01"}}]) != []


def test_random_changes_of_a_value_never_pass_unseen_when_they_move_a_boundary(differences):
    """All rows of one published age moved by one: the midpoint is another one, whichever way."""
    draw = random.Random(3)
    for _ in range(4):
        moved, by = draw.choice([2, 11]), draw.choice([-1, 1, 3])
        rows = [(row[0] + by if row[0] == moved else row[0], *row[1:]) for row in ROWS]
        assert differences(rows)


def test_a_response_is_split_by_categories(duckdb_engine, make_table):
    """y is 1, 2, 9 in the wards a, b, c: the middle one goes with the low one."""
    rows = [("a", 1), ("b", 2), ("c", 9)] * 2
    name = make_table(duckdb_engine, own("ppdm_release"), {"w": "TEXT", "y": "INTEGER"}, rows, temporary=True)
    tree = PATTERN | {
        "inducer": "regression",
        "criterion": "deviance",
        "attributes": [{"name": "w", "ordered": False, "groups": [["a", [0]], ["b", [1]], ["c", [2]]]}],
        "root": {"rows": 6, "column": "w", "groups": [["a", "b"], ["c"]], "branches": [{"rows": 4}, {"rows": 2}]},
    }
    assert tree_differences(duckdb_engine, name, [tree]) == []


def test_a_response_is_put_on_the_finest_grid_whose_squares_add_up(duckdb_engine, make_table):
    """Two rows: squares of 29 bits each.  Whole numbers up to that are taken as they are, wider ones in steps of 10^n."""
    most = 2**29 - 2
    for high, expected in ((most, most), (most + 1, 53_687_091), (10**12, 10**8)):
        name = make_table(duckdb_engine, own("ppdm_release"), {"y": "BIGINT"}, [(0,), (high,)], temporary=True)
        (info,) = duckdb_engine.columns(name)
        query = exp.Select(expressions=_sums(duckdb_engine, name, info)).from_(name.table())
        assert tuple(map(int, duckdb_engine.fetch_one(query))) == (expected, expected**2), high


def test_a_day_in_the_middle_is_the_threshold_itself():
    days = ColumnInfo("t", Kind.DATE, "DATE")
    low, middle, high = (nanoseconds(str(date(2024, 2, day))) for day in (27, 28, 29))
    split = _Split(0, 1.0, (frozenset({low}), frozenset({high})), (low, high))
    assert middle == (low + high) / 2
    promised = {"2024-02-27": False, "2024-02-28": True, "2024-02-29": False}
    assert {at: _same_split(split, {"at": at}, days) for at in promised} == promised
    assert not _same_split(split, {"groups": [["2024-02-27"], ["2024-02-29"]]}, days)


def test_all_subsets_of_twelve_categories_are_tried_and_not_of_thirteen():
    grower = _Grower([], PATTERN)
    for number in (12, 13):
        values = [f"v{place}" for place in range(number)]
        sides = grower._sides(values, dict.fromkeys(values, (1, 1, 1)))
        if number == 12:
            assert len({frozenset(side) for side in sides}) == 2**11 - 1
        else:
            with pytest.raises(PolicyError, match="splits 13 categories into two"):
                next(sides)
