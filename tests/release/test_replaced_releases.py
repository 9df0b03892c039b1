"""What nobody was given does not stand against its own successor, and SUPERSEDES says of which releases it speaks."""

from __future__ import annotations

import pytest

from ppdm_sql.errors import EngineError, PolicyError, RequirementBreached
from ppdm_sql.statements.names import Name
from tests.release.conftest import policy
from tests.release.test_joint_models import COLUMNS, model, visits

PSEUDO = "CREATE OR REPLACE TABLE made AS PSEUDO DATA FROM MODEL one WITH (classes = counts, seed = {})"


def named(name: str, more: str = "", *, k: int = 5, kind: str = "TABLE") -> str:
    text = policy(**{"people_open": name, "k = 5": f"k = {k}", "REPLACE TABLE": f"REPLACE {kind}"})
    return text.replace("SEED 7", f"{more} SEED 7")


def listed(session) -> list[tuple[str, str, bool]]:
    return [(one.relation_name, one.state, one.is_out) for one in session.releases(include_gone=True)]


@pytest.fixture
def clinic(engine, make_table, open_session):
    """Models "one" and "two" hide everybody in groups of eight, and do not together."""
    make_table(engine, "visits", COLUMNS, visits(1))
    return open_session(engine)


# -- never handed over -------------------------------------------------------------------------------------


@pytest.mark.lacks("spark", reason="others may read a table there without the engine knowing it")
@pytest.mark.parametrize("kind", ["TABLE", "VIEW"])
def test_another_recoding_replaces_what_nobody_was_given(session, kind):
    for k in (5, 9, 7):
        assert session.plan(named("ta", k=k, kind=kind)).holds
        assert session.publish(named("ta", k=k, kind=kind)).manifest["joint"] == []
    assert listed(session) == [("ta", "live", True), ("ta", "superseded", False), ("ta", "superseded", False)]
    session.execute("INSERT INTO people VALUES (5000, 'New', 40, 'f', '10001', 'flu')")
    session.execute("REFRESH ta")
    assert session.verify("ta").rows == 121


def test_what_was_exported_counts_under_its_own_name_and_after_a_drop(session):
    session.publish(named("ta"))
    session.export("ta", "ta.csv")
    assert not session.plan(named("ta", k=9)).holds
    with pytest.raises(RequirementBreached, match="together with ta has"):
        session.publish(named("ta", k=9))
    session.drop("ta")
    with pytest.raises(RequirementBreached, match="together with ta has"):
        session.publish(named("ta", k=9))


@pytest.mark.lacks("spark", reason="others may read a table there without the engine knowing it")
def test_trying_out_forgets_no_export_of_an_earlier_state(session):
    """Exported, published again with the same rows, and only then tried with others."""
    session.publish(named("ta"))
    session.export("ta", "ta.csv")
    session.publish(named("ta"))
    with pytest.raises(RequirementBreached, match="together with ta has"):
        session.publish(named("ta", k=9))
    session.publish(named("ta", "ACCEPT RISK (joint)", k=9))  # nobody has this one
    session.publish(named("ta"))  # and it does not stand against the rows that were exported
    with pytest.raises(RequirementBreached, match="together with ta"):
        session.publish(named("ta", k=9))


def test_it_stands_against_other_names(session):
    session.publish(named("ta"))
    with pytest.raises(RequirementBreached, match="together with ta has"):
        session.publish(named("tb", k=9))


@pytest.mark.postgres
@pytest.mark.parametrize("way", ["grant", "revoked", "column", "view", "clause", "taken behind our back"])
def test_a_role_that_could_read_it_may_have_a_copy(postgres_engine, tables, open_session, postgres_admin, way):
    tables(postgres_engine)
    session = open_session(postgres_engine)
    role = "ppdm_test_analyst"
    postgres_admin.execute(f"CREATE ROLE {role}")
    session.publish(named("ta", f"GRANT SELECT TO {role}" if way == "clause" else ""))
    given = {
        "grant": f"GRANT SELECT ON ta TO {role}",
        "revoked": f"GRANT SELECT ON ta TO {role}; REVOKE SELECT ON ta FROM {role}",
        "column": f"GRANT SELECT (age) ON ta TO {role}; REVOKE SELECT (age) ON ta FROM {role}",
        "view": f"CREATE VIEW seen AS SELECT * FROM ta; GRANT SELECT ON seen TO {role}",
        "clause": "",
        "taken behind our back": "",
    }[way]
    session.execute(given)
    if way == "taken behind our back":
        postgres_admin.execute(f"GRANT SELECT ON ta TO {role}")
        postgres_admin.execute(f"REVOKE SELECT ON ta FROM {role}")
    assert not session.plan(named("ta", k=9)).holds
    if way == "view":
        for ask in (lambda: session.publish(named("ta", k=9)), lambda: session.drop("ta")):
            with pytest.raises(
                EngineError, match="view public.seen depends on table public.ta. Drop that first"
            ) as refused:
                ask()
            assert refused.value.exit_code == 3
        assert session.verify("ta").holds
        session.execute("DROP VIEW seen")
    with pytest.raises(RequirementBreached, match="together with ta has"):
        session.publish(named("ta", k=9))


