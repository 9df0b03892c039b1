"""The house rules that a reader relies on, held by looking at the source itself.

Each rule is one test over all modules; what it prints is the list of places that break it.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator

from house_figures import PACKAGE, Module, Place, figures, modules

ROOT = PACKAGE.parent

# The way of the data.  A module imports only from its own folder or from earlier ones.
GROUND = ("errors", "resources", "json_reader", "watching", "statements", "engines", "catalog")
ORDER = (
    "requirements", "treatments", "policy", "source", "forms", "checks", "profile", "trees", "induction", "classifiers", "models", "cells", "methods", "pseudodata", "sharing",
    "verify", "planning", "release", "evaluate", "report", "table_questions", "model_calls", "session", "dbt", "demo", "commands",
)  # fmt: skip
# Tables that stay: releases, what a model says of a table's rows, pseudo-rows of several sources, the demonstration.
WRITERS = ("engines", "release", "models", "sharing", "demo")
JUDGE_MAY_USE = {"errors", "resources", "statements", "engines", "requirements", "treatments", "policy", "verify"}

SQL_TEXT = re.compile(
    r"\b(SELECT\s.*\sFROM|INSERT\s+INTO|UPDATE\s+\S+\s+SET|DELETE\s+FROM|GROUP\s+BY|ORDER\s+BY"
    r"|(CREATE|DROP|ALTER)\s+(OR\s+REPLACE\s+)?(TEMP\w*\s+|SECURE\s+)*(TABLE|VIEW|SCHEMA|INDEX))\b",
    re.DOTALL,
)
BUILDERS = {"select", "where", "from_", "join", "group_by", "order_by", "having", "with_", "limit", "to_table"}
ENGINE_QUESTION = re.compile(r"\.(dialect|title)\b")


def offenders(rule: Callable[[Module], Iterator[Place]]) -> list[str]:
    """What breaks a rule, anywhere in the package."""
    return [str(place) for module in modules() for place in rule(module)]


def imports(module: Module) -> Iterator[tuple[ast.AST, str]]:
    """The folders of the package a module imports from; what only type checkers read counts too."""
    for node in module.nodes:
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom) and node.module == "ppdm_sql":
            names = [f"ppdm_sql.{alias.name}" for alias in node.names if alias.name != "__version__"]
        yield from ((node, name.split(".")[1]) for name in names if name.startswith("ppdm_sql."))


# -- folders and files -------------------------------------------------------------------------------------


def forward_imports(module: Module) -> Iterator[Place]:
    here = module.folder
    if here.startswith("__"):
        return
    allowed = {*GROUND, *(() if here in GROUND else ORDER[: ORDER.index(here) + 1])}
    if here == "verify":  # the judge shares no code with what it judges
        allowed = JUDGE_MAY_USE
    if here == "evaluate":  # it measures what a publication would, and publishes nothing
        allowed -= {"release"}
    yield from (module.place(node, f"imports {folder}") for node, folder in imports(module) if folder not in allowed)


def test_imports_only_look_back_along_the_way_of_the_data():
    folders = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if not path.name.startswith("_")}
    assert folders <= {*GROUND, *ORDER}, "a folder without a place in the order"
    assert offenders(forward_imports) == []


def test_the_architecture_page_lists_every_folder_in_this_order():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    drawing = page.partition("\nppdm_sql/\n")[2].partition("\nintegrations/")[0]
    listed = re.findall(r"^  ((?:[a-z_]+(?:/|[.]py) ?)+)", drawing, re.MULTILINE)
    named = [name.removesuffix(".py").rstrip("/") for line in listed for name in line.split()]
    assert (set(named[: len(GROUND)]), named[len(GROUND) :]) == (set(GROUND), list(ORDER))


def test_names_records_working_tables_and_files_stay_as_they_should():
    """The figures of house_figures.py; `python tests/house_figures.py --list` names the places."""
    missed = [one for one in figures(modules()) if not one.is_reached]
    assert [f"{one.title}: {one.value}, goal: {one.goal}" for one in missed] == []


def test_every_test_file_has_a_name_of_its_own():
    """pytest imports a file by its name alone: with two of a name neither make test nor CI would start."""
    folders = (
        folder for folder in (ROOT / "tests").iterdir() if folder.is_dir() and not (folder / "__init__.py").exists()
    )
    names = Counter(file.name for folder in folders for file in folder.glob("*.py") if file.name != "conftest.py")
    assert [name for name, times in names.items() if times > 1] == []


def test_every_sql_file_says_what_it_is_for():
    sql = {file: file.read_text(encoding="utf-8") for file in sorted((ROOT / "sql").rglob("*.sql"))}
    assert [str(file.relative_to(ROOT)) for file, text in sql.items() if not text.startswith("-- ")] == []


def lasting_tables(module: Module) -> Iterator[Place]:
    if module.folder in WRITERS:
        return
    for node in module.nodes:
        if _is_method(node, {"create_table"}):
            given = {one.arg: one.value for one in node.keywords}
            if "temporary" not in given or ast.unparse(given["temporary"]) != "True":
                yield module.place(node, ast.unparse(node)[:60])


def test_a_table_that_stays_is_created_where_releases_are_made_only():
    assert offenders(lasting_tables) == []


# -- statements --------------------------------------------------------------------------------------------


def sql_as_text(module: Module) -> Iterator[Place]:
    for node in module.nodes:
        text = ""
        if isinstance(node, ast.JoinedStr):
            text = "".join(part.value for part in node.values if isinstance(part, ast.Constant))
        elif _is_method(node, {"format", "join"}) and isinstance(node.func.value, ast.Constant):
            text = str(node.func.value.value)
        if SQL_TEXT.search(text):
            yield module.place(node, text[:60])


def text_for_builders(module: Module) -> Iterator[Place]:
    for node in module.nodes:
        if not _is_method(node, BUILDERS) or isinstance(node.func.value, ast.Constant):  # ", ".join(...)
            continue
        for argument in node.args:
            plain = isinstance(argument, ast.Constant) and isinstance(argument.value, str) and argument.value != "*"
            if plain or isinstance(argument, ast.JoinedStr):
                yield module.place(node, ast.unparse(argument)[:60])


def _is_method(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names


def test_no_sql_is_put_together_as_text():
    """Values and names reach a statement as syntax trees or parameters.

    sqlglot's builders parse a string: a column called "(select max(x) from secret)" would run.
    """
    assert offenders(sql_as_text) == []
    assert offenders(text_for_builders) == []


# -- the rest ----------------------------------------------------------------------------------------------


def dangerous_calls(module: Module) -> Iterator[Place]:
    for node in module.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in {"eval", "exec", "compile", "__import__"}:
                yield module.place(node, node.func.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
            found = {name.split(".")[0] for name in names} & {"pickle", "shelve", "marshal", "subprocess"}
            yield from (module.place(node, name) for name in sorted(found))


def test_nothing_evaluates_or_unpickles_or_shells_out():
    assert offenders(dangerous_calls) == []


def engine_names(module: Module) -> Iterator[Place]:
    if module.folder in {"engines", "statements"}:
        return
    for node in module.nodes:
        if isinstance(node, ast.Compare) and ENGINE_QUESTION.search(ast.unparse(node)):
            yield module.place(node, ast.unparse(node))


def test_no_engine_is_asked_for_by_name_outside_engines():
    """Above engines/ code asks a capability flag; an engine's name is for rendering and for people."""
    assert offenders(engine_names) == []


