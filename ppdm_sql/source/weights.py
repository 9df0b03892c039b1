"""Sampling weights: for how many people of a population a row stands.

A weight is read to a millionth, so that sums are exact and the same on every engine.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.errors import Mistake, PolicyError
from ppdm_sql.policy.options import at
from ppdm_sql.policy.policy import Place
from ppdm_sql.policy.words import many
from ppdm_sql.statements.names import Name, column

WEIGHT = "ppdm_people_weight"  # where the stage has the weight of a row
MOST_PEOPLE = 10**10  # of one row
_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT)
_EXACT = "DECIMAL(18, 6)"


def exact_weight(info: ColumnInfo, table: str) -> exp.Expr:
    """The weight as an exact number; a REAL by all its digits."""
    plain: exp.Expr = column(info.name, table)
    return exp.cast(exp.cast(plain, "DOUBLE") if info.kind is Kind.FLOAT else plain, _EXACT)


def weight_mistakes(info: ColumnInfo, others: Collection[str | None], place: Place | None) -> Iterator[Mistake]:
    """What is wrong with a column of weights; others: the columns with a role that weights cannot have."""
    if info.kind not in _NUMBERS:
        yield at(place, f'WEIGHT COLUMN: column "{info.name}" is {info.declared}, not a number')
    if info.name in others:
        yield at(place, f'WEIGHT COLUMN: column "{info.name}" has another role; only INSENSITIVE goes with it')


def refuse_weights(engine: Engine, relation: Name, info: ColumnInfo, place: Place | None) -> None:
    """Refuses rows that stand for nobody, or for no number of people."""
    weight = column(info.name, "r")
    missing = exp.Is(this=weight, expression=exp.Null())
    fits = exp.Between(this=weight.copy(), low=exp.convert(1), high=exp.convert(MOST_PEOPLE))
    wrong = exp.Case().when(missing, exp.Null()).when(fits, exp.Null()).else_(exp.Literal.number(1))
    counts = [exp.Count(this=exp.Case().when(missing.copy(), exp.Literal.number(1))), exp.Count(this=wrong)]
    unknown, outside = map(int, engine.fetch_one(exp.Select(expressions=counts).from_(relation.table("r"))))
    told = [f"is NULL in {many(unknown, 'row')}"] if unknown else []
    told += [f"is not from 1 to {MOST_PEOPLE:,} in {many(outside, 'row')}"] if outside else []
    if told:
        message = (
            f'WEIGHT COLUMN: column "{info.name}" {" and ".join(told)}: a weight is the number of people for whom a '
            "row stands.  Leave these rows out of the query"
        )
        raise PolicyError(at(place, message), file=place.file if place else None)
