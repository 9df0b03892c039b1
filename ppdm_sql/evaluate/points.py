"""One point of a grid: the release as it would be, judged and measured, and what a learner makes of it.

What a learner is tested on depends on what a method publishes:

    outside     the training rows are published alone, the learner sees only that, and is tested on rows nobody
                published, told in the words of the release: for methods whose values can be told of any row
    published   all rows are published together, the targets of the test rows withheld from the method; the learner
                sees the published rows of the training part and is tested on those of the other part: for methods
                that make regions in which a row outside has no place of its own (mondrian)
    seen        the same, but the method saw every target, because it is also what has to be protected: a figure that
                is too good
    model       a model learned from the training rows, as it would be published, tested on raw rows (model_points.py);
                also for a table that shows what a model tells (kadet): what can be learned from it is that model

Nothing is published and no release is recorded.  The rows stay in the database.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from ppdm_sql.catalog.evaluations import EvaluationPoint
from ppdm_sql.checks.risk import Risk
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import EngineError, PpdmError
from ppdm_sql.evaluate.bench import TRUTH, EvaluationBench, Fold
from ppdm_sql.evaluate.grid import Point
from ppdm_sql.evaluate.learners import Score
from ppdm_sql.evaluate.loss import Loss, loss_of
from ppdm_sql.evaluate.model_points import judged_model, model_scores, risk_of_parts
from ppdm_sql.evaluate.relabel import relabel_rows
from ppdm_sql.evaluate.risk import risk_of
from ppdm_sql.evaluate.workload import QueryError, answered_share, errors_of, mean_error
from ppdm_sql.methods import registry
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.plan import ENTITY, Private, ResidualRisk, TablePlan
from ppdm_sql.planning import residual_risks
from ppdm_sql.planning.measure_table import sensitive_columns
from ppdm_sql.policy.policy import Publish
from ppdm_sql.policy.render import render_statement
from ppdm_sql.requirements import About, requirements_about
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import Name
from ppdm_sql.verify.relation import Finding, judge
from ppdm_sql.verify.same_model import tree_differences

OUTSIDE, PUBLISHED, SEEN, MODEL = "outside", "published", "seen", "model"


def way_of_testing(bench: EvaluationBench, point: Point) -> str:
    """Which of the ways a method's release is tested."""
    if point.method.labels_new_rows:
        return OUTSIDE
    if point.method.plan_model is not None:
        return MODEL
    protected = bench.opened.source.target in bench.opened.source.sensitive
    return SEEN if point.statement.policy.value_requirements and protected else PUBLISHED


# -- the rows as they are ----------------------------------------------------------------------------------


def baseline(bench: EvaluationBench) -> EvaluationPoint:
    """What the same learner makes of the rows themselves, and how risky they are."""
    started = time.monotonic()
    source = bench.opened.source
    found = risk_of(bench.engine, source.quasi, bench.whole.relation)
    scores = [bench.score(fold.train.relation, fold.test, fold) for fold in bench.folds] if bench.learner else []
    point = EvaluationPoint(0, "baseline", None, (), 0.0, rows=bench.opened.rows, **_risk_figures(found))
    scored = replace(point, **_score_figures(scores), tested=OUTSIDE if scores else None)
    return replace(scored, seconds=time.monotonic() - started)


# -- one point ---------------------------------------------------------------------------------------------


def measure_point(bench: EvaluationBench, point: Point) -> EvaluationPoint:
    """Everything about one statement of the grid; one that cannot be published says why."""
    started = time.monotonic()
    head = EvaluationPoint(
        point.position, "measured", point.algorithm, point.requirements, 0.0, k=point.k, statement=point.statement.text
    )
    try:
        found = _model(bench, point, head) if point.statement.kind == "MODEL" else _figures(bench, point, head)
    except EngineError:
        raise
    except PpdmError as error:
        found = replace(head, status="refused", reason=str(error))
    return replace(found, seconds=time.monotonic() - started)


