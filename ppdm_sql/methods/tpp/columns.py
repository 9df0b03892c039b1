"""A column that trees may split: its values by code, what may be published of it, and in which words.

Numbers and moments are published as the intervals that the trees leave, which hold the true value: [30, 45), < 30.
With numbers = shifted they keep their type and are stand-ins, as in the paper.  A group of categories is printed as a
list, {a, b}; categories that fewer than k people hold are never named, {a, ...} says that there are some.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.induction.candidates import Found
from ppdm_sql.methods.shared.columns import Axis
from ppdm_sql.methods.shared.labels import escaped, interval_text
from ppdm_sql.methods.tpp.preserved_trees import Names
from ppdm_sql.methods.tpp.recoding import Number, Pair, recode_categories, recode_numbers, whole_intervals
from ppdm_sql.source.lines import Flags

_SHORT_FLOATS = {"FLOAT", "REAL", "FLOAT4"}  # 32 bits, in the engines' own words
_LONGEST_LIST = 40
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)


@dataclass(frozen=True)
class RecodedColumn:
    """What is published of a column: the group of every code, and the text of every group (None is NULL)."""

    groups: tuple[int, ...]
    texts: tuple[str | None, ...]
    keeps_type: bool
    kept: frozenset[int] = frozenset()  # codes of boundaries that are published unchanged
    borders: tuple[str, ...] = ()  # of intervals: where each one but the first starts


@dataclass(frozen=True)
class Splits:
    """The splits of a column, of all nodes of all trees."""

    pairs: tuple[Pair, ...] = ()
    branches: tuple[tuple[tuple[int, ...], ...], ...] = ()
    multiway: bool = False

    def __add__(self, other: Splits) -> Splits:
        return Splits(self.pairs + other.pairs, self.branches + other.branches, self.multiway or other.multiway)


def splits_of(found: Found, *, multiway: bool) -> Splits:
    if found.cut is not None and found.above is not None:
        return Splits(pairs=((found.cut, found.above),))
    return Splits(branches=(tuple(tuple(map(int, codes)) for codes in found.groups),), multiway=multiway)


@dataclass(frozen=True)
class Column:
    """A column with its values.  common: per code, whether at least k people hold the value."""

    axis: Axis
    common: Flags

    @property
    def name(self) -> str:
        return self.axis.info.name

    @property
    def ordered(self) -> bool:
        return self.axis.info.kind.is_ordered

    def check_values(self, rows: int) -> None:
        """A NULL, a NaN or an infinite number is on no side of a cut, or has no mean: such columns are refused."""
        if not self.ordered:
            return
        missing = rows - int(self.axis.rows.sum())
        if missing:
            raise PolicyError(
                f'column "{self.name}" has {missing} NULLs, which are on neither side of a threshold: replace them in '
                "the "
                "SELECT, exclude the rows, or cast the column to text"
            )
        ends = (0, self.axis.ordinary - 1) if self.axis.ordinary else ()
        strange = list(range(self.axis.ordinary, len(self.axis.texts)))
        strange += [code for code in set(ends) if _INFINITE.match(self.axis.texts[code].strip())]
        if strange:
            count = sum(int(self.axis.rows[code]) for code in strange)
            raise PolicyError(f'column "{self.name}" has {count} values that are infinite or NaN, so it has no mean')

    # -- what may be published ---------------------------------------------------------------------

    def shown(self, splits: Splits) -> RecodedColumn:
        """The column as coarse as these splits allow, in words."""
        if self.ordered:
            return self._intervals(splits.pairs)
        if splits.multiway:
            return replace(self.as_it_is(), keeps_type=False)
        groups = recode_categories(self.axis.size, splits.branches)
        return RecodedColumn(groups, self._labels(groups)[0], False)

    def shifted(self, splits: Splits, *, absorb: bool, paper: bool) -> RecodedColumn:
        """The same with the paper's numbers."""
        if self.ordered:
            return self._numbers(splits.pairs, absorb, paper)
        if splits.multiway:
            return self.as_it_is()
        groups = recode_categories(self.axis.size, splits.branches)
        return RecodedColumn(groups, *self._labels(groups))

    def as_it_is(self) -> RecodedColumn:
        texts = (*self.axis.texts, *((None,) if self.axis.null_code is not None else ()))
        return RecodedColumn(tuple(range(self.axis.size)), texts, True)

    def constant(self, marker: str, *, shifted: bool, mean: bool) -> tuple[str | None, bool]:
        """What stands in every row when no tree looks at the column, and whether the column keeps its type."""
        if self.axis.info.kind is Kind.TEXT or not shifted:
            return marker, False
        if not self.ordered or not mean:
            return None, True
        total = sum(tick * int(n) for tick, n in zip(self.ticks, self.axis.rows, strict=True))
        return self.text(total // int(self.axis.rows.sum())), True

    @cached_property
    def ticks(self) -> list[int]:
        assert self.axis.line is not None
        return [int(tick) for tick in self.axis.line.ticks]

    def text(self, tick: Number) -> str:
        """A number of the column's own grid, as its type reads it."""
        line = self.axis.line
        assert line is not None
        return line.write(int(tick) * line.grain)

    def _intervals(self, pairs: Sequence[Pair]) -> RecodedColumn:
        line = self.axis.line
        assert line is not None
        groups = whole_intervals(len(self.axis.rows), pairs)
        starts = np.array([code for code in range(1, len(groups)) if groups[code] > groups[code - 1]], dtype=np.int64)
        borders = line.boundaries(starts, ~self.common[starts]) if len(starts) else []
        texts = [interval_text(low, high) for low, high in pairwise([None, *borders, None])]
        alone = self._single_values(groups)
        for code in alone:
            texts[groups[code]] = self.axis.texts[code]
        kept = frozenset(alone & {code for pair in pairs for code in pair})
        return RecodedColumn(groups, tuple(texts), False, kept, tuple(borders))

    def _single_values(self, groups: Sequence[int]) -> set[int]:
        """The codes that are an interval by themselves and that many people hold: they print as they are."""
        sizes = np.bincount(groups)
        return {code for code, group in enumerate(groups) if sizes[group] == 1 and self.common[code]}

    def _numbers(self, pairs: Sequence[Pair], absorb: bool, paper: bool) -> RecodedColumn:
        fits = self._fits if self.axis.info.kind is Kind.FLOAT else None
        rows = [int(n) for n in self.axis.rows]
        found = recode_numbers(self.ticks, rows, pairs, grid=1, absorb=absorb, paper=paper, fits=fits)
        whole = [tick if isinstance(tick, int) else Fraction(tick) // 1 for tick in found.published]
        return RecodedColumn(found.groups, tuple(self.text(tick) for tick in whole), True, found.kept)

    def _fits(self, tick: Number) -> bool:
        """Whether the type's nearest number prints as this one."""
        text = self.text(tick)
        if self.axis.info.declared.upper() in _SHORT_FLOATS:
            return Decimal(str(np.float32(text))) == Decimal(text)
        return Decimal(repr(float(text))) == Decimal(text)

    # -- words -------------------------------------------------------------------------------------

    def names(self, splits: Splits, shown: RecodedColumn) -> Names:
        label = [] if self.ordered else [shown.texts[group] for group in shown.groups]
        if shown.borders:  # the upper side of a cut starts where its first interval does
            return Names({pair: shown.borders[shown.groups[pair[1]] - 1] for pair in splits.pairs}, label)
        return Names({pair: self._threshold(*pair) for pair in splits.pairs}, label)

    def _threshold(self, low: int, high: int) -> str:
        """The midpoint of two values; of moments the first one from it on that the type has."""
        line, ticks = self.axis.line, self.ticks
        assert line is not None
        total = ticks[low] + ticks[high]
        if self.axis.info.kind in (Kind.DATE, Kind.TIMESTAMP):
            return self.text(-(-total // 2))
        with localcontext() as exact:
            exact.prec = 800
            half = Decimal(line.write(total * line.grain)) / 2
            return format(half.normalize() if half else Decimal(0), "f")

    def places(self, shown: RecodedColumn) -> list[list[object]]:
        """Per label the places of its values in the column's order, for ties between subsets."""
        return [
            [text, [code for code, one in enumerate(shown.groups) if one == group]]
            for group, text in enumerate(shown.texts)
        ]

    def _labels(self, groups: tuple[int, ...]) -> tuple[tuple[str | None, ...], bool]:
        members: list[list[int]] = [[] for _ in range(max(groups) + 1)]
        for code, group in enumerate(groups):
            members[group].append(code)
        if all(len(codes) == 1 for codes in members):
            return self.as_it_is().texts, True
        labels: list[str | None] = []
        for codes in members:
            label = self._label(codes)
            same = sum(one is not None and label is not None and _base(one) == label for one in labels)
            labels.append(label if not same else _numbered(str(label), same + 1))
        return tuple(labels), False

    def _label(self, codes: Sequence[int]) -> str | None:
        """One value is printed as it is; at least k people hold it, or no class with it would be published."""
        axis = self.axis
        if codes == [axis.null_code]:
            return None
        if len(codes) == 1 and self.common[codes[0]]:
            return axis.texts[codes[0]]
        named = [self._member(code) for code in codes if code != axis.null_code and self.common[code]]
        hidden = any(code != axis.null_code and not self.common[code] for code in codes) or len(named) > _LONGEST_LIST
        named = [*named[:_LONGEST_LIST], *(["NULL"] if axis.null_code in codes else []), *(["..."] if hidden else [])]
        braces = 1 + max((len(text) - len(text.lstrip("{")) for text in axis.texts), default=0)
        return "{" * braces + ", ".join(named) + "}" * braces

    def _member(self, code: int) -> str:
        text = escaped(self.axis.texts[code])
        return f"\\{text}" if text == "NULL" else text


def _numbered(label: str, number: int) -> str:
    """A second group that would print the same gets a number.

    >>> _numbered("{...}", 2)
    '{...} #2'
    """
    return f"{label} #{number}"


def _base(label: str) -> str:
    return re.sub(r"(?<=\}) #\d+$", "", label)
