"""docs/private-counts.md is a tutorial of four hospitals: its commands are run as they stand, each a process of its own."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest
from test_readme import alike, console_steps, shell

__all__ = ["shell"]

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "private-counts.md").read_text(encoding="utf-8")


@pytest.mark.wide
def test_the_commands_of_the_page_do_what_it_says(shell, tmp_path, monkeypatch):
    (tmp_path / "hospital.sql").write_text(re.findall(r"^```sql\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[0])
    steps = console_steps(PAGE)
    assert len(steps) > 9
    for command, expected in steps:
        shown = shell(command)
        assert alike(expected, shown), f"$ {command}\n--- page\n{expected}--- shown\n{shown}"
    monkeypatch.chdir(tmp_path / "north")
    with duckdb.connect() as recipient:
        verdicts = recipient.execute(Path("ills.json.certificate.sql").read_text()).fetchall()
    assert {verdict for _, verdict in verdicts} == {"holds"}
    assert len(verdicts) == 5
    changed = Path("ills.json").read_text().replace('"laplace": 1', '"laplace": 2')
    Path("ills.json").write_text(changed)
    with duckdb.connect() as recipient:
        verdicts = recipient.execute(Path("ills.json.certificate.sql").read_text()).fetchall()
    assert "BREACHED" in {verdict for _, verdict in verdicts}
