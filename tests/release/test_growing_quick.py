"""REFRESH touches what changed: quick numbers find it, and cohorts that are what they were are not measured again."""

from __future__ import annotations

import pytest

from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import PolicyError
from ppdm_sql.release import grow, sealed
from tests.release.test_growing import arrive, growing
from tests.sizes import first

pytestmark = pytest.mark.duckdb
MORE = "CHANGES (changed = again, gone = together)"


def table_of(session) -> str:
    return f"ppdm.ppdm_release_{session.release('people_open').record.roles.growing.growth_id}"


def told(session) -> dict[str, object]:
    """What a manifest says of the release, without what differs from run to run."""
    found = session.release("people_open").record.manifest.to_json()
    varying = ("release",)  # its number and time
    return {name: value for name, value in found.items() if name not in varying}


def nights(session) -> list[dict[str, object]]:
    """Three nights, of which the second has nobody new and the third takes rows away."""
    found = []
    for change in (
        "SELECT 1",
        "UPDATE people SET age = age + 1 WHERE id = 3",
        "DELETE FROM people WHERE id BETWEEN 900 AND 911",
    ):
        if not found:
            arrive(session, range(900, 906))
            arrive(session, range(906, 912), illness="cold")
        session.execute(change)
        session.run("REFRESH people_open")
        found.append(told(session))
    return found


@pytest.mark.wide
@pytest.mark.parametrize("kind", ["TABLE", "VIEW"])
def test_cohorts_of_before_count_as_if_they_had_been_measured_again(tables, open_session, kind, monkeypatch):
    """The manifest of every night is the same, whether all cohorts or tonight's alone were measured."""
    text = growing(MORE, kind=kind, required=", distinct_l = 2, confidence = 95 %")
    judged: list[int | None] = []
    judge = grow.judge_cohorts

    def seen(*given):
        judged.append(given[-1])
        return judge(*given)

    monkeypatch.setattr(grow, "judge_cohorts", seen)
    found = []
    for all_of_them in (False, True):
        with monkeypatch.context() as patched:
            if all_of_them:
                patched.setattr(grow, "still_sealed", lambda *_: None)
            with DuckDBEngine.open(":memory:") as engine:
                tables(engine)
                session = open_session(engine)
                session.publish(text)
                found.append(nights(session))
                assert session.verify("people_open").holds
    assert judged == [1, 2, None] + [None] * 3
    assert found[0] == found[1]


def test_edited_rows_are_measured_again(duck):
    duck.publish(growing(required=", distinct_l = 2"))
    duck.engine.pass_through(f"UPDATE {table_of(duck)} SET ppdm_cohort = 9 WHERE ppdm_cohort = 0")
    growth = duck.release("people_open").record.roles.growing
    rows, policy = grow.growth.rows_name(growth.growth_id), duck.parse(growing())[0].policy
    published = ("age", "sex", "zip", "illness")
    assert sealed.still_sealed(duck.engine, growth.sealed, policy, rows, published) is None


def test_requirements_that_look_beyond_a_cohort_are_measured_on_all(duck):
    duck.publish(growing())
    growth = duck.release("people_open").record.roles.growing
    rows = grow.growth.rows_name(growth.growth_id)
    known = {}
    for required in ("", ", distinct_l = 2", ", t = 0.9", ", delta = 2", ", k = 3 ON (age)"):
        policy = duck.parse(growing(required=required))[0].policy
        found = sealed.still_sealed(duck.engine, growth.sealed, policy, rows, ("age", "sex", "zip", "illness"))
        known[required] = found is not None
    assert list(known.values()) == [True, True, False, False, False]


def test_another_hash_of_the_engine_costs_one_night_and_nothing_else(duck):
    duck.publish(growing())
    duck.engine.pass_through(f"UPDATE {table_of(duck)} SET ppdm_quick = 0")
    arrive(duck, range(900, 906))
    duck.execute("DELETE FROM people WHERE id = 3; UPDATE people SET age = 18 WHERE id = 9")
    grown = duck.run("REFRESH people_open").record.manifest.growing
    assert (grown.new_rows, grown.gone_rows, grown.changed_rows) == (6, 1, 1)
    old = duck.engine.pass_through(f"SELECT COUNT(*) FROM {table_of(duck)} WHERE ppdm_quick = 0", 9).rows
    assert old == [(2,)]  # the row that is gone, and the one that changed
    grown = duck.run("REFRESH people_open").record.manifest.growing
    assert (grown.new_rows, grown.gone_rows, grown.changed_rows) == (0, 1, 1)


@pytest.mark.parametrize(
    "change",
    first(
        2,
        [
            "INSERT INTO people SELECT * FROM people WHERE id = 7",
            "INSERT INTO people SELECT id, name, 18, sex, zip, illness FROM people WHERE id = 7",
            "UPDATE people SET id = 7 WHERE id = 8",
            "DELETE FROM people WHERE id = 9; INSERT INTO people SELECT * FROM people WHERE id = 7",
            "INSERT INTO people SELECT 900, name, age, sex, zip, illness FROM people WHERE id < 9",
            "UPDATE people SET id = NULL WHERE id = 7",
        ],
    ),
)
def test_a_key_that_repeats_is_found_among_rows_that_are_out_and_that_are_not(duck, change):
    duck.publish(growing())
    duck.execute(change)
    with pytest.raises(PolicyError, match=r"the source has \d+ rows? (that share a key|without a key) \(id\)"):
        duck.run("REFRESH people_open")
    assert duck.verify("people_open").holds
