"""Mode pair: two parties find the class of every query with Paillier, and learn nothing else."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from rounds import keys_of
from test_private_label import CODES, QUERIES, central_class, free_ports, random_vector, small_codebook

from ppdm_sql.errors import PolicyError, PpdmError
from ppdm_sql.sharing.private import folder as files
from ppdm_sql.sharing.private import mixers
from ppdm_sql.sharing.private.codebook import check_codebook, codebook_from_dict
from ppdm_sql.sharing.private.folder import ServerShare
from ppdm_sql.sharing.private.keys import write_keys
from ppdm_sql.sharing.private.pair import Evaluator, KeyHolder, Wire, check_pair, own_part
from ppdm_sql.sharing.private.pair_keys import (
    dgk_modulus,
    make_pair_key,
    read_pair_key,
    tno_packages,
    write_pair_key,
)
from ppdm_sql.sharing.private.queries import LabelQuery, score_bits
from ppdm_sql.sharing.private.tls import write_certificate

MOST_ROWS = 1000
MIXERS = ("alpha", "beta")


@cache
def pair_key():
    """Made once by make_pair_key(70): it hides nothing."""
    return read_pair_key(Path(__file__).with_name("pair_key.json"))


def pair_codebook(classes: int = 3, *, nulls: bool = True, sites: int = 2):
    """Of two sites, or of two mixers for more of them."""
    servers = () if sites == 2 else tuple(keys_of(name).public for name in MIXERS)
    found = replace(small_codebook(classes, nulls=nulls, sites=sites), mode="pair", mixers=servers)
    check_codebook(found)
    assert codebook_from_dict(found.to_dict()) == found
    return found


def both(codebook, parts, queries, seen: list[bytes] | None = None, ask=None) -> tuple[list[int], list[int]]:
    """The keyholder in a thread of its own, the evaluator here."""
    first, second = socket.socketpair()
    with first, second:
        told: list = []
        holder = KeyHolder(codebook, parts[0], pair_key(), Wire(first, "first"))

        def hold() -> None:
            try:
                told.append(holder.answer(queries, MOST_ROWS))
            except PpdmError as refusal:
                told.append(refusal)
                first.close()

        other = threading.Thread(target=hold)
        other.start()
        wire = Listening(second, "second", seen) if seen is not None else Wire(second, "second")
        try:
            evaluator = Evaluator(codebook, parts[1], MOST_ROWS, wire)
            found = evaluator.answer(queries if ask is None else ask)
        finally:
            second.close()
            other.join()
    if isinstance(told[0], PpdmError):
        raise told[0]
    return told[0], found


class Listening(Wire):
    """Keeps what the evaluator receives."""

    def __init__(self, connection, other, seen) -> None:
        super().__init__(connection, other)
        self.seen = seen

    def receive(self):
        found = super().receive()
        self.seen.append(found.content)
        return found


def parts_of(codebook, vectors):
    if not codebook.mixers:
        return [own_part(codebook, place, ServerShare(vector, {})) for place, vector in enumerate(vectors)]
    halves = [mixers.split(vector) for vector in vectors]
    sums = [sum(part, start=np.zeros(codebook.length, dtype=np.uint64)) for part in zip(*halves, strict=True)]
    return [own_part(codebook, place, ServerShare(one, {"pair": "x"})) for place, one in enumerate(sums)]


def expected_classes(codebook, vectors, codes):
    total = sum(vectors[1:], start=vectors[0])
    return [central_class(codebook, total, one) for one in codes]


@pytest.mark.parametrize("sites", [2, pytest.param(3, marks=pytest.mark.wide)])
def test_the_classes_are_those_of_all_rows_in_one_place(sites):
    codebook = pair_codebook(sites=sites)
    vectors = [random_vector(codebook, seed) for seed in range(sites)]
    codes = (CODES[0], CODES[9])
    queries = [LabelQuery(one) for one in codes]
    first, second = both(codebook, parts_of(codebook, vectors), queries)
    assert first == second
    assert [codebook.classes[one] for one in first] == expected_classes(codebook, vectors, codes)


@pytest.mark.wide
@pytest.mark.parametrize(("sites", "seed"), [(2, 0), pytest.param(2, 1, marks=pytest.mark.nightly), (3, 2)])
def test_every_query_of_the_domain(sites, seed):
    codebook = pair_codebook(sites=sites)
    vectors = [random_vector(codebook, 10 * seed + place) for place in range(sites)]
    every = list(dict.fromkeys(CODES))
    found, _ = both(codebook, parts_of(codebook, vectors), [LabelQuery(codes) for codes in every])
    assert [codebook.classes[one] for one in found] == expected_classes(codebook, vectors, every)


def test_equal_scores_give_the_first_class():
    codebook = pair_codebook(2, nulls=False)
    vector = random_vector(codebook, 3).reshape(2, -1)
    vector[1] = vector[0]
    found, _ = both(codebook, parts_of(codebook, [vector.reshape(-1)] * 2), [LabelQuery(CODES[0])])
    assert found == [0]


def test_the_evaluator_receives_no_number_twice_and_no_count():
    """Ciphertexts of equal counts differ, and every one of them is as long as the modulus allows."""
    codebook = pair_codebook()
    vectors = [random_vector(codebook, seed) for seed in range(2)]
    seen: list = []
    both(codebook, parts_of(codebook, vectors), [LabelQuery(CODES[0])], seen)
    ciphers = [cipher for content in seen for cipher in content.get("ciphers", ())]
    assert len(ciphers) > 100
    assert len(set(ciphers)) == len(ciphers)
    assert min(len(cipher) for cipher in ciphers) > 2000 // 4 - 8
    assert {key for content in seen for key in content} == {"agreement", "score_bits", "n", "dgk", "ciphers", "opened"}


@pytest.mark.parametrize("sites", [2, 3])
def test_both_parties_together_learn_every_total(sites):
    """The documented coalition."""
    codebook = pair_codebook(sites=sites)
    vectors = [random_vector(codebook, seed) for seed in range(sites)]
    first, second = parts_of(codebook, vectors)
    together = [one + other for one, other in zip(first.numbers, second.numbers, strict=True)]
    assert together == sum(vectors[1:], start=vectors[0]).tolist()


def test_more_rows_than_agreed_open_nothing():
    codebook = pair_codebook()
    vectors = [random_vector(codebook, seed) * np.uint64(30) for seed in range(2)]
    with pytest.raises(PpdmError, match=r"more than 1,000 rows"):
        both(codebook, parts_of(codebook, vectors), [LabelQuery(CODES[0])])


def test_other_queries_open_nothing():
    codebook = pair_codebook()
    vectors = [random_vector(codebook, seed) for seed in range(2)]
    with pytest.raises(PpdmError, match="other queries"):
        both(codebook, parts_of(codebook, vectors), [LabelQuery(CODES[0])], ask=[LabelQuery(CODES[1])])


def test_a_party_that_is_gone_leaves_nothing():
    codebook = pair_codebook()
    part = own_part(codebook, 0, ServerShare(random_vector(codebook, 0), {}))
    first, second = socket.socketpair()
    with first:
        holder = KeyHolder(codebook, part, pair_key(), Wire(first, "north"))
        second.close()
        with pytest.raises(PpdmError, match=r"the connection to north broke \(.*\): nothing was written"):
            holder.answer([LabelQuery(CODES[0])], MOST_ROWS)


def test_the_key_is_kept_and_checked(tmp_path):
    key = pair_key()
    path = tmp_path / "east.pair.json"
    write_pair_key(key, path)
    assert path.stat().st_mode & 0o077 == 0
    assert read_pair_key(path) == key
    assert "primes" not in repr(key)
    assert str(key.primes[0]) not in repr(key)
    with pytest.raises(PolicyError, match="made once and kept"):
        write_pair_key(key, path)
    content = json.loads(path.read_text())
    for change in (
        {"primes": ["0x3", "0x5"]},
        {"score_bits": 400},
        {"dgk_secret": ["0x3", *content["dgk_secret"][1:]]},
    ):
        path.write_text(json.dumps(content | change))
        with pytest.raises(PolicyError, match=r"east\.pair\.json is no key of mode pair"):
            read_pair_key(path)


@pytest.mark.parametrize("make", [pair_key, pytest.param(lambda: make_pair_key(71), marks=pytest.mark.wide)])
def test_the_key_fits_its_definition(make):
    """g has the order u * v_p * v_q, h the order v_p * v_q, and u is too short to factor the modulus."""
    key = make()
    g, h, u, n, order = key.public.dgk
    v_p, v_q, p, q = key.dgk
    assert p * q == n
    assert v_p.bit_length() == v_q.bit_length() == order
    assert pow(h, v_p * v_q, n) == 1 != pow(h, v_p, n)
    assert pow(g, u * v_p * v_q, n) == 1 != pow(g, v_p * v_q, n)
    assert all(dgk_modulus(bits) / 4 - (bits + 3) >= 128 for bits in range(70, 1601, 10))
    assert {one.bit_length() for one in key.primes} == {1024}


def test_importing_the_packages_changes_no_warnings():
    import warnings

    before = warnings.showwarning
    with tno_packages():
        pass
    assert warnings.showwarning is before


def test_what_cannot_be_computed_is_refused():
    codebook = pair_codebook()
    with pytest.raises(PolicyError, match="for numbers of 70 bits, and this codebook needs 102"):
        check_pair(codebook, 10**6, pair_key().public)
    with pytest.raises(PolicyError, match="must be below"):
        check_pair(codebook, 1 << 40, pair_key().public)
    with pytest.raises(PolicyError, match="laplace of 1 or more"):
        check_pair(replace(codebook, laplace=0), 100, pair_key().public)
    with pytest.raises(PolicyError, match="more of them need two mixers"):
        check_codebook(replace(small_codebook(sites=3), mode="pair", mixers=()))
    with pytest.raises(PolicyError, match="needs 0 or 2 mixers, not 3"):
        check_codebook(replace(small_codebook(), mode="pair"))
    with pytest.raises(PolicyError, match="--bits must be 70 to 1600"):
        make_pair_key(5000)
    three = pair_codebook(sites=3)
    with pytest.raises(PpdmError, match="share counts once more"):
        own_part(three, 0, ServerShare(np.ones(three.length, dtype=np.uint64), {}))
    assert score_bits(codebook, MOST_ROWS) <= 70


# -- as processes ------------------------------------------------------------------------------------------


def party(home: Path, name: str, *arguments: str) -> subprocess.Popen:
    environment = {key: value for key, value in os.environ.items() if key != "PPDM_DB"}
    return subprocess.Popen(
        [sys.executable, "-m", "ppdm_sql", *arguments], cwd=home / name, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def serve(home: Path, names, *more: str, own: dict[str, list[str]]) -> list[subprocess.CompletedProcess]:
    """Both parties, each a process in a folder of its own."""
    (port,) = free_ports(1)
    running = []
    for name in names:
        (home / name / "queries.json").write_text(json.dumps(QUERIES[:3]))
        database = own[name][:2] if own[name][0] == "--db" else []
        running.append(party(home, name, *database, "share", "serve-pair", str(home / "round.json"), "--key",
                             f"{name}.key.json", *own[name][len(database):], "--tls", str(home / "shared"), "--queries",
                             "queries.json", "--out", "classes.json", "--at", f"127.0.0.1:{port}", *more))  # fmt: skip
    done = []
    for process in running:
        out, err = process.communicate(timeout=600)
        done.append(subprocess.CompletedProcess(process.args, process.returncode, out, err))
    return done


def prepare(codebook, home: Path) -> None:
    (home / "round.json").write_text(codebook.to_text())
    for one in codebook.computing:
        write_keys(keys_of(one.name), home / one.name)
        write_certificate(codebook, keys_of(one.name), home / "shared")
    write_pair_key(pair_key(), home / codebook.computing[0].name / "pair.json")


def fill(address: str, rows: list[tuple]) -> None:
    if address.startswith("postgresql"):
        import psycopg

        with psycopg.connect(address) as connection, connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA IF EXISTS ppdm CASCADE")
            cursor.execute("CREATE TABLE people (sex TEXT, age INTEGER, ill TEXT)")
            cursor.executemany("INSERT INTO people VALUES (%s, %s, %s)", rows)
        return
    import duckdb

    with duckdb.connect(address) as connection:
        connection.execute("CREATE TABLE people (sex TEXT, age INTEGER, ill TEXT)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)


def random_people(seed: int) -> list[tuple]:
    draw = random.Random(seed)
    return [(draw.choice("fm"), draw.choice([10, 40, 70]), draw.choice(["c0", "c1", "c2"])) for _ in range(60)]


def vector_of(codebook, rows) -> np.ndarray:
    grid = np.zeros((len(codebook.classes), codebook.width), dtype=np.uint64)
    for sex, age, ill in rows:
        label = codebook.classes.index(ill)
        for place in (0, 1 + "fm".index(sex), 3 + (age >= 30) + (age >= 60)):
            grid[label, place] += np.uint64(1)
    return grid.reshape(-1)


@pytest.mark.wide
@pytest.mark.postgres
def test_two_sites_as_processes(tmp_path, postgres_url, postgres_engine):  # the engine empties its database
    from test_private_parties import address_of

    codebook = pair_codebook()
    prepare(codebook, tmp_path)
    rows = {name: random_people(seed) for seed, name in enumerate(codebook.site_names)}
    databases = {"east": "people.duckdb", "north": address_of(postgres_url)}
    fill(str(tmp_path / "east" / "people.duckdb"), rows["east"])
    fill(databases["north"], rows["north"])
    own = {name: ["--db", databases[name], "--from", "people"] for name in rows}
    own["east"] += ["--pair-key", "pair.json"]
    done = serve(tmp_path, rows, "--most-rows", "1000", own=own)
    assert [one.returncode for one in done] == [0, 0], done
    expected = expected_classes(codebook, [vector_of(codebook, one) for one in rows.values()], CODES[:3])
    for name in rows:
        assert json.loads((tmp_path / name / "classes.json").read_text()) == expected
        (tmp_path / name / "classes.json").unlink()
    done = serve(tmp_path, ["east"], "--most-rows", "1000", "--wait", "1", own=own)
    assert "north was not there within 1 seconds" in done[0].stderr
    assert done[0].returncode == 3
    done = serve(tmp_path, rows, "--most-rows", "20", own=own)
    assert {one.returncode for one in done} == {3}
    assert all("more than 20 rows" in one.stderr for one in done)
    write_certificate(replace(codebook, sites=(keys_of("east").public, keys_of("west").public)), keys_of("west"), tmp_path / "other")  # fmt: skip
    shutil.copy(tmp_path / "other" / "west.tls.pem", tmp_path / "shared" / "north.tls.pem")
    done = serve(tmp_path, ["east"], "--most-rows", "1000", own=own)
    assert "not the certificate of north" in done[0].stderr
    assert not list(tmp_path.glob("*/classes.json"))


@pytest.mark.wide
def test_two_mixers_as_processes(tmp_path):
    codebook = pair_codebook(sites=3)
    prepare(codebook, tmp_path)
    vectors = [random_vector(codebook, seed) for seed in range(3)]
    for name, vector in zip(codebook.site_names, vectors, strict=True):
        for path in files.write_vector(vector, codebook, keys_of(name), tmp_path / "sent"):
            shutil.copy(path, tmp_path / path.name.split(".for-")[1].removesuffix(".age"))
    own = {"alpha": ["--inbox", ".", "--pair-key", "pair.json"], "beta": ["--inbox", "."]}
    done = serve(tmp_path, MIXERS, "--most-rows", "1000", own=own)
    assert [one.returncode for one in done] == [0, 0], done
    for name in MIXERS:
        assert json.loads((tmp_path / name / "classes.json").read_text()) == expected_classes(
            codebook, vectors, CODES[:3]
        )
    for wrong, told in [
        (["--inbox", "."], "needs --pair-key"),
        (["--from", "t", "--pair-key", "pair.json"], "give --inbox"),
    ]:
        done = serve(tmp_path, ["alpha"], "--most-rows", "1000", own={"alpha": wrong})
        assert done[0].returncode == 2
        assert told in done[0].stderr
