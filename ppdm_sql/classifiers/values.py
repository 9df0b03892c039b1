"""Values of a model: what a class or a category can be, how it is compared, written as SQL and put into JSON.

A class is a text, an integer, a decimal, a boolean or a date.  Text is compared by its bytes.  Dates are kept as
the text the engine writes, UUIDs as text.  Scores are integers everywhere: natural logarithms in units of 2^-32,
so that a sum is the same in SQL and in Python, down to the last bit and whatever the order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from ppdm_sql.classifiers.document_reader import Reading
from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.source.encode import canonical
from ppdm_sql.statements.names import column
from ppdm_sql.trees.comparing import read_moment
from ppdm_sql.trees.tree import Attribute, Value, attribute_of, plain

CLASS_KINDS = (Kind.TEXT, Kind.INTEGER, Kind.DECIMAL, Kind.BOOLEAN, Kind.DATE, Kind.UUID)
MOMENTS = (Kind.DATE, Kind.TIMESTAMP)
NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT)
MOST_CLASSES = 1_000
_LEAST_DIGIT = Decimal("1e-38")  # no engine's DECIMAL has more places
MOST_ATTRIBUTES = 1000  # so that a sum of bounded weights cannot reach NEVER, nor leave 64 bits

UNIT = 1 << 32  # a score of 1.0
MOST_WEIGHT = 1 << 41  # what one attribute can say, for or against: a factor of e^512
TIE = 1 << 12  # sums that differ by less than rounding 1000 logarithms can make are equal: a factor of 1.000001
NEVER = -(1 << 52)  # the score of what cannot be


def fixed_log(share: Fraction | float) -> int:
    """The logarithm of a share as an integer; a share of nothing is NEVER.

    >>> fixed_log(Fraction(1, 2)), fixed_log(1), fixed_log(0) == NEVER
    (-2977044472, 0, True)
    """
    if share <= 0:
        return NEVER
    exact = Fraction(share)
    score = round((math.log(exact.numerator) - math.log(exact.denominator)) * UNIT)
    return max(-MOST_WEIGHT, min(MOST_WEIGHT, score))


def first_best(scores: Sequence[int], tie: int = 0) -> int:
    """The place of the greatest score; of equal ones the first, which is the order of the classes."""
    least = max(scores) - tie
    return next(place for place, score in enumerate(scores) if score >= least)


def value_key(value: Value) -> tuple[int, object]:
    """Sorts the classes of several models: booleans, numbers, words and dates by themselves."""
    if isinstance(value, bool):
        return (0, value)
    return (1, value) if isinstance(value, int | float | Decimal) else (2, str(value))


# -- columns -----------------------------------------------------------------------------------------------


def checked_columns(attributes: Sequence[ColumnInfo], target: ColumnInfo) -> tuple[tuple[Attribute, ...], Attribute]:
    """The columns as a model knows them; a column that cannot be learned from is refused."""
    if target.kind not in CLASS_KINDS:
        raise PolicyError(
            f'column "{target.name}" is {target.shape}: a class must be text, integer, decimal, boolean or date'
        )
    names = [info.name for info in attributes]
    for info in attributes:
        if info.kind is Kind.UNSUPPORTED:
            raise PolicyError(f'column "{info.name}" is {info.shape}, which cannot be learned from')
        if info.name == target.name:
            raise PolicyError(f'column "{info.name}" is the target: it cannot be an attribute as well')
        if names.count(info.name) > 1:
            raise PolicyError(f'column "{info.name}" is listed twice among the attributes')
    if len(names) > MOST_ATTRIBUTES:
        raise PolicyError(f"a classifier takes at most {MOST_ATTRIBUTES} attributes, got {len(names)}")
    return tuple(map(attribute_of, attributes)), attribute_of(target, ordered=False)


# -- SQL ---------------------------------------------------------------------------------------------------


def number(value: int) -> exp.Expr:
    literal = exp.Literal.number(abs(value))
    return exp.Neg(this=literal) if value < 0 else literal


def score(value: int) -> exp.Expr:
    """A score as it stands in a statement: 64 bits wide, because its sums would not fit into 32."""
    return exp.cast(number(value), "BIGINT")


def double(value: float) -> exp.Expr:
    """Exactly this floating-point number, on every engine."""
    return exp.cast(exp.Literal.string(repr(value)), "DOUBLE")


def operand(attribute: Attribute, engine: Engine | None, table: str | None) -> exp.Expr:
    """A column as a statement compares it; with an engine text is compared by its bytes, else as it is declared."""
    if engine is not None:
        return canonical(engine, ColumnInfo(attribute.name, attribute.kind, ""), table)
    plainly = column(attribute.name, table)
    return exp.cast(plainly, "TEXT") if attribute.kind is Kind.UUID else plainly


def literal(value: Value, kind: Kind) -> exp.Expr:
    """A class or a category in a statement."""
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, int):
        return number(value)
    if isinstance(value, Decimal):
        digits = exp.Literal.number(format(abs(value), "f"))
        return exp.Neg(this=digits) if value < 0 else digits
    return exp.cast(exp.Literal.string(str(value)), "DATE" if kind is Kind.DATE else "TEXT")


def fetch_expression(value: exp.Expr, kind: Kind) -> exp.Expr:
    """A column on its way to Python: dates as text, because Python's have no infinity and no year 10000."""
    return exp.cast(value, "TEXT") if kind in MOMENTS else value


