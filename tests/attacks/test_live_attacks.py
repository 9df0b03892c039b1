"""What an attacker could do who reads a live view while its source changes, or reads its text."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from ppdm_sql.errors import EngineError

TEXT = """CREATE OR REPLACE VIEW t_live LIVE AS SELECT {columns} FROM t WITH ANONYMIZATION (
    ALGORITHM tpp REQUIRE k = 4, distinct_l = 2 QUASI IDENTIFIER (n, w) SENSITIVE (s) TARGET (y)
    PRESERVE (cart (min_leaf = 1, max_leaves = 5)) ACCEPT RISK (live, boundaries) SUPERSEDES ALL)"""
CANARY = 987_654


def policy(columns: str = "n, w, s, y") -> str:
    return TEXT.format(columns=columns)


def made(session) -> None:
    session.engine.pass_through(
        "CREATE TABLE t AS SELECT CAST(10 + range % 23 AS INTEGER) AS n, 'ward ' || range % 5 AS w, "
        "'ill ' || range * 7 % 4 AS s, CASE WHEN range % 23 > 11 AND range % 5 <> 2 THEN 'u' ELSE 'v' END AS y "
        "FROM range(120)"
    )


def rows(session) -> list[tuple]:
    return session.engine.pass_through("SELECT * FROM t_live", limit=100_000).rows


def keeps_its_promise(shown: list[tuple]) -> None:
    """Counted from the printed rows, NULL apart from every text."""
    classes = {}
    for n, w, s, _ in shown:
        classes.setdefault((repr(n), repr(w)), []).append(repr(s))
    for secrets in classes.values():
        assert len(secrets) >= 4
        assert len(set(secrets)) >= 2


UNIQUE = [
    f"INSERT INTO t VALUES ({CANARY}, 'ward 1', 'ill 1', 'u')",
    "INSERT INTO t VALUES (11, 'a new ward', 'ill 1', 'u')",
    "INSERT INTO t VALUES (NULL, 'ward 1', 'ill 1', 'u')",
    "INSERT INTO t VALUES (11, NULL, 'ill 1', 'u')",
    "INSERT INTO t VALUES (-5, 'ward 1', 'ill 1', 'u'), (-5, 'ward 1', 'ill 2', 'u'), (-5, 'ward 1', 'ill 3', 'u'), "
    "(-5, 'ward 1', 'ill 3', 'v')",
]


def test_a_row_that_the_rules_do_not_know_is_never_shown(memory):
    """A unique number, a new category, a NULL; also when enough of them come to make a class."""
    made(memory)
    memory.publish(policy())
    before = Counter(rows(memory))
    assert len(before) > 4
    for text in UNIQUE:
        memory.engine.pass_through(text)
        assert Counter(rows(memory)) == before
    memory.engine.pass_through("INSERT INTO t SELECT 11, 'a new ward', 'ill ' || range % 3, 'u' FROM range(50)")
    assert Counter(rows(memory)) == before


def test_a_row_in_a_known_interval_is_shown_as_the_interval_is(memory):
    made(memory)
    memory.publish(policy())
    before = Counter(rows(memory))
    memory.engine.pass_through("INSERT INTO t VALUES (11, 'ward 1', 'ill 9', 'u')")
    (more,) = (Counter(rows(memory)) - before).elements()
    assert more[:2] in {row[:2] for row in before}
    assert more[2:] == ("ill 9", "u")
    assert more[:2] != (11, "ward 1")


def test_a_new_column_is_not_shown(memory):
    """Not even when the statement said SELECT *."""
    made(memory)
    memory.publish(policy("*"))
    memory.engine.pass_through(f"ALTER TABLE t ADD COLUMN ssn INTEGER DEFAULT {CANARY}")
    found = memory.engine.pass_through("SELECT * FROM t_live", limit=100_000)
    assert found.columns == ("n", "w", "s", "y")
    assert str(CANARY) not in str(found.rows)


def test_a_column_that_changed_its_type_is_not_shown_raw(memory):
    made(memory)
    memory.publish(policy())
    allowed = {row[:2] for row in rows(memory)}
    memory.engine.pass_through("ALTER TABLE t ALTER COLUMN n TYPE VARCHAR")
    try:
        shown = rows(memory)
    except EngineError:
        return
    assert {row[:2] for row in shown} <= allowed


def test_a_class_that_fell_below_is_hidden_whatever_happens(memory):
    """60 random changes, the view is read after each."""
    made(memory)
    memory.publish(policy())
    draw = random.Random("live")
    sizes = set()
    for _ in range(60):
        n, w, s = draw.randint(8, 34), f"ward {draw.randint(0, 5)}", f"ill {draw.randint(0, 4)}"
        memory.engine.pass_through(
            draw.choice(
                [
                    f"DELETE FROM t WHERE n = {n}",
                    f"DELETE FROM t WHERE w = '{w}' AND s = '{s}'",
                    f"UPDATE t SET n = {n} WHERE w = '{w}' AND n < {draw.randint(10, 30)}",
                    f"UPDATE t SET s = '{s}' WHERE n BETWEEN {n} AND {n + 4}",
                    f"UPDATE t SET w = NULL WHERE n = {n}",
                    f"INSERT INTO t VALUES ({n}, '{w}', '{s}', 'u')",
                    f"INSERT INTO t SELECT {n} + range % 3, '{w}', 'ill ' || range % 3, 'v' FROM range(9)",
                ]
            )
        )
        shown = rows(memory)
        keeps_its_promise(shown)
        sizes.add(len(shown))
    assert len(sizes) > 10
    assert max(sizes) > 20
    assert memory.verify("t_live").holds


def test_the_texts_of_the_views_hold_no_value_of_the_source(memory):
    """Boundaries and categories are in the rules alone."""
    made(memory)
    memory.engine.pass_through("UPDATE t SET n = n + 770000, w = 'canary ' || w")
    memory.publish(policy())
    assert len({row[:2] for row in rows(memory)}) > 1
    views = memory.engine.pass_through("SELECT sql FROM duckdb_views() WHERE NOT internal", limit=1000).rows
    texts = " ".join(row[0] for row in views if "t_live" in row[0] or "ppdm_live_" in row[0])
    assert texts.count("CREATE SECURE VIEW") == 3
    assert "7700" not in texts
    assert "canary" not in texts


def test_a_condition_of_the_reader_is_not_met_by_hidden_rows(memory):
    """A filter that raises on what it sees must not see a hidden row."""
    made(memory)
    memory.publish(policy())
    memory.engine.pass_through("INSERT INTO t VALUES (11, 'ward 1', 'canary', 'u'), (-70, 'ward 1', 'canary', 'u')")
    memory.engine.pass_through("DELETE FROM t WHERE n = 11 AND w = 'ward 1' AND s = 'canary'")
    told = "SELECT count(*) FROM t_live WHERE CASE WHEN s = 'canary' THEN error('seen') ELSE true END"
    assert memory.engine.pass_through(told).rows == [(len(rows(memory)),)]


@pytest.mark.postgres
def test_a_reader_of_the_view_reads_nothing_behind_it(postgres_engine, postgres_admin, make_table, tmp_path):
    """R4: the role may read the view, and neither the source nor the rules."""
    import psycopg

    from ppdm_sql.session import Session
    from ppdm_sql.watching import silent

    wards, columns = [f"ward {n}" for n in range(4)], {"n": "INTEGER", "w": "TEXT", "s": "TEXT", "y": "TEXT"}
    people = [(n % 23, wards[n % 4], f"ill {n * 7 % 3}", "u" if n % 23 > 11 else "v") for n in range(100)]
    make_table(postgres_engine, "t", columns, people)
    session = Session(postgres_engine, out=tmp_path, show_values=False, progress=silent)
    postgres_admin.execute("CREATE ROLE ppdm_test_reader")
    postgres_admin.execute("GRANT USAGE ON SCHEMA public TO ppdm_test_reader")
    session.publish(policy().replace("SUPERSEDES ALL)", "SUPERSEDES ALL GRANT SELECT TO ppdm_test_reader)"))
    behind = [name for name in postgres_engine.relations("ppdm") if name.startswith("ppdm_live_")]
    with postgres_admin.transaction(force_rollback=True):
        postgres_admin.execute("SET LOCAL ROLE ppdm_test_reader")
        assert postgres_admin.execute("SELECT count(*) FROM public.t_live").fetchone() == (100,)
        for name in ("public.t", *(f"ppdm.{one}" for one in behind)):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), postgres_admin.transaction():
                postgres_admin.execute(f"SELECT * FROM {name}")
