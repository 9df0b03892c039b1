"""How raw rows get the labels of a release: its recoding as tables that may leave.

A value of a raw column falls in a piece, a whole number:

    numbers and moments   how many thresholds are not above it; NaN, and infinities that are named, come after these
    other columns         the place of the value among those that are named, from 1 on; 0 for any other
    NULL                  -1

A rule sends rows from a node to one of its children: those whose piece of a column lies between two numbers.  A row
goes down as long as a rule takes it, and gets what its last node publishes.

Thresholds are those of the recoding's own cuts.  A value is named only where at least k people hold it: a word of a
hierarchy file stands for those of its leaves, and a row with a rarer leaf stays with the coarser label.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from sqlglot import exp

from ppdm_sql.catalog.json_record import JsonRecord
from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.forms.form_tables import FormedColumn
from ppdm_sql.forms.grids import Step
from ppdm_sql.forms.read_labels import Extent, LabelReader, UnreadLabelError
from ppdm_sql.methods.recoding import RecodedColumn, RecodingTree, Take
from ppdm_sql.planning.request import Request
from ppdm_sql.policy.forms import Form
from ppdm_sql.policy.policy import CalendarLadder, IntervalLadder
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import aliased, column

MOST_NODES = 10_000  # of a recoding that is written down: a file of a few megabytes
MISSING = -1
Pieces = list[tuple[int, int]]  # first and last


@dataclass(frozen=True)
class RawColumn(JsonRecord):
    """A quasi-identifier of raw rows, and how its values are distinguished."""

    name: str
    kind: str
    declared: str  # its type in the source, in the words of the engine
    thresholds: tuple[str, ...] = ()  # rising
    values: tuple[str, ...] = ()  # those that are named; the first has the piece behind the last threshold


@dataclass(frozen=True)
class PublishedColumn(JsonRecord):
    name: str
    declared: str


@dataclass(frozen=True)
class RecodeRules(JsonRecord):
    """Everything that <file>.recode.sql says."""

    dialect: str  # whose words the types are
    raw: tuple[RawColumn, ...]
    published: tuple[PublishedColumn, ...]
    rules: tuple[tuple[int, ...], ...]  # node, column (from 1 on), first piece, last piece, child
    labels: tuple[tuple[str | None, ...], ...]  # per node what each published column has


def recode_rules(engine: Engine, request: Request, declared: Mapping[str, str]) -> RecodeRules | None:
    """The rules of a release; None where its method cannot say what becomes of other rows.

    declared: the types of the published columns.
    """
    source, forms, later = request.source, request.plan.forms, request.plan.later_rows
    if any(one.form is Form.NATIVE_RANGE for one in forms.values()):
        return None  # no file has such a type
    if later is None or later.least > MOST_NODES:
        return None
    tree = later.recoding
    if not isinstance(tree, RecodingTree) or tree.size > MOST_NODES:
        return None
    k = request.statement.policy.k or 2
    try:
        takers = [_Taker(source, one, _held(engine, source, one, k)) for one in tree.columns]
        for node in tree.nodes:
            takers[node.column].note(node.takes)
        shown = [_Shown(forms.get(one.name), one.name) for one in tree.columns]
        labels = tree.labels(np.arange(tree.size))
        columns = [one.columns(labels[one.name]) for one in shown]
    except UnreadLabelError:
        return None
    names = [name for one in columns for name in one]
    return RecodeRules(
        dialect=engine.dialect,
        raw=tuple(taker.raw for taker in takers),
        published=tuple(PublishedColumn(name, declared[name]) for name in names),
        rules=tuple(_rules(tree, takers)),
        labels=tuple(zip(*(one[name] for one in columns for name in one), strict=True)),
    )


def _rules(tree: RecodingTree, takers: Sequence[_Taker]) -> Iterator[tuple[int, ...]]:
    """Per parent disjoint runs of pieces: the rest is what no other child takes."""
    for parent, children in tree.children.items():
        number = tree.nodes[children[0] - 1].column
        taker = takers[number]
        owner: dict[int, int] = {}
        for child in sorted(children, key=lambda one: not tree.nodes[one - 1].takes.rest):
            for first, last in taker.pieces(tree.nodes[child - 1].takes):
                owner.update(dict.fromkeys(range(first, last + 1), child))
        for first, last, child in _runs(owner):
            yield parent, number + 1, first, last, child


def _runs(owner: Mapping[int, int]) -> Iterator[tuple[int, int, int]]:
    """Neighbours of one owner, together.

    >>> list(_runs({0: 7, 1: 7, 3: 7, 2: 8}))
    [(0, 1, 7), (2, 2, 8), (3, 3, 7)]
    """
    run: tuple[int, int, int] | None = None
    for piece in sorted(owner):
        if run is not None and run[1] + 1 == piece and run[2] == owner[piece]:
            run = (run[0], piece, run[2])
            continue
        if run is not None:
            yield run
        run = (piece, piece, owner[piece])
    if run is not None:
        yield run


def _held(engine: Engine, source: Source, one: RecodedColumn, k: int) -> frozenset[str]:
    """The leaves of a hierarchy file that at least k people hold."""
    if one.paths is None or _has_rule(source, one.name):
        return frozenset()
    text = engine.exact_text(exp.cast(column(one.name, "s"), "TEXT"))
    counted: exp.Expr = exp.Count(this=exp.Star())
    if source.entity is not None:
        counted = exp.Count(this=exp.Distinct(expressions=[column(source.entity, "s")]))
    query = exp.Select(expressions=[aliased(text, "ppdm_value"), aliased(counted, "ppdm_n")])
    query = query.from_(source.relation.table("s")).group_by(text.copy())
    return frozenset(value for value, people in engine.fetch(query) if value in one.paths and people >= k)


def _has_rule(source: Source, name: str) -> bool:
    """Whether the words of a column's hierarchy are ranges."""
    return isinstance((source.hierarchies or {}).get(name), CalendarLadder | IntervalLadder)


