"""TPP: recode a table as far as it must be, so that the trees it is analysed with come out the same.

Fu, Chen, Koru, Gangopadhyay: tree-pattern-preserving sanitization.  docs/methods/tpp.md is the claim sheet.
The trees are grown split by split; after each one the columns are recoded as coarsely as the trees allow and the
classes are measured; the last state that met every requirement is published.

    the paper (figures 2 and 4)              here
    step 1, 6: expand every tree once        preserved_trees, trees.nested (one growth holds every step)
    steps 2-4: recode                        columns, recoding
    step 5: K-anonymous and L-diverse        recoding_check.Checker
    step 7: the last state that passed       _Search

Rows stay in the database; what is seen here are cells (cells/), and the distinct values of each column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

from ppdm_sql.cells.parts import Parts
from ppdm_sql.engines.base import Kind
from ppdm_sql.methods.base import OF_COUNTS, ROWS, CellJob, Method
from ppdm_sql.methods.plan import CellPlan, PlannedRecoding, ResidualRisk, ValueLabels
from ppdm_sql.methods.tpp.columns import Column, RecodedColumn, Splits, splits_of
from ppdm_sql.methods.tpp.inputs import TppInputs, TppOptions, check_numbers, check_skipping, prepare_tpp, read_inputs
from ppdm_sql.methods.tpp.later_rows import recode_groups
from ppdm_sql.methods.tpp.preserved_trees import Preserved, check_inducers, pattern, told
from ppdm_sql.methods.tpp.recoding_check import Classes
from ppdm_sql.methods.tpp.stored_models import refuse_incomplete
from ppdm_sql.policy.options import read_options
from ppdm_sql.policy.policy import Policy
from ppdm_sql.source.relation import Source
from ppdm_sql.watching import Progress

_MOST_CLOSED = 100  # leaves closed by on_failure = skip before the search gives up

ORDER = ResidualRisk(
    "order", "the order of numbers is preserved: anyone who knows the ranks of people can find the interval of each"
)
MEANS = ResidualRisk(
    "means",
    "published numbers lie near the means of intervals: a later release with one more person can reveal that "
    "person's value",
)
RESPONSE = ResidualRisk(
    "response",
    "the response of every row is published unchanged: anyone who also knows a person's response narrows the "
    "class further",
)
MIDPOINTS = ResidualRisk("midpoints", "a threshold is the midpoint of two people's values and reveals their sum")
BETWEEN = ResidualRisk(
    "boundaries",
    "intervals start at the roundest number between two neighbouring values: where an interval starts reveals a gap",
)
STAND_IN = (
    "stand-in: a number that replaces an interval so that trees come out the same (numbers = shifted); "
    "it is neither a value nor a range of the source: do not average, count or join by it"
)
STOPPING = ResidualRisk("stopping", "the size of the trees reveals that one more split would have broken a requirement")


def check_options(policy: Policy, source: Source | None) -> None:
    """Refuses options that do not go together, and wrong inducers of PRESERVE, before anything runs."""
    options = read_options(TppOptions, policy.options, "ALGORITHM tpp")
    check_skipping(policy, options)
    check_numbers(policy, options)
    check_inducers(policy)


def plan_tpp(job: CellJob) -> CellPlan:
    """The plan of the last recoding that met every requirement."""
    options = job.options(TppOptions)
    source = job.source
    table = read_inputs(job, options)
    search = _Search(table, options, job.progress)
    state, classes = search.run()
    for tree, expanded in zip(table.trees, state.expanded, strict=True):
        if tree.model is not None:
            refuse_incomplete(tree.model, tree.leaves(expanded))
    told_of = _published(source, table, state, search.closed, options)
    values = _value_labels(told_of)
    stand_ins = _stand_ins(source, table, options)
    return CellPlan(
        parts=Parts(classes.of_cell, len(classes.sizes)),
        labels=_labels(told_of, classes),
        typed=frozenset(name for name, one in values.items() if one.typed),
        steps=_steps(table, state, told_of, search.stopped),
        figures=_figures(table, state, told_of, classes),
        risks=_risks(table, state, options),
        patterns=told_of.patterns,
        stand_ins=frozenset(stand_ins),
        notes=dict.fromkeys(stand_ins, STAND_IN),
        value_labels=values,
        later_rows=_later_rows(source, table, told_of, classes, options),
    )


TPP = Method(
    "tpp", ROWS, TppOptions, OF_COUNTS,
    needs_target=True, takes_hierarchies=False, preserves_trees=True, runs_live=True,
    why_not_new_rows="keeps the trees of the rows that were there, and rows that come later would change these trees",
    plan_cells=plan_tpp, prepare=prepare_tpp, check_options=check_options,
)  # fmt: skip


# -- the loop --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _State:
    """Per tree the nodes that are split; per column in use its splits and what they let be published."""

    expanded: tuple[tuple[int, ...], ...]
    splits: Mapping[str, Splits]
    shown: Mapping[str, RecodedColumn]

    @property
    def recoding(self) -> dict[str, tuple[int, ...]]:
        return {name: one.groups for name, one in self.shown.items()}


@dataclass
class _Search:
    """Expands every tree once more as long as every requirement holds (step 7: stops at the first failure)."""

    table: TppInputs
    options: TppOptions
    progress: Progress
    closed: list[int] = field(default_factory=list)
    stopped: bool = False  # by a requirement

    def run(self) -> tuple[_State, Classes]:
        trees = self.table.trees
        state = _State(((),) * len(trees), {}, {})
        classes = self.table.checker.measured({})
        assert classes is not None  # the whole table was checked before
        while (more := self._expanded(state)) is not None:
            self.progress("recoding", sum(map(len, more)), None)
            following = self._recoded(more, state)
            same = following.recoding == state.recoding  # most splits are at values where another one is already
            found = classes if same else self.table.checker.measured(following.recoding)
            if found is not None:
                state, classes = following, found
            elif self.options.skip and len(self.closed) < _MOST_CLOSED:
                self.closed.append(more[0][-1])
                trees[0].close()
            else:
                self.stopped = True
                break
        return state, classes

    def _expanded(self, state: _State) -> tuple[tuple[int, ...], ...] | None:
        """The nodes split after one step more; None where no tree can go on."""
        models = [tree.model is not None for tree in self.table.trees]
        for wanted in (True, False):  # models first: they are kept whole, the others as far as it goes then
            more = tuple(
                self._one_more(place, expanded) if models[place] is wanted else expanded
                for place, expanded in enumerate(state.expanded)
            )
            if more != state.expanded:
                return more
        return None

    def _one_more(self, place: int, expanded: tuple[int, ...]) -> tuple[int, ...]:
        node = self.table.trees[place].expand(expanded)
        return expanded if node is None else (*expanded, node)

    def _recoded(self, expanded: tuple[tuple[int, ...], ...], former: _State) -> _State:
        """Only columns with a new split are recoded again, from their values and not from the rows."""
        alone = len(expanded) == 1  # what is new comes last, so the splits before it stay as they are
        splits: dict[str, Splits] = dict(former.splits) if alone else {}
        for tree, numbers in zip(self.table.trees, expanded, strict=True):
            for name, found in tree.splits(numbers[len(former.expanded[0]) :] if alone else numbers):
                splits[name] = splits.get(name, Splits()) + splits_of(found, multiway=tree.multiway)
        shown = {}
        for name, one in splits.items():
            if name in self.table.fixed:
                continue
            if one == former.splits.get(name):
                shown[name] = former.shown[name]
            else:
                here = self.table.columns[name]
                shown[name] = here.shown(one) if not self.options.shifted else self._shifted(here, one)
        return _State(expanded, splits, shown)

    def _shifted(self, here: Column, splits: Splits) -> RecodedColumn:
        return here.shifted(splits, absorb=self.options.absorb, paper=self.options.paper)


# -- what is published -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Published:
    shown: Mapping[str, RecodedColumn]  # of the columns that trees use, and of responses that stay
    constants: Mapping[str, tuple[str | None, bool]]  # of the columns no tree uses
    patterns: tuple[Mapping[str, Any], ...]
    smallest_with_response: int | None


def _published(
    source: Source, table: TppInputs, state: _State, closed: Sequence[int], options: TppOptions
) -> _Published:
    constants = {
        name: table.columns[name].constant(table.marker, shifted=options.shifted, mean=options.mean)
        for name in source.quasi
        if name not in state.shown and name not in table.fixed
    }
    shown = {**state.shown, **{name: table.columns[name].as_it_is() for name in table.fixed}}
    names = {name: table.columns[name].names(one, shown[name]) for name, one in state.splits.items()}
    groups: dict[str, Any] = {name: [[text, [0]]] for name, (text, _) in constants.items()}
    groups |= {name: table.columns[name].places(one) for name, one in shown.items() if not table.columns[name].ordered}
    patterns = tuple(
        pattern(tree, expanded, closed, names, groups, intervals=not options.shifted)
        for tree, expanded in zip(table.trees, state.expanded, strict=True)
    )
    responses = [name for name in dict.fromkeys(tree.target.name for tree in table.trees) if name not in table.fixed]
    smallest = table.checker.smallest_with(state.recoding, responses) if responses else None
    return _Published(shown, constants, patterns, smallest)


def _labels(told_of: _Published, classes: Classes) -> dict[str, list[str | None]]:
    """What every class publishes of the quasi-identifiers; a column that no tree uses is the same in all of them."""
    labels = {
        name: [one.texts[group] for group in classes.groups[:, number].tolist()]
        for number, (name, one) in enumerate(told_of.shown.items())
    }
    return {**labels, **{name: [text] * len(classes.sizes) for name, (text, _) in told_of.constants.items()}}


def _later_rows(
    source: Source, table: TppInputs, told_of: _Published, classes: Classes, options: TppOptions
) -> PlannedRecoding | None:
    """What becomes of other rows; the paper's numbers and columns that keep their type say it of no others."""
    kinds = {name: table.columns[name].axis.info.kind for name in source.quasi}
    typed = [name for name, one in told_of.shown.items() if one.keeps_type and kinds[name] is not Kind.TEXT]
    if options.shifted or table.fixed or typed:
        return None
    used = {name: (table.columns[name], one) for name, one in told_of.shown.items()}
    values = {name: table.columns[name].axis.values for name in source.quasi}
    return PlannedRecoding(partial(recode_groups, source.quasi, used, classes.groups, table.marker, values))


