"""Prediction for big trees and big tables: rows are coded once and then routed level by level, all nodes at once.

Per attribute the tree asks for, a row gets one small code (axes.py).  From then on a level is one statement, whatever
the number of its nodes: look-ups in constant lists where the engine is quick at that, a join to the table of the
level's splits elsewhere.  A nested CASE (expression.py) costs a step per node instead, and is slow for hundreds.

    ppdm_predict_rows_<number>     one row per source row: a number, the kept columns, the codes, and where it is
    ppdm_predict_step_<number>     by joins: the rows that were still on their way at a level, one table per level
    ppdm_predict_answers_<number>  what each node says

Where a row is: at a node that asks on, or, once it has ended at node n, at -1 - n.  The nodes that ask are counted
level by level here, 0, 1, 2 ..., so that those of one level lie side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.engines.workspace import Workspace
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.trees.axes import Axes, Axis, add_codes, axes_of, axis_of
from ppdm_sql.trees.expression import (
    CLASS,
    MEAN,
    NODE,
    SHARE,
    answer,
    answer_names,
    bind,
    kept_columns,
    predict_select,
    share,
)
from ppdm_sql.trees.tree import Bands, Cut, Node, Tree

SMALL_TREE = 64  # nodes; up to here one CASE is quicker than coding the rows first

_ROW, _AT, _AXIS, _CUT, _LOW, _HIGH, _NULLS, _CODE, _TARGET = (
    "ppdm_row", "ppdm_at", "ppdm_axis", "ppdm_cut", "ppdm_low", "ppdm_high", "ppdm_nulls", "ppdm_code", "ppdm_target",
)  # fmt: skip
_WHOLE_NUMBERS = exp.DataType.build("INT[]", dialect="duckdb")
_LONGEST_LIST = 50_000  # elements; a table is quicker than a longer list in a statement


def prediction_query(engine: Engine, tree: Tree, relation: Name, keep: Sequence[str]) -> exp.Select:
    """What `predict` gives, made in the way that is quicker for a tree of this size."""
    quicker = predict_select if len(tree.nodes) <= SMALL_TREE else predict
    return quicker(engine, tree, relation, keep)


def predict(engine: Engine, tree: Tree, relation: Name, keep: Sequence[str]) -> exp.Select:
    """The kept columns of every row, the node where it ends and what that node says, as a query over the result.

    The result lies in working tables: read the query before the workspace ends.
    """
    names = kept_columns(engine, relation, keep)
    fitting = bind(engine, tree, relation)
    axes = axes_of(fitting)
    rows = _code(engine, fitting, relation, names, axes)
    levels = _levels(fitting, axes)
    listed = engine.has_list_lookup and all(_list_length(level) <= _LONGEST_LIST for level in levels)
    ended = (_by_lists if listed else _by_joins)(engine, rows, axes, levels)
    return _join_answers(tree, names, rows, ended, _load_answers(engine, tree))


def _code(engine: Engine, tree: Tree, relation: Name, keep: Sequence[str], axes: Axes) -> Name:
    """One pass over the source."""
    picked = [
        aliased(exp.Window(this=exp.RowNumber()), _ROW),
        *(aliased(column(name, "r"), _kept_name(number)) for number, name in enumerate(keep)),
        aliased(exp.cast(exp.Literal.number(-1 if tree.root.is_leaf else 0), "INT"), _AT),
    ]
    query = add_codes(engine, exp.Select(expressions=picked).from_(relation.table("r")), axes, "r")
    return engine.work.table("predict_rows", query, analyze=True)


def _kept_name(number: int) -> str:
    return f"ppdm_p{number}"


def _join_answers(
    tree: Tree, names: Sequence[str], rows: Name, ended: Sequence[exp.Select], answers: Name
) -> exp.Select:
    """The rows with what their nodes say; `ended` gives the node of each row number, piece by piece."""
    found: exp.Query = ended[0]
    for piece in ended[1:]:
        found = exp.Union(this=found, expression=piece, distinct=False)
    kept = [aliased(column(_kept_name(number), "r"), name) for number, name in enumerate(names)]
    told = [column(name, "a") for name in answer_names(tree)]
    query = exp.Select(expressions=[*kept, column(NODE, "a"), *told]).from_(rows.table("r"))
    alone = len(ended) == 1  # the rows themselves know where they ended
    if not alone:
        same_row = exp.EQ(this=column(_ROW, "e"), expression=column(_ROW, "r"))
        query = query.join(found.subquery("e", copy=False), on=same_row, copy=False)
    at = exp.Sub(this=exp.Literal.number(-1), expression=column(_AT, "r" if alone else "e"))
    return query.join(answers.table("a"), on=exp.EQ(this=column(NODE, "a"), expression=at), copy=False)


def _load_answers(engine: Engine, tree: Tree) -> Name:
    """What every node says.  Classes are few: each is written once, as a literal of the target's type."""
    import pyarrow as pa

    classes = [0 if tree.is_regression else node.majority for node in tree.nodes]
    figures = [float(str(tree.prediction(node))) if tree.is_regression else share(node) for node in tree.nodes]
    table = {
        NODE: pa.array([node.number for node in tree.nodes], pa.int32()),
        _CODE: pa.array(classes, pa.int32()),
        SHARE: pa.array(figures, pa.float64()),
    }
    loaded = engine.work.load("predict_shares", table)
    picked: list[exp.Expr] = [column(NODE), aliased(column(SHARE), MEAN)]
    if not tree.is_regression:
        one_of_each = {node.majority: node for node in tree.nodes}
        ifs = [exp.If(this=exp.Literal.number(c), true=answer(tree, node)) for c, node in one_of_each.items()]
        picked = [column(NODE), aliased(exp.Case(this=column(_CODE), ifs=ifs), CLASS), column(SHARE)]
    answers = exp.Select(expressions=picked).from_(loaded.table())
    return engine.work.table("predict_answers", answers, analyze=True)


