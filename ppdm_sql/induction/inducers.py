"""The inducers: id3, c45, cart and regression, from a relation to a finished tree.

    coded       the one pass over the source           candidates  the best split along an attribute
    counts      one GROUP BY per packed column         grow        which splits are made, rows sent on
    criteria    what a split is worth                  prune       which are taken back

docs/methods/trees.md is the rule book they follow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Context, Decimal
from fractions import Fraction
from typing import Annotated, Any, TypeAlias

import numpy as np
from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.induction.candidates import Found, Rules, Veto
from ppdm_sql.induction.coded import RESPONSE, Training, make_training
from ppdm_sql.induction.coded_attribute import CodedAttribute
from ppdm_sql.induction.criteria import TIE, Floats, Ints, entropy, gini, squared_error
from ppdm_sql.induction.grow import Grown, Limits, grow
from ppdm_sql.induction.prune import error_based, weakest_link
from ppdm_sql.induction.thresholds import between
from ppdm_sql.induction.tree_rows import EngineRows
from ppdm_sql.policy.options import Choice, Real, Switch, Whole, checked_options, from_text, wrong_value
from ppdm_sql.policy.words import did_you_mean, printable
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.trees.tree import Cut, Groups, Moments, Node, Split, Tree, Value, plain
from ppdm_sql.watching import Progress, silent

INDUCERS = ("id3", "c45", "cart", "regression")
RARE = 5  # categories with fewer rows are not named

# What options may be; methods that grow their tree by an inducer take some of them.
Depth: TypeAlias = Annotated[int, Whole(1, 500)]
LeafRows: TypeAlias = Annotated[int, Whole(1, 10**12)]
Leaves: TypeAlias = Annotated[int | None, Whole(2, 10**6)]
Share: TypeAlias = Annotated[float, Real(Fraction(0), Fraction(1))]
Confidence: TypeAlias = Annotated[float, Real(Fraction(1, 10**6), Fraction(1, 2))]


@dataclass(frozen=True)
class Settings:
    """An inducer and everything that can be set about it."""

    inducer: str
    criterion: Annotated[str, Choice("entropy", "gini", "deviance")] = "entropy"
    max_depth: Depth = 30
    min_leaf: LeafRows = 1
    max_leaves: Leaves = None
    min_gain: Share = 0.0
    bins: Annotated[int, Whole(2, 65_535)] = 255
    exact: Annotated[bool, Switch()] = False
    prune: Annotated[bool, Switch()] = True
    confidence: Confidence = 0.25
    complexity: Share = 0.001
    mdl: Annotated[bool, Switch()] = True
    exact_midpoints: Annotated[bool, Switch()] = False
    rare: Annotated[int, Whole(1, 10**12)] = RARE

    def as_record(self) -> dict[str, str | int | float | bool]:
        """What was set, for the model's record."""
        return {
            field.name: value
            for field in fields(self)
            if field.name != "inducer" and (value := getattr(self, field.name)) is not None
        }


_DEFAULTS = {
    "id3": Settings("id3", prune=False, mdl=False),
    "c45": Settings("c45", min_leaf=2),
    "cart": Settings("cart", criterion="gini", min_leaf=7, mdl=False),
    "regression": Settings("regression", criterion="deviance", min_leaf=7, mdl=False),
}
_CRITERIA = {"id3": ("entropy",), "c45": ("entropy",), "cart": ("gini", "entropy"), "regression": ("deviance",)}


def settings(name: str, options: Mapping[str, Any] | None = None) -> Settings:
    """An inducer by its name with its options checked; numbers may come as text, as they do from a command line.

    >>> settings("c45", {"min_leaf": 10, "confidence": Fraction(1, 10)}).confidence
    0.1
    """
    if name not in INDUCERS:
        raise PolicyError(f"unknown learner {printable(name)}: {did_you_mean(name, INDUCERS)}")
    chosen = checked_options(Settings, from_text(options or {}), name)
    criterion = chosen.get("criterion")
    if criterion is not None and criterion not in _CRITERIA[name]:
        raise wrong_value(name, "criterion", Choice(*_CRITERIA[name]), criterion)
    return replace(_DEFAULTS[name], **chosen)


