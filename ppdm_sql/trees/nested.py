"""The nested sequence of trees with 1, 2, 3, ... splits, from one growth.

Grown best-first, a tree with one split more is the same tree with one leaf expanded.  So it is grown once, to a
limit, and every prefix of its expansions is the tree that a lower limit gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.statements.names import Name
from ppdm_sql.trees.coded import make_training
from ppdm_sql.trees.grow import Grown, grow
from ppdm_sql.trees.inducers import Settings, limits_of, most_nodes, root_of, rules_of
from ppdm_sql.trees.tree_rows import EngineRows
from ppdm_sql.watching import Progress, silent


@dataclass(frozen=True)
class Nested:
    """A best-first growth.  Splits are in codes: the places of the values in the column's order, NULL last."""

    nodes: tuple[Grown, ...]
    order: tuple[int, ...]  # the nodes that were split, first to last
    limit: int  # leaves it was allowed
    complete: bool  # no leaf could be split if the limit were higher


def grow_nested(
    engine: Engine,
    relation: Name,
    attributes: Sequence[ColumnInfo],
    target: ColumnInfo,
    chosen: Settings,
    *,
    limit: int,
    progress: Progress = silent,
) -> Nested:
    """Grows at most this many leaves, without pruning, every value looked at."""

    def make() -> Nested:
        return _grow_nested(engine, relation, attributes, target, chosen, limit, progress)

    return engine.work.once(relation, ("nested", tuple(attributes), target, chosen, limit), make)


def _grow_nested(
    engine: Engine,
    relation: Name,
    attributes: Sequence[ColumnInfo],
    target: ColumnInfo,
    chosen: Settings,
    limit: int,
    progress: Progress,
) -> Nested:
    training = make_training(
        engine,
        relation,
        attributes,
        target,
        regression=chosen.inducer == "regression",
        bins=chosen.bins,
        exact=True,
        rare=1,
        most_nodes=most_nodes(chosen),
    )
    rules = rules_of(chosen, len(training.classes))
    limits = limits_of(replace(chosen, max_leaves=limit))
    nodes = grow(EngineRows(engine, training), root_of(engine, training), rules, limits, None, progress)
    # children are appended when their parent is split, so their numbers tell the order
    order = sorted((node.number for node in nodes if node.children), key=lambda n: nodes[n].children[0])
    leaves = sum(not node.children for node in nodes)
    widest = 2 if rules.subsets else max([2, *(one.size for one in training.attributes)])
    return Nested(tuple(nodes), tuple(order), limit, leaves + widest - 1 <= limit)
