"""Questions to the catalog on Spark: the copy in this process answers as the tables themselves would."""

import pyarrow as pa
import pytest
from sqlglot import exp, parse_one

from ppdm_sql.engines.facts import RelationFacts
from ppdm_sql.engines.spark import mirror as mirrors
from ppdm_sql.engines.spark.mirror import CatalogMirror
from ppdm_sql.errors import EngineError
from ppdm_sql.resources import folder
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import Name


class Catalog:
    """Tables somewhere else, and how often each of them is read."""

    def __init__(self, **tables):
        self.tables, self.views, self.queries, self.reads = tables, {}, {}, []
        self.folds = True
        self.facts = RelationFacts()
        self.mirror = CatalogMirror(self)

    dialect = "spark"

    def read_whole(self, name, limit):
        self.reads.append(name.last)
        made = self.views.get(name.last, lambda: self.tables[name.last])()
        if isinstance(made, Exception):
            raise made
        return pa.table(made)

    def relation_kind(self, name):
        return "view" if name.last in self.views else "table"

    def view_query(self, name):
        return self.queries.get(name.last)

    def path_schemas(self):
        return ["lake"]

    def ignores_case(self):
        return self.folds

    def ask(self, text, **params):
        return self.mirror.fetch(parse_one(text, dialect="duckdb"), params)


@pytest.fixture
def catalog():
    made = Catalog(run_event={"id": [2, 1], "note": ["b", None]}, setting={"seq": [7]}, run={"x": [1]})
    with made.facts.kept():
        yield made
    made.mirror.close()


def test_a_table_is_read_once(catalog):
    assert catalog.ask("SELECT note FROM ppdm.run_event WHERE id = $id", id=2, other=3) == [("b",)]
    assert catalog.ask("SELECT COUNT(*) FROM ppdm.run_event AS r, ppdm.setting AS e") == [(2,)]
    assert catalog.reads == ["run_event", "setting"]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM people",
        "SELECT * FROM ppdm.run_event, people",
        "SELECT * FROM ppdm.ppdm_link_1",
        "SELECT * FROM ppdm.run",  # the texts of statements: of any length
        "SELECT * FROM lake.ppdm.run_event",
        "DESCRIBE ppdm.run_event",
        "SELECT * FROM other.run_event",
        "WITH run_event AS (SELECT 1) SELECT * FROM run_event, people",
        "SELECT 1",
        "SELECT id, CURRENT_TIMESTAMP FROM ppdm.run_event",
    ],
)
def test_other_questions_go_to_spark(catalog, text):
    assert catalog.ask(text) is None
    assert catalog.reads == []


def test_the_steps_of_a_question_are_no_tables(catalog):
    assert catalog.ask("WITH one AS (SELECT MAX(id) AS n FROM ppdm.run_event) SELECT n FROM one") == [(2,)]


def test_the_schema_is_that_of_the_session(catalog):
    assert catalog.ask("SELECT CURRENT_SCHEMA(), MAX(id) FROM ppdm.run_event") == [("lake", 2)]


def test_outside_of_a_call_nothing_is_kept():
    loose = Catalog(run_event={"id": [1]})
    assert loose.ask("SELECT id FROM ppdm.run_event") is None


def test_what_is_forgotten_is_read_again(catalog):
    assert catalog.ask("SELECT MAX(id) FROM ppdm.run_event") == [(2,)]
    catalog.tables["run_event"] = {"id": [9], "note": ["c"]}
    assert catalog.ask("SELECT MAX(id) FROM ppdm.run_event") == [(2,)]
    catalog.facts.forget_shared()  # the lock was taken
    assert catalog.ask("SELECT MAX(id) FROM ppdm.run_event") == [(9,)]


def insert_of(text):
    return parse_one(text, dialect="duckdb")


