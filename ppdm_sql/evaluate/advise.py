"""Which method and which k for a table: a bounded grid on a sample, the best of it on all rows, and one statement.

    the grid        every method for rows that fits this table, with the policy's k, twice and five times that
    the short list  at most three points that no other one beats in accuracy, loss and risk, one per method first
    the advice      of the points whose accuracy is within one standard error of the best, the one with the least loss;
                    of those that can be published together with what is out from the same tables (current_releases.py)

A policy's own requirements are the least that is tried: nothing weaker is ever advised.  On a sample the same k is
harder to reach than on all rows, so that a sample misleads about figures and less about their order; the figures that
are shown are those of all rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ppdm_sql.catalog.evaluations import Evaluation, EvaluationPoint
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import RequirementBreached
from ppdm_sql.evaluate import folds
from ppdm_sql.evaluate.bench import EvaluationBench, Opened, chosen_learner, open_table
from ppdm_sql.evaluate.current_releases import CurrentReleases, current_releases_of, publishable
from ppdm_sql.evaluate.grid import Point, points_of
from ppdm_sql.evaluate.points import measure_point
from ppdm_sql.evaluate.protocol import Protocol, read_protocol
from ppdm_sql.evaluate.run import EvaluationRequest, GridProgress, Watcher, evaluate, watch_nothing
from ppdm_sql.methods import registry
from ppdm_sql.planning import residual_risks
from ppdm_sql.policy.policy import Publish
from ppdm_sql.requirements import KAnonymity
from ppdm_sql.statements.names import column
from ppdm_sql.watching import silent

SAMPLE = 20_000
SHORT_LIST = 3
_FACTORS = (1, 2, 5)  # of the policy's k
_R_SQUARED_STEP = 0.01  # R squared has no simple standard error: a hundredth is taken for the same


@dataclass(frozen=True)
class Advice:
    """What to publish, and what it was chosen from."""

    best: EvaluationPoint
    reason: str
    front: tuple[EvaluationPoint, ...]  # of what was measured on all rows
    evaluation: Evaluation  # on all rows
    tried: tuple[EvaluationPoint, ...]  # on the sample; empty where the table is small enough to try all on it
    sampled: int | None
    others: CurrentReleases | None = None  # None where nothing else is out from the same tables


def advise(
    engine: Engine,
    statement: Publish,
    *,
    sample: int = SAMPLE,
    learner: str | None = None,
    seed: int | None = None,
    watch: Watcher = watch_nothing,
    show_values: bool = False,
) -> Advice:
    """Tries what fits the table, and says what to publish."""
    engine.check_writable()
    opened = open_table(engine, statement, show_values=show_values)
    # What a publication would refuse whatever the algorithm is said before anything is tried.
    risks = (*residual_risks.derived_columns(opened.source), *residual_risks.undeclared(engine, opened.source))
    residual_risks.refuse_unaccepted(statement.policy, risks)
    chosen = chosen_learner(engine, opened, learner)
    protocol, drawn = read_protocol("holdout"), statement.policy.seed if seed is None else seed
    points = candidates(opened, engine.dialect)
    small = _draw_sample(engine, opened, sample, drawn)
    tried: list[EvaluationPoint] = []
    if small is not None:
        tried = _try_points(EvaluationBench(engine, small, protocol, chosen, drawn), points, watch)
        positions = {point.position for point in short_list(tried, _tested_rows(small, protocol))}
        points = [point for point in points if point.position in positions]
    found = evaluate(engine, opened, _request_for(points, protocol, chosen, drawn), watch=watch)
    tested = _tested_rows(opened, protocol)
    best, others = the_best(found.points, tested, [*found.points, *tried]), None  # refused where there is none
    out = current_releases_of(engine, statement, opened.source)
    if out:
        watch(GridProgress("together with current releases", len(points), len(points), None))
        best, others = publishable(engine, statement, out, found.points, lambda left: _preferred_point(left, tested))
    left = _without(found, others)
    return Advice(
        best=best,
        reason=reason_of(best, left, tested),
        front=pareto_front(left.points),
        evaluation=found,
        tried=tuple(tried),
        sampled=None if small is None else small.rows,
        others=others,
    )


def _without(found: Evaluation, others: CurrentReleases | None) -> Evaluation:
    """What the advice was chosen from."""
    gone = {point.position for point in others.left_out} if others is not None else set()
    return replace(found, points=tuple(point for point in found.points if point.position not in gone))


# -- what is tried -----------------------------------------------------------------------------------------


def candidates(opened: Opened, dialect: str) -> list[Point]:
    """Every quick method for rows, with the policy's k and larger ones; one that makes models shows a model's rows."""
    statement = opened.statement
    known = {name: registry.method_named(name) for name in registry.table_methods()}
    alone = [name for name, method in known.items() if method.plan_model is None and method.in_advice]
    methods = [name for name in alone if opened.source.target is not None or not known[name].needs_target]
    least = statement.policy.k or 5
    asked = [KAnonymity(least * factor) for factor in _FACTORS]
    fitting = [one for one in asked if one.k * 2 <= opened.rows] or asked[:1]
    publish = replace(statement, kind="TABLE" if statement.kind == "MODEL" else statement.kind)
    return points_of(publish, methods, {KAnonymity.word: tuple(fitting)}, dialect)


def _draw_sample(engine: Engine, opened: Opened, sample: int, seed: int) -> Opened | None:
    """About so many rows of the source; None where it has hardly more."""
    parts = opened.rows // max(sample, 1)
    if parts < 2:
        return None
    source = opened.source
    by = [source.entity] if source.entity is not None else []
    dealt = engine.work.name("sample_dealt")
    folds.deal(engine, source.relation, dealt, parts=parts, seed=seed, by=by)
    first = exp.EQ(this=column(folds.FOLD), expression=exp.Literal.number(0))
    query = exp.Select(expressions=[column(name) for name in source.columns]).from_(dealt.table()).where(first)
    sampled = engine.work.table("sample", query, analyze=True)
    engine.work.drop(dealt)
    count = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(sampled.table())
    return replace(opened, source=replace(source, relation=sampled), rows=int(engine.fetch_one(count)[0]))


def _try_points(bench: EvaluationBench, points: Sequence[Point], watch: Watcher) -> list[EvaluationPoint]:
    """The grid on the sample; its figures are not kept."""
    made: list[EvaluationPoint] = []
    try:
        with bench.engine.workspace(bench.unchanging):
            bench.deal(silent)
            for point in points:
                doing = f"on {bench.opened.rows:,} rows: {point.algorithm}, {', '.join(point.requirements)}"
                left = sum(one.seconds for one in made) / len(made) * (len(points) - len(made)) if made else None
                watch(GridProgress(doing, len(made), len(points), left))
                with bench.engine.workspace():
                    made.append(measure_point(bench, point))
    finally:
        bench.clear()
        bench.engine.work.drop(bench.opened.source.relation)
    return made


def _request_for(points: Sequence[Point], protocol: Protocol, learner: str | None, seed: int) -> EvaluationRequest:
    values = dict.fromkeys(str(KAnonymity(point.k)) for point in points if point.k is not None)
    methods = tuple(dict.fromkeys(point.algorithm for point in points))
    return EvaluationRequest(tuple(points), methods, {KAnonymity.word: list(values)}, protocol, learner, seed)


def _tested_rows(opened: Opened, protocol: Protocol) -> int:
    return max(opened.rows // protocol.parts, 1)


# -- what is chosen ----------------------------------------------------------------------------------------


def usable(points: Sequence[EvaluationPoint]) -> list[EvaluationPoint]:
    """Those that can be published."""
    return [point for point in points if point.status == "measured" and point.holds]


def pareto_front(points: Sequence[EvaluationPoint]) -> tuple[EvaluationPoint, ...]:
    """The points that no other one beats: at least as good in score, loss and risk, and better in one of them."""
    found = usable(points)
    return tuple(one for one in found if not any(_beats(other, one) for other in found))


def _beats(one: EvaluationPoint, other: EvaluationPoint) -> bool:
    mine, theirs = _goods(one), _goods(other)
    return mine != theirs and all(a >= b for a, b in zip(mine, theirs, strict=True))


def _goods(point: EvaluationPoint) -> tuple[float, float, float]:
    """More is better; what was not measured counts as the worst."""
    return (
        -math.inf if point.score is None else point.score,
        -math.inf if point.loss is None else -point.loss,
        -math.inf if point.risk is None else -point.risk,
    )


def near_best(points: Sequence[EvaluationPoint], tested: int) -> list[EvaluationPoint]:
    """The points whose score is within one standard error of the best; all of them where none has a score."""
    found = usable(points)
    scores = [point.score for point in found if point.score is not None]
    if not scores:
        return found
    least = max(scores) - tolerance(max(scores), tested, is_share=any(point.accuracy is not None for point in found))
    return [point for point in found if point.score is not None and point.score >= least]


def tolerance(best: float, tested: int, *, is_share: bool) -> float:
    """One standard error of a share that was counted in so many rows."""
    return math.sqrt(max(best * (1 - best), 0) / tested) if is_share else _R_SQUARED_STEP


def _preferred_point(points: Sequence[EvaluationPoint], tested: int) -> EvaluationPoint | None:
    """Of those near the best the one with the least loss, then the least risk, then the first."""
    order = sorted(near_best(points, tested), key=lambda one: (-_goods(one)[1], -_goods(one)[2], one.position))
    return order[0] if order else None


def short_list(points: Sequence[EvaluationPoint], tested: int, most: int = SHORT_LIST) -> list[EvaluationPoint]:
    """The preferred point, then that of every other method, then the rest of the front."""
    first = _preferred_point(points, tested)
    if first is None:
        return _least_refused(points)
    front = pareto_front(points)
    others = [name for name in dict.fromkeys(point.algorithm for point in front) if name != first.algorithm]
    by_method = [_preferred_point([point for point in front if point.algorithm == name], tested) for name in others]
    ranked = sorted((one for one in by_method if one is not None), key=lambda one: [-part for part in _goods(one)])
    listed = {one.position: one for one in (first, *ranked, *front)}
    return list(listed.values())[:most]


def _least_refused(points: Sequence[EvaluationPoint]) -> list[EvaluationPoint]:
    """Nothing can be published of a sample: what asks least may still be possible on all rows."""
    lowest = min((point.k or 0 for point in points), default=0)
    return [point for point in points if (point.k or 0) == lowest][:SHORT_LIST]


def the_best(points: Sequence[EvaluationPoint], tested: int, tried: Sequence[EvaluationPoint] = ()) -> EvaluationPoint:
    """What to publish; where nothing can be, why."""
    found = _preferred_point(points, tested)
    if found is None:
        why = dict.fromkeys(f"{one.algorithm}: {one.reason}" for one in (*points, *tried) if one.reason is not None)
        told = "; ".join(why) or "every combination tried breaks a requirement"
        raise RequirementBreached(f"no algorithm can publish this table as required: {told}")
    return found


def reason_of(best: EvaluationPoint, found: Evaluation, tested: int) -> str:
    """One sentence with the figures that decided."""
    who = f"{best.algorithm} with {best.requirements_text}"
    danger = "" if best.risk is None else f" and a worst-case risk of {100 * best.risk:.3g} %"
    lost = f"an information loss of {best.loss:.3f}" if best.loss is not None else "an unknown loss"
    if best.score is None:
        return f"{who} loses the least of all combinations tried: {lost}{danger}."
    top = max(point.score for point in usable(found.points) if point.score is not None)
    raw = found.baseline.score if found.baseline is not None else None
    share = best.accuracy is not None
    kept = f"{best.score:.2%} accuracy" if share else f"an R squared of {best.score:.3f}"
    form = "{:.2%}" if share else "{:.3f}"
    compared = [] if raw is None else [f"{form.format(raw)} from the raw data"]
    if share and found.majority_share is not None:
        compared.append(f"{found.majority_share:.2%} from the commonest class alone")
    if share and best.auc is not None:
        compared.append(f"AUC {best.auc:.3f}")
    shown = f" ({', '.join(compared)})" if compared else ""
    step = tolerance(top, tested, is_share=share)
    near = [one for one in usable(found.points) if one.score is not None and one.score >= top - step]
    rank = "the best" if best.score == top else f"within one standard error ({step:.2%}) of the best"
    if not share and best.score != top:
        rank = f"within {step:.2f} of the best"
    also = ", and the least loss of those near it," if len(near) > 1 else ","
    return f"{who} keeps {kept}{shown}, {rank}{also} with {lost}{danger}."
