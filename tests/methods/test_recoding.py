"""A recoding says of the rows it was made from what was published of them, and of other rows nothing untrue."""

from __future__ import annotations

import json
import random

import kactus_cases
import mondrian_cases
import numpy as np
import pytest
from mondrian_labels import covers

from ppdm_sql.catalog.json_record import DamagedRecordError
from ppdm_sql.cells.aggregate import aggregate
from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import RequirementBreached
from ppdm_sql.methods import recoding
from ppdm_sql.methods.recoding import TREE, RecodedColumn, RecodingNode, RecodingTree, Take, read_recoding
from ppdm_sql.source.hierarchy import build
from ppdm_sql.source.relation import resolve
from ppdm_sql.statements.names import own
from tests.random_cases import arrow_table, domain_with_nan
from tests.sizes import seeds

NEW = own("ppdm_new_rows")


@pytest.fixture(scope="module")
def engine():
    with DuckDBEngine.open(":memory:", threads=1) as engine:
        yield engine


def recode(engine, tree, policy, columns, rows, quasi, trees=None):
    """Per row what the recoding prints of it, by the cells of a table of these rows."""
    with engine.workspace():
        table = engine.work.load("new_rows", arrow_table(columns, rows))
        infos = [ColumnInfo(name, Kind(kind), kind) for name, kind in columns.items()]
        source = resolve(table, infos, policy, ("t",))
        cells = aggregate(engine, source, quasi)
        labels = tree.labels(tree.place(cells, trees or {}))
        decoded = {}
        for cell in range(len(cells)):
            key = tuple(_value(cells[name], int(cells[name].codes[cell])) for name in quasi)
            decoded[key] = tuple(labels[name][cell] for name in quasi)
    return [decoded[tuple(_plain(row[name], columns[name]) for name in quasi)] for row in rows]


def _value(column, code):
    value = None if code == column.null_code else column.values[code]
    return "nan" if value != value else value if value is None else str(value)


def _plain(value, kind):
    if value is not None and kind == "timestamp":
        text = value.isoformat(sep=" ")
        return text.rstrip("0") if value.microsecond else text
    if isinstance(value, float) and value == 0:
        return "0.0"
    return "nan" if value != value else value if value is None else str(value)


def other_rows(case, rng, number=40):
    """Rows with values that the table has, and with some that it does not have."""
    pools = {name: [row[name] for row in case.rows] for name in case.columns}
    rows = []
    for _ in range(number):
        row = {name: rng.choice(pool) for name, pool in pools.items()}
        for name in case.quasi:
            if rng.random() < 0.3:
                row[name] = rng.choice([None, *domain_with_nan(case.columns[name], rng)])
        rows.append(row)
    return rows


# -- mondrian ------------------------------------------------------------------------------------------


@pytest.mark.duckdb
@seeds(small=12, full=80, nightly=500, block=40)
def test_mondrian_prints_of_its_own_rows_what_it_published_and_of_others_what_is_true(engine, seeds):
    for seed in seeds:
        case = mondrian_cases.random_case(seed, skewed=seed % 2 == 0)
        try:
            outcome = mondrian_cases.run(engine, case)
        except RequirementBreached:
            continue
        recoding = read_recoding(json.loads(json.dumps(outcome.plan.recoding.to_json())))
        assert recoding.to_json() == outcome.plan.recoding.to_json()
        check_own_rows(engine, case, outcome, recoding)
        check_other_rows(engine, case, recoding, random.Random(seed))
        check_chain(recoding)


def check_own_rows(engine, case, outcome, recoding):
    """A row prints what it published, unless some were pulled up: that happens along hierarchies and to texts."""
    told = recode(engine, recoding, case.policy, case.columns, case.rows, case.quasi, case.trees)
    by_id = dict(zip([row["id"] for row in case.rows], told, strict=True))
    printed = [(tuple(row[name] for name in case.quasi), by_id[row["id"]]) for row in outcome.rows]
    moved = sum(theirs != mine for theirs, mine in printed)
    if not any(name in case.hierarchies or case.columns[name] in ("text", "boolean") for name in case.quasi):
        assert moved == 0
    assert moved <= case.k * len(recoding.nodes)


def check_other_rows(engine, case, recoding, rng):
    rows = other_rows(case, rng)
    trees = case.trees
    stars = recoding.columns[0].label if case.quasi[0] not in trees else None
    for row, labels in zip(
        rows, recode(engine, recoding, case.policy, case.columns, rows, case.quasi, trees), strict=True
    ):
        for name, label in zip(case.quasi, labels, strict=True):
            if set(label or "") == {"*"}:
                continue
            levels = None
            if name in trees:
                known = row[name] is not None and str(row[name]) in trees[name].order
                levels = trees[name].levels_of(row[name]) if known else ()
            assert covers(label, row[name], stars or "*", levels, case.orders.get(name)), (label, row[name])


def check_chain(recoding):
    """Every node has a coarser one that loses at least as much, up to the root."""
    coarser, losses = recoding.coarser, recoding.losses
    assert coarser[0] == -1
    for node in range(1, recoding.size):
        assert 0 <= coarser[node] < node
        assert losses[node] <= losses[coarser[node]] + 1e-12


