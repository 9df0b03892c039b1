"""Publications that run at once: what is refused one after the other is refused at the same moment, too.

Every publisher is ready and waits at a barrier; which of them comes first does not matter.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.catalog import ledger, migrate, releases
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import DatabaseUnavailable, PolicyError, PpdmError, RequirementBreached
from ppdm_sql.release import publish as publishing
from ppdm_sql.session import Session

RULES = "WITH ANONYMIZATION (ALGORITHM {method} REQUIRE k = 10 IDENTIFIER (id) QUASI IDENTIFIER ({quasi}) {more})"
ROWS = "SELECT {0} AS id, 20 + ({0} * 7) % 60 AS age, 1000 + ({0} * 13) % 90 AS zip, 'x' || {0} % 3 AS ill"


def table(name: str, quasi: str, more: str = "") -> str:
    rules = RULES.format(method="mondrian", quasi=quasi, more=f"SENSITIVE (ill) {more}")
    return f"CREATE TABLE {name} AS SELECT id, {quasi}, ill FROM people {rules}"


def model(name: str, quasi: str) -> str:
    rules = RULES.format(method="kadet", quasi=quasi, more="TARGET (ill)")
    return f"CREATE MODEL {name} AS SELECT id, {quasi}, ill FROM people {rules}"


TOGETHER = {
    "tables": [table("a", "age"), table("b", "zip")],
    "table and model": [table("a", "age"), model("m", "zip")],
    "models": [model("m", "age"), model("n", "zip")],
    "many": [table("a", "age"), table("b", "zip"), table("c", "age, zip"), model("m", "zip")],
}


@pytest.fixture
def shared():
    """A DuckDB database whose sessions are cursors of one connection."""
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE people AS {ROWS.format('range')} FROM range(600)")
        migrate.ensure(DuckDBEngine(connection.cursor()))
        yield connection


def run_at_once(sessions: Sequence[Session], texts: Sequence[str]) -> list[PpdmError | None]:
    barrier, ends = threading.Barrier(len(texts)), [None] * len(texts)

    def work(number: int) -> None:
        barrier.wait(60)
        try:
            sessions[number].execute(texts[number])
        except PpdmError as error:
            ends[number] = error

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return ends


@pytest.mark.duckdb
@pytest.mark.parametrize("texts", TOGETHER.values(), ids=TOGETHER)
def test_of_publications_at_once_on_duckdb_one_gets_out(shared, texts):
    sessions = [ppdm_sql.connect(shared.cursor()) for _ in texts]
    ends = run_at_once(sessions, texts)
    assert sum(end is None for end in ends) == 1
    for end in ends:
        assert end is None or isinstance(end, RequirementBreached | DatabaseUnavailable), end
    assert len(sessions[0].releases()) == 1
    assert ledger.problems(sessions[0].engine) == ()


@pytest.fixture
def on_postgres(postgres_engine, postgres_url, open_session):
    """on_postgres(n): sessions over connections of their own."""
    from ppdm_sql.engines.postgres.engine import PostgresEngine

    postgres_engine.pass_through(f"CREATE TABLE people AS {ROWS.format('g')} FROM GENERATE_SERIES(0, 599) AS g")
    migrate.ensure(postgres_engine)
    with ExitStack() as stack:

        def opened(number: int) -> list[Session]:
            return [open_session(stack.enter_context(PostgresEngine.open(postgres_url))) for _ in range(number)]

        yield opened


@pytest.mark.postgres
@pytest.mark.parametrize("texts", TOGETHER.values(), ids=TOGETHER)
def test_of_publications_at_once_on_postgres_one_gets_out(on_postgres, postgres_engine, texts):
    ends = run_at_once(on_postgres(len(texts)), texts)
    assert sum(end is None for end in ends) == 1
    for end in ends:
        assert end is None or isinstance(end, RequirementBreached | DatabaseUnavailable), end
    assert len(releases.list_releases(postgres_engine)) == 1
    assert ledger.problems(postgres_engine) == ()


ONE_NAME = {
    "CREATE": [table("a", "age"), table("a", "age")],
    "CREATE OR REPLACE": [f"CREATE OR REPLACE {table('a', 'age').removeprefix('CREATE ')}"] * 2,
    "views": [table("a", quasi).replace("TABLE", "VIEW") for quasi in ("age", "age")],
}


@pytest.mark.postgres
@pytest.mark.parametrize("texts", ONE_NAME.values(), ids=ONE_NAME)
def test_of_two_sessions_that_want_one_name_the_loser_is_told_to_try_again(on_postgres, texts):
    """The status of a failed run (3); on a busy machine one may begin when the other has ended, and is refused (2)."""
    sessions = on_postgres(2)
    ends = run_at_once(sessions, texts)
    assert None in ends
    for end in ends:
        late = isinstance(end, PolicyError) and "already exists; use CREATE OR REPLACE" in str(end)
        assert end is None or late or (end.exit_code == 3 and "another" in str(end)), end
    assert sessions[0].verify("a").holds
    assert len(sessions[0].releases()) == 1
    assert ledger.problems(sessions[0].engine) == ()


# -- between planning and the lock, step by step -------------------------------------------------------------


@pytest.fixture
def interrupted(shared, monkeypatch):
    """Runs a statement; another session runs one when the first is planned and has not the lock yet."""

    def run(first: str, second: str) -> None:
        build, done = publishing.build_stage, []

        def build_and_let_go(*given):
            build(*given)
            if not done:
                done.append(True)
                ppdm_sql.connect(shared.cursor()).execute(second)

        for module in ("ppdm_sql.release.publish", "ppdm_sql.release.model"):
            monkeypatch.setattr(f"{module}.build_stage", build_and_let_go)
        ppdm_sql.connect(shared.cursor()).execute(first)

    return run


@pytest.mark.duckdb
@pytest.mark.parametrize("first", [table("b", "zip"), model("m", "zip")])
@pytest.mark.parametrize("second", [table("a", "age"), model("n", "age")])
def test_what_got_out_after_the_planning_counts(interrupted, first, second):
    with pytest.raises(RequirementBreached, match="joint classes of fewer than 10"):
        interrupted(first, second)


@pytest.mark.duckdb
def test_a_name_that_was_taken_after_the_planning_is_not_replaced(interrupted):
    with pytest.raises(PpdmError, match='another session published or created "a" .*already exists') as refused:
        interrupted(table("a", "age"), table("a", "age"))
    assert refused.value.exit_code == 3


@pytest.mark.duckdb
def test_a_release_that_was_dropped_after_the_planning_is_not_refreshed(shared, interrupted):
    ppdm_sql.connect(shared.cursor()).execute(table("a", "age"))
    with pytest.raises(PpdmError, match='another session withdrew release "main.a" while this statement ran'):
        interrupted("REFRESH a", "DROP RELEASE a")
    assert ppdm_sql.connect(shared.cursor()).releases() == []


@pytest.mark.duckdb
def test_pseudo_data_of_a_model_that_was_dropped_meanwhile_is_refused(shared, monkeypatch):
    session = ppdm_sql.connect(shared.cursor())
    session.execute(model("m", "age"))
    from ppdm_sql.release import pseudo

    make = pseudo.generate

    def make_and_let_go(*given):
        made = make(*given)
        ppdm_sql.connect(shared.cursor()).execute("DROP RELEASE m")
        return made

    monkeypatch.setattr(pseudo, "generate", make_and_let_go)
    with pytest.raises(PolicyError, match='there is no released model "m"'):
        session.execute("CREATE TABLE p AS PSEUDO DATA FROM MODEL m WITH (rows = 50)")
    assert session.releases() == []


@pytest.mark.duckdb
def test_an_export_of_what_was_dropped_meanwhile_leaves_no_file(shared, tmp_path, monkeypatch):
    """DROP RELEASE found no copy outside, so none may appear later."""
    session = ppdm_sql.connect(shared.cursor(), out=tmp_path)
    session.execute(table("a", "age"))
    from ppdm_sql.release.export import write as export

    put = export.put_in_place

    def drop_first(*given, **named):
        ppdm_sql.connect(shared.cursor()).execute("DROP RELEASE a")
        put(*given, **named)

    monkeypatch.setattr(export, "put_in_place", drop_first)
    with pytest.raises(PolicyError, match="another session withdrew or replaced release"):
        session.export("a", "a.parquet")
    assert [file.name for file in tmp_path.iterdir() if not file.name.startswith(".")] == []
    assert session.execute(table("b", "zip"))[0].rows == 600


@pytest.mark.duckdb
def test_who_does_not_get_the_lock_says_so(shared):
    one, other = ppdm_sql.connect(shared.cursor()), ppdm_sql.connect(shared.cursor())
    other.engine.lock_timeout = 0.1
    with ledger.lock_ledger(one.engine), pytest.raises(DatabaseUnavailable, match=r"gave up after 0\.1 s"):
        other.execute(table("a", "age"))
    assert other.execute(table("a", "age"))[0].rows == 600
