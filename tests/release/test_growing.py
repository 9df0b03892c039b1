"""Growing releases: a night adds rows in cohorts, under the labels of the first night, or changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ppdm_sql.errors import NotAvailable, PolicyError, PpdmError, RequirementBreached, SchemaDrifted, Tampered
from ppdm_sql.policy.grammar import parse
from ppdm_sql.policy.policy import Changes, Publish
from ppdm_sql.policy.render import render_statement
from ppdm_sql.release.reverify import reverify_file
from tests.sizes import first

GROWING = """
CREATE {kind} people_open GROWING AS SELECT id, name, age, sex, zip, illness FROM people
WITH ANONYMIZATION (ALGORITHM {method} REQUIRE k = 5{required} IDENTIFIER (name) QUASI IDENTIFIER (age, sex, zip)
    SENSITIVE (illness) KEY (id) {more} SEED 7)
"""


def growing(more="", kind="TABLE", required="", method="mondrian") -> str:
    return GROWING.format(more=more, kind=kind, required=required, method=method)


def arrive(session, numbers, age=40, zip_="10001", illness="flu") -> None:
    rows = ", ".join(f"({n}, 'P {n}', {age + n % 7}, 'f', '{zip_}', '{illness}')" for n in numbers)
    session.execute(f"INSERT INTO people VALUES {rows}")


def labels(session) -> set[tuple]:
    return {row[:3] for row in session.engine.fetch(session.release("people_open").query)}


# -- nights --------------------------------------------------------------------------------------------


@pytest.mark.lacks("spark", reason="GROWING needs transactions")
def test_a_night_adds_rows_under_labels_that_mean_the_same(session):
    first_night = session.publish(growing(kind="VIEW"))
    before = labels(session)
    assert (first_night.rows, first_night.record.manifest.growing.cohorts) == (120, first_night.classes)
    arrive(session, range(1000, 1030))
    second = session.run("REFRESH people_open")
    grown = second.record.manifest.growing
    assert (second.rows, grown.night, grown.new_rows, grown.waiting_rows) == (150, 1, 30, 0)
    assert before <= labels(session)
    session.execute("DELETE FROM people WHERE id < 3; UPDATE people SET age = 18 WHERE id = 9")
    third = session.run("REFRESH people_open")  # nobody came: everything stays as it was
    grown = third.record.manifest.growing
    assert (third.rows, grown.gone_rows, grown.changed_rows, grown.loss_tonight) == (150, 3, 1, None)
    found = session.verify("people_open")
    assert (found.holds, found.rows) == (True, 150)
    told = third.as_json()
    assert (told["waiting"], told["cohorts"], told["growing"]["night"]) == (0, grown.cohorts, 2)
    assert json.dumps(told)


@pytest.mark.duckdb
def test_fewer_than_k_rows_wait_until_there_are_enough(duck):
    duck.publish(growing())
    for night, (numbers, waiting, nights) in enumerate([((900, 901), 2, 1), ((902,), 3, 2), ((903, 904), 0, 0)], 1):
        arrive(duck, numbers)
        grown = duck.run("REFRESH people_open").record.manifest.growing
        assert (grown.night, grown.waiting_rows, grown.waiting_nights) == (night, waiting, nights)
    assert (grown.new_rows, duck.release("people_open").rows) == (5, 125)
    assert [line for line in duck.release("people_open").growth_lines if "waiting" in line] == []


@pytest.mark.wide
@pytest.mark.duckdb
def test_late_rows_wait_for_a_batch_that_loses_less_but_not_for_ever(duck):
    duck.publish(growing("CHANGES (late = wait (loss = 0.01, nights = 2))"))
    arrive(duck, range(900, 910))
    assert duck.run("REFRESH people_open").record.manifest.growing.waiting_rows == 10
    assert duck.run("REFRESH people_open").record.manifest.growing.waiting_rows == 10
    assert duck.run("REFRESH people_open").record.manifest.growing.new_rows == 10


@pytest.mark.duckdb
@pytest.mark.parametrize("kind", first(1, ["TABLE", "VIEW"]))
def test_rows_leave_together_when_they_hide_each_other(duck, kind):
    duck.publish(growing("CHANGES (gone = together)", kind=kind, required=", distinct_l = 2"))
    arrive(duck, range(900, 906))
    arrive(duck, range(906, 912), illness="cold")
    duck.run("REFRESH people_open")  # one cohort of twelve
    duck.execute("DELETE FROM people WHERE id IN (900, 906)")
    grown = duck.run("REFRESH people_open").record.manifest.growing
    assert (grown.left_rows, grown.gone_rows) == (0, 2)
    duck.execute("DELETE FROM people WHERE id IN (901, 902, 907)")
    release = duck.run("REFRESH people_open")
    assert (release.record.manifest.growing.left_rows, release.rows) == (5, 127)
    assert duck.verify("people_open").holds
    arrive(duck, [900])  # a key that has left stays out
    assert duck.run("REFRESH people_open").rows == 127


@pytest.mark.wide
@pytest.mark.duckdb
def test_withdraw_takes_the_whole_cohort_at_once(duck):
    duck.publish(growing("CHANGES (gone = withdraw)"))
    arrive(duck, range(900, 908))
    duck.run("REFRESH people_open")
    duck.execute("DELETE FROM people WHERE id = 900")
    release = duck.run("REFRESH people_open")
    assert (release.record.manifest.growing.left_rows, release.rows) == (8, 120)


@pytest.mark.duckdb
@pytest.mark.parametrize("gone", first(1, ["withdraw", "together"]))
def test_the_last_rows_leave_by_dropping_the_release(duck, gone):
    duck.publish(growing(f"CHANGES (gone = {gone})"))
    kept = "" if gone == "together" else " WHERE id % 4 > 0"  # most rows of every cohort, or all rows
    duck.execute(f"DELETE FROM people{kept}")
    said = r"^people_open would have no rows: the last 120 rows would be withdrawn .* DROP RELEASE people_open, or"
    with pytest.raises(RequirementBreached, match=said):
        duck.run("REFRESH people_open")
    with pytest.raises(RequirementBreached, match=said):
        list(duck.plan_all(duck.parse("REFRESH people_open")))
    assert (duck.release("people_open").rows, duck.verify("people_open").holds) == (120, True)
    duck.execute("DELETE FROM people")
    arrive(duck, range(900, 906))  # with others who come it goes on
    assert duck.run("REFRESH people_open").rows == 6
    duck.execute("DELETE FROM people")
    duck.run("DROP RELEASE people_open")
    assert duck.engine.relation_kind(duck.engine.name(parse("REFRESH people_open")[0].name)) is None


@pytest.mark.wide
@pytest.mark.duckdb
def test_changed_rows_are_published_again_as_one_part_of_their_cohort(duck):
    duck.publish(growing("CHANGES (changed = again, show = cohort)"))
    arrive(duck, range(900, 912))
    duck.run("REFRESH people_open")
    duck.execute("UPDATE people SET age = 80 WHERE id BETWEEN 900 AND 903")
    assert duck.run("REFRESH people_open").record.manifest.growing.changed_rows == 4
    duck.execute("UPDATE people SET age = 80 WHERE id BETWEEN 900 AND 905")
    release = duck.run("REFRESH people_open")
    grown = release.record.manifest.growing
    assert (grown.left_rows, grown.new_rows, grown.changed_rows, release.rows) == (6, 6, 0, 132)
    assert duck.verify("people_open").holds


def stored(session, *columns: str) -> list[tuple]:
    """Columns of the private table of rows."""
    growth = session.release("people_open").record.roles.growing
    table = f"ppdm.ppdm_release_{growth.growth_id}"
    return session.engine.pass_through(f"SELECT {', '.join(columns)} FROM {table}", 10_000).rows


@pytest.mark.duckdb
def test_changed_rows_are_not_divided_by_what_they_were(duck):
    """Twelve rows of one cohort: six that had the flu are young now and six that had a cold are old."""
    duck.publish(growing("CHANGES (changed = again, gone = together)", required=", distinct_l = 2"))
    arrive(duck, range(900, 906))
    arrive(duck, range(906, 912), illness="cold")
    duck.run("REFRESH people_open")
    duck.execute("""UPDATE people SET age = CASE WHEN id < 906 THEN 18 ELSE 88 END,
        illness = CASE WHEN id % 2 = 0 THEN 'gout' ELSE 'none' END WHERE id >= 900""")
    grown = duck.run("REFRESH people_open").record.manifest.growing
    assert (grown.left_rows, grown.new_rows) == (12, 12)
    now = stored(duck, "ppdm_cohort", "ppdm_since", "illness")
    assert len({cohort for cohort, since, _ in now if since == 2}) == 1
    assert sorted(illness for _, since, illness in now if since == 1) == ["cold"] * 6 + ["flu"] * 6
    duck.execute("DELETE FROM people WHERE id BETWEEN 900 AND 905")  # they have gout and none, but all had the flu
    assert duck.run("REFRESH people_open").record.manifest.growing.left_rows == 0
    duck.execute("DELETE FROM people WHERE id >= 900")
    assert duck.run("REFRESH people_open").record.manifest.growing.left_rows == 12
    assert [illness for _, since, illness in stored(duck, "ppdm_cohort", "ppdm_since", "illness") if since] == [
        None
    ] * 24


@pytest.mark.duckdb
def test_parts_do_not_leave_where_classes_are_compared_with_the_whole_release(duck):
    duck.execute("UPDATE people SET illness = 'flu' WHERE illness IS NULL")
    duck.publish(growing("CHANGES (changed = again, gone = together)", required=", t = 0.9"))
    arrive(duck, range(900, 912))
    duck.run("REFRESH people_open")
    duck.execute("DELETE FROM people WHERE id BETWEEN 900 AND 905; UPDATE people SET age = 18 WHERE id > 905")
    assert duck.run("REFRESH people_open").record.manifest.growing.left_rows == 0
    duck.execute("DELETE FROM people WHERE id >= 900")
    assert duck.run("REFRESH people_open").record.manifest.growing.left_rows == 12


@pytest.mark.wide
@pytest.mark.duckdb
def test_people_with_rows_in_several_cohorts_are_counted_or_held_back(duck):
    text = growing().replace("IDENTIFIER (name)", "ENTITY (name)")
    duck.publish(text)
    duck.execute("INSERT INTO people SELECT id + 1000, name, age, sex, zip, illness FROM people WHERE id < 20")
    grown = duck.run("REFRESH people_open").record.manifest.growing
    assert grown.returning_people == grown.new_rows == 20 - grown.waiting_rows > 10
    assert grown.narrowed is not None
    assert set(grown.narrowed) == {"illness"}
    duck.execute(text.replace("people_open", "others_open").replace("KEY (id)", "KEY (id) CHANGES (returning = wait) "
                 "ACCEPT RISK (joint)"))  # fmt: skip
    duck.execute("INSERT INTO people SELECT id + 2000, name, age, sex, zip, illness FROM people WHERE id < 20")
    assert duck.run("REFRESH others_open").record.manifest.growing.waiting_rows == 20


# -- what is there -------------------------------------------------------------------------------------


@pytest.mark.duckdb
def test_an_exported_file_proves_its_cohorts_where_it_shows_them(duck, tmp_path):
    duck.publish(growing("CHANGES (show = cohort)"))
    first = duck.export("people_open", "first.parquet")
    arrive(duck, range(900, 920))
    duck.run("REFRESH people_open")
    done = duck.export("people_open", "people.parquet")
    texts = [Path(one.recodes[0]).read_text(encoding="utf-8") for one in (first, done)]
    rules = [text.partition("\n")[2] for text in texts]  # the first line names the night's release
    assert rules[0] == rules[1] != ""
    assert reverify_file(tmp_path / "people.parquet").holds
    manifest = json.loads((tmp_path / "people.parquet.manifest.json").read_text())
    assert manifest["policy"]["quasi_identifiers"][-1] == "cohort"
    assert '"cohort"' in (tmp_path / done.certificate).read_text()
    arrive(duck, range(950, 960))
    assert duck.run("REFRESH people_open").rows == 150  # anyone who has the file finds nothing by it


@pytest.mark.wide
@pytest.mark.duckdb
def test_edited_rows_cohorts_and_recodings_are_found(duck):
    growth = duck.publish(growing()).record.roles.growing
    duck.engine.pass_through(f"UPDATE ppdm.ppdm_release_{growth.growth_id} SET ppdm_cohort = 0")
    assert duck.verify("people_open").holds  # larger cohorts are no breach
    duck.engine.pass_through(
        f"UPDATE ppdm.ppdm_release_{growth.growth_id} SET ppdm_cohort = 9 WHERE ppdm_row0 = "
        f"(SELECT MIN(ppdm_row0) FROM ppdm.ppdm_release_{growth.growth_id})"
    )
    assert not duck.verify("people_open").holds
    duck.engine.pass_through("UPDATE ppdm.growth SET recoding = replace(recoding, '[', '[ ')")
    with pytest.raises(Tampered, match="recoding of the growing release was edited"):
        duck.run("REFRESH people_open")
    duck.engine.pass_through("DELETE FROM people_open WHERE age = (SELECT MIN(age) FROM people_open)")
    assert "its rows differ from what was published" in duck.verify("people_open").problems


@pytest.mark.wide
@pytest.mark.duckdb
def test_another_release_of_the_same_people_is_judged_by_cohorts(duck):
    duck.publish(growing())
    arrive(duck, range(900, 930))
    duck.run("REFRESH people_open")
    other = growing().replace("people_open GROWING", "other").replace("KEY (id)", "INSENSITIVE (id)")
    with pytest.raises(RequirementBreached, match="joint class"):
        duck.publish(other.replace("INSENSITIVE (id)", "").replace("SELECT id,", "SELECT").replace("sex, zip)", "sex)")
                     .replace("sex, zip, illness FROM", "sex, illness FROM"))  # fmt: skip


@pytest.mark.wide
@pytest.mark.duckdb
def test_dropping_it_leaves_nothing_behind(duck):
    duck.publish(growing())
    duck.run("REFRESH people_open")
    duck.drop("people_open")
    left = [name for name in duck.engine.relations("ppdm") if name.startswith("ppdm_")]
    assert left == []
    assert duck.publish(growing(kind="VIEW")).rows == 120


@pytest.mark.duckdb
def test_a_plan_says_what_tonight_would_cost_and_writes_nothing(duck):
    duck.publish(growing())
    arrive(duck, range(900, 920))
    (plan,) = duck.plan_all(duck.parse("REFRESH people_open"))
    assert (plan.rows, plan.holds, len(plan.sample)) == (20, True, 5)
    assert plan.utility is not None
    assert "20 rows on night 1" in plan.steps[0]
    assert duck.release("people_open").rows == 120
    assert duck.run("EXPLAIN REFRESH people_open").rows == 20


@pytest.mark.wide
@pytest.mark.duckdb
@pytest.mark.parametrize("method", first(1, ["incognito", "kactus2", "kactus", "kadet", "tds", "tdr", "koptimize"]))
def test_other_methods_grow_too(duck, method):
    if method == "kadet":  # it takes no NULL
        duck.execute("UPDATE people SET sex = COALESCE(sex, 'm'), illness = COALESCE(illness, 'flu')")
    duck.publish(growing("TARGET (illness)", method=method, required=", distinct_l = 2"))
    arrive(duck, range(900, 920))
    arrive(duck, range(920, 940), illness="cold")
    release = duck.run("REFRESH people_open")
    assert release.record.manifest.growing.new_rows == 40
    assert duck.verify("people_open").holds


@pytest.mark.wide
@pytest.mark.duckdb
def test_a_drift_from_the_whole_release_is_refused_and_last_night_stays(duck):
    duck.execute("UPDATE people SET illness = 'flu' WHERE illness IS NULL")
    duck.publish(growing(required=", t = 0.4"))
    before = duck.release("people_open").record
    arrive(duck, range(900, 1500), illness="gout")
    with pytest.raises(RequirementBreached, match=r"t = 0.4 on illness fails in \d+ class"):
        duck.run("REFRESH people_open")
    assert duck.release("people_open").record.release_id == before.release_id
    assert duck.verify("people_open").holds


# -- bad input -----------------------------------------------------------------------------------------


@pytest.mark.duckdb
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (growing().replace("KEY (id)", "INSENSITIVE (id)").replace("name,", "sex AS name,"), "name repeats"),
        (growing().replace("KEY (id)", "KEY (zip2)").replace("id, name", "name, zip AS zip2"), "120 rows that share"),
        (growing("TARGET (illness)", method="tpp"),
         "tpp cannot label rows that come later: it keeps the trees .* algorithms that can: incognito, kactus, kactus2, kadet"),
        (growing(method="hilbert"), "hilbert cannot label rows that come later: it has no recoding: the same value"),
        (growing().replace("mondrian", "mondrian (ranges = extent)").replace("SEED", "ACCEPT RISK (extremes) SEED"),
         "mondrian, with these options or roles, cannot label rows that come later"),
        (growing("CHANGES (show = cohort)").replace("illness FROM", "illness, 1 AS cohort FROM")
         .replace("SENSITIVE (illness)", "SENSITIVE (illness) INSENSITIVE (cohort)"), "the query has one"),
    ],
)  # fmt: skip
def test_what_cannot_grow_is_refused(duck, text, told):
    with pytest.raises(PolicyError, match=told):
        duck.publish(text)
    assert duck.engine.relation_kind(duck.engine.name(parse("REFRESH people_open")[0].name)) is None


@pytest.mark.duckdb
def test_a_refused_night_leaves_last_nights_release(duck):
    duck.execute("CREATE TABLE zips AS SELECT DISTINCT zip, zip[1:1] AS area, '*' AS everything FROM people")
    duck.publish(growing().replace("zip)", "zip HIERARCHY zips)"))
    duck.execute("INSERT INTO people SELECT * FROM people WHERE id = 7")
    with pytest.raises(PolicyError, match=r"2 rows that share a key \(id\)"):
        duck.run("REFRESH people_open")
    duck.execute("DELETE FROM people WHERE id = 7; INSERT INTO people VALUES (7, 'P 7', 40, 'f', '10001', 'flu')")
    duck.execute("UPDATE zips SET area = 'elsewhere' WHERE zip = '10001'")
    with pytest.raises(SchemaDrifted, match='hierarchy of column "zip" changed for 1 value'):
        duck.run("REFRESH people_open")
    duck.execute("UPDATE zips SET area = '1' WHERE zip = '10001'")
    duck.execute("ALTER TABLE people ALTER age TYPE DOUBLE")
    with pytest.raises(SchemaDrifted, match="age"):
        duck.run("REFRESH people_open")
    assert duck.verify("people_open").holds


@pytest.mark.duckdb
def test_a_statement_that_would_start_again_is_refused_once_somebody_has_a_copy(duck, tmp_path):
    duck.publish(growing())
    duck.publish(growing(required=", distinct_l = 2").replace("CREATE", "CREATE OR REPLACE"))  # nobody has seen it
    arrive(duck, range(900, 910))
    arrive(duck, range(910, 920), illness="cold")
    duck.run("REFRESH people_open")
    duck.export("people_open", str(tmp_path / "people.parquet"))
    again = growing(required=", distinct_l = 2").replace("CREATE", "CREATE OR REPLACE")
    with pytest.raises(
        PolicyError, match="REFRESH people_open publishes tonight's rows by the policy .* first night[.]"
    ):
        duck.publish(again)
    with pytest.raises(PolicyError, match=r"first night \(this is another one\)"):
        duck.publish(again.replace("k = 5", "k = 6"))
    assert duck.verify("people_open").holds
    assert duck.release("people_open").rows == 140
    assert duck.publish(again.replace("SEED", "SUPERSEDES SEED")).record.manifest.growing.night == 0


@pytest.mark.spark
def test_spark_says_that_it_cannot(spark_engine, tables, open_session):
    tables(spark_engine)
    with pytest.raises(NotAvailable, match="GROWING needs transactions"):
        open_session(spark_engine).publish(growing())


# -- the language --------------------------------------------------------------------------------------


def statement(text: str) -> Publish:
    (found,) = parse(text)
    assert isinstance(found, Publish)
    return found


def test_the_clause_is_read_and_written_back():
    text = growing("CHANGES (late = wait (loss = 0.25, nights = 7), changed = again, gone = withdraw, show = cohort)")
    found = statement(text)
    assert found.growing
    assert [word.text for word in found.policy.roles.key] == ["id"]
    assert found.policy.changes == Changes("wait", found.policy.changes.most_loss, 7, "again", "withdraw",
                                           "declare", "cohort")  # fmt: skip
    again = statement(render_statement(found, "duckdb"))
    assert (again.policy, again.growing) == (found.policy, True)
    assert statement(growing()).policy.changes == Changes()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("CHANGES (late = later)", r"4:33: late does not have later: valid options: coarsen, wait"),
        ("CHANGES (latte = wait)", r"4:26: CHANGES does not have latte: did you mean late\?"),
        ("CHANGES (late = wait (loss = 2))", r"4:46: the loss of late = wait is a number from 0 to 1, not 2"),
        ("CHANGES (late = wait (nights = 0))", r"4:48: the nights of late = wait are a whole number from 1"),
        ("CHANGES (gone = keep, gone = keep)", r"gone is written twice in CHANGES"),
    ],
)
def test_a_wrong_clause_is_told_with_its_place(more, told):
    text = growing(more).strip().replace("SENSITIVE (illness) KEY (id) ", "SENSITIVE (illness) KEY (id)\n    ", 1)
    text = text.replace(f"\n    {more}", f"\n                {more}")
    with pytest.raises(PolicyError, match=told):
        parse(text)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("GROWING AS", "AS", "KEY is for a release that grows, which has GROWING behind its name"),
        ("TABLE people_open GROWING", "VIEW people_open LIVE GROWING", "LIVE or GROWING, not both"),
        ("TABLE people_open GROWING", "MODEL people_open GROWING", "only a TABLE or VIEW can be GROWING"),
    ],
)
def test_growing_stands_where_it_means_something(old, new, told):
    with pytest.raises(PpdmError, match=told):
        parse(growing().replace(old, new))
