"""How much a release still says: measured on what is stored, printed wherever privacy is, and required."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from ppdm_sql.catalog.manifest import Manifest
from ppdm_sql.commands import show
from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.release.reverify import reverify_file
from tests.release.conftest import policy

ROWS = [(number, 20 + number, "ab"[number % 2], "flu") for number in range(20)]


def stated(more: str = "", k: int = 5, columns: str = "age, sex", algorithm: str = "mondrian") -> str:
    return f"""CREATE OR REPLACE TABLE open AS SELECT id, {columns}, ill FROM small WITH ANONYMIZATION (
        ALGORITHM {algorithm} REQUIRE k = {k}{more} IDENTIFIER (id) QUASI IDENTIFIER ({columns}) INSENSITIVE (ill) SEED 3)"""


@pytest.fixture
def small(engine, make_table, open_session):
    make_table(engine, "small", {"id": "INTEGER", "age": "INTEGER", "sex": "TEXT", "ill": "TEXT"}, ROWS)
    return open_session(engine)


def naive_losses(rows: list[dict], quasi: list[str]) -> dict[str, Fraction]:
    """By the definition: the other values that a printed label leaves open, of all other values."""
    lost = {}
    for place, name in enumerate(quasi, start=1):
        values = sorted({row[place] for row in ROWS})
        total = Fraction(0)
        for row in rows:
            label = row[name]
            if label == "*":
                covered = values
            elif label.startswith("< "):
                covered = [one for one in values if one < int(label[2:])]
            elif label.startswith(">= "):
                covered = [one for one in values if one >= int(label[3:])]
            elif label.startswith("["):
                low, high = map(int, label[1:-1].split(", "))
                covered = [one for one in values if low <= one < high]
            else:
                covered = [label]
            total += Fraction(len(covered) - 1, len(values) - 1)
        lost[name] = total / len(rows)
    return lost


@pytest.mark.parametrize("k", [5, 3, 20])
def test_the_loss_is_that_of_the_definition(small, k):
    release = small.publish(stated(k=k))
    published = release.df().to_dict("records")
    naive = naive_losses(published, ["age", "sex"])
    found = release.utility
    assert {one.column: float(one.loss) for one in found.columns} == {
        name: pytest.approx(float(lost), abs=5e-5) for name, lost in naive.items()
    }
    assert float(found.loss) == pytest.approx(float(sum(naive.values()) / 2), abs=5e-5)
    assert {one.column: one.labels for one in found.columns} == {
        name: len({row[name] for row in published}) for name in naive
    }
    assert {one.column: one.suppressed_rows for one in found.columns} == {
        name: sum(row[name] == "*" for row in published) for name in naive
    }
    assert float(found.average_class_size) == pytest.approx(20 / release.classes, abs=0.05)


def test_plan_and_publication_give_the_same_figures_and_rows_of_the_release(small):
    plan = small.plan(stated())
    release = small.publish(stated())
    assert plan.utility == release.utility
    assert len(plan.sample) == 5
    published = [tuple(row.values()) for row in release.df().to_dict("records")]
    assert set(plan.sample) <= set(published)
    assert small.plan(stated(), rows=0).sample == ()
    assert len(small.plan(stated(), rows=100).sample) == 20
    told = plan.as_json()
    assert told["loss"] == release.as_json()["loss"] == float(release.utility.loss)
    assert list(told["sample"][0]) == ["age", "sex", "ill"]


def test_what_would_be_refused_shows_no_row(session):
    session.publish(policy())
    plan = session.plan(policy(**{"people_open": "people_too", "k = 5": "k = 9"}))
    assert not plan.holds
    assert plan.sample == ()


def test_a_suppressed_column_and_a_single_class_are_warnings(small, capsys):
    release = small.publish(stated(k=20))
    assert release.classes == 1
    told = [
        'Column "age" is suppressed in 20 of 20 rows (100 %). Fewer quasi-identifiers, another HIERARCHY or a smaller k can keep '
        "more of it.",
        'Column "sex" is suppressed in 20 of 20 rows (100 %). Fewer quasi-identifiers, another HIERARCHY or a smaller k can keep '
        "more of it.",
        'The release is a single equivalence class: every row has the same value of "age", "sex".',
    ]
    assert release.warnings == release.as_json()["warnings"] == small.plan(stated(k=20)).warnings == told
    for print_it in (show.print_published, show.release):
        print_it(release)
        out = capsys.readouterr().out
        assert all(f"warning: {one}" in out for one in told)
        assert "quasi-identifier  loss  suppressed  labels" in out
    assert small.publish(stated()).warnings == []


@pytest.mark.duckdb
def test_a_manifest_without_utility_still_opens_and_shows(duck, capsys):
    release = duck.publish(policy())
    before = replace(release.record.manifest, utility=None)
    told = before.to_json()
    assert "utility" not in told
    assert Manifest.from_json(json.loads(json.dumps(told))) == before
    show.release(replace(release, record=replace(release.record, manifest=before)))
    assert "labels" not in capsys.readouterr().out


@pytest.mark.duckdb
@pytest.mark.parametrize("algorithm", ["mondrian", "kactus", "kactus2", "kadet", "tpp"])
def test_every_method_is_measured_the_same_way(duckdb_engine, make_table, open_session, algorithm):
    rows = [(n, 20 + n % 30, "ab"[n % 2], ("x", "y")[n % 30 > 12]) for n in range(120)]
    make_table(duckdb_engine, "small", {"id": "INTEGER", "age": "INTEGER", "sex": "TEXT", "ill": "TEXT"}, rows)
    session = open_session(duckdb_engine)
    text = stated(algorithm=algorithm).replace("INSENSITIVE (ill)", "TARGET (ill) ACCEPT RISK (boundaries)")
    text = text if algorithm == "tpp" else text.replace("ACCEPT RISK (boundaries)", "")
    found = session.publish(text).utility
    assert [one.column for one in found.columns] == ["age", "sex"]
    assert all(0 <= float(one.loss) <= 1 and one.labels for one in found.columns)


# -- REQUIRE loss ------------------------------------------------------------------------------------------


def test_what_is_too_coarse_is_refused_and_nothing_is_published(small):
    for asked, told in (
        ("loss <= 0.1", r"open: loss <= 0\.1 is required, but the loss is 0\.\d+; nothing was published"),
        ("loss (AGE) <= 0.05, loss (sex) <= 1", r"open: loss \(AGE\) <= 0\.05 is required, but the loss is"),
    ):
        plan = small.plan(stated(f", {asked}"))
        assert not plan.holds
        assert plan.sample == ()
        with pytest.raises(RequirementBreached, match=told):
            small.publish(stated(f", {asked}"))
    assert small.releases() == []


def test_the_bound_itself_holds_and_is_printed_verified_and_exported(small, capsys):
    exact = naive_losses(small.publish(stated()).df().to_dict("records"), ["age", "sex"])["age"]
    below = int(exact * 10**15)
    assert Fraction(below, 10**15) < exact < 1
    for digits in (below, below + 1):  # decided exactly, not as it is printed
        assert small.plan(stated(f", loss (age) <= 0.{digits:015d}")).holds is (digits > below)
    release = small.publish(stated(", loss <= 0.9, loss (age) <= 0.9"))
    told = [(one.requirement, one.column, one.holds) for one in release.outcomes]
    assert told == [("k = 5", None, True), ("loss <= 0.9", None, True), ("loss (age) <= 0.9", "age", True)]
    show.print_published(release)
    assert "loss (age) <= 0.9  age" in capsys.readouterr().out
    assert [one["requirement"] for one in release.as_json()["findings"]] == [one for one, _, _ in told]
    assert [one.requirement for one in small.verify("open").findings] == [one for one, _, _ in told]
    path = small.export("open", "open.csv").path
    assert [one.requirement for one in reverify_file(path).findings] == [one for one, _, _ in told]


@pytest.mark.duckdb
def test_rows_that_were_edited_say_nothing_of_their_loss(duckdb_engine, make_table, open_session):
    make_table(duckdb_engine, "small", {"id": "INTEGER", "age": "INTEGER", "sex": "TEXT", "ill": "TEXT"}, ROWS)
    session = open_session(duckdb_engine)
    session.publish(stated(", loss <= 0.9"))
    session.execute("UPDATE open SET age = '*'")
    found = session.verify("open")
    assert not found.holds
    assert [one.requirement for one in found.findings] == ["k = 5"]


MISTAKES = [
    ("loss <= 1.1", "loss is a number from 0 (exact) to 1 (suppressed), not 1.1"),
    ("loss <= -0.1", "loss is a number from 0 (exact) to 1 (suppressed), not -0.1"),
    ("loss = 0.4", "expected <= after loss, as in loss <= 0.4, not ="),
    ("loss (ill) <= 0.4", "loss: ill is not a quasi-identifier: valid options: age, sex"),
    ("loss (agee) <= 0.4", "loss: agee is not a quasi-identifier: did you mean age?"),
    ("loss <= 0.4, loss <= 0.5", "loss is required twice, first at"),
    ("loss (age) <= 0.4, loss (age) <= 0.5", "loss (age) is required twice, first at"),
]


@pytest.mark.duckdb
@pytest.mark.parametrize(("asked", "told"), MISTAKES)
def test_a_wrong_bound_or_column_is_a_mistake_with_its_place(duckdb_engine, open_session, asked, told):
    session = open_session(duckdb_engine)
    with pytest.raises(PolicyError) as refused:
        session.execute(f"CREATE TABLE first (a INTEGER);{stated(', ' + asked)}", file="p.sql")
    (mistake,) = refused.value.mistakes
    assert mistake.message.startswith(told)
    assert (mistake.line, mistake.column > 40) == (2, True)
    assert session.engine.relations("main") == []


@pytest.mark.duckdb
def test_loss_protects_nobody_and_is_not_for_models_and_live_views(duckdb_engine, open_session):
    session = open_session(duckdb_engine)
    for text, told in (
        (stated().replace("k = 5", "loss <= 0.4"), "REQUIRE asks for nothing that protects people"),
        (stated(", loss <= 0.4").replace("TABLE open", "MODEL open"), "loss is for a TABLE or VIEW"),
        (
            stated(", loss <= 0.4", algorithm="tpp").replace("TABLE open", "VIEW open LIVE"),
            "a LIVE view cannot keep it",
        ),
    ):
        with pytest.raises(PolicyError, match=told):
            session.execute(text)
