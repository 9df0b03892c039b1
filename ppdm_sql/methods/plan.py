"""What an anonymizer hands to release/: a plan of what may leave.  It writes nothing itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from sqlglot import exp

from ppdm_sql.cells.parts import ENTITY as ENTITY
from ppdm_sql.cells.parts import PART as PART
from ppdm_sql.cells.parts import Parts
from ppdm_sql.forms.form_tables import FormedColumn
from ppdm_sql.methods.live_rules import Live
from ppdm_sql.methods.recoding import Recoding
from ppdm_sql.policy.forms import Form
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.trees.tree import Tree

ONE_LEAF = "the tree is a single leaf: no split both met the policy and improved the prediction"
KEY = ("ppdm_key0", "ppdm_key1")  # which source row it is, as two numbers: for the joint check
PERSON = "ppdm_person"  # whose row it is, as a number: for the joint check
QUASI = "ppdm_quasi"  # its raw quasi-identifiers, as a number: for the joint check


_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class ResidualRisk:
    """Something a method does not promise.  A refusing risk must be accepted in the statement by its name."""

    name: str
    message: str
    refuses: bool = False


@dataclass(frozen=True)
class PlanChoice:
    """One of the recodings that a method chose from; the first is the one that is published."""

    levels: Mapping[str, int]  # quasi-identifier -> level
    quality: str
    value: int | Fraction | float
    suppressed_rows: int
    rows: int  # of the source
    classes: int
    smallest: int  # rows or persons of its smallest class

    @property
    def risk(self) -> Fraction:
        """How likely, on average, an attacker who knows a person's quasi-identifiers finds the row of that person."""
        return Fraction(self.classes, max(self.rows - self.suppressed_rows, 1))

    @property
    def value_text(self) -> str:
        """The quality to ten digits.

        >>> PlanChoice({}, "loss", Fraction(1, 3), 0, 10, 1, 5).value_text
        '0.3333333333'
        """
        return str(self.value) if isinstance(self.value, int) else f"{float(self.value):.10g}"

    @property
    def levels_text(self) -> str:
        return ", ".join(f"{name} {level}" for name, level in self.levels.items())

    def as_json(self) -> dict[str, Any]:
        return {
            "levels": dict(self.levels),
            "quality": self.quality,
            "value": self.value if isinstance(self.value, int) else float(self.value),
            "suppressed_rows": self.suppressed_rows,
            "classes": self.classes,
            "smallest_class": self.smallest,
            "risk": float(self.risk),
        }


@dataclass(frozen=True)
class LabelTable:
    """What every class publishes of its quasi-identifiers: a small table with a row per class, joined on PART."""

    table: Name
    columns: Mapping[str, exp.Expr]  # published column -> expression over the alias "l" of the table


@dataclass(frozen=True, repr=False)
class PlannedRecoding:
    """What becomes of rows that were not there, worked out when it is first asked for: few releases need it."""

    make: Callable[[], Recoding]
    least: int = 1  # nodes it has at least

    @cached_property
    def recoding(self) -> Recoding:
        return self.make()

    def __repr__(self) -> str:
        return f"PlannedRecoding({self.least} nodes or more)"


@dataclass(frozen=True)
class Projection:
    """One of several tables that a release consists of: its columns but the class, and its quasi-identifiers."""

    columns: tuple[str, ...]
    quasi: tuple[str, ...]


def parts_text(parts: Iterable[Iterable[str]]) -> str:
    """Lists of columns as a policy has them.

    >>> parts_text([["age", "sex"], ["home town"]])
    '((age, sex), ("home town"))'
    """
    named = (", ".join(name if _PLAIN.fullmatch(name) else _quoted(name) for name in part) for part in parts)
    return f"({', '.join(f'({part})' for part in named)})"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True)
class Projections:
    """The columns of a release parted into tables that share the class alone."""

    parts: tuple[Projection, ...]
    target: str
    rejoin: str  # what has to hold for anyone who joins the tables on the class
    filtered: tuple[str, ...] = ()  # columns that are in no table

    @property
    def text(self) -> str:
        """As the option parts has it."""
        return parts_text([part.columns for part in self.parts])


