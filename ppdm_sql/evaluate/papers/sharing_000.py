"""Tian, Zhang, Xu, Sharkey: knowledge models shared by several sources; their figures 10 to 16, as tables.

The stored text has no figure in numbers.  What it states of them stands beside what is measured here.

Rows are divided into ten parts; a part is the test, the nine others are the training rows of the base tree and are
dealt to the sources.  The learner of all trees is ID3 without pruning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from statistics import fmean

from ppdm_sql.engines.base import Engine
from ppdm_sql.engines.connect import open_engine
from ppdm_sql.evaluate import folds
from ppdm_sql.evaluate.agreement import path_match
from ppdm_sql.evaluate.papers import sharing_runs as runs
from ppdm_sql.evaluate.papers.data import MANIFEST, ROW, load
from ppdm_sql.evaluate.papers.sharing_runs import TEST, TRAIN, Task
from ppdm_sql.evaluate.papers.tables import PaperTable
from ppdm_sql.policy.requirements import RecursiveDiversity, Requirement, SimpleDiversity
from ppdm_sql.statements.names import own
from ppdm_sql.trees.tree import Tree
from ppdm_sql.watching import Progress

PAPER = "000"
_SEED = 1
_PARTS = 10
_DIVIDED = own("ppdm_paper_divided")


@dataclass(frozen=True)
class Printed:
    """What the paper says of a table: its rows, and the requirements it was tried with."""

    name: str
    files: tuple[str, ...]
    target: str
    rows: int
    simple: tuple[int, ...]
    recursive: tuple[tuple[int, int], ...]  # (c, l)
    min_leaf: int
    known: tuple[str, ...] = ()

    @property
    def asked(self) -> list[Requirement]:
        simple = [SimpleDiversity(Fraction(l)) for l in self.simple]
        return [*simple, *(RecursiveDiversity(Fraction(c), l) for c, l in self.recursive)]


def _grid(widest: int, constants: Sequence[int]) -> tuple[tuple[int, int], ...]:
    return tuple((c, l) for c in constants for l in range(2, widest + 1))


ADULT = Printed(
    "Adult", ("adult_train.csv", "adult_test.csv"), "occupation", 45_204, tuple(range(2, 15)), _grid(14, (5, 10, 20)),
    min_leaf=10, known=("workclass", "occupation", "native_country"),
)  # fmt: skip
NURSERY = Printed("Nursery", ("nursery.csv",), "class", 12_960, tuple(range(2, 6)), _grid(5, (5, 10, 15, 20)), 1)
FILES = (MANIFEST, *ADULT.files, *NURSERY.files)


@dataclass(frozen=True)
class Size:
    """How much is run."""

    rows: dict[str, int]  # of a table; all where it is not named
    tested: int  # parts that are once the test
    sources: tuple[int, ...]
    asked: dict[str, tuple[str, ...]] | None  # None: the whole grid
    many: int  # sources where requirements are asked for


FULL = Size({}, _PARTS, tuple(range(1, 11)), None, 10)
QUICK = Size(
    {"Adult": 3_000, "Nursery": 4_000}, 1, (1, 2, 5, 10),
    {"Adult": ("simple_l = 2", "simple_l = 3", "recursive_l = (5, 3)"),
     "Nursery": ("simple_l = 2", "recursive_l = (5, 2)", "recursive_l = (20, 2)")},
    5,
)  # fmt: skip


def tables(folder: Path, progress: Progress, *, quick: bool) -> list[PaperTable]:
    """Pseudo-rows against votes by the number of sources; pruning against learning by requirement."""
    return tables_of(folder, progress, QUICK if quick else FULL)


def tables_of(
    folder: Path, progress: Progress, size: Size, chosen: Sequence[Printed] = (NURSERY, ADULT)
) -> list[PaperTable]:
    by_sources: list[tuple[str, ...]] = []
    by_requirement: list[tuple[str, ...]] = []
    used: list[str] = []
    with open_engine(":memory:") as engine:
        for printed in chosen:
            task = _task(engine, folder, printed, size)
            shares, anonymity = _Figures(), _Figures()
            rows = 0
            for part in _parts(engine, task, size):
                progress(f"{printed.name}, part {part + 1}", part, size.tested)
                base = runs.learned(engine, task, TRAIN)
                rows = base.root.rows
                _by_sources(engine, task, base, size.sources, part, shares)
                _by_requirement(engine, task, base, _asked(printed, size), size.many, part, anonymity)
            by_sources += [(printed.name, *row) for row in shares.lines(_SHARE_COLUMNS)]
            by_requirement += [(printed.name, *row) for row in anonymity.lines(_ANONYMOUS_COLUMNS)]
            used.append(
                f"{printed.name}: {rows:,} training rows, {size.tested} of {_PARTS} parts, leaves of at least "
                f"{printed.min_leaf} rows; the paper: {printed.rows:,} rows in all, ten parts, five passes each."
            )
    return [_table_of_sources(by_sources, used), _table_of_requirements(by_requirement, used, size)]


# -- data ------------------------------------------------------------------------------------------------


def _task(engine: Engine, folder: Path, printed: Printed, size: Size) -> Task:
    relation = own(f"ppdm_paper_{printed.name.lower()}")
    most = size.rows.get(printed.name)
    names = load(engine, folder, printed.files, relation, known=printed.known, most=most)
    infos = tuple(info for info in engine.columns(relation) if info.name in names)
    bounds = runs.bounds_of(engine, relation, [info for info in infos if info.name != printed.target])
    return Task(printed.name, relation, infos, printed.target, printed.min_leaf, bounds)


def _parts(engine: Engine, task: Task, size: Size) -> Iterator[int]:
    folds.deal(engine, task.relation, _DIVIDED, parts=_PARTS, seed=_SEED)
    for part in range(size.tested):
        folds.train_and_test(engine, _DIVIDED, part, train=TRAIN, test=TEST, columns=[*task.names, ROW])
        yield part
    engine.drop_table(_DIVIDED, temporary=True)


def _asked(printed: Printed, size: Size) -> list[Requirement]:
    chosen = None if size.asked is None else size.asked[printed.name]
    return [asked for asked in printed.asked if chosen is None or str(asked) in chosen]


# -- figures -----------------------------------------------------------------------------------------------


@dataclass
class _Figures:
    """What was measured, by a row's key and a column's name, to be averaged over the parts."""

    found: dict[tuple[str, ...], dict[str, list[float | None]]] = field(default_factory=dict)

    def add(self, key: tuple[str, ...], name: str, value: float | None) -> None:
        self.found.setdefault(key, {}).setdefault(name, []).append(value)

    def lines(self, columns: Sequence[str]) -> list[tuple[str, ...]]:
        return [(*key, *(_cell(values.get(name, ()), name) for name in columns)) for key, values in self.found.items()]


def _cell(values: Sequence[float | None], name: str) -> str:
    """The mean; of a column of leaves a whole number, of all others a percentage."""
    known = [value for value in values if value is not None]
    if not known:
        return "none" if values else ""
    mean = fmean(known)
    some = "" if len(known) == len(values) else f" ({len(known)} of {len(values)})"
    return (f"{mean:,.0f}" if name.endswith("leaves") else f"{100 * mean:.1f}") + some


# -- experiment A --------------------------------------------------------------------------------------------

_SHARE_COLUMNS = (
    "BASIS", "PGEN", "PGEN counts", "BASEGEN", "BAGGING", "match PGEN", "match PGEN counts", "match BASEGEN",
    "match BAGGING", "paths PGEN", "local leaves",
)  # fmt: skip


def _by_sources(engine: Engine, task: Task, base: Tree, numbers: Sequence[int], part: int, into: _Figures) -> None:
    true, basis = runs.truth(engine, task), runs.said(engine, base, "base")
    for number in numbers:
        key = (str(number),)
        into.add(key, "BASIS", runs.same(engine, true, basis))
        trees = [base]
        if number > 1:
            seed = _SEED + 100 * part + number
            trees = [runs.learned(engine, task, one) for one in runs.dealt(engine, task, number, seed)]
        into.add(key, "local leaves", fmean(len(tree.leaves) for tree in trees))
        for way in ("PGEN", "PGEN counts", "BASEGEN", "BAGGING"):
            learned = base if number == 1 else None
            if number > 1 and way != "BAGGING":
                algorithm, by_counts = way.lower().split()[0], way.endswith("counts")
                learned = runs.pooled(engine, task, trees, algorithm, _SEED + part, by_counts=by_counts)
            told = runs.voted(engine, task, trees) if learned is None else runs.said(engine, learned, "global")
            into.add(key, way, runs.same(engine, true, told))
            into.add(key, f"match {way}", runs.same(engine, basis, told))
            if way == "PGEN" and learned is not None:
                into.add(key, "paths PGEN", float(path_match(base, learned)))


def _table_of_sources(rows: Sequence[tuple[str, ...]], used: Sequence[str]) -> PaperTable:
    columns = ("data", "sources", *(f"{name} %" if name != "local leaves" else name for name in _SHARE_COLUMNS))
    return PaperTable(
        PAPER,
        "Pseudo-data from unpruned local trees: accuracy, class match and path match by the number of sources",
        columns,
        tuple(rows),
        (
            "BASIS is the tree of all training rows. match: test rows classified as BASIS does; paths: ways to leaves "
            "shared with BASIS. With one source the published tree is the result, whatever the method.",
            "The paper (figures 10, 12, 13; no numbers): for two sources and more PGEN lies above BASEGEN and BAGGING "
            "in accuracy and class match, all three fall with the sources; less than 32 % of paths are shared, often "
            "less than 1 %.",
            "PGEN counts: the classes of a leaf's rows as counted there, which the paper's labels do not tell and "
            "our model files do.",
            "Numbers are drawn between the ends of the whole table, as if these were declared.",
            *used,
        ),
    )


# -- experiment B --------------------------------------------------------------------------------------------

_ANONYMOUS_COLUMNS = (
    "ATP", "LDM", "match ATP", "match LDM", "paths ATP", "paths LDM", "ATP leaves", "LDM leaves",
    "ATP-PGEN", "LDM-PGEN",
)  # fmt: skip


def _by_requirement(
    engine: Engine, task: Task, base: Tree, asked: Sequence[Requirement], many: int, part: int, into: _Figures
) -> None:
    true, basis = runs.truth(engine, task), runs.said(engine, base, "base")
    local = runs.dealt(engine, task, many, _SEED + 1000 + part)
    for requirement in asked:
        key = (str(requirement),)
        for method in ("atp", "ldm"):
            name = method.upper()
            tree = runs.anonymous(engine, task, TRAIN, method, requirement, {})
            told = None if tree is None else runs.said(engine, tree, "global")
            into.add(key, name, None if told is None else runs.same(engine, true, told))
            into.add(key, f"match {name}", None if told is None else runs.same(engine, basis, told))
            into.add(key, f"paths {name}", None if tree is None else float(path_match(base, tree)))
            into.add(key, f"{name} leaves", None if tree is None else len(tree.leaves))
            found = [runs.anonymous(engine, task, one, method, requirement, {}) for one in local]
            trees = [one for one in found if one is not None]
            learned = runs.pooled(engine, task, trees, "pgen", _SEED + part) if trees else None
            told = None if learned is None else runs.said(engine, learned, "global")
            into.add(key, f"{name}-PGEN", None if told is None else runs.same(engine, true, told))


def _table_of_requirements(rows: Sequence[tuple[str, ...]], used: Sequence[str], size: Size) -> PaperTable:
    columns = (
        "data", "requirement", *(name if name.endswith("leaves") else f"{name} %" for name in _ANONYMOUS_COLUMNS),
    )  # fmt: skip
    return PaperTable(
        PAPER,
        f"Anonymized trees by requirement: one source's tree, and the global tree of {size.many} sources",
        columns,
        tuple(rows),
        (
            f"ATP, LDM: the published tree of one source, exact counts; -PGEN: learned from pseudo-rows of {size.many} "
            "sources' trees; a source that finds no tree takes no part. none: no tree of two leaves or more.",
            "The paper (figures 14, 16; no numbers but these): ATP slightly above LDM, about 10 % on Nursery for "
            "(c, l) with one source and 15 % with ten; LDM finds none for simple_l = 10 on Adult.",
            "No tree that meets simple_l = l is more than 1/l accurate on its training rows. Adult meets it up to 7, "
            "Nursery up to 3: above that nothing can be published, whatever the method.",
            "Not repeated here: LDD and OPTI, which publish tables, and the five passes per part.",
            *used,
        ),
    )
