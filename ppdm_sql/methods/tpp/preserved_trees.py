"""The trees of PRESERVE: which builders qualify, one growth of each, and what is written down of a tree.

A builder qualifies when its choice depends on nothing but the partitions that candidates make: counts, never how
many values a column has.  Then every candidate over the recoded rows was a candidate over the original ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.induction.candidates import Found
from ppdm_sql.induction.coded import MOST_CLASSES, check_columns, on_grid
from ppdm_sql.induction.criteria import Ints
from ppdm_sql.induction.grow import Grown
from ppdm_sql.induction.inducers import INDUCERS, Settings, settings
from ppdm_sql.induction.nested import Nested, grow_nested
from ppdm_sql.induction.tree_rows import ArrayRows, ValueAttribute
from ppdm_sql.methods.shared.columns import Axis
from ppdm_sql.methods.tpp.stored_models import builder_of, columns_of, is_model
from ppdm_sql.models.library import Model
from ppdm_sql.policy.options import place_option, unknown_option
from ppdm_sql.policy.policy import Inducer, OptionValue, Policy
from ppdm_sql.policy.words import printable
from ppdm_sql.source.relation import Source, match
from ppdm_sql.statements.names import Word
from ppdm_sql.trees.tree import attribute_of
from ppdm_sql.watching import Progress

_MOST_NUMBERS = 20  # a numeric target with more values than this is predicted as a number
_OPTIONS = ("criterion", "max_depth", "min_leaf", "max_leaves", "min_gain")
_LAST_LIMIT = 1 << 13  # leaves that a tree is grown to at most


@dataclass
class Preserved:
    """One tree to keep: its builder, its response, the columns it may look at, and its growth so far."""

    builder: Settings
    target: ColumnInfo
    attributes: tuple[ColumnInfo, ...]
    growth: Nested | None = field(default=None, repr=False)
    model: Model | None = field(default=None, repr=False)  # the one it must be, whole
    _is_full: bool = False

    @property
    def multiway(self) -> bool:
        return self.builder.inducer == "id3"

    def begin(self, axes: Mapping[str, Axis], rows: Ints, progress: Progress) -> None:
        """Makes the growth ready, from the cells that these axes are of."""
        regression = self.builder.inducer == "regression"
        check_columns(self.attributes, self.target, regression=regression)
        target = axes[self.target.name]
        if not regression and target.size > MOST_CLASSES:
            raise PolicyError(
                f'column "{self.target.name}" has {target.size} classes, but at most {MOST_CLASSES} can be learned: '
                "group its values, or use regression if it is a number"
            )
        asked = [axes[info.name] for info in self.attributes]
        attributes = [ValueAttribute(attribute_of(axis.info), axis.size, axis.null_code) for axis in asked]
        classes = target.cell_codes
        if regression:
            classes = on_grid(self.target, target.raw, int(rows.sum()))[classes]
        cells = ArrayRows(
            attributes, [axis.cell_codes for axis in asked], classes, 0 if regression else target.size, rows
        )
        self.growth = grow_nested(cells, self.builder, progress)

    def expand(self, expanded: Sequence[int]) -> int | None:
        """Splits one leaf more of the tree in which these nodes are split; None where it may not grow further."""
        assert self.growth is not None
        node = None if self._is_full else self.growth.expand()
        most = min(self.builder.max_leaves or _LAST_LIMIT, _LAST_LIMIT)
        if node is None or self.leaves((*expanded, node.number)) > most:
            self._is_full = True
            return None
        return node.number

    def close(self) -> None:
        """The leaf that was split last stays a leaf."""
        assert self.growth is not None
        self.growth.take_back()

    def node(self, number: int) -> Grown:
        assert self.growth is not None
        return self.growth.nodes[number]

    def leaves(self, expanded: Sequence[int]) -> int:
        return 1 + sum(len(self.node(number).children) - 1 for number in expanded)

    def splits(self, expanded: Sequence[int]) -> list[tuple[str, Found]]:
        """Column and split of each expanded node, in the order of the expansions."""
        found = [split for number in expanded if (split := self.node(number).split) is not None]
        return [(self.attributes[split.attribute].name, split) for split in found]


# -- reading PRESERVE ------------------------------------------------------------------------------------


Wanted = Inducer | Model


def wanted_trees(policy: Policy, models: Sequence[Model | None]) -> list[Wanted]:
    """What PRESERVE lists, models found by their names; without it one tree for the TARGET."""
    if not policy.preserve:
        return [Inducer(Word(""), {})]
    return [model or one for one, model in zip(policy.preserve, models, strict=True)]


def preserved_trees(
    wanted: Sequence[Wanted], source: Source, values: Mapping[str, int], most: int | None
) -> list[Preserved]:
    """The trees that were asked for.  values: how many distinct values a column has, of every numeric target."""
    found = [_kept(one, source, most) if isinstance(one, Model) else _one(one, source, values, most) for one in wanted]
    for tree in found:
        if tree.target.name in source.sensitive:
            raise PolicyError(
                f'column "{tree.target.name}" is SENSITIVE and the response of a preserved tree: the published tree '
                "predicts "
                "it for everyone"
            )
    return found


def target_of(wanted: Wanted, source: Source) -> str:
    """The response of a preserved tree: its own, or the policy's TARGET."""
    if isinstance(wanted, Model):
        return columns_of(wanted, source)[0].name
    own = (wanted.options or {}).get("target")
    if own is None:
        if source.target is None:
            raise PolicyError("ALGORITHM tpp preserves a tree that predicts a response: name it in TARGET (...)")
        return source.target
    name = match(Word(str(own)), dict.fromkeys(source.published))
    if name is None:
        raise PolicyError(
            f"PRESERVE: the target of a tree must be a published column, and {printable(str(own))} is not"
        )
    return name


