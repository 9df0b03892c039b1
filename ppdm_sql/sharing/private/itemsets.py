"""Frequent itemsets and rules over the rows of several sites, level by level, over the same sums as the counts.

An item is a value or a bin of the codebook, or a class.  The candidates of a level follow from what the level before
opened, so every site works them out for itself (Apriori: two frequent sets that differ in their last item, of which all
subsets are frequent).  A site's vector of a level: its rows, then its support of every candidate.

A set is frequent when its support is at least the threshold's share of all rows, in whole numbers, and at least k.
Printed are only frequent sets from which no smaller number follows: neither by inclusion and exclusion (rows that have
some items of a set and none of the others; Atzori et al.), nor from the values of one attribute that are printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import TypeAlias

import numpy as np
from sqlglot import exp

from ppdm_sql.catalog.store import json_text, sha256_of
from ppdm_sql.classifiers.domains import CategoricalDomain, NumericDomain
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError, PpdmError, RequirementBreached
from ppdm_sql.sharing.private.codebook import Codebook
from ppdm_sql.sharing.private.folder import open_total
from ppdm_sql.sharing.private.vector import CLASS, Vector, class_case, code_expression, codebook_columns, unlisted_rows
from ppdm_sql.source.encode import canonical
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.trees.show import range_words, value_text, visible

Item: TypeAlias = tuple[int, int]  # the attribute (the target is the last) and the code of its value
Itemset: TypeAlias = tuple[Item, ...]
MOST_CANDIDATES = 1_000_000


@dataclass(frozen=True)
class Threshold:
    """Support as a share of all rows, exact; the same at every site."""

    share: Fraction

    def least_rows(self, rows: int, k: int) -> int:
        """The least support of a frequent set."""
        return max(-(-self.share.numerator * rows // self.share.denominator), k, 1)


def subject_of(candidates: Sequence[Itemset], level: int, threshold: Threshold) -> str:
    """What the messages of a level are about: sites with other candidates cannot be added up."""
    told = json_text([[list(item) for item in one] for one in candidates] + [str(threshold.share)])
    return f"itemsets-{level}-{sha256_of(told)[:12]}"


# -- candidates --------------------------------------------------------------------------------------------


def first_candidates(codebook: Codebook) -> list[Itemset]:
    widths = [*(one.width for one in codebook.attributes), len(codebook.classes)]
    return [((place, code),) for place, width in enumerate(widths) for code in range(width)]


def next_candidates(frequent: Sequence[Itemset]) -> list[Itemset]:
    """Sets one item larger all of whose subsets are frequent; two values of one attribute never go together."""
    known = set(frequent)
    found = []
    for one, other in combinations(sorted(frequent), 2):
        if one[:-1] != other[:-1] or one[-1][0] == other[-1][0]:
            continue
        joined = (*one, other[-1])
        if all(joined[:place] + joined[place + 1 :] in known for place in range(len(joined))):
            found.append(joined)
    if len(found) > MOST_CANDIDATES:
        raise PolicyError(f"{len(found):,} candidates: take a higher support")
    return found


# -- a site ------------------------------------------------------------------------------------------------


def support_vector(engine: Engine, relation: Name, codebook: Codebook, candidates: Sequence[Itemset]) -> Vector:
    """The rows and the supports of one site: one pass that codes the rows, then a GROUP BY per set of attributes."""
    with engine.workspace():
        coded = _coded_table(engine, relation, codebook)
        supports = {}
        for places in sorted({tuple(place for place, _ in one) for one in candidates}):
            keys = [column(f"ppdm_{place}", "c") for place in places]
            query = exp.Select(expressions=[*keys, exp.Count(this=exp.Star())]).from_(coded.table("c"), copy=False)
            for *codes, rows in engine.fetch(query.group_by(*(key.copy() for key in keys), copy=False)):
                supports[tuple(zip(places, map(int, codes), strict=True))] = int(rows)
        counted = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(coded.table())
        rows = int(engine.fetch_one(counted)[0])
    return np.array([rows, *(supports.get(one, 0) for one in candidates)], dtype=np.uint64)


def _coded_table(engine: Engine, relation: Name, codebook: Codebook) -> Name:
    """Every row by the codes of its values; what the codebook does not list is refused, as it is for counts."""
    *attributes, target = codebook_columns(engine, relation, codebook)
    inner = [aliased(canonical(engine, info, "r"), f"ppdm_v{place}") for place, info in enumerate(attributes)]
    inner.append(aliased(canonical(engine, target, "r"), CLASS))
    rows = exp.Select(expressions=inner).from_(relation.table("r"), copy=False).subquery("c", copy=False)
    picked = [
        aliased(code_expression(one, column(f"ppdm_v{place}", "c")), f"ppdm_{place}")
        for place, one in enumerate(codebook.attributes)
    ]
    picked.append(aliased(class_case(codebook), f"ppdm_{len(codebook.attributes)}"))
    table = engine.work.table("coded", exp.Select(expressions=picked).from_(rows, copy=False))
    unlisted_rows(engine, table, codebook)
    return table


# -- opening ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OpenedLevel:
    candidates: list[Itemset]
    rows: int
    supports: dict[Itemset, int]  # of the frequent ones


def candidates_of(codebook: Codebook, folder: Path, threshold: Threshold, level: int) -> list[Itemset]:
    """What is counted at a level, from the files of the levels before."""
    if level < 1:
        raise PolicyError("the first level is 1")
    if level == 1:
        return first_candidates(codebook)
    before = open_level(codebook, folder, threshold, level - 1)
    found = next_candidates(list(before.supports))
    if not found:
        raise PolicyError(f"there are no candidates at level {level}: all frequent sets are opened")
    return found


def open_level(codebook: Codebook, folder: Path, threshold: Threshold, level: int) -> OpenedLevel:
    candidates = candidates_of(codebook, folder, threshold, level)
    subject = subject_of(candidates, level, threshold)
    total = open_total(codebook, folder, len(candidates) + 1, subject)
    if (total[1:] > total[0]).any() or total[0] >= 1 << 60:
        raise PpdmError(
            "the files do not add up to supports: a site masked or split with other keys; nothing was opened"
        )
    rows = int(total[0])
    if rows < codebook.k:
        raise RequirementBreached(f"all sites together have fewer than k = {codebook.k} rows: nothing was opened")
    least = threshold.least_rows(rows, codebook.k)
    frequent = {one: int(n) for one, n in zip(candidates, total[1:], strict=True) if int(n) >= least}
    return OpenedLevel(candidates, rows, frequent)


def open_levels(codebook: Codebook, folder: Path, threshold: Threshold, levels: int) -> dict[Itemset, int]:
    """The sets of all levels that may be printed, with their supports; the empty set has the rows."""
    found: dict[Itemset, int] = {}
    for level in range(1, levels + 1):
        opened = open_level(codebook, folder, threshold, level)
        found |= {(): opened.rows, **opened.supports}
    return printable_sets(found, len(codebook.attributes) + 1, codebook.k)


def printable_sets(found: dict[Itemset, int], attributes: int, k: int) -> dict[Itemset, int]:
    """The sets from which no number of 1 to k - 1 rows follows; a set that is left out takes its supersets along."""
    kept: dict[Itemset, int] = {}
    for one in sorted(found, key=lambda one: (len(one), one)):
        subsets = (one[:place] + one[place + 1 :] for place in range(len(one)))
        if all(subset in kept for subset in subsets) and not _shows_few(one, found, k):
            kept[one] = found[one]
    while (gone := _smallest_that_tells(kept, attributes, k)) is not None:
        kept = {one: rows for one, rows in kept.items() if not set(gone) <= set(one)}
    return kept


def _shows_few(one: Itemset, found: dict[Itemset, int], k: int) -> bool:
    """Whether the number of rows with some items of the set and none of its others is from 1 to k - 1."""
    for size in range(len(one)):
        for inside in combinations(one, size):
            outside = [item for item in one if item not in inside]
            rows = 0
            for more in range(len(outside) + 1):
                for added in combinations(outside, more):
                    rows += (-1) ** more * found[tuple(sorted((*inside, *added)))]
            if 0 < rows < k:
                return True
    return False


def _smallest_that_tells(kept: dict[Itemset, int], attributes: int, k: int) -> Itemset | None:
    """A set to leave out, because the printed values of an attribute leave 1 to k - 1 rows for the others."""
    for base, rows in kept.items():
        for place in range(attributes):
            values = list(_with_value_of(kept, base, place))
            left = rows - sum(kept[one] for one in values)
            if values and 0 < left < k:
                return min(values, key=lambda one: (kept[one], one))
    return None


def _with_value_of(kept: dict[Itemset, int], base: Itemset, place: int) -> Iterator[Itemset]:
    """The sets that have one item more than the base, a value of that attribute."""
    for one in kept:
        if len(one) == len(base) + 1 and set(base) < set(one):
            ((added, _),) = set(one) - set(base)
            if added == place:
                yield one


# -- rules -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AssociationRule:
    left: Itemset
    right: Itemset
    support: int
    confidence: Fraction
    lift: Fraction


def association_rules(kept: dict[Itemset, int], least: Fraction) -> list[AssociationRule]:
    """Every rule left => right of printed sets whose confidence is at least so much, the surest first."""
    found = []
    for one, support in kept.items():
        for size in range(1, len(one)):
            for left in combinations(one, size):
                right = tuple(item for item in one if item not in left)
                confidence = Fraction(support, kept[left])
                if confidence >= least:
                    lift = confidence * kept[()] / kept[right]
                    found.append(AssociationRule(left, right, support, confidence, lift))
    return sorted(found, key=lambda rule: (-rule.confidence, -rule.support, rule.left, rule.right))


def items_text(codebook: Codebook, one: Itemset) -> str:
    return " and ".join(_item_text(codebook, *item) for item in one)


def _item_text(codebook: Codebook, place: int, code: int) -> str:
    if place == len(codebook.attributes):
        return f"{visible(codebook.target.name)} = {value_text(codebook.classes[code])}"
    agreed = codebook.attributes[place]
    name = visible(agreed.attribute.name)
    if isinstance(agreed.domain, NumericDomain):
        ends = (None, *agreed.domain.boundaries, None)
        return range_words(name, ends[code], ends[code + 1])
    assert isinstance(agreed.domain, CategoricalDomain)
    if code == len(agreed.domain.values):
        return f"{name} is any other"
    return f"{name} = {value_text(agreed.domain.values[code])}"
