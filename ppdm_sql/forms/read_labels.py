"""What a label says, read back from its text: the exact inverse of methods/shared/labels.py, for ordered columns.

    67                      exact        the value itself
    [65, 70)  < 30  >= 65   range        from a boundary on, and below the other
    [65, 69]                range        both included (ranges = extent of mondrian)
    2024-02  2024-Q1  2020s range        a period of HIERARCHY CALENDAR: from its first day on
    (known)                 range        any value, without ends: it is not missing, and no more is said (kactus)
    a word of a hierarchy   range        from the least to the greatest leaf of the word, as the file or table has them
    *  **  the root         suppressed   nothing
    NULL                    missing      the source has no value

A range is given by the first value of the column's type in it and the first one beyond it; an open end is None.
Only the policy and the label decide it, never the values that people hold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.forms.grids import Grid, Step, grid_of
from ppdm_sql.source.calendar import period_ends
from ppdm_sql.source.hierarchy import Hierarchy

Sort = Literal["exact", "range", "suppressed", "missing"]
_INTERVAL = re.compile(r"\[(?P<low>[^\[,]+), (?P<high>[^,]+)(?P<end>[)\]])")
_STARS = re.compile(r"\*+")
_KNOWN = "(known)"


class UnreadLabelError(ValueError):
    """A label that is none of the forms; the label is data and is not told."""


@dataclass(frozen=True)
class Extent:
    """What a label says: from `low` on and below `stop`, in steps of the column's grid; None: without end.

    alone: the text of a value that has no place on the line (infinite, no number).
    """

    sort: Sort
    low: Step | None = None
    stop: Step | None = None
    alone: str | None = None


@dataclass(frozen=True)
class LabelReader:
    """Reads the labels of one column.

    hierarchy: of a file or table, whose words are no intervals; those of INTERVALS are read as they stand.
    calendar: the column has HIERARCHY CALENDAR, so that 2024 is a year.
    """

    info: ColumnInfo
    hierarchy: Hierarchy | None = None
    labels: tuple[str, ...] = field(default=(), repr=False)  # all of the column: they say how fine its numbers are
    calendar: bool = False

    @cached_property
    def grid(self) -> Grid:
        return grid_of(self.info, self.labels)

    def read(self, label: str | None) -> Extent:
        """What a label says.

        >>> from ppdm_sql.engines.base import Kind
        >>> age = LabelReader(ColumnInfo("age", Kind.INTEGER, "INTEGER"))
        >>> [(one.sort, one.low, one.stop) for one in map(age.read, ["67", "[65, 70)", "< 30.5", "*", None])]
        [('exact', 67, 68), ('range', 65, 70), ('range', None, 31), ('suppressed', None, None), ('missing', None, None)]
        """
        if label is None:
            return Extent("missing")
        if self.hierarchy is not None:
            found = self._words.get(label)
            if found is None:
                raise UnreadLabelError
            return found
        if _STARS.fullmatch(label):
            return Extent("suppressed")
        if label == _KNOWN:
            return Extent("range")
        try:
            return self._interval(label) or self._period(label) or self._value(label)
        except ValueError:
            raise UnreadLabelError from None

    def middle(self, extent: Extent) -> str | None:
        """The middle of a range as the type reads it; of an open one its bounded end, of one without ends None.

        The bounded end of < 30 is the last value below 30, which is not what >= 30 gives.
        """
        low, stop = extent.low, extent.stop
        if extent.sort == "exact" or stop is None:
            return self.start(extent)
        return self._written(self.grid.before(stop) if low is None else self.grid.middle(low, stop))

    def start(self, extent: Extent) -> str | None:
        """The first value of a range as the type reads it; None: it is open."""
        return extent.alone if extent.alone is not None else self._written(extent.low)

    def end(self, extent: Extent) -> str | None:
        """The first value beyond a range; None: it is open, or the type has no value beyond it."""
        return self._written(extent.stop)

    def _written(self, step: Step | None) -> str | None:
        return None if step is None else self.grid.write(step)

    # -- the grammar -------------------------------------------------------------------------------

    def _interval(self, label: str) -> Extent | None:
        if label.startswith("< "):
            return Extent("range", None, self._at(label[2:]))
        if label.startswith(">= "):
            return Extent("range", self._at(label[3:]), None)
        found = _INTERVAL.fullmatch(label)
        if found is None:
            return None
        if found["end"] == ")":
            return Extent("range", self._at(found["low"]), self._at(found["high"]))
        return self._hull([found["low"], found["high"]])

    def _period(self, label: str) -> Extent | None:
        """A period; of a column of dates a day is a value."""
        ends = period_ends(label) if self.calendar else None
        if ends is None or (self.info.kind is Kind.DATE and ends[1] - ends[0] == 1):
            return None
        return Extent("range", *(self._at(str(day)) for day in ends))

    def _at(self, text: str) -> Step:
        return self.grid.first_at(self.grid.read(text))

    def boundary(self, text: str) -> Step:
        """The first value of the type from a boundary on."""
        try:
            return self._at(text)
        except ValueError:
            raise UnreadLabelError from None

    def _value(self, label: str) -> Extent:
        try:
            low = self._at(label)
        except ValueError:
            if label.strip("+-").lower() in ("inf", "infinity", "nan"):
                return Extent("exact", alone=label)
            raise
        return Extent("exact", low, self.grid.next(low))

    def _hull(self, texts: Sequence[str]) -> Extent:
        """From the least of some values to the greatest; an infinite one leaves its side open."""
        finite: list[Step] = sorted(one.low for one in map(self._value, texts) if one.low is not None)
        strange = [one.alone.lower() for one in map(self._value, texts) if one.alone is not None]
        if not finite:
            return Extent("range")
        low = None if any(text.startswith("-") for text in strange) else finite[0]
        stop = None if any(not text.startswith("-") for text in strange) else self.grid.next(finite[-1])
        return Extent("range", low, stop)

    @cached_property
    def _words(self) -> Mapping[str, Extent]:
        """Every label of the hierarchy; where several levels have the same word, the lowest counts."""
        tree = self.hierarchy
        assert tree is not None
        found: dict[str, Extent] = {leaf: self._value(leaf) for leaf in tree.order}
        for level in tree.levels[1:-1]:
            for node in level:
                if node.label not in found:
                    found[node.label] = self._hull(tree.order[node.start : node.stop])
        for node in tree.levels[-1]:
            found.setdefault(node.label, Extent("suppressed"))
        return found
