"""Attributes as kADET asks for them, and the finished tree over values instead of codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

import numpy as np

from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.methods.kadet.split_scores import AskedAttribute, Level
from ppdm_sql.methods.shared.person_rows import persons_per_value
from ppdm_sql.policy.policy import PrefixLadder
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.relation import Source
from ppdm_sql.trees.coded import Training
from ppdm_sql.trees.coded_attribute import CodedAttribute
from ppdm_sql.trees.grow import Grown
from ppdm_sql.trees.thresholds import between
from ppdm_sql.trees.tree import Cut, Groups, Node, Split, Tree, Value, plain

_Options = dict[str, str | int | float | bool]


def check_hierarchies(source: Source, hierarchies: Mapping[str, Hierarchy]) -> None:
    """A hierarchy that would not be used, or would print what it should hide, is refused."""
    for name in hierarchies:
        info = source.info(name)
        if name not in source.quasi or name == source.target:
            raise PolicyError(
                f'ALGORITHM kadet generalizes public attributes only: leave out the HIERARCHY of "{name}"'
            )
        if info.kind is not Kind.TEXT:
            raise PolicyError(
                "ALGORITHM kadet generalizes text and chooses the thresholds of numbers itself: leave out the "
                "HIERARCHY of "
                f'"{name}"'
            )
        if isinstance((source.hierarchies or {}).get(name), PrefixLadder):
            raise PolicyError(
                "ALGORITHM kadet: the tree lists the values below a label, and HIERARCHY PREFIX would list those in "
                "the rows "
                f'of "{name}"; write the hierarchy of all possible values as a file or a table'
            )


def asked_attributes(
    engine: Engine, source: Source, training: Training, hierarchies: Mapping[str, Hierarchy], k: int
) -> list[AskedAttribute]:
    """Every attribute with its levels; of private ones the values that fewer than k have are put together."""
    found = []
    for coded in training.attributes:
        name = coded.attribute.name
        public = name in source.quasi
        if coded.attribute.ordered:
            found.append(AskedAttribute(coded, public))
        elif public:
            found.append(AskedAttribute(coded, public, _levels(engine, coded, hierarchies.get(name))))
        else:
            found.append(AskedAttribute(coded, public, (_common(engine, source, coded, k),)))
    return found


def _levels(engine: Engine, coded: CodedAttribute, hierarchy: Hierarchy | None) -> tuple[Level, ...]:
    values = Level(np.arange(coded.size))
    if hierarchy is None:
        return (values,)
    texts = coded.texts(engine, range(coded.size))
    positions = hierarchy.positions(texts[code] for code in range(coded.size))
    above = [
        Level(hierarchy.codes(level)[positions].astype(np.int64), tuple(node.label for node in hierarchy.nodes(level)))
        for level in range(1, hierarchy.height)  # the root tells nothing
    ]
    return (values, *above)


def _common(engine: Engine, source: Source, coded: CodedAttribute, k: int) -> Level:
    if source.entity is not None:
        held = persons_per_value(engine, source, coded)
    else:
        held = np.array([count for _, count in coded.lookup.values(engine)], dtype=np.int64)
    common = held >= k
    if common.all():
        return Level(np.arange(coded.size))
    rare = int(common.sum())
    return Level(np.where(common, np.cumsum(common) - 1, rare), rare=rare)


# -- from codes back to values ---------------------------------------------------------------------------


def tree_of(
    engine: Engine,
    training: Training,
    asked: Sequence[AskedAttribute],
    hierarchies: Mapping[str, Hierarchy],
    grown: Sequence[Grown],
    levels: Mapping[int, int],
    declared: Mapping[str, str],
    options: _Options,
) -> Tree:
    """The tree over values, its nodes numbered from the top."""
    order = _reading_order(grown)
    number = {node.number: place for place, node in enumerate(order)}
    values = _needed_values(engine, training, order)

    def split_of(node: Grown) -> Split | None:
        if node.split is None:
            return None
        one = asked[node.split.attribute]
        known = values[node.split.attribute]
        if node.split.cut is not None:
            return _cut(node, one.coded, known, declared)
        tree = hierarchies.get(one.coded.attribute.name)
        return _groups(node, one.levels[levels[node.number]], levels[node.number], known, tree)

    nodes = tuple(
        Node(
            number[node.number],
            None if node.parent is None else number[node.parent],
            node.depth,
            tuple(map(int, node.counts)),
            split_of(node),
            tuple(number[child] for child in node.children),
            gain=0.0 if node.split is None else node.split.gain,
        )
        for node in order
    )
    attributes = tuple(one.attribute for one in training.attributes)
    return Tree(attributes, training.target, training.classes, nodes, "kadet", options)


def _reading_order(grown: Sequence[Grown]) -> list[Grown]:
    order, waiting = [], [0]
    while waiting:
        node = grown[waiting.pop()]
        order.append(node)
        waiting.extend(reversed(node.children))
    return order


def _needed_values(engine: Engine, training: Training, nodes: Sequence[Grown]) -> dict[int, dict[int, object]]:
    """Per attribute, place in the column's order -> value; only places that some split names."""
    places: dict[int, set[int]] = {}
    for node in nodes:
        split = node.split
        if split is None:
            continue
        coded, wanted = training.attributes[split.attribute], places.setdefault(split.attribute, set())
        if split.cut is not None and split.above is not None:
            wanted.update((int(coded.last[split.cut]), int(coded.first[split.above])))
        wanted.update(int(code) for group in split.groups for code in group)
    return {number: training.attributes[number].texts(engine, sorted(wanted)) for number, wanted in places.items()}


def _cut(node: Grown, coded: CodedAttribute, values: Mapping[int, object], declared: Mapping[str, str]) -> Cut:
    split, attribute = node.split, coded.attribute
    assert split is not None
    assert split.cut is not None
    assert split.above is not None
    if coded.cuts:
        return Cut(split.attribute, coded.cuts[split.cut])
    low, high = values[int(coded.last[split.cut])], values[int(coded.first[split.above])]
    at: Decimal | str = between(low, high, attribute, declared[attribute.name], midpoint=False)
    return Cut(split.attribute, at)


def _groups(
    node: Grown, level: Level, height: int, values: Mapping[int, object], hierarchy: Hierarchy | None
) -> Groups:
    """By value, each branch names its value; by label, all values the hierarchy has below it, there or not."""
    split = node.split
    assert split is not None
    if level.labels is None or hierarchy is None:
        hidden = [level.rare is not None and int(level.group[codes[0]]) == level.rare for codes in split.groups]
        groups = [
            () if hide else tuple(plain(values[int(code)]) for code in codes)
            for codes, hide in zip(split.groups, hidden, strict=True)
        ]
        return Groups(split.attribute, tuple(groups), hidden.index(True) if any(hidden) else None)
    numbers: list[int] = [int(level.group[codes[0]]) for codes in split.groups]
    under = [_leaves(hierarchy, height, number) for number in numbers]
    return Groups(split.attribute, tuple(under), labels=tuple(level.labels[number] for number in numbers))


def _leaves(hierarchy: Hierarchy, level: int, number: int) -> tuple[Value, ...]:
    node = hierarchy.nodes(level)[number]
    return tuple(sorted(hierarchy.order[node.start : node.stop], key=lambda leaf: leaf.encode()))
