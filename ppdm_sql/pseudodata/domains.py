"""What values a pseudo-row can have: declared domains, or what the published model itself names.

Never a look at the data: its least and greatest values are those of single people.  A category is one that was
declared; without a declaration one that the model names.  A number lies between declared bounds; without them between
bounds that follow from the model's thresholds (as far beyond the outermost ones as
neighbouring thresholds are apart on average).

Places are exact numbers: of a day the days since 1970, of a moment the seconds since 1970.  All but floating-point
columns are drawn as whole numbers of steps: one of an integer or a day, 10^-scale of a DECIMAL (more where 17 digits do
not reach that far), a second of a moment (a microsecond where the model cuts between two seconds).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from math import floor, log10
from typing import Any

from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.values import option_value
from ppdm_sql.policy.words import did_you_mean, printable
from ppdm_sql.pseudodata.categories import Listed, declared_categories, named_categories
from ppdm_sql.pseudodata.draws import WIDEST
from ppdm_sql.source.relation import match
from ppdm_sql.statements.names import Word
from ppdm_sql.trees.comparing import MOMENTS, instant, read_moment
from ppdm_sql.trees.tree import Attribute, Bands, Cut, Tree, Value

Bounds = tuple[Fraction, Fraction]
Ends = tuple[Fraction | str, Fraction | str]  # a text is a moment
Declared = Ends | Listed

DAY = 86_400  # seconds
FIRST_DAY = date.min.toordinal() - date(1970, 1, 1).toordinal()
_END_DAY = date.max.toordinal() - date(1970, 1, 1).toordinal() + 1
_DIGITS = 17  # of a DECIMAL as a whole number of steps
_LONGEST = 34  # of a DECIMAL before the point
_LIMITS: dict[Kind, tuple[Fraction, Fraction, str]] = {
    Kind.INTEGER: (Fraction(-(2**63)), Fraction(2**63), "64 bits"),
    Kind.DECIMAL: (Fraction(-(10**_LONGEST)), Fraction(10**_LONGEST), f"{_LONGEST} digits"),
    # half, so that the width of a domain is a double, too
    Kind.FLOAT: (-Fraction(sys.float_info.max) / 2, Fraction(sys.float_info.max) / 2, "a DOUBLE"),
    Kind.DATE: (Fraction(FIRST_DAY), Fraction(_END_DAY), "the years 1 to 9999"),
    Kind.TIMESTAMP: (Fraction(FIRST_DAY * DAY), Fraction(_END_DAY * DAY), "the years 1 to 9999"),
}
_NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?", re.ASCII)
_FORM = (
    "domains must be a list of column, least, greatest, or column and its categories in brackets, as in domains "
    "= (age, 0, 120, born, '1930-01-01', '2010-01-01', ward, ('A', 'B', 'C'))"
)


@dataclass(frozen=True)
class Domain:
    """The values of one column of a pseudo-table: a list of categories, or bounds of a number or a moment."""

    attribute: Attribute
    values: tuple[Value, ...] = ()
    bounds: Bounds | None = None
    steps: Fraction | None = None  # of one unit; None: the values are categories or real numbers
    is_declared: bool = False  # its categories are all there are

    @property
    def name(self) -> str:
        return self.attribute.name


def domains_of(tree: Tree, declared: Mapping[str, Declared]) -> dict[int, Domain]:
    """Per attribute that the tree asks for, or whose domain was declared, its domain."""
    declared = match_columns(declared, [attribute.name for attribute in tree.attributes], "the model has no column")
    used = set(tree.used_attributes())
    found = {}
    for number, attribute in enumerate(tree.attributes):
        told = declared.get(attribute.name)
        if number in used or told is not None:
            found[number] = _range_domain(tree, number, told) if attribute.ordered else _list_domain(tree, number, told)
    return found


def match_columns(declared: Mapping[str, Declared], names: Iterable[str], lacks: str) -> dict[str, Declared]:
    """What was declared, by the names that the columns have: a word means a column as it does in SQL.

    >>> match_columns({"AGE": (Fraction(0), Fraction(9))}, ["age", "ward"], "there is no column")
    {'age': (Fraction(0, 1), Fraction(9, 1))}
    """
    known = dict.fromkeys(names)
    found: dict[str, Declared] = {}
    for word, told in declared.items():
        name = match(Word(word), known)
        if name is None:
            raise PolicyError(f'domains: {lacks} "{printable(word)}": {did_you_mean(word, known)}')
        if name in found:
            raise PolicyError(f'domains: column "{name}" is given twice')
        found[name] = told
    return found


def _list_domain(tree: Tree, number: int, declared: Declared | None) -> Domain:
    attribute, named = tree.attributes[number], named_categories(tree, number)
    if declared is None:
        return Domain(attribute, values=named)
    if not isinstance(declared, Listed):
        raise PolicyError(f'domains: column "{attribute.name}" has categories, not bounds: write them in brackets')
    return Domain(attribute, values=declared_categories(attribute, declared, named), is_declared=True)


def read_domains(option: Any) -> dict[str, Declared]:
    """The option domains = (age, 0, 120, ward, ('A', 'B')) as bounds or categories per column."""
    items = option if isinstance(option, tuple) else ()
    if option is not None and not items:
        raise PolicyError(_FORM)
    found: dict[str, Declared] = {}
    waiting = iter(items)
    for name in waiting:
        declared = _take_declared(waiting)
        if not isinstance(name, str) or declared is None:
            raise PolicyError(_FORM)
        if name in found:
            raise PolicyError(f'domains: column "{name}" is given twice')
        found[name] = declared
    return found


def _take_declared(waiting: Iterator[Any]) -> Declared | None:
    """What stands behind the name of a column: a list, or two bounds."""
    first = next(waiting, None)
    if isinstance(first, tuple):
        return Listed(first) if first and all(isinstance(one, Fraction | str | bool) for one in first) else None
    second = next(waiting, None)
    return (first, second) if isinstance(first, Fraction | str) and isinstance(second, Fraction | str) else None


def domains_from_text(text: str) -> dict[str, Declared]:
    """The same as it is written on a command line.

    >>> domains_from_text("age,0,120, born,1930-01-01,2010-01-01")
    {'age': (Fraction(0, 1), Fraction(120, 1)), 'born': ('1930-01-01', '2010-01-01')}
    >>> domains_from_text("ward,A|B") == domains_from_text("(ward, ('A', 'B'))")
    True
    """
    if text.lstrip().startswith("("):  # as in a statement: categories may have commas and bars
        return read_domains(option_value(text))
    words = (word.strip() for word in text.split(","))
    items: list[Any] = []
    for name in words:
        first = next(words, "")
        items.append(name)
        items += [_between_bars(first)] if "|" in first else map(_number_or_text, (first, *islice(words, 1)))
    return read_domains(tuple(items))


def _between_bars(word: str) -> tuple[str, ...]:
    found = tuple(part.strip() for part in word.split("|"))
    if not all(found):
        raise PolicyError("domains: there is nothing between two bars; write an empty category as (column, (''))")
    return found


def _number_or_text(word: str) -> Fraction | str:
    return Fraction(word) if _NUMBER.fullmatch(word) else word


# -- bounds ----------------------------------------------------------------------------------------------


def _range_domain(tree: Tree, number: int, declared: Declared | None) -> Domain:
    attribute = tree.attributes[number]
    if isinstance(declared, Listed):
        raise PolicyError(f'domains: column "{attribute.name}" has bounds, not categories')
    places = [place_of(attribute, at) for at in _thresholds(tree, number)]
    low, high, what = _LIMITS[attribute.kind]
    if places and not low < min(places) <= max(places) < high:
        raise PolicyError(
            f'column "{attribute.name}" has a threshold in the model beyond {what}: no pseudo-rows can be made from it'
        )
    if declared is None:
        beyond = _beyond(places)
        bounds, told = (max(low, beyond[0]), min(high, beyond[1])), places
    else:
        bounds = _read_bounds(attribute, declared)
        told = [*places, *bounds]
    if places and not bounds[0] < min(places) <= max(places) < bounds[1]:
        raise PolicyError(
            f'domains: column "{attribute.name}" has a threshold in the model outside its declared bounds'
        )
    return with_steps(Domain(attribute, bounds=bounds, steps=_steps(attribute, told, bounds[1] - bounds[0])))


def _read_bounds(attribute: Attribute, declared: Ends) -> Bounds:
    found = tuple(_declared_place(attribute, end) for end in declared)
    low, high, what = _LIMITS[attribute.kind]
    if not low <= found[0] < found[1] <= high:
        why = "the least is not below the greatest" if found[0] >= found[1] else f"they lie beyond {what}"
        raise PolicyError(f'domains: the bounds of column "{attribute.name}" are wrong: {why}')
    return found[0], found[1]


def _declared_place(attribute: Attribute, end: Fraction | str) -> Fraction:
    """A declared bound: a number; of a moment a text such as 2001-12-31, or its days since 1970."""
    is_moment = attribute.kind in MOMENTS
    if isinstance(end, Fraction):
        return end * DAY if attribute.kind is Kind.TIMESTAMP else end
    if not is_moment or read_moment(end) is None:
        wanted = "dates such as '2001-12-31'" if is_moment else "numbers"
        raise PolicyError(f'domains: the bounds of column "{attribute.name}" are {wanted}')
    return place_of(attribute, end)


def _thresholds(tree: Tree, number: int) -> list[Any]:
    found: list[Any] = []
    for split in (node.split for node in tree.nodes):
        if isinstance(split, Cut | Bands) and split.attribute == number:
            found += [split.at] if isinstance(split, Cut) else split.at
    return found


def place_of(attribute: Attribute, at: Decimal | str) -> Fraction:
    """A threshold as a number; a day by the days since 1970, a moment by the seconds.

    >>> place_of(Attribute("d", Kind.DATE, True), "1970-01-11")
    Fraction(10, 1)
    >>> place_of(Attribute("t", Kind.TIMESTAMP, True), "1970-01-01 00:01:00.5")
    Fraction(121, 2)
    """
    if isinstance(at, str):
        seconds, nanoseconds = instant(at, attribute)
        place = seconds + Fraction(nanoseconds, 10**9)
        return place / DAY if attribute.kind is Kind.DATE else place
    if not at.is_finite():
        raise PolicyError(
            f'column "{attribute.name}" has an infinite threshold in the model: no pseudo-rows can be made from it'
        )
    return Fraction(at)


def _beyond(thresholds: Sequence[Fraction]) -> Bounds:
    """Bounds that follow from the thresholds alone.

    >>> _beyond([Fraction(30), Fraction(50), Fraction(60)]), _beyond([Fraction(40)])
    ((Fraction(15, 1), Fraction(75, 1)), (Fraction(0, 1), Fraction(80, 1)))
    """
    places = sorted(set(thresholds))
    apart = (places[-1] - places[0]) / (len(places) - 1) if len(places) > 1 else abs(places[0]) or Fraction(1)
    return places[0] - apart, places[-1] + apart


# -- steps -----------------------------------------------------------------------------------------------


def _steps(attribute: Attribute, places: Sequence[Fraction], width: Fraction) -> Fraction | None:
    """How many steps a unit has, so that every place that is named is reached."""
    if attribute.kind is Kind.FLOAT:
        return None
    if attribute.kind is Kind.TIMESTAMP:
        return Fraction(1 if all(place.denominator == 1 for place in places) else 10**6)
    if attribute.kind is not Kind.DECIMAL:
        return Fraction(1)
    if attribute.scale is not None:
        return Fraction(10**attribute.scale)
    return Fraction(10 ** max(telling_places(width), *(_places_behind(place) for place in places)))


def telling_places(width: Fraction) -> int:
    """Decimal places that give about four telling digits to numbers of a width.

    >>> telling_places(Fraction(1)), telling_places(Fraction(40)), telling_places(Fraction(10**6))
    (3, 2, 0)
    """
    return max(0, min(300, 3 - floor(log10(max(float(width), sys.float_info.min)))))


def _places_behind(place: Fraction) -> int:
    """Digits behind the point, as far as they can be drawn."""
    return next((digits for digits in range(_DIGITS) if (place * 10**digits).denominator == 1), _DIGITS)


def with_steps(domain: Domain) -> Domain:
    """The domain with steps that whole numbers of 64 bits can count; one that is too wide is refused."""
    steps = domain.steps
    if domain.bounds is None or steps is None:
        return domain
    low, high = domain.bounds
    while domain.attribute.kind is Kind.DECIMAL and max(-low, high) * steps > 10**_DIGITS:
        steps /= 10
    if (high - low) * steps > WIDEST:
        raise PolicyError(
            f'column "{domain.name}" has more than 2^62 values between its bounds: declare narrower ones with domains '
            "= "
            f"({domain.name}, least, greatest)"
        )
    return replace(domain, steps=steps)
