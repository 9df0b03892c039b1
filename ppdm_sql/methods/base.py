"""Everything the program knows about a method, in one place, and what a method is given to work with.

A new method is a package with a Method in it, and one line in policy/algorithms.py (or a call of registry.register).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.methods.plan import ModelPlan, Private, TablePlan
from ppdm_sql.policy.options import read_options
from ppdm_sql.policy.policy import Policy
from ppdm_sql.policy.words import ReleaseKind
from ppdm_sql.requirements import (
    Closeness,
    ConfidenceLimit,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    Requirement,
    SimpleDiversity,
)
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.relation import Source
from ppdm_sql.watching import Progress, silent

Declared = TypeVar("Declared")

ROWS = frozenset[ReleaseKind]({"TABLE", "VIEW"})
MODEL = frozenset[ReleaseKind]({"MODEL"})

# What can be decided from the counts of one class; closeness compares them with those of the whole table.
OF_CLASSES = frozenset[type[Requirement]](
    {KAnonymity, DistinctDiversity, SimpleDiversity, RecursiveDiversity, EntropyDiversity, ConfidenceLimit}
)
OF_COUNTS = OF_CLASSES | {Closeness}


@dataclass(frozen=True)
class Job:
    """One statement that a method makes a plan for."""

    engine: Engine
    source: Source
    policy: Policy
    hierarchies: Mapping[str, Hierarchy]
    private: Private = field(default_factory=Private)
    progress: Progress = silent

    @property
    def owner(self) -> str:
        """The method as messages name it."""
        return f"ALGORITHM {self.policy.algorithm}"

    @property
    def k(self) -> int:
        """The size that every class must have; 1 where nothing is required of it."""
        return self.k_or(1)

    def k_or(self, default: int) -> int:
        """The same with another number where nothing is required of it."""
        return self.policy.k or default

    @property
    def counts_persons(self) -> bool:
        """Whether k counts persons, not rows."""
        return self.source.entity is not None

    @property
    def value_requirements(self) -> tuple[Requirement, ...]:
        """What is required of the sensitive values."""
        return self.policy.value_requirements

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The columns that something is required of."""
        return tuple(self.source.sensitive) if self.value_requirements else ()

    def options(self, declaration: type[Declared]) -> Declared:
        """The options of the policy, as the dataclass that declares them."""
        return read_options(declaration, self.policy.options, self.owner)


@dataclass(frozen=True)
class Method:
    """A method and every fact about it; other code asks here instead of knowing methods by name."""

    name: str  # the word after ALGORITHM
    makes: frozenset[ReleaseKind]
    options: type  # a dataclass of declared options (policy/options.py)
    keeps: frozenset[type[Requirement]]  # the requirements it can promise
    needs_target: bool = False
    takes_hierarchies: bool = True  # of quasi-identifiers
    preserves_trees: bool = False  # the clause PRESERVE
    labels_new_rows: bool = False  # a row outside can be recoded the same way
    runs_live: bool = False  # its recoding can be done at query time
    plan_table: Callable[[Job], TablePlan] | None = None
    plan_model: Callable[[Job], ModelPlan] | None = None
    # What a declaration cannot say: options that depend on each other or on columns, which may not be known yet.
    check_options: Callable[[Policy, Source | None], None] | None = None

    def __post_init__(self) -> None:
        if bool(self.makes & ROWS) != (self.plan_table is not None):
            raise ValueError(f"{self.name} needs plan_table exactly if it makes a table")
        if bool(self.makes & MODEL) != (self.plan_model is not None):
            raise ValueError(f"{self.name} needs plan_model exactly if it makes a model")

    def table(self, job: Job) -> TablePlan:
        """The plan of a table or view."""
        assert self.plan_table is not None
        self.check_requirements(job.policy)
        return self.plan_table(job)

    def model(self, job: Job) -> ModelPlan:
        """The plan of a model."""
        assert self.plan_model is not None
        self.check_requirements(job.policy)
        return self.plan_model(job)

    def check_requirements(self, policy: Policy) -> None:
        """Refuses a requirement that the method cannot promise, rather than passing it over."""
        other = [item for item in policy.requirements if not isinstance(item, tuple(self.keeps))]
        if other:
            known = ", ".join(sorted(kind.word for kind in self.keeps))
            raise PolicyError(f"ALGORITHM {self.name} cannot keep {other[0]}; it keeps {known}")
