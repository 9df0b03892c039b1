"""python -m benchmarks.papers, with the experiments replaced by one small table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.papers import __main__ as command
from benchmarks.papers.tables import PaperTable

TABLE = PaperTable("004", "Accuracy [%]", ("k", "here"), (("5", "80"), ("10", "79")), ("here: measured now",))


@pytest.fixture
def call(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PPDM_DATA", raising=False)
    asked = []

    def tables_of(paper, folder, progress, *, quick):
        asked.append((paper, str(folder), quick))
        progress("one step", 0, 1)
        return [TABLE]

    def run(*arguments):
        return CliRunner().invoke(command.main, arguments)

    run.asked = asked
    run.replace = lambda: monkeypatch.setattr(command, "tables_of", tables_of)
    return run


def test_tables_are_printed_and_written_as_csv_and_json(call):
    call.replace()
    found = call("004", "--data", ".", "--quick", "--csv", "cells.csv")
    assert (found.exit_code, call.asked) == (0, [("004", ".", True)])
    assert found.stdout.split() == [
        "Accuracy",
        "[%]",
        "k",
        "here",
        "5",
        "80",
        "10",
        "79",
        "here:",
        "measured",
        "now",
    ]
    assert found.stderr == "one step\n"
    assert Path("cells.csv").read_text().splitlines()[1:3] == ["004,Accuracy [%],1,k,5", "004,Accuracy [%],1,here,80"]
    assert json.loads(call("--data", ".", "--json").stdout)["tables"][0]["rows"] == [["5", "80"], ["10", "79"]]
    assert [paper for paper, _, _ in call.asked[1:]] == list(command.PAPERS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("004",), "Missing option '--data'"),
        (("999", "--data", "."), "unknown paper 999"),
        (("004", "--data", "nowhere"), "the folder nowhere does not exist"),
        (("004", "--data", ".", "--csv", "nowhere/a.csv"), "the folder of nowhere/a.csv does not exist"),
    ],
)
def test_a_wrong_call_ends_with_a_message(call, arguments, message):
    found = call(*arguments)
    assert found.exit_code != 0
    assert message in found.stderr
