"""Where counting goes wrong: nothing to count, look-alikes, lossy types, wrong calls, changing data, wide numbers."""

from __future__ import annotations

import hashlib
import random
from fractions import Fraction
from pathlib import Path

import pytest

from ppdm_sql.engines.base import Kind
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import EngineError, PolicyError, PpdmError
from ppdm_sql.requirements import (
    Closeness,
    ConfidenceLimit,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    SimpleDiversity,
)
from ppdm_sql.statements.load import parse_statement
from ppdm_sql.statements.names import Name
from ppdm_sql.verify.relation import Judgement, SensitiveColumn, judge, measuring_statements, null_matches_all_k
from tests import oracles
from tests.sizes import each_seed

SQL = Path(__file__).resolve().parents[2] / "sql" / "verify"
HALF = Fraction(1, 2)
WORDS = SensitiveColumn("s", Kind.TEXT)
TREE = SensitiveColumn("s", Kind.TEXT, {"flu": ("flu", "*"), "cold": ("cold", "*")})
ALL = [
    KAnonymity(1),
    DistinctDiversity(1),
    SimpleDiversity(Fraction(1)),
    RecursiveDiversity(Fraction(10), 1),
    EntropyDiversity(Fraction(1)),
    ConfidenceLimit(Fraction(1)),
    Closeness(Fraction(1)),
    Closeness(Fraction(1), "equal"),
]


def classes_of(engine, relation, quasi):
    return judge(engine, relation, quasi=quasi, sensitive=[], requirements=[]).classes


# -- nothing to count ------------------------------------------------------------------------------------


def test_an_empty_relation_satisfies_nothing(engine, make_table):
    relation = make_table(engine, "t", {"q": "TEXT", "s": "TEXT", "n": "INTEGER", "who": "TEXT"}, [])
    numbers = SensitiveColumn("n", Kind.INTEGER)
    for quasi in (["q"], []):
        judgement = judge(engine, relation, quasi=quasi, sensitive=[TREE, numbers], requirements=ALL, entity="who")
        assert (judgement.rows, judgement.classes, judgement.holds) == (0, 0, False)
        assert {(f.holds, f.achieved, f.breaching_classes, f.breaching_rows) for f in judgement.findings} == {
            (False, None, 0, 0)
        }
        assert null_matches_all_k(engine, relation, quasi) == 0


def test_without_quasi_identifiers_all_rows_are_one_class(engine, make_table):
    relation = make_table(engine, "t", {"s": "TEXT"}, [("flu",), ("flu",), ("cold",)])
    judgement = judge(engine, relation, quasi=[], sensitive=[WORDS], requirements=ALL)
    assert (judgement.rows, judgement.classes, judgement.holds) == (3, 1, True)
    assert [finding.achieved for finding in judgement.findings[:3]] == [3, 2, Fraction(3, 2)]
    assert judgement.findings[-1].achieved == 0


def test_a_judgement_of_nothing_does_not_hold():
    assert not Judgement(rows=5, classes=1, findings=()).holds


def test_a_relation_of_one_value_is_at_no_distance(engine, make_table):
    relation = make_table(engine, "t", {"q": "TEXT", "n": "INTEGER"}, [("a", 7), ("b", 7), ("b", 7)])
    tiny = [Closeness(Fraction(1, 10**12), "ordered"), Closeness(Fraction(1, 10**12), "equal")]
    found = judge(
        engine, relation, quasi=["q"], sensitive=[SensitiveColumn("n", Kind.INTEGER)], requirements=tiny
    ).findings
    assert [(f.holds, f.achieved) for f in found] == [(True, 0), (True, 0)]


# -- what is printed decides -----------------------------------------------------------------------------


def test_look_alikes_are_classes_of_their_own(engine, make_table):
    texts = ["Ann", "ANN", "ann ", "ann", "ann\u200b", "\u00e9", "e\u0301", "", None, "NULL", "*", "?"]
    relation = make_table(engine, "t", {"q": "TEXT"}, [(text,) for text in texts] * 2)
    assert classes_of(engine, relation, ["q"]) == len(texts)


def test_floats_are_told_apart_by_what_is_printed(engine, make_table):
    nan = float("nan")
    relation = make_table(engine, "t", {"q": "DOUBLE"}, [(0.0,), (-0.0,), (nan,), (nan,), (None,), (1e-320,)])
    assert classes_of(engine, relation, ["q"]) == 5


