"""Several trees, or a tree and a table, of one source tell more together than each alone; judged by persons."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict

import pytest

from ppdm_sql.errors import RequirementBreached
from ppdm_sql.session import Session
from ppdm_sql.statements.names import Name
from ppdm_sql.trees.follow import follow
from tests.sizes import seeds

COLUMNS = {"who": "INTEGER", "sex": "TEXT", "town": "TEXT", "age": "INTEGER", "job": "TEXT", "ill": "TEXT"}
ROLES = {
    "one": ("sex, town", "age, job"),
    "two": ("age", "sex, town, job"),
    "three": ("town, job", "sex, age"),
    "same": ("sex, town", "age, job"),
}


def model(name: str, k: int = 8, *, accepted: str = "", more: str = "", person: str = "ENTITY (who)") -> str:
    """One model asks for what another takes for known: accepted here, so that the joint classes alone decide."""
    public, private = ROLES[name]
    return f"""CREATE OR REPLACE MODEL {name} AS SELECT who, sex, town, age, job, ill FROM visits WITH ANONYMIZATION (
        ALGORITHM kadet (form = id3, max_depth = 3) REQUIRE k = {k} {person} QUASI IDENTIFIER ({public})
        INSENSITIVE ({private}) SENSITIVE (ill) TARGET (ill) ACCEPT RISK (known_elsewhere{accepted}) {more})"""


def table(k: int, quasi: str = "sex, town", person: str = "ENTITY (who)") -> str:
    return f"""CREATE OR REPLACE TABLE visits_open AS SELECT who, {quasi}, ill FROM visits WITH ANONYMIZATION (
        ALGORITHM mondrian REQUIRE k = {k} {person} QUASI IDENTIFIER ({quasi}) SENSITIVE (ill)
        ACCEPT RISK (rows, known_elsewhere) SEED 7)"""


def visits(seed: int, people: int = 60) -> list[tuple]:
    """One to three visits each; sex and town stay, age can pass a birthday, the illness depends on all of them."""
    draw = random.Random(seed)
    rows = []
    for who in range(people):
        sex, town, age = draw.choice("fm"), draw.choice(["ash", "elm"]), draw.choice([25, 35, 45, 55])
        for turn in range(draw.choice([1, 1, 2, 3])):
            job = draw.choice(["desk", "field"])
            score = (sex == "m") + (town == "elm") + (age + turn > 40) + (job == "field")
            rows.append((who, sex, town, age + turn, job, "yes" if score + draw.random() > 2.4 else "no"))
    return rows


@pytest.fixture
def opened(make_table, open_session):
    def with_rows(engine, rows) -> Session:
        make_table(engine, "visits", COLUMNS, rows)
        return open_session(engine)

    return with_rows


def spans(tree, rows, public: str) -> list[frozenset[int]]:
    """Everybody's span, row by row, by trying all that the attacker does not know."""
    names = list(COLUMNS)
    asked = [tree.attributes[number].name for number in tree.used_attributes()]
    unknown = [name for name in asked if name not in public.split(", ")]
    domains = [sorted({row[names.index(name)] for row in rows}) for name in unknown]
    found = []
    for row in rows:
        told = dict(zip(names, row, strict=True))
        tried = ({**told, **dict(zip(unknown, some, strict=True))} for some in itertools.product(*domains))
        found.append(frozenset(follow(tree, one) for one in tried))
    return found


def smallest(rows, tuples) -> int:
    """The fewest persons with a row of one tuple of spans."""
    persons = defaultdict(set)
    for row, told in zip(rows, tuples, strict=True):
        persons[told].add(row[0])
    return min(map(len, persons.values()))


def test_two_trees_are_refused_where_their_spans_part_a_few(engine, opened):
    rows = visits(1)
    session = opened(engine, rows)
    session.publish(model("one"))
    with pytest.raises(RequirementBreached, match="joint class(es)? of fewer than 8"):
        session.publish(model("two"))
    assert [str(item.name.last) for item in session.releases()] == ["one"]
    accepted = session.publish(model("two", accepted=", joint"))
    assert [outcome["holds"] for outcome in accepted.manifest["joint"]] == [False]
    assert "joint" in accepted.manifest["policy"]["accepted_risks"]
    held = [spans(session.model(name).tree, rows, ROLES[name][0]) for name in ("one", "two")]
    assert smallest(rows, held[0]) >= 8
    assert smallest(rows, held[1]) >= 8
    assert smallest(rows, zip(*held, strict=True)) < 8  # the refusal was right


def test_the_same_questions_again_are_no_new_knowledge(engine, opened):
    session = opened(engine, visits(1))
    session.publish(model("one"))
    again = session.publish(model("same"))
    assert again.manifest["joint"][0]["holds"]
    session.publish(model("one"))


@pytest.mark.duckdb
@seeds(small=2, full=5, nightly=40)
def test_whatever_is_published_keeps_k_persons_per_tuple_of_spans(duckdb_engine, opened, seeds):
    """Three trees in turn on random visits: all that are out together leave k persons in every tuple of spans."""
    refused = together = 0
    for seed in seeds:
        rows = visits(seed, people=90)
        session = opened(duckdb_engine, rows)
        out = []
        for name, k in (("one", 3), ("two", 12), ("three", 4)):
            try:
                session.publish(model(name, k))
                out.append((name, k))
            except RequirementBreached:
                refused += 1
        trees = {name: session.model(name).tree for name, _ in out}
        tuples = list(zip(*(spans(trees[name], rows, ROLES[name][0]) for name, _ in out), strict=True))
        assert smallest(rows, tuples) >= min(k for _, k in out)
        together += len(out) > 1
        for name, _ in out:
            session.drop(name)
        duckdb_engine.drop_table(Name("visits"))
    assert refused > 0
    assert together > 0


