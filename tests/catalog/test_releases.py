"""What was published is remembered exactly, found by name and by source, and never changed."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import fields, replace
from datetime import datetime, timedelta

import pytest
from sqlglot import exp

from ppdm_sql.catalog import ledger, migrate, releases, runs
from ppdm_sql.catalog import salt as salts
from ppdm_sql.catalog.releases import Check, ReleaseRecord
from ppdm_sql.catalog.store import json_text, new_id, sha256_of
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import DatabaseUnavailable, EngineError, PolicyError
from ppdm_sql.statements.names import SCHEMA, Name, column
from tests.records import manifest_record, roles_record

OPEN = Name("clinic", "patients_open")
HOLDS = Check("k = 10", None, "10", "12", 12.0, 0, 0, True, "5ha")
BREAKS = Check("simple_l = 2", "diagnosis", "2", "4/3", 4 / 3, 3, 41, False, "5ha")


def ids(found) -> list[str]:
    return [release.release_id for release in found]


@pytest.fixture
def publish(catalog, a_release):
    """Records a release as release/ does: inside a transaction that is the caller's."""

    def publish(*checks: Check, **changes: object) -> ReleaseRecord:
        release = a_release(**changes)
        with ledger.lock_ledger(catalog):
            releases.record(catalog, release, checks)
        return release

    return publish


# -- a release comes back as it went in ------------------------------------------------------------


def test_a_release_comes_back_as_it_went_in(catalog, publish):
    release = publish(seed=-(10**30), sources=("clinic.patients", "clinic.wards"))
    assert releases.by_id(catalog, release.release_id) == release
    assert releases.by_id(catalog, "nobody") is None


def test_what_a_model_lacks_stays_unknown(catalog, publish):
    lacking = dict.fromkeys(("k_promised", "rows", "classes", "suppressed_rows", "content_hash"))
    release = publish(kind="MODEL", key_columns=(), sources=(), **lacking)
    assert releases.by_id(catalog, release.release_id) == release


TEXTS = [f.name for f in fields(ReleaseRecord) if f.type in ("str", "str | None") and f.name != "manifest_sha256"]


def test_every_text_comes_back_to_the_letter(catalog, publish, hostile):
    for text in hostile:
        held = {"text": text, text: [text, None, 1.5, True, {"a": 10**20}]}
        changes = dict.fromkeys(TEXTS, text) | {
            "options": held,
            "requirements": (text, "k = 5"),
            "roles": roles_record(source_columns={text: text}, levels={text: {text: (text,)}}, others={text: held}),
            "columns": {text: text},
            "manifest": manifest_record(figures=held, columns={text: text}, residual_risks={text: text}),
        }
        run_id = runs.start_run(catalog, text)
        check = Check(text, text, text, text, 0.1, 1, 2, False, text)
        release = publish(check, **changes | {"run_id": run_id, "key_columns": (text, "b"), "sources": (text,)})
        releases.add_event(catalog, text, "exported", text)
        assert releases.by_id(catalog, text) == release
        assert releases.current(catalog, Name(text, text)) == release
        assert releases.live_from(catalog, [text]) == [release]
        assert releases.list_releases(catalog)[0].name == Name(text, text)
        assert releases.checks(catalog, text)[0].checks == (check,)
        assert [event.detail for event in releases.events(catalog, text)] == [None, text]


def test_a_policy_of_a_megabyte_is_kept(catalog, publish):
    text = "SELECT 'é' -- 🦆 %s $k\n" * 50_000
    assert len(text) > 1_000_000
    release = publish(policy_text=text)
    assert releases.by_id(catalog, release.release_id).policy_text == text


def test_nul_is_refused_by_the_name_of_its_place(catalog, publish):
    for name in TEXTS:
        with pytest.raises(PolicyError, match=rf"ppdm\.release\.{name} cannot hold a NUL") as refusal:
            publish(**{name: "secret\0"})
        assert "secret" not in str(refusal.value)
    with pytest.raises(PolicyError, match=r"ppdm\.release_source\.source cannot"):
        publish(sources=("secret\0",))
    assert releases.list_releases(catalog, include_gone=True) == []


