"""What the miner makes of files that differ, were changed, or do not fit together: nothing reveals a source, and
everything that is wrong is said of the file it is wrong with."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import duckdb
import pytest
from click.testing import CliRunner
from sqlglot import exp

import ppdm_sql
from ppdm_sql.catalog.manifest import ExportRecord, FindingRecord
from ppdm_sql.catalog.mark import is_pseudo
from ppdm_sql.catalog.store import sha256_of
from ppdm_sql.commands import cli
from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError, PpdmError, Tampered
from ppdm_sql.pseudodata.categories import Listed
from ppdm_sql.sharing.collect import SOURCE, Shared, check_fit, model_files, pool, read_shared
from ppdm_sql.sharing.manifest import public_groups
from ppdm_sql.statements.names import Name
from ppdm_sql.trees.follow import follow
from ppdm_sql.trees.tree import Attribute, Cut, Groups, Node, Tree
from ppdm_sql.trees.tree_json import tree_text
from tests.records import MANIFEST, manifest_record

AGE = Attribute("age", Kind.INTEGER, ordered=True)
SEX = Attribute("sex", Kind.TEXT, ordered=False)
SEEN = Attribute("seen", Kind.TIMESTAMP, ordered=True)
DOSE = Attribute("dose", Kind.DECIMAL, ordered=True, scale=1)
BORN = Attribute("born", Kind.DATE, ordered=True)
ILL = Attribute("ill", Kind.TEXT, ordered=False)


def halves(attribute: Attribute, split, rows: int = 50, target: Attribute = ILL, classes=("no", "yes")) -> Tree:
    """One question: mostly no on one side, mostly yes on the other."""
    left, right = (rows - 10, 10), (20, rows - 20)
    both = (left[0] + right[0], left[1] + right[1])
    nodes = (Node(0, None, 0, both, split, (1, 2)), Node(1, 0, 1, left), Node(2, 0, 1, right))
    return Tree((attribute,), target, classes, nodes)


OLD = halves(AGE, Cut(0, Decimal(60)))
WOMEN = halves(SEX, Groups(0, (("f",), ("m",))))
LATE = halves(SEEN, Cut(0, "2024-05-01 12:30:00"))
MUCH = halves(DOSE, Cut(0, Decimal("2.5")))
FINE = halves(replace(DOSE, scale=3), Cut(0, Decimal("1.125")))
YOUNG = halves(BORN, Cut(0, "1985-02-28"))


def handed_over(folder, town: str, tree: Tree, k: int = 10, **changes) -> Shared:
    """The file and the manifest that a source would write."""
    text = tree_text(tree, town)
    asked = [f"k = {k}"]
    names = tuple(attribute.name for attribute in tree.attributes)
    content = manifest_record(
        content_hash=sha256_of(text),
        export=ExportRecord(f"{town}.json", "json", sha256_of(text)),
        findings=tuple(FindingRecord(word, None, str(k), True, 0, 0) for word in asked),
        policy=replace(
            MANIFEST.policy,
            quasi_identifiers=names,
            requirements=tuple(asked),
            sensitive=(tree.target.name,),
            target=tree.target.name,
        ),
        rows=tree.root.rows,
    ).to_json()
    (folder / f"{town}.json").write_text(text)
    (folder / f"{town}.json.manifest.json").write_text(json.dumps(content | changes))
    return read_shared(folder / f"{town}.json")


def found(requirement: str) -> dict:
    return FindingRecord(requirement, None, None, True, 0, 0).to_json()


def rows_of(engine, name: Name) -> list[dict]:
    names = [info.name for info in engine.columns(name)]
    return [dict(zip(names, row, strict=True)) for row in engine.fetch(exp.select("*").from_(name.table()))]


# -- one table -------------------------------------------------------------------------------------------


def test_a_column_that_a_source_lacks_does_not_tell_the_source(engine, duckdb_engine, tmp_path):
    """Columns of every kind, each known to one source only: never NULL, and in every source over all of its values."""
    trees = {"a": OLD, "b": WOMEN, "c": LATE, "d": MUCH, "e": FINE, "f": YOUNG}
    shared = [handed_over(tmp_path, town, tree) for town, tree in trees.items()]
    into = Name("pooled")
    pool(engine, shared, into, rows=1800, seed=3, name_sources=True)
    rows = rows_of(engine, into)
    assert Counter(row[SOURCE] for row in rows) == dict.fromkeys(range(6), 300)
    assert not any(value is None for row in rows for value in row.values())
    for source, tree in enumerate(trees.values()):
        here = [row for row in rows if row[SOURCE] == source]
        ends = Counter(follow(tree, row) for row in here)
        assert ends == {1: 150, 2: 150}
        assert {row["sex"] for row in here} == {"f", "m"}
        for name, at in (("age", 60), ("dose", Decimal("2.5")), ("dose", Decimal("1.125"))):
            assert 0 < sum(row[name] < at for row in here) < 300, (source, name)
        assert len({row["seen"] for row in here}) > 250
        assert any(row["dose"].as_tuple().digits[-1] for row in here), source  # three places in every source
    declared = [info.kind for info in engine.columns(into)[1:]]
    assert declared == [Kind.INTEGER, Kind.TEXT, Kind.TIMESTAMP, Kind.DECIMAL, Kind.DATE, Kind.TEXT]
    if engine is not duckdb_engine:
        pool(duckdb_engine, shared, into, rows=1800, seed=3, name_sources=True)
        there = rows_of(duckdb_engine, into)
        assert Counter(tuple(map(str, row.values())) for row in rows) == Counter(
            tuple(map(str, row.values())) for row in there
        )


def test_basegen_draws_missing_columns_too(duckdb_engine, tmp_path):
    shared = [handed_over(tmp_path, "a", OLD), handed_over(tmp_path, "b", WOMEN)]
    pool(duckdb_engine, shared, Name("based"), rows=400, algorithm="basegen", name_sources=True)
    for row in rows_of(duckdb_engine, Name("based")):
        tree = (OLD, WOMEN)[row[SOURCE]]
        assert row["ill"] == tree.prediction(tree.nodes[follow(tree, row)])
        assert None not in row.values()


def test_the_table_says_what_it_was_made_from(engine, tmp_path):
    shared = [handed_over(tmp_path, "a", OLD), handed_over(tmp_path, "b", WOMEN)]
    pool(engine, shared, Name("pooled"), rows=100, seed=4, classes="draw")
    said = engine.comment_on(Name("pooled"))
    assert said.startswith(
        "ppdm_sql pseudo-data of 2 sources: made from models, describes nobody; pgen, classes by draw"
    )
    assert "100 rows, seed 4" in said
    for one in shared:
        assert f"{one.file} ({one.sha256})" in said
    assert is_pseudo(engine, Name("pooled"))
    engine.create_table(Name("copied"), exp.select("*").from_(Name("pooled").table()))
    assert not is_pseudo(engine, Name("copied"))
    assert not is_pseudo(engine, Name("nothing"))


def test_declared_categories_and_choices_hold_for_all_sources(engine, duckdb_engine, tmp_path):
    """A declared list is every source's; a column that no model asks for is drawn from it, too."""
    silent = replace(OLD, attributes=(AGE, Attribute("night", Kind.BOOLEAN, ordered=False)))
    shared = [handed_over(tmp_path, "a", silent), handed_over(tmp_path, "b", WOMEN)]
    asked = {"age": (Fraction(0), Fraction(120)), "sex": Listed(("f", "m", "x'; --")), "night": Listed((True, False))}
    for into in dict.fromkeys((engine, duckdb_engine)):
        pool(
            into,
            shared,
            Name("pooled"),
            rows=1200,
            seed=2,
            domains=asked,
            numbers="midpoint",
            bands="width",
            name_sources=True,
        )
    rows = rows_of(engine, Name("pooled"))
    first, second = ([row for row in rows if row[SOURCE] == number] for number in (0, 1))
    assert {row["age"] for row in first} == {30, 90}
    assert len({row["age"] for row in second}) > 90  # nobody asks there
    assert {row["sex"] for row in first} == {"f", "m", "x'; --"}
    assert {row["sex"] for row in second} == {"f", "m"}
    assert all({row["night"] for row in part} == {True, False} for part in (first, second))
    same = rows_of(duckdb_engine, Name("pooled"))
    assert Counter(tuple(row.values()) for row in rows) == Counter(tuple(row.values()) for row in same)
    said = engine.comment_on(Name("pooled"))
    assert "pgen, classes by counts, numbers at the midpoint, bands by width, 1200 rows, seed 2" in said
    assert 'domains declared for "age", "sex", "night"; files' in said


