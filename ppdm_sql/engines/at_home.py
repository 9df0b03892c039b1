"""A few rows brought into this process, for questions that cost their engine more than the rows are worth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pyarrow as pa
from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.statements.names import Name

MOST_ROWS = 200_000  # that are worth it


@contextmanager
def bring_home(engine: Engine, query: exp.Select) -> Iterator[tuple[Engine, Name]]:
    """An embedded DuckDB with its own memory limit and private folder, and the table in it that has the rows."""
    rows = engine.fetch(query)
    columns = zip(*rows, strict=True) if rows else ([] for _ in query.named_selects)
    table = pa.table(dict(zip(query.named_selects, map(list, columns), strict=True)))
    with closing(DuckDBEngine.open(":memory:", memory_limit="1GB")) as home, home.workspace() as work:
        yield home, work.load("home", table)
