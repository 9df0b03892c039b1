"""Reads requirements back from the text they were kept as: a catalog's, or a manifest's that may be forged."""

from __future__ import annotations

from collections.abc import Sequence

import sqlglot

from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.reader import Reader, Report, UnreadableError, brackets
from ppdm_sql.policy.require import read_requirements
from ppdm_sql.policy.requirements import Requirement
from ppdm_sql.policy.tokens import source_of, tokenize


def requirements(texts: Sequence[str]) -> tuple[Requirement, ...]:
    """What str() made of requirements, read again.

    >>> [str(item) for item in requirements(["k = 10", "recursive_l = (2.5, 3)", "confidence = 85 %"])]
    ['k = 10', 'recursive_l = (2.5, 3)', 'confidence = 85 %']
    """
    source = source_of(", ".join(texts), None)
    report = Report(source)
    tokens = tokenize(source, sqlglot.Dialect.get_or_raise("duckdb"))
    try:
        reader = Reader(report, tokens, brackets(tokens, report))
        found = read_requirements(reader, lambda: False, lambda: False)
    except UnreadableError:
        found = ()
    if report.mistakes or not reader.done or len(found) != len(texts):
        raise PolicyError("the requirements of the manifest cannot be read: it was edited, or made by a newer version")
    return found
