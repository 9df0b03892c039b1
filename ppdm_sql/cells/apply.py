"""Parts back to rows: the rows of the source joined to their cells, each with its part and nothing that a label says.

    ppdm_parts     a row per cell that is published: its part
    ppdm_placed    the same with its values and the keys that follow from these; a table where the engine would
                   otherwise work the keys out for every row
    ppdm_joined    where cells are divided and the engine works out again what is read twice: the rows with their
                   cells and parts
    ppdm_shares    of cells whose rows go to several parts: which places of a bag go where
    ppdm_labels    a row per part: what is printed of every quasi-identifier

Rows stay narrow: labels are joined when a release is stored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import takewhile

from sqlglot import exp

from ppdm_sql.cells.aggregate import CELL, KEYED, join_codes, same_cell, with_keyed
from ppdm_sql.cells.cells import KEY, Cells
from ppdm_sql.cells.parts import DIVIDED, DROPPED, ENTITY, PART, Parts, Shares
from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.source.encode import canonical
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import Name, aliased, column

_BAG, _RANK, _FIRST, _LAST, _WEIGHT = (f"ppdm_{word}" for word in ("bag", "rank", "first", "last", "weight"))
_JOINED, _PLACED = "ppdm_joined", "ppdm_placed"
# Values of these types that are equal print alike, so a key of a cell's values is the key of each of its rows.
PRINTED_ALIKE = (Kind.INTEGER, Kind.TEXT, Kind.BOOLEAN, Kind.DATE, Kind.UUID)


def load_labels(
    engine: Engine, labels: Mapping[str, Sequence[str | None]], classes: int
) -> tuple[Name, dict[str, exp.Expr]]:
    """The table of labels, and each column of it as it is read under the alias "l"."""
    import pyarrow as pa

    columns = {PART: pa.array(range(classes), pa.int32())}
    columns |= {f"ppdm_l{number}": pa.array(texts, pa.string()) for number, texts in enumerate(labels.values())}
    table = engine.work.lend("labels", columns)
    return table, {name: column(f"ppdm_l{number}", "l") for number, name in enumerate(labels)}


def narrow_rows(
    engine: Engine,
    source: Source,
    cells: Cells,
    parts: Parts,
    private: Mapping[str, exp.Expr],
    seed: int,
    nulled: Collection[str] = (),
) -> exp.Select:
    """The rows that are published: PART, the columns that are published unchanged, the person, and the private columns.

    private: expressions over the alias "r" of the source.  nulled: columns that leave as NULL.
    """
    rows = _Rows(engine, source, cells, parts, private, seed, nulled)
    return rows.divided() if parts.is_divided else rows.whole()


class _Rows:
    def __init__(
        self,
        engine: Engine,
        source: Source,
        cells: Cells,
        parts: Parts,
        private: Mapping[str, exp.Expr],
        seed: int,
        nulled: Collection[str],
    ) -> None:
        self.engine, self.source, self.cells, self.parts, self.seed = engine, source, cells, parts, seed
        self.nulled = nulled
        self._keys: dict[exp.Expr, str] = {}
        self.private = {name: self._with_keys(one) for name, one in private.items()}

    def whole(self) -> exp.Select:
        """Every cell is in one part."""
        return self._rows([aliased(column(PART, "p"), PART)])

    def divided(self) -> exp.Select:
        """Some cells are in bags: their rows are put in order, and the shares say which place goes where.

        A table of all rows with their cells would not fit into little memory: the rows of whole cells and those of
        divided ones are looked up one after the other, unless the engine works out again what is read twice.
        """
        named = [*self._published(), *self.private]
        if self.engine.repeats_subqueries:
            joined = self._rows([column(name, "p") for name in (PART, _BAG, CELL)])
            whole = _pick([PART, *named], "j").where(_is_whole("j"))
            inner = _pick([_BAG, CELL, *named], "j").where(_is_divided("j"))
            return self._both(whole, inner, named).with_(_JOINED, as_=joined)
        whole = self._rows([column(PART, "p")]).where(_is_whole("p"))
        inner = self._rows([column(name, "p") for name in (_BAG, CELL)]).where(_is_divided("p"))
        query = self._both(whole, inner, named)
        if self._meets_cells:
            placed = self._placed_cells()
            query = query.with_(_PLACED, as_=placed, materialized=self.engine.materializes or None)
        return query

    def _both(self, whole: exp.Select, inner: exp.Select, named: Sequence[str]) -> exp.Select:
        """The rows of whole cells and those of divided ones."""
        every = exp.Union(this=whole, expression=self._move_rows(inner, named), distinct=False).subquery("z")
        return exp.Select(expressions=[column(name, "z") for name in (PART, *named)]).from_(every)

    def _move_rows(self, inner: exp.Select, named: Sequence[str]) -> exp.Select:
        """The rows of divided cells, each with the part of its place."""
        if self._has_weights:
            inner = self._weighted(inner, named)
        order = exp.Order(expressions=[*self._order("x")])
        rank = exp.Window(this=exp.RowNumber(), partition_by=[column(_BAG, "x")], order=order)
        ranked = exp.Select(expressions=[*(column(name, "x") for name in (_BAG, *named)), aliased(rank, _RANK)])
        ranked = ranked.from_(inner.subquery("x"))
        assert self.parts.shares is not None
        shares = _load_shares(self.engine, self.parts.shares)
        inside = exp.Between(this=column(_RANK, "y"), low=column(_FIRST, "s"), high=column(_LAST, "s"))
        same = exp.EQ(this=column(_BAG, "s"), expression=column(_BAG, "y"))
        moved = exp.Select(expressions=[column(PART, "s"), *(column(name, "y") for name in named)])
        return moved.from_(ranked.subquery("y")).join(shares.table("s"), on=exp.and_(same, inside))

    # -- rows --------------------------------------------------------------------------------------

    def _rows(self, first: Sequence[exp.Expr]) -> exp.Select:
        picked = [*first, *(aliased(value, name) for name, value in self._published().items())]
        picked += [aliased(value, name) for name, value in self.private.items()]
        return self._join_cells(picked)

    def _join_cells(self, picked: Sequence[exp.Expr]) -> exp.Select:
        """Expressions over the rows of the source "r" and their cells "p"."""
        query = exp.Select(expressions=[one.copy() for one in picked]).from_(self.source.relation.table("r"))
        if not self._meets_cells:
            query, key = join_codes(self.engine, self.source, self.cells, query)
            return query.join(self._loaded_parts.table("p"), on=exp.EQ(this=column(KEY, "p"), expression=key))
        return query.join(self._place(), on=same_cell(self.engine, self.source, self.cells, "r", "p"))

    @property
    def _meets_cells(self) -> bool:
        """Whether a row finds its cell by its values: where cells are few, and what follows from them is shared.

        Otherwise the codes of a row are looked up, and cells do not have to be at hand.
        """
        return self.cells.codes is None or 2 * len(self.cells) < self.cells.total

    def _published(self) -> dict[str, exp.Expr]:
        """What is published unchanged; as plain text where its type would list values that do not leave."""
        found: dict[str, exp.Expr] = {}
        for name in self.source.passed:
            plain: exp.Expr = column(name, "r")
            if name in self.nulled:
                plain = exp.Case(ifs=[exp.If(this=exp.false(), true=plain)])  # NULL of the column's type
            found[name] = self.engine.exact_text(plain) if self.source.info(name).kind is Kind.TEXT else plain
        if self.source.entity is not None:
            found[ENTITY] = canonical(self.engine, self.source.info(self.source.entity), "r")
        return found

    def _weighted(self, rows: exp.Select, named: Sequence[str]) -> exp.Select:
        """Rows of divided cells with a weight: 1 for one row of each person, in the first of his cells.

        Only these rows are put in order: of a person whose first cell is not divided, none of them weighs 1.
        """
        order = exp.Order(expressions=[exp.Ordered(this=column(CELL, "w")), *self._order("w", weighted=False)])
        place = exp.Window(this=exp.RowNumber(), partition_by=[column(ENTITY, "w")], order=order)
        first = exp.And(
            this=exp.EQ(this=place, expression=exp.Literal.number(1)),
            expression=exp.EQ(this=column(CELL, "w"), expression=column(_FIRST, "f")),
        )
        weight = exp.Case(ifs=[exp.If(this=first, true=exp.Literal.number(1))], default=exp.Literal.number(0))
        kept = [column(name, "w") for name in (_BAG, CELL, *named)]
        query = exp.Select(expressions=[*kept, aliased(weight, _WEIGHT)]).from_(rows.subquery("w"))
        same = exp.EQ(this=column(ENTITY, "f"), expression=column(ENTITY, "w"))
        return query.join(self._first_cells().subquery("f"), on=same, join_type="LEFT")

    def _first_cells(self) -> exp.Select:
        """Every person with the first of his cells that are published."""
        picked = [column(ENTITY, "j"), aliased(exp.Min(this=column(CELL, "j")), _FIRST)]
        return exp.Select(expressions=picked).from_(self._persons_in_cells()).group_by(column(ENTITY, "j"))

    def _persons_in_cells(self) -> exp.Expr:
        """Every row's person and cell, as "j"."""
        if self.engine.repeats_subqueries:
            return Name(_JOINED).table("j")
        person = self._published()[ENTITY]
        return self._join_cells([aliased(person, ENTITY), column(CELL, "p")]).subquery("j")

    def _order(self, alias: str, *, weighted: bool = True) -> list[exp.Expr]:
        """The keyed order of rows that are alike to the method; rows with a weight come first."""
        first = [exp.Ordered(this=column(_WEIGHT, alias), desc=True)] if weighted and self._has_weights else []
        values = [column(name, alias) for name in (CELL, *self.private, *self.source.passed)]
        return [*first, exp.Ordered(this=self.engine.quick_hash(values, self.seed))]

    @property
    def _has_weights(self) -> bool:
        return self.source.entity is not None

    # -- cells -------------------------------------------------------------------------------------

    def _place(self) -> exp.Expr:
        """The cells that are published, as "p"."""
        if not self.engine.repeats_subqueries:
            return Name(_PLACED).table("p") if self.parts.is_divided else self._placed_cells().subquery("p")
        query = self._placed_cells()
        return self.engine.work.table("placed", query, analyze=True).table("p")

    def _placed_cells(self) -> exp.Select:
        """The cells that are published, with their parts and what private columns need of their values."""
        values = [column(self.cells.value_column(name), "c") for name in self.cells.columns]
        told = [CELL, PART, *([_BAG] if self.parts.bag is not None else [])]
        picked: list[exp.Expr] = [*(column(name, "n") for name in told), *values]
        picked += [aliased(self._over_cells(one), name) for one, name in self._keys.items()]
        query = exp.Select(expressions=picked).from_(KEYED.table("c"))
        loaded = self._loaded_parts
        query = query.join(loaded.table("n"), on=exp.EQ(this=column(KEY, "n"), expression=column(KEY, "c")))
        return with_keyed(self.engine, query, self.cells)

    @cached_property
    def _loaded_parts(self) -> Name:
        """The parts of cells that are published."""
        import pyarrow as pa

        parts = self.parts
        kept = parts.part != DROPPED
        columns = {CELL: kept.nonzero()[0], PART: parts.part[kept]}
        if parts.bag is not None:
            columns[_BAG] = parts.bag[kept]
        arrays = {name: pa.array(values, pa.int32()) for name, values in columns.items()}
        keys = {KEY: pa.array(self.cells.keys[kept], pa.int64())}
        return self.engine.work.lend("parts", arrays | keys, analyze=True)

    def _with_keys(self, value: exp.Expr) -> exp.Expr:
        """The expression over a row; what follows from the values of its cell is worked out once per cell."""
        if isinstance(value, exp.Column) or not value.find(exp.Column):
            return value.copy()
        if self._meets_cells and self._is_of_cells(value):
            name = self._keys.setdefault(value, f"ppdm_h{len(self._keys)}")
            return column(name, "p")
        made = self._with_one_end(value) if isinstance(value, exp.Concat) else value.copy()
        for child in list(made.iter_expressions()):
            if not isinstance(child, exp.Identifier | exp.DataType):
                child.replace(self._with_keys(child))
        return made

    def _with_one_end(self, text: exp.Concat) -> exp.Expr:
        """The texts at the end that are the same for all rows of a cell, put together once for them."""
        pieces = text.expressions
        end = len(list(takewhile(self._is_of_cells, reversed(pieces))))
        if end < 2 or not self._meets_cells:
            return text.copy()
        made = text.copy()
        last = exp.Concat(expressions=made.expressions[-end:], safe=True, coalesce=True)
        made.set("expressions", [*made.expressions[:-end], last])
        return made

    def _is_of_cells(self, value: exp.Expr) -> bool:
        """Whether an expression over a row is the same for all rows of a cell."""
        names = {one.name for one in value.find_all(exp.Column)}
        return names <= set(self.cells.columns) and all(self.source.info(name).kind in PRINTED_ALIKE for name in names)

    def _over_cells(self, value: exp.Expr) -> exp.Expr:
        """The same expression over the values of a cell."""
        moved = value.copy()
        for one in list(moved.find_all(exp.Column)):
            one.replace(column(self.cells.value_column(one.name), "c"))
        return moved


def _pick(names: Sequence[str], alias: str) -> exp.Select:
    """Columns of the rows that were joined to their cells."""
    return exp.Select(expressions=[column(name, alias) for name in names]).from_(Name(_JOINED).table(alias))


def _is_whole(alias: str) -> exp.Expr:
    return exp.GTE(this=column(PART, alias), expression=exp.Literal.number(0))


def _is_divided(alias: str) -> exp.Expr:
    return exp.EQ(this=column(PART, alias), expression=exp.convert(DIVIDED))


def _load_shares(engine: Engine, shares: Shares) -> Name:
    import pyarrow as pa

    kept = shares.part != DROPPED
    columns = {_BAG: shares.bag, _FIRST: shares.first, _LAST: shares.last, PART: shares.part}
    return engine.work.lend(
        "shares", {name: pa.array(values[kept], pa.int32()) for name, values in columns.items()}, analyze=True
    )
