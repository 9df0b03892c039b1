"""A table, or a view over a private table: the rows as they were published."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlglot import exp

from ppdm_sql.catalog.ledger import link_name
from ppdm_sql.catalog.manifest import Manifest, RolesRecord
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.methods import registry
from ppdm_sql.planning.joint import link_query
from ppdm_sql.planning.measure_table import Measured, measure_stored
from ppdm_sql.planning.planner import Planner
from ppdm_sql.planning.request import Request
from ppdm_sql.planning.staging import STAGE, public_columns
from ppdm_sql.planning.target import find_target
from ppdm_sql.policy.policy import Publish
from ppdm_sql.release.export.write import certificate_path, export, manifest_path, read_order, recode_paths
from ppdm_sql.release.kinds.base import Publication, ReleaseKind
from ppdm_sql.release.kinds.report_words import ReportWords
from ppdm_sql.release.preview import preview_table
from ppdm_sql.release.publish import publish
from ppdm_sql.release.results import Exported, Planned, Verified
from ppdm_sql.release.reverify import reverify
from ppdm_sql.statements.names import SCHEMA, Name
from ppdm_sql.watching import Progress

CLASS_OF_ROWS = "A class is a set of rows with the same value in every published quasi-identifier."


class StoredRelease(ReleaseKind):
    """Rows in a table of their own."""

    report_words = ReportWords(
        verdict="{name} holds: its rows are unchanged since it was published and meet every requirement.",
        measured="Measured again for this page, on the stored rows, by code that shares nothing with the "
        "code that made them.",
        class_meaning=CLASS_OF_ROWS,
    )

    def takes(self, statement: Publication) -> bool:
        return isinstance(statement, Publish) and statement.kind in ("TABLE", "VIEW")

    def describes(self, record: ReleaseRecord) -> bool:
        return record.kind in ("TABLE", "VIEW")

    # -- publishing --------------------------------------------------------------------------------

    def check(self, statement: Publication) -> None:
        assert isinstance(statement, Publish)
        registry.table_method(statement.policy.algorithm, statement.place)

    def find_former(self, engine: Engine, statement: Publication) -> ReleaseRecord | None:
        return find_target(engine, statement, release_id="").former

    def plan(self, planner: Planner, statement: Publication, coming: Collection[Name] = ()) -> Planned:
        assert isinstance(statement, Publish)
        return preview_table(planner, statement)

    def publish(self, planner: Planner, statement: Publication, run_id: str) -> ReleaseRecord:
        assert isinstance(statement, Publish)
        return publish(planner.engine, planner.table(statement, run_id), self, planner.progress)

    def store(self, engine: Engine, request: Request) -> Name:
        """Stores the staged rows; gives the relation that is measured."""
        storage = request.target.storage
        engine.create_table(storage, public_columns(STAGE, request.plan.published))
        return storage

    def discard(self, engine: Engine, request: Request) -> None:
        """Drops what a failed publication stored, where no transaction takes it back."""
        engine.drop_table(request.target.storage)
        engine.drop_table(link_name(request.release_id))

    def measure(self, engine: Engine, request: Request, stored: Name, progress: Progress) -> Measured:
        """What the judge finds on what was stored."""
        return measure_stored(engine, request, stored, progress)

    def link_query(self, measured: Measured) -> exp.Select:
        """Which row of whom is in which class, for joint checks with later releases."""
        return link_query()

    def show(self, engine: Engine, request: Request, measured: Measured) -> None:
        """Gives what was stored and measured its name, where it is stored under another one."""
        target = request.target
        if target.is_view:
            engine.create_view(target.name, public_columns(target.storage, request.plan.published), replace=True)

    def let_read(self, engine: Engine, request: Request, readers: Sequence[str]) -> None:
        """Grants what readers need besides the relation itself."""

    def storage(self, request: Request) -> str | None:
        """The table in schema ppdm that holds the rows, where it is another one than that of the release's name."""
        return request.target.storage.last if request.target.is_stored_view else None

    def complete_roles(self, engine: Engine, roles: RolesRecord, request: Request, measured: Measured) -> RolesRecord:
        """What the catalog keeps of releases of this kind alone."""
        return roles

    def complete_manifest(self, content: Manifest, measured: Measured) -> Manifest:
        """What a manifest says of releases of this kind alone."""
        return content

    def fingerprint(self, engine: Engine, request: Request) -> Mapping[str, str] | None:
        """What the parts behind the release say, for kinds that have some."""
        return None

    # -- a release that is there -------------------------------------------------------------------

    def verify(self, engine: Engine, record: ReleaseRecord) -> Verified:
        return reverify(engine, record)

    def export_files(self, path: str, options: Mapping[str, Any], out: Path) -> list[Path]:
        file = read_order(path, options, out).path
        return [file, manifest_path(file), certificate_path(file), *recode_paths(file)]

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
        return export(engine, record, path, options, out=out, progress=progress)

    def withdraw(self, engine: Engine, record: ReleaseRecord) -> None:
        if engine.relation_kind(record.name) == "view":
            engine.drop_view(record.name)
        else:
            engine.drop_table(record.name)
        self.clear_behind(engine, record)

    def clear_behind(self, engine: Engine, record: ReleaseRecord) -> None:
        if record.storage:
            engine.drop_table(Name(SCHEMA, record.storage))

    def is_overlaid(self, engine: Engine, record: ReleaseRecord) -> bool:
        if engine.relation_kind(record.name) is None:
            return False
        return record.release_id not in (engine.comment_on(record.name) or "")

    def title(self, record: ReleaseRecord) -> str:
        return record.kind.lower()

    def ways_to_read(self, record: ReleaseRecord, query: str) -> str:
        return f"read it with: {query}"


KIND = StoredRelease()
