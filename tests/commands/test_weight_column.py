"""WEIGHT COLUMN from the command line: every command prints the risk with weights, and refuses with place and count."""

from __future__ import annotations

import duckdb
import pytest

DB = ("--db", "weights.duckdb")
LINE = "with weights the rows stand for 250 people; re-identification risk: 2 % highest, 2 % average (without weights"
POLICY = """CREATE OR REPLACE TABLE open AS SELECT age, ill, w FROM people
WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 5 QUASI IDENTIFIER (age) SENSITIVE (ill) WEIGHT COLUMN w);
"""


@pytest.fixture
def sample(tmp_path, ppdm):
    with duckdb.connect(str(tmp_path / "weights.duckdb")) as con:
        con.execute("CREATE TABLE people AS SELECT n % 5 AS age, CAST(n AS TEXT) AS ill, 10.0 AS w FROM range(25) r(n)")
    (tmp_path / "open.sql").write_text(POLICY)
    return tmp_path


def test_every_command_prints_it(ppdm, sample):
    for arguments in (("check", "open.sql"), ("plan", "open.sql"), ("run", "open.sql"), ("show", "open")):
        done = ppdm(*DB, *arguments)
        assert done.code == 0, done.err
        assert LINE in done.out.replace("\n", " "), arguments
    for command in ("plan", "run"):
        assert '"population": 250.0, "highest": 0.02' in ppdm(*DB, command, "open.sql", "--json").out
    found = ppdm(*DB, "check", "open.sql", "--json").json["sources"][0]["weighted_risk"]
    assert found == {
        "population": 250.0, "highest": 0.02, "average": 0.02, "unweighted_highest": 0.2, "unweighted_average": 0.2
    }  # fmt: skip


def test_the_report_and_the_exported_manifest_have_it(ppdm, sample):
    ppdm(*DB, "run", "open.sql")
    assert ppdm(*DB, "report", "open", "--out", "open.html").code == 0
    assert ppdm(*DB, "export", "open", "open.csv").code == 0
    page, manifest = (sample / "open.html").read_text(), (sample / "open.csv.manifest.json").read_text()
    assert "with weights, highest" in page
    assert "with weights, average" in page
    assert '"population": "250"' in manifest
    assert '"w"' not in manifest


def test_rows_without_a_weight_are_counted(ppdm, sample):
    (sample / "open.sql").write_text(
        POLICY.replace("ill, w FROM", "ill, CASE WHEN age = 1 THEN 0 ELSE w END AS w FROM")
    )
    done = ppdm(*DB, "run", "open.sql")
    assert done.code == 2
    assert "open.sql:2:" in done.err
    assert 'column "w" is not from 1 to 10,000,000,000 in 5 rows' in done.err.replace("\n", " ")
