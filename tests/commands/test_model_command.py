"""ppdm model, from training to the exchange file: what is printed, what is refused, and with which exit code."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import stat

import duckdb
import pytest
from click.testing import CliRunner

from ppdm_sql.commands import cli
from ppdm_sql.errors import PpdmError

DB = ("--db", "clinic.duckdb")
TRAIN = (
    "model",
    "train",
    "ill",
    "--from",
    "people",
    "--target",
    "illness",
    "--inducer",
    "cart",
    "--option",
    "min_leaf=5",
)


PEOPLE = """CREATE TABLE people AS SELECT range AS id, 20 + range % 50 AS age,
    CASE WHEN range = 7 THEN 'Hermitage' ELSE 'town ' || (range % 4)::INT END AS town,
    CASE WHEN range % 50 > 30 THEN 'gout' WHEN range % 4 = 2 THEN 'flu' ELSE 'none' END AS illness FROM range(400)"""


def called(*arguments: str):
    """The command line in this process, which is quicker than a new one; errors give their exit code."""
    done = CliRunner().invoke(cli, [*DB, *arguments], standalone_mode=False, prog_name="ppdm")
    if isinstance(done.exception, PpdmError):
        return done.exception.exit_code, str(done.exception)
    if done.exception is not None:
        return 2, str(getattr(done.exception, "message", repr(done.exception)))
    return done.return_value, done.output


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """Two databases to copy: 400 people whose illness follows from age and town; the same with model ill."""
    folder = tmp_path_factory.mktemp("shelf")
    with duckdb.connect(str(folder / "clinic.duckdb")) as con:
        con.execute(PEOPLE)
    shutil.copy(folder / "clinic.duckdb", folder / "plain.duckdb")
    with contextlib.chdir(folder):
        code, said = called(*TRAIN)
    assert code == 0, said
    return folder


@pytest.fixture
def clinic(shelf, tmp_path, monkeypatch):
    """A folder with clinic.duckdb, no model in it."""
    shutil.copy(shelf / "plain.duckdb", tmp_path / "clinic.duckdb")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def trained(shelf, clinic):
    """The same with model ill."""
    shutil.copy(shelf / "clinic.duckdb", clinic / "clinic.duckdb")
    return clinic


@pytest.fixture
def run(clinic):
    return called


def asked(clinic, query):
    with duckdb.connect(str(clinic / "clinic.duckdb")) as con:
        return con.execute(query).fetchall()


def test_from_training_to_dropping(run, clinic):
    assert run("model", "list") == (0, "no models yet: ppdm model train creates one\n")
    code, said = run(*TRAIN)
    assert code == 0
    assert re.fullmatch(r"trained ill: \d+ nodes, \d+ leaves, 400 rows\n", said)
    code, text = run("model", "show", "ill")
    assert code == 0
    assert text.startswith("illness: ")
    assert "├─" in text
    assert all(line.startswith("IF ") for line in run("model", "show", "ill", "--as", "rules")[1].splitlines())
    assert run("model", "show", "ill", "--as", "svg", "--out", "ill.svg") == (0, "wrote ill.svg\n")
    assert (clinic / "ill.svg").read_text().startswith("<svg")
    assert run("model", "predict", "ill", "--from", "people", "--into", "told", "--keep", "id, age") == (
        0,
        "predicted 400 rows into told\n",
    )
    assert run("model", "drop", "ill") == (0, "dropped ill\n")
    assert run("model", "show", "ill")[0] == 2


def test_predictions_are_those_of_the_sql_that_is_shown(run, trained):
    run("model", "predict", "ill", "--from", "people", "--into", "told")
    sql = run("model", "show", "ill", "--as", "sql")[1]
    rows = asked(
        trained,
        f"SELECT count(*), count(*) FILTER ({sql} = ppdm_class), count(*) FILTER (ppdm_class = illness) FROM told",
    )
    assert rows[0][:2] == (400, 400)
    assert rows[0][2] > 350  # it has learned something
    names = [row[0] for row in asked(trained, "SELECT column_name FROM (DESCRIBE told)")]
    assert names == ["id", "age", "town", "illness", "ppdm_node", "ppdm_class", "ppdm_share"]


def test_a_model_moves_through_a_file(run, trained):
    code, said = run("model", "export", "ill", "ill.json")
    assert code == 0
    assert said.splitlines()[0].startswith("exported ill to ill.json: ")
    assert "not anonymized" in said
    assert stat.S_IMODE((trained / "ill.json").stat().st_mode) & 0o077 == 0
    assert run("model", "import", "ill.json")[0] == 2  # the name is taken
    assert run("model", "import", "ill.json", "--name", "copy")[0] == 0
    first, second = (run("model", "show", name, "--as", "json")[1] for name in ("ill", "copy"))
    assert json.loads(first)["model"] == json.loads(second)["model"]
    (model,) = [m for m in json.loads(run("model", "list", "--json")[1])["models"] if m["name"] == "copy"]
    assert model["rare"] is None
    assert asked(trained, "SELECT event FROM ppdm.model_event ORDER BY seq") == [("saved",), ("exported",), ("saved",)]


def test_rare_categories_are_named_only_when_asked_for(run, trained):
    run(
        "model",
        "train",
        "all",
        "--from",
        "people",
        "--target",
        "illness",
        "--inducer",
        "id3",
        "--option",
        "max_depth=2",
        "--raw",
    )
    assert "Hermitage" not in run("model", "show", "ill", "--as", "json")[1]
    assert "Hermitage" in run("model", "show", "all", "--as", "json")[1]
    assert "raw" in run("model", "list")[1]
    assert "this is a raw model" in run("model", "export", "all", "all.json")[1]


def test_names_are_not_overwritten(run, trained):
    assert run(*TRAIN) == (2, 'model "ill" already exists; --replace replaces it')
    assert run(*TRAIN, "--replace")[0] == 0
    run("model", "predict", "ill", "--from", "people", "--into", "told")
    assert run("model", "predict", "ill", "--from", "people", "--into", "told") == (
        2, "table told already exists; a prediction never overwrites a table",
    )  # fmt: skip
    (trained / "x.json").write_text("mine")
    assert run("model", "export", "ill", "x.json")[0] == 2
    assert run("model", "show", "ill", "--out", "x.json")[0] == 2
    assert (trained / "x.json").read_text() == "mine"


WRONG = [
        (("train", "m", "--from", "nowhere", "--target", "x"), "table nowhere does not exist"),
        (("train", "m", "--from", "people", "--target", "ilness"), 'the target column "ilness" does not exist: did you mean "illness"'),
        (("train", "m", "--from", "people; DROP TABLE people", "--target", "illness"), "expected the name of a table"),
        (("train", "m", "--from", "SELECT 1; DROP TABLE people", "--target", "illness"), "one table or one SELECT"),
        (("train", "m", "--from", "SELECT * FROM", "--target", "illness"), "the SELECT cannot be parsed"),
        (("train", "m", "--from", "SELECT * FROM 'x.csv'", "--target", "illness"), "add --allow DIR"),
        (("train", "m", "--from", "people", "--target", "illness", "--inducer", "forest"), "unknown learner"),
        (("train", "m", "--from", "people", "--target", "illness", "--option", "min_leaf"), "NAME=VALUE"),
        (("train", "m", "--from", "people", "--target", "illness", "--option", "leaf=3"), "has no option"),
        (("train", "m", "--from", "people", "--target", "illness", "--raw", "--rare", "3"), "cannot be combined with --rare"),
        (("train", "m", "--from", "people", "--target", "illness", "--rare", "3", "--option", "rare=4"), "given twice"),
        (("train", " ", "--from", "people", "--target", "illness"), "printable characters"),
        (("train", "m", "--from", "SELECT id AS ppdm_id, illness FROM people", "--target", "illness"), "prefix ppdm_"),
        (("show", "il"), 'no model "il" in this database: did you mean "ill"'),
        (("drop", "other"), 'no model "other"'),
        (("predict", "ill", "--from", "people", "--into", "ppdm_x"), "reserved for ppdm_sql"),
        (("predict", "ill", "--from", "people", "--into", "ppdm.x"), "reserved for ppdm_sql"),
        (("predict", "ill", "--from", "people", "--into", "a, b"), "expected the name of a table"),
        (("predict", "ill", "--from", "people", "--into", "t", "--keep", "salary"), 'no column "salary" to keep'),
        (("predict", "ill", "--from", "SELECT id FROM people", "--into", "t"), "which the model needs"),
        (("import", "broken.json"), "not JSON"),
        (("import", "nameless.json"), "give it a name with --name"),
        (("import", "rules.json", "--name", "r"), 'the rule list: has no "format"'),
    ]  # fmt: skip


def test_what_is_wrong_is_told_in_one_sentence(run, trained):
    (trained / "broken.json").write_text("{")
    (trained / "rules.json").write_text('{"format": "ppdm-model", "version": 1, "kind": "rules", "model": {}}')
    told = json.loads(run("model", "show", "ill", "--as", "json")[1])
    del told["name"]
    (trained / "nameless.json").write_text(json.dumps(told))
    for arguments, message in WRONG:
        code, said = run("model", *arguments)
        assert code == 2, said
        assert any(part in said for part in message.split("|")), said
        assert "\n" not in said.strip()
    assert asked(trained, "SELECT count(*) FROM people") == [(400,)]
    assert [model["name"] for model in json.loads(run("model", "list", "--json")[1])["models"]] == ["ill"]


def test_json_is_all_there_is_on_stdout(ppdm, clinic):
    """In a process of its own: stdout is a document, the warning is elsewhere."""
    done = ppdm(*DB, *TRAIN, "--raw", "--json", "--show-sql")
    assert done.code == 0, done.err
    assert done.json["model"] == "ill"
    assert done.json["rare"] == 1
    assert "CREATE" in done.err


def test_a_select_can_be_learned_from_and_looked_at(run, clinic):
    code, _ = run(
        "model",
        "train",
        "old",
        "--from",
        "SELECT age, illness FROM people WHERE age > 40 LIMIT 200;",
        "--target",
        "ILLNESS",
        "--json",
    )
    assert code == 0
    assert (
        run("model", "predict", "old", "--from", "SELECT id, age FROM people", "--into", "main.told", "--json")[0] == 0
    )
    assert asked(clinic, "SELECT count(*), count(DISTINCT id) FROM told") == [(400, 400)]


def test_a_big_tree_goes_the_other_way_and_tells_the_same(run, trained, monkeypatch):
    run("model", "predict", "ill", "--from", "people", "--into", "one")
    monkeypatch.setattr("ppdm_sql.trees.predict.SMALL_TREE", 1)
    run("model", "predict", "ill", "--from", "people", "--into", "other")
    assert asked(trained, "SELECT count(*) FROM (FROM one EXCEPT FROM other)") == [(0,)]
    assert asked(trained, "SELECT count(*) FROM other") == [(400,)]


def test_a_database_that_cannot_be_written_can_be_read(run, trained):
    code, said = run("--read-only", "model", "show", "ill")
    assert code == 0, said
    assert run("--read-only", "model", "train", "m", "--from", "people", "--target", "illness")[0] == 3
    assert run("--read-only", "model", "export", "ill", "x.json")[0] == 0


def test_every_command_has_an_example():
    for name in ("train", "show", "predict", "export", "import", "list", "drop"):
        assert "$ ppdm --db" in called("model", name, "--help")[1], name


def test_audit_tells_whom_the_model_would_single_out(trained):
    """A leaf per age band and town: the hermit's town is not named, and goes with the rest of his band."""
    code, said = called("model", "audit", "ill", "--from", "people", "--k", "2")
    assert code == 0, said
    assert re.search(r"ill: 400 rows in \d+ groups; the smallest has k = \d+", said)
    code, said = called("model", "audit", "ill", "--from", "people", "--k", "400", "--json")
    found = json.loads(said)
    assert code == 1
    assert found["rows"] == found["rows_below"] == 400
    assert found["k"] < 400
    code, said = called("model", "audit", "ill", "--from", "people", "--public", "town", "--k", "400", "--json")
    assert json.loads(said)["k"] >= found["k"]
    assert called("model", "audit", "ill", "--from", "people", "--public", "shoe")[0] == 2


