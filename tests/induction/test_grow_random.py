"""Trees grown from counts against trees grown from rows, node for node, on random tables."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest
from oracles.naive_tree import Cut, Grower, Grown, Node, NothingLeft, rules
from tree_cases import Case, check_same, random_case

from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import PolicyError
from tests.sizes import seeds

# Tables on which the rule book, read in another way, gives another tree; among the first ones there is hardly any.
TELLING = {
    "the cuts that c45 corrects for are all, not only those that leave enough rows": (416, 454, 929),
    "c45 corrects for cuts, not for the sides of NULL": (441, 526),
    "c45 asks more rows of a cut": (2278,),
    "of equal cuts NULL goes to the right": (640, 844, 1445),
    "of equal subsets the first list, not the shortest, not the longest": (341, 901, 1037, 214, 637),
    "a split too wide for max_leaves ends the growth": (178, 655, 2168),
    "up to ten categories all subsets are tried": (477, 479),
}


@pytest.fixture(scope="module")
def small_engine():
    """One thread: on sixty rows a second one only waits."""
    with DuckDBEngine.open(":memory:", threads=1) as engine:
        yield engine


def check(engine, make_table, case: Case) -> int:
    """Grows the tree both ways; how many nodes were alike."""
    try:
        grown = case.naive()
    except NothingLeft:
        with pytest.raises(PolicyError):
            case.induced(engine, make_table)
        return 0
    induced = case.induced(engine, make_table)
    assert (induced.rows, induced.left_out) == (len(grown.table.rows), grown.table.left_out)
    check_same(induced.tree, grown, case)
    return len(grown.nodes())


@pytest.mark.duckdb
@seeds(small=15, full=60, nightly=2000, block=50)
def test_random_tables(small_engine, make_table, seeds):
    """What is checked is not only single leaves."""
    nodes = []
    for seed in seeds:
        try:
            nodes.append(check(small_engine, make_table, random_case(seed)))
        except Exception as error:
            error.add_note(f"random_case({seed})")
            raise
    assert sum(number > 1 for number in nodes) > len(seeds) // 3


@pytest.mark.duckdb
@pytest.mark.parametrize("rule", TELLING)
def test_telling_tables(small_engine, make_table, rule):
    for seed in TELLING[rule]:
        assert check(small_engine, make_table, random_case(seed)) > 0


@pytest.mark.duckdb
def test_c45_asks_a_share_of_the_rows_by_the_classes_of_the_table(small_engine, make_table):
    """The class c is in the last rows only: below the root there are two classes, and still three count."""
    for seed in range(3):
        rng = random.Random(seed)
        rows = [(x, "c" if x >= 100 else rng.choice("ab")) for x in range(120)]
        options = {"min_leaf": 1, "mdl": False, "prune": False, "max_depth": 4}
        assert check(small_engine, make_table, Case({"x": "integer", "y": "text"}, rows, "c45", options, {})) > 5


@pytest.mark.duckdb
@pytest.mark.xfail(strict=True, reason="the grid of the response is as coarse as its greatest value asks for")
def test_one_great_response_does_not_flatten_the_others(small_engine, make_table):
    """Without the one row the rest is a staircase, which the node that holds the rest has to find."""
    rows = [(x, x // 10 * 3) for x in range(40)] + [(1000, 10**9)]
    columns, options = {"x": "integer", "y": "integer"}, {"min_leaf": 1, "prune": False}
    assert check(small_engine, make_table, Case(columns, rows, "regression", options, {})) == 9


@pytest.mark.postgres
@seeds(small=2, full=8, nightly=100)
def test_random_tables_on_postgres(postgres_engine, make_table, seeds):
    for seed in seeds:
        try:
            check(postgres_engine, make_table, random_case(seed))
        except Exception as error:
            error.add_note(f"random_case({seed})")
            raise


@pytest.mark.duckdb
def test_the_order_of_the_rows_makes_no_difference(small_engine, make_table):
    for seed in (1, 8, 20, 33, 47):
        case = random_case(seed)
        first = case.induced(small_engine, make_table)
        case.rows.reverse()
        assert case.induced(small_engine, make_table).tree == first.tree


def test_the_cases_meet_every_rule():
    """The tables would test nothing if some kind of split, some pruning or some tie never came up."""
    met = Counter()
    for seed in [*range(100), *itertools.chain.from_iterable(TELLING.values())]:
        met.update(traits(random_case(seed)))
    wanted = {
        *(f"{inducer} splits" for inducer in ("id3", "c45", "cart", "regression")),
        *("cut", "cut nulls 0", "cut nulls 1", "multiway", "subset", "others", "NULL in a group", "left out"),
        *("pruned c45", "pruned cart", "pruned regression", "full", "depth 3", "nothing left"),
        *("equal splits", "equal attributes", "orders of three classes", "all subsets"),
    }
    assert not {trait: met[trait] for trait in wanted if met[trait] < 2}


def traits(case: Case) -> set[str]:
    """What a case has in it."""
    try:
        grown = case.naive()
    except NothingLeft:
        return {"nothing left"}
    nodes = grown.nodes()
    found = {"left out"} if grown.table.left_out else set()
    found |= {f"{case.inducer} splits"} if len(nodes) > 1 else set()
    found |= {f"depth {node.depth}" for node in nodes}
    found |= {"full"} if len(grown.root.leaves()) == case.options.get("max_leaves") else set()
    for node in nodes:
        if node.split is not None:
            found |= traits_of_split(case, grown, node)
    unpruned = Case(case.columns, case.rows, case.inducer, {**case.options, "prune": False}, case.ordered)
    if case.inducer != "id3" and len(unpruned.naive().nodes()) > len(nodes):
        found.add(f"pruned {case.inducer}")
    return found


def traits_of_split(case: Case, grown: Grown, node: Node) -> set[str]:
    found, split = set(), node.split
    if isinstance(split, Cut):
        found |= {"cut", f"cut nulls {split.nulls}"}
    else:
        found.add("multiway" if case.inducer in ("id3", "c45") else "subset")
        found |= {"others"} if split.others is not None else set()
        found |= {"NULL in a group"} if any(None in group for group in split.named) else set()
        if case.inducer == "cart" and len(grown.table.classes) > 2:
            found.add("all subsets" if sum(map(len, split.groups)) <= 10 else "orders of three classes")
    if case.inducer != "c45":
        grower = Grower(grown.table, rules(case.inducer, min_leaf=case.options.get("min_leaf", 1)))
        equal = {other.attribute for other, _ in grower.by_gain(node.rows, range(len(case.attributes)))}
        found |= {"equal attributes"} if len(equal) > 1 else set()
        found |= {"equal splits"} if len(grower.by_gain(node.rows, [split.attribute])) > 1 else set()
    return found
