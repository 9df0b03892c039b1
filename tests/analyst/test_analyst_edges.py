"""What must be refused, what must be told apart, and what must not change a number."""

from __future__ import annotations

import re

import duckdb
import pytest

from .conftest import MACROS, call, load, quoted

BY_CLASS = ("ppdm_classes", "ppdm_k_anonymity", "ppdm_k_null_matches", "ppdm_risk", "ppdm_class_sizes")
BY_VALUE = (
    "ppdm_l_diversity",
    "ppdm_recursive_diversity",
    "ppdm_t_closeness",
    "ppdm_t_closeness_ordered",
    "ppdm_likeness",
)
ARGUMENTS: dict[str, tuple[object, ...]] = {
    **dict.fromkeys(BY_CLASS, ()),
    **dict.fromkeys(BY_VALUE, ("illness",)),
    "ppdm_breaches": (2,),
    "ppdm_l_breaches": ("illness", 2),
    "ppdm_k_every": (1,),
    "ppdm_population": ("people",),  # the table itself, whatever its name
}
MACRO_NAMES = sorted(ARGUMENTS)


def arguments(macro: str, table: str) -> tuple[object, ...]:
    return (table,) if macro == "ppdm_population" else ARGUMENTS[macro]


WITH_SENSITIVE = sorted(name for name, arguments in ARGUMENTS.items() if "illness" in arguments)

PEOPLE = [
    ("34", "471", "flu"), ("34", "471", "asthma"), ("34", "471", "flu"), ("34", None, "flu"),
    ("51", "479", "cancer"), ("51", "479", "cancer"), ("60", "479", None),
]  # fmt: skip


def load_people(con: duckdb.DuckDBPyConnection) -> None:
    load(con, "people", ["age", "zip", "illness"], ["INTEGER", "VARCHAR", "VARCHAR"], PEOPLE)
    con.execute("CREATE OR REPLACE TABLE nobody AS FROM people LIMIT 0")


@pytest.fixture
def people(con):
    load_people(con)
    return con


@pytest.fixture(scope="module")
def lasting():
    """The same for the many tests that leave it as it is."""
    with duckdb.connect() as con:
        con.execute(MACROS)
        load_people(con)
        yield con


def answers(con: duckdb.DuckDBPyConnection, table: str = "people", prefix: str = "") -> dict[str, list]:
    """What every macro says, in an order of rows that does not depend on the run."""
    return {
        name: sorted(
            con.execute(f"FROM {prefix}{call(name, table, ['age', 'zip'], *arguments(name, table))}").fetchall(),
            key=repr,
        )
        for name in MACRO_NAMES
    }


@pytest.fixture(scope="module")
def usual(lasting):
    """What every macro says of either table in a plain session."""
    return {table: answers(lasting, table) for table in ("people", "nobody")}


def test_the_file_makes_these_macros_and_nothing_else(con):
    made = con.execute("SELECT function_name FROM duckdb_functions() WHERE NOT internal ORDER BY 1").fetchall()
    assert [name for (name,) in made] == MACRO_NAMES
    assert con.execute("SELECT COUNT(*) FROM duckdb_tables()").fetchone() == (0,)


def test_reading_the_file_again_changes_nothing(people, usual):
    people.execute(MACROS)
    assert answers(people) == usual["people"]


# A misspelled quasi-identifier that was left out would make every number look safer.
@pytest.mark.parametrize(
    "qis", [["age", "zipp"], ["zipp"], ["age", ""], ["age", "zip "], ["age", "z.*"], ["*"], ["people.age"]]
)
@pytest.mark.parametrize("macro", MACRO_NAMES)
def test_an_unknown_quasi_identifier_is_an_error(lasting, macro, qis):
    with pytest.raises(duckdb.BinderException, match="was not found"):
        lasting.execute(f"FROM {call(macro, 'people', qis, *ARGUMENTS[macro])}")


@pytest.mark.parametrize(
    "qis", ["'age'", "[]", "NULL", "['age', NULL]", "[NULL]", "('age', 'zip')", "[1]", "['age, zip']"]
)
@pytest.mark.parametrize("macro", MACRO_NAMES)
def test_anything_but_a_list_of_names_is_an_error(lasting, macro, qis):
    more = "".join(f", {call('', argument)}" for argument in ARGUMENTS[macro])
    with pytest.raises(duckdb.BinderException):
        lasting.execute(f"FROM {macro}('people', {qis}{more})")


