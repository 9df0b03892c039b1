"""CREATE MODEL ... WITH ANONYMIZATION, from the statement to the files a recipient gets."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from ppdm_sql.commands import show
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import PolicyError, RequirementBreached, Tampered
from ppdm_sql.statements.names import Name, identifier
from ppdm_sql.trees.tree_json import read_tree

MORTGAGE = [("Lisa", "U", "Yes", "good"), ("John", "M", "Yes", "good"), ("Ben", "M", "No", "bad"),
            ("Laura", "M", "No", "bad"), ("Robert", "U", "Yes", "bad"), ("Anna", "U", "No", "bad")]  # fmt: skip
RARE = "ACCEPT RISK (rare_classes)"  # two of the six are good
COLUMNS = dict.fromkeys(("name", "marital", "sports", "risk"), "TEXT")


def statement(k: int = 3, *, more: str = "", name: str = "loans", algorithm: str = "kadet (form = id3)") -> str:
    return f"""CREATE OR REPLACE MODEL {name} AS SELECT name, marital, sports, risk FROM mortgages
        WITH ANONYMIZATION (ALGORITHM {algorithm} REQUIRE k = {k} IDENTIFIER (name) QUASI IDENTIFIER (marital)
        INSENSITIVE (sports) SENSITIVE (risk) TARGET (risk) {more} {"" if "ACCEPT" in more else RARE})"""


@pytest.fixture
def session(engine, make_table, open_session):
    make_table(engine, "mortgages", COLUMNS, MORTGAGE)
    return open_session(engine)


def test_the_mortgage_example_is_published_with_two_groups_of_three(session):
    release = session.publish(statement())
    assert [(f.requirement, f.achieved, f.holds) for f in release.findings] == [("k = 3", "3", True)]
    assert (release.rows, release.classes) == (6, 2)
    tree = session.model("loans").tree
    assert [tree.attributes[node.split.attribute].name for node in tree.nodes if node.split] == ["sports", "marital"]
    assert len(tree.leaves) == 3
    assert session.verify("loans").holds


def test_a_larger_k_takes_a_question_away(engine, make_table, open_session):
    """Twice the people: the question about marriage makes groups of six, so for k = 7 it is not asked."""
    twice = [(f"{name} {turn}", *rest) for turn in (1, 2) for name, *rest in MORTGAGE]
    make_table(engine, "mortgages", COLUMNS, twice)
    session = open_session(engine)
    session.publish(statement(6))
    assert len(session.model("loans").tree.leaves) == 3
    release = session.publish(statement(7, algorithm="kadet (form = id3)", more="SUPERSEDES ALL"))
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
    with pytest.raises(PolicyError, match="already exists and is not a release"):
        session.publish(statement(name="mine"))
    session.publish(statement())
    with pytest.raises(PolicyError, match="CREATE OR REPLACE"):
        session.publish(statement().replace("OR REPLACE ", ""))


@pytest.mark.parametrize("replace", ["", "OR REPLACE "])
@pytest.mark.parametrize(
    "text",
    [
        "CREATE {}TABLE loans AS SELECT sports, risk FROM mortgages WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 3"
        " QUASI IDENTIFIER (sports) SENSITIVE (risk))",
        "CREATE {}VIEW loans AS SELECT sports, risk FROM mortgages WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 3"
        " QUASI IDENTIFIER (sports) SENSITIVE (risk))",
        "CREATE {}TABLE loans AS PSEUDO DATA FROM MODEL loans",
    ],
)
def test_no_relation_takes_the_place_of_a_released_model(session, text, replace):
    session.publish(statement())
    with pytest.raises(PolicyError, match='1:1: "loans" is a released model'):
        session.execute(text.format(replace))
    assert session.engine.relation_kind(Name("loans")) is None
    assert session.verify("loans").holds


def test_a_released_model_is_not_read_as_a_table(session, capsys):
    release = session.publish(statement())
    with pytest.raises(
        PolicyError, match='release "loans" is a model, not a table: read it with: ppdm model show loans'
    ):
        release.df()
    show.release(session.release("loans"))
    told = " ".join(capsys.readouterr().out.split())
    assert "ppdm model predict loans --from TABLE --into NEW_TABLE" in told
    assert "SELECT" not in told


def test_two_models_of_one_table_are_judged_together(session):
    """Each hides everybody among three; together they part Lisa, who does sports, from Anna, who does not."""
    session.publish(statement())
    other = statement(3, name="sporty").replace("QUASI IDENTIFIER (marital)\n        INSENSITIVE (sports)",
                                                "QUASI IDENTIFIER (sports)\n        INSENSITIVE (marital)")  # fmt: skip
    with pytest.raises(RequirementBreached, match="joint class(es)?|have no key in common"):
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
    assert "differs from the published one" in outcome.problems[0]
    with pytest.raises(Tampered):
        session.export("loans", "loans.json")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE ppdm.model_node SET answer = '\"good\"' WHERE node = 0",
        "UPDATE ppdm.model_node SET attribute_name = 'x' WHERE node = 0",
        "UPDATE ppdm.model_branch SET condition = 'x' WHERE node = 0",
        "UPDATE ppdm.model_value SET position = position + 1",
        "UPDATE ppdm.model_count SET class_value = '\"x\"' WHERE node = 0",
        "INSERT INTO ppdm.model_count SELECT model_id, 77, class_number, class_value, rows FROM ppdm.model_count WHERE node = 0",
    ],
)
def test_every_column_that_tells_of_the_tree_is_verified(session, engine, change):
    session.publish(statement())
    assert session.verify("loans").holds
    engine.pass_through(change)
    found = session.verify("loans")
    (told,) = found.problems
    assert told.startswith(f"the rows of {change.split()[1 if change.startswith('U') else 2]} differ from")


DAMAGE = {
    "UPDATE ppdm.model_node SET threshold = 'abc', attribute = 0 WHERE node = 0": "loans",
    "UPDATE ppdm.model SET attributes = '[]'": "loans",
    "UPDATE ppdm.model SET classes = 'no JSON'": "loans",
    **{
        f"UPDATE ppdm.release SET {column} = '{text}' WHERE relation_name = '{name}'": name
        for name in ("loans", "people")
        for column, text in [("manifest", "{}"), ("manifest", "no JSON"), ("roles", "[]"), ("requirements", "[3]")]
    },
}


@pytest.mark.duckdb
@pytest.mark.parametrize("change", DAMAGE)
def test_a_damaged_catalog_is_told_and_the_other_releases_are_verified(duckdb_engine, make_table, open_session, change):
    """What cannot be read does not hold; it can still be withdrawn, and used for nothing else."""
    engine, name = duckdb_engine, DAMAGE[change]
    make_table(engine, "mortgages", COLUMNS, MORTGAGE)
    make_table(engine, "others", COLUMNS, MORTGAGE)
    session = open_session(engine)
    session.publish(statement())
    session.publish(
        "CREATE TABLE people AS SELECT name, marital, risk FROM others WITH ANONYMIZATION (ALGORITHM mondrian "
        "REQUIRE k = 3 IDENTIFIER (name) QUASI IDENTIFIER (marital) SENSITIVE (risk))"
    )
    engine.pass_through(change)
    found = {item.relation_name: session.verify(item.name) for item in session.releases()}
    assert {one: verified.holds for one, verified in found.items()} == {
        "loans": name != "loans",
        "people": name != "people",
    }
    assert "its rows in the catalog are damaged" in found[name].problems
    with pytest.raises(Tampered):
        session.export(name, f"{name}.{'json' if name == 'loans' else 'csv'}")
    session.drop(name)
    assert [item.relation_name for item in session.releases()] == [one for one in found if one != name]


def test_drop_model_is_told_to_be_drop_release(session):
    session.publish(statement())
    with pytest.raises(
        PolicyError, match=r"1:6: there is no DROP MODEL: withdraw a published model with DROP RELEASE loans"
    ):
        session.execute("DROP MODEL loans")
    assert session.verify("loans").holds


@pytest.mark.duckdb
@pytest.mark.parametrize("algorithm", ["kadet", "ldm"])
def test_a_tree_of_one_leaf_is_told(duckdb_engine, make_table, open_session, capsys, algorithm):
    make_table(duckdb_engine, "t", {"zip": "TEXT", "cls": "TEXT"}, [("ab"[n % 2], "yn"[n // 20]) for n in range(40)])
    session = open_session(duckdb_engine)
    text = (
        f"CREATE MODEL one AS SELECT zip, cls FROM t WITH ANONYMIZATION (ALGORITHM {algorithm} REQUIRE k = 10 "
        "QUASI IDENTIFIER (zip) SENSITIVE (cls) TARGET (cls))"
    )
    assert any("the tree is a single leaf" in step for step in session.plan(text).steps)
    show.print_published(session.publish(text))
    assert "the tree is a single leaf: no split both met the policy" in capsys.readouterr().out


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
    # The file, its sums, k: marriage is asked below sports, which nobody knows, so the groups are finer.
    assert certified(tmp_path) == ["holds", "holds", "counts fit; the audit decides"]
    assert "finer" in text
    for word in ("Lisa", "mortgages"):
        assert word not in text + (tmp_path / "loans.json.audit.sql").read_text("utf-8")
    if engine.dialect == "duckdb":
        assert audited(tmp_path, MORTGAGE, COLUMNS) == [0]
        assert audited(tmp_path, MORTGAGE[1:], COLUMNS) == [1]  # one person less: two are alone together


def test_an_audit_can_be_run_again_and_beside_another(session, engine, tmp_path):
    session.publish(statement())
    for file in ("loans", "others"):
        session.export("loans", f"{file}.json")
    engine.view_of_text(Name("ppdm_source"), "SELECT marital, sports, risk FROM mortgages")
    for file in ("loans", "others", "loans"):
        (checked,) = session.execute((tmp_path / f"{file}.json.audit.sql").read_text("utf-8"))
        assert len(checked.table.rows) == 0
    engine.view_of_text(Name("ppdm_source"), "SELECT marital, sports, risk FROM mortgages WHERE name <> 'Lisa'")
    (checked,) = session.execute((tmp_path / "loans.json.audit.sql").read_text("utf-8"))
    assert len(checked.table.rows) == 1


def test_two_files_of_one_model_name_are_used_side_by_side(session, tmp_path):
    """Two sources may give their models one name: what a recipient makes of the files is named after these."""
    session.publish(statement())
    with duckdb.connect() as con:
        con.execute("CREATE TABLE loans_nodes AS SELECT 'mine' AS whose")
        for file in ("north", "south"):
            session.export("loans", f"{file}.json")
            con.execute((tmp_path / f"{file}.json.sql").read_text("utf-8"))
            assert con.execute(f"SELECT predict_{file}('M', 'Yes'), count(*) FROM {file}_nodes").fetchone() == (
                "good",
                5,
            )
        assert con.execute("FROM loans_nodes").fetchall() == [("mine",)]


@pytest.mark.duckdb
def test_a_script_and_a_prediction_agree_on_another_type_of_number(duckdb_engine, make_table, open_session, tmp_path):
    """The source has whole years, the recipient has them with a fraction: 30.5 is on the other side of 31."""
    rows = [(30 + n % 2, "no" if n % 2 else "yes") for n in range(40)]
    make_table(duckdb_engine, "t", {"age": "INTEGER", "cls": "TEXT"}, rows)
    session = open_session(duckdb_engine)
    session.publish(
        "CREATE MODEL loans AS SELECT age, cls FROM t WITH ANONYMIZATION (ALGORITHM ldm REQUIRE k = 10 "
        "QUASI IDENTIFIER (age) SENSITIVE (cls) TARGET (cls))"
    )
    session.export("loans", "loans.json")
    for declared in ("DOUBLE", "REAL", "DECIMAL(9, 4)", "BIGINT"):
        values = [30, 31] if declared == "BIGINT" else [30.0, 30.4, 30.5, 30.6, 31.0]
        values = [Decimal(str(value)) for value in values] if "(" in declared else values
        table = declared.partition("(")[0].lower()
        make_table(duckdb_engine, table, {"age": declared}, [(value,) for value in values])
        session.predict("loans", table, f"told_{table}")
        with duckdb.connect() as con:
            con.execute((tmp_path / "loans.json.sql").read_text("utf-8"))
            said = [con.execute(f"SELECT predict_loans(CAST({v} AS {declared}))").fetchone()[0] for v in values]
        told = duckdb_engine._connection.execute(f"SELECT ppdm_class FROM told_{table} ORDER BY age").fetchall()
        assert said == [row[0] for row in told]
        assert said == ["yes" if float(value) < 30.5 else "no" for value in values]


def test_every_file_of_a_model_is_named(session, tmp_path, capsys):
    session.publish(statement())
    (done,) = session.execute("EXPORT loans TO 'loans.json'")
    show.result(done)
    written = {str(file) for file in tmp_path.iterdir() if file.name.startswith("loans.json")}
    assert len(written) == 5
    assert written == {done.path, *done.companions}
    told = capsys.readouterr().out
    assert [line.split()[-1] for line in told.splitlines()[1:]] == list(done.companions)
    assert "rows" not in told  # a model has none
    assert {done.as_json()[name] for name in ("path", "manifest", "certificate", "script", "audit")} == written
    show.print_verified(session.verify("loans"))
    assert "measured when it was published" in capsys.readouterr().out


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
def test_the_counts_of_leaves_are_judged_where_everybody_can_follow(duckdb_engine, make_table, open_session, tmp_path):
    """All attributes public: a leaf is a group, and a file whose leaf were too small would not hold."""
    columns = {'o"brien': "TEXT", "n": "INTEGER", "cls": "TEXT"}
    rows = [("ab"[n % 2], n % 5, "yes" if (n % 2 and n % 5 < 3) or n % 7 == 0 else "no") for n in range(70)]
    make_table(duckdb_engine, "t", columns, rows)
    session = open_session(duckdb_engine)
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
def test_the_audit_counts_persons(duckdb_engine, make_table, open_session, tmp_path, known):
    columns = {"who": "INTEGER", "zip": "TEXT", "cls": "TEXT"}
    rows = [(n % 20, "a" if n % 20 < 10 else "b", "yes" if n % 20 < 10 else "no") for n in range(60)]
    make_table(duckdb_engine, "t", columns, rows)
    session = open_session(duckdb_engine)
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


@pytest.mark.duckdb
@pytest.mark.parametrize("class_is_sensitive", [False, True])
def test_the_audit_judges_every_sensitive_column(
    duckdb_engine, make_table, open_session, tmp_path, class_is_sensitive
):  # fmt: skip
    """Counts say of the class alone: what is required of the illness only someone with the source can check."""
    columns = {"zip": "TEXT", 'i"ll': "TEXT", "cls": "TEXT"}
    rows = [("ab"[n % 2], ["flu", "gout", "none"][n % 3], "yes" if n % 2 and n % 5 else "no") for n in range(60)]
    make_table(duckdb_engine, "t", columns, rows)
    session = open_session(duckdb_engine)
    secret = '"i""ll", cls' if class_is_sensitive else '"i""ll"'
    release = session.publish(
        f"""CREATE MODEL loans AS SELECT zip, "i""ll", cls FROM t WITH ANONYMIZATION (ALGORITHM kadet (prune = false)
        REQUIRE k = 5, confidence = 80 % QUASI IDENTIFIER (zip) SENSITIVE ({secret}) TARGET (cls))"""
    )
    judged = [(found.requirement, found.column) for found in release.findings]
    about_class = [("confidence = 80 %", "cls")] if class_is_sensitive else []
    assert judged == [("k = 5", None), ("confidence = 80 %", 'i"ll'), *about_class]
    session.export("loans", "loans.json")
    assert "BREACHED" not in certified(tmp_path)
    assert len(certified(tmp_path)) == 3 + len(about_class)  # the file, its sums, k
    assert 'The counts cannot show the requirements on i"ll' in (tmp_path / "loans.json.certificate.sql").read_text()
    assert audited(tmp_path, rows, columns) == [0] * len(judged)
    sick = [(zip_, "flu" if zip_ == "a" else ill, cls) for zip_, ill, cls in rows]
    assert (audited(tmp_path, sick, columns)[1] > 0) == (len(session.model("loans").tree.leaves) > 1)


@pytest.mark.duckdb
def test_groups_and_audit_are_the_same_in_every_time_zone(make_table, open_session, tmp_path):
    """A moment of the model is in UTC, whatever zone the connection of the caller or of the auditor is in."""
    start = datetime(2020, 5, 31, 18, tzinfo=UTC)
    columns = {"seen": "TIMESTAMPTZ", "cls": "TEXT"}
    rows = [(start + timedelta(hours=n // 4), "yes" if n < 24 else "no") for n in range(48)]
    for zone in ("UTC", "America/Los_Angeles"):
        with duckdb.connect() as con:
            con.execute(f"SET TimeZone = '{zone}'")
            engine = DuckDBEngine(con)
            make_table(engine, "t", columns, rows)
            session = open_session(engine)
            release = session.publish(
                "CREATE MODEL loans AS SELECT seen, cls FROM t WITH ANONYMIZATION (ALGORITHM kadet "
                "REQUIRE k = 24 QUASI IDENTIFIER (seen) SENSITIVE (cls) TARGET (cls))"
            )
            assert (release.classes, release.findings[0].achieved) == (2, "24")
            session.export("loans", f"{zone[:3]}.json")
            con.execute("CREATE VIEW ppdm_source AS FROM t")
            for other in ("UTC", "America/Los_Angeles"):
                con.execute(f"SET TimeZone = '{other}'")
                assert con.execute((tmp_path / f"{zone[:3]}.json.audit.sql").read_text("utf-8")).fetchall() == []
