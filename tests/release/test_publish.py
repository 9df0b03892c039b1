"""A statement becomes a measured release, or nothing changes: on every engine."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace

import pytest

from ppdm_sql.catalog import releases, runs
from ppdm_sql.catalog.ledger import link_name
from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import NotAvailable, PolicyError, PpdmError, RequirementBreached, SchemaDrifted
from ppdm_sql.planning.measure_table import _check_complete
from ppdm_sql.policy import algorithms
from ppdm_sql.release.kinds.stored import StoredRelease
from ppdm_sql.release.publish import check_rows, refuse_breaches
from ppdm_sql.requirements import Closeness, DistinctDiversity, KAnonymity, RecursiveDiversity
from ppdm_sql.statements.names import Name
from ppdm_sql.verify.relation import Finding, Judgement
from tests.release.conftest import COLUMNS, people, policy


def rows(session, release="people_open"):
    return session.engine.fetch(session.release(release).query)


def test_the_release_holds_every_row_and_every_class_holds_k(session):
    release = session.publish(policy())
    published = rows(session)
    assert len(published) == release.rows == 120
    assert min(Counter(row[:3] for row in published).values()) >= 5
    assert [finding.holds for finding in release.findings] == [True]
    assert Counter(row[3] for row in published) == Counter(person[5] for person in people())


CHANGES = {
    "a value changes places": "UPDATE people_open SET illness = CASE illness WHEN 'flu' THEN 'cold' ELSE 'flu' END "
    "WHERE illness IN ('flu', 'cold')",
    "NULL becomes a text": "UPDATE people_open SET illness = 'NULL' WHERE illness IS NULL",
    "one row twice, another one lost": "UPDATE people_open SET illness = (SELECT MAX(illness) FROM people_open) "
    "WHERE rowid = (SELECT MIN(rowid) FROM people_open WHERE illness = 'cold')",
}


@pytest.mark.parametrize("change", CHANGES)
def test_persons_are_counted_on_the_rows_that_were_stored_and_on_no_others(duck, monkeypatch, change):
    """With ENTITY the judge counts persons on the stage, so the stored rows must be the same, to the last cell."""
    text = policy().replace("IDENTIFIER (id, name)", "IDENTIFIER (name) ENTITY (id)")
    former = duck.publish(text).record
    store = StoredRelease.store

    def changed(kind, engine, request):
        stored = store(kind, engine, request)
        engine._connection.execute(CHANGES[change])
        return stored

    monkeypatch.setattr(StoredRelease, "store", changed)
    with pytest.raises(PpdmError, match="the stored rows differ from the staged rows; nothing was published"):
        duck.publish(text)
    monkeypatch.undo()
    assert duck.release("people_open").record.release_id == former.release_id
    assert duck.verify("people_open").holds


def test_what_is_dropped_does_not_leave(session):
    session.publish(policy())
    assert [info.name for info in session.engine.columns(Name("people_open"))] == ["age", "sex", "zip", "illness"]


def test_diversity_is_judged_on_the_stored_rows(session):
    session.publish(policy(required=", distinct_l = 2, simple_l = 1.5"))
    by_class: dict[tuple[object, ...], list[object]] = {}
    for *quasi, illness in rows(session):
        by_class.setdefault(tuple(quasi), []).append(illness)
    for illnesses in by_class.values():
        assert len(set(illnesses)) >= 2
        assert max(Counter(illnesses).values()) * 3 <= len(illnesses) * 2


def test_a_requirement_nobody_can_meet_publishes_nothing_and_leaves_its_record(session):
    with pytest.raises(RequirementBreached):
        session.publish(policy(required=", distinct_l = 9"))
    assert session.engine.relation_kind(Name("people_open")) is None
    assert session.releases() == []
    assert [(run.state, run.exit_code) for run in runs.recent(session.engine)] == [("refused", 1)]


def test_k_above_the_number_of_rows_is_refused(session):
    with pytest.raises(RequirementBreached, match="120"):
        session.publish(policy(**{"k = 5": "k = 121"}))


def test_a_user_table_of_that_name_is_never_replaced(session, make_table):
    make_table(session.engine, "people_open", {"x": "INTEGER"}, [(1,)])
    with pytest.raises(PolicyError, match="not a release"):
        session.publish(policy())
    assert [info.name for info in session.engine.columns(Name("people_open"))] == ["x"]


def test_a_release_is_replaced_only_when_the_statement_says_so(session):
    session.publish(policy())
    with pytest.raises(PolicyError, match="CREATE OR REPLACE"):
        session.publish(policy(**{"CREATE OR REPLACE": "CREATE"}))


def test_the_same_data_and_seed_give_the_same_rows_in_the_same_content(session):
    first = session.publish(policy())
    again = session.publish(policy())
    assert first.record.content_hash == again.record.content_hash
    states = [summary.state for summary in session.releases(include_gone=True)]
    assert states == ["live", "superseded"]


def test_a_failed_second_publication_leaves_the_first(session, make_table):
    first = session.publish(policy())
    with pytest.raises(RequirementBreached):
        session.publish(policy(required=", distinct_l = 9"))
    assert session.release("people_open").record.release_id == first.record.release_id
    assert session.verify("people_open").holds


def test_a_view_shows_a_private_table(session):
    session.publish(policy(**{"TABLE": "VIEW"}))
    assert session.engine.relation_kind(Name("people_open")) == "view"
    assert len(rows(session)) == 120
    assert session.verify("people_open").holds
    session.drop("people_open")
    assert session.engine.relation_kind(Name("people_open")) is None
    assert not [name for name in session.engine.relations("ppdm") if name.startswith("ppdm_release_")]


def test_refresh_runs_the_statement_again(session):
    first = session.publish(policy())
    (again,) = session.execute("REFRESH people_open")
    assert again.record.release_id != first.record.release_id
    assert again.record.content_hash == first.record.content_hash


def test_dropping_takes_relation_and_link_table_away(session):
    release = session.publish(policy())
    session.execute("DROP RELEASE people_open")
    assert session.engine.relation_kind(Name("people_open")) is None
    assert session.engine.relation_kind(link_name(release.record.release_id)) is None
    assert session.releases() == []
    with pytest.raises(PolicyError, match="no release"):
        session.verify("people_open")


def test_k_counts_persons_where_an_entity_is_named(engine, make_table, open_session):
    """Twelve rows of one person in a zip of their own are one person, not a class."""
    alone = [(1000, "Alone", 30, "f", "99999", illness) for illness in ("flu", "cold", "cancer") * 4]
    make_table(engine, "people", COLUMNS, [*people(), *alone])
    session = open_session(engine)
    session.publish(policy("ENTITY (id)", **{"IDENTIFIER (id, name)": "IDENTIFIER (name)"}))
    assert not [row for row in rows(session) if row[2] == "99999"]


@pytest.fixture
def later(monkeypatch):
    """A word of the language that this version has no method for."""
    monkeypatch.setattr(algorithms, "_RESERVED", {"later": frozenset({"TABLE"})})


def test_what_a_later_version_brings_is_told_as_such(duck, later):
    with pytest.raises(NotAvailable, match="ALGORITHM later is not available"):
        duck.execute(policy(**{"mondrian": "later"}))


def test_nothing_of_a_file_runs_when_one_statement_is_of_a_later_version(duck, later):
    with pytest.raises(NotAvailable):
        duck.execute("CREATE TABLE made AS SELECT 1 AS x; " + policy(**{"mondrian": "later"}))
    assert duck.engine.relation_kind(Name("made")) is None


# -- drift ----------------------------------------------------------------------------------------------------


def test_a_column_without_a_role_is_refused(duck):
    with pytest.raises(PolicyError, match='"zip" has no role'):
        duck.publish(policy(**{"(age, sex, zip)": "(age, sex)"}))


def test_a_new_column_is_drift_once_the_statement_was_published(duck):
    text = policy(**{"id, name, age, sex, zip, illness": "*"})
    duck.publish(text)
    duck.execute("ALTER TABLE people ADD COLUMN ssn TEXT")
    with pytest.raises(SchemaDrifted, match='"ssn" has no role'):
        duck.publish(text)
    assert duck.verify("people_open").holds


def test_a_dropped_column_is_drift(duck):
    duck.publish(policy())
    duck.execute("ALTER TABLE people RENAME zip TO plz")
    with pytest.raises(Exception, match="zip") as refused:
        duck.execute("REFRESH people_open")
    assert refused.value.exit_code in (1, 3)
    assert duck.verify("people_open").holds


def test_a_changed_type_is_drift_and_names_both(duck):
    duck.publish(policy())
    duck.execute("ALTER TABLE people ALTER age TYPE VARCHAR")
    with pytest.raises(SchemaDrifted, match='"age" was INTEGER and is VARCHAR'):
        duck.execute("REFRESH people_open")


# -- risks and roles -------------------------------------------------------------------------------------------


def test_an_unknown_risk_is_a_mistake(duck):
    with pytest.raises(PolicyError, match="did you mean joint"):
        duck.publish(policy("ACCEPT RISK (joint_)"))


def test_nested_types_are_refused_by_name(duck):
    duck.execute("CREATE TABLE nested AS SELECT range AS id, [1, 2] AS xs FROM range(20)")
    with pytest.raises(PolicyError, match='"xs": type INTEGER'):
        duck.publish(
            "CREATE TABLE n AS SELECT id, xs FROM nested WITH ANONYMIZATION "
            "(ALGORITHM mondrian REQUIRE k = 2 QUASI IDENTIFIER (id) INSENSITIVE (xs))"
        )


def test_grants_are_for_engines_with_roles(duck):
    with pytest.raises(Exception, match="no roles"):
        duck.publish(policy("GRANT SELECT TO analyst"))
    assert duck.engine.relation_kind(Name("people_open")) is None


def test_grants_are_given_and_carried_over(postgres_engine, make_table, open_session):
    make_table(postgres_engine, "people", COLUMNS, people())
    session = open_session(postgres_engine)
    session.execute("CREATE ROLE ppdm_test_analyst")
    for _ in range(2):  # replaced: the second one has them, too
        session.publish(policy("GRANT SELECT TO ppdm_test_analyst"))
        assert session.engine.grantees(Name("people_open")) == ["ppdm_test_analyst"]
    session.publish(policy("SUPERSEDES"))
    assert session.engine.grantees(Name("people_open")) == ["ppdm_test_analyst"]


def test_kinds_of_what_is_published(session):
    session.publish(policy())
    kinds = {info.name: info.kind for info in session.engine.columns(Name("people_open"))}
    assert kinds == {"age": Kind.TEXT, "sex": Kind.TEXT, "zip": Kind.TEXT, "illness": Kind.TEXT}


def test_the_rows_do_not_stand_in_the_order_of_the_source(duck):
    duck.execute("CREATE TABLE wide AS SELECT range AS id, range AS age, 'x' || range % 7 AS i FROM range(2000)")
    duck.publish(
        "CREATE TABLE wide_open AS SELECT id, age, i FROM wide WITH ANONYMIZATION "
        "(ALGORITHM mondrian REQUIRE k = 2 IDENTIFIER (id) QUASI IDENTIFIER (age) SENSITIVE (i))"
    )
    stored = duck.engine.fetch(duck.release("wide_open").query)
    lows = [int(str(row[0]).strip("[<>= ").split(",")[0]) for row in stored]
    rising = sum(one <= other for one, other in pairwise(lows))
    assert 0.4 < rising / len(lows) < 0.6


def test_the_record_says_where_it_came_from(duck):
    duck.execute("CREATE VIEW people_view AS SELECT * FROM people")
    release = duck.publish(policy(**{"FROM people": "FROM people_view"}))
    assert releases.current(duck.engine, Name("people_open")).sources == ("main.people",)
    assert release.manifest["release"]["name"] == "people_open"


# -- from findings ----------------------------------------------------------------------------------------


def test_findings_as_the_catalog_keeps_them():
    found = check_rows(
        [
            Finding(KAnonymity(5), None, True, Fraction(7), 0, 0, "0" * 64),
            Finding(Closeness(Fraction(1, 5), "ordered"), "wage", True, Fraction(1, 8), 0, 0, "1" * 64),
            Finding(RecursiveDiversity(Fraction(3), 2), "illness", False, None, 1, 4, "2" * 64),
        ]
    )
    assert [(check.requirement, check.asked) for check in found] == [
        ("k = 5", "5"),
        ("t = 0.2 ordered", "0.2 ordered"),
        ("recursive_l = (3, 2)", "(3, 2)"),
    ]
    assert [(check.achieved, check.achieved_value) for check in found] == [("7", 7.0), ("1/8", 0.125), (None, None)]
    assert [(check.holds, check.breaching_classes, check.breaching_rows) for check in found[1:]] == [
        (True, 0, 0),
        (False, 1, 4),
    ]


def test_a_refusal_speaks_of_nulls_only_where_they_do_not_count():
    """ulcer has NULLs that do not count, wage has NULLs that count as a value, town has none."""
    names = (None, "ulcer", "wage", "town")
    findings = tuple(Finding(DistinctDiversity(2), name, False, Fraction(1), 1, 4, "0" * 64) for name in names)
    judgement = Judgement(rows=10, classes=2, findings=findings, nulls={"ulcer": 3, "wage": 4})
    with pytest.raises(RequirementBreached) as refused:
        refuse_breaches("open", judgement, SimpleNamespace(nulls_as_value=frozenset({"wage"})))
    assert str(refused.value).count("is NULL in") == 1
    assert '"ulcer" is NULL in 3 of 10 rows' in str(refused.value)


def test_suppressed_rows_are_not_expected_to_be_stored():
    request = SimpleNamespace(plan=SimpleNamespace(rows=10, suppressed_rows=3))
    _check_complete(request, Judgement(rows=7, classes=1, findings=()))
    for rows in (6, 8, 10, 13):
        with pytest.raises(PpdmError, match=f"expected 7 stored rows, found {rows}; nothing was published"):
            _check_complete(request, Judgement(rows=rows, classes=1, findings=()))
