"""Columns into categories: numbers and moments into intervals that tell the classes apart, from counts alone.

Fayyad, Irani: Multi-Interval Discretization of Continuous-Valued Attributes (IJCAI 1993).  The cut with the
largest gain is made if the gain pays for telling where it is (minimum description length), and both sides are
cut further.  One departure: a cut leaves at least `least` people on both sides.  An interval with fewer could
never be published, and its boundary would be pinned by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import log2

import numpy as np

from ppdm_sql.induction.criteria import entropy
from ppdm_sql.methods.shared.columns import Axis
from ppdm_sql.methods.shared.labels import interval_text
from ppdm_sql.source.lines import Ints

MISSING = "(missing)"  # a category; a release prints NULL for it
KNOWN = "(known)"  # a range without ends: any number, and not NULL
_TIE = 1e-9  # gains per row nearer than this are equal: the lower cut is taken


# -- intervals -------------------------------------------------------------------------------------------


def cut_codes(counts: Ints, held: Ints, least: int) -> list[int]:
    """The codes at which an interval starts, rising, without the first.

    counts: (code, class) rows, codes in the order of the values.  held: per code what `least` counts.

    >>> counts = np.array([[9, 0], [8, 1], [0, 9], [1, 8]])
    >>> cut_codes(counts, counts.sum(axis=1), least=1), cut_codes(counts, counts.sum(axis=1), least=19)
    ([2], [])
    """
    found: list[int] = []
    waiting = [(0, len(counts))]
    while waiting:
        first, stop = waiting.pop()
        cut = _best_cut(counts[first:stop], held[first:stop], least)
        if cut is not None:
            found.append(first + cut)
            waiting += [(first, first + cut), (first + cut, stop)]
    return sorted(found)


def _best_cut(counts: Ints, held: Ints, least: int) -> int | None:
    """Where to cut, or None when no cut is worth it."""
    total = counts.sum(axis=0)
    rows = int(total.sum())
    people = np.cumsum(held)[:-1]
    allowed = np.flatnonzero((people >= least) & (int(held.sum()) - people >= least))
    if rows < 2 or not len(allowed):
        return None
    low = np.cumsum(counts, axis=0)[:-1][allowed]
    high = total - low
    gains = (float(entropy(total)) - entropy(low) - entropy(high)) / rows
    at = int(np.argmax(gains >= gains.max() - _TIE))
    return int(allowed[at]) + 1 if gains[at] > _price(total, low[at], high[at]) + _TIE else None


def _price(total: Ints, low: Ints, high: Ints) -> float:
    """What a cut has to gain per row."""
    rows = int(total.sum())
    spread = [int((side > 0).sum()) * float(entropy(side)) / max(int(side.sum()), 1) for side in (total, low, high)]
    present = int((total > 0).sum())
    # log2(3^c - 2); beyond 60 classes the 2 is lost in the digits of a float anyway
    ways = log2(3**present - 2) if present < 60 else present * log2(3)
    return (log2(rows - 1) + ways - (spread[0] - spread[1] - spread[2])) / rows


# -- categories ------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Categories:
    """What the branches of a quasi-identifier stand for; a label of None is never printed."""

    axis: Axis
    of_code: Ints
    labels: tuple[str | None, ...]
    boundaries: tuple[str, ...] = ()  # of numbers and moments: where the intervals meet
    missing: str | None = None  # the label of NULL

    @cached_property
    def printed(self) -> list[str | None]:
        """What a release shows for each category that it names: NULL for what is missing in the source."""
        return [None if label == self.missing else label for label in self.labels]

    def __repr__(self) -> str:
        return f"Categories({self.axis.info.name!r}, {self.size})"  # the labels are data

    @property
    def size(self) -> int:
        return len(self.labels)


def categories_of(axis: Axis, counts: Ints, held: Ints, k: int) -> Categories:
    """The categories of a column from its (code, class) counts; held: per code what k counts."""
    cuts: list[int] = []
    boundaries: list[str] = []
    if axis.line is not None:
        cuts = cut_codes(counts[: axis.ordinary], held[: axis.ordinary], k)
        places = np.array(cuts, dtype=np.int64)
        boundaries = axis.line.boundaries(places, held[places] < k) if cuts else []
    plain = len(cuts) + 1 if axis.line is not None else axis.ordinary
    of_code = np.arange(axis.size)
    if axis.line is not None:
        of_code[: axis.ordinary] = np.searchsorted(places, np.arange(axis.ordinary), side="right")
        of_code[axis.ordinary :] = plain + np.arange(axis.size - axis.ordinary)
    labels: list[str | None] = _intervals(boundaries) if axis.line is not None else list(axis.texts[: axis.ordinary])
    labels += list(axis.texts[axis.ordinary : axis.size - (axis.null_code is not None)])  # NaN
    missing = _unlike(MISSING, labels) if axis.null_code is not None else None
    labels += [missing] if missing is not None else []
    return _without_the_few(Categories(axis, of_code, tuple(labels), tuple(boundaries), missing), held, k)


def _intervals(boundaries: Sequence[str]) -> list[str | None]:
    """The intervals between boundaries, in words.

    >>> _intervals(["30", "45"]), _intervals([])
    (['< 30', '[30, 45)', '>= 45'], ['(known)'])
    """
    if not boundaries:
        return [KNOWN]
    return [interval_text(low, high) for low, high in pairwise([None, *boundaries, None])]


def _unlike(text: str, labels: Sequence[str | None]) -> str:
    """The text in as many brackets as no label has: a value is never taken for a missing one.

    >>> _unlike("(missing)", ["a", "(missing)"])
    '((missing))'
    """
    while text in labels:
        text = f"({text})"
    return text


def _without_the_few(found: Categories, held: Ints, k: int) -> Categories:
    """Categories that fewer than k people hold become one, the last, which has no label."""
    people = np.bincount(found.of_code, weights=held, minlength=found.size)
    common = people >= k
    if common.all():
        return found
    kept = int(common.sum())
    place = np.where(common, np.cumsum(common) - 1, kept)
    labels = [label for label, stays in zip(found.labels, common, strict=True) if stays]
    return replace(found, of_code=place[found.of_code], labels=(*labels, None))
