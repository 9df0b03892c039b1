"""Everything a report says of a release, found out once: nothing here is shown, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ppdm_sql.catalog import evaluations, releases
from ppdm_sql.catalog.evaluations import Evaluation
from ppdm_sql.catalog.manifest import Manifest, PseudoRecord
from ppdm_sql.catalog.releases import ReleaseEvent, ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import EngineError, PolicyError
from ppdm_sql.models import library
from ppdm_sql.planning.joint import shown_name
from ppdm_sql.release.kinds.base import ReleaseKind
from ppdm_sql.release.kinds.registry import kind_of
from ppdm_sql.release.results import Verified
from ppdm_sql.report.measure_sizes import Before, ClassSizes, classes_of, source_today
from ppdm_sql.trees.tree import Tree
from ppdm_sql.watching import Progress

FILE = "release.duckdb"  # how the certificate calls the file a recipient has


@dataclass(frozen=True)
class Facts:
    record: ReleaseRecord
    verified: Verified
    classes: ClassSizes | None
    before: Before | None
    evaluation: Evaluation | None
    tree: Tree | None
    certificate: str | None
    exports: tuple[ReleaseEvent, ...]
    k: int | None  # promised of people, by the release or by the model it was made from

    @property
    def manifest(self) -> Manifest:
        return self.record.manifest

    @property
    def kind(self) -> ReleaseKind:
        return kind_of(self.record)

    @property
    def pseudo(self) -> PseudoRecord | None:
        """What pseudo-rows were made from; None for everything else."""
        return self.record.pseudo_data

    @property
    def intact(self) -> bool:
        """Whether what is stored is what was published."""
        return not self.verified.problems


def gather(engine: Engine, record: ReleaseRecord, verify: Callable[[], Verified], progress: Progress) -> Facts:
    """Measures a release, and its source as it is today."""
    progress("verifying", 0, None)
    verified = _verify_again(record, verify)
    intact, kind = not verified.problems, kind_of(record)
    progress("measuring", 0, None)
    classes = _classes(engine, record, intact=intact) if kind.describes_people else None
    counted = classes.counted if classes else "rows"
    before = source_today(engine, record, counted) if kind.describes_people else None
    return Facts(
        record=record,
        verified=verified,
        classes=classes,
        before=before,
        evaluation=evaluations.latest_for(engine, record.name),
        tree=library.load(engine, record.relation_name).tree if kind.keeps_model and intact else None,
        certificate=kind.certificate_text(engine, record, FILE) if kind.has_rows and intact else None,
        exports=tuple(item for item in releases.events(engine, record.release_id) if item.event == "exported"),
        k=kind.promised_k(engine, record),
    )


def _verify_again(record: ReleaseRecord, verify: Callable[[], Verified]) -> Verified:
    """The release measured again; what cannot even be measured does not hold."""
    try:
        return verify()
    except PolicyError as error:
        return Verified(shown_name(record), (), (str(error),), 0, 0)


def _classes(engine: Engine, record: ReleaseRecord, *, intact: bool) -> ClassSizes | None:
    try:
        return classes_of(engine, record, unchanged=intact)
    except EngineError:  # a live view whose source is gone
        return None