# -- routes ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Route:
    """Where the rows of one node go, by their code on one axis; places are as the top of this file says."""

    place: int
    axis: Axis
    cut: int  # codes up to it go low; -1 at a node with groups or bands, whose codes are in branches
    low: int
    high: int  # at a node with groups: where a value goes that none of them names
    nulls: int
    branches: tuple[tuple[int, int], ...] = ()  # code, place


def _levels(tree: Tree, axes: Axes) -> list[list[_Route]]:
    asking = sorted((node for node in tree.nodes if not node.is_leaf), key=lambda node: node.depth)
    places = {node.number: place for place, node in enumerate(asking)}
    levels: list[list[_Route]] = [[] for _ in range(tree.depth)]
    for node in asking:
        levels[node.depth].append(_route(node, axes, places))
    return levels


def _route(node: Node, axes: Axes, places: Mapping[int, int]) -> _Route:
    split = node.split
    assert split is not None
    axis = axis_of(axes, split)
    targets = [places.get(child, -1 - child) for child in node.children]

    def to(branch: int | None) -> int:
        return -1 - node.number if branch is None else targets[branch]

    if isinstance(split, Cut):
        return _Route(places[node.number], axis, axis.places[split.at], to(0), to(1), to(split.nulls))
    if isinstance(split, Bands):
        of_code = tuple((code, to(split.branches[band])) for code, band in enumerate(axis.band_of_code(split)))
        stops = to(None)  # every code has a band: nothing else comes
        return _Route(places[node.number], axis, -1, stops, stops, to(split.nulls), of_code)
    named = [(value, branch) for branch, group in enumerate(split.groups) for value in group]
    branches = tuple((axis.code(value), to(branch)) for value, branch in named if value is not None)
    with_null = next((branch for value, branch in named if value is None), None)
    return _Route(places[node.number], axis, -1, to(split.others), to(split.others), to(with_null), branches)


def _code_at(axes: Axes, which: exp.Expr, table: str | None = None) -> exp.Expr:
    """The row's code on the axis that its node asks about.  One branch per axis, not per node."""
    asked = {axis.number: axis.name for axis in axes.values()}
    ifs = [exp.If(this=exp.Literal.number(number), true=column(name, table)) for number, name in asked.items()]
    return exp.Case(this=which, ifs=ifs)


# -- by lists --------------------------------------------------------------------------------------------------------


def _list_length(level: Sequence[_Route]) -> int:
    return sum(route.axis.size for route in level if route.branches) + len(level)


def _by_lists(engine: Engine, rows: Name, axes: Axes, levels: Sequence[Sequence[_Route]]) -> list[exp.Select]:
    """One UPDATE per level.  The lists are indexed by the place, counted from the first one of the level."""
    for level in levels:
        first, last = exp.Literal.number(level[0].place), exp.Literal.number(level[-1].place)
        inside = exp.Between(this=column(_AT), low=first, high=last)
        moved = exp.EQ(this=column(_AT), expression=_list_target(axes, level))
        engine.execute(exp.Update(this=rows.table(), expressions=[moved], where=exp.Where(this=inside)))
    return [exp.Select(expressions=[column(_ROW), column(_AT)]).from_(rows.table())]


