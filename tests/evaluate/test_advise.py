"""Advice is never beaten by what it was chosen from, can be pasted, and publishes what it promises."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ppdm_sql.catalog.evaluations import MAJORITY, Evaluation, EvaluationPoint
from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.evaluate import advise
from ppdm_sql.evaluate.advise import near_best, pareto_front, reason_of, short_list, the_best
from ppdm_sql.evaluate.bench import Opened
from ppdm_sql.evaluate.current_releases import publishable
from ppdm_sql.evaluate.protocol import Protocol
from ppdm_sql.evaluate.table_policy import statement_for
from ppdm_sql.methods import registry
from ppdm_sql.policy.grammar import parse
from ppdm_sql.policy.policy import Publish
from ppdm_sql.session import Session
from tests.sizes import examples

TYPES = {"age": "INTEGER", "town": "TEXT", "Sex": "TEXT", "paid": "TEXT"}
POLICY = """CREATE TABLE people_open AS SELECT age, town, "Sex", paid FROM people WITH ANONYMIZATION (
    ALGORITHM kactus2 REQUIRE k = 4 QUASI IDENTIFIER (age, town, "Sex") TARGET (paid))"""


def point(position, method="m", score=0.5, loss=0.5, risk=0.1, k=5, status="measured", holds=True) -> EvaluationPoint:
    return EvaluationPoint(
        position, status, method, (f"k = {k}",), 1.0, k=k, holds=holds, accuracy=score, information_loss=loss,
        risk_max=risk, statement=f"CREATE {position}", reason="too few" if status == "refused" else None,
    )  # fmt: skip


quick = settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
few = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
drawn = st.lists(
    st.tuples(
        st.sampled_from("abc"), few | st.none(), few, few, st.sampled_from(["measured", "refused"]), st.booleans()
    ),
    max_size=9,
)


def points_from(rows) -> list[EvaluationPoint]:
    return [
        point(place, method, score, loss, risk, status=status, holds=holds)
        for place, (method, score, loss, risk, status, holds) in enumerate(rows, start=1)
    ]


@quick
@given(drawn)
def test_the_front_is_what_nothing_beats(rows):
    points = points_from(rows)
    found = pareto_front(points)
    usable = [one for one in points if one.status == "measured" and one.holds]

    def good(one):
        return (-1 if one.accuracy is None else one.accuracy), -one.information_loss, -one.risk_max

    for one in usable:
        beaten = any(
            all(a >= b for a, b in zip(good(other), good(one), strict=True)) and good(other) != good(one)
            for other in usable
        )
        assert (one in found) == (not beaten)
    assert set(found) <= set(usable)
    assert bool(found) == bool(usable)


@quick
@given(drawn, st.integers(1, 1000))
def test_the_advice_is_near_the_best_and_loses_least_there(rows, tested):
    points = points_from(rows)
    usable = [one for one in points if one.status == "measured" and one.holds]
    if not usable:
        with pytest.raises(RequirementBreached, match="no algorithm can publish this table as required"):
            the_best(points, tested)
        return
    best = the_best(points, tested)
    listed = short_list(points, tested)
    assert best in listed
    assert len(listed) <= 3
    assert len({one.position for one in listed}) == len(listed)
    scores = [one.accuracy for one in usable if one.accuracy is not None]
    near = near_best(points, tested)
    assert best in near
    if scores:
        top = max(scores)
        assert best.accuracy >= top - math.sqrt(top * (1 - top) / tested)
        assert next(one for one in usable if one.accuracy == top) in near
    assert best.information_loss == min(one.information_loss for one in near)


def test_the_short_list_has_one_of_every_method_first():
    points = [
        point(1, "a", 0.90, 0.5, 0.10), point(2, "a", 0.89, 0.4, 0.05), point(3, "b", 0.80, 0.2, 0.10),
        point(4, "c", 0.70, 0.9, 0.01), point(5, "c", 0.60, 0.95, 0.2),
    ]  # fmt: skip
    assert [one.position for one in short_list(points, 10**6)] == [1, 3, 4]


def test_nothing_to_publish_of_a_sample_is_tried_with_the_least_that_was_asked():
    points = [
        point(1, "a", k=5, status="refused"),
        point(2, "a", k=10, status="refused"),
        point(3, "b", k=5, holds=False),
    ]
    assert [one.position for one in short_list(points, 100)] == [1, 3]
    with pytest.raises(RequirementBreached, match=r"as required: a: too few$"):
        the_best(points, 100)


def test_the_reason_is_one_sentence_with_the_figures():
    points = (point(1, "a", 0.8, 0.5, 0.1), point(2, "b", 0.81, 0.6, 0.05))
    found = Evaluation(
        "f", None, "o", "", ("a", "b"), {}, "holdout", "c45", 0, 2, 1000, baseline=point(0, None, 0.85), points=points
    )
    told = reason_of(points[0], found, 100)
    assert told == (
        "a with k = 5 keeps 80.00% accuracy (85.00% from the raw data), within one standard error (3.92%) of "
        "the best, and the least loss of those near it, with an information loss of 0.500 and a worst-case risk of 10 %."
    )
    assert reason_of(points[1], found, 10**6).startswith(
        "b with k = 5 keeps 81.00% accuracy (85.00% from the raw data), the best, with an information"
    )
    compared = replace(found, majority=point(3, MAJORITY, 0.7))
    assert reason_of(replace(points[1], auc=0.8349), compared, 10**6).startswith(
        "b with k = 5 keeps 81.00% accuracy (85.00% from the raw data, 70.00% from the commonest class alone, AUC 0.835), "
    )
    unscored = point(1, "mondrian", None, 0.25, 0.1)
    assert reason_of(unscored, found, 100) == (
        "mondrian with k = 5 loses the least of all combinations tried: an information loss of 0.250 and a worst-case risk of 10 %."
    )


# -- on a table ------------------------------------------------------------------------------------------


@pytest.fixture
def session(duckdb_engine, make_table, open_session) -> Session:
    draw = random.Random(2)
    rows = []
    for _ in range(2400):
        age, sex = draw.randint(18, 77), draw.choice("fm")
        paid = (age > 45) ^ (sex == "f" and age > 60) ^ (draw.random() < 0.1)
        rows.append((age, draw.choice(["Oslo", "Bergen", None]), sex, "well" if paid else "badly"))
    make_table(duckdb_engine, "people", TYPES, rows)
    return open_session(duckdb_engine)


@pytest.mark.wide
def test_advice_can_be_pasted_and_holds(session):
    heard = []
    found = session.advise(POLICY, sample=800, learner="naive_bayes", watch=heard.append)
    assert found.sampled == 800
    known = {name: registry.method_named(name) for name in registry.table_methods()}
    rows_only = [name for name, method in known.items() if method.plan_model is None and method.in_advice]
    assert len(rows_only) >= 8
    assert Counter(point.algorithm for point in found.tried) == dict.fromkeys(rows_only, 3)  # k = 4 and two larger ones
    assert 1 <= len(found.evaluation.points) <= 3
    assert {point.rows for point in found.evaluation.points} == {2400}
    assert found.best in found.front
    assert found.best.k >= 4
    assert heard[0].doing == f"on 800 rows: {rows_only[0]}, k = 4"
    release = session.publish(found.best.statement.removesuffix(";"))
    assert (release.rows, release.classes) == (found.best.rows, found.best.classes)
    assert all(finding.holds for finding in release.findings)
    assert found.reason.startswith(f"{found.best.algorithm} with k = {found.best.k} keeps ")
    assert found.others is None  # nothing else is out


def mondrian(k: int, name: str = "people_open", more: str = "", quasi: str = 'age, town, "Sex"') -> str:
    """Without a target mondrian alone is tried: with k = 30, 60 and 150."""
    return f"""CREATE TABLE {name} AS SELECT {quasi}, paid FROM people WITH ANONYMIZATION (
        ALGORITHM mondrian REQUIRE k = {k} QUASI IDENTIFIER ({quasi}) INSENSITIVE (paid) {more})"""


@pytest.mark.wide
def test_advice_is_judged_together_with_what_is_out_already(session):
    """Classes of 30 inside classes of 60 tell nothing new."""
    session.publish(mondrian(60, "others"))
    found = session.advise(mondrian(30))
    assert (found.best.k, found.others.releases, found.others.left_out) == (30, ("others",), ())
    told = "Current releases of the same tables: others. The advised statement can be published together with them."
    assert found.others.in_words == told
    session.publish(found.best.statement.removesuffix(";"))


@pytest.mark.wide
def test_what_would_be_refused_together_with_others_is_left_out(session):
    """The classes of a tree cut through those of mondrian: together with them the second choice is the one to publish."""
    session.publish(mondrian(60, "others"))
    stated = [POLICY.replace("k = 4", "k = 30"), mondrian(60), mondrian(150)]
    points = [replace(point(place, k=30), statement=text) for place, text in enumerate(stated, start=1)]
    (policy,) = session.parse(stated[0])
    best, others = publishable(session.engine, policy, ("others",), points, lambda left: left[0] if left else None)
    assert (best, others.left_out, others.holds) == (points[1], (points[0],), True)
    assert others.in_words.endswith("would refuse them together with these releases: m with k = 30.")
    with pytest.raises(RequirementBreached, match="together with others"):
        session.publish(stated[0])
    session.publish(stated[1])


@pytest.mark.wide
def test_where_all_would_be_refused_together_with_others_the_advice_says_so(session):
    session.publish(mondrian(60, "others", quasi="age"))
    found = session.advise(mondrian(30))
    assert (found.best.k, found.others.holds, found.others.left_out) == (30, False, ())
    refused = (
        "refuse the advised statement and the 7 next best that were tried: the release comes from the same table as"
    )
    assert refused in found.others.in_words
    assert "use SUPERSEDES" in found.others.in_words
    with pytest.raises(RequirementBreached, match="comes from the same table as others"):
        session.publish(found.best.statement.removesuffix(";"))
    assert session.advise(mondrian(30, more="ACCEPT RISK (joint)")).others.holds
    superseding = session.advise(mondrian(30, more="SUPERSEDES ALL"))
    assert superseding.others is None
    session.publish(superseding.best.statement.removesuffix(";"))


def test_a_small_table_is_tried_whole_and_nothing_weaker_than_asked(session):
    found = session.advise(POLICY.replace("TARGET (paid)", "INSENSITIVE (paid)").replace("k = 4", "k = 30"))
    assert (found.sampled, found.tried) == (None, ())
    assert [(point.algorithm, point.k) for point in found.evaluation.points] == [
        (name, k) for name in ("hilbert", "incognito", "mondrian") for k in (30, 60, 150)
    ]  # fmt: skip
    assert found.best.k == 30
    assert found.best.accuracy is None


def test_where_nothing_can_be_published_it_says_why(session):
    with pytest.raises(
        RequirementBreached,
        match=r"^no algorithm can publish this table as required: hilbert: .*5000.*; incognito: .*5000.*; mondrian: .*5000",
    ):
        session.advise(POLICY.replace("TARGET", "INSENSITIVE").replace("k = 4", "k = 5000"))


def test_a_table_with_its_roles_is_a_policy(session):
    made = statement_for(session.engine, "people", quasi=["AGE", "town", "Sex"], sensitive=["paid"], target="paid", k=7)
    (again,) = parse(made.text, dialect="duckdb")
    assert isinstance(again, Publish)
    assert again.policy == made.policy
    assert [word.text for word in made.policy.roles.quasi] == ["age", "town", "Sex"]
    assert made.name[0].text == "people_open"
    assert session.plan(made).holds


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"quasi": ["agee"]}, r"^--quasi agee: no such column: did you mean age\?$"),
        (
            {"quasi": ["age"], "target": "x"},
            r"^--target x: no such column: valid options: age, town, Sex, paid$",
        ),
        ({"quasi": []}, r"^--quasi: "),
        ({"table": "nobody", "quasi": ["age"]}, r"^table nobody does not exist$"),
        ({"table": "people; DROP TABLE people", "quasi": ["age"]}, r"expected the name of a table"),
    ],
)
def test_a_wrong_role_is_told(session, asked, told):
    with pytest.raises(PolicyError, match=told):
        statement_for(session.engine, **({"table": "people"} | asked))


def test_the_sample_is_about_as_large_as_asked_and_part_of_the_rows(session):
    opened = advise.open_table(session.engine, session.parse(POLICY)[0])
    small = advise._draw_sample(session.engine, opened, 500, 3)
    assert isinstance(small, Opened)
    assert small.rows == 600
    assert advise._draw_sample(session.engine, opened, 1300, 3) is None
    assert advise._tested_rows(opened, Protocol("holdout", 3, 1, 1)) == 800
