"""Files that leave: each is in the ledger before it has its name, replaces nothing of others, and can be checked."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from ppdm_sql.commands import cli
from ppdm_sql.commands.group import run
from ppdm_sql.errors import DatabaseUnavailable, EngineError, PolicyError, RequirementBreached
from ppdm_sql.release.export import write as export
from ppdm_sql.release.reverify import reverify_file
from ppdm_sql.session import connect

pytestmark = pytest.mark.duckdb

PEOPLE = """CREATE TABLE people AS SELECT range AS id, 20 + (range * 37) % 40 AS age, (range * 7919) % 13 AS town,
    CASE WHEN (range * 37) % 40 < 12 THEN 'a' WHEN (range * 7919) % 13 < 4 THEN 'b' WHEN range % 3 = 0 THEN 'a' ELSE 'b' END
    AS ill FROM range(400)"""
RULES = """WITH ANONYMIZATION (ALGORITHM {method} REQUIRE k = 20 IDENTIFIER (id) QUASI IDENTIFIER ({known})
    SENSITIVE (ill) {more})"""
FILES = {"by_age": "by_age.json", "age_open": "age_open.csv"}


def model(name: str = "by_age", known: str = "age", more: str = "") -> str:
    rules = RULES.format(method="kadet", known=known, more=f"TARGET (ill) {more}")
    return f"CREATE OR REPLACE MODEL {name} AS SELECT id, {known}, ill FROM people {rules}"


def table(name: str = "age_open", known: str = "age", more: str = "") -> str:
    rules = RULES.format(method="mondrian", known=known, more=more)
    return f"CREATE OR REPLACE TABLE {name} AS SELECT id, {known}, ill FROM people {rules}"


def made(database: str, *statements: str) -> None:
    with duckdb.connect(database) as con:
        con.execute(PEOPLE)
    with connect(database) as session:
        for statement in statements:
            session.publish(statement)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(params=["by_age", "age_open"])
def released(request, folder) -> str:
    """The name of the one release of clinic.duckdb, a model or a table."""
    made("clinic.duckdb", model() if request.param == "by_age" else table())
    return request.param


def exports(database: str = "clinic.duckdb") -> list[int]:
    with connect(database) as session:
        return [one.exports for one in session.releases()]


def called(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, list(arguments), standalone_mode=False)
    if done.exception is not None:
        return getattr(done.exception, "exit_code", 99), str(done.exception)
    return int(done.return_value), done.output


# -- the ledger ------------------------------------------------------------------------------------------------


def test_what_cannot_be_recorded_is_not_exported(released, folder):
    before = set(folder.iterdir())
    with connect("clinic.duckdb", read_only=True) as session:
        for path in (FILES[released], f"other_{FILES[released]}"):
            with pytest.raises(EngineError, match="read-only: the export must be recorded in it"):
                session.export(released, path)
    calls = [("export", released, FILES[released]), ("run", "export.sql")]
    (folder / "export.sql").write_text(f"EXPORT {released} TO '{FILES[released]}'")
    if released == "by_age":
        calls += [("model", "export", released, "m.json"), ("share", "publish", released, "--out", "shared")]
    for call in calls:
        code, said = called("--db", "clinic.duckdb", "--read-only", *call)
        assert (code, "read-only" in said) == (3, True), said
    assert set(folder.iterdir()) == before | {folder / "export.sql"}
    assert exports() == [0]


def test_the_ledger_is_written_before_a_file_has_its_name(released, folder, monkeypatch):
    """Killed in between, a copy too many is known; never is one out that is not."""
    seen = []

    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        seen.append((folder / FILES[released]).exists())
        raise Killed

    with connect("clinic.duckdb") as session, monkeypatch.context() as patched:
        patched.setattr(export.os, "replace", killed)
        with pytest.raises(Killed):
            session.export(released, FILES[released])
    assert seen == [False]
    assert exports() == [1]
    with connect("clinic.duckdb") as session:
        session.drop(released)
        other = model("by_town", "town") if released == "by_age" else table("town_open", "town")
        with pytest.raises(RequirementBreached, match="joint classes"):
            session.publish(other)


def test_an_export_that_fails_while_it_is_written_is_not_in_the_ledger(released, folder, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with connect("clinic.duckdb") as session, monkeypatch.context() as patched:
        patched.setattr(export.os, "fsync", full)
        with pytest.raises(DatabaseUnavailable, match=f"{FILES[released]} cannot be written: No space left"):
            session.export(released, FILES[released])
    assert exports() == [0]
    assert not list(folder.glob(f"{released}*"))


def test_the_exchange_file_of_a_release_is_not_shown_around_the_ledger(folder):
    made("clinic.duckdb", model())
    for more in ((), ("--out", "m.json")):
        code, said = called("--db", "clinic.duckdb", "model", "show", "by_age", "--as", "json", *more)
        assert code == 2
        assert "use EXPORT by_age TO 'by_age.json', which records the export" in said
    assert not (folder / "m.json").exists()
    assert called("--db", "clinic.duckdb", "model", "show", "by_age", "--as", "rules")[0] == 0


# -- files of others -------------------------------------------------------------------------------------------


def test_two_databases_do_not_replace_each_others_files(folder):
    for town in ("north", "south"):
        made(f"{town}.duckdb", model())
    assert called("--db", "north.duckdb", "share", "publish", "by_age", "--out", "shared")[0] == 0
    first = {file.name: file.read_bytes() for file in (folder / "shared").iterdir()}
    code, said = called("--db", "south.duckdb", "share", "publish", "by_age", "--out", "shared")
    assert (code, "by_age.json already exists" in said, "--as" in said) == (2, True, True), said
    assert {file.name: file.read_bytes() for file in (folder / "shared").iterdir()} == first
    assert exports("south.duckdb") == [0]
    assert called("--db", "south.duckdb", "share", "publish", "by_age", "--out", "shared", "--as", "south.json")[0] == 0
    with connect("north.duckdb") as session:  # a later generation of the same release replaces its file
        session.publish(model(more="SUPERSEDES ALL"))
        session.export("by_age", "shared/by_age.json")


def test_files_of_others_beside_an_export_are_kept(released, folder):
    ends = [".manifest.json", ".certificate.sql"] + ([".sql", ".audit.sql"] if released == "by_age" else [])
    with connect("clinic.duckdb") as session:
        for end in ends:
            mine = folder / f"{FILES[released]}{end}"
            mine.write_text("SELECT 'mine'")
            with pytest.raises(PolicyError, match=f"{re.escape(mine.name)} already exists"):
                session.export(released, FILES[released])
            assert mine.read_text() == "SELECT 'mine'"
            mine.unlink()
        session.export(released, FILES[released])
        session.export(released, FILES[released])  # our own is replaced
        (folder / FILES[released]).unlink()
        session.export(released, FILES[released])  # what lies next to it still is ours
    assert exports() == [3]


# -- what a recipient checks -----------------------------------------------------------------------------------


def certified(path: Path) -> list[str]:
    with duckdb.connect() as con:
        con.execute(f"SET file_search_path = '{path.parent}'")
        found = []
        for one in con.extract_statements(Path(f"{path}.certificate.sql").read_text("utf-8")):
            rows = con.execute(one)
            if one.type == duckdb.StatementType.SELECT:
                found += [row[-1] for row in rows.fetchall()]
        return found


@pytest.mark.parametrize("empty", [False, True])
def test_a_certificate_does_not_hold_without_its_file(folder, empty):
    made("clinic.duckdb", model())
    with connect("clinic.duckdb") as session:
        session.export("by_age", "by_age.json")
    file = folder / "by_age.json"
    assert set(certified(file)) == {"holds"}
    content = json.loads(file.read_text("utf-8"))
    file.unlink()
    if empty:
        content["model"]["nodes"] = []
        file.write_text(json.dumps(content))
    verdicts = certified(file)
    assert len(verdicts) == 3
    assert all(verdict.startswith("BREACHED") for verdict in verdicts), verdicts


def test_a_model_file_is_verified_against_its_manifest(folder, capfd):
    made("clinic.duckdb", model())
    with connect("clinic.duckdb") as session:
        done = session.export("by_age", "by_age.json")
    assert run(["verify", "--file", "by_age.json"]) == 0
    said = capfd.readouterr().out
    assert "by_age.json holds: 400 rows" in said
    assert "k = 20" in said
    assert run(["verify", "--file", "by_age.json", "--json"]) == 0
    (told,) = json.loads(capfd.readouterr().out)["releases"]
    assert (told["holds"], told["rows"], told["findings"][0]["requirement"]) == (True, 400, "k = 20")

    file, beside = Path(done.path), Path(done.manifest)
    kept = file.read_bytes(), beside.read_text("utf-8")
    file.write_bytes(kept[0].replace(b'"counts"', b' "counts"', 1))
    assert run(["verify", "--file", "by_age.json"]) == 1
    said = capfd.readouterr().out
    assert "does NOT hold" in said
    assert "differs from the file its manifest was written for" in said
    file.write_bytes(kept[0])
    edited = json.loads(kept[1])
    edited["rows"] += 1
    beside.write_text(json.dumps(edited))
    assert "describes 401 rows" in reverify_file(file).problems[0]
    for part in ("export", "findings"):  # a manifest that is none is a wrong call
        edited = json.loads(kept[1])
        edited[part] = {} if part == "export" else [{"requirement": "k = 20", "holds": True}]
        beside.write_text(json.dumps(edited))
        with pytest.raises(PolicyError, match="manifest"):
            reverify_file(file)


# -- what a certificate says -----------------------------------------------------------------------------------


@pytest.mark.parametrize("second", ["by_town", "town_open"])
def test_an_accepted_joint_breach_is_told(folder, second):
    statement = model("by_town", "town", "ACCEPT RISK (joint)")
    if second == "town_open":
        statement = table("town_open", "town", "ACCEPT RISK (joint)")
    made("clinic.duckdb", table(), statement)
    with connect("clinic.duckdb") as session:
        (judged,) = session.release(second).manifest["joint"]
        assert judged["measured"]
        assert not judged["holds"]
        proof = Path(session.export(second, "o.json" if second == "by_town" else "o.csv").certificate).read_text(
            "utf-8"
        )
        first = Path(session.export("age_open", "first.csv").certificate).read_text("utf-8")
    said = (
        f"together with age_open there are joint classes of fewer than k = 20 (classes: {judged['breaching_classes']:,}"
    )
    assert f"-- Accepted: joint: {said}" in proof
    assert "Accepted: joint" not in first


def test_show_tells_an_accepted_joint_breach(folder, capfd):
    made("clinic.duckdb", table(), model("by_town", "town", "ACCEPT RISK (joint)"))
    assert run(["--db", "clinic.duckdb", "show", "by_town"]) == 0
    assert "accepted: joint: together with age_open there are joint classes" in capfd.readouterr().out
    assert run(["--db", "clinic.duckdb", "show", "age_open"]) == 0
    assert "accepted: joint" not in capfd.readouterr().out


def test_a_certificate_of_pseudo_rows_says_what_it_prints(folder):
    made("clinic.duckdb", model())
    with connect("clinic.duckdb") as session:
        session.execute("CREATE TABLE p AS PSEUDO DATA FROM MODEL by_age")
        done = session.export("p", "p.csv")
    text = Path(done.certificate).read_text("utf-8")
    assert "must say 'holds'" not in text
    assert "Quasi-identifiers" not in text
    assert certified(Path(done.path)) == [json.loads(Path(done.manifest).read_text("utf-8"))["export"]["content_hash"]]


def test_a_public_class_is_among_what_an_attacker_knows(folder):
    made(
        "clinic.duckdb",
        model(known="age, ill").replace("id, age, ill, ill", "id, age, ill").replace("SENSITIVE (ill)", ""),
    )
    with connect("clinic.duckdb") as session:
        done = session.export("by_age", "by_age.json")
    assert "Columns that the attacker is assumed to know: age, ill\n" in Path(done.certificate).read_text("utf-8")
