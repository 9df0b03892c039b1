"""A release of several tables that share the class alone: published, verified, exported, withdrawn as one."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import pytest
from sqlglot import exp

from ppdm_sql.catalog import releases
from ppdm_sql.catalog.ledger import combinations_name, link_name
from ppdm_sql.errors import PolicyError, RequirementBreached, Tampered
from ppdm_sql.release.reverify import reverify_file
from ppdm_sql.statements.names import SCHEMA, Name
from tests.oracles import naive_dmpd

COLUMNS = {"id": "INTEGER", "age": "INTEGER", "sex": "TEXT", "zip": "TEXT", "ward": "TEXT", "y": "TEXT"}
D1 = [("a", "b", "y0"), *2 * [("a", "d", "y1")], *2 * [("c", "b", "y2")], ("c", "d", "y0"), *2 * [("c", "d", "y1")],
      *2 * [("c", "d", "y2")]]  # fmt: skip

POLICY = """CREATE OR REPLACE TABLE open AS SELECT id, age, sex, zip, ward, y FROM people WITH ANONYMIZATION (
    ALGORITHM dmpd (parts = {parts}{options}) REQUIRE k = {k}{required} {person} (id)
    QUASI IDENTIFIER (age, sex, zip) TARGET (y) INSENSITIVE (ward) {more} SEED 7)"""


def policy(parts="((age, sex), (zip), (ward))", k=5, options="", required="", person="IDENTIFIER", more=""):
    return POLICY.format(parts=parts, k=k, options=options, required=required, person=person, more=more)


def people(rows=400, seed=1):
    draw = random.Random(seed)
    return [
        (number, draw.choice([20, 30, 40]), draw.choice("fm"), draw.choice(["1", "2", None]), draw.choice("UVW"),
         draw.choice(["ill", "well", "well", "dead"]))
        for number in range(rows)
    ]  # fmt: skip


@pytest.fixture
def tables(make_table):
    def filled(engine):
        make_table(engine, "people", COLUMNS, people())

    return filled


def _rows(session, table):
    return session.engine.fetch(exp.select("*").from_(Name(table).table()))


def test_every_table_is_a_projection_and_the_list_names_them(session):
    release = session.publish(policy())
    assert release.findings[0].holds
    assert sorted(_rows(session, "open")) == [
        (1, "open_1", "age", "quasi-identifier"), (1, "open_1", "sex", "quasi-identifier"), (1, "open_1", "y", "target"),
        (2, "open_2", "y", "target"), (2, "open_2", "zip", "quasi-identifier"),
        (3, "open_3", "ward", "insensitive"), (3, "open_3", "y", "target"),
    ]  # fmt: skip
    source = people()
    for table, places in (("open_1", (1, 2, 5)), ("open_2", (3, 5)), ("open_3", (4, 5))):
        assert Counter(_rows(session, table)) == Counter(tuple(row[place] for place in places) for row in source)
    found = release.record.manifest.projections
    least, joined = naive_dmpd.level(source, [(1, 2), (3,)], 5)
    assert (min(part.smallest for part in found.parts if part.smallest), found.joined_smallest) == (
        least, min(joined, least)
    )  # fmt: skip
    assert session.verify("open").holds
    assert {"parts", "class"} <= set(release.record.manifest.residual_risks)


def test_persons_are_counted_where_there_is_an_entity(session, make_table):
    rows = [(row[0] // 2, *row[1:]) for row in people(200)]
    make_table(session.engine, "pairs", COLUMNS, rows)
    text = policy(person="ENTITY").replace("FROM people", "FROM pairs")
    found = session.publish(text).record.manifest
    persons = {}
    for row in rows:
        persons.setdefault((row[1], row[2]), set()).add(row[0])
    assert found.projections.parts[0].smallest == min(len(one) for one in persons.values())
    assert session.verify("open").holds


def test_d1_is_refused_though_every_table_has_k(duck, make_table):
    make_table(duck.engine, "d", {"q1": "TEXT", "q2": "TEXT", "y": "TEXT"}, D1)
    text = """CREATE TABLE d_open AS SELECT q1, q2, y FROM d WITH ANONYMIZATION (ALGORITHM dmpd
        (parts = ((q1), (q2)), rejoin = {rejoin}) REQUIRE k = 3 QUASI IDENTIFIER (q1, q2) TARGET (y))"""
    for rejoin in ("exact", "all", "class"):
        with pytest.raises(RequirementBreached, match=r"fewer than 3|k = 3"):
            duck.publish(text.format(rejoin=rejoin))
        assert duck.engine.relation_kind(Name("d_open_1")) is None
    release = duck.publish(text.format(rejoin="none"))
    assert (
        release.record.manifest.projections.certain_rows,
        release.record.manifest.figures["certain_class_rows"],
    ) == (1, 1)


def test_a_new_release_replaces_the_tables_of_the_former_one(session):
    first = session.publish(policy())
    session.publish(policy(parts="((age, sex, ward), (zip))"))
    assert session.engine.relation_kind(Name("open_3")) is None
    assert session.engine.relation_kind(Name("open_2")) == ("table" if session.engine.has_transactions else "view")
    assert session.engine.relation_kind(combinations_name(first.record.release_id)) is None
    session.drop("open")
    names = session.engine.relations(None)
    assert not [name for name in names if name.startswith("open")]


def test_dropped_and_failed_releases_leave_no_table(session):
    session.publish(policy())
    session.execute("DROP RELEASE open")
    sensitive = policy(required=", simple_l = 3", more="SENSITIVE (ward)").replace("INSENSITIVE (ward)", "")
    with pytest.raises(RequirementBreached, match="simple_l = 3 on ward fails"):
        session.publish(sensitive)
    left = [name for name in ("open", "open_1", "open_2", "open_3") if session.engine.relation_kind(Name(name))]
    behind = [name for name in session.engine.relations(SCHEMA) if name.startswith(("ppdm_release_", "ppdm_combin"))]
    assert (left, behind) == ([], [])


@pytest.mark.spark
def test_views_are_as_before_when_one_of_them_fails(spark_engine, make_table, open_session, monkeypatch):
    make_table(spark_engine, "people", COLUMNS, people())
    session = open_session(spark_engine)
    session.publish(policy())
    before = {name: sorted(_rows(session, name), key=repr) for name in ("open_1", "open_2", "open_3")}
    create_view = spark_engine.create_view

    def fail(name, query, *, replace=False):
        if name.last == "open_2":
            raise RuntimeError
        create_view(name, query, replace=replace)

    with monkeypatch.context() as patched:
        patched.setattr(spark_engine, "create_view", fail)
        with pytest.raises(RuntimeError):
            session.publish(policy(parts="((age), (sex, ward), (zip))"))
    assert {name: sorted(_rows(session, name), key=repr) for name in before} == before
    assert session.verify("open").holds


def test_refresh_keeps_the_parts(duck):
    duck.publish(policy())
    [refreshed] = duck.execute("REFRESH open")
    assert refreshed.record.manifest.projections.written == "((age, sex), (zip), (ward))"


@pytest.mark.parametrize("table", ["open", "open_1", "open_2"])
def test_an_edited_table_is_found(session, table):
    session.publish(policy())
    value = "column_name = 'zip' WHERE column_name = 'ward'" if table == "open" else "y = 'ill' WHERE y = 'well'"
    session.engine.pass_through(f"UPDATE {table} SET {value}")
    found = session.verify("open")
    assert not found.holds
    assert "differ" in found.problems[0]


def test_edited_combinations_and_lost_tables_are_found(duck):
    release = duck.publish(policy())
    table = combinations_name(release.record.release_id)
    duck.engine.pass_through(f"UPDATE {table} SET ppdm_part_1 = 1")
    assert duck.verify("open").problems == ("the table of its combinations in schema ppdm was edited or dropped",)
    duck.engine.pass_through("DROP TABLE open_2")
    assert any("no longer exists" in one for one in duck.verify("open").problems)


@pytest.mark.parametrize("path", ["open.duckdb", "open.parquet", "open.csv"])
def test_all_tables_are_handed_over(session, tmp_path, path):
    session.publish(policy())
    done = session.export("open", path)
    found = reverify_file(tmp_path / path)
    assert found.holds, found.problems
    assert done.rows == 400
    if path != "open.duckdb":
        assert len(list((tmp_path / path).iterdir())) == 4
        (tmp_path / path / f"open_2{(tmp_path / path).suffix}").write_bytes(b"y\n")
        assert not reverify_file(tmp_path / path).holds
        with pytest.raises(PolicyError, match="new folder"):
            session.export("open", path)


def test_the_certificate_measures_every_table(duck, tmp_path):
    import duckdb

    duck.publish(policy())
    duck.export("open", "open.duckdb")
    text = (tmp_path / "open.duckdb.certificate.sql").read_text().replace("'open.duckdb'", f"'{tmp_path}/open.duckdb'")
    con = duckdb.connect()
    answers = [con.execute(one.query).fetchall() for one in duckdb.extract_statements(text)]
    assert [row[0][3] for row in answers if row and len(row[0]) == 4] == ["holds", "holds"]


def test_an_edited_release_is_not_exported(duck):
    duck.publish(policy())
    duck.engine.pass_through("DELETE FROM open_2 WHERE zip = '1'")
    with pytest.raises(Tampered, match="open_2"):
        duck.export("open", "open.duckdb")


# -- a sensitive class, sensitive columns -----------------------------------------------------------------------


def test_the_confidence_of_a_sensitive_class_is_measured_on_every_combination(session):
    text = policy(required=", confidence = 99 %", more="SENSITIVE (y)")
    release = session.publish(text)
    worst = naive_dmpd.confidence(people(), [(1, 2), (3,)], 5)
    found = {item.column: item for item in release.record.manifest.findings}
    assert found["y"].achieved == f"{float(worst):.4g}"
    assert session.verify("open").holds
    assert "class" not in release.record.manifest.residual_risks
    limit = f"{100 * float(worst) - 0.1:.2f} %"
    with pytest.raises(RequirementBreached, match="confidence"):
        session.publish(policy(required=f", confidence = {limit}", more="SENSITIVE (y)"))


def test_a_sensitive_column_is_measured_in_the_table_it_is_in(duck):
    text = policy(parts="((age, sex, ward), (zip))", required=", distinct_l = 3", more="")
    text = text.replace("INSENSITIVE (ward)", "SENSITIVE (ward)")
    duck.publish(text)
    with pytest.raises(RequirementBreached, match="simple_l"):
        duck.publish(text.replace("distinct_l = 3", "simple_l = 2.9"))


# -- other releases of the same people ------------------------------------------------------------------------------


def test_the_tables_are_not_judged_against_each_other_but_against_other_releases(duck):
    duck.publish(policy(k=20))  # three tables of the same rows, which no keys put together
    duck.export("open", "a.duckdb")
    assert duck.publish(policy(k=20)).findings[0].holds  # the same partition again
    other = policy(parts="((age), (sex, zip), (ward))", k=20).replace("TABLE open", "TABLE second")
    with pytest.raises(RequirementBreached, match="together with open"):
        duck.publish(other)
    whole = """CREATE TABLE whole AS SELECT id, age, sex, zip, y FROM people WITH ANONYMIZATION (ALGORITHM mondrian
        REQUIRE k = 20 IDENTIFIER (id) QUASI IDENTIFIER (age, sex, zip) INSENSITIVE (y))"""
    with pytest.raises(RequirementBreached, match="together with open"):
        duck.publish(whole)


def test_a_release_whose_joint_classes_are_large_may_follow(duck):
    duck.publish(policy())
    same = """CREATE TABLE ages AS SELECT id, age, sex, zip FROM people WITH ANONYMIZATION (ALGORITHM dmpd (
        parts = ((age, sex)), filter = (zip)) REQUIRE k = 5 IDENTIFIER (id) QUASI IDENTIFIER (age, sex, zip) TARGET (y))"""
    found = duck.publish(same.replace("zip FROM", "zip, y FROM"))
    assert found.record.manifest.joint[0].holds


def test_the_link_table_has_the_combinations(duck):
    release = duck.publish(policy()).record
    combinations = duck.engine.fetch_one(_count(combinations_name(release.release_id)))
    parts = duck.engine.pass_through(f"SELECT COUNT(DISTINCT ppdm_part) FROM {link_name(release.release_id)}")
    assert combinations[0] == parts.rows[0][0] == len(naive_dmpd.joined_counts(people(), [(1, 2), (3,)], 5))


def _count(table):
    return exp.select("COUNT(*)").from_(table.table())


# -- what is refused ------------------------------------------------------------------------------------------------

REFUSED = [
    ("((age, sex), (zip, age), (ward))", "", r'"age" is in parts 1 and 2'),
    ("((age, sex), (zip))", "", r'lacks "ward"'),
    ("((age, sex), (zip, y), (ward))", "", r'"y" is the TARGET'),
    ("((age, sex), (zipp), (ward))", "", r"zipp.*did you mean zip"),
    ("(age, sex)", "", "lists of columns"),
    ("()", "", "the value of an option must be"),
    ("((age, sex), (zip), (ward))", ", filter = (ward)", "in part 3 and in filter"),
    ("((age, sex), (zip), (ward))", ", generations = 1000000000", "from 1 to 10,000"),
    ("((age, sex), (zip), (ward))", ", rejoin = some", "exact, class, all or none"),
]


@pytest.mark.parametrize(("parts", "options", "message"), REFUSED)
def test_lists_that_cannot_be_are_refused_with_their_place(duck, parts, options, message):
    with pytest.raises(PolicyError, match=message) as caught:
        duck.publish(policy(parts=parts, options=options))
    assert caught.value.mistakes[0].line == 2
    assert duck.engine.relation_kind(Name("open")) is None


def test_parts_below_k_say_which_part_and_how_many_rows(duck):
    small = min(naive_dmpd.group_sizes(people(), (1, 2, 3)).values())
    with pytest.raises(RequirementBreached, match=rf"part 1 \(age, sex, zip\) has .* rows, the\s+smallest has {small}"):
        duck.publish(policy(parts="((age, sex, zip), (ward))", k=30))
    assert duck.engine.relation_kind(Name("open_1")) is None


def test_a_rare_value_is_folded_or_refused(duck, make_table):
    rows = [(*row[:3], "rare" if row[0] in (3, 4) else row[3], *row[4:]) for row in people()]
    make_table(duck.engine, "rare_people", COLUMNS, rows)
    text = policy(k=10).replace("FROM people", "FROM rare_people")
    duck.publish(text)
    values = Counter(row[0] for row in _rows(duck, "open_2"))
    assert values["other"] >= 10
    assert "rare" not in values
    with pytest.raises(RequirementBreached, match='"zip" has values that fewer than 10 have'):
        duck.publish(text.replace("(ward))", "(ward)), rare = filter"))


def test_a_foreign_table_is_never_replaced(duck):
    duck.engine.pass_through("CREATE TABLE open_2 AS SELECT 1 AS a")
    with pytest.raises(PolicyError, match="open_2"):
        duck.publish(policy())
    assert duck.engine.relation_kind(Name("open")) is None
    assert _rows(duck, "open_2") == [(1,)]


def test_columns_that_say_each_other_are_refused_in_different_parts(duck, make_table):
    city = {"1": "Ay", "2": "Bee", None: "Cee"}
    rows = [(*row[:4], city[row[3]], row[5]) for row in people()]
    make_table(duck.engine, "cities", COLUMNS, rows)
    text = policy().replace("FROM people", "FROM cities").replace("age, sex, zip)", "age, sex, zip, ward)")
    text = text.replace("INSENSITIVE (ward)", "")
    with pytest.raises(RequirementBreached, match='"zip" determines "ward".*ACCEPT RISK'):
        duck.publish(text)
    duck.publish(text.replace("(zip), (ward)", "(zip, ward)"))


def test_nothing_is_left_of_a_release_that_fails_in_the_transaction(duck, monkeypatch):
    from ppdm_sql.release.kinds.projections import ProjectedRelease

    def fail(*_: object) -> None:
        raise RequirementBreached("stopped")

    monkeypatch.setattr(ProjectedRelease, "show", fail)
    with pytest.raises(RequirementBreached, match="stopped"):
        duck.publish(policy())
    assert [duck.engine.relation_kind(Name(name)) for name in ("open", "open_1")] == [None, None]
    assert releases.list_releases(duck.engine) == []


def test_grants_are_for_every_table(postgres_engine, postgres_admin, tables, open_session):
    tables(postgres_engine)
    postgres_admin.execute("DROP ROLE IF EXISTS analyst_of_parts")
    postgres_admin.execute("CREATE ROLE analyst_of_parts")
    session = open_session(postgres_engine)
    session.publish(policy(more="GRANT SELECT TO analyst_of_parts"))
    for table in ("open", "open_1", "open_3"):
        assert "analyst_of_parts" in session.engine.grantees(Name(table))


def test_confidence_figures_are_exact():
    assert naive_dmpd.confidence(D1, [(0,), (1,)], 2) == Fraction(1)
