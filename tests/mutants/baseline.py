"""Which test runs which line, reads which statement of sql/ and starts which process: found by one run of all."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.mutants.swap import lines_of_statement

_PROCESSES = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.exec")


@dataclass
class Footprint:
    """What one test touches."""

    seconds: float
    lines: dict[str, list[int]] = field(default_factory=dict)  # path -> lines
    statements: list[str] = field(default_factory=list)  # paths of sql/
    starts_processes: bool = False

    def touches(self, path: str, lines: range | None) -> bool:
        """Whether the test can notice a change; a process of its own may run any line."""
        if self.starts_processes or path in self.statements:
            return True
        return path in self.lines and (lines is None or any(line in lines for line in self.lines[path]))


class Recorder:
    """Watches the tests of this process; an audit hook cannot be taken back, so it is a process of its own."""

    def __init__(self, folder: Path, files: Iterable[str]) -> None:
        from coverage import Coverage

        self.folder, self.files = folder, list(files)
        self.coverage = Coverage(data_file=None, config_file=False, include=[str(folder / name) for name in self.files])
        self.now = Footprint(0)
        self.found: dict[str, Footprint] = {}
        sys.addaudithook(self._on_event)
        self._watch_statements()

    def _watch_statements(self) -> None:
        """Statements are parsed once in a process, so their file is not opened by every test that needs it."""
        from ppdm_sql.statements import load

        parse = load._parse

        def parsed(name: str) -> object:
            self.now.statements.append(f"sql/{name}.sql")
            return parse(name)

        load._parse = parsed  # type: ignore[assignment]

    def record(self, test: str, run: Callable[[], object]) -> None:
        self.now = self.found[test] = Footprint(0)
        self.coverage.start()
        self.coverage.switch_context(test)
        started = time.process_time()
        run()
        self.now.seconds = time.process_time() - started
        self.coverage.stop()

    def footprints(self) -> dict[str, Footprint]:
        data = self.coverage.get_data()
        for name in self.files:
            for line, tests in data.contexts_by_lineno(str(self.folder / name)).items():
                for test in tests:
                    if test in self.found:
                        self.found[test].lines.setdefault(name, []).append(line)
        return self.found

    def _on_event(self, event: str, details: tuple[object, ...]) -> None:
        if event in _PROCESSES:
            self.now.starts_processes = True
        elif event == "open" and isinstance(details[0], str) and details[0].endswith(".sql"):
            path = Path(details[0])
            if path.is_relative_to(self.folder):
                self.now.statements.append(str(path.relative_to(self.folder)))


def noticing_tests(
    footprints: Mapping[str, Footprint], path: str, line: int, text: str, kills: Mapping[str, int]
) -> Sequence[str]:
    """The tests that can notice a change, those that noticed others in the file first, then fast ones.

    A change outside of every function is one of what other files load: all tests meet it, those of the file first.
    """
    is_statement = path.endswith(".sql")
    lines = None if is_statement else lines_of_statement(text, line)
    touching = [test for test, found in footprints.items() if found.touches(path, lines)]
    rest = [] if is_statement or lines is not None else [test for test in footprints if test not in set(touching)]

    def order(test: str) -> tuple[int, float]:
        return -kills.get(test, 0), footprints[test].seconds

    return [*sorted(touching, key=order), *sorted(rest, key=order)]
