"""Who is one person: the values of an ENTITY column, which must be told apart by its bytes alone."""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.source.encode import canonical
from ppdm_sql.statements.names import Name, aliased, column

_PERSON, _WRITTEN = "ppdm_person", "ppdm_written"


def refuse_spellings(engine: Engine, relation: Name, info: ColumnInfo) -> None:
    """Refuses persons that the column's collation calls one and their bytes two.

    Everything here counts by bytes: it would take p1 and P1 for two people, and k would be too high.
    """
    if info.kind is not Kind.TEXT:
        return
    picked = [aliased(column(info.name, "r"), _PERSON), aliased(canonical(engine, info, "r"), _WRITTEN)]
    written = exp.Select(expressions=picked).from_(relation.table("r"))
    several = exp.NEQ(this=exp.Min(this=column(_WRITTEN, "p")), expression=exp.Max(this=column(_WRITTEN, "p")))
    merged = exp.Select(expressions=[aliased(exp.Count(this=exp.Star()), "ppdm_rows")])
    merged = merged.from_(written.subquery("p")).group_by(column(_PERSON, "p")).having(several)
    (found,) = engine.fetch_one(exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(merged.subquery("m")))
    if found:
        raise PolicyError(
            f'column "{info.name}": {int(found):,} ENTITY values differ only in spelling that the collation of the '
            "column ignores (such as case).  Normalize them in the SELECT, for example with LOWER"
        )
