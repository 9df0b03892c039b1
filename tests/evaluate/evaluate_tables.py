"""Random tables for the measures: ties, NULL, NaN, letters that look alike, names of our own statements."""

from __future__ import annotations

import math
import random
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

QUICK = pytest.mark.parametrize(
    "engine", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("duckdb", "postgres")], indirect=True
)
COLUMNS = {
    'o"brien': "TEXT",
    "source": "INTEGER",
    "quasi": "DECIMAL(8, 2)",
    "Größe 🙂": "DATE",
    "before": "BOOLEAN",
    "score": "DOUBLE",
    "when": "TIMESTAMP",
}
PORTABLE = {name: words for name, words in COLUMNS.items() if words not in ("DOUBLE", "TIMESTAMP")}
TARGET = "ppdm's class"
WORDS = ["a", "A", "a ", "é", "e\u0301", "", "'; --", "%s $k :k", "🙂", "NULL", "*", "{a", '"']


def random_rows(seed: int, rows: int = 120, *, classes: tuple = ("no", "yes", "Yes"), nulls: float = 0.1) -> list[dict]:
    """Rows whose target leans on the first columns, so that there is something to learn."""
    dice = random.Random(seed)
    words = dice.sample(WORDS, 6)
    made = []
    for _ in range(rows):
        lean = dice.randrange(len(classes))
        values = [
            dice.choice(words[: 2 + lean] + words),
            dice.choice([lean, lean + 1, 17, 40, -3]),
            Decimal(dice.randrange(-4, 4) * (1 + lean)) / 4,
            date(1999, 12, 25) + timedelta(days=dice.randrange(4) * (1 + lean)),
            dice.random() < 0.3 + 0.2 * lean,
            dice.choice([math.nan, -0.0, 0.0, 0.1, 2.5 + lean, 2.5 + lean]),
            datetime(2024, 2, 28, 23, 59, 59, 999_990) + timedelta(microseconds=dice.randrange(9), seconds=lean),
        ]
        row = {name: None if dice.random() < nulls else value for name, value in zip(COLUMNS, values, strict=True)}
        label = classes[lean] if dice.random() < 0.9 else dice.choice(classes)
        made.append(row | {TARGET: None if dice.random() < nulls / 2 else label})
    return made


def store(engine, make_table, rows, name="t", columns=None):
    """Stores the rows in a working table, which replaces the one of that name; gives the relation."""
    kept = columns or COLUMNS | {TARGET: "TEXT"}
    return make_table(engine, name, kept, [tuple(row[column] for column in kept) for row in rows], temporary=True)
