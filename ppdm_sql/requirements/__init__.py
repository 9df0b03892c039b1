"""What a policy can require: one class per privacy model."""

from ppdm_sql.requirements.base import (
    WORDS,
    Closeness,
    ConfidenceLimit,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    Requirement,
    SimpleDiversity,
    decimal,
)

__all__ = [
    "WORDS",
    "Closeness",
    "ConfidenceLimit",
    "DistinctDiversity",
    "EntropyDiversity",
    "KAnonymity",
    "RecursiveDiversity",
    "Requirement",
    "SimpleDiversity",
    "decimal",
]
