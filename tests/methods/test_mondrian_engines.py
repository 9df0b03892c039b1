"""The same partition on every engine, hostile names and unusual types included."""

from __future__ import annotations

import math
import random
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import pytest
from mondrian_cases import Case, random_case, run
from test_mondrian_partition import check_against_naive, check_promises

from ppdm_sql.methods.base import Job
from ppdm_sql.methods.mondrian.method import MONDRIAN
from ppdm_sql.methods.plan import PART
from ppdm_sql.policy.policy import Policy, Roles
from ppdm_sql.requirements import DistinctDiversity, KAnonymity
from ppdm_sql.source.relation import resolve
from ppdm_sql.statements.names import Name, Word, own

K2 = (KAnonymity(2),)
# Spark takes about a second for a statement: it gets a small table, the other two get all of them.
QUICK = pytest.mark.parametrize(
    "engine", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("duckdb", "postgres")], indirect=True
)


def wide_case(seed: int = 0, rows: int = 60) -> Case:
    """Every kind at once, a hierarchy, NULLs, classes, persons and two sensitive columns."""
    rng = random.Random(seed)
    kinds = {"age": "integer", "wage": "decimal", "score": "float", "town": "text", "born": "date", "seen": "timestamp"}
    columns = {"id": "integer", **kinds, "smokes": "boolean", "ward": "text", "secret": "text", "label": "text"}
    wards = [["B2", "B", "*"], ["A1", "A", "*"], ["B1", "B", "*"], ["C", "C", "*"]]
    made = []
    for number in range(rows):
        row = {
            "id": number,
            "age": rng.choice([17, 23, 38, 41, 90, None]),
            "wage": Decimal(rng.randint(100, 900)).scaleb(-2),
            "score": rng.choice([0.1, 0.3, -0.0, 0.0, math.nan, 7.25]),
            "town": rng.choice(["Ä", "A", "a", "b", "Z", "é", "e\u0301", None]),
            "born": date(rng.randint(1940, 2004), rng.randint(1, 12), rng.randint(1, 28)),
            "seen": datetime(2024, rng.randint(1, 12), 1, rng.randint(0, 23), 30, 0, rng.choice([0, 250_000])),
            "smokes": rng.choice([True, False, None]),
            "ward": rng.choice(["A1", "B1", "B2", "C", None]),
            "secret": rng.choice(["flu", "cold", "none"]),
            "label": rng.choice(["x", "y", None]),
        }
        made.append(row)
    quasi = ["age", "wage", "score", "town", "born", "seen", "smokes", "ward"]
    return Case(columns, made, quasi, (KAnonymity(3), DistinctDiversity(2)), {"ward": wards}, ["secret"], "label")


def test_a_small_table_is_the_same_everywhere(engine):
    """Numbers, words, a hierarchy, NULLs, classes and a sensitive column, in a few levels."""
    case = wide_case(5, rows=20)
    case.quasi = ["age", "town", "ward"]
    for name in ("wage", "score", "born", "seen", "smokes"):
        del case.columns[name]
    outcome = run(engine, case)
    assert outcome.plan.classes > 1
    check_against_naive(case, case.naive(), outcome)
    check_promises(case, case.naive(), outcome)


@QUICK
def test_a_table_of_every_kind(engine):
    case = wide_case()
    outcome = run(engine, case)
    check_against_naive(case, case.naive(), outcome)
    check_promises(case, case.naive(), outcome)


@QUICK
@pytest.mark.parametrize("seed", [6, 8, 20, 22])
def test_random_tables_are_the_same_everywhere(engine, seed):
    case = random_case(seed, demanding=False)
    outcome = run(engine, case)
    check_against_naive(case, case.naive(), outcome)
    check_promises(case, case.naive(), outcome)


HOSTILE = ["(select max(x) from secret)", 'o"brien', "order", "a.b", "'; drop table x; --", "ünï côdé", "ppd", " "]


@QUICK
def test_hostile_names(engine):
    case = wide_case(1, rows=30)
    names = dict(zip(case.quasi, HOSTILE, strict=True))
    renamed = Case(
        {names.get(name, name): kind for name, kind in case.columns.items()},
        [{names.get(name, name): value for name, value in row.items()} for row in case.rows],
        [names[name] for name in case.quasi],
        K2,
        {names["ward"]: case.hierarchies["ward"]},
    )
    check_against_naive(renamed, renamed.naive(), run(engine, renamed))


# -- types only one engine has ---------------------------------------------------------------------------


def planned(engine, relation: Name, quasi: str, *, k: int = 2, rest: str = "", entity: str | None = None):
    """The printed rows of a relation of the engine's own."""
    words = lambda names: tuple(Word(name) for name in names.split())  # noqa: E731
    roles = Roles(quasi=words(quasi), insensitive=words(rest), entity=Word(entity) if entity else None)
    policy = Policy("mondrian", (KAnonymity(k),), roles)
    source = resolve(relation, engine.columns(relation), policy, ("t",))
    source = type(source)(**{**source.__dict__, "relation": relation})
    plan = MONDRIAN.table(Job(engine, source, policy, {}))
    engine.create_table(own("ppdm_test_stage"), plan.wide(), temporary=True)
    return plan, engine.fetch(plan.wide()), engine.columns(own("ppdm_test_stage"))


