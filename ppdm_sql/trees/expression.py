"""A tree as one SQL expression: a CASE over the source columns that a person can read and any client can run.

For a few hundred nodes this is also quick; for big trees over big tables predict.py is the better way (a nested
CASE is walked node by node, for every row).

The last branch of a node goes on in the same CASE (ELSE), so the nesting is less than the depth.  Where it would
still be more than engines and sqlglot stand, the most nested branch is the one that goes on: a tree of n nodes is
then never nested deeper than log2(n) beyond that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.among import among
from ppdm_sql.statements.names import PREFIX, Name, aliased, column, identifier, lacks
from ppdm_sql.trees.comparing import (
    MOMENTS,
    NUMBERS,
    WORDS,
    below,
    category,
    comparable_value,
    from_on,
    is_known,
    unknown,
)
from ppdm_sql.trees.tree import Attribute, Bands, Cut, Groups, Node, Split, Tree, Value, attribute_of

NODE, CLASS, SHARE, MEAN = "ppdm_node", "ppdm_class", "ppdm_share", "ppdm_mean"
_MOST_NESTED = 40

Answer = Callable[[Node], exp.Expr]


@dataclass
class _Part:
    """The branches of a CASE in the making: of one node and of those that its ELSE leads to."""

    ifs: list[exp.If]
    default: exp.Expr
    nested: int = 0

    def expression(self) -> exp.Expr:
        return exp.Case(ifs=self.ifs, default=self.default) if self.ifs else self.default


def node_expression(engine: Engine, tree: Tree, table: str | None = None) -> exp.Expr:
    """The number of the node where a row ends."""
    return _expression(engine, tree, table, lambda node: exp.Literal.number(node.number))


def class_expression(engine: Engine, tree: Tree, table: str | None = None) -> exp.Expr:
    """What a row is taken to be: a class, or the mean of a regression tree as a DOUBLE."""
    return _expression(engine, tree, table, lambda node: answer(tree, node))


def open_expression(engine: Engine, tree: Tree) -> exp.Expr:
    """The class of a row of any table that has the model's columns, whatever numbers or moments they hold."""
    return class_expression(engine, unbound(engine, tree))


def unbound(engine: Engine, tree: Tree) -> Tree:
    """The tree for columns whose types are not known, as `bind` is for those of a relation."""

    def loosen(attribute: Attribute) -> Attribute:
        if attribute.kind in NUMBERS:
            return replace(attribute, unbound=True)
        if attribute.kind in MOMENTS and engine.reads_any_moment:
            return replace(attribute, kind=Kind.TIMESTAMP, zoned=False, unbound=True)
        return attribute

    return replace(tree, attributes=tuple(map(loosen, tree.attributes)))


def answer(tree: Tree, node: Node) -> exp.Expr:
    """What a node says of the rows that end there, as SQL."""
    if tree.is_regression:
        return exp.cast(exp.Literal.string(repr(float(str(tree.prediction(node))))), "DOUBLE")
    found = category(tree.target, tree.prediction(node))
    return exp.Null() if found is None else found


def share(node: Node) -> float:
    """The part of a node's training rows that are of its class."""
    return node.counts[node.majority] / node.rows if node.rows else 0.0


def _expression(engine: Engine, tree: Tree, table: str | None, answer_of: Answer) -> exp.Expr:
    """From the last node to the first: a child's number is greater than its parent's."""
    parts: dict[int, _Part] = {}
    for node in reversed(tree.nodes):
        if node.split is None:
            parts[node.number] = _Part([], answer_of(node))
            continue
        value = comparable_value(engine, tree.attributes[node.split.attribute], table)
        children = [parts.pop(number) for number in node.children]
        parts[node.number] = _case_part(tree, node, value, children, answer_of)
    return parts[0].expression()


def _case_part(tree: Tree, node: Node, value: exp.Expr, children: Sequence[_Part], answer_of: Answer) -> _Part:
    """The CASE of a node: the rows that stop, the branches with their conditions, and the branch that goes on."""
    split = node.split
    assert split is not None
    said = answer_of(node)
    if all(not child.ifs and child.default == said for child in children):
        return _Part([], said)  # whatever the row has, the answer is the same
    # Which branch needs no condition of its own.  None: what no branch takes stops here.
    rest = split.others if isinstance(split, Groups) else split.nulls
    deepest = max(range(len(children)), key=lambda branch: children[branch].nested)
    if rest != deepest and children[deepest].nested + 1 > _MOST_NESTED:
        rest = deepest
    named = _branch_conditions(tree.attributes[split.attribute], split, value)
    ifs = [exp.If(this=found, true=answer_of(node)) for found in _stopping(named, split, value, rest)]
    nested = 0
    for branch, child in enumerate(children):
        condition = _condition(named, split, value, branch)
        if branch != rest and condition is not None:
            ifs.append(exp.If(this=condition, true=child.expression()))
            nested = max(nested, child.nested + 1)
    if rest is None:
        return _Part(ifs, answer_of(node), nested)
    going_on = children[rest]
    return _Part([*ifs, *going_on.ifs], going_on.default, max(nested, going_on.nested))


