"""Encode once: every value of a column becomes a small integer, by look-up tables made in the database.

A look-up table holds the distinct values of one column in their natural order, their codes 0, 1, 2 ...
and how many rows have each.  NULL is a value of its own and has the last code.  Counting by such codes
is what makes everything after this step quick (benchmarks/: an array index instead of a hash of text).

The joins are LEFT JOINs on equality, because IS NOT DISTINCT FROM cannot be hashed on every engine; a
NULL finds no partner and gets its code by CASE.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Engine, Kind, Rows
from ppdm_sql.errors import SourceChanged
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


@dataclass(frozen=True)
class Coded:
    """The working table of an algorithm: one row per source row, codes with what passes unchanged."""

    table: Name
    codes: Mapping[str, str]  # source column -> code column
    passed: Mapping[str, str]  # source column -> its unchanged copy
    rows: int


def encode(
    engine: Engine,
    relation: Name,
    lookups: Mapping[str, Lookup],
    passed: Sequence[str],
    *,
    extra: Mapping[str, exp.Expr] | None = None,
) -> Coded:
    """One pass over the source: codes for the looked-up columns, the passed ones as they are."""

    def make() -> Coded:
        return _encode(engine, relation, lookups, passed, extra or {})

    if not all(engine.work.keeps(lookup.table) for lookup in lookups.values()):  # codes of this plan alone
        return make()
    coded = tuple((name, lookup.table, lookup.size, lookup.null_code) for name, lookup in lookups.items())
    beside = tuple((name, engine.render(expression)) for name, expression in (extra or {}).items())
    return engine.work.once(relation, ("coded", coded, tuple(passed), beside), make)


def _encode(
    engine: Engine,
    relation: Name,
    lookups: Mapping[str, Lookup],
    passed: Sequence[str],
    extra: Mapping[str, exp.Expr],
) -> Coded:
    code_names = {name: f"ppdm_c{number}" for number, name in enumerate(lookups)}
    passed_names = {name: f"ppdm_p{number}" for number, name in enumerate(passed)}
    work = engine.work
    with engine.workspace():  # of the steps of the join
        query, codes = joined_lookups(engine, exp.Select().from_(relation.table("r")), list(lookups.values()), "r")
        _pick(engine, query, codes, lookups, code_names, passed_names, extra)
        table = work.table("coded", query, analyze=True)
    return Coded(table, code_names, passed_names, _check_complete(engine, table, code_names, lookups))


def _pick(
    engine: Engine,
    query: exp.Select,
    codes: Sequence[exp.Expr],
    lookups: Mapping[str, Lookup],
    code_names: Mapping[str, str],
    passed_names: Mapping[str, str],
    extra: Mapping[str, exp.Expr],
) -> None:
    """Adds to the query the columns of the coded table."""
    for lookup, code, name in zip(lookups.values(), codes, code_names.values(), strict=True):
        query.select(aliased(exp.Cast(this=code, to=engine.code_type(lookup.size)), name), copy=False)
    for name, copy in passed_names.items():
        query.select(aliased(column(name, "r"), copy), copy=False)
    for name, expression in extra.items():
        query.select(aliased(expression.copy(), name), copy=False)


def _check_complete(engine: Engine, table: Name, codes: Mapping[str, str], lookups: Mapping[str, Lookup]) -> int:
    """Every row has every code, or the source changed between two reads."""
    holes = [exp.Count(this=column(code)) for code in codes.values()]
    rows, *filled = engine.fetch_one(exp.Select(expressions=[exp.Count(this=exp.Star()), *holes]).from_(table.table()))
    if any(count != rows for count in filled):
        raise SourceChanged
    return int(rows)
