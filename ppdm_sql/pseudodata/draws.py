"""Numbers that look drawn at random: a function of the row, the column and the seed, the same on every engine.

A few rounds of multiplication modulo the prime 2^31 - 1, in whole numbers that every engine multiplies alike.  So a
seed gives the same rows on every engine, with any number of threads; random() would not.
"""

from __future__ import annotations

import hashlib

from sqlglot import exp

PRIME = 2**31 - 1
WIDEST = PRIME * PRIME  # how many values two draws can reach


def digest(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}|{name}".encode()).digest()


def draw_number(row: exp.Expr, seed: int, name: str) -> exp.Expr:
    """A number from 0 to 2^31 - 2 that looks drawn at random: a function of the row, the seed and the column."""
    told = digest(seed, name)
    a, b, c, d = (int.from_bytes(told[4 * n : 4 * n + 4], "big") % (PRIME - 2) + 1 for n in range(4))

    def mod(value: exp.Expr) -> exp.Expr:
        return exp.Mod(this=exp.Paren(this=value), expression=exp.Literal.number(PRIME))

    def line(value: exp.Expr, by: int, plus: int) -> exp.Expr:
        product = exp.Mul(this=exp.Paren(this=value), expression=exp.Literal.number(by))
        return mod(exp.Add(this=product, expression=exp.Literal.number(plus)))

    def square(value: exp.Expr) -> exp.Expr:
        return mod(exp.Mul(this=exp.Paren(this=value), expression=exp.Paren(this=value.copy())))

    first = line(row.copy(), a, b)
    second = line(square(first), c, d)
    return mod(exp.Add(this=exp.Paren(this=square(second)), expression=exp.Paren(this=first.copy())))


def scale_draw(draw: exp.Expr, size: exp.Expr) -> exp.Expr:
    """A draw as 0 .. size - 1; sizes beyond the prime are for `scaled_wide`."""
    product = exp.Mul(this=exp.Paren(this=draw.copy()), expression=size.copy())
    return divide_whole(product, PRIME)


def divide_whole(value: exp.Expr, by: int) -> exp.Expr:
    """A whole number that is not negative, divided and cut off."""
    whole = exp.IntDiv(this=exp.Paren(this=value.copy()), expression=exp.Literal.number(by))
    return exp.cast(whole, "BIGINT")  # some engines divide whole numbers into decimals


def parts(size: int) -> tuple[int, int]:
    """How many values a high and a low draw need, so that together they reach all of a size and hardly more.

    >>> parts(10), parts(2**40), 513 * 2143297521 - 2**40
    ((1, 10), (513, 2143297521), 497)
    """
    high = -(-size // PRIME)
    return high, -(-size // high)


def scaled_wide(draws: tuple[exp.Expr, exp.Expr], high: exp.Expr, low: exp.Expr, size: exp.Expr) -> exp.Expr:
    """Two draws as 0 .. size - 1, by parts(size): the few numbers that lie beyond begin at 0 again."""
    product = exp.Mul(this=scale_draw(draws[0], high), expression=low.copy())
    number = exp.Add(this=product, expression=scale_draw(draws[1], low))
    beyond = exp.GTE(this=exp.Paren(this=number), expression=size.copy())
    less = exp.Case(ifs=[exp.If(this=beyond, true=size.copy())], default=exp.Literal.number(0))
    return exp.Sub(this=exp.Paren(this=number.copy()), expression=less)
