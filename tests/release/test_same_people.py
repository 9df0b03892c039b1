"""Releases of other tables: copies, renamed tables, twins and tables with new keys hold the same people."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter

import pytest
from sqlglot import exp

from ppdm_sql.catalog import ledger, releases
from ppdm_sql.catalog.ledger import link_name
from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.statements.names import Name, column
from ppdm_sql.statements.rowtext import hash_numbers
from tests.sizes import are_many, seeds

COLUMNS = {"id": "INTEGER", "code": "TEXT", "age": "INTEGER", "zip": "INTEGER", "ill": "TEXT"}
ANOTHER = "made from another table of the same people"


def rows(number: int = 300, seed: int = 1) -> list[tuple]:
    draw = random.Random(seed)
    return [
        (n, f"c{draw.randrange(10**9)}", 20 + draw.randrange(60), 10000 + draw.randrange(97), draw.choice("abc"))
        for n in range(number)
    ]


def table(name: str, quasi: str, of: str = "people", *, key: str = "id", k: int = 10, more: str = "") -> str:
    columns = quasi.strip("()")
    return f"""CREATE OR REPLACE TABLE {name} AS SELECT {key}, {columns}, ill FROM {of} WITH ANONYMIZATION (
        ALGORITHM mondrian REQUIRE k = {k} IDENTIFIER ({key.split(" AS ")[-1]}) QUASI IDENTIFIER ({columns})
        SENSITIVE (ill) {more} SEED 7)"""


@pytest.fixture
def opened(make_table, open_session):
    def with_rows(engine, people=None):
        make_table(engine, "people", COLUMNS, people or rows())
        return open_session(engine)

    return with_rows


# -- other tables -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("second", ["(zip)", "(age)"])
@pytest.mark.parametrize("key", ["id", "code"])
def test_a_copy_is_the_same_people(engine, opened, second, key):
    session = opened(engine)
    session.publish(table("one", "(age)", key=key))
    session.execute("CREATE TABLE twin AS SELECT * FROM people WHERE id <> 7")
    with pytest.raises(RequirementBreached, match=f"together with one .{ANOTHER}. has .* use SUPERSEDES with its name"):
        session.publish(table("two", second, of="twin", key=key))
    accepted = session.publish(table("two", second, of="twin", key=key, more="ACCEPT RISK (joint)"))
    assert not accepted.manifest["joint"][0]["holds"]


def test_a_twin_in_another_schema_is_the_same_people(engine, opened):
    session = opened(engine)
    session.execute("CREATE SCHEMA twins")
    session.execute("CREATE TABLE twins.people AS SELECT * FROM people")
    session.publish(table("one", "(age)"))
    with pytest.raises(RequirementBreached, match=ANOTHER):
        session.publish(table("two", "(zip)", of="twins.people"))


def test_a_renamed_table_whose_name_was_taken_is_the_same_people(engine, opened):
    session = opened(engine)
    session.publish(table("one", "(age)"))
    session.execute("ALTER TABLE people RENAME TO patients")
    session.execute("CREATE TABLE people (id INTEGER)")
    with pytest.raises(RequirementBreached, match=ANOTHER):
        session.publish(table("two", "(zip)", of="patients"))


@pytest.mark.duckdb
@pytest.mark.parametrize("key", ["id", "code"])
def test_a_copy_with_another_name_for_its_key_is_the_same_people(duckdb_engine, opened, key):
    session = opened(duckdb_engine)
    session.publish(table("one", "(age)", key=key))
    session.execute(f"CREATE TABLE twin AS SELECT * RENAME ({key} AS number) FROM people")
    with pytest.raises(RequirementBreached, match=ANOTHER):
        session.publish(table("two", "(zip)", of="twin", key="number"))


NO_KEY = """CREATE TABLE two AS SELECT zip, ill FROM twin WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 10
    QUASI IDENTIFIER (zip) SENSITIVE (ill) SEED 7)"""


@pytest.mark.parametrize(
    "second", [NO_KEY, table("two", "(zip)", of="twin", key="code"), table("two", "(zip)", of="twin")]
)
def test_a_copy_that_is_read_by_another_key_or_by_none_is_the_same_people(engine, opened, second):
    """Nothing of the releases can be compared, but the rows of their tables can."""
    session = opened(engine)
    session.publish(table("one", "(age)"))
    session.execute("CREATE TABLE twin AS SELECT id + 5000 AS id, code, age, zip, ill FROM people WHERE id <> 7")
    with pytest.raises(
        RequirementBreached, match=f"two has the same people as one .{ANOTHER}., and they have no key in common"
    ):
        session.publish(second)


@pytest.mark.duckdb
def test_other_people_without_a_common_key_are_other_people(duckdb_engine, opened, make_table):
    session = opened(duckdb_engine)
    session.publish(table("one", "(age)"))
    make_table(duckdb_engine, "twin", COLUMNS, rows(seed=2))
    assert session.publish(NO_KEY).manifest["joint"] == []


@pytest.mark.duckdb
def test_numbers_that_agree_by_chance_are_other_people(duckdb_engine, opened, make_table):
    """Employees have the same columns and numbers, goods the same numbers: neither are the patients."""
    session = opened(duckdb_engine)
    session.publish(table("one", "(age, zip)"))
    make_table(duckdb_engine, "employees", COLUMNS, rows(seed=2))
    assert session.publish(table("two", "(age, zip)", of="employees")).manifest["joint"] == []
    session.execute("CREATE TABLE goods AS SELECT id, zip AS price, age AS weight, ill AS sort FROM people")
    goods = "(SELECT id, price, weight, sort AS ill FROM goods) AS g"
    assert session.publish(table("three", "(price, weight)", of=goods)).manifest["joint"] == []


@pytest.mark.duckdb
def test_without_keys_equal_values_alone_are_other_people(duckdb_engine, opened, make_table):
    session = opened(duckdb_engine)
    text = """CREATE TABLE {} AS SELECT age, zip, ill FROM {} WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = {}
        QUASI IDENTIFIER (age, zip) SENSITIVE (ill) SEED 7)"""
    session.publish(text.format("one", "people", 10))
    make_table(duckdb_engine, "employees", COLUMNS, rows(seed=2))
    assert session.publish(text.format("two", "employees", 10)).manifest["joint"] == []
    session.execute("CREATE TABLE twin AS SELECT * FROM people WHERE id <> 7")
    with pytest.raises(RequirementBreached, match=f"together with one .{ANOTHER}. has .* joint class"):
        session.publish(text.format("three", "twin", 11))


@pytest.mark.duckdb
def test_supersedes_speaks_of_the_same_tables_and_of_the_same_name(duckdb_engine, opened):
    session = opened(duckdb_engine)
    session.publish(table("one", "(age)"))
    session.publish(table("kept", "(age)"))
    session.execute("CREATE TABLE green AS SELECT * FROM people")
    with pytest.raises(RequirementBreached, match=rf"together with kept .{ANOTHER}"):
        session.publish(table("one", "(zip)", of="green", more="SUPERSEDES ALL"))
    session.drop("kept")
    session.publish(table("one", "(zip)", of="green", more="SUPERSEDES ALL"))
    assert [(item.relation_name, item.state) for item in session.releases()] == [("one", "live")]
    session.publish(table("two", "(zip)", of="green"))


# -- other keys -------------------------------------------------------------------------------------------


@pytest.mark.duckdb
@pytest.mark.parametrize("shift", ["UPDATE people SET id = id + 100000", "UPDATE people SET id = 5000 - id"])
def test_new_keys_in_the_same_table_do_not_make_other_people(duckdb_engine, opened, shift):
    session = opened(duckdb_engine)
    session.publish(table("one", "(age, zip)", of="people WHERE age > 0"))
    session.execute(shift)
    with pytest.raises(RequirementBreached, match="the same people under different keys"):
        session.publish(table("two", "(age, zip)", of="people WHERE age > 0", k=11))


def test_new_keys_in_a_copy_do_not_make_other_people(engine, opened):
    session = opened(engine)
    session.publish(table("one", "(age, zip)"))
    session.execute("CREATE TABLE twin AS SELECT id + 100000 AS id, age, zip, ill FROM people")
    with pytest.raises(RequirementBreached, match=f"{ANOTHER}.*the same people under different keys"):
        session.publish(table("two", "(age, zip)", of="twin", k=11))


def test_keys_that_a_view_computes_are_not_the_same_keys(engine, opened):
    session = opened(engine)
    session.publish(table("one", "(age)"))
    session.execute("CREATE VIEW shifted AS SELECT id + 100000 AS id, age, zip, ill FROM people")
    with pytest.raises(RequirementBreached, match="different types or expressions"):
        session.publish(table("two", "(zip)", of="shifted WHERE age > 0"))
    session.execute("CREATE VIEW renamed AS SELECT id AS number, age, zip, ill FROM people")
    with pytest.raises(RequirementBreached, match="joint class"):
        session.publish(table("two", "(zip)", of="renamed", key="number AS id"))


def test_people_apart_can_be_published_one_after_the_other(engine, opened):
    session = opened(engine)
    session.publish(table("one", "(age, zip)", of="people WHERE id < 150"))
    apart = session.publish(table("two", "(age, zip)", of="people WHERE id >= 150"))
    assert apart.manifest["joint"][0]["holds"]


DRAWN = {
    "duckdb": ["uuid()", "row_number() OVER ()", "rowid", "random()", "id + random()", "nextval('s')", "mine(id)"],
    "postgres": [
        "gen_random_uuid()",
        "row_number() OVER ()",
        "CAST(ctid AS TEXT)",
        "random()",
        "nextval('s')",
        "mine(id)",
    ],
    "spark": ["uuid()", "row_number() OVER (ORDER BY id)", "monotonically_increasing_id()"],
}
MACROS = {
    "duckdb": ["CREATE SEQUENCE s", "CREATE MACRO mine(x) AS x + random()"],
    "postgres": [
        "CREATE SEQUENCE s",
        "CREATE FUNCTION mine(x INTEGER) RETURNS FLOAT LANGUAGE SQL AS 'SELECT x + random()'",
    ],
    "spark": [],
}


def test_keys_that_are_drawn_are_refused(engine, opened):
    session = opened(engine)
    for made in MACROS[engine.dialect]:
        session.execute(made)
    for number, drawn in enumerate(DRAWN[engine.dialect]):
        with pytest.raises(PolicyError, match=r"IDENTIFIER \(who\) is computed by"):
            session.publish(table("one", "(age)", key=f"{drawn} AS who"))
        session.execute(f"CREATE VIEW hidden{number} AS SELECT {drawn} AS who, age, ill FROM people")
        entity = table("one", "(age)", of=f"hidden{number}", key="who").replace("IDENTIFIER (who)", "ENTITY (who)")
        with pytest.raises(PolicyError, match=r"1:\d+: ENTITY \(who\) is computed by"):
            session.publish(entity)


# -- many tables against the people that are really in them -------------------------------------------------


def drawn_table(draw: random.Random, people: list[tuple]) -> list[tuple]:
    """A copy, a part or an overlapping part of a table, or other people with the same numbers."""
    kind = draw.choice(["whole", "part", "others"])
    if kind == "others":
        return rows(200, seed=draw.randrange(10**6) + 100)
    low = draw.choice([0, 3, 60])
    return [row for row in people if kind == "whole" or row[0] >= low]


def classes_of(session, name: str) -> dict[str, int]:
    """Who is in which class of a release, by the code that nobody else has."""
    engine = session.engine
    record = releases.current(engine, Name(f"open_{name}"))
    number = hash_numbers(engine, [column("code", "r")], salt=releases.salt(engine))[0]
    same = exp.EQ(this=number, expression=column("ppdm_person", "l"))
    found = exp.Select(expressions=[column("code", "r"), column("ppdm_part", "l")]).from_(Name(name).table("r"))
    return dict(engine.fetch(found.join(link_name(record.release_id).table("l"), on=same)))


@pytest.mark.duckdb
@seeds(small=2, full=12)
def test_what_is_out_together_keeps_k_of_the_people_who_are_really_the_same(
    duckdb_engine, make_table, open_session, seeds
):
    """Whatever the tables are called: a person who has the same class in every release, or is in none, is one of k."""
    refused, together, k = 0, 0, 8
    session = open_session(duckdb_engine)
    for turn in seeds:
        draw, people = random.Random(turn), rows(200, seed=turn)
        out = []
        for name in ("t1", "t2", "t3"):
            make_table(duckdb_engine, name, COLUMNS, drawn_table(draw, people))
            quasi = draw.choice(["(age)", "(zip)", "(age, zip)", "(age)"])
            try:
                session.publish(table(f"open_{name}", quasi, of=name, key="code", k=k))
            except RequirementBreached:
                refused += 1
            else:
                out.append(classes_of(session, name))
        everybody = set(itertools.chain.from_iterable(out))
        sizes = Counter(tuple(classes.get(who) for classes in out) for who in everybody)
        assert min(sizes.values(), default=k) >= k
        together += len(out) > 1
        for item in session.releases():
            session.drop(item.relation_name)
        for name in ("t1", "t2", "t3"):
            duckdb_engine.drop_table(Name(name))
    if are_many(seeds):
        assert refused > 3
        assert together > 3


# -- releases of versions before this one -------------------------------------------------------------------


@pytest.mark.duckdb
def test_a_release_that_an_earlier_version_recorded_is_still_judged(duckdb_engine, opened):
    session = opened(duckdb_engine)
    record = session.publish(table("one", "(age)")).record
    roles = {
        name: told for name, told in record.roles.to_json().items() if name not in ("raw", "tables", "key_computed")
    }
    stored = json.dumps(roles | {"known": ["age"], "asked": []}).replace("'", "''")
    duckdb_engine.pass_through(f"UPDATE ppdm.release SET roles = '{stored}'")
    duckdb_engine.pass_through(f'ALTER TABLE ppdm."ppdm_link_{record.release_id}" DROP COLUMN ppdm_quasi')
    ledger.seal(duckdb_engine, "as an earlier version wrote it")
    session.execute("CREATE TABLE twin AS SELECT * FROM people")
    for of in ("people", "twin"):
        with pytest.raises(RequirementBreached, match="together with one"):
            session.publish(table("two", "(zip)", of=of))
    with pytest.raises(RequirementBreached, match="age is a quasi-identifier in one release"):
        session.publish(
            table("two", "(zip)", more="INSENSITIVE (age) ACCEPT RISK (joint)").replace("zip, ill", "zip, age, ill")
        )
    session.publish(table("two", "(age)", of="twin"))
    assert session.verify("one").holds
