"""The tables of the profile benchmarks: 20 columns as a hospital has them, and a wide one; the same every time.

Half of the twenty are those of the census; the others are dates, codes, amounts, a running number and e-mails, because
the forms of texts are what a profile spends its time on.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

from benchmarks import data

WIDE = 200  # columns
_FURTHER = {  # over a number in [0, 1) of the row and column
    "visit": "range",
    "email": "'person' || CAST(floor(900000 * {0}) AS INTEGER) || '@mail.example'",
    "born": "DATE '1930-01-01' + CAST(floor(28000 * {0}) AS INTEGER)",
    "admitted": "TIMESTAMP '2020-01-01' + INTERVAL (CAST(floor(2000000 * {0}) AS INTEGER)) MINUTE",
    "phone": "'+49 ' || CAST(100000000 + floor(800000000 * {0}) AS BIGINT)",
    "amount": "CAST(round(100 * pow({0}, 4), 2) AS DECIMAL(9, 2))",
    "weight": "50 + round(60 * {0}, 1)",
    "ward": "CASE WHEN {0} < 0.02 THEN NULL ELSE 'ward ' || CAST(floor(30 * {0}) AS INTEGER) END",
    "score": "CAST(floor(1000 * {0} * {0}) AS INTEGER)",
    "smoker": "{0} < 0.3",
}


def make(path: Path, rows: int) -> None:
    """Writes tables census (benchmarks/data.py) and patients, which has 20 columns, into a new database file."""
    data.make(path, rows)
    drawn = [f"{text.format(_u('range', number))} AS {name}" for number, (name, text) in enumerate(_FURTHER.items())]
    with duckdb.connect(str(path)) as con:
        con.execute("SET enable_progress_bar = false")
        con.execute(
            "CREATE TABLE patients AS SELECT census.*, further.* EXCLUDE (place) FROM "
            f"(SELECT *, row_number() OVER () - 1 AS place FROM census) AS census JOIN (SELECT range AS place, "
            f"{', '.join(drawn)} FROM range({rows})) AS further USING (place)"
        )
        con.execute("ALTER TABLE patients DROP COLUMN place")


def make_wide(path: Path, rows: int) -> None:
    """Writes table wide: a fifth of its columns are texts, dates, decimals, whole numbers and booleans each."""
    path.unlink(missing_ok=True)
    forms = (
        "'value ' || CAST(floor({1} * {0} * {0}) AS INTEGER)", "DATE '2000-01-01' + CAST(floor({1} * {0}) AS INTEGER)",
        "CAST(round({1} * {0}, 2) AS DECIMAL(9, 2))", "CAST(floor({1} * {0}) AS INTEGER)", "{0} < 0.5",
    )  # fmt: skip
    columns = [
        f"{forms[number % len(forms)].format(_u('range', number), 3 + 7 * number)} AS c{number}"
        for number in range(WIDE)
    ]
    with duckdb.connect(str(path)) as con:
        con.execute("SET enable_progress_bar = false")
        con.execute(f"CREATE TABLE wide AS SELECT {', '.join(columns)} FROM range({rows})")


def _u(row: str, number: int) -> str:
    return f"(hash({row} * {WIDE} + {number}) / 18446744073709551616.0)"


if __name__ == "__main__":  # a process of its own: a case would inherit the peak memory of the process that starts it
    made, rows = Path(sys.argv[2]), int(sys.argv[3])
    make_wide(made, rows) if sys.argv[1] == "wide" else make(made, rows)
