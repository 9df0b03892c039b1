"""Judges a naive Bayes model of opened counts by what is printed of it: the model's file and its pools.

Shares no code with sharing/, which makes both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ppdm_sql.errors import RequirementBreached


def refuse_small_counts(model: Mapping[str, Any], pools: Sequence[Mapping[str, Any]], k: int) -> None:
    """Refuses a model in which a number of fewer than k rows is printed, or follows from others."""
    found = list(small_counts(model, pools, k))
    if found:
        raise RequirementBreached(f"the model would print small counts ({'; '.join(found)}); nothing was published")


def small_counts(model: Mapping[str, Any], pools: Sequence[Mapping[str, Any]], k: int) -> Iterator[str]:
    """What is wrong, in words without values."""
    if any(rows < k for rows in model["priors"]):
        yield f"a class has fewer than {k} rows"
    if any(pool["rows"] < k or len(pool["codes"]) < 2 for pool in pools):
        yield f"a pool has fewer than {k} rows or only one cell"
    for place, attribute in enumerate(model["attributes"]):
        name = attribute["column"]["name"]
        for label, rows in enumerate(model["priors"]):
            inside = [pool for pool in pools if (pool["attribute"], pool["class"]) == (place, label)]
            yield from (f'"{name}": {told}' for told in _of_class(attribute["counted"], label, rows, inside, k))


def _of_class(
    counted: Mapping[str, Any], label: int, rows: int, pools: Sequence[Mapping[str, Any]], k: int
) -> Iterator[str]:
    if len(pools) > 1:
        yield "a class has two pools"
        return
    cells = [counts[label] for counts in counted["counts"]]
    if "categories" in counted and not any(counted["counts"][-1]):
        cells = cells[:-1]  # no value is unnamed
    hidden = set(pools[0]["codes"]) if pools else set()
    shown = [rows for code, rows in enumerate(cells) if code not in hidden]
    if any(one < k for one in shown):
        yield f"a cell outside of the pool has fewer than {k} rows"
    pooled = pools[0]["rows"] if pools else 0
    left = rows - sum(shown) - pooled
    if left < 0 or (0 < left < k):
        yield f"the class has fewer than {k} rows outside of its cells"
    spread = [cells[code] for code in hidden if code < len(cells)]
    if spread and max(spread) - min(spread) > 1:
        yield "a pool is not spread evenly"
