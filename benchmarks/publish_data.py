"""The table of the publication benchmarks: like Adult, eight quasi-identifiers, about 59,000 different combinations.

A row draws one of KINDS kinds of people, low numbers more often than high ones, and the kind fixes the eight
quasi-identifiers: a census, too, has few combinations compared with its rows.  The class and the other columns are
drawn for each row.  Everything is a hash of the number of the row or of the kind, so that the table is always the same.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

QUASI = ("sex", "age", "race", "marital_status", "education", "native_country", "workclass", "occupation")
CLASS = "income"
PERSON = "person"
INSENSITIVE = ("relationship", "hours")
KINDS = 60_192

_KIND = {  # over a number in (0, 1) of the kind
    "sex": "CASE WHEN {0} < 0.33 THEN 'Female' ELSE 'Male' END",
    "age": "17 + floor(74 * {0} * (0.4 + 0.6 * {0}))::INTEGER",
    "race": "'race ' || floor(5 * pow({0}, 3))::INTEGER",
    "marital_status": "'marital ' || floor(7 * pow({0}, 2))::INTEGER",
    "education": "'education ' || floor(16 * pow({0}, 2))::INTEGER",
    "native_country": "'country ' || floor(40 * pow({0}, 6))::INTEGER",
    "workclass": "'work ' || floor(8 * pow({0}, 3))::INTEGER",
    "occupation": "'occupation ' || floor(14 * {0})::INTEGER",
}
_RICH = "(age > 35)::INT + (education > 'education 5')::INT + (sex = 'Male')::INT + 2 * {} > 3.2"


def make(path: Path, rows: int) -> None:
    """Writes table adult(rows) into a new database file."""
    path.unlink(missing_ok=True)
    drawn = [f"{text.format(_u('k', number))} AS {name}" for number, (name, text) in enumerate(_KIND.items())]
    kind = f"floor({KINDS} * {_u('i', 0)} * {_u('i', 0)})::BIGINT"
    with duckdb.connect(str(path)) as con:
        con.execute("SET enable_progress_bar = false; SET preserve_insertion_order = false")
        con.execute(f"CREATE TEMP TABLE kinds AS SELECT k, {', '.join(drawn)} FROM range({KINDS}) AS r(k)")
        con.execute(
            f"CREATE TABLE adult AS SELECT {', '.join(QUASI)}, "
            f"CASE WHEN {_RICH.format(_u('i', 1))} THEN '>50K' ELSE '<=50K' END AS {CLASS}, "
            f"'relation ' || floor(6 * {_u('i', 2)})::INTEGER AS relationship, "
            f"floor(1 + 98 * {_u('i', 3)})::INTEGER AS hours, "
            f"floor({rows} * 0.8 * {_u('i', 4)})::BIGINT AS {PERSON} "
            f"FROM (SELECT i, {kind} AS k FROM range({rows}) AS r(i)) JOIN kinds USING (k)"
        )


def _u(key: str, number: int) -> str:
    """A pseudo-random number in (0, 1) of a row or a kind, the same every time."""
    return f"((hash({key} * 16 + {number}) + 0.5) / 18446744073709551617.0)"
