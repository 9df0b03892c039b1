"""Rows into cells and back: the same as Python groups them, whatever the values and names are."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pytest

from ppdm_sql.cells import aggregate as aggregation
from ppdm_sql.cells.aggregate import aggregate
from ppdm_sql.cells.apply import narrow_rows
from ppdm_sql.cells.parts import DIVIDED, DROPPED, PART, Parts, Shares
from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.policy import Policy, Roles
from ppdm_sql.requirements import KAnonymity
from ppdm_sql.source.relation import resolve
from ppdm_sql.statements.names import Name, Word, column

HUGE, NEXT, LOWEST = (
    Decimal(sign + "9" * 37 + digit) for sign, digit in (("", "9"), ("", "8"), ("-", "9"))
)  # 38 digits
COLUMNS = {
    "id": "BIGINT",
    'o"brien': "TEXT",
    "r": "DOUBLE",
    "order": "DECIMAL(38, 0)",
    "smokes": "BOOLEAN",
    "who": "TEXT",
    "passed": "BIGINT",
}
QUASI = ('o"brien', "r", "order", "smokes")


def hostile_rows(seed: int, number: int = 80) -> list[tuple]:
    """Few combinations, most of them several times."""
    rng = random.Random(seed)
    return [
        (
            place,
            rng.choice(["a", "A", "a ", "", None]),
            rng.choice([0.0, -0.0, math.nan, 1.5, None]),
            rng.choice([HUGE, NEXT, LOWEST]),
            rng.choice([True, None]),
            rng.choice(["p1", "p2", "P2", "p3", "p4", None]),
            place % 3,
        )
        for place in range(number)
    ]


def source_of(engine, make_table, rows, *, entity=False, columns=COLUMNS, quasi=QUASI):
    relation = make_table(engine, "people", columns, rows)
    words = {name: Word(name, quoted=True) for name in columns}
    rest = [name for name in columns if name not in (*quasi, "id", *(["who"] if entity else []))]
    roles = Roles(
        identifiers=() if entity or "id" not in columns else (words["id"],),
        quasi=tuple(words[name] for name in quasi),
        insensitive=tuple(words[name] for name in rest) + ((words["id"],) if entity else ()),
        entity=words["who"] if entity else None,
    )
    policy = Policy("mondrian", (KAnonymity(2),), roles)
    return resolve(relation, engine.columns(relation), policy, ("people",))


def comparable(value):
    """Values that SQL takes for one and the same."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return value


def decoded(cells, cell):
    found = []
    for one in cells.columns.values():
        code = int(one.codes[cell])
        found.append(None if code == one.null_code else comparable(one.values[code]))
    return tuple(found)


def groups_of(rows):
    return Counter(tuple(comparable(value) for value in row[1:5]) for row in rows)


def test_cells_are_the_combinations_and_their_rows(engine, make_table):
    rows = hostile_rows(1)
    cells = aggregate(engine, source_of(engine, make_table, rows), QUASI)
    assert {decoded(cells, cell): int(n) for cell, n in enumerate(cells.rows)} == groups_of(rows)
    assert cells.total == cells.units == len(rows)
    for name, one in cells.columns.items():
        known = [comparable(row[list(COLUMNS).index(name)]) for row in rows]
        assert dict(zip(map(comparable, one.values), one.rows.tolist(), strict=True)) == {
            value: count for value, count in Counter(known).items() if value is not None
        }


def test_one_row_of_each_person_weighs_one(engine, make_table):
    rows = hostile_rows(2)
    cells = aggregate(engine, source_of(engine, make_table, rows, entity=True), QUASI)
    persons = {row[5] for row in rows} - {None}
    assert cells.units == len(persons)
    inside = defaultdict(set)
    for row in rows:
        inside[tuple(comparable(value) for value in row[1:5])].add(row[5])
    assert cells.weights is not None
    assert all(weight <= len(inside[decoded(cells, cell)] - {None}) for cell, weight in enumerate(cells.weights))
    column_ = cells['o"brien']
    held = {value: len({row[5] for row in rows if row[1] == value} - {None}) for value in column_.values}
    assert dict(zip(column_.values, column_.held.tolist(), strict=True)) == held


