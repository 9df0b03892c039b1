"""What is said of a model when it is handed over: released, learned from pseudo-rows, trained, imported."""

from __future__ import annotations

import pytest
from sqlglot import parse_one

from ppdm_sql.models import library

COLUMNS = {"age": "INTEGER", "sex": "TEXT", "ill": "TEXT"}
ROWS = [(20 + n % 50, "mf"[n // 50 % 2], "yes" if n % 50 < 25 and n % 9 else "fm"[n % 2]) for n in range(400)]
MODEL = """CREATE MODEL ills AS SELECT age, sex, ill FROM people WITH ANONYMIZATION (ALGORITHM ldm
    REQUIRE k = 10, distinct_l = 2 QUASI IDENTIFIER (age, sex) SENSITIVE (ill) TARGET (ill));"""


@pytest.fixture
def session(engine, make_table, open_session):
    make_table(engine, "people", COLUMNS, ROWS)
    return open_session(engine)


def test_a_released_model_is_called_by_its_release(session, tmp_path):
    (release,) = session.execute(MODEL)
    found = session.model("ills")
    session.export("ills", "ills.json")
    assert found.kind.document(found.learned, "ills") == (tmp_path / "ills.json").read_text("utf-8")
    assert found.is_as_released
    assert release.record.release_id in found.warning
    assert "k = 10, distinct_l = 2" in found.warning
    assert "anonymized" not in found.warning


@pytest.mark.wide
def test_a_released_model_that_was_changed_is_not(session, engine):
    session.execute(MODEL)
    engine.execute(parse_one("UPDATE ppdm.model_node SET gain = gain + 1 WHERE node = 0"))
    found = library.load(engine, "ills")
    assert not found.is_as_released
    assert "NOT anonymized" in found.warning


@pytest.mark.wide
def test_a_dropped_release_no_longer_speaks_for_its_name(session):
    session.execute(MODEL)
    session.drop("ills")
    session.train("ills", "people", "ill")
    assert not session.model("ills").is_as_released
    assert "not anonymized" in session.model("ills").warning


def test_pseudo_rows_are_told_from_people(session, engine, make_table):
    session.execute(MODEL + "CREATE TABLE e AS PSEUDO DATA FROM MODEL ills WITH (rows = 200)")
    found = library.train_on(
        engine,
        "global",
        engine.name(session.parse("VERIFY e")[0].name),
        list(COLUMNS),
        "ill",
        inducer="c45",
        source="e",
    )
    assert "trained on synthetic rows" in found.warning
    assert not found.record.is_raw
    assert "trained on synthetic rows" in session.train("mine", "e", "ill", rare=1).warning
    raw = session.train("raw", "people", "ill", rare=1)
    assert raw.record.is_raw
    assert "NOT anonymized" in raw.warning
    assert "not anonymized" in session.train("more", "SELECT * FROM people", "ill").warning
    text = raw.kind.document(raw.learned, "raw")
    assert "imported" in library.import_model(engine, text, "came").warning
