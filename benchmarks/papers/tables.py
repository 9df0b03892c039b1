"""A table as a paper prints it: what was measured here next to what is said there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PaperTable:
    """Cells are texts, ready to be printed; the legend says what the columns mean and what cannot be repeated."""

    paper: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    legend: tuple[str, ...]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"{self.title}: a row has not {len(self.columns)} cells")

    def markdown(self) -> str:
        r"""The table as a page of docs/ shows it.

        >>> print(PaperTable("004", "Sizes", ("k", "rows"), (("5", "10|20"),), ("k is asked.",)).markdown())
        ### Sizes
        <BLANKLINE>
        | k | rows |
        |---|---|
        | 5 | 10\|20 |
        <BLANKLINE>
        - k is asked.
        """
        lines = [_line(self.columns), "|" + "---|" * len(self.columns), *map(_line, self.rows)]
        legend = ["", *(f"- {one}" for one in self.legend)] if self.legend else []
        return "\n".join([f"### {self.title}", "", *lines, *legend])


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
