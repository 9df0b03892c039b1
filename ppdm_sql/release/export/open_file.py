"""An exported file as a relation: opened by a DuckDB that can see the file's folder and nothing else."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from sqlglot import exp

from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.words import many
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import aliased, column, identifier, stand_in

RELEASE = stand_in("release")
DATABASE = "ppdm_file"  # what a database file is attached as

# How a CSV column gets its type back; a type that is not named here stays text.
_TYPES = ("BIGINT", "INTEGER", "SMALLINT", "TINYINT", "HUGEINT", "DECIMAL", "NUMERIC", "DOUBLE", "FLOAT", "REAL",
          "BOOLEAN", "DATE", "TIMESTAMP", "INT", "STRING", "LONG")  # fmt: skip


@contextmanager
def open_export(path: Path, form: str, table: str, columns: Mapping[str, str]) -> Iterator[DuckDBEngine]:
    """The file as temporary view ppdm_release in a locked-down DuckDB, in which nothing else of the file is found."""
    with closing(DuckDBEngine.open(":memory:", allow=[str(path.parent)])) as engine:
        if form == "duckdb":
            attach_release(engine, path, [table])
        engine.view_of_text(RELEASE, release_query(str(path), form, table, columns).sql("duckdb"))
        yield engine


def attach_release(engine: DuckDBEngine, path: Path, tables: Sequence[str]) -> None:
    """Opens a database file that holds these tables and nothing else."""
    if os.path.lexists(f"{path}.wal"):  # it would be read as part of the file, and nobody hashed it
        raise PolicyError(f"{path.name}.wal is next to {path.name}: an export has no such file")
    engine.attach(str(path), DATABASE)
    _refuse_more(engine, path, [("table", "main", table) for table in tables])


def _refuse_more(engine: DuckDBEngine, path: Path, tables: Sequence[tuple[str, str, str]]) -> None:
    """Refuses a database file that holds anything but the released tables."""
    held = engine.fetch(statement("catalog/held_duckdb"), database=DATABASE)
    others = [(kind, schema, name) for kind, schema, name in held if (kind, schema, name) not in tables]
    if others:
        kinds = Counter(kind for kind, _, _ in others)
        told = ", ".join(many(kinds[kind], kind) for kind in sorted(kinds))
        raise PolicyError(
            f"{path.name} contains more than the released table: {told}.  An export contains nothing else"
        )
    if len(held) < len(tables):
        raise PolicyError(f"{path.name} does not contain the released table")


def release_query(path: str, form: str, table: str, columns: Mapping[str, str]) -> exp.Select:
    """The published columns, read from the file; path as the reader sees it."""
    picked: list[exp.Expr]
    if form == "csv":
        picked = [aliased(_column_value(name, declared), name) for name, declared in columns.items()]
    else:
        picked = [column(name) for name in columns]
    return exp.Select(expressions=picked).from_(_relation(path, form, table))


def _relation(path: str, form: str, table: str) -> exp.Expr:
    if form == "duckdb":  # by its full name: not through anything that the file defines
        return exp.Table(this=identifier(table), db=identifier("main"), catalog=identifier(DATABASE))
    options: dict[str, exp.Expr] = {}
    if form == "csv":
        # NULL has no quotes and an empty text has: they stay apart only with this option of the reader.
        options = {"header": exp.true(), "all_varchar": exp.true(), "allow_quoted_nulls": exp.false()}
    given = [exp.PropertyEQ(this=exp.Var(this=name), expression=value) for name, value in options.items()]
    call = exp.Anonymous(this=f"read_{form}", expressions=[exp.Literal.string(path), *given])
    return exp.Table(this=call)


def _column_value(name: str, declared: str) -> exp.Expr:
    head = declared.upper().split("(")[0].split(" ")[0]
    if head not in _TYPES or head in ("STRING", "LONG"):
        return column(name)
    return exp.cast(column(name), exp.DataType.build(declared, dialect="duckdb"))
