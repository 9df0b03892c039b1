"""What the file and the page show is run, and compared wherever a result is shown."""

from __future__ import annotations

import re
from dataclasses import dataclass

import duckdb
import pytest

from .conftest import MACROS, ROOT

PAGE = (ROOT / "docs" / "analyst.md").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Block:
    sql: str
    result: list[list[str]] | None  # column names first; None where the page shows none
    error: str | None


def blocks(page: str) -> list[Block]:
    """The ```sql blocks of a page, each with the table that follows it."""
    found = []
    page = re.sub(r"^  (?=\S| )", "", page, flags=re.MULTILINE)  # blocks inside a list
    for match in re.finditer(r"^```sql\n(.*?)^```\n+((?:\|[^\n]*\n)*)", page, re.DOTALL | re.MULTILINE):
        lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in match[2].splitlines()]
        error = re.search(r"^-- error: (.*)$", match[1], re.MULTILINE)
        found.append(Block(match[1], lines[:1] + lines[2:] or None, error and error[1]))
    return found


def as_shown(con: duckdb.DuckDBPyConnection, sql: str) -> list[list[str]]:
    """Run the statements; the last one's result as DuckDB prints it."""
    *before, last = duckdb.extract_statements(sql)
    for statement in before:
        con.execute(statement)
    # Rows in the order of the statement: DuckDB keeps it through a projection.
    shown = con.execute(f"SELECT COLUMNS(*)::VARCHAR FROM ({last.query.strip().rstrip(';')})")
    names = [column[0] for column in shown.description]
    return [names, *(["NULL" if cell is None else cell for cell in row] for row in shown.fetchall())]


def test_the_page_shows_what_duckdb_answers(con):
    page = blocks(PAGE)
    for block in page:
        if block.error:
            with pytest.raises(duckdb.Error, match=re.escape(block.error)):
                con.execute(block.sql)
        elif block.result:
            assert as_shown(con, block.sql) == block.result, block.sql
        else:
            con.execute(block.sql)
    assert sum(block.result is not None for block in page) >= 12
    assert sum(block.error is not None for block in page) == 1


def test_the_page_shows_every_macro():
    made = set(re.findall(r"^CREATE OR REPLACE MACRO (\w+)", MACROS, re.MULTILINE))
    assert made == set(re.findall(r"\bppdm_\w+", PAGE)) & made
    assert set(re.findall(r"\b(ppdm_\w+)\(", PAGE)) <= made


def examples(text: str) -> list[str]:
    """The statements in the comments: lines set in by three spaces, from a capital keyword to a semicolon."""
    return [
        re.sub(r"^--", "", match[0], flags=re.MULTILINE)
        for match in re.finditer(r"^--   (?:CREATE|SELECT|FROM) (?:.*\n--)*?.*;$", text, re.MULTILINE)
    ]


def test_every_example_in_the_file_runs(con):
    found = examples(MACROS)
    for example in found:
        con.execute(example)
        assert con.fetchall(), example
    assert len(found) == 1 + MACROS.count("CREATE OR REPLACE MACRO")


@pytest.mark.parametrize("part", re.split(r"\n\n\n(?=-- )", MACROS)[1:], ids=lambda part: part.splitlines()[0][3:40])
def test_every_macro_stands_under_an_example_of_its_own(part):
    (name,) = re.findall(r"^CREATE OR REPLACE MACRO (\w+)", part, re.MULTILINE)
    (example,) = examples(part)
    assert f" {name}(" in example


def test_a_wrong_result_on_a_page_is_noticed(con):
    (block,) = blocks("```sql\nSELECT 1 AS one, NULL AS two\n```\n\n| one | two |\n|---|---|\n| 1 | NULL |\n")
    assert as_shown(con, block.sql) == block.result == [["one", "two"], ["1", "NULL"]]
    (wrong,) = blocks("```sql\nSELECT 1 AS one\n```\n\n| one |\n|---|\n| 2 |\n")
    assert as_shown(con, wrong.sql) != wrong.result