def test_zero_and_minus_zero_are_one_sensitive_value(engine, make_table):
    """Two prints of one number hide nobody."""
    relation = make_table(engine, "t", {"q": "TEXT", "s": "DOUBLE"}, [("a", 0.0), ("a", -0.0)])
    (found,) = judge(
        engine, relation, quasi=["q"], sensitive=[SensitiveColumn("s", Kind.FLOAT)], requirements=[DistinctDiversity(2)]
    ).findings
    assert (found.holds, found.achieved) == (False, 1)


ABOUT_VALUES = [
    *(DistinctDiversity(2), SimpleDiversity(Fraction(2)), RecursiveDiversity(Fraction(2), 2)),
    *(EntropyDiversity(Fraction(2)), ConfidenceLimit(Fraction(1, 2)), Closeness(Fraction(1, 5))),
]


def test_null_counts_as_a_value_only_where_it_is_asked_for(engine, make_table):
    """Everybody with a known disease has flu: two NULLs hide nothing of that."""
    rows = [("a", "flu"), ("a", "flu"), ("a", None), ("a", None), *[("b", "flu"), ("b", "cold")] * 2]
    relation = make_table(engine, "t", {"q": "TEXT", "s": "TEXT"}, rows)
    judged = judge(engine, relation, quasi=["q"], sensitive=[WORDS], requirements=ABOUT_VALUES)
    assert [found.holds for found in judged.findings] == [False] * 6
    assert {(found.breaching_classes, found.breaching_rows) for found in judged.findings[:5]} == {(1, 4)}
    assert judged.findings[5].achieved == Fraction(1, 3)  # flu: all of a, 4 of the 6 known
    assert judged.nulls == {"s": 2}
    as_value = SensitiveColumn("s", Kind.TEXT, nulls_as_value=True)
    judged = judge(engine, relation, quasi=["q"], sensitive=[as_value], requirements=ABOUT_VALUES[:5])
    assert judged.holds


def test_a_class_without_a_known_value_breaks_everything(engine, make_table):
    rows = [("a", None), ("a", None), ("a", None), *[("b", "flu"), ("b", "cold")] * 2]
    relation = make_table(engine, "t", {"q": "TEXT", "s": "TEXT"}, rows)
    weak = [
        *(DistinctDiversity(1), SimpleDiversity(Fraction(1)), RecursiveDiversity(Fraction(9), 1)),
        *(EntropyDiversity(Fraction(1)), ConfidenceLimit(Fraction(1)), Closeness(Fraction(1))),
    ]
    found = judge(engine, relation, quasi=["q"], sensitive=[WORDS], requirements=weak).findings
    assert {(one.holds, one.breaching_classes, one.breaching_rows) for one in found} == {(False, 1, 3)}
    assert [one.achieved for one in found] == [0, 0, None, 0.0, None, None]


def test_a_column_without_a_known_value_breaks_everything(engine, make_table):
    relation = make_table(engine, "t", {"q": "TEXT", "s": "INTEGER"}, [("a", None), ("a", None), ("b", None)])
    numbers = SensitiveColumn("s", Kind.INTEGER)
    asked = [*ABOUT_VALUES, Closeness(Fraction(1), "ordered")]
    found = judge(engine, relation, quasi=["q"], sensitive=[numbers], requirements=asked).findings
    assert {(one.holds, one.breaching_classes, one.breaching_rows) for one in found} == {(False, 2, 3)}


@pytest.mark.duckdb
def test_a_collation_does_not_merge_what_is_published_apart(duckdb_engine):
    duckdb_engine.pass_through(
        "CREATE TABLE t (q VARCHAR COLLATE NOCASE, s VARCHAR COLLATE NOCASE, who VARCHAR COLLATE NOCASE)"
    )
    duckdb_engine.pass_through("INSERT INTO t VALUES ('Ann', 'flu', 'x'), ('ANN', 'FLU', 'X'), ('ann', 'Flu', 'y')")
    relation = Name("t")
    assert classes_of(duckdb_engine, relation, ["q"]) == 3
    assert null_matches_all_k(duckdb_engine, relation, ["q"]) == 1
    words, people = judge(
        duckdb_engine,
        relation,
        quasi=[],
        sensitive=[WORDS],
        requirements=[DistinctDiversity(3), KAnonymity(3)],
        entity="who",
    ).findings
    assert (words.holds, words.achieved) == (True, 3)
    assert (people.holds, people.achieved) == (False, 2)  # x and X are one person to the database
    tree = SensitiveColumn("s", Kind.TEXT, {word: (word, "*") for word in ("flu", "FLU")})
    with pytest.raises(PolicyError, match="1 values have no place"):
        judge(duckdb_engine, relation, quasi=["q"], sensitive=[tree], requirements=[Closeness(HALF)])


