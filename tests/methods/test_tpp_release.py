"""TPP as a statement: published, verified, exported; and what keeps a release from being made."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from ppdm_sql.errors import PolicyError, PpdmError, RequirementBreached
from ppdm_sql.release.reverify import reverify_file
from ppdm_sql.session import Session
from ppdm_sql.watching import silent

COLUMNS = {"id": "INTEGER", "age": "INTEGER", "ward": "TEXT", "pay": "DECIMAL(8, 2)", "illness": "TEXT", "back": "TEXT"}
POLICY = """
CREATE OR REPLACE TABLE open AS SELECT id, age, ward, pay, illness, back FROM people
WITH ANONYMIZATION (
    ALGORITHM tpp {options}
    REQUIRE {required}
    IDENTIFIER (id) QUASI IDENTIFIER (age, ward, pay) SENSITIVE (illness) TARGET (back)
    {more}
)
"""


def policy(options: str = "", required: str = "k = 5, simple_l = 1.2", more: str = "ACCEPT RISK (boundaries)") -> str:
    return POLICY.format(options=shifted(options), required=required, more=more)


def shifted(options: str) -> str:
    """Options with the paper's numbers."""
    return f"(numbers = shifted, {options.removeprefix('(')}" if options else "(numbers = shifted)"


def people(rows: int = 150) -> list[tuple]:
    draw = random.Random(8)
    found = []
    for number in range(rows):
        age, ward = draw.randint(20, 60), draw.choice(["north", "south", "east", "west"])
        back = (age > 41) != (ward in ("north", "west") and draw.random() < 0.8)
        pay = round(draw.uniform(900, 4000), 2)
        found.append((number, age, ward, pay, draw.choice(["flu", "cold", "ulcer"]), "yes" if back else "no"))
    return found


@pytest.fixture
def session(engine, make_table, tmp_path: Path) -> Session:
    return opened(engine, make_table, tmp_path)


@pytest.fixture
def duck(duckdb_engine, make_table, tmp_path: Path) -> Session:
    return opened(duckdb_engine, make_table, tmp_path)


def opened(engine, make_table, folder: Path) -> Session:
    from decimal import Decimal

    rows = [(*row[:3], Decimal(str(row[3])), *row[4:]) for row in people()]
    make_table(engine, "people", COLUMNS, rows)
    return Session(engine, out=folder, show_values=False, progress=silent)


def test_a_release_and_its_trees_are_verified(session):
    release = session.publish(policy())
    assert all(finding.holds for finding in release.findings)
    assert release.rows == 150
    verified = session.verify("open")
    assert verified.holds
    assert verified.problems == ()


def test_the_manifest_tells_the_trees(duck):
    duck.publish(policy())
    content = duck._current(duck.engine.name(duck.parse("VERIFY open")[0].name)).manifest.to_json()
    (pattern,) = content["patterns"]
    assert pattern["leaves"] == content["figures"]["leaves of tree 1"] >= 2
    assert content["figures"]["tree 1"].startswith('cart (gini, min_leaf 7) for "back", grown best-first to')
    assert content["figures"]["smallest class when the response is known"] >= 1
    assert {"boundaries", "order", "means", "response", "midpoints", "stopping"} <= content["residual_risks"].keys()
    json.dumps(content)


def test_changed_rows_lose_the_tree_and_verify_says_so(duck):
    duck.publish(policy())
    duck.engine.pass_through("UPDATE open SET age = age + 1 WHERE age = (SELECT max(age) FROM open)")
    problems = duck.verify("open").problems
    assert any(problem.startswith("tree 1: ") for problem in problems)


@pytest.mark.wide
def test_an_exported_file_is_checked_for_its_trees(duck, tmp_path):
    duck.publish(policy())
    duck.export("open", tmp_path / "open.csv")
    assert reverify_file(tmp_path / "open.csv").holds
    manifest = tmp_path / "open.csv.manifest.json"
    content = json.loads(manifest.read_text("utf-8"))
    content["patterns"][0]["root"]["rows"] += 1
    manifest.write_text(json.dumps(content), "utf-8")
    assert any("instead of the promised 151" in problem for problem in reverify_file(tmp_path / "open.csv").problems)