@pytest.mark.duckdb
def test_an_enum_leaves_as_text_and_a_collation_does_not_merge_values(duckdb_engine):
    duckdb_engine.pass_through("CREATE TYPE mood AS ENUM ('sad', 'ok', 'canary')")
    duckdb_engine.pass_through("CREATE TABLE t (a VARCHAR COLLATE NOCASE, b mood)")
    duckdb_engine.pass_through("INSERT INTO t VALUES ('x', 'sad'), ('X', 'sad'), ('x', 'ok'), ('X', 'ok'), ('y', 'ok')")
    plan, rows, columns = planned(duckdb_engine, Name("t"), "a", rest="b", k=1)
    assert Counter(row[0] for row in rows) == {"x": 2, "X": 2, "y": 1}
    assert plan.classes == 3
    assert [info.declared for info in columns[:2]] == ["VARCHAR", "VARCHAR"]


@pytest.mark.duckdb
def test_exact_values_of_wide_types(duckdb_engine):
    """Numbers that differ in a digit no double has, and moments that differ in nanoseconds."""
    duckdb_engine.pass_through("CREATE TABLE t (h HUGEINT, d DECIMAL(38, 18), n TIMESTAMP_NS, u UUID)")
    for number in range(8):
        duckdb_engine.pass_through(
            f"INSERT INTO t SELECT 170141183460469231731687303715884105720 + {number // 2}, 0.{number // 2:018d}, "
            f"make_timestamp_ns(1700000000000000000 + {number // 2}), '{UUID(int=number // 2)}'"
        )
    for name, low in (
        ("h", "170141183460469231731687303715884105720"),
        ("d", "0.000000000000000000"),
        ("n", "2023-11-14 22:13:20"),
        ("u", "00000000-0000-0000-0000-000000000000"),
    ):
        duckdb_engine.pass_through(f"CREATE OR REPLACE TABLE one AS SELECT {name} AS q FROM t")
        plan, rows, _ = planned(duckdb_engine, Name("one"), "q", k=2)
        assert plan.classes == 4, name
        assert low in {row[0] for row in rows}
        plan, rows, _ = planned(duckdb_engine, Name("one"), "q", k=4)
        assert plan.classes == (1 if name == "u" else 2), name  # words that few hold are not told apart
        assert not {row[0] for row in rows} & {low}


@pytest.mark.duckdb
def test_moments_with_a_zone_are_printed_in_utc(duckdb_engine, make_table):
    moments = [(datetime(2024, 1, day, 1, 30, tzinfo=UTC),) for day in (1, 2, 20, 21)]
    table = make_table(duckdb_engine, "t", {"seen": "TIMESTAMPTZ"}, moments)
    _, rows, _ = planned(duckdb_engine, table, "seen")
    assert {row[0] for row in rows} == {"< 2024-01-11 00:00:00+00", ">= 2024-01-11 00:00:00+00"}


def test_nan_and_infinity_lie_in_no_range_of_numbers(engine, make_table):
    values = [1.5, 2.5, math.inf, math.inf, math.nan, math.nan, None, None]
    even = make_table(engine, "even", {"q": "DOUBLE"}, [(value,) for value in [-math.inf] * 4 + values], temporary=True)
    plan, rows, _ = planned(engine, even, "q")
    printed = Counter(row[0] for row in rows)
    assert plan.classes == 5
    assert printed == {"-inf": 4, "[0, 10)": 2, "inf": 2, "nan": 2, None: 2}
    table = make_table(engine, "t", {"q": "DOUBLE"}, [(value,) for value in [-math.inf] * 2 + values], temporary=True)
    _, rows, _ = planned(engine, table, "q", k=3)
    assert set(Counter(row[0] for row in rows)) <= {"*", "< 2", ">= 2"}


@QUICK
def test_one_person_with_many_rows_is_one(engine, make_table):
    """Twelve rows of one person in a town of its own are no class: three other people go with them."""
    rows = [("lonely", "p0")] * 12 + [("town", f"p{number}") for number in range(1, 9)] + [("town", None)] * 5
    table = make_table(engine, "t", {"zip": "TEXT", "who": "TEXT"}, rows, temporary=True)
    plan, found, _ = planned(engine, table, "zip", k=4, entity="who")
    labels = [row[0] for row in found]
    assert (labels.count("{other}"), labels.count("town"), plan.classes) == (15, 10, 2)


@pytest.mark.duckdb
def test_twenty_thousand_rows(duckdb_engine):
    """Counted again by SQL over the printed text."""
    duckdb_engine.pass_through(
        "CREATE TABLE t AS SELECT (hash(i) % 90)::INT AS age, 't' || (hash(i, 1) % 40)::VARCHAR AS town, "
        "(hash(i, 2) % 7)::INT AS class, DATE '1950-01-01' + (hash(i, 3) % 20000)::INT AS born FROM range(20000) r(i)"
    )
    plan, _, _ = planned(duckdb_engine, Name("t"), "age town class born", k=8)
    found = duckdb_engine.pass_through(
        "SELECT min(n), sum(n), count(*) FROM (SELECT count(*) n FROM ppdm_test_stage GROUP BY age, town, class, born)"
    )
    smallest, rows, classes = found.rows[0]
    assert smallest >= 8
    assert (rows, classes) == (20_000, plan.classes)
    assert plan.classes > 1000
    assert plan.figures["smallest class"] == smallest
    assert PART not in plan.published
