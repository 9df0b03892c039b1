"""Random tables with all that goes wrong: ties, NULL, NaN, infinities, rare values, letters that look alike, odd names."""

from __future__ import annotations

import math
import random
from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np

COLUMNS = {
    'o"brien': "TEXT",
    "select": "INTEGER",
    "ppdm": "DOUBLE",
    "ppdm_a0": "DECIMAL(8, 2)",
    "Größe 🙂": "DATE",
    "ppdm_value": "TIMESTAMP",
    "ppdm_k0": "BOOLEAN",
    "r": "TEXT",
    "small": "REAL",
}
TARGET = "ppdm_class"
WORDS = ["a", "A", "a ", "é", "e\u0301", "", "'; --", "%s $k :k", "🙂", "NULL", "\\n\\", "a\nb", '"']


def random_rows(seed: int, rows: int = 120, classes: tuple = ("no", "yes", "Yes")) -> list[dict]:
    """Rows whose target leans on the first columns, so that there is something to learn."""
    dice = random.Random(seed)
    words = dice.sample(WORDS, 6)
    return [_row(dice, words, number, classes) for number in range(rows)]


def _row(dice: random.Random, words: list[str], number: int, classes: tuple) -> dict:
    lean = dice.randrange(len(classes))
    values = [
        dice.choice(words[: 2 + lean] + words),
        dice.choice([lean, lean + 1, 17, 40, -3]),
        dice.choice([math.nan, math.inf, -math.inf, -0.0, 0.0, 0.1, 1e300, 2.5 + lean, 2.5 + lean]),
        Decimal(dice.randrange(-40, 40) * (1 + lean)) / 100,
        date(1999, 12, 25) + timedelta(days=dice.randrange(12) * (1 + lean)),
        datetime(2024, 2, 28, 23, 59, 59, 999_990) + timedelta(microseconds=dice.randrange(9), seconds=lean),
        dice.random() < 0.3 + 0.2 * lean,
        f"id {number}",
        float(np.float32(dice.choice([0.1, 0.7, 1.5, 2.25, -1.0]))),
    ]
    row = {name: None if dice.random() < 0.1 else value for name, value in zip(COLUMNS, values, strict=True)}
    label = classes[lean] if dice.random() < 0.97 else "rare"
    return row | {TARGET: None if dice.random() < 0.05 else label, "key": number}


def store(engine, make_table, rows, name="t"):
    """Stores the rows; gives the relation, the attributes and the target."""
    columns = COLUMNS | {TARGET: "TEXT", "key": "INTEGER"}
    relation = make_table(engine, name, columns, [tuple(row[column] for column in columns) for row in rows])
    found = {info.name: info for info in engine.columns(relation)}
    return relation, [found[name] for name in COLUMNS], found[TARGET]


def strange_rows(rows: list[dict]) -> list[dict]:
    """Rows that training did not see: unknown words, far numbers, nothing at all."""
    far = {
        'o"brien': "never seen",
        "select": 2**31 - 1,
        "ppdm": -1e308,
        "ppdm_a0": Decimal("999999.99"),
        "Größe 🙂": date(1, 1, 1),
        "ppdm_value": datetime(9999, 12, 31),
        "ppdm_k0": True,
        "r": None,
        "small": math.nan,
    }
    nothing = dict.fromkeys(COLUMNS)
    return [row | {TARGET: None, "key": len(rows) + place} for place, row in enumerate([far, nothing])]
