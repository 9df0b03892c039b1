"""Judge a stored relation by what its recipient sees, and by nothing else.

The second opinion on every release.  It shares no code with what made the relation, measures each requirement
with a statement of its own (sql/verify/), decides in whole numbers, and counts the classes that break a
requirement instead of trusting a minimum.  A relation without rows satisfies nothing.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from sqlglot import exp

from ppdm_sql import resources
from ppdm_sql.engines.base import Engine, Kind, Rows
from ppdm_sql.errors import PolicyError, PpdmError
from ppdm_sql.requirements import (
    Closeness,
    ConfidenceLimit,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    Requirement,
    SimpleDiversity,
)
from ppdm_sql.statements.names import Name
from ppdm_sql.statements.names import column as named_column
from ppdm_sql.verify.entropy import entropy_at_least
from ppdm_sql.verify.nulls import null_matches_all_k
from ppdm_sql.verify.paths import PATH, Levels, height, stored_path
from ppdm_sql.verify.printed import Printed, Stored

__all__ = ["Finding", "Judgement", "SensitiveColumn", "judge", "measuring_statements", "null_matches_all_k"]

DISTANCES = ("equal", "ordered", "hierarchical")


@dataclass(frozen=True)
class SensitiveColumn:
    """A sensitive column; hierarchy: per leaf's text its labels from the leaf itself up to the root.

    nulls_as_value: whether a NULL counts as a value of its own; else only known values count.
    """

    name: str
    kind: Kind
    hierarchy: Levels | None = None
    nulls_as_value: bool = False


@dataclass(frozen=True)
class Finding:
    """What was measured of one requirement, on one sensitive column where it speaks of one.

    achieved is exact and is what the worst class has: rows or entities (k), values (distinct_l), size / f1
    (simple_l), f1 / tail (recursive_l: every c above it holds; None where no c does), f1 / size (confidence),
    the greatest distance (t).  For entropy_l it is a float that the exact figure is not below.
    A class without a known value has 0 for distinct_l, simple_l and entropy_l, and None for the others.
    None for a relation without rows.

    statement_sha256 is that of the file in sql/verify/ that measured it, so sha256sum tells whether it was the
    reviewed one.
    """

    requirement: Requirement
    column: str | None
    holds: bool
    achieved: Fraction | float | None
    breaching_classes: int
    breaching_rows: int
    statement_sha256: str


@dataclass(frozen=True)
class Judgement:
    """nulls: per sensitive column that was judged and holds NULLs, how many rows."""

    rows: int
    classes: int
    findings: tuple[Finding, ...]
    nulls: Mapping[str, int] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether there are rows, something was asked of them, and all of it holds."""
        return self.rows > 0 and bool(self.findings) and all(finding.holds for finding in self.findings)


def judge(
    engine: Engine,
    relation: Name,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[SensitiveColumn],
    requirements: Sequence[Requirement],
    entity: str | None = None,
) -> Judgement:
    """Measures every requirement on the relation as it is stored; changes nothing.

    With an entity k counts distinct entities; the other requirements count rows.
    """
    needed = [*quasi, *(column.name for column in sensitive), *([entity] if entity is not None else [])]
    stored = Stored.look_up(engine, relation, needed)
    classes, rows = map(int, engine.fetch_one(stored.source(quasi).statement("extent")))
    measures = [
        measure for requirement in requirements for measure in _measures(stored, quasi, sensitive, requirement, entity)
    ]
    findings = tuple(_finding(engine, measure, rows, classes) for measure in measures)
    judged = list(dict.fromkeys(measure.column for measure in measures if measure.column is not None))
    return Judgement(rows, classes, findings, _nulls(engine, relation, judged))


def _nulls(engine: Engine, relation: Name, names: Sequence[str]) -> dict[str, int]:
    """How many rows of each column are NULL, where some are."""
    if not names:
        return {}
    counted = [exp.Count(this=exp.Star()), *(exp.Count(this=named_column(name)) for name in names)]
    rows, *known = engine.fetch_one(exp.Select(expressions=counted).from_(relation.table()))
    return {name: int(rows - there) for name, there in zip(names, known, strict=True) if there != rows}


