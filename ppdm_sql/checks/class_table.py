"""The cell table: how many rows every class has of every sensitive value.  Every measure comes from it.

A class is known by its key: the codes of its quasi-identifiers in one number of mixed radix (several where
62 bits are not enough; a hash could put two classes together).  One aggregation over the relation makes the
cells, a second one over the cells makes the classes.  Both stay in the database.

Two quasi-identifiers are the same only if they print the same: 0.0 and -0.0 are equal in SQL, and so are 1.0
and 1.00 in a numeric of no fixed scale, but a recipient sees the difference.  Sensitive values that are equal
count as one: that is the careful side, because it makes a class less diverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.errors import EngineError
from ppdm_sql.source.encode import CODE, ROWS, Lookup, canonical, joined_lookups, make_lookup
from ppdm_sql.statements.names import Name, aliased, column, identifier

KEY_LIMIT = 2**62
SIZE, KNOWN, DISTINCT, HEAD = "ppdm_size", "ppdm_known", "ppdm_distinct", "ppdm_head"
LOWEST, ENTROPY = "ppdm_lowest", "ppdm_entropy"
ENTITY, ENTITIES, CLASSES = "ppdm_entity", "ppdm_entities", "ppdm_classes"


# -- keys --------------------------------------------------------------------------------------------


def printed_column(info: ColumnInfo) -> ColumnInfo:
    """A column to be compared by its text, where equal values of its type can print differently."""
    loose = info.kind is Kind.DECIMAL and "(" not in info.declared
    return replace(info, kind=Kind.TEXT) if info.kind is Kind.FLOAT or loose else info


@dataclass(frozen=True)
class Digit:
    """A quasi-identifier's place in the key: key column number, and what its code is multiplied with."""

    lookup: Lookup
    key: int
    weight: int

    @property
    def radix(self) -> int:
        return max(1, self.lookup.size)


@dataclass(frozen=True)
class Key:
    """The mixed-radix number of a class, in as many columns as it needs."""

    digits: tuple[Digit, ...]

    @property
    def columns(self) -> list[str]:
        """The key columns; without quasi-identifiers one that is 0 everywhere, for the one class there is."""
        return [f"ppdm_key_{number}" for number in range(1 + max((digit.key for digit in self.digits), default=0))]

    def expressions(self, codes: Sequence[exp.Expr]) -> list[exp.Expr]:
        """Each key column, from the codes of the quasi-identifiers."""
        sums: list[exp.Expr] = [exp.cast(exp.Literal.number(0), "BIGINT") for _ in self.columns]
        for digit, code in zip(self.digits, codes, strict=True):
            place = times(exp.cast(code, "BIGINT"), digit.weight)
            sums[digit.key] = exp.Add(this=sums[digit.key], expression=place)
        return sums

    def matches(self, one: str, other: str) -> exp.Expr:
        """The condition that two tables speak of the same class; keys are never NULL."""
        return exp.and_(*(exp.EQ(this=column(key, one), expression=column(key, other)) for key in self.columns))


def pack_key(lookups: Sequence[Lookup], limit: int = KEY_LIMIT) -> Key:
    """Places for all quasi-identifiers, in as few key columns as they fit into in this order."""
    digits: list[Digit] = []
    key, weight = 0, 1
    for lookup in lookups:
        digit = Digit(lookup, key, weight)
        if weight * digit.radix > limit:
            key, weight = key + 1, 1
            digit = Digit(lookup, key, weight)
        digits.append(digit)
        weight *= digit.radix
    return Key(tuple(digits))


# -- tables ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Coded:
    """A relation whose quasi-identifiers have codes: what cells and classes are made from."""

    relation: Name
    key: Key


@dataclass(frozen=True)
class Cells:
    """The cells and classes of one sensitive column.

    unknown: the code of NULL where NULL does not count as a value.  It is the last code.
    """

    key: Key
    sensitive: Lookup
    cells: Name  # (key columns, ppdm_code, ppdm_rows)
    classes: Name  # (key columns, ppdm_size, [ppdm_known, ]ppdm_distinct, ppdm_head, ppdm_lowest[, ppdm_entropy])
    unknown: int | None = None

    @property
    def known_rows(self) -> str:
        """The column of the classes that has the number of rows whose value counts."""
        return SIZE if self.unknown is None else KNOWN

    @property
    def codes(self) -> int:
        """How many codes count as values: 0 .. codes - 1."""
        return self.sensitive.size if self.unknown is None else self.unknown

    def join_classes(self, picked: Sequence[exp.Expr], where: exp.Expr) -> exp.Select:
        """The cells ("c") that count, with their classes ("k"), for the classes that a condition picks."""
        query = exp.Select(expressions=list(picked)).from_(self.cells.table("c"))
        query = query.join(self.classes.table("k"), on=self.key.matches("c", "k")).where(where)
        return query if self.unknown is None else query.where(_is_known(self.unknown, "c"))


def encode_quasi(engine: Engine, relation: Name, quasi: Sequence[ColumnInfo]) -> Coded:
    """Codes for every quasi-identifier, and the key they make."""
    return Coded(relation, pack_key([make_lookup(engine, relation, printed_column(info)) for info in quasi]))


