"""Companion files are run by their recipients: whatever names and values stand in them, they stay what they are."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import duckdb
import pytest

from ppdm_sql.errors import PolicyError
from ppdm_sql.release.export.write import read_place
from ppdm_sql.release.reverify import reverify_file
from ppdm_sql.session import connect
from ppdm_sql.statements.names import Name

pytestmark = pytest.mark.duckdb

ATTACK = "DROP TABLE sentinel;"
HOSTILE = {
    "newline": f"ill\n{ATTACK} --",
    "two newlines": f"ill\n\n;\n\n  {ATTACK}\n\n--",
    "carriage return": f"ill\r{ATTACK}\r--",
    "both": f"ill\r\n;{ATTACK}\r\n--",
    "dot command": "ill\n.shell touch pwned\n",
    "dot command behind a semicolon": "ill;\n.shell touch pwned\n",
    "backslash command": "ill\n\\! touch pwned\n",
    "vertical tab": f"ill\x0b{ATTACK} --",
    "form feed": f"ill\x0c{ATTACK} --",
    "next line": f"ill\u0085{ATTACK} --",
    "line separator": f"ill\u2028{ATTACK} --",
    "paragraph separator": f"ill\u2029{ATTACK} --",
    "escape and bell": f"ill\x1b]0;x\x07\x7f{ATTACK} --",
    "turned direction": f"ill\u202e;{ATTACK}\u2066 --",
    "quotes": f"ill'; {ATTACK} --\"; {ATTACK} --",
    "comment": f"ill */ {ATTACK} /* -- $$ {ATTACK} $$",
    "brackets": f"ill]; {ATTACK} -- {{file}} %s $1 ? :x",
}
PLAIN = "ill"
TABLE_FILES = ("o.csv", "o.parquet", "o.duckdb")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def source(name: str) -> duckdb.DuckDBPyConnection:
    """A table one of whose columns, and the values in it, are called so."""
    con = duckdb.connect()
    value = "'" + name.replace("'", "''") + "'"
    con.execute(
        f"CREATE TABLE t AS SELECT range AS id, range % 5 AS age, {value} || range % 4 AS {quoted(name)}, "
        f"CASE WHEN range % 5 < 2 THEN {value} ELSE 'b' END AS {quoted('class ' + name)} FROM range(200)"
    )
    return con


def exported(name: str, folder: Path) -> dict[str, str]:
    """The texts of all files that are handed over with a table and a model, by the ends of their names."""
    secret, klass = quoted(name), quoted("class " + name)
    with connect(source(name), out=folder) as session:
        session.publish(
            f"CREATE TABLE {quoted('r ' + name)} AS SELECT id, age, {secret} FROM t WITH ANONYMIZATION (ALGORITHM "
            f"mondrian REQUIRE k = 10, distinct_l = 2 IDENTIFIER (id) QUASI IDENTIFIER (age) SENSITIVE ({secret}))"
        )
        for file in TABLE_FILES[1 if "\r" in name else 0 :]:  # DuckDB reads no CSV file with a carriage return in it
            session.export(Name("r " + name), file)
        session.publish(
            f"CREATE MODEL m AS SELECT id, age, {secret}, {klass} FROM t WITH ANONYMIZATION (ALGORITHM kadet REQUIRE "
            f"k = 10 IDENTIFIER (id) QUASI IDENTIFIER (age, {secret}) SENSITIVE ({klass}) TARGET ({klass}) "
            "ACCEPT RISK (joint, known_elsewhere))"
        )
        session.export("m", "m.json")
    return {file.name: file.read_bytes().decode() for file in folder.iterdir() if file.suffix == ".sql"}


def types(text: str) -> list[str]:
    with duckdb.connect() as con:
        return [str(one.type) for one in con.extract_statements(text)]


def ran(text: str, folder: Path, name: str) -> list[object]:
    """What the last column of each answer says; a table called sentinel has to survive."""
    with duckdb.connect() as con:
        con.execute(f"SET file_search_path = '{folder}'")
        con.execute("CREATE TABLE sentinel AS SELECT 1 AS a")
        secret, klass = quoted(name), quoted("class " + name)
        con.execute(
            f"CREATE TABLE ppdm_source AS SELECT 1 AS age, 'x' AS {secret}, 'b' AS {klass} FROM range(50) WHERE false"
        )
        said: list[object] = []
        for one in con.extract_statements(text.replace("ATTACH '", f"ATTACH '{folder}/")):
            answer = con.execute(one)
            if one.type == duckdb.StatementType.SELECT:
                said += [row[-1] for row in answer.fetchall()]
        assert con.execute("SELECT a FROM sentinel").fetchall() == [(1,)]
        return said


@pytest.fixture(scope="module")
def plain_folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    exported(PLAIN, folder)
    return folder


@pytest.fixture
def plain(plain_folder) -> dict[str, str]:
    return {file.name: file.read_bytes().decode() for file in plain_folder.iterdir() if file.suffix == ".sql"}


@pytest.fixture
def folder(plain_folder, tmp_path) -> Path:
    """The files with plain names, to be changed."""
    return Path(shutil.copytree(plain_folder, tmp_path / "files"))


@pytest.fixture(scope="module", params=HOSTILE.values(), ids=HOSTILE)
def handed(request, tmp_path_factory) -> tuple[str, Path, dict[str, str]]:
    folder = tmp_path_factory.mktemp("hostile")
    return request.param, folder, exported(request.param, folder)


def test_every_companion_file_is_what_it_is_with_plain_names(handed, plain):
    name, folder, files = handed
    assert files.keys() == {file for file in plain if not file.startswith("o.csv.") or "\r" not in name}
    assert len(plain) == 3 + 3 * 3
    for file, text in files.items():
        assert types(text) == types(plain[file]), file
        if file.endswith(".recode_postgres.sql"):
            continue  # for another engine
        said = ran(text, folder, name)
        if "certificate" in file:
            assert "holds" in said, file
            assert not any("BREACHED" in str(word) for word in said), file
    manifest = json.loads((folder / "o.parquet.manifest.json").read_text("utf-8"))
    assert manifest["policy"]["sensitive"] == [name]


def test_no_hidden_character_stands_outside_of_a_quoted_name(handed):
    name, folder, files = handed
    for file, text in files.items():
        for column in (name, "class " + name, "r " + name):
            text = text.replace(quoted(column), "column")
        assert {one for one in text if not one.isprintable()} <= {"\n"}, file
    for file in folder.glob("*.manifest.json"):
        assert {one for one in file.read_bytes().decode() if not one.isprintable()} <= {"\n"}, file


@pytest.mark.skipif(shutil.which("duckdb") is None, reason="the command line of DuckDB is not installed")
def test_the_command_line_of_the_recipient_runs_no_command(handed):
    _, folder, files = handed
    for text in files.values():
        told = "CREATE TABLE sentinel AS SELECT 1 AS a;\n" + text + "\nSELECT 'there', a FROM sentinel;\n"
        done = subprocess.run(["duckdb", "-csv"], input=told.encode(), capture_output=True, cwd=folder, check=False)
        assert b"there,1" in done.stdout
    assert not (folder / "pwned").exists()


CONTROLS = [chr(code) for code in (*range(32), *range(127, 160), 0x61C, 0x200E, 0x202E, 0x2028, 0x2029, 0x2066)]


@pytest.mark.parametrize("sign", [*CONTROLS, "*", "?", "["], ids=lambda sign: f"{ord(sign):04x}")
def test_a_file_is_not_called_what_a_client_could_misread(sign, tmp_path):
    for path in (f"o{sign}.csv", f"a{sign}b"):
        with pytest.raises(PolicyError, match="file name"):
            read_place(path, tmp_path)


@pytest.mark.parametrize("file", ["it's; rm -rf x.csv", "$(touch pwned).parquet", "a b & c.duckdb", "-x.csv"])
def test_the_line_to_copy_names_one_file(file, tmp_path):
    with connect(source(PLAIN), out=tmp_path) as session:
        session.publish(
            "CREATE TABLE o AS SELECT id, age, ill FROM t WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 10 "
            "IDENTIFIER (id) QUASI IDENTIFIER (age) SENSITIVE (ill))"
        )
        done = session.export("o", file)
    text = Path(done.certificate).read_text("utf-8")
    (line,) = [one for one in text.splitlines() if "duckdb < " in one]
    command = line.removeprefix("-- ").replace("duckdb <", "cat <").rpartition("(in the folder of the file")[0]
    told = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert told.stdout == text
    assert reverify_file(done.path).holds


# -- what is hashed --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["o.csv", "m.json"])
def test_an_edited_companion_file_is_noticed(file, folder):
    assert reverify_file(folder / file).holds
    ends = json.loads((folder / f"{file}.manifest.json").read_text("utf-8"))["export"]["companions"]
    others = {".recode.sql", ".recode_postgres.sql"} if file == "o.csv" else {".sql", ".audit.sql"}
    assert set(ends) == {".certificate.sql", *others}
    for end in ends:
        beside = folder / f"{file}{end}"
        kept = beside.read_bytes()
        beside.write_bytes(kept.replace(b"'BREACHED'", b"'holds'") + b"\n")
        found = reverify_file(folder / file)
        assert found.problems == (f"{beside.name} differs from what was exported with the file",)
        assert not found.holds
        beside.unlink()  # a file can be handed over without it
        assert reverify_file(folder / file).holds
        beside.write_bytes(kept)


def test_a_manifest_of_an_earlier_version_has_no_hashes_of_companions(folder):
    for file in ("o.csv", "o.duckdb", "m.json"):
        beside = folder / f"{file}.manifest.json"
        content = json.loads(beside.read_text("utf-8"))
        del content["export"]["companions"]
        beside.write_text(json.dumps(content))
        assert reverify_file(folder / file).holds


@pytest.mark.parametrize("ends", [{"/../../secret": "0"}, ["x"], "x", None, {".certificate.sql": 7}])
def test_a_manifest_reaches_no_other_file_through_its_companions(ends, folder):
    beside = folder / "o.csv.manifest.json"
    content = json.loads(beside.read_text("utf-8"))
    content["export"]["companions"] = ends
    beside.write_text(json.dumps(content))
    if ends is None or ends == {"/../../secret": "0"}:
        assert reverify_file(folder / "o.csv").holds
        return
    with pytest.raises(PolicyError, match=r"is not a manifest that this version can read: export\.companions"):
        reverify_file(folder / "o.csv")
