"""Every option that the documentation shows is one that the program takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ppdm_sql.methods import registry
from ppdm_sql.policy.grammar import parse
from ppdm_sql.policy.policy import Export, PseudoData, Publish
from ppdm_sql.policy.words import ALGORITHMS
from ppdm_sql.release.export import read_order as read_export
from ppdm_sql.release.pseudo import read_order

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```sql\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
]
SHOWN = sorted(
    {
        found
        for page in PAGES
        for found in re.findall(r"ALGORITHM (\w+) (\((?:[^()]|\([^()]*\))*\))", page.read_text(encoding="utf-8"))
        if found[0] in ALGORITHMS and "..." not in found[1]
    }
)


def check(statement: object, folder: Path) -> None:
    match statement:
        case Publish() if statement.policy.algorithm in (*registry.table_methods(), *registry.model_methods()):
            registry.check_options(statement, None)
        case PseudoData():
            read_order(statement)
        case Export() if not statement.path.endswith(".json"):
            read_export(statement.path, statement.options, folder)


@pytest.mark.parametrize("block", BLOCKS)
def test_the_options_of_every_example_are_taken(block, tmp_path):
    if re.search(r"^\s*(CREATE|EXPORT)\b", block, re.MULTILINE):
        for statement in parse(block):
            check(statement, tmp_path)


@pytest.mark.parametrize(("algorithm", "options"), SHOWN)
def test_the_options_shown_anywhere_are_taken(algorithm, options, tmp_path):
    kind = "MODEL" if algorithm in registry.model_methods() else "TABLE"
    clause = f"ALGORITHM {algorithm} {options} REQUIRE k = 5 QUASI IDENTIFIER (a) TARGET (b)"
    check(parse(f"CREATE {kind} x AS SELECT a, b FROM t WITH ANONYMIZATION ({clause})")[0], tmp_path)


def test_there_are_examples():
    assert len(BLOCKS) > 20
    assert len(SHOWN) >= 6
