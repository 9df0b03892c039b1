"""Mondrian: a multidimensional partition of the rows, cut so that every part meets every requirement.

LeFevre, DeWitt, Ramakrishnan: Mondrian Multidimensional K-Anonymity (ICDE 2006); with a TARGET their
InfoGain and LSD variants (Workload-Aware Anonymization, KDD 2006).  docs/methods/mondrian.md is the claim
sheet.  Rows stay in the database; what is seen here are cells (cells/), and the distinct values of each column,
which become labels.

    the paper                                here
    partition, allowable cut                 partition.Grower, limits.Demands
    choose dimension, find median            partition, splits
    recoding function                        labels
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np

from ppdm_sql.cells.cells import Codes
from ppdm_sql.cells.parts import DIVIDED, DROPPED, Parts, Shares
from ppdm_sql.errors import PolicyError
from ppdm_sql.methods.base import OF_COUNTS, ROWS, CellJob, Method
from ppdm_sql.methods.mondrian.left_behind import Budget, Mender
from ppdm_sql.methods.mondrian.level_counts import Columns
from ppdm_sql.methods.mondrian.partition import Grower, PartitionTree
from ppdm_sql.methods.mondrian.partition_cells import KNOWN, SQUARES, SUM, WEIGHT, N, PartitionCells
from ppdm_sql.methods.mondrian.partition_recoding import ShownParts, fewest_nodes, recode_partition
from ppdm_sql.methods.mondrian.pieces import Pieces
from ppdm_sql.methods.mondrian.split_quality import ClassEntropy, Evenness, Response, SquaredError, grid
from ppdm_sql.methods.plan import CellPlan, PlannedRecoding, ResidualRisk
from ppdm_sql.methods.shared.columns import Axis, alone, cell_axis, in_order, order_by_share, quasi_axis
from ppdm_sql.methods.shared.labels import Regions, labels_of, marker, same_rows
from ppdm_sql.methods.shared.limits import Demands, secret_of
from ppdm_sql.policy.options import Choice, Whole
from ppdm_sql.policy.policy import Tuning
from ppdm_sql.source.lines import Ints

_MOST_CLASSES = 20  # a target of numbers with more values than this is predicted as a number
MINIMALITY = ResidualRisk(
    "minimality",
    "anyone who knows the algorithm can sometimes infer more than the classes show, because every permitted "
    "split was made",
)
DOWNCODING = ResidualRisk(
    "downcoding", "the limits of a range show where no further split was possible, which can narrow down single values"
)
EXTREMES = ResidualRisk(
    "extremes",
    "ranges = extent publishes the least and greatest value of every class, including values that few people have",
    refuses=True,
)


@dataclass(frozen=True)
class MondrianOptions:
    max_parts: Annotated[int | None, Whole(1)] = None
    ranges: Annotated[str, Choice("cuts", "extent")] = "cuts"

    @property
    def extent(self) -> bool:
        return self.ranges == "extent"


def plan_mondrian(job: CellJob) -> CellPlan:
    """The plan of a partition."""
    options = job.options(MondrianOptions)
    source = job.source
    if not source.quasi:
        raise PolicyError("ALGORITHM mondrian partitions by quasi-identifiers: name some in QUASI IDENTIFIER (...)")
    table = _read(job)
    table.demands.check_whole(job.cells.total, job.cells.units, job.counts_persons)
    mender = _mender(job, table)
    grower = Grower(table.cells, table.axes, table.demands, table.response, table.columns, job.progress, mender)
    tree = grower.grow(job.cells.total, None if options.max_parts is None else options.max_parts - 1)
    forced = tree.forced_parts
    if options.max_parts is not None and forced > options.max_parts:
        raise PolicyError(f"max_parts = {options.max_parts} is less than the {forced} parts that AT MOST LEVEL makes")
    job.progress("labelling", 0, None)
    published = _publish(job, table, tree, table.cells.finish(), options)
    return CellPlan(
        parts=published.parts,
        labels=published.labels,
        steps=_steps(job, table, tree, published, options),
        figures=published.figures,
        risks=(MINIMALITY, DOWNCODING, *((EXTREMES,) if options.extent else ())),
        later_rows=published.later_rows,
    )


MONDRIAN = Method(
    "mondrian", ROWS, MondrianOptions, OF_COUNTS,
    takes_tunings=True, leaves_rows_out=True, labels_new_rows=True, plan_cells=plan_mondrian,
)  # fmt: skip


# -- reading ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Table:
    """The cells as a partition reads them, and the rules that go with it."""

    axes: tuple[Axis, ...]
    cells: PartitionCells
    columns: Columns
    demands: Demands
    response: Response


def _read(job: CellJob) -> _Table:
    source, cells, secret = job.source, job.cells, job.sensitive
    axes = {name: cell_axis(cells, name) for name in cells.columns}
    target = axes[source.target] if source.target is not None else None
    for name in source.quasi:
        axes[name] = _quasi_axis(job, name, axes[name], target)
    numeric = source.target is not None and _is_numeric(axes[source.target])
    columns = Columns(classes=source.target if not numeric else None, numeric=numeric, secrets=secret)
    secrets = tuple(secret_of(job, axes[name], cells.total) for name in secret)
    response: Response = SquaredError() if numeric else ClassEntropy() if columns.classes else Evenness()
    quasi = tuple(axes[name] for name in source.quasi)
    return _Table(quasi, _cells(job, axes, columns), columns, Demands(job.k, secrets), response)


def _quasi_axis(job: CellJob, name: str, plain: Axis, target: Axis | None) -> Axis:
    """The axis of a quasi-identifier; texts without a hierarchy in the order that is declared or the target's."""
    tuning = job.source.tunings.get(name, Tuning())
    axis = quasi_axis(plain, job.cells[name].held, job.k, job.hierarchies.get(name))
    axis = replace(axis, weight=tuning.weight, most_level=tuning.most_level)
    if axis.hierarchy is not None or axis.line is not None or not axis.ordinary:
        return axis
    if tuning.order:
        place = {text: number for number, text in enumerate(tuning.order)}
        return in_order(axis, np.argsort([place[text] for text in axis.texts], kind="stable"))
    if target is None:
        return alone(axis)
    ordered = in_order(axis, _by_target(_codes(axis), len(axis.texts), target, job.cells.rows))
    return replace(ordered, by_target=True)


