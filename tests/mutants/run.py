"""python -m tests.mutants --mutants 300 --seed 1 [--workers 2] [--only PATTERN] [--markdown FILE]"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import time
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

from tests.mutants import python, sql
from tests.mutants.python import Mutant
from tests.mutants.targets import ROOT, TARGETS, Target, files
from tests.mutants.trial import Copy, Tried, load_libraries
from tests.nightly.summary import table

GOAL = 0.95
_COPY: Copy | None = None


def all_mutants(pattern: str = "*") -> list[tuple[Mutant, Target]]:
    found = []
    for path, target in files().items():
        if fnmatch(path, pattern):
            made = sql.mutants(ROOT, path) if path.endswith(".sql") else python.mutants(ROOT, path)
            found += [(mutant, target) for mutant in made]
    return found


def drawn(every: list[tuple[Mutant, Target]], count: int, seed: int) -> list[tuple[Mutant, Target]]:
    picked = random.Random(seed).sample(every, min(count, len(every)))
    return [(python.made(ROOT, mutant), target) for mutant, target in picked]


# -- on several processes --------------------------------------------------------------------------------


def _start() -> None:
    global _COPY
    load_libraries()
    _COPY = Copy()


def _baseline(target: Target) -> tuple[str, float, str]:
    assert _COPY is not None
    return target.name, *_COPY.baseline(target)


def _try(work: tuple[Mutant, Target, float]) -> Tried:
    assert _COPY is not None
    return _COPY.tried(*work)


def _end(_: int) -> None:
    assert _COPY is not None
    _COPY.close()
    time.sleep(0.5)  # so that every worker gets one of these


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
        text += f"\n- `{one.mutant.path}:{one.mutant.line}` {one.mutant.operator}\n\n"
        text += "".join(f"      {line}\n" for line in one.mutant.diff(ROOT).splitlines())
    ends = Counter(one.end for one in tried)
    seconds = sum(one.seconds for one in tried) / max(len(tried), 1)
    text += f"\n{dict(ends)}; {seconds:.1f} seconds a mutant.\n"
    compared_alive = any(is_comparison(one.mutant) for one in survivors)
    return text, len(survivors) <= (1 - GOAL) * len(tried) and not compared_alive


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--mutants", type=int, default=300, help="how many are tried; default: %(default)s")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", default="*", metavar="PATTERN", help="only files like this, such as sql/verify/*")
    parser.add_argument("--markdown", type=Path, help="also write the summary into this file")
    parser.add_argument("--list", action="store_true", help="print what would be tried")
    given = parser.parse_args()
    every = all_mutants(given.only)
    chosen = drawn(every, given.mutants, given.seed)
    if given.list:
        for mutant, target in chosen:
            print(f"{target.name}: {mutant.path}:{mutant.line} {mutant.operator}")
        return 0
    tried: list[Tried] = []
    with multiprocessing.get_context("spawn").Pool(given.workers, initializer=_start) as pool:
        needed = [target for target in TARGETS if target.name in {one.name for _, one in chosen}]
        usual = {}
        for name, seconds, failed in pool.imap_unordered(_baseline, needed):
            if failed:
                print(f"the tests of {name} fail without a change:\n{failed}", file=sys.stderr)
                return 2
            usual[name] = seconds
            print(f"{name}: its tests take {seconds:.0f} seconds", file=sys.stderr, flush=True)
        work = [(mutant, target, 60 + 4 * usual[target.name]) for mutant, target in chosen]
        for one in pool.imap_unordered(_try, work):
            tried.append(one)
            place = f"{one.mutant.path}:{one.mutant.line} {one.mutant.operator}"
            print(f"{len(tried)} of {len(work)}: {one.end} {one.seconds:.0f} s {place}", file=sys.stderr, flush=True)
        pool.map(_end, range(given.workers), chunksize=1)
    text, reached = summary(tried, len(every), given.seed)
    print(text)
    if given.markdown:
        given.markdown.write_text(text, encoding="utf-8")
    return 0 if reached else 1
