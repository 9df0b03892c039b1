"""ppdm profile: a table, a SELECT or a file; text, JSON and a page; wrong calls."""

from __future__ import annotations

import duckdb
import pytest

DB = ("--db", "clinic.duckdb")


def test_a_table_and_a_select(ppdm, clinic):
    found = ppdm(*DB, "profile", "people", "--json").json
    assert (found["table"], found["rows"], found["quasi"]) == ("people", 100, ["age", "zip"])
    assert [(one["column"], one["role"]) for one in found["columns"]] == [
        ("id", "IDENTIFIER"), ("age", "QUASI IDENTIFIER"), ("zip", "QUASI IDENTIFIER"), ("illness", "SENSITIVE"),
    ]  # fmt: skip
    assert found["risk"]["unique_rows"] == 100
    text = ppdm(*DB, "profile", "SELECT zip, illness FROM people", "--quasi", "zip")
    assert (text.code, text.err) == (0, "")
    assert "the selected rows: 100 rows, 2 columns" in text.out
    assert "0 of 100 rows unique; prosecutor 4 % highest" in text.out


def test_a_file_needs_no_database(ppdm, clinic):
    with duckdb.connect(str(clinic / "clinic.duckdb")) as con:
        con.execute(f"COPY people TO '{clinic / 'people.parquet'}'")
        con.execute(f"COPY people TO '{clinic / 'people.csv.gz'}'")
    by_table = ppdm(*DB, "profile", "people", "--json").json
    for name in ("people.parquet", "people.csv.gz"):
        found = ppdm("profile", name, "--json").json
        assert found["table"] == name
        assert [(one["column"], one["unique_rows"]) for one in found["columns"]] == [
            (one["column"], one["unique_rows"]) for one in by_table["columns"]
        ]


def test_the_page_is_private_and_overwrites_its_own_kind_only(ppdm, clinic, monkeypatch):
    from ppdm_sql.report import charts
    from ppdm_sql.report.svg import embed_drawing

    frame = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>'
    monkeypatch.setattr(charts, "_draw", lambda chart, key, title, told: embed_drawing(frame, key, title, told))
    for _ in range(2):
        done = ppdm(*DB, "profile", "people", "--fraction", "10%", "--html", "people.html")
        assert (done.code, "wrote people.html" in done.out) == (0, True), done.err
    page = clinic / "people.html"
    assert page.stat().st_mode & 0o077 == 0
    text = page.read_text()
    assert all(word in text for word in ("table profile", "Columns together", "Pitman&#39;s estimate", "illness"))
    assert "illness 1" not in text  # a value
    page.write_text("mine")
    assert ppdm(*DB, "profile", "people", "--html", "people.html").code == 2
    assert page.read_text() == "mine"
    assert ppdm(*DB, "profile", "people", "--html", "people.html", "--force").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody"], "table nobody does not exist"),
        (["people", "--quasi", "zipp"], "--quasi zipp: no such column: did you mean zip?"),
        (["people", "--fraction", "0"], "above 0 and up to 1"),
        (["people", "--fraction", "a lot"], "above 0 and up to 1"),
        (["people", "--html", "nowhere/people.html"], "does not exist"),
        (["broken.parquet"], "broken.parquet cannot be read as PARQUET"),
        (["missing.csv"], "expected the name of a table"),
    ],
)
def test_a_wrong_call_is_exit_2(ppdm, clinic, arguments, message):
    (clinic / "broken.parquet").write_text("not parquet")
    done = ppdm(*DB, "profile", *arguments)
    assert (done.code, message in done.err) == (2, True), done.err
