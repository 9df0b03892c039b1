"""Rows to children, all nodes of a round at once, from tables instead of from a CASE that spells the tree out.

Where an engine reads constant lists quickly the slot of every row is updated in place, each list having one entry
per slot.  Elsewhere the rows are written again, joined to a table of splits.  The cost does not grow with the tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.engines.workspace import Workspace
from ppdm_sql.induction.coded import RESPONSE, SLOT, Training
from ppdm_sql.statements.names import Name, aliased, column

_MOST_LISTED = 16_384  # entries of a constant list; above it a join is quicker
NEVER = -1
_BITS = 62  # of a BIGINT
_SMALL, _INT, _LONG = exp.DataType.build("SMALLINT"), exp.DataType.build("INT"), exp.DataType.build("BIGINT")


@dataclass
class Routes:
    """Per slot where its rows go; slot 0 is the sink of rows whose node is finished.

    A cut: codes up to `cut` (and the code `low_null`) to low, others to high.  Groups: the child of each code.
    A slot that is not split has no attribute and its rows go to low.
    """

    slots: int
    attribute: list[int] = field(init=False)
    cut: list[int] = field(init=False)
    low_null: list[int] = field(init=False)
    low: list[int] = field(init=False)
    high: list[int] = field(init=False)
    children: dict[int, list[int]] = field(default_factory=dict)  # slot -> new slot per code

    def __post_init__(self) -> None:
        self.attribute, self.cut, self.low_null = ([NEVER] * self.slots for _ in range(3))
        self.low, self.high = [0] * self.slots, [0] * self.slots

    def stays(self, slot: int, target: int) -> None:
        self.low[slot] = target

    def cuts(self, slot: int, attribute: int, cut: int, low_null: int | None, low: int, high: int) -> None:
        self.attribute[slot], self.cut[slot] = attribute, cut
        self.low_null[slot] = NEVER if low_null is None else low_null
        self.low[slot], self.high[slot] = low, high

    def groups(self, slot: int, attribute: int, child_of_code: Sequence[int]) -> None:
        self.attribute[slot] = attribute
        self.children[slot] = list(child_of_code)

    def is_binary(self, most_codes: int) -> bool:
        """Whether every split into groups has two of them, over at most this many codes."""
        return all(len(kids) <= most_codes and len(set(kids)) <= 2 for kids in self.children.values())

    @property
    def used_attributes(self) -> list[int]:
        return sorted({number for number in self.attribute if number != NEVER})


def route(engine: Engine, training: Training, table: Name, routes: Routes, *, live: int, rows: int) -> tuple[Name, int]:
    """Sends every row on; gives the table that has the rows now, and how many it holds.

    Rows of finished nodes are left behind when more than half of the table is such: what is copied over a whole
    tree is then less than one table.
    """
    short = sum(map(len, routes.children.values())) <= _MOST_LISTED
    if engine.has_list_lookup and short:
        target, lists = _slot_by_lists(routes, training)
        if engine.updates_in_place and live * 2 >= rows:
            changed = [exp.EQ(this=column(SLOT), expression=target)]
            engine.execute(exp.Update(this=table.table(), expressions=changed), **lists)
            return table, rows
        query = _rewritten_by_lists(training, table, target)
        following = engine.work.table("tree", query, analyze=True, **lists)
    else:
        work = engine.work
        with engine.workspace() as tables:
            query = _rewritten_by_join(training, table, routes, *_load(tables, routes))
            following = work.table("tree", query, analyze=True)
    engine.work.drop(table)
    return following, live


def _kept_columns(training: Training) -> list[str]:
    names = [pack.name for pack in training.packs]
    return [*names, RESPONSE] if training.is_regression else names


# -- by constant lists -----------------------------------------------------------------------------------


def _slot_by_lists(routes: Routes, training: Training) -> tuple[exp.Expr, dict[str, list[int]]]:
    """The new slot of a row by look-ups in lists that have one entry per slot, and the lists: they are bound.

    A look-up that is saved here is saved for every row: a cut of the first attribute of a pack is a cut of the
    packed number, and two groups of few values are the bits of one number.
    """
    whole = {number for number in routes.used_attributes if _is_packed_first(training, number)}
    lists = _lists(routes, training, whole)
    masked = {routes.attribute[slot] for slot in routes.children} if routes.is_binary(_BITS) else set()
    slot, kind = column(SLOT), training.slot_type
    value = _value_by_lists(training, routes.used_attributes, whole, masked)
    unsplit = exp.EQ(this=_at("attribute", slot, _SMALL), expression=exp.Literal.number(0))
    case = exp.Case(ifs=[exp.If(this=unsplit, true=_at("low", slot, kind))])
    if routes.children and not masked:
        grouped = exp.GTE(this=_at("offset", slot, _INT), expression=exp.Literal.number(0))
        place = exp.Add(this=_at("offset", slot, _INT), expression=value.copy())
        case.append("ifs", exp.If(this=grouped, true=_at("target", place, kind)))
    below: exp.Expr = exp.LTE(this=value, expression=_at("cut", slot, _INT))
    if any(code != NEVER for code in routes.low_null):
        is_null = exp.EQ(this=value.copy(), expression=_at("low_null", slot, _INT))
        below = exp.Or(this=below, expression=is_null)
    case.append("ifs", exp.If(this=below, true=_at("low", slot, kind)))
    case.set("default", _at("high", slot, kind))
    return case, lists


def _is_packed_first(training: Training, number: int) -> bool:
    """Whether a cut of the attribute is a cut of its packed column: then nothing has to be unpacked."""
    coded, pack = training.attributes[number], training.pack_of[number]
    return coded.attribute.ordered and coded.null is None and pack.members[0] == number and pack.cells < 1 << 31


def _lists(routes: Routes, training: Training, whole: set[int]) -> dict[str, list[int]]:
    cuts = [
        (cut + 1) * training.pack_of[attribute].stride(attribute) - 1 if attribute in whole else cut
        for attribute, cut in zip(routes.attribute, routes.cut, strict=True)
    ]
    lists = {
        "attribute": [number + 1 for number in routes.attribute],  # 0: the slot is not split
        "cut": cuts,
        "low_null": routes.low_null,
        "low": list(routes.low),
        "high": list(routes.high),
    }
    if not routes.is_binary(_BITS):
        offsets, flat = _flatten(routes)
        return lists | {"offset": offsets, "target": flat}
    masks = [0] * routes.slots
    for slot, children in routes.children.items():
        lists["low"][slot], lists["high"][slot] = children[0], next((c for c in children if c != children[0]), 0)
        masks[slot] = sum(1 << code for code, child in enumerate(children) if child != children[0])
        lists["cut"][slot] = 0
    return lists | {"mask": masks}


def _value_by_lists(training: Training, used: Sequence[int], whole: set[int], masked: set[int]) -> exp.Expr:
    """The code of the attribute that the row's node asks for, the packed number, or a bit for the group."""

    def of(number: int) -> exp.Expr:
        if number in whole:
            return exp.Cast(this=column(training.pack_of[number].name), to=_INT.copy())
        code = exp.Cast(this=training.code(number, None), to=_INT.copy())
        if number not in masked:
            return code
        shifted = exp.Paren(this=exp.BitwiseRightShift(this=_at("mask", column(SLOT), _LONG), expression=code))
        return exp.Cast(this=exp.BitwiseAnd(this=shifted, expression=exp.Literal.number(1)), to=_INT.copy())

    branches = [exp.If(this=exp.Literal.number(number + 1), true=of(number)) for number in used]
    return exp.Case(this=_at("attribute", column(SLOT), _SMALL), ifs=branches)


