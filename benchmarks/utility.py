"""What releases are good for: learners from scikit-learn on rows that nobody published.

    adult      the methods with TARGET, Adult's training part released, its test part the test
    pooling    kactus2 with and without pool_non_complying, five tables
    price      mondrian with other prices of a split, five tables

A release is made of the training rows alone.  Test rows are given the labels that its rules have for them (recoded), or
the narrowest label of the release that covers each value (relabelled).  Numbers that became ranges are the middles of
these to a learner, as with AS MIDPOINT; a label of text is a category.  Nothing is published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.__main__ import print_steps, print_table
from benchmarks.papers.data import ROW, load
from benchmarks.papers.tables import PaperTable
from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import PpdmError
from ppdm_sql.evaluate.folds import deal, train_and_test
from ppdm_sql.evaluate.learners import majority_score, score_of_tree
from ppdm_sql.evaluate.recode import recode_rows
from ppdm_sql.evaluate.relabel import relabel_rows
from ppdm_sql.forms.read_labels import LabelReader
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.mondrian.split_quality import ClassEntropy
from ppdm_sql.methods.registry import method_named
from ppdm_sql.policy.policy import OptionValue, Policy, Roles
from ppdm_sql.requirements import KAnonymity
from ppdm_sql.source.relation import Source, resolve
from ppdm_sql.statements.names import Name, Word, own
from ppdm_sql.watching import Progress

_WHOLE, _DEALT = own("ppdm_utility_rows"), own("ppdm_utility_dealt")
_TRAIN, _TEST = own("ppdm_utility_train"), own("ppdm_utility_test")
_RELEASE, _ASKED = own("ppdm_utility_release"), own("ppdm_utility_asked")
_SEED, _REPEATS = 4, 2
ADULT = (
    "sex", "age", "race", "marital_status", "education", "native_country", "workclass", "occupation",
)  # fmt: skip
_UNKNOWN = ("workclass", "occupation", "native_country")  # columns of Adult with missing values
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Released:
    """A method with its options."""

    algorithm: str
    options: Mapping[str, OptionValue] = field(default_factory=dict)


@dataclass(frozen=True)
class Figures:
    """Accuracy of gradient boosting, logistic regression and a tree, and the AUC of the first."""

    boosting: float
    logistic: float
    tree: float
    auc: float
    told: str = ""  # how the test rows were recoded
    classes: int = 0


def mean_of(found: Sequence[Figures]) -> Figures:
    boosting, logistic, tree, auc = (
        fmean(getattr(one, name) for one in found) for name in ("boosting", "logistic", "tree", "auc")
    )
    return Figures(boosting, logistic, tree, auc, found[0].told, round(fmean(one.classes for one in found)))


@dataclass(frozen=True)
class Trial:
    """Training rows in _TRAIN, test rows in _TEST."""

    engine: Engine
    quasi: tuple[str, ...]
    target: str

    def source(self, rows: Name, released: Released, k: int) -> tuple[Source, Policy]:
        roles = Roles(quasi=tuple(map(Word, self.quasi)), target=Word(self.target))
        policy = Policy(released.algorithm, (KAnonymity(k),), roles, options=released.options)
        infos = [info for info in self.engine.columns(rows) if info.name in (*self.quasi, self.target)]
        return resolve(rows, infos, policy, ("utility",)), policy

    def raw(self) -> Figures:
        return self._learn(_TRAIN, _TEST)

    def released(self, what: Released, k: int) -> Figures:
        """Learned from a release of the training rows, tested on the others in its words."""
        source, policy = self.source(_TRAIN, what, k)
        with self.engine.workspace():
            plan = method_named(what.algorithm).table(Job(self.engine, source, policy, {}))
            self.engine.create_table(_RELEASE, plan.wide(), temporary=True)
            self.engine.analyze(_RELEASE)
            if plan.recoding is not None:
                test = replace(source, relation=_TEST)
                recode_rows(self.engine, test, _RELEASE, _ASKED, recoding=plan.recoding, hierarchies={})
            else:
                relabel_rows(self.engine, _TEST, _RELEASE, _ASKED, columns=[*self.quasi, self.target])
        told = "relabelled" if plan.recoding is None else "recoded"
        return replace(self._learn(_RELEASE, _ASKED), told=told, classes=plan.classes)

    def model(self, what: Released, k: int) -> tuple[float, float]:
        """Accuracy and AUC of the model that a method publishes, on raw rows."""
        source, policy = self.source(_TRAIN, what, k)
        with self.engine.workspace():
            tree = method_named(what.algorithm).model(Job(self.engine, source, policy, {})).tree
            score = score_of_tree(self.engine, tree, _TEST)
        return float(score.accuracy), float(score.auc or 0)

    def majority(self) -> float:
        return float(majority_score(self.engine, _TRAIN, _TEST, self.target).accuracy)

    def _learn(self, train: Name, test: Name) -> Figures:
        infos = {info.name: info for info in self.engine.columns(_TRAIN)}
        seen, asked = (self._columns(relation) for relation in (train, test))
        return learn(seen, asked, [infos[name] for name in self.quasi], self.target)

    def _columns(self, relation: Name) -> dict[str, NDArray[Any]]:
        from sqlglot import exp

        from ppdm_sql.statements.names import aliased, column

        names = (*self.quasi, self.target)
        texts = [aliased(exp.cast(column(name), "TEXT"), name) for name in names]
        rows = self.engine.fetch(exp.Select(expressions=texts).from_(relation.table()))
        table = np.array(rows, dtype=object)
        return {name: table[:, place] for place, name in enumerate(names)}


# -- learning ----------------------------------------------------------------------------------------------


def learn(
    seen: Mapping[str, NDArray[Any]], asked: Mapping[str, NDArray[Any]], infos: Sequence[ColumnInfo], target: str
) -> Figures:
    from sklearn.ensemble import HistGradientBoostingClassifier  # type: ignore[import-untyped]
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
    from sklearn.metrics import roc_auc_score  # type: ignore[import-untyped]
    from sklearn.tree import DecisionTreeClassifier  # type: ignore[import-untyped]

    classes, truth = np.unique(seen[target].astype(str), return_inverse=True)
    place = {text: number for number, text in enumerate(classes.tolist())}
    tested = np.array([place.get(str(text), -1) for text in asked[target]])
    plain = [_as_numbers(info, seen[info.name], asked[info.name], truth) for info in infos]
    wide = [_as_columns(info, seen[info.name], asked[info.name], truth) for info in infos]
    plain = [one for one in plain if not np.isnan(one[0]).all()]  # a column that is suppressed throughout
    plain = plain or [(np.zeros(len(truth)), np.zeros(len(tested)))]
    x, other = (np.column_stack([one[side] for one in plain]) for side in (0, 1))
    flags, other_flags = (np.hstack([one[side] for one in wide]) for side in (0, 1))
    boosting = HistGradientBoostingClassifier(random_state=0, max_iter=100).fit(x, truth)
    tree = DecisionTreeClassifier(random_state=0, min_samples_leaf=25).fit(x, truth)
    logistic = LogisticRegression(max_iter=1000).fit(flags, truth)
    shares = boosting.predict_proba(other)
    known = tested >= 0
    area = (
        roc_auc_score(tested[known], shares[known, 1])
        if len(classes) == 2
        else _one_against_all(tested[known], shares[known])
    )
    right = [
        float((model.predict(rows) == tested).mean())
        for model, rows in ((boosting, other), (logistic, other_flags), (tree, other))
    ]
    return Figures(right[0], right[1], right[2], float(area))


def _one_against_all(truth: NDArray[Any], shares: Floats) -> float:
    """The mean over classes, weighted by their rows; classes that no test row has are left out."""
    from sklearn.metrics import roc_auc_score

    there = [number for number in range(shares.shape[1]) if 0 < (truth == number).sum() < len(truth)]
    weights = [(truth == number).sum() for number in there]
    return float(np.average([roc_auc_score(truth == number, shares[:, number]) for number in there], weights=weights))


def _middles(info: ColumnInfo, labels: Sequence[str | None]) -> Floats:
    """Per label the middle of its range, or its only end; NaN where it says nothing."""
    reader = LabelReader(info, labels=tuple(one for one in labels if one is not None))
    found = np.full(len(labels), np.nan)
    for place, label in enumerate(labels):
        extent = reader.read(label)
        text = reader.middle(extent) or reader.start(extent) or reader.end(extent)
        if text is not None:
            found[place] = float(text)
    return found


def _coded(values: NDArray[Any]) -> tuple[list[str | None], NDArray[np.int64]]:
    texts = np.array(["\0" if value is None else str(value) for value in values])
    labels, codes = np.unique(texts, return_inverse=True)
    return [None if one == "\0" else one for one in labels.tolist()], codes.astype(np.int64)


def _as_numbers(
    info: ColumnInfo, seen: NDArray[Any], asked: NDArray[Any], truth: NDArray[Any]
) -> tuple[Floats, Floats]:
    """One column each: middles of ranges; categories by how often they have the first class in the training rows."""
    (labels, codes), (others, other_codes) = _coded(seen), _coded(asked)
    if info.kind.is_ordered and info.kind.value != "text":
        return _middles(info, labels)[codes], _middles(info, others)[other_codes]
    share = (np.bincount(codes, weights=truth == 0) + (truth == 0).mean() * 10) / (np.bincount(codes) + 10)
    order = dict(zip(labels, share.tolist(), strict=True))
    return share[codes], np.array([order.get(one, np.nan) for one in others])[other_codes]


def _as_columns(
    info: ColumnInfo, seen: NDArray[Any], asked: NDArray[Any], truth: NDArray[Any]
) -> tuple[Floats, Floats]:
    """Numbers to mean 0 and deviation 1 with a flag for what is missing; one column per category."""
    (labels, codes), (others, other_codes) = _coded(seen), _coded(asked)
    if info.kind.is_ordered and info.kind.value != "text":
        both = (_middles(info, labels)[codes], _middles(info, others)[other_codes])
        known = both[0][~np.isnan(both[0])]
        mean, deviation = (known.mean(), known.std() or 1.0) if len(known) else (0.0, 1.0)
        scaled = [np.nan_to_num((one - mean) / deviation) for one in both]
        made = [np.column_stack([one, one**2, np.isnan(raw)]) for one, raw in zip(scaled, both, strict=True)]
        return made[0], made[1]
    place = {label: number for number, label in enumerate(labels)}
    flags = np.eye(len(labels))[codes]
    mapped = np.array([place.get(one, -1) for one in others])
    other = np.vstack([np.eye(len(labels)), np.zeros(len(labels))])[mapped][other_codes]
    return flags, other


# -- the tables --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PublicTable:
    name: str
    file: str
    target: str
    quasi: tuple[str, ...] = ()  # all others where none is named
    known: tuple[str, ...] = ()
    most: int | None = None


FIVE = (
    PublicTable("Adult", "adult_train.csv", "income", ADULT, _UNKNOWN, most=10_000),
    PublicTable("Nursery", "nursery.csv", "class", most=6_000),
    PublicTable("CMC", "cmc.csv", "contraceptive_method"),
    PublicTable("German credit", "german_credit.csv", "class"),
    PublicTable("Pima", "pima_diabetes.csv", "class"),
)


def trials(engine: Engine, folder: Path, one: PublicTable, repeats: int) -> Iterator[Trial]:
    """Halves of a table, each once the training rows; large tables are divided once."""
    columns = (*one.quasi, one.target) if one.quasi else ()
    names = load(engine, folder, (one.file,), _WHOLE, columns=columns, known=one.known, most=one.most)
    quasi = tuple(name for name in names if name != one.target)
    for repeat in range(1 if one.most else repeats):
        deal(engine, _WHOLE, _DEALT, parts=2, seed=_SEED, repeat=repeat)
        for part in range(2):
            train_and_test(engine, _DEALT, part, train=_TRAIN, test=_TEST, columns=[*names, ROW])
            yield Trial(engine, quasi, one.target)


def compare(
    engine: Engine,
    folder: Path,
    tables: Sequence[PublicTable],
    variants: Mapping[str, Callable[[Trial, int], Figures]],
    progress: Progress,
    *,
    sizes: Sequence[int] = (5, 10, 50, 100),
    repeats: int = _REPEATS,
    quick: bool,
) -> tuple[tuple[str, ...], ...]:
    """Per table and k the figures of every variant: boosting and AUC, the mean over the halves."""
    lines = []
    for one in tables:
        found: dict[tuple[int, str], list[Figures]] = {}
        raw, majority = [], []
        for trial in trials(engine, folder, one, 1 if quick else repeats):
            progress(one.name, 0, None)
            raw.append(trial.raw())
            majority.append(trial.majority())
            for k in sizes:
                for word, make in variants.items():
                    found.setdefault((k, word), []).append(make(trial, k))
        base = mean_of(raw)
        lines.append((one.name, "", "raw", *_cells(base), ""))
        lines.append((one.name, "", "majority class", f"{100 * fmean(majority):.1f}", "", "", ".500", ""))
        for (k, word), each in found.items():
            mean = mean_of(each)
            lines.append((one.name, str(k), word, *_cells(mean), str(mean.classes)))
    return tuple(lines)


def _cells(one: Figures) -> tuple[str, ...]:
    return (
        *(f"{100 * value:.1f}" for value in (one.boosting, one.logistic, one.tree)),
        f"{one.auc:.3f}".removeprefix("0"),
    )


_HEADS = ("boosting %", "logistic %", "tree %", "AUC")


def pooling(
    engine: Engine, folder: Path, progress: Progress, tables: Sequence[PublicTable], *, quick: bool
) -> PaperTable:
    variants = {
        word: lambda trial, k, pooled=pooled: trial.released(Released("kactus2", {"pool_non_complying": pooled}), k)
        for word, pooled in (("one branch after the other", False), ("pooled", True))
    }
    return PaperTable(
        "utility", "kactus2 with and without pool_non_complying",
        ("table", "k", "kactus2", *_HEADS, "classes"), compare(engine, folder, tables, variants, progress, quick=quick),
        (_HALVES,),
    )  # fmt: skip


_HALVES = (
    "Halves, each once released and once the test: Adult 10,000 and Nursery 6,000 rows once, the others twice. "
    "AUC is that of gradient boosting."
)


_ONCE = "Halves, each once released and once the test; Adult 10,000, Nursery 6,000 rows. AUC: gradient boosting."


def price(
    engine: Engine, folder: Path, progress: Progress, tables: Sequence[PublicTable], *, quick: bool
) -> PaperTable:
    def with_price(factor: float) -> Callable[[Trial, int], Figures]:
        def make(trial: Trial, k: int) -> Figures:
            with _split_price(factor):
                return trial.released(Released("mondrian"), k)

        return make

    variants = {f"{factor:g} x log2(rows)": with_price(factor) for factor in (0.0, 0.5, 1.0, 2.0)}
    return PaperTable(
        "utility", "mondrian by the price of a split", ("table", "k", "price of a part", *_HEADS, "classes"),
        compare(engine, folder, tables, variants, progress, sizes=(10, 50), repeats=1, quick=quick), (_ONCE,),
    )  # fmt: skip


@contextmanager
def _split_price(factor: float) -> Iterator[None]:
    """For a measurement only: what a split must gain, times a factor."""
    before = ClassEntropy.worth_telling
    ClassEntropy.worth_telling = lambda self, gain, children, rows: gain > factor * (children - 1) * np.log2(rows)  # type: ignore[method-assign]
    try:
        yield
    finally:
        ClassEntropy.worth_telling = before  # type: ignore[method-assign]


def adult(
    engine: Engine, folder: Path, progress: Progress, tables: Sequence[PublicTable], *, quick: bool
) -> PaperTable:
    columns, most = (*ADULT, "income"), 4000 if quick else None
    for file, into in (("adult_train.csv", _TRAIN), ("adult_test.csv", _TEST)):
        load(engine, folder, (file,), into, columns=columns, known=_UNKNOWN, most=most)
    trial = Trial(engine, ADULT, "income")
    lines = [("raw rows", "", *_cells(trial.raw()), "", "")]
    lines.append(("majority class", "", *[f"{100 * trial.majority():.1f}"] * 3, ".500", "", ""))
    for k in (10, 100):
        for name in ("mondrian", "kactus", "kactus2", "kadet", "tpp"):
            progress(f"{name}, k = {k}", 0, None)
            try:
                found = trial.released(Released(name), k)
            except PpdmError as error:
                lines.append((name, str(k), "", "", "", "", "refused", str(error)[:60]))
                continue
            lines.append((name, str(k), *_cells(found), found.told, str(found.classes)))
            if name == "kadet":
                right, area = trial.model(Released(name), k)
                shown = f"{area:.3f}".removeprefix("0")
                lines.append(("kadet, its model", str(k), "", "", f"{100 * right:.1f}", shown, "raw rows", ""))
    return PaperTable(
        "utility", "Adult, 8 quasi-identifiers, trained on the release, tested on the test part",
        ("learned from", "k", *_HEADS, "test rows", "classes"), tuple(lines),
        ("30,162 complete training rows are released; the 15,060 complete test rows are not. AUC: gradient boosting.",),
    )  # fmt: skip


_TABLES = {"adult": adult, "pooling": pooling, "price": price}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("table", type=click.Choice(list(_TABLES)))
@click.option("--data", envvar="PPDM_DATA", type=click.Path(file_okay=False), required=True, metavar="DIR")
@click.option("--only", type=click.Choice([one.name for one in FIVE]), multiple=True, help="Of five tables these.")
@click.option("--quick", is_flag=True, help="Fewer rows and repeats.")
@click.option("--markdown", is_flag=True, help="Print the table as docs/results.md shows it.")
def main(table: str, data: str, only: tuple[str, ...], quick: bool, markdown: bool) -> None:
    """Measure what a learner keeps that sees only a release, on rows that nobody published.

    \b
    $ python -m benchmarks.utility adult --data ~/public_tables
    """
    chosen = [one for one in FIVE if not only or one.name in only]
    try:
        with DuckDBEngine.open(":memory:") as engine, engine.workspace():
            found = _TABLES[table](engine, Path(data), print_steps(), chosen, quick=quick)
    except PpdmError as error:
        raise click.ClickException(str(error)) from error
    if markdown:
        click.echo(found.markdown())
    else:
        print_table(found)


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.utility")
