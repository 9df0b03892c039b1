"""Which relations a query reads: names resolved scope by scope, views followed to their tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp, parse_one

from ppdm_sql.engines.base import Engine
from ppdm_sql.engines.outside import is_outside, titles_of
from ppdm_sql.errors import Mistake, PolicyError
from ppdm_sql.policy.options import at
from ppdm_sql.policy.policy import Place
from ppdm_sql.source.faults import no_table
from ppdm_sql.statements.names import PREFIX, Name, Word

_NO_TABLE = "a policy reads tables, and on DuckDB files (read_parquet, read_csv, read_json): load anything else first"
MOST_VIEWS = 64  # one over the other
_GENERATORS = (exp.GenerateSeries, exp.ExplodingGenerateSeries)  # rows of nobody
_PICKS_ROWS = (
    exp.Where, exp.Having, exp.Qualify, exp.Limit, exp.Fetch, exp.Offset, exp.TableSample, exp.Join, exp.SetOperation,
)  # fmt: skip


def base_tables(
    engine: Engine, tree: exp.Expr, place: Place | None = None, where: Callable[[exp.Table], Place | None] | None = None
) -> tuple[str, ...]:
    """The tables a query reads, views followed to theirs; anything that is not in the database is refused.

    A file name or a Python variable in FROM would otherwise be read silently in a table's place, and what was
    published from a table could not be told from what is published from a function that reads it.
    """
    found: dict[str, None] = {}
    mistakes: list[Mistake] = []
    for table in read_tables(engine, tree):
        here = place if where is None else where(table)
        if not isinstance(table.this, exp.Identifier):
            mistakes.append(at(here, _NO_TABLE))
            continue
        name = relation_name(engine, table)
        if name is None or engine.relation_kind(name) is None:
            written = ".".join(part.name for part in table.parts)
            mistakes.append(at(here, no_table(engine, written)))
            continue
        try:
            found.update(dict.fromkeys(one for full in _behind(engine, name, depth=0) for one in titles_of(full)))
        except _Unseen as unseen:
            shown = table.sql(engine.dialect, comments=False)
            mistakes.append(at(here, f"{shown} reads {unseen}: name a table or a plain view of tables instead"))
    if mistakes:
        raise PolicyError(*mistakes, file=place.file if place else None)
    return tuple(sorted(found))


def all_tables(
    engine: Engine, view: Name, query: str, listed: tuple[str, ...], place: Place | None = None
) -> tuple[str, ...]:
    """The listed tables and those that the database itself says the query reads, which has the given view.

    The parser and the database can disagree on what a name means; a table that only one of them sees counts, too.
    """
    told = {name for name in engine.tables_read(view, query) if not name.split(".")[-1].startswith(PREFIX)}
    tables = tuple(sorted({*listed, *told}))
    if not tables:
        reason = "the query reads no table of this database: published rows must come from a table"
        raise PolicyError(at(place, reason), file=place.file if place else None)
    return tables


def relations_read(engine: Engine, query: str) -> frozenset[str]:
    """Every relation a query reads, the views on the way to its tables too."""
    return frozenset(_on_the_way(engine, parse_one(query, dialect=engine.dialect), depth=0))


def _on_the_way(engine: Engine, tree: exp.Expr, depth: int) -> Iterator[str]:
    for name in named_relations(engine, tree):
        if depth == MOST_VIEWS:
            continue
        yield engine.qualified_name(name)
        text = engine.query_behind(name)
        if text is not None:
            yield from _on_the_way(engine, parse_one(text, dialect=engine.dialect), depth + 1)


def named_relations(engine: Engine, tree: exp.Expr) -> list[Name]:
    """The relations of the database that a query names, views not followed."""
    tables = [table for table in read_tables(engine, tree) if isinstance(table.this, exp.Identifier)]
    return [name for name in (relation_name(engine, table) for table in tables) if name is not None]


class _Unseen(Exception):
    """A view reads something that is no table of this database."""


# -- names and scopes --------------------------------------------------------------------------------------


def read_tables(engine: Engine, tree: exp.Expr) -> Iterator[exp.Table]:
    """Tables proper: a name that a WITH defines for the place where it stands is not one."""
    return (table for table in tree.find_all(exp.Table) if cte_of(engine, table) is None)


def cte_of(engine: Engine, table: exp.Table) -> exp.CTE | None:
    """The query of a WITH that a name means where it stands; None for a relation of the database.

    A query of a WITH sees those before it, and itself where it is recursive; a query sees its own WITH and those
    of the queries around it, the innermost first.
    """
    if not isinstance(table.this, exp.Identifier) or table.args.get("db") is not None:
        return None
    inside: exp.Expr = table
    around = table.parent
    while around is not None:
        found = _definition(engine, table, around, inside)
        if found is not None:
            return found
        inside, around = around, around.parent
    return None


def _definition(engine: Engine, table: exp.Table, around: exp.Expr, inside: exp.Expr) -> exp.CTE | None:
    if isinstance(around, exp.With):
        visible = around.expressions[: inside.index] if inside.index is not None else []
        if around.args.get("recursive"):
            # only UNION makes a recursion: any other query of that name reads a table of that name
            visible = [one for one in around.expressions if one is not inside or isinstance(one.this, exp.SetOperation)]
    else:
        own = around.args.get("with_")
        visible = own.expressions if own is not None and own is not inside else []
    word = _word(table.this)
    named = [one for one in visible if engine.is_same_name(_word(one.args["alias"].this), word)]
    return named[-1] if named else None


def _word(part: exp.Expr) -> Word:
    return Word(part.name, quoted=bool(part.args.get("quoted")))


def relation_name(engine: Engine, table: exp.Table) -> Name | None:
    catalog = table.args.get("catalog")
    if catalog is not None and not engine.is_same_name(_word(catalog), Word(engine.own_catalog(), quoted=True)):
        return None
    parts = [part for part in (table.args.get("db"), table.this) if part is not None]
    return engine.name([_word(part) for part in parts])


def table_named(engine: Engine, full: str) -> Name | None:
    """A table of the ledger, if it is there; either part of its name can have dots of its own."""
    if is_outside(full):
        return next(
            (view for view, title in engine.stand_ins.items() if full == title or full in titles_of(title)), None
        )
    words = full.split(".")
    parts = ((".".join(words[:place]), ".".join(words[place:])) for place in range(1, len(words)))
    names = (Name(*both) for both in parts if all(both))
    return next((name for name in names if engine.relation_kind(name) is not None), None)


# -- views -------------------------------------------------------------------------------------------------


def _behind(engine: Engine, name: Name, depth: int) -> Iterator[str]:
    if depth == MOST_VIEWS:
        raise _Unseen("views that read each other in a circle")
    text = engine.query_behind(name)
    if text is None:
        yield from engine.family([engine.qualified_name(name)], ancestors=False)
        return
    tree = parse_one(text, dialect=engine.dialect)
    read = list(read_tables(engine, tree))
    if not read and tree.find(exp.Anonymous):
        raise _Unseen("a function, not a table")
    for table in read:
        inner = _inside(engine, table)
        if inner == name:
            raise _Unseen("a table of its own name")
        if inner is not None:
            yield from _behind(engine, inner, depth + 1)


def _inside(engine: Engine, table: exp.Table) -> Name | None:
    """A relation that a view reads; None when it is rows out of nothing."""
    if isinstance(table.this, _GENERATORS):
        return None
    if not isinstance(table.this, exp.Identifier):
        raise _Unseen("a function")
    name = relation_name(engine, table)
    if name is None:
        raise _Unseen("a table of another database")
    if engine.relation_kind(name) is None:
        raise _Unseen("a file, or a table that does not exist")
    return name


def leaves_rows_out(engine: Engine, tree: exp.Expr, depth: int = 0) -> bool:
    """Whether a query, or a view behind it, may have other rows than the table it reads."""
    if tree.find(*_PICKS_ROWS) is not None:
        return True
    texts = [engine.query_behind(name) for name in named_relations(engine, tree) if depth < MOST_VIEWS]
    return any(leaves_rows_out(engine, parse_one(text, dialect=engine.dialect), depth + 1) for text in texts if text)


def makes_columns(engine: Engine, tree: exp.Expr, depth: int = 0) -> bool:
    """Whether a query, or a view behind it, makes columns out of values."""
    named = named_relations(engine, tree)
    if tree.find(exp.Pivot) is not None or any(name.last.casefold() in engine.facts.pivoted for name in named):
        return True
    texts = [engine.query_behind(name) for name in named if depth < MOST_VIEWS]
    return any(makes_columns(engine, parse_one(text, dialect=engine.dialect), depth + 1) for text in texts if text)
