"""Typed records of a release for tests, with what a test says and plain values for the rest."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from ppdm_sql.catalog.manifest import (
    FORMAT,
    FindingRecord,
    IdentityRecord,
    MakerRecord,
    Manifest,
    PolicyRecord,
    RolesRecord,
)
from ppdm_sql.engines.base import Kind

ONE_TABLE = SimpleNamespace(projections=None)  # the manifest of a release that is not several tables
ROLES = RolesRecord(
    source_columns={"age": "INTEGER", "zip": "TEXT", "diagnosis": "TEXT"},
    identifiers=(),
    quasi=("age", "zip"),
    sensitive={"diagnosis": Kind.TEXT},
    levels={"diagnosis": None},
    target=None,
    insensitive=(),
    entity=None,
    file=None,
)
MANIFEST = Manifest(
    format=FORMAT,
    release=IdentityRecord("0", "patients_open", "2026-01-01T00:00:00Z"),
    policy=PolicyRecord(
        algorithm="kactus2",
        options={"swap_threshold": 0},
        requirements=("k = 10",),
        quasi_identifiers=("age", "zip"),
        sensitive=("diagnosis",),
        target=None,
        insensitive=(),
        counts_entities=False,
        accepted_risks=(),
        seed=7,
    ),
    columns={"age": "TEXT", "zip": "TEXT", "diagnosis": "TEXT"},
    rows=1200,
    classes=40,
    suppressed_rows=3,
    k_when_null_matches_all=12,
    figures={},
    findings=(FindingRecord("k = 10", None, "12", True, 0, 0, "0" * 64),),
    joint=(),
    residual_risks={},
    content_hash="c0ffee",
    made_by=MakerRecord("0.1.0", "DuckDB"),
)


def roles_record(**changes: Any) -> RolesRecord:
    return replace(ROLES, **changes)


def manifest_record(**changes: Any) -> Manifest:
    return replace(MANIFEST, **changes)
