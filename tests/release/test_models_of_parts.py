"""A model learned from a release of several tables: a tree of each, combined as DMPD does, in SQL."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from sqlglot import exp

from ppdm_sql.errors import PolicyError
from ppdm_sql.models.library import import_model, load
from ppdm_sql.statements.names import Name
from tests.release.test_projections import COLUMNS, people, policy

pytestmark = pytest.mark.lacks("spark", reason="several tables are put in place at once")


@pytest.fixture
def tables(make_table):
    def filled(engine):
        make_table(engine, "people", COLUMNS, people())

    return filled


def leaf_counts(tree, row):
    """The counts of the node where a row ends, found by hand."""
    node = tree.root
    while node.split is not None:
        name = tree.attributes[node.split.attribute].name
        value, split = row[name], node.split
        if hasattr(split, "at"):
            branch = split.nulls if value is None else int(value >= split.at)
        else:
            named = [place for place, group in enumerate(split.groups) if value in group]
            branch = named[0] if named else split.others if value is not None else None
        if branch is None:
            break
        node = tree.nodes[node.children[branch]]
    return node.counts


def answer(model, row):
    """The class with the greatest product, in exact fractions; of equal ones the more frequent."""
    sizes, classes = model.trees[0].root.counts, model.classes
    scores = []
    for place in range(len(classes)):
        prior = Fraction(sizes[place] + 1, sum(sizes) + len(sizes))
        total = Fraction(1) / prior ** (len(model.trees) - 1)
        for tree in model.trees:
            counts = leaf_counts(tree, row)
            total *= Fraction(counts[place] + 1, sum(counts) + len(counts))
        scores.append((total, sizes[place], -place))
    return classes[max(range(len(classes)), key=scores.__getitem__)]


def test_the_answers_are_the_products_of_the_trees(session):
    session.publish(policy())
    session.train("m", "open", "y", options={"prune": "false", "min_leaf": "2"})
    model = load(session.engine, "m").learned
    assert [[one.name for one in tree.attributes] for tree in model.trees] == [["age", "sex"], ["zip"], ["ward"]]
    session.predict("m", "people", "answers")
    names = list(COLUMNS)
    found = session.engine.fetch(exp.select(*names, "ppdm_class").from_(Name("answers").table()))
    assert len(found) == 400
    for *row, said in found:
        assert said == answer(model, dict(zip(names, row, strict=True)))
    assert len(Counter(row[-1] for row in found)) > 1


def test_it_is_handed_over_and_shown(duck):
    duck.publish(policy())
    duck.train("m", "open", "y", options={"prune": "false"})
    text = duck.model("m").kind.document(duck.model("m").learned, "m")
    import_model(duck.engine, text, "again")
    assert duck.model("again").learned.trees == duck.model("m").learned.trees
    assert "part 2 of 3 (zip)" in duck.model("m").kind.text(duck.model("m").learned)


def test_another_column_than_the_class_and_other_learners_are_refused(duck):
    duck.publish(policy())
    with pytest.raises(PolicyError, match="all tables share"):
        duck.train("m", "open", "age")
    with pytest.raises(PolicyError, match="release of several tables"):
        duck.train("m", "open", "y", inducer="naive_bayes")
