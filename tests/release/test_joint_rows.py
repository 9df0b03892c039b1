"""Releases that are one person, one row or one value apart: the difference is that person."""

from __future__ import annotations

import random
from collections import defaultdict
from types import SimpleNamespace

import pytest
from sqlglot import exp

import ppdm_sql
from ppdm_sql.catalog import migrate, releases
from ppdm_sql.catalog.ledger import link_name
from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.planning import joint, people
from ppdm_sql.planning.staging import STAGE
from ppdm_sql.statements.names import Name, column
from tests.records import ONE_TABLE, roles_record

COLUMNS = {"pid": "INTEGER", "visit": "INTEGER", "x": "INTEGER", "y": "INTEGER", "name": "TEXT", "ill": "TEXT"}
ALONE = "joint class(es)? of fewer than 10"


def table(name: str, quasi: str = "x", role: str = "", *, of: str = "stays", k: int = 10, more: str = "") -> str:
    """A release of a table; role is IDENTIFIER (pid) and the like, whose column is selected."""
    told = f"{role.split('(')[1].rstrip(')')}, " if role else ""
    names = ", ".join(word.split(" AS ")[-1] for word in quasi.split(", "))
    return f"""CREATE OR REPLACE TABLE {name} AS SELECT {told}{quasi}, ill FROM {of} WITH ANONYMIZATION (
        ALGORITHM mondrian REQUIRE k = {k} {role} QUASI IDENTIFIER ({names}) SENSITIVE (ill) {more} SEED 7)"""


