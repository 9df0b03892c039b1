"""Conjunctive rules: an ordered list of "if all of these tests hold, the class is ...", and a last rule for the rest.

Tian et al., the miner's learners (their reference on heuristics for conjunctive rules); a single rule is
max_rules = 1.  Tests are A = v, A < t, A >= t and A IS NULL.  The first rule whose tests all hold decides.

The learner is in rule_search.py; a model holds only what its rules say and how many training rows of each class
every rule covered when it was learned (rows that earlier rules had not covered).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, TypeAlias

from sqlglot import exp

from ppdm_sql.classifiers.best_score import PREDICTED, checked_keep, score_name
from ppdm_sql.classifiers.cells import count_cells, find_classes
from ppdm_sql.classifiers.document_reader import Reading
from ppdm_sql.classifiers.domains import (
    Boundary,
    CategoricalDomain,
    Domain,
    NumericDomain,
    boundary_from_dict,
    boundary_literal,
    boundary_to_dict,
    checked_names,
    comparable_column,
    place_of,
)
from ppdm_sql.classifiers.rule_search import Condition, CoveredRows, RuleLimits, search
from ppdm_sql.classifiers.values import (
    MOST_ATTRIBUTES,
    attribute_from_dict,
    attribute_to_dict,
    checked_columns,
    checked_row,
    classes_from_dict,
    first_best,
    fixed_log,
    literal,
    number,
    operand,
    score,
    value_from_dict,
    value_to_dict,
)
from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.policy.options import Whole, checked_options, from_text
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.trees.tree import Attribute, Value

FORMAT = "ppdm conjunctive rules 1"
MOST_RULES, MOST_BEAM, MOST_BINS = 1000, 5, 255


@dataclass(frozen=True)
class Is:
    """The attribute has this value."""

    attribute: int
    value: Value


@dataclass(frozen=True)
class Missing:
    """The attribute is NULL."""

    attribute: int


@dataclass(frozen=True)
class Between:
    """The attribute is at least `low` and below `high`; None is no bound.  NULL is in no range, NaN above all."""

    attribute: int
    low: Boundary | None
    high: Boundary | None


Test: TypeAlias = Is | Missing | Between


@dataclass(frozen=True)
class Rule:
    """Tests that all have to hold, and the training rows per class that the rule covered."""

    tests: tuple[Test, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class ConjunctiveRules:
    """A rule list; its last rule has no tests and takes every row that is left."""

    attributes: tuple[Attribute, ...]
    target: Attribute
    classes: tuple[Value, ...]  # in the order of the values
    rules: tuple[Rule, ...]
    without_class: int = 0  # rows left out, because their class is NULL
    of_rare_classes: int = 0  # or one that too few rows have

    def rule_of(self, row: Mapping[str, object]) -> Rule:
        """The first rule whose tests hold."""
        checked_row(row, [self.attributes[used] for used in self.used_attributes()])
        return next(rule for rule in self.rules if all(self._holds(test, row) for test in rule.tests))

    def used_attributes(self) -> tuple[int, ...]:
        """The attributes that some rule asks for, in their order."""
        return tuple(sorted({test.attribute for rule in self.rules for test in rule.tests}))

    def scores(self, row: Mapping[str, object]) -> tuple[int, ...]:
        """Per class the logarithm of its Laplace share among the rows of the rule, in units of 2^-32."""
        return _shares(self.rule_of(row).counts)

    def predict(self, row: Mapping[str, object]) -> Value:
        return self.classes[first_best(self.rule_of(row).counts)]

    def _holds(self, test: Test, row: Mapping[str, object]) -> bool:
        attribute = self.attributes[test.attribute]
        value = row[attribute.name]
        if value is None or isinstance(test, Missing):
            return value is None and isinstance(test, Missing)
        if isinstance(test, Is):
            return CategoricalDomain((test.value,)).code_of(attribute, value) == 0
        above = test.low is None or NumericDomain((test.low,)).code_of(attribute, value) == 1
        return above and (test.high is None or NumericDomain((test.high,)).code_of(attribute, value) == 0)

    def to_dict(self) -> dict[str, object]:
        return {
            "format": FORMAT,
            "target": attribute_to_dict(self.target),
            "classes": [value_to_dict(value, self.target.kind) for value in self.classes],
            "attributes": [attribute_to_dict(attribute) for attribute in self.attributes],
            "without_class": self.without_class,
            "of_rare_classes": self.of_rare_classes,
            "rules": [
                {"tests": [self._test_to_dict(test) for test in rule.tests], "counts": list(rule.counts)}
                for rule in self.rules
            ],
        }

    def _test_to_dict(self, test: Test) -> dict[str, object]:
        kept: dict[str, object] = {"attribute": test.attribute}
        if isinstance(test, Is):
            return kept | {"is": value_to_dict(test.value, self.attributes[test.attribute].kind)}
        if isinstance(test, Missing):
            return kept | {"missing": True}
        ends = {"from": test.low, "below": test.high}
        return kept | {word: boundary_to_dict(end) for word, end in ends.items() if end is not None}

    @staticmethod
    def from_dict(content: object) -> ConjunctiveRules:
        return read(Reading(content, "the rule list"))


def _shares(counts: Sequence[int]) -> tuple[int, ...]:
    return tuple(fixed_log(Fraction(rows + 1, sum(counts) + len(counts))) for rows in counts)


# -- learning ----------------------------------------------------------------------------------------------


def learn(
    engine: Engine,
    relation: Name,
    attributes: Sequence[ColumnInfo],
    target: ColumnInfo,
    *,
    beam: Annotated[int, Whole(1, MOST_BEAM)] = 1,
    max_rules: Annotated[int, Whole(1, MOST_RULES)] = 20,
    max_tests: Annotated[int, Whole(1, MOST_ATTRIBUTES)] = 5,
    min_rows: Annotated[int, Whole(1, 10**12)] = 5,
    bins: Annotated[int, Whole(1, MOST_BINS)] = 32,
    rare: Annotated[int, Whole(1, 10**12)] = 5,
) -> ConjunctiveRules:
    """Learns from a relation: one GROUP BY per attribute for its values, then counts over a coded working table.

    beam: how many unfinished rules are kept at every step (1 to 5).  min_rows: a rule covers at least so many rows.
    bins: an ordered attribute is tested at the boundaries of at most so many bins of equal numbers of rows.
    rare: categories and classes that fewer rows have are not named.
    """
    limits = RuleLimits(beam, max_rules, max_tests, min_rows)
    checked_options(learn, from_text({**vars(limits), "bins": bins, "rare": rare}), "conjunctive_rules")
    known, aim = checked_columns(attributes, target)
    classes = find_classes(engine, relation, target, rare)
    domains: list[Domain] = []
    for info, attribute in zip(attributes, known, strict=True):
        with engine.workspace():
            cells = count_cells(engine, relation, info, attribute, classes)
            domains.append(cells.bins(bins)[0] if attribute.ordered else cells.categories(rare)[0])
    found = search(engine, relation, known, domains, classes, limits)
    rules = tuple(_rule(covered, domains) for covered in found)
    return ConjunctiveRules(known, aim, classes.values, rules, classes.without_class, classes.of_rare_classes)


def _rule(covered: CoveredRows, domains: Sequence[Domain]) -> Rule:
    return Rule(
        tuple(_test(condition, domains[condition.attribute]) for condition in covered.conditions), covered.counts
    )


def _test(condition: Condition, domain: Domain) -> Test:
    """A range of codes in words."""
    if condition.low == domain.size:
        return Missing(condition.attribute)
    if isinstance(domain, CategoricalDomain):
        return Is(condition.attribute, domain.values[condition.low])
    low = domain.boundaries[condition.low - 1] if condition.low > 0 else None
    high = domain.boundaries[condition.high - 1] if condition.high < domain.size else None
    return Between(condition.attribute, low, high)


# -- predicting --------------------------------------------------------------------------------------------


def predict_case(model: ConjunctiveRules, table: str | None, *, engine: Engine | None = None) -> exp.Expr:
    """The predicted class as one CASE over the columns of the table with this alias."""
    answers = [literal(model.classes[first_best(rule.counts)], model.target.kind) for rule in model.rules]
    return _first_rule(model, answers, table, engine)


def rule_case(model: ConjunctiveRules, table: str | None, *, engine: Engine | None = None) -> exp.Expr:
    """Which rule decides, as one CASE: 1 is the first of the list."""
    answers = [number(place) for place in range(1, len(model.rules) + 1)]
    return _first_rule(model, answers, table, engine)


def _first_rule(
    model: ConjunctiveRules, answers: Sequence[exp.Expr], table: str | None, engine: Engine | None
) -> exp.Expr:
    """The answer of the first rule that holds."""
    branches = [
        exp.If(this=_all(model, rule, table, engine), true=answer)
        for rule, answer in zip(model.rules[:-1], answers, strict=False)
    ]
    return exp.Case(ifs=branches, default=answers[-1]) if branches else answers[-1]


def predict_query(
    model: ConjunctiveRules, relation: Name, keep: Sequence[str], *, engine: Engine | None = None, scores: bool = False
) -> exp.Select:
    """The rows of a relation with their predicted class: the kept columns, then ppdm_class.

    scores adds ppdm_score_0, ... (as ConjunctiveRules.scores gives them) in the order of the classes.  With an
    engine text is compared by its bytes whatever collation the column has.
    """
    checked_keep(keep)
    picked: list[exp.Expr] = [column(name, "r") for name in keep]
    picked.append(aliased(predict_case(model, "r", engine=engine), PREDICTED))
    if scores:
        said = [_shares(rule.counts) for rule in model.rules]
        for place in range(len(model.classes)):
            answers = [score(weights[place]) for weights in said]
            picked.append(aliased(_first_rule(model, answers, "r", engine), score_name(place)))
    return exp.Select(expressions=picked).from_(relation.table("r"))


def predict_one(model: ConjunctiveRules, row: Mapping[str, object]) -> Value:
    """The class of one row given in Python; the same as predict_query gives it."""
    return model.predict(row)


def _all(model: ConjunctiveRules, rule: Rule, table: str | None, engine: Engine | None) -> exp.Expr:
    tests = [_condition(test, model.attributes[test.attribute], table, engine) for test in rule.tests]
    both = tests[0]
    for test in tests[1:]:
        both = exp.And(this=both, expression=test)
    return both


def _condition(test: Test, attribute: Attribute, table: str | None, engine: Engine | None) -> exp.Expr:
    """A test as SQL; of an unknown answer CASE makes no, so NULL is in no range and equals nothing."""
    plain = operand(attribute, engine, table)
    if isinstance(test, Missing):
        return exp.Is(this=plain, expression=exp.Null())
    if isinstance(test, Is):
        return exp.EQ(this=plain, expression=literal(test.value, attribute.kind))
    ends: list[exp.Expr] = []
    for kind, end in ((exp.GTE, test.low), (exp.LT, test.high)):
        if end is not None:
            ends.append(
                kind(this=comparable_column(attribute, plain.copy()), expression=boundary_literal(end, attribute))
            )
    return exp.And(this=ends[0], expression=ends[1]) if len(ends) == 2 else ends[0]


# -- JSON --------------------------------------------------------------------------------------------------


def read(given: Reading) -> ConjunctiveRules:
    """A rule list from its dictionary; one that this module could not have made is refused."""
    given["format"].one_of([FORMAT])
    given.only(("format", "target", "classes", "attributes", "without_class", "of_rare_classes", "rules"))
    target = attribute_from_dict(given["target"])
    classes = classes_from_dict(given["classes"], target)
    listed = given["attributes"].items()
    attributes = tuple(attribute_from_dict(part) for part in listed)
    checked_names(attributes, target, given["attributes"])
    rules = [_read_rule(part, attributes, len(classes)) for part in given["rules"].items(least=1)]
    if len(attributes) > MOST_ATTRIBUTES or len(rules) > MOST_RULES + 1:
        given.refuse(f"has more than {MOST_ATTRIBUTES} attributes or {MOST_RULES} rules")
    if rules[-1].tests or not all(rule.tests for rule in rules[:-1]):
        given["rules"].refuse("does not end with the one rule that has no tests")
    counted = [given[word].whole(0) for word in ("without_class", "of_rare_classes")]
    return ConjunctiveRules(attributes, target, classes, tuple(rules), *counted)


def _read_rule(given: Reading, attributes: Sequence[Attribute], classes: int) -> Rule:
    given.only(("tests", "counts"))
    tests = tuple(_read_test(part, attributes) for part in given["tests"].items())
    if len({test.attribute for test in tests}) != len(tests):
        given.refuse("tests an attribute twice")
    return Rule(tests, given["counts"].wholes(classes))


def _read_test(given: Reading, attributes: Sequence[Attribute]) -> Test:
    place = given["attribute"].whole(0)
    if place >= len(attributes):
        given.refuse("tests an attribute that does not exist")
    attribute, words = attributes[place], given.keys() - {"attribute"}
    if words == {"missing"} and given["missing"].boolean():
        return Missing(place)
    if words == {"is"} and not attribute.ordered:
        return Is(place, value_from_dict(given["is"], attribute.kind))
    if not words or not words <= {"from", "below"} or not attribute.ordered:
        given.refuse("is not a valid test for its attribute")
    low, high = (boundary_from_dict(given[w], attribute) if w in words else None for w in ("from", "below"))
    if low is not None and high is not None and place_of(low) >= place_of(high):
        given.refuse("is a range without a value")
    return Between(place, low, high)
