"""python -m tests.mutants --mutants 300 --seed 1 [--workers 2] [--only PATTERN] [--json FILE] [--again FILE]"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from queue import SimpleQueue

from tests.mutants import python, sql
from tests.mutants.baseline import Footprint, noticing_tests
from tests.mutants.python import Mutant
from tests.mutants.targets import ROOT, Target, files
from tests.mutants.worker import MARKS, SMALL, Copy
from tests.nightly.summary import table

GOAL = 0.95


@dataclass(frozen=True)
class Tried:
    """A change and what became of it: killed, survived, timeout (a kill, too) or broken (the tool failed)."""

    mutant: Mutant
    target: str
    end: str
    seconds: float
    tests: int  # that can notice it
    by: str = ""  # the test that failed

    @property
    def is_killed(self) -> bool:
        return self.end in ("killed", "timeout")

    @property
    def facts(self) -> dict[str, object]:
        own = self.mutant
        found = {"path": own.path, "line": own.line, "operator": own.operator, "occurrence": own.occurrence}
        return {**found, "end": self.end, "seconds": round(self.seconds, 1), "tests": self.tests, "by": self.by}


# -- drawing ---------------------------------------------------------------------------------------------


def all_mutants(pattern: str = "*") -> list[Mutant]:
    found: list[Mutant] = []
    for path in files():
        if fnmatch(path, pattern):
            found += sql.mutants(ROOT, path) if path.endswith(".sql") else python.mutants(ROOT, path)
    return found


def sample(every: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """So many of all; a change that is no program is left out, because nothing could run it."""
    picked = random.Random(seed).sample(every, min(count, len(every)))
    return [mutant for mutant in (python.made(ROOT, one) for one in picked) if python.is_program(mutant)]


def survivors_of(file: Path, every: list[Mutant]) -> list[Mutant]:
    """Those of an earlier run that no test noticed; the code must not have changed since."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    left = {(one["path"], one["line"], one["operator"], one["occurrence"]) for one in lines if one["end"] == "survived"}
    found = [one for one in every if (one.path, one.line, one.operator, one.occurrence) in left]
    return [python.made(ROOT, mutant) for mutant in found]


# -- trying ----------------------------------------------------------------------------------------------


class Bench:
    """The workers, what is known of every test, and which tests noticed changes of which file."""

    def __init__(self, workers: int, targets: Iterable[Target], marks: str) -> None:
        self.targets = list(targets)
        with ThreadPoolExecutor(workers) as pool:
            self.copies = list(pool.map(lambda _: Copy(marks), range(workers)))
        self.kills: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.footprints = self._baseline()

    def _baseline(self) -> dict[str, Footprint]:
        """Every worker runs its share of the tests, by files, because the tests of one share what they set up."""
        shares: list[list[str]] = [[] for _ in self.copies]
        wanted = [test for test in self.copies[0].tests if any(target.has_test(test) for target in self.targets)]
        for file in dict.fromkeys(test.partition("::")[0] for test in wanted):
            min(shares, key=len).extend(test for test in wanted if test.partition("::")[0] == file)
        with ThreadPoolExecutor(len(self.copies)) as pool:
            found = pool.map(lambda pair: pair[0].baseline(pair[1]), zip(self.copies, shares, strict=True))
            return {test: footprint for part in found for test, footprint in part.items()}

    def trials(self, mutants: Iterable[Mutant]) -> Iterator[Tried]:
        """What became of each, as they end."""
        idle: SimpleQueue[Copy] = SimpleQueue()
        done: SimpleQueue[Tried] = SimpleQueue()
        for copy in self.copies:
            idle.put(copy)

        def work(mutant: Mutant) -> None:
            copy = idle.get()
            try:
                done.put(self._tried(copy, mutant))
            finally:
                idle.put(copy)

        listed = list(mutants)
        with ThreadPoolExecutor(len(self.copies)) as pool:
            started = [pool.submit(work, mutant) for mutant in listed]
            for one in started:
                one.result()
                yield done.get()

    def _tried(self, copy: Copy, mutant: Mutant) -> Tried:
        target = files()[mutant.path]
        own = {test: found for test, found in self.footprints.items() if target.has_test(test)}
        text = (ROOT / mutant.path).read_text(encoding="utf-8")
        tests = noticing_tests(own, mutant.path, mutant.line, text, self.kills[mutant.path])
        if not tests:
            return Tried(mutant, target.name, "survived", 0.0, 0)
        started = time.monotonic()
        answer = copy.tried(mutant.path, mutant.code, tests, [own[test].seconds for test in tests])
        if answer["end"] == "killed":
            self.kills[mutant.path][answer["by"]] += 1
        by = answer["by"] if answer["end"] != "survived" else ""
        return Tried(mutant, target.name, answer["end"], time.monotonic() - started, len(tests), by)

    def close(self) -> None:
        for copy in self.copies:
            copy.close()


