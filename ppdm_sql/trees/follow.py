"""The way of one row through a tree, in Python: what the SQL of expression.py and predict.py gives."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

from ppdm_sql.errors import PolicyError
from ppdm_sql.trees.comparing import is_below, key
from ppdm_sql.trees.tree import Bands, Cut, Groups, Node, Split, Tree, Value

Row = Mapping[str, object]


def follow(tree: Tree, row: Row) -> int:
    """The number of the node where a row ends; its values are Python's own, None is NULL."""
    return follower(tree)(row)


def prediction(tree: Tree, row: Row) -> Value:
    """What a row is taken to be."""
    return tree.prediction(tree.nodes[follow(tree, row)])


def follower(tree: Tree) -> Callable[[Row], int]:
    """The same for many rows: what can be made ready is made ready once."""
    branches = {node.number: _branch_of(tree, node) for node in tree.nodes if isinstance(node.split, Groups)}

    def end(row: Row) -> int:
        node = tree.root
        while node.split is not None:
            value = _value(tree, node.split, row)
            if isinstance(node.split, Cut):
                branch = _cut_branch(tree, node.split, value)
            elif isinstance(node.split, Bands):
                branch = _band_branch(tree, node.split, value)
            else:
                named = branches[node.number]
                where = key(tree.attributes[node.split.attribute], value)
                # NULL is not one of the values that `others` stands for: where training had none, it stops.
                branch = named.get(where, node.split.others if value is not None else None)
            if branch is None:
                return node.number
            node = tree.nodes[node.children[branch]]
        return node.number

    return end


def _value(tree: Tree, split: Split, row: Row) -> object:
    name = tree.attributes[split.attribute].name
    try:
        return row[name]
    except KeyError:
        raise PolicyError(f'the row has no column "{name}", which the tree needs') from None


def _cut_branch(tree: Tree, split: Cut, value: object) -> int | None:
    if value is None:
        return split.nulls
    return 0 if is_below(tree.attributes[split.attribute], split.at, value) else 1


def _band_branch(tree: Tree, split: Bands, value: object) -> int | None:
    if value is None:
        return split.nulls
    attribute = tree.attributes[split.attribute]
    band = next((band for band, at in enumerate(split.at) if is_below(attribute, at, value)), len(split.at))
    return split.branches[band]


def _branch_of(tree: Tree, node: Node) -> dict[Hashable, int]:
    assert isinstance(node.split, Groups)
    attribute = tree.attributes[node.split.attribute]
    return {key(attribute, value): number for number, group in enumerate(node.split.groups) for value in group}
