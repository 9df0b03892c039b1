"""K-Optimize: the recoding by cuts of ordered columns that has the least classification metric.

Bayardo, Agrawal: Data Privacy through Optimal k-Anonymization (ICDE 2005), with the metric of Iyengar (KDD 2002).
docs/methods/koptimize.md is the claim sheet.

    the paper                                here
    ordered values, cuts                     cut_columns
    search, bounds, pruning                  search
    suppressed rows                          left out; none unless SUPPRESS AT MOST allows some
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from ppdm_sql.cells.cells import Ints
from ppdm_sql.cells.parts import DROPPED, Parts
from ppdm_sql.errors import PolicyError
from ppdm_sql.methods.base import OF_COUNTS, ROWS, CellJob, Method
from ppdm_sql.methods.koptimize.cut_columns import PieceColumn, piece_columns
from ppdm_sql.methods.koptimize.piece_recoding import recode_pieces
from ppdm_sql.methods.koptimize.search import CutLimits, CutSearch, FinestPieces
from ppdm_sql.methods.lattice.groupings import merge_histogram
from ppdm_sql.methods.mondrian.level_counts import Histogram
from ppdm_sql.methods.plan import CellPlan, PlannedRecoding, ResidualRisk, ValueLabels
from ppdm_sql.methods.shared.columns import cell_axis
from ppdm_sql.methods.shared.labels import marker, same_rows
from ppdm_sql.methods.shared.limits import Demands, secret_of
from ppdm_sql.policy.options import Whole
from ppdm_sql.policy.words import many

_MOST_CLASSES = 1000
OPTIMAL = ResidualRisk(
    "minimality",
    "anyone who knows the algorithm knows that every recoding with a smaller classification metric fails, which can "
    "reveal more than the classes show",
)


@dataclass(frozen=True)
class KOptimizeOptions:
    cuts: Annotated[int, Whole(1, 100)] = 12
    max_nodes: Annotated[int, Whole(1)] = 1_000_000
    max_seconds: Annotated[int, Whole(1)] = 600


def plan_koptimize(job: CellJob) -> CellPlan:
    """The plan of the best cuts that were found."""
    options, source, cells = job.options(KOptimizeOptions), job.source, job.cells
    if not source.quasi:
        raise PolicyError("ALGORITHM koptimize recodes quasi-identifiers: name some in QUASI IDENTIFIER (...)")
    if source.target is None or source.target in source.quasi:
        raise PolicyError(f"{job.owner} needs a class that is no quasi-identifier: name it in TARGET (...)")
    if cells[source.target].size > _MOST_CLASSES:
        raise PolicyError(
            f'{job.owner} counts rows by class, and the TARGET "{source.target}" has {cells[source.target].size:,} '
            f"different values, more than {_MOST_CLASSES:,}: group them in the SELECT"
        )
    secrets = tuple(secret_of(job, cell_axis(cells, name), cells.total) for name in job.sensitive)
    demands = Demands(max(job.k, 1), secrets)
    demands.check_whole(cells.total, cells.units, job.counts_persons)
    columns = piece_columns(job, source.target, options.cuts)
    of_cell = [column.pieces for column in columns]
    base = same_rows(np.column_stack(of_cell))
    compared = any(item.compares_with_table for item in job.value_requirements)  # without rows it would be another one
    allowed = 0 if compared else int((job.policy.suppress or 0) * cells.total)
    search = CutSearch(
        _read_pieces(job, of_cell, base, source.target), tuple(len(column.starts) for column in columns), demands,
        CutLimits(allowed, options.max_nodes, options.max_seconds), job.progress,
    )  # fmt: skip
    search.run()
    job.progress("labelling", 0, None)
    texts = _run_texts(columns, search)
    group, groups = search.groups(search.best, search.pieces)
    kept = search.classes_that_hold(group, groups)
    parts, labels = _parts(columns, texts, of_cell, kept[group][base], search)
    return CellPlan(
        parts=parts,
        labels=labels,
        steps=_steps(job, columns, search, parts),
        figures=_figures(job, columns, search, parts),
        risks=(OPTIMAL,),
        later_rows=PlannedRecoding(lambda: recode_pieces(columns, texts, labels)),
        value_labels=_value_labels(job, columns, texts),
    )


KOPTIMIZE = Method(
    "koptimize", ROWS, KOptimizeOptions, OF_COUNTS,
    needs_target=True, leaves_rows_out=True, labels_new_rows=True, runs_live=True, in_advice=False,
    plan_cells=plan_koptimize,
)  # fmt: skip


def _read_pieces(job: CellJob, of_cell: Sequence[Ints], base: Ints, target: str) -> FinestPieces:
    """Cells that are in the same piece of every column, together."""
    cells, entries = job.cells, int(base.max()) + 1
    codes = np.zeros((len(of_cell), entries), dtype=np.int64)
    for place, pieces in enumerate(of_cell):
        codes[place, base] = pieces
    classes = np.zeros((entries, cells[target].size), dtype=np.int64)
    np.add.at(classes, (base, cells[target].codes), cells.rows)
    units = np.bincount(base, weights=cells.counted).astype(np.int64)
    places = np.arange(len(cells))
    histograms = tuple(
        merge_histogram(Histogram(places, cells[name].codes.astype(np.int64), cells.rows, cells[name].size), base)
        for name in job.sensitive
    )
    return FinestPieces(codes, classes, units, histograms)


# -- what is published -------------------------------------------------------------------------------------


def _run_texts(columns: Sequence[PieceColumn], search: CutSearch) -> list[list[str | None]]:
    """Per column and piece its label."""
    suppressed = marker([column.axis for column in columns])
    found = []
    for place, column in enumerate(columns):
        chosen = sorted(piece for here, piece in search.best if here == place)
        labels = column.labels(chosen, suppressed)
        run = np.searchsorted([0, *chosen], np.arange(len(column.starts)), side="right") - 1
        found.append([labels[number] for number in run.tolist()])
    return found


def _parts(
    columns: Sequence[PieceColumn],
    texts: Sequence[Sequence[str | None]],
    of_cell: Sequence[Ints],
    kept: np.typing.NDArray[np.bool_],
    search: CutSearch,
) -> tuple[Parts, dict[str, list[str | None]]]:
    """The class of every cell, and what it prints."""
    numbers, distinct = [], []
    for labels, pieces in zip(texts, of_cell, strict=True):
        places = {label: place for place, label in enumerate(dict.fromkeys(labels))}
        numbers.append(np.array([places[label] for label in labels], dtype=np.int64)[pieces])
        distinct.append(list(places))
    inside = np.flatnonzero(kept)
    classes = same_rows(np.column_stack([number[inside] for number in numbers]))
    first = inside[np.unique(classes, return_index=True)[1]]
    part = np.full(len(kept), DROPPED)
    part[inside] = classes
    return Parts(part, len(first)), {
        column.name: [shown[place] for place in number[first].tolist()]
        for column, number, shown in zip(columns, numbers, distinct, strict=True)
    }


def _value_labels(
    job: CellJob, columns: Sequence[PieceColumn], texts: Sequence[Sequence[str | None]]
) -> dict[str, ValueLabels]:
    """What every value is published as, by the codes of the cells' columns, which an axis has in another order."""
    found = {}
    for column, labels in zip(columns, texts, strict=True):
        here = job.cells[column.name]
        of_code = np.zeros(here.size, dtype=np.int64)
        of_code[here.codes] = column.pieces
        whole = len(set(labels)) == 1
        found[column.name] = ValueLabels([labels[piece] for piece in of_code.tolist()], of_any_value=whole)
    return found


