"""Random small tables with hierarchies, and how to run a full-domain method and its brute force on them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from fractions import Fraction

import oracles
from oracles.naive_lattice import Ladder, cost, passing_nodes

from ppdm_sql.methods.incognito.method import INCOGNITO
from ppdm_sql.policy.policy import Policy, Tuning
from ppdm_sql.requirements import (
    Closeness,
    ConfidenceLimit,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    SimpleDiversity,
)
from ppdm_sql.source.hierarchy import build
from ppdm_sql.statements.names import Word
from tests.random_cases import WORDS, is_diverse, roles_of, run_method

QUALITIES = ("loss", "discernibility", "average_class", "entropy", "precision", "classification", "height")
REQUIRED = (
    DistinctDiversity(2), SimpleDiversity(Fraction(3, 2)), RecursiveDiversity(Fraction(2), 2), EntropyDiversity(Fraction(3, 2)),
    ConfidenceLimit(Fraction(7, 10)), Closeness(Fraction(2, 5), "equal"),
)  # fmt: skip


@dataclass
class Case:
    """A table of texts with its policy; a column without a hierarchy has the levels value and *."""

    columns: dict[str, str]
    rows: list[dict]
    quasi: list[str]
    requirements: tuple
    hierarchies: dict[str, list[list[str]]] = field(default_factory=dict)
    sensitive: list[str] = field(default_factory=list)
    target: str | None = None
    entity: str | None = None
    options: dict = field(default_factory=dict)
    suppress: Fraction = Fraction(0)
    tunings: dict[str, Tuning] = field(default_factory=dict)
    algorithm: str = "incognito"

    @property
    def k(self) -> int:
        return max((one.k for one in self.requirements if isinstance(one, KAnonymity)), default=1)

    @property
    def policy(self) -> Policy:
        roles = replace(
            roles_of(self.columns, self.quasi, self.sensitive, self.target, self.entity),
            tunings={Word(name, quoted=True): one for name, one in self.tunings.items()},
        )
        return Policy(self.algorithm, self.requirements, roles, options=self.options, suppress=self.suppress)

    def run(self, engine, method=INCOGNITO):
        trees = {name: build(name, lines) for name, lines in self.hierarchies.items()}
        return run_method(engine, method, self.policy, self.columns, self.rows, trees)

    # -- by brute force ----------------------------------------------------------------------------

    def ladders(self) -> list[Ladder]:
        found = []
        for name in self.quasi:
            values = {row[name] for row in self.rows}
            lines = self.hierarchies.get(name) or [[value, None] for value in values - {None}]
            labels = {line[0]: [("is", label) for label in line[:-1]] + ["all"] for line in lines}
            if None in values:
                labels[None] = [None] * (len(next(iter(labels.values()), [0, 0])) - 1) + ["all"]
            tuning = self.tunings.get(name, Tuning())
            found.append(Ladder(name, labels, tuning.weight, tuning.most_level))
        return found

    def passing(self):
        return passing_nodes(self.rows, self.ladders(), self.suppress, self.holds, self._is_close)

    def best(self, quality: str):
        """The node to publish, and what it costs; None where none passes."""
        ladders = self.ladders()
        counted = (self.options.get("left_out_cost", Fraction(1)), self.options.get("ties", "right"))
        costs = [
            (cost(quality, node, ladders, self.target, *counted), sum(node.levels), len(node.out), node.levels)
            for node in self.passing()
        ]
        return min(costs, default=None)

    def holds(self, group, rows) -> bool:
        """Whether a class meets every requirement."""
        return len(group) >= self.k and self._is_close(group, rows) and all(
            is_diverse(one, [row[name] for row in group])
            for name in self.sensitive for one in self.requirements if not isinstance(one, KAnonymity | Closeness)
        )  # fmt: skip

    def _is_close(self, group, rows) -> bool:
        for asked in (one for one in self.requirements if isinstance(one, Closeness)):
            for name in self.sensitive:
                inside = {id(row) for row in group}
                marked = [{**row, "inside": id(row) in inside} for row in rows]
                far = oracles.class_distances(marked, ["inside"], name, "equal")
                if next(d for key, d in far.items() if key[0] in ("true", True, "True")) > asked.t:
                    return False
        return True


def check_classes(case: Case, plan, rows) -> None:
    """Every row is there, every class meets the policy, and every label is one of the row's own value."""
    source = {row["id"]: row for row in case.rows}
    ladders = {one.name: one for one in case.ladders()}
    classes = {}
    for row in rows:
        own = source[row["ppdm_key0"]]
        classes.setdefault(tuple(row[name] for name in case.quasi), []).append(own)
        for name in case.quasi:
            labels = [None if one is None else one[1] for one in ladders[name].labels[own[name]][:-1]]
            assert row[name] in labels or row[name].strip("*") == ""
    assert all(case.holds(group, case.rows) for group in classes.values())
    assert len(rows) == len(case.rows)
    assert plan.classes == len(classes)


def random_case(seed: int) -> Case:
    rng = random.Random(seed)
    names = rng.sample(["a", 'o"brien', "order", "ppd", "*"], rng.randint(1, 3))
    rows_many = rng.choice([6, 12, 25, 50])
    columns, hierarchies, tunings, pools = {"id": "integer"}, {}, {}, {}
    for name in names:
        columns[name] = "text"
        values = rng.sample([word for word in WORDS if word != "*"], rng.randint(1, 6))
        pools[name] = [*values, *([None] if rng.random() < 0.3 else [])]
        if rng.random() < 0.75:
            more = ["unseen"] if rng.random() < 0.5 else []
            hierarchies[name] = _lines([*values, *more], rng)
        weight = Fraction(rng.choice([1, 1, 1, 2, 3]))
        most = rng.choice([None, None, None, 1]) if name in hierarchies else None
        tunings[name] = Tuning(weight=weight, most_level=most)
    columns |= {"illness": "text", "paid": "text"}
    pools |= {"illness": ["flu", "gout", "cold"][: rng.randint(1, 3)], "paid": ["well", "badly", None]}
    rows = [
        {"id": number, **{name: pool[min(int(rng.expovariate(0.8)), len(pool) - 1)] for name, pool in pools.items()}}
        for number in range(rows_many)
    ]
    required = [KAnonymity(rng.randint(1, 5)), *rng.sample(REQUIRED, rng.choice([0, 0, 1, 1, 2]))]
    limit = rng.choice([Fraction(0), Fraction(0), Fraction(1, 10), Fraction(2, 5), Fraction(1)])
    sensitive = ["illness"] if len(required) > 1 else []
    return Case(columns, rows, names, tuple(required), hierarchies, sensitive, "paid", suppress=limit, tunings=tunings)


def _lines(leaves, rng) -> list[list[str]]:
    middle = rng.randint(1, max(1, len(leaves)))
    deep = rng.random() < 0.5
    lines = []
    for leaf in leaves:
        group = rng.randrange(middle)
        lines.append([leaf, f"g{group}", *([f"h{group % 2}"] if deep else []), "*"])
    return lines
