"""Where the columns of a query come from: which columns of which tables, and what is done to them on the way.

Subqueries, WITH, views, joins, set operations and SELECT * are followed down to the tables.  What cannot be followed
is taken for more, not for less: a column that two relations could give comes from both, a COLUMNS(...) from all.
Only values are followed: that a row is there at all (WHERE, JOIN ON) is no part of any column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp, parse_one

from ppdm_sql.engines.base import Engine
from ppdm_sql.source.tables import MOST_VIEWS, cte_of, relation_name
from ppdm_sql.statements.names import Name

WINDOW = "a window function"
NO_TABLE = ""

Behind = tuple[str, str]  # a table, as the ledger names it, and one of its columns


@dataclass(frozen=True)
class Origin:
    """What a column is made of."""

    columns: frozenset[Behind] = frozenset()
    calls: frozenset[str] = frozenset()  # the functions it passes through, by their names in small letters
    text: str = ""  # the expression over the tables' own columns: two columns of one text are computed alike

    def __or__(self, other: Origin) -> Origin:
        return Origin(self.columns | other.columns, self.calls | other.calls, self.text or other.text)


Columns = list[tuple[str, Origin]]


@dataclass(frozen=True)
class _Scope:
    """The relations that a SELECT reads, by the names it has for them, inside those of the queries around it."""

    relations: Sequence[tuple[str, Columns]] = ()
    outer: _Scope | None = None
    named: Mapping[str, Origin] = field(default_factory=dict)  # columns that the SELECT itself gave a name before

    def column(self, name: str, qualifier: str | None) -> Origin | None:
        wanted = [cols for alias, cols in self.relations if qualifier is None or alias == qualifier]
        found = [origin for cols in wanted for column, origin in cols if column.casefold() == name]
        if found:
            return _all_of(found, found[0].text)
        if qualifier is None and name in self.named:
            return self.named[name]
        return None if self.outer is None else self.outer.column(name, qualifier)

    def row(self, name: str) -> Origin | None:
        """A relation that is named like a column: the whole row."""
        found = [origin for alias, cols in self.relations if alias == name for _, origin in cols]
        if found:
            return _all_of(found, name)
        return None if self.outer is None else self.outer.row(name)


def _all_of(origins: Iterable[Origin], text: str = "") -> Origin:
    every = list(origins)
    return Origin(
        frozenset().union(*(one.columns for one in every)), frozenset().union(*(one.calls for one in every)), text
    )


class Lineage:
    """Follows the columns of one query; remembers what it found of relations."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._relations: dict[str, Columns] = {}
        self.tables: dict[str, tuple[str, ...]] = {}  # the tables it came to, with all their columns
        self._shared: dict[int, Columns] = {}  # of the queries in a WITH
        self._views: list[exp.Expr] = []  # kept, so that no other query gets the id of one of theirs
        self._depth = 0

    def columns(self, query: exp.Expr) -> dict[str, Origin]:
        """Every column of a query, by its name in small letters, with what it is made of."""
        found: dict[str, Origin] = {}
        for name, origin in self.outputs(query):
            key = name.casefold()
            found[key] = found[key] | origin if key in found else origin
        return found

    # -- queries ---------------------------------------------------------------------------------------

    def outputs(self, query: exp.Expr, outer: _Scope | None = None) -> Columns:
        if isinstance(query, exp.Select):
            return self._of_select(query, outer)
        if isinstance(query, exp.SetOperation):
            return self._of_set(query, outer)
        if isinstance(query, exp.Pivot):
            return self._of_pivot(query, self.relation(query.this, outer))
        if isinstance(query, exp.Values):
            return [(f"col{place}", Origin(text="VALUES")) for place in range(_width(query))]
        if isinstance(query, exp.Subquery | exp.Paren):
            return self.outputs(query.this, outer)
        return []

    def _of_select(self, select: exp.Select, outer: _Scope | None) -> Columns:
        scope = self.scope(select, outer)
        found: Columns = []
        for item in select.expressions:
            given = list(self._project(item, scope))
            found += given
            scope = _Scope(scope.relations, scope.outer, {**{n.casefold(): o for n, o in given}, **scope.named})
        return found

    def scope(self, select: exp.Select, outer: _Scope | None) -> _Scope:
        """What a SELECT reads; a LATERAL part sees those before it."""
        read: list[tuple[str, Columns]] = []
        first = select.args.get("from_")
        parts = [*([first.this] if first else []), *(join.this for join in select.args.get("joins") or [])]
        parts += list(select.args.get("laterals") or [])
        for part in parts:
            read.append((part.alias_or_name.casefold(), self.relation(part, _Scope(tuple(read), outer))))
            for join in part.args.get("joins") or []:
                read.append((join.this.alias_or_name.casefold(), self.relation(join.this, _Scope(tuple(read), outer))))
        return _Scope(tuple(read), outer)

    def _of_set(self, query: exp.SetOperation, outer: _Scope | None) -> Columns:
        left, right = self.outputs(query.left, outer), self.outputs(query.right, outer)
        if query.args.get("by_name"):
            return [*left, *right]
        both: Columns = []
        for (name, one), (_, two) in zip(left, right, strict=False):
            text = one.text if one.text == two.text else f"{one.text} | {two.text}"
            both.append((name, _all_of([one, two], text)))
        return both

    # -- relations -------------------------------------------------------------------------------------

    def relation(self, part: exp.Expr, outer: _Scope | None) -> Columns:
        """The columns of something in FROM, under the names that it has there."""
        found = self._plain_relation(part, outer)
        for pivot in part.args.get("pivots") or []:
            found = self._of_pivot(pivot, found)
        alias = part.args.get("alias")
        renamed = [word.name for word in alias.args.get("columns") or []] if isinstance(alias, exp.TableAlias) else []
        if len(renamed) > len(found):  # a function in FROM
            everything = self.expression(part, outer or _Scope())
            return [(name, everything) for name in renamed]
        return [(renamed[place] if place < len(renamed) else name, one) for place, (name, one) in enumerate(found)]

    def _plain_relation(self, part: exp.Expr, outer: _Scope | None) -> Columns:
        if isinstance(part, exp.Table) and isinstance(part.this, exp.Identifier):
            defined = cte_of(self._engine, part)
            return self._of_table(part) if defined is None else self._of_cte(defined, outer)
        if isinstance(part, exp.Subquery | exp.Paren | exp.Lateral):
            return self.relation(part.this, outer) if not isinstance(part, exp.Lateral) else self._lateral(part, outer)
        return self.outputs(part, outer)

    def _lateral(self, part: exp.Lateral, outer: _Scope | None) -> Columns:
        return self.outputs(part.this.this if isinstance(part.this, exp.Subquery) else part.this, outer)

    def _of_cte(self, cte: exp.CTE, outer: _Scope | None) -> Columns:
        if id(cte) not in self._shared:
            inner = cte.this
            self._shared[id(cte)] = []  # what a recursive one reads of itself comes from where it begins
            if isinstance(inner, exp.SetOperation):
                self._shared[id(cte)] = self._name_columns(cte, self.outputs(inner.left, outer))
            self._shared[id(cte)] = self._name_columns(cte, self.outputs(inner, outer))
        return self._shared[id(cte)]

    def _name_columns(self, cte: exp.CTE, found: Columns) -> Columns:
        words = cte.args["alias"].args.get("columns") or []
        return [(words[place].name if place < len(words) else name, one) for place, (name, one) in enumerate(found)]

    def _of_table(self, table: exp.Table) -> Columns:
        name = relation_name(self._engine, table)
        if name is None:
            return []
        full = self._engine.qualified_name(name)
        if full not in self._relations:
            text = self._engine.query_behind(name) if self._depth < MOST_VIEWS else None
            self._relations[full] = self._of_stored(full, name) if text is None else self._of_view(name, text)
        return self._relations[full]

    def _of_stored(self, full: str, name: Name) -> Columns:
        names = [info.name for info in self._engine.columns(name)]
        self.tables[full] = tuple(one.casefold() for one in names)
        return [(one, Origin(frozenset({(full, one.casefold())}), text=one.casefold())) for one in names]

    def _of_view(self, name: Name, text: str) -> Columns:
        self._views.append(parse_one(text, dialect=self._engine.dialect))
        self._depth += 1
        found = self.outputs(self._views[-1])
        self._depth -= 1
        named = [info.name for info in self._engine.columns(name)]  # CREATE VIEW v (a, b) AS ...
        if len(named) != len(found):
            return found
        return [(one, origin) for one, (_, origin) in zip(named, found, strict=True)]

    def _of_pivot(self, pivot: exp.Expr, found: Columns) -> Columns:
        """Columns stay what they are; new ones come from all that a PIVOT names, and their names are not foreseen."""
        inside = _Scope(((NO_TABLE, found),))
        parts = [
            part for key in ("expressions", "using", "fields", "group") for part in _expressions(pivot.args.get(key))
        ]
        mixed = _all_of((self.expression(part, inside) for part in parts), "PIVOT")
        made = {word.name: mixed for word in pivot.find_all(exp.Identifier)}
        if pivot.args.get("unpivot"):  # which of its columns a value stood in is no value of any
            made |= dict.fromkeys(_columns_of_names(pivot), Origin(text="UNPIVOT"))
        known = {name.casefold() for name, _ in found}
        return [*found, *((name, one) for name, one in made.items() if name.casefold() not in known)]

    # -- expressions -----------------------------------------------------------------------------------

    def _project(self, item: exp.Expr, scope: _Scope) -> Iterator[tuple[str, Origin]]:
        star = item if isinstance(item, exp.Star) else item.this if item.is_star else None
        if isinstance(star, exp.Star):
            yield from self._expand_star(star, scope, item.text("table").casefold() if item is not star else None)
        elif item.find(exp.Columns) is not None:
            everything = _all_of(origin for _, cols in scope.relations for _, origin in cols)
            own = self.expression(item, scope)
            yield from ((name, everything | own) for _, cols in scope.relations for name, _ in cols)
        else:
            yield item.alias_or_name or item.sql(), self.expression(item.unalias(), scope)

    def _expand_star(self, star: exp.Star, scope: _Scope, qualifier: str | None) -> Iterator[tuple[str, Origin]]:
        left_out = {word.name.casefold() for word in star.args.get("except_") or []}
        replaced = {one.alias.casefold(): one for one in star.args.get("replace") or []}
        renamed = {one.name.casefold(): one.alias for one in star.args.get("rename") or []}
        for alias, cols in scope.relations:
            if qualifier is not None and alias != qualifier:
                continue
            for name, origin in cols:
                key = name.casefold()
                if key in replaced:
                    yield name, self.expression(replaced[key].unalias(), scope)
                elif key not in left_out:
                    yield renamed.get(key, name), origin

    def expression(self, tree: exp.Expr, scope: _Scope) -> Origin:
        """What an expression is made of; a query inside it depends on everything that it names."""
        found = [self._named_in(node, scope) for node in _own_columns(tree)]
        found += [self._of_inner(query, scope) for query in _inner_queries(tree)]
        calls = frozenset(_calls(tree, self._engine.dialect))
        return _all_of([*found, Origin(calls=calls)], self._text(tree, scope))

    def _of_inner(self, query: exp.Expr, scope: _Scope) -> Origin:
        if isinstance(query, exp.Select):
            inner = self.scope(query, scope)
            parts = [node for key, node in _parts(query) if key not in ("from_", "joins", "laterals", "with_")]
            return _all_of(self.expression(part, inner) for part in parts)
        return _all_of(origin for _, origin in self.outputs(query, scope))

    def _named_in(self, node: exp.Column, scope: _Scope) -> Origin:
        name, qualifier = node.name.casefold(), node.text("table").casefold() or None
        found = scope.column(name, qualifier)
        if found is None and qualifier is not None:  # a field of a struct: qualifier.name
            words = [node.text("catalog"), node.text("db"), qualifier]
            found = next((one for word in words if word and (one := scope.column(word.casefold(), None))), None)
        if found is None and qualifier is None:
            found = scope.row(name)
        # a column that no relation lists is one of the engine's own, like rowid
        return found or Origin(frozenset({(NO_TABLE, name)}), frozenset({name}), name)

    def _text(self, tree: exp.Expr, scope: _Scope) -> str:
        """The expression with the tables' own columns instead of those of views and subqueries."""

        def own(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
                return node
            return exp.Var(this=self._named_in(node, scope).text)

        if isinstance(tree, exp.Column) and not isinstance(tree.this, exp.Star):
            return self._named_in(tree, scope).text
        return tree.transform(own).sql(self._engine.dialect, comments=False)


# -- looking into trees ------------------------------------------------------------------------------------


def _parts(tree: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
    for key, value in tree.args.items():
        yield from ((key, one) for one in _expressions(value))


def _expressions(value: object) -> list[exp.Expr]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, exp.Expr)]


