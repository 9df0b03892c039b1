"""What the histograms of a tree know of rows besides their class: whose they are, and values that must stay diverse.

Every row has a code: its combination of sensitive values, and where k counts persons whether it is the row that stands
for its person (person_rows).  A histogram then has the classes of each code in turn, and a requirement is about
its sums: over all codes for the class, over the classes for a sensitive column (class_limits).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.methods.shared.class_limits import Hidden
from ppdm_sql.methods.shared.person_rows import weight
from ppdm_sql.source.encode import canonical
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.trees.coded import Aside

_ASIDE, _CODE = "ppdm_aside", "ppdm_code"
_MOST = 1_000  # combinations of sensitive values: histograms have a place for each


@dataclass(frozen=True)
class KnownOfRows:
    """The rows with their codes, and which value of each sensitive column a combination stands for."""

    relation: Name
    aside: Aside | None = None
    hidden: tuple[Hidden, ...] = ()

    def close(self, engine: Engine) -> None:
        if self.aside is not None:
            engine.work.drop(self.relation)


def known_of_rows(engine: Engine, source: Source, hidden: Sequence[str]) -> KnownOfRows:
    """A working table: the columns that a tree may look at, and the code of every row."""
    if source.entity is None and not hidden:
        return KnownOfRows(source.relation)
    picked = [aliased(column(name, "r"), name) for name in source.published]
    query = exp.Select(expressions=picked).from_(source.relation.table("r"))
    code: exp.Expr = exp.Literal.number(0)
    found: tuple[Hidden, ...] = ()
    combinations, work = 1, engine.work
    with engine.workspace():
        if hidden:
            table, combinations, found = _combinations(engine, source, hidden)
            same = [
                exp.EQ(this=column(f"ppdm_v{place}", "h"), expression=canonical(engine, source.info(name), "r"))
                for place, name in enumerate(hidden)
            ]
            query = query.join(table.table("h"), on=exp.and_(*same))
            code = column(_CODE, "h")
        if source.entity is not None:
            code = exp.Add(this=exp.Mul(this=code, expression=exp.Literal.number(2)), expression=weight(engine, source))
        rows = work.table("model_rows", query.select(aliased(exp.cast(code, "INT"), _ASIDE)), analyze=True)
    return KnownOfRows(rows, Aside(_ASIDE, combinations * (1 if source.entity is None else 2)), found)


def _combinations(engine: Engine, source: Source, hidden: Sequence[str]) -> tuple[Name, int, tuple[Hidden, ...]]:
    """Numbers the combinations of values that there are, in a working table."""
    values = [aliased(canonical(engine, source.info(name), "r"), f"ppdm_v{n}") for n, name in enumerate(hidden)]
    names = [value.alias for value in values]
    there = exp.Select(expressions=values).from_(source.relation.table("r")).distinct()

    def rank(function: str, by: Sequence[str]) -> exp.Expr:
        order = exp.Order(expressions=[exp.Ordered(this=column(name, "d")) for name in by])
        ranked = exp.Window(this=exp.Anonymous(this=function), order=order)
        return exp.Sub(this=ranked, expression=exp.Literal.number(1))

    numbered = exp.Select(expressions=[column(name, "d") for name in names])
    numbered = numbered.select(aliased(rank("ROW_NUMBER", names), _CODE))
    numbered = numbered.select(*(aliased(rank("DENSE_RANK", [name]), f"ppdm_s{n}") for n, name in enumerate(names)))
    table = engine.work.table("combinations", numbered.from_(there.subquery("d")))
    columns = [_CODE, *(f"ppdm_s{place}" for place in range(len(hidden)))]
    told = engine.arrays(exp.Select(expressions=[column(name) for name in columns]).from_(table.table()))
    number = len(told[_CODE])
    if number > _MOST:
        listed = ", ".join(f'"{name}"' for name in hidden)
        raise PolicyError(
            f"ALGORITHM kadet keeps at most {_MOST:,} combinations of sensitive values diverse, but {listed} have "
            f"{number:,}: group the values in the SELECT, or declare a column INSENSITIVE"
        )
    order = np.argsort(told[_CODE])
    return (
        table,
        number,
        tuple(
            Hidden(name, tuple(told[f"ppdm_s{place}"][order].astype(np.int64).tolist()))
            for place, name in enumerate(hidden)
        ),
    )
