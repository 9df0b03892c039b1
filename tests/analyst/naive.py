"""The measures of sql/analyst/ppdm.sql by their definitions: plain loops over rows of texts, exact fractions.

A row is a tuple of texts or None, one per column; two cells are the same if their texts are.  Nothing here is
fast, and nothing is shared with the SQL.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

Cell = str | None
Row = tuple[Cell, ...]


def classes(rows: Sequence[Row], qis: Sequence[int]) -> dict[Row, list[Row]]:
    """The rows of each equivalence class.

    >>> classes([("1", "x"), (None, "y"), ("1", "z")], [0])
    {('1',): [('1', 'x'), ('1', 'z')], (None,): [(None, 'y')]}
    """
    found: dict[Row, list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[i] for i in qis), []).append(row)
    return found


def sizes(rows: Sequence[Row], qis: Sequence[int]) -> list[int]:
    return [len(members) for members in classes(rows, qis).values()]


def k_anonymity(rows: Sequence[Row], qis: Sequence[int]) -> dict[str, Any]:
    found = sizes(rows, qis)
    return {
        "k": min(found, default=None),
        "rows": len(rows),
        "classes": len(found),
        "unique_rows": sum(size for size in found if size == 1),
        "rows_below_5": sum(size for size in found if size < 5),
        "rows_below_10": sum(size for size in found if size < 10),
        "null_rows": sum(any(row[i] is None for i in qis) for row in rows),
    }


def k_null_matches(rows: Sequence[Row], qis: Sequence[int]) -> dict[str, Any]:
    def agree(one: Row, other: Row) -> bool:
        return all(one[i] == other[i] or one[i] is None or other[i] is None for i in qis)

    return {
        "k": min(sizes(rows, qis), default=None),
        "k_null_matches": min((sum(agree(one, other) for other in rows) for one in rows), default=None),
        "null_patterns": len({tuple(row[i] is None for i in qis) for row in rows}),
    }


def risk(rows: Sequence[Row], qis: Sequence[int]) -> dict[str, Any]:
    """Risk row by row: 1 / size of its class."""
    risks = [Fraction(1, size) for size in sizes(rows, qis) for _ in range(size)]
    highest = max(risks, default=None)
    average = sum(risks) / len(risks) if risks else None

    def share_above(threshold: Fraction) -> Fraction | None:
        return Fraction(sum(risk > threshold for risk in risks), len(risks)) if risks else None

    return {
        "rows": len(rows),
        "classes": len(sizes(rows, qis)),
        "prosecutor_highest": highest,
        "prosecutor_average": average,
        "journalist_highest": highest,
        "journalist_average": average,
        "marketer": average,
        "share_above_20_percent": share_above(Fraction(1, 5)),
        "share_above_10_percent": share_above(Fraction(1, 10)),
        "share_above_5_percent": share_above(Fraction(1, 20)),
    }


def class_sizes(rows: Sequence[Row], qis: Sequence[int]) -> list[tuple[Any, ...]]:
    found = sizes(rows, qis)
    table = []
    for size in sorted(set(found)):
        up_to = sum(other for other in found if other <= size)
        table.append((size, found.count(size), size * found.count(size), up_to, Fraction(up_to, len(rows))))
    return table


def counting(rows: Sequence[Row], sensitive: int, nulls: bool) -> list[Cell]:
    """The sensitive values that count: the known ones, or all."""
    return [row[sensitive] for row in rows if nulls or row[sensitive] is not None]


def frequencies(rows: Sequence[Row], qis: Sequence[int], sensitive: int, nulls: bool) -> dict[Row, list[int]]:
    """How often each sensitive value occurs in a class, the most frequent first."""
    return {
        key: sorted(Counter(counting(members, sensitive, nulls)).values(), reverse=True)
        for key, members in classes(rows, qis).items()
    }


def recursive_bound(counts: Sequence[int], l: int) -> Fraction | float:
    """Every c above it has counts[0] < c * (counts[l-1] + counts[l] + ...).

    >>> recursive_bound([4, 2, 1], 2)
    Fraction(4, 3)
    """
    tail = sum(counts[l - 1 :])
    return Fraction(counts[0], tail) if tail else math.inf


def l_diversity(rows: Sequence[Row], qis: Sequence[int], sensitive: int, nulls: bool) -> dict[str, Any]:
    """A class without a value that counts has 0 values, of which it could be hiding 0."""
    by_class = frequencies(rows, qis, sensitive, nulls)
    found = list(by_class.values())
    heads = [(sum(counts), max(counts, default=1)) for counts in found]
    simple = min(((Fraction(size, head), size, head) for size, head in heads), default=(None,) * 3)
    hidden = [math.exp(-sum(n / sum(c) * math.log(n / sum(c)) for n in c)) if c else 0.0 for c in found]
    return {
        "rows": len(rows),
        "classes": len(found),
        "homogeneous_classes": sum(len(counts) == 1 for counts in found),
        "homogeneous_rows": sum(len(held) for key, held in classes(rows, qis).items() if len(by_class[key]) == 1),
        "distinct_l": min((len(counts) for counts in found), default=None),
        "simple_l": simple[0],
        "simple_l_size": simple[1],
        "simple_l_most_frequent": simple[2],
        "entropy_l": min(hidden, default=None),
        "recursive_c2": max((recursive_bound(counts, 2) for counts in found), default=None),
    }


def recursive_diversity(rows: Sequence[Row], qis: Sequence[int], sensitive: int, nulls: bool) -> list[tuple[Any, ...]]:
    """(l, bound on c) for l = 2, 3, ... up to the first l that some class has no values for."""
    found = list(frequencies(rows, qis, sensitive, nulls).values())
    last = max(1, min((len(counts) for counts in found), default=0)) + 1
    return [(l, max(recursive_bound(counts, l) for counts in found)) for l in range(2, last + 1) if found]


Distance = Fraction | float | None  # infinite where no value of a class is known


def t_equal(rows: Sequence[Row], qis: Sequence[int], sensitive: int, nulls: bool) -> Distance:
    everywhere = counting(rows, sensitive, nulls)
    whole = Counter(everywhere)
    distances: list[Fraction | float] = []
    for members in classes(rows, qis).values():
        here = counting(members, sensitive, nulls)
        if not here:
            return math.inf
        part = Counter(here)
        difference = (abs(Fraction(part[v], len(here)) - Fraction(whole[v], len(everywhere))) for v in whole)
        distances.append(sum(difference) / 2)
    return max(distances, default=None)


def likeness(rows: Sequence[Row], qis: Sequence[int], sensitive: int, nulls: bool) -> dict[str, Any]:
    """alpha, beta, enhanced beta and delta of the worst class; infinite where no value of a class is known."""
    everywhere = counting(rows, sensitive, nulls)
    shares = {value: Fraction(count, len(everywhere)) for value, count in Counter(everywhere).items()}
    alphas, betas, enhanced, deltas = ([] for _ in range(4))
    for members in classes(rows, qis).values():
        here = counting(members, sensitive, nulls)
        found = {value: Fraction(count, len(here)) for value, count in Counter(here).items()}
        alphas.append(max(found.values(), default=math.inf))
        excess = {value: share / shares[value] - 1 for value, share in found.items()}
        betas.append(max(excess.values(), default=math.inf))
        lawless = any(shares[value] < 1 and more > -math.log(shares[value]) for value, more in excess.items())
        enhanced.append(math.inf if lawless else betas[-1])
        missing = not here or len(found) < len(shares)
        deltas.append(math.inf if missing else max(abs(math.log(more + 1)) for more in excess.values()))
    named = {"alpha": alphas, "beta": betas, "enhanced_beta": enhanced, "delta": deltas}
    return {name: max(figures, default=None) for name, figures in named.items()}


def t_ordered(rows: Sequence[Row], qis: Sequence[int], sensitive: int, nulls: bool, order: Sequence[Cell]) -> Distance:
    """Sum of |cumulative share in the class - in the table| over the values of the table in order, / (values - 1)."""
    everywhere = counting(rows, sensitive, nulls)
    values = [value for value in order if value in everywhere]
    distances: list[Fraction | float] = []
    for members in classes(rows, qis).values():
        here = counting(members, sensitive, nulls)
        if not here:
            return math.inf
        moved, carried = Fraction(0), Fraction(0)
        for value in values:
            carried += Fraction(here.count(value), len(here)) - Fraction(everywhere.count(value), len(everywhere))
            moved += abs(carried)
        distances.append(moved / max(len(values) - 1, 1))
    return max(distances, default=None)


def population(rows: Sequence[Row], people: Sequence[Row], qis: Sequence[int]) -> dict[str, Any]:
    """k-map and delta-presence person by person: for each combination of values, rows of the table and people."""
    here = Counter(tuple(row[i] for i in qis) for row in rows)
    there = Counter(tuple(row[i] for i in qis) for row in people)
    shares = [Fraction(here[key], there[key]) if there[key] else math.inf for key in here.keys() | there.keys()]
    return {
        "k_map": min((there[key] for key in here), default=None),
        "least_presence": min(shares, default=None),
        "greatest_presence": max(shares, default=None),
        "classes": len(here),
        "missing_rows": sum(max(n - there[key], 0) for key, n in here.items()),
    }


def k_every(rows: Sequence[Row], qis: Sequence[int], m: int) -> dict[str, Any]:
    """The smallest class over each set of m columns."""
    sets = list(combinations(qis, min(m, len(qis))))
    return {"k": min((n for some in sets for n in sizes(rows, some)), default=None), "sets": len(sets)}
