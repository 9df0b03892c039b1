"""The statements of sql/checks/ return exactly the classes that break a requirement."""

from __future__ import annotations

import math
from fractions import Fraction

import duckdb
import pytest

from ppdm_sql import resources
from ppdm_sql.checks.breaches import breach_query, breaches
from ppdm_sql.checks.measure import Sensitive
from ppdm_sql.checks.part_ratios import ratio_limit
from ppdm_sql.engines.base import Kind
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import PolicyError
from ppdm_sql.requirements import (
    About,
    AverageRisk,
    BetaLikeness,
    Closeness,
    ConfidenceLimit,
    DeltaDisclosure,
    DistinctDiversity,
    EnhancedLikeness,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    SimpleDiversity,
    UniqueShare,
)
from ppdm_sql.statements.names import Name
from tests import oracles
from tests.checks.tables import VALUES, boundary_requirements, random_data, verdicts
from tests.sizes import seeds

SHARES = {"duckdb": 1, "postgres": 2, "spark": 8}  # every table, every second, every eighth
KINDS = {"spark": tuple(kind for kind in VALUES if kind != "TIMESTAMP")}


def printed(value, kind):
    """A value as the oracle knows its class; FLOAT columns come back as their text."""
    if value is None:
        return None
    return oracles.printed(float(value) if kind is Kind.FLOAT else value)


@seeds(start=5000, small=2, full=8, nightly=80)
def test_breaches_are_those_of_the_definitions(engine, make_table, seeds):
    for seed in seeds[:: SHARES[engine.dialect]]:
        data = random_data(seed, KINDS.get(engine.dialect, tuple(VALUES)))
        relation = make_table(engine, f"random_{seed}", data.columns, data.rows)
        info = {column.name: column for column in engine.columns(relation)}
        quasi = [info[name] for name in data.quasi]
        for column, distance in ((data.words, "hierarchical"), (data.numbers, "ordered")):
            for requirement in boundary_requirements(data, column, distance):
                found = breaches(engine, relation, requirement, quasi=quasi, sensitive=data.sensitive(info)[column])
                if isinstance(requirement, Closeness) and requirement.distance is None:
                    requirement = Closeness(requirement.t, distance)
                compare(data, column, requirement, found, quasi, seed)


def compare(data, column, requirement, found, quasi, seed, *, by_entity=False):
    expected = verdicts(data, column, requirement, by_entity=by_entity)
    keys = [tuple(printed(value, info.kind) for value, info in zip(row, quasi, strict=False)) for row in found]
    assert len(keys) == len(set(keys)), (seed, str(requirement))
    assert set(keys) == {key for key, holds in expected.items() if not holds}, (seed, column, str(requirement))
    for key, row in zip(keys, found, strict=True):
        assert figures_hold(data, column, requirement, key, row[len(quasi) :]), (seed, column, str(requirement))


def figures_hold(data, column, requirement, key, figures):
    """Whether the figures behind a class are the class's own."""
    size = len(data.classes[key])
    counts = data.counts(column)[key] if column else []
    match requirement:
        case KAnonymity() if len(figures) == 2:
            persons = oracles.entity_counts(data.mappings, data.quasi, data.entity)
            return figures == (persons[key], size)
        case KAnonymity():
            return figures == (size,)
        case DistinctDiversity():
            return figures == (size, len(counts))
        case SimpleDiversity() | ConfidenceLimit():
            return figures == (size, sum(counts), max(counts, default=0))
        case RecursiveDiversity(l=l):
            return figures == (size, max(counts, default=0), sum(counts[l - 1 :]))
        case EntropyDiversity() if not counts:
            return figures == (size, None, None)
        case EntropyDiversity():
            listed = sorted(map(int, figures[1].split(",")), reverse=True)
            exact = math.log(sum(counts)) - sum(n * math.log(n) for n in counts) / sum(counts)
            return figures[0] == size and listed == counts and math.isclose(figures[2], exact, abs_tol=1e-9)
        case Closeness() if not counts:
            return (figures[0], figures[2]) == (size, 0)
        case Closeness(distance=distance):
            return (
                figures[0] == size
                and Fraction(int(figures[1]), int(figures[2])) == data.distances(column, distance)[key]
            )


@seeds(start=6000, small=2, full=8, nightly=80)
def test_breaches_by_person(engine, make_table, seeds):
    for seed in seeds[:: SHARES[engine.dialect]]:
        data = random_data(seed, KINDS.get(engine.dialect, tuple(VALUES)))
        relation = make_table(engine, f"random_{seed}", data.columns, data.rows)
        info = {column.name: column for column in engine.columns(relation)}
        quasi = [info[name] for name in data.quasi]
        k = oracles.entity_k(data.mappings, data.quasi, data.entity)
        for requirement in (KAnonymity(max(1, k)), KAnonymity(k + 1), KAnonymity(k + 3)):
            found = breaches(engine, relation, requirement, quasi=quasi, entity=info[data.entity])
            compare(data, None, requirement, found, quasi, seed, by_entity=True)


