"""The engines every test of the project can run on.

    def test_something(engine, make_table): ...

`engine` runs the test three times, on DuckDB, PostgreSQL and Spark, each time in an empty database that
is thrown away afterwards.  What differs is a mark:

    @pytest.mark.lacks("spark", reason="Spark has no transactions")    strict xfail on that engine only

`make_table(engine, "patients", {"age": "INTEGER", 'o"brien': "TEXT"}, [(31, "x"), (None, None)])` stores rows
under any column names and returns the relation's Name.  The types are BOOLEAN, SMALLINT, INTEGER, BIGINT,
REAL, DOUBLE, DECIMAL(p, s), TEXT, DATE, TIMESTAMP and TIMESTAMPTZ; the values are Python's (int, float with
nan and inf, Decimal, str, date, datetime), None is NULL.  `temporary=True` makes a working table.  On Spark a
stored relation's name holds only letters, digits and _; a working table's may hold anything.

`open_session(engine)` is a session over an engine, whose files stay below tmp_path.  In a folder whose conftest.py
has a fixture `tables` (a function that fills an engine), `session` is a session over these on each engine, `duck` on
DuckDB alone.

For tests of one engine only: `duckdb_engine`, `postgres_engine`, `spark_engine`, with the mark of that
engine.  `postgres_url` is the scratch database for a second session, `postgres_admin` a superuser's connection
to it (roles named ppdm_test_... are dropped after the test), `spark_session` the session all Spark tests share.

DuckDB runs in memory.  PostgreSQL is a private server from the pgserver wheel, started once per process
(under pytest-xdist: one for each worker), or the one PPDM_TEST_POSTGRES=postgresql://... names, in a scratch
database.  Spark takes a minute and so is a job of its own: pytest -m spark, or PPDM_TEST_SPARK=1.

Three sizes (tests/sizes.py): `make test` leaves out what is marked `wide`, `make test-all` runs that too, and what is
marked `nightly` runs only where it is asked for.  Of a test that needs a database and has many cases, `make test` takes
the first.  Of the tests of one file that run on every engine, it takes the first on PostgreSQL.  Of the other cases of
a test two are marked `wide` here, and the rest `nightly`.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from pathlib import Path

import pyarrow as pa
import pytest

from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.statements.names import Name

collect_ignore_glob = ["*conftest.py"]  # --doctest-modules would import them all under the one name conftest

ENGINES = ("duckdb", "postgres", "spark")
PARAMS = [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ENGINES]

# A fixture that opens a database of its own is listed here, too: the further cases of its tests are not for make test.
USE_A_DATABASE = {
    *("engine", "duckdb_engine", "postgres_url", "tmp_path", "tmp_path_factory"),
    *("memory", "ward_session", "small_engine", "one_database", "shared", "lab", "duck", "opened"),
}
CASES = 1  # of one test, in make test
# Tables of a few rows: one part of a shuffle, and no program that is compiled for each query, nor planned twice.
SPARK_SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}
ON_POSTGRES = 1  # of all tests of one file that run on every engine, in make test
WIDE_CASES = 2  # of one test on one engine, in make test-wide


# -- the fixture the tests use ---------------------------------------------------------------------------


@pytest.fixture(params=PARAMS)
def engine(request):
    return request.getfixturevalue(f"{request.param}_engine")


@pytest.hookimpl(tryfirst=True)  # before -m selects by the marks
def pytest_collection_modifyitems(config, items):
    _expect_known_gaps(items)
    _widen_further_cases(items)
    if not _is_asked_for(config, "nightly"):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("nightly")])
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]


def _running_on(item):
    return item.callspec.params.get("engine") if hasattr(item, "callspec") else None


def _expect_known_gaps(items):
    """A gap is a strict xfail on its engine: the test fails when the gap closes."""
    for item in items:
        for mark in item.iter_markers("lacks"):
            if _running_on(item) in mark.args:
                item.add_marker(pytest.mark.xfail(reason=mark.kwargs["reason"], strict=True))


def _widen_further_cases(items):
    """Leaves the further cases of a test that needs a database to make test-all, and most of very many to make nightly."""
    met = Counter()
    further = defaultdict(list)
    for item in items:
        sized = item.get_closest_marker("wide") or item.get_closest_marker("nightly")
        own_job = item.get_closest_marker("spark")
        if sized or own_job or not USE_A_DATABASE & set(getattr(item, "fixturenames", ())):
            continue
        again = _running_on(item) == "postgres"  # the same on another engine
        key = (item.path, None if again else item.originalname)
        met[key] += 1
        if met[key] > (ON_POSTGRES if again else CASES):
            further[item.path, item.originalname, _running_on(item)].append(item)
    for cases in further.values():
        chosen = {len(cases) * number // WIDE_CASES for number in range(WIDE_CASES)}  # spread over all of them
        for place, item in enumerate(cases):
            item.add_marker(pytest.mark.wide if place in chosen else pytest.mark.nightly)


def _is_asked_for(config, mark):
    marks = config.getoption("markexpr")
    return mark in marks and f"not {mark}" not in marks


# -- DuckDB ----------------------------------------------------------------------------------------------


@pytest.fixture
def duckdb_engine():
    with DuckDBEngine.open(":memory:") as engine:
        yield engine


# -- PostgreSQL ------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def _postgres_server():
    """The url of a server on which databases may be made."""
    if "PPDM_TEST_POSTGRES" in os.environ:
        yield os.environ["PPDM_TEST_POSTGRES"]
        return
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # platformdirs misses XDG_RUNTIME_DIR, which does not matter here
        pgserver = pytest.importorskip("pgserver", reason="pgserver is not installed")
    _refuse_to_open_private_folders(Path(pgserver.__file__))
    # Not below pytest's folder: a server started by root runs as another user, who has to get there, and
    # a socket's path may be no longer than 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="ppdm_pg_"))
    server = _started(pgserver, folder)
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


def _refuse_to_open_private_folders(package):
    """As root pgserver makes every folder above its programs readable for all: /root, too, were it there."""
    if os.geteuid() == 0:
        for folder in package.parents:
            if not folder.stat().st_mode & stat.S_IXOTH:
                pytest.skip(f"pgserver would open {folder} to every user; run the tests as another user than root")


def _started(pgserver, folder, attempts=3):
    """pg_ctl is given ten seconds, which a busy machine does not always keep."""
    import subprocess

    for attempt in range(attempts):
        try:
            return pgserver.get_server(folder, cleanup_mode="delete")
        except subprocess.SubprocessError:
            if attempt == attempts - 1:
                raise
            pgserver.postgres_server.PostgresServer._instances.pop(folder, None)
    raise AssertionError


@pytest.fixture(scope="session")
def postgres_url(_postgres_server):
    """A scratch database of this process."""
    import psycopg

    name = f"ppdm_test_{os.getpid()}"
    with psycopg.connect(_postgres_server, autocommit=True) as admin:
        if "PPDM_TEST_POSTGRES" not in os.environ:
            for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                admin.execute(f"ALTER SYSTEM SET {setting} = off")
            admin.execute("SELECT pg_reload_conf()")
        admin.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")
    yield psycopg.conninfo.make_conninfo(_postgres_server, dbname=name)
    with psycopg.connect(_postgres_server, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def _postgres(postgres_url):
    """The administrator's connection: what a test made is dropped through it."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as admin:
        yield admin


