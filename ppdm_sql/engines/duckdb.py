"""DuckDB: the embedded default, opened locked down.

Files can only be read and written below the folders that were allowed, Python variables are no
tables, the configuration cannot be changed afterwards, spilled data goes to a private folder that is
wiped before and after, and a locked file is waited for.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import duckdb
from sqlglot import exp, parse_one

from ppdm_sql.engines.base import ColumnInfo, Engine, Kind, Rows, Table, temporary_property
from ppdm_sql.engines.spill import private_folder, wipe
from ppdm_sql.errors import DatabaseUnavailable, EngineError
from ppdm_sql.statements.names import Name, identifier

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

_MAGIC = b"DUCK"  # bytes 8..12 of every DuckDB file
_KINDS = {
    Kind.INTEGER: "TINYINT SMALLINT INTEGER BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT",
    Kind.DECIMAL: "DECIMAL",
    Kind.FLOAT: "FLOAT DOUBLE",
    Kind.TEXT: "VARCHAR ENUM",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP TIMESTAMP_S TIMESTAMP_MS TIMESTAMP_NS",
    Kind.UUID: "UUID",
}
_KIND_OF = {word: kind for kind, words in _KINDS.items() for word in words.split()}


class DuckDBEngine(Engine):
    dialect = "duckdb"
    title = "DuckDB"
    has_unsigned = True
    has_list_lookup = True
    replaces_tables = True
    has_macros = True
    reads_any_moment = True

    def __init__(self, connection: duckdb.DuckDBPyConnection, *, owned: bool = False) -> None:
        super().__init__()
        self._connection = connection
        self._owned = owned
        self._temp: Path | None = None
        self._in_transaction = False

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
    ) -> DuckDBEngine:
        """Opens a database file (or ':memory:'), waiting up to lock_timeout seconds for its lock."""
        read_only = read_only or _unwritable(path)
        _check_file(path, create=create)
        connection = _connect(path, read_only, time.monotonic() + lock_timeout)
        engine = cls(connection, owned=True)
        engine.read_only = read_only
        engine._temp = private_folder(None if path == ":memory:" else path)
        try:
            engine._lock_down(memory_limit, threads, allow)
        except duckdb.Error as cause:
            engine.close()
            raise DatabaseUnavailable(f"a setting was refused: {type(cause).__name__}") from cause
        return engine

    def _lock_down(self, memory_limit: str | None, threads: int | None, allow: Sequence[str]) -> None:
        settings: dict[str, Any] = {
            "enable_progress_bar": False,  # it prints to stdout, even into a pipe
            "TimeZone": "UTC",  # the text of a moment must not depend on the machine
            "perfect_ht_threshold": 22,  # counting by small codes becomes an array index
            "temp_directory": str(self._temp),
            "allowed_directories": [str(Path(folder).resolve()) for folder in allow],
            "enable_external_access": False,
            "autoinstall_known_extensions": False,
            "lock_configuration": True,
        }
        if memory_limit is not None:
            settings = {"memory_limit": memory_limit} | settings
        if threads is not None:
            settings = {"threads": threads} | settings
        for name, value in settings.items():
            setting = exp.SetItem(this=exp.EQ(this=exp.Var(this=name), expression=exp.convert(value)))
            self._connection.execute(exp.Set(expressions=[setting]).sql("duckdb"))

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

    def _execute(self, sql: str, params: dict[str, Any]) -> None:
        self._connection.execute(sql, params or None)

    def _pass_through(self, text: str, limit: int) -> Table | None:
        cursor = self._connection.execute(text)
        columns = tuple(str(column[0]) for column in cursor.description or ())
        rows = cursor.fetchmany(limit)
        return Table(columns, rows) if self._is_shown(text, columns) else None

    def _is_shown(self, text: str, columns: tuple[str, ...]) -> bool:
        """DuckDB answers everything with a table: a CREATE with Count, a SET with Success."""
        told = self._connection.extract_statements(text)[-1].expected_result_type
        is_query = told == [duckdb.ExpectedResultType.QUERY_RESULT]
        return columns != ("Success",) and (is_query or columns != ("Count",))

    @contextlib.contextmanager
    def _explained(self, sql: str) -> Iterator[None]:
        try:
            yield
        except duckdb.Error as cause:
            raise _explanation(cause, sql) from cause
        except RuntimeError as cause:
            if str(cause) != "Query interrupted":
                raise
            raise KeyboardInterrupt from cause  # the driver loses Ctrl-C that comes while a statement runs

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        if self._in_transaction:
            raise EngineError("a transaction is open already")
        with self._explained("BEGIN"):
            self._connection.execute("BEGIN TRANSACTION")
        self._in_transaction = True
        try:
            yield
            with self._explained("COMMIT"):
                self._connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(duckdb.Error):  # a full disk ends the transaction by itself
                self._connection.execute("ROLLBACK")
            raise
        finally:
            self._in_transaction = False

    # -- looking -----------------------------------------------------------------------------------

    def columns(self, name: Name) -> list[ColumnInfo]:
        if self.relation_kind(name) is None:
            return []
        described = exp.Describe(this=exp.select("*").from_(name.table()))
        return [ColumnInfo(row[0], _kind(row[1]), row[1]) for row in self.fetch(described)]

    def relation_kind(self, name: Name) -> str | None:
        rows = self._listed(name.schema, name.last)
        return rows[0][1] if rows else None

    def relations(self, schema: str) -> list[str]:
        return [row[0] for row in self._listed(schema, None)]

    def _listed(self, schema: str | None, relation: str | None) -> Rows:
        from ppdm_sql.statements.load import statement

        # Without a schema a name means what a query would find: a temporary relation, then main.
        return self.fetch(statement("catalog/relations_duckdb"), schema=schema, relation=relation)

    def view_query(self, name: Name) -> str | None:
        from ppdm_sql.statements.load import statement

        if self.relation_kind(name) != "view":
            return None
        text = self.fetch_one(statement("catalog/view_text_duckdb"), schema=name.schema, relation=name.last)[0]
        created = parse_one(re.sub(r"^CREATE SECURE ", "CREATE ", text), dialect="duckdb")
        return created.expression.sql("duckdb") if created.expression is not None else None

    def comment_on(self, name: Name) -> str | None:
        from ppdm_sql.statements.load import statement

        rows = self.fetch(statement("catalog/comment_duckdb"), schema=name.schema, relation=name.last)
        return rows[0][0] if rows else None

    def qualified(self, name: Name) -> str:
        from ppdm_sql.statements.load import statement

        rows = self.fetch(statement("catalog/qualified_duckdb"), schema=name.schema, relation=name.last)
        return f"{rows[0][0]}.{rows[0][1]}".casefold() if rows else str(name)

    # -- making ------------------------------------------------------------------------------------

    def load(self, name: Name, table: pa.Table, *, temporary: bool = True) -> None:
        self._check_names(table.schema.names)
        held = f"ppdm_arrow_{id(table)}"
        self._connection.register(held, table)
        try:
            self.create_table(name, exp.select("*").from_(Name(held).table()), temporary=temporary)
        finally:
            self._connection.unregister(held)

    def view_of_text(self, name: Name, query: str) -> None:
        created = exp.Create(this=name.table(), kind="VIEW", replace=True, properties=temporary_property())
        sql = f"{self.render(created)} AS {query}"
        self._tell(sql)
        with self._explained(sql):
            self._connection.execute(sql)

    def create_view(self, name: Name, query: exp.Query, *, replace: bool = False) -> None:
        """A SECURE view: optimizer side channels are shut.  sqlglot cannot say the word, so it is put in here."""
        sql = self.render(exp.Create(this=name.table(), kind="VIEW", expression=query, replace=replace))
        head, rest = sql.split(" VIEW ", 1)
        sql = f"{head} SECURE VIEW {rest}"
        self._tell(sql)
        with self._explained(sql):
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
        target = name.table()
        if temporary and name.schema is None:
            target = exp.Table(this=target.this, db=exp.Identifier(this="temp", quoted=True))
        self.execute(exp.Drop(tables=[target], kind="TABLE", exists=True))

    def exact_text(self, text: exp.Expr) -> exp.Expr:
        # CAST(x AS VARCHAR) keeps a NOCASE collation and so merges strings that are published apart.
        return exp.Collate(this=exp.cast(text, "VARCHAR"), expression=exp.Identifier(this="C", quoted=True))

    def hash_number(self, text: exp.Expr, part: int) -> exp.Expr:
        digits = exp.Substring(
            this=exp.MD5(this=text), start=exp.Literal.number(1 + 15 * part), length=exp.Literal.number(15)
        )
        return exp.cast(exp.DPipe(this=exp.Literal.string("0x"), expression=digits), "BIGINT")

    def close(self) -> None:
        if self._owned:
            self._connection.close()
        if self._temp is not None:
            wipe(self._temp)


_FAILED_WRITES = ("No space left", "Could not write", "Failed to write", "File too large", "Could not truncate")


def _kind(declared: str) -> Kind:
    """The kind of a DuckDB type.

    >>> _kind("DECIMAL(18,3)"), _kind("INTEGER[]"), _kind("TIMESTAMP WITH TIME ZONE")
    (<Kind.DECIMAL: 'decimal'>, <Kind.UNSUPPORTED: 'unsupported'>, <Kind.TIMESTAMP: 'timestamp'>)
    """
    if declared.endswith("]"):
        return Kind.UNSUPPORTED
    return _KIND_OF.get(re.split(r"[ (]", declared, maxsplit=1)[0], Kind.UNSUPPORTED)


def _unwritable(path: str) -> bool:
    return path != ":memory:" and os.path.exists(path) and not os.access(path, os.W_OK)


def _check_file(path: str, *, create: bool) -> None:
    """Refuses what is not ours to open, before DuckDB could touch it."""
    if path == ":memory:":
        return
    file = Path(path)
    try:
        if file.is_dir():
            raise DatabaseUnavailable(f"{path} is a folder, not a database file")
        if not file.exists():
            if create:
                _check_folder(file)
                return
            raise DatabaseUnavailable(f"there is no database {path} (--create makes one)")
        with file.open("rb") as handle:
            head = handle.read(12)
    except OSError as cause:
        raise DatabaseUnavailable(f"{path} cannot be read: {cause.strerror or type(cause).__name__}") from cause
    if head[8:12] != _MAGIC:
        raise DatabaseUnavailable(f"{path} is not a DuckDB database; it was not touched")


def _check_folder(file: Path) -> None:
    """Refuses to make a database where no file can be made."""
    if not file.parent.is_dir():
        raise DatabaseUnavailable(f"there is no folder {file.parent} for the new database")
    if not os.access(file.parent, os.W_OK | os.X_OK):
        raise DatabaseUnavailable(f"{file} cannot be made: the folder may not be written")


def _connect(path: str, read_only: bool, deadline: float) -> duckdb.DuckDBPyConnection:
    config: dict[str, Any] = {"python_enable_replacements": "false"}
    while True:
        try:
            return duckdb.connect(path, read_only=read_only, config=config)
        except duckdb.Error as cause:
            lock = re.search(r"lock", str(cause).replace(path, ""), re.IGNORECASE)
            if not lock:
                raise DatabaseUnavailable(
                    f"{path} cannot be opened ({type(cause).__name__}): damaged, or written by a newer DuckDB?"
                ) from cause
            if time.monotonic() >= deadline:
                holder = re.search(r"PID (\d+)", str(cause))
                who = f" by process {holder.group(1)}" if holder else ""
                raise DatabaseUnavailable(
                    f"{path} is locked{who}; waited as long as --lock-timeout says, nothing was done"
                ) from cause
            time.sleep(0.1)


def _explanation(cause: duckdb.Error, sql: str) -> EngineError:
    """The error in our words.  DuckDB's text is quoted only where it speaks of names, never of values."""
    text = str(cause)
    if isinstance(cause, duckdb.PermissionException):
        return EngineError("file access is limited to the folders given with --allow-dir", sql=sql)
    if isinstance(cause, duckdb.ParserException | duckdb.CatalogException | duckdb.BinderException):
        return EngineError(text.splitlines()[0], sql=sql)
    if isinstance(cause, duckdb.OutOfMemoryException):
        return EngineError("DuckDB ran out of memory: raise --memory-limit or free space for spilling", sql=sql)
    # A full disk that shows at COMMIT comes as a TransactionException around the IOException.
    if isinstance(cause, duckdb.IOException) or any(sign in text for sign in _FAILED_WRITES):
        full = "no space left" in text.lower() or "disk" in text.lower()
        why = "the disk is full" if full else "reading or writing a file failed: is the disk full?"
        return DatabaseUnavailable(f"{why}  The transaction was rolled back", sql=sql)
    if isinstance(cause, duckdb.TransactionException):
        return DatabaseUnavailable("the transaction was refused: another one changed the same relation", sql=sql)
    if isinstance(cause, duckdb.InvalidInputException) and "read-only" in text:
        return DatabaseUnavailable("the database is open read-only", sql=sql)
    return EngineError(f"DuckDB refused a statement ({type(cause).__name__})", sql=sql)
