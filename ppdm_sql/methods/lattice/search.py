"""The best nodes of a lattice that pass, with a proof that no other one is better if there is time.

A node passes when the groups that fail a requirement have at most as many rows together as may be left out, and a
group is kept.

Failing for k goes down: a group too small for k is a union of groups that are too small in every finer node.  Failing
for any requirement goes down where no row may be left out.  Where rows may be left out, only k does: {x: 1, y: 1} has
two different values of two, {x: 5} has not, and their union has not either and takes more rows with it.

The search takes the open node with the least bound, goes up from it as far as bounds allow, and halves that chain, as
Flash does (Kohlmayer et al. 2012): what it learns in the middle of the lattice closes most of it.  Nodes are open
until they are looked at, known to fail, or known to be worse than the worst of those that are to be listed.

A lattice of more nodes than MOST_DENSE is not searched but descended, from the coarsest node on, one level of a column
at a time; what is found has no proof.
"""

from __future__ import annotations

import time
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, prod

import numpy as np

from ppdm_sql.checks.table_tests import TABLE_TESTS, TableClasses, kept_by_every
from ppdm_sql.methods.lattice.groupings import Grouping, GroupingCache, Levels
from ppdm_sql.methods.lattice.qualities import Quality, Value, height
from ppdm_sql.methods.mondrian.level_counts import LevelCounts
from ppdm_sql.methods.shared.limits import Demands
from ppdm_sql.requirements import EveryAnonymity, Requirement
from ppdm_sql.source.lines import Flags
from ppdm_sql.watching import Progress, silent

MOST_DENSE = 2_000_000
_NEAR = 1e-9  # bounds are floating-point numbers, values are exact


@dataclass(frozen=True)
class Tested:
    """A node that passes, in the order in which nodes are preferred."""

    value: Value
    height: int
    suppressed: int
    levels: Levels
    classes: int
    smallest: int  # what k counts, in the smallest class

    @property
    def order(self) -> tuple[Value, int, int, Levels]:
        """By quality; of equal ones the lower, then that which leaves fewer rows out, then by the order of columns."""
        return self.value, self.height, self.suppressed, self.levels


@dataclass(frozen=True)
class SearchLimits:
    """How many rows may be left out, how many nodes to list, and when to stop."""

    suppressed: int
    listed: int
    nodes: int
    seconds: float
    every_passing: bool = False  # looks at every node that passes, whatever its quality


class OpenNodes:
    """The nodes of a lattice that may still be among the best: neither looked at nor known to fail."""

    def __init__(self, quality: Quality) -> None:
        self.shape = quality.lattice.shape
        self._known = quality.known_bounds()
        self._bounds = self._known.copy()
        self._open = np.ones(self.shape, dtype=bool)

    def close(self, levels: Levels, *, with_finer: bool) -> None:
        """One node was looked at; with_finer: those below it fail as it does."""
        self._open[levels] = False
        if with_finer:
            self._open[_below(levels)] = False

    def raise_bounds(self, levels: Levels, below: float, above: float) -> None:
        """What the nodes below cost at least, over what is known of each, and what those above do."""
        if below:
            finer = self._bounds[_below(levels)]
            np.maximum(finer, self._known[_below(levels)] + below, out=finer)
        if above:
            coarser = self._bounds[tuple(slice(level, None) for level in levels)]
            np.maximum(coarser, above, out=coarser)

    def may_be_listed(self, levels: Levels, worst: float) -> bool:
        """Whether a node is open, and not known to be worse than this."""
        return bool(self._open[levels]) and float(self._bounds[levels]) <= worst

    def bound(self, levels: Levels) -> float:
        return float(self._bounds[levels])

    def most_promising(self, worst: float) -> Levels | None:
        """The open node with the least bound."""
        bounds = np.where(self._open, self._bounds, inf)
        place = int(bounds.argmin())
        least = bounds.flat[place]
        if least == inf or least > worst:
            return None
        return tuple(int(level) for level in np.unravel_index(place, self.shape))

    def chain(self, first: Levels, worst: float) -> list[Levels]:
        """From a node up through open ones, each time to the next one with the least bound."""
        chain = [first]
        while True:
            here, following, least = chain[-1], None, inf
            for place, level in enumerate(here):
                if level + 1 == self.shape[place]:
                    continue
                above = (*here[:place], level + 1, *here[place + 1 :])
                if self.may_be_listed(above, worst) and self.bound(above) < least:
                    following, least = above, self.bound(above)
            if following is None:
                return chain
            chain.append(following)


