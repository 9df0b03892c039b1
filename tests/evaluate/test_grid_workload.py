"""A grid with the analysts' queries, and what of its folds is kept for the tests of significance."""

from __future__ import annotations

import csv
import io
from statistics import fmean

import pytest
from test_grid import SIMPLE, TYPES, clinic_query, grid, people, published

from ppdm_sql.catalog import evaluations
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import PolicyError
from ppdm_sql.evaluate import output
from ppdm_sql.evaluate.compare import in_words
from ppdm_sql.evaluate.workload import mean_error, read_workload, workload_error
from ppdm_sql.session import Session
from ppdm_sql.statements.names import SCHEMA, Name
from ppdm_sql.watching import silent

QUERIES = """
SELECT COUNT(*) FROM data;
SELECT "home town", COUNT(*) FROM data GROUP BY "home town";
SELECT AVG(age) FROM data;
SELECT illness, COUNT(*) FROM data WHERE sex = 'f' GROUP BY illness;
"""


@pytest.fixture
def clinic(duckdb_engine, make_table) -> DuckDBEngine:
    make_table(duckdb_engine, "people", TYPES, people(200))
    return duckdb_engine


@pytest.fixture
def asked(tmp_path):
    file = tmp_path / "asked.sql"
    file.write_text(QUERIES, encoding="utf-8")
    return file


def test_the_errors_are_those_of_the_release_that_would_be_published(clinic, asked, tmp_path):
    found = grid(clinic, grid=("k=8",), learner="none", workload=asked)
    session = Session(clinic, out=tmp_path, show_values=False, progress=silent)
    assert found.baseline.workload_error is None
    for point in found.points:
        session.publish(point.statement.removesuffix(";"))
        errors = workload_error(clinic, read_workload(asked), Name("people"), Name("people_open"))
        assert point.workload_error == float(mean_error(errors)) > 0
        assert point.workload_answered == sum(one.answered for one in errors) / 4
        session.drop("people_open")
    rows = list(csv.DictReader(io.StringIO(output.as_csv(found))))
    assert [row["workload_error"] for row in rows] == ["", *(str(point.workload_error) for point in found.points)]
    kept = evaluations.find_same(clinic, found.fingerprint)
    assert [one.workload_error for one in kept.points] == [one.workload_error for one in found.points]


@pytest.mark.postgres
def test_another_engine_asks_alike(postgres_engine, make_table, duckdb_engine, asked):
    found = []
    for one in (postgres_engine, duckdb_engine):
        make_table(one, "people", TYPES, people(80))
        (point,) = grid(one, methods=("mondrian",), grid=("k=8",), learner="none", workload=asked).points
        found.append((point.workload_error, point.workload_answered))
    assert found[0] == pytest.approx(found[1])
    assert found[0][1] == 0.75  # ages became labels


def test_the_working_columns_are_none_of_the_data(duckdb_engine, make_table, asked):
    """A person's number is not published; what travels next to a release is not to be asked either."""
    make_table(
        duckdb_engine, "people", {"who": "INTEGER", **TYPES}, [(n // 3, *row) for n, row in enumerate(people(150))]
    )
    asked.write_text("SELECT COUNT(DISTINCT who) FROM data; SELECT illness, paid FROM data; SELECT * FROM data")
    text = SIMPLE.replace("SELECT age", "SELECT who, age").replace("SEED 4", "ENTITY (who) SEED 4")
    (point,) = grid(duckdb_engine, text, methods=("mondrian",), grid=("k=4",), learner="none", workload=asked).points
    assert point.workload_answered == pytest.approx(1 / 3)
    assert point.workload_error == pytest.approx(2 / 3)


def test_a_model_has_no_rows_to_ask(clinic, asked):
    text = SIMPLE.replace("people\n", 'people WHERE "home town" IS NOT NULL\n').replace(", simple_l = 1.1", "")
    text = text.replace("SENSITIVE (illness)", "INSENSITIVE (illness)")
    (point,) = grid(clinic, text, methods=("kadet",), grid=("k=5",), learner="none", workload=asked).points
    assert (point.status, point.workload_error, point.workload_answered) == ("measured", None, None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SELECT 1 FROM data;\nDROP TABLE people", r"asked\.sql:2:1: query 2: a workload can contain only queries"),
        ("SELECT 1 FROM data;\n SELECT 1 FROM people", r"asked\.sql:2:2: query 2: it reads something other than data"),
        ("SELECT 1 FROM data;\nSELECT salary FROM data", r"asked\.sql:2:1: query 2: it fails on the raw data"),
        ("", r"asked\.sql: the file contains no query"),
    ],
)
def test_a_mistake_is_told_before_anything_is_begun(clinic, asked, text, why):
    asked.write_text(text)
    with pytest.raises(PolicyError, match=why):
        grid(clinic, workload=asked)
    assert clinic.relation_kind(Name(SCHEMA, "evaluation")) is None


@pytest.mark.wide
def test_other_queries_are_measured_anew(clinic, asked):
    ids = {grid(clinic, methods=("mondrian",), grid=("k=8",), learner="none").evaluation_id}
    for text in (QUERIES, QUERIES + "\n-- again\n", QUERIES + "SELECT MAX(paid) FROM data"):
        asked.write_text(text)
        ids.add(grid(clinic, methods=("mondrian",), grid=("k=8",), learner="none", workload=asked).evaluation_id)
    assert len(ids) == 3  # a comment asks nothing


@pytest.mark.wide
def test_folds_are_kept_so_that_a_resumed_grid_tells_the_same(clinic):
    clinic.pass_through("DELETE FROM people WHERE age > 50")
    text = SIMPLE.replace(", simple_l = 1.1", "").replace('(age, "home town", sex)', "(sex) INSENSITIVE (age)")
    text = text.replace('age, "home town", sex', "age, sex")
    found = grid(clinic, text, grid=("k=5",), protocol="5x2", learner="naive_bayes")
    for point in (found.baseline, *found.points):
        assert len(point.folds) == 10
        assert point.accuracy == fmean(map(float, point.folds))
    lines = in_words(found)
    assert [line.split(":")[0] for line in lines] == ["k = 5"]
    assert "p = " in lines[0] or "p < " in lines[0]
    again = grid(clinic, text, grid=("k=5",), protocol="5x2", learner="naive_bayes")
    assert again.evaluation_id == found.evaluation_id
    assert in_words(again) == lines
    shown = output.as_json(again)
    assert [len(shown["differences"]), shown["ranks"], len(shown["areas"])] == [1, None, 0]
    assert shown["points"][0]["folds"] == [float(one) for one in found.points[0].folds]


def test_what_was_asked_is_not_in_the_catalog(clinic, asked):
    """A query may name a person; only its error is kept."""
    asked.write_text("SELECT COUNT(*) FROM data WHERE \"home town\" = 'Bergen'")
    grid(clinic, published(SIMPLE).text, methods=("mondrian",), grid=("k=8",), learner="none", workload=asked)
    for table in ("evaluation", "evaluation_point"):
        assert "Bergen" not in str(clinic.fetch(clinic_query(f"SELECT * FROM {SCHEMA}.{table}")))
