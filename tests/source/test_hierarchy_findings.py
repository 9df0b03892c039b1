"""Poisoned hierarchies: each is refused with its exact findings, in counts and never in values."""

from __future__ import annotations

import doctest
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import duckdb
import pytest

from ppdm_sql.engines.base import Kind
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.policy import HierarchyFile, HierarchySource, HierarchyTable, PrefixLadder
from ppdm_sql.source import hierarchy_read
from ppdm_sql.source.hierarchy import Hierarchy, load_hierarchy
from ppdm_sql.statements.names import Word

Load = Callable[..., Hierarchy]


@pytest.fixture
def engine() -> Iterator[DuckDBEngine]:
    with duckdb.connect() as connection:
        yield DuckDBEngine(connection)


@pytest.fixture
def load(tmp_path: Path, engine: DuckDBEngine) -> Load:
    def loaded(source: HierarchySource, values: Sequence[object] = (), **options: object) -> Hierarchy:
        settings = {"column": "c", "kind": Kind.TEXT, "engine": engine, "folder": tmp_path} | options
        return load_hierarchy(source, values=values, **settings)

    return loaded


def findings(load: Load, source: HierarchySource, values: Sequence[object] = (), **options: object) -> list[str]:
    with pytest.raises(PolicyError) as refused:
        load(source, values, **options)
    assert all(mistake.message.startswith('column "c": ') for mistake in refused.value.mistakes)
    return [mistake.message.split(": ", 2)[2] for mistake in refused.value.mistakes]


SPELLED = (
    "1 label is spelled like a value but covers other values too, or not that one: a reader could not tell them apart"
)

