"""PostgreSQL's types: which kind of value they hold, and how values travel to and from Arrow exactly."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.postgres import types
from sqlglot import exp

from ppdm_sql.engines.base import Kind, Row
from ppdm_sql.engines.workspace import temporary_property
from ppdm_sql.errors import EngineError
from ppdm_sql.statements.names import Name, identifier

_KINDS = {
    Kind.INTEGER: "int2 int4 int8",
    Kind.DECIMAL: "numeric",
    Kind.FLOAT: "float4 float8",
    Kind.TEXT: "text varchar bpchar name char",
    Kind.BOOLEAN: "bool",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp timestamptz",
    Kind.UUID: "uuid",
}
_KIND_OF = {word: kind for kind, words in _KINDS.items() for word in words.split()}
_WIDEST_DECIMAL = 76  # digits of an Arrow decimal256


def kind_of(base: str, sort: str, schema: str, recast: bool = False) -> Kind:
    """The kind of a type, told by its catalog entry once domains are followed down.

    An enum whose owner defined a cast for it (recast) is not touched: casting it to text would run that
    function as the role that reads the table.  Only a superuser can make a base type such as citext.

    >>> kind_of("int4", "b", "pg_catalog"), kind_of("mood", "e", "public"), kind_of("citext", "b", "public")
    (<Kind.INTEGER: 'integer'>, <Kind.TEXT: 'text'>, <Kind.TEXT: 'text'>)
    >>> kind_of("_int4", "b", "pg_catalog"), kind_of("int4", "b", "mallory")
    (<Kind.UNSUPPORTED: 'unsupported'>, <Kind.UNSUPPORTED: 'unsupported'>)
    """
    if sort == "e" and not recast:
        return Kind.TEXT
    if base == "citext" and sort == "b":
        return Kind.TEXT
    if schema != "pg_catalog":
        return Kind.UNSUPPORTED
    return _KIND_OF.get(base, Kind.UNSUPPORTED)


# -- out: rows -> Python, Arrow --------------------------------------------------------------------------------


class SingleLoader(Loader):
    """A REAL as the number the database computes with: its text 0.1 stands for 0.10000000149011612."""

    def load(self, data: Buffer) -> float:
        single: float = struct.unpack("f", struct.pack("f", float(bytes(data))))[0]
        return single


Convert = Callable[[list[Any]], list[Any]]
_ARROW: dict[str, pa.DataType] = {
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "bool": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", tz="UTC"),
} | dict.fromkeys(("text", "varchar", "bpchar", "name", "char", "uuid"), pa.string())


class ArrowReader:
    """Turns the rows of one result into Arrow batches of the result's own types.

    Types outside pg_catalog have no fixed number: enums and citext travel as text, which a look at the
    catalog has to confirm (texts), because a range or a composite is sent in the same way.
    """

    def __init__(self, columns: Sequence[psycopg.Column], texts: frozenset[int]) -> None:
        fields, self._converts = [], []
        for column in columns:
            arrow, convert = _arrow_type(column, texts)
            fields.append(pa.field(column.name, arrow))
            self._converts.append(convert)
        self.schema = pa.schema(fields)

    def batch(self, rows: Sequence[Row]) -> pa.RecordBatch:
        values = zip(*rows, strict=True) if rows else ([] for _ in self._converts)
        arrays = [
            pa.array(convert(list(column)), field.type)
            for column, convert, field in zip(values, self._converts, self.schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def foreign_types(columns: Iterable[psycopg.Column]) -> list[int]:
    """The type numbers psycopg does not know by itself: enums, extension types, composites."""
    return [column.type_code for column in columns if types.get(column.type_code) is None]


def _arrow_type(column: psycopg.Column, texts: frozenset[int]) -> tuple[pa.DataType, Convert]:
    known = types.get(column.type_code)
    name = known.name.strip('"') if known is not None and known.oid == column.type_code else None
    if name == "numeric":
        return _decimal_type(column)
    if name in _ARROW:
        return _ARROW[name], _as_text if name == "uuid" else _as_it_is
    if column.type_code in texts:
        return pa.string(), _as_it_is
    raise EngineError(f"column {column.name} cannot be read out of PostgreSQL: {column.type_display}")


def _decimal_type(column: psycopg.Column) -> tuple[pa.DataType, Convert]:
    precision, scale = column.precision, column.scale
    if precision is None or scale is None or not 0 <= scale <= precision <= _WIDEST_DECIMAL:
        return pa.string(), _as_plain_digits  # no width is declared that would hold every value exactly
    return (pa.decimal128 if precision <= 38 else pa.decimal256)(precision, scale), _as_it_is


def _as_it_is(values: list[Any]) -> list[Any]:
    return values


def _as_text(values: list[Any]) -> list[Any]:
    return [None if value is None else str(value) for value in values]


def _as_plain_digits(values: list[Decimal | None]) -> list[str | None]:
    """One text per number: 1.0 and 1.00 are equal in the database and must not look apart outside."""
    return [None if value is None else _plain(value) for value in values]


def _plain(value: Decimal) -> str:
    """A number's shortest digits.

    >>> _plain(Decimal("1.00")), _plain(Decimal("-0")), _plain(Decimal("1200")), _plain(Decimal("NaN"))
    ('1', '0', '1200', 'NaN')
    """
    if not value.is_finite():
        return str(value)
    digits = format(value, "f")
    digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return "0" if digits in ("-0", "") else digits


# -- in: Arrow -> a table ------------------------------------------------------------------------------


def table_definition(name: Name, schema: pa.Schema, *, temporary: bool) -> exp.Create:
    """CREATE TABLE with the exact types of an Arrow table."""
    columns = [exp.ColumnDef(this=identifier(field.name), kind=_declared_type(field)) for field in schema]
    return exp.Create(
        this=exp.Schema(this=name.table(), expressions=columns),
        kind="TABLE",
        properties=temporary_property() if temporary else None,
    )


def copy_lines(batch: pa.RecordBatch) -> bytes:
    r"""Rows in the text form of COPY.

    >>> copy_lines(pa.record_batch({"n": [1, None], "text": ["a\tb\\", ""]}))
    b'1\ta\\tb\\\\\n\\N\t\n'
    """
    texts = []
    for column in batch.columns:
        text = column.cast(pa.string())
        if pa.types.is_string(column.type):
            for sign, escaped in _ESCAPED.items():
                text = pc.replace_substring(text, sign, escaped)
        texts.append(text)
    lines = pc.binary_join_element_wise(*texts, "\t", null_handling="replace", null_replacement="\\N")
    return "".join(f"{line}\n" for line in lines.to_pylist()).encode()


_ESCAPED = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}  # the backslash first


def _declared_type(field: pa.Field) -> exp.DataType:
    kind = field.type
    for fits, words in _DECLARED:
        if fits(kind):
            return exp.DataType.build(words, dialect="postgres")
    if pa.types.is_decimal(kind):
        return exp.DataType.build(f"DECIMAL({kind.precision}, {kind.scale})", dialect="postgres")
    if pa.types.is_timestamp(kind):
        return exp.DataType.build("TIMESTAMP" if kind.tz is None else "TIMESTAMPTZ", dialect="postgres")
    raise EngineError(f"column {field.name} cannot be loaded into PostgreSQL: {kind}")


_DECLARED: list[tuple[Callable[[pa.DataType], bool], str]] = [
    (pa.types.is_boolean, "BOOLEAN"),
    (pa.types.is_int16, "SMALLINT"),
    (pa.types.is_int32, "INT"),
    (pa.types.is_int64, "BIGINT"),
    (pa.types.is_float32, "REAL"),
    (pa.types.is_float64, "DOUBLE PRECISION"),
    (pa.types.is_date32, "DATE"),
    (pa.types.is_string, "TEXT"),
]