@pytest.mark.duckdb
@seeds(small=12, full=60, nightly=300, block=40)
def test_a_node_carries_no_value_that_few_people_have(engine, seeds):
    for seed in seeds:
        case = mondrian_cases.random_case(seed, skewed=seed % 2 == 0)
        try:
            outcome = mondrian_cases.run(engine, case)
        except RequirementBreached:
            continue
        table = case.naive()
        for node in outcome.plan.recoding.nodes:
            name = case.quasi[node.column]
            held = {str(value): count for value, count in table.held[name].items()}
            for text in (*node.takes.values, *([node.takes.word] if node.takes.level == 0 else [])):
                assert held.get(text, case.k) >= case.k


# -- kactus --------------------------------------------------------------------------------------------


@pytest.mark.duckdb
@seeds(small=8, full=60, nightly=300, block=40)
def test_kactus_prints_the_values_on_the_way_of_a_row(engine, seeds):
    for seed in seeds:
        case = kactus_cases.random_case(seed, method=("kactus", "kactus2")[seed % 2])
        try:
            ran = kactus_cases.run(engine, case)
        except RequirementBreached:
            continue
        recoding = read_recoding(json.loads(json.dumps(ran.plan.recoding.to_json())))
        marker = kactus_cases.marker_of(case)
        rows = [*case.rows, *other_rows(case, random.Random(seed))]
        for row, labels in zip(
            rows, recode(engine, recoding, case.policy, case.columns, rows, case.quasi), strict=True
        ):
            for name, label in zip(case.quasi, labels, strict=True):
                assert label == marker or kactus_cases.means(case, name, label, row[name]), (label, row[name])
        check_chain(recoding)


# -- by hand -------------------------------------------------------------------------------------------


def small_tree() -> RecodingTree:
    columns = (RecodedColumn("age", 60, "*"), RecodedColumn("ward", 5, "*"))
    nodes = (
        RecodingNode(0, 0, Take(ranged=True, high="30"), "< 30", 20),
        RecodingNode(0, 0, Take(ranged=True, low="30"), ">= 30", 40),
        RecodingNode(2, 1, Take(values=("A", "B")), "{A, B}", 2),
        RecodingNode(2, 1, Take(rest=True), "{other}", 5),
        RecodingNode(3, 1, Take(values=("A",)), "A", 1),
    )
    return RecodingTree(TREE, columns, nodes)


@pytest.mark.duckdb
def test_values_that_nobody_had_go_to_the_outer_interval_and_to_the_rest(engine):
    rows = [
        {"age": 29, "ward": "A"},
        {"age": -5, "ward": "new"},
        {"age": 999, "ward": "A"},
        {"age": 30, "ward": "B"},
        {"age": 31, "ward": "new"},
        {"age": 31, "ward": None},
        {"age": None, "ward": "A"},
    ]
    columns = {"age": "integer", "ward": "text"}
    policy = mondrian_cases.Case(columns, rows, ["age", "ward"], ()).policy
    assert recode(engine, small_tree(), policy, columns, rows, ["age", "ward"]) == [
        ("< 30", "*"),
        ("< 30", "*"),
        (">= 30", "A"),
        (">= 30", "{A, B}"),
        (">= 30", "{other}"),
        (">= 30", "*"),
        ("*", "*"),
    ]


def random_take(rng, column):
    if rng.random() < 0.15:
        return Take(rest=True)
    if column == 1:
        return Take(values=tuple(rng.sample("ABCDE", rng.randint(1, 3))), missing=rng.random() < 0.2)
    low, high = sorted(rng.sample(range(-2, 12), 2))
    bounds = [None if rng.random() < 0.3 else str(one) for one in (low, high)]
    return Take(True, *bounds, values=tuple(str(rng.randrange(12)) for _ in range(rng.randrange(2))))


def random_tree(rng):
    """Up to forty nodes; siblings may overlap, and then the last one that names the value takes it."""
    nodes, asked = [], {}
    for number in range(1, rng.randint(2, 40)):
        parent = rng.randrange(max(number - 8, 0), number)
        column = asked.setdefault(parent, rng.randrange(2))
        nodes.append(RecodingNode(parent, column, random_take(rng, column), f"node {number}", 2))
    columns = (RecodedColumn("age", 12, "*"), RecodedColumn("ward", 5, "*"))
    return RecodingTree(TREE, columns, tuple(nodes))


def walk(tree, row):
    """The node that a row reaches, by asking one child after the other."""
    here = 0
    while True:
        children = [number for number, node in enumerate(tree.nodes, start=1) if node.parent == here]
        named = [one for one in children if takes(tree.nodes[one - 1], row)]
        rest = [one for one in children if tree.nodes[one - 1].takes.rest and value_of(tree, one, row) is not None]
        if not named and not rest:
            return here
        here = max(named or rest)


def value_of(tree, number, row):
    return row[tree.columns[tree.nodes[number - 1].column].name]


