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

from ppdm_sql.anonymizers.plan import KEY, PART, PERSON
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.release.stage import STAGE
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import SCHEMA, Name, aliased, column, own

ROWS = "ppdm_rows"


@dataclass(frozen=True)
class Keys:
    """The columns by which a release tells its rows and its persons."""

    row: tuple[str, ...]
    person: tuple[str, ...]


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


def shown_name(record: ReleaseRecord) -> str:
    """A release by the name its statement gave it."""
    return str(record.manifest.get("release", {}).get("name", record.name))


def link_name(release_id: str) -> Name:
    return Name(SCHEMA, f"ppdm_link_{release_id}")


def link_query() -> exp.Select:
    """Which row of whom is in which class, and how many rows have that key."""
    keys = [column(name) for name in (*KEY, PERSON, PART)]
    counted = aliased(exp.Count(this=exp.Star()), ROWS)
    return exp.Select(expressions=[*keys, counted]).from_(STAGE.table()).group_by(*(key.copy() for key in keys))


def judge_jointly(
    engine: Engine, others: Sequence[ReleaseRecord], keys: Keys, k: int, *, persons: bool
) -> list[JointOutcome]:
    """The outcomes of joining the stage with each live release in turn; the first breach ends it."""
    outcomes: list[JointOutcome] = []
    current = own("ppdm_joint_0")
    engine.create_table(current, link_query(), temporary=True)
    names: list[str] = []
    # Who promised persons must not be given rows: one person's many rows hide nobody.
    of_persons = persons
    for number, other in enumerate(others, start=1):
        names.append(shown_name(other))
        promised = min(k, other.k_promised or k)
        how = _comparable(engine, other, keys)
        if how is None:
            return [*outcomes, JointOutcome(tuple(names), promised, 0, 0, measurable=False)]
        joined = own(f"ppdm_joint_{number}")
        relations = {"left_link": current.table(), "right_link": link_name(other.release_id).table()}
        engine.create_table(joined, statement(f"release/joint_by_{how}", relations), temporary=True)
        of_persons = of_persons or other.roles.get("entity") is not None
        counted = "persons" if of_persons else "rows"
        query = statement(f"release/joint_small_{counted}", {"joint": joined.table()})
        classes, rows = engine.fetch_one(query, k=promised)
        outcomes.append(JointOutcome(tuple(names), promised, int(classes), int(rows or 0)))
        if classes:
            break
        current = joined
    return outcomes


def _comparable(engine: Engine, other: ReleaseRecord, keys: Keys) -> str | None:
    """How two releases can be told to speak of the same row: by its key, by its person, or not at all."""
    if engine.relation_kind(link_name(other.release_id)) is None:
        return None
    if tuple(other.key_columns) == keys.row:
        return "row"
    if keys.person and tuple(other.roles.get("person_columns", ())) == keys.person:
        return "person"
    return None