def _value_labels(told_of: _Published) -> dict[str, ValueLabels]:
    """What every value of every quasi-identifier is published as."""
    found = {
        name: ValueLabels([one.texts[group] for group in one.groups], typed=one.keeps_type)
        for name, one in told_of.shown.items()
    }
    constants = {
        name: ValueLabels([text], of_any_value=True, typed=typed) for name, (text, typed) in told_of.constants.items()
    }
    return {**found, **constants}


# -- what is said ----------------------------------------------------------------------------------------


def _boundaries(table: TppInputs, state: _State) -> tuple[int, int, int]:
    """Boundary values of all nodes: how many, how many that few people hold, how many published unchanged."""
    every, rare, kept = set(), set(), set()
    for name, splits in state.splits.items():
        common = table.columns[name].common
        codes = {(name, code) for pair in splits.pairs for code in pair}
        every |= codes
        rare |= {one for one in codes if not common[one[1]]}
        kept |= codes if name in table.fixed else {one for one in codes if one[1] in state.shown[name].kept}
    return len(every), len(rare), len(kept)


def _stand_ins(source: Source, table: TppInputs, options: TppOptions) -> list[str]:
    """The columns whose published numbers are not those of the source."""
    if not options.shifted:
        return []
    return [name for name in source.quasi if source.info(name).kind.is_ordered and name not in table.fixed]


