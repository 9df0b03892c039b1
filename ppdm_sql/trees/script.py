"""A model for somebody who has a bare DuckDB and nothing else: one SQL script with its nodes and its predictor."""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.engines.connect import open_engine
from ppdm_sql.statements.names import Name, identifier
from ppdm_sql.trees.expression import class_expression
from ppdm_sql.trees.show import branch_text, value_text
from ppdm_sql.trees.tree import Node, Tree

_COLUMNS = {"node": "BIGINT", "parent": "BIGINT", "condition": "TEXT", "answer": "TEXT", "rows": "BIGINT"}


def as_script(tree: Tree, name: str) -> str:
    """CREATE TABLE <name>_nodes with one row per node, and CREATE MACRO predict_<name>(column, ...).

    Run it with `duckdb my.duckdb < file.sql`; then SELECT predict_<name>(age, sex) FROM my_table.
    """
    with open_engine(":memory:") as engine:
        body = class_expression(engine, tree)
    taken = [identifier(tree.attributes[number].name) for number in tree.used()]
    head = exp.UserDefinedFunction(this=Name(f"predict_{name}").table(), expressions=taken, wrapped=True)
    macro = exp.Create(this=head, kind="MACRO", expression=body, replace=True)
    statements = [_table(tree, name), macro]
    return "".join(f"{one.sql('duckdb', pretty=True, comments=False)};\n" for one in statements)


def _table(tree: Tree, name: str) -> exp.Create:
    rows = [exp.Tuple(expressions=_row(tree, node)) for node in tree.nodes]
    listed = exp.Values(
        expressions=rows,
        alias=exp.TableAlias(this=identifier("v"), columns=[identifier(column) for column in _COLUMNS]),
    )
    picked = [exp.alias_(exp.cast(exp.column(column), kind), column) for column, kind in _COLUMNS.items()]
    query = exp.Select(expressions=picked).from_(listed)
    return exp.Create(this=Name(f"{name}_nodes").table(), kind="TABLE", expression=query, replace=True)


def _row(tree: Tree, node: Node) -> list[exp.Expr]:
    condition = ""
    if node.parent is not None:
        parent = tree.nodes[node.parent]
        condition = branch_text(tree, parent, parent.children.index(node.number))
    parent_number = exp.Null() if node.parent is None else exp.Literal.number(node.parent)
    return [
        exp.Literal.number(node.number),
        parent_number,
        exp.Literal.string(condition),
        exp.Literal.string(value_text(tree.prediction(node))),
        exp.Literal.number(node.rows),
    ]
