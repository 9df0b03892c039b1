"""What a release no longer says, cell by cell and class by class, measured on the release itself.

    suppressed cells      a quasi-identifier of a released row that says nothing: NULL where NULL means that, or stars
    generalization        of a cell: the share of the column's values it leaves open, (values it may stand for - 1) /
                          (distinct values - 1); of a column: the mean over its released cells
    information loss      the mean over all quasi-identifier cells of the source; those of a dropped row count 1
    discernibility        sum of squared class sizes, and for each dropped row the size of the table (Bayardo, Agrawal)
    classification metric the share of rows that are dropped or not of their class's commonest target (Iyengar)

An interval is measured by the distinct values it covers and not by its width: `< 30` has no width, and a wide interval
that nobody's value lies in loses nothing.  Numbers that were moved (their column is still one of numbers) have no
labels to read: the k-th of the released ones stands for the values around the k-th of the source, and `moved` is their
mean distance over the range of the column.  No row of a release can be linked to its source, so all of this is read
from columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.evaluate.displacement import displacement_of
from ppdm_sql.evaluate.labels import MOMENTS, Values, label_of, loss_of_cell, never_named
from ppdm_sql.forms.form_tables import label_of_range
from ppdm_sql.policy.forms import Form, form_columns
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.statements.rowtext import row_text

_VALUE, _ROWS = "ppdm_value", "ppdm_rows"


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
class Loss:
    """A release beside its source.  cells: quasi-identifier cells of the released rows."""

    rows: int
    released_rows: int
    suppressed_rows: int
    cells: int
    suppressed_cells: int
    classes: int
    discernibility: int
    classification_metric: Fraction | None
    information_loss: Fraction
    columns: tuple[ColumnLoss, ...]

    @property
    def row_suppression(self) -> Fraction:
        """The share of the source's rows that were dropped."""
        return Fraction(self.suppressed_rows, self.rows) if self.rows else Fraction(0)

    @property
    def cell_suppression(self) -> Fraction:
        """The share of the released quasi-identifier cells that say nothing."""
        return Fraction(self.suppressed_cells, self.cells) if self.cells else Fraction(0)


def loss_of(engine: Engine, source: Source, raw: Name, released: Name, hierarchies: Mapping[str, Hierarchy]) -> Loss:
    """Measures a release against the rows it was made from; only distinct values and counts leave the database."""
    before = {info.name: info for info in engine.columns(raw)}
    released = _labelled(engine, source, released)
    after = {info.name: info for info in engine.columns(released)}
    missing = [f'"{name}"' for name in source.published if name not in before or name not in after]
    if missing:
        raise PolicyError(f"column {', '.join(missing)} must be in both {raw} and {released}")
    rows, released_rows = _count(engine, raw), _count(engine, released)
    if released_rows > rows:
        raise PolicyError(
            f"{released} has {released_rows} rows, more than the {rows} of {raw}, so it was not made from it"
        )
    dropped = rows - released_rows
    sides = _Sides(engine, raw, released)
    columns = tuple(
        sides.loss(before[name], after[name], hierarchies.get(name))
        if name in source.quasi
        else sides.unchanged_loss(before[name], after[name])
        for name in source.published
    )
    classes, squares, minority = _classes(engine, released, source.quasi, source.target)
    of_quasi = [one for one in columns if one.column in source.quasi]
    return Loss(
        rows=rows,
        released_rows=released_rows,
        suppressed_rows=dropped,
        cells=released_rows * len(of_quasi),
        suppressed_cells=sum(one.suppressed_cells for one in of_quasi),
        classes=classes,
        discernibility=squares + dropped * rows,
        classification_metric=None if source.target is None or not rows else Fraction(minority + dropped, rows),
        information_loss=_information_loss(of_quasi, rows, released_rows),
        columns=columns,
    )


def _labelled(engine: Engine, source: Source, released: Name) -> Name:
    """A release whose ranges stand as labels again, which say the same."""
    there = {info.name for info in engine.columns(released)}
    ranges = [name for name, form in source.forms.items() if set(form_columns(name, form)) - {name} <= there]
    ranges = [name for name in ranges if source.forms[name] is Form.RANGE]
    if not ranges:
        return released
    gone = {column for name in ranges for column in form_columns(name, Form.RANGE)}
    query = exp.Select(expressions=[aliased(column(name, "s"), name) for name in sorted(there - gone)])
    query = query.select(*(aliased(label_of_range(engine, source.info(name), "s"), name) for name in ranges))
    return engine.work.table("labelled", query.from_(released.table("s")))


