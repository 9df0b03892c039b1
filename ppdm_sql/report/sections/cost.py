"""What the protection costs: how coarse the columns became, and what a learner keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup

from ppdm_sql.catalog.evaluations import Evaluation, EvaluationPoint
from ppdm_sql.catalog.manifest import UtilityRecord
from ppdm_sql.planning.utility import utility_warnings
from ppdm_sql.report import charts
from ppdm_sql.report.audience import Audience
from ppdm_sql.report.elements import Cell, Figure, ReportTable, Section, prose, table
from ppdm_sql.report.facts import Facts

_MOST_COLUMNS = 20  # that are drawn; the table has them all


# -- columns -----------------------------------------------------------------------------------------------


def column_loss(facts: Facts, audience: Audience) -> Section | None:
    """How coarse each quasi-identifier became, as it was measured when the release was published."""
    found = facts.manifest.utility
    if found is None or not found.columns or not facts.intact:
        return None
    lost = [(one.column, float(one.loss)) for one in found.columns]
    told = table("What each column lost", *_loss_rows(found, audience))
    drawn = sorted(lost, key=lambda item: -item[1])[:_MOST_COLUMNS]
    bars = [
        {"group": name, "kind": "lost", "value": charts.percent_value(share, audience.public)}
        for name, (_, share) in zip(charts.labels([name for name, _ in drawn]), drawn, strict=True)
    ]
    described = "; ".join(f"{name}: {audience.percent(share)}" for name, share in drawn)
    picture = charts.lying_bars("loss", "What each column lost", described, bars, along="lost in %", most=100)
    weighed = ", each column by its weight" if any(one.weight != "1" for one in found.columns) else ""
    words = (
        "0 % means that every value is unchanged, 100 % that every value is suppressed. A range or a group counts by "
        "the share of the column's other values that it leaves open. Over all quasi-identifiers "
        f"{audience.percent(float(found.loss))} were lost{weighed}."
    )
    warned = [] if audience.public else utility_warnings(found, facts.manifest.rows, facts.manifest.classes)
    return Section(
        "loss",
        "What the columns lost",
        (prose(words), *(prose("{text}", text=text) for text in warned)),
        (Figure("Information lost by column", picture, told),),
    )


def _loss_rows(found: UtilityRecord, audience: Audience) -> tuple[list[str], list[list[Cell | str]], list[int]]:
    """Head, rows and numeric columns; counts of rows stay inside."""
    head = ["column", "lost", *([] if audience.public else ["suppressed rows", "different labels", "weight"])]
    rows: list[list[Cell | str]] = []
    for one in found.columns:
        share: list[Cell | str] = [Cell(one.column), audience.percent(float(one.loss))]
        figures = (one.suppressed_rows, one.labels)
        rows.append([*share, *([] if audience.public else [*(f"{figure:,}" for figure in figures), one.weight])])
    return head, rows, list(range(1, len(head)))


# -- accuracy against k ------------------------------------------------------------------------------------


def trade_off(facts: Facts, audience: Audience) -> Section | None:
    """What a learner keeps under each requirement that was tried."""
    if not facts.kind.describes_people:
        return None
    found, title = facts.evaluation, "What the protection costs a learner"
    if found is None or not found.points:
        return Section("evaluation", title, (prose(_NO_EVALUATION),)) if not audience.public else None
    scored = [point for point in found.points if point.score is not None and point.k is not None]
    what = "accuracy" if any(point.accuracy is not None for point in scored) else "R squared"
    told = _points_table(facts, found, audience, what)
    words = prose(
        "Measured on the source on {day} ({protocol}{learner}), on test rows that the learner had not seen.",
        day=f"{found.started_at:%Y-%m-%d}",
        protocol=found.protocol,
        learner=f", {found.learner}" if found.learner else "",
    )
    if not scored:
        return Section("evaluation", title, (words,), tables=(told,))
    drawn = _curves(facts, found, scored, what)
    caption = f"{what.capitalize()} against k; the ring is this release, the dashed line is the raw data"
    if found.majority_share is not None:
        caption += ", the dotted line is what the commonest class alone gives"
    return Section("evaluation", title, (words,), (Figure(caption, drawn, told),))


_NO_EVALUATION = (
    "This release has not been evaluated yet. <code>ppdm evaluate policy.sql --grid k=5,10,50</code> measures "
    "how accurate a learner is for several k, and this section then shows where the release stands."
)


def is_chosen(facts: Facts, point: EvaluationPoint) -> bool:
    same = set(point.requirements) == set(map(str, facts.record.requirements))
    return point.algorithm == facts.record.algorithm and same


def _curves(facts: Facts, found: Evaluation, scored: Sequence[EvaluationPoint], what: str) -> Markup:
    scale = 100 if what == "accuracy" else 1
    names = _curve_names(scored)
    dots = [_dot(point, scale, names) for point in sorted(scored, key=lambda point: point.k or 0)]
    level, floor = (None if one is None else one.score for one in (found.baseline, found.majority))
    here = [_dot(point, scale, names) for point in scored if is_chosen(facts, point)]
    return charts.curves(
        "tradeoff", f"{what.capitalize()} against k",
        "; ".join(f"{dot['kind']}, k = {dot['x']}: {dot['y']:.4g}" for dot in dots),
        dots, up="accuracy in %" if what == "accuracy" else what,
        level=None if level is None else level * scale, floor=None if floor is None else floor * scale, chosen=here,
    )  # fmt: skip


def _curve_names(points: Sequence[EvaluationPoint]) -> dict[int, str]:
    """By position: the method, and what else was asked besides k where that differs."""
    beside = {point.position: [item for item in point.requirements if not item.startswith("k = ")] for point in points}
    differ = len({tuple(asked) for asked in beside.values()}) > 1
    told = [", ".join([str(point.algorithm), *(beside[point.position] if differ else [])]) for point in points]
    unique = dict(zip(dict.fromkeys(told), charts.labels(list(dict.fromkeys(told))), strict=True))
    return {point.position: unique[name] for point, name in zip(points, told, strict=True)}


def _dot(point: EvaluationPoint, scale: int, names: Mapping[int, str]) -> dict[str, object]:
    return {"x": point.k, "y": round(scale * float(point.score or 0), 3), "kind": names[point.position]}


def _points_table(facts: Facts, found: Evaluation, audience: Audience, what: str) -> ReportTable:
    def cells(point: EvaluationPoint, name: Cell) -> tuple[Cell | str, ...]:
        loss = "–" if point.loss is None else f"{100 * point.loss:.3g} %"
        area = () if not learned else ("–" if point.auc is None else f"{point.auc:.3f}",)
        return name, _score(point, what), *area, loss, "–" if point.risk is None else audience.worst(point.risk)

    learned = any(point.auc is not None for point in (*found.references, *found.points))
    rows = [cells(point, Cell(point.algorithm or "raw data")) for point in found.references]
    for point in found.points:
        note = ", ".join(_notes(facts, point, audience))
        rows.append(cells(point, Cell(f"{point.algorithm}: {point.requirements_text}", note)))
    head = ("method", what, *(("AUC",) if learned else ()), "information lost", "worst risk")
    return table("What was tried", head, rows, list(range(1, len(head))))


def _notes(facts: Facts, point: EvaluationPoint, audience: Audience) -> Iterator[str]:
    if is_chosen(facts, point):
        yield "this release"
    if point.tested:
        yield _TESTED.get(point.tested, point.tested)
    if point.status == "refused":
        yield "refused" if audience.public else f"refused: {point.reason}"


_TESTED = {
    "recoded": "tested on rows that were not published, recoded by the rules of the release",
    "relabelled": "tested on rows that were not published, with the narrowest label that covers each value",
    "model": "the model itself, tested on rows that were not published",
}


def _score(point: EvaluationPoint, what: str) -> str:
    if point.score is None:
        return "–"
    return f"{100 * point.score:.1f} %" if what == "accuracy" else f"{point.score:.3f}"
