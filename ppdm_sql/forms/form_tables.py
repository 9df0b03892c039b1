"""From labels to forms, in the database: the distinct labels of a column are read once, and rows are joined with that.

    ppdm_form_<n>    per label of a column what its form publishes, as texts; rows get them in the column's own type

Rows without a label (the value is missing in the source) find nothing there, which is what is published of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.errors import PpdmError
from ppdm_sql.forms.read_labels import Extent, LabelReader, UnreadLabelError
from ppdm_sql.policy.forms import Form, form_columns
from ppdm_sql.policy.words import many
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.statements.names import Name, aliased, column

LABEL, _FROM, _TO, _KIND, _MIDDLE = (f"ppdm_{word}" for word in ("label", "from", "to", "kind", "middle"))
ESTIMATE = (
    "estimate: the middle of the range that is published for the row (of an open range the value at its bounded end); "
    "NULL: suppressed, or missing in the source"
)
_RANGE_NOTES = (
    "the first value of the range that is published for the row; NULL: open, suppressed or missing, see {name}_kind",
    "the first value beyond the range; NULL: open, suppressed or missing, see {name}_kind",
    "exact, range, suppressed, or missing (in the source)",
)
_NATIVE_NOTE = (
    "the range that is published for the row; without ends: suppressed, or any value; NULL: missing in the source"
)


@dataclass(frozen=True)
class FormedColumn:
    """A quasi-identifier and its form."""

    info: ColumnInfo
    form: Form
    hierarchy: Hierarchy | None = None  # of a file or table
    calendar: bool = False  # it has HIERARCHY CALENDAR

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def published(self) -> tuple[str, ...]:
        return form_columns(self.name, self.form)

    @property
    def notes(self) -> dict[str, str]:
        """What a reader must know of each published column."""
        if self.form is Form.RANGE:
            return {
                column: note.format(name=self.name) for column, note in zip(self.published, _RANGE_NOTES, strict=True)
            }
        return {self.name: ESTIMATE if self.form is Form.MIDPOINT else _NATIVE_NOTE}

    def load(self, engine: Engine, labels: Sequence[str]) -> Name:
        """The table of what is published for each label."""
        import pyarrow as pa

        reader = LabelReader(self.info, self.hierarchy, tuple(labels), self.calendar)
        extents = self._read(reader, labels)
        told: dict[str, Callable[[Extent], str | None]] = {
            _FROM: reader.start,
            _TO: reader.end,
            _KIND: lambda one: one.sort,
            _MIDDLE: reader.middle,
        }
        columns = {LABEL: pa.array(labels, pa.string())}
        columns |= {name: pa.array([tell(one) for one in extents], pa.string()) for name, tell in told.items()}
        return engine.work.load("form", columns, analyze=True)

    def texts(self, labels: Sequence[str | None]) -> dict[str, list[str | None]]:
        """Per published column what it has for each of some labels; UnreadLabelError where one is no range."""
        reader = LabelReader(self.info, self.hierarchy, tuple(one for one in labels if one is not None), self.calendar)
        extents = [reader.read(label) for label in labels]
        if self.form is Form.MIDPOINT:
            return {self.name: [reader.middle(one) for one in extents]}
        low, stop, kind = self.published
        return {
            low: [reader.start(one) for one in extents],
            stop: [reader.end(one) for one in extents],
            kind: [one.sort for one in extents],
        }

    def _read(self, reader: LabelReader, labels: Sequence[str]) -> list[Extent]:
        extents, unread = [], 0
        for label in labels:
            try:
                extents.append(reader.read(label))
            except UnreadLabelError:
                unread += 1
        if unread:
            told = f'column "{self.name}": {many(unread, "label")} cannot be read as a range'
            raise PpdmError(f"{told}: publish the column without AS {self.form.value}")
        return extents

    def values(self, engine: Engine, table: str | None) -> dict[str, exp.Expr]:
        """What is published in each column, over a row of the table of labels under this alias; None: suppressed."""

        def text(name: str) -> exp.Expr:
            return exp.Null() if table is None else column(name, table)

        if self.form is Form.MIDPOINT:
            return {self.name: typed(engine, self.info, text(_MIDDLE))}
        low, stop = (typed(engine, self.info, text(name)) for name in (_FROM, _TO))
        kind: exp.Expr = exp.Literal.string("suppressed")
        if table is not None:
            kind = exp.Coalesce(this=column(_KIND, table), expressions=[exp.Literal.string("missing")])
        if self.form is Form.RANGE:
            return dict(zip(self.published, (low, stop, exp.cast(kind, "TEXT")), strict=True))
        assert engine.ranges is not None  # else the policy is refused
        return {self.name: engine.ranges.make(self.info, low, stop, column(_KIND, table) if table else kind)}


def typed(engine: Engine, info: ColumnInfo, value: exp.Expr) -> exp.Expr:
    """A text as a value of a column's own type."""
    return exp.Cast(this=value, to=exp.DataType.build(info.declared, dialect=engine.dialect))


