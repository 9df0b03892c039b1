"""The tables of Tian et al. from what was measured: means over the parts, and what the paper states next to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from statistics import fmean, stdev

from benchmarks.papers.tables import PaperTable

PAPER = "000"
_COUNTED = ("leaves", "classes")
_FEW = 3  # parts; of fewer no error is shown


@dataclass
class Figures:
    """What was measured, by a row's key and a column's name, one value per part in the order of the parts."""

    found: dict[tuple[str, ...], dict[str, list[float | None]]] = field(default_factory=dict)

    def add(self, key: tuple[str, ...], name: str, value: float | None) -> None:
        self.found.setdefault(key, {}).setdefault(name, []).append(value)

    def lines(self, columns: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        return tuple(
            (*key, *(_cell(values.get(name, ()), name) for name in columns)) for key, values in self.found.items()
        )

    def lead(self, one: str, other: str) -> None:
        """Adds a column: by how much one is ahead of the other, part by part."""
        for values in self.found.values():
            pairs = zip(values.get(one, ()), values.get(other, ()), strict=True)
            values[f"{one} - {other}"] = [a - b if a is not None and b is not None else None for a, b in pairs]


def _cell(values: Sequence[float | None], name: str) -> str:
    """The mean with its standard error; of a column of leaves or classes a whole number, of all others a percentage."""
    known = [value for value in values if value is not None]
    if not known:
        return "none" if values else ""
    mean = fmean(known)
    if name.endswith(_COUNTED):
        told = f"{mean:,.0f}"
    else:
        told = f"{100 * mean:+.1f}" if " - " in name else f"{100 * mean:.1f}"
        if len(known) >= _FEW:
            told += f" ± {100 * stdev(known) / sqrt(len(known)):.1f}"
    return told if len(known) == len(values) else f"{told} ({len(known)} of {len(values)})"


def percentages(columns: Sequence[str]) -> tuple[str, ...]:
    """Titles of columns: all but counts are percentages."""
    return tuple(name if name.endswith(_COUNTED) else f"{name} %" for name in columns)


def sources_tables(figures: Figures, times: int, used: Sequence[str]) -> list[PaperTable]:
    """Accuracy, and likeness to the base tree, by the number of sources."""
    more = f"x{times}"
    made = ("PGEN", "PGEN counts", "BASEGEN", f"PGEN {more}", f"PGEN counts {more}", f"BASEGEN {more}")
    leads = ((f"PGEN {more}", "BAGGING"), (f"PGEN {more}", f"BASEGEN {more}"))
    for one, other in leads:
        figures.lead(one, other)
    accuracy = ("BASIS", "BAGGING", *made, *(f"{one} - {other}" for one, other in leads), "local leaves")
    match = ("match BAGGING", *(f"match {name}" for name in made), "paths PGEN")
    head = ("data", "leaf", "sources")
    legend = (
        "leaf: rows of a leaf of every tree at least. BASIS is the tree of all training rows. With one source the "
        "published tree is the result, whatever the method.",
        f"{more}: so many pseudo-rows for every row learned from, and leaves of so many times the rows; without it as "
        "many pseudo-rows as rows, as in the paper. counts: the classes of a leaf's rows as counted there, which "
        "the paper's labels do not tell and our model files do.",
        "Numbers are drawn between the ends of the whole table, as if these were declared. ±: standard error over the "
        "parts.",
    )
    return [
        PaperTable(
            PAPER,
            "Pseudo-data from unpruned local trees: accuracy by the number of sources",
            (*head, *percentages(accuracy)),
            figures.lines(accuracy),
            (
                *legend,
                "The paper (figure 10; no numbers): for two sources and more PGEN lies above BASEGEN and BAGGING, "
                "BASIS above all, and all fall with the sources.",
                *used,
            ),
        ),
        PaperTable(
            PAPER,
            "Pseudo-data from unpruned local trees: likeness to the tree of all rows",
            (*head, *percentages(match)),
            figures.lines(match),
            (
                "match: test rows classified as BASIS does; paths: ways to leaves shared with BASIS.",
                "The paper (figures 12, 13; no numbers): class match as accuracy, PGEN above BASEGEN and BAGGING; less "
                "than 32 % of paths are shared, often less than 1 %.",
                *used,
            ),
        ),
    ]


def others_table(figures: Figures, used: Sequence[str]) -> PaperTable:
    columns = ["BAGGING"]
    for learner in ("tree", "bayes", "rules"):
        columns += [f"{learner} {way}" for way in ("BASIS", "PGEN", "BASEGEN")]
    return PaperTable(
        PAPER,
        "Global trees, naive Bayes and conjunctive rules from pseudo-rows: accuracy",
        ("data", "sources", *percentages(columns)),
        figures.lines(columns),
        (
            "BASIS: learned from all training rows. The local models are trees with fine leaves (the smaller size).",
            "The paper (figures 10b, 11; no numbers): PGEN above BASEGEN with naive Bayes, too; from PGEN trees are "
            "better than rules and naive Bayes.",
            *used,
        ),
    )


def requirements_table(figures: Figures, many: int, used: Sequence[str]) -> PaperTable:
    columns = (
        "ATP", "LDM", "match ATP", "match LDM", "paths ATP", "paths LDM", "ATP leaves", "LDM leaves", "CM ATP",
        "CM LDM", "ATP-PGEN", "LDM-PGEN", "ATP-PGEN bayes", "LDM-PGEN bayes", "CM ATP-PGEN", "CM LDM-PGEN",
    )  # fmt: skip
    return PaperTable(
        PAPER,
        f"Anonymized trees by requirement: one source's tree, and the global model of {many} sources",
        ("data", "requirement", *percentages(columns)),
        figures.lines(columns),
        (
            f"ATP, LDM: the published tree of one source, exact counts; -PGEN: learned from pseudo-rows of {many} "
            "sources' trees; a source that finds no tree takes no part. none: no tree of two leaves or more. All trees "
            "have coarse leaves (the larger size).",
            "CM, the classification metric: the share of pseudo-rows that are not of the class most rows of their leaf "
            "have.",
            "The paper (figures 14 to 16; no numbers but these): ATP slightly above LDM, about 10 % on Nursery for "
            "(c, l) with one source and 15 % with ten; less penalty, too; LDM finds none for simple_l = 10 on Adult.",
            "No tree that meets simple_l = l is more than 1/l accurate on its training rows. Adult meets it up to 7, "
            "Nursery up to 3: above that nothing can be published, whatever the method.",
            "Not repeated here: the five passes per part.",
            *used,
        ),
    )
