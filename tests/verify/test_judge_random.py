"""judge() says what the definitions say, on random tables and with every bound at, below and above the mark."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from fractions import Fraction

import duckdb
import pytest

from ppdm_sql.engines.base import Kind
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.requirements import (
    Closeness,
    ConfidenceLimit,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    SimpleDiversity,
)
from ppdm_sql.verify.relation import SensitiveColumn, judge, null_matches_all_k
from tests import oracles
from tests.sizes import seeds
from tests.verify.random_tables import RandomTable, random_table

KINDS = {"INTEGER": Kind.INTEGER, "BIGINT": Kind.INTEGER, "DOUBLE": Kind.FLOAT, "DATE": Kind.DATE}


@dataclass(frozen=True)
class Expected:
    """Per class, whether it breaks the requirement and its figure."""

    breaks: dict[object, bool]
    achieved: object  # None: not compared


@pytest.mark.duckdb
@seeds(small=10, full=50, nightly=500, block=20)
def test_the_judge_says_what_the_definitions_say(duckdb_engine, make_table, seeds):
    for seed in seeds:
        compare(duckdb_engine, make_table, seed)


@pytest.mark.postgres
@seeds(small=4, full=20, nightly=60, block=20)
def test_the_judge_says_it_on_postgresql_too(postgres_engine, make_table, seeds):
    for seed in seeds:
        compare(postgres_engine, make_table, seed, name=f"random_{seed}")


@pytest.mark.spark
def test_the_judge_says_it_on_spark_too(spark_engine, make_table):
    for seed in (3, 11, 14):
        compare(spark_engine, make_table, seed, name=f"random_{seed}", temporary=True)


@pytest.mark.duckdb
@pytest.mark.parametrize("settings", [{"threads": 1}, {"threads": 2}, {"optimizer": False}], ids=str)
def test_the_judge_says_it_however_the_engine_runs_it(make_table, settings):
    """An optimizer that is wrong about a statement is found by switching it off."""
    connection = duckdb.connect(":memory:", config={"threads": settings.get("threads", 2)})
    if not settings.get("optimizer", True):
        connection.execute("PRAGMA disable_optimizer")
    for seed in range(500, 504):
        compare(DuckDBEngine(connection), make_table, seed)


def compare(engine, make_table, seed, name="t", temporary=False):
    table = random_table(seed)
    relation = make_table(engine, name, table.columns, table.rows, temporary=temporary)
    try:
        for sensitive, entity, asked in cases(table, random.Random(seed)):
            judgement = judge(
                engine, relation, quasi=table.quasi, sensitive=sensitive, requirements=list(asked), entity=entity
            )
            assert len(judgement.findings) == len(asked)
            for finding in judgement.findings:
                check(judgement, finding, table, asked[finding.requirement], f"seed {seed}: {finding.requirement}")
        assert null_matches_all_k(engine, relation, table.quasi) == oracles.null_matches_all_k(
            table.mappings, table.quasi
        )
    finally:
        engine.drop_table(relation, temporary=temporary)


def check(judgement, finding, table, expected, told):
    held = oracles.classes(table.mappings, table.quasi)
    broken = [key for key, breaks in expected.breaks.items() if breaks]
    assert (judgement.rows, judgement.classes) == (len(table.rows), len(held)), told
    assert finding.holds == (not broken), told
    assert finding.breaching_classes == len(broken), told
    assert finding.breaching_rows == sum(len(held[key]) for key in broken), told
    if isinstance(expected.achieved, float):
        assert math.isclose(finding.achieved, expected.achieved, rel_tol=1e-9), told
        assert finding.achieved <= expected.achieved * (1 + 1e-12), told
    else:
        assert finding.achieved == expected.achieved, told


# -- what the definitions say ----------------------------------------------------------------------------


def cases(table: RandomTable, rng: random.Random):
    """(sensitive columns, entity, requirement -> expected): every model, near the bound of this very table."""
    rows = table.mappings
    held = oracles.classes(rows, table.quasi)
    entities = oracles.entity_counts(rows, table.quasi, table.entity)
    yield [], table.entity, class_size_case(entities, rng)

    def far_of(name, distance, hierarchy=None):
        counting = name in table.nulls_as_value
        return oracles.class_distances(rows, table.quasi, name, distance, hierarchy, nulls_as_value=counting)

    words = SensitiveColumn(table.words, Kind.TEXT, nulls_as_value=table.words in table.nulls_as_value)
    kind = KINDS.get(table.columns[table.numbers], Kind.DECIMAL)
    numbers = SensitiveColumn(table.numbers, kind, nulls_as_value=table.numbers in table.nulls_as_value)
    column = rng.choice((words, numbers))
    counts = {
        key: oracles.frequencies((row[column.name] for row in members), nulls_as_value=column.nulls_as_value)
        for key, members in held.items()
    }
    asked = class_size_case({key: len(members) for key, members in held.items()}, rng)
    asked |= dict(diversity_cases(counts, rng))
    asked |= closeness_case(far_of(column.name, "equal"), "equal", rng)
    yield [column], None, asked

    far = far_of(table.numbers, "ordered")
    yield [numbers], None, closeness_case(far, rng.choice(("ordered", None)), rng)

    far = far_of(table.words, "hierarchical", table.hierarchy)
    tree = SensitiveColumn(table.words, Kind.TEXT, table.hierarchy, nulls_as_value=words.nulls_as_value)
    yield [tree], None, closeness_case(far, rng.choice(("hierarchical", None)), rng)


def class_size_case(counts, rng):
    k = max(1, min(counts.values()) + rng.choice((0, 1)))
    return {KAnonymity(k): Expected({key: n < k for key, n in counts.items()}, min(counts.values()))}


def diversity_cases(counts, rng):
    least = min(oracles.distinct_values(c) for c in counts.values())
    l = least + rng.choice((0, 1))
    yield DistinctDiversity(l), Expected({key: oracles.distinct_values(c) < l for key, c in counts.items()}, least)

    ratios = {key: oracles.simple_ratio(c) for key, c in counts.items()}
    l = near(rng.choice(list(ratios.values())), rng)
    breaks = {key: r < l or not counts[key] for key, r in ratios.items()}
    yield SimpleDiversity(l), Expected(breaks, min(ratios.values()))

    shares = {key: oracles.confidence(c) for key, c in counts.items()}
    limit = near(rng.choice(list(shares.values())), rng)
    yield ConfidenceLimit(limit), Expected({key: s > limit for key, s in shares.items()}, greatest(shares))

    l = rng.choice((1, 2, 2, 3))
    tails = {key: oracles.recursive_ratio(c, l) for key, c in counts.items()}
    c = near(rng.choice([t for t in tails.values() if t is not None] or [Fraction(1)]), rng)
    worst = None if None in tails.values() else max(tails.values())  # without a known value there is no tail
    breaks = {key: not oracles.recursive_holds(n, c, l) for key, n in counts.items()}
    yield RecursiveDiversity(c, l), Expected(breaks, worst)

    l = near(Fraction(max(1, rng.choice([len(n) for n in counts.values()]))), rng)
    effective = min(math.exp(entropy(n)) if n else 0.0 for n in counts.values())
    breaks = {key: not oracles.entropy_reaches(n, l) for key, n in counts.items()}
    yield EntropyDiversity(l), Expected(breaks, effective)


def closeness_case(found, distance, rng):
    t = near(rng.choice(list(found.values())), rng)
    return {Closeness(t, distance): Expected({key: far > t for key, far in found.items()}, greatest(found))}


def greatest(found):
    """The worst figure; None where a class has no known value, which is worse than every figure."""
    return None if math.inf in found.values() else max(found.values())


def near(number: Fraction | float, rng: random.Random) -> Fraction:
    """The bound itself, or a hair next to it; something below 1 where it is infinite."""
    if number == math.inf:
        return Fraction(rng.randint(1, 9), 10)
    return max(Fraction(0), number + rng.choice((0, 0, 1, -1)) * Fraction(1, 10**12)) or Fraction(1, 10**12)


def entropy(counts):
    n = sum(counts)
    return math.fsum(-count / n * math.log(count / n) for count in counts)
