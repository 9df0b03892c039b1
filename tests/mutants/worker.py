"""A copy of the project with its tests loaded.  It forks for every change, so that a trial costs its tests and no more.

run.py starts python -m tests.mutants.worker in the copy and sends it jobs; both directions are lines of JSON.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.mutants.baseline import Footprint, Recorder
from tests.mutants.swap import clear_caches, swap_code
from tests.mutants.targets import ROOT, all_tests, files

_COPIED = ("ppdm_sql", "sql", "migrations", "tests", "docs", "benchmarks", "conftest.py", "pyproject.toml", "README.md")
_OPTIONS = ("-q", "-x", "-p", "no:cacheprovider", "--tb=line", "--basetemp=scratch", "-m")
MARKS = "not postgres and not spark and not nightly"
SMALL = f"{MARKS} and not wide"
SECONDS, TIMES = 30, 10  # a test may take so long, and so many times its usual time, of the processor's time
WALL = 900  # and a trial so long in all, for tests that wait for something that never comes
MEMORY = 4 * 2**30  # and it may take so many bytes more than the worker has: a loop that only grows ends there
ENDS = {0: "survived", 1: "killed", 4: "reload", -signal.SIGXCPU: "timeout"}


class Copy:
    """A copy of the project, and the worker in it."""

    def __init__(self, marks: str = MARKS) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ppdm_mutants_"))
        for name in _COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, self.folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif (ROOT / name).exists():
                shutil.copy2(ROOT / name, self.folder / name)
        paths = [str(self.folder), *(p for p in os.environ.get("PYTHONPATH", "").split(":") if p and p != str(ROOT))]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.mutants.worker", marks],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": ":".join(paths)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.tests = self._answer()["tests"]

    def baseline(self, tests: Sequence[str]) -> dict[str, Footprint]:
        return {test: Footprint(**found) for test, found in self._ask(tests=list(tests)).items()}

    def tried(self, path: str, code: str, tests: Sequence[str], usual: Sequence[float]) -> dict[str, Any]:
        return self._ask(path=path, code=code, tests=list(tests), usual=list(usual))

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _ask(self, **job: object) -> dict[str, Any]:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker in {self.folder} ended; see {self.folder / 'output.txt'}")
        answer: dict[str, Any] = json.loads(line)
        return answer


class Worker:
    """A plug-in of pytest: instead of running what was collected it does what it is sent."""

    def __init__(self, jobs: Any, answers: Any) -> None:
        self.jobs, self.answers = jobs, answers
        self.folder = Path.cwd()
        self.items: dict[str, pytest.Item] = {}
        self.failed = False

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        self._say({"tests": list(self.items)})
        for line in self.jobs:
            job = json.loads(line)
            self._say(self._tried(**job) if "path" in job else self._baseline(**job))
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    def _say(self, answer: object) -> None:
        self.answers.write(json.dumps(answer) + "\n")
        self.answers.flush()

    # -- all tests without a change ----------------------------------------------------------------------

    def _baseline(self, tests: list[str]) -> dict[str, Any]:
        result = self.folder / "baseline.json"
        result.unlink(missing_ok=True)
        end, failed = self._in_child(lambda: self._record(tests, result), wall=10 * WALL)
        if end != "survived":
            raise RuntimeError(f"{failed} fails without a change: {end}")
        found: dict[str, Any] = json.loads(result.read_text())
        return found

    def _record(self, tests: list[str], result: Path) -> int:
        recorder = Recorder(self.folder, [name for name in files() if name.endswith(".py")])
        for test, after in zip(tests, [*tests[1:], None], strict=True):
            self._started(test)
            recorder.record(test, lambda test=test, after=after: self._run(test, after))  # type: ignore[misc]
            if self.failed:
                return 1
        result.write_text(json.dumps({test: asdict(found) for test, found in recorder.footprints().items()}))
        return 0

    # -- one change --------------------------------------------------------------------------------------

    def _tried(self, path: str, code: str, tests: list[str], usual: list[float]) -> dict[str, Any]:
        with self._changed(self.folder / path, code) as before:
            end, by = self._in_child(lambda: self._meet(path, before, code, tests, usual))
            if end == "reload":
                end, by = self._reloaded(tests, sum(usual))
        return {"end": end, "by": by}

    @contextmanager
    def _changed(self, file: Path, code: str) -> Iterator[str]:
        before = file.read_text(encoding="utf-8")
        try:
            file.write_text(code, encoding="utf-8")
            yield before
        finally:
            file.write_text(before, encoding="utf-8")
            for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*"):  # known by time and size only
                compiled.unlink(missing_ok=True)

    def _meet(self, path: str, before: str, code: str, tests: list[str], usual: list[float]) -> int:
        if path.endswith(".py") and not swap_code(self.folder / path, before, code):
            return 4
        clear_caches()
        limit_memory()
        for test, after, seconds in zip(tests, [*tests[1:], None], usual, strict=True):
            self._started(test)
            spent = resource.getrusage(resource.RUSAGE_SELF)
            limit = int(spent.ru_utime + spent.ru_stime + SECONDS + TIMES * seconds)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
            self._run(test, after)
            if self.failed:
                return 1
        return 0

    def _run(self, test: str, after: str | None) -> None:
        item = self.items[test]
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=self.items[after] if after else None)

    def _reloaded(self, tests: list[str], usual: float) -> tuple[str, str]:
        """The same in a process that loads the project as it is now."""
        listed = self.folder / "tests.txt"
        listed.write_text("\n".join(tests))
        command = [sys.executable, "-m", "pytest", *_OPTIONS, MARKS, f"@{listed}"]
        try:
            done = subprocess.run(
                command,
                timeout=WALL + TIMES * usual,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                preexec_fn=limit_memory,
            )
        except subprocess.TimeoutExpired:
            return "timeout", ""
        if done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED:
            return "broken", ""
        return "killed" if done.returncode else "survived", "a new process"  # it may not even load

    # -- processes ---------------------------------------------------------------------------------------

    def _started(self, test: str) -> None:
        (self.folder / "now.txt").write_text(test)

    def _in_child(self, work: Callable[[], int], wall: float = WALL) -> tuple[str, str]:
        """How the work ended in a process of its own, and the last test it started."""
        pid = os.fork()
        if pid == 0:
            self._become(work)
        deadline = time.monotonic() + wall
        while time.monotonic() < deadline:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                code = os.waitstatus_to_exitcode(status)
                end = ENDS.get(code, "killed" if code < 0 else "broken")  # a signal: the change made it crash
                return end, (self.folder / "now.txt").read_text()
            time.sleep(0.01)
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return "timeout", (self.folder / "now.txt").read_text()

    @staticmethod
    def _become(work: Callable[[], int]) -> None:
        """Never returns: this process does its work and ends."""
        code = 3
        try:
            os.setpgrp()
            code = work()
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
        finally:
            os._exit(code)


def limit_memory(more: int = MEMORY) -> None:
    """This process and those it starts get no memory beyond what it has now and so many bytes: asking for it fails."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


def main() -> None:
    jobs, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")  # pytest takes the usual ones
    with Path("output.txt").open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    pytest.main([*_OPTIONS, sys.argv[1], *all_tests()], plugins=[Worker(jobs, answers)])


if __name__ == "__main__":
    main()
