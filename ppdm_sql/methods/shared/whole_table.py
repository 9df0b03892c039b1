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
from ppdm_sql.errors import PolicyError
from ppdm_sql.methods.base import CellJob
from ppdm_sql.methods.plan import CellPlan
from ppdm_sql.policy.policy import Policy
from ppdm_sql.requirements import KAnonymity, Requirement


def plan_with_least_k(plan: Callable[[CellJob], CellPlan], job: CellJob) -> CellPlan:
    """The plan of the least k for which what is required of the whole table holds."""
    asked = job.policy.table_requirements
    if not asked:
        return plan(job)
    least, most = job.k, max(job.k, *(_enough(item) for item in asked))
    found = {most: plan(_with_k(job, most))}
    _refuse_broken(asked, job.cells, found[most], most)
    while least < most:
        middle = (least + most) // 2
        tried = plan(_with_k(job, middle))
        if meets(asked, classes_of(job.cells, tried)):
            most = middle
            found[middle] = tried
        else:
            least = middle + 1
    told = ", ".join(map(str, asked))
    step = f"plan with the least k for which {told} holds: {f'k = {most}' if most > 1 else 'none is needed'}"
    return replace(found[most], steps=(*found[most].steps, step))


def meets(asked: Sequence[Requirement], table: TableClasses) -> bool:
    """Whether these classes meet what is required of all of them together."""
    return all(TABLE_TESTS.of(item)(item, table) for item in asked)


def classes_of(cells: Cells, plan: CellPlan) -> TableClasses:
    """The classes of a plan: what k counts in each, and what each prints."""
    return TableClasses(units_of(cells, plan.parts), {name: _codes(texts) for name, texts in plan.labels.items()})


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


def _enough(item: Requirement) -> int:
    if item.enough_k is None:
        raise PolicyError(f"{item} follows from no k: use ALGORITHM incognito, which looks for recodings that meet it")
    return item.enough_k


def _with_k(job: CellJob, k: int) -> CellJob:
    return replace(job, policy=_policy_with_k(job.policy, k))


def _policy_with_k(policy: Policy, k: int) -> Policy:
    others = [item for item in policy.requirements if not item.of_table and not isinstance(item, KAnonymity)]
    return replace(policy, requirements=(*([KAnonymity(k)] if k > 1 else []), *others))


def _refuse_broken(asked: Sequence[Requirement], cells: Cells, plan: CellPlan, k: int) -> None:
    broken = [str(item) for item in asked if not TABLE_TESTS.of(item)(item, classes_of(cells, plan))]
    if broken:
        raise PolicyError(f"{', '.join(broken)} is not met with k = {k}, either: ask for less, or for a larger k")
