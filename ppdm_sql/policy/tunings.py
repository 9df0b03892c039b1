"""What stands behind a quasi-identifier besides its hierarchy: ORDER, WEIGHT and AT MOST LEVEL."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from ppdm_sql.policy.policy import CalendarLadder, HierarchySource, IntervalLadder, PrefixLadder, Tuning
from ppdm_sql.policy.reader import Reader
from ppdm_sql.policy.values import read_number, read_string, read_whole

_WORDS = ("ORDER", "WEIGHT", "AT")
_MOST_WEIGHT = 1000


def at_tuning(reader: Reader) -> bool:
    return reader.peek().word in _WORDS


def read_tuning(reader: Reader, role: str, hierarchy: HierarchySource | None) -> Tuning | None:
    """[ORDER ('a', 'b', ...)] [WEIGHT 2] [AT MOST LEVEL 2], in any order."""
    found, seen = Tuning(), set[str]()
    while at_tuning(reader):
        first = reader.peek()
        if role != "QUASI IDENTIFIER":
            reader.fail(f"{role} takes no {first.word}: it says how a QUASI IDENTIFIER is made coarser", first)
        if first.word in seen:
            reader.fail(f"{first.word} is written twice behind one column", first)
        seen.add(first.word)
        if reader.accept("ORDER"):
            found = replace(found, order=_order(reader, hierarchy))
        elif reader.accept("WEIGHT"):
            found = replace(found, weight=_weight(reader))
        else:
            found = replace(found, most_level=_most_level(reader, hierarchy))
    return found if seen else None


def _order(reader: Reader, hierarchy: HierarchySource | None) -> tuple[str, ...]:
    first = reader.peek()
    texts = tuple(reader.items("after ORDER", lambda group: read_string(group, "a value")))
    if hierarchy is not None:
        reader.fail("a column with a HIERARCHY takes no ORDER: the hierarchy says which values belong together", first)
    if len(set(texts)) < len(texts):
        reader.fail("ORDER names a value twice", first)
    return texts


def _weight(reader: Reader) -> Fraction:
    allowed = f"WEIGHT is a number above 0 and at most {_MOST_WEIGHT}"
    return read_number(reader, allowed, lambda weight: 0 < weight <= _MOST_WEIGHT)


def _most_level(reader: Reader, hierarchy: HierarchySource | None) -> int:
    first = reader.peek()
    for word, where in (("AT", "in AT MOST LEVEL"), ("MOST", "after AT"), ("LEVEL", "after AT MOST")):
        reader.expect_word(word, where)
    number = reader.peek()
    level = read_whole(reader, "a level of a hierarchy is a whole number from 0 to 50", 0, 50)
    if hierarchy is None:
        reader.fail("AT MOST LEVEL needs a HIERARCHY behind the column", first)
    highest = ladder_height(hierarchy)
    if highest is not None and level > highest:
        reader.fail(f"the hierarchy has no level {level}: its highest one is {highest}, which is *", number)
    return level


def ladder_height(hierarchy: HierarchySource) -> int | None:
    """The level of the root, where the rule says it; None: the file or table has to be read."""
    match hierarchy:
        case IntervalLadder(widths=steps) | PrefixLadder(lengths=steps) | CalendarLadder(periods=steps):
            return len(steps) + 1
    return None
