"""Every site and every mixer is a process of its own, with its own database and folder; files travel by copying."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from urllib.parse import urlencode

import duckdb
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.sizes import HANGS

pytestmark = [pytest.mark.wide, pytest.mark.postgres]
SITES = ("east", "north", "south", "west")
KILLED_AT_RENAME = """
import os, pathlib, signal, sys
pathlib.Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
from ppdm_sql.commands import main
main()
"""


def patients(seed: int) -> list[tuple]:
    draw = random.Random(seed)
    rows = []
    for _ in range(120 + 40 * seed):
        age, sex = draw.randint(18, 95), draw.choice("fm")
        rows.append(
            (age, sex, draw.choice(["heart", "eyes", None]), "yes" if (age > 60) != (draw.random() < 0.2) else "no")
        )
    return rows


ROWS = {name: patients(seed) for seed, name in enumerate(SITES)}


class Party:
    """A folder, a database, and a process for every call."""

    def __init__(self, home: Path, name: str, database: str) -> None:
        self.home, self.name, self.database = home / name, name, database
        self.home.mkdir()
        self.key = f"{name}.key.json"
        assert self.ppdm("share", "key", "new", name, "--out", ".").returncode == 0

    def ppdm(self, *arguments: str, code: str | None = None) -> subprocess.CompletedProcess:
        start = [sys.executable, "-m", "ppdm_sql"] if code is None else [sys.executable, "-c", code]
        environment = {name: value for name, value in os.environ.items() if name != "PPDM_DB"}
        return subprocess.run(
            [*start, "--db", self.database, *arguments], cwd=self.home, env=environment, capture_output=True, text=True,
            timeout=HANGS,
        )  # fmt: skip

    def share(self, *arguments: str, status: int = 0) -> str:
        done = self.ppdm("share", *arguments)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def count(self, status: int = 0) -> str:
        return self.share("counts", "round.json", "--key", self.key, "--from", "patients", "--out", ".", status=status)

    def agree(self, status: int = 0) -> str:
        told = self.share("agree", "round.json", "--key", self.key, "--shared", "inbox", status=status)
        shutil.copy(self.home / "inbox" / f"{self.name}.counts.answer.ppdm", self.home)
        return told

    def open(self, status: int = 0) -> str:
        return self.share(
            "open", "round.json", "--shared", "inbox", "--as", "ills", "--out", "ills.json", status=status
        )

    def take(self, *files: Path) -> None:
        (self.home / "inbox").mkdir(exist_ok=True)
        for file in files:
            shutil.copy(file, self.home / "inbox")


def fill(party: Party, rows: list[tuple]) -> None:
    if party.database.startswith("postgresql"):
        import psycopg

        with psycopg.connect(party.database) as connection, connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA IF EXISTS ppdm CASCADE")
            cursor.execute("DROP TABLE IF EXISTS patients, told")
            cursor.execute("CREATE TABLE patients (age INTEGER, sex TEXT, ward TEXT, ill TEXT)")
            cursor.executemany("INSERT INTO patients VALUES (%s, %s, %s, %s)", rows)
        return
    with duckdb.connect(party.database) as connection:
        connection.execute("CREATE TABLE patients (age INTEGER, sex TEXT, ward TEXT, ill TEXT)")
        connection.executemany("INSERT INTO patients VALUES (?, ?, ?, ?)", rows)


def address_of(settings: str) -> str:
    """The settings of a connection as one address."""
    found = conninfo_to_dict(settings)
    user, place = found.pop("user", "postgres"), found.pop("dbname")
    return f"postgresql://{user}@/{place}?{urlencode(found)}"


@pytest.fixture(params=["masks", "mixers"])
def parties(request, tmp_path, postgres_url, postgres_engine):  # the engine empties its database
    """Three sites on DuckDB, one on PostgreSQL, and mixers that have no database."""
    found = {}
    for name in SITES:
        database = address_of(postgres_url) if name == "south" else str(tmp_path / f"{name}.duckdb")
        found[name] = Party(tmp_path, name, database)
        fill(found[name], ROWS[name])
    mixers = ("alpha", "beta") if request.param == "mixers" else ()
    found |= {name: Party(tmp_path, name, ":memory:") for name in mixers}
    public = [str(found[name].home / f"{name}.public.json") for name in found]
    arguments = [word for name, path in zip(found, public, strict=True) for word in (f"--{'mixer' if name in mixers else 'site'}", path)]  # fmt: skip
    found["east"].share(
        "codebook", "draft", "round.json", "--from", "patients", "--target", "ill", "--round", "r1", "--mode",
        request.param, "--bins", "age=30,60", "--k", "5", *arguments,
    )  # fmt: skip
    for party in found.values():
        if party.name != "east":
            shutil.copy(found["east"].home / "round.json", party.home)
    return found


def mixers_of(parties) -> list[Party]:
    return [party for party in parties.values() if party.name in ("alpha", "beta")]


def deliver(parties, *, without: str | None = None) -> None:
    """What the sites wrote goes to its readers: sealed halves to the mixers, everything else to all."""
    for name in SITES:
        for file in parties[name].home.glob("*.counts.*"):
            if name == without:
                continue
            receivers = [parties[file.name.split(".for-")[1].removesuffix(".age")]] if ".for-" in file.name else parties.values()  # fmt: skip
            for receiver in receivers:
                receiver.take(file)
    for mixer in mixers_of(parties):
        for file in mixer.home.glob("*.sum.ppdm"):
            for receiver in parties.values():
                receiver.take(file)


def first_reader(parties) -> tuple[Party, list[str]]:
    """The party that reads the sites' files first, and its call."""
    mixers = mixers_of(parties)
    if not mixers:
        return parties["west"], ["agree", "round.json", "--key", "west.key.json", "--shared", "inbox"]
    return mixers[0], ["mix", "round.json", "--key", "alpha.key.json", "--inbox", "inbox", "--out", "."]


