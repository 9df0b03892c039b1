"""Pseudo-data: a table of rows made from a released model; nothing is measured on it, and nothing is promised of it."""

from __future__ import annotations

from collections.abc import Collection

from ppdm_sql.catalog import releases
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.planning.planner import Planner
from ppdm_sql.policy.policy import PseudoData
from ppdm_sql.release.kinds.base import Publication, pseudo_rows_text
from ppdm_sql.release.kinds.report_words import ReportWords
from ppdm_sql.release.kinds.stored import StoredRelease
from ppdm_sql.release.preview_pseudo_data import preview_pseudo_data
from ppdm_sql.release.pseudo import comment_on, publish_pseudo, read_order
from ppdm_sql.release.pseudo_links import models_of
from ppdm_sql.release.results import Planned
from ppdm_sql.statements.names import Name


class PseudoDataRelease(StoredRelease):
    """Rows that describe nobody; verified, exported and withdrawn as every stored table."""

    report_words = ReportWords(
        verdict="{name} is unchanged: its rows describe nobody and carry no guarantee but that of their model.",
        other_columns="pseudo",
    )
    describes_people = False

    def takes(self, statement: Publication) -> bool:
        return isinstance(statement, PseudoData)

    def describes(self, record: ReleaseRecord) -> bool:
        return record.pseudo_data is not None

    def check(self, statement: Publication) -> None:
        assert isinstance(statement, PseudoData)
        read_order(statement)

    def plan(self, planner: Planner, statement: Publication, coming: Collection[Name] = ()) -> Planned:
        assert isinstance(statement, PseudoData)
        return preview_pseudo_data(planner.engine, statement, frozenset(coming))

    def publish(self, planner: Planner, statement: Publication, run_id: str) -> ReleaseRecord:
        assert isinstance(statement, PseudoData)
        return publish_pseudo(planner.engine, statement, run_id, planner.progress)

    def comment(self, record: ReleaseRecord) -> str | None:
        return comment_on(record)

    def originals(self, engine: Engine, record: ReleaseRecord) -> list[ReleaseRecord]:
        return models_of(engine, record)

    # -- words -------------------------------------------------------------------------------------

    def title(self, record: ReleaseRecord) -> str:
        return "pseudo-data, describes nobody"

    def promised_k(self, engine: Engine, record: ReleaseRecord) -> int | None:
        model = None if record.pseudo_data is None else releases.by_id(engine, record.pseudo_data.model_release)
        return None if model is None else model.k_promised

    def content_text(self, record: ReleaseRecord) -> str:
        return pseudo_rows_text(int(record.rows or 0), str(record.manifest.pseudo_model))

    def origins_text(self, record: ReleaseRecord) -> str:
        return f"model {record.manifest.pseudo_model}"


KIND = PseudoDataRelease()
