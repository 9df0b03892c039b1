"""What is done otherwise with many rows gives the same release."""

from __future__ import annotations

import random

import pytest
from sqlglot import exp

from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.methods.plan import ENTITY, PART, LabelTable, TablePlan
from ppdm_sql.planning import measure_table, staging
from ppdm_sql.planning.measure_table import CLASS, numbered_classes
from ppdm_sql.requirements import KAnonymity, SetAnonymity
from ppdm_sql.statements.names import Name, Word, column
from ppdm_sql.verify.relation import judge

COLUMNS = {"pid": "INTEGER", "age": "INTEGER", "town": "TEXT", "doctor": "TEXT", "ill": "TEXT"}
_DRAWN = random.Random(5)
# Common and rare values, so that classes lack rows which cells next to them can spare; some people have several rows.
ROWS = [
    (i % 700, 20 + int(30 * _DRAWN.random() ** 3), f"t{int(9 * _DRAWN.random() ** 4)}", f"d{i % 7}", f"i{i % 5}")
    for i in range(900)
]
PUBLISH = """CREATE TABLE {name} AS SELECT {who}age, town, doctor, ill FROM visits WITH ANONYMIZATION (ALGORITHM mondrian
    REQUIRE k = 6 {entity} QUASI IDENTIFIER (age, town) SENSITIVE (ill) INSENSITIVE (doctor) SEED 7)"""
OF_PERSONS = {"who": "pid, ", "entity": "ENTITY (pid)"}
OF_ROWS = {"who": "", "entity": ""}


@pytest.fixture
def published(duckdb_engine, make_table, open_session):
    make_table(duckdb_engine, "visits", COLUMNS, ROWS)
    session = open_session(duckdb_engine)

    def publish(name, words):
        sent: list[str] = []
        session.engine.on_statement = sent.append
        session.execute(PUBLISH.format(name=name, **words))
        assert any("ppdm_shares_" in one for one in sent), "no cell was divided"
        assert any("ppdm_shares_" in one for one in sent), "no cell was divided"
        found = session.engine.fetch(exp.select("*").from_(name)), session.release(name).record.content_hash
        session.drop(name)
        return found

    return publish


@pytest.mark.duckdb
@pytest.mark.parametrize("words", [OF_PERSONS, OF_ROWS], ids=["persons", "rows"])
def test_rows_that_are_joined_once_or_twice_are_the_same(published, monkeypatch, words):
    first = published("open", words)
    monkeypatch.setattr(DuckDBEngine, "repeats_subqueries", True)
    assert published("open", words) == first


@pytest.mark.duckdb
def test_rows_that_are_put_in_order_by_a_statement_of_its_own_are_the_same(published, monkeypatch):
    first = published("open", OF_PERSONS)
    monkeypatch.setattr(staging, "_MANY", 1)
    assert published("open", OF_PERSONS) == first


def test_persons_of_labels_that_are_printed_alike_are_counted_together(engine, make_table):
    """Part 0 and 2 print the same: persons 1 and 2 are in both, so 4 persons stand behind 6 rows."""
    rows = make_table(
        engine,
        "narrow",
        {PART: "INTEGER", ENTITY: "INTEGER"},
        [(0, 1), (0, 2), (0, 3), (2, 1), (2, 2), (2, 4), (1, 5), (1, 6), (1, None), (3, 7), (3, 8), (3, 8)],
    )
    labels = engine.work.load("labels", {PART: [0, 1, 2, 3], "a": ["x", None, "x", "NULL"], "b": ["y", "y", "y", "y"]})
    plan = TablePlan(
        exp.Select(expressions=[column(PART, "r"), column(ENTITY, "r")]).from_(rows.table("r")),
        published=("a", "b"),
        classes=4,
        rows=12,
        labels=LabelTable(labels, {"a": column("a", "l"), "b": column("b", "l")}),
    )
    staging.build_stage(engine, plan, 7)
    asked = [KAnonymity(3)]
    numbered = numbered_classes(engine, plan, ["a", "b"], asked)
    assert numbered is not None
    found = judge(engine, numbered, quasi=[CLASS], sensitive=[], requirements=asked, entity=ENTITY)
    wide = judge(engine, staging.STAGE, quasi=["a", "b"], sensitive=[], requirements=asked, entity=ENTITY)
    assert (found.rows, found.classes, found.findings) == (wide.rows, wide.classes, wide.findings)
    (finding,) = found.findings
    assert (finding.achieved, finding.breaching_classes, finding.breaching_rows) == (2, 2, 6)


def test_what_is_asked_of_single_columns_is_measured_on_the_labels(engine):
    plan = TablePlan(exp.Select(), ("a",), 1, 1, labels=LabelTable(Name("labels"), {"a": column("a", "l")}))
    assert numbered_classes(engine, plan, ["a"], [KAnonymity(3), SetAnonymity(3, (Word("a"),))]) is None


@pytest.mark.duckdb
def test_rows_that_are_not_those_of_the_stage_are_noticed(published, monkeypatch):
    """The persons are counted on rows that must be as many, in as many classes, as those that were stored."""
    make = measure_table.numbered_classes

    def lossy(engine, *more):
        table = make(engine, *more)
        engine.execute(
            exp.Delete(this=table.table(), where=exp.Where(this=exp.EQ(this=column(CLASS), expression=exp.convert(0))))
        )
        return table

    monkeypatch.setattr(measure_table, "numbered_classes", lossy)
    with pytest.raises(Exception, match="changed while k = 6 was measured"):
        published("open", OF_PERSONS)