def _list_target(axes: Axes, level: Sequence[_Route]) -> exp.Expr:
    def look(of: Callable[[_Route], int]) -> exp.Expr:
        place = exp.Add(this=column(_AT), expression=exp.Literal.number(1 - level[0].place))
        return _element([of(route) for route in level], place)

    code = _code_at(axes, look(lambda route: route.axis.number))
    ifs = [exp.If(this=exp.LT(this=code.copy(), expression=exp.Literal.number(0)), true=look(lambda r: r.nulls))]
    flat, starts = _flat(level)
    if flat:
        grouped = exp.LT(this=look(lambda route: route.cut), expression=exp.Literal.number(0))
        start = look(lambda route: starts[route.place] + 1)
        ifs.append(exp.If(this=grouped, true=_element(flat, exp.Add(this=start, expression=code.copy()))))
    under = exp.LTE(this=code, expression=look(lambda route: route.cut))
    ifs.append(exp.If(this=under, true=look(lambda route: route.low)))
    return exp.Case(ifs=ifs, default=look(lambda route: route.high))


def _flat(level: Sequence[_Route]) -> tuple[list[int], dict[int, int]]:
    """The targets of every code of every node with groups or bands, in one list, and where each node's begin."""
    flat: list[int] = []
    starts: dict[int, int] = {}
    for route in level:
        starts[route.place] = len(flat)
        if route.cut < 0:
            targets = [route.high] * route.axis.size
            for code, target in route.branches:
                targets[code] = target
            flat.extend(targets)
    return flat, starts


def _element(values: Sequence[int], place: exp.Expr) -> exp.Expr:
    """An element of a constant list; places count from 1."""
    if len(set(values)) == 1:
        return exp.Literal.number(values[0])
    listed = exp.Array(expressions=[exp.Literal.number(value) for value in values])
    whole = exp.Cast(this=listed, to=_WHOLE_NUMBERS.copy())
    return exp.Bracket(this=exp.Paren(this=whole), expressions=[place], offset=1)


# -- by joins --------------------------------------------------------------------------------------------------------


def _by_joins(engine: Engine, rows: Name, axes: Axes, levels: Sequence[Sequence[_Route]]) -> list[exp.Select]:
    """One table per level, of the rows still on their way: those that ended stay behind in the table before."""
    steps, work = [rows], engine.work
    for level in levels:
        with engine.workspace() as tables:
            moved = _move_rows(axes, steps[-1], *_load_level(tables, level))
            steps.append(work.table("predict_step", moved, analyze=True))
    at_an_end = exp.LT(this=column(_AT), expression=exp.Literal.number(0))
    return [exp.Select(expressions=[column(_ROW), column(_AT)]).from_(step.table()).where(at_an_end) for step in steps]


def _load_level(tables: Workspace, level: Sequence[_Route]) -> tuple[Name, Name]:
    """The splits of a level, and the branches of those that have groups or bands."""
    splits = {
        _AT: [route.place for route in level],
        _AXIS: [route.axis.number for route in level],
        _CUT: [route.cut for route in level],
        _LOW: [route.low for route in level],
        _HIGH: [route.high for route in level],
        _NULLS: [route.nulls for route in level],
    }
    named = [(route.place, code, target) for route in level for code, target in route.branches]
    branches = {name: [row[place] for row in named] for place, name in enumerate((_AT, _CODE, _TARGET))}
    return _load(tables, "predict_splits", splits), _load(tables, "predict_branches", branches)


def _load(tables: Workspace, label: str, columns: dict[str, list[int]]) -> Name:
    import pyarrow as pa

    return tables.load(label, {key: pa.array(values, pa.int32()) for key, values in columns.items()}, analyze=True)


def _move_rows(axes: Axes, step: Name, splits: Name, branches: Name) -> exp.Select:
    """The rows of a step one level on; the join leaves behind those that have ended."""
    code = _code_at(axes, column(_AXIS, "s"), "w")
    missing = exp.If(this=exp.LT(this=code.copy(), expression=exp.Literal.number(0)), true=column(_NULLS, "s"))
    under = exp.If(this=exp.LTE(this=code.copy(), expression=column(_CUT, "s")), true=column(_LOW, "s"))
    named = exp.If(
        this=exp.Not(this=exp.Is(this=column(_TARGET, "b"), expression=exp.Null())), true=column(_TARGET, "b")
    )
    target = exp.Case(ifs=[missing, named, under], default=column(_HIGH, "s"))
    picked = [column(_ROW, "w"), *(column(axis.name, "w") for axis in axes.values()), aliased(target, _AT)]
    same_node = exp.EQ(this=column(_AT, "s"), expression=column(_AT, "w"))
    same_code = exp.EQ(this=column(_CODE, "b"), expression=code.copy())
    in_branch = exp.And(this=exp.EQ(this=column(_AT, "b"), expression=column(_AT, "w")), expression=same_code)
    query = exp.Select(expressions=picked).from_(step.table("w")).join(splits.table("s"), on=same_node)
    return query.join(branches.table("b"), on=in_branch, join_type="left")
