"""ATP: the paper's example, the merges of random trees and the leaves of random tables against the naive ones."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction

import numpy as np
import pytest
from kadet_cases import TARGET, Case, is_fine, meets
from oracles import frequencies, naive_tree
from oracles import naive_atp as naive

from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.methods.atp.node_labels import ByCounts, ByLabels, Label, Piece, estimated, label_passes
from ppdm_sql.methods.atp.prune import leaves_of, prune
from ppdm_sql.methods.shared.class_limits import ClassDemands
from ppdm_sql.requirements import DistinctDiversity, KAnonymity, RecursiveDiversity, SimpleDiversity
from ppdm_sql.trees.follow import follow, follower
from ppdm_sql.trees.sound import check_tree
from ppdm_sql.trees.tree import Bands, Cut, Groups
from tests.sizes import are_many, seeds

S1, S2, S3, S4, S5 = range(5)
THREE = RecursiveDiversity(Fraction(3), 3)

# -- the measures of the paper (specification, 12.1) -----------------------------------------------------


@pytest.mark.parametrize(
    ("hit", "miss", "passes"),
    [(3, 0, False), (5, 4, False), (2, 2, True), (2, 5, True), (6, 8, False), (5, 9, True), (3, 7, True),
     (4, 6, True), (1, 2, True), (6, 7, False)],
)  # fmt: skip
def test_labels_under_three_three_diversity(hit, miss, passes):
    assert label_passes(THREE, Label(0, hit, miss)) is passes
    assert naive.label_is_recursive(("S1", hit, miss), Fraction(3), 3) is passes


@pytest.mark.parametrize(
    ("l", "hit", "miss", "passes"), [(2, 6, 8, True), (2, 5, 4, False), (3, 2, 5, True), (3, 5, 9, False)]
)
def test_labels_under_simple_diversity(l, hit, miss, passes):
    assert label_passes(SimpleDiversity(Fraction(l)), Label(0, hit, miss)) is passes


def test_labels_are_judged_as_the_printed_equation_says():
    for l in range(1, 6):
        for hit in range(1, 12):
            for miss in range(40):
                for c in (1, 2, 3):
                    told = naive.label_is_recursive(("x", hit, miss), Fraction(c), l)
                    assert label_passes(RecursiveDiversity(Fraction(c), l), Label(0, hit, miss)) is told


def test_a_label_without_rows_is_none():
    with pytest.raises(ValueError, match="hit 0"):
        Label(0, 0, 3)
    with pytest.raises(PolicyError, match="but not distinct_l"):
        label_passes(DistinctDiversity(2), Label(0, 1, 1))


# -- example 16 ------------------------------------------------------------------------------------------


def piece(code: int, majority: int, hit: int, miss: int) -> Piece:
    """A leaf with this label; its misses lie on the next classes, none above the hits."""
    counts = np.zeros(5, dtype=np.int64)
    counts[majority] = hit
    for number in range(1, 5):
        counts[(majority + number) % 5] = min(max(hit - 1, 1), miss)
        miss -= int(counts[(majority + number) % 5])
    counts[(majority + 4) % 5] += miss
    return Piece((code,), counts)


def inner(code: int, attribute: int, *children: Piece) -> Piece:
    counts = np.sum([child.counts for child in children], axis=0)
    return Piece((code,), counts, attribute, list(children))


def figure_5() -> Piece:
    """The tree of the figures 5 and 7; i, o, p and the class of n are not told by the text and filled in."""
    f = inner(2, 2, piece(0, S5, 2, 2), piece(1, S3, 4, 6))
    h = inner(4, 3, piece(0, S1, 2, 5), piece(1, S1, 1, 2))
    b = inner(0, 1, piece(0, S1, 3, 0), piece(1, S2, 5, 4), f, piece(3, S4, 6, 8), h)
    j = inner(1, 3, piece(0, S3, 3, 1), piece(1, S5, 3, 7))
    return inner(0, 0, b, inner(1, 2, piece(0, S2, 3, 6), j))


def as_told(label: Label) -> tuple[int, int, int]:
    return label.majority, label.hit, label.miss


def test_the_merges_of_example_16():
    d, e, f, g, h = Label(S1, 3, 0), Label(S2, 5, 4), Label(S3, 5, 9), Label(S4, 6, 8), Label(S1, 3, 7)
    assert as_told(estimated([d, e, f, g, h], 5)) == (S1, 12, 38)
    assert [as_told(estimated([d, other], 5)) for other in (e, f, g, h)] == [
        (S2, 5, 7), (S1, 6, 11), (S4, 6, 11), (S1, 6, 7)
    ]  # fmt: skip
    assert [as_told(estimated([g, other], 5)) for other in (f, h, estimated([d, e], 5))] == [
        (S4, 9, 19), (S4, 8, 16), (S4, 8, 18)
    ]  # fmt: skip
    assert as_told(estimated([Label(S5, 2, 2), Label(S3, 4, 6)], 5)) == (S3, 5, 9)
    assert as_told(estimated([Label(S1, 2, 5), Label(S1, 1, 2)], 5)) == (S1, 3, 7)


def test_example_16_ends_in_the_tree_of_the_paper():
    root = figure_5()
    pruned = prune(root, ByLabels(ClassDemands(1, (THREE,)), 5))
    assert pruned.root is root
    b, c = root.children
    assert [child.codes for child in b.children] == [(0, 1), (2,), (3, 4)]
    assert [as_told(child.label) for child in b.children] == [(S2, 5, 7), (S3, 5, 9), (S4, 8, 16)]
    assert [child.is_leaf for child in b.children] == [True, False, True]
    assert [child.is_leaf for child in c.children] == [True, True]
    assert as_told(c.children[1].label) == (S3, 5, 9)
    assert as_told(root.label) == (S3, 17, 56)
    assert sum(1 for _ in leaves_of(root)) == 6
    assert pruned.merges == 3


def test_estimates_that_are_wrong():
    """Specification, 12.5: the estimate passes, the rows do not; two leaves pass, their union does not."""
    asked = SimpleDiversity(Fraction(2))
    both = estimated([Label(0, 3, 3), Label(1, 3, 2)], 3)
    assert as_told(both) == (1, 5, 6)
    assert label_passes(asked, both)
    assert not ClassDemands(1, (asked,)).hold(np.array([[5, 6, 0]]))[0]
    assert label_passes(THREE, Label(4, 2, 2))
    assert not ClassDemands(1, (THREE,)).hold(np.array([[2, 0, 0, 0, 2]]))[0]
    assert not label_passes(THREE, Label(0, 4, 4))


# -- random trees ----------------------------------------------------------------------------------------


def random_tree(dice: random.Random, classes: list[str], depth: int, edge: frozenset) -> naive.Node:
    if depth and dice.random() < 0.7:
        node = naive.Node(edge, [], attribute="a")
        node.children = [random_tree(dice, classes, depth - 1, frozenset([n])) for n in range(dice.randint(2, 6))]
        node.classes = [name for child in node.children for name in child.classes]
        return node
    leaning = dice.choice(classes)
    rows = dice.choice([1, 1, 2, 3, 5, 8, 13])
    return naive.Node(edge, [leaning if dice.random() < 0.4 else dice.choice(classes) for _ in range(rows)])


def as_piece(node: naive.Node, classes: list[str]) -> Piece:
    counts = np.array([node.classes.count(name) for name in classes], dtype=np.int64)
    children = [as_piece(child, classes) for child in node.children] or None
    return Piece(tuple(sorted(node.edge)), counts, 0 if children else None, children)


def shape(node: naive.Node, classes: list[str]):
    counts = tuple(node.classes.count(name) for name in classes)
    label = (classes.index(node.label[0]), *node.label[1:])
    return (tuple(sorted(node.edge)), counts, label, node.passed, [shape(child, classes) for child in node.children])


def shape_of_piece(found: Piece):
    below = [shape_of_piece(child) for child in found.children or ()]
    return (found.codes, tuple(found.counts.tolist()), as_told(found.label), found.passed, below)


ASKED = [
    (KAnonymity(4),), (KAnonymity(2), SimpleDiversity(Fraction(2))), (SimpleDiversity(Fraction(3, 2)),),
    (SimpleDiversity(Fraction(3)),), (THREE,), (RecursiveDiversity(Fraction(2), 2),),
    (KAnonymity(3), RecursiveDiversity(Fraction(5, 2), 3)),
]  # fmt: skip


@pytest.mark.parametrize("mode", ["exact", "paper"])
def test_random_trees_are_pruned_as_the_naive_ones(mode):
    left, merged = 0, 0
    for seed in range(150):
        dice = random.Random(seed)
        classes = [f"S{n}" for n in range(dice.choice([2, 3, 3, 5]))]
        asked = dice.choice(ASKED)
        tree = random_tree(dice, classes, dice.randint(1, 4), frozenset())
        k = max((item.k for item in asked if isinstance(item, KAnonymity)), default=1)
        others = tuple(item for item in asked if not isinstance(item, KAnonymity))
        demands = ClassDemands(k, others)
        rows = len(tree.classes)
        root = as_piece(tree, classes)
        judge = ByCounts(demands) if mode == "exact" else ByLabels(demands, len(classes))
        pruned = prune(root, judge)
        survived = naive.atp(tree, classes, *naive_way(mode, k, others, classes))
        assert shape_of_piece(root) == shape(tree, classes)
        assert survived is not root.is_leaf
        leaves = list(leaves_of(root))
        assert sum(int(leaf.counts.sum()) for leaf in leaves) == rows
        if survived:
            assert all(leaf.passed for leaf in leaves)
        left += survived
        merged += pruned.merges > 0
    assert left > 40
    assert merged > 60


def naive_way(mode: str, k: int, others: tuple, classes: list[str]):
    def by_rows(node: naive.Node) -> bool:
        counts = frequencies(node.classes)
        return len(node.classes) >= k and all(meets(item, counts) for item in others)

    def by_label(node: naive.Node) -> bool:
        if sum(node.label[1:]) < k:
            return False
        return all(
            naive.label_is_simple(node.label, item.l)
            if isinstance(item, SimpleDiversity)
            else naive.label_is_recursive(node.label, item.c, item.l)
            for item in others
        )

    if mode == "paper":
        return by_label, lambda group: naive.estimated([member.label for member in group], classes)
    return by_rows, lambda group: naive.true_label(
        naive.Node(frozenset(), [name for member in group for name in member.classes]), classes
    )


def test_a_tree_whose_leaves_all_pass_stays_as_it_is():
    leaves = [Piece((code,), np.array([3, 3])) for code in range(3)]
    root = Piece((), np.array([9, 9]), 0, leaves)
    assert prune(root, ByCounts(ClassDemands(6, (SimpleDiversity(Fraction(2)),)))).merges == 0
    assert root.children == leaves


# -- random tables ---------------------------------------------------------------------------------------

FIRST = date(2000, 1, 1)
CUTS = {"INTEGER": [10, 20, 20.5, 35], "DATE": [FIRST + timedelta(days=day) for day in (100, 200, 1000)]}
WORDS = ["a", "b", "é", "o'brien", 'say "x"', "", "NULL", "%s"]
REQUIRES = [
    "k = 2", "k = 3", "k = 5", "k = 2, simple_l = 1.5", "simple_l = 2", "k = 3, simple_l = 1.25",
    "recursive_l = (3, 2)", "k = 2, recursive_l = (2, 3)",
]  # fmt: skip


def random_case(seed: int) -> Case:
    dice = random.Random(seed)
    columns: dict[str, str] = {"id": "INTEGER"}
    draws: dict[str, list] = {}
    for number in range(dice.randint(1, 4)):
        name = dice.choice([f"p{number}", f"o'b {number}", f"select{number}"])
        columns[name] = dice.choice(["TEXT", "TEXT", "INTEGER", "DATE"])
        if columns[name] == "TEXT":
            draws[name] = dice.sample(WORDS, dice.randint(2, 6))
        elif columns[name] == "INTEGER":
            draws[name] = [dice.randint(0, 45) for _ in range(8)]
        else:
            draws[name] = [FIRST + timedelta(days=dice.randint(0, 1200)) for _ in range(8)]
    columns[TARGET] = "TEXT"
    classes = ["no", "so", "yes"][: dice.choice([2, 3, 3])]
    rows = []
    for number in range(dice.choice([10, 20, 40, 80])):
        row = {"id": number, **{name: dice.choice(values) for name, values in draws.items()}}
        lean = sum(values.index(row[name]) for name, values in draws.items()) % len(classes)
        row[TARGET] = classes[lean] if dice.random() < 0.5 else dice.choice(classes)
        rows.append(row)
    cuts = {name: CUTS[kind][: dice.randint(1, 4)] for name, kind in columns.items() if kind in CUTS and name != "id"}
    case = Case(columns, rows, list(draws), dice.choice(REQUIRES), method="atp", table=f"people_{seed}")
    case.options = {"form": dice.choice(["id3", "c45"]), "counts": dice.choice(["exact", "exact", "paper"])}
    if cuts:
        listed = [item for name, cut in cuts.items() for item in (name.replace("'", "''"), *cut)]
        case.options["cuts"] = "(" + ", ".join(f"'{i}'" if isinstance(i, date | str) else str(i) for i in listed) + ")"
    case.cuts = cuts
    return case


def binned(case: Case, least: int) -> list[dict]:
    """The rows with categories instead of values; RARE for those that too few rows have."""
    rows = [{"id": row["id"], TARGET: row[TARGET]} for row in case.rows]
    for name in case.public:
        values = [row[name] for row in case.rows]
        for row, value in zip(rows, values, strict=True):
            if name in case.cuts:
                row[name] = f"{sum(value >= cut for cut in case.cuts[name]):02}"
            else:
                row[name] = value if values.count(value) >= least else "\U0010ffff"
    return rows


def as_naive(grown, node, edge: frozenset) -> naive.Node:
    target = grown.table.target
    made = naive.Node(edge, [row[target][1] for row in node.rows], [row["id"][1] for row in node.rows])
    if node.split is not None:
        made.attribute = grown.table.attributes[node.split.attribute][0]
        made.children = [
            as_naive(grown, child, frozenset(value for _, value in group))
            for child, group in zip(node.children, node.split.groups, strict=True)
        ]
    return made


def naive_leaves(case: Case) -> tuple[bool, list[naive.Node]]:
    """Whether something is left of the tree, and its leaves."""
    others = tuple(item for item in case.asked if not isinstance(item, KAnonymity))
    least = ClassDemands(case.k, others).least_rows
    how = naive_tree.rules(case.options["form"], min_leaf=1, prune=False, rare=1)
    grown = naive_tree.grow(binned(case, least), [(name, False) for name in case.public], TARGET, how)
    root = as_naive(grown, grown.root, frozenset())
    classes = sorted({row[TARGET] for row in case.rows})
    survived = naive.atp(root, classes, *naive_way(case.options["counts"], case.k, others, classes))
    return survived, root.leaves()


@pytest.mark.duckdb
@seeds(small=5, full=25, nightly=100)
def test_random_tables_give_the_leaves_of_the_naive_method(duckdb_engine, make_table, seeds):
    published = refused = 0
    for seed in seeds:
        case = random_case(seed)
        survived, expected = naive_leaves(case)
        fine = survived and all(is_fine(case, leaf.rows) for leaf in expected)
        if not fine:
            with pytest.raises(RequirementBreached):
                case.run(duckdb_engine, make_table)
            refused += 1
            continue
        plan = case.run(duckdb_engine, make_table)[0]
        check_tree(plan.tree)
        groups = defaultdict(set)
        end = follower(plan.tree)
        for row in case.rows:
            groups[end(row)].add(row["id"])
        assert {frozenset(group) for group in groups.values()} == {frozenset(leaf.rows) for leaf in expected}
        assert set(groups) == {leaf.number for leaf in plan.tree.leaves}
        for leaf in plan.tree.leaves:
            told = [case.rows[number][TARGET] for number in groups[leaf.number]]
            assert leaf.counts == tuple(told.count(name) for name in plan.tree.classes)
        assert plan.figures["spans"] == len(groups)
        assert_complete(plan.tree, case)
        published += 1
    if are_many(seeds):
        assert published > 0.4 * len(seeds)
        assert refused > 0.05 * len(seeds)


def assert_complete(tree, case: Case) -> None:
    """Every value leads to a leaf, also one that nobody has; neighbours in a split differ."""
    end = follower(tree)
    strange = {"TEXT": "never seen", "INTEGER": 10**6, "DATE": date(1900, 1, 1)}
    for row in case.rows[:5]:
        for name in case.public:
            assert tree.nodes[end({**row, name: strange[case.columns[name]]})].is_leaf
    for node in tree.nodes:
        if isinstance(node.split, Groups):
            named = [value for group in node.split.groups for value in group]
            assert len(named) == len(set(named))


@pytest.mark.parametrize("seed", [3])
def test_every_engine_gives_the_same_tree(engine, make_table, seed, duckdb_engine):
    case = bins_case(seed, "frequency")
    here = case.run(engine, make_table)[0]
    there = replace(case, table="again").run(duckdb_engine, make_table)[0]
    assert (here.tree, here.figures) == (there.tree, there.figures)
    assert len(here.tree.leaves) > 2


# -- bins ------------------------------------------------------------------------------------------------


def bins_case(seed: int, way: str, rows: int = 160, **options) -> Case:
    """Numbers, floats with NaN and infinities, days; the class leans on all of them."""
    dice = random.Random(seed)
    found = []
    for number in range(rows):
        x = dice.choice([dice.gauss(0, 10), dice.gauss(0, 10), float("nan"), float("inf"), float("-inf"), 0.1])
        age, born = dice.randint(17, 90), FIRST + timedelta(days=dice.randint(0, 9000))
        lean = (age > 40) + (born > date(2010, 1, 1)) + (x > 0)
        found.append(
            {
                "id": number,
                "age": age,
                "x": x,
                "born": born,
                TARGET: "abc"[min(2, lean)] if dice.random() < 0.7 else "b",
            }
        )
    columns = {"id": "INTEGER", "age": "INTEGER", "x": "DOUBLE", "born": "DATE", TARGET: "TEXT"}
    case = Case(columns, found, ["age", "x", "born"], "k = 6", method="atp", table=f"bins_{seed}_{way}")
    case.options = {"binning": way, "bins": 5, **options}
    return case


@pytest.mark.duckdb
@pytest.mark.parametrize("way", ["frequency", "width", "mdl"])
def test_bins_have_enough_rows_and_every_row_its_leaf(duckdb_engine, make_table, way):
    banded = 0
    for seed in range(2):
        case = bins_case(seed, way)
        plan = case.run(duckdb_engine, make_table)[0]
        for node in plan.tree.nodes:
            if isinstance(node.split, Cut | Bands):
                cuts = (node.split.at,) if isinstance(node.split, Cut) else node.split.at
                banded += way == "mdl" or isinstance(node.split, Bands)
                assert len(cuts) <= 8 if way == "mdl" else len(cuts) < 5
        for leaf in plan.tree.leaves:
            here = [row for row in case.rows if follow(plan.tree, row) == leaf.number]
            assert len(here) == leaf.rows >= 6
    assert banded > 0


@pytest.mark.duckdb
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"form": "cart"}, "form of ALGORITHM atp must be id3 or c45"),
        ({"counts": "guess"}, "counts of ALGORITHM atp must be exact or paper"),
        ({"bins": 1}, "bins of ALGORITHM atp must be a whole number from 2"),
        ({"prune": 3}, "prune of ALGORITHM atp must be true or false"),
        ({"binz": 3}, "no option binz: did you mean bins"),
        ({"cuts": "(ages, 30)"}, 'column "ages" does not exist: did you mean age'),
        ({"cuts": "(age, 30, borm, '2000-01-01')"}, 'column "borm" does not exist: did you mean born'),
        ({"cuts": "(30, 40)"}, "cuts of ALGORITHM atp must list columns"),
        ({"cuts": "(age)"}, "cuts of ALGORITHM atp must list columns"),
        ({"cuts": "3"}, "cuts of ALGORITHM atp must list columns"),
        ({"cuts": "(age, 40, 30)"}, 'the thresholds of "age" are not in ascending order'),
        ({"cuts": "(age, 40, born, 30)"}, '"born" is date, and what follows it'),
        ({"cuts": "(age, 'y')"}, '"age" is integer, and what follows it'),
        ({"cuts": "(age, 10, age, 20)"}, "cuts of ALGORITHM atp must list columns"),
    ],
)
def test_options_that_are_wrong_are_told(duckdb_engine, make_table, options, told):
    case = bins_case(0, "width", rows=20)
    case.options = options
    with pytest.raises(PolicyError, match=told):
        case.run(duckdb_engine, make_table)


@pytest.mark.duckdb
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"public": ["age", "x"]}, r'add "born" to QUASI IDENTIFIER, or use kadet'),
        ({"class_is_public": True}, "is a quasi-identifier: use kadet"),
        ({"hierarchies": {"age": [["1", "*"]]}}, 'does not generalize: leave out the HIERARCHY of "age"'),
        ({"require": "k = 2, distinct_l = 2", "options": {"counts": "paper"}}, "but not distinct_l"),
    ],
)
def test_what_it_cannot_keep_is_refused(duckdb_engine, make_table, change, told):
    with pytest.raises(PolicyError, match=told):
        replace(bins_case(0, "width", rows=20), **change).run(duckdb_engine, make_table)


@pytest.mark.duckdb
def test_a_tree_of_which_nothing_is_left_is_told_and_can_be_had(duckdb_engine, make_table):
    rows = [{"id": n, "p": "ab"[n % 2], TARGET: "xy"[n % 2]} for n in range(8)]
    case = Case({"id": "INTEGER", "p": "TEXT", TARGET: "TEXT"}, rows, ["p"], "simple_l = 2", method="atp")
    with pytest.raises(RequirementBreached, match="merged all 2 leaves into one.*allow_root_leaf"):
        case.run(duckdb_engine, make_table)
    case = replace(case, options={"allow_root_leaf": "true"}, table="again")
    assert [leaf.counts for leaf in case.run(duckdb_engine, make_table)[0].tree.nodes] == [(4, 4)]
