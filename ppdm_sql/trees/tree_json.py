"""A tree as plain JSON values and back.  The way back checks shapes here and the tree as a whole in sound.py."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.trees.exchange import (
    BANDS_VERSION,
    Document,
    decimal_of,
    fields,
    figure,
    flag,
    items,
    name_of,
    read,
    read_typed_value,
    refuse,
    text_of,
    typed_value,
    whole,
    write,
)
from ppdm_sql.trees.sound import MOST_NODES, check_tree
from ppdm_sql.trees.tree import Attribute, Bands, Cut, Groups, Moments, Node, Split, Tree

_KINDS = {kind.value: kind for kind in Kind if kind is not Kind.UNSUPPORTED}
_MOST_OPTIONS, _MOST_ATTRIBUTES, _MOST_CLASSES = 100, 10_000, 100_000


def tree_text(tree: Tree, name: str | None = None) -> str:
    """The exchange file of a tree."""
    bands = any(isinstance(node.split, Bands) for node in tree.nodes)
    return write("tree", tree_to_dict(tree), name, version=BANDS_VERSION if bands else 1)


def read_tree(text: str | bytes) -> tuple[Tree, str | None]:
    """The tree of an exchange file and the name it was exported under; whatever is wrong is refused."""
    return tree_of(document := read(text)), document.name


def tree_of(document: Document) -> Tree:
    if document.kind != "tree":
        raise PolicyError(f"expected a tree, the file contains {document.kind}")
    tree = tree_from_dict(document.model)
    if document.version < BANDS_VERSION and any(isinstance(node.split, Bands) for node in tree.nodes):
        refuse(f"a file of version {document.version} has no bands")
    return tree


# -- out -------------------------------------------------------------------------------------------------------------


def tree_to_dict(tree: Tree) -> dict[str, Any]:
    return {
        "inducer": tree.inducer,
        "options": dict(tree.options),
        "target": attribute_to_dict(tree.target),
        "classes": [typed_value(value) for value in tree.classes],
        "attributes": [attribute_to_dict(attribute) for attribute in tree.attributes],
        "nodes": [_node_to_dict(node) for node in tree.nodes],
    }


def attribute_to_dict(attribute: Attribute) -> dict[str, Any]:
    told: dict[str, Any] = {"name": attribute.name, "kind": attribute.kind.value, "ordered": attribute.ordered}
    if attribute.scale is not None:
        told["scale"] = attribute.scale
    if attribute.zoned:
        told["zoned"] = True
    return told


def _node_to_dict(node: Node) -> dict[str, Any]:
    told: dict[str, Any] = {"number": node.number, "parent": node.parent, "depth": node.depth}
    told["counts"] = list(node.counts)
    if node.moments is not None:
        moments = node.moments
        told["moments"] = {"rows": moments.rows, "mean": str(moments.mean), "variance": moments.variance}
    if node.split is not None:
        told |= {"split": split_to_dict(node.split), "children": list(node.children)}
    if node.gain:
        told["gain"] = node.gain
    return told


def split_to_dict(split: Split) -> dict[str, Any]:
    if isinstance(split, Cut):
        return {"cut": split.attribute, "at": at_to_dict(split.at), "nulls": split.nulls}
    if isinstance(split, Bands):
        at = [at_to_dict(one) for one in split.at]
        return {"bands": split.attribute, "at": at, "branches": list(split.branches), "nulls": split.nulls}
    told: dict[str, Any] = {"group": split.attribute}
    told["groups"] = [[typed_value(value) for value in group] for group in split.groups]
    told["others"] = split.others
    if split.labels is not None:
        told["labels"] = list(split.labels)
    return told


def at_to_dict(at: Decimal | str) -> dict[str, str]:
    return {"decimal": str(at)} if isinstance(at, Decimal) else {"moment": at}


# -- in --------------------------------------------------------------------------------------------------------------


def tree_from_dict(value: Any) -> Tree:
    model = fields(value, "model", {"inducer", "options", "target", "classes", "attributes", "nodes"})
    listed = items(model["nodes"], "nodes")
    if not 0 < len(listed) <= MOST_NODES:
        refuse(f"a tree has 1 to {MOST_NODES:,} nodes")
    attributes = items(model["attributes"], "attributes")
    classes = items(model["classes"], "classes")
    if len(attributes) > _MOST_ATTRIBUTES or len(classes) > _MOST_CLASSES:
        refuse(f"a tree has at most {_MOST_ATTRIBUTES:,} attributes and {_MOST_CLASSES:,} classes")
    tree = Tree(
        tuple(attribute_from_dict(item, f"attribute {number}") for number, item in enumerate(attributes)),
        attribute_from_dict(model["target"], "target"),
        tuple(read_typed_value(item, f"class {number}") for number, item in enumerate(classes)),
        tuple(_node_from_dict(item, number) for number, item in enumerate(listed)),
        name_of(model["inducer"], "inducer"),
        options_from_dict(model["options"]),
    )
    check_tree(tree)
    return tree


def attribute_from_dict(value: Any, where: str) -> Attribute:
    told = fields(value, where, {"name", "kind", "ordered"}, {"scale", "zoned"})
    kind = _KINDS.get(text_of(told["kind"], f"{where}, kind"))
    if kind is None:
        refuse(f"{where}, kind must be one of {', '.join(_KINDS)}")
    scale = whole(told["scale"], f"{where}, scale", most=1000) if "scale" in told else None
    zoned = flag(told.get("zoned", False), f"{where}, zoned")
    return Attribute(
        name_of(told["name"], f"{where}, name"), kind, flag(told["ordered"], f"{where}, ordered"), scale, zoned
    )


def options_from_dict(value: Any) -> dict[str, str | int | float | bool]:
    if not isinstance(value, dict) or len(value) > _MOST_OPTIONS:
        refuse(f"options must be an object of at most {_MOST_OPTIONS} entries")
    found: dict[str, str | int | float | bool] = {}
    for name, setting in value.items():
        where = "an option"
        known = isinstance(setting, str | bool | int)
        found[name_of(name, where)] = setting if known else figure(setting, where)
        if isinstance(setting, str):
            text_of(setting, where)
    return found


def _node_from_dict(value: Any, number: int) -> Node:
    where = f"node {number}"
    told = fields(value, where, {"number", "parent", "depth", "counts"}, {"split", "children", "moments", "gain"})
    if ("split" in told) != ("children" in told):
        refuse(f"{where} must have both a split and children, or neither")
    if whole(told["number"], f"{where}, number") != number:
        refuse(f"{where} is not at its number")
    return Node(
        number,
        None if told["parent"] is None else whole(told["parent"], f"{where}, parent"),
        whole(told["depth"], f"{where}, depth"),
        tuple(whole(count, f"{where}, counts") for count in items(told["counts"], f"{where}, counts")),
        split_from_dict(told["split"], where) if "split" in told else None,
        tuple(whole(child, f"{where}, children") for child in items(told.get("children", []), f"{where}, children")),
        _moments_from_dict(told["moments"], f"{where}, moments") if "moments" in told else None,
        figure(told.get("gain", 0.0), f"{where}, gain"),
    )


def split_from_dict(value: Any, where: str) -> Split:
    if isinstance(value, dict) and "cut" in value:
        told = fields(value, f"{where}, split", {"cut", "at", "nulls"})
        return Cut(
            whole(told["cut"], f"{where}, cut"),
            at_from_dict(told["at"], where),
            _branch(told["nulls"], f"{where}, nulls"),
        )
    if isinstance(value, dict) and "bands" in value:
        told = fields(value, f"{where}, split", {"bands", "at", "branches", "nulls"})
        return Bands(
            whole(told["bands"], f"{where}, bands"),
            tuple(at_from_dict(at, where) for at in items(told["at"], f"{where}, at")),
            tuple(whole(to, f"{where}, branches") for to in items(told["branches"], f"{where}, branches")),
            _branch(told["nulls"], f"{where}, nulls"),
        )
    told = fields(value, f"{where}, split", {"group", "groups", "others"}, {"labels"})
    groups = tuple(
        tuple(read_typed_value(item, f"{where}, a value") for item in items(group, f"{where}, groups"))
        for group in items(told["groups"], f"{where}, groups")
    )
    labels = None
    if "labels" in told:
        labels = tuple(text_of(label, f"{where}, labels") for label in items(told["labels"], f"{where}, labels"))
    return Groups(whole(told["group"], f"{where}, group"), groups, _branch(told["others"], f"{where}, others"), labels)


def _branch(value: Any, where: str) -> int | None:
    return None if value is None else whole(value, where)


def at_from_dict(value: Any, where: str) -> Decimal | str:
    if not isinstance(value, dict) or len(value) != 1 or not value.keys() <= {"decimal", "moment"}:
        refuse(f"{where}, at must be an object with a decimal or a date or time")
    if "decimal" in value:
        return decimal_of(value["decimal"], f"{where}, at")
    return text_of(value["moment"], f"{where}, at")


def _moments_from_dict(value: Any, where: str) -> Moments:
    told = fields(value, where, {"rows", "mean", "variance"})
    variance = figure(told["variance"], f"{where}, variance")
    if variance < 0:
        refuse(f"{where}, variance must not be below 0")
    return Moments(whole(told["rows"], f"{where}, rows"), decimal_of(told["mean"], f"{where}, mean"), variance)
