"""What bad input and bad days get: a clear sentence, the right exit code, and the old release as it was."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.errors import DatabaseUnavailable, PolicyError, PpdmError, RequirementBreached
from ppdm_sql.statements.names import Name
from tests.sizes import HANGS

POLICY = """
CREATE OR REPLACE TABLE t_open AS SELECT {columns} FROM t
WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = {k}{more} {roles} SUPERSEDES ALL)
"""


@pytest.fixture
def db(tmp_path):
    with ppdm_sql.connect(str(tmp_path / "t.duckdb"), create=True, out=tmp_path) as session:
        yield session


def publish(db, columns="a, s", k=2, more="", roles="QUASI IDENTIFIER (a) SENSITIVE (s)"):
    return db.publish(POLICY.format(columns=columns, k=k, more=more, roles=roles))


# -- odd tables ------------------------------------------------------------------------------------------------


def test_an_empty_table_is_not_anonymous(db):
    db.execute("CREATE TABLE t (a INTEGER, s TEXT)")
    with pytest.raises(RequirementBreached, match="no rows"):
        publish(db)


def test_one_row_cannot_hide(db):
    db.execute("CREATE TABLE t AS SELECT 1 AS a, 'x' AS s")
    with pytest.raises(RequirementBreached, match="the whole table has 1 row"):
        publish(db)


def test_all_null_is_one_class(db):
    db.execute("CREATE TABLE t AS SELECT NULL::INTEGER AS a, NULL::TEXT AS s FROM range(5)")
    release = publish(db, k=5)
    assert (release.rows, release.classes) == (5, 1)


def test_more_diversity_than_there_are_values_is_refused(db):
    db.execute("CREATE TABLE t AS SELECT range AS a, 'x' AS s FROM range(20)")
    with pytest.raises(RequirementBreached, match="distinct_l"):
        publish(db, more=", distinct_l = 2")


@pytest.mark.wide
def test_ten_thousand_categories_and_three_hundred_columns(db):
    db.execute("CREATE TABLE t AS SELECT 'v' || range AS a, 's' || range % 7 AS s FROM range(10000)")
    assert publish(db, k=5).rows == 10_000
    wide = ", ".join(f"range % {n + 2} AS c{n}" for n in range(300))
    db.execute(f"CREATE OR REPLACE TABLE t AS SELECT {wide} FROM range(200)")
    names = ", ".join(f"c{n}" for n in range(300))
    others = ", ".join(f"c{n}" for n in range(5, 300))
    release = publish(
        db, names, 5, roles=f"QUASI IDENTIFIER (c0, c1, c2, c3, c4) INSENSITIVE ({others}) ACCEPT RISK (undeclared)"
    )
    assert release.rows == 200


@pytest.mark.parametrize(
    "typed",
    [
        "(range % 3)::DECIMAL(18, 3)", "DATE '2020-01-01' + (range % 3)::INTEGER", "TIMESTAMP '2020-01-01' + to_days((range % 3)::INTEGER)",
        "TIMESTAMPTZ '2020-01-01 00:00:00+02' + to_days((range % 3)::INTEGER)", "range % 3 = 0", "(range % 3)::HUGEINT",
        "('00000000-0000-0000-0000-00000000000' || range % 3)::UUID", "(['a', 'b', 'c'][range % 3 + 1])::ENUM('a', 'b', 'c', 'unused')",
        "(range % 3)::DOUBLE", "(range % 3)::FLOAT", "(range % 3)::UTINYINT", "'t' || range % 3",
    ],
)  # fmt: skip
@pytest.mark.parametrize("role", ["quasi", "sensitive"])
def test_every_plain_type_can_be_published(db, typed, role):
    db.execute(f"CREATE TABLE t AS SELECT {typed} AS a, {typed} AS s FROM range(30)")
    roles = "QUASI IDENTIFIER (a) SENSITIVE (s)" if role == "quasi" else "QUASI IDENTIFIER (s) SENSITIVE (a)"
    assert publish(db, k=5, roles=roles).rows == 30
    assert db.verify("t_open").holds
    assert not [info for info in db.engine.columns(Name("t_open")) if "ENUM" in info.declared]


@pytest.mark.parametrize(
    "typed", ["[range]", "{'x': range}", "MAP {range: 1}", "range::VARCHAR::BLOB", "to_days(range::INTEGER)"]
)
def test_nested_types_are_refused_by_name(db, typed):
    db.execute(f"CREATE TABLE t AS SELECT {typed} AS a, 'x' AS s FROM range(30)")
    with pytest.raises(PolicyError, match='column "a": type'):
        publish(db)


HOSTILE = [
    'quo"te', "dot.ted", "sp ace", "select", "group", "semi;colon", "--comment", "'single'", "back\\slash", "emoji 🦆",
    "a" * 200, "percent%s", "$k", ":x", "new\nline", "(select max(s) from t)", "quasi", "source", "order by 1",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_column_names_are_only_names(db, name):
    quoted = '"' + name.replace('"', '""') + '"'
    db.execute(f"CREATE TABLE t AS SELECT range % 3 AS {quoted}, 'x' || range % 2 AS s FROM range(30)")
    assert publish(db, f"{quoted}, s", 5, roles=f"QUASI IDENTIFIER ({quoted}) SENSITIVE (s)").rows == 30
    assert db.verify("t_open").holds
    db.export("t_open", "open.parquet")
    assert db.engine.relation_kind(Name("t")) == "table"


@pytest.mark.parametrize("name", ["ppdm_x", "PPDM_part"])
def test_our_own_prefix_is_reserved(db, name):
    db.execute(f"CREATE TABLE t AS SELECT range AS {name}, 'x' AS s FROM range(30)")
    with pytest.raises(PolicyError, match="reserved for ppdm_sql"):
        publish(db, f"{name}, s", roles=f"QUASI IDENTIFIER ({name}) SENSITIVE (s)")


@pytest.mark.parametrize("name", ["ppdm.x", "ppdm_link_x"])
def test_our_own_schema_and_names_cannot_be_published_into(db, name):
    db.execute("CREATE TABLE t AS SELECT range % 3 AS a, 'x' AS s FROM range(30)")
    with pytest.raises(PpdmError):
        db.publish(
            POLICY.replace("t_open", name).format(
                columns="a, s", k=2, more="", roles="QUASI IDENTIFIER (a) SENSITIVE (s)"
            )
        )


def test_a_query_that_gives_other_rows_each_time_is_read_once(db):
    db.execute("CREATE TABLE t AS SELECT range AS a, 'x' || range % 3 AS s FROM range(200)")
    release = db.publish(
        "CREATE TABLE t_open AS SELECT a, s FROM t WHERE random() < 0.5 "
        "WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 5 QUASI IDENTIFIER (a) SENSITIVE (s))"
    )
    assert 50 < release.rows < 150
    assert db.verify("t_open").holds


# -- bad days ----------------------------------------------------------------------------------------------------


def test_a_locked_database_is_waited_for_and_then_named(tmp_path):
    path = tmp_path / "t.duckdb"
    duckdb.connect(str(path)).close()
    hold = f"import duckdb, sys; c = duckdb.connect({str(path)!r}); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        started = time.monotonic()
        with pytest.raises(DatabaseUnavailable, match=f"locked by process {holder.pid}"):
            ppdm_sql.connect(str(path), lock_timeout=0.5)
        assert time.monotonic() - started >= 0.5
        holder.stdin.close()
        holder.wait()
    ppdm_sql.connect(str(path)).close()


@pytest.mark.parametrize(
    "content", [b"SQLite format 3\0" + b"x" * 5000, b"not a database", b"\0" * 8 + b"DUCK" + b"\xff" * 4000]
)
def test_a_foreign_or_damaged_file_is_not_touched(tmp_path, content):
    path = tmp_path / "t.duckdb"
    path.write_bytes(content)
    with pytest.raises(DatabaseUnavailable):
        ppdm_sql.connect(str(path))
    assert path.read_bytes() == content
    assert [item.name for item in tmp_path.iterdir()] == ["t.duckdb"]


FULL = """
import resource, sys
import ppdm_sql
from ppdm_sql.errors import PpdmError
size = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))  # every write beyond this fails, as on a full disk
try:
    with ppdm_sql.connect(sys.argv[1]) as db:
        db.publish(sys.argv[3])
