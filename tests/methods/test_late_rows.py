"""Late rows are settled along a recoding: who waits, who may not wait, and what former values forbid."""

from __future__ import annotations

import random
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from ppdm_sql.methods.late_rows import FormerColumn, LateRows, _Settling, place_late_rows
from ppdm_sql.methods.shared.limits import Demands, Secret
from ppdm_sql.requirements import DistinctDiversity
from tests.sizes import seeds


def recoding(printable=(True, True, True)):
    """A root and two finer nodes."""
    return SimpleNamespace(
        names=("age",),
        coarser=np.array([-1, 0, 0]),
        losses=np.array([1.0, 0.5, 0.4]),
        printable=np.array(printable),
        labels=lambda nodes: {"age": [("*", "young", "old")[node] for node in nodes]},
    )


def late(node, rows, values, history=None, former=()):
    numbers = [np.array(one) for one in (node, rows)]
    past = np.zeros(len(node), dtype=np.int64) if history is None else np.array(history)
    return LateRows(*numbers, numbers[1], (np.array(values),), past, former)


def demands(k, l=1):
    return Demands(k, (Secret("illness", (DistinctDiversity(l),), np.array([9, 9])),))


def test_rows_that_are_too_few_take_no_more_rows_of_a_class_than_they_need():
    rows = late([1, 1, 1, 1, 2], [3, 3, 3, 3, 4], [0, 0, 0, 0, 0])
    placed = place_late_rows(recoding(), rows, demands(6), due=True)
    assert placed.labels == {"age": ["*", "young"]}
    assert placed.parts.part.tolist() == [0, 1, 1, 1, 0]
    values = late([1, 1, 1, 1, 2], [3, 3, 3, 3, 4], [0, 1, 0, 0, 0])  # those that are left must be two values, too
    whole = place_late_rows(recoding(), values, demands(6, l=2), due=True)
    assert (whole.parts.part.tolist(), whole.labels) == ([0, 0, 0, 0, 0], {"age": ["*"]})


def test_which_rows_others_take_follows_a_secret_order():
    rows = late([1, 1, 1, 1, 2], [3, 3, 3, 3, 4], [0, 0, 0, 0, 0])
    for first in range(4):
        turn = np.array([(cell - first) % 4 for cell in range(4)] + [9])
        placed = place_late_rows(recoding(), replace(rows, turn=turn), demands(6), due=True)
        assert np.flatnonzero(placed.parts.part[:4] == placed.parts.part[4]).tolist() == [first]


def test_too_few_rows_wait_until_they_are_due():
    rows = late([1, 2], [10, 3], [0, 1])
    waiting = place_late_rows(recoding(), rows, demands(5))
    assert (waiting.parts.part.tolist(), waiting.labels) == ([0, -1], {"age": ["young"]})
    due = place_late_rows(recoding(), rows, demands(5), due=True)
    assert (due.parts.part.tolist(), due.labels) == ([0, 0], {"age": ["*"]})


def test_rows_that_are_due_take_several_classes_where_one_is_not_enough():
    rows = late([1, 2, 2], [3, 3, 2], [0, 0, 0])
    assert place_late_rows(recoding(), rows, demands(3, l=2), due=True).published == 0  # nobody has another value
    rows = late([1, 2, 0], [5, 5, 1], [0, 0, 1])
    placed = place_late_rows(recoding(), rows, demands(11), due=True)
    assert placed.parts.part.tolist() == [0, 0, 0]


def test_where_the_coarsest_labels_may_not_be_printed_the_next_ones_are_the_last():
    rows = late([1, 2], [10, 3], [0, 1])
    placed = place_late_rows(recoding((False, True, True)), rows, demands(5), due=True)
    assert placed.parts.part.tolist() == [0, -1]


def test_rows_are_not_divided_by_what_they_are_now_where_their_former_values_would_be_one():
    now = [0, 1, 0, 1]
    apart = late([1, 1, 2, 2], [3, 3, 3, 3], now, history=[7, 7, 7, 7])
    assert place_late_rows(recoding(), apart, demands(5, l=2)).labels == {"age": ["young", "old"]}
    secret = Secret("illness", (DistinctDiversity(2),), np.ones(2, dtype=np.int64))
    before = FormerColumn(secret, np.array([0, 0, 1, 1]), frozenset({7}))
    rows = late([1, 1, 2, 2], [3, 3, 3, 3], now, history=[7, 7, 7, 7], former=(before,))
    assert place_late_rows(recoding(), rows, demands(5, l=2)).labels == {"age": ["*"]}
    fresh = late([1, 1, 2, 2], [3, 3, 3, 3], now, former=(before,))  # they were never published
    assert place_late_rows(recoding(), fresh, demands(5, l=2)).labels == {"age": ["young", "old"]}


def chain(rng, size):
    """A random tree of nodes, whose labels say less the higher they are."""
    coarser = np.array([-1, *(rng.randrange(number) for number in range(1, size))])
    losses = np.ones(size)
    for number in range(1, size):
        losses[number] = losses[coarser[number]] * rng.uniform(0.3, 1)
    names = [f"node {number}" for number in range(size)]
    return SimpleNamespace(
        names=("age",), coarser=coarser, losses=losses, printable=np.ones(size, dtype=bool),
        labels=lambda nodes: {"age": [names[node] for node in nodes]},
    )  # fmt: skip


@seeds(small=30, full=300)
def test_cells_that_start_higher_up_end_where_they_would_have_ended(seeds, monkeypatch):
    for seed in seeds:
        rng = random.Random(seed)
        tree = chain(rng, rng.randint(1, 30))
        size = rng.randint(1, 40)
        node = [rng.randrange(len(tree.coarser)) for _ in range(size)]
        rows = [rng.randint(1, 3) for _ in range(size)]
        given = late(node, rows, [rng.randrange(2) for _ in range(size)], [rng.choice([0, 0, 5]) for _ in range(size)])
        asked, due = demands(rng.choice([0, 2, 5, 12]), rng.choice([1, 2])), rng.random() < 0.3
        found = place_late_rows(tree, given, asked, due=due)
        with monkeypatch.context() as patched:
            patched.setattr(_Settling, "_crowded", lambda self, node, persons: node)
            slowly = place_late_rows(tree, given, asked, due=due)
        assert found.parts.part.tolist() == slowly.parts.part.tolist(), seed
        assert (found.labels, found.loss) == (slowly.labels, slowly.loss), seed
        for one in range(found.published):
            inside = found.parts.part == one
            assert given.rows[inside].sum() >= asked.k, seed
            assert len(set(given.secrets[0][inside].tolist())) >= asked.secrets[0].requirements[0].l, seed
            assert len(set(given.history[inside].tolist())) == 1, seed
