"""Reads a written hierarchy: a CSV file next to the policy, or a table of the database.

Both give the same lines, value;level1;...;*.  A file is input from many hands: it is bounded before it
is read, never guessed at, and none of its text comes back in a message.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from sqlglot import exp

from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.policy.policy import HierarchyFile, HierarchyTable
from ppdm_sql.source.hierarchy_check import MOST_LEVELS, UnreadableError, plural
from ppdm_sql.source.leaves import leaf_text
from ppdm_sql.statements.names import column

MOST_BYTES = 64 * 1024 * 1024
MOST_LINES = 1_000_000
MOST_CHARACTERS = 100_000  # of one line


# -- a file --------------------------------------------------------------------------------------------


def file_lines(source: HierarchyFile, folder: Path | None) -> list[list[str]]:
    """The lines of a CSV file: UTF-8, semicolons, no header, blank lines skipped."""
    text = _file_text(_locate(source.path, folder))
    reader = csv.reader(_bounded_lines(text), delimiter=";", strict=True)
    lines: list[list[str]] = []
    try:
        for cells in reader:
            if cells:
                lines.append(cells)
            if len(lines) > MOST_LINES:
                raise UnreadableError(f"it has more than {MOST_LINES:,} lines")
    except csv.Error as cause:
        raise UnreadableError(f"line {reader.line_num} is not valid CSV: check its quotes") from cause
    return lines


def _locate(written: str, folder: Path | None) -> Path:
    """The file a policy means.

    A relative path stays below the folder of the policy, links followed: a policy that came from
    elsewhere cannot climb out by `..` or a link.  To read from another place the policy has to say
    so, with an absolute path that its reviewer sees.
    """
    try:
        path = Path(written)
        if path.is_absolute():
            return path.resolve()
        if folder is None:
            raise UnreadableError("a relative path needs the folder of a policy file: give an absolute path")
        base = folder.resolve()
        located = (base / path).resolve()
    except (OSError, ValueError, RuntimeError) as cause:  # a NUL, a name too long, a loop of links
        raise UnreadableError("it is not the path of a file") from cause
    if not located.is_relative_to(base):
        raise UnreadableError("the path leaves the folder of the policy: if that is intended, give an absolute path")
    return located


def _file_text(path: Path) -> str:
    try:
        if not path.exists():
            raise UnreadableError("the file does not exist")
        if not path.is_file():
            raise UnreadableError("it is not a regular file")
        with path.open("rb") as handle:
            content = handle.read(MOST_BYTES + 1)
    except OSError as cause:
        raise UnreadableError("the file cannot be read") from cause
    if len(content) > MOST_BYTES:
        raise UnreadableError(f"the file is larger than {MOST_BYTES // 1024 // 1024} MB")
    try:
        text = content.decode("utf-8-sig")  # spreadsheets put a byte order mark first
    except UnicodeDecodeError as cause:
        line = content.count(b"\n", 0, cause.start) + 1
        raise UnreadableError(f"line {line} is not UTF-8") from cause
    if "\0" in text:
        raise UnreadableError("the file is not text: it has NUL characters (UTF-16?)")
    return text


def _bounded_lines(text: str) -> Iterator[str]:
    """The physical lines; one of 64 million semicolons would become as many cells."""
    for number, line in enumerate(io.StringIO(text, newline=""), start=1):
        if len(line) > MOST_CHARACTERS:
            raise UnreadableError(f"line {number} is longer than {MOST_CHARACTERS:,} characters")
        yield line


# -- a table -------------------------------------------------------------------------------------------


def table_lines(source: HierarchyTable, engine: Engine) -> list[list[str]]:
    """The rows of a table or view: first column the value, then one column per level."""
    try:
        name = engine.name(source.name)
    except ValueError as cause:
        raise UnreadableError("a table's name must be table or schema.table") from cause
    columns = engine.columns(name)
    if not columns:
        raise UnreadableError("the table does not exist")
    if len(columns) > MOST_LEVELS + 1:
        raise UnreadableError(f"it has more than {MOST_LEVELS} levels")
    nested = [info.name for info in columns if info.kind is Kind.UNSUPPORTED]
    if nested:
        raise UnreadableError(*(f'its column "{title}" has a type that cannot be a label' for title in nested))
    picked = exp.Select(expressions=[column(info.name) for info in columns]).from_(name.table())
    rows = engine.fetch(picked.limit(MOST_LINES + 1))
    if len(rows) > MOST_LINES:
        raise UnreadableError(f"it has more than {MOST_LINES:,} rows")
    holes = [sum(row[place] is None for row in rows) for place in range(len(columns))]
    if any(holes):
        told = ((info.name, plural(number, "row")) for info, number in zip(columns, holes, strict=True) if number)
        raise UnreadableError(*(f'its column "{title}" is NULL in {count}' for title, count in told))
    return [[leaf_text(cell) for cell in row] for row in rows]
