"""ATP: a tree learned without a thought of privacy, then pruned until every leaf meets the policy.

Tian, Zhang, Xu, Sharkey: anonymity-guided tree pruning, section 4.  docs/methods/atp.md is the claim sheet.

    bins         columns in categories; the borders of bins are round and pinned by nobody
    trees        the tree is grown by multiway splits, counted in the database (grow_nominal)
    node_labels  what is known of a node and when it is enough, exactly or by the paper's estimates
    prune        rules 1 to 3, from the level above the bottom to the root
    tree_pieces  the pruned tree over values
    leaf_counts  the attack on the finished tree: every leaf is counted again in the data

Rows stay in the database.  The class counts of all leaves come with the growth, by grouped counts; whatever way the
tree was pruned, the leaves of the result are judged on those counts and then once more, by one GROUP BY, on the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.induction.borders import At
from ppdm_sql.induction.criteria import Ints
from ppdm_sql.induction.inducers import Depth
from ppdm_sql.methods.atp.bins import Bins, asked_columns, class_lookup
from ppdm_sql.methods.atp.cuts import read_cuts
from ppdm_sql.methods.atp.growth import grow_asked
from ppdm_sql.methods.atp.leaf_counts import recounted
from ppdm_sql.methods.atp.node_labels import ByCounts, ByLabels, Judge, label_of, label_passes
from ppdm_sql.methods.atp.prune import Pruned, leaves_of, prune
from ppdm_sql.methods.atp.tree_pieces import Options, pieces_of, tree_of
from ppdm_sql.methods.base import MODEL, OF_CLASSES, Job, Method
from ppdm_sql.methods.ldm import HOMOGENEITY, demands_of_rows
from ppdm_sql.methods.plan import ModelPlan, ResidualRisk
from ppdm_sql.methods.shared.class_limits import ClassDemands, attributes_of, check_all_public, refuse_nulls
from ppdm_sql.methods.shared.linking_attack import attack_step, figures_of
from ppdm_sql.policy.options import AsWritten, Choice, Switch, Whole, about_option, read_options
from ppdm_sql.policy.policy import OptionValue, Policy
from ppdm_sql.policy.words import many
from ppdm_sql.source.relation import Source
from ppdm_sql.trees.tree import attribute_of

_CONFIDENCE = 0.25
MERGES = ResidualRisk(
    "merges", "anyone who knows the algorithm can infer from merged branches that one of them broke the policy"
)


@dataclass(frozen=True)
class AtpOptions:
    form: Annotated[str, Choice("id3", "c45")] = "id3"
    counts: Annotated[str, Choice("exact", "paper")] = "exact"
    binning: Annotated[str, Choice("frequency", "width", "mdl")] = "frequency"
    bins: Annotated[int, Whole(2, 1000)] = 6
    min_leaf: Annotated[int, Whole(1, 10**9)] = 1
    max_depth: Depth = 30
    prune: Annotated[bool, Switch()] = False
    allow_root_leaf: Annotated[bool, Switch()] = False
    cuts: Annotated[OptionValue | None, AsWritten("a list of columns and where each is cut")] = None

    def told(self) -> Options:
        """What was set, for the model's record."""
        return {name: value for name, value in vars(self).items() if name != "cuts"}


def check_options(policy: Policy, source: Source | None) -> None:
    """Refuses wrong cuts before anything runs, if the columns they name are known."""
    if source is not None:
        declared_cuts(read_options(AtpOptions, policy.options, "ALGORITHM atp"), source)


