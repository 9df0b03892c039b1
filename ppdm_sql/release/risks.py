"""What no release of rows promises.  Named in every manifest, so that nobody has to find out."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from ppdm_sql.anonymizers.plan import Risk
from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.policy.policy import Policy

JOINT = Risk("joint", "somebody who also holds other data about the same people can combine it with this release")
ALWAYS = (
    JOINT,
    Risk("membership", "whether a given person is in the table is not hidden"),
    Risk("background", "knowledge beyond the declared quasi-identifiers can narrow a class further"),
)
ROWS = Risk("rows", "k counts rows, not people: name an ENTITY when a person can have several rows")


def residual(policy: Policy, risks: Sequence[Risk]) -> tuple[Risk, ...]:
    """Everything that is not promised by this release."""
    own = () if policy.roles.entity else (ROWS,)
    return (*risks, *own, *ALWAYS)


def check_accepted(policy: Policy, risks: Sequence[Risk]) -> None:
    """A refusing risk must have been accepted by name; a name nobody knows is a mistake, not a wish."""
    known = sorted({risk.name for risk in residual(policy, risks)} | {ROWS.name})
    for name in policy.accepted_risks:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"this method has: {', '.join(known)}"
            raise PolicyError(f"ACCEPT RISK ({name}): no such risk; {hint}")
    for risk in risks:
        if risk.refuses and risk.name not in policy.accepted_risks:
            raise RequirementBreached(
                f"{risk.message}; nothing was published (ACCEPT RISK ({risk.name}) in the statement accepts that)"
            )
