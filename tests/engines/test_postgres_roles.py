"""Views and roles of PostgreSQL: who may read what, and what hangs on what."""

from __future__ import annotations

import pytest
from sqlglot import exp

from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import EngineError, PolicyError
from ppdm_sql.statements.names import Name, column
from tests.engines.small_queries import one, query, rows

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.postgres


@pytest.fixture
def roles(postgres_admin):
    names = ["ppdm_test_reader", 'ppdm_test o\'neil "x"']
    for name in names:
        postgres_admin.execute(psycopg.sql.SQL("CREATE ROLE {} LOGIN").format(psycopg.sql.Identifier(name)))
    postgres_admin.execute("GRANT USAGE ON SCHEMA public TO PUBLIC")
    return names


def test_select_is_granted_to_the_named_roles_and_nobody_else(postgres_engine, opened, roles):
    postgres_engine.create_table(Name("t"), one(1))
    postgres_engine.pass_through("GRANT ALL ON t TO PUBLIC")
    assert postgres_engine.grantees(Name("t")) == ["public"]
    postgres_engine.grant_select(Name("t"), roles)
    assert postgres_engine.grantees(Name("t")) == sorted(roles)
    assert rows(opened(user=roles[0]), Name("t")) == [(1,)]
    with pytest.raises(EngineError, match=r"not allowed to do this: permission denied for table t"):
        opened(user=roles[0]).pass_through("DELETE FROM t")
    assert postgres_engine.grantees(Name("nothing")) == []


def test_a_missing_role_is_named_and_nothing_changes(postgres_engine, roles):
    postgres_engine.create_table(Name("t"), one(1))
    with pytest.raises(PolicyError, match="role nobody, no one does not exist"):
        postgres_engine.grant_select(Name("t"), ["nobody", roles[0], "no one"])
    assert postgres_engine.grantees(Name("t")) == []


def test_a_view_has_a_security_barrier(postgres_engine, roles, opened):
    postgres_engine.create_table(Name("t"), query("SELECT 1 AS a, 'CANARY' AS b UNION ALL SELECT 2, 'open'"))
    postgres_engine.create_view(Name("v"), query("SELECT b FROM t WHERE a = 2"))
    options = "SELECT reloptions::text AS o FROM pg_class WHERE relname = 'v'"
    assert "security_barrier=true" in postgres_engine.pass_through(options).rows[0][0]
    postgres_engine.grant_select(Name("v"), roles)
    postgres_engine.pass_through("GRANT CREATE ON SCHEMA public TO PUBLIC")
    reader = opened(user=roles[0])
    reader.pass_through(
        "CREATE FUNCTION public.spy(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 "
        "AS $$ BEGIN RAISE EXCEPTION 'saw %', $1; END $$"
    )
    with pytest.raises(EngineError) as error:
        reader.pass_through("SELECT b FROM v WHERE spy(b)")
    assert "saw open" in str(error.value.__context__)


def test_a_view_whose_columns_change_keeps_its_readers(postgres_engine, roles):
    postgres_engine.create_view(Name("v"), one(1))
    postgres_engine.grant_select(Name("v"), roles)
    postgres_engine.create_view(Name("v"), one(2), replace=True)
    assert postgres_engine.grantees(Name("v")) == sorted(roles)
    postgres_engine.create_view(Name("v"), one(3, "other"), replace=True)
    assert postgres_engine.grantees(Name("v")) == sorted(roles)
    with postgres_engine.transaction():
        postgres_engine.create_view(Name("v"), one(4, "third"), replace=True)
        postgres_engine.create_table(Name("t"), one(1))
    assert rows(postgres_engine, Name("v"), "third") == [(4,)]
    assert rows(postgres_engine, Name("t")) == [(1,)]


def test_a_view_others_hang_on_is_not_torn_away(postgres_engine):
    postgres_engine.create_view(Name("v"), one(1))
    postgres_engine.create_view(Name("w"), exp.select(column("a")).from_(Name("v").table()))
    with pytest.raises(EngineError, match="depend"):
        postgres_engine.create_view(Name("v"), one(2, "other"), replace=True)
    assert rows(postgres_engine, Name("w")) == [(1,)]


def test_comments_are_kept(postgres_engine):
    postgres_engine.create_table(Name("t"), one(1))
    postgres_engine.comment(Name("t"), "table", "it's 100% \\ ours")
    assert postgres_engine.pass_through("SELECT obj_description('t'::regclass) AS c").rows == [("it's 100% \\ ours",)]


def test_other_relations_that_hold_rows(postgres_engine):
    postgres_engine.pass_through("CREATE MATERIALIZED VIEW m AS SELECT 1 AS a")
    postgres_engine.pass_through("CREATE TABLE p (a integer) PARTITION BY RANGE (a)")
    assert postgres_engine.relation_kind(Name("m")) == "table"
    assert postgres_engine.relation_kind(Name("p")) == "table"
    assert [info.kind for info in postgres_engine.columns(Name("m"))] == [Kind.INTEGER]
    assert postgres_engine.view_query(Name("m")) is not None
    postgres_engine.pass_through("CREATE SEQUENCE s")
    postgres_engine.pass_through("CREATE INDEX i ON p (a)")
    assert postgres_engine.relation_kind(Name("s")) is postgres_engine.relation_kind(Name("i")) is None
