"""Learners from one relation to another: what is counted in SQL is what the models say row by row in Python."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from evaluate_tables import COLUMNS, QUICK, TARGET, random_rows, store

from ppdm_sql.classifiers import naive_bayes
from ppdm_sql.classifiers.values import UNIT
from ppdm_sql.errors import NotAvailable, PolicyError
from ppdm_sql.evaluate import sklearn_learners
from ppdm_sql.evaluate.learners import LEARNERS, Score, learn_and_test
from ppdm_sql.evaluate.missing_c45 import learn
from ppdm_sql.induction.inducers import induce, settings
from ppdm_sql.statements.names import Name
from ppdm_sql.trees.follow import follow
from tests.oracles import measures, naive_spread

CLASSIFIERS = [name for name in LEARNERS if name != "regression"]


def stored(engine, make_table, seed, rows=90):
    """Rows to learn from and rows to test with, the second with a class that the first does not have."""
    train, test = random_rows(seed, rows), random_rows(seed + 1000, rows)
    test[0][TARGET], test[1]['o"brien'] = "never seen", "nor this"
    store(engine, make_table, train, "train me")
    store(engine, make_table, test, "test me")
    return train, test


def run(engine, learner, **options):
    return learn_and_test(
        engine, train=Name("train me"), test=Name("test me"), target=options.pop("target", TARGET),
        attributes=options.pop("attributes", list(COLUMNS)), learner=learner, options=options,
    )  # fmt: skip


def expected_score(test, classes, told, shares):
    known = [place for place, row in enumerate(test) if row[TARGET] is not None]
    truth = [classes.index(test[place][TARGET]) if test[place][TARGET] in classes else -1 for place in known]
    right = sum(test[place][TARGET] == told[place] for place in known)
    return Score(len(known), right, measures.auc(truth, [shares[place] for place in known]))


# -- the project's own ---------------------------------------------------------------------------------------


@QUICK
@pytest.mark.parametrize("learner", ["c45", "cart"])
def test_trees_are_tested_as_they_answer_row_by_row(engine, make_table, learner):
    for seed in (1, 2):
        _, test = stored(engine, make_table, seed)
        infos = {info.name: info for info in engine.columns(Name("train me"))}
        chosen = settings(learner, {"rare": 1, "min_leaf": 3})
        tree = induce(engine, Name("train me"), [infos[name] for name in COLUMNS], infos[TARGET], chosen).tree
        ends = [tree.nodes[follow(tree, row)] for row in test]
        shares = [[(rows + 1) / (node.rows + len(node.counts)) for rows in node.counts] for node in ends]
        expected = expected_score(test, tree.classes, [tree.prediction(node) for node in ends], shares)
        assert run(engine, learner, min_leaf=3) == expected
        assert len(tree.nodes) > 3


@QUICK
def test_naive_bayes_is_tested_as_it_answers_row_by_row(engine, make_table):
    _, test = stored(engine, make_table, 3)
    infos = {info.name: info for info in engine.columns(Name("train me"))}
    model = naive_bayes.learn(
        engine, Name("train me"), [infos[name] for name in COLUMNS], infos[TARGET], rare=1, bins=4
    )
    told, shares = [], []
    for row in test:
        scores = model.scores(row)
        weights = [math.exp((score - max(scores)) / UNIT) for score in scores]
        shares.append([round(weight / sum(weights), 12) for weight in weights])
        told.append(model.predict(row))
    assert run(engine, "naive_bayes", bins=4) == expected_score(test, model.classes, told, shares)


@QUICK
def test_a_regression_tree_is_tested_by_what_it_leaves_open(engine, make_table):
    dice = random.Random(4)
    for name, rows in (("train me", 200), ("test me", 80)):
        made = [(x := dice.randrange(10), None if dice.random() < 0.1 else x * 3 + dice.random()) for _ in range(rows)]
        make_table(engine, name, {"x": "INTEGER", "y": "DOUBLE"}, made, temporary=True)
        tested = made
    infos = {info.name: info for info in engine.columns(Name("train me"))}
    tree = induce(engine, Name("train me"), [infos["x"]], infos["y"], settings("regression", {"rare": 1})).tree
    known = [row for row in tested if row[1] is not None]
    told = [Fraction(str(tree.prediction(tree.nodes[follow(tree, {"x": x})]))) for x, _ in known]
    found = run(engine, "regression", target="y", attributes=["x"])
    assert (found.rows, found.right, found.auc) == (len(known), 0, None)
    assert found.r_squared == pytest.approx(float(measures.r_squared([Fraction(y) for _, y in known], told)), abs=1e-9)
    assert found.r_squared > 0.9


@pytest.mark.wide
def test_every_learner_learns_something_and_the_same_on_every_engine(duckdb_engine, postgres_engine, make_table):
    found = []
    for engine in (duckdb_engine, postgres_engine):
        stored(engine, make_table, 6)
        found.append({learner: run(engine, learner) for learner in CLASSIFIERS})
    for learner in CLASSIFIERS:
        one, other = (scores[learner] for scores in found)
        assert one.accuracy > Fraction(2, 5), learner  # of three classes
        assert one.auc > Fraction(3, 5), learner
        assert (one.rows, one.right) == (other.rows, other.right), learner
        assert float(one.auc) == pytest.approx(float(other.auc), abs=1e-9), learner


# -- spreading -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prune", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_spreading_rows_is_what_quinlan_describes(duckdb_engine, make_table, seed, prune):
    """Words only, a third of the cells missing, against a tree grown over single rows."""
    dice = random.Random(seed)
    names = ["a", "b", "c"]
    rows = {}
    for relation, count in (("train me", 150), ("test me", 60)):
        made = []
        for _ in range(count):
            values = [dice.choice("xyz") for _ in names]
            label = "yes" if (values[0] == "x") != (values[1] == "y" and dice.random() < 0.8) else "no"
            made.append([None if dice.random() < 0.3 else value for value in values] + [label])
        if relation == "test me":
            made[0][0] = "never seen"
        rows[relation] = [dict(zip([*names, TARGET], row, strict=True)) for row in made]
        store(duckdb_engine, make_table, rows[relation], relation, dict.fromkeys((*names, TARGET), "TEXT"))
    classes = sorted({row[TARGET] for row in rows["train me"]})
    tree = naive_spread.grow([(row, row[TARGET], 1.0) for row in rows["train me"]], names, classes)
    if prune:
        naive_spread.prune(tree)
    shares = [[round(share, 12) for share in naive_spread.shares(tree, row)] for row in rows["test me"]]
    told = [classes[max(range(len(classes)), key=lambda place: (one[place], -place))] for one in shares]
    expected = expected_score(rows["test me"], classes, told, shares)
    found = run(duckdb_engine, "c45_spread", attributes=names, prune=prune)
    assert (found.rows, found.right) == (expected.rows, expected.right)
    assert float(found.auc) == pytest.approx(float(expected.auc), abs=2e-3)  # sums in another order break ties


def test_a_missing_value_is_answered_by_all_branches():
    codes = np.array([[0], [0], [0], [1], [1], [-1]])
    classes = np.array([0, 0, 0, 1, 1, 1])
    tree = learn(codes, classes, np.ones(6), 2, prune=False)
    known, missing, strange = tree.shares(np.array([[0], [-1], [7]]))
    assert known == pytest.approx([3 / 3.6, 0.6 / 3.6])
    assert missing == pytest.approx([0.5, 0.5])  # the branches' shares add up to the node's
    assert strange == pytest.approx([0.5, 0.5])


# -- from outside ----------------------------------------------------------------------------------------------


def test_scikit_learn_gets_the_rows_as_they_are(duckdb_engine, make_table):
    """Against scikit-learn over rows that were encoded here, one by one."""
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    train, test = stored(duckdb_engine, make_table, 8, rows=150)
    test[0][TARGET] = "no"
    store(duckdb_engine, make_table, test, "test too")
    train, test = ([row for row in rows if row[TARGET] is not None] for rows in (train, test))

    def words_of(rows):
        return np.array([["\0" if row['o"brien'] is None else row['o"brien'] for row in rows]], dtype=object).T

    words = words_of(train)
    numbers = np.array([[row["source"] for row in train]], dtype=float).T
    mean = np.nanmean(numbers)
    scaler = StandardScaler().fit(numbers[~np.isnan(numbers)].reshape(-1, 1))
    hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False, categories=[sorted(set(words[:, 0]) - {"\0"})])
    hot.fit(words[words[:, 0] != "\0"])

    def design(rows):
        one = hot.transform(words_of(rows))
        two = scaler.transform(
            np.array([[mean if row["source"] is None else row["source"] for row in rows]], dtype=float).T
        )
        return np.hstack([one, two])

    model = LogisticRegression(max_iter=2000).fit(design(train), [row[TARGET] for row in train])
    right = int((model.predict(design(test)) == [row[TARGET] for row in test]).sum())
    found = learn_and_test(
        duckdb_engine, train=Name("train me"), test=Name("test too"), target=TARGET,
        attributes=['o"brien', "source"], learner="logistic",
    )  # fmt: skip
    assert (found.rows, found.right) == (len(test), right)


def test_without_scikit_learn_the_extra_is_named(duckdb_engine, make_table, monkeypatch):
    stored(duckdb_engine, make_table, 5)
    monkeypatch.setitem(__import__("sys").modules, "sklearn", None)
    for learner in sklearn_learners.LEARNERS:
        with pytest.raises(NotAvailable, match=r'extra "evaluate"'):
            run(duckdb_engine, learner)
    assert run(duckdb_engine, "c45").rows


# -- what goes wrong ---------------------------------------------------------------------------------------------


@QUICK
def test_one_class_empty_columns_and_an_empty_test(engine, make_table):
    columns = {"x": "TEXT", "n": "INTEGER", "y": "TEXT"}
    make_table(engine, "train me", columns, [(None, None, "only")] * 6, temporary=True)
    make_table(engine, "test me", columns, [("a", 1, "only"), (None, None, "other"), ("a", 2, None)], temporary=True)
    for learner in CLASSIFIERS:
        found = run(engine, learner, target="y", attributes=["x", "n"])
        assert (found.rows, found.right, found.accuracy) == (2, 1, Fraction(1, 2)), learner
    make_table(engine, "none to test", columns, [], temporary=True)
    for learner in CLASSIFIERS:
        asked = learn_and_test(
            engine, train=Name("train me"), test=Name("none to test"), target="y", attributes=["x"], learner=learner
        )
        assert (asked.rows, asked.accuracy, asked.auc) == (0, 0, None), learner


def test_what_cannot_be_learned_is_refused_with_names(duckdb_engine, make_table):
    stored(duckdb_engine, make_table, 5)
    with pytest.raises(PolicyError, match="did you mean c45"):
        run(duckdb_engine, "c4.5")
    with pytest.raises(PolicyError, match='no column "nope"'):
        run(duckdb_engine, "c45", attributes=["nope"])
    with pytest.raises(PolicyError, match="max_depht"):
        run(duckdb_engine, "c45", max_depht=3)
    with pytest.raises(PolicyError, match="valid options: prune"):
        run(duckdb_engine, "c45_spread", confidence=3)
    with pytest.raises(PolicyError, match="does not take the options"):
        run(duckdb_engine, "logistic", no_such_thing=3)
    make_table(duckdb_engine, "test me", {"source": "TEXT", TARGET: "TEXT"}, [("< 5", "no")], temporary=True)
    with pytest.raises(PolicyError, match='"source" is integer in the training table but text in the test table'):
        run(duckdb_engine, "c45", attributes=["source"])
    make_table(duckdb_engine, "train me", {"x": "INTEGER", TARGET: "TEXT"}, [(1, None)], temporary=True)
    make_table(duckdb_engine, "test me", {"x": "INTEGER", TARGET: "TEXT"}, [(1, "no")], temporary=True)
    for learner in CLASSIFIERS:
        with pytest.raises(Exception, match=r"NULL in every row|no class") as caught:
            run(duckdb_engine, learner, attributes=["x"])
        assert "PolicyError" in str(caught.type) or "PpdmError" in str(caught.type)


@pytest.mark.parametrize("learner", ["naive_bayes", "c45", "c45_spread", "logistic"])
def test_columns_suppressed_throughout_are_as_if_they_were_not_there(duckdb_engine, make_table, learner):
    """Their values in the test rows are new to a learner of the release: they speak for no class."""
    rng = random.Random(5)
    hidden = [f"n{place}" for place in range(6)]
    kinds = {**dict.fromkeys(hidden, "TEXT"), "job": "TEXT", "ill": "TEXT"}
    words = [[rng.choice("abcdef") for _ in hidden] for _ in range(200)]
    rest = [(rng.choice(["cook", "clerk"]), "rare" if place % 25 == 0 else "flu") for place in range(200)]
    make_table(duckdb_engine, "train me", kinds, [(*"******", *row) for row in rest])
    make_table(duckdb_engine, "test me", kinds, [(*some, *row) for some, row in zip(words, rest, strict=True)])
    with_them = run(duckdb_engine, learner, target="ill", attributes=[*hidden, "job"])
    assert with_them == run(duckdb_engine, learner, target="ill", attributes=["job"])
    assert with_them.right == 192
