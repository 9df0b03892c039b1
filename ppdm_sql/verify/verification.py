"""How each requirement is judged on a stored relation: a statement of sql/verify/, its parameters, its reading.

VERIFICATIONS is looked up by the class of the requirement.  Nothing here is shared with checks/ or with what made
the relation, so that a mistake in one of them cannot hide in the other.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

from sqlglot import exp

from ppdm_sql import resources
from ppdm_sql.engines.base import Kind, Row
from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.forms import Form, form_columns
from ppdm_sql.requirements import (
    AlphaShare,
    AverageRisk,
    BetaLikeness,
    Closeness,
    ConfidenceLimit,
    DeltaDisclosure,
    DeltaPresence,
    DistinctDiversity,
    EnhancedLikeness,
    EntropyDiversity,
    EveryAnonymity,
    HookTable,
    KAnonymity,
    MapAnonymity,
    PopulationRequirement,
    RecursiveDiversity,
    Requirement,
    SetAnonymity,
    SimpleDiversity,
    UniqueShare,
)
from ppdm_sql.statements.names import Name, Word
from ppdm_sql.statements.names import column as named_column
from ppdm_sql.verify.entropy import entropy_at_least
from ppdm_sql.verify.estimates import unique_share
from ppdm_sql.verify.exponential import greatest_below_exponential, is_below_logarithm
from ppdm_sql.verify.paths import Levels, height
from ppdm_sql.verify.printed import Printed, Stored

PEOPLE = "ppdm_people"
DISTANCES = ("equal", "ordered", "hierarchical")
Figure = Fraction | float | None


@dataclass(frozen=True)
class SensitiveColumn:
    """A sensitive column; hierarchy: per leaf's text its labels from the leaf itself up to the root.

    nulls_as_value: whether a NULL counts as a value of its own; else only known values count.
    """

    name: str
    kind: Kind
    hierarchy: Levels | None = None
    nulls_as_value: bool = False


@dataclass(frozen=True)
class Subject:
    """What a requirement is judged on; column: the sensitive column it speaks of, entity: whom k counts."""

    stored: Stored
    quasi: Sequence[str]
    column: SensitiveColumn | None = None
    entity: str | None = None
    populations: Mapping[tuple[Word, ...], Name] = field(default_factory=dict)  # labels and ppdm_people

    @property
    def sensitive(self) -> SensitiveColumn:
        assert self.column is not None  # judge() gives a requirement about values its column
        return self.column

    def with_values(self) -> Printed:
        """The quasi-identifiers and the sensitive column as `sensitive`."""
        return self.stored.source(self.quasi, sensitive=self.stored.sensitive(self.sensitive.name))


class Tally(NamedTuple):
    """Classes that are alike for a requirement: whether they break it, their figure if it matters, how many."""

    breach: bool
    figure: Figure
    classes: int
    rows: int


def ratio_tally(row: Row) -> Tally:
    """A row (breach, over, under, classes, rows); the figure is over / under."""
    breach, over, under, classes, rows = row
    return Tally(breach == 1, _figure(over, under), int(classes), int(rows))


def _figure(over: Any, under: Any) -> Fraction | float | None:
    """A ratio; with nothing below it is infinite, and nothing over nothing is no distance at all."""
    if over is None:
        return None
    if int(under) == 0:
        return math.inf if int(over) else Fraction(0)
    return Fraction(int(over), int(under))


def exact_figure(worst: Figure, holds: bool) -> Figure:
    return None if worst == math.inf else worst


@dataclass(frozen=True)
class Measure:
    """A statement, its parameters, which end of its figure is the bad one, and how its rows are read.

    The statement stands over the stand-ins source, quasi, sensitive and entity, and counts classes that are alike:
    ppdm_breach, then what read_row needs, ppdm_classes and ppdm_rows.
    """

    requirement: Requirement
    column: str | None
    text: str
    source: Printed
    worst: Callable[[Iterable[Fraction | float]], Fraction | float]
    params: Mapping[str, Any] = field(default_factory=dict)
    hierarchy: Levels | None = None
    read_row: Callable[[Row], Tally] = ratio_tally
    of_all_columns: bool = True  # False: its classes are those over some of the quasi-identifiers
    achieved: Callable[[Figure, bool], Figure] = exact_figure
    together: Callable[[Sequence[Tally]], Sequence[Tally]] | None = None  # decides by all rows what none says alone
    relations: Mapping[str, exp.Expr] = field(default_factory=dict)  # that replace other stand-ins
    others: tuple[Measure, ...] = ()  # of the same requirement, over other columns: all of them are to hold

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


VERIFICATIONS: HookTable[Callable[[Any, Subject], Measure]] = HookTable("verified on a stored relation")


def statement_text(name: str) -> str:
    return resources.sql_text(f"verify/{name}")


def _ratio(number: Fraction) -> dict[str, int]:
    return {"numerator": number.numerator, "denominator": number.denominator}


def _null_reading(column: SensitiveColumn) -> dict[str, int]:
    """Whether the statement counts a NULL as a value."""
    return {"null_is_value": int(column.nulls_as_value)}


# -- size ------------------------------------------------------------------------------------------------


def _class_size(asked: KAnonymity | SetAnonymity | EveryAnonymity, subject: Subject) -> Measure:
    stored, quasi, entity = subject.stored, subject.quasi, subject.entity
    if entity is None:
        return Measure(asked, None, statement_text("class_size"), stored.source(quasi), min, {"k": asked.k})
    source = stored.source(quasi, entity=stored.entity(entity))
    return Measure(asked, None, statement_text("entity_count"), source, min, {"k": asked.k})


def _set_size(asked: SetAnonymity, subject: Subject) -> Measure:
    """The same over the columns that the requirement names; one that became a range stands for the range's columns."""
    ranges = _range_columns(subject)
    quasi = _columns_of(asked.columns([*subject.quasi, *ranges]), ranges)
    return replace(_class_size(asked, replace(subject, quasi=quasi)), of_all_columns=False)