def make_cells(
    engine: Engine, source: Coded, sensitive: ColumnInfo, *, nulls_as_value: bool, entropy: bool = False
) -> Cells:
    """The two aggregations for one sensitive column; entropy only where it is asked for."""
    lookup = make_lookup(engine, source.relation, sensitive)
    keys = source.key.columns
    inner = _with_keys(engine, source, extra=lookup)
    cells = engine.work.table(
        "cells", _group_figures(inner, [*keys, CODE], [aliased(exp.Count(this=exp.Star()), ROWS)]), analyze=True
    )
    unknown = None if nulls_as_value else lookup.null_code
    figures = _class_figures(unknown, entropy=entropy)
    classes = engine.work.table(
        "classes", _group_figures(exp.Select().from_(cells.table()), keys, figures), analyze=True
    )
    _check_complete(engine, classes, [*keys, LOWEST])
    return Cells(source.key, lookup, cells, classes, unknown)


def _class_figures(unknown: int | None, *, entropy: bool) -> list[exp.Expr]:
    """What is counted of a class; where NULL is no value, its rows add to the size alone."""
    counted: exp.Expr = column(ROWS)
    known: list[exp.Expr] = []
    if unknown is not None:
        counted = exp.case().when(_is_known(unknown), column(ROWS))
        known = [aliased(_or_zero(whole(exp.Sum(this=counted.copy()))), KNOWN)]
    return [
        aliased(whole(exp.Sum(this=column(ROWS))), SIZE),
        *known,
        aliased(exp.Count(this=exp.Star() if unknown is None else counted.copy()), DISTINCT),
        aliased(exp.Max(this=counted) if unknown is None else _or_zero(exp.Max(this=counted.copy())), HEAD),
        aliased(exp.Min(this=column(CODE)), LOWEST),
        *([aliased(_entropy(counted), ENTROPY)] if entropy else []),
    ]


def _is_known(unknown: int, table: str | None = None) -> exp.Expr:
    return exp.NEQ(this=column(CODE, table), expression=exp.Literal.number(unknown))


def _or_zero(expression: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=expression, expressions=[exp.Literal.number(0)])


def make_classes(engine: Engine, source: Coded, entity: ColumnInfo | None = None) -> Name:
    """Classes without a sensitive column: (key columns, ppdm_size[, ppdm_entities]).

    A row of which nobody knows the person (NULL) adds to the size and to no number of persons.
    """
    keys = source.key.columns
    if entity is None:
        query = _group_figures(_with_keys(engine, source), keys, [aliased(exp.Count(this=exp.Star()), SIZE)])
    else:
        inner = _with_keys(engine, source).select(aliased(canonical(engine, entity, "r"), ENTITY))
        people = _group_figures(inner, [*keys, ENTITY], [aliased(exp.Count(this=exp.Star()), ROWS)])
        figures = [
            aliased(whole(exp.Sum(this=column(ROWS))), SIZE),
            aliased(exp.Count(this=column(ENTITY)), ENTITIES),
        ]
        query = _group_figures(exp.Select().from_(subquery(people, "ppdm_people")), keys, figures)
    table = engine.work.table("classes", query, analyze=True)
    _check_complete(engine, table, keys)
    return table


def _with_keys(engine: Engine, source: Coded, extra: Lookup | None = None) -> exp.Select:
    """The relation ("r") as keys, and the code of one column more."""
    lookups = [digit.lookup for digit in source.key.digits] + ([extra] if extra else [])
    query, codes = joined_lookups(engine, exp.Select().from_(source.relation.table("r")), lookups, "r")
    keys = source.key.expressions(codes[: len(source.key.digits)])
    for name, key in zip(source.key.columns, keys, strict=True):
        query = query.select(aliased(key, name))
    if extra is not None:
        query = query.select(aliased(exp.Cast(this=codes[-1], to=engine.code_type(extra.size)), CODE))
    return query


def _group_figures(query: exp.Select, by: Sequence[str], figures: Sequence[exp.Expr]) -> exp.Select:
    """A query's figures per group; a query that picks columns of its own is grouped from outside."""
    source = exp.Select().from_(subquery(query, "ppdm_inner")) if query.expressions else query
    groups = [column(name) for name in by]
    return source.select(*(group.copy() for group in groups), *figures).group_by(*groups)


def _entropy(counted: exp.Expr) -> exp.Expr:
    """ln(n) - sum(c ln c) / n, in floating point: only to tell which classes are in doubt; -1 where n is 0."""
    size = exp.cast(exp.Sum(this=counted.copy()), "DOUBLE")
    each = exp.cast(counted.copy(), "DOUBLE")
    told = exp.Sum(this=exp.Mul(this=each, expression=exp.Ln(this=each.copy())))
    found = exp.Sub(this=exp.Ln(this=size), expression=exp.Div(this=told, expression=size.copy(), typed=True))
    return exp.Coalesce(this=found, expressions=[exp.Neg(this=exp.Literal.number(1))])


def _check_complete(engine: Engine, table: Name, filled: Sequence[str]) -> None:
    """Every row found its code in every look-up table, or the relation changed between two reads."""
    holes = [exp.Is(this=column(name), expression=exp.Null()) for name in filled]
    query = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(table.table())
    (incomplete,) = engine.fetch_one(query.where(exp.or_(*holes)))
    if incomplete:
        raise EngineError("the relation changed while it was measured; run it again when nothing writes to it")


# -- small expressions -------------------------------------------------------------------------------


def times(expression: exp.Expr, factor: int) -> exp.Expr:
    return expression if factor == 1 else exp.Mul(this=expression, expression=exp.Literal.number(factor))


def whole(expression: exp.Expr) -> exp.Expr:
    """A sum of counts as BIGINT: engines make it wider, and a wider one does not come back as an array."""
    return exp.cast(expression, "BIGINT")


def subquery(query: exp.Query, alias: str) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=identifier(alias)))
