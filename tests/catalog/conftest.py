from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ppdm_sql import resources
from ppdm_sql.catalog import migrate, runs
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.catalog.store import new_id
from ppdm_sql.engines.base import Engine
from ppdm_sql.engines.duckdb import DuckDBEngine
from tests.records import MANIFEST, ROLES

HOSTILE = [
    'o\'brien "quoted" `ticked`',
    "100 % %s %(k)s %%",
    "$k $1 ${k} :k ? {k}",
    "'; DROP SCHEMA ppdm CASCADE; --",
    "two\r\nlines\tand \\n \\' \\",
    "🦆 é e\u0301 \u202e \u00a0",
    " ",
]


@pytest.fixture
def catalog(engine: Engine) -> Engine:
    """A database with an empty catalog."""
    migrate.migrate(engine)
    return engine


@pytest.fixture
def second(request: pytest.FixtureRequest, engine: Engine) -> Iterator[Engine]:
    """Another session on the database of `engine`."""
    if isinstance(engine, DuckDBEngine):
        yield DuckDBEngine(engine._connection.cursor())
    elif engine.has_transactions:
        with type(engine).open(request.getfixturevalue("postgres_url")) as opened:
            yield opened
    else:
        pytest.skip("the engine has no transactions to put against each other")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of migrations/ that a test may change; the catalog uses it."""
    copy = tmp_path / "migrations"
    shutil.copytree(resources.folder("migrations"), copy)
    monkeypatch.setattr(migrate, "_folder", lambda: copy)
    return copy


@pytest.fixture
def statements(engine: Engine):
    """What the engine was asked to run, from here on."""
    said: list[str] = []
    engine.on_statement = said.append
    yield said
    engine.on_statement = None


@pytest.fixture
def a_release(catalog: Engine) -> Callable[..., ReleaseRecord]:
    """Makes records that can be stored: their run exists and their manifest fits its hash."""
    run_id = runs.start_run(catalog, "CREATE TABLE ...", "open.sql")
    plain = ReleaseRecord(
        release_id="",
        run_id=run_id,
        schema_name="clinic",
        relation_name="patients_open",
        kind="TABLE",
        algorithm="kactus2",
        options={"swap_threshold": 0},
        seed=7,
        requirements=("k = 10",),
        roles=ROLES,
        source_query="SELECT age, zip, diagnosis FROM patients",
        policy_text="CREATE TABLE patients_open AS ...",
        storage=None,
        key_columns=("age", "zip"),
        k_promised=10,
        rows=1200,
        classes=40,
        suppressed_rows=3,
        content_hash="c0ffee",
        columns={"age": "TEXT", "zip": "TEXT", "diagnosis": "TEXT"},
        manifest=MANIFEST,
        manifest_sha256="",
        sources=("clinic.patients",),
    )

    def make(**changes: object) -> ReleaseRecord:
        made = replace(plain, **({"release_id": new_id()} | changes))
        return replace(made, manifest_sha256=made.manifest.sha256)

    return make


@pytest.fixture
def hostile() -> list[str]:
    """Texts that a careless catalog would break on, change or run."""
    return list(HOSTILE)
