"""What the SQL front door understood: plain data, exact numbers, nothing looked up in a database yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from ppdm_sql.policy.forms import Form
from ppdm_sql.requirements import About, Requirement, k_of, requirements_about
from ppdm_sql.requirements.loss import LossLimit
from ppdm_sql.statements.names import Word
from ppdm_sql.treatments import Treated

OptionValue = Fraction | str | bool | tuple["OptionValue", ...]


@dataclass(frozen=True)
class Place:
    """Where a statement starts; lines and columns count from 1."""

    line: int
    column: int
    file: str | None = None


class PlacedWord(str):
    """A word in the value of an option: its text, where it stands, and whether it was written in quotes."""

    place: Place | None = None
    quoted: bool = False

    @classmethod
    def at(cls, text: str, place: Place, *, quoted: bool = False) -> PlacedWord:
        made = cls(text)
        made.place, made.quoted = place, quoted
        return made


@dataclass(frozen=True)
class HierarchyFile:
    """HIERARCHY 'file.csv' [ELSE '*']: ARX-style, one line per leaf, value;level1;...;*."""

    path: str
    otherwise: str | None = None  # the label of values that are not listed


@dataclass(frozen=True)
class HierarchyTable:
    """HIERARCHY table [ELSE '*']: first column the value, then one column per level."""

    name: tuple[Word, ...]
    otherwise: str | None = None


@dataclass(frozen=True)
class IntervalLadder:
    """HIERARCHY INTERVALS (5, 10, 20) [FROM 0]: half-open intervals of growing width, anchored."""

    widths: tuple[Fraction, ...]
    anchor: Fraction = Fraction(0)


@dataclass(frozen=True)
class PrefixLadder:
    """HIERARCHY PREFIX (4, 3, 1): text cut to fewer and fewer leading characters."""

    lengths: tuple[int, ...]


@dataclass(frozen=True)
class CalendarLadder:
    """HIERARCHY CALENDAR (month, quarter, year, decade): the periods a date lies in."""

    periods: tuple[str, ...]


HierarchySource = HierarchyFile | HierarchyTable | IntervalLadder | PrefixLadder | CalendarLadder


@dataclass(frozen=True)
class Tuning:
    """What is said about a quasi-identifier besides its hierarchy."""

    order: tuple[str, ...] = ()  # ORDER ('a', 'b', ...): its texts from the first to the last
    weight: Fraction = Fraction(1)  # WEIGHT 2: how much its loss counts
    most_level: int | None = None  # AT MOST LEVEL 2: the coarsest level that may be published


@dataclass(frozen=True)
class Roles:
    """Which column is what.  Words as written; source/relation.py resolves them against the table."""

    identifiers: tuple[Word, ...] = ()
    quasi: tuple[Word, ...] = ()
    sensitive: tuple[Word, ...] = ()
    target: Word | None = None
    insensitive: tuple[Word, ...] = ()
    entity: Word | None = None
    key: tuple[Word, ...] = ()  # what identifies the rows of a growing release
    weight: Word | None = None  # for how many people of a population a row stands
    hierarchies: Mapping[Word, HierarchySource] = field(default_factory=dict)
    nulls_as_value: tuple[Word, ...] = ()  # sensitive columns where NULL means that there is nothing to hide
    forms: Mapping[Word, Form] = field(default_factory=dict)  # of quasi-identifiers that are not published as labels
    tunings: Mapping[Word, Tuning] = field(default_factory=dict)
    places: Mapping[Word, Place] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Inducer:
    """One entry of PRESERVE: a model's name, or an inducer with its options."""

    name: Word
    options: Mapping[str, OptionValue] | None = None
    place: Place | None = field(default=None, compare=False)
    option_places: Mapping[str, Place] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Supersedes:
    """SUPERSEDES: releases of which no copy is left: they are withdrawn and no longer count.

    Without a list the former states of the release itself; names: the releases that are listed; everything (ALL): every
    release of the same tables, and the former states of the release itself.
    """

    names: tuple[tuple[Word, ...], ...] = ()
    everything: bool = False
    places: tuple[Place, ...] = field(default=(), compare=False)  # of the names


