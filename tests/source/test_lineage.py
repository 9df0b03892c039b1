"""Where columns come from: through subqueries, WITH, views, joins, set operations and SELECT *."""

from __future__ import annotations

import pytest
from sqlglot import parse_one

from ppdm_sql.source.lineage import WINDOW, Lineage
from ppdm_sql.statements.names import Name

PEOPLE = {"id": "INTEGER", "age": "INTEGER", "zip": "TEXT"}
VISITS = {"pid": "INTEGER", "ward": "TEXT", "age": "INTEGER"}


@pytest.fixture
def made_of(engine, make_table):
    """Columns of a query as {name: the columns behind it}."""
    make_table(engine, "people", PEOPLE, [(1, 2, "3")])
    make_table(engine, "visits", VISITS, [(1, "a", 2)])
    home = engine.qualified_name(Name("people")).rsplit(".", 1)[0]

    def of(query: str, *views: str) -> dict[str, str]:
        for view in views:
            engine.pass_through(view)
        found = Lineage(engine).columns(parse_one(query, dialect=engine.dialect))
        return {
            name: " ".join(sorted(f"{table.removeprefix(home + '.')}.{column}" for table, column in one.columns))
            for name, one in found.items()
        }

    return of


QUERIES = {
    "SELECT age AS a, zip || 'x' AS z FROM people": {"a": "people.age", "z": "people.zip"},
    "SELECT * FROM people": {"id": "people.id", "age": "people.age", "zip": "people.zip"},
    "SELECT q.r FROM (SELECT *, age AS r FROM people) AS q": {"r": "people.age"},
    "WITH q AS (SELECT zip AS z FROM people), r AS (SELECT z AS y FROM q) SELECT y FROM r": {"y": "people.zip"},
    "WITH q (a, b) AS (SELECT age, zip FROM people) SELECT b FROM q": {"b": "people.zip"},
    "SELECT p.age, v.age AS other FROM people AS p JOIN visits AS v ON v.pid = p.id": {
        "age": "people.age", "other": "visits.age",
    },
    "SELECT a.age, b.age AS other FROM people AS a, people AS b": {"age": "people.age", "other": "people.age"},
    "SELECT age AS x FROM people UNION ALL SELECT pid FROM visits": {"x": "people.age visits.pid"},
    "SELECT CASE WHEN age > 40 THEN 'old' ELSE 'young' END AS x FROM people": {"x": "people.age"},
    "SELECT (SELECT MAX(v.ward) FROM visits AS v WHERE v.pid = p.id) AS w FROM people AS p": {
        "w": "people.id visits.pid visits.ward",
    },
    "SELECT EXISTS (SELECT 1 FROM visits WHERE p.age > 40) AS x FROM people AS p": {"x": "people.age"},
    "SELECT COUNT(*) OVER (PARTITION BY zip) AS n FROM people": {"n": "people.zip"},
    "SELECT 1 AS one FROM people": {"one": ""},
    "SELECT x FROM (SELECT age AS x FROM people) AS q (x)": {"x": "people.age"},
    "WITH people AS (SELECT ward AS age FROM visits) SELECT age FROM people": {"age": "visits.ward"},
    "WITH RECURSIVE r AS (SELECT age AS n FROM people UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT n FROM r": {
        "n": "people.age",
    },
}  # fmt: skip


@pytest.mark.parametrize("query", QUERIES)
def test_columns_are_followed_to_their_tables(made_of, query):
    assert made_of(query) == QUERIES[query]


def test_views_are_followed(made_of):
    views = ("CREATE VIEW one AS SELECT id, zip AS z FROM people", "CREATE VIEW two (a, b) AS SELECT * FROM one")
    assert made_of("SELECT b AS c FROM two", *views) == {"c": "people.zip"}


ONLY_DUCKDB = {
    "SELECT * EXCLUDE (age) REPLACE (age AS zip) FROM people": {"id": "people.id", "zip": "people.age"},
    "FROM people SELECT age AS a, a + 1 AS b": {"a": "people.age", "b": "people.age"},
    "SELECT v FROM (UNPIVOT people ON id, age INTO NAME n VALUE v) AS q": {"v": "people.age people.id"},
    "SELECT n FROM (UNPIVOT people ON id, age INTO NAME n VALUE v) AS q": {"n": ""},
    "SELECT COLUMNS('a.*') FROM people": dict.fromkeys(PEOPLE, "people.age people.id people.zip"),
    "SELECT p FROM people AS p": {"p": "people.age people.id people.zip"},
    "SELECT l.x FROM people, LATERAL (SELECT age + 1 AS x) AS l": {"x": "people.age"},
    "SELECT age FROM people UNION BY NAME SELECT age FROM visits": {"age": "people.age visits.age"},
}


@pytest.mark.duckdb
@pytest.mark.parametrize("query", ONLY_DUCKDB)
def test_columns_of_duckdbs_own_syntax(duckdb_engine, make_table, query):
    make_table(duckdb_engine, "people", PEOPLE, [(1, 2, "3")])
    make_table(duckdb_engine, "visits", VISITS, [(1, "a", 2)])
    duckdb_engine.pass_through(query)  # it is a query
    found = Lineage(duckdb_engine).columns(parse_one(query, dialect="duckdb"))
    told = {name: " ".join(sorted(f"{t[5:]}.{c}" for t, c in one.columns)) for name, one in found.items()}
    assert told == ONLY_DUCKDB[query]


def test_what_a_column_passes_through_is_known(engine, make_table):
    make_table(engine, "people", PEOPLE, [(1, 2, "3")])
    query = (
        "SELECT LOWER(k) AS k, n FROM (SELECT UPPER(zip) AS k, ROW_NUMBER() OVER (ORDER BY id) AS n FROM people) AS q"
    )
    found = Lineage(engine).columns(parse_one(query, dialect=engine.dialect))
    assert {"lower", "upper"} <= found["k"].calls
    assert WINDOW in found["n"].calls


def test_the_same_expression_has_the_same_text_through_a_view(engine, make_table):
    make_table(engine, "people", PEOPLE, [(1, 2, "3")])
    engine.pass_through("CREATE VIEW shifted AS SELECT id + 1000 AS id, zip AS z FROM people")
    texts = [
        Lineage(engine).columns(parse_one(query, dialect=engine.dialect))["id"].text
        for query in ("SELECT id FROM people", "SELECT id FROM shifted", "SELECT p.id FROM people AS p")
    ]
    assert texts[0] == texts[2] == "id"
    assert texts[1] != "id"
