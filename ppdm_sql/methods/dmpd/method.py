"""DMPD: the columns parted into tables that share the class alone, every value as it is.

Matatov, Rokach, Maimon: Privacy-preserving data mining: A feature set partitioning approach (Information Sciences 180,
2010).  docs/methods/dmpd.md is the claim sheet.  The plan is made from cells; release/kinds/projections.py publishes
it as several tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ppdm_sql.cells.aggregate import aggregate
from ppdm_sql.cells.cells import Cells
from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.methods.base import Job, Method
from ppdm_sql.methods.dmpd.counting import DmpdCells
from ppdm_sql.methods.dmpd.dependencies import dependency_risk, dependent_pairs, parted_pairs
from ppdm_sql.methods.dmpd.folding import Folded, folded_cells
from ppdm_sql.methods.dmpd.options import (
    FOLD,
    REJOINS,
    Columns,
    DmpdOptions,
    Lists,
    check_options,
    in_order,
    read_lists,
)
from ppdm_sql.methods.dmpd.rows import folded_rows
from ppdm_sql.methods.dmpd.search import FoundParts, PartsSearch
from ppdm_sql.methods.dmpd.validity import Validity, partition_validity, refuse_invalid
from ppdm_sql.methods.plan import Projection, Projections, ResidualRisk, TablePlan, parts_text
from ppdm_sql.policy.words import many
from ppdm_sql.requirements import ConfidenceLimit, DistinctDiversity, KAnonymity, Requirement, SimpleDiversity

LEAST_K = 2  # a policy without k still singles nobody out
MOST_CLASSES = 1000
REJOIN_WORDS = dict(
    zip(
        REJOINS,
        (
            "every combination of groups that a person has",
            "every group together with the class",
            "every combination of groups that the join has",
            "nothing more than every part by itself",
        ),
        strict=True,
    )
)
PARTS = ResidualRisk(
    "parts",
    "anyone who can match rows of two parts as one person's, other than by the class, can put them together",
)


@dataclass(frozen=True, repr=False)
class Parting:
    """What a statement parts: its cells with their published codes, and its lists."""

    table: DmpdCells
    folded: Mapping[str, Folded]
    lists: Lists
    features: Columns  # that may be in a part
    k: int


def plan_dmpd(job: Job) -> TablePlan:
    """The parts that were given, or that a search finds, with what holds for them."""
    options = job.options(DmpdOptions)
    parting = open_parting(job, options)
    if parting.lists.parts is not None:
        return _plan(job, options, parting, parting.lists.parts)
    found = search_parts(job, options, parting)
    plan = _plan(job, options, parting, found.parts)
    figures: dict[str, int | str] = {"searched_partitions": found.tried, "estimated_accuracy": f"{found.accuracy:.4f}"}
    return replace(plan, steps=(*plan.steps, search_step(found)), figures={**plan.figures, **figures})


def search_parts(job: Job, options: DmpdOptions, parting: Parting, *, front: bool = False, seed: int = 0) -> FoundParts:
    """The best parts that a search finds; front: and those that no others beat in accuracy and anonymity."""
    lists = parting.lists
    search = PartsSearch(
        parting.table, parting.features, lists.quasi, parting.k, options,
        together=lists.together, apart=lists.apart, seed=job.policy.seed + seed, progress=job.progress,
    )  # fmt: skip
    found = search.run(front=front)
    return replace(found, parts=in_order(found.parts, lists.features))


def search_step(found: FoundParts) -> str:
    """How the parts were found, in words."""
    return (
        f"the parts were searched for: {many(found.tried, 'partition')} in {many(found.generations, 'generation')}, "
        f"accuracy {found.accuracy:.4f} by cross-validation on the rows that chose them; write them into the statement "
        "to keep them"
    )


DMPD = Method(
    "dmpd", frozenset({"TABLE"}), DmpdOptions,
    frozenset[type[Requirement]]({KAnonymity, DistinctDiversity, SimpleDiversity, ConfidenceLimit}),
    needs_target=True, takes_hierarchies=False, in_advice=False, plan_projections=plan_dmpd,
    check_options=check_options,
)  # fmt: skip


def open_parting(job: Job, options: DmpdOptions) -> Parting:
    """Counts the rows once, folds rare values, and leaves out what cannot be in a part."""
    lists = read_lists(options, job.source)
    names = (*(name for name in lists.features if name not in lists.filtered), str(job.source.target))
    job.progress("counting combinations", 0, None)
    return part_cells(job, options, lists, aggregate(job.engine, job.source, names, people=True))


def part_cells(job: Job, options: DmpdOptions, lists: Lists, cells: Cells) -> Parting:
    """What is parted, from cells that were counted."""
    target, k = str(job.source.target), job.k_or(LEAST_K)
    names = tuple(cells.columns)
    _check_cells(job, cells, target, k)
    features = tuple(name for name in names if name != target)
    quasi = [name for name in features if name in lists.quasi]
    table, folded = folded_cells(cells, target, quasi, features, k, pool=options.rare == FOLD)
    rare = [name for name, one in folded.items() if one.rare_rows]
    if rare and lists.parts is not None:
        raise _rare_values(rare, folded, k)
    return Parting(table, folded, lists, tuple(name for name in features if name not in rare), k)


def _check_cells(job: Job, cells: Cells, target: str, k: int) -> None:
    if cells[target].size > MOST_CLASSES:
        raise PolicyError(
            f'{job.owner} predicts classes, and the TARGET "{target}" has {cells[target].size:,} different values, '
            f"more than {MOST_CLASSES:,}: group them in the SELECT"
        )
    unit = "persons" if job.counts_persons else "rows"
    units = cells.total if cells.people is None else len(set(cells.people.person.tolist()))
    if units < k:
        raise RequirementBreached(f"the source has {many(units, unit[:-1])}, fewer than k = {k}; nothing was published")


def _rare_values(rare: Sequence[str], folded: Mapping[str, Folded], k: int) -> RequirementBreached:
    told = "; ".join(
        f'"{name}" has values that fewer than {k} have ({many(folded[name].rare_rows, "row")})' for name in rare
    )
    return RequirementBreached(
        f"ALGORITHM dmpd with rare = filter: {told}, so it cannot be in any part; nothing was published.  Put it into "
        "filter = (...), or use rare = fold, which makes one value of the rare ones"
    )


# -- the plan ------------------------------------------------------------------------------------------------


def _plan(job: Job, options: DmpdOptions, parting: Parting, parts: Sequence[Columns]) -> TablePlan:
    table, lists, source = parting.table, parting.lists, job.source
    found = partition_validity(table, parts, lists.quasi, parting.k, options.rejoin)
    refuse_invalid(found, parts, lists.quasi, parting.k, "persons" if job.counts_persons else "rows")
    released = {name for part in parts for name in part}
    filtered = tuple(name for name in lists.features if name not in released)
    shown = tuple(Projection(part, tuple(name for name in part if name in lists.quasi)) for part in parts)
    projections = Projections(shown, str(source.target), options.rejoin, filtered)
    pairs = dependent_pairs(table, parted_pairs(parts))
    return TablePlan(
        query=folded_rows(job, table.cells, parting.folded, filtered),
        published=source.published,
        classes=sum(one.groups for one in found.parts.values()),
        rows=table.rows,
        steps=tuple(_steps(job, options, parting, parts, found, filtered)),
        figures=_figures(table, found, parts),
        risks=(PARTS, *_class_risk(job, found), *dependency_risk(pairs)),
        notes={name: text for name, text in _notes(parting.folded) if name in released},
        projections=projections,
    )


def _class_risk(job: Job, found: Validity) -> tuple[ResidualRisk, ...]:
    if job.source.target in job.source.sensitive:
        return ()
    message = (
        f'the class "{job.source.target}" is in every part and nothing is required of it: of '
        f"{many(found.certain_rows, 'row')} the class is certain to anyone who knows their quasi-identifiers"
    )
    return (ResidualRisk("class", message),)


def _figures(table: DmpdCells, found: Validity, parts: Sequence[Columns]) -> dict[str, int | str]:
    figures: dict[str, int | str] = {"parts": len(parts), "anonymity_level": found.level}
    figures |= {"smallest_group": min((one.smallest for one in found.parts.values()), default=table.rows)}
    if found.joined is not None:
        figures |= {"joined_combinations": found.joined.groups, "joined_smallest": found.joined.smallest}
    return figures | {"certain_class_rows": found.certain_rows}


def _notes(folded: Mapping[str, Folded]) -> Iterator[tuple[str, str]]:
    for name, one in folded.items():
        if one.labels is not None and one.folded_values:
            text = f'rare values became one value, "{one.labels[-1]}" ({many(one.folded_rows, "row")})'
            yield name, text
        elif one.labels is not None:
            yield name, "numbers became intervals"


def _steps(
    job: Job, options: DmpdOptions, parting: Parting, parts: Sequence[Columns], found: Validity, filtered: Sequence[str]
) -> Iterator[str]:
    unit = "persons" if job.counts_persons else "rows"
    changed = _name_list(_folded_columns(parting, filtered)) or "no column needs it"
    yield f"fold what fewer than {parting.k} {unit} have: {changed}"
    if filtered:
        yield f"leave out {_name_list(filtered)}"
    yield f"part the columns into {many(len(parts), 'table')} that share the class: parts = {parts_text(parts)}"
    least = min((one.smallest for one in found.parts.values()), default=parting.table.rows)
    yield f"every group of a part has {least:,} {unit} or more"
    told = f"joined on the class, rejoin = {options.rejoin} asks for k {unit} of {REJOIN_WORDS[options.rejoin]}"
    yield told if found.joined is None else f"{told}: the smallest has {found.joined.smallest:,}"


def _folded_columns(parting: Parting, filtered: Sequence[str]) -> list[str]:
    return [name for name, one in parting.folded.items() if one.labels is not None and name not in filtered]


def _name_list(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
