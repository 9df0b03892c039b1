"""From a statement to what release/ can publish or preview: source, hierarchies, and the method's plan."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import Any

from sqlglot import exp, parse_one

from ppdm_sql.catalog import migrate, releases
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.errors import (
    EngineError,
    Mistake,
    OptionError,
    PolicyError,
    PopulationError,
    SchemaDrifted,
    UnknownColumn,
)
from ppdm_sql.methods import registry
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.plan import Private
from ppdm_sql.planning import residual_risks
from ppdm_sql.planning.cohorts import row_columns, with_cohorts, with_row_key
from ppdm_sql.planning.form_plan import with_forms, with_treatments
from ppdm_sql.planning.request import ModelRequest, Request, new_release_id
from ppdm_sql.planning.staging import private_columns
from ppdm_sql.planning.superseding import check_superseded
from ppdm_sql.planning.target import find_former, find_target
from ppdm_sql.policy.options import place_option
from ppdm_sql.policy.policy import Publish
from ppdm_sql.policy.words import many
from ppdm_sql.requirements import PopulationRequirement
from ppdm_sql.source.drift import check_drift
from ppdm_sql.source.faults import explain_values
from ppdm_sql.source.hierarchy import Hierarchy, load_hierarchy
from ppdm_sql.source.leaves import leaf_text
from ppdm_sql.source.outside import refuse_live
from ppdm_sql.source.population import open_population
from ppdm_sql.source.relation import Source, open_source
from ppdm_sql.source.tables import named_relations
from ppdm_sql.source.treat import Secrets, check_treatments, refuse_live_treatments, secrets_of, treat
from ppdm_sql.statements.names import column
from ppdm_sql.watching import Progress, silent


@dataclass(frozen=True)
class Planner:
    """Finds out everything a statement needs before anything is written."""

    engine: Engine
    show_values: bool = False
    progress: Progress = silent
    preview_rows: int = 5  # of a plan that holds, as they would be published

    def table(self, statement: Publish, run_id: str) -> Request:
        """The request for a table or view, its plan made."""
        release_id = new_release_id()
        registry.check_table_requirements(statement)
        look_ahead(self.engine, statement)
        target = find_target(self.engine, statement, release_id)
        check_superseded(self.engine, statement)
        with as_drift(statement, target.former):
            source = self.source(statement)
        if statement.live:
            refuse_live(source.tables, statement.place)
            refuse_live_treatments(statement.policy, statement.place)
        check_drift(target.former, source)
        method = registry.table_method(statement.policy.algorithm, statement.place)
        if statement.growing:
            source = with_row_key(self.engine, statement, source)
        private = self.private_columns(source)
        _check_hierarchies(statement, source)
        with self.explained_values(statement):
            hierarchies = self.hierarchies(statement, source)
            plan = method(Job(self.engine, source, statement.policy, hierarchies, private, self.progress))
        if statement.growing:
            plan = with_cohorts(plan, statement, source)
        plan = with_treatments(with_forms(plan, source, hierarchies), source)
        own = (
            *residual_risks.derived_columns(source),
            *residual_risks.undeclared(self.engine, source),
            *residual_risks.limits_of_role(self.engine, source),
        )
        plan = replace(plan, risks=(*own, *plan.risks))
        request = Request(release_id, run_id, statement, source, hierarchies, plan, target)
        residual_risks.check_accepted(statement.policy, request.own_risks)
        return request

    def model(self, statement: Publish, run_id: str) -> ModelRequest:
        """The request for a model, its plan made."""
        name, former = find_former(self.engine, statement)
        check_superseded(self.engine, statement)
        with as_drift(statement, former):
            source = self.source(statement)
        check_drift(former, source)
        method = registry.model_method(statement.policy.algorithm, statement.place)
        private = private_columns(self.engine, source, self.salt())
        _check_hierarchies(statement, source)
        with self.explained_values(statement):
            hierarchies = self.hierarchies(statement, source)
            plan = method(Job(self.engine, source, statement.policy, hierarchies, progress=self.progress))
        own = (
            *residual_risks.derived_columns(source),
            *residual_risks.rare_classes(self.engine, statement.policy, source),
            *residual_risks.limits_of_role(self.engine, source),
        )
        plan = replace(plan, risks=(*own, *plan.risks))
        residual_risks.check_accepted(statement.policy, plan.risks)
        return ModelRequest(new_release_id(), run_id, statement, source, hierarchies, plan, name, former, private)

    def private_columns(self, source: Source) -> Private:
        """What travels with the rows to the stage and no further."""
        found = private_columns(self.engine, source, self.salt())
        return Private({**found.columns, **row_columns(self.engine, source, self.salt())}) if source.key else found

    def source(self, statement: Publish) -> Source:
        with self.explained_values(statement):
            source = open_source(
                self.engine, statement.query, statement.policy, statement.place, statement.query_place,
                show_values=self.show_values,
            )  # fmt: skip
            if not statement.policy.treated:
                return source
            check_treatments(source, statement.policy, statement.place)
            return treat(self.engine, source, statement.policy, self.secrets(statement), statement.place)

    def secrets(self, statement: Publish) -> Secrets:
        """Of treatments: they follow from the salt of the database, so that every state of a release has the same.

        A plan in a database without a catalog has some that nobody keeps.
        """
        return secrets_of(self.salt() or token_hex(32), str(self.engine.name(statement.name)))

    @contextmanager
    def explained_values(self, statement: Publish) -> Iterator[None]:
        """A cast that fails names its expression and column, wherever in the work its rows are read.

        What only the columns show to be wrong with an option gets the option's place, and a population that of REQUIRE.
        """
        try:
            yield
        except OptionError as error:
            raise place_option(error, statement.policy.option_places, statement.place) from error
        except PopulationError as error:
            raise place_option(error, {}, statement.policy.require_place or statement.place) from error
        except EngineError as error:
            tree = parse_one(statement.query, dialect=self.engine.dialect)
            start = statement.query_place or statement.place
            raise explain_values(
                self.engine, error, statement.query, start, tree, is_query=True, show_values=self.show_values
            ) from error

    def hierarchies(self, statement: Publish, source: Source) -> dict[str, Hierarchy]:
        """Every hierarchy the policy names, checked against the values that are there."""
        for name in source.tunings:
            self.check_order(statement, source, name)
        return {name: self.hierarchy(statement, source, name) for name in source.hierarchies or {}}

    def hierarchy(self, statement: Publish, source: Source, name: str) -> Hierarchy:
        found = load_hierarchy(
            (source.hierarchies or {})[name],
            column=name,
            kind=source.info(name).kind,
            values=list(dict.fromkeys([*self._distinct(source, name), *self._people(statement, source, name)])),
            engine=self.engine,
            folder=folder_of(statement),
            show_values=self.show_values,
        )
        most = source.tunings[name].most_level if name in source.tunings else None
        if most is not None and most > found.height:
            raise _wrong_column(
                statement, name, f"the hierarchy has no level {most}: its highest one is {found.height}"
            )
        return found

    def check_order(self, statement: Publish, source: Source, name: str) -> None:
        """Refuses an ORDER that lacks a value of its column, or that stands behind a column that is no text."""
        order = source.tunings[name].order
        if not order:
            return
        if source.info(name).kind is not Kind.TEXT:
            raise _wrong_column(statement, name, "ORDER is for texts, and the column has an order of its own")
        missing = {leaf_text(value) for value in self._distinct(source, name)} - set(order)
        if missing:
            shown = f": {', '.join(map(repr, sorted(missing)[:5]))}" if self.show_values else ""
            raise _wrong_column(statement, name, f"ORDER lacks {many(len(missing), 'value')} of the column{shown}")

    def _distinct(self, source: Source, name: str) -> list[Any]:
        distinct = exp.Select(expressions=[column(name)]).from_(source.relation.table()).distinct()
        return [row[0] for row in self.engine.fetch(distinct) if row[0] is not None]

    def _people(self, statement: Publish, source: Source, name: str) -> list[Any]:
        """The values of the populations that are named: their people are labelled along the hierarchy, too."""
        asked = [item for item in statement.policy.requirements if isinstance(item, PopulationRequirement)]
        people = [open_population(self.engine, source, item) for item in asked if name in source.quasi]
        return [value for one in people for value in self._distinct(one, name)]

    def salt(self) -> str:
        """The database's own salt; a plan in a database without catalog needs none that lasts."""
        if not migrate.is_there(self.engine):
            return ""
        # Without the salt of the link tables a plan would find nobody in them, and everything would hold.
        return (releases.known_salt(self.engine) or "") if self.engine.read_only else releases.salt(self.engine)


