"""Values between Spark, Arrow and Python."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types

from ppdm_sql.engines.base import Kind, Rows
from ppdm_sql.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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


def kind_of(declared: str) -> Kind:
    """The kind of a Spark type.

    >>> kind_of("decimal(18,3)"), kind_of("array<int>"), kind_of("string collate UTF8_LCASE")
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


def arrow_type(field: types.StructField) -> pa.DataType:
    declared = field.dataType.simpleString()
    if isinstance(field.dataType, types.DecimalType):
        return pa.decimal128(field.dataType.precision, field.dataType.scale)
    if kind_of(declared) is Kind.TEXT:
        return pa.string()
    if declared not in _ARROW:
        raise EngineError(f"column {field.name} cannot be read out of Spark: {declared}")
    return _ARROW[declared]


def spark_type(field: pa.Field) -> types.DataType:
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


def rows_of(table: pa.Table) -> Rows:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def without_zones(frame: DataFrame) -> DataFrame:
    """Moments as they read in UTC: PySpark turns those with a zone into the local time of the process."""
    named = frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))
    casts = {
        name: named[name].cast("timestamp_ntz")
        for name, field in zip(named.columns, frame.schema, strict=True)
        if isinstance(field.dataType, types.TimestampType)
    }
    return named.withColumns(casts) if casts else named


def record_batch(rows: list[Any], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
    arrays = [pa.array(list(values), field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def bound_value(value: Any) -> Any:
    """A bound value as Spark takes it: moments without a zone are UTC, as the session is."""
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        return value.replace(tzinfo=datetime.UTC)
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        return Decimal(value)
    return value
