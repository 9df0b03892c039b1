"""The clause CHANGES (...): what a growing release does with rows that come late, change or leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ppdm_sql.policy.policy import Changes
from ppdm_sql.policy.reader import Reader
from ppdm_sql.policy.tokens import describe_token
from ppdm_sql.policy.values import read_number, read_whole
from ppdm_sql.policy.words import did_you_mean
from ppdm_sql.requirements import decimal

_WORDS: Mapping[str, tuple[str, ...]] = {
    "late": ("coarsen", "wait"),
    "changed": ("keep", "again"),
    "gone": ("keep", "together", "withdraw"),
    "returning": ("declare", "wait"),
    "show": ("nothing", "cohort"),
}
_LIMITS = ("loss", "nights")  # of late = wait (...)
MOST_NIGHTS = 10_000


def read_changes(reader: Reader) -> Changes:
    """( late = wait (loss = 0.3, nights = 14), changed = keep, ... )."""
    found: dict[str, Any] = {}

    def read(group: Reader) -> None:
        name = _word(group, _WORDS, "CHANGES")
        if name in found:
            group.fail(f"{name} is written twice in CHANGES")
        group.expect_sign("=", f"after {name}")
        found[name] = _word(group, _WORDS[name], name)
        if found[name] == "wait" and name == "late" and group.sign("("):
            found.update(_read_limits(group))

    reader.items("after CHANGES", read)
    return Changes(**found)


def _read_limits(reader: Reader) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def read(group: Reader) -> None:
        token = group.peek()
        name = _word(group, _LIMITS, "late = wait")
        if f"most_{name}" in found:
            group.fail(f"{name} is written twice", token)
        group.expect_sign("=", f"after {name}")
        if name == "loss":
            allowed = "the loss of late = wait is a number from 0 to 1"
            found["most_loss"] = read_number(group, allowed, lambda loss: 0 <= loss <= 1)
        else:
            allowed = f"the nights of late = wait are a whole number from 1 to {MOST_NIGHTS:,}"
            found["most_nights"] = read_whole(group, allowed, 1, MOST_NIGHTS)

    reader.items("after wait", read)
    return found


def _word(reader: Reader, known: Mapping[str, object] | tuple[str, ...], where: str) -> str:
    token = reader.peek()
    if token.word.lower() not in known:
        reader.fail(f"{where} does not have {describe_token(token)}: {did_you_mean(token.text, known)}", token)
    return reader.take().text.lower()


def changes_text(changes: Changes) -> str | None:
    """The clause as it is written; None where everything is as usual.

    >>> changes_text(Changes(late="wait", gone="together"))
    'CHANGES (late = wait (loss = 0.3, nights = 14), gone = together)'
    """
    usual = Changes()
    said = []
    for one in fields(Changes):
        value = getattr(changes, one.name)
        if one.name in _WORDS and value != getattr(usual, one.name):
            limits = f" (loss = {decimal(changes.most_loss)}, nights = {changes.most_nights})"
            said.append(f"{one.name} = {value}{limits if one.name == 'late' else ''}")
    return f"CHANGES ({', '.join(said)})" if said else None
