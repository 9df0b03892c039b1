"""What running a statement gives back: plain data for programs, shown by commands/show.py for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from ppdm_sql.catalog import migrate, releases
from ppdm_sql.catalog.manifest import FindingRecord, JointRecord, UtilityRecord, WeightedRiskRecord
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine, Row, Table
from ppdm_sql.errors import PolicyError
from ppdm_sql.methods.plan import PlanChoice
from ppdm_sql.planning.composition import risks_of
from ppdm_sql.planning.joint import shown_name
from ppdm_sql.planning.manifest import finding_records, null_readings, recorded_readings
from ppdm_sql.planning.measure_model import MeasuredModel
from ppdm_sql.planning.measure_table import Measured
from ppdm_sql.planning.request import ModelRequest, Request
from ppdm_sql.planning.residual_risks import JOINT
from ppdm_sql.planning.utility import utility_warnings
from ppdm_sql.policy import grammar
from ppdm_sql.policy.policy import DropRelease, Export, Publish, Refresh, ShareCounts, Verify
from ppdm_sql.policy.words import many, roles_text
from ppdm_sql.release.kinds.base import ReleaseKind, pseudo_rows_text, rows_text
from ppdm_sql.release.kinds.registry import kind_of
from ppdm_sql.release.notebook_html import as_block, as_list, as_table
from ppdm_sql.release.supersede import withdrawn_by
from ppdm_sql.sharing.private.statement import CountsReported
from ppdm_sql.statements.names import Name, column

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Passed:
    """Ordinary SQL that was handed to the engine."""

    text: str
    table: Table | None

    def as_json(self) -> dict[str, Any]:
        rows = None if self.table is None else len(self.table.rows)
        return {"statement": "sql", "rows_shown": rows}


@dataclass(frozen=True)
class Published:
    """A release as it stands in the database."""

    name: str
    record: ReleaseRecord
    findings: tuple[FindingRecord, ...]
    engine: Engine

    @classmethod
    def of(cls, engine: Engine, record: ReleaseRecord) -> Published:
        return cls(record.stated_name, record, record.manifest.findings, engine)

    @property
    def rows(self) -> int:
        return int(self.record.rows or 0)

    @property
    def classes(self) -> int:
        return int(self.record.classes or 0)

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest as plain JSON values."""
        return self.record.manifest.to_json()

    @property
    def pseudo_model(self) -> str | None:
        """Of pseudo-data the model it was made from."""
        return self.record.manifest.pseudo_model

    @property
    def null_readings(self) -> list[str]:
        """How NULLs in sensitive columns were counted, where there are some."""
        return recorded_readings(self.record.manifest)

    @property
    def utility(self) -> UtilityRecord | None:
        """What the quasi-identifiers still say; None for a model, pseudo-data and releases of earlier versions."""
        return self.record.manifest.utility

    @property
    def weighted_risk(self) -> WeightedRiskRecord | None:
        """The risk with sampling weights, where the policy names their column."""
        return self.record.manifest.weighted_risk

    @property
    def outcomes(self) -> tuple[FindingRecord, ...]:
        """Everything that was required, with what was achieved: of privacy, and of utility."""
        return (*self.findings, *(() if self.utility is None else self.utility.required))

    @property
    def warnings(self) -> list[str]:
        """What to know before the release is used."""
        return utility_warnings(self.utility, self.rows, self.classes)

    @property
    def growth_lines(self) -> list[str]:
        """Of a growing release: how it stands after this night."""
        return self.kind.growth_lines(self.record)

    @property
    def withdrawn(self) -> list[str]:
        """Other names that were dropped, because this release supersedes what they showed."""
        superseded = releases.superseded_by(self.engine, self.record.release_id)
        return [name for name in superseded if name != self.record.relation_name]

    @property
    def kind(self) -> ReleaseKind:
        return kind_of(self.record)

    @property
    def ways_to_read(self) -> str:
        """In words for a release without rows, which no query reads; the query for everything else."""
        return self.kind.ways_to_read(self.record, self.sql if self.kind.has_rows else "")

    @property
    def hint(self) -> str | None:
        """Of a model that asks nothing: why it is so."""
        return self.kind.hint(self.record)

    @property
    def content_text(self) -> str:
        """What the release holds, in words."""
        return self.kind.content_text(self.record)

    @property
    def origins_text(self) -> str:
        """What the release was made from."""
        return self.kind.origins_text(self.record)

    @property
    def query(self) -> exp.Select:
        """A query for the published columns, one by one; a model has none."""
        if not self.kind.has_rows:
            raise PolicyError(f'release "{self.name}" is a model, not a table: {self.ways_to_read}')
        picked = exp.Select(expressions=[column(name) for name in self.record.columns])
        return picked.from_(self.record.name.table())

    @property
    def sql(self) -> str:
        return self.engine.render(self.query)

    def df(self) -> pd.DataFrame:
        """The release as a data frame."""
        import pyarrow as pa

        batches = list(self.engine.batches(self.query))
        return pa.Table.from_batches(batches).to_pandas() if batches else _empty(list(self.record.columns))

    def as_json(self) -> dict[str, Any]:
        return {
            "statement": "publish",
            "release": self.name,
            "release_id": self.record.release_id,
            "rows": self.rows,
            "classes": self.classes,
            "suppressed_rows": self.record.suppressed_rows,
            "findings": [finding.summary() for finding in self.outcomes],
            "content_hash": self.record.content_hash,
            "run_id": self.record.run_id,
            "loss": None if self.utility is None else float(self.utility.loss),
            "utility": None if self.utility is None else self.utility.to_numbers(),
            "weighted_risk": None if self.weighted_risk is None else self.weighted_risk.to_numbers(),
            "warnings": self.warnings,
            "withdrawn": self.withdrawn,
            "waiting": 0,
            **self._grown_json(),
        }

    def _grown_json(self) -> dict[str, Any]:
        grown = self.record.manifest.growing
        if grown is None:
            return {}
        losses = {key: None if text is None else float(text) for key, text in (
            ("loss_first", grown.loss_first), ("loss_tonight", grown.loss_tonight))}  # fmt: skip
        return {"waiting": grown.waiting_rows, "cohorts": grown.cohorts, "growing": grown.to_json() | losses}

    def _repr_html_(self) -> str:
        return as_block(self.name, self.content_text, as_table(self.outcomes))


