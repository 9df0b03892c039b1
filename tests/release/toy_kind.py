"""A kind of release that ppdm_sql/ does not know: two tables as one release, the rows and the sizes of their classes."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from ppdm_sql.policy.policy import Publish
from ppdm_sql.release.kinds.stored import StoredRelease
from ppdm_sql.statements.names import Name, aliased, column

PREFIX = "twin_"


def sizes_name(name: Name) -> Name:
    return Name(*name.parts[:-1], f"{name.last}_sizes")


class TwinTables(StoredRelease):
    """Statements whose table is called twin_..."""

    def takes(self, statement):
        return isinstance(statement, Publish) and statement.name[-1].text.startswith(PREFIX)

    def describes(self, record):
        return record.relation_name.startswith(PREFIX)

    def show(self, engine, request, measured):
        super().show(engine, request, measured)
        quasi = [column(name) for name in request.source.quasi]
        sizes = exp.Select(expressions=[*quasi, aliased(exp.Count(this=exp.Star()), "size")])
        sizes = sizes.from_(request.target.storage.table()).group_by(*(one.copy() for one in quasi))
        engine.drop_table(sizes_name(request.name))
        engine.create_table(sizes_name(request.name), sizes)

    def verify(self, engine, record):
        found = super().verify(engine, record)
        if engine.relation_kind(sizes_name(record.name)) is None:
            return replace(found, problems=(*found.problems, "the table of sizes is gone"))
        return found

    def withdraw(self, engine, record):
        super().withdraw(engine, record)
        engine.drop_table(sizes_name(record.name))

    def title(self, record):
        return "twin tables"


KIND = TwinTables()
