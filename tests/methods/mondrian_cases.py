"""Random small tables for Mondrian, and how to run the method on them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from fractions import Fraction

import oracles
from naive_mondrian import Table

from ppdm_sql.methods.mondrian.method import MONDRIAN
from ppdm_sql.methods.plan import PART, TablePlan
from ppdm_sql.policy.policy import Policy, Tuning
from ppdm_sql.requirements import (
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    Requirement,
    SimpleDiversity,
)
from ppdm_sql.source.hierarchy import Hierarchy, build
from ppdm_sql.statements.names import Word
from tests.random_cases import KINDS, NUMERIC, domain, hierarchy_lines, is_diverse, roles_of, run_method


@dataclass
class Case:
    """A table with its policy; columns: name -> kind; every row also has an id, which is published."""

    columns: dict[str, str]
    rows: list[dict]
    quasi: list[str]
    requirements: tuple[Requirement, ...]
    hierarchies: dict[str, list[list[str]]] = field(default_factory=dict)
    sensitive: list[str] = field(default_factory=list)
    target: str | None = None
    entity: str | None = None
    options: dict = field(default_factory=dict)
    identity: str = "id"
    seed: int = 0
    suppress: Fraction = Fraction(0)
    orders: dict[str, list[str]] = field(default_factory=dict)
    weights: dict[str, Fraction] = field(default_factory=dict)

    @property
    def k(self):
        return max((r.k for r in self.requirements if isinstance(r, KAnonymity)), default=1)

    @property
    def trees(self) -> dict[str, Hierarchy]:
        return {name: build(name, lines) for name, lines in self.hierarchies.items()}

    @property
    def policy(self) -> Policy:
        roles = replace(
            roles_of(self.columns, self.quasi, self.sensitive, self.target, self.entity),
            tunings={
                Word(name, quoted=True): Tuning(tuple(self.orders.get(name, ())), self.weights.get(name, Fraction(1)))
                for name in (*self.orders, *self.weights)
            },
        )
        return Policy(
            "mondrian", self.requirements, roles, options=self.options, seed=self.seed, suppress=self.suppress
        )

    def naive(self) -> Table:
        there = {name: {row[name] for row in self.rows} - {None} for name in self.hierarchies}
        present = {name: tree.only(there[name]) for name, tree in self.trees.items()}
        trees = {name: {leaf: tree.levels_of(leaf) for leaf in tree.order} for name, tree in present.items()}
        demanding = [r for r in self.requirements if not isinstance(r, KAnonymity)]
        values = {key for row in self.rows for key in [row[self.target]]} if self.target else set()
        numeric = self.target is not None and self.columns[self.target] in NUMERIC and len(values) > 20
        table = Table(
            self.rows,
            self.quasi,
            self.k,
            trees,
            self.target,
            numeric,
            self.entity,
            orders=self.orders,
            tuned=self.weights,
            seed=self.seed,
            budget=0 if any(isinstance(r, Closeness) for r in demanding) else int(self.suppress * len(self.rows)),
            allowed=lambda rows: all(meets(r, self, rows, name) for name in self.sensitive for r in demanding),
            tie=[*([self.target] if self.target else []), *(self.sensitive if demanding else [])],
        )
        return table


def meets(requirement, case, rows, name):
    """One requirement on one set of rows, by its definition."""
    if not isinstance(requirement, Closeness):
        return is_diverse(requirement, [row[name] for row in rows])
    inside = {row[case.identity] for row in rows}
    marked = [{**row, "inside": row[case.identity] in inside} for row in case.rows]
    kind = requirement.distance or ("ordered" if case.columns[name] in NUMERIC else "equal")
    far = oracles.class_distances(marked, ["inside"], name, kind)
    return next(d for key, d in far.items() if key[0] in ("true", True, "True")) <= requirement.t


@dataclass
class Outcome:
    plan: TablePlan
    rows: list[dict]

    def parts(self) -> set[frozenset]:
        found: dict = {}
        for row in self.rows:
            found.setdefault(row[PART], set()).add(row["id"])
        return {frozenset(ids) for ids in found.values()}


def run(engine, case: Case) -> Outcome:
    """The method on the case, and the rows of its plan."""
    return Outcome(*run_method(engine, MONDRIAN, case.policy, case.columns, case.rows, case.trees, case.identity))


def outlier_case(seed: int) -> Case:
    """Numbers without hierarchies, few of them far from the others; some rows may be left out."""
    rng = random.Random(seed)
    kinds = {f"q{number}": rng.choice(["integer", "decimal", "date"]) for number in range(rng.choice([1, 1, 2]))}
    domains = {name: sorted(set(domain(kind, rng)), key=str) for name, kind in kinds.items()}
    columns = {"id": "integer", **kinds, "secret": "text", "label": "text"}
    rows = []
    for number in range(rng.choice([20, 40, 60])):
        picked = {name: values[int(len(values) * rng.random() ** 4)] for name, values in domains.items()}
        picked = {name: None if rng.random() < 0.02 else value for name, value in picked.items()}
        rows.append({"id": number, **picked, "secret": rng.choice("xyz"), "label": rng.choice("ab")})
    more: list[Requirement] = [DistinctDiversity(2)] if rng.random() < 0.4 else []
    return Case(
        columns, rows, list(kinds), (KAnonymity(rng.choice([2, 3, 5])), *more), {}, ["secret"] if more else [],
        rng.choice([None, "label"]), seed=seed, suppress=Fraction(rng.choice([5, 10, 20]), 100),
        weights={name: Fraction(rng.choice([1, 4, 6]), 2) for name in kinds if rng.random() < 0.25},
    )  # fmt: skip


# -- random tables ---------------------------------------------------------------------------------------


def random_case(seed: int, *, demanding: bool = True, skewed: bool = False) -> Case:
    """skewed: nearly all columns have a hierarchy, and some of their values are rare."""
    rng = random.Random(seed)
    columns, domains, trees = {"id": "integer"}, {}, {}
    for number in range(rng.choice([1, 2, 2, 3, 4])):
        kind = rng.choice(KINDS)
        name = f"q{number}"
        columns[name], domains[name] = kind, domain(kind, rng)
        if skewed and rng.random() < 0.9:
            kind = columns[name] = rng.choice(["integer", "text"])
            domains[name] = [value for value in domain(kind, rng) if value != "*"]
        if rng.random() < (0.95 if skewed else 0.35) and kind in ("integer", "text") and "*" not in domains[name]:
            trees[name] = hierarchy_lines(domains[name], rng)
    quasi = list(domains)
    columns |= {"secret": "text", "second": "integer"}
    domains |= {"secret": ["flu", "cold", "asthma", "none"][: rng.choice([1, 3, 4, 4, 4])], "second": [1, 2, 3, 10]}
    target, entity = rng.choice([None, None, "label", "number", "secret", quasi[-1]]), rng.random() < 0.25
    columns |= {"label": "text", "number": "integer"}
    domains |= {"label": ["x", "y", "z"][: rng.randint(1, 3)], "number": list(range(0, 300, rng.choice([1, 7])))}
    nulls = {name: rng.choice([0, 0, 0.15]) for name in domains}
    rows = []
    for number in range(rng.choice([1, 5, 12, 25, 40, 60, 60])):
        row = {"id": number}
        for name, values in domains.items():
            place = int(len(values) * rng.random() ** 3) if skewed else rng.randrange(len(values))
            row[name] = None if rng.random() < nulls[name] else values[place]
        if rng.random() < 0.5:  # some order in it, so that splits differ in worth
            row["label"] = domains["label"][number % len(domains["label"])]
            row["number"] = 2 * number
        rows.append(row)
    if entity:
        columns["person"] = "text"
        for row in rows:
            row["person"] = rng.choice([f"p{rng.randrange(max(2, len(rows) // 2))}", None, "p0", f"x{row['id']}"])
    requirements: list[Requirement] = [KAnonymity(rng.choice([1, 2, 2, 3, 3, 5]))]
    sensitive = rng.choice([["secret"], ["secret", "second"], []]) if demanding else []
    if sensitive:
        requirements += rng.sample(
            [
                DistinctDiversity(2),
                SimpleDiversity(Fraction(3, 2)),
                SimpleDiversity(Fraction(2)),
                RecursiveDiversity(Fraction(2), 2),
                EntropyDiversity(Fraction(3, 2)),
                Closeness(Fraction(rng.randint(1, 9), 10)),
                Closeness(Fraction(3, 10), "equal"),
            ],
            rng.choice([0, 1, 1, 2]),
        )
    if target in sensitive and target != "secret":
        target = None
    words = [name for name in quasi if columns[name] == "text" and name not in trees and rng.random() < 0.3]
    orders = {name: rng.sample(sorted(set(domains[name])), len(set(domains[name]))) for name in words}
    return Case(
        columns,
        rows,
        quasi,
        tuple(requirements),
        trees,
        sensitive,
        target,
        "person" if entity else None,
        {"max_parts": Fraction(rng.randint(1, 8))} if rng.random() < 0.15 else {},
        seed=rng.randrange(2**63),
        orders=orders,
        suppress=Fraction(rng.choice([0, 0, 0, 5, 10, 20]), 100),
        weights={name: Fraction(rng.choice([1, 4, 6]), 2) for name in quasi if rng.random() < 0.25},
    )
