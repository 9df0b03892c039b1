"""SQL of a policy that reaches for the catalog, and rights that are given and taken: nothing of it hides a release."""

from __future__ import annotations

import pytest

from ppdm_sql.catalog import ledger, releases
from ppdm_sql.errors import PolicyError, RequirementBreached, Tampered
from ppdm_sql.policy.grammar import parse
from ppdm_sql.policy.policy import PassThrough

RULES = (
    "WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 10 IDENTIFIER (id) QUASI IDENTIFIER ({}) SENSITIVE (ill) {})"
)


def table(name: str, quasi: str, more: str = "", kind: str = "TABLE") -> str:
    return f"CREATE {kind} {name} AS SELECT id, {quasi}, ill FROM people {RULES.format(quasi, more)}"


A, B = table("a", "age"), table("b", "zip")

WRITES = [
    "DELETE FROM ppdm.release_source",
    'DELETE FROM "ppdm".release_source',
    'DELETE FROM PPDM . "release_source"',
    "DELETE /* x */ FROM ppdm /* . */ . release_source",
    "UPDATE ppdm.release SET k_promised = 1",
    "INSERT INTO ppdm.release_event SELECT * FROM ppdm.release_event",
    "TRUNCATE ppdm.release_event",
    "DROP SCHEMA ppdm CASCADE",
    "ALTER SCHEMA ppdm RENAME TO other",
    "ALTER TABLE people SET SCHEMA ppdm",
    "CREATE TABLE ppdm.mine (a INTEGER)",
    "CREATE VIEW sources AS SELECT * FROM ppdm.release_source",
    "CREATE TABLE copy AS SELECT * FROM ppdm.setting",
    "COPY ppdm.release_source FROM 'x.csv'",
    "COPY ppdm.setting TO 'x.csv'",
    "SET search_path = ppdm",
    "SET search_path = 'ppdm'",
    'SET search_path TO "$user", ppdm, public',
    "USE ppdm",
    "GRANT ALL ON SCHEMA ppdm TO PUBLIC",
    "PREPARE gone AS DELETE FROM ppdm.release_source",
    "EXPLAIN ANALYZE DELETE FROM ppdm.release_source",
    "WITH gone AS (DELETE FROM ppdm.release_source RETURNING *) SELECT * FROM gone",
    "SELECT * INTO ppdm.mine FROM people",
    "MERGE INTO ppdm.release_source AS s USING people AS p ON s.source = p.ill WHEN MATCHED THEN DELETE",
    "SELECT FROM WHERE GROUP ppdm.release",
]
OF_POSTGRES = [
    'DELETE FROM U&"\\0070pdm".release_source',
    "DO $$ BEGIN DELETE FROM ppdm.release_source; END $$",
    "DO 'BEGIN DELETE FROM ppdm.release_source; END'",
    "DO $$ BEGIN EXECUTE 'DELETE FROM pp' || 'dm.release_source'; END $$",
    "DO $$ BEGIN PERFORM set_config('search_path', 'pp' || 'dm', true); DELETE FROM release_source; END $$",
    "CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $f$ DELETE FROM ppdm.release_source $f$",
    "CREATE OR REPLACE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE chr(68) || 'ELETE'; END $$",
    "SELECT set_config('search_path', 'ppdm', false)",
    "SELECT query_to_xml('DELETE FROM ppdm.release_source', true, true, '')",
    "SET search_path = $$ppdm$$",
    "DROP OWNED BY CURRENT_USER",
    "CREATE RULE gone AS ON INSERT TO people DO ALSO DELETE FROM ppdm.release_source",
    "ALTER ROLE postgres SET search_path = ppdm",
]
OF_DUCKDB = ["CREATE MACRO f() AS TABLE SELECT * FROM ppdm.release", "ATTACH 'x.duckdb' AS ppdm", "USE memory.ppdm"]


