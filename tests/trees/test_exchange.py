"""The exchange file: what goes out comes back, and what is wrong is refused in one sentence."""

from __future__ import annotations

import copy
import json
import math
import random
from decimal import Decimal
from pathlib import Path

import hand
import pytest

from ppdm_sql.errors import PolicyError
from ppdm_sql.trees import exchange
from ppdm_sql.trees.exchange import Document, read, write
from ppdm_sql.trees.picture import as_svg
from ppdm_sql.trees.show import as_text
from ppdm_sql.trees.sound import check_tree
from ppdm_sql.trees.tree import Attribute, Groups, Kind, Node, Tree
from ppdm_sql.trees.tree_json import read_tree, tree_from_dict, tree_text, tree_to_dict

SCHEMA = json.loads((Path(exchange.__file__).parent / "model.schema.json").read_text(encoding="utf-8"))


def flat(tree):
    """NaN equals nothing, so trees that may name it are compared by how they are written."""
    return repr(tree)


@pytest.mark.parametrize("seed", range(8))
def test_what_goes_out_comes_back(seed):
    tree = hand.a_tree(seed, nodes=60, depth=9, regression=seed % 3 == 2)
    again, name = read_tree(tree_text(tree, "ill “or” not"))
    assert flat(again) == flat(tree)
    assert name == "ill “or” not"
    assert read_tree(tree_text(tree).encode())[1] is None


def test_values_come_back_exactly_and_with_their_type():
    for kind, values in (
        (Kind.TEXT, ("", "a", "é", "🦆", "\u202e", "\n")),
        (Kind.INTEGER, (-(2**63), 2**53 + 1, 10**30)),
        (Kind.DECIMAL, (Decimal("1.50"), Decimal("-1E+2"), Decimal("0." + "3" * 40))),
        (Kind.FLOAT, (0.1, -0.5, math.inf, 5e-324, 1e308)),
        (Kind.BOOLEAN, (False, True)),
        (Kind.DATE, ("2024-05-01", "0044-03-15 (BC)")),
    ):
        attribute = Attribute("a", kind, False)
        leaves = tuple(Node(child + 1, 0, 1, (1,)) for child in range(len(values)))
        root = Node(
            0, None, 0, (len(values),), Groups(0, tuple((value,) for value in values)), tuple(range(1, len(values) + 1))
        )
        tree = Tree((attribute,), hand.TARGET, ("x",), (root, *leaves))
        again = read_tree(tree_text(tree))[0]
        assert again == tree
        found = [value for group in again.nodes[0].split.groups for value in group]
        assert [(type(value), str(value)) for value in found] == [(type(value), str(value)) for value in values]


def test_two_files_can_be_compared_line_by_line():
    lines = tree_text(hand.a_tree(3, nodes=40)).splitlines()
    assert sum(line.lstrip().startswith('{"number"') for line in lines) == len(hand.a_tree(3, nodes=40).nodes)


def test_other_kinds_pass_with_their_own_part():
    assert read(write("naive_bayes", {"classes": [1, 2]}, "b")) == Document("naive_bayes", {"classes": [1, 2]}, "b")
    with pytest.raises(PolicyError, match="expected a tree, the file contains rules"):
        read_tree(write("rules", {}))
    with pytest.raises(ValueError, match="no kind of model"):
        write("forest", {})


# -- hostile text ----------------------------------------------------------------------------------------------------

TREE = hand.a_tree(5, nodes=12, depth=4)
HEAD = '{"format": "ppdm-model", "version": 1, "kind": "rules", "model": '


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("{", "not JSON: line 1"),
        (b"\xff\xfe{}", "not UTF-8"),
        ("[]", "not a model file"),
        ('{"format": "other"}', "not a model file"),
        ('{"format": "ppdm-model", "version": 3}', "version that this ppdm_sql does not know"),
        ('{"format": "ppdm-model", "version": 2.0}', "version that this ppdm_sql does not know"),
        ('{"format": "ppdm-model", "version": 2}', "has no kind"),
        ('{"format": "ppdm-model", "version": true}', "version that this ppdm_sql does not know"),
        ('{"format": "ppdm-model"}', "version that this ppdm_sql does not know"),
        ('{"format": "ppdm-model", "version": 1}', "has no kind"),
        ('{"format": "ppdm-model", "version": 1, "version": 1}', "key twice"),
        ('{"format": "ppdm-model", "version": 1, "kind": "forest", "model": {}}', "kind must be one of"),
        ('{"format": "ppdm-model", "version": 1, "kind": "tree", "model": {}, "x": 1}', "does not know"),
        ('{"format": "ppdm-model", "version": 1, "kind": "tree", "model": []}', "model must be an object"),
        ('{"format": "ppdm-model", "version": 1, "kind": "tree", "name": "", "model": {}}', "1 to 200 characters"),
        ('{"format": "ppdm-model", "version": 1, "kind": "tree", "name": "a\\u0000", "model": {}}', "NUL"),
        ('{"format": "ppdm-model", "version": 1, "kind": "tree", "name": "\\ud800", "model": {}}', "not valid Unicode"),
        (HEAD + '{"a": NaN}}', "NaN and Infinity"),
        (HEAD + '{"a": -Infinity}}', "NaN and Infinity"),
        (HEAD + '{"a": ' + "9" * 5000 + "}}", "more than 20 digits"),
        (HEAD + '{"a": ' + "[" * 100 + "]" * 100 + "}}", "nested too deeply"),
        (HEAD + '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}}", "nested too deeply"),
        (HEAD + '{"a": ' * 100_000, "nested too deeply|not JSON"),
    ],
)  # fmt: skip
def test_text_that_is_no_model_is_refused(text, message):
    with pytest.raises(PolicyError, match=message) as refused:
        read(text)
    assert "\n" not in str(refused.value)