def _check_hierarchies(statement: Publish, source: Source) -> None:
    """A hierarchy that the method would not look at is refused with its place."""
    algorithm = statement.policy.algorithm
    along = next((name for name in source.quasi if name in (source.hierarchies or {})), None)
    if along is not None and not registry.method_named(algorithm).takes_hierarchies:
        message = f"ALGORITHM {algorithm} takes no HIERARCHY: leave out the HIERARCHY of the column"
        raise _wrong_column(statement, along, message)


def _wrong_column(statement: Publish, name: str, message: str) -> PolicyError:
    """A mistake in what a policy says about a column, with its place."""
    places = {word.text.casefold(): place for word, place in statement.policy.roles.places.items()}
    place = places.get(name.casefold(), statement.place)
    told = Mistake(f'column "{name}": {message}', place.line, place.column)
    return PolicyError(told, file=place.file or statement.place.file)


@contextmanager
def as_drift(statement: Publish, former: ReleaseRecord | None) -> Iterator[None]:
    """What no longer fits a statement that was published as it stands is drift, not a slip of the pen."""
    try:
        yield
    except PolicyError as error:
        if former is None or not (former.policy_text == statement.text or _knew(former, error)):
            raise
        # What REFRESH reads again has no file, and its lines are those of no file.
        placed = any(one.file for one in error.mistakes) or error.file
        told = str(error) if placed else "; ".join(one.message for one in error.mistakes)
        raise SchemaDrifted(f"the source of {former.name} changed since it was published: {told}") from error


def _knew(former: ReleaseRecord, error: PolicyError) -> bool:
    """Whether a former release had the columns that are missing now."""
    before = set() if former.is_damaged else {name.casefold() for name in former.roles.source_columns}
    return isinstance(error, UnknownColumn) and {name.casefold() for name in error.columns} <= before


def look_ahead(engine: Engine, statement: Publish) -> None:
    """Looks up the release, what its query reads, and the catalog in one go."""
    names = named_relations(engine, parse_one(statement.query, dialect=engine.dialect))
    engine.look_up([engine.name(statement.name), *names, migrate.MIGRATIONS])


def folder_of(statement: Publish) -> Path:
    return Path(statement.place.file).parent if statement.place.file else Path.cwd()
