"""Mondrian: a multidimensional partition of the rows, cut so that every part meets every requirement.

LeFevre, DeWitt, Ramakrishnan: Mondrian Multidimensional K-Anonymity (ICDE 2006); with a TARGET their
InfoGain and LSD variants (Workload-Aware Anonymization, KDD 2006).  docs/methods/mondrian.md is the claim
sheet.  Rows stay in the database; what Python sees are counts per part and code, and the distinct values of
each column (they become labels).

    the paper                                here
    partition, allowable cut                 partition.Grower, limits.Demands
    choose dimension, find median            partition, splits
    recoding function                        labels
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np
from sqlglot import exp

from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.methods.base import OF_COUNTS, ROWS, Job, Method
from ppdm_sql.methods.mondrian.level_counts import Columns
from ppdm_sql.methods.mondrian.partition import Grower, PartitionTree
from ppdm_sql.methods.mondrian.partition_tables import KNOWN, SQUARES, SUM, PartitionCells
from ppdm_sql.methods.mondrian.split_quality import ClassEntropy, Evenness, Response, SquaredError, grid
from ppdm_sql.methods.plan import ENTITY, PART, Private, Risk, TablePlan
from ppdm_sql.methods.shared.columns import Axis, counted_axis, quasi_axis
from ppdm_sql.methods.shared.labels import Labels, Regions, labels_of, marker, same_rows
from ppdm_sql.methods.shared.limits import Demands, counted_units, secret_of
from ppdm_sql.policy.options import Choice, Whole
from ppdm_sql.source.encode import CODE, Coded, canonical, encode
from ppdm_sql.source.lines import Ints
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import Name, aliased, column

_CLASS = "ppdm_class"
_MOST_CLASSES = 20  # a target of numbers with more values than this is predicted as a number
MINIMALITY = Risk(
    "minimality",
    "who knows the method can sometimes tell more than the classes say: every cut that could be made was made",
)
DOWNCODING = Risk(
    "downcoding", "a region's boundaries say where a further cut was not possible, which can narrow single values"
)
EXTREMES = Risk(
    "extremes",
    "ranges = extent prints the least and greatest value of every class, and with them values that few people hold",
    refuses=True,
)


@dataclass(frozen=True)
class MondrianOptions:
    max_parts: Annotated[int | None, Whole(1)] = None
    ranges: Annotated[str, Choice("cuts", "extent")] = "cuts"

    @property
    def extent(self) -> bool:
        return self.ranges == "extent"


def plan_mondrian(job: Job) -> TablePlan:
    """The plan of a partition; the working tables it reads stay until the session ends."""
    options = job.options(MondrianOptions)
    engine, source = job.engine, job.source
    if not source.quasi:
        raise PolicyError("ALGORITHM mondrian partitions by quasi-identifiers: name some in QUASI IDENTIFIER (...)")
    table = _read(job)
    table.demands.check_whole(table.coded.rows, counted_units(job, table.coded), job.counts_persons)
    grower = Grower(table.cells, table.axes, table.demands, table.response, table.columns, job.progress)
    table.cells.build()
    tree = grower.grow(table.coded.rows, None if options.max_parts is None else options.max_parts - 1)
    parts = table.cells.finish()
    job.progress("labelling", 0, None)
    published = _publish(engine, source, table, tree, parts, options)
    return TablePlan(
        query=_query(engine, source, table, parts, published.labels, job.private),
        published=source.published,
        classes=published.classes,
        rows=table.coded.rows,
        steps=_steps(source, table, tree, published, options),
        figures=published.figures,
        risks=(MINIMALITY, DOWNCODING, *((EXTREMES,) if options.extent else ())),
    )


MONDRIAN = Method("mondrian", ROWS, MondrianOptions, OF_COUNTS, plan_table=plan_mondrian)


# -- reading ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Table:
    """The source as codes, and the rules that go with it."""

    axes: tuple[Axis, ...]
    coded: Coded
    cells: PartitionCells
    columns: Columns
    demands: Demands
    response: Response


def _read(job: Job) -> _Table:
    engine, source, secret = job.engine, job.source, job.sensitive
    names = list(dict.fromkeys([*source.quasi, *([source.target] if source.target else []), *secret]))
    axes = {}
    for number, name in enumerate(names):
        job.progress("reading columns", number, len(names))
        if name in source.quasi:
            axes[name] = quasi_axis(engine, source, name, job.k, job.hierarchies.get(name))
        else:
            axes[name] = counted_axis(engine, source, name)
    job.progress("encoding", 0, None)
    extra = dict(job.private.columns)
    if source.entity is not None:
        extra[ENTITY] = canonical(engine, source.info(source.entity), "r")
    lookups = {name: axis.lookup for name, axis in axes.items()}
    coded = encode(engine, source.relation, lookups, source.passed, extra=extra)
    numeric = source.target is not None and _is_numeric(axes[source.target])
    columns = Columns(
        classes=coded.codes[source.target] if source.target is not None and not numeric else None,
        numeric=numeric,
        secrets=tuple(coded.codes[name] for name in secret),
    )
    secrets = tuple(secret_of(job, axes[name], coded.rows) for name in secret)
    cells = _cells(engine, source, coded, axes, columns)
    response: Response = SquaredError() if numeric else ClassEntropy() if columns.classes else Evenness()
    quasi = tuple(axes[name] for name in source.quasi)
    return _Table(quasi, coded, cells, columns, Demands(job.k, secrets), response)


def _is_numeric(axis: Axis) -> bool:
    return axis.line is not None and axis.size > _MOST_CLASSES


def _cells(engine: Engine, source: Source, coded: Coded, axes: Mapping[str, Axis], columns: Columns) -> PartitionCells:
    target = source.target if columns.numeric else None
    response = _load_response(engine, axes[target], coded.rows) if target is not None else None
    size_of = {coded.codes[name]: axis.size for name, axis in axes.items()}
    attributes = tuple(coded.codes[name] for name in source.quasi)
    kept = dict.fromkeys([*attributes, *([columns.classes] if columns.classes else []), *columns.secrets])
    return PartitionCells(
        engine,
        coded,
        attributes,
        {name: size_of[name] for name in kept},
        has_entity=source.entity is not None,
        numeric_target=coded.codes[target] if target is not None else None,
        response=response,
    )


def _load_response(engine: Engine, axis: Axis, rows: int) -> Name:
    """A numeric target's value per code, as a whole number; NULL, NaN and infinity say nothing about it."""
    import pyarrow as pa

    known = np.zeros(axis.size, dtype=np.int64)
    value = np.zeros(axis.size, dtype=np.int64)
    finite = [code for code in range(axis.ordinary) if "inf" not in axis.texts[code].lower()]
    if finite and axis.line is not None:
        known[finite] = 1
        value[finite] = grid([Fraction(int(tick)) for tick in axis.line.ticks[finite]], rows)
    columns = {CODE: np.arange(axis.size), KNOWN: known, SUM: value, SQUARES: value * value}
    numbers = {name: pa.array(values, pa.int64()) for name, values in columns.items()}
    return engine.work.load("response", numbers, analyze=True)


