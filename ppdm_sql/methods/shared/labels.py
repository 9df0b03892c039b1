"""What is printed for a part: the region it covers, never the extreme values of its people.

one value in the part      the value itself, which at least k people then share
numbers and moments        [30, 45)   < 30   >= 65, between the boundaries of the partition
text in an order           {a, b, c}, or {a .. z} for many; values that fewer than k people hold are never
                           named, {a, ...} says that there are further values
text without an order      {other}: not one of the values that stand alone
a hierarchy                the smallest label that covers the part
uncut, or values mixed with NULL or NaN: the marker, *
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_sql.methods.shared.columns import Axis
from ppdm_sql.source.lines import Flags, Ints

MARKER = "*"
_LONGEST_LIST = 5
_SPECIAL = re.compile(r"[\\,{}]|\.\.+")


@dataclass(frozen=True)
class Regions:
    """Per part what one attribute's codes are: first .. stop - 1 by the cuts, low .. high by who is in it."""

    first: Ints
    stop: Ints
    low: Ints
    high: Ints
    behind: Flags | None = None  # the part is what was left behind when others got labels of their own


@dataclass(frozen=True)
class Labels:
    """The distinct labels of an attribute (None is NULL), which one each part has, and how many values it covers."""

    texts: tuple[str | None, ...]
    number: Ints
    covered: Ints


def marker(axes: Sequence[Axis]) -> str:
    """Stars, one more than any value that consists of stars has: a suppressed cell is never taken for data."""
    return MARKER * (1 + max(axis.stars for axis in axes))


def labels_of(axis: Axis, regions: Regions, suppressed: str, *, extent: bool = False) -> Labels:
    """The labels of one attribute; extent: of numbers print the least and greatest value there is."""
    behind = np.zeros(len(regions.low), dtype=bool) if regions.behind is None else regions.behind
    keys = np.column_stack([regions.first, regions.stop, regions.low, regions.high, behind])
    if axis.hierarchy is None and not extent:
        # Who is in the part counts only in so far as everybody has the same, or some have NULL or NaN.
        single = regions.low == regions.high
        mixed = ~single & (regions.high >= axis.ordinary)
        keys[:, 2] = np.where(single, regions.low, -1)
        keys[:, 3] = np.where(single, regions.high, np.where(mixed, axis.size, -2))
    number = same_rows(keys)
    distinct = keys[np.unique(number, return_index=True)[1]]
    write = _Writer(axis, suppressed, extent, _boundaries(axis, distinct), braces_around(axis.texts))
    found = [write(*map(int, key)) for key in distinct]
    texts = {text: place for place, text in enumerate(dict.fromkeys(text for text, _ in found))}
    of_key = np.array([texts[text] for text, _ in found])  # different regions can print the same
    return Labels(tuple(texts), of_key[number], np.array([covered for _, covered in found])[number])


@dataclass(frozen=True, repr=False)
class RegionLabels:
    """What regions of an axis without a hierarchy print, whatever rows are in them."""

    axis: Axis
    suppressed: str
    boundary: dict[int, str]  # code -> where the regions of a line meet
    braces: int

    @staticmethod
    def of(axis: Axis, codes: Ints, suppressed: str) -> RegionLabels:
        """codes: those at which a region starts or stops."""
        ends = np.minimum(codes, axis.ordinary).reshape(-1, 1)
        return RegionLabels(axis, suppressed, _boundaries(axis, ends), braces_around(axis.texts))

    def of_region(self, first: int, stop: int) -> tuple[str, int]:
        """What the codes first .. stop - 1 print, and how many values that covers."""
        return self._writer.region(first, stop)

    @property
    def other(self) -> str:
        """What stands for the values that do not stand alone."""
        return self._writer.other

    @property
    def _writer(self) -> _Writer:
        return _Writer(self.axis, self.suppressed, False, self.boundary, self.braces)


def same_rows(table: Ints) -> Ints:
    """Per row of a table a number 0, 1, ...; equal rows have equal numbers, in the order of the rows' values.

    >>> same_rows(np.array([[1, 7], [0, 9], [1, 7]]))
    array([1, 0, 1])
    """
    number = np.zeros(len(table), dtype=np.int64)
    for column in table.T:
        values, place = np.unique(column, return_inverse=True)
        number = np.unique(number * len(values) + place, return_inverse=True)[1]
    return number


def _boundaries(axis: Axis, keys: Ints) -> dict[int, str]:
    """The numbers at which the regions of a number line start and stop."""
    if axis.line is None or axis.rare is None:
        return {}
    codes = np.unique(keys[:, :2])
    codes = codes[(codes > 0) & (codes < axis.ordinary)]
    return dict(zip(codes.tolist(), axis.line.boundaries(codes, axis.rare[codes]), strict=True))


