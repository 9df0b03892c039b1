"""A model for a user who has a bare DuckDB and nothing else: one SQL script with its nodes and its predictor.

The script makes what is not there yet and replaces nothing: it runs in another user's database.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.engines.connect import open_engine
from ppdm_sql.statements.handed_over import comment, statement_text
from ppdm_sql.statements.names import Name, identifier
from ppdm_sql.trees.expression import open_expression
from ppdm_sql.trees.show import branch_text, value_text, whole
from ppdm_sql.trees.tree import Node, Tree, Value

_COLUMNS = {"node": "BIGINT", "parent": "BIGINT", "condition": "TEXT", "answer": "TEXT", "rows": "BIGINT"}


def as_script(tree: Tree, name: str, file: str | None = None) -> str:
    """CREATE TABLE <name>_nodes with one row per node, and CREATE MACRO predict_<name>(column, ...).

    file: what the script will be called (<name>.json.sql); its head says how it is run, used and undone.
    """
    with open_engine(":memory:") as engine:
        made = [*([_macro(engine, tree, name)] if _has_macro(tree) else []), _table(tree, name)]
    parts = [
        _head(tree, name, file or f"{name}.json.sql"),
        "BEGIN TRANSACTION;",
    ]  # both or none, also where one of the names is taken
    parts += [statement_text(one) for one in made]
    return "\n\n".join([*parts, "COMMIT;"]) + "\n"


def _nodes(name: str) -> exp.Table:
    return Name(f"{name}_nodes").table()


def _predictor(name: str) -> exp.Table:
    return Name(f"predict_{name}").table()


def _has_macro(tree: Tree) -> bool:
    """The parameters of a macro have no case: columns that differ in nothing else cannot both be taken."""
    names = [tree.attributes[number].name.casefold() for number in tree.used_attributes()]
    return len(set(names)) == len(names)


def _used_columns(tree: Tree) -> list[exp.Identifier]:
    return [identifier(tree.attributes[number].name) for number in tree.used_attributes()]


# -- the head --------------------------------------------------------------------------------------------------------


def _head(tree: Tree, name: str, file: str) -> str:
    nodes = exp.Select(expressions=[exp.Star()]).from_(_nodes(name))
    lines = [
        f"A model that predicts {tree.target.name}, for plain DuckDB: duckdb my.duckdb < {shlex.quote(file)}",
        f"    {nodes.sql('duckdb')};        -- the tree, one row per node",
    ]
    drops = [exp.Drop(tables=[_nodes(name)], kind="TABLE")]
    if _has_macro(tree):
        call = exp.Anonymous(this=_predictor(name).this, expressions=_used_columns(tree))
        used = exp.Select(expressions=[exp.Star(), call]).from_(Name("my_table").table())
        lines += [
            f"    {used.sql('duckdb', normalize_functions=False)};        -- the prediction for each row",
            *_arguments(tree),
        ]
        drops.append(exp.Drop(tables=[_predictor(name)], kind="MACRO"))
    else:
        lines.append("Two columns differ only in case, so there is no macro: it could not take both.")
    lines.append("Nothing is replaced: if one of these names is taken, the script creates nothing.  To undo it:")
    lines += [f"    {drop.sql('duckdb')};" for drop in drops]
    return comment(lines)


def _arguments(tree: Tree) -> Sequence[str]:
    """What the macro takes, in its order."""
    used = [tree.attributes[number] for number in tree.used_attributes()]
    if not used:
        return ["The model needs no column: it predicts the same for every row."]
    return ["Its arguments, in this order:", *(f"    {one.name} ({one.kind.value})" for one in used)]


# -- the statements --------------------------------------------------------------------------------------------------


def _macro(engine: Engine, tree: Tree, name: str) -> exp.Create:
    head = exp.UserDefinedFunction(this=_predictor(name), expressions=_used_columns(tree), wrapped=True)
    return exp.Create(this=head, kind="MACRO", expression=open_expression(engine, tree))


def _table(tree: Tree, name: str) -> exp.Create:
    rows = [exp.Tuple(expressions=_row(tree, node)) for node in tree.nodes]
    listed = exp.Values(
        expressions=rows,
        alias=exp.TableAlias(this=identifier("v"), columns=[identifier(column) for column in _COLUMNS]),
    )
    picked = [exp.alias_(exp.cast(exp.column(column), kind), column) for column, kind in _COLUMNS.items()]
    return exp.Create(this=_nodes(name), kind="TABLE", expression=exp.Select(expressions=picked).from_(listed))


def _row(tree: Tree, node: Node) -> list[exp.Expr]:
    condition = ""
    if node.parent is not None:
        parent = tree.nodes[node.parent]
        condition = branch_text(tree, parent, parent.children.index(node.number), whole)
    parent_number = exp.Null() if node.parent is None else exp.Literal.number(node.parent)
    return [
        exp.Literal.number(node.number),
        parent_number,
        exp.Literal.string(condition),
        _answer(tree.prediction(node)),
        exp.Literal.number(node.rows),
    ]


def _answer(value: Value) -> exp.Expr:
    """A class as a text, without the quotes it has in SQL."""
    if value is None:
        return exp.Null()
    return exp.Literal.string(value if isinstance(value, str) else value_text(value, whole))
