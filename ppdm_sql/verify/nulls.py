"""The other reading of NULL: an unknown quasi-identifier may be any value.

Under it a row hides among all rows that agree with it wherever both are known.  The figure is for information:
it is never less than the k that counts NULL as a value of its own, which is the one that is promised.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.statements.names import Name, aliased, column, identifier
from ppdm_sql.verify.printed import Printed, Stored

_MOST_PATTERNS = 32
_CLASSES = "ppdm_class"
_SIZE = "ppdm_size"

Pattern = tuple[bool, ...]  # per quasi-identifier, whether it is known (not NULL)


def null_matches_all_k(engine: Engine, relation: Name, quasi: Sequence[str]) -> int | None:
    """The least number of rows that agree with a class when NULL agrees with everything; 0 without rows.

    None when NULLs come in more than 32 patterns: every pattern is compared with every other.
    """
    printed = Stored.look_up(engine, relation, quasi).source(quasi)
    patterns = _patterns(engine, printed)
    if not patterns:
        return 0
    if len(patterns) > _MOST_PATTERNS:
        return None
    parts = [_least_of(own, patterns, printed.quasi) for own in patterns]
    least = exp.Select(expressions=[exp.Min(this=column("ppdm_least"))]).from_(
        exp.Subquery(this=_all_of(parts), alias=exp.TableAlias(this=identifier("ppdm_part")))
    )
    classes = exp.CTE(this=printed.statement("classes"), alias=exp.TableAlias(this=identifier(_CLASSES)))
    least.set("with_", exp.With(expressions=[classes]))
    return int(engine.fetch_one(least)[0])


def _patterns(engine: Engine, printed: Printed) -> list[Pattern]:
    """The patterns that occur, at most one more than can be handled."""
    known = [aliased(_is_known(name), name) for name in printed.quasi]
    query = exp.Select(expressions=known, distinct=exp.Distinct()).from_(printed.rows.copy())
    found = engine.fetch(query.limit(exp.Literal.number(_MOST_PATTERNS + 1)))
    return [tuple(flag == 1 for flag in row) for row in found]


def _is_known(name: str) -> exp.Case:
    # A number and no boolean: every engine returns it alike.
    return exp.case().when(column(name).is_(exp.null()), exp.Literal.number(0)).else_(exp.Literal.number(1))


def _least_of(own: Pattern, patterns: Sequence[Pattern], names: Sequence[str]) -> exp.Select:
    """The least number of rows that agree with a class of this pattern.

    Its own rows, and per set of columns known on both sides the rows of the other patterns that agree in these.
    """
    others: dict[tuple[str, ...], list[Pattern]] = {}
    for other in patterns:
        if other != own:
            both = tuple(name for name, a, b in zip(names, own, other, strict=True) if a and b)
            others.setdefault(both, []).append(other)
    agreeing: exp.Expr = column(_SIZE, "ppdm_own")
    rows = exp.Select().from_(exp.Table(this=identifier(_CLASSES), alias=exp.TableAlias(this=identifier("ppdm_own"))))
    rows = rows.where(_has_pattern([own], names, "ppdm_own"))
    for place, (both, held) in enumerate(others.items()):
        alias = f"ppdm_other_{place}"
        matching = [exp.EQ(this=column(name, "ppdm_own"), expression=column(name, alias)) for name in both]
        rows = rows.join(
            exp.Subquery(this=_summed(both, held, names), alias=exp.TableAlias(this=identifier(alias))),
            on=exp.and_(*matching) if matching else exp.true(),
            join_type="LEFT",
        )
        size = exp.Coalesce(this=column(_SIZE, alias), expressions=[exp.Literal.number(0)])
        agreeing = exp.Add(this=agreeing, expression=size)
    return rows.select(aliased(exp.Min(this=agreeing), "ppdm_least"))


def _summed(both: Sequence[str], held: Sequence[Pattern], names: Sequence[str]) -> exp.Select:
    """The rows of some patterns, by the columns that are compared."""
    size = aliased(exp.Sum(this=column(_SIZE)), _SIZE)
    query = exp.Select(expressions=[*map(column, both), size]).from_(exp.Table(this=identifier(_CLASSES)))
    query = query.where(_has_pattern(held, names, None))
    return query.group_by(*map(column, both)) if both else query


def _has_pattern(held: Sequence[Pattern], names: Sequence[str], table: str | None) -> exp.Expr:
    def known(name: str, wanted: bool) -> exp.Expr:
        missing = column(name, table).is_(exp.null())
        return missing.not_() if wanted else missing

    return exp.or_(*(exp.and_(*(known(name, flag) for name, flag in zip(names, one, strict=True))) for one in held))


def _all_of(parts: Sequence[exp.Select]) -> exp.Query:
    whole: exp.Query = parts[0]
    for part in parts[1:]:
        whole = exp.Union(this=whole, expression=part, distinct=False)
    return whole