def test_a_class_in_doubt_is_decided_exactly(engine, make_table):
    rows = [("x", value) for value, count in enumerate([4, 1, 1, 1, 1]) for _ in range(count)]
    relation = make_table(engine, "t", {"a": "TEXT", "s": "INTEGER"}, rows)
    info = {column.name: column for column in engine.columns(relation)}
    for l, broken in ((Fraction(4), 0), (Fraction(4 * 10**9 + 1, 10**9), 1)):
        found = breaches(engine, relation, EntropyDiversity(l), quasi=[info["a"]], sensitive=Sensitive(info["s"]))
        assert len(found) == broken


def test_a_requirement_about_values_needs_a_sensitive_column(duckdb_engine):
    with pytest.raises(PolicyError, match="needs a SENSITIVE column"):
        breaches(duckdb_engine, Name("t"), SimpleDiversity(Fraction(2)), quasi=[])


def test_a_collation_does_not_join_what_is_printed_apart():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT * FROM (VALUES ('Ann'), ('ANN'), ('ann')) AS v(a)")
    connection.execute("ALTER TABLE t ALTER a TYPE VARCHAR COLLATE NOCASE")
    engine = DuckDBEngine(connection)
    assert len(breaches(engine, Name("t"), KAnonymity(2), quasi=engine.columns(Name("t")))) == 3


def test_the_query_can_be_taken_elsewhere(duckdb_engine, make_table):
    """As text with parameters, which is what a dbt test or an audit wants."""
    relation = make_table(duckdb_engine, "people", {"zip": "TEXT", "illness": "TEXT"}, [("1", "flu"), ("1", "flu")])
    info = {column.name: column for column in duckdb_engine.columns(relation)}
    query, params = breach_query(
        duckdb_engine,
        relation,
        SimpleDiversity(Fraction(5, 2)),
        quasi=[info["zip"]],
        sensitive=Sensitive(info["illness"]),
    )
    assert params == {"l_numerator": 5, "l_denominator": 2, "null_is_value": 0}
    text = query.sql("duckdb", comments=False)
    assert duckdb_engine._connection.execute(text, params).fetchall() == [("1", 2, 2, 2)]


def test_a_requirement_about_sizes_has_no_parameter_about_values(duckdb_engine, make_table):
    relation = make_table(duckdb_engine, "t", {"zip": "TEXT", "illness": "TEXT"}, [("1", "flu"), ("2", None)])
    info = {column.name: column for column in duckdb_engine.columns(relation)}
    asked = {"quasi": [info["zip"]], "sensitive": Sensitive(info["illness"])}
    assert breach_query(duckdb_engine, relation, KAnonymity(2), **asked)[1] == {"k": 2}
    assert len(breaches(duckdb_engine, relation, KAnonymity(2), **asked)) == 2


# -- as they stand ---------------------------------------------------------------------------------------

E_LIMIT = dict(zip(("limit_numerator", "limit_denominator"), ratio_limit(Fraction(1)).as_integer_ratio(), strict=True))
STANDING = {
    "undersized_classes": (KAnonymity(3), {"k": 3}),
    "distinct_diversity": (DistinctDiversity(3), {"l": 3}),
    "simple_diversity": (SimpleDiversity(Fraction(5, 2)), {"l_numerator": 5, "l_denominator": 2}),
    "confidence_limit": (ConfidenceLimit(Fraction(1, 2)), {"limit_numerator": 1, "limit_denominator": 2}),
    "recursive_diversity": (
        RecursiveDiversity(Fraction(3, 2), 2),
        {"c_numerator": 3, "c_denominator": 2, "l": 2},
    ),
    "entropy_diversity": (
        EntropyDiversity(Fraction(2)),
        {"l_numerator": 2, "l_denominator": 1, "tolerance": 1e-9},
    ),
    "beta_likeness": (BetaLikeness(Fraction(1, 2)), {"beta_numerator": 1, "beta_denominator": 2}),
    "enhanced_beta_likeness": (
        EnhancedLikeness(Fraction(1, 2)),
        {"beta_numerator": 1, "beta_denominator": 2, "tolerance": 1e-9},
    ),
    "delta_disclosure": (DeltaDisclosure(Fraction(1)), {name: str(number) for name, number in E_LIMIT.items()}),
    "average_risk": (AverageRisk(Fraction(1, 8)), {"limit_numerator": 1, "limit_denominator": 8}),
    "unique_share": (UniqueShare(Fraction(1, 100)), {"limit_numerator": 1, "limit_denominator": 100}),
    "closeness_equal": (Closeness(Fraction(1, 4), "equal"), {"t_numerator": 1, "t_denominator": 4}),
    "closeness_ordered": (Closeness(Fraction(1, 4), "ordered"), {"t_numerator": 1, "t_denominator": 4}),
    "closeness_hierarchical": (Closeness(Fraction(1, 4), "hierarchical"), {"t_numerator": 1, "t_denominator": 4}),
}


def test_every_check_is_tried_as_it_stands():
    files = {path.stem for path in (resources.folder("sql") / "checks").glob("*.sql")}
    assert files == {*STANDING, "undersized_classes_by_entity"}


