"""What a report says is what was measured, for every kind of release, and it is one file that needs nothing else."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from pages import MODEL, PSEUDO, policy, read, report_of
from sqlglot import parse_one

from ppdm_sql.catalog import evaluations
from ppdm_sql.catalog.evaluations import MAJORITY, Evaluation, EvaluationPoint
from ppdm_sql.commands import show
from ppdm_sql.errors import PolicyError
from ppdm_sql.report.audience import READERS
from ppdm_sql.trees.show import rows_text

SECTIONS = ["guarantees", "sizes", "risk", "loss", "evaluation", "limits", "columns", "statement", "certificate"]
PUBLIC = [name for name in SECTIONS if name not in ("evaluation", "statement")]


def sections(page):
    return [one.attributes["id"] for one in page.all("section")]


def classes_of(session, relation):
    """The naive count of each class; fetched rows, counted in Python."""

    rows = session.engine.fetch(parse_one(f"SELECT age, sex, zip FROM {relation}"))
    return Counter(rows)


# -- what it says ------------------------------------------------------------------------------------------


def test_a_release_is_reported_on_every_engine(session):
    release = session.publish(policy("VIEW"))
    page = report_of(session, "people_open")
    assert sections(page) == SECTIONS
    head, *rows = page.by_id("guarantees").all("table")[0].rows()
    assert head == ["requirement", "source", "release", "verdict"]
    assert [(row[0], row[2], row[3]) for row in rows] == [
        (f.requirement, f.achieved, "holds") for f in release.findings
    ]
    assert rows[0][1] == str(min(classes_of(session, "people").values()))
    _sizes_and_risks_are_those_of_the_definition(session, page)
    _statements_are_named_by_the_file_that_has_their_hash(page)
    assert "ppdm evaluate policy.sql" in page.by_id("evaluation").text  # how to get what is not there
    assert "good" in page.all("header")[0].all("div")[0].attributes["class"]
    assert sections(report_of(session, "people_open", readers="public")) == PUBLIC


def _sizes_and_risks_are_those_of_the_definition(session, page):
    raw, now = classes_of(session, "people"), classes_of(session, "people_open")
    told = list(page.by_id("sizes").all("table")[0].rows()[1:])
    bounds = [
        (int(low), int(high or low)) for low, high in (re.fullmatch(r"(\d+)(?:–(\d+))?", r[0]).groups() for r in told)
    ]
    for (low, high), (_, of_source, of_release, classes) in zip(bounds, told, strict=True):
        assert int(of_source) == sum(n for n in raw.values() if low <= n <= high)
        assert int(of_release) == sum(n for n in now.values() if low <= n <= high)
        assert int(classes) == sum(low <= n <= high for n in now.values())
    risk = {row[0]: row[1:] for row in page.by_id("risk").all("table")[0].rows()[1:]}
    for place, counted in enumerate((raw, now)):
        worst, found = Fraction(1, min(counted.values())), Fraction(len(counted), sum(counted.values()))
        by_class = sum((Fraction(1, n) for n in counted.values()), Fraction(0)) / len(counted)
        expected = {"prosecutor, highest": worst, "marketer": found, "journalist, average": max(found, by_class)}
        for name, value in expected.items():
            assert float(risk[name][place].removesuffix("\xa0%")) == pytest.approx(float(100 * value), rel=0.01)
        assert risk["rows alone in their class"][place] == str(sum(n == 1 for n in counted.values()))


@pytest.mark.wide
@pytest.mark.usefixtures("undrawn")
def test_where_k_counts_persons_so_do_the_sizes(duck):
    """Someone without an id is nobody; someone with two rows is one."""
    duck.publish(policy(required="k = 5", who="ENTITY (id)"))
    page = report_of(duck, "people_open")
    assert "counted in people" in page.by_id("sizes").text
    smallest = next(cell.text for row in page.all("dl") for cell in row.all("dd") if "required: 5" in cell.text)
    released = duck.release("people_open")
    assert smallest.startswith(str(released.findings[0].achieved))
    raw = defaultdict(set)

    for who, *quasi in duck.engine.fetch(parse_one("SELECT id, age, sex, zip FROM people")):
        raw[tuple(quasi)] |= {who} - {None}
    first = page.by_id("guarantees").all("table")[0].rows()[1]
    assert first[1] == str(min(map(len, raw.values())))


@pytest.mark.usefixtures("undrawn")
def test_rows_of_nobody_make_no_class_larger(engine, make_table, open_session):
    rows = [(who, age, "x") for age, people in ((1, (1, 2, None, None)), (2, (3, 4, 5, 5))) for who in people]
    make_table(engine, "t", {"who": "INTEGER", "age": "INTEGER", "v": "TEXT"}, rows)
    session = open_session(engine)
    session.publish("""CREATE TABLE t_open AS SELECT who, age, v FROM t WITH ANONYMIZATION (ALGORITHM mondrian
        REQUIRE k = 2 ENTITY (who) QUASI IDENTIFIER (age) INSENSITIVE (v))""")
    page = report_of(session, "t_open")
    told = [row for row in page.by_id("sizes").all("table")[0].rows()[1:] if row[2] != "0"]
    assert told == [["2", "4", "4", "1"], ["3–4", "4", "4", "1"]]


@pytest.mark.usefixtures("undrawn")
def test_a_model_is_drawn_with_its_counts(session):
    session.publish(MODEL)
    page = report_of(session, "ills")
    assert [name for name in sections(page) if name != "evaluation"] == [
        "guarantees", "sizes", "risk", "tree", "limits", "columns", "statement", "certificate"]  # fmt: skip
    drawn = page.by_id("tree").all("svg")[0]
    tree = session.model("ills").tree
    boxes = [text.text for text in drawn.all("text")]
    for leaf in tree.leaves:
        assert any(text.startswith(f"{rows_text(leaf.rows)}, ") for text in boxes)
    assert "age" in page.by_id("tree").all("pre")[0].text or len(tree.leaves) == 1
    public = report_of(session, "ills", readers="public")
    assert not public.by_id("tree").all("svg")
    assert not public.by_id("tree").all("pre")
    _pseudo_data_is_called_what_it_is(session)


def _pseudo_data_is_called_what_it_is(session):
    session.execute(PSEUDO)
    for readers in READERS:
        page = report_of(session, "ills_pseudo", readers=readers)
        assert "pseudo-data, describes nobody" in page.all("header")[0].text
        assert "made from the model ills and describe nobody" in page.by_id("guarantees").text
        assert page.by_id("guarantees").all("table")[0].rows()[1][0] == "k = 6"
        assert not page.has("sizes")
        assert not page.has("risk")


LIVE = """CREATE VIEW beds LIVE AS SELECT id, age, job, illness FROM people WHERE illness IS NOT NULL WITH ANONYMIZATION (
    ALGORITHM tpp REQUIRE k = 5 IDENTIFIER (id) QUASI IDENTIFIER (age, job) TARGET (illness)
    PRESERVE (cart (min_leaf = 5, max_leaves = 4)) ACCEPT RISK (live, boundaries))"""


@pytest.mark.usefixtures("undrawn")
def test_a_live_view_is_reported_as_it_is_now(duck):
    duck.publish(LIVE)
    first = report_of(duck, "beds")
    assert "live view" in first.all("header")[0].text
    assert "on the rows that the view shows now" in first.by_id("guarantees").text
    duck.execute("DELETE FROM people WHERE age < 40")
    page = report_of(duck, "beds")
    (rows,) = duck.engine.fetch_one(parse_one("SELECT COUNT(*) FROM beds"))
    assert page.by_id("main").all("dd")[0].text == str(rows) != first.by_id("main").all("dd")[0].text
    duck.execute("DROP TABLE people")
    gone = report_of(duck, "beds")
    assert "does NOT hold" in gone.all("header")[0].text
    assert not gone.has("sizes")


SWAPPED = """CREATE OR REPLACE TABLE jobs AS SELECT sex, zip, job, illness FROM people WITH ANONYMIZATION (
    ALGORITHM kactus2 (swap_threshold = {share}, min_leaf = 2, pool_non_complying = false) REQUIRE k = 20 QUASI IDENTIFIER (sex, zip, job)
    TARGET (illness) SUPERSEDES ALL)"""


@pytest.mark.wide
@pytest.mark.usefixtures("undrawn")
def test_untrue_rows_are_told_wherever_the_release_is(duck, capsys):
    """On the page, by ppdm run and by ppdm show; in public no number below k."""
    release = duck.publish(SWAPPED.format(share=1))
    assert release.manifest["figures"]["swapped rows"] == 4
    for readers, told in (
        ("internal", "4not their own value"),
        ("public", "fewer than 20not their own value"),
    ):
        page = report_of(duck, "jobs", readers=readers)
        tiles = {dt.text: dd.text for dt, dd in zip(page.all("dt"), page.all("dd"), strict=True)}
        assert tiles["rows with a swapped value"] == told
    show.result(release)
    assert "4 rows (1.67 %) with a swapped value, which is not their own" in capsys.readouterr().out
    show.release(duck.release("jobs"))
    told = capsys.readouterr().out
    assert "4 rows (1.67 %) with a swapped value" in told
    (line,) = [one for one in told.splitlines() if one.startswith("figures of kactus2: ")]
    assert {"leaves 25", "levels 3", "swapped rows 4", "swap rate 0.01667"} <= set(line.partition(": ")[2].split(", "))
    show.release(duck.publish(SWAPPED.format(share=0)))
    assert "with a swapped value" not in capsys.readouterr().out
    assert "swapped value" not in report_of(duck, "jobs").by_id("main").text


@pytest.mark.wide
@pytest.mark.usefixtures("undrawn")
def test_without_its_source_a_release_is_still_reported(session):
    session.publish(policy())
    session.execute("DROP TABLE people CASCADE")
    page = report_of(session, "people_open")
    assert sections(page) == SECTIONS
    assert "can no longer be read" in page.by_id("risk").text
    assert page.by_id("guarantees").all("table")[0].rows()[1][1] == "–"
    assert page.by_id("guarantees").all("table")[0].rows()[1][3] == "holds"


@pytest.mark.usefixtures("undrawn")
def test_a_release_that_was_changed_is_reported_in_red(duck):
    session = duck
    session.publish(policy())
    session.execute("DELETE FROM people_open WHERE sex = 'f'")
    for readers in READERS:
        done = session.report("people_open", "red.html", readers=readers, force=True)
        assert not done.holds
        assert done.problems
        page = read(Path(done.path).read_text(encoding="utf-8"))
        verdict = page.all("header")[0].all("div")[0]
        assert verdict.attributes["class"] == "verdict bad"
        assert "does NOT hold" in verdict.text
        assert not page.by_id("certificate").all("pre")
    session.execute("DROP TABLE people_open")
    page = report_of(session, "people_open")
    assert "the relation no longer exists" in page.all("header")[0].text
    assert not page.has("sizes")


@pytest.mark.wide
@pytest.mark.usefixtures("undrawn")
def test_a_changed_model_is_not_drawn(duck):
    duck.publish(MODEL)
    duck.engine.pass_through("UPDATE ppdm.model_count SET rows = rows + 1")
    page = report_of(duck, "ills")
    assert "does NOT hold" in page.all("header")[0].text
    assert not page.by_id("tree").all("svg")


# -- accuracy against k ------------------------------------------------------------------------------------


def tried(engine, *points, target="people_open"):
    found = Evaluation("f", None, target, "SELECT 'secret'", ("mondrian",), {"k": ["5"]}, "kfold:10", "c45", 1, 9, 240)
    evaluations.start(engine, found)
    for position, (status, algorithm, k, accuracy) in enumerate(points):
        asked = () if k is None else (f"k = {k}", "distinct_l = 2")
        point = EvaluationPoint(
            position, status, algorithm, asked, 0.1, reason="7 classes" if status == "refused" else None, k=k,
            accuracy=accuracy, information_loss=0.2, risk_max=None if k is None else 1 / k,
        )  # fmt: skip
        evaluations.add_point(engine, found.evaluation_id, point)


POINTS = (("baseline", None, None, 0.91), ("measured", "mondrian", 2, 0.9), ("measured", "mondrian", 5, 0.875),
          ("measured", "kactus2", 5, 0.88), ("refused", "mondrian", 100, None))  # fmt: skip


def test_accuracy_is_drawn_against_k_with_the_chosen_point(duck):
    session = duck
    session.publish(policy())
    tried(session.engine, *POINTS)
    page = report_of(session, "people_open")
    section = page.by_id("evaluation")
    rows = section.all("table")[0].rows()
    assert [row[1] for row in rows[1:]] == ["91.0 %", "90.0 %", "87.5 %", "88.0 %", "–"]
    notes = [row.all("small")[0].text if row.all("small") else "" for row in section.all("tr")[1:]]
    assert notes == ["", "", "this release", "", "refused: 7 classes"]
    assert sum("stroke-chosen" in one.attributes.get("class", "") for one in section.walk()) == 1
    public = report_of(session, "people_open", readers="public").by_id("evaluation")
    assert "7 classes" not in public.text
    tried(session.engine, *POINTS, ("baseline", MAJORITY, None, 0.75))
    section = report_of(session, "people_open").by_id("evaluation")
    assert section.all("table")[0].rows()[1][:2] == ["majority class", "75.0 %"]
    assert "the dotted line is what the commonest class alone gives" in section.text


def test_the_area_under_the_curve_stands_with_the_accuracy(duck):
    duck.publish(policy())
    found = Evaluation("f", None, "people_open", "", ("mondrian",), {}, "holdout", "c45", 1, 1, 240)
    evaluations.start(duck.engine, found)
    point = EvaluationPoint(1, "measured", "mondrian", ("k = 5",), 0.1, k=5, accuracy=0.875, auc=0.8125)
    evaluations.add_point(duck.engine, found.evaluation_id, point)
    head, row = report_of(duck, "people_open").by_id("evaluation").all("table")[0].rows()
    assert (head[1:3], row[1:3]) == (["accuracy", "AUC"], ["87.5 %", "0.812"])


# -- the certificate ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("undrawn")
def test_the_certificate_is_the_one_a_recipient_gets_and_holds(session, monkeypatch):
    required = "k = 5, distinct_l = 2, simple_l = 1.2, t = 0.9"
    session.publish(policy(required=required))
    page = report_of(session, "people_open", readers="public")
    text = page.by_id("certificate").all("code")[-1].text
    exported = session.export("people_open", "release.duckdb")
    assert text == Path(exported.certificate).read_text(encoding="utf-8").replace("\t", "    ")
    monkeypatch.chdir(
        Path(exported.path).parent
    )  # where the recipient runs it: duckdb < release.duckdb.certificate.sql
    with duckdb.connect() as con:
        statements = list(duckdb.extract_statements(text))
        found = [con.execute(one).fetchall() for one in statements]
    verdicts = [row[0][3] for row in found if row and len(row[0]) == 4]
    assert len(verdicts) == len(required.split(","))
    assert all(verdict.startswith("holds") for verdict in verdicts)


def _statements_are_named_by_the_file_that_has_their_hash(page):
    root = Path(__file__).resolve().parents[2]
    rows = page.by_id("certificate").all("table")[1].all("tr")[1:]
    assert len(rows) == 2
    for cell in (row.all("td")[0] for row in rows):
        name, digest = cell.all("bdi")[0].text, cell.all("small")[0].text
        assert hashlib.sha256((root / name).read_bytes()).hexdigest() == digest


# -- the file ----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("undrawn")
def test_only_an_earlier_report_of_the_same_is_overwritten(duck, tmp_path):
    duck.publish(policy())
    duck.report("people_open", "page.html")
    first = (tmp_path / "page.html").read_text(encoding="utf-8")
    duck.report("people_open", "page.html")
    with pytest.raises(PolicyError, match="is not a report of this release for public readers"):
        duck.report("people_open", "page.html", readers="public")
    duck.publish(MODEL)
    with pytest.raises(PolicyError, match="is not a report of this release for internal readers"):
        duck.report("ills", "page.html")
    (tmp_path / "mine.html").write_text("<title>mine</title>")
    with pytest.raises(PolicyError, match="mine.html already exists"):
        duck.report("people_open", "mine.html")
    assert (tmp_path / "mine.html").read_text() == "<title>mine</title>"
    duck.report("people_open", "mine.html", force=True)
    assert "people_open" in (tmp_path / "mine.html").read_text(encoding="utf-8")
    assert "people_open" in first
    assert sorted(file.name for file in tmp_path.iterdir()) == ["mine.html", "page.html"]
    assert (tmp_path / "page.html").stat().st_mode & 0o077 == 0


def test_a_wrong_call_is_told_and_it_stays_below_its_folder(duck):
    duck.publish(policy())
    for path in ("../page.html", "/tmp/page.html", "", "a\0b", "no/such/folder.html", "x" * 201):
        with pytest.raises(PolicyError, match="a report"):
            duck.report("people_open", path)
    with pytest.raises(PolicyError, match="internal or public"):
        duck.report("people_open", "page.html", readers="everybody")
    with pytest.raises(PolicyError, match="no release"):
        duck.report("people_shut", "page.html")