def test_audit_lists_the_groups_the_smallest_first(run, trained):
    run("model", "train", "old", "--from", "SELECT age, town, illness FROM people", "--target", "illness")
    asked_for = ("model", "audit", "old", "--from", "people", "--public", "age,id", "--k", "9")
    code, said = called(*asked_for, "--json")
    assert code == 0, said
    told = json.loads(said)
    assert told["not_asked"] == ["id"]
    assert len(told["groups"]) == told["spans"] > 1
    assert sum(group["rows"] for group in told["groups"]) == 400
    for group in told["groups"]:
        assert group["rows"] == sum(one["rows"] for one in group["classes"]) + group["rows_of_other_classes"]
        assert all("age" in condition for condition in group["conditions"])
    code, said = called(*asked_for)
    assert 'column "id": the model does not use it' in said
    assert re.search(r"group +rows +classes +surest +entropy", said)
    smallest = told["groups"][0]
    assert re.search(rf"^{re.escape(' and '.join(smallest['conditions']))} +{smallest['rows']} ", said, re.MULTILINE)


def test_audit_lists_as_many_groups_as_are_wanted(trained):
    def listed(*more: str) -> tuple[int, str]:
        code, said = called("model", "audit", "ill", "--from", "people", "--entity", "ID", *more)
        assert code == 0, said
        return len(re.findall(r"\d %|100 %", said.partition("persons")[2])), said

    spans = json.loads(listed("--json")[1])["spans"]
    assert spans > 2
    number, said = listed("--groups", "2")
    assert number == 2
    assert f"the 2 smallest of {spans} groups (--groups all lists all)" in said
    assert listed("--groups", "ALL")[0] == spans
    assert listed("--groups", "0")[0] == 0
    assert called("model", "audit", "ill", "--from", "people", "--groups", "some")[0] == 2


