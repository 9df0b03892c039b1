"""The written rules one by one, on tables small enough to follow by hand; what is refused, and how."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from mondrian_cases import Case, run

from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.mondrian.method import MONDRIAN
from ppdm_sql.methods.plan import Private, named
from ppdm_sql.policy.policy import Policy, Roles
from ppdm_sql.requirements import (
    Closeness,
    ConfidenceLimit,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    SimpleDiversity,
)
from ppdm_sql.source.relation import resolve
from ppdm_sql.statements.names import Word, column
from tests.random_cases import SOURCE

pytestmark = pytest.mark.duckdb


def case_of(k, *, kinds=(), target=None, trees=None, requirements=(), sensitive=(), options=None, **columns):
    """A case of columns given as lists; all but target and sensitive ones are quasi-identifiers."""
    names = list(columns)
    quasi = [name for name in names if name not in (target, *sensitive) or name == "both"]
    kind_of = {name: "text" if isinstance(values[0], str) else "integer" for name, values in columns.items()}
    kind_of |= dict(zip(quasi, kinds, strict=False))
    rows = [
        {"id": i, **dict(zip(names, row, strict=True))} for i, row in enumerate(zip(*columns.values(), strict=True))
    ]
    return Case(
        {"id": "integer", **kind_of}, rows, quasi, (KAnonymity(k), *requirements), trees or {}, list(sensitive), target,
        options=options or {},
    )  # fmt: skip


def printed(engine, case):
    rows = sorted(run(engine, case).rows, key=lambda row: row["id"])
    return [row[case.quasi[0]] if len(case.quasi) == 1 else tuple(row[name] for name in case.quasi) for row in rows]


# -- where it is cut -------------------------------------------------------------------------------------


def test_the_median_of_the_widest_attribute(duckdb_engine):
    """a spreads over all of its codes everywhere, b only over half of them once a is cut."""
    found = printed(duckdb_engine, case_of(2, a=[1, 2, 3, 4, 5, 6, 7, 8], b=[1, 1, 1, 1, 9, 9, 9, 9]))
    assert [label[0] for label in found] == ["< 3", "< 3", "[3, 5)", "[3, 5)", "[5, 7)", "[5, 7)", ">= 7", ">= 7"]
    assert {label[1] for label in found} == {"1", "9"}


def test_where_the_median_is_not_allowable_the_nearest_cut_is(duckdb_engine):
    """Six equal values: the even cut would separate them, the only allowable one has 2 below."""
    assert printed(duckdb_engine, case_of(2, a=[1, 1, 5, 5, 5, 5, 5, 5])) == ["1"] * 2 + ["5"] * 6
    assert printed(duckdb_engine, case_of(3, a=[1, 1, 5, 5, 5, 5, 5, 5])) == ["*"] * 8


def test_the_next_widest_attribute_where_the_widest_has_no_allowable_cut(duckdb_engine):
    found = printed(duckdb_engine, case_of(3, a=[1, 9, 9, 9, 9, 9], b=[1, 1, 1, 2, 2, 2]))
    assert Counter(found) == {("*", "1"): 3, ("9", "2"): 3}


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        ("xyxyxy", ["< 4"] * 3 + [">= 4"] * 3),  # gains 0, .0817, 0 of the cuts that leave two on each side
        ("xxyyxy", ["< 3"] * 2 + [">= 3"] * 4),  # .4591 after the second
    ],
)
def test_the_cut_of_the_largest_information_gain(duckdb_engine, classes, expected):
    """specs: tree-pattern-preserving sanitization, test vector 10.1."""
    case = case_of(2, a=[1, 2, 3, 4, 5, 6], y=list(classes), target="y", options={"max_parts": Fraction(2)})
    assert printed(duckdb_engine, case) == expected


def test_without_a_class_change_the_median(duckdb_engine):
    case = case_of(2, a=[1, 2, 3, 4, 5, 6, 7, 8], y=["x"] * 8, target="y", options={"max_parts": Fraction(2)})
    assert printed(duckdb_engine, case) == ["< 5"] * 4 + [">= 5"] * 4


def test_of_equal_gains_the_earlier_attribute_and_the_smaller_cut(duckdb_engine):
    both = [1, 1, 2, 2]
    case = case_of(2, b=both, a=both, y=["x", "x", "y", "y"], target="y", options={"max_parts": Fraction(2)})
    found = run(duckdb_engine, case)
    assert found.plan.figures["splits"] == 1
    assert printed(duckdb_engine, case) == [("1", "1")] * 2 + [("2", "2")] * 2


def test_a_numeric_target_is_split_by_its_squared_error(duckdb_engine):
    """More than twenty different numbers: a response, not classes.  The jump is after the fifth row."""
    y = [100, 101, 102, 103, 104, *range(500, 520)]
    case = case_of(2, a=list(range(25)), y=y, target="y", options={"max_parts": Fraction(2)})
    assert printed(duckdb_engine, case) == ["< 5"] * 5 + [">= 5"] * 20


WARDS = [["A1", "A", "*"], ["A2", "A", "*"], ["B1", "B", "*"], ["B2", "B", "*"], ["C1", "C", "*"]]


def test_a_hierarchy_is_split_into_the_labels_that_occur(duckdb_engine):
    found = printed(duckdb_engine, case_of(2, ward=["A1", "A2", "B1", "B2", "B2"], trees={"ward": WARDS}))
    assert found == ["A", "A", "B", "B", "B"]  # nobody is in C, and B1 alone is too few


def test_labels_held_by_too_few_stay_behind_together(duckdb_engine):
    wards = [*WARDS, ["D1", "D", "*"]]
    found = printed(duckdb_engine, case_of(2, ward=["A1", "A2", "B1", "D1", "C1"], trees={"ward": wards}))
    assert found == ["A", "A", "*", "*", "*"]


def test_a_label_held_by_too_few_takes_the_smallest_with_it_where_none_can_spare_rows(duckdb_engine):
    found = printed(duckdb_engine, case_of(2, ward=["A1", "A2", "B1", "B2", "C1"], trees={"ward": WARDS}))
    assert found == ["*", "*", "B", "B", "*"]


AGES = [*(50 + number % 20 for number in range(999)), 100]
FIVES = [[str(a), f"5:{a // 5}", f"10:{a // 10}", f"20:{a // 20}", "*"] for a in dict.fromkeys(AGES)]


def test_one_outlier_costs_as_many_rows_as_it_lacks(duckdb_engine):
    """999 people of 50 to 69 and one of 100: four rows go with it, all others keep their age."""
    found = printed(duckdb_engine, case_of(5, age=AGES, trees={"age": FIVES}))
    assert len(found) == 1000
    assert found.count("*") == 5
    assert all(label == str(age) for label, age in zip(found, AGES, strict=True) if label != "*")


def test_one_outlier_is_left_out_where_that_loses_less(duckdb_engine):
    case = case_of(5, age=AGES, trees={"age": FIVES})
    case.suppress = Fraction(1, 100)
    outcome = run(duckdb_engine, case)
    assert outcome.plan.suppressed_rows == 1
    assert len(outcome.rows) == 999
    assert {row["age"] for row in outcome.rows} == {str(age) for age in range(50, 70)}


def test_rows_pulled_up_depend_on_the_seed_and_on_no_order(duckdb_engine):
    case = case_of(5, age=AGES, trees={"age": FIVES})

    def pulled():
        return {row["id"] for row in run(duckdb_engine, case).rows if row["age"] == "*"}

    first = pulled()
    case.rows.reverse()
    assert pulled() == first
    case.seed = 1
    assert pulled() != first


def test_rows_are_not_left_out_where_classes_are_compared_with_the_whole(duckdb_engine):
    case = case_of(5, age=AGES, s=["a", "b"] * 500, sensitive=["s"], trees={"age": FIVES},
                   requirements=[Closeness(Fraction(1, 2))])  # fmt: skip
    case.suppress = Fraction(1, 100)
    assert run(duckdb_engine, case).plan.suppressed_rows == 0


def test_the_policy_bounds_the_rows_that_are_left_out(duckdb_engine):
    case = case_of(5, age=AGES, trees={"age": FIVES})
    case.suppress = Fraction(0)
    assert run(duckdb_engine, case).plan.suppressed_rows == 0


def test_null_is_cut_off_first_and_never_mixed_into_a_label(duckdb_engine):
    found = printed(duckdb_engine, case_of(2, ward=["A1", "A2", None, None, "B1", "B2"], trees={"ward": WARDS}))
    assert found == ["A", "A", None, None, "B", "B"]
    found = printed(duckdb_engine, case_of(2, ward=["A1", "A2", None, "B1", "B2"], trees={"ward": WARDS}))
    assert found == ["*", "*", "*", "B", "B"]
    found = printed(duckdb_engine, case_of(2, a=[1, 1, 2, 2, 3, 3, None]))
    assert found == ["1", "1", "2", "2", "*", "*", "*"]


def test_the_part_of_the_largest_gain_is_split_first(duckdb_engine):
    y = list("xxyyxyxyxyxy")
    case = case_of(2, a=list(range(12)), y=y, target="y", options={"max_parts": Fraction(3)})
    outcome = run(duckdb_engine, case)
    assert outcome.plan.classes == 3
    assert run(duckdb_engine, case_of(2, a=list(range(12)), options={"max_parts": Fraction(1)})).plan.classes == 1


# -- what is printed -------------------------------------------------------------------------------------


def test_words_that_few_hold_are_never_printed(duckdb_engine):
    """The canary is neither printed nor in a statement; they share one code."""
    statements = []
    duckdb_engine.on_statement = statements.append
    words = ["ash"] * 4 + ["oak"] * 4 + ["canary", "bird", "crow", "duck"]
    found = printed(duckdb_engine, case_of(3, a=words))
    assert Counter(found) == {"ash": 4, "oak": 4, "{other}": 4}
    found = printed(duckdb_engine, case_of(5, a=["ash"] * 6 + ["oak"] * 3 + ["canary"], b=[1, 2] * 5))
    assert Counter(label[0] for label in found) == {"ash": 5, "{other}": 5}  # one ash is pulled up
    assert not any("canary" in statement or "ash" in statement for statement in statements)


def test_an_outlier_is_not_printed(duckdb_engine):
    """Nobody learns the greatest value."""
    found = printed(duckdb_engine, case_of(2, a=[20, 30, 40, 987_654_321]))
    assert found == ["< 35", "< 35", ">= 35", ">= 35"]  # 40 is held by one


def test_long_lists_name_the_first_and_the_last(duckdb_engine):
    words = [f"w{number:02d}" for number in range(40) for _ in range(2)]
    case = case_of(2, a=words, options={"max_parts": Fraction(2)})
    case.orders = {"a": [f"w{number:02d}" for number in reversed(range(40))]}
    assert Counter(printed(duckdb_engine, case)) == {"{w39 .. w20}": 40, "{w19 .. w00}": 40}
    case.options = {"max_parts": Fraction(8)}
    assert printed(duckdb_engine, case)[0] == "{w04, w03, w02, w01, w00}"


def test_without_order_a_frequent_text_stands_alone(duckdb_engine):
    words = ["ash"] * 4 + ["oak"] * 4 + ["elm", "elm", "fir", "fir"]
    assert Counter(printed(duckdb_engine, case_of(3, a=words))) == {"ash": 4, "oak": 4, "{other}": 4}
    assert set(printed(duckdb_engine, case_of(12, a=words))) == {"*"}


def test_with_a_target_texts_are_cut_in_the_order_of_its_shares(duckdb_engine):
    """b, d, f, h are mostly x, the others mostly y: no cut in the order of bytes separates them."""
    words = [word for word in "abcdefgh" for _ in range(8)]
    classes = [one for word in "abcdefgh" for one in ("xxxxxxxy" if word in "bdfh" else "yyyyyyyx")]
    case = case_of(4, a=words, y=classes, target="y", options={"max_parts": Fraction(2)})
    assert Counter(printed(duckdb_engine, case)) == {"{a, c, e, g}": 32, "{b, d, f, h}": 32}
    words = [word for word in "abcdefghijklmn" for _ in range(8)]
    classes = [one for word in "abcdefghijklmn" for one in ("xxxxxxxy" if word in "bdfhjln" else "yyyyyyyx")]
    case = case_of(4, a=words, y=classes, target="y", options={"max_parts": Fraction(2)})
    assert Counter(printed(duckdb_engine, case)) == {"{a, c, e, g, i, ...}": 56, "{b, d, f, h, j, ...}": 56}


def test_a_value_like_a_marker_or_a_list_is_not_taken_for_one(duckdb_engine):
    words = ["*"] * 2 + ["**"] * 2 + ["{a}"] * 2 + ["b"] * 2
    assert printed(duckdb_engine, case_of(2, a=words)) == words
    assert set(printed(duckdb_engine, case_of(8, a=words))) == {"***"}  # more stars than any value has
    case = case_of(2, a=words, options={"max_parts": Fraction(2)})
    case.orders = {"a": ["*", "**", "b", "{a}"]}
    found = printed(duckdb_engine, case)
    assert found == ["{{*, **}}"] * 4 + [r"{{b, \{a\}}}"] * 4  # more braces, and escapes within


def test_a_value_everybody_in_the_class_has_is_printed(duckdb_engine):
    found = printed(duckdb_engine, case_of(3, a=[1, 1, 1, 9, 9, 9], b=[7, 7, 7, 1, 2, 3]))
    assert found == [("1", "7")] * 3 + [("9", "*")] * 3


def test_ranges_extent_prints_extremes_and_must_be_accepted(duckdb_engine):
    case = case_of(2, a=[17, 23, 64, 90], options={"ranges": "extent"})
    outcome = run(duckdb_engine, case)
    assert {row["a"] for row in outcome.rows} == {"[17, 23]", "[64, 90]"}
    risk = next(risk for risk in outcome.plan.risks if risk.name == "extremes")
    assert risk.refuses
    plain = run(duckdb_engine, case_of(2, a=[17, 23, 64, 90]))
    assert named(plain.plan.risks) == ["minimality", "downcoding"]
    assert not any(risk.refuses for risk in plain.plan.risks)


# -- what is refused -------------------------------------------------------------------------------------


def test_no_rows_are_not_anonymous(duckdb_engine, make_table):
    table = make_table(duckdb_engine, "ppdm_source", {"a": "INTEGER"}, [], temporary=True)
    policy = Policy("mondrian", (KAnonymity(2),), Roles(quasi=(Word("a"),)))
    source = resolve(table, duckdb_engine.columns(table), policy, ("t",))
    with pytest.raises(RequirementBreached, match="no rows"):
        MONDRIAN.table(Job(duckdb_engine, source, policy, {}))


def test_k_beyond_the_number_of_rows_or_persons(duckdb_engine):
    with pytest.raises(RequirementBreached, match="k = 5 cannot be met: the whole table has 4 rows"):
        run(duckdb_engine, case_of(5, a=[1, 2, 3, 4]))
    case = case_of(3, a=[1, 2, 3, 4], who=["p", "p", "q", None], target="who")
    case.target, case.entity = None, "who"
    with pytest.raises(RequirementBreached, match=r"2 persons \(in 4 rows\)"):
        run(duckdb_engine, case)


@pytest.mark.parametrize(
    ("requirement", "figure"),
    [
        (DistinctDiversity(3), "distinct_l = 2"),
        (SimpleDiversity(Fraction(2)), "simple_l = 1.3333"),
        (RecursiveDiversity(Fraction(3), 2), "just fails"),
        (RecursiveDiversity(Fraction(3), 3), "fewer than 3 values"),
        (EntropyDiversity(Fraction(2)), "entropy_l = 1.7547"),
        (ConfidenceLimit(Fraction(1, 2)), "confidence = 75 %"),
    ],
)
def test_a_table_that_fails_as_a_whole(duckdb_engine, requirement, figure):
    case = case_of(1, a=[1, 2, 3, 4], s=["flu", "flu", "flu", "canary"], sensitive=["s"], requirements=[requirement])
    with pytest.raises(RequirementBreached) as refusal:
        run(duckdb_engine, case)
    told = str(refusal.value)
    assert figure in told
    assert str(requirement) in told
    assert '"s"' in told
    assert "canary" not in told
    assert "flu" not in told


def test_closeness_along_a_hierarchy_and_a_distance_the_column_lacks(duckdb_engine):
    tree = {"s": [["flu", "lung", "*"], ["cold", "lung", "*"], ["ulcer", "gut", "*"]]}
    secrets = ["flu", "cold", "ulcer", "ulcer"] * 2
    case = case_of(
        2, a=list(range(8)), s=secrets, sensitive=["s"], trees=tree, requirements=[Closeness(Fraction(1, 4))]
    )
    near = run(duckdb_engine, case).plan.classes
    case.requirements = (KAnonymity(2), Closeness(Fraction(1, 4), "equal"))
    assert run(duckdb_engine, case).plan.classes <= near
    case.requirements = (KAnonymity(2), Closeness(Fraction(1, 4), "ordered"))
    with pytest.raises(PolicyError, match="no order"):
        run(duckdb_engine, case)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"max_part": Fraction(3)}, "did you mean max_parts"),
        ({"swap_threshold": Fraction(0)}, "max_parts, ranges"),
        ({"max_parts": Fraction(0)}, "whole number of at least 1"),
        ({"max_parts": Fraction(5, 2)}, "whole number of at least 1"),
        ({"max_parts": True}, "whole number of at least 1"),
        ({"ranges": "extents"}, "cuts or extent"),
    ],
)
def test_options_that_are_not_there(duckdb_engine, options, told):
    with pytest.raises(PolicyError, match=told):
        run(duckdb_engine, case_of(2, a=[1, 2, 3, 4], options=options))


def test_without_quasi_identifiers_there_is_nothing_to_partition(duckdb_engine):
    case = case_of(2, a=[1, 2, 3, 4])
    case.quasi = []
    with pytest.raises(PolicyError, match="QUASI IDENTIFIER"):
        run(duckdb_engine, case)


# -- what is said ----------------------------------------------------------------------------------------


def test_steps_figures_and_progress(duckdb_engine):
    seen = []
    case = case_of(2, a=[1, 2, 3, 4, 5, 6, 7, 8], b=["x"] * 4 + ["y"] * 4)
    first = run(duckdb_engine, case)
    source = resolve(SOURCE, duckdb_engine.columns(SOURCE), case.policy, ("t",))
    private = Private({"ppdm_key0": column("id", "r")})
    plan = MONDRIAN.table(Job(duckdb_engine, source, case.policy, {}, private, lambda *told: seen.append(told)))
    assert plan.figures == first.plan.figures
    assert plan.figures["parts"] == plan.classes == 4
    assert (plan.figures["splits"], plan.figures["levels"], plan.figures["smallest class"]) == (3, 2, 2)
    assert plan.steps[0] == "encode 2 quasi-identifiers of 8 rows into codes"
    assert {step for step, _, _ in seen} == {"counting combinations", "partitioning", "labelling", "placing rows"}
    assert [done for step, done, total in seen if step == "partitioning" and total == 8] == [0, 0, 8]
