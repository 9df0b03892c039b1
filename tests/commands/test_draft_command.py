"""ppdm draft: the policy publishes unchanged, drops what identifies people, and has no value in its text."""

from __future__ import annotations

import datetime
import random
import re

import duckdb
import pyarrow as pa
import pytest

from tests.profile.profile_tables import people
from tests.public_data import DATA, needs_data

DB = ("--db", "clinic.duckdb")
REAL = {
    "adult_train": {"income"},
    "german_credit": set(),
    "breast_cancer_wisconsin": set(),
    "heart_cleveland": set(),
    "cmc": {"wife_religion"},
}


def published(ppdm, folder, table, *more):
    """What drafting a table and running the draft gives: the draft, the release's rows and columns."""
    done = ppdm(*DB, "draft", table, "--out", "draft", "--force", "--json", *more)
    assert done.code == 0, done.err
    run = ppdm(*DB, "run", "draft/policy.sql")
    assert run.code == 0, run.err
    with duckdb.connect(str(folder / "clinic.duckdb"), read_only=True) as con:
        found = con.execute(f'SELECT * FROM "{table}_open"')
        return done.json, [one[0] for one in found.description], found.fetchall()


def roles_of(draft):
    return {one["column"]: one["role"] for one in draft["roles"]}


@needs_data
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.wide] if name != "cmc" else []) for name in REAL]
)
def test_drafts_of_real_tables_publish(ppdm, clinic, name):
    with duckdb.connect(str(clinic / "clinic.duckdb")) as con:
        con.execute(f"CREATE TABLE {name} AS SELECT * FROM read_csv('{DATA / name}.csv', header = true)")
        (rows,) = con.execute(f"SELECT count(*) FROM {name}").fetchone()
    draft, columns, found = published(ppdm, clinic, name)
    roles = roles_of(draft)
    assert len(found) == rows
    assert {column for column, role in roles.items() if role == "SENSITIVE"} == REAL[name]
    assert "INSENSITIVE" not in roles.values()
    assert "sample_code_number" not in columns


def test_people_with_everything_that_identifies_them(ppdm, clinic):
    columns, rows = people()
    with duckdb.connect(str(clinic / "clinic.duckdb")) as con:
        con.execute(f"CREATE TABLE persons ({', '.join(f'{name} {kind}' for name, kind in columns.items())})")
        con.executemany(f"INSERT INTO persons VALUES ({', '.join('?' * len(columns))})", rows)
    draft, published_columns, found = published(ppdm, clinic, "persons")
    assert published_columns == ["born", "postcode", "sex", "smoker", "site", "diagnosis"]
    assert len(found) == len(rows)
    texts = {value for row in rows for value in row if isinstance(value, str) and len(value) > 3} - {"north"}
    assert [text for text in texts if text in draft["policy"]] == []
    for file in (clinic / "draft").iterdir():
        assert file.stat().st_mode & 0o077 == 0, file.name


def test_seventy_columns_with_odd_names(ppdm, clinic):
    """Flags, codes and measurements under names that need quotes, and a customer number among them."""
    draw = random.Random(7)
    names = [*(f'f"{number} ☃' for number in range(40)), *(f"code {number}" for number in range(15)),
             *(f"Value;{number}" for number in range(14)), "customer_no"]  # fmt: skip
    with duckdb.connect(str(clinic / "clinic.duckdb")) as con:
        quoted = ['"' + name.replace('"', '""') + '"' for name in names]
        kinds = ["BOOLEAN"] * 40 + ["TEXT"] * 15 + ["DOUBLE"] * 14 + ["INTEGER"]
        con.execute(f"CREATE TABLE wide ({', '.join(map(' '.join, zip(quoted, kinds, strict=True)))})")
        rows = []
        for number in range(200):
            flags = [draw.choice([True, False, None]) for _ in range(40)]
            codes = [draw.choice(["a;b", 'say "x"', "é", "long\nline", None, "A1"]) for _ in range(15)]
            values = [round(draw.gauss(50, 20), 2) for _ in range(14)]
            rows.append((*flags, *codes, *values, 500_000 + 37 * number))
        given = pa.table(list(map(pa.array, zip(*rows, strict=True))), names=[f"c{n}" for n in range(70)])
        con.register("given", given)
        con.execute("INSERT INTO wide FROM given")
    draft, columns, found = published(ppdm, clinic, "wide", "--k", "5")
    assert (len(columns), len(found)) == (69, 200)
    assert roles_of(draft)["customer_no"] == "IDENTIFIER"


def test_visits_with_dates_and_a_person_count_people(ppdm, clinic):
    draw = random.Random(3)
    with duckdb.connect(str(clinic / "clinic.duckdb")) as con:
        con.execute(
            "CREATE TABLE visits (patient_id BIGINT, came TIMESTAMP, zip INTEGER, cost DECIMAL(9, 2), grade TEXT)"
        )
        for number in range(400):
            came = datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=draw.randrange(9000))
            cost = round(draw.expovariate(0.01), 2)
            row = [number % 130, came, 10_000 + draw.randrange(900), cost, draw.choice("ABC")]
            con.execute("INSERT INTO visits VALUES (?, ?, ?, ?, ?)", row)
    draft, columns, _ = published(ppdm, clinic, "visits", "--sensitive", "grade")
    assert columns == ["came", "zip", "cost", "grade"]
    assert roles_of(draft) == {
        "patient_id": "ENTITY", "came": "QUASI IDENTIFIER", "zip": "QUASI IDENTIFIER", "cost": "QUASI IDENTIFIER",
        "grade": "SENSITIVE",
    }  # fmt: skip
    policy = draft["policy"]
    assert re.search(r'"came" HIERARCHY CALENDAR \(day, month, quarter, year, decade\)', policy)
    assert re.search(r'"zip" HIERARCHY PREFIX \(4, 3, 2, 1\)', policy)
    assert re.search(r'"cost" HIERARCHY INTERVALS \([0-9]+, [0-9]+, [0-9]+\)', policy)


def test_an_edited_draft_is_kept(ppdm, clinic):
    assert ppdm(*DB, "draft", "people", "--out", "draft").code == 0
    (clinic / "draft" / "policy.sql").write_text("edited")
    assert ppdm(*DB, "draft", "people", "--out", "draft").code == 2
    assert (clinic / "draft" / "policy.sql").read_text() == "edited"
    assert ppdm(*DB, "draft", "people", "--out", "draft", "--force").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody", "--out", "d"], "table nobody does not exist"),
        (
            ["people", "--out", "d", "--sensitive", "illnes"],
            "--sensitive illnes: no such column: did you mean illness?",
        ),
        (["people", "--out", "d", "--target", "zip", "--sensitive", "zip"], "named twice"),
        (["people", "--out", "d", "--k", "101"], "the table has 100 rows: k = 101 cannot be met"),
        (["people", "--out", "no/where"], "does not exist"),
        (["people", "--out", "full"], "is not empty and has no draft"),
    ],
)
def test_a_wrong_call_is_exit_2_and_writes_nothing(ppdm, clinic, arguments, message):
    (clinic / "full").mkdir()
    (clinic / "full" / "mine.txt").write_text("mine")
    before = sorted(str(path) for path in clinic.rglob("*"))
    done = ppdm(*DB, "draft", *arguments)
    assert (done.code, message in done.err) == (2, True), done.err
    assert sorted(str(path) for path in clinic.rglob("*")) == before