def test_audit_of_several_models_takes_them_together(run, trained):
    for name in ("age", "town"):
        rows = f"SELECT {name}, illness FROM people WHERE id <> 7"
        assert run("model", "train", name, "--from", rows, "--target", "illness")[0] == 0
    people = ("--from", "SELECT * FROM people WHERE id <> 7")
    alone = [json.loads(called("model", "audit", name, *people, "--json")[1]) for name in ("age", "town")]
    together = json.loads(called("model", "audit", "age", "town", *people, "--json")[1])
    assert together["models"] == ["age", "town"]
    assert together["spans"] > max(one["spans"] for one in alone)
    assert together["k"] < min(one["k"] for one in alone)
    assert "age and town: 399 rows in" in called("model", "audit", "age", "town", *people)[1]


def test_a_model_can_be_used_from_any_client(trained):
    code, said = called("model", "install", "ill")
    assert code == 0, said
    assert "installed predict_ill(age, town)" in said
    assert called("model", "install", "ill", "--view", "told", "--from", "people", "--keep", "id")[0] == 0
    assert called("model", "install", "ill", "--view", "people", "--from", "people", "--replace")[0] == 2
    assert called("model", "install", "ill", "--view", "told", "--from", "people")[0] == 2  # it is there
    assert called("model", "install", "ill", "--view", "told")[0] == 2
    assert called("model", "install", "ill", "--replace")[0] == 0
    with duckdb.connect("clinic.duckdb", read_only=True) as con:
        by_macro = dict(con.execute("SELECT id, predict_ill(age, town) FROM people").fetchall())
        by_view = dict(con.execute("SELECT id, ppdm_class FROM told").fetchall())
    assert by_macro == by_view
    assert len(by_view) == 400


