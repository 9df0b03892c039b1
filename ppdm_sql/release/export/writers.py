"""How rows become a file: DuckDB, Parquet or CSV, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    Batches = Iterable[pa.RecordBatch]


def write(
    form: str,
    path: Path,
    table: str,
    batches: Batches,
    *,
    comment: str | None = None,
    notes: Mapping[str, str] | None = None,
    storage_version: str | None = None,
) -> None:
    """Writes the batches into a new file of this format.

    A database also gets the comment of its table and the notes of its columns; storage_version: the least DuckDB that
    can read it.
    """
    schema, rows = _schema_and_rows(batches)
    if form == "duckdb":
        _write_duckdb(path, table, schema, rows, storage_version)
        _comment_duckdb(path, table, comment, notes or {})
        return
    {"parquet": _write_parquet, "csv": _write_csv}[form](path, table, schema, rows)


def _schema_and_rows(batches: Batches) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    rows = iter(batches)
    first = next(rows)
    return first.schema, chain([first], rows)


def _write_duckdb(
    path: Path, table: str, schema: pa.Schema, rows: Iterator[pa.RecordBatch], storage_version: str | None
) -> None:
    import pyarrow as pa
    from sqlglot import exp

    from ppdm_sql.engines.duckdb import DuckDBEngine
    from ppdm_sql.statements.names import Name

    with DuckDBEngine.open(str(path), create=True, storage_version=storage_version) as engine:
        engine.load(Name(table), pa.RecordBatchReader.from_batches(schema, rows), temporary=False)
        engine.execute(exp.Command(this="CHECKPOINT"))


def _comment_duckdb(path: Path, table: str, comment: str | None, notes: Mapping[str, str]) -> None:
    from sqlglot import exp

    from ppdm_sql.engines.duckdb import DuckDBEngine
    from ppdm_sql.statements.names import Name

    with DuckDBEngine.open(str(path)) as engine:
        if comment is not None:
            engine.comment(Name(table), "table", comment)
        engine.comment_columns(Name(table), "table", notes)
        engine.execute(exp.Command(this="CHECKPOINT"))


def _write_parquet(path: Path, table: str, schema: pa.Schema, rows: Iterator[pa.RecordBatch]) -> None:
    import pyarrow.parquet as pq

    # No Arrow schema in the footer: it would tell which engine types the source had.
    with pq.ParquetWriter(path, schema, compression="zstd", store_schema=False) as writer:
        for batch in rows:
            writer.write_batch(batch)


def _write_csv(path: Path, table: str, schema: pa.Schema, rows: Iterator[pa.RecordBatch]) -> None:
    from pyarrow import csv

    # Every value in quotes and NULL without: an empty text and a missing one stay apart.
    with csv.CSVWriter(path, schema, write_options=csv.WriteOptions(quoting_style="all_valid")) as writer:
        for batch in rows:
            writer.write_batch(batch)
