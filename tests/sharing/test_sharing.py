"""Five hospitals publish models from five database files; a miner who sees no row learns from all of them."""

from __future__ import annotations

import json
import random
import re
import shlex
from collections import Counter
from fractions import Fraction
from glob import glob
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner
from sqlglot import exp

import ppdm_sql
from ppdm_sql.catalog.store import sha256_of
from ppdm_sql.commands import cli
from ppdm_sql.errors import PolicyError, PpdmError, Tampered
from ppdm_sql.sharing.collect import check_fit, pool, read_shared
from ppdm_sql.sharing.committee import vote
from ppdm_sql.statements.names import Name, column
from ppdm_sql.trees.follow import follow

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
            rows = pa.table(list(zip(*patients(seed), strict=True)), names=["age", "sex", "smokes", "ill"])
            con.register("rows", rows)
            con.execute("CREATE TABLE patients AS SELECT CAST(age AS INTEGER) AS age, sex, smokes, ill FROM rows")
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


@pytest.mark.wide
def test_any_model_can_be_learned_from_the_pooled_rows(shared, tmp_path):
    called(tmp_path, "share", "collect", *files(shared), "--into", "pooled", "--rows", "3000", "--name-sources")
    learn = ("share", "learn", "m", "--from", "pooled", "--target", "ill", "--replace", "--json", "--inducer")
    grown = json.loads(called(tmp_path, *learn, "cart", "--option", "min_leaf=200"))
    assert (grown["kind"], grown["rows"]) == ("tree", 3000)
    with ppdm_sql.connect(tmp_path / "miner.duckdb") as db:
        assert min(leaf.rows for leaf in db.model("m").tree.leaves) >= 200
    people = patients(2, 1200)[700:]  # whom no hospital has seen
    for inducer, option in (("naive_bayes", "laplace=2"), ("conjunctive_rules", "min_rows=150")):
        told = json.loads(called(tmp_path, *learn, inducer, "--option", option))
        assert (told["inducer"], told["rows"], told["attributes"]) == (inducer, 3000, 3)
        with ppdm_sql.connect(tmp_path / "miner.duckdb") as db:
            found = db.model("m")
            assert (found.record.rare, found.record.is_of_pseudo_rows) == (1, True)
            right = sum(
                found.learned.predict(dict(zip(("age", "sex", "smokes"), row, strict=False))) == row[3]
                for row in people
            )
        assert right / len(people) > 0.75, (inducer, right)
    said = called(
        tmp_path, "share", "learn", "rules", "--from", "pooled", "--target", "ill", "--inducer", "conjunctive_rules"
    )
    assert re.fullmatch(r"learned rules: \d+ rules? from 3,000 pseudo-rows\n", said)
    for wrong, message in (
        (("--inducer", "naive_bays"), "did you mean naive_bayes"),
        (("--option", "rare=5"), "in pseudo-rows every category is named"),
        (("--option", "laplace=1"), "c45 has no option laplace"),
    ):
        with pytest.raises(PolicyError, match=message):
            called(tmp_path, "share", "learn", "x", "--from", "pooled", "--target", "ill", *wrong)


def test_only_trees_are_collected_and_only_released_ones_give_pseudo_data(shared, tmp_path):
    called(tmp_path, "share", "collect", *files(shared)[:2], "--into", "pooled", "--rows", "500")
    for inducer, kind in (("naive_bayes", "naive_bayes"), ("conjunctive_rules", "rules")):
        called(tmp_path, "share", "learn", kind, "--from", "pooled", "--target", "ill", "--inducer", inducer)
        file = tmp_path / f"{kind}.json"
        called(tmp_path, "model", "export", kind, str(file))
        refused = f"{kind}.json contains a model of kind {kind}: only decision trees can be pooled"
        with pytest.raises(PolicyError, match=refused):  # as it is
            called(tmp_path, "share", "collect", str(file), "--into", "x")
        manifest = json.loads((shared / "north.json.manifest.json").read_text())
        manifest["export"]["sha256"] = sha256_of(file.read_text())
        (tmp_path / f"{kind}.json.manifest.json").write_text(json.dumps(manifest))
        with pytest.raises(PolicyError, match=refused):  # with a manifest that someone made for it
            called(tmp_path, "share", "collect", str(file), "--into", "x")
        with (
            ppdm_sql.connect(tmp_path / "miner.duckdb") as db,
            pytest.raises(PolicyError, match="there is no released model"),
        ):
            db.execute(f"CREATE TABLE x AS PSEUDO DATA FROM MODEL {kind} WITH (rows = 10)")


