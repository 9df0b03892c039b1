"""A model of several tables that share a class: a tree of each, and the product of what they say.

A class scores the product of its shares in the leaves of all trees over P(class)^(tables - 1), each share with one row
more of every class (Laplace).  The logarithms are whole numbers, as those of naive Bayes, so every engine answers
alike; of equal scores the more frequent class wins, then the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlglot import exp

from ppdm_sql.catalog.models import ModelRecord
from ppdm_sql.classifiers.best_score import SHARE as SHARES
from ppdm_sql.classifiers.best_score import best_class_query, computed_once, pass_through_columns, score_name
from ppdm_sql.classifiers.values import fixed_log, literal, number, score
from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.induction.inducers import induce, settings
from ppdm_sql.models.classifier_kind import document_record, read_body
from ppdm_sql.models.kind import Chosen, LearnedModel, ModelKind
from ppdm_sql.policy.words import many
from ppdm_sql.statements.names import PREFIX, Name, aliased, column, stand_in
from ppdm_sql.trees import exchange, show
from ppdm_sql.trees.exchange import Document, fields, items
from ppdm_sql.trees.expression import CLASS, SHARE, bind, kept_columns, node_expression
from ppdm_sql.trees.tree import Attribute, Node, Tree, Value
from ppdm_sql.trees.tree_json import tree_from_dict, tree_to_dict
from ppdm_sql.watching import Progress

ROWS = stand_in("source")
_MOST_PARTS = 1000


@dataclass(frozen=True)
class PartTrees:
    """A tree of every table; all of them count the same rows and classes."""

    trees: tuple[Tree, ...]

    @property
    def target(self) -> Attribute:
        return self.trees[0].target

    @property
    def classes(self) -> tuple[Value, ...]:
        return self.trees[0].classes

    @property
    def counts(self) -> tuple[int, ...]:
        """The rows of every class."""
        return self.trees[0].root.counts

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return tuple(one for tree in self.trees for one in tree.attributes)

    @property
    def order(self) -> list[int]:
        """The classes from the most frequent on."""
        return sorted(range(len(self.classes)), key=lambda place: (-self.counts[place], place))

    def prior(self, place: int) -> int:
        """What P(class)^(tables - 1) takes away, as a whole number."""
        share = Fraction(self.counts[place] + 1, sum(self.counts) + len(self.classes))
        return -(len(self.trees) - 1) * fixed_log(share)

    def weight(self, node: Node, place: int) -> int:
        """The logarithm of the share that a class has in a node."""
        return fixed_log(Fraction(node.counts[place] + 1, sum(node.counts) + len(self.classes)))

    def to_dict(self) -> dict[str, Any]:
        return {"trees": [tree_to_dict(tree) for tree in self.trees]}

    @classmethod
    def from_dict(cls, content: object) -> PartTrees:
        """The model of its own document, which is not believed."""
        told = fields(content, "model", {"trees"})
        listed = items(told["trees"], "trees")
        if not 0 < len(listed) <= _MOST_PARTS:
            exchange.refuse(f"a model of several tables has 1 to {_MOST_PARTS:,} trees")
        return _checked_trees([tree_from_dict(one) for one in listed])


def _checked_trees(trees: Sequence[Tree]) -> PartTrees:
    """Refuses trees that are not of one class: their products would mean nothing."""
    first = trees[0]
    if any(tree.is_regression for tree in trees):
        raise PolicyError("a model of several tables predicts a class, and one of its trees a number")
    if any(_class_of(one) != _class_of(first) for one in trees):
        raise PolicyError("the tables do not have the same classes as often: they are not parts of one release")
    names = [one.name for tree in trees for one in tree.attributes]
    if len(set(names)) < len(names):
        raise PolicyError("a column is in several of the tables: they are not parts of one release")
    return PartTrees(tuple(trees))


def _class_of(tree: Tree) -> tuple[object, ...]:
    return tree.target, tree.classes, tree.root.counts


class PartsKind(ModelKind[PartTrees]):
    name = "parts"
    title = "a model of several tables"
    inducers = ()  # learned by those of trees, from the list of a release

    # -- learning ----------------------------------------------------------------------------------

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
    ) -> LearnedModel[PartTrees]:
        return self.learn_parts(engine, [(relation, attributes, target)], chosen, progress)

    def learn_parts(
        self,
        engine: Engine,
        tables: Sequence[tuple[Name, Sequence[ColumnInfo], ColumnInfo]],
        chosen: Chosen,
        progress: Progress,
    ) -> LearnedModel[PartTrees]:
        """A tree of every table, with the same options."""
        inducer = settings(chosen.inducer, chosen.options)
        found = [
            induce(engine, relation, attributes, target, inducer, progress=progress)
            for relation, attributes, target in tables
        ]
        learned = _checked_trees([one.tree for one in found])
        return LearnedModel(learned, found[0].rows, found[0].left_out)

    # -- keeping and exchanging --------------------------------------------------------------------

    def record(
        self,
        name: str,
        found: LearnedModel[PartTrees],
        chosen: Chosen | None = None,
        source_query: str | None = None,
    ) -> ModelRecord:
        first = found.learned.trees[0]
        options, advice = dict(first.options), "use fewer leaves"
        return document_record(name, self.name, first.inducer, options, found, chosen, source_query, advice)

    def load(self, engine: Engine, record: ModelRecord) -> PartTrees:
        return read_body(record, PartTrees.from_dict)

    def document(self, learned: PartTrees, name: str) -> str:
        return exchange.write(self.name, learned.to_dict(), name)

    def read(self, document: Document) -> LearnedModel[PartTrees]:
        learned = PartTrees.from_dict(document.model)
        return LearnedModel(learned, sum(learned.counts), 0)

    # -- showing -----------------------------------------------------------------------------------

    def size(self, record: ModelRecord) -> str:
        trees = record.body.get("trees") if isinstance(record.body, dict) else None
        return many(len(trees), "tree") if isinstance(trees, list) else "damaged"

    def figures(self, learned: PartTrees) -> dict[str, int]:
        return {
            "trees": len(learned.trees),
            "nodes": sum(len(tree.nodes) for tree in learned.trees),
            "leaves": sum(len(tree.leaves) for tree in learned.trees),
        }

    def text(self, learned: PartTrees) -> str:
        """Every tree with its number."""
        return "\n\n".join(_titled(learned, show.as_text))

    def rules(self, learned: PartTrees) -> str:
        return "\n\n".join(_titled(learned, show.as_rules))

    def sql(self, engine: Engine, learned: PartTrees) -> str:
        """A SELECT over ppdm_source, in whose place the reader puts a table."""
        names = [one.name for one in learned.attributes if not one.name.casefold().startswith(PREFIX)]
        return prediction_query(engine, learned, ROWS, names).sql(engine.dialect, pretty=True)

    # -- applying ----------------------------------------------------------------------------------

    def query(self, engine: Engine, learned: PartTrees, relation: Name, keep: Sequence[str]) -> exp.Select:
        names = kept_columns(engine, relation, keep)
        fitting = PartTrees(tuple(bind(engine, tree, relation) for tree in learned.trees))
        return prediction_query(engine, fitting, relation, names)


def _titled(learned: PartTrees, write: Any) -> Iterator[str]:
    for place, tree in enumerate(learned.trees, start=1):
        columns = ", ".join(one.name for one in tree.attributes)
        yield f"part {place} of {len(learned.trees)} ({columns})\n{write(tree)}"


def prediction_query(engine: Engine, model: PartTrees, relation: Name, keep: Sequence[str]) -> exp.Select:
    """The kept columns, the class with the greatest product, and how likely the model thinks it."""
    inner = exp.Select(expressions=pass_through_columns(keep, "r")).from_(relation.table("r"))
    for place, tree in enumerate(model.trees):
        inner = inner.select(aliased(node_expression(engine, tree, "r"), _node(place)), copy=False)
    outer = exp.Select(expressions=[column(f"ppdm_k{place}", "c") for place in range(len(keep))])
    for rank, class_place in enumerate(model.order):
        outer = outer.select(aliased(_score(model, class_place), score_name(rank)), copy=False)
    outer = outer.from_(inner.subquery("c", copy=False), copy=False)
    classes = [model.classes[place] for place in model.order]
    shares = best_class_query(outer, keep, classes, model.target.kind, with_shares=True)
    branches = [
        exp.If(this=literal(value, model.target.kind), true=column(f"{SHARES}{rank}", "p"))
        for rank, value in enumerate(classes)
    ]
    picked: list[exp.Expr] = [column(name, "p") for name in (*keep, CLASS)]
    picked.append(aliased(exp.Case(this=column(CLASS, "p"), ifs=branches), SHARE))
    return computed_once(exp.Select(expressions=picked).from_(shares.subquery("p", copy=False), copy=False), engine)


def _node(place: int) -> str:
    return f"{PREFIX}a{place}"


def _score(model: PartTrees, class_place: int) -> exp.Expr:
    total: exp.Expr = score(model.prior(class_place))
    for place, tree in enumerate(model.trees):
        branches = [
            exp.If(this=number(node.number), true=number(model.weight(node, class_place))) for node in tree.nodes
        ]
        weight = exp.Case(this=column(_node(place), "c"), ifs=branches, default=number(0))
        total = exp.Add(this=total, expression=weight)
    return total