def _figures(bench: EvaluationBench, point: Point, head: EvaluationPoint) -> EvaluationPoint:
    engine, source = bench.engine, bench.opened.source
    how = way_of_testing(bench, point)
    private = bench.private if how == SEEN and bench.learner else Private()
    released = _make_release(bench, point, bench.whole, private, bench.released)
    statement = _accepting(released.statement, released.plan.risks, bench)
    findings = _verify_release(engine, released, bench.hierarchies)
    columns = [*source.published, *([ENTITY] if source.entity is not None else [])]

    def lost_and_risked() -> tuple[Loss, Risk]:
        lost = loss_of(engine, source, bench.whole.relation, bench.released, released.hierarchies)
        return lost, _risk(engine, source, bench.released)

    lost, danger = bench.once(bench.released, columns, "loss", point.keeps_hierarchies, work=lost_and_risked)
    utility = lost.utility(source.quasi).to_record(statement.policy.loss_limits)
    found = replace(
        head,
        statement=statement.text,
        holds=all(one.holds for one in findings) and utility.holds,
        **_loss_figures(lost),
        **_risk_figures(danger),
        **_workload_figures(bench),
    )
    return _with_scores(bench, point, found, how)


def _model(bench: EvaluationBench, point: Point, head: EvaluationPoint) -> EvaluationPoint:
    made = judged_model(bench, point)
    statement = _accepting(point.statement, made.plan.risks, bench)
    found = replace(
        head,
        statement=statement.text,
        holds=made.judgement.holds,
        rows=made.judgement.rows,
        classes=made.judgement.classes,
        **_risk_figures(made.risk),
    )
    return _with_scores(bench, point, found, MODEL)


@dataclass(frozen=True)
class _Release:
    """A plan whose rows stand in a working table."""

    statement: Publish
    source: Source
    plan: TablePlan
    table: Name
    hierarchies: Mapping[str, Hierarchy]


def _make_release(bench: EvaluationBench, point: Point, source: Source, private: Private, into: Name) -> _Release:
    """What the statement would publish of these rows."""
    statement = point.statement
    method = registry.table_method(point.algorithm, statement.place)
    hierarchies = point.hierarchies_of(bench.hierarchies, source)
    plan = method(Job(bench.engine, source, statement.policy, hierarchies, private))
    bench.engine.create_table(into, plan.wide(), temporary=True)
    bench.engine.analyze(into)
    return _Release(statement, source, plan, into, hierarchies)


def _accepting(statement: Publish, own_risks: Sequence[ResidualRisk], bench: EvaluationBench) -> Publish:
    """The statement without accepted risks its method does not have; refused where it has one not accepted."""
    policy = statement.policy
    known = {one.name for one in residual_risks.residual(policy, own_risks)}
    kept = tuple(name for name in policy.accepted_risks if name in known)
    if policy.algorithm != bench.opened.statement.policy.algorithm and kept != policy.accepted_risks:
        statement = replace(statement, policy=replace(policy, accepted_risks=kept))
        statement = replace(statement, text=render_statement(statement, bench.engine.dialect))
    residual_risks.check_accepted(statement.policy, own_risks)
    return statement


def _verify_release(engine: Engine, released: _Release, hierarchies: Mapping[str, Hierarchy]) -> list[Finding]:
    """What verify/ finds on the stored rows, as for a publication."""
    source, asked = released.source, released.statement.policy.requirements
    sensitive = sensitive_columns(source, hierarchies)
    judgement = judge(engine, released.table, quasi=source.quasi, sensitive=sensitive, requirements=asked)
    findings = list(judgement.findings)
    if source.entity is not None:
        by_person = requirements_about(asked, About.SIZE)
        again = judge(engine, released.table, quasi=source.quasi, sensitive=[], requirements=by_person, entity=ENTITY)
        findings = [*again.findings, *(one for one in findings if one.requirement.about is not About.SIZE)]
    different = tree_differences(engine, released.table, released.plan.patterns)
    if different:
        raise PpdmError(f"the released rows do not preserve the trees: {'; '.join(different)}")
    return findings


def _risk(engine: Engine, source: Source, released: Name) -> Risk:
    """By the classes of the plan, in persons where the policy names them."""
    if source.entity is None:
        return risk_of(engine, source.quasi, released)
    return risk_of_parts(engine, released, persons=True)


# -- learning ----------------------------------------------------------------------------------------------


