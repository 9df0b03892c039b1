"""Paper 003: DMPD next to mondrian, kactus2 and tds at the same k, and its front of accuracy and anonymity (figure 9).

The halves are those of dmpd_003.py.  A rival's release of one half is what its C4.5 learns from; the other half is
recoded by the rules of the release.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean, stdev

from benchmarks.papers.data import load
from benchmarks.papers.dmpd_003 import (
    ALL,
    REPEATS,
    SETS,
    TEST,
    PaperSet,
    half_job,
    open_half,
    split_halves,
    top_columns,
)
from benchmarks.papers.tables import PaperTable
from ppdm_sql.engines.base import Engine
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import RequirementBreached
from ppdm_sql.evaluate.learners import learn_and_test
from ppdm_sql.evaluate.recode import recode_rows
from ppdm_sql.methods.dmpd.front import attainment
from ppdm_sql.methods.dmpd.method import search_parts
from ppdm_sql.methods.dmpd.options import C45
from ppdm_sql.methods.registry import method_named
from ppdm_sql.policy.policy import OptionValue
from ppdm_sql.statements.names import own
from ppdm_sql.watching import Progress

RIVALS: Mapping[str, Mapping[str, OptionValue]] = {
    "mondrian": {},
    "kactus2": {"pool_non_complying": False},
    "tds": {},
}
FRONT_LEVELS = (1, 3, 10, 35, 100, 200, 500, 655, 1000)
_RELEASE, _ASKED = own("ppdm_paper_release"), own("ppdm_paper_asked")


def rivals_table(folder: Path, sets: Sequence[PaperSet], progress: Progress, *, repeats: int = REPEATS) -> PaperTable:
    """C4.5 on what the rivals release, by k."""
    rows = []
    for number, one in enumerate(sets):
        progress(f"{one.name}: mondrian, kactus2 and tds", number, len(sets))
        rows += list(rival_rows(folder, one, repeats=repeats))
    legend = (
        "C4.5 (pruned, shares for suppressed cells) learned from a release of one half and tested on the other half, "
        "recoded by its rules; the same halves and quasi-identifiers as DMPD above.  tds has no hierarchies here.",
    )
    return PaperTable("003", "The same with other methods", _COLUMNS, tuple(rows), legend)


_COLUMNS = ("table", "method", "k1", "k2", "k3", "k4")


def rival_rows(folder: Path, one: PaperSet, *, repeats: int) -> Iterator[tuple[str, ...]]:
    with DuckDBEngine.open(":memory:") as engine:
        names = [name for name in load(engine, folder, one.files, ALL) if name not in one.without]
        quasi = top_columns(engine, one, names)
        found: dict[tuple[str, int], list[float]] = {}
        for repeat, half in product(range(repeats), (0, 1)):
            split_halves(engine, names, repeat, half)
            for algorithm, k in product(RIVALS, one.levels):
                share = _accuracy(engine, one, names, quasi, algorithm, k)
                found.setdefault((algorithm, k), []).append(share)
    for place, algorithm in enumerate(RIVALS):
        cells = [f"{100 * fmean(shares):.2f} ± {100 * stdev(shares):.2f}" for shares in _of(found, algorithm, one)]
        yield (f"{one.name} (k = {'/'.join(map(str, one.levels))})" if not place else "", algorithm, *cells)


def _of(found: Mapping[tuple[str, int], list[float]], algorithm: str, one: PaperSet) -> Iterator[list[float]]:
    return (found[algorithm, k] for k in one.levels)


def _accuracy(
    engine: Engine, one: PaperSet, names: Sequence[str], quasi: Sequence[str], algorithm: str, k: int
) -> float:
    """The share of the other half that is found; where nothing can be released, that of the commonest class."""
    job = half_job(engine, one, names, quasi, k, algorithm, RIVALS[algorithm])
    with engine.workspace():
        plan = method_named(algorithm).table(job)
        engine.create_table(_RELEASE, plan.wide(), temporary=True)
        engine.analyze(_RELEASE)
        if plan.recoding is None:
            raise RequirementBreached(f"{algorithm} has no rules for the rows of the other half")
        asked = replace(job.source, relation=TEST)
        recode_rows(engine, asked, _RELEASE, _ASKED, recoding=plan.recoding, hierarchies={})
    score = learn_and_test(
        engine, train=_RELEASE, test=_ASKED, target=one.target,
        attributes=[name for name in names if name != one.target], learner="c45_spread", options={"prune": True},
    )  # fmt: skip
    return float(score.accuracy)


def front_table(folder: Path, options: Mapping[str, int], *, name: str = "Adult", runs: int = 5) -> PaperTable:
    """Figure 9: what the best, the median and the worst of several runs attain at each level, on one half."""
    one = next(each for each in SETS if each.name == name)
    with DuckDBEngine.open(":memory:") as engine:
        names = [column for column in load(engine, folder, one.files, ALL) if column not in one.without]
        quasi = top_columns(engine, one, names)
        split_halves(engine, names, 0, 0)
        with engine.workspace():
            parting, chosen, job = open_half(engine, one, names, quasi, C45, options, 1)
            found = [search_parts(job, chosen, parting, front=True, seed=run) for run in range(runs)]
    points = [[(level, accuracy) for level, (accuracy, _) in each.front.items()] for each in found]
    rows = tuple(
        (
            f"{each.k:,}",
            *("-" if share is None else f"{100 * share:.2f}" for share in (each.best, each.median, each.worst)),
        )
        for each in attainment(points, FRONT_LEVELS)
    )
    legend = (
        f"{name}, one half, {runs} runs of NSGA-II: population {options['population']}, {options['generations']} "
        "generations; accuracy in percent by cross-validation on that half.  The figure's text: about 86 for k 1 to 3, "
        "nearly level up to 655, a step near 660, and about 5 lower at 1,000.",
    )
    return PaperTable(
        "003", "DMPD: accuracy attained with at least k (figure 9)", ("k", "best run", "median", "worst"), rows, legend
    )
