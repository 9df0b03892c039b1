"""docs/engines.md says of each engine what its class says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ppdm_sql.engines.duckdb import DuckDBEngine

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "engines.md").read_text(encoding="utf-8")
FLAGS = {row[0]: row[1:4] for row in re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|", PAGE, re.MULTILINE)}


def told(engine) -> dict[str, str]:
    said = {name: getattr(engine, name) for name in FLAGS}
    return {name: {True: "yes", False: "no", None: "none"}.get(value, f"{value} bytes") for name, value in said.items()}


def test_every_flag_is_in_the_table():
    from ppdm_sql.engines.base import Engine

    flags = {name for name, value in vars(Engine).items() if isinstance(value, bool) and name != "read_only"}
    assert set(FLAGS) == flags | {"name_limit"}


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_flags_are_those_of_the_engine(place):
    if place == 0:
        engine = DuckDBEngine
    elif place == 1:
        engine = pytest.importorskip("ppdm_sql.engines.postgres.engine", exc_type=ImportError).PostgresEngine
    else:
        engine = pytest.importorskip("ppdm_sql.engines.spark.engine", exc_type=ImportError).SparkEngine
    assert told(engine) == {name: row[place].strip() for name, row in FLAGS.items()}
