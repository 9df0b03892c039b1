"""CREATE MODEL ... WITH ANONYMIZATION, from the statement to the files a recipient gets."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from ppdm_sql.errors import PolicyError, RequirementBreached, Tampered
from ppdm_sql.session import Session
from ppdm_sql.trees.tree_json import read_tree
from ppdm_sql.watching import silent

MORTGAGE = [("Lisa", "U", "Yes", "good"), ("John", "M", "Yes", "good"), ("Ben", "M", "No", "bad"),
            ("Laura", "M", "No", "bad"), ("Robert", "U", "Yes", "bad"), ("Anna", "U", "No", "bad")]  # fmt: skip
COLUMNS = dict.fromkeys(("name", "marital", "sports", "risk"), "TEXT")


def statement(k: int = 3, *, more: str = "", name: str = "loans", algorithm: str = "kadet (form = id3)") -> str:
    return f"""CREATE OR REPLACE MODEL {name} AS SELECT name, marital, sports, risk FROM mortgages
        WITH ANONYMIZATION (ALGORITHM {algorithm} REQUIRE k = {k} IDENTIFIER (name) QUASI IDENTIFIER (marital)
        INSENSITIVE (sports) SENSITIVE (risk) TARGET (risk) {more})"""


@pytest.fixture
def session(engine, make_table, tmp_path):
    make_table(engine, "mortgages", COLUMNS, MORTGAGE)
    return Session(engine, out=tmp_path, show_values=False, progress=silent)


def test_the_mortgage_example_is_published_with_two_groups_of_three(session):
    release = session.publish(statement())
    assert [(f.requirement, f.achieved, f.holds) for f in release.findings] == [("k = 3", "3", True)]
    assert (release.rows, release.classes) == (6, 2)
    tree = session.model("loans").tree
    assert [tree.attributes[node.split.attribute].name for node in tree.nodes if node.split] == ["sports", "marital"]
    assert len(tree.leaves) == 3
    assert session.verify("loans").holds


def test_a_larger_k_takes_a_question_away(engine, make_table, tmp_path):
    """Twice the people: the question about marriage makes groups of six, so for k = 7 it is not asked."""
    twice = [(f"{name} {turn}", *rest) for turn in (1, 2) for name, *rest in MORTGAGE]
    make_table(engine, "mortgages", COLUMNS, twice)
    session = Session(engine, out=tmp_path, show_values=False, progress=silent)
    session.publish(statement(6))
    assert len(session.model("loans").tree.leaves) == 3
    release = session.publish(statement(7, algorithm="kadet (form = id3)", more="SUPERSEDES"))
    assert (release.rows, release.classes) == (12, 1)
    assert len(session.model("loans").tree.leaves) < 3


def test_what_cannot_be_kept_is_refused_and_the_former_model_stays(session):
    session.publish(statement())
    before = session.model("loans").tree
    with pytest.raises(RequirementBreached):
        session.publish(statement(7))
    assert session.model("loans").tree == before
    assert session.verify("loans").holds


def test_a_name_that_is_taken_is_not_overwritten(session):
    with pytest.raises(PolicyError, match="table or view"):
        session.publish(statement(name="mortgages"))
    session.train("mine", "SELECT marital, sports, risk FROM mortgages", "risk", rare=1)
    with pytest.raises(PolicyError, match="no release"):
        session.publish(statement(name="mine"))
    session.publish(statement())
    with pytest.raises(PolicyError, match="CREATE OR REPLACE"):
        session.publish(statement().replace("OR REPLACE ", ""))


def test_two_models_of_one_table_are_judged_together(session):
    """Each hides everybody among three; together they part Lisa, who does sports, from Anna, who does not."""
    session.publish(statement())
    other = statement(3, name="sporty").replace("QUASI IDENTIFIER (marital)\n        INSENSITIVE (sports)",
                                                "QUASI IDENTIFIER (sports)\n        INSENSITIVE (marital)")  # fmt: skip
    with pytest.raises(RequirementBreached, match="joint classes|share no key"):
        session.publish(other)


def test_plan_writes_nothing(session):
    planned = session.plan(statement())
    assert planned.holds
    assert planned.rows == 6
    assert planned.statements
    assert session.models() == []


def test_the_files_of_a_recipient(session, tmp_path):
    session.publish(statement())
    done = session.export("loans", "loans.json")
    tree, name = read_tree(Path(done.path).read_text("utf-8"))
    assert (name, tree) == ("loans", session.model("loans").tree)
    told = json.loads(Path(done.manifest).read_text("utf-8"))
    assert told["export"]["sha256"] == done.sha256
    assert told["findings"][0]["holds"]
    for word in ("Lisa", "mortgages", "SELECT"):
        assert word not in Path(done.manifest).read_text("utf-8")
    with duckdb.connect() as con:  # the recipient's
        con.execute((tmp_path / "loans.json.sql").read_text("utf-8"))
        asked = "SELECT predict_loans(marital, sports) FROM (VALUES ('M', 'Yes'), ('U', 'No')) AS t(marital, sports)"
        assert [row[0] for row in con.execute(asked).fetchall()] == ["good", "bad"]
        assert con.execute("SELECT count(*), max(rows) FROM loans_nodes").fetchone() == (5, 6)
    with pytest.raises(PolicyError, match=r"\.json"):
        session.export("loans", "loans.parquet")


def test_a_changed_model_is_found_out(session, engine):
    from sqlglot import parse_one

    session.publish(statement())
    engine.execute(parse_one("UPDATE ppdm.model_count SET rows = rows + 1 WHERE node = 0"))
    outcome = session.verify("loans")
    assert not outcome.holds
    assert "not the one" in outcome.problems[0]
    with pytest.raises(Tampered):
        session.export("loans", "loans.json")


def test_dropping_frees_the_name(session):
    session.publish(statement())
    session.drop("loans")
    assert session.models() == []
    session.publish(statement())


def test_a_method_of_a_later_version_is_told_as_such(session):
    with pytest.raises(PolicyError, match="ALGORITHM atp is not available"):
        session.publish(statement(algorithm="atp"))