def _flatten(routes: Routes) -> tuple[list[int], list[int]]:
    offsets: list[int] = [NEVER] * routes.slots
    flat: list[int] = []
    for slot, children in routes.children.items():
        offsets[slot] = len(flat)
        flat.extend(children)
    return offsets, flat


def _at(name: str, place: exp.Expr, kind: exp.DataType) -> exp.Expr:
    """The entry of a bound list at a place counted from 0; narrow entries are quicker."""
    listed = exp.DataType(this=exp.DType.ARRAY, expressions=[kind.copy()], nested=True)
    array = exp.Cast(this=exp.Parameter(this=exp.Var(this=name)), to=listed)
    index = exp.Add(this=exp.Paren(this=place.copy()), expression=exp.Literal.number(1))
    return exp.Bracket(this=exp.Paren(this=array), expressions=[index], offset=1)


def _rewritten_by_lists(training: Training, table: Name, target: exp.Expr) -> exp.Select:
    sent = aliased(exp.Cast(this=target, to=training.slot_type.copy()), SLOT)
    inner = exp.Select(expressions=[*map(column, _kept_columns(training)), sent]).from_(table.table())
    kept = [column(name, "w") for name in (*_kept_columns(training), SLOT)]
    going_on = exp.GT(this=column(SLOT, "w"), expression=exp.Literal.number(0))
    return exp.Select(expressions=kept).from_(inner.subquery("w")).where(going_on)


