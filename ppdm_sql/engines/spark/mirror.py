"""The catalog's small tables as a copy in this process, so that a question to the catalog is no Spark job.

A statement costs Spark 0.3 to 1 second of processor time even where three rows answer it, and a publication asks the
catalog some thirty times.  A table of the catalog is therefore read as a whole, once, and questions that concern such
tables alone are answered by an embedded DuckDB with a memory limit and a private temporary folder.

A copy is a fact about its table (facts.py): it counts until the call ends, the lock is taken or the table is made
again.  What this process inserts goes to Spark first and then into the copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from sqlglot import exp

from ppdm_sql.engines.base import Rows
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.engines.facts import RelationFacts
from ppdm_sql.statements.load import used_params
from ppdm_sql.statements.names import PREFIX, SCHEMA, Name

MEMORY = "256MB"
MOST_ROWS, MOST_BYTES = 50_000, 64 << 20  # of a table that is copied; a larger one is asked where it is
_COPY = "copy"

_OF_THE_SESSION = (exp.CurrentUser, exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentCatalog, exp.SessionUser)

Read = Callable[[exp.Query], pa.Table]


class CatalogMirror:
    """Copies of tables of the catalog, made when they are asked for."""

    def __init__(self, facts: RelationFacts, read: Read, schema: Callable[[], str]) -> None:
        """schema: the one in which the session looks for relations without a schema."""
        self._facts, self._read, self._schema = facts, read, schema
        self._engine: DuckDBEngine | None = None

    def fetch(self, query: exp.Expr, params: dict[str, Any]) -> Rows | None:
        """The answer, or None where the question has to go to Spark."""
        tables = _catalog_tables(query)
        if not tables or not all(self._has(table) for table in tables):
            return None
        return self._duckdb.fetch(self._in_schema(query), **used_params(query, params))

    def _in_schema(self, query: exp.Expr) -> exp.Expr:
        """The question with the session's own schema in it: the copy has another one."""
        if not query.find(exp.CurrentSchema):
            return query
        made = query.copy()
        for asked in list(made.find_all(exp.CurrentSchema)):
            asked.replace(exp.Literal.string(self._schema()))
        return made

    def with_numbers(self, insert: exp.Insert) -> exp.Insert:
        """The insert with its subqueries of the catalog answered: what is left are values."""
        made = insert.copy()
        for asked in list(made.expression.find_all(exp.Subquery)):
            rows = None if asked.find(exp.Placeholder, exp.Parameter) else self.fetch(asked.this, {})
            if rows is not None and len(rows) == 1:
                asked.replace(exp.convert(rows[0][0]))
        return made

    def insert(self, insert: exp.Insert, params: dict[str, Any]) -> None:
        """Repeats in the copy what was inserted into the table; where that is not sure the copy is given up."""
        table = _target(insert)
        if table is None:
            return
        if self._facts.known(_COPY, table) and not list(insert.expression.find_all(exp.Table)):
            self._duckdb.execute(insert, **used_params(insert, params))
        else:
            self._facts.forget(table)

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()

    # -- copies ------------------------------------------------------------------------------------

    @property
    def _duckdb(self) -> DuckDBEngine:
        if self._engine is None:
            self._engine = DuckDBEngine.open(":memory:", memory_limit=MEMORY, threads=1)
            self._engine.create_schema(SCHEMA)
        return self._engine

    def _has(self, table: Name) -> bool:
        return self._facts.is_kept and self._facts.find(_COPY, table, lambda: self._copy(table))

    def _copy(self, table: Name) -> bool:
        everything = exp.select("*").from_(table.table()).limit(MOST_ROWS + 1)
        found = self._read(everything)
        if found.num_rows > MOST_ROWS or found.nbytes > MOST_BYTES:
            return False
        self._duckdb.drop_table(table)
        self._duckdb.load(table, found, temporary=False)
        return True


def _catalog_tables(query: exp.Expr) -> list[Name]:
    """The tables of the catalog that a question reads; none where it reads anything else, too."""
    found = dict.fromkeys(_tables(query))
    if query.find(*_OF_THE_SESSION):
        return []
    return [] if None in found else [name for name in found if name is not None]


def _tables(query: exp.Expr) -> Iterator[Name | None]:
    steps = {one.alias for one in query.find_all(exp.CTE)}
    for table in query.find_all(exp.Table):
        if table.db == SCHEMA and not table.name.startswith(PREFIX):
            yield Name(SCHEMA, table.name)
        elif table.db or table.name not in steps:
            yield None


def _target(insert: exp.Insert) -> Name | None:
    made = insert.this.this if isinstance(insert.this, exp.Schema) else insert.this
    return Name(SCHEMA, made.name) if isinstance(made, exp.Table) and made.db == SCHEMA else None
