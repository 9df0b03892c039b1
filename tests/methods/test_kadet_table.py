"""kadet as a table: what it prints of every row, judged by the tree, the naive spans and the rows themselves."""

from __future__ import annotations

import json
import random
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal

import pytest
from click.testing import CliRunner
from kadet_cases import TARGET, Case, is_fine, meets, random_case
from mondrian_labels import covers, members
from test_kadet import case_of, mortgage
from test_kadet_persons import with_persons
from test_kadet_sensitive import secret_case

from ppdm_sql.commands import cli
from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.kadet.method import KADET
from ppdm_sql.methods.kadet.span_labels import label_writer, range_writer
from ppdm_sql.methods.plan import ENTITY, PART, Private, TablePlan
from ppdm_sql.policy.grammar import parse
from ppdm_sql.requirements import KAnonymity
from ppdm_sql.session import connect
from ppdm_sql.source.hierarchy import build
from ppdm_sql.source.relation import open_source
from ppdm_sql.statements.names import Name, column
from ppdm_sql.trees.tree import Attribute, Cut, Groups
from tests.sizes import are_many, seeds

_KEY = "ppdm_key0"


@dataclass
class Published:
    """What a plan gives, row by row in the order of the case's rows."""

    case: Case
    plan: TablePlan
    rows: list[dict]
    tree: object

    @property
    def public(self) -> list[str]:
        """What someone knows of a row that is published: the quasi-identifiers."""
        return [*self.case.public, *([TARGET] if self.case.class_is_public else [])]

    @property
    def groups(self) -> set[frozenset[int]]:
        found = defaultdict(set)
        for number, row in enumerate(self.rows):
            found[tuple(row[name] for name in self.public)].add(number)
        return {frozenset(group) for group in found.values()}


def published(case: Case, engine, make_table) -> Published:
    """The rows of a case through the plan of CREATE TABLE, and the tree that CREATE MODEL makes of them."""
    tree = case.run(engine, make_table)[0].tree
    text = case.text.replace("CREATE MODEL m AS SELECT", "CREATE TABLE t AS SELECT id,")
    statement = parse(text.replace("QUASI IDENTIFIER", "IDENTIFIER (id) QUASI IDENTIFIER"))[0]
    source = open_source(engine, statement.query, statement.policy)
    beside = Private({_KEY: column("id", "r")})
    plan = KADET.table(Job(engine, source, statement.policy, case.trees, beside))
    names = [*plan.published, PART, *([ENTITY] if case.entity else []), _KEY]
    rows = [dict(zip(names, row, strict=True)) for row in engine.fetch(plan.wide())]
    rows.sort(key=lambda row: row[_KEY])
    assert [row[_KEY] for row in rows] == list(range(len(case.rows)))
    return Published(case, plan, rows, tree)


# -- what a row must print, from the tree and the row alone ------------------------------------------------


def answers(tree, row: dict, public: list[str]) -> list[tuple]:
    """(attribute, split, branch or None) of every public question that someone like this row comes to."""
    found, waiting = [], [tree.root]
    while waiting:
        node = waiting.pop()
        if node.split is None:
            continue
        name = tree.attributes[node.split.attribute].name
        if name not in public:
            waiting += tree.children(node)
            continue
        branch = branch_of(node.split, row[name])
        found.append((name, node.split, branch))
        waiting += [] if branch is None else [tree.nodes[node.children[branch]]]
    return found


def branch_of(split, value) -> int | None:
    if isinstance(split, Cut):
        return int(value >= split.at)
    return next((place for place, group in enumerate(split.groups) if value in group), split.others)


def check_labels(found: Published) -> None:
    """A label stands for the values that would have answered the same, and for no others."""
    case = found.case
    for raw, row in zip(case.rows, found.rows, strict=True):
        told = answers(found.tree, raw, case.public)
        for name in case.public:
            asked = [(split, branch) for other, split, branch in told if other == name]
            alike = {one[name] for one in case.rows if all(branch_of(split, one[name]) == way for split, way in asked)}
            check_label(case, name, row[name], raw[name], alike, asked=bool(asked))


