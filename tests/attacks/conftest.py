from __future__ import annotations

import duckdb
import pytest

import ppdm_sql


@pytest.fixture
def db(tmp_path):
    """A database file of its own: attacks read its bytes."""
    with ppdm_sql.connect(str(tmp_path / "private.duckdb"), create=True, out=tmp_path) as session:
        yield session


@pytest.fixture
def memory():
    """A database in memory, for many quick publications."""
    with ppdm_sql.connect(duckdb.connect()) as session:
        yield session


def policy(columns: str, roles: str, required: str = "k = 3", name: str = "t_open", source: str = "t") -> str:
    return (
        f"CREATE OR REPLACE TABLE {name} AS SELECT {columns} FROM {source} "
        f"WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE {required} {roles} SUPERSEDES ALL)"
    )
