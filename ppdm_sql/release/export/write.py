"""A release handed over: a new file that holds the published rows and nothing else.

A database file has no wall inside it, and a dropped table stays readable in its bytes; so a recipient
never gets the file that held the source.  The rows are written into a fresh file in a private folder,
read back from there and measured again, and only then the file gets its name.  Next to it lie
<file>.manifest.json, <file>.certificate.sql with which the recipient re-derives the guarantees, and where the method
can say it <file>.recode.sql, which gives the recipient's own rows the labels of the release.

The ledger is written before the file gets its name: whatever happens in between, it may know of a copy
that nobody has, and never misses one that a recipient has.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sqlglot import exp

from ppdm_sql.catalog import ledger, releases
from ppdm_sql.catalog.manifest import UNFINISHED, ExportRecord, manifest_text
from ppdm_sql.catalog.recodings import find_recoding
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.catalog.store import sha256_of
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import DatabaseUnavailable, OptionError, PolicyError, RequirementBreached, Tampered
from ppdm_sql.json_reader import read_json
from ppdm_sql.planning.joint import shown_name
from ppdm_sql.planning.staging import published_query
from ppdm_sql.policy.options import Choice, Switch, read_options
from ppdm_sql.release.export import writers
from ppdm_sql.release.export.recode import recode_postgres_text, recode_text
from ppdm_sql.release.export.recode_rules import RecodeRules
from ppdm_sql.release.kinds.registry import kind_of
from ppdm_sql.release.ledger_lock import still_current
from ppdm_sql.release.readers import note_readers
from ppdm_sql.release.results import Exported
from ppdm_sql.release.reverify import content_problems, judged_file
from ppdm_sql.statements.handed_over import has_control
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.watching import Progress

if TYPE_CHECKING:
    import pyarrow as pa

STORAGE_VERSIONS = ("v1.0.0", "v1.1.0", "v1.2.0", "v1.3.0", "v1.4.0", "v1.5.0", "v2.0.0")  # of DuckDB files
FORMATS = {".duckdb": "duckdb", ".parquet": "parquet", ".csv": "csv"}
_WORK = ".ppdm_tmp-"
_LONGEST = 200
_PATTERN = "*?["
RECODES = (".recode.sql", ".recode_postgres.sql")
COMPANIONS = (
    ".certificate.sql",
    ".sql",
    ".audit.sql",
    *RECODES,
)  # what is hashed in the manifest, by the end of its name


@dataclass(frozen=True)
class ExportOptions:
    format: Annotated[str | None, Choice(*FORMATS.values())] = None  # None: by the name of the file
    spreadsheet_safe: Annotated[bool, Switch()] = False
    storage_version: Annotated[str | None, Choice(*STORAGE_VERSIONS)] = None  # None: that of this DuckDB


@dataclass(frozen=True)
class NoOptions:
    """Of the file of a model, which has one format."""


@dataclass(frozen=True)
class Order:
    """What was asked for, checked."""

    path: Path
    format: str
    spreadsheet_safe: bool = False
    storage_version: str | None = None


def check_recordable(engine: Engine) -> None:
    """What the ledger does not know is left out when the next release is judged together with the others."""
    engine.check_writable("the export must be recorded in it, so nothing was exported")


def export(
    engine: Engine,
    record: ReleaseRecord,
    path: str,
    options: Mapping[str, Any],
    *,
    out: Path,
    progress: Progress,
    rows: Name | None = None,
) -> Exported:
    """Writes a release into a new file, or leaves everything as it was.

    rows: the working table with what a live release shows now, which its record describes.
    """
    order = read_order(path, options, out)
    beside = [manifest_path(order.path), certificate_path(order.path)]
    refuse_foreign(engine, record, [order.path, *beside, *recode_paths(order.path)])
    problems = content_problems(engine, record) if rows is None else []
    if problems:
        raise Tampered(f"{record.name}: {'; '.join(problems)}; nothing was exported")
    progress("exporting", 0, record.rows)
    with private_folder(order.path) as work:
        built = work / order.path.name
        batches = _rows(engine, record, order, rows or record.name)
        writers.write(
            order.format,
            built,
            record.relation_name,
            batches,
            comment=kind_of(record).comment(record),
            notes=record.manifest.column_notes,
            storage_version=order.storage_version,
        )
        done = _describe(engine, record, order, built)
        put_in_place(
            work,
            [order.path, *beside, *map(Path, done.recodes)],
            release_id=record.release_id,
            first=lambda: note_export(engine, record, order.path),
        )
        for left in {*recode_paths(order.path)} - {*map(Path, done.recodes)}:
            left.unlink(missing_ok=True)  # of an earlier release
    progress("done", 1, 1)
    return done


def read_order(path: str, options: Mapping[str, Any], out: Path) -> Order:
    """The target file, below the folder exports may go to, and its format."""
    chosen = read_options(ExportOptions, options, "EXPORT")
    target = read_place(path, out)
    wanted = chosen.format or FORMATS.get(target.suffix)
    if wanted is None:
        *others, last = FORMATS
        raise PolicyError(f"unknown file type: use {', '.join(others)} or {last}, or add WITH (format = ...)")
    if chosen.spreadsheet_safe and wanted != "csv":
        raise OptionError("spreadsheet_safe", "spreadsheet_safe of EXPORT is for CSV files only")
    if chosen.storage_version and wanted != "duckdb":
        raise OptionError("storage_version", "storage_version of EXPORT is for DuckDB files only")
    return Order(target, wanted, chosen.spreadsheet_safe, chosen.storage_version)


def read_place(path: str, out: Path, what: str = "EXPORT TO") -> Path:
    """The file that is meant, below the folder exports may go to."""
    if not path.strip() or len(Path(path).name) > _LONGEST:
        raise PolicyError(f"{what} needs a file name of at most 200 characters")
    if has_control(path):
        raise PolicyError(f"{what}: a file name cannot contain line breaks or other control characters")
    if any(sign in Path(path).name for sign in _PATTERN):
        raise PolicyError(f"{what}: a file name cannot contain {' '.join(_PATTERN)}, which readers take for a pattern")
    base = out.resolve()
    target = (base / path).resolve()
    if not target.is_relative_to(base) or target == base:
        raise PolicyError(
            f"{what} must be in the output folder: name a file there, or choose another folder with --out"
        )
    with mapped_errors(target):
        if not target.parent.is_dir():
            raise PolicyError(f"{what}: folder {Path(path).parent} does not exist")
    return target


def refuse_foreign(engine: Engine, record: ReleaseRecord, files: Sequence[Path]) -> None:
    """Overwrites an earlier export of the same release from the same database, and nothing else.

    files: the one that is to be written, and those next to it.  Another database can have a release of the same name,
    so it is the id in the manifest that says whose they are.
    """
    with mapped_errors(files[0]):
        there = [file for file in files if os.path.lexists(file)]
        if not there:
            return
        ours = {one.release_id for one in releases.history(engine, record.name)} | {record.release_id}
        if all(file.is_file() for file in there) and _release_id(manifest_path(files[0])) in ours:
            return
    raise PolicyError(
        f"{there[0].name} already exists and is not an export of this release, so it will not be overwritten: choose "
        "another file name (with share publish: --as)"
    )


def _release_id(beside: Path) -> str | None:
    """The id of the release that a manifest speaks of; None when there is none, or it is something else."""
    with contextlib.suppress(FileNotFoundError, PolicyError, KeyError, TypeError):
        return str(read_json(beside.read_bytes(), beside.name)["release"]["id"])
    return None


def manifest_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.manifest.json")


def certificate_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.certificate.sql")


def recode_paths(path: Path) -> list[Path]:
    return [path.with_name(f"{path.name}{end}") for end in RECODES]


# -- rows --------------------------------------------------------------------------------------------------


def _rows(engine: Engine, record: ReleaseRecord, order: Order, relation: Name) -> Iterator[pa.RecordBatch]:
    """The published rows in keyed-hash order; as text for CSV, so that the file says what the database says."""
    names = list(record.columns)
    query = published_query(engine, relation, names, record.seed)
    if order.format == "csv":
        query.set("expressions", csv_rows(names, order))
    else:  # no file has the engine's own ranges: they are written as it prints them
        for place, (name, declared) in enumerate(record.columns.items()):
            if engine.ranges is not None and engine.ranges.has_type(str(declared)):
                query.expressions[place].replace(aliased(exp.cast(column(name, "s"), "TEXT"), name))
    return engine.batches(query)


def csv_rows(names: Sequence[str], order: Order) -> list[exp.Expr]:
    """The columns of the alias "s" as the texts of a CSV file."""
    return [aliased(_csv_text(name, order), name) for name in names]


def _csv_text(name: str, order: Order) -> exp.Expr:
    text: exp.Expr = exp.cast(column(name, "s"), "TEXT")
    if not order.spreadsheet_safe:
        return text
    # A cell that starts like a formula would be computed by a spreadsheet: an apostrophe makes it text.
    first = exp.Substring(this=text.copy(), start=exp.Literal.number(1), length=exp.Literal.number(1))
    formula = exp.In(this=first, expressions=[exp.Literal.string(sign) for sign in ("=", "+", "-", "@", "\t", "\r")])
    return exp.Case().when(formula, exp.DPipe(this=exp.Literal.string("'"), expression=text.copy())).else_(text)


# -- describing and placing ----------------------------------------------------------------------------------


def _describe(engine: Engine, record: ReleaseRecord, order: Order, built: Path) -> Exported:
    """Measures the file as a recipient will, and writes what goes with it."""
    digest = file_sha256(built)
    judged = judged_file(built, order.format, record.relation_name, record.manifest, record.roles.levels)
    if judged.rows != record.rows or not all(finding.holds for finding in judged.findings):
        raise RequirementBreached(
            f"{record.name}: the written file does not meet the requirements; nothing was exported"
        )
    if _same_text(record, order) and judged.content_hash != record.content_hash:
        raise Tampered(f"{record.name}: the written file does not contain the released rows; nothing was exported")
    if judged.different_trees and not order.spreadsheet_safe:
        raise Tampered(f"{record.name}: the written file does not preserve the trees; nothing was exported")
    recodes = _recode_texts(engine, record)
    written = ExportRecord(
        file=order.path.name,
        format=order.format,
        table=record.relation_name,
        spreadsheet_safe=order.spreadsheet_safe,
        rows=judged.rows,
        sha256=digest,
        content_hash=judged.content_hash,
        companions={
            COMPANIONS[0]: sha256_of(judged.certificate),
            **{end: sha256_of(text) for end, text in recodes.items()},
        },
    )
    write_private(manifest_path(built), replace(record.manifest, export=written).to_text())
    write_private(certificate_path(built), judged.certificate)
    for end, text in recodes.items():
        write_private(built.with_name(f"{built.name}{end}"), text)
    return Exported(
        name=shown_name(record),
        path=str(order.path),
        manifest=str(manifest_path(order.path)),
        certificate=str(certificate_path(order.path)),
        rows=judged.rows,
        bytes=built.stat().st_size,
        sha256=digest,
        recodes=tuple(str(order.path.with_name(f"{order.path.name}{end}")) for end in recodes),
    )


def _recode_texts(engine: Engine, record: ReleaseRecord) -> dict[str, str]:
    """By the end of a file's name what gives other rows the labels of the release; empty where nothing can."""
    found = find_recoding(engine, record)
    if found is None:
        return {}
    rules = RecodeRules.from_json(found)
    texts = (recode_text, recode_postgres_text)
    return {end: write(record.manifest, rules, record.relation_name) for end, write in zip(RECODES, texts, strict=True)}


