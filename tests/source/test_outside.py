"""Sources outside of the database: files, attached databases, data frames.  A table of the same rows is the yardstick."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
from sqlglot import exp, parse_one

import ppdm_sql
from ppdm_sql.engines.outside import is_outside
from ppdm_sql.errors import EngineError, PolicyError, RequirementBreached, SchemaDrifted

pytestmark = pytest.mark.duckdb

PEOPLE = """SELECT range AS id, 20 + range * 7 % 60 AS age, 10000 + range * 13 % 50 AS zip,
    ['flu', 'cold', 'cough'][1 + range * 31 % 3] AS ill FROM range(400)"""
CLAUSE = """WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = {k} QUASI IDENTIFIER (age, zip) SENSITIVE (ill)
    ENTITY (id) SEED 1)"""


def publishing(source, name="people_open", k=5, what="TABLE", more="", clause=CLAUSE):
    return f"CREATE OR REPLACE {what} {name} {more} AS SELECT id, age, zip, ill FROM {source} " + clause.format(k=k)


def by_zip(source):
    """Another recoding, which separates people whom the first one hides."""
    coarse = "QUASI IDENTIFIER (zip, age HIERARCHY INTERVALS (3, 30))"
    return publishing(source, "second_open", clause=CLAUSE.replace("QUASI IDENTIFIER (age, zip)", coarse))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    inside = tmp_path / "in"
    inside.mkdir()
    duckdb.execute(f"COPY ({PEOPLE}) TO 'in/people.parquet'")
    duckdb.execute(f"COPY ({PEOPLE} ORDER BY range LIMIT 150) TO 'in/first.parquet'")
    duckdb.execute(f"COPY ({PEOPLE} ORDER BY range OFFSET 150) TO 'in/second.parquet'")
    duckdb.execute(f"COPY ({PEOPLE}) TO 'in/people.csv' (HEADER, DELIM ';')")
    with duckdb.connect("in/raw.duckdb") as raw:
        raw.execute(f"CREATE TABLE people AS {PEOPLE}")
        raw.execute("CREATE VIEW shown AS FROM people")
    return inside


@pytest.fixture
def opened(folder):
    with ppdm_sql.connect("clinic.duckdb", create=True, allow=["in"]) as db:
        db.execute(f"CREATE TABLE people AS {PEOPLE}")
        db.execute("ATTACH 'in/raw.duckdb' AS raw (READ_ONLY)")
        db.register("pandas_people", duckdb.sql(PEOPLE).df())
        db.register("arrow_people", duckdb.sql(PEOPLE).to_arrow_table())
        yield db


SOURCES = [
    ("'in/people.parquet'", ["file:{folder}/people.parquet"]),
    ('"in/people.parquet" AS p', ["file:{folder}/people.parquet"]),
    ("read_parquet(['in/second.parquet', 'in/first.parquet'])", ["file:{folder}/first.parquet", "file:{folder}/second.parquet"]),
    ("read_csv('in/people.csv', delim = ';', header = true)", ["file:{folder}/people.csv"]),
    ("raw.people", ["file:{folder}/raw.duckdb main.people"]),
    ("raw.main.people AS p", ["file:{folder}/raw.duckdb main.people"]),
    ("pandas_people", ["frame:pandas_people"]),
    ("arrow_people", ["frame:arrow_people"]),
    ("(SELECT * FROM 'in/people.parquet' WHERE id >= 0) AS p", ["file:{folder}/people.parquet"]),
]  # fmt: skip


def test_a_release_is_that_of_a_table_and_the_ledger_has_one_name_for_each_source(opened, folder):
    of_table = opened.publish(publishing("people"))
    expected = sorted(of_table.df().itertuples(index=False))
    for source, names in SOURCES:
        name = "other_open"
        release = opened.publish(publishing(source, name))
        assert list(release.record.sources) == [one.format(folder=folder) for one in names], source
        assert sorted(release.df().itertuples(index=False)) == expected, source
        assert release.df().groupby(["age", "zip"]).size().min() >= 5
        assert release.record.manifest.joint, "the table's release must have been found"
        assert opened.verify(name).holds
        assert set(release.record.roles.tables or {}) == {"\n".join(release.record.sources)}
        opened.drop(name)


def test_people_count_wherever_they_come_from(opened):
    """Copies under any name are the same people: a second recoding of them is refused."""
    opened.publish(publishing("'in/people.parquet'"))
    for source in ("people", "raw.people", "pandas_people", "read_csv('in/people.csv', delim = ';')"):
        with pytest.raises(RequirementBreached, match="joint classes"):
            opened.publish(by_zip(source))
    copied = "(SELECT id + 100000 AS id, age, zip, ill FROM 'in/people.parquet') AS p"
    with pytest.raises(RequirementBreached):  # of the same file, whatever the ids are
        opened.publish(by_zip(copied))
    assert [one.relation_name for one in opened.releases()] == ["people_open"]


def test_everything_that_can_be_asked_of_a_table_can_be_asked_of_a_file(opened):
    text = publishing("'in/people.parquet'")
    assert opened.plan(text).as_json()["holds"]
    assert opened.check(text).rows == 400
    assert opened.profile("SELECT age, zip FROM 'in/people.parquet'").rows == 400
    assert opened.check_table("SELECT * FROM raw.people", ["age", "zip"]).rows == 400
    figures = opened.evaluate(text, methods=["mondrian"], grid=["k=5"], learner="none")
    assert {point.rows for point in figures.points} >= {400}
    assert not opened.releases()


def test_a_growing_release_reads_tonights_file(opened):
    clause = CLAUSE.replace("SEED 1", "KEY (id) SEED 1").replace("ENTITY (id)", "")
    opened.publish(publishing("'in/people.parquet'", more="GROWING", clause=clause))
    duckdb.execute(f"COPY ({PEOPLE.replace('range(400)', 'range(450)')}) TO 'in/people.parquet'")
    (night,) = opened.execute("REFRESH people_open")
    assert night.rows + night.as_json()["waiting"] == 450
    assert opened.verify("people_open").holds


def test_a_live_view_needs_a_table(opened):
    live = publishing("'in/people.parquet'", what="VIEW", more="LIVE", clause="""WITH ANONYMIZATION (ALGORITHM tpp
        REQUIRE k = 5 IDENTIFIER (id) QUASI IDENTIFIER (age, zip) TARGET (ill) ACCEPT RISK (live))""")  # fmt: skip
    with pytest.raises(PolicyError, match="publish a VIEW without LIVE"):
        opened.publish(live)
    assert not opened.releases()


# -- what changed, and what is wrong --------------------------------------------------------------------


def test_a_file_that_drifted_is_refused_and_the_release_stays(opened, folder):
    before = opened.publish(publishing("'in/people.parquet'"))
    duckdb.execute(f"COPY (SELECT * REPLACE (CAST(age AS TEXT) AS age) FROM ({PEOPLE})) TO 'in/people.parquet'")
    with pytest.raises(SchemaDrifted, match='column "age" was BIGINT and is VARCHAR'):
        opened.execute("REFRESH people_open")
    (folder / "people.parquet").unlink()
    with pytest.raises(SchemaDrifted, match="file in/people.parquet does not exist"):
        opened.execute("REFRESH people_open")
    assert opened.release("people_open").record.content_hash == before.record.content_hash
    assert opened.verify("people_open").holds


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("'in/nobody.parquet'", "does not exist"),
        ("'in/*.parquet'", "is a pattern"),
        ("read_parquet('in/people.csv')", "cannot be read by read_parquet"),
        ("read_csv('in/people.csv', store_rejects = true)", "cannot have store_rejects"),
        ("read_csv('in/people.csv', delim = ';' || '')", "must be a plain value"),
        ("read_csv('in/' || 'people.csv')", "takes the name of a file"),
        ("glob('in/*')", "read_parquet, read_csv or read_json"),
        ("raw.shown", "is a view of an attached database"),
        ("raw.nobody", "table raw.nobody does not exist"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(opened, source, told):
    with pytest.raises(PolicyError, match=told) as refused:
        opened.execute(publishing(source), file="night.sql")
    assert str(refused.value).startswith("night.sql:1:")
    assert not opened.releases()


def test_a_damaged_line_of_a_csv_file_is_named_without_its_values(opened, folder):
    with (folder / "people.csv").open("a") as file:
        file.write("401;John Smith;1;flu\n")
    types = "columns = {'id': 'BIGINT', 'age': 'INTEGER', 'zip': 'INTEGER', 'ill': 'TEXT'}"
    with pytest.raises(EngineError, match=r"line 402 of a CSV file cannot be read") as refused:
        opened.publish(publishing(f"read_csv('in/people.csv', delim = ';', header = true, {types})"))
    assert "John" not in str(refused.value)


def test_names_of_frames_are_plain_and_new(opened):
    for name, frame, told in (
        ("people", pa.table({"a": [1]}), "names a relation"),
        ("ppdm_people", pa.table({"a": [1]}), "plain name"),
        ("main.others", pa.table({"a": [1]}), "plain name"),
        ("others", object(), "expected a pandas DataFrame"),
    ):
        with pytest.raises(PolicyError, match=told):
            opened.register(name, frame)


def test_an_open_connection_reads_the_frames_registered_there(folder):
    connection = duckdb.connect()
    connection.register("people", duckdb.sql(PEOPLE).df())
    frame_in_a_variable = duckdb.sql(PEOPLE).df()
    with ppdm_sql.connect(connection) as db:
        assert db.publish(publishing("people")).record.sources == ("frame:people",)
        with pytest.raises(PolicyError, match="frame_in_a_variable does not exist"):
            db.publish(publishing("frame_in_a_variable", "other_open"))
        assert db.publish(publishing("'in/people.parquet'", "other_open")).rows == len(frame_in_a_variable)
    with pytest.raises(PolicyError, match="allow goes with a path"):
        ppdm_sql.connect(connection, allow=["in"])


def test_a_view_over_a_frame_is_followed_to_it(folder):
    connection = duckdb.connect()
    connection.register("people", duckdb.sql(PEOPLE).df())
    connection.execute("CREATE TEMP VIEW elder AS SELECT * FROM people WHERE age > 25")
    with ppdm_sql.connect(connection) as db:
        assert db.publish(publishing("elder")).record.sources == ("frame:people",)


def test_the_database_and_the_parser_are_both_asked(opened):
    """A table that the database alone sees counts, by the same name."""
    read = opened.engine.tables_read(None, "SELECT * FROM raw.people, 'in/people.parquet', pandas_people, people")
    assert all(is_outside(name) or name == "main.people" for name in read)
    assert len(read) == 3  # the frame is a view, and found by the parser
    assert opened.engine.find_outside(parse_one("FROM people").find(exp.Table)) is None
