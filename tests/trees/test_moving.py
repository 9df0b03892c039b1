"""Rows that move between slots, and the count of those that did, against the same moves over a list of rows."""

from __future__ import annotations

import random
from collections import Counter as Bag

import pytest
from sqlglot import exp

from ppdm_sql.statements.names import column
from ppdm_sql.trees import counts, moving
from ppdm_sql.trees.coded import SLOT, make_training
from ppdm_sql.trees.counts import Counter
from ppdm_sql.trees.moving import Moves, move, rewrite

COLUMNS = {"word": "TEXT", "number": "INTEGER", "sign": "TEXT", "cls": "TEXT"}
MOST_SLOTS = 1 << 31


def made(engine, make_table, rng, rows=240):
    """The coded table of random rows."""
    drawn = [(rng.choice("abcde"), rng.randint(0, 11), rng.choice("+-'"), rng.choice("yn")) for _ in range(rows)]
    relation = make_table(engine, "moving_people", COLUMNS, drawn)
    infos = engine.columns(relation)
    return make_training(
        engine, relation, infos[:3], infos[3], regression=False, bins=255, exact=True, rare=1,
        most_nodes=100, most_slots=MOST_SLOTS,
    )  # fmt: skip


def stored(engine, training, table):
    """The rows as (codes, class, slot)."""
    names = [*(pack.name for pack in training.packs), SLOT]
    found = []
    for *packed, slot in engine.fetch(exp.Select(expressions=[column(name) for name in names]).from_(table.table())):
        codes, cls = {}, 0
        for pack, number in zip(training.packs, packed, strict=True):
            cls = number % pack.classes
            for member in pack.members:
                codes[member] = number // pack.stride(member) % training.attributes[member].size
        found.append((tuple(codes[member] for member in sorted(codes)), cls, slot))
    return found


def random_moves(training, rng, rows, fresh):
    """Moves of some slots, and the same as a function of a row; 0: it does not move."""
    moves, targets = Moves(), {}
    for slot in rng.sample(sorted({slot for *_, slot in rows}), k=max(1, len({slot for *_, slot in rows}) * 2 // 3)):
        kind = rng.randrange(4)
        to = [rng.choice([0, fresh, fresh + 1, fresh + 7]) for _ in range(12)]
        if kind == 0:
            moves.whole([slot], to[0])
            targets[slot] = lambda codes, to=to: to[0]
        elif training.attributes[number := kind - 1].attribute.ordered:
            cut = rng.randint(0, 10)
            moves.cut([slot], number, cut, to[0], to[1])
            targets[slot] = lambda codes, to=to, cut=cut, number=number: to[codes[number] > cut]
        else:
            children = to[: training.attributes[number].size]
            moves.groups([slot], number, children)
            targets[slot] = lambda codes, to=to, number=number: to[codes[number]]
    return moves, targets


@pytest.mark.parametrize("most", [0, 10_000])
def test_rows_move_as_told_and_only_those(engine, make_table, monkeypatch, most):
    monkeypatch.setattr(moving, "_MOST_LISTED", most)  # tables that are loaded, lists that are bound
    rng = random.Random(5)
    training = made(engine, make_table, rng)
    table, fresh, moved = training.table, 2, 0
    for turn in range(6):
        rows = stored(engine, training, table)
        moves, targets = random_moves(training, rng, rows, fresh)
        sent = [(codes, cls, targets[slot](codes) if slot in targets else 0, slot) for codes, cls, slot in rows]
        if turn % 2 == 0 and engine.updates_in_place:
            move(engine, training, table, moves)
            expected = [(codes, cls, to or slot) for codes, cls, to, slot in sent]
        else:
            for slot in {slot for *_, slot in rows} - set(targets):
                moves.whole([slot], slot)
            table = rewrite(engine, training, table, moves)
            expected = [
                (codes, cls, to if slot in targets else slot)
                for codes, cls, to, slot in sent
                if to or slot not in targets
            ]
        moved += sum(to > 0 for *_, to, _ in sent)
        assert Bag(stored(engine, training, table)) == Bag(expected)
        fresh += 8
    assert moved > 100
    engine.drop_table(table, temporary=True)


@pytest.mark.parametrize("few", [0, 10_000])
def test_slots_from_one_on_are_counted_alone(engine, make_table, monkeypatch, few):
    monkeypatch.setattr(counts, "_FEW", few)
    rng = random.Random(8)
    training = made(engine, make_table, rng)
    moves = Moves()
    moves.groups([1], 0, [3, 9, 4, 9, 12])
    table = rewrite(engine, training, training.table, moves)
    rows = stored(engine, training, table)
    for first in (0, 4, 9, 12):
        told = dict(Counter(engine, training).count(table, len(rows), 13 - first, first))
        assert sorted(told) == [0, 1, 2]
        for attribute, tally in told.items():
            expected = Bag((slot - first, codes[attribute], cls) for codes, cls, slot in rows if slot >= first)
            cells = zip(tally.slot.tolist(), tally.code.tolist(), tally.counts.tolist(), strict=True)
            assert {(s, c, cls): n for s, c, ns in cells for cls, n in enumerate(ns) if n} == expected
            keys = list(zip(tally.slot.tolist(), tally.code.tolist(), strict=True))
            assert keys == sorted(set(keys))
    engine.drop_table(table, temporary=True)
