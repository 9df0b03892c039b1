"""How a long step reports its progress."""

from __future__ import annotations

import time
from typing import Protocol


class Progress(Protocol):
    """The command line draws a bar, a script ignores it."""

    def __call__(self, step: str, done: int, total: int | None) -> None: ...


def silent(step: str, done: int, total: int | None) -> None:
    """Progress that nobody watches."""


FIRST_STAGE = "reading the source"


class StageClock:
    """Progress that notes how many seconds each stage took; what comes before the first is reading the source."""

    def __init__(self, shown: Progress = silent) -> None:
        self._shown = shown
        self._seconds: dict[str, float] = {}
        self._stage, self._since = FIRST_STAGE, time.monotonic()

    def __call__(self, step: str, done: int, total: int | None) -> None:
        if step != self._stage:
            self._end_stage(step)
        self._shown(step, done, total)

    def take(self) -> dict[str, float]:
        """Seconds by stage since the last call, for one statement."""
        self._end_stage(FIRST_STAGE)
        taken, self._seconds = self._seconds, {}
        return {stage: round(seconds, 3) for stage, seconds in taken.items()}

    def _end_stage(self, following: str) -> None:
        now = time.monotonic()
        if self._stage != "done":  # what follows the end is no stage
            self._seconds[self._stage] = self._seconds.get(self._stage, 0.0) + now - self._since
        self._stage, self._since = following, now
