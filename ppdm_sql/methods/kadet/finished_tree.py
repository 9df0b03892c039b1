"""Attributes as kADET asks for them, and the finished tree over values instead of codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

import numpy as np

from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.induction.criteria import Ints
from ppdm_sql.induction.grow import Grown
from ppdm_sql.induction.inducers import reading_order
from ppdm_sql.induction.thresholds import between
from ppdm_sql.methods.kadet.kadet_cells import CellAttribute, KadetTable, held_by
from ppdm_sql.methods.kadet.ladder_cuts import check_ladder
from ppdm_sql.methods.kadet.split_queue import Growth
from ppdm_sql.methods.kadet.split_scores import AskedAttribute, Level
from ppdm_sql.policy.policy import PrefixLadder
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.relation import Source
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
        given = (source.hierarchies or {}).get(name)
        if info.kind.is_ordered:
            check_ladder(info, given)
            continue
        if info.kind is not Kind.TEXT:
            raise PolicyError(
                f'ALGORITHM kadet generalizes text, numbers, dates and timestamps: leave out the HIERARCHY of "{name}"'
            )
        if isinstance(given, PrefixLadder):
            raise PolicyError(
                "ALGORITHM kadet: the tree lists the values below a label, and HIERARCHY PREFIX would list those in "
                "the rows "
                f'of "{name}"; write the hierarchy of all possible values as a file or a table'
            )


def asked_attributes(
    source: Source, table: KadetTable, hierarchies: Mapping[str, Hierarchy], k: int
) -> list[AskedAttribute]:
    """Every attribute with its levels; of private ones the values that fewer than k have are put together."""
    found = []
    for coded in table.attributes:
        name = coded.attribute.name
        public = name in source.quasi
        if coded.attribute.ordered:
            found.append(AskedAttribute(coded, public))
        elif public:
            found.append(AskedAttribute(coded, public, _levels(coded, hierarchies.get(name))))
        else:
            found.append(AskedAttribute(coded, public, (_common(held_by(table.cells, name), k),)))
    return found


def _levels(coded: CellAttribute, hierarchy: Hierarchy | None) -> tuple[Level, ...]:
    values = Level(np.arange(coded.size))
    if hierarchy is None:
        return (values,)
    positions = hierarchy.positions(coded.values)
    above = [
        Level(hierarchy.codes(level)[positions].astype(np.int64), tuple(node.label for node in hierarchy.nodes(level)))
        for level in range(1, hierarchy.height)  # the root says nothing
    ]
    return (values, *above)


def _common(held: Ints, k: int) -> Level:
    common = held >= k
    if common.all():
        return Level(np.arange(len(held)))
    rare = int(common.sum())
    return Level(np.where(common, np.cumsum(common) - 1, rare), rare=rare)


# -- from codes back to values ---------------------------------------------------------------------------


def tree_of(
    table: KadetTable,
    asked: Sequence[AskedAttribute],
    hierarchies: Mapping[str, Hierarchy],
    growth: Growth,
    declared: Mapping[str, str],
    options: _Options,
) -> Tree:
    """The tree over values, its nodes numbered from the top."""
    order, levels = reading_order(growth.nodes), growth.levels
    number = {node.number: place for place, node in enumerate(order)}

    def split_of(node: Grown) -> Split | None:
        if node.split is None:
            return None
        one = asked[node.split.attribute]
        if node.split.cut is not None:
            return _cut(node, one.coded, declared)
        tree = hierarchies.get(one.coded.attribute.name)
        level = levels[node.number]
        return _groups(node, one.levels[level], level, one.coded.values, tree, has_rest=node.number in growth.with_rest)

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
    attributes = tuple(one.attribute for one in table.attributes)
    return Tree(attributes, table.target, table.classes, nodes, "kadet", options)


def _cut(node: Grown, coded: CellAttribute, declared: Mapping[str, str]) -> Cut:
    split, attribute = node.split, coded.attribute
    assert split is not None
    assert split.cut is not None
    assert split.above is not None
    if coded.cuts:
        return Cut(split.attribute, coded.cuts[split.cut])
    low, high = coded.values[int(coded.last[split.cut])], coded.values[int(coded.first[split.above])]
    at: Decimal | str = between(low, high, attribute, declared[attribute.name], midpoint=False)
    return Cut(split.attribute, at)


def _groups(
    node: Grown,
    level: Level,
    height: int,
    values: Sequence[object],
    hierarchy: Hierarchy | None,
    *,
    has_rest: bool,
) -> Groups:
    """By value, each branch names its value; by label, all values the hierarchy has below it, there or not.

    has_rest: the last branch names nothing and is for every other value.
    """
    split = node.split
    assert split is not None
    if level.labels is None or hierarchy is None:
        hidden = [level.rare is not None and int(level.group[codes[0]]) == level.rare for codes in split.groups]
        hidden[-1] = hidden[-1] or has_rest
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