def _empty(columns: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(columns=list(columns))


@dataclass(frozen=True)
class Verified:
    """What re-measuring a release found."""

    name: str
    findings: tuple[FindingRecord, ...]
    problems: tuple[str, ...]  # what is no longer as it was published
    rows: int
    classes: int
    notes: tuple[str, ...] = ()  # what is worth knowing and breaks no promise
    measured: str = "measured on what is stored"
    pseudo_model: str | None = None  # of pseudo-data the model it was made from: nothing is promised of its rows

    @property
    def holds(self) -> bool:
        return not self.problems and all(finding.holds for finding in self.findings)

    @property
    def verdict(self) -> str:
        """The verdict in words: nothing is promised of pseudo-rows that could hold."""
        if self.pseudo_model is not None:
            return "is unchanged since it was published" if self.holds else "has CHANGED since it was published"
        return "holds" if self.holds else "does NOT hold"

    @property
    def content_text(self) -> str:
        """What was verified, in words."""
        if self.pseudo_model is not None:
            return pseudo_rows_text(self.rows, self.pseudo_model)
        return f"{rows_text(self.rows, self.classes)}, {self.measured}"

    def as_json(self) -> dict[str, Any]:
        return {
            "statement": "verify",
            "release": self.name,
            "holds": self.holds,
            "rows": self.rows,
            "classes": self.classes,
            "measured": self.measured,
            **({} if self.pseudo_model is None else {"pseudo_data_of": self.pseudo_model}),
            "problems": list(self.problems),
            "notes": list(self.notes),
            "findings": [finding.summary() for finding in self.findings],
        }

    def _repr_html_(self) -> str:
        words = "holds" if self.holds else "does NOT hold"
        return as_block(self.name, words, as_list((*self.problems, *self.notes)), as_table(self.findings))


@dataclass(frozen=True)
class Dropped:
    name: str
    exports: int
    readers: tuple[str, ...] = ()  # roles that could read it while it was there

    @property
    def still_counts(self) -> str | None:
        """Why the release stays in the ledger, in one sentence; None when nobody can have a copy."""
        why = []
        if self.exports:
            why.append(many(self.exports, "exported copy", "exported copies") + " cannot be taken back")
        if self.readers:
            why.append(f"{roles_text(self.readers)} could read it and may have a copy")
        return f"It still counts in later publications: {', and '.join(why)}." if why else None

    def as_json(self) -> dict[str, Any]:
        return {
            "statement": "drop",
            "release": self.name,
            "exported_copies": self.exports,
            "readers": list(self.readers),
            "still_counts": self.still_counts is not None,
        }


@dataclass(frozen=True)
class Planned:
    """What a statement would do, measured on working tables; nothing of it was kept."""

    name: str
    steps: tuple[str, ...]
    statements: tuple[str, ...]
    rows: int = 0
    classes: int = 0
    findings: tuple[FindingRecord, ...] = ()
    joint: tuple[JointRecord, ...] = ()
    joint_is_accepted: bool = False  # the statement accepts the risk "joint"
    risks: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()  # how NULLs in sensitive columns are counted, where there are some
    withdraws: tuple[str, ...] = ()  # other releases that SUPERSEDES would take away
    utility: UtilityRecord | None = None
    columns: tuple[str, ...] = ()
    sample: tuple[Row, ...] = ()  # rows as they would be published
    suppressed_rows: int = 0
    weighted_risk: WeightedRiskRecord | None = None
    choices: tuple[PlanChoice, ...] = ()  # the recodings that a method chose from, the best first

    @property
    def holds(self) -> bool:
        together = self.joint_is_accepted or all(item.holds for item in self.joint)
        return together and all(finding.holds for finding in self.outcomes)

    def joint_verdict(self, outcome: JointRecord) -> str:
        """What becomes of the release because of those that it was measured with."""
        if outcome.holds:
            return "holds"
        return "does not hold, which the statement accepts" if self.joint_is_accepted else "would be refused"

    @property
    def outcomes(self) -> tuple[FindingRecord, ...]:
        """Everything that was required, with what is achieved: of privacy, and of utility."""
        return (*self.findings, *(() if self.utility is None else self.utility.required))

    @classmethod
    def of(cls, request: Request | ModelRequest, measured: Measured | MeasuredModel) -> Planned:
        return cls(
            name=str(request.name),
            steps=request.plan.steps,
            statements=(),
            rows=measured.judgement.rows,
            classes=measured.judgement.classes,
            findings=finding_records(measured.judgement.findings),
            joint=tuple(outcome.to_record() for outcome in measured.joint),
            joint_is_accepted=JOINT.name in request.statement.policy.accepted_risks,
            risks=tuple((risk.name, risk.message) for risk in (*request.risks, *risks_of(measured.joint))),
            utility=(
                measured.utility.to_record(request.statement.policy.loss_limits)
                if isinstance(measured, Measured)
                else None
            ),
            weighted_risk=measured.weighted.to_record()
            if isinstance(measured, Measured) and measured.weighted
            else None,
            columns=tuple(measured.columns) if isinstance(measured, Measured) else (),
            suppressed_rows=request.plan.suppressed_rows if isinstance(request, Request) else 0,
            choices=request.plan.choices if isinstance(request, Request) else (),
            notes=tuple(
                null_readings(measured.judgement.nulls, measured.judgement.rows, request.source.nulls_as_value)
            ),
        )

    @property
    def warnings(self) -> list[str]:
        """What to know before the release is used."""
        return utility_warnings(self.utility, self.rows, self.classes)

    @classmethod
    def in_words(cls, engine: Engine, statement: ShareCounts | Refresh | Verify | Export | DropRelease) -> Planned:
        """A statement that decides nothing from the data is explained in a sentence."""
        name = str(engine.name(statement.name))
        withdraws: tuple[str, ...] = ()
        match statement:
            case Refresh():
                step = "run the statement of the release again and replace the release if the result passes"
                withdraws = _withdrawn_by_refresh(engine, engine.name(statement.name))
            case ShareCounts():
                step = "count the rows by class and value, note it in the ledger of rounds, and write the site's file"
            case Verify():
                step = "measure every requirement on the release and compare the result with the manifest"
            case Export():
                step = "write the rows into a new file, measure them there, and keep the file if they pass"
            case DropRelease():
                step = "drop the relation and what belongs to it, and record that in the catalog"
        return cls(name=name, steps=(step,), statements=(), withdraws=withdraws)

    def as_json(self) -> dict[str, Any]:
        return {
            "statement": "plan",
            "release": self.name,
            "holds": self.holds,
            "rows": self.rows,
            "classes": self.classes,
            "steps": list(self.steps),
            "suppressed_rows": self.suppressed_rows,
            "choices": [one.as_json() for one in self.choices],
            "findings": [finding.summary() for finding in self.outcomes],
            "joint": [item.to_json() for item in self.joint],
            "residual_risks": dict(self.risks),
            "notes": list(self.notes),
            "withdraws": list(self.withdraws),
            "loss": None if self.utility is None else float(self.utility.loss),
            "utility": None if self.utility is None else self.utility.to_numbers(),
            "weighted_risk": None if self.weighted_risk is None else self.weighted_risk.to_numbers(),
            "warnings": self.warnings,
            "sample": [dict(zip(self.columns, row, strict=True)) for row in self.sample],
            "statements": list(self.statements),
        }

    def _repr_html_(self) -> str:
        joint = [f"together with {', '.join(item.releases)}: {self.joint_verdict(item)}" for item in self.joint]
        limits = [f"not promised: {name}: {message}" for name, message in self.risks]
        limits += [f"SUPERSEDES would withdraw: {', '.join(self.withdraws)}"] if self.withdraws else []
        words = "would be published" if self.holds else "would be refused"
        words = f"{words}: {rows_text(self.rows, self.classes)}" if self.findings else "(a plan)"
        steps = as_list(self.steps, numbered=True)
        return as_block(self.name, words, steps, as_table(self.outcomes), as_list([*self.notes, *joint, *limits]))


def _withdrawn_by_refresh(engine: Engine, name: Name) -> tuple[str, ...]:
    """What running a release's own statement again takes away."""
    record = releases.current(engine, name) if migrate.is_there(engine) else None
    if record is None or record.is_damaged:
        return ()
    first = grammar.parse(record.policy_text, dialect=engine.dialect)[0]
    if not isinstance(first, Publish):
        return ()
    gone = withdrawn_by(engine, first.policy.supersedes, name, record.sources, record)
    return tuple(shown_name(one) for one in gone)


@dataclass(frozen=True)
class Exported:
    """A file that was handed over, with what lies next to it."""

    name: str
    path: str
    manifest: str
    certificate: str
    rows: int
    bytes: int
    sha256: str
    script: str | None = None  # of a model: its tables and a predictor for a bare DuckDB
    audit: str | None = None  # of a model: the query for anyone who has the source
    recodes: tuple[str, ...] = ()  # of a table: what gives other rows its labels, for DuckDB and for PostgreSQL

    @property
    def companions(self) -> tuple[str, ...]:
        """Every file that was written, but for the release itself."""
        files = (self.manifest, self.certificate, self.script, self.audit, *self.recodes)
        return tuple(file for file in files if file is not None)

    @property
    def content_text(self) -> str:
        """What was written, in words."""
        if self.script is not None:
            return f"{self.bytes:,} bytes, byte for byte the model that was measured"
        return f"{many(self.rows, 'row')}, {self.bytes:,} bytes, measured again in the file"

    def as_json(self) -> dict[str, Any]:
        told = {key: value for key, value in vars(self).items() if key != "name" and value not in (None, ())}
        return {"statement": "export", "release": self.name, **told}


Result = Passed | Published | Verified | Dropped | Planned | Exported | CountsReported