def _by_target(code: Codes, size: int, target: Axis, rows: Ints) -> Ints:
    """The codes of a text column by the share of the target's most frequent class, or by the mean of a numeric one.

    Equal shares stay in the order of bytes.
    """
    if _is_numeric(target):
        measured = _response(target, rows)
        above, below = measured[SUM], measured[KNOWN]
    else:
        classes = _codes(target)
        common = int(np.bincount(classes, weights=rows).argmax())
        above, below = np.where(classes == common, rows, 0), rows
    tops, bottoms = (np.bincount(code, weights=one, minlength=size)[:size].astype(np.int64) for one in (above, below))
    return order_by_share(tops, bottoms)


def _is_numeric(axis: Axis) -> bool:
    return axis.line is not None and axis.size > _MOST_CLASSES


def _cells(job: CellJob, axes: Mapping[str, Axis], columns: Columns) -> PartitionCells:
    source, cells = job.source, job.cells
    kept = dict.fromkeys([*source.quasi, *([columns.classes] if columns.classes else []), *columns.secrets])
    measures = {N: cells.rows}
    if cells.weights is not None:
        measures[WEIGHT] = cells.weights
    if columns.numeric:
        assert source.target is not None
        measures |= _response(axes[source.target], cells.rows)
    codes = {name: _codes(axes[name]) for name in kept}
    return PartitionCells(tuple(source.quasi), codes, {name: axes[name].size for name in kept}, measures)


def _codes(axis: Axis) -> Codes:
    assert axis.codes is not None  # an axis of cells
    return axis.codes


def _response(axis: Axis, rows: Ints) -> dict[str, Ints]:
    """A numeric target per cell, as whole numbers; NULL, NaN and infinity say nothing about it."""
    known = np.zeros(axis.size, dtype=np.int64)
    value = np.zeros(axis.size, dtype=np.int64)
    finite = [code for code in range(axis.ordinary) if "inf" not in axis.texts[code].lower()]
    if finite and axis.line is not None:
        known[finite] = 1
        value[finite] = grid([Fraction(int(tick)) for tick in axis.line.ticks[finite]], int(rows.sum()))
    code = _codes(axis)
    return {KNOWN: known[code] * rows, SUM: value[code] * rows, SQUARES: (value * value)[code] * rows}


