"""Requirements that all classes of a table meet together, decided from what a plan would publish, before it does.

TABLE_TESTS has one test per requirement that is of_table: given the classes of a plan, whether it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ppdm_sql.checks.exact_compare import Integers
from ppdm_sql.checks.population import population_risk
from ppdm_sql.checks.size import Sizes
from ppdm_sql.requirements import AverageRisk, DeltaPresence, EveryAnonymity, HookTable, MapAnonymity, UniqueShare
from ppdm_sql.requirements.table_risk import rounded_estimate
from ppdm_sql.source.lines import Flags


@dataclass(frozen=True)
class TableClasses:
    """The classes of a plan: what k counts in each, and per quasi-identifier a number that stands for its label."""

    units: Integers
    labels: Mapping[str, Integers]
    people: Integers | None = None  # per class how many people of a population have its labels
    others: int = 0  # labels of that population which no class has

    @property
    def sizes(self) -> Sizes:
        units, classes = np.unique(self.units, return_counts=True)
        return Sizes(units, units, classes.astype(np.int64))


TableTest = Callable[[Any, TableClasses], bool]
TABLE_TESTS: HookTable[TableTest] = HookTable("decided from all classes of a plan")


def average_of(sizes: Sizes) -> Fraction | None:
    """The mean of 1 / size over what is counted: classes / units; None where nothing is."""
    units = int((sizes.units * sizes.classes).sum())
    if not sizes.total_classes:
        return None
    return Fraction(sizes.total_classes, units) if units else Fraction(1)


def unique_of(sizes: Sizes, fraction: Fraction | None) -> Fraction | None:
    """The share that is alone in its class, or by estimate in the population."""
    if not sizes.total_classes:
        return None
    if fraction is not None:
        found = population_risk(sizes, fraction)
        return None if found is None else rounded_estimate(found.unique_share)
    units = int((np.maximum(sizes.units, 1) * sizes.classes).sum())
    return Fraction(int(sizes.classes[sizes.units <= 1].sum()), units)


def _average_low_enough(asked: AverageRisk, table: TableClasses) -> bool:
    found = average_of(table.sizes)
    return found is not None and found <= asked.limit


def _few_unique(asked: UniqueShare, table: TableClasses) -> bool:
    """Of an estimate a thousandth less is asked, because the judge makes another one."""
    found = unique_of(table.sizes, asked.fraction)
    return found is not None and found <= asked.limit * (1 if asked.fraction is None else Fraction(999, 1000))


def _every_set_large_enough(asked: EveryAnonymity, table: TableClasses) -> bool:
    return all(bool((of_set >= asked.k).all()) for of_set, _ in _sets(asked, table))


def _sets(asked: EveryAnonymity, table: TableClasses) -> list[tuple[Integers, Integers]]:
    """Per set of columns the sizes of its classes, and per class of the plan which of these it is in."""
    return [_joined(table, names) for names in asked.sets(table.labels)]


def _joined(table: TableClasses, names: tuple[str, ...]) -> tuple[Integers, Integers]:
    number = np.zeros(len(table.units), dtype=np.int64)
    for name in names:
        codes = table.labels[name]
        _, number = np.unique(number * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
    return np.bincount(number, weights=table.units).astype(np.int64), number


def kept_by_every(asked: EveryAnonymity, table: TableClasses) -> Flags:
    """The largest part of the classes that meets it: classes that fail in some set go, until none does."""
    kept = np.ones(len(table.units), dtype=bool)
    while True:
        here = TableClasses(table.units[kept], {name: codes[kept] for name, codes in table.labels.items()})
        failing = np.zeros(len(here.units), dtype=bool)
        for sizes, number in _sets(asked, here):
            failing |= (sizes < asked.k)[number]
        if not failing.any():
            return kept
        kept[np.flatnonzero(kept)[failing]] = False


def _mapped_by_enough(asked: MapAnonymity, table: TableClasses) -> bool:
    return table.people is not None and bool((table.people >= asked.k).all())


def _present_in_part(asked: DeltaPresence, table: TableClasses) -> bool:
    if table.people is None or (table.others and asked.least > 0):
        return False
    least, most = asked.least, asked.most
    return all(
        people * least.numerator <= units * least.denominator and units * most.denominator <= people * most.numerator
        for units, people in zip(table.units.tolist(), table.people.tolist(), strict=True)
    )


TABLE_TESTS.add(MapAnonymity, _mapped_by_enough)
TABLE_TESTS.add(DeltaPresence, _present_in_part)
TABLE_TESTS.add(AverageRisk, _average_low_enough)
TABLE_TESTS.add(UniqueShare, _few_unique)
TABLE_TESTS.add(EveryAnonymity, _every_set_large_enough)
