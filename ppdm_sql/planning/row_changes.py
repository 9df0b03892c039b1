"""What changed between the rows of a source and those of a growing release, found by touching only what changed.

Every stored row has its key and what it says as salted numbers that mean the same for ever, and a number of the whole
row by the engine's own quick hash.  Rows of the source that have the quick number of a row that is out are out in this
form; only the others get their slow numbers.  The quick number is nothing but a shortcut: a later version of the
engine may hash in another way.  Then no row is known by it, all rows are compared by their keys, and they get quick
numbers that are good again.

    unseen     rows of the source that are not out in this form: they are new, or they changed
    keyed      the same by their keys
    known      the keys of those that were ever published
    missing    rows that are out and that the source does not have in this form: they are gone, or they changed
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from ppdm_sql.catalog.growth import rows_name
from ppdm_sql.catalog.manifest import GrowthRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.planning.cohorts import QUICK, keyed_rows, row_columns
from ppdm_sql.policy.words import many
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import Name, aliased, column

_UNTIL, _TOLD = "ppdm_until", "ppdm_told"


@dataclass(frozen=True)
class RowChanges:
    """Tonight's source next to the rows that are out."""

    unseen: Source
    keyed: Name
    known: Name
    missing: Name
    missing_rows: int


def find_changes(engine: Engine, source: Source, growth: GrowthRecord, salt: str, name: Name) -> RowChanges:
    """Compares the rows; refused where keys repeat or are NULL.  name: of the release, for messages."""
    comparison = _Comparison(engine, source, rows_name(growth.growth_id), salt)
    found = comparison.quick()
    if found is None:  # which key repeats is seen in all rows
        found = comparison.slow()
        _refuse_keys(engine, found, name)
    return found


@dataclass(frozen=True)
class _Comparison:
    engine: Engine
    source: Source
    grown: Name
    salt: str

    def quick(self) -> RowChanges | None:
        """By the quick numbers; None where not every row is there once."""
        number = row_columns(self.engine, self.source, self.salt)[QUICK]
        rows = exp.Select(
            expressions=[exp.Column(this=exp.Star(), table=exp.to_identifier("r")), aliased(number, QUICK)]
        )
        source = rows.from_(self.source.relation.table("r")).subquery("quick")
        tables = {"quick": source, "grown": self.grown.table()}
        changes = self.engine.work.table("changes", statement("release/growing_changes", tables))
        unseen = self.engine.work.table("unseen", self._unseen(changes), analyze=True)
        not_there = statement("release/growing_missing", {"changes": changes.table()})
        missing = self.engine.work.table("missing", not_there, analyze=True)
        found = self._keyed(replace(self.source, relation=unseen), missing)
        parts = {"unseen": unseen.table(), "missing": missing.table(), "known": found.known.table()}
        tables |= parts | {"quick": self.source.relation.table()}
        counts = map(int, self.engine.fetch_one(statement("release/growing_regular", tables)))
        all_rows, few, out, gone, twice = counts
        _, lacking, repeated = _key_counts(self.engine, found)
        if twice or lacking or repeated or all_rows - few != out - gone:
            return None
        return replace(found, missing_rows=gone)

    def _unseen(self, changes: Name) -> exp.Select:
        """The rows of the source among what differs."""
        names = [*(info.name for info in self.engine.columns(self.source.relation)), QUICK]
        is_there = exp.Not(this=exp.Is(this=column(QUICK), expression=exp.Null()))
        picked = [column(name) for name in names]
        return exp.Select(expressions=picked).from_(changes.table()).where(is_there)

    def slow(self) -> RowChanges:
        """Every row by its key."""
        names = ("ppdm_row0", "ppdm_row1", _TOLD, "ppdm_cohort")
        out = exp.Select(expressions=[exp.column(one) for one in names]).from_(self.grown.table())
        out = out.where(exp.Is(this=exp.column(_UNTIL), expression=exp.Null()))
        missing = self.engine.work.table("missing", out, analyze=True)
        counted = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(missing.table())
        return replace(self._keyed(self.source, missing), missing_rows=int(self.engine.fetch_one(counted)[0]))

    def _keyed(self, unseen: Source, missing: Name) -> RowChanges:
        keyed = self.engine.work.table("keyed", keyed_rows(self.engine, unseen, self.salt), analyze=True)
        tables = {"keyed": keyed.table(), "grown": self.grown.table()}
        known = self.engine.work.table("known", statement("release/growing_known", tables), analyze=True)
        return RowChanges(unseen, keyed, known, missing, 0)


def _key_counts(engine: Engine, found: RowChanges) -> tuple[int, int, int]:
    """Rows of the source, those without a key, and those that share one."""
    row = engine.fetch_one(statement("release/growing_repeated_keys", {"keyed": found.keyed.table()}))
    rows, lacking, repeated = map(int, row)
    return rows, lacking, repeated


def _refuse_keys(engine: Engine, found: RowChanges, name: Name) -> None:
    _, without, repeated = _key_counts(engine, found)
    if without or repeated:
        told = f"{many(without, 'row')} without a key" if without else f"{many(repeated, 'row')} that share a key"
        raise PolicyError(
            f"{name}: the source has {told} ({', '.join(found.unseen.key)}), so published rows cannot be recognized; "
            "nothing was changed.  Correct the source, or exclude these rows in the SELECT"
        )