# -- from a relation to a tree ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Induced:
    """A tree, the rows it was learned from, and those left out (no target, or a rare class)."""

    tree: Tree
    rows: int
    left_out: int


def induce(
    engine: Engine,
    relation: Name,
    attributes: Sequence[ColumnInfo],
    target: ColumnInfo,
    chosen: Settings,
    *,
    ordered: Mapping[str, bool] | None = None,
    veto: Veto | None = None,
    pinned: int = 1,
    progress: Progress = silent,
) -> Induced:
    """Learns a tree from a relation; only counts leave the database.

    pinned: rows around every threshold, so that it reveals no one (borders.py); 1: any number between two values.
    """
    regression = chosen.inducer == "regression"
    progress("reading the table", 0, None)
    training = make_training(
        engine,
        relation,
        attributes,
        target,
        regression=regression,
        bins=chosen.bins,
        exact=chosen.exact,
        rare=chosen.rare,
        most_nodes=most_nodes(chosen),
        ordered=ordered,
        pinned=pinned,
    )
    rules = rules_of(chosen, len(training.classes))
    nodes = grow(EngineRows(engine, training), root_of(engine, training), rules, limits_of(chosen), veto, progress)
    if chosen.prune and chosen.inducer == "c45":
        error_based(nodes, chosen.confidence)
    elif chosen.prune and chosen.inducer in ("cart", "regression"):
        weakest_link(nodes, chosen.complexity, regression=regression)
    declared = {info.name: info.declared for info in attributes}
    tree = _decode(engine, training, nodes, chosen, declared)
    return Induced(tree, training.rows, training.left_out)


def most_nodes(chosen: Settings) -> int:
    """Open nodes at a time: what the column of slots must hold."""
    binary = chosen.inducer in ("cart", "regression")
    return 2 ** min(chosen.max_depth, 30) if binary else 1 << 31


