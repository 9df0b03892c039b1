"""Random small tables for kadet and ldm, how to run the methods on them, and the attack by its definition."""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property

import oracles
from oracles import naive_kadet as naive
from sqlglot import exp

from ppdm_sql.methods.base import Job
from ppdm_sql.methods.registry import method_named
from ppdm_sql.policy.grammar import parse
from ppdm_sql.requirements import (
    ConfidenceLimit,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    SimpleDiversity,
)
from ppdm_sql.source.hierarchy import build
from ppdm_sql.source.relation import open_source
from ppdm_sql.statements.names import Name, column, identifier
from ppdm_sql.statements.steps import Steps
from ppdm_sql.trees.audit import span_expression
from ppdm_sql.trees.follow import follow
from ppdm_sql.trees.tree import Cut

TARGET = "cls"


@dataclass
class Case:
    """A table with its policy; columns: name -> type, the class is cls; rows have an id that no policy sees."""

    columns: dict[str, str]
    rows: list[dict]
    public: list[str]
    require: str
    options: dict = field(default_factory=dict)
    hierarchies: dict[str, list[list[str]]] = field(default_factory=dict)
    class_is_public: bool = False
    method: str = "kadet"
    table: str = "people"
    requirements: tuple | None = None  # in place of the ones written: k = 1 cannot be
    entity: str | None = None  # the column that says whose row it is
    hidden: list[str] = field(default_factory=list)  # private columns that are sensitive, too
    class_is_open: bool = False  # nothing is required of the class

    @property
    def sensitive(self) -> list[str]:
        if "_l" not in self.require and "confidence" not in self.require:
            return []
        return [*([] if self.class_is_open or self.class_is_public else [TARGET]), *self.hidden]

    @property
    def attributes(self) -> list[str]:
        return [name for name in self.columns if name not in (TARGET, "id", self.entity)]

    @property
    def text(self) -> str:
        attributes = self.attributes
        private = [name for name in attributes if name not in self.public and name not in self.sensitive]
        quasi = [*self.public, *([TARGET] if self.class_is_public else [])]
        given = self.options if self.method == "atp" else {"borders": "values", **self.options}  # as in the papers
        options = ", ".join(f"{name} = {value}" for name, value in given.items())
        listed = lambda names: ", ".join(identifier(name).sql("duckdb") for name in names)  # noqa: E731
        secret = f"SENSITIVE ({listed(self.sensitive)})" if self.sensitive else ""
        rest = f"INSENSITIVE ({listed(private)})" if private else ""
        rest += f" ENTITY ({listed([self.entity])})" if self.entity else ""
        picked = listed([*attributes, *([self.entity] if self.entity else [])])
        return (
            f"CREATE MODEL m AS SELECT {picked}, {TARGET} FROM {self.table} WITH ANONYMIZATION ("
            f"ALGORITHM {self.method} {f'({options})' if options else ''} REQUIRE {self.require} "
            f"QUASI IDENTIFIER ({listed(quasi)}) {secret} {rest} TARGET ({TARGET}));"
        )

    @property
    def trees(self):
        return {name: build(name, lines) for name, lines in self.hierarchies.items()}

    def run(self, engine, make_table):
        """(plan, source, policy)"""
        rows = [tuple(row[name] for name in self.columns) for row in self.rows]
        make_table(engine, self.table, self.columns, rows)
        statement = parse(self.text)[0]
        policy = statement.policy
        if self.requirements is not None:
            policy = replace(policy, requirements=self.requirements)
        source = open_source(engine, statement.query, policy)
        return method_named(self.method).model(Job(engine, source, policy, self.trees)), source, policy

    def allowed(self, rows: list[dict]) -> bool:
        """Whether the sensitive columns of a part are as diverse as is asked."""
        counted = [oracles.frequencies([row[name] for row in rows]) for name in self.sensitive]
        others = [item for item in self.asked if not isinstance(item, KAnonymity)]
        return all(meets(item, counts) for item in others for counts in counted)

    @cached_property
    def asked(self) -> tuple:
        return self.requirements or parse(self.text)[0].policy.requirements

    @property
    def k(self) -> int:
        return max((item.k for item in self.asked if isinstance(item, KAnonymity)), default=2)  # without k, too

    def naive(self) -> naive.Kadet:
        trees = self.trees
        attributes = []
        for name in self.attributes:
            words = self.columns[name]
            tree = trees.get(name)
            levels = {leaf: tree.levels_of(leaf)[1:] for leaf in tree.order} if tree else {}
            attributes.append(naive.Attribute(name, words != "TEXT", name in self.public, levels))
        options = {name: value == "true" for name, value in self.options.items() if name in ("weight_gain", "mdl")}
        whole = {name: int(value) for name, value in self.options.items() if name in ("min_leaf", "max_depth")}
        setup = naive.Setup(
            attributes,
            TARGET,
            self.k,
            self.allowed,
            self.class_is_public,
            self.options.get("form", "c45") == "c45",
            **options,
            **whole,
        )
        return naive.Kadet(self.rows, setup)


def meets(requirement, counts) -> bool:
    match requirement:
        case DistinctDiversity(l=l):
            return oracles.distinct_values(counts) >= l
        case SimpleDiversity(l=l):
            return oracles.simple_ratio(counts) >= l
        case RecursiveDiversity(c=c, l=l):
            return oracles.recursive_holds(counts, c, l)
        case EntropyDiversity(l=l):
            return oracles.entropy_reaches(counts, l)
        case ConfidenceLimit(limit=limit):
            return oracles.confidence(counts) <= limit
    raise TypeError


