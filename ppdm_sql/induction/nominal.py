"""A multiway tree grown from codes that are there already: for a method that has encoded its table itself.

`inducers.induce` reads a relation and ends with a tree over values; here the caller gives a query over its own
working tables and gets the tree in its own codes, so nothing is encoded twice and no row is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.induction.candidates import Rules, Veto
from ppdm_sql.induction.coded import SLOT, Training, make_packs
from ppdm_sql.induction.coded_attribute import CodedAttribute
from ppdm_sql.induction.criteria import TIE, Flags, Floats, Ints, entropy
from ppdm_sql.induction.grow import Grown, Limits, grow
from ppdm_sql.induction.prune import error_based
from ppdm_sql.induction.tree_rows import EngineRows, TreeRows
from ppdm_sql.source.encode import Lookup
from ppdm_sql.statements.names import aliased
from ppdm_sql.trees.tree import Attribute
from ppdm_sql.watching import Progress, silent


@dataclass(frozen=True)
class Nominal:
    """A column of codes 0 .. size - 1, each a value of its own; the expression is one of the caller's query."""

    lookup: Lookup
    code: exp.Expr
    size: int


def grow_nominal(
    engine: Engine,
    query: exp.Select,
    attributes: Sequence[Nominal],
    target: Nominal,
    counts: Ints,
    *,
    min_leaf: int,
    min_rows: int,
    confidence: float | None = None,
    by_ratio: bool = True,
    max_depth: int | None = None,
    veto: Veto | None = None,
    progress: Progress = silent,
) -> list[Grown]:
    """C4.5's choice among multiway splits, each attribute once on a way; the root comes first.

    query: FROM and joins, without columns.  counts: rows per class of the whole table.  min_rows: a node with
    fewer is not split.  confidence: of error-based pruning, None for none.  by_ratio: False is ID3's choice, the
    greatest gain.
    """
    packs = make_packs([max(one.size, 1) for one in attributes], target.size)
    rows = int(counts.sum())
    slot_type = engine.code_type(max(rows + 2, 1 << 9))
    for pack in packs:
        codes = [(attributes[member].code, attributes[member].size) for member in pack.members]
        packed = mixed_radix([*codes, (target.code, target.size)])
        query = query.select(aliased(exp.Cast(this=packed, to=engine.code_type(pack.cells)), pack.name))
    query = query.select(aliased(exp.Cast(this=exp.Literal.number(1), to=slot_type.copy()), SLOT))
    table = engine.work.table("tree", query, analyze=True)
    coded = tuple(map(_code, attributes))
    classes = tuple(range(target.size))
    attribute = Attribute(target.lookup.column.name, Kind.INTEGER, ordered=False)
    training = Training(table, coded, attribute, classes, packs, rows, 0, slot_type)
    growth = NominalGrowth(min_leaf, min_rows, confidence, by_ratio, max_depth, veto)
    return growth.run(EngineRows(engine, training), counts, progress)


@dataclass(frozen=True)
class NominalGrowth:
    """C4.5's choice among multiway splits, each attribute once on a way.

    min_rows: a node with fewer is not split.  confidence: of error-based pruning, None for none.  by_ratio: False is
    ID3's choice, the greatest gain.
    """

    min_leaf: int
    min_rows: int
    confidence: float | None = None
    by_ratio: bool = True
    max_depth: int | None = None
    veto: Veto | None = None  # may forbid splits

    def run(self, rows: TreeRows, counts: Ints, progress: Progress) -> list[Grown]:
        """The nodes, the root first.  counts: rows per class of the whole table."""
        number = len(rows.attributes)
        deepest = number if self.max_depth is None else min(self.max_depth, number)
        limits = Limits(deepest, max(2 * self.min_leaf, 2, self.min_rows), None, 0.0, by_ratio=self.by_ratio)
        nodes = grow(rows, counts, _rules(self.min_leaf), limits, self.veto, progress)
        if self.confidence is not None:
            error_based(nodes, self.confidence)
        return nodes


@dataclass(frozen=True)
class NominalAttribute:
    """An attribute of cells: codes 0 .. size - 1, each a value of its own."""

    attribute: Attribute
    size: int

    @property
    def null(self) -> int | None:
        return None

    @property
    def gaps(self) -> Flags:
        return np.zeros(self.size, dtype=bool)


def mixed_radix(codes: Sequence[tuple[exp.Expr, int]]) -> exp.Expr:
    """Several codes as one number, exactly: ((a * size of b) + b) * size of c + c ...

    A code that is always 0 adds nothing and is left out: hundreds of them would nest too deeply.

    >>> from ppdm_sql.statements.names import column
    >>> mixed_radix([(column("a"), 9), (column("b"), 5)]).sql("duckdb")
    '(CAST("a" AS BIGINT)) * 5 + CAST("b" AS BIGINT)'
    """
    key: exp.Expr = exp.cast(codes[0][0].copy(), "BIGINT")
    for code, size in ((code, size) for code, size in codes[1:] if size > 1):
        product = exp.Mul(this=exp.Paren(this=key), expression=exp.Literal.number(size))
        key = exp.Add(this=product, expression=exp.cast(code.copy(), "BIGINT"))
    return key


def _code(one: Nominal) -> CodedAttribute:
    places = np.arange(one.size)
    attribute = Attribute(one.lookup.column.name, one.lookup.column.kind, ordered=False)
    none = np.zeros(one.size, dtype=bool)
    return CodedAttribute(attribute, one.lookup, max(one.size, 1), None, None, places, places, none)


def _rules(min_leaf: int) -> Rules:
    def rows(counts: Ints) -> Ints:
        return np.asarray(counts.sum(axis=-1))

    def tolerance(totals: Ints) -> Floats:
        return np.asarray(TIE * rows(totals), dtype=np.float64)

    return Rules(entropy, rows, tolerance, min_leaf, lambda total: np.full_like(total, min_leaf), False, False)
