"""What a LIVE view can keep at query time, refused before anything is read."""

from __future__ import annotations

from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.errors import Mistake, PolicyError
from ppdm_sql.methods import registry
from ppdm_sql.methods.plan import ResidualRisk
from ppdm_sql.policy.policy import Policy, Publish

RISK = ResidualRisk(
    "live",
    "a live view shows every change of its source: anyone who reads it before and after a change can see what changed",
    refuses=True,
)


def is_live(record: ReleaseRecord) -> bool:
    return record.is_live


def check_live(statement: Publish) -> None:
    """Refuses, before anything is read, a method or a requirement that cannot be kept at query time."""
    problem = _problem(statement.policy)
    if problem:
        place = statement.place
        raise PolicyError(Mistake(problem, place.line, place.column), file=place.file)


def _problem(policy: Policy) -> str | None:
    method = registry.find_method(policy.algorithm)
    if method is None or not method.runs_live:
        fitting = [name for name in registry.table_methods() if registry.method_named(name).runs_live]
        return (
            f"LIVE needs ALGORITHM {', '.join(fitting)}, whose rules also cover new rows; with {policy.algorithm} "
            "publish a VIEW without LIVE, and REFRESH it"
        )
    if policy.loss_limits:
        return f"{policy.loss_limits[0]}: a LIVE view cannot keep it, because what it shows changes with its source"
    if policy.suppress and policy.roles.entity is not None:
        return (
            "a LIVE view with an ENTITY cannot have SUPPRESS AT MOST: persons are counted at every read, but the "
            "rows to leave out are chosen only once. Remove SUPPRESS AT MOST, or publish a VIEW without LIVE"
        )
    for item in policy.requirements:
        if item.compares_with_table:
            return (
                f"{item}: a LIVE view cannot keep t, because hiding one class changes the distribution that the "
                "others are compared with"
            )
        if not item.decided_in_sql:
            return f"{item}: a view cannot decide entropy exactly; use distinct_l, simple_l or recursive_l with LIVE"
    return None
