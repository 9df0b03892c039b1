"""Several good releases can make one bad one: a new release is judged together with what is out already.

For every live release of a source a link table is kept in schema ppdm: which row (by a salted hash of its
key) is in which class.  Somebody who holds several releases can tell rows apart that share no class in all
of them, so the classes are joined along the keys; a joint class of fewer than k, or rows that only one of
the releases has in a number below k, is a breach (THREATS: differencing, composition).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from ppdm_sql.anonymizers.plan import KEY, PART
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.release.stage import STAGE
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import SCHEMA, Name, aliased, column, own

ROWS = "ppdm_rows"


@dataclass(frozen=True)
class JointOutcome:
    """What somebody could do who holds the new release and these others."""

    releases: tuple[str, ...]
    k: int
    classes: int  # joint classes below k
    rows: int  # rows in them
    measurable: bool = True

    @property
    def holds(self) -> bool:
        return self.measurable and self.classes == 0

    def as_json(self) -> dict[str, Any]:
        return {
            "with": list(self.releases),
            "k": self.k,
            "holds": self.holds,
            "measured": self.measurable,
            "breaching_classes": self.classes,
            "breaching_rows": self.rows,
        }


def link_name(release_id: str) -> Name:
    return Name(SCHEMA, f"ppdm_link_{release_id}")


def link_query(*, persons: bool) -> exp.Select:
    """Which key is in which class, and with how many rows; a person counts once, whatever their rows."""
    keys = [column(name) for name in (*KEY, PART)]
    counted = aliased(exp.cast(exp.Literal.number(1), "BIGINT") if persons else exp.Count(this=exp.Star()), ROWS)
    return exp.Select(expressions=[*keys, counted]).from_(STAGE.table()).group_by(*(key.copy() for key in keys))


def judge_jointly(
    engine: Engine, others: Sequence[ReleaseRecord], keys: Sequence[str], k: int, *, persons: bool
) -> list[JointOutcome]:
    """The outcomes of joining the stage with each live release in turn; the first breach ends it."""
    outcomes: list[JointOutcome] = []
    current = own("ppdm_joint_0")
    engine.create_table(current, link_query(persons=persons), temporary=True)
    names: list[str] = []
    for number, other in enumerate(others, start=1):
        names.append(str(other.name))
        promised = min(k, other.k_promised or k)
        link = link_name(other.release_id)
        comparable = tuple(other.key_columns) == tuple(keys) and engine.relation_kind(link) is not None
        if not comparable:
            outcomes.append(JointOutcome(tuple(names), promised, 0, 0, measurable=False))
            return outcomes
        joined = own(f"ppdm_joint_{number}")
        relations = {"left_link": current.table(), "right_link": link.table()}
        engine.create_table(joined, statement("release/joint_classes", relations), temporary=True)
        query = statement("release/joint_breaches", {"joint": joined.table()})
        classes, rows = engine.fetch_one(query, k=promised)
        outcomes.append(JointOutcome(tuple(names), promised, int(classes), int(rows or 0)))
        if classes:
            return outcomes
        current = joined
    return outcomes
