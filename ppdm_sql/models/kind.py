"""What every kind of model can do: be learned, kept, shown, applied and handed over.  kinds.py lists them.

A kind knows nothing of names and transactions: those are the library's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from markupsafe import escape
from sqlglot import exp

from ppdm_sql.catalog.models import ModelRecord, Stored
from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.names import Name
from ppdm_sql.trees.exchange import Document
from ppdm_sql.watching import Progress

Learned = TypeVar("Learned")


@dataclass(frozen=True)
class Chosen:
    """An inducer with all its options, checked."""

    inducer: str
    options: Mapping[str, Any]

    @property
    def rare(self) -> int:
        return int(self.options["rare"])


@dataclass(frozen=True)
class LearnedModel(Generic[Learned]):
    """What was learned, from how many rows, and how many were left out: without a class, or of a rare one."""

    learned: Learned
    rows: int
    left_out: int


class ModelKind(ABC, Generic[Learned]):
    """One kind of model."""

    name: ClassVar[str]  # in the catalog and in exchange files
    title: ClassVar[str]  # in messages
    inducers: ClassVar[tuple[str, ...]]

    # -- learning ----------------------------------------------------------------------------------

    @abstractmethod
    def settings(self, inducer: str, options: Mapping[str, Any]) -> Chosen:
        """The options, checked; numbers may come as text.  What is not said is as its default says."""

    @abstractmethod
    def learn(
        self,
        engine: Engine,
        relation: Name,
        attributes: Sequence[ColumnInfo],
        target: ColumnInfo,
        chosen: Chosen,
        progress: Progress,
    ) -> LearnedModel[Learned]:
        """Learns from a relation; only counts leave the database."""

    def hint(self, learned: Learned) -> str | None:
        """What to say of a model that has learned nothing."""
        return None

    # -- keeping -----------------------------------------------------------------------------------

    @abstractmethod
    def record(
        self, name: str, found: LearnedModel[Learned], chosen: Chosen | None = None, source_query: str | None = None
    ) -> ModelRecord:
        """The model's head for the catalog; without settings it was imported."""

    def rows(self, learned: Learned) -> Stored:
        """The rows of the catalog's tables besides the head."""
        return {}

    @abstractmethod
    def load(self, engine: Engine, record: ModelRecord) -> Learned:
        """What was kept; rows that were changed so that they make no model are refused."""

    # -- exchanging --------------------------------------------------------------------------------

    @abstractmethod
    def document(self, learned: Learned, name: str) -> str:
        """The exchange file."""

    @abstractmethod
    def read(self, document: Document) -> LearnedModel[Learned]:
        """The model of an exchange file, which is not believed."""

    # -- showing -----------------------------------------------------------------------------------

    @abstractmethod
    def size(self, record: ModelRecord) -> str:
        """How large it is, in words."""

    @abstractmethod
    def figures(self, learned: Learned) -> dict[str, int]:
        """How large it is, for machines."""

    @abstractmethod
    def text(self, learned: Learned) -> str:
        """The model for people."""

    def rules(self, learned: Learned) -> str:
        """The model as rules, one per line."""
        raise PolicyError(f"{self.title} has no rules: use --as text")

    @abstractmethod
    def sql(self, engine: Engine, learned: Learned) -> str:
        """What gives the class, to be used in any client."""

    def svg(self, learned: Learned, title: str) -> str:
        """A picture."""
        raise PolicyError(f"only a tree has a picture, and this is {self.title}: use --as text")

    def html(self, learned: Learned) -> str:
        """The model in a notebook."""
        return f"<pre>{escape(self.text(learned))}</pre>"

    # -- applying ----------------------------------------------------------------------------------

    @abstractmethod
    def query(self, engine: Engine, learned: Learned, relation: Name, keep: Sequence[str]) -> exp.Select:
        """The kept columns of every row and what the model says of it: one statement that needs nothing else."""

    def write(self, engine: Engine, learned: Learned, relation: Name, keep: Sequence[str], into: Name) -> None:
        """The same in a new table."""
        engine.create_table(into, self.query(engine, learned, relation, keep))

    def expression(self, engine: Engine, learned: Learned) -> tuple[list[str], exp.Expr]:
        """The columns that are asked for and the class as one expression over them, for a macro."""
        raise PolicyError(
            f"{self.title} is not a single expression, which a macro needs: create a view with --view and --from"
        )