def check_label(case: Case, name: str, label: str, value, alike: set, *, asked: bool) -> None:
    if not asked:
        assert label == "*"
        return
    levels = case.trees[name].levels_of if name in case.hierarchies else None
    assert covers(label, value, levels=None if levels is None else levels(value))
    held = Counter(row[name] for row in case.rows)
    for other, rows in held.items():
        stands = covers(label, other, levels=None if levels is None else levels(other))
        assert stands or other not in alike
        if levels is None and rows >= case.k and other not in alike and ... not in members(label):
            assert not stands
    named = {member for member in members(label) if isinstance(member, str)} or {label}
    assert all(held[one] >= case.k for one in named if one in held)


def check(found: Published) -> None:
    case, plan = found.case, found.plan
    naive = case.naive().partition()
    for group in found.groups:
        assert is_fine(case, group)
        assert {number for span in naive if span & group for number in span} == group
    parts = defaultdict(set)
    for number, row in enumerate(found.rows):
        parts[row[PART]].add(number)
    assert {frozenset(group) for group in parts.values()} == found.groups
    assert (plan.classes, plan.rows) == (len(found.groups), len(case.rows))
    assert plan.figures["smallest class"] == min(map(len, found.groups))
    asked = {found.tree.attributes[number].name for number in found.tree.used_attributes()}
    for raw, row in zip(case.rows, found.rows, strict=True):
        for name in set(case.attributes) - set(case.public):
            assert row[name] == (raw[name] if name in asked or name in case.sensitive else None)
        assert row[TARGET] == raw[TARGET]
    check_labels(found)


# -- tables ------------------------------------------------------------------------------------------------

MORTGAGE_ROWS = [
    ("M", "No", "bad"), ("M", "No", "bad"), ("M", "Yes", "good"),
    ("U", "No", "bad"), ("U", "Yes", "bad"), ("U", "Yes", "good"),
]  # fmt: skip


def test_the_mortgage_example_has_two_groups_of_three(engine, make_table):
    found = published(mortgage("k = 3"), engine, make_table)
    check(found)
    assert sorted((row["marital"], row["sports"], row[TARGET]) for row in found.rows) == MORTGAGE_ROWS
    assert sorted(map(sorted, found.groups)) == [[0, 4, 5], [1, 2, 3]]


@pytest.mark.duckdb
@seeds(small=4, full=20, nightly=100)
def test_random_tables_print_what_their_spans_tell(duckdb_engine, make_table, seeds):
    split = 0
    for seed in seeds:
        case = random_case(seed)
        try:
            found = published(case, duckdb_engine, make_table)
        except RequirementBreached:
            continue
        check(found)
        split += len(found.groups) > 1
    assert split > len(seeds) / 3 or not are_many(seeds)


@pytest.mark.wide
@pytest.mark.duckdb
def test_sensitive_private_columns_leave_and_are_diverse(duckdb_engine, make_table):
    kept = 0
    for seed in range(12):
        case = secret_case(seed)
        try:
            found = published(case, duckdb_engine, make_table)
        except RequirementBreached:
            continue
        check(found)
        others = [item for item in case.asked if not isinstance(item, KAnonymity)]
        for group in found.groups:
            for name in case.sensitive:
                counts = sorted(Counter(found.rows[number][name] for number in group).values(), reverse=True)
                assert all(meets(item, counts) for item in others)
                kept += len(counts) > 1
    assert kept > 5


@pytest.mark.parametrize("seed", [5, 12])
def test_every_engine_prints_the_same(engine, duckdb_engine, make_table, seed):
    found = published(random_case(seed), engine, make_table)
    check(found)
    if engine is not duckdb_engine:
        there = published(replace(random_case(seed), table="there"), duckdb_engine, make_table)
        assert [{**row, PART: None} for row in there.rows] == [{**row, PART: None} for row in found.rows]


