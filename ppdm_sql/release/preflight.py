"""Everything of a file that can be checked before its first statement runs.

A statement can depend on an earlier one: a table that ordinary SQL makes, a release that was published.  What depends
by its name on something earlier is left to the run; everything else is refused here, with its place, and nothing runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import assert_never

from sqlglot import exp, parse_one

from ppdm_sql.catalog import migrate, releases
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.errors import EngineError, Mistake, NotAvailable, PolicyError, SchemaDrifted
from ppdm_sql.methods import registry
from ppdm_sql.methods.tpp.stored_models import find_model, is_model
from ppdm_sql.planning.planner import Planner, as_drift, folder_of, look_ahead
from ppdm_sql.planning.superseding import check_superseded
from ppdm_sql.policy import grammar
from ppdm_sql.policy.effects import Effects, effects_of
from ppdm_sql.policy.options import at, place_option
from ppdm_sql.policy.policy import (
    DropRelease,
    Explain,
    Export,
    HierarchyFile,
    HierarchyTable,
    PassThrough,
    Place,
    PseudoData,
    Publish,
    Refresh,
    ShareCounts,
    Statement,
    Verify,
)
from ppdm_sql.policy.stored_requirements import refuse_damaged
from ppdm_sql.policy.words import nearest
from ppdm_sql.release.export import write as export
from ppdm_sql.release.kinds.base import ReleaseKind
from ppdm_sql.release.kinds.registry import kind_of, kind_of_statement
from ppdm_sql.release.pseudo import released_model
from ppdm_sql.sharing.private.statement import check_sharing
from ppdm_sql.source.drift import check_drift
from ppdm_sql.source.faults import explain_text
from ppdm_sql.source.hierarchy import load_hierarchy
from ppdm_sql.source.relation import Source, describe_source, match
from ppdm_sql.source.tables import relations_read
from ppdm_sql.source.treat import check_treatments, refuse_live_treatments
from ppdm_sql.statements.names import Name


@dataclass(frozen=True)
class _Earlier:
    """A release that an earlier statement of the file publishes or takes back."""

    name: Name
    place: Place
    kind: ReleaseKind | None = None  # None: it is taken back


@dataclass
class _FileEffects:
    """What the statements up to here will have done."""

    anything: bool = False  # ordinary SQL that could not be read may have changed any table
    supersedes: bool = False
    touched: set[str] = field(default_factory=set)  # relations that are not, or not as they are now
    filled: set[str] = field(default_factory=set)  # relations whose rows may be others by then
    published: list[_Earlier] = field(default_factory=list)
    dropped: list[_Earlier] = field(default_factory=list)
    exported: dict[Path, Name] = field(default_factory=dict)

    @property
    def models(self) -> list[_Earlier]:
        return [one for one in self.published if one.kind is not None and one.kind.keeps_model]

    def changes(self, names: frozenset[str]) -> bool:
        return self.anything or not names.isdisjoint(self.touched)


@dataclass(frozen=True)
class Preflight:
    """Checks the statements of one run in their order; out: the folder of exports, None if nothing is exported."""

    planner: Planner
    out: Path | None
    file: _FileEffects = field(default_factory=_FileEffects)
    mistakes: list[Mistake] = field(default_factory=list)
    kinds: set[type[PolicyError]] = field(default_factory=set)
    drifts: list[str] = field(default_factory=list)

    @property
    def engine(self) -> Engine:
        return self.planner.engine

    def check(self, statements: Sequence[Statement]) -> None:
        """Refuses, with every mistake that was found, what cannot succeed."""
        for number, statement in enumerate(statements):
            with self._collect_mistakes(statement.place):
                self._check(statement, is_first=number == 0)
            self._follow(statement)
        if self.mistakes:
            kind = NotAvailable if self.kinds == {NotAvailable} else PolicyError
            raise kind(*self.mistakes, *self.drifts)
        if self.drifts:
            raise SchemaDrifted("\n".join(self.drifts))

    @contextmanager
    def _collect_mistakes(self, place: Place) -> Iterator[None]:
        try:
            yield
        except PolicyError as error:
            self.kinds.add(type(error))
            placed = place_option(error, {}, place)
            self.mistakes.extend(
                Mistake(one.message, one.line, one.column, one.file or placed.file) for one in placed.mistakes
            )
        except SchemaDrifted as error:
            self.drifts.append(str(error))

    def _check(self, statement: Statement, *, is_first: bool) -> None:
        match statement:
            case PassThrough():
                self._ordinary(statement)
            case Publish():
                self._publish(statement, is_first=is_first)
            case PseudoData():
                self._pseudo(statement)
            case ShareCounts():
                self._share(statement)
            case Export():
                self._export(statement)
            case Refresh():
                self._refresh(statement)
            case Verify() | DropRelease():
                self._existing(statement)
            case Explain():
                self._check(statement.statement, is_first=is_first)
            case _:
                assert_never(statement)

    def _follow(self, statement: Statement) -> None:
        """What is otherwise once the statement has run."""
        file = self.file
        match statement:
            case PassThrough():
                effects = effects_of(statement.text, self.engine.dialect)
                file.anything = file.anything or effects.anything
                file.touched |= effects.relations
                file.filled |= effects.rows
            case Publish() | PseudoData():
                name = self.engine.name(statement.name)
                file.published.append(_Earlier(name, statement.place, kind_of_statement(statement)))
                file.dropped = [one for one in file.dropped if one.name != name]
                file.touched.add(name.last.casefold())
                file.supersedes |= isinstance(statement, Publish) and statement.policy.supersedes is not None
            case DropRelease():
                name = self.engine.name(statement.name)
                file.dropped.append(_Earlier(name, statement.place))
                file.published = [one for one in file.published if one.name != name]
                file.touched.add(name.last.casefold())

    # -- ordinary SQL ------------------------------------------------------------------------------

    def _ordinary(self, statement: PassThrough) -> None:
        """Its syntax, and its names as far as they are there already."""
        effects = effects_of(statement.text, self.engine.dialect)
        binds = self._binds(effects)
        try:
            self.engine.check_text(statement.text, binds=binds)
        except EngineError as error:
            explained = explain_text(self.engine, error, statement.text, statement.place, effects.tree)
            if isinstance(explained, PolicyError):  # what else is wrong shows when it runs
                raise explained from error

    def _binds(self, effects: Effects) -> bool:
        tree = effects.tree
        reads = isinstance(tree, exp.Query) and tree.find(exp.Into) is None
        if tree is None or not (reads or isinstance(tree, exp.Insert | exp.Update | exp.Delete)):
            return False
        return not self.file.changes(frozenset(table.name.casefold() for table in tree.find_all(exp.Table)))

    # -- releases to come --------------------------------------------------------------------------

    def _publish(self, statement: Publish, *, is_first: bool) -> None:
        kind_of_statement(statement).check(statement)
        look_ahead(self.engine, statement)
        former = self._name(statement)
        self._superseded(statement)
        self._preserved_models(statement)
        read = self._tables(statement)
        if self.file.changes(read):
            registry.check_options(statement, None)
            self._hierarchies(statement, None, values=False)
            return
        with as_drift(statement, former):
            source = self._describe_source(statement)
        registry.check_options(statement, source)
        check_drift(former, source)
        self._hierarchies(statement, source, values=not is_first and read.isdisjoint(self.file.filled))

    def _describe_source(self, statement: Publish) -> Source:
        found = describe_source(self.engine, statement.query, statement.policy, statement.place, statement.query_place)
        check_treatments(found, statement.policy, statement.place)
        if statement.live:
            refuse_live_treatments(statement.policy, statement.place)
        return found

    def _tables(self, statement: Publish) -> frozenset[str]:
        """Every relation that the query and its hierarchies name, and what lies behind the views among them."""
        tree = parse_one(statement.query, dialect=self.engine.dialect)
        read = {table.name.casefold() for table in tree.find_all(exp.Table)}
        read |= {name.rpartition(".")[2].casefold() for name in relations_read(self.engine, statement.query)}
        wanted = statement.policy.roles.hierarchies.values()
        return frozenset(read | {one.name[-1].text.casefold() for one in wanted if isinstance(one, HierarchyTable)})

    def _hierarchies(self, statement: Publish, source: Source | None, *, values: bool) -> None:
        """Each hierarchy by itself, and against the values it is for where they are those of the run."""
        if values and source is not None:
            self._placed_hierarchies(statement, source)
            return
        for word, wanted in statement.policy.roles.hierarchies.items():
            if source is None and not isinstance(wanted, HierarchyFile):
                continue
            name = None if source is None else match(word, source.columns)
            kind = Kind.TEXT if source is None or name is None else source.info(name).kind
            with self._collect_mistakes(statement.policy.roles.places.get(word, statement.place)):
                load_hierarchy(
                    wanted, column=word.text, kind=kind, values=[], engine=self.engine, folder=folder_of(statement),
                    show_values=self.planner.show_values,
                )  # fmt: skip

    def _placed_hierarchies(self, statement: Publish, source: Source) -> None:
        places = {word.text.casefold(): place for word, place in statement.policy.roles.places.items()}
        with self.planner.explained_values(statement):
            for name in source.hierarchies or {}:
                with self._collect_mistakes(places.get(name.casefold(), statement.place)):
                    self.planner.hierarchy(statement, source, name)
            for name in source.tunings:
                with self._collect_mistakes(places.get(name.casefold(), statement.place)):
                    self.planner.check_order(statement, source, name)

    def _superseded(self, statement: Publish) -> None:
        if not migrate.is_there(self.engine) or self._catalog_is_current():
            with self._collect_mistakes(statement.place):
                check_superseded(self.engine, statement, [one.name for one in self.file.published])

    def _preserved_models(self, statement: Publish) -> None:
        for one in statement.policy.preserve:
            coming = {earlier.name.last.casefold() for earlier in self.file.models}
            if not is_model(one) or one.name.text.casefold() in coming or self.file.anything:
                continue
            with self._collect_mistakes(one.place or statement.place):
                find_model(self.engine, one)

    def _name(self, statement: Publish | PseudoData) -> ReleaseRecord | None:
        """The release that has the name now; refuses a name that cannot be published under."""
        name, kind = self.engine.name(statement.name), kind_of_statement(statement)
        earlier = next((one for one in self.file.published if one.name == name), None)
        if earlier is not None:
            self._refuse_twice(statement, earlier, kind)
            return None
        if self.file.changes(frozenset({name.last.casefold()})) or self.file.supersedes:
            return None
        if not self._catalog_is_current():
            return None
        return kind.find_former(self.engine, statement)

    def _refuse_twice(self, statement: Publish | PseudoData, earlier: _Earlier, kind: ReleaseKind) -> None:
        where = f"the statement at {earlier.place.line}:{earlier.place.column}"
        if earlier.kind is None or kind.has_rows != earlier.kind.has_rows:
            raise PolicyError(at(statement.place, f'{where} publishes "{earlier.name}" as another kind of release'))
        if not statement.replace:
            told = f'{where} publishes "{earlier.name}" already: choose another name, or CREATE OR REPLACE'
            raise PolicyError(at(statement.place, told))

    def _share(self, statement: ShareCounts) -> None:
        """The codebook, the key and the columns; where it is written to only if something is written."""
        tree = parse_one(statement.query, dialect=self.engine.dialect)
        read = frozenset(table.name.casefold() for table in tree.find_all(exp.Table))
        out = self.out or Path(statement.out)
        check_sharing(self.engine, statement, out, describes=not self.file.changes(read))

    def _pseudo(self, statement: PseudoData) -> None:
        try:
            kind_of_statement(statement).check(statement)
        except PolicyError as error:
            raise place_option(error, statement.option_places, statement.place) from error
        self._name(statement)
        name = self.engine.name(statement.model)
        if any(one.name == name for one in self.file.models):
            return
        self._refuse_dropped(name, statement.place)
        if not migrate.is_there(self.engine):
            told = f'there is no released model "{name}": nothing has been published in this database yet'
            raise PolicyError(at(statement.place, told))
        if self._catalog_is_current():
            released_model(self.engine, statement)

    # -- releases that are there -------------------------------------------------------------------

    def _existing(self, statement: Refresh | Verify | Export | DropRelease) -> ReleaseRecord | None:
        """The release a statement names; None when an earlier statement publishes it."""
        name = self.engine.name(statement.name)
        if any(one.name.last.casefold() == name.last.casefold() for one in self.file.published):
            return None
        self._refuse_dropped(name, statement.place)
        if self.file.anything or (migrate.is_there(self.engine) and not self._catalog_is_current()):
            return None
        there = migrate.is_there(self.engine)
        found = releases.current(self.engine, name) if there else None
        if found is None:
            known = [str(one.name) for one in releases.list_releases(self.engine)] if there else []
            known += [one.name.last for one in self.file.published]
            near = nearest(name.last, known)
            hint = f": did you mean {near}?" if near else " (ppdm list shows the releases)"
            raise PolicyError(at(statement.place, f'there is no release "{name}" in this database{hint}'))
        return found

    def _refuse_dropped(self, name: Name, place: Place) -> None:
        gone = next((one for one in self.file.dropped if one.name == name), None)
        if gone is not None:
            where = f"{gone.place.line}:{gone.place.column}"
            raise PolicyError(at(place, f'the statement at {where} drops "{name}" first'))

    def _refresh(self, statement: Refresh) -> None:
        record = self._existing(statement)
        if record is None:
            return
        refuse_damaged(record)
        first = grammar.parse(record.policy_text, dialect=self.engine.dialect)[0]
        if not isinstance(first, Publish) or self.file.changes(self._tables(first)):
            return
        with as_drift(first, record):
            check_drift(record, self._describe_source(first))

    def _export(self, statement: Export) -> None:
        name = self.engine.name(statement.name)
        record = self._existing(statement)
        coming = next((one.kind for one in self.file.published if one.name.last == name.last), None)
        kind = coming or (None if record is None else kind_of(record))
        if kind is None or self.out is None:  # not known before it runs, or not to be exported
            return
        export.check_recordable(self.engine)
        if record is not None:
            refuse_damaged(record)
        try:
            files = kind.export_files(statement.path, statement.options, self.out)
            self._refuse_files(files, name, record)
        except PolicyError as error:
            raise place_option(error, statement.option_places, statement.path_place or statement.place) from error
        self.file.exported[files[0]] = name

    def _refuse_files(self, files: Sequence[Path], name: Name, record: ReleaseRecord | None) -> None:
        """Refuses a file that is there and is not an export of this release, now or by then."""
        if files[0] in self.file.exported:
            if self.file.exported[files[0]] != name:
                raise PolicyError(f"an earlier statement exports {self.file.exported[files[0]]} to this file")
            return
        there = migrate.is_there(self.engine) and self._catalog_is_current()
        history = [] if record is not None or not there else releases.history(self.engine, name)
        for known in [*([record] if record is not None else []), *history[:1]]:
            export.refuse_foreign(self.engine, known, files)
            return
        taken = [file.name for file in files if os.path.lexists(file)]
        if taken:
            raise PolicyError(
                f"{taken[0]} already exists and is not an export of this release: choose another file name"
            )

    def _catalog_is_current(self) -> bool:
        """A catalog of an earlier version is migrated by the first statement that writes."""
        states = migrate.status(self.engine) if migrate.is_there(self.engine) else []
        return all(one.state == "applied" for one in states)