@pytest.mark.parametrize("sensitive", ["'ill'", "'ill.*'", "''", "NULL", "['illness']"])
@pytest.mark.parametrize("macro", WITH_SENSITIVE)
def test_an_unknown_sensitive_column_is_an_error(lasting, macro, sensitive):
    threshold = ", 2" if macro == "ppdm_l_breaches" else ""
    with pytest.raises(duckdb.BinderException):
        lasting.execute(f"FROM {macro}('people', ['age'], {sensitive}{threshold})")


@pytest.mark.parametrize("macro", MACRO_NAMES)
def test_an_unknown_table_is_an_error(lasting, macro):
    with pytest.raises(duckdb.CatalogException):
        lasting.execute(f"FROM {call(macro, 'persons', ['age'], *ARGUMENTS[macro])}")


@pytest.mark.parametrize("table", ["people", "nobody"])
@pytest.mark.parametrize("threshold", ["NULL", "0", "-1"])
@pytest.mark.parametrize(
    ("macro", "more"), [("ppdm_breaches", ""), ("ppdm_k_every", ""), ("ppdm_l_breaches", ", 'illness'")]
)
def test_a_threshold_that_nothing_can_breach_is_an_error(lasting, macro, more, table, threshold):
    with pytest.raises(duckdb.InvalidInputException, match="must be 1 or more"):
        lasting.execute(f"FROM {macro}('{table}', ['age']{more}, {threshold})")


def test_an_empty_table_claims_nothing(lasting, usual):
    assert usual["nobody"] == {
        "ppdm_breaches": [],
        "ppdm_class_sizes": [],
        "ppdm_classes": [],
        "ppdm_k_anonymity": [(None, 0, 0, 0, 0, 0, 0)],
        "ppdm_k_every": [(None, 2)],
        "ppdm_k_null_matches": [(None, None, 0)],
        "ppdm_l_breaches": [],
        "ppdm_l_diversity": [(0, 0, 0, 0, None, None, None, None, None, None)],
        "ppdm_likeness": [(*(None,) * 8, 0, 0)],
        "ppdm_population": [(None, None, None, 0, 0)],
        "ppdm_recursive_diversity": [],
        "ppdm_risk": [(0, 0, *(None,) * 8)],
        "ppdm_t_closeness": [(None, None, None, 0, 0)],
        "ppdm_t_closeness_ordered": [(None, None, None, 0, 0)],
    }
    assert lasting.execute("SELECT k >= 5 FROM ppdm_k_anonymity('nobody', ['age'])").fetchone() == (None,)


