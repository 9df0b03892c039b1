"""The points of an evaluation side by side: whether methods differ by more than chance, and how they keep over k.

    differences   5x2 folds: every method against the best one of the same requirements, the combined F test
    ranks         three methods or more, two settings or more that all of them were measured with: Friedman's test
                  over the settings, and Bonferroni and Dunn's against the method of the best mean rank
    areas         two values of k or more: the area under the score over k, as its mean

All of it is read from the figures of the points, so that an evaluation from the catalog gives the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ppdm_sql.catalog.evaluations import Evaluation, EvaluationPoint
from ppdm_sql.evaluate.agreement import area_over
from ppdm_sql.evaluate.protocol import read_protocol
from ppdm_sql.evaluate.significance import MISSING, bonferroni_dunn, five_by_two_f, friedman, is_available

_HALVES = "5x2"
_LEAST_METHODS, _LEAST_SETTINGS = 3, 2
LEVEL = 0.05


@dataclass(frozen=True)
class Difference:
    """A method against the best one.  p: how likely chance alone makes such a difference."""

    asked: str
    algorithm: str
    best: str
    p: float
    tested_alike: bool  # the two were tested in the same way


@dataclass(frozen=True)
class Ranks:
    """Mean ranks over the settings, 1 is best; different: the methods further from the best than `critical`."""

    settings: int
    mean_ranks: dict[str, float]
    p: float
    critical: float
    best: str
    different: tuple[str, ...]


@dataclass(frozen=True)
class MeanOverK:
    """The mean height of the score of a method over k, from the least to the greatest that was measured."""

    series: str
    least_k: int
    greatest_k: int
    mean: float


def differences(found: Evaluation) -> list[Difference]:
    """Every method against the best one of the same requirements; the first of equals is the best."""
    if found.protocol != _HALVES or not is_available():
        return []
    folds = len(read_protocol(_HALVES).folds)
    made: list[Difference] = []
    for asked, points in _by_setting(found).items():
        tested = [point for point in points if point.folds is not None and len(point.folds) == folds]
        best = max(tested, key=lambda point: sum(point.folds or ()), default=None)
        made += [
            Difference(
                asked,
                str(point.algorithm),
                str(best.algorithm),
                five_by_two_f(_pairs(best), _pairs(point)).p,
                point.tested == best.tested,
            )
            for point in tested
            if best is not None and point is not best
        ]
    return made


def _pairs(point: EvaluationPoint) -> list[tuple[Fraction, Fraction]]:
    """Both halves of every repeat."""
    folds = point.folds or ()
    return list(zip(folds[::2], folds[1::2], strict=True))


def rank_methods(found: Evaluation) -> Ranks | None:
    """The methods by their ranks in every setting that all of them were measured with; None where these are few."""
    blocks = []
    for points in _by_setting(found).values():
        scores = {str(point.algorithm): point.score for point in points if point.score is not None}
        if set(scores) == set(found.methods):
            blocks.append([scores[method] for method in found.methods])
    if len(found.methods) < _LEAST_METHODS or len(blocks) < _LEAST_SETTINGS or not is_available():
        return None
    test = friedman(blocks)
    control = test.mean_ranks.index(min(test.mean_ranks))
    dunn = bonferroni_dunn(test, control=control, alpha=LEVEL)
    return Ranks(
        settings=len(blocks),
        mean_ranks=dict(zip(found.methods, map(float, test.mean_ranks), strict=True)),
        p=test.p,
        critical=dunn.critical,
        best=found.methods[control],
        different=tuple(name for name, far in zip(found.methods, dunn.different, strict=True) if far),
    )


def areas(found: Evaluation) -> list[MeanOverK]:
    """Of every method with two values of k or more, each combination with other requirements by itself."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for point in _measured_points(found.points):
        if point.k is not None and point.score is not None:
            lines.setdefault(series(point), []).append((point.k, point.score))
    return [
        MeanOverK(name, min(line)[0], max(line)[0], float(area_over(line).mean))
        for name, line in lines.items()
        if len(line) > 1
    ]


def series(point: EvaluationPoint) -> str:
    """The method, with what is required besides k: each combination has a line of its own."""
    others = [asked for asked in point.requirements if not asked.startswith("k =")]
    return ", ".join([str(point.algorithm), *others])


def _by_setting(found: Evaluation) -> dict[str, list[EvaluationPoint]]:
    """The measured points by what is required, in the order of the grid."""
    settings: dict[str, list[EvaluationPoint]] = {}
    for point in _measured_points(found.points):
        settings.setdefault(point.requirements_text, []).append(point)
    return settings


def _measured_points(points: Sequence[EvaluationPoint]) -> list[EvaluationPoint]:
    return [point for point in points if point.status == "measured" and point.holds]


# -- in words ------------------------------------------------------------------------------------------------


def in_words(found: Evaluation) -> list[str]:
    """All of it for people, a line each."""
    lines = [_difference(one) for one in differences(found)]
    ranks = rank_methods(found)
    note = significance_note(found)
    return [*lines, *([] if ranks is None else [_ranks(ranks)]), *([] if note is None else [note]), *_areas(found)]


def significance_note(found: Evaluation) -> str | None:
    """Why nothing is said about chance, where scipy is not installed and something could be said."""
    comparable = found.protocol == _HALVES or len(found.methods) >= _LEAST_METHODS
    return MISSING if comparable and not is_available() else None


def _difference(one: Difference) -> str:
    verdict = "differs from" if one.p < LEVEL else "is not shown to differ from"
    apart = "" if one.tested_alike else "; tested in two ways"
    return f"{one.asked}: {one.algorithm} {verdict} {one.best}, the best: {_p(one.p)}{apart}"


def _ranks(found: Ranks) -> str:
    listed = ", ".join(f"{method} {rank:.2f}" for method, rank in found.mean_ranks.items())
    apart = f"{' and '.join(found.different)} differ" if len(found.different) > 1 else "".join(found.different)
    verdict = f"{apart or 'none'}{'' if len(found.different) > 1 else ' differs'} from {found.best}"
    return (
        f"mean ranks over {found.settings} settings: {listed}; Friedman {_p(found.p)}; "
        f"critical difference {found.critical:.2f} (Bonferroni-Dunn, {LEVEL:.0%}): {verdict}"
    )


def _areas(found: Evaluation) -> list[str]:
    made = areas(found)
    what, form = ("R squared", "{:.3f}") if found.learner == "regression" else ("accuracy", "{:.2%}")
    ranges: dict[tuple[int, int], list[str]] = {}
    for one in made:
        ranges.setdefault((one.least_k, one.greatest_k), []).append(f"{one.series} {form.format(one.mean)}")
    return [f"mean {what} over k = {low} to {high}: {', '.join(each)}" for (low, high), each in ranges.items()]


def _p(p: float) -> str:
    """Two digits that count.

    >>> _p(0.0312), _p(0.5), _p(0.00004), _p(0.0)
    ('p = 0.031', 'p = 0.50', 'p < 0.001', 'p < 0.001')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"
