"""A policy for a table that has none: every column with a role and the reason for it, hierarchies, and k.

It runs as it is.  A person reads it, moves columns to other roles, and edits the hierarchy files.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.policy import HierarchySource, Place, Policy, Publish, Roles
from ppdm_sql.policy.render import render_statement
from ppdm_sql.policy.words import many, printable
from ppdm_sql.profile.column_sets import repeated_columns
from ppdm_sql.profile.draft_hierarchies import draft_hierarchy
from ppdm_sql.profile.roles import DraftedRole, Role, draft_roles
from ppdm_sql.profile.table_profile import profile_columns
from ppdm_sql.requirements import DistinctDiversity, KAnonymity, Requirement
from ppdm_sql.source.given import exact_name
from ppdm_sql.statements.names import Name, Word, column
from ppdm_sql.watching import Progress

POLICY_FILE = "policy.sql"
_MANY = 8  # quasi-identifiers, of which a release of some thousand rows keeps little


@dataclass(frozen=True)
class PolicyDraft:
    """A drafted policy: its statement, the whole text with comments, and the hierarchy files by name."""

    table: str
    statement: Publish
    text: str
    roles: tuple[DraftedRole, ...]
    files: dict[str, str] = field(repr=False)  # they hold values of the data

    def left_out(self) -> tuple[DraftedRole, ...]:
        """The columns that are not selected."""
        return tuple(one for one in self.roles if one.role is Role.LEFT_OUT)

    def as_json(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "policy": self.text,
            "roles": [{"column": one.name, "role": one.role.value, "reason": one.reason} for one in self.roles],
            "files": sorted(self.files),
        }


def draft_policy(
    engine: Engine,
    relation: Name,
    *,
    k: int = 10,
    sensitive: Collection[str] = (),
    target: str | None = None,
    entity: str | None = None,
    progress: Progress,
) -> PolicyDraft:
    """Profiles the columns of a table and drafts a policy; nothing is written."""
    roles = table_roles(engine, relation, sensitive=sensitive, target=target, entity=entity, progress=progress)
    rows = max((one.column.rows for one in roles), default=0)
    _refuse_hopeless(roles, rows, k)
    quasi = [one for one in roles if one.role is Role.QUASI]
    hierarchies: dict[Word, HierarchySource] = {}
    files: dict[str, str] = {}
    for place, one in enumerate(quasi):
        progress("hierarchies", place, len(quasi))
        name = _file_name(one.name, files)
        found, text = draft_hierarchy(engine, relation, one.column, name, k)
        if found is not None:
            hierarchies[_word(one)] = found
        if text is not None:
            files[name] = text
    statement = _statement(engine, relation, roles, hierarchies, k)
    text = "\n".join([*_comments(relation, roles, rows, k), statement.text, ""])
    return PolicyDraft(str(relation), statement, text, roles, files)


def table_roles(
    engine: Engine, relation: Name, *, sensitive: Collection[str] = (), target: str | None = None,
    entity: str | None = None, progress: Progress,
) -> tuple[DraftedRole, ...]:  # fmt: skip
    """A role for every column of a table, by its figures; those that are named have the role they are named for."""
    there = {info.name: info for info in engine.columns(relation)}
    named = [exact_name(there, "--sensitive", one) for one in sensitive]
    aim = None if target is None else exact_name(there, "--target", target)
    person = None if entity is None else exact_name(there, "--entity", entity)
    twice = [name for name in named if named.count(name) > 1 or name in (aim, person)]
    if twice or (aim is not None and aim == person):
        raise PolicyError(f'column "{twice[0] if twice else aim}" is named twice among the roles')
    columns, nested = profile_columns(engine, relation, progress)
    usable = {one.name for one in columns}
    for name in (*named, aim, person):
        if name is not None and name not in usable:
            raise PolicyError(f'column "{name}" has a nested type, which cannot be published')
    found = draft_roles(columns, sensitive=named, target=aim, entity=person)
    found = _without_repeated(
        found, repeated_columns(engine, relation, [o.column for o in found if o.role is Role.QUASI])
    )
    return _settle([*found, *(DraftedRole.nested(info) for info in nested)])


def _without_repeated(roles: Sequence[DraftedRole], repeated: Mapping[str, str]) -> tuple[DraftedRole, ...]:
    """A column that says what an earlier one says would cost the others a part of what they keep."""
    return tuple(
        replace(one, role=Role.LEFT_OUT, reason=f"says the same as {printable(repeated[one.name])}")
        if one.name in repeated
        else one
        for one in roles
    )


def _settle(roles: Sequence[DraftedRole]) -> tuple[DraftedRole, ...]:
    """What identifies people but not each row by itself is not selected.

    As IDENTIFIER it would be taken for the person, and classes of k rows with fewer than k names are refused.
    """
    return tuple(
        one.leave_out() if one.role is Role.IDENTIFIER and one.column.distinct < one.column.rows else one
        for one in roles
    )


def _refuse_hopeless(roles: Sequence[DraftedRole], rows: int, k: int) -> None:
    """A table that no policy with this k can publish, and one that leaves nothing to publish."""
    people = next((one.column.distinct for one in roles if one.role is Role.ENTITY), rows)
    if people < k:
        who = "people" if people != rows else "rows"
        raise PolicyError(f"the table has {people:,} {who}: k = {k} cannot be met; choose a smaller --k")
    if not any(one.role is Role.QUASI for one in roles):
        raise PolicyError(
            "every column identifies people, is sensitive or has one value: there is no quasi-identifier to draft a "
            "policy from"
        )


def _statement(
    engine: Engine, relation: Name, roles: Sequence[DraftedRole], hierarchies: dict[Word, HierarchySource], k: int
) -> Publish:
    def words(role: Role) -> tuple[Word, ...]:
        return tuple(_word(one) for one in roles if one.role is role)

    asked: list[Requirement] = [KAnonymity(k)]
    secret = [one for one in roles if one.role is Role.SENSITIVE]
    if secret and all(one.column.distinct >= 2 for one in secret):
        asked.append(DistinctDiversity(2))
    listed = Roles(
        identifiers=words(Role.IDENTIFIER),
        quasi=words(Role.QUASI),
        sensitive=words(Role.SENSITIVE),
        target=next(iter(words(Role.TARGET)), None),
        insensitive=words(Role.INSENSITIVE),
        entity=next(iter(words(Role.ENTITY)), None),
        hierarchies=hierarchies,
    )
    picked = [column(one.name) for one in roles if one.role is not Role.LEFT_OUT]
    query = exp.Select(expressions=picked).from_(relation.table()).sql(engine.dialect, pretty=True)
    name = tuple(Word(part, quoted=True) for part in (*relation.parts[:-1], f"{relation.last}_open"))
    policy = Policy("mondrian", tuple(asked), listed)
    made = Publish("TABLE", name, query, policy, "", Place(1, 1), replace=True)
    return Publish("TABLE", name, query, policy, render_statement(made, engine.dialect), Place(1, 1), replace=True)


def _comments(relation: Name, roles: Sequence[DraftedRole], rows: int, k: int) -> list[str]:
    """Why every column has its role; names and counts, never a value."""
    head = [
        f"-- Drafted by ppdm for table {_one_line(str(relation))}, {many(rows, 'row')}.  Read it before you run it:",
        "-- the roles are guesses from the columns.  Make a column that no outsider can know INSENSITIVE, and one that",
        "-- must stay secret SENSITIVE.  Hierarchy files contain values of the table: keep them private.",
        f"-- k = {k}: every published row looks like at least {k - 1} others.",
        *_crowded(roles),
        "--",
    ]
    return head + [f"-- {_one_line(one.name)}: {one.role.value}; {_one_line(one.reason)}" for one in roles]


def _crowded(roles: Sequence[DraftedRole]) -> list[str]:
    quasi = sum(one.role is Role.QUASI for one in roles)
    if quasi <= _MANY:
        return []
    return [
        f"-- {quasi} quasi-identifiers: the fewer there are, the more each of them keeps.  ppdm plan",
        "-- shows what is left of each.  Leave columns that nobody needs out of the SELECT.",
    ]


def _one_line(text: str) -> str:
    """A name or a reason in a comment: nothing in it ends the line."""
    return re.sub(r"\s+", " ", printable(text) if len(text) <= 40 else text).replace("\\n", " ").strip()


def _word(one: DraftedRole) -> Word:
    return Word(one.name, quoted=True)


def _file_name(name: str, taken: Collection[str]) -> str:
    """A file name that every system takes.

    >>> _file_name("age", []), _file_name("Zip/Code", []), _file_name("☃", ["column.csv"])
    ('age.csv', 'zip_code.csv', 'column_2.csv')
    """
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:60] or "column"
    number, found = 1, f"{plain}.csv"
    while found in taken:
        number += 1
        found = f"{plain}_{number}.csv"
    return found
