"""k_map and presence: vectors by hand, releases against a naive count of the labelled population, and what is refused."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import pytest

from ppdm_sql.checks.measure import measure
from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.policy.stored_requirements import requirement
from ppdm_sql.statements.names import Name
from ppdm_sql.verify.relation import judge
from tests.sizes import seeds

COLUMNS = {"a": "TEXT", "b": "TEXT"}
RELEASED = [("x", "1"), ("x", "1"), ("y", None)]
# x, 1: 4 people; y, NULL: 5; z, 1: 2 people, none of whom is in the release.
LABELLED = [("x", "1", 3), ("x", "1", 1), ("y", None, 5), ("z", "1", 2)]


@pytest.mark.parametrize(
    ("text", "achieved", "classes", "rows"),
    [
        ("k_map = 4 IN people", Fraction(4), 0, 0),
        ("k_map = 5 IN people", Fraction(4), 1, 2),
        ("presence = (0, 0.5) IN people", Fraction(1, 2), 0, 0),
        ("presence = (0, 0.49) IN people", Fraction(1, 2), 1, 2),
        ("presence = (0.2, 0.5) IN people", Fraction(1, 2), 1, 0),  # nobody with z, 1
        ("presence = (0.21, 0.5) IN people", Fraction(1, 2), 2, 1),  # and one in five with y
    ],
)
def test_by_hand(engine, make_table, text, achieved, classes, rows):
    relation = make_table(engine, "released", COLUMNS, RELEASED)
    labelled = make_table(engine, "labelled", {**COLUMNS, "ppdm_people": "BIGINT"}, LABELLED)
    asked = requirement(text)
    (found,) = judge(
        engine, relation, quasi=["a", "b"], sensitive=[], requirements=[asked], populations={asked.population: labelled}
    ).findings
    assert (found.achieved, found.breaching_classes, found.breaching_rows) == (achieved, classes, rows)
    assert found.holds is (classes == 0)
    make_table(engine, "people", COLUMNS, [(a, b) for a, b, number in LABELLED for _ in range(number)])
    infos = list(engine.columns(relation))
    (quick,) = measure(engine, relation, quasi=infos, sensitive=[], requirements=[asked]).outcomes
    assert (quick.achieved, quick.breaching_classes, quick.breaching_rows) == (achieved, classes, rows)


STATEMENT = """CREATE TABLE open AS SELECT age, zip, ill FROM patients WITH ANONYMIZATION (ALGORITHM {algorithm}
REQUIRE {required} IN people QUASI IDENTIFIER (age, zip{ladder}) SENSITIVE (ill) SUPERSEDES ALL)"""


def fill(engine, make_table, draw, rows=60, end=""):
    people = [(draw.choice([*range(20, 60), None]), f"{draw.randint(100, 130)}") for _ in range(4 * rows)]
    patients = [(*person, draw.choice(["flu", "cold"])) for person in draw.sample(people, rows)]
    make_table(engine, f"people{end}", {"age": "INTEGER", "zip": "TEXT"}, people)
    make_table(engine, f"patients{end}", {"age": "INTEGER", "zip": "TEXT", "ill": "TEXT"}, patients)
    return people, patients


@seeds(small=2, full=5, nightly=100)
@pytest.mark.parametrize("algorithm", ["incognito", "mondrian"])
@pytest.mark.parametrize("required", ["k_map = 6", "presence = (0.05, 0.7)"])
def test_releases_meet_them_by_a_naive_count(engine, make_table, open_session, algorithm, required, seeds):
    """A person has the label of a range or prefix that the values lie in; counted in Python."""
    for seed in seeds:
        people, _ = fill(engine, make_table, random.Random(seed), end=f"_{seed}")
        session = open_session(engine)
        ladder = " HIERARCHY PREFIX (2, 1)"
        text = STATEMENT.format(algorithm=algorithm, required=required, ladder=ladder)
        text = text.replace("IN people", f"IN people_{seed}").replace("patients", f"patients_{seed}")
        text = text.replace("TABLE open", f"TABLE open_{seed}")
        release = session.publish(text)
        assert release.findings[0].holds
        assert session.verify(f"open_{seed}").holds
        classes = Counter(engine.fetch(_rows(f"open_{seed}")))
        if algorithm != "incognito":  # whose labels are the same in all rows, so that a person has one label
            continue
        held = {label: sum(_lies_in(person, label) for person in people) for label in classes}
        for label, rows in classes.items():
            if required.startswith("k_map"):
                assert held[label] >= 6, (seed, label)
            else:
                assert Fraction(1, 20) <= Fraction(rows, held[label]) <= Fraction(7, 10), (seed, label)


def _rows(name):
    from sqlglot import exp

    picked = [exp.cast(exp.column(one, quoted=True), "TEXT") for one in ("age", "zip")]
    return exp.Select(expressions=picked).from_(Name(name).table())


def _lies_in(person, label):
    age, area = person
    shown, prefix = label
    if prefix != "*" and not area.startswith(prefix.rstrip("*")):
        return False
    if shown is None or age is None:
        return shown == "*" or (shown is None and age is None)
    if shown == "*":
        return True
    if shown.startswith("["):
        low, high = shown[1:-1].split(",")
        return float(low) <= age < float(high)
    return str(age) == shown


@pytest.mark.duckdb
@pytest.mark.parametrize(
    ("people", "told"),
    [
        ({"age": "INTEGER"}, 'has no column "zip"'),
        ({"age": "TEXT", "zip": "TEXT"}, 'other types in "age"'),
        (None, "there is no table people"),
    ],
)
def test_a_population_that_does_not_fit_is_refused(duckdb_engine, make_table, open_session, people, told):
    make_table(duckdb_engine, "patients", {"age": "INTEGER", "zip": "TEXT", "ill": "TEXT"}, [(1, "100", "flu")] * 9)
    if people is not None:
        make_table(duckdb_engine, "people", people, [])
    with pytest.raises(PolicyError, match=told) as refused:
        open_session(duckdb_engine).publish(STATEMENT.format(algorithm="mondrian", required="k_map = 5", ladder=""))
    (mistake,) = refused.value.mistakes
    assert (mistake.line, mistake.column) == (2, 1)  # REQUIRE
    assert duckdb_engine.relation_kind(Name("open")) is None


def test_everybody_who_is_published_is_in_the_population(engine, make_table, open_session):
    _, patients = fill(engine, make_table, random.Random(1))
    make_table(
        engine, "patients2", {"age": "INTEGER", "zip": "TEXT", "ill": "TEXT"}, [*patients, (99, "100", "flu")] * 2
    )
    text = STATEMENT.format(algorithm="mondrian", required="k_map = 5", ladder="").replace("patients", "patients2")
    with pytest.raises(PolicyError, match=r"the population lacks \d+ rows of the source"):
        open_session(engine).publish(text)


@pytest.mark.duckdb
def test_a_share_that_no_recoding_reaches_is_refused(duckdb_engine, make_table, open_session):
    fill(duckdb_engine, make_table, random.Random(2))  # a quarter of the population is published
    for algorithm in ("incognito", "mondrian"):
        text = STATEMENT.format(algorithm=algorithm, required="presence = (0.3, 0.9)", ladder=" HIERARCHY PREFIX (1)")
        with pytest.raises(RequirementBreached, match="not even by the whole table as one class"):
            open_session(duckdb_engine).publish(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("k_map = 5", "expected IN behind k_map"),
        ("k_map = 1 IN people", "a whole number from 2"),
        ("presence = (0.2, 0.1) IN people", "the first bound of presence is below the second"),
        ("presence = (0.1, 1.1) IN people", "a number from 0 to 1"),
        ("presence = 0.1 IN people", r"expected \("),
    ],
)
def test_what_cannot_be_meant_is_refused(text, told):
    with pytest.raises(PolicyError, match=told):
        requirement(text)


def test_texts_are_read_back():
    for text in ("k_map = 5 IN s.people", 'presence = (0.05, 0.2) IN "the people"', "presence = (0, 1) IN people"):
        assert str(requirement(text)) == text