def test_nul_in_a_column_name_is_kept_escaped(catalog, publish):
    release = publish(key_columns=("a\0b",))
    assert releases.by_id(catalog, release.release_id).key_columns == ("a\0b",)


def test_a_manifest_is_stored_with_its_own_hash_only(catalog, a_release):
    with pytest.raises(ValueError, match="sha256"):
        releases.record(catalog, replace(a_release(), manifest=manifest_record(rows=99)))


@pytest.mark.lacks("spark", reason="Spark cannot UPDATE, so that nobody edits its catalog this way")
def test_an_edited_manifest_shows(catalog, publish):
    release = publish()
    assert releases.by_id(catalog, release.release_id).manifest_is_intact
    edited = exp.Update(
        this=Name(SCHEMA, "release").table(),
        expressions=[exp.EQ(this=column("manifest"), expression=exp.Literal.string('{"k": 99}'))],
    )
    catalog.execute(edited)
    assert not releases.by_id(catalog, release.release_id).manifest_is_intact


# -- finding by name -------------------------------------------------------------------------------


def test_the_current_release_is_the_newest_live_one(catalog, publish):
    assert releases.current(catalog, OPEN) is None
    first, second = publish(), publish()
    assert releases.current(catalog, OPEN) == second
    releases.add_event(catalog, second.release_id, "dropped")
    assert releases.current(catalog, OPEN) == first
    releases.add_event(catalog, first.release_id, "superseded")
    assert releases.current(catalog, OPEN) is None


def test_history_keeps_what_is_gone(catalog, publish):
    first, second, other = publish(), publish(), publish(relation_name="other")
    releases.add_event(catalog, first.release_id, "superseded", second.release_id)
    found = releases.history(catalog, OPEN)
    assert ids(found) == ids([second, first])
    assert [release.state for release in found] == ["live", "superseded"]
    assert ids(releases.history(catalog, Name("clinic", "other"))) == ids([other])


def test_a_name_without_schema_means_the_current_one(catalog, publish):
    release = publish(schema_name=None)
    found = releases.current(catalog, Name("patients_open"))
    assert found == replace(release, schema_name=found.schema_name)
    assert found.schema_name not in (None, "clinic")
    assert releases.current(catalog, found.name) == found
    assert releases.current(catalog, OPEN) is None


def test_names_are_the_same_when_the_engine_says_so(catalog, publish):
    """Publishing "Open" must supersede "open" exactly where the two are one relation."""
    catalog.create_schema("ppdm_case")
    one = exp.Select(expressions=[exp.alias_(exp.Literal.number(1), "a")])
    catalog.create_view(Name("ppdm_case", "ppdm_open"), one, replace=True)
    same = catalog.relation_kind(Name("PPDM_CASE", "Ppdm_Open")) is not None
    release = publish(schema_name="ppdm_case", relation_name="ppdm_open", sources=("ppdm_case.t",))
    found = releases.current(catalog, Name("PPDM_CASE", "Ppdm_Open"))
    assert (found == release) if same else (found is None)
    assert releases.live_from(catalog, ["Ppdm_Case.T"]) == ([release] if same else [])
    assert releases.current(catalog, Name("ppdm_case", "ppdm_öpen")) is None
    catalog.drop_view(Name("ppdm_case", "ppdm_open"))


def test_letters_beyond_ascii_are_never_folded(catalog, publish):
    publish(relation_name="É")
    assert releases.current(catalog, Name("clinic", "é")) is None


# -- the ledger ------------------------------------------------------------------------------------


