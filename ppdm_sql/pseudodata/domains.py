"""What values a pseudo-row can have: declared domains, or what the published model itself names.

Never a look at the data: its least and greatest values are somebody's.  A category can only be one that the model
names.  A number lies between declared bounds; without them between bounds that follow from the model's thresholds
(as far beyond the outermost ones as neighbouring thresholds are apart on average).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

from ppdm_sql.errors import PolicyError
from ppdm_sql.trees.tree import Attribute, Bands, Cut, Groups, Tree, Value

Bounds = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Domain:
    """The values of one column of a pseudo-table: a list of categories, or bounds of a number or a day."""

    attribute: Attribute
    values: tuple[Value, ...] = ()
    bounds: Bounds | None = None  # of a number; of a moment in days since 1970


def domains_of(tree: Tree, declared: Mapping[str, Bounds]) -> dict[int, Domain]:
    """Per attribute that the tree asks for, or that has declared bounds, its domain."""
    unknown = [name for name in declared if name not in {attribute.name for attribute in tree.attributes}]
    if unknown:
        raise PolicyError(f'domains: the model has no column "{unknown[0]}"')
    used = set(tree.used())
    found = {}
    for number, attribute in enumerate(tree.attributes):
        if attribute.ordered and (number in used or attribute.name in declared):
            bounds = declared.get(attribute.name) or _beyond([place_of(at) for at in _thresholds(tree, number)])
            found[number] = Domain(attribute, bounds=_checked(tree, number, bounds))
        elif not attribute.ordered and attribute.name in declared:
            raise PolicyError(f'domains: column "{attribute.name}" has categories, not bounds')
        elif number in used:
            found[number] = Domain(attribute, values=_named(tree, number))
    return found


def read_domains(option: Any) -> dict[str, Bounds]:
    """The option domains = (age, 0, 120, weight, 30, 200) as bounds per column."""
    items = list(option) if isinstance(option, tuple) else []
    if option is not None and (not items or len(items) % 3):
        raise PolicyError("domains is a list of column, least, greatest, as in domains = (age, 0, 120)")
    found: dict[str, Bounds] = {}
    for place in range(0, len(items), 3):
        name, low, high = items[place : place + 3]
        if not isinstance(name, str) or not isinstance(low, Fraction) or not isinstance(high, Fraction) or low >= high:
            raise PolicyError("domains is a list of column, least, greatest, as in domains = (age, 0, 120)")
        found[name] = (low, high)
    return found


def _thresholds(tree: Tree, number: int) -> list[Any]:
    found: list[Any] = []
    for split in (node.split for node in tree.nodes):
        if isinstance(split, Cut | Bands) and split.attribute == number:
            found += [split.at] if isinstance(split, Cut) else split.at
    return found


def place_of(at: Any) -> Fraction:
    """A threshold as a number; a moment by its day since 1970."""
    if isinstance(at, str):
        return Fraction((date.fromisoformat(at[:10]) - date(1970, 1, 1)).days)
    return Fraction(at)


def _beyond(thresholds: Sequence[Fraction]) -> Bounds:
    """Bounds that follow from the thresholds alone.

    >>> _beyond([Fraction(30), Fraction(50), Fraction(60)]), _beyond([Fraction(40)])
    ((Fraction(15, 1), Fraction(75, 1)), (Fraction(0, 1), Fraction(80, 1)))
    """
    places = sorted(set(thresholds))
    apart = (places[-1] - places[0]) / (len(places) - 1) if len(places) > 1 else abs(places[0]) or Fraction(1)
    return places[0] - apart, places[-1] + apart


def _checked(tree: Tree, number: int, bounds: Bounds) -> Bounds:
    places = [place_of(at) for at in _thresholds(tree, number)]
    if places and not bounds[0] < min(places) <= max(places) < bounds[1]:
        name = tree.attributes[number].name
        raise PolicyError(f'domains: the model cuts column "{name}" outside of its declared bounds')
    return bounds


def _named(tree: Tree, number: int) -> tuple[Value, ...]:
    found: dict[Value, None] = {}
    for node in tree.nodes:
        if isinstance(node.split, Groups) and node.split.attribute == number:
            found |= dict.fromkeys(value for group in node.split.groups for value in group if value is not None)
    return tuple(sorted(found, key=lambda value: (str(type(value)), value)))


def days(bounds: Bounds, most: int = 400) -> list[date]:
    """Evenly spread days from one bound to before the other."""
    first, stop = -(-bounds[0] // 1), -(-bounds[1] // 1)
    wanted = min(most, max(1, int(stop - first)))
    step = Fraction(max(1, int(stop - first)), wanted)
    return [date(1970, 1, 1) + timedelta(days=int(first + step * place)) for place in range(wanted)]
