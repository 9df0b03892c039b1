from __future__ import annotations

import pytest


@pytest.fixture
def opened(postgres_url):
    """A second session, with options of its own, or as another role."""
    psycopg = pytest.importorskip("psycopg")
    from ppdm_sql.engines.postgres.engine import PostgresEngine

    engines = []

    def open_(user=None, **options):
        url = psycopg.conninfo.make_conninfo(postgres_url, user=user) if user else postgres_url
        engines.append(PostgresEngine.open(url, **options))
        return engines[-1]

    yield open_
    for engine in engines:
        engine.close()
