"""An expression that would be nested too deeply for one SELECT, worked out in steps.

A tree of hundreds of levels as one CASE within another is more than sqlglot and engines stand.  So what is nested
deeply becomes a column of a step, and what is above reads that column.  Steps are common table expressions: the whole
stays one statement, which runs anywhere and can be handed over as a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.statements.names import aliased, column, identifier

_MOST_NESTED = 25  # levels in one expression


@dataclass(frozen=True)
class Part:
    """A piece of an expression in the making."""

    expression: exp.Expr
    nested: int = 0  # levels
    step: int = 0  # how many steps it needs before it


class Steps:
    """The steps behind the expressions over one table, which they know under an alias.

    >>> steps, part = Steps("r"), Part(column("a", "r"))
    >>> for _ in range(_MOST_NESTED + 1):
    ...     inner = steps.flat(part)
    ...     part = steps.around(exp.Neg(this=exp.Paren(this=inner.expression)), [inner])
    >>> query = steps.over(exp.Select(expressions=[part.expression]), exp.to_table("t"))
    >>> query.sql().partition('-("r"."a")')[0].rstrip("-(")
    'WITH "ppdm_step_0" AS (SELECT "r".*, '
    >>> query.sql()[-55:]
    'SELECT -("r"."ppdm_step_0_0") FROM "ppdm_step_0" AS "r"'
    """

    def __init__(self, table: str) -> None:
        self.table = table
        self._columns: list[list[exp.Expr]] = []

    def flat(self, part: Part) -> Part:
        """The part as it is or, where it is nested deeply, as the column of a step."""
        if part.nested < _MOST_NESTED:
            return part
        while len(self._columns) <= part.step:
            self._columns.append([])
        name = f"{_name(part.step)}_{len(self._columns[part.step])}"
        self._columns[part.step].append(aliased(part.expression, name))
        return Part(column(name, self.table), step=part.step + 1)

    @staticmethod
    def around(expression: exp.Expr, inner: Sequence[Part]) -> Part:
        """An expression that holds these parts."""
        nested = 1 + max((part.nested for part in inner), default=0)
        return Part(expression, nested, max((part.step for part in inner), default=0))

    def over(self, query: exp.Select, source: exp.Table) -> exp.Select:
        """A SELECT without FROM, whose expressions have come from here, over the rows of a table."""
        rows = source
        for number, columns in enumerate(self._columns):
            rows.set("alias", exp.TableAlias(this=identifier(self.table)))
            every = exp.Column(this=exp.Star(), table=identifier(self.table))
            step = exp.Select(expressions=[every, *columns]).from_(rows, copy=False)
            query = query.with_(identifier(_name(number)), as_=step, copy=False)
            rows = exp.Table(this=identifier(_name(number)))
        rows.set("alias", exp.TableAlias(this=identifier(self.table)))
        return query.from_(rows, copy=False)


def concatenation(texts: Sequence[exp.Expr]) -> exp.Expr:
    """Texts one after the other; halved and halved again, since a thousand in a row are a nest of a thousand.

    >>> concatenation([exp.Literal.string(letter) for letter in "abcd"]).sql()
    "('a' || 'b') || ('c' || 'd')"
    """
    if len(texts) == 1:
        return texts[0]
    halves = concatenation(texts[: len(texts) // 2]), concatenation(texts[len(texts) // 2 :])
    first, second = (exp.Paren(this=half) if isinstance(half, exp.DPipe) else half for half in halves)
    return exp.DPipe(this=first, expression=second)


def _name(step: int) -> str:
    return f"ppdm_step_{step}"
