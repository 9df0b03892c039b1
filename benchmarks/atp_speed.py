"""How long ATP takes to prune a large tree: the merging alone, without the database.

python -m benchmarks.atp_speed
"""

from __future__ import annotations

import random
import time
from fractions import Fraction

import numpy as np

from ppdm_sql.methods.atp.node_labels import ByCounts, ByLabels, Judge, Piece
from ppdm_sql.methods.atp.prune import leaves_of, prune
from ppdm_sql.methods.shared.class_limits import ClassDemands
from ppdm_sql.requirements import RecursiveDiversity, SimpleDiversity

_CLASSES = 14  # as Adult has occupations


def random_tree(leaves: int, seed: int = 1) -> Piece:
    """A tree of at least this many leaves, with 2 to 9 branches per node and a leaning class in each leaf."""
    dice = random.Random(seed)
    root = Piece((), np.zeros(_CLASSES, dtype=np.int64))
    open_pieces, made = [root], 1
    while made < leaves:
        piece = open_pieces.pop(dice.randrange(len(open_pieces)))
        width = dice.randint(2, 9)
        piece.attribute = 0
        piece.children = [Piece((code,), np.zeros(_CLASSES, dtype=np.int64)) for code in range(width)]
        open_pieces += piece.children
        made += width - 1
    numbers = np.random.default_rng(seed)
    for leaf in open_pieces:
        leaf.counts = numbers.multinomial(numbers.integers(2, 12), numbers.dirichlet(np.full(_CLASSES, 0.4)))
    _add_up(root)
    return root


def _add_up(root: Piece) -> None:
    order, waiting = [], [root]
    while waiting:
        piece = waiting.pop()
        order.append(piece)
        waiting.extend(piece.children or ())
    for piece in reversed(order):
        if piece.children is not None:
            piece.counts = np.sum([child.counts for child in piece.children], axis=0)


def seconds(leaves: int, judge: Judge) -> tuple[float, int, int]:
    """Seconds, merges, and the leaves that are left."""
    root = random_tree(leaves)
    started = time.perf_counter()
    pruned = prune(root, judge)
    return time.perf_counter() - started, pruned.merges, sum(1 for _ in leaves_of(pruned.root))


def main() -> None:
    simple = ClassDemands(10, (SimpleDiversity(Fraction(2)),))
    recursive = ClassDemands(10, (RecursiveDiversity(Fraction(5), 3),))
    judges: dict[str, Judge] = {
        "exact, k = 10": ByCounts(ClassDemands(10)),
        "exact, k = 10, simple_l = 2": ByCounts(simple),
        "exact, k = 10, recursive_l = (5, 3)": ByCounts(recursive),
        "paper, k = 10, recursive_l = (5, 3)": ByLabels(recursive, _CLASSES),
    }
    for name, judge in judges.items():
        spent, merges, left = seconds(10_000, judge)
        print(f"{name:40} {spent:6.2f} s  {merges:6,} merges  {left:6,} of 10,000 leaves left")


if __name__ == "__main__":
    main()
