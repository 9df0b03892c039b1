"""What naive Bayes and rules have in common as named models: their counts are one JSON document in the catalog."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from ppdm_sql.catalog.models import ModelRecord
from ppdm_sql.catalog.store import ordered_json_text
from ppdm_sql.classifiers.document_reader import MOST_ROWS
from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.errors import PolicyError, Tampered
from ppdm_sql.models.kind import Chosen, LearnedModel, ModelKind
from ppdm_sql.policy.options import checked_options, default_options, from_text
from ppdm_sql.statements.names import Name
from ppdm_sql.trees import exchange
from ppdm_sql.trees.exchange import Document, typed_value
from ppdm_sql.trees.tree import Attribute, Value
from ppdm_sql.trees.tree_json import attribute_to_dict
from ppdm_sql.watching import Progress


class ModelDocument(Protocol):
    """A model that is one JSON document in the catalog."""

    @property
    def attributes(self) -> tuple[Attribute, ...]: ...
    @property
    def target(self) -> Attribute: ...
    @property
    def classes(self) -> tuple[Value, ...]: ...
    def to_dict(self) -> dict[str, object]: ...


Kept = TypeVar("Kept", bound=ModelDocument)


def document_record(
    name: str,
    kind: str,
    inducer: str,
    options: dict[str, Any],
    found: LearnedModel[Kept],
    chosen: Chosen | None,
    source_query: str | None,
    advice: str,
) -> ModelRecord:
    """The record of a model; advice: what makes one smaller that is too large."""
    learned = found.learned
    body = learned.to_dict()
    if len(ordered_json_text(body).encode()) > exchange.MOST_BYTES:
        raise PolicyError(f"the model would take more than {exchange.MOST_BYTES // (1024 * 1024)} MB: {advice}")
    return ModelRecord(
        name,
        kind,
        inducer,
        options,
        attribute_to_dict(learned.target),
        [attribute_to_dict(attribute) for attribute in learned.attributes],
        [typed_value(value) for value in learned.classes],
        found.rows,
        found.left_out,
        None if chosen is None else chosen.rare,
        source_query,
        body,
    )


def read_body(record: ModelRecord, read: Callable[[object], Kept]) -> Kept:
    """The model of a record; rows that were changed so that they make none are refused."""
    try:
        return read(record.body)
    except PolicyError as cause:
        raise Tampered(f'model "{record.name}": its rows in the catalog are damaged: {cause}') from cause


class Classifier(ModelDocument, Protocol):
    """What a model learned from counts shows of itself."""

    @property
    def without_class(self) -> int: ...
    @property
    def of_rare_classes(self) -> int: ...


Learned = TypeVar("Learned", bound=Classifier)


class ClassifierKind(ModelKind[Learned]):
    """A classifier that ppdm_sql.classifiers learns from counts."""

    @property
    @abstractmethod
    def learner(self) -> Callable[..., Learned]:
        """The function that learns it; its options are those of the inducer."""

    @abstractmethod
    def from_dict(self, content: object) -> Learned:
        """The model of its own document, checked."""

    @abstractmethod
    def row_count(self, learned: Learned) -> int:
        """The rows it was learned from, as far as its counts tell."""

    @abstractmethod
    def own_options(self, learned: Learned) -> dict[str, Any]:
        """The options that a model knows of itself, for one that was not learned here."""

    def settings(self, inducer: str, options: Mapping[str, Any]) -> Chosen:
        chosen = checked_options(self.learner, from_text(options), inducer)
        return Chosen(inducer, {**default_options(self.learner), **chosen})

    def learn(
        self,
        engine: Engine,
        relation: Name,
        attributes: Sequence[ColumnInfo],
        target: ColumnInfo,
        chosen: Chosen,
        progress: Progress,
    ) -> LearnedModel[Learned]:
        progress("counting values by class", 0, None)
        learned = self.learner(engine, relation, attributes, target, **chosen.options)
        return self.learned_model(learned)

    def learned_model(self, learned: Learned) -> LearnedModel[Learned]:
        return LearnedModel(learned, self.row_count(learned), learned.without_class + learned.of_rare_classes)

    def record(
        self, name: str, found: LearnedModel[Learned], chosen: Chosen | None = None, source_query: str | None = None
    ) -> ModelRecord:
        options = self.own_options(found.learned) if chosen is None else dict(chosen.options)
        advice = "leave out columns with very many categories, or do not name the rare ones"
        return document_record(name, self.name, self.inducers[0], options, found, chosen, source_query, advice)

    def load(self, engine: Engine, record: ModelRecord) -> Learned:
        return read_body(record, self.from_dict)

    def document(self, learned: Learned, name: str) -> str:
        return exchange.write(self.name, learned.to_dict(), name)

    def read(self, document: Document) -> LearnedModel[Learned]:
        if document.version != 1:
            exchange.refuse(f"a file of version {document.version} holds a tree")
        found = self.learned_model(self.from_dict(document.model))
        if found.rows > MOST_ROWS or found.left_out > MOST_ROWS:
            exchange.refuse("it counts more rows than a table has")
        return found
