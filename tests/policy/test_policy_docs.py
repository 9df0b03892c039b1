"""docs/policy-language.md: what it shows as right is right, what it shows as wrong is wrong in these words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ppdm_sql.errors import PolicyError
from ppdm_sql.policy import algorithms
from ppdm_sql.policy.grammar import parse
from ppdm_sql.policy.policy import PassThrough, Publish
from ppdm_sql.policy.words import CLAUSES
from ppdm_sql.requirements import requirement_words
from ppdm_sql.requirements.closeness import DISTANCES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "policy-language.md").read_text(encoding="utf-8")
RIGHT = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
PARTS = re.findall(r"```sql clause\n(.*?)```", PAGE, re.DOTALL)
WRONG = re.findall(r"```sql wrong\n(.*?)```\n```text\n(.*?)```", PAGE, re.DOTALL)
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("|")]
REQUIREMENTS = [row for row in ROWS if len(row) == 5 and row[0].strip("`") in requirement_words()]

NEEDED = {
    "ALGORITHM": "ALGORITHM mondrian",
    "REQUIRE": "REQUIRE k = 10",
    "QUASI IDENTIFIER": "QUASI IDENTIFIER (q)",
    "SENSITIVE": "SENSITIVE (s)",
}


def completed(part: str) -> str:
    """A clause of the page in a statement that has all the others it needs."""
    names = re.findall(r"^\s*([A-Z][A-Z ]*[A-Z])", part, re.MULTILINE)
    others = [text for name, text in NEEDED.items() if not any(found.startswith(name) for found in names)]
    return f"CREATE TABLE x AS SELECT 1 WITH ANONYMIZATION ({part} {' '.join(others)})"


def test_the_page_has_its_examples():
    assert (len(RIGHT), len(PARTS), len(WRONG), len(REQUIREMENTS)) == (2, 18, 3, len(requirement_words()))


@pytest.mark.parametrize("text", RIGHT)
def test_the_statements_of_the_page_are_right(text):
    assert not all(isinstance(found, PassThrough) for found in parse(text))


@pytest.mark.parametrize("part", PARTS)
def test_the_clauses_of_the_page_are_right(part):
    assert isinstance(parse(completed(part))[0], Publish)


@pytest.mark.parametrize(("text", "told"), WRONG)
def test_the_mistakes_of_the_page_are_told_in_these_words(text, told):
    with pytest.raises(PolicyError) as caught:
        parse(text, file="policy.sql")
    assert str(caught.value) == told.rstrip("\n")


@pytest.mark.parametrize("row", REQUIREMENTS, ids=[row[0] for row in REQUIREMENTS])
def test_the_requirements_of_the_page_are_right_and_refused_as_it_says(row):
    written, refused = (re.findall(r"`([^`]+)`", cell) for cell in row[3:])
    assert written
    assert refused
    for text in written:
        assert isinstance(parse(completed(f"REQUIRE {text}"))[0], Publish)
    for text in refused:
        with pytest.raises(PolicyError):
            parse(completed(f"REQUIRE {text}"))


def test_the_page_knows_every_word():
    for word in (*CLAUSES, *requirement_words(), *algorithms.words(), *DISTANCES):
        assert re.search(rf"`{word}\b|### {word}\b|`[^`]*\b{word}\b[^`]*`", PAGE), word


def test_the_page_tells_what_each_algorithm_makes():
    for names, kinds in (
        row for row in ROWS if len(row) == 2 and row[0].strip("`").split("`")[0] in algorithms.words()
    ):
        for name in re.findall(r"`(\w+)`", names):
            assert {kind.strip() for kind in kinds.split(",")} == algorithms.releases_of(name)
