"""The house rules that a reader relies on, held by looking at the source itself."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "ppdm_sql"
MODULES = sorted(PACKAGE.rglob("*.py"))

# The way of the data.  A module imports only from its own folder or from earlier ones.
GROUND = ("errors", "resources", "watching", "statements", "engines", "catalog")
ORDER = (
    "policy", "source", "checks", "trees", "classifiers", "models", "anonymizers", "pseudodata", "sharing",
    "verify", "release", "evaluate", "report", "session", "demo", "commands",
)  # fmt: skip
JUDGE_MAY_USE = {"errors", "resources", "statements", "engines", "policy", "verify"}

SQL_TEXT = re.compile(
    r"\b(SELECT\s.*\sFROM|INSERT\s+INTO|UPDATE\s+\S+\s+SET|DELETE\s+FROM|GROUP\s+BY|ORDER\s+BY"
    r"|(CREATE|DROP|ALTER)\s+(OR\s+REPLACE\s+)?(TEMP\w*\s+|SECURE\s+)*(TABLE|VIEW|SCHEMA|INDEX))\b",
    re.DOTALL,
)


def imports(module: Path) -> set[str]:
    """The folders of the package a module imports from; what only type checkers read counts too."""
    found = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom) and node.module == "ppdm_sql":
            names = [f"ppdm_sql.{alias.name}" for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("ppdm_sql.")}
    return found - {"__version__"}


def floor(module: Path) -> str:
    parts = module.relative_to(PACKAGE).parts
    return parts[0].removesuffix(".py")


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_look_back_along_the_way_of_the_data(module):
    here = floor(module)
    if here.startswith("__"):
        return
    allowed = set(GROUND) if here in GROUND else {*GROUND, *ORDER[: ORDER.index(here) + 1]}
    assert imports(module) <= allowed


def test_every_folder_has_its_place():
    folders = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if not path.name.startswith("_")}
    assert folders <= {*GROUND, *ORDER}


def test_the_judge_shares_no_code_with_what_it_judges():
    for module in (PACKAGE / "verify").rglob("*.py"):
        assert imports(module) <= JUDGE_MAY_USE, module.name


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_sql_is_put_together_as_text(module):
    """Values and names reach a statement as syntax trees or parameters, never through a string."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            text = "".join(part.value for part in node.values if isinstance(part, ast.Constant))
            assert not SQL_TEXT.search(text), f"line {node.lineno}: {text[:60]}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"format", "join"}:
            text = node.func.value.value if isinstance(node.func.value, ast.Constant) else ""
            assert not SQL_TEXT.search(str(text)), f"line {node.lineno}"


BUILDERS = {"select", "where", "from_", "join", "group_by", "order_by", "having", "with_", "limit", "to_table"}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_builders_that_parse_never_get_text(module):
    """sqlglot's builders parse a string: a column called "(select max(x) from secret)" would run."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in BUILDERS):
            continue
        if isinstance(node.func.value, ast.Constant):  # ", ".join(...)
            continue
        for argument in node.args:
            assert not isinstance(argument, ast.JoinedStr), f"line {node.lineno}"
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                assert argument.value == "*", f"line {node.lineno}: {argument.value}"


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_evaluates_or_unpickles_or_shells_out(module):
    tree = ast.parse(module.read_text(encoding="utf-8"))
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not called & {"eval", "exec", "compile", "__import__"}
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert not modules & {"pickle", "shelve", "marshal", "subprocess"}


ENGINE_QUESTION = re.compile(r"\.(dialect|title)\b")


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_engine_is_asked_for_by_name_outside_engines(module):
    """Above engines/ code asks a capability flag; an engine's name is for rendering and for people."""
    if floor(module) in {"engines", "statements"}:
        return
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare):
            assert not ENGINE_QUESTION.search(ast.unparse(node)), f"line {node.lineno}"


def test_every_sql_file_is_a_statement_that_says_what_it_is_for():
    for file in (ROOT / "sql").rglob("*.sql"):
        assert file.read_text(encoding="utf-8").startswith("-- "), file.name
