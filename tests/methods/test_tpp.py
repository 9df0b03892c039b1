"""TPP from a table to its plan: worked examples, random tables on every engine, and what is refused."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

import numpy as np
import pytest
from tpp_cases import RELEASE, SOURCE, Case, builder, check_release, planned, random_case, released

from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.induction.inducers import induce, settings
from ppdm_sql.induction.nested import Nested, grow_nested
from ppdm_sql.induction.tree_rows import ArrayRows, ValueAttribute
from ppdm_sql.requirements import (
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    SimpleDiversity,
)
from ppdm_sql.trees.tree import Attribute
from ppdm_sql.verify.same_model import tree_differences
from tests.sizes import each_seed, seeds


def table(columns: str, kinds: str, *rows: tuple, **more) -> Case:
    names = columns.split()
    filled = [dict(zip(names, row, strict=True)) | {"s": "p"} for row in rows]
    columns_of = dict(zip(names, kinds.split(), strict=True)) | {"s": "text"}
    quasi = [name for name in names if name != "y"]
    return Case(columns_of, filled, quasi, **({"requirements": (KAnonymity(1),), "sensitive": ["s"]} | more))


def splits(node: dict) -> list:
    """(column, threshold or groups) of every split, from the top."""
    if "branches" not in node:
        return []
    here = (node["column"], node.get("at") or node["groups"])
    return [here, *(one for child in node["branches"] for one in splits(child))]


# -- random tables ---------------------------------------------------------------------------------------


def check_case(engine, case):
    plan = planned(engine, case)
    rows = released(engine, plan)
    assert tree_differences(engine, RELEASE, json.loads(json.dumps(plan.patterns))) == []
    check_release(case, plan, rows)
    return plan


def small(seed, **kinds):
    """A case whose trees stay small: growing is most of the time."""
    case = random_case(seed, **kinds)
    case.options.setdefault("max_leaves", Fraction(2 + sum(map(ord, str(seed))) % 5))
    return case


@pytest.mark.duckdb
@pytest.mark.parametrize("kinds", ["numbers", "mixed", "categories"])
@seeds(small=3, full=6, nightly=100)
def test_every_tree_comes_out_of_its_release(duckdb_engine, kinds, seeds):
    expansions = Counter()
    for number in seeds:
        plan = check_case(duckdb_engine, small(f"{kinds} {number}", kinds=kinds))
        expansions[plan.patterns[0]["leaves"] > 1] += 1
    assert expansions[True] > 0


@pytest.mark.postgres
@each_seed(small=1, full=3)
def test_every_tree_comes_out_of_its_release_on_postgres(postgres_engine, seed):
    check_case(postgres_engine, small(f"mixed {seed}"))


def test_the_state_before_the_first_failure_is_published(duckdb_engine):
    """One expansion more breaks k; the tree that is published is the same without its last split."""
    draw = random.Random(5)
    rows = [(n := draw.randint(0, 40), "yes" if (n > 20) != (draw.random() < 0.2) else "no") for _ in range(60)]
    for k in (3, 8):
        free = table("n y", "integer text", *rows, preserve=(builder("cart", min_leaf=1),))
        asked = table("n y", "integer text", *rows, preserve=free.preserve, requirements=(KAnonymity(k),))
        plan = planned(duckdb_engine, asked)
        leaves = plan.patterns[0]["leaves"]
        assert plan.figures["smallest class"] >= k
        free.options = {"max_leaves": Fraction(leaves + 1)}
        assert planned(duckdb_engine, free).figures["smallest class"] < k


# -- worked examples -------------------------------------------------------------------------------------


def test_the_order_of_numbers_decides_the_split(duckdb_engine):
    """Example 1 of the paper, with at least two rows on a side."""
    for classes, at in (("121212", "3.5"), ("112212", "2.5")):
        rows = [(number, f"C{one}") for number, one in enumerate(classes, start=1)]
        case = table("n y", "integer text", *rows, options={"max_leaves": Fraction(2)})
        case.preserve = (builder("cart", min_leaf=2, criterion="entropy"),)
        assert splits(planned(duckdb_engine, case).patterns[0]["root"]) == [("n", at)]


CONFLICT = [(9, "b", "q"), (6, "b", "q"), (4, "b", "p"), (2, "b", "q"), (7, "a", "q"), (7, "a", "p"), (3, "a", "p"),
            (3, "b", "q")]  # fmt: skip


def conflict(**options) -> Case:
    tree = builder("cart", criterion="entropy", min_leaf=1)
    return table(
        "A B y", "integer text text", *CONFLICT, preserve=(tree,), options={"max_leaves": Fraction(5), **options}
    )


def test_a_boundary_of_several_nodes(engine):
    plan = planned(engine, conflict())
    rows = released(engine, plan)
    assert splits(plan.patterns[0]["root"]) == [("B", [["a"], ["b"]]), ("A", "5"), ("A", "3.5"), ("A", "5")]
    assert {old[0]: row["A"] for old, row in zip(CONFLICT, rows, strict=True)} == {9: 7, 6: 6, 4: 4, 2: 3, 7: 7, 3: 3}
    assert plan.figures["boundary values published as they are"] == 4
    assert tree_differences(engine, RELEASE, plan.patterns) == []


def test_the_literal_rule_of_the_paper_loses_it_and_that_is_found(duckdb_engine):
    plan = planned(duckdb_engine, conflict(paper=True))
    released(duckdb_engine, plan)
    assert tree_differences(duckdb_engine, RELEASE, plan.patterns) != []


def growth_of(case: Case, inducer: str) -> Nested:
    """A growth over the rows of a case, each a cell; its attributes are the quasi-identifiers."""
    codes, attributes = [], []
    for name in case.quasi:
        values = sorted({row[name] for row in case.rows})
        codes.append(np.array([values.index(row[name]) for row in case.rows]))
        attributes.append(ValueAttribute(Attribute(name, Kind.INTEGER, ordered=True), len(values), None))
    classes = [row["y"] for row in case.rows]
    if inducer != "regression":
        known = sorted(set(classes))
        classes = [known.index(one) for one in classes]
    number = 0 if inducer == "regression" else max(classes) + 1
    rows = ArrayRows(attributes, codes, np.array(classes), number, np.ones(len(classes), dtype=np.int64))
    return grow_nested(rows, settings(inducer, {"min_leaf": 1}))


def test_the_gain_of_a_response():
    """y = 1, 2, 2, 10, 11, 12: the best cut is in the middle, 196/9 per row."""
    rows = [(number, y) for number, y in enumerate((1, 2, 2, 10, 11, 12))]
    growth = growth_of(table("n y", "integer integer", *rows), "regression")
    root = growth.expand()
    assert root.split.gain / 6 == pytest.approx(196 / 9)
    assert (root.split.cut, root.split.above) == (2, 3)
    assert growth.order == [0]


def test_classes_are_counted_wherever_their_rows_stand(duckdb_engine):
    """(1, 1), (1, 9), (2, 1) with the first column generalised: rows 1 and 3 are one class though not neighbours."""
    rows = [(1, 1, "u"), (1, 9, "v"), (2, 1, "u"), (8, 9, "w")] * 3
    tree = builder("id3", min_leaf=1)
    case = table("a b y", "integer integer text", *rows, preserve=(tree,), requirements=(KAnonymity(3),))
    case.options = {"absorb": True}  # 2 lies between the boundaries 1 and 8
    plan = planned(duckdb_engine, case)
    assert sorted(Counter((row["a"], row["b"]) for row in released(duckdb_engine, plan)).values()) == [3, 3, 6]


def test_a_nested_sequence_is_what_lower_limits_give(duckdb_engine):
    """The tree after so many expansions is the one that an inducer with a limit of leaves grows in the engine."""
    case = random_case("nested", kinds="numbers")
    planned(duckdb_engine, case)
    infos = {info.name: info for info in duckdb_engine.columns(SOURCE)}
    attributes = [infos[name] for name in case.quasi]
    inducer = "regression" if case.columns["y"] == "integer" else "cart"
    growth = growth_of(case, inducer)
    while growth.expand() is not None and len(growth.order) < 9:
        leaves = len(growth.order) + 1
        chosen = settings(inducer, {"min_leaf": 1, "max_leaves": leaves, "prune": False, "exact": True})
        tree = induce(duckdb_engine, SOURCE, attributes, infos["y"], chosen).tree
        assert Counter(node.split.attribute for node in tree.nodes if node.split is not None) == Counter(
            growth.nodes[number].split.attribute for number in growth.order
        )
    assert len(growth.order) == 9


def test_a_leaf_that_is_closed_is_passed_over(duckdb_engine):
    """What follows is what would have followed anyway, without what lies below the leaf."""
    case = random_case("nested", kinds="numbers")
    inducer = "regression" if case.columns["y"] == "integer" else "cart"
    whole, closed = growth_of(case, inducer), growth_of(case, inducer)
    while whole.expand() is not None:
        pass
    number = closed.expand() and closed.expand().number
    closed.take_back()
    while closed.expand() is not None:
        pass
    way = closed.nodes[number].way
    below = [whole.nodes[one].way for one in whole.order if whole.nodes[one].way[: len(way)] == way]
    assert len(below) > 1
    assert [closed.nodes[one].way for one in closed.order] == [
        whole.nodes[one].way for one in whole.order if whole.nodes[one].way not in below
    ]


# -- several trees, several requirements -----------------------------------------------------------------


def test_trees_for_different_responses(engine):
    draw = random.Random(11)
    rows = [(draw.randint(1, 9), draw.choice("ab"), draw.randint(1, 30)) for _ in range(50)]
    filled = [(a, b, c, "yes" if a > 4 else "no") for a, b, c in rows]
    trees = (builder("cart", min_leaf=2), builder("regression", min_leaf=2, target="c", max_leaves=3))
    case = table("a b c y", "integer text integer text", *filled, preserve=trees, requirements=(KAnonymity(2),))
    case.quasi = ["a", "b"]
    plan = planned(engine, case)
    published = released(engine, plan)
    assert [pattern["target"] for pattern in plan.patterns] == ["y", "c"]
    assert [row["c"] for row in published] == [row["c"] for row in case.rows]
    assert tree_differences(engine, RELEASE, plan.patterns) == []


def test_a_response_that_is_a_quasi_identifier_stays_and_is_grouped_on(duckdb_engine):
    rows = [(n, "u" if n > 5 else "v") for n in range(10)] * 3
    case = table("n y", "integer text", *rows, requirements=(KAnonymity(5),), preserve=(builder("cart", min_leaf=1),))
    case.quasi = ["n", "y"]
    plan = planned(duckdb_engine, case)
    published = released(duckdb_engine, plan)
    assert [row["y"] for row in published] == [row["y"] for row in case.rows]
    assert min(Counter((row["n"], row["y"]) for row in published).values()) == plan.figures["smallest class"] == 12


REQUIRED = [
    (KAnonymity(3), SimpleDiversity(Fraction(3, 2))),
    (KAnonymity(2), DistinctDiversity(2)),
    (KAnonymity(4), EntropyDiversity(Fraction(6, 5))),
    (KAnonymity(2), RecursiveDiversity(Fraction(3), 2)),
    (KAnonymity(2), Closeness(Fraction(1, 3), "equal")),
]


@pytest.mark.parametrize("required", REQUIRED, ids=lambda found: str(found[1]))
def test_every_requirement_is_kept_on_original_values(duckdb_engine, required):
    stopped = 0
    for number in range(2):
        case = small(f"required {number}")
        case.requirements, case.options = required, {"max_leaves": Fraction(6)}
        try:
            plan = planned(duckdb_engine, case)
        except RequirementBreached:
            continue
        stopped += any("would break" in step for step in plan.steps)
        rows = released(duckdb_engine, plan)
        classes = {}
        for row in rows:
            classes.setdefault(tuple(str(row[name]) for name in case.quasi), []).append(row["s"])
        assert min(map(len, classes.values())) >= required[0].k
        everything = [row["s"] for row in rows]
        assert all(holds(required[1], found, everything) for found in classes.values())
    assert stopped


def holds(asked, values, everything):
    """One requirement on one class, straight from its definition."""
    counts = sorted(Counter(values).values(), reverse=True)
    size = len(values)
    match asked:
        case SimpleDiversity(l=l):
            return counts[0] * l <= size
        case DistinctDiversity(l=l):
            return len(counts) >= l
        case EntropyDiversity(l=l):
            return -sum(c / size * math.log(c / size) for c in counts) >= math.log(l) - 1e-9
        case RecursiveDiversity(c=c, l=l):
            return counts[0] < c * sum(counts[l - 1 :])
        case Closeness(t=t):
            here, all_ = Counter(values), Counter(everything)
            gaps = (abs(Fraction(here[v], size) - Fraction(all_[v], len(everything))) for v in all_)
            return sum(gaps) / 2 <= t
    raise AssertionError(asked)


def test_k_counts_persons(engine):
    rows = [(n % 10, "u" if n % 10 > 4 else "v", n % 3) for n in range(60)]
    case = table("n y who", "integer text integer", *rows, preserve=(builder("cart", min_leaf=1),))
    case.quasi, case.entity = ["n"], "who"
    case.requirements = (KAnonymity(4),)
    with pytest.raises(RequirementBreached, match="3 persons"):
        planned(engine, case)
    case.requirements = (KAnonymity(3),)
    assert planned(engine, case).patterns[0]["leaves"] == 2


# -- what is published of unused columns and of categories -----------------------------------------------


def test_unused_columns_are_constant(duckdb_engine):
    rows = [(n, n % 2, "*" if n % 3 else "x", "u" if n > 5 else "v") for n in range(12)]
    case = table("n m c y", "integer integer text text", *rows, preserve=(builder("cart", min_leaf=1, max_leaves=2),))
    assert {(row["m"], row["c"]) for row in released(duckdb_engine, planned(duckdb_engine, case))} == {(None, "**")}
    case.options = {"unused_numeric": "mean"}
    assert {row["m"] for row in released(duckdb_engine, planned(duckdb_engine, case))} == {0}


def test_types_stay_where_they_can(duckdb_engine):
    case = random_case("types 3", kinds="numbers")
    plan = planned(duckdb_engine, case)
    before = {info.name: info.declared for info in duckdb_engine.columns(SOURCE)}
    released(duckdb_engine, plan)
    after = {info.name: info.declared for info in duckdb_engine.columns(RELEASE)}
    assert {name: after[name] for name in case.quasi} == {name: before[name] for name in case.quasi}


MAKERS = {
    "float": lambda draw: draw.gauss(0, 1),  # as many digits as a double has
    "real": lambda draw: draw.gauss(0, 1),
    "integer": lambda draw: draw.randint(-9 * 10**18, 9 * 10**18),
    "timestamp": lambda draw: datetime(2024, 1, 1) + timedelta(microseconds=draw.randint(0, 10**13)),
    "zoned": lambda draw: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=draw.randint(0, 10**4)),
    "date": lambda draw: date(2024, 1, 1) + timedelta(days=draw.randint(0, 10**4)),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_every_kind_of_number_is_moved_exactly(engine, kind):
    """No boundary stays where it was, and both cuts come out of the published numbers."""
    draw = random.Random(kind)
    values = [MAKERS[kind](draw) for _ in range(60)]
    low, high = sorted(values)[12], sorted(values)[30]
    rows = [(value, "u" if low <= value < high else "v") for value in values]
    case = table("n y", f"{kind} text", *rows, preserve=(builder("cart", min_leaf=1),), requirements=(KAnonymity(3),))
    plan = planned(engine, case)
    assert len({row["n"] for row in released(engine, plan)}) == 4
    assert tree_differences(engine, RELEASE, plan.patterns) == []
    assert [rows for _, rows in leaf_rows(plan.patterns[0]["root"])] == [12, 18, 30]
    assert plan.figures["boundary values published as they are"] == 0


def leaf_rows(node: dict, way: str = "") -> list[tuple[str, int]]:
    branches = node.get("branches", [])
    found = [leaf_rows(child, f"{way}{number}") for number, child in enumerate(branches)]
    return [one for leaves in found for one in leaves] or [(way, node["rows"])]


def test_categories_of_a_group_are_named_but_not_those_few_people_hold(engine):
    rows = [(word, "u" if word in "ab" else "v") for word in "aaabbbcccdddeee"] + [("zq", "v"), (None, "v")]
    case = table("w y", "text text", *rows, preserve=(builder("cart", min_leaf=1),), requirements=(KAnonymity(3),))
    labels = {row["w"] for row in released(engine, planned(engine, case))}
    assert labels == {"{a, b}", "{c, d, e, NULL, ...}"}


def test_multiway_splits_publish_every_value(duckdb_engine):
    rows = [(word, word * 2) for word in "aabbcc"]
    case = table("w y", "text text", *rows, preserve=(builder("id3"),), requirements=(KAnonymity(2),))
    assert [row["w"] for row in released(duckdb_engine, planned(duckdb_engine, case))] == list("aabbcc")


def test_skip_closes_a_leaf_and_goes_on(duckdb_engine):
    """The best split would break k; its leaf is closed, and others are split instead."""
    draw = random.Random("skip 1")
    rows = [(draw.randint(0, 9), draw.choice("abc"), draw.choice("uv")) for _ in range(24)]
    tree = (builder("cart", min_leaf=1, max_leaves=5),)
    case = table("n c y", "integer text text", *rows, preserve=tree, requirements=(KAnonymity(2),))
    stopped = planned(duckdb_engine, case)
    case.options = {"on_failure": "skip"}
    skipped = planned(duckdb_engine, case)
    released(duckdb_engine, skipped)
    assert (stopped.patterns[0]["leaves"], skipped.patterns[0]["leaves"]) == (3, 5)
    assert skipped.figures["smallest class"] >= 2
    assert tree_differences(duckdb_engine, RELEASE, skipped.patterns) == []
    forgetful = [skipped.patterns[0] | {"closed": []}]
    assert tree_differences(duckdb_engine, RELEASE, forgetful) != []


# -- risks -----------------------------------------------------------------------------------------------


def test_a_boundary_that_few_people_hold_refuses(duckdb_engine):
    rows = [(n, "u" if n > 15 else "v") for n in range(30)]
    case = table("n y", "integer text", *rows, requirements=(KAnonymity(3),), preserve=(builder("cart", min_leaf=1),))
    risk = next(one for one in planned(duckdb_engine, case).risks if one.name == "boundaries")
    assert risk.refuses
    assert "2 of 2 values next to the thresholds" in risk.message
    case.rows = [row for row in case.rows for _ in range(3)]
    assert not next(one for one in planned(duckdb_engine, case).risks if one.name == "boundaries").refuses


# -- refused ---------------------------------------------------------------------------------------------


REFUSED = [
    ({"preserve": (builder("c45"),)}, "cannot keep c45: its correction counts the distinct values"),
    ({"preserve": (builder("forest"),)}, "cart, id3 and regression"),
    ({"preserve": (builder("cart", prune="true"),)}, "has no option"),
    ({"preserve": (builder("cart", target="nobody"),)}, "must be a published column"),
    ({"preserve": (builder("cart", target="s"),)}, "SENSITIVE and the response"),
    ({"target": None}, "name it in TARGET"),
    ({"options": {"max_leavs": Fraction(3)}}, "did you mean max_leaves"),
    ({"options": {"max_leaves": Fraction(1, 2)}}, "whole number"),
    ({"options": {"on_failure": "cry"}}, "stop or skip"),
    ({"options": {"unused_numeric": "sum"}}, "null or mean"),
    ({"options": {"absorb": "maybe"}}, "true or false"),
    ({"options": {"on_failure": "skip"}, "preserve": (builder("cart"), builder("id3"))}, "one tree"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED, ids=lambda value: str(value)[:30])
def test_wrong_calls_are_told_in_one_sentence(duckdb_engine, given, message):
    case = table("n y", "integer text", *[(n, "uv"[n % 2]) for n in range(10)])
    for name, value in given.items():
        setattr(case, name, value)
    with pytest.raises(PolicyError, match=message):
        planned(duckdb_engine, case)


STRANGE = [
    ("n", "integer", None, "3 NULLs, which are on neither side"),
    ("y", "text", None, "3 NULLs: ALGORITHM tpp needs a known response"),
    ("s", "text", None, "3 NULLs: ALGORITHM tpp needs a known response"),
    ("n", "float", float("nan"), "3 values that are infinite or NaN"),
    ("n", "float", float("inf"), "3 values that are infinite or NaN"),
]


@pytest.mark.parametrize(("name", "kind", "value", "message"), STRANGE)
def test_values_without_a_side_are_refused_by_column_and_count(duckdb_engine, name, kind, value, message):
    case = table("n y", "integer text", *[(n, "uv"[n % 2]) for n in range(10)])
    case.columns[name] = kind
    case.requirements = (KAnonymity(1), DistinctDiversity(1))
    for row in case.rows[:3]:
        row[name] = value
    with pytest.raises(PolicyError, match=f'"{name}" has {message}'):
        planned(duckdb_engine, case)


def test_many_categories_with_many_classes_are_refused(duckdb_engine):
    rows = [(chr(97 + n % 11), "uvw"[n % 3]) for n in range(44)]
    case = table("w y", "text text", *rows, preserve=(builder("cart"),))
    with pytest.raises(PolicyError, match='"w" has 11 values and "y" more than two classes'):
        planned(duckdb_engine, case)
    case.preserve = (builder("id3"),)
    assert planned(duckdb_engine, case).classes


def test_a_table_too_small_for_k_is_refused(duckdb_engine):
    case = table("n y", "integer text", (1, "u"), (2, "v"), requirements=(KAnonymity(3),))
    with pytest.raises(RequirementBreached, match="k = 3 cannot be met"):
        planned(duckdb_engine, case)