def test_an_insert_is_repeated_in_the_copy(catalog):
    asked = insert_of("INSERT INTO ppdm.run_event (id, note) SELECT $id, (SELECT MAX(seq) + 1 FROM ppdm.setting)")
    plain = catalog.mirror.with_numbers(asked)
    assert plain.sql("duckdb") == "INSERT INTO ppdm.run_event (id, note) SELECT $id, 8"
    assert catalog.ask("SELECT COUNT(*) FROM ppdm.run_event") == [(2,)]
    catalog.mirror.insert(plain, {"id": 3})
    assert catalog.ask("SELECT note FROM ppdm.run_event WHERE id = 3") == [("8",)]
    assert catalog.reads == ["setting", "run_event"]


def test_an_insert_from_elsewhere_gives_the_copy_up(catalog):
    assert catalog.ask("SELECT COUNT(*) FROM ppdm.run_event") == [(2,)]
    asked = insert_of("INSERT INTO ppdm.run_event SELECT id, note FROM people")
    assert catalog.mirror.with_numbers(asked) == asked
    catalog.tables["run_event"] = {"id": [1, 2, 3], "note": ["a", "b", "c"]}
    catalog.mirror.insert(asked, {})
    assert catalog.ask("SELECT COUNT(*) FROM ppdm.run_event") == [(3,)]


def test_a_large_table_stays_where_it_is(catalog, monkeypatch):
    monkeypatch.setattr(mirrors, "MOST_ROWS", 1)
    assert catalog.ask("SELECT COUNT(*) FROM ppdm.run_event") is None
    assert catalog.ask("SELECT COUNT(*) FROM ppdm.setting") == [(1,)]
    assert catalog.facts.recall("copy", Name("ppdm", "run_event")) is False
    catalog.facts.forget_shared()
    assert catalog.ask("SELECT COUNT(*) FROM ppdm.run_event") is None
    assert catalog.reads == ["run_event", "setting"], "a large table is read once, whatever calls there are"


def test_an_insert_that_failed_gives_the_copy_up(catalog):
    """It may have written rows before its error."""
    assert catalog.ask("SELECT COUNT(*) FROM ppdm.run_event") == [(2,)]
    catalog.tables["run_event"] = {"id": [1, 2, 3], "note": ["a", "b", "c"]}
    catalog.mirror.give_up(insert_of("INSERT INTO ppdm.run_event (id, note) SELECT 3, 'c'"))
    assert catalog.ask("SELECT COUNT(*) FROM ppdm.run_event") == [(3,)]


def test_an_insert_that_the_copy_does_not_take_gives_it_up(catalog):
    assert catalog.ask("SELECT COUNT(*) FROM ppdm.run_event") == [(2,)]
    catalog.tables["run_event"] = {"id": [1, 2, 3], "note": ["a", "b", "c"]}
    catalog.mirror.insert(insert_of("INSERT INTO ppdm.run_event (id, later) SELECT 3, 'c'"), {})
    assert catalog.ask("SELECT COUNT(*) FROM ppdm.run_event") == [(3,)]


def test_a_view_shows_what_was_inserted_behind_it(catalog):
    events = catalog.tables["release_event"] = {"id": [1]}
    catalog.views["release_state"] = lambda: {"n": [len(events["id"])]}
    assert catalog.ask("SELECT n FROM ppdm.release_state, ppdm.release_event") == [(1,)]
    events["id"].append(2)
    catalog.mirror.insert(insert_of("INSERT INTO ppdm.release_event (id) SELECT 2"), {})
    assert catalog.ask("SELECT n FROM ppdm.release_state") == [(2,)]
    assert catalog.reads == ["release_state", "release_event", "release_state"]


