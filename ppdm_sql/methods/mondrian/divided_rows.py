"""Statements about rows that are alike in all codes and go to different parts.

The working tables count such rows; a part has those of some ranks.  Which row has which rank is decided in the end,
by a hash of the row and the policy's SEED.  Where k counts persons, the rows that count for one come first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.methods.mondrian.pieces import Pulls
from ppdm_sql.methods.mondrian.table_columns import START, WEIGHT, N
from ppdm_sql.methods.plan import PART
from ppdm_sql.source.lines import Ints
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.statements.rowtext import hash_numbers

_TAKE, _TAKE_PERSONS, _CHILD, _RANK = "ppdm_take", "ppdm_take_w", "ppdm_child", "ppdm_rank"


# -- while the partition is grown ------------------------------------------------------------------------


def remaining_amounts() -> dict[str, exp.Expr]:
    """What is left of rows that are alike ("w") when those that are pulled up ("t") are gone."""

    def taken(name: str) -> exp.Expr:
        return exp.Coalesce(this=column(name, "t"), expressions=[exp.Literal.number(0)])

    return {
        N: exp.Sub(this=column(N, "w"), expression=taken(_TAKE)),
        WEIGHT: exp.Sub(this=column(WEIGHT, "w"), expression=taken(_TAKE_PERSONS)),
        START: exp.Add(this=column(START, "w"), expression=taken(_TAKE)),
    }


def with_pulled_rows(
    engine: Engine, work: Name, others: exp.Select, pulls: Pulls, child: Ints, keys: Sequence[str], names: Sequence[str]
) -> exp.Query:
    """The routes of a level's rows (others: of those that go with their label), and those of the rows pulled up."""
    moved = _load_pulls(engine, pulls, child, keys)
    same = exp.and_(*(exp.EQ(this=column(name, "t"), expression=column(name, "w")) for name in (PART, *keys)))
    some = exp.GT(this=remaining_amounts()[N], expression=exp.Literal.number(0))
    others = others.join(moved.table("t"), on=same, join_type="left", copy=False).where(some)
    amounts = {N: column(_TAKE, "t"), WEIGHT: column(_TAKE_PERSONS, "t")}
    picked = [aliased(amounts.get(name, column(name, "w")), name) for name in names]
    pulled = exp.Select(expressions=[*picked, aliased(column(_CHILD, "t"), PART)]).from_(work.table("w"))
    pulled = pulled.join(moved.table("t"), on=same.copy())
    return exp.Union(this=others, expression=pulled, distinct=False)


def _load_pulls(engine: Engine, pulls: Pulls, child: Ints, keys: Sequence[str]) -> Name:
    import pyarrow as pa

    numbers = {PART: pulls.part, _TAKE: pulls.rows, _TAKE_PERSONS: pulls.persons, _CHILD: child}
    columns = {name: pa.array(values, pa.int32()) for name, values in numbers.items()}
    columns |= {name: pa.array(values, pa.int64()) for name, values in zip(keys, pulls.keys, strict=True)}
    return engine.work.load("pulls", columns, analyze=True)


# -- in the end ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RankedRows:
    """The coded rows in an order of their own among those that are alike."""

    engine: Engine
    coded: Name
    keys: Mapping[str, exp.Expr]  # of a row of the coded table, alias "c"
    weight: exp.Expr | None  # whether a row counts for a person; alias "c"
    hashed: Sequence[str]  # columns that tell rows apart
    seed: int

    def placed(self, parts: Name, kept: Sequence[str]) -> exp.Query:
        """Some columns of all rows, and the part that each is in."""
        split = self._divided_keys(parts)
        undivided = exp.Is(this=column(self._first_key, "d"), expression=exp.Null())
        whole = exp.Select(expressions=[*(aliased(column(name, "c"), name) for name in kept), column(PART, "p")])
        whole = whole.from_(self.coded.table("c")).join(parts.table("p"), on=self._same("p"))
        whole = whole.join(split.table("d"), on=self._same_keys("d", "p"), join_type="left").where(undivided)
        inside = exp.And(
            this=exp.GT(this=column(_RANK, "x"), expression=column(START, "p")),
            expression=exp.LTE(
                this=column(_RANK, "x"), expression=exp.Add(this=column(START, "p"), expression=column(N, "p"))
            ),
        )
        ranked = exp.Select(expressions=[*(aliased(column(name, "x"), name) for name in kept), column(PART, "p")])
        ranked = ranked.from_(self._ranked(split, kept).subquery("x"))
        ranked = ranked.join(parts.table("p"), on=exp.and_(self._same_keys("p", "x"), inside))
        return exp.Union(this=whole, expression=ranked, distinct=False)

    @property
    def _first_key(self) -> str:
        return next(iter(self.keys))

    def _divided_keys(self, parts: Name) -> Name:
        """The combinations of codes whose rows are in several parts."""
        query = exp.Select(expressions=[column(name) for name in self.keys]).from_(parts.table()).distinct()
        query = query.where(exp.GT(this=column(START), expression=exp.Literal.number(0)))
        return self.engine.work.table("divided", query, analyze=True)

    def _ranked(self, split: Name, kept: Sequence[str]) -> exp.Select:
        """The rows of these combinations, numbered from 1."""
        order = [exp.Ordered(this=part) for part in self._hashes("y")]
        if self.weight is not None:
            order.insert(0, exp.Ordered(this=column(WEIGHT, "y"), desc=True))
        by: list[exp.Expr] = [column(name, "y") for name in self.keys]
        rank = exp.Window(this=exp.RowNumber(), partition_by=by, order=exp.Order(expressions=order))
        picked = [column(name, "y") for name in dict.fromkeys([*kept, *self.keys])]
        query = exp.Select(expressions=[*picked, aliased(rank, _RANK)]).from_(self._weighed(kept).subquery("y"))
        return query.join(split.table("d"), on=self._same_keys("d", "y"))

    def _weighed(self, kept: Sequence[str]) -> exp.Select:
        picked = [aliased(column(name, "c"), name) for name in dict.fromkeys([*kept, *self.hashed])]
        picked += [aliased(key.copy(), name) for name, key in self.keys.items()]
        if self.weight is not None:
            picked.append(aliased(self.weight.copy(), WEIGHT))
        return exp.Select(expressions=picked).from_(self.coded.table("c"))

    def _hashes(self, alias: str) -> tuple[exp.Expr, exp.Expr]:
        return hash_numbers(self.engine, [column(name, alias) for name in self.hashed], salt=str(self.seed))

    def _same(self, alias: str) -> exp.Expr:
        return exp.and_(*(exp.EQ(this=column(name, alias), expression=key.copy()) for name, key in self.keys.items()))

    def _same_keys(self, one: str, other: str) -> exp.Expr:
        return exp.and_(*(exp.EQ(this=column(name, one), expression=column(name, other)) for name in self.keys))
