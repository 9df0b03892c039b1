"""Released models under their names: handed over, in another schema, deep ones, and what is said when there is none."""

from __future__ import annotations

import duckdb
import pytest
from click.testing import CliRunner

from ppdm_sql.commands import cli
from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.models import library
from ppdm_sql.session import connect
from ppdm_sql.statements.names import Name

PEOPLE = """CREATE TABLE people AS SELECT range AS id, 20 + (range * 37) % 40 AS age, (range * 7919) % 13 AS town,
    CASE WHEN (range * 37) % 40 < 12 THEN 'a' WHEN (range * 7919) % 13 < 4 THEN 'b' WHEN range % 3 = 0 THEN 'a' ELSE 'b' END
    AS ill FROM range(400)"""


def model(name: str, known: str) -> str:
    return f"""CREATE MODEL {name} AS SELECT id, {known}, ill FROM people WITH ANONYMIZATION (ALGORITHM kadet
        REQUIRE k = 20 IDENTIFIER (id) QUASI IDENTIFIER ({known}) SENSITIVE (ill) TARGET (ill))"""


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    """A folder with a database in a file, from which one model was released."""
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("clinic.duckdb") as con:
        con.execute(PEOPLE)
    with connect("clinic.duckdb") as session:
        session.publish(model("by_age", "age"))
    return tmp_path


@pytest.mark.duckdb
@pytest.mark.parametrize("folder", [".", "handed"])
def test_a_released_model_that_was_exported_stays_in_the_ledger(clinic, folder):
    """It goes the way of every release: noted, with manifest and certificate; dropped, it still is in someone's hands."""
    (clinic / "handed").mkdir()
    done = CliRunner().invoke(
        cli, ["--db", "clinic.duckdb", "model", "export", "by_age", f"{folder}/by_age.json"], standalone_mode=False
    )
    assert done.return_value == 0, done.output
    assert (clinic / folder / "by_age.json.manifest.json").is_file()
    assert (clinic / folder / "by_age.json.certificate.sql").is_file()
    with connect("clinic.duckdb") as session:
        assert [one.exports for one in session.releases()] == [1]
        session.drop("by_age")
        with pytest.raises(RequirementBreached, match="joint class(es)?"):
            session.publish(model("by_town", "town"))


@pytest.mark.duckdb
def test_a_release_is_not_handed_over_around_the_ledger(clinic):
    with connect("clinic.duckdb") as session:
        with pytest.raises(PolicyError, match="is a release: (export|use EXPORT)"):
            library.export_text(session.engine, "by_age")
        session.execute("CREATE SCHEMA other; SET schema = 'other'")
        with pytest.raises(PolicyError, match="is a release: (export|use EXPORT)"):
            library.export_text(session.engine, "by_age")
        with pytest.raises(PolicyError, match="is a release: change it with CREATE OR REPLACE"):
            library.drop(session.engine, "by_age")
        with pytest.raises(PolicyError, match=r'is a release that was published as "main.by_age"'):
            session.publish(model("by_age", "age").replace("FROM people", "FROM main.people"))


@pytest.mark.duckdb
def test_a_name_of_our_own_is_no_models_name(clinic):
    with connect("clinic.duckdb") as session:
        session.train("mine", "SELECT age, ill FROM people", "ill")
        text, _ = library.export_text(session.engine, "mine")
        for name in ("ppdm_class", "PPDM_x"):
            with pytest.raises(PolicyError, match="reserved for ppdm_sql"):
                library.import_model(session.engine, text, name)
            with pytest.raises(PolicyError, match="reserved for ppdm_sql"):
                session.train(name, "SELECT age, ill FROM people", "ill")
        library.import_model(session.engine, text, "yours")


