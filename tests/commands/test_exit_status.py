"""The exit status says the truth: a file with a mistake runs nothing, and what ran before a failure is listed.

Each case is (policy text, exit code, place, words of the message); CLINIC has rows whose values must not be printed.
"""

from __future__ import annotations

import json

import duckdb
import pytest

from ppdm_sql.commands.group import run

CLINIC = """
CREATE TABLE patients AS SELECT range::INT AS id, (20 + range % 50)::INT AS age, 'Z' || range % 7 AS zip,
    ['flu', 'cold', 'ulcer'][range % 3 + 1] AS diagnosis, 'John Smith ' || range AS name FROM range(400);
CREATE TABLE wards AS SELECT 'Z' || range AS zip, 'north' AS part, '*' AS top FROM range(3);
CREATE TYPE kind AS ENUM ('flu', 'cold', 'ulcer');
CREATE VIEW untidy AS SELECT age, CAST(name AS INTEGER) AS zip, diagnosis FROM patients;
"""
VALUES = ("John Smith", "Z1", "Z6", "ulcer")  # of CLINIC


def publish(name: str, *, query: str = "SELECT age, zip, diagnosis FROM patients", **clauses: str) -> str:
    given = {
        "algorithm": "mondrian",
        "quasi": "age, zip",
        "more": "",
        "kind": "TABLE",
        "role": "SENSITIVE (diagnosis)",
    } | clauses
    return (
        f"CREATE {given['kind']} {name} AS {query} WITH ANONYMIZATION (\n"
        f"ALGORITHM {given['algorithm']}\n"
        f"REQUIRE k = 5\nQUASI IDENTIFIER ({given['quasi']})\n{given['role']} {given['more']});\n"
    )


FIRST = publish("one")  # lines 1 to 5
KACTUS = {"role": "TARGET (diagnosis)"}
MODEL = publish("tree", kind="MODEL", algorithm="kadet", role="TARGET (diagnosis)", more="ACCEPT RISK (rows)")


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("clinic.duckdb") as con:
        con.execute(CLINIC)
    return tmp_path


@pytest.fixture
def call(clinic, capsys):
    def called(text: str, *options: str, command: str = "run", before: tuple[str, ...] = (), published=False):
        (clinic / "p.sql").write_text(text)
        code = run([*before, "--db", "clinic.duckdb", command, *options, "p.sql"])
        done = capsys.readouterr()
        for value in VALUES if not before and not published else ():
            assert value not in done.out + done.err
        for raw in ("Binder", "Parser Error", "Catalog Error", "Exception"):
            assert raw not in done.out + done.err
        return code, done.out, done.err

    return called


def relations(folder) -> set[str]:
    with duckdb.connect(str(folder / "clinic.duckdb")) as con:
        found = con.sql("SELECT schema_name || '.' || table_name FROM duckdb_tables()").fetchall()
    return {name for (name,) in found}


# -- a mistake anywhere runs nothing ----------------------------------------------------------------------