# -- what is said ------------------------------------------------------------------------------------------


def _cut_counts(columns: Sequence[PieceColumn], search: CutSearch) -> str:
    """How many labels every column has."""
    return ", ".join(
        f"{column.name} {1 + sum(here == place for here, _ in search.best)}" for place, column in enumerate(columns)
    )


def _steps(job: CellJob, columns: Sequence[PieceColumn], search: CutSearch, parts: Parts) -> tuple[str, ...]:
    cuts = sum(len(column.starts) - 1 for column in columns)
    proof = "no other set of cuts is better" if search.proved else "the search was stopped: a better set may exist"
    return (
        f"put the values of {many(len(columns), 'quasi-identifier')} in order and take the {many(cuts, 'cut')} that "
        f'gain most for "{job.source.target}"',
        f"search the sets of cuts for the least classification metric: {many(search.nodes, 'branch', 'branches')}, "
        f"{proof}",
        f"labels per column: {_cut_counts(columns, search)}; classification metric {int(search.best_cost):,} of "
        f"{job.cells.total:,} rows, {many(parts.dropped(job.cells.rows), 'row')} left out",
    )


def _figures(
    job: CellJob, columns: Sequence[PieceColumn], search: CutSearch, parts: Parts
) -> dict[str, int | Fraction | str]:
    inside = parts.part >= 0
    sizes = np.bincount(parts.part[inside], weights=job.cells.counted[inside], minlength=parts.classes)
    found: Mapping[str, int | Fraction | str] = {
        "classification metric": int(search.best_cost),
        "labels": _cut_counts(columns, search),
        "branches": search.nodes,
        "proved optimal": "yes" if search.proved else "no",
        "smallest class": int(sizes.min()),
        "largest class": int(sizes.max()),
    }
    return dict(found)
