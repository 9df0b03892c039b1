"""A tree for people: as a text with lines, as rules, as SQL.  Nothing here is read back by a program.

Values and names come from data.  They are shortened when long, and what a terminal or a reader could take for
something else (control characters, marks that turn the direction of writing) is shown as its number.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

from ppdm_sql.engines.base import Engine
from ppdm_sql.policy.words import many
from ppdm_sql.statements.handed_over import escape_character, is_hidden
from ppdm_sql.trees.comparing import position
from ppdm_sql.trees.expression import open_expression, share
from ppdm_sql.trees.tree import Attribute, Bands, Cut, Groups, Node, Tree, Value

Say: TypeAlias = Callable[[str], str]  # how texts of the data are shown
Range: TypeAlias = tuple[Decimal | str | None, Decimal | str | None]  # from where on, and below what

LONGEST = 40  # characters of a value
_MOST_VALUES = 6  # of a group, before the others are only counted


def visible(text: str, most: int = LONGEST) -> str:
    """A text as it may be shown.

    >>> visible("x" * 50, 10)
    'xxxxxxxxx…'
    """
    shown: list[str] = []
    width = 0
    for place, character in enumerate(text):
        written = escape_character(character) if is_hidden(character) else character
        wide = 2 if unicodedata.east_asian_width(character) in "WF" else len(written)
        if width + wide > most - (place < len(text) - 1):
            return "".join(shown) + "…"
        shown.append(written)
        width += wide
    return "".join(shown)


def whole(text: str) -> str:
    """A text as it is: for a program to read, or where two long ones must not look the same."""
    return text


def value_text(value: Value, say: Say = visible) -> str:
    """A value as SQL would write it, so that the text NULL and no value look different."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + say(value).replace("'", "''") + "'"
    return number_text(value, say)


def number_text(value: Decimal | float, say: Say = visible) -> str:
    if isinstance(value, Decimal) and value.is_finite() and -7 < value.adjusted() < 21:
        value_of = format(value, "f")
        return say(value_of.rstrip("0").rstrip(".") if "." in value_of else value_of)
    return say(str(value))


def branch_text(tree: Tree, node: Node, branch: int, say: Say = visible) -> str:
    """What the rows of a branch have in common; said whole, every value of a group is named.

    >>> from ppdm_sql.engines.base import Kind
    >>> attributes = (Attribute("age", Kind.INTEGER, True),)
    >>> root = Node(0, None, 0, (2, 2), Cut(0, Decimal("30.5"), nulls=1), (1, 2))
    >>> tree = Tree(attributes, Attribute("ill", Kind.TEXT, False), ("no", "yes"), (root,))
    >>> branch_text(tree, root, 0), branch_text(tree, root, 1)
    ('age < 30.5', 'age >= 30.5 or NULL')
    """
    split = node.split
    assert split is not None
    name = say(tree.attributes[split.attribute].name)
    if not isinstance(split, Groups):
        words = " or ".join(range_words(name, low, high, say) for low, high in ranges_of(split, branch))
        return words + (" or NULL" if split.nulls == branch else "")
    if split.labels is not None and say is not whole:
        return f"{name} in {say(split.labels[branch])}"
    return f"{name} {_group_text(split, branch, say)}"


def ranges_of(split: Cut | Bands, branch: int) -> tuple[Range, ...]:
    """The values of a branch: from where on and below what; None: without end."""
    if isinstance(split, Bands):
        return split.ranges(branch)
    return ((None, split.at),) if branch == 0 else ((split.at, None),)


def range_words(name: str, low: Decimal | str | None, high: Decimal | str | None, say: Say = visible) -> str:
    """The values from one end on and below the other; None: without end."""
    if low is not None and high is not None:
        return f"{_threshold(low, say)} <= {name} < {_threshold(high, say)}"
    if low is not None:
        return f"{name} >= {_threshold(low, say)}"
    return name if high is None else f"{name} < {_threshold(high, say)}"


def _threshold(at: Decimal | str, say: Say) -> str:
    return say(at) if isinstance(at, str) else number_text(at, say)


def _group_text(split: Groups, branch: int, say: Say) -> str:
    group = split.groups[branch]
    most = len(group) if say is whole else _MOST_VALUES
    listed = [value_text(value, say) for value in group[:most]]
    if len(group) > most:
        listed.append(f"{len(group) - most:,} more")
    if branch == split.others:
        listed.append("any other")
    if len(listed) == 1:
        return f"is {listed[0]}" if listed[0] in ("NULL", "any other") else f"= {listed[0]}"
    return f"in ({', '.join(listed)})"


def node_text(tree: Tree, node: Node) -> str:
    """What a node says, and of how many rows.  Regression: the mean and the standard deviation."""
    if node.moments is not None:
        mean, spread = figure(float(node.moments.mean)), figure(node.moments.variance**0.5)
        return f"{mean} ± {spread} ({rows_text(node.rows)})"
    return f"{value_text(tree.prediction(node))} ({rows_text(node.rows)}, {percent(share(node))})"