@dataclass(frozen=True)
class _Writer:
    axis: Axis
    suppressed: str
    extent: bool
    boundary: dict[int, str]
    braces: int  # of a list

    def __call__(self, first: int, stop: int, low: int, high: int, behind: int) -> tuple[str | None, int]:
        """The label, and how many values it covers."""
        axis = self.axis
        if low == high and low != axis.few:
            return (None if low == axis.null_code else axis.texts[low]), 1
        if high >= axis.ordinary:
            return self.suppressed, axis.values
        if axis.stands_alone:
            return (self.other if axis.texts and (behind or low == high) else self.suppressed), axis.values
        if axis.hierarchy is not None:
            node = axis.hierarchy.covering(low, high + 1)
            return node.label, node.stop - node.start
        if axis.line is not None and self.extent:
            return f"[{axis.texts[low]}, {axis.texts[high]}]", high - low + 1
        if low == high:  # nothing but values that few people hold
            first, stop = low, low + 1
        return self.region(first, min(stop, axis.ordinary))

    @property
    def other(self) -> str:
        return "{" * self.braces + "other" + "}" * self.braces

    def region(self, first: int, stop: int) -> tuple[str, int]:
        """What the codes first .. stop - 1 print, whatever rows are there."""
        axis = self.axis
        if first == 0 and stop == axis.ordinary:
            return self.suppressed, axis.values
        if axis.line is not None:
            return self._interval(first, stop), stop - first
        hides = axis.few is not None and first <= axis.few < stop
        return self._list(first, stop, hides), stop - first + (axis.few_values - 1 if hides else 0)

    def _interval(self, first: int, stop: int) -> str:
        return interval_text(
            self.boundary[first] if first > 0 else None,
            self.boundary[stop] if stop < self.axis.ordinary else None,
        )

    def _list(self, first: int, stop: int, hides: bool) -> str:
        """The values of a region."""
        codes = range(first, min(stop, len(self.axis.texts)))
        if self.axis.by_target:
            return some_text(self.axis.texts, codes, hides, self.braces)
        return list_text(self.axis.texts, codes, hides, self.braces)


def interval_text(low: str | None, high: str | None) -> str:
    """The values from one boundary on and below the other; None: without end, at most on one side.

    >>> interval_text(None, "30"), interval_text("30", "45"), interval_text("45", None)
    ('< 30', '[30, 45)', '>= 45')
    """
    if low is None:
        return f"< {high}"
    return f">= {low}" if high is None else f"[{low}, {high})"


def list_text(texts: Sequence[str], codes: Sequence[int], hides: bool, braces: int) -> str:
    """Values by their rising codes; of many, neighbours are printed as the first and the last.

    >>> list_text("abc", [0, 2], True, 1), list_text("abcdefghijklmnop", [0, *range(2, 16)], False, 1)
    ('{a, c, ...}', '{a, c .. p}')
    """
    named = [escaped(texts[code]) for code in codes]
    if len(named) > _LONGEST_LIST:
        named = [piece for run in _runs(codes) for piece in _run_text([escaped(texts[code]) for code in run])]
    return "{" * braces + ", ".join([*named, *(["..."] if hides else [])]) + "}" * braces


def some_text(texts: Sequence[str], codes: Sequence[int], hides: bool, braces: int) -> str:
    """Values whose order says nothing, in the order of their bytes; of many, some.

    >>> some_text("cba", [0, 2], False, 1), some_text("hgfedcba", range(8), False, 1)
    ('{a, c}', '{a, b, c, d, e, ...}')
    """
    named = sorted(texts[code] for code in codes)
    shown = [escaped(text) for text in named[:_LONGEST_LIST]]
    rest = ["..."] if hides or len(named) > _LONGEST_LIST else []
    return "{" * braces + ", ".join([*shown, *rest]) + "}" * braces


def _runs(codes: Sequence[int]) -> Iterator[list[int]]:
    """Codes that follow each other, together."""
    run: list[int] = []
    for code in codes:
        if run and code != run[-1] + 1:
            yield run
            run = []
        run.append(code)
    yield run


def _run_text(run: Sequence[str]) -> Sequence[str]:
    return [f"{run[0]} .. {run[-1]}"] if len(run) > 2 else run


def braces_around(texts: Iterable[str]) -> int:
    """Of a list: one more than any value starts with, so that no value is taken for one."""
    return 1 + max((len(text) - len(text.lstrip("{")) for text in texts), default=0)


def escaped(text: str) -> str:
    r"""A value inside a list, so that no other list reads the same.

    >>> escaped("Smith, {J}"), escaped("..."), escaped("a .. b")
    ('Smith\\, \\{J\\}', '\\...', 'a \\.. b')
    """
    return _SPECIAL.sub(r"\\\g<0>", text)