AHEAD = [
    # options of every method, at the option
    (publish("two", algorithm="mondrian (max_prats = 3)"), "7:21", "no option max_prats: did you mean max_parts?"),
    (publish("two", algorithm="mondrian (max_parts = 0)"), "7:21", "max_parts of ALGORITHM mondrian must be a whole"),
    (publish("two", algorithm="mondrian (ranges = wide)"), "7:21", "ranges of ALGORITHM mondrian"),
    (publish("two", algorithm="kactus (min_leaf = 0)", **KACTUS), "7:19", "min_leaf of ALGORITHM kactus"),
    (publish("two", algorithm="kactus2 (prune = 3)", **KACTUS), "7:20", "prune of ALGORITHM kactus2 must be true or"),
    (publish("two", algorithm="tpp (max_leaves = x)", **KACTUS), "7:16", "max_leaves of ALGORITHM tpp"),
    (publish("two", algorithm="tpp", role="TARGET (diagnosis) PRESERVE (cart (depth = 3))"), "10:36", "no option depth"),
    (publish("two", algorithm="tpp", role="TARGET (diagnosis) PRESERVE (cartt)"), "10:30", "there is no model cartt"),
    (publish("two", algorithm="kadet (borders = far)", **KACTUS), "7:18", "borders of ALGORITHM kadet must be pinned or values"),
    (publish("two", kind="MODEL", algorithm="ldm (form = c4)", **KACTUS), "7:16", "form of ALGORITHM ldm must be id3"),
    (publish("two", kind="MODEL", algorithm="atp (cuts = (agee, 30))", **KACTUS), "7:16", 'column "agee" does not exist'),
    # columns, tables, types
    (publish("two", query="SELECT agee, zip, diagnosis FROM patients"), "6:28", 'column "agee" does not exist: did you mean "age"?'),
    (publish("two", query="SELECT age,\n zip, diagnosis FROM patient"), "7:22", "no table patient: did you mean patients?"),
    (publish("two", query="SELECT age, zip, diagnosis FROM patients WHERE agee > 3"), "6:68", 'column "agee" does not exist'),
    (publish("two", query="SELECT p.zipp AS zip, age, diagnosis FROM patients p"), "6:28", 'no column "zipp"'),
    (publish("two", query="SELECT foo(age) AS age, zip, diagnosis FROM patients"), "6:28", "foo"),
    (publish("two", quasi="age, zipp"), "9:24", 'no column "zipp": did you mean "zip"?'),
    (publish("two", query="SELECT [age] AS age, zip, diagnosis FROM patients"), "6:1", "cannot be published"),
    (publish("two", query="SELECT age, zip, diagnosis, name FROM patients"), "6:1", 'column "name" has no role'),
    # hierarchies
    (publish("two", quasi="age, zip HIERARCHY 'no.csv'"), "9:24", "the file does not exist"),
    (publish("two", quasi="age, zip HIERARCHY wardss"), "9:24", "the table does not exist"),
    (publish("two", quasi="age, zip HIERARCHY wards"), "9:24", "hierarchy wards"),  # four values have no leaf
    (publish("two", quasi="age, zip HIERARCHY INTERVALS (5, 10)"), "9:24", "HIERARCHY INTERVALS"),
    # names
    (FIRST, "6:1", 'the statement at 1:1 publishes "one" already'),
    (publish("one", kind="OR REPLACE MODEL", algorithm="kadet", **KACTUS), "6:1", "another kind of release"),
    (publish("patients"), "6:1", "is not a release"),
    ("REFRESH onee;", "6:1", 'there is no release "onee" in this database: did you mean one?'),
    ("VERIFY two;", "6:1", 'there is no release "two"'),
    ("DROP RELEASE two;", "6:1", 'there is no release "two"'),
    ("EXPORT two TO 'two.csv';", "6:1", 'there is no release "two"'),
    ("DROP RELEASE one;\nVERIFY one;", "7:1", 'the statement at 6:1 drops "one" before'),
    # exports
    ("EXPORT one TO '../one.csv';", "6:15", "must be in the output folder"),
    ("EXPORT one TO 'no/one.csv';", "6:15", "there is no folder no"),
    ("EXPORT one TO 'one.xls';", "6:15", "unknown file type: use .duckdb, .parquet or .csv"),
    ("EXPORT one TO 'p.sql' WITH (format = csv);", "6:15", "already exists and is not an export of this release"),
    ("EXPORT one TO 'one.csv' WITH (fromat = csv);", "6:31", "EXPORT has no option fromat: did you mean format?"),
    (MODEL + "EXPORT tree TO 'tree.csv';", "11:16", "a model as a .json file"),
    (MODEL + "EXPORT one TO 'x.csv'; EXPORT tree TO 'y.json' WITH (format = csv);", "11:54", "EXPORT of a model has no option format"),
    # pseudo-data
    ("CREATE TABLE p AS PSEUDO DATA FROM MODEL tree;", "6:1", 'there is no released model "tree"'),
    (MODEL + "CREATE TABLE p AS PSEUDO DATA FROM MODEL tree WITH (rows = 0);", "11:53", "rows of PSEUDO DATA"),
    (MODEL + "CREATE TABLE p AS PSEUDO DATA FROM MODEL tree WITH (domains = 3);", "11:53", "domains"),
    # ordinary SQL
    ("SELECT agee\nFROM patients;", "6:8", 'column "agee" does not exist: did you mean "age"?'),
    ("SELECT age\nFROM patient;", "7:6", "table patient does not exist: did you mean patients?"),
    ("SELECT age FORM patients WHERE;", "6:17", "syntax error near patients"),
    ("CREATE TABEL x (a INT);", "6:8", "syntax error near TABEL"),
    ("INSERT INTO wards (zipp) VALUES ('a');", "6", 'column "zipp" does not exist: did you mean "zip"?'),
    ("EXPLAIN " + publish("two", algorithm="mondrian (max_prats = 3)"), "7:21", "no option max_prats"),
]  # fmt: skip


