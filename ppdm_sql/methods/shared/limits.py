"""What every part must meet, decided from its counts alone: k, and each requirement on each sensitive column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ppdm_sql.checks.closeness import hierarchy_levels
from ppdm_sql.checks.histograms import parts_meet
from ppdm_sql.errors import RequirementBreached
from ppdm_sql.methods.base import Asked
from ppdm_sql.methods.mondrian.level_counts import Histogram, LevelCounts
from ppdm_sql.methods.shared.columns import Axis
from ppdm_sql.policy.words import many
from ppdm_sql.requirements import Requirement
from ppdm_sql.source.lines import Flags, Ints


@dataclass(frozen=True)
class Secret:
    """A sensitive column: what is required of it, and its distribution in the whole table by code."""

    name: str
    requirements: tuple[Requirement, ...]
    reference: Ints
    levels: Ints | None = None  # (level, code) -> label, for a distance along the column's hierarchy
    unknown: int = 0  # rows that are NULL where NULL does not count: its code is behind those of the reference

    def holds(self, counts: Ints, *, only: Requirement | None = None) -> Flags:
        """Per histogram, whether its known values meet every requirement, or one of them."""
        known = counts[:, : len(self.reference)]
        fine = np.ones(len(counts), dtype=bool)
        for requirement in self.requirements if only is None else (only,):
            left = np.flatnonzero(fine)
            fine[left] = parts_meet(requirement, known[left], self.reference, self.levels)
        return fine

    def of_part(self, histogram: Histogram, kept: Flags) -> Secret:
        """The same column, compared with the rows of some groups instead of the whole table."""
        inside = kept[histogram.cell]
        counts = np.zeros(histogram.width, dtype=np.int64)
        np.add.at(counts, histogram.value[inside], histogram.rows[inside])
        return replace(self, reference=counts[: len(self.reference)])


def secret_of(job: Asked, axis: Axis, rows: int) -> Secret:
    """A sensitive column; where a distance is left open it is settled by the column."""
    name = axis.info.name
    hierarchy = job.hierarchies.get(name)
    required = tuple(item.for_column(axis.info, has_hierarchy=hierarchy is not None) for item in job.value_requirements)
    totals, unknown = axis.rows, rows - int(axis.rows.sum())
    null_code = axis.null_code if name in job.source.nulls_as_value else None
    if null_code is not None:
        totals, unknown = np.append(totals, unknown), 0
    levels = None
    if hierarchy is not None:
        levels = hierarchy_levels(hierarchy, list(axis.raw), null_code)
    return Secret(name, required, totals, levels, unknown)


@dataclass(frozen=True)
class Demands:
    """k and the sensitive columns, in the order in which a tally has their histograms."""

    k: int
    secrets: tuple[Secret, ...] = ()

    def groups(self, tally: LevelCounts, group: Ints, number: int) -> Flags:
        """Per group of cells (rising, -1: none), whether it may be a part."""
        inside = group >= 0
        persons = np.bincount(group[inside], weights=tally.persons[inside], minlength=number)
        return np.asarray(persons >= self.k) & self.secret_groups(tally, group, number)

    def secret_groups(self, tally: LevelCounts, group: Ints, number: int) -> Flags:
        """The same without k."""
        fine = np.ones(number, dtype=bool)
        for secret, histogram in self._pairs(tally):
            for here, counts in histogram.grouped(group, number):
                fine[here] &= secret.holds(counts)
        return fine

    def cuts(self, tally: LevelCounts) -> Flags:
        """Per cell, whether a cut after it leaves k on both sides."""
        lower = tally.up_to(tally.persons)
        upper = np.repeat(tally.totals(tally.persons), tally.stops - tally.starts) - lower
        fine = (lower >= self.k) & (upper >= self.k)
        fine[tally.stops - 1] = False  # nothing is above it: with k = 0 nobody would notice
        return fine

    def secret_cuts(self, tally: LevelCounts, after: Ints) -> Flags:
        """Per cut after one of these cells, whether both sides meet what is required of the sensitive columns."""
        below, above = self._secret_sides(tally, after)
        return below & above

    def sides(self, tally: LevelCounts, after: Ints) -> tuple[Flags, Flags]:
        """Per cut after one of these cells, whether the side below may be a part, and the one above."""
        lower = tally.up_to(tally.persons)[after]
        upper = tally.totals(tally.persons)[tally.segment[after]] - lower
        below, above = self._secret_sides(tally, after)
        return below & (lower >= self.k), above & (upper >= self.k)

    def _secret_sides(self, tally: LevelCounts, after: Ints) -> tuple[Flags, Flags]:
        below, above = np.ones(len(after), dtype=bool), np.ones(len(after), dtype=bool)
        for secret, histogram in self._pairs(tally):
            for here, lower, upper in tally.sides(histogram, after):
                below[here] &= secret.holds(lower)
                above[here] &= secret.holds(upper)
        return below, above

    def _pairs(self, tally: LevelCounts) -> Sequence[tuple[Secret, Histogram]]:
        return list(zip(self.secrets, tally.secrets, strict=True))

    def check_whole(self, rows: int, persons: int, of_persons: bool) -> None:
        """Refuses a table that, taken as one part, already breaks a requirement: no partition could mend it."""
        if rows == 0:
            raise RequirementBreached("the source query returned no rows; nothing to publish")
        if persons < self.k:
            what = f"{many(persons, 'person')} (in {many(rows, 'row')})" if of_persons else many(rows, "row")
            raise RequirementBreached(
                f"k = {self.k} cannot be met: the whole table has {what}; ask for a smaller k or publish more rows"
            )
        for secret in self.secrets:
            whole = secret.reference.reshape(1, -1)
            for requirement in secret.requirements:
                if not secret.holds(whole, only=requirement)[0]:
                    raise RequirementBreached(_unreachable(secret, requirement))


def _unreachable(secret: Secret, requirement: Requirement) -> str:
    """Why no partition meets a requirement, and what to do."""
    cannot = f'{requirement} on "{secret.name}" cannot be met: '
    known = int(secret.reference.sum())
    if known == 0:
        return f"{cannot}the column is NULL in {many(secret.unknown, 'row')} and has no known value; leave it out"
    counts = sorted((int(count) for count in secret.reference if count), reverse=True)
    reached = requirement.achieved_text(requirement.figure(counts))
    if not secret.unknown:
        return f"{cannot}the whole table, taken as one class, has {reached}; ask for less, or leave the column out"
    return (
        f"{cannot}the {many(known, 'known value')} of the whole table, taken as one class, "
        f"{'has' if known == 1 else 'have'} {reached}; {many(secret.unknown, 'NULL')} "
        f"{'does' if secret.unknown == 1 else 'do'} not count. Ask for less, leave the column out, or add NULLS AS "
        "VALUE to it if NULL means that there is nothing to hide"
    )
