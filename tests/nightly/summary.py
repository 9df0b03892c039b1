"""What the parts of a nightly run share: their sizes, their result, and work on several processes."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

Done = TypeVar("Done")


@dataclass(frozen=True)
class Options:
    """The sizes of a run."""

    tables: int = 10_000
    kills: int = 500
    sizes: int = 20
    agree: int = 5_000
    streams: int = 20
    seed: int = 1
    workers: int = 2
    methods: str = ""  # of `tables`: the methods that are drawn, with commas; none: the usual ones
    quiet: bool = False

    def say(self, text: str) -> None:
        if not self.quiet:
            print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Part:
    """One part of a run: a table in Markdown, figures, and what went wrong (nothing: it passed)."""

    name: str
    text: str
    figures: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def markdown(self, seconds: float) -> str:
        lines = [f"### {self.name}", "", self.text, ""]
        lines += [f"- **FAILED** {problem}" for problem in self.problems] or ["No violation."]
        return "\n".join([*lines, "", f"Took {seconds / 60:.1f} minutes."])


def table(head: Sequence[str], lines: Sequence[Sequence[object]]) -> str:
    """A table in Markdown.

    >>> print(table(["a", "b"], [[1, 2_000]]), end="")
    | a | b |
    |---|---|
    | 1 | 2,000 |
    """
    shown = [
        [f"{cell:,}" if isinstance(cell, int) else str(cell).replace("|", "\\|") for cell in line] for line in lines
    ]
    rows = [list(head), ["---"] * len(head), *shown]
    return "".join(f"|{'|'.join(row)}|\n" if row[0] == "---" else f"| {' | '.join(row)} |\n" for row in rows)


def in_blocks(
    work: Callable[[Sequence[int]], Done], seeds: Sequence[int], size: int, options: Options
) -> Iterator[Done]:
    """The work on blocks of seeds, on several processes, as they end."""
    blocks = [seeds[start : start + size] for start in range(0, len(seeds), size)]
    if options.workers == 1:
        yield from map(work, blocks)
        return
    # A process is replaced now and then: what a library keeps would add up over thousands of tables.
    with multiprocessing.get_context("spawn").Pool(options.workers, maxtasksperchild=20) as pool:
        yield from pool.imap_unordered(work, blocks)
