"""One column of a table in two roles: within a statement, and in two releases of the same people."""

from __future__ import annotations

import pytest

from ppdm_sql.errors import RequirementBreached
from tests.release.conftest import COLUMNS, people

SPLIT = {"duckdb": "split_part(name, ' ', 2)", "postgres": "split_part(name, ' ', 2)", "spark": "split(name, ' ')[1]"}


def stated(query: str, roles: str, *, name: str = "open", accepted: str = "", kind: str = "TABLE") -> str:
    more = f"ACCEPT RISK ({accepted})" if accepted else ""
    method = "kadet (form = id3)" if kind == "MODEL" else "mondrian"
    return f"""CREATE {kind} {name} AS SELECT {query} WITH ANONYMIZATION (ALGORITHM {method} REQUIRE k = 5 {roles}
        {more} SEED 7)"""


AGE = "IDENTIFIER (id) QUASI IDENTIFIER (age) SENSITIVE (illness)"
GIVEN_AWAY = [
    ("id, age, age AS raw, illness FROM people", f"{AGE} INSENSITIVE (raw)", '"raw" comes from the same column as age'),
    ("id, age, illness || age AS illness FROM people", AGE, '"illness" comes from the same column as age'),
    ("id, age, age > 40 AS old, illness FROM people", f"{AGE} TARGET (old)", '"old" comes from the same column as age'),
    ("id, age, id + 1 AS next, illness FROM people", f"{AGE} INSENSITIVE (next)", '"next" comes .* as id'),
    ("id, age, r, illness FROM (SELECT *, age AS r FROM people) AS q", f"{AGE} INSENSITIVE (r)", '"r" comes .* as age'),
    ("id, age, r, illness FROM seen", f"{AGE} INSENSITIVE (r)", '"r" comes .* as age'),
    (
        "a.id, a.age, b.age AS other, a.illness FROM people AS a JOIN people AS b ON a.id = b.id",
        f"{AGE} INSENSITIVE (other)",
        '"other" comes .* as age',
    ),
]


@pytest.mark.parametrize(("query", "roles", "told"), GIVEN_AWAY)
def test_what_is_recoded_must_not_leave_as_it_is(session, query, roles, told):
    session.execute("CREATE VIEW seen AS SELECT *, age * 2 AS r FROM people")
    with pytest.raises(RequirementBreached, match=rf"{told}.*ACCEPT RISK \(derived\)"):
        session.publish(stated(query, roles))
    with pytest.raises(RequirementBreached, match=told):
        session.plan(stated(query, roles))
    accepted = session.publish(stated(query, roles, accepted="derived"))
    assert "derived" in accepted.manifest["residual_risks"]


def test_part_of_an_identifier_must_not_leave(session):
    query = f"name, age, {SPLIT[session.engine.dialect]} AS part, illness FROM people"
    roles = "IDENTIFIER (name) QUASI IDENTIFIER (age) SENSITIVE (illness) INSENSITIVE (part)"
    with pytest.raises(RequirementBreached, match='"part" comes from the same column as name'):
        session.publish(stated(query, roles))


@pytest.mark.duckdb
def test_a_model_gives_nothing_away_either(duck):
    query = "id, age, sex, age % 7 AS week, illness FROM people WHERE illness IS NOT NULL AND sex IS NOT NULL"
    roles = "ENTITY (id) QUASI IDENTIFIER (age, sex) INSENSITIVE (week) SENSITIVE (illness) TARGET (illness)"
    with pytest.raises(RequirementBreached, match='"week" comes from the same column as age'):
        duck.publish(stated(query, roles, kind="MODEL"))


ALLOWED = [
    ("id, age, age / 10 AS decade, illness FROM people", "IDENTIFIER (id) QUASI IDENTIFIER (age, decade) SENSITIVE (illness)"),
    ("id, age, sex, illness FROM people", f"{AGE} INSENSITIVE (sex)"),
    ("p.id, p.age, o.age AS theirs, p.illness FROM people AS p JOIN others AS o ON o.id = p.id", f"{AGE} INSENSITIVE (theirs)"),
    ("id, age, illness FROM people", "IDENTIFIER (id) QUASI IDENTIFIER (age) SENSITIVE (illness) TARGET (illness)"),
    ("id, age, sex, illness FROM people", "IDENTIFIER (id) QUASI IDENTIFIER (age, sex) SENSITIVE (illness) TARGET (sex)"),
]  # fmt: skip


@pytest.mark.duckdb
@pytest.mark.parametrize(("query", "roles"), ALLOWED)
def test_columns_of_their_own_may_leave(duck, make_table, query, roles):
    make_table(duck.engine, "others", COLUMNS, people(seed=4))
    duck.publish(stated(query, roles))


# -- two releases -----------------------------------------------------------------------------------------

KNOWN = "IDENTIFIER (id) QUASI IDENTIFIER (zip) SENSITIVE (illness)"
RAW = "IDENTIFIER (id) QUASI IDENTIFIER (sex) SENSITIVE (illness) INSENSITIVE (zip)"
PAIRS = [
    (("id, zip, illness FROM people", KNOWN), ("id, sex, zip, illness FROM people", RAW)),
    (("id, sex, zip, illness FROM people", RAW), ("id, zip, illness FROM people", KNOWN)),
    (("id, zip, illness FROM people", KNOWN), ("id, sex, z AS zip, illness FROM renamed", RAW)),
    (("id, zip, illness FROM people", KNOWN), ("id, sex, 'at ' || zip AS zip, illness FROM people", RAW)),
    (("id, zip, illness FROM people", KNOWN), ("id, sex, zip, illness FROM twin", RAW)),
    (
        ("id, zip, illness FROM people", KNOWN),
        ("id, sex, zip AS illness FROM people", "IDENTIFIER (id) QUASI IDENTIFIER (sex) SENSITIVE (illness)"),
    ),
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_a_column_that_is_raw_in_one_release_and_known_in_another_is_refused(session, first, second):
    session.execute("CREATE VIEW renamed AS SELECT id, sex, zip AS z, illness FROM people")
    session.execute("CREATE TABLE twin AS SELECT * FROM people")
    joint = "joint"
    session.publish(stated(*first))
    with pytest.raises(
        RequirementBreached, match=r"zip is a quasi-identifier in one release.*RISK \(known_elsewhere\)"
    ):
        session.publish(stated(*second, name="second", accepted=joint))
    release = session.publish(stated(*second, name="second", accepted=f"{joint}, known_elsewhere"))
    assert "zip" in release.manifest["residual_risks"]["known_elsewhere"]


@pytest.mark.duckdb
def test_of_other_people_a_column_may_be_raw(duck):
    duck.publish(stated("id, zip, illness FROM people WHERE id < 60", KNOWN))
    duck.publish(stated("id, sex, zip, illness FROM people WHERE id >= 60", RAW, name="second"))


@pytest.mark.duckdb
def test_a_column_of_the_same_name_in_another_table_is_another_one(duck, make_table):
    make_table(duck.engine, "homes", {"person": "INTEGER", "zip": "TEXT"}, [(n, f"{n % 3}") for n in range(120)])
    duck.publish(stated("id, zip, illness FROM people", KNOWN))
    joined = "p.id, p.sex, h.zip, p.illness FROM people AS p JOIN homes AS h ON h.person = p.id"
    duck.publish(stated(joined, RAW, name="second", accepted="joint"))