def test_a_view_over_copied_tables_reads_their_copies(catalog):
    events = catalog.tables["release_event"] = {"id": [1]}
    catalog.views["release_state"] = lambda: pytest.fail("it was read as a table")
    catalog.queries["release_state"] = "SELECT MAX(`id`) AS n FROM `ppdm`.`release_event`"
    assert catalog.ask("SELECT n FROM ppdm.release_state") == [(1,)]
    catalog.mirror.insert(insert_of("INSERT INTO ppdm.release_event (id) SELECT 2"), {})
    assert catalog.ask("SELECT n FROM ppdm.release_state") == [(2,)]
    assert catalog.reads == ["release_event"]
    events["id"].append(3)
    catalog.mirror.give_up(insert_of("INSERT INTO ppdm.release_event (id) SELECT 3"))
    assert catalog.ask("SELECT n FROM ppdm.release_state") == [(3,)]


@pytest.mark.parametrize(
    "query", ["SELECT 1 AS n", "SELECT age AS n FROM people", "SELECT (", "SELECT lost AS n FROM ppdm.setting", None]
)
def test_a_view_of_anything_else_is_read_as_rows(catalog, query):
    catalog.views["release_state"] = lambda: {"n": [4]}
    catalog.queries["release_state"] = query
    assert catalog.ask("SELECT n FROM ppdm.release_state") == [(4,)]
    assert catalog.reads[-1:] == ["release_state"]


def test_what_cannot_be_read_is_asked_of_spark(catalog):
    catalog.tables["setting"] = EngineError("it is damaged")
    assert catalog.ask("SELECT MAX(seq) FROM ppdm.setting") is None
    assert catalog.ask("SELECT dropped FROM ppdm.run_event") is None


def test_only_numbers_are_put_into_an_insert(catalog):
    """A text of the catalog never becomes a part of a statement."""
    asked = insert_of("INSERT INTO ppdm.run_event (id, note) SELECT $id, (SELECT MAX(note) FROM ppdm.run_event)")
    assert catalog.mirror.with_numbers(asked) == asked


def test_a_session_that_tells_names_apart_by_case_is_asked_itself(catalog):
    catalog.folds = False
    assert catalog.ask("SELECT COUNT(*) FROM ppdm.run_event") is None
    assert catalog.reads == []


def test_the_folder_of_the_copies_is_private_and_goes_with_them(catalog):
    assert catalog.ask("SELECT COUNT(*) FROM ppdm.run_event") == [(2,)]
    kept = catalog.mirror._duckdb._temp
    assert kept.stat().st_mode & 0o777 == 0o700
    catalog.mirror.close()
    assert not kept.exists()


PARAMS = {
    "schema": None, "relation": "first", "live": False, "out": False, "limit": 9, "name": "salt", "release_id": None,
    "detail": "x",
}  # fmt: skip
TABLE = """CREATE TABLE first AS SELECT age, ill FROM people
    WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 2 QUASI IDENTIFIER (age) SENSITIVE (ill))"""


@pytest.mark.spark
def test_the_copies_answer_as_spark_does(spark_engine, make_table, open_session):
    """Every question to the catalog, with its values and their types."""
    make_table(spark_engine, "people", {"age": "INTEGER", "ill": "TEXT"}, [(age, f"i{age % 3}") for age in range(20)])
    session = open_session(spark_engine)
    session.execute(TABLE)
    known = {"release_id": session.releases()[0].release_id}
    asked = 0
    with spark_engine.workspace():
        for path in sorted((folder("sql") / "catalog").glob("*.sql")):
            query = question(f"catalog/{path.stem}")
            copied = spark_engine._mirror.fetch(query, PARAMS | known)
            if copied is not None:
                asked += 1
                there = super(type(spark_engine), spark_engine).fetch(query, **PARAMS | known)
                assert [[(type(one), one) for one in row] for row in copied] == [
                    [(type(one), one) for one in row] for row in there
                ], path.stem
    assert asked >= 12


def question(name):
    """A statement of sql/catalog with what stands in for its stand-ins."""
    parts = {
        "naming": statement("catalog/naming").subquery(),
        "chosen": exp.select("release_id", "state", "seq").from_("ppdm.release_state").subquery(),
        "wanted": exp.select(exp.Literal.string("default.people").as_("source")).subquery(),
        "events": Name("ppdm", "release_event").table(),
    }
    return statement(name, parts)
