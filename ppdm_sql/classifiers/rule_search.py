"""Sequential covering: find the best rule, take its rows away, find the next, until none is better than none.

A rule is grown from nothing, one test at a time.  Its class is the one most of its rows have, its worth the Laplace
accuracy (p + 1) / (p + n + m): p rows of that class, n others, m classes.  Worths are compared as exact fractions.
A test is tried if the rule then covers at least min_rows rows and fewer than before, and kept if it is worth more
than without it; of these the `beam` best go on.  Equal worths: more rows first, then the order of the attributes and
of their values (NULL last).  The best rule of all steps is taken if it is worth more than the majority of the rows
that are left.  What no rule covers falls to the last rule; if nothing is left, that one counts all rows.

Rows stay in the database: the working table holds codes (domains.py), equal rows once with their number.  Every step
asks one statement per unfinished rule, the counts by code and class of all attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from sqlglot import exp

from ppdm_sql.classifiers.cells import CLASS, ROWS, TargetClasses
from ppdm_sql.classifiers.domains import (
    KEY,
    CategoricalDomain,
    Domain,
    NumericDomain,
    code_case,
    is_listed,
    join_values,
)
from ppdm_sql.classifiers.values import number, operand
from ppdm_sql.engines.base import Engine
from ppdm_sql.source.encode import canonical
from ppdm_sql.source.lines import Ints
from ppdm_sql.statements.names import Name, aliased, column, identifier
from ppdm_sql.trees.tree import Attribute

_CODE, _ATTRIBUTE, _VALUE, _COVERED = "ppdm_a", "ppdm_attribute", "ppdm_value", "ppdm_covered"


@dataclass(frozen=True, order=True)
class Condition:
    """The attribute's code is in low .. high - 1: a category, the bins below or from a boundary on, or NULL."""

    attribute: int
    low: int
    high: int


@dataclass(frozen=True)
class RuleLimits:
    beam: int
    max_rules: int
    max_tests: int
    min_rows: int


@dataclass(frozen=True)
class CoveredRows:
    """A rule and the rows per class it covers."""

    conditions: tuple[Condition, ...]
    counts: tuple[int, ...]

    @property
    def rows(self) -> int:
        return sum(self.counts)

    @property
    def worth(self) -> Fraction:
        return Fraction(max(self.counts) + 1, self.rows + len(self.counts))

    @property
    def order(self) -> tuple[Fraction, int, tuple[Condition, ...]]:
        """Sorts the best first."""
        return (-self.worth, -self.rows, self.conditions)


def search(
    engine: Engine,
    relation: Name,
    attributes: Sequence[Attribute],
    domains: Sequence[Domain],
    classes: TargetClasses,
    limits: RuleLimits,
) -> list[CoveredRows]:
    """The rules in their order; the last has no conditions."""
    working = _Working(engine, domains, len(classes.values))
    try:
        working.code(relation, attributes, classes)
        found: list[CoveredRows] = []
        left = everything = working.totals()
        while left.rows and len(found) < limits.max_rules:
            rule = _best_rule(working, left, limits)
            if not rule.conditions:
                break
            found.append(rule)
            working.take_away(rule)
            left = CoveredRows((), tuple(a - b for a, b in zip(left.counts, rule.counts, strict=True)))
        return [*found, left if left.rows else everything]
    finally:
        working.forget()


def _best_rule(working: _Working, left: CoveredRows, limits: RuleLimits) -> CoveredRows:
    best, growing = left, [left]
    for _ in range(limits.max_tests):
        longer: dict[tuple[Condition, ...], CoveredRows] = {}
        for rule in growing:
            for candidate in working.extensions(rule, limits.min_rows):
                longer[candidate.conditions] = candidate
        growing = sorted(longer.values(), key=lambda rule: rule.order)[: limits.beam]
        if not growing:
            break
        best = min(best, growing[0], key=lambda rule: rule.order[:1])  # of equally good ones the shorter
    return best


