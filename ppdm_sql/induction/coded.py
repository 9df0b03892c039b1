"""The table a tree is grown from: one narrow row of codes per source row, made by one pass over the source.

Every attribute is a small integer code (its value's place in order, its bin, or its category; NULL last).
Several small attributes and the class are packed into one integer, so that one GROUP BY over one column
counts all of them: Python takes the packed number apart again, which it does for groups and not for rows.

    ppdm_tree_<number>         ppdm_p0, ppdm_p1, ...  packed codes;  ppdm_slot  the node the row is in;
                               of a regression tree also ppdm_z, the response as a whole number
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.errors import PolicyError, SourceChanged
from ppdm_sql.induction.coded_attribute import Binned, CodedAttribute, Cutting, coded_attribute, rows_of
from ppdm_sql.induction.criteria import Ints
from ppdm_sql.source.encode import CODE, VALUE, canonical, code_of, make_lookup, recode
from ppdm_sql.source.join import Join, join_in_steps
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.trees.tree import Attribute, Value, attribute_of, plain

SLOT, RESPONSE = "ppdm_slot", "ppdm_z"
_CELLS = 4096  # of one packed column: with a thousand nodes still an array that fits a cache
SMALL = 100_000  # rows up to which every value is looked at
MOST_CLASSES = 1000
_FINEST = 10**300  # beyond it the arithmetic of doubles has no room


@dataclass(frozen=True)
class Pack:
    """Attributes whose codes, with the class, are one column: ((a * size of b) + b) * classes + class."""

    name: str
    members: tuple[int, ...]
    sizes: tuple[int, ...]
    classes: int

    @property
    def cells(self) -> int:
        return int(np.prod(self.sizes, dtype=np.int64)) * self.classes

    def stride(self, member: int) -> int:
        """What one step of a member's code adds to the packed number."""
        place = self.members.index(member)
        return int(np.prod(self.sizes[place + 1 :], dtype=np.int64)) * self.classes


@dataclass(frozen=True)
class Training:
    """What growing needs to know of the table."""

    table: Name
    attributes: tuple[CodedAttribute, ...]
    target: Attribute
    classes: tuple[Value, ...]  # empty: a regression
    packs: tuple[Pack, ...]
    rows: int
    left_out: int  # rows without target, or of a rare class
    slot_type: exp.DataType
    low: Fraction = Fraction(0)  # of a regression: z = (y - low) * scale
    scale: Fraction = Fraction(1)

    @property
    def is_regression(self) -> bool:
        return not self.classes

    @cached_property
    def pack_of(self) -> dict[int, Pack]:
        return {member: pack for pack in self.packs for member in pack.members}

    def code(self, member: int, alias: str | None) -> exp.Expr:
        """The code of an attribute, taken out of its packed column."""
        pack = self.pack_of[member]
        code: exp.Expr = column(pack.name, alias)
        stride = pack.stride(member)
        if stride > 1:
            code = exp.IntDiv(this=code, expression=exp.Literal.number(stride))
        if member != pack.members[0]:
            code = exp.Mod(this=exp.Paren(this=code), expression=exp.Literal.number(self.attributes[member].size))
        return code


def make_training(
    engine: Engine,
    relation: Name,
    attributes: Sequence[ColumnInfo],
    target: ColumnInfo,
    *,
    regression: bool,
    bins: int,
    exact: bool,
    rare: int,
    most_nodes: int,
    ordered: Mapping[str, bool] | None = None,
    pinned: int = 1,
) -> Training:
    """Look-up tables, bins and packed codes: everything that is read from the source is read here.

    pinned: rows that every border between values has around it, so that it can be published (borders.py).
    """
    check_columns(attributes, target, regression=regression)
    total, known = engine.fetch_one(
        exp.Select(expressions=[exp.Count(this=exp.Star()), exp.Count(this=column(target.name))]).from_(
            relation.table()
        )
    )
    if total == 0:
        raise PolicyError("the table has no rows, so nothing can be learned from it")
    if known == 0:
        raise PolicyError(f'column "{target.name}" is NULL in every row, so there is nothing to learn')
    limit = None if exact or total <= SMALL else bins
    cut = Cutting(limit, bins, pinned)
    coded = tuple(
        coded_attribute(engine, relation, info, rare, (ordered or {}).get(info.name), cut) for info in attributes
    )
    if regression:
        return _with_response(engine, relation, coded, target, total, known, most_nodes)
    return _with_classes(engine, relation, coded, target, total, rare, most_nodes)


def check_columns(attributes: Sequence[ColumnInfo], target: ColumnInfo, *, regression: bool) -> None:
    if not attributes:
        raise PolicyError("a tree needs at least one attribute other than the target")
    names = [info.name for info in attributes]
    if target.name in names:
        raise PolicyError(f'column "{target.name}" is the target and cannot be an attribute as well')
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise PolicyError(f'column "{twice}" is named twice among the attributes')
    for info in (*attributes, target):
        if info.kind is Kind.UNSUPPORTED:
            shape = info.declared.split("(")[0]
            raise PolicyError(f'column "{info.name}": a tree cannot use type {shape}; cast or unnest it first')
    if regression and target.kind not in (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT):
        raise PolicyError(
            f'column "{target.name}" is not a number, which regression needs; use c45 or cart for classes'
        )


