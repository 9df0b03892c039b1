"""Where a release goes, and what may be replaced there: only what this database's catalog knows as ours."""

from __future__ import annotations

from dataclasses import dataclass

from ppdm_sql.catalog import migrate, releases
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import Mistake, PolicyError
from ppdm_sql.policy.policy import PseudoData, Publish
from ppdm_sql.release import live
from ppdm_sql.statements.names import SCHEMA, Name

_LONGEST = 200
_STORAGE = "ppdm_release_"
_LINK = "ppdm_link_"


@dataclass(frozen=True)
class Target:
    """The relation people read, and the table that holds the rows (the same, or one behind a view)."""

    name: Name
    storage: Name
    former: ReleaseRecord | None
    is_live: bool = False  # a view over the source, with no stored rows

    @property
    def is_stored_view(self) -> bool:
        return self.storage != self.name

    @property
    def is_view(self) -> bool:
        return self.is_live or self.is_stored_view

    @property
    def kind(self) -> str:
        return "view" if self.is_view else "table"

    def clear(self, engine: Engine) -> None:
        """Takes the former release away; inside the transaction that puts the new one there."""
        if self.former is None:
            return
        kind = engine.relation_kind(self.name)
        if kind == "view" and not (self.is_view and not engine.has_transactions):
            engine.drop_view(self.name)
        elif kind == "table":
            engine.drop_table(self.name)

    def clear_storage(self, engine: Engine) -> None:
        """The table behind a former view, or the rules of a live one, once nothing shows them any more."""
        if self.former is not None and self.former.storage:
            engine.drop_table(Name(SCHEMA, self.former.storage))
        if self.former is not None and live.is_live(self.former):
            live.drop_parts(engine, self.former.release_id)


def find_target(engine: Engine, statement: Publish | PseudoData, release_id: str) -> Target:
    """The place a statement asks for, or a refusal when somebody else's relation is there."""
    name = engine.name(statement.name)
    is_live = isinstance(statement, Publish) and statement.live
    former = _former(engine, name)
    problem = _problem(engine, name, statement.replace, former)
    if is_live and not engine.has_transactions:
        problem = f"LIVE needs transactions, which {engine.title} has not: rules and view must appear together"
    if problem:
        place = statement.place
        raise PolicyError(Mistake(problem, place.line, place.column), file=place.file)
    if is_live:
        return Target(name, name, former, is_live=True)
    # Without transactions only a view can be swapped in one step.
    is_view = isinstance(statement, Publish) and statement.kind == "VIEW"
    behind = is_view or not engine.has_transactions
    storage = Name(SCHEMA, f"{_STORAGE}{release_id}") if behind else name
    return Target(name, storage, former)


def _former(engine: Engine, name: Name) -> ReleaseRecord | None:
    return releases.current(engine, name) if migrate.is_there(engine) else None


def _problem(engine: Engine, name: Name, replace: bool, former: ReleaseRecord | None) -> str | None:
    if len(name.last) > _LONGEST:
        return f"the name of a release has at most {_LONGEST} characters"
    if name.schema is not None and name.schema.casefold() == SCHEMA:
        return f"schema {SCHEMA} belongs to the catalog: publish into another one"
    if name.last.casefold().startswith(f"{SCHEMA}_"):
        return f"names starting with {SCHEMA}_ are kept for working tables: choose another one"
    if former is not None and former.kind == "MODEL":
        return f'"{name}" is a released model: DROP RELEASE takes it back, or choose another name'
    if engine.relation_kind(name) is None:
        return None
    if former is None:
        return f'"{name}" is there already and is not a release: it will not be replaced'
    return None if replace else f'release "{name}" is there already: CREATE OR REPLACE publishes it anew'


def sweep(engine: Engine) -> None:
    """Drops what a killed run left behind; only an engine without transactions can leave anything."""
    if engine.has_transactions:
        return
    known = {record.release_id for record in releases.listed(engine, include_gone=True)}
    for relation in engine.relations(SCHEMA):
        for prefix in (_STORAGE, _LINK):
            if relation.startswith(prefix) and relation.removeprefix(prefix) not in known:
                engine.drop_table(Name(SCHEMA, relation))
