"""A model: a tree in the catalog, judged by the groups of people that it lets an attacker form."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ppdm_sql.catalog import models
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.methods import registry
from ppdm_sql.methods.plan import ONE_LEAF
from ppdm_sql.planning.holders import pseudo_data_of
from ppdm_sql.planning.planner import Planner
from ppdm_sql.planning.target import find_former
from ppdm_sql.policy.policy import Publish
from ppdm_sql.release.export.model_file import audit_path, export_model, read_model_place, reverify_model, script_path
from ppdm_sql.release.export.write import certificate_path, manifest_path
from ppdm_sql.release.kinds.base import Publication, ReleaseKind
from ppdm_sql.release.kinds.report_words import ReportWords
from ppdm_sql.release.model import publish_model
from ppdm_sql.release.preview import preview_model
from ppdm_sql.release.results import Exported, Planned, Verified
from ppdm_sql.statements.names import Name
from ppdm_sql.watching import Progress


class ModelRelease(ReleaseKind):
    """A tree that was published."""

    report_words = ReportWords(
        verdict="{name} holds: it is the model that was measured, and it met every requirement.",
        measured="A model is measured by the groups of people that an attacker can tell apart with it. They were "
        "counted when it was published; for this page it was verified that the model is, byte for byte, the same.",
        rows="rows learned from",
        classes="groups it separates",
        class_meaning="A class is a group of people that the model cannot tell apart, for an attacker who knows their "
        "quasi-identifiers.",
        alike="that the model cannot tell apart",
    )
    has_rows = False
    keeps_model = True

    def takes(self, statement: Publication) -> bool:
        return isinstance(statement, Publish) and statement.kind == "MODEL"

    def describes(self, record: ReleaseRecord) -> bool:
        return record.kind == "MODEL"

    # -- publishing --------------------------------------------------------------------------------

    def check(self, statement: Publication) -> None:
        assert isinstance(statement, Publish)
        registry.model_method(statement.policy.algorithm, statement.place)

    def find_former(self, engine: Engine, statement: Publication) -> ReleaseRecord | None:
        assert isinstance(statement, Publish)
        return find_former(engine, statement)[1]

    def plan(self, planner: Planner, statement: Publication, coming: Collection[Name] = ()) -> Planned:
        assert isinstance(statement, Publish)
        return preview_model(planner, statement)

    def publish(self, planner: Planner, statement: Publication, run_id: str) -> ReleaseRecord:
        assert isinstance(statement, Publish)
        return publish_model(planner.engine, planner.model(statement, run_id), planner.progress)

    # -- a release that is there -------------------------------------------------------------------

    def verify(self, engine: Engine, record: ReleaseRecord) -> Verified:
        return reverify_model(engine, record)

    def export_files(self, path: str, options: Mapping[str, Any], out: Path) -> list[Path]:
        file = read_model_place(path, options, out)
        return [file, *(place(file) for place in (manifest_path, script_path, certificate_path, audit_path))]

    def export(
        self,
        engine: Engine,
        record: ReleaseRecord,
        path: str,
        options: Mapping[str, Any],
        *,
        out: Path,
        progress: Progress,
    ) -> Exported:
        return export_model(engine, record, path, options, out=out)

    def withdraw(self, engine: Engine, record: ReleaseRecord) -> None:
        found = models.find(engine, record.relation_name)
        if found is not None:
            models.add_event(engine, found.model_id, "dropped")

    def clear_behind(self, engine: Engine, record: ReleaseRecord) -> None:
        """Nothing: the catalog replaces the old tree with the new one."""

    def relation(self, record: ReleaseRecord) -> Name | None:
        return None

    def copies(self, engine: Engine, record: ReleaseRecord) -> list[ReleaseRecord]:
        return pseudo_data_of(engine, record)

    # -- words -------------------------------------------------------------------------------------

    def title(self, record: ReleaseRecord) -> str:
        return "model"

    def ways_to_read(self, record: ReleaseRecord, query: str) -> str:
        name = record.relation_name
        return (
            f"read it with: ppdm model show {name}, apply it with: ppdm model predict {name} --from TABLE --into "
            "NEW_TABLE, hand it over with: EXPORT"
        )

    def hint(self, record: ReleaseRecord) -> str | None:
        return ONE_LEAF if record.manifest.figures.get("leaves") == 1 else None


KIND = ModelRelease()
