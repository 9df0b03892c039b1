"""Rows to children, all nodes of a round at once, from tables instead of from a CASE that spells the tree out.

Where an engine reads constant lists quickly the slot of every row is updated in place, each list having one entry
per slot.  Elsewhere the rows are written anew, joined to a table of splits.  The cost does not grow with the tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.statements.names import Name, aliased, column, own
from ppdm_sql.trees.coded import RESPONSE, SLOT, Training

_MOST_LISTED = 16_384  # entries of a constant list; above it a join is quicker
_SPLITS, _BRANCHES = own("ppdm_tree_splits"), own("ppdm_tree_branches")
_NEVER = -1
_INT, _LIST = exp.DataType.build("INT"), exp.DataType.build("INT[]", dialect="duckdb")


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
        self.attribute, self.cut, self.low_null = ([_NEVER] * self.slots for _ in range(3))
        self.low, self.high = [0] * self.slots, [0] * self.slots

    def stays(self, slot: int, target: int) -> None:
        self.low[slot] = target

    def cuts(self, slot: int, attribute: int, cut: int, low_null: int | None, low: int, high: int) -> None:
        self.attribute[slot], self.cut[slot] = attribute, cut
        self.low_null[slot] = _NEVER if low_null is None else low_null
        self.low[slot], self.high[slot] = low, high

    def groups(self, slot: int, attribute: int, child_of_code: Sequence[int]) -> None:
        self.attribute[slot] = attribute
        self.children[slot] = list(child_of_code)

    @property
    def used(self) -> list[int]:
        return sorted({number for number in self.attribute if number != _NEVER})


def route(engine: Engine, training: Training, table: Name, routes: Routes, *, live: int, rows: int) -> tuple[Name, int]:
    """Sends every row on; gives the table that has the rows now, and how many it holds.

    Rows of finished nodes are left behind when more than half of the table is such: what is copied over a whole
    tree is then less than one table.
    """
    following = own("ppdm_tree_1" if table.last.endswith("0") else "ppdm_tree_0")
    short = sum(map(len, routes.children.values())) <= _MOST_LISTED
    if engine.has_list_lookup and short:
        target, lists = _listed(routes, training)
        if engine.updates_in_place and live * 2 >= rows:
            changed = [exp.EQ(this=column(SLOT), expression=target)]
            engine.execute(exp.Update(this=table.table(), expressions=changed), **lists)
            return table, rows
        engine.create_table(following, _rewritten_by_lists(training, table, target), temporary=True, **lists)
    else:
        _load(engine, routes)
        engine.create_table(following, _rewritten_by_join(training, table, routes), temporary=True)
    engine.drop_table(table, temporary=True)
    engine.analyze(following)
    return following, live


def _kept(training: Training) -> list[str]:
    names = [pack.name for pack in training.packs]
    return [*names, RESPONSE] if training.is_regression else names


# -- by constant lists -----------------------------------------------------------------------------------


def _listed(routes: Routes, training: Training) -> tuple[exp.Expr, dict[str, list[int]]]:
    """The new slot of a row by look-ups in lists that have one entry per slot, and the lists: they are bound."""
    offsets, flat = _flattened(routes)
    lists = {
        "attribute": routes.attribute,
        "cut": routes.cut,
        "low_null": routes.low_null,
        "low": routes.low,
        "high": routes.high,
        "offsets": offsets,
        "flat": flat,
    }
    slot = column(SLOT)
    value = _value(training, routes.used, _at("attribute", slot), None)
    unsplit = exp.EQ(this=_at("attribute", slot), expression=exp.Literal.number(_NEVER))
    case = exp.Case(ifs=[exp.If(this=unsplit, true=_at("low", slot))])
    if routes.children:
        grouped = exp.GTE(this=_at("offsets", slot), expression=exp.Literal.number(0))
        place = exp.Add(this=_at("offsets", slot), expression=value.copy())
        case.append("ifs", exp.If(this=grouped, true=_at("flat", place)))
    below: exp.Expr = exp.LTE(this=value, expression=_at("cut", slot))
    if any(code != _NEVER for code in routes.low_null):
        is_null = exp.EQ(this=value.copy(), expression=_at("low_null", slot))
        below = exp.Or(this=below, expression=is_null)
    case.append("ifs", exp.If(this=below, true=_at("low", slot)))
    case.set("default", _at("high", slot))
    return case, lists


def _flattened(routes: Routes) -> tuple[list[int], list[int]]:
    offsets: list[int] = [_NEVER] * routes.slots
    flat: list[int] = []
    for slot, children in routes.children.items():
        offsets[slot] = len(flat)
        flat.extend(children)
    return offsets, flat


def _at(name: str, place: exp.Expr) -> exp.Expr:
    """The entry of a bound list at a place counted from 0."""
    array = exp.Cast(this=exp.Parameter(this=exp.Var(this=name)), to=_LIST.copy())
    index = exp.Add(this=exp.Paren(this=place.copy()), expression=exp.Literal.number(1))
    return exp.Bracket(this=exp.Paren(this=array), expressions=[index], offset=1)


def _value(training: Training, used: Sequence[int], attribute: exp.Expr, alias: str | None) -> exp.Expr:
    """The code of the attribute that the row's node asks for: one branch per attribute, not per node."""
    branches = [
        exp.If(this=exp.Literal.number(number), true=exp.Cast(this=training.code(number, alias), to=_INT.copy()))
        for number in used
    ]
    return exp.Case(this=attribute, ifs=branches)