def stays(people: int = 100, visits: int = 1) -> list[tuple]:
    return [
        (pid, visit, pid % 2, pid // 2 % 2, f"n{pid % 5}", "flu" if (pid + visit) % 3 else "cold")
        for pid in range(people)
        for visit in range(visits)
    ]


@pytest.fixture
def opened(make_table, open_session):
    def with_rows(engine, rows, name="stays"):
        make_table(engine, name, COLUMNS, rows)
        return open_session(engine)

    return with_rows


# -- one person, one row ----------------------------------------------------------------------------------


def test_without_a_key_one_row_more_is_told_by_the_difference(engine, opened):
    session = opened(engine, stays())
    session.publish(table("open"))
    session.export("open", "open.csv")
    session.execute("INSERT INTO stays VALUES (1000, 0, 1, 1, 'n', 'flu')")
    with pytest.raises(RequirementBreached, match=f"1 {ALONE} .1 row"):
        session.execute("REFRESH open")


def test_without_a_key_one_row_less_is_told_by_the_difference(engine, opened):
    session = opened(engine, stays())
    session.publish(table("open"))
    with pytest.raises(RequirementBreached, match=f"1 {ALONE} .1 row"):
        session.publish(table("too", of="stays WHERE pid <> 7"))
    session.publish(table("too", of="stays WHERE pid >= 40"))  # twenty of either class
    session.publish(table("open"))


@pytest.mark.parametrize("quasi", ["x", "x, y"])
def test_a_person_with_more_rows_in_one_release_is_in_the_difference(engine, opened, quasi):
    """All others have their first visit in class 1; of person 1 both visits are in class 0."""
    rows = [
        (pid, visit, x, 0, "n", "flu" if x == (pid % 5 == 0) else "cold")
        for pid in range(60)
        for visit, x in enumerate((int(pid != 1), 1 - pid % 2))
    ]
    session = opened(engine, rows)
    model = """CREATE MODEL {} AS SELECT pid, {}, ill FROM stays WHERE visit >= {} WITH ANONYMIZATION (ALGORITHM kadet
        REQUIRE k = 10 ENTITY (pid) QUASI IDENTIFIER ({}) SENSITIVE (ill) TARGET (ill))"""
    assert session.publish(model.format("first", "x", 0, "x")).classes == 2
    with pytest.raises(RequirementBreached, match=ALONE):
        session.publish(model.format("second", quasi, 1, quasi))


def test_some_visits_of_everybody_can_be_published_beside_all(engine, opened):
    session = opened(engine, stays(visits=3))
    session.publish(table("open", "x", "ENTITY (pid)"))
    session.publish(table("second", "x", "ENTITY (pid)", of="stays WHERE visit > 0"))
    session.publish(table("third", "y", "ENTITY (pid)", of="stays WHERE visit = 1"))
    assert [str(item.name.last) for item in session.releases()] == ["third", "second", "open"]


def test_a_name_that_many_bear_does_not_pair_their_rows(engine, opened):
    """Five names in all: that some n1 is in x = 0 and some n1 in y = 0 says nothing of x = 0 and y = 0."""
    session = opened(engine, stays())
    session.publish(table("open", "x", "IDENTIFIER (name)", more="ACCEPT RISK (rows)"))
    with pytest.raises(RequirementBreached, match=ALONE):
        session.publish(table("too", "y", "IDENTIFIER (name)", more="ACCEPT RISK (rows)"))
    session.publish(table("too", "x", "IDENTIFIER (name)", more="ACCEPT RISK (rows)"))


@pytest.mark.parametrize("role", ["ENTITY (pid)", "IDENTIFIER (pid)"])
@pytest.mark.parametrize("moved", ["1 - x", "x + 7"])
def test_who_moved_to_another_value_is_still_the_same_person(engine, opened, role, moved):
    session = opened(engine, stays())
    session.publish(table("open", "x", role))
    session.execute(f"UPDATE stays SET x = {moved} WHERE pid < 3")
    with pytest.raises(RequirementBreached, match=ALONE):
        session.publish(table("too", "x", role))
    session.execute(f"UPDATE stays SET x = {moved} WHERE pid BETWEEN 3 AND 40")
    session.publish(table("too", "x", role))


def test_who_moved_cannot_be_told_without_a_key(engine, opened):
    session = opened(engine, stays())
    session.publish(table("open", "x, y"))
    session.execute("UPDATE stays SET y = 1 - y WHERE pid < 60")
    session.execute("UPDATE stays SET x = x + 5 WHERE pid < 60")
    with pytest.raises(RequirementBreached, match=ALONE):
        session.publish(table("too", "x, y"))


def test_a_release_between_two_others_does_not_mix_their_keys(engine, opened):
    """Person 20 alone is in class 0 by x and in class 1 by y, whatever lies between."""
    rows = [
        (pid, visit, int(pid > 20), int(pid >= 20), f"n{pid % 2}", "flu" if pid % 3 else "cold")
        for pid in range(41)
        for visit in range(3)
    ]
    session = opened(engine, rows)
    quasi = "visit, {} AS x"
    session.publish(table("open", quasi.format("x"), "ENTITY (pid)", k=10))
    session.publish(table("between", "name", "ENTITY (pid)"))
    with pytest.raises(RequirementBreached, match=ALONE):
        session.publish(table("too", quasi.format("y"), "ENTITY (pid)"))


def test_a_plan_that_only_reads_finds_the_same_people(tmp_path):
    """The keys of a plan are those of the link tables, also where the database is open for reading alone."""
    file = str(tmp_path / "stays.duckdb")
    with ppdm_sql.connect(file, create=True) as session:
        session.execute("CREATE TABLE stays (pid INTEGER, x INTEGER, y INTEGER, ill TEXT)")
        rows = "i, i % 2, i // 2 % 2, CASE WHEN i % 3 = 0 THEN 'flu' ELSE 'cold' END"
        session.execute(f"INSERT INTO stays SELECT {rows} FROM range(100) AS t(i)")
        session.publish(table("open", "x", "IDENTIFIER (pid)", k=30))
    with ppdm_sql.connect(file, read_only=True) as session:
        held = [
            session.plan(table("too", quasi, "IDENTIFIER (pid)", k=30)).joint[0].breaching_classes
            for quasi in ("x", "y")
        ]
    assert held == [0, 4]


# -- who is remembered ------------------------------------------------------------------------------------


def test_equal_rows_of_other_people_do_not_supersede(engine, opened):
    session = opened(engine, stays())
    session.publish(table("open", "x", "IDENTIFIER (pid)"))
    session.publish(table("open", "x", "IDENTIFIER (pid)"))
    session.export("open", "open.csv")
    session.execute("UPDATE stays SET pid = pid + 1000 WHERE pid < 40")
    session.publish(table("open", "x", "IDENTIFIER (pid)"))
    listed = [(item.state, item.is_out) for item in session.releases(include_gone=True)]
    assert listed == [("live", True), ("replaced", True), ("superseded", False)]


def test_the_smaller_k_counts_and_the_ways_out_are_named(engine, opened):
    """Who has the finer one has that much anyway: together they must not tell more."""
    session = opened(engine, stays())
    session.publish(table("open", "x", "IDENTIFIER (pid)", k=40))
    with pytest.raises(RequirementBreached, match="fewer than 30 .*never exported.*SUPERSEDES.*ACCEPT RISK .joint."):
        session.publish(table("too", "y", "IDENTIFIER (pid)", k=30))
    session.publish(table("too", "x, y", "IDENTIFIER (pid)", k=2))


def test_that_k_alone_is_judged_jointly_is_said(engine, opened):
    session = opened(engine, stays())
    assert "joint_values" not in session.publish(table("open")).manifest["residual_risks"]
    both = session.publish(table("open").replace("k = 10", "k = 10, confidence = 90 %"))
    assert "joint_values" in both.manifest["residual_risks"]


# -- what cannot be measured ------------------------------------------------------------------------------


def test_keys_of_another_type_cannot_be_compared(duckdb_engine, opened):
    session = opened(duckdb_engine, stays())
    session.publish(table("open", "x", "IDENTIFIER (pid)"))
    session.execute("ALTER TABLE stays ALTER pid TYPE BIGINT")
    session.publish(table("wide", "x", "IDENTIFIER (pid)"))  # printed alike
    session.execute("ALTER TABLE stays ALTER pid TYPE DECIMAL(10, 2)")
    with pytest.raises(RequirementBreached, match="cannot be measured together with .*different types"):
        session.publish(table("too", "y", "IDENTIFIER (pid)"))


def test_keys_that_are_computed_otherwise_cannot_be_compared(engine, opened):
    session = opened(engine, stays())
    session.publish(table("open", "x, y"))
    with pytest.raises(RequirementBreached, match="different types or expressions"):
        session.publish(table("too", "1 - x AS x, y"))
    session.publish(table("again", "x AS x, y"))


def test_no_key_in_common_cannot_be_measured_where_nothing_is_left_out(engine, opened):
    session = opened(engine, stays())
    session.publish(table("open", "x", "IDENTIFIER (pid)"))
    session.execute("UPDATE stays SET pid = pid + 1000")
    with pytest.raises(RequirementBreached, match="cannot be measured together with .*no key in common"):
        session.publish(table("too", "y", "IDENTIFIER (pid)"))
    session.publish(table("too", "y", "IDENTIFIER (pid)", more="ACCEPT RISK (joint)"))


def test_one_half_and_the_other_half_can_be_published(engine, opened):
    session = opened(engine, stays())
    session.execute("CREATE VIEW late AS SELECT * FROM stays WHERE pid >= 50")
    session.publish(table("early", "x", "IDENTIFIER (pid)", of="stays WHERE pid < 50"))
    session.publish(table("later", "y", "IDENTIFIER (pid)", of="late"))


def test_a_table_of_another_name_is_known_by_its_people(engine, opened):
    session = opened(engine, stays())
    session.publish(table("open", "x", "IDENTIFIER (pid)", k=30))
    session.execute("ALTER TABLE stays RENAME TO moved")
    with pytest.raises(
        RequirementBreached,
        match="open .made from another table of the same people. has 4 joint class(es)? of fewer than 30",
    ):
        session.publish(table("too", "y", "IDENTIFIER (pid)", of="moved", k=30))
    session.execute("UPDATE moved SET pid = pid + 1000")
    session.publish(table("too", "y", "IDENTIFIER (pid)", of="moved", k=30))


HIDDEN = [
    ("CREATE MACRO all_stays() AS TABLE SELECT * FROM stays", "SELECT * FROM all_stays()", "a function"),
    ("", "SELECT * FROM query_table('stays')", "a function"),
    ("", "SELECT s.* FROM (SELECT 1) AS o, query('SELECT * FROM stays') AS s", "a function"),
    ("ATTACH ':memory:' AS other; CREATE TABLE other.stays AS SELECT * FROM stays", "FROM other.main.stays", "another"),
    ("CREATE VIEW inner_one AS SELECT * FROM query_table('stays')", "SELECT * FROM inner_one", "a function"),
]


@pytest.mark.parametrize(("before", "query", "told"), HIDDEN)
def test_a_view_that_hides_its_table_is_refused(duckdb_engine, opened, before, query, told):
    session = opened(duckdb_engine, stays())
    session.execute(f"{before}; CREATE VIEW hidden AS {query}" if before else f"CREATE VIEW hidden AS {query}")
    with pytest.raises(PolicyError, match=f"hidden reads .*{told}.*name a table or a plain view"):
        session.publish(table("open", of="hidden"))


@pytest.mark.postgres
def test_a_view_of_a_function_is_refused_on_postgresql(postgres_engine, opened):
    session = opened(postgres_engine, stays())
    session.execute("CREATE FUNCTION all_stays() RETURNS SETOF stays LANGUAGE SQL AS 'SELECT * FROM stays'")
    session.execute("CREATE VIEW hidden AS SELECT * FROM all_stays()")
    with pytest.raises(PolicyError, match="hidden reads a function: name a table or a plain view"):
        session.publish(table("open", of="hidden"))


def test_a_view_of_a_view_and_of_rows_out_of_nothing_is_read(engine, opened):
    session = opened(engine, stays())
    session.publish(table("open", "x", "IDENTIFIER (pid)", k=30))
    session.execute(
        "CREATE VIEW twice AS WITH s AS (SELECT * FROM stays) SELECT s.* FROM s, generate_series(1, 1) AS g"
    )
    session.execute("CREATE VIEW thrice AS SELECT * FROM twice")
    with pytest.raises(RequirementBreached, match="joint class(es)? of fewer than 30"):
        session.publish(table("too", "y", "IDENTIFIER (pid)", of="thrice", k=30))


# -- many releases against what is really so ----------------------------------------------------------------

NUMBERS = ("ppdm_key0", "ppdm_key1", "ppdm_person", "ppdm_quasi", "ppdm_part")
LINK = dict.fromkeys(NUMBERS, "BIGINT")
K = 2


def drawn(draw: random.Random) -> list[list[tuple[int, int, int] | None]]:
    """Rows, each as (person, key, class) in three releases, or None where a release has it not."""
    people, kinds = draw.randint(4, 9), [draw.choice([True, True, False]) for _ in range(2)]
    missing, moving = draw.choice([0, 0, 0.3]), draw.choice([0, 0, 0.2])
    rows = []
    for _ in range(draw.randint(8, 22)):
        who, value = draw.randint(1, people), draw.randint(1, 3)
        row = []
        for number in range(3):
            value = draw.randint(1, 3) if draw.random() < moving else value
            other = draw.randint(1, 2)
            key, part = (value, min(value, number + 1)) if number == 0 or kinds[number - 1] else (other, 1 + other // 2)
            row.append(None if draw.random() < missing else (who, key, part))
        rows.append(row)
    return [rows, kinds]


def test_no_joint_class_of_three_releases_is_taken_for_larger_than_it_is(duckdb_engine, make_table):
    """By row and by person, with rows that are missing or moved: what holds has K persons in every tuple of classes."""
    migrate.ensure(duckdb_engine)
    releases.salt(duckdb_engine)
    draw, held, broken = random.Random(5), 0, 0
    for _ in range(25):
        rows, kinds = drawn(draw)
        others = []
        for number in range(3):
            stored = [(who * 10 + key, 0, who, key, part) for who, key, part in (r[number] for r in rows if r[number])]
            if not stored:
                break
            relation = STAGE if number == 0 else Name("ppdm", f"ppdm_all_{number}")
            make_table(duckdb_engine, relation, LINK, stored, temporary=number == 0)
            if number:
                counted = exp.Select(
                    expressions=[*map(column, LINK), exp.alias_(exp.Count(this=exp.Star()), joint.ROWS)]
                )
                query = counted.from_(relation.table()).group_by(*map(column, LINK))
                duckdb_engine.create_table(link_name(str(number)), query)
                keys = ("who", "rest") if kinds[number - 1] else ("who", f"other {number}")
                others.append(SimpleNamespace(
                    release_id=str(number), k_promised=K, name=Name("other"), kind="TABLE", stated_name="other", key_columns=keys,
                    roles=roles_record(entity="who", person_columns=("who",)), manifest=ONE_TABLE,
                ))  # fmt: skip
        outcomes = joint.judge_jointly(
            duckdb_engine, others, people.Keys(("who", "rest"), ("who",), some_rows=True), K, persons=True
        )
        persons = defaultdict(set)
        for row in rows:
            if any(row):
                persons[tuple(one and one[2] for one in row)].add(next(one for one in row if one)[0])
        held += all(outcome.holds for outcome in outcomes)
        broken += min(map(len, persons.values())) < K
        assert min(map(len, persons.values())) >= K or not all(outcome.holds for outcome in outcomes)
        for number in (1, 2):
            duckdb_engine.drop_table(link_name(str(number)))
            duckdb_engine.drop_table(Name("ppdm", f"ppdm_all_{number}"))
    assert held > 2
    assert broken > 5
