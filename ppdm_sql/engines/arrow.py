"""What engines without Arrow of their own share: Arrow tables made plain, and columns made numpy."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from ppdm_sql.errors import EngineError

_SIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20, 0)}


def plain_table(table: pa.Table | pa.RecordBatchReader) -> pa.Table:
    """The same values in the types every engine has: signed, microseconds, no dictionaries.

    A dictionary's labels could hold values no row has; nanoseconds that would be rounded are refused.
    """
    if isinstance(table, pa.RecordBatchReader):
        table = table.read_all()
    fields = [field.with_type(_plain_type(field.type)) for field in table.schema]
    columns = []
    for field, column in zip(fields, table.columns, strict=True):
        try:
            columns.append(column.cast(field.type))
        except pa.ArrowInvalid:  # its text quotes the value
            raise EngineError(f"column {field.name} cannot be stored exactly as {field.type}") from None
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz=kind.tz)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_date64(kind):
        return pa.date32()
    if pa.types.is_float16(kind):
        return pa.float32()
    return _SIGNED.get(kind, pa.int16() if kind == pa.int8() else kind)


def numpy_column(name: str, values: Sequence[Any]) -> np.ndarray:
    """A numeric column without NULLs; sums that come as decimals are integers again when they are whole.

    >>> numpy_column("n", [Decimal(3), Decimal("4.0")]), numpy_column("x", [Decimal("0.5")])
    (array([3, 4]), array([0.5]))
    """
    if any(value is None for value in values):
        raise EngineError(f"column {name} holds NULL where numbers were expected")
    if values and isinstance(values[0], Decimal):
        if all(value.is_finite() and value == value.to_integral_value() for value in values):
            return _integers([int(value) for value in values])
        return np.array([float(value) for value in values], dtype=np.float64)
    if values and isinstance(values[0], int) and not isinstance(values[0], bool):
        return _integers(values)
    return np.array(values)


def _integers(values: Sequence[int]) -> np.ndarray:
    wide = any(not -(1 << 63) <= value < 1 << 63 for value in values)
    return np.array(values, dtype=np.float64 if wide else np.int64)