class _Working:
    """The coded rows that no rule has covered yet."""

    def __init__(self, engine: Engine, domains: Sequence[Domain], classes: int) -> None:
        self._engine, self._domains, self._classes = engine, domains, classes
        self._table, self._spare = engine.work.name("rules"), engine.work.name("rules")
        self._lists: list[Name] = []

    def code(self, relation: Name, attributes: Sequence[Attribute], classes: TargetClasses) -> None:
        """One pass over the source: codes and class, equal rows counted."""
        query = exp.Select().from_(relation.table("r"), copy=False)
        label = canonical(self._engine, classes.target, "r")
        named = [
            exp.If(this=exp.EQ(this=label.copy(), expression=value), true=number(code))
            for code, value in enumerate(classes.literals())
        ]
        query = query.select(aliased(exp.Case(ifs=named), CLASS))
        for place, (attribute, domain) in enumerate(zip(attributes, self._domains, strict=True)):
            query, code = self._add_code(query, attribute, domain, place)
            query = query.select(aliased(code, f"{_CODE}{place}"), copy=False)
        names = [*(f"{_CODE}{place}" for place in range(len(attributes))), CLASS]
        keys = [column(name, "c") for name in names]
        counted = aliased(exp.cast(exp.Count(this=exp.Star()), "BIGINT"), ROWS)
        known = exp.Not(this=exp.Is(this=column(CLASS, "c"), expression=exp.Null()))
        cells = (
            exp.Select(expressions=[*keys, counted])
            .from_(query.subquery("c", copy=False), copy=False)
            .where(known, copy=False)
        )
        self._engine.create_table(
            self._table, cells.group_by(*(key.copy() for key in keys), copy=False), temporary=True
        )
        self._engine.analyze(self._table)

    def _add_code(
        self, query: exp.Select, attribute: Attribute, domain: Domain, place: int
    ) -> tuple[exp.Select, exp.Expr]:
        if not is_listed(domain):
            return query, code_case(attribute, domain, self._engine, "r")
        import pyarrow as pa

        assert isinstance(domain, CategoricalDomain)
        alias = f"l{place}"
        texts, codes = pa.array(map(str, domain.values), pa.string()), pa.array(range(len(domain.values)), pa.int32())
        table = self._engine.work.load("rule_list", {KEY: texts, "ppdm_w0": codes}, analyze=True)
        self._lists.append(table)
        plain = operand(attribute, self._engine, "r")
        missing = exp.If(this=exp.Is(this=plain.copy(), expression=exp.Null()), true=number(domain.size))
        unnamed = exp.If(this=exp.Is(this=column(KEY, alias), expression=exp.Null()), true=number(len(domain.values)))
        code = exp.Case(ifs=[missing, unnamed], default=column("ppdm_w0", alias))
        return join_values(query, table.table(alias), alias, plain), code

    def totals(self) -> CoveredRows:
        rows = exp.cast(exp.Sum(this=column(ROWS, "w")), "BIGINT")
        query = exp.Select(expressions=[column(CLASS, "w"), rows]).from_(self._table.table("w"), copy=False)
        counts = [0] * self._classes
        for code, found in self._engine.fetch(query.group_by(column(CLASS, "w"), copy=False)):
            counts[int(code)] = int(found)
        return CoveredRows((), tuple(counts))

    # -- growing -----------------------------------------------------------------------------------

    def extensions(self, rule: CoveredRows, min_rows: int) -> Iterator[CoveredRows]:
        """The rule with one more test, wherever that makes it worth more."""
        for place, counts in enumerate(self._counts(rule)):
            held = next((part for part in rule.conditions if part.attribute == place), None)
            for test, rows in self._tests(place, counts):
                covered = int(rows.sum())
                if covered < min_rows or covered == rule.rows:
                    continue
                if Fraction(int(rows.max()) + 1, covered + self._classes) <= rule.worth:
                    continue
                # rows outside the condition that is held already are in no count: the ranges overlap
                low = test.low if held is None else max(test.low, held.low)
                high = test.high if held is None else min(test.high, held.high)
                others = [part for part in rule.conditions if part is not held]
                conditions = tuple(sorted([*others, Condition(place, low, high)]))
                yield CoveredRows(conditions, tuple(map(int, rows)))

    def _tests(self, place: int, counts: Ints) -> Iterator[tuple[Condition, Ints]]:
        """Every test of an attribute with the rows per class that pass it."""
        domain = self._domains[place]
        if isinstance(domain, NumericDomain):
            up_to = np.cumsum(counts[: domain.size], axis=0)
            for end in range(1, domain.size):
                yield Condition(place, 0, end), up_to[end - 1]
                yield Condition(place, end, domain.size), up_to[-1] - up_to[end - 1]
        else:
            for code in np.flatnonzero(counts[: len(domain.values)].sum(axis=1)):
                yield Condition(place, int(code), int(code) + 1), counts[code]
        yield Condition(place, domain.size, domain.size + 1), counts[domain.size]

    def _counts(self, rule: CoveredRows) -> list[Ints]:
        """Per attribute the rows by code and class among those the rule covers, from one statement."""
        counts = [np.zeros((domain.size + 1, self._classes), dtype=np.int64) for domain in self._domains]
        if not counts:
            return counts
        covered = exp.Select(expressions=[column(name, "w") for name in self._names]).from_(
            self._table.table("w"), copy=False
        )
        for condition in rule.conditions:
            covered = covered.where(_holds(condition), copy=False)
        self._by_code.set("with_", None)  # the same statement for every rule but for the rows it looks at
        query = self._by_code.with_(identifier(_COVERED), as_=covered, copy=False)
        found = {name: values.astype(np.int64) for name, values in self._engine.arrays(query).items()}
        for place, table in enumerate(counts):
            here = found[_ATTRIBUTE] == place
            table[found[_VALUE][here], found[CLASS][here]] = found[ROWS][here]
        return counts

    @cached_property
    def _by_code(self) -> exp.Query:
        """The counts of all attributes over the rows that a rule covers."""
        query: exp.Query = self._count_query(0)
        for place in range(1, len(self._domains)):
            query = exp.Union(this=query, expression=self._count_query(place), distinct=False)
        return query

    @property
    def _names(self) -> list[str]:
        return [*(f"{_CODE}{place}" for place in range(len(self._domains))), CLASS, ROWS]

    def _count_query(self, place: int) -> exp.Select:
        keys = [column(f"{_CODE}{place}", "v"), column(CLASS, "v")]
        picked = [
            aliased(number(place), _ATTRIBUTE),
            aliased(keys[0], _VALUE),
            keys[1],
            aliased(exp.cast(exp.Sum(this=column(ROWS, "v")), "BIGINT"), ROWS),
        ]
        query = exp.Select(expressions=picked).from_(Name(_COVERED).table("v"), copy=False)
        return query.group_by(*(key.copy() for key in keys), copy=False)

    def take_away(self, rule: CoveredRows) -> None:
        """The rows the rule covers go; codes are never NULL, so NOT means what it says."""
        holds = _holds(rule.conditions[0])
        for condition in rule.conditions[1:]:
            holds = exp.And(this=holds, expression=_holds(condition))
        query = exp.Select(expressions=[column(name, "w") for name in self._names]).from_(
            self._table.table("w"), copy=False
        )
        query = query.where(exp.Not(this=exp.Paren(this=holds)), copy=False)
        self._engine.create_table(self._spare, query, temporary=True)
        self._engine.drop_table(self._table, temporary=True)
        self._engine.analyze(self._spare)
        self._table, self._spare = self._spare, self._table

    def forget(self) -> None:
        for table in (self._table, self._spare, *self._lists):
            self._engine.work.drop(table)


def _holds(condition: Condition) -> exp.Expr:
    code = column(f"{_CODE}{condition.attribute}", "w")
    if condition.high - condition.low == 1:
        return exp.EQ(this=code, expression=number(condition.low))
    return exp.And(
        this=exp.GTE(this=code, expression=number(condition.low)),
        expression=exp.LT(this=code.copy(), expression=number(condition.high)),
    )
