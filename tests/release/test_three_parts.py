"""Names of three parts: the open database, its schema, the table; and tables of attached databases."""

from __future__ import annotations

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.errors import EngineError, PolicyError, RequirementBreached
from ppdm_sql.statements.names import Name
from tests.release.conftest import policy


def from_table(text: str, table: str) -> str:
    return text.replace("FROM people\n", f"FROM {table}\n")


def test_the_full_name_of_a_table_means_the_same_table(session):
    engine = session.engine
    catalog, (schema, table) = engine.own_catalog(), engine.qualified_name(Name("people")).split(".")
    plain = session.publish(policy()).record
    for first in (f'"{catalog}"', catalog):
        again = session.publish(from_table(policy(), f"{first}.{schema}.{table}")).record
        assert (again.sources, again.content_hash) == (plain.sources, plain.content_hash)
    other = policy(**{"age, sex, zip)": "zip)", "age, sex, zip, illness": "zip, illness", "people_open": "second"})
    with pytest.raises(RequirementBreached, match="together with people_open"):
        session.publish(from_table(other, f"{catalog}.{schema}.{table}"))
    with pytest.raises(PolicyError, match="table nowhere.* does not exist"):
        session.publish(from_table(policy(), f"nowhere.{schema}.{table}"))


@pytest.mark.duckdb
def test_a_release_is_not_stored_in_an_attached_database(tmp_path):
    with duckdb.connect(str(tmp_path / "raw.duckdb")) as connection:
        connection.execute("CREATE TABLE people AS SELECT range AS id, range % 4 AS age FROM range(100)")
    text = """CREATE TABLE {target} AS SELECT id, age FROM raw.main.people WITH ANONYMIZATION (
        ALGORITHM mondrian REQUIRE k = 5 IDENTIFIER (id) QUASI IDENTIFIER (age))"""
    with ppdm_sql.connect(tmp_path / "own.duckdb", create=True, allow=[tmp_path]) as session:
        session.execute(f"ATTACH '{tmp_path / 'raw.duckdb'}' AS raw")
        assert session.publish(text.format(target="open")).rows == 100
        with pytest.raises(EngineError, match="stored in the open database, not in one that is attached"):
            session.publish(text.format(target="raw.open"))
        with pytest.raises(PolicyError, match=r"must be table or schema\.table, not 3 names"):
            session.publish(text.format(target="raw.main.open"))
        assert session.verify("open").holds
