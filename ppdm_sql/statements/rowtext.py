"""A row as one text, so that it can be hashed: for the order of a release and for the keys of its rows.

Every value is written with its length in front, so that ('a', 'bc') and ('ab', 'c') stay apart, and NULL
has a form of its own that no value can have.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from sqlglot import exp

from ppdm_sql.engines.base import Engine


def row_text(engine: Engine, values: Sequence[exp.Expr], *, salt: str = "") -> exp.Expr:
    """The values of a row in one unambiguous text, behind a salt.

    >>> from ppdm_sql.engines.duckdb import DuckDBEngine
    >>> with DuckDBEngine.open(":memory:") as engine:
    ...     text = row_text(engine, [exp.Literal.string("ab"), exp.Null()], salt="7")
    ...     engine.fetch(exp.Select(expressions=[text]))
    [('7|2:ab-',)]
    """
    pieces: list[exp.Expr] = [exp.Literal.string(f"{salt}|")]
    for value in values:
        pieces += _pieces_of(engine, _as_text(value.copy()))
    if engine.concatenates:
        return exp.Concat(expressions=pieces, safe=True, coalesce=True)
    # What comes last is put together first: so an engine can be given the text of the last values once for many rows.
    return reduce(lambda text, piece: exp.DPipe(this=piece, expression=text), reversed(pieces))


def _pieces_of(engine: Engine, printed: exp.Expr) -> list[exp.Expr]:
    """A value behind its length, or what stands for NULL."""
    length, nothing = _as_text(exp.Length(this=printed.copy())), exp.Literal.string("-")
    head = exp.DPipe(this=length, expression=exp.Literal.string(":"))
    if engine.concatenates:
        return [exp.Coalesce(this=head, expressions=[nothing]), printed]
    return [exp.Coalesce(this=exp.DPipe(this=head, expression=printed), expressions=[nothing])]


def _as_text(value: exp.Expr) -> exp.Expr:
    # exp.cast() parses the word TEXT every time.
    return exp.Cast(this=value, to=exp.DataType(this=exp.DataType.Type.TEXT))


def hash_numbers(engine: Engine, values: Sequence[exp.Expr], *, salt: str = "") -> tuple[exp.Expr, exp.Expr]:
    """Two 60-bit numbers of a row: the same on every engine, for the same printed values and salt."""
    text = row_text(engine, values, salt=salt)
    return engine.hash_number(text.copy(), 0), engine.hash_number(text, 1)
