"""What can be wrong with a hierarchy.  Everything is found at once, and told in counts.

A hierarchy comes from many hands and its labels end up in the release, so it is refused rather than
repaired.  Leaves and labels are data: a finding carries some of them, and they are shown only on request.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

ROOT = "*"
MOST_LEVELS = 50
_SHOWN = 5

Lines = Sequence[Sequence[str]]  # per leaf: the value, its label on level 1, 2, ..., the root


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, and the leaves or labels it is about."""

    message: str
    about: tuple[str, ...] = ()

    def wording(self, show_values: bool) -> str:
        """The finding for people.

        >>> Finding("2 values are listed twice", ("b", "a")).wording(show_values=True)
        "2 values are listed twice: 'a', 'b'"
        """
        if not show_values or not self.about:
            return self.message
        shown = sorted(set(self.about))
        more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
        return f"{self.message}: {', '.join(map(repr, shown[:_SHOWN]))}{more}"


class UnreadableError(Exception):
    """The source gives no lines at all; findings say why."""

    def __init__(self, *findings: Finding | str) -> None:
        self.findings = [found if isinstance(found, Finding) else Finding(found) for found in findings]
        super().__init__("; ".join(found.message for found in self.findings))


# -- the lines by themselves ---------------------------------------------------------------------------


def line_findings(lines: Lines, *, by_rule: bool = False) -> Iterator[Finding]:
    """What is wrong with a hierarchy, whatever column it is for.

    by_rule: nobody wrote these lines.  A ladder's level may happen to join nothing in today's data,
    and a blank value it does not change; written down, both are mistakes.
    """
    if not lines:
        yield Finding("it has no leaf")
        return
    usual = max(Counter(map(len, lines)).items(), key=lambda item: (item[1], item[0]))[0]
    if usual < 2:
        yield Finding("it has no level: write each line as value;level1;...;* with ; between the cells")
        return
    if max(map(len, lines)) > MOST_LEVELS + 1:
        yield Finding(f"it has more than {MOST_LEVELS} levels")
        return
    even = [line for line in lines if len(line) == usual]
    found = [
        *_uneven(lines, even),
        *_listed_twice(lines),
        *(() if by_rule else _empty_labels(even)),
        *_wrong_root(even),
        *_two_parents(even),
        *_ambiguous(even),
    ]
    yield from found
    if not found and not by_rule:  # a broken tree makes levels look idle that are not
        yield from _idle_levels(even)


def _uneven(lines: Lines, even: Lines) -> Iterator[Finding]:
    odd = len(lines) - len(even)
    if odd:
        about = tuple(line[0] for line in lines if len(line) != len(even[0]))
        yield Finding(
            f"{odd} of {len(lines)} lines do not have the {len(even[0])} cells of the others; repeat the label in "
            "branches that are less deep",
            about,
        )


def _listed_twice(lines: Lines) -> Iterator[Finding]:
    twice = tuple(leaf for leaf, count in Counter(line[0] for line in lines).items() if count > 1)
    if twice:
        yield Finding(f"{_count(twice, 'value')} listed more than once", twice)


def _empty_labels(lines: Lines) -> Iterator[Finding]:
    holes = tuple(line[0] for line in lines if not all(label.strip() for label in line[1:]))
    if holes:
        yield Finding(f"{plural(len(holes), 'line')} with an empty label", holes)


def _wrong_root(lines: Lines) -> Iterator[Finding]:
    wrong = tuple(line[0] for line in lines if line[-1] != ROOT)
    if wrong:
        yield Finding(f"{len(wrong)} of {len(lines)} lines do not end in the root, {ROOT}", wrong)


def _two_parents(lines: Lines) -> Iterator[Finding]:
    torn = []
    for level in range(1, len(lines[0]) - 2):  # the parents of the last but one level are roots, told already
        parents: dict[str, str] = {}
        torn += [line[level] for line in lines if parents.setdefault(line[level], line[level + 1]) != line[level + 1]]
    labels = tuple(dict.fromkeys(torn))
    if labels:
        yield Finding(f"{_count(labels, 'label')} below two different labels of the next level", labels)


def _ambiguous(lines: Lines) -> Iterator[Finding]:
    """Labels whose reader could not tell what they mean: one name for two sets of values.

    A branch that is less deep repeats its label, so a label may stand on levels that follow each
    other, as long as it covers the same values on all of them.
    """
    values: list[str] = []
    labels: list[str] = []
    for label, lowest in _unclear(lines):
        (values if lowest == 0 else labels).append(label)
    if values:
        yield Finding(
            f"{_count(values, 'label')} spelled like a value but {_verb(values, 'covers', 'cover')} other values too, "
            "or not that one: a reader could not tell them apart",
            tuple(values),
        )
    if labels:
        yield Finding(
            f"{_count(labels, 'label')} on two levels for different values (a name used twice, or a cycle)",
            tuple(labels),
        )


def _unclear(lines: Lines) -> Iterator[tuple[str, int]]:
    """Labels with two meanings, and the lowest level they stand on."""
    top = len(lines[0]) - 1
    counts = [Counter(line[level] for line in lines) for level in range(top + 1)]
    repeats = [Counter(line[level] for line in lines if line[level] == line[level + 1]) for level in range(top)]
    standing: dict[str, list[int]] = defaultdict(list)
    for level, labels in enumerate(counts):
        for label in labels:
            standing[label].append(level)
    for label, levels in standing.items():
        same = all(
            high == low + 1 and counts[low][label] == counts[high][label] == repeats[low][label]
            for low, high in pairwise(levels)
        )
        # The root stands for suppressed cells as well: a value spelled like it is never clear.
        if not same or (label == ROOT and levels[0] == 0):
            yield label, levels[0]


def _idle_levels(lines: Lines) -> Iterator[Finding]:
    """Levels that join nothing.  A label per value hides nobody, and a policy that counts on it is wrong."""
    for level in range(1, len(lines[0]) - 1):
        steps = {(line[level - 1], line[level]) for line in lines}
        if len(steps) == len({label for _, label in steps}) and any(low != high for low, high in steps):
            yield Finding(
                f"level {level} generalizes nothing: it has as many labels as level {level - 1} ({len(steps)})"
            )


# -- the lines against the column ----------------------------------------------------------------------


def column_findings(leaves: Iterable[str], texts: Sequence[str], rows: Sequence[int] | None) -> Iterator[Finding]:
    """Values of the column without a leaf.  texts: the column's distinct values; rows: how often each occurs."""
    alike = len(texts) - len(set(texts))
    if alike:  # e.g. nanoseconds that Python's datetime cannot hold: two groups in SQL, one here
        yield Finding(f"{plural(alike, 'distinct value')} of the column with the same text as another one")
    known = set(leaves)
    missing = [number for number, text in enumerate(texts) if text not in known]
    if not missing:
        return
    held = f" ({plural(sum(rows[number] for number in missing), 'row')})" if rows is not None else ""
    have = "has" if len(missing) == 1 else "have"
    message = f"{len(missing)} of {len(texts)} distinct values{held} of the column {have} no leaf"
    loose = {_loose(leaf) for leaf in known}
    near = sum(_loose(texts[number]) in loose for number in missing)
    if near:
        message += f"; {near} would match but for case, outer spaces or Unicode form"
    yield Finding(message, tuple(texts[number] for number in missing))


def _loose(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip().casefold()


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _count(things: Sequence[str], noun: str) -> str:
    return f"{plural(len(things), noun)} {_verb(things, 'is', 'are')}"


def _verb(things: Sequence[str], one: str, many: str) -> str:
    return one if len(things) == 1 else many
