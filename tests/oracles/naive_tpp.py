"""TPP over rows in Python: a tree grown by the naive inducer, the table recoded as its splits allow.

Growing stays with naive_tree; what is tested is the recoding: does the same tree come out of the recoded rows?
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from oracles.naive_tree import Cut, Groups, Node, Rules, grow


@dataclass
class Column:
    """A column's distinct values in order, the rows of each, and the splits of every node that asks for it."""

    values: list
    rows: list[int]
    pairs: list[tuple[int, int]]
    branches: list[list[list[int]]]
    multiway: bool


def grown(rows: list[dict], attributes: list[tuple[str, bool]], target: str, how: Rules) -> Node:
    """The tree; every row must have an "id", by which partitions are compared."""
    return grow([{**row} for row in rows], attributes, target, how).root


def columns(rows: list[dict], attributes: list[tuple[str, bool]], roots: list[tuple[Node, bool]]) -> dict[str, Column]:
    """The columns in use by any of the trees (root, multiway)."""
    found: dict[str, Column] = {}
    for root, multiway in roots:
        for node in root.walk():
            if node.split is None:
                continue
            name = attributes[node.split.attribute][0]
            if name not in found:
                held = Counter(row[name] for row in rows)
                values = sorted(held)
                found[name] = Column(values, [held[value] for value in values], [], [], False)
            add(found[name], node.split, multiway)
    return found


def add(column: Column, split: Cut | Groups, multiway: bool) -> None:
    place = {value: number for number, value in enumerate(column.values)}
    if isinstance(split, Cut):
        column.pairs.append((place[split.gap[0]], place[split.gap[1]]))
    else:
        column.branches.append([[place[value] for value in group] for group in split.named])
        column.multiway |= multiway


def partition(root: Node) -> list[tuple]:
    """Every node as the ids of its rows, the column it asks for and, of a cut, the sum of its two neighbours."""
    told = []
    for node in root.walk():
        ids = frozenset(row["id"] for row in node.rows)
        split = node.split
        total = sum(split.gap) if isinstance(split, Cut) else None
        told.append((ids, None if split is None else split.attribute, total))
    return told
