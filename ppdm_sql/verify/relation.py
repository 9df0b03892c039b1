"""Judge a stored relation by what its recipient sees, and by nothing else.

The second opinion on every release.  It shares no code with what made the relation, measures each requirement
with a statement of its own (sql/verify/), decides in whole numbers, and counts the classes that break a
requirement instead of trusting a minimum.  A relation without rows satisfies nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from sqlglot import exp

from ppdm_sql.engines.base import Engine, Kind, Rows
from ppdm_sql.errors import PolicyError, PpdmError
from ppdm_sql.requirements import About, Requirement
from ppdm_sql.statements.grouping import TOGETHER
from ppdm_sql.statements.names import Name, Word
from ppdm_sql.statements.names import column as named_column
from ppdm_sql.verify.nulls import (
    MOST_COLUMNS,
    Pattern,
    class_patterns,
    class_patterns_and_labels,
    null_matches_all_k,
)
from ppdm_sql.verify.paths import stored_path
from ppdm_sql.verify.printed import Stored
from ppdm_sql.verify.verification import VERIFICATIONS, Measure, SensitiveColumn, Subject

__all__ = ["Finding", "Judgement", "SensitiveColumn", "judge", "measuring_statements", "null_matches_all_k"]


@dataclass(frozen=True)
class Finding:
    """What was measured of one requirement, on one sensitive column where it speaks of one.

    achieved is exact and is what the worst class has: rows or entities (k), values (distinct_l), size / f1
    (simple_l), f1 / tail (recursive_l: every c above it holds; None where no c does), f1 / size (confidence),
    the greatest distance (t).  For entropy_l it is a float that the exact figure is not below.
    A class without a known value has 0 for distinct_l, simple_l and entropy_l, and None for the others.
    None for a relation without rows.

    statement_sha256 is that of the file in sql/verify/ that measured it, so sha256sum shows whether it was the
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
    """nulls: per sensitive column that was judged and holds NULLs, how many rows.

    patterns: of the classes, by the quasi-identifiers they know; None where they were not told apart.
    labels: per quasi-identifier its texts with their rows; None where they were not asked for, or are no texts.
    """

    rows: int
    classes: int
    findings: tuple[Finding, ...]
    nulls: Mapping[str, int] = field(default_factory=dict)
    patterns: Mapping[int, Pattern] | None = None
    labels: Mapping[str, Mapping[str | None, int]] | None = None

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
    populations: Mapping[tuple[Word, ...], Name] | None = None,
    patterns: Mapping[int, Pattern] | None = None,
    with_labels: bool = False,
) -> Judgement:
    """Measures every requirement on the relation as it is stored; changes nothing.

    patterns: of its classes, where they were found out already; what is measured has to have as many rows and classes.
    populations: per table that a requirement names, its people under the labels of the release.
    with_labels: what the quasi-identifiers say is counted, too.
    With an entity k counts distinct entities; the other requirements count rows.
    """
    needed = [*quasi, *(column.name for column in sensitive), *([entity] if entity is not None else [])]
    stored = Stored.look_up(engine, relation, needed)
    measures = [
        measure
        for requirement in requirements
        for measure in _measures(stored, quasi, sensitive, requirement, entity, populations or {})
    ]
    judged = list(dict.fromkeys(measure.column for measure in measures if measure.column is not None))
    texts = all(stored.kinds[name] is Kind.TEXT for name in quasi) and 0 < len(quasi) < TOGETHER
    labels: dict[str, Mapping[str | None, int]] | None = None
    if patterns is None:
        patterns, labels = _patterns(engine, stored, quasi, judged, with_labels=with_labels and texts)
    rows, classes = (sum(getattr(one, word) for one in patterns.values()) for word in ("rows", "classes"))
    findings = tuple(_finding(engine, measure, rows, classes) for measure in measures)
    known = {name: sum(one.known[place] for one in patterns.values()) for place, name in enumerate(judged)}
    nulls = {name: rows - there for name, there in known.items() if there != rows}
    return Judgement(rows, classes, findings, nulls, patterns if len(quasi) <= MOST_COLUMNS else None, labels)


