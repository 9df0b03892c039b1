"""The nested sequence of trees with 1, 2, 3, ... splits, as far as it is asked for.

Grown best-first, a tree with one split more is the same tree with one leaf expanded.  So it is grown once, split by
split: every prefix of its expansions is the tree that a limit of leaves gives.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ppdm_sql.induction.candidates import Found
from ppdm_sql.induction.grow import Grown, TreeGrowth
from ppdm_sql.induction.inducers import Settings, limits_of, rules_of
from ppdm_sql.induction.tree_rows import ArrayRows
from ppdm_sql.watching import Progress, silent


@dataclass
class Nested:
    """A best-first growth.  Splits are in codes: the places of the values in the column's order, NULL last."""

    growth: TreeGrowth
    order: list[int] = field(default_factory=list)  # the nodes that were split, first to last
    _waiting: dict[int, Found] = field(default_factory=dict)  # looked at, not split yet
    _fresh: list[int] = field(default_factory=list)  # not looked at

    @property
    def nodes(self) -> list[Grown]:
        return self.growth.nodes

    def expand(self) -> Grown | None:
        """Splits one leaf more, the best; None where no leaf can be split."""
        self._look()
        if not self._waiting:
            return None
        number = self.growth.first_of(self._waiting)
        self._fresh += self.growth.split(number, self._waiting.pop(number))
        self.order.append(number)
        return self.nodes[number]

    def take_back(self) -> None:
        """The leaf that was split last stays a leaf for good, and nothing below it is looked at."""
        node = self.nodes[self.order.pop()]
        self._fresh = [one for one in self._fresh if one not in node.children]

    def _look(self) -> None:
        """Fresh leaves are looked at when one of them might come first: a gain cannot exceed the leaf's impurity."""
        best = max((split.gain for split in self._waiting.values()), default=None)
        impurity = self.growth.rules.impurity
        if not any(best is None or float(impurity(self.nodes[one].counts)) >= best for one in self._fresh):
            return
        if self.order:
            self.growth.send_on({*self._fresh, *self._waiting})
        self._waiting |= self.growth.best_of(self._fresh)
        self._fresh = []


def grow_nested(rows: ArrayRows, chosen: Settings, progress: Progress = silent) -> Nested:
    """A growth without pruning that has not begun."""
    rules, limits = rules_of(chosen, rows.number), limits_of(chosen)
    growth = TreeGrowth(rows, rules, limits, None, progress, [Grown(0, None, 0, (), rows.root)])
    fresh = [0] if growth.can_split(0, rows.root[None])[0] else []
    return Nested(growth, _fresh=fresh)
