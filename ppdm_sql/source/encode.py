"""Every value of a column becomes a small integer, by look-up tables made in the database.

A look-up table holds the distinct values of one column in their natural order, their codes 0, 1, 2 ...
and how many rows have each.  NULL is a value of its own and has the last code.  Counting by such codes
is what makes everything after this step quick (benchmarks/: an array index instead of a hash of text).

The joins are LEFT JOINs on equality, because IS NOT DISTINCT FROM cannot be hashed on every engine; a
NULL finds no partner and gets its code by CASE.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Engine, Kind, Rows
from ppdm_sql.source.join import Join, join_in_steps
from ppdm_sql.statements.names import Name, aliased, column

VALUE, CODE, ROWS = "ppdm_value", "ppdm_code", "ppdm_rows"


@dataclass(frozen=True)
class Lookup:
    """The codes of one column: code 0 .. size - 1, in the order of the values, NULL last."""

    column: ColumnInfo
    table: Name  # (ppdm_value, ppdm_code, ppdm_rows), without the NULL
    size: int
    null_code: int | None

    def values(self, engine: Engine) -> Rows:
        """(value, rows) of every code but NULL's, in code order."""
        picked = exp.Select(expressions=[column(VALUE), column(ROWS)]).from_(self.table.table())
        return engine.fetch(picked.order_by(column(CODE)))


def canonical(engine: Engine, info: ColumnInfo, table: str | None = None) -> exp.Expr:
    """A column as it is grouped and compared: text by its bytes, whatever collation it was declared with."""
    plain = column(info.name, table)
    if info.kind in (Kind.TEXT, Kind.UUID):
        return engine.exact_text(plain)
    return plain


def make_lookup(engine: Engine, relation: Name, info: ColumnInfo) -> Lookup:
    """The look-up table of one column, made by one GROUP BY."""
    return engine.work.once(relation, ("lookup", info), lambda: _lookup(engine, relation, info))


def _lookup(engine: Engine, relation: Name, info: ColumnInfo) -> Lookup:
    value = canonical(engine, info)
    grouped = exp.Select(expressions=[aliased(value, VALUE), aliased(exp.Count(this=exp.Star()), ROWS)])
    grouped = grouped.from_(relation.table()).where(_is_known(value)).group_by(value.copy())

    position = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=[exp.Ordered(this=column(VALUE))]))
    coded = exp.Select(
        expressions=[
            column(VALUE),
            aliased(exp.cast(exp.Sub(this=position, expression=exp.Literal.number(1)), "INT"), CODE),
            column(ROWS),
        ]
    ).from_(exp.Subquery(this=grouped, alias=exp.TableAlias(this=exp.to_identifier("ppdm_counts"))))
    table = engine.work.table("lookup", coded, analyze=True)

    missing = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(relation.table())
    missing = missing.where(exp.Is(this=column(info.name), expression=exp.Null()))
    counted = [exp.Count(this=exp.Star()), exp.Subquery(this=missing)]
    known, nulls = engine.fetch_one(exp.Select(expressions=counted).from_(table.table()))
    return Lookup(info, table, known + (nulls > 0), null_code=known if nulls else None)


def _is_known(value: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null()))


def recode(engine: Engine, lookup: Lookup, order: Sequence[int]) -> Lookup:
    """The same look-up with other codes: order[old code] is the new one (a hierarchy's depth-first order)."""
    import pyarrow as pa

    old, new = pa.array(range(len(order)), pa.int32()), pa.array(order, pa.int32())
    moves = engine.work.load("moves", {"ppdm_old": old, CODE: new})
    joined = (
        exp.Select(expressions=[column(VALUE, "l"), column(CODE, "m"), column(ROWS, "l")])
        .from_(lookup.table.table("l"))
        .join(moves.table("m"), on=exp.EQ(this=column("ppdm_old", "m"), expression=column(CODE, "l")))
    )
    table = engine.work.table("lookup", joined, analyze=True)
    return Lookup(lookup.column, table, lookup.size, lookup.null_code)


def code_of(lookup: Lookup, alias: str, source_alias: str) -> exp.Expr:
    """The code of the row's value, where the look-up table is joined under this alias.

    Not COALESCE: a value that came after the look-up was made has no code, and must not pass for NULL.
    """
    code: exp.Expr = column(CODE, alias)
    if lookup.null_code is not None:
        missing = exp.Is(this=column(lookup.column.name, source_alias), expression=exp.Null())
        code = exp.Case().when(missing, exp.Literal.number(lookup.null_code)).else_(code)
    return code


def joined_lookups(
    engine: Engine, query: exp.Select, lookups: Sequence[Lookup], source_alias: str
) -> tuple[exp.Select, list[exp.Expr]]:
    """The query joined to every look-up table, and the code expression of each."""
    joins = [
        Join(
            lookup.table,
            VALUE,
            canonical(engine, lookup.column, source_alias),
            lambda alias, lookup=lookup: code_of(lookup, alias, source_alias),  # type: ignore[misc]
            "left",
        )
        for lookup in lookups
    ]
    return join_in_steps(engine, query, joins, source_alias, "ppdm_joined")
