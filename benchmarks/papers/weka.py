"""WEKA's learners on two relations: written as ARFF files, learned and tested by a Java program of its own.

weka.jar is inside the Python package python-weka-wrapper3 (make weka); PPDM_WEKA_JAR names another one.  A cell that is
NULL or nothing but stars is unknown to WEKA, as in the papers.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import EngineError
from ppdm_sql.statements.names import Name, column

LEARNERS = {"PART": "weka.classifiers.rules.PART", "J48": "weka.classifiers.trees.J48"}
_CORRECT = re.compile(r"Correctly Classified Instances +(\d+)")
_TOTAL = re.compile(r"Total Number of Instances +(\d+)")
_ON_TEST = "=== Error on test data ==="
_MISSING = re.compile(r"\*+")
_FOLDER = Path(__file__).parents[2]


def weka_jar() -> Path | None:
    """Where weka.jar is; None without it or without Java."""
    named = os.environ.get("PPDM_WEKA_JAR")
    found = [Path(named)] if named else sorted(_FOLDER.glob(".venv-weka/lib/python*/site-packages/weka/lib/weka.jar"))
    return next((one for one in found if one.is_file()), None) if shutil.which("java") else None


def weka_accuracies(
    engine: Engine, jar: Path, train: Name, test: Name, *, target: str, attributes: Sequence[str]
) -> dict[str, float]:
    """By learner the share of test rows whose class it finds."""
    numeric = {info.name for info in engine.columns(train) if info.kind.is_ordered}
    numeric &= {info.name for info in engine.columns(test) if info.kind.is_ordered}
    rows = [_rows(engine, relation, [*attributes, target]) for relation in (train, test)]
    with tempfile.TemporaryDirectory(prefix="ppdm_weka_") as folder:
        files = [Path(folder) / name for name in ("train.arff", "test.arff")]
        head = _head([*attributes, target], numeric - {target}, rows[0] + rows[1])
        for file, some in zip(files, rows, strict=True):
            file.write_text(head + "".join(",".join(map(_cell, row)) + "\n" for row in some), encoding="utf-8")
        return {name: _accuracy(jar, java_class, *files) for name, java_class in LEARNERS.items()}


def _rows(engine: Engine, relation: Name, names: Sequence[str]) -> list[tuple[str | None, ...]]:
    texts = [engine.exact_text(exp.cast(column(name), "TEXT")) for name in names]
    found = engine.fetch(exp.Select(expressions=texts).from_(relation.table()))
    return [tuple(None if text is None or _MISSING.fullmatch(text) else str(text) for text in row) for row in found]


def _head(names: Sequence[str], numeric: Iterable[str], rows: Sequence[tuple[str | None, ...]]) -> str:
    lines = ["@relation release"]
    for place, name in enumerate(names):
        values = sorted({text for row in rows if (text := row[place]) is not None})
        kind = "numeric" if name in numeric else "{" + ",".join(map(_cell, values or ["none"])) + "}"
        lines.append(f"@attribute {_cell(name)} {kind}")
    return "\n".join([*lines, "@data", ""])


def _cell(text: str | None) -> str:
    r"""A value as ARFF has it.

    >>> _cell(None), _cell("it's")
    ('?', "'it\\'s'")
    """
    if text is None:
        return "?"
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def _accuracy(jar: Path, learner: str, train: Path, test: Path) -> float:
    command = [
        "java",
        "-Xmx1500m",
        "-cp",
        str(jar),
        learner,
        "-t",
        str(train),
        "-T",
        str(test),
        "-c",
        "last",
        "-v",
        "-o",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    report = done.stdout.partition(_ON_TEST)[2]
    right, total = _CORRECT.search(report), _TOTAL.search(report)
    if right is None or total is None:
        raise EngineError(f"{learner} of WEKA did not end well: {(done.stderr or done.stdout)[-300:]}")
    return int(right[1]) / int(total[1])
