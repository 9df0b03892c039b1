"""The working tables of kACTUS: codes, categories, the node of every row; counts leave, a plan comes back.

    ppdm_coded        one row per source row: codes, and what is published unchanged
    ppdm_category_*   per quasi-identifier: code -> category, where several codes are one category
    ppdm_branches     node and category -> the next node, and the attribute that is asked there
    ppdm_placed       one row per source row: the leaf it lies in, its kind, and what the release needs of it
    ppdm_whole        leaf and kind -> class of the release, where all rows go to one
    ppdm_divided      leaf, kind, first and last rank -> class, where they do not
    ppdm_labels       class -> what is printed

A category is what a branch of the tree stands for: a text value, an interval of numbers, NULL, NaN.  Values that
fewer than k people hold are one category together, which is never printed.  A kind is a class with the
sensitive values and the weight that go with it: rows of one kind and leaf are interchangeable to the plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from sqlglot import exp

from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.methods.kactus.repair import DROPPED, ROOT, RowMoves
from ppdm_sql.methods.kactus.tree_arrays import KactusTree
from ppdm_sql.methods.plan import ENTITY, PART, Private
from ppdm_sql.methods.shared.columns import Axis, counted_axis
from ppdm_sql.methods.shared.discretize import Categories, categories_of
from ppdm_sql.methods.shared.labels import marker
from ppdm_sql.source.encode import CODE, Coded, canonical, encode
from ppdm_sql.source.join import Join, join_in_steps
from ppdm_sql.source.lines import Ints
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.statements.rowtext import hash_numbers
from ppdm_sql.trees.nominal import Nominal, mixed_radix
from ppdm_sql.watching import Progress

_CATEGORY, _NODE, _KIND, _N, _WEIGHT, _RANK = (
    f"ppdm_{word}" for word in ("category", "node", "kind", "n", "weight", "rank")
)
_ROOT = exp.Literal.number(ROOT)
_MOST_KINDS = 1 << 62


# -- the table -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Walked:
    """Rows by node and kind, and what the kinds are: per code column the code of each kind."""

    node: Ints
    kind: Ints  # which of `keys`
    rows: Ints
    keys: Ints  # rising
    codes: Mapping[str, Ints]
    weights: Ints


@dataclass(frozen=True)
class TableNames:
    """The working tables of one plan."""

    branches: Name
    placed: Name
    whole: Name
    divided: Name
    labels: Name

    @classmethod
    def of(cls, engine: Engine) -> TableNames:
        return cls(*(engine.work.name(label) for label in ("branches", "placed", "whole", "divided", "labels")))


@dataclass(frozen=True)
class KactusTable:
    """The source as codes and categories."""

    engine: Engine
    source: Source
    coded: Coded
    axes: Mapping[str, Axis]
    categories: tuple[Categories, ...]
    secrets: tuple[str, ...]  # the columns that are counted beside the target
    class_counts: Ints
    names: TableNames
    category_tables: Mapping[int, Name] = field(default_factory=dict)
    joined: exp.Select | None = None  # ppdm_coded with the category tables
    category_codes: tuple[exp.Expr, ...] = ()

    @property
    def target(self) -> str:
        assert self.source.target is not None
        return self.source.target

    # -- expressions over ppdm_coded "c" and the category tables -----------------------------------

    def rows(self) -> exp.Select:
        """FROM and joins, without columns."""
        assert self.joined is not None
        return self.joined.copy()

    def category(self, number: int) -> exp.Expr:
        return self.category_codes[number].copy()

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

    # -- walking -----------------------------------------------------------------------------------

    def walk(self, tree: KactusTree, private: Private) -> Walked:
        """Sends all rows down the tree in one statement, a join per level; then one aggregation."""
        most = max((one.size for one in self.categories), default=1)
        child = np.arange(1, len(tree.parent))
        key = tree.parent[1:] * most + tree.category[1:]
        columns = {"ppdm_key": key, "ppdm_child": child, "ppdm_a": tree.question[1:], "ppdm_level": tree.depth[1:]}
        self._load(self.names.branches, columns)
        query = self.rows()
        asked: exp.Expr = exp.Literal.number(int(tree.question[0]))
        node: exp.Expr = _ROOT
        for level in range(1, tree.levels + 1):
            b = f"b{level}"
            here = exp.EQ(this=column("ppdm_key", b), expression=self._branch(asked, node, most))
            query = query.join(self._level(level).subquery(b), on=here, join_type="left", copy=False)
            asked, node = column("ppdm_a", b), column("ppdm_child", b)
        ways = [column("ppdm_child", f"b{level}") for level in range(tree.levels, 0, -1)]
        place = exp.Coalesce(this=ways[0], expressions=[*ways[1:], _ROOT]) if ways else _ROOT
        query = query.select(*(column(name, "c") for name in self._needed(private)))
        query = query.select(aliased(self.kind(), _KIND), aliased(exp.cast(place, "BIGINT"), _NODE))
        self._create(self.names.placed, query)
        return self._counted()

    def _level(self, number: int) -> exp.Select:
        picked = [column(name) for name in ("ppdm_key", "ppdm_child", "ppdm_a")]
        here = exp.EQ(this=column("ppdm_level"), expression=exp.Literal.number(number))
        return exp.Select(expressions=picked).from_(self.names.branches.table()).where(here)

    def _branch(self, asked: exp.Expr, node: exp.Expr, most: int) -> exp.Expr:
        """Node and category as one number; NULL where nothing is asked."""
        ways = [
            exp.If(this=exp.Literal.number(number), true=exp.cast(self.category(number), "BIGINT"))
            for number in range(len(self.categories))
        ]
        first = exp.Mul(this=exp.cast(node.copy(), "BIGINT"), expression=exp.Literal.number(most))
        return exp.Add(this=first, expression=exp.Case(this=asked.copy(), ifs=ways))

    def _needed(self, private: Private) -> list[str]:
        """The columns of ppdm_coded that the release prints, keeps or orders rows by."""
        person = [ENTITY] if self.source.entity is not None else []
        return list(dict.fromkeys([*self.coded.passed.values(), *person, *private.columns, *self.coded.codes.values()]))

    def _counted(self) -> Walked:
        by = [column(_NODE), column(_KIND)]
        query = exp.Select(expressions=[*by, aliased(exp.Count(this=exp.Star()), _N)]).from_(self.names.placed.table())
        found = self.engine.arrays(query.group_by(*(one.copy() for one in by)))
        keys, kind = np.unique(found[_KIND].astype(np.int64), return_inverse=True)
        codes, left = {}, keys // 2
        for name, size in reversed(self.kind_digits()):
            codes[name], left = left % size, left // size
        node, rows = found[_NODE].astype(np.int64), found[_N].astype(np.int64)
        return Walked(node, kind, rows, keys, codes, keys % 2)

    # -- the release -------------------------------------------------------------------------------

    def release(self, private: Private, seed: int) -> exp.Select:
        """All rows that are published, each with the labels of its class, in one statement.

        Most leaves go to one class as a whole, kind by kind.  Only where they do not, rows are put in order.
        """
        beside = [*([ENTITY] if self.source.entity is not None else []), *private.columns]
        kept = [*self.coded.passed.values(), *beside]
        whole = exp.Select(expressions=[*(column(name, "x") for name in kept), column(PART, "p")])
        whole = whole.from_(self.names.placed.table("x")).join(self.names.whole.table("p"), on=_same("p", "x"))
        divided = exp.Select(expressions=[*(column(name, "x") for name in kept), column(PART, "p")])
        divided = divided.from_(self._ranked(kept, private, seed).subquery("x")).join(
            self.names.divided.table("p"), on=_moved()
        )
        rows = exp.Union(this=whole, expression=divided, distinct=False)
        label = {name: f"ppdm_l{number}" for number, name in enumerate(self.source.quasi)}
        picked = [
            aliased(column(label[name], "l") if name in label else self._unchanged(name), name)
            for name in self.source.published
        ]
        query = exp.Select(expressions=[*picked, aliased(column(PART, "x"), PART)])
        query = query.select(*(aliased(column(name, "x"), name) for name in beside)).from_(rows.subquery("x"))
        return query.join(self.names.labels.table("l"), on=exp.EQ(this=column(PART, "l"), expression=column(PART, "x")))

    def _ranked(self, kept: Sequence[str], private: Private, seed: int) -> exp.Select:
        """The rows of the leaves and kinds that go to several classes, in the order of a hash."""
        hashed = [*private.columns, *self.coded.codes.values(), *self.coded.passed.values()]
        order = hash_numbers(self.engine, [column(name, "x") for name in hashed], salt=str(seed))
        rank = exp.Window(
            this=exp.RowNumber(),
            partition_by=[column(_NODE, "x"), column(_KIND, "x")],
            order=exp.Order(expressions=[exp.Ordered(this=part) for part in order]),
        )
        groups = exp.Select(expressions=[column(_NODE), column(_KIND)]).from_(self.names.divided.table()).distinct()
        picked = [*(column(name, "x") for name in kept), column(_NODE, "x"), column(_KIND, "x"), aliased(rank, _RANK)]
        query = exp.Select(expressions=picked).from_(self.names.placed.table("x"))
        return query.join(groups.subquery("g"), on=_same("g", "x"))

    def _unchanged(self, name: str) -> exp.Expr:
        """A column that is published as it is; as plain text where its type would list values that do not leave."""
        copy = column(self.coded.passed[name], "x")
        return self.engine.exact_text(copy) if self.source.info(name).kind is Kind.TEXT else copy

    def load_moves(self, walked: Walked, moves: RowMoves, part: Ints) -> None:
        """part: the class of each move that is not dropped.

        The rows of a leaf and kind go to its classes in their order, by rank; what is dropped comes last.
        """
        group = moves.leaf * (len(walked.keys) + 1) + moves.kind
        order = np.argsort(group, kind="stable")
        rows, group = moves.rows[order], group[order]
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        many = np.diff(starts, append=len(group))
        last = np.cumsum(rows)
        last -= np.repeat(last[starts] - rows[starts], many)
        classes = np.full(len(moves), DROPPED)
        classes[moves.target != DROPPED] = part
        classes = classes[order]
        columns = {_NODE: moves.leaf[order], _KIND: walked.keys[moves.kind[order]]}
        columns |= {"ppdm_first": last - rows + 1, "ppdm_last": last, PART: classes}
        divided = np.repeat(many > 1, many)
        for table, which in ((self.names.whole, ~divided), (self.names.divided, divided)):
            self._load(table, {name: values[which & (classes != DROPPED)] for name, values in columns.items()})

    @property
    def marker(self) -> str:
        """What stands for a suppressed value."""
        return marker([one.axis for one in self.categories])

    def load_labels(self, shown: Ints) -> None:
        """shown: (class, quasi-identifier), the category that is printed, or less than 0."""
        import pyarrow as pa

        suppressed = self.marker
        columns = {PART: pa.array(np.arange(len(shown)), pa.int64())}
        for number, one in enumerate(self.categories):
            texts = pa.array([*one.printed, suppressed], pa.string())
            codes = np.where(shown[:, number] < 0, one.size, shown[:, number])
            columns[f"ppdm_l{number}"] = texts.take(pa.array(codes, pa.int64()))
        self.engine.load(self.names.labels, pa.table(columns))
        self.engine.analyze(self.names.labels)

    # -- small things ------------------------------------------------------------------------------

    def _create(self, name: Name, query: exp.Query) -> None:
        self.engine.create_table(name, query, temporary=True)
        self.engine.analyze(name)

    def _load(self, name: Name, columns: Mapping[str, Ints]) -> None:
        _load(self.engine, name, columns)


def _same(one: str, other: str) -> exp.Expr:
    """The same leaf and kind."""
    return exp.and_(*(exp.EQ(this=column(name, one), expression=column(name, other)) for name in (_NODE, _KIND)))


def _moved() -> exp.Expr:
    inside = exp.Between(this=column(_RANK, "x"), low=column("ppdm_first", "p"), high=column("ppdm_last", "p"))
    return exp.And(this=_same("p", "x"), expression=inside)


def _is_plain(one: Categories) -> bool:
    """Whether every code is a category of its own, so that no table is needed to tell."""
    return bool((one.of_code == np.arange(len(one.of_code))).all())


def _load(engine: Engine, name: Name, columns: Mapping[str, Ints]) -> None:
    import pyarrow as pa

    engine.load(name, pa.table({key: pa.array(values, pa.int64()) for key, values in columns.items()}))
    engine.analyze(name)


# -- reading ---------------------------------------------------------------------------------------------


def encoded(
    engine: Engine, source: Source, secrets: Sequence[str], private: Private, progress: Progress
) -> KactusTable:
    """One pass over the source into codes."""
    assert source.target is not None
    names = list(dict.fromkeys([*source.quasi, source.target, *secrets]))
    axes = {}
    for number, name in enumerate(names):
        progress("reading columns", number, len(names))
        axes[name] = counted_axis(engine, source, name)
    progress("encoding", 0, None)
    extra = dict(private.columns)
    if source.entity is not None:
        extra |= {ENTITY: canonical(engine, source.info(source.entity), "r"), _WEIGHT: _first_rows(engine, source)}
    lookups = {name: axis.lookup for name, axis in axes.items()}
    coded = encode(engine, source.relation, lookups, source.passed, extra=extra)
    bare = KactusTable(
        engine, source, coded, axes, (), tuple(secrets), np.zeros(0, dtype=np.int64), TableNames.of(engine)
    )
    if float(np.prod([float(size) for _, size in bare.kind_digits()])) > _MOST_KINDS / 4:
        raise PolicyError(f"{len(secrets)} sensitive columns have too many values together: publish fewer at a time")
    return bare


def with_categories(engine: Engine, table: KactusTable, k: int, progress: Progress) -> KactusTable:
    """One aggregation per quasi-identifier: which of its codes are one category."""
    categories, tables = [], {}
    counts = np.zeros((0, 0), dtype=np.int64)
    for number, name in enumerate(table.source.quasi):
        progress("choosing intervals", number, len(table.source.quasi))
        counts, held = _counts(engine, table, name)
        categories.append(categories_of(table.axes[name], counts, held, k))
        if not _is_plain(categories[-1]):
            of_code = categories[-1].of_code
            tables[number] = engine.work.name("category")
            _load(engine, tables[number], {CODE: np.arange(len(of_code)), _CATEGORY: of_code})
    table = replace(table, categories=tuple(categories), class_counts=counts.sum(axis=0), category_tables=tables)
    return _with_joined_categories(engine, table)


def _with_joined_categories(engine: Engine, table: KactusTable) -> KactusTable:
    """The query that gives every row its categories; a code that is a category of its own needs no join."""
    codes: list[exp.Expr] = [column(table.coded.codes[one.axis.info.name], "c") for one in table.categories]
    merged = [number for number, one in enumerate(table.categories) if not _is_plain(one)]
    joins = [
        Join(table.category_tables[number], CODE, codes[number], lambda alias: column(_CATEGORY, alias))
        for number in merged
    ]
    rows = exp.Select().from_(table.coded.table.table("c"))
    joined, read = join_in_steps(engine, rows, joins, "c", "ppdm_categorized")
    for number, category in zip(merged, read, strict=True):
        codes[number] = category
    return replace(table, joined=joined, category_codes=tuple(codes))


def _counts(engine: Engine, table: KactusTable, name: str) -> tuple[Ints, Ints]:
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
