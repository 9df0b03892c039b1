"""Naive Bayes as a named model: its counts in the catalog, its answers by one SELECT of layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from ppdm_sql.catalog.models import ModelRecord
from ppdm_sql.classifiers import naive_bayes
from ppdm_sql.classifiers.best_score import SHARE as SHARES
from ppdm_sql.classifiers.best_score import computed_once
from ppdm_sql.classifiers.domains import NumericDomain, fit_boundary
from ppdm_sql.classifiers.naive_bayes import Counted, NaiveBayes, Part
from ppdm_sql.classifiers.values import literal
from ppdm_sql.engines.base import Engine
from ppdm_sql.models.bayes_text import as_text
from ppdm_sql.models.classifier_kind import ClassifierKind
from ppdm_sql.policy.words import many
from ppdm_sql.statements.names import PREFIX, Name, aliased, column, stand_in
from ppdm_sql.trees.expression import CLASS, SHARE, fitted_attributes, kept_columns
from ppdm_sql.trees.tree import Attribute

ROWS = stand_in("source")  # stands for the table of the statement's reader


class BayesKind(ClassifierKind[NaiveBayes]):
    name = "naive_bayes"
    title = "a naive Bayes model"
    inducers = ("naive_bayes",)

    @property
    def learner(self) -> Callable[..., NaiveBayes]:
        return naive_bayes.learn

    def from_dict(self, content: object) -> NaiveBayes:
        return NaiveBayes.from_dict(content)

    def row_count(self, learned: NaiveBayes) -> int:
        return sum(learned.priors)

    def own_options(self, learned: NaiveBayes) -> dict[str, Any]:
        return {"laplace": learned.laplace, "laplace_prior": learned.laplace_prior}

    def size(self, record: ModelRecord) -> str:
        return many(len(record.attributes), "attribute") if isinstance(record.attributes, list) else "damaged"

    def figures(self, learned: NaiveBayes) -> dict[str, int]:
        return {"attributes": len(learned.attributes), "classes": len(learned.classes)}

    def text(self, learned: NaiveBayes) -> str:
        return as_text(learned)

    def sql(self, engine: Engine, learned: NaiveBayes) -> str:
        """A SELECT over ppdm_source, in whose place the reader puts a table."""
        names = [one.name for one in learned.attributes if not one.name.casefold().startswith(PREFIX)]
        return _prediction_query(engine, learned, ROWS, names).sql(engine.dialect, pretty=True)

    def query(self, engine: Engine, learned: NaiveBayes, relation: Name, keep: Sequence[str]) -> exp.Select:
        names = kept_columns(engine, relation, keep)
        return _prediction_query(engine, bind_to_relation(engine, learned, relation), relation, names)


def bind_to_relation(engine: Engine, model: NaiveBayes, relation: Name) -> NaiveBayes:
    """The model for the columns of a relation, compared as their types ask; refuses what does not fit."""
    used = range(len(model.attributes))
    attributes = fitted_attributes(model.attributes, used, engine.columns(relation), str(relation))
    parts = tuple(_fit_part(*pair) for pair in zip(model.parts, attributes, strict=True))
    return replace(model, attributes=attributes, parts=parts)


def _fit_part(part: Part, attribute: Attribute) -> Part:
    if not isinstance(part, Counted) or not isinstance(part.domain, NumericDomain):
        return part
    return replace(part, domain=NumericDomain(tuple(fit_boundary(one, attribute) for one in part.domain.boundaries)))


def _prediction_query(engine: Engine, model: NaiveBayes, relation: Name, keep: Sequence[str]) -> exp.Select:
    """The kept columns, the class and how likely the model thinks it."""
    shares = naive_bayes.predict_query(model, relation, keep, engine=engine, shares=True)
    branches = [
        exp.If(this=literal(value, model.target.kind), true=column(f"{SHARES}{place}", "p"))
        for place, value in enumerate(model.classes)
    ]
    picked: list[exp.Expr] = [column(name, "p") for name in (*keep, CLASS)]
    picked.append(aliased(exp.Case(this=column(CLASS, "p"), ifs=branches), SHARE))
    return computed_once(exp.Select(expressions=picked).from_(shares.subquery("p", copy=False), copy=False), engine)
