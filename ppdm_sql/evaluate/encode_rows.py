"""Rows as numbers, for learners that run in Python: one line per distinct row of codes, and how many rows are like it.

What codes there are is decided by the rows to learn from alone; the rows to test with get the same codes.

    categories   the place of the value among those of the training; one more for a value that training did not have
    numbers      as they are, or the interval they lie in (Fayyad and Irani's cuts, as kACTUS makes them)
    NULL, *      -1: what is missing or suppressed is unknown to a learner, not a category of its own

The coding, the collapsing of equal rows and the counting are one GROUP BY in the database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.evaluate.accuracy import SHARE, TOLD, TRUTH, UNKNOWN
from ppdm_sql.methods.shared.discretize import cut_codes
from ppdm_sql.source.encode import CODE, VALUE, Lookup, canonical, make_lookup
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.trees.comparing import from_on
from ppdm_sql.trees.tree import Attribute, attribute_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MISSING = -1
_ROWS, _CLASS = "ppdm_rows", "ppdm_y"


@dataclass(frozen=True)
class LearnedColumn:
    """An attribute: the look-up table of its categories, the cuts of its numbers, or neither (numbers as they are)."""

    info: ColumnInfo
    attribute: Attribute
    lookup: Lookup | None = None
    cuts: tuple[Decimal | str, ...] | None = None

    @property
    def size(self) -> int:
        """How many codes there are, that of values training did not have included; 0 for numbers as they are."""
        if self.lookup is not None:
            return self.lookup.size + 1 - (self.lookup.null_code is not None)
        return 0 if self.cuts is None else len(self.cuts) + 1


@dataclass(frozen=True)
class EncodedRows:
    """Distinct rows: per attribute a code or a number (NaN is NULL), the class, and how many rows are alike."""

    columns: tuple[NDArray[Any], ...]
    classes: Ints
    rows: Ints


@dataclass(frozen=True)
class Encoder:
    """How rows become numbers."""

    engine: Engine
    columns: tuple[LearnedColumn, ...]
    target: Lookup

    @property
    def classes(self) -> int:
        return self.target.size - (self.target.null_code is not None)

    def encode(self, relation: Name) -> EncodedRows:
        """The rows of a relation that have a class, equal ones together."""
        query = exp.Select().from_(relation.table("r"))
        query, classes = _join_lookup(self.engine, query, self.target, "y", exp.Literal.number(UNKNOWN))
        names, parts = [_CLASS], [classes]
        for place, each in enumerate(self.columns):
            names.append(f"ppdm_x{place}")
            if each.lookup is not None:
                unseen = exp.Literal.number(each.size - 1)
                query, code = _join_lookup(self.engine, query, each.lookup, f"l{place}", unseen)
                parts.append(code)
            else:
                parts.append(_number(each))
        inner = query.select(*(aliased(part, name) for part, name in zip(parts, names, strict=True)))
        known = exp.Not(this=exp.Is(this=column(self.target.column.name, "r"), expression=exp.Null()))
        inner = inner.where(known)
        keys = [column(name, "c") for name in names]
        counted = exp.Select(expressions=[*keys, aliased(exp.Count(this=exp.Star()), _ROWS)])
        counted = counted.from_(inner.subquery("c", copy=False)).group_by(*(key.copy() for key in keys))
        found = self.engine.arrays(counted)
        values = [found[f"ppdm_x{place}"] for place in range(len(self.columns))]
        kept = tuple(
            value.astype(np.int64) if each.size else _with_holes(value)
            for value, each in zip(values, self.columns, strict=True)
        )
        labels, rows = found[_CLASS].astype(np.int64), found[_ROWS].astype(np.int64)
        order = np.lexsort([labels, *kept])  # a GROUP BY has no order, and some learners look at it
        return EncodedRows(tuple(one[order] for one in kept), labels[order], rows[order])


def encoder(engine: Engine, train: Name, attributes: Sequence[ColumnInfo], target: ColumnInfo, *, cut: bool) -> Encoder:
    """The codes of a relation's rows; cut: numbers become intervals."""
    classes = make_lookup(engine, train, target)
    if classes.size - (classes.null_code is not None) == 0:
        raise PolicyError(f'column "{target.name}" is NULL in every row, so there is nothing to learn')
    found = []
    for info in attributes:
        if info.kind is Kind.UNSUPPORTED:
            raise PolicyError(f'column "{info.name}": type {info.declared.split("(")[0]} cannot be learned from')
        if info.kind.is_ordered and not cut:
            found.append(LearnedColumn(info, attribute_of(info)))
        elif info.kind.is_ordered:
            lookup = make_lookup(engine, train, info)
            found.append(LearnedColumn(info, attribute_of(info), cuts=_cuts(engine, train, lookup, classes)))
        else:
            found.append(LearnedColumn(info, attribute_of(info), lookup=make_lookup(engine, train, info)))
    return Encoder(engine, tuple(found), classes)


