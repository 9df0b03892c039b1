"""The generic tests and the Python model in a real dbt project (make dbt installs dbt in an environment of its own)."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.engines.connect import inner_connection
from tests.sizes import HANGS

ROOT = Path(__file__).resolve().parents[2]
DBT = Path(os.environ.get("PPDM_DBT", ROOT / ".venv-dbt")) / "bin" / "dbt"
needs_dbt = pytest.mark.skipif(not DBT.exists(), reason="make dbt installs dbt")

PATIENTS = """SELECT range AS patient_id, 20 + range * 7 % 60 AS age, 10000 + range * 13 % 50 AS zip,
    ['flu', 'cold', 'cough'][1 + range * 31 % 3] AS diagnosis FROM range({rows})"""
POLICY = """CREATE OR REPLACE TABLE patients_release AS SELECT patient_id, age, zip, diagnosis FROM patients
WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = {k}, distinct_l = 2 ENTITY (patient_id)
    QUASI IDENTIFIER (age, zip) SENSITIVE (diagnosis) SEED 7)
"""
MODEL = """import ppdm_sql.dbt

def model(dbt, session):
    dbt.ref("patients")
    return ppdm_sql.dbt.release(dbt, session, "policies/patients.sql")
"""
QUASI = {"quasi": ["age", "zip"]}
VALUES = QUASI | {"sensitive": "diagnosis"}
HOLDS = [
    {"ppdm.ppdm_k": QUASI | {"k": 5}}, {"ppdm.ppdm_distinct_l": VALUES | {"l": 2}},
    {"ppdm.ppdm_simple_l": VALUES | {"l": 1.5}}, {"ppdm.ppdm_t": VALUES | {"t": 0.9}},
]  # fmt: skip
BREACHED = [
    {"ppdm.ppdm_k": QUASI | {"k": 5}}, {"ppdm.ppdm_k_of_persons": QUASI | {"entity": "patient_id", "k": 3}},
    {"ppdm.ppdm_distinct_l": VALUES | {"l": 2}}, {"ppdm.ppdm_simple_l": VALUES | {"l": 1.5}},
    {"ppdm.ppdm_confidence": VALUES | {"share": "1/2"}}, {"ppdm.ppdm_t": VALUES | {"t": 0.2}},
    {"ppdm.ppdm_recursive_l": VALUES | {"c": 1.5, "l": 2}}, {"ppdm.ppdm_entropy_l": VALUES | {"l": 2}},
    {"ppdm.ppdm_beta": VALUES | {"beta": 1}}, {"ppdm.ppdm_t_ordered": QUASI | {"sensitive": "patient_id", "t": 0.2}},
]  # fmt: skip


@pytest.fixture
def project(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "policies").mkdir()
    (tmp_path / "dbt_project.yml").write_text("name: clinic\nversion: 1.0.0\nprofile: clinic\nmodel-paths: [models]\n")
    (tmp_path / "packages.yml").write_text(f"packages:\n  - local: {ROOT}/integrations/dbt\n")
    target = {"type": "duckdb", "path": str(tmp_path / "clinic.duckdb"), "threads": 1}
    (tmp_path / "profiles.yml").write_text(json.dumps({"clinic": {"target": "dev", "outputs": {"dev": target}}}))
    (tmp_path / "models" / "patients.sql").write_text("{{ config(materialized='table') }} " + PATIENTS.format(rows=600))
    (tmp_path / "models" / "patients_open.py").write_text(MODEL)
    (tmp_path / "policies" / "patients.sql").write_text(POLICY.format(k=5))
    models = [{"name": "patients_open", "data_tests": HOLDS}, {"name": "patients", "data_tests": BREACHED}]
    (tmp_path / "models" / "models.yml").write_text(json.dumps({"version": 2, "models": models}))
    run_dbt(tmp_path, "deps")
    return tmp_path


def run_dbt(project, *arguments):
    """What a dbt command printed; the results of its nodes by name are in target/run_results.json."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
    call = [str(DBT), "--no-use-colors", *arguments, "--profiles-dir", "."]
    return subprocess.run(call, cwd=project, env=environment, capture_output=True, text=True, timeout=HANGS)


def results(project):
    found = json.loads((project / "target" / "run_results.json").read_text())["results"]
    return {one["unique_id"].split(".")[2]: (one["status"], one["failures"]) for one in found}


@needs_dbt
def test_a_model_is_published_and_the_generic_tests_measure_it(project):
    built = run_dbt(project, "run")
    assert built.returncode == 0, built.stdout
    tested = run_dbt(project, "test")
    found = results(project)
    assert len(found) == len(HOLDS) + len(BREACHED), tested.stdout
    for name, (status, failures) in found.items():
        of_release = "_patients_open_" in name
        assert (status, bool(failures)) == (("pass", False) if of_release else ("fail", True)), (name, tested.stdout)
    with ppdm_sql.connect(str(project / "clinic.duckdb")) as db:
        assert db.verify("patients_release").holds
        raw = duckdb.sql(PATIENTS.format(rows=600)).df()  # the oracle: small classes of the raw table
        (of_k,) = (found[name] for name in found if name.startswith("ppdm_ppdm_k_patients_") and "open" not in name)
        assert of_k == ("fail", int((raw.groupby(["age", "zip"]).size() < 5).sum()))
        copied = db.execute("SELECT count(*) FROM (FROM patients_open EXCEPT ALL FROM patients_release)")
        assert copied[0].table.rows == [(0,)]


@needs_dbt
def test_a_refused_policy_fails_the_model_and_leaves_its_table(project):
    assert run_dbt(project, "run").returncode == 0
    (project / "policies" / "patients.sql").write_text(POLICY.format(k=100000))
    refused = run_dbt(project, "run", "--select", "patients_open")
    assert refused.returncode == 1
    assert "nothing was published" in refused.stdout or "100000" in refused.stdout
    with ppdm_sql.connect(str(project / "clinic.duckdb")) as db:
        assert db.verify("patients_release").holds
        assert db.execute("SELECT count(*) FROM patients_open")[0].table.rows == [(600,)]
    (project / "models" / "models.yml").write_text(
        json.dumps(
            {"version": 2, "models": [{"name": "patients", "data_tests": [{"ppdm.ppdm_k": {"quasi": "age", "k": 5}}]}]}
        )
    )
    assert "quasi must be a list" in run_dbt(project, "test", "--select", "patients").stdout


# -- without dbt ---------------------------------------------------------------------------------------------


def wrapper(cursor):
    """As dbt-duckdb makes them: DuckDBConnectionWrapper over DuckDBCursorWrapper over a cursor."""
    kind = type("DuckDBCursorWrapper", (), {"__module__": "dbt.adapters.duckdb.environments.local"})
    inner, outer = kind(), kind()
    inner._cursor, outer._cursor = cursor, inner
    return outer


def test_a_cursor_and_a_wrapper_of_dbt_are_connections():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT range % 3 AS a FROM range(30)")
    for given in (connection.cursor(), wrapper(connection), wrapper(connection.cursor())):
        assert isinstance(inner_connection(given), duckdb.DuckDBPyConnection)
        with ppdm_sql.connect(given) as db:
            assert db.check_table("t", ["a"]).k == 10
    stranger = type("Cursor", (), {"_cursor": connection})()
    with pytest.raises(ppdm_sql.errors.PolicyError, match="got Cursor"):
        ppdm_sql.connect(stranger)
