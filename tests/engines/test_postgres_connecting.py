"""Connecting to PostgreSQL: a password is never told, and the reason of a refusal is."""

from __future__ import annotations

import pytest

from ppdm_sql.errors import DatabaseUnavailable

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.postgres


SECRET = "S3cret"
URLS = [
    f"postgresql://u:{SECRET}@localhost:1/db",
    f"postgresql://u:{SECRET}@no.such.host.invalid/db",
    f"postgresql://u:{SECRET}/@localhost:1/db",
    f"postgresql://u:{SECRET}@{SECRET}@localhost:1/db",
    f"postgresql://u:{SECRET}:{SECRET}@localhost:1/db",
    f"postgresql://u:{SECRET}?{SECRET}@localhost:1/db",
    f"postgresql://u:{SECRET}#{SECRET}@localhost:1/db",
    f"postgresql://u:%{SECRET}@localhost:1/db",
    f"postgresql://u:{SECRET}[@localhost:1/db",
    f"postgresql://localhost:1/db?password={SECRET}",
    f"postgresql://localhost:1/db?pasword={SECRET}",
    f"postgresql://localhost:{SECRET}/db",
]


@pytest.mark.parametrize("url", URLS)
def test_a_password_is_never_told(url, capfd):
    import traceback

    from ppdm_sql.engines.postgres.engine import PostgresEngine

    with pytest.raises(DatabaseUnavailable) as error:
        PostgresEngine.open(url)
    told = "".join(traceback.format_exception(error.value)) + "".join(capfd.readouterr())
    assert SECRET not in told.replace(f"'{url}'", "")  # the test's own line


def test_why_a_database_cannot_be_opened(postgres_url):
    from ppdm_sql.engines.postgres.engine import PostgresEngine

    with pytest.raises(DatabaseUnavailable, match="postgresql://localhost:1/db cannot be opened: no server answers"):
        PostgresEngine.open("postgresql://localhost:1/db")
    with pytest.raises(DatabaseUnavailable, match="the database does not exist"):
        PostgresEngine.open(psycopg.conninfo.make_conninfo(postgres_url, dbname="ppdm_nowhere"))
    with pytest.raises(DatabaseUnavailable, match="the role does not exist"):
        PostgresEngine.open(psycopg.conninfo.make_conninfo(postgres_url, user="ppdm_nobody"))
