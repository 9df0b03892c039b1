"""Columns published unchanged that identify people although nobody declared it: the risk `undeclared`.

A column outside the quasi-identifiers is taken for one that no attacker knows.  Three findings speak against that:

    nearly unique   at least half of the rows, and at least 50, have a value that no other row has, so most people are
                    singled out by the column alone, whatever k is
    determines      rows that agree in it agree in a quasi-identifier, whose exact value it gives away
    follows         rows that agree in a quasi-identifier agree in it (dummies of a recoded column, a town next to its
                    postcode), so it gives a part of the exact value away

Half: a column whose V values are equally frequent leaves exp(-n / V) of n rows with a value of their own.  That is half
of them from V = 1.44 n on, and such a column can name more people than there are.  50: n exp(-n / V) is at most V / e,
so a column of fewer than 136 equally frequent values (ages, weeks, percentages) is never called unique, however small
the table is.

Rows can agree by chance.  So the last two need evidence: if the two columns had nothing to do with each other, at least
_LEAST_SURPRISE rows would be expected to contradict, and none does.  SENSITIVE columns are declared, and measured by
requirements of their own.  A TARGET that is a number with decimals is not called unique: regression predicts it.  Nor
is a TARGET refused because it follows from a quasi-identifier: then the release shows what it was made to show.

What the cells of the plan say is not asked again.  The rest takes one statement with a GROUP BY per column, over values
and not hashes, since it decides a publication.  Of many rows it first asks a few whether they contradict: one
contradiction settles it, and mostly nothing is left to ask of all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce

import numpy as np
from sqlglot import exp

from ppdm_sql.cells.aggregate import known_cells
from ppdm_sql.cells.cells import Cells
from ppdm_sql.engines.at_home import bring_home
from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.methods.plan import ResidualRisk
from ppdm_sql.policy.words import many
from ppdm_sql.source.encode import canonical
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import aliased, column

UNDECLARED = "undeclared"
UNIQUE_TARGET = "unique_target"
_HALF = 2  # a column is nearly unique if one row in so many has a value of its own
_LEAST_UNIQUE = 50  # rows: in a small table numbers differ without being anybody's own
_LEAST_SURPRISE = 20  # rows
_FEW = 5_000  # rows, in which two columns that have nothing to do with each other contradict


@dataclass(frozen=True)
class _Groups:
    """The groups of equal values of one column, and which of the others have one value in each of them."""

    info: ColumnInfo
    rows: int
    groups: int
    unique_rows: int
    alike_pairs: int
    settled: frozenset[str]

    @property
    def differing(self) -> Fraction:
        """The chance that two rows have different values."""
        pairs = self.rows * (self.rows - 1)
        return 1 - Fraction(self.alike_pairs, pairs) if pairs else Fraction(0)

    def explains(self, other: _Groups) -> bool:
        """Whether the other column has one value in every group, and more than chance would give."""
        expected = (self.rows - self.groups) * other.differing
        return other.info.name in self.settled and expected >= _LEAST_SURPRISE


def undeclared_columns(engine: Engine, source: Source, outside: Sequence[str]) -> tuple[ResidualRisk, ...]:
    """The refusing risk of columns that leave unchanged (outside), with counts, or nothing."""
    if not outside:
        return ()
    left = [source.info(name) for name in outside]
    known = [source.info(name) for name in source.quasi]
    measured = _measure(engine, source, left, known)
    told = list(_findings(measured, outside, source))
    known_targets = tuple(_unique_target(one) for one in measured.values() if _is_unique_target(one, source))
    if not told:
        return known_targets
    message = (
        f"{'; '.join(told)}: published unchanged, this reveals whom a row is about or what is generalized.  Make it a "
        "QUASI IDENTIFIER, or leave it out of the SELECT"
    )
    return (ResidualRisk(UNDECLARED, message, refuses=True), *known_targets)


def _unique_target(one: _Groups) -> ResidualRisk:
    return ResidualRisk(
        UNIQUE_TARGET,
        f'"{one.info.name}" has a value of its own in {one.unique_rows:,} of {many(one.rows, "row")}: anyone who knows '
        "the value of a person finds the row.  ROUND leaves fewer of them",
    )


def _is_unique_target(one: _Groups, source: Source) -> bool:
    """A number to be predicted is published unchanged; the manifest says that it distinguishes people."""
    return one.info.name == source.target and _is_measured(one) and _has_own_values(one)


def _findings(measured: dict[str, _Groups], outside: Sequence[str], source: Source) -> Iterator[str]:
    for name in outside:
        one = measured[name]
        if _is_nearly_unique(one, source):
            yield f'"{name}" has a value of its own in {one.unique_rows:,} of {many(one.rows, "row")}'
            continue
        determined = [other for other in source.quasi if one.explains(measured[other])]
        if determined:
            yield f'"{name}" ({many(one.groups, "value")}) determines {", ".join(determined)}'
            continue
        behind = [other for other in source.quasi if measured[other].explains(one)]
        if behind and name != source.target:  # a target that one column predicts is what a release is for
            yield f'"{name}" ({many(one.groups, "value")}) follows from {", ".join(behind)}'


def _is_nearly_unique(one: _Groups, source: Source) -> bool:
    return _has_own_values(one) and not (one.info.name == source.target and _is_measured(one))


def _is_measured(one: _Groups) -> bool:
    return one.info.kind in (Kind.FLOAT, Kind.DECIMAL)


def _has_own_values(one: _Groups) -> bool:
    return one.unique_rows >= _LEAST_UNIQUE and one.unique_rows * _HALF >= one.rows


# -- the statement -----------------------------------------------------------------------------------------

_ROWS = "ppdm_rows"


@dataclass(frozen=True)
class _CountedRows:
    """Where groups are counted: all rows of the source, or some of them."""

    table: exp.Expr
    values: Mapping[str, exp.Expr]

    @property
    def first(self) -> _CountedRows:
        """A few of the rows."""
        few = exp.Select(expressions=[exp.Star()]).from_(self.table.copy()).limit(_FEW)
        return replace(self, table=few.subquery("ppdm_few"))


_Job = tuple[ColumnInfo, Sequence[ColumnInfo]]  # a column, and those that may have one value in each of its groups


def _measure(
    engine: Engine, source: Source, left: Sequence[ColumnInfo], known: Sequence[ColumnInfo]
) -> dict[str, _Groups]:
    """Every column with its groups."""
    jobs: list[_Job] = [*((info, known) for info in left), *((info, left) for info in known)]
    cells = known_cells(engine, source.relation)
    if cells is not None and {info.name for info, _ in jobs} <= cells.columns.keys():
        return {info.name: _groups_of_cells(cells, info, others) for info, others in jobs}
    rows = _CountedRows(source.relation.table(), {info.name: canonical(engine, info) for info, _ in jobs})
    if cells is None or cells.total <= 4 * _FEW:
        return _count_few(engine, rows, jobs)
    told = {info.name: _groups_of_cells(cells, info, ()) for info, _ in jobs if info.name in cells.columns}
    asked_of_all: list[tuple[_CountedRows, _Job]] = [(rows, (info, ())) for info, _ in jobs if info.name not in told]
    if engine.starts_jobs:
        told |= _count(engine, asked_of_all)
        few = _count_few(engine, rows.first, jobs)
        found = {name: replace(one, settled=few[name].settled) for name, one in told.items()}
    else:
        found = _count(engine, [*asked_of_all, *((rows.first, job) for job in jobs)], told)
    doubts: list[_Job] = []
    for info, others in jobs:
        asked = [other for other in others if found[info.name].explains(found[other.name])]
        doubts += [(info, asked)] if asked else []
    if not doubts:
        return found
    return found | _count(engine, [(rows, job) for job in doubts])


def _groups_of_cells(cells: Cells, info: ColumnInfo, others: Sequence[ColumnInfo]) -> _Groups:
    one = cells[info.name]
    rows = np.bincount(one.codes, cells.rows, minlength=one.size).astype(np.int64)
    settled = []
    for other in others:
        codes = cells[other.name].codes
        any_code = np.zeros(one.size, dtype=codes.dtype)
        any_code[one.codes] = codes  # of some cell of the group: the same as in all others, or it is not settled
        if np.array_equal(any_code[one.codes], codes):
            settled.append(other.name)
    alike = sum(number * (number - 1) for number in rows.tolist())
    return _Groups(info, cells.total, int((rows > 0).sum()), int((rows == 1).sum()), alike, frozenset(settled))


def _count_few(engine: Engine, rows: _CountedRows, jobs: Sequence[_Job]) -> dict[str, _Groups]:
    """The groups of columns of a few rows."""
    if not engine.starts_jobs:
        return _count(engine, [(rows, job) for job in jobs])
    names = {name: f"ppdm_v{place}" for place, name in enumerate(rows.values)}
    picked = [aliased(value.copy(), names[name]) for name, value in rows.values.items()]
    with bring_home(engine, exp.Select(expressions=picked).from_(rows.table.copy())) as (home, table):
        here = _CountedRows(table.table(), {name: column(ours) for name, ours in names.items()})
        return _count(home, [(here, job) for job in jobs])


def _count(
    engine: Engine, jobs: Sequence[tuple[_CountedRows, _Job]], known: Mapping[str, _Groups] | None = None
) -> dict[str, _Groups]:
    """The groups of columns by one statement; a column that is known or comes again adds what is settled."""
    width = max(len(others) for _, (_, others) in jobs)
    parts = [_part(rows, number, info, others, width) for number, (rows, (info, others)) in enumerate(jobs)]
    query = reduce(lambda one, other: exp.Union(this=one, expression=other, distinct=False), parts)
    found = dict(known or {})
    for number, *told in sorted(engine.fetch(query)):
        info, others = jobs[number][1]
        settled = frozenset(other.name for other, flag in zip(others, told[4:], strict=False) if flag == 1)
        if info.name in found:
            found[info.name] = replace(found[info.name], settled=settled)
            continue
        figures = [int(figure or 0) for figure in told[:4]]
        found[info.name] = _Groups(info, figures[0], figures[1], figures[2], figures[3], settled)
    return found


def _part(rows: _CountedRows, number: int, info: ColumnInfo, others: Sequence[ColumnInfo], width: int) -> exp.Expr:
    """SELECT number, rows, groups, unique rows, pairs, and a flag per other column, padded to one width."""
    one = exp.Literal.number(1)
    flags = [aliased(_settled(other, rows.values[other.name]), f"ppdm_f{place}") for place, other in enumerate(others)]
    groups = exp.Select(expressions=[aliased(exp.Count(this=exp.Star()), _ROWS), *flags]).from_(
        rows.table.copy(), copy=False
    )
    groups = groups.group_by(rows.values[info.name].copy(), copy=False)
    held = column(_ROWS)
    wide = exp.cast(held.copy(), "DECIMAL(18, 0)")
    less = exp.Paren(this=exp.Sub(this=held.copy(), expression=one.copy()))
    alone = exp.case().when(exp.EQ(this=held.copy(), expression=one.copy()), one.copy()).else_(exp.Literal.number(0))
    told: list[exp.Expr] = [
        exp.Literal.number(number),
        exp.Sum(this=held),
        exp.Count(this=exp.Star()),
        exp.Sum(this=alone),
        exp.Sum(this=exp.Mul(this=wide, expression=less)),
        *(exp.Min(this=column(f"ppdm_f{place}")) for place in range(len(others))),
        *(exp.Literal.number(0) for _ in range(width - len(others))),
    ]
    return exp.Select(expressions=told).from_(groups.subquery(f"ppdm_groups_{number}", copy=False), copy=False)


def _settled(info: ColumnInfo, value: exp.Expr) -> exp.Expr:
    """1 where a group has one value of the column, or NULL in all its rows."""
    value = value.copy()
    if info.kind in (Kind.BOOLEAN, Kind.UUID):  # which have no smallest value on every engine
        value = exp.cast(value, "TEXT")
    known, every = exp.Count(this=value), exp.Count(this=exp.Star())
    alike = exp.EQ(this=exp.Min(this=value.copy()), expression=exp.Max(this=value.copy()))
    full = exp.and_(exp.EQ(this=known, expression=every), alike)
    empty = exp.EQ(this=known.copy(), expression=exp.Literal.number(0))
    return exp.case().when(exp.or_(full, empty), exp.Literal.number(1)).else_(exp.Literal.number(0))