# -- words -------------------------------------------------------------------------------------------------


@pytest.mark.duckdb
def test_numbers_and_days_become_ranges_between_the_borders_of_the_tree(duckdb_engine, make_table):
    rows = [(age, "low" if age < 30 else "mid" if age < 50 else "high") for age in range(10, 70)]
    found = published(case_of(["age", "cls"], rows, ["age"], "k = 5"), duckdb_engine, make_table)
    assert Counter(row["age"] for row in found.rows) == {"< 29.5": 20, "[29.5, 49.5)": 20, ">= 49.5": 20}
    check(found)


@pytest.mark.duckdb
def test_people_who_stop_are_told_by_the_values_they_may_have_and_rare_ones_are_not_named(duckdb_engine, make_table):
    """Only the rows of q = 1 ask for the town, and none of them is of c, d or the hamlets."""
    rows = [("yes", town, good) for town, good in (("a", "x"), ("b", "y")) for _ in range(4)]
    rows += [("no", town, "z") for town in ("a", "b", "c", "d") for _ in range(4)]
    rows += [("no", f"hamlet {number}", "z") for number in range(2)]
    case = case_of(["q", "town", "cls"], rows, ["town"], "k = 4", options={"form": "id3", "prune": "false"})
    found = published(case, duckdb_engine, make_table)
    check(found)
    assert Counter(row["town"] for row in found.rows) == {"a": 8, "b": 8, "{c, d, ...}": 10}


@pytest.mark.duckdb
def test_people_of_the_rest_are_told_by_the_values_that_are_left_and_rare_ones_are_not_named(duckdb_engine, make_table):
    rows = [(town, good) for town, good in (("a", "x"), ("b", "y"), ("c", "x")) for _ in range(6)]
    rows += [(f"hamlet {number}", "y") for number in range(2)]
    case = case_of(["town", "cls"], rows, ["town"], "k = 4", options={"form": "id3", "prune": "false"})
    found = published(case, duckdb_engine, make_table)
    check(found)
    assert Counter(row["town"] for row in found.rows) == {"b": 6, "c": 6, "{a, ...}": 8}


LAB = """
CREATE TABLE lab AS SELECT i AS id, CAST(50 + i % 41 AS INTEGER) AS age, DATE '2020-01-01' + CAST(i * 37 % 400 AS INTEGER) AS day,
    CAST(i % 17 AS DECIMAL(5, 1)) / 10 AS dose, CASE WHEN i % 41 > 19 AND i * 37 % 400 < 210 THEN 'ill' ELSE 'well' END AS cls
FROM range(900) AS numbers (i)
"""


@pytest.mark.duckdb
def test_numbers_and_days_with_intervals_are_cut_where_intervals_meet():
    with connect(":memory:") as session:
        session.execute(LAB)
        session.execute(
            "CREATE TABLE open AS SELECT age, day, dose, cls FROM lab WITH ANONYMIZATION (ALGORITHM kadet (form = id3) "
            "REQUIRE k = 10 QUASI IDENTIFIER (age HIERARCHY INTERVALS (5, 10, 20), day HIERARCHY INTERVALS (50), "
            "dose HIERARCHY INTERVALS (0.5)) TARGET (cls))"
        )
        ages, days = (
            {row[0] for row in session.execute(f"SELECT DISTINCT {name} FROM open")[0].table.rows}
            for name in ("age", "day")
        )
    assert len(ages) > 2
    assert all(int(number) % 5 == 0 for label in ages for number in re.findall(r"\d+", label))
    borders = [date.fromisoformat(found) for label in days for found in re.findall(r"[\d-]{10}", label)]
    assert borders
    assert all((border - date(1970, 1, 1)).days % 50 == 0 for border in borders)