def _below(levels: Levels) -> tuple[slice, ...]:
    return tuple(slice(None, level + 1) for level in levels)


@dataclass
class LatticeSearch:
    """Looks for the best nodes; `best` has them at any time."""

    cache: GroupingCache
    demands: Demands
    quality: Quality
    limits: SearchLimits
    progress: Progress = silent
    whole: tuple[Requirement, ...] = ()  # what all kept groups together are to meet
    best: list[Tested] = field(default_factory=list)
    passing: list[Levels] = field(default_factory=list)  # where every passing node is asked for
    tested: int = 0
    proved: bool = False
    _seen: set[Levels] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._started = time.monotonic()
        self._nodes: OpenNodes | None = None

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return self.quality.lattice.shape

    @cached_property
    def nodes(self) -> int:
        """How many there are."""
        return prod(self.shape)

    @property
    def is_monotone(self) -> bool:
        """Whether every requirement that fails in a node fails in all finer ones."""
        return not self.demands.secrets or self.limits.suppressed == 0

    def run(self) -> None:
        """Searches until there is a proof or no time; what was found is in `best`."""
        if self.nodes <= MOST_DENSE:
            self._search()
        else:
            self._descend()

    # -- one node ----------------------------------------------------------------------------------

    def large_groups(self, node: Grouping) -> Flags:
        """The groups that have k, and whose rows have it for everybody who knows some of the columns."""
        large = np.asarray(node.units >= self.demands.k) & (node.rows > 0)
        for item in self.whole:
            if isinstance(item, EveryAnonymity) and large.any():
                large[large] = kept_by_every(item, self._classes(node, large))
        return large

    def _classes(self, node: Grouping, kept: Flags) -> TableClasses:
        here = np.flatnonzero(kept)
        fields = zip(self.quality.lattice.columns, self.quality.lattice.fields, strict=True)
        return TableClasses(
            node.units[here], {column.name: node.label_codes(field, here).astype(np.int64) for column, field in fields}
        )

    def unmet(self, node: Grouping, kept: Flags) -> tuple[Requirement, ...]:
        """What the kept groups do not meet together."""
        if not self.whole or not kept.any():
            return self.whole
        table = self._classes(node, kept)
        return tuple(item for item in self.whole if not TABLE_TESTS.of(item)(item, table))

    def kept_groups(self, node: Grouping) -> Flags:
        """The groups that meet every requirement."""
        large = self.large_groups(node)
        if not self.demands.secrets:
            return large
        tally = LevelCounts(
            np.arange(len(node)), np.zeros(len(node), dtype=np.int64), node.rows, node.units,
            secrets=node.histograms[: len(self.demands.secrets)],
        )  # fmt: skip
        group = np.where(large, np.cumsum(large) - 1, -1)
        kept = large.copy()
        kept[large] = self.demands.secret_groups(tally, group, int(large.sum()))
        return kept

    def look_at(self, levels: Levels) -> bool:
        """Whether a node may pass as far as what goes down is concerned; notes it if it does pass."""
        self._seen.add(levels)
        self.tested += 1
        self.progress("searching the lattice", self.tested, min(self.nodes, self.limits.nodes))
        node = self.cache.grouping(levels)
        large = self.large_groups(node)
        kept = self.kept_groups(node)
        gone = int(node.rows[~kept].sum())
        falling = gone if self.is_monotone else int(node.rows[~large].sum())
        unmet = self.unmet(node, kept)
        # Where rows may be left out, other rows go in a coarser node, and the rest is another table.
        fails = falling > self.limits.suppressed or (
            not self.limits.suppressed and any(item.falls_with_detail for item in unmet)
        )
        if self._nodes is not None:
            self._nodes.close(levels, with_finer=fails)
            below = 0.0 if fails else self.quality.bound_below(node, kept if self.is_monotone else large)
            self._nodes.raise_bounds(levels, below, self.quality.bound_above(node, kept))
        if gone <= self.limits.suppressed and kept.any() and not unmet and self._is_close(node, kept):
            self._note(node, kept, gone)
        return not fails

    def _is_close(self, node: Grouping, kept: Flags) -> bool:
        """Whether what is compared with the whole table (t) also holds compared with what would be stored of it."""
        if kept.all():
            return True
        for secret, histogram in zip(self.demands.secrets, node.histograms, strict=False):
            asked = [item for item in secret.requirements if item.compares_with_table]
            if not asked:
                continue
            stored = secret.of_part(histogram, kept)
            group = np.where(kept, np.cumsum(kept) - 1, -1)
            for _, counts in histogram.grouped(group, int(kept.sum())):
                if not all(stored.holds(counts, only=item).all() for item in asked):
                    return False
        return True

    def _note(self, node: Grouping, kept: Flags, gone: int) -> None:
        if self.limits.every_passing:
            self.passing.append(node.levels)
        found = Tested(
            self.quality.value(node, kept),
            height(self.quality.lattice.columns, node.levels),
            gone,
            node.levels,
            int(kept.sum()),
            int(node.units[kept].min()),
        )
        insort(self.best, found, key=lambda one: one.order)
        del self.best[self.limits.listed :]

    # -- all nodes ---------------------------------------------------------------------------------

    def _search(self) -> None:
        nodes = self._nodes = OpenNodes(self.quality)
        while not self._is_over():
            first = nodes.most_promising(self._worst)
            if first is None:
                self.proved = True
                return
            self._halve(nodes, nodes.chain(first, self._worst))

    def _halve(self, nodes: OpenNodes, chain: Sequence[Levels]) -> None:
        """Looks for the finest node of a chain that is good: finer ones fail, coarser ones cost more."""
        first, last = 0, len(chain) - 1
        while first <= last and not self._is_over():
            middle = (first + last) // 2
            worst = self._worst
            if not nodes.may_be_listed(chain[middle], worst):
                return
            may_pass = self.look_at(chain[middle])
            if may_pass and nodes.bound(chain[middle]) <= worst:
                last = middle - 1
            else:
                first = middle + 1

    @property
    def _worst(self) -> float:
        """A node whose bound is above this is not listed."""
        if self.limits.every_passing or len(self.best) < self.limits.listed:
            return inf
        return float(self.best[-1].value) * (1 + _NEAR) + 1e-300

    def _is_over(self) -> bool:
        return self.tested >= self.limits.nodes or time.monotonic() - self._started > self.limits.seconds

    # -- too many nodes ----------------------------------------------------------------------------

    def _descend(self) -> None:
        """From the coarsest node on: the column whose next level promises most goes down, as long as that is better."""
        here = tuple(size - 1 for size in self.shape)
        if not self.look_at(here) and self.is_monotone:
            self.proved = True  # nothing passes
            return
        while not self._is_over():
            steps = [(*here[:place], level - 1, *here[place + 1 :]) for place, level in enumerate(here) if level > 0]
            steps.sort(key=self.quality.known_bound)
            better = next((one for one in steps if one not in self._seen and self._improves(one)), None)
            if better is None:
                return
            here = better

    def _improves(self, levels: Levels) -> bool:
        if self._is_over():
            return False
        self.look_at(levels)
        return bool(self.best) and self.best[0].levels == levels
