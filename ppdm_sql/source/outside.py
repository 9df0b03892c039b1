"""Tables of a query that are not stored in the open database, each with a view that takes its place.

What follows columns, counts tables and explains mistakes then sees relations only.  The query itself runs as it is
written: DuckDB keeps it below the folders that were opened for reading, and the view is made of the same file.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from ppdm_sql.engines.base import Engine, Outside
from ppdm_sql.engines.outside import is_outside
from ppdm_sql.errors import EngineError, Mistake, PolicyError
from ppdm_sql.policy.options import at
from ppdm_sql.policy.policy import Place
from ppdm_sql.source.tables import read_tables, relation_name
from ppdm_sql.statements.names import Name, identifier

Where = Callable[[exp.Table], Place | None]


def bind_outside(engine: Engine, tree: exp.Expr, place: Place | None = None, where: Where | None = None) -> exp.Expr:
    """The query with a view instead of each file and attached table; the same query where it reads none."""
    if not engine.reads_files:
        return tree
    bound = tree.copy()
    mistakes: list[Mistake] = []
    for table in list(read_tables(engine, bound)):
        if _is_stored(engine, table):
            continue
        try:
            found = engine.find_outside(table)
            view = None if found is None else _view_of(engine, found)
        except PolicyError as error:
            here = place if where is None else where(table)
            mistakes += [at(here, one.message) for one in error.mistakes]
            continue
        if found is not None and view is not None:
            _put(table, view, found.alias)
    if mistakes:
        raise PolicyError(*mistakes, file=place.file if place else None)
    return bound


def reads_outside(tables: tuple[str, ...]) -> bool:
    """Whether some of the tables that the ledger names are not stored in the open database."""
    return any(map(is_outside, tables))


def refuse_live(tables: tuple[str, ...], place: Place) -> None:
    """A LIVE view reads its source at every query: that source must stay in the database."""
    if reads_outside(tables):
        told = (
            "a LIVE view reads its table at every query, and a file, an attached database or a data frame can be gone "
            "by then: publish a VIEW without LIVE, and REFRESH it"
        )
        raise PolicyError(at(place, told), file=place.file)


def _is_stored(engine: Engine, table: exp.Table) -> bool:
    name = relation_name(engine, table) if isinstance(table.this, exp.Identifier) else None
    return name is not None and engine.relation_kind(name) is not None


def _view_of(engine: Engine, found: Outside) -> Name:
    query = engine.render(exp.Select(expressions=[exp.Star()]).from_(found.rows))
    return engine.work.remember(("outside", query), lambda: _new_view(engine, found, query))


def _new_view(engine: Engine, found: Outside, query: str) -> Name:
    try:
        view = engine.work.view_of_text("outside", query)
    except EngineError as error:
        if isinstance(found.rows.this, exp.Identifier):
            raise
        kind = found.alias if found.alias.startswith("read_") else str(found.rows.this.this).lower()
        told = f"the file cannot be read by {kind}: is it damaged, or written in another way?"
        raise PolicyError(told) from error
    engine.stand_ins[view] = found.title
    return view


def _put(table: exp.Table, view: Name, alias: str) -> None:
    if not table.alias:
        table.set("alias", exp.TableAlias(this=identifier(alias)))
    table.set("this", identifier(view.last))
    table.set("db", None)
    table.set("catalog", None)