def _information_loss(columns: Sequence[ColumnLoss], rows: int, released_rows: int) -> Fraction:
    if not rows:
        return Fraction(0)
    inside = sum((one.generalization for one in columns), Fraction(0)) / max(len(columns), 1)
    return (inside * released_rows + (rows - released_rows)) / rows


def _count(engine: Engine, relation: Name) -> int:
    return int(engine.fetch_one(exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(relation.table()))[0])


def _classes(engine: Engine, released: Name, quasi: Sequence[str], target: str | None) -> tuple[int, int, int]:
    """Classes, squared sizes, rows that are not of their class's commonest target; by printed values."""
    names = [f"ppdm_q{place}" for place in range(len(quasi))]
    picked = [aliased(row_text(engine, [column(name)]), ours) for name, ours in zip(quasi, names, strict=True)]
    if not quasi:  # one class holds every row
        names, picked = ["ppdm_q"], [aliased(exp.Literal.number(0), "ppdm_q")]
    aim = exp.Literal.number(0) if target is None else row_text(engine, [column(target)])
    query = exp.Select(expressions=[*picked, aliased(aim, "ppdm_target")]).from_(released.table())
    rows = exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier("source")))
    counted = statement("evaluate/class_figures", columns={"quasi": names})
    for table in [found for found in counted.find_all(exp.Table) if found.name == "source"]:
        table.replace(rows.copy())
    classes, _, squares, minority = engine.fetch_one(counted)
    return int(classes), int(squares), int(minority)


@dataclass(frozen=True)
class _Sides:
    """The source and its release, column by column."""

    engine: Engine
    raw: Name
    released: Name

    def unchanged_loss(self, before: ColumnInfo, after: ColumnInfo) -> ColumnLoss:
        """A column that nothing was done to."""
        was, now, new = self._distinct(before.name)
        return ColumnLoss(before.name, 0, Fraction(0), was, now, bool(new))

    def loss(self, before: ColumnInfo, after: ColumnInfo, hierarchy: Hierarchy | None) -> ColumnLoss:
        was, now, new = self._distinct(before.name)
        if not new:  # every released value was there at least as often
            return ColumnLoss(before.name, 0, Fraction(0), was, now, False)
        held = dict(self._histogram(self.raw, before))
        shown = dict(self._histogram(self.released, after))
        nulls = _suppressing_nulls(held, shown)
        if after.kind is not Kind.TEXT and before.kind.is_ordered:
            return self._numbers(before, held, shown, nulls, (was, now))
        values = Values.of(
            before, (value for value in held if value is not None), has_null=None in held, hierarchy=hierarchy
        )
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
        was, now, new = self.engine.fetch_one(statement("evaluate/new_values", sides))
        return int(was), int(now), int(new)

    def _histogram(self, relation: Name, info: ColumnInfo) -> list[tuple[object, int]]:
        """(value, rows); moments as text, because Python's have neither nanoseconds nor infinity."""
        plain: exp.Expr = column(info.name)
        if info.kind is Kind.TEXT:
            plain = self.engine.exact_text(plain)
        elif info.kind in MOMENTS:
            plain = exp.cast(plain, "TEXT")
        query = exp.Select(expressions=[aliased(plain, _VALUE), aliased(exp.Count(this=exp.Star()), _ROWS)])
        found: dict[object, int] = {}
        for value, rows in self.engine.fetch(query.from_(relation.table()).group_by(plain.copy())):
            key = "nan" if isinstance(value, float) and value != value else value
            found[key] = found.get(key, 0) + int(rows)
        return list(found.items())


def _suppressing_nulls(held: Mapping[object, int], shown: Mapping[object, int]) -> int:
    """How many NULLs of a release are suppressed cells.

    A method that suppresses by NULL prints missing values otherwise, as (missing); any other one keeps them as NULLs.
    So NULLs are suppressed cells when there are more than there were, or when missing values are printed.
    """
    nulls = shown.get(None, 0)
    printed = any(isinstance(label, str) and label not in held and label.strip("()") == "missing" for label in shown)
    return nulls if printed or nulls > held.get(None, 0) else 0
