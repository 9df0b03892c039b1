"""Is a growing release still what was published?  Its classes as a reader sees them, and every cohort behind them."""

from __future__ import annotations

from ppdm_sql.catalog import growth
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.planning.cohorts import COHORT
from ppdm_sql.planning.manifest import finding_records
from ppdm_sql.policy.stored_requirements import requirements
from ppdm_sql.policy.words import many
from ppdm_sql.release.grown_rows import cohort_view, rows_out
from ppdm_sql.release.note_verdict import note_verdict
from ppdm_sql.release.publish import check_rows
from ppdm_sql.release.results import Verified
from ppdm_sql.release.reverify import content_problems, reading_notes, sensitive_columns
from ppdm_sql.verify.content import content_hash
from ppdm_sql.verify.relation import Judgement, judge


def reverify_growing(engine: Engine, record: ReleaseRecord) -> Verified:
    """Measures every cohort again, on the stored rows, and compares what people read with these."""
    roles = record.roles
    assert roles.growing is not None
    rows = growth.rows_name(roles.growing.growth_id)
    problems = content_problems(engine, record)
    judgement = Judgement(0, 0, ())
    if engine.relation_kind(rows) is None:
        problems.append("the table of its rows and cohorts no longer exists")
    else:
        shown = engine.work.view_of_text("grown_rows", engine.render(rows_out(rows, list(record.columns))))
        if content_hash(engine, shown, list(record.columns)) != record.content_hash:
            problems.append("the table of its rows and cohorts differs from what was published")
        judgement = _judge_cohorts(engine, record)
    found = finding_records(judgement.findings)
    if not problems and record.manifest.utility is not None:
        found += record.manifest.utility.required
    grown = record.manifest.growing
    notes = reading_notes(roles, judgement)
    notes += (f"every one of {many(judgement.classes, 'cohort')} was measured by itself",) if grown else ()
    outcome = Verified(record.stated_name, found, tuple(problems), judgement.rows, int(record.classes or 0), notes)
    return note_verdict(engine, record, outcome, check_rows(judgement.findings))


def _judge_cohorts(engine: Engine, record: ReleaseRecord) -> Judgement:
    roles = record.roles
    assert roles.growing is not None
    rows = growth.rows_name(roles.growing.growth_id)
    quasi = [*roles.published_quasi, COHORT]
    view = cohort_view(engine, rows, [*quasi, *roles.sensitive])
    sensitive = sensitive_columns(roles.sensitive, roles.levels, roles.null_value_columns)
    entity = "ppdm_entity" if roles.counts_entities else None
    asked = requirements(record.requirements)
    return judge(engine, view, quasi=quasi, sensitive=sensitive, requirements=asked, entity=entity)
