"""Where a release goes, and what may be replaced there: only what this database's catalog knows as ours."""

from __future__ import annotations

from dataclasses import dataclass

from ppdm_sql.catalog import migrate, models, releases, releases_out
from ppdm_sql.catalog.growth import STORAGE
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import Mistake, PolicyError
from ppdm_sql.policy.policy import PseudoData, Publish
from ppdm_sql.statements.names import SCHEMA, Name

_LONGEST = 200


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


def find_target(engine: Engine, statement: Publish | PseudoData, release_id: str) -> Target:
    """The place a statement asks for, or a refusal when a relation of another user is there."""
    name = engine.name(statement.name)
    is_live = isinstance(statement, Publish) and statement.live
    former = _former(engine, name)
    problem = _problem(engine, name, statement.replace, former)
    if is_live and not engine.has_transactions:
        problem = (
            f"LIVE needs transactions, which {engine.title} does not have: rules and view must be created together"
        )
    if problem:
        place = statement.place
        raise PolicyError(Mistake(problem, place.line, place.column), file=place.file)
    if is_live:
        return Target(name, name, former, is_live=True)
    # Without transactions only a view can be swapped in one step.
    is_view = isinstance(statement, Publish) and statement.kind == "VIEW"
    behind = is_view or not engine.has_transactions
    storage = Name(SCHEMA, f"{STORAGE}{release_id}") if behind else name
    return Target(name, storage, former)


def _former(engine: Engine, name: Name) -> ReleaseRecord | None:
    if not migrate.is_there(engine):
        return None
    look = releases_out.current_under_lock if engine.holds_lock else releases.current
    return engine.facts.find("former", name, lambda: look(engine, name))


def _problem(engine: Engine, name: Name, replace: bool, former: ReleaseRecord | None) -> str | None:
    if len(name.last) > _LONGEST:
        return f"the name of a release can have at most {_LONGEST} characters"
    if name.schema is not None and name.schema.casefold() == SCHEMA:
        return f"schema {SCHEMA} belongs to the catalog: publish into another one"
    if name.last.casefold().startswith(f"{SCHEMA}_"):
        return f"names starting with {SCHEMA}_ are reserved for working tables: choose another one"
    if former is not None and former.kind == "MODEL":
        return f'"{name}" is a released model: withdraw it with DROP RELEASE, or choose another name'
    if engine.relation_kind(name) is None:
        return None
    if former is None:
        return f'"{name}" already exists and is not a release, so it will not be replaced'
    return None if replace else f'release "{name}" already exists; use CREATE OR REPLACE to publish it again'


def find_former(engine: Engine, statement: Publish) -> tuple[Name, ReleaseRecord | None]:
    """The name of the model and the release it would replace."""
    name = engine.name(statement.name)
    if name.schema is not None:
        raise PolicyError("the name of a model cannot have a schema: models are stored in the catalog")
    if engine.relation_kind(name) is not None:
        raise PolicyError(f'"{name}" is a table or view of this database: give the model another name')
    if not migrate.is_there(engine):
        return name, None
    former = releases.current(engine, name)
    taken = models.find(engine, name.last)
    if taken is not None and former is None:
        elsewhere = releases.of_model(engine, name.last)
        if elsewhere is not None:
            raise PolicyError(
                f'model "{name}" is a release that was published as "{elsewhere.name}": switch to schema '
                f'"{elsewhere.schema_name}" to publish it again, or choose another name'
            )
        raise PolicyError(f'model "{name}" already exists and is not a release: drop it, or choose another name')
    if former is not None and not statement.replace:
        raise PolicyError(f'release "{name}" already exists; use CREATE OR REPLACE to publish it again')
    return name, former
