"""The way from every leaf of a hierarchy to its root, as a working table a statement can join."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.names import Name

Levels = Mapping[str, Sequence[str]]
_NULL_LEAF = ""  # a value is written with '=' in front, so no value looks like this


def height(column: str, levels: Levels) -> int:
    """How many levels there are below the root, once it is sure that there is one root and one depth."""
    depths = {len(labels) for labels in levels.values()}
    if len(depths) != 1 or min(depths) < 2:
        raise PolicyError(f"column {column}: the leaves of its hierarchy are not all on one level below the root")
    if len({labels[-1] for labels in levels.values()}) != 1:
        raise PolicyError(f"column {column}: its hierarchy has no common root")
    if any(labels[0] != leaf for leaf, labels in levels.items()):
        raise PolicyError(f"column {column}: the levels of a leaf must start with the leaf itself")
    return depths.pop() - 1


def nodes(levels: Levels, below_root: int) -> list[tuple[str, int, int]]:
    """(leaf, level, node) for every leaf and every level below the root; NULL is a branch of its own.

    A node is identified by its whole way up, so a label that occurs under two parents is two nodes.

    >>> nodes({"a": ("a", "x", "*"), "b": ("b", "x", "*")}, 2)
    [('', 0, 0), ('', 1, 1), ('=a', 0, 2), ('=a', 1, 3), ('=b', 0, 4), ('=b', 1, 3)]
    """
    numbers: dict[tuple[int, tuple[str, ...]], int] = {}
    ways = {_NULL_LEAF: ()} | {f"={leaf}": tuple(labels) for leaf, labels in levels.items()}
    return [
        (leaf, level, numbers.setdefault((level, way[level:]), len(numbers)))
        for leaf, way in ways.items()
        for level in range(below_root)
    ]


@contextmanager
def stored_path(engine: Engine, levels: Levels, below_root: int) -> Iterator[Name]:
    """The paths as a working table, for as long as it is needed."""
    import pyarrow as pa

    leaves, places, numbers = zip(*nodes(levels, below_root), strict=True)
    columns = {
        "ppdm_leaf": pa.array(leaves, pa.string()),
        "ppdm_level": pa.array(places, pa.int64()),
        "ppdm_node": pa.array(numbers, pa.int64()),
    }
    with engine.workspace() as work:
        yield work.load("verify_path", columns, analyze=True)
