"""What no release of rows promises.  Named in every manifest, so that nobody has to find out."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.catalog import migrate
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.methods.plan import ResidualRisk
from ppdm_sql.planning.staging import STAGE, identifier_columns
from ppdm_sql.planning.undeclared import UNDECLARED, UNIQUE_TARGET, undeclared_columns
from ppdm_sql.policy.policy import Policy
from ppdm_sql.policy.words import many
from ppdm_sql.requirements import EveryAnonymity
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import column
from ppdm_sql.verify.identifiers import few_identifiers

JOINT = ResidualRisk("joint", "anyone who has other data about the same people can combine it with this release")
ALWAYS = (
    JOINT,
    ResidualRisk("membership", "an attacker may find out whether a given person is in the table"),
    ResidualRisk(
        "background", "an attacker who knows more than the declared quasi-identifiers can narrow a class further"
    ),
)
JOINT_VALUES = ResidualRisk(
    "joint_values", "only k is verified together with other releases: l, t and confidence can be weaker there"
)
ROW_SECURITY = "row_security"
UNREAD_CATALOG = "unread_catalog"
LEAST_K = 2  # a policy without k still does not single anybody out
RARE_CLASSES = "rare_classes"
DERIVED = "derived"
KNOWN_ELSEWHERE = "known_elsewhere"
ROWS = ResidualRisk("rows", "k counts rows, not people: declare an ENTITY if a person can have several rows")


def residual(policy: Policy, risks: Sequence[ResidualRisk]) -> tuple[ResidualRisk, ...]:
    """Everything that is not promised by this release."""
    own: tuple[ResidualRisk, ...] = () if policy.roles.entity else (ROWS,)
    own += tuple(_wider_knowledge(policy, item) for item in policy.requirements if isinstance(item, EveryAnonymity))
    return (*risks, *own, *ALWAYS, *((JOINT_VALUES,) if policy.value_requirements else ()))


def _wider_knowledge(policy: Policy, asked: EveryAnonymity) -> ResidualRisk:
    """What k on every m columns leaves open."""
    columns = len(policy.roles.quasi)
    return ResidualRisk(
        "wider_knowledge",
        f"{asked.text_of(columns)}: anyone who knows more of them can narrow a class further, down to one row",
    )


def check_accepted(policy: Policy, risks: Sequence[ResidualRisk]) -> None:
    """A refusing risk must have been accepted by name; a name nobody knows is a mistake, not a wish."""
    # a job that runs every night accepts what is there on some days only
    sometimes = {ROWS.name, JOINT_VALUES.name, RARE_CLASSES, DERIVED, KNOWN_ELSEWHERE, ROW_SECURITY}
    sometimes |= {UNDECLARED, UNIQUE_TARGET}
    known = sorted({risk.name for risk in residual(policy, risks)} | sometimes)
    for name in policy.accepted_risks:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"valid risks: {', '.join(known)}"
            raise PolicyError(f"ACCEPT RISK ({name}): no such risk; {hint}")
    refuse_unaccepted(policy, risks)


def asked_k(policy: Policy) -> int:
    return policy.k or LEAST_K


def derived_columns(source: Source) -> tuple[ResidualRisk, ...]:
    """Columns that are published unchanged, and come from what is recoded or held back in the same statement."""
    shared = _shared_origins(source)
    told = [f'"{name}" comes from the same column as {", ".join(others)}' for name, others in shared.items()]
    if not told:
        return ()
    message = (
        f"{'; '.join(told)}: it is published unchanged and reveals what is generalized or dropped there.  Leave it "
        "out of the SELECT, or make it a QUASI IDENTIFIER"
    )
    return (ResidualRisk(DERIVED, message, refuses=True),)


def _shared_origins(source: Source) -> dict[str, list[str]]:
    """The columns that leave unchanged, and the hidden ones that are made of the same columns of the tables."""
    hidden = [name for name in (*source.quasi, *source.identifiers, source.entity) if name is not None]
    found = {
        name: [other for other in hidden if source.behind([name]) & source.behind([other])]
        for name in source.own_values
    }
    return {name: others for name, others in found.items() if others}


def limits_of_role(engine: Engine, source: Source) -> tuple[ResidualRisk, ...]:
    """What the database keeps from the role that publishes or plans."""
    found = []
    if not migrate.is_there(engine) and engine.hides_catalog():
        told = "this role may not read schema ppdm, so this release was not verified together with current releases"
        found.append(ResidualRisk(UNREAD_CATALOG, told))
    hidden = engine.row_security(source.tables)
    if hidden:
        told = (
            f"row-level security on {', '.join(hidden)} applies to the role that publishes: rows that it hides are "
            "neither published nor counted"
        )
        found.append(ResidualRisk(ROW_SECURITY, told))
    return tuple(found)


def undeclared(engine: Engine, source: Source) -> tuple[ResidualRisk, ...]:
    """Columns that leave unchanged and identify people by their values; those of DERIVED are named there."""
    named = _shared_origins(source)
    return undeclared_columns(
        engine, source, [name for name in source.own_values if name not in source.sensitive and name not in named]
    )


def few_persons(engine: Engine, policy: Policy, source: Source, quasi: Sequence[str]) -> tuple[ResidualRisk, ...]:
    """Classes of k rows that are of fewer than k people, by what the staged identifiers say."""
    k = asked_k(policy)
    counted = {
        name: few_identifiers(engine, STAGE, quasi=quasi, identifier=stored, k=k, least=0 if policy.k else k)
        for name, stored in identifier_columns(source).items()
    }
    few = [
        f"{many(classes, 'class has', 'classes have')} fewer than {k} different values of {name} ({many(rows, 'row')})"
        for name, (classes, rows) in counted.items()
        if classes
    ]
    if not few:
        return ()
    named = next(name for name, (classes, _) in counted.items() if classes)
    message = (
        f"k counts rows, and {'; '.join(few)}: one person can have several rows.  Declare ENTITY ({named}) instead of "
        "IDENTIFIER to count people"
    )
    return (ResidualRisk(ROWS.name, message, refuses=True),)


def refuse_unaccepted(policy: Policy, found: Sequence[ResidualRisk]) -> None:
    for risk in found:
        if risk.refuses and risk.name not in policy.accepted_risks:
            raise RequirementBreached(
                f"{risk.message}; nothing was published (to accept this risk, add ACCEPT RISK ({risk.name}) to the "
                "statement)"
            )


def rare_classes(engine: Engine, policy: Policy, source: Source) -> tuple[ResidualRisk, ...]:
    """A model names the values of its target: one that fewer than k have is a rare value let out."""
    if source.target is None or source.target in source.quasi:  # a public class is part of the groups themselves
        return ()
    k, target = asked_k(policy), column(source.target)
    held: exp.Expr = exp.Count(this=exp.Star())
    if source.entity is not None:
        held = exp.Count(this=exp.Distinct(expressions=[column(source.entity)]))
    known = exp.Not(this=exp.Is(this=target.copy(), expression=exp.Null()))
    few = exp.Select(expressions=[target]).from_(source.relation.table()).where(known).group_by(target.copy())
    few = few.having(exp.LT(this=held, expression=exp.Literal.number(k)))
    (number,) = engine.fetch_one(exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(few.subquery("f")))
    if not number:
        return ()
    who, values = "rows" if source.entity is None else "persons", many(int(number), "value")
    return (
        ResidualRisk(
            RARE_CLASSES,
            f'the model names {values} of "{source.target}" that fewer than {k} {who} have; group these values, or '
            "exclude their rows, in the query",
            refuses=True,
        ),
    )
