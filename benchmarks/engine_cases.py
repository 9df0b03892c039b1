"""Publications on PostgreSQL and Spark next to the bare path: what any program must do there to publish the same table.

One case per process:  python -m benchmarks.engine_cases postgres POSTGRES_URL --rows 1000000
                       python -m benchmarks.engine_cases spark 'spark:local[2]' --rows 20000

Both run in one process, in turn, on the demo's hospital with more stays: four quasi-identifiers, about 55,000
combinations in a million rows.  The bare path takes the parts from a stand-in for the method (the age in steps of ten
and the sex) and measures k alone.  Figures are the least of the runs; `cpu` is this process, and of Spark the JVM, too.

    cells     one GROUP BY, its result in this process
    back      parts of cells and labels of parts into working tables
    stored    rows joined to their cells by keys without NULL, in the order of a keyed hash, with labels
    verified  GROUP BY the stored labels
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from ppdm_sql import resources

QUASI = ("age", "sex", "zip", "ward")
PASSED = ("stay_days", "diagnosis", "readmitted")
NAME = "bench_stays"
ROWS = 1_000_000
STAYS = 100_000  # of them have 55,884 combinations
_POLICY = (
    "CREATE OR REPLACE TABLE {name}_open AS SELECT {columns} FROM {name} WITH ANONYMIZATION (ALGORITHM {method} "
    "REQUIRE k = 10 QUASI IDENTIFIER ({quasi}) SENSITIVE (diagnosis) TARGET (readmitted) INSENSITIVE (stay_days) "
    "SUPERSEDES ALL SEED {seed})"
)
_METHODS = ("mondrian", "kactus2", "tpp")

Figures = dict[str, float]


def make(path: Path, rows: int) -> None:
    """Writes the demo's hospital with so many stays into a Parquet file; beyond STAYS they come again and again."""
    stays = min(rows, STAYS)
    text = resources.sql_text("demo/hospital")
    text = re.sub(r"\brange\(1, 20001\)", f"range(1, {stays + 1})", text)
    text = re.sub(r"\bLIMIT 20000\b", f"LIMIT {stays}", text)
    with duckdb.connect() as con:
        con.execute("SET enable_progress_bar = false")
        con.execute(text)
        often = f"patients, range({-(-rows // stays)}) LIMIT {rows}"
        con.execute(f"COPY (SELECT {', '.join((*QUASI, *PASSED))} FROM {often}) TO '{path}' (FORMAT parquet)")


def published(session: Any, method: str, seed: int) -> Figures:
    """One publication, from the statement to the verified release; how many statements the engine got."""
    seen: list[str] = []
    session.engine.on_statement = seen.append
    columns = ", ".join((*QUASI, *PASSED))
    statement = _POLICY.format(name=NAME, columns=columns, method=method, quasi=", ".join(QUASI), seed=seed)
    record = session.publish(statement)
    session.engine.on_statement = None
    return {"classes": record.classes, "statements": len(seen)}


