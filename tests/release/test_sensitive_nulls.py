"""A NULL in a sensitive column is not diversity, unless the policy says NULLS AS VALUE."""

from __future__ import annotations

import json
import random
from fractions import Fraction

import pytest

from ppdm_sql.catalog import ledger
from ppdm_sql.catalog.store import json_text, sha256_of
from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.release.reverify import reverify_file
from ppdm_sql.statements.names import Name
from tests import oracles

COLUMNS = {"id": "INTEGER", "age": "INTEGER", "ward": "TEXT", "illness": "TEXT"}
# Everybody of wards A and B whose illness is known has the flu.
CLINIC = [
    *((number, 30, "A", "flu" if number % 2 else None) for number in range(4)),
    *((number, 60, "B", "flu" if number % 2 else None) for number in range(4, 8)),
    *((number, 90, "C", "flu" if number % 2 else "asthma") for number in range(8, 16)),
]
POLICY = """
CREATE OR REPLACE TABLE clinic_open AS SELECT id, age, ward, illness FROM clinic WITH ANONYMIZATION (
    ALGORITHM mondrian REQUIRE k = 4, {required}
    IDENTIFIER (id) QUASI IDENTIFIER (age, ward) SENSITIVE (illness{reading}) ACCEPT RISK (joint)
)
"""
READINGS = ("", " NULLS AS VALUE")


def policy(required="distinct_l = 2", reading=""):
    return POLICY.format(required=required, reading=reading)


@pytest.fixture
def session(duckdb_engine, make_table, open_session):
    make_table(duckdb_engine, "clinic", COLUMNS, CLINIC)
    return open_session(duckdb_engine)


def classes(session, columns="age, ward"):
    """The sensitive values of every class, as a recipient reads them."""
    found: dict[tuple, list] = {}
    for *key, value in session.run(f"SELECT {columns}, illness FROM clinic_open").table.rows:
        found.setdefault(tuple(key), []).append(value)
    return found


@pytest.mark.duckdb
def test_a_null_does_not_make_a_class_diverse(session):
    session.publish(policy())
    assert all(len(set(values) - {None}) >= 2 for values in classes(session).values())
    assert session.verify("clinic_open").holds


@pytest.mark.duckdb
def test_null_counts_where_the_policy_says_so(session):
    session.publish(policy(reading=" NULLS AS VALUE"))
    assert sorted(map(len, classes(session).values())) == [4, 4, 8]
    assert session.verify("clinic_open").holds


@pytest.mark.duckdb
@pytest.mark.parametrize("reading", READINGS)
def test_every_page_says_how_nulls_were_counted(session, tmp_path, reading):
    told = '"illness" is NULL in 4 of 16 rows: ' + (
        "NULL counts as a value of its own (NULLS AS VALUE)"
        if reading
        else "l, confidence and t measure the known values only"
    )
    assert session.plan(policy(reading=reading)).notes == (told,)
    found = session.publish(policy(reading=reading))
    assert found.null_readings == [told]
    assert found.manifest["policy"]["nulls_as_value"] == (["illness"] if reading else [])
    assert found.manifest["sensitive_nulls"] == {"illness": 4}
    assert session.verify("clinic_open").notes == (told,)
    session.export("clinic_open", tmp_path / "clinic.parquet")
    assert reverify_file(tmp_path / "clinic.parquet").notes == (told,)
    assert f"-- {told}." in (tmp_path / "clinic.parquet.certificate.sql").read_text("utf-8")
    for readers in ("internal", "public"):
        session.report("clinic_open", tmp_path / f"{readers}.html", readers=readers)
        page = (tmp_path / f"{readers}.html").read_text("utf-8")
        assert ("NULL counts as a value of its own" in page or "counts as a value of its own" in page) == bool(reading)
        assert ("measure the known values" in page) == (not reading)


@pytest.mark.duckdb
def test_a_table_without_nulls_is_told_nothing_new(session):
    found = session.publish(policy().replace("FROM clinic", "FROM clinic WHERE illness IS NOT NULL"))
    assert found.null_readings == []
    assert session.verify("clinic_open").notes == ()


@pytest.mark.duckdb
def test_a_refusal_counts_known_values_and_says_what_to_do(session):
    with pytest.raises(RequirementBreached) as refused:
        session.publish(policy("simple_l = 2"))
    told = str(refused.value)
    assert "the 12 known values of the whole table, taken as one class, have simple_l = 1.5" in told
    assert "4 NULLs do not count" in told
    assert "NULLS AS VALUE" in told
    session.engine.pass_through("UPDATE clinic SET illness = NULL")
    with pytest.raises(RequirementBreached, match="NULL in 16 rows and has no known value"):
        session.publish(policy())


