"""What can be asked about a relation that has no policy yet: what it holds, and its risk.  Nothing is published."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from ppdm_sql.checks.measure import Measures, Sensitive, measure
from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.words import printable
from ppdm_sql.profile.column_sets import SAMPLE
from ppdm_sql.profile.draft import PolicyDraft, draft_policy
from ppdm_sql.profile.table_profile import TableProfile, profile_table
from ppdm_sql.requirements import KAnonymity, Requirement
from ppdm_sql.source.given import columns_named, file_relation, is_data_file, name_of, relation_of
from ppdm_sql.statements.names import PREFIX, Name
from ppdm_sql.watching import Progress


class TableQuestions:
    """A session's questions about any table or SELECT of its database."""

    def __init__(self, engine: Engine, progress: Progress) -> None:
        self.engine = engine
        self._progress = progress

    def check_table(
        self,
        source: str,
        quasi: Sequence[str],
        *,
        sensitive: Sequence[str] = (),
        entity: str | None = None,
        requirements: Sequence[Requirement] = (KAnonymity(10),),
    ) -> Measures:
        """How a table or a SELECT stands against requirements, by the columns an attacker may know."""
        if not quasi:
            raise PolicyError("--quasi: name at least one column that an attacker may know")
        self.engine.check_builtins()
        with self.engine.workspace():
            relation = relation_of(self.engine, source)
            there = self.engine.columns(relation)
            known = columns_named(there, "--quasi", quasi)
            secret = columns_named(there, "--sensitive", sensitive)
            person = columns_named(there, "--entity", [entity] if entity is not None else [])
            _refuse_roles([*known, *secret, *person])
            return measure(
                self.engine,
                relation,
                quasi=known,
                sensitive=[Sensitive(info) for info in secret],
                requirements=requirements,
                entity=next(iter(person), None),
            )

    def profile(
        self, source: str, *, quasi: Sequence[str] = (), fraction: Fraction | None = None, sample: int | None = None
    ) -> TableProfile:
        """What a table, a SELECT or a file holds about people; no value of the data is in it."""
        self.engine.check_builtins()
        with self.engine.workspace():
            from_file = is_data_file(source)
            relation = file_relation(self.engine, source) if from_file else relation_of(self.engine, source)
            try:
                return profile_table(
                    self.engine, relation, _title(source, relation), quasi=quasi, fraction=fraction,
                    sample=sample or SAMPLE, progress=self._progress,
                )  # fmt: skip
            finally:
                self._progress("done", 1, 1)

    def draft(
        self, table: str, *, k: int = 10, sensitive: Sequence[str] = (), target: str | None = None,
        entity: str | None = None,
    ) -> PolicyDraft:  # fmt: skip
        """A policy for a table, every role with its reason, and hierarchy files; nothing is written."""
        self.engine.check_builtins()
        with self.engine.workspace():
            relation = name_of(self.engine, table)
            if self.engine.relation_kind(relation) is None:
                raise PolicyError(f"table {printable(table)} does not exist")
            try:
                return draft_policy(
                    self.engine, relation, k=k, sensitive=sensitive, target=target, entity=entity,
                    progress=self._progress,
                )  # fmt: skip
            finally:
                self._progress("done", 1, 1)


def _title(source: str, relation: Name) -> str:
    """How a page calls what was profiled: a file or a table by its name."""
    if is_data_file(source):
        return Path(source).name
    return "the selected rows" if str(relation).startswith(PREFIX) else str(relation)


def _refuse_roles(named: Sequence[ColumnInfo]) -> None:
    """Refuses a column in two roles, and one whose values cannot be compared."""
    for place, info in enumerate(named):
        if info in named[:place]:
            raise PolicyError(f'column "{info.name}" is named twice among the roles')
        if info.kind is Kind.UNSUPPORTED:
            shape = info.shape.split("(")[0]
            raise PolicyError(f'column "{info.name}": type {shape} cannot be measured; cast or unnest it in a SELECT')
