"""A view over the source, whose classes are measured at every read (release/live.py says how it is built)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ppdm_sql.catalog.manifest import Manifest
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PpdmError
from ppdm_sql.planning.live_limits import check_live, is_live
from ppdm_sql.planning.measure_table import Measured
from ppdm_sql.planning.request import Request
from ppdm_sql.planning.staging import STAGE
from ppdm_sql.policy.policy import Publish
from ppdm_sql.release import live
from ppdm_sql.release.kinds.base import Publication
from ppdm_sql.release.kinds.report_words import ReportWords
from ppdm_sql.release.kinds.stored import CLASS_OF_ROWS, StoredRelease
from ppdm_sql.release.results import Exported, Verified
from ppdm_sql.release.reverify_live import export_live, reverify_live
from ppdm_sql.statements.names import Name
from ppdm_sql.verify.content import content_hash
from ppdm_sql.watching import Progress


class LiveView(StoredRelease):
    """No stored rows: rules in schema ppdm, and views over the source."""

    report_words = ReportWords(
        verdict="{name} holds: what it shows now meets every requirement.",
        measured="Measured again for this page, on the rows that the view shows now, by code that shares nothing with "
        "the code that made it.",
        class_meaning=CLASS_OF_ROWS,
    )
    rows_stay = False

    def takes(self, statement: Publication) -> bool:
        return isinstance(statement, Publish) and statement.live

    def describes(self, record: ReleaseRecord) -> bool:
        return is_live(record)

    # -- publishing --------------------------------------------------------------------------------

    def check(self, statement: Publication) -> None:
        assert isinstance(statement, Publish)
        check_live(statement)
        super().check(statement)

    def store(self, engine: Engine, request: Request) -> Name:
        recoding, statement = request.plan.live, request.statement
        assert recoding is not None  # check_live refused other methods
        return live.build_rows(
            engine,
            request.release_id,
            statement.query,
            request.source,
            statement.policy,
            recoding(),
            request.plan.forms,
        )

    def show(self, engine: Engine, request: Request, measured: Measured) -> None:
        """The view people read; it must show what the plan said, by rules that know nothing of the plan's rows."""
        published, name = request.plan.published, request.target.name
        live.build_view(engine, name, request.release_id, published, request.statement.policy.seed)
        if {measured.content_hash} != {content_hash(engine, one, published) for one in (STAGE, name)}:
            raise PpdmError("the view does not show the planned rows; nothing was published")

    def let_read(self, engine: Engine, request: Request, readers: Sequence[str]) -> None:
        live.let_read(engine, request.release_id, readers)

    def complete_manifest(self, content: Manifest, measured: Measured) -> Manifest:
        return replace(content, live=True)

    def fingerprint(self, engine: Engine, request: Request) -> Mapping[str, str] | None:
        return live.fingerprint(engine, request.target.name, request.release_id)

    # -- a release that is there -------------------------------------------------------------------

    def verify(self, engine: Engine, record: ReleaseRecord) -> Verified:
        return reverify_live(engine, record)

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
        return export_live(engine, record, path, options, out=out, progress=progress)

    def clear_behind(self, engine: Engine, record: ReleaseRecord) -> None:
        super().clear_behind(engine, record)
        live.drop_parts(engine, record.release_id)

    def title(self, record: ReleaseRecord) -> str:
        return "live view"


KIND = LiveView()