def mix_all(parties) -> None:
    for mixer in mixers_of(parties):
        mixer.share("mix", "round.json", "--key", mixer.key, "--inbox", "inbox", "--out", ".")


def test_a_round_from_the_keys_to_the_same_model_at_every_site(parties):
    for name in SITES:
        parties[name].count()
    deliver(parties)
    mix_all(parties)
    deliver(parties)
    for name in SITES:
        parties[name].agree()
    deliver(parties)
    texts = set()
    for name in SITES:
        assert "opened ills" in parties[name].open()
        texts.add((parties[name].home / "ills.json").read_bytes())
    (text,) = texts
    model = json.loads(text)["model"]
    everybody = [row for rows in ROWS.values() for row in rows]
    labels = Counter(row[3] for row in everybody)
    assert dict(zip([one["text"] for one in model["classes"]], model["priors"], strict=True)) == labels
    sexes = Counter((row[1], row[3]) for row in everybody)
    (sex,) = [one["counted"] for one in model["attributes"] if one["column"]["name"] == "sex"]
    for value, counts in zip(sex["categories"], sex["counts"], strict=False):
        found = dict(zip([one["text"] for one in model["classes"]], counts, strict=True))
        assert found == {label: sexes[value["text"], label] for label in labels}
    shown = parties["south"].ppdm("model", "predict", "ills", "--from", "patients", "--into", "told")
    assert shown.returncode == 0, shown.stderr
    assert not [file for party in parties.values() for file in party.home.rglob(".ppdm-*")]


def test_what_is_wrong_on_the_way_is_named_and_nothing_is_opened(parties):
    for name in SITES:
        parties[name].count()
    reader, call = first_reader(parties)
    deliver(parties, without="north")
    assert "no message from north" in reader.share(*call, status=3)  # late

    killed = parties["north"].ppdm(
        "share", "counts", "round.json", "--key", "north.key.json", "--from", "patients", "--out", "again",
        code=KILLED_AT_RENAME,
    )  # fmt: skip
    assert killed.returncode == -9
    left = list((parties["north"].home / "again").iterdir())
    assert [file.name.startswith(".ppdm-unfinished-") for file in left] == [True]
    reader.take(*left)
    assert "no message from north" in reader.share(*call, status=3)

    deliver(parties)
    inbox = reader.home / "inbox"
    (mine,) = [file for file in inbox.glob("north.counts.*") if ".answer." not in file.name]
    whole = mine.read_bytes()
    for content, status in [
        (whole[: len(whole) // 2], None),
        (whole[:200] + bytes([whole[200] ^ 1]) + whole[201:], None),
        (whole[:-1] + bytes([whole[-1] ^ 128]), 1),
        (b"", None),
    ]:
        mine.write_bytes(content)
        done = reader.ppdm("share", *call)
        assert done.returncode == status or (status is None and done.returncode in (1, 2)), done.stderr
        assert mine.name in done.stderr
    mine.write_bytes(whole)
    doubled = inbox / f"copy.{mine.name}"
    doubled.write_bytes(whole)
    assert f"copy.{mine.name} and {mine.name} are both from north" in reader.share(*call, status=2)
    doubled.unlink()

    book = json.loads((parties["north"].home / "round.json").read_text())
    (parties["north"].home / "round.json").write_text(json.dumps({**book, "round": "r0"}))
    parties["north"].share(
        "counts", "round.json", "--key", "north.key.json", "--from", "patients", "--out", "replayed"
    )  # fmt: skip
    mine.write_bytes((parties["north"].home / "replayed" / mine.name).read_bytes())
    assert f"{mine.name} is of another round than r1" in reader.share(*call, status=2)
    mine.write_bytes(whole)
    (parties["north"].home / "round.json").write_text(json.dumps(book))

    mix_all(parties)
    deliver(parties)
    assert "no message from" in parties["east"].open(status=3)  # nobody has agreed
    for name in SITES:
        if name != "west":
            parties[name].agree()
    parties["west"].share(
        "agree", "round.json", "--key", "west.key.json", "--shared", "inbox", "--most", "0.1", status=1
    )  # fmt: skip
    shutil.copy(parties["west"].home / "inbox" / "west.counts.answer.ppdm", parties["west"].home)
    deliver(parties)
    assert "west did not agree" in parties["east"].open(status=1)
    assert not (parties["east"].home / "ills.json").exists()
    assert "there is no model" in parties["east"].ppdm("model", "show", "ills").stderr
