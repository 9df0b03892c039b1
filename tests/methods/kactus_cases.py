"""Random small tables for kACTUS, how to run the method on them, and how to read what it prints."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction

from ppdm_sql.methods.plan import TablePlan
from ppdm_sql.methods.registry import method_named
from ppdm_sql.policy.policy import Policy
from ppdm_sql.requirements import (
    Closeness,
    KAnonymity,
    Requirement,
)
from tests.oracles.naive_kactus import Outcome, naive_kactus
from tests.random_cases import domain_with_nan, is_diverse, roles_of, run_method


@dataclass
class Case:
    """A table with its policy; columns: name -> kind; every row also has an id, which is published."""

    columns: dict[str, str]
    rows: list[dict]
    quasi: list[str]
    k: int
    method: str = "kactus2"
    options: dict = field(default_factory=dict)
    sensitive: list[str] = field(default_factory=list)
    required: tuple[Requirement, ...] = ()
    target: str = "class"
    entity: str | None = None
    seed: int = 0

    @property
    def policy(self) -> Policy:
        roles = roles_of(self.columns, self.quasi, self.sensitive, self.target, self.entity)
        return Policy(self.method, (KAnonymity(self.k), *self.required), roles, options=self.options, seed=self.seed)

    def naive(self) -> Outcome:
        options = dict(self.options)
        least = options.pop("min_leaf", "k")
        least = self.k if least == "k" else int(least)
        return naive_kactus(self.rows, self.quasi, self.target, self.k, least, method=self.method, **options)


@dataclass
class Ran:
    plan: TablePlan
    rows: list[dict]


def run(engine, case: Case) -> Ran:
    """The method on the case, and the rows of its plan."""
    return Ran(*run_method(engine, method_named(case.method), case.policy, case.columns, case.rows))


# -- reading -------------------------------------------------------------------------------------------


def marker_of(case: Case) -> str:
    """What a suppressed cell prints: a star more than any value that consists of stars."""
    values = {str(row[name]) for row in case.rows for name in case.quasi}
    return "*" * (1 + max((len(value) for value in values if value and not value.strip("*")), default=0))


def means(case: Case, name: str, label: str | None, value: object) -> bool:
    """Whether a printed label stands for a value of a column."""
    kind = case.columns[name]
    if value is None or label is None:
        return value is label
    if isinstance(value, float) and math.isnan(value):
        return label == "nan"
    if kind == "boolean":
        return label == ("true" if value else "false")
    if kind == "text":
        return label == value
    if label == "(known)":
        return True
    if label.startswith("< "):
        return value < bound(label[2:], kind)
    if label.startswith(">= "):
        return value >= bound(label[3:], kind)
    if not label.startswith("["):
        return False  # nan
    low, high = label.removeprefix("[").removesuffix(")").split(", ")
    return bound(low, kind) <= value < bound(high, kind)


def bound(text: str, kind: str):
    if kind == "date":
        return date.fromisoformat(text)
    if kind == "timestamp":
        return datetime.fromisoformat(text)
    return Fraction(text)


def shown_classes(case: Case, ran: Ran, number: dict[str, dict]) -> Counter:
    """The classes in the oracle's terms: categories by number, and how often each target value is there."""
    found: dict[tuple, Counter] = defaultdict(Counter)
    for row in ran.rows:
        vector = []
        for name in sorted(case.quasi):
            if row[name] != marker_of(case):
                held = {
                    number[name]["NaN" if isinstance(value, float) and math.isnan(value) else value]
                    for value in (one[name] for one in case.rows)
                    if means(case, name, row[name], value)
                }
                assert len(held) == 1  # a label is exactly one category
                vector.append((name, held.pop()))
        found[tuple(vector)][row[case.target]] += 1
    return Counter({(vector, tuple(sorted(held.items(), key=str))): 1 for vector, held in found.items()})


def meets(requirement: Requirement, held: list, everybody: list) -> bool:
    """Whether the sensitive values of a class, by the naive definitions, meet a requirement."""
    if not isinstance(requirement, Closeness):
        found = is_diverse(requirement, held)
        assert found is not None
        return found
    here, whole = (Counter(value for value in values if value is not None) for values in (held, everybody))
    if not here:
        return False
    apart = [Fraction(here[one], here.total()) - Fraction(whole[one], whole.total()) for one in whole]
    return sum(map(abs, apart)) / 2 <= requirement.t


# -- random tables ---------------------------------------------------------------------------------------


def random_case(seed: int, *, method: str = "kactus2") -> Case:
    """Columns of every kind; the class follows some of them, so that trees are worth growing."""
    rng = random.Random(f"{method} {seed}")
    columns, domains = {"id": "integer"}, {}
    kinds = ["integer", "integer", "decimal", "float", "text", "text", "text", "boolean", "date", "timestamp"]
    for number in range(rng.choice([1, 2, 3, 3, 4])):
        columns[f"q{number}"] = kind = rng.choice(kinds)
        domains[f"q{number}"] = domain_with_nan(kind, rng)
    quasi = list(domains)
    columns |= {"class": "text", "note": "integer"}
    classes = ["N", "Y", "Z", None][: rng.choice([2, 2, 3, 4])]
    nulls = {name: rng.choice([0, 0, 0.1]) for name in quasi}
    leaning = {name: {i: rng.choice(classes) for i in range(len(values))} for name, values in domains.items()}
    rows = []
    for number in range(rng.choice([8, 30, 50, 80, 110])):
        places = {name: int(len(values) * rng.random() ** 1.5) for name, values in domains.items()}
        row = {"id": number, "note": rng.randint(0, 3)}
        row |= {n: None if rng.random() < nulls[n] else domains[n][p] for n, p in places.items()}
        follows = rng.choice(quasi)
        row["class"] = leaning[follows][places[follows]] if rng.random() < 0.8 else rng.choice(classes)
        rows.append(row)
    options: dict = {}
    if rng.random() < 0.3:
        options["pool_non_complying"] = rng.random() < 0.5
    for switch in ("compensate_at_root", "join_existing_group"):
        if rng.random() < 0.25:
            options[switch] = True
    if rng.random() < 0.2:
        options["min_leaf"] = rng.choice([Fraction(1), Fraction(5), "k"])
    if method == "kactus2":
        options["swap_threshold"] = rng.choice([Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(1)])
        if rng.random() < 0.2:
            options["strict_swap"] = True
    return Case(columns, rows, quasi, rng.choice([1, 2, 3, 4, 5, 8]), method, options, seed=seed)
