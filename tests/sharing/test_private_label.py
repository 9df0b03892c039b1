"""Mode label: three servers over TLS on this machine tell the class of every query, and open nothing else."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from math import prod
from pathlib import Path

import numpy as np
import pytest
from rounds import keys_of

from ppdm_sql.classifiers.domains import CategoricalDomain, NumericDomain
from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError, Tampered
from ppdm_sql.sharing.private import folder as files
from ppdm_sql.sharing.private.codebook import AgreedAttribute, Codebook, check_codebook
from ppdm_sql.sharing.private.keys import write_keys
from ppdm_sql.sharing.private.queries import check_label_codebook, read_queries, score_bits
from ppdm_sql.sharing.private.tls import certificates, write_certificate
from ppdm_sql.trees.tree import Attribute
from tests.sizes import HANGS

SERVERS = ("alpha", "beta", "gamma")


def small_codebook(classes: int = 3, *, nulls: bool = False, sites: int = 2) -> Codebook:
    """Two attributes of few values, so that every query can be asked."""
    from decimal import Decimal

    found = Codebook(
        "r1", "label", 1, Attribute("ill", Kind.TEXT, False), tuple(f"c{place}" for place in range(classes)),
        (
            AgreedAttribute(Attribute("sex", Kind.TEXT, False), CategoricalDomain(("f", "m")), nulls=nulls),
            AgreedAttribute(Attribute("age", Kind.INTEGER, True), NumericDomain((Decimal(30), Decimal(60))), nulls=nulls),
        ),
        tuple(keys_of(name).public for name in ("east", "north", "west")[:sites]),
        tuple(keys_of(name).public for name in SERVERS),
    )  # fmt: skip
    check_codebook(found)
    return found


def random_vector(codebook: Codebook, seed: int) -> np.ndarray:
    """What a site could have counted."""
    draw = random.Random(seed)
    grid = np.zeros((len(codebook.classes), codebook.width), dtype=np.uint64)
    for label in range(len(codebook.classes)):
        grid[label, 0] = rows = draw.choice([0, 30, 40, 50])
        for start, one in zip(codebook.starts, codebook.attributes, strict=True):
            known = draw.randint(0, rows) if one.nulls else rows
            for code in draw.choices(range(one.width), [draw.random() ** 3 for _ in range(one.width)], k=known):
                grid[label, start + code] += np.uint64(1)
    return grid.reshape(-1)


def central_class(codebook: Codebook, total: np.ndarray, codes) -> str:
    """The classifier over all counts in one place, in exact fractions."""
    grid, a = total.reshape(len(codebook.classes), -1).astype(object), codebook.laplace
    scores = []
    for row in grid:
        factors = [Fraction(int(row[0]) + a)]
        for start, one, code in zip(codebook.starts, codebook.attributes, codes, strict=True):
            if code is not None:
                known = int(sum(row[start : start + one.width]))
                factors.append(Fraction(int(row[start + code]) + a, known + a * one.width))
        scores.append(prod(factors))
    return codebook.classes[scores.index(max(scores))]


QUERIES = [
    {"sex": sex, "age": age} for sex, age in itertools.product(("f", "m", None), (20, 30, 59, 60, None))
]  # fmt: skip
CODES = [
    ({"f": 0, "m": 1, None: None}[one["sex"]], None if one["age"] is None else sum(one["age"] >= end for end in (30, 60)))
    for one in QUERIES
]  # fmt: skip


def free_ports(number: int) -> list[int]:
    held = [socket.socket() for _ in range(number)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def prepare(codebook: Codebook, vectors: dict[str, np.ndarray], home: Path) -> None:
    """Every server has a folder with its key and what was sealed for it; certificates are shared."""
    (home / "round.json").write_text(codebook.to_text())
    for name in SERVERS:
        write_keys(keys_of(name), home / name)
        write_certificate(codebook, keys_of(name), home / "shared")
    for name, vector in vectors.items():
        for path in files.write_vector(vector, codebook, keys_of(name), home / "sent"):
            receiver = path.name.split(".for-")[1].removesuffix(".age")
            shutil.copy(path, home / receiver)


def serve(
    home: Path, *more: str, queries: dict[str, object] | None = None, names=SERVERS
) -> list[subprocess.CompletedProcess]:
    """The three servers, each a process of its own in a folder of its own."""
    ports = free_ports(3)
    running = []
    for name in names:
        (home / name / "queries.json").write_text(json.dumps((queries or {}).get(name, QUERIES)))
        arguments = [
            "share", "serve-label", str(home / "round.json"), "--key", f"{name}.key.json", "--inbox", ".",
            "--tls", str(home / "shared"), "--queries", "queries.json", "--out", "classes.json",
            *[word for port in ports for word in ("--at", f"127.0.0.1:{port}")], *more,
        ]  # fmt: skip
        environment = {key: value for key, value in os.environ.items() if key != "PPDM_DB"}
        running.append(
            subprocess.Popen(
                [sys.executable, "-m", "ppdm_sql", *arguments],
                cwd=home / name,
                env=environment,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        )
    done = []
    for process in running:
        out, err = process.communicate(timeout=HANGS)
        done.append(subprocess.CompletedProcess(process.args, process.returncode, out, err))
    return done


@pytest.mark.wide
@pytest.mark.parametrize("nulls", [False, True])
def test_three_servers_tell_the_class_of_every_query(tmp_path, nulls):
    codebook = small_codebook(nulls=nulls)
    vectors = {name: random_vector(codebook, seed) for seed, name in enumerate(codebook.site_names)}
    prepare(codebook, vectors, tmp_path)
    done = serve(tmp_path)
    assert [one.returncode for one in done] == [0, 0, 0], done
    total = sum(vectors.values())
    expected = [central_class(codebook, total, codes) for codes in CODES]
    assert len(set(expected)) > 1
    for name in SERVERS:
        assert json.loads((tmp_path / name / "classes.json").read_text()) == expected
        assert sorted(path.name for path in (tmp_path / name).iterdir() if path.name.startswith(".")) == []


@pytest.mark.wide
def test_servers_that_were_asked_otherwise_open_nothing(tmp_path):
    codebook = small_codebook()
    prepare(codebook, {name: random_vector(codebook, 1) for name in codebook.site_names}, tmp_path)
    done = serve(tmp_path, queries={"beta": QUERIES[:1]})
    assert {one.returncode for one in done} == {3}
    assert all("other queries" in one.stderr for one in done)
    done = serve(tmp_path, "--most-rows", "3")
    assert all("more than 3 rows" in one.stderr for one in done)
    alone = [name for name in SERVERS if name != "gamma"]
    done = serve(tmp_path, "--wait", "3", names=alone)
    assert all("were not there within 3 seconds" in one.stderr for one in done)
    assert {one.returncode for one in done} == {3}
    assert not list(tmp_path.glob("*/classes.json"))


def test_what_cannot_be_served_is_refused(tmp_path):
    codebook = small_codebook()
    with pytest.raises(PolicyError, match="laplace of 1 or more"):
        check_label_codebook(replace(codebook, laplace=0))
    with pytest.raises(PolicyError, match="needs 3 mixers, not 2"):
        check_codebook(replace(codebook, mixers=codebook.mixers[:2]))
    with pytest.raises(PolicyError, match="only the class of a query"):
        files.open_total(codebook, tmp_path, codebook.length)
    for rows, told in [
        ({}, "must be a list"), ([{"sex": "f"}], "columns of the codebook"), ([{"sex": "x", "age": 1}], '"sex" is not in'),
        ([{"sex": "f", "age": "old"}], '"age" is not of its type'),
    ]:  # fmt: skip
        (tmp_path / "queries.json").write_text(json.dumps(rows))
        with pytest.raises(PolicyError, match=told):
            read_queries(tmp_path / "queries.json", codebook)
    assert score_bits(codebook, 10**6) < score_bits(codebook, 10**9)


def test_a_certificate_of_somebody_else_is_refused(tmp_path):
    codebook = small_codebook()
    for name in SERVERS:
        write_certificate(codebook, keys_of(name), tmp_path)
    with certificates(codebook, keys_of("alpha"), 0, tmp_path):
        assert (Path(".config") / "party_0.key").stat().st_mode & 0o077 == 0
        home = Path.cwd()
    assert not home.exists()
    other = replace(codebook, mixers=(keys_of("alpha").public, keys_of("gamma").public, keys_of("beta").public))
    with pytest.raises(Tampered, match="not the certificate of"), certificates(other, keys_of("alpha"), 0, tmp_path):
        pass
    (tmp_path / "beta.tls.pem").unlink()
    with pytest.raises(PolicyError, match=r"beta\.tls\.pem is missing"), certificates(codebook, keys_of("alpha"), 0, tmp_path):  # fmt: skip
        pass