@pytest.mark.duckdb
def test_numbers_with_words_print_the_smallest_that_covers_them(duckdb_engine, make_table):
    rows = [(age, "low" if age < 30 else "mid" if age < 50 else "high") for age in range(10, 70)]
    words = [[str(age), f"{age // 10}0s", "young" if age < 30 else "old", "*"] for age in range(100)]
    case = case_of(["age", "cls"], rows, ["age"], "k = 5", hierarchies={"age": words})
    found = published(case, duckdb_engine, make_table)
    assert Counter(row["age"] for row in found.rows) == {"young": 20, "old": 40}
    assert [node.split.at for node in found.tree.nodes if node.split is not None] == [30, 50]


@pytest.mark.duckdb
@pytest.mark.parametrize(
    ("periods", "first_days"),
    [("month, quarter, year", r"-\d\d-01"), ("quarter", r"-(01|04|07|10)-01"), ("year", "-01-01")],
)
@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMPTZ"])
def test_days_with_a_calendar_are_cut_between_periods(kind, periods, first_days):
    with connect(":memory:") as session:
        session.execute(LAB)
        session.execute(f"CREATE TABLE days AS SELECT CAST(day AS {kind}) AS day, cls FROM lab")
        policy = (
            "CREATE OR REPLACE TABLE open AS SELECT day, cls FROM days WITH ANONYMIZATION (ALGORITHM kadet (form = id3) "
            f"REQUIRE k = 10 QUASI IDENTIFIER (day HIERARCHY CALENDAR ({periods}){{}}) TARGET (cls))"
        )
        session.execute(policy.format(""))
        labels = [row[0] for row in session.execute("SELECT DISTINCT day FROM open")[0].table.rows]
        starts = [found for label in labels for found in re.findall(r"\d{4}(-\d\d-\d\d)", label)]
        assert starts
        assert all(re.fullmatch(first_days, start) for start in starts)
        session.execute(policy.format(" AS RANGE"))
        counted = "SELECT COUNT(*) FILTER (day_from IS NOT NULL OR day_to IS NOT NULL) FROM open"
        assert session.execute(counted)[0].table.rows == [(900,)]


@pytest.mark.duckdb
@pytest.mark.parametrize(("word", "told"), [("PREFIX (4)", "HIERARCHY PREFIX gives none")])
def test_rules_that_give_no_ranges_are_refused_for_moments(word, told):
    with connect(":memory:") as session:
        session.execute(LAB)
        with pytest.raises(PolicyError, match=told):
            session.execute(
                "CREATE TABLE open AS SELECT day, cls FROM lab WITH ANONYMIZATION (ALGORITHM kadet REQUIRE k = 10 "
                f"QUASI IDENTIFIER (day HIERARCHY {word}) TARGET (cls))"
            )


@pytest.mark.duckdb
def test_a_private_column_without_values_says_so_in_its_comment(tmp_path):
    with connect(":memory:", out=tmp_path) as session:
        session.execute(LAB)
        session.execute("CREATE TABLE noted AS SELECT *, 'same' AS note, 'b' || id % 5 AS other FROM lab")
        (made,) = session.execute(
            "CREATE TABLE open AS SELECT age, note, other, cls FROM noted WITH ANONYMIZATION (ALGORITHM kadet "
            "(form = id3) REQUIRE k = 10, distinct_l = 2 QUASI IDENTIFIER (age) SENSITIVE (other) INSENSITIVE (note) TARGET (cls))"
        )
        noted = session.execute("SELECT column_name FROM duckdb_columns() WHERE comment LIKE 'NULL in every row%'")
        assert noted[0].table.rows == [("note",)]
        assert list(made.record.manifest.column_notes) == ["note"]
        assert session.execute("SELECT COUNT(note), COUNT(other) FROM open")[0].table.rows == [(0, 900)]


