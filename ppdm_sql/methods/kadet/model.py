"""kADET: a decision tree that is k-anonymous for the rows it was learned from, as the model itself.

Friedman, Schuster, Wolff: k-Anonymous Decision Tree Induction (PKDD 2006).  docs/methods/kadet.md is the claim
sheet.  Rows stay in the database; what Python sees are counts per node, span and code, and the values that the
tree names.

    algorithm 1                              here
    what is known of rows besides their class row_codes.KnownOfRows
    Main: the queue                          split_queue.Growth
    Breach                                   class_limits.ClassDemands over the parts of every span
    what a candidate tells of the class      split_scores.Scores
    Split: nodes, spans, populations         spans.Spans; where the rows are: row_slots.Rows
    the tree                                 finished_tree; pruning by trees.prune, the attack by linking_attack

What the printed algorithm leaves out or gets wrong, and is repaired here: sons are put into the queue (it ends
without it), a candidate that was taken is gone, and parts of a span, not the span, are added to the nodes.
"""

from __future__ import annotations

from dataclasses import replace

from ppdm_sql.engines.base import Engine
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.kadet.finished_tree import asked_attributes, check_hierarchies, tree_of
from ppdm_sql.methods.kadet.row_codes import KnownOfRows, known_of_rows
from ppdm_sql.methods.kadet.row_slots import MOST_SLOTS
from ppdm_sql.methods.kadet.spans import Spans, class_counts
from ppdm_sql.methods.kadet.split_queue import Growth
from ppdm_sql.methods.kadet.split_scores import AskedAttribute, KadetOptions
from ppdm_sql.methods.plan import ModelPlan, ResidualRisk
from ppdm_sql.methods.shared.class_limits import (
    BORDERS,
    PINNED,
    ClassDemands,
    attributes_of,
    demands_of,
    hidden_columns,
    refuse_nulls,
)
from ppdm_sql.methods.shared.linking_attack import attack_step, attacked, figures_of, one_leaf_step
from ppdm_sql.methods.shared.person_rows import rows_of_persons
from ppdm_sql.policy.words import many
from ppdm_sql.source.relation import Source
from ppdm_sql.trees.audit import Audit
from ppdm_sql.trees.coded import Training, make_training
from ppdm_sql.trees.prune import error_based
from ppdm_sql.trees.tree import Tree

_BINS = 255
_CONFIDENCE = 0.25
HOMOGENEITY = ResidualRisk(
    "homogeneity",
    "k does not limit what the people of a group have in common: if all of a group have one class, the class of "
    "each is known",
)
PRIVATE_TESTS = ResidualRisk(
    "private tests",
    "tests of private attributes reveal how their values are distributed in a group; only sensitive columns are "
    "kept diverse",
)
RARE_VALUES = ResidualRisk(
    "rare_values", "the tree names rare values of private attributes, which reveals that someone has them"
)
REFUSALS = ResidualRisk(
    "refusals", "anyone who knows the algorithm can infer from a missing split that some part would have been too small"
)


def plan_kadet_model(job: Job) -> ModelPlan:
    """The plan of a tree whose spans all meet the policy."""
    form = job.options(KadetOptions)
    engine, source = job.engine, job.source
    demands = demands_of(job)
    check_hierarchies(source, job.hierarchies)
    refuse_nulls(job)
    job.progress("reading the table", 0, None)
    known = known_of_rows(engine, source, hidden_columns(source, demands))
    demands = replace(demands, hidden=known.hidden)
    training = _training(engine, source, known, demands if form.borders == PINNED else None)
    whole = class_counts(engine, training)  # with all that is known of rows besides their class
    public = [number for number, one in enumerate(training.attributes) if one.attribute.name in source.quasi]
    spans = Spans(engine, training, whole, public)
    least = demands.k if form.categories == "common" else 1
    try:
        demands.check_whole(training.target.name, whole)
        asked = asked_attributes(engine, source, training, job.hierarchies, least)
        growth = Growth(spans, asked, demands, form)
        growth.run(job.progress)
    finally:
        spans.close()
    before = len(growth.nodes)
    if form.is_pruned:
        error_based(growth.nodes, _CONFIDENCE)
    declared = {name: info.declared for name, info in source.columns.items()}
    told = {**form.told(), "k": demands.k}
    tree = tree_of(engine, training, asked, job.hierarchies, growth.nodes, growth.levels, declared, told)
    job.progress("auditing the tree", 0, None)
    found = attacked(engine, tree, source, demands)
    return _plan(source, training, asked, growth, tree, found, demands, before)


def _training(engine: Engine, source: Source, known: KnownOfRows, pinning: ClassDemands | None) -> Training:
    """The coded table; pinning: columns are cut where as many rows, or rows of as many persons, pin the border."""
    assert source.target is not None
    training = make_training(
        engine,
        known.relation,
        [source.info(name) for name in attributes_of(source)],
        source.info(source.target),
        regression=False,
        bins=_BINS,
        exact=False,
        rare=1,  # every class counts; which values are named is decided per attribute
        most_nodes=MOST_SLOTS,
        most_slots=MOST_SLOTS,
        aside=known.aside,
        pinned=1 if pinning is None else rows_of_persons(engine, source, pinning.least_rows),
    )
    known.close(engine)
    return training


def _plan(
    source: Source,
    training: Training,
    asked: list[AskedAttribute],
    growth: Growth,
    tree: Tree,
    found: Audit,
    demands: ClassDemands,
    before: int,
) -> ModelPlan:
    private = [one.coded.attribute.name for one in asked if not one.public]
    diverse = {one.name for one in demands.hidden}
    asked_for = {tree.attributes[number].name for number in tree.used_attributes()}.intersection(private)
    risks = [
        *([] if demands.class_must_be_diverse else [HOMOGENEITY]),
        *([PRIVATE_TESTS] if asked_for - diverse else []),
    ]
    risks += [REFUSALS, *([BORDERS] if growth.form.borders == "values" else [])]
    risks += [RARE_VALUES] if asked_for and growth.form.categories == "all" else []
    return ModelPlan(
        tree=tree,
        public=tuple(one.coded.attribute.name for one in asked if one.public),
        rows=training.rows,
        class_is_public=demands.class_is_public,
        steps=_steps(training, growth, tree, found, private, before),
        figures={**figures_of(tree, found), "candidates dropped": growth.dropped},
        risks=tuple(risks),
    )


def _steps(
    training: Training, growth: Growth, tree: Tree, found: Audit, private: list[str], before: int
) -> tuple[str, ...]:
    rank = "gain ratio" if growth.form.by_ratio else "gain"
    known = len(training.attributes) - len(private)
    return (
        f"encode {known} public and {len(private)} private attributes of {many(training.rows, 'row')} into codes",
        f"split the node whose best candidate has the greatest {rank}, as long as every part of every span meets the "
        f"requirements; {growth.dropped} candidates dropped",
        f"{before} nodes grown, {len(tree.nodes)} left after pruning"
        if growth.form.is_pruned
        else f"{before} nodes grown",
        attack_step(found, growth.demands.counted.removesuffix("s")),
        *one_leaf_step(tree),
    )
