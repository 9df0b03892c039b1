"""A parted release handed over: one DuckDB file with all its tables, or a new folder with a file for each.

As any export the files are written privately, read back and measured, recorded, and then get their names.  The manifest
and the certificate lie next to the file or folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlglot import exp

from ppdm_sql.catalog.manifest import ExportRecord, Manifest, ProjectionsRecord
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.catalog.store import sha256_of
from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.engines.duckdb_files import attachment
from ppdm_sql.errors import PolicyError, PpdmError, RequirementBreached, Tampered
from ppdm_sql.planning.joint import shown_name
from ppdm_sql.planning.manifest import finding_records
from ppdm_sql.planning.measure_projections import merge_findings, whole_hash
from ppdm_sql.planning.staging import public_columns
from ppdm_sql.policy.stored_requirements import requirements
from ppdm_sql.release.export import writers
from ppdm_sql.release.export.certificate import content_proof, proof, sql_of
from ppdm_sql.release.export.certificate_today import load_empty
from ppdm_sql.release.export.open_file import DATABASE, attach_release, release_query
from ppdm_sql.release.export.write import (
    COMPANIONS,
    Order,
    certificate_path,
    csv_rows,
    file_sha256,
    manifest_path,
    note_export,
    private_folder,
    put_in_place,
    read_order,
    refuse_foreign,
    write_private,
)
from ppdm_sql.release.results import Exported, Verified
from ppdm_sql.release.reverify import changed_companions, sensitive_columns
from ppdm_sql.release.reverify_projections import judge_tables, projection_problems
from ppdm_sql.requirements import About
from ppdm_sql.statements.handed_over import comment
from ppdm_sql.statements.names import Name, column, stand_in
from ppdm_sql.statements.rowtext import hash_numbers
from ppdm_sql.verify.content import content_hash
from ppdm_sql.verify.projections import StoredPart
from ppdm_sql.verify.relation import Finding, measuring_statements
from ppdm_sql.watching import Progress

_VIEW = "part_"


def part_files(path: str, options: Mapping[str, Any], out: Path) -> list[Path]:
    """The file or folder an export would write, and what goes with it."""
    file = read_order(path, options, out).path
    return [file, manifest_path(file), certificate_path(file)]


def export_parts(
    engine: Engine, record: ReleaseRecord, path: str, options: Mapping[str, Any], *, out: Path, progress: Progress
) -> Exported:
    """Writes all tables, measured there, or leaves everything as it was."""
    order = read_order(path, options, out)
    found = _projections(record.manifest)
    beside = [manifest_path(order.path), certificate_path(order.path)]
    if order.format != "duckdb" and order.path.exists():
        raise PolicyError(
            f"{order.path.name} already exists: the parts of a release go into a new folder; choose another name"
        )
    refuse_foreign(engine, record, [order.path, *beside])
    problems = projection_problems(engine, record)
    if problems:
        raise Tampered(f"{record.name}: {'; '.join(problems)}; nothing was exported")
    progress("exporting", 0, record.rows)
    with private_folder(order.path) as work:
        built = work / order.path.name
        _write(engine, record, order, built, found)
        done = _describe(engine, record, order, built, found)
        put_in_place(
            work, [order.path, *beside], release_id=record.release_id,
            first=lambda: note_export(engine, record, order.path),
        )  # fmt: skip
    progress("done", 1, 1)
    return done


def _projections(content: Manifest) -> ProjectionsRecord:
    assert content.projections is not None
    return content.projections


def _tables(content: Manifest, listed: str) -> dict[str, Mapping[str, str]]:
    """Every table of the release, the list first, with its columns."""
    return {listed: content.columns, **{part.table: part.columns for part in _projections(content).parts}}


def _file(built: Path, form: str, table: str) -> Path:
    return built if form == "duckdb" else built / f"{table}.{form}"


# -- writing -------------------------------------------------------------------------------------------------


def _write(engine: Engine, record: ReleaseRecord, order: Order, built: Path, found: ProjectionsRecord) -> None:
    if order.format != "duckdb":
        built.mkdir(mode=0o700)
    for table, columns in _tables(record.manifest, record.relation_name).items():
        query = _rows_of_table(
            engine, record, Name(*record.name.parts[:-1], table), columns, table == record.relation_name
        )
        if order.format == "csv":
            query.set("expressions", csv_rows(list(columns), order))
        writers.write(
            order.format, _file(built, order.format, table), table, engine.batches(query),
            notes=None, storage_version=order.storage_version,
        )  # fmt: skip


def _rows_of_table(
    engine: Engine, record: ReleaseRecord, name: Name, columns: Mapping[str, str], is_list: bool
) -> exp.Select:
    """Rows in the order of a hash of the columns of their own table; the list in its own order."""
    query = public_columns(name, list(columns))
    if is_list:
        return query.order_by(*(column(one, "s") for one in columns))
    return query.order_by(*hash_numbers(engine, [column(one, "s") for one in columns], salt=str(record.seed)))


def _describe(engine: Engine, record: ReleaseRecord, order: Order, built: Path, found: ProjectionsRecord) -> Exported:
    """Measures the files as a recipient will, and writes what goes with them."""
    judged = _judge_files(built, order.format, record.relation_name, record.manifest)
    broken = [finding for finding in judged.findings if not finding.holds]
    if judged.rows != record.rows or broken:
        raise RequirementBreached(
            f"{record.name}: the written files do not meet the requirements; nothing was exported"
        )
    if not order.spreadsheet_safe and _prints_alike(record) and judged.hashes != _hashes(found):
        raise Tampered(f"{record.name}: the written files do not contain the released rows; nothing was exported")
    with _open_tables(built, order.format, record.relation_name, record.manifest) as (opened, views):
        proofs = _certificate(opened, views[1:], order, record.manifest)
    digest = file_sha256(built)
    written = ExportRecord(
        file=order.path.name, format=order.format, table=record.relation_name, spreadsheet_safe=order.spreadsheet_safe,
        rows=judged.rows, sha256=digest, content_hash=judged.whole, companions={COMPANIONS[0]: sha256_of(proofs)},
    )  # fmt: skip
    write_private(manifest_path(built), replace(record.manifest, export=written).to_text())
    write_private(certificate_path(built), proofs)
    files = [built] if built.is_file() else sorted(built.iterdir())
    return Exported(
        name=shown_name(record), path=str(order.path), manifest=str(manifest_path(order.path)),
        certificate=str(certificate_path(order.path)), rows=judged.rows,
        bytes=sum(file.stat().st_size for file in files), sha256=digest,
    )  # fmt: skip


def _hashes(found: ProjectionsRecord) -> list[str]:
    return [part.content_hash for part in found.parts]


def _prints_alike(record: ReleaseRecord) -> bool:
    found = _projections(record.manifest)
    shown = " ".join(declared.upper() for part in found.parts for declared in part.columns.values())
    return not any(word in shown for word in ("FLOAT", "DOUBLE", "REAL", "TIMESTAMP"))


# -- reading back --------------------------------------------------------------------------------------------


class _JudgedParts:
    """The tables of an export as a recipient can measure them: k of each, and what is required of its values."""

    def __init__(self, findings: Sequence[Finding], rows: int, classes: int, listed: str, hashes: list[str]) -> None:
        self.findings, self.rows, self.classes, self.hashes = findings, rows, classes, hashes
        self.whole = whole_hash(listed, hashes)


@contextmanager
def _open_tables(built: Path, form: str, table: str, content: Manifest) -> Iterator[tuple[DuckDBEngine, list[Name]]]:
    """The tables as temporary views in a locked-down DuckDB, the list first."""
    folder = built.parent if form == "duckdb" else built
    with closing(DuckDBEngine.open(":memory:", allow=[str(folder)])) as engine:
        if form == "duckdb":
            attach_release(engine, built, list(_tables(content, table)))
        views = []
        for number, (name, columns) in enumerate(_tables(content, table).items()):
            view = stand_in(f"{_VIEW}{number}")
            engine.view_of_text(view, release_query(str(_file(built, form, name)), form, name, columns).sql("duckdb"))
            views.append(view)
        yield engine, views


def _judge_files(built: Path, form: str, table: str, content: Manifest) -> _JudgedParts:
    found, policy = _projections(content), content.policy
    with _open_tables(built, form, table, content) as (engine, views):
        kinds: dict[str, Kind] = {}
        for view in views[1:]:
            kinds |= {info.name: info.kind for info in engine.columns(view) if info.name in policy.sensitive}
        parts = _view_parts(found, views[1:])
        every, rows, classes = judge_tables(
            engine, parts, found.target, requirements(policy.requirements), kinds, policy.null_value_columns
        )
        hashes = [content_hash(engine, part.table, (*part.columns, found.target)) for part in parts]
        listed = content_hash(engine, views[0], list(content.columns))
        return _JudgedParts(merge_findings(every), rows, classes, listed, hashes)


def _view_parts(found: ProjectionsRecord, views: Sequence[Name]) -> list[StoredPart]:
    return [
        StoredPart(view, tuple(name for name in part.columns if name != found.target), part.quasi_identifiers)
        for part, view in zip(found.parts, views, strict=True)
    ]


def reverify_parts_file(file: Path, content: Manifest) -> Verified:
    """Re-measures exported tables against their manifest."""
    export = content.export
    assert export is not None
    problems = changed_companions(file, export)
    if file_sha256(file) != export.sha256:
        problems.append("the files differ from what was exported")
    try:
        judged = _judge_files(file, export.format, str(export.table), content)
    except PpdmError as error:  # a file that is none, or has other columns
        return Verified(file.name, (), (*problems, str(error)), 0, 0)
    if judged.whole != export.content_hash:
        problems.append("the rows differ from what was exported")
    if judged.rows != content.rows:
        problems.append("the number of rows differs from the manifest")
    found = _projections(content)
    note = (
        f"k was measured on each table; what joining them gives (rejoin = {found.rejoin}) was measured when it was "
        "published"
    )
    return Verified(file.name, finding_records(judged.findings), tuple(problems), judged.rows, judged.classes, (note,))


# -- the certificate -----------------------------------------------------------------------------------------


def _certificate(engine: Engine, views: Sequence[Name], order: Order, content: Manifest) -> str:
    """Plain SQL with which a recipient measures every table again, with a bare DuckDB; views: as opened here."""
    found, file = _projections(content), order.path.name
    texts = [_head(content, found, order)]
    if order.format == "duckdb":
        texts.append(sql_of(attachment(file, DATABASE)))
    for part, stored in zip(found.parts, _view_parts(found, views), strict=True):
        place = file if order.format == "duckdb" else f"{file}/{part.table}.{order.format}"
        query = release_query(place, order.format, part.table, part.columns)
        texts.append(comment([f"table {part.table}: {', '.join(part.columns)}"]) + "\n" + _view(stored.table, query))
        texts += _proofs(engine, content, stored)
        texts.append(content_proof(engine, list(part.columns), stored.table))
    return "\n\n".join(texts) + "\n"


def _view(name: Name, query: exp.Select) -> str:
    made = exp.Properties(expressions=[exp.TemporaryProperty()])
    return sql_of(exp.Create(this=name.table(), kind="VIEW", replace=True, properties=made, expression=query))


def _proofs(engine: Engine, content: Manifest, part: StoredPart) -> Iterator[str]:
    """What is required of one table."""
    policy, asked = content.policy, requirements(content.policy.requirements)
    kinds = {info.name: info.kind for info in engine.columns(part.table) if info.name in policy.sensitive}
    sensitive = sensitive_columns(kinds, {}, policy.null_value_columns)
    wanted = [item for item in asked if item.about is About.SIZE and part.quasi]
    wanted += [item for item in asked if item.about is About.VALUES and sensitive]
    for item, name, query, params in measuring_statements(
        engine, part.table, quasi=part.quasi, sensitive=sensitive, requirements=wanted
    ):
        yield proof(engine, str(item), name, query, params, not item.decided_in_sql)


def parts_certificate_today(engine: Engine, record: ReleaseRecord, file: str) -> str | None:
    """The same of a release as it stands."""
    found = _projections(record.manifest)
    with closing(DuckDBEngine.open(":memory:")) as empty:
        views = [stand_in(f"{_VIEW}{number}") for number in range(1, len(found.parts) + 1)]
        for part, view in zip(found.parts, views, strict=True):
            if not load_empty(engine, Name(*record.name.parts[:-1], part.table), part.columns, empty, view):
                return None
        return _certificate(empty, views, Order(Path(file), "duckdb"), record.manifest)


def _head(content: Manifest, found: ProjectionsRecord, order: Order) -> str:
    lines = [
        f"Certificate of release {content.release.name} ({content.release.id}): {len(found.parts)} tables",
        f"    duckdb < {order.path.name}.certificate.sql        (in the folder of the file)",
        "Every row it prints must say 'holds', and each hash must equal that of its table in the manifest "
        "(projections.parts).",
        f"The tables share {found.target} alone.  Joined on it (rejoin = {found.rejoin}) the least combination had "
        f"{found.joined_smallest}, which was measured when the release was published: the tables do not say which "
        "combinations people have.",
    ]
    if content.policy.counts_entities:
        lines.append("k was measured by persons; the rows here can only show that it also holds by rows.")
    lines += [f"Not promised: {name}: {' '.join(text.split())}" for name, text in content.residual_risks.items()]
    return comment(lines)
