"""Figures about the source itself: names, records read by key, working tables named by hand, the largest file.

python tests/house_figures.py                   the figures of this checkout
python tests/house_figures.py --list            and every place that counts
python tests/house_figures.py --list KAnonymity and the places of the figures whose title holds this text
python tests/house_figures.py --package DIR     of another checkout's ppdm_sql
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "ppdm_sql"

# Irregular participles.  Those that are also a verb's base form (read, run, cut, split, set, put) name an action.
PARTICIPLES = frozenset(
    [
        "begun",
        "bound",
        "built",
        "chosen",
        "dealt",
        "done",
        "drawn",
        "fed",
        "found",
        "given",
        "gone",
        "grown",
        "held",
        "hidden",
        "kept",
        "known",
        "laid",
        "led",
        "left",
        "lost",
        "made",
        "meant",
        "met",
        "said",
        "seen",
        "sent",
        "shown",
        "sold",
        "taken",
        "thrown",
        "told",
        "torn",
        "woven",
        "worn",
        "written",
    ]
)
NOT_PARTICIPLES = frozenset(
    ["bed", "embed", "exceed", "feed", "indeed", "need", "proceed", "red", "seed", "shed", "speed", "succeed"]
)
RECORDS = frozenset({"manifest", "roles", "record"})  # what the catalog stores as JSON


@dataclass(frozen=True)
class Place:
    """Where something stands, and what it is."""

    file: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}"


@dataclass(frozen=True)
class HouseFigure:
    """A figure, the most it should be, and the places it counts."""

    title: str
    value: str
    measured: float
    most: float
    goal: str
    places: tuple[Place, ...]

    @property
    def is_reached(self) -> bool:
        return self.measured <= self.most


@dataclass(frozen=True)
class Module:
    """A parsed file; its folder is that below the package, or its own name at the top."""

    path: Path
    name: str
    tree: ast.Module
    lines: int

    @property
    def folder(self) -> str:
        return self.name.split("/")[0].removesuffix(".py")

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree, found once for all rules."""
        return tuple(ast.walk(self.tree))

    def place(self, node: ast.AST, what: str) -> Place:
        return Place(self.name, getattr(node, "lineno", 1), what)


@cache
def modules(package: Path = PACKAGE) -> tuple[Module, ...]:
    """Every module of the package, parsed once."""
    texts = ((path, path.read_text(encoding="utf-8")) for path in sorted(package.rglob("*.py")))
    return tuple(
        Module(path, path.relative_to(package).as_posix(), ast.parse(text), len(text.splitlines()))
        for path, text in texts
    )


# -- names -------------------------------------------------------------------------------------------------


def is_participle(name: str) -> bool:
    """Whether a function's name is one past participle and nothing else.

    >>> [name for name in ("told", "_recorded", "read", "need", "told_apart", "labels") if is_participle(name)]
    ['told', '_recorded']
    """
    word = name.strip("_")
    regular = word.endswith("ed") and len(word) > 3 and word not in NOT_PARTICIPLES
    return "_" not in word and (regular or word in PARTICIPLES)