def _mender(job: CellJob, table: _Table) -> Mender:
    """What may be done where a split leaves too little behind.

    Rows are not left out where classes are compared with the whole table (t): without them it would be another one.
    """
    compared = any(item.compares_with_table for item in job.value_requirements)
    budget = 0 if compared else int((job.policy.suppress or 0) * job.cells.total)

    def fetch(parts: Ints, attribute: int, first: Ints, last: Ints) -> Pieces:
        return table.cells.pieces(parts, attribute, first, last, table.columns.secrets)

    return Mender(table.axes, table.demands, fetch, job.policy.seed, Budget(budget))


# -- labels ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _PublishedParts:
    parts: Parts
    labels: Mapping[str, Sequence[str | None]]
    figures: Mapping[str, int | Fraction | str]
    marker: str
    later_rows: PlannedRecoding | None


def _publish(job: CellJob, table: _Table, tree: PartitionTree, node: Ints, options: MondrianOptions) -> _PublishedParts:
    """The label of every part; parts that print the same are one class."""
    of_node = tree.emitted(options.max_parts)
    emitted = of_node[node]
    kept = np.flatnonzero(~(tree.lost[emitted] & (emitted == node)))
    shown, place = np.unique(emitted[kept], return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(len(shown)))
    suppressed = marker(table.axes)
    labels, extents = [], []
    for number, axis in enumerate(table.axes):
        code = table.cells.codes[axis.info.name][kept[order]]
        low, high = (each.reduceat(code, starts).astype(np.int64) for each in (np.minimum, np.maximum))
        regions = Regions(tree.first[shown, number], tree.stop[shown, number], low, high, tree.behind[shown, number])
        extents.append((low, high))
        labels.append(labels_of(axis, regions, suppressed, extent=options.extent))
    classes = same_rows(np.column_stack([one.number for one in labels]))
    rows = np.bincount(place, weights=table.cells.measures[N][kept]).astype(np.int64)
    sizes = np.bincount(classes, weights=rows).astype(np.int64)
    first = np.unique(classes, return_index=True)[1]  # a part of every class
    texts = {
        name: [one.texts[number] for number in one.number[first].tolist()]
        for name, one in zip(job.source.quasi, labels, strict=True)
    }
    target = np.full(len(node), DROPPED)
    target[kept] = classes[place]
    parts = _parts(table.cells, target, len(sizes), len(job.cells))
    later_rows = None
    if not options.extent:  # the least and greatest value of a class say nothing about other rows
        lows, highs = (np.column_stack(each) for each in zip(*extents, strict=True))
        make = partial(recode_partition, table.axes, tree, of_node, ShownParts(shown, lows, highs), suppressed)
        later_rows = PlannedRecoding(make, fewest_nodes(tree, of_node))
    return _PublishedParts(parts, texts, _figures(tree, rows, sizes), suppressed, later_rows)


def _parts(cells: PartitionCells, target: Ints, classes: int, number: int) -> Parts:
    """The class of every cell; a cell whose pieces go to several classes is a bag of its own."""
    if len(cells.cell) == number:
        return Parts(target, classes)
    divided = np.bincount(cells.cell, minlength=number) > 1
    part = np.full(number, DIVIDED)
    whole = ~divided[cells.cell]
    part[cells.cell[whole]] = target[whole]
    bag = np.full(number, -1)
    bag[divided] = np.arange(int(divided.sum()))
    pieces = np.flatnonzero(~whole)
    start, rows = cells.start[pieces], cells.measures[N][pieces]
    shares = Shares(bag[cells.cell[pieces]], start + 1, start + rows, target[pieces])
    return Parts(part, classes, bag, shares)


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


def _steps(
    job: CellJob, table: _Table, tree: PartitionTree, published: _PublishedParts, options: MondrianOptions
) -> tuple[str, ...]:
    source = job.source
    k = f"{table.demands.k} {'persons' if source.entity is not None else 'rows'}"
    rule = {
        ClassEntropy: f'the split that leaves the least entropy of "{source.target}"',
        SquaredError: f'the split that leaves the least squared error of "{source.target}"',
        Evenness: "the widest attribute, split as evenly as possible",
    }[type(table.response)]
    shown = "the least and greatest value of each class" if options.extent else "ranges between round thresholds"
    return (
        f"encode {len(table.axes)} quasi-identifiers of {job.cells.total} rows into codes",
        f"split all parts level by level, each by {rule}, as long as every part meets {k} and every other requirement",
        f"{tree.depth} levels, {int((~tree.leaves).sum())} splits; {published.parts.classes} classes",
        f"publish {shown}; {published.marker} stands for everything",
    )