@pytest.mark.duckdb
def test_a_deep_model_is_published_exported_and_audited(duckdb_engine, open_session, tmp_path):
    """A question below the other, more than one statement can hold nested."""
    duckdb_engine.pass_through(
        "CREATE TABLE steps AS SELECT range AS x, CASE WHEN (range // 2) % 2 = 0 THEN 'a' ELSE 'b' END AS c FROM range(400)"
    )
    session = open_session(duckdb_engine)
    session.publish(
        "CREATE MODEL deep AS SELECT x, c FROM steps WITH ANONYMIZATION (ALGORITHM kadet (form = id3, max_depth = 140, "
        "prune = false) REQUIRE k = 2 QUASI IDENTIFIER (x) SENSITIVE (c) TARGET (c))"
    )
    depth = session.model("deep").tree.depth
    assert depth > 110
    assert session.verify("deep").holds
    found = session.audit("deep", "steps", k=2, groups=None)
    assert (found.below, len(found.groups)) == (0, found.spans)
    assert sum(group.rows for group in found.groups) == 400
    session.export("deep", "deep.json")
    duckdb_engine.view_of_text(Name("ppdm_source"), "SELECT * FROM steps")
    (checked,) = session.execute((tmp_path / "deep.json.audit.sql").read_text("utf-8"))
    assert len(checked.table.rows) == 0
    duckdb_engine.view_of_text(Name("ppdm_source"), "SELECT * FROM steps WHERE x = 0")  # one person, alone
    (checked,) = session.execute((tmp_path / "deep.json.audit.sql").read_text("utf-8"))
    assert len(checked.table.rows) == 1


# -- what is said ------------------------------------------------------------------------------------------


METHODS = pytest.mark.parametrize("method", ["kadet", "ldm", "atp"])
ILL = "CREATE MODEL m AS SELECT a, b, c FROM t WITH ANONYMIZATION (ALGORITHM {} REQUIRE {} QUASI IDENTIFIER ({}) SENSITIVE ({}) TARGET (c))"  # fmt: skip


@pytest.mark.duckdb
@METHODS
def test_an_empty_table_is_a_mistake_of_the_call(duckdb_engine, open_session, make_table, method):
    make_table(duckdb_engine, "t", {"a": "INTEGER", "b": "TEXT", "c": "TEXT"}, [])
    with pytest.raises(PolicyError, match="has no rows"):
        open_session(duckdb_engine).publish(ILL.format(method, "k = 5", "a, b", "c"))


@pytest.mark.duckdb
@pytest.mark.parametrize("method", ["ldm", "atp"])
@pytest.mark.parametrize("asked", ["k = 5", "k = 5, confidence = 90 %"])
def test_the_way_out_of_a_sensitive_attribute_is_one(duckdb_engine, open_session, make_table, method, asked):
    """Neither method takes private attributes: to declare one INSENSITIVE would be refused next."""
    rows = [
        (number % 4, f"v{number % 3}", "xy"[number // 7 % 2 if number % 4 else number % 3 > 1]) for number in range(120)
    ]
    make_table(duckdb_engine, "t", {"a": "INTEGER", "b": "TEXT", "c": "TEXT"}, rows)
    session = open_session(duckdb_engine)
    policy = ILL.format(method, asked, "a", "b, c")
    with pytest.raises(PolicyError, match="out of the SELECT, or use kadet") as refused:
        session.publish(policy)
    assert "declare them INSENSITIVE" not in str(refused.value)
    session.publish(policy.replace("SELECT a, b, c", "SELECT a, c").replace("SENSITIVE (b, c)", "SENSITIVE (c)"))


@pytest.mark.duckdb
def test_a_tree_of_one_leaf_is_told_as_such(duckdb_engine, open_session, make_table):
    rows = [(number % 4, f"v{number % 3}", "one") for number in range(120)]
    make_table(duckdb_engine, "t", {"a": "INTEGER", "b": "TEXT", "c": "TEXT"}, rows)
    session = open_session(duckdb_engine)
    with pytest.raises(RequirementBreached, match="the tree is a single leaf: .* only one class"):
        session.publish(ILL.format("atp", "k = 5", "a, b", "c"))
    session.publish(ILL.format("atp (allow_root_leaf = true)", "k = 5", "a, b", "c"))
