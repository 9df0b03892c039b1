"""Rows into cells: one GROUP BY in the engine where the rows are, and small numbers out of it.

    ppdm_cells     a row per cell: its number, its values, its rows
    ppdm_values    the values of up to 20 columns, each with its code: GROUPING SETS number all columns at once
    ppdm_people    where the policy names persons: which person is in which cell

Values are compared as the engine compares them (text by its bytes); NULL and NaN are values of their own.  What comes
to this process are the distinct values of each column, and per cell one packed number with its count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from ppdm_sql.cells.cells import CellColumn, Cells, Codes, Ints, People, code_type
from ppdm_sql.engines.base import ColumnInfo, Engine, Kind, Row
from ppdm_sql.errors import PolicyError
from ppdm_sql.source.encode import canonical
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.grouping import SET, TOGETHER, count_each
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.trees.nominal import mixed_radix

CELL, ROWS, CODE, PERSON, WEIGHT = (f"ppdm_{word}" for word in ("cell", "rows", "code", "entity", "weight"))
MOST_CELLS = 50_000_000
_PACKED = 1 << 62
_MOMENTS = (Kind.DATE, Kind.TIMESTAMP)


def aggregate(engine: Engine, source: Source, names: Sequence[str], *, people: bool = False) -> Cells:
    """The cells of these columns; made once where plans share the relation.

    people: with who is in which cell, where the policy names persons.
    """
    people = people and source.entity is not None
    about = ("cells", tuple(names), source.entity, tuple(source.quasi), people)
    cells = engine.work.once(source.relation, about, lambda: _Aggregation(engine, source, tuple(names), people).run())
    engine.work.remember(("cells", source.relation), lambda: cells)
    return cells


def known_cells(engine: Engine, relation: Name) -> Cells | None:
    """Cells that were made of a relation in a workspace that is still open."""
    found: Cells | None = engine.work.recall(("cells", relation))
    return found


def same_cell(engine: Engine, source: Source, cells: Cells, alias: str, cell_alias: str) -> exp.Expr:
    """Whether a row of the source is of a cell.  It can be hashed on every engine, NULL or not."""
    named = [(name, one.null_code is not None) for name, one in cells.columns.items()]
    return _same(engine, source, named, alias, cell_alias)


def _same(engine: Engine, source: Source, named: Sequence[tuple[str, bool]], alias: str, cell_alias: str) -> exp.Expr:
    pairs = []
    for number, (name, has_null) in enumerate(named):
        info = source.info(name)
        value, other = canonical(engine, info, alias), column(_value(number), cell_alias)
        same = engine.same_value(value, other, info.kind) if has_null else exp.EQ(this=value, expression=other)
        pairs.append(same)
    return exp.and_(*pairs) if pairs else exp.true()


def _value(number: int) -> str:
    return f"ppdm_v{number}"


@dataclass(frozen=True)
class _Values:
    """The distinct values of a column, as the table of values numbers them."""

    info: ColumnInfo
    values: list[object]
    rows: Ints
    has_null: bool

    @property
    def size(self) -> int:
        return len(self.values) + self.has_null


@dataclass
class _Aggregation:
    engine: Engine
    source: Source
    names: tuple[str, ...]
    with_people: bool = False

    def run(self) -> Cells:
        table = self.engine.work.table("cells", self._cells())
        self._check_number(table)
        with self.engine.workspace():
            found: dict[str, _Values] = {}
            codes: dict[str, Codes] = {}
            held: dict[str, Ints] = {}
            rows = np.zeros(0, dtype=np.int64)
            people = None
            for numbers in self._chunks():
                values = self.engine.work.table("values", self._numbered(table, numbers))
                self.engine.analyze(*([] if found else [table]), values)
                here = self._read_values(values, numbers)
                rows, coded = self._read_codes(table, values, here)
                found |= {self.names[number]: one for number, one in here.items()}
                codes |= {self.names[number]: one for number, one in coded.items()}
                if self.source.entity is not None:
                    people = people or self._people(table, found, numbers)
                    held |= self._persons(table, values, people, here)
            weights = None if people is None else self._weights(people, len(rows))
            pairs = self._pairs(people) if people is not None and self.with_people else None
        columns = {name: _column(one, codes[name], held.get(name)) for name, one in found.items()}
        return Cells(table, columns, rows, weights, pairs)

    def _chunks(self) -> Iterator[range]:
        for first in range(0, len(self.names), TOGETHER):
            yield range(first, min(first + TOGETHER, len(self.names)))

    # -- the cells ---------------------------------------------------------------------------------

    def _cells(self) -> exp.Select:
        """Cells are numbered in the order of their values: which row of a person weighs 1 follows from it."""
        values = [canonical(self.engine, self.source.info(name), "r") for name in self.names]
        picked = [aliased(value, _value(number)) for number, value in enumerate(values)]
        counted = aliased(exp.Count(this=exp.Star()), ROWS)
        grouped = exp.Select(expressions=[*picked, counted]).from_(self.source.relation.table("r"))
        grouped = grouped.group_by(*(value.copy() for value in values))
        names = [_value(number) for number in range(len(values))]
        order = [_ascending(column(name, "g")) for name in names] or [_ascending(column(ROWS, "g"))]
        place = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=order))
        first = aliased(exp.Sub(this=place, expression=exp.Literal.number(1)), CELL)
        return exp.Select(expressions=[first, *(column(name, "g") for name in (*names, ROWS))]).from_(
            grouped.subquery("g")
        )

    def _check_number(self, table: Name) -> None:
        counted = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(table.table())
        found = self.engine.facts.find("rows", table, lambda: int(self.engine.fetch_one(counted)[0]))
        if found > MOST_CELLS:
            raise PolicyError(
                f"the source has {found:,} different combinations of quasi-identifiers, target and sensitive values; "
                f"at most {MOST_CELLS:,} can be worked on. Round numbers and dates in the SELECT, or publish fewer "
                "columns"
            )

    # -- values and codes --------------------------------------------------------------------------

    def _numbered(self, table: Name, numbers: range) -> exp.Select:
        """Per column its values in order, with their codes: one aggregation over the cells for all columns."""
        keys = {number: [column(_value(number), "c")] for number in numbers}
        rows = aliased(exp.cast(exp.Sum(this=column(ROWS, "c")), "BIGINT"), ROWS)
        grouped = count_each(table.table("c"), keys, [rows])
        named = [column(_value(number), "g") for number in numbers]
        place = exp.Window(
            this=exp.RowNumber(),
            partition_by=[column(SET, "g")],
            order=exp.Order(expressions=[_ascending(name) for name in named]),
        )
        code = aliased(exp.cast(exp.Sub(this=place, expression=_number(1)), "INT"), CODE)
        kept = [column(SET, "g"), *(name.copy() for name in named), column(ROWS, "g")]
        return exp.Select(expressions=[*kept, code]).from_(grouped.subquery("g"))

    def _read_values(self, values: Name, numbers: range) -> dict[int, _Values]:
        infos = [self.source.info(self.names[number]) for number in numbers]
        picked: list[exp.Expr] = [column(SET), column(ROWS)]
        for number, info in zip(numbers, infos, strict=True):
            # Python's dates and times have neither nanoseconds nor infinity.
            value = column(_value(number))
            picked.append(exp.cast(value, "TEXT") if info.kind in _MOMENTS else value)
        query = exp.Select(expressions=picked).from_(values.table()).order_by(column(SET), column(CODE))
        by_set: dict[int, list[Row]] = {number: [] for number in numbers}
        for row in self.engine.fetch(query):
            by_set[int(row[0])].append(row)
        return {
            number: _values(info, place, by_set[number])
            for place, (number, info) in enumerate(zip(numbers, infos, strict=True), start=2)
        }

    def _read_codes(self, table: Name, values: Name, found: Mapping[int, _Values]) -> tuple[Ints, dict[int, Codes]]:
        """Rows and codes of every cell, in the order of the cells."""
        query = exp.Select(expressions=[column(CELL, "c"), column(ROWS, "c")]).from_(table.table("c"))
        packs = _packs({number: one.size for number, one in found.items()})
        for place, pack in enumerate(packs):
            packed = mixed_radix([(_code_of(number, found[number]), found[number].size) for number in pack])
            query = query.select(aliased(packed, f"ppdm_k{place}"))
        for number in found:
            # NULL meets no value, and gets its code above.  A join that keeps every cell is planned for that many.
            same = exp.EQ(this=column(_value(number), f"l{number}"), expression=column(_value(number), "c"))
            here = exp.EQ(this=column(SET, f"l{number}"), expression=_number(number))
            query = query.join(values.table(f"l{number}"), on=exp.and_(here, same), join_type="LEFT")
        read = self.engine.arrays(query)
        order = np.argsort(read[CELL])
        codes: dict[int, Codes] = {}
        for place, pack in enumerate(packs):
            left = np.asarray(read[f"ppdm_k{place}"]).astype(np.int64)[order]
            for number in reversed(pack):
                size = max(found[number].size, 1)
                codes[number] = (left % size).astype(code_type(size))
                left = left // size
        return np.asarray(read[ROWS]).astype(np.int64)[order], codes

    # -- persons -----------------------------------------------------------------------------------

    def _people(self, table: Name, found: Mapping[str, _Values], numbers: range) -> Name:
        """Who is in which cell.  A row without a person (NULL) counts for nobody."""
        assert self.source.entity is not None
        person = canonical(self.engine, self.source.info(self.source.entity), "r")
        named = [(name, found[name].has_null if name in found else True) for name in self.names]
        query = exp.Select(expressions=[aliased(person, PERSON), column(CELL, "c")])
        query = query.from_(self.source.relation.table("r"))
        query = query.join(table.table("c"), on=_same(self.engine, self.source, named, "r", "c"))
        query = query.where(exp.Not(this=exp.Is(this=person.copy(), expression=exp.Null()))).distinct()
        return self.engine.work.table("people", query, analyze=True)

    def _weights(self, people: Name, cells: int) -> Ints:
        """Distinct persons do not add up over parts of a part.  These weights do, and never exceed the persons.

        The row that weighs 1 is one in the first cell of the person.  Rows of one cell stay together or are
        interchangeable, so which of them it is makes no difference.
        """
        first = exp.Select(expressions=[aliased(exp.Min(this=column(CELL)), CELL)]).from_(people.table())
        first = first.group_by(column(PERSON))
        query = exp.Select(expressions=[column(CELL, "f"), aliased(exp.Count(this=exp.Star()), WEIGHT)])
        read = self.engine.arrays(query.from_(first.subquery("f")).group_by(column(CELL, "f")))
        weights = np.zeros(cells, dtype=np.int64)
        weights[read[CELL].astype(np.int64)] = read[WEIGHT]
        return weights

    def _pairs(self, people: Name) -> People:
        order = exp.Order(expressions=[_ascending(column(PERSON))])
        place = exp.Window(this=exp.Anonymous(this="DENSE_RANK"), order=order)
        number = aliased(exp.Sub(this=place, expression=_number(1)), PERSON)
        read = self.engine.arrays(exp.Select(expressions=[column(CELL), number]).from_(people.table()))
        return People(read[CELL].astype(np.int64), read[PERSON].astype(np.int64))

    def _persons(self, table: Name, values: Name, people: Name, found: Mapping[int, _Values]) -> dict[str, Ints]:
        """Per quasi-identifier and code but NULL's, how many persons hold the value."""
        quasi = {number: one for number, one in found.items() if self.names[number] in self.source.quasi}
        if not quasi:
            return {}
        held = {number: np.zeros(len(one.values), dtype=np.int64) for number, one in quasi.items()}
        queries = [self._persons_of(table, values, people, number) for number in quasi]
        read = self.engine.arrays(exp.union(*queries, distinct=False) if len(queries) > 1 else queries[0])
        for number, persons_of in held.items():
            here = read[SET] == number
            persons_of[read[CODE][here].astype(np.int64)] = read[WEIGHT][here]
        return {self.names[number]: persons_of for number, persons_of in held.items()}

    def _persons_of(self, table: Name, values: Name, people: Name, number: int) -> exp.Select:
        persons = exp.Count(this=exp.Distinct(expressions=[column(PERSON, "p")]))
        picked = [aliased(_number(number), SET), column(CODE, "l"), aliased(persons, WEIGHT)]
        query = exp.Select(expressions=picked).from_(people.table("p"))
        query = query.join(table.table("c"), on=exp.EQ(this=column(CELL, "c"), expression=column(CELL, "p")))
        here = exp.EQ(this=column(SET, "l"), expression=_number(number))
        same = exp.EQ(this=column(_value(number), "l"), expression=column(_value(number), "c"))
        return query.join(values.table("l"), on=exp.and_(here, same)).group_by(column(CODE, "l"))


