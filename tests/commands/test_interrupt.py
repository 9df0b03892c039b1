"""Ctrl-C ends every command with the documented exit code, whatever is being loaded or done when it comes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.sizes import HANGS

DB = ("--db", "clinic.duckdb")
# The signal comes while a module is looked for, inside exec() of a text, as when a dataclass is made: Python
# remembers a plain KeyboardInterrupt that passed through there, and would end by the signal at last.
HOOK = """
import os, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what runs in the background

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["PPDM_TEST_AT"]:
            sys.meta_path.remove(self)
            exec(os.environ["PPDM_TEST_CODE"])

sys.meta_path.insert(0, Interrupting())
"""
ONCE = "os.kill(os.getpid(), signal.SIGINT)"
TWICE = f"try:\n    {ONCE}\nfinally:\n    {ONCE}"
GRID = ("--grid", "k=2,3,4,5,6,7,8,9", "--learner", "none")


@pytest.fixture
def interrupted(ppdm_process, clinic, tmp_path):
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(HOOK)

    def run(at: str, *arguments: str, code: str = ONCE):
        folders = os.pathsep.join([str(tmp_path / "hook"), *filter(None, [os.environ.get("PYTHONPATH")])])
        return ppdm_process(*arguments, PYTHONPATH=folders, PPDM_TEST_AT=at, PPDM_TEST_CODE=code)

    return run


@pytest.mark.parametrize(
    ("at", "arguments"),
    [
        ("ppdm_sql.commands.group", ("--help",)),
        ("click", (*DB, "evaluate", "policy.sql", *GRID)),
        ("ppdm_sql.commands.evaluate_command", (*DB, "evaluate", "policy.sql", *GRID)),
        ("duckdb", (*DB, "evaluate", "policy.sql", *GRID)),
        ("ppdm_sql.evaluate.run", (*DB, "evaluate", "policy.sql", *GRID)),
        ("ppdm_sql.session", (*DB, "run", "policy.sql")),
        ("ppdm_sql.evaluate.advise", (*DB, "advise", "policy.sql")),
        ("ppdm_sql.release.results", (*DB, "verify")),
        ("ppdm_sql.models.library", (*DB, "model", "list")),
        ("ppdm_sql.demo", ("demo",)),
    ],
)
def test_an_interrupt_ends_with_3_wherever_it_comes(interrupted, at, arguments):
    done = interrupted(at, *arguments)
    assert done.code == 3, done.err
    assert done.err.strip() == "ppdm: stopped; nothing was published"


def test_a_second_interrupt_while_the_first_is_answered_changes_nothing(interrupted):
    done = interrupted("duckdb", *DB, "list", code=TWICE)
    assert (done.code, done.err.strip()) == (3, "ppdm: stopped; nothing was published")


def test_who_starts_it_with_interrupts_ignored_is_not_stopped(clinic):
    """As a shell does for what runs in the background of a script."""
    call = f"trap '' INT; {sys.executable} -m ppdm_sql --db clinic.duckdb list & sleep 0.3; kill -INT $!; wait $!"
    assert subprocess.run(["bash", "-c", call], cwd=clinic, capture_output=True, timeout=HANGS).returncode == 0


def test_the_handler_is_that_of_the_entry_point_alone():
    """Importing the package for its API leaves a program's own Ctrl-C alone."""
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += "import ppdm_sql.session, ppdm_sql.commands.group as g; g.run(['--help']); "
    code += "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=HANGS).returncode == 0
