"""A tree as rows of the catalog and back.  What comes back is the tree that was saved, to the last digit.

A threshold stands at its node; the values of a group stand with their branch, one row each, and so do the bands of an
ordered attribute, as {"from": ..., "below": ...} with null for an end that is open.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from ppdm_sql.catalog import models
from ppdm_sql.catalog.models import ModelRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError, PpdmError, Tampered
from ppdm_sql.json_reader import read_json
from ppdm_sql.trees.comparing import MOMENTS
from ppdm_sql.trees.exchange import fields, read_typed_value, typed_value
from ppdm_sql.trees.show import branch_text
from ppdm_sql.trees.sound import check_tree
from ppdm_sql.trees.tree import Attribute, Bands, Cut, Groups, Moments, Node, Split, Tree, Value
from ppdm_sql.trees.tree_json import at_from_dict, at_to_dict, attribute_from_dict, attribute_to_dict, options_from_dict

_KEYS = {
    "model_node": ("node",),
    "model_branch": ("node", "branch"),
    "model_value": ("node", "branch", "position"),
    "model_count": ("node", "class_number"),
}


def record_of(
    name: str, tree: Tree, *, rows: int, left_out: int = 0, rare: int | None = None, source_query: str | None = None
) -> ModelRecord:
    return ModelRecord(
        name,
        "tree",
        tree.inducer,
        dict(tree.options),
        attribute_to_dict(tree.target),
        [attribute_to_dict(attribute) for attribute in tree.attributes],
        [typed_value(value) for value in tree.classes],
        rows,
        left_out,
        rare,
        source_query,
    )


def rows_of(tree: Tree) -> dict[str, list[dict[str, Any]]]:
    """The rows of every table that holds a tree."""
    check_tree(tree)
    stored: dict[str, list[dict[str, Any]]] = {table: [] for table in models.TABLES}
    for node in tree.nodes:
        stored["model_node"].append(_node_row(tree, node))
        stored["model_branch"].extend(_branch_row(tree, node, branch) for branch in range(len(node.children)))
        stored["model_value"].extend(_value_rows(node))
        stored["model_count"].extend(_count_rows(tree, node))
    return stored


def _node_row(tree: Tree, node: Node) -> dict[str, Any]:
    split, moments = node.split, node.moments
    return {
        "node": node.number,
        "parent": node.parent,
        "depth": node.depth,
        "attribute": None if split is None else split.attribute,
        "attribute_name": None if split is None else tree.attributes[split.attribute].name,
        "threshold": str(split.at) if isinstance(split, Cut) else None,
        "rows": node.rows,
        "answer": _json(tree.prediction(node)) if moments is None else str(moments.mean),
        "variance": None if moments is None else moments.variance,
        "gain": node.gain,
    }


def _branch_row(tree: Tree, node: Node, branch: int) -> dict[str, Any]:
    split = node.split
    assert split is not None
    groups = split if isinstance(split, Groups) else None
    return {
        "node": node.number,
        "branch": branch,
        "child": node.children[branch],
        "condition": branch_text(tree, node, branch),
        "takes_null": None in split.groups[branch] if isinstance(split, Groups) else split.nulls == branch,
        "takes_others": groups is not None and groups.others == branch,
        "label": groups.labels[branch] if groups is not None and groups.labels is not None else None,
    }


def _value_rows(node: Node) -> list[dict[str, Any]]:
    texts: list[list[str]] = []
    if isinstance(node.split, Groups):
        texts = [[_json(value) for value in group] for group in node.split.groups]
    elif isinstance(node.split, Bands):
        split = node.split
        texts = [[_band_json(*ends) for ends in split.ranges(branch)] for branch in range(split.width)]
    return [
        {"node": node.number, "branch": branch, "position": position, "value": text}
        for branch, listed in enumerate(texts)
        for position, text in enumerate(listed)
    ]


def _band_json(low: Decimal | str | None, high: Decimal | str | None) -> str:
    ends = {"from": low, "below": high}
    return json.dumps({word: None if at is None else at_to_dict(at) for word, at in ends.items()}, ensure_ascii=False)


def _count_rows(tree: Tree, node: Node) -> list[dict[str, Any]]:
    values: tuple[Value, ...] = tree.classes or (None,)
    return [
        {"node": node.number, "class_number": number, "class_value": _json(values[number]), "rows": count}
        for number, count in enumerate(node.counts)
        if count
    ]


def _json(value: Value) -> str:
    return json.dumps(typed_value(value), ensure_ascii=False)


def differing_tables(engine: Engine, model: ModelRecord, tree: Tree) -> list[str]:
    """The tables of the catalog whose rows are not those of this tree, in any column."""
    saved = models.rows_of(engine, model.model_id)
    return [table for table, rows in rows_of(tree).items() if not _same_rows(table, rows, saved[table])]


def _same_rows(table: str, wanted: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]]) -> bool:
    keys = _KEYS[table]

    def by_key(rows: Sequence[Mapping[str, Any]]) -> list[str]:  # as text: NaN equals nothing
        placed = sorted(rows, key=lambda row: tuple(row[key] for key in keys))
        return [repr([row[name] for name in models.TABLES[table]]) for row in placed]

    return by_key(wanted) == by_key(found)


# -- back ------------------------------------------------------------------------------------------------------------


def tree_of(engine: Engine, model: ModelRecord) -> Tree:
    """The tree of a model; rows that were changed by hand so that they make none are refused."""
    if model.kind != "tree":
        raise PpdmError(f'model "{model.name}" is not a tree but {model.kind}')
    saved = models.rows_of(engine, model.model_id)
    try:
        tree = _read(model, saved)
        check_tree(tree)
    except PolicyError as cause:
        raise Tampered(f'model "{model.name}": its rows in the catalog are damaged: {cause}') from cause
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as cause:  # their texts quote values
        raise Tampered(f'model "{model.name}": its rows in the catalog are damaged') from cause
    return tree


def _read(model: ModelRecord, saved: models.Stored) -> Tree:
    attributes = tuple(attribute_from_dict(item, f"attribute {n}") for n, item in enumerate(model.attributes))
    target = attribute_from_dict(model.target, "target")
    classes = tuple(read_typed_value(item, "a class") for item in model.classes)
    branches: dict[int, list[Any]] = {}
    for row in saved["model_branch"]:
        branches.setdefault(row["node"], []).append(row)
    values: dict[tuple[int, int], list[Any]] = {}
    for row in saved["model_value"]:
        values.setdefault((row["node"], row["branch"]), []).append(read_json(row["value"], "the catalog"))
    counts: dict[int, dict[int, int]] = {}
    for row in saved["model_count"]:
        counts.setdefault(row["node"], {})[row["class_number"]] = row["rows"]
    nodes = []
    for row in saved["model_node"]:
        number, place = row["node"], row["attribute"]
        found = branches.get(number, [])
        split = None
        if place is not None:
            split = _split(attributes[place], place, row["threshold"], number, found, values)
        moments = None if classes else Moments(row["rows"], Decimal(row["answer"]), row["variance"])
        here = tuple(counts.get(number, {}).get(c, 0) for c in range(len(classes) or 1))
        children = tuple(branch["child"] for branch in found)
        nodes.append(Node(number, row["parent"], row["depth"], here, split, children, moments, row["gain"]))
    return Tree(attributes, target, classes, tuple(nodes), model.inducer, options_from_dict(model.options))


def _split(
    attribute: Attribute,
    place: int,
    threshold: str | None,
    node: int,
    branches: list[Any],
    values: dict[tuple[int, int], list[Any]],
) -> Split:
    nulls = next((row["branch"] for row in branches if row["takes_null"]), None)
    if threshold is not None:
        at = threshold if attribute.kind in MOMENTS else Decimal(threshold)
        return Cut(place, at, nulls)
    named = [(row["branch"], values.get((node, row["branch"]), [])) for row in branches]
    if attribute.ordered:
        return _bands(place, [(band, branch) for branch, bands in named for band in bands], nulls)
    groups = tuple(tuple(read_typed_value(item, "a value") for item in items) for _, items in named)
    others = next((row["branch"] for row in branches if row["takes_others"]), None)
    labels = tuple(row["label"] for row in branches) if branches and branches[0]["label"] is not None else None
    return Groups(place, groups, others, labels)


def _bands(place: int, stored: list[tuple[Any, int]], nulls: int | None) -> Bands:
    """The bands of all branches in their order: each begins where another ends."""
    following = {_end(band, "from"): (_end(band, "below"), branch) for band, branch in stored}
    at: list[Decimal | str] = []
    branches: list[int] = []
    here: Decimal | str | None = None
    for _ in stored:
        here, branch = following.pop(here, (None, -1))
        branches.append(branch)
        if here is not None:
            at.append(here)
    if following or here is not None or -1 in branches:
        raise PolicyError("this tree is damaged: the bands of a node leave a gap or overlap")
    return Bands(place, tuple(at), tuple(branches), nulls)


def _end(band: Any, word: str) -> Decimal | str | None:
    told = fields(band, "a band", {"from", "below"})
    return None if told[word] is None else at_from_dict(told[word], "a band")
