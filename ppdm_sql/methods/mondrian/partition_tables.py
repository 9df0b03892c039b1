"""The working tables of a partition.  Rows stay here; counts leave, and where to send each part comes back.

    ppdm_coded     one row per source row: codes, and what is published unchanged
    ppdm_work_*    its distinct combinations of codes with their counts and the part each is in;
                   only parts that may still be split
    ppdm_done_*    the combinations of parts that are finished, one table per level
    ppdm_parts     in the end: every combination and its part

Collapsing first costs one GROUP BY and makes everything after it as small as the data allow; the wide table
is touched again only by the plan's own query.  Every statement joins a small table of the level instead of
spelling the tree out: its cost does not grow with the number of parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.methods.mondrian.divided_rows import remaining_amounts, with_pulled_rows
from ppdm_sql.methods.mondrian.pieces import Pieces, Pulls
from ppdm_sql.methods.mondrian.table_columns import KNOWN, OTHER, SQUARES, START, SUM, VALUE, WEIGHT, N
from ppdm_sql.methods.plan import ENTITY, PART
from ppdm_sql.source.encode import CODE, Coded
from ppdm_sql.source.lines import Ints
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.trees.nominal import mixed_radix

_MOST = 1 << 62  # packed keys stay below this
_MOST_TABLES = 32  # of finished parts, before they are put together
_ARRAY = 1 << 16  # groups that are counted in an array however few rows there are


@dataclass(frozen=True)
class PartRoutes:
    """Where the rows of a level go, per part: below the cut of an attribute to low, from it on to high.

    A part that is split into more than two has its children in `branches`: codes first .. last go to child.
    Targets are 0, 1, ... for parts to be looked at again and -1 - node for finished ones.
    """

    part: Ints
    attribute: Ints
    cut: Ints
    low: Ints
    high: Ints
    branches: Mapping[str, Ints]  # PART, ppdm_first, ppdm_last, ppdm_child
    pulls: Pulls  # rows that go elsewhere than those alike
    pulled_to: Ints


@dataclass
class PartitionCells:
    """Counts over the working tables, and the routing from level to level."""

    engine: Engine
    coded: Coded
    attributes: tuple[str, ...]  # code columns of the quasi-identifiers
    sizes: Mapping[str, int]  # of every code column that is kept: the quasi-identifiers', the classes', ...
    has_entity: bool
    numeric_target: str | None = None  # code column
    response: Name | None = None  # the value of each code of a numeric target
    divisible: bool = False  # whether rows that are alike may go to different parts
    _work: Name = field(init=False)
    _spare: Name = field(init=False)  # what the next level is written into
    _choice: Name = field(init=False)
    _routes: Name = field(init=False)
    _branches: Name = field(init=False)
    _done: list[Name] = field(default_factory=list)
    _level: int = 0
    _parts: int = 1

    def __post_init__(self) -> None:
        name = self.engine.work.name
        self._work, self._spare = name("work"), name("work")
        self._choice, self._routes, self._branches = name("choice"), name("routes"), name("branches")

    # -- making ------------------------------------------------------------------------------------

    def build(self) -> None:
        """Distinct combinations of codes, how many rows each has, and how many persons it stands for."""
        kept = [column(name, "c") for name in self.sizes]
        counted: list[exp.Expr] = [aliased(exp.cast(exp.Count(this=exp.Star()), "INT"), N)]
        if self.has_entity:
            counted.append(_total(column(WEIGHT, "c"), WEIGHT, "INT"))
        keys = [aliased(pack, name) for name, pack in zip(self.key_names, self.packed("c"), strict=True)]
        start = aliased(exp.cast(exp.Literal.number(0), "INT"), PART)
        if self.divisible:
            counted.append(aliased(exp.cast(exp.Literal.number(0), "INT"), START))
        if self.numeric_target is not None:
            counted += [_total(column(name, "y"), name) for name in (KNOWN, SUM, SQUARES)]
        query = exp.Select(expressions=[*keys, *kept, *counted, start]).from_(self._weighted("c"))
        if self.response is not None and self.numeric_target is not None:
            on = exp.EQ(this=column(CODE, "y"), expression=column(self.numeric_target, "c"))
            query = query.join(self.response.table("y"), on=on)
        self._create(self._work, query.group_by(*(name.copy() for name in kept)))

    def _weighted(self, alias: str) -> exp.Expr:
        """The coded table; with an entity, one row of each person weighs 1 and the others nothing.

        Distinct persons do not add up over parts of a part.  These weights do, and their sum never exceeds
        the number of persons.  The row is the first in the order of the codes: rows alike in all codes are
        in one part whatever happens, so which of them it is makes no difference.
        """
        if not self.has_entity:
            return self.coded.table.table(alias)
        inner = [*map(column, self.sizes), aliased(self.weight(), WEIGHT)]
        if self.numeric_target is not None and self.numeric_target not in self.sizes:
            inner.append(column(self.numeric_target))
        return exp.Select(expressions=inner).from_(self.coded.table.table()).subquery(alias)

    def weight(self, alias: str | None = None, further: Sequence[exp.Expr] = ()) -> exp.Expr:
        """1 for the first row of each person in the order of the codes, 0 for the others and for nobody's."""
        order = [*(column(name, alias) for name in self.sizes), *further]
        first = exp.Window(
            this=exp.RowNumber(),
            partition_by=[column(ENTITY, alias)],
            order=exp.Order(expressions=[exp.Ordered(this=one) for one in order]),
        )
        counts = exp.And(
            this=exp.EQ(this=first, expression=exp.Literal.number(1)),
            expression=exp.Not(this=exp.Is(this=column(ENTITY, alias), expression=exp.Null())),  # nobody in particular
        )
        return exp.Case(ifs=[exp.If(this=counts, true=exp.Literal.number(1))], default=exp.Literal.number(0))

    @property
    def key_names(self) -> list[str]:
        return [f"ppdm_k{number}" for number in range(len(packs(self.sizes)))]

    def packed(self, alias: str) -> list[exp.Expr]:
        """The kept codes of a row as one number, or as several where one would not hold them."""
        return [mixed_radix([(column(name, alias), self.sizes[name]) for name in pack]) for pack in packs(self.sizes)]

    # -- counting ----------------------------------------------------------------------------------

    def extents(self, table: Name | None = None) -> dict[str, Ints]:
        """Per part its rows, and the least and greatest code of every attribute: columns part, n, lo<i>, hi<i>."""
        picked: list[exp.Expr] = [column(PART, "w"), _total(column(N, "w"), "n")]
        for number, name in enumerate(self.attributes):
            picked.append(aliased(exp.Min(this=column(name, "w")), f"lo{number}"))
            picked.append(aliased(exp.Max(this=column(name, "w")), f"hi{number}"))
        query = exp.Select(expressions=picked).from_((table or self._work).table("w"), copy=False)
        if table is None:
            query = query.where(_open(), copy=False)
        return _integers(self.engine.arrays(query.group_by(column(PART, "w"), copy=False)))

    def choose(self, part: Ints, attribute: Ints) -> None:
        """Which attribute of each part the next counts are about; parts not named are left out of them."""
        self._load(self._choice, {PART: part, "ppdm_a": attribute})

    def counts(self, attribute: int | None, other: str | None, measures: Sequence[str]) -> dict[str, Ints]:
        """Sums of the measures by part, code of the attribute (None: of the chosen one) and another code column."""
        value = self._attribute_of("s") if attribute is None else column(self.attributes[attribute], "w")
        by = [self._part(attribute, other), value, *([column(other, "w")] if other else [])]
        names = [PART, VALUE, *([OTHER] if other else [])]
        picked = [aliased(key, name) for key, name in zip(by, names, strict=True)]
        summed = [_total(column(measure, "w"), measure) for measure in measures]
        query = exp.Select(expressions=[*picked, *summed]).from_(self._work.table("w"), copy=False)
        if attribute is None:
            query = query.join(self._choice.table("s"), on=_same_part("s"), copy=False)
        else:
            query = query.where(_open(), copy=False)
        return _integers(self.engine.arrays(query.group_by(*(key.copy() for key in by), copy=False)))

    def _part(self, attribute: int | None, other: str | None) -> exp.Expr:
        """The part of a row as a key to group by.

        With few possible groups a planner that knows the ranges of the keys counts in an array, which is
        quickest; with many it would fill a large and mostly empty one.  An operation without effect hides
        the range then (measured: 0.02 against 0.22 s at 2^22 possible groups of 600,000 rows).
        """
        codes = max(self.sizes[name] for name in self.attributes) if attribute is None else None
        size = codes if codes is not None else self.sizes[self.attributes[attribute or 0]]
        possible = self._parts * size * (self.sizes[other] if other else 1)
        part = column(PART, "w")
        if possible <= max(_ARRAY, self.coded.rows // 4):
            return part
        return exp.BitwiseOr(this=part, expression=exp.Literal.number(0))

    def _attribute_of(self, alias: str) -> exp.Expr:
        """The code of the attribute whose number the joined table gives.  One branch per column, not per part."""
        branches = [
            exp.If(
                this=exp.EQ(this=column("ppdm_a", alias), expression=exp.Literal.number(number)),
                true=exp.cast(column(name, "w"), "INT"),
            )
            for number, name in enumerate(self.attributes)
        ]
        return exp.Case(ifs=branches)

    def pieces(self, parts: Ints, attribute: int, first: Ints, last: Ints, secrets: Sequence[str]) -> Pieces:
        """The rows of parts whose attribute has one of the codes first .. last, by all of their codes."""
        wanted = self.engine.work.name("wanted")
        self._load(wanted, {PART: parts, "ppdm_first": first, "ppdm_last": last})
        amounts = [N, START, *([WEIGHT] if self.has_entity else [])]
        names = [*self.key_names, *self.sizes, *amounts, PART]
        code = column(self.attributes[attribute], "w")
        inside = exp.Between(this=code, low=column("ppdm_first", "s"), high=column("ppdm_last", "s"))
        query = exp.Select(expressions=[aliased(column(name, "w"), name) for name in names])
        query = query.from_(self._work.table("w")).join(
            wanted.table("s"), on=exp.And(this=_same_part("s"), expression=inside)
        )
        found = _integers(self.engine.arrays(query))
        self.engine.work.drop(wanted)
        return Pieces(
            found[PART],
            tuple(found[name] for name in self.key_names),
            found[START],
            found[N],
            found[WEIGHT if self.has_entity else N],
            tuple(found[name] for name in self.sizes),
            tuple(found[name] for name in secrets),
        )

    # -- routing -----------------------------------------------------------------------------------

    def route(self, routes: PartRoutes) -> None:
        """Sends every row of the level to its part of the next one, finished parts to a table of their own."""
        self._level += 1
        self._load(
            self._routes,
            {
                PART: routes.part,
                "ppdm_a": routes.attribute,
                "ppdm_cut": routes.cut,
                "ppdm_low": routes.low,
                "ppdm_high": routes.high,
            },
        )
        targets = np.concatenate([routes.low, routes.high, routes.branches["ppdm_child"]])
        self._parts = int(targets.max()) + 1
        if self._parts == 0:
            self._set_aside(self._routed(routes, self._lasting))
            return
        numbers = [N, *([WEIGHT] if self.has_entity else []), *([START] if self.divisible else [])]
        numbers += [KNOWN, SUM, SQUARES] if self.numeric_target is not None else []
        following = self._spare
        self._create(following, self._routed(routes, [*self.key_names, *self.sizes, *numbers]))
        self._work, self._spare = following, self._work
        if (targets < 0).any():
            kept = [column(name, "w") for name in (*self._lasting, PART)]
            finished = exp.Not(this=exp.Paren(this=_open()))
            self._set_aside(exp.Select(expressions=kept).from_(following.table("w")).where(finished))

    def _routed(self, routes: PartRoutes, names: Sequence[str]) -> exp.Query:
        """The join drops rows that were finished on the level before: they have no route."""
        value = self._attribute_of("s")
        below = exp.If(this=exp.LT(this=value, expression=column("ppdm_cut", "s")), true=column("ppdm_low", "s"))
        target: exp.Expr = exp.Case(ifs=[below], default=column("ppdm_high", "s"))
        branched = len(routes.branches[PART]) > 0
        if branched:
            target = exp.Coalesce(this=column("ppdm_child", "b"), expressions=[target])
        picked: dict[str, exp.Expr] = {name: column(name, "w") for name in names}
        if len(routes.pulls.part):
            picked |= {name: amount for name, amount in remaining_amounts().items() if name in names}
        columns = [aliased(amount, name) for name, amount in picked.items()]
        query = exp.Select(expressions=[*columns, aliased(target, PART)]).from_(self._work.table("w"), copy=False)
        query = query.join(self._routes.table("s"), on=_same_part("s"), copy=False)
        if branched:
            self._load(self._branches, routes.branches)
            inside = exp.Between(this=value.copy(), low=column("ppdm_first", "b"), high=column("ppdm_last", "b"))
            on = exp.And(this=_same_part("b"), expression=inside)
            query = query.join(self._branches.table("b"), on=on, join_type="left", copy=False)
        if not len(routes.pulls.part):
            return query
        return with_pulled_rows(self.engine, self._work, query, routes.pulls, routes.pulled_to, self.key_names, names)

    @property
    def _lasting(self) -> list[str]:
        return [*self.key_names, *self.attributes, N, *([START] if self.divisible else [])]

    def _set_aside(self, query: exp.Query) -> None:
        self._done.append(self.engine.work.table("done", query, analyze=True))
        if len(self._done) == _MOST_TABLES:
            self._gather("done", column(PART))

    def _gather(self, label: str, part: exp.Expr) -> None:
        """Puts the tables of finished parts together."""
        picks: list[exp.Query] = [
            exp.Select(expressions=[*map(column, self._lasting), aliased(part.copy(), PART)]).from_(table.table())
            for table in self._done
        ]
        every = reduce(lambda left, right: exp.Union(this=left, expression=right, distinct=False), picks)
        target = self.engine.work.table(label, every, analyze=True)
        for table in self._done:
            self.engine.work.drop(table)
        self._done = [target]

    def finish(self) -> Name:
        """Every combination of codes and its node; the large tables of the levels are gone afterwards."""
        self._gather("parts", exp.Sub(this=exp.Neg(this=column(PART)), expression=exp.Literal.number(1)))
        self.engine.work.drop(self._work)
        self.engine.work.drop(self._spare)
        return self._done[0]

    # -- small things ------------------------------------------------------------------------------

    def _create(self, name: Name, query: exp.Query) -> None:
        self.engine.create_table(name, query, temporary=True)
        self.engine.analyze(name)

    def _load(self, name: Name, columns: Mapping[str, Ints]) -> None:
        import pyarrow as pa

        self.engine.load(name, pa.table({key: pa.array(values, pa.int32()) for key, values in columns.items()}))
        self.engine.analyze(name)


def packs(sizes: Mapping[str, int]) -> list[list[str]]:
    """Columns put together as long as the product of their sizes fits into a BIGINT.

    >>> packs({"a": 1 << 40, "b": 1 << 20, "c": 1 << 20})
    [['a', 'b'], ['c']]
    """
    found: list[list[str]] = []
    room = 0
    for name, size in sizes.items():
        if size > room:
            found.append([])
            room = _MOST
        found[-1].append(name)
        room //= max(size, 1)
    return found


def _same_part(alias: str) -> exp.Expr:
    return exp.EQ(this=column(PART, alias), expression=column(PART, "w"))


def _open() -> exp.Expr:
    """Rows of parts that are not finished; planners see from it how few part numbers there are."""
    return exp.GTE(this=column(PART, "w"), expression=exp.Literal.number(0))


def _total(amount: exp.Expr, name: str, to: str = "BIGINT") -> exp.Alias:
    return aliased(exp.cast(exp.Sum(this=amount), to), name)


def _integers(found: Mapping[str, np.ndarray[tuple[int], np.dtype[np.generic]]]) -> dict[str, Ints]:
    return {name: np.asarray(values).astype(np.int64) for name, values in found.items()}