# -- the target, and the one pass ------------------------------------------------------------------------


def _with_classes(
    engine: Engine,
    relation: Name,
    coded: tuple[CodedAttribute, ...],
    target: ColumnInfo,
    total: int,
    rare: int,
    most_nodes: int,
) -> Training:
    lookup = make_lookup(engine, relation, target)
    rows = rows_of(engine, lookup)
    kept = rows >= rare if rare > 1 else np.ones(len(rows), dtype=bool)
    if not kept.any():
        raise PolicyError(f'column "{target.name}": every one of its {len(rows)} classes has fewer than {rare} rows')
    if kept.sum() > MOST_CLASSES:
        told = f'column "{target.name}" has {int(kept.sum())} classes, but at most {MOST_CLASSES} can be learned'
        raise PolicyError(f"{told}: group its values, or use regression if it is a number")
    attribute = attribute_of(target)
    view = CodedAttribute(attribute, lookup, lookup.size, None, None, rows, rows, kept)
    values = view.texts(engine, np.flatnonzero(kept).tolist())
    classes = tuple(plain(values[place]) for place in sorted(values))
    if not kept.all():
        codes = np.where(kept, np.cumsum(kept) - 1, -1)
        lookup = recode(engine, lookup, codes.tolist())
    packs = make_packs([one.size for one in coded], len(classes))
    response: exp.Expr = column(CODE, "y")
    used = int(rows[kept].sum())
    query, code = _join_lookups(engine, relation, coded)
    query = query.join(
        lookup.table.table("y"),
        on=exp.EQ(this=column(VALUE, "y"), expression=canonical(engine, target, "r")),
        join_type="inner",
    )
    if not kept.all():
        query = query.where(exp.GTE(this=column(CODE, "y"), expression=exp.Literal.number(0)))
    for pack in packs:
        query = query.select(aliased(_pack_codes(engine, pack, code, response), pack.name), copy=False)
    slot_type = engine.code_type(max(min(most_nodes, used) + 2, 1 << 9))
    table = _write(engine, query, used, slot_type)
    return Training(table, coded, attribute, classes, packs, used, int(total) - used, slot_type)


def _with_response(
    engine: Engine,
    relation: Name,
    coded: tuple[CodedAttribute, ...],
    target: ColumnInfo,
    total: int,
    known: int,
    most_nodes: int,
) -> Training:
    low, scale, number = _grid(engine, relation, target, known)
    packs = make_packs([one.size for one in coded], 1)
    query, code = _join_lookups(engine, relation, coded)
    query = query.where(exp.Not(this=exp.Is(this=column(target.name, "r"), expression=exp.Null())))
    for pack in packs:
        query = query.select(aliased(_pack_codes(engine, pack, code, None), pack.name), copy=False)
    query = query.select(aliased(exp.cast(number, "INT"), RESPONSE))
    slot_type = engine.code_type(max(min(most_nodes, known) + 2, 1 << 9))
    table = _write(engine, query, known, slot_type)
    return Training(table, coded, attribute_of(target), (), packs, known, int(total) - known, slot_type, low, scale)


def _grid(engine: Engine, relation: Name, target: ColumnInfo, known: int) -> tuple[Fraction, Fraction, exp.Expr]:
    """The response as whole numbers whose squares add up exactly: low, scale and the expression (y - low) * scale."""
    value = column(target.name)
    ends = exp.Select(expressions=[exp.Min(this=value), exp.Max(this=value.copy())]).from_(relation.table())
    least, greatest = engine.fetch_one(ends)
    low, scale = grid_of(target, least, greatest, known)
    response = column(target.name, "r")
    if scale == 1 and target.kind is Kind.INTEGER:
        return low, scale, exp.Sub(this=response, expression=exp.Paren(this=exp.convert(int(low))))
    distance = exp.Paren(this=exp.Sub(this=exp.cast(response, "DOUBLE"), expression=_double(float(low))))
    scaled = exp.Add(this=exp.Mul(this=distance, expression=_double(float(scale))), expression=_double(0.5))
    return low, scale, exp.Floor(this=scaled)  # of x + 0.5: engines round halves differently


