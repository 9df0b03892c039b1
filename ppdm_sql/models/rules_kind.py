"""Conjunctive rules as a named model: one CASE that says which rule decides, and what each rule says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from ppdm_sql.catalog.models import ModelRecord
from ppdm_sql.classifiers import conjunctive_rules
from ppdm_sql.classifiers.conjunctive_rules import (
    Between,
    ConjunctiveRules,
    Is,
    Missing,
    Rule,
    Test,
    predict_case,
    rule_case,
)
from ppdm_sql.classifiers.domains import fit_boundary
from ppdm_sql.classifiers.values import double, first_best, literal, number
from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.models.classifier_kind import ClassifierKind
from ppdm_sql.models.kind import Chosen, LearnedModel
from ppdm_sql.policy.words import many
from ppdm_sql.statements.names import Name, aliased, column, identifier
from ppdm_sql.trees.expression import CLASS, SHARE, fitted_attributes, kept_columns
from ppdm_sql.trees.show import percent, range_words, rows_text, value_text, visible
from ppdm_sql.trees.tree import Attribute
from ppdm_sql.watching import Progress

RULE = "ppdm_rule"


class RulesKind(ClassifierKind[ConjunctiveRules]):
    name = "rules"
    title = "a list of conjunctive rules"
    inducers = ("conjunctive_rules",)

    @property
    def learner(self) -> Callable[..., ConjunctiveRules]:
        return conjunctive_rules.learn

    def learn(
        self,
        engine: Engine,
        relation: Name,
        attributes: Sequence[ColumnInfo],
        target: ColumnInfo,
        chosen: Chosen,
        progress: Progress,
    ) -> LearnedModel[ConjunctiveRules]:
        """The rows are counted by the database: a rule list does not always tell how many there were."""
        found = super().learn(engine, relation, attributes, target, chosen, progress)
        counted = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(relation.table())
        return replace(found, rows=int(engine.fetch_one(counted)[0]) - found.left_out)

    def hint(self, learned: ConjunctiveRules) -> str | None:
        if len(learned.rules) > 1:
            return None
        return "no rule is better than the majority with these settings; --option min_rows=1 allows smaller ones"

    def from_dict(self, content: object) -> ConjunctiveRules:
        return ConjunctiveRules.from_dict(content)

    def row_count(self, learned: ConjunctiveRules) -> int:
        """Every row is counted by the rule that took it; where none was left, the last rule counts all once more."""
        *before, last = [rule.counts for rule in learned.rules]
        taken = tuple(map(sum, zip(*before, strict=True)))
        return sum(last) if taken == last else sum(taken) + sum(last)

    def own_options(self, learned: ConjunctiveRules) -> dict[str, Any]:
        return {}

    def size(self, record: ModelRecord) -> str:
        rules = record.body.get("rules") if isinstance(record.body, dict) else None
        return many(len(rules), "rule") if isinstance(rules, list) else "damaged"

    def figures(self, learned: ConjunctiveRules) -> dict[str, int]:
        return {"rules": len(learned.rules), "attributes": len(learned.attributes), "classes": len(learned.classes)}

    def text(self, learned: ConjunctiveRules) -> str:
        """The list, numbered; the first rule that holds decides."""
        head = f"{visible(learned.target.name)}: the first of {many(len(learned.rules), 'rule')} that applies decides"
        width = len(str(len(learned.rules)))
        lines = [f"{place:>{width}}. {line}" for place, line in enumerate(_lines(learned), start=1)]
        return "\n".join([head, *lines])

    def rules(self, learned: ConjunctiveRules) -> str:
        return "\n".join(_lines(learned))

    def sql(self, engine: Engine, learned: ConjunctiveRules) -> str:
        """The CASE that gives a row's class, to be put into any query over the same columns."""
        return self.expression(engine, learned)[1].sql(engine.dialect, pretty=True)

    def query(self, engine: Engine, learned: ConjunctiveRules, relation: Name, keep: Sequence[str]) -> exp.Select:
        names = kept_columns(engine, relation, keep)
        inner = exp.Select(expressions=[column(name, "r") for name in names]).from_(relation.table("r"))
        decides = rule_case(bind_to_relation(engine, learned, relation), "r", engine=engine)
        inner = inner.select(aliased(decides, RULE), copy=False)
        picked = [*(column(name, "r") for name in (*names, RULE)), column(CLASS, "a"), column(SHARE, "a")]
        query = exp.Select(expressions=picked).from_(inner.subquery("r", copy=False), copy=False)
        on = exp.EQ(this=column(RULE, "a"), expression=column(RULE, "r"))
        return query.join(_answers(learned, "a"), on=on, copy=False)

    def expression(self, engine: Engine, learned: ConjunctiveRules) -> tuple[list[str], exp.Expr]:
        taken = [learned.attributes[used].name for used in learned.used_attributes()]
        return taken, predict_case(learned, None, engine=engine)


def bind_to_relation(engine: Engine, model: ConjunctiveRules, relation: Name) -> ConjunctiveRules:
    """The rules for the columns of a relation, compared as their types ask; refuses what does not fit."""
    attributes = fitted_attributes(model.attributes, model.used_attributes(), engine.columns(relation), str(relation))
    rules = tuple(
        replace(rule, tests=tuple(_fit_test(test, attributes[test.attribute]) for test in rule.tests))
        for rule in model.rules
    )
    return replace(model, attributes=attributes, rules=rules)


def _fit_test(test: Test, attribute: Attribute) -> Test:
    if not isinstance(test, Between):
        return test
    low, high = (None if end is None else fit_boundary(end, attribute) for end in (test.low, test.high))
    return Between(test.attribute, low, high)


def _share(rule: Rule) -> float:
    """The part of the rows a rule covered that are of its class."""
    return max(rule.counts) / sum(rule.counts) if sum(rule.counts) else 0.0


def _answers(model: ConjunctiveRules, alias: str) -> exp.Expr:
    """What each rule says, as a list to be joined."""
    rows = [
        exp.Tuple(
            expressions=[
                number(place),
                literal(model.classes[first_best(rule.counts)], model.target.kind),
                double(_share(rule)),
            ]
        )
        for place, rule in enumerate(model.rules, start=1)
    ]
    names = [identifier(name) for name in (RULE, CLASS, SHARE)]
    return exp.Values(expressions=rows, alias=exp.TableAlias(this=identifier(alias), columns=names))


def _lines(model: ConjunctiveRules) -> list[str]:
    """IF ... THEN, ELSE IF ... THEN, ELSE: with the rows that each rule took and the part that is of its class."""
    target, lines = visible(model.target.name), []
    for place, rule in enumerate(model.rules):
        answer, rows = value_text(model.classes[first_best(rule.counts)]), rows_text(sum(rule.counts))
        tests = " AND ".join(_words(test, model.attributes[test.attribute]) for test in rule.tests)
        head = f"{'ELSE IF' if place else 'IF'} {tests} THEN" if tests else "ELSE" if place else "ALWAYS"
        lines.append(f"{head} {target} = {answer} ({rows}, {percent(_share(rule))})")
    return lines


def _words(test: Test, attribute: Attribute) -> str:
    name = visible(attribute.name)
    match test:
        case Is(_, value):
            return f"{name} = {value_text(value)}"
        case Missing():
            return f"{name} is NULL"
        case Between(_, low, high):
            return range_words(name, low, high)
