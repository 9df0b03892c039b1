"""Random small tables for TPP, how to run the method on them, and what every release must be like."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa

from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.plan import PART, Private, TablePlan
from ppdm_sql.methods.tpp.method import TPP
from ppdm_sql.policy.policy import Inducer, Policy
from ppdm_sql.requirements import KAnonymity
from ppdm_sql.source.relation import resolve
from ppdm_sql.statements.names import Word, column, own
from tests.random_cases import ARROW, roles_of

SOURCE = own("ppdm_source")
RELEASE = own("ppdm_release")
ID = "id"
OTHER_WORDS = {"zoned": "timestamp", "real": "float"}


@dataclass
class Case:
    """A table with its policy.  Every row has an id, which is published next to it to compare rows."""

    columns: dict[str, str]
    rows: list[dict]
    quasi: list[str]
    target: str | None = "y"
    sensitive: list[str] = field(default_factory=list)
    requirements: tuple = (KAnonymity(2),)
    preserve: tuple[Inducer, ...] = ()
    options: dict = field(default_factory=dict)
    entity: str | None = None

    @property
    def policy(self) -> Policy:
        roles = roles_of([*self.columns, ID], self.quasi, self.sensitive, self.target, self.entity)
        return Policy(
            "tpp", self.requirements, roles, options={"numbers": "shifted", **self.options}, preserve=self.preserve
        )


def builder(name: str, **options) -> Inducer:
    exact = {key: Fraction(str(value)) if not isinstance(value, str) else value for key, value in options.items()}
    return Inducer(Word(name), exact or None)


def planned(engine, case: Case) -> TablePlan:
    """The plan of the case, its table loaded under the name a policy's source has."""
    kinds = {**case.columns, ID: "integer"}
    arrays = {
        name: pa.array([row.get(name, number) for number, row in enumerate(case.rows)], ARROW[kind])
        for name, kind in kinds.items()
    }
    engine.load(SOURCE, pa.table(arrays))
    infos = engine.columns(SOURCE)
    assert {info.name: info.kind for info in infos} == {
        name: Kind(OTHER_WORDS.get(kind, kind)) for name, kind in kinds.items()
    }
    source = resolve(SOURCE, infos, case.policy, ("t",))
    return TPP.table(Job(engine, source, case.policy, {}, Private({"ppdm_key0": column(ID, "r")})))


def released(engine, plan: TablePlan) -> list[dict]:
    """The rows of a plan in the order of their ids, stored as verify/ reads them."""
    engine.create_table(RELEASE, plan.wide(), temporary=True)
    infos: list[ColumnInfo] = engine.columns(RELEASE)
    rows = engine.fetch(exp_all(infos))
    names = [info.name for info in infos]
    return sorted((dict(zip(names, row, strict=True)) for row in rows), key=lambda row: row[ID])


def exp_all(infos):
    from sqlglot import exp

    return exp.Select(expressions=[column(info.name) for info in infos]).from_(RELEASE.table())


# -- tables ----------------------------------------------------------------------------------------------


def random_case(seed: object, *, kinds: str = "mixed") -> Case:
    """Numbers with many ties, few distinct values, categories, two or three classes or a response."""
    draw = random.Random(f"tpp {seed}")
    size = draw.randint(12, 60)
    makers = {
        "n": ("integer", lambda: draw.randint(0, draw.choice([3, 8, 25]))),
        "m": ("integer", lambda: draw.randint(-1000, 1000)),
        "d": ("decimal", lambda: Decimal(draw.randint(-300, 300)) / 100),
        "f": ("float", lambda: round(draw.gauss(0, 2), draw.choice([1, 2, 6]))),
        "t": ("date", lambda: date(2020, 1, 1) + timedelta(days=draw.randint(-400, 400))),
        "c": ("text", lambda: draw.choice("abcde")),
        "e": ("text", lambda: draw.choice(["x", "y", "z", "{x}", "NULL", None, "é"])),
        "b": ("boolean", lambda: draw.choice([True, False])),
    }
    numeric, words = ["n", "m", "d", "f", "t"], ["c", "e", "b"]
    pool = numeric if kinds == "numbers" else words if kinds == "categories" else numeric + words
    quasi = draw.sample(pool, draw.randint(1, min(3, len(pool))))
    made = {name: makers[name] for name in quasi}
    rows = [{name: make() for name, (_, make) in made.items()} for _ in range(size)]
    response = draw.random() < 0.3
    classes = draw.choice([2, 2, 3])
    for row in rows:
        leaning = sum(hash_of(row[name]) for name in quasi)
        noise = draw.randint(0, 5)
        row["y"] = (leaning + noise) % 40 if response else f"class {(leaning // 7 + (noise == 0)) % classes}"
        row["s"] = draw.choice(["p", "q", "r", "r"])
    names = ["regression"] if response else ["cart", "cart", "id3"]
    count = draw.choice([1, 1, 1, 2])
    preserve = tuple(
        builder(
            (name := draw.choice(names)),
            min_leaf=draw.randint(1, 3),
            **({"criterion": draw.choice(["gini", "entropy"])} if name == "cart" else {}),
        )
        for _ in range(count)
    )
    columns = {name: kind for name, (kind, _) in made.items()} | {"y": "integer" if response else "text", "s": "text"}
    options = {"absorb": True} if draw.random() < 0.2 else {}
    k = draw.choice([1, 1, 2, 3, 5])
    if count == 1 and draw.random() < 0.2:
        options |= {"on_failure": "skip", "max_leaves": Fraction(draw.randint(2, 6))}
    return Case(columns, rows, quasi, "y", ["s"], (KAnonymity(k),), preserve, options)


