"""What is out already beside a new release: what it is judged together with, and what becomes of that."""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.catalog import migrate, releases
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import RequirementBreached
from ppdm_sql.policy.policy import Policy
from ppdm_sql.policy.words import many
from ppdm_sql.release import joint, risks
from ppdm_sql.release.damage import refuse_damaged
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import Name

_WAYS_OUT = (
    "or withdraw the other (DROP RELEASE, where it was never exported), or say SUPERSEDES when nobody holds it any "
    "more, or ACCEPT RISK (joint)"
)


def judge_jointly(engine: Engine, policy: Policy, source: Source) -> list[joint.JointOutcome]:
    """The stage together with every release of the same tables that is still out."""
    if policy.supersedes:
        return []
    if not migrate.is_there(engine):
        return []
    others, strangers = releases.live_from(engine, source.tables), _of_gone_tables(engine, source.tables)
    if not others and not strangers:
        return []
    for other in (*others, *strangers):
        refuse_damaged(other)
    k, persons = risks.asked_k(policy), source.entity is not None
    return joint.judge_jointly(engine, others, joint.keys_of(source), k, persons=persons, strangers=strangers)


def _of_gone_tables(engine: Engine, tables: Sequence[str]) -> list[ReleaseRecord]:
    """What is still out from tables that are not there any more: one of them may have this table's name now."""
    out = [str(source) for (source,) in engine.fetch(statement("release/sources_out"))]
    gone = [source for source in out if source not in tables and not _is_there(engine, source)]
    known = {record.release_id for record in releases.live_from(engine, tables)}
    return [record for record in releases.live_from(engine, gone) if record.release_id not in known]


def _is_there(engine: Engine, source: str) -> bool:
    """Whether a table of the ledger exists; either part of its name can have dots of its own."""
    words = source.split(".")
    names = ((".".join(words[:place]), ".".join(words[place:])) for place in range(1, len(words)))
    return any(engine.relation_kind(Name(*name)) is not None for name in names if all(name))


# -- refusing --------------------------------------------------------------------------------------------


def refuse_joint(name: str, policy: Policy, outcomes: Sequence[joint.JointOutcome]) -> None:
    found = joint_breach(policy, outcomes)
    if found is not None:
        why, ways_out = found
        raise RequirementBreached(f"{name} {why}; nothing was published.  {ways_out}")


def joint_breach(policy: Policy, outcomes: Sequence[joint.JointOutcome]) -> tuple[str, str] | None:
    """Why a release is refused beside the others, and what can be done; None when it is not."""
    broken = [outcome for outcome in outcomes if not outcome.holds]
    if not broken or risks.JOINT.name in policy.accepted_risks:
        return None
    first = broken[0]
    held = ", ".join(first.releases)
    small = f"{many(first.classes, 'joint class', 'joint classes')} of fewer than {first.k} ({many(first.rows, 'row')})"
    why, what = {
        "": (f"together with {held} has {small}", "publish the same recoding"),
        "no key": (
            f"comes from the same table as {held}, and they share no key to tell their joint classes by",
            "select the same IDENTIFIER or ENTITY first in both",
        ),
        "other columns": (
            f"cannot be measured together with {held}: the columns that tell their rows apart have the same names, "
            "but other types, or are computed in another way",
            "select IDENTIFIER, ENTITY or the quasi-identifiers in the same way in both",
        ),
        "nobody": (
            f"cannot be measured together with {held}: they come from the same table and have no key in common",
            "select IDENTIFIER, ENTITY or the quasi-identifiers in the same way in both",
        ),
    }[first.unmeasured]
    return why, f"Either {what}, {_WAYS_OUT}"


# -- retiring --------------------------------------------------------------------------------------------


def retire(engine: Engine, record: ReleaseRecord, former: ReleaseRecord | None, *, supersedes: bool) -> None:
    """What the new release does to those before it.

    SUPERSEDES: everything out from the same tables no longer counts.  Otherwise the former one of this
    name is replaced, but stays in the ledger, because somebody may have copied it; unless it said the same of
    the same people.
    """
    if supersedes:
        for other in releases.live_from(engine, record.sources):
            if other.release_id != record.release_id:
                releases.add_event(engine, other.release_id, "superseded", f"by {record.release_id}")
                engine.drop_table(joint.link_name(other.release_id))
    elif former is not None and _says_the_same(engine, former, record):
        releases.add_event(engine, former.release_id, "superseded", f"same rows as {record.release_id}")
        engine.drop_table(joint.link_name(former.release_id))
    elif former is not None:
        releases.add_event(engine, former.release_id, "replaced", f"by {record.release_id}")


def _says_the_same(engine: Engine, former: ReleaseRecord, record: ReleaseRecord) -> bool:
    if former.content_hash != record.content_hash:
        return False
    return joint.say_the_same(engine, former, record)
