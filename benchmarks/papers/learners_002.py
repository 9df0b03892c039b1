"""What learners keep of a table that preserves a tree: figures 5 to 16 of Fu, Chen, Koru, Gangopadhyay, as tables.

By number of leaves n: the original rows, the release of TPP that keeps the tree with n leaves, and as a rival
Mondrian by information gain (least squares for a number) stopped at n classes, as the specification of the paper's
InfoGain has it.  Learners are tested by folds of the same relation, as in the paper.  Cancer is not public: Rotterdam
breast cancer stands in, whose survival in days is the response.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import fmean

from sqlglot import exp

from benchmarks.papers.data import ROW, load
from benchmarks.papers.tables import PaperTable
from ppdm_sql.engines.base import Engine
from ppdm_sql.evaluate.folds import deal, train_and_test
from ppdm_sql.evaluate.learners import learn_and_test
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.plan import TablePlan
from ppdm_sql.methods.registry import method_named
from ppdm_sql.policy.policy import Inducer, OptionValue, Policy, Roles
from ppdm_sql.requirements import KAnonymity
from ppdm_sql.source.relation import resolve
from ppdm_sql.statements.names import Name, Word, column, own
from ppdm_sql.verify.same_model import tree_differences
from ppdm_sql.watching import Progress

PAPER = "002"
STAND_IN = "standin/rotterdam_breast_cancer.csv"
_ROWS, _KEPT, _MORE = own("ppdm_paper_rows"), own("ppdm_paper_release"), own("ppdm_paper_part")
_DEALT, _TRAIN, _TEST = own("ppdm_paper_dealt"), own("ppdm_paper_train"), own("ppdm_paper_test")
_FOLDS, _SEED = 5, 2


@dataclass(frozen=True)
class Survey:
    """A table with its roles; figures: of the paper, that it stands for."""

    name: str
    attributes: tuple[str, ...]
    sensitive: str
    target: str
    is_number: bool
    figures: str

    @property
    def learners(self) -> tuple[str, ...]:
        return ("regression",) if self.is_number else ("cart", "naive_bayes", "svm")

    @property
    def words(self) -> tuple[str, ...]:
        return ("tree R²",) if self.is_number else ("tree %", "naive Bayes %", "SVM %")

    def inducer(self, leaves: int, place: int = 0) -> Inducer:
        options: dict[str, OptionValue] = {"min_leaf": Fraction(1), "max_leaves": Fraction(leaves)}
        if self.is_number:
            return Inducer(Word("regression"), options)
        return Inducer(Word("cart"), {**options, "criterion": ("entropy", "gini")[place]})

    def roles(self) -> Roles:
        quasi = tuple(map(Word, self.attributes))
        return Roles(quasi=quasi, sensitive=(Word(self.sensitive),), target=Word(self.target), identifiers=(Word(ROW),))


STANDS_IN = Survey(
    "Rotterdam (for Cancer)",
    ("age", "positive_nodes", "progesterone_receptor", "menopause", "tumor_size_mm", "hormone_therapy"),
    "grade", "survival_days", True, "6, 8, 10",
)  # fmt: skip


def load_stand_in(engine: Engine, folder: Path, most: int | None = None) -> None:
    columns = (*STANDS_IN.attributes, STANDS_IN.sensitive, STANDS_IN.target)
    load(engine, folder, (STAND_IN,), _ROWS, columns=columns, most=most)


def load_survey(engine: Engine, folder: Path, survey: Survey, file: str, most: int | None = None) -> None:
    columns = (*survey.attributes, survey.sensitive, survey.target)
    load(engine, folder, (file,), _ROWS, columns=columns, known=(survey.sensitive,), most=most)


def by_leaves(engine: Engine, survey: Survey, sizes: Sequence[int], progress: Progress) -> PaperTable:
    """K, L and what learners reach, for every number of leaves."""
    rows = []
    for leaves in sizes:
        progress(f"{survey.name}: {leaves} leaves", leaves, sizes[-1] + 1)
        for word, plan_of in (("original rows", None), ("TPP", _preserved), ("InfoGain", _divided)):
            k, least, same, relation = "", "", "", _ROWS
            if plan_of is not None:
                plan = plan_of(engine, survey, leaves)
                k, least, same = _measured(engine, survey, plan)
                relation = _KEPT
            rows.append((str(leaves), word, k, least, same, *_learned(engine, survey, relation, leaves)))
    return PaperTable(
        PAPER,
        f"{survey.name}: learners on what preserves a tree (figures {survey.figures})",
        ("leaves", "learned from", "K", "L", "same tree", *survey.words),
        tuple(rows),
        (
            f"{_FOLDS} folds of what is learned from; the paper: ten. The tree has at most so many leaves.",
            "K: smallest class. L: size of a class over its most frequent sensitive value, the least.",
            "InfoGain: mondrian with so many classes at most (max_parts), no K asked.",
            *(
                ("The stand-in's figures are not the paper's: other patients, other columns; its sensitive column "
                 "(grade) has two values.",)
                if survey.is_number
                else ("SVM: scikit-learn's LinearSVC; the paper's is R's.",)
            ),
        ),
    )  # fmt: skip


def two_trees(engine: Engine, survey: Survey, sizes: Sequence[int]) -> PaperTable:
    """Two trees kept by one release: what the second one costs (figure 14, and Algorithm 4)."""
    rows = []
    for leaves in sizes:
        cells = []
        for inducers in ((0,), (1,), (0, 1)):
            plan = _preserved(engine, survey, leaves, inducers)
            k, least, same = _measured(engine, survey, plan)
            cells += [k, least, same]
        rows.append((str(leaves), *cells))
    heads = [f"{word} {what}" for what in ("entropy", "Gini", "both") for word in ("K,", "L,", "same trees,")]
    return PaperTable(
        PAPER, f"{survey.name}: two trees in one release (figure 14)", ("leaves of each", *heads), tuple(rows),
        ("Trees by entropy and by Gini; the paper's two are rpart's, by class and by anova, and are not printed.",),
    )  # fmt: skip


def scaling(engine: Engine, survey: Survey, leaves: int) -> PaperTable:
    """Processor time of TPP by rows and by attributes (figures 15 and 16)."""
    (total,) = engine.fetch_one(exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(_ROWS.table()))
    rows = [("rows", f"{part:.2%}", *_seconds(engine, survey, leaves, int(total) * part)) for part in _SHARES]
    for many in range(3, len(survey.attributes) + 1):
        fewer = Survey(survey.name, survey.attributes[:many], survey.sensitive, survey.target, survey.is_number, "")
        rows.append(("attributes", str(many), *_seconds(engine, fewer, leaves, int(total))))
    return PaperTable(
        PAPER, f"{survey.name}: time of TPP by rows and attributes (figures 15, 16)",
        ("by", "size", "processor seconds", "K"), tuple(rows),
        (f"A tree of {leaves} leaves; the paper: below 2.5 s in R, almost linear in both.",),
    )  # fmt: skip


_SHARES = (0.0625, 0.125, 0.25, 0.5, 1.0)


def _seconds(engine: Engine, survey: Survey, leaves: int, rows: float) -> tuple[str, str]:
    some = exp.Select(expressions=[exp.Star()]).from_(_ROWS.table())
    engine.create_table(_MORE, some.order_by(column(ROW)).limit(max(int(rows), 1)), temporary=True)
    started = time.process_time()
    with engine.workspace():
        plan = _preserved(engine, survey, leaves, relation=_MORE)
        taken = time.process_time() - started
    engine.drop_table(_MORE, temporary=True)
    return f"{taken:.2f}", f"{int(plan.figures['smallest class']):,}"


# -- releases ----------------------------------------------------------------------------------------------


Plans = Callable[[Engine, Survey, int], TablePlan]


def _preserved(
    engine: Engine, survey: Survey, leaves: int, inducers: Sequence[int] = (0,), relation: Name = _ROWS
) -> TablePlan:
    preserve = tuple(survey.inducer(leaves, place) for place in inducers)
    policy = Policy(
        "tpp", (KAnonymity(1),), survey.roles(), options={"numbers": "shifted"}, preserve=preserve,
    )  # fmt: skip
    return _planned(engine, survey, policy, relation)


def _divided(engine: Engine, survey: Survey, leaves: int) -> TablePlan:
    options: dict[str, OptionValue] = {"max_parts": Fraction(leaves)}
    return _planned(engine, survey, Policy("mondrian", (KAnonymity(1),), survey.roles(), options=options), _ROWS)


def _planned(engine: Engine, survey: Survey, policy: Policy, relation: Name) -> TablePlan:
    there = {*survey.attributes, survey.sensitive, survey.target, ROW}
    infos = [info for info in engine.columns(relation) if info.name in there]
    source = resolve(relation, infos, policy, (survey.name,))
    plan = method_named(policy.algorithm).table(Job(engine, source, policy, {}))
    engine.create_table(_KEPT, plan.wide(), temporary=True)
    engine.analyze(_KEPT)
    return plan


def _measured(engine: Engine, survey: Survey, plan: TablePlan) -> tuple[str, str, str]:
    """K, L, and whether the trees of the plan are those of the release."""
    labels = [column(name) for name in survey.attributes]
    counted = exp.alias_(exp.Count(this=exp.Star()), "ppdm_n")
    cells = exp.Select(expressions=[*labels, column(survey.sensitive), counted]).from_(_KEPT.table())
    sizes = [exp.alias_(made, name) for made, name in (
        (exp.Sum(this=exp.column("ppdm_n")), "ppdm_rows"), (exp.Max(this=exp.column("ppdm_n")), "ppdm_most"),
    )]  # fmt: skip
    inner = cells.group_by(*labels, column(survey.sensitive)).subquery("c")
    classes = exp.Select(expressions=sizes).from_(inner).group_by(*(column(name) for name in survey.attributes))
    found = [(int(rows), int(most)) for rows, most in engine.fetch(classes)]
    same = "" if not plan.patterns else "no" if tree_differences(engine, _KEPT, plan.patterns) else "yes"
    return f"{min(rows for rows, _ in found):,}", f"{min(rows / most for rows, most in found):.2f}", same


def _learned(engine: Engine, survey: Survey, relation: Name, leaves: int) -> tuple[str, ...]:
    deal(engine, relation, _DEALT, parts=_FOLDS, seed=_SEED)
    found: dict[str, list[float]] = {learner: [] for learner in survey.learners}
    for fold in range(_FOLDS):
        train_and_test(
            engine, _DEALT, fold, train=_TRAIN, test=_TEST, columns=[*survey.attributes, survey.target]
        )  # fmt: skip
        for learner in survey.learners:
            options = {"max_leaves": leaves, "min_leaf": 1} if learner in ("cart", "regression") else {}
            score = learn_and_test(
                engine, train=_TRAIN, test=_TEST, target=survey.target, attributes=survey.attributes,
                learner=learner, options=options,
            )  # fmt: skip
            found[learner].append(float(score.r_squared or 0) if survey.is_number else 100 * float(score.accuracy))
    engine.drop_table(_DEALT, temporary=True)
    return tuple(f"{fmean(values):.3f}" if survey.is_number else f"{fmean(values):.1f}" for values in found.values())
