"""Learn from one relation, test on another: how well a column can be predicted from a release.

    c45, cart       the project's own trees; NULL is a value of its own
    c45_spread      Quinlan's handling of missing values: a row with a suppressed cell goes down every branch
    naive_bayes     the project's own; NULL says nothing
    regression      a regression tree, for a target that is a number
    logistic, svm, sk_naive_bayes, sk_tree   from scikit-learn (extra `evaluate`), see sklearn_learners.py

Both relations have the same columns with the same kinds.  Where a release prints intervals or labels, the rows to
test with have to be relabelled first (relabel.py).  Rows to test with that have no class are not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sqlglot import exp

from ppdm_sql.classifiers import naive_bayes
from ppdm_sql.classifiers.best_score import PREDICTED
from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.evaluate import c45_learner, sklearn_learners
from ppdm_sql.evaluate.accuracy import SHARE, TOLD, TRUTH, UNKNOWN, auc, confusion, r_squared, rows_and_right
from ppdm_sql.induction.inducers import induce, settings
from ppdm_sql.policy.words import did_you_mean, printable
from ppdm_sql.statements.names import Name, aliased, column, lacks
from ppdm_sql.trees.comparing import category, comparable_value
from ppdm_sql.trees.expression import MEAN, NODE
from ppdm_sql.trees.predict import predict
from ppdm_sql.trees.tree import Attribute, Tree, Value

REGRESSION = "regression"
OWN = ("c45", "cart", "c45_spread", "naive_bayes", REGRESSION)
OUTSIDE = sklearn_learners.LEARNERS
LEARNERS = (*OWN, *OUTSIDE)

_DIGITS = exp.DataType.build("DECIMAL(18, 12)", dialect="duckdb")


@dataclass(frozen=True)
class Score:
    """What was tested.  auc: None where the test has one class only; r_squared: of a regression alone."""

    rows: int
    right: int
    auc: Fraction | None = None
    r_squared: Fraction | float | None = None

    @property
    def accuracy(self) -> Fraction:
        """The share of rows whose class was predicted right; 0 for a regression, where nothing is right or wrong."""
        return Fraction(self.right, self.rows) if self.rows else Fraction(0)


@dataclass(frozen=True)
class _Task:
    engine: Engine
    train: Name
    test: Name  # its rows have a class
    target: ColumnInfo
    attributes: tuple[ColumnInfo, ...]
    options: Mapping[str, Any]


def learn_and_test(
    engine: Engine,
    *,
    train: Name,
    test: Name,
    target: str,
    attributes: Sequence[str],
    learner: str = "c45",
    options: Mapping[str, Any] | None = None,
) -> Score:
    """Learns from one relation and counts on the other how often it is right; only counts leave the database."""
    if learner not in LEARNERS:
        raise PolicyError(f"unknown learner {printable(learner)}: {did_you_mean(learner, LEARNERS)}")
    infos = _columns(engine, train, test, [target, *attributes])
    attributes = _telling(engine, train, attributes)
    infos = [infos[0], *(info for info in infos[1:] if info.name in attributes)]
    known = exp.Not(this=exp.Is(this=column(target), expression=exp.Null()))
    picked = exp.Select(expressions=[column(name) for name in (target, *attributes)]).from_(test.table()).where(known)
    with engine.workspace() as work:
        tested = work.table("tested_rows", picked, analyze=True)
        task = _Task(engine, train, tested, infos[0], tuple(infos[1:]), options or {})
        return _RUN.get(learner, _outside)(task, learner)


def _telling(engine: Engine, train: Name, attributes: Sequence[str]) -> Sequence[str]:
    """The attributes that say something where it is learned from; all of them if none does.

    A column that a release suppressed throughout teaches nothing, but its raw values in the test rows would be new
    ones to naive Bayes, and new values speak for the rarest class.
    """
    if not attributes:
        return attributes
    values: list[exp.Expr] = []
    for name in attributes:
        missing = exp.Case().when(exp.Is(this=column(name), expression=exp.Null()), exp.Literal.number(1))
        some = exp.Coalesce(this=exp.Max(this=missing), expressions=[exp.Literal.number(0)])
        values.append(exp.Add(this=exp.Count(this=exp.Distinct(expressions=[column(name)])), expression=some))
    found = engine.fetch_one(exp.Select(expressions=values).from_(train.table()))
    return [name for name, number in zip(attributes, found, strict=True) if number > 1] or attributes


def _columns(engine: Engine, train: Name, test: Name, names: Sequence[str]) -> list[ColumnInfo]:
    there = {relation: {info.name: info for info in engine.columns(relation)} for relation in (train, test)}
    for relation, columns in there.items():
        missing = [f'"{name}"' for name in names if name not in columns]
        if missing:
            raise PolicyError(f"{lacks(relation)} {', '.join(missing)}")
    for name in names:
        kinds = [_alike(there[relation][name].kind) for relation in (train, test)]
        if kinds[0] != kinds[1]:
            raise PolicyError(
                f'column "{name}" is {there[train][name].kind.value} in the training table but '
                f"{there[test][name].kind.value} "
                "in the test table: give both the same type"
            )
    return [there[train][name] for name in names]


def _alike(kind: Kind) -> Kind:
    return Kind.FLOAT if kind in (Kind.INTEGER, Kind.DECIMAL) else Kind.TEXT if kind is Kind.UUID else kind


def majority_score(engine: Engine, train: Name, test: Name, target: str) -> Score:
    """What the commonest class of one relation is right about in another; of equals the one that sorts first."""
    seen, asked = (_class_counts(engine, relation, target) for relation in (train, test))
    commonest = min(seen, key=lambda text: (-seen[text], text), default=None)
    area = Fraction(1, 2) if len(asked) > 1 else None  # all rows are alike to it
    return Score(sum(asked.values()), asked.get(commonest or "", 0), area)


def _class_counts(engine: Engine, relation: Name, target: str) -> dict[str, int]:
    """Rows by the text of their class; rows without a class are not counted."""
    text = engine.exact_text(exp.cast(column(target), "TEXT"))
    known = exp.Not(this=exp.Is(this=column(target), expression=exp.Null()))
    query = exp.Select(expressions=[text, exp.Count(this=exp.Star())]).from_(relation.table()).where(known)
    return {str(text): int(rows) for text, rows in engine.fetch(query.group_by(text.copy()))}


# -- the project's own ------------------------------------------------------------------------------------


def _tree(task: _Task, learner: str) -> Score:
    """Nothing is published here, so every category may be named, unless the options say otherwise."""
    chosen = settings(learner, {"rare": 1, **task.options})
    tree = induce(task.engine, task.train, task.attributes, task.target, chosen).tree
    return score_of_tree(task.engine, tree, task.test)


def score_of_tree(engine: Engine, tree: Tree, test: Name) -> Score:
    """What an existing tree says of rows, all of which have a class."""
    with engine.workspace() as work:
        predicted = work.table("predicted", _prediction_query(engine, tree, test))
        return (
            _regression_score(engine, predicted) if tree.is_regression else _score(engine, predicted, len(tree.classes))
        )


def _prediction_query(engine: Engine, tree: Tree, test: Name) -> exp.Select:
    """The true class of every row by its number, the predicted one, and the shares of all classes."""
    query = predict(engine, tree, test, [tree.target.name])
    if tree.is_regression:
        told = [(exp.cast(column(tree.target.name, "p"), "DOUBLE"), TRUTH), (column(MEAN, "p"), TOLD)]
        return exp.Select(expressions=[aliased(*one) for one in told]).from_(query.subquery("p", copy=False))
    nodes = _load_nodes(engine, tree)
    names = [TOLD, *(f"{SHARE}{place}" for place in range(len(tree.classes)))]
    truth = aliased(_class_number(engine, tree.target, tree.classes, "p"), TRUTH)
    picked = exp.Select(expressions=[truth, *(column(name, "n") for name in names)])
    same = exp.EQ(this=column(NODE, "n"), expression=column(NODE, "p"))
    return picked.from_(query.subquery("p", copy=False)).join(nodes.table("n"), on=same)


def _load_nodes(engine: Engine, tree: Tree) -> Name:
    """What every node says: its class, and Laplace's share of each class, as trees vote with."""
    import pyarrow as pa

    table: dict[str, Any] = {
        NODE: pa.array([node.number for node in tree.nodes], pa.int32()),
        TOLD: pa.array([node.majority for node in tree.nodes], pa.int32()),
    }
    for place in range(len(tree.classes)):
        shares = [(node.counts[place] + 1) / (node.rows + len(tree.classes)) for node in tree.nodes]
        table[f"{SHARE}{place}"] = pa.array(shares, pa.float64())
    return engine.work.load("predicting_nodes", table)


