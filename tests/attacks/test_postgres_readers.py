"""What a role with SELECT on a release, and on nothing else, can find out on PostgreSQL."""

from __future__ import annotations

import itertools

import pytest

from ppdm_sql.engines.postgres.engine import PostgresEngine
from ppdm_sql.errors import PolicyError, RequirementBreached

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.postgres

READER = "ppdm_test_reader"
COLUMNS = {"id": "INTEGER", "n": "INTEGER", "ward": "TEXT", "pay": "DECIMAL(8, 2)", "illness": "TEXT", "back": "TEXT"}
PUBLISHED = ("n", "ward", "pay", "illness", "back")
KINDS = {"TABLE": "TABLE r", "VIEW": "VIEW r", "LIVE": "VIEW r LIVE"}
HIDDEN = {"n": 90000000, "ward": "'CANARY ward'", "pay": 777.25, "illness": "'CANARY ill'", "back": "'CANARY back'"}
ABSENT = {"n": 90000001, "ward": "'ABSENT ward'", "pay": 777.75, "illness": "'ABSENT ill'", "back": "'ABSENT back'"}


def policy(kind: str = "LIVE", source: str = "people", more: str = "") -> str:
    return f"""CREATE OR REPLACE {KINDS[kind]} AS SELECT id, n, ward, pay, illness, back FROM {source}
    WITH ANONYMIZATION (ALGORITHM tpp (numbers = shifted) REQUIRE k = 4, distinct_l = 2
        IDENTIFIER (id) QUASI IDENTIFIER (n, ward) SENSITIVE (illness) INSENSITIVE (pay) TARGET (back)
        PRESERVE (cart (min_leaf = 1, max_leaves = 5)) GRANT SELECT TO {READER} {more}
        ACCEPT RISK ({"live, " if kind == "LIVE" else ""}boundaries))"""


def people(rows: int = 120) -> list[tuple]:
    found = []
    for i in range(rows):
        back = "yes" if i % 23 > 11 and i % 5 != 2 else "no"
        found.append((i, 10 + i % 23, f"ward {i % 5}", 100 + i % 7, ("flu", "cold", "ulcer")[i % 3], back))
    return found


@pytest.fixture
def session(postgres_engine, postgres_admin, make_table, open_session):
    make_table(postgres_engine, "people", COLUMNS, people())
    postgres_admin.execute(f"CREATE ROLE {READER} LOGIN")
    postgres_admin.execute(f"GRANT USAGE ON SCHEMA public TO {READER}")
    return open_session(postgres_engine)


@pytest.fixture
def reader(postgres_url):
    """The reader's own connection; opened at the first call, because the role must be there."""
    held = []

    def opened():
        if not held:
            held.append(psycopg.connect(psycopg.conninfo.make_conninfo(postgres_url, user=READER), autocommit=True))
        return held[0]

    yield opened
    for one in held:
        one.close()


def hide(session) -> None:
    """Rows that no release may show: values of their own, and a class that falls below k."""
    run = session.engine.pass_through
    run("INSERT INTO people VALUES (901, 90000000, 'CANARY ward', 777.25, 'CANARY ill', 'CANARY back')")
    run("DELETE FROM people WHERE ward = 'ward 2' AND id NOT IN (2, 7, 12)")
    run("UPDATE people SET pay = 777.25, illness = 'CANARY ill', back = 'CANARY back' WHERE ward = 'ward 2'")


def publish(session, kind: str) -> None:
    session.publish(policy(kind))
    hide(session)
    session.engine.pass_through("ANALYZE")  # estimates stay what they are, whenever the server looks for itself


# -- plans -----------------------------------------------------------------------------------------------

COUNTS = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Join Filter", "Rows Removed by Index Recheck")
OPTIONS = "ANALYZE, VERBOSE, SETTINGS, TIMING off, SUMMARY off"


def plan(reader, form: str, where: str, options: str = OPTIONS) -> object:
    rows = reader().execute(f"EXPLAIN ({options}, FORMAT {form}) SELECT * FROM r WHERE {where}").fetchall()
    return "\n".join(row[0] for row in rows) if form == "TEXT" else rows[0][0]


def nodes(found):
    for node in found:
        yield node
        yield from nodes(node.get("Plans", ()))


@pytest.mark.parametrize("kind", KINDS)
def test_no_plan_counts_a_row_that_is_not_shown(session, reader, kind):
    publish(session, kind)
    shown = reader().execute("SELECT count(*) FROM r").fetchone()[0]
    assert shown == (96 if kind == "LIVE" else 120)
    values = {name: {str(row[0]) for row in reader().execute(f"SELECT {name} FROM r")} for name in PUBLISHED}
    for name in PUBLISHED:
        asked = [HIDDEN[name], ABSENT[name], *(f"'{value}'" for value in sorted(values[name])[:2])]
        for operator, value in itertools.product(("=", "<", ">=", "IS DISTINCT FROM"), asked):
            where = f"{name} {operator} {value}"
            (matching,) = reader().execute(f"SELECT count(*) FROM r WHERE {where}").fetchone()
            found = list(nodes([plan(reader, "JSON", where)[0]["Plan"]]))
            counts = {node[key] for node in found for key in COUNTS if key in node}
            assert counts <= {matching, shown - matching, shown, 0}, where
            assert not any(node.get("Relation Name") == "people" for node in found)


