"""A requirement that is registered from here: policy, check, plan, run, verify, evaluate, advise, certificate, report."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated

import duckdb
import numpy as np
import pytest
from sqlglot import exp

from ppdm_sql.checks.breaches import BREACH_STATEMENTS, BreachStatement, breaches
from ppdm_sql.checks.histograms import PART_TESTS, parts_meet
from ppdm_sql.checks.measure import CHECKS, measure
from ppdm_sql.checks.measurement import Measurement, Sensitive
from ppdm_sql.checks.outcome import Outcome, outcome
from ppdm_sql.commands import _run
from ppdm_sql.errors import PolicyError
from ppdm_sql.methods import registry
from ppdm_sql.policy import algorithms
from ppdm_sql.policy.stored_requirements import requirement
from ppdm_sql.requirements import About, Requirement, register, requirement_words, unregister
from ppdm_sql.requirements.declared import WholeNumber
from ppdm_sql.source.encode import CODE, ROWS
from ppdm_sql.statements.load import parse_statement
from ppdm_sql.statements.names import column
from ppdm_sql.verify.verification import VERIFICATIONS, Measure, Subject

COUNTED = """
    WITH ppdm_value AS (
        SELECT quasi, sensitive, COUNT(*) AS ppdm_rows,
               CASE WHEN COUNT(*) > 1 AND (sensitive IS NOT NULL OR $null_is_value = 1) THEN 1 ELSE 0 END AS ppdm_twice
        FROM source GROUP BY quasi, sensitive
    ), ppdm_class AS (
        SELECT quasi, SUM(ppdm_rows) AS ppdm_size, SUM(ppdm_twice) AS ppdm_values FROM ppdm_value GROUP BY quasi
    )
"""
VERIFIED = f"""{COUNTED}
    SELECT CASE WHEN ppdm_values < $l THEN 1 ELSE 0 END AS ppdm_breach, ppdm_values AS ppdm_over, 1 AS ppdm_under,
           COUNT(*) AS ppdm_classes, SUM(ppdm_size) AS ppdm_rows
    FROM ppdm_class GROUP BY ppdm_values
