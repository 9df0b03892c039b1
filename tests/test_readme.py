"""The README is a tutorial: its commands are run as they stand, and its shown output is compared.

make test leaves out `evaluate` and `advise`, whose grids take longer than everything else together; make test-wide
runs these.  In an output `...` stands for anything within a line, and a line `...` for any number of lines.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sizes import HANGS

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def console_steps(text: str) -> list[tuple[str, str]]:
    """(command, expected output) of every console block, in order."""
    steps: list[tuple[str, str]] = []
    for block in re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            steps.append((command, output))
    return steps


def alike(expected: str, shown: str) -> bool:
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else re.escape(line.rstrip()).replace(r"\.\.\.", ".*") + r"[ ]*\n"
        for line in expected.splitlines()
    )
    return re.fullmatch(pattern, shown) is not None


@pytest.fixture
def shell(tmp_path):
    """A shell that keeps its folder and its last exit status, as a reader's would."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "100"}
    environment.pop("PPDM_DB", None)
    process = subprocess.Popen(
        ["bash"], cwd=tmp_path, env=environment, text=True, encoding="utf-8",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip

    def run(command: str) -> str:
        mark = "--ppdm-end-of-output--"
        process.stdin.write(f"{command}\n__status=$?\necho {mark}\n(exit $__status)\n")
        process.stdin.flush()
        lines = []
        for line in process.stdout:
            if line.rstrip("\n").endswith(mark):
                break
            lines.append(line)
        return "".join(lines)

    yield run
    process.stdin.close()
    process.wait(timeout=HANGS)


def run_steps(shell, steps: list[tuple[str, str]]) -> None:
    for command, expected in steps:
        shown = shell(command)
        assert alike(expected, shown), f"$ {command}\n--- README\n{expected}--- shown\n{shown}"


def measures_costs(command: str) -> bool:
    return re.search(r"^ppdm --db \S+ (evaluate|advise) ", command) is not None


def test_the_commands_and_the_python_of_the_readme_do_what_it_says(shell, tmp_path):
    steps = [step for step in console_steps(README) if not measures_costs(step[0])]
    assert len(steps) > 20
    run_steps(shell, steps)
    (code,) = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    (tmp_path / "clinic" / "read.py").write_text(code)
    assert shell("python read.py").startswith("k = 10 10\n")


@pytest.mark.wide
def test_the_figures_of_the_readme_are_those_of_the_demo(shell):
    first = [step for step in console_steps(README) if step[0].startswith(("ppdm demo", "cd "))]
    costs = [step for step in console_steps(README) if measures_costs(step[0])]
    assert (len(first), len(costs)) == (2, 2)
    run_steps(shell, [*first, *costs])


def test_the_comparison_can_fail():
    assert alike("a ... c\n...\nz\n", "a b c\nx\ny\nz\n")
    assert not alike("a\n", "b\n")
    assert not alike("a\n", "a\nb\n")


def test_continuous_integration_runs_the_commands_of_the_readme():
    steps = re.findall(r"^ *make ([\w-]+)", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    (whole,) = re.findall(r"^test-all: (.*?) ##", makefile, re.MULTILINE)
    assert re.search(r"^make test ", README, re.MULTILINE)
    assert "make test-all" in README
    assert [step for step in steps if step.startswith("test")] == ["test", "test-wide", "test-spark"]
    assert whole.split() == ["test", "test-wide", "test-spark"]


def test_every_page_the_readme_links_to_is_there():
    for link in re.findall(r"\]\(([\w./-]+)\)", README):
        assert (ROOT / link).exists(), link


def test_the_statement_of_the_readme_is_that_of_the_demo():
    from ppdm_sql.policy.grammar import parse

    (shown,) = re.findall(r"^```sql\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    demo = parse((ROOT / "sql" / "demo" / "patients.sql").read_text(encoding="utf-8"))[0]
    assert parse(shown)[0].policy == demo.policy
    assert shutil.which("bash")