@pytest.mark.parametrize(("second", "place", "words"), AHEAD, ids=[str(number) for number in range(len(AHEAD))])
def test_a_mistake_in_a_later_statement_runs_nothing(call, clinic, second, place, words):
    before = relations(clinic)
    code, out, err = call(FIRST + second)
    assert (code, out) == (2, "")
    assert f"p.sql:{place}" in err, err
    assert words in err, err
    assert relations(clinic) == before  # no release, and no catalog either


def test_mistakes_of_all_statements_are_listed_together(call):
    bad = [publish("two", algorithm="mondrian (max_prats = 3)"), "REFRESH nothing;\n", "SELECT agee FROM patients;"]
    code, _, err = call(FIRST + "".join(bad))
    assert code == 2
    assert [line.removeprefix("ppdm: ").split(": ")[0] for line in err.splitlines()] == [
        "p.sql:7:21", "p.sql:11:1", "p.sql:12:8",
    ]  # fmt: skip


def test_the_name_of_an_unknown_option_is_escaped(call):
    _, _, err = call(publish("two", algorithm="mondrian (max\u202eparts = 3)"))
    assert "has no option max\\u202eparts" in err


def test_json_of_a_refused_file_lists_no_result(call):
    code, out, _ = call(FIRST + "REFRESH two;", "--json")
    told = json.loads(out)
    assert (code, told["exit_code"], told["results"], told["holds"]) == (2, 2, [], False)


# -- what depends on an earlier statement waits -----------------------------------------------------------

DEPENDENT = [
    "CREATE TABLE fresh AS SELECT age, zip, diagnosis FROM patients;\n"
    + publish("two", query="SELECT age, zip, diagnosis FROM fresh"),
    "ALTER TABLE patients RENAME COLUMN age TO years;\n"
    + publish("two", query="SELECT years, zip, diagnosis FROM patients", quasi="years, zip"),
    "ALTER TABLE patients ADD COLUMN extra INT;\nSELECT extra FROM patients LIMIT 0;\n",
    "INSERT INTO wards SELECT DISTINCT zip, 'south', '*' FROM patients WHERE zip >= 'Z3';\n"
    + publish("two", quasi="age, zip HIERARCHY wards"),
    publish("two") + "SELECT COUNT(*) FROM two;\nVERIFY two;\nEXPORT two TO 'two.csv';\nREFRESH two;\n"
    "DROP RELEASE two;\n" + publish("two"),
    MODEL + "CREATE TABLE p AS PSEUDO DATA FROM MODEL tree WITH (rows = 20);\nEXPORT tree TO 'tree.json';\n",
    "CREATE MACRO twice(x) AS x * 2;\n"
    + publish("two", query="SELECT twice(age) AS age, zip, diagnosis FROM patients"),
]


@pytest.mark.parametrize("text", DEPENDENT, ids=[str(number) for number in range(len(DEPENDENT))])
def test_a_file_that_builds_on_its_own_statements_runs(call, text):
    code, _, err = call(text)
    assert (code, err) == (0, "")


def test_a_release_can_be_exported_again_by_the_same_file(call):
    text = publish("one").replace("CREATE TABLE", "CREATE OR REPLACE TABLE") + "EXPORT one TO 'one.csv';"
    assert [call(text)[0], call(text)[0]] == [0, 0]


# -- a later statement fails while it runs ----------------------------------------------------------------

FAILING = [
    ("CREATE TABLE u AS SELECT CAST(name AS INTEGER) AS n FROM patients;", 3, "6:26", "CAST(name AS INTEGER): a value"),
    ("CREATE TABLE u (id INT PRIMARY KEY);\nINSERT INTO u SELECT 4711 FROM patients;", 3, "7:1", "u (PRIMARY KEY(id)): a"),
    ("CREATE TABLE u (id INT UNIQUE, age INT CHECK (age < 0));\nINSERT INTO u SELECT 1, 4711 FROM patients;", 3, "7:1",
     "u (CHECK((age < 0))): a"),
    ("CREATE TABLE u (n INT NOT NULL);\nINSERT INTO u SELECT NULL FROM patients;", 3, "7:1", "u.n: a constraint"),
    (publish("two", query="SELECT age, CAST(name AS INTEGER) AS zip, diagnosis FROM patients"), 3, "6:38",
     'column "zip" = CAST(name AS INT): a value cannot be converted'),
    (publish("two", query="SELECT age, zip, diagnosis FROM patients WHERE CAST(name AS INT) > 3"), 3, "6:21",
     "a condition of the query"),
    (publish("two", query="SELECT age, zip, diagnosis FROM untidy"), 3, "6:33", 'column "zip" = zip: a value'),
    (publish("two", query="SELECT age, zip, diagnosis FROM patients LIMIT 3"), 1, "", "k"),
]  # fmt: skip


