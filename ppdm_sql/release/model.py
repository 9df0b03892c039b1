"""A model that leaves: judged by the groups an attacker can form with it, recorded with its tree, or not published.

The way is that of a table (publish.py), with the tree instead of the rows: the stage holds for every source
row the group it is in, its class and its keys; verify/ judges the stage; the ledger keeps who was in which group, so
that a second model or table from the same source is judged together with this one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlglot import exp

from ppdm_sql.catalog import ledger, models, releases
from ppdm_sql.catalog.models import ModelRecord
from ppdm_sql.catalog.releases import DAMAGED, ReleaseRecord
from ppdm_sql.catalog.store import now, sha256_of
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError, Tampered
from ppdm_sql.methods.plan import ModelPlan, TablePlan
from ppdm_sql.planning import composition, joint, manifest
from ppdm_sql.planning.measure_model import MeasuredModel, measure_stage, predicted_raw, stage_plan
from ppdm_sql.planning.request import ModelRequest
from ppdm_sql.planning.staging import build_stage, key_columns
from ppdm_sql.planning.target import find_former
from ppdm_sql.release import publish, supersede
from ppdm_sql.release.ledger_lock import explained_race, publishing, refuse_vanished
from ppdm_sql.source.drift import check_drift
from ppdm_sql.statements.names import SCHEMA
from ppdm_sql.trees import stored
from ppdm_sql.trees.tree_json import read_tree, tree_text
from ppdm_sql.watching import Progress


def publish_model(engine: Engine, request: ModelRequest, progress: Progress) -> ReleaseRecord:
    """Makes the model readable under its name, or raises and leaves everything as it was."""
    build_stage(engine, stage_plan(engine, request), request.statement.policy.seed)
    with publishing(engine):
        request = _with_former_of_now(engine, request)
        measured = measure_stage(engine, request, progress)
        publish.refuse_breaches(str(request.name), measured.judgement, request.source)
        composition.refuse_joint(str(request.name), request.statement.policy, measured.joint)
        supersede.refuse_superseding(engine, request.statement, request.source, request.former)
        _save(engine, request)
        engine.create_table(ledger.link_name(request.release_id), joint.link_query())
        record = _record(engine, request, measured)
        supersede.retire(engine, record, request.former, request.statement.policy.supersedes)
    return record


def _with_former_of_now(engine: Engine, request: ModelRequest) -> ModelRequest:
    """Another session may have published, replaced or dropped this name since the request was made."""
    with explained_race(request.name):
        _, former = find_former(engine, request.statement)
    refuse_vanished(request.former, former)
    check_drift(former, request.source)
    return replace(request, former=former)


# -- recording -------------------------------------------------------------------------------------------


def _save(engine: Engine, request: ModelRequest) -> None:
    plan = request.plan
    record = stored.record_of(
        request.name.last, plan.tree, rows=plan.rows, left_out=plan.left_out,
        rare=_k(request) or 1, source_query=request.statement.query,
    )  # fmt: skip
    models.save(engine, record, stored.rows_of(plan.tree), replace=request.former is not None)


def _k(request: ModelRequest) -> int | None:
    return request.statement.policy.k


def _record(engine: Engine, request: ModelRequest, measured: MeasuredModel) -> ReleaseRecord:
    policy, source, at = request.statement.policy, request.source, now()
    counted = TablePlan(exp.Select(), (), classes=0, rows=request.plan.rows, figures=_figures(request.plan))
    content = manifest.build_manifest(
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
        risks=(*request.risks, *composition.risks_of(measured.joint)),
        joint=[outcome.to_record() for outcome in measured.joint],
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
        requirements=content.policy.requirements,
        roles=publish.roles_record(source, request.hierarchies, request.statement, predicted_raw(request)),
        source_query=request.statement.query,
        policy_text=request.statement.text,
        storage=None,
        key_columns=key_columns(source),
        k_promised=_k(request),
        rows=measured.judgement.rows,
        classes=measured.judgement.classes,
        suppressed_rows=0,
        content_hash=measured.content_hash,
        columns={},
        manifest=content,
        manifest_sha256=content.sha256,
        published_at=at,
        sources=source.tables,
    )
    releases.record(engine, record, checks=publish.check_rows(measured.judgement.findings))
    return record


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
        return [*problems, "the model no longer exists"]
    try:
        text = _text_of(engine, model)
    except (Tampered, PolicyError):
        return [*problems, "its tree differs from the published one and is damaged", DAMAGED]
    if sha256_of(text) != record.content_hash:
        problems.append("its tree differs from the published one")
    else:  # the file is the published one: what else the tables say of the tree must be in it, too
        problems += [
            f"the rows of {SCHEMA}.{table} differ from its tree"
            for table in stored.differing_tables(engine, model, read_tree(text)[0])
        ]
    if record.content_hash != record.manifest.content_hash:
        problems.append("its manifest and its record disagree")
    return problems
