"""Random tables that are easy to count wrongly, and what the definitions say about them."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from ppdm_sql.checks.measure import Sensitive
from ppdm_sql.requirements import (
    Closeness,
    ConfidenceLimit,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    SimpleDiversity,
)
from ppdm_sql.source.hierarchy import build
from tests import oracles

NAN, INF = math.nan, math.inf
TEXTS = (
    "Ann", "ANN", "ann ", "\u00e9", "e\u0301", "ann\u200b", "*", "?", "NULL", "", " ", "O'Brien", 'a"b', "%s", "$k",
    "\\", "\u6f22", "\U0001f642", "1", "1.0", "'; DROP TABLE t; --", "\n",
)  # fmt: skip
VALUES = {
    "TEXT": TEXTS,
    "SMALLINT": (-32768, -1, 0, 7, 32767),
    "INTEGER": (-1, 0, 1, 2, 2**31 - 1),
    "BIGINT": (0, 2**53, 2**53 + 1, -(2**63), 2**63 - 1),
    "DOUBLE": (0.0, -0.0, NAN, INF, -INF, 1.5, 1e-320, 0.1 + 0.2, 0.3),
    "DECIMAL(38, 18)": (
        Decimal("1.000000000000000000"),
        Decimal("1.000000000000000001"),
        Decimal("-2.500000000000000000"),
    ),
    "BOOLEAN": (True, False),
    "DATE": (date(1970, 1, 1), date(2024, 2, 29), date(1899, 12, 31)),
    "TIMESTAMP": (datetime(2024, 2, 29, 8, 30), datetime(2024, 2, 29, 8, 30, 0, 1), datetime(1969, 12, 31, 23)),
}
ORDERED = tuple(kind for kind in VALUES if kind not in ("TEXT", "BOOLEAN"))
NAMES = (
    "age", "zip", 'o"brien', "order", "source", "quasi", "sensitive", "entity", "hierarchy", "n", "r", "l0", "c", "k",
    "(select 1)", "a.b", "x; DROP TABLE t", "%s", "%(k)s", "$l", ":k", "'", "group", " ", "-- x", "\U0001f642", "*",
)  # fmt: skip


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


def random_data(seed, kinds=tuple(VALUES)):
    rng = random.Random(seed)
    names = rng.sample(NAMES, 8)
    quasi, (words, numbers, entity) = names[: rng.choice((0, 1, 1, 2, 2, 3, 5))], names[5:]
    columns = {name: rng.choice(kinds) for name in quasi}
    columns |= {words: "TEXT", numbers: rng.choice([kind for kind in kinds if kind in ORDERED]), entity: "INTEGER"}
    pools = {name: _pool(rng, VALUES[kind], rng.randint(1, 3)) for name, kind in columns.items()}
    pools[words] = _with_nulls(rng, _pool(rng, TEXTS, rng.randint(1, 6)))
    pools[numbers] = _with_nulls(rng, _pool(rng, VALUES[columns[numbers]], rng.randint(1, 6)))
    size = rng.choice((1, 2, 5, 12, 30, 60))
    rows = [tuple(_pick(rng, pools[name]) for name in columns) for _ in range(size)]
    leaves = [word for word in pools[words] if word is not None]
    ways = {leaf: (leaf, f"part {rng.randint(1, 2)}", "*root*") for leaf in leaves}
    counting = frozenset(name for name in (words, numbers) if rng.random() < 0.5)
    return Data(columns, rows, quasi, words, numbers, entity, ways, counting)


def _pool(rng, values, size):
    picked = rng.sample(values, min(size, len(values)))
    return [*picked, None] if rng.random() < 0.4 else picked


def _with_nulls(rng, pool):
    """Some sensitive columns are mostly NULL, so that classes without a known value occur."""
    return [*pool, *([None] * rng.randint(1, 6))] if rng.random() < 0.3 else pool


def _pick(rng, pool):
    """The first values are more frequent than the others."""
    return pool[min(int(rng.expovariate(1.0)), len(pool) - 1)] if rng.random() < 0.5 else rng.choice(pool)


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
    tests = {
        DistinctDiversity: lambda c: oracles.distinct_values(c) >= requirement.l,
        SimpleDiversity: lambda c: oracles.simple_ratio(c) >= requirement.l,
        ConfidenceLimit: lambda c: oracles.confidence(c) <= requirement.limit,
        RecursiveDiversity: lambda c: oracles.recursive_holds(c, requirement.c, requirement.l),
        EntropyDiversity: lambda c: oracles.entropy_reaches(c, requirement.l),
    }
    return {key: tests[type(requirement)](c) for key, c in data.counts(column).items()}


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
    """Every requirement at its mark and just beyond it, so that every < and <= is told apart.

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