except PpdmError as error:
    print(error)
    sys.exit(error.exit_code)
"""


@pytest.mark.wide
def test_a_disk_that_fills_up_leaves_the_old_release(tmp_path):
    path = tmp_path / "t.duckdb"
    statement = POLICY.format(
        columns="a, s, w",
        k=5,
        more="",
        roles="QUASI IDENTIFIER (a) SENSITIVE (s) INSENSITIVE (w) ACCEPT RISK (undeclared)",
    )
    with ppdm_sql.connect(str(path), create=True) as db:
        db.execute(
            "CREATE TABLE t AS SELECT range % 90 AS a, 'x' || range % 3 AS s, md5(range::TEXT) AS w FROM range(20000)"
        )
        before = db.publish(statement).record.content_hash
        db.execute("INSERT INTO t SELECT a, s, 'more ' || w FROM t")
        db.execute("CHECKPOINT")
    seen = set()
    for limit in map(str, (20_000, 200_000, path.stat().st_size - 100_000, path.stat().st_size + 2_000_000)):
        done = subprocess.run([sys.executable, "-c", FULL, str(path), limit, statement], capture_output=True, text=True)
        seen.add(done.returncode)
        assert done.returncode in (0, 3), done.stderr
        assert "Traceback" not in done.stderr
        with ppdm_sql.connect(str(path)) as db:
            assert db.verify("t_open").holds
            if done.returncode == 3:
                assert db.release("t_open").record.content_hash == before
                assert "full" in done.stdout, done.stdout
                assert str(tmp_path) in done.stdout  # which file, and what stays
                assert "the database is unchanged" in done.stdout
    assert 3 in seen


@pytest.mark.wide
def test_time_zone_locale_and_hash_seed_do_not_matter(tmp_path):
    code = textwrap.dedent("""
        import sys, ppdm_sql
        with ppdm_sql.connect(":memory:") as db:
            db.execute("CREATE TABLE t AS SELECT range % 40 AS a, DATE '2024-01-01' + (range % 300)::INTEGER AS d, "
                       "'x' || range % 3 AS s FROM range(500)")
            print(db.publish(sys.argv[1]).record.content_hash)
    """)
    statement = POLICY.format(columns="a, d, s", k=5, more="", roles="QUASI IDENTIFIER (a, d) SENSITIVE (s)")
    found = set()
    for environment in (
        {"PYTHONHASHSEED": "1", "TZ": "UTC"},
        {"PYTHONHASHSEED": "2", "TZ": "Asia/Tokyo", "LC_ALL": "C"},
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, statement],
            capture_output=True,
            text=True,
            env=os.environ | environment,
            check=True,
        )
        found.add(done.stdout)
    assert len(found) == 1


def _as_url(conninfo: str) -> str:
    from urllib.parse import quote

    parts = dict(part.split("=", 1) for part in conninfo.split())
    return f"postgresql://{parts['user']}@/{parts['dbname']}?host={quote(parts['host'], safe='')}"


@pytest.mark.wide
def test_two_publications_at_once_do_not_mix(postgres_url, _postgres):
    """On PostgreSQL two sessions can publish one release at the same time: one wins, what stays is whole."""
    code = textwrap.dedent("""
        import sys, ppdm_sql
        from ppdm_sql.errors import PpdmError
        try:
            with ppdm_sql.connect(sys.argv[1]) as db:
                db.publish(sys.argv[2])
        except PpdmError as error:
            print(error)
            sys.exit(error.exit_code)
    """)
    from tests.conftest import _empty_postgres

    url = _as_url(postgres_url)

    with ppdm_sql.connect(url) as db:
        db.execute("CREATE TABLE t AS SELECT n % 50 AS a, 'x' || n % 3 AS s FROM generate_series(1, 3000) AS g(n)")
        db.publish(POLICY.format(columns="a, s", k=5, more="", roles="QUASI IDENTIFIER (a) SENSITIVE (s)"))
        statements = [
            POLICY.format(
                columns=f"a, s, {n} AS batch",
                k=5,
                more="",
                roles="QUASI IDENTIFIER (a) SENSITIVE (s) INSENSITIVE (batch)",
            )
            for n in (1, 2)
        ]
        running = [
            subprocess.Popen([sys.executable, "-c", code, url, text], stdout=subprocess.PIPE, text=True)
            for text in statements
        ]
        codes = [process.wait(timeout=HANGS) for process in running]
        assert 0 in codes
        assert set(codes) <= {0, 3}
        release = db.release("t_open")
        batches = {row[-1] for row in db.engine.fetch(release.query)}
        assert len(batches) == 1
        assert db.verify("t_open").holds
    _empty_postgres(_postgres)


def test_values_stay_out_of_engine_errors(db):
    db.execute("CREATE TABLE t AS SELECT 'ZZ John Smith 1971' AS a, 'x' AS s FROM range(3)")
    with pytest.raises(PpdmError) as refused:
        publish(db, "CAST(a AS INTEGER) AS a, s")
    assert "John" not in str(refused.value)


def test_a_read_only_folder_is_told_before_any_work(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    with ppdm_sql.connect(str(tmp_path / "t.duckdb"), create=True) as db:
        db.execute("CREATE TABLE t AS SELECT range % 3 AS a, 'x' AS s FROM range(30)")
    Path(tmp_path / "t.duckdb").chmod(0o444)
    with ppdm_sql.connect(str(tmp_path / "t.duckdb")) as db, pytest.raises(PpdmError, match="read-only"):
        publish(db)
