"""Spark 4, in this process (spark:local[2]) or behind Spark Connect (spark:sc://host:port).

What is different here, and told by the flags: no transactions, no constraints, no UPDATE or DELETE of
stored rows, no roles.  A working table is a temporary view over rows that were computed once and kept.

ANSI mode is on: without it a cast that fails gives NULL and a sum that overflows wraps around, and either
would put people into a class that is not theirs without a word.

Spark quotes raw values in its errors, and prints them: from the JVM, and from a logger of PySpark's own.
Neither is let through.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import logging
import re
import shutil
import threading
from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import types
from sqlglot import exp

from ppdm_sql.engines.arrow import numpy_column, plain_table
from ppdm_sql.engines.base import ColumnInfo, Engine, Kind, Rows, Table, temporary_property, used_params
from ppdm_sql.engines.spark_session import FAILURES, SparkPlace, check_stored_name, start
from ppdm_sql.errors import DatabaseUnavailable, EngineError, Fault
from ppdm_sql.statements.names import PREFIX, Name, identifier, own

if TYPE_CHECKING:
    import numpy as np
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.catalog import Table as Listed

# PySpark writes the message of a failed statement, values and all, to stderr; its bridge to the JVM logs
# everything that crosses it as soon as somebody asks for DEBUG.
for _name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    logging.getLogger(_name).disabled = True
logging.getLogger("py4j").setLevel(logging.CRITICAL)

_SETTINGS = {"spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "UTC"}
_LOADED = own("ppdm_loaded")
_ONE_AT_A_TIME = threading.Lock()
_KINDS = {
    Kind.INTEGER: "tinyint smallint int bigint",
    Kind.DECIMAL: "decimal",
    Kind.FLOAT: "float double",
    Kind.TEXT: "string varchar char",
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp timestamp_ntz",
}
_KIND_OF = {word: kind for kind, words in _KINDS.items() for word in words.split()}


class SparkEngine(Engine):
    dialect = "spark"
    title = "Spark"
    has_transactions = False
    has_constraints = False
    updates_in_place = False

    def __init__(self, session: SparkSession, *, place: SparkPlace | None = None) -> None:
        """Works in an open session, or owns one together with the place it was started in."""
        super().__init__()
        self._session = session
        self._place = place
        self._working: set[Name] = set()  # temporary views that stand for working tables
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
        return self._session.sql(sql, args={name: _argument(value) for name, value in params.items()} or None)

    def _fetch(self, sql: str, params: dict[str, Any]) -> Rows:
        return _rows(self._sql(sql, params).toArrow())

    def _arrays(self, sql: str, params: dict[str, Any]) -> dict[str, np.ndarray]:
        table = self._sql(sql, params).toArrow()
        columns = zip(table.column_names, table.columns, strict=True)
        return {name: numpy_column(name, column.to_pylist()) for name, column in columns}

    def _batches(self, sql: str, rows: int) -> Iterator[pa.RecordBatch]:
        frame = self._sql(sql, {})
        schema = pa.schema([pa.field(field.name, _arrow_type(field)) for field in frame.schema])
        found = _zoneless(frame).toLocalIterator()
        yield _batch(list(islice(found, rows)), schema)
        while chunk := list(islice(found, rows)):
            yield _batch(chunk, schema)

    def _execute(self, sql: str, params: dict[str, Any]) -> None:
        self._sql(sql, params)

    def _pass_through(self, text: str, limit: int) -> Table | None:
        frame = self._session.sql(text)
        if not frame.schema.fields:
            return None
        return Table(tuple(frame.columns), _rows(frame.limit(limit).toArrow()))

    @contextlib.contextmanager
    def _explained(self, sql: str) -> Iterator[None]:
        try:
            yield
        except FAILURES as cause:
            raise _explanation(cause, sql) from cause
        except pa.ArrowException as cause:
            raise EngineError("a value has no exact counterpart outside Spark", sql=sql) from cause

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        yield

    @contextlib.contextmanager
    def _locked(self, relation: Name) -> Iterator[None]:
        """The threads of this process wait for each other; another process is not noticed (docs/engines.md)."""
        if not _ONE_AT_A_TIME.acquire(timeout=self.lock_timeout):
            raise self.lock_refusal()
        try:
            yield
        finally:
            _ONE_AT_A_TIME.release()

    # -- looking -----------------------------------------------------------------------------------

    def columns(self, name: Name) -> list[ColumnInfo]:
        if self._listed(name) is None:
            return []
        with self._explained("columns"):
            fields = self._session.table(_quoted(name)).schema.fields
        return [ColumnInfo(f.name, _kind(f.dataType.simpleString()), f.dataType.simpleString()) for f in fields]

    def relation_kind(self, name: Name) -> str | None:
        found = self._listed(name)
        if found is None:
            return None
        if found.isTemporary:
            return "table" if name in self._working else "view"
        return "view" if found.tableType == "VIEW" else "table"

    def relations(self, schema: str | None) -> list[str]:
        with self._explained("relations"):
            schema = schema or self._session.catalog.currentDatabase()
            if not self._session.catalog.databaseExists(_word(schema)):
                return []
            found = self._session.catalog.listTables(_word(schema))
        return sorted(table.name for table in found if not table.isTemporary)

    def view_query(self, name: Name) -> str | None:
        if self.relation_kind(name) != "view":
            return None
        described = exp.Describe(this=name.table(), style="EXTENDED", as_json=True)
        text: str | None = json.loads(self.fetch_one(described)[0]).get("view_text")
        return text

    def unsteady_names(self) -> frozenset[str]:
        return super().unsteady_names() | {"_metadata"}

    def comment_on(self, name: Name) -> str | None:
        found = self._listed(name)
        return None if found is None else found.description

    def qualified(self, name: Name) -> str:
        found = self._listed(name)
        if found is None:
            return str(name)
        return ".".join([*(found.namespace or ["session"]), found.name]).casefold()

    def path_schemas(self) -> list[str]:
        return [self._session.catalog.currentDatabase()]

    def _listed(self, name: Name) -> Listed | None:
        with self._explained("relation"):
            try:
                return self._session.catalog.getTable(_quoted(name))
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
        with self._explained(sql):
            # Kept, not cached: a view would be computed again, and rand() would give other rows.
            frame = self._sql(self.render(query), used_params(query, params)).localCheckpoint()
            self._register(name, frame)

    def _register(self, name: Name, frame: DataFrame) -> None:
        frame.createOrReplaceTempView(_quoted(name))
        self._working.add(name)

    def _make_way(self, name: Name) -> None:
        """Rows without a catalog entry are what a killed run left; under one of our names they are removed."""
        check_stored_name(name.last)
        if self._place is None or self._place.data is None or not name.last.startswith(PREFIX):
            return
        schema = name.schema or self._session.catalog.currentDatabase()
        folder = self._place.data / ("" if schema == "default" else f"{schema.lower()}.db") / name.last.lower()
        if folder.is_dir() and self._listed(Name(schema, name.last)) is None:
            shutil.rmtree(folder)

    def load(self, name: Name, table: pa.Table, *, temporary: bool = True) -> None:
        table = plain_table(table)
        schema = types.StructType([types.StructField(field.name, _spark_type(field)) for field in table.schema])
        self._check_names((*name.parts, *table.column_names))
        with self._explained("load"):
            frame = self._session.createDataFrame(table, schema=schema)
            self._register(name if temporary else _LOADED, frame)
        if not temporary:
            self.create_table(name, exp.select("*").from_(_LOADED.table()))
            self.drop_table(_LOADED, temporary=True)

    def view_of_text(self, name: Name, query: str) -> None:
        created = exp.Create(this=name.table(), kind="VIEW", replace=True, properties=temporary_property())
        sql = f"{self.render(created)} AS {query}"
        self._tell(sql)
        with self._explained(sql):
            self._session.sql(sql)
        self._working.discard(name)

    def create_view(self, name: Name, query: exp.Query, *, replace: bool = False) -> None:
        check_stored_name(name.last)
        super().create_view(name, query, replace=replace)

    def create_schema(self, schema: str) -> None:
        check_stored_name(schema)
        super().create_schema(schema)

    def drop_table(self, name: Name, *, temporary: bool = False) -> None:
        """Spark's DROP TABLE takes views along: here it is an error, as in every other engine."""
        found = self._listed(name)
        if found is None or (temporary and not found.isTemporary):
            return
        if self.relation_kind(name) != "table":
            raise EngineError(f"{name} is a view, not a table")
        if found.isTemporary:
            self._session.catalog.dropTempView(name.last)
            self._working.discard(name)
        else:
            super().drop_table(name)

    def drop_view(self, name: Name) -> None:
        if self.relation_kind(name) == "table":
            raise EngineError(f"{name} is a table, not a view")
        super().drop_view(name)

    def comment(self, name: Name, kind: str, text: str) -> None:
        if kind != "view":
            super().comment(name, kind, text)
            return
        said = exp.Property(this=exp.Literal.string("comment"), value=exp.Literal.string(text))
        action = exp.AlterSet(expressions=[exp.Properties(expressions=[said])])
        self.execute(exp.Alter(this=name.table(), kind="VIEW", actions=[action]))

    def exact_text(self, text: exp.Expr) -> exp.Expr:
        return exp.Collate(this=exp.cast(text, "TEXT"), expression=exp.Var(this="UTF8_BINARY"))

    def hash_number(self, text: exp.Expr, part: int) -> exp.Expr:
        digits = exp.Substring(
            this=exp.MD5(this=text), start=exp.Literal.number(1 + 15 * part), length=exp.Literal.number(15)
        )
        bases = [exp.Literal.number(16), exp.Literal.number(10)]
        return exp.cast(exp.Anonymous(this="CONV", expressions=[digits, *bases]), "BIGINT")

    def close(self) -> None:
        if self._place is not None:
            self._session.stop()
            self._place.close()
            return
        for name in list(self._working):
            self.drop_table(name, temporary=True)
        for setting, value in self._former.items():
            if value is not None:
                self._session.conf.set(setting, value)