@pytest.mark.postgres
def test_a_collation_of_postgresql_does_not_merge_either(postgres_engine):
    try:
        postgres_engine.pass_through(
            "CREATE COLLATION public.nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
        )
    except EngineError:
        pytest.skip("this server is built without ICU")
    postgres_engine.pass_through("CREATE TABLE t (q text COLLATE nocase)")
    postgres_engine.pass_through("INSERT INTO t VALUES ('Ann'), ('ANN'), ('ann')")
    assert classes_of(postgres_engine, Name("t"), ["q"]) == 3


@pytest.mark.postgres
def test_a_numeric_without_scale_is_told_apart_by_its_digits(postgres_engine):
    postgres_engine.pass_through("CREATE TABLE t (q numeric, s numeric)")
    postgres_engine.pass_through("INSERT INTO t VALUES (1.0, 1.0), (1.00, 1.00)")
    assert classes_of(postgres_engine, Name("t"), ["q"]) == 2
    column = SensitiveColumn("s", Kind.DECIMAL)
    (found,) = judge(
        postgres_engine, Name("t"), quasi=[], sensitive=[column], requirements=[DistinctDiversity(2)]
    ).findings
    assert found.achieved == 1  # two prints, one number


@pytest.mark.duckdb
@pytest.mark.parametrize(
    ("declared", "one", "other"),
    [
        ("HUGEINT", "170141183460469231731687303715884105726", "170141183460469231731687303715884105727"),
        ("DECIMAL(38, 18)", "1.000000000000000001", "1.000000000000000002"),
        ("TIMESTAMP_NS", "2024-01-01 00:00:00.000000001", "2024-01-01 00:00:00.000000002"),
        ("TIMESTAMPTZ", "2024-01-01 00:00:00.000001+00", "2024-01-01 00:00:00.000002+00"),
        ("UUID", "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"),
        ("BOOLEAN", "true", "false"),
        ("ENUM ('x', 'y', 'z')", "x", "y"),
        ("DOUBLE", "0.1", "0.10000000000000002"),
    ],
)
def test_the_last_digit_makes_another_class(duckdb_engine, declared, one, other):
    duckdb_engine.pass_through(
        f"CREATE TABLE t AS SELECT CAST(unnest(['{one}', '{other}', '{one}']) AS {declared}) AS q"
    )
    assert classes_of(duckdb_engine, Name("t"), ["q"]) == 2


def test_many_rows_of_one_person_are_one_person(engine, make_table):
    rows = [("1011", "p1")] * 12 + [("2022", f"p{i}") for i in range(12)] + [("3033", None)] * 12
    relation = make_table(engine, "t", {"zip": "TEXT", "who": "TEXT"}, rows)
    by_row, by_person = (
        judge(engine, relation, quasi=["zip"], sensitive=[], requirements=[KAnonymity(2)], entity=entity).findings[0]
        for entity in (None, "who")
    )
    assert by_row.holds
    assert (by_person.holds, by_person.achieved, by_person.breaching_classes, by_person.breaching_rows) == (
        False,
        0,
        2,
        24,
    )


def test_a_raw_star_and_a_suppressed_value_are_one_class(engine, make_table):
    """A reader cannot tell them apart, so they protect each other."""
    relation = make_table(engine, "t", {"q": "TEXT"}, [("*",), ("*",), ("* ",)])
    assert classes_of(engine, relation, ["q"]) == 2


# -- NULL may be any value -------------------------------------------------------------------------------


@pytest.mark.duckdb
@each_seed(small=4, full=20)
def test_null_matches_all_in_every_pattern_of_five_columns(duckdb_engine, make_table, seed):
    rng = random.Random(seed)
    names = [f"q{i}" for i in range(5)]
    rows = [tuple(rng.choice(("a", "b", None)) for _ in names) for _ in range(rng.choice((10, 60, 200)))]
    relation = make_table(duckdb_engine, "t", dict.fromkeys(names, "TEXT"), rows)
    mappings = [dict(zip(names, row, strict=True)) for row in rows]
    assert null_matches_all_k(duckdb_engine, relation, names) == oracles.null_matches_all_k(mappings, names)


@pytest.mark.duckdb
def test_too_many_patterns_of_null_are_not_compared(duckdb_engine, make_table):
    rows = [tuple("a" if number >> bit & 1 else None for bit in range(6)) for number in range(33)]
    names = [f"q{i}" for i in range(6)]
    relation = make_table(duckdb_engine, "t", dict.fromkeys(names, "TEXT"), rows)
    assert null_matches_all_k(duckdb_engine, relation, names) is None
    relation = make_table(duckdb_engine, "u", dict.fromkeys(names, "TEXT"), rows[:32])
    mappings = [dict(zip(names, row, strict=True)) for row in rows[:32]]
    assert null_matches_all_k(duckdb_engine, relation, names) == oracles.null_matches_all_k(mappings, names)