@dataclass(frozen=True)
class TablePlan:
    """A query over working tables that gives the published columns, by their names, and PART with them.

    With labels the query leaves out the columns that these give: rows stay narrow until they are stored.
    Where the policy names an ENTITY the query gives ENTITY too, and it always gives the columns that the
    caller's private expressions stand for (see Private).  release/ stores, judges and publishes it.
    """

    query: exp.Select
    published: tuple[str, ...]
    classes: int
    rows: int
    suppressed_rows: int = 0
    steps: tuple[str, ...] = ()  # the plan in plain words, for EXPLAIN
    figures: Mapping[str, int | Fraction | str] = field(default_factory=dict)
    risks: tuple[ResidualRisk, ...] = ()
    patterns: tuple[Mapping[str, Any], ...] = ()  # trees the release must still give; see verify/same_model.py
    live: Callable[[], Live] | None = None  # how a view can do the same at query time; None: the recoding cannot
    labels: LabelTable | None = None
    notes: Mapping[str, str] = field(default_factory=dict)  # published column -> what a reader must know of it
    choices: tuple[PlanChoice, ...] = ()  # what the method chose from, the best first
    stand_ins: frozenset[str] = frozenset()  # quasi-identifiers that are numbers already, and no ranges of the source
    forms: Mapping[str, FormedColumn] = field(default_factory=dict)  # what staging makes of the labels
    later_rows: PlannedRecoding | None = None  # what becomes of rows that were not there
    projections: Projections | None = None  # the tables that the rows are published in, where they are several
    twins: Mapping[str, str] = field(default_factory=dict)  # private column -> the one that holds the same

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns of the query that have to be stored."""
        return tuple(name for name in self.query.named_selects if name not in self.twins)

    @property
    def recoding(self) -> Recoding | None:
        return None if self.later_rows is None else self.later_rows.recoding

    @property
    def hides_labels(self) -> bool:
        """Whether numbers are published that do not show the ranges they stand for."""
        return any(one.form is Form.MIDPOINT for one in self.forms.values())

    def wide(self, rows: exp.Expr | None = None) -> exp.Select:
        """The rows with their labels; rows: what the query gave, where it is stored, under the alias "q"."""
        kept = [aliased(column(self.twins.get(name, name), "q"), name) for name in self.query.named_selects]
        source = self.query.subquery("q") if rows is None else rows
        if self.labels is None:
            return exp.Select(expressions=kept).from_(source)
        told: dict[str, exp.Expr] = {name: value.copy() for name, value in self.labels.columns.items()}
        told |= {name: column(self.twins.get(name, name), "q") for name in self.query.named_selects}
        first = [name for name in self.published if name in told]
        every = [aliased(told[name], name) for name in dict.fromkeys([*first, *told])]
        same = exp.EQ(this=column(PART, "l"), expression=column(PART, "q"))
        return exp.Select(expressions=every).from_(source).join(self.labels.table.table("l"), on=same)


@dataclass(frozen=True, repr=False)
class ValueLabels:
    """What every value of a column is published as, in every row alike."""

    labels: Sequence[str | None]  # per code of the cells' column, NULL's last
    of_any_value: bool = False  # the label stands for every value there can be
    typed: bool = False  # labels are values of the column's own type

    def __repr__(self) -> str:
        return f"ValueLabels({len(self.labels)} codes)"  # the labels are data


@dataclass(frozen=True)
class CellPlan:
    """What a method makes of cells: which class each cell's rows are published in, and what a class publishes."""

    parts: Parts
    labels: Mapping[str, Sequence[str | None]]  # quasi-identifier -> its text per class
    steps: tuple[str, ...] = ()
    figures: Mapping[str, int | Fraction | str] = field(default_factory=dict)
    risks: tuple[ResidualRisk, ...] = ()
    nulled: frozenset[str] = frozenset()  # columns that are no quasi-identifiers and leave as NULL
    typed: frozenset[str] = frozenset()  # quasi-identifiers whose texts are values of the column's own type
    patterns: tuple[Mapping[str, Any], ...] = ()  # as those of TablePlan, like the next two
    notes: Mapping[str, str] = field(default_factory=dict)
    stand_ins: frozenset[str] = frozenset()
    choices: tuple[PlanChoice, ...] = ()  # what the method chose from, the best first
    value_labels: Mapping[str, ValueLabels] | None = None  # where every quasi-identifier is recoded value by value
    later_rows: PlannedRecoding | None = None  # what becomes of other rows; None: the method cannot say it


@dataclass(frozen=True)
class Private:
    """Columns that travel with the codes, from the source to the stage, and never further."""

    columns: Mapping[str, exp.Expr] = field(default_factory=dict)  # name -> expression over source alias "r"

    @property
    def twins(self) -> dict[str, str]:
        """The columns that hold the same as one before them, and that one."""
        first: dict[exp.Expr, str] = {}
        return {name: first[one] for name, one in self.columns.items() if first.setdefault(one, name) != name}


@dataclass(frozen=True)
class ModelPlan:
    """A tree that may leave, as the model itself; release/ audits it against the source before anybody sees it.

    Public are the attributes an attacker is taken to know: the quasi-identifiers the tree may ask for.
    """

    tree: Tree
    public: tuple[str, ...]
    rows: int
    class_is_public: bool = False
    left_out: int = 0
    steps: tuple[str, ...] = ()
    figures: Mapping[str, int | Fraction | str] = field(default_factory=dict)
    risks: tuple[ResidualRisk, ...] = ()


def named(risks: Sequence[ResidualRisk]) -> list[str]:
    return [risk.name for risk in risks]
