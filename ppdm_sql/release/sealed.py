"""Cohorts that were measured on an earlier night need not be measured again while their rows are the same.

What k and the requirements about values say of a cohort depends on the rows of that cohort alone.  So the verdict of
last night holds tonight if these rows are what they were.  The catalog keeps what all rows that are out add up to (what
is published of them, their cohort and their person), with what the worst cohort had.  When tonight's rows of before
add up to the same, only tonight's cohorts are measured, and the worse of the two figures counts.

Everything is measured again where rows left, where the sums differ, and where a requirement looks beyond the cohort:
t, beta and delta compare it with the whole release, and k over some of the columns counts rows of several cohorts.
The sum is one of the engine's quick hashes.  It finds what was edited by mistake; VERIFY measures every cohort again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from ppdm_sql.catalog.manifest import SealedRecord
from ppdm_sql.catalog.store import json_text
from ppdm_sql.engines.base import Engine
from ppdm_sql.methods.plan import PERSON
from ppdm_sql.planning.cohorts import COHORT
from ppdm_sql.policy.policy import Policy
from ppdm_sql.release.grown_rows import rows_out
from ppdm_sql.requirements import SetAnonymity
from ppdm_sql.statements.names import Name
from ppdm_sql.verify.content import Sums, quick_sums
from ppdm_sql.verify.relation import Finding, Judgement


def stored_sums(engine: Engine, rows: Name, published: Sequence[str], night: int | None = None) -> Sums:
    """What the rows that are out add up to; night: those that were published on it."""
    columns = [*published, COHORT, PERSON]
    picked = rows_out(rows, columns, night)
    return quick_sums(engine, engine.work.view_of_text("sealed_rows", engine.render(picked)), columns)


def still_sealed(
    engine: Engine, sealed: SealedRecord | None, policy: Policy, rows: Name, published: Sequence[str]
) -> SealedRecord | None:
    """What is known of the cohorts of before; None where they have to be measured again."""
    if sealed is None or any(_looks_beyond_a_cohort(item) for item in policy.requirements):
        return None
    return sealed if stored_sums(engine, rows, published) == sealed.stored else None


def _looks_beyond_a_cohort(item: object) -> bool:
    return getattr(item, "compares_with_table", False) or isinstance(item, SetAnonymity)


def sealed_record(judgement: Judgement, stored: Sums, content: Sums) -> SealedRecord:
    """What the next night has to know of the rows that are out now."""
    achieved = {_key(one): None if one.achieved is None else str(one.achieved) for one in judgement.findings}
    return SealedRecord(stored, content, judgement.classes, achieved, dict(judgement.nulls))


def with_sealed(sealed: SealedRecord, tonight: Judgement) -> Judgement:
    """Tonight's cohorts together with those of before, which hold."""
    names = [*sealed.nulls, *(name for name in tonight.nulls if name not in sealed.nulls)]
    return replace(
        tonight,
        rows=sealed.stored[0] + tonight.rows,
        classes=sealed.cohorts + tonight.classes,
        findings=tuple(_worse(one, sealed.achieved.get(_key(one)), tonight.rows) for one in tonight.findings),
        nulls={name: sealed.nulls.get(name, 0) + tonight.nulls.get(name, 0) for name in names},
        patterns=None,
    )


def _worse(finding: Finding, before: str | None, rows: int) -> Finding:
    """A finding with the figure of the worst cohort; without rows tonight, that of before."""
    known = None if before is None else _read(before)
    if not rows:
        return replace(finding, holds=True, achieved=known)
    if known is None or finding.achieved is None:
        return replace(finding, achieved=None)
    worst = max if finding.requirement.smaller_is_stricter else min
    return replace(finding, achieved=worst(known, finding.achieved))


def _read(text: str) -> Fraction | float:
    return float(text) if "." in text or "e" in text else Fraction(text)


def _key(finding: Finding) -> str:
    return json_text([str(finding.requirement), finding.column])


def plus(one: Sums, other: Sums) -> Sums:
    """What two relations without a common row add up to."""
    return tuple(left + right for left, right in zip(one, other, strict=True))
