"""The spans of cells in a finished tree, written as trees/audit.py writes those of rows, and what an attacker gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ppdm_sql.errors import RequirementBreached
from ppdm_sql.induction.candidates import Found
from ppdm_sql.induction.criteria import Ints, entropy
from ppdm_sql.induction.grow import Grown
from ppdm_sql.methods.kadet.model import Learned
from ppdm_sql.trees.audit import Audit
from ppdm_sql.trees.audit_groups import STOPS

_NOBODY = -1  # a value that no branch is for: its people stop


@dataclass(frozen=True)
class CellSpans:
    """Per cell the number of its span, and per span its text."""

    of_cell: Ints
    texts: Sequence[str]


def cell_spans(learned: Learned) -> CellSpans:
    """Sends the cells down the tree: to one branch of a public question, to all branches of a private one."""
    nodes, table = learned.growth.nodes, learned.table
    asks = _asking(nodes, [one.public for one in learned.asked])
    span = np.zeros(len(table.cells), dtype=np.int64)
    texts = [""]
    waiting = [(0, np.arange(len(span)))]
    while waiting:
        number, here = waiting.pop()
        split = nodes[number].split
        if split is None or not asks[number] or not len(here):
            continue
        children = nodes[number].children
        if not learned.asked[split.attribute].public:
            waiting += [(child, here) for child in reversed(children)]
            continue
        branch = _branches(split, table.attributes[split.attribute].size)[table.cell_codes(split.attribute)[here]]
        width = len(children) + 1
        key, place = np.unique(span[here] * width + branch + 1, return_inverse=True)
        span[here] = len(texts) + place
        texts += [texts[one // width] + _written(one % width - 1) for one in key.tolist()]
        waiting += [(child, here[branch == taken]) for taken, child in reversed([*enumerate(children)])]
    found, of_cell = np.unique(span, return_inverse=True)
    return CellSpans(of_cell, [texts[one] for one in found.tolist()])


def _asking(nodes: Sequence[Grown], public: Sequence[bool]) -> list[bool]:
    """Per node, whether a public question is asked there or below."""
    asks = [False] * len(nodes)
    for node in reversed(nodes):  # children have higher numbers
        if node.split is not None:
            asks[node.number] = public[node.split.attribute] or any(asks[child] for child in node.children)
    return asks


def _branches(split: Found, size: int) -> Ints:
    """The branch of every code."""
    if split.cut is not None:
        return (np.arange(size) > split.cut).astype(np.int64)
    branch = np.full(size, _NOBODY)
    for number, codes in enumerate(split.groups):
        branch[codes] = number
    return branch


def _written(branch: int) -> str:
    return STOPS if branch == _NOBODY else f"{branch};"


def attacked_cells(learned: Learned, spans: CellSpans) -> Audit:
    """What an attacker gets from the tree; RequirementBreached if that is more than the policy allows."""
    table, demands = learned.table, learned.demands
    histograms = np.zeros((len(spans.texts), table.number), dtype=np.int64)
    np.add.at(histograms, (spans.of_cell[table.cell], table.kinds), table.rows)
    wrong = int(np.count_nonzero(~demands.hold(histograms)))
    if wrong:
        raise RequirementBreached(
            f"the tree breaks the policy: {wrong} of {len(spans.texts)} groups that an attacker can form break a "
            "requirement; nothing was published"
        )
    rows, people = demands.rows(histograms), demands.people(histograms)
    if demands.class_is_public:  # the people of one span and one class are a group
        sizes = heads = rows[rows > 0]
        people, bits = people[rows > 0], np.zeros(1)
    else:
        sizes, heads = rows.sum(axis=1), rows.max(axis=1)
        people, bits = people.sum(axis=1), entropy(rows) / sizes
    return Audit(
        rows=int(sizes.sum()),
        spans=len(sizes),
        k=int(people.min()),
        exposed_rows=int(sizes[heads == sizes].sum()),
        confidence=max(map(Fraction, heads.tolist(), sizes.tolist())),
        entropy_bits=float(bits.min()),
        public=learned.public,
        class_is_public=demands.class_is_public,
    )
