"""A C4.5 that spreads rows with missing values over the branches, written over single rows and dictionaries.

Quinlan (1993), chapter 3: the gain of an attribute counts the rows that have it, times their share; split information
counts the missing ones as a value of their own; a row without the value goes down every branch in the shares of the others.
"""

from __future__ import annotations

from math import log2, sqrt
from statistics import NormalDist

Row = tuple[dict[str, object], object, float]  # values, class, weight


def bits(counts) -> float:
    total = sum(counts)
    return -sum(count * log2(count / total) for count in counts if count > 1e-6) if total > 0 else 0.0


def tally(rows: list[Row], classes: list) -> list[float]:
    return [sum(weight for _, label, weight in rows if label == one) for one in classes]


def best(rows: list[Row], names: list[str], classes: list) -> str | None:
    total = sum(weight for *_, weight in rows)
    found = []
    for name in names:
        known = [row for row in rows if row[0][name] is not None]
        branches = {}
        for row in known:
            branches.setdefault(row[0][name], []).append(row)
        sizes = [sum(weight for *_, weight in held) for held in branches.values()]
        if sum(size >= 2 for size in sizes) < 2:
            continue
        gain = (bits(tally(known, classes)) - sum(bits(tally(held, classes)) for held in branches.values())) / total
        if gain > 1e-9:
            found.append((gain, gain / (bits([*sizes, total - sum(sizes)]) / total), name))
    if not found:
        return None
    least = sum(gain for gain, *_ in found) / len(found) - 1e-3
    ratios = [(ratio if gain >= least else -1, name) for gain, ratio, name in found]
    top = max(ratio for ratio, _ in ratios)
    return next(name for ratio, name in ratios if ratio == top)


def grow(rows: list[Row], names: list[str], classes: list) -> dict:
    node = {"counts": tally(rows, classes), "asks": None, "below": {}}
    total = sum(node["counts"])
    if total < 4 or sum(count > 1e-6 for count in node["counts"]) < 2:
        return node
    name = best(rows, names, classes)
    if name is None:
        return node
    node["asks"] = name
    sizes = {}
    for values, _, weight in rows:
        if values[name] is not None:
            sizes[values[name]] = sizes.get(values[name], 0) + weight
    for value, size in sizes.items():
        here = []
        for values, label, weight in rows:
            share = (values[name] == value) if values[name] is not None else size / sum(sizes.values())
            if share * weight > 1e-6:
                here.append((values, label, share * weight))
        node["below"][value] = grow(here, [one for one in names if one != name], classes)
    return node


def expected(rows: float, errors: float) -> float:
    """C4.5's pessimistic errors at confidence 0.25; between none and one error in a straight line."""
    if errors <= 0:
        return rows * (1 - 0.25 ** (1 / rows)) if rows > 0 else 0.0
    if errors < 1:
        none = expected(rows, 0)
        return none + errors * (expected(rows, 1) - 1 - none) + errors
    if errors + 0.5 >= rows:
        return max(rows, errors)
    z = NormalDist().inv_cdf(0.75)
    share = (errors + 0.5) / rows
    return (
        (share + z * z / (2 * rows) + z * sqrt(share / rows - share**2 / rows + z * z / (4 * rows**2)))
        / (1 + z * z / rows)
        * rows
    )


def prune(node: dict) -> float:
    rows = sum(node["counts"])
    alone = expected(rows, rows - max(node["counts"]))
    if not node["below"]:
        return alone
    below = sum(prune(child) for child in node["below"].values())
    if alone <= below + 0.1:
        node["below"] = {}
        return alone
    return below


def shares(node: dict, values: dict[str, object]) -> list[float]:
    total = sum(node["counts"]) or 1.0
    if not node["below"]:
        return [count / total for count in node["counts"]]
    value = values[node["asks"]]
    if value in node["below"]:
        return shares(node["below"][value], values)
    if value is not None:
        return [count / total for count in node["counts"]]
    weights = {branch: sum(child["counts"]) for branch, child in node["below"].items()}
    parts = [
        (weights[branch] / sum(weights.values()), shares(child, values)) for branch, child in node["below"].items()
    ]
    return [sum(weight * part[place] for weight, part in parts) for place in range(len(node["counts"]))]
