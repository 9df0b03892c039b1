"""Thirty nights of a growing release: is every night published, what do late rows lose, and does the cost stay?

python -m benchmarks.thirty_nights [mondrian kactus2 ...] [--people 20000] [--nights 30] [--postgres URL] [--wait]

With --wait rows may wait for seven nights (late = wait (loss = 0.3, nights = 7)).  Without --postgres every method has
a DuckDB file of its own.  Seconds are those of the processor, of this process and of the server's.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import sqlglot
from sqlglot import exp

import ppdm_sql
from benchmarks.growing_stream import Stream
from ppdm_sql.errors import PpdmError
from ppdm_sql.session import Session

METHODS = ("mondrian", "kactus", "kactus2", "incognito", "kadet", "tds", "tdr", "koptimize")
WAIT = "CHANGES (late = wait (loss = 0.3, nights = 7))"
MOST_NIGHTS = 7
_SIZE = """SELECT CAST(SUM(pg_total_relation_size(c.oid)) AS BIGINT) FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND (n.nspname = 'ppdm' OR c.relname IN ('visits', 'visits_open'))"""


@dataclass
class Nights:
    """What was seen of one method."""

    method: str
    published: int = 0
    most_waiting: int = 0
    longest: int = 0
    first_loss: float = 0.0
    late: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    bytes: tuple[int, int] = (0, 0)  # after the first night, and after the last
    holds: bool = False

    def line(self, nights: int) -> str:
        batches = max(len(self.late), 1)
        late, own = sum(self.late) / batches, sum(self.own) / batches
        early, last = (sum(part) / max(len(part), 1) for part in (self.seconds[1:4], self.seconds[-3:]))
        return (
            f"| {self.method} | {self.published} of {nights} | {'holds' if self.holds else 'BROKEN'} "
            f"| {self.most_waiting} ({self.longest}) | {self.first_loss:.3f} | {late:.3f} | {own:.3f} "
            f"| {late / own if own else float('nan'):.2f} | {self.bytes[1] / max(self.bytes[0], 1):.2f} "
            f"| {early:.2f} | {last:.2f} | {last / early if early else float('nan'):.2f} |"
        )


HEAD = """| method | published | VERIFY | most rows waiting (nights) | loss of night 1 | of late rows | alone | times \
| size times | s, nights 2-4 | s, last three | times |
|---|---|---|---|---|---|---|---|---|---|---|---|"""


def run(method: str, people: int, nights: int, postgres: str | None, *, wait: bool) -> Nights:
    found = Nights(method)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ppdm_nights_")))
        place = str(folder / "nights.duckdb") if postgres is None else _scratch(postgres)
        db = stack.enter_context(ppdm_sql.connect(place, create=postgres is None))
        stream = Stream(people, method, changes=WAIT if wait else "", db=db)
        found.first_loss, sizes = stream.first_loss, [_size(db, postgres)]
        for night in range(1, nights + 1):
            stream.night()
            started = _seconds(db, postgres)
            try:
                grown = stream.refresh()
            except PpdmError as cause:
                print(f"{method}, night {night}: {cause}", flush=True)
                continue
            found.seconds.append(_seconds(db, postgres) - started)
            found.published += 1
            found.most_waiting = max(found.most_waiting, grown.waiting_rows)
            found.longest = max(found.longest, grown.waiting_nights)
            if grown.loss_tonight is not None:
                found.late.append(float(grown.loss_tonight))
                found.own.append(stream.alone())
        found.bytes = (sizes[0], _size(db, postgres))
        found.holds = db.verify("visits_open").holds
    return found


def _scratch(url: str) -> str:
    """An empty database on a server."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("DROP DATABASE IF EXISTS ppdm_nights")
        admin.execute("CREATE DATABASE ppdm_nights")
    return url.replace("/postgres?", "/ppdm_nights?")


def _seconds(db: Session, postgres: str | None) -> float:
    """The processor time of this process, and of the server's process behind the connection."""
    own = time.process_time()
    if postgres is None:
        return own
    (process,) = db.engine.fetch_one(_parsed("SELECT pg_backend_pid()"))
    words = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return own + (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _size(db: Session, postgres: str | None) -> int:
    """Of the source, the release and the catalog together."""
    if postgres is not None:
        return int(db.engine.fetch_one(_parsed(_SIZE))[0])
    db.execute("CHECKPOINT")
    used = "SELECT CAST(used_blocks * block_size AS BIGINT) FROM pragma_database_size() WHERE database_name = 'nights'"
    return int(db.engine.fetch_one(_parsed(used, "duckdb"))[0])


def _parsed(text: str, dialect: str = "postgres") -> exp.Select:
    return sqlglot.parse_one(text, dialect=dialect, into=exp.Select)


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("methods", nargs="*", metavar="METHOD", help=f"some of {', '.join(METHODS)}; default: all")
    reader.add_argument("--people", type=int, default=20_000)
    reader.add_argument("--nights", type=int, default=30)
    reader.add_argument("--postgres", metavar="URL", help="a server, on which the database ppdm_nights is made")
    reader.add_argument("--wait", action="store_true", help=WAIT)
    given = reader.parse_args()
    print(HEAD, flush=True)
    for method in given.methods or METHODS:
        found = run(method, given.people, given.nights, given.postgres, wait=given.wait)
        print(found.line(given.nights), flush=True)


if __name__ == "__main__":
    main()
