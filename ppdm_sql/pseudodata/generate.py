"""Pseudo-rows, set-wise in SQL: PGEN and BASEGEN (Tian, Zhang, Xu, Sharkey, section 5).

Every row has a number, and what is random about it is a function of that number (draws.py).  A leaf is a recipe
(paths.py); the recipes, and the values and ranges they draw from, go into small working tables, and one query makes
the rows from those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.pseudodata.domains import Bounds, Declared, Domain, domains_of
from ppdm_sql.pseudodata.draws import PRIME, draw_number, scale_draw
from ppdm_sql.pseudodata.intervals import ends_by_width, narrow_recipe
from ppdm_sql.pseudodata.paths import CLASSES, Recipe, recipes
from ppdm_sql.pseudodata.values import (
    category_from_text,
    category_text,
    is_wide,
    listed_type,
    range_figures,
    range_value,
)
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.trees.comparing import category
from ppdm_sql.trees.expression import class_expression
from ppdm_sql.trees.tree import Tree, Value

_BLOCK = 1000
_ROW, _PLACE, _CODE = "ppdm_row", "ppdm_place", "ppdm_code"


@dataclass(frozen=True)
class GenerationOrder:
    """What was asked for."""

    algorithm: str = "pgen"
    rows: int | None = None  # None: as many as the model was learned from, so many times
    times: int = 1
    seed: int = 0
    classes: str = CLASSES[0]  # as the leaf counts them, majority exact and others even (quota), or drawn one by one
    domains: Mapping[str, Declared] | None = None
    numbers: str = "uniform"  # where in its interval a number lies: intervals.NUMBERS
    bands: str = "even"  # which of several intervals a row gets: intervals.BANDS


def choices(order: GenerationOrder) -> list[str]:
    """What was chosen of the things that PGEN leaves open, where it is not what the paper does.

    >>> choices(GenerationOrder()), choices(GenerationOrder(numbers="midpoint", bands="width"))
    ([], ['numbers at the midpoint', 'bands by width'])
    """
    numbers = [] if order.numbers == "uniform" else [f"numbers at the {order.numbers}"]
    return numbers + ([] if order.bands == "even" else [f"bands by {order.bands}"])


@dataclass(frozen=True)
class Made:
    """A query over working tables that gives the rows."""

    query: exp.Select
    columns: tuple[str, ...]
    rows: int
    numbers: Name  # the working table with the number of every row

    def store(self, engine: Engine, label: str) -> Name:
        """Makes the rows into a working table; the numbers they were made from are as many, and go."""
        made = engine.work.table(label, self.query)
        engine.work.drop(self.numbers)
        return made


@dataclass(frozen=True)
class _Drawn:
    """A column as it is drawn: from a list of categories, from one range a recipe, or first one of several ranges."""

    number: int
    domain: Domain
    is_banded: bool
    is_wide: bool
    table: Name  # the working table of its categories or of its ranges, where there are such
    ends: Sequence[Sequence[int]] | None = None  # per recipe below which draw its bands end; None: all alike

    @property
    def is_listed(self) -> bool:
        return self.domain.bounds is None

    @property
    def has_shared_lists(self) -> bool:
        return self.domain.is_declared


@dataclass(frozen=True)
class _Tables:
    """The working tables that all columns share."""

    numbers: Name
    classes: Name
    recipes: Name


def generate(engine: Engine, tree: Tree, order: GenerationOrder, shared: Mapping[int, Domain] | None = None) -> Made:
    """The rows of a pseudo-table: the columns of the model in its order, then the target.

    shared: domains that several models have in common, instead of the model's own.
    """
    domains = domains_of(tree, order.domains or {}) if shared is None else shared
    made = recipes(tree, domains, order.rows, order.seed, by_counts=order.classes == "counts", times=order.times)
    if order.algorithm == "basegen":
        made = [_anywhere(domains, sum(recipe.rows for recipe in made), len(tree.classes))]
    narrowed = (
        made if order.numbers == "uniform" else [narrow_recipe(recipe, domains, order.numbers) for recipe in made]
    )
    columns = [_column(engine, number, domain, narrowed) for number, domain in domains.items()]
    if order.bands == "width":  # of the intervals as the paths have them
        columns = [_by_width(one, made) for one in columns]
    made = narrowed
    tables = _load(engine, tree, made, columns, order)
    return _query(engine, tree, made, columns, tables, order)


def _anywhere(domains: Mapping[int, Domain], rows: int, classes: int) -> Recipe:
    """BASEGEN: every column uniform over its domain; the tree says the class afterwards."""
    values = {number: domain.values or (None,) for number, domain in domains.items() if domain.bounds is None}
    bounds = {number: (domain.bounds,) for number, domain in domains.items() if domain.bounds is not None}
    return Recipe(0, rows, (rows, *([0] * (classes - 1))), values, bounds)


def _column(engine: Engine, number: int, domain: Domain, made: Sequence[Recipe]) -> _Drawn:
    if domain.bounds is None:
        return _Drawn(number, domain, is_banded=False, is_wide=False, table=engine.work.name("pseudo_categories"))
    ranges = [one for recipe in made for one in recipe.bounds[number]]
    banded, table = len(ranges) > len(made), engine.work.name("pseudo_ranges")
    return _Drawn(number, domain, is_banded=banded, is_wide=is_wide(domain, ranges), table=table)


def _by_width(one: _Drawn, made: Sequence[Recipe]) -> _Drawn:
    if not one.is_banded:
        return one
    return replace(one, ends=[ends_by_width(recipe.bounds[one.number], one.domain.steps) for recipe in made])


# -- working tables --------------------------------------------------------------------------------------


def _load(
    engine: Engine, tree: Tree, made: Sequence[Recipe], columns: Sequence[_Drawn], order: GenerationOrder
) -> _Tables:
    """Recipes, and the rows by their numbers: blocks of at most 1,000 joined with the numbers 0 .. 999.

    The numbers are stored, because what reads a large table is shared out over all processors.
    """
    blocks: dict[str, list[int]] = {"ppdm_recipe": [], "ppdm_start": [], "ppdm_base": [], "ppdm_size": []}
    start = 0
    for number, recipe in enumerate(made):
        for base in range(0, recipe.rows, _BLOCK):
            size = min(_BLOCK, recipe.rows - base)
            for name, value in zip(blocks, (number, start, base, size), strict=True):
                blocks[name].append(value)
            start += size
    work = engine.work
    several, digits = work.name("pseudo_blocks"), work.name("pseudo_digits")
    tables = _Tables(work.name("pseudo_numbers"), work.name("pseudo_classes"), work.name("pseudo_recipes"))
    _store(engine, several, blocks)
    _store(engine, digits, {"ppdm_d": list(range(_BLOCK))})
    engine.create_table(tables.numbers, _numbered_rows(several, digits), temporary=True)
    _store(engine, tables.classes, _class_ranges(made))
    figures: dict[str, list[Any]] = {"ppdm_recipe": list(range(len(made)))}
    for one in columns:
        figures |= _load_column(engine, one, made)
    if order.classes == "draw":
        figures["ppdm_major"] = [_major(tree, recipe) for recipe in made]
        figures["ppdm_hits"] = [_share(tree, recipe) for recipe in made]
    _store(engine, tables.recipes, figures)
    return tables


def _numbered_rows(blocks: Name, digits: Name) -> exp.Select:
    """Every row: its recipe, its number among all rows, and its place among those of its recipe."""
    picked: list[exp.Expr] = [column("ppdm_recipe", "b")]
    picked += [
        aliased(exp.Add(this=column(start, "b"), expression=column("ppdm_d", "d")), name)
        for start, name in (("ppdm_start", _ROW), ("ppdm_base", _PLACE))
    ]
    inside = exp.LT(this=column("ppdm_d", "d"), expression=column("ppdm_size", "b"))
    return exp.Select(expressions=picked).from_(blocks.table("b")).join(digits.table("d"), on=inside)


def _load_column(engine: Engine, one: _Drawn, made: Sequence[Recipe]) -> dict[str, list[Any]]:
    """Stores what a column is drawn from, and gives what a draw needs to know of each recipe."""
    number = one.number
    if one.is_listed:
        return _loaded_lists(engine, one, [recipe.values[number] for recipe in made])
    if not one.is_banded:
        return range_figures(one.domain, number, [recipe.bounds[number][0] for recipe in made], wide=one.is_wide)
    bands = [(place, index, band) for place, recipe in enumerate(made)
             for index, band in enumerate(recipe.bounds[number])]  # fmt: skip
    keys = {"ppdm_recipe": [place for place, _, _ in bands], "ppdm_i": [index for _, index, _ in bands]}
    if one.ends is not None:
        keys["ppdm_end"] = [one.ends[place][index] for place, index, _ in bands]
        keys["ppdm_begin"] = [one.ends[place][index - 1] if index else 0 for place, index, _ in bands]
    ranges: list[Bounds] = [band for _, _, band in bands]
    _store(engine, one.table, keys | range_figures(one.domain, number, ranges, wide=one.is_wide))
    return {f"ppdm_b{number}": [len(recipe.bounds[number]) for recipe in made]}


def _loaded_lists(engine: Engine, one: _Drawn, lists: Sequence[tuple[Value, ...]]) -> dict[str, list[Any]]:
    """Declared categories may be many, and most leaves draw from all: a list of several leaves is stored once."""
    stored = list(dict.fromkeys(lists)) if one.has_shared_lists else lists
    listed = [(place, index, value) for place, found in enumerate(stored) for index, value in enumerate(found)]
    keys = {"ppdm_recipe": [place for place, _, _ in listed], "ppdm_i": [index for _, index, _ in listed]}
    texts = [category_text(one.domain.attribute, value) for _, _, value in listed]
    _store(engine, one.table, {**keys, "ppdm_v": texts})
    sizes = {f"ppdm_n{one.number}": [len(found) for found in lists]}
    if not one.has_shared_lists:
        return sizes
    places = {found: place for place, found in enumerate(stored)}
    return sizes | {f"ppdm_s{one.number}": [places[found] for found in lists]}


def _class_ranges(made: Sequence[Recipe]) -> dict[str, list[int]]:
    ranges: dict[str, list[int]] = {"ppdm_recipe": [], "ppdm_first": [], "ppdm_last": [], "ppdm_class": []}
    for number, recipe in enumerate(made):
        first = 0
        for code, count in enumerate(recipe.classes):
            if count:
                for name, value in zip(ranges, (number, first, first + count - 1, code), strict=True):
                    ranges[name].append(value)
            first += count
    return ranges


def _major(tree: Tree, recipe: Recipe) -> int:
    return tree.nodes[recipe.leaf].majority


def _share(tree: Tree, recipe: Recipe) -> int:
    """The chance of the majority class, in steps of the prime."""
    leaf = tree.nodes[recipe.leaf]
    return leaf.counts[leaf.majority] * PRIME // max(leaf.rows, 1)


def _store(engine: Engine, name: Name, columns: Mapping[str, Sequence[Any]]) -> None:
    import pyarrow as pa

    def kind(key: str, values: Sequence[Any]) -> pa.DataType:
        if key == "ppdm_v":
            return pa.string()
        return pa.float64() if any(isinstance(value, float) for value in values) else pa.int64()

    engine.load(name, pa.table({key: pa.array(list(values), kind(key, values)) for key, values in columns.items()}))
    engine.analyze(name)


# -- the query -------------------------------------------------------------------------------------------


def _query(
    engine: Engine,
    tree: Tree,
    made: Sequence[Recipe],
    columns: Sequence[_Drawn],
    tables: _Tables,
    order: GenerationOrder,
) -> Made:
    """Every row's draws in an inner query, where each is computed once; around it the joins that turn them into values.

    A draw written into the condition of a join would be computed again wherever its expression repeats itself.
    """
    row = column(_ROW, "n")
    draws: list[exp.Expr] = [column("ppdm_recipe", "n"), column(_PLACE, "n")]
    values: list[exp.Expr] = []
    joins: list[exp.Join] = []
    for one in columns:
        known, value, join = _with_draws(one, row, order.seed)
        draws += known
        values.append(aliased(value, one.domain.name))
        joins += join
    names = tuple(one.domain.name for one in columns)
    shown = (*names, tree.target.name)
    rows = sum(recipe.rows for recipe in made)
    kind = listed_type(tree.target, tree.classes)
    if order.algorithm == "basegen":
        values = values or [column("ppdm_recipe", "x")]  # a model of one leaf asks for nothing
    elif order.classes == "draw":
        draws.append(aliased(_drawn_class(draw_number(row, order.seed, "ppdm_class"), len(tree.classes)), _CODE))
        values.append(aliased(exp.cast(_class_value(tree, column(_CODE, "x")), kind), tree.target.name))
    else:
        within = exp.Between(this=column(_PLACE, "x"), low=column("ppdm_first", "c"), high=column("ppdm_last", "c"))
        joins.append(_join(tables.classes, "c", exp.And(this=_of_recipe("c"), expression=within)))
        values.append(aliased(exp.cast(_class_value(tree, column("ppdm_class", "c")), kind), tree.target.name))
    same = exp.EQ(this=column("ppdm_recipe", "r"), expression=column("ppdm_recipe", "n"))
    inner = exp.Select(expressions=draws).from_(tables.numbers.table("n")).join(tables.recipes.table("r"), on=same)
    query = exp.Select(expressions=values, joins=joins).from_(inner.subquery("x", copy=False), copy=False)
    if order.algorithm == "basegen":
        told = aliased(exp.cast(class_expression(engine, tree, "x"), kind), tree.target.name)
        query = exp.Select(expressions=[*(column(name, "x") for name in names), told]).from_(query.subquery("x"))
    return Made(query, shown, rows, tables.numbers)


def _with_draws(one: _Drawn, row: exp.Expr, seed: int) -> tuple[list[exp.Expr], exp.Expr, list[exp.Join]]:
    """Of a column: what is drawn for every row, the value that follows from it, and the join it comes by."""
    name, number = one.domain.name, one.number
    draw = draw_number(row, seed, name)
    at, key = f"ppdm_x{number}", f"ppdm_k{number}"
    known: list[exp.Expr]
    if one.is_listed:
        listed = "ppdm_recipe"
        known = [aliased(scale_draw(draw, column(f"ppdm_n{number}", "r")), key)]
        if one.has_shared_lists:
            listed = f"ppdm_s{number}"
            known.append(column(listed, "r"))
        joined = _join(one.table, f"p{number}", _list_entry(f"p{number}", listed, key), "LEFT")
        return known, category_from_text(one.domain, column("ppdm_v", f"p{number}")), [joined]
    draws = (draw_number(row, seed, f"{name} high"), draw) if one.is_wide else (draw, draw)
    if not one.is_banded:
        value = range_value(one.domain, number, draws, "r", wide=one.is_wide)
        return [aliased(value, at)], column(at, "x"), []
    bands = f"w{number}"
    band = draw_number(row, seed, f"{name} band")
    known = [aliased(draws[1], at), *([aliased(draws[0], f"ppdm_y{number}")] if one.is_wide else [])]
    if one.ends is None:
        known.append(aliased(scale_draw(band, column(f"ppdm_b{number}", "r")), key))
        on = _list_entry(bands, "ppdm_recipe", key)
    else:
        known.append(aliased(band, key))
        on = exp.And(this=_of_recipe(bands), expression=_within_ends(column(key, "x"), bands))
    told = (column(f"ppdm_y{number}" if one.is_wide else at, "x"), column(at, "x"))
    return known, range_value(one.domain, number, told, bands, wide=one.is_wide), [_join(one.table, bands, on)]


def _join(table: Name, alias: str, on: exp.Expr, side: str | None = None) -> exp.Join:
    return exp.Join(this=table.table(alias), on=on, **({} if side is None else {"side": side}))


def _list_entry(alias: str, whose: str, key: str) -> exp.Expr:
    """The entry of a list by the list's number and its place there, both columns of the draws."""
    same = exp.EQ(this=column("ppdm_recipe", alias), expression=column(whose, "x"))
    return exp.And(this=same, expression=exp.EQ(this=column("ppdm_i", alias), expression=column(key, "x")))


