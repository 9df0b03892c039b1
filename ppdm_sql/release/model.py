"""A model that leaves: judged by the groups it lets somebody form, recorded with its tree, or not published at all.

The way is that of a table (publish.py), with the tree in the place of the rows: the stage holds for every source
row the group it is in, its class and its keys; verify/ judges the stage; the ledger keeps who was in which group, so
that a second model or table from the same source is judged together with this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from ppdm_sql.catalog import ledger, migrate, models, releases
from ppdm_sql.catalog.models import ModelRecord
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.catalog.store import json_text, now, sha256_of
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError, Tampered
from ppdm_sql.methods.plan import ENTITY, PART, ModelPlan, Private, Risk, TablePlan
from ppdm_sql.policy.policy import Publish
from ppdm_sql.release import joint, manifest, out, publish, risks
from ppdm_sql.release.damage import DAMAGED
from ppdm_sql.release.stage import STAGE, build_stage, key_columns
from ppdm_sql.release.turn import publishing, refuse_vanished
from ppdm_sql.requirements import KAnonymity
from ppdm_sql.source.drift import check_drift
from ppdm_sql.source.encode import canonical
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import SCHEMA, Name, aliased, column
from ppdm_sql.statements.steps import Steps
from ppdm_sql.trees import stored
from ppdm_sql.trees.tree_json import read_tree, tree_text, tree_to_dict
from ppdm_sql.verify.relation import Judgement, judge
from ppdm_sql.verify.spans import reached_nodes
from ppdm_sql.watching import Progress

_SPAN = "ppdm_span"


@dataclass(frozen=True)
class ModelRequest:
    """A statement that asks for a model, with everything that was found out about it."""

    release_id: str
    run_id: str
    statement: Publish
    source: Source
    hierarchies: Mapping[str, Hierarchy]
    plan: ModelPlan
    name: Name
    former: ReleaseRecord | None
    private: Private

    @property
    def risks(self) -> tuple[Risk, ...]:
        return risks.residual(self.statement.policy, self.plan.risks)


def find_former(engine: Engine, statement: Publish) -> tuple[Name, ReleaseRecord | None]:
    """The name of the model and the release it would replace."""
    name = engine.name(statement.name)
    if name.schema is not None:
        raise PolicyError("a model's name has no schema: it is kept in the catalog")
    if engine.relation_kind(name) is not None:
        raise PolicyError(f'"{name}" is a table or view of this database: give the model another name')
    if not migrate.is_there(engine):
        return name, None
    former = releases.current(engine, name)
    taken = models.find(engine, name.last)
    if taken is not None and former is None:
        elsewhere = releases.of_model(engine, name.last)
        if elsewhere is not None:
            raise PolicyError(
                f'model "{name}" is a release that was published as "{elsewhere.name}": go to schema '
                f'"{elsewhere.schema_name}" to publish it anew, or choose another name'
            )
        raise PolicyError(f'there is a model "{name}" already that is no release: drop it, or choose another name')
    if former is not None and not statement.replace:
        raise PolicyError(f'release "{name}" is there already: CREATE OR REPLACE publishes it anew')
    return name, former


def publish_model(engine: Engine, request: ModelRequest, progress: Progress) -> ReleaseRecord:
    """Makes the model readable under its name, or raises and leaves everything as it was."""
    build_stage(engine, _stage_plan(engine, request))
    with publishing(engine):
        request = _with_former_of_now(engine, request)
        measured = _measure_stage(engine, request, progress)
        publish.refuse_breaches(str(request.name), measured.judgement, request.source)
        out.refuse_joint(str(request.name), request.statement.policy, measured.joint)
        out.refuse_superseding(engine, request.statement, request.source, request.former)
        _save(engine, request)
        engine.create_table(ledger.link_name(request.release_id), joint.link_query())
        record = _record(engine, request, measured)
        out.retire(engine, record, request.former, supersedes=request.statement.policy.supersedes)
    return record


def _with_former_of_now(engine: Engine, request: ModelRequest) -> ModelRequest:
    """Another session may have published, replaced or dropped this name since the request was made."""
    _, former = find_former(engine, request.statement)
    refuse_vanished(request.former, former)
    check_drift(former, request.source)
    return replace(request, former=former)


@dataclass(frozen=True)
class MeasuredModel:
    judgement: Judgement
    joint: tuple[joint.JointOutcome, ...]
    text: str  # the exchange file: what leaves

    @property
    def content_hash(self) -> str:
        return sha256_of(self.text)


def measure(engine: Engine, request: ModelRequest, progress: Progress) -> MeasuredModel:
    """Judges the groups that the model file lets somebody form among the rows of the source."""
    build_stage(engine, _stage_plan(engine, request))
    return _measure_stage(engine, request, progress)


def _measure_stage(engine: Engine, request: ModelRequest, progress: Progress) -> MeasuredModel:
    progress("verifying", 0, None)
    source, policy = request.source, request.statement.policy
    sensitive = publish.sensitive_columns(source, request.hierarchies)
    entity = ENTITY if source.entity is not None else None
    judgement = judge(engine, STAGE, quasi=[PART], sensitive=sensitive, requirements=policy.requirements, entity=entity)
    if source.entity is None:
        risks.refuse_unaccepted(policy, risks.few_persons(engine, policy, source, [PART]))
    outcomes = out.judge_jointly(engine, policy, source, _told(request), former=request.former)
    return MeasuredModel(judgement, tuple(outcomes), tree_text(request.plan.tree, request.name.last))


def _stage_plan(engine: Engine, request: ModelRequest) -> TablePlan:
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


# -- recording -------------------------------------------------------------------------------------------


def _save(engine: Engine, request: ModelRequest) -> None:
    plan = request.plan
    record = stored.record_of(
        request.name.last, plan.tree, rows=plan.rows, left_out=plan.left_out,
        rare=_k(request) or 1, source_query=request.statement.query,
    )  # fmt: skip
    models.save(engine, record, stored.rows_of(plan.tree), replace=request.former is not None)


def _k(request: ModelRequest) -> int | None:
    return next((item.k for item in request.statement.policy.requirements if isinstance(item, KAnonymity)), None)


def _record(engine: Engine, request: ModelRequest, measured: MeasuredModel) -> ReleaseRecord:
    policy, source, at = request.statement.policy, request.source, now()
    counted = TablePlan(exp.Select(), (), classes=0, rows=request.plan.rows, figures=_figures(request.plan))
    content = manifest.manifest(
        release_id=request.release_id,
        name=str(request.name),
        published_at=f"{at:%Y-%m-%dT%H:%M:%SZ}",
        engine=engine,
        source=source,
        policy=policy,
        plan=counted,
        judgement=measured.judgement,
        k_null_matches_all=None,
        content_hash=measured.content_hash,
        columns={},
        risks=(*request.risks, *out.risks_of(measured.joint)),
        joint=[outcome.as_json() for outcome in measured.joint],
    )
    record = ReleaseRecord(
        release_id=request.release_id,
        run_id=request.run_id,
        schema_name=None,
        relation_name=request.name.last,
        kind="MODEL",
        algorithm=policy.algorithm,
        options=manifest.plain(policy.options),
        seed=policy.seed,
        requirements=[str(requirement) for requirement in policy.requirements],
        roles=publish.roles_json(source, request.hierarchies, request.statement, _told(request)),
        source_query=request.statement.query,
        policy_text=request.statement.text,
        storage=None,
        key_columns=key_columns(source),
        k_promised=_k(request),
        rows=measured.judgement.rows,
        classes=measured.judgement.classes,
        suppressed_rows=0,
        content_hash=measured.content_hash,
        columns=[],
        manifest=content,
        manifest_sha256=sha256_of(json_text(content)),
        published_at=at,
        sources=source.tables,
    )
    releases.record(engine, record, checks=publish.check_rows(measured.judgement.findings))
    return record


def _asked(plan: ModelPlan) -> list[str]:
    """The private attributes that the tree asks for."""
    used = (plan.tree.attributes[number].name for number in plan.tree.used())
    return [name for name in used if name not in plan.public]


def _told(request: ModelRequest) -> list[str]:
    """What the tree tells of as it is: the private attributes that it asks for, and the class it gives."""
    target, plan = request.source.target, request.plan
    is_told = target is not None and not plan.class_is_public and target not in request.source.quasi
    return [*_asked(plan), *([target] if target is not None and is_told else [])]


def _figures(plan: ModelPlan) -> dict[str, Any]:
    return {**plan.figures, "nodes": len(plan.tree.nodes), "leaves": len(plan.tree.leaves), "depth": plan.tree.depth}


# -- later -----------------------------------------------------------------------------------------------


def stored_text(engine: Engine, record: ReleaseRecord) -> str | None:
    """The exchange file of a released model as the catalog has it now; None when it is gone."""
    found = models.find(engine, record.relation_name)
    return None if found is None else _text_of(engine, found)


def _text_of(engine: Engine, model: ModelRecord) -> str:
    return tree_text(stored.tree_of(engine, model), model.name)


def problems_of(engine: Engine, record: ReleaseRecord) -> list[str]:
    """How the stored model and its record differ."""
    problems = [] if record.manifest_is_intact else ["its manifest was edited in the catalog"]
    model = models.find(engine, record.relation_name)
    if model is None:
        return [*problems, "the model is gone"]
    try:
        text = _text_of(engine, model)
    except (Tampered, PolicyError):
        return [*problems, "its tree is not the one that was published, nor a sound one", DAMAGED]
    if sha256_of(text) != record.content_hash:
        problems.append("its tree is not the one that was published")
    else:  # the file is the published one: what else the tables tell of the tree must be in it, too
        problems += [
            f"the rows of {SCHEMA}.{table} do not say what its tree says"
            for table in stored.differing_tables(engine, model, read_tree(text)[0])
        ]
    if record.content_hash != record.manifest.get("content_hash"):
        problems.append("its manifest and its record disagree")
    return problems
