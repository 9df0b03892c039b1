"""Whether two models are alike: in what they say (class match), in how they are built (path match); areas over k.

Tian et al. define the two matches: the share of rows of which both say the same, and the share of ways to leaves that
both have among all that one of them has.  Kisilevich et al. compare methods by the area under accuracy as a function
of k.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

from sqlglot import exp

from ppdm_sql.classifiers import conjunctive_rules, naive_bayes
from ppdm_sql.classifiers.best_score import PREDICTED
from ppdm_sql.classifiers.conjunctive_rules import ConjunctiveRules
from ppdm_sql.classifiers.naive_bayes import NaiveBayes
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.trees.comparing import key, position
from ppdm_sql.trees.expression import CLASS
from ppdm_sql.trees.predict import predict
from ppdm_sql.trees.tree import Bands, Cut, Groups, Tree

Model: TypeAlias = Tree | NaiveBayes | ConjunctiveRules

_ROW, _TEXT = "ppdm_row", "ppdm_text"


# -- what they say -----------------------------------------------------------------------------------------


def class_match(engine: Engine, relation: Name, first: Model, second: Model) -> Fraction:
    """The share of a relation's rows of which two models say the same class; the true class is not asked."""
    names = [info.name for info in engine.columns(relation)]
    if not names:
        raise PolicyError(f"relation {relation} does not exist")
    number = _unlike("row", names)
    counted = exp.Select(expressions=[*(column(name) for name in names), aliased(_row_number(), number)])
    with engine.workspace() as work:
        numbered = work.table("match_rows", counted.from_(relation.table()), analyze=True)
        sides = {}
        for side, model in (("first", first), ("second", second)):
            answers = work.name("match_answers")
            with engine.workspace():
                engine.create_table(answers, _answer_query(engine, model, numbered, number), temporary=True)
            sides[side] = answers.table()
        rows, same = engine.fetch_one(statement("evaluate/class_match", _alias_tables(sides)))
    if not rows:
        raise PolicyError(f"{relation} has no rows, so two models cannot be compared on it")
    return Fraction(int(same), int(rows))


def _alias_tables(sides: dict[str, exp.Table]) -> dict[str, exp.Expr]:
    """The real tables under the names their columns are asked by."""
    for name, table in sides.items():
        table.set("alias", exp.TableAlias(this=exp.to_identifier(name)))
    return dict(sides)


def _unlike(word: str, names: Sequence[str]) -> str:
    taken = {name.casefold() for name in names}
    while word in taken:
        word += "_"
    return word


def _row_number() -> exp.Expr:
    return exp.Window(this=exp.RowNumber())


def _answer_query(engine: Engine, model: Model, rows: Name, number: str) -> exp.Select:
    """What a model says of every row, as text."""
    if isinstance(model, Tree):
        if model.is_regression:
            raise PolicyError("a regression tree has no classes: class match is for classifiers")
        query, told = predict(engine, model, rows, [number]), CLASS
    elif isinstance(model, NaiveBayes):
        query, told = naive_bayes.predict_query(model, rows, [number], engine=engine), PREDICTED
    else:
        query, told = conjunctive_rules.predict_query(model, rows, [number], engine=engine), PREDICTED
    text = engine.exact_text(exp.cast(column(told, "p"), "TEXT"))
    picked = exp.Select(expressions=[aliased(column(number, "p"), _ROW), aliased(text, _TEXT)])
    return picked.from_(query.subquery("p", copy=False), copy=False)


# -- how they are built --------------------------------------------------------------------------------------

Region: TypeAlias = tuple[Hashable, ...]
Band: TypeAlias = tuple[Any, Any]  # two places of one attribute's line, or None
Way: TypeAlias = frozenset[tuple[str, Region]]