def test_who_is_in_which_cell_gives_the_persons_of_every_group(engine, make_table):
    rows = hostile_rows(2)
    cells = aggregate(engine, source_of(engine, make_table, rows, entity=True), QUASI, people=True)
    smokes = cells["smokes"]
    inside = {value: {row[5] for row in rows if row[4] == value} - {None} for value in (True, None)}
    assert cells.people is not None
    assert cells.people.count(smokes.codes, smokes.size).tolist() == [len(inside[True]), len(inside[None])]
    assert cells.people.weights(np.zeros(len(cells), dtype=np.int64), len(cells)).tolist() == cells.weights.tolist()
    apart = cells.people.weights(smokes.codes, len(cells))  # a person weighs 1 in each of the two groups
    assert [int(apart[smokes.codes == code].sum()) for code in (0, 1)] == [len(inside[True]), len(inside[None])]


def test_cells_are_numbered_in_the_order_of_their_values(duckdb_engine, make_table):
    rows = hostile_rows(3)
    source = source_of(duckdb_engine, make_table, rows)
    cells = aggregate(duckdb_engine, source, QUASI)
    codes = np.column_stack([one.codes for one in cells.columns.values()]).tolist()
    assert codes == sorted(codes)


def test_more_columns_than_one_statement_numbers(duckdb_engine, make_table):
    names = [f"c{number}" for number in range(45)]
    columns = {"id": "BIGINT", **dict.fromkeys(names, "BIGINT")}
    rng = random.Random(4)
    rows = [(place, *(rng.choice([1, 2, None]) for _ in names)) for place in range(30)]
    source = source_of(duckdb_engine, make_table, rows, columns=columns, quasi=names)
    cells = aggregate(duckdb_engine, source, names)
    found = Counter({decoded(cells, cell): int(n) for cell, n in enumerate(cells.rows)})
    assert found == Counter(row[1:] for row in rows)


def test_too_many_cells_are_refused(duckdb_engine, make_table, monkeypatch):
    source = source_of(duckdb_engine, make_table, hostile_rows(5))
    monkeypatch.setattr(aggregation, "MOST_CELLS", 3)
    with pytest.raises(PolicyError, match="at most 3 can be worked on"):
        aggregate(duckdb_engine, source, QUASI)


@pytest.mark.parametrize("entity", [False, True], ids=["rows", "persons"])
def test_rows_go_where_the_parts_say(engine, make_table, entity):
    """Whole cells to one part, some dropped; a bag of two cells is shared out."""
    rows = hostile_rows(6)
    source = source_of(engine, make_table, rows, entity=entity)
    cells = aggregate(engine, source, QUASI)
    part = np.arange(len(cells)) % 2
    part[0] = DROPPED
    bag = np.zeros(len(cells), dtype=np.int64)
    part[[1, 2]], bag[[1, 2]] = DIVIDED, 7
    size = int(cells.rows[[1, 2]].sum())
    assert size >= 2
    ends = np.array([1, size])
    shares = Shares(np.array([7, 7]), np.array([1, 2]), ends, np.array([5, DROPPED]))
    parts = Parts(part, 6, bag, shares)
    private = {"ppdm_key0": column("id", "r")}
    query = narrow_rows(engine, source, cells, parts, private, seed=3)
    place = query.named_selects.index(PART), query.named_selects.index("ppdm_key0")
    found = {row[place[1]]: row[place[0]] for row in engine.fetch(query)}
    cell_of = {decoded(cells, cell): cell for cell in range(len(cells))}
    of_row = {row[0]: cell_of[tuple(comparable(value) for value in row[1:5])] for row in rows}
    whole = {number: int(part[cell]) for number, cell in of_row.items() if part[cell] >= 0}
    shared = {number: to for number, to in found.items() if of_row[number] in (1, 2)}
    assert {number: to for number, to in found.items() if number not in shared} == whole
    assert list(shared.values()) == [5]
    assert parts.dropped(cells.rows) == int(cells.rows[0]) + size - 1
    assert len(found) == cells.total - parts.dropped(cells.rows)