def _class_number(engine: Engine, target: Attribute, classes: Sequence[Value], table: str) -> exp.Expr:
    """The place of a row's class among those of the training; UNKNOWN for any other."""
    written = [category(target, value) for value in classes]
    ifs = [
        exp.If(this=literal, true=exp.Literal.number(place))
        for place, literal in enumerate(written)
        if literal is not None
    ]
    unknown = exp.Neg(this=exp.Literal.number(-UNKNOWN))
    return exp.Case(this=comparable_value(engine, target, table), ifs=ifs, default=unknown) if ifs else unknown


def _naive_bayes(task: _Task, learner: str) -> Score:
    model = naive_bayes.learn(task.engine, task.train, task.attributes, task.target, **{"rare": 1, **task.options})
    keep = task.target.name
    query = naive_bayes.predict_query(model, task.test, [keep], engine=task.engine, shares=True)
    told = replace(model.target, name=PREDICTED)
    picked: list[exp.Expr] = [
        aliased(_class_number(task.engine, model.target, model.classes, "p"), TRUTH),
        aliased(_class_number(task.engine, told, model.classes, "p"), TOLD),
    ]
    for place in range(len(model.classes)):
        # twelve digits: what an engine's EXP does behind them must not break a tie
        share = exp.Cast(this=column(f"{SHARE}{place}", "p"), to=_DIGITS.copy())
        picked.append(aliased(exp.cast(share, "DOUBLE"), f"{SHARE}{place}"))
    every = exp.Select(expressions=picked).from_(query.subquery("p", copy=False), copy=False)
    return _score(task.engine, task.engine.work.table("predicted", every), len(model.classes))


def _c45_spread(task: _Task, learner: str) -> Score:
    predicted = task.engine.work.name("predicted")
    classes = c45_learner.predict_with_c45(
        task.engine, task.train, task.test, task.attributes, task.target, predicted, task.options
    )
    return _score(task.engine, predicted, classes)


def _outside(task: _Task, learner: str) -> Score:
    predicted = task.engine.work.name("predicted")
    classes = sklearn_learners.predict_with_sklearn(
        task.engine, task.train, task.test, task.attributes, task.target, predicted, learner, task.options
    )
    return _score(task.engine, predicted, classes)


_RUN: Mapping[str, Callable[[_Task, str], Score]] = {
    "c45": _tree,
    "cart": _tree,
    REGRESSION: _tree,
    "naive_bayes": _naive_bayes,
    "c45_spread": _c45_spread,
}


def _score(engine: Engine, predicted: Name, classes: int) -> Score:
    rows, right = rows_and_right(confusion(engine, predicted))
    return Score(rows, right, auc(engine, predicted, classes))


def _regression_score(engine: Engine, predicted: Name) -> Score:
    rows, explained = r_squared(engine, predicted)
    return Score(rows, 0, None, explained)