def test_a_declared_list_that_one_source_contradicts_is_told_of_its_file(duckdb_engine, tmp_path):
    shared = [handed_over(tmp_path, "a", OLD), handed_over(tmp_path, "b", WOMEN)]
    with pytest.raises(PolicyError, match=r'b\.json: domains: the categories of column "sex" lack 1 of the 2'):
        pool(duckdb_engine, shared, Name("pooled"), domains={"sex": Listed(("f", "d"))})
    assert duckdb_engine.relation_kind(Name("pooled")) is None


# -- files that do not fit together ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (halves(replace(AGE, name="AGE"), Cut(0, Decimal(9))), r'column "AGE" of b\.json is spelled "age" in a\.json'),
        (halves(replace(AGE, name="Ill"), Cut(0, Decimal(9))), r'column "Ill" of b\.json is spelled "ill" in a\.json'),
        (halves(replace(AGE, name="ppdm_source"), Cut(0, Decimal(9))), r'b\.json has a column "ppdm_source"'),
        (halves(replace(AGE, kind=Kind.DECIMAL), Cut(0, Decimal(9))),
         r'column "age" is decimal in b\.json and integer in a\.json: cast it'),
        (halves(replace(AGE, ordered=False), Groups(0, ((1,), (2,)))),
         r'column "age" is integer as categories in b\.json and integer in a\.json'),
        (replace(OLD, target=Attribute("ill", Kind.BOOLEAN, ordered=False), classes=(False, True)),
         r'b\.json predicts "ill" \(boolean\), a\.json predicts "ill" \(text\)'),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said_of_the_files(tmp_path, other, told):
    shared = [handed_over(tmp_path, "a", OLD), handed_over(tmp_path, "b", other)]
    with pytest.raises(PolicyError, match=told):
        check_fit(shared)


