"""Many small tables joined to one relation, a bounded number of them in one statement.

The time an engine takes to plan a statement grows with the cube of its joins: DuckDB plans 40 joins in a tenth of a
second and 300 in more than a minute, for 60 rows.  So a relation with hundreds of columns is joined in steps.  What a
step reads becomes columns of a working table, which the next step starts from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.statements.names import Name, aliased, column, identifier

MOST_JOINS = 20  # in one statement


@dataclass(frozen=True)
class Join:
    """A table that holds one row per key, and what is read of it."""

    table: Name
    key: str
    value: exp.Expr  # what the key is compared with, in the relation
    read: Callable[[str], exp.Expr]  # given the alias of the table
    kind: str | None = None  # None: an inner join


def join_in_steps(
    engine: Engine, query: exp.Select, joins: Sequence[Join], alias: str, name: str
) -> tuple[exp.Select, list[exp.Expr]]:
    """The query joined to every table, and what is read of each.

    query: FROM one relation under the alias, without columns or with columns of that relation.  Up to MOST_JOINS
    joins nothing is stored.  Beyond, working tables hold all columns of the relation, and
    what was read under this name and a number.
    """
    query, values = query.copy(), list[exp.Expr]()
    turns = cycle([engine.work.name("joined"), engine.work.name("joined")])  # one is read, one is written
    while len(joins) - len(values) > MOST_JOINS:
        first = len(values)
        star = exp.Column(this=exp.Star(), table=identifier(alias))
        step = exp.Select(expressions=[star]).from_(query.args["from_"].this, copy=True)
        read = _join(step, joins[first : first + MOST_JOINS], first)
        step.select(*(aliased(one, f"{name}_{first + place}") for place, one in enumerate(read)), copy=False)
        stored = next(turns)
        engine.create_table(stored, step, temporary=True)
        query.from_(stored.table(alias), copy=False)
        values += [column(f"{name}_{first + place}", alias) for place in range(len(read))]
    first = len(values)
    return query, values + _join(query, joins[first:], first)


def _join(query: exp.Select, joins: Sequence[Join], first: int) -> list[exp.Expr]:
    """Adds the joins to the query itself: a copy for each would be quadratic."""
    for number, join in enumerate(joins, first):
        on = exp.EQ(this=column(join.key, f"l{number}"), expression=join.value.copy())
        query.join(join.table.table(f"l{number}"), on=on, join_type=join.kind, copy=False)
    return [join.read(f"l{number}") for number, join in enumerate(joins, first)]