def plan_atp(job: Job) -> ModelPlan:
    """The plan of a tree whose leaves all meet the policy."""
    form = job.options(AtpOptions)
    engine, source = job.engine, job.source
    cuts = declared_cuts(form, source)
    demands = demands_of_rows(job)
    check_all_public(job, demands)
    refuse_nulls(job)
    assert source.target is not None
    target = source.info(source.target)
    job.progress("reading the table", 0, None)
    classes_of, classes, whole = class_lookup(engine, source.relation, target)
    judge = _judge(form, demands, whole)
    if not whole.sum():
        raise PolicyError("the table has no rows, so nothing can be learned from it")
    demands.check_whole(source.target, whole)
    columns = [source.info(name) for name in attributes_of(source)]
    if not columns:
        raise PolicyError("a tree needs at least one attribute other than the target")
    bins = Bins(form.bins, form.binning, demands.least_rows, cuts)
    asked = asked_columns(engine, source.relation, columns, classes_of, bins)
    grown = grow_asked(
        engine, source, asked, classes_of, whole, min_leaf=form.min_leaf, max_depth=form.max_depth,
        by_ratio=form.form == "c45", confidence=_CONFIDENCE if form.prune else None, progress=job.progress,
    )  # fmt: skip
    job.progress("pruning the tree", 0, None)
    before = sum(not node.children for node in grown)
    pruned = prune(pieces_of(grown), judge)
    _check_result(pruned, demands, form, before)
    tree = tree_of(pruned.root, asked, attribute_of(target), classes, {**form.told(), "k": demands.k})
    job.progress("auditing the tree", 0, None)
    found = recounted(engine, tree, source, demands)
    rank = "gain ratio" if form.form == "c45" else "gain"
    return ModelPlan(
        tree=tree,
        public=source.quasi,
        rows=int(whole.sum()),
        steps=(
            f"put {many(len(asked), 'attribute')} of {many(int(whole.sum()), 'row')} into categories, numbers into at "
            f"most {form.bins} bins by {form.binning}",
            f"grow a tree of {before} leaves by {rank}, one branch per category",
            f"prune it by {form.counts} counts: siblings are merged {pruned.merges} times, which leaves "
            f"{len(tree.leaves)} leaves",
            attack_step(found, "row"),
        ),
        figures={**figures_of(tree, found), "leaves grown": before, "merges": pruned.merges},
        risks=(MERGES,) if demands.others else (HOMOGENEITY, MERGES),
    )


ATP = Method(
    "atp", MODEL, AtpOptions, OF_CLASSES,
    needs_target=True, takes_hierarchies=False, plan_model=plan_atp, check_options=check_options,
)  # fmt: skip


def _judge(form: AtpOptions, demands: ClassDemands, whole: Ints) -> Judge:
    if form.counts == "exact":
        return ByCounts(demands)
    for requirement in demands.others:  # one that labels cannot tell is refused before any work starts
        label_passes(requirement, label_of(np.array([1])))
    return ByLabels(demands, len(whole))


def _check_result(pruned: Pruned, demands: ClassDemands, form: AtpOptions, before: int) -> None:
    """Refuses what the paper's estimates let through, and a tree of which nothing is left."""
    counts = np.stack([leaf.counts for leaf in leaves_of(pruned.root)])
    wrong = ~demands.hold(counts)
    if wrong.any():
        raise RequirementBreached(
            f"counts = {form.counts} left {int(wrong.sum())} of {len(counts)} leaves with {int(counts[wrong].sum())} "
            "rows whose true class counts break the policy; nothing was published. Use counts = exact"
        )
    if before == 1 and not form.allow_root_leaf:
        raise RequirementBreached(
            "the tree is a single leaf: no attribute separates the classes, or there is only one class; nothing was "
            "published. To publish the single leaf, use allow_root_leaf = true"
        )
    if pruned.root.is_leaf and not form.allow_root_leaf:
        raise RequirementBreached(
            f"pruning merged all {before} leaves into one: no smaller part of the table meets the policy; nothing was "
            "published. Weaken the requirements, try other bins or another form, use ldm, or publish the single leaf "
            "with allow_root_leaf = true"
        )


# -- options ---------------------------------------------------------------------------------------------


def declared_cuts(options: AtpOptions, source: Source) -> dict[str, tuple[At, ...]]:
    """Where the policy cuts columns, by column."""
    if options.cuts is None:
        return {}
    with about_option("cuts"):
        return read_cuts(options.cuts, source, "atp")
