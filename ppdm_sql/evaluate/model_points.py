"""A point of a grid whose release is a model: judged by the groups an attacker can form with it, tested on raw rows.

A model is learned from the training rows as it would be published from them, and asked for the class of the others.
It has no cells, so that nothing is suppressed or lost in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from ppdm_sql.checks.risk import Risk, risk
from ppdm_sql.checks.size import Sizes
from ppdm_sql.engines.base import Engine
from ppdm_sql.evaluate.bench import EvaluationBench
from ppdm_sql.evaluate.grid import Point
from ppdm_sql.evaluate.learners import Score, score_of_tree
from ppdm_sql.methods import registry
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.plan import ENTITY, PART, ModelPlan
from ppdm_sql.planning.measure_model import measure_model
from ppdm_sql.planning.request import ModelRequest
from ppdm_sql.planning.staging import STAGE, private_columns
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.verify.relation import Judgement
from ppdm_sql.watching import silent


@dataclass(frozen=True)
class JudgedModel:
    plan: ModelPlan
    judgement: Judgement
    risk: Risk


def planned_model(bench: EvaluationBench, point: Point, source: Source) -> ModelPlan:
    """What the statement would learn from these rows."""
    method = registry.model_method(point.algorithm, point.statement.place)
    hierarchies = point.hierarchies_of(bench.hierarchies, source)
    return method(Job(bench.engine, source, point.statement.policy, hierarchies))


def judged_model(bench: EvaluationBench, point: Point) -> JudgedModel:
    """The model of all rows, its groups measured as for a publication."""
    engine, statement = bench.engine, point.statement
    plan = planned_model(bench, point, bench.whole)
    private = private_columns(engine, bench.whole, "")
    request = ModelRequest(
        "", "", statement, bench.whole, bench.hierarchies, plan, engine.name(statement.name), None, private
    )
    judgement = measure_model(engine, request, silent).judgement
    return JudgedModel(plan, judgement, risk_of_parts(engine, STAGE, persons=bench.whole.entity is not None))


def model_scores(bench: EvaluationBench, point: Point) -> Iterator[Score]:
    """What the model of the training rows says of the others."""
    target = str(bench.opened.source.target)
    known = exp.Not(this=exp.Is(this=column(target), expression=exp.Null()))
    names = {name: name for name in bench.opened.source.columns}
    for fold in bench.folds:
        plan = planned_model(bench, point, fold.train)
        bench.keep(fold.test, bench.asked, names, known.copy())
        yield score_of_tree(bench.engine, plan.tree, bench.asked)


def risk_of_parts(engine: Engine, staged: Name, *, persons: bool) -> Risk:
    """By the classes of a plan, in persons where the policy names them."""
    rows: exp.Expr = exp.Count(this=exp.Star())
    units = exp.Count(this=exp.Distinct(expressions=[column(ENTITY)])) if persons else rows.copy()
    classes = exp.Select(expressions=[aliased(rows, "ppdm_size"), aliased(units, "ppdm_persons")])
    classes = classes.from_(staged.table()).group_by(column(PART))
    by = [column("ppdm_size", "c"), column("ppdm_persons", "c")]
    counted = exp.Select(expressions=[*by, aliased(exp.Count(this=exp.Star()), "ppdm_classes")])
    found = engine.arrays(counted.from_(classes.subquery("c")).group_by(*(one.copy() for one in by)))
    return risk(Sizes(*(found[name].astype(np.int64) for name in ("ppdm_size", "ppdm_persons", "ppdm_classes"))))