def path_match(first: Tree, second: Tree, *, with_class: bool = False) -> Fraction:
    """The ways to leaves that both trees have, over those that one of them has.

    A way is described by the region it leads to: per attribute an interval, or the values that are let through.
    Thresholds are equal or not.  Where NULL goes at a threshold does not count; with_class: the class of the leaf does.
    """
    one, other = ways(first, with_class=with_class), ways(second, with_class=with_class)
    return Fraction(len(one & other), len(one | other))


def ways(tree: Tree, *, with_class: bool = False) -> frozenset[tuple[Way, Hashable]]:
    """The way to every leaf, in one form whatever the order of the questions; and the leaf's class or None."""
    return frozenset(
        (_way(tree, leaf.number), key(tree.target, tree.prediction(leaf)) if with_class else None)
        for leaf in tree.leaves
    )


def _way(tree: Tree, leaf: int) -> Way:
    regions: dict[int, Region] = {}
    for node, branch in tree.path(tree.nodes[leaf]):
        split = node.split
        assert split is not None
        former = regions.get(split.attribute)
        regions[split.attribute] = (
            _let_through(tree, split, branch, former)
            if isinstance(split, Groups)
            else _bands(tree, split, branch, former)
        )
    return frozenset((tree.attributes[number].name, region) for number, region in regions.items())


def _bands(tree: Tree, split: Cut | Bands, branch: int, former: Region | None) -> Region:
    """The bands of numbers that are left, rising, each (from, below); None is no end."""
    attribute = tree.attributes[split.attribute]
    ends: tuple[Decimal | str | None, ...] = (None, *(split.at if isinstance(split, Bands) else (split.at,)), None)
    taken = split.branches if isinstance(split, Bands) else (0, 1)
    places = [None if at is None else position(attribute, at) for at in ends]
    now = [(places[band], places[band + 1]) for band, to in enumerate(taken) if to == branch]
    return tuple(now) if former is None else tuple(_intersection(former, now))


def _intersection(former: Region, now: Sequence[Band]) -> Iterator[Band]:
    """What lies in a band of both."""
    for band in former:
        assert isinstance(band, tuple)
        for low, high in now:
            first = max((end for end in (band[0], low) if end is not None), default=None)
            stop = min((end for end in (band[1], high) if end is not None), default=None)
            if first is None or stop is None or first < stop:
                yield first, stop


def _let_through(tree: Tree, split: Groups, branch: int, former: Region | None) -> Region:
    """(True, values): these only; (False, values): all but these."""
    attribute = tree.attributes[split.attribute]
    named = [frozenset(key(attribute, value) for value in group) for group in split.groups]
    if branch == split.others:
        others = frozenset().union(*(group for number, group in enumerate(named) if number != branch))
        now: Region = (False, others | ({None} - named[branch]))
    else:
        now = (True, named[branch])
    if former is None:
        return now
    (kept, before), (keeps, values) = former, now
    assert isinstance(before, frozenset)
    assert isinstance(values, frozenset)
    if kept and keeps:
        return True, before & values
    if not kept and not keeps:
        return False, before | values
    inside, outside = (before, values) if kept else (values, before)
    return True, inside - outside


# -- areas ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Area:
    """The area under points joined by straight lines, and its mean: the area over the length."""

    area: Fraction
    mean: Fraction


def area_over(points: Sequence[tuple[int | Fraction, int | float | Fraction]]) -> Area:
    """The area under accuracy as a function of k, by trapezoids; k is not taken logarithmically.

    >>> area_over([(5, 80), (10, 70), (30, 60)])
    Area(area=Fraction(1675, 1), mean=Fraction(67, 1))
    """
    ordered = sorted((Fraction(at), Fraction(height)) for at, height in points)
    if not ordered or len({at for at, _ in ordered}) != len(ordered):
        raise PolicyError("an area needs at least one point, and each k only once")
    if len(ordered) == 1:
        return Area(Fraction(0), ordered[0][1])
    total = sum(((high - low) * (one + two) / 2 for (low, one), (high, two) in pairwise(ordered)), Fraction(0))
    return Area(total, total / (ordered[-1][0] - ordered[0][0]))
