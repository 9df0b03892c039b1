"""Methods side by side: the tests of significance are fed the right figures, and said only where they can be."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from statistics import fmean

import pytest

from ppdm_sql.catalog.evaluations import Evaluation, EvaluationPoint
from ppdm_sql.errors import NotAvailable
from ppdm_sql.evaluate import significance
from ppdm_sql.evaluate.compare import areas, differences, in_words, rank_methods
from ppdm_sql.evaluate.significance import f_tail

EVEN = (70, 72, 70, 71, 69, 71, 70, 70, 71, 70)  # right of 100, in the order of the folds


def point(method: str, k: int, rights: tuple[int, ...], **changes: object) -> EvaluationPoint:
    folds = tuple(Fraction(right, 100) for right in rights)
    asked = (f"k = {k}", *changes.pop("others", ()))
    made = EvaluationPoint(
        1, "measured", method, asked, 1.0, k=k, holds=True, tested="outside", folds=folds,
        accuracy=fmean(map(float, folds)),
    )  # fmt: skip
    return replace(made, **changes)


def evaluation(*points: EvaluationPoint, protocol: str = "5x2", learner: str = "c45") -> Evaluation:
    numbered = tuple(replace(one, position=number) for number, one in enumerate(points, start=1))
    methods = tuple(dict.fromkeys(str(one.algorithm) for one in points))
    return Evaluation("f", "main", "o", "", methods, {}, protocol, learner, 0, len(points), 100, points=numbered)


def naive_f(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """Alpaydin's statistic from the ten differences, repeat by repeat."""
    gaps = [(a - b) / 100 for a, b in zip(one, other, strict=True)]
    variance = sum((gaps[n] - gaps[n + 1]) ** 2 / 2 for n in range(0, 10, 2))
    return sum(gap**2 for gap in gaps) / (2 * variance)


def test_every_method_against_the_best_of_its_setting():
    worse = (60, 61, 62, 60, 59, 62, 60, 61, 60, 59)
    near = (70, 71, 71, 70, 70, 70, 71, 69, 70, 71)
    found = differences(
        evaluation(
            point("tpp", 5, worse), point("mondrian", 5, EVEN, tested="published"), point("kactus2", 5, near),
            point("tpp", 9, EVEN), point("mondrian", 9, worse), point("kactus2", 9, EVEN, status="refused"),
        )
    )  # fmt: skip
    assert [(one.asked, one.algorithm, one.best, one.tested_alike) for one in found] == [
        ("k = 5", "tpp", "mondrian", False), ("k = 5", "kactus2", "mondrian", False), ("k = 9", "mondrian", "tpp", True),
    ]  # fmt: skip
    expected = [f_tail(naive_f(EVEN, other), 10, 5) for other in (worse, near, worse)]
    assert [one.p for one in found] == pytest.approx(expected)
    assert found[0].p < 0.05 < found[1].p


def test_the_halves_of_a_repeat_belong_together():
    """Dealt otherwise the same figures would have another variance, and another p."""
    one, other = (60, 90) * 5, (61, 88) * 5
    (found,) = differences(evaluation(point("tpp", 5, one), point("mondrian", 5, other)))
    shuffled = one[:5] + other[5:], other[:5] + one[5:]
    assert found.p == pytest.approx(f_tail(naive_f(one, other), 10, 5))
    assert found.p != pytest.approx(f_tail(naive_f(*shuffled), 10, 5))


def test_one_method_or_other_folds_have_no_f_test():
    assert differences(evaluation(point("tpp", 5, EVEN), point("tpp", 9, EVEN))) == []
    two = (point("tpp", 5, EVEN), point("mondrian", 5, EVEN[::-1]))
    assert differences(evaluation(*two, protocol="kfold:10")) == []
    assert differences(evaluation(two[0], replace(two[1], folds=None))) == []
    assert differences(evaluation(two[0], replace(two[1], holds=False))) == []
    assert [one.p for one in differences(evaluation(two[0], replace(two[0], algorithm="tds")))] == [1.0]


def with_means(method: str, *means: int) -> list[EvaluationPoint]:
    return [point(method, k, (mean,) * 10) for k, mean in zip((5, 10, 30), means, strict=False)]


def test_ranks_over_the_settings_that_all_methods_have():
    points = [*with_means("tpp", 90, 50, 30), *with_means("mondrian", 80, 60, 20), *with_means("tds", 70, 40, 10)]
    found = rank_methods(evaluation(*points))
    assert found.settings == 3
    assert found.mean_ranks == pytest.approx({"tpp": 4 / 3, "mondrian": 5 / 3, "tds": 3})
    assert (found.best, found.different) == ("tpp", ())
    assert found.p == pytest.approx(0.09697197)  # exp(-7/3): chi squared 14/3 of two degrees
    assert found.critical == pytest.approx(2.2414 * (12 / 18) ** 0.5, abs=1e-4)
    assert rank_methods(evaluation(*points[:-1])).settings == 2
    assert rank_methods(evaluation(*points[:-2])) is None
    assert rank_methods(evaluation(*points[:6])) is None
    many = [point(m, k, (right,) * 10) for k in range(2, 12) for m, right in (("tpp", 9), ("tds", 5), ("kactus2", 1))]
    assert rank_methods(evaluation(*many)).different == ("kactus2",)


def test_areas_are_of_a_method_with_the_same_other_requirements():
    found = areas(
        evaluation(
            *with_means("tpp", 80, 70, 60), point("tds", 5, EVEN), point("tds", 9, EVEN, others=("t = 0.2",)),
            replace(point("tds", 10, EVEN), accuracy=None),
        )
    )  # fmt: skip
    assert [(one.series, one.least_k, one.greatest_k) for one in found] == [("tpp", 5, 30)]
    assert found[0].mean == pytest.approx(0.67)  # (75 * 5 + 65 * 20) / 25


def test_in_words():
    worse = (60, 61, 62, 60, 59, 62, 60, 61, 60, 59)
    assert in_words(evaluation(point("tpp", 5, worse), point("mondrian", 5, EVEN, tested="published"))) == [
        "k = 5: tpp differs from mondrian, the best: p < 0.001; tested in two ways"
    ]
    points = [*with_means("tpp", 90, 50), *with_means("mondrian", 80, 60), *with_means("tds", 70, 40)]
    assert in_words(evaluation(*points, protocol="holdout")) == [
        "mean ranks over 2 settings: tpp 1.50, mondrian 1.50, tds 3.00; Friedman p = 0.22; critical difference 2.24 "
        "(Bonferroni-Dunn, 5%): none differs from tpp",
        "mean accuracy over k = 5 to 10: tpp 70.00%, mondrian 70.00%, tds 55.00%",
    ]
    plain = [replace(one, accuracy=None, folds=None, r_squared=0.5) for one in with_means("tpp", 1, 1)]
    assert in_words(evaluation(*plain, learner="regression")) == ["mean R squared over k = 5 to 10: tpp 0.500"]
    assert in_words(evaluation(point("tpp", 5, EVEN))) == []


def test_without_scipy_points_are_shown_and_the_missing_extra_is_named(monkeypatch):
    monkeypatch.setattr(significance, "find_spec", lambda name: None)
    found = evaluation(point("tpp", 5, (60,) * 10), point("mondrian", 5, EVEN))
    assert in_words(found) == [significance.MISSING]
    with pytest.raises(NotAvailable, match="need scipy: install the extra"):
        significance.f_tail(1.0, 10, 5)
