"""A requirement about utility: how much a release may lose.

It protects nobody, so it is no `Requirement` and no method has to keep it: it is measured on what would be published
(planning/utility.py), and what loses more is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from ppdm_sql.requirements.declared import decimal
from ppdm_sql.statements.names import Word

WORD = "loss"
EXAMPLE = "loss <= 0.4"
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class LossLimit:
    """loss <= 0.4, of all quasi-identifiers together; loss (age) <= 0.2, of one of them."""

    limit: Fraction
    column: Word | None = None

    @property
    def subject(self) -> str:
        """What is measured, as a policy writes it."""
        if self.column is None:
            return WORD
        text = self.column.text
        if self.column.quoted or not _PLAIN.fullmatch(text):
            text = '"' + text.replace('"', '""') + '"'
        return f"{WORD} ({text})"

    def __str__(self) -> str:
        """As a policy writes it.

        >>> print(LossLimit(Fraction(2, 5)), LossLimit(Fraction(1, 5), Word("age")), sep="; ")
        loss <= 0.4; loss (age) <= 0.2
        """
        return f"{self.subject} <= {decimal(self.limit)}"
