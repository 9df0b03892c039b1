"""A bare DuckDB connection that has read sql/analyst/ppdm.sql and nothing else, and random tables to measure."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from . import naive

ROOT = Path(__file__).resolve().parents[2]
MACROS = (ROOT / "sql" / "analyst" / "ppdm.sql").read_text(encoding="utf-8")

# The texts of a pool are different values as DuckDB prints them, in the order DuckDB sorts them.  What differs by
# a letter's case, an accent, an invisible character, a sign of zero or the last digit must stay different.
POOLS: dict[str, list[str]] = {
    "INTEGER": ["-1", "0", "1", "2", "34", "51"],
    "HUGEINT": ["-1", "0", "9007199254740992", "9007199254740993", "170141183460469231731687303715884105727"],
    "DECIMAL(38, 18)": ["-0.000000000000000001", "1.000000000000000001", "1.000000000000000002"],
    "DOUBLE": ["-inf", "-0.0", "0.0", "1e-320", "0.1", "0.30000000000000004", "inf", "nan"],
    "DATE": ["1999-12-31", "2000-01-01", "2000-02-29"],
    "TIMESTAMP_NS": ["2000-01-01 00:00:00.000000001", "2000-01-01 00:00:00.000000002"],
    "BOOLEAN": ["false", "true"],
    "BLOB": ["", "\\x00", "A", "a", "\\xFF"],
    "VARCHAR": ["", " ", "*", "A", "NULL", "a", "a ", "a\u0301", "a\u200b", "\u00e1", "\U0001f600"],
    "VARCHAR COLLATE NOCASE": ["A", "a", "B", "b", "i", "\u0130", "stra\u00dfe"],
    "VARCHAR COLLATE NOACCENT": ["a", "a\u0301", "\u00e1", "e"],
}

NAMES = [
    "age", "zip", "AGE group", 'o"brien', "it's", "select", "a.b", " ", "*", "\U0001f600", "\u00c4", "\u00e4",
    "a\\0b", "\\",
    "table_name", "qis", "sensitive", "k", "l", "rows", "classes", "size", "count",
    "ppdm_size", "ppdm_size_1", "ppdm_share", "ppdm_count", "ppdm_value", "ppdm_text", "ppdm_text_age", "ppdm_text_k",
    "ppdm_name", "ppdm_qi", "ppdm_id", "ppdm_rows", "ppdm_total", "ppdm_x", "ppdm_distinct", "ppdm_groups",
    '"; DROP TABLE people; --',
]  # fmt: skip
TABLES = [
    "people", "order", 'a "table"', "my.table", "x.csv", "o'clock", "\U0001f600",
    "ppdm_groups", "ppdm_cells", "ppdm_values", "ppdm_texts", "table_name",
]  # fmt: skip


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(value: object) -> str:
    """A macro's argument.  Bound parameters work too, but DuckDB then plans everything twice."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "[" + ", ".join(map(literal, value)) + "]" if isinstance(value, list) else str(value)


def call(macro: str, *arguments: object, nulls: bool = False) -> str:
    """A call of a macro; nulls: NULL in the sensitive column counts as a value."""
    reading = ["nulls_as_value := true"] if nulls else []
    return f"{macro}({', '.join([*map(literal, arguments), *reading])})"


@dataclass(frozen=True)
class Sample:
    """A table in a schema of its own and the same rows as texts; the last column is the sensitive one."""

    seed: int
    schema: str
    table: str  # as the macros take it
    columns: list[str]
    types: list[str]
    rows: list[naive.Row]

    @property
    def qis(self) -> list[str]:
        return self.columns[:-1]

    @property
    def sensitive(self) -> str:
        return self.columns[-1]

    @property
    def places(self) -> range:
        return range(len(self.columns) - 1)

    @property
    def last(self) -> int:
        return len(self.columns) - 1


def load(
    con: duckdb.DuckDBPyConnection, table: str, columns: Sequence[str], types: Sequence[str], rows: Sequence
) -> str:
    """Fill a new table from texts; its name as the macros take it."""
    name = quoted(table)
    defined = ", ".join(f"{quoted(column)} {kind}" for column, kind in zip(columns, types, strict=True))
    con.execute(f"CREATE OR REPLACE TABLE {name} ({defined})")
    casts = ", ".join(f"?::{kind.split(' COLLATE')[0]}" for kind in types)
    if rows:
        values = ", ".join(f"({casts})" for _ in rows)
        con.execute(f"INSERT INTO {name} VALUES {values}", [cell for row in rows for cell in row])
    return name


@pytest.fixture
def con():
    with duckdb.connect() as bare:
        bare.execute(MACROS)
        yield bare


@pytest.fixture(scope="package")
def shared():
    """One connection for all random tables: the macros only read."""
    with duckdb.connect(config={"threads": 1}) as bare:  # the tables are tiny
        bare.execute(MACROS)
        yield bare


@pytest.fixture(scope="package")
def sample_of(shared):
    """sample_of(seed) -> a random table with repeated rows, NULLs, ties, odd values and odd names."""

    @functools.cache
    def build(seed: int) -> Sample:
        draw = random.Random(seed)
        width = draw.choice([2, 2, 3, 3, 4, 5])
        columns = draw.sample(NAMES, width)
        types = draw.choices(list(POOLS), k=width)
        cells = [[*draw.sample(POOLS[kind], draw.randint(1, min(3, len(POOLS[kind])))), None] for kind in types]
        cells[-1] = [*POOLS[types[-1]][: draw.randint(1, 8)], None]
        if draw.random() < 0.4:  # some tables have no NULL
            cells = [pool[:-1] for pool in cells]
        weights = [[draw.choice([1, 1, 5]) for _ in pool] for pool in cells]
        height = draw.choice([1, 2, 8, 30, 80])
        pairs = list(zip(cells, weights, strict=True))
        rows = [tuple(draw.choices(pool, weight)[0] for pool, weight in pairs) for _ in range(height)]
        schema = f"sample_{seed}"
        # Unqualified names, so that a table may be called like something inside a macro.
        shared.execute(f"CREATE SCHEMA {schema}; SET search_path = '{schema},main'")
        return Sample(seed, schema, load(shared, draw.choice(TABLES), columns, types, rows), columns, types, rows)

    return build
