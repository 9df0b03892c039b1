"""What private counting costs: the protocol for 10,000 counts of five sites, and counting against its GROUP BYs.

    python -m benchmarks.sharing_speed protocol
    python -m benchmarks.sharing_speed counting --rows 10000000
    python -m benchmarks.sharing_speed label
    python -m benchmarks.sharing_speed pair

Processor time of this process (and of the servers, for label and pair); the clock's next to it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path

import click
import numpy as np

from ppdm_sql.classifiers.domains import CategoricalDomain, NumericDomain
from ppdm_sql.engines.base import Kind
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.sharing.private import folder
from ppdm_sql.sharing.private.codebook import AgreedAttribute, Codebook
from ppdm_sql.sharing.private.keys import new_keys, write_keys
from ppdm_sql.sharing.private.pair_keys import make_pair_key, write_pair_key
from ppdm_sql.sharing.private.queries import score_bits
from ppdm_sql.sharing.private.tls import write_certificate
from ppdm_sql.sharing.private.vector import count_vector
from ppdm_sql.statements.names import Name
from ppdm_sql.trees.tree import Attribute

SITES = ("a", "b", "c", "d", "e")


@click.group()
def command() -> None:
    """Speed of private counting."""


def _measure(work: Callable[[], object]) -> tuple[float, float]:
    clock, processor = time.monotonic(), time.process_time()
    work()
    return time.process_time() - processor, time.monotonic() - clock


def _codebook(mode: str, attributes: int, values: int, classes: int, mixers: int) -> tuple[Codebook, dict]:
    keys = {name: new_keys(name) for name in (*SITES, *(f"m{place}" for place in range(mixers)))}
    coded = tuple(
        AgreedAttribute(
            Attribute(f"a{place}", Kind.TEXT, False),
            CategoricalDomain(tuple(f"v{n}" for n in range(values))),
            nulls=False,
        )
        for place in range(attributes)
    )
    book = Codebook(
        "speed", mode, 10, Attribute("class", Kind.TEXT, False), tuple(f"c{n}" for n in range(classes)), coded,
        tuple(keys[name].public for name in SITES), tuple(keys[f"m{place}"].public for place in range(mixers)),
    )  # fmt: skip
    return book, keys


@command.command()
def protocol() -> None:
    """10,000 counts, five sites: every site writes, the mixers add up, one site opens."""
    for mode, mixers in (("masks", 0), ("mixers", 2)):
        book, keys = _codebook(mode, 1, 1999, 5, mixers)
        vector = np.ones(book.length, dtype=np.uint64)
        for round_ in range(3):
            book = replace(book, round=f"speed-{round_}")
            with tempfile.TemporaryDirectory() as name:
                home = Path(name)
                took = _measure(partial(_hold, book, keys, vector, home))
                sizes = {path.stat().st_size for path in home.iterdir()}
            told = f"{book.length:,} counts, {len(SITES)} sites, files of {min(sizes):,} to {max(sizes):,} bytes"
            print(f"{mode}: {told}: {took[0]:.3f} s processor, {took[1]:.3f} s clock")


def _hold(book: Codebook, keys: dict, vector: np.ndarray, home: Path) -> None:
    for name in SITES:
        folder.write_vector(vector, book, keys[name], home)
    for mixer in book.mixers:
        folder.mix(book, keys[mixer.name], home, home, book.length)
    assert (folder.open_total(book, home, book.length) == 5).all()


@command.command()
@click.option("--rows", type=int, default=10_000_000, show_default=True)
def counting(rows: int) -> None:
    """Counting at a site against the 14 GROUP BYs that it consists of."""
    book, _ = _codebook("masks", 7, 40, 5, 0)
    numbers = tuple(
        AgreedAttribute(
            Attribute(f"n{place}", Kind.INTEGER, True),
            NumericDomain(tuple(map(Decimal, range(10, 100, 10)))),
            nulls=False,
        )
        for place in range(7)
    )
    book = replace(book, attributes=(*book.attributes, *numbers))
    with DuckDBEngine.open(":memory:") as engine:
        connection = engine._connection
        names = ", ".join(
            [f"'v' || (hash(i * 31 + {n}) % 40) AS a{n}" for n in range(7)]
            + [f"CAST(hash(i * 17 + {n}) % 100 AS INTEGER) AS n{n}" for n in range(7)]
        )
        connection.execute(
            f"CREATE TABLE t AS SELECT {names}, 'c' || (hash(i) % 5) AS class FROM range({rows}) AS r(i)"
        )
        for _ in range(3):
            floor = _measure(lambda: [
                connection.execute(f"SELECT class, {one.attribute.name}, count(*) FROM t GROUP BY ALL").fetchall()
                for one in book.attributes
            ])  # fmt: skip
            ours = _measure(lambda: count_vector(engine, Name("t"), book))
            print(
                f"{rows:,} rows, 14 attributes: {ours[0]:.2f} s processor ({ours[1]:.2f} s clock); the GROUP BYs "
                f"{floor[0]:.2f} s ({floor[1]:.2f} s): {ours[0] / floor[0]:.2f} times"
            )


@command.command()
@click.option("--queries", type=int, default=10, show_default=True)
def label(queries: int) -> None:
    """A query of 8 attributes and 5 classes by three servers on this machine, over TLS."""
    book, keys = _codebook("label", 8, 5, 5, 3)
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        _prepare(book, keys, home)
        first = _serve(home, 1)
        many = _serve(home, queries + 1)
    for title, one, more in zip(("processor (three servers together)", "clock"), first, many, strict=True):
        print(
            f"{title}: {one:.2f} s for one query with start and connection, {(more - one) / queries:.2f} s for one more"
        )


def _prepare(book: Codebook, keys: dict, home: Path) -> None:
    """Every site has reported, and every party has its key and its certificate."""
    vector = np.full(book.length, 1000, dtype=np.uint64)
    vector.reshape(5, -1)[:, 0] = 5000
    (home / "round.json").write_text(book.to_text())
    for site in SITES:
        folder.write_vector(vector, book, keys[site], home)
    for mixer in book.mixers:
        write_keys(keys[mixer.name], home)
        write_certificate(book, keys[mixer.name], home)


def _serve(home: Path, queries: int) -> tuple[float, float]:
    addresses = [word for place in range(3) for word in ("--at", f"127.0.0.1:{17431 + place}")]
    more = [["serve-label", "--inbox", str(home), *addresses] for _ in range(3)]
    return _together(home, queries, more)


def _together(home: Path, queries: int, commands: list[list[str]]) -> tuple[float, float]:
    """The parties m0, m1, ... as processes: processor time of all, and the clock's."""
    row = {f"a{place}": f"v{place % 5}" for place in range(8)}
    (home / "queries.json").write_text(json.dumps([row] * queries))
    before, clock = os.times(), time.monotonic()
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "ppdm_sql", "share", words[0], str(home / "round.json"), "--key",
             str(home / f"m{place}.key.json"), *words[1:], "--tls", str(home), "--queries",
             str(home / "queries.json"), "--out", str(home / f"{place}.json")],
            stdout=subprocess.DEVNULL,
        )
        for place, words in enumerate(commands)
    ]  # fmt: skip
    assert {process.wait() for process in running} == {0}
    after = os.times()
    processor = (after.children_user - before.children_user) + (after.children_system - before.children_system)
    return processor, time.monotonic() - clock


@command.command()
@click.option("--queries", type=int, default=5, show_default=True)
def pair(queries: int) -> None:
    """The same by two mixers on this machine: numbers of 342 bits, for a million rows."""
    book, keys = _codebook("pair", 8, 5, 5, 2)
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        _prepare(book, keys, home)
        made = []
        took = _measure(lambda: made.append(make_pair_key(score_bits(book, 1_000_000))))
        write_pair_key(made[0], home / "pair.json")
        print(f"the key: {took[0]:.1f} s processor, made once")
        commands = [["serve-pair", "--inbox", str(home), "--at", "127.0.0.1:17441"] for _ in range(2)]
        commands[0] += ["--pair-key", str(home / "pair.json")]
        first, many = (_together(home, number, commands) for number in (1, queries + 1))
    for title, one, more in zip(("processor (both parties together)", "clock"), first, many, strict=True):
        print(
            f"{title}: {one:.2f} s for one query with start and connection, {(more - one) / queries:.2f} s for one more"
        )


if __name__ == "__main__":
    command()