# Each pair is equal to some comparison of DuckDB's, and different to anyone who reads the published table.
@pytest.mark.parametrize(
    ("kind", "pair"),
    [
        ("VARCHAR COLLATE NOCASE", ["'a'", "'A'"]),
        ("VARCHAR COLLATE NOACCENT", ["'a'", "'\u00e1'"]),
        ("VARCHAR COLLATE NFC", ["'\u00e1'", "'a\u0301'"]),
        ("VARCHAR", ["'a'", "'a '"]),
        ("VARCHAR", ["''", "NULL"]),
        ("VARCHAR", ["'NULL'", "NULL"]),
        ("DOUBLE", ["'0.0'", "'-0.0'"]),
        ("DOUBLE", ["'nan'", "NULL"]),
        ("FLOAT", ["'0.0'", "'-0.0'"]),
        ("DECIMAL(38, 18)", ["1.000000000000000001", "1.000000000000000002"]),
        ("HUGEINT", ["9007199254740993", "9007199254740992"]),
        ("INTERVAL", ["'1 month'", "'30 days'"]),
        ("UNION(n INTEGER, t VARCHAR)", ["union_value(n := 1)", "union_value(t := '1')"]),
        ("VARCHAR[]", ["['a, b']", "['a', 'b']"]),
        ("STRUCT(s VARCHAR)", ["{'s': 'NULL'}", "{'s': NULL}"]),
        ("ENUM('a', 'A')", ["'a'", "'A'"]),
    ],
)
def test_values_that_print_or_compare_differently_stay_apart(lasting, kind, pair):
    lasting.execute(f"CREATE OR REPLACE TABLE odd (q {kind}, s {kind})")
    for value in pair:
        lasting.execute(f"INSERT INTO odd SELECT {value}, {value} FROM range(3)")
    assert lasting.execute("SELECT k, classes FROM ppdm_k_anonymity('odd', ['q'])").fetchone() == (3, 2)
    assert lasting.execute("SELECT MIN(ppdm_size), COUNT(*) FROM ppdm_classes('odd', ['q'])").fetchone() == (3, 2)
    assert len(lasting.execute("FROM ppdm_breaches('odd', ['q'], 4)").fetchall()) == 2
    assert lasting.execute("SELECT classes, marketer FROM ppdm_risk('odd', ['q'])").fetchone() == (2, 1 / 3)
    assert lasting.execute("SELECT size, classes FROM ppdm_class_sizes('odd', ['q'])").fetchall() == [(3, 2)]

    # As sensitive values: every class has one of two values, and is as far from the table as it can be.
    def about(macro, *more):
        return call(macro, "odd", ["q"], "s", *more, nulls=True)

    found = lasting.execute(f"SELECT classes, homogeneous_classes FROM {about('ppdm_l_diversity')}")
    assert found.fetchone() == (2, 2)
    assert len(lasting.execute(f"FROM {about('ppdm_l_breaches', 2)}").fetchall()) == 2
    assert lasting.execute(f"SELECT l, tail FROM {about('ppdm_recursive_diversity')}").fetchall() == [(2, 0)]
    for macro in ("ppdm_t_closeness", "ppdm_t_closeness_ordered"):
        found = lasting.execute(f"SELECT t_numerator, t_denominator, sensitive_values FROM {about(macro)}")
        assert found.fetchone() == (1, 2, 2)


# As quasi-identifiers one and the same, so that the pair is two values of one class.
@pytest.mark.parametrize(
    ("kind", "pair"),
    [("VARCHAR COLLATE NOCASE", ["'a'", "'A'"]), ("DOUBLE", ["'0.0'", "'-0.0'"]), ("INTEGER", ["1", "NULL"])],
)
def test_sensitive_values_that_print_differently_are_two(lasting, kind, pair):
    lasting.execute(f"CREATE OR REPLACE TABLE odd (q INTEGER, s {kind})")
    for value in pair:
        lasting.execute(f"INSERT INTO odd SELECT 1, {value} FROM range(3)")

    def about(macro, *more):
        return call(macro, "odd", ["q"], "s", *more, nulls=True)

    found = lasting.execute(f"SELECT distinct_l, simple_l FROM {about('ppdm_l_diversity')}")
    assert found.fetchone() == (2, 2.0)
    assert lasting.execute(f"FROM {about('ppdm_l_breaches', 2)}").fetchall() == []
    assert lasting.execute(f"FROM {about('ppdm_recursive_diversity')}").fetchall() == [
        (2, 1.0, 3, 3),
        (3, float("inf"), 3, 0),
    ]


def test_a_null_does_not_make_a_class_diverse(lasting):
    lasting.execute("CREATE OR REPLACE TABLE odd AS SELECT 1 AS q, unnest(['flu', 'flu', NULL, NULL]) AS s")
    for nulls, expected in ((False, (1, 1, 1.0)), (True, (0, 2, 2.0))):
        found = call("ppdm_l_diversity", "odd", ["q"], "s", nulls=nulls)
        assert lasting.execute(f"SELECT homogeneous_classes, distinct_l, simple_l FROM {found}").fetchone() == expected
    assert lasting.execute("FROM ppdm_l_breaches('odd', ['q'], 's', 2)").fetchall() == [(4, 2, 1, 2, 1)]


@pytest.mark.parametrize("macro", WITH_SENSITIVE)
def test_a_column_named_like_the_parameter_changes_nothing(lasting, macro):
    """A column would win against a parameter of its name."""
    for name in ("plain", "nulls_as_value"):
        lasting.execute(
            f"CREATE OR REPLACE TABLE {name}_t AS SELECT i % 2 = 0 AS {name}, NULL::INTEGER AS s FROM range(4) r(i)"
        )
    more = [2] if macro == "ppdm_l_breaches" else []
    both = [
        [row[:4] for row in lasting.execute(f"FROM {call(macro, f'{name}_t', [name], 's', *more)}").fetchall()]
        for name in ("plain", "nulls_as_value")
    ]
    assert both[0] == both[1] != []


