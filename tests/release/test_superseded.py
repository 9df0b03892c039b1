"""SUPERSEDES takes away what it says nobody holds, and pseudo-data keeps its model in the ledger."""

from __future__ import annotations

import pytest

from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.statements.names import Name
from tests.release.conftest import policy
from tests.release.test_joint_models import COLUMNS, model, visits

PSEUDO = "CREATE OR REPLACE TABLE made AS PSEUDO DATA FROM MODEL one WITH (classes = counts, seed = {})"


def named(name: str, more: str = "", *, k: int = 5, kind: str = "TABLE") -> str:
    return policy(more, **{"people_open": name, "k = 5": f"k = {k}", "REPLACE TABLE": f"REPLACE {kind}"})


def states(session) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for item in session.releases(include_gone=True):
        found.setdefault(item.relation_name, []).append(f"{item.state}, {'out' if item.is_out else 'gone'}")
    return found


@pytest.fixture
def clinic(engine, make_table, open_session):
    """Models "one" and "two" hide everybody in groups of eight, and do not together."""
    make_table(engine, "visits", COLUMNS, visits(1))
    return open_session(engine)


# -- what is superseded is gone ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["TABLE", "VIEW"])
def test_a_superseded_relation_is_not_there_any_more(session, kind):
    first = session.publish(named("ta", kind=kind))
    assert first.withdrawn == []
    assert session.publish(named("tb", "SUPERSEDES ALL", k=9)).withdrawn == ["ta"]
    assert session.engine.relation_kind(Name("ta")) is None
    left = [name for name in session.engine.relations("ppdm") if first.record.release_id in name]
    assert left == []
    assert states(session) == {"ta": ["superseded, gone"], "tb": ["live, out"]}
    assert session.verify("tb").holds
    session.publish(named("ta", "SUPERSEDES ALL", k=7))
    assert session.verify("ta").holds
    assert session.engine.relation_kind(Name("tb")) is None


def test_a_table_that_supersedes_its_own_former_generation_stays(session):
    session.publish(named("ta"))
    assert session.publish(named("ta", "SUPERSEDES ALL", k=9)).withdrawn == []
    assert session.verify("ta").holds
    assert states(session) == {"ta": ["live, out", "superseded, gone"]}


def test_a_refused_release_supersedes_nothing(duck):
    duck.publish(named("ta"))
    with pytest.raises(RequirementBreached):
        duck.publish(named("tb", "SUPERSEDES ALL", k=200))
    assert duck.verify("ta").holds


@pytest.mark.wide
def test_a_relation_of_somebody_else_is_not_taken_for_the_superseded_release(duck):
    duck.publish(named("ta"))
    duck.execute("DROP TABLE ta; CREATE TABLE ta AS SELECT 1 AS mine")
    with pytest.raises(PolicyError, match="not the release: rename it, or drop both with DROP RELEASE"):
        duck.publish(named("tb", "SUPERSEDES ALL"))
    assert duck.engine.columns(Name("ta"))[0].name == "mine"
    duck.execute("DROP TABLE ta")
    duck.publish(named("tb", "SUPERSEDES ALL"))


def test_a_superseded_model_frees_its_name(clinic):
    clinic.publish(model("one"))
    clinic.publish(model("one", 9, more="SUPERSEDES ALL"))
    clinic.publish(model("two", more="SUPERSEDES ALL"))
    assert [one.name for one in clinic.models()] == ["two"]
    with pytest.raises(PolicyError, match="no release"):
        clinic.drop("one")
    clinic.publish(model("one", more="SUPERSEDES ALL"))
    assert [one.name for one in clinic.models()] == ["one"]
    assert clinic.verify("one").holds


def test_pseudo_data_goes_with_the_model_that_is_superseded(clinic):
    clinic.publish(model("one"))
    clinic.execute(PSEUDO.format(7))
    clinic.publish(model("one", more="SUPERSEDES ALL"))  # the same tree: its pseudo-data still is its pseudo-data
    assert states(clinic)["made"] == ["live, out"]
    clinic.publish(model("two", more="SUPERSEDES ALL"))
    assert clinic.engine.relation_kind(Name("made")) is None
    assert states(clinic)["made"] == ["superseded, gone"]


@pytest.mark.wide
@pytest.mark.lacks("spark", reason="a release there is a view")
def test_a_table_in_the_place_of_pseudo_data_is_not_taken_for_it(clinic):
    clinic.publish(model("one"))
    clinic.execute(PSEUDO.format(7))
    clinic.execute("DROP TABLE made; CREATE TABLE made AS SELECT 1 AS mine")
    with pytest.raises(PolicyError, match="not the release"):
        clinic.publish(model("two", more="SUPERSEDES ALL"))
    assert [info.name for info in clinic.engine.columns(Name("made"))] == ["mine"]
    assert clinic.verify("one").holds


@pytest.mark.wide
def test_a_copy_of_the_former_generation_is_one_of_its_successor(duck):
    """Same rows published again: what was exported of the former ones counts after a drop, too."""
    duck.publish(named("ta"))
    duck.export("ta", "ta.csv")
    duck.publish(named("ta"))
    assert duck.drop("ta").exports == 1
    with pytest.raises(RequirementBreached, match="together with"):
        duck.publish(named("tb", k=9))


# -- pseudo-data and its model -----------------------------------------------------------------------------


def test_a_model_stays_while_its_pseudo_data_is_there(clinic):
    clinic.publish(model("one"))
    clinic.execute(PSEUDO.format(7))
    with pytest.raises(PolicyError, match='model "one" still exists: drop ".*made.*" first'):
        clinic.execute("DROP RELEASE one")
    clinic.publish(model("one"))  # the same tree again
    with pytest.raises(PolicyError, match="still exists"):
        clinic.drop("one")
    clinic.execute("REFRESH made")
    clinic.execute("DROP RELEASE made; DROP RELEASE one")
    clinic.publish(model("two"))


@pytest.mark.wide
@pytest.mark.parametrize("again", [False, True])
def test_exported_pseudo_data_is_an_export_of_its_model(clinic, again):
    clinic.publish(model("one"))
    clinic.execute(PSEUDO.format(7))
    if again:
        clinic.publish(model("one"))
    clinic.export("made", "made.csv")
    assert {one.relation_name: one.exports for one in clinic.releases()} == {"one": 1, "made": 1}
    clinic.drop("made")
    assert clinic.drop("one").exports == 1
    with pytest.raises(RequirementBreached, match="together with one"):
        clinic.publish(model("two"))


@pytest.mark.wide
def test_replaced_pseudo_data_counts_where_it_was_exported(clinic):
    clinic.publish(model("one"))
    clinic.execute(PSEUDO.format(7))
    clinic.export("made", "made.csv")
    clinic.execute(PSEUDO.format(8))
    clinic.execute("DROP RELEASE made; DROP RELEASE one")
    with pytest.raises(RequirementBreached, match="together with one"):
        clinic.publish(model("two"))
