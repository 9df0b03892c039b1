"""Accuracy on rows that nobody published, of full-domain recoding with the classification metric.

    python -m benchmarks.full_domain_utility --data FOLDER --hierarchies FOLDER

The 30,162 complete training rows of Adult are released with eight quasi-identifiers by ALGORITHM incognito (quality =
classification); the 15,060 complete test rows are recoded by the rules of the release.  To scikit-learn's decision tree
every label is a category.  ARX's table is of folds inside a release of all rows.  A row that is left out costs as much
as one that is misclassified (Iyengar's metric), or half of it, as in ARX, to which ties are wrong besides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import click

from benchmarks.papers.__main__ import print_steps, print_table
from benchmarks.papers.data import load
from benchmarks.papers.tables import PaperTable
from benchmarks.utility import ADULT, Figures, Released, Trial, learn
from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.evaluate.recode import recode_rows
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.registry import method_named
from ppdm_sql.policy.policy import HierarchyFile, OptionValue
from ppdm_sql.source.hierarchy import Hierarchy, load_hierarchy
from ppdm_sql.statements.names import Name, own
from ppdm_sql.watching import Progress

_TRAIN, _TEST = own("ppdm_utility_train"), own("ppdm_utility_test")
_RELEASE, _ASKED = own("ppdm_utility_release"), own("ppdm_utility_asked")
_KNOWN = ("workclass", "occupation", "native_country")
ARX = {5: 82.5, 10: 82.0, 50: 81.5, 100: 81.5, 200: 81.2}
# Iyengar's metric, and ARX's.
METRICS: Mapping[str, Mapping[str, OptionValue]] = {
    "Iyengar": {},
    "ARX": {"left_out_cost": Fraction(1, 2), "ties": "wrong"},
}
SETTINGS = ((Fraction(0), "Iyengar"), (Fraction(5, 100), "Iyengar"), (Fraction(5, 100), "ARX"))


@dataclass(frozen=True)
class Recoded(Trial):
    """Training rows released with hierarchies, test rows recoded by the release's rules."""

    hierarchies: Mapping[str, Hierarchy]

    def at(self, k: int, limit: Fraction, metric: str) -> tuple[Figures, int]:
        """What is learned from a release, and how many rows it leaves out."""
        what = Released("incognito", {"quality": "classification", **METRICS[metric]})
        source, policy = self.source(_TRAIN, what, k)
        with self.engine.workspace():
            job = Job(self.engine, source, replace(policy, suppress=limit), self.hierarchies)
            plan = method_named(what.algorithm).table(job)
            self.engine.create_table(_RELEASE, plan.wide(), temporary=True)
            self.engine.analyze(_RELEASE)
            assert plan.recoding is not None
            test = replace(source, relation=_TEST)
            recode_rows(self.engine, test, _RELEASE, _ASKED, recoding=plan.recoding, hierarchies=self.hierarchies)
        return replace(self._learn(_RELEASE, _ASKED), classes=plan.classes), plan.choices[0].suppressed_rows

    def _learn(self, train: Name, test: Name) -> Figures:
        infos = {info.name: replace(info, kind=Kind.TEXT) for info in self.engine.columns(_TRAIN)}
        seen, asked = (self._columns(relation) for relation in (train, test))
        return learn(seen, asked, [infos[name] for name in self.quasi], self.target)


def compare(engine: Engine, data: Path, hierarchies: Path, progress: Progress, sizes: Sequence[int]) -> PaperTable:
    """One row per k and limit, with ARX's figure."""
    for file, into in (("adult_train.csv", _TRAIN), ("adult_test.csv", _TEST)):
        load(engine, data, (file,), into, columns=(*ADULT, "income"), known=_KNOWN)
    trial = Recoded(engine, ADULT, "income", _hierarchies(engine, hierarchies))
    lines = [("original rows", "", "", f"{100 * trial.raw().tree:.2f}", "82.1", "", "")]
    for k in sizes:
        for limit, metric in SETTINGS:
            progress(f"k = {k}, limit {float(limit):.0%}, metric of {metric}", 0, None)
            found, gone = trial.at(k, limit, metric)
            percent = f"{100 * found.tree:.2f}"
            lines.append((str(k), f"{100 * limit} %", metric, percent, str(ARX[k]), str(gone), str(found.classes)))
    return PaperTable(
        "utility",
        "Adult, full-domain recoding with the classification metric: a decision tree on test rows",
        ("k", "SUPPRESS AT MOST", "metric", "tree %", "ARX %", "rows left out", "classes"),
        tuple(lines),
        (
            "30,162 complete training rows released, ARX's own hierarchies; 15,060 complete test rows, recoded.",
            "ARX's figures are of folds inside a release of all rows, with another tree.",
        ),
    )


def _hierarchies(engine: Engine, folder: Path) -> dict[str, Hierarchy]:
    from sqlglot import exp

    from ppdm_sql.statements.names import column

    found = {}
    infos = {info.name: info for info in engine.columns(_TRAIN)}
    for name in ADULT:
        both = exp.union(*(exp.Select(expressions=[column(name)]).from_(one.table()) for one in (_TRAIN, _TEST)))
        found[name] = load_hierarchy(
            HierarchyFile(f"{name}.csv"), column=name, kind=infos[name].kind,
            values=[row[0] for row in engine.fetch(both)], engine=engine, folder=folder,
        )  # fmt: skip
    return found


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--data", type=click.Path(file_okay=False, path_type=Path), required=True, metavar="DIR")
@click.option("--hierarchies", type=click.Path(file_okay=False, path_type=Path), required=True, metavar="DIR")
@click.option("--k", "sizes", type=click.Choice(list(map(str, ARX))), multiple=True, help="Of ARX's table these.")
@click.option("--markdown", is_flag=True, help="Print the table as docs/results.md shows it.")
def main(data: Path, hierarchies: Path, sizes: tuple[str, ...], markdown: bool) -> None:
    """Measure full-domain recoding by the accuracy of a decision tree on rows that are in no release."""
    with DuckDBEngine.open(":memory:") as engine, engine.workspace():
        found = compare(engine, data, hierarchies, print_steps(), tuple(map(int, sizes)) or tuple(ARX))
    if markdown:
        click.echo(found.markdown())
    else:
        print_table(found)


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.full_domain_utility")