def rules_of(chosen: Settings, classes: int) -> Rules:
    """What makes a candidate for this inducer, and what it is worth."""
    regression = chosen.inducer == "regression"
    impurity = {"entropy": entropy, "gini": gini, "deviance": squared_error}[chosen.criterion]

    def rows(counts: Ints) -> Ints:
        return np.asarray(counts[..., 0] if regression else counts.sum(axis=-1))

    def tolerance(totals: Ints) -> Floats:
        return np.asarray(TIE * (squared_error(totals) if regression else rows(totals)), dtype=np.float64)

    def least_of_cut(total: Ints) -> Ints:
        if chosen.inducer != "c45":
            return np.full_like(total, chosen.min_leaf)
        tenth = -(-total // (10 * classes))  # C4.5: a tenth of the average class, at most 25
        return np.maximum(chosen.min_leaf, np.minimum(25, tenth))

    binary = chosen.inducer in ("cart", "regression")
    return Rules(impurity, rows, tolerance, chosen.min_leaf, least_of_cut, binary, regression, chosen.mdl)


def limits_of(chosen: Settings) -> Limits:
    """When a node of this inducer stays a leaf."""
    by_ratio = chosen.inducer == "c45"
    return Limits(chosen.max_depth, max(2 * chosen.min_leaf, 2), chosen.max_leaves, chosen.min_gain, by_ratio)


def root_of(engine: Engine, training: Training) -> Ints:
    """The histogram of all rows: classes from any packed column, a response by its own sums."""
    if training.is_regression:
        number = exp.cast(column(RESPONSE), "BIGINT")
        square = exp.Mul(this=number.copy(), expression=number.copy())
        sums = [exp.Count(this=exp.Star()), exp.Sum(this=number), exp.Sum(this=square)]
        found = engine.fetch_one(exp.Select(expressions=sums).from_(training.table.table()))
        return np.array([int(value) for value in found], dtype=np.int64)
    pack = min(training.packs, key=lambda one: one.cells)
    code = exp.Mod(this=exp.cast(column(pack.name), "BIGINT"), expression=exp.Literal.number(pack.classes))
    query = exp.Select(expressions=[aliased(code, "ppdm_y"), aliased(exp.Count(this=exp.Star()), "ppdm_n")])
    counted = engine.arrays(query.from_(training.table.table()).group_by(code.copy()))
    counts = np.zeros(len(training.classes), dtype=np.int64)
    counts[counted["ppdm_y"].astype(np.int64)] = counted["ppdm_n"]
    return counts


# -- from codes back to values ---------------------------------------------------------------------------


def _decode(
    engine: Engine, training: Training, grown: list[Grown], chosen: Settings, declared: Mapping[str, str]
) -> Tree:
    """The tree over values, its nodes numbered from the top."""
    order = reading_order(grown)
    number = {node.number: place for place, node in enumerate(order)}
    values = _needed_values(engine, training, order)
    cuts: dict[tuple[int, int, int], Decimal | str] = {}

    def split_of(node: Grown) -> Split | None:
        if node.split is None:
            return None
        return _split_over_values(training, node.split, values[node.split.attribute], cuts, chosen, declared)

    nodes = tuple(
        Node(
            number[node.number],
            None if node.parent is None else number[node.parent],
            node.depth,
            (int(node.counts[0]),) if training.is_regression else tuple(map(int, node.counts)),
            split_of(node),
            tuple(number[child] for child in node.children),
            _moments(training, node.counts) if training.is_regression else None,
            0.0 if node.split is None else node.split.gain / float(training.scale) ** 2,
        )
        for node in order
    )
    attributes = tuple(one.attribute for one in training.attributes)
    return Tree(attributes, training.target, training.classes, nodes, chosen.inducer, chosen.as_record())


def reading_order(grown: Sequence[Grown]) -> list[Grown]:
    """The nodes from the root on, each before its children, which stand from left to right."""
    order, waiting = [], [0]
    while waiting:
        node = grown[waiting.pop()]
        order.append(node)
        waiting.extend(reversed(node.children))
    return order


def _needed_values(engine: Engine, training: Training, nodes: list[Grown]) -> dict[int, dict[int, object]]:
    """Per attribute, place in the column's order -> value; only places that some split names."""
    places: dict[int, set[int]] = {}
    for node in nodes:
        if node.split is not None:
            coded = training.attributes[node.split.attribute]
            places.setdefault(node.split.attribute, set()).update(_places(coded, node.split))
    return {number: training.attributes[number].texts(engine, sorted(wanted)) for number, wanted in places.items()}


def _places(coded: CodedAttribute, split: Found) -> list[int]:
    if split.cut is not None and split.above is not None:
        return [int(coded.last[split.cut]), int(coded.first[split.above])]
    named = [int(code) for group in split.groups for code in group if code not in (coded.rare, coded.null)]
    return [int(coded.first[code]) for code in named]


def _split_over_values(
    training: Training,
    split: Found,
    values: Mapping[int, object],
    cuts: dict[tuple[int, int, int], Decimal | str],
    chosen: Settings,
    declared: Mapping[str, str],
) -> Split:
    coded = training.attributes[split.attribute]
    if split.cut is not None:
        if coded.cuts:
            return Cut(split.attribute, coded.cuts[split.cut], split.null_branch)
        low, high = _places(coded, split)
        key = (split.attribute, low, high)
        if key not in cuts:
            attribute = coded.attribute
            words = declared[attribute.name]
            cuts[key] = between(values[low], values[high], attribute, words, midpoint=chosen.exact_midpoints)
        return Cut(split.attribute, cuts[key], split.null_branch)
    groups, others = [], None
    for place, group in enumerate(split.groups):
        named: list[Value] = [
            plain(values[int(coded.first[code])]) for code in sorted(group) if code not in (coded.rare, coded.null)
        ]
        if coded.null is not None and coded.null in group:
            named.append(None)
        if coded.rare is not None and coded.rare in group:
            others = place
        groups.append(tuple(named))
    return Groups(split.attribute, tuple(groups), others)


def _moments(training: Training, counts: Ints) -> Moments:
    """Rows, mean and variance of the response, back from the grid."""
    rows, total = int(counts[0]), int(counts[1])
    mean = training.low + Fraction(total, max(rows, 1)) / training.scale
    digits = Context(prec=15)
    exact = digits.divide(Decimal(mean.numerator), Decimal(mean.denominator))
    variance = float(squared_error(counts)) / max(rows, 1) / float(training.scale) ** 2
    return Moments(rows, Decimal(format(digits.normalize(exact), "f")), variance)  # 10, not 1E+1
