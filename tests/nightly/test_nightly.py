"""The long runs in small: what `make nightly` runs for hours starts, judges and counts."""

from __future__ import annotations

import pytest

from ppdm_sql.requirements import ConfidenceLimit, DistinctDiversity, KAnonymity
from tests.nightly import agree, nights, tables
from tests.nightly.cases import METHODS, random_case
from tests.nightly.judge import breaches
from tests.nightly.summary import Options

FEW = Options(tables=12, agree=3, workers=1, quiet=True)


@pytest.mark.wide
def test_a_few_tables_are_published_and_judged():
    found = tables.run(FEW)
    assert found.problems == []
    assert found.figures["tables"] == 12


@pytest.mark.wide
def test_a_few_tables_are_judged_three_times():
    found = agree.run(FEW)
    assert found.problems == []
    assert found.figures["tables"] == 3


@pytest.mark.wide
def test_a_stream_of_nights_is_attacked():
    found = nights.summarize([nights.attack_one(3, nights=3)])
    assert found.problems == []
    assert found.figures["nights"] == 3
    weak = nights.Attacked(7, nights.Counts(nights=3, below_l=1))
    assert "seed 7" in nights.summarize([weak]).problems[0]


def test_a_seed_gives_the_same_case():
    assert random_case(5) == random_case(5)
    drawn = [random_case(seed) for seed in range(200)]
    assert {(case.kind, case.method) for case in drawn} == set(METHODS)
    words = {feature for case in drawn for feature in case.features}
    assert {"entity", "hierarchy", "null quasi-identifier", "t equal", "t ordered", "t hierarchical", "k"} <= words
    assert {"alpha", "beta", "delta", "k on", "growing, 2 nights", "growing, 4 nights"} <= words
    assert {"as range", "as midpoint", "order", "weight", "suppress at most"} <= words


def test_methods_can_be_chosen_without_changing_what_other_seeds_draw():
    assert {random_case(seed, "hilbert, koptimize").method for seed in range(20)} == {"hilbert", "koptimize"}
    assert random_case(7, "") == random_case(7)
    with pytest.raises(SystemExit, match="no cases are drawn for dmps; valid methods: mondrian"):
        random_case(7, "dmps")


def test_a_release_that_breaks_its_policy_is_found():
    groups = {"a": [{"s": "flu"}, {"s": "flu"}, {"s": None}], "b": [{"s": "flu"}, {"s": "cold"}, {"s": "cold"}]}
    asked = [KAnonymity(4), DistinctDiversity(2)]
    assert len(list(breaches(groups, asked, ["s"], nulls_as_value=True))) == 1
    assert len(list(breaches(groups, asked, ["s"], nulls_as_value=False))) == 2
    assert list(breaches({"a": [{"s": None}]}, [ConfidenceLimit(1)], ["s"], nulls_as_value=False))


def test_a_missed_share_fails():
    refused = [tables.Outcome(seed, "mondrian table", (), None, "too small") for seed in range(5)]
    assert "60% are needed" in tables.summarize(refused).problems[0]
    single = [tables.Outcome(seed, "mondrian table", ("k",), 1) for seed in range(5)]
    assert "several classes" in tables.summarize(single).problems[0]
    bad = [tables.Outcome(7, "mondrian table", ("k",), 2, violation="k = 3 fails")]
    assert tables.summarize(bad).problems == ["seed 7 (mondrian table): k = 3 fails"]
