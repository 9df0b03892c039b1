"""The tree itself: what is built from lines has the shape the algorithms rely on."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ppdm_sql.engines.base import Kind
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.policy import HierarchyFile
from ppdm_sql.source.hierarchy import Hierarchy, Node, build, load_hierarchy
from ppdm_sql.statements.names import own
from tests.sizes import examples

WARDS = [
    ["Heart", "Internal", "Medical", "*"],
    ["Lung", "Internal", "Medical", "*"],
    ["Bone", "Surgery", "Surgery", "*"],  # less deep: Surgery comes twice
    ["Trauma", "Surgery", "Surgery", "*"],
    ["Birth", "Birth", "Birth", "*"],
    ["Mind", "Nerves", "Medical", "*"],
]


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDBEngine]:
    with duckdb.connect() as connection:
        yield DuckDBEngine(connection)


@pytest.fixture
def wards() -> Hierarchy:
    return build("ward", WARDS)


# -- by hand -------------------------------------------------------------------------------------------


def test_leaves_stand_in_depth_first_order(wards: Hierarchy) -> None:
    assert wards.order == ("Birth", "Bone", "Trauma", "Heart", "Lung", "Mind")
    assert wards.nodes(1) == [("Birth", 0, 1), ("Surgery", 1, 3), ("Internal", 3, 5), ("Nerves", 5, 6)]
    assert wards.nodes(2) == [("Birth", 0, 1), ("Surgery", 1, 3), ("Medical", 3, 6)]
    assert wards.nodes(3) == [("*", 0, 6)]
    assert wards.height == 3


def test_the_order_of_the_lines_does_not_matter(wards: Hierarchy) -> None:
    assert build("ward", WARDS[::-1]) == wards
    assert build("ward", WARDS[3:] + WARDS[:3]) == wards


def test_numbers_are_ordered_by_size() -> None:
    tree = build("n", [["10", "high", "*"], ["9", "high", "*"], ["-1.5", "low", "*"], ["1e3", "high", "*"]])
    assert tree.order == ("-1.5", "9", "10", "1e3")


def test_children_skip_levels_that_do_not_branch(wards: Hierarchy) -> None:
    assert wards.children(0, 6) == [(0, 1), (1, 3), (3, 6)]
    assert wards.children(1, 3) == [(1, 2), (2, 3)]  # Surgery on level 2 and on level 1 is one node
    assert wards.children(3, 6) == [(3, 5), (5, 6)]
    assert wards.children(5, 6) == []  # Nerves covers Mind alone


def test_a_range_has_its_most_specific_label(wards: Hierarchy) -> None:
    assert wards.label(5, 6) == "Mind"
    assert wards.label(1, 3) == "Surgery"
    assert wards.label(0, 6) == "*"
    europe = build("land", [["FR", "Europe", "*"], ["IT", "Europe", "*"]])
    assert europe.label(0, 2) == "Europe"
    assert europe.children(0, 2) == [(0, 1), (1, 2)]


def test_covering_is_a_node(wards: Hierarchy) -> None:
    assert wards.covering(3, 4) == Node("Heart", 3, 4)
    assert wards.covering(4, 6) == Node("Medical", 3, 6)
    assert wards.covering(0, 2) == Node("*", 0, 6)


@pytest.mark.parametrize("range_", [(0, 0), (3, 2), (-1, 2), (0, 7)])
def test_what_is_no_range_is_refused(wards: Hierarchy, range_: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="no range"):
        wards.covering(*range_)


@pytest.mark.parametrize("range_", [(0, 2), (2, 4), (0, 7), (-1, 0), (6, 7)])
def test_what_is_no_node_has_neither_label_nor_children(wards: Hierarchy, range_: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="no node"):
        wards.label(*range_)
    with pytest.raises(ValueError, match="no node"):
        wards.children(*range_)


def test_a_value_finds_its_labels_and_its_position(wards: Hierarchy) -> None:
    assert wards.levels_of("Mind") == ("Mind", "Nerves", "Medical", "*")
    assert wards.positions(["Mind", "Birth"]).tolist() == [5, 0]
    assert wards.codes(2).tolist() == [0, 1, 1, 2, 2, 2]
    with pytest.raises(PolicyError, match=r'column "ward": 2 values have no leaf') as refused:
        wards.positions(["Mind", "CANARY", "CANARY2"])
    assert "CANARY" not in str(refused.value)


def test_leaves_that_do_not_occur_can_be_left_out(wards: Hierarchy) -> None:
    present = wards.only(["Lung", "Mind", "Bone"])
    assert present.order == ("Bone", "Lung", "Mind")
    assert present.nodes(2) == [("Surgery", 0, 1), ("Medical", 1, 3)]
    assert wards.only(wards.order) == wards


def test_a_column_of_nulls_has_no_leaf_but_a_height(wards: Hierarchy) -> None:
    nothing = wards.only([])
    assert (nothing.order, nothing.height, nothing.nodes(3)) == ((), 3, [])
    assert nothing.level_table().num_rows == 0
    assert nothing.positions([]).tolist() == []


def test_raw_values_are_not_in_the_repr(wards: Hierarchy) -> None:
    assert repr(wards) == "Hierarchy(column='ward', leaves=6, height=3)"


def test_the_level_table_is_an_engine_table(wards: Hierarchy, engine: DuckDBEngine) -> None:
    table = wards.level_table()
    assert table.column_names == ["ppdm_level_0", "ppdm_level_1", "ppdm_level_2", "ppdm_level_3"]
    assert sorted(zip(*table.to_pydict().values(), strict=True)) == sorted(map(tuple, WARDS))
    engine.load(own("ppdm_test_levels"), table)
    assert [info.kind for info in engine.columns(own("ppdm_test_levels"))] == [Kind.TEXT] * 4


def test_lines_that_are_no_tree_are_not_built() -> None:
    with pytest.raises(ValueError, match="not a tree"):
        build("x", [["a", "g", "*"], ["a", "g", "*"]])
    with pytest.raises(ValueError, match="not a tree"):
        build("x", [["a", "g", "p", "*"], ["b", "h", "q", "*"], ["c", "g", "q", "*"]])


# -- at random -----------------------------------------------------------------------------------------

MOST = 12
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=5).filter(
    lambda text: text.strip() and text != "*"
)


@st.composite
def trees(draw: st.DrawFn) -> list[list[str]]:
    """Valid lines in any order: a node that joins nothing may repeat its label, and no level is idle."""
    below = draw(st.lists(words, min_size=1, max_size=MOST, unique=True))
    columns, nodes = [below], list(range(len(below)))  # nodes: per leaf, the number of its node on this level
    for level in range(1, draw(st.integers(1, 4))):
        parents = draw(st.lists(st.integers(0, 4), min_size=MOST, max_size=MOST))
        above = [parents[node] for node in nodes]
        if len(set(above)) == len(set(nodes)):
            continue
        labels = {}
        for parent in dict.fromkeys(above):
            inside = {label for label, node in zip(columns[-1], above, strict=True) if node == parent}
            repeats = len(inside) == 1 and draw(st.booleans())
            labels[parent] = inside.pop() if repeats else f"level {level}, {parent}"
        columns.append([labels[parent] for parent in above])
        nodes = above
    return draw(st.permutations([[*cells, "*"] for cells in zip(*columns, strict=True)]))


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(trees())
def test_a_written_tree_is_read_back(tmp_path: Path, engine: DuckDBEngine, lines: list[list[str]]) -> None:
    with (tmp_path / "tree.csv").open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file, delimiter=";").writerows(lines)
    values = [line[0] for line in lines]
    tree = load_hierarchy(
        HierarchyFile("tree.csv"), column="c", kind=Kind.TEXT, values=values, engine=engine, folder=tmp_path
    )
    assert sorted(tree.order) == sorted(values)
    assert [tree.levels_of(line[0]) for line in lines] == [tuple(line) for line in lines]


@settings(max_examples=examples(60), deadline=None)
@given(trees())
def test_every_node_is_one_range(lines: list[list[str]]) -> None:
    tree = build("c", lines)
    labels = {line[0]: line for line in lines}
    for level in range(tree.height + 1):
        nodes = tree.nodes(level)
        assert [node.start for node in nodes] == [0, *(node.stop for node in nodes[:-1])]
        assert nodes[-1].stop == len(lines)
        assert len({node.label for node in nodes}) == len(nodes)
        for label, start, stop in nodes:
            assert {labels[leaf][level] for leaf in tree.order[start:stop]} == {label}
            assert {tree.node_at(level, position) for position in range(start, stop)} == {(label, start, stop)}


@settings(max_examples=examples(40), deadline=None)
@given(trees())
def test_covering_is_the_smallest_node(lines: list[list[str]]) -> None:
    tree = build("c", lines)
    # by definition: the smallest set of leaves under one label, of equal ones that of the lowest level
    sets = [
        (len(inside), level, label, inside)
        for level in range(len(lines[0]))
        for label in {line[level] for line in lines}
        for inside in [{line[0] for line in lines if line[level] == label}]
    ]
    for start in range(len(lines)):
        for stop in range(start + 1, len(lines) + 1):
            wanted = set(tree.order[start:stop])
            size, _, label, _ = min(
                ((s, lv, lb, i) for s, lv, lb, i in sets if wanted <= i), key=lambda found: found[:2]
            )
            covering = tree.covering(start, stop)
            assert (covering.label, covering.stop - covering.start) == (label, size)


@settings(max_examples=examples(40), deadline=None)
@given(trees())
def test_children_split_a_node_without_rest(lines: list[list[str]]) -> None:
    tree = build("c", lines)
    open_, leaves = [(0, len(lines))], []
    while open_:
        start, stop = open_.pop()
        children = tree.children(start, stop)
        assert len(children) != 1
        if not children:
            leaves.append((start, stop))
            continue
        assert [child[0] for child in children] == [start, *(child[1] for child in children[:-1])]
        assert children[-1][1] == stop
        open_ += children
    assert sorted(leaves) == [(position, position + 1) for position in range(len(lines))]


# -- size ----------------------------------------------------------------------------------------------


def test_ten_thousand_leaves_load(tmp_path: Path, engine: DuckDBEngine) -> None:
    lines = [[str(n), *(f"L{level}:{n // 5**level}" for level in range(1, 6)), "*"] for n in range(10_000)]
    (tmp_path / "big.csv").write_text("\n".join(map(";".join, lines)), encoding="utf-8")
    tree = load_hierarchy(
        HierarchyFile("big.csv"), column="c", kind=Kind.INTEGER, values=range(10_000), engine=engine, folder=tmp_path
    )
    covering = [tree.covering(start, start + 7).label for start in range(0, 9_000, 9)]
    assert tree.order == tuple(map(str, range(10_000)))
    assert len(covering) == 1_000
