"""Incognito: full-domain recoding.  One level of generalization per quasi-identifier, the same for every row.

LeFevre, DeWitt, Ramakrishnan: Incognito: Efficient Full-Domain K-Anonymity (SIGMOD 2005), with the suppression, the
qualities and the guarantee of the optimum that ARX has (Prasser, Kohlmayer: Putting Statistical Disclosure Control into
Practice, 2015).  docs/methods/incognito.md is the claim sheet.

    the papers                               here
    hierarchies, levels                      lattice.levels
    frequency set, roll-up                   lattice.groupings
    generalization property, predictive tags lattice.search
    utility measures                         lattice.qualities

The subset property is not used: with the cells of all columns in memory, a node is a re-grouping of a finer one, which
costs less than the lattices of all subsets of columns do.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.methods.base import OF_COUNTS, ROWS, CellJob, Method
from ppdm_sql.methods.lattice.groupings import Levels
from ppdm_sql.methods.lattice.lattice_table import LatticeTable, read_lattice
from ppdm_sql.methods.lattice.level_recoding import recode_levels
from ppdm_sql.methods.lattice.qualities import QUALITIES, Classification, Lattice, Quality
from ppdm_sql.methods.lattice.search import LatticeSearch, SearchLimits, Tested
from ppdm_sql.methods.plan import CellPlan, PlanChoice, PlannedRecoding, ResidualRisk
from ppdm_sql.methods.shared.limits import Demands
from ppdm_sql.policy.options import Choice, Exact, Whole, read_options
from ppdm_sql.policy.policy import Policy
from ppdm_sql.policy.words import many
from ppdm_sql.requirements import AverageRisk, EveryAnonymity, UniqueShare, decimal
from ppdm_sql.source.relation import Source

_LISTED = 12  # nodes that a plan shows
_MOST_MINIMAL = 200  # minimal nodes that a plan names
MINIMALITY = ResidualRisk(
    "minimality",
    "anyone who knows the algorithm knows that every better recoding of the lattice fails, which can reveal more than "
    "the classes show",
)


@dataclass(frozen=True)
class IncognitoOptions:
    quality: Annotated[str, Choice(*QUALITIES)] = "loss"
    left_out_cost: Annotated[Fraction, Exact(Fraction(0), Fraction(1))] = Fraction(1)
    ties: Annotated[str, Choice("right", "wrong")] = "right"
    minimal: Annotated[str, Choice("best", "all")] = "best"
    max_nodes: Annotated[int, Whole(1)] = 1_000_000
    max_seconds: Annotated[int, Whole(1)] = 600


def check_options(policy: Policy, source: Source | None) -> None:
    """Refuses options that do not go together before anything runs."""
    options = read_options(IncognitoOptions, policy.options, "ALGORITHM incognito")
    if options.quality == "classification" and policy.roles.target is None:
        raise PolicyError(
            "quality = classification of ALGORITHM incognito counts rows that are not of the commonest class: name the "
            "class in TARGET (...)"
        )
    if options.quality != "classification" and (options.left_out_cost != 1 or options.ties != "right"):
        raise PolicyError(
            "left_out_cost and ties of ALGORITHM incognito say what rows cost in quality = classification; quality = "
            f"{options.quality} has costs of its own"
        )
    for word, tuning in policy.roles.tunings.items():
        if tuning.order:
            raise PolicyError(
                f'ALGORITHM incognito takes no ORDER (behind "{word.text}"): values are joined by a HIERARCHY'
            )
        if tuning.weight != 1 and not QUALITIES[options.quality].weighted:
            raise PolicyError(
                f'quality = {options.quality} does not add up over columns, so WEIGHT (behind "{word.text}") has no '
                "meaning: use quality = loss, precision or entropy, or leave WEIGHT out"
            )


def plan_incognito(job: CellJob) -> CellPlan:
    """The plan of the best node that was found."""
    options = job.options(IncognitoOptions)
    check_options(job.policy, job.source)
    if not job.source.quasi:
        raise PolicyError("ALGORITHM incognito generalizes quasi-identifiers: name some in QUASI IDENTIFIER (...)")
    Demands(job.k).check_whole(job.cells.total, job.cells.units, job.counts_persons)
    told = [job.source.target] if options.quality == "classification" and job.source.target is not None else []
    table = read_lattice(job, told)
    allowed = int((job.policy.suppress or 0) * job.cells.total)
    if not allowed:
        table.demands.check_whole(job.cells.total, job.cells.units, job.counts_persons)
    limits = SearchLimits(allowed, _LISTED, options.max_nodes, options.max_seconds, options.minimal == "all")
    search = LatticeSearch(
        table.cache,
        table.demands,
        _quality(options, table.lattice),
        limits,
        job.progress,
        whole=job.policy.table_requirements,
    )
    search.run()
    if not search.best:
        raise _refusal(job, table, search)
    job.progress("labelling", 0, None)
    best = search.best[0]
    kept = search.kept_groups(table.cache.grouping(best.levels))
    parts, labels = table.parts(best.levels, kept)
    recoding = recode_levels(table.columns, best.levels, labels, job.hierarchies)
    return CellPlan(
        parts=parts,
        labels=labels,
        steps=_steps(job, table, search, options),
        figures=_figures(table, search, options),
        risks=(MINIMALITY,),
        later_rows=None if recoding is None else PlannedRecoding(lambda: recoding),
        value_labels=table.value_labels(best.levels),
        choices=tuple(_choice(table, one, options) for one in search.best),
    )


INCOGNITO = Method(
    "incognito", ROWS, IncognitoOptions, OF_COUNTS,
    takes_tunings=True, leaves_rows_out=True, labels_new_rows=True, runs_live=True,
    keeps_table=frozenset({AverageRisk, UniqueShare, EveryAnonymity}),
    plan_cells=plan_incognito, check_options=check_options,
)  # fmt: skip


def _quality(options: IncognitoOptions, lattice: Lattice) -> Quality:
    if options.quality == "classification":
        return Classification(lattice, options.left_out_cost, ties_are_wrong=options.ties == "wrong")
    return QUALITIES[options.quality](lattice)


# -- what is said ------------------------------------------------------------------------------------------


def _refusal(job: CellJob, table: LatticeTable, search: LatticeSearch) -> RequirementBreached:
    """Why no node passes, in counts."""
    most = job.policy.suppress or Fraction(0)
    coarsest: Levels = tuple(size - 1 for size in search.shape)
    node = table.cache.grouping(coarsest)
    kept = search.kept_groups(node)
    gone = int(node.rows[~kept].sum())
    limited = [column.name for column in table.columns if column.levels[-1].number < column.height]
    if not limited:
        table.demands.check_whole(job.cells.total, job.cells.units, job.counts_persons)
    nodes = _count_text(search.nodes)
    if not search.proved:
        return RequirementBreached(
            f"{job.owner} found no recoding that passes in {many(search.tested, 'node')} of {nodes}: allow more with "
            "max_nodes or max_seconds, or publish fewer quasi-identifiers"
        )
    columns = ", ".join(f'"{name}"' for name in limited)
    told = f"{many(int((~kept).sum()), 'class', 'classes')} with {many(gone, 'row')} of {job.cells.total:,} that fail"
    unmet = search.unmet(node, kept)
    if not gone and unmet:
        told = f"classes that do not meet {', '.join(map(str, unmet))}"
    advice = f"raise AT MOST LEVEL of {columns}, " if limited else ""
    return RequirementBreached(
        f"none of the {nodes} recodings of {many(len(table.columns), 'column')} meets the policy with "
        f"SUPPRESS AT MOST {decimal(most * 100)} %: even the coarsest one has {told}; {advice}"
        "allow more rows to be left out, or ask for less"
    )


def _count_text(nodes: int) -> str:
    """A number of nodes; of very many the magnitude.

    >>> _count_text(6480), _count_text(2**300)
    ('6,480', '2.0e+90')
    """
    return f"{nodes:,}" if nodes < 10**12 else f"{nodes:.1e}"


def _numbers(table: LatticeTable, levels: Levels) -> dict[str, int]:
    """The levels of a node, as the hierarchies count them."""
    return {column.name: column.levels[level].number for column, level in zip(table.columns, levels, strict=True)}


def _levels_text(table: LatticeTable, levels: Levels) -> str:
    return ", ".join(f"{name} {level}" for name, level in _numbers(table, levels).items())


def minimal_nodes(search: LatticeSearch) -> list[Levels]:
    """The nodes that pass and of which no finer one does."""
    passing = sorted(set(search.passing), key=sum)
    found: list[Levels] = []
    for levels in passing:
        if not any(all(low <= high for low, high in zip(one, levels, strict=True)) for one in found):
            found.append(levels)
    return found


def _choice(table: LatticeTable, one: Tested, options: IncognitoOptions) -> PlanChoice:
    return PlanChoice(
        _numbers(table, one.levels),
        options.quality,
        one.value,
        one.suppressed,
        table.lattice.rows,
        one.classes,
        one.smallest,
    )


def _steps(job: CellJob, table: LatticeTable, search: LatticeSearch, options: IncognitoOptions) -> tuple[str, ...]:
    best = _choice(table, search.best[0], options)
    proof = "no other node is better" if search.proved else "the search was stopped: a better node may exist"
    steps = [
        f"count {many(len(table.cache.base), 'combination')} of {many(len(table.columns), 'quasi-identifier')} in "
        f"{many(job.cells.total, 'row')}",
        f"search the {_count_text(search.nodes)} combinations of levels for the least {options.quality}: "
        f"{search.tested:,} tested, {proof}",
        f"publish the levels {best.levels_text}: {options.quality} {best.value_text}, "
        f"{many(best.suppressed_rows, 'row')} left out",
    ]
    if options.minimal == "all":
        minimal = minimal_nodes(search)
        steps.append(
            f"{many(len(minimal), 'minimal node')}{'' if search.proved else ' so far'}: "
            + "; ".join(_levels_text(table, one) for one in minimal[:_MOST_MINIMAL])
            + ("; ..." if len(minimal) > _MOST_MINIMAL else "")
        )
    return tuple(steps)


def _figures(table: LatticeTable, search: LatticeSearch, options: IncognitoOptions) -> dict[str, int | Fraction | str]:
    best = _choice(table, search.best[0], options)
    figures: dict[str, int | Fraction | str] = {
        "quality": options.quality,
        "value": best.value_text,
        "levels": best.levels_text,
        "height": search.best[0].height,
        "nodes": search.nodes if search.nodes < 10**12 else _count_text(search.nodes),
        "nodes tested": search.tested,
        "proved optimal": "yes" if search.proved else "no",
        "smallest class": best.smallest,
    }
    if options.minimal == "all":
        figures["minimal nodes"] = len(minimal_nodes(search))
    return figures