@pytest.mark.lacks("spark", reason="others may read a table there without the engine knowing it")
def test_a_model_is_replaced_unless_its_pseudo_data_gives_it_back(clinic):
    clinic.publish(model("one"))
    clinic.execute(PSEUDO.format(7))
    clinic.execute(PSEUDO.format(8))  # nobody was given the rows before
    other = model("two").replace("MODEL two", "MODEL one")
    with pytest.raises(RequirementBreached, match="together with one has"):
        clinic.publish(other)
    clinic.drop("made")
    clinic.publish(other)
    assert [(name, state) for name, state, out in listed(clinic) if out] == [("one", "live")]


@pytest.mark.lacks("spark", reason="others may read a table there without the engine knowing it")
def test_exported_pseudo_data_keeps_its_model_in_the_ledger(clinic):
    clinic.publish(model("one"))
    clinic.execute(PSEUDO.format(7))
    clinic.export("made", "made.csv")
    clinic.drop("made")
    with pytest.raises(RequirementBreached, match="together with one has"):
        clinic.publish(model("two").replace("MODEL two", "MODEL one"))


# -- SUPERSEDES --------------------------------------------------------------------------------------------


def test_without_a_list_it_speaks_of_the_release_itself(session):
    session.publish(named("ta"))
    session.publish(named("tb"))
    session.export("ta", "ta.csv")
    with pytest.raises(RequirementBreached, match="together with tb has"):
        session.publish(named("ta", "SUPERSEDES", k=9))
    session.drop("tb")
    plan = session.plan(named("ta", "SUPERSEDES", k=9))
    assert (plan.holds, plan.withdraws) == (True, ())
    assert session.publish(named("ta", "SUPERSEDES", k=9)).withdrawn == []
    assert listed(session)[0] == ("ta", "live", True)
    assert not any(out for _, _, out in listed(session)[1:])


def test_a_list_speaks_of_the_releases_it_names_and_of_no_other(session):
    session.publish(named("ta"))
    session.publish(named("tb"))
    session.export("ta", "ta.csv")
    session.drop("ta")  # the copy counts all the same
    with pytest.raises(RequirementBreached, match="together with ta"):
        session.publish(named("tc", "SUPERSEDES (tb)", k=9))
    text = named("tc", "SUPERSEDES (ta, TB)", k=9)
    assert session.plan(text).withdraws == ("tb",)
    assert session.publish(text).withdrawn == ["tb"]
    assert session.engine.relation_kind(Name("tb")) is None
    session.execute("REFRESH tc")  # what is gone already is no mistake
    assert [name for name, state, _ in listed(session) if state == "live"] == ["tc"]


def test_a_list_without_the_release_itself_says_nothing_of_its_exports(session):
    session.publish(named("ta"))
    session.publish(named("tb"))
    session.export("ta", "ta.csv")
    with pytest.raises(RequirementBreached, match="together with ta"):
        session.publish(named("ta", "SUPERSEDES (tb)", k=9))
    session.publish(named("ta", "SUPERSEDES (ta, tb)", k=9))


@pytest.mark.duckdb
def test_a_release_of_another_table_can_be_named(duck):
    duck.publish(named("ta"))
    duck.execute("CREATE TABLE twin AS SELECT * FROM people")
    with pytest.raises(RequirementBreached, match="made from another table"):
        duck.publish(named("tb", "SUPERSEDES ALL", k=9).replace("FROM people", "FROM twin"))
    duck.publish(named("tb", "SUPERSEDES (ta)", k=9).replace("FROM people", "FROM twin"))
    assert duck.engine.relation_kind(Name("ta")) is None


@pytest.mark.duckdb
def test_an_unknown_name_runs_nothing(duck):
    duck.publish(named("people_open"))
    text = named("tb", "SUPERSEDES (people_opne, x.other)")
    for ask in (duck.execute, duck.publish, duck.plan):
        with pytest.raises(PolicyError) as refused:
            ask(text)
        assert [(one.line, one.column) for one in refused.value.mistakes] == [(11, 17), (11, 30)]
        told = [one.message for one in refused.value.mistakes]
        assert told[0].endswith('there is no release "people_opne" in this database; did you mean people_open?')
        assert 'no release "x.other"' in told[1]
    duck.execute(named("tb") + ";" + named("tc", "SUPERSEDES (people_open, tb)", k=9))
    assert [one.relation_name for one in duck.releases()] == ["tc"]


@pytest.mark.duckdb
def test_pseudo_data_of_a_former_model_goes_with_it_and_is_listed(duckdb_engine, make_table, open_session):
    make_table(duckdb_engine, "visits", COLUMNS, visits(1))
    session = open_session(duckdb_engine)
    session.publish(model("one"))
    session.execute(PSEUDO.format(7))
    assert session.plan(model("one", more="SUPERSEDES")).withdraws == ()  # the same tree
    assert session.plan(model("one", 9, more="SUPERSEDES")).withdraws == ("made",)
    assert session.publish(model("one", 9, more="SUPERSEDES")).withdrawn == ["made"]
