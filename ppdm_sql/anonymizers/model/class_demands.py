"""What the people that a published tree cannot tell apart must have in common: decided from their class counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from ppdm_sql.anonymizers.table.demands import Demands, Secret
from ppdm_sql.checks.histograms import satisfied
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.policy.policy import Policy
from ppdm_sql.policy.requirements import Closeness, KAnonymity, Requirement
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import column
from ppdm_sql.trees.criteria import Flags, Ints


@dataclass(frozen=True)
class ClassDemands:
    """k, and what is required of the classes.  A class that everybody knows parts people as well: k holds for each.

    >>> ClassDemands(3).hold(np.array([[2, 1], [2, 0]])).tolist()
    [True, False]
    >>> ClassDemands(3, class_is_public=True).hold(np.array([[3, 4], [3, 1], [3, 0]])).tolist()
    [True, False, True]
    """

    k: int
    others: tuple[Requirement, ...] = ()
    class_is_public: bool = False

    def hold(self, counts: Ints) -> Flags:
        """Per histogram of a populated part, whether it may be."""
        if self.class_is_public:
            return np.asarray(((counts == 0) | (counts >= self.k)).all(axis=-1))
        fine = np.asarray(counts.sum(axis=-1) >= self.k)
        for requirement in self.others:
            left = np.flatnonzero(fine)
            fine[left] = satisfied(requirement, counts[left])
        return fine

    def check_whole(self, target: str, counts: Ints) -> None:
        """Refuses a table that breaks a requirement before anything is split: no tree could mend it."""
        rows = int(counts.sum())
        if self.class_is_public:
            small = counts[(counts > 0) & (counts < self.k)]
            if len(small):
                raise RequirementBreached(
                    f'k = {self.k} cannot be met: the class "{target}" is public, and {len(small)} of its values have '
                    f"fewer rows ({int(small.sum())} together); ask for a smaller k or group the values in the SELECT"
                )
        Demands(self.k, (Secret(target, self.others, counts),)).check_whole(rows, rows, of_persons=False)


def demands_of(source: Source, policy: Policy) -> ClassDemands:
    """The policy's requirements; one that a tree cannot keep is refused rather than passed over."""
    method = f"ALGORITHM {policy.algorithm}"
    if source.target is None:
        raise PolicyError(f"{method} learns a tree of classes: name the class in TARGET (...)")
    if source.entity is not None:
        raise PolicyError(f"{method} counts rows, not persons: make one row per person in the SELECT and drop ENTITY")
    k = max((item.k for item in policy.requirements if isinstance(item, KAnonymity)), default=1)
    others = tuple(item for item in policy.requirements if not isinstance(item, KAnonymity))
    public = source.target in source.quasi
    if any(isinstance(item, Closeness) for item in others):
        raise PolicyError(f"{method} does not know t: limit what a class may tell by simple_l, entropy_l or confidence")
    if others and public:
        words = ", ".join(item.word for item in others)
        raise PolicyError(
            f'{method}: "{source.target}" is the class and a quasi-identifier, so everybody knows it already and '
            f"{words} can protect nothing"
        )
    unheld = [f'"{name}"' for name in source.sensitive if name != source.target]
    if others and unheld:
        raise PolicyError(
            f"{method} keeps {', '.join(item.word for item in others)} for the class only, and SENSITIVE names "
            f"{', '.join(unheld)} as well: declare them INSENSITIVE (they stay private attributes)"
        )
    return ClassDemands(k, others, public)


def attributes_of(source: Source) -> tuple[str, ...]:
    """What a tree may ask for: every column that leaves but the class."""
    return tuple(name for name in source.published if name != source.target)


def refuse_nulls(engine: Engine, source: Source) -> None:
    """Neither paper says what an attacker knows of a value that is missing."""
    names = [name for name in source.published if name in source.columns]
    counted = [exp.Count(this=exp.Star()), *(exp.Count(this=column(name)) for name in names)]
    rows, *known = engine.fetch_one(exp.Select(expressions=counted).from_(source.relation.table()))
    missing = [f'"{name}" in {rows - there}' for name, there in zip(names, known, strict=True) if there != rows]
    if missing:
        raise PolicyError(
            f"columns hold NULL ({', '.join(missing)} of {rows} rows), and nobody can say whether an attacker lacks "
            "these values too: leave the rows out with WHERE ... IS NOT NULL, or give the values a name"
        )
