"""What lateness costs a growing release: the loss of late rows when they are published every night, week or month.

python -m benchmarks.growing_curve [--people 20000] [--nights 30] [--method mondrian] [--picture FILE.svg]

Every REFRESH of the stream (growing_stream.py) must succeed.  The loss of a batch is compared with that of the same
rows published alone, with labels of their own.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.growing_stream import Stream

EVERY = {"every night": 1, "every week": 7, "every month": 30}


def measure(people: int, nights: int, method: str, step: int) -> tuple[float, float, float, int]:
    """First loss, mean loss of the batches, mean loss alone, rows of a batch."""
    stream = Stream(people, method)
    late, own = [], []
    for night in range(1, nights + 1):
        stream.night()
        if night % step == 0:
            grown, by_itself = stream.refresh(), stream.alone()
            if grown.loss_tonight is not None:
                late.append(float(grown.loss_tonight))
                own.append(by_itself)
    assert stream.db.verify("visits_open").holds
    return stream.first_loss, sum(late) / len(late), sum(own) / len(own), step * people // 100


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