def test_the_ledger_knows_what_is_out_of_a_table(catalog, publish):
    one = publish(relation_name="one", sources=("clinic.patients",))
    both = publish(relation_name="both", sources=("clinic.patients", "clinic.wards"))
    publish(relation_name="else", sources=("clinic.staff",))
    publish(relation_name="of nothing", sources=())
    assert releases.live_from(catalog, ["clinic.patients"]) == [both, one]
    assert releases.live_from(catalog, ["clinic.wards"]) == [both]
    assert releases.live_from(catalog, ["clinic.wards", "clinic.patients", "clinic.none"]) == [both, one]
    assert releases.live_from(catalog, ["clinic"]) == []
    assert releases.live_from(catalog, []) == []


WHAT_BECOMES = [
    ([], "live", True),
    (["verified", "exported", "tampered"], "live", True),
    (["replaced"], "replaced", True),  # someone may have copied it
    (["replaced", "exported"], "replaced", True),
    (["dropped"], "dropped", False),
    (["exported", "dropped"], "dropped", True),  # the copy outside cannot be taken back
    (["replaced", "dropped"], "dropped", False),
    (["superseded"], "superseded", False),
    (["exported", "superseded"], "superseded", False),  # the DBA says that nobody holds it
    (["exported", "dropped", "superseded"], "dropped", False),
    (["dropped", "verified"], "dropped", False),  # nothing that happens later brings it back
    (["superseded", "tampered", "verified"], "superseded", False),
]


def test_a_release_is_shown_and_is_out_by_what_happened_to_it(catalog, publish):
    made, out = [], []
    for number, (happened, state, is_out) in enumerate(WHAT_BECOMES):
        release = publish(relation_name=f"r{number}")
        for event in happened:
            releases.add_event(catalog, release.release_id, event)
        made.insert(0, replace(release, state=state))
        out.insert(0, is_out)
        assert releases.current(catalog, release.name) == (made[0] if state == "live" else None), happened
    still_out = [release for release, is_out in zip(made, out, strict=True) if is_out]
    assert releases.live_from(catalog, ["clinic.patients"]) == still_out
    assert releases.live_from(catalog, ["clinic.patients"], include_gone=True) == made
    lines = releases.list_releases(catalog, include_gone=True)
    assert [(line.release_id, line.state) for line in lines] == [(made.release_id, made.state) for made in made]
    assert [line.is_out for line in lines] == out
    assert releases.list_releases(catalog) == [line for line in lines if line.state == "live"]


def test_columns_keep_their_order(catalog, publish):
    release = publish(columns={"zip": "TEXT", "age": "INTEGER"})
    assert list(releases.by_id(catalog, release.release_id).columns) == ["zip", "age"]


def test_a_release_that_was_never_finished_never_happened(catalog, a_release, monkeypatch):
    """Without transactions a killed run leaves rows behind: they must not count."""

    def killed(*_args):
        raise KeyboardInterrupt

    release = a_release()
    with monkeypatch.context() as patch:
        patch.setattr(releases, "_add_event", killed)
        with pytest.raises(KeyboardInterrupt):
            releases.record(catalog, release)
    if not catalog.has_transactions:
        releases.add_event(catalog, release.release_id, "verified")
    assert releases.by_id(catalog, release.release_id) is None
    assert releases.current(catalog, OPEN) is None
    assert releases.live_from(catalog, ["clinic.patients"], include_gone=True) == []
    assert releases.list_releases(catalog, include_gone=True) == []


@pytest.mark.parametrize("former", [True, False])
def test_of_two_runs_that_publish_one_name_at_once_one_wins(catalog, second, publish, a_release, former):
    """While one has the lock the other waits, and gives up in one sentence; nothing of it is there."""
    if former:
        publish()
    winner, loser = a_release(), a_release()
    shorten_the_wait(second)
    with ledger.lock_ledger(catalog):
        releases.record(catalog, winner)
        with pytest.raises(DatabaseUnavailable, match=r"gave up after 0\.1 s \(--lock-timeout\)\. Nothing was changed"):
            releases.record(second, loser)
    assert releases.current(catalog, OPEN) == winner
    assert releases.by_id(catalog, loser.release_id) is None


