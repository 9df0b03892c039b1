"""Everything the program knows about a method, in one place, and what a method is given to work with.

A new method is a package with a Method in it, and one line in policy/algorithms.py (or a call of registry.register).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from ppdm_sql.cells.aggregate import aggregate
from ppdm_sql.cells.apply import load_labels, narrow_rows
from ppdm_sql.cells.cells import Cells
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.methods.live_rules import own_type
from ppdm_sql.methods.live_values import live_values
from ppdm_sql.methods.plan import CellPlan, LabelTable, ModelPlan, Private, TablePlan
from ppdm_sql.models.library import Model
from ppdm_sql.policy.options import read_options
from ppdm_sql.policy.policy import Policy
from ppdm_sql.policy.words import ReleaseKind, many
from ppdm_sql.requirements import (
    AlphaShare,
    BetaLikeness,
    Closeness,
    ConfidenceLimit,
    DeltaDisclosure,
    DistinctDiversity,
    EnhancedLikeness,
    EntropyDiversity,
    KAnonymity,
    PopulationRequirement,
    RecursiveDiversity,
    Requirement,
    SimpleDiversity,
    decimal,
)
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.population import open_population
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import Word
from ppdm_sql.watching import Progress, silent

Declared = TypeVar("Declared")

ROWS = frozenset[ReleaseKind]({"TABLE", "VIEW"})
MODEL = frozenset[ReleaseKind]({"MODEL"})

# What can be decided from the counts of one class; closeness compares them with those of the whole table.
OF_CLASSES = frozenset[type[Requirement]](
    {KAnonymity, DistinctDiversity, SimpleDiversity, RecursiveDiversity, EntropyDiversity, ConfidenceLimit, AlphaShare}
)
OF_COUNTS = OF_CLASSES | frozenset[type[Requirement]]({Closeness, BetaLikeness, EnhancedLikeness, DeltaDisclosure})


class Asked:
    """What a policy asks of a method, read off a job of any form."""

    source: Source
    policy: Policy
    hierarchies: Mapping[str, Hierarchy]

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

    @property
    def cell_columns(self) -> tuple[str, ...]:
        """The columns that a table method looks at: rows alike in all of them are one cell."""
        target = (self.source.target,) if self.source.target is not None else ()
        return tuple(dict.fromkeys([*self.source.quasi, *target, *self.sensitive]))

    def options(self, declaration: type[Declared]) -> Declared:
        """The options of the policy, as the dataclass that declares them."""
        return read_options(declaration, self.policy.options, self.owner)


@dataclass(frozen=True)
class Job(Asked):
    """One statement that a method makes a plan for, over the rows of the source."""

    engine: Engine
    source: Source
    policy: Policy
    hierarchies: Mapping[str, Hierarchy]
    private: Private = field(default_factory=Private)
    progress: Progress = silent


@dataclass(frozen=True)
class CellJob(Asked):
    """One statement that a method makes a plan for, over the cells of the source: it sees no engine and no row."""

    cells: Cells
    source: Source
    policy: Policy
    hierarchies: Mapping[str, Hierarchy]
    progress: Progress = silent
    models: tuple[Model | None, ...] = ()  # per entry of PRESERVE the stored model it names, where it names one
    populations: Mapping[tuple[Word, ...], Cells] = field(default_factory=dict)  # that requirements name


@dataclass(frozen=True)
class Prepared:
    """What a method finds out in the engine before rows are counted."""

    columns: tuple[str, ...] = ()  # that rows are counted by, besides those of every table method
    people: bool = False  # whether it has to know who is in which cell
    models: tuple[Model | None, ...] = ()


def populations_of(job: Job) -> dict[tuple[Word, ...], Cells]:
    """The people of every population that a requirement names, by their quasi-identifiers."""
    engine, found = job.engine, {}
    for item in job.policy.requirements:
        if isinstance(item, PopulationRequirement):
            people = open_population(engine, job.source, item)
            found[item.population] = aggregate(engine, people, job.source.quasi)
    return found


def placed_rows(job: Job, cells: Cells, found: CellPlan) -> TablePlan:
    """What was made of cells, as a plan over the rows that they were counted from."""
    engine, source, values = job.engine, job.source, found.value_labels
    return TablePlan(
        query=narrow_rows(engine, source, cells, found.parts, job.private.columns, job.policy.seed, found.nulled),
        published=source.published,
        classes=found.parts.classes,
        rows=cells.total,
        suppressed_rows=found.parts.dropped(cells.rows),
        steps=found.steps,
        figures=found.figures,
        risks=found.risks,
        labels=_labels(engine, source, found),
        patterns=found.patterns,
        notes=found.notes,
        stand_ins=found.stand_ins,
        choices=found.choices,
        live=None if values is None else partial(live_values, engine, source, cells, values),
        later_rows=found.later_rows,
        twins=job.private.twins,
    )


@dataclass(frozen=True)
class Method:
    """A method and every fact about it; other code asks here instead of knowing methods by name."""

    name: str  # the word after ALGORITHM
    makes: frozenset[ReleaseKind]
    options: type  # a dataclass of declared options (policy/options.py)
    keeps: frozenset[type[Requirement]]  # the requirements it can promise
    needs_target: bool = False
    takes_hierarchies: bool = True  # of quasi-identifiers
    takes_tunings: bool = False  # ORDER, WEIGHT and AT MOST LEVEL behind quasi-identifiers
    leaves_rows_out: bool = False  # the clause SUPPRESS AT MOST
    preserves_trees: bool = False  # the clause PRESERVE
    labels_new_rows: bool = False  # a plan with default options has a recoding: for GROWING, recode.sql, evaluation
    why_not_new_rows: str = ""  # the reason why it cannot, where there is one to be said
    keeps_table: frozenset[type[Requirement]] = frozenset()  # what it keeps of all classes together, without a k for it
    runs_live: bool = False  # its recoding can be done at query time
    in_advice: bool = True  # advise tries it; False: its search can take minutes
    plan_cells: Callable[[CellJob], CellPlan] | None = None  # of a table, from cells
    plan_projections: Callable[[Job], TablePlan] | None = None  # of a table whose columns are parted into several
    prepare: Callable[[Job], Prepared] | None = None  # before them
    plan_model: Callable[[Job], ModelPlan] | None = None
    # What a declaration cannot say: options that depend on each other or on columns, which may not be known yet.
    check_options: Callable[[Policy, Source | None], None] | None = None

    def __post_init__(self) -> None:
        if self.makes_table != (self.plan_cells is not None or self.plan_projections is not None):
            raise ValueError(f"{self.name} needs plan_cells or plan_projections exactly if it makes a table")
        if bool(self.makes & MODEL) != (self.plan_model is not None):
            raise ValueError(f"{self.name} needs plan_model exactly if it makes a model")

    @property
    def makes_table(self) -> bool:
        """Whether it makes a table or view."""
        return bool(self.makes & ROWS)

    def table(self, job: Job) -> TablePlan:
        """The plan of a table or view; it leaves out no more rows than the policy allows."""
        self.check_requirements(job.policy)
        found = self._table(job)
        most = job.policy.suppress
        if most is not None and found.suppressed_rows > most * found.rows:
            raise RequirementBreached(
                f"{job.owner} would leave out {many(found.suppressed_rows, 'row')} of {found.rows:,}, and the policy "
                f"says SUPPRESS AT MOST {decimal(most * 100)} %: allow more, or ask for a smaller k"
            )
        return found

    @property
    def parts_columns(self) -> bool:
        """Whether it publishes several tables that share the class alone."""
        return self.plan_projections is not None

    def _table(self, job: Job) -> TablePlan:
        if self.plan_projections is not None:
            return self.plan_projections(job)
        assert self.plan_cells is not None
        engine, source = job.engine, job.source
        prepared = Prepared() if self.prepare is None else self.prepare(job)
        job.progress("counting combinations", 0, None)
        names = tuple(dict.fromkeys([*job.cell_columns, *prepared.columns]))
        enough = None if job.policy.table_requirements else max(job.k, 2)  # these may ask for a greater k
        cells = aggregate(engine, source, names, people=prepared.people, enough=enough)
        people = populations_of(job)
        cell_job = CellJob(cells, source, job.policy, job.hierarchies, job.progress, prepared.models, people)
        found = self._cell_plan(cell_job)
        job.progress("placing rows", 0, None)
        return placed_rows(job, cells, found)

    def _cell_plan(self, job: CellJob) -> CellPlan:
        """The plan; where the method does not know what is required of the whole table, with a k that is enough."""
        from ppdm_sql.methods.shared.whole_table import plan_with_least_k

        assert self.plan_cells is not None
        if all(type(item) in self.keeps_table for item in job.policy.table_requirements):
            return self.plan_cells(job)
        return plan_with_least_k(self.plan_cells, job)

    def model(self, job: Job) -> ModelPlan:
        """The plan of a model."""
        assert self.plan_model is not None
        self.check_requirements(job.policy)
        return self.plan_model(job)

    def check_requirements(self, policy: Policy) -> None:
        """Refuses a requirement that the method cannot promise, rather than passing it over."""
        by_size = KAnonymity in self.keeps and self.makes_table  # which they follow from
        kept = tuple(self.keeps)
        other = [item for item in policy.requirements if not (isinstance(item, kept) or (item.of_table and by_size))]
        if other:
            known = ", ".join(sorted(kind.word for kind in self.keeps))
            raise PolicyError(f"ALGORITHM {self.name} cannot keep {other[0]}; it keeps {known}")


def _labels(engine: Engine, source: Source, found: CellPlan) -> LabelTable:
    table, columns = load_labels(engine, found.labels, found.parts.classes)
    columns |= {name: own_type(engine, source.info(name), columns[name]) for name in found.typed}
    return LabelTable(table, columns)