def grid_of(target: ColumnInfo, least: Any, greatest: Any, rows: int) -> tuple[Fraction, Fraction]:
    """Where the whole numbers of a response start, and how many of them make a unit.

    The scale is a power of ten, as fine as the number of rows allows, so that numbers with few digits lie on the
    grid exactly and whole numbers of a small range stay as they are.
    """
    if target.kind is Kind.FLOAT and not (np.isfinite(least) and np.isfinite(greatest)):
        raise PolicyError(f'column "{target.name}" contains infinity or NaN, which regression cannot average')
    steps = 2 ** ((60 - int(rows).bit_length()) // 2)
    scale = grid_scale(Fraction(greatest) - Fraction(least), steps, whole=target.kind is Kind.INTEGER)
    if scale > _FINEST or max(abs(Fraction(least)), abs(Fraction(greatest))) > _FINEST:
        raise PolicyError(
            f'column "{target.name}" contains numbers too large or too close to each other: scale it first'
        )
    return Fraction(least) if least == greatest else Fraction(least) * scale // 1 / scale, scale


def on_grid(target: ColumnInfo, values: Sequence[Any], rows: int) -> Ints:
    """The values of a response as whole numbers, the same that the engine makes of them; they are in order."""
    low, scale = grid_of(target, values[0], values[-1], rows)
    if scale == 1 and target.kind is Kind.INTEGER:
        return np.array([int(value) - int(low) for value in values], dtype=np.int64)
    distances = np.array([float(value) for value in values]) - float(low)
    return np.floor(distances * float(scale) + 0.5).astype(np.int64)


def grid_scale(width: Fraction, steps: int, *, whole: bool) -> Fraction:
    """The greatest power of ten by which a range can be stretched to at most this many steps; 1 for whole numbers.

    >>> [str(grid_scale(Fraction(w), 1000, whole=False)) for w in ("73", "0.5", "40000", "0")]
    ['10', '1000', '1/100', '1']
    """
    if width == 0:
        return Fraction(1)
    scale = Fraction(1)
    while width * scale > steps - 2:
        scale /= 10
    while not whole and width * scale * 10 <= steps - 2:
        scale *= 10
    return scale


def _double(number: float) -> exp.Expr:
    return exp.cast(exp.Literal.string(repr(number)), "DOUBLE")


def make_packs(sizes: Sequence[int], classes: int) -> tuple[Pack, ...]:
    """Attributes put together as long as the packed column has few enough cells; large ones stay alone.

    >>> [pack.members for pack in make_packs([2, 255, 5, 40, 7, 6], 2)]
    [(1, 4), (3, 5, 2), (0,)]
    """
    open_packs: list[list[int]] = []
    cells: list[int] = []
    for member in sorted(range(len(sizes)), key=lambda m: -sizes[m]):
        fit = next((n for n, full in enumerate(cells) if full * sizes[member] <= _CELLS), None)
        if fit is None:
            open_packs.append([member])
            cells.append(classes * sizes[member])
        else:
            open_packs[fit].append(member)
            cells[fit] *= sizes[member]
    return tuple(
        Pack(f"ppdm_p{number}", tuple(members), tuple(max(sizes[m], 1) for m in members), classes)
        for number, members in enumerate(open_packs)
    )


def _join_lookups(engine: Engine, relation: Name, coded: Sequence[CodedAttribute]) -> tuple[exp.Select, list[exp.Expr]]:
    """The source joined to every look-up table; an inner join where there is no NULL, because it is quicker."""
    only_null = [one.size == 0 or (one.size == 1 and one.null is not None) for one in coded]
    joins = [_join(engine, one) for one, skipped in zip(coded, only_null, strict=True) if not skipped]
    query, read = join_in_steps(engine, exp.Select().from_(relation.table("r")), joins, "r", "ppdm_learned")
    left = iter(read)
    return query, [exp.Literal.number(0) if skipped else next(left) for skipped in only_null]


def _join(engine: Engine, one: CodedAttribute) -> Join:
    table = one.lookup.coded_table if isinstance(one.lookup, Binned) else one.lookup.table
    lookup = replace(one.lookup, null_code=one.null)
    kind = "inner" if one.null is None else "left"
    value = canonical(engine, one.lookup.column, "r")
    return Join(table, VALUE, value, lambda alias: code_of(lookup, alias, "r"), kind)


def _pack_codes(engine: Engine, pack: Pack, codes: Sequence[exp.Expr], response: exp.Expr | None) -> exp.Expr:
    wide = "BIGINT" if pack.cells > 1 << 30 else "INT"
    total: exp.Expr | None = None
    for member, size in zip(pack.members, pack.sizes, strict=True):
        code = exp.cast(codes[member].copy(), wide)
        total = code if total is None else _times_plus(total, size, code)
    assert total is not None
    if response is not None:
        total = _times_plus(total, pack.classes, exp.cast(response.copy(), wide))
    return exp.Cast(this=total, to=engine.code_type(pack.cells))


def _times_plus(total: exp.Expr, size: int, code: exp.Expr) -> exp.Expr:
    product = exp.Mul(this=exp.Paren(this=total), expression=exp.Literal.number(size))
    return exp.Add(this=product, expression=code)


def _write(engine: Engine, query: exp.Select, expected: int, slot_type: exp.DataType) -> Name:
    query = query.select(aliased(exp.Cast(this=exp.Literal.number(1), to=slot_type.copy()), SLOT))
    table = engine.work.table("tree", query, analyze=True)
    rows = engine.fetch_one(exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(table.table()))[0]
    if rows != expected:
        raise SourceChanged
    return table
