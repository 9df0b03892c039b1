"""DuckDB's errors in our words.  Its text is quoted only where it speaks of names, never of values."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

from ppdm_sql.engines.columns import without_labels
from ppdm_sql.errors import DatabaseUnavailable, EngineError, Fault

_FAILED_WRITES = ("No space left", "Could not write", "Failed to write", "File too large", "Could not truncate")
_ABOUT_NAMES = (duckdb.ParserException, duckdb.CatalogException, duckdb.BinderException)
_ABOUT_VALUES = {
    duckdb.ConversionException: "a value cannot be converted to the type it is cast to",
    duckdb.OutOfRangeException: "a number is out of the range of its type",
    duckdb.ConstraintException: "a constraint of the table is violated",
}

_SYNTAX = re.compile(r'syntax error at or near "(.+)"$')
_COLUMN = re.compile(
    r'Referenced column "(?P<a>.+)" not found|does not have a column (?:named|with name) "(?P<b>.+)"'
    r"|Referenced update column (?P<c>.+) not found|Column with name (?P<d>.+) does not exist"
)
_TABLE = re.compile(r'Table with name (?P<a>.+) does not exist|Referenced table "(?P<b>.+)" not found')
_CONSTRAINT = re.compile(
    r"^Constraint Error: (?:NOT NULL constraint failed: (?P<a>\S+)$"
    r'|CHECK constraint failed on table "(?P<b>[^"]+)" with)'
)
_MARKED = re.compile(r"^(LINE (\d+): )(.*)\n( *)(\^+)", re.MULTILINE)


def explanation(cause: duckdb.Error, sql: str, files: tuple[Path, ...] = ()) -> EngineError:
    """The error in our words; files: what this session writes, the database first."""
    text = str(cause)
    if isinstance(cause, duckdb.PermissionException):
        return EngineError("file access is limited to the folders given with --allow", sql=sql)
    if isinstance(cause, _ABOUT_NAMES):
        return EngineError(_without_kind(text), sql=sql, fault=_fault_of_names(cause, sql))
    if isinstance(cause, duckdb.OutOfMemoryException):
        return EngineError("DuckDB ran out of memory: raise --memory-limit or free space for spilling", sql=sql)
    # A full disk that shows at COMMIT comes as a TransactionException around the IOException.
    if isinstance(cause, duckdb.IOException) or any(sign in text for sign in _FAILED_WRITES):
        return _failed_write(text, sql, files)
    if "single attached database" in text:
        return EngineError("a release is stored in the open database, not in one that is attached to it", sql=sql)
    if isinstance(cause, duckdb.TransactionException):
        return DatabaseUnavailable("the transaction was refused: another one changed the same relation", sql=sql)
    if isinstance(cause, duckdb.InvalidInputException) and "read-only" in text:
        return DatabaseUnavailable("the database is open read-only", sql=sql)
    if line := re.match(r"[\w ]+ Error: CSV Error on Line: (\d+)", text):
        where = f"line {line[1]} of a CSV file cannot be read with the columns and types of the file"
        return EngineError(f"{where}: mend it, or name the types in read_csv (columns = ...)", sql=sql)
    told = next((told for kind, told in _ABOUT_VALUES.items() if isinstance(cause, kind)), None)
    told = told or f"DuckDB refused a statement ({type(cause).__name__})"
    return EngineError(told, sql=sql, fault=_fault_of_values(cause, sql))


def _without_kind(text: str) -> str:
    """The first line without the name of the exception in front.

    >>> _without_kind('Binder Error: column "id" must appear in the GROUP BY clause')
    'column "id" must appear in the GROUP BY clause'
    """
    return without_labels(re.sub(r"^\w[\w ]* Error: ", "", text.splitlines()[0]))


def _failed_write(text: str, sql: str, files: tuple[Path, ...]) -> EngineError:
    full = "no space left" in text.lower() or "disk" in text.lower()
    why = "the disk is full" if full else "reading or writing a file failed: is the disk full?"
    named = re.search(r'file "([^"]+)"', text)
    ours = next((file for file in files if named and named[1].startswith(str(file))), files[0] if files else None)
    where = f" ({named[1] if named and named[1].startswith(str(ours)) else ours})" if ours else ""
    return DatabaseUnavailable(f"{why}{where}.  The transaction was rolled back; the database is unchanged", sql=sql)


def _fault_of_names(cause: duckdb.Error, sql: str) -> Fault:
    first = str(cause).splitlines()[0]
    offset, length = _caret(str(cause), sql)
    if isinstance(cause, duckdb.ParserException):
        near = _SYNTAX.search(first)
        return Fault("syntax", near[1] if near else None, offset, length)
    if found := _COLUMN.search(first):
        return Fault("column", next(filter(None, found.groups())), offset, length)
    if found := _TABLE.search(first):
        return Fault("table", next(filter(None, found.groups())), offset, length)
    return Fault("other", None, offset, length)


def _fault_of_values(cause: duckdb.Error, sql: str) -> Fault:
    detail = str(cause).splitlines()[0]
    if isinstance(cause, duckdb.ConstraintException):
        named = _CONSTRAINT.search(detail)
        return Fault("constraint", next(filter(None, named.groups()), None) if named else None, detail=detail)
    offset, length = _caret(str(cause), sql)
    return Fault("value", None, offset, length, detail)


def _caret(text: str, sql: str) -> tuple[int | None, int]:
    r"""Where the caret below the quoted line points, as an offset in the statement, and how much it marks.

    >>> _caret("Error: no\n\nLINE 2: FROM patient\n             ^^^^^^^", "SELECT 1\nFROM patient")
    (14, 7)
    >>> _caret("No\n\nLINE 1: ...ients WHERE a = x...\n                       ^", "FROM patients WHERE a = x + 1")
    (20, 1)
    """
    found = _MARKED.search(text)
    lines = sql.split("\n")
    if found is None or int(found[2]) > len(lines):
        return None, 0
    shown, at = found[3], len(found[4]) - len(found[1])
    line = lines[int(found[2]) - 1]
    if shown.startswith("...") and not line.startswith("..."):
        shown, at = shown[3:], at - 3
    start = line.find(shown.removesuffix("..."))
    if start < 0 or at < 0:
        return None, 0
    before = sum(len(earlier) + 1 for earlier in lines[: int(found[2]) - 1])
    return before + start + at, len(found[5])
