"""ppdm check on a table or a SELECT without a policy."""

from __future__ import annotations

import duckdb
import pytest

DB = ("--db", "clinic.duckdb")


def test_a_table_is_measured_as_its_policy_would(ppdm, clinic):
    """The figures of the policy's source and those of the same table without a policy are the same."""
    by_policy = ppdm(*DB, "check", "policy.sql", "--json")
    by_table = ppdm(*DB, "check", "people", "--quasi", "age,zip", "--k", "5", "--json")
    assert (by_policy.code, by_table.code) == (1, 1)
    (one,), (other,) = by_policy.json["sources"], by_table.json["sources"]
    for figure in ("rows", "classes", "k", "risk", "histogram", "requirements"):
        assert one[figure] == other[figure], figure


def test_the_figures_are_those_of_a_count(ppdm, clinic):
    found = ppdm(*DB, "check", "SELECT age // 10 AS decade, zip, illness FROM people", "--quasi", "DECADE,zip",
                 "--sensitive", "illness", "--k", "4", "--json").json["sources"][0]  # fmt: skip
    with duckdb.connect(str(clinic / "clinic.duckdb")) as con:
        sizes, values = zip(*con.execute(
            "SELECT count(*), count(DISTINCT illness) FROM people GROUP BY age // 10, zip"
        ).fetchall(), strict=True)  # fmt: skip
    k, distinct = found["requirements"]
    assert (found["classes"], found["k"]) == (len(sizes), min(sizes))
    assert (k["requirement"], k["breaching_classes"]) == ("k = 4", sum(size < 4 for size in sizes))
    assert (distinct["requirement"], distinct["achieved"]) == ("distinct_l = 2", min(values))


def test_k_counts_people_and_more_can_be_required(ppdm, clinic):
    with duckdb.connect(str(clinic / "clinic.duckdb")) as con:
        con.execute("CREATE TABLE twice AS SELECT * FROM people UNION ALL SELECT * FROM people")
    by_rows = ppdm(*DB, "check", "twice", "--quasi", "zip", "--k", "30")
    by_people = ppdm(*DB, "check", "twice", "--quasi", "zip", "--entity", "id", "--k", "30")
    assert (by_rows.code, by_people.code) == (0, 1)
    more = ppdm(
        *DB, "check", "people", "--quasi", "zip", "--sensitive", "illness", "--require", "simple_l = 3", "--json"
    )
    asked = [one["requirement"] for one in more.json["sources"][0]["requirements"]]
    assert (more.code, asked) == (1, ["k = 10", "simple_l = 3"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["people"], "policy file people does not exist; to check a table"),
        (["nobody", "--quasi", "age"], "table nobody does not exist"),
        (["people", "--quasi", "agee"], "--quasi agee: no such column: did you mean age?"),
        (["people", "--quasi", "age", "--sensitive", "age"], 'column "age" is named twice'),
        (["people", "--quasi", "age", "--require", "k = 3"], "k is required twice"),
        (["people", "--quasi", "age", "--require", "banana = 3"], "unknown requirement banana"),
        (["people", "--quasi", "age", "--require", "simple_l = 2"], "needs a SENSITIVE column"),
        (["SELECT age FROM", "--quasi", "age"], "the SELECT cannot be parsed"),
        (["SELECT age, [zip] AS zips FROM people", "--quasi", "zips"], 'column "zips": type'),
        (["policy.sql", "--k", "3"], "--k goes with --quasi"),
    ],
)
def test_a_wrong_call_is_exit_2(ppdm, clinic, arguments, message):
    done = ppdm(*DB, "check", *arguments)
    assert (done.code, message in done.err) == (2, True), done.err
