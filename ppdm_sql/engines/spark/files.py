"""A stored table read from its Parquet files: a look that costs Spark a job takes some milliseconds here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from ppdm_sql.engines.spark.types import arrow_type
from ppdm_sql.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql.types import StructField

_PLAIN = (pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.timestamp("us"), pa.timestamp("us", tz="UTC"))


def local_folder(location: str | None) -> Path | None:
    """The folder that a location names, where it is one of this machine.

    >>> local_folder("file:/srv/lake/data/ppdm.db"), local_folder("hdfs://host/lake"), local_folder(None)
    (PosixPath('/srv/lake/data/ppdm.db'), None, None)
    """
    if location is None:
        return None
    parts = urlsplit(location)
    return Path(unquote(parts.path)) if parts.scheme == "file" and parts.netloc == "" else None


def read_table(folder: Path, fields: Sequence[StructField], limit: int) -> pa.Table | None:
    """The rows of a table's files, or at least so many of them; None where there is more than plain Parquet files."""
    found: list[pa.Table] = []
    rows = 0
    try:
        schema = pa.schema([pa.field(field.name, arrow_type(field)) for field in fields])
        if any(field.type not in _PLAIN for field in schema):
            return None
        for path in sorted(folder.iterdir()):
            if path.name.startswith(("_", ".")):  # as Spark does: marks, checksums, what a killed run began
                continue
            made = _read_file(path, schema)
            if made is None:
                return None
            found.append(made)
            rows += made.num_rows
            if rows > limit:
                break
    except (OSError, pa.ArrowException, EngineError):
        return None
    return pa.concat_tables([schema.empty_table(), *found])


def _read_file(path: Path, schema: pa.Schema) -> pa.Table | None:
    if path.suffix != ".parquet":
        return None
    read = pq.ParquetFile(path, coerce_int96_timestamp_unit="us").read()
    if not set(read.column_names) <= set(schema.names):
        return None
    columns = [
        read[field.name].cast(field.type) if field.name in read.column_names else pa.nulls(read.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)