def test_several_questions_about_one_column_leave_what_answers_all_of_them():
    by_label = Groups(0, (("a", "b"), ("c", "d", "e")), labels=("low", "top"))
    by_value, of_others = Groups(0, (("a",), ("b",))), Groups(0, (("c",), ("d",)))
    write = label_writer(build("town", [[leaf, "low" if leaf < "c" else "top", "*"] for leaf in "abcde"]))
    for asked, label in (
        ([(by_label, 0)], "low"),
        ([(by_label, 0), (by_value, 0)], "a"),
        ([(by_value, 0), (by_label, 0)], "a"),
        ([(by_label, 1), (of_others, None)], "e"),
        ([(of_others, None), (by_label, 1), (by_value, None)], "e"),
        ([(by_value, None)], "top"),
        ([(of_others, None)], None),  # a, b or e: no label but that of all covers them
    ):
        assert write(asked) == label
    age = range_writer(Attribute("age", Kind.INTEGER, ordered=True))
    cuts = {at: Cut(0, Decimal(at)) for at in (20, 30, 50)}
    assert age([(cuts[50], 0), (cuts[20], 1), (cuts[30], 1)]) == "[30, 50)"
    assert age([(cuts[20], 0), (cuts[50], 0)]) == "< 20"


@pytest.mark.duckdb
def test_a_value_of_stars_is_not_taken_for_everything(duckdb_engine, make_table):
    rows = [(town, "here", good) for town, good in (("**", "x"), ("b", "y")) for _ in range(4)]
    case = case_of(["town", "place", "cls"], rows, ["town", "place"], "k = 4", options={"form": "id3"})
    found = published(case, duckdb_engine, make_table)
    assert {row["town"] for row in found.rows} == {"**", "b"}
    assert {row["place"] for row in found.rows} == {"***"}


@pytest.mark.duckdb
def test_private_columns_that_the_tree_does_not_ask_for_keep_their_type_and_lose_their_values(
    duckdb_engine, make_table, open_session
):
    columns = {"age": "INTEGER", "paid": "DECIMAL(9, 2)", "seen": "TIMESTAMP", "cls": "TEXT"}
    rows = [(20 + n % 2 * 20, Decimal("1.50"), datetime(2024, 5, 1), "ny"[n % 2]) for n in range(12)]
    make_table(duckdb_engine, "people", columns, rows)
    session = open_session(duckdb_engine)
    text = """CREATE TABLE o AS SELECT * FROM people WITH ANONYMIZATION (ALGORITHM kadet REQUIRE k = 3
        QUASI IDENTIFIER (age) INSENSITIVE (paid, seen) TARGET (cls))"""
    release = session.publish(text)
    assert Counter(duckdb_engine.fetch(release.query)) == {("< 30", None, None, "n"): 6, (">= 30", None, None, "y"): 6}
    stored = {info.name: info.declared for info in duckdb_engine.columns(Name("o"))}
    assert (stored["paid"], stored["seen"]) == ("DECIMAL(9,2)", "TIMESTAMP")


# -- persons, missing values, refusals ---------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.duckdb
def test_k_counts_persons(duckdb_engine, make_table):
    grouped = 0
    for seed in range(12):
        case = random_case(seed)
        draw = random.Random(seed)
        persons = [draw.randrange(len(case.rows)) for _ in case.rows]
        try:
            found = published(with_persons(case, persons, f"who_{seed}"), duckdb_engine, make_table)
        except RequirementBreached:
            continue
        for group in found.groups:
            assert is_fine(found.case, group)
            assert len({found.rows[number][ENTITY] for number in group}) >= case.k
        check_labels_cover(found)
        grouped += len(found.groups) > 1
    assert grouped > 2


def check_labels_cover(found: Published) -> None:
    case = found.case
    for raw, row in zip(case.rows, found.rows, strict=True):
        for name in case.public:
            levels = case.trees[name].levels_of(raw[name]) if name in case.hierarchies else None
            assert covers(row[name], raw[name], levels=levels)


