"""Random policies over random tables, from the text of a statement to its rows, each release measured naively."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction

import pytest
from kactus_cases import Case, meets, random_case

from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import RequirementBreached
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.registry import table_method
from ppdm_sql.policy.grammar import parse
from ppdm_sql.requirements import Closeness, EntropyDiversity, RecursiveDiversity, Requirement, SimpleDiversity
from ppdm_sql.session import Session
from ppdm_sql.source.relation import open_source
from ppdm_sql.statements.names import Name
from ppdm_sql.watching import silent
from tests.random_cases import arrow_table
from tests.sizes import seeds

pytestmark = pytest.mark.duckdb
POLICIES = 10
SECRET = 'the "secret"'


@dataclass(frozen=True)
class Asked:
    """A statement's text, and what has to be true of its rows."""

    text: str
    k: int
    required: tuple[Requirement, ...]
    method: str


def table_of(seed: int) -> Case:
    """A random table with a sensitive column that is neither rare nor evenly spread."""
    case = random_case(1000 + seed)
    rng = random.Random(f"secret {seed}")
    case.columns |= {SECRET: "text"}
    for row in case.rows:
        row[SECRET] = rng.choice(["flu", "flu", "cold", "gout", None])
    return case


def asked(case: Case, name: str, seed: int) -> Asked:
    """A policy over the table: any k, none, one or two other requirements, any options of the method."""
    rng = random.Random(f"policy {seed}")
    method = ("kactus", "kactus2")[seed % 2]
    k = rng.choice([2, 3, 5, 8])
    kinds = rng.choice([(), ("simple",), ("simple",), ("recursive",), ("entropy",), ("t",), ("simple", "t")])
    some = {
        "simple": SimpleDiversity(Fraction(rng.choice([11, 13, 15, 18]), 10)),
        "recursive": RecursiveDiversity(Fraction(rng.choice([1, 2, 4])), rng.choice([2, 2, 3])),
        "entropy": EntropyDiversity(Fraction(rng.choice([12, 15, 20]), 10)),
        "t": Closeness(Fraction(rng.choice([2, 3, 5, 8]), 10), "equal"),
    }
    words = {
        "simple": lambda one: f"simple_l = {float(one.l)}",
        "recursive": lambda one: f"recursive_l = ({one.c}, {one.l})",
        "entropy": lambda one: f"entropy_l = {float(one.l)}",
        "t": lambda one: f"t = {float(one.t)} equal",
    }
    required = ", ".join([f"k = {k}", *(words[kind](some[kind]) for kind in kinds)])
    quasi = [one for one in case.quasi if rng.random() < 0.8] or case.quasi[:1]
    quoted = ", ".join('"' + one.replace('"', '""') + '"' for one in ["id", *quasi, case.target, SECRET])
    text = (
        f"CREATE OR REPLACE TABLE {name}_open AS SELECT {quoted} FROM {name} WITH ANONYMIZATION ("
        f"ALGORITHM {method} ({options(rng, method)}) REQUIRE {required} QUASI IDENTIFIER ({', '.join(quasi)}) "
        f'SENSITIVE ("the ""secret""") TARGET ({case.target}) INSENSITIVE (id) SUPERSEDES ALL SEED {seed})'
    )
    return Asked(text, k, tuple(some[kind] for kind in kinds), method)


def options(rng: random.Random, method: str) -> str:
    chosen = {"min_leaf": rng.choice(["k", "2", "5"]), "prune": rng.choice(["true", "false", "false"])}
    for switch in ("pool_non_complying", "compensate_at_root", "join_existing_group"):
        chosen[switch] = rng.choice(["true", "false"])
    if method == "kactus2":
        chosen |= {"swap_threshold": rng.choice(["0", "0.3", "0.5", "1"]), "strict_swap": rng.choice(["true", "false"])}
    return ", ".join(f"{name} = {value}" for name, value in chosen.items())


def check(case: Case, policy: Asked, names: list[str], rows: list[tuple], dropped: int) -> None:
    """By the definitions, from the published rows: what was asked, and that nobody was lost or doubled."""
    published = [dict(zip(names, row, strict=True)) for row in rows]
    quasi = [name for name in names if name in case.quasi]
    classes: dict[tuple, list] = defaultdict(list)
    for row in published:
        classes[tuple(row[name] for name in quasi)].append(row[SECRET])
    everybody = [row[SECRET] for row in published]
    for held in classes.values():
        assert len(held) >= policy.k
        for requirement in policy.required:
            assert meets(requirement, held, everybody)
    true = {row["id"]: (row[SECRET], row[case.target]) for row in case.rows}
    assert len({row["id"] for row in published}) == len(published) == len(case.rows) - dropped
    assert all(true[row["id"]] == (row[SECRET], row[case.target]) for row in published)
    assert dropped < policy.k


def stored(engine: DuckDBEngine, case: Case, name: str) -> None:
    engine.load(Name(name), arrow_table(case.columns, case.rows), temporary=False)


def planned(engine: DuckDBEngine, policy: Asked) -> tuple[list[str], list[tuple], int]:
    """The statement's rows, without a ledger: parsed, resolved against the table, planned, run."""
    statement = parse(policy.text, dialect=engine.dialect)[0]
    source = open_source(engine, statement.query, statement.policy, statement.place)
    method = table_method(statement.policy.algorithm, statement.place)
    plan = method(Job(engine, source, statement.policy, {}))
    return list(plan.published), [row[: len(plan.published)] for row in engine.fetch(plan.wide())], plan.suppressed_rows


@seeds(small=2, full=9, nightly=36, block=9)
def test_random_policies(tmp_path, seeds):
    """Ten policies over each table; the first of each table is published by a session, with its ledger and its judge."""
    told: Counter = Counter()
    with DuckDBEngine.open(":memory:") as engine:
        session = Session(engine, out=tmp_path, show_values=False, progress=silent)
        for number in seeds:
            case, name = table_of(number), f"t{number}"
            stored(engine, case, name)
            for place in range(POLICIES):
                policy = asked(case, name, number * POLICIES + place)
                told["asked", policy.method] += 1
                try:
                    if place:
                        names, rows, dropped = planned(engine, policy)
                    else:
                        release = session.publish(policy.text)
                        names = [info.name for info in engine.columns(Name(release.name))]
                        rows = engine.fetch(release.query)
                        dropped = len(case.rows) - len(rows)
                except RequirementBreached:  # the whole table does not meet it
                    continue
                check(case, policy, names, rows, dropped)
                told["published", policy.method] += 1
                told.update(type(one).__name__ for one in policy.required)
    for method in ("kactus", "kactus2"):
        assert told["asked", method] == len(seeds) * POLICIES / 2
        assert told["published", method] >= 0.6 * told["asked", method]
    for requirement in (SimpleDiversity, RecursiveDiversity, EntropyDiversity, Closeness):
        assert told[requirement.__name__] >= len(seeds) / 3
