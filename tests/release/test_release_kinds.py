"""Every release is of one kind, and a kind from outside of the package goes through every command."""

from __future__ import annotations

import pytest

from ppdm_sql.errors import PpdmError
from ppdm_sql.policy import algorithms
from ppdm_sql.release.kinds import registry
from ppdm_sql.release.kinds.model import ModelRelease
from ppdm_sql.release.kinds.pseudo_data import PseudoDataRelease
from ppdm_sql.release.kinds.registry import kind_of
from ppdm_sql.release.kinds.stored import StoredRelease
from tests.release import toy_kind
from tests.release.conftest import policy

MODEL = """CREATE MODEL ills AS SELECT age, sex, illness FROM people WHERE illness IS NOT NULL AND sex IS NOT NULL
WITH ANONYMIZATION (ALGORITHM kadet REQUIRE k = 5 QUASI IDENTIFIER (age, sex) TARGET (illness)
                    ACCEPT RISK (rare_classes))"""


def test_a_record_is_of_the_kind_of_its_statement(duck):
    duck.publish(MODEL)
    duck.run("CREATE TABLE ills_pseudo AS PSEUDO DATA FROM MODEL ills")
    duck.run(policy(people_open="twin_people", more="ACCEPT RISK (joint, known_elsewhere)"))
    found = {name: type(kind_of(duck.release(name).record)) for name in ("ills", "ills_pseudo", "twin_people")}
    assert found == {"ills": ModelRelease, "ills_pseudo": PseudoDataRelease, "twin_people": StoredRelease}


@pytest.fixture
def twins(monkeypatch):
    monkeypatch.setattr(registry, "MODULES", ["tests.release.toy_kind", *registry.MODULES])


def test_a_kind_from_outside_is_planned_published_verified_exported_and_withdrawn(duck, twins, tmp_path):
    text = policy(people_open="twin_people")
    assert duck.check(text).k < 5
    (plan,) = duck.plan_all(duck.parse(text))
    assert plan.holds
    assert duck.engine.relation_kind(duck.engine.name(duck.parse("VERIFY twin_people_sizes")[0].name)) is None
    release = duck.publish(text)
    (total,) = duck.run("SELECT SUM(size) FROM twin_people_sizes").table.rows[0]
    assert total == release.rows == 120
    assert duck.verify("twin_people").holds
    assert duck.export("twin_people", "twin.csv").rows == 120
    duck.report("twin_people", "twin.html")
    assert "twin tables" in (tmp_path / "twin.html").read_text("utf-8")
    assert duck.run("REFRESH twin_people").rows == 120
    duck.run("DROP TABLE twin_people_sizes")
    assert duck.verify("twin_people").problems == ("the table of sizes is gone",)
    duck.run("REFRESH twin_people")
    duck.drop("twin_people")
    with pytest.raises(PpdmError):
        duck.run("SELECT * FROM twin_people_sizes")


def test_it_is_evaluated_and_advised_as_a_table_is(duck, twins, monkeypatch):
    monkeypatch.setattr(algorithms, "_METHODS", {"mondrian": algorithms._METHODS["mondrian"]})
    text = policy(people_open="twin_people")
    (point,) = duck.evaluate(text, grid=["k=6"], learner="none").points
    assert (point.algorithm, point.holds) == ("mondrian", True)
    advised = duck.advise(text, learner="none").best
    assert "TABLE twin_people AS" in advised.statement
    assert duck.publish(advised.statement).rows == 120
    assert duck.engine.relation_kind(toy_kind.sizes_name(duck.engine.name(duck.parse(text)[0].name))) == "table"


def test_a_kind_whose_rows_do_not_stay_is_no_live_view(duck, twins, monkeypatch):
    monkeypatch.setattr(toy_kind.TwinTables, "rows_stay", False)
    record = duck.publish(policy(people_open="twin_people")).record
    assert not record.is_live
    assert isinstance(kind_of(record), toy_kind.TwinTables)


def test_without_its_file_the_kind_is_a_stored_table(duck):
    duck.publish(policy(people_open="twin_people"))
    with pytest.raises(PpdmError):
        duck.run("SELECT * FROM twin_people_sizes")


def test_a_kind_of_a_later_version_is_refused_by_name(duck, monkeypatch):
    release = duck.publish(policy())
    monkeypatch.setattr(registry, "MODULES", ["ppdm_sql.release.kinds.model"])
    with pytest.raises(PpdmError, match="this version has no kind of release TABLE"):
        kind_of(release.record)