def label_text(engine: Engine, name: str, table: str) -> exp.Expr:
    """A label as it is looked up."""
    return engine.exact_text(exp.cast(column(name, table), "TEXT"))


def distinct_labels(engine: Engine, relation: Name, name: str) -> list[str]:
    """The labels of a column, without NULL, in the order of their texts."""
    label = label_text(engine, name, "s")
    known = exp.Not(this=exp.Is(this=column(name, "s"), expression=exp.Null()))
    query = exp.Select(expressions=[aliased(label, LABEL)]).from_(relation.table("s")).where(known).distinct()
    return sorted(row[0] for row in engine.fetch(query))


def formed_rows(engine: Engine, relation: Name, formed: Mapping[str, FormedColumn]) -> exp.Select:
    """The rows of a relation of labels with all its columns, some of them in their forms."""
    query = exp.Select().from_(relation.table("s"))
    for number, info in enumerate(engine.columns(relation)):
        one = formed.get(info.name)
        if one is None:
            query = query.select(aliased(column(info.name, "s"), info.name))
            continue
        table, alias = one.load(engine, distinct_labels(engine, relation, info.name)), f"f{number}"
        same = exp.EQ(this=column(LABEL, alias), expression=label_text(engine, info.name, "s"))
        query = query.join(table.table(alias), on=same, join_type="left")
        query = query.select(*(aliased(value, name) for name, value in one.values(engine, alias).items()))
    return query


def label_of_range(engine: Engine, name: str, table: str) -> exp.Expr:
    """A published range as the label that says the same, for readers of labels."""
    low, stop, kind = (column(one, table) for one in form_columns(name, Form.RANGE))

    def is_kind(word: str) -> exp.Expr:
        return exp.EQ(this=kind.copy(), expression=exp.Literal.string(word))

    return _written_range(low, stop, missing=is_kind("missing"), exact=is_kind("exact"))


def label_of_native_range(engine: Engine, name: str, table: str) -> exp.Expr:
    """The same of a range that is one value."""
    value = column(name, table)
    assert engine.ranges is not None  # the release has such a column
    low, stop, exact = engine.ranges.ends(value)
    return _written_range(low, stop, missing=_is_null(value), exact=exact)


def _written_range(low: exp.Expr, stop: exp.Expr, *, missing: exp.Expr, exact: exp.Expr) -> exp.Expr:
    def said(*parts: str | exp.Expr) -> exp.Expr:
        texts = [exp.Literal.string(one) if isinstance(one, str) else exp.cast(one.copy(), "TEXT") for one in parts]
        found: exp.Expr = texts[0]
        for one in texts[1:]:
            found = exp.DPipe(this=found, expression=one)
        return found

    return (
        exp.Case()
        .when(missing, exp.cast(exp.Null(), "TEXT"))
        .when(exact, said("", low))
        .when(exp.and_(_is_null(low), _is_null(stop)), exp.Literal.string("*"))
        .when(_is_null(low), said("< ", stop))
        .when(_is_null(stop), said(">= ", low))
        .else_(said("[", low, ", ", stop, ")"))
    )


def _is_null(one: exp.Expr) -> exp.Expr:
    return exp.Is(this=one.copy(), expression=exp.Null())
