"""Questions to the catalog on Spark: the copy in this process answers as the tables themselves would."""

import pyarrow as pa
import pytest
from sqlglot import exp, parse_one

from ppdm_sql.engines.facts import RelationFacts
from ppdm_sql.engines.spark import mirror as mirrors
from ppdm_sql.engines.spark.mirror import CatalogMirror
from ppdm_sql.statements.names import Name


class Catalog:
    """Tables somewhere else, and how often each of them is read."""

    def __init__(self, **tables):
        self.tables, self.reads = tables, []
        self.facts = RelationFacts()
        self.mirror = CatalogMirror(self.facts, self.read, lambda: "lake")

    def read(self, query):
        name = query.find(exp.Table).name
        self.reads.append(name)
        return pa.table(self.tables[name])

    def ask(self, text, **params):
        return self.mirror.fetch(parse_one(text, dialect="duckdb"), params)


@pytest.fixture
def catalog():
    made = Catalog(run={"id": [2, 1], "note": ["b", None]}, event={"seq": [7]}, ppdm_link_1={"x": [1]})
    with made.facts.kept():
        yield made
    made.mirror.close()


def test_a_table_is_read_once(catalog):
    assert catalog.ask("SELECT note FROM ppdm.run WHERE id = $id", id=2, other=3) == [("b",)]
    assert catalog.ask("SELECT COUNT(*) FROM ppdm.run AS r, ppdm.event AS e") == [(2,)]
    assert catalog.reads == ["run", "event"]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM people",
        "SELECT * FROM ppdm.run, people",
        "SELECT * FROM ppdm.ppdm_link_1",
        "SELECT * FROM other.run",
        "WITH run AS (SELECT 1) SELECT * FROM run, people",
        "SELECT 1",
        "SELECT id, CURRENT_TIMESTAMP FROM ppdm.run",
    ],
)
def test_other_questions_go_to_spark(catalog, text):
    assert catalog.ask(text) is None
    assert catalog.reads == []


def test_the_steps_of_a_question_are_no_tables(catalog):
    assert catalog.ask("WITH one AS (SELECT MAX(id) AS n FROM ppdm.run) SELECT n FROM one") == [(2,)]


def test_the_schema_is_that_of_the_session(catalog):
    assert catalog.ask("SELECT CURRENT_SCHEMA(), MAX(id) FROM ppdm.run") == [("lake", 2)]


def test_outside_of_a_call_nothing_is_kept():
    loose = Catalog(run={"id": [1]})
    assert loose.ask("SELECT id FROM ppdm.run") is None


def test_what_is_forgotten_is_read_again(catalog):
    assert catalog.ask("SELECT MAX(id) FROM ppdm.run") == [(2,)]
    catalog.tables["run"] = {"id": [9], "note": ["c"]}
    assert catalog.ask("SELECT MAX(id) FROM ppdm.run") == [(2,)]
    catalog.facts.forget_shared()  # the lock was taken
    assert catalog.ask("SELECT MAX(id) FROM ppdm.run") == [(9,)]


def insert_of(text):
    return parse_one(text, dialect="duckdb")


def test_an_insert_is_repeated_in_the_copy(catalog):
    asked = insert_of("INSERT INTO ppdm.run (id, note) SELECT $id, (SELECT MAX(seq) + 1 FROM ppdm.event)")
    plain = catalog.mirror.with_numbers(asked)
    assert plain.sql("duckdb") == "INSERT INTO ppdm.run (id, note) SELECT $id, 8"
    assert catalog.ask("SELECT COUNT(*) FROM ppdm.run") == [(2,)]
    catalog.mirror.insert(plain, {"id": 3})
    assert catalog.ask("SELECT note FROM ppdm.run WHERE id = 3") == [("8",)]
    assert catalog.reads == ["event", "run"]


def test_an_insert_from_elsewhere_gives_the_copy_up(catalog):
    assert catalog.ask("SELECT COUNT(*) FROM ppdm.run") == [(2,)]
    asked = insert_of("INSERT INTO ppdm.run SELECT id, note FROM people")
    assert catalog.mirror.with_numbers(asked) == asked
    catalog.tables["run"] = {"id": [1, 2, 3], "note": ["a", "b", "c"]}
    catalog.mirror.insert(asked, {})
    assert catalog.ask("SELECT COUNT(*) FROM ppdm.run") == [(3,)]


def test_a_large_table_stays_where_it_is(catalog, monkeypatch):
    monkeypatch.setattr(mirrors, "MOST_ROWS", 1)
    assert catalog.ask("SELECT COUNT(*) FROM ppdm.run") is None
    assert catalog.ask("SELECT COUNT(*) FROM ppdm.event") == [(1,)]
    assert catalog.facts.known("copy", Name("ppdm", "run")) is False