# -- the attack ------------------------------------------------------------------------------------------


def spans_by_definition(tree, case: Case) -> set[frozenset[int]]:
    """Everybody's span by trying every private combination: people of equal spans together, by row."""
    names = [attribute.name for attribute in tree.attributes]
    private = [name for name in names if name not in case.public]
    domains = [sorted({row[name] for row in case.rows}, key=str) for name in private]
    groups = defaultdict(set)
    for number, row in enumerate(case.rows):
        ends = frozenset(
            follow(tree, {**row, **dict(zip(private, combination, strict=True))})
            for combination in itertools.product(*domains)
        )
        groups[ends, row[TARGET] if case.class_is_public else None].add(number)
    return {frozenset(group) for group in groups.values()}


def audited_spans(engine, tree, case: Case) -> set[frozenset[int]]:
    """The groups of the audit, by row."""
    steps = Steps("r")
    span = span_expression(engine, tree, set(case.public), steps)
    query = steps.over(exp.Select(expressions=[column("id"), span]), Name(case.table).table())
    groups = defaultdict(set)
    for number, told in engine.fetch(query):
        groups[told, case.rows[number][TARGET] if case.class_is_public else None].add(number)
    return {frozenset(group) for group in groups.values()}


def is_fine(case: Case, group) -> bool:
    people = {case.rows[number][case.entity or "id"] for number in group} - {None}
    return len(people) >= case.k and case.allowed([case.rows[number] for number in group])


# -- comparing trees -------------------------------------------------------------------------------------


def assert_same(tree, node, other: naive.Node, case: Case) -> None:
    """A grown tree against the naive one, node by node; a threshold lies in the naive one's gap."""
    counted = Counter(case.rows[r][TARGET] for r in other.rows)
    assert node.counts == tuple(counted[value] for value in tree.classes)
    if other.split is None:
        assert node.split is None
        return
    name, level, cut = other.split
    assert node.split is not None
    assert tree.attributes[node.split.attribute].name == name
    children = tree.children(node)
    assert len(children) == len(other.sons)
    if cut is not None:
        assert isinstance(node.split, Cut)
        assert cut[0] < node.split.at <= cut[1]
    elif level > 0:
        assert node.split.labels == tuple(other.sons)
        for label, group in zip(node.split.labels, node.split.groups, strict=True):
            assert set(group) == {line[0] for line in case.hierarchies[name] if line[level] == label}
    else:
        rest = naive.REST if name in case.public else naive.RARE
        shown = [rest if place == node.split.others else group[0] for place, group in enumerate(node.split.groups)]
        assert shown == list(other.sons)
        assert all(len(g) == (place != node.split.others) for place, g in enumerate(node.split.groups))
    for child, son in zip(children, other.sons.values(), strict=True):
        assert_same(tree, child, son, case)


# -- random tables ---------------------------------------------------------------------------------------

REQUIRES = [
    "k = 2", "k = 2", "k = 3", "k = 3", "k = 4", "k = 6", "k = 2, simple_l = 1.5", "k = 3, distinct_l = 2",
    "recursive_l = (3, 2)", "k = 2, entropy_l = 1.5", "k = 2, confidence = 80 %", "k = 3, confidence = 85 %",
]  # fmt: skip


def random_case(seed: int) -> Case:
    rng = random.Random(seed)
    public = [f"p{n}" for n in range(rng.randint(1, 3))]
    private = [f"q{n}" for n in range(rng.choice([0, 1, 1, 2, 2]))]
    columns, domains, hierarchies = {"id": "INTEGER"}, {}, {}
    for name in rng.sample([*public, *private], len(public) + len(private)):
        columns[name] = rng.choice(["TEXT", "TEXT", "INTEGER"])
        if columns[name] == "INTEGER":
            domains[name] = rng.sample(range(-5, 40), rng.randint(2, 8 if name in public else 4))
        else:
            domains[name] = list("abcdefgh")[: rng.randint(2, 6 if name in public else 3)]
            if name in public and rng.random() < 0.5:
                hierarchies[name] = [[v, "low" if v < "c" else "mid" if v < "e" else "top", "*"] for v in "abcdefgh"]
                if rng.random() < 0.5:
                    finer = [[v, v.upper() if v < "b" else "xy"[v > "f"]] for v in "abcdefgh"]
                    hierarchies[name] = [[*f, "XY" if f[1] != "A" else "A", "*"] for f in finer]
    columns[TARGET] = "TEXT"
    classes = ["no", "yes", "so"][: rng.choice([2, 2, 3])]
    rows = []
    for number in range(rng.choice([8, 15, 25, 40, 60])):
        row = {"id": number, **{name: rng.choice(domain) for name, domain in domains.items()}}
        lean = sum(domains[name].index(row[name]) for name in domains) % len(classes)
        row[TARGET] = classes[lean] if rng.random() < 0.6 else rng.choice(classes)
        rows.append(row)
    require = rng.choice(REQUIRES)
    options = {"form": rng.choice(["id3", "c45"]), "prune": "false"}
    for name, values in (("weight_gain", ["true"]), ("mdl", ["true"]), ("min_leaf", [2, 3]), ("max_depth", [1, 2, 3])):
        if rng.random() < 0.2:
            options[name] = rng.choice(values)
    known = rng.random() < 0.25 and require.startswith("k") and "," not in require
    return Case(columns, rows, public, require, options, hierarchies, known, table=f"people_{seed}")