@pytest.fixture
def postgres_admin(_postgres):
    return _postgres


@pytest.fixture
def postgres_engine(_postgres, postgres_url):
    from ppdm_sql.engines.postgres.engine import PostgresEngine

    with PostgresEngine.open(postgres_url) as engine:
        yield engine
    _empty_postgres(_postgres)


def _empty_postgres(admin):
    """Drops everything; a session that has just been closed still clears its temporary relations for a moment."""
    import psycopg

    for attempt in range(5):
        _wait_for_leaving_sessions(admin)
        try:
            _drop_everything(admin)
            return
        except psycopg.errors.DeadlockDetected:
            if attempt == 4:
                raise


def _wait_for_leaving_sessions(admin, seconds=2.0):
    others = """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
    """
    deadline = time.monotonic() + seconds
    while admin.execute(others).fetchone()[0] and time.monotonic() < deadline:
        time.sleep(0.01)


def _drop_everything(admin):
    admin.execute(
        """
        DO $$
        DECLARE thing text;
        BEGIN
            SET LOCAL client_min_messages = warning;
            FOR thing IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_|^information_schema$' LOOP
                EXECUTE format('DROP SCHEMA %I CASCADE', thing);
            END LOOP;
            CREATE SCHEMA public;
            FOR thing IN SELECT rolname FROM pg_roles WHERE rolname LIKE 'ppdm_test_%' LOOP
                EXECUTE format('DROP OWNED BY %I CASCADE', thing);
                EXECUTE format('DROP ROLE %I', thing);
            END LOOP;
        END $$
        """
    )


