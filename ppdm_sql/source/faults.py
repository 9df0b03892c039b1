"""What a database refuses of a user's text: reported with its place and the nearest names, never with a value."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import EngineError, PolicyError, PpdmError, UnknownColumn
from ppdm_sql.policy.effects import effects_of
from ppdm_sql.policy.options import at
from ppdm_sql.policy.places import only_known_words, place_in, place_of, without_texts
from ppdm_sql.policy.policy import Place
from ppdm_sql.policy.words import nearest, printable
from ppdm_sql.statements.names import Name, Word, aliased, column

_VALUE = "ppdm_value"
_ABOUT_COLUMNS = ("distinct", "group", "qualify", "order")  # where these stand, a query without its columns is another


def explain_text(
    engine: Engine, error: EngineError, text: str, place: Place | None, tree: exp.Expr | None
) -> PpdmError:
    """The error about a name or the syntax of a text, with its place; any other error as it is.

    tree: the text as it was parsed, for the names it could have meant.
    """
    fault = error.fault
    if fault is None or fault.kind in ("value", "constraint"):
        return error
    here = _place_of_fault(error, text, place)
    file = here.file if here else None
    match fault.kind:
        case "syntax" if fault.name:
            return PolicyError(at(here, f"syntax error near {printable(fault.name)}"), file=file)
        case "table" if fault.name:
            return PolicyError(at(here, no_table(engine, fault.name)), file=file)
        case "column" if fault.name:
            told = no_column(fault.name, readable_columns(engine, tree))
            return UnknownColumn([fault.name], at(here, told), file=file)
    return PolicyError(at(here, f"{engine.title} refuses this: {only_known_words(str(error), text)}"), file=file)


def no_table(engine: Engine, written: str) -> str:
    """That a table is not there, and the one that was probably meant."""
    schema, _, name = written.rpartition(".")
    near = nearest(name, engine.relations(schema or None))
    return f"table {printable(written)} does not exist" + (f": did you mean {near}?" if near else "")


def no_column(name: str, known: list[str]) -> str:
    """That a column is not there, and the one that was probably meant."""
    near = nearest(name, known)
    return f'column "{printable(name)}" does not exist' + (f': did you mean "{near}"?' if near else "")


def readable_columns(engine: Engine, tree: exp.Expr | None) -> list[str]:
    """The columns of the tables a text names; columns that PIVOT makes out of data are values and not among them."""
    found: dict[str, None] = {}
    for table in tree.find_all(exp.Table) if tree is not None else ():
        if not isinstance(table.this, exp.Identifier) or table.args.get("catalog"):
            continue
        parts = [part for part in (table.args.get("db"), table.this) if part is not None]
        with suppress(PpdmError):
            name = engine.name([Word(part.name, quoted=bool(part.args.get("quoted"))) for part in parts])
            found.update(dict.fromkeys(info.name for info in engine.columns(name)))
    return list(found)


def _place_of_fault(error: EngineError, text: str, place: Place | None) -> Place | None:
    """Where the engine points; our own words in front of the text, such as CREATE VIEW x AS, are not counted."""
    offset = None if error.fault is None else error.fault.offset
    if place is None or offset is None or not (error.sql or "").endswith(text):
        return place
    offset -= len(error.sql or "") - len(text)
    return place_in(place, text, offset) if 0 <= offset <= len(text) else place


def explain_statement(
    engine: Engine, error: EngineError, text: str, place: Place, *, show_values: bool = False
) -> PpdmError:
    """The error about a statement of ordinary SQL."""
    tree = effects_of(text, engine.dialect).tree
    explained = explain_text(engine, error, text, place, tree)
    if explained is error:
        return explain_values(engine, error, text, place, tree, show_values=show_values)
    return explained


# -- values ----------------------------------------------------------------------------------------------


def explain_values(
    engine: Engine, error: EngineError, text: str, place: Place | None, tree: exp.Expr | None, *,
    is_query: bool = False, show_values: bool = False,
) -> EngineError:  # fmt: skip
    """The error about a value, with the expression and the column that it stands in.

    is_query: the text is a query, each column of which can be tried alone.
    """
    fault = error.fault
    if fault is None or fault.kind not in ("value", "constraint"):
        return error
    if fault.kind == "constraint":
        here, what = place, _constraints(engine, fault.name, tree)
    elif is_query and tree is not None:
        here, what = _failing_part(engine, text, place, tree)
    else:
        here, what = _place_of_fault(error, text, place), _marked_part(error, text, tree)
    value = f" ({fault.detail})" if show_values and fault.detail else ""
    where = f"{_shown_place(here)}: " if here is not None else ""
    return type(error)(f"{where}{what}{error}{value}", sql=error.sql)


def _shown_place(place: Place) -> str:
    return ":".join(str(part) for part in (place.file, place.line, place.column) if part is not None)


def _constraints(engine: Engine, named: str | None, tree: exp.Expr | None) -> str:
    target = tree.find(exp.Table) if isinstance(tree, exp.Insert | exp.Update | exp.Merge) else None
    table = None if target is None else target.name
    if named is not None and named != table:
        return f"{printable(named)}: "
    known = [] if target is None else engine.constraints(engine.name([Word(target.name)]))
    # Of a CHECK the database names the table, of a key nothing.
    known = [one for one in known if one.startswith("CHECK") == (named is not None)]
    told = ", ".join(without_texts(one) for one in known)
    return "" if table is None else f"{printable(table)}{f' ({told})' if told else ''}: "


def _marked_part(error: EngineError, text: str, tree: exp.Expr | None) -> str:
    """The expression that the engine points at, or every cast there is."""
    fault = error.fault
    if fault is not None and fault.offset is not None and fault.length > 1 and error.sql == text:
        return f"{without_texts(text[fault.offset : fault.offset + fault.length])}: "
    casts = [without_texts(one.sql()) for one in tree.find_all(exp.Cast)] if tree is not None else []
    return f"{' or '.join(dict.fromkeys(casts))}: " if casts else ""


def _failing_part(engine: Engine, text: str, place: Place | None, tree: exp.Expr) -> tuple[Place | None, str]:
    """Which column of a query fails, found by reading each alone; else a condition of it."""
    computed = dict(_computed_columns(tree))
    failing: list[str] = []
    with suppress(EngineError), engine.workspace() as work:  # in a failed transaction nothing can be tried
        query = work.view_of_text("tried", text)
        failing = [name for name, value in computed.items() if _column_fails(engine, query, tree, name, value)]
        if failing and _fails(engine, _rows_with(engine, query, tree), exp.Count(this=exp.Star())):
            return place, "a condition of the query (WHERE, JOIN or the like): "
    names = failing or list(computed)
    if not names:
        return place, ""
    told = " or ".join(
        f'column "{printable(name)}" = {without_texts(computed[name].sql(engine.dialect))}' for name in names
    )
    return place_of(place, text, computed[names[0]]), f"{told}: "


def _rows_with(engine: Engine, query: Name, tree: exp.Expr, value: exp.Expr | None = None) -> Name:
    """The rows of a query with one of its columns or none; a column that nobody reads can be computed nevertheless."""
    if not isinstance(tree, exp.Select) or any(tree.args.get(part) for part in _ABOUT_COLUMNS):
        return query
    alone = tree.copy().select(aliased((value or exp.Literal.number(1)).copy(), _VALUE), append=False)
    return engine.work.view_of_text("tried", engine.render(alone))


def _computed_columns(tree: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
    for item in tree.selects if isinstance(tree, exp.Query) else ():
        if not item.is_star and item.alias_or_name:
            yield item.alias_or_name, item.unalias()


def _column_fails(engine: Engine, query: Name, tree: exp.Expr, name: str, value: exp.Expr) -> bool:
    alone = _rows_with(engine, query, tree, value)
    return _fails(engine, alone, _least(name if alone == query else _VALUE))


def _least(name: str) -> exp.Expr:
    return exp.Min(this=exp.cast(column(name), "TEXT"))


def _fails(engine: Engine, relation: Name, value: exp.Expr) -> bool:
    """Whether reading a value fails as the statement did; in a transaction that failed nothing can be tried."""
    try:
        engine.fetch(exp.Select(expressions=[aliased(value, _VALUE)]).from_(relation.table()))
    except EngineError as error:
        return error.fault is not None and error.fault.kind == "value"
    return False
