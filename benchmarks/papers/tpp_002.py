"""Tree pattern preservation on Adult by number of leaves: K, L and accuracy, next to what the paper reports.

Rows of the training part whose occupation is known; ten attributes; the response is the income, the sensitive
column the occupation.  No requirement is asked, so that the K and L of every size of tree can be seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from benchmarks.papers import learners_002 as learners
from benchmarks.papers.data import MANIFEST, ROW, load
from benchmarks.papers.tables import PaperTable
from ppdm_sql.engines.base import Engine
from ppdm_sql.engines.connect import open_engine
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.plan import TablePlan
from ppdm_sql.methods.tpp.method import TPP
from ppdm_sql.policy.policy import Inducer, Policy, Roles
from ppdm_sql.requirements import KAnonymity, SimpleDiversity
from ppdm_sql.source.relation import resolve
from ppdm_sql.statements.names import Word, own
from ppdm_sql.verify.same_model import tree_differences
from ppdm_sql.watching import Progress

PAPER = "002"
_ADULT = "adult_train.csv"
FILES = (MANIFEST, _ADULT, learners.STAND_IN)
ATTRIBUTES = (
    "age", "education_num", "capital_gain", "capital_loss", "hours_per_week",
    "workclass", "marital_status", "relationship", "race", "sex",
)  # fmt: skip
SURVEY = learners.Survey("Adult", ATTRIBUTES, "occupation", "income", False, "5, 7, 9, 11, 12")
PRINTED = {4: "K 120 (table I, tree 2), L between 2 and 3"}
_LEAVES = range(2, 11)
_QUICK_ROWS = 2000
_SOURCE, _RELEASE = own("ppdm_paper_adult"), own("ppdm_paper_release")


@dataclass(frozen=True)
class Measured:
    """The release that keeps the tree with so many leaves."""

    leaves: int
    classes: int
    k: int
    k_with_response: int
    l: float
    accuracy: float
    rare_boundaries: int
    same_trees: bool


def tables(folder: Path, progress: Progress, *, quick: bool) -> list[PaperTable]:
    """K, L and accuracy by number of leaves; quick: some of the rows, small trees."""
    rows = []
    sizes = _LEAVES[:2] if quick else _LEAVES
    with open_engine(":memory:") as engine:
        load_adult(engine, folder, most=_QUICK_ROWS if quick else None)
        for done, leaves in enumerate(sizes):
            progress("trees by number of leaves", done, len(sizes))
            one = measured(engine, leaves)
            cells = [one.leaves, one.classes, f"{one.k:,}", f"{one.k_with_response:,}", f"{one.l:.2f}"]
            cells += [f"{one.accuracy:.4f}", one.rare_boundaries, "yes" if one.same_trees else "no"]
            rows.append((*map(str, cells), PRINTED.get(leaves, "")))
        more = _more(engine, folder, progress, quick=quick)
    columns = ("leaves", "classes", "K", "K, response known", "L", "training accuracy", "rare boundaries", "same tree")
    return [
        PaperTable(
            PAPER,
            "Adult: what keeping a tree costs, by its leaves",
            (*columns, "paper"),
            tuple(rows),
            (
                "30,718 rows whose occupation is known (the paper counts 30,717), ten attributes, entropy.",
                "K: the smallest class; the paper's is without the response. L: size of a class over its most frequent "
                "occupation, the least. Rare boundaries: split values that few people hold.",
                "Same tree: the tree grown from the release has the same splits, leaves and counts.",
                "Not repeated: K = 154 and 64 of table I (the paper does not print these trees), the Cancer table (not "
                "public).",
            ),
        ),
        *more,
    ]


def _more(engine: Engine, folder: Path, progress: Progress, *, quick: bool) -> list[PaperTable]:
    """Figures 5 to 16."""
    most, sizes = (_QUICK_ROWS, _LEAVES[:2]) if quick else (None, _LEAVES[:7])
    learners.load_survey(engine, folder, SURVEY, _ADULT, most)
    found = [
        learners.by_leaves(engine, SURVEY, sizes, progress),
        learners.two_trees(engine, SURVEY, sizes[:3]),
        learners.scaling(engine, SURVEY, 4),
    ]
    learners.load_stand_in(engine, folder, most)
    return [*found, learners.by_leaves(engine, learners.STANDS_IN, sizes, progress)]


def load_adult(engine: Engine, folder: Path, *, most: int | None = None) -> None:
    """The rows of the paper in a working table."""
    columns = (*ATTRIBUTES, "occupation", "income")
    load(engine, folder, (_ADULT,), _SOURCE, columns=columns, known=("occupation",), most=most)


def measured(engine: Engine, leaves: int, criterion: str = "entropy") -> Measured:
    """The release of the tree with this many leaves, after load_adult."""
    plan = _plan(engine, leaves, criterion)
    engine.create_table(_RELEASE, plan.wide(), temporary=True)
    figures = plan.figures
    return Measured(
        plan.patterns[0]["leaves"],
        plan.classes,
        int(figures["smallest class"]),
        int(figures["smallest class when the response is known"]),
        float(Fraction(figures["least l occupation"])),
        float(Fraction(figures["training accuracy of tree 1"])),
        int(figures["boundary values held by few"]),
        not tree_differences(engine, _RELEASE, plan.patterns),
    )


def _plan(engine: Engine, leaves: int, criterion: str) -> TablePlan:
    words = {name: Word(name) for name in (*ATTRIBUTES, "occupation", "income", ROW)}
    roles = Roles(
        quasi=tuple(words[name] for name in ATTRIBUTES),
        sensitive=(words["occupation"],),
        target=words["income"],
        identifiers=(words[ROW],),
    )
    policy = Policy(
        "tpp",
        (KAnonymity(1), SimpleDiversity(Fraction(1))),
        roles,
        options={"numbers": "shifted", "max_leaves": Fraction(leaves)},
        preserve=(Inducer(Word("cart"), {"criterion": criterion, "min_leaf": Fraction(1)}),),
    )
    source = resolve(_SOURCE, engine.columns(_SOURCE), policy, ("adult",))
    return TPP.table(Job(engine, source, policy, {}))