def measuring_statements(
    engine: Engine,
    relation: Name,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[SensitiveColumn],
    requirements: Sequence[Requirement],
) -> list[tuple[Requirement, str | None, exp.Query, Mapping[str, Any]]]:
    """The statements judge() runs, with their parameters: for a certificate that others run.

    A distance along a hierarchy is left out: its statement needs a table that only the publisher has.
    """
    stored = Stored.look_up(engine, relation, [*quasi, *(column.name for column in sensitive)])
    measures = [
        measure for requirement in requirements for measure in _measures(stored, quasi, sensitive, requirement, None)
    ]
    return [
        (item.requirement, item.column, item.source.statement(item.file), item.params)
        for item in measures
        if item.hierarchy is None
    ]


# -- what to run -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Measure:
    """A statement, its parameters, and which end of its figure is the bad one."""

    requirement: Requirement
    column: str | None
    file: str
    source: Printed
    worst: Callable[[Iterable[Fraction | float]], Fraction | float]
    params: Mapping[str, Any] = field(default_factory=dict)
    hierarchy: Levels | None = None

    @property
    def sha256(self) -> str:
        return hashlib.sha256(resources.sql_text(f"verify/{self.file}").encode()).hexdigest()


def _measures(
    stored: Stored,
    quasi: Sequence[str],
    sensitive: Sequence[SensitiveColumn],
    requirement: Requirement,
    entity: str | None,
) -> Iterator[_Measure]:
    if isinstance(requirement, KAnonymity):
        yield _of_class_size(stored, quasi, requirement, entity)
        return
    if not sensitive:  # nothing to measure would be nothing to break
        raise PolicyError(f"{requirement} asks for a SENSITIVE column, and there is none")
    for column in sensitive:
        if isinstance(requirement, Closeness):
            yield _of_closeness(stored, quasi, column, requirement)
        else:
            yield _of_diversity(stored, quasi, column, requirement)


def _of_class_size(stored: Stored, quasi: Sequence[str], asked: KAnonymity, entity: str | None) -> _Measure:
    if entity is None:
        return _Measure(asked, None, "class_size", stored.source(quasi), min, {"k": asked.k})
    source = stored.source(quasi, entity=stored.entity(entity))
    return _Measure(asked, None, "entity_count", source, min, {"k": asked.k})


def _of_diversity(stored: Stored, quasi: Sequence[str], column: SensitiveColumn, asked: Requirement) -> _Measure:
    name = column.name
    source = stored.source(quasi, sensitive=stored.sensitive(name))
    reading = _reading(column)
    match asked:
        case DistinctDiversity():
            return _Measure(asked, name, "distinct_diversity", source, min, {"l": asked.l} | reading)
        case SimpleDiversity():
            return _Measure(asked, name, "simple_diversity", source, min, _ratio(asked.l) | reading)
        case ConfidenceLimit():
            return _Measure(asked, name, "confidence", source, max, _ratio(asked.limit) | reading)
        case RecursiveDiversity():
            params = {"l": asked.l} | _ratio(asked.c) | reading
            return _Measure(asked, name, "recursive_diversity", source, max, params)
        case EntropyDiversity():
            return _Measure(asked, name, "entropy_diversity", source, min, {"bound": math.log(asked.l)} | reading)
    raise PolicyError(f"{asked}: a stored relation cannot be judged by this")


def _of_closeness(stored: Stored, quasi: Sequence[str], column: SensitiveColumn, asked: Closeness) -> _Measure:
    name, distance = column.name, _distance(stored, column, asked)
    if distance != "hierarchical":
        source = stored.source(quasi, sensitive=stored.sensitive(name))
        return _Measure(asked, name, f"closeness_{distance}", source, max, _ratio(asked.t) | _reading(column))
    if column.hierarchy is None:
        raise PolicyError(f"{asked}: column {name} has no hierarchy to measure along")
    params = _ratio(asked.t) | {"levels": height(name, column.hierarchy)} | _reading(column)
    source = stored.source(quasi, sensitive=stored.text(name))
    return _Measure(asked, name, "closeness_hierarchical", source, max, params, column.hierarchy)


