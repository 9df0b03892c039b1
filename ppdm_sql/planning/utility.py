"""What a release is still good for: how much each quasi-identifier lost, and how many classes are left.

    loss        of a column: the share of its other values that a label leaves open (planning/column_loss.py), averaged
                over the rows of the source; a row that was left out counts 1.  In all: the mean over the columns, each
                counted as often as its WEIGHT says
    suppressed  the rows in which the column says nothing
    labels      how many different values the column has in the release

Measured on what is stored, the same way for every method.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ppdm_sql.catalog.manifest import ColumnUtilityRecord, FindingRecord, UtilityRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import RequirementBreached
from ppdm_sql.planning.column_loss import ColumnLoss, ColumnMeasure
from ppdm_sql.policy.policy import Tuning
from ppdm_sql.policy.words import many
from ppdm_sql.requirements.base import rounded_text
from ppdm_sql.requirements.declared import decimal
from ppdm_sql.requirements.loss import LossLimit
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import Name


@dataclass(frozen=True)
class ColumnUtility:
    """One quasi-identifier; suppressed: the published rows in which it says nothing."""

    column: str
    loss: Fraction
    suppressed: int
    labels: int
    weight: Fraction = Fraction(1)


@dataclass(frozen=True)
class Utility:
    """A release next to its source; rows: of the source, published: of the release."""

    rows: int
    published: int
    classes: int
    columns: tuple[ColumnUtility, ...]

    @property
    def loss(self) -> Fraction:
        """The mean over the quasi-identifiers, each by its weight."""
        weights = sum((one.weight for one in self.columns), Fraction(0))
        return sum((one.loss * one.weight for one in self.columns), Fraction(0)) / (weights or 1)

    def loss_of(self, column: str | None) -> Fraction:
        """The loss of a column, or of all of them for None."""
        return self.loss if column is None else next(one.loss for one in self.columns if one.column == column)

    def findings(self, limits: Sequence[LossLimit]) -> tuple[FindingRecord, ...]:
        """What was required of the loss, and what was achieved; decided in exact fractions."""
        found = []
        for limit in limits:
            column = None if limit.column is None else self._named(limit.column.text)
            loss = self.loss_of(column)
            found.append(FindingRecord(str(limit), column, rounded_text(loss, up=True), loss <= limit.limit, 0, 0))
        return tuple(found)

    def _named(self, text: str) -> str:
        """The quasi-identifier of this name: exactly, or without regard to case."""
        names = [one.column for one in self.columns]
        return text if text in names else next(name for name in names if name.casefold() == text.casefold())

    def to_record(self, limits: Sequence[LossLimit] = ()) -> UtilityRecord:
        """What a manifest says of it; limits: what was required."""
        return UtilityRecord(
            loss=loss_text(self.loss),
            left_out=self.rows - self.published,
            average_class_size=f"{self.published / max(self.classes, 1):.1f}",
            columns=tuple(
                ColumnUtilityRecord(one.column, loss_text(one.loss), one.suppressed, one.labels, decimal(one.weight))
                for one in self.columns
            ),
            required=self.findings(limits),
        )


def utility_of(
    engine: Engine,
    source: Source,
    released: Name,
    hierarchies: Mapping[str, Hierarchy],
    *,
    rows: int,
    published: int,
    classes: int,
    labels: Mapping[str, Mapping[str | None, int]] | None = None,
) -> Utility:
    """Measures the quasi-identifiers of a release; rows: of the source, published and classes: of the release.

    labels: as in ColumnMeasure.
    """
    before = {info.name: info for info in engine.columns(source.relation)}
    after = {info.name: info for info in engine.columns(released)}
    measure = ColumnMeasure(engine, source.relation, released, source.quasi, labels)
    columns = []
    for name in source.quasi:
        order = source.tunings[name].order if name in source.tunings else ()
        columns.append(measure.loss(before[name], after[name], hierarchies.get(name), order))
    return utility_from(columns, source.tunings, rows=rows, published=published, classes=classes)


def utility_from(
    columns: Iterable[ColumnLoss], tunings: Mapping[str, Tuning], *, rows: int, published: int, classes: int
) -> Utility:
    """The same from quasi-identifiers that were measured already; rows that were left out count 1."""

    def averaged(found: ColumnLoss) -> Fraction:
        return (found.generalization * published + (rows - published)) / max(rows, 1)

    def measured(found: ColumnLoss) -> ColumnUtility:
        weight = tunings.get(found.column, Tuning()).weight
        return ColumnUtility(found.column, averaged(found), found.suppressed_cells, found.distinct_after, weight)

    return Utility(rows, published, classes, tuple(map(measured, columns)))


def refuse_loss(name: str, found: UtilityRecord) -> None:
    """Refuses a release that loses more than its statement allows."""
    broken = [one for one in found.required if not one.holds]
    if broken:
        told = "; ".join(f"{one.requirement} is required, but the loss is {one.achieved}" for one in broken)
        raise RequirementBreached(
            f"{name}: {told}; nothing was published.  Fewer quasi-identifiers, another HIERARCHY or a smaller k lose "
            "less"
        )


# -- words -------------------------------------------------------------------------------------------------


def loss_text(loss: Fraction) -> str:
    """A loss with four digits; one that is not quite 0 or 1 does not read as if it were.

    >>> [loss_text(Fraction(part, 10**6)) for part in (0, 1, 333333, 999999, 10**6)]
    ['0', '0.0001', '0.3333', '0.9999', '1']
    """
    if loss in (0, 1):
        return str(loss)
    return f"{min(max(float(loss), 0.0001), 0.9999):.4f}"


def utility_warnings(found: UtilityRecord | None, rows: int, classes: int) -> list[str]:
    """What a person should know before the release is used; rows, classes: of the release.

    >>> column = ColumnUtilityRecord("ward", "0.83", 9, 2)
    >>> utility_warnings(UtilityRecord("0.83", 0, "12.0", (column,)), 12, 1)  # doctest: +NORMALIZE_WHITESPACE
    ['Column "ward" is suppressed in 9 of 12 rows (75 %). Fewer quasi-identifiers, another HIERARCHY or a smaller k can
    keep more of it.', 'The release is a single equivalence class: every row has the same value of "ward".']
    """
    if found is None or not rows:
        return []
    warnings = [
        f'Column "{one.column}" is suppressed in {one.suppressed_rows:,} of {many(rows, "row")} '
        f"({_percent(one.suppressed_rows, rows)}). Fewer quasi-identifiers, another HIERARCHY or a smaller k can keep "
        "more of it."
        for one in found.columns
        if 2 * one.suppressed_rows > rows
    ]
    if classes == 1:
        listed = ", ".join(f'"{one.column}"' for one in found.columns)
        warnings.append(f"The release is a single equivalence class: every row has the same value of {listed}.")
    return warnings


def utility_table(found: UtilityRecord, rows: int) -> list[tuple[str, ...]]:
    """A head, and a line per quasi-identifier; with the weights where there are any."""
    weighed = any(one.weight != "1" for one in found.columns)
    return [
        ("quasi-identifier", "loss", "suppressed", "labels", *(["weight"] if weighed else [])),
        *(
            (one.column, one.loss, _percent(one.suppressed_rows, rows), f"{one.labels:,}", *([one.weight] * weighed))
            for one in found.columns
        ),
    ]


def utility_text(found: UtilityRecord) -> str:
    """The figures of the whole release in one line."""
    weighed = ", by their weights" if any(one.weight != "1" for one in found.columns) else ""
    return (
        f"loss {found.loss} over all quasi-identifiers{weighed} (0 exact, 1 suppressed); "
        f"{many(found.left_out, 'row')} left out; {found.average_class_size} rows per equivalence class on average"
    )


def _percent(part: int, whole: int) -> str:
    """A share; one that is not quite nothing or everything does not read as if it were.

    >>> _percent(0, 9), _percent(1, 3), _percent(1, 10**6), _percent(99999, 10**5), _percent(9, 9)
    ('0 %', '33.3 %', '< 0.1 %', '> 99.9 %', '100 %')
    """
    if not part or part == whole:
        return "100 %" if part else "0 %"
    share = 100 * part / whole
    if share < 0.1:
        return "< 0.1 %"
    return "> 99.9 %" if share > 99.9 else f"{share:.3g} %"
