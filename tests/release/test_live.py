"""CREATE VIEW ... LIVE: published, read, verified, exported, refreshed, dropped."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from ppdm_sql.commands import show
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import EngineError, PolicyError, PpdmError, RequirementBreached, Tampered
from ppdm_sql.release.reverify import reverify_file
from ppdm_sql.statements.names import Name
from tests.release.conftest import policy
from tests.sizes import first

NO_SPARK = pytest.mark.lacks("spark", reason="LIVE needs transactions")
COLUMNS = {"id": "INTEGER", "age": "INTEGER", "ward": "TEXT", "pay": "DECIMAL(8, 2)", "illness": "TEXT", "back": "TEXT"}
POLICY = """
CREATE OR REPLACE VIEW beds LIVE AS SELECT id, age, ward, pay, illness, back FROM people
WITH ANONYMIZATION (
    ALGORITHM tpp (numbers = shifted)
    REQUIRE {required}
    {roles} QUASI IDENTIFIER (age, ward, pay) SENSITIVE (illness) TARGET (back)
    PRESERVE (cart (min_leaf = 5, max_leaves = 4))
    ACCEPT RISK ({risks}) {more}
)
"""


def live(required="k = 5, simple_l = 1.2", risks="live, boundaries", more="", roles="IDENTIFIER (id)", **replaced):
    text = POLICY.format(required=required, risks=risks, more=more, roles=roles)
    for old, new in replaced.items():
        text = text.replace(old, new)
    return text


def people(rows: int = 120) -> list[tuple]:
    wards, ills = ["north", "south", "east", None], ["flu", "cold", "ulcer"]
    found = []
    for number in range(rows):
        age, ward = 20 + number * 7 % 40, wards[number * 13 // 7 % 4]
        back = age > 41 if ward in ("north", None) else age > 30
        found.append((number, age, ward, number % 9 * 100, ills[number % 3], "yes" if back else "no"))
    return found


@pytest.fixture
def session(engine, make_table, open_session):
    make_table(engine, "people", COLUMNS, people())
    return open_session(engine)


@pytest.fixture(scope="module")
def one_database():
    with DuckDBEngine.open(":memory:") as engine:
        yield engine


@pytest.fixture
def duck(one_database, make_table, open_session):
    """Sessions over one database, the table as it was and no release in it: the catalog is made once."""
    session = open_session(one_database)
    for release in session.releases():
        session.drop(release.name)
    one_database.drop_table(Name("people"))
    make_table(one_database, "people", COLUMNS, people())
    return session


def rows(session, release="beds"):
    return session.engine.fetch(session.release(release).query)


def run(session, text):
    session.engine.pass_through(text)


def own_relations(session):
    return [name for name in session.engine.relations("ppdm") if name.startswith(("ppdm_live_", "ppdm_link_"))]


@NO_SPARK
def test_it_shows_what_a_table_of_the_same_policy_holds(session):
    shown = session.publish(live())
    assert session.engine.relation_kind(Name("beds")) == "view"
    assert (shown.record.kind, shown.record.storage, shown.manifest["live"]) == ("VIEW", None, True)
    assert "live" in shown.manifest["residual_risks"]
    verified = session.verify("beds")
    assert (verified.holds, verified.problems, verified.notes) == (True, (), ())
    assert len(rows(session)) == 120
    assert len({row[:3] for row in rows(session)}) > 1
    stored = session.publish(live().replace("VIEW beds LIVE", "TABLE stored").replace("live, ", ""))
    assert shown.record.content_hash == stored.record.content_hash
    assert Counter(rows(session)) == Counter(rows(session, "stored"))


@NO_SPARK
def test_a_change_of_the_source_is_shown_measured_and_told_as_a_note(session, tmp_path):
    """Then exported, refreshed and dropped: at every step what is shown is what there is now."""
    session.publish(live(more="SUPERSEDES ALL"))
    before = own_relations(session)
    run(session, "DELETE FROM people WHERE id % 4 = 0")
    verified = session.verify("beds")
    assert verified.holds
    assert len(rows(session)) == verified.rows < 120
    assert verified.notes[0].startswith(
        f"its source changed: {verified.rows} rows are shown now, 120 when it was published"
    )
    assert any(note.startswith("tree 1: ") for note in verified.notes)
    assert min(Counter(row[:3] for row in rows(session)).values()) >= 5

    done = session.export("beds", tmp_path / "beds.csv")
    content = json.loads((tmp_path / "beds.csv.manifest.json").read_text("utf-8"))
    assert done.rows == content["rows"] == verified.rows
    assert "patterns" not in content
    assert all(finding["holds"] for finding in content["findings"])
    assert reverify_file(tmp_path / "beds.csv").holds

    run(session, "UPDATE people SET age = age + 100")
    assert rows(session) == []
    session.execute("REFRESH beds")
    assert len(rows(session)) == 90
    assert not set(before) & set(own_relations(session))
    assert session.verify("beds").notes == ()

    session.execute("DROP RELEASE beds")
    assert [name for name in own_relations(session) if name.startswith("ppdm_live_")] == []
    assert session.engine.relation_kind(Name("beds")) is None


def test_when_every_class_is_too_small_nothing_is_shown(duck, tmp_path):
    duck.publish(live())
    run(duck, "DELETE FROM people WHERE id >= 4")
    assert rows(duck) == []
    verified = duck.verify("beds")
    assert (verified.holds, verified.rows, verified.findings) == (True, 0, ())
    assert "0 rows are shown" in verified.notes[0]
    with pytest.raises(RequirementBreached, match="nothing was exported"):
        duck.export("beds", tmp_path / "beds.csv")
    assert not (tmp_path / "beds.csv").exists()


def test_it_can_replace_a_view_of_stored_rows_and_be_replaced_by_one(duck):
    stored = live(more="SUPERSEDES ALL").replace("VIEW beds LIVE", "VIEW beds").replace("live, ", "")
    duck.publish(stored)
    duck.publish(live(more="SUPERSEDES ALL"))
    assert [name for name in duck.engine.relations("ppdm") if name.startswith("ppdm_release_")] == []
    run(duck, "DELETE FROM people WHERE id = 3")
    assert len(rows(duck)) == 119
    duck.publish(stored)
    assert not any(name.startswith("ppdm_live_") for name in duck.engine.relations("ppdm"))
    run(duck, "DELETE FROM people WHERE id = 4")
    assert len(rows(duck)) == 119


def test_an_export_of_an_unchanged_source_keeps_its_trees(duckdb_engine, make_table, open_session, tmp_path):
    make_table(duckdb_engine, "people", COLUMNS, people())
    duck = open_session(duckdb_engine)
    duck.publish(live())
    duck.export("beds", tmp_path / "beds.duckdb")
    content = json.loads((tmp_path / "beds.duckdb.manifest.json").read_text("utf-8"))
    assert content["patterns"] == duck.release("beds").manifest["patterns"]
    assert reverify_file(tmp_path / "beds.duckdb").holds


@NO_SPARK
def test_persons_are_counted_at_query_time(session):
    """One person gets more rows: the class grows, the persons in it do not."""
    session.publish(live(roles="ENTITY (id)", required="k = 5"))
    assert session.verify("beds").holds
    kept = "SELECT min(id) FROM people GROUP BY age, ward, pay, illness, back"
    (classes,) = {len({row[:3] for row in rows(session)})}
    run(session, f"UPDATE people SET id = 7 WHERE age < 42 AND id NOT IN ({kept})")
    run(session, "UPDATE people SET id = 7 WHERE age < 42")
    left = {row[:3] for row in rows(session)}
    assert 0 < len(left) < classes
    assert session.verify("beds").holds


@pytest.mark.parametrize(
    ("required", "say"),
    [("k = 2, distinct_l = 2", 2), ("k = 2, confidence = 90 %", 2), ("k = 2, recursive_l = (4, 2)", 2)],
)
def test_every_diversity_is_kept_at_query_time(duck, required, say):
    duck.publish(live(required))
    before = {row[:3] for row in rows(duck)}
    run(duck, "UPDATE people SET illness = 'flu' WHERE ward = 'north' OR ward IS NULL")
    shown = rows(duck)
    assert 0 < len({row[:3] for row in shown}) < len(before)
    for place in {row[:3] for row in shown}:
        assert len({row[3] for row in shown if row[:3] == place}) >= say
    assert duck.verify("beds").holds


# -- refused ---------------------------------------------------------------------------------------------


def test_the_risk_must_be_accepted_and_is_one_of_live_views_alone(duck):
    with pytest.raises(RequirementBreached, match=r"shows every change.*ACCEPT RISK \(live\)"):
        duck.publish(live(risks="boundaries"))
    assert duck.releases() == []
    assert own_relations(duck) == []
    with pytest.raises(PolicyError, match=r"ACCEPT RISK \(live\): no such risk"):
        duck.publish(live().replace("VIEW beds LIVE", "TABLE beds"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (policy().replace("TABLE people_open", "VIEW people_open LIVE"), "LIVE needs ALGORITHM .*tpp, .*with mondrian"),
        (live("k = 5, t = 0.5"), "t = 0.5: a LIVE view cannot keep t"),
        (live("k = 5, entropy_l = 1.2"), "cannot decide entropy exactly"),
        (live(**{"FROM people": "FROM people LIMIT 100"}), "a LIVE view cannot use LIMIT"),
        (live(**{"FROM people": "FROM people WHERE random() < 2"}), "a LIVE view cannot use RAND"),
    ],
)
def test_what_cannot_be_kept_at_query_time_is_refused(duck, text, message):
    with pytest.raises(PolicyError, match=message):
        duck.execute(text)
    assert duck.releases() == []


def test_an_engine_without_transactions_is_told_so(duck, monkeypatch):
    monkeypatch.setattr(type(duck.engine), "has_transactions", False)
    with pytest.raises(PolicyError, match="LIVE needs transactions, which DuckDB does not have"):
        duck.publish(live())
    assert duck.releases() == []


def test_explain_writes_nothing(duck):
    (planned,) = duck.execute(f"EXPLAIN {live()}")
    assert planned.rows == 120
    assert "live" in dict(planned.risks)
    assert duck.releases() == []
    assert own_relations(duck) == []


@NO_SPARK
def test_a_failure_at_the_end_leaves_the_former_release(session, monkeypatch):
    session.publish(live(more="SUPERSEDES ALL"))
    before, held = own_relations(session), rows(session)
    monkeypatch.setattr("ppdm_sql.release.supersede.retire", _fails)
    with pytest.raises(PpdmError, match="the disk is full"):
        session.publish(live("k = 6", more="SUPERSEDES ALL"))
    assert own_relations(session) == before
    assert rows(session) == held


def _fails(*_, **__):
    raise PpdmError("the disk is full")


# -- edited afterwards -----------------------------------------------------------------------------------


@NO_SPARK
def test_an_edited_rule_is_found(session, tmp_path):
    session.publish(live())
    (rule,) = [name for name in own_relations(session) if "rule0" in name]
    run(session, f"INSERT INTO ppdm.{rule} SELECT * FROM ppdm.{rule}")
    verified = session.verify("beds")
    assert verified.problems == ("its definition or its rules differ from what was published",)
    with pytest.raises(Tampered, match="its rules differ from"):
        session.export("beds", tmp_path / "beds.csv")


def test_an_edited_view_is_found(duck):
    duck.publish(live())
    run(duck, "CREATE OR REPLACE VIEW beds AS SELECT age, ward, pay, illness, back FROM people")
    assert not duck.verify("beds").holds


def test_a_source_that_lost_a_column_makes_the_view_fail(duck):
    duck.publish(live())
    run(duck, "ALTER TABLE people DROP COLUMN pay")
    with pytest.raises(EngineError):
        rows(duck)
    verified = duck.verify("beds")
    assert not verified.holds
    assert "cannot be read" in verified.problems[0]


# -- names and values ------------------------------------------------------------------------------------


def test_a_table_of_the_user_named_like_one_of_the_catalog_is_the_users(duck):
    """Inside a view of schema ppdm a bare name would mean ppdm.run."""
    run(duck, "CREATE TABLE run AS SELECT * FROM people")
    duck.publish(live().replace("FROM people", "FROM run"))
    assert len(rows(duck)) == 120


def test_the_query_may_join_and_compute(duck):
    run(duck, "CREATE TABLE wards AS SELECT DISTINCT ward, upper(ward) AS house FROM people WHERE ward IS NOT NULL")
    query = """WITH w AS (SELECT ward, house FROM wards)
        SELECT id, age // 5 * 5 AS age, coalesce(w.house, '?') AS ward, pay, illness, back
        FROM people AS p LEFT JOIN w ON w.ward = p.ward"""
    duck.publish(live().replace("SELECT id, age, ward, pay, illness, back FROM people", query))
    assert len(rows(duck)) == 120
    assert duck.verify("beds").holds


def test_any_column_name(duck):
    """Names of our aliases and stand-ins, a word of SQL, a quote."""
    names = {"id": "quasi", "age": "r", "ward": 'o"b', "pay": "g0", "illness": "select", "back": "s"}
    text = live(roles="ENTITY (id)", required="k = 5, distinct_l = 2")
    for old, new in names.items():
        quoted = '"' + new.replace('"', '""') + '"'
        run(duck, f"ALTER TABLE people RENAME COLUMN {old} TO {quoted}")
        text = re.sub(rf"\b{old}\b", quoted.replace("\\", ""), text)
    duck.publish(text)
    assert len(rows(duck)) == 120
    assert duck.verify("beds").holds


TYPES = {
    "DOUBLE": "age / 7.0::DOUBLE",
    "DATE": "DATE '2024-01-01' + age",
    "TIMESTAMP": "TIMESTAMP '2024-01-01 10:00:00' + INTERVAL 1 HOUR * age",
    "BOOLEAN": "age > 41",
    "UUID": "('00000000-0000-0000-0000-0000000000' || CASE WHEN age > 41 THEN '10' ELSE '11' END)::UUID",
    "NULLS": "CASE WHEN age > 41 THEN NULL ELSE 'n' END",
}


@pytest.mark.parametrize("kinds", [("DOUBLE", "BOOLEAN"), ("TIMESTAMP", "UUID"), ("DATE", "NULLS")])
def test_every_type(duck, kinds):
    """Each column alone decides a tree of its own, so both are recoded."""
    one, two = (TYPES[kind] for kind in kinds)
    made = f"SELECT id, {one} AS age, {two.replace('age', '(id % 40 + 21)')} AS ward, illness, back"
    duck.engine.pass_through(f"CREATE OR REPLACE TABLE other AS {made}, id % 40 > 20 AS more FROM people")
    text = live().replace("SELECT id, age, ward, pay,", "SELECT id, age, ward, more,").replace("ward, pay)", "ward)")
    text = text.replace("FROM people", "FROM other").replace("SENSITIVE", "INSENSITIVE (more) SENSITIVE")
    text = text.replace("ACCEPT RISK (", "ACCEPT RISK (undeclared, ")
    text = text.replace("max_leaves = 4)", "max_leaves = 2), cart (target = more, min_leaf = 5, max_leaves = 2)")
    assert duck.publish(text).record.manifest.figures["recoded columns"] == 2
    assert len(rows(duck)) == 120
    assert duck.verify("beds").holds


def test_rows_do_not_come_in_the_order_of_the_source(duck):
    """Another order of the source, the same rows in the same order: the order says nothing about it."""
    duck.publish(live())
    before = rows(duck)
    run(duck, "CREATE OR REPLACE TABLE turned AS SELECT * FROM people ORDER BY id DESC")
    run(duck, "DELETE FROM people")
    run(duck, "INSERT INTO people SELECT * FROM turned ORDER BY id DESC")
    assert rows(duck) == before


def test_a_response_that_is_a_quasi_identifier_too_is_shown_only_with_the_values_it_had(duck):
    text = live().replace("QUASI IDENTIFIER (age, ward, pay)", "QUASI IDENTIFIER (age, ward, pay, back)")
    duck.publish(text)
    assert len(rows(duck)) == 120
    run(duck, "UPDATE people SET back = 'maybe' WHERE back = 'yes'")
    assert {row[4] for row in rows(duck)} == {"no"}


def test_a_column_that_no_tree_uses_needs_no_rule(duck):
    duck.publish(live())
    assert {row[2] for row in rows(duck)} == {None}
    run(duck, "UPDATE people SET pay = NULL")
    assert len(rows(duck)) == 120


def test_the_statement_of_the_claim_sheet_runs(duck):
    sheet = Path(__file__).resolve().parents[2] / "docs" / "methods" / "tpp.md"
    (statement,) = [
        one for one in re.findall(r"```sql\n(.*?)```", sheet.read_text("utf-8"), re.DOTALL) if "LIVE" in one
    ]
    made = "SELECT age, ward, illness AS diagnosis, back AS readmitted FROM people"
    run(duck, f"CREATE OR REPLACE TABLE patients AS {made}")
    (release,) = duck.execute(statement)
    assert release.rows == 120
    assert duck.verify("beds").holds


def test_what_was_measured_is_told(duck, capsys):
    """Nothing is stored of a live view: saying so would send a reader to the wrong rows."""
    duck.publish(live())
    for result in duck.execute("VERIFY beds"):
        show.result(result)
    told = capsys.readouterr().out
    assert "beds holds: 120 rows in" in told
    assert "measured on what the view shows now" in told
    assert "stored" not in told
    assert duck.verify("beds").as_json()["measured"] == "measured on what the view shows now"
    run(duck, "DROP VIEW beds")
    assert duck.verify("beds").measured == "not measured"


def test_a_recoding_has_no_trees_to_speak_of(duck, capsys):
    """VERIFY of a changed source, and the figures that SHOW prints: words as well as numbers."""
    text = """CREATE VIEW beds LIVE AS SELECT age, ward, illness FROM people WITH ANONYMIZATION (ALGORITHM incognito
        REQUIRE k = 5 QUASI IDENTIFIER (age, ward) SENSITIVE (illness) ACCEPT RISK (live))"""
    duck.publish(text)
    run(duck, "DELETE FROM people WHERE id = 0")
    assert duck.verify("beds").notes == ("its source changed: 119 rows are shown now, 120 when it was published",)
    show.release(duck.release("beds"))
    told = capsys.readouterr().out
    assert "proved optimal yes, quality loss, " in told
    assert re.search(r"figures of incognito: .*levels \(age \d, ward \d\), ", told)


@NO_SPARK
@pytest.mark.parametrize("method", first(1, ["incognito", "koptimize", "tds", "tdr"]))
def test_a_recoding_of_columns_labels_rows_that_come_later(session, method):
    """Rows get the words of the plan.  A value that was not there hides its row, unless * stands for all other values."""
    text = f"""CREATE VIEW beds LIVE AS SELECT id, age, ward, illness, back FROM people WITH ANONYMIZATION (ALGORITHM
        {method} REQUIRE k = 5, distinct_l = 2 IDENTIFIER (id) QUASI IDENTIFIER (age, ward) SENSITIVE (illness)
        TARGET (back) ACCEPT RISK (live))"""
    session.publish(text)
    before = Counter(row[:2] for row in rows(session))
    session.execute("INSERT INTO people SELECT id + 500, age, ward, pay, illness, back FROM people WHERE id < 60")
    session.execute("INSERT INTO people VALUES (999, 30, 'attic', 1, 'flu', 'yes')")
    after = Counter(row[:2] for row in rows(session))
    assert session.verify("beds").holds
    assert set(before) == set(after)
    new = method in ("tds", "tdr")  # ward is * in every row: wards do not help to find the class
    assert (sum(before.values()), sum(after.values())) == (120, 180 + new)
    assert ({ward for _, ward in before} == {"*"}) == new
    assert min(after.values()) >= 5


def test_a_later_release_is_judged_together_with_it(duck):
    duck.publish(live())
    other = """CREATE TABLE second AS SELECT id, age, pay, illness FROM people WITH ANONYMIZATION (ALGORITHM mondrian
        REQUIRE k = 5 IDENTIFIER (id) QUASI IDENTIFIER (age, pay) SENSITIVE (illness))"""
    with pytest.raises(RequirementBreached, match="together with beds has"):
        duck.publish(other)


def test_a_query_cannot_supersede_the_live_release_it_reads(duck):
    """A live view shows its table to the ledger, so that a release of the view would supersede the view itself."""
    duck.publish(live())
    duck.execute("CREATE VIEW between_them AS SELECT * FROM beds")
    text = """CREATE TABLE beds_too AS SELECT ward, illness FROM between_them WITH ANONYMIZATION (ALGORITHM mondrian
        REQUIRE k = 5 QUASI IDENTIFIER (ward) SENSITIVE (illness) SUPERSEDES ALL)"""
    with pytest.raises(PolicyError, match="which the query reads"):
        duck.publish(text)
    assert duck.verify("beds").holds
    duck.publish(text.replace("between_them", "people"))
    assert duck.engine.relation_kind(Name("beds")) is None
    assert [name for name in duck.engine.relations("ppdm") if name.startswith("ppdm_live")] == []