@pytest.mark.duckdb
def test_a_tree_and_a_table_are_judged_together(duckdb_engine, opened):
    session = opened(duckdb_engine, visits(1))
    session.publish(table(8))
    with pytest.raises(RequirementBreached, match="joint class(es)? of fewer than 8"):
        session.publish(model("two"))
    session.publish(model("one"))  # the same columns: it parts nobody whom the table does not part
    session.drop("visits_open")
    session.drop("one")
    session.publish(model("two"))
    with pytest.raises(RequirementBreached, match="joint class(es)? of fewer than 8"):
        session.publish(table(8))


@pytest.mark.duckdb
def test_many_rows_of_one_person_do_not_fill_a_joint_class(duckdb_engine, opened):
    """Who named no ENTITY counted rows; together with a release that promised persons, persons are counted."""
    rows = [(who, "fm"[who % 2], "ash", 30, "desk", "no") for who in range(12)]
    rows += [(50, "f", "elm", 30, "desk", "yes")] * 9
    session = opened(duckdb_engine, rows)
    by_rows = session.publish(table(6, person="IDENTIFIER (who)"))
    assert by_rows.classes == 3  # nine rows of one person passed as a class
    with pytest.raises(RequirementBreached, match="joint class(es)? of fewer than 6"):
        session.publish(model("one", 6, accepted=", rare_classes"))


@pytest.mark.duckdb
def test_a_person_who_may_be_elsewhere_does_not_count(duckdb_engine, opened):
    """Three persons with rows (f, 60) and (m, 20): that they are in f and in 20 makes no company for her who is (f, 20)."""
    pairs = {("f", 20): 1, ("f", 60): 3, ("m", 20): 3, ("m", 60): 3}
    whole = [pair for pair, number in pairs.items() for _ in range(number)]
    rows = [(who, sex, "ash", age, "desk", "yes" if age == 60 else "no") for who, (sex, age) in enumerate(whole)]
    for who in range(50, 53):
        rows += [(who, "f", "ash", 60, "desk", "yes"), (who, "m", "ash", 20, "desk", "no")]
    session = opened(duckdb_engine, rows)
    alone = """CREATE MODEL {0} AS SELECT who, {0}, ill FROM visits WITH ANONYMIZATION (ALGORITHM kadet (form = id3)
        REQUIRE k = 3 ENTITY (who) QUASI IDENTIFIER ({0}) SENSITIVE (ill) TARGET (ill) ACCEPT RISK (rare_classes))"""
    assert session.publish(alone.format("sex")).classes == 2
    with pytest.raises(RequirementBreached, match="joint class(es)? of fewer than 3"):
        session.publish(alone.format("age"))


def test_the_manifest_says_that_persons_were_counted(engine, opened):
    session = opened(engine, visits(3))
    release = session.publish(model("one"))
    assert release.manifest["policy"]["counts_entities"]
    assert [(f.requirement, f.holds) for f in release.findings] == [("k = 8", True)]
    assert release.rows == len(visits(3))
    assert session.verify("one").holds


KNOWN_BY_ONE = [
    ("QUASI IDENTIFIER (age) INSENSITIVE (ward)", "QUASI IDENTIFIER (ward) INSENSITIVE (age)"),
    ("QUASI IDENTIFIER (ward) INSENSITIVE (age)", "QUASI IDENTIFIER (age) INSENSITIVE (ward)"),
]


@pytest.mark.duckdb
@pytest.mark.parametrize(("first", "second"), KNOWN_BY_ONE)
def test_a_column_that_is_private_in_one_release_and_known_in_another_is_refused(
    duckdb_engine, make_table, open_session, first, second
):
    """An attacker who is taken to know the ward by one release answers the other's questions about the ward, too."""
    rows = [(n, n * 7 % 40, f"w{n % 5}", "p" if (n * 7 % 40 < 20 and n % 5 < 2) != (n % 11 == 0) else "n")
            for n in range(300)]  # fmt: skip
    make_table(duckdb_engine, "t", {"id": "INTEGER", "age": "INTEGER", "ward": "TEXT", "c": "TEXT"}, rows)
    session = open_session(duckdb_engine)

    def text(name: str, roles: str, more: str = "", ward: str = "ward") -> str:
        return (
            f"CREATE MODEL {name} AS SELECT id, age, {ward}, c FROM t WITH ANONYMIZATION (ALGORITHM kadet (form = id3, "
            f"prune = false, max_depth = 2) REQUIRE k = 10 ENTITY (id) {roles} SENSITIVE (c) TARGET (c) {more})"
        )

    session.publish(text("one", first))
    asked = {one.name for one in session.model("one").tree.attributes}
    assert {"age", "ward"} <= asked
    with pytest.raises(
        RequirementBreached, match="age, ward is a quasi-identifier in one release and published unchanged in another"
    ):
        session.publish(text("two", second, "ACCEPT RISK (joint)", ward="upper(ward) AS ward"))
    accepted = "ACCEPT RISK (joint, known_elsewhere)"
    release = session.publish(text("two", second, accepted, ward="upper(ward) AS ward"))
    assert release.record.manifest.joint[0].private_in_one == ("age", "ward")
    told = release.record.manifest.residual_risks["known_elsewhere"]
    assert "age, ward is a quasi-identifier" in told
    assert "(one)" in told
