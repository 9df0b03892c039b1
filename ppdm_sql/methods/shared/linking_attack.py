"""The last step before a tree may leave: the linking attack on the finished tree, which knows nothing of its making."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import RequirementBreached
from ppdm_sql.induction.criteria import Ints
from ppdm_sql.methods.plan import ONE_LEAF
from ppdm_sql.methods.shared.class_limits import ClassDemands
from ppdm_sql.policy.words import many
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import aliased, column
from ppdm_sql.trees.audit import CLASS, SPAN, Audit, audit, stored_spans
from ppdm_sql.trees.tree import Tree


def attacked(engine: Engine, tree: Tree, source: Source, demands: ClassDemands) -> Audit:
    """What an attacker gets from the tree; RequirementBreached if that is more than the policy allows."""
    public = [name for name in source.quasi if name != source.target]
    found = audit(
        engine, tree, source.relation, public=public, class_is_public=demands.class_is_public, entity=source.entity,
        k=demands.k,
    )  # fmt: skip
    told = [source.target] if demands.class_must_be_diverse else []
    told += [one.name for one in demands.hidden]
    wrong = sum(
        int(np.count_nonzero(~demands.are_diverse(span_histograms(engine, tree, source, demands, name))))
        for name in told
    )
    if found.k < demands.k or wrong:
        raise RequirementBreached(
            f"the tree breaks the policy: {found.below} of {found.spans} groups that an attacker can form have fewer "
            f"than {demands.k} {demands.counted}, {wrong} break another requirement; nothing was published"
        )
    return found


def span_histograms(engine: Engine, tree: Tree, source: Source, demands: ClassDemands, told: str | None = None) -> Ints:
    """The counts of a column's values, or of the classes, in every group that an attacker can form."""
    public = [name for name in source.quasi if name != source.target]
    table = stored_spans(
        engine, [tree], source.relation, public, class_is_public=demands.class_is_public, entity=None, told=told
    )  # fmt: skip
    keys = [column(SPAN), column(CLASS)]
    query = exp.Select(expressions=[*keys, aliased(exp.Count(this=exp.Star()), "ppdm_n")])
    rows = engine.fetch(query.from_(table.table()).group_by(*(key.copy() for key in keys)))
    engine.work.drop(table)
    spans = {span: place for place, span in enumerate(dict.fromkeys(row[0] for row in rows))}
    classes = {value: place for place, value in enumerate(dict.fromkeys(row[1] for row in rows))}
    counts = np.zeros((len(spans), len(classes)), dtype=np.int64)
    for span, value, number in rows:
        counts[spans[span], classes[value]] += number
    return counts


def attack_step(found: Audit, who: str) -> str:
    return f"audit the tree: {many(found.spans, 'group')}, the smallest of {many(found.k, who)}"


def one_leaf_step(tree: Tree) -> tuple[str, ...]:
    """Nobody should take it for a model that asks something."""
    return (ONE_LEAF,) if len(tree.nodes) == 1 else ()


def figures_of(tree: Tree, found: Audit) -> dict[str, int | Fraction | str]:
    """What is known of a model besides the tree."""
    return {
        "leaves": len(tree.leaves),
        "depth": tree.depth,
        "spans": found.spans,
        "k of the model": found.k,
        "exposed rows": found.exposed_rows,
        "max confidence": found.confidence,
    }
