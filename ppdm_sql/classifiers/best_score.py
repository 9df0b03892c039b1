"""The greatest of several scores in SQL: a statement of layers, each with names of our own and none of the user's.

Layers are handed on without copying: a list of ten thousand categories would be copied by every one of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.classifiers.values import UNIT, double, literal, number
from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.names import aliased, column
from ppdm_sql.trees.tree import Value

PREDICTED = "ppdm_class"
SCORE, SHARE, _KEPT, _BEST, _WEIGHT = "ppdm_score_", "ppdm_share_", "ppdm_k", "ppdm_best", "ppdm_e"
_LEAST_EXPONENT = 700 * UNIT  # e^-700 is the last that no engine refuses as too small


def checked_keep(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise PolicyError(f'column "{name}" is listed twice among the columns to keep')
        if name == PREDICTED or name.startswith((SCORE, SHARE)):
            raise PolicyError(f'column "{name}" cannot be kept: the prediction has a column of that name')


def pass_through_columns(names: Sequence[str], table: str) -> list[exp.Expr]:
    """The columns that pass through, under names of our own; best_class_query() gives them back their names."""
    checked_keep(names)
    return [aliased(column(name, table), f"{_KEPT}{place}") for place, name in enumerate(names)]


def score_name(place: int) -> str:
    return f"{SCORE}{place}"


def best_class_query(
    scores: exp.Select,
    names: Sequence[str],
    classes: Sequence[Value],
    kind: Kind,
    *,
    tie: int = 0,
    least_score: int | None = None,
    with_scores: bool = False,
    with_shares: bool = False,
) -> exp.Select:
    """Rows with the class of the greatest score, of equal ones the first in the order of the classes.

    tie: scores this close to the greatest are equal to it.
    least_score: where the greatest score is less, there is no class.
    scores gives the kept columns and ppdm_score_0, ppdm_score_1, ... per class.
    """
    passed = [f"{_KEPT}{place}" for place in range(len(names))]
    columns = [score_name(place) for place in range(len(classes))]
    best: exp.Expr = column(columns[0], "s")
    if len(classes) > 1:
        # no score is NULL: without the flag the question would be asked anyway
        best = exp.Greatest(this=best, expressions=[column(name, "s") for name in columns[1:]], ignore_nulls=True)
    layer = exp.Select(expressions=[column(name, "s") for name in (*passed, *columns)]).from_(
        scores.subquery("s", copy=False), copy=False
    )
    layer = layer.select(aliased(best, _BEST), copy=False)
    if with_shares:
        layer = _exponents(layer, passed, columns)
    least: exp.Expr = column(_BEST, "b")
    if tie:
        least = exp.Sub(this=least, expression=number(tie))
    branches = [
        exp.If(this=exp.GTE(this=column(name, "b"), expression=least.copy()), true=literal(value, kind))
        for name, value in zip(columns[:-1], classes, strict=False)
    ]
    last = literal(classes[-1], kind)
    if least_score is not None:
        too_low = exp.LT(this=column(_BEST, "b"), expression=number(least_score))
        branches.insert(0, exp.If(this=too_low, true=exp.Null()))
    predicted = exp.Case(ifs=branches, default=last) if branches else last
    picked: list[exp.Expr] = [aliased(column(passed[place], "b"), name) for place, name in enumerate(names)]
    picked.append(aliased(predicted, PREDICTED))
    if with_scores:
        picked += [column(name, "b") for name in columns]
    if with_shares:
        picked += [aliased(_share(place, len(columns)), f"{SHARE}{place}") for place in range(len(columns))]
    return exp.Select(expressions=picked).from_(layer.subquery("b", copy=False), copy=False)


def computed_once(query: exp.Select, engine: Engine | None) -> exp.Select:
    """Keeps an engine from computing a layer's expressions again wherever the next layer refers to them.

    Without it the cost grows with the third power of the number of classes.
    """
    if engine is not None and engine.repeats_subqueries:
        for layer in query.find_all(exp.Subquery):
            layer.this.set("offset", exp.Offset(expression=number(0)))
    return query


def _exponents(layer: exp.Select, passed: Sequence[str], columns: Sequence[str]) -> exp.Select:
    """One more layer: e to the difference from the best score, 1 for the best class and less for all others."""
    query = exp.Select(expressions=[column(name, "d") for name in (*passed, *columns, _BEST)])
    for place, name in enumerate(columns):
        below = exp.Paren(this=exp.Sub(this=column(name, "d"), expression=column(_BEST, "d")))
        too_far = exp.LT(this=below, expression=number(-_LEAST_EXPONENT))
        logarithm = exp.Div(this=exp.cast(below.copy(), "DOUBLE"), expression=double(float(UNIT)))
        weight = exp.Case(ifs=[exp.If(this=too_far, true=double(0.0))], default=exp.Exp(this=logarithm))
        query = query.select(aliased(weight, f"{_WEIGHT}{place}"), copy=False)
    return query.from_(layer.subquery("d", copy=False), copy=False)


def _share(place: int, classes: int) -> exp.Expr:
    total: exp.Expr = column(f"{_WEIGHT}0", "b")
    for other in range(1, classes):
        total = exp.Add(this=total, expression=column(f"{_WEIGHT}{other}", "b"))
    return exp.Div(this=column(f"{_WEIGHT}{place}", "b"), expression=exp.Paren(this=total))