@pytest.mark.duckdb
def test_missing_values_are_refused(duckdb_engine, make_table):
    case = mortgage("k = 2")
    case.rows[2]["sports"] = None
    with pytest.raises(PolicyError, match=r'cannot protect NULLs \("sports" in 1 of 6 rows\)'):
        published(case, duckdb_engine, make_table)


@pytest.mark.duckdb
def test_what_the_table_cannot_keep_is_refused_as_for_a_model(duckdb_engine, make_table):
    with pytest.raises(RequirementBreached, match=r'k = 3 cannot be met: the class "cls" is public'):
        published(mortgage("k = 3", class_is_public=True), duckdb_engine, make_table)


# -- statements --------------------------------------------------------------------------------------------

LOANS = """CREATE {} AS SELECT name, marital, sports, risk FROM mortgages WITH ANONYMIZATION (
    ALGORITHM kadet (form = id3) REQUIRE k = 3 IDENTIFIER (name) QUASI IDENTIFIER ({}) INSENSITIVE ({})
    SENSITIVE (risk) TARGET (risk) {})"""
PEOPLE = [("Lisa", "U", "Yes", "good"), ("John", "M", "Yes", "good"), ("Ben", "M", "No", "bad"),
          ("Laura", "M", "No", "bad"), ("Robert", "U", "Yes", "bad"), ("Anna", "U", "No", "bad")]  # fmt: skip


@pytest.fixture
def session(engine, make_table, open_session):
    make_table(engine, "mortgages", dict.fromkeys(("name", "marital", "sports", "risk"), "TEXT"), PEOPLE)
    return open_session(engine)


@pytest.mark.parametrize("kind", ["TABLE", "VIEW"])
def test_from_the_statement_to_the_file_of_a_recipient(session, tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    text = LOANS.format(f"{kind} loans", "marital", "sports", "")
    planned = session.plan(text)
    assert (planned.rows, planned.classes) == (6, 2)
    release = session.publish(text)
    assert [(f.requirement, f.achieved, f.holds) for f in release.findings] == [("k = 3", "3", True)]
    assert sorted(session.engine.fetch(release.query)) == MORTGAGE_ROWS
    assert session.verify("loans").holds
    session.export("loans", tmp_path / "loans.parquet")
    done = CliRunner().invoke(cli, ["verify", "--file", str(tmp_path / "loans.parquet"), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)
    with pytest.raises(
        PolicyError, match=r"LIVE needs ALGORITHM incognito, .*tpp.*with kadet publish a VIEW without LIVE"
    ):
        session.publish(LOANS.format("VIEW now LIVE", "marital", "sports", ""))


def test_a_public_class_is_a_quasi_identifier_of_the_table(engine, make_table, open_session):
    make_table(engine, "mortgages", dict.fromkeys(("name", "marital", "sports", "risk"), "TEXT"), PEOPLE)
    text = LOANS.format("TABLE loans", "marital, risk", "sports", "").replace("SENSITIVE (risk)", "")
    release = open_session(engine).publish(text.replace("k = 3", "k = 2"))
    assert [(f.requirement, f.achieved) for f in release.findings] == [("k = 2", "2")]
    assert release.classes == 2
    assert Counter(engine.fetch(release.query)) == Counter(("*", sports, risk) for _, _, sports, risk in PEOPLE)


def test_a_table_is_judged_together_with_a_model_of_the_same_rows(session):
    """With the model of the same spans nobody is singled out; with one that parts them by sports someone is."""
    session.publish(LOANS.format("TABLE loans", "marital", "sports", ""))
    session.publish(LOANS.format("MODEL same", "marital", "sports", "ACCEPT RISK (rare_classes)"))
    with pytest.raises(RequirementBreached, match="fewer than 3"):
        session.publish(LOANS.format("MODEL other", "sports", "marital", "ACCEPT RISK (rare_classes)"))