def test_a_tree_without_a_question_says_so(trained):
    code, said = called(
        "model", "train", "flat", "--from", "SELECT 1 AS one, illness FROM people", "--target", "illness"
    )
    assert code == 0, said
    assert "trained flat: 1 node, 1 leaf, 400 rows" in said
    assert "prune=false" in said


ODD = """CREATE TABLE odd AS SELECT age AS "a,ge", town AS "to""wn", illness FROM people"""


def test_columns_with_commas_and_quotes_are_named_in_double_quotes(shelf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(shelf / "plain.duckdb", "clinic.duckdb")
    with duckdb.connect("clinic.duckdb") as con:
        con.execute(ODD)
    assert called("model", "train", "odd_one", "--from", "odd", "--target", "illness")[0] == 0
    code, said = called("model", "audit", "odd_one", "--from", "odd", "--public", '"a,ge", "to""wn"')
    assert (code, "400 rows in" in said) == (0, True), said
    for command in (("predict", "--into", "told"), ("install", "--view", "shown")):
        word, *where = command
        code, said = called("model", word, "odd_one", "--from", "odd", *where, "--keep", '"a,ge",illness,"to""wn"')
        assert code == 0, said
        with duckdb.connect("clinic.duckdb") as con:
            assert con.execute(f'SELECT count("a,ge"), count("to""wn") FROM {where[1]}').fetchone() == (400, 400)
    code, said = called("model", "audit", "odd_one", "--from", "odd", "--public", '"a,ge')
    assert (code, "double quotes" in said) == (2, True)


def test_messages_name_no_working_tables(shelf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(shelf / "clinic.duckdb", "clinic.duckdb")
    for query in ("SELECT age, town, illness FROM people", "SELECT age, town, illness FROM people LIMIT 5"):
        for more in (("--public", "q"), ("--entity", "q")):
            code, said = called("model", "audit", "ill", "--from", query, *more)
            assert (code, "ppdm_model" in said) == (2, False), said
            assert 'the selected rows have no column "q"' in said
        code, said = called("model", "predict", "ill", "--from", query, "--into", "told", "--keep", "q")
        assert (code, said) == (2, 'the selected rows have no column "q" to keep')
        code, said = called("model", "audit", "ill", "--from", query.replace("age, ", ""))
        assert (code, said) == (2, 'the selected rows have no column "age", which the model needs')