def functions(found: Sequence[Module]) -> Iterator[tuple[Module, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for module in found:
        for node in module.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__"):
                yield module, node


def participle_figure(found: Sequence[Module]) -> HouseFigure:
    every = list(functions(found))
    places = tuple(module.place(node, node.name) for module, node in every if is_participle(node.name))
    share = len(places) / max(len(every), 1)
    value = f"{len(places)} of {len(every):,} ({share:.1%})"
    return HouseFigure("functions named by a bare participle", value, share, 0.03, "at most 3 %", places)


def class_name_figure(found: Sequence[Module]) -> HouseFigure:
    by_name: dict[str, list[Place]] = {}
    for module in found:
        if module.folder != "verify":
            for node in module.nodes:
                if isinstance(node, ast.ClassDef):
                    by_name.setdefault(node.name, []).append(module.place(node, node.name))
    several = {name: places for name, places in by_name.items() if len(places) > 1}
    places = tuple(place for name in sorted(several) for place in several[name])
    value = f"{len(several)} of {len(by_name)}"
    title = "class names used for several classes, outside verify/"
    return HouseFigure(title, value, len(several), 8, "at most 8", places)


# -- objects that are missing ------------------------------------------------------------------------------


def k_anonymity_figure(found: Sequence[Module]) -> HouseFigure:
    places = tuple(
        module.place(node, ast.unparse(node))
        for module in found
        if module.folder not in {"requirements", "verify"}
        for node in module.nodes
        if isinstance(node, ast.Call) and _called(node) == "isinstance" and "KAnonymity" in _names(node.args[1])
    )
    title = "isinstance(.., KAnonymity) outside requirements/ and verify/"
    return HouseFigure(title, str(len(places)), len(places), 5, "at most 5", places)


def working_table_figure(found: Sequence[Module]) -> HouseFigure:
    places = tuple(
        module.place(node, ast.unparse(node))
        for module in found
        if module.name != "engines/workspace.py"
        for node in module.nodes
        if isinstance(node, ast.Call) and _called(node) == "own"
    )
    title = "working tables named by hand, outside engines/workspace.py"
    return HouseFigure(title, str(len(places)), len(places), 0, "0", places)


def record_figure(found: Sequence[Module]) -> HouseFigure:
    places = tuple(place for module in found if module.folder != "catalog" for place in record_reads(module))
    title = "reads of a record by string key, outside catalog/"
    return HouseFigure(title, str(len(places)), len(places), 0, "0", places)


def record_reads(module: Module) -> list[Place]:
    """Where a value of a manifest or of roles is read by a literal key, also through a name it was given before.

    A name counts as a record when it is called so, or is assigned or loops over a part of one.  A heuristic: what a
    function gets as a parameter under another name is not followed.
    """
    places: list[Place] = []
    named = {
        getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "arg", None) for node in module.nodes
    }
    if not named & RECORDS:
        return places
    scopes = [node for node in module.nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    seen: set[int] = set()
    for scope in (*scopes, module.tree):
        known = _record_names(scope)
        for node in ast.walk(scope):
            if id(node) not in seen and _is_key_read(node) and _is_record(_base(node), known):
                seen.add(id(node))
                places.append(module.place(node, ast.unparse(node)))
    return sorted(places, key=lambda place: place.line)


def _record_names(scope: ast.AST) -> frozenset[str]:
    known = RECORDS
    while True:
        more = known | {name for node in ast.walk(scope) for name in _names_given(node, known)}
        if more == known:
            return known
        known = more


def _names_given(node: ast.AST, known: frozenset[str]) -> set[str]:
    """The names that are given a part of a record here: x = manifest["policy"], for x in manifest["findings"]."""
    if isinstance(node, ast.Assign):
        pairs = [(target, node.value) for target in node.targets]
    elif isinstance(node, ast.For | ast.comprehension):
        pairs = [(node.target, node.iter)]
    elif isinstance(node, ast.NamedExpr):
        pairs = [(node.target, node.value)]
    else:
        return set()
    found: set[str] = set()
    for target, value in pairs:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            both = zip(target.elts, value.elts, strict=True)
            found |= {one.id for one, given in both if isinstance(one, ast.Name) and _is_part(given, known)}
        elif isinstance(target, ast.Name) and _is_part(value, known):
            found.add(target.id)
    return found


def _is_part(node: ast.AST, known: frozenset[str]) -> bool:
    return _is_key_read(node) and _is_record(_base(node), known)


def _is_key_read(node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript):
        return _is_text(node.slice) and isinstance(node.ctx, ast.Load)
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get"
    return called and bool(node.args) and _is_text(node.args[0])


def _base(node: ast.AST) -> ast.AST:
    if isinstance(node, ast.Subscript):
        return node.value
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Attribute)
    return node.func.value


def _is_record(node: ast.AST, known: frozenset[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in known
    if isinstance(node, ast.Attribute):
        return node.attr in RECORDS
    return _is_part(node, known)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} | {
        one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)
    }


# -- files -------------------------------------------------------------------------------------------------


def largest_file_figure(found: Sequence[Module]) -> HouseFigure:
    order = sorted(found, key=lambda module: -module.lines)
    places = tuple(Place(module.name, module.lines, "lines") for module in order if module.lines > 400)
    value = f"{order[0].lines} lines ({order[0].name})"
    return HouseFigure("largest file (listed: over 400 lines)", value, order[0].lines, 450, "at most 450", places)


def figures(found: Sequence[Module]) -> list[HouseFigure]:
    made = (
        class_name_figure, participle_figure, k_anonymity_figure, record_figure, working_table_figure,
        largest_file_figure,
    )  # fmt: skip
    return [one(found) for one in made]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", nargs="?", const="", metavar="TITLE", help="name the places of each figure")
    parser.add_argument("--package", type=Path, default=PACKAGE, metavar="DIR", help="the folder ppdm_sql to look at")
    asked = parser.parse_args(arguments)
    found = modules(asked.package)
    print(f"{len(found)} files, {sum(module.lines for module in found):,} lines")
    for figure in figures(found):
        print(f"{figure.title}: {figure.value} (goal: {figure.goal})")
        if asked.list is not None and asked.list.casefold() in figure.title.casefold():
            for place in figure.places:
                print(f"    {place}")


if __name__ == "__main__":
    main()
