"""The benchmark's own table: census-like, made in SQL from a hash of the row number, the same every time."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

QUASI = ("age", "sex", "race", "marital", "education", "country", "workclass", "zip")
SENSITIVE = "disease"
TARGET = "income"

# Each column is an expression over a pseudo-random number u in [0, 1) of its own: skewed, as real columns are.
_COLUMNS = {
    "age": "17 + CAST(floor(74 * u * (0.4 + 0.6 * u)) AS INTEGER)",
    "sex": "CASE WHEN u < 0.48 THEN 'Female' ELSE 'Male' END",
    "race": "['White', 'Black', 'Asian', 'Other', 'Native'][1 + CAST(floor(5 * u * u * u) AS INTEGER)]",
    "marital": "'marital ' || CAST(floor(7 * u * u) AS INTEGER)",
    "education": "'education ' || CAST(floor(16 * u * u) AS INTEGER)",
    "country": "'country ' || CAST(floor(40 * u * u * u * u * u * u) AS INTEGER)",
    "workclass": "'work ' || CAST(floor(9 * u * u * u) AS INTEGER)",
    "zip": "CAST(10000 + CAST(floor(100 * u * u * u) AS INTEGER) AS VARCHAR)",
    "disease": "'disease ' || CAST(floor(12 * u * (0.5 + 0.5 * u)) AS INTEGER)",
    "noise": "u",
}


def make(path: Path, rows: int) -> None:
    """Writes table census(rows) into a new database file."""
    path.unlink(missing_ok=True)
    numbers = ", ".join(
        f"hash(i * {len(_COLUMNS)} + {n}) / 18446744073709551616.0 AS u{n}" for n in range(len(_COLUMNS))
    )
    columns = enumerate(_COLUMNS.items())
    drawn = ", ".join(f"{_over(text, n)} AS {name}" for n, (name, text) in columns)
    with duckdb.connect(str(path)) as con:
        con.execute(
            "CREATE TABLE census AS SELECT * EXCLUDE (noise), "
            "CASE WHEN (age > 35)::INT + (education > 'education 5')::INT + (sex = 'Male')::INT + noise * 2 > 3.2 "
            "THEN '>50K' ELSE '<=50K' END AS income "
            f"FROM (SELECT {drawn} FROM (SELECT {numbers} FROM range({rows}) AS r(i)))"
        )


def _over(text: str, number: int) -> str:
    return re.sub(r"\bu\b", f"u{number}", text)


def make_narrow(path: Path, rows: int) -> None:
    """Writes table narrow(rows): five integer columns, about a fifth as many classes as rows."""
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as con:
        con.execute(
            "CREATE TABLE narrow AS SELECT (hash(i * 5) % 90)::INTEGER AS age, (hash(i * 5 + 1) % 2)::INTEGER AS sex, "
            "(hash(i * 5 + 2) % 40000)::INTEGER AS zip, (hash(i * 5 + 3) % 7)::INTEGER AS marital, "
            f"(hash(i * 5 + 4) % 12)::INTEGER AS disease FROM range({rows}) AS r(i)"
        )
