"""The command line: its entry point, which answers Ctrl-C before anything else is loaded."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType

    from ppdm_sql.commands.group import cli

__all__ = ["cli", "main"]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C.

    A kind of its own, because Python remembers a plain KeyboardInterrupt that passed through exec() (a dataclass or
    a named tuple being made) and then ends by the signal, although it was caught and the exit code told.
    """


def main() -> None:
    """The entry point: messages on stderr, results on stdout, the exit code as documented."""
    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # who started us may have it ignored
            signal.signal(signal.SIGINT, _interrupt)
        os.umask(0o077)  # what we write is private until its owner decides otherwise
        code = _run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 3
    sys.exit(code)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Interrupted


def _run(arguments: list[str]) -> int:
    """One call, its failures told; an interrupt at any moment ends with the code of a failed run."""
    try:
        from ppdm_sql.commands.group import run

        return run(arguments)
    except KeyboardInterrupt:
        if signal.getsignal(signal.SIGINT) is _interrupt:  # a second one has nothing left to stop
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("ppdm: stopped; nothing was published", file=sys.stderr)
        return 3


def __getattr__(name: str) -> Any:
    if name == "cli":
        from ppdm_sql.commands.group import cli

        return cli
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
