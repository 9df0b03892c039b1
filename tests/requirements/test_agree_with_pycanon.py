"""The figures of `measure` against those of pyCANON on random tables; skips without the environment of `make peers`."""

from __future__ import annotations

import json
import math
import random
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from ppdm_sql.checks.measure import Sensitive, measure
from ppdm_sql.policy.stored_requirements import requirements

HERE = Path(__file__).parent
MADE = HERE.parents[1] / ".venv-peers" / ".done"  # make peers has come to its end
PEERS = MADE.with_name("bin") / "python"
TABLES = 50
ASKED = ["k = 2", "alpha = 0.5", "distinct_l = 2", "t = 0.5 equal", "beta = 1", "enhanced_beta = 1", "delta = 1"]


def draw_table(seed):
    """Rows without NULL, which pyCANON leaves out of classes; two values at least, for its t divides by their number."""
    draw = random.Random(seed)
    values = draw.choice(["ab", "abc", "abcdef"])
    rows = [[draw.choice("xyz"), draw.choice("12"), draw.choice(values)] for _ in range(draw.choice([20, 60, 200]))]
    return [*rows, ["x", "1", "a"], ["x", "1", "b"]]


@pytest.mark.wide
@pytest.mark.skipif(not MADE.exists(), reason="no pyCANON: make peers")
def test_figures_are_those_of_pycanon(duckdb_engine, make_table):
    tables = [draw_table(seed) for seed in range(TABLES)]
    told = subprocess.run(
        [PEERS, HERE / "pycanon_figures.py"], input=json.dumps(tables), capture_output=True, text=True, check=True
    )
    different = Counter()
    for seed, (rows, theirs) in enumerate(zip(tables, json.loads(told.stdout), strict=True)):
        names = {"q": "TEXT", "r": "TEXT", "s": "TEXT"}
        relation = make_table(duckdb_engine, f"peer_{seed}", names, [tuple(row) for row in rows])
        q, r, s = duckdb_engine.columns(relation)
        asked = requirements(ASKED)
        found = measure(duckdb_engine, relation, quasi=[q, r], sensitive=[Sensitive(s)], requirements=asked)
        ours = {one.requirement.word: float(one.achieved) for one in found.outcomes}
        for word in ("k", "alpha", "distinct_l", "t", "beta"):
            assert ours[word] == pytest.approx(theirs[word], rel=1e-9, abs=1e-12), (seed, word)
        if math.isinf(ours["delta"]):  # a class lacks a value: pyCANON leaves that value out, the definition does not
            different["delta"] += 1
        else:
            assert ours["delta"] == pytest.approx(theirs["delta"], rel=1e-9, abs=1e-12), seed
        # pyCANON takes the least of the largest excess and of -ln p of the rarest value, not a limit for each value.
        rarest = min(Counter(row[2] for row in rows).values()) / len(rows)
        assert theirs["enhanced_beta"] == pytest.approx(min(ours["beta"], -math.log(rarest)), rel=1e-9), seed
        different["enhanced_beta"] += ours["enhanced_beta"] != pytest.approx(theirs["enhanced_beta"], rel=1e-9)
    print(dict(different))
    assert 0 < different["delta"] < TABLES
    assert 0 < different["enhanced_beta"] < TABLES
