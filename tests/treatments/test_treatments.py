"""PSEUDONYM, ROUND, MASK and SHIFT: what is published, what is refused, and that no requirement becomes weaker."""

from __future__ import annotations

import datetime
import json
import random
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated

import pytest
from sqlglot import exp

from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.policy.grammar import parse
from ppdm_sql.policy.render import render_statement
from ppdm_sql.statements.names import Name
from ppdm_sql.treatments import Treatment, register, unregister
from ppdm_sql.treatments.base import ClausePart, literal

COLUMNS = {
    "id": "TEXT", "age": "INTEGER", "salary": "INTEGER", "rate": "DOUBLE", "price": "DECIMAL(8, 2)",
    "phone": "TEXT", "admitted": "DATE", "seen": "TIMESTAMP", "ill": "TEXT",
}  # fmt: skip
SELECTED = ", ".join(COLUMNS)
INSENSITIVE = "salary, rate, price, phone, admitted, seen"
TREATED = """PSEUDONYM (id) ROUND (salary TO 100 TOP 5000 BOTTOM 0, rate TO 0.1, price TO 0.25) MASK (phone KEEP LAST 2)
SHIFT (admitted BY ENTITY WITHIN 30 DAYS, seen BY ENTITY WITHIN 5 DAYS)"""


def statement(treated=TREATED, name="open", head="CREATE TABLE", quasi="age", insensitive=INSENSITIVE, more=""):
    return f"""{head} {name} AS SELECT {SELECTED} FROM people
WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 4 QUASI IDENTIFIER ({quasi}) SENSITIVE (ill) INSENSITIVE ({insensitive})
{treated} {more})"""


@pytest.fixture
def people(engine, make_table):
    draw = random.Random(5)
    rows = []
    for n in range(40):
        day = datetime.date(2024, 1, 1) + datetime.timedelta(draw.randint(0, 600))
        moment = datetime.datetime(2024, 1, 1, 8) + datetime.timedelta(hours=draw.randint(0, 9000))
        rows.append(
            (
                f"p{n}é", draw.randint(20, 60), draw.choice([-149, -50, 0, 49, 50, 51, 151, 4949, 5050, 9999, None]),
                draw.choice([0.04, 0.05, 0.26, -0.05, None]), draw.choice([Decimal("1.12"), Decimal("1.13"), None]),
                f"0{draw.randint(1000, 9999)}", day if n else None, moment, draw.choice(["flu", "cold"]),
            )
        )  # fmt: skip
    make_table(engine, "people", COLUMNS, rows)
    return engine, {row[0]: dict(zip(COLUMNS, row, strict=True)) for row in rows}


def rows_of(engine, name="open", columns=tuple(COLUMNS)):
    query = exp.Select(expressions=[exp.column(one, quoted=True) for one in columns]).from_(Name(name).table())
    return [dict(zip(columns, row, strict=True)) for row in engine.fetch(query)]


def rounded(value, step):
    """Half of a step goes up."""
    return None if value is None else (Fraction(value) / step + Fraction(1, 2)).__floor__() * step


def test_what_is_published(people, open_session):
    """Every row against its definition; rows are identified by what nothing was done to, and by the phone's end."""
    engine, raw = people
    session = open_session(engine)
    release = session.publish(statement())
    published = rows_of(engine)
    assert len({row["id"] for row in published}) == 40
    assert not {row["id"] for row in published} & set(raw)
    by_end = {}
    for row in raw.values():
        salary = rounded(row["salary"], 100)
        salary = None if salary is None else max(0, min(5000, salary))
        rate = rounded(None if row["rate"] is None else Decimal(str(row["rate"])), Fraction(1, 10))
        price = rounded(row["price"], Fraction(1, 4))
        key = ("***" + row["phone"][-2:], salary, None if rate is None else float(rate), price, row["ill"])
        by_end.setdefault(key, []).append(row)
    assert set(map(len, by_end.values())) != set()
    for row in published:
        price = None if row["price"] is None else Fraction(Decimal(str(row["price"])))
        found = by_end[(row["phone"], row["salary"], row["rate"], price, row["ill"])]
        if len(found) == 1:
            check_shift(row, found[0])
    notes = release.manifest["column_notes"]
    assert notes["salary"] == "rounded to multiples of 100, values above 5000 as 5000, values below 0 as 0"
    assert release.manifest["policy"]["treatments"]["admitted"] == "SHIFT BY ENTITY WITHIN 30 DAYS"
    assert release.manifest["policy"]["counts_entities"]
    assert session.verify("open").holds
    assert "p1é" not in json.dumps(
        release.manifest.to_json() if hasattr(release.manifest, "to_json") else release.manifest
    )


