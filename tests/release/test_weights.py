"""WEIGHT COLUMN: the risk with sampling weights against its definition, what is refused, and that no weight leaves."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction

import pytest
from sqlglot import parse_one

from ppdm_sql.checks.weighted_risk import weighted_risk
from ppdm_sql.errors import PolicyError
from ppdm_sql.policy import algorithms
from ppdm_sql.policy.grammar import parse
from ppdm_sql.policy.render import render_statement
from ppdm_sql.statements.names import Name
from tests.oracles import table_risk
from tests.sizes import seeds

COLUMNS = {"age": "INTEGER", "zip": "TEXT", "ill": "TEXT", "w": "DECIMAL(8, 2)"}
OF_ILL = {"flu": "1", "cold": "2.5", "ulcer": "300.25", None: "12"}  # so that published rows tell their weights
WEIGHTS = {
    "INTEGER": [1, 2, 10**9],
    "DECIMAL(8, 2)": [Decimal("1"), Decimal("7.25"), Decimal("3.10")],
    "DOUBLE": [1.0, 2.1, 1234567.5],
    "REAL": [1.0, 1234567.5, 2.25],
}


def statement(head="CREATE TABLE", method="mondrian", more="WEIGHT COLUMN w", k="k = 4", picked="age, zip, ill, w"):
    return f"""{head} open AS SELECT {picked} FROM people
