"""Several tables that share the class alone: under the release's name the list of their columns, and a table each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlglot import exp

from ppdm_sql.catalog.ledger import combinations_name
from ppdm_sql.catalog.manifest import Manifest, ProjectionsRecord
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import Mistake, PolicyError
from ppdm_sql.methods import registry
from ppdm_sql.methods.plan import Projections, parts_text
from ppdm_sql.planning.measure_projections import (
    MeasuredProjections,
    link_rows,
    list_query,
    list_rows,
    measure_projections,
    part_query,
    preview_projections,
)
from ppdm_sql.planning.measure_table import Measured
from ppdm_sql.planning.planner import Planner
from ppdm_sql.planning.request import Request
from ppdm_sql.policy.policy import OptionValue, PlacedWord, Publish
from ppdm_sql.policy.words import many
from ppdm_sql.release.export.parts import export_parts, part_files, parts_certificate_today
from ppdm_sql.release.kinds.base import Publication
from ppdm_sql.release.kinds.report_words import ReportWords
from ppdm_sql.release.kinds.stored import StoredRelease
from ppdm_sql.release.preview import preview_table
from ppdm_sql.release.results import Exported, Planned, Verified
from ppdm_sql.release.reverify_projections import reverify_projections
from ppdm_sql.statements.names import SCHEMA, Name
from ppdm_sql.watching import Progress


def part_name(name: Name, number: int) -> Name:
    """The table of a part, next to the list: open_1, open_2, ..."""
    return Name(*name.parts[:-1], f"{name.last}_{number}")


class ProjectedRelease(StoredRelease):
    """Written, measured and put in place as one release: all tables or none."""

    report_words = ReportWords(
        verdict="{name} holds: its tables are unchanged since they were published and meet every requirement.",
        measured="Measured again for this page, on the stored tables and on what joining them on the class gives, by "
        "code that shares nothing with the code that made them.",
        class_meaning="A class is a set of rows of one table with the same value in each of its quasi-identifiers.",
    )

    def takes(self, statement: Publication) -> bool:
        if not isinstance(statement, Publish):
            return False
        method = registry.find_method(statement.policy.algorithm)
        return method is not None and method.parts_columns

    def describes(self, record: ReleaseRecord) -> bool:
        method = registry.find_method(record.algorithm)
        return method is not None and method.parts_columns

    # -- publishing --------------------------------------------------------------------------------

    def check(self, statement: Publication) -> None:
        assert isinstance(statement, Publish)
        super().check(statement)
        unfit = "GROWING" if statement.growing else "LIVE" if statement.live else None
        if unfit is not None:
            raise _refusal(
                statement, f"ALGORITHM {statement.policy.algorithm} makes several tables at once and cannot be {unfit}"
            )

    def plan(self, planner: Planner, statement: Publication, coming: Collection[Name] = ()) -> Planned:
        assert isinstance(statement, Publish)
        return preview_table(planner, statement, _preview)

    def refresh_statement(self, statement: Publish, record: ReleaseRecord) -> Publish:
        """With the parts of the first night: other parts of the same rows would be a second release of them."""
        found = record.manifest.projections
        if found is None or "parts" in statement.policy.options:
            return statement
        columns = (tuple(name for name in part.columns if name != found.target) for part in found.parts)
        parts = tuple(tuple(_exact_word(name) for name in part) for part in columns)
        options: dict[str, OptionValue] = {**statement.policy.options, "parts": parts}
        if found.filtered:
            options["filter"] = tuple(_exact_word(name) for name in found.filtered)
        return replace(statement, policy=replace(statement.policy, options=options))

    def store(self, engine: Engine, request: Request) -> Name:
        found = _projections(request)
        _refuse_foreign(engine, request)
        if engine.has_transactions:
            _drop_parts(engine, request.former)
        for part, storage in zip(found.parts, _storages(request), strict=True):
            engine.create_table(storage, part_query(engine, part, found.target, request.statement.policy.seed))
        names = [table.last for table in _part_names(request)]
        engine.create_table(request.target.storage, list_query(list_rows(request, found, names)))
        return request.target.storage

    def measure(self, engine: Engine, request: Request, stored: Name, progress: Progress) -> Measured:
        return measure_projections(engine, request, stored, _storages(request), progress)

    def discard(self, engine: Engine, request: Request) -> None:
        """With the views as they were before, where some of them were put in place already."""
        shown = _comment(request.release_id, request.name)
        changed = [name for name in _part_names(request) if engine.comment_on(name) == shown]
        for name in changed:
            engine.drop_view(name)
        former, places = request.former, {name.last: name for name in changed}
        for number, name in enumerate(_tables_of(former), start=1):
            if former is not None and former.storage and name.last in places:
                behind = part_name(Name(SCHEMA, former.storage), number)
                _show_part(engine, places[name.last], behind, former.release_id, former.name)
        for storage in _storages(request):
            engine.drop_table(storage)
        engine.drop_table(combinations_name(request.release_id))
        super().discard(engine, request)

    def link_query(self, measured: Measured) -> exp.Select:
        assert isinstance(measured, MeasuredProjections)
        return link_rows(measured)

    def show(self, engine: Engine, request: Request, measured: Measured) -> None:
        """What the tables say of themselves, and which groups the combinations consist of."""
        assert isinstance(measured, MeasuredProjections)
        found = _projections(request)
        query = exp.select("*").from_(measured.combinations.table())
        engine.create_table(combinations_name(request.release_id), query)
        target = request.target
        for part, name, storage in zip(found.parts, _part_names(request), _storages(request), strict=True):
            if target.is_view:
                _show_part(engine, name, storage, request.release_id, request.name)
            else:
                engine.comment(name, target.kind, _comment(request.release_id, request.name))
            notes = {column: text for column, text in request.plan.notes.items() if column in part.columns}
            engine.comment_columns(name, target.kind, notes)
        if target.is_view:  # last: what it lists is there
            engine.create_view(target.name, exp.select("*").from_(target.storage.table()), replace=True)

    def let_read(self, engine: Engine, request: Request, readers: Sequence[str]) -> None:
        for name in _part_names(request) if readers else ():
            engine.grant_select(name, readers)

    def complete_manifest(self, content: Manifest, measured: Measured) -> Manifest:
        assert isinstance(measured, MeasuredProjections)
        return replace(content, projections=measured.projections)

    # -- a release that is there -------------------------------------------------------------------

    def verify(self, engine: Engine, record: ReleaseRecord) -> Verified:
        return reverify_projections(engine, record)

    def export_files(self, path: str, options: Mapping[str, Any], out: Path) -> list[Path]:
        return part_files(path, options, out)

    def export(
        self,
        engine: Engine,
        record: ReleaseRecord,
        path: str,
        options: Mapping[str, Any],
        *,
        out: Path,
        progress: Progress,
    ) -> Exported:
        return export_parts(engine, record, path, options, out=out, progress=progress)

    def certificate_text(self, engine: Engine, record: ReleaseRecord, file: str) -> str | None:
        return parts_certificate_today(engine, record, file)

    def published_columns(self, record: ReleaseRecord) -> Mapping[str, str]:
        return {name: declared for part in _parts_record(record).parts for name, declared in part.columns.items()}

    def clear_behind(self, engine: Engine, record: ReleaseRecord) -> None:
        """The tables that are still those of this release: a new one may have taken their names by now."""
        _drop_parts(engine, record)
        for number in range(1, len(_tables_of(record)) + 1) if record.storage else ():
            engine.drop_table(part_name(Name(SCHEMA, str(record.storage)), number))
        super().clear_behind(engine, record)

    # -- words -------------------------------------------------------------------------------------

    def title(self, record: ReleaseRecord) -> str:
        return "parts"

    def ways_to_read(self, record: ReleaseRecord, query: str) -> str:
        found = _parts_record(record)
        tables = ", ".join(str(name) for name in _tables_of(record))
        return f"the columns are in {tables}, which share {found.target} alone; {record.name} lists them"

    def content_text(self, record: ReleaseRecord) -> str:
        found = _parts_record(record)
        rows, parts = many(int(record.rows or 0), "row"), many(len(found.parts), "part")
        return f"{rows} in each of {parts}: parts = {found.written}"


def _preview(engine: Engine, request: Request, progress: Progress) -> Measured:
    _refuse_foreign(engine, request)
    return preview_projections(engine, request, progress)


def _parts_record(record: ReleaseRecord) -> ProjectionsRecord:
    assert record.manifest.projections is not None
    return record.manifest.projections


def _exact_word(name: str) -> PlacedWord:
    word = PlacedWord(name)
    word.quoted = True
    return word


def _projections(request: Request) -> Projections:
    assert request.plan.projections is not None
    return request.plan.projections


def _part_names(request: Request) -> list[Name]:
    return [part_name(request.name, number) for number in range(1, len(_projections(request).parts) + 1)]


def _storages(request: Request) -> list[Name]:
    """Where the rows of the parts are: in their own tables, or without transactions in tables behind views."""
    return [part_name(request.target.storage, number) for number in range(1, len(_projections(request).parts) + 1)]


def _drop_parts(engine: Engine, record: ReleaseRecord | None) -> None:
    for name in _tables_of(record):
        if _is_part_of(engine, name, record):
            drop = engine.drop_view if engine.relation_kind(name) == "view" else engine.drop_table
            drop(name)


def _show_part(engine: Engine, name: Name, storage: Name, release_id: str, release: Name) -> None:
    engine.create_view(name, exp.select("*").from_(storage.table()), replace=True)
    engine.comment(name, "view", _comment(release_id, release))


def _comment(release_id: str, release: Name) -> str:
    return f"ppdm_sql release {release_id}, {_part_of(release)}"


def _part_of(name: Name) -> str:
    return f"part of {name.last}"


def _tables_of(record: ReleaseRecord | None) -> list[Name]:
    """The tables of the parts of a release; none of a release of another kind."""
    if record is None or record.is_damaged or record.manifest.projections is None:
        return []
    return [Name(*record.name.parts[:-1], part.table) for part in record.manifest.projections.parts]


def _is_part_of(engine: Engine, name: Name, record: ReleaseRecord | None) -> bool:
    return record is not None and record.release_id in (engine.comment_on(name) or "")


def _refuse_foreign(engine: Engine, request: Request) -> None:
    """A part replaces nothing but the same part of the release before."""
    ours = {name.last for name in _tables_of(request.former) if _is_part_of(engine, name, request.former)}
    for name in _part_names(request):
        if not engine.has_transactions and (engine.comment_on(name) or "").endswith(_part_of(request.name)):
            continue  # of a run that was killed between two parts
        if engine.relation_kind(name) is not None and name.last not in ours:
            raise _refusal(
                request.statement,
                f'"{name}" already exists and is not a part of this release, so it will not be replaced: choose '
                "another name for the release",
            )


def _refusal(statement: Publish, message: str) -> PolicyError:
    place = statement.place
    return PolicyError(Mistake(message, place.line, place.column), file=place.file)


__all__ = ["KIND", "ProjectedRelease", "part_name", "parts_text"]
KIND = ProjectedRelease()