def check_shift(row, raw):
    if raw["admitted"] is None:
        assert row["admitted"] is None
        return
    days = (row["admitted"] - raw["admitted"]).days
    assert isinstance(row["admitted"], datetime.date)
    assert abs(days) <= 30
    moved = row["seen"] - raw["seen"]
    assert abs(moved) <= datetime.timedelta(5)
    assert moved.seconds == 0


def test_pseudonyms_stay_with_their_release_or_recipient(people, open_session):
    engine, _ = people
    session = open_session(engine)

    def pseudonyms(text, name):
        session.publish(text)
        return {row["id"] for row in rows_of(engine, name)}

    only = "PSEUDONYM (id{})"
    risks = "ACCEPT RISK (joint, undeclared)"
    first = pseudonyms(statement(only.format(""), more=risks), "open")
    session.run("REFRESH open")
    assert {row["id"] for row in rows_of(engine)} == first
    again = statement(only.format(""), head="CREATE OR REPLACE TABLE", more=risks)
    assert pseudonyms(again, "open") == first
    other = pseudonyms(statement(only.format(""), name="other", more=risks), "other")
    assert not other & first
    one, two = (
        pseudonyms(statement(only.format(f" FOR '{who}'"), name=name, more=risks), name)
        for who, name in (("registry", "one"), ("registry", "two"))
    )
    assert one == two
    assert not one & (first | other)


