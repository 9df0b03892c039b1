"""The repair of a tree's leaves, from counts alone: the vectors, random trees against the naive twin, promises."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from ppdm_sql.methods.kactus import repair as kactus_repair
from ppdm_sql.methods.kactus.repair import DROPPED, RepairNode, RepairRules
from ppdm_sql.methods.kactus.row_kinds import Kinds, entropy
from ppdm_sql.methods.shared.discretize import cut_codes
from tests.oracles.naive_kactus import RARE, Branch, Repair, cuts

N, Y = 0, 1
KINDS = Kinds([N, Y], [1, 1])
# a1 (1) and a2 (2) below the root; b1, b2, b3 (3, 4, 5) below a1
TREE = [RepairNode(None, (1, 2)), RepairNode(0, (3, 4, 5)), RepairNode(0), RepairNode(1), RepairNode(1), RepairNode(1)]
ROWS = {3: {Y: 5, N: 2}, 4: {N: 3}, 5: {Y: 1, N: 1}, 2: {Y: 3, N: 2}}


class Move(NamedTuple):
    leaf: int
    kind: int
    rows: int
    target: int | None


def repair(nodes, rows, kinds, rules) -> list[Move]:
    """The moves one by one; a target of None is dropped."""
    found = kactus_repair.repair(nodes, rows, kinds, rules)
    assert (found.rows > 0).all()
    listed = zip(*(one.tolist() for one in (found.leaf, found.kind, found.rows, found.target)), strict=True)
    moves = [Move(leaf, kind, some, None if target == DROPPED else target) for leaf, kind, some, target in listed]
    assert len({(move.leaf, move.kind, move.target) for move in moves}) == len(moves)
    return moves


def classes(moves) -> dict:
    """target -> (Y, N)"""
    found = defaultdict(Counter)
    for move in moves:
        found[move.target][move.kind] += move.rows
    return {target: (held[Y], held[N]) for target, held in found.items()}


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (RepairRules(4), {1: (2, 6), 3: (4, 0), 2: (3, 2)}),
        (RepairRules(4, swap_threshold=Fraction(1, 4)), {4: (0, 4), 1: (2, 2), 3: (4, 0), 2: (3, 2)}),
        (RepairRules(4, swap_threshold=Fraction(1, 2)), {4: (0, 4), 5: (2, 2), 3: (4, 0), 2: (3, 2)}),
        (RepairRules(4, swap_threshold=Fraction(1)), {4: (0, 4), 5: (2, 2), 3: (4, 0), 2: (3, 2)}),
        (RepairRules(4, informed=False, pool_non_complying=True), {1: (1, 4), 3: (5, 2), 2: (3, 2)}),
    ],
)
def test_the_four_lines_of_the_first_vector(rules, expected):
    assert classes(repair(TREE, ROWS, KINDS, rules)) == expected


@pytest.mark.parametrize(("second", "dropped"), [(1, True), (2, False)])
def test_the_rest_below_k_is_dropped_and_from_k_on_printed_without_values(second, dropped):
    tree = [RepairNode(None, (1, 2, 3)), RepairNode(0), RepairNode(0), RepairNode(0)]
    found = classes(repair(tree, {1: {Y: 2}, 2: {N: second}, 3: {Y: 9}}, KINDS, RepairRules(4)))
    assert found == {None if dropped else 0: (2, second), 3: (9, 0)}


def test_strict_swapping_wants_one_row_more_than_needed():
    tree = [RepairNode(None, (1,)), RepairNode(0, (2, 3)), RepairNode(1), RepairNode(1)]
    rows = {2: {Y: 6}, 3: {N: 2}}  # two to spare, two needed
    always = RepairRules(4, swap_threshold=Fraction(1))
    assert 3 in classes(repair(tree, rows, KINDS, always))
    strict = RepairRules(4, swap_threshold=Fraction(1), strict_swap=True)
    assert classes(repair(tree, rows, KINDS, strict)) == {1: (2, 2), 2: (4, 0)}


def test_compensation_at_the_root_saves_rows_that_would_be_dropped():
    tree = [RepairNode(None, (1, 2)), RepairNode(0), RepairNode(0)]
    rows = {1: {Y: 9}, 2: {N: 2}}
    assert classes(repair(tree, rows, KINDS, RepairRules(4))) == {1: (9, 0), None: (0, 2)}
    assert classes(repair(tree, rows, KINDS, RepairRules(4, compensate_at_root=True))) == {1: (7, 0), 0: (2, 2)}


def test_a_value_held_by_few_is_never_swapped_into_and_prints_its_parent_when_it_has_k_rows():
    tree = [RepairNode(None, (1,)), RepairNode(0, (2, 3)), RepairNode(1), RepairNode(1, named=False)]
    always = RepairRules(4, swap_threshold=Fraction(1))
    assert classes(repair(tree, {2: {Y: 9}, 3: {N: 2}}, KINDS, always)) == {1: (2, 2), 2: (7, 0)}
    assert classes(repair(tree, {2: {Y: 9}, 3: {N: 5}}, KINDS, always)) == {1: (0, 5), 2: (9, 0)}


def test_the_giver_is_the_one_that_is_left_purest_by_resulting_entropy_and_not_by_change():
    """(2, 1) and one row more: A leaves 0.811, B leaves 1.0 although B changes it less."""
    tree = [RepairNode(None, (1,)), RepairNode(0, (2, 3)), RepairNode(1), RepairNode(1)]
    found = classes(repair(tree, {2: {Y: 6, N: 6}, 3: {Y: 2, N: 1}}, KINDS, RepairRules(4, swap_threshold=Fraction(1))))
    assert found[3] == (3, 1)
    assert entropy([2, 1]) == 0.918295834


# -- random trees ----------------------------------------------------------------------------------------


def random_tree(rng: random.Random) -> tuple[list[RepairNode], dict[int, dict[int, int]], Branch]:
    """The same tree for both: nodes with counts, and branches with rows."""
    size = rng.choice([1, 3, 6])
    parents: list[int | None] = [None]
    named = [True]
    children: list[list[int]] = [[]]
    waiting = [(0, 0)]
    while waiting:
        node, depth = waiting.pop(0)
        if depth and (not named[node] or rng.random() < 0.3 * depth):
            continue
        for _ in range(rng.randint(2, 4)):
            children[node].append(len(parents))
            waiting.append((len(parents), depth + 1))
            parents.append(node)
            children.append([])
            named.append(rng.random() < 0.9)
    rows = {}
    for node, below in enumerate(children):
        if not below:
            counts = {kind: rng.randint(0, 3 * size) for kind in range(3) if rng.random() < 0.7}
            rows[node] = {kind: n for kind, n in counts.items() if n}
    nodes = [RepairNode(parents[i], tuple(children[i]), named[i]) for i in range(len(parents))]

    def branch(node: int, path: dict[str, int]) -> Branch:
        mine = [{"class": kind, "leaf": node} for kind, n in rows.get(node, {}).items() for _ in range(n)]
        below = [
            branch(child, {**path, f"level{len(path)}": child if named[child] else RARE}) for child in children[node]
        ]
        return Branch(path, mine, below)

    return nodes, rows, branch(0, {})


def path_of(nodes: list[RepairNode], node: int) -> tuple:
    found = []
    while nodes[node].parent is not None:
        found.append(node)
        node = nodes[node].parent
    return tuple(reversed(found))


@pytest.mark.parametrize("second", [True, False])
def test_random_trees_like_the_naive_twin(second):
    seen = Counter()
    for seed in range(250):
        rng = random.Random(f"{second} {seed}")
        nodes, rows, root = random_tree(rng)
        total = sum(n for counts in rows.values() for n in counts.values())
        k = rng.choice([1, 2, 4, 7, 12])
        if total < k:
            continue
        threshold = rng.choice([Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1)]) if second else Fraction(0)
        options = {name: rng.random() < 0.3 for name in ("compensate_at_root", "join_existing_group", "strict_swap")}
        options["pool_non_complying"] = rng.random() < 0.5
        rules = RepairRules(k, informed=second, swap_threshold=threshold, seed=seed, **options)
        moves = repair(nodes, rows, Kinds([0, 1, 2], [1, 1, 1]), rules)
        check_moves(nodes, rows, moves, rules, seen)
        method = "kactus2" if second else "kactus"
        naive = Repair("class", {0: 0, 1: 1, 2: 2}, k, options | {"swap_threshold": threshold, "method": method})
        dropped = naive.run(root)
        assert sum(move.rows for move in moves if move.target is None) == len(dropped)
        ours, theirs = Counter(), Counter()
        for move in moves:
            if move.target is not None:
                ours[path_of(nodes, move.target), move.kind if second else 0] += move.rows
        for path, row in naive.published:
            theirs[tuple(path.values()), row["class"] if second else 0] += 1
        assert ours == theirs
    assert seen["dropped"] > 20
    assert seen["suppressed"] > 50
    assert (seen["swapped"] > 20) == second


def check_moves(nodes, rows, moves, rules, seen) -> None:
    """Every row once, every class k, a swap only to a sibling of the way, and no more of them than allowed."""
    given = Counter()
    sizes, swapped = Counter(), Counter()
    for move in moves:
        given[move.leaf, move.kind] += move.rows
        if move.target is None:
            seen["dropped"] += 1
            continue
        sizes[move.target] += move.rows
        way = (0, *path_of(nodes, move.leaf))
        if move.target not in way:
            assert nodes[move.target].parent in way
            assert nodes[move.target].named
            swapped[move.target] += move.rows
        elif move.target != move.leaf:
            seen["suppressed"] += 1
    assert given == Counter({(leaf, kind): n for leaf, counts in rows.items() for kind, n in counts.items()})
    assert min(sizes.values()) >= rules.k
    assert sum(move.rows for move in moves if move.target is None) <= rules.k - 1
    assert all(n <= rules.swap_threshold * rules.k for n in swapped.values())
    seen["swapped"] += bool(swapped)


def test_requirements_beside_k_hold_in_every_class_and_lose_fewer_than_k_rows():
    """Kinds of two classes and three sensitive values; every class must have two of the values."""
    kinds = Kinds([0, 0, 0, 1, 1, 1], [1] * 6)

    def two_values(counts) -> bool:
        return len({kind % 3 for kind in counts}) >= 2

    merged = 0
    for seed in range(200):
        rng = random.Random(seed)
        nodes, _, _ = random_tree(rng)
        rows = {}
        for number, node in enumerate(nodes):
            if not node.children:
                alike = rng.randrange(3)  # most leaves have one sensitive value only
                rows[number] = {
                    c * 3 + (alike if rng.random() < 0.7 else rng.randrange(3)): rng.randint(1, 6) for c in (0, 1)
                }
        k = rng.choice([2, 4, 7])
        whole = Counter(kind for counts in rows.values() for kind in counts)
        if sum(n for c in rows.values() for n in c.values()) < k or not two_values(whole):
            continue
        rules = RepairRules(
            k,
            informed=rng.random() < 0.5,
            swap_threshold=rng.choice([Fraction(0), Fraction(1)]),
            holds=two_values,
            may_drop=rng.random() < 0.7,
            pool_non_complying=rng.random() < 0.5,
        )
        found = defaultdict(Counter)
        for move in repair(nodes, rows, kinds, rules):
            found[move.target][move.kind] += move.rows
        lost = found.pop(None, Counter())
        assert lost.total() < k
        assert rules.may_drop or not lost
        assert all(held.total() >= k and two_values(held) for held in found.values())
        merged += 0 in found and len(found) > 1
    assert merged > 10


def test_persons_and_not_rows_are_counted_where_rows_have_weights():
    """Kind 1 is a person's further row: it weighs nothing."""
    tree = [RepairNode(None, (1, 2)), RepairNode(0), RepairNode(0)]
    found = repair(tree, {1: {0: 4, 1: 9}, 2: {0: 1, 1: 9}}, Kinds([0, 0], [1, 0]), RepairRules(4))
    assert {(move.leaf, move.target) for move in found} == {(1, 0), (2, 0)}  # ten rows cannot be dropped: all merge


# -- intervals -------------------------------------------------------------------------------------------


def test_cuts_are_those_of_the_definition():
    some = 0
    for seed in range(60):
        rng = random.Random(seed)
        turn = rng.randint(3, 12)
        rows = [
            {
                "x": (x := rng.randint(0, 15)),
                "y": "ab"[(x > turn) ^ (rng.random() < 0.1)] if seed % 3 else rng.choice("abc"),
            }
            for _ in range(rng.choice([5, 30, 80]))
        ]
        least = rng.choice([1, 3, 10])
        values = sorted({row["x"] for row in rows})
        counts = np.array([[sum(r["x"] == v and r["y"] == y for r in rows) for y in "abc"] for v in values])
        found = [values[code] for code in cut_codes(counts, counts.sum(axis=1), least)]
        assert found == cuts(rows, "x", "y", least)
        some += len(found)
    assert some > 20