# Every cell that could be data starts with Q, so that a leak is seen.
BAD = {
    "empty": ("", ["it has no leaf"]),
    "blank lines": ("\n\r\n\n", ["it has no leaf"]),
    "commas": (
        "Qa,Qx,*\nQb,Qx,*\n",
        ["it has no level: write each line as value;level1;...;* with ; between the cells"],
    ),
    "listed twice": ("Qa;Qx;*\nQb;Qx;*\nQa;Qx;*\n", ["1 value is listed more than once"]),
    "listed twice, two parents": ("Qa;Qx;*\nQa;Qy;*\nQb;Qy;*\n", ["1 value is listed more than once"]),
    "two parents": (
        "Qa;Qx;Q1;*\nQb;Qx;Q2;*\nQc;Qy;Q1;*\nQd;Qy;Q2;*\nQe;Qz;Q1;*",
        ["2 labels are below two different labels of the next level"],
    ),
    "one label on two levels": (
        "Qa;Qx;Qy;*\nQb;Qx;Qy;*\nQc;Qy;Qz;*\nQd;Qw;Qz;*",
        ["1 label is on two levels for different values (a name used twice, or a cycle)"],
    ),
    "a cycle": (
        "Qa;Qx;Qy;*\nQb;Qy;Qx;*",
        ["2 labels are on two levels for different values (a name used twice, or a cycle)"],
    ),
    "a cycle over the same values": (
        "Qa;Qx;Qy;Qx;*\nQb;Qx;Qy;Qx;*",
        ["1 label is on two levels for different values (a name used twice, or a cycle)"],
    ),
    "the root within": (
        "Qa;Qx;*\nQb;Qx;*\nQc;*;*",
        ["1 label is on two levels for different values (a name used twice, or a cycle)"],
    ),
    "unequal depth": (
        "Qa;Qx;*\nQb;Qx;*\nQc;*\nQd;Qx;Qy;*",
        ["2 of 4 lines do not have the 3 cells of the others; repeat the label in branches that are less deep"],
    ),
    "no root": ("Qa;Qx;*\nQb;Qx;Qany", ["1 of 2 lines do not end in the root, *"]),
    "another root": ("Qa;Qx;Qany\nQb;Qx;Qany", ["2 of 2 lines do not end in the root, *"]),
    "an empty label": ("Qa;;*\nQb;Qx;*\nQc;Qx;*\nQd; ;*", ["2 lines with an empty label"]),
    "a label like another value": (
        "Qa;Qc;*\nQb;Qc;*\nQc;Qd;*",
        [SPELLED],
    ),
    "a label like one of its values": (
        "Qa;Qa;*\nQb;Qa;*\nQc;Qb;*\nQd;Qb;*",
        [
            "2 labels are spelled like a value but cover other values too, or not that one: a reader could not tell them apart"
        ],
    ),
    "a value like the root": (
        "Qa;Qx;*\n*;Qx;*",
        [SPELLED],
    ),
    "nothing but a value like the root": (
        "*;*",
        [SPELLED],
    ),
    "a label per person": (
        "Qa;Q1;*\nQb;Q2;*\nQc;Q3;*",
        ["level 1 generalizes nothing: it has as many labels as level 0 (3)"],
    ),
    "a label per person but one": (
        "Qa;Q1;*\nQb;Q2;*\nQc;Qc;*",
        ["level 1 generalizes nothing: it has as many labels as level 0 (3)"],
    ),
    "an idle level above": (
        "Qa;Qx;Q1;*\nQb;Qx;Q1;*\nQc;Qy;Q2;*",
        ["level 2 generalizes nothing: it has as many labels as level 1 (2)"],
    ),
    "too many levels": ("Qa" + ";Qx" * 50 + ";*", ["it has more than 50 levels"]),
    "an open quote": ('Qa;Qx;*\n"Qb;Qx;*\n', ["line 2 is not valid CSV: check its quotes"]),
    "text after a quote": ('Qa;Qx;*\n"Qb"Q;Qx;*\nQc;Qx;*', ["line 2 is not valid CSV: check its quotes"]),
    "a NUL": ("Qa;Q\0x;*", ["the file is not text: it has NUL characters (UTF-16?)"]),
    "everything at once": (
        "Qa;Qx;Q1;*\nQb;Qx;Q2;*\nQb;;Q2;Qall\nQc;Q1;*\nQd;Qa;Q2;*",
        [
            "1 of 5 lines do not have the 4 cells of the others; repeat the label in branches that are less deep",
            "1 value is listed more than once",
            "1 line with an empty label",
            "1 of 4 lines do not end in the root, *",
            "1 label is below two different labels of the next level",
            SPELLED,
        ],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_by_all_its_findings(tmp_path: Path, load: Load, name: str) -> None:
    text, expected = BAD[name]
    (tmp_path / "bad.csv").write_text(text, encoding="utf-8", newline="")
    assert findings(load, HierarchyFile("bad.csv")) == expected


@pytest.mark.parametrize("name", BAD)
def test_values_are_told_only_on_request(tmp_path: Path, load: Load, name: str) -> None:
    (tmp_path / "bad.csv").write_text(BAD[name][0], encoding="utf-8", newline="")
    quiet = "\n".join(findings(load, HierarchyFile("bad.csv"), ["Qmissing"]))
    assert "Q" not in quiet
    loud = "\n".join(findings(load, HierarchyFile("bad.csv"), ["Qmissing"], show_values=True))
    assert "'Qmissing'" in loud or "no leaf" not in quiet


GOOD = {
    "branches that are less deep": "a;a;a;*\nb;x;x;*\nc;x;x;*\nd;y;z;*\ne;y;z;*\nf;w;z;*",
    "a level that is repeated as a whole": "a;x;x;*\nb;x;x;*\nc;y;y;*",
    "only the root": "a;*\nb;*",
    "fifty levels": "a" + ";x" * 49 + ";*\nb" + ";x" * 49 + ";*",
    "one value": "a;*",
    "one name for all": "a;Europe;*\nb;Europe;*",
    "the root comes early": "a;*;*\nb;*;*",
    "an empty value": ";x;*\nb;x;*",
    "a label of one value among others": "0;[0,1);*\n1;[1,9);*\n2;[1,9);*",
    "quoted cells": '"a;b";"say ""x""";*\n"c\nd";"say ""x""";*',
    "Windows lines and a byte order mark": "\ufeffa;x;*\r\nb;x;*\r\n\r\n",
    "spaces are part of a value": "a;x;*\n a;x;*\na ;x;*",
    "case and Unicode form too": "e\u0301;x;*\n\u00e9;x;*\nE\u0301;x;*",
}


@pytest.mark.parametrize("name", GOOD)
def test_what_is_allowed_loads(tmp_path: Path, load: Load, name: str) -> None:
    (tmp_path / "good.csv").write_text(GOOD[name], encoding="utf-8", newline="")
    assert load(HierarchyFile("good.csv")).levels[-1][0].label == "*"


def test_an_empty_text_is_a_value_and_null_is_not(tmp_path: Path, load: Load) -> None:
    (tmp_path / "h.csv").write_text(";unknown;*\nb;unknown;*\nc;known;*")
    assert load(HierarchyFile("h.csv"), [""]).levels_of("") == ("", "unknown", "*")
    with pytest.raises(ValueError, match="NULL has no leaf"):
        load(HierarchyFile("h.csv"), ["b", None])


# -- values without a leaf -----------------------------------------------------------------------------


def test_missing_values_are_counted(tmp_path: Path, load: Load) -> None:
    (tmp_path / "h.csv").write_text("a;x;*\nb;x;*\nc;x;*\n")
    values = ["a", "QCANARY", "B", " c"]
    hint = "; 2 would match but for case, outer spaces or Unicode form"
    assert findings(load, HierarchyFile("h.csv"), values) == [
        f"3 of 4 distinct values of the column have no leaf{hint}"
    ]
    assert findings(load, HierarchyFile("h.csv"), values, rows=[5, 1, 20, 3]) == [
        f"3 of 4 distinct values (24 rows) of the column have no leaf{hint}"
    ]
    assert findings(load, HierarchyFile("h.csv"), values, show_values=True) == [
        f"3 of 4 distinct values of the column have no leaf{hint}: ' c', 'B', 'QCANARY'"
    ]
    many = [f"v{n}" for n in range(8)]
    assert findings(load, HierarchyFile("h.csv"), many, show_values=True)[0].endswith(
        "'v0', 'v1', 'v2', 'v3', 'v4' and 3 more"
    )


def test_missing_values_are_told_beside_a_broken_tree(tmp_path: Path, load: Load) -> None:
    (tmp_path / "h.csv").write_text("a;x;*\na;x;*\n")
    assert findings(load, HierarchyFile("h.csv"), ["a", "b"]) == [
        "1 value is listed more than once",
        "1 of 2 distinct values of the column has no leaf",
    ]


def test_values_that_reading_merged_are_refused(tmp_path: Path, load: Load) -> None:
    (tmp_path / "h.csv").write_text("a;*\nb;*")
    assert findings(load, HierarchyFile("h.csv"), ["a", "a", "b"]) == [
        "1 distinct value of the column with the same text as another one"
    ]


# -- files ---------------------------------------------------------------------------------------------


@pytest.fixture
def policy_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "policy"
    (folder / "below").mkdir(parents=True)
    (tmp_path / "outside.csv").write_text("a;*")
    (folder / "inside.csv").write_text("a;*")
    (folder / "below" / "deep.csv").write_text("a;*")
    (folder / "link.csv").symlink_to(tmp_path / "outside.csv")
    (folder / "inner.csv").symlink_to(folder / "inside.csv")
    (folder / "loop.csv").symlink_to(folder / "loop.csv")
    os.mkfifo(folder / "pipe.csv")
    return folder


@pytest.mark.parametrize("path", ["inside.csv", "below/deep.csv", "below/../inside.csv", "./inside.csv", "inner.csv"])
def test_a_file_below_the_policy_is_read(load: Load, policy_folder: Path, path: str) -> None:
    assert load(HierarchyFile(path), folder=policy_folder).order == ("a",)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("../outside.csv", "the path leaves the folder of the policy: if that is intended, give an absolute path"),
        ("link.csv", "the path leaves the folder of the policy: if that is intended, give an absolute path"),
        (
            "below/../../outside.csv",
            "the path leaves the folder of the policy: if that is intended, give an absolute path",
        ),
        ("missing.csv", "the file does not exist"),
        ("below", "it is not a regular file"),
        ("pipe.csv", "it is not a regular file"),
        ("", "it is not a regular file"),
        ("loop.csv", "it is not the path of a file"),
        ("nul\0.csv", "it is not the path of a file"),
    ],
)
def test_other_paths_are_refused(load: Load, policy_folder: Path, path: str, why: str) -> None:
    assert findings(load, HierarchyFile(path), folder=policy_folder) == [why]


