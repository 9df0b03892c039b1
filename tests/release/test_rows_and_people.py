"""K counts rows where no ENTITY is named: rows of one person are found by the identifiers."""

from __future__ import annotations

import pytest

from ppdm_sql.errors import RequirementBreached

COLUMNS = {"pid": "INTEGER", "visit": "INTEGER", "x": "INTEGER", "doctor": "TEXT", "phone": "TEXT", "ill": "TEXT"}


def visits(people: int = 40, each: int = 12) -> list[tuple]:
    """Every person in a place of his own, many times."""
    return [
        (pid, pid * each + visit, pid, f"d{visit % 3}", None, "flu" if visit % 3 else "cold")
        for pid in range(people)
        for visit in range(each)
    ]


def stated(role: str, more: str = "", *, kind: str = "TABLE", method: str = "mondrian") -> str:
    names = role.split("(")[1].rstrip(")")
    target = "TARGET (ill)" if kind == "MODEL" else ""
    return f"""CREATE {kind} open AS SELECT {names}, x, ill FROM visits WITH ANONYMIZATION (ALGORITHM {method}
        REQUIRE k = 10 {role} QUASI IDENTIFIER (x) SENSITIVE (ill) {target} {more} SEED 7)"""


@pytest.fixture
def opened(make_table, open_session):
    def with_rows(engine, rows):
        make_table(engine, "visits", COLUMNS, rows)
        return open_session(engine)

    return with_rows


@pytest.mark.parametrize("role", ["IDENTIFIER (pid)", "IDENTIFIER (visit, pid)"])
def test_classes_of_one_person_are_refused(engine, opened, role):
    session = opened(engine, visits())
    told = r"40 classes have fewer than 10 different values of pid \(480 rows\).*ENTITY \(pid\).*ACCEPT RISK \(rows\)"
    for ask in (session.publish, session.plan):
        with pytest.raises(RequirementBreached, match=told):
            ask(stated(role))
    accepted = session.publish(stated(role, "ACCEPT RISK (rows)"))
    assert accepted.classes == 40
    assert "rows" in accepted.manifest["residual_risks"]


def test_entity_counts_people_and_is_published(engine, opened):
    session = opened(engine, visits())
    assert session.publish(stated("ENTITY (pid)")).classes == 4


def test_a_row_for_each_person_is_published(engine, opened):
    session = opened(engine, visits(people=40, each=1))
    assert session.publish(stated("IDENTIFIER (pid)")).classes == 4


def test_rows_without_a_value_count_one_each(engine, opened):
    """Nobody gave a phone number: that makes them no one person."""
    session = opened(engine, visits(people=40, each=1))
    assert session.publish(stated("IDENTIFIER (pid, phone)")).classes == 4


def test_an_identifier_that_few_share_is_named(engine, opened):
    session = opened(engine, visits(people=40, each=1))
    with pytest.raises(RequirementBreached, match="4 classes have fewer than 10 different values of doctor"):
        session.publish(stated("IDENTIFIER (pid, doctor)"))


@pytest.mark.duckdb
def test_groups_of_a_model_are_measured_in_the_same_way(duckdb_engine, opened):
    rows = [
        (pid, visit, x, doctor, phone, "flu" if pid % 2 else "cold") for pid, visit, x, doctor, phone, _ in visits()
    ]
    session = opened(duckdb_engine, rows)
    model = {"kind": "MODEL", "method": "kadet (form = id3, prune = false)"}
    with pytest.raises(RequirementBreached, match=r"different values of pid .*ACCEPT RISK \(rows\)"):
        session.publish(stated("IDENTIFIER (pid)", **model))
    session.publish(stated("ENTITY (pid)", **model))
