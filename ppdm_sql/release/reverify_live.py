"""What a live release shows now: verified and exported from one copy of it, taken at that moment.

That its rows are others than at its publication is what it is for, and told as a note.  That a requirement does not
hold, or that the view or one of its rules was edited, is a problem as with every release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlglot import exp

from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import EngineError, PpdmError, RequirementBreached, Tampered
from ppdm_sql.methods.plan import ENTITY
from ppdm_sql.planning.joint import shown_name
from ppdm_sql.planning.manifest import finding_records
from ppdm_sql.policy.stored_requirements import requirements
from ppdm_sql.policy.words import many
from ppdm_sql.release import live
from ppdm_sql.release.export.write import export
from ppdm_sql.release.note_verdict import note_verdict
from ppdm_sql.release.publish import check_rows
from ppdm_sql.release.results import Exported, Verified
from ppdm_sql.release.reverify import reading_notes, sensitive_columns
from ppdm_sql.requirements import About, requirements_about
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.verify.content import content_hash
from ppdm_sql.verify.relation import Judgement, judge
from ppdm_sql.verify.same_model import tree_differences
from ppdm_sql.watching import Progress

_NO_WALL = "an earlier version published it, so EXPLAIN ANALYZE shows its readers how many rows it hides"


@dataclass(frozen=True)
class _ShownCopy:
    """One copy of what is shown, measured."""

    rows: Name
    judgement: Judgement
    content_hash: str
    different_trees: tuple[str, ...]


def reverify_live(engine: Engine, record: ReleaseRecord) -> Verified:
    """Measures what the view shows now and notes the outcome in the catalog, if that can be written."""
    problems = _edits(engine, record)
    state = None
    if not problems:
        try:
            state = _measure_now(engine, record)
        except EngineError:
            problems.append("it cannot be read: its source has changed since it was published")
    if state is not None and live.lacks_wall(engine, record.release_id):
        problems.append(f"{_NO_WALL}; REFRESH {shown_name(record)} fixes that")
    found = () if state is None or not state.judgement.rows else state.judgement.findings
    outcome = Verified(
        shown_name(record),
        finding_records(found),
        tuple(problems),
        state.judgement.rows if state else 0,
        state.judgement.classes if state else 0,
        (*_notes(record, state), *reading_notes(record.roles, state.judgement)) if state else (),
        measured="measured on what the view shows now" if state else "not measured",
    )
    return note_verdict(engine, record, outcome, check_rows(found))


def export_live(
    engine: Engine, record: ReleaseRecord, path: str, options: Mapping[str, Any], *, out: Path, progress: Progress
) -> Exported:
    """Writes what the view shows now into a new file, with a manifest that speaks of these rows."""
    problems = _edits(engine, record)
    if problems:
        raise Tampered(f"{record.name}: {'; '.join(problems)}; nothing was exported")
    state = _measure_now(engine, record)
    if not state.judgement.holds:
        raise RequirementBreached(
            f"{record.name}: what it shows now does not meet the requirements; nothing was exported"
        )
    return export(engine, _as_of_now(record, state), path, options, out=out, progress=progress, rows=state.rows)


def _edits(engine: Engine, record: ReleaseRecord) -> list[str]:
    """How the view and what lies behind it differ from what was published."""
    problems = [] if record.manifest_is_intact else ["its manifest was edited in the catalog"]
    if engine.relation_kind(record.name) is None:
        return [*problems, "the relation no longer exists"]
    try:
        found = live.fingerprint(engine, record.name, record.release_id)
    except PpdmError:
        return [*problems, "its definition cannot be read"]
    if found != record.roles.live:
        return [*problems, "its definition or its rules differ from what was published"]
    if record.content_hash != record.manifest.content_hash:
        problems.append("its manifest and its record disagree")
    return problems


def _measure_now(engine: Engine, record: ReleaseRecord) -> _ShownCopy:
    """A copy of the view's rows, and every measure on it; k by persons on the same rows with their persons."""
    published, roles = record.columns, record.roles
    now = _copy(engine, "live_now", record.name, list(published))
    if {info.name: info.declared for info in engine.columns(now)} != published:
        raise EngineError(f"{record.name}: its columns differ from what was published")
    asked = requirements(record.requirements)
    judgement = judge(
        engine,
        now,
        quasi=roles.published_quasi,
        sensitive=sensitive_columns(roles.sensitive, roles.levels, roles.null_value_columns),
        requirements=asked,
    )
    content = content_hash(engine, now, list(published))
    if roles.counts_entities and judgement.rows:
        with_persons = _copy(engine, "live_persons", live.rows_name(record.release_id), [*published, ENTITY])
        if content_hash(engine, with_persons, list(published)) != content:
            raise PpdmError(f"{record.name} changed while it was measured; run it again")
        sizes = requirements_about(asked, About.SIZE)
        persons = judge(
            engine, with_persons, quasi=roles.published_quasi, sensitive=[], requirements=sizes, entity=ENTITY
        )
        others = [finding for finding in judgement.findings if finding.requirement.about is not About.SIZE]
        judgement = replace(judgement, findings=(*persons.findings, *others))
    trees = tree_differences(engine, now, record.manifest.patterns) if judgement.rows else []
    return _ShownCopy(now, judgement, content, tuple(trees))


def _copy(engine: Engine, label: str, relation: Name, columns: list[str]) -> Name:
    picked = exp.Select(expressions=[aliased(column(name), name) for name in columns]).from_(relation.table())
    return engine.work.table(label, picked, analyze=True)


def _notes(record: ReleaseRecord, state: _ShownCopy) -> tuple[str, ...]:
    if state.content_hash == record.content_hash:
        return state.different_trees
    are = "is" if state.judgement.rows == 1 else "are"
    now = f"{many(state.judgement.rows, 'row')} {are} shown now, {record.rows:,} when it was published"
    if not state.judgement.rows:
        return (f"its source changed: {now}",)
    if not record.manifest.patterns:
        return (f"its source changed: {now}",)
    trees = "its trees are the same" if not state.different_trees else "REFRESH makes new rules and trees for it"
    return (f"its source changed: {now}; {trees}", *state.different_trees)


def _as_of_now(record: ReleaseRecord, state: _ShownCopy) -> ReleaseRecord:
    """The record with the figures of the copy; trees that its rows no longer give are not promised."""
    judged = state.judgement
    content = replace(
        record.manifest,
        rows=judged.rows,
        classes=judged.classes,
        findings=finding_records(judged.findings),
        sensitive_nulls=dict(judged.nulls),
        content_hash=state.content_hash,
    )
    if state.content_hash != record.content_hash:  # its figures are those of the rows at publication
        content = replace(content, figures={}, suppressed_rows=None, k_when_null_matches_all=None)
    if state.different_trees:
        content = replace(content, patterns=())
    return replace(record, rows=judged.rows, classes=judged.classes, content_hash=state.content_hash, manifest=content)
