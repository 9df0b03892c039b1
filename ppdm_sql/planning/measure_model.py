"""What the judge finds in the groups that an attacker can form with a model among the rows of its source."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.catalog.store import sha256_of
from ppdm_sql.engines.base import Engine
from ppdm_sql.methods.plan import ENTITY, PART, ModelPlan, TablePlan
from ppdm_sql.planning import composition, joint, residual_risks
from ppdm_sql.planning.measure_table import sensitive_columns
from ppdm_sql.planning.request import ModelRequest
from ppdm_sql.planning.staging import STAGE, build_stage
from ppdm_sql.source.encode import canonical
from ppdm_sql.statements.names import aliased, column
from ppdm_sql.statements.steps import Steps
from ppdm_sql.trees.tree_json import tree_text, tree_to_dict
from ppdm_sql.verify.relation import Judgement, judge
from ppdm_sql.verify.spans import reached_nodes
from ppdm_sql.watching import Progress

_SPAN = "ppdm_span"


@dataclass(frozen=True)
class MeasuredModel:
    judgement: Judgement
    joint: tuple[joint.JointOutcome, ...]
    text: str  # the exchange file: what leaves

    @property
    def content_hash(self) -> str:
        return sha256_of(self.text)


def measure_model(engine: Engine, request: ModelRequest, progress: Progress) -> MeasuredModel:
    """Judges the groups that an attacker can form with the model file among the rows of the source."""
    build_stage(engine, stage_plan(engine, request), request.statement.policy.seed)
    return measure_stage(engine, request, progress)


def measure_stage(engine: Engine, request: ModelRequest, progress: Progress) -> MeasuredModel:
    progress("verifying", 0, None)
    source, policy = request.source, request.statement.policy
    sensitive = sensitive_columns(source, request.hierarchies)
    entity = ENTITY if source.entity is not None else None
    judgement = judge(engine, STAGE, quasi=[PART], sensitive=sensitive, requirements=policy.requirements, entity=entity)
    if source.entity is None:
        residual_risks.refuse_unaccepted(policy, residual_risks.few_persons(engine, policy, source, [PART]))
    outcomes = composition.judge_jointly(
        engine, policy, source, predicted_raw(request), name=request.name, former=request.former
    )
    return MeasuredModel(judgement, tuple(outcomes), tree_text(request.plan.tree, request.name.last))


def stage_plan(engine: Engine, request: ModelRequest) -> TablePlan:
    """Every source row with its group, its sensitive columns and its keys."""
    source, plan = request.source, request.plan
    steps = Steps("r")
    span = reached_nodes(engine, tree_to_dict(plan.tree), plan.public, steps)
    if plan.class_is_public and source.target is not None:
        told = exp.cast(canonical(engine, source.info(source.target), "r"), "TEXT")
        known = exp.Coalesce(this=told, expressions=[exp.Literal.string("")])
        span = exp.DPipe(
            this=exp.DPipe(this=exp.Paren(this=span), expression=exp.Literal.string("| ")), expression=known
        )
    picked: list[exp.Expr] = [aliased(span, _SPAN)]
    picked += [aliased(column(name, "r"), name) for name in source.sensitive]
    if source.entity is not None:
        picked.append(aliased(canonical(engine, source.info(source.entity), "r"), ENTITY))
    picked += [aliased(expression.copy(), name) for name, expression in request.private.columns.items()]
    inner = steps.over(exp.Select(expressions=picked), source.relation.table())
    number = exp.Window(
        this=exp.Anonymous(this="DENSE_RANK"), order=exp.Order(expressions=[exp.Ordered(this=column(_SPAN, "s"))])
    )
    kept = [column(item.alias, "s") for item in picked[1:]]
    query = exp.Select(expressions=[aliased(number, PART), *kept]).from_(inner.subquery("s"))
    return TablePlan(query, (), classes=0, rows=plan.rows)


def _private_attributes(plan: ModelPlan) -> list[str]:
    """The private attributes that the tree asks for."""
    used = (plan.tree.attributes[number].name for number in plan.tree.used_attributes())
    return [name for name in used if name not in plan.public]


def predicted_raw(request: ModelRequest) -> list[str]:
    """What the tree reveals unchanged: the private attributes that it asks for, and the class it gives."""
    target, plan = request.source.target, request.plan
    is_told = target is not None and not plan.class_is_public and target not in request.source.quasi
    return [*_private_attributes(plan), *([target] if target is not None and is_told else [])]
