"""What a query can read that is not stored in the open database: files, attached databases, data frames.

The ledger needs one name for each, however a query writes it:

file:/srv/in/people.parquet          a file, by its canonical path (symbolic links followed)
file:/srv/raw.duckdb main.people     a table of an attached DuckDB file, by that file and its own name
attached:crm.public.people           a table of any other attached database, by the name it is attached under
frame:people                         a data frame, by the name it is registered under
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path

from sqlglot import exp

from ppdm_sql.engines.columns import Outside
from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.names import identifier

_FILE, _ATTACHED, _FRAME = "file:", "attached:", "frame:"

_READER_OF_ENDING = {
    ".csv": "READ_CSV",
    ".tsv": "READ_CSV",
    ".parquet": "READ_PARQUET",
    ".json": "READ_JSON",
    ".jsonl": "READ_JSON",
}
_READERS = {
    "read_csv": "READ_CSV",
    "read_csv_auto": "READ_CSV",
    "read_parquet": "READ_PARQUET",
    "parquet_scan": "READ_PARQUET",
    "read_json": "READ_JSON",
    "read_json_auto": "READ_JSON",
    "read_ndjson": "READ_NDJSON",
}
# Options that say how a file is written.  Others read more files, store rejected lines or add columns of their own.
_OPTIONS = frozenset({
    *("all_varchar", "allow_quoted_nulls", "auto_detect", "auto_type_candidates", "binary_as_string", "columns"),
    *("column_types", "comment", "compression", "dateformat", "decimal_separator", "delim", "dtypes", "encoding"),
    *("escape", "force_not_null", "format", "header", "max_line_size", "maximum_depth", "maximum_object_size", "names"),
    *("new_line", "normalize_names", "null_padding", "nullstr", "quote", "records", "sample_size", "sep", "skip"),
    *("strict_mode", "thousands", "timestampformat", "types", "union_by_name"),
})  # fmt: skip
_LITERALS = (
    exp.Literal, exp.Boolean, exp.Null, exp.Neg, exp.Array, exp.Struct, exp.PropertyEQ, exp.Identifier, exp.Tuple,
    exp.ToMap, exp.Map,
)  # fmt: skip


def is_outside(title: str) -> bool:
    """Whether the ledger's name is that of something outside of the database."""
    return title.startswith((_FILE, _ATTACHED, _FRAME))


def reader_of(file: str) -> str | None:
    """The function that reads a file, by its ending; people.csv.gz counts by its first one.

    >>> reader_of("in/People.CSV.gz"), reader_of("people")
    ('READ_CSV', None)
    """
    name = Path(file).name.lower().removesuffix(".gz").removesuffix(".zst")
    return _READER_OF_ENDING.get(Path(name).suffix)


def read_call(reader: str, files: Sequence[str], options: Sequence[exp.Expr] = ()) -> exp.Table:
    """What reads files, in FROM."""
    texts = [exp.Literal.string(file) for file in files]
    listed = texts[0] if len(texts) == 1 else exp.Array(expressions=texts)
    return exp.Table(this=exp.Anonymous(this=reader, expressions=[listed, *options]))


# -- files -------------------------------------------------------------------------------------------------


def file_in_from(written: str, allowed: Collection[Path] | None) -> Outside | None:
    """A file that FROM names instead of a table; allowed: the folders that can be read, None: any."""
    reader = reader_of(written)
    if reader is None:
        return None
    return Outside(
        read_call(reader, [_canonical(written, allowed)]), _title([written]), Path(written).name.split(".")[0]
    )


def files_of_call(call: exp.Expr, allowed: Collection[Path] | None) -> Outside | None:
    """The files that a function of FROM reads; None for any other function."""
    word = _word_of(call)
    if word not in _READERS:
        return None
    given = [*([call.this] if isinstance(call, exp.ReadCSV) else []), *call.expressions]
    files = _file_names(given[0] if given else None, word)
    options = [_option(one, word) for one in given[1:]]
    paths = [_canonical(file, allowed) for file in files]
    return Outside(read_call(_READERS[word], paths, options), _title(files), word)