@pytest.mark.parametrize("form", ["TEXT", "JSON", "XML", "YAML"])
@pytest.mark.parametrize("options", [OPTIONS, OPTIONS + ", BUFFERS, WAL", "VERBOSE"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_hidden_value_and_one_that_never_was_have_the_same_plan(session, reader, kind, form, options):
    publish(session, kind)
    for name in PUBLISHED:
        texts = []
        for value in (ABSENT[name], HIDDEN[name], ABSENT[name], HIDDEN[name]):  # the first one warms the caches
            text = str(plan(reader, form, f"{name} = {value}", options))
            texts.append(text.replace(str(value).strip("'"), "?"))
        assert texts[2] == texts[3]


def test_what_the_server_tells_of_plans_stops_at_the_wall(session, reader):
    publish(session, "LIVE")
    told = []
    reader().add_notice_handler(lambda notice: told.append(f"{notice.message_primary} {notice.message_detail}"))
    for setting in ("client_min_messages = debug5", "debug_print_plan = on", "debug_print_rewritten = on"):
        reader().execute(f"SET {setting}")
    reader().execute("SELECT count(*) FROM r")
    told_of = "".join(told)
    (oid,) = session.engine.pass_through("SELECT 'public.people'::regclass::oid AS o").rows[0]
    assert "FUNCTIONSCAN" in told_of
    assert f":relid {oid} " not in told_of
    assert "SEQSCAN" not in told_of


def test_a_cursor_and_a_condition_that_spies_meet_shown_rows_only(session, reader, postgres_admin):
    publish(session, "LIVE")
    postgres_admin.execute(f"GRANT CREATE ON SCHEMA public TO {READER}")
    shown = reader().execute("SELECT count(*) FROM r").fetchone()[0]
    met = []
    reader().add_notice_handler(lambda notice: met.append(notice.message_primary))
    reader().execute(
        "CREATE FUNCTION public.spy(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 "
        "AS $$ BEGIN RAISE NOTICE '%', $1; RETURN true; END $$"
    )
    with reader().transaction():
        reader().execute("DECLARE c SCROLL CURSOR FOR SELECT * FROM r WHERE spy(illness)")
        assert len(reader().execute("FETCH ALL FROM c").fetchall()) == shown
    assert len(met) == shown
    assert "CANARY ill" not in met


# -- errors ----------------------------------------------------------------------------------------------


def test_an_error_of_a_hidden_row_reaches_the_reader_without_it(session, reader):
    session.engine.pass_through(
        "CREATE VIEW reads AS SELECT id, n, ward, pay, illness, CASE WHEN CAST(replace(ward, 'ward', '') AS integer) > 90 "
        "THEN 'x' ELSE back END AS back FROM people"
    )
    session.publish(policy(source="reads").replace("boundaries)", "boundaries, derived)"))
    session.engine.pass_through("INSERT INTO people VALUES (900, 11, 'CANARY', 1, 'flu', 'yes')")
    with pytest.raises(psycopg.Error) as error:
        reader().execute("SELECT * FROM r")
    told = error.value.diag
    for text in (str(error.value), told.message_detail, told.message_hint, told.context, told.internal_query):
        assert "CANARY" not in (text or "")
    assert "cannot be read now" in str(error.value)
    assert "cannot be read" in session.verify("r").problems[0]


# -- the catalog -----------------------------------------------------------------------------------------


def test_what_everybody_can_read_in_the_catalog_holds_no_value(session, reader):
    session.engine.pass_through("UPDATE people SET ward = 'CANARY ' || ward, n = n + 770000")
    session.publish(policy())
    looks = (
        "SELECT prosrc FROM pg_proc WHERE oid >= 16384",
        "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE oid >= 16384",
        "SELECT definition FROM pg_views WHERE viewname NOT LIKE 'pg_%'",
        "SELECT pg_get_viewdef(oid) FROM pg_class WHERE relkind = 'v' AND oid >= 16384",
        "SELECT description FROM pg_description WHERE objoid >= 16384",
        "SELECT s::text FROM pg_stats AS s WHERE schemaname IN ('public', 'ppdm')",
    )
    texts = [str(row[0]) for look in looks for row in reader().execute(look).fetchall()]
    assert any("RETURN QUERY" in text for text in texts)
    assert not any("CANARY" in text or "7700" in text for text in texts)


def test_the_function_is_no_other_way_in(session, reader, postgres_admin):
    publish(session, "LIVE")
    postgres_admin.execute("CREATE ROLE ppdm_test_other LOGIN")
    (wall,) = [name for name in session.engine.relations("ppdm") if name.startswith("ppdm_live_shown_")]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        reader().execute(f"SELECT * FROM ppdm.{wall}()")
    postgres_admin.execute(f"GRANT USAGE ON SCHEMA ppdm, public TO {READER}, ppdm_test_other")
    shown = reader().execute("SELECT * FROM r").fetchall()
    assert reader().execute(f"SELECT n, ward, pay, illness, back FROM ppdm.{wall}()").fetchall() == shown
    assert [column.name for column in reader().execute(f"SELECT * FROM ppdm.{wall}()").description] == [*PUBLISHED]
    for name in session.engine.relations("ppdm"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            reader().execute(f"SELECT * FROM ppdm.{name}")
    with postgres_admin.transaction(force_rollback=True):
        postgres_admin.execute("SET LOCAL ROLE ppdm_test_other")
        with pytest.raises(psycopg.errors.InsufficientPrivilege), postgres_admin.transaction():
            postgres_admin.execute(f"SELECT * FROM ppdm.{wall}()")
    marks = "SELECT prosecdef, provolatile, proparallel, proleakproof, prorows, procost FROM pg_proc WHERE proname = %s"
    assert postgres_admin.execute(marks, (wall,)).fetchone() == (True, "s", "u", False, 1000, 100)


def test_what_the_reader_sets_or_makes_changes_nothing_behind_the_wall(session, reader):
    publish(session, "LIVE")
    shown = reader().execute("SELECT * FROM r").fetchall()
    for text in (
        "CREATE TEMP TABLE people AS SELECT 1 AS id, 900 AS n, 'x' AS ward, 1 AS pay, 'y' AS illness, 'z' AS back",
        "SET search_path = pg_temp, public, pg_catalog",
        "SET extra_float_digits = -15",
        "SET timezone = 'Asia/Tokyo'",
        "SET datestyle = 'German'",
        "SET row_security = off",
        "SET standard_conforming_strings = off",
    ):
        reader().execute(text)
        assert reader().execute("SELECT * FROM public.r").fetchall() == shown


def test_readers_stay_readers(session, reader):
    session.publish(policy(more="SUPERSEDES ALL"))
    assert reader().execute("SELECT count(*) FROM r").fetchone()[0] > 0
    session.execute("REFRESH r")
    assert reader().execute("SELECT count(*) FROM r").fetchone()[0] > 0
    session.execute("DROP RELEASE r")
    left = session.engine.pass_through("SELECT proname FROM pg_proc WHERE proname LIKE 'ppdm_live%'").rows
    assert left == []


# -- verified and followed -------------------------------------------------------------------------------


EDITS = (
    "ALTER FUNCTION ppdm.{wall}() SECURITY INVOKER",
    "ALTER FUNCTION ppdm.{wall}() RESET search_path",
    "CREATE OR REPLACE VIEW r WITH (security_barrier) AS SELECT * FROM ppdm.{wall}",
    "CREATE OR REPLACE FUNCTION ppdm.{wall}() RETURNS SETOF ppdm.{wall} LANGUAGE sql AS 'SELECT * FROM ppdm.{wall}'",
)


@pytest.mark.parametrize("edit", EDITS)
def test_a_wall_that_was_edited_or_gone_around_is_found(session, postgres_admin, edit):
    session.publish(policy())
    assert session.verify("r").holds
    (wall,) = [name for name in session.engine.relations("ppdm") if name.startswith("ppdm_live_shown_")]
    postgres_admin.execute(edit.format(wall=wall))
    assert session.verify("r").problems == ("its definition or its rules differ from what was published",)


def test_a_live_view_of_the_version_before_is_told_exported_and_refreshed(session, reader, monkeypatch, tmp_path):
    with monkeypatch.context() as before:
        before.setattr(PostgresEngine, "has_walls", False)
        session.publish(policy(more="SUPERSEDES ALL"))
    verified = session.verify("r")
    assert not verified.holds
    assert verified.findings
    assert verified.problems == (
        "an earlier version published it, so EXPLAIN ANALYZE shows its readers how many rows it hides; REFRESH r fixes that",
    )
    assert session.export("r", tmp_path / "r.csv").rows == verified.rows
    session.execute("REFRESH r")
    assert session.verify("r").holds
    assert reader().execute("SELECT count(*) FROM r").fetchone() == (verified.rows,)


def test_a_policy_that_reads_a_live_view_reads_its_tables(session):
    record = session.publish(policy()).record
    again = """CREATE TABLE again AS SELECT n, ward, illness FROM r WITH ANONYMIZATION (ALGORITHM mondrian
        REQUIRE k = 4 QUASI IDENTIFIER (n, ward) SENSITIVE (illness) {more})"""
    with pytest.raises(RequirementBreached, match="same table as r"):
        session.publish(again.format(more=""))
    with pytest.raises(PolicyError, match='SUPERSEDES would drop "public.r", which the query reads'):
        session.publish(again.format(more="SUPERSEDES ALL"))
    made = session.publish(again.format(more="ACCEPT RISK (joint)"))
    assert set(record.sources) == {"public.people"} < set(made.record.sources)