# -- raw values ------------------------------------------------------------------------------------------


@dataclass
class _Taker:
    """What the takes of one column come down to."""

    source: Source
    column: RecodedColumn
    held: frozenset[str]
    _steps: set[Step] = field(default_factory=set)
    _named: dict[str, int] = field(default_factory=dict)

    @cached_property
    def info(self) -> ColumnInfo:
        return self.source.info(self.column.name)

    @cached_property
    def reader(self) -> LabelReader:
        calendar = isinstance((self.source.hierarchies or {}).get(self.column.name), CalendarLadder)
        return LabelReader(self.info, None, (), calendar)

    def note(self, takes: Take) -> None:
        """Records what a take distinguishes."""
        for extent in self._extents(takes):
            self._steps |= {one for one in (extent.low, extent.stop) if one is not None}
        for text in self._texts(takes):
            self._named.setdefault(text, len(self._named))

    @cached_property
    def steps(self) -> list[Step]:
        if self.info.kind is Kind.FLOAT:
            self._named.setdefault("nan", len(self._named))  # it is behind every number, and in no range
        return sorted(self._steps)

    @property
    def raw(self) -> RawColumn:
        written = [self.reader.grid.write(step) for step in self.steps]
        assert None not in written  # a threshold beyond the type takes nothing: _at leaves it out
        texts = tuple(text for text in written if text is not None)
        return RawColumn(self.column.name, self.info.kind.value, self.info.declared, texts, tuple(self._named))

    def pieces(self, takes: Take) -> Pieces:
        found: Pieces = []
        last = len(self.steps) + len(self._named)
        if takes.rest or self._takes_all(takes):
            found.append((0, last))
        for extent in self._extents(takes):
            low = 0 if extent.low is None else self.steps.index(extent.low) + 1
            high = len(self.steps) if extent.stop is None else self.steps.index(extent.stop)
            found.append((low, high))
        found += [(len(self.steps) + 1 + self._named[text],) * 2 for text in self._texts(takes)]
        return [*found, (MISSING, MISSING)] if takes.missing else found

    def _takes_all(self, takes: Take) -> bool:
        """Whether a take is the root of a hierarchy."""
        if takes.word is None or self.column.paths is None:
            return False
        return bool(takes.level) and all(path[takes.level or 0] == takes.word for path in self.column.paths.values())

    def _extents(self, takes: Take) -> Iterator[Extent]:
        """The ranges that a take is about."""
        if not self.info.kind.is_ordered:
            return
        if takes.ranged:
            low, high = (None if one is None else self.reader.boundary(one) for one in (takes.low, takes.high))
            yield Extent("range", low, high)
        for text in (*takes.values, *self._leaves(takes)):
            found = self.reader.read(text)
            if found.alone is None:
                yield found

    def _texts(self, takes: Take) -> Iterator[str]:
        """The values that are named by themselves."""
        for text in (*takes.values, *self._leaves(takes)):
            if not self.info.kind.is_ordered or self.reader.read(text).alone is not None:
                yield text

    def _leaves(self, takes: Take) -> Sequence[str]:
        """What stands for a word of the hierarchy: itself where it is a range, else those leaves that k people hold."""
        if takes.word is None or self.column.paths is None or self._takes_all(takes):
            return ()
        if _has_rule(self.source, self.column.name):
            return (takes.word,)
        return [leaf for leaf in sorted(self.held) if self.column.paths[leaf][takes.level or 0] == takes.word]


# -- published values ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Shown:
    """What is published of a quasi-identifier."""

    form: FormedColumn | None
    name: str

    def columns(self, labels: Sequence[str | None]) -> dict[str, list[str | None]]:
        """Per published column the values of some labels, as texts."""
        return {self.name: list(labels)} if self.form is None else self.form.texts(labels)
