"""Catalogs and exported files of earlier versions still open, verify, show, report and export.

tests/kept/<version>/ holds what that version wrote (make.py); the database files are packed with gzip.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.catalog import ledger, migrate, releases
from ppdm_sql.commands import show
from ppdm_sql.errors import RequirementBreached
from ppdm_sql.release.reverify import reverify_file
from ppdm_sql.sharing.collect import read_shared
from tests.kept.make import EXPORTS, RELEASES

pytestmark = pytest.mark.duckdb

HERE = Path(__file__).parent
VERSIONS = sorted(folder.name for folder in HERE.iterdir() if (folder / "catalog.duckdb.gz").exists())
CURRENT = [
    "ages_open",
    "beds_live",
    "loans_model",
    "loans_pseudo",
    "patients_open",
    "staff_open",
    "visits_open",
]
FILES = [file for files in EXPORTS.values() for file in files]


@pytest.fixture(params=VERSIONS)
def kept(request, tmp_path):
    """The folder of a version as it was when its files were written."""
    folder = tmp_path / "kept"
    shutil.copytree(HERE / request.param, folder)
    for packed in folder.glob("*.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
    return folder


@pytest.fixture
def db(kept, tmp_path):
    (tmp_path / "out").mkdir()
    with ppdm_sql.connect(str(kept / "catalog.duckdb"), out=tmp_path / "out") as session:
        yield session


def test_the_catalog_is_as_it_was_written_and_no_migration_is_refused(db):
    migrate.ensure(db.engine)
    assert {one.state for one in migrate.status(db.engine)} == {"applied"}
    assert ledger.problems(db.engine) == ()
    assert sorted(one.relation_name for one in db.releases()) == CURRENT
    gone = {one.relation_name: one.state for one in db.releases(include_gone=True) if one.state != "live"}
    assert gone == {"staff_first": "superseded", "staff_open": "superseded"}


@pytest.mark.parametrize("name", CURRENT)
def test_a_release_verifies_and_is_shown(db, name, capsys):
    found = db.verify(name)
    assert found.holds, found.problems
    show.release(db.release(name))
    assert name in capsys.readouterr().out
    assert db.release(name).as_json()["release"] == name


def test_a_record_is_written_as_it_was_read(db):
    """Hashes cover these texts: not a key more, not a key less."""
    rows = db.engine._connection.execute(
        "SELECT release_id, manifest, roles, requirements, columns, options FROM ppdm.release"
    ).fetchall()
    assert len(rows) == len(db.releases(include_gone=True))
    for release_id, *texts in rows:
        record = releases.by_id(db.engine, release_id)
        written = releases.json_columns(record)
        assert [written[name] for name in ("manifest", "roles", "requirements", "columns", "options")] == texts


@pytest.mark.parametrize(
    ("name", "readers"),
    [*((name, "internal") for name in CURRENT), ("patients_open", "public"), ("loans_pseudo", "public")],
)
def test_a_report_is_written(db, name, readers, tmp_path):
    db.report(name, "page.html", readers=readers)
    page = (tmp_path / "out" / "page.html").read_text("utf-8")
    assert name in page
    assert "does NOT hold" not in page


@pytest.mark.parametrize("name", EXPORTS)
def test_a_release_is_exported_as_it_was_then(db, kept, name, tmp_path):
    for file in EXPORTS[name]:
        db.export(name, file)
        again, before = tmp_path / "out" / file, kept / file
        contents = [json.loads(Path(f"{one}.manifest.json").read_text("utf-8")) for one in (again, before)]
        if not file.endswith(".duckdb"):  # two files of a database with the same rows differ in their bytes
            assert again.read_bytes() == before.read_bytes()
        for content in contents:
            del content["export"]["companions"]  # their comments may be worded in another way
            if file.endswith(".duckdb"):
                del content["export"]["sha256"]
        assert contents[0] == contents[1]
        assert reverify_file(again).holds


@pytest.mark.parametrize("file", FILES)
def test_an_exported_file_verifies(kept, file):
    found = reverify_file(kept / file)
    assert found.holds, found.problems


@pytest.mark.parametrize("file", [file for file in FILES if file != "loans.json"])
def test_a_certificate_still_says_that_it_holds(kept, file):
    text = (kept / f"{file}.certificate.sql").read_text("utf-8").replace("ATTACH '", f"ATTACH '{kept}/")
    with duckdb.connect() as con:
        con.execute(f"SET file_search_path = '{kept}'")
        said = [con.execute(one).fetchall() for one in con.extract_statements(text)]
    *proofs, (content_hash,) = [
        rows[0] for rows in said if rows and len(rows[0]) in (1, 4) and isinstance(rows[0][-1], str)
    ]
    assert all(proof[-1] == "holds" for proof in proofs)
    assert content_hash == json.loads((kept / f"{file}.manifest.json").read_text("utf-8"))["export"]["content_hash"]


def test_a_model_file_can_be_collected(kept):
    shared = read_shared(kept / "loans.json")
    assert (shared.name, shared.tree.root.rows) == ("loans_model", 200)


def test_models_and_evaluations_are_read(db):
    assert [one.name for one in db.models()] == ["loans_bayes", "loans_model", "loans_tree"]
    assert db.model("loans_tree").tree.root.rows == 200
    first = RELEASES.split(";")[0]
    assert [point.k for point in db.evaluate(first, grid=["k=5,10"], learner="none").points] == [5, 10]


def test_a_new_release_is_judged_together_with_those_of_the_version(db):
    other = "CREATE TABLE zips AS SELECT id, zip FROM patients WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 5 IDENTIFIER (id) QUASI IDENTIFIER (zip))"
    with pytest.raises(RequirementBreached, match="together with"):
        db.publish(other)
    db.publish(re.sub(r"\)$", " SUPERSEDES ALL)", other))
    assert "patients_open" not in [one.relation_name for one in db.releases()]


def test_a_release_whose_method_now_recodes_otherwise_is_not_refreshed_but_superseded(db):
    """mondrian of this version makes other classes of the same rows: both together would separate people."""
    before = db.release("visits_open").record
    with pytest.raises(RequirementBreached, match="visits_open together with visits_open has"):
        db.execute("REFRESH visits_open")
    assert db.release("visits_open").record == before
    (text,) = [one for one in RELEASES.split(";") if " visits_open " in one]
    db.execute(re.sub(r"\)$", " SUPERSEDES (visits_open))", text.replace("CREATE VIEW", "CREATE OR REPLACE VIEW")))
    assert db.release("visits_open").record.release_id != before.release_id
    assert db.verify("visits_open").holds


@pytest.mark.parametrize("name", ["beds_live", "loans_pseudo", "patients_open"])
def test_a_release_is_refreshed_and_dropped(db, name):
    if name == "patients_open":
        db.drop("ages_open")  # published with a risk that REFRESH patients_open does not accept
    db.execute(f"REFRESH {name}")
    assert db.verify(name).holds
    db.drop(name)
    assert name not in [one.relation_name for one in db.releases()]