def _join_lookup(
    engine: Engine, query: exp.Select, lookup: Lookup, alias: str, unseen: exp.Expr
) -> tuple[exp.Select, exp.Expr]:
    """The query with a look-up table, and the row's code in it."""
    value = canonical(engine, lookup.column, "r")
    query = query.join(
        lookup.table.table(alias), on=exp.EQ(this=column(VALUE, alias), expression=value), join_type="left"
    )
    missing: exp.Expr = exp.Is(this=column(lookup.column.name, "r"), expression=exp.Null())
    if lookup.column.kind is Kind.TEXT:
        missing = exp.or_(missing, _is_marker(column(lookup.column.name, "r")))
    found = exp.Coalesce(this=column(CODE, alias), expressions=[unseen])
    code = exp.Case(ifs=[exp.If(this=missing, true=exp.Literal.number(MISSING))], default=found)
    return query, code


def _is_marker(text: exp.Expr) -> exp.Expr:
    """Whether a text consists of stars, as a suppressed cell does."""
    bare = exp.Anonymous(this="REPLACE", expressions=[text, exp.Literal.string("*"), exp.Literal.string("")])
    empty = exp.EQ(this=bare, expression=exp.Literal.string(""))
    return exp.and_(empty, exp.NEQ(this=text.copy(), expression=exp.Literal.string("")))


def _number(each: LearnedColumn) -> exp.Expr:
    """A number as it is, or the number of cuts it lies above."""
    plain = column(each.info.name, "r")
    missing = exp.Is(this=plain.copy(), expression=exp.Null())
    if each.cuts is None:
        return _as_double(each.info)
    above: exp.Expr = exp.Literal.number(0)
    for cut in each.cuts:
        one = exp.If(this=from_on(each.attribute, cut, plain), true=exp.Literal.number(1))
        above = exp.Add(this=above, expression=exp.Case(ifs=[one], default=exp.Literal.number(0)))
    return exp.Case(ifs=[exp.If(this=missing, true=exp.Literal.number(MISSING))], default=above)


def _as_double(info: ColumnInfo) -> exp.Expr:
    """Moments as seconds: a learner of numbers only needs a line; an infinite one has no place on it."""
    plain: exp.Expr = column(info.name, "r")
    if info.kind is Kind.DATE:
        plain = exp.TimeToUnix(this=exp.cast(plain, "TIMESTAMP"))
    elif info.kind is Kind.TIMESTAMP:
        plain = exp.TimeToUnix(this=plain)
    return exp.Coalesce(this=exp.cast(plain, "DOUBLE"), expressions=[_hole()])


def _hole() -> exp.Expr:
    return exp.cast(exp.Literal.string("NaN"), "DOUBLE")


def _with_holes(values: NDArray[Any]) -> Floats:
    """Infinite numbers say as little as missing ones to a learner that adds them up."""
    numbers = values.astype(np.float64)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _cuts(engine: Engine, train: Name, lookup: Lookup, classes: Lookup) -> tuple[Decimal | str, ...]:
    """Where intervals start that tell the classes apart."""
    known = lookup.size - (lookup.null_code is not None)
    query = exp.Select().from_(train.table("r"))
    query, code = _join_lookup(engine, query, lookup, "l", exp.Literal.number(MISSING))
    query, label = _join_lookup(engine, query, classes, "y", exp.Literal.number(UNKNOWN))
    inner = query.select(aliased(code, "ppdm_x"), aliased(label, _CLASS))
    keys = [column("ppdm_x", "c"), column(_CLASS, "c")]
    counted = exp.Select(expressions=[*keys, aliased(exp.Count(this=exp.Star()), _ROWS)])
    found = engine.arrays(counted.from_(inner.subquery("c", copy=False)).group_by(*(key.copy() for key in keys)))
    here = (found["ppdm_x"] >= 0) & (found[_CLASS] >= 0)
    counts = np.zeros((known, classes.size), dtype=np.int64)
    counts[found["ppdm_x"][here].astype(np.int64), found[_CLASS][here].astype(np.int64)] = found[_ROWS][here]
    if not known:
        return ()
    places = cut_codes(counts, counts.sum(axis=1), 1)
    return tuple(cut for cut in map(_cut, _values(engine, lookup, places)) if cut is not None)


def _values(engine: Engine, lookup: Lookup, places: Sequence[int]) -> list[object]:
    if not places:
        return []
    moments = lookup.column.kind in (Kind.DATE, Kind.TIMESTAMP)
    value = exp.cast(column(VALUE), "TEXT") if moments else column(VALUE)
    named = exp.In(this=column(CODE), expressions=[exp.Literal.number(place) for place in places])
    query = exp.Select(expressions=[value]).from_(lookup.table.table()).where(named).order_by(column(CODE))
    return [row[0] for row in engine.fetch(query)]


def _cut(value: object) -> Decimal | str | None:
    if isinstance(value, str):
        return value
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(str(value))
    return None if number.is_nan() else number


# -- back into the database --------------------------------------------------------------------------------


def load_predictions(engine: Engine, into: Name, found: EncodedRows, shares: Floats, told: Ints | None = None) -> None:
    """What was predicted for each row, as accuracy.py counts it; shares: (distinct row, class)."""
    import pyarrow as pa

    taken = shares.argmax(axis=1) if told is None else told
    table: dict[str, Any] = {
        TRUTH: pa.array(np.repeat(found.classes, found.rows), pa.int32()),
        TOLD: pa.array(np.repeat(taken, found.rows), pa.int32()),
    }
    for place in range(shares.shape[1]):
        # twelve digits: noise behind them must not break a tie
        table[f"{SHARE}{place}"] = pa.array(np.repeat(shares[:, place].round(12), found.rows), pa.float64())
    engine.load(into, pa.table(table))
