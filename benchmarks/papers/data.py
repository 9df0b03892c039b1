"""The papers' public tables from a folder of CSV files; MANIFEST.json there says which type each column has."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.names import Name

MANIFEST = "MANIFEST.json"
ROW = "row_number"  # a column that identifies rows, for those who deal them out


def load(
    engine: Engine,
    folder: Path,
    files: Sequence[str],
    into: Name,
    *,
    columns: Sequence[str] = (),
    known: Sequence[str] = (),
    most: int | None = None,
) -> list[str]:
    """Stores the rows of some files of one form, and ROW next to them, in a working table; gives the columns.

    known: rows with a missing value in one of these columns are left out.  most: only so many, spread evenly.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv

    types = _types(folder, files[0])
    names = list(columns or types)
    convert = pyarrow.csv.ConvertOptions(
        column_types=types, include_columns=names, null_values=[""], strings_can_be_null=True
    )
    table = pa.concat_tables([pyarrow.csv.read_csv(folder / file, convert_options=convert) for file in files])
    for name in known:
        table = table.filter(table[name].is_valid())
    if most is not None and most < table.num_rows:
        table = table.take(np.linspace(0, table.num_rows - 1, most).astype(np.int64))
    engine.load(into, table.append_column(ROW, pa.array(np.arange(table.num_rows), pa.int64())))
    engine.analyze(into)
    return names


def _types(folder: Path, file: str) -> dict[str, object]:
    import pyarrow as pa

    kinds = {"BIGINT": pa.int64(), "DOUBLE": pa.float64(), "VARCHAR": pa.string()}
    listed = json.loads((folder / MANIFEST).read_text("utf-8"))["datasets"]
    entry = next((one for one in listed if one["file"] == file), None)
    if entry is None:
        raise PolicyError(f"{MANIFEST} does not describe {file}")
    return {column["name"]: kinds[column["sql_type"]] for column in entry["columns"]}
