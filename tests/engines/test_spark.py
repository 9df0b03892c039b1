"""What is particular to Spark: a catalog that outlives the process, its lock, silence, and urls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from datetime import UTC, datetime

import pytest
from sqlglot import exp, parse_one

from ppdm_sql.engines.connect import open_engine
from ppdm_sql.errors import DatabaseUnavailable, EngineError, PolicyError
from ppdm_sql.statements.names import Name, aliased, column

pytest.importorskip("pyspark", reason="pyspark is not installed")
pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    "url",
    [
        "spark:",
        "spark:yarn",
        "spark:local[2",
        "spark:local[two]",
        "spark:local[2]?wharehouse=x",
        "spark:local?warehouse=",
        "spark:local?warehouse=x&cores=2",
        "spark://host:7077",
        "spark://host:7077?warehouse=:memory:",
        "spark://host?warehouse=x",
        "spark://user:S3cret@host:7077?warehouse=x",
    ],
)
def test_a_wrong_url_says_what_a_right_one_is(url):
    with pytest.raises(PolicyError, match="warehouse"):
        open_engine(url)


def test_connect_without_its_packages_or_its_server_is_told_without_the_token():
    with pytest.raises((PolicyError, DatabaseUnavailable), match="Spark Connect") as error:
        open_engine("spark:sc://localhost:1/;token=S3cret")
    assert "S3cret" not in str(error.value)


def test_a_master_that_does_not_answer_is_named(tmp_path):
    with pytest.raises(DatabaseUnavailable, match="no Spark master answers at spark://127.0.0.1:1"):
        open_engine(f"spark://127.0.0.1:1?warehouse={tmp_path / 'lake'}")


def test_a_memory_limit_is_a_size():
    with pytest.raises(PolicyError, match="4GB"):
        open_engine("spark:local[1]?warehouse=:memory:", memory_limit="lots")


def test_a_second_spark_in_one_process_is_refused(spark_engine):
    with pytest.raises(DatabaseUnavailable, match="pass its session"):
        open_engine("spark:local[1]?warehouse=:memory:")


def test_a_session_that_was_handed_over_is_given_back_as_it_was(spark_session):
    spark_session.conf.set("spark.sql.session.timeZone", "Asia/Kathmandu")
    try:
        with open_engine(spark_session) as engine:
            assert engine.title == "Spark"
            engine.create_table(Name("ppdm_w"), parse_one("SELECT 1 AS a"), temporary=True)
            assert spark_session.conf.get("spark.sql.session.timeZone") == "UTC"
        assert spark_session.conf.get("spark.sql.session.timeZone") == "Asia/Kathmandu"
        assert not spark_session.catalog.tableExists("ppdm_w")
        assert spark_session.sql("SELECT 1").collect()
    finally:
        spark_session.conf.set("spark.sql.session.timeZone", "UTC")


def test_a_cast_that_fails_is_an_error_not_a_null(spark_engine):
    with pytest.raises(EngineError, match="CAST_INVALID_INPUT"):
        spark_engine.fetch(parse_one("SELECT CAST('x' AS INT) AS a", dialect="spark").transform(_plain_cast))


def _plain_cast(node):
    return exp.cast(node.this, node.to) if isinstance(node, exp.TryCast) else node


def test_rows_of_a_killed_run_are_removed_under_our_names_only(spark_engine, monkeypatch, tmp_path):
    place = type("Place", (), {"data": tmp_path})
    monkeypatch.setattr(spark_engine, "_place", place)
    spark_engine.create_schema("s")
    ours, theirs = tmp_path / "s.db" / "ppdm_release_1", tmp_path / "s.db" / "other"
    stored = tmp_path / "ppdm_stored"
    for folder in (ours, theirs, stored):
        folder.mkdir(parents=True)
    spark_engine.create_table(Name("ppdm_stored_elsewhere"), parse_one("SELECT 1 AS a"))
    spark_engine._make_way(Name("s", "ppdm_release_1"))
    spark_engine._make_way(Name("s", "other"))
    assert not ours.exists()
    assert theirs.exists()
    monkeypatch.undo()


# -- a warehouse of its own, in processes of its own -----------------------------------------------------

WRITE = """
    import json, sys
    from datetime import UTC, datetime
    from sqlglot import parse_one
    from ppdm_sql.engines.connect import open_engine
    from ppdm_sql.errors import DatabaseUnavailable, EngineError
    from ppdm_sql.statements.names import Name

    told = {}
    with open_engine(sys.argv[1]) as engine:
        engine.create_schema("ppdm")
        engine.create_table(Name("ppdm", "release"), parse_one("SELECT 7 AS `a b`, 'x' AS `o``b`", dialect="spark"))
        engine.create_view(Name("v"), parse_one("SELECT `a b` FROM ppdm.release", dialect="spark"))
        engine.comment(Name("v"), "view", "it's ours")
        moment = parse_one("SELECT TIMESTAMPTZ '2024-03-31 01:30:00+00' AS t", dialect="duckdb")
        told["moment"] = str(engine.fetch_one(moment)[0])
        told["batch"] = str(next(engine.batches(moment)).column(0)[0].as_py())
        try:
            engine.fetch(parse_one("SELECT CAST(CONCAT('CANARY', id) AS INT) AS a FROM RANGE(3)", dialect="duckdb"))
        except EngineError as error:
            told["error"] = str(error)
        from ppdm_sql.engines.spark import session
        try:
            session._claim(session.SparkPlace(), sys.argv[2], 0.3)
        except DatabaseUnavailable as error:
            told["locked"] = str(error)
        import os
        told["pid"] = os.getpid()
        told["modes"] = [oct(os.stat(sys.argv[2]).st_mode & 0o777), oct(engine._place.temp.stat().st_mode & 0o777)]
    told["left"] = sorted(os.listdir(sys.argv[2]))
    with open_engine(sys.argv[1]) as engine:  # the same process can come back
        told["again"] = engine.relations("ppdm")
    print(json.dumps(told))