def check_inducers(policy: Policy) -> None:
    """Refuses wrong inducers of PRESERVE before anything runs; models are looked up by find_model."""
    for one in policy.preserve:
        if is_model(one):
            continue
        try:
            _builder_of(one)
        except PolicyError as error:
            raise error if one.place is None else place_option(error, one.option_places, one.place) from error


def _builder_of(inducer: Inducer, name: str | None = None) -> Settings:
    options = {key: value for key, value in (inducer.options or {}).items() if key != "target"}
    return _builder(name or inducer.name.text, options)


def _one(inducer: Inducer, source: Source, values: Mapping[str, int], most: int | None) -> Preserved:
    target = source.info(target_of(inducer, source))
    is_number = target.kind.value in ("integer", "decimal", "float")
    name = inducer.name.text
    if not name:
        name = "regression" if is_number and values.get(target.name, 0) > _MOST_NUMBERS else "cart"
    attributes = tuple(source.info(column) for column in source.columns if column in source.quasi)
    attributes = tuple(info for info in attributes if info.name != target.name)
    builder = _builder_of(inducer, name)
    limits = [limit for limit in (builder.max_leaves, most) if limit is not None]
    return Preserved(replace(builder, max_leaves=min(limits, default=None)), target, attributes)


def _kept(model: Model, source: Source, most: int | None) -> Preserved:
    leaves = len(model.tree.leaves)
    if most is not None and leaves > most:
        raise PolicyError(f'model "{model.record.name}" has {leaves} leaves, but max_leaves of ALGORITHM tpp is {most}')
    target, attributes = columns_of(model, source)
    return Preserved(replace(builder_of(model), max_leaves=leaves), target, attributes, model=model)


def _builder(name: str, options: Mapping[str, OptionValue]) -> Settings:
    if name == "c45":
        raise PolicyError(
            "PRESERVE cannot keep c45: its correction counts the distinct values of a column, and recoding changes "
            "them; use cart, id3 or regression"
        )
    if name not in INDUCERS:
        raise PolicyError(f"PRESERVE keeps cart, id3 and regression trees, not {printable(name)}")
    for option in options:
        if option not in _OPTIONS:
            raise unknown_option("a preserved tree", option, (*_OPTIONS, "target"))
    return replace(settings(name, options), prune=False, exact=True, rare=1, exact_midpoints=True)