def _branch_conditions(attribute: Attribute, split: Split, value: exp.Expr) -> list[exp.Expr | None]:
    """Per branch the rows it names; None: it names none."""
    if isinstance(split, Groups):
        return [_one_of(attribute, group, value) for group in split.groups]
    if isinstance(split, Cut):
        sides = [below(attribute, split.at, value), from_on(attribute, split.at, value)]
    else:
        sides = [_in_bands(attribute, split, value, branch) for branch in range(split.width)]
    return [
        exp.Or(this=side, expression=unknown(value)) if split.nulls == branch else side
        for branch, side in enumerate(sides)
    ]


def _in_bands(attribute: Attribute, split: Bands, value: exp.Expr, branch: int) -> exp.Expr:
    """SQL for low <= value < high of any band of a branch; the outermost bands have one end only."""
    found = []
    for low, high in split.ranges(branch):
        ends = [] if low is None else [from_on(attribute, low, value)]
        ends += [] if high is None else [below(attribute, high, value)]
        found.append(exp.and_(*ends, copy=False))
    return exp.or_(*found, copy=False)


def _one_of(attribute: Attribute, group: Sequence[Value], value: exp.Expr) -> exp.Expr | None:
    written = [category(attribute, item) for item in group if item is not None]
    listed = [item for item in written if item is not None]
    found: exp.Expr | None = None
    if len(listed) == 1:
        found = exp.EQ(this=value.copy(), expression=listed[0])
    elif listed:
        found = among(value, listed)
    if None not in group:
        return found
    return unknown(value) if found is None else exp.Or(this=found, expression=unknown(value))


def _condition(named: Sequence[exp.Expr | None], split: Split, value: exp.Expr, branch: int) -> exp.Expr | None:
    """The rows of a branch; the one of all others takes what no other branch names."""
    if not isinstance(split, Groups) or branch != split.others:
        return named[branch]
    elsewhere = _none_of([found for other, found in enumerate(named) if other != branch], value)
    return exp.Or(this=elsewhere, expression=unknown(value)) if None in split.groups[branch] else elsewhere


def branch_conditions(tree: Tree, node: Node, value: exp.Expr) -> list[exp.Expr | None]:
    """Per branch of a node the condition that a row takes it; None: no row does."""
    assert node.split is not None
    named = _branch_conditions(tree.attributes[node.split.attribute], node.split, value)
    return [_condition(named, node.split, value, branch) for branch in range(len(node.children))]


def _none_of(named: Sequence[exp.Expr | None], value: exp.Expr) -> exp.Expr:
    """Values that none of the conditions takes; unknown, or false, for NULL."""
    taken = [found.copy() for found in named if found is not None]
    return exp.Not(this=exp.Paren(this=exp.or_(*taken, copy=False))) if taken else is_known(value)


def _stopping(named: Sequence[exp.Expr | None], split: Split, value: exp.Expr, rest: int | None) -> list[exp.Expr]:
    """The rows that stop at the node, where the branch that goes on would take them along."""
    if rest is None:
        return []
    if not isinstance(split, Groups):
        return [] if split.nulls is not None else [unknown(value)]
    found = [] if any(None in group for group in split.groups) else [unknown(value)]
    if split.others is None:
        found.append(_none_of(named, value))
    return found


# -- statements ------------------------------------------------------------------------------------------------------


def bind(engine: Engine, tree: Tree, relation: Name) -> Tree:
    """The tree for the columns of a relation: compared as their types ask; refuses what does not fit."""
    return bound_to(tree, engine.columns(relation), str(relation))


def bound_to(tree: Tree, columns: Sequence[ColumnInfo], relation: str) -> Tree:
    return replace(tree, attributes=fitted_attributes(tree.attributes, tree.used_attributes(), columns, relation))


def fitted_attributes(
    attributes: Sequence[Attribute], used: Iterable[int], columns: Sequence[ColumnInfo], relation: str
) -> tuple[Attribute, ...]:
    """A model's attributes with the types that the columns of those names have; those it does not ask for stay."""
    there = {info.name: info for info in columns}
    if not there:
        raise PolicyError(f"table {relation} does not exist")
    asked = set(used)
    missing = [f'"{attributes[number].name}"' for number in asked if attributes[number].name not in there]
    if missing:
        raise PolicyError(f"{lacks(relation)} {', '.join(missing)}, which the model needs")
    return tuple(
        _fit(attribute, there[attribute.name]) if number in asked else attribute
        for number, attribute in enumerate(attributes)
    )