"""
READ = """
    import json, sys
    from sqlglot import parse_one
    from ppdm_sql.engines.connect import open_engine
    from ppdm_sql.statements.names import Name

    with open_engine(sys.argv[1]) as engine:
        print(json.dumps([
            engine.relations("ppdm"), engine.relation_kind(Name("v")),
            [info.name for info in engine.columns(Name("ppdm", "release"))],
            engine.fetch(parse_one("SELECT * FROM v", dialect="spark")),
        ]))
"""


def run(script, *arguments):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *arguments],
        capture_output=True, text=True, check=False, env={**os.environ, "TZ": "America/New_York"},
    )  # fmt: skip


def test_what_was_stored_is_found_by_the_next_process_and_nothing_is_printed(spark_session, tmp_path):
    folder = str(tmp_path / "lake")
    wrote = run(WRITE, f"spark:local[2]?warehouse={folder}", folder)
    assert wrote.stderr == ""
    told = json.loads(wrote.stdout)
    moment = datetime(2024, 3, 31, 1, 30, tzinfo=UTC)
    assert told["moment"] == told["batch"] == str(moment)
    assert "CANARY" not in told["error"]
    assert f"locked by process {told['pid']};" in told["locked"]
    assert told["modes"] == ["0o700", "0o700"]
    assert told["left"] == ["data", "metastore", "ppdm.lock"]
    assert told["again"] == ["release"]
    read = run(READ, f"spark:local[2]?warehouse={folder}")
    assert (json.loads(read.stdout), read.stderr) == ([["release"], "view", ["a b", "o`b"], [[7]]], "")


def test_numbers_too_big_for_a_bigint_are_still_numbers(spark_engine):
    query = exp.select(aliased(exp.Placeholder(this="n"), "n"))
    assert spark_engine.fetch(query, n=1 << 70) == [(1 << 70,)]


def test_a_working_table_is_not_the_view_it_is_made_from(spark_engine):
    spark_engine.create_table(Name("ppdm_a"), parse_one("SELECT 1 AS a"), temporary=True)
    spark_engine.create_table(Name("ppdm_b"), exp.select(column("a")).from_(Name("ppdm_a").table()), temporary=True)
    spark_engine.drop_table(Name("ppdm_a"), temporary=True)
    assert spark_engine.fetch(exp.select(column("a")).from_(Name("ppdm_b").table())) == [(1,)]
