"""kACTUS and kACTUS-2: the rows keep the values on their way through a classification tree, and no others.

Kisilevich, Rokach, Elovici, Shapira: Efficient Multidimensional Suppression for k-Anonymity (TKDE 2010);
Kisilevich, Elovici, Shapira, Rokach: kACTUS 2 (ISIPS 2008).  docs/methods/kactus.md is the claim sheet.

    the papers                               here
    supervised discretization                discretize
    the classification tree                  trees.nominal, tree_arrays
    the anonymization of its leaves          repair, row_kinds
    rows, counts, the release                kactus_cells

Rows stay in the database; what is seen here are cells (cells/), and the distinct values of each column, which become
labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np

from ppdm_sql.errors import PolicyError
from ppdm_sql.induction.nominal import NominalGrowth
from ppdm_sql.methods.base import OF_COUNTS, ROWS, CellJob, Method
from ppdm_sql.methods.kactus.kactus_cells import KactusTable, Walked, read_cells, with_categories
from ppdm_sql.methods.kactus.repair import DROPPED, Holds, RepairRules, RowMoves, repair
from ppdm_sql.methods.kactus.row_kinds import Counts, Kinds
from ppdm_sql.methods.kactus.tree_arrays import KactusTree, cut_off, figures
from ppdm_sql.methods.kactus.tree_recoding import recode_kactus
from ppdm_sql.methods.plan import CellPlan, PlannedRecoding, ResidualRisk
from ppdm_sql.methods.shared.columns import Axis
from ppdm_sql.methods.shared.limits import Demands, secret_of
from ppdm_sql.policy.options import Exact, Switch, Whole
from ppdm_sql.policy.policy import Policy
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.relation import Source
from ppdm_sql.watching import Progress

_MOST_NUMBERS = 20  # classes of a target of numbers or moments
_MOST_CLASSES = 1000
_CONFIDENCE = 0.25
PURITY = ResidualRisk(
    "purity",
    "classes tend to have a single target value, so anyone who finds a person's class often learns the target, "
    "unless l or t is required of it",
)
SUPPRESSION = ResidualRisk(
    "suppression",
    "anyone who knows the algorithm knows that a class with a suppressed value combines small branches of the "
    "tree and rows borrowed to hide them",
)
SWAPPING = ResidualRisk(
    "swapping",
    "some rows have a quasi-identifier value that is not their own: statements about single rows can be false, "
    "and a person can be mistaken for a member of another class",
)


@dataclass(frozen=True)
class KactusOptions:
    """The predecessor: suppression only, and the rows that help small branches out are drawn at random."""

    pool_non_complying: Annotated[bool, Switch()] = True
    compensate_at_root: Annotated[bool, Switch()] = False
    join_existing_group: Annotated[bool, Switch()] = False
    prune: Annotated[bool, Switch()] = False
    min_leaf: Annotated[int | None, Whole(1, word="k")] = None  # None: k


@dataclass(frozen=True)
class Kactus2Options(KactusOptions):
    """Rows are chosen by entropy; with a swap_threshold some get the value of a small branch."""

    swap_threshold: Annotated[Fraction, Exact(Fraction(0), Fraction(1))] = Fraction(0)
    strict_swap: Annotated[bool, Switch()] = False


def plan_kactus(job: CellJob) -> CellPlan:
    """Suppression alone."""
    return _make_plan(job, Kactus2Options(**vars(job.options(KactusOptions))))


def plan_kactus2(job: CellJob) -> CellPlan:
    """With swapping, where the policy allows it."""
    return _make_plan(job, job.options(Kactus2Options))


KACTUS = Method(
    "kactus", ROWS, KactusOptions, OF_COUNTS,
    needs_target=True, takes_hierarchies=False, labels_new_rows=True, leaves_rows_out=True, plan_cells=plan_kactus,
)  # fmt: skip
KACTUS2 = replace(KACTUS, name="kactus2", options=Kactus2Options, plan_cells=plan_kactus2)


def _make_plan(job: CellJob, options: Kactus2Options) -> CellPlan:
    source, policy, cells = job.source, job.policy, job.cells
    _check_roles(source, policy, job.hierarchies)
    table = read_cells(job)
    _check_target(policy, table.axes[table.target])
    demands = Demands(job.k, tuple(secret_of(job, table.axes[name], cells.total) for name in table.secrets))
    demands.check_whole(cells.total, cells.units, job.counts_persons)
    job.progress("choosing intervals", 0, None)
    table = with_categories(table, job.k)
    tree = _tree(table, options, job.k, job.progress)
    job.progress("sending rows down the tree", 0, None)
    walked = table.walk(tree)
    job.progress("repairing small classes", 0, None)
    moves = _repair_leaves(table, tree, walked, demands, options, policy)
    return _plan(table, tree, walked, moves, options, policy)


def _check_roles(source: Source, policy: Policy, hierarchies: Mapping[str, Hierarchy]) -> None:
    method = f"ALGORITHM {policy.algorithm}"
    if not source.quasi:
        raise PolicyError(f"{method} needs quasi-identifiers to grow its tree on: name some in QUASI IDENTIFIER (...)")
    if source.target is None:
        raise PolicyError(f"{method} needs a class to predict: name it in TARGET (...)")
    if source.target in source.quasi:
        raise PolicyError(
            f'{method}: column "{source.target}" is both the TARGET and a quasi-identifier, and a column cannot '
            "predict "
            "itself; choose another target, or declare it sensitive"
        )
    along = next((name for name in source.quasi if name in hierarchies), None)
    if along is not None:
        raise PolicyError(f'{method} suppresses and does not generalize: leave out the HIERARCHY of "{along}"')


def _check_target(policy: Policy, axis: Axis) -> None:
    most = _MOST_NUMBERS if axis.line is not None else _MOST_CLASSES
    if axis.size > most:
        raise PolicyError(
            f'ALGORITHM {policy.algorithm} predicts classes, and the TARGET "{axis.info.name}" has {axis.size} '
            "different "
            f"values, more than {most}: group them in the SELECT"
        )


# -- the tree --------------------------------------------------------------------------------------------


def _tree(table: KactusTable, options: Kactus2Options, k: int, progress: Progress) -> KactusTree:
    # A bag of fewer than k rows goes up whatever is below: only pruning has to see it.
    least = 2 if options.prune else k
    growth = NominalGrowth(options.min_leaf or k, least, _CONFIDENCE if options.prune else None)
    grown = growth.run(table.tree_rows(), table.class_counts, progress)
    return cut_off(grown, [one.labels for one in table.categories], k)


# -- the repair ------------------------------------------------------------------------------------------


def _repair_leaves(
    table: KactusTable, tree: KactusTree, walked: Walked, demands: Demands, options: Kactus2Options, policy: Policy
) -> RowMoves:
    rows: dict[int, dict[int, int]] = {}
    for node, kind, count in zip(walked.node.tolist(), walked.kind.tolist(), walked.rows.tolist(), strict=True):
        rows.setdefault(node, {})[kind] = count
    classes = walked.codes[table.target]
    rules = RepairRules(
        demands.k,
        informed=policy.algorithm == "kactus2",
        swap_threshold=options.swap_threshold,
        pool_non_complying=options.pool_non_complying,
        compensate_at_root=options.compensate_at_root,
        join_existing_group=options.join_existing_group,
        strict_swap=options.strict_swap,
        may_drop=not any(item.compares_with_table for item in policy.requirements),
        seed=policy.seed,
        holds=_holds(table, walked, demands) if demands.secrets else None,
    )
    return repair(tree.nodes, rows, Kinds(classes.tolist(), walked.weights.tolist()), rules)


def _holds(table: KactusTable, walked: Walked, demands: Demands) -> Holds:
    """Whether the sensitive values of some rows meet what is required of them."""
    codes = [walked.codes[secret.name] for secret in demands.secrets]

    def holds(counts: Counts) -> bool:
        kinds, rows = np.array(list(counts)), np.array(list(counts.values()))
        for secret, code in zip(demands.secrets, codes, strict=True):
            spread = np.bincount(code[kinds], weights=rows, minlength=len(secret.reference)).astype(np.int64)
            if not secret.holds(spread.reshape(1, -1))[0]:
                return False
        return True

    return holds


# -- the plan --------------------------------------------------------------------------------------------


def _plan(
    table: KactusTable,
    tree: KactusTree,
    walked: Walked,
    moves: RowMoves,
    options: Kactus2Options,
    policy: Policy,
) -> CellPlan:
    targets = np.unique(moves.target[moves.target != DROPPED])
    told = figures(tree, moves, walked.codes[table.target], len(table.categories))
    return CellPlan(
        parts=table.parts(walked, moves),
        labels=table.labels(tree.shown(targets, len(table.categories))),
        steps=_steps(table, tree, told, options, policy),
        figures=told,
        risks=(PURITY, SUPPRESSION, *((SWAPPING,) if options.swap_threshold else ())),
        later_rows=PlannedRecoding(partial(recode_kactus, tree, table.categories, table.marker)),
    )


def _steps(
    table: KactusTable,
    tree: KactusTree,
    told: Mapping[str, int | Fraction | str],
    options: Kactus2Options,
    policy: Policy,
) -> tuple[str, ...]:
    cut = sum(len(one.boundaries) for one in table.categories)
    rule = "chosen by entropy" if policy.algorithm == "kactus2" else "drawn at random"
    swap = f"; swapping up to {float(options.swap_threshold):g} of a class" if options.swap_threshold else ""
    return (
        f"put {len(table.categories)} quasi-identifiers of {table.cells.total} rows into categories, with {cut} "
        "thresholds",
        f'grow a tree that predicts "{table.target}" from them: {told["leaves"]} leaves, {tree.levels} levels',
        f"publish the values on each row's path and {table.marker} for all others; NULL is missing in the source",
        f"small classes lose their last value and borrow rows of their siblings, {rule}{swap}",
        f"{told['dropped rows']} rows are dropped, {told['swapped rows']} have a swapped value",
    )
