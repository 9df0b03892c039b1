"""One point of a grid: the release as it would be, judged and measured, and what a learner makes of it.

A learner is always tested on rows that nobody published, and whose targets neither the method nor the learner has seen:
the training rows are released alone, the learner sees that release, and the other rows get its labels.

    recoded      by the rules of the release (TablePlan.recoding): what they make of a row that they have not seen
    relabelled   for a method without such rules: each value becomes the narrowest label that covers it (relabel.py)
    model        a model learned from the training rows, as it would be published, tested on raw rows (model_points.py);
                 also for a table that shows what a model reveals (kadet): what can be learned from it is that model

Nothing is published and no release is recorded.  The rows stay in the database.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from ppdm_sql.catalog.evaluations import MAJORITY, EvaluationPoint
from ppdm_sql.checks.risk import Risk
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import EngineError, PpdmError
from ppdm_sql.evaluate.bench import EvaluationBench, Fold
from ppdm_sql.evaluate.grid import Point
from ppdm_sql.evaluate.learners import REGRESSION, Score, majority_score
from ppdm_sql.evaluate.loss import Loss, loss_of
from ppdm_sql.evaluate.model_points import judged_model, model_scores, risk_of_parts
from ppdm_sql.evaluate.recode import recode_rows
from ppdm_sql.evaluate.relabel import relabel_rows
from ppdm_sql.evaluate.risk import risk_of
from ppdm_sql.evaluate.workload import QueryError, answered_share, errors_of, mean_error
from ppdm_sql.methods import registry
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.plan import ENTITY, Private, ResidualRisk, TablePlan
from ppdm_sql.methods.recoding import Recoding
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

RAW, RECODED, RELABELLED, MODEL = "raw", "recoded", "relabelled", "model"


# -- the raw data -----------------------------------------------------------------------------------------


def baseline(bench: EvaluationBench) -> EvaluationPoint:
    """What the same learner makes of the rows themselves, and how risky they are."""
    started = time.monotonic()
    source = bench.opened.source
    found = risk_of(bench.engine, source.quasi, bench.whole.relation)
    scores = [bench.score(fold.train.relation, fold.test, fold) for fold in bench.folds] if bench.learner else []
    point = EvaluationPoint(0, "baseline", None, (), 0.0, rows=bench.opened.rows, **_risk_figures(found))
    scored = replace(point, **_score_figures(scores), tested=RAW if scores else None)
    return replace(scored, seconds=time.monotonic() - started)


def majority(bench: EvaluationBench, position: int) -> EvaluationPoint | None:
    """The accuracy in the same folds of always saying the commonest class of the training rows.

    None where nothing is learned, or a number is predicted: the mean alone has an R squared of 0.
    """
    if bench.learner is None or bench.learner == REGRESSION:
        return None
    started = time.monotonic()
    target = str(bench.opened.source.target)
    scores = [majority_score(bench.engine, fold.train.relation, fold.test, target) for fold in bench.folds]
    point = EvaluationPoint(position, "baseline", MAJORITY, (), 0.0, rows=bench.opened.rows, tested=RAW)
    return replace(point, **_score_figures(scores), seconds=time.monotonic() - started)


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
    released = _make_release(bench, point, bench.whole, Private(), bench.released)
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
    return _with_scores(bench, point, found)


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
    return _with_scores(bench, point, found)


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


def _with_scores(bench: EvaluationBench, point: Point, found: EvaluationPoint) -> EvaluationPoint:
    """What a learner makes of it; that it makes nothing of it (the training rows are too few) is no refusal."""
    if bench.learner is None:
        return found
    try:
        if point.method.plan_model is not None:
            return replace(found, tested=MODEL, **_score_figures(list(model_scores(bench, point))))
        tested = list(_tested_outside(bench, point))
    except EngineError:
        raise
    except PpdmError as error:
        return replace(found, reason=f"accuracy was not measured: {error}")
    return replace(found, tested=tested[0][1], **_score_figures([score for score, _ in tested]))


def _tested_outside(bench: EvaluationBench, point: Point) -> Iterator[tuple[Score, str]]:
    """Per fold the score of what a release of its training rows alone teaches, and how test rows were recoded."""
    names = [*bench.opened.attributes, str(bench.opened.source.target)]
    for fold in bench.folds:
        made = _make_release(bench, point, fold.train, bench.mark_of(fold), bench.learned)
        recoding = made.plan.recoding
        how = RELABELLED if recoding is None else RECODED

        def score(fold: Fold = fold, made: _Release = made, recoding: Recoding | None = recoding) -> Score:
            tell_test_rows(bench.engine, fold, made.table, recoding, made.hierarchies, bench.asked, names)
            return bench.score(bench.learned, bench.asked, fold)

        yield bench.once(bench.learned, names, how, fold.number, work=score), how


def tell_test_rows(
    engine: Engine,
    fold: Fold,
    released: Name,
    recoding: Recoding | None,
    hierarchies: Mapping[str, Hierarchy],
    into: Name,
    names: Sequence[str],
) -> None:
    """Stores the test rows with the labels of a release of the training rows: by its rules, or value by value."""
    if recoding is not None:
        test = replace(fold.train, relation=fold.test)
        recode_rows(engine, test, released, into, recoding=recoding, hierarchies=hierarchies)
    else:
        relabel_rows(engine, fold.test, released, into, columns=names, hierarchies=hierarchies)


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
