"""kADET: a decision tree that is k-anonymous for the rows it was learned from, as the model itself.

Friedman, Schuster, Wolff: k-Anonymous Decision Tree Induction (PKDD 2006).  docs/methods/kadet.md is the claim
sheet.  Rows stay in the database; what is seen here are cells (cells/), and the distinct values of each column.

    algorithm 1                              here
    what is known of rows besides their class kadet_cells.KadetTable
    Main: the queue                          split_queue.Growth
    Breach                                   class_limits.ClassDemands over the parts of every span
    what a candidate says of the class      split_scores.Scores
    Split: nodes, spans, populations         spans.Spans; where the rows are: row_slots.Rows
    the tree                                 finished_tree; pruning by trees.prune, the attack by linking_attack

What the printed algorithm leaves out or gets wrong, and is repaired here: sons are put into the queue (it ends
without it), a candidate that was taken is gone, and parts of a span, not the span, are added to the nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ppdm_sql.cells.aggregate import aggregate
from ppdm_sql.cells.cells import Cells
from ppdm_sql.errors import PolicyError
from ppdm_sql.induction.coded import check_columns
from ppdm_sql.induction.prune import error_based
from ppdm_sql.methods.base import Asked, Job, Prepared
from ppdm_sql.methods.kadet.finished_tree import asked_attributes, check_hierarchies, tree_of
from ppdm_sql.methods.kadet.kadet_cells import KadetTable, read_table, refuse_missing
from ppdm_sql.methods.kadet.spans import Spans
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
)
from ppdm_sql.methods.shared.linking_attack import attack_step, attacked, figures_of, one_leaf_step
from ppdm_sql.policy.words import many
from ppdm_sql.source.relation import Source
from ppdm_sql.trees.audit import Audit
from ppdm_sql.trees.tree import Tree
from ppdm_sql.watching import Progress

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
    prepared = prepare_kadet(job)
    job.progress("reading the table", 0, None)
    cells = aggregate(job.engine, job.source, prepared.columns, people=prepared.people)
    if not cells.total:
        raise PolicyError("the table has no rows, so nothing can be learned from it")
    learned = learn(job, cells, job.progress)
    job.progress("auditing the tree", 0, None)
    return plan_of(learned, job.source, attacked(job.engine, learned.tree, job.source, learned.demands))


def prepare_kadet(job: Job) -> Prepared:
    """What can be refused before a row is counted, and the columns that rows are counted by."""
    source = job.source
    demands_of(job)
    check_hierarchies(source, job.hierarchies)
    assert source.target is not None
    names = attributes_of(source)
    check_columns([source.info(name) for name in names], source.info(source.target), regression=False)
    return Prepared((*names, source.target), people=True)


@dataclass(frozen=True)
class Learned:
    """A tree, and what it was grown from."""

    tree: Tree
    table: KadetTable
    asked: list[AskedAttribute]
    growth: Growth  # its nodes are those that pruning left
    demands: ClassDemands
    nodes_grown: int

    @property
    def public(self) -> tuple[str, ...]:
        return tuple(one.coded.attribute.name for one in self.asked if one.public)


def learn(job: Asked, cells: Cells, progress: Progress) -> Learned:
    """Grows the tree from the cells."""
    form, source = job.options(KadetOptions), job.source
    demands = demands_of(job)
    refuse_missing(cells, source, job.owner)
    pinned = demands.least_rows if form.borders == PINNED else None
    hidden = hidden_columns(source, demands)
    table = read_table(cells, source, job.hierarchies, hidden, pinned, class_is_public=demands.class_is_public)
    demands = replace(demands, hidden=table.hidden)
    demands.check_whole(table.target.name, table.whole)
    asked = asked_attributes(source, table, job.hierarchies, demands.k if form.categories == "common" else 1)
    public = [number for number, one in enumerate(asked) if one.public]
    growth = Growth(Spans(table, public), asked, demands, form)
    growth.run(progress)
    grown = len(growth.nodes)
    if form.is_pruned:
        error_based(growth.nodes, _CONFIDENCE)
    declared = {name: info.declared for name, info in source.columns.items()}
    tree = tree_of(table, asked, job.hierarchies, growth, declared, {**form.told(), "k": demands.k})
    return Learned(tree, table, asked, growth, demands, grown)


def plan_of(learned: Learned, source: Source, found: Audit) -> ModelPlan:
    """The plan of a tree that was attacked; found: what the attacker gets."""
    asked, tree, demands, growth = learned.asked, learned.tree, learned.demands, learned.growth
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
        public=learned.public,
        rows=learned.table.cells.total,
        class_is_public=demands.class_is_public,
        steps=_steps(learned, found, len(private)),
        figures={**figures_of(tree, found), "candidates dropped": growth.dropped},
        risks=tuple(risks),
    )


def _steps(learned: Learned, found: Audit, private: int) -> tuple[str, ...]:
    growth, tree = learned.growth, learned.tree
    rank = "gain ratio" if growth.form.by_ratio else "gain"
    known, rows = len(learned.asked) - private, many(learned.table.cells.total, "row")
    before = learned.nodes_grown
    return (
        f"encode {known} public and {private} private attributes of {rows} into codes",
        f"split the node whose best candidate has the greatest {rank}, as long as every part of every span meets the "
        f"requirements; {growth.dropped} candidates dropped",
        f"{before} nodes grown, {len(tree.nodes)} left after pruning"
        if growth.form.is_pruned
        else f"{before} nodes grown",
        attack_step(found, growth.demands.counted.removesuffix("s")),
        *one_leaf_step(tree),
    )
