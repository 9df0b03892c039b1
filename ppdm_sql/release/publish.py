"""The only door out.  Build privately, measure what was stored, swap in one transaction, or change nothing.

stage      the plan's rows in a working table, with private and public columns
store      the public columns alone, in keyed-hash order, under the release's name; of a live view the rules alone
judge      every requirement, and every tree to preserve, on what was stored, by verify/ (which shares no code with
           what made it)
joint      together with every release of the same tables that is still out
record     catalog, checks, manifest, link table; then the transaction commits
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from ppdm_sql.catalog import ledger, releases
from ppdm_sql.catalog.manifest import Manifest, RolesRecord
from ppdm_sql.catalog.recodings import keep_recoding, recoding_text
from ppdm_sql.catalog.releases import Check, ReleaseRecord
from ppdm_sql.catalog.store import now, sha256_of
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import RequirementBreached
from ppdm_sql.planning import composition, manifest, people
from ppdm_sql.planning.measure_table import Measured, leaf_levels
from ppdm_sql.planning.request import Request
from ppdm_sql.planning.staging import build_stage, key_columns
from ppdm_sql.planning.target import find_target
from ppdm_sql.planning.utility import refuse_loss
from ppdm_sql.policy.policy import Publish
from ppdm_sql.policy.words import many
from ppdm_sql.release import supersede
from ppdm_sql.release.export.recode_rules import recode_rules
from ppdm_sql.release.ledger_lock import explained_race, publishing, refuse_vanished
from ppdm_sql.release.readers import note_readers
from ppdm_sql.release.swap import clear_name, clear_storage
from ppdm_sql.source.drift import check_drift
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.relation import Source
from ppdm_sql.verify.relation import Finding, Judgement
from ppdm_sql.watching import Progress

if TYPE_CHECKING:
    from ppdm_sql.release.kinds.stored import StoredRelease


def publish(engine: Engine, request: Request, kind: StoredRelease, progress: Progress) -> ReleaseRecord:
    """Makes the release readable under its name, or raises and leaves everything as it was."""
    build_stage(engine, request.plan, request.statement.policy.seed)
    try:
        with publishing(engine):
            return _store(engine, _with_target_of_now(engine, request), kind, progress)
    except BaseException:
        if not engine.has_transactions:
            kind.discard(engine, request)
        raise


def _with_target_of_now(engine: Engine, request: Request) -> Request:
    """Another session may have published, replaced or dropped this name since the request was made."""
    with explained_race(request.target.name):
        target = find_target(engine, request.statement, request.release_id)
    refuse_vanished(request.target.former, target.former)
    check_drift(target.former, request.source)
    return replace(request, target=target)


def _store(engine: Engine, request: Request, kind: StoredRelease, progress: Progress) -> ReleaseRecord:
    target, policy = request.target, request.statement.policy
    readers = _readers(engine, request)
    if target.former is not None:
        note_readers(engine, target.former)  # rights go with the relation
    clear_name(engine, target)
    progress("writing", 0, None)
    stored = kind.store(engine, request)
    measured = kind.measure(engine, request, stored, progress)
    refuse_breaches(str(target.name), measured.judgement, request.source)
    refuse_loss(str(target.name), measured.utility.to_record(policy.loss_limits))
    composition.refuse_joint(str(target.name), policy, measured.joint)
    supersede.refuse_superseding(engine, request.statement, request.source, target.former)
    kind.show(engine, request, measured)
    engine.create_table(ledger.link_name(request.release_id), kind.link_query(measured))
    recoding = recoding_text(recode_rules(engine, request, measured.columns))
    record = _record(engine, request, kind, measured, recoding)
    if recoding is not None:
        keep_recoding(engine, record, recoding)
    engine.comment(target.name, target.kind, f"ppdm_sql release {request.release_id}")
    shown = {name: text for name, text in request.plan.notes.items() if name in measured.columns}
    engine.comment_columns(target.name, target.kind, shown)
    if readers:
        engine.grant_select(target.name, readers)
    kind.let_read(engine, request, readers)
    clear_storage(engine, target)
    note_readers(engine, record)
    return record


# -- refusing --------------------------------------------------------------------------------------------


def refuse_breaches(name: str, judgement: Judgement, source: Source) -> None:
    broken = [finding for finding in judgement.findings if not finding.holds]
    if broken:
        told = "; ".join(
            f"{finding.requirement}{f' on {finding.column}' if finding.column else ''} fails in "
            f"{many(finding.breaching_classes, 'class', 'classes')} ({many(finding.breaching_rows, 'row')})"
            for finding in broken
        )
        columns = dict.fromkeys(finding.column for finding in broken)
        uncounted = [column for column in columns if column in judgement.nulls and column not in source.nulls_as_value]
        told += "".join(f"; {_null_hint(column, judgement)}" for column in uncounted if column is not None)
        raise RequirementBreached(f"{name}: {told}; nothing was published")


def _null_hint(column: str, judgement: Judgement) -> str:
    return (
        f'"{column}" is NULL in {judgement.nulls[column]:,} of {many(judgement.rows, "row")}, and only known values '
        f"count: exclude these rows, or write {column} NULLS AS VALUE if NULL means that there is nothing to hide"
    )


# -- recording -------------------------------------------------------------------------------------------


def _readers(engine: Engine, request: Request) -> list[str]:
    """Who may read it: the roles the statement names, and those who could read the former one."""
    named = [engine.fold(word) for word in request.statement.policy.readers]
    kept = engine.grantees(request.target.name) if request.target.former is not None else []
    return list(dict.fromkeys([*named, *kept]))


def _record(
    engine: Engine, request: Request, kind: StoredRelease, measured: Measured, recoding: str | None
) -> ReleaseRecord:
    policy = request.statement.policy
    at = now()
    content = manifest.build_manifest(
        release_id=request.release_id,
        name=str(request.target.name),
        published_at=f"{at:%Y-%m-%dT%H:%M:%SZ}",
        engine=engine,
        source=request.source,
        policy=policy,
        plan=request.plan,
        judgement=measured.judgement,
        k_null_matches_all=measured.k_null_matches_all,
        content_hash=measured.content_hash,
        columns=measured.columns,
        risks=(*request.risks, *composition.risks_of(measured.joint)),
        joint=[outcome.to_record() for outcome in measured.joint],
        utility=measured.utility.to_record(policy.loss_limits),
        weighted=None if measured.weighted is None else measured.weighted.to_record(),
    )
    content = kind.complete_manifest(content, measured)
    record = _release_record(request, measured, content, at, kind.fingerprint(engine, request))
    digest = None if recoding is None else sha256_of(recoding)
    roles = replace(kind.complete_roles(engine, record.roles, request, measured), recoding_sha256=digest)
    record = replace(record, storage=kind.storage(request), roles=roles)
    releases.record(engine, record, checks=check_rows(measured.judgement.findings))
    supersede.retire(engine, record, request.target.former, policy.supersedes)
    return record


def _release_record(
    request: Request, measured: Measured, content: Manifest, at: datetime, parts: Mapping[str, str] | None
) -> ReleaseRecord:
    statement, source, policy = request.statement, request.source, request.statement.policy
    return ReleaseRecord(
        release_id=request.release_id,
        run_id=request.run_id,
        schema_name=request.target.name.schema,
        relation_name=request.target.name.last,
        kind=statement.kind,
        algorithm=policy.algorithm,
        options=manifest.plain(policy.options),
        seed=policy.seed,
        requirements=content.policy.requirements,
        roles=replace(roles_record(source, request.hierarchies, statement), live=parts),
        source_query=statement.query,
        policy_text=statement.text,
        storage=None,
        key_columns=tuple(map(source.outward, key_columns(source))),
        k_promised=policy.k,
        rows=measured.judgement.rows,
        classes=measured.judgement.classes,
        suppressed_rows=request.plan.suppressed_rows,
        content_hash=measured.content_hash,
        columns=measured.columns,
        manifest=content,
        manifest_sha256=content.sha256,
        published_at=at,
        sources=source.tables,
    )


def roles_record(
    source: Source, hierarchies: Mapping[str, Hierarchy], statement: Publish, raw: Collection[str] | None = None
) -> RolesRecord:
    """What VERIFY and a later run need to know: who was what, and how the source looked.

    raw: what is published unchanged; None: every column that is no quasi-identifier.
    """
    keys = people.keys_of(source, raw)
    return RolesRecord(
        source_columns={name: info.declared for name, info in source.query_columns.items()},
        identifiers=tuple(source.identifiers),
        quasi=tuple(source.quasi),
        sensitive={name: source.info(name).kind for name in source.sensitive},
        nulls_as_value=tuple(sorted(source.nulls_as_value)),
        levels={name: leaf_levels(hierarchies.get(name)) for name in source.sensitive},
        target=source.target,
        insensitive=tuple(source.insensitive),
        entity=None if source.entity is None else source.outward(source.entity),
        person_columns=tuple(keys.person),
        key_told={name: tuple(told) for name, told in keys.told.items()},
        key_computed=dict(keys.computed),
        some_rows=keys.some_rows,
        known=tuple(sorted(keys.known)),
        raw=tuple(sorted(keys.raw)),
        tables={table: tuple(names) for table, names in keys.shapes.items()},
        file=None if statement.place.file is None else os.path.abspath(statement.place.file),
        forms=manifest.form_records(source),
        weight=source.weight,
    )


def check_rows(findings: Sequence[Finding]) -> list[Check]:
    """Findings as the catalog keeps them."""
    return [
        Check(
            requirement=str(finding.requirement),
            sensitive=finding.column,
            asked=str(finding.requirement).rpartition(" = ")[-1],
            achieved=None if finding.achieved is None else str(finding.achieved),
            achieved_value=None if finding.achieved is None else float(finding.achieved),
            breaching_classes=finding.breaching_classes,
            breaching_rows=finding.breaching_rows,
            holds=finding.holds,
            statement_sha256=finding.statement_sha256,
        )
        for finding in findings
    ]
