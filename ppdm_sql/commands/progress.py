"""A progress bar for people; nothing at all when the output is not a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ppdm_sql.watching import Progress


def bar() -> Progress | None:
    """Draws on stderr, so that a result on stdout stays clean."""
    if not sys.stderr.isatty():
        return None
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    drawn = RichProgress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        console=Console(stderr=True), transient=True,
    )  # fmt: skip
    tasks: dict[str, int] = {}

    def advance(step: str, done: int, total: int | None) -> None:
        if not tasks:
            drawn.start()
        if step not in tasks:
            for other in list(tasks.values()):
                drawn.update(other, visible=False)  # type: ignore[arg-type]
            tasks[step] = drawn.add_task(step, total=total)
        drawn.update(tasks[step], completed=done, total=total)  # type: ignore[arg-type]
        if step == "done":
            drawn.stop()
            tasks.clear()

    return advance