# -- Spark -----------------------------------------------------------------------------------------------


def _spark_is_asked_for(config):
    return os.environ.get("PPDM_TEST_SPARK") == "1" or _is_asked_for(config, "spark")


@pytest.fixture(scope="session")
def _spark(request):
    """One session for the whole run: starting it takes most of the time."""
    if not _spark_is_asked_for(request.config):
        pytest.skip("Spark is a job of its own: pytest -m spark, or PPDM_TEST_SPARK=1")
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("there is no JDK")
    from ppdm_sql.engines.spark.engine import SparkEngine

    # The stored form of the catalog takes seconds for what this one does in a tenth; it has its own test.
    with SparkEngine.open("spark:local[2]?warehouse=:memory:") as engine:
        for name, value in SPARK_SETTINGS.items():
            engine._session.conf.set(name, value)
        yield engine._session


@pytest.fixture
def spark_session(_spark):
    return _spark


@pytest.fixture
def spark_engine(_spark):
    from ppdm_sql.engines.spark.engine import SparkEngine

    with SparkEngine(_spark) as engine:
        yield engine
    _empty_spark(_spark)


def _empty_spark(session):
    # SHOW answers at once; session.catalog.listTables() runs a job for the same rows.
    views = {row.viewName for row in session.sql("SHOW VIEWS IN default").collect()}
    for row in session.sql("SHOW TABLES IN default").collect():
        if row.isTemporary:
            session.catalog.dropTempView(row.tableName)
        else:
            session.sql(f"DROP {'VIEW' if row.tableName in views else 'TABLE'} default.{row.tableName}")
    for row in session.sql("SHOW SCHEMAS").collect():
        if row.namespace != "default":
            session.sql(f"DROP SCHEMA {row.namespace} CASCADE")


# -- tables ----------------------------------------------------------------------------------------------

ARROW = {
    "BOOLEAN": pa.bool_(),
    "SMALLINT": pa.int16(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "REAL": pa.float32(),
    "DOUBLE": pa.float64(),
    "TEXT": pa.string(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
    "TIMESTAMPTZ": pa.timestamp("us", tz="UTC"),
}


def arrow_type(words):
    decimal = re.fullmatch(r"DECIMAL\((\d+), *(\d+)\)", words)
    return pa.decimal128(*map(int, decimal.groups())) if decimal else ARROW[words]


@pytest.fixture
def make_table():
    """make_table(engine, name, columns, rows, temporary=False) -> Name; see the top of this file."""

    def make(engine, name, columns, rows, *, temporary=False):
        relation = name if isinstance(name, Name) else Name(name)
        schema = pa.schema([(column, arrow_type(words)) for column, words in columns.items()])
        values = list(zip(*rows, strict=True)) or [[] for _ in columns]
        arrays = [pa.array(column, field.type) for column, field in zip(values, schema, strict=True)]
        engine.load(relation, pa.Table.from_arrays(arrays, schema=schema), temporary=temporary)
        return relation

    return make


# -- sessions --------------------------------------------------------------------------------------------


@pytest.fixture
def open_session(tmp_path: Path):
    from ppdm_sql.session import Session
    from ppdm_sql.watching import silent

    def opened(engine) -> Session:
        return Session(engine, out=tmp_path, show_values=False, progress=silent)

    return opened


@pytest.fixture
def session(engine, tables, open_session):
    """A session over the folder's tables on each engine."""
    tables(engine)
    return open_session(engine)


@pytest.fixture
def duck(duckdb_engine, tables, open_session):
    """The same on DuckDB alone."""
    tables(duckdb_engine)
    return open_session(duckdb_engine)
