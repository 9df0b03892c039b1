"""k-map and delta-presence of a relation as it stands: its values are looked up in the population as they are."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from sqlglot import exp

from ppdm_sql.checks.class_table import printed_column
from ppdm_sql.checks.measurement import Measurement
from ppdm_sql.checks.outcome import Outcome, outcome
from ppdm_sql.engines.base import ColumnInfo
from ppdm_sql.errors import PolicyError
from ppdm_sql.requirements import DeltaPresence, MapAnonymity, PopulationRequirement
from ppdm_sql.source.encode import canonical
from ppdm_sql.source.relation import match
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import Name, Word, aliased

_Group = tuple[int, int, int]  # rows, people of the population, classes


def check_k_map(asked: MapAnonymity, work: Measurement) -> Outcome:
    """Every class has the values of at least k people."""
    found = [group for group in _groups(asked, work) if group[0]]
    achieved = min((Fraction(people) for _, people, _ in found), default=None)
    return _outcome(asked, found, achieved, lambda size, people: people < asked.k)


def check_presence(asked: DeltaPresence, work: Measurement) -> Outcome:
    """Of the people with the same values a share between the bounds is here."""
    found = _groups(asked, work)
    shares = [Fraction(size, people) if people else Fraction(size + 1) for size, people, _ in found]

    def breaks(size: int, people: int) -> bool:
        return size > asked.most * people or size < asked.least * people

    return _outcome(asked, found, max(shares, default=None), breaks)


def _outcome(
    asked: PopulationRequirement,
    found: list[_Group],
    achieved: Fraction | None,
    breaks: Callable[[int, int], bool],
) -> Outcome:
    broken = [(size, classes) for size, people, classes in found if breaks(size, people)]
    sizes, classes = (np.array([one[part] for one in broken], dtype=np.int64) for part in (0, 1))
    return outcome(asked, None, achieved, classes, sizes)


def _groups(asked: PopulationRequirement, work: Measurement) -> list[_Group]:
    engine, name = work.engine, work.engine.name(asked.population)
    there = {info.name: info for info in engine.columns(name)}
    columns = [match(Word(info.name), there) for info in work.quasi]
    lacking = [f'"{info.name}"' for info, found in zip(work.quasi, columns, strict=True) if found is None]
    if lacking or not there:
        told = f"{name} has no column {', '.join(lacking)}" if there else f"there is no table {name}"
        raise PolicyError(f"{asked}: {told}")
    names = [f"ppdm_q{place}" for place in range(len(columns))]

    def values(relation: Name, infos: list[ColumnInfo]) -> exp.Select:
        picked = [canonical(engine, printed_column(info)) for info in infos]
        shown = [aliased(value, one) for value, one in zip(picked, names, strict=True)]
        return exp.Select(expressions=shown).from_(relation.table())

    relations = {
        "source": values(work.relation, list(work.quasi)).subquery("source"),
        "population": values(name, [there[one] for one in columns if one is not None]).subquery("population"),
    }
    rows = engine.fetch(statement("release/population_classes", relations, {"quasi": names}))
    return [(int(size), int(people), int(classes)) for size, people, classes in rows]