def _risks(table: TppInputs, state: _State, options: TppOptions) -> tuple[ResidualRisk, ...]:
    every, rare, _ = _boundaries(table, state)
    if not options.shifted:
        return (BETWEEN, STOPPING, RESPONSE, *((ORDER,) if every else ()))
    message = (
        f"{rare} of {every} values next to the thresholds of the trees are held by fewer than "
        f"{max(table.checker.k, 2)} people, and the thresholds reveal sums of them: round the columns in the SELECT, "
        "or grow fewer leaves"
        if rare
        else "thresholds lie between values that people hold; here each of these is held by enough of them"
    )
    return (
        ResidualRisk("boundaries", message, refuses=rare > 0),  # always named, so that it can be accepted beforehand
        STOPPING,
        RESPONSE,
        *((ORDER, MEANS, MIDPOINTS) if every else ()),
    )


def _figures(
    table: TppInputs, state: _State, published: _Published, classes: Classes
) -> dict[str, int | Fraction | str]:
    every, rare, kept = _boundaries(table, state)
    figures: dict[str, int | Fraction | str] = {
        "smallest class": int(classes.sizes.min()),
        "largest class": int(classes.sizes.max()),
        "recoded columns": len(state.shown),
        "suppressed columns": len(published.constants),
        "boundary values": every,
        "boundary values held by few": rare,
        "boundary values published as they are": kept,
    }
    if published.smallest_with_response is not None:
        figures["smallest class when the response is known"] = published.smallest_with_response
    for name, least in classes.least_l.items():
        figures[f"least l {name}"] = least
    for number, (tree, expanded) in enumerate(zip(table.trees, state.expanded, strict=True), start=1):
        figures[f"leaves of tree {number}"] = tree.leaves(expanded)
        if tree.builder.inducer != "regression":
            figures[f"training accuracy of tree {number}"] = _accuracy(tree, expanded)
        figures[f"tree {number}"] = told(published.patterns[number - 1])
        if tree.model is not None:
            figures[f"model of tree {number}"] = tree.model.record.name
    return figures


def _accuracy(tree: Preserved, expanded: Sequence[int]) -> Fraction:
    """The share of rows that are of the majority of their leaf: the same before and after."""
    root = tree.node(0).counts
    leaves = {0} | {child for number in expanded for child in tree.node(number).children}
    right = sum(int(tree.node(number).counts.max()) for number in leaves - set(expanded))
    return Fraction(right, int(root.sum()))


def _steps(table: TppInputs, state: _State, published: _Published, stopped: bool) -> tuple[str, ...]:
    why = "one more split would break a requirement" if stopped else "the trees are as large as they may be"
    grown = " and ".join(str(tree.leaves(one)) for tree, one in zip(table.trees, state.expanded, strict=True))
    return (
        f"encode {len(table.checker.codes)} columns of {table.cells.total} rows into codes",
        "expand every tree once, recode the columns it splits as coarsely as it allows, measure every class; repeat",
        f"{grown} leaves: {why}",
        *(f"tree {number}: {told(one)}" for number, one in enumerate(published.patterns, start=1)),
        f"publish {len(state.shown)} recoded and {len(published.constants)} suppressed quasi-identifiers; "
        "grow every tree again from the stored rows and compare it node by node",
    )