def test_a_name_too_long_is_refused(load: Load) -> None:
    assert findings(load, HierarchyFile("x" * 300)) == ["the file cannot be read"]


def test_an_absolute_path_says_what_it_means(load: Load, policy_folder: Path, tmp_path: Path) -> None:
    outside = HierarchyFile(str(tmp_path / "outside.csv"))
    assert load(outside, folder=policy_folder).order == ("a",)
    assert load(outside, folder=None).order == ("a",)


def test_a_relative_path_needs_a_folder(load: Load) -> None:
    assert findings(load, HierarchyFile("a.csv"), folder=None) == [
        "a relative path needs the folder of a policy file: give an absolute path"
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(load: Load, tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("a;*")
    (tmp_path / "h.csv").chmod(0)
    assert findings(load, HierarchyFile("h.csv")) == ["the file cannot be read"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("a;x;*\nQ\u00e9;x;*\n".encode("latin-1"), "line 2 is not UTF-8"),
        ("a;x;*".encode("utf-16"), "line 1 is not UTF-8"),
        ("a;x;*".encode("utf-16-le"), "the file is not text: it has NUL characters (UTF-16?)"),
        (b"a" + b";" * 100_000, "line 1 is longer than 100,000 characters"),
    ],
)
def test_foreign_content_is_refused(load: Load, tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "h.csv").write_bytes(content)
    assert findings(load, HierarchyFile("h.csv")) == [why]


def test_a_file_too_large_is_not_read(load: Load, tmp_path: Path) -> None:
    with (tmp_path / "h.csv").open("wb") as file:
        file.truncate(2**30)  # a sparse gigabyte
    assert findings(load, HierarchyFile("h.csv")) == ["the file is larger than 64 MB"]


def test_too_many_lines_are_refused(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hierarchy_read, "MOST_LINES", 3)
    (tmp_path / "h.csv").write_text("a;*\nb;*\nc;*\nd;*\n")
    assert findings(load, HierarchyFile("h.csv")) == ["it has more than 3 lines"]


# -- tables --------------------------------------------------------------------------------------------


def table(*words: str) -> HierarchyTable:
    return HierarchyTable(tuple(Word(word) for word in words))


def test_a_table_gives_the_same_as_a_file(load: Load, engine: DuckDBEngine, tmp_path: Path) -> None:
    engine.pass_through(
        "CREATE TABLE h AS FROM (VALUES (1, 'low', '*'), (2, 'low', '*'), (10, 'high', '*')) t(v, a, b)"
    )
    (tmp_path / "h.csv").write_text("1;low;*\n2;low;*\n10;high;*")
    values = {"values": [1, 10], "kind": Kind.INTEGER}
    assert load(table("main", "h"), **values) == load(HierarchyFile("h.csv"), **values)


def test_a_view_with_hostile_names_is_a_table_too(load: Load, engine: DuckDBEngine) -> None:
    engine.pass_through("""CREATE VIEW "o""h;--" AS SELECT 'a' AS "(select 1)", '*' AS "order" """)
    assert load(HierarchyTable((Word('o"h;--', quoted=True),)), ["a"]).order == ("a",)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "FROM (VALUES ('Qa', 'Qx', '*'), (NULL, 'Qx', '*'), ('Qb', NULL, '*'), ('Qc', NULL, '*')) t(v, a, b)",
            ['its column "v" is NULL in 1 row', 'its column "a" is NULL in 2 rows'],
        ),
        ("SELECT 'Qa' AS v, ['Qx'] AS a, '*' AS b", ['its column "a" has a type that cannot be a label']),
        ("SELECT 'Qa' AS v", ["it has no level: write each line as value;level1;...;* with ; between the cells"]),
        ("SELECT 'Qa' AS v, '*' AS b WHERE false", ["it has no leaf"]),
        ("FROM (VALUES ('Qa', 'Qx'), ('Qb', '*')) t(v, a)", ["1 of 2 lines do not end in the root, *"]),
        (
            "SELECT COLUMNS('.*') FROM (SELECT " + ", ".join(f"1 AS c{n}" for n in range(60)) + ")",
            ["it has more than 50 levels"],
        ),
    ],
)
def test_a_bad_table_is_refused(load: Load, engine: DuckDBEngine, query: str, expected: list[str]) -> None:
    engine.pass_through(f"CREATE TABLE h AS {query}")
    assert findings(load, table("h")) == expected