def category(value: object, kind: Kind) -> Value:
    """A value of a row in Python as models keep it; NaN never is one."""
    if isinstance(value, float) and value.is_integer() and kind is Kind.INTEGER:
        return int(value)
    return plain(value)


# -- JSON --------------------------------------------------------------------------------------------------

_WORDS = {bool: "boolean", int: "integer", Decimal: "decimal", str: "text"}


def value_to_dict(value: Value, kind: Kind) -> dict[str, object]:
    """A value with its type; numbers as text, because JSON's numbers are not exact everywhere.

    >>> value_to_dict(Decimal("1.50"), Kind.DECIMAL), value_to_dict(True, Kind.BOOLEAN)
    ({'decimal': '1.50'}, {'boolean': True})
    """
    if kind is Kind.DATE:
        return {"date": str(value)}
    return {_WORDS[type(value)]: value if isinstance(value, bool | str) else str(value)}


def value_from_dict(given: Reading, kind: Kind) -> Value:
    """The value in a dictionary, which has to be of the column's kind."""
    word = {Kind.DATE: "date", Kind.UUID: "text"}.get(kind, kind.value)
    if given.keys() != {word}:
        given.refuse(f"is not a value of type {word}")
    inside = given[word]
    if kind is Kind.BOOLEAN:
        return inside.boolean()
    if kind in (Kind.INTEGER, Kind.DECIMAL):
        value: int | Decimal = inside.whole_text() if kind is Kind.INTEGER else inside.decimal()
        if not -(1 << 127) <= value <= (1 << 128) or (value != 0 and -_LEAST_DIGIT < value < _LEAST_DIGIT):
            inside.refuse("is a number that no column can hold")
        return value
    text = inside.text()
    if kind is Kind.DATE and read_moment(text) is None:
        inside.refuse("is not a date")
    return text


def attribute_to_dict(attribute: Attribute) -> dict[str, object]:
    kept: dict[str, object] = {"name": attribute.name, "kind": attribute.kind.value, "ordered": attribute.ordered}
    if attribute.scale is not None:
        kept["scale"] = attribute.scale
    return kept | ({"zoned": True} if attribute.zoned else {})


def attribute_from_dict(given: Reading) -> Attribute:
    kind = Kind(given["kind"].one_of([kind.value for kind in Kind if kind is not Kind.UNSUPPORTED]))
    given.only(("name", "kind", "ordered", "scale", "zoned"))
    ordered = given["ordered"].boolean()
    if ordered and not kind.is_ordered:
        given.refuse("is ordered, but its kind has no order")
    scale = given["scale"].whole(0) if "scale" in given.keys() else None  # noqa: SIM118 - not a dict
    zoned = given["zoned"].boolean() if "zoned" in given.keys() else False  # noqa: SIM118
    return Attribute(given["name"].text(least=1), kind, ordered, scale, zoned)


def classes_from_dict(given: Reading, target: Attribute) -> tuple[Value, ...]:
    if target.kind not in CLASS_KINDS:
        given.refuse("are of a kind that cannot be a class")
    classes = tuple(value_from_dict(part, target.kind) for part in given.items(least=1))
    if len(set(classes)) != len(classes):
        given.refuse("lists a class twice")
    if len(classes) > MOST_CLASSES:
        given.refuse(f"has more than {MOST_CLASSES} entries")
    return classes


def checked_row(row: Mapping[str, object], attributes: Sequence[Attribute]) -> None:
    missing = [attribute.name for attribute in attributes if attribute.name not in row]
    if missing:
        raise PolicyError(f'the row has no column "{missing[0]}", which the model needs')
