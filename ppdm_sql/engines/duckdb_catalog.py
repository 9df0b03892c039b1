"""What DuckDB says of its relations, types and macros, read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ppdm_sql.engines.columns import Kind, Rows
from ppdm_sql.statements.names import Name

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
