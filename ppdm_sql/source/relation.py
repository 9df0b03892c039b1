"""The relation a policy reads: its query, its columns with exact types, and who plays which role.

A query that only picks columns and rows of one table is read where it stands.  Anything else (joins,
functions, LIMIT) is first written into a working table, so that every later count sees the same rows.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp, parse_one
from sqlglot.optimizer.scope import traverse_scope

from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.errors import Mistake, PolicyError
from ppdm_sql.policy.policy import HierarchySource, Place, Policy
from ppdm_sql.source.persons import refuse_spellings
from ppdm_sql.statements.names import PREFIX, Name, Word, own

_VIEW = own("ppdm_source")
_SNAPSHOT = own("ppdm_snapshot")
_MOST_TABLES = 64
_GENERATORS = (exp.GenerateSeries, exp.ExplodingGenerateSeries)  # rows of nobody
_PICKS_ROWS = (
    exp.Where, exp.Having, exp.Qualify, exp.Limit, exp.Fetch, exp.Offset, exp.TableSample, exp.Join, exp.SetOperation,
)  # fmt: skip


@dataclass(frozen=True)
class Source:
    """A relation with its roles resolved; every name is exact, as the engine stores it."""

    relation: Name
    columns: Mapping[str, ColumnInfo]
    tables: tuple[str, ...]  # the base tables behind the query: what the ledger is kept by
    identifiers: tuple[str, ...] = ()
    quasi: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    target: str | None = None
    insensitive: tuple[str, ...] = ()
    entity: str | None = None
    hierarchies: Mapping[str, HierarchySource] | None = None
    origins: Mapping[str, str] = field(default_factory=dict)  # column -> what the query computes it from
    behind: Mapping[str, frozenset[str]] = field(default_factory=dict)  # column -> the columns in that
    some_rows: bool = False  # the query, or a view it reads, leaves rows out

    @property
    def published(self) -> tuple[str, ...]:
        """The columns that leave, in the order of the query."""
        dropped = {*self.identifiers, self.entity}
        return tuple(name for name in self.columns if name not in dropped)

    @property
    def passed(self) -> tuple[str, ...]:
        """The columns that leave as they are."""
        return tuple(name for name in self.published if name not in self.quasi)

    def info(self, name: str) -> ColumnInfo:
        return self.columns[name]


def open_source(engine: Engine, query: str, policy: Policy, place: Place | None = None) -> Source:
    """The policy's query as a relation of the engine, its roles resolved and its types checked."""
    tree = parse_one(query, dialect=engine.dialect)
    tables = base_tables(engine, tree, place)
    engine.view_of_text(_VIEW, query)
    columns = engine.columns(_VIEW)
    source = resolve(columns, policy, tables, place)
    source = replace(
        source,
        origins=_origins(tree, engine.dialect),
        behind=_columns_behind(tree),
        some_rows=_leaves_rows_out(engine, tree, depth=0),
    )
    if not reads_in_place(tree):
        listed = [exp.Column(this=exp.Identifier(this=c.name, quoted=True)) for c in columns]
        engine.create_table(_SNAPSHOT, exp.Select(expressions=listed).from_(_VIEW.table()), temporary=True)
        engine.analyze(_SNAPSHOT)
        source = replace(source, relation=_SNAPSHOT)
    if source.entity is not None:
        refuse_spellings(engine, source.relation, source.info(source.entity))
    return source


# -- tables --------------------------------------------------------------------------------------------


def base_tables(engine: Engine, tree: exp.Expr, place: Place | None = None) -> tuple[str, ...]:
    """The tables a query reads, views followed to theirs; anything that is not in the database is refused.

    A file name or a Python variable in FROM would otherwise be read silently in a table's place, and what was
    published from a table could not be told from what is published from a function that reads it.
    """
    found: dict[str, None] = {}
    mistakes: list[Mistake] = []
    for table in _read_tables(tree):
        if not isinstance(table.this, exp.Identifier):
            mistakes.append(_at(place, "a policy reads tables of the database: load the file into a table first"))
            continue
        name = _name_of(engine, table)
        if name is None or engine.relation_kind(name) is None:
            mistakes.append(_at(place, f"there is no table {table.sql(engine.dialect, comments=False)}"))
            continue
        try:
            found.update(dict.fromkeys(_behind(engine, name, depth=0)))
        except _Unseen as unseen:
            shown = table.sql(engine.dialect, comments=False)
            mistakes.append(_at(place, f"{shown} reads {unseen}: name a table or a plain view of tables instead"))
    if mistakes:
        raise PolicyError(*mistakes, file=place.file if place else None)
    return tuple(sorted(found))


