"""What a published column no longer says, measured on the release and on the rows it was made from.

    loss of a cell    the share of the column's other values that its label leaves open: (values it may stand for - 1) /
                      (distinct values - 1); 0 for the value itself, 1 where it is suppressed
    loss of a column  the mean over its rows

An interval is measured by the distinct values it covers and not by its width: `< 30` has no width, and a wide interval
that nobody's value lies in loses nothing.  Numbers that were moved (their column is still one of numbers) have no
labels to read: the k-th of the released ones stands for the values around the k-th of the source, and `moved` is their
mean distance over the range of the column.  No row of a release can be linked to its source, so all of this is read
from columns: distinct values and their counts leave the database, never rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.planning.displacement import displacement_of
from ppdm_sql.planning.histograms import PrintedCounts, histograms_of, raw_histograms
from ppdm_sql.planning.label_coverage import Values, label_of, loss_of_cell, never_named
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.statements.rowtext import row_text


@dataclass(frozen=True)
class ColumnLoss:
    """One published column.  generalization: 0 as it was .. 1 suppressed; changed: some value was not there before."""

    column: str
    suppressed_cells: int
    generalization: Fraction
    distinct_before: int
    distinct_after: int
    changed: bool
    moved: Fraction | None = None  # of numbers that are still numbers: their mean distance over the range
    unread: int = 0  # cells whose label cannot be read; they count as suppressed in `generalization`


@dataclass(frozen=True)
class ColumnMeasure:
    """A release and the rows it was made from, compared column by column; quasi: the columns that may have changed.

    labels: of the quasi-identifiers of the release, their texts with their rows, where these are known already.
    """

    engine: Engine
    raw: Name
    released: Name
    quasi: Sequence[str]
    labels: Mapping[str, Mapping[str | None, int]] | None = None

    @cached_property
    def _held(self) -> Mapping[str, PrintedCounts]:
        """Of the raw rows; plans that share them share it."""
        infos = self._infos(self.raw)
        about = ("histograms", tuple(self.quasi))
        return self.engine.work.once(self.raw, about, lambda: raw_histograms(self.engine, self.raw, infos))

    @cached_property
    def _shown(self) -> Mapping[str, PrintedCounts]:
        if self.labels is not None and set(self.quasi) <= self.labels.keys():
            return {name: PrintedCounts.of_texts(self.labels[name]) for name in self.quasi}
        return histograms_of(self.engine, self.released, self._infos(self.released), repeats=True)

    def _infos(self, relation: Name) -> list[ColumnInfo]:
        infos = {info.name: info for info in self.engine.columns(relation)}
        return [infos[name] for name in self.quasi]

    def unchanged_loss(self, before: ColumnInfo, after: ColumnInfo) -> ColumnLoss:
        """A column that nothing was done to."""
        was, now, new = self._distinct(before.name)
        return ColumnLoss(before.name, 0, Fraction(0), was, now, bool(new))

    def loss(
        self, before: ColumnInfo, after: ColumnInfo, hierarchy: Hierarchy | None, order: Sequence[str] = ()
    ) -> ColumnLoss:
        """What was lost of a quasi-identifier; order: the one its policy declares for texts."""
        raw, released = self._held[before.name], self._shown[before.name]
        was, now = len(raw.printed), len(released.printed)
        if not released.more_than(raw):  # every released value was there at least as often
            return ColumnLoss(before.name, 0, Fraction(0), was, now, False)
        held, shown = raw.values, released.values
        nulls = _suppressing_nulls(held, shown)
        if after.kind is not Kind.TEXT and before.kind.is_ordered:
            return self._numbers(before, held, shown, nulls, (was, now))
        known = (value for value in held if value is not None)
        values = Values.of(before, known, has_null=None in held, hierarchy=hierarchy, order=order)
        return self._labels(values, shown, nulls, (was, now))

    def _labels(self, values: Values, shown: Mapping[object, int], nulls: int, distinct: tuple[int, int]) -> ColumnLoss:
        texts = {
            label if isinstance(label, str) else label_of(label, values.info): rows
            for label, rows in shown.items()
            if label is not None
        }
        read = {label: values.read_label(label) for label in texts}
        hidden = never_named(list(read.values()), values)
        total = sum(shown.values())
        lost = Fraction(nulls)
        suppressed, unread = nulls, 0
        for label, rows in texts.items():
            covered = read[label]
            lost += rows * loss_of_cell(covered, values, hidden)
            suppressed += rows if covered is not None and covered.suppressed else 0
            unread += rows if covered is None else 0
        return ColumnLoss(values.info.name, suppressed, lost / max(total, 1), *distinct, True, unread=unread)

    def _numbers(
        self,
        info: ColumnInfo,
        held: Mapping[object, int],
        shown: Mapping[object, int],
        nulls: int,
        distinct: tuple[int, int],
    ) -> ColumnLoss:
        found = displacement_of(info, held, shown)
        total = max(sum(shown.values()), 1)
        known = total - shown.get(None, 0)
        lost = nulls + found.open_share * known
        return ColumnLoss(info.name, nulls, lost / total, *distinct, True, moved=found.moved)

    # -- counting ----------------------------------------------------------------------------------

    def _distinct(self, name: str) -> tuple[int, int, int]:
        """Distinct values before and after, and how many came or came to be more; NULL is a value."""
        sides = {}
        for stand_in, relation in (("before", self.raw), ("after", self.released)):
            text = aliased(row_text(self.engine, [column(name)]), "ppdm_text")
            query = exp.Select(expressions=[text]).from_(relation.table())
            sides[stand_in] = exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(stand_in)))
        was, now, new = self.engine.fetch_one(statement("release/new_values", sides))
        return int(was), int(now), int(new)


def _suppressing_nulls(held: Mapping[object, int], shown: Mapping[object, int]) -> int:
    """How many NULLs of a release are suppressed cells.

    A method that suppresses by NULL prints missing values otherwise, as (missing); any other one keeps them as NULLs.
    So NULLs are suppressed cells when there are more than there were, or when missing values are printed.
    """
    nulls = shown.get(None, 0)
    printed = any(isinstance(label, str) and label not in held and label.strip("()") == "missing" for label in shown)
    return nulls if printed or nulls > held.get(None, 0) else 0
