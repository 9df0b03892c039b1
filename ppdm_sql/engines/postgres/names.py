"""Which relations of a statement are named without a schema, so that the user's search path decides; calls of walls."""

from __future__ import annotations

from sqlglot import exp, parse_one

from ppdm_sql.statements.names import PREFIX, SCHEMA, Name, identifier


def is_loose(table: exp.Table) -> bool:
    """Whether a relation is named without a schema: no CTE, no function, no schema, no new temporary table."""
    if not isinstance(table.this, exp.Identifier) or table.args.get("db") is not None:
        return False
    parent = table.parent
    if isinstance(parent, exp.Create | exp.Drop) and parent.args.get("kind") not in ("TABLE", "VIEW"):
        return False
    return not _is_cte(table) and not (is_new(table) and _makes_temporary(table))


def _made_by(table: exp.Table) -> exp.Create | None:
    owner = table.parent.parent if isinstance(table.parent, exp.Schema) else table.parent
    head = table.parent if isinstance(table.parent, exp.Schema) else table
    return owner if isinstance(owner, exp.Create) and owner.this is head else None


def is_new(table: exp.Table) -> bool:
    made = _made_by(table)
    return made is not None and made.args.get("kind") in ("TABLE", "VIEW")


def _makes_temporary(table: exp.Table) -> bool:
    made = _made_by(table)
    return made is not None and made.find(exp.TemporaryProperty) is not None


def _is_cte(table: exp.Table) -> bool:
    """Whether a WITH around the table defines its name before it is used."""
    inside: exp.Expr = table
    around = table.parent
    while around is not None:
        known = around.expressions if isinstance(around, exp.With) else _ctes(around.args.get("with_"), inside)
        for cte in known:
            if isinstance(around, exp.With) and cte is inside and not around.recursive:
                break  # only those before it; itself and later ones with RECURSIVE
            if cte.alias == table.name:
                return True
        inside, around = around, around.parent
    return False


def _ctes(clause: exp.With | None, inside: exp.Expr) -> list[exp.Expr]:
    return list(clause.expressions) if clause is not None and clause is not inside else []


# -- walls -----------------------------------------------------------------------------------------------


def wall_call(name: Name) -> exp.Table:
    """The call of the function in front of a relation, to read from.

    >>> wall_call(Name("ppdm", "ppdm_live_shown_1")).sql("postgres")
    '"ppdm"."ppdm_live_shown_1"()'
    """
    call = exp.Anonymous(this=identifier(name.last))
    return exp.Table(this=exp.Dot(this=identifier(name.schema or SCHEMA), expression=call))


def without_walls(text: str) -> str:
    """A view's query that reads through a wall, as if it read the relation behind it.

    >>> without_walls("SELECT s.a FROM ppdm.ppdm_live_shown_1() s(a, b)")
    'SELECT s.a FROM "ppdm"."ppdm_live_shown_1" AS s(a, b)'
    """
    tree = parse_one(text, dialect="postgres")
    for table in list(tree.find_all(exp.Table)):
        call = table.this
        if isinstance(call, exp.Anonymous) and table.db == SCHEMA and call.name.startswith(PREFIX):
            table.set("this", identifier(call.name))
            table.set("db", identifier(SCHEMA))
    return tree.sql("postgres", comments=False)
