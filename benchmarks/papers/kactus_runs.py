"""The experiment of the kACTUS papers: rows are published, a C4.5 learns from what is published, others test it.

    OUTSIDE     the training rows are published alone, the test rows stay as they are, but for being told in the words
                of the release (its intervals)
    BEFORE      the same, but intervals are chosen on the whole table before it is divided
    TOGETHER    the whole table is published, and its published rows are divided: the learner sees some of them and is
                tested on the original rows of the others
    PUBLISHED   the same, and tested on the published rows of the others

The papers' C4.5 takes a suppressed cell for an unknown one; so does evaluate/missing_c45.py.  That a release keeps its
promises is not measured here but when it is published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise, product
from statistics import fmean, stdev

from sqlglot import exp

from benchmarks.papers.data import ROW
from ppdm_sql.engines.base import Engine
from ppdm_sql.evaluate.encode_rows import encoder
from ppdm_sql.evaluate.folds import deal, train_and_test
from ppdm_sql.evaluate.learners import learn_and_test
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.plan import TablePlan
from ppdm_sql.methods.registry import method_named
from ppdm_sql.methods.shared.discretize import KNOWN
from ppdm_sql.policy.policy import OptionValue, Policy, Roles
from ppdm_sql.requirements import KAnonymity
from ppdm_sql.source.relation import resolve
from ppdm_sql.statements.names import Name, Word, aliased, column, own
from ppdm_sql.trees.comparing import from_on
from ppdm_sql.watching import Progress

OUTSIDE, BEFORE, TOGETHER, PUBLISHED = "outside", "before", "together", "published"
WHOLE = own("ppdm_paper_rows")
_CUT, _DEALT = own("ppdm_paper_cut"), own("ppdm_paper_dealt")
_TRAIN, _TEST = own("ppdm_paper_train"), own("ppdm_paper_test")
_SEED = 4
_RELEASE, _LEARNED, _ASKED = own("ppdm_paper_release"), own("ppdm_paper_learned"), own("ppdm_paper_asked")


@dataclass(frozen=True)
class Method:
    """A method with its options, and the words a statement asks for it with."""

    algorithm: str
    options: Mapping[str, OptionValue] = field(default_factory=dict)

    def __str__(self) -> str:
        shown = ", ".join(
            f"{name} = {float(value) if isinstance(value, Fraction) else value:g}"
            for name, value in self.options.items()
        )
        return f"{self.algorithm} ({shown})" if shown else self.algorithm


@dataclass(frozen=True)
class Experiment:
    """A table in WHOLE with its roles, and how it is divided."""

    columns: tuple[str, ...]
    target: str
    quasi: tuple[str, ...]
    repeats: int = 5
    parts: int = 2
    tested: str = OUTSIDE
    prune: bool = True

    @property
    def attributes(self) -> list[str]:
        return [name for name in self.columns if name != self.target]


@dataclass(frozen=True)
class Run:
    """One release and the C4.5 learned from it."""

    accuracy: float
    missing: float = 0.0  # share of all cells of the release
    dropped: float = 0.0  # share of rows
    swapped: float = 0.0


@dataclass
class Runs:
    """The runs of a method by k, in the order of the parts."""

    by_k: dict[int, list[Run]] = field(default_factory=dict)

    def mean(self, k: int, what: str) -> float:
        return fmean(getattr(run, what) for run in self.by_k[k])

    def over_k(self, what: str) -> float:
        """The mean over the grid of k, as an area under a curve has it."""
        return mean_over_k([(k, self.mean(k, what)) for k in self.by_k])

    def area(self) -> float:
        """Under accuracy in percent over k, by trapezoids."""
        return 100 * self.over_k("accuracy") * (max(self.by_k) - min(self.by_k))

    def error(self) -> float:
        """The standard error of over_k("accuracy"), parts taken for independent."""
        parts = zip(*self.by_k.values(), strict=True)
        return standard_error(
            [mean_over_k(list(zip(self.by_k, (r.accuracy for r in part), strict=True))) for part in parts]
        )


def standard_error(values: Sequence[float]) -> float:
    return stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0


def mean_over_k(points: Sequence[tuple[int, float]]) -> float:
    """The mean of a curve: the area under it by the length of its grid.

    >>> mean_over_k([(5, 0.9), (10, 0.8), (20, 0.8)]), mean_over_k([(5, 0.9)])
    (0.8166666666666667, 0.9)
    """
    if len(points) == 1:
        return points[0][1]
    area = sum((high - low) * (first + second) / 2 for (low, first), (high, second) in pairwise(points))
    return area / (points[-1][0] - points[0][0])


# -- the experiment --------------------------------------------------------------------------------------


def experiment(
    engine: Engine, what: Experiment, methods: Sequence[Method], grid: Sequence[int], progress: Progress, step: str
) -> tuple[list[float], dict[str, Runs]]:
    """The accuracies from the raw rows, and the runs of every method."""
    raw: list[float] = []
    found = {str(method): Runs({k: [] for k in grid}) for method in methods}
    bench = _Bench(engine, what, _cut_before(engine, what) if what.tested == BEFORE else WHOLE)
    total, done = what.repeats * what.parts * len(methods) * len(grid), 0
    for repeat in range(what.repeats):
        deal(engine, bench.table, _DEALT, parts=what.parts, seed=_SEED, repeat=repeat)
        for part in range(what.parts):
            train_and_test(engine, _DEALT, part, train=_TRAIN, test=_TEST, columns=[*what.columns, ROW])
            raw.append(bench.accuracy(_TRAIN, _TEST))
            with engine.workspace([_TRAIN]):
                for method, k in product(methods, grid):
                    progress(step, done, total)
                    found[str(method)].by_k[k].append(bench.measured(method, k))
                    done += 1
    return raw, found


@dataclass
class _Bench:
    """One way to divide and test; releases of the whole table are made once."""

    engine: Engine
    what: Experiment
    table: Name
    _whole: dict[tuple[str, int], tuple[TablePlan, Name]] = field(default_factory=dict)

    def measured(self, method: Method, k: int) -> Run:
        if self.what.tested in (OUTSIDE, BEFORE):
            release = learned = _RELEASE
            plan = self._published(_TRAIN, method, k, release)
        else:
            plan, release = self._of_whole(method, k)
            learned = _LEARNED
            self._rows_of(release, _TRAIN, learned)
        if self.what.tested == PUBLISHED:
            self._rows_of(release, _TEST, _ASKED)
        else:
            self._told(release)
        share = len(self.what.quasi) / len(self.what.columns)
        missing, swapped = (float(Fraction(plan.figures[name])) for name in ("suppressed cells", "swap rate"))
        return Run(self.accuracy(learned, _ASKED), missing * share, plan.suppressed_rows / plan.rows, swapped)

    def _told(self, release: Name) -> None:
        """The test rows with the labels of a release: numbers become the intervals that it prints."""
        before = {info.name: info.kind for info in self.engine.columns(_TEST)}
        query = exp.Select().from_(_TEST.table())
        for name in self.what.columns:
            told: exp.Expr = column(name)
            if name in self.what.quasi and before[name].is_ordered:
                known = exp.Not(this=exp.Is(this=column(name), expression=exp.Null()))
                labels = exp.Select(expressions=[column(name)]).from_(release.table()).where(known).distinct()
                shown = [label for (label,) in self.engine.fetch(labels) if label.strip("*")]  # not the suppressed ones
                told = in_words(column(name), shown)
            query = query.select(aliased(told, name))
        self.engine.create_table(_ASKED, query, temporary=True)
        self.engine.analyze(_ASKED)

    def _of_whole(self, method: Method, k: int) -> tuple[TablePlan, Name]:
        key = (str(method), k)
        if key not in self._whole:
            into = own(f"ppdm_paper_release_{len(self._whole)}")
            self._whole[key] = self._published(self.table, method, k, into), into
        return self._whole[key]

    def _published(self, rows: Name, method: Method, k: int, into: Name) -> TablePlan:
        """What the method would publish of some rows, with ROW next to it."""
        what = self.what
        words = {name: Word(name) for name in (*what.columns, ROW)}
        others = [name for name in words if name not in (*what.quasi, what.target)]
        roles = Roles(
            quasi=tuple(words[name] for name in what.quasi),
            target=words[what.target],
            insensitive=tuple(words[name] for name in others),
        )
        # kACTUS-2 as printed helps small branches out one by one, which is not the default here.
        printed: dict[str, OptionValue] = {"pool_non_complying": False} if method.algorithm == "kactus2" else {}
        policy = Policy(method.algorithm, (KAnonymity(k),), roles, options={**printed, **method.options})
        infos = [info for info in self.engine.columns(rows) if info.name in words]
        source = resolve(rows, infos, policy, ("paper",))
        plan_table = method_named(method.algorithm).table
        plan = plan_table(Job(self.engine, source, policy, {}))
        self.engine.create_table(into, plan.wide(), temporary=True)
        self.engine.analyze(into)
        return plan

    def _rows_of(self, release: Name, part: Name, into: Name) -> None:
        """The published rows of a part."""
        same = exp.EQ(this=column(ROW, "r"), expression=column(ROW, "p"))
        query = exp.Select(expressions=[column(name, "r") for name in self.what.columns])
        query = query.from_(release.table("r")).join(part.table("p"), on=same)
        self.engine.create_table(into, query, temporary=True)
        self.engine.analyze(into)

    def accuracy(self, train: Name, test: Name) -> float:
        score = learn_and_test(
            self.engine,
            train=train,
            test=test,
            target=self.what.target,
            attributes=self.what.attributes,
            learner="c45_spread",
            options={"prune": self.what.prune},
        )
        return float(score.accuracy)


def in_words(number: exp.Expr, labels: Sequence[str]) -> exp.Expr:
    """The label that covers a number.  Those of kACTUS do not overlap, so that nothing has to be looked up.

    >>> print(in_words(column("a"), ["< 30", "[30, 45)"]).sql("duckdb"))
    CASE WHEN "a" < 30 THEN '< 30' WHEN "a" >= 30 AND "a" < 45 THEN '[30, 45)' ELSE 'other' END
    """
    ifs = [exp.If(this=_inside(number, label), true=exp.Literal.string(label)) for label in sorted(labels)]
    other = exp.Literal.string("other")
    return exp.Case(ifs=ifs, default=other) if ifs else other


def _inside(number: exp.Expr, label: str) -> exp.Expr:
    if label == KNOWN:
        return exp.true()
    if label.startswith("<"):
        low, high = "", label[2:]
    elif label.startswith(">="):
        low, high = label[3:], ""
    else:
        low, high = label[1:-1].split(", ")
    sides = [
        kind(this=number.copy(), expression=exp.Literal.number(bound))
        for kind, bound in ((exp.GTE, low), (exp.LT, high))
        if bound
    ]
    return exp.and_(*sides, wrap=False)


def _cut_before(engine: Engine, what: Experiment) -> Name:
    """The table with its numbers as names of intervals that all its rows have chosen."""
    infos = {info.name: info for info in engine.columns(WHOLE)}
    attributes = [infos[name] for name in what.attributes]
    found = {one.info.name: one for one in encoder(engine, WHOLE, attributes, infos[what.target], cut=True).columns}
    query = exp.Select(expressions=[column(ROW)])
    for name in what.columns:
        one = found.get(name)
        if one is None or one.cuts is None:
            query = query.select(column(name))
            continue
        above = [
            exp.If(this=from_on(one.attribute, cut, column(name)), true=exp.Literal.string(f"from cut {place}"))
            for place, cut in reversed(list(enumerate(one.cuts)))
        ]
        below = exp.Literal.string("below")
        query = query.select(aliased(exp.Case(ifs=above, default=below) if above else below, name))
    engine.create_table(_CUT, query.from_(WHOLE.table()), temporary=True)
    return _CUT