@pytest.mark.parametrize("null_is_value", [0, 1])
@pytest.mark.parametrize("name", STANDING)
def test_a_file_runs_as_it_stands_on_a_table_of_its_names(name, null_is_value):
    """The text of the file, untouched, on relations called source and hierarchy."""
    requirement, params = STANDING[name]
    if requirement.about is About.VALUES:
        params = {**params, "null_is_value": null_is_value}
    connection = duckdb.connect()
    connection.execute("CREATE TABLE source (quasi VARCHAR, sensitive INTEGER)")
    connection.execute("CREATE TABLE hierarchy (ppdm_value INTEGER, ppdm_level INTEGER, ppdm_node VARCHAR)")
    rows = [(f"q{row % 7}" if row % 7 else None, row * row % 5 or None) for row in range(60)]
    rows += [("one", 1), ("two", 1), ("two", 4), ("none", None), ("none", None), ("none", None)]
    connection.executemany("INSERT INTO source VALUES (?, ?)", rows)
    ways = {value: (str(value), "low" if value < 3 else "high", "*") for value in range(1, 5)}
    lines = [(value, level, way[level]) for value, way in ways.items() for level in (0, 1)]
    connection.executemany("INSERT INTO hierarchy VALUES (?, ?, ?)", [*lines, (None, 0, "none"), (None, 1, "none")])
    found = {row[0] for row in connection.execute(resources.sql_text(f"checks/{name}"), params).fetchall()}
    counting = frozenset({"s"}) if null_is_value else frozenset()
    assert found == _broken(rows, requirement, ways, counting)
    assert found


def _broken(rows, requirement, ways, counting):
    from tests.checks.tables import Data

    by_text = {str(value): way for value, way in ways.items()}
    data = Data({"q": "TEXT", "s": "INTEGER"}, rows, ["q"], "s", "s", "s", by_text, counting)
    return {key[0] for key, holds in verdicts(data, "s", requirement).items() if not holds}


def test_a_value_the_hierarchy_does_not_know_is_a_breach():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE source AS SELECT 'a' AS quasi, 'flu' AS sensitive UNION ALL SELECT 'b', 'odd'")
    connection.execute("CREATE TABLE hierarchy AS SELECT 'flu' AS ppdm_value, 0 AS ppdm_level, 'flu' AS ppdm_node")
    text = resources.sql_text("checks/closeness_hierarchical")
    found = connection.execute(text, {"t_numerator": 1, "t_denominator": 1, "null_is_value": 0}).fetchall()
    assert [row[0] for row in found] == ["b"]


def test_the_tolerance_of_the_entropy_statement():
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE source AS SELECT 'a' AS quasi, range // 4 * (range - 3) AS sensitive FROM range(8)"
    )
    assert connection.execute("SELECT COUNT(*) FROM source GROUP BY sensitive").fetchall() != []
    text = resources.sql_text("checks/entropy_diversity")
    at = {"l_numerator": 4, "l_denominator": 1, "null_is_value": 0}
    assert connection.execute(text, {**at, "tolerance": 1e-9}).fetchall() == []
    ((_, size, counts, entropy),) = connection.execute(text, {**at, "tolerance": -1e-9}).fetchall()
    assert size == 8
    assert sorted(counts.split(",")) == ["1", "1", "1", "1", "4"]
    assert math.isclose(entropy, math.log(4))


def test_the_l_of_the_entropy_statement_is_a_fraction():
    """2, 1, 1: an entropy of ln(2.83).  NULL alone: no value, and a breach of every l."""
    connection = duckdb.connect()
    rows = "('a', 1), ('a', 1), ('a', 2), ('a', 3), ('b', NULL), ('b', NULL)"
    connection.execute(f"CREATE TABLE source AS SELECT * FROM (VALUES {rows}) AS v(quasi, sensitive)")
    text = resources.sql_text("checks/entropy_diversity")
    for over, under, broken in ((5, 2, ["b"]), (28, 10, ["b"]), (29, 10, ["a", "b"]), (1, 1, ["b"])):
        params = {"l_numerator": over, "l_denominator": under, "tolerance": 1e-9, "null_is_value": 0}
        assert sorted(row[0] for row in connection.execute(text, params).fetchall()) == broken


def test_the_figures_of_the_ordered_statement():
    """The known values are 1, 2 and 1: a has both, b one of them and a NULL, c nothing but NULL.  The table: 2/3 up to 1."""
    connection = duckdb.connect()
    rows = "('a', 1), ('a', 2), ('b', 1), ('b', NULL), ('c', NULL), ('c', NULL)"
    connection.execute(f"CREATE TABLE source AS SELECT * FROM (VALUES {rows}) AS v(quasi, sensitive)")
    text = resources.sql_text("checks/closeness_ordered")
    params = {"t_numerator": 0, "t_denominator": 1, "null_is_value": 0}
    found = sorted(tuple(row) for row in connection.execute(text, params).fetchall())
    assert found == [("a", 2, 1, 6), ("b", 2, 1, 3), ("c", 2, 0, 0)]
