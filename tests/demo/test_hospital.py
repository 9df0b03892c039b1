"""The demo's table is the same everywhere, looks like a hospital's, and is worth protecting."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import duckdb
import pytest

from ppdm_sql import resources
from ppdm_sql.engines.base import Kind
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.policy.grammar import read
from ppdm_sql.policy.policy import HierarchyFile, PrefixLadder, Publish, Verify
from ppdm_sql.source.hierarchy import load_hierarchy

FOLDER = resources.folder("sql") / "demo"
CHECKSUM = "8ef03044f235330a581c49e7be4dca9896a5046d0fc97a9645f9b9318e5bef30"
COLUMNS = {
    "patient_id": "VARCHAR",
    "name": "VARCHAR",
    "age": "INTEGER",
    "sex": "VARCHAR",
    "zip": "VARCHAR",
    "ward": "VARCHAR",
    "admitted": "DATE",
    "stay_days": "INTEGER",
    "diagnosis": "VARCHAR",
    "readmitted": "VARCHAR",
    "insurance": "VARCHAR",
}


@pytest.fixture(scope="module")
def patients() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(resources.sql_text("demo/hospital"))
        yield connection


def checksum(connection: duckdb.DuckDBPyConnection) -> str:
    rows = connection.execute("SELECT * FROM patients").fetchall()
    return hashlib.sha256("\n".join("|".join(map(str, row)) for row in rows).encode()).hexdigest()


def number(connection: duckdb.DuckDBPyConnection, expression: str, where: str = "true") -> float:
    (value,) = connection.execute(f"SELECT {expression} FROM patients WHERE {where}").fetchone()
    return value


def share(connection: duckdb.DuckDBPyConnection, condition: str, where: str = "true") -> float:
    return number(connection, f"AVG(CAST({condition} AS INTEGER))", where)


# -- the same everywhere -------------------------------------------------------------------------------


def test_the_table_is_the_same_to_the_last_row(patients: duckdb.DuckDBPyConnection) -> None:
    assert checksum(patients) == CHECKSUM


@pytest.mark.parametrize("threads", [1, 4])
def test_it_does_not_depend_on_the_machine(threads: int) -> None:
    with duckdb.connect(config={"threads": threads, "preserve_insertion_order": "true"}) as connection:
        connection.execute("SET TimeZone = 'Pacific/Auckland'")
        connection.execute(resources.sql_text("demo/hospital"))
        assert checksum(connection) == CHECKSUM


def test_another_seed_is_another_hospital_of_the_same_kind(patients: duckdb.DuckDBPyConnection) -> None:
    with duckdb.connect() as connection:
        connection.execute(resources.sql_text("demo/hospital").replace("'hospital 7'", "'hospital 8'"))
        assert checksum(connection) != CHECKSUM
        assert number(connection, "COUNT(*)") == 20_000
        assert share(connection, "readmitted = 'yes'") == pytest.approx(share(patients, "readmitted = 'yes'"), abs=0.02)


def test_it_runs_on_a_locked_down_engine_and_overwrites_nothing() -> None:
    with DuckDBEngine.open(":memory:") as engine:
        engine.pass_through(resources.sql_text("demo/hospital"))
        with pytest.raises(Exception, match="already exists"):
            engine.pass_through(resources.sql_text("demo/hospital"))


def test_its_chance_is_not_the_engines() -> None:
    words = "".join(
        line for line in resources.sql_text("demo/hospital").splitlines() if not line.lstrip().startswith("--")
    )
    assert not any(word in words.lower() for word in ("random(", " hash(", "uuid(", "now(", "current_"))


# -- like a hospital -----------------------------------------------------------------------------------


def test_columns_and_types(patients: duckdb.DuckDBPyConnection) -> None:
    described = patients.execute("DESCRIBE patients").fetchall()
    assert {row[0]: row[1] for row in described} == COLUMNS
    assert number(patients, "COUNT(*)") == 20_000


@pytest.mark.parametrize(
    ("condition", "low", "high"),
    [
        ("age < 18", 0.08, 0.16),
        ("age BETWEEN 18 AND 44", 0.20, 0.32),
        ("age >= 65", 0.30, 0.42),
        ("age >= 90", 0.01, 0.04),
        ("sex = 'female'", 0.50, 0.58),
        ("readmitted = 'yes'", 0.2, 0.3),
        ("insurance = 'public'", 0.65, 0.80),
        ("insurance = 'none'", 0.03, 0.08),
        ("stay_days <= 7", 0.45, 0.70),
        ("stay_days > 30", 0.005, 0.05),
        ("zip IS NULL", 0.02, 0.04),
        ("ward IS NULL", 0.01, 0.03),
        ("diagnosis IS NULL", 0.015, 0.035),
        ("zip IS NULL AND ward IS NULL", 0.0001, 0.002),
    ],
)
def test_shares_are_plausible(patients: duckdb.DuckDBPyConnection, condition: str, low: float, high: float) -> None:
    assert low < share(patients, condition) < high


def test_domains(patients: duckdb.DuckDBPyConnection) -> None:
    assert number(patients, "COUNT(DISTINCT zip)") == 60
    assert number(patients, "COUNT(DISTINCT zip[:3])") == 8
    assert share(patients, "regexp_full_match(zip, '[0-9]{5}')", "zip IS NOT NULL") == 1
    assert number(patients, "COUNT(DISTINCT ward)") == 15
    assert number(patients, "COUNT(DISTINCT diagnosis)") == 15
    assert (number(patients, "MIN(age)"), number(patients, "MAX(age)")) == (0, 99)
    assert number(patients, "MIN(stay_days)") == 1
    assert share(patients, "year(admitted) = 2024") == 1
    rarest = patients.execute("SELECT MIN(n) FROM (SELECT COUNT(*) AS n FROM patients GROUP BY diagnosis)").fetchone()
    assert rarest[0] > 200


@pytest.mark.parametrize(
    ("condition", "where"),
    [
        ("sex = 'female' AND age BETWEEN 18 AND 45", "diagnosis IN ('Childbirth', 'Pregnancy complication')"),
        ("sex = 'female'", "ward = 'Maternity'"),
        ("age <= 16", "ward = 'Paediatrics'"),
    ],
)
def test_nothing_is_absurd(patients: duckdb.DuckDBPyConnection, condition: str, where: str) -> None:
    assert share(patients, condition, where) == 1


def test_illness_follows_age_sex_and_ward(patients: duckdb.DuckDBPyConnection) -> None:
    assert number(patients, "AVG(age)", "diagnosis = 'Heart failure'") > 65
    assert number(patients, "AVG(age)", "diagnosis = 'Appendicitis'") < 35
    assert share(patients, "sex = 'male'", "diagnosis = 'Coronary heart disease'") > 0.6
    assert share(patients, "diagnosis = 'Depression'", "ward = 'Psychiatry'") > 0.9
    assert share(patients, "diagnosis IN ('Pneumonia', 'Asthma or COPD')", "ward = 'Pulmonology'") > 0.8


def test_coming_back_depends_on_age_illness_and_stay(patients: duckdb.DuckDBPyConnection) -> None:
    def back(where: str) -> float:
        return share(patients, "readmitted = 'yes'", where)

    assert back("age < 45") + 0.03 < back("age BETWEEN 45 AND 64") + 0.03 < back("age >= 80")
    assert back("diagnosis = 'Heart failure'") > 0.30
    assert back("diagnosis = 'Childbirth'") < 0.06
    assert back("stay_days < 5") + 0.1 < back("stay_days >= 14")
    assert back("ward = 'Intensive care'") > back("ward <> 'Intensive care'") + 0.05


def test_coming_back_can_be_predicted(patients: duckdb.DuckDBPyConnection) -> None:
    """Nobody beats the commonest class where no group of rows has another one: some groups must."""
    right = patients.execute(
        """SELECT SUM(most) / SUM(n) FROM (
               SELECT GREATEST(SUM(yes), COUNT(*) - SUM(yes)) AS most, COUNT(*) AS n FROM (
                   SELECT age // 20 AS decades, diagnosis, stay_days >= 14 AS long, CAST(readmitted = 'yes' AS INTEGER) AS yes
                   FROM patients
               ) GROUP BY decades, diagnosis, long HAVING COUNT(*) >= 50)"""
    ).fetchone()[0]
    assert right > share(patients, "readmitted = 'no'") + 0.03


def test_some_people_come_more_than_once(patients: duckdb.DuckDBPyConnection) -> None:
    stays = dict(
        patients.execute(
            "SELECT n, COUNT(*) FROM (SELECT COUNT(*) AS n FROM patients GROUP BY patient_id) GROUP BY n"
        ).fetchall()
    )
    assert set(stays) == {1, 2, 3, 4}
    assert 0.15 < sum(count for n, count in stays.items() if n > 1) / sum(stays.values()) < 0.25


def test_a_person_stays_the_same(patients: duckdb.DuckDBPyConnection) -> None:
    torn = patients.execute(
        """SELECT COUNT(*) FROM (
               SELECT 1 FROM patients GROUP BY patient_id
               HAVING COUNT(DISTINCT name) > 1 OR COUNT(DISTINCT sex) > 1 OR COUNT(DISTINCT zip) > 1
                   OR MAX(age) - MIN(age) > 1 OR COUNT(DISTINCT admitted) < COUNT(*)
           )"""
    ).fetchone()
    assert torn == (0,)


# -- worth protecting ----------------------------------------------------------------------------------


def unique_rows(connection: duckdb.DuckDBPyConnection, columns: str) -> float:
    query = f"SELECT COUNT(*) / 20000 FROM (SELECT 1 FROM patients GROUP BY {columns} HAVING COUNT(*) = 1)"
    return connection.execute(query).fetchone()[0]


def test_most_rows_point_to_one_person(patients: duckdb.DuckDBPyConnection) -> None:
    assert unique_rows(patients, "age, sex, zip, ward, admitted") > 0.99
    assert unique_rows(patients, "age, sex, zip, ward") > 0.6


def test_every_department_could_meet_the_requirements_by_itself(patients: duckdb.DuckDBPyConnection) -> None:
    """So the policy asks for something this table can give without losing the ward altogether."""
    lines = (line.split(";") for line in (FOLDER / "ward.csv").read_text(encoding="utf-8").splitlines())
    wards: dict[str, list[str]] = {}
    for ward, department, _ in lines:
        wards.setdefault(department, []).append(ward)
    for inside in wards.values():
        counted = patients.execute(
            """SELECT COUNT(*), COUNT(DISTINCT patient_id) FROM patients
               WHERE ward IN (SELECT UNNEST(?)) GROUP BY diagnosis""",
            [inside],
        ).fetchall()
        rows = [row[0] for row in counted]
        assert max(rows) * 2 <= sum(rows)  # simple_l = 2
        assert max(row[1] for row in counted) >= 10  # k = 10


# -- its policy and hierarchies ------------------------------------------------------------------------


def test_the_policy_gives_every_column_a_role() -> None:
    publish, verify = read(FOLDER / "patients.sql")
    assert isinstance(publish, Publish)
    assert isinstance(verify, Verify)
    roles = publish.policy.roles
    listed = [*roles.identifiers, roles.entity, *roles.quasi, *roles.sensitive, roles.target, *roles.insensitive]
    selected = publish.query.split("FROM")[0].removeprefix("SELECT").split(",")
    assert sorted(word.text for word in listed) == sorted(name.strip() for name in selected)
    assert [str(requirement) for requirement in publish.policy.requirements] == ["k = 10", "simple_l = 2"]
    assert list(roles.hierarchies.values()) == [PrefixLadder((4, 3, 2)), HierarchyFile("ward.csv")]


@pytest.mark.parametrize(
    ("column", "source", "labels"),
    [
        ("ward", HierarchyFile("ward.csv"), [15, 5, 1]),
        ("diagnosis", HierarchyFile("diagnosis.csv"), [15, 7, 1]),
        ("zip", PrefixLadder((4, 3, 2)), [60, 22, 8, 2, 1]),
    ],
)
def test_hierarchies_are_complete(
    patients: duckdb.DuckDBPyConnection, column: str, source: HierarchyFile | PrefixLadder, labels: list[int]
) -> None:
    rows = patients.execute(f"SELECT {column}, COUNT(*) FROM patients WHERE {column} IS NOT NULL GROUP BY 1").fetchall()
    tree = load_hierarchy(
        source,
        column=column,
        kind=Kind.TEXT,
        values=[row[0] for row in rows],
        rows=[row[1] for row in rows],
        engine=DuckDBEngine(patients),
        folder=FOLDER,
    )
    assert [len(nodes) for nodes in tree.levels] == labels
