"""Rows into cells: one GROUP BY in the engine where the rows are, and small numbers out of it.

    ppdm_cells     a row per cell: its values, its rows
    ppdm_values    the values of up to 20 columns, each with its code: GROUPING SETS number all columns at once
    ppdm_people    where the policy names persons: which person is in which cell

A cell is known by its key: its codes packed into one number, so that no text is put in order.  Where they do not fit
into one, or there are more than 20 columns, cells are numbered in the order of their values.

Values are compared as the engine compares them (text by its bytes); NULL and NaN are values of their own.  What comes
to this process are the distinct values of each column, and per cell one packed number with its count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from ppdm_sql.cells.cells import KEY, CellColumn, Cells, Codes, Ints, People, code_type
from ppdm_sql.engines.base import ColumnInfo, Engine, Kind, Row
from ppdm_sql.errors import PolicyError
from ppdm_sql.induction.nominal import mixed_radix
from ppdm_sql.source.encode import canonical
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.grouping import SET, TOGETHER, count_each
from ppdm_sql.statements.names import Name, aliased, column

CELL, ROWS, CODE, PERSON, WEIGHT = (f"ppdm_{word}" for word in ("cell", "rows", "code", "entity", "weight"))
KEYED = Name("ppdm_keyed")
_FEW = 1 << 16  # rows
MOST_CELLS = 50_000_000
_PACKED = 1 << 62
_MOMENTS = (Kind.DATE, Kind.TIMESTAMP)


def aggregate(
    engine: Engine, source: Source, names: Sequence[str], *, people: bool = False, enough: int | None = None
) -> Cells:
    """The cells of these columns; made once where plans share the relation.

    people: with who is in which cell, where the policy names persons.
    enough: CellColumn.held need not be exact from so many persons on.
    """
    people = people and source.entity is not None
    if source.entity is None or engine.work.shares(source.relation):  # several plans may ask for several numbers
        enough = None
    about = ("cells", tuple(names), source.entity, tuple(source.quasi), people, enough)
    made = _Aggregation(engine, source, tuple(names), people, enough)
    cells = engine.work.once(source.relation, about, made.run)
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


def with_keyed(engine: Engine, query: exp.Select, cells: Cells) -> exp.Select:
    """A query that reads the cells with their keys as KEYED.

    The keys are looked up before anything is joined to the cells: once per cell and not once per row.
    """
    return query.with_(KEYED.last, as_=cells.keyed, materialized=engine.materializes or None)


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

    @property
    def null_code(self) -> int | None:
        return len(self.values) if self.has_null else None


@dataclass
class _Aggregation:
    engine: Engine
    source: Source
    names: tuple[str, ...]
    with_people: bool = False
    enough: int | None = None

    def run(self) -> Cells:
        packs = 0 < len(self.names) <= TOGETHER
        table = self.engine.work.table(
            "cells", self._count_cells() if packs else _in_order(self._count_cells(), self._places())
        )
        self._check_number(table)
        keyed = _by_number(table, self._places())
        found: dict[str, _Values] = {}
        codes: dict[str, Codes] = {}
        keys, rows = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        tables: list[tuple[Name, dict[int, _Values]]] = []
        for numbers in self._chunks():
            values = self.engine.work.table("values", self._numbered(table, numbers))
            self.engine.analyze(*([] if found else [table]), values)
            here = self._read_values(values, numbers)
            if packs and len(_packs(_sizes(here))) == 1:
                keyed = _by_codes(table, values, here)
            elif packs:
                rest = exp.Select(expressions=[exp.Star()]).from_(table.table())
                table = self.engine.work.table("cells", _in_order(rest, self._places()), analyze=True)
                packs, keyed = False, _by_number(table, self._places())
            keys, rows, coded = self._read_codes(table, values, here, packed=packs)
            found |= {self.names[number]: one for number, one in here.items()}
            codes |= {self.names[number]: one for number, one in coded.items()}
            tables.append((values, here))
        columns = {name: _column(one, codes[name]) for name, one in found.items()}
        cells = Cells(table, columns, rows, None, keyed=keyed, keys=keys, codes=tables[0][0] if packs else None)
        return cells if self.source.entity is None else self._with_persons(cells, tables)

    def _places(self) -> range:
        return range(len(self.names))

    def _chunks(self) -> Iterator[range]:
        for first in range(0, len(self.names), TOGETHER):
            yield range(first, min(first + TOGETHER, len(self.names)))

    # -- the cells ---------------------------------------------------------------------------------

    def _count_cells(self) -> exp.Select:
        values = [canonical(self.engine, self.source.info(name), "r") for name in self.names]
        picked = [aliased(value, _value(number)) for number, value in enumerate(values)]
        counted = aliased(exp.Count(this=exp.Star()), ROWS)
        grouped = exp.Select(expressions=[*picked, counted]).from_(self.source.relation.table("r"))
        return grouped.group_by(*(value.copy() for value in values))

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

    def _read_codes(
        self, table: Name, values: Name, found: Mapping[int, _Values], *, packed: bool
    ) -> tuple[Ints, Ints, dict[int, Codes]]:
        """Key, rows and codes of every cell, in the order of the cells."""
        packs = _packs(_sizes(found))
        coded = _values_to_code(found)
        numbers = [_packed_codes({number: coded[number] for number in pack}) for pack in packs]
        picked: list[exp.Expr] = [] if packed else [column(KEY, "c")]
        picked += [column(ROWS, "c"), *(aliased(one, f"ppdm_k{place}") for place, one in enumerate(numbers))]
        query = _join_values(exp.Select(expressions=picked).from_(table.table("c")), values, coded)
        read = self.engine.arrays(query)
        keys = np.asarray(read["ppdm_k0" if packed else KEY]).astype(np.int64)
        order = np.argsort(keys)
        codes: dict[int, Codes] = {}
        for place, pack in enumerate(packs):
            left = np.asarray(read[f"ppdm_k{place}"]).astype(np.int64)[order]
            for number in reversed(pack):
                size = max(found[number].size, 1)
                codes[number] = (left % size).astype(code_type(size))
                left = left // size
        return keys[order], np.asarray(read[ROWS]).astype(np.int64)[order], codes

    # -- persons -----------------------------------------------------------------------------------

    def _with_persons(self, cells: Cells, tables: Sequence[tuple[Name, Mapping[int, _Values]]]) -> Cells:
        with self.engine.workspace():
            people = self._people(cells)
            weights = self._weights(people, cells)
            held: dict[str, Ints] = {}
            for values, found in tables:
                held |= self._holders(people, cells, values, found, weights)
            columns = {name: replace(one, held=held.get(name, one.held)) for name, one in cells.columns.items()}
            pairs = self._pairs(people, cells) if self.with_people else None
        return replace(cells, columns=columns, weights=weights, people=pairs)

    def _people(self, cells: Cells) -> Name:
        """Who is in which cell, row by row where no pairs are asked for.  A row without a person counts for nobody."""
        assert self.source.entity is not None
        person = canonical(self.engine, self.source.info(self.source.entity), "r")
        query = exp.Select(expressions=[aliased(person, PERSON), column(KEY, "c")])
        query = query.from_(self.source.relation.table("r"))
        query = query.join(KEYED.table("c"), on=same_cell(self.engine, self.source, cells, "r", "c"))
        query = query.where(exp.Not(this=exp.Is(this=person.copy(), expression=exp.Null())))
        if self.with_people:
            query = query.distinct()
        return self.engine.work.table("people", with_keyed(self.engine, query, cells), analyze=True)

    def _weights(self, people: Name, cells: Cells) -> Ints:
        """Distinct persons do not add up over parts of a part.  These weights do, and never exceed the persons.

        The row that weighs 1 is one in the first cell of the person.  Rows of one cell stay together or are
        interchangeable, so which of them it is makes no difference.
        """
        first = exp.Select(expressions=[aliased(exp.Min(this=column(KEY)), KEY)]).from_(people.table())
        first = first.group_by(column(PERSON))
        if cells.total < _FEW:  # an engine may make room for every key that there could be, and there are millions
            read = self.engine.arrays(first)
            return np.bincount(_places_of(cells, read[KEY]), minlength=len(cells)).astype(np.int64)
        query = exp.Select(expressions=[column(KEY, "f"), aliased(exp.Count(this=exp.Star()), WEIGHT)])
        read = self.engine.arrays(query.from_(first.subquery("f")).group_by(column(KEY, "f")))
        weights = np.zeros(len(cells), dtype=np.int64)
        weights[_places_of(cells, read[KEY])] = read[WEIGHT]
        return weights

    def _pairs(self, people: Name, cells: Cells) -> People:
        order = exp.Order(expressions=[_ascending(column(PERSON))])
        place = exp.Window(this=exp.Anonymous(this="DENSE_RANK"), order=order)
        number = aliased(exp.Sub(this=place, expression=_number(1)), PERSON)
        read = self.engine.arrays(exp.Select(expressions=[column(KEY), number]).from_(people.table()))
        return People(_places_of(cells, read[KEY]), read[PERSON].astype(np.int64))

    def _holders(
        self, people: Name, cells: Cells, values: Name, found: Mapping[int, _Values], weights: Ints
    ) -> dict[str, Ints]:
        """Per quasi-identifier and code but NULL's, how many persons hold the value, as exactly as is asked.

        Weights of persons are a number that there are at least, rows one that there are at most.
        """
        named = {self.names[number]: number for number in found if self.names[number] in self.source.quasi}
        held: dict[str, Ints] = {}
        for name in named:
            one = cells[name]
            least = np.bincount(one.codes, weights, minlength=one.size)[: len(one.rows)].astype(np.int64)
            settled = (least >= (self.enough or 0)) if self.enough is not None else least == one.rows
            settled |= one.rows < (self.enough or 0)
            if settled.all():
                held[name] = np.where(one.rows < (self.enough or 0), one.rows, least)
        return held | self._persons(people, cells, values, {name: n for name, n in named.items() if name not in held})

    def _persons(self, people: Name, cells: Cells, values: Name, named: Mapping[str, int]) -> dict[str, Ints]:
        """The same by counting them."""
        if not named:
            return {}
        held = {number: np.zeros(len(cells[name].rows), dtype=np.int64) for name, number in named.items()}
        queries = [self._persons_of(people, cells, values, number) for number in named.values()]
        read = self.engine.arrays(exp.union(*queries, distinct=False) if len(queries) > 1 else queries[0])
        for number, persons_of in held.items():
            here = read[SET] == number
            persons_of[read[CODE][here].astype(np.int64)] = read[WEIGHT][here]
        return {self.names[number]: persons_of for number, persons_of in held.items()}

    def _persons_of(self, people: Name, cells: Cells, values: Name, number: int) -> exp.Select:
        persons = exp.Count(this=exp.Distinct(expressions=[column(PERSON, "p")]))
        picked = [aliased(_number(number), SET), column(CODE, "l"), aliased(persons, WEIGHT)]
        query = exp.Select(expressions=picked).from_(people.table("p"))
        query = query.join(cells.keyed.subquery("c"), on=exp.EQ(this=column(KEY, "c"), expression=column(KEY, "p")))
        here = exp.EQ(this=column(SET, "l"), expression=_number(number))
        same = exp.EQ(this=column(_value(number), "l"), expression=column(_value(number), "c"))
        return query.join(values.table("l"), on=exp.and_(here, same)).group_by(column(CODE, "l"))


# -- keys ------------------------------------------------------------------------------------------------


def _in_order(grouped: exp.Select, places: Sequence[int]) -> exp.Select:
    """Cells numbered in the order of their values."""
    names = [_value(place) for place in places]
    order = [_ascending(column(name, "g")) for name in names] or [_ascending(column(ROWS, "g"))]
    place = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=order))
    first = aliased(exp.Sub(this=place, expression=_number(1)), KEY)
    return exp.Select(expressions=[first, *(column(name, "g") for name in (*names, ROWS))]).from_(grouped.subquery("g"))


def _by_number(table: Name, places: Sequence[int]) -> exp.Select:
    """The values of cells that are numbered, with their keys."""
    return exp.Select(expressions=[column(name, "c") for name in (KEY, *map(_value, places))]).from_(table.table("c"))


def _by_codes(table: Name, values: Name, found: Mapping[int, _Values]) -> exp.Select:
    """The values of cells, and their codes as one number: its order is that of the values, NULL last."""
    coded = _values_to_code(found)
    picked = [aliased(_packed_codes(coded), KEY), *(column(_value(number), "c") for number in found)]
    return _join_values(exp.Select(expressions=picked).from_(table.table("c")), values, coded)


def join_codes(engine: Engine, source: Source, cells: Cells, query: exp.Select) -> tuple[exp.Select, exp.Expr]:
    """A query over rows of the source "r" with the codes of their values, and the key of a row's cell."""
    assert cells.codes is not None
    coded = {
        number: _Coded(canonical(engine, one.column, "r"), one.size, one.null_code)
        for number, one in enumerate(cells.columns.values())
    }
    return _join_values(query, cells.codes, coded), _packed_codes(coded)


