"""Edits of the catalog show: every row that is deleted, changed or added by hand, and which."""

from __future__ import annotations

import pytest

from ppdm_sql.catalog import ledger, migrate, releases
from ppdm_sql.catalog.releases import Check
from ppdm_sql.catalog.store import append, new_id, now
from ppdm_sql.errors import Tampered

HOLDS = Check("k = 10", None, "10", "12", 12.0, 0, 0, True, "5ha")
NO_UPDATE = pytest.mark.lacks(
    "spark", reason="Spark cannot UPDATE or DELETE, so that nobody edits its catalog this way"
)


@pytest.fixture
def release(catalog, a_release):
    """One release with every kind of row."""
    made = a_release(sources=("clinic.patients", "clinic.wards"))
    releases.record(catalog, made, [HOLDS])
    releases.add_event(catalog, made.release_id, "exported", "a.csv")
    releases.add_event(catalog, made.release_id, "verified", None, [HOLDS])
    releases.add_readers(catalog, made.release_id, ["analyst"])
    assert ledger.problems(catalog) == ()
    return made


EDITS = {
    "DELETE FROM ppdm.release_source WHERE source = 'clinic.wards'": 'its source "clinic.wards" was deleted',
    "UPDATE ppdm.release_source SET source = 'x' WHERE source = 'clinic.wards'": 'its source "clinic.wards" was deleted',
    "DELETE FROM ppdm.release_event WHERE event = 'exported'": 'its event "exported" was deleted',
    "UPDATE ppdm.release_event SET detail = 'x' WHERE event = 'exported'": 'its event "exported" was edited',
    "UPDATE ppdm.release_event SET seq = 9 WHERE event = 'published'": 'its event "published" was edited',
    "UPDATE ppdm.release SET k_promised = 2": "its record was edited",
    "UPDATE ppdm.release SET roles = '{}'": "its record was edited",
    "UPDATE ppdm.release SET manifest = '{}'": "its record was edited",
    "DELETE FROM ppdm.release_reader": 'its reader "analyst" was deleted',
    "UPDATE ppdm.release_check SET achieved = '99' WHERE position = 1": "a measurement of it was edited",
    "DELETE FROM ppdm.release_check": "a measurement of it was deleted",
    "DELETE FROM ppdm.ledger_entry WHERE number = 3": "entries 3 to 3 of the ledger are missing",
    "DELETE FROM ppdm.ledger_entry WHERE number >= 4": "the newest entries of the ledger are missing: 5 were written",
    "DELETE FROM ppdm.ledger_entry WHERE number = 1": "the seal at the start of the ledger is missing",
    "DELETE FROM ppdm.ledger_entry": "the newest entries of the ledger are missing",
    "UPDATE ppdm.ledger_entry SET rows = '{}' WHERE number = 2": "entry 2 of the ledger was edited",
    "UPDATE ppdm.ledger_entry SET hash = 'x' WHERE number = 5": "entry 5 of the ledger was edited",
    "UPDATE ppdm.ledger SET head = 'x'": "is not the one that was written last",
    "UPDATE ppdm.setting SET value = 'x' WHERE name = 'salt'": "or the salt was",
}


@NO_UPDATE
@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_shows_and_says_which_row(catalog, release, edit):
    catalog.pass_through(edit)
    found = ledger.problems(catalog)
    assert any(EDITS[edit] in problem for problem in found), found
    with pytest.raises(Tampered, match="the catalog was edited: .*; nothing was published"):
        ledger.refuse_edited(catalog, "published")


@NO_UPDATE
def test_a_release_that_was_deleted_as_a_whole_is_missed(catalog, release):
    for table in ("release_source", "release_event", "release_check", "release_reader", "release"):
        catalog.pass_through(f"DELETE FROM ppdm.{table}")
    assert 'release "clinic.patients_open": its record was deleted' in ledger.problems(catalog)


