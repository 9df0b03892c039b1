"""The rights of docs/engines.md are enough, for roles that own nothing and cannot create in the database."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from ppdm_sql.catalog import ledger
from ppdm_sql.commands import cli
from ppdm_sql.errors import DatabaseUnavailable, EngineError, PolicyError, RequirementBreached
from ppdm_sql.release.kinds.stored import StoredRelease

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.postgres

POLICY = """CREATE OR REPLACE {kind} {name} AS SELECT id, age, zip, ill FROM clinic.people WITH ANONYMIZATION (
    ALGORITHM mondrian REQUIRE k = 5, simple_l = 1.5 IDENTIFIER (id) QUASI IDENTIFIER (age, zip) SENSITIVE (ill) SEED 7 {more})"""


def policy(name: str = "open.people", kind: str = "TABLE", more: str = "") -> str:
    return POLICY.format(name=name, kind=kind, more=more)


@pytest.fixture
def hospital(postgres_engine, postgres_admin):
    """Table clinic.people of the DBA; nobody else may do anything in the database but connect."""
    ((database,),) = postgres_admin.execute("SELECT current_database()").fetchall()
    for text in (
        f'REVOKE ALL ON DATABASE "{database}" FROM PUBLIC',
        f'GRANT CONNECT ON DATABASE "{database}" TO PUBLIC',
        "CREATE SCHEMA clinic",
        "CREATE SCHEMA open",
        "CREATE TABLE clinic.people AS SELECT g AS id, 20 + g * 7 % 60 AS age, 1000 + g * 13 % 90 AS zip, "
        "'x' || g % 3 AS ill FROM generate_series(0, 199) AS g",
    ):
        postgres_admin.execute(text)
    yield postgres_admin
    postgres_admin.execute(f'GRANT CONNECT, TEMPORARY ON DATABASE "{database}" TO PUBLIC')


def make_role(admin, role: str, *grants: str) -> None:
    ((database,),) = admin.execute("SELECT current_database()").fetchall()
    admin.execute(f"CREATE ROLE {role} LOGIN")
    reading = (
        f'TEMPORARY ON DATABASE "{database}"', "USAGE ON SCHEMA clinic", "SELECT ON clinic.people", *grants,
    )  # fmt: skip
    for right in reading:
        admin.execute(f"GRANT {right} TO {role}")


@pytest.fixture
def session_of(postgres_url, open_session):
    """session_of(role): a session as that role."""
    from ppdm_sql.engines.postgres.engine import PostgresEngine

    @contextmanager
    def opened(role):
        with PostgresEngine.open(psycopg.conninfo.make_conninfo(postgres_url, user=role)) as engine:
            yield open_session(engine)

    return opened


PUBLISHING = ("USAGE, CREATE ON SCHEMA open", "USAGE, CREATE ON SCHEMA ppdm")


def test_check_and_plan_need_to_read_and_working_tables_only(hospital, session_of):
    make_role(hospital, "ppdm_test_planner")
    with session_of("ppdm_test_planner") as session:
        assert session.plan(policy("people_open"))
        assert session.check(session.parse(policy("people_open"), "x.sql")[0])


def test_a_plan_without_the_catalog_says_that_it_was_not_read(hospital, session_of):
    hospital.execute("CREATE SCHEMA ppdm")
    make_role(hospital, "ppdm_test_publisher", *PUBLISHING)
    make_role(hospital, "ppdm_test_planner", "USAGE ON SCHEMA open")
    with session_of("ppdm_test_publisher") as session:
        session.publish(policy())
        assert "unread_catalog" not in dict(session.plan(policy()).risks)
    with session_of("ppdm_test_planner") as session:
        told = dict(session.plan(policy("open.planned")).risks)
        assert told["unread_catalog"].startswith("this role may not read schema ppdm")
        with pytest.raises(EngineError, match="not allowed to do this: permission denied"):
            session.publish(policy("open.planned"))


def test_the_rights_to_publish_are_enough_without_create_on_the_database(hospital, session_of):
    hospital.execute("CREATE SCHEMA ppdm")
    make_role(hospital, "ppdm_test_publisher", *PUBLISHING)
    with session_of("ppdm_test_publisher") as session:
        for kind, name in (("TABLE", "open.people"), ("VIEW", "open.seen")):
            session.publish(policy(name, kind, "ACCEPT RISK (joint)"))
            session.publish(policy(name, kind, "ACCEPT RISK (joint)"))
            assert session.verify(name).holds
        session.export("open.people", "people.csv")
        session.execute("DROP RELEASE open.seen")
        assert ledger.problems(session.engine) == ()


def test_several_roles_publish_with_one_catalog(hospital, session_of, postgres_url):
    first, second, group = "ppdm_test_first", 'ppdm_test o"second', "ppdm_test_group"
    make_role(hospital, first, "USAGE, CREATE ON SCHEMA open")
    make_role(hospital, '"ppdm_test o""second"', "USAGE, CREATE ON SCHEMA open")
    known = psycopg.conninfo.conninfo_to_dict(postgres_url)
    url = f"postgresql://{known['user']}@/{known['dbname']}?host={known['host']}"
    for role in (first, second):
        done = CliRunner().invoke(cli, ["--db", url, "catalog", "grant", role, "--group", group])
        assert done.exception is None, done.exception
        assert (done.exit_code, done.output) == (0, f"{role} may publish with this catalog, as a member of {group}\n")
    missing = CliRunner().invoke(cli, ["--db", url, "catalog", "grant", "ppdm_test_nobody"])
    assert isinstance(missing.exception, PolicyError)
    with session_of(first) as session:
        session.publish(policy())
    with session_of(second) as session:
        with pytest.raises(RequirementBreached, match="together with open.people"):
            session.publish(policy("open.other").replace("age, ", ""))
        session.publish(policy("open.other", more="ACCEPT RISK (joint)").replace("age, ", ""))
        with pytest.raises(EngineError, match="must be owner of table people"):
            session.publish(policy())
        assert ledger.problems(session.engine) == ()
    with session_of(first) as session:
        assert session.verify("open.people").holds
        assert [one.relation_name for one in session.releases()] == ["other", "people"]
        assert ledger.problems(session.engine) == ()


def test_rows_that_row_level_security_hides_are_named_in_the_manifest(hospital, session_of):
    hospital.execute("CREATE SCHEMA ppdm")
    make_role(hospital, "ppdm_test_publisher", *PUBLISHING)
    hospital.execute("ALTER TABLE clinic.people ENABLE ROW LEVEL SECURITY")
    hospital.execute("CREATE POLICY half ON clinic.people USING (id < 100)")
    with session_of("ppdm_test_publisher") as session:
        release = session.publish(policy())
        assert release.rows == 100
        assert "row-level security on clinic.people" in release.manifest["residual_risks"]["row_security"]
        hospital.execute("ALTER TABLE clinic.people DISABLE ROW LEVEL SECURITY")
        again = session.publish(policy(more="ACCEPT RISK (joint)"))
        assert again.rows == 200
        assert "row_security" not in again.manifest["residual_risks"]


def test_a_session_that_the_server_ends_is_named_and_leaves_the_release(hospital, session_of, monkeypatch):
    hospital.execute("CREATE SCHEMA ppdm")
    make_role(hospital, "ppdm_test_publisher", *PUBLISHING)
    store = StoredRelease.store

    def ended(kind, engine, request):
        stored = store(kind, engine, request)
        hospital.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'ppdm_test_publisher'")
        return stored

    with session_of("ppdm_test_publisher") as session:
        former = session.publish(policy()).record.release_id
        monkeypatch.setattr(StoredRelease, "store", ended)
        with pytest.raises(DatabaseUnavailable, match="the server ended this session") as refused:
            session.publish(policy())
        assert refused.value.exit_code == 3
        monkeypatch.undo()
    with session_of("ppdm_test_publisher") as session:
        assert session.release("open.people").record.release_id == former
        assert session.verify("open.people").holds
