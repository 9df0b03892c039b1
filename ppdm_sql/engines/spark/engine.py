"""Spark 4: in this process (spark:local[2]), on a cluster (spark://host:port) or behind Spark Connect (spark:sc://).

What is different here, and told by the flags: no transactions, no constraints, no UPDATE or DELETE of
stored rows, no roles.  A working table is a temporary view over rows that were computed once and kept.

ANSI mode is on: without it a cast that fails gives NULL and a sum that overflows wraps around, and either
would put people into a class that is not theirs without a word.

Spark quotes raw values in its errors, and prints them: from the JVM, and from a logger of PySpark's own.
Neither is let through.
"""

from __future__ import annotations

import contextlib
import json
import logging
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import types
from sqlglot import exp

from ppdm_sql.engines.arrow import numpy_column, plain_table
from ppdm_sql.engines.base import ColumnInfo, Engine, Rows, Table
from ppdm_sql.engines.spark.errors import explanation
from ppdm_sql.engines.spark.files import local_folder, read_table
from ppdm_sql.engines.spark.mirror import CatalogMirror
from ppdm_sql.engines.spark.session import FAILURES, SparkPlace, check_stored_name, start
from ppdm_sql.engines.spark.types import (
    arrow_type,
    bound_value,
    kind_of,
    record_batch,
    rows_of,
    spark_type,
    without_zones,
)
from ppdm_sql.engines.workspace import temporary_property
from ppdm_sql.errors import EngineError
from ppdm_sql.statements.load import used_params
from ppdm_sql.statements.names import PREFIX, Name, identifier

if TYPE_CHECKING:
    import numpy as np
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.catalog import Table as Listed

# PySpark writes the message of a failed statement, values and all, to stderr; its bridge to the JVM logs
# everything that crosses it as soon as DEBUG is switched on.
for _name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    logging.getLogger(_name).disabled = True
logging.getLogger("py4j").setLevel(logging.CRITICAL)

