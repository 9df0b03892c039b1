"""Random small tables for Mondrian, and how to run the method on them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import oracles
import pyarrow as pa
from naive_mondrian import Table

from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.mondrian.method import MONDRIAN
from ppdm_sql.methods.plan import ENTITY, PART, Private, TablePlan
from ppdm_sql.policy.policy import Policy, Roles
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
from ppdm_sql.source.relation import resolve
from ppdm_sql.statements.names import Word, column, own

SOURCE = own("ppdm_source")
ARROW = {
    "integer": pa.int64(),
    "decimal": pa.decimal128(12, 2),
    "float": pa.float64(),
    "text": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}


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

    @property
    def k(self):
        return max((r.k for r in self.requirements if isinstance(r, KAnonymity)), default=1)

    @property
    def trees(self) -> dict[str, Hierarchy]:
        return {name: build(name, lines) for name, lines in self.hierarchies.items()}

    @property
    def policy(self) -> Policy:
        given = {*self.quasi, *self.sensitive, self.target, self.entity}
        rest = [name for name in self.columns if name not in given]
        exact = lambda names: tuple(Word(name, quoted=True) for name in names)  # noqa: E731
        roles = Roles(
            quasi=exact(self.quasi),
            sensitive=exact(self.sensitive),
            insensitive=exact(rest),
            target=Word(self.target, quoted=True) if self.target else None,
            entity=Word(self.entity, quoted=True) if self.entity else None,
        )
        return Policy("mondrian", self.requirements, roles, options=self.options)

    def naive(self) -> Table:
        trees = {name: {leaf: tree.levels_of(leaf) for leaf in tree.order} for name, tree in self.trees.items()}
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
            allowed=lambda rows: all(meets(r, self, rows, name) for name in self.sensitive for r in demanding),
            tie=[*([self.target] if self.target else []), *(self.sensitive if demanding else [])],
        )
        return table


NUMERIC = ("integer", "decimal", "float", "date", "timestamp")


def meets(requirement, case, rows, name):
    """One requirement on one set of rows, by its definition."""
    counts = oracles.frequencies([row[name] for row in rows])
    match requirement:
        case DistinctDiversity(l=l):
            return oracles.distinct_values(counts) >= l
        case SimpleDiversity(l=l):
            return oracles.simple_ratio(counts) >= l
        case RecursiveDiversity(c=c, l=l):
            return oracles.recursive_holds(counts, c, l)
        case EntropyDiversity(l=l):
            return oracles.entropy_reaches(counts, l)
        case Closeness(t=t):
            inside = {row[case.identity] for row in rows}
            marked = [{**row, "inside": row[case.identity] in inside} for row in case.rows]
            kind = requirement.distance or ("ordered" if case.columns[name] in NUMERIC else "equal")
            far = oracles.class_distances(marked, ["inside"], name, kind)
            return next(d for key, d in far.items() if key[0] in ("true", True, "True")) <= t
    raise TypeError


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
    schema = pa.schema([(name, ARROW[kind]) for name, kind in case.columns.items()])
    arrays = [pa.array([row[f.name] for row in case.rows], f.type) for f in schema]
    engine.load(SOURCE, pa.Table.from_arrays(arrays, schema=schema))
    infos = [ColumnInfo(name, Kind(kind), kind) for name, kind in case.columns.items()]
    source = resolve(SOURCE, infos, case.policy, ("t",))
    private = Private({"ppdm_key0": column(case.identity, "r")})
    plan = MONDRIAN.table(Job(engine, source, case.policy, case.trees, private))
    names = [*plan.published, PART, *([ENTITY] if case.entity else []), "ppdm_key0"]
    return Outcome(plan, [dict(zip(names, row, strict=True)) for row in engine.fetch(plan.wide())])


# -- random tables ---------------------------------------------------------------------------------------


def values_of(kind: str, rng: random.Random):
    """A small domain of a kind."""
    many = rng.choice([2, 3, 5, 9, 20])
    match kind:
        case "integer":
            wide = rng.choice([10, 100, 10_000])
            return [rng.randint(-wide // 3, wide) for _ in range(many)]
        case "decimal":
            return [Decimal(rng.randint(-3000, 9000)).scaleb(-2) for _ in range(many)]
        case "float":
            return [rng.choice([0.1, 0.5, 1.0, 3.7]) * rng.randint(-9, 99) for _ in range(many)]
        case "text":
            words = ["a", "b", "B", "c,d", "{x}", "", " ", "*", "...", "é", "z" * 5, "Ω", "a\\", "none", "NULL"]
            return rng.sample(words, min(many, len(words)))
        case "boolean":
            return [True, False]
        case "date":
            start = date(1950, 1, 1) + timedelta(days=rng.randint(0, 20_000))
            return [start + timedelta(days=rng.randint(0, rng.choice([5, 60, 900, 20_000]))) for _ in range(many)]
        case "timestamp":
            start = datetime(1999, 12, 31) + timedelta(seconds=rng.randint(0, 10**8))
            span = rng.choice([1, 3600, 10**7])
            return [start + timedelta(microseconds=rng.randint(0, span * 10**6)) for _ in range(many)]
    raise ValueError(kind)


def hierarchy_of(kind: str, domain: list, rng: random.Random) -> list[list[str]]:
    """A random tree over the values of a domain, one or two levels below the root."""
    leaves = list(dict.fromkeys(domain))
    middle = rng.randint(1, max(1, len(leaves)))
    lines = []
    for leaf in leaves:
        group = rng.randrange(middle)
        lines.append([str(leaf), f"g{group}", f"h{group % 2}", "*"])
    return lines if rng.random() < 0.5 else [[leaf, low, root] for leaf, low, _, root in lines]


def random_case(seed: int, *, demanding: bool = True) -> Case:
    rng = random.Random(seed)
    columns, domains, trees = {"id": "integer"}, {}, {}
    for number in range(rng.choice([1, 2, 2, 3, 4])):
        kind = rng.choice(["integer", "integer", "decimal", "float", "text", "text", "boolean", "date", "timestamp"])
        name = f"q{number}"
        columns[name], domains[name] = kind, values_of(kind, rng)
        if rng.random() < 0.35 and kind in ("integer", "text") and "*" not in domains[name]:
            trees[name] = hierarchy_of(kind, domains[name], rng)
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
        for name, domain in domains.items():
            row[name] = None if rng.random() < nulls[name] else rng.choice(domain)
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
    )