@pytest.mark.parametrize(("second", "exit_code", "place", "words"), FAILING, ids=map(str, range(len(FAILING))))
def test_what_ran_before_a_failure_is_listed(call, clinic, second, exit_code, place, words):
    text = FIRST + second
    code, out, err = call(text)
    assert code == exit_code
    assert "published one" in out
    assert words in err
    assert not place or f"p.sql:{place}: " in err
    assert "4711" not in err
    assert "ppdm: earlier statements of this run remain in effect: published one" in err
    assert "main.one" in relations(clinic)


@pytest.mark.parametrize(("second", "exit_code"), [(case[0], case[1]) for case in FAILING[::3]])
def test_json_lists_what_ran_before_a_failure(call, second, exit_code):
    code, out, _ = call(FIRST + "EXPORT one TO 'one.csv';\n" + second, "--json")
    told = json.loads(out)
    assert code == told["exit_code"] == exit_code
    assert [one["statement"] for one in told["results"][:2]] == ["publish", "export"]
    assert told["results"][0]["release"] == "one"
    assert told["results"][1]["path"].endswith("one.csv")
    assert told["error"]
    assert told["holds"] is False


def test_values_are_shown_when_they_are_asked_for(call):
    text = "CREATE TABLE u AS SELECT CAST(name AS INTEGER) AS n FROM patients;"
    assert "John Smith" not in call(text)[2]
    assert "John Smith" in call(text, before=("--show-values",))[2]
    text = publish("two", query="SELECT age, CAST(name AS INTEGER) AS zip, diagnosis FROM patients")
    assert "John Smith" in call(text, before=("--show-values",))[2]


def test_an_interrupt_does_not_claim_that_nothing_was_published(call, monkeypatch):
    from ppdm_sql.session import Session

    def interrupted(self, name):
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, "verify", interrupted)
    code, _, err = call(FIRST + "VERIFY one;")
    assert (code, err) == (3, "ppdm: stopped\nppdm: earlier statements of this run remain in effect: published one\n")


# -- drift ------------------------------------------------------------------------------------------------


def test_a_column_that_a_former_release_knew_is_drift(call, clinic):
    assert call(FIRST)[0] == 0
    with duckdb.connect(str(clinic / "clinic.duckdb")) as con:
        con.execute("ALTER TABLE patients RENAME COLUMN zip TO zipcode")
    for text in ("REFRESH one;", FIRST.replace("CREATE", "CREATE OR REPLACE").replace("k = 5", "k = 6")):
        code, _, err = call(text)
        assert code == 1
        assert "one changed since it was published" in err
        assert 'column "zip" does not exist' in err


def test_columns_that_pivot_makes_out_of_data_are_not_suggested(call):
    query = "FROM (PIVOT (SELECT age, diagnosis, id FROM patients) ON diagnosis IN KIND USING COUNT(id) GROUP BY age)"
    _, _, err = call(publish("two", query=query, quasi="age", role="SENSITIVE (ulce)"))
    assert 'column "ulce" does not exist' in err
    assert "did you mean" not in err


# -- SUPERSEDES -------------------------------------------------------------------------------------------


def test_supersedes_is_listed_beforehand_and_afterwards(call, clinic):
    assert call(FIRST)[0] == 0
    text = publish("two", more="SUPERSEDES ALL")
    assert "SUPERSEDES would withdraw: one" in call(text, "--rows", "0", command="plan")[1]
    assert json.loads(call(text, "--rows", "0", "--json", command="plan")[1])["plans"][0]["withdraws"] == ["one"]
    # EXPLAIN shows rows as they would be published, with what is published unchanged.
    assert "SUPERSEDES would withdraw: one" in call("EXPLAIN " + text, published=True)[1]
    explained = json.loads(call("EXPLAIN " + text, "--json", published=True)[1])
    assert explained["results"][0]["withdraws"] == ["one"]
    assert "main.one" in relations(clinic)
    assert json.loads(call(text, "--json")[1])["results"][0]["withdrawn"] == ["one"]
    assert "main.one" not in relations(clinic)
    assert json.loads(call(publish("one", more="ACCEPT RISK (joint)"), "--json")[1])["results"][0]["withdrawn"] == []
    assert json.loads(call("EXPLAIN REFRESH two;", "--json")[1])["results"][0]["withdraws"] == ["one"]