def _word_of(call: exp.Expr) -> str:
    """How DuckDB calls the function; the parser knows two of them."""
    if isinstance(call, exp.ReadCSV):
        return "read_csv"
    return "read_parquet" if isinstance(call, exp.ReadParquet) else call.name.casefold()


def _file_names(given: exp.Expr | None, word: str) -> list[str]:
    listed = given.expressions if isinstance(given, exp.Array) else [given]
    if not listed or not all(isinstance(one, exp.Literal) and one.is_string for one in listed):
        raise PolicyError(
            f"{word} in a policy takes the name of a file, or a list of names, as texts: ['a.csv', 'b.csv']"
        )
    return [one.name for one in listed if one is not None]


def _option(given: exp.Expr, word: str) -> exp.Expr:
    name = given.this.name.casefold() if isinstance(given, exp.EQ | exp.PropertyEQ) else ""
    if name not in _OPTIONS:
        shown = name if name.isidentifier() else "an argument"
        raise PolicyError(f"{word} in a policy cannot have {shown}: only options that say how the file is written")
    value = given.args["expression"]
    if not all(isinstance(part, _LITERALS) for part in value.walk()):
        raise PolicyError(f"{word}: option {name} must be a plain value")
    return exp.EQ(this=exp.Var(this=name), expression=value.copy())


def _canonical(written: str, allowed: Collection[Path] | None) -> str:
    """The path of a file that may be read, symbolic links followed."""
    shown = written if written.isprintable() else "a file with control characters in its name"
    if not written.isprintable() or not written:
        raise PolicyError(f"{shown or 'a file without a name'} cannot be read: rename it")
    if re.match(r"\w+:", written):
        raise PolicyError(f"{shown} is a URL: download the file into a folder, and open that with --allow")
    if re.search(r"[*?\[{]", written) or written.startswith("~"):
        raise PolicyError(f"{shown} is a pattern: name each file, read_parquet(['a.parquet', 'b.parquet'])")
    path = os.path.realpath(written)
    if allowed is not None and not any(Path(path).is_relative_to(folder) for folder in allowed):
        raise PolicyError(
            f"{shown} is in no folder that was opened for reading: add --allow DIR (allow=[DIR] in Python)"
        )
    if not os.path.isfile(path):
        raise PolicyError(f"file {shown} does not exist" + (": it is a folder" if os.path.isdir(path) else ""))
    return path


def _title(files: Sequence[str]) -> str:
    """Several files are one relation; the ledger names each of them (titles_of)."""
    return "\n".join(sorted({f"{_FILE}{os.path.realpath(file)}" for file in files}))


def titles_of(title: str) -> list[str]:
    """The names in the ledger that a relation of several files has."""
    return title.split("\n")


# -- attached databases and frames -------------------------------------------------------------------------


def attached_table(database: str, path: str | None, kind: str, schema: str, table: str) -> Outside:
    """A table of an attached database; the place of any other than a DuckDB file can hold a password."""
    rows = exp.Table(this=identifier(table), db=identifier(schema), catalog=identifier(database))
    own = f"{schema}.{table}".casefold()
    where = f"{_FILE}{os.path.realpath(path)} " if kind == "duckdb" and path else f"{_ATTACHED}{database.casefold()}."
    return Outside(rows, f"{where}{own}", table)


def frame_title(name: str) -> str:
    return f"{_FRAME}{name.casefold()}"


_SCANS = frozenset({"pandas_scan", "python_arrow_scan", "arrow_scan"})


def is_frame(query: exp.Expr | None) -> bool:
    """Whether the query of a temporary view is what DuckDB's register() makes."""
    return query is not None and any(call.name.casefold() in _SCANS for call in query.find_all(exp.Anonymous))