@dataclass(frozen=True)
class Changes:
    """CHANGES (...): what a growing release does with rows that come late, change or leave."""

    late: Literal["coarsen", "wait"] = "coarsen"
    most_loss: Fraction = Fraction(3, 10)  # of wait: rows wait until their batch loses no more than this,
    most_nights: int = 14  # but no longer than so many refreshes
    changed: Literal["keep", "again"] = "keep"
    gone: Literal["keep", "together", "withdraw"] = "keep"
    returning: Literal["declare", "wait"] = "declare"
    show: Literal["nothing", "cohort"] = "nothing"


@dataclass(frozen=True)
class Policy:
    """The WITH ANONYMIZATION clause."""

    algorithm: str
    requirements: tuple[Requirement, ...]
    roles: Roles
    loss_limits: tuple[LossLimit, ...] = ()  # what is required of utility
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    preserve: tuple[Inducer, ...] = ()
    supersedes: Supersedes | None = None
    accepted_risks: tuple[str, ...] = ()
    seed: int = 0
    suppress: Fraction | None = None  # SUPPRESS AT MOST p %: the share of the rows that may be left out
    readers: tuple[Word, ...] = ()  # GRANT SELECT TO role, ...
    changes: Changes = Changes()
    treated: tuple[Treated, ...] = ()  # columns that are published in another form, with what is done to them
    treated_places: Mapping[Word, Place] = field(default_factory=dict, compare=False)
    require_place: Place | None = field(default=None, compare=False)
    option_places: Mapping[str, Place] = field(default_factory=dict, compare=False)

    @property
    def k(self) -> int | None:
        """The k that is required; None where none is."""
        return k_of(self.requirements)

    @property
    def size_requirements(self) -> tuple[Requirement, ...]:
        """What is required of the size of a class, in rows or persons."""
        return requirements_about(self.requirements, About.SIZE)

    @property
    def table_requirements(self) -> tuple[Requirement, ...]:
        """What is required of all classes together."""
        return tuple(item for item in self.requirements if item.of_table)

    @property
    def value_requirements(self) -> tuple[Requirement, ...]:
        """What is required of the sensitive values of a class."""
        return requirements_about(self.requirements, About.VALUES)


@dataclass(frozen=True)
class PassThrough:
    """Ordinary SQL, handed to the engine unchanged."""

    text: str
    place: Place


@dataclass(frozen=True)
class Publish:
    """CREATE [OR REPLACE] TABLE | VIEW | MODEL name AS query WITH ANONYMIZATION (...)."""

    kind: Literal["TABLE", "VIEW", "MODEL"]
    name: tuple[Word, ...]
    query: str  # the SELECT exactly as written
    policy: Policy
    text: str  # the whole statement as written
    place: Place
    replace: bool = False
    live: bool = False
    growing: bool = False
    refresh: bool = False  # it is run again by REFRESH
    query_place: Place | None = field(default=None, compare=False)  # where the query starts


@dataclass(frozen=True)
class PseudoData:
    """CREATE TABLE name AS PSEUDO DATA FROM MODEL model WITH (option = value, ...)."""

    name: tuple[Word, ...]
    model: tuple[Word, ...]
    options: Mapping[str, OptionValue]
    text: str
    place: Place
    replace: bool = False
    option_places: Mapping[str, Place] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class ShareCounts:
    """CREATE MODEL name AS query WITH SHARING (...): counts for a round of several sites."""

    name: tuple[Word, ...]
    query: str
    policy: Policy  # its roles alone: attributes are INSENSITIVE in it
    codebook: str
    key: str
    out: str
    text: str
    place: Place
    query_place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Refresh:
    name: tuple[Word, ...]
    place: Place


@dataclass(frozen=True)
class Verify:
    name: tuple[Word, ...]
    place: Place


@dataclass(frozen=True)
class Export:
    """EXPORT name TO 'path' [WITH (format = parquet, ...)]."""

    name: tuple[Word, ...]
    path: str
    options: Mapping[str, OptionValue]
    place: Place
    path_place: Place | None = field(default=None, compare=False)
    option_places: Mapping[str, Place] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class DropRelease:
    name: tuple[Word, ...]
    place: Place


@dataclass(frozen=True)
class Explain:
    """EXPLAIN <one of ours>; an EXPLAIN of ordinary SQL passes through."""

    statement: Publish | PseudoData | ShareCounts | Refresh | Verify | Export | DropRelease
    place: Place


Statement = PassThrough | Publish | PseudoData | ShareCounts | Refresh | Verify | Export | DropRelease | Explain