def test_a_table_that_is_not_there(load: Load) -> None:
    assert findings(load, table("h")) == ["the table does not exist"]
    assert findings(load, table("a", "b", "c")) == ["a table's name must be table or schema.table"]


def test_a_table_too_long_is_refused(load: Load, engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hierarchy_read, "MOST_LINES", 3)
    engine.pass_through("CREATE TABLE h AS SELECT range AS v, '*' AS a FROM range(4)")
    assert findings(load, table("h")) == ["it has more than 3 rows"]


def test_a_nested_column_has_no_hierarchy(load: Load) -> None:
    assert findings(load, PrefixLadder((1,)), kind=Kind.UNSUPPORTED) == [
        "a column of this type cannot have a hierarchy"
    ]


# -- the manual ----------------------------------------------------------------------------------------

MANUAL = Path(__file__).resolve().parents[2] / "docs" / "hierarchies.md"


def test_the_examples_of_the_manual_run(load: Load, engine: DuckDBEngine, tmp_path: Path) -> None:
    text = MANUAL.read_text(encoding="utf-8")
    (tmp_path / "ward.csv").write_text(re.search(r"```csv\n(.*?)```", text, re.DOTALL)[1])
    assert load(HierarchyFile("ward.csv")).nodes(1)[-1].label == "Surgery"
    engine.pass_through("CREATE SCHEMA geo")
    engine.pass_through(re.search(r"```sql\n(CREATE TABLE .*?)```", text, re.DOTALL)[1])
    assert load(table("geo", "countries")).order == ("France", "Italy", "Ghana")
    assert doctest.testfile(str(MANUAL), module_relative=False).failed == 0
