"""How rows are divided into those a learner sees and those it is tested on."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ppdm_sql.errors import PolicyError
from ppdm_sql.evaluate.folds import REPEATS
from ppdm_sql.policy.words import printable

_MOST_PARTS = 100
_HELD_OUT = 3  # one part in so many


@dataclass(frozen=True)
class Protocol:
    """Rows are dealt `repeats` times into `parts`; each of the first `tested` parts is once the one to test with."""

    name: str
    parts: int
    repeats: int
    tested: int

    @property
    def folds(self) -> tuple[tuple[int, int], ...]:
        """(repeat, part to test with)."""
        return tuple((repeat, part) for repeat in range(self.repeats) for part in range(self.tested))


def read_protocol(text: str) -> Protocol:
    """holdout: a third is held out; kfold:N: each of N parts once; 5x2: five times two halves, each once.

    >>> read_protocol("kfold:10").folds[:2], len(read_protocol("5x2").folds), read_protocol("holdout").folds
    (((0, 0), (0, 1)), 10, ((0, 0),))
    """
    word = text.strip().lower()
    if word == "holdout":
        return Protocol(word, _HELD_OUT, 1, 1)
    if word == "5x2":
        return Protocol(word, 2, REPEATS, 2)
    parts = re.fullmatch(r"kfold:([0-9]{1,3})", word)
    if parts and 2 <= int(parts[1]) <= _MOST_PARTS:
        return Protocol(f"kfold:{int(parts[1])}", int(parts[1]), 1, int(parts[1]))
    raise PolicyError(f"--protocol {printable(text)}: must be holdout, 5x2, or kfold:N with N from 2 to {_MOST_PARTS}")
