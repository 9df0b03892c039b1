"""How a value meets a threshold or a category: once for SQL and once for Python, side by side, so that both agree.

Nothing is rounded towards a guess.  A whole-number column is compared with the least whole number from the
threshold on, a DECIMAL column with the threshold rounded up to the column's own places: `x < at` says the same of
every value the column can hold, and no type has to be widened.  A floating-point column is compared with the
double nearest to the threshold.  Moments are compared in UTC.

Where the type is not known (a macro, a script for another user's table) the threshold is written as the model file
has it, so that numbers of every type find the side that they would have under a comparison of their own.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Hashable
from datetime import date, datetime, timedelta
from decimal import ROUND_CEILING, Context, Decimal
from typing import TypeAlias

from sqlglot import exp

from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.names import column
from ppdm_sql.trees.tree import Attribute, Value

NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT)
MOMENTS = (Kind.DATE, Kind.TIMESTAMP)
WORDS = (Kind.TEXT, Kind.UUID)

Instant: TypeAlias = tuple[int, int]  # seconds since 1970 in UTC, nanoseconds

_EXACT = Context(prec=20_000, Emin=-999_999, Emax=999_999, traps=[])
_LEAST, _MOST = -(1 << 127), (1 << 128) - 1  # whole numbers that some engine can hold
_DIGITS = 38  # of a DECIMAL column whose places are known
_NAN = "nan"  # the key of NaN, which equals nothing in Python and itself in SQL
_BEFORE, _AFTER = (-(10**18), 0), (10**18, 0)
_MOMENT = re.compile(
    r"([+-]?\d{4,6})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?"
    r"(?:Z|([+-])(\d\d)(?::?(\d\d))?(?::?(\d\d))?)?( \(?BC\)?)?",
    re.ASCII,
)


# -- SQL ---------------------------------------------------------------------------------------------------------


def comparable_value(engine: Engine, attribute: Attribute, table: str | None = None) -> exp.Expr:
    """The column as it is compared: text by its bytes, a moment of a type that is not known in UTC."""
    plain = column(attribute.name, table)
    if attribute.unbound and attribute.kind in MOMENTS:
        return engine.any_moment_in_utc(plain)
    return engine.exact_text(plain) if attribute.kind in WORDS else plain


def below(attribute: Attribute, at: Decimal | str, value: exp.Expr) -> exp.Expr:
    """SQL for value < at; unknown for NULL."""
    if attribute.unbound and isinstance(at, Decimal):
        return exp.or_(*(exp.LT(this=value.copy(), expression=one) for one in _limits(at)), copy=False)
    limit = threshold(attribute, at)
    if isinstance(limit, bool):
        return is_known(value) if limit else exp.false()
    return exp.LT(this=value.copy(), expression=limit)


def from_on(attribute: Attribute, at: Decimal | str, value: exp.Expr) -> exp.Expr:
    """SQL for value >= at; unknown for NULL."""
    if attribute.unbound and isinstance(at, Decimal):
        return exp.and_(*(exp.GTE(this=value.copy(), expression=one) for one in _limits(at)), copy=False)
    limit = threshold(attribute, at)
    if isinstance(limit, bool):
        return exp.false() if limit else is_known(value)
    return exp.GTE(this=value.copy(), expression=limit)


def _limits(at: Decimal) -> list[exp.Expr]:
    """What a number of any type is compared with: below means below one of them.

    The decimal alone would do for whole numbers, DECIMAL and DOUBLE; but an engine may round it to the short floats of
    a REAL column.  The double puts those right and changes nothing for the others: rounding keeps the order, so what
    is below the double is below the decimal.

    >>> [limit.sql("duckdb") for limit in _limits(Decimal("30.50"))]
    ['30.5']
    >>> [limit.sql("duckdb") for limit in _limits(Decimal("24.9"))]
    ['24.9', "CAST('24.9' AS DOUBLE)"]
    """
    text = _without_zeros(at) if at.is_finite() else ""
    if not text or sum(character.isdigit() for character in text) > _DIGITS:
        return [_double(float(at))]
    written = exp.Literal.number(text)
    return [written] if _is_short_float(at) else [written, _double(float(at))]


def _is_short_float(at: Decimal) -> bool:
    """Whether a float of 32 bits is exactly that number."""
    try:
        return Decimal(struct.unpack("f", struct.pack("f", float(at)))[0]) == at
    except OverflowError:
        return False


def _without_zeros(number: Decimal) -> str:
    """Without the zeros behind the point, which could be more than the column has."""
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def is_known(value: exp.Expr) -> exp.Expr:
    return exp.Not(this=unknown(value))


def unknown(value: exp.Expr) -> exp.Expr:
    """Whether the column under the cast and collation is NULL."""
    plain = value.find(exp.Column) or value
    return exp.Is(this=plain.copy(), expression=exp.Null())


def threshold(attribute: Attribute, at: Decimal | str) -> exp.Expr | bool:
    """What the column is compared with; True when all its values lie below, False when none does.

    >>> threshold(Attribute("age", Kind.INTEGER, True), Decimal("30.5")).sql("duckdb")
    '31'
    >>> threshold(Attribute("paid", Kind.DECIMAL, True, scale=2), Decimal("-0.125")).sql("duckdb")
    '-0.12'
    >>> threshold(Attribute("bmi", Kind.FLOAT, True), Decimal("24.9")).sql("duckdb")
    "CAST('24.9' AS DOUBLE)"
    """
    if isinstance(at, str):
        return _moment(attribute, at)
    if attribute.kind is Kind.FLOAT:
        return _double(float(at))
    if not at.is_finite():
        return at > 0
    if attribute.kind is Kind.INTEGER:
        whole = int(at.to_integral_value(ROUND_CEILING, _EXACT))
        return exp.Literal.number(whole) if _LEAST < whole <= _MOST else whole > 0
    up = rounded_up(at, attribute.scale) if attribute.scale is not None else at
    if attribute.scale is not None and up.copy_abs() >= Decimal(10) ** (_DIGITS - attribute.scale):
        return up > 0
    return exp.Literal.number(format(up, "f"))


def rounded_up(at: Decimal, places: int) -> Decimal:
    """The least number of that many decimal places that is not below.

    >>> rounded_up(Decimal("1.234"), 2), rounded_up(Decimal("-1.239"), 2), rounded_up(Decimal("7"), 2)
    (Decimal('1.24'), Decimal('-1.23'), Decimal('7'))
    """
    exponent = at.as_tuple().exponent
    assert isinstance(exponent, int)
    if -exponent <= places:
        return at
    return at.quantize(Decimal((0, (1,), -places)), ROUND_CEILING, _EXACT)


def category(attribute: Attribute, value: Value) -> exp.Expr | None:
    """The value as SQL; None when no value of the column can equal it."""
    if attribute.kind is Kind.BOOLEAN:
        return exp.true() if value else exp.false()
    if attribute.kind is Kind.FLOAT and not isinstance(value, str):
        return _double(float(value or 0))
    if attribute.kind in MOMENTS:
        return _moment(attribute, str(value))
    if attribute.kind in NUMBERS:
        return _number(attribute, value)
    return exp.Literal.string(str(value))


def _number(attribute: Attribute, value: Value) -> exp.Expr | None:
    number = Decimal(value) if isinstance(value, int | float | Decimal) else None
    places = None if attribute.unbound else 0 if attribute.kind is Kind.INTEGER else attribute.scale
    if number is None or not number.is_finite():
        return None
    if places is not None and rounded_up(number, places) != number:
        return None
    if attribute.kind is Kind.INTEGER:
        return exp.Literal.number(int(number)) if _LEAST <= number <= _MOST else None
    if places is not None and number.copy_abs() >= Decimal(10) ** (_DIGITS - places):
        return None
    return exp.Literal.number(_without_zeros(number))


def _double(value: float) -> exp.Expr:
    text = "NaN" if math.isnan(value) else repr(value).replace("inf", "Infinity")
    return exp.cast(exp.Literal.string(text), "DOUBLE")


def _moment(attribute: Attribute, text: str) -> exp.Expr:
    if attribute.kind is Kind.DATE:
        return exp.cast(exp.Literal.string(text), "DATE")
    if not attribute.zoned:
        return exp.cast(exp.Literal.string(in_utc(text)), "TIMESTAMP")
    return exp.cast(exp.Literal.string(with_zone(text)), "TIMESTAMPTZ")


def with_zone(text: str) -> str:
    """A moment that says it is in UTC: without its zone it would be read in that of the session."""
    found = _MOMENT.fullmatch(text)
    if found is None or found.group(8) is not None or text.endswith("Z"):
        return text
    clock = "" if found.group(4) else " 00:00:00"
    era = found.group(12) or ""
    return f"{text.removesuffix(era)}{clock}+00{era}"


def in_utc(text: str) -> str:
    """A moment without its zone, which an engine would leave out without a word.

    >>> in_utc("2024-05-01 14:00:01.5+02"), in_utc("2024-05-01 12:00:00+00"), in_utc("2024-05-01")
    ('2024-05-01 12:00:01.500000', '2024-05-01 12:00:00', '2024-05-01')
    """
    found = _MOMENT.fullmatch(text)
    zone = -1 if found is None else found.start(8) if found.group(8) else text.find("Z")
    if found is None or zone < 0:
        return text
    era = found.group(12) or ""
    shift = sum(int(part or 0) * size for part, size in zip(found.group(9, 10, 11), (3600, 60, 1), strict=True))
    if not shift:
        return text[:zone] + era
    try:
        moved = datetime.fromisoformat(text[:zone]) - timedelta(seconds=int(f"{found.group(8)}{shift}"))
    except (ValueError, OverflowError):  # a year that Python lacks
        return text
    return text if era else moved.isoformat(sep=" ")


# -- Python ------------------------------------------------------------------------------------------------------


def is_below(attribute: Attribute, at: Decimal | str, value: object) -> bool:
    """Whether a value that is not NULL lies below, as the database would say.

    >>> x, tenth = Attribute("x", Kind.FLOAT, True), Decimal("0.1")
    >>> is_below(x, tenth, 0.1), is_below(x, tenth, 0.09), is_below(x, tenth, float("nan"))
    (False, True, False)
    """
    if isinstance(at, str):
        return instant(value, attribute) < instant(at, attribute)
    number = _as_number(attribute, value)
    if number != number:  # NaN is the greatest number
        return False
    return number < float(at) if isinstance(number, float) else number < at


def position(attribute: Attribute, at: Decimal | str) -> Decimal | Instant:
    """A threshold as what orders those of one attribute."""
    return instant(at, attribute) if isinstance(at, str) else at


def key(attribute: Attribute, value: object) -> Hashable:
    """Two values have one key when the database calls them equal."""
    if value is None:
        return None
    if attribute.kind is Kind.BOOLEAN:
        return bool(value)
    if attribute.kind in MOMENTS:
        return instant(value, attribute)
    if attribute.kind not in NUMBERS:
        return str(value)
    number = _as_number(attribute, value)
    if number != number:
        return _NAN
    return number  # 1, 1.0 and Decimal("1.00") have one hash and are equal; so are -0.0 and 0.0


def _as_number(attribute: Attribute, value: object) -> int | float | Decimal:
    if hasattr(value, "item"):  # a number of numpy's
        value = value.item()
    if not isinstance(value, int | float | Decimal):
        raise PolicyError(f'column "{attribute.name}" needs a number, got {type(value).__name__}')
    return float(value) if attribute.kind is Kind.FLOAT else value


def instant(value: object, attribute: Attribute) -> Instant:
    """A moment on the one line of all moments; without a zone it is taken to be in UTC.

    >>> day = Attribute("born", Kind.DATE, True)
    >>> instant("1970-01-02", day), instant(datetime(1970, 1, 1, 0, 0, 1, 5), day), instant("infinity", day) > (9, 9)
    ((86400, 0), (1, 5000), True)
    """
    if isinstance(value, datetime):
        naive = value.replace(tzinfo=None) - (value.utcoffset() or timedelta(0))
        spent = naive - datetime(1970, 1, 1)
        nanos = spent.microseconds * 1000 + int(getattr(value, "nanosecond", 0))
        return spent.days * 86_400 + spent.seconds, nanos
    if isinstance(value, date):
        return (value.toordinal() - 719_163) * 86_400, 0
    found = read_moment(value) if isinstance(value, str) else None
    if found is None:
        raise PolicyError(f'column "{attribute.name}" needs a date or time, got {type(value).__name__}')
    return found


def read_moment(text: str) -> Instant | None:
    """The instant of a text such as 2024-05-01 or 2024-05-01 12:30:00+02; None when it is no moment."""
    if text.lower() in ("infinity", "inf", "-infinity", "-inf"):
        return _BEFORE if text.startswith("-") else _AFTER
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.group(1, 2, 3, 4, 5, 6))
    year = 1 - year if found.group(12) else year
    days = _days(year, month, day)
    if days is None or hour > 23 or minute > 59 or second > 59:
        return None
    shift = sum(int(part or 0) * size for part, size in zip(found.group(9, 10, 11), (3600, 60, 1), strict=True))
    shift = -shift if found.group(8) == "-" else shift
    return days * 86_400 + hour * 3600 + minute * 60 + second - shift, int((found.group(7) or "").ljust(9, "0"))


def _days(year: int, month: int, day: int) -> int | None:
    """Days since 1970-01-01; the calendar repeats every 400 years, which is how years Python lacks are reached."""
    cycles, within = divmod(year - 1, 400)
    try:
        return date(within + 1, month, day).toordinal() - 719_163 + cycles * 146_097
    except ValueError:
        return None
