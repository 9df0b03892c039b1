"""A first hierarchy for each quasi-identifier: a rule where one fits, else a file for its owner to edit.

    dates                CALENDAR (month, quarter, year, decade)
    postcodes, codes     PREFIX: fewer and fewer leading characters
    whole numbers        a file of intervals with about as many rows each, pairs of them, and halves
    other numbers        INTERVALS of round widths; also for whole numbers with many values
    texts                a file with two levels: frequent values keep their own group, the others share one

A file lists the values of its column.  It is as secret as the table, and is written for its owner alone.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sqlglot import exp

from ppdm_sql.engines.base import Engine, Kind, Rows
from ppdm_sql.policy.policy import CalendarLadder, HierarchyFile, HierarchySource, IntervalLadder, PrefixLadder
from ppdm_sql.profile.columns import ColumnProfile
from ppdm_sql.profile.patterns import POSTCODE
from ppdm_sql.source.encode import CODE, VALUE, Lookup, make_lookup
from ppdm_sql.source.leaves import leaf_text
from ppdm_sql.statements.names import Name, column

_ROOT = "*"
_MOST_NUMBERS, _MOST_TEXTS = 200, 2000  # values that a person edits in a file
_INTERVALS = 8  # of the finest level
_LONGEST_CODE = 12
_STEPS = 40  # of the finest rule between the 5 % and the 95 % of the values
_RARE = 50  # one row in so many makes a frequent value


def draft_hierarchy(
    engine: Engine, relation: Name, one: ColumnProfile, file: str, k: int
) -> tuple[HierarchySource | None, str | None]:
    """The hierarchy of a column as the policy names it, and the text of its file where it has one."""
    kind = one.info.kind
    if kind is Kind.DATE or kind is Kind.TIMESTAMP:
        first = ("day",) if kind is Kind.TIMESTAMP else ()
        return CalendarLadder((*first, "month", "quarter", "year", "decade")), None
    if one.distinct <= 2 or kind not in (Kind.TEXT, Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT):
        return None, None
    if _is_code(one):
        return PrefixLadder(_prefixes(one.longest or 1)), None
    lookup = make_lookup(engine, relation, one.info)
    if kind is Kind.FLOAT or (kind is not Kind.TEXT and one.distinct > _MOST_NUMBERS):
        return _round_intervals(engine, lookup, one), None
    if kind is Kind.TEXT and one.distinct > _MOST_TEXTS:
        return None, None
    values = lookup.values(engine)
    lines = _text_lines(values, k) if kind is Kind.TEXT else _number_lines(values)
    return (HierarchyFile(file, _ROOT), csv_text(lines)) if lines else (None, None)


# -- rules -------------------------------------------------------------------------------------------------


def _is_code(one: ColumnProfile) -> bool:
    """Postcodes, and short texts of one length with many values, which are cut from the right."""
    if one.longest is None or one.longest < 2:
        return False
    if one.look is not None and one.look.meaning == POSTCODE:
        return one.info.kind is Kind.TEXT or one.shortest == one.longest
    return (
        one.info.kind is Kind.TEXT
        and one.shortest == one.longest
        and one.longest <= _LONGEST_CODE
        and one.distinct > 20
    )


def _prefixes(longest: int) -> tuple[int, ...]:
    """Falling lengths, at most five.

    >>> _prefixes(5), _prefixes(12), _prefixes(2)
    ((4, 3, 2, 1), (10, 8, 6, 3, 1), (1,))
    """
    every = list(range(longest - 1, 0, -1))
    if len(every) <= 5:
        return tuple(every)
    return tuple(dict.fromkeys(round((longest - 1) * part / 5.5) for part in (5, 4, 3, 1.5, 0.55)))


def _round_intervals(engine: Engine, lookup: Lookup, one: ColumnProfile) -> IntervalLadder | None:
    """Three widths of 1, 2 or 5 times a power of ten; None where the values leave no room for them."""
    known = one.distinct
    places = {known // 20, known - 1 - known // 20, known - 1}
    listed = [exp.Literal.number(place) for place in sorted(places)]
    picked = exp.Select(expressions=[column(CODE), column(VALUE)]).from_(lookup.table.table())
    found: dict[int, Any] = dict(engine.fetch(picked.where(exp.In(this=column(CODE), expressions=listed))))
    low, high, last = (found[place] for place in (known // 20, known - 1 - known // 20, known - 1))
    if not all(math.isfinite(value) for value in (low, high, last)) or low == high:
        return None
    width = _round_width(Fraction(str(high)) - Fraction(str(low)), whole=one.info.kind is Kind.INTEGER)
    return IntervalLadder((width, 5 * width, 10 * width))


def _round_width(span: Fraction, *, whole: bool) -> Fraction:
    """The smallest round number that is not below a fortieth of the span.

    >>> [str(_round_width(Fraction(span), whole=False)) for span in (40, 100, 3000, 0.5)]
    ['1', '5', '100', '1/50']
    """
    least = max(span / _STEPS, Fraction(1) if whole else Fraction(0))
    power = Fraction(10) ** (math.floor(math.log10(least)) if least else 0)
    return next(power * factor for factor in (1, 2, 5, 10, 20) if power * factor >= least)


# -- files -------------------------------------------------------------------------------------------------


def csv_text(lines: Sequence[Sequence[str]]) -> str:
    """Lines as a hierarchy file has them: semicolons, quotes where needed."""
    text = io.StringIO()
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(lines)
    return text.getvalue()


def _text_lines(values: Rows, k: int) -> list[list[str]]:
    """Frequent values keep a group of their own; the others share one."""
    texts = [(leaf_text(value), rows) for value, rows in values]
    total = sum(rows for _, rows in texts)
    spelt = {text for text, _ in texts}
    if _ROOT in spelt:  # a value that could not be told from the root
        return []
    rare = next(word for word in ("other", "(other)", "(other values)", "(all other values)") if word not in spelt)
    frequent = max(k, total // _RARE)
    return _coarser_levels([[text, text if rows >= frequent else rare, _ROOT] for text, rows in texts])


def _number_lines(values: Rows) -> list[list[str]]:
    """Intervals with about as many rows each; the first and the last one are open, so that no label is an extreme."""
    cuts = _cuts([rows for _, rows in values])
    if not cuts:
        return []
    levels = [level for level in (cuts, cuts[1::2], cuts[3::4]) if level]
    lines = [
        [leaf_text(value), *(_interval(values, level, place) for level in levels), _ROOT]
        for place, (value, _) in enumerate(values)
    ]
    return _coarser_levels(lines)


def _coarser_levels(lines: list[list[str]]) -> list[list[str]]:
    """Without the levels that have as many labels as the one before, or one label, as the root has."""
    kept, last = [0], len(lines)
    for level in range(1, len(lines[0]) - 1):
        labels = len({line[level] for line in lines})
        if 1 < labels < last:
            kept.append(level)
            last = labels
    return [[*(line[level] for level in kept), _ROOT] for line in lines]


def _cuts(rows: Sequence[int]) -> list[int]:
    """Where a new interval starts, as places among the values.

    >>> _cuts([1, 1, 1, 1, 1, 1, 1, 1]), _cuts([100, 1, 1]), _cuts([5])
    ([1, 2, 3, 4, 5, 6, 7], [1], [])
    """
    total, before = sum(rows), 0
    found: list[int] = []
    for place, held in enumerate(rows):
        if place and before * _INTERVALS >= total * (len(found) + 1):
            found.append(place)
        while found and before * _INTERVALS >= total * (len(found) + 1):
            found.append(found[-1])  # a value with many rows takes the room of several intervals
        before += held
    return sorted(set(found))


def _interval(values: Rows, cuts: Sequence[int], place: int) -> str:
    """The label of a value: [25, 40), and `< 25` and `>= 60` at the ends."""
    starts = [cut for cut in cuts if cut <= place]
    stops = [cut for cut in cuts if cut > place]
    low, high = (_bound(values[cut[at]][0]) if cut else None for cut, at in ((starts, -1), (stops, 0)))
    if low is None:
        return f"< {high}"
    return f">= {low}" if high is None else f"[{low}, {high})"


def _bound(value: Any) -> str:
    return leaf_text(value.normalize() if isinstance(value, Decimal) and value == value.to_integral() else value)
