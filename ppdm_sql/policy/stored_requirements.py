"""Reads requirements that stand alone: kept in a catalog, in a manifest that may be forged, or given in a call."""

from __future__ import annotations

from collections.abc import Sequence

import sqlglot

from ppdm_sql.catalog.releases import ReleaseRecord, damage_of
from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.reader import Reader, Report, UnreadablePolicyError, brackets
from ppdm_sql.policy.require import read_requirements
from ppdm_sql.policy.tokens import describe_token, source_of, tokenize
from ppdm_sql.policy.words import printable
from ppdm_sql.requirements import Requirement


def requirements(texts: Sequence[str]) -> tuple[Requirement, ...]:
    """What str() made of requirements, read again.

    >>> [str(item) for item in requirements(["k = 10", "recursive_l = (2.5, 3)", "confidence = 85 %"])]
    ['k = 10', 'recursive_l = (2.5, 3)', 'confidence = 85 %']
    """
    found, mistakes = _read(", ".join(texts))
    if mistakes or len(found) != len(texts):
        raise PolicyError("the requirements of the manifest cannot be read: it was edited, or made by a newer version")
    return found


def is_damaged(record: ReleaseRecord) -> bool:
    """Whether the record of a release cannot be read, or names a requirement that there is none of."""
    if record.is_damaged:
        return True
    if not record.requirements and record.pseudo_data is not None:  # only pseudo-data has none
        return False
    try:
        requirements(record.requirements)
    except PolicyError:
        return True
    return False


def refuse_damaged(record: ReleaseRecord) -> None:
    if is_damaged(record):
        raise damage_of(record)


def requirement(text: str) -> Requirement:
    """One requirement as a user typed it; what is wrong with it is reported as for a policy, without a place.

    >>> requirement("k = 10")
    KAnonymity(k=10)
    """
    found, mistakes = _read(text)
    if mistakes or len(found) != 1:
        raise PolicyError(*(mistakes or [f"{printable(text)} is not one requirement, such as k = 10"]))
    return found[0]


def _read(text: str) -> tuple[tuple[Requirement, ...], list[str]]:
    """The requirements of a list, and what is wrong with it."""
    source = source_of(text, None)
    report = Report(source)
    tokens = tokenize(source, sqlglot.Dialect.get_or_raise("duckdb"))
    try:
        reader = Reader(report, tokens, brackets(tokens, report))
        found = read_requirements(reader, lambda: False, lambda: False)
        if not reader.at_end and not report.mistakes:
            reader.wrong(f"expected the end of the requirement, not {describe_token(reader.peek())}")
    except UnreadablePolicyError:
        found = ()
    return found, [mistake.message for mistake in report.mistakes]
