"""Every option that the documentation shows is one that the program takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ppdm_sql.methods import registry
from ppdm_sql.methods.registry import method_named
from ppdm_sql.policy import algorithms
from ppdm_sql.policy.grammar import parse
from ppdm_sql.policy.options import Choice, declared_options
from ppdm_sql.policy.policy import Export, PseudoData, Publish
from ppdm_sql.release.export.write import ExportOptions
from ppdm_sql.release.export.write import read_order as read_export
from ppdm_sql.release.pseudo import PseudoOptions, read_order

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
        if found[0] in algorithms.words() and "..." not in found[1]
    }
)


def check(statement: object, folder: Path) -> None:
    match statement:
        case Publish() if statement.policy.algorithm in algorithms.available():
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


# -- the tables of options -----------------------------------------------------------------------------------

OWNERS = {
    **{
        ("methods", f"{name.removesuffix('2')}.md", name): method_named(name).options for name in algorithms.available()
    },
    ("policy-language.md", "EXPORT"): ExportOptions,
    ("models.md", "Pseudo-data"): PseudoOptions,
}


def documented(page: str, marker: str) -> dict[str, str]:
    """The first table of options behind a heading: option -> what is said of its value."""
    table = page.partition(marker)[2].partition("| option |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    found: dict[str, str] = {}
    for options, value, *_ in rows:
        for name in re.findall(r"`(\w+)(?: = [^`]*)?`", options):
            found[name] = f"{found.get(name, '')} {options} {value}"
    return found


@pytest.mark.parametrize("owner", [pytest.param(one, id="-".join(one)) for one in OWNERS])
def test_the_tables_of_options_are_those_of_the_declarations(owner):
    *folders, word = owner
    page = ROOT.joinpath("docs", *folders).read_text(encoding="utf-8")
    declared = declared_options(OWNERS[owner])
    found = documented(page, "# " if folders[0] == "methods" else f"# {word}")
    if word == "kactus":  # one page for both
        found = {name: value for name, value in found.items() if "`kactus2` only" not in value}
    assert found.keys() == declared.keys()
    for name, allowed in declared.items():
        if isinstance(allowed, Choice):
            assert set(allowed.words) <= set(re.findall(r"\w+(?:[.]\w+)*", found[name])), name


def test_there_are_examples():
    assert len(BLOCKS) > 20
    assert len(SHOWN) >= 6
