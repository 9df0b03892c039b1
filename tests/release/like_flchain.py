"""7,874 people like those of the public table flchain (R's survival), made once with a fixed seed.

Its quartiles of age, the shares of sex and sample year, and creatinine: a decimal with one digit, missing for one person
of six, and with a few values far above the others.
"""

from __future__ import annotations

import random
from bisect import bisect
from decimal import Decimal

ROWS = 7_874
COLUMNS = {"age": "INTEGER", "sex": "TEXT", "year": "INTEGER", "creatinine": "DECIMAL(5, 1)"}
_AGES = ((0, 50), (0.25, 56), (0.5, 63), (0.75, 72), (0.9, 79), (0.97, 86), (0.99, 91), (1, 100))
_YEARS = (0.28, 0.69, 0.89, 0.93, 0.945, 0.955, 0.965, 0.975)  # up to 1995, 1996, ...; the rest is 2003


def people() -> list[tuple[int, str, int, Decimal | None]]:
    draw = random.Random(1)
    return [_person(draw) for _ in range(ROWS)]


def _person(draw: random.Random) -> tuple[int, str, int, Decimal | None]:
    age, man = int(_age(draw.random())), draw.random() < 0.45
    year = 1995 + bisect(_YEARS, draw.random())
    level = draw.lognormvariate(-0.08, 0.2) + 0.15 * man + 0.004 * (age - 64)
    level += draw.expovariate(1 / 0.6) if draw.random() < 0.02 else 0
    known = draw.random() >= 0.17
    return age, "M" if man else "F", year, Decimal(f"{min(max(level, 0.4), 10.8):.1f}") if known else None


def _age(share: float) -> float:
    place = bisect([below for below, _ in _AGES], share) - 1
    (low, start), (high, stop) = _AGES[place], _AGES[place + 1]
    return start + (stop - start) * (share - low) / (high - low)