# -- wrong calls -----------------------------------------------------------------------------------------


@pytest.fixture
def small(engine, make_table):
    rows = [("a", "flu", 1), ("a", "secret-value", 2), ("a", "secret-value", 3)]
    return make_table(engine, "t", {"q": "TEXT", "s": "TEXT", "n": "INTEGER"}, rows)


@pytest.mark.parametrize(
    ("sensitive", "asked", "told"),
    [
        ([], DistinctDiversity(2), "distinct_l = 2 needs a SENSITIVE column, and there is none"),
        ([SensitiveColumn("x", Kind.TEXT)], DistinctDiversity(2), "t has no column x"),
        ([WORDS], Closeness(HALF, "ordered"), "column s is stored as text, which has no order"),
        ([WORDS], Closeness(HALF, "hierarchical"), "column s has no hierarchy"),
        ([WORDS], Closeness(HALF, "euclidean"), "the distances are equal, ordered, hierarchical"),
        ([TREE], Closeness(HALF), "column s: 1 values have no place in its hierarchy"),
        ([SensitiveColumn("s", Kind.TEXT, {"flu": ("flu", "*"), "x": ("x", "y", "*")})], Closeness(HALF), "one level"),
        ([SensitiveColumn("s", Kind.TEXT, {"flu": ("flu", "a"), "x": ("x", "b")})], Closeness(HALF), "no common root"),
        ([SensitiveColumn("s", Kind.TEXT, {"flu": ("mild", "*")})], Closeness(HALF), "start with the leaf itself"),
        ([SensitiveColumn("s", Kind.TEXT, {"flu": ("flu",)})], Closeness(HALF), "one level below the root"),
        ([SensitiveColumn("s", Kind.TEXT, {})], Closeness(HALF), "one level below the root"),
    ],
)
def test_a_wrong_call_is_told_with_columns_and_counts(engine, small, sensitive, asked, told):
    with pytest.raises(PolicyError) as refused:
        judge(engine, small, quasi=["q"], sensitive=sensitive, requirements=[asked])
    assert told in str(refused.value)
    assert "secret-value" not in str(refused.value)


def test_a_kind_that_the_stored_column_does_not_have_is_no_order(engine, small):
    """The source had numbers; what was stored are their labels."""
    column = SensitiveColumn("s", Kind.INTEGER)
    with pytest.raises(PolicyError, match="stored as text"):
        judge(engine, small, quasi=["q"], sensitive=[column], requirements=[Closeness(HALF)])


def test_a_missing_relation_is_told(engine):
    with pytest.raises(PolicyError, match="relation nowhere does not exist"):
        judge(engine, Name("nowhere"), quasi=["q"], sensitive=[], requirements=[KAnonymity(2)])


@pytest.mark.duckdb
def test_a_type_without_a_text_of_its_own_is_refused(duckdb_engine):
    duckdb_engine.pass_through("CREATE TABLE t AS SELECT [1, 2] AS q")
    with pytest.raises(PolicyError, match="column q of t has a type"):
        judge(duckdb_engine, Name("t"), quasi=["q"], sensitive=[], requirements=[KAnonymity(2)])


# -- nothing is changed, nothing is left -----------------------------------------------------------------


@pytest.mark.duckdb
def test_the_judge_writes_nothing_even_along_a_hierarchy(tmp_path):
    path = str(tmp_path / "open.duckdb")
    with DuckDBEngine.open(path, create=True) as engine:
        engine.pass_through("CREATE TABLE t AS SELECT 'a' AS q, 'flu' AS s")
    with DuckDBEngine.open(path, read_only=True) as engine:
        before = engine.relations("main")
        judgement = judge(engine, Name("t"), quasi=["q"], sensitive=[TREE], requirements=ALL)
        assert judgement.holds
        assert engine.relations("main") == before == ["t"]
        assert engine.fetch(parse_statement("SELECT table_name FROM duckdb_tables() WHERE temporary")) == []


@pytest.mark.lacks("spark", reason="Spark has no transactions")
def test_the_judge_works_inside_the_transaction_that_publishes(engine, make_table):
    assert engine.has_transactions
    with engine.transaction():
        relation = make_table(engine, "t", {"q": "TEXT", "s": "TEXT"}, [("a", "flu"), ("a", "cold")])
        assert judge(engine, relation, quasi=["q"], sensitive=[TREE], requirements=ALL).holds


