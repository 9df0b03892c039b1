"""Whether two releases speak of the same people, and how their rows can be told to be the same.

Releases of the same tables are taken to: where it cannot be measured they are refused.  Releases of other tables are
taken to where the data say so, because a table can be copied, renamed, loaded again or kept twice:

key       keys of one type and people in common.  Whole numbers agree by chance (patients 1..n, products 1..n), so of
          them one more thing is asked: the quasi-identifiers agree for half of those in common, or, where they are
          other columns, the tables have half of their columns in common.
unusual   nobody in common, but two thirds of the unusual rows: those whose raw quasi-identifiers no other row of the
          release has.  Of other people 37 % agree at most, however the values are spread: a combination that is
          expected x times has exactly one row with a chance of x * exp(-x).  So the keys are new, not the people.
          Releases with other quasi-identifiers are compared by the rows of their tables in this way, keys left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sqlglot import exp

from ppdm_sql.catalog.ledger import link_name
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.methods.plan import QUASI
from ppdm_sql.planning.staging import key_columns, person_columns
from ppdm_sql.source.lineage import NO_TABLE, Behind
from ppdm_sql.source.relation import Source
from ppdm_sql.source.tables import table_named
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.statements.rowtext import hash_numbers

How = Literal["row", "person"]
Why = Literal["", "no key", "other columns", "nobody", "other keys"]
_PRINTED_ALIKE = (Kind.INTEGER, Kind.TEXT, Kind.BOOLEAN, Kind.DATE, Kind.UUID)  # whatever their width
_NOT_OF_PEOPLE = (Kind.TIMESTAMP, Kind.UNSUPPORTED)  # when a row was loaded says nothing of a person
_FEWEST_UNUSUAL = 20  # below this, chance alone makes two thirds too often


@dataclass(frozen=True)
class Keys:
    """The columns that identify the rows and persons of a release, and what it publishes of which columns."""

    row: tuple[str, ...]
    person: tuple[str, ...]
    told: Mapping[str, Sequence[str]] = field(default_factory=dict)  # column -> what its values are, and where from
    computed: Mapping[str, str] = field(default_factory=dict)  # column -> the same over the tables' own columns
    some_rows: bool = False  # the query leaves rows out
    known: frozenset[Behind] = frozenset()  # columns of the tables behind the quasi-identifiers
    raw: frozenset[Behind] = frozenset()  # and behind what is published unchanged, or tested by a model
    shapes: Mapping[str, Sequence[str]] = field(default_factory=dict)  # table -> its columns

    @property
    def quasi(self) -> tuple[str, ...]:
        return self.row[len(self.person) :]


def keys_of(source: Source, raw: Collection[str] | None = None) -> Keys:
    """raw: what is published unchanged; None: every column that is no quasi-identifier."""
    row, person = key_columns(source), person_columns(source)
    names = (*row, *person)
    return Keys(
        tuple(map(source.outward, row)),
        tuple(map(source.outward, person)),
        {source.outward(name): [_type(source.info(name)), source.origins.get(name, name)] for name in names},
        {source.outward(name): source.made_of[name].text for name in names if name in source.made_of},
        source.some_rows,
        source.behind(source.quasi),
        source.behind(source.own_values if raw is None else raw),
        source.shapes,
    )


def _type(info: ColumnInfo) -> str:
    """What decides how a value is printed, and with that its hash."""
    return info.kind.value if info.kind in _PRINTED_ALIKE else info.declared.casefold()


# -- keys --------------------------------------------------------------------------------------------------


def comparable(engine: Engine, other: ReleaseRecord, keys: Keys) -> tuple[How | None, Why]:
    """How two releases can be told to speak of the same row: by its key, by its person, or not at all."""
    if engine.relation_kind(link_name(other.release_id)) is None:
        return None, "no key"
    if _person_columns(other) != keys.person:
        return None, "no key"
    by_row = tuple(other.key_columns) == keys.row
    if not by_row and not keys.person:
        return None, "no key"
    if by_row and _alike(other, keys, keys.row):
        return "row", ""
    if keys.person and _alike(other, keys, keys.person):
        return "person", ""
    return None, "other columns"


def _person_columns(other: ReleaseRecord) -> tuple[str, ...]:
    return other.roles.person_columns or ()


def _alike(other: ReleaseRecord, keys: Keys, names: Iterable[str]) -> bool:
    """Whether both have the same types of these columns and compute them in the same way, as far as both say."""
    told, computed = other.roles.key_told or {}, other.roles.key_computed or {}

    def alike(name: str) -> bool:
        if name not in told or name not in keys.told:
            return True
        if name in computed and name in keys.computed:
            return (told[name][0], computed[name]) == (keys.told[name][0], keys.computed[name])
        return list(told[name]) == list(keys.told[name])

    return all(map(alike, names))


# -- people ------------------------------------------------------------------------------------------------


def in_common(engine: Engine, staged: Name, other: ReleaseRecord, unknown: int) -> tuple[int, int]:
    """How many persons two releases have in common, and how many of these with the same quasi-identifiers."""
    relations = {"left_link": staged.table(), "right_link": link_name(other.release_id).table()}
    persons, same = engine.fetch_one(statement("release/joint_common", relations), nobody=unknown)
    return int(persons), int(same)


def stranger_is_same(engine: Engine, staged: Name, other: ReleaseRecord, keys: Keys, unknown: int) -> How | None:
    """How a release of other tables is joined; None where its keys do not say that it speaks of the same people."""
    theirs = _person_columns(other)
    if not keys.person or not theirs:
        how, _ = comparable(engine, other, keys)
        return how if how is not None and unusual_rows_agree(engine, staged, other, keys) else None
    told = other.roles.key_told or {}
    kind = keys.told[keys.person[0]][0]
    if told.get(theirs[0], (None,))[0] != kind:
        return None
    persons, same = in_common(engine, staged, other, unknown)
    if not persons:
        return None
    how, _ = comparable(engine, other, keys)
    if kind != Kind.INTEGER.value:
        return how or "person"
    if how == "row":
        return how if 2 * same >= persons else None
    return (how or "person") if _tables_alike(keys.shapes, _shapes_of(other)) else None


def unusual_rows_agree(engine: Engine, staged: Name, other: ReleaseRecord, keys: Keys) -> bool:
    """Whether two thirds of the rows with raw quasi-identifiers of their own are in both releases."""
    quasi = tuple(other.key_columns)[len(_person_columns(other)) :]
    if quasi != keys.quasi or not _alike(other, keys, keys.quasi):
        return False
    theirs = link_name(other.release_id)
    if QUASI not in {info.name for info in engine.columns(theirs)}:  # a version before this one wrote it
        return False
    return _unusual_agree(engine, staged.table(), theirs.table())


def tables_agree(engine: Engine, other: ReleaseRecord, keys: Keys) -> bool:
    """Whether a table of each has the same unusual rows, whatever keys they have; asked where these say nothing."""
    theirs = _person_columns(other)
    told = {name.casefold() for name in (*keys.person, *theirs, *keys.computed.values())}
    told |= {str(text).casefold() for text in (other.roles.key_computed or {}).values()}
    quasi = {name.casefold() for name in (*keys.quasi, *other.roles.quasi)}
    pairs = ((one, two) for one in keys.shapes for two in _shapes_of(other))
    for one, two in pairs:
        if not _tables_alike({one: keys.shapes[one]}, {two: _shapes_of(other)[two]}):
            continue
        tables = [table_named(engine, name) for name in (one, two)]
        if all(table is not None and engine.can_read(table) for table in tables) and _same_unusual_rows(
            engine, [table for table in tables if table is not None], told - quasi
        ):
            return True
    return False


def _same_unusual_rows(engine: Engine, tables: Sequence[Name], keys: Collection[str]) -> bool:
    columns = [{info.name.casefold(): info for info in engine.columns(table)} for table in tables]
    common = [
        name
        for name in sorted(columns[0].keys() & columns[1].keys() - set(keys))
        if _type(columns[0][name]) == _type(columns[1][name]) and columns[0][name].kind not in _NOT_OF_PEOPLE
    ]
    if not common:
        return False
    sides = []
    for table, named in zip(tables, columns, strict=True):
        hashed = hash_numbers(engine, [column(named[name].name) for name in common])[0]
        one = exp.Literal.number(1)
        rows = exp.Select(expressions=[aliased(hashed, QUASI), aliased(one, "ppdm_rows")]).from_(table.table())
        sides.append(rows.subquery("ppdm_side"))
    return _unusual_agree(engine, sides[0], sides[1])


def _unusual_agree(engine: Engine, left: exp.Expr, right: exp.Expr) -> bool:
    relations = {"left_link": left, "right_link": right}
    alone, others, both = map(int, engine.fetch_one(statement("release/joint_unusual", relations)))
    fewer = min(alone, others)
    return fewer >= _FEWEST_UNUSUAL and 3 * both >= 2 * fewer


def _shapes_of(other: ReleaseRecord) -> Mapping[str, Sequence[str]]:
    """The columns of its tables; a version before this one kept those of the query alone."""
    return other.roles.tables or {NO_TABLE: [name.casefold() for name in other.roles.source_columns]}


def _tables_alike(ours: Mapping[str, Sequence[str]], theirs: Mapping[str, Sequence[str]]) -> bool:
    """Whether a table of each has half of the columns of the smaller one in common, and more than a key.

    >>> _tables_alike({"a": ["id", "age", "zip"]}, {"b": ["id", "age", "town", "ward"]})
    True
    >>> _tables_alike({"a": ["id", "age", "zip"]}, {"b": ["id", "price"]})
    False
    """
    pairs = ((set(one), set(two)) for one in ours.values() for two in theirs.values())
    return any(len(one & two) > 1 and 2 * len(one & two) >= min(len(one), len(two)) for one, two in pairs)


# -- columns -----------------------------------------------------------------------------------------------


def known_elsewhere(other: ReleaseRecord, keys: Keys, *, same_tables: bool) -> tuple[str, ...]:
    """Columns that are published unchanged in one of two releases, and that the other takes for known."""
    known, raw = _columns(other.roles.known or ()), _raw_of(other)
    shared = [*_common_columns(keys.known, raw, same_tables), *_common_columns(keys.raw, known, same_tables)]
    return tuple(sorted(set(shared)))


def _raw_of(other: ReleaseRecord) -> frozenset[Behind]:
    roles = other.roles
    if roles.raw is not None:
        return _columns(roles.raw)
    if other.kind == "MODEL":  # a version before this one: by the names in the query
        return _columns(roles.asked or ())
    target = [roles.target] if roles.target and roles.target not in roles.quasi else []
    return _columns([name.casefold() for name in (*roles.insensitive, *roles.sensitive, *target)])


def _columns(told: Iterable[str | Sequence[str]]) -> frozenset[Behind]:
    """Columns as the catalog keeps them: with their table, or by their name alone."""
    return frozenset((NO_TABLE, one) if isinstance(one, str) else (one[0], one[1]) for one in told)


def _common_columns(ours: frozenset[Behind], theirs: frozenset[Behind], same_tables: bool) -> list[str]:
    """The names of common columns; a copy of a table has its columns under another table's name."""
    return [
        name
        for table, name in ours
        if any(
            name == theirs_name and (table == theirs_table or not same_tables or NO_TABLE in (table, theirs_table))
            for theirs_table, theirs_name in theirs
        )
    ]
