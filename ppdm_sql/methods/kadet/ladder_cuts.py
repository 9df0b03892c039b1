"""Numbers, dates and timestamps with a hierarchy: cut where the finest labels above the values meet, and nowhere else.

A label is a range of the column's own order: INTERVALS and CALENDAR say which, and that of a file or table is from the
least to the greatest value that is listed below it.  So where a cut lies follows from the policy alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise

from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.forms.read_labels import Extent, LabelReader, UnreadLabelError
from ppdm_sql.induction.borders import At
from ppdm_sql.policy.policy import CalendarLadder, HierarchySource, IntervalLadder, PrefixLadder
from ppdm_sql.source.hierarchy import Hierarchy


def check_ladder(info: ColumnInfo, given: HierarchySource | None) -> None:
    """Refuses rules that give no ranges."""
    if isinstance(given, PrefixLadder):
        raise PolicyError(
            f'ALGORITHM kadet cuts "{info.name}" where ranges meet, and HIERARCHY PREFIX gives none: use HIERARCHY '
            "INTERVALS, or leave the hierarchy out"
        )


def ladder_cuts(info: ColumnInfo, hierarchy: Hierarchy, given: HierarchySource | None) -> list[At]:
    """Where the labels of the lowest level above the values start, rising, without the first."""
    level = min(1, hierarchy.height - 1)
    labels = tuple(node.label for node in hierarchy.nodes(level))
    calendar = isinstance(given, CalendarLadder)
    words = None if calendar or isinstance(given, IntervalLadder) else hierarchy
    reader = LabelReader(info, words, labels, calendar)
    try:
        extents = sorted(map(reader.read, labels), key=lambda one: (one.low is not None, one.low))
    except UnreadLabelError:
        raise _overlapping(info) from None
    if any(_overlap(one, other) for one, other in pairwise(extents)):
        raise _overlapping(info)
    starts = [reader.start(one) for one in extents[1:]]
    return [_written(info, text) for text in starts if text is not None]


def _overlap(one: Extent, other: Extent) -> bool:
    return one.stop is None or other.low is None or one.stop > other.low


def _written(info: ColumnInfo, text: str) -> At:
    return text if info.kind in (Kind.DATE, Kind.TIMESTAMP) else Decimal(text)


def _overlapping(info: ColumnInfo) -> PolicyError:
    return PolicyError(
        f'ALGORITHM kadet: the labels above the values of "{info.name}" are no ranges that follow each other: put '
        "neighbouring values below each label, or cast the column to text"
    )


def between_values(cuts: Sequence[At], places: Sequence[int], values: int) -> tuple[tuple[At, ...], list[int]]:
    """The cuts that part values, and their places: of those with nothing between them the last."""
    found = {place: at for at, place in zip(cuts, places, strict=True) if 0 < place < values}
    return tuple(found.values()), list(found)