def _rewritten_by_lists(training: Training, table: Name, target: exp.Expr) -> exp.Select:
    sent = aliased(exp.Cast(this=target, to=training.slot_type.copy()), SLOT)
    inner = exp.Select(expressions=[*map(column, _kept(training)), sent]).from_(table.table())
    kept = [column(name, "w") for name in (*_kept(training), SLOT)]
    going_on = exp.GT(this=column(SLOT, "w"), expression=exp.Literal.number(0))
    return exp.Select(expressions=kept).from_(inner.subquery("w")).where(going_on)


# -- by a table of splits --------------------------------------------------------------------------------


def _rewritten_by_join(training: Training, table: Name, routes: Routes) -> exp.Select:
    """The rows that go on, with their new slots; rows of finished nodes are left behind."""
    value = _value(training, routes.used, column("ppdm_a", "s"), "w")
    below = exp.Or(
        this=exp.LTE(this=value, expression=column("ppdm_cut", "s")),
        expression=exp.EQ(this=value.copy(), expression=column("ppdm_low_null", "s")),
    )
    sides = exp.Case(ifs=[exp.If(this=below, true=column("ppdm_low", "s"))], default=column("ppdm_high", "s"))
    is_split = exp.GTE(this=column("ppdm_a", "s"), expression=exp.Literal.number(0))
    target: exp.Expr = exp.Case(ifs=[exp.If(this=is_split, true=sides)], default=column("ppdm_low", "s"))
    query = exp.Select(expressions=[column(name, "w") for name in _kept(training)]).from_(table.table("w"))
    query = query.join(_SPLITS.table("s"), on=exp.EQ(this=column(SLOT, "s"), expression=column(SLOT, "w")))
    if routes.children:
        target = exp.Coalesce(this=column("ppdm_child", "b"), expressions=[target])
        same = exp.And(
            this=exp.EQ(this=column(SLOT, "b"), expression=column(SLOT, "w")),
            expression=exp.EQ(this=column("ppdm_code", "b"), expression=value.copy()),
        )
        query = query.join(_BRANCHES.table("b"), on=same, join_type="left")
    query = query.select(aliased(exp.Cast(this=target, to=training.slot_type.copy()), SLOT))
    return query.where(exp.GT(this=target.copy(), expression=exp.Literal.number(0)))


def _load(engine: Engine, routes: Routes) -> None:
    import pyarrow as pa

    columns = {
        SLOT: range(routes.slots),
        "ppdm_a": routes.attribute,
        "ppdm_cut": routes.cut,
        "ppdm_low_null": routes.low_null,
        "ppdm_low": routes.low,
        "ppdm_high": routes.high,
    }
    engine.load(_SPLITS, pa.table({name: pa.array(np.asarray(list(v)), pa.int32()) for name, v in columns.items()}))
    engine.analyze(_SPLITS)
    if routes.children:
        triples = [(slot, code, to) for slot, kids in routes.children.items() for code, to in enumerate(kids)]
        parts = np.array(triples, dtype=np.int32).T
        names = (SLOT, "ppdm_code", "ppdm_child")
        engine.load(_BRANCHES, pa.table({name: pa.array(part) for name, part in zip(names, parts, strict=True)}))
        engine.analyze(_BRANCHES)