def shorten_the_wait(engine) -> None:
    engine.lock_timeout = 0.1
    if not isinstance(engine, DuckDBEngine):
        engine._set("lock_timeout", "100ms")


def test_who_waits_for_the_lock_sees_what_was_written_meanwhile(catalog, second, a_release):
    """The lock comes before the snapshot: nothing can be decided from what was out before."""
    one, other = a_release(relation_name="one"), a_release(relation_name="other")
    migrate.ensure(second)
    releases.salt(second)
    seen: list[str] = []

    def wait() -> None:
        with ledger.lock_ledger(second):
            seen.extend(record.release_id for record in releases.live_from(second, ["clinic.patients"]))
            releases.record(second, other)

    waiting = threading.Thread(target=wait)
    with ledger.lock_ledger(catalog):
        waiting.start()
        releases.record(catalog, one)
    waiting.join(30)
    assert seen == [one.release_id]
    assert ledger.problems(catalog) == ()


def test_what_two_runs_do_to_one_release_is_both_noted(catalog, second, publish):
    release = publish()
    releases.add_event(catalog, release.release_id, "exported")
    releases.add_event(second, release.release_id, "verified", None, [HOLDS])
    found = releases.events(catalog, release.release_id)
    assert [event.event for event in found] == ["published", "exported", "verified"]
    assert ledger.problems(second) == ()


# -- events and checks -----------------------------------------------------------------------------


def test_events_are_in_the_order_they_happened_though_the_clock_went_back(catalog, publish, monkeypatch):
    clock = iter(datetime(2026, 3, 29, 12) - timedelta(hours=hours) for hours in range(100))
    monkeypatch.setattr(releases, "now", lambda: next(clock))
    first = publish(published_at=datetime(2026, 3, 29))
    releases.add_event(catalog, first.release_id, "tampered")
    releases.add_event(catalog, first.release_id, "verified")
    second = publish(published_at=datetime(2026, 3, 28))
    found = releases.events(catalog, first.release_id)
    assert [event.event for event in found] == ["published", "tampered", "verified"]
    assert found[0].happened_at > found[1].happened_at > found[2].happened_at
    assert [event.seq for event in found] == [1, 2, 3]
    assert releases.current(catalog, OPEN) == second
    assert releases.list_releases(catalog)[1].verdict == "verified"


def test_the_list_shows_the_newest_verdict_and_the_copies(catalog, publish):
    for happened, verdict, exports in [
        ([], None, 0),
        (["verified"], "verified", 0),
        (["verified", "tampered"], "tampered", 0),
        (["tampered", "exported", "verified", "exported"], "verified", 2),
    ]:
        release = publish(HOLDS)
        for event in happened:
            releases.add_event(catalog, release.release_id, event)
        line = releases.list_releases(catalog)[0]
        assert (line.verdict, line.exports, line.state) == (verdict, exports, "live"), happened
        assert (line.name, line.requirements, line.k_promised) == (release.name, release.requirements, 10)
        assert (line.rows, line.classes, line.suppressed_rows) == (1200, 40, 3)
        assert line.published_at == release.published_at


def test_checks_come_back_round_by_round(catalog, publish):
    release, other = publish(HOLDS, BREAKS), publish(HOLDS)
    unmeasured = replace(HOLDS, achieved=None, achieved_value=None)
    releases.add_event(catalog, release.release_id, "tampered", "2 rows more", [unmeasured])
    published, tampered = releases.checks(catalog, release.release_id)
    assert (published.event, published.checks) == ("published", (HOLDS, BREAKS))
    assert (tampered.event, tampered.checks) == ("tampered", (unmeasured,))
    assert published.seq < tampered.seq
    assert [found.checks for found in releases.checks(catalog, other.release_id)] == [(HOLDS,)]
    assert releases.checks(catalog, "nobody") == []


def test_an_event_has_one_of_the_known_names(catalog, publish):
    release = publish()
    for event in ("published", "lost"):
        with pytest.raises(ValueError, match=event):
            releases.add_event(catalog, release.release_id, event)
    assert len(releases.events(catalog, release.release_id)) == 1


