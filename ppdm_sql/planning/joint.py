"""Several good releases can make one bad one: a new release is judged together with what is out already.

For every live release of a source a link table is kept in schema ppdm: which row (by a salted hash of its
key) is in which class.  An attacker who holds several releases can tell rows apart that share no class in all
of them, so the classes are joined along the keys; a joint class of fewer than k, or rows that only one of
the releases has in a number below k, is a breach (differencing, composition).  A row whose person is
not known (NULL) counts for nobody, as in a release by itself.

A release whose columns were parted into several tables is judged table by table: each is joined with the other releases
as any table is.  Its own tables are not joined with each other by keys, which their readers do not have; what they give
together is judged when they are made (verify/projections.py).

Two releases are joined in two turns: along the keys of their rows, and then, for what that leaves over on both
sides, along the persons behind them: a person whose row has other values now is still the same.  Where several
rows could be one another, all pairs are made, and each counts the rows that must be in it (sql/release/joint_*.sql).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from sqlglot import exp

from ppdm_sql.catalog import releases
from ppdm_sql.catalog.ledger import combinations_name, link_name
from ppdm_sql.catalog.manifest import JointRecord, PartRecord, ProjectionsRecord
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.methods.plan import KEY, PART, PERSON, QUASI
from ppdm_sql.planning import people
from ppdm_sql.planning.people import How, Keys, Why
from ppdm_sql.planning.staging import STAGE
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.statements.rowtext import hash_numbers

ROWS = "ppdm_rows"
_NO_SUCH_PERSON = -1  # hashes are not negative


@dataclass(frozen=True)
class JointOutcome:
    """What an attacker could do with the new release and these others."""

    releases: tuple[str, ...]
    k: int
    classes: int  # joint classes below k
    rows: int  # rows in them
    unmeasured: Why = ""  # why it could not be measured
    answered: tuple[str, ...] = ()  # columns that are published unchanged in one release and are known to another
    is_stranger: bool = False  # the last of the releases was made from other tables

    @property
    def measurable(self) -> bool:
        return not self.unmeasured

    @property
    def holds(self) -> bool:
        return self.measurable and self.classes == 0

    def to_record(self) -> JointRecord:
        """What a manifest says of it."""
        return JointRecord(
            releases=self.releases,
            k=self.k,
            holds=self.holds,
            measured=self.measurable,
            breaching_classes=self.classes,
            breaching_rows=self.rows,
            private_in_one=self.answered,
        )


@dataclass(frozen=True)
class StagedPart:
    """One of several tables that the stage becomes: its number, what it publishes, and the parts it is one of."""

    number: int
    content: str
    partition: tuple[tuple[str, ...], ...]  # the quasi-identifiers of every part that has some


def part_column(number: int) -> str:
    """The column of a table of combinations that has the group of a part."""
    return f"{PART}_{number}"


def drop_link(engine: Engine, record: ReleaseRecord) -> None:
    """What is kept of a release for joint checks, once it counts no longer."""
    engine.drop_table(link_name(record.release_id))
    if not record.is_damaged and record.manifest.projections is not None:
        engine.drop_table(combinations_name(record.release_id))


def shown_name(record: ReleaseRecord) -> str:
    """A release by the name its statement gave it."""
    return record.stated_name


def link_query(rows: Name = STAGE) -> exp.Select:
    """Which row of whom is in which class, and how many rows have that key."""
    keys = [column(name) for name in (*KEY, PERSON, QUASI, PART)]
    counted = aliased(exp.Count(this=exp.Star()), ROWS)
    return exp.Select(expressions=[*keys, counted]).from_(rows.table()).group_by(*(key.copy() for key in keys))


def nobody(engine: Engine) -> exp.Expr:
    """What a link table has instead of a person where that is NULL."""
    return hash_numbers(engine, [exp.Null()], salt=releases.salt(engine))[0]


def say_the_same(engine: Engine, one: ReleaseRecord, other: ReleaseRecord) -> bool:
    """Whether two releases have the same rows of the same people in the same classes."""
    links = [link_name(record.release_id) for record in (one, other)]
    if one.key_columns != other.key_columns or any(engine.relation_kind(link) is None for link in links):
        return False
    return _tell_the_same(engine, links[0], links[1], print_the_same=_print_the_same(other, one.content_hash))


def _tell_the_same(engine: Engine, one: Name, other: Name, *, print_the_same: bool) -> bool:
    """Whether two links have the same rows of the same people; and these the same classes, or the same printed rows."""
    relations = {"left_link": one.table(), "right_link": other.table()}
    keys, parts = engine.fetch_one(statement("release/link_differences", relations))
    return not keys and (not parts or print_the_same)


def _print_the_same(record: ReleaseRecord, content: str | None) -> bool:
    """Whether a release holds exactly the rows of that content, so that neither adds anything to the other.

    Links cannot always tell: equal rows without a person have one key, and may be in several classes.
    """
    return content is not None and record.content_hash == content


# -- judging ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Other:
    """A release that is out, and how it can be joined to the new one."""

    record: ReleaseRecord
    name: str
    how: How | None
    why: Why = ""
    answered: tuple[str, ...] = ()
    is_stranger: bool = False  # it was made from other tables
    part: int | None = None  # which of its tables, where it has several

    @property
    def link(self) -> Name:
        return link_name(self.record.release_id)

    @property
    def content(self) -> str | None:
        """The hash of what it prints."""
        if self.part is None:
            return self.record.content_hash
        assert self.record.manifest.projections is not None
        return tables_with_groups(self.record.manifest.projections)[self.part - 1].content_hash

    @property
    def turn(self) -> int:
        """Rows that were paired by person have lost their keys: releases with the same keys come first."""
        return ("row", "person", None).index(self.how)


def judge_jointly(
    engine: Engine,
    others: Sequence[ReleaseRecord],
    keys: Keys,
    k: int,
    *,
    persons: bool,
    strangers: Sequence[ReleaseRecord] = (),
    content: str | None = None,
    rows: Name = STAGE,
    part: StagedPart | None = None,
) -> list[JointOutcome]:
    """The outcomes of joining the stage with each live release in turn; the first breach ends it.

    Strangers are releases of other tables: they matter where they speak of the same people.
    content: the hash of what the stage publishes, where it is known.  rows: what replaces the stage.
    part: which of several tables the rows become.
    """
    with engine.workspace() as work:
        staged = work.table("joint_link", link_query(rows))
        unknown = int(engine.fetch_one(exp.Select(expressions=[nobody(engine)]))[0])
        found = [_other(engine, staged, record, keys, unknown) for record in others]
        around = (_stranger(engine, staged, record, keys, unknown) for record in strangers)
        found += [one for one in around if one is not None]
        found.sort(key=lambda other: other.turn)
        outcomes = [
            outcome
            for way in _ways(found, part)
            for outcome in _join_in_turn(
                engine, staged, way, keys, k, persons=persons, unknown=unknown, content=content
            )
        ]
        return worst_outcomes(outcomes)


def tables_with_groups(found: ProjectionsRecord) -> list[PartRecord]:
    """The tables of a release that have quasi-identifiers, in their order: those that combinations are made of."""
    return [one for one in found.parts if one.quasi_identifiers]


def worst_outcomes(outcomes: Sequence[JointOutcome]) -> list[JointOutcome]:
    """One outcome for the same releases: the one that could not be measured, or has the most joint classes below k."""
    found: dict[tuple[str, ...], JointOutcome] = {}
    for one in outcomes:
        known = found.get(one.releases)
        if known is None or (not one.measurable, one.classes) > (not known.measurable, known.classes):
            found[one.releases] = one
    return list(found.values())


def _ways(found: Sequence[_Other], part: StagedPart | None) -> Iterator[list[_Other]]:
    """Every choice of one table of each release that has several."""
    yield from map(list, product(*(_tables_of(one, part) for one in found)))


def _tables_of(other: _Other, part: StagedPart | None) -> list[_Other]:
    """The tables a release is judged by: of the same partition only the same table, which is the one it replaces."""
    several = other.record.manifest.projections
    if several is None or other.how is None:
        return [other]
    tables = tables_with_groups(several)
    if part is not None and part.partition == tuple(one.quasi_identifiers for one in tables):
        return [replace(other, part=part.number)]
    return [replace(other, part=number) for number in range(1, len(tables) + 1)] or [other]


def _link_of(engine: Engine, other: _Other) -> Name:
    """The link table of a release, by the groups of one of its tables where it has several."""
    if other.part is None:
        return other.link
    kept = [column(name, "l") for name in (*KEY, PERSON, QUASI)]
    group = column(part_column(other.part), "c")
    counted = aliased(exp.cast(exp.Sum(this=column(ROWS, "l")), "BIGINT"), ROWS)
    query = exp.Select(expressions=[*kept, aliased(group, PART), counted]).from_(other.link.table("l"))
    same = exp.EQ(this=column(PART, "c"), expression=column(PART, "l"))
    query = query.join(combinations_name(other.record.release_id).table("c"), on=same)
    return engine.work.table("joint_part", query.group_by(*(one.copy() for one in kept), group.copy()))


def _join_in_turn(
    engine: Engine,
    staged: Name,
    found: Sequence[_Other],
    keys: Keys,
    k: int,
    *,
    persons: bool,
    unknown: int,
    content: str | None,
) -> list[JointOutcome]:
    # Who promised persons must not be given rows: one person's many rows hide nobody.
    of_persons = persons
    outcomes: list[JointOutcome] = []
    names: list[str] = []
    current = engine.work.table("joint_so_far", _side(staged))
    for other in found:
        names.append(other.name)
        asked = min(k, other.record.k_promised or k)  # the finer of two releases lets that much out by itself
        if other.how is None:
            return [*outcomes, JointOutcome(tuple(names), asked, 0, 0, other.why, other.answered, other.is_stranger)]
        of_persons = of_persons or _counts_persons(other.record)
        known = unknown if of_persons else None
        link, alike = _link_of(engine, other), content is not None and other.content == content
        # Equal rows alone are not enough: the difference shows that one person replaced another.
        if other.how == "row" and _tell_the_same(engine, staged, link, print_the_same=alike):
            outcomes.append(JointOutcome(tuple(names), asked, 0, 0, "", other.answered, other.is_stranger))
            continue
        theirs = engine.work.table("joint_other", _side(link))
        joined = _join(engine, current, theirs, by_row=other.how == "row", known=bool(keys.person), unknown=known)
        classes, rows = _small(engine, joined, asked, known)
        outcomes.append(JointOutcome(tuple(names), asked, classes, rows, "", other.answered, other.is_stranger))
        if classes:
            break
        current = joined
    return outcomes


def _side(link: Name) -> exp.Query:
    return statement("release/joint_linked", {"link": link.table()})


def _join(engine: Engine, current: Name, theirs: Name, *, by_row: bool, known: bool, unknown: int | None) -> Name:
    """The classes so far joined with those of the other release."""
    left, right, alone = current, theirs, _NO_SUCH_PERSON
    pairs: list[exp.Query] = []
    if by_row:
        sides = {"left_side": current.table(), "right_side": theirs.table()}
        pairs.append(statement("release/joint_by_row", sides))
        left, right = (
            _left_over(engine, this, that, known=known) for this, that in ((current, theirs), (theirs, current))
        )
        alone = _NO_SUCH_PERSON if unknown is None else unknown
    by_person = statement("release/joint_by_person", {"left_side": left.table(), "right_side": right.table()})
    paired = engine.work.table("joint_pairs", by_person, alone=alone)
    pairs.append(exp.select("*").from_(paired.table()))
    every = exp.union(*pairs, distinct=False) if len(pairs) > 1 else pairs[0]
    numbered = statement("release/joint_numbered", {"pairs": every.subquery("ppdm_pairs")})
    return engine.work.table("joint_so_far", numbered)


def _left_over(engine: Engine, this: Name, that: Name, *, known: bool) -> Name:
    """The rows of one side that have no partner on the other."""
    query = statement("release/joint_left_over", {"this_side": this.table(), "other_side": that.table()})
    return engine.work.table("joint_rest", query, known=known)


def _counts_persons(other: ReleaseRecord) -> bool:
    return other.roles.counts_entities


def _small(engine: Engine, joined: Name, k: int, unknown: int | None) -> tuple[int, int]:
    """How many joint classes are below k, and the rows in them; persons where it is known who is nobody."""
    counted = "rows" if unknown is None else "persons"
    query = statement(f"release/joint_small_{counted}", {"joint": joined.table()})
    params = {} if unknown is None else {"nobody": unknown}
    classes, rows = engine.fetch_one(query, k=k, **params)
    return int(classes), int(rows or 0)


# -- comparing -------------------------------------------------------------------------------------------


def _other(engine: Engine, staged: Name, record: ReleaseRecord, keys: Keys, unknown: int) -> _Other:
    """A release of the same tables: what cannot be measured is refused."""
    name, told = shown_name(record), people.known_elsewhere(record, keys, same_tables=True)
    how, why = people.comparable(engine, record, keys)
    if how is None or people.in_common(engine, staged, record, unknown)[0]:
        return _Other(record, name, how, why, told)
    # Other people alone are credible where their column was named and a query leaves people out ...
    if not keys.person or not (keys.some_rows or record.roles.some_rows):
        return _Other(record, name, None, "nobody", told)
    # ... and where their raw values do not say that they are the same under new keys.
    if people.unusual_rows_agree(engine, staged, record, keys):
        return _Other(record, name, None, "other keys", told)
    return _Other(record, name, how)


def _stranger(engine: Engine, staged: Name, record: ReleaseRecord, keys: Keys, unknown: int) -> _Other | None:
    """A release of other tables: it counts where the data say that it speaks of the same people."""
    if engine.relation_kind(link_name(record.release_id)) is None:
        return None
    how: How | None = people.stranger_is_same(engine, staged, record, keys, unknown)
    why: Why = ""
    if how is None:
        why = "other keys" if people.unusual_rows_agree(engine, staged, record, keys) else "no key"
        if why == "no key" and not people.tables_agree(engine, record, keys):
            return None
    told = people.known_elsewhere(record, keys, same_tables=False)
    name = f"{shown_name(record)} (made from another table of the same people)"
    return _Other(record, name, how, why, told, is_stranger=True)
