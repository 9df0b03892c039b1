"""Rows as small codes, one per attribute that a tree asks for: the number of thresholds a value has reached, or which
of the named values it is.  Whatever the tree asks of the attribute can be told from the code alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeAlias

from sqlglot import exp

from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.trees.comparing import WORDS, below, category, comparable_value, key, position, unknown
from ppdm_sql.trees.tree import Attribute, Bands, Cut, Groups, Split, Tree, Value

NULL = -1  # the code of NULL; a value that no node names has the code behind the last
_VALUE, _CODE = "ppdm_value", "ppdm_code"
_FEW = 2  # values that are spelt out rather than joined


@dataclass
class Axis:
    """What the tree asks of one attribute: all its thresholds, or all the values it names."""

    number: int
    attribute: Attribute
    cuts: list[Decimal | str] = field(default_factory=list)  # rising
    places: dict[Decimal | str, int] = field(default_factory=dict)  # of the cuts
    codes: dict[Hashable, int] = field(default_factory=dict)  # of the values, by key
    values: list[Value] = field(default_factory=list)  # by code

    @property
    def name(self) -> str:
        """The column of its codes."""
        return f"ppdm_c{self.number}"

    @property
    def unseen(self) -> int:
        return len(self.values)

    @property
    def size(self) -> int:
        """How many codes there are, without NULL's."""
        return len(self.cuts) + 1 if self.cuts else self.unseen + 1

    def code(self, value: Value) -> int:
        return self.codes[key(self.attribute, value)]

    def band_of_code(self, split: Bands) -> list[int]:
        """Per code the band it lies in: the cut points of a node are some of those of the axis."""
        own_cuts = {self.places[at] for at in split.at}
        bands, band = [], 0
        for code in range(self.size):
            bands.append(band)
            band += code in own_cuts  # the next code has reached this threshold
        return bands


Axes: TypeAlias = Mapping[tuple[int, bool], Axis]  # by attribute, and whether it is cut: it may be cut and grouped


def axis_of(axes: Axes, split: Split) -> Axis:
    return axes[split.attribute, not isinstance(split, Groups)]


def axes_of(tree: Tree) -> Axes:
    axes: dict[tuple[int, bool], Axis] = {}
    for node in tree.nodes:
        if node.split is None:
            continue
        where = (node.split.attribute, not isinstance(node.split, Groups))
        axis = axes.setdefault(where, Axis(len(axes), tree.attributes[node.split.attribute]))
        if isinstance(node.split, Groups):
            _name_values(axis, node.split)
        else:
            axis.cuts.extend((node.split.at,) if isinstance(node.split, Cut) else node.split.at)
    for axis in axes.values():
        axis.cuts = _rising(axis.attribute, set(axis.cuts))
        axis.places = {at: number for number, at in enumerate(axis.cuts)}
    return axes


def _rising(attribute: Attribute, cuts: Iterable[Decimal | str]) -> list[Decimal | str]:
    def where(at: Decimal | str) -> Any:
        return position(attribute, at)

    return sorted(cuts, key=where)


def _name_values(axis: Axis, split: Groups) -> None:
    for value in (value for group in split.groups for value in group if value is not None):
        known = key(axis.attribute, value)
        if known not in axis.codes:
            axis.codes[known] = len(axis.values)
            axis.values.append(value)


def add_codes(engine: Engine, query: exp.Select, axes: Axes, source: str) -> exp.Select:
    """The query with the codes of every row of its relation, which has the alias `source`."""
    for axis in axes.values():
        value = comparable_value(engine, axis.attribute, source)
        if axis.cuts:
            code = _count_reached(axis, value)
        elif _is_spelt_out(axis):
            code = _spelt_out(axis, value)
        else:
            alias = f"l{axis.number}"
            table = _load_values(engine, axis)
            stored = column(_VALUE, alias)
            same = exp.EQ(this=engine.exact_text(stored) if axis.attribute.kind in WORDS else stored, expression=value)
            query = query.join(table.table(alias), on=same, join_type="left", copy=False)
            code = exp.Coalesce(this=column(_CODE, alias), expressions=[exp.Literal.number(axis.unseen)])
        told = exp.Case(ifs=[exp.If(this=unknown(value), true=exp.Literal.number(NULL))], default=code)
        query = query.select(aliased(exp.cast(told, "INT"), axis.name), copy=False)
    return query


def _count_reached(axis: Axis, value: exp.Expr) -> exp.Expr:
    """How many thresholds the value has reached: halved at each step, so that 1,000 of them take ten questions."""

    def between(low: int, high: int) -> exp.Expr:
        if low == high:
            return exp.Literal.number(low)
        middle = (low + high) // 2
        under = below(axis.attribute, axis.cuts[middle], value)
        return exp.Case(ifs=[exp.If(this=under, true=between(low, middle))], default=between(middle + 1, high))

    return between(0, len(axis.cuts))


def _is_spelt_out(axis: Axis) -> bool:
    """Few values, or whole numbers that no type common to all engines holds."""
    whole = [value for value in axis.values if isinstance(value, int)]
    wide = axis.attribute.kind is Kind.INTEGER and any(not -(1 << 63) <= value < 1 << 63 for value in whole)
    return wide or len(axis.values) <= _FEW


def _spelt_out(axis: Axis, value: exp.Expr) -> exp.Expr:
    written = [(category(axis.attribute, item), code) for code, item in enumerate(axis.values)]
    ifs = [
        exp.If(this=exp.EQ(this=value.copy(), expression=item), true=exp.Literal.number(code))
        for item, code in written
        if item is not None
    ]
    unseen = exp.Literal.number(axis.unseen)
    return exp.Case(ifs=ifs, default=unseen) if ifs else unseen


def _load_values(engine: Engine, axis: Axis) -> Name:
    """The (value, code) table of an axis.  Values travel as text and get the column's type in the database."""
    import pyarrow as pa

    written = [(category(axis.attribute, value), code) for code, value in enumerate(axis.values)]
    fitting = [(_text_of(item), code) for item, code in written if item is not None]
    texts, codes = [text for text, _ in fitting], [code for _, code in fitting]
    typed = exp.cast(column(_VALUE), _type_of(axis.attribute))
    work = engine.work
    with engine.workspace() as tables:
        columns = {_VALUE: pa.array(texts, pa.string()), _CODE: pa.array(codes, pa.int32())}
        loaded = tables.load("predict_texts", columns)
        picked = exp.Select(expressions=[aliased(typed, _VALUE), column(_CODE)]).from_(loaded.table())
        return work.table("predict_values", picked, analyze=True)


def _text_of(literal: exp.Expr) -> str:
    """What stands in the literal: the text in its cast, its digits, or true and false."""
    if isinstance(literal, exp.Boolean):
        return "true" if literal.this else "false"
    inner = literal.find(exp.Literal)
    assert inner is not None
    return f"-{inner.this}" if isinstance(literal, exp.Neg) else str(inner.this)


def _type_of(attribute: Attribute) -> exp.DataType:
    words = {
        Kind.INTEGER: "BIGINT",
        Kind.FLOAT: "DOUBLE",
        Kind.BOOLEAN: "BOOLEAN",
        Kind.DATE: "DATE",
        Kind.TIMESTAMP: "TIMESTAMPTZ" if attribute.zoned else "TIMESTAMP",
        Kind.DECIMAL: "DECIMAL" if attribute.scale is None else f"DECIMAL(38, {attribute.scale})",
    }
    return exp.DataType.build(words.get(attribute.kind, "TEXT"), dialect="duckdb")
