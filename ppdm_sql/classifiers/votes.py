"""Several models, one answer: by their votes, by the sum of their shares, or by the product of what they think likely.

Tian et al.: the published local models are the committee, one vote each; there is no resampling.  Of equal results
the first class in the order of the values wins
(of products: within a factor of 1.000001).  The models may have different lists of classes.

    plurality   the class of most votes
    majority    the same if it has more than half of the votes, otherwise no answer (NULL)
    shares      the class with the greatest sum of the models' shares; a share is rounded down to units of 2^-32

The product adds logarithms, as integers.  A model's best class counts 0 and every other class how far it is behind,
but never more than 2^20 to 1: no single model can rule a class out.  A class that a model does not know is that far
behind.  Dividing a model's shares by their sum would change nothing, as it is the same for all classes.

In SQL the models' answers stand in a prediction table, made by their predict_query: one column per model with its
class (votes), or one per model and class with its score (shares, product).  Python and SQL give the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from sqlglot import exp

from ppdm_sql.classifiers.best_score import best_class_query, pass_through_columns, score_name
from ppdm_sql.classifiers.values import (
    TIE,
    UNIT,
    checked_row,
    first_best,
    fixed_log,
    literal,
    number,
    operand,
    value_key,
)
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.trees.follow import follow
from ppdm_sql.trees.tree import Attribute, Node, Tree, Value

FURTHEST = fixed_log(Fraction(1, 1 << 20))
MOST_MEMBERS = 100_000  # their sum stays far within 64 bits


class Voter(Protocol):
    """What can vote: it has classes, and thinks some of them more likely than others.

    scores: per class the logarithm of its likelihood in units of 2^-32, up to a constant that is the same for all.
    """

    @property
    def classes(self) -> tuple[Value, ...]: ...

    def scores(self, row: Mapping[str, object], /) -> Sequence[int]: ...

    def predict(self, row: Mapping[str, object], /) -> Value: ...


@dataclass(frozen=True)
class TreeVoter:
    """A decision tree as a member: the Laplace shares of the classes at the node where the row ends."""

    tree: Tree

    def __post_init__(self) -> None:
        if self.tree.is_regression:
            raise PolicyError("a regression tree has no classes: it cannot vote")

    @property
    def classes(self) -> tuple[Value, ...]:
        return self.tree.classes

    def scores(self, row: Mapping[str, object]) -> tuple[int, ...]:
        counts = self.end(row).counts
        return tuple(fixed_log(Fraction(rows + 1, sum(counts) + len(counts))) for rows in counts)

    def predict(self, row: Mapping[str, object]) -> Value:
        return self.tree.prediction(self.end(row))

    def end(self, row: Mapping[str, object]) -> Node:
        """The node where the row stops; a value without a branch stops at the node that asks."""
        checked_row(row, [self.tree.attributes[used] for used in self.tree.used_attributes()])
        return self.tree.nodes[follow(self.tree, row)]


def all_classes(lists: Iterable[Sequence[Value]]) -> tuple[Value, ...]:
    """The classes of all models in the order of the values.

    >>> all_classes([("no", "yes"), ("maybe", "yes")])
    ('maybe', 'no', 'yes')
    """
    found = tuple(sorted({value for values in lists for value in values}, key=value_key))
    if not found:
        raise PolicyError("a vote needs at least one model that has a class")
    return found


def plurality(members: Sequence[Voter], row: Mapping[str, object]) -> Value:
    """The class that most members take the row for."""
    classes = all_classes(member.classes for member in members)
    votes = [member.predict(row) for member in members]
    return classes[first_best([votes.count(value) for value in classes])]


def node_shares(node: Node) -> list[int]:
    """The shares of the classes among the rows of a node, in units of 2^-32."""
    return [rows * UNIT // node.rows if node.rows else 0 for rows in node.counts]


def product(members: Sequence[Voter], row: Mapping[str, object]) -> Value:
    """The class with the greatest product of the members' shares."""
    classes = all_classes(member.classes for member in members)
    totals = dict.fromkeys(classes, 0)
    for member in members:
        scores = dict(zip(member.classes, member.scores(row), strict=True))
        best = max(scores.values())
        for value in classes:
            totals[value] += max(FURTHEST, scores[value] - best) if value in scores else FURTHEST
    return classes[first_best(list(totals.values()), TIE)]


# -- in SQL ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Member:
    """A model's place in a prediction table: its classes, and the column of each one's score."""

    classes: tuple[Value, ...]
    columns: tuple[str, ...]