def test_moments_with_and_without_a_zone_are_of_different_kinds(tmp_path):
    zoned = halves(replace(SEEN, zoned=True), Cut(0, "2024-05-01 12:30:00+00"))
    shared = [handed_over(tmp_path, "a", LATE), handed_over(tmp_path, "b", zoned)]
    with pytest.raises(PolicyError, match=r'"seen" is timestamp with time zone in b\.json and timestamp in a\.json'):
        check_fit(shared)


def test_a_file_counts_once(tmp_path):
    first = handed_over(tmp_path, "a", OLD)
    (tmp_path / "z.json").write_text((tmp_path / "a.json").read_text())
    (tmp_path / "z.json.manifest.json").write_text((tmp_path / "a.json.manifest.json").read_text())
    with pytest.raises(PolicyError, match=r"a\.json and z\.json are the same file"):
        check_fit([first, read_shared(tmp_path / "z.json")])


# -- files that cannot be believed -----------------------------------------------------------------------


def test_a_manifest_of_another_model_is_refused(tmp_path):
    handed_over(tmp_path, "a", OLD)
    good = json.loads((tmp_path / "a.json.manifest.json").read_text())
    other = good["policy"] | {"target": "dead"}
    more = good["policy"] | {"requirements": ["k = 10", "distinct_l = 2"]}
    for changes, error, told in (
        ({"content_hash": "0" * 64}, Tampered, "differs from the file its manifest was written for"),
        ({"rows": 7}, Tampered, "describes 7 rows, the tree 100"),
        ({"policy": other}, Tampered, "another target"),
        ({"policy": more}, Tampered, "findings in its manifest do not match its policy"),
        ({"findings": []}, PolicyError, "does not say that its requirements hold"),
        (
            {"findings": [1]},
            PolicyError,
            r"a\.json\.manifest\.json is not a manifest that this version can read: findings\[0\] is not an object",
        ),
        ({"policy": None}, PolicyError, "is not a manifest"),
        ({"rows": "many"}, PolicyError, "is not a manifest"),
    ):
        with pytest.raises(error, match=told):
            handed_over(tmp_path, "a", OLD, **changes)
    (tmp_path / "a.json.manifest.json").write_text("[1]")
    with pytest.raises(PolicyError, match="is not a manifest"):
        read_shared(tmp_path / "a.json")


