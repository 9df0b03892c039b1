"""Rows to learn from by name: hostile column names, NULL, NaN, infinities, rare values, every kind of column."""

from __future__ import annotations

import math
import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

COLUMNS = {
    'o"brien': "TEXT",
    "select": "INTEGER",
    "bmi; --": "DOUBLE",
    "paid": "DECIMAL(8, 2)",
    "Größe 🙂": "DATE",
    "seen": "TIMESTAMPTZ",
    "flag": "BOOLEAN",
    "many": "TEXT",
}
TARGET = "the 'class'"
TABLE = {"key": "INTEGER", **COLUMNS, TARGET: "TEXT"}
WORDS = ["a", "A", "é", "", "'; --", "%s $k :k", "NULL", "a\nb", '"']
CLASSES = ("no", "yes", "it's")
OPTIONS = {
    "bins": ("naive_bayes", {"bins": "7"}),
    "gaussian": ("naive_bayes", {"numeric": "gaussian", "laplace": 2}),
    "unsmoothed": ("naive_bayes", {"laplace": "0", "laplace_prior": "false"}),
    "rules": ("conjunctive_rules", {"max_rules": "4", "max_tests": 3, "min_rows": 3}),
}


def a_row(dice: random.Random, number: int) -> tuple:
    lean = dice.randrange(3)
    values = [
        dice.choice(WORDS[: 2 + lean] + WORDS[:4]) if number % 40 else f"rare {number}",
        dice.choice([lean, 10 + lean, 17, -3, 40 * lean]),
        dice.choice([math.nan, math.inf, -math.inf, -0.0, 0.5, 2.5 + lean, 7.25 * lean]),
        Decimal(dice.randrange(-40, 40) * (1 + lean)) / 100,
        date(1999, 12, 25) + timedelta(days=dice.randrange(12) * (1 + lean)),
        datetime(2024, 2, 28, 22, tzinfo=UTC) + timedelta(hours=dice.randrange(5) + 3 * lean),
        dice.random() < 0.2 + 0.3 * lean,
        f"w{dice.randrange(40)}",
    ]
    values = [None if dice.random() < 0.08 else value for value in values]
    label = None if number % 30 == 4 else "rare" if number == 77 else CLASSES[lean]
    return (number, *values, label)


def some_rows(seed: int, rows: int = 110) -> list[tuple]:
    dice = random.Random(seed)
    return [a_row(dice, number) for number in range(rows)]


def strange_rows() -> list[tuple]:
    """What training did not see: unknown words, far numbers, nothing at all."""
    far = ("never seen", 2**31 - 1, -1e308, Decimal("-999999.99"), date(1, 1, 1), datetime(9999, 1, 1, tzinfo=UTC))
    return [(1000, *far, True, "w1000", None), (1001, *[None] * len(COLUMNS), None)]


def as_dict(row: tuple) -> dict:
    return dict(zip(TABLE, row, strict=True))
