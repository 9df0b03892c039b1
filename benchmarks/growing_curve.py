"""What lateness costs a growing release: the loss of late rows when they are published every night, week or month.

python -m benchmarks.growing_curve [--people 20000] [--nights 30] [--method mondrian] [--picture FILE.svg]

A stream of visits: 1 % new people a night, 0.5 % of the rows changed, 0.3 % gone.  Every night is a REFRESH that must
succeed.  The loss of a batch is compared with that of the same rows published alone, with labels of their own.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

import ppdm_sql
from ppdm_sql.session import Session

COLUMNS = ("visit_id", "person", "age", "ward", "sex", "zip", "diagnosis")
EVERY = {"every night": 1, "every week": 7, "every month": 30}
_POLICY = """CREATE TABLE {name} {growing} AS SELECT {columns} FROM {source} WITH ANONYMIZATION (ALGORITHM {method}
REQUIRE k = 10, distinct_l = 2 QUASI IDENTIFIER (age, ward, sex, zip) SENSITIVE (diagnosis) {target} ENTITY (person)
{key} (visit_id) SEED 7)"""


def visits(draw: random.Random, start: int, number: int) -> pa.Table:
    """Rows of new people."""
    rows = []
    for key in range(start, start + number):
        age = min(95, max(18, int(draw.gauss(55, 18))))
        ward = draw.choices(["A1", "A2", "A3", "B1", "B2", "C1", "D1"], [9, 7, 5, 4, 3, 2, 1])[0]
        zip_code = 10_000 + int(draw.random() ** 2 * 400)
        illness = draw.choices(["flu", "cold", "asthma", "gout", "none"], [4, 4, 2, 1, 3])[0]
        rows.append((key, key, age, ward, draw.choice("mf"), zip_code, illness))
    return pa.table({name: list(column) for name, column in zip(COLUMNS, zip(*rows, strict=True), strict=True)})


def policy(method: str, *, growing: bool, name: str = "visits_open", source: str = "visits") -> str:
    target = "" if method in ("mondrian", "incognito") else "TARGET (diagnosis)"
    return _POLICY.format(
        name=name, growing="GROWING" if growing else "", columns=", ".join(COLUMNS), source=source, method=method,
        target=target, key="KEY" if growing else "IDENTIFIER",
    )  # fmt: skip


class Stream:
    """The table as it changes from night to night, and its release."""

    def __init__(self, people: int, method: str, seed: int = 1) -> None:
        self.draw, self.method, self.people = random.Random(seed), method, people
        self.con = duckdb.connect()
        self.next = 0
        self.late: list[pa.Table] = []
        first = self.arrive(people)
        self.con.register("first", first)
        self.con.execute("CREATE TABLE visits AS SELECT * FROM first")
        self.db: Session = ppdm_sql.connect(self.con)
        self.first = self.db.publish(policy(method, growing=True))

    def arrive(self, number: int) -> pa.Table:
        found = visits(self.draw, self.next, number)
        self.next += number
        return found

    def night(self) -> None:
        """1 % new, 0.5 % changed, 0.3 % gone."""
        new = self.arrive(self.people // 100)
        self.late.append(new)
        self.con.register("new_visits", new)
        self.con.execute("INSERT INTO visits SELECT * FROM new_visits")
        picked = self.draw.randrange(1_000)
        self.con.execute("UPDATE visits SET age = age + 1 WHERE (visit_id * 7919 + ?) % 1000 < 5", [picked])
        self.con.execute("DELETE FROM visits WHERE (visit_id * 104729 + ?) % 1000 < 3 AND visit_id < ?",
                         [picked, self.next - self.people // 50])  # fmt: skip

    def refresh(self) -> tuple[float | None, float]:
        """The loss of the rows that came, and that of the same rows alone."""
        grown = self.db.run("REFRESH visits_open").record.manifest.growing
        rows = pa.concat_tables(self.late)
        self.late = []
        return (None if grown.loss_tonight is None else float(grown.loss_tonight)), alone(rows, self.method)


def alone(rows: pa.Table, method: str) -> float:
    """The loss of a batch that is published by itself, with labels of its own."""
    con = duckdb.connect()
    con.register("batch", rows)
    con.execute("CREATE TABLE visits AS SELECT * FROM batch")
    release = ppdm_sql.connect(con).publish(policy(method, growing=False))
    assert release.utility is not None
    return float(release.utility.loss)


def measure(people: int, nights: int, method: str, step: int) -> tuple[float, float, float, int]:
    """First loss, mean loss of the batches, mean loss alone, rows of a batch."""
    stream = Stream(people, method)
    late, own = [], []
    for night in range(1, nights + 1):
        stream.night()
        if night % step == 0:
            loss, by_itself = stream.refresh()
            if loss is not None:
                late.append(loss)
                own.append(by_itself)
    assert stream.db.verify("visits_open").holds
    assert stream.first.utility is not None
    return float(stream.first.utility.loss), sum(late) / len(late), sum(own) / len(own), step * people // 100


def draw_curve(points: Sequence[tuple[str, int, float, float]], path: Path) -> None:
    """A bar for each rhythm: the loss of late rows, and that of the same rows alone."""
    wide, high, left = 640, 60 * len(points) + 50, 230
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" font-family="sans-serif" '
             f'font-size="14"><title>Loss of late rows</title>']  # fmt: skip
    for place, (word, rows, loss, own) in enumerate(points):
        top = 20 + 60 * place
        parts.append(f'<text x="10" y="{top + 22}">{word}: {rows:,} rows</text>')
        for shift, value, colour, what in ((0, loss, "#2b6cb0", "in the release"), (20, own, "#a0aec0", "alone")):
            parts.append(f'<rect x="{left}" y="{top + shift}" width="{300 * value:.1f}" height="17" fill="{colour}"/>')
            parts.append(f'<text x="{left + 300 * value + 6:.1f}" y="{top + shift + 14}">{value:.2f} {what}</text>')
    parts.append(f'<text x="10" y="{high - 12}">loss: 0 exact, 1 suppressed</text></svg>')
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--people", type=int, default=20_000)
    reader.add_argument("--nights", type=int, default=30)
    reader.add_argument("--method", default="mondrian")
    reader.add_argument("--picture", type=Path)
    given = reader.parse_args()
    points, first = [], 0.0
    for word, step in EVERY.items():
        if step > given.nights:
            continue
        first, loss, own, rows = measure(given.people, given.nights, given.method, step)
        print(f"{given.method} {word}: {rows} rows lose {loss:.3f}, alone {own:.3f} ({loss / own:.2f} x)", flush=True)
        points.append((word, rows, loss, own))
    print(f"the first {given.people} rows lose {first:.3f}")
    if given.picture is not None:
        draw_curve([*points, ("the first night", given.people, first, first)], given.picture)


if __name__ == "__main__":
    main()
