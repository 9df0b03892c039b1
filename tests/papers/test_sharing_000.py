"""The tables of paper 000 from a few rows: every figure is there, and what must hold of any run holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from ppdm_sql.evaluate.papers import sharing_000
from ppdm_sql.evaluate.papers.sharing_000 import FILES, FULL, Size, tables_of
from ppdm_sql.watching import silent

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
pytestmark = [
    pytest.mark.duckdb,
    pytest.mark.skipif(not all((DATA / file).exists() for file in FILES), reason="../shared/data is absent"),
]


@pytest.fixture(scope="module")
def found():
    size = Size({"Nursery": 600}, 1, (1, 2), {"Nursery": ("simple_l = 5", "recursive_l = (20, 2)")}, 2)
    return tables_of(DATA, silent, size, [sharing_000.NURSERY])


def test_one_source_is_the_base_tree_and_two_are_not(found):
    one, two = (dict(zip(found[0].columns, row, strict=True)) for row in found[0].rows)
    assert len({one[f"{way} %"] for way in ("BASIS", "PGEN", "BASEGEN", "BAGGING")}) == 1
    assert [one[f"{what} %"] for what in ("match PGEN", "match BASEGEN", "match BAGGING", "paths PGEN")] == [
        "100.0"
    ] * 4
    assert all(0 < float(two[f"{way} %"]) <= 100 for way in ("BASIS", "PGEN", "BASEGEN", "BAGGING"))
    assert float(two["paths PGEN %"]) < 100
    assert float(two["local leaves"]) < float(one["local leaves"])


def test_what_no_method_can_meet_has_no_figure(found):
    lines = {row[1]: dict(zip(found[1].columns, row, strict=True)) for row in found[1].rows}
    assert set(lines) == {"simple_l = 5", "recursive_l = (20, 2)"}
    assert set(list(lines["simple_l = 5"].values())[2:]) == {"none"}
    row = lines["recursive_l = (20, 2)"]
    for name in ("ATP", "LDM"):
        if row[f"{name} leaves"] != "none":
            assert int(row[f"{name} leaves"].replace(",", "")) > 1
            assert all(0 <= float(row[f"{what} %"]) <= 100 for what in (name, f"match {name}", f"paths {name}"))
    assert {row["ATP leaves"], row["LDM leaves"]} != {"none"}


def test_the_whole_run_asks_for_what_the_paper_asked_for():
    adult, nursery = sharing_000.ADULT.asked, sharing_000.NURSERY.asked
    assert (len(adult), len(nursery)) == (13 + 39, 4 + 16)
    assert FULL.sources == tuple(range(1, 11))