def _word(text: str) -> str:
    return identifier(text).sql("spark")


def _quoted(name: Name) -> str:
    return ".".join(_word(part) for part in name.parts)


def _argument(value: Any) -> Any:
    """A bound value as Spark takes it: moments without a zone are UTC, as the session is."""
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        return value.replace(tzinfo=datetime.UTC)
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        return Decimal(value)
    return value


# -- types -----------------------------------------------------------------------------------------------


def _kind(declared: str) -> Kind:
    """The kind of a Spark type.

    >>> _kind("decimal(18,3)"), _kind("array<int>"), _kind("string collate UTF8_LCASE")
    (<Kind.DECIMAL: 'decimal'>, <Kind.UNSUPPORTED: 'unsupported'>, <Kind.TEXT: 'text'>)
    """
    return _KIND_OF.get(re.split(r"[ (<]", declared, maxsplit=1)[0], Kind.UNSUPPORTED)


_ARROW: dict[str, pa.DataType] = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_SPARK = {arrow: word for word, arrow in _ARROW.items()}


def _arrow_type(field: types.StructField) -> pa.DataType:
    declared = field.dataType.simpleString()
    if isinstance(field.dataType, types.DecimalType):
        return pa.decimal128(field.dataType.precision, field.dataType.scale)
    if _kind(declared) is Kind.TEXT:
        return pa.string()
    if declared not in _ARROW:
        raise EngineError(f"column {field.name} cannot be read out of Spark: {declared}")
    return _ARROW[declared]