class _Coded(NamedTuple):
    """A value that gets a code."""

    value: exp.Expr
    size: int
    null_code: int | None


def _values_to_code(found: Mapping[int, _Values]) -> dict[int, _Coded]:
    return {number: _Coded(column(_value(number), "c"), one.size, one.null_code) for number, one in found.items()}


def _packed_codes(coded: Mapping[int, _Coded]) -> exp.Expr:
    return mixed_radix([(_code_of(number, one), one.size) for number, one in coded.items()])


def _code_of(number: int, one: _Coded) -> exp.Expr:
    code = column(CODE, f"l{number}")
    if one.null_code is None:
        return code
    is_null = exp.Is(this=one.value.copy(), expression=exp.Null())
    return exp.Case(ifs=[exp.If(this=is_null, true=_number(one.null_code))], default=code)


def _join_values(query: exp.Select, values: Name, coded: Mapping[int, _Coded]) -> exp.Select:
    """The query, of cells or rows, with the code of every value.  NULL meets no value, and gets its code above.

    A join that keeps every row is planned for that many.
    """
    for number, one in coded.items():
        same = exp.EQ(this=column(_value(number), f"l{number}"), expression=one.value.copy())
        here = exp.EQ(this=column(SET, f"l{number}"), expression=_number(number))
        query.join(values.table(f"l{number}"), on=exp.and_(here, same), join_type="LEFT", copy=False)
    return query


def _places_of(cells: Cells, keys: NDArray[Any]) -> Ints:
    return np.searchsorted(cells.keys, keys.astype(np.int64))


def _sizes(found: Mapping[int, _Values]) -> dict[int, int]:
    return {number: one.size for number, one in found.items()}


def _values(info: ColumnInfo, place: int, read: Sequence[Row]) -> _Values:
    known = [row for row in read if row[place] is not None]
    rows = np.array([row[1] for row in known], dtype=np.int64)
    return _Values(info, [row[place] for row in known], rows, len(known) < len(read))


def _column(one: _Values, codes: Codes) -> CellColumn:
    return CellColumn(one.info, codes, one.size, one.null_code, one.values, one.rows, one.rows)


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
