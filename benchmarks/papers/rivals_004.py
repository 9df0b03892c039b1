"""Table 1 of kACTUS 2 with its rivals: TDS, TDR and kADET next to kACTUS and kACTUS-2, by learner.

Random halves: one is released alone, a learner sees only the release, and the other half is recoded by the rules of
the release.  Of kADET there is the model alone, tested on raw rows.  TDS has our own hierarchies where there are some
(Adult, German credit), else a column shows all its values or none; TDR shows single values and has none.
The paper's learners are WEKA's; PART and J48 of WEKA itself are there where its jar is (make weka).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from statistics import fmean

from sqlglot import exp

from benchmarks.papers.data import ROW
from benchmarks.papers.kactus_runs import WHOLE, Experiment, mean_over_k, standard_error
from benchmarks.papers.tables import PaperTable
from benchmarks.papers.weka import LEARNERS as WEKA
from benchmarks.papers.weka import weka_accuracies, weka_jar
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import RequirementBreached
from ppdm_sql.evaluate.folds import deal, train_and_test
from ppdm_sql.evaluate.learners import learn_and_test, score_of_tree
from ppdm_sql.evaluate.recode import recode_rows
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.registry import method_named
from ppdm_sql.policy.policy import HierarchyFile, OptionValue, Policy, Roles
from ppdm_sql.requirements import KAnonymity
from ppdm_sql.source.hierarchy import Hierarchy, load_hierarchy
from ppdm_sql.source.relation import Source, resolve
from ppdm_sql.statements.names import Word, column, own
from ppdm_sql.watching import Progress

LEARNERS = {"C4.5": "c45_spread", "naive Bayes": "naive_bayes", "logistic": "logistic"}
# The paper's areas under accuracy over k, from its table 1: TDS, TDR, kADET, kACTUS, kACTUS-2.
AREAS: Mapping[str, Mapping[str, tuple[float | None, ...]]] = {
    "Adult": {
        "C4.5": (76414.025, 75472.2, 80843.275, 81830.7, 82663.22),
        "PART": (76401.425, 75472.225, None, 81849.25, 82338.2),
        "naive Bayes": (75295.975, 73071.75, None, 82383.8, 82755.32),
        "logistic": (76377.775, 76477.2, None, 80761.575, 81623.65),
    },
    "German credit": {
        "C4.5": (6583.175, 6621.625, 6596.7, 6645.725, 6646.4),
        "PART": (6456.275, 6292.65, None, 6438.1, 6505.225),
        "naive Bayes": (6585.775, 6173.25, None, 6640.52, 6625.95),
        "logistic": (6635.25, 6525.025, None, 6635.35, 6626.425),
    },
    "Tic-tac-toe": {
        "C4.5": (1731.175, 1658.75, 1771.3, 1789.725, 1802.35),
        "PART": (1727.925, 1628.5, None, 1795.325, 1791.15),
        "naive Bayes": (1751.525, 1716.075, None, 1623.675, 1566.675),
        "logistic": (1738.275, 1693.15, None, 1481.8, 1389.725),
    },
    "Glass": {
        "C4.5": (1292.3, 964.475, 1350.35, 1383.2, 1372.225),
        "PART": (1292.3, 964.475, None, 1400.675, 1390.225),
        "naive Bayes": (1202.8, 1289.625, None, 1387.525, 1463.15),
        "logistic": (1284.65, 965.9, None, 1188.9, 1242.9),
    },
    "Waveform": {
        "C4.5": (2860.2, 1837.65, 3113.85, 3185.825, 3252.475),
        "PART": (2857.85, 2175.825, None, 3208.5, 3231.75),
        "naive Bayes": (2827.9, 2064.7, None, 2961.075, 3054.7),
        "logistic": (2859.825, 1035.925, None, 2038, 2208.4),
    },
}
_PRINTED = {"J48": "C4.5"}
METHODS: Mapping[str, Mapping[str, OptionValue]] = {
    "tds": {},
    "tdr": {},
    "kadet": {},
    "kactus": {},
    "kactus2": {"pool_non_complying": False},
}
_MODEL = "kadet"
_FOLDERS = {"Adult": "adult", "German credit": "german_credit"}
_DEALT, _TRAIN, _TEST = own("ppdm_paper_dealt"), own("ppdm_paper_train"), own("ppdm_paper_test")
_RELEASE, _ASKED = own("ppdm_paper_release"), own("ppdm_paper_recoded")
_SEED = 4
Accuracies = dict[tuple[str, str], list[float]]  # by learner and method, the mean over k of every half


@dataclass
class Rivals:
    """One table in WHOLE: every method released from halves, every learner on what it releases."""

    engine: Engine
    name: str
    what: Experiment
    grid: Sequence[int]
    hierarchies: Mapping[str, Hierarchy]
    progress: Progress
    found: Accuracies = field(default_factory=dict)

    def run(self) -> Accuracies:
        total = self.what.repeats * 2 * len(METHODS) * len(self.grid)
        for done, (repeat, part) in enumerate(product(range(self.what.repeats), range(2))):
            deal(self.engine, WHOLE, _DEALT, parts=2, seed=_SEED, repeat=repeat)
            train_and_test(self.engine, _DEALT, part, train=_TRAIN, test=_TEST, columns=[*self.what.columns, ROW])
            for learner, accuracy in self._all_learned(own_rows=True):
                self._keep(learner, "", [accuracy])
            for place, algorithm in enumerate(METHODS):
                self.progress(f"{self.name}: {algorithm}", (done * len(METHODS) + place) * len(self.grid), total)
                self._method(algorithm)
        return self.found

    def _method(self, algorithm: str) -> None:
        by_learner: dict[str, list[tuple[int, float]]] = {learner: [] for learner in (*LEARNERS, *WEKA)}
        for k in self.grid:
            for learner, accuracy in self._at(algorithm, k):
                by_learner[learner].append((k, accuracy))
        for learner, curve in by_learner.items():
            if curve:
                self._keep(learner, algorithm, [mean_over_k(curve)])

    def _keep(self, learner: str, algorithm: str, accuracies: Sequence[float]) -> None:
        self.found.setdefault((learner, algorithm), []).extend(accuracies)

    def _at(self, algorithm: str, k: int) -> Iterator[tuple[str, float]]:
        """What each learner reaches at one k."""
        hierarchies = self.hierarchies if algorithm == "tds" else {}
        source, policy = self._source(algorithm, k)
        method = method_named(algorithm)
        with self.engine.workspace():
            job = Job(self.engine, source, policy, hierarchies)
            if algorithm == _MODEL:
                yield "C4.5", self._model_accuracy(job)
                return
            plan = method.table(job)
            self.engine.create_table(_RELEASE, plan.wide(), temporary=True)
            self.engine.analyze(_RELEASE)
            assert plan.recoding is not None
            test = replace(source, relation=_TEST)
            recode_rows(self.engine, test, _RELEASE, _ASKED, recoding=plan.recoding, hierarchies=hierarchies)
        yield from self._all_learned()

    def _model_accuracy(self, job: Job) -> float:
        """That of the published tree; of no tree at all that of the commonest class."""
        try:
            tree = method_named(_MODEL).model(job).tree
        except RequirementBreached:
            return 0.0
        return float(score_of_tree(self.engine, tree, _TEST).accuracy)

    def _source(self, algorithm: str, k: int) -> tuple[Source, Policy]:
        what = self.what
        others = [name for name in what.columns if name not in (*what.quasi, what.target)]
        target = Word(what.target)
        roles = Roles(quasi=tuple(map(Word, what.quasi)), target=target, insensitive=tuple(map(Word, others)))
        policy = Policy(algorithm, (KAnonymity(k),), roles, options=METHODS[algorithm])
        infos = [info for info in self.engine.columns(_TRAIN) if info.name in what.columns]
        return resolve(_TRAIN, infos, policy, ("paper",)), policy

    def _all_learned(self, *, own_rows: bool = False) -> Iterator[tuple[str, float]]:
        """What each learner reaches on the release, or on the training rows themselves."""
        for learner in LEARNERS:
            yield learner, self._learned(learner, own_rows=own_rows)
        jar = weka_jar()
        if jar is not None:
            train, test = (_TRAIN, _TEST) if own_rows else (_RELEASE, _ASKED)
            names = self.what.attributes
            yield from weka_accuracies(self.engine, jar, train, test, target=self.what.target, attributes=names).items()

    def _learned(self, learner: str, *, own_rows: bool = False) -> float:
        train, test = (_TRAIN, _TEST) if own_rows else (_RELEASE, _ASKED)
        options = {"prune": True} if learner == "C4.5" else {}
        score = learn_and_test(
            self.engine, train=train, test=test, target=self.what.target, attributes=self.what.attributes,
            learner=LEARNERS[learner], options=options,
        )  # fmt: skip
        return float(score.accuracy)


def hierarchies_of(engine: Engine, folder: Path, name: str, what: Experiment) -> dict[str, Hierarchy]:
    """Our own hierarchies of the text columns of a table; none where there are no files."""
    place = folder / "hierarchies" / _FOLDERS.get(name, "")
    infos = {info.name: info for info in engine.columns(WHOLE)}
    found = {}
    for column_name in what.quasi:
        file = place / f"{column_name}.csv"
        if name not in _FOLDERS or infos[column_name].kind.is_ordered or not file.is_file():
            continue
        known = exp.Not(this=exp.Is(this=column(column_name), expression=exp.Null()))
        distinct = exp.Select(expressions=[column(column_name)]).from_(WHOLE.table()).where(known).distinct()
        found[column_name] = load_hierarchy(
            HierarchyFile(file.name), column=column_name, kind=infos[column_name].kind,
            values=[row[0] for row in engine.fetch(distinct)], engine=engine, folder=place,
        )  # fmt: skip
    return found


def table_of(paper: str, lengths: Mapping[str, int], found: Mapping[str, Accuracies]) -> PaperTable:
    """Ours and the paper's, side by side; lengths: of each table's grid of k."""
    rows = []
    for name, accuracies in found.items():
        for learner in (*LEARNERS, *WEKA):
            if (learner, "") not in accuracies:
                continue
            cells = [f"{100 * fmean(accuracies[learner, '']):.2f}"]
            for place, algorithm in enumerate(METHODS):
                ours, area = accuracies.get((learner, algorithm)), AREAS[name][_PRINTED.get(learner, learner)][place]
                theirs = "" if area is None else f" ({area / lengths[name]:.2f})"
                cells.append(
                    "" if ours is None else f"{100 * fmean(ours):.2f} ± {100 * standard_error(ours):.2f}{theirs}"
                )
            halves = len(accuracies[learner, ""])
            rows.append((name, learner, str(halves), *cells))
    return PaperTable(
        paper,
        "Accuracy % from releases of the rivals, mean over k (table 1)",
        ("table", "learner", "halves", "original rows", *METHODS),
        tuple(rows),
        (
            "Mean over halves ± its standard error, halves taken for independent; the paper's area by the length of "
            "its grid of k in brackets.",
            "kadet: its model, tested on raw rows.  TDS has our own hierarchies for Adult and German credit.",
            "The learners are our C4.5 with shares for suppressed cells, our naive Bayes, and scikit-learn's "
            "logistic regression; PART and J48 are WEKA's own, as the paper's are, where weka.jar is (make weka).  The "
            "paper's C4.5 is J48.",
        ),
    )