def _with_scores(bench: EvaluationBench, point: Point, found: EvaluationPoint, how: str) -> EvaluationPoint:
    """What a learner makes of it; that it makes nothing of it (the training rows are too few) is no refusal."""
    if bench.learner is None:
        return found
    try:
        ways = {OUTSIDE: _scores_outside, PUBLISHED: _scores_published, SEEN: _scores_seen, MODEL: model_scores}
        scores = list(ways[how](bench, point))
    except EngineError:
        raise
    except PpdmError as error:
        return replace(found, reason=f"accuracy was not measured: {error}")
    return replace(found, tested=how, **_score_figures(scores))


def _scores_outside(bench: EvaluationBench, point: Point) -> Iterator[Score]:
    names = [*bench.opened.attributes, str(bench.opened.source.target)]
    for fold in bench.folds:
        made = _make_release(bench, point, fold.train, bench.with_targets(fold), bench.learned)

        def score(fold: Fold = fold, made: _Release = made) -> Score:
            relabel_rows(
                bench.engine, fold.test, bench.learned, bench.asked, columns=names, hierarchies=made.hierarchies
            )
            return bench.score(bench.learned, bench.asked, fold)

        yield bench.once(bench.learned, names, OUTSIDE, fold.number, work=score)


def _scores_published(bench: EvaluationBench, point: Point) -> Iterator[Score]:
    """A release of its own for every fold, made without the targets of the rows to test with."""
    for fold in bench.folds:
        made = _make_release(bench, point, bench.masked_source(fold), bench.withheld, bench.released)
        yield _score_divided(bench, fold, made.table, TRUTH)


def _scores_seen(bench: EvaluationBench, point: Point) -> Iterator[Score]:
    """The release itself: the marks are in it, and its own rows are divided."""
    for fold in bench.folds:
        yield _score_divided(bench, fold, bench.released, str(bench.opened.source.target))


def _score_divided(bench: EvaluationBench, fold: Fold, released: Name, truth: str) -> Score:
    """What is learned from the training part of a release, on its test part."""
    target = str(bench.opened.source.target)

    def score() -> Score:
        names = {name: name for name in bench.opened.attributes} | {target: truth}
        for table, condition in ((bench.learned, fold.training_filter), (bench.asked, fold.condition(test=True))):
            bench.keep(released, table, names, condition)
        return bench.score(bench.learned, bench.asked)

    columns = [*bench.opened.attributes, truth, fold.mark]
    return bench.once(released, columns, PUBLISHED, fold.number, work=score)


# -- figures -----------------------------------------------------------------------------------------------


def _score_figures(scores: Sequence[Score]) -> dict[str, Any]:
    """Means over the folds; a figure that some fold could not tell is left out."""
    if not scores:
        return {}
    explained = [one.r_squared for one in scores if one.r_squared is not None]
    if explained:
        return {"r_squared": float(statistics.fmean(explained)) if len(explained) == len(scores) else None}
    right = [float(one.accuracy) for one in scores]
    areas = [float(one.auc) for one in scores if one.auc is not None]
    return {
        "accuracy": statistics.fmean(right),
        "accuracy_spread": statistics.stdev(right) if len(right) > 1 else None,
        "auc": statistics.fmean(areas) if len(areas) == len(scores) else None,
        "folds": tuple(one.accuracy for one in scores),
    }


def _workload_figures(bench: EvaluationBench) -> dict[str, Any]:
    """How far the analysts' queries are off, asked of the published columns of the release and nothing else."""
    if not bench.queries:
        return {}
    names = {name: name for name in bench.opened.source.published}

    def ask() -> list[QueryError]:
        bench.keep(bench.released, bench.asked, names, exp.true())
        return errors_of(bench.engine, bench.queries, bench.asked)

    found = bench.once(bench.released, list(names), "workload", work=ask)
    return {"workload_error": float(mean_error(found)), "workload_answered": float(answered_share(found))}


def _loss_figures(lost: Loss) -> dict[str, Any]:
    return {
        "rows": lost.released_rows,
        "suppressed_rows": lost.suppressed_rows,
        "classes": lost.classes,
        "suppressed_cells": lost.suppressed_cells / lost.cells if lost.cells else 0.0,
        "information_loss": float(lost.information_loss),
        "discernibility": float(lost.discernibility),
        "classification_metric": None if lost.classification_metric is None else float(lost.classification_metric),
    }


def _risk_figures(found: Risk) -> dict[str, Any]:
    return {
        "risk_max": None if found.prosecutor_max is None else float(found.prosecutor_max),
        "risk_mean": found.prosecutor_mean,
    }
