"""Which column is what: the role lists, the hierarchies in them, and columns with two roles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from ppdm_sql.policy.forms import Form
from ppdm_sql.policy.policy import (
    CalendarLadder,
    HierarchyFile,
    HierarchySource,
    HierarchyTable,
    IntervalLadder,
    Place,
    PrefixLadder,
    Roles,
    Tuning,
)
from ppdm_sql.policy.reader import Reader, Report, read_name, read_word
from ppdm_sql.policy.tokens import Token, TokenKind, describe_token
from ppdm_sql.policy.tunings import at_tuning, read_tuning
from ppdm_sql.policy.values import read_number, read_string, read_whole
from ppdm_sql.policy.words import did_you_mean, nearest, printable
from ppdm_sql.statements.names import Word

LONGEST_PREFIX = 10_000
PERIODS = ("day", "month", "quarter", "year", "decade", "century")

# The only double roles: a class that is also to be protected, or that is also known to the attacker; and what names a
# person can tell rows apart, too; and a weight that is published.
_TOGETHER = (
    {"TARGET", "SENSITIVE"}, {"TARGET", "QUASI IDENTIFIER"}, {"KEY", "ENTITY"}, {"KEY", "IDENTIFIER"},
    {"WEIGHT COLUMN", "INSENSITIVE"},
)  # fmt: skip


class RoleColumn(NamedTuple):
    """A column in a role list."""

    word: Word
    token: Token
    hierarchy: HierarchySource | None = None
    nulls_as_value: bool = False
    form: Form | None = None
    tuning: Tuning | None = None


def read_columns(reader: Reader, role: str) -> list[RoleColumn]:
    """( column [HIERARCHY ...] [ORDER ...] [WEIGHT ...] [AT MOST LEVEL ...] [AS RANGE] [NULLS AS VALUE], ... )."""

    def read(group: Reader) -> RoleColumn:
        token = group.peek()
        if group.sign("*"):
            group.fail(f"{role} must name every column: a * would also publish columns that are added later")
        word = read_word(group, "a column")
        if group.sign("."):
            group.fail("write a column as the query returns it, without its table")
        hierarchy = None
        bare = _at_nulls(group) or _at_form(group) or at_tuning(group)
        if group.peek().kind is TokenKind.WORD and not bare:
            hierarchy = _role_hierarchy(group, role, token)
        form = _read_form(group, role)
        tuning = read_tuning(group, role, hierarchy)
        form = form or _read_form(group, role)  # before or behind the tuning
        return RoleColumn(word, token, hierarchy, _read_nulls(group, role), form, tuning)

    return reader.items(f"after {role}", read)


def read_column(reader: Reader, role: str) -> list[RoleColumn]:
    """One column without brackets."""
    token = reader.peek()
    word = read_word(reader, f"a column after {role}, without brackets")
    if reader.sign("."):
        reader.fail("write a column as the query returns it, without its table")
    return [RoleColumn(word, token)]


def _role_hierarchy(reader: Reader, role: str, column: Token) -> HierarchySource:
    following = reader.peek()
    reader.expect_word("HIERARCHY", f"after the column {describe_token(column)}, or , or )")
    if role not in ("QUASI IDENTIFIER", "SENSITIVE"):
        reader.fail(f"{role} takes no HIERARCHY: its columns are not generalized", following)
    return read_hierarchy(reader)


def _at_nulls(reader: Reader) -> bool:
    return reader.peek().kind is TokenKind.WORD and nearest(reader.peek().word, ("NULLS",)) is not None


def _read_nulls(reader: Reader, role: str) -> bool:
    """[NULLS AS VALUE]: whether a NULL of the column counts as a value of its own."""
    first = reader.peek()
    if not _at_nulls(reader):
        return False
    if role != "SENSITIVE":
        reader.fail(
            f"{role} takes no NULLS AS VALUE, which says how the NULLs of a SENSITIVE column are counted", first
        )
    for word, where in (("NULLS", "in NULLS AS VALUE"), ("AS", "after NULLS"), ("VALUE", "after NULLS AS")):
        reader.expect_word(word, where)
    return True


def _at_form(reader: Reader) -> bool:
    return reader.words("AS")


def _read_form(reader: Reader, role: str) -> Form | None:
    """[AS RANGE | AS MIDPOINT | AS NATIVE RANGE]: in which form the column is published."""
    first = reader.peek()
    if not reader.accept("AS"):
        return None
    for form in Form:
        if reader.accept(*form.value.split()):
            if role != "QUASI IDENTIFIER":
                reader.fail(f"{role} takes no AS {form.value}: its values are published unchanged", first)
            return form
    token = reader.peek()
    forms = ", ".join(form.value for form in Form)
    near = nearest(token.word, [form.value.split()[0] for form in Form]) if token.word else None
    hint = f": did you mean {near}?" if near else ""
    reader.fail(f"{forms} is expected after AS, not {describe_token(token)}{hint}", token)


def read_hierarchy(reader: Reader) -> HierarchySource:
    token = reader.peek()
    if token.kind is TokenKind.STRING:
        path = read_string(reader, "the hierarchy's file")
        if not path:
            reader.fail("the hierarchy's file has no name", token)
        return HierarchyFile(path, _otherwise(reader))
    if reader.accept("INTERVALS"):
        return _intervals(reader)
    if reader.accept("PREFIX"):
        return _prefix(reader)
    if reader.accept("CALENDAR"):
        return _calendar(reader)
    name = read_name(reader, "a 'file.csv', a table, INTERVALS (...), PREFIX (...) or CALENDAR (...)")
    if reader.sign("("):
        near = nearest(token.word, ("INTERVALS", "PREFIX", "CALENDAR")) or "INTERVALS, PREFIX or CALENDAR"
        reader.fail(f"unknown hierarchy {printable(token.text)}: did you mean {near}?", token)
    return HierarchyTable(name, _otherwise(reader))


def _otherwise(reader: Reader) -> str | None:
    """[ELSE '*']: the label of values that a file or table does not list."""
    if not reader.accept("ELSE"):
        return None
    token = reader.peek()
    label = read_string(reader, "the label of other values")
    if not label.strip():
        reader.fail("the label behind ELSE is empty", token)
    return label


def _calendar(reader: Reader) -> CalendarLadder:
    first = reader.peek()

    def read(group: Reader) -> str:
        token = group.peek()
        if token.word.lower() not in PERIODS:
            near = did_you_mean(token.text, PERIODS)
            group.fail(f"{describe_token(token)} is no period of CALENDAR: {near}", token)
        return group.take().text.lower()

    periods = reader.items("after CALENDAR (a table of that name is quoted)", read)
    places = [PERIODS.index(period) for period in periods]
    if any(later <= earlier for earlier, later in pairwise(places)):
        reader.fail(f"the periods of CALENDAR become longer, as in ({', '.join(PERIODS[1:])})", first)
    return CalendarLadder(tuple(periods))


def _intervals(reader: Reader) -> IntervalLadder:
    first = reader.peek()
    allowed = "the width of an interval must be a number above 0"
    widths = reader.items(
        "after INTERVALS (quote a table of that name)", lambda group: read_number(group, allowed, lambda w: w > 0)
    )
    for narrow, wide in pairwise(widths):
        # Only then does every interval lie in one interval of the next level.
        if wide <= narrow or (wide / narrow).denominator != 1:
            reader.fail("each width of INTERVALS must be a multiple of the one before it, as in (5, 10, 20)", first)
    anchor = Fraction(0)
    if reader.accept("FROM"):
        anchor = read_number(reader, "INTERVALS start FROM a number")
    return IntervalLadder(tuple(widths), anchor)


def _prefix(reader: Reader) -> PrefixLadder:
    first = reader.peek()
    allowed = f"the length of a prefix must be a whole number from 1 to {LONGEST_PREFIX:,}"
    lengths = reader.items(
        "after PREFIX (quote a table of that name)", lambda group: read_whole(group, allowed, 1, LONGEST_PREFIX)
    )
    if any(longer <= shorter for longer, shorter in pairwise(lengths)):
        reader.fail("the lengths of PREFIX must be in descending order, as in (4, 3, 1)", first)
    return PrefixLadder(tuple(lengths))


def same_column(one: Word, other: Word) -> bool:
    """Whether two words can only mean one column, before any engine was asked.

    >>> same_column(Word("Age"), Word("AGE")), same_column(Word("Age", quoted=True), Word("AGE", quoted=True))
    (True, False)
    >>> same_column(Word("age", quoted=True), Word("AGE"))  # PostgreSQL folds AGE to age
    True
    """
    if one.quoted and other.quoted:
        return one.text == other.text
    if not one.quoted and not other.quoted:
        return one.text.lower() == other.text.lower()
    exact, bare = (one, other) if one.quoted else (other, one)
    return exact.text in (bare.text, bare.text.lower(), bare.text.upper())


def note_double_roles(report: Report, columns: Mapping[str, Sequence[RoleColumn]]) -> None:
    """A mistake for each column that is listed twice, unless the two roles go together."""
    by_folded: dict[str, list[tuple[str, RoleColumn]]] = {}
    for role, listed in columns.items():
        for column in listed:
            earlier = by_folded.setdefault(column.word.text.lower(), [])
            clash = next((found for found in earlier if _clash(found, (role, column))), None)
            if clash is None:
                earlier.append((role, column))
                continue
            was, where = clash[0], report.where(clash[1].token)
            name = describe_token(column.token)
            told = f"is listed twice as {role}, first" if was == role else f"is {role} here and {was}"
            report.add(f"the column {name} {told} at {where}", column.token.start)


def _clash(one: tuple[str, RoleColumn], other: tuple[str, RoleColumn]) -> bool:
    return same_column(one[1].word, other[1].word) and {one[0], other[0]} not in _TOGETHER


def roles_of(columns: Mapping[str, Sequence[RoleColumn]], place: Callable[[Token], Place]) -> Roles:
    def words(role: str) -> tuple[Word, ...]:
        return tuple(column.word for column in columns.get(role, ()))

    return Roles(
        identifiers=words("IDENTIFIER"),
        quasi=words("QUASI IDENTIFIER"),
        sensitive=words("SENSITIVE"),
        target=next(iter(words("TARGET")), None),
        insensitive=words("INSENSITIVE"),
        entity=next(iter(words("ENTITY")), None),
        key=words("KEY"),
        weight=next(iter(words("WEIGHT COLUMN")), None),
        hierarchies={c.word: c.hierarchy for listed in columns.values() for c in listed if c.hierarchy is not None},
        nulls_as_value=tuple(column.word for column in columns.get("SENSITIVE", ()) if column.nulls_as_value),
        forms={c.word: c.form for listed in columns.values() for c in listed if c.form is not None},
        tunings={c.word: c.tuning for listed in columns.values() for c in listed if c.tuning is not None},
        places={c.word: place(c.token) for listed in columns.values() for c in listed},
    )