def test_every_text_is_compared_byte_by_byte():
    """GROUP BY ALL of DuckDB 2.0 ignores collations, GROUP BY of a named column does not: rely on neither."""
    code = re.sub(r"--.*", "", MACROS)
    assert code.count("::VARCHAR") == code.count('::VARCHAR COLLATE "C"') >= 11


def test_one_nan_is_like_another(con):
    con.execute("CREATE TABLE odd AS SELECT 'nan'::DOUBLE AS q FROM range(3)")
    assert con.execute("SELECT k, classes FROM ppdm_k_anonymity('odd', ['q'])").fetchone() == (3, 1)


def test_a_collation_for_the_whole_session_merges_nothing(people):
    people.execute("SET default_collation = 'nocase'")
    people.execute("CREATE TABLE letters AS SELECT unnest(['a', 'A', 'b']) AS q")
    assert people.execute("SELECT COUNT(DISTINCT q) FROM letters").fetchone() == (2,), "the session does merge them"
    assert people.execute("SELECT classes FROM ppdm_k_anonymity('letters', ['q'])").fetchone() == (3,)


@pytest.mark.parametrize(
    "setting",
    [
        "integer_division = true",
        "default_collation = 'nocase'",
        "default_null_order = 'nulls_first'",
        "default_order = 'desc'",
        "preserve_insertion_order = false",
        "ieee_floating_point_ops = false",
        "error_on_division_by_zero = false",
        "threads = 1",
    ],
)
def test_settings_of_the_session_do_not_change_the_numbers(people, usual, setting):
    people.execute(f"SET {setting}")
    people.execute(MACROS)  # some settings act when a macro is made, others when it runs
    assert {table: answers(people, table) for table in usual} == usual


def test_equal_shares_are_decided_in_integers(con):
    """exp(entropy) of 3, 6, 7 or 10 equally frequent values comes out below the integer it is."""
    for l in range(2, 12):
        con.execute("CREATE OR REPLACE TABLE even AS SELECT 1 AS q, i % $1 AS s FROM range(100 * $1) AS r(i)", [l])
        assert con.execute(f"FROM ppdm_l_breaches('even', ['q'], 's', {l})").fetchall() == []
        assert len(con.execute(f"FROM ppdm_l_breaches('even', ['q'], 's', {l + 1})").fetchall()) == 1
        size, most_frequent, entropy_l = con.execute(
            "SELECT simple_l_size, simple_l_most_frequent, entropy_l FROM ppdm_l_diversity('even', ['q'], 's')"
        ).fetchone()
        assert size == l * most_frequent
        assert entropy_l == pytest.approx(l)


def test_one_sensitive_value_counts_as_exactly_one(con):
    for rows in (1, 3, 5, 6, 7, 49, 93, 98, 161, 187):
        con.execute("CREATE OR REPLACE TABLE same AS SELECT 1 AS q, 'x' AS s FROM range($1)", [rows])
        assert con.execute("SELECT entropy_l FROM ppdm_l_diversity('same', ['q'], 's')").fetchone() == (1.0,)


def test_large_counts_stay_exact(con):
    """Products of counts pass 64 bits in a table of some billion rows; here it is the type that is held."""
    con.execute("CREATE TABLE many AS SELECT i % 3 AS q, (i * i) % 1000 AS s FROM range(200_000) AS r(i)")
    for macro in ("ppdm_t_closeness", "ppdm_t_closeness_ordered"):
        kinds = con.execute(f"SELECT typeof(t_numerator), typeof(t_denominator) FROM {macro}('many', ['q'], 's')")
        assert kinds.fetchone() == ("HUGEINT", "HUGEINT")


@pytest.mark.parametrize(
    ("macro", "ours"),
    [
        ("ppdm_classes", ["ppdm_size", "ppdm_share"]),
        ("ppdm_breaches", ["ppdm_size"]),
        ("ppdm_l_breaches", ["ppdm_size", "ppdm_known", "ppdm_distinct", "ppdm_most_frequent"]),
    ],
)
def test_quasi_identifiers_are_shown_under_their_own_names_in_the_order_of_the_table(lasting, macro, ours):
    found = lasting.execute(f"FROM {call(macro, 'people', ['ZIP', 'age', 'age'], *ARGUMENTS[macro])}")
    assert [column[0] for column in found.description] == [*ours, "age", "zip"]


