"""The working tables of kACTUS: codes, categories, the node of every row; counts leave, a plan comes back.

    ppdm_coded        one row per source row: codes, and what is published unchanged
    ppdm_category_*   per quasi-identifier: code -> category, where several codes are one category
    ppdm_walk_*       distinct combinations of categories and kinds with their counts and the node they are in
    ppdm_moves        leaf, kind, first and last rank -> class of the release
    ppdm_labels       class -> what is printed

A category is what a branch of the tree stands for: a text value, an interval of numbers, NULL, NaN.  Values that
fewer than k people hold are one category together, which is never printed.  A kind is a class with the
sensitive values and the weight that go with it: rows of one kind and leaf are interchangeable to the plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlglot import exp

from ppdm_sql.anonymizers.plan import ENTITY, PART, Private
from ppdm_sql.anonymizers.table.axes import Axis, counted_axis
from ppdm_sql.anonymizers.table.cells import packs
from ppdm_sql.anonymizers.table.discretize import Categories, categories_of
from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.source.encode import CODE, Coded, canonical, encode
from ppdm_sql.source.lines import Ints
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import Name, aliased, column, own
from ppdm_sql.statements.rowtext import hash_numbers
from ppdm_sql.trees.nominal import Nominal, mixed_radix
from ppdm_sql.watching import Progress

LABELS, MOVES = own("ppdm_labels"), own("ppdm_moves")
_CATEGORY, _NODE, _KIND, _N, _WEIGHT, _RANK = (
    f"ppdm_{word}" for word in ("category", "node", "kind", "n", "weight", "rank")
)
_SPLITS, _BRANCHES = own("ppdm_splits"), own("ppdm_branches")
_MOST_KINDS = 1 << 62


# -- the table -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Walked:
    """Rows by node and kind, and what the kinds are: per code column the code of each kind."""

    table: Name
    node: Ints
    kind: Ints  # which of `keys`
    rows: Ints
    keys: Ints  # rising
    codes: Mapping[str, Ints]
    weights: Ints


@dataclass(frozen=True)
class Table:
    """The source as codes and categories."""

    engine: Engine
    source: Source
    coded: Coded
    axes: Mapping[str, Axis]
    categories: tuple[Categories, ...]
    secrets: tuple[str, ...]  # the columns that are counted beside the target
    class_counts: Ints

    @property
    def target(self) -> str:
        assert self.source.target is not None
        return self.source.target

    # -- expressions over ppdm_coded "c" and the category tables "m0", "m1", ... -------------------

    def rows(self) -> exp.Select:
        """FROM and joins, without columns."""
        query = exp.Select().from_(self.coded.table.table("c"))
        for number, one in enumerate(self.categories):
            if not _is_plain(one):
                code = column(self.coded.codes[one.axis.info.name], "c")
                on = exp.EQ(this=column(CODE, f"m{number}"), expression=code)
                query = query.join(_category_table(number).table(f"m{number}"), on=on, copy=False)
        return query

    def category(self, number: int) -> exp.Expr:
        one = self.categories[number]
        return column(self.coded.codes[one.axis.info.name], "c") if _is_plain(one) else column(_CATEGORY, f"m{number}")

    def nominals(self) -> list[Nominal]:
        return [Nominal(one.axis.lookup, self.category(place), one.size) for place, one in enumerate(self.categories)]

    def target_nominal(self) -> Nominal:
        axis = self.axes[self.target]
        return Nominal(axis.lookup, column(self.coded.codes[self.target], "c"), axis.size)

    @property
    def weight(self) -> exp.Expr:
        return column(_WEIGHT, "c") if self.source.entity is not None else exp.Literal.number(1)

    def kind_digits(self) -> list[tuple[str, int]]:
        """The code columns of a kind, and how many codes each has."""
        names = dict.fromkeys([self.target, *self.secrets])
        return [(self.coded.codes[name], max(self.axes[name].size, 1)) for name in names]

    def kind(self) -> exp.Expr:
        """A kind as one number, its weight last."""
        return mixed_radix([*((column(name, "c"), size) for name, size in self.kind_digits()), (self.weight, 2)])

    def keys(self) -> dict[str, exp.Expr]:
        """The combination of categories of a row as one number, or as several where one would not hold them."""
        sizes = {str(number): max(one.size, 1) for number, one in enumerate(self.categories)}
        return {
            f"ppdm_k{place}": mixed_radix([(self.category(int(member)), sizes[member]) for member in pack])
            for place, pack in enumerate(packs(sizes))
        }

    # -- walking -----------------------------------------------------------------------------------

    def walk(self, branches: Sequence[tuple[int, int, int, int]], depth: int) -> Walked:
        """Sends all rows down the tree, a level per statement.  branches: (node, attribute, category, child)."""
        node, attribute, category, child = np.array(branches, dtype=np.int64).reshape(-1, 4).T
        first = np.unique(node, return_index=True)[1]
        self._load(_SPLITS, {_NODE: node[first], "ppdm_a": attribute[first]})
        self._load(_BRANCHES, {_NODE: node, _CATEGORY: category, "ppdm_child": child})
        table = own("ppdm_walk_0")
        categories = [self.category(number) for number in range(len(self.categories))]
        names = [f"ppdm_v{number}" for number in range(len(self.categories))]
        by = [*categories, self.kind()]
        picked = [aliased(one.copy(), name) for one, name in zip(by, [*names, _KIND], strict=True)]
        picked += [aliased(key, name) for name, key in self.keys().items()]
        picked += [aliased(exp.Count(this=exp.Star()), _N), aliased(exp.cast(exp.Literal.number(0), "INT"), _NODE)]
        self._create(table, self.rows().select(*picked).group_by(*by))
        for level in range(1, depth + 1):
            following = own(f"ppdm_walk_{level % 2}")
            self._create(following, self._step(table, names))
            table = following
        return self._counted(table)

    def _step(self, table: Name, names: Sequence[str]) -> exp.Select:
        """A row whose node is a leaf, or one that was cut off, stays where it is."""
        ways = [
            exp.If(
                this=exp.EQ(this=column("ppdm_a", "s"), expression=exp.Literal.number(number)),
                true=exp.cast(column(name, "w"), "INT"),
            )
            for number, name in enumerate(names)
        ]
        kept = [*names, _KIND, *self.keys(), _N]
        there = exp.Coalesce(this=column("ppdm_child", "b"), expressions=[column(_NODE, "w")])
        query = exp.Select(expressions=[*(column(name, "w") for name in kept), aliased(there, _NODE)])
        same = exp.EQ(this=column(_NODE, "s"), expression=column(_NODE, "w"))
        query = query.from_(table.table("w")).join(_SPLITS.table("s"), on=same, join_type="left")
        here = exp.EQ(this=column(_NODE, "b"), expression=column(_NODE, "w"))
        branch = exp.EQ(this=column(_CATEGORY, "b"), expression=exp.Case(ifs=ways))
        return query.join(_BRANCHES.table("b"), on=exp.And(this=here, expression=branch), join_type="left")

    def _counted(self, table: Name) -> Walked:
        by = [column(_NODE), column(_KIND)]
        total = aliased(exp.cast(exp.Sum(this=column(_N)), "BIGINT"), _N)
        query = exp.Select(expressions=[*by, total]).from_(table.table())
        found = self.engine.arrays(query.group_by(*(one.copy() for one in by)))
        keys, kind = np.unique(found[_KIND].astype(np.int64), return_inverse=True)
        codes, left = {}, keys // 2
        for name, size in reversed(self.kind_digits()):
            codes[name], left = left % size, left // size
        node, rows = found[_NODE].astype(np.int64), found[_N].astype(np.int64)
        return Walked(table, node, kind, rows, keys, codes, keys % 2)

    # -- the release -------------------------------------------------------------------------------

    def release(self, walked: Walked, private: Private, seed: int) -> exp.Select:
        """All rows that are published, each with the labels of its class, in one statement."""
        beside = [*([ENTITY] if self.source.entity is not None else []), *private.columns]
        passed = list(self.coded.passed.values())
        order = hash_numbers(
            self.engine,
            [column(name, "c") for name in (*private.columns, *self.coded.codes.values(), *passed)],
            salt=str(seed),
        )
        rank = exp.Window(
            this=exp.RowNumber(),
            partition_by=[column(_NODE, "w"), column(_KIND, "w")],
            order=exp.Order(expressions=[exp.Ordered(this=part) for part in order]),
        )
        pairs = [*self.keys().items(), (_KIND, self.kind())]
        same = [exp.EQ(this=column(name, "w"), expression=exp.Paren(this=value)) for name, value in pairs]
        inner = self.rows().join(walked.table.table("w"), on=exp.and_(*same))
        inner = inner.select(*(aliased(column(name, "c"), name) for name in [*passed, *beside]))
        inner = inner.select(column(_NODE, "w"), column(_KIND, "w"), aliased(rank, _RANK))
        label = {name: f"ppdm_l{number}" for number, name in enumerate(self.source.quasi)}
        picked = [
            aliased(column(label[name], "l") if name in label else self._unchanged(name), name)
            for name in self.source.published
        ]
        query = exp.Select(expressions=[*picked, aliased(column(PART, "p"), PART)])
        query = query.select(*(aliased(column(name, "x"), name) for name in beside)).from_(inner.subquery("x"))
        query = query.join(MOVES.table("p"), on=_moved())
        return query.join(LABELS.table("l"), on=exp.EQ(this=column(PART, "l"), expression=column(PART, "p")))

    def _unchanged(self, name: str) -> exp.Expr:
        """A column that is published as it is; as plain text where its type would list values that do not leave."""
        copy = column(self.coded.passed[name], "x")
        return self.engine.exact_text(copy) if self.source.info(name).kind is Kind.TEXT else copy

    def load_moves(self, walked: Walked, moves: Sequence[tuple[int, int, int, int]]) -> None:
        """moves: (leaf, kind, rows, class); rows of a leaf and kind go to the classes in this order, by rank."""
        given: dict[tuple[int, int], int] = {}
        listed: list[tuple[int, int, int, int, int]] = []
        for leaf, kind, rows, part in moves:
            first = given.get((leaf, kind), 0) + 1
            given[leaf, kind] = first + rows - 1
            listed.append((leaf, int(walked.keys[kind]), first, first + rows - 1, part))
        columns = np.array(listed, dtype=np.int64).reshape(-1, 5).T
        names = (_NODE, _KIND, "ppdm_first", "ppdm_last", PART)
        self._load(MOVES, dict(zip(names, columns, strict=True)))

    def load_labels(self, labels: Sequence[Sequence[str | None]]) -> None:
        """Per class one text or NULL for every quasi-identifier."""
        import pyarrow as pa

        columns = {PART: pa.array(range(len(labels)), pa.int64())}
        for number in range(len(self.categories)):
            columns[f"ppdm_l{number}"] = pa.array([one[number] for one in labels], pa.string())
        self.engine.load(LABELS, pa.table(columns))
        self.engine.analyze(LABELS)

    # -- small things ------------------------------------------------------------------------------

    def _create(self, name: Name, query: exp.Query) -> None:
        self.engine.create_table(name, query, temporary=True)
        self.engine.analyze(name)

    def _load(self, name: Name, columns: Mapping[str, Ints]) -> None:
        _load(self.engine, name, columns)


def _moved() -> exp.Expr:
    same = [exp.EQ(this=column(name, "p"), expression=column(name, "x")) for name in (_NODE, _KIND)]
    inside = exp.Between(this=column(_RANK, "x"), low=column("ppdm_first", "p"), high=column("ppdm_last", "p"))
    return exp.and_(*same, inside)


def _is_plain(one: Categories) -> bool:
    """Whether every code is a category of its own, so that no table is needed to tell."""
    return bool((one.of_code == np.arange(len(one.of_code))).all())


def _category_table(number: int) -> Name:
    return own(f"ppdm_category_{number}")


def _load(engine: Engine, name: Name, columns: Mapping[str, Ints]) -> None:
    import pyarrow as pa

    engine.load(name, pa.table({key: pa.array(values, pa.int64()) for key, values in columns.items()}))
    engine.analyze(name)


# -- reading ---------------------------------------------------------------------------------------------


def encoded(engine: Engine, source: Source, secrets: Sequence[str], private: Private, progress: Progress) -> Table:
    """One pass over the source into codes."""
    assert source.target is not None
    names = list(dict.fromkeys([*source.quasi, source.target, *secrets]))
    axes = {}
    for number, name in enumerate(names):
        progress("reading columns", number, len(names))
        axes[name] = counted_axis(engine, source, name, number)
    progress("encoding", 0, None)
    extra = dict(private.columns)
    if source.entity is not None:
        extra |= {ENTITY: canonical(engine, source.info(source.entity), "r"), _WEIGHT: _first_rows(engine, source)}
    lookups = {name: axis.lookup for name, axis in axes.items()}
    coded = encode(engine, source.relation, lookups, source.passed, extra=extra)
    bare = Table(engine, source, coded, axes, (), tuple(secrets), np.zeros(0, dtype=np.int64))
    if float(np.prod([float(size) for _, size in bare.kind_digits()])) > _MOST_KINDS / 4:
        raise PolicyError(f"{len(secrets)} sensitive columns have too many values together: publish fewer at a time")
    return bare


def with_categories(engine: Engine, table: Table, k: int, progress: Progress) -> Table:
    """One aggregation per quasi-identifier: which of its codes are one category."""
    categories = []
    counts = np.zeros((0, 0), dtype=np.int64)
    for number, name in enumerate(table.source.quasi):
        progress("choosing intervals", number, len(table.source.quasi))
        counts, held = _counts(engine, table, name)
        categories.append(categories_of(table.axes[name], counts, held, k))
        if not _is_plain(categories[-1]):
            of_code = categories[-1].of_code
            _load(engine, _category_table(number), {CODE: np.arange(len(of_code)), _CATEGORY: of_code})
    return replace(table, categories=tuple(categories), class_counts=counts.sum(axis=0))


def _counts(engine: Engine, table: Table, name: str) -> tuple[Ints, Ints]:
    """Rows per code and class of a column, and what k counts per code."""
    by = [column(table.coded.codes[name], "c"), column(table.coded.codes[table.target], "c")]
    held = exp.cast(exp.Sum(this=table.weight), "BIGINT")
    picked = [aliased(one, alias) for one, alias in zip(by, ("ppdm_v", "ppdm_y"), strict=True)]
    query = exp.Select(expressions=[*picked, aliased(exp.Count(this=exp.Star()), _N), aliased(held, _WEIGHT)])
    found = engine.arrays(query.from_(table.coded.table.table("c")).group_by(*(one.copy() for one in by)))
    size = max(table.axes[name].size, 1)
    counts = np.zeros((size, table.axes[table.target].size), dtype=np.int64)
    code = found["ppdm_v"].astype(np.int64)
    counts[code, found["ppdm_y"].astype(np.int64)] = found[_N]
    return counts, np.bincount(code, weights=found[_WEIGHT].astype(np.float64), minlength=size).astype(np.int64)


def _first_rows(engine: Engine, source: Source) -> exp.Expr:
    """1 for one row of each person, 0 for the others: these add up over classes, distinct persons do not.

    Which row it is follows from the rows alone.  A row without a person (NULL) counts for nobody.
    """
    assert source.entity is not None
    person = canonical(engine, source.info(source.entity), "r")
    columns = [column(name, "r") for name in dict.fromkeys([*source.quasi, *source.passed])]
    order = exp.Order(expressions=[exp.Ordered(this=part) for part in hash_numbers(engine, columns)])
    first = exp.Window(this=exp.RowNumber(), partition_by=[person], order=order)
    counts = exp.And(
        this=exp.EQ(this=first, expression=exp.Literal.number(1)),
        expression=exp.Not(this=exp.Is(this=person.copy(), expression=exp.Null())),
    )
    return exp.Case(ifs=[exp.If(this=counts, true=exp.Literal.number(1))], default=exp.Literal.number(0))
