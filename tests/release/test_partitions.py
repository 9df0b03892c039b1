"""A partition and its parent, a child and what it inherits from: for the ledger they are one source."""

from __future__ import annotations

import pytest

from ppdm_sql.catalog import ledger
from ppdm_sql.errors import RequirementBreached

pytestmark = pytest.mark.postgres
COLUMNS = "id integer, age integer, zip integer, illness text, year integer"
ROWS = "SELECT i, i * 7 % 60, i * 13 % 50, 'x' || i % 3, {year} FROM generate_series({first}, {first} + 149) AS i"


def policy(source: str, *, other: bool = False, where: str = "", more: str = "") -> str:
    """Two recodings of the same people, which together tell them apart."""
    age, k = ("age / 3 AS age", 7) if other else ("age", 5)
    return f"""CREATE TABLE {source.replace(".", "_")}_open AS SELECT id, {age}, zip, illness FROM {source} {where}
        WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = {k} IDENTIFIER (id) QUASI IDENTIFIER (age, zip)
        SENSITIVE (illness) {more})"""


@pytest.fixture
def session(postgres_engine, open_session):
    """Partitions of partitions; a child of two parents, one of them a child itself."""
    for text in (
        f"CREATE TABLE people ({COLUMNS}) PARTITION BY LIST (year)",
        "CREATE TABLE early PARTITION OF people FOR VALUES IN (1, 2) PARTITION BY LIST (year)",
        "CREATE TABLE first PARTITION OF early FOR VALUES IN (1)",
        "CREATE TABLE late PARTITION OF people FOR VALUES IN (3)",
        f"INSERT INTO people {ROWS.format(year=1, first=1)}",
        f"INSERT INTO people {ROWS.format(year=3, first=1001)}",
        f"CREATE TABLE top ({COLUMNS})",
        "CREATE TABLE side (illness text)",
        "CREATE TABLE middle () INHERITS (top)",
        'CREATE TABLE "low.er" () INHERITS (middle, side)',
        f'INSERT INTO "low.er" {ROWS.format(year=1, first=1)}',
    ):
        postgres_engine.pass_through(text)
    return open_session(postgres_engine)


PAIRS = [("people", "first"), ("first", "people"), ("early", "first"), ("people", "late"), ("early", "people")]
CHILDREN = [("top", "middle"), ("middle", "top")]


@pytest.mark.parametrize(("one", "two"), PAIRS + CHILDREN)
def test_a_part_and_the_whole_are_judged_together(session, one, two):
    session.publish(policy(one))
    with pytest.raises(RequirementBreached, match=f"together with {one}_open"):
        session.publish(policy(two, other=True))
    assert [release.relation_name for release in session.releases()] == [f"{one}_open"]


def test_a_child_with_a_dot_in_its_name(session):
    session.publish(policy("top"))
    text = policy("top", other=True).replace("FROM top", 'FROM "low.er"').replace("TABLE top_open", "TABLE lower_open")
    with pytest.raises(RequirementBreached, match="together with top_open"):
        session.publish(text)


def test_a_view_of_a_partition_is_of_the_same_source(session):
    session.engine.pass_through("CREATE VIEW seen AS SELECT * FROM first")
    session.publish(policy("people"))
    with pytest.raises(RequirementBreached, match="together with people_open"):
        session.publish(policy("seen", other=True))


def test_two_partitions_of_other_people_are_published_one_after_the_other(session):
    """Neither shows the rows of the other."""
    session.publish(policy("first"))
    assert session.publish(policy("late", other=True)).manifest["joint"] == []


def test_a_partition_that_was_taken_off_is_still_known(session):
    session.publish(policy("people"))
    session.engine.pass_through("ALTER TABLE early DETACH PARTITION first")
    with pytest.raises(RequirementBreached, match="together with people_open"):
        session.publish(policy("first", other=True))


def test_a_partition_that_was_added_later_brings_its_releases(session):
    run = session.engine.pass_through
    run(f"CREATE TABLE fresh ({COLUMNS})")
    run(f"INSERT INTO fresh {ROWS.format(year=4, first=2001)}")
    session.publish(policy("fresh"))
    run("ALTER TABLE people ATTACH PARTITION fresh FOR VALUES IN (4)")
    with pytest.raises(RequirementBreached, match="together with fresh_open"):
        session.publish(policy("people", other=True))


@pytest.mark.parametrize(("one", "two"), [("people", "first"), ("first", "people")])
def test_a_ledger_that_names_one_table_alone_is_enough(session, postgres_admin, one, two):
    """As the version before this one wrote it."""
    session.publish(policy(one))
    postgres_admin.execute("DELETE FROM ppdm.release_source WHERE source <> %s", (f"public.{one}",))
    ledger.seal(session.engine, "as an earlier version wrote it")
    with pytest.raises(RequirementBreached, match=f"together with {one}_open"):
        session.publish(policy(two, other=True))


def test_superseding_a_part_takes_the_whole_away(session):
    session.publish(policy("people"))
    session.publish(policy("first", other=True, more="SUPERSEDES ALL"))
    assert [release.relation_name for release in session.releases()] == ["first_open"]


def test_a_table_of_many_partitions(session, monkeypatch):
    monkeypatch.setattr("ppdm_sql.catalog.releases._NAMES_AT_ONCE", 2)
    session.publish(policy("people"))
    assert session.release("people_open").record.sources == (
        "public.early", "public.first", "public.late", "public.people",
    )  # fmt: skip
    with pytest.raises(RequirementBreached, match="together with people_open"):
        session.publish(policy("people", other=True).replace("people_open", "again"))