def _code_of(number: int, one: _Values) -> exp.Expr:
    code = column(CODE, f"l{number}")
    if not one.has_null:
        return code
    is_null = exp.Is(this=column(_value(number), "c"), expression=exp.Null())
    return exp.Case(ifs=[exp.If(this=is_null, true=_number(len(one.values)))], default=code)


def _values(info: ColumnInfo, place: int, read: Sequence[Row]) -> _Values:
    known = [row for row in read if row[place] is not None]
    rows = np.array([row[1] for row in known], dtype=np.int64)
    return _Values(info, [row[place] for row in known], rows, len(known) < len(read))


def _column(one: _Values, codes: Codes, held: Ints | None) -> CellColumn:
    null_code = len(one.values) if one.has_null else None
    return CellColumn(one.info, codes, one.size, null_code, one.values, one.rows, one.rows if held is None else held)


def _packs(sizes: Mapping[int, int]) -> list[list[int]]:
    """Columns put together as long as the product of their sizes fits into a BIGINT.

    >>> _packs({0: 1 << 40, 1: 1 << 20, 2: 1 << 20})
    [[0, 1], [2]]
    """
    found: list[list[int]] = []
    room = 0
    for number, size in sizes.items():
        if not found or size > room:
            found.append([])
            room = _PACKED
        found[-1].append(number)
        room //= max(size, 1)
    return found


def _number(number: int) -> exp.Expr:
    return exp.Literal.number(number)


def _ascending(value: exp.Expr) -> exp.Expr:
    return exp.Ordered(this=value.copy(), nulls_first=False)
