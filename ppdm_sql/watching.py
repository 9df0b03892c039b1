"""How a long step tells how far it is."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """The command line draws a bar, a script ignores it."""

    def __call__(self, step: str, done: int, total: int | None) -> None: ...


def silent(step: str, done: int, total: int | None) -> None:
    """Progress that nobody watches."""
