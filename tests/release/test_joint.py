"""Two good releases can make a bad one: what is out from a table is judged together."""

from __future__ import annotations

import pytest

from ppdm_sql.errors import RequirementBreached
from tests.release.conftest import policy


def other(text: str = "", **replaced: str) -> str:
    return policy(text, **{"people_open": "people_too", **replaced})


def test_another_recoding_of_the_same_table_is_refused(session):
    session.publish(policy())
    with pytest.raises(RequirementBreached, match="joint classes of fewer than 5"):
        session.publish(
            other(
                **{
                    "(age, sex, zip)": "(zip, age)",
                    "illness FROM": "illness FROM",
                    "age, sex, zip, illness": "age, zip, illness",
                }
            )
        )
    assert [str(item.name.last) for item in session.releases()] == ["people_open"]


def test_the_same_recoding_under_another_name_is_no_new_knowledge(session):
    session.publish(policy())
    session.publish(other())
    assert len(session.releases()) == 2


def test_supersedes_says_that_nobody_holds_the_former(session):
    session.publish(policy())
    session.publish(other("SUPERSEDES", **{"k = 5": "k = 9"}))
    assert [item.relation_name for item in session.releases()] == ["people_too"]


def test_the_risk_can_be_accepted_by_name_and_is_then_in_the_manifest(session):
    session.publish(policy())
    release = session.publish(other("ACCEPT RISK (joint)", **{"k = 5": "k = 9"}))
    (outcome,) = release.manifest["joint"]
    assert not outcome["holds"]
    assert outcome["with"][0].endswith("people_open")
    assert release.manifest["policy"]["accepted_risks"] == ["joint"]


def test_a_release_of_another_table_does_not_matter(duck):
    duck.publish(policy())
    duck.execute("CREATE TABLE others AS SELECT * FROM people WHERE age > 20")
    duck.publish(other(**{"FROM people": "FROM others", "k = 5": "k = 9"}))


def test_a_view_does_not_hide_its_table(duck):
    duck.publish(policy())
    duck.execute("CREATE VIEW hidden AS SELECT * FROM people")
    with pytest.raises(RequirementBreached, match="joint classes"):
        duck.publish(other(**{"FROM people": "FROM hidden", "k = 5": "k = 9"}))


def test_one_person_more_is_refused_without_supersedes(duck):
    """Differencing: what the second release has and the first has not is that person."""
    duck.publish(policy())
    duck.execute("INSERT INTO people VALUES (5000, 'New', 40, 'f', '10001', 'flu')")
    with pytest.raises(RequirementBreached, match="together with"):
        duck.execute("REFRESH people_open")
    duck.publish(policy("SUPERSEDES"))


def test_without_a_common_key_the_answer_is_no(duck):
    duck.publish(policy())
    with pytest.raises(RequirementBreached, match="share no key"):
        duck.publish(other(**{"SELECT id, name, age": "SELECT age", "IDENTIFIER (id, name)\n    QUASI": "QUASI"}))


def test_a_person_with_several_rows_does_not_breach_by_republishing(duck):
    duck.execute("INSERT INTO people SELECT id, name, age + 1, sex, zip, 'cold' FROM people")
    text = {"IDENTIFIER (id, name)": "IDENTIFIER (name)"}
    duck.publish(policy("ENTITY (id)", **text))
    duck.publish(policy("ENTITY (id)", **text))
    duck.publish(other("ENTITY (id)", **text))


def test_an_exported_release_counts_even_after_it_was_dropped(duck):
    duck.publish(policy())
    duck.export("people_open", "open.csv")
    dropped = duck.drop("people_open")
    assert dropped.exports == 1
    with pytest.raises(RequirementBreached, match="joint classes"):
        duck.publish(other(**{"k = 5": "k = 9"}))


def test_a_dropped_release_that_was_never_exported_does_not_count(duck):
    duck.publish(policy())
    duck.drop("people_open")
    duck.publish(other(**{"k = 5": "k = 9"}))


def test_a_replaced_release_still_counts(duck):
    """Replaced without SUPERSEDES: whoever copied the former one has it still."""
    duck.publish(policy("ACCEPT RISK (joint)"))
    duck.publish(policy("ACCEPT RISK (joint)", **{"k = 5": "k = 9"}))
    with pytest.raises(RequirementBreached):
        duck.publish(other(**{"k = 5": "k = 7"}))
    assert [item.state for item in duck.releases(include_gone=True)] == ["live", "replaced"]