def hash_of(value: object) -> int:
    """A number that goes with a value, so that there is something to learn."""
    if isinstance(value, date):
        return value.toordinal() // 60
    return sum(map(ord, value)) if isinstance(value, str) else int(float(value or 0) * 3)


# -- what every release must be like ---------------------------------------------------------------------


def check_release(case: Case, plan: TablePlan, rows: list[dict]) -> None:
    """The properties of a release, told from the original and the published rows alone."""
    assert len(rows) == len(case.rows) == plan.rows
    used = {name for pattern in plan.patterns for name in columns_used(pattern["root"])}
    for old, new in zip(case.rows, rows, strict=True):
        assert old["y"] == new["y"]
        assert old["s"] == new["s"]
    for name in case.quasi:
        mapping = defaultdict(set)
        for old, new in zip(case.rows, rows, strict=True):
            mapping[old[name]].add(new[name])
        assert all(len(found) == 1 for found in mapping.values()), "the change is a function of the value"
        if name not in used:
            assert len({row[name] for row in rows}) == 1
        elif case.columns[name] in ("integer", "decimal", "float", "date"):
            shown = [mapping[value].copy().pop() for value in sorted(mapping)]
            assert shown == sorted(shown), "the order is kept"
            check_hull(mapping)
    for pattern in plan.patterns:
        check_ways(pattern["root"], list(zip(case.rows, rows, strict=True)))
    sizes = Counter(tuple(str(row[name]) for name in case.quasi) for row in rows)
    assert min(sizes.values()) == plan.figures["smallest class"] >= case.requirements[0].k
    assert len(sizes) == plan.classes == len({row[PART] for row in rows})


def columns_used(node: dict) -> set[str]:
    if "branches" not in node:
        return set()
    return {node["column"]}.union(*(columns_used(child) for child in node["branches"]))


def check_hull(mapping: dict) -> None:
    """A published number lies between the least and the greatest value that is published as it."""
    members = defaultdict(list)
    for old, (new,) in mapping.items():
        members[new].append(old)
    for new, old in members.items():
        assert min(old) <= new <= max(old)


def check_ways(node: dict, rows: list[tuple[dict, dict]]) -> None:
    """Every row goes the same way before and after, and thresholds are midpoints of both."""
    assert len(rows) == node["rows"]
    if "branches" not in node:
        return
    name = node["column"]
    if "at" in node:
        low = [pair for pair in rows if below(pair[0][name], node["at"])]
        assert low == [pair for pair in rows if below(pair[1][name], node["at"])]
        high = [pair for pair in rows if pair not in low]
        ends = [(max(pair[side][name] for pair in low), min(pair[side][name] for pair in high)) for side in (0, 1)]
        assert ends[1][0] < ends[1][1]
        assert total(*ends[0]) == total(*ends[1])
        if not isinstance(ends[0][0], date):
            assert total(*ends[0]) == 2 * Fraction(node["at"])
        sides = [low, high]
    else:
        label = lambda value: value if value is None or isinstance(value, str) else str(value).lower()  # noqa: E731
        sides = [[pair for pair in rows if label(pair[1][name]) in group] for group in node["groups"]]
        members = [{pair[0][name] for pair in side} for side in sides]
        assert sum(map(len, members)) == len(set().union(*members)), "no value is on two sides"
        assert sum(map(len, sides)) == len(rows)
    for side, child in zip(sides, node["branches"], strict=True):
        check_ways(child, side)


def below(value: object, at: str) -> bool:
    return value.isoformat() < at if isinstance(value, date) else exact(value) < Fraction(at)


def exact(value: object) -> Fraction:
    return Fraction(Decimal(repr(value))) if isinstance(value, float) else Fraction(value)


def total(low: object, high: object) -> Fraction | int:
    return low.toordinal() + high.toordinal() if isinstance(low, date) else exact(low) + exact(high)
