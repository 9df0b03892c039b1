"""average_risk, unique and k ON EVERY m: vectors by hand, then checks, statements, judge and methods against the definitions."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product

import pytest

from ppdm_sql.checks.breaches import breaches
from ppdm_sql.checks.measure import measure
from ppdm_sql.checks.population import pitman_share, zayatz_share
from ppdm_sql.checks.table_tests import TableClasses, kept_by_every
from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.policy.grammar import parse
from ppdm_sql.policy.stored_requirements import requirement, requirements
from ppdm_sql.requirements import AverageRisk, EveryAnonymity, UniqueShare
from ppdm_sql.verify.estimates import unique_share
from ppdm_sql.verify.relation import judge
from tests.oracles import table_risk
from tests.sizes import seeds

COLUMNS = {"a": "TEXT", "b": "TEXT", "c": "TEXT", "who": "INTEGER"}
# Classes over a, b: (x, 1) has three rows, (x, 2) one, (y, 1) one.  Mean risk 3/5, unique 2/5.
HAND = [("x", "1", "p", 1), ("x", "1", "p", 1), ("x", "1", "q", 2), ("x", "2", "p", 3), ("y", "1", "q", 4)]


def found_of(engine, relation, quasi, asked, entity=None):
    infos = {info.name: info for info in engine.columns(relation)}
    who = None if entity is None else infos[entity]
    quick = measure(
        engine, relation, quasi=[infos[name] for name in quasi], sensitive=[], requirements=[asked], entity=who
    )
    slow = judge(engine, relation, quasi=quasi, sensitive=[], requirements=[asked], entity=entity)
    return quick.outcomes[0], slow.findings[0]


@pytest.mark.parametrize(
    ("text", "entity", "achieved", "classes", "rows"),
    [
        ("average_risk = 60 %", None, Fraction(3, 5), 0, 0),
        ("average_risk = 59.9 %", None, Fraction(3, 5), 2, 2),
        ("average_risk = 75 %", "who", Fraction(3, 4), 0, 0),  # two persons in (x, 1): 3 classes of 4
        ("average_risk = 70 %", "who", Fraction(3, 4), 2, 2),
        ("unique = 40 %", None, Fraction(2, 5), 0, 0),
        ("unique = 39 %", None, Fraction(2, 5), 2, 2),
        ("unique = 49 %", "who", Fraction(1, 2), 2, 2),
        ("k = 2 ON EVERY 1", None, 1, 2, 2),  # b = 2 and a = y have one row each
        ("k = 2 ON EVERY 3", None, 1, 2, 2),
    ],
)
def test_by_hand(engine, make_table, text, entity, achieved, classes, rows):
    relation = make_table(engine, "hand", COLUMNS, HAND)
    for found in found_of(engine, relation, ["a", "b"], requirement(text), entity):
        assert (found.achieved, found.breaching_classes, found.breaching_rows) == (achieved, classes, rows)
        assert found.holds is (classes == 0)


@pytest.mark.duckdb
def test_rows_of_nobody_are_alone(duckdb_engine, make_table):
    relation = make_table(
        duckdb_engine, "nobody", COLUMNS, [("x", "1", "p", None)] * 3 + [("y", "1", "p", n) for n in range(3)]
    )
    for found in found_of(duckdb_engine, relation, ["a"], requirement("unique = 20 %"), "who"):
        assert (found.achieved, found.holds, found.breaching_rows) == (Fraction(1, 4), False, 3)


@seeds(small=4, full=12, nightly=300)
def test_everything_says_what_the_definitions_say(engine, make_table, seeds):
    for seed in seeds:
        draw = random.Random(seed)
        rows = [
            (draw.choice(["x", "é", None]), draw.choice(["1", "2"]), draw.choice(["p", "q'", ""]), draw.randint(0, 9))
            for _ in range(draw.choice([3, 30]))
        ]
        relation = make_table(engine, f"risk_{seed}", COLUMNS, rows)
        named = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
        quasi = ["a", "b", "c"]
        mean, alone = table_risk.average_risk(named, quasi), table_risk.unique(named, quasi)
        asked = [AverageRisk(one) for one in (mean, mean - Fraction(1, 10**6)) if 0 < one < 1]
        asked += [UniqueShare(one) for one in (alone, alone - Fraction(1, 10**6)) if 0 < one < 1]
        for one in asked:
            figure = mean if isinstance(one, AverageRisk) else alone
            outcome, finding = found_of(engine, relation, quasi, one)
            assert outcome.achieved == finding.achieved == figure, (seed, str(one))
            assert outcome.holds is finding.holds is (figure <= one.limit), (seed, str(one))
            infos = [info for info in engine.columns(relation) if info.name in quasi]
            assert (
                len(breaches(engine, relation, one, quasi=infos))
                == outcome.breaching_classes
                == finding.breaching_classes
            )
        m = draw.choice([1, 2, 3, 4])
        least = table_risk.least_of_every(named, quasi, m)
        for one in (EveryAnonymity(max(least, 1), m), EveryAnonymity(least + 1, m)):
            outcome, finding = found_of(engine, relation, quasi, one)
            assert outcome.achieved == finding.achieved == least
            assert outcome.holds is finding.holds is (least >= one.k)


def test_two_estimates_agree():
    """Pitman's likelihood searched, and its derivatives halved; Zayatz's chances by logarithms, and by ratios."""
    draw = random.Random(7)
    for _ in range(20):
        counts = {size: draw.randint(1, 400 // size) for size in draw.sample(range(2, 40), 5)} | {
            1: draw.randint(1, 500)
        }
        rows = sum(size * classes for size, classes in counts.items())
        for fraction in (Fraction(1, 100), Fraction(1, 10), Fraction(1, 3)):
            population = math.ceil(rows / fraction)
            other = (pitman_share if fraction <= Fraction(1, 10) else zayatz_share)(counts, population)
            assert math.isclose(float(unique_share(counts, fraction)), other, rel_tol=1e-3, abs_tol=2e-6)


def test_an_estimate_is_judged_and_checked(engine, make_table):
    rows = [(str(n), "1", "p", n) for n in range(5)] + [("x", str(n % 20), "p", n) for n in range(100)]
    relation = make_table(engine, "sample", COLUMNS, rows)
    for text, holds in (("unique = 4 % FRACTION 20 %", True), ("unique = 0.3 % FRACTION 20 %", False)):
        for found in found_of(engine, relation, ["a", "b"], requirement(text)):
            assert found.holds is holds, (text, float(found.achieved))
            assert math.isclose(float(found.achieved), zayatz_share({1: 5, 5: 20}, 525), abs_tol=2e-6)
    with pytest.raises(PolicyError, match="which no SQL statement can check"):
        breaches(engine, relation, requirement("unique = 1 % FRACTION 20 %"), quasi=[])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("m = 2", "m needs a k"),
        ("k = 5, m = 0", "m is a whole number from 1 to 100"),
        ("k = 5, m = 2, m = 3", "m is required twice"),
        ("k = 5 ON EVERY 2, k = 5 ON EVERY 2", "required twice"),
        ("average_risk = 0.05", "% is missing"),
        ("average_risk = 0 %", "a percentage between 0 % and 100 %"),
        ("unique = 1 % FRACTION 0 %", "FRACTION is a percentage above 0 % and up to 100 %"),
        ("unique = 1 % FRACTION 101 %", "FRACTION is a percentage above 0 % and up to 100 %"),
        ("unique = 1 % FRACTION 0.1", "after the number of FRACTION"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(text, told):
    with pytest.raises(PolicyError) as caught:
        parse(STATEMENT.format(algorithm="incognito", required=text))
    assert told in caught.value.mistakes[0].message
    assert caught.value.mistakes[0].line == 3


def test_texts_are_read_back():
    texts = ["average_risk = 5 %", "unique = 0.1 %", "unique = 0.1 % FRACTION 10 %", "k = 5 ON EVERY 2"]
    assert [str(item) for text in texts for item in requirements([text])] == texts
    assert requirements(["k = 5, m = 2"][:1]) == (EveryAnonymity(5, 2),)


# -- methods -----------------------------------------------------------------------------------------------

STATEMENT = """
CREATE TABLE open AS SELECT a, b, c, t FROM people
WITH ANONYMIZATION (ALGORITHM {algorithm} REQUIRE {required} QUASI IDENTIFIER (a, b HIERARCHY PREFIX (2, 1), c) TARGET (t));
"""


@pytest.fixture
def people(engine, make_table):
    draw = random.Random(3)
    rows = [
        (draw.randint(0, 30), f"{draw.randint(100, 180)}", float(draw.randint(0, 9)), draw.choice(["p", "q"]))
        for _ in range(240)
    ]
    make_table(engine, "people", {"a": "INTEGER", "b": "TEXT", "c": "DOUBLE", "t": "TEXT"}, rows)
    return engine


@pytest.mark.parametrize("algorithm", ["incognito", "mondrian", "tds", "kactus"])
@pytest.mark.parametrize(
    "required", ["average_risk = 10 %", "unique = 2 %", "unique = 1 % FRACTION 5 %", "k = 4, m = 2"]
)
def test_every_method_of_sizes_keeps_them(people, open_session, algorithm, required):
    text = STATEMENT.format(algorithm=algorithm, required=required)
    if algorithm == "kactus":
        text = text.replace(" HIERARCHY PREFIX (2, 1)", "")
    session = open_session(people)
    release = session.publish(text)
    assert all(finding.holds for finding in release.findings)
    assert session.verify("open").holds
    if "m = 2" in required:
        risks = release.manifest["residual_risks"]
        assert "k = 4 on every 2 of 3 quasi-identifiers" in risks["wider_knowledge"]


@pytest.mark.duckdb
def test_incognito_finds_the_best_of_all_levels(duckdb_engine, make_table, open_session):
    """Against every combination of levels of two prefix ladders, by the height of the levels."""
    for seed in range(6):
        draw = random.Random(seed)
        rows = [(f"{draw.randint(0, 25):02d}", f"{draw.randint(0, 25):02d}") for _ in range(60)]
        make_table(duckdb_engine, f"two_{seed}", {"a": "TEXT", "b": "TEXT"}, rows)
        for text in ("average_risk = 20 %", "unique = 10 %", "k = 3, m = 1"):
            best = min(
                high for high in (height(rows, cut, text) for cut in product((2, 1, 0), repeat=2)) if high is not None
            )
            plan = open_session(duckdb_engine).plan(
                f"""CREATE TABLE o AS SELECT a, b FROM two_{seed} WITH ANONYMIZATION (ALGORITHM incognito (quality = height)
                REQUIRE {text} QUASI IDENTIFIER (a HIERARCHY PREFIX (1), b HIERARCHY PREFIX (1)))"""
            )
            assert plan.choices[0].value == best, (seed, text)


def height(rows, cut, text):
    """The sum of the levels, if the rows cut to so many characters meet the requirement."""
    known = [{"a": a[: cut[0]], "b": b[: cut[1]]} for a, b in rows]
    holds = {
        "average_risk = 20 %": table_risk.average_risk(known, ["a", "b"]) <= Fraction(1, 5),
        "unique = 10 %": table_risk.unique(known, ["a", "b"]) <= Fraction(1, 10),
        "k = 3, m = 1": table_risk.least_of_every(known, ["a", "b"], 1) >= 3,
    }[text]
    return sum(2 - one for one in cut) if holds else None


def test_rows_that_fail_in_some_set_are_left_out_until_none_does():
    """a: 0 0 0 1 1, b: 0 0 1 1 1 with k = 2 on each: all stay; without the last row b = 1 loses one, and so on."""
    import numpy as np

    one = np.ones(5, dtype=np.int64)
    labels = {"a": np.array([0, 0, 0, 1, 1]), "b": np.array([0, 0, 1, 1, 1])}
    assert kept_by_every(EveryAnonymity(2, 1), TableClasses(one, labels)).all()
    labels["c"] = np.array([0, 0, 0, 0, 1])  # its last row goes, then a = 1 has one row, then b = 1
    assert kept_by_every(EveryAnonymity(2, 1), TableClasses(one, labels)).tolist() == [True, True, False, False, False]


@pytest.mark.duckdb
@pytest.mark.parametrize("head", ["CREATE VIEW open LIVE", "CREATE TABLE open GROWING"])
def test_a_release_whose_rows_change_cannot_promise_it(duckdb_engine, make_table, open_session, head):
    make_table(
        duckdb_engine, "people", {"a": "INTEGER", "b": "TEXT", "c": "INTEGER", "t": "TEXT"}, [(1, "100", 1, "p")] * 9
    )
    text = STATEMENT.format(algorithm="incognito", required="average_risk = 20 %").replace("CREATE TABLE open", head)
    with pytest.raises(PolicyError, match="decided by all rows of a table together"):
        open_session(duckdb_engine).publish(text)


@pytest.mark.duckdb
def test_what_no_recoding_meets_is_refused(duckdb_engine, make_table, open_session):
    make_table(
        duckdb_engine, "people", {"a": "INTEGER", "b": "TEXT", "c": "INTEGER", "t": "TEXT"}, [(1, "100", 1, "p")] * 9
    )
    for algorithm in ("incognito", "mondrian"):
        with pytest.raises(RequirementBreached):
            open_session(duckdb_engine).publish(STATEMENT.format(algorithm=algorithm, required="average_risk = 10 %"))
