"""What DuckDB says of its relations, types and macros, read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from ppdm_sql.engines.columns import ColumnInfo, Kind, Row, Rows
from ppdm_sql.engines.shadows import refuse_shadows
from ppdm_sql.statements.names import PREFIX, Name, aliased, identifier

_KINDS = {
    Kind.INTEGER: "TINYINT SMALLINT INTEGER BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT",
    Kind.DECIMAL: "DECIMAL",
    Kind.FLOAT: "FLOAT DOUBLE",
    Kind.TEXT: "VARCHAR ENUM",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP TIMESTAMP_S TIMESTAMP_MS TIMESTAMP_NS",
    Kind.UUID: "UUID",
}
_RELATIONS = ("table", "view")
_BETWEEN = "ppdm_between"
_KIND_OF = {word: kind for kind, words in _KINDS.items() for word in words.split()}


@dataclass(frozen=True)
class FoundRelation:
    """A relation as it is stored; kind: None where there is none.  text: of a view."""

    name: str = ""
    kind: str | None = None
    schema: str = ""
    text: str | None = None


def pick_relation(rows: Rows, name: Name) -> FoundRelation:
    """What a query would find under a name: without a schema a temporary relation, then one of the current schema."""
    for found, kind, schema, is_found, text in rows:
        in_reach = is_found if name.schema is None else schema.lower() == name.schema.lower()
        if in_reach and (name.last == found or name.last.lower() == found.lower()):
            return FoundRelation(found, kind, schema, text)
    return FoundRelation()


def listed_relations(defined: list[Row]) -> Rows:
    """The relations among what is defined, as catalog/relations_duckdb lists them."""
    ((database, here, *_),) = (row for row in defined if row[3] == "here")
    found = [row for row in defined if row[3] in _RELATIONS and row[0] in (database, "temp")]
    found.sort(key=lambda row: (not row[4], row[2]))
    return [(name, kind, schema, temporary or schema == here, text) for _, schema, name, kind, temporary, text in found]


def refuse_defined(defined: list[Row], builtins: Callable[[], Rows]) -> None:
    """Refuses what hides a built-in or a stored relation.  builtins: names and kinds, which take long to list."""
    names: dict[tuple[str, bool], set[str]] = {}
    for _, _, name, kind, temporary, _ in defined:
        word = "relation" if kind in _RELATIONS else kind
        names.setdefault((word, temporary), set()).add(name.casefold())
    hidden = names.get(("relation", True), set()) & names.get(("relation", False), set())
    covered = sorted(name for name in hidden if not name.startswith(PREFIX))
    taken: dict[str, set[str]] = {"function": set(), "type": set()}
    if any(kind in taken for kind, _ in names):
        for name, kind in builtins():
            if name.casefold() in names.get((kind, False), ()):
                taken[kind].add(name.casefold())
    refuse_shadows(sorted(taken["function"]), sorted(taken["type"]), covered)


def described_columns(rows: Rows) -> list[ColumnInfo]:
    """The columns of a relation from the rows of its DESCRIBE."""
    return [ColumnInfo(row[0], kind_of(row[1]), row[1]) for row in rows]


def described_together(names: Sequence[Name]) -> exp.Describe:
    """One DESCRIBE for several relations, with a column of our own between two of them."""
    picked: list[exp.Expr] = []
    for place in range(len(names)):
        picked += [aliased(exp.Null(), _BETWEEN)] if place else []
        picked.append(exp.Column(this=exp.Star(), table=identifier(f"ppdm_t{place}")))
    query = exp.Select(expressions=picked).from_(names[0].table("ppdm_t0"))
    for place, name in enumerate(names[1:], start=1):
        query = query.join(name.table(f"ppdm_t{place}"), join_type="CROSS")
    return exp.Describe(this=query)


def split_description(rows: Rows, relations: int) -> list[list[ColumnInfo]]:
    """The columns of each relation; none where a column of theirs has the name of the one between them."""
    parts: list[list[Row]] = [[]]
    for row in rows:
        if row[0] == _BETWEEN:
            parts.append([])
        else:
            parts[-1].append(row)
    return [described_columns(part) for part in parts] if len(parts) == relations else []


def functions_in(text: str) -> frozenset[str]:
    """The words of a macro that may be functions.

    >>> sorted(functions_in("lower(x) || uuid()"))
    ['lower', 'uuid', 'x']
    """
    return frozenset(word.casefold() for word in re.findall(r"\w+", text))


def kind_of(declared: str) -> Kind:
    """The kind of a DuckDB type.

    >>> kind_of("DECIMAL(18,3)"), kind_of("INTEGER[]"), kind_of("TIMESTAMP WITH TIME ZONE")
    (<Kind.DECIMAL: 'decimal'>, <Kind.UNSUPPORTED: 'unsupported'>, <Kind.TIMESTAMP: 'timestamp'>)
    """
    if declared.endswith("]"):
        return Kind.UNSUPPORTED
    return _KIND_OF.get(re.split(r"[ (]", declared, maxsplit=1)[0], Kind.UNSUPPORTED)


def plan_nodes(plan: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The nodes of a plan, as EXPLAIN (FORMAT JSON) nests them."""
    for node in plan:
        yield node
        yield from plan_nodes(node.get("children", []))
