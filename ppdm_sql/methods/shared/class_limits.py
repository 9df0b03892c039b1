"""What the people that a published tree cannot tell apart must have in common: decided from their class counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, TypeAlias

import numpy as np
from sqlglot import exp

from ppdm_sql.checks.histograms import parts_meet
from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.induction.criteria import Flags, Ints
from ppdm_sql.methods.base import Asked, Job
from ppdm_sql.methods.plan import ResidualRisk
from ppdm_sql.methods.shared.limits import Demands, Secret
from ppdm_sql.policy.options import Choice
from ppdm_sql.requirements import (
    Requirement,
)
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import column

_LEAST_K = 2
BORDERS = ResidualRisk(
    "borders", "a threshold between two neighbouring values reveals that someone has them, perhaps only one person each"
)


# The option borders: at numbers that enough rows lie around on both sides, or between any two values.
PINNED = "pinned"
Borders: TypeAlias = Annotated[str, Choice(PINNED, "values")]


@dataclass(frozen=True)
class Hidden:
    """A sensitive column besides the class: per combination of sensitive values (kadet_cells) the code of its own."""

    name: str
    of: tuple[int, ...]

    @property
    def sums(self) -> Ints:
        """A matrix that adds up combinations by value."""
        return np.eye(max(self.of) + 1, dtype=np.int64)[list(self.of)]


@dataclass(frozen=True)
class ClassDemands:
    """k, and what is required of sensitive columns: of each class by itself where everybody knows the class.

    Where k counts persons, or columns besides the class are sensitive, a histogram has the classes of every combination
    of sensitive values in turn, and of each twice: rows of weight 0, then those of weight 1 (kadet/kadet_cells.py).

    >>> ClassDemands(3).hold(np.array([[2, 1], [2, 0]])).tolist()
    [True, False]
    >>> ClassDemands(3, class_is_public=True).hold(np.array([[3, 4], [3, 1], [3, 0]])).tolist()
    [True, False, True]
    >>> ClassDemands(3, of_persons=True).hold(np.array([[2, 1, 2, 1], [9, 9, 2, 0]])).tolist()
    [True, False]
    >>> from ppdm_sql.requirements import DistinctDiversity
    >>> two = (Hidden("illness", (0, 1)),)
    >>> ClassDemands(2, (DistinctDiversity(2),), hidden=two).hold(np.array([[1, 0, 0, 1], [1, 1, 0, 0]])).tolist()
    [True, False]
    """

    k: int
    others: tuple[Requirement, ...] = ()
    class_is_public: bool = False
    of_persons: bool = False
    class_is_sensitive: bool = True
    hidden: tuple[Hidden, ...] = ()

    def _apart(self, counts: Ints) -> Ints:
        """Histograms by combination, weight and class."""
        combinations = len(self.hidden[0].of) if self.hidden else 1
        weights = 2 if self.of_persons else 1
        classes = counts.shape[-1] // (combinations * weights)
        return counts.reshape(*counts.shape[:-1], combinations, weights, classes)

    def rows(self, counts: Ints) -> Ints:
        """Rows per class, whatever else is known of them."""
        if not (self.of_persons or self.hidden):
            return counts
        return np.asarray(self._apart(counts).sum(axis=(-3, -2)))

    def people(self, counts: Ints) -> Ints:
        """What k counts, per class."""
        return np.asarray(self._apart(counts)[..., 1, :].sum(axis=-2)) if self.of_persons else self.rows(counts)

    def values(self, counts: Ints, one: Hidden) -> Ints:
        """Rows per value of a sensitive column, of every class."""
        return np.asarray(self._apart(counts).sum(axis=-2).swapaxes(-1, -2) @ one.sums)

    @property
    def counted(self) -> str:
        return "persons" if self.of_persons else "rows"

    @property
    def class_must_be_diverse(self) -> bool:
        return self.class_is_sensitive and not self.class_is_public and bool(self.others)

    @property
    def least_rows(self) -> int:
        """How few rows a group that meets the policy can have.

        >>> from fractions import Fraction
        >>> from ppdm_sql.requirements import DistinctDiversity, SimpleDiversity
        >>> ClassDemands(2, (SimpleDiversity(Fraction(5, 2)), DistinctDiversity(4))).least_rows
        4
        """
        return max(self.k, 1, *(item.least_rows for item in self.others))

    def hold(self, counts: Ints) -> Flags:
        """Per histogram of a populated part, whether it may be."""
        people = self.people(counts)
        if self.class_is_public:
            fine = np.asarray(((self.rows(counts) == 0) | (people >= self.k)).all(axis=-1))
        else:
            fine = np.asarray(people.sum(axis=-1) >= self.k)
        if self.class_must_be_diverse:
            left = np.flatnonzero(fine)
            fine[left] = self.are_diverse(self.rows(counts[left]))
        for one in self.hidden if self.others else ():
            left = np.flatnonzero(fine)
            fine[left] = self._is_diverse(self.values(counts[left], one))
        return fine

    def _is_diverse(self, values: Ints) -> Flags:
        """Per (class, value) table, whether the values are diverse; where the class is known those of each class."""
        groups = values if self.class_is_public else values.sum(axis=-2, keepdims=True)
        flat = groups.reshape(-1, groups.shape[-1])
        fine = flat.sum(axis=-1) == 0  # nobody is there
        fine[~fine] = self.are_diverse(flat[~fine])
        return np.asarray(fine.reshape(groups.shape[:-1]).all(axis=-1))

    def are_diverse(self, rows: Ints) -> Flags:
        """Per histogram of rows, whether it meets what is required with k."""
        fine = np.ones(len(rows), dtype=bool)
        for requirement in self.others:
            left = np.flatnonzero(fine)
            fine[left] = parts_meet(requirement, rows[left])
        return fine

    def check_whole(self, target: str, counts: Ints) -> None:
        """Refuses a table that breaks a requirement before anything is split: no tree could mend it."""
        rows, people = self.rows(counts), self.people(counts)
        if self.class_is_public:
            small = people[(rows > 0) & (people < self.k)]
            if len(small):
                raise RequirementBreached(
                    f'k = {self.k} cannot be met: the class "{target}" is public, and {len(small)} of its values have '
                    "fewer "
                    f"{self.counted} ({int(small.sum())} together); ask for a smaller k or group the values in the "
                    "SELECT"
                )
        secrets = [Secret(one.name, self.others, self.values(counts, one).sum(axis=0)) for one in self.hidden]
        if self.class_must_be_diverse or not secrets:
            secrets.insert(0, Secret(target, self.others, rows))
        whole = Demands(self.k, tuple(secrets))
        whole.check_whole(int(rows.sum()), int(people.sum()), of_persons=self.of_persons)
        wrong = [
            f'"{one.name}"' for one in self.hidden if not self._is_diverse(self.values(counts, one)[np.newaxis])[0]
        ]
        if self.others and wrong:
            raise RequirementBreached(
                f"{', '.join(item.word for item in self.others)} cannot be met for {', '.join(wrong)}: the class "
                f'"{target}" is public, and the people of one of its values alone break it; ask for less, or leave '
                "the column out"
            )


def demands_of(job: Asked, *, takes_private: bool = True) -> ClassDemands:
    """The policy's requirements; one that can protect nothing is refused rather than passed over.

    takes_private: whether the method lets a tree ask for columns that are not quasi-identifiers.
    """
    source, method, others = job.source, job.owner, job.value_requirements
    if source.target is None:
        raise PolicyError(f"{method} learns a tree that predicts a class: name the class in TARGET (...)")
    public = source.target in source.quasi
    hidden = [name for name in source.sensitive if name != source.target]
    if others and public and not hidden:
        words = ", ".join(item.word for item in others)
        raise PolicyError(
            f'{method}: "{source.target}" is both the class and a quasi-identifier, so an attacker already knows it '
            "and "
            f"{words} cannot protect it"
        )
    if others and hidden and not takes_private:
        listed = ", ".join(f'"{name}"' for name in hidden)
        raise PolicyError(
            f"{method} can keep {', '.join(item.word for item in others)} for the class only, but SENSITIVE also names "
            f"{listed}: leave these out of the SELECT, or use kadet"
        )
    sensitive = source.target in source.sensitive
    k = job.k_or(_LEAST_K)  # without k, too, no value is named and no group is formed that is one person's
    return ClassDemands(k, others, public, of_persons=job.counts_persons, class_is_sensitive=sensitive)


def hidden_columns(source: Source, demands: ClassDemands) -> list[str]:
    """The sensitive columns besides the class that something is required of."""
    return [name for name in source.sensitive if name != source.target] if demands.others else []


def attributes_of(source: Source) -> tuple[str, ...]:
    """What a tree may ask for: every column that leaves but the class."""
    return tuple(name for name in source.published if name != source.target)


def check_all_public(job: Job, demands: ClassDemands) -> None:
    """Methods that count the rows of leaves: a person's leaf is his span only where every attribute is known."""
    source = job.source
    private = [name for name in attributes_of(source) if name not in source.quasi]
    if private:
        raise PolicyError(
            f"{job.owner} counts the rows of leaves, which protects only if every attribute is public: "
            f"{_made_public(private, source.sensitive)}, or use kadet, which takes private attributes"
        )
    if demands.class_is_public:
        raise PolicyError(f'{job.owner} needs a private class, but "{source.target}" is a quasi-identifier: use kadet')
    along = next(iter(job.hierarchies), None)
    if along is not None:
        raise PolicyError(f'{job.owner} does not generalize: leave out the HIERARCHY of "{along}"')


def _made_public(private: Sequence[str], sensitive: Sequence[str]) -> str:
    """What to do about private attributes; a sensitive one is nothing to be declared known."""
    added = ", ".join(f'"{name}"' for name in private if name not in sensitive)
    left_out = ", ".join(f'"{name}"' for name in private if name in sensitive)
    ways = [f"add {added} to QUASI IDENTIFIER"] if added else []
    ways += [f"leave {left_out} out of the SELECT"] if left_out else []
    return " and ".join(ways)


def refuse_nulls(job: Job) -> None:
    """Neither paper says what an attacker knows of a value that is missing."""
    engine, source = job.engine, job.source
    names = [name for name in source.published if name in source.columns]
    counted = [exp.Count(this=exp.Star()), *(exp.Count(this=column(name)) for name in names)]
    rows, *known = engine.fetch_one(exp.Select(expressions=counted).from_(source.relation.table()))
    missing = [f'"{name}" in {rows - there}' for name, there in zip(names, known, strict=True) if there != rows]
    if missing:
        raise PolicyError(
            f"{job.owner} cannot protect NULLs ({', '.join(missing)} of {rows} rows): exclude them (WHERE ... IS NOT "
            "NULL) or replace them (COALESCE)"
        )