WITH ANONYMIZATION (ALGORITHM {method} REQUIRE {k} QUASI IDENTIFIER (age, zip) {more})"""


HIDDEN = "SENSITIVE (ill) WEIGHT COLUMN w"


@pytest.fixture
def people(make_table):
    def filled(engine, rows=60, seed=2):
        draw = random.Random(seed)
        picked = [
            (draw.choice([None, *range(20, 45)]), draw.choice(["a", "é", None]), draw.choice(list(OF_ILL)))
            for _ in range(rows)
        ]
        make_table(engine, "people", COLUMNS, [(*row, Decimal(OF_ILL[row[2]])) for row in picked])

    return filled


def rows_of(engine, name="open"):
    found = engine.columns(Name(name))
    query = f"SELECT age, zip, ill FROM {name}"
    assert [info.name for info in found] == ["age", "zip", "ill"]
    rows = [dict(zip(("age", "zip", "ill"), row, strict=True)) for row in engine.fetch(parse_one(query))]
    return [{**row, "w": OF_ILL[row["ill"]]} for row in rows]


def assert_figures(record, rows, quasi=("age", "zip")):
    population, highest, mean = table_risk.weighted(rows, quasi, "w")
    numbers = record.to_numbers()
    assert numbers["population"] == pytest.approx(float(population), rel=1e-9)
    assert numbers["highest"] == pytest.approx(float(highest), rel=1e-3)
    assert numbers["average"] == pytest.approx(float(mean), rel=1e-3)
    assert numbers["unweighted_highest"] == pytest.approx(1 / min(table_risk.sizes(rows, quasi)), rel=1e-3)
    assert numbers["unweighted_average"] == pytest.approx(float(table_risk.average_risk(rows, quasi)), rel=1e-3)


def test_by_hand(engine, make_table):
    """(x) has three rows of 10 people in all, (NULL) one of 4: 1/10 three times and 1/4."""
    rows = [("x", 1), ("x", 2), ("x", 7), (None, 4)]
    relation = make_table(engine, "hand", {"q": "TEXT", "w": "INTEGER"}, rows)
    quasi, weight = engine.columns(relation)
    found = weighted_risk(engine, relation, [quasi], weight)
    assert (found.population, found.highest, found.average) == (14, Fraction(1, 4), pytest.approx(0.55 / 4, rel=1e-12))
    assert (found.unweighted_highest, found.unweighted_average) == (1, Fraction(1, 2))
    whole = weighted_risk(engine, relation, [], weight)
    assert (whole.highest, whole.unweighted_highest) == (Fraction(1, 14), Fraction(1, 4))


@pytest.mark.duckdb
def test_no_rows_have_no_risk(duckdb_engine, make_table):
    relation = make_table(duckdb_engine, "nobody", {"q": "TEXT", "w": "INTEGER"}, [])
    quasi, weight = duckdb_engine.columns(relation)
    assert weighted_risk(duckdb_engine, relation, [quasi], weight) is None
    assert weighted_risk(duckdb_engine, relation, [], weight) is None


@seeds(small=4, full=16, nightly=300)
def test_the_figures_are_those_of_the_definition(engine, make_table, seeds):
    for seed in seeds:
        draw = random.Random(seed)
        kind = list(WEIGHTS)[seed % len(WEIGHTS)]
        columns = {"a": "TEXT", 'b"': "DOUBLE", "w": kind}
        rows = [
            (
                draw.choice(["x", "é", None]),
                draw.choice([0.0, -0.0, 1.5, float("nan"), None]),
                draw.choice(WEIGHTS[kind]),
            )
            for _ in range(draw.choice([1, 7, 40]))
        ]
        relation = make_table(engine, f"weights_{seed}", columns, rows)
        infos = engine.columns(relation)
        found = weighted_risk(engine, relation, infos[:2], infos[2])
        named = [{"a": a, "b": str(b), "w": w} for a, b, w in rows]
        population, highest, mean = table_risk.weighted(named, ["a", "b"], "w")
        assert (found.population, found.highest) == (population, highest), seed
        assert found.average == pytest.approx(float(mean), rel=1e-12), seed
        assert found.unweighted_average == table_risk.average_risk(named, ["a", "b"]), seed


def test_a_release_says_the_risk_of_its_own_rows(engine, people, open_session):
    people(engine)
    session = open_session(engine)
    text = statement(more=HIDDEN)
    planned, published = session.plan(text), session.publish(text)
    assert_figures(published.weighted_risk, rows_of(engine))
    assert planned.weighted_risk == published.weighted_risk == published.record.manifest.weighted_risk
    assert published.as_json()["weighted_risk"] == published.weighted_risk.to_numbers()
    assert published.record.roles.weight == "w"
    assert '"w"' not in str(published.manifest)
    source = [dict(zip(COLUMNS, row, strict=True)) for row in engine.fetch(parse_one("SELECT * FROM people"))]
    assert_figures(session.check(text).weighted.to_record(), source)


@pytest.mark.duckdb
def test_every_method_carries_the_weights(duckdb_engine, people, open_session):
    people(duckdb_engine, rows=90)
    known = "age, zip, ill, w FROM people WHERE age IS NOT NULL AND zip IS NOT NULL AND ill IS NOT NULL --"
    session = open_session(duckdb_engine)
    for method in algorithms.makers_of("TABLE"):
        if not algorithms.parts_columns(method):
            more = "TARGET (ill) WEIGHT COLUMN w SUPERSEDES ALL"
            text = statement(head="CREATE OR REPLACE TABLE", method=method, more=more, picked=known)
            assert_figures(session.publish(text).weighted_risk, rows_of(duckdb_engine))


@pytest.mark.duckdb
def test_k_and_the_rows_are_the_same_without_weights(duckdb_engine, people, open_session):
    """Three releases: with weights, with published weights, and without any."""
    people(duckdb_engine)
    session = open_session(duckdb_engine)
    told = {}
    for name, more, picked in (
        ("hidden", HIDDEN, "age, zip, ill, w"),
        ("shown", f"{HIDDEN} INSENSITIVE (w)", "age, zip, ill, w"),
        ("none", "SENSITIVE (ill)", "age, zip, ill"),
    ):
        made = session.publish(
            statement(more=f"{more} SUPERSEDES ALL", picked=picked).replace(" open ", f" {name} "),
        )
        told[name] = (made.classes, [one.achieved for one in made.findings], made.weighted_risk)
        columns = [info.name for info in duckdb_engine.columns(Name(name))]
        assert ("w" in columns) is (name == "shown")
    assert told["hidden"] == told["shown"]
    assert told["hidden"][:2] == told["none"][:2]
    assert told["none"][2] is None


@pytest.mark.parametrize(
    ("select", "message"),
    [
        ("CASE WHEN age < 30 THEN NULL ELSE w END", "is NULL in"),
        ("CASE WHEN age IS NULL THEN 0.99 ELSE w END", "is not from 1 to 10,000,000,000 in"),
        ("CAST(CASE WHEN age IS NULL THEN 'nan' ELSE '2' END AS FLOAT)", "is not from 1 to"),
        ("CAST(CASE WHEN age IS NULL THEN 'infinity' ELSE '2' END AS FLOAT)", "is not from 1 to"),
    ],
)
def test_rows_that_stand_for_no_number_of_people(engine, people, open_session, select, message):
    people(engine)
    query = f"age, zip, ill, {select} AS w"
    bad = "age < 30" if "age < 30" in select else "age IS NULL"
    count = engine.fetch(parse_one(f"SELECT COUNT(*) FROM people WHERE {bad}"))[0][0]
    with pytest.raises(PolicyError, match=rf"^2:\d+: WEIGHT COLUMN: column .w. {message}.* {count} rows"):
        open_session(engine).publish(statement(more=HIDDEN, picked=query))
    assert engine.relation_kind(Name("open")) is None


@pytest.mark.duckdb
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"more": "SENSITIVE (ill) INSENSITIVE (w) WEIGHT COLUMN nope"}, 'column "nope" does not exist'),
        ({"more": "WEIGHT COLUMN ill", "picked": "age, zip, ill"}, 'column "ill" is VARCHAR, not a number'),
        ({"more": f"{HIDDEN} INSENSITIVE (w) ROUND (w TO 10)"}, "is the WEIGHT COLUMN, which is not changed"),
        ({"head": "CREATE MODEL", "method": "kadet", "more": f"{HIDDEN} TARGET (ill)"}, "not for a MODEL"),
        ({"method": "dmpd", "more": "TARGET (ill) WEIGHT COLUMN w"}, "dmpd makes several"),
    ],
)
def test_wrong_policies(duckdb_engine, people, open_session, options, message):
    people(duckdb_engine)
    with pytest.raises(PolicyError, match=r"2:\d+: .*") as refused:
        open_session(duckdb_engine).publish(statement(**options))
    assert message in str(refused.value)
    assert duckdb_engine.relation_kind(Name("open")) is None


@pytest.mark.parametrize(
    ("head", "form"), [("CREATE VIEW open LIVE", "a LIVE view"), ("CREATE TABLE open GROWING", "a GROWING release")]
)
def test_only_stored_releases_have_weights(head, form):
    with pytest.raises(PolicyError, match=f"WEIGHT COLUMN is for a TABLE or VIEW that is stored, not for {form}"):
        parse(statement(more=HIDDEN).replace("CREATE TABLE open", head))


def test_a_statement_with_weights_is_written_as_it_was_read():
    first = parse(statement(more='SENSITIVE (ill) WEIGHT COLUMN "w x"'))[0]
    assert 'WEIGHT COLUMN "w x"' in render_statement(first, "duckdb")
    assert parse(render_statement(first, "duckdb"))[0].policy == first.policy
