"""The values of several columns counted by one statement, which reads the rows once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from ppdm_sql.statements.names import aliased

SET = "ppdm_set"
TOGETHER = 20  # columns that one statement takes; engines limit GROUPING


def count_each(relation: exp.Expr, keys: Mapping[int, Sequence[exp.Column]], counted: Sequence[exp.Expr]) -> exp.Select:
    """One GROUP BY for each of the numbered keys, all in one pass.  SET is the number of the key that a row is of.

    >>> from ppdm_sql.statements.names import Name, column
    >>> count_each(Name("t").table(), {0: [column("a")], 1: [column("b")]}, [exp.Count(this=exp.Star())]).sql()
    'SELECT CASE WHEN GROUPING("a") = 0 THEN 0 WHEN GROUPING("b") = 0 THEN 1 END AS "ppdm_set", "a", "b", COUNT(*) \
FROM "t" GROUP BY GROUPING SETS (("a"), ("b"))'
    """
    which = exp.Case(ifs=[_is_key_of(columns[0], number) for number, columns in keys.items()])
    picked = [one.copy() for columns in keys.values() for one in columns]
    query = exp.Select(expressions=[aliased(which, SET), *picked, *counted]).from_(relation)
    sets = [exp.Tuple(expressions=[one.copy() for one in columns]) for columns in keys.values()]
    query.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=sets)]))
    return query


def _is_key_of(column: exp.Column, number: int) -> exp.If:
    grouped = exp.Anonymous(this="GROUPING", expressions=[column.copy()])
    here = exp.EQ(this=grouped, expression=exp.Literal.number(0))
    return exp.If(this=here, true=exp.Literal.number(number))
