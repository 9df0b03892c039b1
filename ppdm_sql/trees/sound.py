"""Whether a tree that came from outside is one: every node reached once, counts that add up, splits that fit."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.trees.comparing import MOMENTS, NUMBERS, key, position, read_moment
from ppdm_sql.trees.tree import Attribute, Bands, Cut, Groups, Node, Tree, Value

MOST_NODES = 100_000
_DEEPEST = 2_000
_MOST_ROWS = (1 << 63) - 1
_TYPES: dict[Kind, tuple[type, ...]] = {
    Kind.INTEGER: (int,),
    Kind.DECIMAL: (Decimal, int),
    Kind.FLOAT: (float, int, Decimal),
    Kind.BOOLEAN: (bool,),
}


def check_tree(tree: Tree) -> None:
    """Refuses, in one sentence, the first thing that is wrong."""
    if not 0 < len(tree.nodes) <= MOST_NODES:
        _refuse(f"a tree has 1 to {MOST_NODES:,} nodes")
    _check_names(tree)
    if any(value is None for value in tree.classes):
        _refuse("NULL is not a class")
    _check_values(tree.target, tree.classes, "the classes")
    _check_shape(tree)
    for node in tree.nodes:
        _check_counts(tree, node)
    for node in tree.nodes:
        if node.split is not None:
            _check_split(tree, node)
            _check_sums(tree, node)


def _refuse(what: str) -> None:
    raise PolicyError(f"this tree is damaged: {what}")


def _check_names(tree: Tree) -> None:
    names = [attribute.name for attribute in tree.attributes]
    if len(set(names)) != len(names):
        _refuse("two attributes have the same name")
    if tree.target.name in names:
        _refuse("the target is among the attributes")
    for attribute in (*tree.attributes, tree.target):
        if not attribute.name or "\0" in attribute.name:
            _refuse("a name is empty or contains a NUL character")
        if attribute.scale is not None and attribute.kind is not Kind.DECIMAL:
            _refuse("an attribute has decimal places without being a decimal")
        if attribute.zoned and attribute.kind is not Kind.TIMESTAMP:
            _refuse("an attribute has a time zone without being a timestamp")
        if attribute.ordered and not attribute.kind.is_ordered:
            _refuse(f"an attribute of kind {attribute.kind.value} has no order")


def _check_shape(tree: Tree) -> None:
    """Numbers, parents, depths and children tell one story, in which a child comes after its parent."""
    parents: dict[int, int] = {}
    for number, node in enumerate(tree.nodes):
        if node.number != number:
            _refuse(f"node {number} is not at its number")
        for child in node.children:
            if not number < child < len(tree.nodes):
                _refuse(f"node {number} has a child that does not exist, or that comes before it")
            if child in parents:
                _refuse(f"node {child} is the child of two branches")
            parents[child] = number
    for number, node in enumerate(tree.nodes):
        if (node.parent is None) != (number == 0):
            _refuse(f"node {number}: the first node, and no other, must have no parent")
        if node.parent != parents.get(number):
            _refuse(f"node {number} is not among the children of its parent")
        above = -1 if node.parent is None else tree.nodes[node.parent].depth
        if node.depth != above + 1 or node.depth > _DEEPEST:
            _refuse(f"node {number} is not one level below its parent, or lies below level {_DEEPEST}")


def _check_counts(tree: Tree, node: Node) -> None:
    width = 1 if tree.is_regression else len(tree.classes)
    if len(node.counts) != width or any(count < 0 for count in node.counts):
        _refuse(f"node {node.number} must have {width} counts, none of them below 0")
    if node.rows > _MOST_ROWS or not math.isfinite(node.gain):
        _refuse(f"node {node.number} has more rows than can be counted, or a gain that is not a number")
    if (node.moments is not None) != tree.is_regression:
        _refuse(f"node {node.number}: nodes of a regression tree, and only those, have a mean")
    moments = node.moments
    if moments is None:
        return
    if moments.rows != node.rows or not moments.mean.is_finite() or not 0 <= moments.variance < math.inf:
        _refuse(f"node {node.number} has an impossible mean or variance, or one of another number of rows")


def _check_sums(tree: Tree, node: Node) -> None:
    added = tuple(map(sum, zip(*(child.counts for child in tree.children(node)), strict=True)))
    if added != node.counts:
        _refuse(f"the counts of the children of node {node.number} do not add up to its own")


def _check_split(tree: Tree, node: Node) -> None:
    split, where = node.split, f"node {node.number}"
    assert split is not None
    if not 0 <= split.attribute < len(tree.attributes):
        _refuse(f"{where} splits by an attribute that does not exist")
    attribute = tree.attributes[split.attribute]
    width = split.width
    if len(node.children) != width or width < 1:
        _refuse(f"{where} has a different number of children than branches")
    loose = split.others if isinstance(split, Groups) else split.nulls
    if loose is not None and not 0 <= loose < width:
        _refuse(f"{where} sends rows to a branch that does not exist")
    if isinstance(split, Groups):
        _check_groups(attribute, split, where)
        return
    if not attribute.ordered:
        _refuse(f"{where} has thresholds for an attribute that has no order")
    thresholds = (split.at,) if isinstance(split, Cut) else split.at
    for at in thresholds:
        _check_threshold(attribute, at, where)
    if isinstance(split, Bands):
        _check_bands(attribute, split, where)


def _check_bands(attribute: Attribute, split: Bands, where: str) -> None:
    if not split.at or len(split.branches) != len(split.at) + 1:
        _refuse(f"{where} must have thresholds, and one band more than those")
    if not _rises([position(attribute, at) for at in split.at]):
        _refuse(f"{where} has thresholds that are not in ascending order")
    if set(split.branches) != set(range(split.width)):
        _refuse(f"{where} has a branch without a band")
    if any(one == other for one, other in pairwise(split.branches)):
        _refuse(f"{where} has a threshold between two bands of one branch")


def _rises(places: Sequence[Any]) -> bool:
    return all(one < other for one, other in pairwise(places))


def _check_threshold(attribute: Attribute, at: Decimal | str, where: str) -> None:
    if isinstance(at, str):
        moment = read_moment(at) if attribute.kind in MOMENTS else None
        if moment is None or (attribute.kind is Kind.DATE and moment[0] % 86_400):
            _refuse(f"{where} has a threshold that is not of kind {attribute.kind.value}")
    elif attribute.kind not in NUMBERS or at.is_nan():
        _refuse(f"{where} has a threshold that does not fit its attribute")
    elif at.is_infinite() and attribute.kind is not Kind.FLOAT:
        _refuse(f"{where} has an infinite threshold")


def _check_groups(attribute: Attribute, split: Groups, where: str) -> None:
    if attribute.ordered:
        _refuse(f"{where} groups the values of an ordered attribute")
    if split.labels is not None and len(split.labels) != len(split.groups):
        _refuse(f"{where} has a different number of labels than groups")
    if any(not group and branch != split.others for branch, group in enumerate(split.groups)):
        _refuse(f"{where} has a branch that no value leads to")
    _check_values(attribute, [value for group in split.groups for value in group], where)


def _check_values(attribute: Attribute, values: Iterable[Value], where: str) -> None:
    seen: set[Hashable] = set()
    for value in values:
        if value is not None and not _fits(attribute, value):
            _refuse(f"{where}: a value is not of kind {attribute.kind.value}")
        if isinstance(value, str) and "\0" in value:
            _refuse(f"{where}: a value contains a NUL character, which not every engine can store")
        known = key(attribute, value)
        if known in seen:
            _refuse(f"{where}: a value occurs twice")
        seen.add(known)


def _fits(attribute: Attribute, value: Value) -> bool:
    if attribute.kind in MOMENTS:
        return isinstance(value, str) and read_moment(value) is not None
    types = _TYPES.get(attribute.kind, (str,))
    if isinstance(value, bool) and bool not in types:
        return False
    if isinstance(value, Decimal | float) and attribute.kind is not Kind.FLOAT and not Decimal(value).is_finite():
        return attribute.kind is Kind.DECIMAL and isinstance(value, Decimal) and value.is_nan()
    return isinstance(value, types)
