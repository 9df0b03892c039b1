"""A disk that is full after so many bytes: the old release stays, the message says so, the next run succeeds."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import ppdm_sql
from tests.faults.test_faults import FULL, POLICY
from tests.nightly.summary import Options, Part, table

STATEMENT = POLICY.format(
    columns="a, s, w", k=5, more="", roles="QUASI IDENTIFIER (a) SENSITIVE (s) INSENSITIVE (w) ACCEPT RISK (undeclared)"
)
ROWS = (
    "CREATE TABLE t AS SELECT range % 90 AS a, 'x' || range % 3 AS s, md5(range::TEXT) AS w FROM range(20000)",
    "INSERT INTO t SELECT a, s, 'more ' || w FROM t",
)


def run(options: Options) -> Part:
    """Limits spread evenly from nothing to a third more than the run needs; each on a copy of one database."""
    problems: list[str] = []
    lines = []
    ends: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="ppdm_disk_") as folder:
        start = Path(folder) / "start.duckdb"
        before = _prepared(start)
        needed = _needed(start)
        for number in range(options.sizes):
            limit = needed * 4 * (number + 1) // (3 * options.sizes)
            code, found = _filled(start, before, limit)
            problems += [f"limit of {limit:,} bytes: {problem}" for problem in found]
            ends["published" if code == 0 else "old release kept"] += 1
            lines.append(
                [limit, {0: "published", 3: "refused, old release kept"}.get(code, f"exit {code}"), len(found)]
            )
            options.say(f"disk: {number + 1} of {options.sizes} sizes, {len(problems)} problems")
    if options.sizes > 3 and len(ends) < 2:
        problems.append(f"every size ended the same way: {ends}")
    return Part("disk", table(["bytes", "end", "problems"], lines), dict(ends) | {"sizes": options.sizes}, problems)


def _prepared(path: Path) -> str:
    """A published release over a source that has grown since: publishing it again needs more room."""
    with ppdm_sql.connect(str(path), create=True) as db:
        db.execute(ROWS[0])
        before = db.publish(STATEMENT).record.content_hash
        db.execute(ROWS[1])
        db.execute("CHECKPOINT")
    return str(before)


def _needed(start: Path) -> int:
    """The least limit, to a hundredth of the database, with which a run succeeds: most limits should stop it."""
    enough = start.stat().st_size * 2
    short, step = 0, max(1, start.stat().st_size // 100)
    while enough - short > step:
        middle = (short + enough) // 2
        path = Path(shutil.copy(start, start.with_name("limited.duckdb")))
        path.with_name(f"{path.name}.wal").unlink(missing_ok=True)
        short, enough = (short, middle) if _run(path, middle).returncode == 0 else (middle, enough)
    return enough


def _run(path: Path, limit: int) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-c", FULL, str(path), str(limit), STATEMENT]
    return subprocess.run(call, capture_output=True, text=True, check=False)


def _filled(start: Path, before: str, limit: int) -> tuple[int, list[str]]:
    path = Path(shutil.copy(start, start.with_name(f"full{limit}.duckdb")))
    done = _run(path, limit)
    problems = []
    if done.returncode not in (0, 3) or "Traceback" in done.stderr:
        problems.append(f"exit {done.returncode}: {done.stderr[-300:]}")
    if done.returncode == 3 and "full" not in done.stdout:
        problems.append(f"the message does not name the cause: {done.stdout[:200]}")
    with ppdm_sql.connect(str(path)) as db:
        kept = db.release("t_open").record.content_hash == before
        if not db.verify("t_open").holds:
            problems.append("the release does not verify")
        if done.returncode != 0 and not kept:
            problems.append("the old release is gone")
        if done.returncode == 0 and kept:
            problems.append("the run reports success, and the old release is still there")
        db.publish(STATEMENT)  # the disk has room again
    with ppdm_sql.connect(str(path)) as db:  # a session of its own: working tables end with theirs
        left = sorted(set(db.engine.relations("main")) - {"t", "t_open"})
        if left or not db.verify("t_open").holds:
            problems.append(f"the next run leaves {left}")
    return done.returncode, problems
