"""Bagging as Tian et al. use it: the published models are the committee, one vote each, in SQL over any table.

plurality   the class of most votes (the default)
majority    the class of more than half of the votes; NULL where there is none
shares      the class with the greatest sum of the shares that the models' leaves have of it
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.classifiers.votes import Member, node_shares, shares_query, votes_query
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.sharing.collect import Shared, check_fit
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.trees.expression import bind, class_expression, kept_columns, node_expression
from ppdm_sql.trees.tree import Tree

RULES = ("plurality", "majority", "shares")
_NODE = "ppdm_node"


def vote(
    engine: Engine, shared: Sequence[Shared], relation: Name, into: Name, keep: Sequence[str], rule: str = RULES[0]
) -> int:
    """Writes the kept columns of every row and the class that the models choose by a rule into a new table."""
    check_fit(shared)
    if rule not in RULES:
        raise PolicyError(f"there is no rule {rule} for votes; valid rules: {', '.join(RULES)}")
    engine.check_writable()
    if engine.relation_kind(into) is not None:
        raise PolicyError(f"table {into} already exists and will not be overwritten")
    names = kept_columns(engine, relation, keep)
    fitting = [bind(engine, one.tree, relation) for one in shared]
    by_votes = rule != "shares"
    query = exp.Select(expressions=[column(name, "r") for name in names]).from_(relation.table("r"))
    members = [f"ppdm_v{number}" for number in range(len(shared))]
    for name, tree in zip(members, fitting, strict=True):
        answer = class_expression(engine, tree, "r") if by_votes else node_expression(engine, tree, "r")
        query = query.select(aliased(answer, name), copy=False)
    with engine.workspace() as work:
        answers = work.table("answers", query)
        if by_votes:
            chosen = votes_query(
                fitting[0].target, [one.classes for one in fitting], answers, members, names,
                more_than_half=rule == "majority", engine=engine,
            )  # fmt: skip
        else:
            scores, scored = _with_shares(engine, fitting, answers, members, names)
            chosen = shares_query(fitting[0].target, scored, scores, names)
        engine.create_table(into, chosen)
    counted = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(into.table())
    return int(engine.fetch_one(counted)[0])


def _with_shares(
    engine: Engine, trees: Sequence[Tree], answers: Name, members: Sequence[str], names: Sequence[str]
) -> tuple[Name, list[Member]]:
    """The rows with the share of every class in the node where each model ends: one small table per model, joined."""
    import pyarrow as pa

    query = exp.Select(expressions=[column(name, "a") for name in names]).from_(answers.table("a"))
    found = []
    for place, (tree, member) in enumerate(zip(trees, members, strict=True)):
        shares = [node_shares(node) for node in tree.nodes]
        columns = tuple(f"ppdm_s{place}_{number}" for number in range(len(tree.classes)))
        held = {_NODE: pa.array([node.number for node in tree.nodes], pa.int32())}
        held |= {name: pa.array([one[number] for one in shares], pa.int64()) for number, name in enumerate(columns)}
        table = engine.work.load("shares", held, analyze=True)
        same = exp.EQ(this=column(_NODE, f"s{place}"), expression=column(member, "a"))
        query = query.join(table.table(f"s{place}"), on=same)
        query = query.select(*(column(name, f"s{place}") for name in columns))
        found.append(Member(tree.classes, columns))
    return engine.work.table("scores", query), found
