"""The table of the tree benchmarks: census-like, 14 attributes, a class that depends on some of them with noise."""

from __future__ import annotations

from pathlib import Path

import duckdb

CATEGORIES = {
    "workclass": 9, "education": 16, "marital": 7, "occupation": 15,
    "relationship": 6, "race": 5, "sex": 2, "country": 40,
}  # fmt: skip
NUMBERS = {
    "age": "17 + floor(74 * {0} * (0.4 + 0.6 * {0}))",
    "weight": "floor(100000 * {0})",
    "hours": "1 + floor(99 * {0})",
    "gain": "CASE WHEN {0} < 0.9 THEN 0 ELSE floor(10000 * {1}) END",
    "loss": "CASE WHEN {0} < 0.9 THEN 0 ELSE floor(1000 * {1}) END",
    "years": "floor(10 * {0})",
}
ATTRIBUTES = (*CATEGORIES, *NUMBERS)
CLASS = "income"

_SCORE = """
    (age - 40) * 0.05 * (CASE WHEN sex = 'sex 0' THEN 1 ELSE 0.3 END) + years * 0.25 + (gain > 5000)::INT * 3
    + (marital = 'marital 1')::INT * 1.1 + (hours - 50) * 0.02 + (loss > 300)::INT
    + (occupation > 'occupation 5')::INT * (age > 35)::INT * 0.8
"""


def make(path: Path, rows: int) -> None:
    """Writes tables people (text and integers) and people_enum (the same with ENUM types, for who pulls it)."""
    path.unlink(missing_ok=True)
    drawn = [f"'{name} ' || floor({size} * {_u(n)} * {_u(n)})::INTEGER AS {name}" for n, (name, size) in _numbered()]
    first = len(CATEGORIES)
    for n, (name, formula) in enumerate(NUMBERS.items()):
        drawn.append(f"({formula.format(_u(first + 2 * n), _u(first + 2 * n + 1))})::INTEGER AS {name}")
    with duckdb.connect(str(path)) as con:
        con.execute("SET preserve_insertion_order = false")
        con.execute(
            f"CREATE TABLE people AS SELECT * EXCLUDE (noise), CASE WHEN {_SCORE} - ln(1 / noise - 1) > 3.6 "
            f"THEN '>50K' ELSE '<=50K' END AS {CLASS} "
            f"FROM (SELECT {', '.join(drawn)}, {_u(30)} AS noise FROM range({rows}) AS r(i))"
        )
        for name in (*CATEGORIES, CLASS):
            con.execute(f"CREATE TYPE {name}_enum AS ENUM (SELECT DISTINCT {name} FROM people ORDER BY 1)")
        listed = [f"{name}::{name}_enum AS {name}" for name in (*CATEGORIES, CLASS)]
        con.execute(f"CREATE TABLE people_enum AS SELECT {', '.join([*NUMBERS, *listed])} FROM people")


def _numbered():
    return enumerate(CATEGORIES.items())


def _u(number: int) -> str:
    """A pseudo-random number in (0, 1) of the row, the same every time."""
    return f"((hash(i * 32 + {number}) + 0.5) / 18446744073709551617.0)"
