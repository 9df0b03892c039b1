"""The other reading of NULL: it may be any value, so a row can be taken for every row that agrees with it.

Two classes agree if they are equal wherever neither has a NULL.  Comparing all pairs would be quadratic;
instead the classes are put in order by which quasi-identifiers are NULL in them (their pattern).  A class
of pattern P agrees with one of pattern Q if both have the same key once the digits of P and Q are left
out, so leaving out, per class, the digits of every pattern it may meet makes it an equality join.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from ppdm_sql.checks.class_table import SIZE, Digit, Key, subquery, times
from ppdm_sql.checks.exact_compare import Integers
from ppdm_sql.engines.base import Engine
from ppdm_sql.statements.names import Name, aliased, column

MOST_PATTERNS = 64
MOST_MEETINGS = 20_000_000  # classes x patterns; beyond, the figure is not measured
_PATTERN, _OTHER, _ROWS = "ppdm_pattern", "ppdm_other", "ppdm_met_rows"


@dataclass(frozen=True)
class _Holes:
    """The digits that may be NULL, and where each has its bit in a pattern."""

    key: Key
    digits: tuple[Digit, ...]

    def of_key(self, number: int) -> list[tuple[int, Digit]]:
        return [(bit, digit) for bit, digit in enumerate(self.digits) if digit.key == number]


def smallest_match(engine: Engine, key: Key, classes: Name, count: int) -> int | None:
    """The fewest rows any row could be taken for; None where there are too many patterns to tell."""
    holes = _Holes(key, tuple(digit for digit in key.digits if digit.lookup.null_code is not None))
    if count == 0 or len(holes.digits) > 62:
        return None
    split = engine.work.table("split", _split(holes, classes), analyze=True)
    listed = exp.Select(expressions=[column(_PATTERN)]).from_(split.table()).distinct()
    patterns = engine.arrays(listed)[_PATTERN].astype(np.int64)
    if len(patterns) > MOST_PATTERNS or count * len(patterns) > MOST_MEETINGS:
        return None
    met = _load_patterns(engine, holes, patterns)
    masked = engine.work.table("masked", _mask_keys(holes, split, met), analyze=True)
    return int(engine.fetch_one(_smallest(key, masked))[0])


def _split(holes: _Holes, classes: Name) -> exp.Select:
    """Per class: its pattern, each digit that may be NULL (0 if it is), and the key without these digits."""
    query = exp.Select(expressions=[column(SIZE)]).from_(classes.table())
    pattern: exp.Expr = exp.cast(exp.Literal.number(0), "BIGINT")
    for bit, digit in enumerate(holes.digits):
        is_null = exp.EQ(this=_code(digit), expression=exp.Literal.number(digit.lookup.null_code or 0))
        flag = exp.case().when(is_null, exp.Literal.number(1 << bit)).else_(exp.Literal.number(0))
        pattern = exp.Add(this=pattern, expression=flag)
        known = exp.case().when(is_null.copy(), exp.Literal.number(0)).else_(times(_code(digit), digit.weight))
        query = query.select(aliased(known, f"ppdm_digit_{bit}"))
    query = query.select(aliased(pattern, _PATTERN))
    for number, name in enumerate(holes.key.columns):
        rest: exp.Expr = column(name)
        for _, digit in holes.of_key(number):
            rest = exp.Sub(this=rest, expression=times(_code(digit), digit.weight))
        query = query.select(column(name), aliased(rest, f"ppdm_rest_{number}"))
    return query


def _code(digit: Digit) -> exp.Expr:
    """A digit taken out of its key again."""
    shifted = exp.IntDiv(this=column(f"ppdm_key_{digit.key}"), expression=exp.Literal.number(digit.weight))
    code = exp.Mod(this=exp.cast(shifted, "BIGINT"), expression=exp.Literal.number(digit.radix))
    return exp.Paren(this=code)


def _load_patterns(engine: Engine, holes: _Holes, patterns: Integers) -> Name:
    """Per pattern, 1 for every digit it keeps and 0 for every digit that is NULL in it."""
    kept = {f"ppdm_keep_{bit}": 1 - (patterns >> bit & 1) for bit in range(len(holes.digits))}
    return engine.work.load("patterns", {_OTHER: patterns, **kept}, analyze=True)


def _mask_keys(holes: _Holes, split: Name, patterns: Name) -> exp.Select:
    """Every class with every pattern it may meet, the digits of that pattern left out of its key."""
    query = exp.Select(expressions=[column(name, "s") for name in [*holes.key.columns, SIZE, _PATTERN]])
    query = query.select(column(_OTHER, "p")).from_(split.table("s"))
    for number in range(len(holes.key.columns)):
        left: exp.Expr = column(f"ppdm_rest_{number}", "s")
        for bit, _ in holes.of_key(number):
            kept = exp.Mul(this=column(f"ppdm_digit_{bit}", "s"), expression=column(f"ppdm_keep_{bit}", "p"))
            left = exp.Add(this=left, expression=kept)
        query = query.select(aliased(left, f"ppdm_left_{number}"))
    return query.join(patterns.table("p"), join_type="cross")


def _smallest(key: Key, masked: Name) -> exp.Select:
    """The smallest sum of the rows of all classes that a class agrees with, itself among them."""
    lefts = [f"ppdm_left_{number}" for number in range(len(key.columns))]
    by = [_PATTERN, _OTHER, *lefts]
    met = exp.Select(expressions=[column(name) for name in by]).from_(masked.table())
    met = met.select(aliased(exp.Sum(this=column(SIZE)), _ROWS)).group_by(*(column(name) for name in by))
    meets = [
        exp.EQ(this=column(_PATTERN, "t"), expression=column(_OTHER, "m")),
        exp.EQ(this=column(_OTHER, "t"), expression=column(_PATTERN, "m")),
        *(exp.EQ(this=column(name, "t"), expression=column(name, "m")) for name in lefts),
    ]
    reach = exp.Select(expressions=[aliased(exp.Sum(this=column(_ROWS, "t")), _ROWS)]).from_(masked.table("m"))
    reach = reach.join(subquery(met, "t"), on=exp.and_(*meets)).group_by(*(column(name, "m") for name in key.columns))
    return exp.Select(expressions=[exp.Min(this=column(_ROWS))]).from_(subquery(reach, "ppdm_reach"))
