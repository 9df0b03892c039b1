"""A tree as a picture: SVG that needs nothing but itself, is read aloud by its title, and follows light or dark.

The tree grows from left to right.  Every leaf has a line of its own and a node stands in the middle of its leaves, so
nothing can overlap however deep or wide the tree is.  A tree too big for a page is cut at a depth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import escape

from ppdm_sql.trees.expression import share
from ppdm_sql.trees.show import branch_text, figure, node_text, percent, rows_text, value_text, visible
from ppdm_sql.trees.tree import Node, Tree

_WIDTH, _HEIGHT, _GAP, _LINE = 158, 42, 182, 58  # of a box; between columns; from leaf to leaf
_MARGIN, _HEAD = 20, 62
_LABEL = 22  # characters of a label between two columns
_BOX = 21  # characters of a line in a box
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#b8a800", "#7b5ea7")
_REST = "#8a8a8a"  # of all further classes together
_MOST_NODES = 250

_STYLE = """
.ppdm-t{font:600 12px system-ui,sans-serif;fill:#1b1f24}
.ppdm-s{font:11px system-ui,sans-serif;fill:#57606a}
.ppdm-h{font:600 15px system-ui,sans-serif;fill:#1b1f24}
.ppdm-e{fill:none;stroke:#8c959f;stroke-width:1.3}
.ppdm-b{fill:#ffffff;stroke:#8c959f}
.ppdm-l{fill:#f6f8fa;stroke:#57606a}
.ppdm-p{fill:#ffffff}
@media (prefers-color-scheme: dark){
.ppdm-t,.ppdm-h{fill:#e6edf3}.ppdm-s{fill:#9da7b3}.ppdm-e{stroke:#6e7681}
.ppdm-b{fill:#161b22;stroke:#6e7681}.ppdm-l{fill:#21262d;stroke:#8c959f}.ppdm-p{fill:#0d1117}
}
"""


@dataclass(frozen=True)
class _BoxPlace:
    """Where the left middle of a node's box is."""

    x: float
    y: float


def as_svg(tree: Tree, *, title: str | None = None, most_nodes: int = _MOST_NODES) -> str:
    """The picture of a tree; of more than most_nodes nodes only the upper levels."""
    cut = _cut_depth(tree, most_nodes)
    places = _places(tree, cut)
    width = max(place.x for place in places.values()) + _WIDTH + _MARGIN + (130 if cut < tree.depth else 0)
    width = max(width, 480)
    height = max(place.y for place in places.values()) + _HEIGHT / 2 + _MARGIN
    head = visible(title or f"{tree.target.name} ({tree.inducer})", 80)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}">',
        f"<title>{_safe(head)}</title>",
        f"<desc>{_safe(_description(tree, cut))}</desc>",
        f"<style>{_STYLE}</style>",
        f'<rect class="ppdm-p" width="{width:g}" height="{height:g}"/>',
        f'<text class="ppdm-h" x="{_MARGIN}" y="26">{_safe(head)}</text>',
        *_legend(tree, width),
        *(line for node in _drawn_nodes(tree, cut) for line in _edge(tree, node, places)),
        *(line for node in _drawn_nodes(tree, cut) for line in _box(tree, node, places[node.number], cut)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _safe(text: str) -> str:
    """For XML: `visible` has left no character that it forbids."""
    return str(escape(text))


def _description(tree: Tree, cut: int) -> str:
    what = "regression" if tree.is_regression else "decision"
    words = f"A {what} tree for {visible(tree.target.name)}: {len(tree.nodes):,} nodes, {len(tree.leaves):,} leaves, "
    words += f"{tree.depth} levels, learned from {rows_text(tree.root.rows)}."
    return words + (f" Drawn to level {cut}." if cut < tree.depth else "")


# -- places ----------------------------------------------------------------------------------------------------------


def _cut_depth(tree: Tree, most: int) -> int:
    """The deepest level down to which no more than this many nodes lie."""
    wide = [0] * (tree.depth + 1)
    for node in tree.nodes:
        wide[node.depth] += 1
    total, depth = 0, 0
    for level, nodes in enumerate(wide):
        total += nodes
        if total > most:
            break
        depth = level
    return depth


def _drawn_nodes(tree: Tree, cut: int) -> Iterator[Node]:
    return (node for node in tree.walk() if node.depth <= cut)


def _places(tree: Tree, cut: int) -> dict[int, _BoxPlace]:
    lines: dict[int, float] = {}
    drawn = list(_drawn_nodes(tree, cut))
    ends = [node for node in drawn if node.is_leaf or node.depth == cut]
    for line, node in enumerate(ends):
        lines[node.number] = line
    for node in reversed(drawn):  # children come later, so they are placed already
        if node.number not in lines:
            lines[node.number] = (lines[node.children[0]] + lines[node.children[-1]]) / 2
    top = _HEAD + _MARGIN + _HEIGHT / 2
    return {
        node.number: _BoxPlace(_MARGIN + node.depth * (_WIDTH + _GAP), top + lines[node.number] * _LINE)
        for node in drawn
    }


# -- shapes ----------------------------------------------------------------------------------------------------------


def _edge(tree: Tree, node: Node, places: dict[int, _BoxPlace]) -> Iterator[str]:
    """A line with one corner, the words above its level part."""
    if node.parent is None:
        return
    parent = tree.nodes[node.parent]
    start, end = places[parent.number], places[node.number]
    words = branch_text(tree, parent, parent.children.index(node.number))
    assert parent.split is not None
    asked = visible(tree.attributes[parent.split.attribute].name)  # stands in the parent's box
    left, turn = start.x + _WIDTH, start.x + _WIDTH + 14
    yield f'<path class="ppdm-e" d="M{left:g} {start.y:g}H{turn:g}V{end.y:g}H{end.x:g}"/>'
    yield f'<text class="ppdm-s" x="{turn + 6:g}" y="{end.y - 5:g}">{_hint(words, asked)}</text>'


def _hint(words: str, asked: str) -> str:
    """The words without the name, cut to the room there is; whole when pointed at."""
    return f"<title>{_safe(words)}</title>{_safe(visible(words.removeprefix(asked).lstrip(), _LABEL))}"


def _box(tree: Tree, node: Node, place: _BoxPlace, cut: int) -> Iterator[str]:
    x, y = place.x, place.y - _HEIGHT / 2
    kind = "ppdm-l" if node.is_leaf else "ppdm-b"
    radius = 9 if node.is_leaf else 3
    yield "<g>"
    yield f"<title>{_safe(node_text(tree, node))}</title>"
    yield f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="{radius}"/>'
    first, second = _lines(tree, node)
    yield f'<text class="ppdm-t" x="{x + 9:g}" y="{y + 16:g}">{_safe(visible(first, _BOX))}</text>'
    yield f'<text class="ppdm-s" x="{x + 9:g}" y="{y + 29:g}">{_safe(second)}</text>'
    yield from _bar(tree, node, x + 9, y + _HEIGHT - 9)
    yield "</g>"
    if node.depth == cut and not node.is_leaf:
        more = sum(1 for _ in tree.walk(node.number)) - 1
        words = f"… {more:,} more node{'s' * (more != 1)}"
        yield f'<text class="ppdm-s" x="{x + _WIDTH + 8:g}" y="{place.y + 4:g}">{words}</text>'


def _lines(tree: Tree, node: Node) -> tuple[str, str]:
    rows = rows_text(node.rows)
    if node.moments is not None:
        said, detail = figure(float(node.moments.mean)), f"{rows}, ± {figure(node.moments.variance**0.5)}"
    else:
        said, detail = value_text(tree.prediction(node)), f"{rows}, {percent(share(node))}"
    if node.split is None:
        return said, detail
    asked = visible(tree.attributes[node.split.attribute].name, _BOX - 2)
    return f"{asked} ?", rows if node.moments is None else detail


def _bar(tree: Tree, node: Node, x: float, y: float) -> Iterator[str]:
    """The shares of the classes, or where the mean lies between the least and the greatest of the tree."""
    room = _WIDTH - 18
    if node.moments is not None:
        means = [float(other.moments.mean) for other in tree.nodes if other.moments is not None]
        span = max(means) - min(means)
        part = (float(node.moments.mean) - min(means)) / span if span else 0.5
        yield f'<rect x="{x:g}" y="{y:g}" width="{room}" height="4" fill="{_REST}" fill-opacity="0.35"/>'
        yield f'<rect x="{x + part * (room - 6):.6g}" y="{y - 1:g}" width="6" height="6" fill="{_COLOURS[0]}"/>'
        return
    for colour, count in _by_colour(tree, node):
        wide = room * count / node.rows
        yield f'<rect x="{x:.6g}" y="{y:g}" width="{wide:.6g}" height="4" fill="{colour}"/>'
        x += wide


def _colours(tree: Tree) -> dict[int, str]:
    """The colour of each class; of many classes those with most rows have one, the others are grey together."""
    by_rows = sorted(range(len(tree.classes)), key=lambda place: (-tree.root.counts[place], place))
    return dict(zip(sorted(by_rows[: len(_COLOURS)]), _COLOURS, strict=False))


def _by_colour(tree: Tree, node: Node) -> Iterator[tuple[str, int]]:
    colours = _colours(tree)
    for place, colour in colours.items():
        if node.counts[place]:
            yield colour, node.counts[place]
    rest = node.rows - sum(node.counts[place] for place in colours)
    if rest:
        yield _REST, rest


def _legend(tree: Tree, width: float) -> Iterator[str]:
    """The colours of the classes in one line, as many as fit."""
    if tree.is_regression:
        yield "mark: the mean, between the least and the greatest"
        return
    x, told = float(_MARGIN), 0
    for place, colour in _colours(tree).items():
        words = visible(value_text(tree.classes[place]), 24)
        room = 30 + 6.6 * len(words)
        if x + room > width - _MARGIN - 70:
            break
        yield f'<rect x="{x:g}" y="41" width="10" height="10" rx="2" fill="{colour}"/>'
        yield f'<text class="ppdm-s" x="{x + 15:g}" y="50">{_safe(words)}</text>'
        x, told = x + room, told + 1
    if told < len(tree.classes):
        yield f'<text class="ppdm-s" x="{x:g}" y="50">… {len(tree.classes) - told:,} more</text>'
