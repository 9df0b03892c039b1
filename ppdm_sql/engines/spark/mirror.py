"""Tables of the catalog as copies in this process, so that a question to the catalog is no Spark job.

A statement costs Spark 0.1 to 1 second of processor time even where three rows answer it, and a publication asks the
catalog some thirty times.  A table of the catalog is therefore read as a whole, once, from its files where they are on
this machine, and questions that concern such tables alone are answered by an embedded DuckDB with a memory limit and a
private temporary folder.

A copy is a fact about its table (facts.py): it counts until the call ends, the lock is taken or given back, or the
table is made again.  What this process inserts goes to Spark first and then into the copy.  A view over such tables is
a view over their copies; the copy of any other view is given up with every insert.  Whatever cannot be copied is asked
of Spark: a large table, a damaged one, one of a session that distinguishes names by their case.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Protocol

import pyarrow as pa
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from ppdm_sql.engines.base import Rows
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.engines.facts import RelationFacts
from ppdm_sql.errors import EngineError
from ppdm_sql.statements.load import used_params
from ppdm_sql.statements.names import SCHEMA, Name

MEMORY = "256MB"
MOST_ROWS, MOST_BYTES = 50_000, 64 << 20  # of a table that is copied; a larger one is asked where it is
# What every publication asks for.  Other tables hold models, recodings and the texts of statements, of any length.
COPIED = frozenset(
    {
        "ledger", "ledger_entry", "migration", "release", "release_check", "release_event", "release_reader",
        "release_source", "release_state", "run_event", "setting",
    }
)  # fmt: skip
_COPY = "copy"

_OF_THE_SESSION = (exp.CurrentUser, exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentCatalog, exp.SessionUser)


class Original(Protocol):
    """The engine whose catalog is copied."""

    dialect: ClassVar[str]
    facts: RelationFacts

    def read_whole(self, name: Name, limit: int) -> pa.Table: ...

    def view_query(self, name: Name) -> str | None: ...

    def relation_kind(self, name: Name) -> str | None: ...

    def path_schemas(self) -> list[str]: ...

    def ignores_case(self) -> bool:
        """Whether names of columns that differ in case are the same, as they are in the copy."""


class CatalogMirror:
    """Copies of tables of the catalog, made when they are asked for."""

    def __init__(self, original: Original) -> None:
        self._original = original
        self._engine: DuckDBEngine | None = None
        self._too_large: set[Name] = set()  # not read as a whole a second time
        self._behind: dict[Name, list[Name]] = {}  # views over copies, with the tables that they read

    @property
    def _facts(self) -> RelationFacts:
        return self._original.facts

    def fetch(self, query: exp.Expr, params: dict[str, Any]) -> Rows | None:
        """The answer, or None where the question has to go to Spark."""
        tables = _catalog_tables(query) if self._facts.is_kept else []
        if not tables or not all(self._has(table) for table in tables):
            return None
        if not all(self._has(table) for view in tables for table in self._behind.get(view, ())):
            return None
        try:
            return self._duckdb.fetch(self._in_schema(query), **used_params(query, params))
        except EngineError:  # a column that was dropped, or too little memory
            return None

    def _in_schema(self, query: exp.Expr) -> exp.Expr:
        """The question with the session's own schema in it: the copy has another one."""
        if not query.find(exp.CurrentSchema):
            return query
        made = query.copy()
        for asked in list(made.find_all(exp.CurrentSchema)):
            asked.replace(exp.Literal.string(self._original.path_schemas()[0]))
        return made

    def with_numbers(self, insert: exp.Insert) -> exp.Insert:
        """The insert with its numbers that the catalog gives: what is left are values."""
        if _target(insert) is None or insert.expression.find(exp.Subquery) is None:
            return insert
        made = insert.copy()
        for asked in list(made.expression.find_all(exp.Subquery)):
            rows = None if asked.find(exp.Placeholder, exp.Parameter) else self.fetch(asked.this, {})
            if rows is not None and len(rows) == 1 and isinstance(rows[0][0], int):
                asked.replace(exp.convert(rows[0][0]))
        return made

    def insert(self, insert: exp.Insert, params: dict[str, Any]) -> None:
        """Repeats in the copy what was inserted into the table; where that is not sure the copy is given up."""
        table = _target(insert)
        if table is None:
            return
        self._give_up_views()
        if not self._facts.recall(_COPY, table) or insert.expression.find(exp.Table) is not None:
            self._facts.forget(table)
            return
        try:
            self._duckdb.execute(insert, **used_params(insert, params))
        except EngineError:
            self._facts.forget(table)

    def give_up(self, insert: exp.Insert) -> None:
        """Forgets the copy of a table: an insert ended with an error, and may have written rows or not."""
        table = _target(insert)
        if table is not None:
            self._give_up_views()
            self._facts.forget(table)

    def _give_up_views(self) -> None:
        for name in self._facts.names(_COPY):
            if name not in self._behind and self._original.relation_kind(name) != "table":
                self._facts.discard(_COPY, name)

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    # -- copies ------------------------------------------------------------------------------------

    @property
    def _duckdb(self) -> DuckDBEngine:
        if self._engine is None:
            self._engine = DuckDBEngine.open(":memory:", memory_limit=MEMORY, threads=1)
            self._engine.create_schema(SCHEMA)
        return self._engine

    def _has(self, table: Name) -> bool:
        return table not in self._too_large and self._facts.find(_COPY, table, lambda: self._copy(table))

    def _copy(self, table: Name) -> bool:
        if not self._original.ignores_case():
            return False
        try:
            if self._copy_view(table):
                return True
            found = self._original.read_whole(table, MOST_ROWS + 1)
            if found.num_rows > MOST_ROWS or found.nbytes > MOST_BYTES:
                self._too_large.add(table)
                return False
            self._duckdb.drop_table(table)
            self._duckdb.load(table, found, temporary=False)
        except EngineError:  # the question itself goes to Spark, whose error is the one that counts
            return False
        return True

    def _copy_view(self, view: Name) -> bool:
        """The view over copies of the tables that it reads; False where it is a table, or reads anything else."""
        text = self._original.view_query(view) if self._original.relation_kind(view) == "view" else None
        try:
            query = None if text is None else parse_one(text, dialect=self._original.dialect)
            tables = [] if query is None else _catalog_tables(query)
            if not tables or not isinstance(query, exp.Query) or not all(self._has(table) for table in tables):
                return False
            self._duckdb.create_view(view, query, replace=True)
        except (SqlglotError, EngineError):
            return False
        self._behind[view] = tables
        return True


def _catalog_tables(query: exp.Expr) -> list[Name]:
    """The tables of the catalog that a question reads; none where it reads anything else, too."""
    if not isinstance(query, exp.Query) or query.find(*_OF_THE_SESSION):
        return []
    found = dict.fromkeys(_tables(query))
    return [] if None in found else [name for name in found if name is not None]


def _tables(query: exp.Expr) -> Iterator[Name | None]:
    steps = {one.alias for one in query.find_all(exp.CTE)}
    for table in query.find_all(exp.Table):
        if table.db == SCHEMA and table.name in COPIED and not table.catalog:
            yield Name(SCHEMA, table.name)
        elif table.db or table.name not in steps:
            yield None


def _target(insert: exp.Insert) -> Name | None:
    made = insert.this.this if isinstance(insert.this, exp.Schema) else insert.this
    return Name(SCHEMA, made.name) if isinstance(made, exp.Table) and made.db == SCHEMA else None
