"""What is already out when a release is new: what it is judged together with, and what becomes of that."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ppdm_sql.catalog import ledger, migrate, releases, releases_out
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import RequirementBreached, Tampered
from ppdm_sql.methods.plan import ResidualRisk
from ppdm_sql.planning import joint, people, residual_risks
from ppdm_sql.planning.staging import STAGE
from ppdm_sql.planning.superseding import uncounted
from ppdm_sql.policy.policy import Policy
from ppdm_sql.policy.stored_requirements import refuse_damaged
from ppdm_sql.policy.words import many
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import SCHEMA, Name

_WAYS_OUT = (
    "withdraw the other (DROP RELEASE, if it was never exported and no role could read it), use SUPERSEDES with its "
    "name if no copy of it is left, or ACCEPT RISK (joint)"
)


def judge_jointly(
    engine: Engine,
    policy: Policy,
    source: Source,
    raw: Collection[str] | None = None,
    *,
    name: Name,
    former: ReleaseRecord | None = None,
    content: str | None = None,
    rows: Name = STAGE,
    grown_from: ReleaseRecord | None = None,
    part: joint.StagedPart | None = None,
) -> list[joint.JointOutcome]:
    """The stage together with every release that is still out and speaks of the same people.

    What the statement supersedes does not count, nor does its own former state if nobody was ever given that.
    raw: what is published unchanged; None: every column that is no quasi-identifier.  name, former: of the release.
    content: the hash of the published rows, where it is known: a release of exactly these rows adds nothing.
    rows: every row that a growing release ever published; grown_from: its night before, whose rows are among them.
    part: which of several tables the rows become.
    """
    if not migrate.is_there(engine):
        return []
    everything = releases_out.out_now(engine)
    if not everything:
        return []
    same_tables = releases.live_from(engine, source.tables)
    known = {record.release_id for record in same_tables}
    gone = uncounted(engine, policy.supersedes, name, source.tables, former)
    gone |= {grown_from.release_id} if grown_from is not None else set()
    others = [record for record in same_tables if record.release_id not in gone]
    strangers = [record for record in everything if record.release_id not in known | gone]
    if not others and not strangers:
        return []
    for other in (*others, *strangers):
        refuse_damaged(other)
    _refuse_edited_links(engine, (*others, *strangers))
    keys = people.keys_of(source, raw)
    return joint.judge_jointly(
        engine,
        others,
        keys,
        residual_risks.asked_k(policy),
        persons=source.entity is not None,
        strangers=strangers,
        content=content,
        rows=rows,
        part=part,
    )


def _refuse_edited_links(engine: Engine, others: Sequence[ReleaseRecord]) -> None:
    edited = ledger.edited_links(engine, {other.release_id for other in others})
    if edited:
        names = ", ".join(f'"{joint.shown_name(other)}"' for other in others if other.release_id in edited)
        raise Tampered(
            f"the link table of {names} was edited in schema {SCHEMA}, so it cannot be verified together with other "
            "releases; publish it again, or withdraw it with DROP RELEASE"
        )


# -- refusing --------------------------------------------------------------------------------------------


def refuse_joint(name: str, policy: Policy, outcomes: Sequence[joint.JointOutcome]) -> None:
    found = joint_breach(policy, outcomes)
    if found is not None:
        why, ways_out = found
        raise RequirementBreached(f"{name} {why}; nothing was published.  {ways_out}")


def joint_breach(policy: Policy, outcomes: Sequence[joint.JointOutcome]) -> tuple[str, str] | None:
    """Why a release is refused together with the others, and what can be done; None when it is not."""
    broken = [outcome for outcome in outcomes if not outcome.holds]
    if not broken or residual_risks.JOINT.name in policy.accepted_risks:
        return _known_elsewhere_breach(policy, outcomes)
    first = broken[0]
    held = ", ".join(first.releases)
    small = f"{many(first.classes, 'joint class', 'joint classes')} of fewer than {first.k} ({many(first.rows, 'row')})"
    has_same = "has the same people as" if first.is_stranger else "comes from the same table as"
    why, what = {
        "": (f"together with {held} has {small}", "publish the same recoding"),
        "no key": (
            f"{has_same} {held}, and they have no key in common to find their joint classes",
            "select the same IDENTIFIER or ENTITY first in both",
        ),
        "other columns": (
            f"cannot be measured together with {held}: the columns that identify their rows have the same names, but "
            "different types or expressions",
            "select IDENTIFIER, ENTITY or the quasi-identifiers in the same way in both",
        ),
        "nobody": (
            f"cannot be measured together with {held}: they come from the same table and have no key in common",
            "select IDENTIFIER, ENTITY or the quasi-identifiers in the same way in both",
        ),
        "other keys": (
            f"cannot be measured together with {held}: no key occurs in both, but most rows with unusual "
            "quasi-identifiers do, so these are the same people under different keys",
            "select an IDENTIFIER or ENTITY that does not change",
        ),
    }[first.unmeasured]
    return why, f"Either {what}, {_WAYS_OUT}"


def _known_elsewhere_breach(policy: Policy, outcomes: Sequence[joint.JointOutcome]) -> tuple[str, str] | None:
    """Each release forms its classes by what it takes for known itself: what another one knows parts them further."""
    (*_, risk) = (None, *risks_of(outcomes))
    if risk is None or risk.name in policy.accepted_risks:
        return None
    return (
        f"cannot be published: {risk.message}",
        f"Either give the column the same role in both, withdraw the other, or ACCEPT RISK ({risk.name})",
    )


def risks_of(outcomes: Sequence[joint.JointOutcome]) -> tuple[ResidualRisk, ...]:
    """What the joint groups do not take into account: each release forms them by what it takes for known itself."""
    columns = sorted({name for outcome in outcomes for name in outcome.answered})
    if not columns:
        return ()
    held = ", ".join(dict.fromkeys(outcome.releases[-1] for outcome in outcomes if outcome.answered))
    message = (
        f"{', '.join(columns)} is a quasi-identifier in one release and published unchanged in another ({held}): "
        "anyone who knows its value can split the classes of the other further than was measured"
    )
    return (ResidualRisk(residual_risks.KNOWN_ELSEWHERE, message, refuses=True),)