def votes_query(
    target: Attribute,
    lists: Sequence[Sequence[Value]],
    predictions: Name,
    columns: Sequence[str],
    keep: Sequence[str],
    *,
    more_than_half: bool = False,
    engine: Engine | None = None,
) -> exp.Select:
    """The rows of a prediction table with the class most models chose: the kept columns, then ppdm_class.

    lists: the classes of each model.  columns: the column of each model's answer; NULL is no vote.
    more_than_half: ppdm_class is NULL where no class has more than half of the models.
    """
    _check_members(columns)
    classes = all_classes(lists)
    inner = exp.Select(expressions=pass_through_columns(keep, "r")).from_(predictions.table("r"))
    for place, value in enumerate(classes):
        votes: exp.Expr = exp.cast(number(0), "BIGINT")
        for name in columns:
            answer = operand(Attribute(name, target.kind, ordered=False), engine, "r")
            same = exp.EQ(this=answer, expression=literal(value, target.kind))
            vote = exp.Case(ifs=[exp.If(this=same, true=number(1))], default=number(0))
            votes = exp.Add(this=votes, expression=vote)
        inner = inner.select(aliased(votes, score_name(place)), copy=False)
    least = len(columns) // 2 + 1 if more_than_half else None
    return best_class_query(inner, keep, classes, target.kind, least_score=least)


def shares_query(target: Attribute, members: Sequence[Member], predictions: Name, keep: Sequence[str]) -> exp.Select:
    """The rows of a prediction table with the class of the greatest sum of shares: the kept columns, then ppdm_class.

    Sums that differ by less than all the rounding there was are equal.
    """
    _check_members([name for member in members for name in member.columns])
    classes = all_classes(member.classes for member in members)
    inner = exp.Select(expressions=pass_through_columns(keep, "r")).from_(predictions.table("r"))
    for place, value in enumerate(classes):
        total: exp.Expr = exp.cast(number(0), "BIGINT")
        for member in members:
            if value in member.classes:
                share = column(member.columns[member.classes.index(value)], "r")
                total = exp.Add(this=total, expression=share)
        inner = inner.select(aliased(total, score_name(place)), copy=False)
    return best_class_query(inner, keep, classes, target.kind, tie=len(members))


def product_query(target: Attribute, members: Sequence[Member], predictions: Name, keep: Sequence[str]) -> exp.Select:
    """The rows of a prediction table with the class of the greatest product: the kept columns, then ppdm_class."""
    _check_members([name for member in members for name in member.columns])
    classes = all_classes(member.classes for member in members)
    best = exp.Select(expressions=pass_through_columns(keep, "r")).from_(predictions.table("r"))
    for place, member in enumerate(members):
        if len(member.columns) != len(member.classes) or not member.columns:
            raise PolicyError(f"member {place} of the vote does not have one score column per class")
        best = best.select(aliased(_best(member), f"ppdm_m{place}"), copy=False)
        for own_place, name in enumerate(member.columns):
            best = best.select(aliased(column(name, "r"), f"ppdm_m{place}_{own_place}"), copy=False)
    inner = exp.Select(expressions=[column(f"ppdm_k{place}", "m") for place in range(len(keep))])
    for place, value in enumerate(classes):
        total: exp.Expr = exp.cast(number(0), "BIGINT")
        for member_place, member in enumerate(members):
            total = exp.Add(this=total, expression=_behind(member_place, member, value))
        inner = inner.select(aliased(total, score_name(place)), copy=False)
    return best_class_query(
        inner.from_(best.subquery("m", copy=False), copy=False), keep, classes, target.kind, tie=TIE
    )


def _best(member: Member) -> exp.Expr:
    scores = [column(name, "r") for name in member.columns]
    return exp.Greatest(this=scores[0], expressions=scores[1:], ignore_nulls=True) if len(scores) > 1 else scores[0]


def _behind(place: int, member: Member, value: Value) -> exp.Expr:
    """How far a class is behind the member's best one; the furthest where the member has no such class."""
    if value not in member.classes:
        return number(FURTHEST)
    score = column(f"ppdm_m{place}_{member.classes.index(value)}", "m")
    distance = exp.Sub(this=score, expression=column(f"ppdm_m{place}", "m"))
    far = exp.LT(this=distance, expression=number(FURTHEST))
    return exp.Case(ifs=[exp.If(this=far, true=number(FURTHEST))], default=distance.copy())


def _check_members(columns: Sequence[str]) -> None:
    if not columns:
        raise PolicyError("a vote needs at least one model that has a class")
    if len(columns) > MOST_MEMBERS:
        raise PolicyError(f"at most {MOST_MEMBERS} columns can vote")
