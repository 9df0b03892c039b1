"""measure() says what the definitions say: random tables, every bound at its mark and just beyond it."""

from __future__ import annotations

import math

from ppdm_sql.checks.measure import measure
from ppdm_sql.requirements import Closeness, EntropyDiversity, KAnonymity
from tests import oracles
from tests.checks.tables import VALUES, boundary_requirements, figure, random_data, verdicts
from tests.sizes import seeds

SHARES = {"duckdb": 1, "postgres": 3, "spark": 15}  # every table, every third, every fifteenth
# Loading a temporary table of these kinds into Spark is not exact, or has no such type.
KINDS = {"spark": tuple(kind for kind in VALUES if kind != "TIMESTAMP")}


@seeds(small=9, full=45, nightly=450, block=45)
def test_outcomes_are_those_of_the_definitions(engine, make_table, seeds):
    for seed in seeds[:: SHARES[engine.dialect]]:
        data = random_data(seed, KINDS.get(engine.dialect, tuple(VALUES)))
        relation = make_table(engine, f"random_{seed}", data.columns, data.rows)
        compare(engine, relation, data, seed)


def compare(engine, relation, data, seed):
    info = {column.name: column for column in engine.columns(relation)}
    distances = {data.words: "hierarchical", data.numbers: "ordered"}
    asked = [each for column, distance in distances.items() for each in boundary_requirements(data, column, distance)]
    asked = list(dict.fromkeys(asked))
    found = measure(
        engine,
        relation,
        quasi=[info[name] for name in data.quasi],
        sensitive=list(data.sensitive(info).values()),
        requirements=asked,
    )
    names = [[None] if isinstance(each, KAnonymity) else list(distances) for each in asked]
    assert [outcome.column for outcome in found.outcomes] == [name for listed in names for name in listed]
    for outcome in found.outcomes:
        check_outcome(data, outcome, distances, seed)
    check_figures(data, found, seed)


def check_outcome(data, outcome, distances, seed):
    column, requirement = outcome.column, outcome.requirement
    context = (seed, column, str(requirement))
    if isinstance(requirement, Closeness):
        assert requirement.distance in ("equal", distances[column]), context
    expected = verdicts(data, column, requirement)
    breaking = [key for key, holds in expected.items() if not holds]
    assert outcome.holds == (not breaking), context
    assert outcome.breaching_classes == len(breaking), context
    assert outcome.breaching_rows == sum(len(data.classes[key]) for key in breaking), context
    worst = figure(data, column, requirement)
    if isinstance(requirement, EntropyDiversity):
        assert math.isclose(outcome.achieved, worst, rel_tol=1e-9), context
        assert (outcome.achieved >= requirement.l) == outcome.holds, context
    else:
        assert outcome.achieved == worst, context


def check_figures(data, found, seed):
    classes = data.classes
    assert (found.rows, found.classes) == (len(data.rows), len(classes)), seed
    assert found.k == oracles.k_anonymity(data.mappings, data.quasi), seed
    assert found.k_null_matches_all == oracles.null_matches_all_k(data.mappings, data.quasi), seed
    assert found.risk.prosecutor_max == oracles.highest_risk(data.mappings, data.quasi), seed
    assert math.isclose(found.risk.prosecutor_mean, oracles.average_risk(data.mappings, data.quasi)), seed
    assert math.isclose(found.risk.marketer, oracles.marketer_risk(data.mappings, data.quasi)), seed
    for limit, share in found.risk.rows_at_risk:
        assert share == oracles.share_above(data.mappings, data.quasi, limit), seed
    assert found.risk.unique_rows == sum(len(held) == 1 for held in classes.values()), seed
    for bucket in found.histogram:
        inside = [len(rows) for rows in classes.values() if bucket.low <= len(rows) <= (bucket.high or math.inf)]
        assert (bucket.classes, bucket.rows) == (len(inside), sum(inside)), seed


@seeds(start=1000, small=6, full=15)
def test_k_alone_and_k_by_person(engine, make_table, seeds):
    for seed in seeds[:: SHARES[engine.dialect]]:
        data = random_data(seed, KINDS.get(engine.dialect, tuple(VALUES)))
        relation = make_table(engine, f"random_{seed}", data.columns, data.rows)
        info = {column.name: column for column in engine.columns(relation)}
        quasi = [info[name] for name in data.quasi]
        for entity in (None, info[data.entity]):
            by_entity = entity is not None
            k = figure(data, None, KAnonymity(1), by_entity=by_entity)
            asked = [KAnonymity(max(1, k)), KAnonymity(k + 1)]
            found = measure(engine, relation, quasi=quasi, sensitive=[], requirements=asked, entity=entity)
            assert found.k == k, seed
            for outcome in found.outcomes:
                expected = verdicts(data, None, outcome.requirement, by_entity=by_entity)
                assert outcome.achieved == k, seed
                assert outcome.holds == all(expected.values()), seed
                assert outcome.breaching_classes == sum(not holds for holds in expected.values()), seed
            if entity is None:
                check_figures(data, found, seed)
            else:
                assert found.k_null_matches_all is None, seed
