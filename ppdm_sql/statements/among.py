"""A value among many constants, written so that no planner makes a join of it."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

_MOST = 4  # constants: DuckDB turns a longer IN into a join, one for each IN of a tree (hundreds of times slower)


def among(value: exp.Expr, constants: Sequence[exp.Expr]) -> exp.Expr:
    """Value IN (constants), in several short lists.

    >>> among(exp.column("x"), [exp.Literal.number(n) for n in range(6)]).sql()
    '(x IN (0, 1, 2, 3) OR x IN (4, 5))'
    >>> among(exp.column("x"), [exp.Literal.number(7)]).sql()
    'x IN (7)'
    """
    parts = [
        exp.In(this=value.copy(), expressions=list(constants[start : start + _MOST]))
        for start in range(0, len(constants), _MOST)
    ]
    return parts[0] if len(parts) == 1 else exp.Paren(this=exp.or_(*parts, copy=False))
