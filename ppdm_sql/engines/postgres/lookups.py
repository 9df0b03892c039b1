"""What PostgreSQL's catalog says of relations: along the user's search path, and asked once where it is remembered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from ppdm_sql.engines.base import ColumnInfo, Row, Rows
from ppdm_sql.engines.postgres import statements
from ppdm_sql.engines.postgres import types as postgres_types
from ppdm_sql.engines.postgres.expressions import PostgresExpressions
from ppdm_sql.engines.postgres.names import without_walls
from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.names import Name


class PostgresCatalog(PostgresExpressions):
    """How relations are found."""

    _path: list[str]  # the schemas of the user's search path

    def check_builtins(self) -> None:
        found = [row[0] for row in self._looked_up("catalog/builtins_postgres")]
        if found:
            raise PolicyError(
                f"{', '.join(found)} was added to PostgreSQL's own functions, operators, casts and types in pg_catalog "
                "or changed there, so no measurement can be relied on: drop it, or restore what it replaced"
            )

    def columns(self, name: Name) -> list[ColumnInfo]:
        return list(self.facts.find("columns", name, lambda: self._describe(name)))

    def _describe(self, name: Name) -> list[ColumnInfo]:
        oid = self._oid(name)
        if oid is None:
            return []
        rows = self._looked_up("catalog/columns_postgres", relation=oid)
        return [ColumnInfo(row[0], postgres_types.kind_of(*row[2:]), row[1]) for row in rows]

    def relation_kind(self, name: Name) -> str | None:
        found = self._relation(name)
        return None if found is None else str(found[1])

    def relations(self, schema: str | None) -> list[str]:
        return [row[0] for row in self._list_relations(schema, None)]

    def view_query(self, name: Name) -> str | None:
        return self.facts.find("view", name, lambda: self._view_query(name))

    def _view_query(self, name: Name) -> str | None:
        oid = self._oid(name)
        return None if oid is None else self._looked_up("catalog/view_text_postgres", relation=oid)[0][0]

    def can_read(self, name: Name) -> bool:
        oid = self._oid(name)
        return oid is not None and bool(self._looked_up("catalog/readable_postgres", relation=oid)[0][0])

    def tables_read(self, view: Name, query: str) -> frozenset[str]:
        oid = self._oid(view)
        return frozenset(row[0] for row in self._looked_up("catalog/tables_read_postgres", relation=oid))

    def unsteady_names(self) -> frozenset[str]:
        rows = self._looked_up("catalog/unsteady_postgres")
        hidden = {"ctid", "tableoid", "xmin", "xmax", "cmin", "cmax"}
        return super().unsteady_names() | hidden | {row[0] for row in rows}

    def query_behind(self, name: Name) -> str | None:
        text = self.view_query(name)
        return None if text is None else without_walls(text)

    def comment_on(self, name: Name) -> str | None:
        oid = self._oid(name)
        return None if oid is None else self._looked_up("catalog/comment_postgres", relation=oid)[0][0]

    def qualified_name(self, name: Name) -> str:
        found = self._relation(name)
        return f"{found[2] or 'pg_temp'}.{found[0]}" if found is not None else str(name)

    def family(self, tables: Sequence[str], *, ancestors: bool = True) -> list[str]:
        rows = self._looked_up("catalog/family_postgres", names=list(tables), ancestors=ancestors)
        return list(dict.fromkeys([*tables, *(row[0] for row in rows)]))

    def look_up(self, names: Iterable[Name], *, columns: bool = False) -> None:
        self.facts.find_all("relation", names, self._find_relations)

    def _relation(self, name: Name) -> Row | None:
        return self.facts.find("relation", name, lambda: self._find_relations([name])[name])

    def _find_relations(self, names: Sequence[Name]) -> dict[Name, Row | None]:
        """Name, kind, schema and oid of each, as a query would find it."""
        found: dict[Name, Row | None] = dict.fromkeys(names)
        for schema, together in groupby(sorted(names, key=_schema_of), key=_schema_of):
            for row in self._list_relations(schema or None, [name.last for name in together]):
                name = Name(schema, row[0]) if schema else Name(row[0])
                found[name] = found[name] or row
        return found

    def _oid(self, name: Name) -> int | None:
        found = self._relation(name)
        return None if found is None else found[3]

    def _list_relations(self, schema: str | None, names: list[str] | None) -> Rows:
        self._check_names([*([schema] if schema else []), *(names or [])])
        return self._looked_up("catalog/relations_postgres", schema=schema, names=names, path=self._path)

    def _looked_up(self, file: str, /, **params: Any) -> Rows:
        with self._explain_errors(file):
            return self._quietly(file, **params)

    def _quietly(self, file: str, /, **params: Any) -> Rows:
        """A look into the catalog: part of every statement, so it is not shown with --show-sql."""
        return self._fetch(statements.catalog_text(file), params)

    def grantees(self, name: Name) -> list[str]:
        oid = self._oid(name)
        return [] if oid is None else [row[0] for row in self._looked_up("catalog/grants_postgres", relation=oid)]

    def hides_catalog(self) -> bool:
        return bool(self._looked_up("catalog/hidden_postgres"))

    def row_security(self, tables: Sequence[str]) -> list[str]:
        return [row[0] for row in self._looked_up("catalog/row_security_postgres", names=list(tables))]

    def past_readers(self, name: Name | None, release_id: str) -> list[str]:
        """Roles with a right today, and a word for those whose right was taken away: PostgreSQL keeps that trace."""
        oid = None if name is None else self._oid(name)
        rows = self._looked_up("catalog/past_readers_postgres", relation=oid, parts=f"%{release_id}")
        return [row[0] for row in rows]

    def _places(self, names: set[str]) -> dict[str, str | None]:
        """The schema of each relation that exists; None for a temporary one."""
        found = self.facts.find_all("relation", map(Name, sorted(names)), self._find_relations)
        return {name.last: row[2] for name, row in found.items() if row is not None}


def _schema_of(name: Name) -> str:
    return name.schema or ""
