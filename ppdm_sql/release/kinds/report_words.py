"""What a report says of a release differently from kind to kind."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ReportWords:
    """The words of one kind; {name} in the verdict is the release."""

    verdict: str  # where the release holds
    measured: str = ""  # how the figures were found
    rows: str = "rows"
    classes: str = "classes"
    class_meaning: str = ""
    alike: str = "with the same quasi-identifiers"
    other_columns: str = "insensitive"  # the role of columns that no requirement is about
