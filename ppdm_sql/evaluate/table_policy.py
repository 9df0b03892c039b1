"""A policy for a table that has none yet: its columns by role, and k; the method is what is looked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.policy import Place, Policy, Publish, Roles
from ppdm_sql.policy.render import render_statement
from ppdm_sql.policy.words import printable
from ppdm_sql.profile.draft import table_roles
from ppdm_sql.profile.roles import DraftedRole, Role
from ppdm_sql.requirements import KAnonymity
from ppdm_sql.source.given import exact_name, name_of
from ppdm_sql.statements.names import Name, Word, column
from ppdm_sql.watching import silent


def statement_for(
    engine: Engine,
    table: str,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    target: str | None = None,
    insensitive: Sequence[str] = (),
    entity: str | None = None,
    k: int = 10,
) -> Publish:
    """CREATE TABLE <table>_open AS the columns that have a role; those without one are not selected."""
    name = name_of(engine, table)
    there = {info.name: info for info in engine.columns(name)}
    if not there:
        raise PolicyError(f"table {printable(table)} does not exist")
    if not quasi:
        raise PolicyError("--quasi: name at least one column that an attacker may know")

    def find_words(option: str, names: Sequence[str]) -> tuple[Word, ...]:
        return tuple(_word(there, option, one) for one in names)

    roles = Roles(
        quasi=find_words("--quasi", quasi),
        sensitive=find_words("--sensitive", sensitive),
        target=next(iter(find_words("--target", [target] if target else [])), None),
        insensitive=find_words("--insensitive", insensitive),
        entity=next(iter(find_words("--entity", [entity] if entity else [])), None),
    )
    named = [*roles.quasi, *roles.sensitive, roles.target, *roles.insensitive, roles.entity]
    picked = dict.fromkeys(word.text for word in named if word is not None)
    query = exp.Select(expressions=[column(one) for one in picked]).from_(name.table()).sql(engine.dialect)
    words = tuple(Word(part, quoted=True) for part in _open_name(name).parts)
    policy = Policy("mondrian", (KAnonymity(k),), roles)
    made = Publish("TABLE", words, query, policy, "", Place(1, 1))
    return Publish("TABLE", words, query, policy, render_statement(made, engine.dialect), Place(1, 1))


def drafted_columns(
    engine: Engine,
    table: str,
    *,
    sensitive: Sequence[str] = (),
    target: str | None = None,
    insensitive: Sequence[str] = (),
    entity: str | None = None,
) -> tuple[dict[str, Any], tuple[DraftedRole, ...]]:
    """The columns by role that a draft gives a table, as statement_for takes them, and those that it leaves out."""
    name = name_of(engine, table)
    there = {info.name: info for info in engine.columns(name)}
    if not there:
        raise PolicyError(f"table {printable(table)} does not exist")
    harmless = [exact_name(there, "--insensitive", one) for one in insensitive]
    with engine.workspace():
        found = table_roles(engine, name, sensitive=sensitive, target=target, entity=entity, progress=silent)
    found = tuple(one for one in found if one.name not in harmless)

    def named(*roles: Role) -> list[str]:
        return [one.name for one in found if one.role in roles]

    columns = {
        "quasi": named(Role.QUASI),
        "sensitive": named(Role.SENSITIVE),
        "target": next(iter(named(Role.TARGET)), None),
        "insensitive": [*named(Role.INSENSITIVE), *harmless],
        "entity": next(iter(named(Role.ENTITY)), None),
    }
    return columns, tuple(one for one in found if one.role in (Role.IDENTIFIER, Role.LEFT_OUT))


def _word(there: Mapping[str, object], option: str, name: str) -> Word:
    return Word(exact_name(there, option, name), quoted=True)


def _open_name(name: Name) -> Name:
    return Name(*name.parts[:-1], f"{name.last}_open")