@pytest.mark.lacks("spark", reason="Spark holds no constraints")
def test_the_database_refuses_what_cannot_be(catalog, publish):
    for change in ({"run_id": "nobody"}, {"rows": -1}, {"k_promised": 0}, {"kind": None}):
        with pytest.raises(EngineError):
            publish(**change)
    assert releases.list_releases(catalog) == []


@pytest.mark.lacks("spark", reason="Spark has no transactions")
def test_a_release_is_there_with_its_transaction_or_not_at_all(catalog, a_release):
    release = a_release()
    with contextlib.suppress(ZeroDivisionError), ledger.lock_ledger(catalog):
        releases.record(catalog, release, [HOLDS])
        assert releases.current(catalog, OPEN) == release
        raise ZeroDivisionError
    assert releases.by_id(catalog, release.release_id) is None
    assert releases.checks(catalog, release.release_id) == []
    assert releases.live_from(catalog, ["clinic.patients"]) == []


# -- what it costs, and what it never does ---------------------------------------------------------


def test_reading_costs_one_statement_however_much_there_is(catalog, publish, statements):
    for number in range(5):
        publish(relation_name=f"r{number}", sources=("clinic.patients", "clinic.wards"))
    for read in (
        lambda: releases.list_releases(catalog, include_gone=True),
        lambda: releases.current(catalog, Name("clinic", "r3")),
        lambda: releases.history(catalog, OPEN),
        lambda: releases.live_from(catalog, ["clinic.patients", "clinic.wards"]),
        lambda: runs.recent(catalog),
    ):
        statements.clear()
        read()
        assert len([said for said in statements if "release_reader" not in said or "release_state" in said]) == 1


def test_rows_are_added_and_never_changed(catalog, publish, statements):
    release = publish(HOLDS)
    releases.add_event(catalog, release.release_id, "verified", None, [HOLDS])
    releases.add_event(catalog, release.release_id, "dropped")
    runs.finish_run(catalog, release.run_id, "published", 0)
    releases.salt(catalog)
    releases.list_releases(catalog)
    assert len(statements) > 8
    others = [said for said in statements if '"ppdm"."ledger"' not in said]  # the lock has the one row that changes
    assert {said.split()[0] for said in others} <= {"INSERT", "SELECT", "WITH"}


# -- the salt --------------------------------------------------------------------------------------


def test_the_salt_is_drawn_once(catalog, statements):
    salt = releases.salt(catalog)
    assert len(bytes.fromhex(salt)) == 32
    statements.clear()
    assert releases.salt(catalog) == salt
    assert [said.split()[0] for said in statements] == ["SELECT"]
    migrate.migrate(catalog)
    assert releases.salt(catalog) == salt


@pytest.mark.duckdb
def test_every_database_has_a_salt_of_its_own():
    drawn = set()
    for _ in range(2):
        with DuckDBEngine.open(":memory:") as engine:
            migrate.migrate(engine)
            drawn.add(releases.salt(engine))
    assert len(drawn) == 2


def test_of_two_salts_drawn_at_once_one_is_kept(catalog, monkeypatch):
    """The other process draws between our look and our own draw."""
    theirs = releases.salt(catalog)
    answers = [None]
    look = salts.known_salt
    monkeypatch.setattr(salts, "known_salt", lambda *given: answers.pop() if answers else look(*given))
    assert releases.salt(catalog) == theirs


def test_ids_and_hashes_are_made_for_names_and_comparisons():
    assert new_id() != new_id()
    assert new_id().isalnum()
    assert len(f"ppdm_link_{new_id()}") <= 63  # PostgreSQL cuts longer names silently
    assert sha256_of(json_text({"b": 1, "a": 2})) == sha256_of(json_text({"a": 2, "b": 1}))
    with pytest.raises(ValueError, match="JSON"):
        json_text(float("nan"))
