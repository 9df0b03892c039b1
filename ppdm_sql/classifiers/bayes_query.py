"""Scores per class as SQL: one CASE per attribute and class, its results the weights as whole numbers.

    inner layer    per attribute the code of the row's value (a balanced CASE over bins, a CASE over categories)
    outer layer    per class the prior's weight plus, per attribute, the weight of the code

A domain of more than 32 categories stands in a list of its own that is joined; a Gaussian attribute is a curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.classifiers.best_score import pass_through_columns, score_name
from ppdm_sql.classifiers.domains import KEY, CategoricalDomain, Domain, code_case, is_listed, join_values, values_list
from ppdm_sql.classifiers.gaussian import Gaussian, as_double, finite, steps, weight_case
from ppdm_sql.classifiers.values import NEVER, number, operand, score
from ppdm_sql.engines.base import Engine
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.trees.tree import Attribute

_CODE, _LIST = "ppdm_a", "ppdm_l"
_MOST_TERMS = 100  # of one sum: engines bound how deeply an expression may be nested


@dataclass(frozen=True)
class Scored:
    """An attribute and what its values weigh: per code, per class; a Gaussian one has its curves instead."""

    attribute: Attribute
    domain: Domain | Gaussian
    weights: tuple[tuple[int, ...], ...] | None


def scores_query(
    parts: Sequence[Scored], priors: Sequence[int], relation: Name, keep: Sequence[str], engine: Engine | None
) -> exp.Select:
    """The kept columns and ppdm_score_0, ppdm_score_1, ... of every row."""
    inner = exp.Select(expressions=pass_through_columns(keep, "r")).from_(relation.table("r"))
    for place, part in enumerate(parts):
        inner = _attribute_columns(inner, place, part, len(priors), engine)
    if not inner.expressions:
        inner = inner.select(aliased(number(1), "ppdm_row"))
    outer = exp.Select(expressions=[column(f"ppdm_k{place}", "c") for place in range(len(keep))])
    for class_place, prior in enumerate(priors):
        weights = [_weight(place, part, class_place) for place, part in enumerate(parts)]
        total = _sum(score(prior), weights[:_MOST_TERMS])
        for start in range(_MOST_TERMS, len(weights), _MOST_TERMS):
            more = _sum(score(0), weights[start : start + _MOST_TERMS])
            total = exp.Add(this=total, expression=exp.Paren(this=more))
        outer = outer.select(aliased(total, score_name(class_place)), copy=False)
    outer = outer.from_(inner.subquery("c", copy=False), copy=False)
    return _never_is_never(outer, len(keep), len(priors)) if _can_be_never(parts, priors) else outer


def _sum(first: exp.Expr, terms: Sequence[exp.Expr]) -> exp.Expr:
    for term in terms:
        first = exp.Add(this=first, expression=term)
    return first


def _attribute_columns(inner: exp.Select, place: int, part: Scored, classes: int, engine: Engine | None) -> exp.Select:
    """The inner layer's columns of one attribute."""
    name = f"{_CODE}{place}"
    if isinstance(part.domain, Gaussian):
        x = as_double(part.attribute, column(part.attribute.name, "r"))
        step = exp.Case(ifs=[exp.If(this=finite(x), true=steps(part.domain, x.copy()))])
        return inner.select(aliased(step, name), copy=False)
    if not is_listed(part.domain):
        return inner.select(aliased(code_case(part.attribute, part.domain, engine, "r"), name), copy=False)
    assert isinstance(part.domain, CategoricalDomain)
    assert part.weights is not None
    alias, plain = f"{_LIST}{place}", operand(part.attribute, engine, "r")
    listed = values_list(part.domain, part.weights[:-1], alias)
    inner = join_values(inner, listed, alias, plain)
    missing = exp.Is(this=plain.copy(), expression=exp.Null())
    unnamed = exp.Is(this=column(KEY, alias), expression=exp.Null())
    for class_place in range(classes):
        weight = exp.Case(
            ifs=[
                exp.If(this=missing.copy(), true=number(0)),
                exp.If(this=unnamed.copy(), true=number(part.weights[-1][class_place])),
            ],
            default=column(f"ppdm_w{class_place}", alias),
        )
        inner = inner.select(aliased(weight, f"{name}_{class_place}"), copy=False)
    return inner


def _weight(place: int, part: Scored, class_place: int) -> exp.Expr:
    """What one attribute says for one class."""
    name = f"{_CODE}{place}"
    if isinstance(part.domain, Gaussian):
        return weight_case(part.domain, class_place, column(name, "c"))
    if is_listed(part.domain):
        return column(f"{name}_{class_place}", "c")
    assert part.weights is not None
    branches = [exp.If(this=number(code), true=number(row[class_place])) for code, row in enumerate(part.weights)]
    return exp.Case(this=column(name, "c"), ifs=branches, default=number(0))


def _can_be_never(parts: Sequence[Scored], priors: Sequence[int]) -> bool:
    rows = [priors, *(row for part in parts for row in part.weights or ())]
    return any(weight == NEVER for row in rows for weight in row)


def _never_is_never(scores: exp.Select, keep: int, classes: int) -> exp.Select:
    """Without smoothing one share of nothing makes the whole product nothing, however many there are."""
    picked: list[exp.Expr] = [column(f"ppdm_k{place}", "n") for place in range(keep)]
    for place in range(classes):
        total = column(score_name(place), "n")
        lost = exp.If(this=exp.LT(this=total, expression=number(NEVER // 2)), true=number(NEVER))
        picked.append(aliased(exp.Case(ifs=[lost], default=total.copy()), score_name(place)))
    return exp.Select(expressions=picked).from_(scores.subquery("n", copy=False), copy=False)