def test_counts_that_break_the_promise_are_refused(tmp_path):
    """The reproduction: a leaf of one person, with a hash and findings that were written to fit."""
    lonely = Tree((AGE,), ILL, ("no", "yes"), (
        Node(0, None, 0, (50, 50), Cut(0, Decimal(60)), (1, 2)), Node(1, 0, 1, (50, 49)), Node(2, 0, 1, (0, 1))))  # fmt: skip
    with pytest.raises(Tampered, match=r"a\.json: k = 10 does not hold by the counts of its tree: 1 group"):
        handed_over(tmp_path, "a", lonely)
    with pytest.raises(PolicyError, match=r"a\.json: the requirements of the manifest cannot be read"):
        handed_over(tmp_path, "a", lonely, k=0)
    policy = MANIFEST.policy.to_json()
    policy |= {"quasi_identifiers": ["age"], "sensitive": ["ill"], "target": "ill", "requirements": ["distinct_l = 2"]}
    findings = [found("distinct_l = 2")]
    with pytest.raises(Tampered, match="distinct_l = 2 does not hold"):
        handed_over(tmp_path, "a", lonely, policy=policy, findings=findings)
    private = policy | {"quasi_identifiers": []}
    assert handed_over(tmp_path, "a", lonely, policy=private, findings=findings)  # nobody knows who is in which leaf
    known = policy | {"quasi_identifiers": ["age", "ill"], "requirements": ["k = 10"]}
    with pytest.raises(Tampered, match="k = 10 does not hold"):  # a class that everybody knows makes a group of one
        handed_over(tmp_path, "a", lonely, policy=known, findings=[found("k = 10")])


def test_groups_end_where_a_private_question_begins():
    nodes = (
        Node(0, None, 0, (20, 20), Cut(0, Decimal(60)), (1, 4)),
        Node(1, 0, 1, (12, 8), Groups(1, (("f",), ("m",))), (2, 3)),
        Node(2, 1, 2, (12, 0)),
        Node(3, 1, 2, (0, 8)),
        Node(4, 0, 1, (8, 12)),
    )
    tree = Tree((AGE, SEX), ILL, ("no", "yes"), nodes)
    assert {node.number for node in public_groups(tree, {"age"})} == {1, 4}
    assert {node.number for node in public_groups(tree, {"age", "sex"})} == {2, 3, 4}
    assert {node.number for node in public_groups(tree, {"sex"})} == {0}


