"""A relation as people give it in a call: a table by its name, a SELECT, or a file of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.engines.outside import read_call, reader_of
from ppdm_sql.errors import EngineError, PolicyError
from ppdm_sql.policy.words import did_you_mean, printable
from ppdm_sql.source.faults import explain_text
from ppdm_sql.source.outside import bind_outside, reads_outside
from ppdm_sql.source.relation import match, reads_in_place
from ppdm_sql.source.tables import base_tables
from ppdm_sql.statements.names import Name, Word, column

_QUERY_WORDS = ("select", "with", "from", "values", "(")


def relation_of(engine: Engine, source: str) -> Name:
    """A table by its name, or a SELECT as a view; a SELECT that may give other rows next time is written down first."""
    text = source.strip().rstrip(";").strip()
    if not text.casefold().startswith(_QUERY_WORDS):
        name = name_of(engine, text)
        if engine.relation_kind(name) is None:
            raise PolicyError(f"table {name} does not exist")
        return name
    tree = _one_query(engine, text)
    tables = base_tables(engine, bind_outside(engine, tree))
    try:
        view = engine.work.view_of_text("model_source", text)
    except EngineError as error:
        raise explain_text(engine, error, text, None, tree) from error
    if reads_in_place(tree) and not reads_outside(tables):
        return view
    names = [column(info.name) for info in engine.columns(view)]
    return engine.work.table("model_snapshot", exp.Select(expressions=names).from_(view.table()), analyze=True)


def is_data_file(text: str) -> bool:
    """Whether a call names a file of rows that is there; people.csv.gz counts by its first ending."""
    return reader_of(text) is not None and Path(text).is_file()


def file_relation(engine: Engine, file: str) -> Name:
    """The rows of a file as a working table; only where the engine reads files."""
    reader = reader_of(file)
    if reader is None or not engine.reads_files:
        raise PolicyError(f"{engine.title} reads no files: load {printable(file)} into a table first")
    rows = read_call(reader, [str(Path(file).resolve())])
    try:
        return engine.work.table("file", exp.Select(expressions=[exp.Star()]).from_(rows), analyze=True)
    except EngineError as error:
        raise PolicyError(f"{printable(file)} cannot be read as {reader.removeprefix('READ_')}") from error


def _one_query(engine: Engine, text: str) -> exp.Expr:
    try:
        found = parse(text, dialect=engine.dialect)
    except SqlglotError:  # its text quotes the statement
        raise PolicyError("the SELECT cannot be parsed: is it complete?") from None
    if len(found) != 1 or not isinstance(found[0], exp.Query):
        raise PolicyError("expected one table or one SELECT")
    return found[0]


def name_of(engine: Engine, text: str) -> Name:
    """A relation's name as it is written in SQL: people, clinic.people, "odd name"."""
    try:
        found = exp.maybe_parse(text, into=exp.Table, dialect=engine.dialect)
    except SqlglotError:
        found = None
    if not isinstance(found, exp.Table) or not isinstance(found.this, exp.Identifier):
        raise PolicyError('expected the name of a table: people, clinic.people or "odd name"')
    if any(value for part, value in found.args.items() if part not in ("this", "db")):
        raise PolicyError("expected the name of a table and nothing else")
    parts = [part for part in (found.args.get("db"), found.this) if part is not None]
    return engine.name([Word(part.name, quoted=bool(part.args.get("quoted"))) for part in parts])


# -- columns -----------------------------------------------------------------------------------------------


def columns_named(there: Sequence[ColumnInfo], option: str, names: Sequence[str]) -> list[ColumnInfo]:
    """The columns that an option of a call names; an unknown one is refused with the nearest there is."""
    by_name = {info.name: info for info in there}
    return [by_name[exact_name(by_name, option, name)] for name in names]


def exact_name(there: Mapping[str, object], option: str, name: str) -> str:
    """A column's name as the table has it."""
    exact = match(Word(name), there)
    if exact is None:
        raise PolicyError(f"{option} {printable(name)}: no such column: {did_you_mean(name, there)}")
    return exact