"""
BROKEN = f"{COUNTED} SELECT quasi, ppdm_size, ppdm_values FROM ppdm_class WHERE ppdm_values < $l"


@dataclass(frozen=True)
class RepeatedValues(Requirement):
    """Every class has at least l sensitive values that occur more than once."""

    word = "repeated_l"
    about = About.VALUES
    example = "repeated_l = 2"
    l: Annotated[int, WholeNumber(1, 50)]

    def promise(self, members: str) -> str:
        return f"every class has at least {self.l} values that occur more than once"


def check_repeated(asked: RepeatedValues, work: Measurement, item: Sensitive | None) -> Outcome:
    assert item is not None
    cells = work.cells(item)
    keys = [column(name) for name in cells.key.columns]
    picked = exp.Select(expressions=[*keys, column(CODE), column(ROWS)]).from_(cells.cells.table())
    sizes, repeated = Counter[tuple[int, ...]](), Counter[tuple[int, ...]]()
    for *key, code, rows in work.engine.fetch(picked):
        sizes[tuple(key)] += rows
        repeated[tuple(key)] += rows > 1 and code != cells.unknown
    broken = [size for key, size in sizes.items() if repeated[key] < asked.l]
    least = Fraction(min(repeated.values())) if repeated else None
    return outcome(asked, item.info.name, least, np.ones(len(broken), dtype=np.int64), np.array(broken, dtype=np.int64))


def verify_repeated(asked: RepeatedValues, subject: Subject) -> Measure:
    params = {"l": asked.l, "null_is_value": int(subject.sensitive.nulls_as_value)}
    return Measure(asked, subject.sensitive.name, VERIFIED, subject.with_values(), min, params)


HOOKS = {
    CHECKS: check_repeated,
    PART_TESTS: lambda asked, counts, *_: np.count_nonzero(counts > 1, axis=1) >= asked.l,
    BREACH_STATEMENTS: lambda asked, by_entity: BreachStatement(parse_statement(BROKEN), {"l": asked.l}),
    VERIFICATIONS: verify_repeated,
}
POLICY = """
CREATE TABLE people_open AS SELECT id, age, town, illness FROM people
WITH ANONYMIZATION (
    ALGORITHM {algorithm} REQUIRE k = 3, repeated_l = {l}
    IDENTIFIER (id) QUASI IDENTIFIER (age, town) SENSITIVE (illness) SEED 3
);
"""


@pytest.fixture
def repeated(monkeypatch):
    """The requirement, and a mondrian that promises it; nothing of them is left for other tests."""
    register(RepeatedValues, HOOKS)
    monkeypatch.setattr(algorithms, "_registered", {})
    mondrian = registry.method_named("mondrian")
    registry.register(replace(mondrian, name="mondrian_repeated", keeps=mondrian.keeps | {RepeatedValues}))
    yield
    unregister(RepeatedValues)


@pytest.fixture
def ppdm(repeated, tmp_path, monkeypatch, capsys):
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as con:
        con.execute(
            "CREATE TABLE people AS SELECT range AS id, 20 + (range * 7) % 53 AS age, 'town ' || range % 4 AS town, "
            "'illness ' || (range * 11) % 5 AS illness FROM range(200)"
        )
    monkeypatch.chdir(tmp_path)

    def run(command: str, *more: str, l: int = 2, algorithm: str = "mondrian_repeated") -> tuple[int, str, str]:
        (tmp_path / "policy.sql").write_text(POLICY.format(l=l, algorithm=algorithm))
        code = _run(["--db", "clinic.duckdb", command, *(more or ["policy.sql"])])
        return code, *capsys.readouterr()

    return run


def test_it_goes_through_the_commands(ppdm, tmp_path):
    code, out, _ = ppdm("check")
    assert (code, "repeated_l = 2" in out, "repeated_l = 0" in out) == (1, True, True)
    code, out, _ = ppdm("plan")
    assert (code, "repeated_l = 2" in out) == (0, True)
    assert ppdm("run")[0] == 0
    with duckdb.connect(str(tmp_path / "clinic.duckdb"), read_only=True) as con:
        rows = con.execute("SELECT age, town, illness FROM people_open").fetchall()
    by_class: dict[tuple[str, str], Counter[str]] = {}
    for age, town, illness in rows:
        by_class.setdefault((age, town), Counter())[illness] += 1
    assert len(rows) == 200
    assert len(by_class) > 3
    assert min(sum(count > 1 for count in values.values()) for values in by_class.values()) >= 2
    code, out, _ = ppdm("verify", "people_open")
    assert (code, "repeated_l = 2" in out) == (0, True)
    assert ppdm("export", "people_open", "open.duckdb")[0] == 0
    manifest = json.loads((tmp_path / "open.duckdb.manifest.json").read_text())
    assert manifest["policy"]["requirements"] == ["k = 3", "repeated_l = 2"]
    assert "repeated_l = 2 on illness" in (tmp_path / "open.duckdb.certificate.sql").read_text()
    assert ppdm("report", "people_open", "--out", "page.html")[0] == 0
    assert RepeatedValues(2).promise("rows") in (tmp_path / "page.html").read_text()


def test_it_is_evaluated_and_advised(ppdm):
    """Every point has it next to its k; what cannot keep it is refused, and never advised."""
    grid = ("policy.sql", "--method", "mondrian_repeated,mondrian", "--grid", "repeated_l=2,3", "--json")
    code, out, _ = ppdm("evaluate", *grid)
    points = {(one["algorithm"], tuple(one["requirements"])): one for one in json.loads(out)["points"]}
    assert (code, len(points)) == (0, 4)
    for l in (2, 3):
        asked = ("k = 3", f"repeated_l = {l}")
        assert (points["mondrian_repeated", asked]["status"], points["mondrian_repeated", asked]["holds"]) == (
            "measured",
            True,
        )
        assert (points["mondrian", asked]["status"], "cannot keep" in points["mondrian", asked]["reason"]) == (
            "refused",
            True,
        )
    code, out, _ = ppdm("advise", "policy.sql", "--json")
    best = json.loads(out)["best"]
    assert (code, best["algorithm"], "repeated_l = 2" in best["requirements"]) == (0, "mondrian_repeated", True)


def test_it_is_refused_where_it_cannot_be_kept(ppdm):
    code, _, err = ppdm("run", algorithm="mondrian")
    assert (code, "ALGORITHM mondrian cannot keep repeated_l = 2" in err) == (2, True)
    code, _, err = ppdm("run", l=6)  # there are five illnesses
    assert (code, 'repeated_l = 6 on "illness" cannot be met' in err) == (1, True)
    code, _, err = ppdm("run", l=51)
    assert (code, "repeated_l is a whole number from 1 to 50, not 51" in err) == (2, True)


def test_its_hooks_agree(repeated, duckdb_engine, make_table):
    rows = [
        ("a", "x"),
        ("a", "x"),
        ("a", "y"),
        ("a", "y"),
        ("b", "x"),
        ("b", "x"),
        ("b", None),
        ("b", None),
        ("c", "z"),
    ]
    relation = make_table(duckdb_engine, "t", {"q": "TEXT", "s": "TEXT"}, rows)
    infos = {info.name: info for info in duckdb_engine.columns(relation)}
    asked, item = requirement("repeated_l = 2"), Sensitive(infos["s"])
    measured = measure(duckdb_engine, relation, quasi=[infos["q"]], sensitive=[item], requirements=[asked])
    found = measured.outcomes[0]
    assert (found.achieved, found.breaching_classes, found.breaching_rows) == (0, 2, 5)
    broken = breaches(duckdb_engine, relation, asked, quasi=[infos["q"]], sensitive=item)
    assert sorted(row[0] for row in broken) == ["b", "c"]
    assert parts_meet(asked, np.array([[2, 2, 0], [2, 0, 0], [0, 0, 1]])).tolist() == [True, False, False]


def test_without_a_hook_it_is_refused_and_nothing_of_it_is_left(duckdb_engine, make_table):
    relation = make_table(duckdb_engine, "t", {"q": "TEXT", "s": "TEXT"}, [("a", "x")])
    infos = {info.name: info for info in duckdb_engine.columns(relation)}
    with pytest.raises(PolicyError, match="unknown requirement repeated_l"):
        requirement("repeated_l = 2")
    register(RepeatedValues)
    try:
        with pytest.raises(PolicyError, match="repeated_l cannot be checked"):
            measure(
                duckdb_engine,
                relation,
                quasi=[infos["q"]],
                sensitive=[Sensitive(infos["s"])],
                requirements=[RepeatedValues(2)],
            )
        with pytest.raises(ValueError, match="already a requirement repeated_l"):
            register(replace_class())
    finally:
        unregister(RepeatedValues)
    assert "repeated_l" not in requirement_words()


def replace_class() -> type[Requirement]:
    """Another class with the same word."""
    return type("OtherRepeatedValues", (RepeatedValues,), {})
