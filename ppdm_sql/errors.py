"""What can go wrong, told to people: columns and counts, never values of the data."""

from __future__ import annotations

from dataclasses import dataclass


class PpdmError(Exception):
    """Base class; the command line prints its message and exits with exit_code."""

    exit_code = 3  # the run failed


@dataclass(frozen=True)
class Mistake:
    """One thing that is wrong in a statement, and where."""

    message: str
    line: int | None = None
    column: int | None = None


class PolicyError(PpdmError):
    """The call or the policy is wrong.  Holds every mistake found, not only the first."""

    exit_code = 2

    def __init__(self, *mistakes: Mistake | str, file: str | None = None) -> None:
        self.mistakes = tuple(m if isinstance(m, Mistake) else Mistake(m) for m in mistakes)
        self.file = file
        super().__init__("\n".join(self._line(m) for m in self.mistakes))

    def _line(self, mistake: Mistake) -> str:
        place = [str(part) for part in (self.file, mistake.line, mistake.column) if part is not None]
        return f"{':'.join(place)}: {mistake.message}" if place else mistake.message


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


class EngineError(PpdmError):
    """The database refused a statement.

    The engine's own text can quote raw values ("Could not convert string 'John Smith'"), so it is
    kept only as the cause; the message is the kind of error and the statement's purpose.
    """

    def __init__(self, message: str, *, sql: str | None = None) -> None:
        self.sql = sql
        super().__init__(message)


class DatabaseUnavailable(EngineError):
    """The database cannot be opened or written: missing, locked, read-only, full or foreign."""
