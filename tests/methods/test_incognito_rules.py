"""The written rules of full-domain recoding one by one, and what is refused, and how."""

from __future__ import annotations

from collections import Counter
from datetime import date
from fractions import Fraction

import pytest
from lattice_cases import Case

from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.methods.incognito.method import INCOGNITO
from ppdm_sql.policy.policy import Tuning
from ppdm_sql.requirements import DistinctDiversity, KAnonymity, SimpleDiversity

pytestmark = pytest.mark.duckdb
AREA = [["a", "g", "*"], ["b", "g", "*"], ["c", "h", "*"], ["d", "h", "*"]]


def case_of(k, kinds=None, trees=None, requirements=(), sensitive=(), **columns) -> Case:
    """A case of columns given as lists; all but the sensitive ones are quasi-identifiers."""
    rows = [
        {"id": n, **dict(zip(columns, row, strict=True))} for n, row in enumerate(zip(*columns.values(), strict=True))
    ]
    quasi = [name for name in columns if name not in sensitive]
    kinds = {"id": "integer", **{name: (kinds or {}).get(name, "text") for name in columns}}
    return Case(kinds, rows, quasi, (KAnonymity(k), *requirements), trees or {}, list(sensitive))


def printed(engine, case: Case) -> Counter:
    _, rows = case.run(engine)
    return Counter(
        row[case.quasi[0]] if len(case.quasi) == 1 else tuple(row[name] for name in case.quasi) for row in rows
    )


def test_one_level_for_every_row(duckdb_engine):
    """a and c are common enough to stand alone, b and d are not: in full-domain recoding all go up."""
    case = case_of(2, trees={"area": AREA}, area=["a"] * 5 + ["b"] + ["c"] * 3 + ["d"])
    assert printed(duckdb_engine, case) == {"g": 6, "h": 4}


def test_rows_that_stand_in_the_way_are_left_out_within_the_limit(duckdb_engine):
    case = case_of(2, trees={"area": AREA}, area=["a"] * 5 + ["b"] + ["c"] * 3 + ["d"])
    case.suppress = Fraction(1, 5)
    assert printed(duckdb_engine, case) == {"a": 5, "c": 3}
    case.suppress = Fraction(1, 10)
    assert printed(duckdb_engine, case) == {"g": 6, "h": 4}


def test_leaving_rows_out_does_not_go_up_with_diversity(duckdb_engine):
    """{x: 1, y: 1} is kept and {x: 5} left out; their union {x: 6, y: 1} is left out as a whole."""
    tree = [["a", "g", "*"], ["b", "g", "*"]]
    case = case_of(
        1, trees={"area": tree}, requirements=(SimpleDiversity(Fraction(2)),), sensitive=["ill"],
        area=["a", "a", *"bbbbb"], ill=["x", "y", *"xxxxx"],
    )  # fmt: skip
    case.suppress = Fraction(8, 10)
    assert printed(duckdb_engine, case) == {"a": 2}


def test_null_is_a_leaf_of_its_own_below_the_root(duckdb_engine):
    case = case_of(2, trees={"area": AREA}, area=["a", "b", "c", "d", None, None])
    assert printed(duckdb_engine, case) == {"g": 2, "h": 2, None: 2}
    case = case_of(2, trees={"area": AREA}, area=["a", "b", "c", "d", None])
    assert printed(duckdb_engine, case) == {"*": 5}


def test_numbers_and_dates_have_ladders_of_their_own(duckdb_engine):
    case = case_of(3, {"age": "integer"}, age=[31, 33, 34, 36, 37, 39, 71, 73, 74])
    assert printed(duckdb_engine, case) == {"[30, 35)": 3, "[35, 40)": 3, "[70, 75)": 3}
    days = [date(2023, 1, 3), date(2023, 1, 9), date(2023, 3, 1), date(2023, 3, 2), date(2024, 5, 5), date(2024, 5, 6)]
    assert printed(duckdb_engine, case_of(2, {"day": "date"}, day=days)) == {"2023-01": 2, "2023-03": 2, "2024-05": 2}
    assert printed(duckdb_engine, case_of(4, {"x": "float"}, x=[0.5, 0.51, 0.52, 0.53, float("nan")])) == {"*": 5}