# -- labels ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _PublishedParts:
    labels: Name  # the table of what every part prints
    classes: int
    figures: Mapping[str, int | Fraction | str]
    marker: str


def _publish(
    engine: Engine, source: Source, table: _Table, tree: PartitionTree, parts: Name, options: MondrianOptions
) -> _PublishedParts:
    """Loads the label of every part; parts that print the same are one class."""
    extents = table.cells.extents(parts)
    shown, place = np.unique(tree.emitted(options.max_parts)[extents[PART]], return_inverse=True)
    suppressed = marker(table.axes)
    labels = []
    for number, axis in enumerate(table.axes):
        low, high = np.full(len(shown), axis.size), np.full(len(shown), -1)
        np.minimum.at(low, place, extents[f"lo{number}"])
        np.maximum.at(high, place, extents[f"hi{number}"])
        regions = Regions(tree.first[shown, number], tree.stop[shown, number], low, high)
        labels.append(labels_of(axis, regions, suppressed, extent=options.extent))
    classes = same_rows(np.column_stack([one.number for one in labels]))
    table_of_labels = _load_labels(engine, extents[PART], place, classes, labels)
    rows = np.bincount(place, weights=extents["n"]).astype(np.int64)
    sizes = np.bincount(classes, weights=rows).astype(np.int64)
    return _PublishedParts(table_of_labels, len(sizes), _figures(tree, rows, sizes), suppressed)


