"""From a statement to what release/ can publish or preview: source, hierarchies, and the method's plan."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlglot import exp

from ppdm_sql.anonymizers import registry
from ppdm_sql.catalog import migrate, releases
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError, SchemaDrifted
from ppdm_sql.policy.policy import Publish
from ppdm_sql.release import risks
from ppdm_sql.release.model import ModelRequest, find_former
from ppdm_sql.release.publish import Request, new_release_id
from ppdm_sql.release.stage import private_columns
from ppdm_sql.release.target import find_target
from ppdm_sql.source.drift import check_drift
from ppdm_sql.source.hierarchy import Hierarchy, load_hierarchy
from ppdm_sql.source.relation import Source, open_source
from ppdm_sql.statements.names import column
from ppdm_sql.watching import Progress, silent


@dataclass(frozen=True)
class Planner:
    """Finds out everything a statement needs before anything is written."""

    engine: Engine
    show_values: bool = False
    progress: Progress = silent

    def table(self, statement: Publish, run_id: str) -> Request:
        """The request for a table or view, its plan made."""
        release_id = new_release_id()
        target = find_target(self.engine, statement, release_id)
        with _as_drift(statement, target.former):
            source = self.source(statement)
        check_drift(target.former, source)
        hierarchies = self.hierarchies(statement, source)
        method = registry.table_method(statement.policy.algorithm, statement.place)
        private = private_columns(self.engine, source, self._salt())
        plan = method(self.engine, source, statement.policy, hierarchies, private, self.progress)
        request = Request(release_id, run_id, statement, source, hierarchies, plan, target)
        risks.check_accepted(statement.policy, request.own_risks)
        return request

    def model(self, statement: Publish, run_id: str) -> ModelRequest:
        """The request for a model, its plan made."""
        name, former = find_former(self.engine, statement)
        with _as_drift(statement, former):
            source = self.source(statement)
        check_drift(former, source)
        hierarchies = self.hierarchies(statement, source)
        method = registry.model_method(statement.policy.algorithm, statement.place)
        private = private_columns(self.engine, source, self._salt())
        plan = method(self.engine, source, statement.policy, hierarchies, self.progress)
        plan = replace(plan, risks=(*risks.rare_classes(self.engine, statement.policy, source), *plan.risks))
        risks.check_accepted(statement.policy, plan.risks)
        return ModelRequest(new_release_id(), run_id, statement, source, hierarchies, plan, name, former, private)

    def source(self, statement: Publish) -> Source:
        return open_source(self.engine, statement.query, statement.policy, statement.place)

    def hierarchies(self, statement: Publish, source: Source) -> dict[str, Hierarchy]:
        """Every hierarchy the policy names, checked against the values that are there."""
        return {
            name: load_hierarchy(
                wanted,
                column=name,
                kind=source.info(name).kind,
                values=self._distinct(source, name),
                engine=self.engine,
                folder=_folder(statement),
                show_values=self.show_values,
            )
            for name, wanted in (source.hierarchies or {}).items()
        }

    def _distinct(self, source: Source, name: str) -> list[Any]:
        distinct = exp.Select(expressions=[column(name)]).from_(source.relation.table()).distinct()
        return [row[0] for row in self.engine.fetch(distinct) if row[0] is not None]

    def _salt(self) -> str:
        """The database's own salt; a plan in a database without catalog needs none that lasts."""
        if not migrate.is_there(self.engine):
            return ""
        # Without the salt of the link tables a plan would find nobody in them, and everything would hold.
        return (releases.known_salt(self.engine) or "") if self.engine.read_only else releases.salt(self.engine)


@contextmanager
def _as_drift(statement: Publish, former: ReleaseRecord | None) -> Iterator[None]:
    """What no longer fits a statement that was published as it stands is drift, not a slip of the pen."""
    try:
        yield
    except PolicyError as error:
        if former is None or former.policy_text != statement.text:
            raise
        raise SchemaDrifted(f"the source of {former.name} changed since it was published: {error}") from error


def _folder(statement: Publish) -> Path:
    return Path(statement.place.file).parent if statement.place.file else Path.cwd()