def test_a_row_that_was_added_by_hand_shows(catalog, release):
    row = {"event_id": new_id(), "release_id": release.release_id, "seq": 99, "event": "superseded", "detail": None}
    append(catalog, "release_event", row | {"happened_at": now()})
    said = ledger.problems(catalog)
    if catalog.has_transactions:
        assert said == ('release "clinic.patients_open": its event "superseded" was not written by ppdm_sql',)


@NO_UPDATE
def test_without_its_lock_row_nothing_is_written(catalog, release):
    catalog.pass_through("DELETE FROM ppdm.ledger")
    with pytest.raises(Tampered, match=r"ppdm\.ledger has 0 rows instead of one"):
        releases.add_event(catalog, release.release_id, "dropped")


@NO_UPDATE
def test_what_was_deleted_stays_missed_when_the_chain_goes_on(catalog, release):
    catalog.pass_through("DELETE FROM ppdm.ledger_entry WHERE number = 5")
    releases.add_event(catalog, release.release_id, "tampered")
    assert "entries 5 to 5 of the ledger are missing" in ledger.problems(catalog)


@NO_UPDATE
def test_a_seal_accepts_what_is_there_and_says_why(catalog, release):
    catalog.pass_through("DELETE FROM ppdm.release_source WHERE source = 'clinic.wards'")
    ledger.seal(catalog, "wards was merged into patients")
    state = ledger.state(catalog)
    assert (state.problems, state.reason, state.entries) == ((), "wards was merged into patients", 6)
    releases.add_event(catalog, release.release_id, "verified")
    assert ledger.problems(catalog) == ()
    catalog.pass_through("DELETE FROM ppdm.release_source")
    found = ledger.problems(catalog)
    assert found == (
        'release "clinic.patients_open": rows from before the seal of the ledger were edited, added or deleted',
    )


@NO_UPDATE
def test_a_catalog_of_the_version_before_is_sealed_with_what_it_has(engine, files, a_former_release):
    """Its rows have no entries of their own; the seal covers them from now on."""
    release_id = a_former_release(engine, files)
    assert ledger.state(engine) == ledger.ChainState(0, None, None, ())
    assert releases.list_releases(engine)[0].readers == ()
    releases.add_event(engine, release_id, "verified")
    state = ledger.state(engine)
    assert (state.problems, state.reason, state.entries) == ((), "the chain begins", 2)
    engine.pass_through("DELETE FROM ppdm.release_source")
    assert "rows from before the seal" in ledger.problems(engine)[0]


@pytest.fixture
def a_former_release():
    """Writes a release as the version before the chain did."""
    from ppdm_sql.catalog import runs

    def write(engine, files) -> str:
        later = {file: file.read_text() for file in sorted(files.glob("*.sql"))[6:]}
        for file in later:
            file.unlink()
        migrate.migrate(engine)
        run_id, release_id = runs.start_run(engine, "CREATE TABLE ..."), new_id()
        words = dict.fromkeys(
            ("schema_name", "relation_name", "kind", "algorithm", "source_query", "policy_text", "manifest_sha256"), "x"
        )
        json = dict.fromkeys(("options", "requirements", "roles", "key_columns", "columns", "manifest"), "{}")
        row = {"release_id": release_id, "run_id": run_id, "seed": "0", "generation": 1, "version": "0"}
        append(engine, "release", row | words | json | {"published_at": now()})
        append(engine, "release_source", {"release_id": release_id, "source": "clinic.patients"})
        event = {"event_id": new_id(), "release_id": release_id, "seq": 1, "event": "published", "happened_at": now()}
        append(engine, "release_event", event)
        for file, text in later.items():
            file.write_text(text)
        return release_id

    return write


def test_what_a_role_could_read_is_out_after_it_was_dropped(catalog, a_release):
    secret, shown = a_release(relation_name="secret"), a_release(relation_name="shown")
    for one in (secret, shown):
        releases.record(catalog, one)
    releases.add_readers(catalog, shown.release_id, ["analyst", "analyst"])
    releases.add_readers(catalog, shown.release_id, ["analyst"])
    for one in (secret, shown):
        releases.add_event(catalog, one.release_id, "dropped")
    assert [one.release_id for one in releases.live_from(catalog, ["clinic.patients"])] == [shown.release_id]
