"""Tables that try to be counted wrongly: few values, many ties, NULLs, look-alikes, hostile names."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

NAN, INF = float("nan"), float("inf")

TEXTS = (
    "Ann", "ANN", "ann", "ann ", " ann", "ann\u200b", "\u00e9", "e\u0301", "\ufb01", "fi", "\u00df", "ss", "*", "?",
    "NULL", "None", "", " ", "-", "=", "O'Brien", 'a"b', "%", "%s", "$k", ":l", "\\", "{x}", "\u6f22", "\U0001f642",
    "1", "01", "1.0", "[1-2]", "'; DROP TABLE t; --", "\t", "\n", "true", "nan",
)  # fmt: skip
NAMES = (
    "age", "zip", 'o"brien', "order", "source", "quasi", "sensitive", "entity", "path", "ppdm_q1", "ppdm_count",
    "ppdm_value", "ppdm_size", "ppdm_leaf", "(select 1)", "a.b", "\u65e5\u672c", "x; DROP TABLE t", "%s", "%(k)s",
    "$l", ":k", "'", "group", " ", "-- x", "\U0001f642",
)  # fmt: skip
VALUES = {
    "TEXT": TEXTS,
    "INTEGER": (-1, 0, 1, 2, 10, 2**31 - 1),
    "BIGINT": (0, 1, 2**53, 2**53 + 1, -(2**62)),
    "DOUBLE": (0.0, -0.0, NAN, INF, -INF, 1.5, 1e-320, 0.1, 0.1 + 0.2, 0.3),
    "DECIMAL(10, 2)": (Decimal("0.00"), Decimal("1.00"), Decimal("1.50"), Decimal("-3.25")),
    "BOOLEAN": (True, False),
    "DATE": (date(1970, 1, 1), date(2024, 2, 29), date(1899, 12, 31)),
}
ORDERED = ("INTEGER", "BIGINT", "DOUBLE", "DECIMAL(10, 2)", "DATE")


@dataclass(frozen=True)
class RandomTable:
    """Columns with their types, rows, and which column is what."""

    columns: dict[str, str]
    rows: list[tuple[object, ...]]
    quasi: list[str]
    words: str  # sensitive, text
    numbers: str  # sensitive, ordered
    entity: str
    hierarchy: dict[str, tuple[str, ...]]  # of the words
    nulls_as_value: frozenset[str] = frozenset()  # sensitive columns where NULL counts

    @property
    def mappings(self) -> list[dict[str, object]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def random_table(seed: int) -> RandomTable:
    rng = random.Random(seed)
    names = rng.sample(NAMES, 8)
    quasi = names[: rng.choice((0, 1, 1, 2, 2, 3, 5))]
    words, numbers, entity = names[5:]
    types = {name: rng.choice(list(VALUES)) for name in quasi}
    types |= {words: "TEXT", numbers: rng.choice(ORDERED), entity: rng.choice(("TEXT", "INTEGER"))}
    pools = {name: _pool(rng, VALUES[kind], rng.randint(1, 3)) for name, kind in types.items()}
    pools[words] = _with_nulls(rng, _pool(rng, TEXTS, rng.randint(1, 6)))
    pools[numbers] = _with_nulls(rng, _pool(rng, VALUES[types[numbers]], rng.randint(1, 6)))
    counting = frozenset(name for name in (words, numbers) if rng.random() < 0.5)
    rows = [tuple(_pick(rng, pools[name]) for name in types) for _ in range(rng.choice((1, 2, 5, 12, 30, 60)))]
    return RandomTable(types, rows, quasi, words, numbers, entity, _hierarchy(rng, pools[words]), counting)


def _pool(rng: random.Random, values: tuple[object, ...], size: int) -> list[object]:
    picked = rng.sample(values, min(size, len(values)))
    return [*picked, None] if rng.random() < 0.4 else picked


def _with_nulls(rng: random.Random, pool: list[object]) -> list[object]:
    """Some sensitive columns are mostly NULL, so that classes without a known value occur."""
    return [*pool, *([None] * rng.randint(1, 6))] if rng.random() < 0.3 else pool


def _pick(rng: random.Random, pool: list[object]) -> object:
    return pool[min(int(rng.expovariate(1.0)), len(pool) - 1)] if rng.random() < 0.5 else rng.choice(pool)


def _hierarchy(rng: random.Random, pool: list[object]) -> dict[str, tuple[str, ...]]:
    """One to three levels over the words; labels come again under other parents, and look like leaves."""
    leaves = [word for word in pool if isinstance(word, str)] or ["unused"]
    levels = rng.randint(0, 2)
    return {leaf: (leaf, *(rng.choice(("Ann", "*", "")) for _ in range(levels)), "root") for leaf in leaves}
