"""Top-down specialization and refinement: one recoding per column, chosen for what it says about a class.

Fung, Wang, Yu: Top-Down Specialization for Information and Privacy Preservation (ICDE 2005), and Anonymizing
Classification Data for Privacy Preservation (TKDE 2007), whose refinement can also show single values of a column that
has no hierarchy.  docs/methods/tds.md is the claim sheet.  cuts.py has the columns, specialize.py the loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np

from ppdm_sql.cells.cells import Ints
from ppdm_sql.cells.parts import Parts
from ppdm_sql.errors import PolicyError
from ppdm_sql.methods.base import OF_COUNTS, ROWS, CellJob, Method
from ppdm_sql.methods.mondrian.level_counts import Histogram
from ppdm_sql.methods.plan import CellPlan, PlannedRecoding, ResidualRisk, ValueLabels
from ppdm_sql.methods.shared.columns import alone, cell_axis, quasi_axis
from ppdm_sql.methods.shared.labels import marker, same_rows
from ppdm_sql.methods.shared.limits import Demands, secret_of
from ppdm_sql.methods.tds.cuts import CutColumn, IntervalColumn, SuppressedColumn, TaxonomyColumn
from ppdm_sql.methods.tds.specialize import KeySet, Specialization, Step, labels_by_code
from ppdm_sql.methods.tds.step_recoding import recode_steps
from ppdm_sql.policy.options import Choice, Switch
from ppdm_sql.policy.policy import Policy
from ppdm_sql.policy.words import many
from ppdm_sql.requirements import SetAnonymity
from ppdm_sql.source.relation import Source

_MOST_CLASSES = 1000
_SHOWN = 30  # steps that a plan lists one by one
GREEDY = ResidualRisk(
    "minimality",
    "anyone who knows the algorithm knows that the next division would have broken a requirement or had no gain for "
    "the class, which can reveal more than the classes show",
)

SETS = ResidualRisk(
    "sets",
    "each k is about the columns behind its ON: anyone who knows columns of several sets can narrow a class further",
)


@dataclass(frozen=True)
class TdsOptions:
    score: Annotated[str, Choice("plus_one", "ratio")] = "plus_one"


@dataclass(frozen=True)
class TdrOptions(TdsOptions):
    next_best: Annotated[bool, Switch()] = False


def check_options(policy: Policy, source: Source | None) -> None:
    """Refuses k ON (...) with a column that is no quasi-identifier, and quasi-identifiers that no k speaks of."""
    asked = [item for item in policy.requirements if isinstance(item, SetAnonymity)]
    quasi = [word.text for word in policy.roles.quasi] if source is None else list(source.quasi)
    named = {name for item in asked for name in item.columns(quasi)}
    without = [f'"{name}"' for name in quasi if name not in named]
    if asked and policy.k is None and without:
        raise PolicyError(
            f"no k covers {', '.join(without)}: add {'it' if len(without) == 1 else 'them'} to a k = ... ON (...), or "
            "require a k without ON, which covers all quasi-identifiers"
        )


def plan_tds(job: CellJob) -> CellPlan:
    """Along hierarchies and at numbers; a text without a hierarchy shows all its values or none."""
    return _make_plan(job, TdrOptions(**vars(job.options(TdsOptions))), discloses=False)


def plan_tdr(job: CellJob) -> CellPlan:
    """The same, and of a text without a hierarchy one value after the other is shown."""
    return _make_plan(job, job.options(TdrOptions), discloses=True)


TDS = Method(
    "tds", ROWS, TdsOptions, OF_COUNTS | {SetAnonymity},
    needs_target=True, labels_new_rows=True, runs_live=True, plan_cells=plan_tds, check_options=check_options,
)  # fmt: skip
TDR = replace(TDS, name="tdr", options=TdrOptions, plan_cells=plan_tdr)


def _make_plan(job: CellJob, options: TdrOptions, *, discloses: bool) -> CellPlan:
    source, cells = job.source, job.cells
    check_options(job.policy, source)
    if not source.quasi:
        raise PolicyError(f"{job.owner} specializes quasi-identifiers: name some in QUASI IDENTIFIER (...)")
    if source.target is None or source.target in source.quasi:
        raise PolicyError(f"{job.owner} needs a class that is no quasi-identifier: name it in TARGET (...)")
    secrets = tuple(secret_of(job, cell_axis(cells, name), cells.total) for name in job.sensitive)
    demands = Demands(job.k, secrets)
    sets = _key_sets(job)
    most = Demands(max(one.k for one in sets), secrets)
    most.check_whole(cells.total, cells.units, job.counts_persons)
    columns = _columns(job, discloses)
    work = Specialization(
        cells, columns, sets, demands, _histograms(job), options.score == "ratio", options.next_best,
        job.progress,
    )  # fmt: skip
    work.run()
    everything = marker([column.axis for column in columns])
    texts = labels_by_code(columns, work.pieces, everything)
    parts, labels = _parts(job, columns, texts)
    return CellPlan(
        parts=parts,
        labels=labels,
        steps=_steps(job, work, parts.classes, everything, columns),
        figures=_figures(job, work, parts),
        risks=(GREEDY, *((SETS,) if len(sets) > 1 or sets[0].names < set(source.quasi) else ())),
        value_labels=_value_labels(job, columns, work, texts),
        later_rows=PlannedRecoding(partial(recode_steps, cells, columns, work.steps, most.k, everything)),
    )


def _columns(job: CellJob, discloses: bool) -> tuple[CutColumn, ...]:
    """In the order in which they are published, by which ties are decided."""
    cells, source = job.cells, job.source
    assert source.target is not None
    target = cells[source.target]
    if target.size > _MOST_CLASSES:
        raise PolicyError(
            f'{job.owner} predicts classes, and the TARGET "{source.target}" has {target.size:,} different values, '
            f"more than {_MOST_CLASSES:,}: group them in the SELECT"
        )
    found: list[CutColumn] = []
    for name in sorted(source.quasi, key=source.published.index):
        plain = cell_axis(cells, name)
        hierarchy = job.hierarchies.get(name)
        kind: type[CutColumn] = TaxonomyColumn
        if hierarchy is not None:
            axis = quasi_axis(plain, cells[name].held, job.k, hierarchy)
        elif plain.line is not None:
            axis, kind = quasi_axis(plain, cells[name].held, job.k, None), IntervalColumn
        elif discloses:
            axis, kind = plain, SuppressedColumn
        else:
            axis = alone(plain)
        assert axis.codes is not None
        classes = np.zeros((axis.size, target.size), dtype=np.int64)
        np.add.at(classes, (axis.codes, target.codes), cells.rows)
        found.append(kind(axis, classes))
    return tuple(found)


def _key_sets(job: CellJob) -> list[KeySet]:
    """What an attacker knows together: all quasi-identifiers, or those that each k ON (...) names.

    One that follows from another is left out: a class over fewer columns is a union of classes over more.
    """
    asked = [item for item in job.policy.requirements if isinstance(item, SetAnonymity)]
    wanted = [(frozenset(item.columns(job.source.quasi)), item.k) for item in asked]
    if job.policy.k is not None or job.sensitive or not wanted:
        wanted.append((frozenset(job.source.quasi), job.k))
    kept = [
        (names, k)
        for place, (names, k) in enumerate(wanted)
        if not any(
            names <= other and k <= size and (names < other or k < size or before < place)
            for before, (other, size) in enumerate(wanted)
            if before != place
        )
    ]
    everybody = np.zeros(len(job.cells), dtype=np.int64)
    return [KeySet(names, k, everybody, np.array([job.cells.units])) for names, k in kept]


def _histograms(job: CellJob) -> list[Histogram]:
    cells = job.cells
    places = np.arange(len(cells))
    return [
        Histogram(places, cells[name].codes.astype(np.int64), cells.rows, cells[name].size) for name in job.sensitive
    ]


# -- what is published -----------------------------------------------------------------------------------


def _parts(
    job: CellJob, columns: tuple[CutColumn, ...], texts: Mapping[str, list[str | None]]
) -> tuple[Parts, dict[str, list[str | None]]]:
    """The class of every cell, and what it prints."""
    numbers, distinct = [], []
    for column in columns:
        places = {label: place for place, label in enumerate(dict.fromkeys(texts[column.name]))}
        of_code: Ints = np.array([places[label] for label in texts[column.name]], dtype=np.int64)
        assert column.axis.codes is not None
        numbers.append(of_code[column.axis.codes])
        distinct.append(list(places))
    part = same_rows(np.column_stack(numbers))
    _, first = np.unique(part, return_index=True)
    labels = {
        column.name: [shown[number] for number in of_cell[first].tolist()]
        for column, of_cell, shown in zip(columns, numbers, distinct, strict=True)
    }
    return Parts(part, len(first)), {name: labels[name] for name in job.source.quasi}


def _value_labels(
    job: CellJob, columns: tuple[CutColumn, ...], work: Specialization, texts: Mapping[str, list[str | None]]
) -> dict[str, ValueLabels]:
    """The same by the codes of the cells' columns, which an axis may have in another order."""
    found = {}
    for column in columns:
        here = job.cells[column.name]
        assert column.axis.codes is not None
        of_code: Ints = np.zeros(here.size, dtype=np.int64)
        of_code[here.codes] = column.axis.codes
        whole = len(work.pieces[column.name]) == 1
        found[column.name] = ValueLabels([texts[column.name][code] for code in of_code.tolist()], of_any_value=whole)
    return found