def _load_labels(engine: Engine, node: Ints, place: Ints, classes: Ints, labels: Sequence[Labels]) -> Name:
    import pyarrow as pa

    columns = {PART: pa.array(node, pa.int32()), _CLASS: pa.array(classes[place], pa.int32())}
    for number, one in enumerate(labels):
        columns[f"ppdm_l{number}"] = pa.array(one.texts, pa.string()).take(pa.array(one.number[place]))
    return engine.work.load("labels", columns, analyze=True)


def _figures(tree: PartitionTree, rows: Ints, sizes: Ints) -> dict[str, int | Fraction | str]:
    figures: dict[str, int | Fraction | str] = {
        "parts": len(rows),
        "levels": tree.depth,
        "splits": int((~tree.leaves).sum()),
        "smallest class": int(sizes.min()),
        "largest class": int(sizes.max()),
    }
    return figures


# -- the plan --------------------------------------------------------------------------------------------


def _query(engine: Engine, source: Source, table: _Table, parts: Name, labels: Name, private: Private) -> exp.Select:
    """The rows with labels in place of their quasi-identifiers; nothing else of them is changed or lost."""
    label = {name: f"ppdm_l{number}" for number, name in enumerate(source.quasi)}
    picked = [
        aliased(column(label[name], "l") if name in label else _unchanged(engine, source, table, name), name)
        for name in source.published
    ]
    beside = [*([ENTITY] if source.entity is not None else []), *private.columns]
    same = [
        exp.EQ(this=column(key, "p"), expression=pack)
        for key, pack in zip(table.cells.key_names, table.cells.packed("c"), strict=True)
    ]
    query = exp.Select(expressions=[*picked, aliased(column(_CLASS, "l"), PART)])
    query = query.select(*(aliased(column(name, "c"), name) for name in beside))
    query = query.from_(table.coded.table.table("c")).join(parts.table("p"), on=exp.and_(*same))
    return query.join(labels.table("l"), on=exp.EQ(this=column(PART, "l"), expression=column(PART, "p")))


def _unchanged(engine: Engine, source: Source, table: _Table, name: str) -> exp.Expr:
    """A column that is published as it is; as plain text where its type would list values that do not leave."""
    copy = column(table.coded.passed[name], "c")
    return engine.exact_text(copy) if source.info(name).kind is Kind.TEXT else copy


def _steps(
    source: Source, table: _Table, tree: PartitionTree, published: _PublishedParts, options: MondrianOptions
) -> tuple[str, ...]:
    k = f"{table.demands.k} {'persons' if source.entity is not None else 'rows'}"
    rule = {
        ClassEntropy: f'the split that leaves the least entropy of "{source.target}"',
        SquaredError: f'the split that leaves the least squared error of "{source.target}"',
        Evenness: "the widest attribute, cut as evenly as possible",
    }[type(table.response)]
    shown = "the least and greatest value of each class" if options.extent else "regions between round boundaries"
    return (
        f"encode {len(table.axes)} quasi-identifiers of {table.coded.rows} rows into codes",
        f"split all parts level by level, each by {rule}, as long as every part keeps {k} and every other requirement",
        f"{tree.depth} levels, {int((~tree.leaves).sum())} splits; {published.classes} classes",
        f"publish {shown}; {published.marker} stands for everything",
    )
