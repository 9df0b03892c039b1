"""A table or view that grows: rows leave in cohorts, night by night, and are labelled as those of the first night."""

from __future__ import annotations

from dataclasses import replace

from ppdm_sql.catalog import growth, migrate, releases
from ppdm_sql.catalog.json_record import DamagedRecordError
from ppdm_sql.catalog.manifest import GrownRecord, Manifest, RolesRecord
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.catalog.store import json_text, sha256_of
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import Mistake, PolicyError
from ppdm_sql.methods import registry
from ppdm_sql.planning.cohorts import cannot_label_new_rows
from ppdm_sql.planning.holders import was_handed_over
from ppdm_sql.planning.measure_table import Measured
from ppdm_sql.planning.planner import Planner
from ppdm_sql.planning.request import Request
from ppdm_sql.policy import grammar
from ppdm_sql.policy.policy import Policy, Publish
from ppdm_sql.policy.words import many
from ppdm_sql.release import grow
from ppdm_sql.release.grown_rows import rows_out
from ppdm_sql.release.kinds.base import Publication
from ppdm_sql.release.kinds.stored import StoredRelease
from ppdm_sql.release.preview_growing import growth_lines, preview_refresh
from ppdm_sql.release.publish import publish
from ppdm_sql.release.results import Planned, Verified
from ppdm_sql.release.reverify_growing import reverify_growing
from ppdm_sql.statements.names import Name


class GrowingRelease(StoredRelease):
    """Rows with their cohorts in schema ppdm; people read a view of them, or a table of what is published."""

    def takes(self, statement: Publication) -> bool:
        return isinstance(statement, Publish) and statement.growing

    def describes(self, record: ReleaseRecord) -> bool:
        return not record.is_damaged and record.roles.growing is not None

    def check(self, statement: Publication) -> None:
        super().check(statement)
        assert isinstance(statement, Publish)
        if not registry.method_named(statement.policy.algorithm).labels_new_rows:
            raise cannot_label_new_rows(statement)

    # -- publishing --------------------------------------------------------------------------------

    def publish(self, planner: Planner, statement: Publication, run_id: str) -> ReleaseRecord:
        assert isinstance(statement, Publish)
        former = self._grown_so_far(planner.engine, statement)
        if statement.refresh and former is not None:
            return grow.refresh(planner, statement, former, run_id)
        if former is not None:
            _refuse_to_start_again(planner.engine, statement, former)
        return publish(planner.engine, planner.table(statement, run_id), self, planner.progress)

    def _grown_so_far(self, engine: Engine, statement: Publish) -> ReleaseRecord | None:
        found = releases.current(engine, engine.name(statement.name)) if migrate.is_there(engine) else None
        return found if found is not None and self.describes(found) else None

    def store(self, engine: Engine, request: Request) -> Name:
        rows = growth.rows_name(request.release_id)
        engine.create_table(rows, grow.stored_rows(request.plan.published, night=0))
        engine.create_table(growth.waiting_name(request.release_id), grow.no_waiting())
        if not request.target.is_view:
            engine.create_table(request.name, rows_out(rows, request.plan.published))
            return request.name
        return rows

    def show(self, engine: Engine, request: Request, measured: Measured) -> None:
        if request.target.is_view:
            rows = growth.rows_name(request.release_id)
            engine.create_view(request.name, rows_out(rows, request.plan.published), replace=True)
        assert request.plan.recoding is not None
        growth.keep_recoding(engine, request.release_id, request.plan.recoding.to_packed_json())

    def storage(self, request: Request) -> str | None:
        return growth.rows_name(request.release_id).last

    def complete_roles(self, engine: Engine, roles: RolesRecord, request: Request, measured: Measured) -> RolesRecord:
        assert request.plan.recoding is not None
        kept = sha256_of(json_text(request.plan.recoding.to_packed_json()))
        here = grow.first_growth(engine, request, measured, kept)
        return replace(roles, growing=here, cohort=request.source.cohort)

    def complete_manifest(self, content: Manifest, measured: Measured) -> Manifest:
        loss = None if content.utility is None else content.utility.loss
        shown = "cohort" if "cohort" in content.policy.quasi_identifiers else None
        first = GrownRecord(
            night=0, cohorts=content.classes, new_rows=content.rows, left_rows=0,
            waiting_rows=int(content.suppressed_rows or 0), waiting_nights=0, changed_rows=0, gone_rows=0,
            loss_first=loss, loss_tonight=loss, cohort_column=shown,
        )  # fmt: skip
        return replace(content, growing=first)

    # -- a release that is there -------------------------------------------------------------------

    def plan_refresh(self, planner: Planner, statement: Publication, record: ReleaseRecord) -> Planned | None:
        assert isinstance(statement, Publish)
        return preview_refresh(planner, statement, record)

    def growth_lines(self, record: ReleaseRecord) -> list[str]:
        return [] if record.manifest.growing is None else growth_lines(record.manifest.growing)

    def verify(self, engine: Engine, record: ReleaseRecord) -> Verified:
        return reverify_growing(engine, record)

    def clear_behind(self, engine: Engine, record: ReleaseRecord) -> None:
        super().clear_behind(engine, record)
        if record.roles.growing is not None:
            engine.drop_table(growth.waiting_name(record.roles.growing.growth_id))

    def title(self, record: ReleaseRecord) -> str:
        return f"growing {record.kind.lower()}"

    def content_text(self, record: ReleaseRecord) -> str:
        told = super().content_text(record)
        grown = record.manifest.growing
        if grown is None:
            raise DamagedRecordError("the manifest of a growing release does not say how it grew")
        return f"{told}, published in {many(grown.cohorts, 'cohort')} over {many(grown.night + 1, 'night')}"


def _refuse_to_start_again(engine: Engine, statement: Publish, former: ReleaseRecord) -> None:
    """Refuses new labels for rows of which a recipient may have a copy under those of the first night."""
    if statement.policy.supersedes is not None or not was_handed_over(engine, former):
        return
    recorded = refreshed_policy(former, engine.dialect)
    other = " (this is another one)" if replace(statement.policy, supersedes=None) != recorded else ""
    place = statement.place
    raise PolicyError(
        Mistake(
            f"{former.stated_name} is a growing release: REFRESH {former.stated_name} publishes tonight's rows by the "
            f"policy that was recorded on the first night{other}.  To start again with new labels, write SUPERSEDES, "
            "which states that no copy of the former nights is left; nothing was changed",
            place.line,
            place.column,
            place.file,
        )
    )


def refreshed_policy(record: ReleaseRecord, dialect: str) -> Policy:
    """The policy that REFRESH goes by."""
    first = grammar.parse(record.policy_text, dialect=dialect)[0]
    assert isinstance(first, Publish)
    return replace(first.policy, supersedes=None)


KIND = GrowingRelease()
