"""What DuckDB reads that is not stored in the open database: files by name or function, attached tables."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from sqlglot import exp

from ppdm_sql.engines.base import Engine, Outside
from ppdm_sql.engines.outside import attached_table, file_in_from, files_of_call
from ppdm_sql.errors import PolicyError


def find_outside(engine: Engine, table: exp.Table, allowed: Collection[Path] | None) -> Outside | None:
    """What a table of a query means; None where it is nothing that DuckDB reads from outside.

    allowed: the folders that can be read; None: the connection is its owner's, and reads what it can.
    """
    if not isinstance(table.this, exp.Identifier):
        return files_of_call(table.this, allowed)
    if table.db:
        return _find_attached(engine, table)
    return file_in_from(table.name, allowed)


def _find_attached(engine: Engine, table: exp.Table) -> Outside | None:
    from ppdm_sql.statements.load import statement

    database, schema = (table.catalog, table.db) if table.catalog else (table.db, None)
    query = statement("catalog/attached_duckdb")
    rows = engine.fetch(query, database=database, schema=schema, relation=table.name)
    if not rows:
        return None
    name, path, kind, schema, relation, shape = rows[0]
    if shape == "view":
        raise PolicyError(f"{table.sql('duckdb')} is a view of an attached database: name the tables it reads instead")
    return attached_table(name, path, kind, schema, relation)
