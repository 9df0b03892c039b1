"""The manifest: what was asked, what was achieved, how it was measured, what is not promised.

It goes to recipients, so it holds no query text, no name of a dropped column, no value of the source.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ppdm_sql import __version__
from ppdm_sql.catalog.manifest import (
    FORMAT,
    FindingRecord,
    FormRecord,
    IdentityRecord,
    JointRecord,
    MakerRecord,
    Manifest,
    PolicyRecord,
    UtilityRecord,
    WeightedRiskRecord,
)
from ppdm_sql.engines.base import Engine
from ppdm_sql.methods.plan import ResidualRisk, TablePlan
from ppdm_sql.policy.forms import form_columns
from ppdm_sql.policy.policy import Policy
from ppdm_sql.policy.words import many
from ppdm_sql.requirements import decimal
from ppdm_sql.source.relation import Source
from ppdm_sql.verify.relation import Finding, Judgement


def build_manifest(
    *,
    release_id: str,
    name: str,
    published_at: str,
    engine: Engine,
    source: Source,
    policy: Policy,
    plan: TablePlan,
    judgement: Judgement,
    k_null_matches_all: int | None,
    content_hash: str,
    columns: Mapping[str, str],
    risks: Sequence[ResidualRisk],
    joint: Sequence[JointRecord],
    utility: UtilityRecord | None = None,
    weighted: WeightedRiskRecord | None = None,
) -> Manifest:
    """Everything a recipient may know about a release."""
    return Manifest(
        format=FORMAT,
        release=IdentityRecord(release_id, name, published_at),
        policy=PolicyRecord(
            algorithm=policy.algorithm,
            options=plain(policy.options),
            requirements=tuple(str(requirement) for requirement in policy.requirements),
            quasi_identifiers=source.release_quasi,
            sensitive=tuple(source.sensitive),
            nulls_as_value=tuple(sorted(source.nulls_as_value)),
            target=source.target,
            insensitive=tuple(source.insensitive),
            counts_entities=source.entity is not None,
            accepted_risks=tuple(policy.accepted_risks),
            seed=policy.seed,
            forms=form_records(source),
            treatments={name: f"{one.word} {one}".strip() for name, one in source.treated.items()} or None,
            pseudonym=source.pseudonym,
        ),
        columns=dict(columns),
        rows=judgement.rows,
        classes=judgement.classes,
        suppressed_rows=plan.suppressed_rows,
        k_when_null_matches_all=k_null_matches_all,
        sensitive_nulls=dict(judgement.nulls),
        figures=plain(plan.figures),
        findings=finding_records(judgement.findings),
        joint=tuple(joint),
        residual_risks={risk.name: risk.message for risk in risks},
        content_hash=content_hash,
        made_by=MakerRecord(__version__, engine.title),
        patterns=tuple(plan.patterns),
        column_notes=dict(plan.notes) or None,
        utility=utility,
        weighted_risk=weighted,
    )


def form_records(source: Source) -> dict[str, FormRecord] | None:
    """The forms of the quasi-identifiers that are not published as labels; None where all are."""
    return {name: FormRecord(form.value, form_columns(name, form)) for name, form in source.forms.items()} or None


def null_readings(nulls: Mapping[str, int], rows: int, counting: Collection[str]) -> list[str]:
    """How the NULLs of sensitive columns were read, one sentence per column that holds some.

    >>> null_readings({"diagnosis": 4}, 12, counting=[])
    ['"diagnosis" is NULL in 4 of 12 rows: l, confidence and t measure the known values only']
    """
    readings = {
        True: "NULL counts as a value of its own (NULLS AS VALUE)",
        False: "l, confidence and t measure the known values only",
    }
    return [
        f'"{name}" is NULL in {missing:,} of {many(rows, "row")}: {readings[name in counting]}'
        for name, missing in nulls.items()
    ]


def recorded_readings(content: Manifest) -> list[str]:
    """The same as a manifest has it; nothing for a manifest that does not say how many NULLs there are."""
    return null_readings(content.sensitive_nulls or {}, content.rows, content.policy.null_value_columns)


def finding_records(findings: Iterable[Finding]) -> tuple[FindingRecord, ...]:
    """What the judge found, as a manifest says it."""
    return tuple(
        FindingRecord(
            requirement=str(finding.requirement),
            column=finding.column,
            achieved=achieved_text(finding.achieved),
            holds=finding.holds,
            breaching_classes=finding.breaching_classes,
            breaching_rows=finding.breaching_rows,
            statement_sha256=finding.statement_sha256,
        )
        for finding in findings
    )


def achieved_text(achieved: Fraction | float | int | None) -> str | None:
    """A figure for people: exact where it is short, otherwise four digits.

    >>> achieved_text(Fraction(12)), achieved_text(Fraction(7, 3)), achieved_text(None)
    ('12', '2.333', None)
    """
    if achieved is None:
        return None
    if isinstance(achieved, Fraction):
        exact = decimal(achieved)
        if len(exact) <= 8 and "/" not in exact:
            return exact
    return f"{float(achieved):.4g}"


def plain(value: Any) -> Any:
    """Options and figures as JSON values; an exact number as its decimal text when it is not whole."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else achieved_text(value)
    return value