def _within_ends(draw: exp.Expr, band: str) -> exp.Expr:
    """Whether a draw is one of a band's; the bands of a recipe share all draws out."""
    above = exp.GTE(this=draw, expression=column("ppdm_begin", band))
    return exp.And(this=above, expression=exp.LT(this=draw.copy(), expression=column("ppdm_end", band)))


def _of_recipe(alias: str) -> exp.Expr:
    return exp.EQ(this=column("ppdm_recipe", alias), expression=column("ppdm_recipe", "x"))


def _drawn_class(draw: exp.Expr, classes: int) -> exp.Expr:
    """The majority by its share; otherwise any of the others, all alike."""
    hit = exp.LT(this=draw.copy(), expression=column("ppdm_hits", "r"))
    major = column("ppdm_major", "r")
    if classes < 2:
        return major
    rest = exp.Mod(this=exp.Paren(this=draw.copy()), expression=exp.Literal.number(classes - 1))
    above = exp.GTE(this=rest, expression=major.copy())
    other = exp.Add(
        this=exp.Paren(this=rest.copy()),
        expression=exp.Case(ifs=[exp.If(this=above, true=exp.Literal.number(1))], default=exp.Literal.number(0)),
    )
    return exp.Case(ifs=[exp.If(this=hit, true=major.copy())], default=other)


def _class_value(tree: Tree, code: exp.Expr) -> exp.Expr:
    branches = [
        exp.If(
            this=exp.EQ(this=code.copy(), expression=exp.Literal.number(number)),
            true=category(tree.target, value) or exp.Null(),
        )
        for number, value in enumerate(tree.classes)
    ]
    return exp.Case(ifs=branches)
