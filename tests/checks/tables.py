"""Random tables that are easy to count wrongly, and what the definitions say about them."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from ppdm_sql.checks.measure import Sensitive
from ppdm_sql.requirements import (
    AverageRisk,
    BetaLikeness,
    Closeness,
    ConfidenceLimit,
    DeltaDisclosure,
    DistinctDiversity,
    EnhancedLikeness,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    SimpleDiversity,
    UniqueShare,
)
from ppdm_sql.source.hierarchy import build
from tests import oracles
from tests.oracles import likeness
from tests.random_cases import NAMES, ORDERED, TEXTS, VALUES, add_nulls, draw_pool, pick

KINDS = ("TEXT", "SMALLINT", "INTEGER", "BIGINT", "DOUBLE", "DECIMAL(38, 18)", "BOOLEAN", "DATE", "TIMESTAMP")


@dataclass(frozen=True)
class Data:
    """A table, which column is what, and the hierarchy of the words."""

    columns: dict[str, str]
    rows: list[tuple[object, ...]]
    quasi: list[str]
    words: str  # sensitive, text
    numbers: str  # sensitive, ordered
    entity: str
    ways: dict[str, tuple[str, ...]]
    nulls_as_value: frozenset[str] = frozenset()  # sensitive columns where NULL counts

    @cached_property
    def mappings(self):
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    @cached_property
    def classes(self):
        return oracles.classes(self.mappings, self.quasi)

    def counts(self, column):
        """Per class, how often each value of a column that counts occurs."""
        counts = column in self.nulls_as_value
        return {
            key: oracles.frequencies((row[column] for row in rows), nulls_as_value=counts)
            for key, rows in self.classes.items()
        }

    def distances(self, column, distance):
        known = self.__dict__.setdefault("known", {})
        if (column, distance) not in known:
            ways = self.ways if distance == "hierarchical" else None
            known[column, distance] = oracles.class_distances(
                self.mappings, self.quasi, column, distance, ways, nulls_as_value=column in self.nulls_as_value
            )
        return known[column, distance]

    @property
    def hierarchy(self):
        return build(self.words, list(self.ways.values()), height=2)

    def sensitive(self, info):
        return {
            self.words: Sensitive(info[self.words], self.hierarchy, self.words in self.nulls_as_value),
            self.numbers: Sensitive(info[self.numbers], None, self.numbers in self.nulls_as_value),
        }


def random_data(seed, kinds=KINDS):
    rng = random.Random(seed)
    names = rng.sample(NAMES, 8)
    quasi, (words, numbers, entity) = names[: rng.choice((0, 1, 1, 2, 2, 3, 5))], names[5:]
    columns = {name: rng.choice(kinds) for name in quasi}
    columns |= {words: "TEXT", numbers: rng.choice([kind for kind in kinds if kind in ORDERED]), entity: "INTEGER"}
    pools = {name: draw_pool(rng, VALUES[kind], rng.randint(1, 3)) for name, kind in columns.items()}
    pools[words] = add_nulls(rng, draw_pool(rng, TEXTS, rng.randint(1, 6)))
    pools[numbers] = add_nulls(rng, draw_pool(rng, VALUES[columns[numbers]], rng.randint(1, 6)))
    size = rng.choice((1, 2, 5, 12, 30, 60))
    rows = [tuple(pick(rng, pools[name]) for name in columns) for _ in range(size)]
    leaves = [word for word in pools[words] if word is not None]
    ways = {leaf: (leaf, f"part {rng.randint(1, 2)}", "*root*") for leaf in leaves}
    counting = frozenset(name for name in (words, numbers) if rng.random() < 0.5)
    return Data(columns, rows, quasi, words, numbers, entity, ways, counting)


# -- what the definitions say ----------------------------------------------------------------------------


def verdicts(data, column, requirement, *, by_entity=False):
    """Per class, whether it satisfies a requirement; classes are known by what is printed."""
    if isinstance(requirement, Closeness):
        return {key: far <= requirement.t for key, far in data.distances(column, requirement.distance).items()}
    if isinstance(requirement, KAnonymity):
        counted = {key: len(rows) for key, rows in data.classes.items()}
        if by_entity:
            counted = oracles.entity_counts(data.mappings, data.quasi, data.entity)
        return {key: units >= requirement.k for key, units in counted.items()}
    if isinstance(requirement, AverageRisk | UniqueShare):
        sizes = {key: len(rows) for key, rows in data.classes.items()}
        alone = isinstance(requirement, UniqueShare)
        figure = Fraction(list(sizes.values()).count(1) if alone else len(sizes), sum(sizes.values()))
        fine = {key: size > 1 if alone else size >= 1 / requirement.limit for key, size in sizes.items()}
        return {key: figure <= requirement.limit or holds for key, holds in fine.items()}
    if isinstance(requirement, BetaLikeness | EnhancedLikeness | DeltaDisclosure):
        return _likeness_verdicts(data, column, requirement)
    tests = {
        DistinctDiversity: lambda c: oracles.distinct_values(c) >= requirement.l,
        SimpleDiversity: lambda c: oracles.simple_ratio(c) >= requirement.l,
        ConfidenceLimit: lambda c: oracles.confidence(c) <= requirement.limit,
        RecursiveDiversity: lambda c: oracles.recursive_holds(c, requirement.c, requirement.l),
        EntropyDiversity: lambda c: oracles.entropy_reaches(c, requirement.l),
    }
    return {key: tests[type(requirement)](c) for key, c in data.counts(column).items()}


def _likeness_verdicts(data, column, requirement):
    """Against the whole table; a NULL that counts is a value like another."""
    missing = object() if column in data.nulls_as_value else None
    members = {
        key: [missing if row[column] is None else row[column] for row in rows] for key, rows in data.classes.items()
    }
    everybody = [value for values in members.values() for value in values]
    if isinstance(requirement, BetaLikeness):
        return {key: likeness.beta(values, everybody) <= requirement.beta for key, values in members.items()}
    if isinstance(requirement, EnhancedLikeness):
        return {key: likeness.enhanced_beta(values, everybody) <= requirement.beta for key, values in members.items()}
    ratios = {key: likeness.delta_ratio(values, everybody) for key, values in members.items()}
    return {key: likeness.delta_holds(ratio, requirement.delta) for key, ratio in ratios.items()}


def figure(data, column, requirement, *, by_entity=False):
    """The worst figure of all classes."""
    if isinstance(requirement, Closeness):
        return max(data.distances(column, requirement.distance).values())
    if isinstance(requirement, KAnonymity):
        if by_entity:
            return oracles.entity_k(data.mappings, data.quasi, data.entity)
        return oracles.k_anonymity(data.mappings, data.quasi)
    counts = list(data.counts(column).values())
    match requirement:
        case DistinctDiversity():
            return min(map(oracles.distinct_values, counts))
        case SimpleDiversity():
            return min(map(oracles.simple_ratio, counts))
        case ConfidenceLimit():
            return max(map(oracles.confidence, counts))
        case RecursiveDiversity(l=l):
            ratios = [oracles.recursive_ratio(c, l) for c in counts]
            return math.inf if None in ratios else max(ratios)
        case EntropyDiversity():
            return min(math.exp(-sum(n / sum(c) * math.log(n / sum(c)) for n in c)) if c else 0.0 for c in counts)


def boundary_requirements(data, column, distance):
    """Every requirement at its mark and just beyond it, so that every < and <= is distinguished.

    distance: what a t without a distance means for this column.
    """
    little = Fraction(1, 10**6)
    found = []
    k = figure(data, column, KAnonymity(1))
    found += [KAnonymity(k), KAnonymity(k + 1)]
    distinct = max(1, figure(data, column, DistinctDiversity(1)))  # 0: a class has no known value
    found += [DistinctDiversity(distinct), DistinctDiversity(distinct + 1)]
    simple = max(Fraction(1), figure(data, column, SimpleDiversity(Fraction(1))))
    found += [SimpleDiversity(simple), SimpleDiversity(simple + little)]
    sure = min(Fraction(1), figure(data, column, ConfidenceLimit(Fraction(1))))
    found += [ConfidenceLimit(sure), ConfidenceLimit(sure - little)]
    for l in (1, 2, 3):
        ratio = figure(data, column, RecursiveDiversity(Fraction(1), l))
        cs = [Fraction(3)] if math.isinf(ratio) else [ratio, ratio + little]
        found += [RecursiveDiversity(c, l) for c in cs]
    found += [EntropyDiversity(l) for l in (Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(distinct))]
    for written, meant in (("equal", "equal"), (None, distance)):
        t = min(Fraction(1), figure(data, column, Closeness(Fraction(1), meant)))
        found += [Closeness(t, written)] + ([Closeness(t - t / 10**6, written)] if t else [])
    return found
