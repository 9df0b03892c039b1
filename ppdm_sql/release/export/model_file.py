"""A released model later on: is it still the one that was published, and the files a recipient gets.

A recipient gets <name>.json (the exchange file), <name>.json.sql (a table and a predictor for a bare DuckDB, named
after the file, so that the files of two sources whose models have one name can be read side by side),
<name>.json.manifest.json, <name>.json.certificate.sql and <name>.json.audit.sql (see model_certificate.py).  What a
model promises about groups of people cannot be counted again without the people, so verifying it means that the file
is, to the byte, the one that was measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ppdm_sql.catalog.manifest import ROWLESS_FORMAT, ExportRecord
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.catalog.store import sha256_of
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError, Tampered
from ppdm_sql.planning.joint import shown_name
from ppdm_sql.policy.options import read_options
from ppdm_sql.policy.stored_requirements import requirements
from ppdm_sql.release.export.model_certificate import model_audit, model_certificate
from ppdm_sql.release.export.write import (
    NoOptions,
    certificate_path,
    manifest_path,
    note_export,
    private_folder,
    put_in_place,
    read_place,
    refuse_foreign,
    write_private,
)
from ppdm_sql.release.model import problems_of, stored_text
from ppdm_sql.release.note_verdict import note_verdict
from ppdm_sql.release.results import Exported, Verified
from ppdm_sql.trees.script import as_script
from ppdm_sql.trees.tree_json import read_tree


def reverify_model(engine: Engine, record: ReleaseRecord) -> Verified:
    """Whether the stored model is the published one; its figures stand while it is."""
    problems = problems_of(engine, record)
    outcome = Verified(
        shown_name(record),
        record.manifest.findings,
        tuple(problems),
        int(record.rows or 0),
        int(record.classes or 0),
        measured="measured when it was published",
    )
    return note_verdict(engine, record, outcome)


def export_model(
    engine: Engine, record: ReleaseRecord, path: str, options: Mapping[str, Any], *, out: Path
) -> Exported:
    """Writes the model's files, or leaves everything as it was."""
    target = read_model_place(path, options, out)
    beside = [place(target) for place in (manifest_path, script_path, certificate_path, audit_path)]
    refuse_foreign(engine, record, [target, *beside])
    problems = problems_of(engine, record)
    text = None if problems else stored_text(engine, record)
    if text is None:
        raise Tampered(f"{record.name}: {'; '.join(problems)}; nothing was exported")
    tree, _ = read_tree(text)
    asked = requirements(record.requirements)
    proof = model_certificate(record, tree, asked, file=target.name, sha256=sha256_of(text))
    companions = {
        script_path(target): as_script(tree, target.stem, script_path(target).name),
        certificate_path(target): proof,
        audit_path(target): model_audit(engine, record, tree, asked),
    }
    export = ExportRecord(
        file=target.name,
        format=ROWLESS_FORMAT,
        sha256=sha256_of(text),
        companions={file.name.removeprefix(target.name): sha256_of(what) for file, what in companions.items()},
    )
    content = replace(record.manifest, export=export)
    files = {target: text, manifest_path(target): content.to_text(), **companions}
    with private_folder(target) as work:
        for file, what in files.items():
            write_private(work / file.name, what)
        put_in_place(
            work,
            list(files),
            release_id=record.release_id,
            first=lambda: note_export(engine, record, target),
        )
    return Exported(
        name=shown_name(record),
        path=str(target),
        manifest=str(manifest_path(target)),
        certificate=str(certificate_path(target)),
        rows=int(record.rows or 0),
        bytes=target.stat().st_size,
        sha256=sha256_of(text),
        script=str(script_path(target)),
        audit=str(audit_path(target)),
    )


def read_model_place(path: str, options: Mapping[str, Any], out: Path) -> Path:
    """The file that is meant, below the folder exports may go to; a model has one format and no options."""
    read_options(NoOptions, options, "EXPORT of a model")
    target = read_place(path, out)
    if target.suffix != ".json":
        raise PolicyError("EXPORT writes a model as a .json file: use a name that ends in .json")
    return target


def script_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.sql")


def audit_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.audit.sql")
