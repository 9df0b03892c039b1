"""Decision and regression trees as named models: rows of the catalog, a CASE or a walk by levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from ppdm_sql.catalog.models import ModelRecord, Stored
from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.induction.inducers import INDUCERS, induce, settings
from ppdm_sql.models.kind import Chosen, LearnedModel, ModelKind
from ppdm_sql.policy.words import many
from ppdm_sql.statements.names import Name
from ppdm_sql.trees import picture, show, stored, tree_json
from ppdm_sql.trees.exchange import Document
from ppdm_sql.trees.expression import open_expression, predict_select
from ppdm_sql.trees.predict import prediction_query
from ppdm_sql.trees.tree import Tree
from ppdm_sql.watching import Progress


class TreeKind(ModelKind[Tree]):
    name = "tree"
    title = "a tree"
    inducers = INDUCERS

    def settings(self, inducer: str, options: Mapping[str, Any]) -> Chosen:
        return Chosen(inducer, settings(inducer, options).as_record())

    def learn(
        self,
        engine: Engine,
        relation: Name,
        attributes: Sequence[ColumnInfo],
        target: ColumnInfo,
        chosen: Chosen,
        progress: Progress,
    ) -> LearnedModel[Tree]:
        inducer = settings(chosen.inducer, chosen.options)
        found = induce(engine, relation, attributes, target, inducer, progress=progress)
        return LearnedModel(found.tree, found.rows, found.left_out)

    def hint(self, learned: Tree) -> str | None:
        if len(learned.nodes) > 1:
            return None
        return "no split improves the prediction with these settings; --option prune=false switches pruning off"

    def record(
        self, name: str, found: LearnedModel[Tree], chosen: Chosen | None = None, source_query: str | None = None
    ) -> ModelRecord:
        rare = None if chosen is None else chosen.rare
        return stored.record_of(
            name, found.learned, rows=found.rows, left_out=found.left_out, rare=rare, source_query=source_query
        )

    def rows(self, learned: Tree) -> Stored:
        return stored.rows_of(learned)

    def load(self, engine: Engine, record: ModelRecord) -> Tree:
        return stored.tree_of(engine, record)

    def document(self, learned: Tree, name: str) -> str:
        return tree_json.tree_text(learned, name)

    def read(self, document: Document) -> LearnedModel[Tree]:
        tree = tree_json.tree_of(document)
        return LearnedModel(tree, tree.root.rows, 0)

    def size(self, record: ModelRecord) -> str:
        return f"{many(record.nodes, 'node')}, {many(record.leaves, 'leaf', 'leaves')}"

    def figures(self, learned: Tree) -> dict[str, int]:
        return {"nodes": len(learned.nodes), "leaves": len(learned.leaves), "depth": learned.depth}

    def text(self, learned: Tree) -> str:
        return show.as_text(learned)

    def rules(self, learned: Tree) -> str:
        return show.as_rules(learned)

    def sql(self, engine: Engine, learned: Tree) -> str:
        return show.as_sql(engine, learned)

    def svg(self, learned: Tree, title: str) -> str:
        return picture.as_svg(learned, title=title)

    def html(self, learned: Tree) -> str:
        return learned._repr_html_()

    def query(self, engine: Engine, learned: Tree, relation: Name, keep: Sequence[str]) -> exp.Select:
        return predict_select(engine, learned, relation, keep)

    def write(self, engine: Engine, learned: Tree, relation: Name, keep: Sequence[str], into: Name) -> None:
        """The quicker of two ways; a view has to be one statement, a table may be made in steps."""
        with engine.workspace():
            engine.create_table(into, prediction_query(engine, learned, relation, keep))

    def expression(self, engine: Engine, learned: Tree) -> tuple[list[str], exp.Expr]:
        taken = [learned.attributes[number].name for number in learned.used_attributes()]
        return taken, open_expression(engine, learned)
