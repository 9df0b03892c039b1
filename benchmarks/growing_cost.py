"""What a night costs next to the first one: a table of visits is published, gains 1 %, and is refreshed.

python -m benchmarks.growing_cost [mondrian ...] [--people 1000000] [--nights 2] [--changes "CHANGES (...)"] [--stages]

Seconds are those of the processor; statements are those that the engine was asked to run.  With --stages the functions
that take longest are listed.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import resource
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import ppdm_sql
from benchmarks.growing_stream import Stream

HEAD = """| method | people | publish | night | REFRESH | of publishing | statements | peak MB |
|---|---|---|---|---|---|---|---|"""


def run(method: str, people: int, nights: int, changes: str, *, stages: bool) -> None:
    statements: list[str] = []
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="ppdm_cost_"))
        db = stack.enter_context(ppdm_sql.connect(str(Path(folder) / "cost.duckdb"), create=True))
        stream = Stream(people, method, changes=changes, db=db)
        db.engine.on_statement = statements.append
        for night in range(1, nights + 1):
            stream.night()
            statements.clear()
            took, profile = refresh(stream, stages=stages)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(
                f"| {method} | {people:,} | {stream.publishing:.2f} | {night} | {took:.2f} "
                f"| {took / stream.publishing:.3f} | {len(statements)} | {peak} |",
                flush=True,
            )
            if stages:
                pstats.Stats(profile).sort_stats("cumulative").print_stats(70)


def refresh(stream: Stream, *, stages: bool) -> tuple[float, cProfile.Profile]:
    """Seconds of one night, and where they went."""
    profile, started = cProfile.Profile(), time.process_time()
    if stages:
        profile.enable()
    stream.refresh()
    profile.disable()
    return time.process_time() - started, profile


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("methods", nargs="*", metavar="METHOD", default=["mondrian"])
    reader.add_argument("--people", type=int, default=1_000_000)
    reader.add_argument("--nights", type=int, default=2)
    reader.add_argument("--changes", default="")
    reader.add_argument("--stages", action="store_true", help="list the functions that take longest")
    given = reader.parse_args()
    print(HEAD, flush=True)
    for method in given.methods:
        run(method, given.people, given.nights, given.changes, stages=given.stages)


if __name__ == "__main__":
    main()
