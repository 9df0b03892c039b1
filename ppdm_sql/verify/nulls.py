"""The other reading of NULL: an unknown quasi-identifier may be any value.

Under it a row hides among all rows that agree with it wherever both are known.  The figure is for information:
it is never less than the k that counts NULL as a value of its own, which is the one that is promised.

Classes are sorted by their pattern, the set of quasi-identifiers they know, written as a number with one bit for
each.  Two classes are compared in the columns that both know: the bits their patterns share.  So there is one
join for every set of bits that two patterns share, and it can look its rows up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from ppdm_sql.engines.at_home import MOST_ROWS, bring_home
from ppdm_sql.engines.base import Engine
from ppdm_sql.statements.grouping import count_each
from ppdm_sql.statements.names import Name, aliased, column, identifier
from ppdm_sql.verify.printed import Printed, Stored

_MOST_PATTERNS = 32
MOST_COLUMNS = 62  # a pattern is one number of 64 bits
_CLASS, _OWN, _OTHER, _SIZE, _PATTERN = "ppdm_class", "ppdm_own", "ppdm_other", "ppdm_size", "ppdm_pattern"


@dataclass(frozen=True)
class Pattern:
    """The classes that know the same quasi-identifiers: the rows of the least one, how many there are, their rows.

    known: of other columns, how many of these rows have a value.
    """

    least: int
    classes: int
    rows: int
    known: tuple[int, ...] = ()


def null_matches_all_k(
    engine: Engine, relation: Name, quasi: Sequence[str], patterns: Mapping[int, Pattern] | None = None
) -> int | None:
    """The least number of rows that agree with a class when NULL agrees with everything; 0 without rows.

    None when NULLs come in more than 32 patterns, because every pattern is compared with every other, and with more
    than 62 quasi-identifiers.  patterns: of the relation, where they are known.
    """
    if len(quasi) > MOST_COLUMNS:
        return None
    printed = Stored.look_up(engine, relation, quasi).source(quasi)
    if patterns is None:
        patterns = class_patterns(engine, printed)
    if not patterns:
        return 0
    if len(patterns) == 1:  # every class knows the same columns, so it agrees with itself alone
        return next(iter(patterns.values())).least
    if len(patterns) > _MOST_PATTERNS:
        return None
    if engine.starts_jobs and sum(one.classes for one in patterns.values()) <= MOST_ROWS:
        with bring_home(engine, _classes(printed)) as (home, table):
            return _least(home, printed.quasi, patterns, exp.select("*").from_(table.table()))
    return _least(engine, printed.quasi, patterns, _classes(printed))


def _least(engine: Engine, quasi: Sequence[str], patterns: Mapping[int, Pattern], classes: exp.Select) -> int:
    """The least number of rows that agree with a class; classes: with their sizes and patterns."""
    shared = sorted({one & other for one in patterns for other in patterns})
    agreeing = _all_of([_agreeing(both, quasi) for both in shared])
    keys = [column(name) for name in quasi]
    summed = exp.Select(expressions=[aliased(exp.Sum(this=column(_SIZE)), _SIZE)])
    summed = summed.from_(exp.Subquery(this=agreeing, alias=_table_alias(_OTHER))).group_by(*keys)
    least = exp.Select(expressions=[exp.Min(this=column(_SIZE))])
    least = least.from_(exp.Subquery(this=summed, alias=_table_alias(_OWN)))
    least.set("with_", exp.With(expressions=[exp.CTE(this=classes, alias=_table_alias(_CLASS))]))
    (found,) = engine.fetch_one(least)
    return int(found)


def class_patterns(engine: Engine, printed: Printed, others: Sequence[str] = ()) -> dict[int, Pattern]:
    """The patterns that occur, of at most 62 quasi-identifiers; others: columns whose known values are counted too."""
    return _count_classes(engine, printed, others, [])[0]


def class_patterns_and_labels(
    engine: Engine, printed: Printed, others: Sequence[str]
) -> tuple[dict[int, Pattern], tuple[dict[Any, int], ...]]:
    """The same, and of every quasi-identifier its values with their rows, by the same look at the rows."""
    return _count_classes(engine, printed, others, printed.quasi)


def _count_classes(
    engine: Engine, printed: Printed, others: Sequence[str], each: Sequence[str]
) -> tuple[dict[int, Pattern], tuple[dict[Any, int], ...]]:
    known = [f"ppdm_known{place}" for place in range(len(others))]
    counts = [aliased(exp.Count(this=column(name)), count) for name, count in zip(others, known, strict=True)]
    keys = [column(name) for name in printed.quasi]
    size = aliased(exp.Count(this=exp.Star()), _SIZE)
    sized = exp.Select(expressions=[*keys, size, *counts]).from_(printed.rows.copy())
    sized = sized.group_by(*(key.copy() for key in keys))
    classes = exp.Select(expressions=[_pattern(printed), column(_SIZE), *map(column, (*each, *known))])
    classes = classes.from_(exp.Subquery(this=sized, alias=_table_alias(_CLASS)))
    counted: list[exp.Expr] = [exp.Min(this=column(_SIZE)), exp.Count(this=exp.Star()), exp.Sum(this=column(_SIZE))]
    counted += [exp.Sum(this=column(count)) for count in known]
    sets = {place: [column(name)] for place, name in enumerate((_PATTERN, *each))}
    rows = engine.fetch(count_each(exp.Subquery(this=classes, alias=_table_alias(_OWN)), sets, counted))
    patterns: dict[int, Pattern] = {}
    labels: tuple[dict[Any, int], ...] = tuple({} for _ in each)
    first = 1 + len(sets)
    for row in rows:
        place, (least, many, held, *rest) = int(row[0]), row[first:]
        if place == 0:
            patterns[int(row[1])] = Pattern(int(least), int(many), int(held), tuple(map(int, rest)))
        else:
            labels[place - 1][row[1 + place]] = int(held)
    return patterns, labels


def _pattern(printed: Printed) -> exp.Alias:
    """One bit for every quasi-identifier that is known; a number has bits for the first 62."""
    total: exp.Expr = exp.Literal.number(0)
    for place, name in enumerate(printed.quasi[:MOST_COLUMNS]):
        known = exp.case().when(column(name).is_(exp.null()), exp.Literal.number(0))
        total = exp.Add(this=total, expression=known.else_(exp.Literal.number(1 << place)))
    return aliased(total, _PATTERN)


def _classes(printed: Printed) -> exp.Select:
    """The classes with their sizes and patterns."""
    columns = [*map(column, printed.quasi), column(_SIZE), _pattern(printed)]
    return exp.Select(expressions=columns).from_(
        exp.Subquery(this=printed.statement("classes"), alias=_table_alias(_SIZE))
    )


def _agreeing(both: int, names: Sequence[str]) -> exp.Select:
    """Per class the rows of the classes that know these columns, and no others, together with it, and agree in them.

    A class is among those it is compared with: it shares its whole pattern with itself.
    """
    known = [name for bit, name in enumerate(names) if both >> bit & 1]
    size = aliased(exp.Sum(this=column(_SIZE)), _SIZE)
    others = exp.Select(expressions=[*map(column, known), column(_PATTERN), size])
    others = others.from_(exp.Table(this=identifier(_CLASS))).group_by(*map(column, known), column(_PATTERN))
    shared = exp.BitwiseAnd(this=column(_PATTERN, _OWN), expression=column(_PATTERN, _OTHER))
    agree = [exp.EQ(this=column(name, _OWN), expression=column(name, _OTHER)) for name in known]
    agree.append(exp.EQ(this=exp.Paren(this=shared), expression=exp.Literal.number(both)))
    own = exp.Select(expressions=[*(column(name, _OWN) for name in names), column(_SIZE, _OTHER)])
    own = own.from_(exp.Table(this=identifier(_CLASS), alias=_table_alias(_OWN)))
    return own.join(exp.Subquery(this=others, alias=_table_alias(_OTHER)), on=exp.and_(*agree))


def _table_alias(alias: str) -> exp.TableAlias:
    return exp.TableAlias(this=identifier(alias))


def _all_of(parts: Sequence[exp.Select]) -> exp.Query:
    whole: exp.Query = parts[0]
    for part in parts[1:]:
        whole = exp.Union(this=whole, expression=part, distinct=False)
    return whole
