"""What every kind of release can do: be planned, published, verified, exported and withdrawn.  registry.py lists them.

Outside of this folder nothing asks which kind a release is of: it asks the kind to do its part, or one of the flags.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.planning.planner import Planner
from ppdm_sql.policy.policy import PseudoData, Publish
from ppdm_sql.policy.words import many
from ppdm_sql.release.kinds.report_words import ReportWords
from ppdm_sql.statements.names import Name
from ppdm_sql.watching import Progress

if TYPE_CHECKING:
    from ppdm_sql.release.results import Exported, Planned, Verified

Publication = Publish | PseudoData  # a statement that makes a release


def rows_text(rows: int, classes: int) -> str:
    return f"{many(rows, 'row')} in {many(classes, 'class', 'classes')}"


def pseudo_rows_text(rows: int, model: str) -> str:
    told = f"{many(rows, 'pseudo-row')} made from model {model}"
    return f"{told}; they describe nobody and carry no guarantee of their own"


class ReleaseKind(ABC):
    """One kind of release."""

    report_words: ClassVar[ReportWords]
    has_rows: ClassVar[bool] = True  # people query a relation; without rows it is kept in the catalog alone
    keeps_model: ClassVar[bool] = False  # it is one of the catalog's models, which pseudo-data can be made from
    describes_people: ClassVar[bool] = True  # requirements are measured on it
    rows_stay: ClassVar[bool] = True  # what it shows is what was published, until it is published again

    @abstractmethod
    def takes(self, statement: Publication) -> bool:
        """Whether the statement makes a release of this kind."""

    @abstractmethod
    def describes(self, record: ReleaseRecord) -> bool:
        """Whether the record is of this kind; also asked of records whose JSON is damaged."""

    # -- publishing --------------------------------------------------------------------------------

    @abstractmethod
    def check(self, statement: Publication) -> None:
        """Refuses, before anything is read, what this version cannot do."""

    @abstractmethod
    def find_former(self, engine: Engine, statement: Publication) -> ReleaseRecord | None:
        """The release that has the statement's name; refuses a name that cannot be published under."""

    @abstractmethod
    def plan(self, planner: Planner, statement: Publication, coming: Collection[Name] = ()) -> Planned:
        """What would be published, measured on working tables; coming: models that earlier statements publish."""

    @abstractmethod
    def publish(self, planner: Planner, statement: Publication, run_id: str) -> ReleaseRecord:
        """Stores, measures and records the release in one transaction, or changes nothing."""

    # -- a release that is there -------------------------------------------------------------------

    def plan_refresh(self, planner: Planner, statement: Publication, record: ReleaseRecord) -> Planned | None:
        """What REFRESH would publish, where that is not the whole release again."""
        return None

    def refresh_statement(self, statement: Publish, record: ReleaseRecord) -> Publish:
        """The statement as REFRESH runs it, with what the release keeps of its first night."""
        return statement

    def growth_lines(self, record: ReleaseRecord) -> list[str]:
        """How the release grew, for people."""
        return []

    @abstractmethod
    def verify(self, engine: Engine, record: ReleaseRecord) -> Verified:
        """Whether the release is what was published and still meets its requirements; notes the outcome."""

    @abstractmethod
    def export_files(self, path: str, options: Mapping[str, Any], out: Path) -> list[Path]:
        """The file an export would write, and then those that go with it; refuses a wrong name or option."""

    @abstractmethod
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
        """Writes the release into new files, measured there, or leaves everything as it was."""

    @abstractmethod
    def withdraw(self, engine: Engine, record: ReleaseRecord) -> None:
        """Takes away what the release shows and what lies behind it, in the caller's transaction."""

    @abstractmethod
    def clear_behind(self, engine: Engine, record: ReleaseRecord) -> None:
        """Drops what lies behind a release whose name shows another one now."""

    def relation(self, record: ReleaseRecord) -> Name | None:
        """The relation that a role can have been granted; None where there is none."""
        return record.name

    def is_overlaid(self, engine: Engine, record: ReleaseRecord) -> bool:
        """Whether the release's name shows a relation that is not the release's."""
        return False

    def comment(self, record: ReleaseRecord) -> str | None:
        """What a database that holds an exported copy says of it."""
        return None

    def certificate_text(self, engine: Engine, record: ReleaseRecord, file: str) -> str | None:
        """The certificate that would lie next to an export under this name."""
        from ppdm_sql.release.export.certificate_today import certificate_today

        return certificate_today(engine, record, file)

    def published_columns(self, record: ReleaseRecord) -> Mapping[str, str]:
        """What people read, with its types."""
        return record.manifest.columns

    # -- releases that give one another back -------------------------------------------------------

    def copies(self, engine: Engine, record: ReleaseRecord) -> list[ReleaseRecord]:
        """Releases that reveal this one to their recipients: pseudo-data gives its model back."""
        return []

    def originals(self, engine: Engine, record: ReleaseRecord) -> list[ReleaseRecord]:
        """Releases that this one gives back: the reverse of copies."""
        return []

    # -- words -------------------------------------------------------------------------------------

    @abstractmethod
    def title(self, record: ReleaseRecord) -> str:
        """What a report calls the release: table, view, model."""

    @abstractmethod
    def ways_to_read(self, record: ReleaseRecord, query: str) -> str:
        """How people read the release; query: the SELECT of its columns, rendered."""

    def content_text(self, record: ReleaseRecord) -> str:
        """What the release holds."""
        return rows_text(int(record.rows or 0), int(record.classes or 0))

    def origins_text(self, record: ReleaseRecord) -> str:
        """What the release was made from."""
        return ", ".join(record.sources)

    def promised_k(self, engine: Engine, record: ReleaseRecord) -> int | None:
        """The k that was promised of people; a public report hides smaller counts."""
        return record.k_promised

    def hint(self, record: ReleaseRecord) -> str | None:
        """What to say of a release that holds nothing of use."""
        return None