@pytest.mark.parametrize(
    ("dialect", "text"),
    [(dialect, text) for dialect in ("duckdb", "postgres", "spark") for text in WRITES]
    + [("postgres", text) for text in OF_POSTGRES]
    + [("duckdb", text) for text in OF_DUCKDB]
    + [("spark", "DELETE FROM `ppdm`.release"), ("spark", "EXECUTE IMMEDIATE 'DELETE FROM pp' || 'dm.release'")],
)
def test_a_policy_cannot_touch_the_catalog(dialect, text):
    with pytest.raises(PolicyError, match="^2:1: .*(ppdm|U&)"):
        parse(f"SELECT 1;\n{text}", dialect=dialect)


READS = [
    "SELECT * FROM ppdm.release",
    "SELECT r.relation_name FROM ppdm.release AS r JOIN ppdm.release_state AS s ON s.release_id = r.release_id",
    "WITH known AS (SELECT * FROM ppdm.run) SELECT * FROM known",
    "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'ppdm'",
    "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema IN ('ppdm', 'main')",
]
OTHERS = [
    "CREATE TABLE ppdm_like (ppdm_id INTEGER)",
    "CREATE TABLE notes AS SELECT 'ppdm_sql' AS tool",
    "DELETE FROM people WHERE id = 3 -- not ppdm",
    "DO $$ BEGIN CREATE TABLE x (a INTEGER); END $$",
]


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
@pytest.mark.parametrize("text", READS + OTHERS)
def test_reading_the_catalog_and_everything_else_passes(dialect, text):
    assert isinstance(parse(text, dialect=dialect)[0], PassThrough)


@pytest.fixture
def clinic(engine, make_table, open_session):
    rows = [(n, 20 + n * 7 % 60, 1000 + n * 13 % 90, f"x{n % 3}") for n in range(600)]
    make_table(engine, "people", {"id": "INTEGER", "age": "INTEGER", "zip": "INTEGER", "ill": "TEXT"}, rows)
    return open_session(engine)


@pytest.mark.lacks("spark", reason="Spark cannot DELETE, so that nobody edits its catalog this way")
def test_a_source_that_was_deleted_stops_publishing_and_shows_in_verify(clinic):
    clinic.execute(A)
    with pytest.raises(PolicyError, match="schema ppdm is the catalog"):
        clinic.execute("DELETE FROM ppdm.release_source")
    clinic.engine.pass_through("DELETE FROM ppdm.release_source")  # outside ppdm_sql
    with pytest.raises(Tampered, match=r'release ".*a": its source ".*people" was deleted; nothing was published'):
        clinic.execute(B)
    with pytest.raises(Tampered, match="nothing was exported"):
        clinic.export("a", "a.parquet")
    found = clinic.verify("a")
    assert not found.holds
    assert any(['its source "', 'people" was deleted'][0] in problem for problem in found.problems)
    assert clinic.run("DROP RELEASE a").name == "a"


@pytest.mark.lacks("spark", reason="Spark cannot UPDATE, so that nobody edits its catalog this way")
def test_a_link_table_that_was_edited_stops_publishing_and_shows_in_verify(clinic):
    record = clinic.run(A).record
    clinic.engine.pass_through(f"UPDATE ppdm.ppdm_link_{record.release_id} SET ppdm_part = 0")
    with pytest.raises(Tampered, match='the link table of "a" was edited'):
        clinic.execute(B)
    assert "its link table was edited in the catalog" in clinic.verify("a").problems


@pytest.mark.duckdb
def test_a_session_whose_path_leads_into_the_catalog_passes_nothing_on(duckdb_engine, make_table, open_session):
    session = open_session(duckdb_engine)
    make_table(
        duckdb_engine, "people", {"id": "INTEGER", "age": "INTEGER", "ill": "TEXT"}, [(n, 1, "x") for n in range(20)]
    )
    session.execute(table("a", "age"))
    duckdb_engine.pass_through("USE ppdm")  # a connection that came this way
    with pytest.raises(PolicyError, match="schema ppdm is on the search path"):
        session.execute("DELETE FROM release_source")
    session.execute("USE main")
    assert ledger.problems(duckdb_engine) == ()


# -- who could read it ---------------------------------------------------------------------------------------


