"""What recipients with a DuckDB 1.x can do: read files, run certificates and use the macros, with its command line.

`make older` puts that command line into an environment of its own (requirements/older.txt); without it these tests skip.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import duckdb
import pytest

from ppdm_sql import resources
from tests.analyst.test_reading import LABELS

ROOT = Path(__file__).resolve().parents[2]
POLICY = """
CREATE TABLE people_open AS SELECT id, age, seen, sex, ill FROM people WITH ANONYMIZATION (
    ALGORITHM mondrian REQUIRE k = 5, distinct_l = 2 IDENTIFIER (id) SENSITIVE (ill)
    QUASI IDENTIFIER (age AS RANGE, seen HIERARCHY CALENDAR (month, year) AS MIDPOINT, sex))
"""


@pytest.fixture(scope="module")
def older() -> str:
    """The command line of a DuckDB 1.x."""
    places = [os.environ.get("PPDM_TEST_OLDER_DUCKDB"), str(ROOT / ".venv-older" / "bin" / "duckdb"), "duckdb"]
    client = next((found for place in places if place and (found := shutil.which(place))), None)
    if client is None:
        pytest.skip("there is no command line of DuckDB 1.x here: make older")
    version = subprocess.run([client, "--version"], capture_output=True, text=True, check=True).stdout
    if not version.startswith("v1."):
        pytest.skip("the duckdb command line here is no 1.x")
    return client


def asked(client: str, text: str, folder: Path | None = None) -> list[str]:
    """The lines that a script prints."""
    done = subprocess.run(
        [client, "-csv", "-noheader", "-bail"], input=text, capture_output=True, text=True, cwd=folder, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def tables(make_table):
    def filled(engine) -> None:
        engine._connection.execute(
            """CREATE TABLE people AS SELECT i::INTEGER AS id, (20 + i * 7 % 50)::INTEGER AS age, DATE '2020-01-01' + (i % 400)::INTEGER AS seen,
            CASE WHEN i % 3 = 0 THEN 'f' ELSE 'm' END AS sex, 'ill ' || i % 4 AS ill FROM range(200) AS t(i)"""
        )

    return filled


@pytest.fixture
def released(duck):
    duck.publish(POLICY)
    return duck


def literal(label: str | None) -> str:
    return "NULL::VARCHAR" if label is None else f"'{label}'"


def test_the_macros_read_the_same(older):
    asks = ["ppdm_lower", "ppdm_upper", "ppdm_mid"]
    places = [
        f"SELECT {', '.join(f'{one}({literal(label)})' for one in asks)}, ppdm_contains({literal(label)}, 66), "
        f"ppdm_overlaps({literal(label)}, 60, 70), ppdm_share({literal(label)}, 60, 67);"
        for label in (*LABELS, "{a, b}", "old", "")
    ]
    moments = [
        f"SELECT ppdm_lower_date('{label}')::VARCHAR, ppdm_mid_date('{label}')::VARCHAR, "
        f"ppdm_contains_date('{label}', DATE '2003-06-01'), "
        f"ppdm_share_date('{label}', DATE '2003-02-01', DATE '2003-03-01');"
        for label in ("2003-01-01", "[2003-01-01, 2004-01-01)", "< 2003-01-01 00:00:00+00", "*", "2003-Q4", "2000s")
    ]
    theirs = asked(older, "\n".join([resources.sql_text("analyst/read"), ".nullvalue NULL", *places, *moments]))
    with duckdb.connect() as connection:
        connection.execute(resources.sql_text("analyst/read"))
        ours = [connection.execute(text).fetchone() for text in (*places, *moments)]

    def told(value: object) -> str:
        return "NULL" if value is None else str(value).lower() if isinstance(value, bool) else str(value)

    assert theirs == [",".join(map(told, row)) for row in ours]


def test_the_risk_macros_measure_the_same(older):
    made = "CREATE TABLE people AS SELECT i % 5 AS a, i % 3 AS b, i % 4 AS s FROM range(100) t(i);"
    asks = [
        f"SELECT * FROM {call};"
        for call in (
            "ppdm_k_anonymity('people', ['a', 'b'])",
            "ppdm_l_diversity('people', ['a', 'b'], 's')",
            "ppdm_t_closeness('people', ['a'], 's')",
        )
    ]
    theirs = asked(older, "\n".join([resources.sql_text("analyst/ppdm"), made, *asks]))
    with duckdb.connect() as connection:
        connection.execute(resources.sql_text("analyst/ppdm"))
        connection.execute(made)
        rows = [row for text in asks for row in connection.execute(text).fetchall()]
    assert len(theirs) == len(rows)
    for line, row in zip(theirs, rows, strict=True):
        assert [part or "None" for part in line.split(",")][: len(row)] == [str(value) for value in row]


@pytest.mark.parametrize("ending", ["duckdb", "parquet", "csv"])
def test_a_file_is_read_and_its_certificate_holds(older, released, tmp_path, ending):
    options = {"storage_version": "v1.2.0"} if ending == "duckdb" else {}
    done = released.export("people_open", f"open.{ending}", options)
    lines = asked(older, Path(done.certificate).read_text(encoding="utf-8"), tmp_path)
    *proofs, content = lines
    assert proofs
    assert [line.split(",")[-1] for line in proofs] == ["holds"] * 2
    assert content in Path(done.manifest).read_text(encoding="utf-8")
    if ending == "duckdb":
        (rows,) = asked(
            older,
            "ATTACH 'open.duckdb' AS o (READ_ONLY); SELECT COUNT(*), COUNT(age_from) FROM o.people_open;",
            tmp_path,
        )
        assert rows.startswith("200,")


def test_a_view_is_published_into_a_file_made_by_it(older, tmp_path, open_session):
    """A stored view needs nothing that files of DuckDB 1.x lack."""
    from ppdm_sql.engines.duckdb import DuckDBEngine

    made = """ATTACH 'old.duckdb' AS old; CREATE TABLE old.people AS SELECT i::INTEGER AS id, (i % 50)::INTEGER AS age,
        DATE '2020-01-01' + (i % 400)::INTEGER AS seen, 'f' AS sex, 'ill ' || i % 4 AS ill FROM range(200) AS t(i);"""
    asked(older, made, tmp_path)
    with DuckDBEngine.open(str(tmp_path / "old.duckdb")) as engine:
        session = open_session(engine)
        session.publish(POLICY.replace("TABLE", "VIEW", 1))
        assert session.verify("people_open").holds
    (rows,) = asked(older, "ATTACH 'old.duckdb' AS old (READ_ONLY); SELECT COUNT(*) FROM old.people_open;", tmp_path)
    assert rows == "200"
