"""The people of a population under the labels of a plan, as the plan's own recoding gives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ppdm_sql.cells.cells import Cells, Ints
from ppdm_sql.errors import PolicyError
from ppdm_sql.methods.plan import PlannedRecoding
from ppdm_sql.requirements import PopulationRequirement
from ppdm_sql.source.hierarchy import Hierarchy


@dataclass(frozen=True, repr=False)
class PeopleByLabel:
    """How many people of a population have which labels."""

    labels: Mapping[str, list[str | None]]  # per quasi-identifier, entry by entry
    people: Ints

    def __repr__(self) -> str:
        return f"PeopleByLabel({len(self.people)} entries)"  # the labels are data

    def counts(self) -> dict[tuple[str | None, ...], int]:
        """People by their labels, in the order of the columns."""
        keys = zip(*self.labels.values(), strict=True)
        found: dict[tuple[str | None, ...], int] = {}
        for key, people in zip(keys, self.people.tolist(), strict=True):
            found[key] = found.get(key, 0) + people
        return found


def people_by_label(
    asked: PopulationRequirement,
    later_rows: PlannedRecoding | None,
    cells: Cells,
    hierarchies: Mapping[str, Hierarchy],
    names: tuple[str, ...],
    owner: str,
) -> PeopleByLabel:
    """The cells of a population, labelled; names: the quasi-identifiers in the order of the source."""
    if later_rows is None:
        raise PolicyError(
            f"{asked}: {owner} cannot say what people outside of the table would be published as: use incognito, "
            "mondrian, kactus, tds or tdr, and leave ranges = extent out"
        )
    recoding = later_rows.recoding
    node = recoding.place(cells, hierarchies)
    used, place = np.unique(node, return_inverse=True)
    printed = recoding.labels(used)
    people = np.bincount(place, weights=cells.rows, minlength=len(used)).astype(np.int64)
    return PeopleByLabel({name: printed[name] for name in names}, people)