# NULL next to the value that an engine may write in its place, one kind after the other.
BESIDE_NULL = {
    "n": ("BIGINT", 0, 1),
    "m": ("DECIMAL(9, 2)", Decimal("0.00"), Decimal("1.50")),
    "x": ("DOUBLE", 0.0, math.nan),
    "text": ("TEXT", "", "a"),
    "yes": ("BOOLEAN", False, True),
    "day": ("DATE", date(2000, 1, 1), date(1999, 12, 31)),
    "at": ("TIMESTAMP", datetime(2000, 1, 1), datetime(2000, 1, 1, 0, 0, 1)),
}


def test_null_is_in_no_cell_of_a_value(engine, make_table):
    columns = {"id": "BIGINT"} | {name: one[0] for name, one in BESIDE_NULL.items()}
    values = [(None, *one[1:]) for one in BESIDE_NULL.values()]
    rng = random.Random(8)
    rows = [(place, *(rng.choice(one) for one in values)) for place in range(60)]
    source = source_of(engine, make_table, rows, columns=columns, quasi=tuple(BESIDE_NULL))
    cells = aggregate(engine, source, tuple(BESIDE_NULL))
    assert [one.null_code for one in cells.columns.values()] == [2] * len(BESIDE_NULL)
    parts = Parts(np.arange(len(cells)), len(cells))
    query = narrow_rows(engine, source, cells, parts, {"ppdm_key0": column("id", "r")}, seed=3)
    places = [query.named_selects.index(name) for name in ("ppdm_key0", PART)]
    cell_of = {row[places[0]]: row[places[1]] for row in engine.fetch(query)}
    assert sorted(cell_of) == [row[0] for row in rows]
    together = defaultdict(set)
    for number, *told in rows:
        together[tuple(map(comparable, told))].add(cell_of[number])
    assert all(len(found) == 1 for found in together.values())
    assert len(set.union(*together.values())) == len(together) == len(cells)
    for told, (cell,) in together.items():
        codes = [int(one.codes[cell]) for one in cells.columns.values()]
        assert [code == 2 for code in codes] == [value is None for value in told]


def test_rows_with_a_weight_are_taken_first(engine, make_table):
    """Of a bag that is shared out, the rows that weigh 1 are the first: so many different persons go first."""
    columns = {"id": "BIGINT", "q": "BIGINT", "who": "TEXT"}
    rows = [(number, 1, f"p{number // 4}") for number in range(20)]  # five persons, four rows each
    source = source_of(engine, make_table, rows, entity=True, columns=columns, quasi=("q",))
    cells = aggregate(engine, source, ("q",))
    assert cells.weights is not None
    assert cells.weights.tolist() == [5]
    shares = Shares(np.array([0, 0]), np.array([1, 6]), np.array([5, 20]), np.array([0, 1]))
    parts = Parts(np.array([DIVIDED]), 2, np.array([0]), shares)
    query = narrow_rows(engine, source, cells, parts, {}, seed=1)
    names = query.named_selects
    found = [dict(zip(names, row, strict=True)) for row in engine.fetch(query)]
    assert len({row["ppdm_entity"] for row in found if row[PART] == 0}) == 5
    assert Counter(row[PART] for row in found) == {0: 5, 1: 15}


def test_keys_of_a_cells_values_are_those_of_its_rows(duckdb_engine, make_table):
    """What is worked out once per cell is what each row would give."""
    from sqlglot import exp

    from ppdm_sql.planning.staging import private_columns

    columns = {"id": "BIGINT", "age": "BIGINT", "town": "TEXT"}
    rows = [(n, n % 5, ["x", None, "ä|"][n % 3]) for n in range(40)]
    source = source_of(duckdb_engine, make_table, rows, columns=columns, quasi=("age", "town"))
    cells = aggregate(duckdb_engine, source, ("age", "town"))
    private = dict(private_columns(duckdb_engine, source, "salt").columns)
    private["id"] = column("id", "r")
    parts = Parts(np.zeros(len(cells), dtype=np.int64), 1)
    query = narrow_rows(duckdb_engine, source, cells, parts, private, seed=1)
    names = list(private)
    picked = exp.Select(expressions=[exp.alias_(private[name], name, quoted=True) for name in names])
    plain = duckdb_engine.fetch(picked.from_(Name("people").table("r")))
    narrow = exp.Select(expressions=[column(name, "n") for name in names]).from_(query.subquery("n"))
    assert sorted(duckdb_engine.fetch(narrow)) == sorted(plain)
