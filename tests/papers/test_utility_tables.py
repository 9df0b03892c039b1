"""The learners of benchmarks/utility.py read labels as an analyst would, and find what is there to find."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.utility import _middles, learn
from ppdm_sql.engines.base import ColumnInfo, Kind

AGE, TOWN = ColumnInfo("age", Kind.INTEGER, "INTEGER"), ColumnInfo("town", Kind.TEXT, "TEXT")


def test_a_range_is_its_middle_and_a_suppressed_cell_is_missing():
    found = _middles(AGE, ["[30, 41)", "67", "< 20", ">= 80", "*", None])
    assert found[:4].tolist() == [35, 67, 19, 80]
    assert np.isnan(found[4:]).all()


def rows(number: int, *, told: bool) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(number)
    age, town = draw.integers(20, 80, number), draw.choice(["a", "b", "c"], number)
    target = np.where((age >= 50) ^ (town == "c"), "yes", "no")
    shown = np.where(age >= 50, ">= 50", "< 50") if told else np.full(number, "*")
    return {"age": shown.astype(object), "town": town.astype(object), "class": target.astype(object)}


@pytest.mark.parametrize(("told", "least", "most"), [(True, 0.99, 1.0), (False, 0.3, 0.75)])
def test_learners_find_what_the_labels_say_and_no_more(told, least, most):
    pytest.importorskip("sklearn")
    found = learn(rows(600, told=told), rows(601, told=told), [AGE, TOWN], "class")
    assert least <= found.boosting <= most
    assert least <= found.tree <= most
    assert found.auc >= 0.99 or not told