def takes(node, row):
    take, value = node.takes, row["age" if node.column == 0 else "ward"]
    if value is None:
        return take.missing
    inside = (
        take.ranged and (take.low is None or value >= int(take.low)) and (take.high is None or value < int(take.high))
    )
    return inside or str(value) in take.values


@pytest.mark.duckdb
@seeds(small=15, full=150, nightly=2_000)
def test_all_cells_together_reach_the_nodes_that_each_row_reaches_alone(engine, seeds, monkeypatch):
    columns = {"age": "integer", "ward": "text"}
    for seed in seeds:
        rng = random.Random(seed)
        monkeypatch.setattr(recoding, "_MOST_ASKED", rng.choice([1, 3, 1 << 22]))  # children that are asked at once
        tree = random_tree(rng)
        ages, wards = [None, *range(-4, 14)], [None, *"ABCDEF"]
        rows = [{"age": rng.choice(ages), "ward": rng.choice(wards)} for _ in range(60)]
        policy = mondrian_cases.Case(columns, rows, ["age", "ward"], ()).policy
        printed = tree.labels(np.array([walk(tree, row) for row in rows]))
        expected = list(zip(printed["age"], printed["ward"], strict=True))
        assert recode(engine, tree, policy, columns, rows, ["age", "ward"]) == expected, seed


@pytest.mark.duckdb
def test_leaves_that_were_not_there_are_found_by_tonights_hierarchy(engine):
    columns = (RecodedColumn("ward", 3, "*", {"A1": ("A1", "A", "*"), "B1": ("B1", "B", "*")}),)
    tree = RecodingTree(TREE, columns, (RecodingNode(0, 0, Take(level=1, word="A"), "A", 1),))
    rows = [{"ward": ward} for ward in ("A1", "A2", "B1", "C1", None)]
    policy = mondrian_cases.Case({"ward": "text"}, rows, ["ward"], ()).policy
    tonight = build("ward", [["A1", "A", "*"], ["A2", "A", "*"], ["B1", "B", "*"]])
    found = recode(engine, tree, policy, {"ward": "text"}, rows, ["ward"], {"ward": tonight})
    assert found == [("A",), ("A",), ("*",), ("*",), ("*",)]
    assert tree.without_paths().columns[0].paths is None


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda told: told.pop("nodes"), "the record has no nodes"),
        (lambda told: told.update(form="forest"), "form is not a known one"),
        (lambda told: told["nodes"][2].update(parent=3), r"nodes\[2\].parent is no earlier node"),
        (lambda told: told["nodes"][2].update(parent=True), r"nodes\[2\].parent is not a whole number"),
        (lambda told: told["nodes"][0].update(column=2), r"nodes\[0\].column is no column"),
        (lambda told: told["nodes"][1].update(column=1), r"nodes\[1\].column is another one than that of its siblings"),
        (lambda told: told["nodes"][0]["takes"].update(level=1), r"nodes\[0\].takes has a level without a word"),
        (lambda told: told.update(unprinted=[9]), "unprinted has a number that is no node"),
    ],
)
def test_a_damaged_recoding_is_refused(damage, told):
    written = json.loads(json.dumps(small_tree().to_json()))
    assert read_recoding(written).to_json() == small_tree().to_json()
    damage(written)
    with pytest.raises(DamagedRecordError, match=told):
        read_recoding(written)


def test_a_packed_recoding_says_the_same():
    written = json.loads(json.dumps(small_tree().to_packed_json()))
    assert isinstance(written["nodes"]["parent"], str)
    found = read_recoding(written)
    assert found.to_json() == small_tree().to_json()
    assert found.to_packed_json() == small_tree().to_packed_json()
    assert found.losses.tolist() == small_tree().losses.tolist()
    assert found.nodes[1:3] == list(small_tree().nodes[1:3])


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda told: told.pop("nodes"), "nodes are not those of a recoding"),
        (lambda told: told["nodes"].pop("takes"), "nodes have no takes or labels"),
        (lambda told: told["nodes"].update(column="0 1 1 1 1"), r"nodes\[1\].column is another"),
        (lambda told: told["nodes"].update(parent="0 0 2 2"), "arrays of several lengths"),
        (lambda told: told["nodes"].update(parent="0 0 2 2 9"), r"nodes\[4\].parent is no earlier node"),
        (lambda told: told["nodes"].update(take="0 1 2 3 99"), "nodes.take has a number"),
        (lambda told: told["nodes"].update(label="0 1 2 3 -1"), "nodes.label has a number"),
        (lambda told: told["nodes"].update(open="a"), "no whole number"),
        (lambda told: told["nodes"].update(labels=[1]), "no text"),
        (lambda told: told.update(unprinted=[9]), "unprinted has a number that is no node"),
    ],
)
def test_a_damaged_packed_recoding_is_refused(damage, told):
    written = json.loads(json.dumps(small_tree().to_packed_json()))
    damage(written)
    with pytest.raises(DamagedRecordError, match=told):
        read_recoding(written)
