"""Where a policy cuts columns: cuts = (age, 30, 45, 60, hours, 40), for every method that takes bins."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.induction.borders import At
from ppdm_sql.methods.atp.bins import rising
from ppdm_sql.policy.policy import OptionValue
from ppdm_sql.policy.words import did_you_mean, nearest, printable
from ppdm_sql.source.relation import Source, match
from ppdm_sql.statements.names import Word
from ppdm_sql.trees.comparing import MOMENTS, NUMBERS, read_moment
from ppdm_sql.trees.tree import attribute_of


def read_cuts(value: OptionValue, source: Source, method: str) -> dict[str, tuple[At, ...]]:
    """The borders of cuts = (age, 30, 45, 60, hours, 40), by column."""
    wrong = PolicyError(
        f"cuts of ALGORITHM {method} must list columns and their thresholds, as in cuts = (age, 30, 45, 60)"
    )
    found: dict[str, list[At]] = {}
    name: str | None = None
    for item in value if isinstance(value, tuple) else ():
        here = match(Word(item), source.columns) if isinstance(item, str) else None
        if here is not None and here not in found:
            name = here
            found[name] = []
        elif here is None and isinstance(item, str) and (name is None or _is_misspelt(item, source)):
            near = did_you_mean(item, source.columns)
            raise PolicyError(f'cuts of ALGORITHM {method}: column "{printable(item)}" does not exist: {near}')
        elif name is None or here is not None:
            raise wrong
        else:
            found[name].append(_border(item, source, name, method))
    if not found or not all(found.values()):
        raise wrong
    for column, cuts in found.items():
        if not rising(attribute_of(source.info(column)), cuts):
            raise PolicyError(f'cuts of ALGORITHM {method}: the thresholds of "{column}" are not in ascending order')
    return {column: tuple(cuts) for column, cuts in found.items()}


def _is_misspelt(item: str, source: Source) -> bool:
    """Whether a text is meant as a column, not as a border of the one before."""
    return read_moment(item) is None and nearest(item, tuple(source.columns)) is not None


def _border(item: OptionValue, source: Source, name: str, method: str) -> At:
    kind = source.info(name).kind
    moment = read_moment(item) if isinstance(item, str) and kind in MOMENTS else None
    if moment is not None and not (kind is Kind.DATE and moment[0] % 86_400):
        return str(item)
    if isinstance(item, Fraction) and kind in NUMBERS:
        exact = Decimal(item.numerator) / Decimal(item.denominator)
        if Fraction(exact) == item:
            return exact
    raise PolicyError(
        f'cuts of ALGORITHM {method}: column "{name}" is {kind.value}, and a threshold given for it is not'
    )
