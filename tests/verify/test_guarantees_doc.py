"""The claim sheet of docs/guarantees.md names tests and statements that exist, and leaves no statement out."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")


def existing_tests():
    found = set()
    for file in Path(__file__).parent.glob("test_*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        found |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    return found


def test_every_test_of_the_claim_sheet_exists():
    named = set(re.findall(r"`(test_\w+)`", TEXT))
    assert len(named) > 20
    assert named <= existing_tests()


def test_every_statement_has_its_claim():
    named = set(re.findall(r"`sql/verify/(\w+)\.sql`", TEXT))
    assert named == {file.stem for file in (ROOT / "sql" / "verify").glob("*.sql")}


def test_every_requirement_of_the_language_is_explained():
    from ppdm_sql.requirements import requirement_words

    explained = set(re.findall(r"^\| `(\w+) = ", TEXT, re.MULTILINE))
    assert explained == set(requirement_words())
