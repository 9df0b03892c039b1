"""One measurement of a relation: class sizes, class tables and profiles, each made when it is first needed.

Every check of measure.py reads from here, so that several requirements share one aggregation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from ppdm_sql.checks.class_table import Cells, Coded, encode_quasi, make_cells, make_classes
from ppdm_sql.checks.closeness import closeness_outcomes, make_reference
from ppdm_sql.checks.diversity import Profile, profile
from ppdm_sql.checks.nulls import smallest_match
from ppdm_sql.checks.outcome import Outcome
from ppdm_sql.checks.size import Sizes, sizes_by_columns, sizes_of_classes
from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.requirements import Closeness, EntropyDiversity, Requirement
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.statements.names import Name

Made = TypeVar("Made")


@dataclass(frozen=True)
class Sensitive:
    """A column whose value must not be learned; with a hierarchy, closeness is measured along it.

    nulls_as_value: NULL counts as a value of its own; else only known values count.
    """

    info: ColumnInfo
    hierarchy: Hierarchy | None = None
    nulls_as_value: bool = False


class Measurement:
    """What checks ask of a relation.

    asked: per sensitive column what is required of it, as it is meant for the column.
    """

    def __init__(
        self,
        engine: Engine,
        relation: Name,
        quasi: Sequence[ColumnInfo],
        entity: ColumnInfo | None,
        asked: Mapping[str, Sequence[Requirement]],
    ) -> None:
        self.relation, self.quasi, self.entity = relation, quasi, entity
        self.engine, self._asked = engine, asked
        self._coded: Coded | None = None
        self._sizes: Sizes | None = None
        self._k_null: int | None = None
        self._column: str | None = None
        self._cells: Cells | None = None
        self._profile: Profile | None = None
        self._close: dict[Closeness, Outcome] = {}
        self._made: dict[Callable[..., Any], Any] = {}

    def cells(self, item: Sensitive) -> Cells:
        """The cells and classes of one sensitive column; they replace those of the column before."""
        if self._column != item.info.name:
            self._column, self._cells, self._profile = item.info.name, None, None
            self._close, self._made = {}, {}
        if self._cells is None:
            self._cells = make_cells(
                self.engine,
                self._codes(),
                item.info,
                nulls_as_value=item.nulls_as_value,
                entropy=bool(self._entropies(item)),
            )
            if self.entity is None and self._sizes is None:
                self._take_sizes(sizes_of_classes(self.engine, self._cells.classes), self._cells.classes)
        return self._cells

    def once(self, item: Sensitive, make: Callable[[Measurement, Sensitive], Made]) -> Made:
        """What several requirements on one sensitive column share: made for the first of them."""
        self.cells(item)
        if make not in self._made:
            self._made[make] = make(self, item)
        found: Made = self._made[make]
        return found

    def profile(self, item: Sensitive) -> Profile:
        """The kinds of classes of one sensitive column."""
        cells = self.cells(item)
        if self._profile is None:
            self._profile = profile(self.engine, cells, self._entropies(item))
        return self._profile

    def _entropies(self, item: Sensitive) -> list[Fraction]:
        asked = self._asked[item.info.name]
        return list(dict.fromkeys(each.l for each in asked if isinstance(each, EntropyDiversity)))

    def closeness(self, item: Sensitive, requirement: Closeness) -> Outcome:
        """How far the classes are from the table: measured once per distance, whatever number of t is asked."""
        cells = self.cells(item)
        if requirement not in self._close:
            distance, asked = requirement.distance or "equal", self._asked[item.info.name]
            alike = [each for each in asked if isinstance(each, Closeness) and each.distance == distance]
            reference = make_reference(self.engine, cells, self.sizes().total_rows, distance, item.hierarchy)
            outcomes = closeness_outcomes(self.engine, distance, alike, cells, reference)
            self._close |= dict(zip(alike, outcomes, strict=True))
        return self._close[requirement]

    def sizes(self) -> Sizes:
        """The class sizes, in rows and in what k counts."""
        if self._sizes is None:
            self._measure_sizes()
        assert self._sizes is not None
        return self._sizes

    def k_null_matches_all(self) -> int | None:
        """The k where NULL may be any value; None where it was not measured."""
        self.sizes()
        return self._k_null

    def _measure_sizes(self) -> None:
        engine = self.engine
        if self.entity is not None:
            classes = make_classes(self.engine, self._codes(), self.entity)
            self._sizes = sizes_of_classes(engine, classes, by_entity=True)
            return
        sizes, has_nulls = sizes_by_columns(engine, self.relation, self.quasi)
        self._take_sizes(sizes, make_classes(self.engine, self._codes()) if has_nulls else None)

    def _take_sizes(self, sizes: Sizes, classes: Name | None) -> None:
        self._sizes, self._k_null = sizes, sizes.k
        if classes is not None and any(d.lookup.null_code is not None for d in self._codes().key.digits):
            self._k_null = smallest_match(self.engine, self._codes().key, classes, sizes.total_classes)

    def _codes(self) -> Coded:
        if self._coded is None:
            self._coded = encode_quasi(self.engine, self.relation, self.quasi)
        return self._coded