def _spark_type(field: pa.Field) -> types.DataType:
    kind = field.type
    if pa.types.is_string(kind):
        return types.StringType()
    if pa.types.is_decimal128(kind):
        return types.DecimalType(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        return types.TimestampNTZType() if kind.tz is None else types.TimestampType()
    if kind not in _SPARK:
        raise EngineError(f"column {field.name} cannot be loaded into Spark: {kind}")
    return types._parse_datatype_string(_SPARK[kind])


# -- rows ------------------------------------------------------------------------------------------------


def _rows(table: pa.Table) -> Rows:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _zoneless(frame: DataFrame) -> DataFrame:
    """Moments as they read in UTC: PySpark turns those with a zone into the local time of the process."""
    named = frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))
    casts = {
        name: named[name].cast("timestamp_ntz")
        for name, field in zip(named.columns, frame.schema, strict=True)
        if isinstance(field.dataType, types.TimestampType)
    }
    return named.withColumns(casts) if casts else named


def _batch(rows: list[Any], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
    arrays = [pa.array(list(values), field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


# -- errors ----------------------------------------------------------------------------------------------

# Only these speak of names alone; others quote the expression, and with it the values in it.
_ABOUT_NAMES = re.compile(
    r"PARSE_SYNTAX_ERROR|TABLE_OR_VIEW_(NOT_FOUND|ALREADY_EXISTS)|SCHEMA_NOT_FOUND|UNRESOLVED_(COLUMN|ROUTINE)\b.*"
    r"|AMBIGUOUS_REFERENCE|COLUMN_ALREADY_EXISTS|EXPECT_.*|WRONG_COMMAND_FOR_OBJECT_TYPE|UNSUPPORTED_FEATURE\b.*"
    r"|LOCATION_ALREADY_EXISTS"
)


def _explanation(cause: Exception, sql: str) -> EngineError:
    """The error in our words.  Spark's text is quoted only where it speaks of names, never of values."""
    text = str(cause)
    if "No space left" in text:
        return DatabaseUnavailable("the disk is full", sql=sql)
    if "OutOfMemoryError" in text:
        return EngineError("Spark ran out of memory: raise --memory-limit", sql=sql)
    condition = _condition(cause, text)
    if condition is None:
        return DatabaseUnavailable("the Spark process did not answer", sql=sql)
    if isinstance(cause, PySparkException) and _ABOUT_NAMES.fullmatch(condition):
        return EngineError(_first_sentence(text), sql=sql, fault=_fault(cause, condition))
    return EngineError(f"Spark refused a statement ({condition})", sql=sql, fault=Fault("value", detail=text))


def _fault(cause: PySparkException, condition: str) -> Fault:
    """The name that Spark does not find, from the parameters of its message; it gives no usable place."""
    given = cause.getMessageParameters() or {}
    if condition.startswith("UNRESOLVED_COLUMN") and "objectName" in given:
        return Fault("column", _last_word(given["objectName"]))
    if condition == "TABLE_OR_VIEW_NOT_FOUND" and "relationName" in given:
        return Fault("table", _last_word(given["relationName"]))
    if condition == "PARSE_SYNTAX_ERROR" and "error" in given:
        return Fault("syntax", given["error"].strip("'"))
    return Fault("other")


def _last_word(quoted: str) -> str:
    """The last part of a name in backticks.

    >>> _last_word("`s`.`my table`"), _last_word("t")
    ('my table', 't')
    """
    return quoted.strip("`").rsplit("`.`", 1)[-1].replace("``", "`")


def _condition(cause: Exception, text: str) -> str | None:
    """The name Spark gives to an error; one that comes out of a task has it only in its text."""
    if isinstance(cause, PySparkException):
        return cause.getCondition() or type(cause).__name__
    if not hasattr(cause, "java_exception"):
        return None
    named = re.search(r"\[([A-Z][A-Z0-9_.]+)\]", text)
    return named[1] if named else "SparkException"


def _first_sentence(text: str) -> str:
    """The first line, without the name of the condition before it and the SQLSTATE behind it.

    >>> _first_sentence("[X_Y] The table `t` is not there. SQLSTATE: 42P01; line 1")
    'The table `t` is not there.'
    """
    line = next(line for line in text.splitlines() if line.strip())
    return re.sub(r"\s*SQLSTATE:.*", "", re.sub(r"^\[[\w.]+\]\s*", "", line))
