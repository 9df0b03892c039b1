"""LDM: a tree grown with only such splits that every child by itself meets the policy.

Tian, Zhang, Xu, Sharkey compare their pruning with it (after Friedman et al. 2006).  docs/methods/ldm.md is the claim
sheet.  The inducer is the plain one of trees/; a veto takes away the splits that would break a requirement.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import OptionError, PolicyError
from ppdm_sql.induction.borders import At
from ppdm_sql.induction.criteria import Flags, Ints
from ppdm_sql.induction.inducers import Confidence, Depth, LeafRows, Leaves, Settings, Share, induce, settings
from ppdm_sql.methods.atp.bins import Bins, asked_columns, class_lookup
from ppdm_sql.methods.atp.cuts import read_cuts
from ppdm_sql.methods.atp.growth import grow_asked
from ppdm_sql.methods.atp.tree_pieces import Options, pieces_of, tree_of
from ppdm_sql.methods.base import MODEL, OF_CLASSES, Job, Method
from ppdm_sql.methods.plan import ModelPlan, ResidualRisk
from ppdm_sql.methods.shared.class_limits import (
    BORDERS,
    PINNED,
    Borders,
    ClassDemands,
    attributes_of,
    check_all_public,
    demands_of,
    refuse_nulls,
)
from ppdm_sql.methods.shared.linking_attack import attack_step, attacked, figures_of, one_leaf_step
from ppdm_sql.policy.options import AsWritten, Choice, Switch, Whole, about_option, read_options
from ppdm_sql.policy.policy import OptionValue, Policy
from ppdm_sql.policy.words import many
from ppdm_sql.source.encode import canonical
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import aliased
from ppdm_sql.trees.tree import attribute_of

REFUSALS = ResidualRisk(
    "refusals",
    "anyone who knows the algorithm can infer from a missing split that some child would have been too small",
)
HOMOGENEITY = ResidualRisk(
    "homogeneity",
    "k does not limit what the people of a leaf have in common: if all of a leaf have one class, the class of "
    "each is known",
)


@dataclass
class Refused:
    """The veto: a split may be when each of its children meets every requirement."""

    demands: ClassDemands
    splits: int = 0  # taken away

    def cuts(self, node: int, attribute: int, codes: Ints, low: Ints, high: Ints) -> Flags:
        fine = np.asarray(self.demands.hold(low) & self.demands.hold(high))
        self.splits += int(np.count_nonzero(~fine))
        return fine

    def groups(self, node: int, attribute: int, groups: list[Ints], counts: Ints) -> bool:
        fine = bool(self.demands.hold(counts).all())
        self.splits += not fine
        return fine


def plan_ldm(job: Job) -> ModelPlan:
    """The plan of a tree whose leaves all meet the policy."""
    options = job.options(LdmOptions)
    chosen, pinned = options.settings, options.borders == PINNED
    engine, source = job.engine, job.source
    demands = demands_of_rows(job)
    check_all_public(job, demands)
    refuse_nulls(job)
    assert source.target is not None
    whole = _class_counts(engine, source)
    if not whole.sum():
        raise PolicyError("the table has no rows, so nothing can be learned from it")
    demands.check_whole(source.target, whole)
    veto = Refused(demands)
    attributes = [source.info(name) for name in attributes_of(source)]
    if options.takes_bins:
        return _plan_of_bins(job, options, demands, veto)
    induced = induce(
        engine, source.relation, attributes, source.info(source.target), chosen, veto=veto,
        pinned=demands.least_rows if pinned else 1, progress=job.progress,
    )  # fmt: skip
    told = {name: value for name, value in chosen.as_record().items() if name in vars(options)}
    tree = replace(
        induced.tree,
        inducer="ldm",
        options={"form": chosen.inducer, **told, "borders": options.borders, "k": demands.k},
    )
    job.progress("auditing the tree", 0, None)
    found = attacked(engine, tree, source, demands)
    return ModelPlan(
        tree=tree,
        public=source.quasi,
        rows=induced.rows,
        steps=(
            f"grow {chosen.inducer} over {many(len(attributes), 'attribute')} of {many(induced.rows, 'row')}, allowing "
            f"only splits whose children all meet the requirements; {veto.splits} were not allowed",
            attack_step(found, "row"),
            *one_leaf_step(tree),
        ),
        figures={**figures_of(tree, found), "candidates dropped": veto.splits},
        risks=(*(() if demands.others else (HOMOGENEITY,)), REFUSALS, *(() if pinned else (BORDERS,))),
    )


def _plan_of_bins(job: Job, options: LdmOptions, demands: ClassDemands, veto: Refused) -> ModelPlan:
    """The same over columns in categories, numbers in bins: one branch per category, as ATP's trees have."""
    engine, source = job.engine, job.source
    assert source.target is not None
    target = source.info(source.target)
    classes_of, classes, whole = class_lookup(engine, source.relation, target)
    columns = [source.info(name) for name in attributes_of(source)]
    number = BINS if options.bins is None else options.bins
    bins = Bins(number, options.binning or "frequency", demands.least_rows, _declared_cuts(options, source))
    asked = asked_columns(engine, source.relation, columns, classes_of, bins)
    grown = grow_asked(
        engine, source, asked, classes_of, whole, min_leaf=options.min_leaf, max_depth=options.max_depth,
        by_ratio=options.form == "c45", veto=veto, progress=job.progress,
    )  # fmt: skip
    told: Options = {"form": options.form, "bins": number, "binning": bins.way, "min_leaf": options.min_leaf}
    tree = tree_of(pieces_of(grown), asked, attribute_of(target), classes, {**told, "k": demands.k})
    tree = replace(tree, inducer="ldm")
    job.progress("auditing the tree", 0, None)
    found = attacked(engine, tree, source, demands)
    return ModelPlan(
        tree=tree,
        public=source.quasi,
        rows=int(whole.sum()),
        steps=(
            f"put {many(len(asked), 'attribute')} of {many(int(whole.sum()), 'row')} into categories, numbers into at "
            f"most {number} bins by {bins.way}",
            f"grow {options.form} with one branch per category, allowing only splits whose children all meet the "
            f"requirements; {veto.splits} were not allowed",
            attack_step(found, "row"),
            *one_leaf_step(tree),
        ),
        figures={**figures_of(tree, found), "candidates dropped": veto.splits},
        risks=(*(() if demands.others else (HOMOGENEITY,)), REFUSALS),
    )


