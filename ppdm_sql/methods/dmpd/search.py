"""The search for parts: a genetic algorithm over partitions of the columns, and selection of columns for naive Bayes.

Individuals are partitions of items; an item is one column, or several that stay together: because the statement says
so, or because one of them says the other.  Group-wise crossover keeps a group of one parent and what is left of the
other's; mutation moves items; every child is repaired until it may leave.  Every draw is made by one generator with the
statement's seed, so the same seed gives the same parts.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from ppdm_sql.errors import NotAvailable, RequirementBreached
from ppdm_sql.methods.dmpd.counting import DmpdCells
from ppdm_sql.methods.dmpd.dependencies import dependent_pairs
from ppdm_sql.methods.dmpd.options import NAIVE_BAYES, Columns, DmpdOptions
from ppdm_sql.methods.dmpd.validity import KLevel, group_level, partition_validity
from ppdm_sql.methods.dmpd.wrapper import Wrapper, code_rows
from ppdm_sql.watching import Progress, silent

Partition = tuple[tuple[int, ...], ...]  # items by their places, in order; what is in no group is filtered out
Front = dict[int, tuple[float, tuple[Columns, ...]]]  # K -> the best accuracy with it, and the parts
CROSSOVER, MUTATION = 0.6, 0.05


def canonical(groups: Iterable[Iterable[int]]) -> Partition:
    """A partition in one spelling.

    >>> canonical([[3, 1], [], [0]])
    ((0,), (1, 3))
    """
    return tuple(sorted(tuple(sorted(group)) for group in groups if group))


def as_matrix(partition: Partition, items: int) -> list[list[int]]:
    """1 where two items are in one group, -1 where both are filtered out, 0 otherwise.

    >>> as_matrix(((0,), (1, 2)), 4)
    [[1, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, -1]]
    """
    place = {item: number for number, group in enumerate(partition) for item in group}

    def entry(one: int, other: int) -> int:
        if one not in place or other not in place:
            return -1 if one not in place and other not in place else 0
        return int(place[one] == place[other])

    return [[entry(one, other) for other in range(items)] for one in range(items)]


def cross(first: Partition, second: Partition, anchor: Sequence[int], *, filters: bool) -> Partition:
    """The anchor of the first parent unchanged, a group or what it filters out, and the second without its items.

    >>> cross(((0,), (1, 2)), ((0, 1), (2, 3)), (1, 2), filters=False)
    ((0,), (1, 2), (3,))
    >>> cross(((0, 1), (2, 3)), ((0,), (1, 2)), (0, 1), filters=False)
    ((0, 1), (2,))
    >>> cross(((0,), (1, 2)), ((0, 1), (2, 3)), (3,), filters=True)
    ((0, 1), (2,))
    """
    rest = [[item for item in group if item not in anchor] for group in second]
    return canonical(rest if filters else [list(anchor), *rest])


@dataclass(frozen=True)
class FoundParts:
    """What a search found: the parts, how accurate they are by cross-validation, and how much work it was."""

    parts: tuple[Columns, ...]
    accuracy: float
    level: int
    tried: int
    learned: int
    generations: int
    seconds: float
    front: Front = field(default_factory=dict)


class PartsSearch:
    """Partitions of the items of a table, repaired until they may leave, and their accuracy."""

    def __init__(
        self,
        table: DmpdCells,
        features: Columns,
        quasi: frozenset[str],
        k: int,
        options: DmpdOptions,
        *,
        together: Sequence[Columns] = (),
        apart: Sequence[Columns] = (),
        seed: int = 0,
        progress: Progress = silent,
    ) -> None:
        self.table, self.quasi, self.k, self.options, self.progress = table, quasi, k, options, progress
        self.seed = seed
        self.draw = random.Random(seed)  # noqa: S311 - no secret: the same seed gives the same parts
        self._level: dict[frozenset[str], KLevel] = {}
        self._whole: dict[Partition, bool] = {}
        self.items = self._make_items(features, together)
        place = {name: number for number, item in enumerate(self.items) for name in item}
        named = [[place[name] for name in pair if name in place] for pair in apart]
        self.apart = [pair for one in named for pair in combinations(dict.fromkeys(one), 2)]
        columns = [name for item in self.items for name in item]
        self._column = {name: number for number, name in enumerate(columns)}
        rows = code_rows(table, columns, options.folds, seed)
        self.wrapper = Wrapper(rows, grows=options.inducer != NAIVE_BAYES)

    # -- items -------------------------------------------------------------------------------------

    def _make_items(self, features: Columns, together: Sequence[Columns]) -> list[Columns]:
        """Columns that stay together as one; what cannot leave together is filtered, the largest domain first."""
        pairs = dependent_pairs(self.table, combinations(features, 2))
        joined: dict[str, set[str]] = {name: {name} for name in features}
        for group in (*pairs, *together):
            every = set().union(*(joined[name] for name in group if name in joined))
            for name in every:
                joined[name] = every
        items = []
        for one in {id(group): group for group in joined.values()}.values():
            left = sorted(one, key=features.index)
            while left and not self._group_holds(left):
                left.remove(max(left, key=lambda name: (name in self.quasi, self.table.sizes[name])))
            if left:
                items.append(tuple(left))
        return sorted(items, key=lambda item: features.index(item[0]))

    def columns(self, group: Iterable[int]) -> Columns:
        return tuple(name for item in group for name in self.items[item])

    def parts(self, partition: Partition) -> tuple[Columns, ...]:
        """The parts by their columns, in the order of the columns."""
        return tuple(self.columns(group) for group in partition)

    # -- validity ----------------------------------------------------------------------------------

    def _group_holds(self, names: Sequence[str]) -> bool:
        """Level 1; a superset of a group that fails fails."""
        known = frozenset(name for name in names if name in self.quasi)
        if not known:
            return True
        if known not in self._level:
            self._level[known] = group_level(self.table, sorted(known), self.k)
        return self._level[known].holds

    def _join_holds(self, partition: Partition) -> bool:
        if partition not in self._whole:
            found = partition_validity(self.table, self.parts(partition), self.quasi, self.k, self.options.rejoin)
            self._whole[partition] = found.holds
        return self._whole[partition]

    def anonymity(self, partition: Partition) -> int:
        """K(Z)."""
        return partition_validity(self.table, self.parts(partition), self.quasi, 1, self.options.rejoin).level

    def repair(self, partition: Partition) -> Partition:
        """The same with columns moved to groups of their own until it may leave; at last a column is filtered out."""
        groups = [list(group) for group in partition]
        for one, other in self.apart:
            shared = next((group for group in groups if one in group and other in group), None)
            if shared is not None:
                shared.remove(other)
                groups.append([other])
        for group in list(groups):
            while not self._group_holds(self.columns(group)):
                moved = self._largest(group)
                group.remove(moved)
                groups.append([moved])
        while not self._join_holds(canonical(groups)):
            group = max(groups, key=lambda one: (self._known(one), len(one), one))
            moved = self._largest(group)
            group.remove(moved)
            if self._known(group):
                groups.append([moved])
        return canonical(groups)

    def _known(self, group: Sequence[int]) -> int:
        return sum(name in self.quasi for name in self.columns(group))

    def _largest(self, group: Sequence[int]) -> int:
        """The item with quasi-identifiers whose domain is the largest."""
        return max(group, key=lambda item: (self._domain(item), item))

    def _domain(self, item: int) -> int:
        return max((self.table.sizes[name] for name in self.items[item] if name in self.quasi), default=0)

    # -- operators ---------------------------------------------------------------------------------

    def random_partition(self) -> Partition:
        count = self.draw.randint(1, len(self.items))
        groups: list[list[int]] = [[] for _ in range(count + 1)]
        for item in range(len(self.items)):
            groups[self.draw.randrange(count + 1)].append(item)  # the last one is filtered out
        return canonical(groups[:-1]) or self.finest()

    def finest(self) -> Partition:
        return tuple((item,) for item in range(len(self.items)))

    def offspring(self, first: Partition, second: Partition) -> tuple[Partition, Partition]:
        """Two children by group-wise crossover, or copies."""
        if self.draw.random() >= CROSSOVER:
            return first, second
        return self._child(first, second), self._child(second, first)

    def _child(self, first: Partition, second: Partition) -> Partition:
        outside = tuple(item for item in range(len(self.items)) if all(item not in group for group in first))
        anchors = [*first, *([outside] if outside else [])]
        number = self.draw.randrange(len(anchors))
        found = cross(first, second, anchors[number], filters=number == len(first))
        return found or first

    def mutate(self, partition: Partition) -> Partition:
        groups = [list(group) for group in partition]
        for item in range(len(self.items)):
            if self.draw.random() < MUTATION:
                for group in groups:
                    if item in group:
                        group.remove(item)
                place = self.draw.randrange(len(groups) + 2)  # a group, a new one, or none
                if place < len(groups):
                    groups[place].append(item)
                elif place == len(groups):
                    groups.append([item])
        return canonical(groups) or partition

    # -- searching ---------------------------------------------------------------------------------

    def accuracy(self, partition: Partition) -> float:
        return self.wrapper.accuracy([[self._column[name] for name in part] for part in self.parts(partition)])

    def run(self, *, front: bool = False) -> FoundParts:
        """The best parts; front: those that no others beat in accuracy and anonymity, whatever k is."""
        if not self.items:
            raise RequirementBreached(
                f"no column can be in a part with k = {self.k}: each has a value with fewer rows; nothing was published"
            )
        started = time.monotonic()
        if self.options.inducer == NAIVE_BAYES and not front:
            return self._found(self._select_columns(), 0, started)
        return self._evolve(started, front=front)

    def _evolve(self, started: float, *, front: bool) -> FoundParts:
        from ppdm_sql.methods.dmpd.genetic import evolve

        archive: Front = {}

        def judged(partition: Partition) -> tuple[float, int]:
            level = self.anonymity(partition) if front else 0
            accuracy = self.accuracy(partition)
            if front:
                note_point(archive, level, accuracy, self.parts(partition))
            return accuracy, level

        best, generations = evolve(self, judged, front=front, is_late=self._is_late(started))
        return self._found(best, generations, started, archive)

    def _is_late(self, started: float) -> Callable[[], bool]:
        most = self.options.max_seconds
        return lambda: most is not None and time.monotonic() - started >= most

    def _select_columns(self) -> Partition:
        """Naive Bayes: the finest partition of the columns that were best, of those added one after the other."""
        kept: list[int] = []
        best: tuple[float, list[int]] = (-1.0, [])
        while len(kept) < len(self.items):
            left = [item for item in range(len(self.items)) if item not in kept]
            trials = {item: self.accuracy(canonical([[one] for one in (*kept, item)])) for item in left}
            item = max(left, key=lambda one: (trials[one], -one))
            kept = [*kept, item]
            if trials[item] > best[0]:
                best = (trials[item], kept)
            self.progress("selecting columns", len(kept), len(self.items))
        return self.repair(canonical([[item] for item in best[1]]))

    def _found(self, best: Partition, generations: int, started: float, archive: Front | None = None) -> FoundParts:
        return FoundParts(
            self.parts(best), self.accuracy(best), self.anonymity(best), self.wrapper.tried, self.wrapper.trained,
            generations, time.monotonic() - started, archive or {},
        )  # fmt: skip


def note_point(front: Front, level: int, accuracy: float, parts: tuple[Columns, ...]) -> None:
    """Adds a point to those that no other beats.

    >>> front = {}
    >>> for level, accuracy in ((3, 0.86), (100, 0.83), (50, 0.82), (3, 0.85), (600, 0.84)):
    ...     note_point(front, level, accuracy, ())
    >>> sorted(front)
    [3, 600]
    """
    if any(other >= level and found[0] >= accuracy for other, found in front.items()):
        return
    for other in [one for one, found in front.items() if one <= level and found[0] <= accuracy]:
        del front[other]
    front[level] = (accuracy, parts)


def need_pymoo() -> Any:
    """The library that the search uses; its absence is said in a sentence."""
    try:
        import pymoo
    except ImportError as cause:
        raise NotAvailable(
            "the search for parts needs pymoo: pip install 'ppdm_sql[dmpd]', or give parts = ((...), (...))"
        ) from cause
    return pymoo