def _range_columns(subject: Subject) -> dict[str, tuple[str, ...]]:
    """The columns of the source that are published as the ends of a range, and those ends."""
    ends = form_columns("", Form.RANGE)
    bases = [name.removesuffix(ends[0]) for name in subject.quasi if name.endswith(ends[0])]
    ranges = {name: tuple(form_columns(name, Form.RANGE)) for name in bases}
    return {name: columns for name, columns in ranges.items() if set(columns) <= set(subject.quasi)}


def _columns_of(names: Iterable[str], ranges: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(column for name in names for column in ranges.get(name, (name,))))


def _every_size(asked: EveryAnonymity, subject: Subject) -> Measure:
    """The same over every m of the columns, each set measured by a statement of its own."""
    ranges = _range_columns(subject)
    inside = {column for columns in ranges.values() for column in columns}
    names = [*(name for name in subject.quasi if name not in inside), *ranges]
    found = [
        replace(_class_size(asked, replace(subject, quasi=_columns_of(names_known, ranges))), of_all_columns=False)
        for names_known in asked.sets(names)
    ]
    return replace(found[0], others=tuple(found[1:]))


# -- risk of the whole table -----------------------------------------------------------------------------


def _table_measure(asked: Requirement, subject: Subject, name: str, params: Mapping[str, Any]) -> Measure:
    stored, quasi, entity = subject.stored, subject.quasi, subject.entity
    if entity is None:
        return Measure(asked, None, statement_text(name), stored.source(quasi), max, params)
    source = stored.source(quasi, entity=stored.entity(entity))
    return Measure(asked, None, statement_text(f"{name}_by_entity"), source, max, params)


def _average_risk(asked: AverageRisk, subject: Subject) -> Measure:
    return _table_measure(asked, subject, "average_risk", _ratio(asked.limit))


def _unique_share(asked: UniqueShare, subject: Subject) -> Measure:
    fraction, limit = asked.fraction, asked.limit
    if fraction is None:
        return _table_measure(asked, subject, "unique_share", _ratio(limit))

    def decide(tallies: Sequence[Tally]) -> list[Tally]:
        counts: dict[int, int] = {}
        for one in tallies:
            size = max(int(one.figure or 0), 1)
            counts[size] = counts.get(size, 0) + one.classes
        share = unique_share(counts, fraction)
        alone = share > limit
        return [one._replace(figure=share, breach=alone and int(one.figure or 0) <= 1) for one in tallies]

    return replace(_table_measure(asked, subject, "class_counts", {}), together=decide)


