"""kADET as a table: the rows that a k-anonymous tree was learned from, with what the tree tells of them and no more.

Friedman, Schuster, Wolff: k-Anonymous Decision Tree Induction (PKDD 2006), the closing idea: a table that is
equivalent to the model.  The tree is that of model.py; docs/methods/kadet.md is the claim sheet.

    public columns    what the answers of the row's span have in common (span_labels)
    the class         as it is
    private columns   as they are where the tree asks for them, or where something is required of them; else NULL

Working tables:

    ppdm_spanned      one row per source row: its span, and what is published unchanged
    ppdm_places       span -> class of the release
    ppdm_labels       class -> what is printed

Rows stay in the database; what Python sees are the spans that somebody has, and how many rows have each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from ppdm_sql.cells.apply import load_labels
from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.kadet import model
from ppdm_sql.methods.kadet.span_labels import span_labels, writers_of
from ppdm_sql.methods.plan import ENTITY, PART, LabelTable, ModelPlan, Private, ResidualRisk, TablePlan
from ppdm_sql.methods.shared.class_limits import demands_of, hidden_columns
from ppdm_sql.source.encode import canonical
from ppdm_sql.source.lines import Ints
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.statements.steps import Steps
from ppdm_sql.trees.audit import CLASS, SPAN, span_expression
from ppdm_sql.trees.expression import bind

_N = "ppdm_n"
PRIVATE_VALUES = ResidualRisk(
    "private values",
    "private columns that the tree uses are published unchanged, including rare values: anyone who knows such a "
    "value of a person finds the row",
)


def plan_kadet_table(job: Job) -> TablePlan:
    """The plan of a table equivalent to the tree; the working tables it reads stay until the session ends."""
    engine, source, private = job.engine, job.source, job.private
    learned = model.plan_kadet_model(job)
    demands = demands_of(job)
    shown = PublishedColumns.of(source, learned, hidden_columns(source, demands))
    job.progress("describing groups", 0, None)
    spanned = _store_spans(engine, source, learned, shown, private)
    writers, suppressed = writers_of(engine, source, learned.tree, learned.public, job.hierarchies, demands.k)
    spans, rows = _spans(engine, spanned)
    labels = span_labels(learned.tree, learned.public, [span for span, _ in spans], writers, suppressed)
    places, table, sizes = _load_labels(engine, learned.public, spans, labels, rows)
    return TablePlan(
        query=_query(engine, source, shown, private, spanned, places),
        labels=table,
        published=source.published,
        classes=len(sizes),
        rows=learned.rows,
        steps=_steps(learned, shown, len(sizes), suppressed),
        figures={
            **learned.figures,
            "smallest class": int(sizes.min()),
            "largest class": int(sizes.max()),
            "suppressed private columns": len(shown.suppressed),
        },
        risks=_risks(learned, shown),
    )


@dataclass(frozen=True)
class PublishedColumns:
    """What becomes of the columns that are not described by spans."""

    target: str
    kept: tuple[str, ...]  # private columns that leave as they are
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

    @property
    def copies(self) -> dict[str, str]:
        """Published column -> its copy in ppdm_spanned."""
        return {name: f"ppdm_p{number}" for number, name in enumerate((self.target, *self.kept, *self.suppressed))}

    def value(self, name: str) -> exp.Expr:
        """The column of the source, or NULL of its type."""
        plain = column(name, "r")
        return exp.Case(ifs=[exp.If(this=exp.false(), true=plain)]) if name in self.suppressed else plain


# -- the spans -------------------------------------------------------------------------------------------


def _store_spans(engine: Engine, source: Source, learned: ModelPlan, shown: PublishedColumns, private: Private) -> Name:
    """One pass over the source: every row with its span, with a public class."""
    steps = Steps("r")
    tree = bind(engine, learned.tree, source.relation)
    span = span_expression(engine, tree, set(learned.public), steps)
    group: exp.Expr = exp.Literal.string("")
    if learned.class_is_public:
        group = exp.cast(canonical(engine, source.info(shown.target), "r"), "TEXT")
    picked = [aliased(exp.cast(span, "TEXT"), SPAN), aliased(exp.cast(group, "TEXT"), CLASS)]
    picked += [aliased(shown.value(name), copy) for name, copy in shown.copies.items()]
    if source.entity is not None:
        picked.append(aliased(canonical(engine, source.info(source.entity), "r"), ENTITY))
    picked += [aliased(expression, name) for name, expression in private.columns.items()]
    query = steps.over(exp.Select(expressions=picked), source.relation.table())
    return engine.work.table("spanned", query, analyze=True)


def _spans(engine: Engine, spanned: Name) -> tuple[list[tuple[str, str]], Ints]:
    """The spans that somebody has, in the order of their texts, and their rows."""
    keys = [column(SPAN), column(CLASS)]
    query = exp.Select(expressions=[*keys, aliased(exp.Count(this=exp.Star()), _N)]).from_(spanned.table())
    found = sorted(engine.fetch(query.group_by(*(key.copy() for key in keys))))
    return [(span, group) for span, group, _ in found], np.array([rows for *_, rows in found], dtype=np.int64)


def _load_labels(
    engine: Engine,
    public: Sequence[str],
    spans: Sequence[tuple[str, str]],
    labels: Sequence[tuple[str, ...]],
    rows: Ints,
) -> tuple[Name, LabelTable, Ints]:
    """Spans that print the same are one class: loads the class of every span, and what every class prints.

    Gives the rows of the classes, too.
    """
    import pyarrow as pa

    shown = [(*printed, group) for printed, (_, group) in zip(labels, spans, strict=True)]
    numbers = {one: number for number, one in enumerate(dict.fromkeys(shown))}
    part = np.array([numbers[one] for one in shown], dtype=np.int64)
    columns = {SPAN: pa.array([span for span, _ in spans], pa.string())}
    columns |= {CLASS: pa.array([group for _, group in spans], pa.string()), PART: pa.array(part, pa.int64())}
    places = engine.work.load("places", columns, analyze=True)
    printed = {name: [one[number] for one in numbers] for number, name in enumerate(public)}
    table = LabelTable(*load_labels(engine, printed, len(numbers)))
    return places, table, np.bincount(part, weights=rows).astype(np.int64)


# -- the plan --------------------------------------------------------------------------------------------


def _query(
    engine: Engine,
    source: Source,
    shown: PublishedColumns,
    private: Private,
    spanned: Name,
    places: Name,
) -> exp.Select:
    """The rows with their classes, one join; nobody is lost or changed."""
    told: dict[str, exp.Expr] = {}
    for name, copy in shown.copies.items():  # as plain text where the type would list values that do not leave
        plain = column(copy, "s")
        told[name] = engine.exact_text(plain) if source.info(name).kind is Kind.TEXT else plain
    beside = [*([ENTITY] if source.entity is not None else []), *private.columns]
    query = exp.Select(expressions=[aliased(told[name], name) for name in source.published if name in told])
    query = query.select(aliased(column(PART, "l"), PART), *(aliased(column(name, "s"), name) for name in beside))
    same = [exp.EQ(this=column(name, "l"), expression=column(name, "s")) for name in (SPAN, CLASS)]
    return query.from_(spanned.table("s")).join(places.table("l"), on=exp.and_(*same))


def _risks(learned: ModelPlan, shown: PublishedColumns) -> tuple[ResidualRisk, ...]:
    """Those of the tree; which private values it names makes no difference where the column leaves as it is."""
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
