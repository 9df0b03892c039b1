"""t-closeness (Li, Li and Venkatasubramanian 2007): how far a class is from the whole table.

All three distances are whole numbers over size * rows * steps, where size is the class's, rows the table's.  Where
NULL is no value, both count known values only, and a class without one is farther than every t.

equal         steps 1.  What does not overlap: size * rows - sum of min(count * rows, total * size).
hierarchical  steps = height.  Two values are as far apart as the level on which they meet; that makes the
              distance the mean, over all levels below the root, of the equal distance of the values
              generalized to that level.  (Half the sum over all nodes of what is too much or too little, over
              the height: per level the too much and the too little are the same.)
ordered       steps = number of values - 1.  The sum, over the places between two values, of what has to be
              carried across: |rows up to here in the class * rows - rows up to here in the table * size|.

Equal and hierarchical distances are summed in the database.  For the ordered one it would have to write down
a number for every class and every value, so the counts (class, value, rows) of classes with several values
are read in batches, in order, and summed by numpy: the places between two values of a class are crossed in
one step with sums of the table's distribution.  A class of a single value needs neither: its distance is
known from the value alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from ppdm_sql.checks.class_table import CLASSES, DISTINCT, KNOWN, LOWEST, SIZE, Cells, subquery, whole
from ppdm_sql.checks.exact_compare import Integers, Numbers, at_most, largest
from ppdm_sql.checks.outcome import Outcome, outcome
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import EngineError
from ppdm_sql.requirements import Closeness, Figure
from ppdm_sql.source.encode import CODE, ROWS
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.statements.names import Name, aliased, column

_NODE, _TOTAL, _FAR = "ppdm_node", "ppdm_total", "ppdm_far"
_WORD = 2**63
_BATCH = 500_000
_NONE = np.zeros(0, dtype=np.int64)
Levels = NDArray[np.int64]  # (level, code) -> node, for every level below the root


@dataclass(frozen=True)
class Reference:
    """The whole table: how many rows have each code, and the node of each code on every level below the root."""

    totals: Integers
    levels: Levels
    steps: int

    @property
    def rows(self) -> int:
        return int(self.totals.sum())


@dataclass(frozen=True)
class Far:
    """Classes alike: so many of this size, with so many known values, each far / (known * rows * steps) away."""

    size: Integers
    known: Integers
    far: Numbers
    classes: Integers


def closeness_outcomes(
    engine: Engine, distance: str, requirements: Sequence[Closeness], cells: Cells, reference: Reference
) -> list[Outcome]:
    """How far the farthest class of one sensitive column is, against every t that is asked for one distance."""
    unit = reference.rows * reference.steps
    farthest: Figure = None
    nothing = classes_without_values(engine, cells)
    breaching = [[nothing] for _ in requirements]
    for found in _distances(engine, distance, cells, reference):
        if not found.size.size:
            continue
        farthest = max(farthest or Fraction(0), largest(found.far, found.known) / unit)
        for requirement, kept in zip(requirements, breaching, strict=True):
            breach = ~at_most(found.far, found.known, requirement.t * unit)
            kept.append((found.classes[breach], found.size[breach]))
    if nothing[0].size:
        farthest = math.inf
    name = cells.sensitive.column.name
    return [
        outcome(requirement, name, farthest, *(np.concatenate(part) for part in zip(*kept, strict=True)))
        for requirement, kept in zip(requirements, breaching, strict=True)
    ]


def classes_without_values(engine: Engine, cells: Cells) -> tuple[Integers, Integers]:
    """How many classes have no known value, and their sizes."""
    if cells.unknown is None:
        return _NONE, _NONE
    empty = exp.EQ(this=column(KNOWN), expression=exp.Literal.number(0))
    query = exp.Select(expressions=[aliased(exp.Count(this=exp.Star()), CLASSES), column(SIZE)])
    found = engine.arrays(query.from_(cells.classes.table()).where(empty).group_by(column(SIZE)))
    return found[CLASSES].astype(np.int64), found[SIZE].astype(np.int64)


def _distances(engine: Engine, distance: str, cells: Cells, reference: Reference) -> Iterator[Far]:
    if not reference.rows:  # no value is known anywhere
        return
    ordered = distance == "ordered"
    yield _single_valued(engine, cells, alone_ordered(reference) if ordered else alone(reference))
    if ordered:
        yield from _far_in_order(engine, cells, reference)
    else:
        yield from _not_shared(engine, cells, reference)


# -- the whole table ---------------------------------------------------------------------------------


def make_reference(engine: Engine, cells: Cells, rows: int, distance: str, hierarchy: Hierarchy | None) -> Reference:
    """The table's distribution; NULL as a value is the last in an order, and apart from all others in a hierarchy."""
    lookup = cells.sensitive
    null_code = lookup.null_code if cells.unknown is None else None
    totals = np.zeros(cells.codes, dtype=np.int64)
    found = engine.arrays(exp.Select(expressions=[column(CODE), column(ROWS)]).from_(lookup.table.table()))
    totals[found[CODE].astype(np.int64)] = found[ROWS].astype(np.int64)
    if null_code is not None:
        totals[null_code] = rows - int(totals.sum())
    if distance == "hierarchical" and hierarchy is not None:
        levels = hierarchy_levels(hierarchy, [row[0] for row in lookup.values(engine)], null_code)
        return Reference(totals, levels, max(1, hierarchy.height))
    steps = max(1, cells.codes - 1) if distance == "ordered" else 1
    return Reference(totals, np.arange(cells.codes, dtype=np.int64)[np.newaxis], steps)


