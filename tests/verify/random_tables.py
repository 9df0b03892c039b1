"""Tables that try to be counted wrongly: few values, many ties, NULLs, look-alikes, hostile names."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.random_cases import NAMES, ORDERED, RESERVED_NAMES, TEXTS, VALUES, add_nulls, draw_pool, pick

KINDS = ("TEXT", "INTEGER", "BIGINT", "DOUBLE", "DECIMAL(10, 2)", "BOOLEAN", "DATE")


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
    names = rng.sample((*NAMES, *RESERVED_NAMES), 8)
    quasi = names[: rng.choice((0, 1, 1, 2, 2, 3, 5))]
    words, numbers, entity = names[5:]
    types = {name: rng.choice(KINDS) for name in quasi}
    types |= {
        words: "TEXT",
        numbers: rng.choice([kind for kind in KINDS if kind in ORDERED]),
        entity: rng.choice(("TEXT", "INTEGER")),
    }
    pools = {name: draw_pool(rng, VALUES[kind], rng.randint(1, 3)) for name, kind in types.items()}
    pools[words] = add_nulls(rng, draw_pool(rng, TEXTS, rng.randint(1, 6)))
    pools[numbers] = add_nulls(rng, draw_pool(rng, VALUES[types[numbers]], rng.randint(1, 6)))
    counting = frozenset(name for name in (words, numbers) if rng.random() < 0.5)
    rows = [tuple(pick(rng, pools[name]) for name in types) for _ in range(rng.choice((1, 2, 5, 12, 30, 60)))]
    return RandomTable(types, rows, quasi, words, numbers, entity, _hierarchy(rng, pools[words]), counting)


def _hierarchy(rng: random.Random, pool: list[object]) -> dict[str, tuple[str, ...]]:
    """One to three levels over the words; labels come again under other parents, and look like leaves."""
    leaves = [word for word in pool if isinstance(word, str)] or ["unused"]
    levels = rng.randint(0, 2)
    return {leaf: (leaf, *(rng.choice(("Ann", "*", "")) for _ in range(levels)), "root") for leaf in leaves}
