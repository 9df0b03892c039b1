"""Tian, Zhang, Xu, Sharkey: knowledge models shared by several sources; their figures 10 to 16, as tables.

The stored text has no figure in numbers.  What it states of them stands next to what is measured here.

Rows are divided into ten parts; a part is the test, the nine others are the training rows of the base tree and are
dealt to the sources.  The learner of all trees is ID3 without pruning.  How many rows a leaf has at least the paper
does not tell, and much depends on it, so two sizes are tried; of pseudo-rows made times as many, a leaf has times as
many at least.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from statistics import fmean

from benchmarks.papers import sharing_runs as runs
from benchmarks.papers.data import MANIFEST, ROW, load
from benchmarks.papers.pooling_000 import Dealings, add_pooled, pooling_table
from benchmarks.papers.releases_000 import add_releases, hierarchies_of, releases_table
from benchmarks.papers.sharing_runs import POOL, TEST, TRAIN, Task, Way
from benchmarks.papers.sharing_tables import Figures, others_table, requirements_table, sources_tables
from benchmarks.papers.tables import PaperTable
from ppdm_sql.engines.base import Engine
from ppdm_sql.engines.connect import open_engine
from ppdm_sql.evaluate import folds
from ppdm_sql.evaluate.agreement import path_match
from ppdm_sql.requirements import RecursiveDiversity, Requirement, SimpleDiversity
from ppdm_sql.statements.names import Name, own
from ppdm_sql.trees.tree import Tree
from ppdm_sql.watching import Progress

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
    leaves: tuple[int, ...]  # rows of a leaf at least: fine trees, coarse trees
    known: tuple[str, ...] = ()

    @property
    def asked(self) -> list[Requirement]:
        simple = [SimpleDiversity(Fraction(l)) for l in self.simple]
        return [*simple, *(RecursiveDiversity(Fraction(c), l) for c, l in self.recursive)]


def _grid(widest: int, constants: Sequence[int]) -> tuple[tuple[int, int], ...]:
    return tuple((c, l) for c in constants for l in range(2, widest + 1))


ADULT = Printed(
    "Adult", ("adult_train.csv", "adult_test.csv"), "occupation", 45_204, tuple(range(2, 15)), _grid(14, (5, 10, 20)),
    leaves=(10, 100), known=("workclass", "occupation", "native_country"),
)  # fmt: skip
NURSERY = Printed(
    "Nursery", ("nursery.csv",), "class", 12_960, tuple(range(2, 6)), _grid(5, (5, 10, 15, 20)), leaves=(1, 10)
)
CAR = Printed("Car", ("car.csv",), "class", 1_728, (), (), leaves=(1,))
CMC = Printed("CMC", ("cmc.csv",), "contraceptive_method", 1_473, (), (), leaves=(1,))
# What ten sources' anonymized trees are pooled under, by table.
POOLED = (
    (NURSERY, RecursiveDiversity(Fraction(5), 2)), (CAR, RecursiveDiversity(Fraction(5), 2)),
    (CMC, RecursiveDiversity(Fraction(5), 2)), (ADULT, RecursiveDiversity(Fraction(5), 3)),
)  # fmt: skip
FILES = (MANIFEST, *(file for printed, _ in POOLED for file in printed.files))


@dataclass(frozen=True)
class Size:
    """How much is run."""

    rows: dict[str, int]  # of a table; all where it is not named
    tested: int  # parts that are once the test
    sources: tuple[int, ...]
    asked: dict[str, tuple[str, ...]] | None  # None: the whole grid
    many: int  # sources where requirements are asked for, or other models than trees
    released: int = 1  # parts in which tables are published, too
    times: int = 4  # pseudo-rows for every row that was learned from, next to the paper's one


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
    shares, others, anonymity = Figures(), Figures(), Figures()
    used: list[str] = []
    with open_engine(":memory:") as engine:
        for printed in chosen:
            task = _task(engine, folder, printed, size)
            hierarchies = hierarchies_of(engine, folder, task)
            rows = 0
            for part in _parts(engine, task, size):
                progress(f"{printed.name}, part {part + 1}", part, size.tested)
                for leaf in printed.leaves:
                    base = runs.learned(engine, task, TRAIN, leaf)
                    rows = base.root.rows
                    _by_sources(engine, task, base, leaf, size, part, shares)
                _other_models(engine, task, printed.leaves[0], size, part, others)
                asked = _asked(printed, size)
                _by_requirement(engine, task, printed.leaves[-1], asked, size.many, part, anonymity)
                if part < size.released:
                    add_releases(engine, task, hierarchies, printed.leaves[-1], asked, anonymity)
            used.append(
                f"{printed.name}: {rows:,} training rows, {size.tested} of {_PARTS} parts; the paper: {printed.rows:,} "
                "rows in all, ten parts, five passes each."
            )
    return [
        *sources_tables(shares, size.times, used),
        others_table(others, used),
        requirements_table(anonymity, size.many, used),
        releases_table(anonymity, used),
        _pooling(folder, progress, size, [one for one in POOLED if one[0] in chosen or size.asked is None]),
    ]


def _pooling(folder: Path, progress: Progress, size: Size, chosen: Sequence[tuple[Printed, Requirement]]) -> PaperTable:
    """Anonymized trees of ten sources as one model, in a table of its own: other data, five dealings."""
    figures, used = Figures(), []
    dealings = Dealings(5 if size.asked is None else 1, size.many)
    with open_engine(":memory:") as engine:
        for printed, asked in chosen:
            task = _task(engine, folder, printed, size)
            for part in _parts(engine, task, replace(size, tested=size.released)):
                progress(f"{printed.name}, pooled", part, size.released)
                add_pooled(engine, task, [asked], dealings, part, figures)
            used.append(f"{printed.name}: {size.released} of {_PARTS} parts.")
    return pooling_table(figures, dealings, used)


# -- data ------------------------------------------------------------------------------------------------


def _task(engine: Engine, folder: Path, printed: Printed, size: Size) -> Task:
    relation = own(f"ppdm_paper_{printed.name.lower()}")
    most = size.rows.get(printed.name)
    names = load(engine, folder, printed.files, relation, known=printed.known, most=most)
    infos = tuple(info for info in engine.columns(relation) if info.name in names)
    bounds = runs.bounds_of(engine, relation, [info for info in infos if info.name != printed.target])
    return Task(printed.name, relation, infos, printed.target, bounds)


def _parts(engine: Engine, task: Task, size: Size) -> Iterator[int]:
    folds.deal(engine, task.relation, _DIVIDED, parts=_PARTS, seed=_SEED)
    for part in range(size.tested):
        folds.train_and_test(engine, _DIVIDED, part, train=TRAIN, test=TEST, columns=[*task.names, ROW])
        yield part
    engine.drop_table(_DIVIDED, temporary=True)


def _asked(printed: Printed, size: Size) -> list[Requirement]:
    chosen = None if size.asked is None else size.asked[printed.name]
    return [asked for asked in printed.asked if chosen is None or str(asked) in chosen]


def _local(engine: Engine, task: Task, number: int, leaf: int, part: int) -> list[Tree]:
    """The trees of the sources; the same rows at each, whatever is done with them."""
    dealt = runs.dealt(engine, task, number, _SEED + 100 * part + number)
    return [runs.learned(engine, task, one, leaf) for one in dealt]


# -- experiment A: unpruned trees --------------------------------------------------------------------------


def _by_sources(engine: Engine, task: Task, base: Tree, leaf: int, size: Size, part: int, into: Figures) -> None:
    true, basis = runs.truth(engine, task), runs.said(engine, base, "base")
    ways = [Way("pgen"), Way("pgen", by_counts=True), Way("basegen")]
    ways += [Way(way.algorithm, way.by_counts, size.times) for way in ways]
    for number in size.sources:
        key = (task.name, str(leaf), str(number))
        trees = _local(engine, task, number, leaf, part) if number > 1 else [base]
        into.add(key, "BASIS", runs.same(engine, true, basis))
        into.add(key, "local leaves", fmean(len(tree.leaves) for tree in trees))
        told = runs.voted(engine, task, trees)
        into.add(key, "BAGGING", runs.same(engine, true, told))
        into.add(key, "match BAGGING", runs.same(engine, basis, told))
        for way in ways:
            tree = base  # with one source the published tree is the result
            if number > 1:
                runs.make_pool(engine, task, trees, way, _SEED + part)
                tree = runs.learned(engine, task, POOL, leaf * way.times)
            told = runs.said(engine, tree, "global")
            into.add(key, str(way), runs.same(engine, true, told))
            into.add(key, f"match {way}", runs.same(engine, basis, told))
            if way == Way("pgen"):
                into.add(key, "paths PGEN", float(path_match(base, tree)))


def _other_models(engine: Engine, task: Task, leaf: int, size: Size, part: int, into: Figures) -> None:
    """Naive Bayes and conjunctive rules as the global model, next to trees."""
    true = runs.truth(engine, task)
    basis = {
        "bayes BASIS": runs.same(engine, true, runs.said_by_bayes(engine, task, TRAIN)),
        "rules BASIS": runs.same(engine, true, runs.said_by_rules(engine, task, TRAIN)),
        "tree BASIS": runs.same(engine, true, runs.said(engine, runs.learned(engine, task, TRAIN, leaf), "base")),
    }
    for number in sorted({2, size.many}):
        key = (task.name, str(number))
        trees = _local(engine, task, number, leaf, part)
        for name, value in basis.items():
            into.add(key, name, value)
        into.add(key, "BAGGING", runs.same(engine, true, runs.voted(engine, task, trees)))
        for way in (Way("pgen"), Way("basegen")):
            runs.make_pool(engine, task, trees, way, _SEED + part)
            tree = runs.learned(engine, task, POOL, leaf)
            into.add(key, f"tree {way}", runs.same(engine, true, runs.said(engine, tree, "global")))
            into.add(key, f"bayes {way}", runs.same(engine, true, runs.said_by_bayes(engine, task, POOL)))
            into.add(key, f"rules {way}", runs.same(engine, true, runs.said_by_rules(engine, task, POOL)))


# -- experiment B: trees that meet a requirement -----------------------------------------------------------


def _by_requirement(
    engine: Engine, task: Task, leaf: int, asked: Sequence[Requirement], many: int, part: int, into: Figures
) -> None:
    if not asked:
        return
    true = runs.truth(engine, task)
    base = runs.learned(engine, task, TRAIN, leaf)
    basis = runs.said(engine, base, "base")
    local = runs.dealt(engine, task, many, _SEED + 1000 + part)
    for requirement in asked:
        key = (task.name, str(requirement))
        for method in ("atp", "ldm"):
            name = method.upper()
            tree = runs.anonymous(engine, task, TRAIN, method, requirement, leaf)
            told = None if tree is None else runs.said(engine, tree, "global")
            into.add(key, name, None if told is None else runs.same(engine, true, told))
            into.add(key, f"match {name}", None if told is None else runs.same(engine, basis, told))
            into.add(key, f"paths {name}", None if tree is None else float(path_match(base, tree)))
            into.add(key, f"{name} leaves", None if tree is None else len(tree.leaves))
            into.add(key, f"CM {name}", None if tree is None else runs.metric([tree]))
            found = [runs.anonymous(engine, task, one, method, requirement, leaf) for one in local]
            trees = [one for one in found if one is not None]
            _pooled_figures(engine, task, trees, leaf, part, true, key, name, into)


def _pooled_figures(
    engine: Engine, task: Task, trees: list[Tree], leaf: int, part: int, true: Name, key: tuple[str, ...],
    name: str, into: Figures,
) -> None:  # fmt: skip
    """The global models of all sources' trees; a source that found none takes no part."""
    names = (f"{name}-PGEN", f"{name}-PGEN bayes", f"CM {name}-PGEN")
    if not trees:
        for one in names:
            into.add(key, one, None)
        return
    runs.make_pool(engine, task, trees, Way("pgen"), _SEED + part)
    tree = runs.learned(engine, task, POOL, leaf)
    into.add(key, names[0], runs.same(engine, true, runs.said(engine, tree, "global")))
    into.add(key, names[1], runs.same(engine, true, runs.said_by_bayes(engine, task, POOL)))
    into.add(key, names[2], runs.metric(trees))