def test_hostile_files_are_refused_in_a_sentence(duckdb_engine, tmp_path):
    zeros = replace(OLD, nodes=tuple(replace(node, counts=(0, 0)) for node in OLD.nodes))
    with pytest.raises(PolicyError, match=r"a\.json: the model has no rows in any leaf"):
        handed_over(tmp_path, "a", zeros)
    huge = replace(OLD, nodes=tuple(replace(node, counts=tuple(n * 10**15 for n in node.counts)) for node in OLD.nodes))
    with pytest.raises(PolicyError, match="more than 1,000,000,000 pseudo-rows"):
        pool(duckdb_engine, [handed_over(tmp_path, "b", huge)], Name("x"))
    far = halves(Attribute("w", Kind.FLOAT, ordered=True), Cut(0, Decimal("1e400")))
    with pytest.raises(PolicyError, match=r'c\.json: column "w" has a threshold in the model beyond a DOUBLE'):
        pool(duckdb_engine, [handed_over(tmp_path, "c", far)], Name("x"))
    (tmp_path / "d.json").write_text((tmp_path / "b.json").read_text()[:300])
    with pytest.raises(PolicyError, match=r"d\.json: the model file is not JSON"):
        read_shared(tmp_path / "d.json")
    assert duckdb_engine.relation_kind(Name("x")) is None


# -- the commands ----------------------------------------------------------------------------------------


def told(folder, *arguments: str) -> tuple[int, str]:
    words = ["--db", str(folder / "m.duckdb"), "--create", *arguments]
    done = CliRunner().invoke(cli, words, standalone_mode=False)
    if isinstance(done.exception, PpdmError):
        return done.exception.exit_code, str(done.exception)
    assert done.exception is None, done.exception
    return 0, done.output


def test_all_that_a_shell_makes_of_a_star_can_be_given(tmp_path):
    for town, tree in (("a", OLD), ("b", WOMEN)):
        handed_over(tmp_path, town, tree)
    files = sorted(map(str, tmp_path.glob("*.json")))
    assert len(files) == 4
    assert [path.name for path in model_files(files)] == ["a.json", "b.json"]
    code, said = told(tmp_path, "share", "collect", *files, "--into", "pooled", "--classes", "draw",
                      "--domains", "AGE,0,120,sex,f|m|d", "--rows", "3000", "--bands", "width")  # fmt: skip
    assert (code, "collected 2 models: 3,000 pseudo-rows in pooled" in said) == (0, True), said
    with duckdb.connect(str(tmp_path / "m.duckdb")) as con:
        least, greatest = con.execute("SELECT min(age), max(age) FROM pooled").fetchall()[0]
        sexes = con.execute("SELECT DISTINCT sex FROM pooled ORDER BY sex").fetchall()
    assert (least, greatest) == (0, 119)
    assert sexes == [("d",), ("f",), ("m",)]
    code, said = told(tmp_path, "share", "collect", *files, "--into", "ends", "--numbers", "endpoint",
                      "--domains", "(age, 0, 120, sex, ('f', 'm', 'a,b|c'))")  # fmt: skip
    assert code == 0, said
    lone = [name for name in files if name.endswith("b.json.manifest.json")]
    assert told(tmp_path, "share", "collect", *lone, "--into", "x")[0] == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--into", "ppdm.x"), "are reserved for ppdm_sql"),
        (("--into", "PPDM_x"), "are reserved for ppdm_sql"),
        (("--into", "x", "--algorithm", "basegen", "--classes", "quota"), "--classes is for pgen"),
        (("--into", "x", "--domains", "age,0"), "column, least, greatest"),
        (("--into", "x", "--domains", "age,70,90"), "outside its declared bounds"),
        (("--into", "x", "--domains", "shoe,1,2"), 'no model has a column "shoe"'),
        (("--into", "x", "--domains", "shoe,A|B"), 'no model has a column "shoe"'),
        (("--into", "x", "--domains", "age,1|2"), 'column "age" has bounds, not categories'),
        (("--into", "x", "--domains", "age,1||2"), "nothing between two bars"),
        (("--into", "x", "--domains", "(age, 0, 120"), "never closed"),
        (("--into", "x", "--algorithm", "basegen", "--numbers", "uniform"), "--numbers and --bands are for pgen"),
        (("--into", "x", "--algorithm", "basegen", "--bands", "width"), "--numbers and --bands are for pgen"),
    ],
)
def test_mistakes_in_a_call_are_told(tmp_path, words, said):
    handed_over(tmp_path, "a", OLD)
    code, output = told(tmp_path, "share", "collect", str(tmp_path / "a.json"), *words)
    assert code == 2
    assert said in output


