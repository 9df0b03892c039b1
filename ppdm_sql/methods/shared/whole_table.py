"""What is required of the whole table (a mean risk, unique rows, k on every few columns), for any method that keeps k.

Each of them follows from some k.  So the method plans with the least k, up to that one, for which its classes meet all
of them; halving finds it, and every k that is tried is measured, so that a plan never rests on the halving alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ppdm_sql.cells.cells import Cells, Ints
from ppdm_sql.cells.parts import Parts
from ppdm_sql.checks.table_tests import TABLE_TESTS, TableClasses
from ppdm_sql.errors import RequirementBreached
from ppdm_sql.methods.base import CellJob
from ppdm_sql.methods.plan import CellPlan
from ppdm_sql.methods.shared.population_labels import people_by_label
from ppdm_sql.policy.policy import Policy
from ppdm_sql.requirements import KAnonymity, PopulationRequirement, Requirement


def plan_with_least_k(plan: Callable[[CellJob], CellPlan], job: CellJob) -> CellPlan:
    """The plan of the least k for which what is required of the whole table holds."""
    asked = job.policy.table_requirements
    if not asked:
        return plan(job)
    if any(item.enough_k is None for item in asked):
        return _plan_by_doubling(plan, job, asked, job.k)
    least, most = job.k, max(job.k, *(item.enough_k or 1 for item in asked))
    found = {most: plan(_with_k(job, most))}
    if _broken(asked, job, found[most]):  # mondrian can publish rows of equal values in several classes
        return _plan_by_doubling(plan, job, asked, 2 * most)
    while least < most:
        middle = (least + most) // 2
        tried = plan(_with_k(job, middle))
        if not _broken(asked, job, tried):
            most = middle
            found[middle] = tried
        else:
            least = middle + 1
    return _with_step(found[most], asked, most)


def _with_step(plan: CellPlan, asked: Sequence[Requirement], k: int) -> CellPlan:
    told = ", ".join(map(str, asked))
    step = f"plan with the least k for which {told} holds: {f'k = {k}' if k > 1 else 'none is needed'}"
    return replace(plan, steps=(*plan.steps, step))


def _plan_by_doubling(
    plan: Callable[[CellJob], CellPlan], job: CellJob, asked: Sequence[Requirement], k: int
) -> CellPlan:
    """The same where no k is enough: coarser classes are nearer to the whole table, whose figure may meet it."""
    k = min(k, job.cells.units)
    while True:
        found = plan(_with_k(job, k))
        broken = _broken(asked, job, found)
        if not broken:
            return _with_step(found, asked, k)
        if k >= job.cells.units:
            raise RequirementBreached(
                f"{', '.join(map(str, broken))} cannot be met: not even by the whole table as one class; allow a wider "
                "share, or name another population"
            )
        k = min(2 * k, job.cells.units)


def classes_of(cells: Cells, plan: CellPlan) -> TableClasses:
    """The classes of a plan: what k counts in each, and what each prints."""
    return TableClasses(units_of(cells, plan.parts), {name: _codes(texts) for name, texts in plan.labels.items()})


def _broken(asked: Sequence[Requirement], job: CellJob, plan: CellPlan) -> list[Requirement]:
    """What the classes of a plan do not meet together."""
    table = classes_of(job.cells, plan)
    return [item for item in asked if not TABLE_TESTS.of(item)(item, _with_people(item, table, job, plan))]


def _with_people(item: Requirement, table: TableClasses, job: CellJob, plan: CellPlan) -> TableClasses:
    if not isinstance(item, PopulationRequirement):
        return table
    names, cells = tuple(job.source.quasi), job.populations[item.population]
    held = people_by_label(item, plan.later_rows, cells, job.hierarchies, names, job.owner).counts()
    keys = list(zip(*(plan.labels[name] for name in names), strict=True))
    people = np.array([held.get(key, 0) for key in keys], dtype=np.int64)
    return replace(table, people=people, others=len(held.keys() - set(keys)))


def units_of(cells: Cells, parts: Parts) -> Ints:
    """What k counts per class: rows, or the rows that stand for a person each."""
    inside = parts.part >= 0
    units = np.bincount(parts.part[inside], weights=cells.counted[inside], minlength=parts.classes)
    if parts.shares is not None and parts.bag is not None:
        bags, shares = parts.bag >= 0, parts.shares
        of_bag = np.bincount(parts.bag[bags], weights=cells.counted[bags])
        held = np.clip(of_bag[shares.bag] - shares.first + 1, 0, shares.last - shares.first + 1)
        kept = shares.part >= 0
        units = units + np.bincount(shares.part[kept], weights=held[kept], minlength=parts.classes)
    return np.asarray(units, dtype=np.int64)


def _codes(texts: Sequence[str | None]) -> Ints:
    places: Mapping[str | None, int] = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return np.array([places[text] for text in texts], dtype=np.int64)


def _with_k(job: CellJob, k: int) -> CellJob:
    return replace(job, policy=_policy_with_k(job.policy, k))


def _policy_with_k(policy: Policy, k: int) -> Policy:
    others = [item for item in policy.requirements if not item.of_table and not isinstance(item, KAnonymity)]
    return replace(policy, requirements=(*([KAnonymity(k)] if k > 1 else []), *others))
