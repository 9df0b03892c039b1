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

One statement with a GROUP BY per column, over values and not hashes, since it decides a publication.  It reads the
cells of the plan where these have all of the columns, else the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

from sqlglot import exp

from ppdm_sql.cells.aggregate import ROWS as CELL_ROWS
from ppdm_sql.cells.aggregate import known_cells
from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.methods.plan import ResidualRisk
from ppdm_sql.policy.words import many
from ppdm_sql.source.encode import canonical
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import Name, aliased, column

UNDECLARED = "undeclared"
UNIQUE_TARGET = "unique_target"
_HALF = 2  # a column is nearly unique if one row in so many has a value of its own
_LEAST_UNIQUE = 50  # rows: in a small table numbers differ without being anybody's own
_LEAST_SURPRISE = 20  # rows


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
    """A number to be predicted is published as it is; that it tells people apart is said."""
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
class _Rows:
    """Where groups are counted: the rows of the source, or its cells."""

    table: Name
    number: exp.Expr  # of the rows of a group
    values: Mapping[str, exp.Expr]


def _rows_of(engine: Engine, source: Source, infos: Sequence[ColumnInfo]) -> _Rows:
    """The cells that were counted for the plan, where they have all of these columns."""
    cells = known_cells(engine, source.relation)
    if cells is not None and {info.name for info in infos} <= cells.columns.keys():
        number = exp.cast(exp.Sum(this=column(CELL_ROWS)), "BIGINT")
        return _Rows(cells.table, number, {info.name: column(cells.value_column(info.name)) for info in infos})
    values = {info.name: canonical(engine, info) for info in infos}
    return _Rows(source.relation, exp.Count(this=exp.Star()), values)


def _measure(
    engine: Engine, source: Source, left: Sequence[ColumnInfo], known: Sequence[ColumnInfo]
) -> dict[str, _Groups]:
    """Every column with its groups, by one statement."""
    width = max(len(left), len(known))
    jobs = [*((info, known) for info in left), *((info, left) for info in known)]
    rows = _rows_of(engine, source, [*left, *known])
    parts = [_part(engine, rows, number, info, others, width) for number, (info, others) in enumerate(jobs)]
    query = reduce(lambda one, other: exp.Union(this=one, expression=other, distinct=False), parts)
    found: dict[str, _Groups] = {}
    for number, rows, groups, unique, pairs, *flags in engine.fetch(query):
        info, others = jobs[number]
        settled = frozenset(other.name for other, flag in zip(others, flags, strict=False) if flag == 1)
        figures = [int(figure or 0) for figure in (rows, groups, unique, pairs)]
        found[info.name] = _Groups(info, figures[0], figures[1], figures[2], figures[3], settled)
    return found


def _part(
    engine: Engine, rows: _Rows, number: int, info: ColumnInfo, others: Sequence[ColumnInfo], width: int
) -> exp.Expr:
    """SELECT number, rows, groups, unique rows, pairs, and a flag per other column, padded to one width."""
    one = exp.Literal.number(1)
    flags = [aliased(_settled(other, rows.values[other.name]), f"ppdm_f{place}") for place, other in enumerate(others)]
    groups = exp.Select(expressions=[aliased(rows.number.copy(), _ROWS), *flags]).from_(rows.table.table(), copy=False)
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