# -- a population ----------------------------------------------------------------------------------------


def _population_measure(
    asked: PopulationRequirement,
    subject: Subject,
    name: str,
    worst: Callable[[Iterable[Fraction | float]], Fraction | float],
    params: Mapping[str, Any],
) -> Measure:
    """The labelled people of a population are a relation with the columns of the release and ppdm_people."""
    where, quasi = subject.populations.get(asked.population), subject.quasi
    if where is None:
        raise PolicyError(f"{asked} is measured when a release is published: only then its population has labels")
    people = Stored.look_up(subject.stored.engine, where, [*quasi, PEOPLE])
    printed = Printed(subject.stored.texts(quasi), subject.stored.source(quasi).quasi)
    relations = {"population": people.texts(quasi, ppdm_people=named_column(PEOPLE))}
    return Measure(asked, None, statement_text(name), printed, worst, params, relations=relations, together=list)


def _k_map(asked: MapAnonymity, subject: Subject) -> Measure:
    return _population_measure(asked, subject, "k_map", min, {"k": asked.k})


def _presence(asked: DeltaPresence, subject: Subject) -> Measure:
    bounds = {"least": asked.least, "most": asked.most}
    params = {f"{name}_{part}": number for name, bound in bounds.items() for part, number in _ratio(bound).items()}
    return replace(_population_measure(asked, subject, "presence", max, params), of_all_columns=False)


# -- diversity and confidence ----------------------------------------------------------------------------


def _value_measure(
    asked: Requirement,
    subject: Subject,
    name: str,
    worst: Callable[[Iterable[Fraction | float]], Fraction | float],
    params: Mapping[str, Any],
) -> Measure:
    column = subject.sensitive
    return Measure(
        asked, column.name, statement_text(name), subject.with_values(), worst, {**params, **_null_reading(column)}
    )


def _distinct_diversity(asked: DistinctDiversity, subject: Subject) -> Measure:
    return _value_measure(asked, subject, "distinct_diversity", min, {"l": asked.l})


def _simple_diversity(asked: SimpleDiversity, subject: Subject) -> Measure:
    return _value_measure(asked, subject, "simple_diversity", min, _ratio(asked.l))


def _confidence(asked: ConfidenceLimit, subject: Subject) -> Measure:
    return _value_measure(asked, subject, "confidence", max, _ratio(asked.limit))


def _recursive_diversity(asked: RecursiveDiversity, subject: Subject) -> Measure:
    return _value_measure(asked, subject, "recursive_diversity", max, {"l": asked.l} | _ratio(asked.c))


def _entropy_diversity(asked: EntropyDiversity, subject: Subject) -> Measure:
    found = _value_measure(asked, subject, "entropy_diversity", min, {"bound": math.log(asked.l)})
    return replace(
        found,
        read_row=lambda row: _entropy_tally(asked.l, *row),
        achieved=lambda worst, holds: _entropy_figure(worst, asked.l, holds=holds),
    )


def _entropy_tally(
    l: Fraction, breach: int | None, counts: str | None, entropy: float | None, classes: Any, rows: Any
) -> Tally:
    if entropy is None:  # no value is known
        return Tally(True, 0.0, int(classes), int(rows))
    if breach is None and counts is not None:
        breach = not entropy_at_least(map(int, counts.split()), l)
    effective = max(1.0, math.exp(entropy) * (1 - 1e-15))  # no entropy is below zero
    return Tally(breach != 0, effective, int(classes), int(rows))


def _entropy_figure(worst: Figure, l: Fraction, *, holds: bool) -> float:
    """The lower bound for people: on the same side of l as the exact decision."""
    assert worst is not None
    if holds:
        return max(float(worst), float(l))
    return min(float(worst), math.nextafter(float(l), 0.0))


# -- likeness to the whole table -------------------------------------------------------------------------


def _alpha(asked: AlphaShare, subject: Subject) -> Measure:
    return _value_measure(asked, subject, "confidence", max, _ratio(asked.alpha))