def figure(value: float) -> str:
    return f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def rows_text(rows: int) -> str:
    return many(rows, "row")


def percent(part: float) -> str:
    """A share; nothing that is not all is called 100 %.

    >>> percent(1.0), percent(0.9996), percent(0.125), percent(0.0)
    ('100 %', '99.9 %', '12.5 %', '0 %')
    """
    if part in (0.0, 1.0):
        return f"{part:.0%}".replace("%", " %")
    return f"{min(max(100 * part, 0.1), 99.9):.3g} %"


# -- as a text -------------------------------------------------------------------------------------------------------


def as_text(tree: Tree) -> str:
    """The tree with lines, one node per line.

    readmitted: 'no' (1,000 rows, 61 %)
    ├─ age < 30.5: 'no' (512 rows, 93 %)
    └─ age >= 30.5 or NULL: 'yes' (488 rows, 73 %)
    """
    lines = [f"{visible(tree.target.name)}: {node_text(tree, tree.root)}"]
    before: dict[int, tuple[str, int]] = {0: ("", 0)}  # what stands in front of a node, and which branch it is
    for node in tree.walk():
        indent, branch = before.pop(node.number)
        if node.parent is not None:
            parent = tree.nodes[node.parent]
            last = branch == len(parent.children) - 1
            words = f"{branch_text(tree, parent, branch)}: {node_text(tree, node)}"
            lines.append(f"{indent}{'└─' if last else '├─'} {words}")
            indent += "   " if last else "│  "
        before.update({child: (indent, place) for place, child in enumerate(node.children)})
    return "\n".join(lines)


# -- as rules --------------------------------------------------------------------------------------------------------


def as_rules(tree: Tree) -> str:
    """One line per leaf: IF what leads there THEN what it says."""
    target = visible(tree.target.name)
    return "\n".join(
        f"IF {' AND '.join(premises(tree, tree.path(node))) or 'TRUE'} THEN {target} = {node_text(tree, node)}"
        for node in tree.walk()
        if node.is_leaf
    )


def premises(tree: Tree, path: Sequence[tuple[Node, int]]) -> Iterator[str]:
    """The conditions of a way, in its order; those of one attribute that say it all stand for the others.

    path: the nodes, and the branches that are taken there.  The cuts and bands of one attribute become the ranges
    they leave, and of two groups the one that lies within the other is enough.
    """
    cuts: dict[int, list[tuple[Cut | Bands, int]]] = {}
    told: dict[tuple[int, int], str] = {}
    for node, branch in path:
        assert node.split is not None
        if not isinstance(node.split, Groups):
            cuts.setdefault(node.split.attribute, []).append((node.split, branch))
            told[node.split.attribute, -1] = ""  # once all its cuts are known
            continue
        number = node.split.attribute
        for wider in [other for other in told if other[0] == number and other[1] >= 0]:
            if _lies_within(node.split, branch, tree.nodes[wider[1]], path):
                del told[wider]
        told[number, node.number] = branch_text(tree, node, branch)
    for (number, _), words in told.items():
        yield words or _range_text(tree.attributes[number], cuts[number])


def _lies_within(split: Groups, branch: int, above: Node, path: Sequence[tuple[Node, int]]) -> bool:
    """Whether every value of a group also took the branch that was taken at a node above."""
    assert isinstance(above.split, Groups)
    taken = next(branch for node, branch in path if node.number == above.number)
    named = above.split.groups[taken]
    return split.others != branch and all(value in named for value in split.groups[branch])


def _range_text(attribute: Attribute, taken: Sequence[tuple[Cut | Bands, int]]) -> str:
    left = ranges_left(attribute, taken)
    name = visible(attribute.name)
    words = " or ".join(range_words(name, low, high) for low, high in left) or f"no {name}"
    with_null = all(split.nulls == branch for split, branch in taken)
    words = f"{words} or NULL" if with_null else words
    return f"({words})" if with_null or len(left) > 1 else words


def ranges_left(attribute: Attribute, taken: Sequence[tuple[Cut | Bands, int]]) -> list[Range]:
    """Where the values lie that take all these branches."""
    left: list[Range] = [(None, None)]
    for split, branch in taken:
        left = [both for one in left for other in ranges_of(split, branch) for both in _common(attribute, one, other)]
    return left


def _common(attribute: Attribute, one: Range, other: Range) -> Iterator[Range]:
    """What lies in both ranges; nothing if they do not meet."""

    def at(end: Decimal | str) -> Any:
        return position(attribute, end)

    low = max((end for end in (one[0], other[0]) if end is not None), key=at, default=None)
    high = min((end for end in (one[1], other[1]) if end is not None), key=at, default=None)
    if low is None or high is None or at(low) < at(high):
        yield low, high


# -- as SQL ----------------------------------------------------------------------------------------------------------


def as_sql(engine: Engine, tree: Tree) -> str:
    """The expression that gives a row's class, to be put into any query over columns of these names."""
    return open_expression(engine, tree).sql(engine.dialect, pretty=True)
