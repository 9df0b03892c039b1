"""Runs statements.  Everything above hands over syntax trees, never text; engines differ by flags and hooks."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import ErrorLevel, exp

from ppdm_sql.engines.columns import ColumnInfo as ColumnInfo
from ppdm_sql.engines.columns import Kind as Kind
from ppdm_sql.engines.columns import Outside as Outside
from ppdm_sql.engines.columns import Row as Row
from ppdm_sql.engines.columns import Rows as Rows
from ppdm_sql.engines.columns import Table as Table
from ppdm_sql.engines.columns import smallest_integer
from ppdm_sql.engines.facts import RelationFacts
from ppdm_sql.engines.ranges import NativeRanges
from ppdm_sql.engines.roles import NoRoles
from ppdm_sql.engines.unsteady import UNSTEADY
from ppdm_sql.engines.workspace import Workspace, open_workspace, temporary_property
from ppdm_sql.errors import DatabaseUnavailable, EngineError
from ppdm_sql.statements.load import statement, used_params
from ppdm_sql.statements.names import Name, Word, identifier
from ppdm_sql.statements.texts import texts_of

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

logger = logging.getLogger("ppdm_sql")


class Engine(NoRoles, ABC):
    """One open database.

    The flags say what an engine can do; code above asks a flag and never an engine's name.
    """

    dialect: ClassVar[str]
    title: ClassVar[str]
    has_transactions: ClassVar[bool] = True
    has_constraints: ClassVar[bool] = True  # PRIMARY KEY, CHECK, REFERENCES are enforced
    has_grants: ClassVar[bool] = False
    knows_readers: ClassVar[bool] = True  # False: others may read a table here without the engine knowing it
    has_unsigned: ClassVar[bool] = False
    has_list_lookup: ClassVar[bool] = False  # UPDATE ... SET x = ([..])[y + 1] is quick
    updates_in_place: ClassVar[bool] = True
    replaces_tables: ClassVar[bool] = False  # CREATE OR REPLACE TABLE in one statement
    has_macros: ClassVar[bool] = False  # CREATE MACRO f(x) AS an expression
    reads_any_moment: ClassVar[bool] = False  # any_moment_in_utc takes DATE and TIMESTAMP, with a zone or without
    repeats_subqueries: ClassVar[bool] = False  # a subquery's expressions are computed again at every reference
    concatenates: ClassVar[bool] = False  # CONCAT puts many texts together at once and leaves NULL out
    materializes: ClassVar[bool] = True  # WITH ... AS MATERIALIZED
    starts_jobs: ClassVar[bool] = False  # a statement costs as much as some 100,000 rows: few rows are worked on here
    shares_reads: ClassVar[bool] = False  # a UNION ALL of many aggregates is no quicker than one each
    has_walls: ClassVar[bool] = False  # a function can stand between a view and its readers
    ranges: ClassVar[NativeRanges | None] = None  # its own types for ranges of numbers and moments
    reads_files: ClassVar[bool] = False  # READ_CSV('file') and the like in FROM
    name_limit: ClassVar[int | None] = None  # bytes of UTF-8; a longer name would be cut without a word

    read_only: bool = False
    lock_timeout: float = 30.0  # seconds

    def __init__(self) -> None:
        self.on_statement: Callable[[str], None] | None = None  # for --show-sql
        self._secrets: set[str] = set()
        self.unmade: set[Name] = set()  # names that workspaces gave out and nothing has yet
        self.holds_lock = False
        self.facts = RelationFacts()  # what is known of relations
        self.stand_ins: dict[Name, str] = {}  # views instead of something outside -> its name in the ledger
        self.work = Workspace(self)  # the innermost that is open

    # -- running -----------------------------------------------------------------------------------

    def render(self, tree: exp.Expr) -> str:
        """The statement in this engine's SQL; a construct it lacks is an error, never dropped."""
        texts = texts_of(tree)
        if texts is not None and self.dialect in texts:
            return texts[self.dialect]
        text = tree.sql(self.dialect, comments=False, unsupported_level=ErrorLevel.RAISE)
        if self.name_limit is not None or "\0" in text:
            self._check_names(word.this for word in tree.find_all(exp.Identifier))
        return text if texts is None else texts.setdefault(self.dialect, text)

    def _check_names(self, names: Iterable[str]) -> None:
        for name in names:
            if "\0" in name:
                raise EngineError("a name contains a NUL character, which no relation or column name can have")
            if self.name_limit is not None and len(name.encode()) > self.name_limit:
                allowed = f"the {self.name_limit} bytes that {self.title} allows"
                raise EngineError(f"the name {name} is longer than {allowed}")

    def fetch(self, query: exp.Expr, **params: Any) -> Rows:
        sql = self._announce(query)
        with self._explain_errors(self._without_secrets(sql)):
            return self._fetch(sql, used_params(query, params))

    def fetch_one(self, query: exp.Expr, **params: Any) -> Row:
        rows = self.fetch(query, **params)
        if len(rows) != 1:
            raise EngineError(f"expected one row, got {len(rows)}")
        return rows[0]

    def arrays(self, query: exp.Expr, **params: Any) -> dict[str, np.ndarray]:
        """Numeric result columns without NULLs, as numpy arrays: how counts reach the algorithms."""
        sql = self._announce(query)
        with self._explain_errors(self._without_secrets(sql)):
            return self._arrays(sql, used_params(query, params))

    def batches(self, query: exp.Expr, rows: int = 100_000) -> Iterator[pa.RecordBatch]:
        """The result as Arrow batches: exact types, bounded memory, and one batch even when there is no row.

        Read them before the next statement.
        """
        sql = self._announce(query)
        with self._explain_errors(self._without_secrets(sql)):
            yield from self._batches(sql, rows)

    def execute(self, statement: exp.Expr, **params: Any) -> int | None:
        """Runs a statement; how many rows it wrote, where the engine says so."""
        sql = self._announce(statement)
        self.facts.forget_after(statement)
        with self._explain_errors(self._without_secrets(sql)):
            return self._execute(sql, used_params(statement, params))

    def pass_through(self, text: str, limit: int = 100) -> Table | None:
        """A statement of the user's own, unchanged; what it returned, if it returns rows."""
        self._tell(text)
        self.facts.forget()
        with self._explain_errors(self._without_secrets(text)):
            return self._pass_through(text, limit)

    def check_text(self, text: str, *, binds: bool) -> None:
        """Refuses a statement of the user's own that cannot run, without running it.

        binds: the names in it are known already; without it only the syntax is looked at.
        """

    def _announce(self, tree: exp.Expr) -> str:
        sql = self.render(tree)
        self._tell(sql)
        return sql

    def _tell(self, sql: str) -> None:
        shown = self._without_secrets(sql)
        logger.debug("%s: %s", self.dialect, shown)  # parameters are data: never logged
        if self.on_statement is not None:
            self.on_statement(shown)

    def hide(self, secret: str) -> None:
        """From now on this text stands in no statement that is shown, logged or kept in an error."""
        if secret:
            self._secrets.add(secret)

    def _without_secrets(self, sql: str) -> str:
        for secret in self._secrets:
            sql = sql.replace(secret, "<secret>")
        return sql

    # -- hooks every engine fills ------------------------------------------------------------------

    @abstractmethod
    def _fetch(self, sql: str, params: dict[str, Any]) -> Rows: ...

    @abstractmethod
    def _arrays(self, sql: str, params: dict[str, Any]) -> dict[str, np.ndarray]: ...

    @abstractmethod
    def _batches(self, sql: str, rows: int) -> Iterator[pa.RecordBatch]: ...

    @abstractmethod
    def _execute(self, sql: str, params: dict[str, Any]) -> int | None: ...

    @abstractmethod
    def _pass_through(self, text: str, limit: int) -> Table | None: ...

    @abstractmethod
    def _explain_errors(self, sql: str) -> AbstractContextManager[None]:
        """Turns the driver's exceptions into EngineErrors whose text holds no value of the data."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing; on an engine without transactions the body simply runs."""

    @abstractmethod
    def _begin_locked(self, relation: Name) -> AbstractContextManager[None]:
        """A transaction whose first statement takes the lock; an engine without transactions does what it can."""

    @abstractmethod
    def columns(self, name: Name) -> list[ColumnInfo]:
        """The columns of a relation in order; empty when there is no such relation."""

    @abstractmethod
    def relation_kind(self, name: Name) -> str | None:
        """'table', 'view', or None when nothing has this name."""

    def look_up(self, names: Iterable[Name], *, columns: bool = False) -> None:
        """Looks several relations up at once, where that is remembered; columns: with their columns."""

    @abstractmethod
    def relations(self, schema: str | None) -> list[str]:
        """The names of the tables and views of a schema; None: those that need no schema in front."""

    @abstractmethod
    def load(self, name: Name, table: pa.Table, *, temporary: bool = True) -> None:
        """A small table made in Python (codes, labels), stored under one of our own names."""

    def lend(self, name: Name, table: pa.Table) -> None:
        """The same for a working table that is only read: it is not copied where the engine reads it in its place."""
        self.load(name, table)

    @abstractmethod
    def view_of_text(self, name: Name, query: str) -> None:
        """A temporary view over a query the user wrote, kept to the letter."""

    def working_view(self, name: Name, query: exp.Query) -> None:
        """A temporary view over a query of our own; it replaces the one of the same name."""
        made = temporary_property()
        self.execute(exp.Create(this=name.table(), kind="VIEW", expression=query, replace=True, properties=made))

    @abstractmethod
    def exact_text(self, text: exp.Expr) -> exp.Expr:
        """A text expression whose equality and order are those of its bytes, whatever the column's collation."""

    @abstractmethod
    def hash_number(self, text: exp.Expr, part: int) -> exp.Expr:
        """Part 0 or 1 of the md5 of a text, 60 bits each, as a BIGINT: the same number on every engine."""

    @abstractmethod
    def quick_hash(self, values: Sequence[exp.Expr], seed: int) -> exp.Expr:
        """A 64-bit number of some values: cheap, no secret, and another one on every engine."""

    def order_hash(self, values: Sequence[exp.Expr], seed: int) -> exp.Expr:
        """What rows are put in order by when they leave: as quick_hash, which decides more than an order."""
        return self.quick_hash(values, seed)

    @abstractmethod
    def close(self) -> None: ...

    # -- what engines do alike; some do it their own way -------------------------------------------

    @contextmanager
    def lock(self, relation: Name) -> Iterator[None]:
        """A transaction with a lock that one session has at a time.

        The lock is taken before the transaction reads anything, so everything that an earlier holder wrote is seen.
        """
        try:
            with self._begin_locked(relation):
                self.facts.forget_shared()  # until the lock was there, others may have changed it
                self.holds_lock = True
                yield
        finally:
            self.holds_lock = False
            self.facts.forget_shared()

    def lock_refusal(self) -> DatabaseUnavailable:
        told = "another session is publishing, exporting, verifying or dropping a release; gave up after"
        return DatabaseUnavailable(
            f"{told} {self.lock_timeout:g} s (--lock-timeout). Nothing was changed. Run it again"
        )

    def fold(self, word: Word) -> str:
        """The name as this engine stores it."""
        return word.text

    def name(self, words: Sequence[Word]) -> Name:
        return Name(*(self.fold(word) for word in words))

    def own_catalog(self) -> str:
        """The first part of a name of three that means the open database."""
        return str(self.fetch_one(statement("catalog/current_catalog"))[0])

    def is_same_name(self, one: Word, other: Word) -> bool:
        """Whether two words mean the same relation."""
        return one.text.casefold() == other.text.casefold()

    def same_value(self, left: exp.Expr, right: exp.Expr, kind: Kind) -> exp.Expr:
        """Whether two values of one kind are equal, or both NULL, in a form by which the engine can hash a join."""
        return exp.NullSafeEQ(this=left, expression=right)

    def code_type(self, size: int) -> exp.DataType:
        """The smallest integer type that holds the codes 0 .. size - 1."""
        return exp.DataType.build(smallest_integer(size, unsigned=self.has_unsigned), dialect="duckdb")

    def view_query(self, name: Name) -> str | None:
        """The query behind a view, as text of this engine; None for a table."""
        return None

    def constraints(self, name: Name) -> list[str]:
        """The constraints of a table in the engine's words, where its errors do not name them."""
        return []

    def can_read(self, name: Name) -> bool:
        """Whether this session may read the rows of a relation."""
        return True

    def tables_read(self, view: Name, query: str) -> frozenset[str]:
        """The tables that a query reads as the database itself sees it, by their qualified names.

        The view was made from the query.  Empty where the engine cannot tell.
        """
        return frozenset()

    def unsteady_names(self) -> frozenset[str]:
        """Functions and columns whose value for the same row changes from one statement to the next."""
        return UNSTEADY

    def query_behind(self, name: Name) -> str | None:
        """The query behind a view, to follow it to its tables: a wall counts as the relation it stands in front of."""
        return self.view_query(name)

    def comment_on(self, name: Name) -> str | None:
        """The comment that a relation carries, if it carries one."""
        return None

    def find_outside(self, table: exp.Table) -> Outside | None:
        """What a table of a query means that is not stored in the open database: a file, an attached table."""
        return None

    def register(self, name: Name, frame: object) -> None:
        """Makes a data frame a relation of this session."""

    def qualified_name(self, name: Name) -> str:
        """schema.table as the engine resolves it: one spelling per relation, for the ledger."""
        return str(name)

    def family(self, tables: Sequence[str], *, ancestors: bool = True) -> list[str]:
        """Tables with those whose rows they show, and those that show theirs (ancestors): one source for the ledger."""
        return list(tables)

    def workspace(self, shares: Collection[Name] = ()) -> AbstractContextManager[Workspace]:
        """Working tables until the end of a block.  shares: relations of which what is made once is kept so long."""
        return open_workspace(self, shares)

    def _is_new(self, name: Name) -> bool:
        """Whether a workspace gave out this name and nothing has it yet; from now on something may."""
        is_new = name in self.unmade
        self.unmade.discard(name)
        return is_new

    def drop_working(self, tables: Sequence[Name], views: Sequence[Name]) -> None:
        """Drops the working tables and views that were made."""
        for view in views:
            self.drop_view(view)
        for table in (table for table in tables if not self._is_new(table)):
            self.drop_table(table, temporary=True)

    def create_table(self, name: Name, query: exp.Query, *, temporary: bool = False, **params: Any) -> None:
        """CREATE TABLE ... AS.  A working table (temporary) replaces the one of the same name."""
        if temporary and not self._is_new(name) and not self.replaces_tables:
            self.drop_table(name, temporary=True)
        made = exp.Create(this=name.table(), kind="TABLE", replace=temporary and self.replaces_tables, expression=query)
        made.set("properties", temporary_property() if temporary else None)
        rows = self.execute(made, **params)
        self.facts.note("kind", name, "table")
        if rows is not None:
            self.facts.note("rows", name, rows)

    def create_view(self, name: Name, query: exp.Query, *, replace: bool = False) -> None:
        """A view that shows its columns and nothing else, as secure as the engine can make it."""
        self.execute(exp.Create(this=name.table(), kind="VIEW", expression=query, replace=replace))

    @property
    def secures_views(self) -> bool:
        return True  # whether a view keeps its readers from what lies behind it, in this database

    def create_wall(self, name: Name) -> exp.Table:
        """Puts a function in front of a relation and gives what a view then reads; only where has_walls.

        No condition, plan or error of who reads the view gets below it.  Only its owner may call it.
        """
        raise EngineError(f"{self.title} has no secure views")

    def open_wall(self, name: Name, roles: Sequence[str]) -> None:
        """Lets these roles read through the wall of a relation, as readers of the view on it must."""
        raise EngineError(f"{self.title} has no secure views")

    def wall_text(self, name: Name) -> str | None:
        """What the wall in front of a relation does; None where there is no wall."""
        return None

    def drop_wall(self, name: Name) -> None:
        """Takes the wall in front of a relation away, where there is one."""

    def create_macro(self, name: Name, parameters: Sequence[str], body: exp.Expr, *, replace: bool = False) -> None:
        """A function written in SQL whose parameters are columns of its body; only where has_macros."""
        raise EngineError(f"{self.title} has no macros")

    def any_moment_in_utc(self, moment: exp.Expr) -> exp.Expr:
        """A DATE or TIMESTAMP of a type that is not known as a TIMESTAMP in UTC; only where reads_any_moment."""
        raise EngineError(f"{self.title} does not compare dates and times of unknown types")

    def drop_table(self, name: Name, *, temporary: bool = False) -> None:
        self.execute(exp.Drop(tables=[name.table()], kind="TABLE", exists=True))

    def drop_view(self, name: Name) -> None:
        self.execute(exp.Drop(tables=[name.table()], kind="VIEW", exists=True))

    def create_schema(self, schema: str) -> None:
        self.execute(exp.Create(this=exp.Table(db=identifier(schema)), kind="SCHEMA", exists=True))

    def comment(self, name: Name, kind: str, text: str) -> None:
        said = exp.Literal.string(text)
        self.execute(exp.Comment(this=name.table(), kind=kind.upper(), expression=said, exists=False))

    def comment_columns(self, name: Name, kind: str, texts: Mapping[str, str]) -> None:
        """Says of some columns of a relation what a reader must know."""
        for column, text in texts.items():
            said = exp.Column(this=identifier(column), table=identifier(name.last))
            if name.schema is not None:
                said.set("db", identifier(name.schema))
            self.execute(exp.Comment(this=said, kind="COLUMN", expression=exp.Literal.string(text), exists=False))

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction of the user's own is open."""
        return False

    def path_schemas(self) -> list[str]:
        """The schemas in which a relation without a schema is looked for."""
        return []

    def analyze(self, *names: Name) -> None:
        """Statistics of tables for the planner, where it needs telling."""

    def check_builtins(self) -> None:
        """Refuses a database whose own functions have the names of built-ins: a check could be made to say anything."""

    def check_writable(self, why: str = "nothing can be published into it") -> None:
        """Refuses before any work when the database cannot be written."""
        if self.read_only:
            raise EngineError(f"the database is open read-only: {why}")

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