def _distance(stored: Stored, column: SensitiveColumn, asked: Closeness) -> str:
    """The distance that was asked for, or the one that goes with the column."""
    ordered = "ordered" if column.kind.is_ordered else "equal"
    distance = asked.distance or ("hierarchical" if column.hierarchy is not None else ordered)
    if distance not in DISTANCES:
        raise PolicyError(f"{asked}: the distances are {', '.join(DISTANCES)}")
    kind = stored.kinds[column.name]
    if distance == "ordered" and not kind.is_ordered:
        raise PolicyError(f"{asked}: column {column.name} is stored as {kind.value}, which has no order")
    return distance


def _ratio(number: Fraction) -> dict[str, int]:
    return {"numerator": number.numerator, "denominator": number.denominator}


def _reading(column: SensitiveColumn) -> dict[str, int]:
    """Whether the statement counts a NULL as a value."""
    return {"null_is_value": int(column.nulls_as_value)}


# -- running it ------------------------------------------------------------------------------------------


class _Tally(NamedTuple):
    """Classes that are alike for a requirement: whether they break it, their figure if it matters, how many."""

    breach: bool
    figure: Fraction | float | None
    classes: int
    rows: int


def _finding(engine: Engine, measure: _Measure, rows: int, classes: int) -> Finding:
    if rows == 0:
        return Finding(measure.requirement, measure.column, False, None, 0, 0, measure.sha256)
    tallies = _tallies(measure.requirement, _run(engine, measure))
    if (sum(t.rows for t in tallies), sum(t.classes for t in tallies)) != (rows, classes):
        raise PpdmError(f"the relation changed while {measure.requirement} was measured: judge it again")
    breaking = [tally for tally in tallies if tally.breach]
    return Finding(
        requirement=measure.requirement,
        column=measure.column,
        holds=not breaking,
        achieved=_achieved(measure, tallies),
        breaching_classes=sum(tally.classes for tally in breaking),
        breaching_rows=sum(tally.rows for tally in breaking),
        statement_sha256=measure.sha256,
    )


def _run(engine: Engine, measure: _Measure) -> Rows:
    if measure.hierarchy is None:
        return engine.fetch(measure.source.statement(measure.file), **measure.params)
    path = {"path": PATH.table()}
    with stored_path(engine, measure.hierarchy, measure.params["levels"]):
        strangers = int(engine.fetch_one(measure.source.statement("unplaced_values", path))[0])
        if strangers:
            raise PolicyError(f"column {measure.column}: {strangers} values have no place in its hierarchy")
        return engine.fetch(measure.source.statement(measure.file, path), **measure.params)


def _tallies(requirement: Requirement, rows: Rows) -> list[_Tally]:
    if isinstance(requirement, EntropyDiversity):
        return [_entropy_tally(requirement, *row) for row in rows]
    return [_Tally(breach == 1, _figure(over, under), int(n), int(m)) for breach, over, under, n, m in rows]


def _figure(over: Any, under: Any) -> Fraction | float | None:
    """A ratio; with nothing below it is infinite, and nothing over nothing is no distance at all."""
    if over is None:
        return None
    if int(under) == 0:
        return math.inf if int(over) else Fraction(0)
    return Fraction(int(over), int(under))


def _entropy_tally(
    requirement: EntropyDiversity,
    breach: int | None,
    counts: str | None,
    entropy: float | None,
    classes: Any,
    rows: Any,
) -> _Tally:
    if entropy is None:  # no value is known
        return _Tally(True, 0.0, int(classes), int(rows))
    if breach is None and counts is not None:
        breach = not entropy_at_least(map(int, counts.split()), requirement.l)
    effective = max(1.0, math.exp(entropy) * (1 - 1e-15))  # no entropy is below zero
    return _Tally(breach != 0, effective, int(classes), int(rows))


def _achieved(measure: _Measure, tallies: Sequence[_Tally]) -> Fraction | float | None:
    worst = measure.worst(tally.figure for tally in tallies if tally.figure is not None)
    if isinstance(measure.requirement, EntropyDiversity):
        return _entropy_figure(float(worst), measure.requirement.l, holds=not any(t.breach for t in tallies))
    return None if worst == math.inf else worst


def _entropy_figure(bound: float, l: Fraction, *, holds: bool) -> float:
    """The lower bound for people: on the same side of l as the exact decision."""
    if holds:
        return max(bound, float(l))
    return min(bound, math.nextafter(float(l), 0.0))