# -- that the rules catch something ------------------------------------------------------------------------

BROKEN = """
import pickle
from ppdm_sql.commands import show
def f(engine, table, query):
    eval("1")
    f"SELECT a FROM {table}"
    query.where(f"{table} = 1")
    engine.create_table(table, query)
    return engine.dialect == "duckdb"
"""
EVALUATING = "from ppdm_sql.release import publish\nfrom ppdm_sql.planning import planner\n"


def test_the_rules_find_what_they_are_for(tmp_path):
    module = Module(tmp_path / "x.py", "policy/x.py", ast.parse(BROKEN), 10)
    rules = (forward_imports, dangerous_calls, sql_as_text, text_for_builders, lasting_tables, engine_names)
    assert [sorted({place.line for place in rule(module)}) for rule in rules] == [[3], [2, 5], [6], [7], [8], [9]]
    evaluating = Module(tmp_path / "y.py", "evaluate/y.py", ast.parse(EVALUATING), 2)
    assert [place.line for place in forward_imports(evaluating)] == [1]


UNTIDY = """
class Same: ...
def told(record): return isinstance(record, KAnonymity), record["policy"]
STAGE = own("ppdm_stage")
"""


def test_the_figures_count_what_they_are_for(tmp_path):
    code = "\n".join(UNTIDY for _ in range(6)) + "\n".join(f"class C{n}: ...\nclass C{n}: ..." for n in range(8))
    long = Module(tmp_path / "x.py", "release/x.py", ast.parse(code), 451)
    assert [one.measured for one in figures([long])] == [9, 1.0, 6, 6, 6, 451]
    assert not any(one.is_reached for one in figures([long]))
    clean = Module(tmp_path / "y.py", "release/y.py", ast.parse("class One: ...\ndef tell(record): ...\n"), 450)
    assert all(one.is_reached for one in figures([clean]))
