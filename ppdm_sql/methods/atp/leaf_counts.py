"""The leaves of a finished tree counted again in the data: every row is sent down the tree, one GROUP BY counts.

Where every attribute is public a person's leaf is his span, so this is the linking attack of trees/audit.py.  It goes
by predict.py, which is quick for thousands of leaves, and shares nothing with the growth that made the tree.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import RequirementBreached, SourceChanged
from ppdm_sql.induction.criteria import Ints, entropy
from ppdm_sql.methods.shared.class_limits import ClassDemands
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import aliased, column
from ppdm_sql.trees.audit import Audit
from ppdm_sql.trees.comparing import key
from ppdm_sql.trees.expression import NODE
from ppdm_sql.trees.predict import prediction_query
from ppdm_sql.trees.tree import Tree


def recounted(engine: Engine, tree: Tree, source: Source, demands: ClassDemands) -> Audit:
    """What an attacker gets from the tree; refuses one whose leaves are not what they say, or break the policy."""
    counts = leaf_counts(engine, tree, source)
    leaves = tree.leaves
    if any(tuple(counts[leaf.number].tolist()) != leaf.counts for leaf in leaves) or counts.sum() != tree.root.rows:
        raise SourceChanged
    there = counts[[leaf.number for leaf in leaves]]
    wrong = ~demands.hold(there)
    if wrong.any():
        raise RequirementBreached(
            f"the tree breaks the policy in {int(wrong.sum())} of its {len(leaves)} leaves ({int(there[wrong].sum())} "
            "rows); nothing was published"
        )
    sizes, heads = there.sum(axis=1), there.max(axis=1)
    shares = [Fraction(int(head), int(size)) for head, size in zip(heads, sizes, strict=True)]
    return Audit(
        rows=int(sizes.sum()),
        spans=len(leaves),
        k=int(sizes.min()),
        exposed_rows=int(sizes[heads == sizes].sum()),
        confidence=max(shares),
        entropy_bits=float((entropy(there) / sizes).min()),
        below=0,
        rows_below=0,
        public=tuple(name for name in source.quasi if name != source.target),
    )


def leaf_counts(engine: Engine, tree: Tree, source: Source) -> Ints:
    """Per node the rows that end there, by class."""
    assert source.target is not None
    keys = [column(NODE, "p"), column(source.target, "p")]
    query = exp.Select(expressions=[*keys, aliased(exp.Count(this=exp.Star()), "ppdm_n")])
    with engine.workspace():
        told = prediction_query(engine, tree, source.relation, [source.target])
        rows = engine.fetch(query.from_(told.subquery("p", copy=False)).group_by(*(one.copy() for one in keys)))
    places = {key(tree.target, value): place for place, value in enumerate(tree.classes)}
    counts = np.zeros((len(tree.nodes), len(tree.classes)), dtype=np.int64)
    for node, value, number in rows:
        place = places.get(key(tree.target, value))
        if place is None:
            raise SourceChanged
        counts[node, place] += number
    return counts
