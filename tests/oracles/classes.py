"""Equivalence classes and k-anonymity (Samarati and Sweeney 1998)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from .values import printed, same

Row = Mapping[str, object]
Rows = Sequence[Row]


def classes(rows: Rows, quasi: Sequence[str]) -> dict[Hashable, list[Row]]:
    """The rows by what a reader sees of their quasi-identifiers.

    >>> rows = [{"zip": "a"}, {"zip": None}, {"zip": "a"}, {"zip": "NULL"}]
    >>> {key: len(held) for key, held in classes(rows, ["zip"]).items()}
    {('a',): 2, (None,): 1, ('NULL',): 1}
    """
    found: dict[Hashable, list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(printed(row[name]) for name in quasi), []).append(row)
    return found


def k_anonymity(rows: Rows, quasi: Sequence[str]) -> int:
    """The size of the smallest class; no rows are 0-anonymous.

    >>> k_anonymity([{"a": 1}, {"a": 1}, {"a": 2}, {"a": 2}, {"a": 2}], ["a"]), k_anonymity([], ["a"])
    (2, 0)
    """
    return min((len(held) for held in classes(rows, quasi).values()), default=0)


def entity_counts(rows: Rows, quasi: Sequence[str], entity: str) -> dict[Hashable, int]:
    """Per class, how many different persons it holds; a row of nobody (NULL) holds none."""
    return {
        key: len({same(row[entity]) for row in held if row[entity] is not None})
        for key, held in classes(rows, quasi).items()
    }


def entity_k(rows: Rows, quasi: Sequence[str], entity: str) -> int:
    """The least number of different persons in a class.

    >>> entity_k([{"a": 1, "who": "x"}, {"a": 1, "who": "x"}, {"a": 1, "who": None}], ["a"], "who")
    1
    """
    return min(entity_counts(rows, quasi, entity).values(), default=0)
