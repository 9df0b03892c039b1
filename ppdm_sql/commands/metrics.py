"""What a run did, as OpenMetrics text: for the textfile collector of a node exporter, or any program that reads it.

The file is written at the end of every run, also of one that failed, and replaced as a whole: a reader finds the
figures of one run, never a part of them.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ppdm_sql import __version__
from ppdm_sql.errors import PpdmError

_RUN = "ppdm_run"
_RELEASE = "ppdm_release"
# key of a result -> name of the metric, and what it is
_FIGURES = {
    "rows": ("rows", "Rows of the release."),
    "classes": ("classes", "Equivalence classes of the release."),
    "suppressed_rows": ("suppressed_rows", "Rows of the source that were left out."),
    "loss": ("loss_ratio", "Information loss over all quasi-identifiers, 0 exact, 1 suppressed."),
    "waiting": ("waiting_rows", "Rows of the source that wait for a later night."),
    "cohorts": ("cohorts", "Cohorts of a growing release."),
    "withdrawn": ("withdrawn_releases", "Releases that this one withdrew."),
    "warnings": ("warnings", "Warnings about the release."),
    "seconds": ("duration_seconds", "Seconds that the statement took."),
    "holds": ("holds", "1 where VERIFY found every requirement kept and nothing changed."),
}


class RunMetrics:
    """Writes the figures of a run when its block ends; path: None writes nothing."""

    def __init__(self, path: str | None, results: Sequence[Mapping[str, Any]]) -> None:
        self._path, self._results = path, results
        self._started = time.monotonic()
        self.exit_status = 0

    def __enter__(self) -> RunMetrics:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self._path is None:
            return
        status = self.exit_status if error is None else getattr(error, "exit_code", PpdmError.exit_code)
        text = metrics_text(self._results, status, time.monotonic() - self._started, time.time())
        replace_file(Path(self._path), text)


def metrics_text(results: Sequence[Mapping[str, Any]], status: int, seconds: float, ended: float) -> str:
    r"""The figures of a run and of each release in it.

    >>> print(metrics_text([{"statement": "publish", "release": 'a"b', "rows": 3}], 0, 1.5, 0).splitlines()[-2])
    ppdm_release_rows{statement="publish",release="a\"b"} 3
    """
    lines = [
        *_family(
            f"{_RUN}_exit_status", "gauge", "Exit status: 0 done, 1 refused, 2 wrong call, 3 failed.", [({}, status)]
        ),
        *_family(
            f"{_RUN}_duration_seconds", "gauge", "Seconds that the run took.", [({}, round(seconds, 3))], "seconds"
        ),
        *_family(f"{_RUN}_ended_timestamp_seconds", "gauge", "When the run ended.", [({}, round(ended, 3))], "seconds"),
        *_family(_RUN, "info", "The version that ran.", [({"version": __version__}, 1)], sample=f"{_RUN}_info"),
        *_of_releases(_newest(results)),
        "# EOF",
    ]
    return "\n".join(lines) + "\n"


def _newest(results: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The last result of each statement and release: a label may occur once."""
    found = {(one["statement"], one["release"]): one for one in results if "release" in one}
    return list(found.values())


def _of_releases(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    named = [({"statement": one["statement"], "release": one["release"]}, one) for one in results]
    ids = [({**labels, "run_id": one["run_id"]}, 1) for labels, one in named if one.get("run_id")]
    yield from _family(_RELEASE, "info", "The run of a publication.", ids, sample=f"{_RELEASE}_info")
    stages = [
        ({**labels, "stage": stage}, seconds)
        for labels, one in named
        for stage, seconds in one.get("stages", {}).items()
    ]
    yield from _family(f"{_RELEASE}_stage_seconds", "gauge", "Seconds of each stage.", stages, "seconds")
    for key, (name, told) in _FIGURES.items():
        found = [(labels, _number(one[key])) for labels, one in named if one.get(key) is not None]
        unit = "seconds" if name.endswith("_seconds") else None
        yield from _family(f"{_RELEASE}_{name}", "gauge", told, found, unit)


def _number(value: Any) -> float:
    return len(value) if isinstance(value, list | tuple) else value + 0


def _family(
    name: str, kind: str, told: str, samples: Sequence[tuple[Mapping[str, str], float]], unit: str | None = None,
    *, sample: str | None = None,
) -> Iterator[str]:  # fmt: skip
    if not samples:
        return
    yield f"# TYPE {name} {kind}"
    if unit is not None:
        yield f"# UNIT {name} {unit}"
    yield f"# HELP {name} {told}"
    for labels, value in samples:
        listed = ",".join(f'{label}="{_escape(text)}"' for label, text in labels.items())
        yield f"{sample or name}{{{listed}}} {value}" if listed else f"{sample or name} {value}"


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def replace_file(path: Path, text: str) -> None:
    """The text replaces a file at once; it keeps the mode of the file that was there, else it is private."""
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    handle, written = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(written, path)
    except BaseException:
        os.unlink(written)
        raise
