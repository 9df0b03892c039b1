"""What a session does with models by name: train, load, list, predict, audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ppdm_sql.catalog.models import ModelRecord
from ppdm_sql.errors import PolicyError
from ppdm_sql.models import library
from ppdm_sql.models.library import Model, Predicted
from ppdm_sql.source.given import relation_of
from ppdm_sql.table_questions import TableQuestions
from ppdm_sql.trees.audit import Audit, audit


class ModelCalls(TableQuestions):
    """A session's models."""

    def train(
        self,
        name: str,
        source: str,
        target: str,
        *,
        inducer: str = "c45",
        options: Mapping[str, Any] | None = None,
        rare: int | None = None,
        replace: bool = False,
    ) -> Model:
        """Learns a model from a table or a SELECT and keeps it under a name; rare = 1 names every category.

        inducer: id3, c45, cart, regression, naive_bayes or conjunctive_rules, each with its own options.
        """
        try:
            with self.engine.workspace():
                return library.train(
                    self.engine, name, source, target, inducer=inducer, options=options, rare=rare, replace=replace,
                    progress=self._progress,
                )  # fmt: skip
        finally:
            self._progress("done", 1, 1)

    def model(self, name: str) -> Model:
        return library.load(self.engine, name)

    def models(self) -> list[ModelRecord]:
        return library.list_models(self.engine)

    def predict(self, model: Model | str, source: str, into: str, keep: Sequence[str] | None = None) -> Predicted:
        """Writes what a model says of every row into a new table."""
        found = self.model(model) if isinstance(model, str) else model
        try:
            with self.engine.workspace():
                return library.predict_into(self.engine, found, source, into, keep, self._progress)
        finally:
            self._progress("done", 1, 1)

    def audit(
        self,
        model: Model | str | Sequence[Model | str],
        source: str,
        *,
        public: Sequence[str] | None = None,
        class_is_public: bool = False,
        entity: str | None = None,
        k: int | None = None,
        groups: int | None = 0,
    ) -> Audit:
        """Which people of a table an attacker can tell apart who has the model and knows the public columns.

        model: one, or several that the attacker has all.  groups: how many groups are described, the smallest first;
        None: all of them.
        """
        asked = [model] if isinstance(model, str | Model) else model
        _check_audit(asked, k, groups)
        self.engine.check_builtins()
        trees = [library.audited_tree(self.model(one) if isinstance(one, str) else one) for one in asked]
        with self.engine.workspace():
            relation = relation_of(self.engine, source)
            return audit(
                self.engine, trees, relation, public=public, class_is_public=class_is_public, entity=entity, k=k,
                groups=groups,
            )  # fmt: skip


def _check_audit(asked: object, k: object, groups: object) -> None:
    if not isinstance(asked, Sequence) or not asked or not all(isinstance(one, str | Model) for one in asked):
        raise PolicyError("an audit takes one model or several: give their names, or results of db.model(name)")
    for name, number, least in (("k", k, 1), ("groups", groups, 0)):
        if number is not None and (type(number) is not int or number < least):
            raise PolicyError(f"{name} of an audit must be a whole number of at least {least}")