def commands_of(page: str) -> list[str]:
    """The commands of the page's shell blocks in their order; a loop over words is written out."""
    lines = [line for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    found: list[str] = []
    words, body = [], []
    for line in lines:
        if line.startswith("for "):
            variable, _, *words = line.removeprefix("for ").removesuffix("; do").split()
        elif line == "done":
            found += [inner.replace(f"${variable}", word) for word in words for inner in body]
            words, body = [], []
        else:
            (body if words else found).append(line)
    return found


@pytest.mark.wide
def test_the_page_can_be_followed_as_it_stands(tmp_path, monkeypatch):
    """Its SQL files, and its commands one after the other: from nothing to five hospitals and what the miner learns."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "sharing.md").read_text(encoding="utf-8")
    files = re.findall(r"```sql\n-- (\w+\.sql)\n(.*?)```", page, re.DOTALL)
    commands = commands_of(page)
    assert [name for name, _ in files] == ["hospital.sql", "new_patients.sql"]
    assert len(commands) >= 22
    for name, text in files:
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    for command in commands:
        words = shlex.split(command, comments=True)
        assert words.pop(0) == "ppdm"
        words = [made for word in words for made in (sorted(glob(word)) if "*" in word else [word])]
        words = [word if word != "20000" else "1000" for word in words]
        done = CliRunner().invoke(cli, words, standalone_mode=False)
        assert done.exception is None, (command, done.exception)
    with duckdb.connect("miner.duckdb") as con:
        for table in ("predictions", "predictions_likely", "predictions_by_rules", "voted"):
            assert con.execute(f"SELECT count(*), count(ppdm_class) FROM {table}").fetchall() == [(50, 50)]
        right = con.execute("""SELECT count(*) FROM voted AS v JOIN new_patients AS n USING (patient_id)
            WHERE (v.ppdm_class = 'yes') = (n.age > 60 OR (n.smokes = 'yes' AND n.age > 40))""").fetchone()
        assert right[0] >= 40
    different = set()
    for town in TOWNS:
        with duckdb.connect(f"{town}.duckdb", read_only=True) as con:
            different.add(str(con.execute("SELECT age, sex, ill FROM patients ORDER BY patient_id").fetchall()))
    assert len(different) == len(TOWNS)  # other patients at every hospital


def accuracy(tree, rows) -> float:
    names = ("age", "sex", "smokes", "ill")
    told = [dict(zip(names, row, strict=True)) for row in rows]
    return sum(tree.prediction(tree.nodes[follow(tree, row)]) == row["ill"] for row in told) / len(told)


@pytest.mark.parametrize("rule", ["plurality", "majority", "shares"])
def test_the_models_can_vote(shared, tmp_path, rule):
    with duckdb.connect(str(tmp_path / "miner.duckdb")) as con:
        con.execute("CREATE TABLE new_patients (age INTEGER, sex VARCHAR, smokes VARCHAR, ill VARCHAR)")
        con.executemany("INSERT INTO new_patients VALUES (?, ?, ?, ?)", patients(7, 400))
    called(tmp_path, "share", "vote", *files(shared), "--from", "new_patients", "--into", "told", "--keep", "ill,age,sex,smokes",
           "--rule", rule)  # fmt: skip
    with duckdb.connect(str(tmp_path / "miner.duckdb")) as con:
        rows = con.execute("SELECT ill, age, sex, smokes, ppdm_class FROM told").fetchall()
    assert len(rows) == 400
    assert sum(ill == said for ill, *_, said in rows) / 400 > 0.75
    members = [read_shared(shared / f"{town}.json").tree for town in TOWNS]
    for _, age, sex, smokes, said in rows:
        row = {"age": age, "sex": sex, "smokes": smokes}
        ends = [tree.nodes[follow(tree, row)] for tree in members]
        votes = Counter(tree.prediction(end) for tree, end in zip(members, ends, strict=True))
        shares = {value: Fraction(0) for value in ("no", "yes")}
        for tree, end in zip(members, ends, strict=True):
            for value, count in zip(tree.classes, end.counts, strict=True):
                shares[value] += Fraction(count, end.rows)
        if rule == "shares":
            assert said == max(shares, key=lambda one: shares[one])  # no ties here
        else:
            assert said == max(votes, key=lambda one: votes[one])  # five members and two classes: always a majority


def test_without_a_majority_there_is_no_answer(shared, tmp_path):
    """Two members that disagree: the first class is the plurality's, and the majority has none."""
    two = [shared / f"{town}.json" for town in ("north", "centre")]
    with ppdm_sql.connect(tmp_path / "miner.duckdb", create=True) as session:
        session.execute("CREATE TABLE ages AS SELECT age::INTEGER AS age, sex, smokes FROM range(18, 97) AS a(age), "
                        "(VALUES ('F'), ('M')) AS s(sex), (VALUES ('no'), ('yes')) AS k(smokes)")  # fmt: skip
        engine, members = session.engine, [read_shared(path) for path in two]
        for rule in ("plurality", "majority"):
            vote(engine, members, Name("ages"), Name(f"by_{rule}"), ["age", "sex", "smokes"], rule)
        rows = engine.fetch(exp.Select(expressions=[column(one, table) for one, table in (
            ("age", "p"), ("sex", "p"), ("smokes", "p"), ("ppdm_class", "p"), ("ppdm_class", "m"))]).from_(
                Name("by_plurality").table("p")).join(Name("by_majority").table("m"), using=["age", "sex", "smokes"]))  # fmt: skip
        with pytest.raises(PolicyError, match="valid rules: plurality, majority, shares"):
            vote(engine, members, Name("ages"), Name("other"), ["age"], "unanimity")
    assert len(rows) == 79 * 4
    tied = 0
    for age, sex, smokes, most, more_than_half in rows:
        row = {"age": age, "sex": sex, "smokes": smokes}
        votes = Counter(one.tree.prediction(one.tree.nodes[follow(one.tree, row)]) for one in members)
        tied += votes["no"] == 1
        assert most == ("no" if votes["no"] else "yes")
        assert more_than_half == (None if votes["no"] == 1 else most)
    assert tied


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