def test_only_marked_rows_are_called_pseudo_rows(tmp_path):
    handed_over(tmp_path, "a", OLD)
    told(tmp_path, "share", "collect", str(tmp_path / "a.json"), "--into", "pooled", "--rows", "200")
    code, said = told(tmp_path, "share", "learn", "m", "--from", "pooled", "--target", "ill")
    assert (code, "from 200 pseudo-rows" in said, "NOT anonymized" in said) == (0, True, False), said
    with duckdb.connect(str(tmp_path / "m.duckdb")) as con:
        con.execute("CREATE TABLE people AS FROM pooled")
    code, said = told(tmp_path, "share", "learn", "n", "--from", "people", "--target", "ill")
    assert (code, "pseudo-rows" in said) == (0, False), said
    assert "people is not marked as pseudo-data: this is a raw model" in said
    said = told(tmp_path, "share", "learn", "o", "--from", "people", "--target", "ill", "--json")[1]
    assert json.loads(said)["pseudo_rows"] is False


MODEL = """CREATE MODEL m AS SELECT age, sex, ill FROM people WITH ANONYMIZATION (ALGORITHM ldm REQUIRE k = 20
    QUASI IDENTIFIER (age, sex) SENSITIVE (ill) TARGET (ill))"""


def test_only_models_are_handed_over_and_the_folder_is_made(tmp_path):
    with duckdb.connect(str(tmp_path / "m.duckdb")) as con:
        con.execute("""CREATE TABLE people AS SELECT i % 90 AS age, CASE WHEN i % 3 = 0 THEN 'f' ELSE 'm' END AS sex,
            CASE WHEN i % 90 > 50 THEN 'yes' ELSE 'no' END AS ill FROM range(900) AS r(i)""")
    with ppdm_sql.connect(tmp_path / "m.duckdb", out=tmp_path) as db:
        db.publish(MODEL)
        db.execute("CREATE TABLE p AS PSEUDO DATA FROM MODEL m")
        assert is_pseudo(db.engine, Name("p"))
        db.export("p", "p.duckdb")
    code, said = told(tmp_path, "share", "publish", "p", "--out", str(tmp_path / "out"))
    assert (code, "p is not a model" in said) == (2, True), said
    assert not (tmp_path / "out").exists()
    code, said = told(tmp_path, "share", "publish", "m", "--out", str(tmp_path / "out" / "side"))
    assert (code, (tmp_path / "out" / "side" / "m.json").exists()) == (0, True), said
    assert read_shared(tmp_path / "out" / "side" / "m.json").tree.root.rows == 900
    with duckdb.connect(str(tmp_path / "p.duckdb"), read_only=True) as con:
        (said,) = con.execute("SELECT comment FROM duckdb_tables() WHERE table_name = 'p'").fetchall()
    assert said[0].startswith("ppdm_sql pseudo-data ")
    assert said[0].endswith("made from model m, describes nobody; pgen, 3600 rows, seed 0")
    for command in (("verify", "p"), ("show", "p"), ("verify", "--file", str(tmp_path / "p.duckdb"))):
        code, said = told(tmp_path, *command)
        assert (code, "3,600 pseudo-rows made from model m; they describe nobody" in said) == (0, True), said
        assert "class" not in said.split("nobody")[0]
        assert "verdict" not in said
        assert "made from ;" not in said
