"""Naive Bayes and rules for people: what is said is what was counted, and no value can pass for something else."""

from __future__ import annotations

from decimal import Decimal

import pytest

from ppdm_sql.classifiers.conjunctive_rules import Between, ConjunctiveRules, Is, Missing, Rule
from ppdm_sql.classifiers.domains import CategoricalDomain, NumericDomain
from ppdm_sql.classifiers.gaussian import Gaussian
from ppdm_sql.classifiers.naive_bayes import Counted, NaiveBayes
from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.models.bayes_text import MOST_SHOWN, bits
from ppdm_sql.models.kinds import kind_named
from ppdm_sql.trees.tree import Attribute

AGE, WARD, BMI = (
    Attribute("age", Kind.INTEGER, ordered=True),
    Attribute("ward", Kind.TEXT, ordered=False),
    Attribute("bmi", Kind.FLOAT, ordered=True),
)
ILL = Attribute("ill", Kind.TEXT, ordered=False)
BAYES = NaiveBayes(
    (WARD, AGE, BMI),
    ILL,
    ("no", "yes"),
    (60, 40),
    (
        Counted(CategoricalDomain(("A", "it's")), ((30, 10), (20, 20), (10, 10))),
        Counted(NumericDomain((Decimal(30), Decimal("65"))), ((40, 0), (20, 10), (0, 30))),
        Gaussian(Decimal(20), -1, ((60, 600, 6060), (0, 0, 0))),
    ),
)
RULES = ConjunctiveRules(
    (AGE, WARD),
    ILL,
    ("no", "yes"),
    (
        Rule((Between(0, Decimal("65"), None), Is(1, "B\x1b[2J")), (0, 30)),
        Rule((Between(0, Decimal("20"), Decimal(30)), Missing(1)), (20, 5)),
        Rule((), (40, 5)),
    ),
)


def test_naive_bayes_tells_the_classes_and_the_most_telling_values():
    assert kind_named("naive_bayes").text(BAYES).splitlines() == [
        "ill: naive Bayes over 3 attributes, 100 rows",
        "  'no': 60 rows (60 %)",
        "  'yes': 40 rows (40 %)",
        "age (3 bins, 0.6955 bits)",
        "  age >= 65: 2.5 times as frequent among 'yes' (30 rows)",
        "  age < 30: 1.667 times as frequent among 'no' (40 rows)",
        "  30 <= age < 65: 1.111 times as frequent among 'no' (30 rows)",
        "ward (3 values, 0.04644 bits)",
        "  ward = 'A': 1.25 times as frequent among 'no' (40 rows)",
        "  ward = 'it''s': 1.25 times as frequent among 'yes' (40 rows)",
        "  ward is any other: 1.25 times as frequent among 'yes' (20 rows)",
        "bmi (normal, 0 bits)",
        "  'no': 25 ± 0.5 (60 rows)",
    ]


def test_bits_are_the_mutual_information():
    """Knowing the value says all, or nothing; a normal attribute is judged by how far its means lie apart."""
    assert bits(Counted(CategoricalDomain(("a", "b")), ((50, 0), (0, 50), (0, 0)))) == pytest.approx(1.0)
    assert bits(Counted(CategoricalDomain(("a", "b")), ((25, 25), (25, 25), (0, 0)))) == pytest.approx(0.0)
    apart = Gaussian(Decimal(0), 0, ((2, 0, 2), (2, 20, 202)))  # -1, 1 and 9, 11
    assert bits(apart) == pytest.approx(2.35, abs=0.01)
    assert bits(Gaussian(Decimal(0), 0, ((2, 0, 0), (2, 20, 200)))) == float("inf")
    assert bits(Gaussian(Decimal(0), 0, ((0, 0, 0), (0, 0, 0)))) == 0.0


def test_a_model_of_very_many_attributes_is_not_shown_in_full():
    from dataclasses import replace

    many = tuple(Attribute(f"c{n}", Kind.TEXT, ordered=False) for n in range(MOST_SHOWN + 7))
    part = Counted(CategoricalDomain(()), ((60, 40),))
    text = kind_named("naive_bayes").text(replace(BAYES, attributes=many, parts=(part,) * len(many)))
    assert text.endswith("  and 7 attributes more")
    classes = tuple(f"k{n:03}" for n in range(MOST_SHOWN + 1))
    wide = replace(BAYES, classes=classes, priors=(1,) * len(classes), attributes=(), parts=())
    assert kind_named("naive_bayes").text(wide).endswith("  and 1 class more")


def test_rules_are_told_in_words_and_in_their_order():
    kind = kind_named("rules")
    assert kind.rules(RULES).splitlines() == [
        "IF age >= 65 AND ward = 'B\\x1b[2J' THEN ill = 'yes' (30 rows, 100 %)",
        "ELSE IF 20 <= age < 30 AND ward is NULL THEN ill = 'no' (25 rows, 80 %)",
        "ELSE ill = 'no' (45 rows, 88.9 %)",
    ]
    head, *lines = kind.text(RULES).splitlines()
    assert head == "ill: the first of 3 rules that applies decides"
    assert [line.split(". ", 1)[1] for line in lines] == kind.rules(RULES).splitlines()
    alone = ConjunctiveRules((AGE,), ILL, ("no", "yes"), (Rule((), (1, 2)),))
    assert kind.rules(alone) == "ALWAYS ill = 'yes' (3 rows, 66.7 %)"
    assert "no rule is better" in kind.hint(alone)
    assert kind.hint(RULES) is None


def test_a_rule_list_tells_how_many_rows_it_saw():
    kind = kind_named("rules")
    assert kind.row_count(RULES) == 100
    covered = ConjunctiveRules((AGE,), ILL, ("no", "yes"), (Rule((Missing(0),), (0, 3)), Rule((), (0, 3))))
    assert kind.row_count(covered) == 3  # nothing was left: the last rule counts everybody


def test_what_a_kind_has_not_is_refused():
    with pytest.raises(PolicyError, match="a naive Bayes model has no rules"):
        kind_named("naive_bayes").rules(BAYES)
    for name, learned in (("naive_bayes", BAYES), ("rules", RULES)):
        with pytest.raises(PolicyError, match="only a tree has a picture"):
            kind_named(name).svg(learned, "x")
        assert kind_named(name).html(learned).startswith("<pre>ill: ")
    assert "&lt; 30" in kind_named("naive_bayes").html(BAYES)
