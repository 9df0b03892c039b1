"""From a plan to rows: the private stage, and the query that lets its public columns out.

Rows leave in the order of a keyed hash of what they publish.  That order is a function of the published
rows alone: it says nothing about the order of the source, it is the same for the same seed on every
engine, and rows that are equal have no order among themselves that could be told.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.anonymizers.plan import KEY, Private, TablePlan
from ppdm_sql.engines.base import Engine
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import Name, aliased, column, own
from ppdm_sql.statements.rowtext import hash_numbers

STAGE = own("ppdm_stage")


def key_columns(source: Source) -> tuple[str, ...]:
    """The columns that say which person or row it is, for the joint check of several releases.

    The person if one is named, else the first identifier, else the quasi-identifiers themselves.
    """
    if source.entity is not None:
        return (source.entity,)
    return source.identifiers[:1] or tuple(sorted(source.quasi))


def private_columns(engine: Engine, source: Source, salt: str) -> Private:
    """The row's key as two salted numbers: who reads the link tables learns no identifier from them."""
    values = [column(name, "r") for name in key_columns(source)]
    return Private(dict(zip(KEY, hash_numbers(engine, values, salt=salt), strict=True)))


def build_stage(engine: Engine, plan: TablePlan) -> None:
    engine.create_table(STAGE, plan.query, temporary=True)
    engine.analyze(STAGE)


def published_query(engine: Engine, relation: Name, columns: Sequence[str], seed: int) -> exp.Select:
    """The public columns of a relation, listed one by one, in keyed-hash order."""
    picked = exp.Select(expressions=[aliased(column(name, "s"), name) for name in columns]).from_(relation.table("s"))
    first, second = hash_numbers(engine, [column(name, "s") for name in columns], salt=str(seed))
    return picked.order_by(first, second)