@pytest.mark.duckdb
def test_releases_with_other_pseudonyms_are_judged_together_by_the_person(duckdb_engine, make_table, open_session):
    """Two releases whose pseudonyms have nothing in common still speak of the same people: joint classes are counted."""
    make_table(
        duckdb_engine,
        "people",
        {"id": "INTEGER", "a": "INTEGER", "b": "INTEGER"},
        [(n, n % 4, n // 4) for n in range(16)],
    )
    text = """CREATE TABLE {} AS SELECT id, {} FROM people WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 4
    QUASI IDENTIFIER ({}) PSEUDONYM (id))"""
    session = open_session(duckdb_engine)
    session.publish(text.format("one", "a", "a"))
    with pytest.raises(RequirementBreached, match="together"):
        session.publish(text.format("two", "b", "b"))


def test_k_holds_over_all_rows_of_a_person(engine, make_table, open_session):
    """Two rows per person: each class has four people, but two persons have pairs of classes of their own."""
    pairs = [(ward, ward) for ward in range(4) for _ in range(3)] + [(0, 1), (2, 3)]
    rows = [(n, f"w{ward}", 1) for n, pair in enumerate(pairs) for ward in pair]
    make_table(engine, "visits", {"id": "INTEGER", "ward": "TEXT", "x": "INTEGER"}, rows)
    text = """CREATE TABLE open AS SELECT id, ward, x FROM visits WITH ANONYMIZATION (ALGORITHM incognito REQUIRE k = 2
    QUASI IDENTIFIER (ward HIERARCHY PREFIX (1)) INSENSITIVE (x) {} (id) )"""
    session = open_session(engine)
    session.publish(text.format("ENTITY"))
    session.run("DROP RELEASE open")
    with pytest.raises(RequirementBreached, match=r"PSEUDONYM \(id\): 2 persons \(in 4 rows\) share the classes"):
        session.publish(text.format("PSEUDONYM"))


def test_the_secret_is_in_no_statement_that_is_shown(people, open_session):
    engine, _ = people
    session = open_session(engine)
    seen = []
    engine.on_statement = seen.append
    session.publish(statement())
    assert any("treated" in sql for sql in seen)
    import re

    from ppdm_sql.catalog import releases
    from ppdm_sql.source.treat import secrets_of

    secret = secrets_of(releases.salt(engine), str(engine.name(parse(statement())[0].name)))(None)
    assert not any(secret in sql for sql in seen)
    assert not any(re.search("PSEUDONYM\\|[0-9a-f]{64}", sql) for sql in seen)


@pytest.mark.parametrize(
    ("treated", "line", "told"),
    [
        ("PSEUDONYM (nobody)", 3, 'column "nobody" does not exist'),
        ("ROUND (phone TO 10)", 3, "ROUND is for numbers"),
        ("ROUND (salary TO 0.5)", 3, "write whole numbers"),
        ("ROUND (salary)", 3, "needs TO, TOP or BOTTOM"),
        ("ROUND (salary TOP 1 BOTTOM 2)", 3, "a TOP above BOTTOM"),
        ("ROUND (salary TO 0)", 3, "takes a number above 0"),
        ("ROUND (salary UP 0)", 3, "ROUND does not know UP"),
        ("ROUND (salary TO 10, salary TO 5)", 3, "has two treatments"),
        ("ROUND (age TO 10)", 3, "is a QUASI IDENTIFIER"),
        ("MASK (salary KEEP 2)", 3, "MASK is for texts"),
        ("MASK (phone KEEP 2 KEEP LAST 2)", 3, "one of them"),
        ("MASK (phone KEEP 5)", 3, "40 rows with at most 5 characters"),
        ("MASK (phone KEEP 500)", 3, "40 rows with at most 500 characters"),
        ("SHIFT (admitted BY ENTITY WITHIN 30 DAYS)", 3, "SHIFT needs an ENTITY"),
        ("PSEUDONYM (id) SHIFT (phone BY ENTITY WITHIN 30 DAYS)", 3, "SHIFT is for dates and timestamps"),
        ("PSEUDONYM (id) SHIFT (admitted BY ENTITY WITHIN 0 DAYS)", 3, "takes a whole number from 1 to 36,500"),
        ("PSEUDONYM (id) SHIFT (admitted)", 3, "BY ENTITY WITHIN is missing"),
        ("PSEUDONYM (id FOR '')", 3, "FOR of PSEUDONYM"),
        ("PSEUDONYM (id, phone)", 3, "takes one column"),
        ("ENTITY (id) PSEUDONYM (phone)", 3, "ENTITY names another one"),
        ("ENTITY (id) MASK (id KEEP 1)", 3, "is the ENTITY, which only a PSEUDONYM publishes"),
    ],
)
@pytest.mark.duckdb
def test_what_cannot_be_done_is_refused_with_its_place(duckdb_engine, make_table, open_session, treated, line, told):
    rows = [("p", 30, 1, 0.5, Decimal(1), "01234", None, None, "flu")] * 40
    make_table(duckdb_engine, "people", COLUMNS, rows)
    insensitive = INSENSITIVE if "id" in treated else "id, " + INSENSITIVE
    if "PSEUDONYM (phone)" in treated or "(id, phone)" in treated:
        insensitive = insensitive.replace("phone, ", "")
    if "nobody" in treated:
        insensitive = "id, " + INSENSITIVE
    with pytest.raises(PolicyError) as caught:
        open_session(duckdb_engine).publish(statement(treated, insensitive=insensitive))
    mistakes = [one for one in caught.value.mistakes if told in one.message]
    assert [one.line for one in mistakes[:1]] == [line], [one.message for one in caught.value.mistakes]
    assert duckdb_engine.relation_kind(Name("open")) is None


@pytest.mark.duckdb
def test_a_pseudonym_of_nobody_is_refused(duckdb_engine, make_table, open_session):
    make_table(duckdb_engine, "people", {"id": "TEXT", "age": "INTEGER"}, [("a", 1), (None, 1), (None, 2)])
    text = """CREATE TABLE open AS SELECT id, age FROM people
    WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 2 QUASI IDENTIFIER (age) PSEUDONYM (id))"""
    with pytest.raises(PolicyError, match='PSEUDONYM: column "id" has 2 rows with NULL'):
        open_session(duckdb_engine).publish(text)


@pytest.mark.duckdb
@pytest.mark.parametrize(
    ("head", "told"),
    [
        ("CREATE VIEW open LIVE", "PSEUDONYM is not for a LIVE view"),
        ("CREATE TABLE open GROWING", "PSEUDONYM is not for a release that grows"),
        ("CREATE MODEL open", "a MODEL publishes no columns"),
    ],
)
def test_releases_that_cannot_have_them(duckdb_engine, make_table, open_session, head, told):
    make_table(
        duckdb_engine, "people", {"id": "TEXT", "age": "INTEGER", "ill": "TEXT"}, [(str(n), 1, "x") for n in range(9)]
    )
    algorithm = {"MODEL": "kadet", "VIEW": "incognito"}.get(head.split()[1], "mondrian")
    text = f"""{head} AS SELECT id, age, ill FROM people WITH ANONYMIZATION (ALGORITHM {algorithm} REQUIRE k = 2
    QUASI IDENTIFIER (age) TARGET (ill) PSEUDONYM (id) ACCEPT RISK (live))"""
    with pytest.raises(PolicyError, match=told):
        open_session(duckdb_engine).publish(
            text.replace("ACCEPT RISK (live)", "ACCEPT RISK (live)" if "LIVE" in head else "")
        )


@pytest.mark.duckdb
def test_the_guard_sees_through_them(duckdb_engine, make_table, open_session):
    """A rounded copy of a quasi-identifier is derived from it; an id that is masked lightly is still nearly unique."""
    make_table(
        duckdb_engine, "people", {"id": "TEXT", "age": "INTEGER"}, [(f"{n:05d}x", 20 + n % 40) for n in range(200)]
    )
    head = "CREATE TABLE open AS SELECT {} FROM people WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 4 {})"
    session = open_session(duckdb_engine)
    with pytest.raises(RequirementBreached, match="comes from the same column"):
        session.publish(
            head.format("age, age AS years", "QUASI IDENTIFIER (age) INSENSITIVE (years) ROUND (years TO 5)")
        )
    with pytest.raises(RequirementBreached, match='"id" has a value of its own in 200 of 200 rows'):
        session.publish(head.format("id, age", "QUASI IDENTIFIER (age) INSENSITIVE (id) MASK (id KEEP 5)"))
    with pytest.raises(RequirementBreached, match='"other" comes from the same column'):
        session.publish(
            head.format("id, UPPER(id) AS other, age", "QUASI IDENTIFIER (age) INSENSITIVE (other) PSEUDONYM (id)")
        )


def test_it_is_read_back_as_it_was_written():
    (found,) = parse(statement() + ";")
    assert parse(render_statement(found, "duckdb"))[0].policy == found.policy


# -- a treatment from outside ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shorten(Treatment):
    word = "SHORTEN"
    example = "SHORTEN (note TO 10)"
    length: Annotated[Fraction, ClausePart(("TO",), "a whole number from 1 to 100", least=1, most=100, whole=True)]

    def mistake(self, info):
        return None if info.kind is Kind.TEXT else "SHORTEN is for texts"

    def expression(self, value):
        return exp.Left(this=value.column.copy(), expression=literal(self.length))

    def effect(self):
        return f"the first {self.length} characters"


@pytest.mark.duckdb
def test_a_treatment_can_be_added_from_outside(duckdb_engine, make_table, open_session):
    make_table(duckdb_engine, "people", {"age": "INTEGER", "note": "TEXT"}, [(n % 3, "abcdef") for n in range(9)])
    text = """CREATE TABLE open AS SELECT age, note FROM people
    WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 3 QUASI IDENTIFIER (age) INSENSITIVE (note) SHORTEN (note TO 2))"""
    register(Shorten)
    try:
        release = open_session(duckdb_engine).publish(text)
    finally:
        unregister(Shorten)
    assert {row["note"] for row in rows_of(duckdb_engine, columns=("note",))} == {"ab"}
    assert release.manifest["column_notes"]["note"] == "the first 2 characters"
