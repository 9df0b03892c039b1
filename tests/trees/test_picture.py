"""The picture of a tree: well-formed, alone, nothing upon anything else, readable without seeing it."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import hand
import pytest

from ppdm_sql.engines.base import Kind
from ppdm_sql.trees.picture import as_svg
from ppdm_sql.trees.tree import Attribute, Node, Tree

SVG = "{http://www.w3.org/2000/svg}"


def drawn(tree, **options):
    return ElementTree.fromstring(as_svg(tree, **options))


def boxes(root):
    found = [rect for rect in root.iter(f"{SVG}rect") if rect.get("class") in ("ppdm-b", "ppdm-l")]
    return [tuple(float(rect.get(name)) for name in ("x", "y", "width", "height")) for rect in found]


@pytest.mark.parametrize("nodes", [1, 5, 30, 200])
@pytest.mark.parametrize("chain", [False, True])
def test_no_box_lies_upon_another_and_all_lie_on_the_page(nodes, chain):
    root = drawn(hand.a_tree(nodes, nodes=nodes, depth=20, chain=chain), most_nodes=1000)
    width, height = float(root.get("width")), float(root.get("height"))
    places = sorted(boxes(root))
    assert len(places) >= nodes
    for x, y, wide, high in places:
        assert x >= 0
        assert y >= 0
        assert x + wide <= width
        assert y + high <= height
    for (x, y, _, high), (next_x, next_y, *_) in pairwise(places):
        assert next_x > x or next_y >= y + high + 10  # room for the words above the next line


def test_every_branch_has_its_words_and_every_box_its_figures():
    tree = hand.a_tree(3, nodes=30)
    root = drawn(tree)
    texts = [text for text in root.iter(f"{SVG}text") if text.find(f"{SVG}title") is not None]
    assert len(texts) == len(tree.nodes) - 1
    assert len(list(root.iter(f"{SVG}path"))) == len(tree.nodes) - 1


def test_bars_are_the_shares_of_the_classes():
    tree = Tree((), hand.TARGET, ("a", "b", "c"), (Node(0, None, 0, (30, 0, 10)),))
    bars = [rect for rect in drawn(tree).iter(f"{SVG}rect") if rect.get("height") == "4"]
    widths = [float(bar.get("width")) for bar in bars]
    assert len(widths) == 2
    assert widths[0] == pytest.approx(3 * widths[1], rel=1e-4)
    assert bars[0].get("fill") != bars[1].get("fill")


def test_it_is_told_to_whoever_does_not_see_it():
    tree = hand.a_tree(3, nodes=30)
    root = drawn(tree, title="Who comes back?")
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title").text == "Who comes back?"
    assert f"{len(tree.nodes)} nodes, {len(tree.leaves)} leaves" in root.find(f"{SVG}desc").text


def test_a_tree_too_big_for_a_page_is_cut_and_says_so():
    tree = hand.a_tree(5, nodes=900, depth=12)
    root = drawn(tree, most_nodes=100)
    assert 1 < len(boxes(root)) <= 100
    told = [re.fullmatch(r"… ([\d,]+) more nodes?", text.text or "") for text in root.iter(f"{SVG}text")]
    assert sum(int(found[1].replace(",", "")) for found in told if found) == len(tree.nodes) - len(boxes(root))
    assert "Drawn to level" in root.find(f"{SVG}desc").text


HOSTILE = ('"><script>alert(1)</script>', "]]>", "&amp;", "\x1b[0m\x00", "\ufffe\ud800", "a" * 500, "'\" onload='x'")


def test_names_and_values_stay_text():
    for text in HOSTILE:
        tree = hand.a_tree(3, nodes=12)
        attributes = tuple(replace(attribute, name=f"{text}{n}") for n, attribute in enumerate(tree.attributes))
        wild = replace(tree, attributes=attributes, target=Attribute(text, Kind.TEXT, False), classes=(text, "b", "c"))
        for title in (None, text):
            root = drawn(wild, title=title)
            assert {element.tag.removeprefix(SVG) for element in root.iter()} == {
                "svg",
                "title",
                "desc",
                "style",
                "rect",
                "text",
                "path",
                "g",
            }
            assert not [
                name for element in root.iter() for name in element.attrib if name.startswith("on") or "href" in name
            ]


def test_nothing_is_fetched_and_dark_is_provided_for():
    text = as_svg(hand.a_tree(3, nodes=30, regression=True))
    assert "prefers-color-scheme: dark" in text
    assert re.findall(r"https?://[^\"]+", text) == ["http://www.w3.org/2000/svg"]
    assert "url(" not in text
    assert "@import" not in text


def test_many_classes_share_the_last_colour():
    classes = tuple(f"class number {n}" for n in range(40))
    tree = Tree((), hand.TARGET, classes, (Node(0, None, 0, (1,) * 39 + (61,)),))
    root = drawn(tree)
    assert any(re.fullmatch(r"… \d+ more", text.text or "") for text in root.iter(f"{SVG}text"))
    fills = [rect.get("fill") for rect in root.iter(f"{SVG}rect") if rect.get("height") == "4"]
    assert len(fills) == len(set(fills)) == 9
    widths = [float(rect.get("width")) for rect in root.iter(f"{SVG}rect") if rect.get("height") == "4"]
    assert widths[7] == pytest.approx(
        0.61 * sum(widths), rel=1e-4
    )  # the largest class has a colour, though it is the last
    assert widths[8] == pytest.approx(0.32 * sum(widths), rel=1e-4)


def test_the_picture_in_the_docs_is_one_of_ours():
    page = Path(__file__).resolve().parents[2] / "docs" / "pictures" / "tree.svg"
    root = ElementTree.fromstring(page.read_text(encoding="utf-8"))
    assert len(boxes(root)) > 5
