"""What a recipient finds in a release, by the definitions of tests/oracles: published rows, read as text.

Nothing here asks ppdm_sql what it thinks of the release.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal

from ppdm_sql.requirements import (
    AlphaShare,
    BetaLikeness,
    Closeness,
    ConfidenceLimit,
    DeltaDisclosure,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    Requirement,
    SimpleDiversity,
)
from tests import oracles
from tests.oracles import likeness

_NULL = ("null",)  # what NULL is among values that are compared as facts


def held(values: Sequence[object], nulls_as_value: bool) -> list[object]:
    """The values of a class that count: all, with NULL as one of them, or the known ones."""
    return list(values) if nulls_as_value else [value for value in values if value is not None]


def read(text: str | None, kind: str) -> object:
    """A sensitive value from the text that was published."""
    readers: dict[str, Callable[[str], object]] = {
        "integer": int, "decimal": Decimal, "float": float, "date": date.fromisoformat,
        "timestamp": datetime.fromisoformat, "boolean": lambda word: word == "true", "text": str,
    }  # fmt: skip
    return None if text is None else readers[kind](text)


def counts(values: Sequence[object]) -> list[int]:
    return sorted(Counter(map(oracles.same, values)).values(), reverse=True)


def breaches(
    groups: Mapping[Hashable, Sequence[Mapping[str, object]]],
    requirements: Sequence[Requirement],
    sensitive: Sequence[str],
    *,
    nulls_as_value: bool,
    entity: str | None = None,
    hierarchy: Mapping[str, tuple[str, ...]] | None = None,
) -> Iterator[str]:
    """Every requirement that some class breaks, with the number of classes; a class is a list of rows."""
    for requirement in requirements:
        if isinstance(requirement, KAnonymity):
            sizes = [_units(rows, entity) for rows in groups.values()]
            broken = sum(size < requirement.k for size in sizes)
            if broken:
                yield f"{requirement} fails in {broken} of {len(sizes)} classes, the smallest has {min(sizes)}"
            continue
        for name in sensitive:
            everything = held([row[name] for rows in groups.values() for row in rows], nulls_as_value)
            broken = sum(
                not _holds(requirement, held([row[name] for row in rows], nulls_as_value), everything, hierarchy)
                for rows in groups.values()
            )
            if broken:
                yield f"{requirement} of {name} fails in {broken} of {len(groups)} classes"


def _units(rows: Sequence[Mapping[str, object]], entity: str | None) -> int:
    if entity is None:
        return len(rows)
    return len({oracles.same(row[entity]) for row in rows if row[entity] is not None})


def _holds(
    requirement: Requirement,
    values: Sequence[object],
    everything: Sequence[object],
    hierarchy: Mapping[str, tuple[str, ...]] | None,
) -> bool:
    if not values:
        return False  # a class without a known value protects nothing
    found = counts(values)
    match requirement:
        case DistinctDiversity(l=l):
            return oracles.distinct_values(found) >= l
        case SimpleDiversity(l=l):
            return oracles.simple_ratio(found) >= l
        case RecursiveDiversity(c=c, l=l):
            return oracles.recursive_holds(found, c, l)
        case EntropyDiversity(l=l):
            return oracles.entropy_reaches(found, l)
        case ConfidenceLimit(limit=limit):
            return oracles.confidence(found) <= limit
        case AlphaShare(alpha=alpha):
            return likeness.alpha(_facts(values)) <= alpha
        case BetaLikeness(beta=beta):
            return likeness.beta(_facts(values), _facts(everything)) <= beta
        case DeltaDisclosure(delta=delta):
            return likeness.delta_holds(likeness.delta_ratio(_facts(values), _facts(everything)), delta)
        case Closeness(t=t, distance=distance):
            return _distance(values, everything, distance or "ordered", hierarchy) <= t
    raise TypeError(requirement)


def _facts(values: Sequence[object]) -> list[Hashable]:
    """NULL, where it is one of the values, is a fact like any other."""
    return [oracles.same(value) for value in values]


def _distance(
    values: Sequence[object],
    everything: Sequence[object],
    distance: str,
    hierarchy: Mapping[str, tuple[str, ...]] | None,
) -> object:
    facts = {oracles.same(value): value for value in everything}
    ranked = sorted(facts, key=lambda fact: oracles.order(facts[fact]) if distance == "ordered" else (0, repr(fact)))
    here, whole = Counter(map(oracles.same, values)), Counter(map(oracles.same, everything))
    inside, outside = [here[fact] for fact in ranked], [whole[fact] for fact in ranked]
    if distance == "equal":
        return oracles.equal_distance(inside, outside)
    if distance == "ordered":
        return oracles.ordered_distance(inside, outside)
    assert hierarchy is not None
    height = len(next(iter(hierarchy.values())))
    missing = (*(("null", level) for level in range(height - 1)), next(iter(hierarchy.values()))[-1])
    ways = [missing if fact == _NULL else hierarchy[str(facts[fact])] for fact in ranked]
    return oracles.hierarchical_distance(inside, outside, ways)


def spans(
    follow: Callable[[Mapping[str, object]], int], rows: Sequence[Mapping[str, object]], unknown: Sequence[str]
) -> dict[Hashable, list[Mapping[str, object]]]:
    """The people a tree cannot tell apart: all ends that some combination of unknown values leads to are the same."""
    domains = [sorted({row[name] for row in rows}, key=str) for name in unknown]
    found: dict[Hashable, list[Mapping[str, object]]] = defaultdict(list)
    for row in rows:
        tried = ({**row, **dict(zip(unknown, some, strict=True))} for some in itertools.product(*domains))
        found[frozenset(map(follow, tried))].append(row)
    return found
