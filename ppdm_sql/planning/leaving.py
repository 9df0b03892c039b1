"""Which rows leave a growing release tonight: parts of cohorts that meet the requirements, as does what they leave.

A cohort is sealed: it stays as it is, or leaves as a whole, or is split into parts that each meet every requirement.
Otherwise the difference between two nights would say whose row it was.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlglot import exp

from ppdm_sql.catalog.growth import rows_name
from ppdm_sql.catalog.manifest import GrowthRecord
from ppdm_sql.cells.aggregate import aggregate
from ppdm_sql.cells.cells import Cells
from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.methods.base import CellJob
from ppdm_sql.methods.plan import PERSON
from ppdm_sql.methods.shared.columns import cell_axis
from ppdm_sql.methods.shared.limits import Secret, secret_of
from ppdm_sql.planning import joint
from ppdm_sql.planning.cohorts import COHORT, ROW
from ppdm_sql.planning.former_values import VERSION, every_version
from ppdm_sql.planning.row_changes import RowChanges
from ppdm_sql.policy.policy import Policy
from ppdm_sql.requirements import k_of_sets
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.lines import Ints
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.load import statement as sql_statement
from ppdm_sql.statements.names import Name, column

HOW = "ppdm_how"
STAYS, GONE, CHANGED, WHOLE = 0, 1, 2, 3


@dataclass(frozen=True)
class LeavingParts:
    """What leaves: rows (ppdm_row0, ppdm_row1, ppdm_how, ppdm_number), and the parts they are, by their numbers."""

    rows: Name
    numbers: Mapping[int, int]  # number of a part -> how it leaves
    first: int  # the first number that can be given
    touched: Name  # the rows that would leave, if all of them could
    touched_rows: int

    @property
    def parts(self) -> int:
        """How many numbers are used."""
        return max((number + 1 - self.first for number in self.numbers), default=0)

    @property
    def again(self) -> frozenset[int]:
        """The parts whose rows are to be published again."""
        return frozenset(number for number, how in self.numbers.items() if how == CHANGED)

    def count_rows(self, engine: Engine) -> int:
        """How many rows leave."""
        if not self.numbers:
            return 0
        number = column("ppdm_number")
        counted = exp.Select(expressions=[number, exp.Count(this=exp.Star())]).from_(self.rows.table())
        counts = engine.fetch(counted.group_by(number.copy()))
        return sum(int(rows) for part, rows in counts if int(part) in self.numbers)

    def only(self, again: Collection[int]) -> LeavingParts:
        """The same without changed rows that would not all be published again: they stay."""
        kept = {number: how for number, how in self.numbers.items() if how != CHANGED or number in again}
        return replace(self, numbers=kept)


def find_leaving(
    engine: Engine,
    policy: Policy,
    source: Source,
    hierarchies: Mapping[str, Hierarchy],
    changes: RowChanges,
    growth: GrowthRecord,
) -> LeavingParts:
    """Compares the rows that are out with the source, and decides who can leave."""
    grown = rows_name(growth.growth_id).table()
    tables = {"keyed": changes.keyed.table(), "missing": changes.missing.table()}
    touched = engine.work.table("touched", sql_statement("release/growing_touched", tables), analyze=True)
    number = int(engine.fetch_one(exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(touched.table()))[0])
    some = number > 0 and (policy.changes.gone, policy.changes.changed) != ("keep", "keep")
    in_parts = sql_statement("release/growing_parts", {"touched": touched.table(), "grown": grown})
    parts = engine.work.table("cohort_parts", in_parts if some else in_parts.limit(0))
    decided = _Decision(engine, policy, source, hierarchies, parts, growth).run() if some else []
    numbers = {growth.cohorts + place: how for place, (_, how) in enumerate(decided)}
    columns = {
        COHORT: np.array([cohort for cohort, _ in decided], dtype=np.int64),
        HOW: np.array([how for _, how in decided], dtype=np.int64),
        "ppdm_number": np.array([*numbers], dtype=np.int64),
    }
    loaded = engine.work.load("decided", columns)
    tables = {"parts": parts.table(), "decided": loaded.table()}
    rows = engine.work.table("leaving", sql_statement("release/growing_leaving", tables))
    return LeavingParts(rows, numbers, growth.cohorts, touched, number)


def count_still_touched(engine: Engine, leaving: LeavingParts, growth: GrowthRecord) -> dict[int, int]:
    """How many of the rows that stayed are gone from the source, and how many changed there."""
    tables = {"touched": leaving.touched.table(), "grown": rows_name(growth.growth_id).table()}
    return {int(how): int(rows) for how, rows in engine.fetch(sql_statement("release/growing_still_touched", tables))}


@dataclass(frozen=True)
class _Decision:
    """Which parts of which cohorts leave."""

    engine: Engine
    policy: Policy
    source: Source
    hierarchies: Mapping[str, Hierarchy]
    parts: Name
    growth: GrowthRecord

    def run(self) -> list[tuple[int, int]]:
        """(cohort, how) of every part that leaves."""
        changes = self.policy.changes
        sizes, values = self._sizes(), self._values()
        found: list[tuple[int, int]] = []
        for cohort, units in sorted(sizes.items()):
            there = [how for how in (STAYS, GONE, CHANGED) if any(where >> how & 1 for where in units)]
            if changes.gone == "withdraw" and GONE in there:
                found.append((cohort, WHOLE))
                continue
            if there == [GONE] and self._is_wanted(GONE):
                found.append((cohort, GONE))  # a whole cohort is divided by nobody
                continue
            wanted = [how for how in there if self._is_wanted(how)] if self._may_divide else []
            for choice in ([*wanted], *([one] for one in wanted)):
                rest = [how for how in there if how not in choice]
                groups = [*([how] for how in choice), *([rest] if rest else [])]
                if choice and all(self._is_large(units, group) and values.meets(cohort, group) for group in groups):
                    found += [(cohort, how) for how in choice]
                    break
        return found

    @property
    def _may_divide(self) -> bool:
        """What is compared with the whole release is, in a part, compared with that of every night it was out."""
        return not any(item.compares_with_table for item in self.policy.value_requirements)

    def _is_wanted(self, how: int) -> bool:
        changes = self.policy.changes
        return changes.gone == "together" if how == GONE else how == CHANGED and changes.changed == "again"

    def _is_large(self, units: Mapping[int, int], group: Sequence[int]) -> bool:
        mask = sum(1 << how for how in group)
        return sum(number for where, number in units.items() if where & mask) >= k_of_sets(self.policy.requirements)

    def _sizes(self) -> dict[int, dict[int, int]]:
        """Per cohort: how many persons or rows are in which of its parts, by the sum of 1 << how over them."""
        nobody = int(self.engine.fetch_one(exp.Select(expressions=[joint.nobody(self.engine)]))[0])
        of_persons = self.source.entity is not None
        unit = {"unit": [PERSON] if of_persons else [*ROW]}
        query = sql_statement("release/growing_part_sizes", {"parts": self.parts.table()}, unit)
        found: dict[int, dict[int, int]] = {}
        for cohort, where, units in self.engine.fetch(query, nobody=nobody if of_persons else -1):
            found.setdefault(int(cohort), {})[int(where)] = int(units)
        return found

    def _values(self) -> _PartValues:
        """The sensitive values of every part, with what is required of them."""
        numbers = {name: ColumnInfo(name, Kind.INTEGER, "BIGINT") for name in (COHORT, HOW, VERSION)}
        values = self.source.sensitive if self.policy.value_requirements else ()
        query = every_version(self.parts, self.growth, (COHORT, HOW), values)
        every = self.engine.work.table("versions", query)
        source = replace(self.source, relation=every, columns={**self.source.columns, **numbers}, entity=None, quasi=())
        bare = CellJob(Cells(every, {}, np.zeros(0, dtype=np.int64), None), source, self.policy, self.hierarchies)
        cells = aggregate(self.engine, source, (COHORT, HOW, VERSION, *bare.sensitive))
        secrets = tuple(secret_of(bare, cell_axis(cells, name), cells.total) for name in bare.sensitive)
        place = {int(str(value)): code for code, value in enumerate(cells[COHORT].values)}
        hows = np.array([int(str(value)) for value in cells[HOW].values], dtype=np.int64)[cells[HOW].codes]
        codes = tuple(cells[name].codes.astype(np.int64) for name in bare.sensitive)
        return _PartValues(
            secrets, place, cells[COHORT].codes.astype(np.int64), hows, cells[VERSION].codes.astype(np.int64), codes,
            cells.rows,
        )  # fmt: skip


@dataclass(frozen=True)
class _PartValues:
    """Cells of the parts of cohorts: their cohort, how they leave, and the code of each sensitive column."""

    secrets: tuple[Secret, ...]
    place: Mapping[int, int]  # cohort -> its code
    cohort: Ints
    how: Ints
    version: Ints  # which of the times that the rows were published
    codes: tuple[Ints, ...]
    rows: Ints

    def meets(self, cohort: int, group: Sequence[int]) -> bool:
        """Whether some parts of a cohort together meet what is required of the sensitive columns, in every version."""
        inside = np.flatnonzero((self.cohort == self.place[cohort]) & np.isin(self.how, group))
        return all(self._meet(inside[self.version[inside] == one]) for one in np.unique(self.version[inside]))

    def _meet(self, here: Ints) -> bool:
        for secret, code in zip(self.secrets, self.codes, strict=True):
            width = len(secret.reference) + 1
            counts = np.bincount(code[here], weights=self.rows[here], minlength=width).astype(np.int64)
            if not secret.holds(counts.reshape(1, -1))[0]:
                return False
        return True
