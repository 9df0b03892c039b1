"""How good predictions are, counted in the database from a relation of what is true and what was predicted.

    ppdm_truth      the number of the row's class, -1 for a class that training did not have; or a number to predict
    ppdm_told       the number of the predicted class; or the number
    ppdm_share_<c>  how likely the row is of class c; only the order of these figures counts

Accuracy and AUC are exact.  With more than two classes the AUC is the mean of those of every class against all
others, weighted by the rows of the class.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import Name, aliased, column

TRUTH, TOLD, SHARE = "ppdm_truth", "ppdm_told", "ppdm_share_"
UNKNOWN = -1


def confusion(engine: Engine, told: Name) -> dict[tuple[int, int], int]:
    """Rows by (true class, told class)."""
    found = engine.fetch(statement("evaluate/confusion", {"source": told.table()}))
    return {(int(truth), int(taken)): int(rows) for truth, taken, rows in found}


def rows_and_right(counted: Mapping[tuple[int, int], int]) -> tuple[int, int]:
    """Of a confusion: all rows, and those whose class was predicted right."""
    return sum(counted.values()), sum(rows for (truth, told), rows in counted.items() if truth == told)


def auc(engine: Engine, told: Name, classes: int) -> Fraction | None:
    """The area under the ROC curve; None where no class can be told from another one."""
    total, weight = Fraction(0), 0
    for number in range(classes):
        pairs, inside, outside = class_pairs(engine, told, number)
        if inside and outside:
            total += inside * Fraction(pairs, 2 * inside * outside)
            weight += inside
    return total / weight if weight else None


def class_pairs(engine: Engine, told: Name, number: int) -> tuple[int, int, int]:
    """Twice the pairs told in the right order, rows of the class, other rows."""
    mine = exp.EQ(this=column(TRUTH), expression=exp.Literal.number(number))
    positive = exp.Case(ifs=[exp.If(this=mine, true=exp.Literal.number(1))], default=exp.Literal.number(0))
    share = column(f"{SHARE}{number}")
    rows = exp.Select(expressions=[aliased(positive, "ppdm_positive"), aliased(share, "ppdm_probability")])
    source = exp.Subquery(this=rows.from_(told.table()), alias=exp.TableAlias(this=exp.to_identifier("source")))
    pairs, inside, outside = engine.fetch_one(statement("evaluate/auc", {"source": source}))
    return int(pairs), int(inside), int(outside)


def r_squared(engine: Engine, told: Name) -> tuple[int, float | None]:
    """The rows that were asked, and 1 - what is left open / what the mean leaves open; None where nothing varies."""
    rows, left, whole = engine.fetch_one(statement("evaluate/r_squared", {"source": told.table()}))
    return int(rows), (1.0 - float(left) / float(whole) if whole else None)
