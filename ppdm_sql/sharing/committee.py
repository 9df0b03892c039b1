"""Bagging as Tian et al. use it: the published models are the committee, one vote each, in SQL over any table."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.classifiers.votes import majority_query
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.sharing.collect import Shared, check_fit
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.trees.expression import bind, class_expression, kept_columns


def vote(engine: Engine, shared: Sequence[Shared], relation: Name, into: Name, keep: Sequence[str]) -> int:
    """Writes the kept columns of every row and the class most models choose into a new table."""
    check_fit(shared)
    engine.check_writable()
    if engine.relation_kind(into) is not None:
        raise PolicyError(f"table {into} already exists and will not be overwritten")
    names = kept_columns(engine, relation, keep)
    query = exp.Select(expressions=[column(name, "r") for name in names]).from_(relation.table("r"))
    members = [f"ppdm_v{number}" for number in range(len(shared))]
    for name, one in zip(members, shared, strict=True):
        fitting = bind(engine, one.tree, relation)
        query = query.select(aliased(class_expression(engine, fitting, "r"), name), copy=False)
    target, lists = shared[0].tree.target, [one.tree.classes for one in shared]
    with engine.workspace() as work:
        answers = work.table("answers", query)
        engine.create_table(into, majority_query(target, lists, answers, members, names, engine=engine))
    counted = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(into.table())
    return int(engine.fetch_one(counted)[0])
