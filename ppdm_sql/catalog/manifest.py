"""What the catalog and a manifest say of a release, as typed records.

The manifest goes to recipients: what was asked, what was achieved, how it was measured, what is not promised.
The roles stay in the catalog: what VERIFY and a later publication need to know.
A damaged record is refused when it is read (`DamagedRecordError`).  Keys that a later version added are kept, so that
the hash of the record still fits.  Another `format` is refused: it says that the keys mean something else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from ppdm_sql.catalog.json_record import Columns, DamagedRecordError, JsonRecord
from ppdm_sql.catalog.store import json_text, sha256_of
from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.json_reader import read_json
from ppdm_sql.statements.handed_over import is_hidden

FORMAT = "ppdm-release/1"
UNFINISHED = "ppdm-unfinished/1"  # the format of what stands in for a manifest while files get their names
_LARGEST_FILE = 16 * 1024 * 1024
ROWLESS_FORMAT = "json"  # of an exported model

# Of each sensitive column: its leaves with their labels, level by level; None without a hierarchy.
Levels = Mapping[str, Mapping[str, tuple[str, ...]] | None]


@dataclass(frozen=True)
class FindingRecord(JsonRecord):
    """A requirement and what was achieved, for one sensitive column or for none."""

    requirement: str
    column: str | None
    achieved: str | None
    holds: bool
    breaching_classes: int
    breaching_rows: int
    statement_sha256: str | None = None

    def summary(self) -> dict[str, Any]:
        """The finding for programs that run statements, which have no use for the hash."""
        return {key: value for key, value in self.to_json().items() if key != "statement_sha256"}


@dataclass(frozen=True)
class JointRecord(JsonRecord):
    """What an attacker can do who holds a release together with others."""

    releases: tuple[str, ...] = field(metadata={"key": "with"})
    k: int
    holds: bool
    measured: bool
    breaching_classes: int
    breaching_rows: int
    private_in_one: tuple[str, ...] = ()  # columns that are raw in one release and known to another

    @property
    def breach_text(self) -> str | None:
        """What ACCEPT RISK (joint) let out; None where all joint classes are large enough.

        >>> JointRecord(("a", "b"), 5, False, True, 2, 3).breach_text
        'together with a, b there are joint classes of fewer than k = 5 (classes: 2, rows: 3)'
        """
        if self.holds:
            return None
        found = "the size of the joint classes could not be measured"
        if self.measured:
            found = f"there are joint classes of fewer than k = {self.k} "
            found += f"(classes: {self.breaching_classes:,}, rows: {self.breaching_rows:,})"
        return f"together with {', '.join(self.releases)} {found}"


@dataclass(frozen=True)
class IdentityRecord(JsonRecord):
    """Which release it is."""

    id: str
    name: str
    published_at: str


@dataclass(frozen=True)
class MakerRecord(JsonRecord):
    """The version and the engine that made a release."""

    ppdm_sql: str
    engine: str


@dataclass(frozen=True)
class FormRecord(JsonRecord):
    """The form in which a quasi-identifier is published, and the columns that have it."""

    form: str  # RANGE, MIDPOINT or NATIVE RANGE
    columns: tuple[str, ...]


Forms = Mapping[str, FormRecord]


@dataclass(frozen=True)
class PolicyRecord(JsonRecord):
    """What was asked, without the query."""

    algorithm: str
    options: Mapping[str, Any]
    requirements: tuple[str, ...]
    quasi_identifiers: tuple[str, ...]  # the published columns: rows that agree in all of them are a class
    sensitive: tuple[str, ...]
    target: str | None
    insensitive: tuple[str, ...]
    counts_entities: bool
    accepted_risks: tuple[str, ...]
    seed: int
    nulls_as_value: tuple[str, ...] | None = None  # None: an earlier version, in which every NULL counted
    forms: Forms | None = None  # quasi-identifier of the source -> its form, where it is no label
    treatments: Mapping[str, str] | None = None  # published column -> what was done to it, as the policy says
    pseudonym: str | None = None  # the published column that says by a pseudonym whose row it is

    @property
    def null_value_columns(self) -> tuple[str, ...]:
        """The sensitive columns whose NULLs count as a value."""
        return self.sensitive if self.nulls_as_value is None else self.nulls_as_value


@dataclass(frozen=True)
class PseudoRecord(JsonRecord):
    """The model that pseudo-rows were made from."""

    model: str
    model_release: str
    model_hash: str | None
    model_findings: tuple[FindingRecord, ...]


@dataclass(frozen=True)
class ExportRecord(JsonRecord):
    """The file that was exported; what is None is not said of a model, or was not by an earlier version."""

    file: str
    format: str
    sha256: str
    table: str | None = None
    spreadsheet_safe: bool | None = None
    rows: int | None = None
    content_hash: str | None = None
    companions: Mapping[str, str] | None = None  # the end of a file's name -> its sha256

    @property
    def is_model(self) -> bool:
        return self.format == ROWLESS_FORMAT

    @classmethod
    def from_json(cls, value: object, place: str = "") -> Self:
        found = super().from_json(value, place)
        if not found.is_model and (found.table is None or found.content_hash is None):
            raise DamagedRecordError(f"{place} does not say which rows were exported")
        return found


@dataclass(frozen=True)
class ColumnUtilityRecord(JsonRecord):
    """What one quasi-identifier still says; loss: 0 exact .. 1 suppressed, averaged over rows."""

    column: str
    loss: str
    suppressed_rows: int
    labels: int
    weight: str = "1"  # how often it counts in the loss of the release


@dataclass(frozen=True)
class UtilityRecord(JsonRecord):
    """What a release is still good for (planning/utility.py says how it is measured)."""

    loss: str
    left_out: int  # rows of the source that are not in the release
    average_class_size: str
    columns: tuple[ColumnUtilityRecord, ...]
    required: tuple[FindingRecord, ...] = ()  # of REQUIRE loss

    @property
    def holds(self) -> bool:
        return all(one.holds for one in self.required)

    def to_numbers(self) -> dict[str, Any]:
        """The same for programs, with numbers in place of texts."""
        return {
            "loss": float(self.loss),
            "left_out": self.left_out,
            "average_class_size": float(self.average_class_size),
            "columns": [one.to_json() | {"loss": float(one.loss), "weight": float(one.weight)} for one in self.columns],
        }


@dataclass(frozen=True)
class WeightedRiskRecord(JsonRecord):
    """Re-identification risk where rows stand for several people of a population, next to 1 / class size."""

    population: str  # the sum of all weights
    highest: str
    average: str
    unweighted_highest: str
    unweighted_average: str

    def to_numbers(self) -> dict[str, float]:
        """The same for programs, with numbers in place of texts."""
        return {key: float(text) for key, text in self.to_json().items()}


@dataclass(frozen=True)
class GrownRecord(JsonRecord):
    """Where a growing release stands after a night; the rows of a night with the same labels are a cohort."""

    night: int  # 0: the first publication
    cohorts: int  # that are out
    new_rows: int
    left_rows: int
    waiting_rows: int  # of the source that are not out
    waiting_nights: int  # the refreshes that the longest of them has waited
    changed_rows: int  # that are out as they were, and are otherwise in the source by now
    gone_rows: int  # that are out and no longer in the source
    loss_first: str | None
    loss_tonight: str | None  # of the rows that came tonight; None where none came
    returning_people: int | None = None  # with rows in several cohorts; None where no ENTITY is named
    narrowed: Mapping[str, int] | None = None  # sensitive column -> of how many its value could be narrowed down
    cohort_column: str | None = None  # that says which cohort a row is in


@dataclass(frozen=True)
class PartRecord(JsonRecord):
    """One of the tables of a release whose columns were parted."""

    table: str
    columns: Columns  # the class among them
    quasi_identifiers: tuple[str, ...]
    classes: int
    smallest: int | None  # the least of its groups, in what k counts; None: it has no quasi-identifier
    content_hash: str


@dataclass(frozen=True)
class ProjectionsRecord(JsonRecord):
    """Tables that share the class alone, and what joining them on the class gives."""

    parts: tuple[PartRecord, ...]
    target: str
    rejoin: str  # exact, class, all or none
    written: str  # the option parts that gives them again
    filtered: tuple[str, ...]  # columns that are in no table
    combinations: int  # of groups that a person has, or that the join has (rejoin = all)
    joined_smallest: int | None
    certain_rows: int  # rows whose combination leaves one class
    combinations_hash: str | None  # of the table of combinations in the database


@dataclass(frozen=True)
class Manifest(JsonRecord):
    """Everything a recipient may know about a release."""

    format: str
    release: IdentityRecord
    policy: PolicyRecord
    columns: Columns
    rows: int
    classes: int
    suppressed_rows: int | None  # None: not measured again, of what a live view shows now
    k_when_null_matches_all: int | None
    figures: Mapping[str, Any]
    findings: tuple[FindingRecord, ...]
    joint: tuple[JointRecord, ...]
    residual_risks: Mapping[str, str]
    content_hash: str
    made_by: MakerRecord
    sensitive_nulls: Mapping[str, int] | None = None  # None: an earlier version, which did not count them
    patterns: tuple[Any, ...] = ()  # trees that its rows preserve
    live: bool = False
    column_notes: Mapping[str, str] | None = None  # published column -> what a reader must know of it
    pseudo_data: PseudoRecord | None = None
    export: ExportRecord | None = None
    utility: UtilityRecord | None = None  # None: an earlier version, or a release without quasi-identifiers in rows
    growing: GrownRecord | None = None
    projections: ProjectionsRecord | None = None
    weighted_risk: WeightedRiskRecord | None = None  # None: the policy names no weights

    @classmethod
    def from_json(cls, value: object, place: str = "") -> Self:
        found = super().from_json(value, place)
        if found.format != FORMAT:
            raise DamagedRecordError(f"format is not {FORMAT}")
        return found

    @property
    def sha256(self) -> str:
        return sha256_of(json_text(self.to_json()))

    @property
    def pseudo_model(self) -> str | None:
        """Of pseudo-data the model it was made from; None for everything else."""
        return None if self.pseudo_data is None else self.pseudo_data.model

    @property
    def joint_breaches(self) -> list[str]:
        """What an attacker who also holds other releases can tell apart; nothing where all joint classes are large."""
        return [item.breach_text for item in self.joint if item.breach_text is not None]

    def to_text(self) -> str:
        """The text of the manifest's file."""
        return manifest_text(self.to_json())