# -- what is written down --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Names:
    """How the codes of a column are printed: thresholds between two codes, labels of single codes."""

    threshold: Mapping[tuple[int, int], str]
    label: Sequence[str | None]


def pattern(
    tree: Preserved,
    expanded: Sequence[int],
    closed: Sequence[int],
    names: Mapping[str, Names],
    groups: Mapping[str, Any],
    *,
    intervals: bool,
) -> dict[str, Any]:
    """A tree as plain JSON values: all that verify/ needs to grow it again from the release.

    intervals: numbers and moments are published as the intervals they lie in.

    groups: of every categorical column the published labels, each with the places of its original values; they decide
    ties between subsets.
    """
    builder = tree.builder
    return {
        "inducer": builder.inducer,
        "criterion": builder.criterion,
        "max_depth": builder.max_depth,
        "min_leaf": builder.min_leaf,
        "min_gain": builder.min_gain,
        "leaves": tree.leaves(expanded),
        "closed": [list(tree.node(number).way) for number in closed],
        "target": tree.target.name,
        "attributes": [
            {"name": info.name, "ordered": info.kind.is_ordered}
            | (_line_of(info, intervals) if info.kind.is_ordered else {"groups": groups[info.name]})
            for info in tree.attributes
        ],
        "root": _node(tree, tree.node(0), set(expanded), names),
    }


def _line_of(info: ColumnInfo, intervals: bool) -> dict[str, str]:
    """What the intervals of an ordered column are ranges of; nothing where its values are published."""
    if not intervals:
        return {}
    return {"intervals": "moments" if info.kind in (Kind.DATE, Kind.TIMESTAMP) else "numbers"}


def _node(tree: Preserved, node: Grown, expanded: set[int], names: Mapping[str, Names]) -> dict[str, Any]:
    rows = int(node.counts[0]) if tree.builder.inducer == "regression" else int(node.counts.sum())
    if node.number not in expanded or node.split is None:
        return {"rows": rows}
    column = tree.attributes[node.split.attribute].name
    told: dict[str, Any] = {"rows": rows, "column": column}
    if node.split.cut is not None and node.split.above is not None:
        told["at"] = names[column].threshold[node.split.cut, node.split.above]
    else:
        label = names[column].label
        told["groups"] = [list(dict.fromkeys(label[code] for code in codes)) for codes in node.split.groups]
    return told | {"branches": [_node(tree, tree.node(child), expanded, names) for child in node.children]}


def told(found: Mapping[str, Any]) -> str:
    """A pattern in one line.

    >>> leaf = {"rows": 3}
    >>> root = {"rows": 6, "column": "age", "at": "6.5", "branches": [leaf, leaf]}
    >>> told({"inducer": "cart", "criterion": "gini", "min_leaf": 1, "leaves": 2, "target": "y", "root": root})
    'cart (gini, min_leaf 1) for "y", grown best-first to 2 leaves: "age" < 6.5 (3 rows | 3 rows)'
    """
    builder = f"{found['inducer']} ({found['criterion']}, min_leaf {found['min_leaf']})"
    grown = f'for "{found["target"]}", grown best-first to {found["leaves"]} leaves'
    return f"{builder} {grown}: {_told_node(found['root'])}"


def _told_node(node: Mapping[str, Any]) -> str:
    if "branches" not in node:
        return f"{node['rows']} rows"
    if "at" in node:
        test = f'"{node["column"]}" < {node["at"]}'
    else:
        sides = " | ".join(", ".join("NULL" if one is None else str(one) for one in side) for side in node["groups"])
        test = f'"{node["column"]}" {sides}'
    return f"{test} ({' | '.join(_told_node(child) for child in node['branches'])})"
