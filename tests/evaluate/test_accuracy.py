"""Accuracy, AUC and R squared from a told relation against their definitions."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from evaluate_tables import QUICK

from ppdm_sql.evaluate.accuracy import SHARE, TOLD, TRUTH, auc, class_pairs, confusion, r_squared, rows_and_right
from tests.oracles import measures as oracle


def random_told(seed, rows, classes):
    """Scores with many ties, classes that never come, classes training did not have."""
    dice = random.Random(seed)
    present = dice.sample(range(-1, classes), dice.randrange(1, classes + 1))
    truth = [dice.choice(present) for _ in range(rows)]
    told = [dice.randrange(classes) for _ in range(rows)]
    shares = [[dice.choice([0.0, 0.1, 0.5, 0.50000000001, 1.0, -3.5]) for _ in range(classes)] for _ in range(rows)]
    return truth, told, shares


@QUICK
@pytest.mark.parametrize(("rows", "classes"), [(80, 2), (61, 4), (5, 3), (1, 2), (0, 2)])
def test_classes_are_counted_as_defined(engine, make_table, rows, classes):
    for seed in range(4):
        truth, told, shares = random_told(seed * 100 + rows, rows, classes)
        columns = {TRUTH: "INTEGER", TOLD: "INTEGER"} | {f"{SHARE}{place}": "DOUBLE" for place in range(classes)}
        relation = make_table(
            engine,
            "ppdm_told_here",
            columns,
            [(a, b, *c) for a, b, c in zip(truth, told, shares, strict=True)],
            temporary=True,
        )
        counted = confusion(engine, relation)
        assert sum(counted.values()) == rows
        assert all(
            rows_of == sum((a, b) == pair for a, b in zip(truth, told, strict=True))
            for pair, rows_of in counted.items()
        )
        assert rows_and_right(counted) == (rows, sum(a == b for a, b in zip(truth, told, strict=True)))
        assert auc(engine, relation, classes) == oracle.auc(truth, shares)
        for place in range(classes):
            pairs, inside, outside = class_pairs(engine, relation, place)
            expected = oracle.class_auc([one == place for one in truth], [row[place] for row in shares])
            assert (Fraction(pairs, 2 * inside * outside) if inside and outside else None) == expected


@QUICK
@pytest.mark.parametrize("seed", range(3))
def test_r_squared_is_that_of_its_definition(engine, make_table, seed):
    dice = random.Random(seed)
    truth = [Fraction(dice.randrange(-40, 900), 4) for _ in range(60)]
    told = [one + Fraction(dice.randrange(-80, 80), 8) for one in truth]
    rows = [(float(one), float(other)) for one, other in zip(truth, told, strict=True)]
    relation = make_table(
        engine,
        "ppdm_told_here",
        {TRUTH: "DOUBLE", TOLD: "DOUBLE"},
        [*rows, (None, 1.0), (1.0, None), (math.nan, 1.0), (math.inf, 1.0)],
    )
    counted, found = r_squared(engine, relation)
    assert counted == 60
    assert found == pytest.approx(float(oracle.r_squared(truth, told)), abs=1e-12)


@QUICK
def test_nothing_varies(engine, make_table):
    columns = {TRUTH: "DOUBLE", TOLD: "DOUBLE"}
    assert r_squared(engine, make_table(engine, "ppdm_told_here", columns, [(2.0, 1.0)] * 3)) == (3, None)
    assert r_squared(engine, make_table(engine, "ppdm_told_empty", columns, [])) == (0, None)