def hierarchy_levels(hierarchy: Hierarchy, values: Sequence[object], null_code: int | None = None) -> Levels:
    """Per level below the root and per code, the number of its node; values are in the order of their codes.

    >>> from ppdm_sql.source.hierarchy import build
    >>> tree = build("ward", [["A1", "A", "*"], ["A2", "A", "*"], ["B1", "B", "*"]])
    >>> hierarchy_levels(tree, ["A1", "A2", "B1"], null_code=3).tolist()
    [[0, 1, 2, 3], [0, 0, 1, 2]]
    """
    places = hierarchy.positions(values)
    levels = []
    for level in range(hierarchy.height):
        nodes = hierarchy.codes(level)[places].astype(np.int64)
        apart = [] if null_code is None else [len(hierarchy.nodes(level))]
        levels.append(np.concatenate([nodes, np.array(apart, dtype=np.int64)]))
    return np.stack(levels)


def node_totals(reference: Reference) -> Levels:
    """Per level and code, how many rows of the table are in the code's node."""
    return np.stack([_rows_by_node(nodes, reference.totals)[nodes] for nodes in reference.levels])


def _rows_by_node(nodes: Integers, totals: Integers) -> Integers:
    """Rows per node; not bincount, whose weights are floating point."""
    sums = np.zeros(int(nodes.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(sums, nodes, totals)
    return sums


def alone(reference: Reference) -> Integers:
    """Per code, far of a class of one row with this value: on each level everything outside its node."""
    return np.asarray((reference.rows - node_totals(reference)).sum(axis=0))


def alone_ordered(reference: Reference) -> Integers:
    """The same for the ordered distance: what lies below is carried up to the value, the rest down to it."""
    below = np.cumsum(reference.totals)[:-1]
    up = np.concatenate([[0], np.cumsum(below)])
    down = np.concatenate([np.cumsum((reference.rows - below)[::-1])[::-1], [0]])
    return np.asarray(up + down)


def _single_valued(engine: Engine, cells: Cells, distance: Integers) -> Far:
    """Classes with one value: their distance does not depend on their size."""
    one = exp.EQ(this=column(DISTINCT), expression=exp.Literal.number(1))
    by = [LOWEST, *_sizes(cells)]
    query = exp.Select(expressions=[column(name) for name in by]).from_(cells.classes.table()).where(one)
    query = query.select(aliased(exp.Count(this=exp.Star()), CLASSES)).group_by(*(column(name) for name in by))
    found = engine.arrays(query)
    code, size, known, classes = (found[name].astype(np.int64) for name in (LOWEST, SIZE, cells.known_rows, CLASSES))
    return Far(size, known, _product(distance[code], known), classes)


def _product(one: Integers, other: Integers) -> Numbers:
    """The products, in Python's integers where 64 bits might not hold one."""
    fits = not one.size or int(one.max()) * int(other.max()) < _WORD
    return np.asarray(one * other if fits else one.astype(object) * other)


# -- equal and hierarchical --------------------------------------------------------------------------


def _not_shared(engine: Engine, cells: Cells, reference: Reference) -> Iterator[Far]:
    """Classes with several values, in the database: what a class and the table do not have in common."""
    if reference.steps * reference.rows**2 >= _WORD:
        raise EngineError(f"closeness cannot be measured over {reference.rows:,} rows: the sums need more than 64 bits")
    tree = _load_tree(engine, reference)
    keys = cells.key.columns
    source = _node_counts(cells, tree) if len(reference.levels) > 1 else _value_counts(cells, tree)
    common = exp.Least(
        this=exp.Mul(this=column(ROWS), expression=exp.Literal.number(reference.rows)),
        expressions=[exp.Mul(this=column(_TOTAL), expression=column(cells.known_rows))],
    )
    whole_way = exp.Mul(this=column(cells.known_rows), expression=exp.Literal.number(reference.rows * reference.steps))
    far = exp.Sub(this=whole_way, expression=exp.Sum(this=common))
    sizes = [column(name) for name in _sizes(cells)]
    by_class = exp.Select(expressions=[*sizes, aliased(whole(far), _FAR)]).from_(subquery(source, "ppdm_nodes"))
    by_class = by_class.group_by(*(column(key) for key in keys), *(size.copy() for size in sizes))
    by = [*(size.copy() for size in sizes), column(_FAR)]
    alike = exp.Select(expressions=[*by, aliased(exp.Count(this=exp.Star()), CLASSES)])
    alike = alike.from_(subquery(by_class, "ppdm_distances")).group_by(*(part.copy() for part in by))
    for batch in engine.batches(alike, _BATCH):
        found = [np.asarray(part, dtype=np.int64) for part in batch.columns]
        yield Far(size=found[0], known=found[-3], far=found[-2], classes=found[-1])


def _sizes(cells: Cells) -> list[str]:
    """The columns of a class's size: all its rows, and the known ones where they are fewer."""
    return list(dict.fromkeys([SIZE, cells.known_rows]))


def _load_tree(engine: Engine, reference: Reference) -> Name:
    """(code, node, total): every code with its node on every level, nodes of all levels numbered apart."""
    levels, codes = reference.levels.shape
    first = np.concatenate([[0], np.cumsum(reference.levels.max(axis=1, initial=0) + 1)])[:-1]
    columns = {
        CODE: np.tile(np.arange(codes, dtype=np.int32), levels),
        _NODE: (reference.levels + first[:, np.newaxis]).ravel().astype(np.int32),
        _TOTAL: node_totals(reference).ravel(),
    }
    return engine.work.load("levels", columns, analyze=True)


def _value_counts(cells: Cells, tree: Name) -> exp.Select:
    """Cells of classes with several values: (key columns, sizes, rows, total)."""
    picked = [column(key, "c") for key in cells.key.columns] + [column(name, "k") for name in _sizes(cells)]
    several = exp.GT(this=column(DISTINCT, "k"), expression=exp.Literal.number(1))
    query = cells.join_classes([*picked, column(ROWS, "c"), column(_TOTAL, "t")], several)
    return query.join(tree.table("t"), on=exp.EQ(this=column(CODE, "t"), expression=column(CODE, "c")))


def _node_counts(cells: Cells, tree: Name) -> exp.Select:
    """The same for nodes of every level: their rows are the sum of the rows of their values."""
    inner = _value_counts(cells, tree).select(column(_NODE, "t"))
    by = [*cells.key.columns, *_sizes(cells), _NODE, _TOTAL]
    query = exp.Select(expressions=[column(name) for name in by]).from_(subquery(inner, "ppdm_leaves"))
    query = query.select(aliased(whole(exp.Sum(this=column(ROWS))), ROWS))
    return query.group_by(*(column(name) for name in by))


# -- ordered -----------------------------------------------------------------------------------------


def _far_in_order(engine: Engine, cells: Cells, reference: Reference) -> Iterator[Far]:
    """Classes with several values, in batches of cells in order; a class that is cut waits for its rest."""
    waiting: NDArray[np.int64] | None = None
    figures = -len(_sizes(cells)) - 2  # from here on a cell has no key
    for batch in engine.batches(_cells_in_order(cells), _BATCH):
        found = np.stack([np.asarray(part, dtype=np.int64) for part in batch.columns])
        found = found if waiting is None else np.concatenate([waiting, found], axis=1)
        starts = _starts(found)
        waiting = found[:, starts[-1] :]
        if len(starts) > 1:
            yield from _carried_by(found[figures:, : starts[-1]], starts[:-1], reference)
    if waiting is not None:
        yield from _carried_by(waiting[figures:], np.array([0]), reference)


def _cells_in_order(cells: Cells) -> exp.Select:
    """(key columns, sizes, code, rows) of classes with several values, by class and code."""
    keys = [column(key, "c") for key in cells.key.columns]
    several = exp.GT(this=column(DISTINCT, "k"), expression=exp.Literal.number(1))
    sizes = [column(name, "k") for name in _sizes(cells)]
    query = cells.join_classes([*keys, *sizes, column(CODE, "c"), column(ROWS, "c")], several)
    ordered = [exp.Ordered(this=part.copy(), nulls_first=False) for part in (*keys, column(CODE, "c"))]
    return query.order_by(*ordered)


def _starts(found: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where a new class begins; the rows before the last three are its key, or the same for the whole class."""
    keys = found[:-3]
    return np.flatnonzero(np.concatenate([[True], (keys[:, 1:] != keys[:, :-1]).any(axis=0)]))


def _carried_by(found: NDArray[np.int64], starts: NDArray[np.int64], reference: Reference) -> Iterator[Far]:
    """Whole classes; the few whose sums might not fit 64 bits are added up in Python's integers."""
    size, known = found[0], found[-3]
    large = known > (_WORD // 4) // max(1, reference.steps * reference.rows)
    for part, dtype in ((~large, np.int64), (large, object)):
        if part.any():
            kept = np.flatnonzero(part[starts])
            cells = found[:, part].astype(dtype)
            lengths = np.diff(np.append(starts, found.shape[1]))[kept]
            first = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
            far = carried_rows(cells[-3], cells[-2].astype(np.int64), cells[-1], first, reference.totals)
            yield Far(size[starts][kept], known[starts][kept], far, np.ones(len(kept), dtype=np.int64))


def carried_rows(size: Numbers, code: Integers, rows: Numbers, first: Integers, totals: Integers) -> Numbers:
    """Per class, the sum over places of |up to here in the class * table rows - up to here in the table * size|.

    Cells stand by class and code; first says where each class begins.  Between two values of a class its sum
    stays the same and the table's only grows, so there is one place where the sign turns, and sums of the
    table's sums give both sides of it.

    >>> carried_rows(np.array([2, 2]), np.array([0, 2]), np.array([1, 1]), np.array([0]), np.array([1, 1, 2])).tolist()
    [2]
    """
    table_rows = totals.sum()
    up_to = np.cumsum(totals)[:-1].astype(np.int64)
    sums = np.concatenate([[0], np.cumsum(up_to)]).astype(rows.dtype)
    after = np.roll(code, -1)
    last = np.append(first[1:], len(code)) - 1
    after[last] = len(totals) - 1  # behind the last value of a class its sum stays to the end
    here = np.cumsum(rows)
    here = here - np.repeat(here[first] - rows[first], np.diff(np.append(first, len(code))))
    reached = here * table_rows
    turn = np.clip(np.searchsorted(up_to, (reached // size).astype(np.int64), side="right"), code, after)
    each = (2 * turn - code - after) * reached + size * (sums[code] + sums[after] - 2 * sums[turn])
    before = size[first] * sums[code[first]]
    return np.asarray(np.add.reduceat(each, first) + before)
