"""A conjunctive rule list by sequential covering, row by row.

Rows are mappings.  A test is (attribute, low, high): the row's code in that attribute is in low .. high - 1.  Codes:
named categories in their order, then the unnamed (not testable), then NULL; or the places among the boundaries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from .naive_bayes import bin_of, classes, learned, named


def rule_list(
    rows: Sequence[Mapping],
    attributes: Mapping[str, Sequence | None],
    target: str,
    *,
    beam: int,
    max_rules: int,
    max_tests: int,
    min_rows: int,
    rare: int,
) -> list[tuple[tuple, tuple[int, ...]]]:
    """(tests, rows per class) of every rule; the last has no tests."""
    kept, labels = learned(rows, target, rare), classes(rows, target, rare)
    coders = [_coder(kept, name, boundaries, rare) for name, boundaries in attributes.items()]
    coded = [(tuple(code(row) for code, _ in coders), labels.index(row[target])) for row in kept]
    tests = [(place, *test) for place, (_, listed) in enumerate(coders) for test in listed]
    left, found = coded, []
    while left and len(found) < max_rules:
        rule = _best(left, tests, len(labels), beam, max_tests, min_rows)
        if not rule:
            break
        found.append((rule, _counts(_covered(left, rule), len(labels))))
        covered = _covered(left, rule)
        left = [row for row in left if row not in covered]
    return [*found, ((), _counts(left or coded, len(labels)))]


def _coder(rows, name, boundaries, rare):
    if boundaries is not None:
        size = len(boundaries) + 1
        tests = [test for end in range(1, size) for test in ((0, end), (end, size))]
        return (lambda row: size if row[name] is None else bin_of(row[name], boundaries)), [*tests, (size, size + 1)]
    names = sorted(named(rows, name, rare))
    null = len(names) + 1

    def code(row):
        return null if row[name] is None else names.index(row[name]) if row[name] in names else len(names)

    return code, [*((place, place + 1) for place in range(len(names))), (null, null + 1)]


def _covered(rows, rule):
    return [row for row in rows if all(low <= row[0][place] < high for place, low, high in rule)]


def _counts(rows, classes_):
    return tuple(sum(label == place for _, label in rows) for place in range(classes_))


def _worth(rows, classes_):
    counts = _counts(rows, classes_)
    return Fraction(max(counts) + 1, sum(counts) + classes_)


def _best(rows, tests, classes_, beam, max_tests, min_rows):
    best, growing = (), [()]
    for _ in range(max_tests):
        longer = set()
        for rule in growing:
            before = _covered(rows, rule)
            for test in tests:
                covered = _covered(before, [test])
                if min_rows <= len(covered) < len(before) and _worth(covered, classes_) > _worth(before, classes_):
                    longer.add(_joined(rule, test))
        ranked = sorted(longer, key=lambda r: (-_worth(_covered(rows, r), classes_), -len(_covered(rows, r)), r))
        growing = ranked[:beam]
        if not growing:
            break
        if _worth(_covered(rows, growing[0]), classes_) > _worth(_covered(rows, best), classes_):
            best = growing[0]
    return best


def _joined(rule, test):
    """One range per attribute: two tests of the same one are their overlap."""
    place, low, high = test
    for other, lower, upper in rule:
        if other == place:
            low, high = max(low, lower), min(high, upper)
    return tuple(sorted([part for part in rule if part[0] != place] + [(place, low, high)]))
