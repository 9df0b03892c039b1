"""Pseudo-rows, set-wise in SQL: PGEN and BASEGEN (Tian, Zhang, Xu, Sharkey, section 5).

Every row has a number.  What is random about it is a function of that number, the column and the seed: a few rounds
of multiplication modulo the prime 2^31 - 1, in whole numbers that every engine multiplies alike.  So a seed gives the
same rows on every engine, with any number of threads; random() would not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Any

from sqlglot import exp

from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.pseudodata.domains import Bounds, Domain, days, domains_of
from ppdm_sql.pseudodata.paths import Recipe, recipes
from ppdm_sql.statements.names import Name, aliased, column, own
from ppdm_sql.trees.expression import class_expression
from ppdm_sql.trees.tree import Attribute, Tree

_BLOCKS, _DIGITS, _RECIPES, _CLASSES = (
    own(f"ppdm_pseudo_{name}") for name in ("blocks", "digits", "recipes", "classes")
)
_PRIME = 2**31 - 1
_BLOCK = 1000
_MOMENTS = (Kind.DATE, Kind.TIMESTAMP)
LEAF = "ppdm_leaf"


@dataclass(frozen=True)
class Order:
    """What was asked for."""

    algorithm: str = "pgen"
    rows: int | None = None
    seed: int = 0
    draw: bool = False  # classes drawn one by one instead of by quota
    domains: Mapping[str, Bounds] | None = None
    by_counts: bool = False  # classes as the counts of the leaves have them, instead of by quota


@dataclass(frozen=True)
class Made:
    """A query over working tables that gives the rows."""

    query: exp.Select
    columns: tuple[str, ...]
    rows: int


def generate(engine: Engine, tree: Tree, order: Order, shared: Mapping[int, Domain] | None = None) -> Made:
    """The rows of a pseudo-table: the columns of the model in its order, then the target.

    shared: domains that several models have in common, in the place of the model's own.
    """
    domains = domains_of(tree, order.domains or {}) if shared is None else shared
    mixed = sorted(range(len(tree.classes)), key=lambda code: _digest(order.seed, f"class {code}"))
    made = recipes(tree, domains, order.rows, mixed, by_counts=order.by_counts)
    if order.algorithm == "basegen":
        made = [_anywhere(domains, sum(recipe.rows for recipe in made), len(tree.classes))]
    _load(engine, tree, made, domains, order)
    return _query(engine, tree, made, domains, order)


def _anywhere(domains: Mapping[int, Domain], rows: int, classes: int) -> Recipe:
    """BASEGEN: every column uniform over its domain; the tree says the class afterwards."""
    values = {number: domain.values or (None,) for number, domain in domains.items() if domain.bounds is None}
    bounds = {number: (domain.bounds,) for number, domain in domains.items() if domain.bounds is not None}
    return Recipe(0, rows, (rows, *([0] * (classes - 1))), values, bounds)


# -- working tables --------------------------------------------------------------------------------------


def _load(engine: Engine, tree: Tree, made: Sequence[Recipe], domains: Mapping[int, Domain], order: Order) -> None:
    """Recipes, and blocks of at most 1,000 rows each: a cross join with the numbers 0 .. 999 makes the rows."""
    blocks: dict[str, list[int]] = {"ppdm_recipe": [], "ppdm_start": [], "ppdm_base": [], "ppdm_size": []}
    start = 0
    for number, recipe in enumerate(made):
        for base in range(0, recipe.rows, _BLOCK):
            size = min(_BLOCK, recipe.rows - base)
            for name, value in zip(blocks, (number, start, base, size), strict=True):
                blocks[name].append(value)
            start += size
    _store(engine, _BLOCKS, blocks)
    _store(engine, _DIGITS, {"ppdm_d": list(range(_BLOCK))})
    _store(engine, _CLASSES, _class_ranges(made))
    figures: dict[str, list[Any]] = {"ppdm_recipe": list(range(len(made))), LEAF: [recipe.leaf for recipe in made]}
    for number, domain in domains.items():
        if _is_banded(domain, number, made):
            figures[f"ppdm_b{number}"] = [len(recipe.bounds[number]) for recipe in made]
            _store_bands(engine, number, domain, made)
        else:
            figures |= _figures(domain.attribute, number, made)
    if order.draw:
        figures["ppdm_major"] = [_major(tree, recipe) for recipe in made]
        figures["ppdm_hits"] = [_share(tree, recipe) for recipe in made]
    _store(engine, _RECIPES, figures)
    for number, domain in domains.items():
        if not _is_number(domain):
            _store_picks(engine, number, domain, made)


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
    return leaf.counts[leaf.majority] * _PRIME // max(leaf.rows, 1)


def _is_number(domain: Domain) -> bool:
    return domain.bounds is not None and domain.attribute.kind not in _MOMENTS


def _figures(attribute: Attribute, number: int, made: Sequence[Recipe]) -> dict[str, list[Any]]:
    """Per recipe what a draw needs: how many values there are, or where an interval begins and how wide it is."""
    if attribute.ordered and attribute.kind not in _MOMENTS:
        return _range_figures(attribute, number, [recipe.bounds[number][0] for recipe in made])
    return {f"ppdm_n{number}": [len(_values(attribute, number, recipe)) for recipe in made]}


def _range_figures(attribute: Attribute, number: int, ranges: Sequence[Bounds]) -> dict[str, list[Any]]:
    if attribute.kind is Kind.INTEGER:
        whole = [_whole(one) for one in ranges]
        return {f"ppdm_lo{number}": [low for low, _ in whole], f"ppdm_n{number}": [size for _, size in whole]}
    return {
        f"ppdm_lo{number}": [float(low) for low, _ in ranges],
        f"ppdm_w{number}": [float(high - low) for low, high in ranges],
    }


def _is_banded(domain: Domain, number: int, made: Sequence[Recipe]) -> bool:
    """Whether a number lies in several ranges somewhere: then one of them is drawn first."""
    return _is_number(domain) and any(len(recipe.bounds[number]) > 1 for recipe in made)


def _store_bands(engine: Engine, number: int, domain: Domain, made: Sequence[Recipe]) -> None:
    listed = [
        (place, index, one) for place, recipe in enumerate(made) for index, one in enumerate(recipe.bounds[number])
    ]
    keys = {"ppdm_recipe": [place for place, _, _ in listed], "ppdm_i": [index for _, index, _ in listed]}
    _store(engine, _band_table(number), keys | _range_figures(domain.attribute, number, [one for _, _, one in listed]))


def _band_table(number: int) -> Name:
    return own(f"ppdm_pseudo_bands_{number}")


def _whole(bounds: Bounds) -> tuple[int, int]:
    """First whole number and how many there are before the upper bound; at least one.

    >>> from fractions import Fraction
    >>> _whole((Fraction("30.5"), Fraction(40))), _whole((Fraction("30.2"), Fraction("30.4")))
    ((31, 9), (31, 1))
    """
    first, stop = -(-bounds[0] // 1), -(-bounds[1] // 1)
    return int(first), max(1, min(int(stop - first), _PRIME))


def _values(attribute: Attribute, number: int, recipe: Recipe) -> list[Any]:
    if attribute.ordered:
        listed = [days(one) for one in recipe.bounds[number]]
        most = max(map(len, listed))  # every range as often as any other
        return [own_days[place * len(own_days) // most].isoformat() for own_days in listed for place in range(most)]
    return list(recipe.values[number])


def _store_picks(engine: Engine, number: int, domain: Domain, made: Sequence[Recipe]) -> None:
    picks: dict[str, list[Any]] = {"ppdm_recipe": [], "ppdm_i": [], "ppdm_v": []}
    for place, recipe in enumerate(made):
        for index, value in enumerate(_values(domain.attribute, number, recipe)):
            picks["ppdm_recipe"].append(place)
            picks["ppdm_i"].append(index)
            picks["ppdm_v"].append(None if value is None else _text(value))
    _store(engine, own(f"ppdm_pseudo_pick_{number}"), picks)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _store(engine: Engine, name: Name, columns: Mapping[str, Sequence[Any]]) -> None:
    import pyarrow as pa

    def kind(key: str, values: Sequence[Any]) -> pa.DataType:
        if key == "ppdm_v":
            return pa.string()
        return pa.float64() if any(isinstance(value, float) for value in values) else pa.int64()

    engine.load(name, pa.table({key: pa.array(list(values), kind(key, values)) for key, values in columns.items()}))
    engine.analyze(name)


# -- the query -------------------------------------------------------------------------------------------


def _query(engine: Engine, tree: Tree, made: Sequence[Recipe], domains: Mapping[int, Domain], order: Order) -> Made:
    row = exp.Add(this=column("ppdm_start", "b"), expression=column("ppdm_d", "d"))
    place = exp.Add(this=column("ppdm_base", "b"), expression=column("ppdm_d", "d"))
    inside = exp.LT(this=column("ppdm_d", "d"), expression=column("ppdm_size", "b"))
    query = exp.Select().from_(_BLOCKS.table("b")).join(_DIGITS.table("d"), on=inside)
    query = query.join(_RECIPES.table("r"), on=_same("r", "b"))
    names = []
    for number, domain in domains.items():
        draw = drawn(row, order.seed, domain.attribute.name)
        figures = "r"
        if _is_banded(domain, number, made):
            figures = f"w{number}"
            index = _scaled(drawn(row, order.seed, f"{domain.attribute.name} band"), column(f"ppdm_b{number}", "r"))
            on = exp.And(this=_same(figures, "b"), expression=exp.EQ(this=column("ppdm_i", figures), expression=index))
            query = query.join(_band_table(number).table(figures), on=on)
        if not _is_number(domain):
            alias = f"p{number}"
            index = _scaled(draw, column(f"ppdm_n{number}", "r"))
            on = exp.And(this=_same(alias, "b"), expression=exp.EQ(this=column("ppdm_i", alias), expression=index))
            query = query.join(own(f"ppdm_pseudo_pick_{number}").table(alias), on=on, join_type="left")
        query = query.select(aliased(_value(domain, number, draw, figures), domain.attribute.name), copy=False)
        names.append(domain.attribute.name)
    if order.algorithm == "basegen":
        return _based(engine, tree, query, names, sum(recipe.rows for recipe in made))
    if order.draw:
        code = _drawn_class(drawn(row, order.seed, "ppdm_class"), len(tree.classes))
    else:
        code = column("ppdm_class", "c")
        within = exp.Between(this=place, low=column("ppdm_first", "c"), high=column("ppdm_last", "c"))
        query = query.join(_CLASSES.table("c"), on=exp.And(this=_same("c", "b"), expression=within))
    query = query.select(aliased(_class_value(tree, code), tree.target.name))
    return Made(query, (*names, tree.target.name), sum(recipe.rows for recipe in made))


def _based(engine: Engine, tree: Tree, query: exp.Select, names: Sequence[str], rows: int) -> Made:
    told = aliased(class_expression(engine, tree, "x"), tree.target.name)
    whole = exp.Select(expressions=[*(column(name, "x") for name in names), told]).from_(query.subquery("x"))
    return Made(whole, (*names, tree.target.name), rows)


def _same(left: str, right: str) -> exp.Expr:
    return exp.EQ(this=column("ppdm_recipe", left), expression=column("ppdm_recipe", right))


def drawn(row: exp.Expr, seed: int, name: str) -> exp.Expr:
    """A number from 0 to 2^31 - 2 that looks drawn at random: a function of the row, the seed and the column."""
    digest = _digest(seed, name)
    a, b, c, d = (int.from_bytes(digest[4 * n : 4 * n + 4], "big") % (_PRIME - 2) + 1 for n in range(4))

    def mod(value: exp.Expr) -> exp.Expr:
        return exp.Mod(this=exp.Paren(this=value), expression=exp.Literal.number(_PRIME))

    def line(value: exp.Expr, by: int, plus: int) -> exp.Expr:
        product = exp.Mul(this=exp.Paren(this=value), expression=exp.Literal.number(by))
        return mod(exp.Add(this=product, expression=exp.Literal.number(plus)))

    def square(value: exp.Expr) -> exp.Expr:
        return mod(exp.Mul(this=exp.Paren(this=value), expression=exp.Paren(this=value.copy())))

    first = line(row.copy(), a, b)
    second = line(square(first), c, d)
    return mod(exp.Add(this=exp.Paren(this=square(second)), expression=exp.Paren(this=first.copy())))


def _digest(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}|{name}".encode()).digest()


def _scaled(draw: exp.Expr, size: exp.Expr) -> exp.Expr:
    """A draw as 0 .. size - 1."""
    product = exp.Mul(this=exp.Paren(this=draw.copy()), expression=size)
    whole = exp.IntDiv(this=exp.Paren(this=product), expression=exp.Literal.number(_PRIME))
    return exp.cast(whole, "BIGINT")  # some engines divide whole numbers into decimals


def _value(domain: Domain, number: int, draw: exp.Expr, figures: str) -> exp.Expr:
    """figures: the alias of the table that knows where the value's range begins and how wide it is."""
    attribute = domain.attribute
    if not _is_number(domain):
        text: exp.Expr = column("ppdm_v", f"p{number}")
        kinds = {Kind.DATE: "DATE", Kind.TIMESTAMP: "TIMESTAMP", Kind.BOOLEAN: "BOOLEAN", Kind.INTEGER: "BIGINT"}
        return exp.cast(text, kinds[attribute.kind]) if attribute.kind in kinds else text
    low = column(f"ppdm_lo{number}", figures)
    if attribute.kind is Kind.INTEGER:
        return exp.Add(this=low, expression=exp.Paren(this=_scaled(draw, column(f"ppdm_n{number}", figures))))
    return _rounded(domain, low, column(f"ppdm_w{number}", figures), draw)


