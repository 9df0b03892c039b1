"""CREATE MODEL ... WITH ANONYMIZATION, from the statement to the files a recipient gets."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from ppdm_sql.errors import PolicyError, RequirementBreached, Tampered
from ppdm_sql.session import Session
from ppdm_sql.statements.names import identifier
from ppdm_sql.trees.tree_json import read_tree
from ppdm_sql.watching import silent

MORTGAGE = [("Lisa", "U", "Yes", "good"), ("John", "M", "Yes", "good"), ("Ben", "M", "No", "bad"),
            ("Laura", "M", "No", "bad"), ("Robert", "U", "Yes", "bad"), ("Anna", "U", "No", "bad")]  # fmt: skip
RARE = "ACCEPT RISK (rare_classes)"  # two of the six are good
COLUMNS = dict.fromkeys(("name", "marital", "sports", "risk"), "TEXT")


def statement(k: int = 3, *, more: str = "", name: str = "loans", algorithm: str = "kadet (form = id3)") -> str:
    return f"""CREATE OR REPLACE MODEL {name} AS SELECT name, marital, sports, risk FROM mortgages
        WITH ANONYMIZATION (ALGORITHM {algorithm} REQUIRE k = {k} IDENTIFIER (name) QUASI IDENTIFIER (marital)
        INSENSITIVE (sports) SENSITIVE (risk) TARGET (risk) {more} {"" if "ACCEPT" in more else RARE})"""


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


# -- what a recipient and an auditor can run ---------------------------------------------------------------


def certified(folder: Path, file: str = "loans.json") -> list[str]:
    """The verdicts that a bare DuckDB prints, run in the folder of the file."""
    with duckdb.connect() as con:
        con.execute(f"SET file_search_path = '{folder}'")
        found = []
        for one in con.extract_statements((folder / f"{file}.certificate.sql").read_text("utf-8")):
            rows = con.execute(one)
            if one.type == duckdb.StatementType.SELECT:
                found += [row[-1] for row in rows.fetchall()]
        return found


def audited(folder: Path, rows: list[tuple], columns: dict[str, str], file: str = "loans.json") -> list[int]:
    """How many breaches each SELECT of the audit returns, over a source of these rows."""
    with duckdb.connect() as con:
        listed = ", ".join(f"{identifier(name).sql('duckdb')} {kind}" for name, kind in columns.items())
        con.execute(f"CREATE TABLE ppdm_source ({listed})")
        con.executemany(f"INSERT INTO ppdm_source VALUES ({', '.join('?' * len(columns))})", rows)
        found = []
        for one in con.extract_statements((folder / f"{file}.audit.sql").read_text("utf-8")):
            rows_of = con.execute(one)
            if one.type == duckdb.StatementType.SELECT:
                found.append(len(rows_of.fetchall()))
        return found


def test_a_recipient_and_an_auditor_can_check_a_model(session, engine, tmp_path):
    session.publish(statement())
    done = session.export("loans", "loans.json")
    assert done.certificate.endswith("loans.json.certificate.sql")
    text = Path(done.certificate).read_text("utf-8")
    assert certified(tmp_path) == ["holds"] * 3  # the file, its sums, k
    assert "finer" in text  # marriage is asked below sports, which nobody knows
    for word in ("Lisa", "mortgages"):
        assert word not in text + (tmp_path / "loans.json.audit.sql").read_text("utf-8")
    if engine.dialect == "duckdb":
        assert audited(tmp_path, MORTGAGE, COLUMNS) == [0]
        assert audited(tmp_path, MORTGAGE[1:], COLUMNS) == [1]  # one person less: two are alone together


def test_a_certificate_finds_a_changed_file(session, tmp_path):
    session.publish(statement())
    session.export("loans", "loans.json")
    file = tmp_path / "loans.json"
    text = file.read_text("utf-8")
    assert '"counts":' in text
    tampered = text.replace('"counts": [4, 2]', '"counts": [5, 2]')
    assert tampered != text
    file.write_text(tampered, "utf-8")
    assert certified(tmp_path).count("BREACHED") == 2


@pytest.mark.duckdb
def test_the_counts_of_leaves_are_judged_where_everybody_can_follow(duckdb_engine, make_table, tmp_path):
    """All attributes public: a leaf is a group, and a file whose leaf were too small would not hold."""
    columns = {'o"brien': "TEXT", "n": "INTEGER", "cls": "TEXT"}
    rows = [("ab"[n % 2], n % 5, "yes" if (n % 2 and n % 5 < 3) or n % 7 == 0 else "no") for n in range(70)]
    make_table(duckdb_engine, "t", columns, rows)
    session = Session(duckdb_engine, out=tmp_path, show_values=False, progress=silent)
    session.publish(
        """CREATE MODEL loans AS SELECT "o""brien", n, cls FROM t WITH ANONYMIZATION (ALGORITHM kadet
        REQUIRE k = 7, simple_l = 1.1, entropy_l = 1.2, confidence = 95 %, recursive_l = (20, 2), distinct_l = 2
        QUASI IDENTIFIER ("o""brien", n) SENSITIVE (cls) TARGET (cls))"""
    )
    session.export("loans", "loans.json")
    assert len(session.model("loans").tree.leaves) > 1
    assert certified(tmp_path) == ["holds"] * 8
    assert audited(tmp_path, rows, columns) == [0] * 6
    assert sum(audited(tmp_path, rows[:12], columns)) > 0
    # a file of the same form with a smaller leaf: its sums hold, k does not
    certificate = tmp_path / "loans.json.certificate.sql"
    asked = certificate.read_text("utf-8").replace("< 7 ", "< 60 ")
    assert asked != certificate.read_text("utf-8")
    certificate.write_text(asked, "utf-8")
    assert "BREACHED" in certified(tmp_path)


@pytest.mark.duckdb
@pytest.mark.parametrize("known", [False, True])
def test_the_audit_counts_persons(duckdb_engine, make_table, tmp_path, known):
    columns = {"who": "INTEGER", "zip": "TEXT", "cls": "TEXT"}
    rows = [(n % 20, "a" if n % 20 < 10 else "b", "yes" if n % 20 < 10 else "no") for n in range(60)]
    make_table(duckdb_engine, "t", columns, rows)
    session = Session(duckdb_engine, out=tmp_path, show_values=False, progress=silent)
    quasi, secret = ("zip, cls", "") if known else ("zip", "SENSITIVE (cls)")
    session.publish(
        f"CREATE MODEL loans AS SELECT who, zip, cls FROM t WITH ANONYMIZATION (ALGORITHM kadet REQUIRE k = 10 "
        f"ENTITY (who) QUASI IDENTIFIER ({quasi}) {secret} TARGET (cls))"
    )
    session.export("loans", "loans.json")
    assert certified(tmp_path) == ["holds"] * 3
    source = {"ppdm_person": "INTEGER", "zip": "TEXT", "cls": "TEXT"}
    assert audited(tmp_path, rows, source) == [0]
    few = [(who % 5, *rest) for who, *rest in rows]  # as many rows, of fewer persons
    assert audited(tmp_path, few, source) == [2]
    assert '"who"' not in (tmp_path / "loans.json.audit.sql").read_text("utf-8")