# -- what is said ------------------------------------------------------------------------------------------


def _steps(
    job: CellJob, work: Specialization, classes: int, everything: str, columns: tuple[CutColumn, ...]
) -> tuple[str, ...]:
    by_name = {column.name: column for column in columns}
    unit = "persons" if job.counts_persons else "rows"
    shown = [
        f'divide "{step.column}" {_told(by_name[step.column], step, everything)}: gain {step.gain:.3g}, '
        f"smallest class {step.loss:,.10g} {unit} smaller, score {step.score:.3g}"
        for step in work.steps[:_SHOWN]
    ]
    more = len(work.steps) - len(shown)
    return (
        f"start with one class of {many(job.cells.total, 'row')} and {everything} in {len(columns)} quasi-identifiers",
        *shown,
        *([f"and {many(more, 'further division')}"] if more else []),
        f'{many(classes, "class", "classes")}; no further division is valid and has a gain for "{job.source.target}"',
    )


def _told(column: CutColumn, step: Step, everything: str) -> str:
    """Which piece, and into how many."""
    before = column.label(step.piece, everything)
    return f"at {before if before is not None else 'NULL'} into {len(step.children)}"


def _figures(job: CellJob, work: Specialization, parts: Parts) -> dict[str, int | Fraction | str]:
    sizes = np.bincount(parts.part, weights=job.cells.counted, minlength=parts.classes).astype(np.int64)
    pieces = ", ".join(f"{name} {len(work.pieces[name])}" for name in job.source.quasi)
    return {
        "divisions": len(work.steps),
        "labels": pieces,
        "smallest class": int(sizes.min()),
        "largest class": int(sizes.max()),
    }
