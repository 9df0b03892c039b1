"""A site's counts in the order of the codebook: one GROUP BY per attribute, all in one statement.

Only numbers of classes and codes leave the database: what a value is called stays there.  Rows whose class is NULL are
not counted.  A class or a value that the codebook does not list is refused, or counted as `other` where the codebook
allows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from ppdm_sql.classifiers.domains import (
    KEY,
    CategoricalDomain,
    bins_case,
    categories_case,
    is_listed,
    values_list,
)
from ppdm_sql.classifiers.values import literal, number
from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.errors import PolicyError, SourceChanged
from ppdm_sql.sharing.private.codebook import AgreedAttribute, Codebook
from ppdm_sql.source.encode import canonical
from ppdm_sql.source.relation import match
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import Name, Word, aliased, column
from ppdm_sql.statements.rowtext import hash_numbers
from ppdm_sql.trees.tree import Attribute, attribute_of

Vector = NDArray[np.uint64]
LEARN, TEST = "learn", "test"  # the rows that are counted, and those left for the test

CLASS, VALUE, ROWS = "ppdm_class", "ppdm_value", "ppdm_rows"
_ATTRIBUTE, _CODE = "ppdm_attribute", "ppdm_code"
_NO_CLASS, _UNKNOWN_CLASS = -2, -1


def count_vector(engine: Engine, relation: Name, codebook: Codebook) -> Vector:
    """What the site adds to the sum; nothing is refused halfway, because nothing has left by then."""
    columns = codebook_columns(engine, relation, codebook)
    with engine.workspace():
        rows = part_of(engine, relation, codebook, LEARN)
        found = engine.fetch(_all_query(engine, rows, codebook, columns))
    return _vector(codebook, found)


def codebook_columns(engine: Engine, relation: Name, codebook: Codebook) -> list[ColumnInfo]:
    """The columns of the codebook, the target last; one that is not there or of another kind is refused."""
    there = {info.name: info for info in engine.columns(relation)}
    return [
        _column(attribute, there) for attribute in (*(one.attribute for one in codebook.attributes), codebook.target)
    ]


def _column(attribute: Attribute, there: dict[str, ColumnInfo]) -> ColumnInfo:
    name = match(Word(attribute.name), there)
    if name is None:
        raise PolicyError(f'column "{attribute.name}" of the codebook does not exist')
    mine = attribute_of(there[name])
    if mine.kind is not attribute.kind or mine.zoned != attribute.zoned:
        raise PolicyError(
            f'column "{name}" is {there[name].shape}, and the codebook says {attribute.kind.value}: cast it in the '
            "SELECT"
        )
    return there[name]


# -- the rows that are left for the test -------------------------------------------------------------------


def part_of(engine: Engine, relation: Name, codebook: Codebook, part: str) -> Name:
    """The rows that are counted, or those left for the test; equal rows are never in both."""
    if codebook.holdout is None:
        return relation
    picked = codebook_columns(engine, relation, codebook)
    texts = [canonical(engine, info, "r") for info in picked]
    drawn, _ = hash_numbers(engine, texts, salt=f"ppdm holdout {codebook.holdout.seed}")
    left_out = exp.EQ(
        this=exp.Mod(this=exp.Paren(this=drawn), expression=number(codebook.holdout.every)), expression=number(0)
    )
    wanted = left_out if part == TEST else exp.Not(this=exp.Paren(this=left_out))
    query = exp.Select(expressions=[column(info.name, "r") for info in picked])
    return engine.work.table("part", query.from_(relation.table("r"), copy=False).where(wanted, copy=False))


# -- the statement -----------------------------------------------------------------------------------------


def _all_query(engine: Engine, relation: Name, codebook: Codebook, columns: Sequence[ColumnInfo]) -> exp.Query:
    *attributes, target = columns
    queries = [
        _coded_query(place, one, codebook, _counted(engine, relation, info, target))
        for place, (one, info) in enumerate(zip(codebook.attributes, attributes, strict=True))
    ]
    return exp.union(*queries, distinct=False) if len(queries) > 1 else queries[0]


def _counted(engine: Engine, relation: Name, info: ColumnInfo, target: ColumnInfo) -> exp.Subquery:
    """Rows by class and value, as they are in the table."""
    picked = [aliased(canonical(engine, target, "r"), CLASS), aliased(canonical(engine, info, "r"), VALUE)]
    rows = exp.Select(expressions=picked).from_(relation.table("r"), copy=False)
    source = rows.subquery("source", copy=False)
    return statement("sharing/counts", {"source": source}).subquery("c", copy=False)


def _coded_query(place: int, one: AgreedAttribute, codebook: Codebook, counted: exp.Subquery) -> exp.Select:
    """The same by the numbers of the codebook."""
    value = column(VALUE, "c")
    query = exp.Select().from_(counted, copy=False)
    if is_listed(one.domain):
        assert isinstance(one.domain, CategoricalDomain)
        codes = [[code] for code in range(len(one.domain.values))]
        joined = exp.EQ(this=column(KEY, "k"), expression=value)
        query = query.join(values_list(one.domain, codes, "k"), on=joined, join_type="left", copy=False)
        known = exp.If(this=exp.Is(this=value.copy(), expression=exp.Null()), true=number(one.domain.size))
        code: exp.Expr = exp.Case(
            ifs=[known], default=exp.Coalesce(this=column("ppdm_w0", "k"), expressions=[number(len(codes))])
        )
    else:
        code = code_expression(one, value)
    picked = [aliased(number(place), _ATTRIBUTE), aliased(class_case(codebook), CLASS), aliased(code, _CODE)]
    inner = query.select(*picked, column(ROWS, "c"), copy=False)
    keys = [column(name, "n") for name in (_ATTRIBUTE, CLASS, _CODE)]
    total = exp.cast(exp.Sum(this=column(ROWS, "n")), "BIGINT")
    outer = exp.Select(expressions=[*keys, aliased(total, ROWS)]).from_(inner.subquery("n", copy=False), copy=False)
    return outer.group_by(*(key.copy() for key in keys), copy=False)


def code_expression(one: AgreedAttribute, value: exp.Expr) -> exp.Expr:
    codes = [number(code) for code in range(one.domain.size + 1)]
    if isinstance(one.domain, CategoricalDomain):
        return categories_case(one.attribute, one.domain, value, codes)
    return bins_case(one.attribute, one.domain, value, codes)


def class_case(codebook: Codebook) -> exp.Expr:
    value = column(CLASS, "c")
    missing = exp.If(this=exp.Is(this=value.copy(), expression=exp.Null()), true=number(_NO_CLASS))
    named = [
        exp.If(this=exp.EQ(this=value.copy(), expression=literal(one, codebook.target.kind)), true=number(place))
        for place, one in enumerate(codebook.classes)
    ]
    return exp.Case(ifs=[missing, *named], default=number(_UNKNOWN_CLASS))


# -- from rows to the vector -------------------------------------------------------------------------------


def _vector(codebook: Codebook, found: Sequence[Sequence[int]]) -> Vector:
    grid = np.zeros((len(codebook.classes), codebook.width), dtype=np.uint64)
    totals = np.zeros((len(codebook.attributes), len(codebook.classes)), dtype=np.uint64)
    _refuse_unlisted(codebook, found)
    for place, label, code, rows in found:
        if label < 0:
            continue
        totals[place, label] += np.uint64(rows)
        if code < codebook.attributes[place].width:  # NULL has the code behind all others
            grid[label, codebook.starts[place] + code] += np.uint64(rows)
    if (totals != totals[0]).any():  # on an engine where the parts of a statement can see different rows
        raise SourceChanged
    grid[:, 0] = totals[0]
    return grid.reshape(-1)


def _refuse_unlisted(codebook: Codebook, found: Sequence[Sequence[int]]) -> None:
    """Every column that has something the codebook does not list, with the number of rows."""
    unknown = sum(rows for place, label, _, rows in found if place == 0 and label == _UNKNOWN_CLASS)
    told = [_unlisted(codebook.target.name, unknown, "class")] if unknown else []
    for place, one in enumerate(codebook.attributes):
        mine: Counter[int] = Counter()
        for at, label, code, rows in found:
            if at == place and label >= 0:
                mine[code] += rows
        told += _told_of_attribute(one, mine)
    if told:
        raise PolicyError(*told)


def _told_of_attribute(one: AgreedAttribute, rows: Mapping[int, int]) -> list[str]:
    """rows: code -> how many have it."""
    name = one.attribute.name
    unlisted = sum(number for code, number in rows.items() if one.width <= code < one.domain.size)
    missing = rows.get(one.domain.size, 0)
    told = [_unlisted(name, unlisted, "value")] if unlisted else []
    if missing and not one.nulls:
        told.append(f'column "{name}" is NULL in {missing:,} rows, and the codebook says that it never is')
    return told


def _unlisted(name: str, rows: int, what: str) -> str:
    return (
        f'column "{name}" has a {what} that the codebook does not list in {rows:,} rows: leave them out in the SELECT, '
        "or agree on a new codebook"
    )


def unlisted_rows(engine: Engine, coded: Name, codebook: Codebook) -> None:
    """Refuses a table of coded rows (ppdm_0, ppdm_1, ..., the class last) that has what the codebook does not list."""
    told = []
    for place in range(len(codebook.attributes) + 1):
        key = column(f"ppdm_{place}", "c")
        query = exp.Select(expressions=[key, exp.Count(this=exp.Star())]).from_(coded.table("c"), copy=False)
        found = {int(code): int(rows) for code, rows in engine.fetch(query.group_by(key.copy(), copy=False))}
        if place < len(codebook.attributes):
            told += _told_of_attribute(codebook.attributes[place], found)
        elif _UNKNOWN_CLASS in found:
            told.append(_unlisted(codebook.target.name, found[_UNKNOWN_CLASS], "class"))
    if told:
        raise PolicyError(*told)
