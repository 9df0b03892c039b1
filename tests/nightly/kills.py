"""SIGKILL while a release is published: the old release or the new one, never a mixture, and nothing left over.

A trial counts when the publisher was still at work.  Kills are spread over the time that a publication takes, by
decile, and the table says how many hit in each.  The parent never opens the database.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.faults.test_kill import finished, in_child, judge, publish, setup
from tests.nightly.summary import Options, Part, table

MOST_TRIALS = 4  # per kill that has to hit: a machine on which most come too late is too uneven to say anything


def run(options: Options) -> Part:
    share = [options.kills // options.workers + (n < options.kills % options.workers) for n in range(options.workers)]
    with multiprocessing.get_context("spawn").Pool(options.workers) as pool:
        work = [(count, options.seed + number, options.quiet) for number, count in enumerate(share) if count]
        done = pool.starmap(kill_often, work)
    deciles: Counter[int] = Counter()
    ends: Counter[str] = Counter()
    problems: list[str] = []
    for found_deciles, found_ends, bad in done:
        deciles.update(found_deciles)
        ends.update(found_ends)
        problems += bad
    if deciles.total() < options.kills:
        problems.append(f"only {deciles.total()} of {options.kills} kills hit a publication")
    if options.kills >= 100 and len([d for d in range(9) if not deciles[d]]) > 1:
        problems.append(f"the kills are not spread over the publication: {dict(deciles)}")
    lines = [[f"{10 * d} to {10 * d + 10} %", deciles[d]] for d in range(10)]
    lines += [["later", sum(count for d, count in deciles.items() if d > 9)], ["all", deciles.total()]]
    text = table(["killed after this part of the usual time", "kills"], lines)
    text += "\n" + table(["afterwards", "trials"], [list(pair) for pair in sorted(ends.items())])
    return Part("kills", text, {"kills": deciles.total(), **ends}, problems)


def kill_often(wanted: int, seed: int, quiet: bool) -> tuple[Counter[int], Counter[str], list[str]]:
    """Kills publications of one database until so many kills have hit."""
    with tempfile.TemporaryDirectory(prefix="ppdm_kills_") as folder:
        return _Trials(Path(folder), seed).until(wanted, quiet)


class _Trials:
    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.database, self.report = folder, folder / "clinic.duckdb", folder / "report.json"
        self.draw = random.Random(seed)
        self.deciles: Counter[int] = Counter()
        self.ends: Counter[str] = Counter()
        self.problems: list[str] = []
        assert finished(in_child(lambda: setup(self.database))) == 0
        assert finished(in_child(lambda: publish(self.database, 0))) == 0  # makes the catalog, too
        self.usual, self.last = self._timed(1), 1

    def _timed(self, batch: int) -> float:
        started = time.monotonic()
        assert finished(in_child(lambda: publish(self.database, batch))) == 0
        return time.monotonic() - started

    def until(self, wanted: int, quiet: bool) -> tuple[Counter[int], Counter[str], list[str]]:
        batch = self.last
        while self.deciles.total() < wanted and batch < self.last_batch(wanted) and len(self.problems) < 5:
            batch += 1
            self._trial(batch)
            if not quiet and batch % 10 == 0:
                print(f"kills: {self.deciles.total()} of {wanted} hit", file=sys.stderr, flush=True)
        self._judge_next_run(batch + 1)
        return self.deciles, self.ends, self.problems

    @staticmethod
    def last_batch(wanted: int) -> int:
        return MOST_TRIALS * wanted + 10

    def _trial(self, batch: int) -> None:
        part = self.draw.uniform(0.02, 1.0)
        pid = in_child(lambda: publish(self.database, batch))
        time.sleep(part * self.usual)
        os.kill(pid, signal.SIGKILL)  # nobody has waited for it yet: its number cannot be another's
        hit = finished(pid) == -signal.SIGKILL
        if hit:
            self.deciles[int(part * 10)] += 1
        else:  # the machine is less busy than it was
            self.usual = 0.9 * self.usual
        if finished(in_child(lambda: judge(self.database), self.report)) != 0:
            self.problems.append(f"batch {batch}: the database cannot be read after the kill")
            return
        self._judge(batch, hit)

    def _judge(self, batch: int, hit: bool) -> None:
        found = json.loads(self.report.read_text())
        allowed = ([self.last], [batch]) if hit else ([batch],)
        if found["batches"] not in allowed:
            self.problems.append(f"batch {batch}: the release holds batches {found['batches']}, not one of {allowed}")
        if (found["rows"], found["holds"], found["links"]) != (3000, True, 1):
            self.problems.append(f"batch {batch}: {found}")
        if found["relations"] != ["people", "people_open"]:
            self.problems.append(f"batch {batch}: left over {found['relations']}")
        if hit:
            self.ends["the new release is there" if found["batches"] == [batch] else "the old release is there"] += 1
        else:
            self.ends["not counted: it ended before its kill"] += 1
        self.last = found["batches"][0] if found["batches"] else self.last

    def _judge_next_run(self, batch: int) -> None:
        """A run that nothing stops publishes, and leaves no file behind."""
        if finished(in_child(lambda: publish(self.database, batch))) != 0:
            self.problems.append("the run after the last kill fails")
        left = {path.name for path in self.folder.iterdir()} - {"clinic.duckdb", "clinic.duckdb.wal", "report.json"}
        if left:
            self.problems.append(f"files left over: {sorted(left)}")