def _same_text(record: ReleaseRecord, order: Order) -> bool:
    """Whether every engine prints the columns alike; floats and moments may differ in form, not in value."""
    shown = " ".join(str(declared).upper() for declared in record.columns.values())
    return not order.spreadsheet_safe and not any(word in shown for word in ("FLOAT", "DOUBLE", "REAL", "TIMESTAMP"))


def file_sha256(path: Path) -> str:
    """The hash of a file, or of the names and hashes of the files in a folder."""
    if path.is_dir():
        return sha256_of("\n".join(f"{file.name} {file_sha256(file)}" for file in sorted(path.iterdir())))
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


@contextlib.contextmanager
def private_folder(path: Path) -> Iterator[Path]:
    """A folder next to the target, mode 0700, on the same disk, so that the last step is a rename."""
    with mapped_errors(path):
        _sweep(path.parent)
        work = path.parent / f"{_WORK}{os.getpid()}"
        work.mkdir(mode=0o700)
        try:
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _sweep(folder: Path) -> None:
    """Removes what killed exports left in a folder."""
    for left in folder.glob(f"{_WORK}*"):
        pid = left.name.removeprefix(_WORK)
        if pid.isdigit() and not (Path("/proc") / pid).exists():
            shutil.rmtree(left, ignore_errors=True)