def _beta(asked: BetaLikeness, subject: Subject) -> Measure:
    return _value_measure(asked, subject, "beta_likeness", max, _ratio(asked.beta))


def _enhanced_beta(asked: EnhancedLikeness, subject: Subject) -> Measure:
    found = _value_measure(asked, subject, "enhanced_beta_likeness", max, _ratio(asked.beta))
    return replace(found, read_row=_logarithm_tally)


def _logarithm_tally(row: Row) -> Tally:
    """A row (breach, above its logarithm, near it, over, under, classes, rows); no beta suffices for the second."""
    breach, above, near, over, under, classes, size = row
    cells = [[int(count) for count in cell.split(" ")] for cell in near.split(",")] if near is not None else []
    lawless = above == 1 or not all(is_below_logarithm(*cell) for cell in cells)
    figure = math.inf if lawless else _figure(over, under)
    return Tally(breach == 1 or lawless, figure, int(classes), int(size))


def _delta(asked: DeltaDisclosure, subject: Subject) -> Measure:
    limit = {name: str(number) for name, number in _ratio(greatest_below_exponential(asked.delta)).items()}
    found = _value_measure(asked, subject, "delta_disclosure", max, limit)
    return replace(found, achieved=lambda worst, holds: _logarithm(worst, asked.delta, holds=holds))


def _logarithm(worst: Figure, delta: Fraction, *, holds: bool) -> Figure:
    """For people: on the same side of delta as the exact decision; None where a class lacks a value."""
    if worst is None or worst == math.inf:
        return None
    told = math.log(worst)
    return min(told, float(delta)) if holds else max(told, math.nextafter(float(delta), math.inf))


# -- closeness -------------------------------------------------------------------------------------------


def _closeness(asked: Closeness, subject: Subject) -> Measure:
    stored, column = subject.stored, subject.sensitive
    distance = _distance(stored, column, asked)
    if distance != "hierarchical":
        return _value_measure(asked, subject, f"closeness_{distance}", max, _ratio(asked.t))
    if column.hierarchy is None:
        raise PolicyError(f"{asked}: column {column.name} has no hierarchy to measure along")
    params = _ratio(asked.t) | {"levels": height(column.name, column.hierarchy)} | _null_reading(column)
    source = stored.source(subject.quasi, sensitive=stored.text(column.name))
    text = statement_text("closeness_hierarchical")
    return Measure(asked, column.name, text, source, max, params, column.hierarchy)


def _distance(stored: Stored, column: SensitiveColumn, asked: Closeness) -> str:
    """The distance that was asked for, or the one that goes with the column."""
    ordered = "ordered" if column.kind.is_ordered else "equal"
    distance = asked.distance or ("hierarchical" if column.hierarchy is not None else ordered)
    if distance not in DISTANCES:
        raise PolicyError(f"{asked}: unknown distance; valid distances: {', '.join(DISTANCES)}")
    kind = stored.kinds[column.name]
    if distance == "ordered" and not kind.is_ordered:
        raise PolicyError(f"{asked}: column {column.name} is stored as {kind.value}, which has no order")
    return distance


VERIFICATIONS.add(KAnonymity, _class_size)
VERIFICATIONS.add(SetAnonymity, _set_size)
VERIFICATIONS.add(EveryAnonymity, _every_size)
VERIFICATIONS.add(AverageRisk, _average_risk)
VERIFICATIONS.add(UniqueShare, _unique_share)
VERIFICATIONS.add(MapAnonymity, _k_map)
VERIFICATIONS.add(DeltaPresence, _presence)
VERIFICATIONS.add(DistinctDiversity, _distinct_diversity)
VERIFICATIONS.add(SimpleDiversity, _simple_diversity)
VERIFICATIONS.add(ConfidenceLimit, _confidence)
VERIFICATIONS.add(RecursiveDiversity, _recursive_diversity)
VERIFICATIONS.add(EntropyDiversity, _entropy_diversity)
VERIFICATIONS.add(Closeness, _closeness)
VERIFICATIONS.add(AlphaShare, _alpha)
VERIFICATIONS.add(BetaLikeness, _beta)
VERIFICATIONS.add(EnhancedLikeness, _enhanced_beta)
VERIFICATIONS.add(DeltaDisclosure, _delta)
