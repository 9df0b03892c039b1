"""What was tried on a table and what it would keep, cost and risk: evaluations and their points.

A point is added when it is measured, so that an evaluation that was stopped is taken up again where it was.  Two of the
points are there to compare with: the raw rows, and the commonest class alone (MAJORITY), which an accuracy has to beat.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from fractions import Fraction
from typing import Any, Literal

from markupsafe import Markup

from ppdm_sql import __version__
from ppdm_sql.catalog import migrate
from ppdm_sql.catalog.store import append, new_id, next_number, now, ordered_json_text
from ppdm_sql.engines.base import Engine
from ppdm_sql.json_reader import read_json
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import SCHEMA, Name

Status = Literal["baseline", "measured", "refused"]

MAJORITY = "majority class"  # instead of a method: the accuracy of always saying the commonest class

_JSON = frozenset({"methods", "grid", "requirements"})


@dataclass(frozen=True)
class EvaluationPoint:
    """One method with one set of requirements, and what was found; the baseline is the raw data."""

    position: int  # in the order of the grid; 0 is the baseline
    status: Status
    algorithm: str | None
    requirements: tuple[str, ...]
    seconds: float
    reason: str | None = None  # why it was refused
    k: int | None = None
    statement: str | None = None  # that would publish it
    holds: bool | None = None
    rows: int | None = None
    suppressed_rows: int | None = None
    classes: int | None = None
    suppressed_cells: float | None = None
    information_loss: float | None = None
    discernibility: float | None = None
    classification_metric: float | None = None
    risk_max: float | None = None
    risk_mean: float | None = None
    tested: str | None = None
    accuracy: float | None = None
    accuracy_spread: float | None = None
    auc: float | None = None
    r_squared: float | None = None
    folds: tuple[Fraction, ...] | None = None  # the accuracy of each, in the order of the protocol
    workload_error: float | None = None
    workload_answered: float | None = None
    finished_at: datetime = field(default_factory=now)

    @property
    def requirements_text(self) -> str:
        """The requirements in one text."""
        return ", ".join(self.requirements)

    @property
    def loss(self) -> float | None:
        return self.information_loss

    @property
    def risk(self) -> float | None:
        return self.risk_max

    @property
    def score(self) -> float | None:
        """What a learner kept: accuracy, or R squared of a target of numbers."""
        return self.accuracy if self.accuracy is not None else self.r_squared


@dataclass(frozen=True)
class Evaluation:
    """What was to be tried, and what is known of it so far."""

    fingerprint: str
    schema_name: str | None  # None: the engine's current one; a record that was read has it by name
    relation_name: str
    policy_text: str
    methods: tuple[str, ...]
    grid: Mapping[str, list[str]]  # what is required, by its word, in the order of the axes
    protocol: str
    learner: str | None
    seed: int
    planned: int  # points of the grid, without the baseline
    rows: int
    evaluation_id: str = field(default_factory=new_id)
    version: str = __version__
    started_at: datetime = field(default_factory=now)
    baseline: EvaluationPoint | None = None
    majority: EvaluationPoint | None = None  # None where no class is predicted
    points: tuple[EvaluationPoint, ...] = ()

    @property
    def name(self) -> Name:
        return Name(self.relation_name) if self.schema_name is None else Name(self.schema_name, self.relation_name)

    @property
    def references(self) -> tuple[EvaluationPoint, ...]:
        """What the points are compared with: the commonest class alone, and the raw rows."""
        return tuple(point for point in (self.majority, self.baseline) if point is not None)

    @property
    def majority_share(self) -> float | None:
        return None if self.majority is None else self.majority.accuracy

    @property
    def measured_positions(self) -> frozenset[int]:
        """The positions that no longer need to be measured."""
        found = {point.position for point in self.points}
        return frozenset(found if self.baseline is None else found | {self.baseline.position})

    def _repr_html_(self) -> str:
        """The points as a table, for notebooks."""
        heads = ("method", "requirements", "verdict", "rows", "classes", "loss", "worst risk", "accuracy", "AUC")
        row, head, cell = Markup("<tr>{}</tr>"), Markup('<th scope="col">{}</th>'), Markup("<td><bdi>{}</bdi></td>")
        lines = [row.format(Markup().join(head.format(word) for word in heads))]
        for point in (*self.references, *self.points):
            lines.append(row.format(Markup().join(cell.format(text) for text in _in_words(point))))
        told = Markup("<p><b><bdi>{}</bdi></b> {} rows, {}</p>").format(str(self.name), f"{self.rows:,}", self.protocol)
        return str(Markup("{}<table>{}</table>").format(told, Markup().join(lines)))


def _in_words(point: EvaluationPoint) -> tuple[str, ...]:
    """A point as the cells of a table."""

    def number(value: float | None, form: str) -> str:
        return "" if value is None else format(value, form)

    verdict = "" if point.holds is None else "holds" if point.holds else "breached"
    return (
        point.algorithm or "raw data",
        point.requirements_text,
        "refused" if point.status == "refused" else verdict,
        number(point.rows, ","),
        number(point.classes, ","),
        number(point.loss, ".3f"),
        number(point.risk, ".3%"),
        number(point.score, ".2%"),
        number(point.auc, ".3f"),
    )


_POINT = (
    "position", "status", "reason", "algorithm", "requirements", "k", "statement", "holds", "rows", "suppressed_rows",
    "classes", "suppressed_cells", "information_loss", "discernibility", "classification_metric", "risk_max",
    "risk_mean", "tested", "accuracy", "accuracy_spread", "auc", "r_squared", "folds", "workload_error",
    "workload_answered", "seconds", "finished_at",
)  # fmt: skip
_HEAD = (
    "evaluation_id", "fingerprint", "schema_name", "relation_name", "policy_text", "methods", "grid", "protocol",
    "learner", "seed", "planned", "rows", "version", "started_at",
)  # fmt: skip
assert set(_POINT) == {one.name for one in fields(EvaluationPoint)}


# -- writing ---------------------------------------------------------------------------------------


def start(engine: Engine, evaluation: Evaluation) -> Evaluation:
    """Notes an evaluation that begins, and gives it with its schema by name; its points are added one by one."""
    if evaluation.schema_name is None:
        (schema,) = engine.fetch_one(statement("catalog/current_schema"))
        evaluation = replace(evaluation, schema_name=schema)
    row = {name: _column_value(name, getattr(evaluation, name)) for name in _HEAD}
    row["points"] = row.pop("planned")
    with engine.transaction():
        append(engine, "evaluation", row, seq=next_number("evaluation"))
    return evaluation


def add_point(engine: Engine, evaluation_id: str, point: EvaluationPoint) -> None:
    """Notes a point in a transaction of its own: whatever becomes of the next one, this one is kept."""
    row = {name: _column_value(name, getattr(point, name)) for name in _POINT}
    with engine.transaction():
        append(engine, "evaluation_point", {"point_id": new_id(), "evaluation_id": evaluation_id, **row})


def _column_value(name: str, value: Any) -> Any:
    if name == "folds":
        return None if value is None else ordered_json_text([str(one) for one in value])
    if name in _JSON:
        return ordered_json_text(list(value) if isinstance(value, tuple) else value)
    return str(value) if name == "seed" else value


# -- reading ---------------------------------------------------------------------------------------


def find_same(engine: Engine, fingerprint: str) -> Evaluation | None:
    """The newest evaluation that asked the same, with its points."""
    return _newest(engine, fingerprint=fingerprint, relation=None, schema=None)


def latest_for(engine: Engine, release_name: Name) -> Evaluation | None:
    """The newest evaluation of what this release publishes, with its points; None where there is none."""
    if not _is_there(engine):
        return None
    return _newest(engine, fingerprint=None, relation=release_name.last, schema=release_name.schema)


def points(engine: Engine, evaluation_id: str) -> list[EvaluationPoint]:
    """Every point measured so far, the baseline among them, in the order of the grid."""
    rows = engine.fetch(statement("catalog/evaluation_points"), evaluation_id=evaluation_id)
    return [EvaluationPoint(**_values(_POINT, row)) for row in rows]


def _is_there(engine: Engine) -> bool:
    """A database that was last opened by an older version has a catalog without evaluations."""
    return migrate.is_there(engine) and engine.relation_kind(Name(SCHEMA, "evaluation_point")) is not None


def _newest(engine: Engine, **asked: str | None) -> Evaluation | None:
    naming = statement("catalog/naming").subquery()
    rows = engine.fetch(statement("catalog/evaluations", {"naming": naming}), **asked)
    if not rows:
        return None
    head = _values(_HEAD, rows[0])
    found = points(engine, head["evaluation_id"])
    compared = {point.algorithm: point for point in found if point.status == "baseline"}
    return Evaluation(
        **head,
        baseline=compared.get(None),
        majority=compared.get(MAJORITY),
        points=tuple(point for point in found if point.status != "baseline"),
    )


def _values(names: tuple[str, ...], row: tuple[Any, ...]) -> dict[str, Any]:
    return {name: _read(name, value) for name, value in zip(names, row, strict=True)}


def _read(name: str, value: Any) -> Any:
    if name == "folds":
        return None if value is None else tuple(map(Fraction, read_json(value, "the catalog")))
    if name in _JSON:
        found = read_json(value, "the catalog")
        return tuple(found) if isinstance(found, list) else found
    return int(value) if name == "seed" else value
