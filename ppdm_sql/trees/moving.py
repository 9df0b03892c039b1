"""Rows of some slots to other slots, by the code of one attribute per slot; the other rows are not touched.

Unlike routing.py, which sends every row on: where few rows move, what a pass costs should follow from them and not
from the table.  A slot that is left has an attribute and a first place; a row's place is that and its code, or
of an ordered attribute whether the code lies above the cut; the place has the new slot.  So both tables are joined by
equality, whatever the splits are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.statements.names import Name, aliased, column, identifier
from ppdm_sql.trees.coded import SLOT, Training

_MOST_LISTED = 2000  # numbers that are bound; more are quicker loaded as a table
_FROM, _ATTRIBUTE, _CUT, _FIRST, _PLACE, _TO = "ppdm_from", "ppdm_a", "ppdm_cut", "ppdm_first", "ppdm_place", "ppdm_to"
_STAYS = -1
_INT = exp.DataType.build("INT")


@dataclass
class Moves:
    """Which slots are left, and for where; rows that go to 0 do not move, or are left behind by rewrite."""

    left: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in (_FROM, _ATTRIBUTE, _CUT, _FIRST)})
    places: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in (_PLACE, _TO)})
    _next: int = 0

    def whole(self, slots: Sequence[int], target: int) -> None:
        """All rows of some slots to one."""
        self._add(slots, _STAYS, 0, [target])

    def cut(self, slots: Sequence[int], attribute: int, cut: int, low: int, high: int) -> None:
        """Codes up to the cut to low, others to high."""
        self._add(slots, attribute, cut, [low, high])

    def groups(self, slots: Sequence[int], attribute: int, child_of_code: Sequence[int]) -> None:
        self._add(slots, attribute, 0, child_of_code)

    def _add(self, slots: Sequence[int], attribute: int, cut: int, targets: Sequence[int]) -> None:
        self.left[_FROM] += slots
        for name, value in ((_ATTRIBUTE, attribute), (_CUT, cut), (_FIRST, self._next)):
            self.left[name] += [value] * len(slots)
        for place, target in enumerate(targets, start=self._next):
            if target:
                self.places[_PLACE].append(place)
                self.places[_TO].append(target)
        self._next += len(targets)

    @property
    def used_attributes(self) -> list[int]:
        return sorted(set(self.left[_ATTRIBUTE]) - {_STAYS})

    @property
    def size(self) -> int:
        return len(self.left) * len(self.left[_FROM]) + len(self.places) * len(self.places[_TO])


def move(engine: Engine, training: Training, table: Name, moves: Moves) -> None:
    """In place: all other rows stay as they are."""
    with engine.workspace():
        left, places, lists = _tables(engine, moves)
        changed = [exp.EQ(this=column(SLOT), expression=column(_TO, "b"))]
        left.set("joins", [exp.Join(this=places)])
        engine.execute(
            exp.Update(
                this=table.table("w"),
                expressions=changed,
                from_=exp.From(this=left),
                where=exp.Where(this=exp.And(this=_is_left(), expression=_is_at(training, moves))),
            ),
            **lists,
        )


def rewrite(engine: Engine, training: Training, table: Name, moves: Moves) -> Name:
    """The rows of the slots that are left, in a new table; the old one and all other rows are dropped."""
    picked = [column(pack.name, "w") for pack in training.packs]
    slot = exp.Cast(this=column(_TO, "b"), to=training.slot_type.copy())
    query = exp.Select(expressions=[*picked, aliased(slot, SLOT)]).from_(table.table("w"))
    work = engine.work
    with engine.workspace():
        left, places, lists = _tables(engine, moves)
        query = query.join(left, on=_is_left()).join(places, on=_is_at(training, moves))
        following = work.table("tree", query, analyze=True, **lists)
    engine.work.drop(table)
    return following


def _is_left() -> exp.Expr:
    return exp.EQ(this=column(_FROM, "s"), expression=column(SLOT, "w"))


def _is_at(training: Training, moves: Moves) -> exp.Expr:
    """Whether a place is the row's: one branch per attribute, not per slot."""
    steps = [exp.If(this=exp.Literal.number(number), true=_step(training, number)) for number in moves.used_attributes]
    step: exp.Expr = exp.Literal.number(0)
    if steps:
        step = exp.Paren(this=exp.Case(this=column(_ATTRIBUTE, "s"), ifs=steps, default=step))
    return exp.EQ(this=column(_PLACE, "b"), expression=exp.Add(this=column(_FIRST, "s"), expression=step))


def _step(training: Training, number: int) -> exp.Expr:
    code = exp.Cast(this=training.code(number, "w"), to=_INT.copy())
    if not training.attributes[number].attribute.ordered:
        return code
    low = exp.LTE(this=code, expression=column(_CUT, "s"))
    return exp.Case(ifs=[exp.If(this=low, true=exp.Literal.number(0))], default=exp.Literal.number(1))


def _tables(engine: Engine, moves: Moves) -> tuple[exp.Expr, exp.Expr, dict[str, list[int]]]:
    """The slots that are left (s) and the places (b), and what has to be bound for them."""
    if engine.has_list_lookup and moves.size <= _MOST_LISTED:
        return _list_subquery(moves.left, "s"), _list_subquery(moves.places, "b"), moves.left | moves.places
    return _load(engine, "tree_left", moves.left, "s"), _load(engine, "tree_places", moves.places, "b"), {}


def _list_subquery(columns: dict[str, list[int]], alias: str) -> exp.Subquery:
    kind = exp.DataType(this=exp.DType.ARRAY, expressions=[_INT.copy()], nested=True)
    lists = [exp.Cast(this=exp.Parameter(this=exp.Var(this=name)), to=kind.copy()) for name in columns]
    picked = [aliased(exp.Explode(this=each), name) for each, name in zip(lists, columns, strict=True)]
    return exp.Subquery(this=exp.Select(expressions=picked), alias=exp.TableAlias(this=identifier(alias)))


def _load(engine: Engine, label: str, columns: dict[str, list[int]], alias: str) -> exp.Table:
    numbers = {key: np.array(values, dtype=np.int32) for key, values in columns.items()}
    return engine.work.load(label, numbers, analyze=True).table(alias)