# -- telling ---------------------------------------------------------------------------------------------


def is_comparison(mutant: Mutant) -> bool:
    return sql.is_comparison(mutant) if mutant.path.endswith(".sql") else mutant.is_comparison


def summary(tried: list[Tried], possible: int, seed: int) -> tuple[str, bool]:
    """The summary in Markdown, and whether the goal is reached."""
    lines = []
    for name in [*dict.fromkeys(one.target for one in tried), "all"]:
        mine = [one for one in tried if name in (one.target, "all")]
        killed = sum(one.is_killed for one in mine)
        compared = [one for one in mine if is_comparison(one.mutant)]
        alive = sum(not one.is_killed for one in compared)
        lines.append([name, len(mine), killed, f"{killed / len(mine):.1%}", len(compared), alive])
    head = ["part", "mutants", "killed", "share", "comparisons", "surviving comparisons"]
    text = f"{len(tried):,} of {possible:,} possible mutants, seed {seed}\n\n" + table(head, lines)
    survivors = [one for one in tried if not one.is_killed]
    for one in survivors:
        text += f"\n- `{one.mutant.path}:{one.mutant.line}` {one.mutant.operator}, {one.tests} tests\n\n"
        text += "".join(f"      {line}\n" for line in one.mutant.diff(ROOT).splitlines())
    ends = Counter(one.end for one in tried)
    seconds = sum(one.seconds for one in tried) / max(len(tried), 1)
    text += f"\n{dict(ends)}; {seconds:.1f} seconds a mutant.\n"
    compared_alive = any(is_comparison(one.mutant) for one in survivors)
    return text, len(survivors) <= (1 - GOAL) * len(tried) and not compared_alive


def main() -> int:
    given = _arguments()
    every = all_mutants(given.only)
    chosen = survivors_of(given.again, every) if given.again else sample(every, given.mutants, given.seed)
    if given.list:
        for mutant in chosen:
            print(f"{files()[mutant.path].name}: {mutant.path}:{mutant.line} {mutant.operator}")
        return 0
    targets = {files()[mutant.path].name: files()[mutant.path] for mutant in chosen}.values()
    bench = Bench(given.workers, targets, SMALL if given.small else MARKS)
    usual = sum(found.seconds for found in bench.footprints.values())
    print(f"{len(bench.footprints):,} tests take {usual:.0f} seconds without a change", file=sys.stderr, flush=True)
    tried: list[Tried] = []
    for one in bench.trials(chosen):
        tried.append(one)
        place = f"{one.mutant.path}:{one.mutant.line} {one.mutant.operator}"
        print(f"{len(tried)} of {len(chosen)}: {one.end} {one.seconds:.0f} s {place}", file=sys.stderr, flush=True)
        if given.json:
            with given.json.open("a", encoding="utf-8") as file:
                file.write(json.dumps(one.facts) + "\n")
    bench.close()
    text, reached = summary(tried, len(every), given.seed)
    print(text)
    if given.markdown:
        given.markdown.write_text(text, encoding="utf-8")
    return 0 if reached else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--mutants", type=int, default=300, help="how many are tried; default: %(default)s")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", default="*", metavar="PATTERN", help="only files like this, such as sql/verify/*")
    parser.add_argument("--again", type=Path, metavar="FILE", help="try the survivors of an earlier --json again")
    parser.add_argument("--small", action="store_true", help="only the cases that make test takes")
    parser.add_argument("--json", type=Path, help="add a line for every mutant to this file")
    parser.add_argument("--markdown", type=Path, help="also write the summary into this file")
    parser.add_argument("--list", action="store_true", help="print what would be tried")
    return parser.parse_args()