@pytest.mark.wide
@pytest.mark.duckdb
def test_the_certificate_and_the_judge_of_a_file_know_the_reading(session, tmp_path):
    session.publish(policy(reading=" NULLS AS VALUE"))
    session.export("clinic_open", tmp_path / "clinic.parquet")
    assert reverify_file(tmp_path / "clinic.parquet").holds
    manifest = tmp_path / "clinic.parquet.manifest.json"
    content = json.loads(manifest.read_text("utf-8"))
    content["policy"]["nulls_as_value"] = []
    manifest.write_text(json.dumps(content), "utf-8")
    found = reverify_file(tmp_path / "clinic.parquet")
    assert [item.holds for item in found.findings] == [True, False]  # k, distinct_l
    assert found.findings[1].breaching_rows == 8


# -- releases of the version before --------------------------------------------------------------------------


def make_old(session):
    """The record of clinic_open as the version before wrote it: nothing about NULLs."""
    record = session.release("clinic_open").record
    roles, content = record.roles.to_json(), record.manifest.to_json()
    del roles["nulls_as_value"], content["policy"]["nulls_as_value"], content["sensitive_nulls"]
    session.engine._connection.execute(
        "UPDATE ppdm.release SET roles = ?, manifest = ?, manifest_sha256 = ?, policy_text = ? WHERE release_id = ?",
        [
            json_text(roles),
            json_text(content),
            sha256_of(json_text(content)),
            record.policy_text.replace(" NULLS AS VALUE", ""),
            record.release_id,
        ],
    )
    ledger.seal(session.engine, "a catalog of the version before")


@pytest.mark.wide
@pytest.mark.duckdb
def test_an_old_release_keeps_its_reading(session, tmp_path):
    session.publish(policy("simple_l = 2", reading=" NULLS AS VALUE"))
    make_old(session)
    found = session.verify("clinic_open")
    assert found.holds
    assert found.notes == (
        'NULL counts as a value in "illness", because the version that published the release counted it so',
    )
    session.export("clinic_open", tmp_path / "old.parquet")
    again = reverify_file(tmp_path / "old.parquet")
    assert again.holds
    assert again.notes == found.notes
    session.report("clinic_open", tmp_path / "old.html")
    with pytest.raises(RequirementBreached, match="NULLS AS VALUE"):  # its policy is read as a new one
        session.execute("REFRESH clinic_open")
    assert session.verify("clinic_open").holds


# -- every method --------------------------------------------------------------------------------------------

TARGETED = """
CREATE OR REPLACE {kind} clinic_open AS SELECT id, age, ward, illness, back FROM clinic WITH ANONYMIZATION (
    ALGORITHM {algorithm} REQUIRE k = 3, {required}
    IDENTIFIER (id) QUASI IDENTIFIER (age, ward) SENSITIVE (illness{reading}) TARGET (back) {more}
)
"""
REQUIRED = {
    "distinct_l = 2": lambda counts: oracles.distinct_values(counts) >= 2,
    "simple_l = 1.5": lambda counts: oracles.simple_ratio(counts) >= Fraction(3, 2),
    "recursive_l = (2.5, 2)": lambda counts: oracles.recursive_holds(counts, Fraction(5, 2), 2),
    "entropy_l = 1.5": lambda counts: oracles.entropy_reaches(counts, Fraction(3, 2)),
    "confidence = 70 %": lambda counts: oracles.confidence(counts) <= Fraction(7, 10),
    "t = 0.3 equal": None,
}


def random_clinic(seed):
    draw = random.Random(seed)
    ills = [*draw.sample(["flu", "cold", "ulcer", "hiv"], draw.randint(2, 4)), *[None] * draw.randint(1, 6)]
    rows = []
    for number in range(draw.choice((20, 40, 80))):
        age, ward = draw.randint(1, 6) * 10, draw.choice(["A", "B", None])
        rows.append((number, age, ward, draw.choice(ills), "yes" if age + draw.randint(0, 20) > 40 else "no"))
    return rows


