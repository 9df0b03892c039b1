from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ppdm_sql.commands import main
from tests.sizes import HANGS

PPDM = [sys.executable, "-m", "ppdm_sql"]

POLICY = """
CREATE OR REPLACE TABLE people_open AS
SELECT id, age, zip, illness FROM people
WITH ANONYMIZATION (
    ALGORITHM mondrian
    REQUIRE k = 5
    IDENTIFIER (id)
    QUASI IDENTIFIER (age, zip)
    SENSITIVE (illness)
);
"""


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def ppdm(tmp_path: Path, monkeypatch, capfd):
    """Runs the command line in a folder of its own, in this process: starting one takes longer than most commands."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("PPDM_DB", raising=False)

    def run(*arguments: str, stdin: str | None = None, **environment: str) -> Done:
        with monkeypatch.context() as patch, kept_settings():
            for name, value in environment.items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", ["ppdm", *arguments])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((stdin or "").encode()), encoding="utf-8"))
            with pytest.raises(SystemExit) as ended:
                main()
        return Done(ended.value.code, *capfd.readouterr())

    return run


@contextmanager
def kept_settings():
    """What the command line sets for its process."""
    mask, handler = os.umask(0o022), signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        os.umask(mask)
        signal.signal(signal.SIGINT, handler)


@pytest.fixture
def ppdm_process(tmp_path: Path):
    """The same in a process of its own."""

    def run(*arguments: str, **environment: str) -> Done:
        env = {k: v for k, v in os.environ.items() if k != "PPDM_DB"} | {"COLUMNS": "100"} | environment
        done = subprocess.run([*PPDM, *arguments], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=HANGS)
        return Done(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """clinic.duckdb with table people(100 rows), and policy.sql next to it."""
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as con:
        con.execute(
            "CREATE TABLE people AS SELECT range AS id, 20 + range % 50 AS age, '1000' || range % 4 AS zip, "
            "'illness ' || range % 3 AS illness FROM range(100)"
        )
    (tmp_path / "policy.sql").write_text(POLICY)
    return tmp_path
