"""What depends on the roles of a database, as an engine without roles answers it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ppdm_sql.errors import EngineError
from ppdm_sql.statements.names import Name


class NoRoles:
    """An engine that has roles (has_grants) answers otherwise."""

    title: ClassVar[str]

    def grant_select(self, name: Name, roles: Sequence[str]) -> None:
        """Lets these roles read a published relation; only where has_grants."""
        raise EngineError(f"{self.title} has no roles: GRANT SELECT TO is for engines that have them")

    def grantees(self, name: Name) -> list[str]:
        """The roles that may read a relation."""
        return []

    def past_readers(self, name: Name | None, release_id: str) -> list[str]:
        """The roles that could read a release so far, as far as the engine can tell.  name: None for a model."""
        return []

    def share_catalog(self, group: str, role: str) -> None:
        """Lets a role publish with the catalog, by making it a member of a group; only where has_grants."""
        raise EngineError(f"{self.title} has no roles: anyone who can write the database can publish")

    def hides_catalog(self) -> bool:
        """Whether there is a catalog that this role may not read."""
        return False

    def row_security(self, tables: Sequence[str]) -> list[str]:
        """Of these tables those whose row-level security applies to this role."""
        return []