def _fit(attribute: Attribute, info: ColumnInfo) -> Attribute:
    alike = next((kinds for kinds in (NUMBERS, WORDS) if attribute.kind in kinds), (attribute.kind,))
    if info.kind not in alike:
        asked, found = attribute.kind.value, info.declared.partition("(")[0]
        raise PolicyError(f'column "{info.name}" is {found}; the model was trained on a column of kind {asked}')
    return attribute_of(info, ordered=attribute.ordered)


def kept_columns(engine: Engine, relation: Name, keep: Sequence[str]) -> list[str]:
    """The columns to keep, checked: they are there, once each, and not named like ours."""
    there = [info.name for info in engine.columns(relation)]
    unknown_names = [f'"{name}"' for name in keep if name not in there]
    if unknown_names:
        raise PolicyError(f"{lacks(relation)} {', '.join(unknown_names)} to keep")
    if len(set(keep)) != len(keep):
        raise PolicyError("a column to keep is listed twice")
    ours = [f'"{name}"' for name in keep if name.casefold().startswith(PREFIX)]
    if ours:
        raise PolicyError(f"column {', '.join(ours)}: the prefix {PREFIX} is reserved for ppdm_sql; rename it with AS")
    return list(keep)


def predict_select(engine: Engine, tree: Tree, relation: Name, keep: Sequence[str]) -> exp.Select:
    """The kept columns of every row, its node, and what the node says: one statement that needs nothing but itself."""
    names = kept_columns(engine, relation, keep)
    fitting = bind(engine, tree, relation)
    inner = exp.Select(expressions=[column(name, "r") for name in names]).from_(relation.table("r"))
    inner = inner.select(aliased(node_expression(engine, fitting, "r"), NODE), copy=False)
    told = answer_names(tree)
    picked = [*(column(name, "r") for name in names), column(NODE, "r"), *(column(name, "a") for name in told)]
    query = exp.Select(expressions=picked).from_(inner.subquery("r", copy=False), copy=False)
    on = exp.EQ(this=column(NODE, "a"), expression=column(NODE, "r"))
    return query.join(_answers(tree, "a"), on=on, copy=False)


def answer_names(tree: Tree) -> tuple[str, ...]:
    """What a prediction gives with the node: class and share, or the mean."""
    return (MEAN,) if tree.is_regression else (CLASS, SHARE)


def answer_row(tree: Tree, node: Node) -> list[exp.Expr]:
    told: list[exp.Expr] = [exp.Literal.number(node.number), answer(tree, node)]
    if not tree.is_regression:
        told.append(exp.cast(exp.Literal.string(repr(share(node))), "DOUBLE"))
    return told


def _answers(tree: Tree, alias: str) -> exp.Expr:
    rows = [exp.Tuple(expressions=answer_row(tree, node)) for node in tree.nodes]
    names = [identifier(name) for name in (NODE, *answer_names(tree))]
    return exp.Values(expressions=rows, alias=exp.TableAlias(this=identifier(alias), columns=names))


def create_predict_macro(engine: Engine, name: str, tree: Tree, *, replace_it: bool = False) -> list[str]:
    """A macro predict_<name>(column, ...) that gives the class; returns the columns in the order it takes them."""
    taken = [tree.attributes[number].name for number in tree.used_attributes()]
    create_macro(engine, name, taken, open_expression(engine, tree), replace_it=replace_it)
    return taken


def create_macro(engine: Engine, name: str, taken: Sequence[str], told: exp.Expr, *, replace_it: bool) -> None:
    """A macro predict_<name> over the columns it takes, which gives what the expression predicts."""
    if not engine.has_macros:
        raise PolicyError(f"{engine.title} has no macros: create a view of the model over a table instead")
    if len({column_name.casefold() for column_name in taken}) != len(taken):
        raise PolicyError("two columns of the model differ only in case: a macro cannot take both")
    engine.create_macro(Name(f"predict_{name}"), list(taken), told, replace=replace_it)


def create_predict_view(
    engine: Engine, name: Name, tree: Tree, relation: Name, keep: Sequence[str], *, replace_it: bool = False
) -> None:
    """A view over a relation: the kept columns and what the model says of each row, always up to date."""
    engine.create_view(name, predict_select(engine, tree, relation, keep), replace=replace_it)