def _rounded(domain: Domain, low: exp.Expr, width: exp.Expr, draw: exp.Expr) -> exp.Expr:
    """A real number with about four telling digits: low + width * share."""
    assert domain.bounds is not None
    places = max(0, 3 - floor(log10(float(domain.bounds[1] - domain.bounds[0]))))
    share = exp.Div(this=exp.cast(draw, "DOUBLE"), expression=_double(float(_PRIME)))
    exact = exp.Add(this=low, expression=exp.Mul(this=width, expression=exp.Paren(this=share)))
    # floor and not the nearest: the value stays below the upper end of its interval
    tens = _double(float(10**places))
    cut = exp.Floor(this=exp.Mul(this=exp.Paren(this=exact), expression=tens))
    rounded = exp.Div(this=exp.cast(cut, "DOUBLE"), expression=tens.copy())
    return exp.Case(
        ifs=[exp.If(this=exp.LT(this=rounded, expression=low.copy()), true=low.copy())], default=rounded.copy()
    )


def _double(number: float) -> exp.Expr:
    return exp.cast(exp.Literal.string(repr(number)), "DOUBLE")


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
        exp.If(this=exp.EQ(this=code.copy(), expression=exp.Literal.number(number)), true=_literal(value))
        for number, value in enumerate(tree.classes)
    ]
    return exp.Case(ifs=branches)


def _literal(value: Any) -> exp.Expr:
    if isinstance(value, bool):
        return exp.true() if value else exp.false()
    return exp.Literal.string(value) if isinstance(value, str) else exp.Literal.number(str(value))