# -- by a table of splits --------------------------------------------------------------------------------


def _rewritten_by_join(
    training: Training, table: Name, routes: Routes, splits: Name, branches: Name | None
) -> exp.Select:
    """The rows that go on, with their new slots; rows of finished nodes are left behind."""
    codes = [(number, exp.Cast(this=training.code(number, "w"), to=_INT.copy())) for number in routes.used_attributes]
    ifs = [exp.If(this=exp.Literal.number(number), true=code) for number, code in codes]
    value = exp.Case(this=column("ppdm_a", "s"), ifs=ifs)  # one branch per attribute, not per node
    below = exp.Or(
        this=exp.LTE(this=value, expression=column("ppdm_cut", "s")),
        expression=exp.EQ(this=value.copy(), expression=column("ppdm_low_null", "s")),
    )
    sides = exp.Case(ifs=[exp.If(this=below, true=column("ppdm_low", "s"))], default=column("ppdm_high", "s"))
    is_split = exp.GTE(this=column("ppdm_a", "s"), expression=exp.Literal.number(0))
    target: exp.Expr = exp.Case(ifs=[exp.If(this=is_split, true=sides)], default=column("ppdm_low", "s"))
    query = exp.Select(expressions=[column(name, "w") for name in _kept_columns(training)]).from_(table.table("w"))
    query = query.join(splits.table("s"), on=exp.EQ(this=column(SLOT, "s"), expression=column(SLOT, "w")))
    if branches is not None:
        target = exp.Coalesce(this=column("ppdm_child", "b"), expressions=[target])
        same = exp.And(
            this=exp.EQ(this=column(SLOT, "b"), expression=column(SLOT, "w")),
            expression=exp.EQ(this=column("ppdm_code", "b"), expression=value.copy()),
        )
        query = query.join(branches.table("b"), on=same, join_type="left")
    query = query.select(aliased(exp.Cast(this=target, to=training.slot_type.copy()), SLOT))
    return query.where(exp.GT(this=target.copy(), expression=exp.Literal.number(0)))


def _load(tables: Workspace, routes: Routes) -> tuple[Name, Name | None]:
    """The table of splits and, where there are groups, that of branches."""
    import pyarrow as pa

    columns = {
        SLOT: range(routes.slots),
        "ppdm_a": routes.attribute,
        "ppdm_cut": routes.cut,
        "ppdm_low_null": routes.low_null,
        "ppdm_low": routes.low,
        "ppdm_high": routes.high,
    }
    loaded = {name: pa.array(np.asarray(list(values)), pa.int32()) for name, values in columns.items()}
    splits = tables.load("tree_splits", loaded, analyze=True)
    if not routes.children:
        return splits, None
    triples = [(slot, code, to) for slot, kids in routes.children.items() for code, to in enumerate(kids)]
    parts = np.array(triples, dtype=np.int32).T
    names = (SLOT, "ppdm_code", "ppdm_child")
    return splits, tables.load("tree_branches", dict(zip(names, map(pa.array, parts), strict=True)), analyze=True)