def test_a_value_of_stars_is_not_taken_for_a_suppressed_one(duckdb_engine):
    case = case_of(2, word=["**", "a", "b"])
    assert printed(duckdb_engine, case) == {"***": 3}


def test_at_most_level_holds_and_a_lattice_without_a_passing_node_is_refused(duckdb_engine):
    case = case_of(2, trees={"area": AREA}, area=["a"] * 5 + ["b"] + ["c"] * 3 + ["d"])
    case.tunings = {"area": Tuning(most_level=0)}
    with pytest.raises(RequirementBreached) as refused:
        case.run(duckdb_engine)
    assert str(refused.value) == (
        "none of the 1 recodings of 1 column meets the policy with SUPPRESS AT MOST 0 %: even the coarsest one has "
        '2 classes with 2 rows of 10 that fail; raise AT MOST LEVEL of "area", allow more rows to be left out, or ask '
        "for less"
    )
    case.tunings = {"area": Tuning(most_level=7)}
    with pytest.raises(PolicyError, match="no such level, the highest one is 2"):
        case.run(duckdb_engine)


def test_too_few_sensitive_values_are_told_with_counts(duckdb_engine):
    case = case_of(2, requirements=(DistinctDiversity(3),), sensitive=["ill"], area=["a"] * 4, ill=["x", "y"] * 2)
    for limit in (Fraction(0), Fraction(1, 2)):
        case.suppress = limit
        with pytest.raises(
            RequirementBreached, match=r"distinct_l = 3 on \"ill\" cannot be met: .* has distinct_l = 2"
        ):
            case.run(duckdb_engine)


def test_persons_are_counted_where_the_policy_names_them(duckdb_engine):
    case = case_of(2, trees={"area": AREA}, area=["a", "a", "b", "c", "c", "d"], who=["p", "p", "q", "r", "s", "t"])
    case.quasi, case.entity = ["area"], "who"
    assert printed(duckdb_engine, case) == {"g": 3, "h": 3}


def test_a_stopped_search_says_so(duckdb_engine):
    case = case_of(2, trees={"area": AREA}, area=["a"] * 5 + ["b"] + ["c"] * 3 + ["d"])
    case.options = {"max_nodes": Fraction(1)}
    plan, _ = case.run(duckdb_engine)
    assert (plan.figures["nodes tested"], plan.figures["proved optimal"]) == (1, "no")
    assert "the search was stopped: a better node may exist" in plan.steps[1]


def test_three_hundred_columns_are_descended_within_the_limit(duckdb_engine):
    """2^300 nodes: bounded by max_nodes, the best so far is published and has no proof."""
    many = {f"c{n}": [f"{(row * (n + 3)) % 4}" for row in range(12)] for n in range(300)}
    case = case_of(2, **many)
    case.options = {"max_nodes": Fraction(40)}
    plan, rows = case.run(duckdb_engine)
    assert plan.figures["nodes"] == "2.0e+90"
    assert plan.figures["proved optimal"] == "no"
    assert plan.figures["nodes tested"] <= 40
    assert min(Counter(tuple(row[name] for name in case.quasi) for row in rows).values()) >= 2
    assert any(set(one) != {"*"} for one in zip(*([row[name] for name in case.quasi] for row in rows), strict=True))


@pytest.mark.parametrize(
    ("options", "tuning", "message"),
    [
        ({"quality": "classification"}, Tuning(), "name the class in TARGET"),
        ({"ties": "wrong"}, Tuning(), "say what rows cost in quality = classification"),
        ({"left_out_cost": Fraction(1, 2)}, Tuning(), "quality = loss has costs of its own"),
        ({"quality": "height"}, Tuning(weight=Fraction(2)), "has no meaning: use quality = loss, precision or entropy"),
        ({}, Tuning(order=("a", "b")), "takes no ORDER"),
        ({"quality": "beauty"}, Tuning(), "loss, discernibility, average_class, entropy, precision, classification or height"),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together_are_refused_before_anything_runs(options, tuning, message):
    case = case_of(2, area=["a", "b"])
    case.options, case.tunings = options, {"area": tuning}
    with pytest.raises(PolicyError, match=message):
        INCOGNITO.check_options(case.policy, None)
