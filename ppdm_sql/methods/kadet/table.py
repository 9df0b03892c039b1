"""kADET as a table: the rows that a k-anonymous tree was learned from, with what the tree reveals of them and no more.

Friedman, Schuster, Wolff: k-Anonymous Decision Tree Induction (PKDD 2006), the closing idea: a table that is
equivalent to the model.  The tree is that of model.py; docs/methods/kadet.md is the claim sheet.

    public columns    what the answers of the row's span have in common (span_labels)
    the class         as it is
    private columns   as they are where the tree asks for them, or where something is required of them; else NULL

Rows stay in the database; what is seen here are cells (cells/), and the spans that people have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ppdm_sql.cells.parts import Parts
from ppdm_sql.methods.base import CellJob
from ppdm_sql.methods.kadet import model
from ppdm_sql.methods.kadet.cell_spans import CellSpans, attacked_cells, cell_spans
from ppdm_sql.methods.kadet.model import Learned
from ppdm_sql.methods.kadet.span_labels import Write, span_labels, writers_of
from ppdm_sql.methods.kadet.tree_recoding import recode_kadet
from ppdm_sql.methods.plan import CellPlan, ModelPlan, PlannedRecoding, ResidualRisk
from ppdm_sql.methods.recoding import RecodingTree
from ppdm_sql.methods.shared.class_limits import hidden_columns
from ppdm_sql.methods.shared.columns import cell_axis
from ppdm_sql.policy.policy import CalendarLadder, IntervalLadder
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.lines import Ints
from ppdm_sql.source.relation import Source

_NULLED = "NULL in every row: kadet publishes a private column only if its tree uses it or something is required of it"
PRIVATE_VALUES = ResidualRisk(
    "private values",
    "private columns that the tree uses are published unchanged, including rare values: anyone who knows such a "
    "value of a person finds the row",
)


def plan_kadet_table(job: CellJob) -> CellPlan:
    """The plan of a table equivalent to the tree."""
    source, cells = job.source, job.cells
    learned = model.learn(job, cells, job.progress)
    demands = learned.demands
    job.progress("describing groups", 0, None)
    spans = cell_spans(learned)
    told = model.plan_of(learned, source, attacked_cells(learned, spans))
    shown = PublishedColumns.of(source, told, hidden_columns(source, demands))
    words = {name: one for name, one in job.hierarchies.items() if not _gives_ranges(source, name)}
    writers, suppressed = writers_of(cells, learned.tree, told.public, words, demands.k)
    labels = span_labels(learned.tree, told.public, spans.texts, writers, suppressed)
    part, printed = _classes(learned, spans, labels, source)
    sizes = np.bincount(part, weights=cells.rows).astype(np.int64)
    return CellPlan(
        parts=Parts(part, len(sizes)),
        labels=printed,
        typed=frozenset({shown.target} & set(printed)),
        nulled=frozenset(shown.suppressed),
        steps=_steps(told, shown, len(sizes), suppressed),
        figures={
            **told.figures,
            "smallest class": int(sizes.min()),
            "largest class": int(sizes.max()),
            "suppressed private columns": len(shown.suppressed),
        },
        risks=_risks(told, shown),
        notes=dict.fromkeys(shown.suppressed, _NULLED),
        later_rows=_later_rows(learned, told, writers, words, suppressed, shown),
    )


def _later_rows(
    learned: Learned,
    told: ModelPlan,
    writers: Mapping[str, Write],
    words: Mapping[str, Hierarchy],
    suppressed: str,
    shown: PublishedColumns,
) -> PlannedRecoding | None:
    """What becomes of other rows; a class that is a quasi-identifier is printed as it is, which no recoding says."""
    if learned.demands.class_is_public:
        return None

    def make() -> RecodingTree:
        cells = learned.table.cells
        found = recode_kadet(learned.tree, told.public, cells, writers, words, suppressed, learned.demands.k)
        return replace(found, nulled=tuple(sorted(shown.suppressed)))

    return PlannedRecoding(make)


@dataclass(frozen=True)
class PublishedColumns:
    """What becomes of the columns that are not described by spans."""

    target: str
    kept: tuple[str, ...]  # private columns that are published unchanged
    suppressed: tuple[str, ...]  # and those that leave as NULL

    @classmethod
    def of(cls, source: Source, learned: ModelPlan, required: Sequence[str]) -> PublishedColumns:
        """required: the columns that something is required of; every span keeps that, and the judge has to see it."""
        assert source.target is not None
        told = {*required, *(learned.tree.attributes[number].name for number in learned.tree.used_attributes())}
        private = [name for name in source.passed if name != source.target]
        return cls(
            source.target,
            tuple(name for name in private if name in told),
            tuple(name for name in private if name not in told),
        )


def _gives_ranges(source: Source, name: str) -> bool:
    return isinstance((source.hierarchies or {}).get(name), IntervalLadder | CalendarLadder)


def _classes(
    learned: Learned, spans: CellSpans, labels: Sequence[tuple[str, ...]], source: Source
) -> tuple[Ints, dict[str, list[str | None]]]:
    """Per cell its class, and what every class prints: spans that print the same are one; a public class parts them."""
    numbers = {one: number for number, one in enumerate(dict.fromkeys(labels))}
    part = np.array([numbers[one] for one in labels], dtype=np.int64)[spans.of_cell]
    printed: dict[str, list[str | None]] = {
        name: [one[number] for one in numbers] for number, name in enumerate(learned.public)
    }
    if not learned.demands.class_is_public:
        return part, printed
    assert source.target is not None
    axis = cell_axis(learned.table.cells, source.target)
    key, place = np.unique(part * axis.size + axis.cell_codes, return_inverse=True)
    of_class = (key // axis.size).tolist()
    printed = {name: [texts[number] for number in of_class] for name, texts in printed.items()}
    return place, {**printed, source.target: [axis.texts[code] for code in (key % axis.size).tolist()]}


def _risks(learned: ModelPlan, shown: PublishedColumns) -> tuple[ResidualRisk, ...]:
    """Those of the tree; which private values it names makes no difference where the column is published unchanged."""
    kept = [risk for risk in learned.risks if risk is not model.RARE_VALUES]
    return (*kept, *((PRIVATE_VALUES,) if shown.kept else ()))


def _steps(learned: ModelPlan, shown: PublishedColumns, classes: int, suppressed: str) -> tuple[str, ...]:
    listed = ", ".join(f'"{name}"' for name in shown.suppressed)
    return (
        *learned.steps,
        f"label every public column with what the answers of a row's span have in common, and {suppressed} if the "
        f"tree does not use it; {classes} classes",
        *([f"NULL in private columns that the tree does not use: {listed}"] if shown.suppressed else []),
    )