def _patterns(
    engine: Engine, stored: Stored, quasi: Sequence[str], judged: Sequence[str], *, with_labels: bool
) -> tuple[dict[int, Pattern], dict[str, Mapping[str | None, int]] | None]:
    """The classes by the quasi-identifiers they know; where these are too many to tell apart, by the first of them."""
    others = {f"ppdm_s{place}": named_column(name) for place, name in enumerate(judged)}
    printed = stored.source(quasi, **others)
    if not with_labels:
        return class_patterns(engine, printed, list(others)), None
    patterns, labels = class_patterns_and_labels(engine, printed, list(others))
    return patterns, dict(zip(quasi, labels, strict=True))


def measuring_statements(
    engine: Engine,
    relation: Name,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[SensitiveColumn],
    requirements: Sequence[Requirement],
) -> list[tuple[Requirement, str | None, exp.Query, Mapping[str, Any]]]:
    """The statements judge() runs, with their parameters: for a certificate that others run.

    A distance along a hierarchy is left out: its statement needs a table that only the publisher has.  So is an
    estimate, which no statement makes.
    """
    stored = Stored.look_up(engine, relation, [*quasi, *(column.name for column in sensitive)])
    measures = [
        measure
        for requirement in requirements
        for measure in _measures(stored, quasi, sensitive, requirement, None, {})
    ]
    return [
        (item.requirement, item.column, item.source.fill(item.text), item.params)
        for measure in measures
        for item in (measure, *measure.others)
        if item.hierarchy is None and item.together is None
    ]


# -- what to run -----------------------------------------------------------------------------------------


def _measures(
    stored: Stored,
    quasi: Sequence[str],
    sensitive: Sequence[SensitiveColumn],
    requirement: Requirement,
    entity: str | None,
    populations: Mapping[tuple[Word, ...], Name],
) -> Iterator[Measure]:
    verification = VERIFICATIONS.of(requirement)
    if requirement.about is not About.VALUES:
        yield verification(requirement, Subject(stored, quasi, entity=entity, populations=populations))
        return
    if not sensitive:  # nothing to measure would be nothing to break
        raise PolicyError(f"{requirement} needs a SENSITIVE column, and there is none")
    for column in sensitive:
        yield verification(requirement, Subject(stored, quasi, column))


# -- running it ------------------------------------------------------------------------------------------


def _finding(engine: Engine, measure: Measure, rows: int, classes: int) -> Finding:
    """What a measure found, with all that were to be measured for the same requirement."""
    found = [_one_finding(engine, one, rows, classes) for one in (measure, *measure.others)]
    if len(found) == 1:
        return found[0]
    figures = [one.achieved for one in found if one.achieved is not None]
    return replace(
        found[0],
        holds=all(one.holds for one in found),
        achieved=measure.worst(figures) if figures else None,
        breaching_classes=sum(one.breaching_classes for one in found),
        breaching_rows=sum(one.breaching_rows for one in found),
    )


def _one_finding(engine: Engine, measure: Measure, rows: int, classes: int) -> Finding:
    if rows == 0:
        return Finding(measure.requirement, measure.column, False, None, 0, 0, measure.sha256)
    tallies = [measure.read_row(row) for row in _run(engine, measure)]
    counted = sum(t.classes for t in tallies) if measure.of_all_columns else classes
    if (sum(t.rows for t in tallies), counted) != (rows, classes):
        raise PpdmError(f"the relation changed while {measure.requirement} was measured; run it again")
    tallies = list(measure.together(tallies)) if measure.together is not None else tallies
    breaking = [tally for tally in tallies if tally.breach]
    worst = measure.worst(tally.figure for tally in tallies if tally.figure is not None)
    return Finding(
        requirement=measure.requirement,
        column=measure.column,
        holds=not breaking,
        achieved=measure.achieved(worst, not breaking),
        breaching_classes=sum(tally.classes for tally in breaking),
        breaching_rows=sum(tally.rows for tally in breaking),
        statement_sha256=measure.sha256,
    )


def _run(engine: Engine, measure: Measure) -> Rows:
    if measure.hierarchy is None:
        return engine.fetch(measure.source.fill(measure.text, measure.relations), **measure.params)
    with stored_path(engine, measure.hierarchy, measure.params["levels"]) as stored:
        path = {"path": stored.table()}
        strangers = int(engine.fetch_one(measure.source.statement("unplaced_values", path))[0])
        if strangers:
            raise PolicyError(f"column {measure.column}: {strangers} values have no place in its hierarchy")
        return engine.fetch(measure.source.fill(measure.text, path), **measure.params)