def relations_read(engine: Engine, query: str) -> frozenset[str]:
    """Every relation a query reads, the views on the way to its tables too."""
    return frozenset(_on_the_way(engine, parse_one(query, dialect=engine.dialect), depth=0))


def _on_the_way(engine: Engine, tree: exp.Expr, depth: int) -> Iterator[str]:
    names = [_name_of(engine, table) for table in _read_tables(tree) if isinstance(table.this, exp.Identifier)]
    for name in names:
        if name is None or depth == _MOST_TABLES:
            continue
        yield engine.qualified(name)
        text = engine.view_query(name)
        if text is not None:
            yield from _on_the_way(engine, parse_one(text, dialect=engine.dialect), depth + 1)


class _Unseen(Exception):
    """A view reads something that is no table of this database."""


def _read_tables(tree: exp.Expr) -> Iterator[exp.Table]:
    """Tables proper: a name that a WITH of the same scope defines is not one."""
    scopes = traverse_scope(tree)
    read = [source for scope in scopes for source in scope.sources.values() if isinstance(source, exp.Table)]
    yield from read
    # what no scope lists (PIVOT) is read all the same
    seen, defined = {id(table) for table in read}, {cte.alias_or_name.casefold() for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if id(table) not in seen and not (table.name.casefold() in defined and not table.db):
            yield table


def _name_of(engine: Engine, table: exp.Table) -> Name | None:
    if table.args.get("catalog"):
        return None
    parts = [part for part in (table.args.get("db"), table.this) if part is not None]
    return engine.name([Word(part.name, quoted=bool(part.args.get("quoted"))) for part in parts])


def _behind(engine: Engine, name: Name, depth: int) -> Iterator[str]:
    if depth == _MOST_TABLES:
        raise _Unseen("views of views without an end")
    text = engine.view_query(name)
    if text is None:
        yield engine.qualified(name)
        return
    tree = parse_one(text, dialect=engine.dialect)
    read = list(_read_tables(tree))
    if not read and tree.find(exp.Anonymous):
        raise _Unseen("no table, but a function")
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
    name = _name_of(engine, table)
    if name is None:
        raise _Unseen("a table of another database")
    if engine.relation_kind(name) is None:
        raise _Unseen("a file, or a table that is not there")
    return name


def _leaves_rows_out(engine: Engine, tree: exp.Expr, depth: int) -> bool:
    """Whether a query, or a view behind it, may have other rows than the table it reads."""
    if tree.find(*_PICKS_ROWS) is not None:
        return True
    names = [_name_of(engine, table) for table in _read_tables(tree) if isinstance(table.this, exp.Identifier)]
    texts = [engine.view_query(name) for name in names if name is not None and depth < _MOST_TABLES]
    return any(_leaves_rows_out(engine, parse_one(text, dialect=engine.dialect), depth + 1) for text in texts if text)


def _origins(tree: exp.Expr, dialect: str = "") -> dict[str, str]:
    """What the columns of a query are computed from; a column that is not here is one of the table, by its own name.

    >>> _origins(parse_one("SELECT t.id, years AS age, zip / 10 AS zip FROM t"))
    {'id': 'id', 'age': 'years', 'zip': 'zip / 10'}
    """
    if not isinstance(tree, exp.Select):
        return {}
    picked = ((item.alias_or_name, item.unalias()) for item in tree.expressions if not item.is_star)
    return {
        name: item.name if isinstance(item, exp.Column) else item.sql(dialect, comments=False) for name, item in picked
    }


def _columns_behind(tree: exp.Expr) -> dict[str, frozenset[str]]:
    """The columns that the columns of a query are computed from, whatever it does to them.

    >>> found = _columns_behind(parse_one("SELECT id, zip / 10 AS z, a + B AS c FROM t"))
    >>> {name: sorted(columns) for name, columns in found.items()}
    {'id': ['id'], 'z': ['zip'], 'c': ['a', 'b']}
    """
    if not isinstance(tree, exp.Select):
        return {}
    return {
        item.alias_or_name: frozenset(part.name.casefold() for part in item.find_all(exp.Column))
        for item in tree.expressions
        if not item.is_star
    }


def reads_in_place(tree: exp.Expr) -> bool:
    """Whether a query only picks columns and rows of one table, so that reading it twice gives the same.

    >>> reads_in_place(parse_one("SELECT a, b AS c FROM t WHERE a > 1"))
    True
    >>> [reads_in_place(parse_one(q)) for q in ("SELECT a FROM t LIMIT 3", "SELECT a FROM t WHERE RANDOM() < 0.5")]
    [False, False]
    """
    if not isinstance(tree, exp.Select):
        return False
    plain = {"expressions", "from_", "where", "kind"}
    if any(value for part, value in tree.args.items() if part not in plain):
        return False
    if any(True for _ in tree.find_all(exp.Func, exp.Subquery, exp.Join)):
        return False
    picked = (item.this if isinstance(item, exp.Alias) else item for item in tree.expressions)
    return all(isinstance(item, exp.Column | exp.Star) for item in picked)


# -- roles ---------------------------------------------------------------------------------------------


def resolve(
    columns: Sequence[ColumnInfo], policy: Policy, tables: tuple[str, ...], place: Place | None = None
) -> Source:
    """The policy's words against the columns there are; every mistake is told at once."""
    roles = policy.roles
    by_name = {info.name: info for info in columns}
    mistakes = [*_unusable(columns, place)]

    def found(words: Sequence[Word]) -> tuple[str, ...]:
        names = []
        for word in words:
            name = match(word, by_name)
            if name is None:
                mistakes.append(_at(place, _unknown(word, by_name)))
            else:
                names.append(name)
        return tuple(names)

    identifiers, quasi, sensitive = found(roles.identifiers), found(roles.quasi), found(roles.sensitive)
    insensitive = found(roles.insensitive)
    target = next(iter(found([roles.target] if roles.target else [])), None)
    entity = next(iter(found([roles.entity] if roles.entity else [])), None)
    resolved = ((match(word, by_name), wanted) for word, wanted in roles.hierarchies.items())
    hierarchies = {name: wanted for name, wanted in resolved if name is not None}
    given = {*identifiers, *quasi, *sensitive, *insensitive, target, entity}
    if not mistakes:  # a misspelt role would leave its column without one: that is told already
        without = [name for name in by_name if name not in given]
        hint = "give it one, or leave it out of the SELECT"
        mistakes.extend(_at(place, f'column "{name}" has no role: {hint}') for name in without)
    mistakes.extend(_nested(by_name, given, identifiers, place))
    mistakes.extend(_in_two_roles([identifiers, quasi, sensitive, insensitive, (entity,) if entity else ()], place))
    if mistakes:
        raise PolicyError(*mistakes, file=place.file if place else None)
    return Source(
        _VIEW, by_name, tables, identifiers, quasi, sensitive, target, insensitive, entity, hierarchies
    )  # fmt: skip


def match(word: Word, names: Mapping[str, object]) -> str | None:
    """The column a word means: exactly that name, or without quotes the only one that differs in case alone."""
    if word.text in names:
        return word.text
    if word.quoted:
        return None
    alike = [name for name in names if name.casefold() == word.text.casefold()]
    return alike[0] if len(alike) == 1 else None


def _unknown(word: Word, names: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(word.text, list(names), n=1)
    hint = f': did you mean "{near[0]}"?' if near else f"; the query gives {len(names)} columns"
    return f'there is no column "{word.text}"{hint}'


def _unusable(columns: Sequence[ColumnInfo], place: Place | None) -> Iterator[Mistake]:
    folded: set[str] = set()
    for info in columns:
        if info.name.casefold() in folded:
            yield _at(place, f'column "{info.name}" comes twice: give each its own name with AS')
        folded.add(info.name.casefold())
        if info.name.casefold().startswith(PREFIX):
            yield _at(place, f'column "{info.name}": the prefix {PREFIX} is kept for ppdm_sql, rename it with AS')


def _nested(
    by_name: Mapping[str, ColumnInfo], given: set[str | None], identifiers: tuple[str, ...], place: Place | None
) -> Iterator[Mistake]:
    for name, info in by_name.items():
        if name in given and name not in identifiers and info.kind is Kind.UNSUPPORTED:
            shape = info.declared.split("(")[0]
            yield _at(place, f'column "{name}": type {shape} cannot be published, cast or unnest it in the SELECT')


def _in_two_roles(roles: Sequence[tuple[str, ...]], place: Place | None) -> Iterator[Mistake]:
    """A column under two spellings; one spelling in two roles is told by the grammar.  TARGET goes with others."""
    seen: set[str] = set()
    for name in (name for names in roles for name in names):
        if name in seen:
            yield _at(place, f'column "{name}" is named twice among the roles')
        seen.add(name)


def _at(place: Place | None, message: str) -> Mistake:
    return Mistake(message, place.line if place else None, place.column if place else None)
