"""LDM: a tree grown with only such splits that every child by itself meets the policy.

Tian, Zhang, Xu, Sharkey compare their pruning with it (after Friedman et al. 2006).  docs/methods/ldm.md is the claim
sheet.  The inducer is the plain one of trees/; a veto takes away the splits that would break a requirement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import OptionError, PolicyError
from ppdm_sql.methods.plan import ModelPlan, Risk
from ppdm_sql.methods.shared.class_limits import (
    BORDERS,
    ClassDemands,
    attributes_of,
    borders_are_pinned,
    check_all_public,
    demands_of,
    refuse_nulls,
)
from ppdm_sql.methods.shared.linking_attack import attack_step, attacked, figures_of, one_leaf_step
from ppdm_sql.methods.shared.person_rows import several_rows
from ppdm_sql.policy.options import about_option, unknown_option
from ppdm_sql.policy.policy import Policy
from ppdm_sql.policy.words import many
from ppdm_sql.source.encode import canonical
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import aliased
from ppdm_sql.trees.criteria import Flags, Ints
from ppdm_sql.trees.inducers import Settings, induce, settings
from ppdm_sql.watching import Progress

_OPTIONS = ("min_leaf", "max_depth", "max_leaves", "min_gain", "prune", "confidence", "mdl")
REFUSALS = Risk(
    "refusals", "who knows the method can conclude from a split that is not there that some child would have been small"
)
HOMOGENEITY = Risk("homogeneity", "k says nothing of what a leaf has in common: in a leaf of one class it is known")


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


def ldm(
    engine: Engine, source: Source, policy: Policy, hierarchies: Mapping[str, Hierarchy], progress: Progress
) -> ModelPlan:
    """The plan of a tree whose leaves all meet the policy."""
    chosen, pinned = _settings(policy)
    demands = demands_of_rows(engine, source, policy)
    check_all_public(source, hierarchies, demands, "ldm")
    refuse_nulls(engine, source)
    assert source.target is not None
    whole = _class_counts(engine, source)
    if not whole.sum():
        raise PolicyError("the table has no rows: nothing can be learned from it")
    demands.check_whole(source.target, whole)
    veto = Refused(demands)
    attributes = [source.info(name) for name in attributes_of(source)]
    induced = induce(
        engine, source.relation, attributes, source.info(source.target), chosen, veto=veto,
        pinned=demands.least_rows if pinned else 1, progress=progress,
    )  # fmt: skip
    told = {name: value for name, value in chosen.told().items() if name in _OPTIONS}
    tree = replace(
        induced.tree,
        inducer="ldm",
        options={"form": chosen.inducer, **told, "borders": "pinned" if pinned else "values", "k": demands.k},
    )
    progress("attacking the tree", 0, None)
    found = attacked(engine, tree, source, demands)
    return ModelPlan(
        tree=tree,
        public=source.quasi,
        rows=induced.rows,
        steps=(
            f"grow {chosen.inducer} over {many(len(attributes), 'attribute')} of {many(induced.rows, 'row')}, with "
            f"only such splits that every child keeps the requirements; {veto.splits} were not allowed",
            attack_step(found, "row"),
            *one_leaf_step(tree),
        ),
        figures={**figures_of(tree, found), "candidates dropped": veto.splits},
        risks=(*(() if demands.others else (HOMOGENEITY,)), REFUSALS, *(() if pinned else (BORDERS,))),
    )


def check_options(policy: Policy, source: Source | None) -> None:
    """Refuses wrong options before anything runs."""
    _settings(policy)


def _settings(policy: Policy) -> tuple[Settings, bool]:
    """What is set for the inducer, and whether borders are pinned."""
    options: dict[str, Any] = dict(policy.options)
    form = options.pop("form", "id3")
    with about_option("borders"):
        pinned = borders_are_pinned(options.pop("borders", "pinned"))
    if form not in ("id3", "c45"):
        raise OptionError("form", "form of ALGORITHM ldm is id3 or c45")
    for name in options:
        if name not in _OPTIONS:
            raise unknown_option("ALGORITHM ldm", name, ["form", "borders", *_OPTIONS])
    # Every value a branch names is one that its rows have, and each branch meets k: none of them is rare.
    return settings(str(form), {"min_leaf": 1, **options, "rare": 1}), pinned


def demands_of_rows(engine: Engine, source: Source, policy: Policy) -> ClassDemands:
    """The plain inducer counts rows: where ENTITY is named each person must have one, and then these are persons."""
    demands = demands_of(source, policy, takes_private=False)
    if source.entity is not None:
        rows, persons = several_rows(engine, source)
        if rows != persons:
            raise PolicyError(
                f"ALGORITHM {policy.algorithm} counts rows, and {rows} rows are of {persons} persons: make one row per "
                "person in the SELECT, or use kadet, which counts persons"
            )
    return replace(demands, of_persons=False)


def _class_counts(engine: Engine, source: Source) -> Ints:
    assert source.target is not None
    value = canonical(engine, source.info(source.target))
    query = exp.Select(expressions=[aliased(exp.Count(this=exp.Star()), "ppdm_n")]).from_(source.relation.table())
    return engine.arrays(query.group_by(value))["ppdm_n"].astype(np.int64)
