"""What a release no longer says, cell by cell and class by class, measured on the release itself.

suppressed cells      a quasi-identifier of a released row that says nothing: NULL where NULL means that, or stars
information loss      the mean over all quasi-identifier cells of the source (planning/column_loss.py says what a cell
loses); those of a dropped row count 1, those of a column count as often as its WEIGHT says
discernibility        sum of squared class sizes, and for each dropped row the size of the table (Bayardo, Agrawal)
classification metric the share of rows that are dropped or not of their class's commonest target (Iyengar)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.planning.column_loss import ColumnLoss, ColumnMeasure
from ppdm_sql.planning.form_plan import with_labels
from ppdm_sql.planning.utility import Utility, utility_from
from ppdm_sql.policy.policy import Tuning
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.statements.rowtext import row_text


@dataclass(frozen=True)
class Loss:
    """A release and its source.  cells: quasi-identifier cells of the released rows."""

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
    tunings: Mapping[str, Tuning] = field(default_factory=dict)

    def utility(self, quasi: Sequence[str]) -> Utility:
        """The figures of these columns as a publication measures them."""
        found = [one for one in self.columns if one.column in quasi]
        sizes = {"rows": self.rows, "published": self.released_rows, "classes": self.classes}
        return utility_from(found, self.tunings, **sizes)

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
    released = with_labels(engine, source, released)
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
    sides = ColumnMeasure(engine, raw, released, source.quasi)
    columns = tuple(
        sides.loss(before[name], after[name], hierarchies.get(name), source.tunings.get(name, Tuning()).order)
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
        information_loss=utility_from(
            of_quasi, source.tunings, rows=rows, published=released_rows, classes=classes
        ).loss,
        columns=columns,
        tunings=source.tunings,
    )


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
