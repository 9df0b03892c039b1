"""Hilbert: rows in the order of a curve through their quasi-identifiers, cut into groups.

Ghinita, Karras, Kalnis, Mamoulis: Fast Data Anonymization with Low Information Loss (VLDB 2007), the one-dimensional
method for l-diversity, with the Hilbert curve or iDistance.  docs/methods/hilbert.md is the claim sheet.

    the paper                                here
    mapping to one dimension                 curve.curve_order
    buckets per sensitive value, groups      groups.diverse_blocks
    k-anonymity by consecutive rows          groups.sized_blocks, whole_blocks
    recoding of a group                      labels.group_labels

Deviations: no row is left over (groups.py says how); groups are joined until they meet every requirement of the policy,
not simple l-diversity alone; a label is the smallest hierarchy level, or interval between round numbers, that covers
the group, never the least and greatest value in it, which some person has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Annotated

import numpy as np

from ppdm_sql.cells.cells import Ints
from ppdm_sql.cells.parts import DIVIDED, Parts, Shares
from ppdm_sql.errors import PolicyError
from ppdm_sql.methods.base import OF_COUNTS, ROWS, CellJob, Method
from ppdm_sql.methods.hilbert.curve import CURVES, curve_order
from ppdm_sql.methods.hilbert.groups import (
    Blocks,
    can_be_diverse,
    diverse_blocks,
    join_blocks,
    sized_blocks,
    whole_blocks,
)
from ppdm_sql.methods.hilbert.labels import group_labels
from ppdm_sql.methods.lattice.levels import level_columns
from ppdm_sql.methods.mondrian.level_counts import Histogram
from ppdm_sql.methods.plan import CellPlan, ResidualRisk
from ppdm_sql.methods.shared.columns import cell_axis, quasi_axis
from ppdm_sql.methods.shared.labels import same_rows
from ppdm_sql.methods.shared.limits import Demands, Secret, secret_of
from ppdm_sql.policy.options import Choice
from ppdm_sql.policy.words import many
from ppdm_sql.requirements import DistinctDiversity, SimpleDiversity

ROUNDED = ResidualRisk(
    "downcoding",
    "the ends of an interval are the round numbers next to the values of its class, so a value is near either end",
)
CLOSED_EARLY = ResidualRisk(
    "minimality",
    "a group ends as soon as it meets the policy, so anyone who knows the algorithm can sometimes infer more than the "
    "classes show",
)


@dataclass(frozen=True)
class HilbertOptions:
    curve: Annotated[str, Choice(*CURVES)] = "hilbert"


def plan_hilbert(job: CellJob) -> CellPlan:
    """The plan of the groups along the curve."""
    options, source, cells = job.options(HilbertOptions), job.source, job.cells
    if not source.quasi:
        raise PolicyError("ALGORITHM hilbert groups rows by quasi-identifiers: name some in QUASI IDENTIFIER (...)")
    secrets = tuple(secret_of(job, cell_axis(cells, name), cells.total) for name in job.sensitive)
    demands = Demands(max(job.k, 1), secrets)
    demands.check_whole(cells.total, cells.units, job.counts_persons)
    job.progress("ordering combinations", 0, None)
    codes, sizes = _ranks(job)
    order = curve_order(codes, sizes, options.curve)
    least = _values_per_group(job, secrets)
    job.progress("making groups", 0, None)
    blocks = _make_blocks(job, order, same_rows(np.column_stack(codes)), demands, least)
    group = join_blocks(_units(job, blocks), _histograms(job, blocks), demands)[blocks.block]
    job.progress("labelling", 0, None)
    values = [cells[name].codes[blocks.cell] for name in source.quasi]
    number, labels = group_labels(level_columns(job), values, group, frozenset(job.hierarchies))
    parts = _parts(blocks, number[group], len(cells))
    sizes_of_classes = np.bincount(number[group], weights=_unit_pieces(job, blocks), minlength=parts.classes)
    figures: dict[str, int | Fraction | str] = {
        "curve": options.curve,
        "values per group": least,
        "groups": int(group[-1]) + 1,
        "smallest class": int(sizes_of_classes.min()),
        "largest class": int(sizes_of_classes.max()),
    }
    return CellPlan(
        parts=parts,
        labels=labels,
        steps=_steps(job, options, least, figures),
        figures=figures,
        risks=(CLOSED_EARLY, ROUNDED),
    )


HILBERT = Method(
    "hilbert", ROWS, HilbertOptions, OF_COUNTS, plan_cells=plan_hilbert,
    why_not_new_rows="has no recoding: the same value gets different labels in different classes",
)  # fmt: skip


# -- along the curve ---------------------------------------------------------------------------------------


def _ranks(job: CellJob) -> tuple[list[Ints], list[int]]:
    """Per quasi-identifier the rank of every cell's value: by size, by the hierarchy's leaves, or by its text."""
    codes, sizes = [], []
    for name in job.source.quasi:
        axis = quasi_axis(cell_axis(job.cells, name), job.cells[name].held, job.k, job.hierarchies.get(name))
        codes.append(axis.cell_codes.astype(np.int64))
        sizes.append(axis.size)
    return codes, sizes


def _values_per_group(job: CellJob, secrets: Sequence[Secret]) -> int:
    """How many different sensitive values every group gets from the start; 1: groups are made of neighbours alone."""
    if len(secrets) != 1:
        return 1
    asked = [ceil(item.l) for item in secrets[0].requirements if isinstance(item, SimpleDiversity | DistinctDiversity)]
    least = max(asked, default=1)
    return least if can_be_diverse(secrets[0].reference, least) else 1


def _make_blocks(job: CellJob, order: Ints, alike: Ints, demands: Demands, least: int) -> Blocks:
    cells = job.cells
    if not demands.secrets:
        return sized_blocks(order, cells.counted, cells.rows, demands.k)
    if least == 1:
        return whole_blocks(order, alike, cells.rows)
    secret = demands.secrets[0]
    values = cells[secret.name].codes.astype(np.int64)
    known = values[order] < len(secret.reference)
    diverse = diverse_blocks(order[known], values, cells.rows, least, demands.k)
    return diverse if known.all() else diverse.with_cells(order, order[~known], cells.rows)


def _unit_pieces(job: CellJob, blocks: Blocks) -> Ints:
    """What k counts, per piece: rows, or of the persons those whose row is in the piece."""
    if job.cells.weights is None:
        return blocks.rows
    return np.asarray(np.clip(job.cells.weights[blocks.cell] - blocks.start, 0, blocks.rows))


def _units(job: CellJob, blocks: Blocks) -> Ints:
    return np.bincount(blocks.block, weights=_unit_pieces(job, blocks)).astype(np.int64)


def _histograms(job: CellJob, blocks: Blocks) -> list[Histogram]:
    """Per block the rows of every sensitive value."""
    found = []
    for name in job.sensitive:
        column = job.cells[name]
        found.append(Histogram(blocks.block, column.codes[blocks.cell].astype(np.int64), blocks.rows, column.size))
    return found


# -- what is published -------------------------------------------------------------------------------------


def _parts(blocks: Blocks, part: Ints, cells: int) -> Parts:
    """The class of every cell; one whose rows are in several classes is a bag of its own.  part: per piece."""
    order = np.lexsort([blocks.start, blocks.cell])
    cell, here = blocks.cell[order], part[order]
    first = np.flatnonzero(np.append(True, cell[1:] != cell[:-1]))
    divided = np.minimum.reduceat(here, first) != np.maximum.reduceat(here, first)
    of_cell = np.full(cells, DIVIDED)
    of_cell[cell[first[~divided]]] = here[first[~divided]]
    if not divided.any():
        return Parts(of_cell, int(part.max()) + 1)
    bag = np.full(cells, -1)
    bag[cell[first[divided]]] = np.arange(int(divided.sum()))
    pieces = order[bag[cell] >= 0]
    start, rows = blocks.start[pieces], blocks.rows[pieces]
    shares = Shares(bag[blocks.cell[pieces]], start + 1, start + rows, part[pieces])
    return Parts(of_cell, int(part.max()) + 1, bag, shares)


def _steps(
    job: CellJob, options: HilbertOptions, least: int, figures: Mapping[str, int | Fraction | str]
) -> tuple[str, ...]:
    unit = "persons" if job.counts_persons else "rows"
    made = (
        f'make groups of {least} rows or more with different values of "{job.sensitive[0]}", neighbours on the curve '
        "where possible"
        if least > 1
        else "take rows that follow each other as groups"
    )
    return (
        f"put the combinations of {many(len(job.source.quasi), 'quasi-identifier')} in {many(job.cells.total, 'row')} "
        f"in the order of the {'Hilbert curve' if options.curve == 'hilbert' else 'iDistance'}",
        made,
        f"join each group to the next until it has {max(job.k, 1)} {unit} and meets every other requirement: "
        f"{figures['groups']:,} groups",
        "publish per group and column the finest hierarchy level, or the interval between the nearest round numbers, "
        "that covers the group",
    )
