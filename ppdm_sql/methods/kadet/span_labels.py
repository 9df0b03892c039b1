"""What a kADET tree reveals of the people of a span, column by column: what all their public answers have in common.

numbers and moments        [30, 45)   < 30   >= 65, between the borders of the tree
text without a hierarchy   the value that is named; for people who stop at questions about others {c, d, ...}: no value
                           that fewer than k people hold is named
a hierarchy                the smallest label that covers what the answers leave, of numbers and moments, too
nothing was asked          the marker, *

What is printed follows from the span alone: people of one span print the same, so a group of the release is made of
whole spans.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TypeAlias

import numpy as np

from ppdm_sql.cells.cells import Cells
from ppdm_sql.engines.base import Kind
from ppdm_sql.methods.shared.columns import Axis, cell_axis, quasi_axis
from ppdm_sql.methods.shared.labels import braces_around, interval_text, list_text, marker
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.leaves import leaf_text
from ppdm_sql.source.lines import Flags, moment_text
from ppdm_sql.trees.audit_groups import answers_of
from ppdm_sql.trees.comparing import is_below
from ppdm_sql.trees.show import number_text, ranges_left, whole
from ppdm_sql.trees.tree import Attribute, Cut, Groups, Split, Tree, Value

Answer: TypeAlias = tuple[Split, int | None]  # a question, and the branch that is taken; None: it names no such value
Way: TypeAlias = tuple[int, int | None]  # the same by the number of the node
Write: TypeAlias = Callable[[Sequence[Answer]], str | None]  # None: the answers leave everything open


def span_labels(
    tree: Tree, public: Sequence[str], spans: Sequence[str], writers: Mapping[str, Write], suppressed: str
) -> list[tuple[str, ...]]:
    """Per span what is printed of every public column."""
    numbers = {attribute.name: number for number, attribute in enumerate(tree.attributes)}
    known: dict[tuple[int, tuple[Way, ...]], str] = {}  # many spans have the same answers about one column

    def printed(name: str, ways: tuple[Way, ...]) -> str:
        key = numbers[name], ways
        if key not in known:
            told = writers[name](list(_questions(tree, ways))) if ways else None
            known[key] = suppressed if told is None else told
        return known[key]

    found = []
    for span in spans:
        ways = _ways(tree, public, span)
        found.append(tuple(printed(name, tuple(ways.get(numbers[name], ()))) for name in public))
    return found


def _ways(tree: Tree, public: Collection[str], span: str) -> dict[int, list[Way]]:
    """Per attribute the nodes that ask for it and the branches taken there."""
    ways: dict[int, list[Way]] = {}
    for node, branch in answers_of(tree, public, span):
        assert node.split is not None
        ways.setdefault(node.split.attribute, []).append((node.number, branch))
    return ways


def _questions(tree: Tree, ways: Sequence[Way]) -> Iterator[Answer]:
    for number, branch in ways:
        split = tree.nodes[number].split
        assert split is not None
        yield split, branch


# -- writers -------------------------------------------------------------------------------------------------


def writers_of(
    cells: Cells, tree: Tree, public: Sequence[str], hierarchies: Mapping[str, Hierarchy], k: int
) -> tuple[dict[str, Write], str]:
    """How each public column is printed, and the marker; what is printed of a column that is not asked for is that.

    hierarchies: those whose labels are words; one that gives ranges has said where the tree may be cut.
    """
    asked = {tree.attributes[number].name for number in tree.used_attributes()}
    attributes = {attribute.name: attribute for attribute in tree.attributes}
    axes, writers = [], dict[str, Write]()
    for name in public:
        if attributes[name].ordered:
            along = hierarchies.get(name)
            writers[name] = range_writer(attributes[name]) if along is None else cover_writer(attributes[name], along)
            continue
        if name in hierarchies:
            writers[name] = label_writer(hierarchies[name])
        elif name in asked:
            axes.append(quasi_axis(cell_axis(cells, name), cells[name].held, k, None))
            writers[name] = list_writer(axes[-1])
            continue
        if attributes[name].kind is Kind.TEXT:  # a value of stars is not to be taken for the marker
            axes.append(cell_axis(cells, name))
    return writers, marker(axes) if axes else "*"


def range_writer(attribute: Attribute) -> Write:
    """Of numbers and moments."""

    def write(answers: Sequence[Answer]) -> str | None:
        cuts = [(split, branch) for split, branch in answers if isinstance(split, Cut) and branch is not None]
        ((low, high),) = ranges_left(attribute, cuts)
        return None if low is None and high is None else interval_text(_border(low), _border(high))

    return write


def cover_writer(attribute: Attribute, hierarchy: Hierarchy) -> Write:
    """Of numbers and moments with a hierarchy: the smallest label that covers the leaves which the answers leave."""
    leaves = [_leaf_value(leaf, attribute) for leaf in hierarchy.order]

    def write(answers: Sequence[Answer]) -> str | None:
        left = np.ones(len(leaves), dtype=bool)
        for split, branch in answers:
            assert isinstance(split, Cut)
            below = np.fromiter((is_below(attribute, split.at, leaf) for leaf in leaves), bool, len(leaves))
            left &= below if branch == 0 else ~below
        there = np.flatnonzero(left)
        node = hierarchy.covering(int(there[0]), int(there[-1]) + 1)
        return None if node.stop - node.start == len(leaves) else node.label

    return write


def _leaf_value(leaf: str, attribute: Attribute) -> object:
    """The value of a leaf, as values are compared."""
    if attribute.kind in (Kind.DATE, Kind.TIMESTAMP):
        return leaf
    return float(leaf) if attribute.kind is Kind.FLOAT else Decimal(leaf)


def _border(at: Decimal | str | None) -> str | None:
    if at is None:
        return None
    return moment_text(at) if isinstance(at, str) else number_text(at, whole)


def label_writer(hierarchy: Hierarchy) -> Write:
    """Of a column with a hierarchy, all of whose leaves may be known, whether people have them or not."""
    place = {leaf: number for number, leaf in enumerate(hierarchy.order)}

    def write(answers: Sequence[Answer]) -> str | None:
        left = np.flatnonzero(_left(answers, place, len(place)))
        node = hierarchy.covering(int(left[0]), int(left[-1]) + 1)
        return None if node.stop - node.start == len(place) else node.label

    return write


def list_writer(axis: Axis) -> Write:
    """Of a column without a hierarchy; a question names no value that few hold, so these are on one side together."""
    place = {text: code for code, text in enumerate(axis.texts)}
    braces = braces_around(axis.texts)

    def write(answers: Sequence[Answer]) -> str | None:
        left = _left(answers, place, axis.size)
        codes = np.flatnonzero(left[: len(axis.texts)]).tolist()
        hides = axis.few is not None and bool(left[axis.few])
        if left.all():
            return None
        return axis.texts[codes[0]] if len(codes) == 1 and not hides else list_text(axis.texts, codes, hides, braces)

    return write


def _left(answers: Sequence[Answer], place: Mapping[str, int], size: int) -> Flags:
    """The values that give all these answers."""
    left = np.ones(size, dtype=bool)
    for split, branch in answers:
        assert isinstance(split, Groups)
        if branch is not None and branch != split.others:
            left &= _flags(split.groups[branch], place, size)
            continue
        for other, group in enumerate(split.groups):
            if other != branch:
                left &= ~_flags(group, place, size)
    return left


def _flags(group: Sequence[Value], place: Mapping[str, int], size: int) -> Flags:
    flags = np.zeros(size, dtype=bool)
    flags[[place[text] for text in map(leaf_text, group) if text in place]] = True
    return flags
