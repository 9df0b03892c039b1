"""What a page is made of: plain data that the template lays out, whatever the release is.

Every text here is shown escaped and isolated (page.py); only a Figure carries markup, and that was rebuilt by svg.py.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from markupsafe import Markup

from ppdm_sql.release.notebook_html import isolate

Tone = Literal["", "good", "bad"]


@dataclass(frozen=True)
class Cell:
    """One cell of a table: its text, a line in smaller letters below it, and what it says of the release."""

    text: str
    note: str = ""
    tone: Tone = ""


@dataclass(frozen=True)
class ReportTable:
    """The first cell of a row names it; numeric are the columns that stand to the right."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numeric: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Figure:
    """A chart: what it shows in a sentence, and the same figures as a table."""

    caption: str
    svg: Markup
    table: ReportTable | None = None
    wide: bool = False  # keeps its size and is moved about in its frame


@dataclass(frozen=True)
class Code:
    """A text to copy, behind a line that opens it."""

    caption: str
    text: str
    opened: bool = False


@dataclass(frozen=True)
class Section:
    id: str
    title: str
    paragraphs: tuple[Markup, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[ReportTable, ...] = ()
    codes: tuple[Code, ...] = ()
    terms: tuple[tuple[str, str], ...] = ()  # words with what they mean
    half: bool = False  # next to another one, where there is room


@dataclass(frozen=True)
class Tile:
    """A figure worth reading first."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Page:
    name: str
    kind: str
    audience: str
    holds: bool
    verdict: Markup
    problems: tuple[str, ...]
    lines: tuple[tuple[str, str], ...]  # when, by what, for whom
    tiles: tuple[Tile, ...]
    sections: tuple[Section, ...]
    note: str = ""
    title: str = "release report"
    generator: str = "ppdm_sql report"  # what made the page; it overwrites its own pages only


def pair_sections(sections: Sequence[Section], halves: Collection[str]) -> tuple[Section, ...]:
    """Sections with a chart (halves) stand in pairs; one that is left alone takes the whole width."""
    left, placed = list(sections), []
    while left:
        pair = [section for section in left[:2] if section.id in halves]
        placed += [replace(section, half=len(pair) == 2) for section in left[: len(pair) or 1]]
        left = left[len(pair) or 1 :]
    return tuple(placed)


def prose(words: str, **names: object) -> Markup:
    """A sentence of ours with texts of others in it, each escaped and isolated from the words around it.

    >>> prose("{name} holds.", name="<b>")
    Markup('<bdi>&lt;b&gt;</bdi> holds.')
    """
    return Markup(words).format(**{key: isolate(str(value)) for key, value in names.items()})  # noqa: S704 - ours


def table(
    caption: str, head: Sequence[str], rows: Sequence[Sequence[Cell | str]], numeric: Sequence[int] = ()
) -> ReportTable:
    """A table whose plain texts become cells."""
    cells = tuple(tuple(item if isinstance(item, Cell) else Cell(item) for item in row) for row in rows)
    return ReportTable(caption, tuple(head), cells, frozenset(numeric))
