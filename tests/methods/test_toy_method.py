"""A method that is registered from here, and goes through every command as those of the program do."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Annotated

import duckdb
import numpy as np
import pytest

from ppdm_sql.cells.parts import Parts
from ppdm_sql.commands import _run
from ppdm_sql.engines.base import Engine
from ppdm_sql.methods.base import OF_CLASSES, ROWS, CellJob, Method
from ppdm_sql.methods.plan import CellPlan, ResidualRisk
from ppdm_sql.methods.registry import register
from ppdm_sql.policy import algorithms
from ppdm_sql.policy.options import Whole
from ppdm_sql.statements.names import Name

POLICY = """
CREATE TABLE people_open AS SELECT id, age, town, paid FROM people
WITH ANONYMIZATION (
    ALGORITHM one_class {options} REQUIRE k = 5 IDENTIFIER (id) QUASI IDENTIFIER (age, town) TARGET (paid) SEED 3
);
"""


@dataclass(frozen=True)
class OneClassOptions:
    stars: Annotated[int, Whole(1, 9)] = 1


def plan_one_class(job: CellJob) -> CellPlan:
    """All rows are in one class: no quasi-identifier is published."""
    seen = [getattr(job, field.name) for field in fields(job)]
    assert not [one for one in seen if isinstance(one, Engine | Name)], "a table method sees cells, no engine or table"
    assert len(job.cells) <= 120
    stars = "*" * job.options(OneClassOptions).stars
    return CellPlan(
        parts=Parts(np.zeros(len(job.cells), dtype=np.int64), 1),
        labels={name: [stars] for name in job.source.quasi},
        steps=(f"publish {stars} for every quasi-identifier",),
        figures={"stars": len(stars)},
        risks=(ResidualRisk("useless", "nothing can be learned from the quasi-identifiers"),),
    )


ONE_CLASS = Method("one_class", ROWS, OneClassOptions, OF_CLASSES, plan_cells=plan_one_class)


@pytest.fixture
def ppdm(tmp_path, monkeypatch, capsys):
    """The command line in this process with the method registered; nothing of it is left for other tests."""
    monkeypatch.setattr(algorithms, "_registered", {})
    register(ONE_CLASS)
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as con:
        con.execute(
            "CREATE TABLE people AS SELECT range AS id, 20 + (range * 7) % 53 AS age, 'town ' || range % 4 AS town, "
            "CASE WHEN (range * 7) % 53 > 25 THEN 'well' ELSE 'badly' END AS paid FROM range(120)"
        )
    (tmp_path / "policy.sql").write_text(POLICY.format(options="(stars = 3)"))
    (tmp_path / "wrong.sql").write_text(POLICY.format(options="(stars = 12)"))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = _run(["--db", "clinic.duckdb", *arguments])
        return code, *capsys.readouterr()

    return run


def test_a_method_from_elsewhere_goes_through_every_command(ppdm, tmp_path):
    code, out, _ = ppdm("check", "policy.sql")
    assert code == 1  # the raw table has classes of fewer than 5
    assert "k = 5" in out
    code, out, _ = ppdm("plan", "policy.sql")
    assert (code, "publish *** for every quasi-identifier" in out) == (0, True)
    assert ppdm("run", "policy.sql")[0] == 0
    with duckdb.connect(str(tmp_path / "clinic.duckdb"), read_only=True) as con:
        assert con.execute("SELECT DISTINCT age, town FROM people_open").fetchall() == [("***", "***")]
    assert ppdm("verify", "people_open")[0] == 0
    assert ppdm("report", "people_open", "--out", "report.html")[0] == 0
    assert "one_class" in (tmp_path / "report.html").read_text()


def test_it_is_evaluated_and_advised_with_the_others(ppdm, monkeypatch):
    few = {"mondrian": algorithms._METHODS["mondrian"]}  # the advice tries all there are
    monkeypatch.setattr(algorithms, "_METHODS", few)
    code, out, _ = ppdm("evaluate", "policy.sql", "--grid", "k=5", "--method", "one_class,mondrian", "--json")
    assert code == 0
    points = {point["algorithm"]: point for point in json.loads(out)["points"]}
    assert (points["one_class"]["status"], points["one_class"]["classes"]) == ("measured", 1)
    assert points["one_class"]["accuracy"] < points["mondrian"]["accuracy"]
    code, out, _ = ppdm("advise", "policy.sql", "--json")
    assert code == 0
    assert {point["algorithm"] for point in json.loads(out)["evaluation"]["points"]} == {"one_class", "mondrian"}


def test_its_options_are_read_as_they_are_declared(ppdm):
    code, _, err = ppdm("plan", "wrong.sql")
    assert code == 2
    assert "wrong.sql:4:26: stars of ALGORITHM one_class must be a whole number from 1 to 9, not 12" in err


def test_a_name_is_used_once(ppdm):
    with pytest.raises(ValueError, match="already an algorithm one_class"):
        register(ONE_CLASS)
