"""DuckDB: the embedded default, opened locked down.

Files can only be read and written below the folders that were allowed, Python variables are no
tables, the configuration cannot be changed afterwards, spilled data goes to a private folder that is
wiped before and after, and a locked file is waited for.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import duckdb
from sqlglot import exp, parse_one

from ppdm_sql.engines.base import ColumnInfo, Engine, Outside, Rows, Table
from ppdm_sql.engines.duckdb_catalog import (
    FoundRelation,
    described_columns,
    described_together,
    functions_in,
    listed_relations,
    pick_relation,
    plan_nodes,
    refuse_defined,
    split_description,
)
from ppdm_sql.engines.duckdb_errors import explanation
from ppdm_sql.engines.duckdb_files import attachment, check_file, connect, is_unwritable, open_in_time
from ppdm_sql.engines.duckdb_outside import find_outside
from ppdm_sql.engines.duckdb_settings import in_utc, lock_down
from ppdm_sql.engines.outside import frame_title, is_frame, titles_of
from ppdm_sql.engines.spill import private_folder, wipe
from ppdm_sql.engines.workspace import Workspace, temporary_property
from ppdm_sql.errors import DatabaseUnavailable, EngineError, PolicyError
from ppdm_sql.statements.names import Name, column, identifier

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

_LOCK_PAUSE = 0.01  # seconds


class DuckDBEngine(Engine):
    dialect = "duckdb"
    title = "DuckDB"
    has_unsigned = True
    has_list_lookup = True
    replaces_tables = True
    has_macros = True
    concatenates = True
    reads_any_moment = True
    reads_files = True

    def __init__(self, connection: duckdb.DuckDBPyConnection, *, owned: bool = False) -> None:
        super().__init__()
        self._connection = connection
        self._owned = owned
        self._temp: Path | None = None
        self._files: tuple[Path, ...] = ()  # what is written, for messages about a full disk
        self._in_transaction = False
        self._lent: set[Name] = set()  # working tables that are Arrow tables of this process
        self._allowed: tuple[Path, ...] | None = None  # folders that can be read; None: what the connection can

    @classmethod
    def open(
        cls,
        path: str,
        *,
        create: bool = False,
        read_only: bool = False,
        lock_timeout: float = 30.0,
        memory_limit: str | None = None,
        threads: int | None = None,
        allow: Sequence[str] = (),
        storage_version: str | None = None,
    ) -> DuckDBEngine:
        """Opens a database file (or ':memory:'), waiting up to lock_timeout seconds for its lock.

        storage_version: the least DuckDB that can read a file which is made here; None: this one.
        """
        read_only = read_only or is_unwritable(path)
        check_file(path, create=create)
        connection = connect(path, read_only, time.monotonic() + lock_timeout, storage_version)
        engine = cls(connection, owned=True)
        engine.read_only, engine.lock_timeout = read_only, lock_timeout
        engine._temp = private_folder(None if path == ":memory:" else path)
        engine._allowed = tuple(Path(folder).resolve() for folder in allow)
        engine._files = (engine._temp,) if path == ":memory:" else (Path(path), engine._temp)
        try:
            lock_down(connection, engine._temp, memory_limit, threads, allow)
        except duckdb.Error as cause:
            engine.close()
            raise DatabaseUnavailable(f"a setting was refused: {type(cause).__name__}") from cause
        return engine

    def attach(self, path: str, name: str, *, lock_timeout: float = 30.0) -> None:
        """Opens one more file, read-only, under a name: nothing that it defines is found without that name."""
        check_file(path, create=False)
        sql = self._announce(attachment(path, name))
        open_in_time(path, time.monotonic() + lock_timeout, lambda: self._connection.execute(sql))

    def workspace(self, shares: Collection[Name] = ()) -> AbstractContextManager[Workspace]:
        inner = super().workspace(shares)
        return inner if self._owned or not self.work.is_outermost else in_utc(self._connection, inner)

    # -- running -----------------------------------------------------------------------------------

    def _fetch(self, sql: str, params: dict[str, Any]) -> Rows:
        return self._connection.execute(sql, params or None).fetchall()

    def _arrays(self, sql: str, params: dict[str, Any]) -> dict[str, np.ndarray]:
        return cast("dict[str, np.ndarray]", self._connection.execute(sql, params or None).fetchnumpy())

    def _batches(self, sql: str, rows: int) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        reader = self._connection.sql(sql).to_arrow_reader(rows)
        first = next(iter(reader), None)
        yield pa.RecordBatch.from_pylist([], schema=reader.schema) if first is None else first
        yield from reader

    def _execute(self, sql: str, params: dict[str, Any]) -> int | None:
        told = self._connection.execute(sql, params or None).fetchone()
        return told[0] if told is not None and isinstance(told[0], int) else None

    def _pass_through(self, text: str, limit: int) -> Table | None:
        cursor = self._connection.execute(text)
        columns = tuple(str(column[0]) for column in cursor.description or ())
        rows = cursor.fetchmany(limit)
        return Table(columns, rows) if self._is_shown(text, columns) else None

    def check_text(self, text: str, *, binds: bool) -> None:
        sql = f"EXPLAIN {text}" if binds else text
        with self._explain_errors(sql):
            self._connection.extract_statements(sql)
            if binds:
                self._connection.execute(sql)

    def _is_shown(self, text: str, columns: tuple[str, ...]) -> bool:
        """DuckDB answers everything with a table: a CREATE with Count, a SET with Success."""
        told = self._connection.extract_statements(text)[-1].expected_result_type
        is_query = told == [duckdb.ExpectedResultType.QUERY_RESULT]
        return columns != ("Success",) and (is_query or columns != ("Count",))

    @contextlib.contextmanager
    def _explain_errors(self, sql: str) -> Iterator[None]:
        try:
            yield
        except duckdb.Error as cause:
            raise explanation(cause, sql, self._files) from None  # the driver quotes values: no traceback shows it
        except RuntimeError as cause:
            if str(cause) != "Query interrupted":
                raise
            raise KeyboardInterrupt from cause  # the driver loses Ctrl-C that comes while a statement runs

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        self._begin()
        with self._end_transaction():
            yield

    def _begin(self) -> None:
        if self._in_transaction:
            raise EngineError("a transaction is already open")
        with self._explain_errors("BEGIN"):
            self._connection.execute("BEGIN TRANSACTION")
        self._in_transaction = True

    @contextlib.contextmanager
    def _end_transaction(self) -> Iterator[None]:
        try:
            yield
            with self._explain_errors("COMMIT"):
                self._connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(duckdb.Error):  # a full disk ends the transaction by itself
                self._connection.execute("ROLLBACK")
            self.facts.forget()
            raise
        finally:
            self._in_transaction = False

    @contextlib.contextmanager
    def _begin_locked(self, relation: Name) -> Iterator[None]:
        """The update of one row is the lock: of two transactions that make it, the later one fails at once."""
        deadline = time.monotonic() + self.lock_timeout
        while not self._begin_with_lock(relation):
            if time.monotonic() >= deadline:
                raise self.lock_refusal()
            time.sleep(_LOCK_PAUSE)
        with self._end_transaction():
            yield

    def _begin_with_lock(self, relation: Name) -> bool:
        # The value has to change: DuckDB skips an update that writes what is there, and with it the conflict.
        turn = exp.EQ(this=column("turn"), expression=exp.Add(this=column("turn"), expression=exp.Literal.number(1)))
        update = exp.Update(this=relation.table(), expressions=[turn])
        self._begin()
        try:
            self.execute(update)
        except BaseException as error:
            self._in_transaction = False
            with contextlib.suppress(duckdb.Error):
                self._connection.execute("ROLLBACK")
            if isinstance(error, EngineError) and isinstance(error.__context__, duckdb.TransactionException):
                return False
            raise
        return True

    # -- looking -----------------------------------------------------------------------------------

    def check_builtins(self) -> None:
        from ppdm_sql.statements.load import statement

        defined = self.fetch(statement("catalog/defined_duckdb"))
        refuse_defined(defined, lambda: self.fetch(statement("catalog/functions_duckdb")))
        self.facts.note_all(defined)

    def columns(self, name: Name) -> list[ColumnInfo]:
        return list(self.facts.find("columns", name, lambda: self._describe(name)))

    def _describe(self, name: Name) -> list[ColumnInfo]:
        if self.relation_kind(name) is None:
            return []
        described = exp.Describe(this=exp.select("*").from_(name.table()))
        return described_columns(self.fetch(described))

    def relation_kind(self, name: Name) -> str | None:
        return self.facts.find("kind", name, lambda: self._relation(name).kind)

    def relations(self, schema: str | None) -> list[str]:
        return [row[0] for row in self._list_relations(schema, None)]

    def look_up(self, names: Iterable[Name], *, columns: bool = False) -> None:
        if not columns:
            self.facts.find_all("relation", names, self._find_relations)
        there = [name for name in dict.fromkeys(names) if columns and self.relation_kind(name) is not None]
        with contextlib.suppress(EngineError):  # a query of one of them gets its error
            rows = self.fetch(described_together(there)) if len(there) > 1 else []
            for name, described in zip(there, split_description(rows, len(there)), strict=False):
                self.facts.note("columns", name, described)

    def _relation(self, name: Name) -> FoundRelation:
        return self.facts.find("relation", name, lambda: self._find_relations([name])[name])

    def _find_relations(self, names: Sequence[Name]) -> dict[Name, FoundRelation]:
        known = self.facts.all_relations
        rows = self._list_relations(None, names) if known is None else listed_relations(known)
        return {name: pick_relation(rows, name) for name in names}

    def _list_relations(self, schema: str | None, names: Sequence[Name] | None) -> Rows:
        from ppdm_sql.statements.load import statement

        spelt = names and sorted({one for name in names for one in (name.last, name.last.lower())})
        return self.fetch(statement("catalog/relations_duckdb"), schema=schema, names=spelt)

    def view_query(self, name: Name) -> str | None:
        text = self._relation(name).text
        if text is None:
            return None
        created = parse_one(re.sub(r"^CREATE SECURE ", "CREATE ", text), dialect="duckdb")
        return created.expression.sql("duckdb") if created.expression is not None else None

    def constraints(self, name: Name) -> list[str]:
        from ppdm_sql.statements.load import statement

        rows = self.fetch(statement("catalog/constraints_duckdb"), schema=name.schema, relation=name.last)
        return [row[0] for row in rows]

    def tables_read(self, view: Name, query: str) -> frozenset[str]:
        try:
            with self._explain_errors(query):
                told = self._connection.get_table_names(query, qualified=True)
        except EngineError:  # it does not know PIVOT, whose plan does
            return self._tables_of_plan(view)
        read = (table for name in told for table in exp.select("*").from_(name, dialect="duckdb").find_all(exp.Table))
        return frozenset(title for table in read for title in self._ledger_names(table))

    def _ledger_names(self, table: exp.Table) -> list[str]:
        name = Name(*(part.name for part in table.parts[-2:]))
        found = None if self.relation_kind(name) is not None and not table.catalog else self.find_outside(table)
        return [self.qualified_name(name)] if found is None else titles_of(found.title)

    def find_outside(self, table: exp.Table) -> Outside | None:
        return find_outside(self, table, self._allowed)

    def register(self, name: Name, frame: object) -> None:
        with self._explain_errors(name.last):
            try:
                self._connection.register(name.last, frame)
            except duckdb.InvalidInputException as cause:
                kind = type(frame).__name__
                raise PolicyError(f"expected a pandas DataFrame or a pyarrow Table, got {kind}") from cause
        self.facts.forget(name)

    def query_behind(self, name: Name) -> str | None:
        text = None if name in self.stand_ins else self.view_query(name)
        return None if text is None or is_frame(parse_one(text, dialect="duckdb")) else text

    def _tables_of_plan(self, view: Name) -> frozenset[str]:
        from ppdm_sql.statements.load import statement

        sql = f"EXPLAIN (FORMAT JSON) {self.render(exp.select('*').from_(view.table()))}"
        with self._explain_errors(sql):
            ((_, plan),) = self._connection.execute(sql).fetchall()
        scanned = [one["extra_info"]["Table"] for one in plan_nodes(json.loads(plan)) if "Table" in one["extra_info"]]
        return frozenset(row[0].casefold() for row in self.fetch(statement("catalog/scanned_duckdb"), tables=scanned))

    def unsteady_names(self) -> frozenset[str]:
        from ppdm_sql.statements.load import statement

        rows = self.fetch(statement("catalog/unsteady_duckdb"))
        found = super().unsteady_names() | {"rowid"} | {name for name, macro in rows if macro is None}
        macros = {name: functions_in(macro) for name, macro in rows if macro is not None}
        while more := {name for name, called in macros.items() if name not in found and called & found}:
            found |= more
        return found

    def comment_on(self, name: Name) -> str | None:
        from ppdm_sql.statements.load import statement

        rows = self.fetch(statement("catalog/comment_duckdb"), schema=name.schema, relation=name.last)
        return rows[0][0] if rows else None

    def qualified_name(self, name: Name) -> str:
        if name in self.stand_ins:
            return self.stand_ins[name]
        found = self._relation(name)
        if found.kind == "view" and self.query_behind(name) is None:
            return frame_title(found.name)
        return f"{found.schema}.{found.name}".casefold() if found.kind == "table" else str(name)

    def path_schemas(self) -> list[str]:
        from ppdm_sql.statements.load import statement

        return [row[0] for row in self.fetch(statement("catalog/path_duckdb"))]

    # -- making ------------------------------------------------------------------------------------

    def load(self, name: Name, table: pa.Table, *, temporary: bool = True) -> None:
        self._check_names(table.schema.names)
        held = f"ppdm_arrow_{id(table)}"
        with self._explain_errors(held):
            self._connection.register(held, table)
        try:
            self.create_table(name, exp.select("*").from_(Name(held).table()), temporary=temporary)
        finally:
            self._connection.unregister(held)

    def lend(self, name: Name, table: pa.Table) -> None:
        self._check_names(table.schema.names)
        self._lent.add(name)
        self._is_new(name)
        self.register(name, table)

    def view_of_text(self, name: Name, query: str) -> None:
        created = exp.Create(this=name.table(), kind="VIEW", replace=True, properties=temporary_property())
        sql = f"{self.render(created)} AS {query}"
        self._tell(sql)
        self.facts.forget_after(created)
        self.facts.note("kind", name, "view")
        with self._explain_errors(sql):
            self._connection.execute(sql)

    @property
    def secures_views(self) -> bool:
        from ppdm_sql.statements.load import statement

        ((version,),) = self.fetch(statement("catalog/storage_duckdb"))
        return version is None or not str(version).startswith(("v0.", "v1."))

    def create_view(self, name: Name, query: exp.Query, *, replace: bool = False) -> None:
        """A SECURE view: optimizer side channels are shut.  sqlglot cannot say the word, so it is put in here.

        A file that DuckDB 1.x can read has no such views: there it is a plain one.
        """
        sql = self.render(exp.Create(this=name.table(), kind="VIEW", expression=query, replace=replace))
        if self.secures_views:
            head, rest = sql.split(" VIEW ", 1)
            sql = f"{head} SECURE VIEW {rest}"
        self._tell(sql)
        self.facts.forget(name)
        with self._explain_errors(sql):
            self._connection.execute(sql)

    def create_macro(self, name: Name, parameters: Sequence[str], body: exp.Expr, *, replace: bool = False) -> None:
        taken = [identifier(parameter) for parameter in parameters]
        head = exp.UserDefinedFunction(this=name.table(), expressions=taken, wrapped=True)
        self.execute(exp.Create(this=head, kind="MACRO", expression=body, replace=replace))

    def any_moment_in_utc(self, moment: exp.Expr) -> exp.Expr:
        # A cast alone would read the clock of the session's zone; the infinite moments have no number.
        counted = exp.Anonymous(this="EPOCH_US", expressions=[moment.copy()])
        shown = exp.Anonymous(this="MAKE_TIMESTAMP", expressions=[counted])
        return exp.Coalesce(this=shown, expressions=[exp.cast(moment.copy(), "TIMESTAMP")])

    def drop_table(self, name: Name, *, temporary: bool = False) -> None:
        if name in self._lent:
            self._take_back(name)
            return
        target = name.table()
        if temporary and name.schema is None:
            target = exp.Table(this=target.this, db=exp.Identifier(this="temp", quoted=True))
        self.execute(exp.Drop(tables=[target], kind="TABLE", exists=True))

    def _take_back(self, name: Name) -> None:
        self._connection.unregister(name.last)
        if not self._in_transaction:  # a roll-back brings it back
            self._lent.discard(name)

    def exact_text(self, text: exp.Expr) -> exp.Expr:
        # CAST(x AS VARCHAR) keeps a NOCASE collation and so merges strings that are published apart.
        return exp.Collate(this=exp.cast(text, "VARCHAR"), expression=exp.Identifier(this="C", quoted=True))

    def hash_number(self, text: exp.Expr, part: int) -> exp.Expr:
        digits = exp.Substring(
            this=exp.MD5(this=text), start=exp.Literal.number(1 + 15 * part), length=exp.Literal.number(15)
        )
        return exp.cast(exp.DPipe(this=exp.Literal.string("0x"), expression=digits), "BIGINT")

    def quick_hash(self, values: Sequence[exp.Expr], seed: int) -> exp.Expr:
        return exp.Anonymous(this="HASH", expressions=[exp.Literal.string(str(seed)), *values])

    def close(self) -> None:
        if self._owned:
            self._connection.close()
        else:
            self.work.close_after_failure()
        if self._temp is not None:
            wipe(self._temp)
