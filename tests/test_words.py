"""Plain English in what people read: messages, help texts, reports, comments, docstrings and the documentation.

Each wording of the list was in a message once, had to be read twice, and has a plain replacement.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from ppdm_sql.commands import cli

ROOT = Path(__file__).resolve().parents[1]
BANNED = {
    r"\bbeside\b": "with, next to, except",
    r"\banew\b": "again",
    r"\bany more\b": "no longer",
    r"\bsomebody\b": "an attacker, a person, anyone who",
    r"(?:^|[.:;(|] ?)who (?:knows|has|holds|reads|gets)\b": "anyone who, an attacker who",
    r"\b(?:is|are|was|were) told\b": "is reported, is shown",
    r"\bwhoever\b": "anyone who, an attacker who",
    r"\bin the place of\b|\btakes? the place of\b": "instead of, replaces",
    r"\bin the words of (?:the|a) release\b": "with the labels of the release",
    r"\btells\b": "shows, reveals, says",
    r"\btell of\b": "reveal",
    r"\bclasses of equals\b": "equivalence classes",
    r"\bknown are\b": "valid options:",
    r"\bis there already\b": "already exists",
    r"\b(?:leaves?|published|passed on|goes|go) as (?:it is|they are)\b": "published unchanged",
    r"\b(?:rows|data|table|figures) as (?:it is|they are|it stands|they stand)\b": "raw data",
    r"^\(as they are\)$": "raw data",
}
FIGURES = {"boundary values published as they are"}  # a key in manifests that were published
BARRED = re.compile("|".join(BANNED), re.IGNORECASE | re.MULTILINE)


def said_in(text: str) -> list[str]:
    return [found[0].strip() for found in BARRED.finditer(text)]


def strings_of(path: Path) -> Iterator[tuple[int, str]]:
    """The string constants of a module that have more than one word, without docstrings that are no help text."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    docstrings = {
        id(node.body[0].value)
        for node in nodes
        if path.parent.name != "commands"
        and isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in nodes:
        text = node.value if isinstance(node, ast.Constant) and id(node) not in docstrings else None
        if isinstance(text, str) and " " in text.strip() and text not in FIGURES:
            yield node.lineno, text


def prose_of(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a page without what is quoted as code, which has names of its own."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        yield number, re.sub(r"`[^`]*`", "", line)


def comments_of(path: Path) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        _, dashes, comment = line.partition("-- ")
        if dashes:
            yield number, comment


def remarks_of(path: Path) -> Iterator[tuple[int, str]]:
    """The comments and docstrings of a module, line by line."""
    text = path.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (
            token.type == tokenize.STRING and token.string.startswith(('"""', 'r"""'))
        ):
            yield from enumerate(token.string.splitlines(), start=token.start[0])


def offenders(folder: str, pattern: str, parts) -> list[str]:
    files = sorted((ROOT / folder).rglob(pattern))
    assert files
    return [
        f"{path.relative_to(ROOT)}:{number}: {', '.join(said_in(text))}"
        for path in files
        for number, text in parts(path)
        if said_in(text)
    ]


def test_messages_and_help_texts_are_plain():
    assert offenders("ppdm_sql", "*.py", strings_of) == []


@pytest.mark.parametrize("folder", ["ppdm_sql", "tests", "benchmarks", "integrations"])
def test_comments_and_docstrings_are_plain(folder):
    own = "tests/test_words.py"  # it has the former wordings
    assert [one for one in offenders(folder, "*.py", remarks_of) if not one.startswith(own)] == []


def test_the_documentation_is_plain():
    pages = [f"{name}:{number}: {', '.join(said_in(text))}" for name in ("README.md", "SECURITY.md", "CHANGELOG.md")
             for number, text in prose_of(ROOT / name) if said_in(text)]  # fmt: skip
    assert [*pages, *offenders("docs", "*.md", prose_of)] == []


@pytest.mark.parametrize("folder", ["sql/analyst", "sql/demo", "sql/checks", "sql/evaluate", "sql/release"])
def test_comments_of_sql_files_are_plain(folder):
    """Not of sql/verify: releases record the sha256 of these files."""
    assert offenders(folder, "*.sql", comments_of) == []


@pytest.mark.parametrize(
    "text",
    [
        "who knows the method can sometimes tell more than the classes say",
        "the order of numbers is kept: who knows the ranks of people can place them",
        'release "x" is there already: CREATE OR REPLACE publishes it anew',
        "20,000 rows in 16,531 classes of equals",
        "known are a, b, c",
        "a column that leaves as it is",
        "SUPERSEDES says that nobody holds the others any more",
        "a threshold tells that somebody has it",
        "whoever looks for everybody finds at most 5 % of the rows",
        "three stars in the place of the others",
    ],
)
def test_former_wordings_are_found(text):
    assert said_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "anyone who knows the algorithm can infer more",
        "a reader could not tell them apart",
        'release "x" already exists; use CREATE OR REPLACE to publish it again',
        "besides, the table stands on its own",
    ],
)
def test_plain_wordings_pass(text):
    assert said_in(text) == []


# -- help texts ----------------------------------------------------------------------------------------------


def every_command(group: click.Group, names: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """The groups and the commands, with the words that call them."""
    yield names, group
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from every_command(command, (*names, name))
        elif command is not None:
            yield (*names, name), command


COMMANDS = dict(every_command(cli))


def test_every_command_has_an_example_and_every_option_a_help_text():
    assert {("run",), ("model", "train"), ("share", "codebook", "draft"), ("catalog", "seal")} <= set(COMMANDS)
    for names, command in COMMANDS.items():
        example = re.search(rf"\$ ppdm\b.*\b{' '.join(names)}\b", command.help or "")
        assert example is not None or isinstance(command, click.Group), names
        silent = [one.name for one in command.params if isinstance(one, click.Option) and not one.help]
        assert silent == [], names


def test_the_list_of_commands_cuts_no_sentence():
    """A description that is too long for its line would end in three dots."""
    for names in (names for names, command in COMMANDS.items() if isinstance(command, click.Group)):
        done = CliRunner().invoke(cli, [*names, "--help"])
        listed = done.output.partition("Commands:")[2]
        assert (done.exit_code, bool(listed)) == (0, True)
        assert "..." not in listed, names
