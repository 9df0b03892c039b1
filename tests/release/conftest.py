"""A small hospital, and policies for it."""

from __future__ import annotations

import random

import pytest

COLUMNS = {"id": "INTEGER", "name": "TEXT", "age": "INTEGER", "sex": "TEXT", "zip": "TEXT", "illness": "TEXT"}
ILLNESSES = ("flu", "cold", "cancer", "ulcer", None)

POLICY = """
CREATE OR REPLACE TABLE people_open AS
SELECT id, name, age, sex, zip, illness FROM people
WITH ANONYMIZATION (
    ALGORITHM mondrian
    REQUIRE k = 5{more_required}
    IDENTIFIER (id, name)
    QUASI IDENTIFIER (age, sex, zip)
    SENSITIVE (illness)
    {more}
    SEED 7
)
"""


def policy(more: str = "", required: str = "", **replaced: str) -> str:
    text = POLICY.format(more=more, more_required=required)
    for old, new in replaced.items():
        text = text.replace(old, new)
    return text


def people(rows: int = 120, seed: int = 3) -> list[tuple[object, ...]]:
    draw = random.Random(seed)
    return [
        (
            number,
            f"Person {number}",
            draw.randint(18, 90),
            draw.choice(["f", "m", None]),
            draw.choice(["10001", "10002", "20001", "20002"]),
            draw.choice(ILLNESSES),
        )
        for number in range(rows)
    ]


@pytest.fixture
def tables(make_table):
    """Table people, by whatever engine."""

    def filled(engine) -> None:
        make_table(engine, "people", COLUMNS, people())

    return filled
