"""Votes: plurality and product by their definitions, in SQL as in Python, with models that know different classes."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import pytest
from classifier_tables import random_rows, store

from ppdm_sql.classifiers import conjunctive_rules, naive_bayes
from ppdm_sql.classifiers.values import fixed_log
from ppdm_sql.classifiers.votes import Member, TreeVoter, all_classes, plurality, product, product_query, votes_query
from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.trees.tree import Attribute, Cut, Groups, Moments, Node, Tree

LABEL = Attribute("y", Kind.TEXT, ordered=False)


@dataclass(frozen=True)
class Fixed:
    """A model that always thinks the same; the shares are known exactly."""

    classes: tuple
    shares: tuple[Fraction, ...]

    def scores(self, row):
        return tuple(map(fixed_log, self.shares))

    def predict(self, row):
        return self.classes[self.shares.index(max(self.shares))]


def random_members(seed, members):
    dice = random.Random(seed)
    found = []
    for _ in range(members):
        classes = tuple(sorted(dice.sample(["a", "b", "c", 'o"brien', "é"], dice.randrange(1, 5))))
        weights = [dice.choice([1, 1, 2, 3, 10**9]) for _ in classes]
        found.append(Fixed(classes, tuple(Fraction(weight, sum(weights)) for weight in weights)))
    return found


def naive_majority(members):
    votes = [member.predict({}) for member in members]
    return max(sorted(set(itertools.chain(*(m.classes for m in members)))), key=votes.count)  # max takes the first


def naive_product(members):
    classes = sorted(set(itertools.chain(*(m.classes for m in members))))
    totals = []
    for value in classes:
        total = Fraction(1)
        for member in members:
            share = dict(zip(member.classes, member.shares, strict=True)).get(value, Fraction(0))
            total *= max(share / max(member.shares), Fraction(1, 1 << 20))
        totals.append(total)
    return next(
        value
        for value, total in zip(classes, totals, strict=True)
        if total >= max(totals) * Fraction(999_999, 1_000_000)
    )


@pytest.mark.parametrize("seed", range(40))
def test_votes_are_those_of_the_definition(seed):
    members = random_members(seed, members=1 + seed % 6)
    assert plurality(members, {}) == naive_majority(members)
    assert product(members, {}) == naive_product(members)


def test_one_member_decides_alone_and_ties_go_to_the_first_class():
    sure = Fixed(("b", "c"), (Fraction(1, 4), Fraction(3, 4)))
    assert plurality([sure], {}) == product([sure], {}) == "c"
    mirror = Fixed(("a", "b"), (Fraction(3, 4), Fraction(1, 4)))
    assert plurality([sure, mirror], {}) == "a"
    even = Fixed(("b", "c"), (Fraction(3, 4), Fraction(1, 4)))
    assert product([sure, even], {}) == plurality([sure, even], {}) == "b"


def test_no_member_can_rule_a_class_out():
    against = Fixed(("a", "b"), (Fraction(0), Fraction(1)))
    for_it = Fixed(("a", "b"), (Fraction((1 << 21) - 1, 1 << 21), Fraction(1, 1 << 21)))
    assert product([against, for_it], {}) == "a"  # both as far as a model can go: equal, and the first wins
    assert product([against, against, for_it], {}) == "b"


@pytest.mark.parametrize("seed", [1, 2])
def test_sql_votes_like_python(engine, make_table, seed):
    members = random_members(seed, members=4)
    dice = random.Random(seed)
    columns, rows, expected = {"key": "INTEGER"}, [], {}
    for place, member in enumerate(members):
        columns |= {f"m{place}": "TEXT"} | {f"s{place}_{number}": "BIGINT" for number in range(len(member.classes))}
    for key in range(60):
        drawn = [
            Fixed(m.classes, tuple(Fraction(dice.choice([0, 1, 2, 3, 10**8])) for _ in m.classes)) for m in members
        ]
        parts = [(member.predict({}), *member.scores({})) for member in drawn]
        rows.append((key, *itertools.chain(*parts)))
        expected[key] = (plurality(drawn, {}), product(drawn, {}))
    table = make_table(engine, "predictions", columns, rows)
    lists = [member.classes for member in members]
    by_vote = votes_query(LABEL, lists, table, [f"m{place}" for place in range(4)], ["key"], engine=engine)
    places = [Member(m.classes, tuple(f"s{p}_{n}" for n in range(len(m.classes)))) for p, m in enumerate(members)]
    by_product = product_query(LABEL, places, table, ["key"])
    votes, products = dict(engine.fetch(by_vote)), dict(engine.fetch(by_product))
    assert {key: (votes[key], products[key]) for key in votes} == expected
    assert len(set(votes.values())) > 1
    assert len(set(products.values())) > 1


def test_learned_models_vote_through_a_prediction_table(engine, make_table):
    rows = random_rows(21)
    relation, attributes, target = store(engine, make_table, rows)
    bayes = naive_bayes.learn(engine, relation, attributes, target)
    rules = conjunctive_rules.learn(engine, relation, attributes, target, max_rules=3)
    members, modules = [bayes, rules, bayes], [naive_bayes, conjunctive_rules, naive_bayes]
    columns, answers = {"key": "INTEGER"}, {}
    for place, (member, module) in enumerate(zip(members, modules, strict=True)):
        columns |= {f"m{place}": "TEXT"} | {f"s{place}_{number}": "BIGINT" for number in range(len(member.classes))}
        for key, *said in engine.fetch(module.predict_query(member, relation, ["key"], engine=engine, scores=True)):
            answers.setdefault(key, []).extend(said)
    table = make_table(engine, "predictions", columns, [(key, *said) for key, said in answers.items()])
    by_vote = votes_query(bayes.target, [bayes.classes], table, ["m0", "m1", "m2"], ["key"], engine=engine)
    places = [Member(m.classes, tuple(f"s{p}_{n}" for n in range(len(m.classes)))) for p, m in enumerate(members)]
    found = dict(engine.fetch(by_vote)), dict(engine.fetch(product_query(bayes.target, places, table, ["key"])))
    assert found[0] == {row["key"]: plurality(members, row) for row in rows}
    assert found[1] == {row["key"]: product(members, row) for row in rows}


def tree():
    """age < 30: no; else by colour: red yes, NULL and others no; a NULL age stops at the root."""
    attributes = (Attribute("age", Kind.FLOAT, True), Attribute("colour", Kind.TEXT, False))
    nodes = (
        Node(0, None, 0, (6, 7), Cut(0, Decimal("30.5")), (1, 2)),
        Node(1, 0, 1, (4, 1)),
        Node(2, 0, 1, (2, 6), Groups(1, (("red",), ("green", None)), others=None), (3, 4)),
        Node(3, 2, 2, (0, 5)),
        Node(4, 2, 2, (2, 1)),
    )
    return Tree(attributes, Attribute("y", Kind.TEXT, False), ("no", "yes"), nodes)


@pytest.mark.parametrize(
    ("age", "colour", "node"),
    [
        (30.4, "red", 1),
        (30.5, "red", 3),
        (float("nan"), "green", 4),
        (float("inf"), None, 4),
        (float("-inf"), None, 1),
        (31, "blue", 2),
        (None, "red", 0),
    ],
)
def test_a_tree_votes_with_the_node_where_the_row_ends(age, colour, node):
    voter = TreeVoter(tree())
    row = {"age": age, "colour": colour}
    assert voter.end(row).number == node
    counts = tree().nodes[node].counts
    assert voter.predict(row) == ("yes" if counts[1] > counts[0] else "no")
    assert voter.scores(row) == tuple(fixed_log(Fraction(n + 1, sum(counts) + 2)) for n in counts)
    assert plurality([voter], row) == product([voter], row) == voter.predict(row)


def test_what_cannot_vote_is_refused(engine, make_table):
    rows = Node(0, None, 0, (3,), moments=Moments(3, Decimal(1), 0.5))
    with pytest.raises(PolicyError, match="cannot vote"):
        TreeVoter(Tree((), LABEL, (), (rows,)))
    with pytest.raises(PolicyError, match="at least one model"):
        plurality([], {})
    with pytest.raises(PolicyError, match="at least one model"):
        all_classes([])
    table = make_table(engine, "p", {"m": "TEXT"}, [("a",)])
    with pytest.raises(PolicyError, match="at least one model"):
        votes_query(LABEL, [("a",)], table, [], ["m"])
    with pytest.raises(PolicyError, match="one score column per class"):
        product_query(LABEL, [Member(("a", "b"), ("m",))], table, [])
