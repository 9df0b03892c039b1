"""Changed copies of the project, and whether their tests fail.

Each worker has a copy of its own.  It forks for every change from a process that has the large libraries loaded
already, so a trial costs its tests and little more.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.python import Mutant
from tests.mutants.targets import ROOT, Target, belonging_tests

_COPIED = ("ppdm_sql", "sql", "migrations", "tests", "docs", "benchmarks", "conftest.py", "pyproject.toml", "README.md")
MARKS = "not postgres and not spark and not slow"


@dataclass(frozen=True)
class Tried:
    """A change and what became of it: killed, survived or timeout."""

    mutant: Mutant
    target: str
    end: str
    seconds: float
    output: str = ""

    @property
    def is_killed(self) -> bool:
        return self.end != "survived"


class Copy:
    """A copy of the project in which one file at a time is changed."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ppdm_mutants_"))
        for name in _COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, self.folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif (ROOT / name).exists():
                shutil.copy2(ROOT / name, self.folder / name)

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def baseline(self, target: Target, most: float = 900) -> tuple[float, str]:
        """How long the tests of a target take on the project as it is, and what they print where they fail."""
        started = time.monotonic()
        code, output = self._run(target, most)
        return time.monotonic() - started, "" if code == 0 else output[-2000:] or "timeout"

    def tried(self, mutant: Mutant, target: Target, most: float) -> Tried:
        file = self.folder / mutant.path
        before = file.read_bytes()
        started = time.monotonic()
        try:
            file.write_text(mutant.code, encoding="utf-8")
            self._forget(file)
            code, output = self._run(target, most)
        finally:
            file.write_bytes(before)
            self._forget(file)
        end = "timeout" if code is None else "survived" if code == 0 else "killed"
        return Tried(mutant, target.name, end, time.monotonic() - started, output[-400:])

    @staticmethod
    def _forget(file: Path) -> None:
        """Compiled files are known by time and size, and both may be those of the change before."""
        for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
            compiled.unlink(missing_ok=True)

    def _run(self, target: Target, most: float) -> tuple[int | None, str]:
        """The exit code of the tests, or None where they took too long, and what they printed."""
        told = self.folder / "output.txt"
        pid = os.fork()
        if pid == 0:
            _become_tests(self.folder, told, belonging_tests(target))
        deadline = time.monotonic() + most
        while time.monotonic() < deadline:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status), told.read_text(errors="replace")
            time.sleep(0.02)
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return None, ""


def _become_tests(folder: Path, told: Path, tests: list[str]) -> None:
    """Never returns: this process runs the tests of a copy and ends."""
    code = 3
    try:
        os.setpgrp()
        with told.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        os.chdir(folder)
        for name in [name for name in sys.modules if name.split(".")[0] in ("ppdm_sql", "tests", "oracles")]:
            del sys.modules[name]
        sys.path[:] = [str(folder), *(path for path in sys.path if path not in ("", str(ROOT)))]
        import pytest

        arguments = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-m", MARKS, "--tb=line", *tests]
        code = int(pytest.main(arguments))
    finally:
        sys.stdout.flush()
        os._exit(code)


def load_libraries() -> None:
    """What every test loads; nothing of the project, which differs from copy to copy."""
    import duckdb  # noqa: F401
    import hypothesis  # noqa: F401
    import numpy  # noqa: F401
    import pandas  # noqa: F401
    import psycopg  # noqa: F401
    import pyarrow  # noqa: F401
    import pytest  # noqa: F401
    import sqlglot
    import sqlglot.dialects.duckdb
    import sqlglot.dialects.postgres  # noqa: F401