def _declared_cuts(options: LdmOptions, source: Source) -> dict[str, tuple[At, ...]]:
    if options.cuts is None:
        return {}
    with about_option("cuts"):
        return read_cuts(options.cuts, source, "ldm")


def check_ldm(policy: Policy, source: Source | None) -> None:
    """Refuses options that do not go together, and wrong cuts if the columns they name are known."""
    options = read_options(LdmOptions, policy.options, "ALGORITHM ldm")
    if not options.takes_bins:
        return
    for name in BINARY_ONLY:
        if name in policy.options:
            raise OptionError(name, f"{name} of ALGORITHM ldm is for splits at thresholds: leave bins and cuts out")
    if source is not None:
        _declared_cuts(options, source)


BINS = 6
BINARY_ONLY = ("borders", "max_leaves", "min_gain", "prune", "confidence", "mdl")


@dataclass(frozen=True)
class LdmOptions:
    """What is None is as the inducer does it."""

    form: Annotated[str, Choice("id3", "c45")] = "id3"
    borders: Borders = PINNED
    min_leaf: LeafRows = 1
    max_depth: Depth | None = None
    max_leaves: Leaves = None
    min_gain: Share | None = None
    prune: Annotated[bool | None, Switch()] = None
    confidence: Confidence | None = None
    mdl: Annotated[bool | None, Switch()] = None
    bins: Annotated[int | None, Whole(2, 1000)] = None
    binning: Annotated[str | None, Choice("frequency", "width", "mdl")] = None
    cuts: Annotated[OptionValue | None, AsWritten("a list of columns and where each is cut")] = None

    @property
    def takes_bins(self) -> bool:
        """Whether numbers are asked for by bins, one branch each, as atp does."""
        return not (self.bins is None and self.binning is None and self.cuts is None)

    @property
    def settings(self) -> Settings:
        """The inducer.  Every value a branch names is one that its rows have, and each branch meets k: none is rare."""
        own = ("form", "borders", "bins", "binning", "cuts")
        given = {name: value for name, value in vars(self).items() if name not in own and value is not None}
        return settings(self.form, {**given, "rare": 1})


LDM = Method(
    "ldm", MODEL, LdmOptions, OF_CLASSES, needs_target=True, takes_hierarchies=False, plan_model=plan_ldm,
    check_options=check_ldm,
)  # fmt: skip


def demands_of_rows(job: Job) -> ClassDemands:
    """The plain inducer counts rows: where ENTITY is named each person must have one, and then these are persons."""
    demands = demands_of(job, takes_private=False)
    if job.counts_persons:
        rows, persons = _rows_and_persons(job.engine, job.source)
        if rows != persons:
            raise PolicyError(
                f"{job.owner} counts rows, but the {rows} rows belong to {persons} persons: select one row per "
                "person, or use kadet, which counts persons"
            )
    return replace(demands, of_persons=False)


def _class_counts(engine: Engine, source: Source) -> Ints:
    assert source.target is not None
    value = canonical(engine, source.info(source.target))
    query = exp.Select(expressions=[aliased(exp.Count(this=exp.Star()), "ppdm_n")]).from_(source.relation.table())
    return engine.arrays(query.group_by(value))["ppdm_n"].astype(np.int64)


def _rows_and_persons(engine: Engine, source: Source) -> tuple[int, int]:
    """How many rows there are, and how many different persons they are of."""
    assert source.entity is not None
    person = canonical(engine, source.info(source.entity), "r")
    counted = [exp.Count(this=exp.Star()), exp.Count(this=exp.Distinct(expressions=[person]))]
    rows, people = engine.fetch_one(exp.Select(expressions=counted).from_(source.relation.table("r")))
    return int(rows), int(people)
