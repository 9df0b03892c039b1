"""Which role a column should have, with the reason: by what it looks like, how unique it is, and what its name says.

A wrong guess must do no harm.  What can identify a person by itself is dropped (IDENTIFIER), everything that an
attacker could know in combination is a QUASI IDENTIFIER, and only a column with one value is INSENSITIVE.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.policy.words import many
from ppdm_sql.profile.columns import ColumnProfile
from ppdm_sql.profile.patterns import DIRECT, FREE_TEXT, ID, name_words, word_set

NEARLY = Fraction(9, 10)  # different values per row of a column that is nearly unique
_LEAST_DIGITS = 6  # of whole numbers that all have one length: customer numbers, not amounts
_SENSITIVE = word_set(
    "diagnosis diagnoses illness disease condition icd symptom treatment therapy medication drug drugs hiv aids cancer "
    "salary income wage wages pay earnings debt balance religion religious political party "
    "vote orientation crime offence offense conviction grade score union disability pregnancy abortion"
)
_TARGET = word_set("class target label outcome readmitted churn churned survived default defaulted")
_MOST_SENSITIVE = 200  # different values: a salary to the cent is a number an attacker may know, too
_LEAST_PER_VALUE = 2


class Role(Enum):
    """The role of a column in a drafted policy, as the policy language writes it."""

    IDENTIFIER = "IDENTIFIER"
    ENTITY = "ENTITY"
    QUASI = "QUASI IDENTIFIER"
    SENSITIVE = "SENSITIVE"
    TARGET = "TARGET"
    INSENSITIVE = "INSENSITIVE"
    LEFT_OUT = "left out"  # of the SELECT: no role can have it


@dataclass(frozen=True)
class DraftedRole:
    """A column, its role, and why: counts and words, never a value."""

    column: ColumnProfile
    role: Role
    reason: str

    @property
    def name(self) -> str:
        return self.column.name

    def leave_out(self) -> DraftedRole:
        """The same column, not selected."""
        return replace(self, role=Role.LEFT_OUT)

    @classmethod
    def nested(cls, info: ColumnInfo) -> DraftedRole:
        """A column of a type that cannot be published, and was not measured."""
        reason = f"type {info.shape.split('(')[0]} cannot be published"
        return cls(ColumnProfile(info, 0, 0, 0, 0, 0), Role.LEFT_OUT, reason)


def draft_roles(
    columns: Sequence[ColumnProfile],
    *,
    sensitive: Collection[str] = (),
    target: str | None = None,
    entity: str | None = None,
) -> tuple[DraftedRole, ...]:
    """A role for every column; those that are named have the role they are named for."""
    found = [_role_of(one) for one in columns]
    found = [_override(one, sensitive, target, entity) for one in found]
    if entity is None:
        found = _with_entity(found)
    named = [one for one in found if one.role is Role.TARGET]
    if len(named) > 1:  # a policy has one target: the last column is where tables keep it
        found = [_role_without_target(one) if one in named[:-1] else one for one in found]
    return tuple(found)


def _role_of(one: ColumnProfile) -> DraftedRole:
    for role, reason in (_direct(one), _by_values(one), _by_name(one)):
        if role is not None:
            return DraftedRole(one, role, reason)
    return DraftedRole(one, Role.QUASI, _quasi_reason(one))


def _quasi_reason(one: ColumnProfile) -> str:
    what = many(one.distinct, "value") if one.look is None else f"looks like {one.look}"
    return f"{what}: an attacker may know it about a person"


_NONE: tuple[Role | None, str] = (None, "")


def _direct(one: ColumnProfile) -> tuple[Role | None, str]:
    """Columns that identify a person by what they hold."""
    if one.look is not None and one.look.meaning in DIRECT:
        why = " and can name anyone" if one.look.meaning == FREE_TEXT else ""
        return Role.IDENTIFIER, f"looks like {one.look}{why}"
    return _NONE


def _by_values(one: ColumnProfile) -> tuple[Role | None, str]:
    """Columns with one value, and those with nearly as many values as rows."""
    if one.classes <= 1:
        return Role.INSENSITIVE, "the same in every row"
    if one.look is not None:  # a postcode or a date: coarser ones say something
        return _NONE
    known = one.rows - one.nulls
    if one.distinct < NEARLY * known or not (one.is_whole or one.info.kind in (Kind.TEXT, Kind.UUID)):
        return _NONE
    unique = f"nearly unique ({many(one.distinct, 'value')} in {many(known, 'row')})"
    if not one.is_whole:
        return Role.IDENTIFIER, unique
    if one.span is not None and one.span + 1 <= 2 * one.distinct:
        return Role.IDENTIFIER, f"{unique} and numbered without large gaps, as row numbers are"
    if one.shortest == one.longest and (one.longest or 0) >= _LEAST_DIGITS:
        return Role.IDENTIFIER, f"{unique}, each with {one.longest} digits"
    return _NONE


def _by_name(one: ColumnProfile) -> tuple[Role | None, str]:
    words, few = set(name_words(one.name)), one.distinct <= _MOST_SENSITIVE
    crowded = one.distinct >= 2 and one.rows >= _LEAST_PER_VALUE * one.distinct
    if words & _TARGET and few and crowded:
        return Role.TARGET, "its name says that it is what a model predicts"
    if words & _SENSITIVE and few and crowded and one.info.kind is not Kind.FLOAT:
        return Role.SENSITIVE, "its name says that it must stay secret"
    return _NONE


def _override(
    found: DraftedRole, sensitive: Collection[str], target: str | None, entity: str | None
) -> DraftedRole:  # fmt: skip
    if found.name in sensitive:
        return replace(found, role=Role.SENSITIVE, reason="named by --sensitive")
    if found.name == target:
        return replace(found, role=Role.TARGET, reason="named by --target")
    if found.name == entity:
        return replace(found, role=Role.ENTITY, reason="named by --entity")
    others_named = (found.role is Role.SENSITIVE and sensitive) or (found.role is Role.TARGET and target is not None)
    if others_named:  # naming some is naming all
        return _role_without_target(found)
    return found


def _role_without_target(found: DraftedRole) -> DraftedRole:
    return replace(found, role=Role.QUASI, reason=_quasi_reason(found.column))


def _with_entity(found: Sequence[DraftedRole]) -> list[DraftedRole]:
    """A person's number that several rows share is the ENTITY: k then counts people."""
    numbers = [
        one
        for one in found
        if one.role is Role.IDENTIFIER and one.column.look is not None and one.column.look.meaning == ID
        and one.column.nulls == 0 and one.column.distinct < one.column.rows
    ]  # fmt: skip
    if not numbers:
        return list(found)
    person = max(numbers, key=lambda one: one.column.distinct)
    rows = person.column.rows
    reason = f"{person.reason}; {many(person.column.distinct, 'value')} in {many(rows, 'row')}, so a person has several"
    return [replace(one, role=Role.ENTITY, reason=reason) if one is person else one for one in found]