def test_boundaries_that_few_hold_must_be_accepted(duck):
    with pytest.raises(RequirementBreached, match=r"held by fewer than 5 people.*ACCEPT RISK \(boundaries\)"):
        duck.publish(policy(more=""))
    assert duck.releases() == []
    rounded = policy(more="").replace("SELECT id, age,", "SELECT id, age // 10 * 10 AS age,").replace("pay, ", "")
    rounded = rounded.replace(", pay)", ")")
    assert duck.publish(rounded).rows == 150


def test_what_loses_the_tree_is_not_published(duck):
    """The paper's own rule on a table where nodes share a boundary: found by growing again, nothing is out."""
    rows = "(9,'b','q'),(6,'b','q'),(4,'b','p'),(2,'b','q'),(7,'a','q'),(7,'a','p'),(3,'a','p'),(3,'b','q')"
    duck.engine.pass_through(f"CREATE TABLE small AS SELECT * FROM (VALUES {rows}, {rows}) AS t (a, b, y)")
    text = """CREATE TABLE s AS SELECT a, b, y FROM small WITH ANONYMIZATION (
        ALGORITHM tpp (numbers = shifted, max_leaves = 5{paper}) REQUIRE k = 2 QUASI IDENTIFIER (a, b) TARGET (y)
        PRESERVE (cart (criterion = entropy, min_leaf = 1)) ACCEPT RISK (boundaries))"""
    with pytest.raises(PpdmError, match="the stored rows do not preserve the trees: tree 1: .*; nothing was published"):
        duck.publish(text.format(paper=", paper = true"))
    assert duck.releases() == []
    assert duck.publish(text.format(paper="")).rows == 16


@pytest.mark.wide
def test_several_trees_in_one_statement(session):
    more = "PRESERVE (cart (min_leaf = 5), id3 (max_leaves = 4, min_leaf = 5)) ACCEPT RISK (boundaries)"
    session.publish(policy(required="k = 3", more=more))
    assert session.verify("open").holds


def test_c45_is_refused_with_its_reason(duck):
    with pytest.raises(PolicyError, match="PRESERVE cannot keep c45"):
        duck.publish(policy(more="PRESERVE (c45)"))


def test_explain_tells_the_tree_and_writes_nothing(duck):
    (planned,) = duck.execute(f"EXPLAIN {policy()}")
    assert any(step.startswith("tree 1: cart (gini, min_leaf 7)") for step in planned.steps)
    assert duck.releases() == []


@pytest.mark.wide
def test_the_same_rows_give_the_same_release(duck):
    first = duck.publish(policy(more="ACCEPT RISK (boundaries) SUPERSEDES ALL"))
    duck.engine.pass_through("CREATE TABLE other AS SELECT * FROM people ORDER BY id DESC")
    text = policy(more="ACCEPT RISK (boundaries) SUPERSEDES ALL").replace("FROM people", "FROM other")
    second = duck.publish(text.replace("TABLE open", "TABLE again"))
    assert duck.engine.fetch(first.query) == duck.engine.fetch(second.query)


def test_the_statement_of_the_claim_sheet_runs(duck):
    sheet = Path(__file__).resolve().parents[2] / "docs" / "methods" / "tpp.md"
    statement = sheet.read_text("utf-8").split("```sql\n")[1].split("```")[0]
    duck.engine.pass_through(
        "CREATE TABLE patients AS SELECT id AS patient_id, age, ward, CASE WHEN id % 2 = 0 THEN 'f' ELSE 'm' END AS sex, "
        "illness AS diagnosis, back AS readmitted, age + id % 7 AS days FROM people"
    )
    (release,) = duck.execute(statement)
    assert release.rows == 150
    assert duck.verify("patients_open").holds
