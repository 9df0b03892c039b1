"""A statement with everything that was found out about it before its transaction."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.methods.plan import ModelPlan, Private, ResidualRisk, TablePlan
from ppdm_sql.planning import live_limits, residual_risks
from ppdm_sql.planning.target import Target
from ppdm_sql.policy.policy import Publish
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import Name


def new_release_id() -> str:
    return uuid.uuid4().hex


@dataclass(frozen=True)
class Request:
    """A statement with everything that was found out about it."""

    release_id: str
    run_id: str
    statement: Publish
    source: Source
    hierarchies: Mapping[str, Hierarchy]
    plan: TablePlan
    target: Target

    @property
    def name(self) -> Name:
        return self.target.name

    @property
    def former(self) -> ReleaseRecord | None:
        return self.target.former

    @property
    def risks(self) -> tuple[ResidualRisk, ...]:
        return residual_risks.residual(self.statement.policy, self.own_risks)

    @property
    def own_risks(self) -> tuple[ResidualRisk, ...]:
        """Those of the method, and of the way it is published."""
        return (*self.plan.risks, live_limits.RISK) if self.statement.live else self.plan.risks


@dataclass(frozen=True)
class ModelRequest:
    """A statement that asks for a model, with everything that was found out about it."""

    release_id: str
    run_id: str
    statement: Publish
    source: Source
    hierarchies: Mapping[str, Hierarchy]
    plan: ModelPlan
    name: Name
    former: ReleaseRecord | None
    private: Private

    @property
    def risks(self) -> tuple[ResidualRisk, ...]:
        return residual_risks.residual(self.statement.policy, self.plan.risks)