_SETTINGS = {"spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "UTC"}
_ONE_AT_A_TIME = threading.Lock()


class SparkEngine(Engine):
    dialect = "spark"
    title = "Spark"
    has_transactions = False
    materializes = False
    has_constraints = False
    updates_in_place = False
    knows_readers = False
    starts_jobs = True

    def __init__(self, session: SparkSession, *, place: SparkPlace | None = None) -> None:
        """Works in an open session, or owns one together with the place it was started in."""
        super().__init__()
        self._session = session
        self._place = place
        self._working: set[Name] = set()  # temporary views that stand for working tables
        self._mirror = CatalogMirror(self)
        self._former = {name: session.conf.get(name, None) for name in _SETTINGS}
        for name, value in _SETTINGS.items():
            session.conf.set(name, value)

    @classmethod
    def open(
        cls, url: str, *, read_only: bool = False, lock_timeout: float = 30.0, memory_limit: str | None = None
    ) -> SparkEngine:
        """Starts Spark here, or connects; a warehouse another process works in is waited for."""
        session, place = start(url, lock_timeout, memory_limit)
        engine = cls(session, place=place)
        engine.read_only, engine.lock_timeout = read_only, lock_timeout
        return engine

    # -- running -----------------------------------------------------------------------------------

    def _sql(self, sql: str, params: Mapping[str, Any]) -> DataFrame:
        return self._session.sql(sql, args={name: bound_value(value) for name, value in params.items()} or None)

    def read_whole(self, name: Name, limit: int) -> pa.Table:
        """A table's rows, from its files where they are on this machine; at least so many, if there are more."""
        found = self._read_files(name, limit)
        if found is not None:
            return found
        sql = self._announce(exp.select("*").from_(name.table()).limit(limit))
        with self._explain_errors(self._without_secrets(sql)):
            return self._sql(sql, {}).toArrow()

    def _read_files(self, name: Name, limit: int) -> pa.Table | None:
        if name.schema is None or self.relation_kind(name) != "table":
            return None
        folder = self._place_of(name.schema)
        if folder is None:
            return None
        with self._explain_errors("columns"):
            fields = self._session.table(_quote(name)).schema.fields
        return read_table(folder / name.last.lower(), fields, limit)

    def _place_of(self, schema: str) -> Path | None:
        """Where the tables of a schema lie, if that is a folder of this machine; behind Spark Connect it is not."""
        if not hasattr(self._session, "_jsparkSession"):
            return None
        with self._explain_errors("schema"):
            return local_folder(self._session.catalog.getDatabase(_word(schema)).locationUri)

    def ignores_case(self) -> bool:
        return str(self._session.conf.get("spark.sql.caseSensitive", "false")).lower() == "false"

    def fetch(self, query: exp.Expr, **params: Any) -> Rows:
        found = self._mirror.fetch(query, params)
        return super().fetch(query, **params) if found is None else found

    def execute(self, statement: exp.Expr, **params: Any) -> int | None:
        if not isinstance(statement, exp.Insert):
            return super().execute(statement, **params)
        plain = self._mirror.with_numbers(statement)
        try:
            rows = super().execute(plain, **params)
        except BaseException:
            self._mirror.give_up(plain)
            raise
        self._mirror.insert(plain, params)
        return rows

    def _fetch(self, sql: str, params: dict[str, Any]) -> Rows:
        return rows_of(self._sql(sql, params).toArrow())

    def _arrays(self, sql: str, params: dict[str, Any]) -> dict[str, np.ndarray]:
        table = self._sql(sql, params).toArrow()
        columns = zip(table.column_names, table.columns, strict=True)
        return {name: numpy_column(name, column.to_pylist()) for name, column in columns}

    def _batches(self, sql: str, rows: int) -> Iterator[pa.RecordBatch]:
        frame = self._sql(sql, {})
        schema = pa.schema([pa.field(field.name, arrow_type(field)) for field in frame.schema])
        found = without_zones(frame).toLocalIterator()
        yield record_batch(list(islice(found, rows)), schema)
        while chunk := list(islice(found, rows)):
            yield record_batch(chunk, schema)

    def _execute(self, sql: str, params: dict[str, Any]) -> int | None:
        self._sql(sql, params)
        return None

    def _pass_through(self, text: str, limit: int) -> Table | None:
        frame = self._session.sql(text)
        if not frame.schema.fields:
            return None
        return Table(tuple(frame.columns), rows_of(frame.limit(limit).toArrow()))

    @contextlib.contextmanager
    def _explain_errors(self, sql: str) -> Iterator[None]:
        try:
            yield
        except FAILURES as cause:
            raise explanation(cause, sql) from None  # the driver quotes values: no traceback shows it
        except pa.ArrowException:
            raise EngineError("a value has no exact counterpart outside Spark", sql=sql) from None

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        yield

    @contextlib.contextmanager
    def _begin_locked(self, relation: Name) -> Iterator[None]:
        """The threads of this process wait for each other; another process is not noticed (docs/engines.md)."""
        if not _ONE_AT_A_TIME.acquire(timeout=self.lock_timeout):
            raise self.lock_refusal()
        try:
            yield
        finally:
            _ONE_AT_A_TIME.release()

    # -- looking -----------------------------------------------------------------------------------

    def columns(self, name: Name) -> list[ColumnInfo]:
        return list(self.facts.find("columns", name, lambda: self._describe(name)))

    def _describe(self, name: Name) -> list[ColumnInfo]:
        if self._find_table(name) is None:
            return []
        with self._explain_errors("columns"):
            fields = self._session.table(_quote(name)).schema.fields
        return [ColumnInfo(f.name, kind_of(f.dataType.simpleString()), f.dataType.simpleString()) for f in fields]

    def relation_kind(self, name: Name) -> str | None:
        found = self._find_table(name)
        if found is None:
            return None
        if found.isTemporary:
            return "table" if name in self._working else "view"
        return "view" if found.tableType == "VIEW" else "table"

    def relations(self, schema: str | None) -> list[str]:
        with self._explain_errors("relations"):
            schema = schema or self._session.catalog.currentDatabase()
            if not self._session.catalog.databaseExists(_word(schema)):
                return []
            # A list of tables in full would be a look at every one of them.
            found = self._session.sql(f"SHOW TABLES IN {_word(schema)}").collect()
        return sorted(row["tableName"] for row in found if not row["isTemporary"])

    def view_query(self, name: Name) -> str | None:
        if self.relation_kind(name) != "view":
            return None
        described = exp.Describe(this=name.table(), style="EXTENDED", as_json=True)
        text: str | None = json.loads(self.fetch_one(described)[0]).get("view_text")
        return text

    def unsteady_names(self) -> frozenset[str]:
        return super().unsteady_names() | {"_metadata"}

    def comment_on(self, name: Name) -> str | None:
        found = self._find_table(name)
        return None if found is None else found.description

    def qualified_name(self, name: Name) -> str:
        found = self._find_table(name)
        if found is None:
            return str(name)
        return ".".join([*(found.namespace or ["session"]), found.name]).casefold()

    def own_catalog(self) -> str:
        return str(self._session.catalog.currentCatalog())

    def path_schemas(self) -> list[str]:
        return [self._session.catalog.currentDatabase()]

    def _find_table(self, name: Name) -> Listed | None:
        return self.facts.find("listed", name, lambda: self._look_for(name))

    def _look_for(self, name: Name) -> Listed | None:
        with self._explain_errors("relation"):
            try:
                return self._session.catalog.getTable(_quote(name))
            except PySparkException as error:
                if error.getCondition() in ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND"):
                    return None
                raise

    # -- making ------------------------------------------------------------------------------------

    def create_table(self, name: Name, query: exp.Query, *, temporary: bool = False, **params: Any) -> None:
        """A stored table is Parquet; a working table is computed once, kept, and found under a temporary view."""
        if not temporary:
            self._make_way(name)
            parquet = exp.Properties(expressions=[exp.FileFormatProperty(this=exp.Var(this="parquet"))])
            self.execute(exp.Create(this=name.table(), kind="TABLE", expression=query, properties=parquet), **params)
            return
        sql = self._announce(
            exp.Create(this=name.table(), kind="TABLE", expression=query, properties=temporary_property())
        )
        with self._explain_errors(sql):
            # Kept, not cached: a view would be computed again, and rand() would give other rows.
            frame = self._sql(self.render(query), used_params(query, params)).localCheckpoint()
            self._register(name, frame)

    def _register(self, name: Name, frame: DataFrame) -> None:
        frame.createOrReplaceTempView(_quote(name))
        self.facts.forget(name)
        self.unmade.discard(name)
        self._working.add(name)

    def _make_way(self, name: Name) -> None:
        """Rows without a catalog entry are what a killed run left; under one of our names they are removed."""
        check_stored_name(name.last)
        if self._place is None or self._place.data is None or not name.last.startswith(PREFIX):
            return
        schema = name.schema or self._session.catalog.currentDatabase()
        folder = self._place.data / ("" if schema == "default" else f"{schema.lower()}.db") / name.last.lower()
        if folder.is_dir() and self._find_table(Name(schema, name.last)) is None:
            shutil.rmtree(folder)

    def load(self, name: Name, table: pa.Table, *, temporary: bool = True) -> None:
        table = plain_table(table)
        schema = types.StructType([types.StructField(field.name, spark_type(field)) for field in table.schema])
        self._check_names((*name.parts, *table.column_names))
        with self._explain_errors("load"):
            frame = self._session.createDataFrame(table, schema=schema)
            if temporary:
                self._register(name, frame)
                return
        with self.workspace() as work, self._explain_errors("load"):
            loaded = work.name("loaded")
            self._register(loaded, frame)
            self.create_table(name, exp.select("*").from_(loaded.table()))

    def view_of_text(self, name: Name, query: str) -> None:
        created = exp.Create(this=name.table(), kind="VIEW", replace=True, properties=temporary_property())
        sql = f"{self.render(created)} AS {query}"
        self._tell(sql)
        self.facts.forget(name)
        with self._explain_errors(sql):
            self._session.sql(sql)
        self._working.discard(name)

    def working_view(self, name: Name, query: exp.Query) -> None:
        super().working_view(name, query)
        self._working.discard(name)

    def create_view(self, name: Name, query: exp.Query, *, replace: bool = False) -> None:
        check_stored_name(name.last)
        super().create_view(name, query, replace=replace)

    def create_schema(self, schema: str) -> None:
        check_stored_name(schema)
        super().create_schema(schema)

    def drop_table(self, name: Name, *, temporary: bool = False) -> None:
        """Spark's DROP TABLE takes views along: here it is an error, as in every other engine."""
        found = self._find_table(name)
        if found is None or (temporary and not found.isTemporary):
            return
        if self.relation_kind(name) != "table":
            raise EngineError(f"{name} is a view, not a table")
        if found.isTemporary:
            self._session.catalog.dropTempView(name.last)
            self._working.discard(name)
            self.facts.forget(name)
        else:
            super().drop_table(name)

    def drop_working(self, tables: Sequence[Name], views: Sequence[Name]) -> None:
        """Without a look into the catalog: only temporary views are dropped here, and only those that there are."""
        with self._explain_errors("drop"):
            for name in (*views, *tables):
                if not self._is_new(name):
                    self._session.catalog.dropTempView(name.last)
                    self.facts.forget(name)
        self._working.difference_update(tables)

    def drop_view(self, name: Name) -> None:
        if self.relation_kind(name) == "table":
            raise EngineError(f"{name} is a table, not a view")
        super().drop_view(name)

    def comment(self, name: Name, kind: str, text: str) -> None:
        if kind != "view":
            super().comment(name, kind, text)
            self.facts.forget(name)  # its comment is one of them
            return
        said = exp.Property(this=exp.Literal.string("comment"), value=exp.Literal.string(text))
        action = exp.AlterSet(expressions=[exp.Properties(expressions=[said])])
        self.execute(exp.Alter(this=name.table(), kind="VIEW", actions=[action]))

    def comment_columns(self, name: Name, kind: str, texts: Mapping[str, str]) -> None:
        """Of a table; the columns of a view are described when it is made, and the manifest describes them anyway."""
        for column, text in texts.items() if kind != "view" else ():
            said = exp.AlterColumn(this=identifier(column), comment=exp.Literal.string(text))
            self.execute(exp.Alter(this=name.table(), kind="TABLE", actions=[said]))

    def exact_text(self, text: exp.Expr) -> exp.Expr:
        return exp.Collate(this=exp.cast(text, "TEXT"), expression=exp.Var(this="UTF8_BINARY"))

    def hash_number(self, text: exp.Expr, part: int) -> exp.Expr:
        digits = exp.Substring(
            this=exp.MD5(this=text), start=exp.Literal.number(1 + 15 * part), length=exp.Literal.number(15)
        )
        bases = [exp.Literal.number(16), exp.Literal.number(10)]
        return exp.cast(exp.Anonymous(this="CONV", expressions=[digits, *bases]), "BIGINT")

    def quick_hash(self, values: Sequence[exp.Expr], seed: int) -> exp.Expr:
        return exp.Anonymous(this="XXHASH64", expressions=[exp.Literal.string(str(seed)), *values])

    def close(self) -> None:
        self._mirror.close()
        if self._place is not None:
            self._session.stop()
            self._place.close()
            return
        self.work.close_after_failure()
        for name in list(self._working):
            self.drop_table(name, temporary=True)
        for setting, value in self._former.items():
            if value is not None:
                self._session.conf.set(setting, value)


def _word(text: str) -> str:
    return identifier(text).sql("spark")


def _quote(name: Name) -> str:
    return ".".join(_word(part) for part in name.parts)