def _columns_of_names(unpivot: exp.Expr) -> list[str]:
    into = unpivot.args.get("into")
    written = [into.this] if into is not None else [one.this for one in _expressions(unpivot.args.get("fields"))]
    return [one.name for one in written if isinstance(one, exp.Expr)]


def _own_columns(tree: exp.Expr) -> Iterator[exp.Column]:
    """The columns of an expression, without those of queries inside it."""
    if isinstance(tree, exp.Query):
        return
    if isinstance(tree, exp.Column):
        if not isinstance(tree.this, exp.Star):
            yield tree
        return
    for _, part in _parts(tree):
        yield from _own_columns(part)


def _inner_queries(tree: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(tree, exp.Subquery):
        yield from _inner_queries(tree.this)
    elif isinstance(tree, exp.Query):
        yield tree
    else:
        for _, part in _parts(tree):
            yield from _inner_queries(part)


def _calls(tree: exp.Expr, dialect: str) -> Iterator[str]:
    """The functions of an expression, as this engine calls them.

    >>> sorted(_calls(parse_one("UUID() || LOWER(x)", dialect="duckdb"), "duckdb"))
    ['lower', 'uuid']
    """
    for node in tree.find_all(exp.Func, exp.Window):
        if isinstance(node, exp.Window):
            yield WINDOW
        elif isinstance(node, exp.Anonymous):
            yield node.name.casefold()
        elif not isinstance(node, exp.Binary | exp.Case | exp.Cast):
            yield node.sql(dialect, comments=False).split("(")[0].strip().casefold()


def _width(values: exp.Values) -> int:
    first = values.expressions[0] if values.expressions else None
    return len(first.expressions) if isinstance(first, exp.Tuple) else 1
