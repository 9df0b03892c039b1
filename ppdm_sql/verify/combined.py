"""What the tables of a release together say of a sensitive class: per combination of groups that a person has.

An attacker who knows all quasi-identifiers of a person weighs a class by the product of the person's groups in it over
n(class)^(tables - 1).  Requirements are measured on these weights, as exact fractions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from ppdm_sql import resources
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.requirements import ConfidenceLimit, DistinctDiversity, Requirement, SimpleDiversity
from ppdm_sql.statements.names import Name, column
from ppdm_sql.verify.projections import KEY, NUMBER, Weights, heads, read_weights
from ppdm_sql.verify.relation import Finding


@dataclass(frozen=True)
class Combined:
    findings: tuple[Finding, ...]


def judge_combinations(
    engine: Engine,
    combinations: Name,
    counts: Sequence[Name],
    classes: Name,
    requirements: Sequence[Requirement],
    *,
    nulls_as_value: bool,
    name: str | None = None,
) -> Combined:
    """The requirements of a sensitive class, on the combinations that people have."""
    if not requirements or not counts:
        return Combined(())
    hidden = None if nulls_as_value else _null_class(engine, classes)
    weights = read_weights(engine, combinations, counts, hidden)
    return Combined(tuple(_finding(weights, item, name) for item in requirements))


def _null_class(engine: Engine, classes: Name) -> int | None:
    """The number of the class that prints nothing."""
    query = exp.Select(expressions=[column(NUMBER)]).from_(classes.table())
    found = engine.fetch(query.where(exp.EQ(this=column(KEY), expression=exp.Literal.string("|-"))))
    return int(found[0][0]) if found else None


def _finding(weights: Weights, asked: Requirement, name: str | None) -> Finding:
    figures = _FIGURES.get(type(asked))
    if figures is None:
        raise PolicyError(f"{asked.word} cannot be measured on parts that are joined on a sensitive TARGET")
    found, breaks, worst = figures(weights, asked)
    broken = [combination for combination, figure in found.items() if breaks(figure)]
    return Finding(
        asked, name, not broken, worst(found.values()) if found else None, len(broken),
        sum(weights.known[one] for one in broken), _sha256(),
    )  # fmt: skip


def _sha256() -> str:
    return hashlib.sha256(resources.sql_text("verify/confidence").encode()).hexdigest()


Found = tuple[Mapping[int, Fraction], Callable[[Fraction], bool], Callable[..., Fraction]]


def _confidence(weights: Weights, asked: Requirement) -> Found:
    assert isinstance(asked, ConfidenceLimit)
    return heads(weights), lambda head: head > asked.limit, max


def _simple(weights: Weights, asked: Requirement) -> Found:
    assert isinstance(asked, SimpleDiversity)
    known = {int(one) for one in weights.combination}
    found = {one: 1 / head if one in known else Fraction(0) for one, head in heads(weights).items()}
    return found, lambda figure: figure < asked.l, min


def _distinct(weights: Weights, asked: Requirement) -> Found:
    assert isinstance(asked, DistinctDiversity)
    found = dict.fromkeys(weights.known, Fraction(0))
    for combination, classes, _ in weights.by_combination():
        found[combination] = Fraction(len(classes))
    return found, lambda figure: figure < asked.l, min


_FIGURES: Mapping[type[Requirement], Callable[[Weights, Requirement], Found]] = {
    ConfidenceLimit: _confidence,
    SimpleDiversity: _simple,
    DistinctDiversity: _distinct,
}
