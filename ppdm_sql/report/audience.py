"""Who reads the page, and what such a reader may be told.

Internal: the publisher's own people.  They may see the statement and exact counts; values of the data they do not see
either, unless the release itself publishes them.

Public: anybody.  No statement, no name or path of a source, no value, and no count from which fewer than k could be
told; the difference of two counts is such a count, too, which is why what was measured of the source is given in whole
percents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ppdm_sql.errors import PolicyError

Readers = Literal["internal", "public"]
READERS: tuple[str, ...] = get_args(Readers)
_WITHOUT_K = 10  # what counts as few where no k was promised


@dataclass(frozen=True)
class Audience:
    public: bool
    k: int

    @classmethod
    def of(cls, readers: str, k: int | None) -> Audience:
        if readers not in READERS:
            raise PolicyError(f"a report must be for {' or '.join(READERS)}")
        return cls(readers == "public", k or _WITHOUT_K)

    @property
    def name(self) -> str:
        return "public" if self.public else "internal"

    def count(self, number: int) -> str:
        """A count of people, rows or classes.

        >>> Audience(True, 10).count(7), Audience(True, 10).count(0), Audience(False, 10).count(7)
        ('fewer than 10', '0', '7')
        """
        return f"fewer than {self.k}" if self.hides(number) else f"{number:,}"

    def hides(self, number: int) -> bool:
        return self.public and 0 < number < self.k

    def percent(self, share: float | None) -> str:
        r"""A share.  In public it is rounded so far that the number of people behind it cannot be told.

        >>> Audience(False, 10).percent(0.1234), Audience(True, 10).percent(0.1234), Audience(True, 10).percent(0.9999)
        ('12.3\xa0%', '12\xa0%', 'over 99\xa0%')
        """
        if share is None:
            return "–"
        part = 100 * share
        if not self.public or part in (0, 100):
            return f"{_digits(part)}\xa0%"
        if part < 1:
            return "below 1\xa0%"
        return "over 99\xa0%" if part > 99 else f"{part:.0f}\xa0%"

    def worst(self, share: float) -> str:
        r"""The risk of the person who is easiest to find; in public a risk above 1 / k is not counted out.

        >>> Audience(True, 10).worst(1.0), Audience(True, 10).worst(1 / 12)
        ('over 10\xa0%', '8\xa0%')
        """
        if self.public and share * self.k > 1 + 1e-9:
            return f"over {_digits(100 / self.k)}\xa0%"
        return self.percent(share)


def _digits(part: float) -> str:
    """Three digits, and nothing that is not all is called 100.

    >>> _digits(99.996), _digits(0.0004), _digits(5.0)
    ('99.9', '0.0004', '5')
    """
    return f"{part:.3g}" if part in (0, 100) or not 99.9 < part < 100 else "99.9"
