"""What can go wrong, told to people: columns and counts, never values of the data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal


class PpdmError(Exception):
    """Base class; the command line prints its message and exits with exit_code."""

    exit_code = 3  # the run failed
    results: tuple[Any, ...] | None = None  # of several statements: of those that ran before the one that failed
    run_id: str | None = None  # of the run in the catalog that it ended


@dataclass(frozen=True)
class Mistake:
    """One thing that is wrong in a statement, and where."""

    message: str
    line: int | None = None
    column: int | None = None
    file: str | None = None  # where it is not that of the whole error


class PolicyError(PpdmError):
    """The call or the policy is wrong.  Holds every mistake found, not only the first."""

    exit_code = 2

    def __init__(self, *mistakes: Mistake | str, file: str | None = None) -> None:
        self.mistakes = tuple(m if isinstance(m, Mistake) else Mistake(m) for m in mistakes)
        self.file = file
        super().__init__("\n".join(self._line(m) for m in self.mistakes))

    def _line(self, mistake: Mistake) -> str:
        parts = (mistake.file or self.file, mistake.line, mistake.column)
        place = [str(part) for part in parts if part is not None]
        return f"{':'.join(place)}: {mistake.message}" if place else mistake.message


class OptionError(PolicyError):
    """An option is unknown or has a wrong value; the caller that has the statement adds the place of the option."""

    def __init__(self, option: str, message: Mistake | str) -> None:
        self.option = option
        super().__init__(message, file=message.file if isinstance(message, Mistake) else None)


class PopulationError(PolicyError):
    """A population does not fit the source; the caller that has the statement adds the place of REQUIRE."""


class UnknownColumn(PolicyError):
    """A column is not where the policy looks for it; where a former release knew it, the source changed."""

    def __init__(self, columns: Iterable[str], *mistakes: Mistake | str, file: str | None = None) -> None:
        self.columns = frozenset(columns)
        super().__init__(*mistakes, file=file)


class NotAvailable(PolicyError):
    """The words are right, but this version does not do it yet."""


class RequirementBreached(PpdmError):
    """A relation does not meet a requirement of its policy; nothing was published."""

    exit_code = 1


class SchemaDrifted(PpdmError):
    """The source is no longer what the policy describes; nothing was published."""

    exit_code = 1


class Tampered(PpdmError):
    """A release is not what was published: rows, columns or manifest changed afterwards."""

    exit_code = 1


@dataclass(frozen=True)
class Fault:
    """What an engine says about the text it refused; detail can quote a value and is for --show-values only."""

    kind: Literal["syntax", "table", "column", "other", "value", "constraint"]
    name: str | None = None  # of a table or column, or the word where the syntax goes wrong
    offset: int | None = None  # in characters from the start of the statement
    length: int = 0
    detail: str | None = None


class EngineError(PpdmError):
    """The database refused a statement.

    The engine's own text can quote raw values ("Could not convert string 'John Smith'"), so it is
    kept only as the cause; the message is the kind of error and the statement's purpose.
    """

    def __init__(self, message: str, *, sql: str | None = None, fault: Fault | None = None) -> None:
        self.sql = sql
        self.fault = fault
        super().__init__(message)


class SourceChanged(EngineError):
    """Another session wrote to the source between two reads; the same call can succeed later."""

    def __init__(self) -> None:
        super().__init__("the source changed while it was read; run it again when nothing writes to it")


class DatabaseUnavailable(EngineError):
    """The database cannot be opened or written: missing, locked, read-only, full or foreign."""
