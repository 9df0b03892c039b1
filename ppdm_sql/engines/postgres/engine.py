"""PostgreSQL through psycopg 3; names and settings are those of session.py."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import psycopg
import pyarrow as pa
from psycopg.pq import TransactionStatus
from sqlglot import exp

from ppdm_sql.engines.arrow import numpy_column, plain_table
from ppdm_sql.engines.base import Kind, Row, Rows, Table
from ppdm_sql.engines.postgres import statements
from ppdm_sql.engines.postgres import types as postgres_types
from ppdm_sql.engines.postgres.lookups import PostgresCatalog
from ppdm_sql.engines.postgres.names import is_loose, is_new, wall_call
from ppdm_sql.engines.postgres.ranges import PostgresRanges
from ppdm_sql.engines.postgres.session import OWN_PATH, PINNED, differing_settings, explanation, open_connection
from ppdm_sql.engines.workspace import temporary_property
from ppdm_sql.errors import DatabaseUnavailable, EngineError, PolicyError
from ppdm_sql.statements.names import Name, Word, identifier

if TYPE_CHECKING:
    import numpy as np

_CHECKED = "ppdm_checked"
_LINES = 50_000  # that are written at once
_PLANS = {
    "enable_mergejoin": "off",  # rows are joined to their cells by all quasi-identifiers: both sides would be sorted
    "jit": "off",  # a statement runs once, and compiling it took longer than it saved on a million rows
}


class PostgresEngine(PostgresCatalog):
    dialect = "postgres"
    title = "PostgreSQL"
    has_grants = True
    has_walls = True
    repeats_subqueries = True
    name_limit = 63
    ranges = PostgresRanges()

    def __init__(self, connection: psycopg.Connection[Row], *, owned: bool = False) -> None:
        """Takes over a connection in autocommit mode; its search path is read as the user's."""
        super().__init__()
        self._connection = connection
        self._owned = owned
        connection.prepare_threshold = None  # working tables change their columns under one name
        connection.adapters.register_loader("float4", postgres_types.SingleLoader)
        self._user_setting, self._path = self._read_path()
        self._pin()

    @classmethod
    def open(
        cls,
        url: str,
        *,
        read_only: bool = False,
        lock_timeout: float = 30.0,
        settings: Mapping[str, str] | None = None,
    ) -> PostgresEngine:
        """Connects; a lock is waited for lock_timeout seconds; settings are the session's, such as work_mem."""
        wanted = {"lock_timeout": f"{max(1, round(lock_timeout * 1000))}ms", **_PLANS} | dict(settings or {})
        connection = open_connection(url)
        try:
            engine = cls(connection, owned=True)
            engine.lock_timeout = lock_timeout
            for name, value in wanted.items():
                engine._set(name, value)
            engine._pin()
            engine.read_only = read_only or not engine._quietly("catalog/writable_postgres")[0][0]
        except BaseException as cause:
            connection.close()
            if isinstance(cause, psycopg.Error):
                raise DatabaseUnavailable(f"a setting was refused ({cause.sqlstate})") from cause
            raise
        return engine

    # -- settings ----------------------------------------------------------------------------------

    def _set(self, name: str, value: str) -> None:
        self._quietly("catalog/set_postgres", name=name, value=value)

    def _pin(self) -> None:
        self._set("search_path", OWN_PATH)  # first: the next look must find PostgreSQL's own functions
        different = self._not_pinned()
        for name, value in different.items():
            with contextlib.suppress(psycopg.errors.InsufficientPrivilege):  # the last look names it
                self._set(name, value)
        if different:
            self._check_pins("the role cannot set it back")

    def _not_pinned(self) -> dict[str, str]:
        return differing_settings(dict(self._quietly("catalog/settings_postgres", names=list(PINNED))))

    def _check_pins(self, why: str) -> None:
        different = self._not_pinned()
        if different:
            told = ", ".join(f"{name} is not {value}" for name, value in different.items())
            raise DatabaseUnavailable(f"{told}: {why}")

    # -- names -------------------------------------------------------------------------------------

    def fold(self, word: Word) -> str:
        """PostgreSQL lowers A to Z and nothing else when a name is not quoted."""
        return word.text if word.quoted else re.sub("[A-Z]+", lambda found: found.group().lower(), word.text)

    def is_same_name(self, one: Word, other: Word) -> bool:
        return self.fold(one) == self.fold(other)

    def render(self, tree: exp.Expr) -> str:
        """As in every engine; relations without a schema get the one the user's search path finds."""
        tree = tree.copy()
        loose = [table for table in tree.find_all(exp.Table) if is_loose(table)]
        places = self._places({table.name for table in loose if not is_new(table)})
        for table in loose:
            place = self._creation_schema() if is_new(table) else places.get(table.name)
            if place is not None:
                table.set("db", identifier(place))
        statements.write_backslashes(tree)
        for asked in list(tree.find_all(exp.CurrentSchema)):  # the user's, not the one this session works in
            asked.replace(exp.Literal.string(self._path[0] if self._path else ""))
        return super().render(tree)

    def _creation_schema(self) -> str:
        if not self._path:
            raise EngineError("no schema on the search path exists: write the schema of the new relation")
        return self._path[0]

    def _read_path(self) -> tuple[str, list[str]]:
        ((setting, schemas),) = self._quietly("catalog/path_postgres")
        return setting, [schema for schema in schemas if not schema.startswith("pg_temp")]

    @contextlib.contextmanager
    def _as_the_user_names_things(self) -> Iterator[None]:
        self._set("search_path", self._user_setting)
        try:
            yield
            self._user_setting, self._path = self._read_path()
        finally:
            # In a failed transaction the roll-back brings them back.
            if self._connection.info.transaction_status in (TransactionStatus.IDLE, TransactionStatus.INTRANS):
                self._pin()

    # -- running -----------------------------------------------------------------------------------

    def _fetch(self, sql: str, params: dict[str, Any]) -> Rows:
        return self._connection.execute(statements.driver_text(sql, params), params or None).fetchall()

    def _arrays(self, sql: str, params: dict[str, Any]) -> dict[str, np.ndarray]:
        cursor = self._connection.execute(statements.driver_text(sql, params), params or None)
        names = [column.name for column in cursor.description or ()]
        rows = cursor.fetchall()
        columns = zip(*rows, strict=True) if rows else ([] for _ in names)
        return {name: numpy_column(name, list(values)) for name, values in zip(names, columns, strict=True)}

    def _batches(self, sql: str, rows: int) -> Iterator[pa.RecordBatch]:
        # The cursor lives in a transaction: the one that is open, or one of its own.
        with (
            self._connection.transaction(),
            self._connection.cursor(name="ppdm_batches") as cursor,
        ):
            cursor.itersize = rows
            cursor.execute(statements.driver_text(sql, {}))
            columns = cursor.description or []
            reader = postgres_types.ArrowReader(columns, self._texts_among(postgres_types.foreign_types(columns)))
            yield reader.batch(cursor.fetchmany(rows))
            while found := cursor.fetchmany(rows):
                yield reader.batch(found)

    def _texts_among(self, types: list[int]) -> frozenset[int]:
        if not types:
            return frozenset()
        rows = self._quietly("catalog/types_postgres", types=types)
        return frozenset(row[0] for row in rows if postgres_types.kind_of(*row[1:]) is Kind.TEXT)

    def _execute(self, sql: str, params: dict[str, Any]) -> int | None:
        rows = self._connection.execute(statements.driver_text(sql, params), params or None).rowcount
        return rows if rows >= 0 else None

    def _pass_through(self, text: str, limit: int) -> Table | None:
        with self._as_the_user_names_things():
            cursor = self._connection.execute(statements.driver_text(text, {}))
            if cursor.description is None:
                return None
            return Table(tuple(column.name for column in cursor.description), cursor.fetchmany(limit))

    def check_text(self, text: str, *, binds: bool) -> None:
        """PREPARE reads a query and its names; other statements cannot be tried without running them."""
        if not binds:
            return
        sql = f"PREPARE {_CHECKED} AS {text}"
        with self._explain_errors(sql), self._as_the_user_names_things():
            self._connection.execute(statements.driver_text(sql, {}))
            self._connection.execute(f"DEALLOCATE {_CHECKED}".encode())

    @contextlib.contextmanager
    def _explain_errors(self, sql: str) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as cause:
            raise explanation(cause, sql) from None  # the driver quotes values: no traceback shows it
        except pa.ArrowException:  # such as a NaN in a NUMERIC(10, 2)
            raise EngineError("a value has no exact counterpart outside PostgreSQL", sql=sql) from None

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """One REPEATABLE READ transaction: what was measured is what is published."""
        if self.in_transaction:
            raise EngineError("a transaction is already open")
        with self._explain_errors("BEGIN"):
            self._pin()
            self._connection.execute(b"BEGIN ISOLATION LEVEL REPEATABLE READ")
        try:
            yield
            with self._explain_errors("COMMIT"):
                self._commit()
        except BaseException:
            with contextlib.suppress(psycopg.Error):  # the connection may be gone, and with it the transaction
                self._connection.execute(b"ROLLBACK")
            self.facts.forget()
            raise

    @contextlib.contextmanager
    def _begin_locked(self, relation: Name) -> Iterator[None]:
        """LOCK TABLE takes no snapshot, so the one of the transaction is taken when the lock is there."""
        with self.transaction():
            sql = f"LOCK TABLE {super().render(relation.table())} IN EXCLUSIVE MODE"
            self._tell(sql)
            try:
                self._connection.execute(statements.driver_text(sql, {}))
            except psycopg.errors.LockNotAvailable as cause:
                raise self.lock_refusal() from cause
            except psycopg.Error as cause:
                raise explanation(cause, sql) from None  # the driver quotes values: no traceback shows it
            yield

    def _commit(self) -> None:
        if self._connection.info.transaction_status == TransactionStatus.INTRANS:
            self._check_pins("a function that was called changed it; everything was rolled back")
        # COMMIT after a failed statement answers ROLLBACK and raises nothing.
        if self._connection.execute(b"COMMIT").statusmessage != "COMMIT":
            raise EngineError("a statement of the transaction failed: everything was rolled back")

    # -- making ------------------------------------------------------------------------------------

    def comment_columns(self, name: Name, kind: str, texts: Mapping[str, str]) -> None:
        schema = name.schema or self._places({name.last}).get(name.last)
        super().comment_columns(Name(schema, name.last) if schema else name, kind, texts)

    def load(self, name: Name, table: pa.Table, *, temporary: bool = True) -> None:
        table = plain_table(table)
        if temporary and not self._is_new(name):
            self.drop_table(name, temporary=True)
        with self._all_or_nothing():
            self.execute(postgres_types.table_definition(name, table.schema, temporary=temporary))
            copy = self._announce(statements.copy_into(name, table.column_names))
            with (
                self._explain_errors(copy),
                self._connection.cursor() as cursor,
                cursor.copy(statements.driver_text(copy, {})) as rows,
            ):
                for batch in table.to_batches(max_chunksize=_LINES):
                    rows.write(postgres_types.copy_lines(batch))

    def view_of_text(self, name: Name, query: str) -> None:
        # CREATE OR REPLACE would insist on the old view's columns.
        if not self._is_new(name):
            self.execute(exp.Drop(tables=[statements.temporary_name(name)], kind="VIEW", exists=True))
        created = exp.Create(this=name.table(), kind="VIEW", properties=temporary_property())
        sql = f"{self.render(created)} AS {query}"
        self._tell(sql)
        self.facts.forget_after(created)
        with self._explain_errors(sql), self._as_the_user_names_things():
            self._connection.execute(statements.driver_text(sql, {}))

    def working_view(self, name: Name, query: exp.Query) -> None:
        view = exp.Create(this=name.table(), kind="VIEW", expression=query, properties=temporary_property())
        if self.relation_kind(name) is not None:
            self.execute(exp.Drop(tables=[statements.temporary_name(name)], kind="VIEW", exists=True))
        self.execute(view)

    def create_view(self, name: Name, query: exp.Query, *, replace: bool = False) -> None:
        """A view with security_barrier: no condition of a reader is run on rows the view hides.

        CREATE OR REPLACE insists on the old columns.  Where they changed the view is made again, and
        those who could read the old one can read the new one.
        """
        if replace and self.relation_kind(name) == "view":
            try:
                with self._all_or_nothing():
                    self.execute(statements.secure_view(name, query, replace=True))
            except EngineError as error:
                if not isinstance(error.__context__, psycopg.errors.InvalidTableDefinition):
                    raise
                self._replace_view(name, query)
        else:
            self.execute(statements.secure_view(name, query, replace=replace))

    def _replace_view(self, name: Name, query: exp.Query) -> None:
        readers = self.grantees(name)
        with self._all_or_nothing():
            self.drop_view(name)
            self.execute(statements.secure_view(name, query, replace=False))
            if readers:
                self.grant_select(name, readers)

    # -- walls: a function of the relation's own name ------------------------------------------------

    def create_wall(self, name: Name) -> exp.Table:
        ((text,),) = self._looked_up("catalog/wall_postgres", schema=name.schema, name=name.last)
        self._tell(text)
        self.facts.forget()
        with self._explain_errors(text):
            self._execute(text, {})
        self.execute(statements.grant(exp.Revoke, "ALL", wall_call(name), ["public"], kind="FUNCTION"))
        return wall_call(name)

    def open_wall(self, name: Name, roles: Sequence[str]) -> None:
        self.execute(statements.grant(exp.Grant, "EXECUTE", wall_call(name), roles, kind="FUNCTION"))

    def wall_text(self, name: Name) -> str | None:
        oid = self._oid(name)
        rows = [] if oid is None else self._looked_up("catalog/wall_text_postgres", relation=oid)
        return rows[0][0] if rows else None

    def drop_wall(self, name: Name) -> None:
        if self.wall_text(name) is not None:
            self.execute(exp.Drop(tables=[name.table()], kind="FUNCTION", exists=True))

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """A savepoint in the open transaction, or a transaction of its own."""
        with self._explain_errors("SAVEPOINT"), self._connection.transaction():
            yield

    def drop_table(self, name: Name, *, temporary: bool = False) -> None:
        target = statements.temporary_name(name) if temporary and name.schema is None else name.table()
        self.execute(exp.Drop(tables=[target], kind="TABLE", exists=True))

    def drop_working(self, tables: Sequence[Name], views: Sequence[Name]) -> None:
        shown = [statements.temporary_name(view) for view in views]
        if shown:
            self.execute(exp.Drop(tables=shown, kind="VIEW", exists=True))
        made = [statements.temporary_name(table) for table in tables if not self._is_new(table)]
        if made:
            self.execute(exp.Drop(tables=made, kind="TABLE", exists=True))

    def grant_select(self, name: Name, roles: Sequence[str]) -> None:
        """Nobody else by way of PUBLIC; USAGE on the schema stays the DBA's to give."""
        known = {row[0] for row in self._looked_up("catalog/roles_postgres", names=list(roles))} | {"public"}
        missing = [role for role in roles if role not in known]
        if missing:
            raise PolicyError(f"role {', '.join(missing)} does not exist in this database (GRANT SELECT TO)")
        with self._all_or_nothing():
            self.execute(statements.grant(exp.Revoke, "ALL", name.table(), ["public"]))
            if roles:
                self.execute(statements.grant(exp.Grant, "SELECT", name.table(), roles))

    def share_catalog(self, group: str, role: str) -> None:
        self._check_names([group, role])
        if not self._looked_up("catalog/roles_postgres", names=[role]):
            raise PolicyError(f"role {role} does not exist in this database")
        with self._all_or_nothing():
            for text, _ in self._looked_up("catalog/share_postgres", group_name=group, role_name=role):
                self._tell(text)
                with self._explain_errors(text):
                    self._execute(text, {})

    @property
    def in_transaction(self) -> bool:
        return self._connection.info.transaction_status != TransactionStatus.IDLE

    def path_schemas(self) -> list[str]:
        return list(self._path)

    def analyze(self, *names: Name) -> None:
        """Without it a join of many fresh look-up tables is planned badly enough not to end."""
        self.execute(exp.Analyze(tables=[name.table() for name in names]))

    def close(self) -> None:
        if self._owned:
            self._connection.close()
        else:
            self.work.close_after_failure()