def test_size_and_number_of_nodes_have_limits(monkeypatch):
    with pytest.raises(PolicyError, match="1 to 100,000 nodes"):
        tree_from_dict(tree_to_dict(TREE) | {"nodes": [0] * 10**6})
    monkeypatch.setattr(exchange, "MOST_BYTES", 1024 * 1024)
    with pytest.raises(PolicyError, match="larger than 1 MB"):
        read(" " * (1024 * 1024 + 1))


# -- hostile trees ---------------------------------------------------------------------------------------------------


def a_cut_tree() -> dict:
    """Nodes 0 (cut of age) -> 1, 2; node 2 groups word -> 3, 4."""
    return {
        "inducer": "c45",
        "options": {"rare": 5},
        "target": {"name": "ill", "kind": "text", "ordered": False},
        "classes": ["no", "yes"],
        "attributes": [
            {"name": "age", "kind": "integer", "ordered": True},
            {"name": "word", "kind": "text", "ordered": False},
            {"name": "born", "kind": "date", "ordered": True},
            {"name": "paid", "kind": "decimal", "ordered": False, "scale": 2},
        ],
        "nodes": [
            {"number": 0, "parent": None, "depth": 0, "counts": [3, 4], "split": {"cut": 0, "at": {"decimal": "30.5"}, "nulls": None}, "children": [1, 2], "gain": 0.5},
            {"number": 1, "parent": 0, "depth": 1, "counts": [3, 0]},
            {"number": 2, "parent": 0, "depth": 1, "counts": [0, 4], "split": {"group": 1, "groups": [["a"], ["b", None]], "others": 0}, "children": [3, 4]},
            {"number": 3, "parent": 2, "depth": 2, "counts": [0, 1]},
            {"number": 4, "parent": 2, "depth": 2, "counts": [0, 3]},
        ],
    }  # fmt: skip


