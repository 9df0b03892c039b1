"""Names, values, labels and files as SQL."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from ppdm_sql.errors import PpdmError
from ppdm_sql.statements.names import Name
from tests.attacks.conftest import policy

HOSTILE = [
    "'; DROP TABLE sentinel; --", '"; DROP TABLE sentinel; --', "x'); DELETE FROM sentinel; --", "$$; DROP TABLE sentinel; $$",
    "(SELECT max(secret) FROM sentinel)", "*", "%s", "{0}", "\\'; DROP TABLE sentinel; --", "a/*b", "--", "sentinel.secret",
    "t.*", "q1 FROM sentinel", "NULL", "0x41", "‮evil",
]  # fmt: skip


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


@pytest.fixture
def guarded(db):
    db.execute("CREATE TABLE sentinel AS SELECT 4711 AS secret")
    yield db
    assert db.engine.fetch(exp.select("*").from_(Name("sentinel").table())) == [(4711,)]


@pytest.mark.parametrize("name", HOSTILE)
def test_column_table_and_release_names_are_only_names(guarded, name):
    column, table, release = quoted(name), quoted("t" + name), quoted("r" + name)
    guarded.execute(f"CREATE TABLE {table} AS SELECT range % 3 AS {column}, 's' || range % 2 AS s FROM range(30)")
    text = policy(f"{column}, s", f"QUASI IDENTIFIER ({column}) SENSITIVE (s)", name=release, source=table)
    assert guarded.publish(text).rows == 30
    found = guarded.release(Name("r" + name))
    assert [info.name for info in guarded.engine.columns(found.record.name)] == [name, "s"]
    assert guarded.verify(Name("r" + name)).holds
    guarded.check(text)
    guarded.plan(text)
    guarded.export(Name("r" + name), "open.csv")
    guarded.drop(Name("r" + name))


@pytest.mark.parametrize("value", HOSTILE)
def test_values_and_class_labels_are_only_values(guarded, value, tmp_path):
    held = literal(value)
    guarded.execute(
        f"CREATE TABLE t AS SELECT {held} AS w, CASE WHEN range % 2 = 0 THEN {held} ELSE 's' END AS s FROM range(30)"
    )
    release = guarded.publish(policy("w, s", "QUASI IDENTIFIER (w) SENSITIVE (s)", "k = 5, distinct_l = 2"))
    rows = guarded.engine.fetch(release.query)
    assert {row[0] for row in rows} == {value}
    assert {row[1] for row in rows} == {value, "s"}
    guarded.export("t_open", "open.parquet")


@pytest.mark.parametrize("label", HOSTILE)
def test_hierarchy_labels_are_only_labels(guarded, label, tmp_path):
    guarded.execute("CREATE TABLE t AS SELECT 'v' || range % 4 AS w, 's' || range % 2 AS s FROM range(8)")
    file = tmp_path / "h.csv"
    shown = label if label != "*" else "star"
    file.write_text("".join(f'v{n};"{shown.replace(chr(34), chr(34) * 2)}{n // 2}";*\n' for n in range(4)))
    text = policy("w, s", f"QUASI IDENTIFIER (w HIERARCHY '{file}') SENSITIVE (s)", "k = 4")
    release = guarded.publish(text)
    assert {row[0] for row in guarded.engine.fetch(release.query)} == {f"{shown}0", f"{shown}1"}


def test_every_statement_is_one_statement_of_an_expected_kind(memory):
    """What was generated is parsed back; nothing attaches, copies or configures."""
    heard: list[str] = []
    memory.execute(
        "CREATE TABLE t AS SELECT range % 9 AS a, 'w' || range % 4 AS w, 's' || range % 3 AS s FROM range(90)"
    )
    memory.engine.on_statement = heard.append
    text = policy("a, w, s", "QUASI IDENTIFIER (a, w) SENSITIVE (s)", "k = 3, distinct_l = 2, entropy_l = 1.1, t = 0.7")
    memory.check(text)
    memory.publish(text)
    memory.verify("t_open")
    memory.drop("t_open")
    memory.engine.on_statement = None
    assert len(heard) > 50
    allowed = (exp.Query, exp.Create, exp.Drop, exp.Insert, exp.Update, exp.Comment, exp.Describe, exp.Analyze, exp.Set)
    for sql in heard:
        trees = sqlglot.parse(sql.replace("SECURE VIEW", "VIEW"), dialect="duckdb")
        assert len(trees) == 1, sql
        assert isinstance(trees[0], allowed), sql
        assert not trees[0].find(exp.Attach, exp.Copy, exp.Command), sql


def test_a_missing_table_is_not_a_file_or_a_variable(guarded, tmp_path, monkeypatch):
    """DuckDB would read a Python variable or a file in a table's place."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("a,s\n1,2\n")
    people = {"a": [1, 2], "s": [1, 2]}
    assert people
    for table in ("people", '"x.csv"', "'x.csv'", "read_csv('x.csv')", f"'{tmp_path}/x.csv'"):
        with pytest.raises(PpdmError):
            guarded.publish(policy("a, s", "QUASI IDENTIFIER (a) SENSITIVE (s)", source=table))


def test_a_misspelt_clause_never_publishes_raw_rows(guarded):
    guarded.execute("CREATE TABLE t AS SELECT range AS a, 's' AS s FROM range(30)")
    good = policy("a, s", "QUASI IDENTIFIER (a) SENSITIVE (s)")
    for bad in ("ANONYMISATION", "ANONYMIZATIO", "ANONIMIZATION"):
        with pytest.raises(PpdmError):
            guarded.execute(good.replace("ANONYMIZATION", bad))
    assert guarded.engine.relation_kind(Name("t_open")) is None