def stand_in(cells: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Parts of cells, and labels of parts: what a method gives."""
    with duckdb.connect() as con:
        con.register("cells", cells)
        con.execute(
            "CREATE TABLE parts AS SELECT cell, CAST(DENSE_RANK() OVER (ORDER BY age // 10, sex) AS INT) AS part, "
            "age // 10 AS decade, sex FROM cells"
        )
        parts = con.sql("SELECT cell, part FROM parts").to_arrow_table()
        labels = con.sql(
            "SELECT part, 10 * any_value(decade) || ' or more' AS age, COALESCE(any_value(sex), '*') AS sex, "
            "'*' AS zip, '*' AS ward FROM parts GROUP BY part"
        ).to_arrow_table()
    return parts, labels


# -- PostgreSQL --------------------------------------------------------------------------------------------


def load_postgres(url: str, file: Path) -> None:
    import psycopg

    types = {"age": "INTEGER", "stay_days": "INTEGER"}
    listed = ", ".join(f"{name} {types.get(name, 'TEXT')}" for name in (*QUASI, *PASSED))
    text = file.with_suffix(".csv")
    duckdb.execute(f"COPY (SELECT * FROM '{file}') TO '{text}' (FORMAT csv, HEADER false)")
    with psycopg.connect(url, autocommit=True) as con:
        con.execute(f"DROP TABLE IF EXISTS {NAME}")
        con.execute(f"CREATE TABLE {NAME} ({listed})")
        with (
            text.open("rb") as rows,
            con.cursor() as cursor,
            cursor.copy(f"COPY {NAME} FROM STDIN (FORMAT csv)") as copy,
        ):
            while part := rows.read(1 << 20):
                copy.write(part)
        con.execute(f"VACUUM ANALYZE {NAME}")


def bare_postgres(url: str) -> Figures:
    import psycopg

    keys = ", ".join(QUASI)
    found: Figures = {}
    with psycopg.connect(url, autocommit=True) as con:
        server = _near(con.info.backend_pid)
        before = _cpu(server)
        con.execute("SET enable_mergejoin = off")
        with _timed(found, "cells"):
            con.execute(
                f"CREATE TEMP TABLE cells AS SELECT CAST(ROW_NUMBER() OVER () AS INT) AS cell, {keys}, COUNT(*) AS n "
                f"FROM {NAME} GROUP BY {keys}"
            )
            read = con.execute(f"SELECT cell, {keys}, n FROM cells").fetchall()
            names = ("cell", *QUASI, "n")
            cells = pa.table(dict(zip(names, map(list, zip(*read, strict=True)), strict=True)))
        with _timed(found, "back"):
            for name, table in zip(("parts", "labels"), stand_in(cells), strict=True):
                kinds = ", ".join(
                    f"{field.name} {'TEXT' if pa.types.is_string(field.type) else 'INT'}" for field in table.schema
                )
                con.execute(f"CREATE TEMP TABLE {name} ({kinds})")
                with con.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as copy:
                    for row in zip(*(one.to_pylist() for one in table.columns), strict=True):
                        copy.write_row(row)
                con.execute(f"ANALYZE {name}")
            con.execute(
                "CREATE TEMP TABLE placed AS SELECT c.*, p.part FROM cells AS c JOIN parts AS p ON p.cell = c.cell"
            )
            con.execute("ANALYZE placed")
        sentinels = dict.fromkeys(QUASI, "'~'") | {"age": "-1"}
        same = " AND ".join(f"COALESCE(r.{name}, {no}) = COALESCE(p.{name}, {no})" for name, no in sentinels.items())
        hashed = "hashtextextended(p.part || '|' || COALESCE(r.diagnosis, '~') || '|' || r.stay_days, 7)"
        with _timed(found, "stored"):
            con.execute(f"DROP TABLE IF EXISTS {NAME}_bare")
            con.execute(
                f"CREATE TABLE {NAME}_bare AS SELECT {', '.join(f'l.{name}' for name in QUASI)}, "
                f"{', '.join(f'n.{name}' for name in PASSED)} FROM ("
                f"SELECT p.part, {', '.join(f'r.{name}' for name in PASSED)} FROM {NAME} AS r "
                f"JOIN placed AS p ON {same} ORDER BY {hashed}) AS n JOIN labels AS l ON l.part = n.part"
            )
        with _timed(found, "verified"):
            con.execute(f"SELECT MIN(n) FROM (SELECT COUNT(*) AS n FROM {NAME}_bare GROUP BY {keys}) AS g").fetchall()
        con.execute(f"DROP TABLE {NAME}_bare")
        found["cpu"] = _cpu(server) - before
    return found


# -- Spark -------------------------------------------------------------------------------------------------


def load_spark(session: Any, file: Path) -> None:
    session.sql(f"DROP TABLE IF EXISTS {NAME}")
    session.read.parquet(str(file)).write.format("parquet").saveAsTable(NAME)


def bare_spark(session: Any) -> Figures:
    keys = ", ".join(QUASI)
    found: Figures = {}
    with _timed(found, "cells"):
        cells = session.sql(f"SELECT {keys}, COUNT(*) AS n FROM {NAME} GROUP BY {keys}").toArrow()
        cells = cells.append_column("cell", pa.array(np.arange(len(cells)), pa.int32()))
    with _timed(found, "back"):
        parts, labels = stand_in(cells)
        order = np.argsort(parts["cell"].to_numpy())
        placed = cells.select(list(QUASI)).append_column("part", parts["part"].take(pa.array(order)))
        session.createDataFrame(placed).createOrReplaceTempView("bare_parts")
        session.createDataFrame(labels).createOrReplaceTempView("bare_labels")
    same = " AND ".join(f"r.{name} <=> p.{name}" for name in QUASI)
    with _timed(found, "stored"):
        session.sql(f"DROP TABLE IF EXISTS {NAME}_bare")
        session.sql(
            f"CREATE TABLE {NAME}_bare USING parquet AS SELECT /*+ BROADCAST(l) */ "
            f"{', '.join(f'l.{name}' for name in QUASI)}, {', '.join(f'n.{name}' for name in PASSED)} FROM ("
            f"SELECT /*+ BROADCAST(p) */ p.part, {', '.join(f'r.{name}' for name in PASSED)} FROM {NAME} AS r "
            f"JOIN bare_parts AS p ON {same} ORDER BY xxhash64(7, p.part, r.diagnosis, r.stay_days, r.readmitted)"
            f") AS n JOIN bare_labels AS l ON l.part = n.part"
        )
    with _timed(found, "verified"):
        session.sql(f"SELECT MIN(n) FROM (SELECT COUNT(*) AS n FROM {NAME}_bare GROUP BY {keys})").collect()
    session.sql(f"DROP TABLE {NAME}_bare")
    return found


# -- running -----------------------------------------------------------------------------------------------


@contextmanager
def _timed(found: Figures, step: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    found[step] = time.perf_counter() - started


def _measured(work: Callable[[], Figures], processes: tuple[int, ...]) -> Figures:
    """Seconds and processor time of this process and of servers, with what the work says."""
    started, before = time.perf_counter(), _cpu(processes)
    found = work()
    return {"seconds": time.perf_counter() - started, "cpu": _cpu(processes) - before} | found


def _cpu(processes: tuple[int, ...]) -> float:
    ticks = 100.0  # of Linux
    used = time.process_time()
    for process in processes:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(") ", 1)[1].split()
        used += (int(stat[11]) + int(stat[12])) / ticks
    return used


def _postgres(url: str, options: argparse.Namespace, file: Path) -> Iterator[Figures]:
    import psycopg

    import ppdm_sql

    load_postgres(url, file)
    with ppdm_sql.connect(url) as session:
        server = _near(session.engine._connection.info.backend_pid)
        for run in range(options.repeat):
            yield {"case": "bare", "run": run} | _measured(lambda: bare_postgres(url), ())
            for method in options.methods:
                work = _publication(session, method, run)
                yield {"case": method, "run": run} | _measured(work, server)
    with psycopg.connect(url, autocommit=True) as con:
        con.execute(f"DROP TABLE IF EXISTS {NAME}")


def _publication(session: Any, method: str, seed: int) -> Callable[[], Figures]:
    return lambda: published(session, method, seed)


def _near(process: int) -> tuple[int, ...]:
    """The process, where it runs on this machine."""
    return (process,) if Path(f"/proc/{process}").exists() else ()


def _spark(url: str, options: argparse.Namespace, file: Path) -> Iterator[Figures]:
    import ppdm_sql

    with (
        tempfile.TemporaryDirectory(prefix="ppdm_bench_") as folder,
        ppdm_sql.connect(url if "?" in url else f"{url}?warehouse={folder}/lake") as session,
    ):
        spark = session.engine._session
        load_spark(spark, file)
        jvm = (int(session.engine._place.gateway.proc.pid),)
        for run in range(options.repeat):
            yield {"case": "bare", "run": run} | _measured(lambda: bare_spark(spark), jvm)
            for method in options.methods:
                yield {"case": method, "run": run} | _measured(_publication(session, method, run), jvm)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine_cases", description=__doc__)
    parser.add_argument("engine", choices=("postgres", "spark"))
    parser.add_argument("url")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--repeat", type=int, default=2, help="runs of each; the first one warms up")
    parser.add_argument("--methods", nargs="*", default=list(_METHODS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ppdm_bench_") as folder:
        file = Path(folder) / "stays.parquet"
        make(file, options.rows)
        run = _postgres if options.engine == "postgres" else _spark
        for one in run(options.url, options, file):
            one["driver_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(json.dumps(one), flush=True)


if __name__ == "__main__":
    main()