def test_a_column_named_like_one_of_ours_is_shown_beside_it(con):
    load(con, "odd", ["ppdm_size", "ppdm_text_ppdm_size"], ["VARCHAR", "VARCHAR"], [("x", "y"), ("x", "y")])
    found = con.execute("FROM ppdm_breaches('odd', ['ppdm_size', 'ppdm_text_ppdm_size'], 3)")
    assert found.description[0][0] == "ppdm_size"
    assert len({column[0] for column in found.description}) == 3
    assert found.fetchall() == [(2, "x", "y")]


@pytest.mark.parametrize("name", ["ppdm_x", "ppdm_values", "ppdm_cells", "ppdm_simple", "ppdm_met"])
def test_a_struct_named_like_something_inside_a_macro_is_not_taken_for_it(people, usual, name):
    """ppdm_x.count would be the user's field if a column ppdm_x were in reach."""
    fields = "count, total, rank, before, ppdm_count, ppdm_total, ppdm_rows, ppdm_value, ppdm_text, size, top, ratio"
    trap = ", ".join(f"'{field}': 7" for field in fields.split(", "))
    people.execute(f"CREATE TABLE trapped AS SELECT *, {{{trap}}} AS {name} FROM people")
    for macro in MACRO_NAMES:
        if macro == "ppdm_k_every":  # over one column more there are more sets
            continue
        relation = call(macro, "trapped", ["age", "zip", name], *arguments(macro, "trapped"))
        shown = f"COLUMNS(* EXCLUDE ({name}))" if macro in ("ppdm_classes", "ppdm_breaches", "ppdm_l_breaches") else "*"
        assert sorted(people.execute(f"SELECT {shown} FROM {relation}").fetchall(), key=repr) == usual["people"][macro]


def test_a_name_is_never_read_as_sql(people):
    people.execute("CREATE TABLE secret AS SELECT 42 AS x")
    for table in ("(SELECT 1 AS age)", "people; DROP TABLE secret", "people WHERE age > 40"):
        with pytest.raises(duckdb.Error):
            people.execute(f"FROM {call('ppdm_risk', table, ['age'])}")
    with pytest.raises(duckdb.BinderException):
        people.execute(f"FROM {call('ppdm_risk', 'people', ['(SELECT MAX(x) FROM secret)'])}")
    assert people.execute("FROM secret").fetchall() == [(42,)]


def test_views_ctes_and_bound_parameters_are_measured_like_tables(people, usual):
    before = usual["people"]
    people.execute("CREATE VIEW seen AS FROM people")
    assert answers(people, "seen") == before
    for macro in MACRO_NAMES:
        relation = call(macro, "here", ["age", "zip"], *ARGUMENTS[macro])
        found = people.execute(f"WITH here AS (FROM people) SELECT * FROM {relation}").fetchall()
        assert sorted(found, key=repr) == before[macro]
        holes = ", ".join("?" for _ in range(2 + len(ARGUMENTS[macro])))
        found = people.execute(f"FROM {macro}({holes})", ["people", ["age", "zip"], *ARGUMENTS[macro]]).fetchall()
        assert sorted(found, key=repr) == before[macro]


def test_the_macros_stand_alone_in_any_schema(people, usual):
    """A macro that called another one would look for it in the caller's search path."""
    for macro in MACRO_NAMES:
        people.execute(f"DROP MACRO TABLE {macro}")
    people.execute("CREATE SCHEMA tools; USE tools;" + MACROS + "; USE main")
    assert answers(people, prefix="tools.") == usual["people"]


def test_a_file_opened_for_reading_only(people, usual, tmp_path):
    """Macros kept in the file work; without them, macros of the session reach an attached file."""
    before = usual["people"]
    file = str(tmp_path / "clinic.duckdb")
    with duckdb.connect(file) as con:
        con.execute(MACROS)
        load_people(con)
    with duckdb.connect(file, read_only=True) as con:
        assert answers(con) == before
    people.execute(f"ATTACH '{file}' AS clinic (READ_ONLY)")
    people.execute("DROP TABLE people")
    assert answers(people, "clinic.main.people") == before
    assert answers(people, f"{quoted('clinic')}.{quoted('main')}.{quoted('people')}") == before
