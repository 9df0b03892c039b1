"""Runs statements.  Everything above hands over syntax trees, never text; engines differ by flags and hooks."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import ErrorLevel, exp

from ppdm_sql.errors import EngineError
from ppdm_sql.statements.names import Name, Word, identifier

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

logger = logging.getLogger("ppdm_sql")

Row = tuple[Any, ...]
Rows = list[Row]


class Kind(Enum):
    """What a column's values are, as far as anonymization cares."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    UUID = "uuid"
    UNSUPPORTED = "unsupported"

    @property
    def is_ordered(self) -> bool:
        """Whether a range of values means something: numbers and moments, not words."""
        return self in (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT, Kind.DATE, Kind.TIMESTAMP)


@dataclass(frozen=True)
class ColumnInfo:
    """A column of a relation: its exact name, its kind and its type in the engine's own words."""

    name: str
    kind: Kind
    declared: str


@dataclass(frozen=True)
class Table:
    """What pass-through SQL returned, for showing; rows is cut at the limit the caller gave."""

    columns: tuple[str, ...]
    rows: Rows


class Engine(ABC):
    """One open database.

    The flags say what an engine can do; code above asks a flag and never an engine's name.
    """

    dialect: ClassVar[str]
    title: ClassVar[str]
    has_transactions: ClassVar[bool] = True
    has_constraints: ClassVar[bool] = True  # PRIMARY KEY, CHECK, REFERENCES are enforced
    has_grants: ClassVar[bool] = False
    has_unsigned: ClassVar[bool] = False
    has_list_lookup: ClassVar[bool] = False  # UPDATE ... SET x = ([..])[y + 1] is quick
    updates_in_place: ClassVar[bool] = True
    replaces_tables: ClassVar[bool] = False  # CREATE OR REPLACE TABLE in one statement
    has_macros: ClassVar[bool] = False  # CREATE MACRO f(x) AS an expression
    reads_any_moment: ClassVar[bool] = False  # any_moment_in_utc takes DATE and TIMESTAMP, with a zone or without
    repeats_subqueries: ClassVar[bool] = False  # a subquery's expressions are worked out anew at every reference
    shares_reads: ClassVar[bool] = False  # a UNION ALL of many aggregates is no quicker than one each
    name_limit: ClassVar[int | None] = None  # bytes of UTF-8; a longer name would be cut without a word

    read_only: bool = False

    def __init__(self) -> None:
        self.on_statement: Callable[[str], None] | None = None  # for --show-sql

    # -- running -----------------------------------------------------------------------------------

    def render(self, tree: exp.Expr) -> str:
        """The statement in this engine's SQL; a construct it lacks is an error, never dropped."""
        self._check_names(word.this for word in tree.find_all(exp.Identifier))
        return tree.sql(self.dialect, comments=False, unsupported_level=ErrorLevel.RAISE)

    def _check_names(self, names: Iterable[str]) -> None:
        for name in names:
            if "\0" in name:
                raise EngineError("a name holds a NUL character: no relation or column can be called that")
            if self.name_limit is not None and len(name.encode()) > self.name_limit:
                raise EngineError(f"the name {name} is longer than the {self.name_limit} bytes {self.title} keeps")

    def fetch(self, query: exp.Expr, **params: Any) -> Rows:
        sql = self._announce(query)
        with self._explained(sql):
            return self._fetch(sql, used_params(query, params))

    def fetch_one(self, query: exp.Expr, **params: Any) -> Row:
        rows = self.fetch(query, **params)
        if len(rows) != 1:
            raise EngineError(f"one row was expected, {len(rows)} came")
        return rows[0]

    def arrays(self, query: exp.Expr, **params: Any) -> dict[str, np.ndarray]:
        """Numeric result columns without NULLs, as numpy arrays: how counts reach the algorithms."""
        sql = self._announce(query)
        with self._explained(sql):
            return self._arrays(sql, used_params(query, params))

    def batches(self, query: exp.Expr, rows: int = 100_000) -> Iterator[pa.RecordBatch]:
        """The result as Arrow batches: exact types, bounded memory, and one batch even when there is no row.

        Read them before the next statement.
        """
        sql = self._announce(query)
        with self._explained(sql):
            yield from self._batches(sql, rows)

    def execute(self, statement: exp.Expr, **params: Any) -> None:
        sql = self._announce(statement)
        with self._explained(sql):
            self._execute(sql, used_params(statement, params))

    def pass_through(self, text: str, limit: int = 100) -> Table | None:
        """A statement of the user's own, unchanged; what it returned, if it returns rows."""
        self._tell(text)
        with self._explained(text):
            return self._pass_through(text, limit)

    def _announce(self, tree: exp.Expr) -> str:
        sql = self.render(tree)
        self._tell(sql)
        return sql

    def _tell(self, sql: str) -> None:
        logger.debug("%s: %s", self.dialect, sql)  # parameters are data: never logged
        if self.on_statement is not None:
            self.on_statement(sql)

    # -- hooks every engine fills ------------------------------------------------------------------

    @abstractmethod
    def _fetch(self, sql: str, params: dict[str, Any]) -> Rows: ...

    @abstractmethod
    def _arrays(self, sql: str, params: dict[str, Any]) -> dict[str, np.ndarray]: ...

    @abstractmethod
    def _batches(self, sql: str, rows: int) -> Iterator[pa.RecordBatch]: ...

    @abstractmethod
    def _execute(self, sql: str, params: dict[str, Any]) -> None: ...

    @abstractmethod
    def _pass_through(self, text: str, limit: int) -> Table | None: ...

    @abstractmethod
    def _explained(self, sql: str) -> AbstractContextManager[None]:
        """Turns the driver's exceptions into EngineErrors whose text holds no value of the data."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing; on an engine without transactions the body simply runs."""

    @abstractmethod
    def columns(self, name: Name) -> list[ColumnInfo]:
        """The columns of a relation in order; empty when there is no such relation."""

    @abstractmethod
    def relation_kind(self, name: Name) -> str | None:
        """'table', 'view', or None when nothing has this name."""

    @abstractmethod
    def relations(self, schema: str) -> list[str]:
        """The names of the tables and views of a schema."""

    @abstractmethod
    def load(self, name: Name, table: pa.Table, *, temporary: bool = True) -> None:
        """A small table made in Python (codes, labels), stored under one of our own names."""

    @abstractmethod
    def view_of_text(self, name: Name, query: str) -> None:
        """A temporary view over a query the user wrote, kept to the letter."""

    @abstractmethod
    def exact_text(self, text: exp.Expr) -> exp.Expr:
        """A text expression whose equality and order are those of its bytes, whatever the column's collation."""

    @abstractmethod
    def hash_number(self, text: exp.Expr, part: int) -> exp.Expr:
        """Part 0 or 1 of the md5 of a text, 60 bits each, as a BIGINT: the same number on every engine."""

    @abstractmethod
    def close(self) -> None: ...

    # -- what engines do alike; some do it their own way -------------------------------------------

    def fold(self, word: Word) -> str:
        """The name as this engine stores it."""
        return word.text

    def name(self, words: Sequence[Word]) -> Name:
        return Name(*(self.fold(word) for word in words))

    def code_type(self, size: int) -> exp.DataType:
        """The smallest integer type that holds the codes 0 .. size - 1."""
        types = ("UTINYINT", "USMALLINT", "UINTEGER") if self.has_unsigned else ("SMALLINT", "INT", "BIGINT")
        limits = (1 << 8, 1 << 16, 1 << 32) if self.has_unsigned else (1 << 15, 1 << 31, 1 << 63)
        fitting = next(t for t, limit in zip(types, limits, strict=True) if size <= limit)
        return exp.DataType.build(fitting, dialect="duckdb")

    def view_query(self, name: Name) -> str | None:
        """The query behind a view, as text of this engine; None for a table."""
        return None

    def comment_on(self, name: Name) -> str | None:
        """The comment that a relation carries, if it carries one."""
        return None

    def qualified(self, name: Name) -> str:
        """schema.table as the engine resolves it: one spelling per relation, for the ledger."""
        return str(name)

    def create_table(self, name: Name, query: exp.Query, *, temporary: bool = False, **params: Any) -> None:
        """CREATE TABLE ... AS.  A working table (temporary) replaces the one of the same name."""
        if temporary and not self.replaces_tables:
            self.drop_table(name, temporary=True)
        self.execute(
            exp.Create(
                this=name.table(),
                kind="TABLE",
                replace=temporary and self.replaces_tables,
                expression=query,
                properties=temporary_property() if temporary else None,
            ),
            **params,
        )

    def create_view(self, name: Name, query: exp.Query, *, replace: bool = False) -> None:
        """A view that shows its columns and nothing beside them, as secure as the engine can make it."""
        self.execute(exp.Create(this=name.table(), kind="VIEW", expression=query, replace=replace))

    def create_macro(self, name: Name, parameters: Sequence[str], body: exp.Expr, *, replace: bool = False) -> None:
        """A function written in SQL whose parameters are columns of its body; only where has_macros."""
        raise EngineError(f"{self.title} has no macros")

    def any_moment_in_utc(self, moment: exp.Expr) -> exp.Expr:
        """A DATE or TIMESTAMP of a type that is not known as a TIMESTAMP in UTC; only where reads_any_moment."""
        raise EngineError(f"{self.title} does not compare moments of unknown types")

    def drop_table(self, name: Name, *, temporary: bool = False) -> None:
        self.execute(exp.Drop(tables=[name.table()], kind="TABLE", exists=True))

    def drop_view(self, name: Name) -> None:
        self.execute(exp.Drop(tables=[name.table()], kind="VIEW", exists=True))

    def create_schema(self, schema: str) -> None:
        self.execute(exp.Create(this=exp.Table(db=identifier(schema)), kind="SCHEMA", exists=True))

    def comment(self, name: Name, kind: str, text: str) -> None:
        self.execute(
            exp.Comment(this=name.table(), kind=kind.upper(), expression=exp.Literal.string(text), exists=False)
        )

    def grant_select(self, name: Name, roles: Sequence[str]) -> None:
        """Lets these roles read a published relation; only where has_grants."""
        raise EngineError(f"{self.title} has no roles: GRANT SELECT TO is for engines that have them")

    def granted(self, name: Name) -> list[str]:
        """The roles that may read a relation."""
        return []

    def analyze(self, name: Name) -> None:  # noqa: B027 - most planners need no telling
        """Statistics for the planner, where it needs telling."""

    def check_writable(self, why: str = "nothing can be published into it") -> None:
        """Refuses before any work when the database cannot be written."""
        if self.read_only:
            raise EngineError(f"the database is open read-only: {why}")

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def temporary_property() -> exp.Properties:
    return exp.Properties(expressions=[exp.TemporaryProperty()])


def used_params(tree: exp.Expr, params: dict[str, Any]) -> dict[str, Any]:
    """Only the parameters that occur: an engine refuses one too many as it refuses one too few."""
    names = {hole.name for hole in tree.find_all(exp.Parameter, exp.Placeholder)}
    return {name: value for name, value in params.items() if name in names}