def write_private(path: Path, text: str, *, replace: bool = False) -> None:
    """A text as a file that its owner alone can read, from the first moment on; replace: a file that is there."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if replace else os.O_EXCL), 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def put_in_place(
    work: Path, names: Sequence[Path], *, release_id: str | None = None, first: Callable[[], None] | None = None
) -> None:
    """Gives the files of a private folder their names: the file itself, its manifest, what else belongs to it.

    The manifest comes last.  Until then one that says "unfinished" stands in its place: a crash leaves files that the
    next export of the release knows as its own, and that nobody takes for a complete export.
    release_id: of the export; a file without a manifest needs none.
    first: what is done when all is on the disk and nothing has its name yet.
    """
    for file in (one for name in names for one in _files_in(work / name.name)):
        with file.open("rb") as handle:
            os.fchmod(handle.fileno(), 0o600)  # engines write with the modes of the process
            os.fsync(handle.fileno())
    if first is not None:
        first()
    file, *manifests = names[:2]
    for beside in manifests:
        _announce_files(work, beside, release_id)
    for moved in (file, *names[2:], *manifests):
        os.replace(work / moved.name, moved)
    _sync(file.parent)


def _files_in(path: Path) -> list[Path]:
    return sorted(path.iterdir()) if path.is_dir() else [path]


def _announce_files(work: Path, beside: Path, release_id: str | None) -> None:
    """Says whose the files are that are about to get their names."""
    unfinished = work / f"{beside.name}.unfinished"
    write_private(unfinished, manifest_text({"format": UNFINISHED, "release": {"id": release_id}}))
    _sync(unfinished)
    os.replace(unfinished, beside)
    _sync(beside.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def mapped_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as cause:
        raise DatabaseUnavailable(f"{path} cannot be written: {cause.strerror or type(cause).__name__}") from cause


def note_export(engine: Engine, record: ReleaseRecord, path: Path) -> None:
    check_recordable(engine)
    with ledger.lock_ledger(engine):
        ledger.refuse_edited(engine, "exported")
        still_current(engine, record)
        note_readers(engine, record)
        releases.add_event(engine, record.release_id, "exported", path.name)
        for one in kind_of(record).originals(engine, record):
            detail = f"as pseudo-data {shown_name(record)}: {path.name}"
            releases.add_event(engine, one.release_id, "exported", detail)
