"""The manifest: what was asked, what was achieved, how it was measured, what is not promised.

It goes to recipients, so it holds no query text, no name of a dropped column, no value of the source.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ppdm_sql import __version__
from ppdm_sql.engines.base import Engine
from ppdm_sql.methods.plan import Risk, TablePlan
from ppdm_sql.policy.policy import Policy
from ppdm_sql.policy.words import many
from ppdm_sql.requirements import decimal
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.handed_over import is_hidden
from ppdm_sql.verify.relation import Finding, Judgement

FORMAT = "ppdm-release/1"


def manifest(
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
    risks: Sequence[Risk],
    joint: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Everything a recipient may know about a release, as plain JSON values."""
    return {
        "format": FORMAT,
        "release": {"id": release_id, "name": name, "published_at": published_at},
        "policy": {
            "algorithm": policy.algorithm,
            "options": plain(policy.options),
            "requirements": [str(requirement) for requirement in policy.requirements],
            "quasi_identifiers": list(source.quasi),
            "sensitive": list(source.sensitive),
            "nulls_as_value": sorted(source.nulls_as_value),
            "target": source.target,
            "insensitive": list(source.insensitive),
            "counts_entities": source.entity is not None,
            "accepted_risks": list(policy.accepted_risks),
            "seed": policy.seed,
        },
        "columns": listed(columns),
        "rows": judgement.rows,
        "classes": judgement.classes,
        "suppressed_rows": plan.suppressed_rows,
        "k_when_null_matches_all": k_null_matches_all,
        "sensitive_nulls": dict(judgement.nulls),
        "figures": plain(plan.figures),
        "findings": [finding_json(finding) for finding in judgement.findings],
        "joint": [dict(outcome) for outcome in joint],
        "residual_risks": {risk.name: risk.message for risk in risks},
        "content_hash": content_hash,
        "made_by": {"ppdm_sql": __version__, "engine": engine.title},
    }


def listed(columns: Mapping[str, str]) -> list[dict[str, str]]:
    """Columns with their types as JSON keeps them: in order, which an object's keys are not."""
    return [{"name": name, "type": declared} for name, declared in columns.items()]


def typed(columns: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The reverse of listed."""
    return {item["name"]: item["type"] for item in columns}


def nulls_as_value(roles: Mapping[str, Any]) -> Collection[str]:
    """The sensitive columns whose NULLs count as a value, by a record's roles or by the policy of a manifest.

    A release that does not say it was published when every NULL did: that was its promise.

    >>> nulls_as_value({"sensitive": ["a", "b"], "nulls_as_value": ["b"]}), nulls_as_value({"sensitive": ["a", "b"]})
    (['b'], ['a', 'b'])
    """
    found: Collection[str] = roles.get("nulls_as_value", list(roles["sensitive"]))
    return found


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


def recorded_readings(content: Mapping[str, Any]) -> list[str]:
    """The same as a manifest has it; nothing for a manifest that does not say how many NULLs there are."""
    return null_readings(content.get("sensitive_nulls", {}), content["rows"], nulls_as_value(content["policy"]))


def finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "requirement": str(finding.requirement),
        "column": finding.column,
        "achieved": achieved_text(finding.achieved),
        "holds": finding.holds,
        "breaching_classes": finding.breaching_classes,
        "breaching_rows": finding.breaching_rows,
        "statement_sha256": finding.statement_sha256,
    }


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


def joint_breaches(content: Mapping[str, Any]) -> list[str]:
    """What ACCEPT RISK (joint) let out, in words; nothing where all joint classes are large enough.

    >>> joint_breaches({"joint": [{"with": ["a", "b"], "k": 5, "holds": False, "measured": True,
    ...                            "breaching_classes": 2, "breaching_rows": 3}]})
    ['together with a, b there are joint classes of fewer than k = 5 (classes: 2, rows: 3)']
    """
    told = []
    for item in content.get("joint", ()):
        found = "it could not be measured how small the joint classes are"
        if item["measured"]:
            found = f"there are joint classes of fewer than k = {item['k']} "
            found += f"(classes: {item['breaching_classes']:,}, rows: {item['breaching_rows']:,})"
        if not item["holds"]:
            told.append(f"together with {', '.join(item['with'])} {found}")
    return told


def as_text(content: Mapping[str, Any]) -> str:
    """The manifest as a file: for people to read and for programs to parse; what they could not see is a number."""
    text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    return "".join(json.dumps(one)[1:-1] if one != "\n" and is_hidden(one) else one for one in text)
