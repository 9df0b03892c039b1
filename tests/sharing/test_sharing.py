"""Five hospitals publish models from five database files; a miner who sees no row learns from all of them."""

from __future__ import annotations

import json
import random
from collections import Counter

import duckdb
import pytest
from click.testing import CliRunner

import ppdm_sql
from ppdm_sql.commands import cli
from ppdm_sql.errors import PolicyError, PpdmError, Tampered
from ppdm_sql.sharing.collect import check_fit, pool, read_shared
from ppdm_sql.statements.names import Name

TOWNS = ("north", "south", "east", "west", "centre")
MODEL = """CREATE MODEL {town} AS SELECT age, sex, smokes, ill FROM patients WITH ANONYMIZATION (
    ALGORITHM ldm REQUIRE k = 20 QUASI IDENTIFIER (age, sex, smokes) SENSITIVE (ill) TARGET (ill))"""


def patients(seed: int, number: int = 700) -> list[tuple]:
    """Illness follows from age and smoking, with noise; hospitals differ in whom they see."""
    draw = random.Random(seed)
    rows = []
    for _ in range(number):
        age = min(95, max(1, round(draw.gauss(35 + 8 * seed, 18))))
        sex, smokes = draw.choice("MF"), draw.choice(["yes", "no", "no"])
        ill = age > 60 or (smokes == "yes" and age > 40)
        rows.append((age, sex, smokes, "yes" if ill != (draw.random() < 0.1) else "no"))
    return rows


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """The folder the hospitals hand over: a model file, its manifest and its script each."""
    folder = tmp_path_factory.mktemp("shared")
    for seed, town in enumerate(TOWNS):
        database = folder / f"{town}.duckdb"
        with duckdb.connect(str(database)) as con:
            con.execute("CREATE TABLE patients (age INTEGER, sex VARCHAR, smokes VARCHAR, ill VARCHAR)")
            con.executemany("INSERT INTO patients VALUES (?, ?, ?, ?)", patients(seed))
        with ppdm_sql.connect(database) as db:
            db.publish(MODEL.format(town=town))
        done = CliRunner().invoke(cli, ["--db", str(database), "share", "publish", town, "--out", str(folder)])
        assert done.exit_code == 0, done.output
    return folder


def called(folder, *arguments: str) -> str:
    command = ["--db", str(folder / "miner.duckdb"), "--create", *arguments]
    done = CliRunner().invoke(cli, command, standalone_mode=False)
    if isinstance(done.exception, PpdmError):
        raise done.exception
    assert done.exception is None, done.output
    return done.output


def files(folder) -> list[str]:
    return [str(folder / f"{town}.json") for town in TOWNS]


def test_the_miner_learns_what_all_hospitals_know(shared, tmp_path):
    said = called(tmp_path, "share", "collect", *files(shared), "--into", "pooled", "--rows", "4000", "--seed", "3",
                  "--name-sources")  # fmt: skip
    assert "5 models: 4,000 pseudo-rows in pooled" in said
    said = called(tmp_path, "share", "learn", "everywhere", "--from", "pooled", "--target", "ill")
    assert said.startswith("learned everywhere:")
    with ppdm_sql.connect(tmp_path / "miner.duckdb") as db:
        tree = db.model("everywhere").tree
        assert {a.name for a in tree.attributes} <= {"age", "sex", "smokes"}
        counts = dict(db.engine.pass_through("SELECT ppdm_source, count(*) FROM pooled GROUP BY 1").rows)
        assert counts == dict.fromkeys(range(5), 800)
    right = accuracy(tree, patients(99, 1000))
    assert right > 0.8, right  # ten in a hundred are noise


def accuracy(tree, rows) -> float:
    from ppdm_sql.trees.follow import follow

    names = ("age", "sex", "smokes", "ill")
    told = [dict(zip(names, row, strict=True)) for row in rows]
    return sum(tree.prediction(tree.nodes[follow(tree, row)]) == row["ill"] for row in told) / len(told)


def test_the_models_can_vote(shared, tmp_path):
    with duckdb.connect(str(tmp_path / "miner.duckdb")) as con:
        con.execute("CREATE TABLE new_patients (age INTEGER, sex VARCHAR, smokes VARCHAR, ill VARCHAR)")
        con.executemany("INSERT INTO new_patients VALUES (?, ?, ?, ?)", patients(7, 400))
    called(tmp_path, "share", "vote", *files(shared), "--from", "new_patients", "--into", "told", "--keep", "ill,age")
    with duckdb.connect(str(tmp_path / "miner.duckdb")) as con:
        rows = con.execute("SELECT ill, age, ppdm_class FROM told").fetchall()
    assert len(rows) == 400
    assert sum(ill == said for ill, _, said in rows) / 400 > 0.75
    members = [read_shared(shared / f"{town}.json").tree for town in TOWNS]
    from ppdm_sql.trees.follow import follow

    for age, sex, smokes, _ in patients(7, 400)[:50]:
        row = {"age": age, "sex": sex, "smokes": smokes}
        votes = Counter(tree.prediction(tree.nodes[follow(tree, row)]) for tree in members)
        assert len(votes) <= 2


def test_what_is_not_published_is_not_believed(shared, tmp_path):
    model = json.loads((shared / "north.json").read_text())
    alone = tmp_path / "alone.json"
    alone.write_text((shared / "north.json").read_text())
    with pytest.raises(PolicyError, match=r"cannot be read"):
        read_shared(alone)
    manifest = json.loads((shared / "north.json.manifest.json").read_text())
    (tmp_path / "alone.json.manifest.json").write_text(json.dumps(manifest))
    assert read_shared(alone).name == "north"
    model["model"]["nodes"][0]["gain"] = 1.5
    alone.write_text(json.dumps(model))
    with pytest.raises(Tampered):
        read_shared(alone)
    (tmp_path / "alone.json").write_text((shared / "north.json").read_text())
    manifest["findings"][0]["holds"] = False
    (tmp_path / "alone.json.manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(PolicyError, match="does not say"):
        read_shared(alone)


def test_files_must_speak_of_the_same_thing(shared, tmp_path):
    from dataclasses import replace

    north, south = (read_shared(shared / f"{town}.json") for town in ("north", "south"))
    other = replace(south, tree=replace(south.tree, target=replace(south.tree.target, name="dead")))
    with pytest.raises(PolicyError, match='predicts "dead"'):
        check_fit([north, other])
    with pytest.raises(PolicyError, match="no model file"):
        check_fit([])
    with ppdm_sql.connect(tmp_path / "x.duckdb", create=True) as db:
        pool(db.engine, [north, south], Name("pooled"), rows=100)
        with pytest.raises(PolicyError, match="already"):
            pool(db.engine, [north, south], Name("pooled"), rows=100)


def test_a_release_is_not_dropped_as_a_model(shared, tmp_path):
    import shutil

    shutil.copy(shared / "north.duckdb", tmp_path / "north.duckdb")
    done = CliRunner().invoke(
        cli, ["--db", str(tmp_path / "north.duckdb"), "model", "drop", "north"], standalone_mode=False
    )
    assert "is a release" in str(done.exception)
