"""alpha, beta, enhanced_beta and delta: vectors by hand, and checks, statements, parts and judge against the definitions."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from sqlglot import parse_one

from ppdm_sql.checks.breaches import _near_but_below, breaches
from ppdm_sql.checks.histograms import parts_meet
from ppdm_sql.checks.measure import Sensitive, measure
from ppdm_sql.checks.part_ratios import logarithm_limit, ratio_limit
from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.stored_requirements import requirement, requirements
from ppdm_sql.requirements import AlphaShare, BetaLikeness, DeltaDisclosure, EnhancedLikeness
from ppdm_sql.verify.exponential import greatest_below_exponential, is_below_logarithm
from ppdm_sql.verify.relation import SensitiveColumn, judge
from ppdm_sql.verify.verification import _logarithm_tally
from tests.oracles import likeness
from tests.sizes import seeds

# Two classes of four; in the table a has 4/8, b 3/8, c 1/8.
HAND = [("x", "a"), ("x", "a"), ("x", "a"), ("x", "b"), ("y", "a"), ("y", "b"), ("y", "b"), ("y", "c")]


def measured(engine, relation, asked):
    infos = {info.name: info for info in engine.columns(relation)}
    found = measure(engine, relation, quasi=[infos["q"]], sensitive=[Sensitive(infos["s"])], requirements=asked)
    return dict(zip(map(str, asked), found.outcomes, strict=True))


def judged(engine, relation, asked):
    secret = SensitiveColumn("s", Kind.TEXT)
    found = judge(engine, relation, quasi=["q"], sensitive=[secret], requirements=asked)
    return {str(one.requirement): one for one in found.findings}


def test_by_hand(duckdb_engine, make_table):
    """x: a 3/4, b 1/4, no c; y: a 1/4, b 1/2, c 1/4.

    alpha: 3/4.  beta: x has a at (3/4 - 1/2) / (1/2) = 1/2; y has c at (1/4 - 1/8) / (1/8) = 1, b at 1/3.
    delta: x lacks c; in y a is at ln(1/2), c at ln 2.
    """
    relation = make_table(duckdb_engine, "hand", {"q": "TEXT", "s": "TEXT"}, HAND)
    asked = list(requirements(["alpha = 0.7", "beta = 0.9", "delta = 0.7"]))
    found = measured(duckdb_engine, relation, asked)
    assert (found["alpha = 0.7"].achieved, found["alpha = 0.7"].breaching_classes) == (Fraction(3, 4), 1)
    assert (found["beta = 0.9"].achieved, found["beta = 0.9"].breaching_rows) == (1, 4)
    assert (found["delta = 0.7"].achieved, found["delta = 0.7"].breaching_classes) == (math.inf, 1)
    assert measured(duckdb_engine, relation, [BetaLikeness(Fraction(1))])["beta = 1"].holds
    only = make_table(duckdb_engine, "only", {"q": "TEXT", "s": "TEXT"}, [*HAND[4:], *[("z", s) for _, s in HAND[4:]]])
    assert measured(duckdb_engine, only, [DeltaDisclosure(Fraction(1, 100))])["delta = 0.01"].achieved == 0
    rows = [("x", "a"), ("x", "b"), ("y", "a"), ("y", "a"), ("y", "b")]  # b: 1/2 in x, 2/5 in all
    law = make_table(duckdb_engine, "law", {"q": "TEXT", "s": "TEXT"}, rows)
    (found,) = measured(duckdb_engine, law, [DeltaDisclosure(Fraction(1, 4))]).values()
    assert math.isclose(found.achieved, math.log(Fraction(5, 4)), rel_tol=1e-12)


def test_enhanced_by_hand(duckdb_engine, make_table):
    """As beta where no value comes near -ln p; a class of one value breaks it, for 1/p - 1 > -ln p.

    HAND: a has p = 1/2 and -ln p = 0.69, in x an excess of 1/2; c has p = 1/8, -ln p = 2.08, in y an excess of 1.
    of_two: a has p = 1/2, and x is a alone: its excess of 1 is above 0.69, though beta = 1 allows it.
    """
    relation = make_table(duckdb_engine, "hand", {"q": "TEXT", "s": "TEXT"}, HAND)
    asked = [EnhancedLikeness(Fraction(1)), EnhancedLikeness(Fraction(9, 10))]
    found = measured(duckdb_engine, relation, asked)
    assert (found["enhanced_beta = 1"].holds, found["enhanced_beta = 1"].achieved) == (True, 1)
    assert (found["enhanced_beta = 0.9"].breaching_classes, found["enhanced_beta = 0.9"].breaching_rows) == (1, 4)
    pair = make_table(
        duckdb_engine, "of_two", {"q": "TEXT", "s": "TEXT"}, [("x", "a"), ("x", "a"), ("y", "b"), ("y", "b")]
    )
    found = measured(duckdb_engine, pair, [BetaLikeness(Fraction(1)), EnhancedLikeness(Fraction(1))])
    assert (found["beta = 1"].holds, found["enhanced_beta = 1"].achieved) == (True, math.inf)
    (judgement,) = judged(duckdb_engine, pair, [EnhancedLikeness(Fraction(1))]).values()
    assert (judgement.holds, judgement.breaching_classes, judgement.achieved) == (False, 2, None)
    same = make_table(duckdb_engine, "same", {"q": "TEXT", "s": "TEXT"}, [("x", "a"), ("y", "a")])  # p = 1
    (found,) = measured(duckdb_engine, same, [EnhancedLikeness(Fraction(1, 2))]).values()
    assert (found.holds, found.achieved) == (True, 0)


@pytest.mark.parametrize(("rows", "everywhere"), [(2, 1), (8, 3), (1000, 999), (99_999_989, 12_345_678)])
def test_two_ways_to_the_bound_of_a_share(rows, everywhere):
    """The check's fraction next below 1 - ln p, and the judge's comparison in digits."""
    limit = logarithm_limit(rows, everywhere)
    here, known = limit.numerator * everywhere, limit.denominator * rows
    assert is_below_logarithm(here, known, everywhere, rows)
    above = limit + Fraction(1, 10**31)
    assert not is_below_logarithm(above.numerator * everywhere, above.denominator * rows, everywhere, rows)


@pytest.mark.parametrize("above", [False, True])
def test_a_value_too_near_for_floating_point_is_decided_by_its_counts(above):
    """A share of one half in 40,000,000 values: the counts next below and next above 1 + ln 2."""
    rows, everywhere = 40_000_000, 20_000_000
    limit = logarithm_limit(rows, everywhere)
    over = math.floor(limit * 10_000_000) + above
    under = 20_000_000
    near = f"{over} {under} {everywhere} {rows}"
    holds = Fraction(over * rows, under * everywhere) <= logarithm_limit(rows, everywhere)
    assert holds is not above
    assert _logarithm_tally((None, 0, near, 69, 100, 1, under)).breach is not holds
    assert _near_but_below(("x", under, under, 0, near)) is holds
    assert not _near_but_below(("x", under, under, 1, near))


@seeds(small=3, full=16, nightly=400)
def test_everything_says_what_the_definitions_say(engine, make_table, seeds):
    for seed in seeds:
        compare(engine, make_table, seed)


def compare(engine, make_table, seed):
    draw = random.Random(seed)
    values = ["a", "b", "ç", "d'e", None][: draw.choice([2, 3, 5])]
    rows = [
        (draw.choice(["x", "y", None, "z"][: draw.choice([2, 4])]), draw.choice(values))
        for _ in range(draw.choice([6, 40]))
    ]
    relation = make_table(engine, f"likeness_{seed}", {"q": "TEXT", "s": "TEXT"}, rows)
    classes = {}
    for q, s in rows:
        classes.setdefault(q, []).append(s)
    everybody = [s for _, s in rows]
    figures = {
        "alpha": {q: likeness.alpha(held) for q, held in classes.items()},
        "beta": {q: likeness.beta(held, everybody) for q, held in classes.items()},
        "enhanced_beta": {q: likeness.enhanced_beta(held, everybody) for q, held in classes.items()},
        "delta": {q: likeness.delta_ratio(held, everybody) for q, held in classes.items()},
    }
    asked = [AlphaShare(min(Fraction(1), one)) for one in at_bounds(figures["alpha"].values())]
    asked += [BetaLikeness(one) for one in at_bounds(figures["beta"].values())]
    asked += [EnhancedLikeness(one) for one in at_bounds(figures["enhanced_beta"].values())]
    asked += [DeltaDisclosure(one) for one in (Fraction(1, 3), Fraction(7, 10), Fraction(2))]
    asked = list(dict.fromkeys(asked))
    verdict = judged(engine, relation, asked)
    infos = {info.name: info for info in engine.columns(relation)}
    known = sorted({s for s in everybody if s is not None})
    reference = np.array([everybody.count(s) for s in known], dtype=np.int64)
    outcomes = measured(engine, relation, asked)
    for one in asked:
        outcome = outcomes[str(one)]
        broken = {q for q, figure in figures[one.word].items() if not holds(one, figure)}
        context = (seed, str(one))
        assert (outcome.holds, outcome.breaching_classes) == (not broken, len(broken)), context
        assert outcome.breaching_rows == sum(len(classes[q]) for q in broken), context
        worst = max(figures[one.word].values())
        if one.word == "delta" and worst != math.inf:
            assert math.isclose(outcome.achieved, math.log(worst), rel_tol=1e-9, abs_tol=1e-12), context
        else:
            assert outcome.achieved == worst, context
        told = verdict[str(one)]
        assert (told.holds, told.breaching_classes, told.breaching_rows) == (
            outcome.holds, outcome.breaching_classes, outcome.breaching_rows,
        ), context  # fmt: skip
        rows_told = breaches(engine, relation, one, quasi=[infos["q"]], sensitive=Sensitive(infos["s"]))
        assert {row[0] for row in rows_told} == broken, context
        if known:
            counts = np.array([[held.count(s) for s in known] for held in classes.values()], dtype=np.int64)
            fine = parts_meet(one, counts, reference)
            assert [q for q, ok in zip(classes, fine, strict=True) if not ok] == [q for q in classes if q in broken], (
                context
            )


def at_bounds(figures):
    """Every figure that is reached, and just below the largest: there a class must break."""
    finite = sorted({one for one in figures if one != math.inf and one > 0})
    return [*finite[-2:], *([finite[-1] * Fraction(999, 1000)] if finite else []), Fraction(1, 2)]


def holds(asked, figure):
    if asked.word == "delta":
        return likeness.delta_holds(figure, asked.delta)
    return figure <= (asked.alpha if asked.word == "alpha" else asked.beta)


@pytest.mark.parametrize(
    "delta", [Fraction(1, 1000), Fraction(1, 2), Fraction(7, 10), Fraction(1), Fraction(5, 2), Fraction(10)]
)
def test_two_ways_to_the_bound_of_delta(delta):
    """The check's continued fraction and the judge's walk find the same fraction, next below e^delta."""
    found = ratio_limit(delta)
    assert found == greatest_below_exponential(delta)
    assert likeness.delta_holds(found, delta)
    assert not likeness.delta_holds(found + Fraction(1, 10**31), delta)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alpha = 0", "alpha is a number above 0, up to 1"),
        ("alpha = 1.5", "alpha is a number above 0, up to 1"),
        ("beta = 0", "beta is a number above 0"),
        ("beta = -1", "beta is a number above 0"),
        ("enhanced_beta = 0", "enhanced_beta is a number above 0"),
        ("delta = 0", "delta is a number above 0, up to 10"),
        ("delta = 11", "delta is a number above 0, up to 10"),
    ],
)
def test_numbers_outside_are_refused(text, message):
    with pytest.raises(PolicyError, match=message):
        requirement(text)


@pytest.mark.parametrize("asked", ["alpha = 0.6", "beta = 1", "enhanced_beta = 1", "delta = 1.2"])
def test_a_release_keeps_it(duckdb_engine, make_table, open_session, asked):
    draw = random.Random(5)
    rows = [
        (20 + draw.randrange(50), draw.choice("mf"), draw.choice(["flu", "flu", "cold", "gout"])) for _ in range(400)
    ]
    make_table(duckdb_engine, "people", {"age": "INTEGER", "sex": "TEXT", "ill": "TEXT"}, rows)
    session = open_session(duckdb_engine)
    release = session.publish(f"""CREATE TABLE open AS SELECT age, sex, ill FROM people WITH ANONYMIZATION (
        ALGORITHM mondrian REQUIRE k = 5, {asked} QUASI IDENTIFIER (age, sex) SENSITIVE (ill))""")
    assert release.classes > 2
    published = duckdb_engine.fetch(parse_one("SELECT age, sex, ill FROM open"))
    classes = {}
    for age, sex, ill in published:
        classes.setdefault((age, sex), []).append(ill)
    everybody = [ill for *_, ill in published]
    (wanted,) = requirements([asked])
    figure = {"alpha": lambda held: likeness.alpha(held), "beta": lambda held: likeness.beta(held, everybody),
              "enhanced_beta": lambda held: likeness.enhanced_beta(held, everybody),
              "delta": lambda held: likeness.delta_ratio(held, everybody)}[wanted.word]  # fmt: skip
    assert all(holds(wanted, figure(held)) for held in classes.values())
    assert session.verify("open").holds