@dataclass(frozen=True)
class SealedRecord(JsonRecord):
    """What the rows of a growing release that are out add up to, and what was measured of their cohorts."""

    stored: tuple[int, ...]  # rows, and a sum of the engine's own hashes of what is stored of them
    content: tuple[int, ...]  # rows, and the sums of what is published of them
    cohorts: int
    achieved: Mapping[str, str | None]  # requirement and column -> what the worst cohort has, exactly
    nulls: Mapping[str, int]  # sensitive column -> rows


@dataclass(frozen=True)
class GrowthRecord(JsonRecord):
    """What the next night of a growing release needs to know."""

    growth_id: str  # that of the first night's release
    night: int
    cohorts: int  # how many numbers of cohorts were used
    key: tuple[str, ...]
    recoding_sha256: str
    sealed: SealedRecord | None = None


@dataclass(frozen=True)
class RolesRecord(JsonRecord):
    """What each column was, and how the source looked; None: an earlier version did not say it."""

    source_columns: Mapping[str, str]
    identifiers: tuple[str, ...]
    quasi: tuple[str, ...]
    sensitive: Mapping[str, Kind]
    levels: Levels
    target: str | None
    insensitive: tuple[str, ...]
    entity: str | None
    file: str | None  # that held the statement
    nulls_as_value: tuple[str, ...] | None = None
    person_columns: tuple[str, ...] | None = None
    key_told: Mapping[str, tuple[str, ...]] | None = None  # key column -> its type, and where it comes from
    key_computed: Mapping[str, str] | None = None  # key column -> the same over the tables' own columns
    some_rows: bool | None = None  # the query leaves rows out
    known: tuple[str | tuple[str, ...], ...] | None = None  # columns behind the quasi-identifiers
    raw: tuple[str | tuple[str, ...], ...] | None = None  # columns behind what is published unchanged
    asked: tuple[str | tuple[str, ...], ...] | None = None  # an earlier version: what a model asks for
    tables: Mapping[str, tuple[str, ...]] | None = None  # table -> its columns
    live: Mapping[str, str] | None = None  # part of a live view -> its hash
    forms: Forms | None = None  # quasi-identifier -> its form, where it is no label
    growing: GrowthRecord | None = None
    cohort: str | None = None  # the published column that says in which cohort a row is
    weight: str | None = None  # the column of the sampling weights
    recoding_sha256: str | None = None  # of its document in release_recoding; None: it has none, or is older

    @property
    def published_quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers by their published columns."""
        forms = self.forms or {}
        told = [column for name in self.quasi for column in (forms[name].columns if name in forms else (name,))]
        return tuple(told) if self.cohort is None else (*told, self.cohort)

    @property
    def null_value_columns(self) -> tuple[str, ...]:
        """The sensitive columns whose NULLs count as a value; every one for an earlier version."""
        return tuple(self.sensitive) if self.nulls_as_value is None else self.nulls_as_value

    @property
    def counts_entities(self) -> bool:
        return self.entity is not None


# -- files -------------------------------------------------------------------------------------------------


def manifest_text(content: Mapping[str, Any]) -> str:
    """A manifest as a file: for people to read and for programs to parse; a hidden character becomes its number."""
    text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    return "".join(json.dumps(one)[1:-1] if one != "\n" and is_hidden(one) else one for one in text)


def read_manifest(name: str, text: str | bytes) -> Manifest:
    """The manifest in a file of this name; PolicyError where it is none."""
    content = read_json(text, name, most=_LARGEST_FILE)
    try:
        if isinstance(content, Mapping) and content.get("format") == UNFINISHED:
            raise PolicyError(f"{name}: this export was stopped before it was complete; export it again")
        found = Manifest.from_json(content)
        if found.export is None:
            raise DamagedRecordError("it does not say what was exported")
    except DamagedRecordError as cause:
        raise PolicyError(f"{name} is not a manifest that this version can read: {cause}") from None
    return found
