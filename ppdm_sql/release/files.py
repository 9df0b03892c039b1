"""An exported file as a relation: opened by a DuckDB that can see the file's folder and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from sqlglot import exp

from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.statements.names import Name, aliased, column, own

RELEASE = own("ppdm_release")

# How a CSV column gets its type back; a type that is not named here stays text.
_TYPES = ("BIGINT", "INTEGER", "SMALLINT", "TINYINT", "HUGEINT", "DECIMAL", "NUMERIC", "DOUBLE", "FLOAT", "REAL",
          "BOOLEAN", "DATE", "TIMESTAMP", "INT", "STRING", "LONG")  # fmt: skip


@contextmanager
def opened(path: Path, form: str, table: str, columns: Mapping[str, str]) -> Iterator[DuckDBEngine]:
    """The file as temporary view ppdm_release in a locked-down DuckDB."""
    database = str(path) if form == "duckdb" else ":memory:"
    with closing(DuckDBEngine.open(database, read_only=form == "duckdb", allow=[str(path.parent)])) as engine:
        engine.view_of_text(RELEASE, release_query(str(path), form, table, columns).sql("duckdb"))
        yield engine


def release_query(path: str, form: str, table: str, columns: Mapping[str, str]) -> exp.Select:
    """The published columns, read from the file; path as the reader sees it."""
    picked: list[exp.Expr]
    if form == "csv":
        picked = [aliased(_typed(name, declared), name) for name, declared in columns.items()]
    else:
        picked = [column(name) for name in columns]
    return exp.Select(expressions=picked).from_(_relation(path, form, table))


def _relation(path: str, form: str, table: str) -> exp.Expr:
    if form == "duckdb":
        return Name(table).table()
    options: dict[str, exp.Expr] = {}
    if form == "csv":
        # NULL has no quotes and an empty text has: they stay apart only when the reader is told so.
        options = {"header": exp.true(), "all_varchar": exp.true(), "allow_quoted_nulls": exp.false()}
    given = [exp.PropertyEQ(this=exp.Var(this=name), expression=value) for name, value in options.items()]
    call = exp.Anonymous(this=f"read_{form}", expressions=[exp.Literal.string(path), *given])
    return exp.Table(this=call)


def _typed(name: str, declared: str) -> exp.Expr:
    head = declared.upper().split("(")[0].split(" ")[0]
    if head not in _TYPES or head in ("STRING", "LONG"):
        return column(name)
    return exp.cast(column(name), exp.DataType.build(declared, dialect="duckdb"))
