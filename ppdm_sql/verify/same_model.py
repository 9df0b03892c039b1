"""Does a release still give the trees it promises?  Each is grown again, from the release alone, and compared.

A second inducer, as simple as can be: one grouped count per tree brings the cells (what a row publishes, its response,
how many rows), and every candidate is tried over them in Python, by the rules of docs/methods/trees.md.  A release
that keeps k has few cells.  It shares no code with what grew the trees.

A pattern is plain JSON: the builder and its limits, the columns it looks at, and the tree itself.

    {"inducer": "cart", "criterion": "gini", "max_depth": 30, "min_leaf": 7, "min_gain": 0.0, "leaves": 2,
     "closed": [], "target": "readmitted", "attributes": [{"name": "age", "ordered": true}],
     "root": {"rows": 60, "column": "age", "at": "30.5", "branches": [{"rows": 25}, {"rows": 35}]}}

A categorical attribute has "groups": its published labels, each with the places its values had in the original
column; they decide ties between subsets.  An ordered attribute with "intervals" is published as the intervals its
values lie in (as labels, as age_from and age_to, or as their middles); these are put in order, and a cut must lie
between the intervals on its two sides.  "closed" lists leaves that were not to be split, as ways from the root.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.verify.intervals import RANGE, Span, nanoseconds, range_text, read_span

_TIE = 1e-9
_MOMENTS = (Kind.DATE, Kind.TIMESTAMP)
_SHORT_FLOATS = {"FLOAT", "REAL", "FLOAT4"}  # 32 bits, in the engines' own words
_MOST_SUBSETS = 12  # categories of which all subsets are tried

Counts = tuple[int, ...]  # rows per class, or (rows, sum, sum of squares) of a response
Value = Any  # a Fraction of an ordered column, the text or None of any other


@dataclass(frozen=True)
class Cell:
    values: tuple[Value, ...]
    counts: Counts


def tree_differences(engine: Engine, relation: Name, patterns: Sequence[Mapping[str, Any]]) -> list[str]:
    """Where the trees grown from a relation are not the promised ones; empty when all are the same."""
    found = []
    for number, pattern in enumerate(patterns, start=1):
        try:
            used = {name for one in patterns for name in (*_used_columns(one["root"]), one["target"])}
            found += [f"tree {number}: {told}" for told in _differences(engine, relation, pattern, used)]
        except PolicyError as error:
            found.append(f"tree {number}: {error}")
        except (KeyError, TypeError, ValueError, AttributeError):
            found.append(f"tree {number}: its pattern was written by another version")
    return found


def _differences(engine: Engine, relation: Name, pattern: Mapping[str, Any], used: set[str]) -> list[str]:
    infos = {info.name: info for info in engine.columns(relation)}
    names = [item["name"] for item in pattern["attributes"]]
    for item in pattern["attributes"]:
        if "intervals" in item and item["name"] not in infos and f"{item['name']}_from" in infos:
            infos[item["name"]] = ColumnInfo(item["name"], Kind.UNSUPPORTED, RANGE)
    missing = [name for name in (*names, pattern["target"]) if name not in infos]
    if missing:
        return [f'column "{missing[0]}" does not exist']
    cells = _cells(engine, relation, [infos[name] for name in names], infos[pattern["target"]], pattern)
    unfit = [*_unknown_labels(cells, pattern), *_unfit_columns(cells, names, used)]
    if unfit:
        return unfit
    root = _Grower(cells, pattern).grow(sum(1 for _ in _used_columns(pattern["root"])))
    return _compare(root, pattern["root"], pattern, infos, "the root")


def _used_columns(node: Mapping[str, Any]) -> Iterator[str]:
    if "branches" in node:
        yield node["column"]
        for child in node["branches"]:
            yield from _used_columns(child)


# -- reading the release ---------------------------------------------------------------------------------


def _cells(
    engine: Engine, relation: Name, attributes: Sequence[ColumnInfo], target: ColumnInfo, pattern: Mapping[str, Any]
) -> list[Cell]:
    items = pattern["attributes"]
    picked = [_as_read(info, item) for info, item in zip(attributes, items, strict=True)]
    known = exp.Not(this=exp.Is(this=column(target.name), expression=exp.Null()))
    rows = exp.Count(this=exp.Star())
    response = pattern["inducer"] == "regression"
    measured = [rows, *_sums(engine, relation, target)] if response else [column(target.name), rows]
    query = exp.Select(
        expressions=[aliased(one, f"ppdm_{number}") for number, one in enumerate([*picked, *measured])]
    ).from_(relation.table())
    by = [one.copy() for one in (*picked, *([] if response else [column(target.name)]))]
    found = engine.fetch(query.where(known).group_by(*by) if by else query.where(known))
    width = len(attributes)
    keys = [
        tuple(_value(value, info, item) for value, info, item in zip(row[:width], attributes, items, strict=True))
        for row in found
    ]
    if response:
        return [Cell(key, tuple(map(int, row[width:]))) for key, row in zip(keys, found, strict=True)]
    classes = {value: place for place, value in enumerate(dict.fromkeys(row[width] for row in found))}
    counts: dict[tuple[Value, ...], list[int]] = {}
    for key, row in zip(keys, found, strict=True):
        counts.setdefault(key, [0] * len(classes))[classes[row[width]]] += int(row[width + 1])
    return [Cell(key, tuple(here)) for key, here in counts.items()]


def _as_read(info: ColumnInfo, item: Mapping[str, Any]) -> exp.Expr:
    if info.declared == RANGE:
        return range_text(info.name)
    if item["ordered"] and info.kind not in (*_MOMENTS, Kind.TEXT, Kind.UNSUPPORTED):
        return column(info.name)
    return exp.cast(column(info.name), "TEXT")


def _value(value: Any, info: ColumnInfo, item: Mapping[str, Any]) -> Value:
    """Numbers exactly; a float counts as the decimal number it is printed as."""
    if not item["ordered"] or value is None:
        return value
    if "intervals" in item and info.kind in (Kind.TEXT, Kind.UNSUPPORTED):
        return read_span(value, info, item)
    place = _place(value, info)
    return Span(place, place) if "intervals" in item else place


def _place(value: Any, info: ColumnInfo) -> Fraction:
    if info.kind in _MOMENTS:
        return nanoseconds(value)
    if isinstance(value, float):
        short = info.declared.upper() in _SHORT_FLOATS
        return Fraction(Decimal(str(np.float32(value)) if short else repr(value)))
    return Fraction(value)


def _sums(engine: Engine, relation: Name, target: ColumnInfo) -> list[exp.Expr]:
    """Sum and sum of squares of the response on a grid of whole numbers, so that they add up exactly."""
    value = column(target.name)
    ends = [exp.Count(this=value), exp.Min(this=value.copy()), exp.Max(this=value.copy())]
    rows, least, greatest = engine.fetch_one(exp.Select(expressions=ends).from_(relation.table()))
    if not rows:
        return [exp.Literal.number(0), exp.Literal.number(0)]
    low, high = Fraction(least), Fraction(greatest)
    whole = target.kind is Kind.INTEGER
    steps, scale = 2 ** ((60 - int(rows).bit_length()) // 2), Fraction(1)
    while (high - low) * scale > steps - 2:
        scale /= 10
    while not whole and high > low and (high - low) * scale * 10 <= steps - 2:
        scale *= 10
    origin = low if low == high else low * scale // 1 / scale
    number: exp.Expr
    if whole and scale == 1:
        number = exp.Sub(this=column(target.name), expression=exp.Paren(this=exp.convert(int(origin))))
    else:
        away = exp.Sub(this=exp.cast(column(target.name), "DOUBLE"), expression=_double(origin))
        number = exp.Floor(
            this=exp.Add(this=exp.Mul(this=exp.Paren(this=away), expression=_double(scale)), expression=_double(0.5))
        )
    number = exp.cast(number, "BIGINT")
    return [exp.Sum(this=number), exp.Sum(this=exp.Mul(this=number.copy(), expression=number.copy()))]


def _double(number: Fraction | float) -> exp.Expr:
    return exp.cast(exp.Literal.string(repr(float(number))), "DOUBLE")


# -- the conditions of the theorem that growing again does not show --------------------------------------


def _unknown_labels(cells: Sequence[Cell], pattern: Mapping[str, Any]) -> list[str]:
    """Condition 2: a published category is one of the groups that no node takes apart."""
    found = []
    for place, item in enumerate(pattern["attributes"]):
        if item["ordered"]:
            continue
        labels = {label for label, _ in item["groups"]}
        strange = {cell.values[place] for cell in cells} - labels
        if strange:
            found.append(f'column "{item["name"]}" has {len(strange)} values that are in none of its groups')
    return found


def _unfit_columns(cells: Sequence[Cell], names: Sequence[str], used: set[str]) -> list[str]:
    """A column that no tree uses is constant: otherwise it could offer a split that was never there."""
    found = []
    for place, name in enumerate(names):
        values = {cell.values[place] for cell in cells}
        if name not in used and len(values) > 1:
            found.append(f'column "{name}" is used by no tree and has {len(values)} values')
        if None in values and any(isinstance(value, Fraction | Span) for value in values):
            found.append(f'column "{name}" mixes NULLs and numbers')
    return found


# -- growing ---------------------------------------------------------------------------------------------


@dataclass
class _Node:
    cells: list[Cell]
    total: Counts
    way: tuple[int, ...]
    split: _Split | None = None
    branches: list[_Node] = field(default_factory=list)


@dataclass(frozen=True)
class _Split:
    attribute: int
    gain: float
    sides: tuple[frozenset[Value], ...]  # the values of each branch
    between: tuple[Any, Any] | None = None  # of a cut: the last value or Span left, the first one right


class _Grower:
    """Best-first: the leaf whose best split gains most is split next."""

    def __init__(self, cells: list[Cell], pattern: Mapping[str, Any]) -> None:
        self.pattern = pattern
        self.response = pattern["inducer"] == "regression"
        self.min_leaf = int(pattern["min_leaf"])
        self.closed = {tuple(way) for way in pattern.get("closed", [])}
        self.places = [
            None if item["ordered"] else {label: tuple(places) for label, places in item["groups"]}
            for item in pattern["attributes"]
        ]
        self.root = _Node(cells, _add(cell.counts for cell in cells), ())

    def grow(self, expansions: int) -> _Node:
        waiting = [(self.root, self.best(self.root))]
        tolerance = self.tolerance(self.root.total)
        for _ in range(expansions):
            open_ = [(node, split) for node, split in waiting if split is not None and node.way not in self.closed]
            if not open_:
                break
            most = max(split.gain for _, split in open_)
            near = [pair for pair in open_ if pair[1].gain >= most - tolerance]
            node, split = min(near, key=lambda pair: (len(pair[0].way), pair[0].way))
            node.split = split
            for number, side in enumerate(split.sides):
                inside = [cell for cell in node.cells if cell.values[split.attribute] in side]
                node.branches.append(_Node(inside, _add(cell.counts for cell in inside), (*node.way, number)))
            waiting = [pair for pair in waiting if pair[0] is not node]
            waiting += [(child, self.best(child)) for child in node.branches]
        return self.root

    def best(self, node: _Node) -> _Split | None:
        """The first attribute whose best candidate is as good as any."""
        rows, impurity = self.rows(node.total), self.impurity(node.total)
        too_small = rows < max(2 * self.min_leaf, 2) or len(node.way) >= int(self.pattern["max_depth"])
        if too_small or impurity <= _TIE * max(rows, 1):
            return None
        tolerance = self.tolerance(node.total)
        least = max(tolerance, float(self.pattern["min_gain"]) * self.impurity(self.root.total))
        found = [self._best_of(node, number, tolerance) for number in range(len(self.places))]
        worth = [split for split in found if split is not None and split.gain > tolerance]
        if not worth:
            return None
        most = max(split.gain for split in worth)
        chosen = next(split for split in worth if split.gain >= most - tolerance)
        return chosen if chosen.gain >= least else None

    def _best_of(self, node: _Node, number: int, tolerance: float) -> _Split | None:
        """The best candidate of one attribute; of equal ones the first."""
        counts: dict[Value, Counts] = {}
        for cell in node.cells:
            value = cell.values[number]
            counts[value] = _add([counts[value], cell.counts]) if value in counts else cell.counts
        if len(counts) < 2:
            return None
        candidates = list(self._candidates(number, counts))
        whole = self.impurity(node.total)
        gains = [
            whole - sum(self.impurity(_add(counts[one] for one in side)) for side in sides) for sides in candidates
        ]
        if not gains:
            return None
        at = next(place for place, gain in enumerate(gains) if gain >= max(gains) - tolerance)
        between = (max(candidates[at][0]), min(candidates[at][1])) if self.places[number] is None else None
        return _Split(number, gains[at], tuple(map(frozenset, candidates[at])), between)

    # -- candidates, in the order in which ties are decided ----------------------------------------

    def _candidates(self, number: int, counts: Mapping[Value, Counts]) -> Iterator[list[list[Value]]]:
        places = self.places[number]
        if places is None:
            line = sorted(counts)
            yield from self._large_enough(counts, ([line[:at], line[at:]] for at in range(1, len(line))))
            return
        values = sorted(counts, key=lambda value: places[value])
        if self.pattern["inducer"] == "id3":
            if sum(self.rows(counts[value]) >= self.min_leaf for value in values) >= 2:
                yield [[value] for value in values]
            return
        both = []
        for side in self._sides(values, counts):
            other = [value for value in values if value not in side]
            both.append([side, other] if values[0] in side else [other, side])
        both.sort(key=lambda sides: sorted(place for value in sides[0] for place in places[value]))
        yield from self._large_enough(counts, both)

    def _sides(self, values: list[Value], counts: Mapping[Value, Counts]) -> Iterator[list[Value]]:
        """One side of every subset split that can be the best."""
        if not self.response and len(next(iter(counts.values()))) > 2:
            if len(values) > _MOST_SUBSETS:
                raise PolicyError(f"a tree splits {len(values)} categories into two: there are too many ways to try")
            for more in range(len(values) - 1):
                for others in combinations(values[1:], more):
                    yield [values[0], *others]
            return
        share = {value: Fraction(counts[value][1], self.rows(counts[value])) for value in values}
        for bound in sorted(set(share.values()))[:-1]:
            yield [value for value in values if share[value] <= bound]

    def _large_enough(self, counts: Mapping[Value, Counts], found: Any) -> Iterator[list[list[Value]]]:
        for sides in found:
            if all(sum(self.rows(counts[value]) for value in side) >= self.min_leaf for side in sides):
                yield sides

    # -- measures, in total over the rows ----------------------------------------------------------

    def rows(self, counts: Counts) -> int:
        return counts[0] if self.response else sum(counts)

    def tolerance(self, counts: Counts) -> float:
        """Gains this near are equal."""
        return _TIE * (self.impurity(counts) if self.response else self.rows(counts))

    def impurity(self, counts: Counts) -> float:
        rows = self.rows(counts)
        if rows == 0:
            return 0.0
        if self.response:
            return float(counts[2] - Fraction(counts[1] ** 2, rows))
        if self.pattern["criterion"] == "gini":
            return float(rows - Fraction(sum(count * count for count in counts), rows))
        return math.fsum(count * math.log2(rows / count) for count in sorted(counts) if count)


def _add(counts: Any) -> Counts:
    return tuple(map(sum, zip(*counts, strict=True)))


# -- comparing -------------------------------------------------------------------------------------------


def _compare(
    found: _Node, promised: Mapping[str, Any], pattern: Mapping[str, Any], infos: Mapping[str, ColumnInfo], where: str
) -> list[str]:
    rows = found.total[0] if pattern["inducer"] == "regression" else sum(found.total)
    if rows != promised["rows"]:
        return [f"{where} has {rows} rows instead of the promised {promised['rows']}"]
    if found.split is None or "branches" not in promised:
        same = (found.split is None) == ("branches" not in promised)
        return [] if same else [f"{where} is {'not ' if found.split is None else ''}split, unlike promised"]
    name = pattern["attributes"][found.split.attribute]["name"]
    if name != promised["column"]:
        return [f'{where} splits "{name}" instead of the promised "{promised["column"]}"']
    if not _same_split(found.split, promised, infos[name]):
        return [f'{where} splits "{name}" at a different threshold than promised']
    if len(found.branches) != len(promised["branches"]):
        return [f"{where} has {len(found.branches)} branches instead of the promised {len(promised['branches'])}"]
    told = []
    for number, (child, wanted) in enumerate(zip(found.branches, promised["branches"], strict=True), start=1):
        told += _compare(child, wanted, pattern, infos, f"branch {number} of {where}")
    return told


def _same_split(split: _Split, promised: Mapping[str, Any], info: ColumnInfo) -> bool:
    """Condition 3: the threshold is the midpoint, exactly; of moments the next one that the type has."""
    if split.between is None:
        return "groups" in promised and list(split.sides) == [frozenset(side) for side in promised["groups"]]
    if "at" not in promised:
        return False
    low, high = split.between
    if isinstance(low, Span):
        moments = info.kind in _MOMENTS or ":" in promised["at"] or "-" in promised["at"][1:]
        border = nanoseconds(promised["at"]) if moments else Fraction(promised["at"])
        return bool((low.start if low.typed else low.end) <= border <= high.start and low.end <= high.start)
    half = (low + high) / 2
    if info.kind not in _MOMENTS:
        return bool(Fraction(promised["at"]) == half)
    at = nanoseconds(promised["at"])
    unit = 86_400 * 10**9 if info.kind is Kind.DATE else 1000
    return bool(low < at <= high and 0 <= at - half < unit)