@pytest.fixture
def analyst(postgres_admin, postgres_engine):
    postgres_admin.execute("CREATE ROLE ppdm_test_analyst")
    return "ppdm_test_analyst"


@pytest.fixture
def hospital(postgres_engine, make_table, open_session, analyst):
    rows = [(n, 20 + n * 7 % 60, 1000 + n * 13 % 90, f"x{n % 3}") for n in range(600)]
    make_table(postgres_engine, "people", {"id": "INTEGER", "age": "INTEGER", "zip": "INTEGER", "ill": "TEXT"}, rows)
    return open_session(postgres_engine)


HANDS = {
    "granted": (["GRANT SELECT ON a TO {role}"], "{role}"),
    "columns": (["GRANT SELECT (age) ON a TO {role}"], "{role}"),
    "everybody": (["GRANT SELECT ON a TO PUBLIC"], "public"),
    "taken away": (["GRANT SELECT ON a TO {role}", "REVOKE SELECT ON a FROM {role}"], "(taken away)"),
    "through a view": (["CREATE VIEW v AS SELECT * FROM a", "GRANT SELECT ON v TO {role}"], "{role}"),
    "owner": (["ALTER TABLE a OWNER TO {role}"], "{role}"),
}


@pytest.mark.postgres
@pytest.mark.parametrize("how", HANDS)
def test_what_a_role_could_read_counts_after_it_was_dropped(hospital, postgres_admin, analyst, how):
    """The rights are given by hand, outside ppdm_sql."""
    hospital.execute(A)
    statements, reader = HANDS[how]
    for statement in statements:
        hospital.engine.pass_through(statement.format(role=analyst))
    hospital.verify("a")
    if how == "through a view":
        hospital.engine.pass_through("DROP VIEW v")
    dropped = hospital.run("DROP RELEASE a")
    assert dropped.readers == (reader.format(role=analyst),)
    assert "It still counts" in dropped.still_counts
    assert dropped.as_json()["still_counts"]
    with pytest.raises(RequirementBreached, match="b together with a has"):
        hospital.execute(B)


@pytest.mark.postgres
@pytest.mark.parametrize("kind", ["TABLE", "VIEW"])
def test_a_reader_that_the_policy_names_counts(hospital, analyst, kind):
    hospital.execute(table("a", "age", f"GRANT SELECT TO {analyst}", kind))
    assert hospital.releases()[0].readers == (analyst,)
    assert hospital.run("DROP RELEASE a").readers == (analyst,)
    assert hospital.releases(include_gone=True)[0].is_out
    with pytest.raises(RequirementBreached):
        hospital.execute(B)


@pytest.mark.postgres
def test_a_reader_by_default_privileges_counts(hospital, analyst):
    hospital.execute(f"ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO {analyst}")
    hospital.execute(A)
    assert hospital.releases()[0].readers == (analyst,)
    hospital.execute(f"ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM {analyst}")


@pytest.mark.postgres
def test_rights_that_a_policy_gives_and_takes_in_passing_count(hospital, analyst):
    """A right on columns leaves no trace when it is taken away: it is seen before."""
    hospital.execute(A)
    hospital.execute(f"GRANT SELECT (age) ON a TO {analyst}; REVOKE SELECT (age) ON a FROM {analyst}")
    assert hospital.run("DROP RELEASE a").readers == (analyst,)


@pytest.mark.postgres
def test_readers_of_a_release_that_is_replaced_stay_known(hospital, analyst):
    hospital.execute(A)
    hospital.engine.pass_through(f"GRANT SELECT ON a TO {analyst}")
    hospital.engine.pass_through(f"REVOKE SELECT ON a FROM {analyst}")
    hospital.execute("REFRESH a")
    assert hospital.run("DROP RELEASE a").readers == ("(taken away)",)
    with pytest.raises(RequirementBreached):
        hospital.execute(B)


def test_what_nobody_else_could_read_is_gone_with_its_drop(clinic):
    clinic.execute(A)
    assert clinic.run("DROP RELEASE a").still_counts is None
    assert clinic.execute(B)[0].rows == 600
    assert releases.list_releases(clinic.engine)[0].readers == ()
