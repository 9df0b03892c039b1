"""Paper 003, tables 1 and 2, figures 8 and 9: accuracy of classifiers on the parts of DMPD, by k.

Five times two halves: the parts are searched for and rare values folded on one half, a classifier of each part is
learned there, and the other half is asked.  The rules of the training half are applied to the rows that are asked.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from statistics import fmean, stdev
from types import MappingProxyType

import numpy as np

from benchmarks.papers.data import ROW, load
from benchmarks.papers.tables import PaperTable
from ppdm_sql.cells.aggregate import aggregate
from ppdm_sql.cells.cells import CellColumn, Cells, Ints
from ppdm_sql.engines.base import Engine
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.evaluate.significance import five_by_two_f
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.dmpd.method import Parting, open_parting, part_cells, search_parts
from ppdm_sql.methods.dmpd.options import C45, NAIVE_BAYES, DmpdOptions, read_lists
from ppdm_sql.methods.dmpd.wrapper import CodedRows, code_rows, held_out_accuracy, tree_categories
from ppdm_sql.policy.options import from_text, read_options
from ppdm_sql.policy.policy import OptionValue, Policy, Roles
from ppdm_sql.requirements import KAnonymity
from ppdm_sql.source.relation import Source, resolve
from ppdm_sql.statements.names import Name, Word, own
from ppdm_sql.watching import Progress, silent

ALL, TRAIN, TEST = (own(f"ppdm_paper_{word}") for word in ("rows", "learn", "ask"))
REPEATS = 5
LEARNERS = (C45, NAIVE_BAYES)
Shares = dict[str, dict[int, list[float]]]  # by learner and level, of every half


@dataclass(frozen=True)
class PaperSet:
    """A table of the paper: files, class, how many quasi-identifiers, levels, and what is printed by learner."""

    name: str
    files: tuple[str, ...]
    target: str
    top: int
    levels: tuple[int, ...]
    printed: Mapping[str, tuple[float, ...]]  # baseline, no k, the levels
    without: tuple[str, ...] = ()


_SMALL = (10, 20, 30, 50)
SETS = (
    PaperSet("Adult", ("adult_train.csv", "adult_test.csv"), "income", 9, (50, 100, 200, 500), {
        C45: (85.58, 86.59, 83.03, 83.00, 82.63, 82.99), NAIVE_BAYES: (82.68, 84.87, 81.81, 81.41, 81.47, 81.19)}),
    PaperSet("Credit", ("credit_approval.csv",), "class", 9, _SMALL, {
        C45: (85.53, 85.82, 86.71, 85.08, 85.29, 85.66), NAIVE_BAYES: (76.82, 85.66, 85.94, 86.46, 86.46, 85.45)}),
    PaperSet("Vote", ("vote.csv",), "party", 9, _SMALL, {
        C45: (96.23, 96.35, 96.26, 96.35, 95.04, 96.70), NAIVE_BAYES: (90.78, 96.26, 96.43, 96.52, 96.61, 96.52)}),
    PaperSet("Wisconsin", ("breast_cancer_wisconsin.csv",), "class", 9, _SMALL, {
        C45: (93.28, 97.00, 95.97, 94.88, 95.09, 95.23), NAIVE_BAYES: (93.28, 96.11, 95.27, 94.77, 93.89, 93.04)},
        ("sample_code_number",)),
    PaperSet("German", ("german_credit.csv",), "class", 9, _SMALL, {
        C45: (69.88, 73.23, 71.86, 70.78, 71.12, 63.01), NAIVE_BAYES: (73.81, 75.03, 73.79, 73.71, 71.26, 69.84)}),
    PaperSet("Heart", ("heart_statlog.csv",), "class", 9, _SMALL, {
        C45: (74.89, 84.03, 79.18, 78.96, 77.31, 74.78), NAIVE_BAYES: (84.89, 82.61, 79.93, 77.69, 78.06, 74.93)}),
    PaperSet("Cmc", ("cmc.csv",), "contraceptive_method", 9, _SMALL, {
        C45: (50.90, 56.59, 52.53, 51.51, 51.02, 48.30), NAIVE_BAYES: (48.78, 54.04, 54.04, 52.73, 52.12, 48.07)}),
    PaperSet("Pima", ("pima_diabetes.csv",), "class", 8, _SMALL, {
        C45: (72.09, 78.20, 77.75, 77.62, 76.79, 75.85), NAIVE_BAYES: (75.20, 77.75, 77.75, 78.02, 78.41, 78.30)}),
    PaperSet("Nursery", ("nursery.csv",), "class", 8, (50, 100, 150, 200), {
        C45: (96.16, 97.13, 92.64, 91.15, 90.86, 88.91), NAIVE_BAYES: (90.08, 90.25, 90.24, 90.27, 90.00, 89.46)}),
)  # fmt: skip
FILES = tuple(dict.fromkeys(file for one in SETS for file in one.files))
_LEGEND = (
    "Mean accuracy in percent and its standard deviation over the ten halves; * significantly below the tree of the "
    "unchanged rows (combined 5x2 F test, 5 %).  paper: the printed mean; the seed's table was scrambled, and the rows "
    "of German, Heart and Cmc were told apart by the order of their labels.",
    "plain: one classifier of all columns.  no k: the parts that a search finds without a k.  Quasi-identifiers: the "
    "columns that tell most of the class (information gain of the whole table), because the paper gives no ranking.",
    "Rare values are folded (rare = fold), which the paper does not do: there a column with a rare value is left out.",
    "its search: the accuracy that the searches report, by cross-validation on the rows that chose the parts.",
    "The bank's table Portfolio is not public and was not run.",
)


def tables(folder: Path, progress: Progress, *, quick: bool) -> list[PaperTable]:
    """Tables 1 and 2; quick: two repeats and a small search on the small tables."""
    sets = SETS[1:] if quick else SETS
    options = _options(20, 10) if quick else _options(30, 30)
    rows: list[tuple[str, ...]] = []
    for number, one in enumerate(sets):
        progress(f"{one.name}: five times two halves", number, len(sets))
        rows += accuracy_rows(folder, one, options, repeats=2 if quick else REPEATS)
    legend = (*_LEGEND, f"Search: population {options['population']}, at most {options['generations']} generations, "
              f"{options['patience']} without a better one end it, 5 folds.")  # fmt: skip
    found = [PaperTable("003", "DMPD: accuracy by k, with the paper's", _COLUMNS, tuple(rows), legend)]
    from benchmarks.papers.dmpd_rivals import front_table, rivals_table

    found.append(rivals_table(folder, sets, progress, repeats=1 if quick else REPEATS))
    found.append(cost_table(folder, quick=quick))
    progress("Adult: fronts of five runs", 0, 1)
    return [*found, front_table(folder, _options(20, 10) if quick else options, runs=2 if quick else 5)]


_COLUMNS = ("table", "learner", "plain", "no k", "k1", "k2", "k3", "k4")


def _options(population: int, generations: int) -> dict[str, int]:
    return {"population": population, "generations": generations, "patience": 8}


def accuracy_rows(
    folder: Path, one: PaperSet, options: Mapping[str, int], *, repeats: int
) -> Iterator[tuple[str, ...]]:
    """Three lines for each learner: measured, what the searches said of the rows that chose the parts, and printed."""
    said: Shares = {learner: {level: [] for level in (0, *one.levels)} for learner in LEARNERS}
    found: Shares = {learner: {level: [] for level in (-1, 0, *one.levels)} for learner in LEARNERS}
    with DuckDBEngine.open(":memory:") as engine:
        names = [name for name in load(engine, folder, one.files, ALL) if name not in one.without]
        quasi = top_columns(engine, one, names)
        for repeat in range(repeats):
            for half in (0, 1):
                split_halves(engine, names, repeat, half)
                for learner, level, share, estimate in _half(engine, one, names, quasi, options, repeat):
                    found[learner][level].append(share)
                    if estimate is not None:
                        said[learner][level].append(estimate)
    for learner, by_level in found.items():
        shown = [_cell(shares, by_level[-1]) for shares in by_level.values()]
        at = "/".join(map(str, one.levels))
        yield (f"{one.name} (k = {at})", learner, *shown)
        yield ("", "its search", "", *(f"{100 * fmean(shares):.2f}" for shares in said[learner].values()))
        yield ("", "paper", *(f"{value:.2f}" for value in one.printed[learner]))


def _cell(shares: Sequence[float], plain: Sequence[float]) -> str:
    mark = ""
    if len(shares) == 2 * REPEATS and shares != list(plain):
        first, second = (_pairs(each) for each in (plain, shares))
        below = fmean(shares) < fmean(plain)
        mark = "*" if below and five_by_two_f(first, second).p < 0.05 else ""
    return f"{100 * fmean(shares):.2f} ± {100 * stdev(shares):.2f}{mark}"


def _pairs(shares: Sequence[float]) -> list[tuple[Fraction, Fraction]]:
    exact = [Fraction(one) for one in shares]
    return list(zip(exact[::2], exact[1::2], strict=True))


def _half(
    engine: Engine, one: PaperSet, names: Sequence[str], quasi: Sequence[str], options: Mapping[str, int], repeat: int
) -> Iterator[tuple[str, int, float, float | None]]:
    """(learner, level, accuracy, what the search said) of one half: -1 is the plain classifier, 0 no k."""
    with engine.workspace():
        counted = aggregate(engine, _source(engine, TRAIN, one, names, quasi), _ordered(names, one), people=True)
        asked = aggregate(engine, _source(engine, TEST, one, names, quasi), _ordered(names, one))
        for learner, level in product(LEARNERS, (0, *one.levels)):
            parting, chosen, job = open_half(
                engine, one, names, quasi, learner, options, max(level, 1), counted=counted
            )
            train, test = coded_halves(parting, asked, one)
            if level == 0:
                every = [tuple(range(len(parting.features)))]
                plain = every if learner == C45 else [(place,) for place in every[0]]
                yield learner, -1, held_out_accuracy(train, test, plain, grows=learner == C45), None
            found = search_parts(job, chosen, parting, seed=repeat)
            place = {name: number for number, name in enumerate(parting.features)}
            partition = [tuple(place[name] for name in part) for part in found.parts]
            yield learner, level, held_out_accuracy(train, test, partition, grows=learner == C45), found.accuracy


def _ordered(names: Sequence[str], one: PaperSet) -> list[str]:
    return [*(name for name in names if name != one.target), one.target]


def split_halves(engine: Engine, names: Sequence[str], repeat: int, half: int) -> None:
    import pyarrow as pa
    from sqlglot import exp

    picked = exp.select("*").from_(ALL.table())
    every = pa.Table.from_batches(list(engine.batches(picked)))
    order = np.random.default_rng(1000 + repeat).permutation(every.num_rows)
    sides = np.array_split(order, 2)
    for name, rows in ((TRAIN, sides[half]), (TEST, sides[1 - half])):
        engine.load(name, every.select(list(names)).take(pa.array(np.sort(rows))))


def _source(engine: Engine, relation: Name, one: PaperSet, names: Sequence[str], quasi: Sequence[str]) -> Source:
    rest = [Word(name, quoted=True) for name in names if name not in (*quasi, one.target)]
    roles = Roles(
        quasi=tuple(Word(name, quoted=True) for name in quasi), target=Word(one.target, quoted=True),
        insensitive=tuple(rest),
    )  # fmt: skip
    policy = Policy("dmpd", (KAnonymity(2),), roles)
    infos = [info for info in engine.columns(relation) if info.name != ROW and info.name in names]
    return resolve(relation, infos, policy, (one.name,))


def half_job(
    engine: Engine, one: PaperSet, names: Sequence[str], quasi: Sequence[str], k: int, algorithm: str = "dmpd",
    options: Mapping[str, OptionValue] = MappingProxyType({}),
) -> Job:  # fmt: skip
    """A release of the half in TRAIN."""
    source = _source(engine, TRAIN, one, names, quasi)
    policy = Policy(algorithm, (KAnonymity(k),), Roles(), seed=1, options=options)
    return Job(engine, source, policy, {}, progress=silent)


def open_half(
    engine: Engine, one: PaperSet, names: Sequence[str], quasi: Sequence[str], learner: str,
    options: Mapping[str, int], k: int, *, counted: Cells | None = None,
) -> tuple[Parting, DmpdOptions, Job]:  # fmt: skip
    """What is parted of the half in TRAIN; counted: its cells, where they were counted before."""
    chosen = read_options(DmpdOptions, from_text({"inducer": learner, **options}), "ALGORITHM dmpd")
    job = half_job(engine, one, names, quasi, k)
    if counted is None:
        return open_parting(job, chosen), chosen, job
    return part_cells(job, chosen, read_lists(chosen, job.source), counted), chosen, job


def top_columns(engine: Engine, one: PaperSet, names: Sequence[str]) -> list[str]:
    """The columns that tell most of the class, by the gain of their categories on the whole table."""
    rest = [name for name in names if name != one.target]
    if len(rest) <= one.top:
        return rest
    with engine.workspace():
        source = _source(engine, ALL, one, names, rest)
        parting = open_parting(Job(engine, source, Policy("dmpd", (KAnonymity(1),), Roles()), {}), DmpdOptions())
        rows = code_rows(parting.table, parting.features, 2, 0)
    gains = {name: _gain(rows, place) for place, name in enumerate(parting.features)}
    best = sorted(gains, key=lambda name: (-gains[name], name))[: one.top]
    return [name for name in rest if name in best]


def _gain(rows: CodedRows, place: int) -> float:
    size = int(rows.codes[:, place].max()) + 1
    counts = np.bincount(rows.codes[:, place] * rows.class_count + rows.classes, rows.weights, size * rows.class_count)
    counts = counts.reshape(size, rows.class_count)

    def entropy(table: np.ndarray) -> float:
        total = table.sum(axis=-1, keepdims=True)
        share = table / np.where(total > 0, total, 1)
        return float(-(table * np.log2(np.where(share > 0, share, 1))).sum())

    return entropy(counts.sum(axis=0)) - entropy(counts)


# -- applying the rules of one half to the other ---------------------------------------------------------------


def coded_halves(parting: Parting, asked: Cells, one: PaperSet) -> tuple[CodedRows, CodedRows]:
    """Both halves in the categories of the one that was learned from; a value that was not there has none."""
    table, features = parting.table, parting.features
    train, test = [], []
    for name in features:
        tree = tree_categories(table, name)
        learned = table.cells[name]
        of_code = parting.folded[name].of_code if name in parting.folded else np.arange(learned.size)
        train.append(tree[table.codes[name]])
        place = _places(learned, asked[name], is_line=_is_number(learned))
        fresh = int(tree.max(initial=0)) + 1
        known = np.append(tree[of_code], _other(parting, name, fresh))
        test.append(known[place][asked[name].codes.astype(np.int64)])
    classes = _places(table.cells[one.target], asked[one.target], is_line=False)
    count = table.classes
    return (
        _coded(features, train, table.class_codes, count, table.cells.rows),
        _coded(features, test, classes[asked[one.target].codes.astype(np.int64)], count, asked.rows),
    )


def _other(parting: Parting, name: str, fresh: int) -> int:
    """What a value is that was not learned: one of the rare ones, where these became one."""
    one = parting.folded.get(name)
    return one.size - 1 if one is not None and one.folded_values else fresh


def _is_number(column: CellColumn) -> bool:
    return bool(len(column.values)) and isinstance(column.values[0], int | float)


def _places(learned: CellColumn, asked: CellColumn, *, is_line: bool) -> Ints:
    """Per code of the rows that are asked the code of the value that was learned; its size for none."""
    none = learned.size
    if is_line:
        known = np.array([float(value) for value in learned.values])  # type: ignore[arg-type]
        wanted = np.array([float(value) for value in asked.values])  # type: ignore[arg-type]
        places = np.clip(np.searchsorted(known, wanted, side="right") - 1, 0, len(known) - 1)
    else:
        place = {value: number for number, value in enumerate(learned.values)}
        places = np.array([place.get(value, none) for value in asked.values], dtype=np.int64)
    null = none if learned.null_code is None else learned.null_code
    return np.append(places, null) if asked.null_code is not None else places


def _coded(names: Sequence[str], columns: Sequence[Ints], classes: Ints, count: int, weights: Ints) -> CodedRows:
    codes = np.column_stack(columns).astype(np.int32)
    return CodedRows(tuple(names), codes, classes, count, np.zeros(len(classes), dtype=np.int64), 1, weights)


# -- figure 8: cost by rows ------------------------------------------------------------------------------------


def cost_table(folder: Path, *, quick: bool) -> PaperTable:
    """Figure 8: German enlarged, five quasi-identifiers, k = 10: processor time of a search."""
    one = next(each for each in SETS if each.name == "German")
    printed = {1: "1.41", 5: "6.55", 10: "13.90", 15: "24.48", 20: "32.76"}
    rows = []
    for times in (1, 5) if quick else tuple(printed):
        with DuckDBEngine.open(":memory:") as engine:
            names = load(engine, folder, one.files, ALL)
            _enlarge(engine, times, names)
            quasi = top_columns(engine, PaperSet(one.name, one.files, one.target, 5, (10,), {}), names)
            started = time.process_time()
            with engine.workspace():
                parting, chosen, job = open_half(engine, one, names, quasi, C45, _options(20, 10), 10)
                found = search_parts(job, chosen, parting)
            spent = time.process_time() - started
        rows.append((f"{1000 * times:,}", f"{spent:.1f}", f"{found.tried:,}", printed[times]))
    return PaperTable(
        "003", "DMPD: cost by rows (figure 8)", ("rows", "seconds here", "partitions", "minutes, paper"), tuple(rows),
        ("German, every row repeated with numbers and texts drawn from their domains; population 20, 10 generations, "
         "five quasi-identifiers, k = 10.  Processor time here; the paper's machine is of 2004.",),
    )  # fmt: skip


def _enlarge(engine: Engine, times: int, names: Sequence[str]) -> None:
    import pyarrow as pa
    from sqlglot import exp

    every = pa.Table.from_batches(list(engine.batches(exp.select("*").from_(ALL.table())))).select(list(names))
    draw = np.random.default_rng(3)
    rows = every.num_rows * times
    more = {name: every[name].take(pa.array(draw.integers(0, every.num_rows, rows - every.num_rows))) for name in names}
    engine.load(TRAIN, pa.concat_tables([every, pa.table(more).cast(every.schema)]))