@pytest.mark.duckdb
def test_a_relation_that_changes_under_the_judge_is_noticed(duckdb_engine):
    duckdb_engine.pass_through("CREATE VIEW t AS SELECT 'a' AS q FROM range(1000) WHERE random() < 0.5")
    with pytest.raises(PpdmError, match="changed while"):  # twenty agreeing measurements are one in 10^32
        judge(duckdb_engine, Name("t"), quasi=["q"], sensitive=[], requirements=[KAnonymity(k) for k in range(1, 21)])


def test_a_finding_names_the_reviewed_statement(engine, small):
    judgement = judge(
        engine, small, quasi=["q"], sensitive=[WORDS], requirements=[KAnonymity(2), EntropyDiversity(HALF)]
    )
    expected = [
        hashlib.sha256((SQL / f"{file}.sql").read_bytes()).hexdigest() for file in ("class_size", "entropy_diversity")
    ]
    assert [finding.statement_sha256 for finding in judgement.findings] == expected


def test_the_statements_can_be_had_to_run_elsewhere(engine, small):
    numbers = SensitiveColumn("n", Kind.INTEGER)
    handed = measuring_statements(engine, small, quasi=["q"], sensitive=[WORDS, numbers], requirements=ALL)
    assert len(handed) == 1 + 2 * (len(ALL) - 1)
    for _, _, query, params in handed:
        assert sum(int(row[-1]) for row in engine.fetch(query, **params)) == 3


# -- wide numbers ----------------------------------------------------------------------------------------


@pytest.mark.duckdb
def test_large_classes_are_decided_in_whole_numbers(duckdb_engine):
    """Three times a million rows: entropy exactly ln 3, and one row more is less than ln 3."""
    duckdb_engine.pass_through("CREATE TABLE t AS SELECT CAST(i % 3 AS INTEGER) AS s FROM range(3000000) AS r(i)")
    asked = [EntropyDiversity(Fraction(3)), SimpleDiversity(Fraction(3)), RecursiveDiversity(HALF, 2)]
    column = SensitiveColumn("s", Kind.INTEGER)
    found = judge(duckdb_engine, Name("t"), quasi=[], sensitive=[column], requirements=asked).findings
    assert [finding.holds for finding in found] == [True, True, False]
    duckdb_engine.pass_through("INSERT INTO t VALUES (0)")
    found = judge(duckdb_engine, Name("t"), quasi=[], sensitive=[column], requirements=asked).findings
    assert [finding.holds for finding in found] == [False, False, False]


@pytest.mark.duckdb
@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_distances_of_large_classes_are_exact(duckdb_engine, distance):
    """A difference of one row in two million, and bounds of eighteen digits."""
    duckdb_engine.pass_through(
        "CREATE TABLE t AS SELECT CAST(i % 2 AS INTEGER) AS q, CAST(i // 1000000 AS INTEGER) AS s "
        "FROM range(2000000) AS r(i)"
    )
    duckdb_engine.pass_through("INSERT INTO t VALUES (0, 0)")
    column = SensitiveColumn(
        "s", Kind.INTEGER, {"0": ("0", "*"), "1": ("1", "*")} if distance == "hierarchical" else None
    )
    # Class 0: 1000001 rows, 500001 zeros; class 1 lacks the one row; all: 2000001 rows, 1000001 zeros.
    exact = abs(HALF - Fraction(1000001, 2000001))
    asked = [Closeness(exact, distance), Closeness(exact - Fraction(1, 10**18), distance)]
    at, beside = judge(duckdb_engine, Name("t"), quasi=["q"], sensitive=[column], requirements=asked).findings
    assert (at.holds, at.achieved) == (True, exact)
    assert (beside.holds, beside.breaching_classes) == (False, 1)


def test_a_product_too_wide_for_the_engine_is_an_error_and_no_answer(engine, make_table):
    """PostgreSQL's numbers have no end; the others refuse."""
    relation = make_table(engine, "t", {"q": "TEXT", "s": "TEXT"}, [("a", "x"), ("a", "y"), ("b", "x")])
    asked = [SimpleDiversity(1 + Fraction(1, 10**37)), SimpleDiversity(1 + Fraction(1, 10**45))]
    try:
        found = judge(engine, relation, quasi=["q"], sensitive=[WORDS], requirements=asked).findings
    except EngineError:
        return
    assert [finding.breaching_classes for finding in found] == [1, 1]
