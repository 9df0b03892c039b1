"""The groups of an audit one by one: who is in it, how many, and what is known of their class.

A group is described by the answers that its people give to the public questions of the model, and by classes that the
model names: these are in the model, and nothing else of the table is shown.  All figures are counted in the database.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import Name
from ppdm_sql.trees.comparing import category, comparable_value, unknown
from ppdm_sql.trees.expression import fitted_attributes
from ppdm_sql.trees.show import premises, value_text, visible
from ppdm_sql.trees.tree import Groups, Node, Tree, Value

STOPS, AND, CLASS_FOLLOWS = ".", "&", "|"  # how a span is written; see audit.py
_ANSWER = re.compile(r"(\d+);|\.")
_ALL = (1 << 62) - 1


@dataclass(frozen=True)
class Group:
    """People that nobody can tell apart who has the model and knows the public columns."""

    conditions: tuple[str, ...]  # what they have in common, in words; none: the model separates no one
    size: int  # persons, or rows where no person was named
    rows: int
    classes: tuple[tuple[Value, int], ...]  # the classes that the model names, with their rows, most first
    other_rows: int  # of classes that it does not name
    confidence: Fraction  # the greatest share of one class
    entropy_bits: float

    @property
    def words(self) -> str:
        return " and ".join(self.conditions) or "everybody"


def class_number(engine: Engine, tree: Tree, relation: Name, table: str) -> exp.Expr:
    """Which of the model's classes a row is of, counted from 0; -1: none that it names."""
    (target,) = fitted_attributes([tree.target], [0], engine.columns(relation), str(relation))
    value = comparable_value(engine, target, table)
    ifs = []
    for number, named in enumerate(tree.classes):
        written = category(target, named) if named is not None else None
        meets = unknown(value) if named is None else exp.EQ(this=value.copy(), expression=written) if written else None
        if meets is not None:
            ifs.append(exp.If(this=meets, true=exp.Literal.number(number)))
    nothing = exp.Literal.number(-1)
    return exp.Case(ifs=ifs, default=nothing) if ifs else nothing


def smallest_groups(
    engine: Engine, spans: Name, trees: Sequence[Tree], public: Collection[str], most: int | None
) -> tuple[Group, ...]:
    """The smallest groups of a table of spans (audit.py), the smallest first; most = None: all."""
    query = statement("trees/span_groups", {"source": spans.table()})
    found = engine.fetch(query, most=_ALL if most is None else most)
    groups = []
    for _, cells in groupby(found, key=lambda row: row[0]):
        rows = list(cells)
        _, span, size, total, top, bits, _, _ = rows[0]
        named = [(trees[0].classes[int(number)], int(count)) for *_, number, count in rows if number >= 0]
        groups.append(
            Group(
                conditions=_conditions(trees, public, span, named),
                size=int(size),
                rows=int(total),
                classes=tuple(named),
                other_rows=int(total) - sum(count for _, count in named),
                confidence=Fraction(int(top), int(total)),
                entropy_bits=max(0.0, float(bits)),
            )
        )
    return tuple(groups)


def _conditions(
    trees: Sequence[Tree], public: Collection[str], span: str, classes: Sequence[tuple[Value, int]]
) -> tuple[str, ...]:
    answers, class_is_public, _ = span.partition(CLASS_FOLLOWS)
    given = [_Told.of(tree, public, text) for tree, text in zip(trees, answers.split(AND), strict=True)]
    exact = {name for one in given for name in one.exact}
    found = [
        words
        for one in given
        for words in (*one.met, *(f"{name} {stops}" for name, stops in one.stopped if name not in exact))
    ]
    if class_is_public:  # then a group has one class only
        target = visible(trees[0].target.name)
        found.append(f"{target} = {value_text(classes[0][0])}" if classes else f"{target} is none that the model names")
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class _Told:
    """The answers of a span to one tree in words."""

    met: tuple[str, ...]
    stopped: tuple[tuple[str, str], ...]  # attributes of questions that no branch answers, and what that says
    exact: frozenset[str]  # attributes whose one value is known: that it is none of others is no news

    @classmethod
    def of(cls, tree: Tree, public: Collection[str], text: str) -> _Told:
        taken: list[tuple[Node, int]] = []
        stopped: list[tuple[str, str]] = []
        exact: set[str] = set()
        for node, branch in answers_of(tree, public, text):
            split = node.split
            assert split is not None
            name = visible(tree.attributes[split.attribute].name)
            if branch is None:
                stopped.append((name, "is none of the values in its tests" if isinstance(split, Groups) else "is NULL"))
                continue
            taken.append((node, branch))
            if isinstance(split, Groups) and len(split.groups[branch]) == 1 and split.others != branch:
                exact.add(name)
        return cls(tuple(premises(tree, taken)), tuple(stopped), frozenset(exact))


def answers_of(tree: Tree, public: Collection[str], text: str) -> Iterator[tuple[Node, int | None]]:
    """The public questions that the people of a span come to, and which branch they take; None: they stop there.

    Read as it was written: a private question asks on in all its branches.
    """
    answers = iter(_ANSWER.findall(text))
    waiting = [tree.root]
    while waiting:
        node = waiting.pop()
        if node.split is None:
            continue
        if tree.attributes[node.split.attribute].name not in public:
            waiting.extend(tree.nodes[child] for child in reversed(node.children))
            continue
        answer = next(answers)
        if not answer:
            yield node, None
            continue
        yield node, int(answer)
        waiting.append(tree.nodes[node.children[int(answer)]])
