"""A released model later on: is it still the one that was published, and the files a recipient gets.

A recipient gets <name>.json (the exchange file), <name>.json.sql (a table and a predictor for a bare DuckDB, named
after the file, so that the files of two sources whose models have one name can be read side by side),
<name>.json.manifest.json, <name>.json.certificate.sql and <name>.json.audit.sql (see model_certificate.py).  What a
model promises about groups of people cannot be counted again without the people, so verifying it means that the file
is, to the byte, the one that was measured.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ppdm_sql.catalog import releases
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.catalog.store import sha256_of
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError, Tampered
from ppdm_sql.policy.reread import requirements
from ppdm_sql.release import manifest
from ppdm_sql.release.export import (
    certificate_path,
    manifest_path,
    note_export,
    private_folder,
    put_in_place,
    read_place,
    refuse_foreign,
)
from ppdm_sql.release.joint import shown_name
from ppdm_sql.release.model import problems_of, stored_text
from ppdm_sql.release.model_certificate import model_audit, model_certificate
from ppdm_sql.release.results import Exported, FindingShown, Verified
from ppdm_sql.trees.script import as_script
from ppdm_sql.trees.tree_json import read_tree


def recheck_model(engine: Engine, record: ReleaseRecord) -> Verified:
    """Whether the stored model is the published one; its figures stand while it is."""
    problems = problems_of(engine, record)
    found = tuple(FindingShown.of_json(item) for item in record.manifest["findings"])
    outcome = Verified(
        shown_name(record),
        found,
        tuple(problems),
        int(record.rows or 0),
        int(record.classes or 0),
        measured="measured when it was published",
    )
    if not engine.read_only:
        with engine.transaction():
            event: releases.Event = "verified" if outcome.holds else "tampered"
            releases.add_event(engine, record.release_id, event, "; ".join(problems) or None)
    return outcome


def export_model(
    engine: Engine, record: ReleaseRecord, path: str, options: Mapping[str, Any], *, out: Path
) -> Exported:
    """Writes the model's files, or leaves everything as it was."""
    if options:
        raise PolicyError(f"EXPORT of a model has no options, {', '.join(options)} is given")
    target = read_place(path, out)
    if target.suffix != ".json":
        raise PolicyError("EXPORT writes a model as a .json file: name it so")
    beside = [place(target) for place in (manifest_path, script_path, certificate_path, audit_path)]
    refuse_foreign(engine, record, [target, *beside])
    problems = problems_of(engine, record)
    text = None if problems else stored_text(engine, record)
    if text is None:
        raise Tampered(f"{record.name}: {'; '.join(problems)}; nothing was exported")
    content = dict(record.manifest)
    content["export"] = {"file": target.name, "format": "json", "sha256": sha256_of(text)}
    tree, _ = read_tree(text)
    asked = requirements(record.requirements)
    proof = model_certificate(record, tree, asked, file=target.name, sha256=sha256_of(text))
    files = {
        target: text,
        manifest_path(target): manifest.as_text(content),
        script_path(target): as_script(tree, target.stem, script_path(target).name),
        certificate_path(target): proof,
        audit_path(target): model_audit(engine, record, tree, asked),
    }
    with private_folder(target) as work:
        for file, what in files.items():
            _written(work / file.name, what)
        put_in_place(work, list(files), first=lambda: note_export(engine, record, target))
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


def script_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.sql")


def audit_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.audit.sql")


def _written(path: Path, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