@pytest.mark.duckdb
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("algorithm", ["mondrian", "kactus", "kactus2"])
def test_what_a_method_publishes_the_definitions_accept(duckdb_engine, make_table, open_session, algorithm, reading):
    published = 0
    session = open_session(duckdb_engine)
    for seed, required in enumerate(REQUIRED):
        rows = random_clinic(seed)
        make_table(duckdb_engine, "clinic", {**COLUMNS, "back": "TEXT"}, rows)
        text = TARGETED.format(
            kind="TABLE", algorithm=algorithm, required=required, reading=reading, more="ACCEPT RISK (joint)"
        )
        try:
            session.publish(text)
        except RequirementBreached:
            whole = oracles.frequencies([row[3] for row in rows], nulls_as_value=bool(reading))
            assert REQUIRED[required] is not None
            assert not REQUIRED[required](whole), (seed, required)  # only then no partition helps
            duckdb_engine.drop_table(Name("clinic"))
            continue
        published += 1
        found = [
            {"age": row[0], "ward": row[1], "illness": row[2]}
            for row in session.run("SELECT age, ward, illness FROM clinic_open").table.rows
        ]
        assert all(_accepted(found, required, nulls_as_value=bool(reading))), (seed, required)
        session.drop("clinic_open")
        duckdb_engine.drop_table(Name("clinic"))
    assert published >= 3


def _accepted(rows, required, *, nulls_as_value):
    quasi = ["age", "ward"]
    if REQUIRED[required] is None:
        far = oracles.class_distances(rows, quasi, "illness", "equal", nulls_as_value=nulls_as_value)
        yield from (distance <= Fraction(3, 10) for distance in far.values())
        return
    for held in oracles.classes(rows, quasi).values():
        yield REQUIRED[required](oracles.frequencies([row["illness"] for row in held], nulls_as_value=nulls_as_value))


@pytest.mark.duckdb
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(
    ("algorithm", "kind"),
    [("kadet", "TABLE"), ("kadet", "MODEL"), ("ldm", "MODEL"), ("atp", "MODEL"), ("tpp", "TABLE")],
)
def test_methods_that_cannot_count_nulls_refuse_them(duckdb_engine, make_table, open_session, algorithm, kind, reading):
    make_table(duckdb_engine, "clinic", {**COLUMNS, "back": "TEXT"}, random_clinic(1))
    text = TARGETED.format(kind=kind, algorithm=algorithm, required="distinct_l = 2", reading=reading, more="")
    text = text.replace("TARGET (back)", "TARGET (illness)").replace(", back", "") if kind == "MODEL" else text
    text = text.replace("ward, illness", "illness").replace("age, ward)", "age)")  # NULL in "ward" is refused, too
    if algorithm == "tpp":
        text = text.replace("TARGET (back)", "TARGET (back) PRESERVE (id3)")
    with pytest.raises(PolicyError, match='"illness"'):
        open_session(duckdb_engine).publish(text)


# -- live ----------------------------------------------------------------------------------------------------

LIVE = """
CREATE VIEW beds LIVE AS SELECT id, age, illness, back FROM clinic WITH ANONYMIZATION (
    ALGORITHM tpp REQUIRE k = 3, {required} IDENTIFIER (id) QUASI IDENTIFIER (age) SENSITIVE (illness{reading})
    TARGET (back) PRESERVE (cart (min_leaf = 5, max_leaves = 2)) ACCEPT RISK (live, boundaries)
)
"""


@pytest.mark.lacks("spark", reason="LIVE needs transactions")
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("required", ["distinct_l = 2", "simple_l = 2", "recursive_l = (3, 2)", "confidence = 60 %"])
def test_the_guard_of_a_live_view_counts_known_values(engine, make_table, open_session, reading, required):
    columns = {"id": "INTEGER", "age": "INTEGER", "illness": "TEXT", "back": "TEXT"}
    rows = [(i, 20 + i % 2 * 40, "flu" if i % 4 < 2 else "cold", "yes" if i % 2 else "no") for i in range(40)]
    make_table(engine, "clinic", columns, rows)
    session = open_session(engine)
    session.publish(LIVE.format(required=required, reading=reading))
    assert session.verify("beds").holds
    assert session.verify("beds").rows == 40
    # From now on everybody young whose illness is known has the flu.
    engine.pass_through("UPDATE clinic SET illness = NULL WHERE age = 20 AND illness = 'cold'")
    found = session.verify("beds")
    assert found.holds
    assert found.rows == (40 if reading else 20)
    engine.pass_through("UPDATE clinic SET illness = NULL WHERE age = 20")
    found = session.verify("beds")
    assert found.holds
    assert found.rows == 20
