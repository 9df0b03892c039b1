"""The leaves of a tree as recipes: how many rows, of which classes, and what each column may be there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from ppdm_sql.errors import PolicyError
from ppdm_sql.pseudodata.domains import Bounds, Domain, place_of
from ppdm_sql.pseudodata.draws import digest
from ppdm_sql.trees.tree import Attribute, Bands, Cut, Groups, Node, Tree, Value

MOST_ROWS = 10**9
CLASSES = ("counts", "quota", "draw")  # how many rows of each class a leaf gets; the first is the default
# Pseudo-rows per row that a model was learned from: fewer let chance speak where a learner looks at small groups.
TIMES = 4
At: TypeAlias = Decimal | str | None


@dataclass(frozen=True)
class Recipe:
    """A leaf: rows to make, rows per class, and per column its values there or the ranges its values lie in."""

    leaf: int
    rows: int
    classes: tuple[int, ...]
    values: Mapping[int, tuple[Value, ...]]
    bounds: Mapping[int, tuple[Bounds, ...]]
    asked: frozenset[int] = frozenset()  # the columns that its path asks for


def recipes(
    tree: Tree, domains: Mapping[int, Domain], rows: int | None, seed: int, *, by_counts: bool = True, times: int = 1
) -> list[Recipe]:
    """One recipe per leaf that has rows; left-over rows go to the classes in a seeded order of the leaf's own.

    rows: None for as many as the model was learned from, so many times.
    by_counts: rows per class in the proportion of the leaf's counts, which a published model has, not by quota.
    """
    if tree.is_regression:
        raise PolicyError("pseudo-data needs a decision tree, and this model is a regression tree")
    leaves = [leaf for leaf in tree.leaves if leaf.rows > 0]
    if not leaves:
        raise PolicyError("the model has no rows in any leaf, so nothing can be made from it")
    weights = [leaf.rows for leaf in leaves]
    sizes = largest_remainder(weights, times * sum(weights) if rows is None else rows)
    if sum(sizes) > MOST_ROWS:
        raise PolicyError(f"more than {MOST_ROWS:,} pseudo-rows would be made: set the number with rows")
    made = []
    for leaf, size in zip(leaves, sizes, strict=True):
        values, bounds = _allowed_values(tree, leaf, domains)
        order = class_order(seed, leaf.number, len(leaf.counts))
        classes = tuple(largest_remainder(leaf.counts, size, order)) if by_counts else quota(leaf, size, order)
        asked = frozenset(node.split.attribute for node, _ in tree.path(leaf) if node.split is not None)
        made.append(Recipe(leaf.number, size, classes, values, bounds, asked))
    return [recipe for recipe in made if recipe.rows > 0]


def class_order(seed: int, leaf: int, classes: int) -> list[int]:
    """The order in which the classes of a leaf get what is left over.

    One order for all leaves would give the first classes a row more in every leaf, which adds up over many leaves.
    """
    return sorted(range(classes), key=lambda code: digest(seed, f"leaf {leaf} class {code}"))


def largest_remainder(weights: Sequence[int], total: int, order: Sequence[int] | None = None) -> list[int]:
    """A total shared out in proportion, in whole numbers; of equal claims those go first that stand first in an order.

    >>> largest_remainder([1, 1, 1], 10), largest_remainder([8, 16], 24), largest_remainder([1, 1, 1], 10, [2, 0, 1])
    ([4, 3, 3], [8, 16], [3, 3, 4])
    """
    whole = sum(weights)
    shares = [weight * total // whole for weight in weights]
    claims = sorted(order or range(len(weights)), key=lambda n: -(weights[n] * total % whole))  # a stable sort
    for place in claims[: total - sum(shares)]:
        shares[place] += 1
    return shares


def quota(leaf: Node, rows: int, order: Sequence[int]) -> tuple[int, ...]:
    """Rows per class: the majority in its proportion, the others as even as whole rows allow (Tian et al., example 20).

    How the misses are spread over the other classes is not told by the paper's labels, so it is not used here.

    >>> quota(Node(0, None, 0, (2, 3, 1, 8, 10)), 24, range(5))
    (4, 4, 3, 3, 10)
    """
    major = leaf.majority
    hits = (2 * rows * leaf.counts[major] + leaf.rows) // (2 * leaf.rows)
    others = [number for number in order if number != major]
    counts = [0] * len(leaf.counts)
    counts[major] = rows if not others else hits
    for place, number in enumerate(others):
        counts[number] = (rows - hits + len(others) - 1 - place) // len(others)
    return tuple(counts)


def _allowed_values(
    tree: Tree, leaf: Node, domains: Mapping[int, Domain]
) -> tuple[dict[int, tuple[Value, ...]], dict[int, tuple[Bounds, ...]]]:
    values = {number: domain.values for number, domain in domains.items() if domain.bounds is None}
    bounds: dict[int, tuple[Bounds, ...]] = {
        number: (domain.bounds,) for number, domain in domains.items() if domain.bounds is not None
    }
    for node, branch in tree.path(leaf):
        split = node.split
        if isinstance(split, Cut):
            ends = (None, split.at) if branch == 0 else (split.at, None)
            bounds[split.attribute] = _within(tree.attributes[split.attribute], bounds[split.attribute], [ends])
        elif isinstance(split, Bands):
            asked = split.ranges(branch)
            bounds[split.attribute] = _within(tree.attributes[split.attribute], bounds[split.attribute], asked)
        elif isinstance(split, Groups):
            values[split.attribute] = _of_branch(split, branch, values[split.attribute], domains[split.attribute])
    for number, ranges in bounds.items():
        steps = domains[number].steps
        if steps is not None and len(ranges) > 1:
            # between 30.5 and 31 there is no whole number to draw
            bounds[number] = tuple(one for one in ranges if whole(one, steps)[1]) or ranges[:1]
    return values, bounds


def whole(bounds: Bounds, steps: Fraction | int = 1) -> tuple[int, int]:
    """The first whole number of steps between bounds, and how many there are below the upper one.

    >>> from fractions import Fraction as F
    >>> whole((F("30.5"), F(40))), whole((F("30.2"), F("30.4"))), whole((F("30.2"), F("30.4")), 10)
    ((31, 9), (31, 0), (302, 2))
    """
    first, stop = -(-bounds[0] * steps // 1), -(-bounds[1] * steps // 1)
    return int(first), int(stop - first)


def _within(attribute: Attribute, ranges: Sequence[Bounds], asked: Sequence[tuple[At, At]]) -> tuple[Bounds, ...]:
    """What is left of some ranges by a test; never nothing: a leaf has rows, whatever bounds were declared.

    >>> from fractions import Fraction as F
    >>> from ppdm_sql.engines.base import Kind
    >>> age = Attribute("age", Kind.INTEGER, ordered=True)
    >>> [(int(a), int(b)) for a, b in _within(age, [(F(0), F(90))], [(None, Decimal(30)), (Decimal(50), Decimal(60))])]
    [(0, 30), (50, 60)]
    """
    both = []
    for low, high in ranges:
        for first, stop in asked:
            left = low if first is None else max(low, place_of(attribute, first))
            both.append((left, high if stop is None else min(high, place_of(attribute, stop))))
    return tuple(one for one in both if one[0] < one[1]) or (both[0],)


def _of_branch(split: Groups, branch: int, before: tuple[Value, ...], domain: Domain) -> tuple[Value, ...]:
    """The values that take a branch; of the branch of all others those that no group names, NULL if there are none."""
    group = set(split.groups[branch])
    kept = tuple(value for value in before if value in group)
    if split.others == branch:
        named = {value for one in split.groups for value in one}
        kept += tuple(value for value in before if value not in named)
    if not kept and None not in group and domain.is_declared:
        raise PolicyError(
            f'domains: a leaf of the model is for categories of column "{domain.name}" that it does not name, and '
            "none of "
            "those was declared"
        )
    return kept or (None,)