def changed(path: str, value: object) -> dict:
    """The tree with one place changed; 'nodes.2.split' style, value ... removes it."""
    model = a_cut_tree()
    *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    place = model
    for step in steps:
        place = place[step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return model


WRONG = [
    ("nodes.0.children", [0, 2], "node 0 has a child that does not exist, or that comes before it"),  # a cycle
    ("nodes.0.children", [1, 1], "not among the children|two branches"),
    ("nodes.2.children", [3, 3], "not among the children|two branches"),
    ("nodes.2.children", [1, 4], "a child that does not exist, or that comes before"),
    ("nodes.2.children", [3, 99], "a child that does not exist"),
    ("nodes.2.children", [3, 4, 4], "two branches|number of children"),
    ("nodes.2.children", [], "not among the children"),
    ("nodes.2.children", ..., "both a split and children"),
    ("nodes.2.split", ..., "both a split and children"),
    ("nodes.3.parent", 1, "not among the children"),
    ("nodes.3.parent", 4, "not among the children"),
    ("nodes.3.parent", None, "must have no parent"),
    ("nodes.0.parent", 0, "must have no parent"),
    ("nodes.3.parent", -1, "between 0 and"),
    ("nodes.3.depth", 1, "one level below"),
    ("nodes.3.number", 4, "is not at its number"),
    ("nodes.1.counts", [-1, 1], "between 0 and"),
    ("nodes.1.counts", [2, 0], "do not add up"),
    ("nodes.1.counts", [3], "2 counts"),
    ("nodes.1.counts", [3.0, 0], "whole number"),
    ("nodes.1.counts", [True, 0], "whole number"),
    ("nodes.1.counts", "30", "must be a list"),
    ("nodes.1.counts", [2**64, 0], "between 0 and"),
    ("nodes.1.counts", [2**63 - 1, 5], "more rows than can be counted"),
    ("nodes.1.extra", 1, "does not know"),
    ("nodes.1", [], "must be an object"),
    ("nodes.1.moments", {"rows": 3, "mean": "1", "variance": 0}, "only those, have a mean"),
    ("nodes.0.gain", "high", "must be a number"),
    ("nodes.0.gain", 1e400, "must be a number"),
    ("nodes.0.split.cut", 9, "attribute that does not exist"),
    ("nodes.0.split.cut", 1, "has thresholds for an attribute that has no order"),
    ("nodes.0.split.cut", 2, "does not fit its attribute"),
    ("nodes.0.split.cut", "age", "whole number"),
    ("nodes.0.split.nulls", 2, "a branch that does not exist"),
    ("nodes.0.split.at", 30.5, "at must be an object"),
    ("nodes.0.split.at", {"decimal": 30.5}, "written as a text"),
    ("nodes.0.split.at", {"decimal": "thirty"}, "is not a number"),
    ("nodes.0.split.at", {"decimal": "NaN"}, "is not a number"),
    ("nodes.0.split.at", {"decimal": "sNaN"}, "is not a number"),
    ("nodes.0.split.at", {"decimal": "Infinity"}, "infinite threshold"),
    ("nodes.0.split.at", {"decimal": "1e999999"}, "further from 1"),
    ("nodes.0.split.at", {"decimal": "1_000"}, "written as a text"),
    ("nodes.0.split.at", {"decimal": "9" * 3000}, "written as a text"),
    ("nodes.0.split.at", {"moment": "2024-05-01"}, "not of kind integer"),
    ("nodes.0.split", {"cut": 2, "at": {"moment": "yesterday"}, "nulls": None}, "not of kind date"),
    ("nodes.0.split", {"cut": 2, "at": {"moment": "2024-02-30"}, "nulls": None}, "not of kind date"),
    ("nodes.0.split", {"cut": 2, "at": {"moment": "2024-05-01 12:00:00"}, "nulls": None}, "not of kind date"),
    ("nodes.0.split", {"both": 1}, "has no group"),
    ("nodes.2.split.group", 0, "groups the values of an ordered"),
    ("nodes.2.split.group", 3, "not of kind decimal"),
    ("nodes.2.split.groups", [["a"], ["a"]], "occurs twice"),
    ("nodes.2.split.groups", [[None], ["a", None]], "occurs twice"),
    ("nodes.2.split.groups", [["a"], []], "no value leads to"),
    ("nodes.2.split.groups", [["a"], ["b"], ["c"]], "number of children"),
    ("nodes.2.split.groups", [["a"], [5]], "must be a text, true"),
    ("nodes.2.split.groups", [["a"], [{"integer": "5"}]], "not of kind text"),
    ("nodes.2.split.groups", [["a"], [{"integer": "0x5"}]], "is not a number"),
    ("nodes.2.split.groups", [["a"], [{"integer": "05"}]], "plain form"),
    ("nodes.2.split.groups", [["a"], [{"integer": "9" * 5000}]], "written as a text"),
    ("nodes.2.split.groups", [["a"], [{"float": "1_0.0"}]], "plain form"),
    ("nodes.2.split.groups", [["a"], ["b\0"]], "NUL"),
    ("nodes.2.split.groups", [["a"], ["\ud800"]], "not valid Unicode"),
    ("nodes.2.split.groups", "ab", "must be a list"),
    ("nodes.2.split.others", 2, "a branch that does not exist"),
    ("nodes.2.split.labels", ["one"], "number of labels"),
    ("nodes", [], "1 to 100,000 nodes"),
    ("nodes", {}, "must be a list"),
    ("classes", ["no", "no"], "occurs twice"),
    ("classes", ["no", None], "NULL is not a class"),
    ("classes", ["no", True], "not of kind text"),
    ("classes", [], "1 counts"),
    ("attributes.1.name", "age", "two attributes have the same name"),
    ("attributes.1.name", "ill", "target is among the attributes"),
    ("attributes.1.name", "a\0b", "NUL"),
    ("attributes.1.name", "", "1 to 200"),
    ("attributes.1.name", 5, "must be a text"),
    ("attributes.1.kind", "unsupported", "kind must be one of"),
    ("attributes.1.ordered", True, "has no order"),
    ("attributes.1.ordered", 1, "true or false"),
    ("attributes.0.scale", 2, "decimal places without"),
    ("attributes.0.scale", -2, "between 0 and"),
    ("attributes.0.zoned", True, "time zone without"),
    ("attributes", [5], "must be an object"),
    ("options", {"a": [1]}, "must be a number"),
    ("options", {"a": None}, "must be a number"),
    ("options", [], "options must be an object"),
    ("inducer", 7, "must be a text"),
    ("inducer", ..., "has no inducer"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "message"), WRONG)
def test_a_tree_that_is_none_is_refused(path, value, message):
    tree_from_dict(a_cut_tree())
    with pytest.raises(PolicyError, match=message) as refused:
        tree_from_dict(changed(path, value))
    assert "\n" not in str(refused.value)


def test_a_very_wide_tree_is_checked_and_shown():
    """A loop within a loop would take minutes."""
    leaves = 50_000
    root = Node(0, None, 0, (leaves,), Groups(0, tuple((str(n),) for n in range(leaves))), tuple(range(1, leaves + 1)))
    tree = Tree(
        (Attribute("a", Kind.TEXT, False),),
        hand.TARGET,
        ("x",),
        (root, *(Node(n + 1, 0, 1, (1,)) for n in range(leaves))),
    )
    check_tree(tree)
    assert len(as_text(tree).splitlines()) == leaves + 1
    assert "… 50,000 more nodes" in as_svg(tree)


def test_a_chain_without_end_is_refused():
    made = {
        "number": 0,
        "parent": None,
        "depth": 0,
        "counts": [1, 1],
        "split": {"group": 1, "groups": [["a"]], "others": None},
        "children": [1],
    }
    nodes = [made] + [{**made, "number": n, "parent": n - 1, "depth": n, "children": [n + 1]} for n in range(1, 3000)]
    nodes.append({"number": 3000, "parent": 2999, "depth": 3000, "counts": [1, 1]})
    with pytest.raises(PolicyError, match="lies below level 2000"):
        tree_from_dict(a_cut_tree() | {"nodes": nodes})


def test_any_change_to_a_file_is_either_refused_or_gives_a_tree():
    """Whatever is put into any place: never anything but a PolicyError."""
    dice = random.Random(4)
    odd = [None, True, -1, 0, 2**70, 0.5, "", "\0", [], {}, [[]], {"decimal": "1"}, "9" * 500, {"integer": "1"}]
    refused = 0
    for _ in range(600):
        model = copy.deepcopy(a_cut_tree())
        place: object = model
        while isinstance(place, dict | list) and place:
            holder, place_of = place, dice.choice(list(place) if isinstance(place, dict) else range(len(place)))
            place = holder[place_of]
            if dice.random() < 0.25:
                break
        holder[place_of] = dice.choice(odd)
        try:
            again = tree_from_dict(model)
            assert tree_from_dict(tree_to_dict(again)) == again
        except PolicyError:
            refused += 1
    assert refused > 300


# -- the schema ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def validator():
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    return jsonschema.Draft202012Validator(SCHEMA)


def in_file(model: dict) -> dict:
    return {"format": "ppdm-model", "version": 1, "kind": "tree", "model": model}


def test_the_schema_takes_what_the_code_writes(validator):
    for seed in range(8):
        tree = hand.a_tree(seed, nodes=60, depth=9, regression=seed % 3 == 2)
        validator.validate(json.loads(tree_text(tree, "some name")))


# What a schema cannot say: how nodes, counts and attributes fit together, and what a number or a moment is.
BEYOND = ("children", "parent", "at its number", "add up", "counts", "one level", "fit", "no order", "does not exist", "not of kind date", "not of kind integer", "occurs twice", "leads to", "of kind", "labels", "name", "target", "time zone", "decimal places", "infinite", "NULL", "have a mean", "more rows", "groups the values", "further", "plain form", "Unicode", "must be a number")  # fmt: skip


def test_the_schema_refuses_what_the_code_refuses_by_shape(validator):
    for path, value, message in WRONG:
        if value == [3.0, 0]:
            continue  # to JSON Schema 3.0 is a whole number
        by_schema = not validator.is_valid(in_file(changed(path, value)))
        assert by_schema or any(word in message for word in BEYOND), (path, message)


def test_what_the_schema_refuses_the_code_refuses_too(validator):
    dice = random.Random(9)
    odd = [None, True, -1, 0, 0.5, "", "x", [], {}, [[]], {"decimal": "1"}, {"float": "0.5"}, {"integer": "1"}]
    for _ in range(300):
        model = copy.deepcopy(a_cut_tree())
        place: object = model
        while isinstance(place, dict | list) and place:
            holder, place_of = place, dice.choice(list(place) if isinstance(place, dict) else range(len(place)))
            place = holder[place_of]
            if dice.random() < 0.25:
                break
        holder[place_of] = dice.choice(odd)
        try:
            tree_from_dict(model)
        except PolicyError:
            continue
        assert validator.is_valid(in_file(model)), (place_of, holder[place_of])


def test_the_file_in_the_docs_is_one():
    page = (Path(__file__).resolve().parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    text = page.split("```json\n")[1].split("```")[0]
    tree, name = read_tree(text)
    assert (name, len(tree.nodes)) == ("readmission", 5)
