"""docs/evaluation.md: its example runs, and it names every learner and every figure there is."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.evaluate.learners import LEARNERS
from ppdm_sql.evaluate.loss import Loss
from ppdm_sql.evaluate.workload import workload_error
from ppdm_sql.planning.column_loss import ColumnLoss
from ppdm_sql.statements.names import Name

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "evaluation.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_names_every_learner_and_every_figure():
    named = set(re.findall(r"`([a-z_0-9]+)`", PAGE))
    assert set(LEARNERS) <= named
    figures = {one.name for one in (*fields(Loss), *fields(ColumnLoss))} - {"column"}
    assert figures <= named


def test_the_example_and_the_queries_run(tmp_path, monkeypatch, capsys, make_table):
    monkeypatch.chdir(tmp_path)
    rows = [
        (20 + number % 50, "B2" if number % 3 else "A1", number % 7, "yes" if number % 50 > 20 else "no")
        for number in range(300)
    ]
    with DuckDBEngine.open("clinic.duckdb", create=True) as engine:
        make_table(
            engine, "patients", {"age": "INTEGER", "ward": "TEXT", "stay": "INTEGER", "readmitted": "TEXT"}, rows
        )
        found = workload_error(engine, blocks("sql"), Name("patients"), Name("patients"))
    assert [(one.shape, one.error) for one in found] == [("figures", 0), ("groups", 0)]
    exec(compile(blocks("python")[0], "docs/evaluation.md", "exec"), {})
    rows, accuracy, area = capsys.readouterr().out.split()
    assert rows == "100"
    assert float(accuracy) == pytest.approx(1)
    assert float(area) == pytest.approx(1)
