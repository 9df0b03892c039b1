"""Folders that may not be written and files that may not be read: one sentence that names the path, and status 3."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.commands.group import run
from ppdm_sql.errors import DatabaseUnavailable
from ppdm_sql.release.export import write as export
from tests.sizes import HANGS

NOBODY = 65534
RULES = "WITH ANONYMIZATION (ALGORITHM {} REQUIRE k = 5 QUASI IDENTIFIER (age) SENSITIVE (ill) {})"
RIGHTS = "-dac_override,-dac_read_search,-fowner"  # those by which root passes over the permissions of files


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    """clinic.duckdb with a released table and a released model."""
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("clinic.duckdb") as con:
        con.execute("CREATE TABLE people AS SELECT range % 40 AS age, 'x' || range % 3 AS ill FROM range(200)")
    with ppdm_sql.connect("clinic.duckdb") as session:
        session.publish(f"CREATE TABLE t_open AS SELECT age, ill FROM people {RULES.format('mondrian', '')}")
        more = "TARGET (ill) ACCEPT RISK (joint)"
        session.publish(f"CREATE MODEL m AS SELECT age, ill FROM people {RULES.format('kadet', more)}")
    return tmp_path


HANDED_OVER = [
    (("export", "t_open", "out/t.csv"), "out/t.csv"),
    (("export", "m", "out/m.json"), "out/m.json"),
    (("export", "t_open", "t.csv", "--out", "out"), "out/t.csv"),
    (("share", "publish", "m", "--out", "out"), "out/m.json"),
    (("share", "publish", "m", "--out", "out/deeper"), "out/deeper"),
    (("report", "t_open", "--out", "out/t.html"), "out/t.html"),
]


@pytest.mark.parametrize(("words", "path"), HANDED_OVER)
@pytest.mark.parametrize("mode", [0o755, 0o700])
def test_a_folder_that_may_not_be_written(clinic, words, path, mode):
    barred(clinic / "out", mode)
    refused(clinic, ("--db", "clinic.duckdb", *words), f"{path} cannot be written: Permission denied")
    with ppdm_sql.connect(clinic / "clinic.duckdb") as session:
        assert [one.exports for one in session.releases()] == [0, 0]


@pytest.mark.wide
@pytest.mark.parametrize(
    ("mode", "said"), [(0o755, "cannot be created: the folder is not"), (0o700, "cannot be read: Perm")]
)
def test_a_database_that_cannot_be_made(tmp_path, mode, said):
    barred(tmp_path / "out", mode)
    refused(tmp_path, ("--db", "out/new.duckdb", "--create", "list"), f"out/new.duckdb {said}")


def test_a_database_that_may_not_be_read(clinic):
    os.chmod(clinic / "clinic.duckdb", 0o000)
    if os.geteuid() == 0:
        os.chown(clinic / "clinic.duckdb", NOBODY, NOBODY)
    refused(clinic, ("--db", "clinic.duckdb", "list"), "clinic.duckdb cannot be read: Permission denied")


def barred(folder, mode: int) -> None:
    """A folder that is another user's; without root's rights, one that nobody may write."""
    folder.mkdir()
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
        folder.chmod(mode)
    else:
        folder.chmod(0o555 if mode == 0o755 else 0o000)


def refused(folder, words: tuple[str, ...], said: str) -> None:
    command = [sys.executable, "-m", "ppdm_sql", *words]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may write everywhere")
        command = ["setpriv", f"--bounding-set={RIGHTS}", *command]
    package = os.path.dirname(os.path.dirname(ppdm_sql.__file__))
    env = {name: value for name, value in os.environ.items() if name != "PPDM_DB"} | {"PYTHONPATH": package}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=HANGS)
    assert done.returncode == 3, done.stderr
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "internal error" not in done.stderr


# -- the same without rights to give away ----------------------------------------------------------------------


def denied(*_: object, **__: object) -> None:
    raise PermissionError(13, "Permission denied", "/somewhere/else")


@pytest.mark.wide
def test_a_folder_that_cannot_be_made_is_no_internal_error(clinic, capfd):
    assert run(["--db", "clinic.duckdb", "share", "publish", "m", "--out", "/proc/ppdm_nowhere"]) == 3
    assert "ppdm: /proc/ppdm_nowhere cannot be written" in capfd.readouterr().err


@pytest.mark.wide
def test_the_private_folder_is_part_of_the_export(clinic, monkeypatch):
    real = export.Path.mkdir
    with ppdm_sql.connect("clinic.duckdb", out=clinic) as session, monkeypatch.context() as patched:
        patched.setattr(export.Path, "mkdir", lambda at, **how: denied() if at.parent == clinic else real(at, **how))
        for name, file in (("t_open", "t.csv"), ("m", "m.json")):
            with pytest.raises(DatabaseUnavailable, match=f"{clinic / file} cannot be written: Permission denied"):
                session.export(name, file)
        with pytest.raises(DatabaseUnavailable, match="r.html cannot be written: Permission denied"):
            session.report("t_open", "r.html")


@pytest.mark.wide
def test_any_other_file_that_is_denied_is_named(clinic, monkeypatch, capfd):
    monkeypatch.setattr(ppdm_sql.Session, "releases", denied)
    assert run(["--db", "clinic.duckdb", "list"]) == 3
    assert capfd.readouterr().err == "ppdm: /somewhere/else: Permission denied\n"


@pytest.mark.wide
def test_a_path_with_a_lock_in_its_name_is_not_waited_for(tmp_path):
    path = tmp_path / "clock.duckdb"
    path.write_bytes(b"\0" * 8 + b"DUCK" + b"\xff" * 4000)
    with pytest.raises(DatabaseUnavailable, match="cannot be opened"):
        ppdm_sql.connect(str(path), lock_timeout=5)
