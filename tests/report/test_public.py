"""Who may know what: canaries that no page may hold, and counts that the public page does not give."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import read

from ppdm_sql.report.audience import READERS
from ppdm_sql.session import Session
from ppdm_sql.watching import silent

pytestmark = pytest.mark.usefixtures("undrawn")

# Held by one row each, or only by the source, its hierarchy, its names.
VALUES = ("canary_job", "canary_illness", "canary_name", "81237", "canary_leaf")
NAMES = ("canary_table", "canary_dropped", "canary_levels", "canary_literal", "canary_entity", "canary_comment")


@pytest.fixture
def secret(duckdb_engine, make_table, tmp_path):
    return _secret(duckdb_engine, make_table, tmp_path)


@pytest.fixture
def secret_everywhere(engine, make_table, tmp_path):
    return _secret(engine, make_table, tmp_path)


def _secret(engine, make_table, tmp_path):
    columns = {"canary_entity": "TEXT", "canary_dropped": "TEXT", "age": "INTEGER", "job": "TEXT", "zip": "TEXT",
               "illness": "TEXT"}  # fmt: skip
    rows = [(f"e{number // 2}", f"canary_name{number}", 20 + number % 30, ("cook", "clerk")[number % 2],
             ("10001", "10002")[number % 2], ("flu", "cold", "ulcer")[number % 3]) for number in range(120)]  # fmt: skip
    rows.append(("e999", "canary_name", 61, "canary_job", "81237", "canary_illness"))
    make_table(engine, "canary_table", columns, rows)
    levels = [("cook", "canary_leaf", "*"), ("clerk", "canary_leaf", "*"), ("canary_job", "canary_leaf", "*")]
    make_table(engine, "canary_levels", {"leaf": "TEXT", "up": "TEXT", "top": "TEXT"}, levels)
    return Session(engine, out=tmp_path, show_values=False, progress=silent)


QUERY = """SELECT canary_entity, canary_dropped, age, job, zip, illness FROM canary_table
    WHERE canary_dropped <> 'canary_literal' /* canary_comment */"""
TABLE = f"""CREATE TABLE shown AS {QUERY} WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 8 ENTITY (canary_entity)
    IDENTIFIER (canary_dropped) QUASI IDENTIFIER (age, job HIERARCHY canary_levels, zip HIERARCHY PREFIX (2))
    SENSITIVE (illness))"""
MODEL = f"""CREATE MODEL shown AS {QUERY} WITH ANONYMIZATION (ALGORITHM kadet REQUIRE k = 8 ENTITY (canary_entity)
    IDENTIFIER (canary_dropped) QUASI IDENTIFIER (age, job, zip) SENSITIVE (illness) TARGET (illness)
    ACCEPT RISK (rare_classes))"""


def written(session, readers, name="shown"):
    done = session.report(name, "page.html", readers=readers, force=True)
    with open(done.path, encoding="utf-8") as file:
        return file.read()


@pytest.mark.parametrize("statement", [TABLE, MODEL], ids=["table", "model"])
def test_no_canary_is_in_a_page(secret_everywhere, statement):
    """In public no value at all and no name of the source; inside no value that the release does not publish."""
    secret = secret_everywhere
    secret.publish(statement)
    text = written(secret, "public")
    assert [word for word in (*VALUES, *NAMES) if word in text] == []
    assert [value for value in ("cook", "clerk", "flu", "ulcer", "10001") if value in text] == []
    text = written(secret, "internal")
    leaves = _given_away(secret, statement)
    assert [word for word in VALUES if word in text and word not in leaves] == []
    assert "canary_literal" in text  # the statement's own text
    assert "canary_table" in text


def _given_away(session, statement):
    """What a recipient of the model reads in it: it names the classes of its target, also a rare one."""
    return "" if statement == TABLE else Path(session.export("shown", "shown.json").path).read_text(encoding="utf-8")


@pytest.mark.wide
def test_nor_when_the_release_was_changed_or_its_source_is_gone(secret):
    """An attacker, or a mistake, put raw rows into the release: the pages give them no further."""
    secret.publish(TABLE)
    secret.execute("INSERT INTO shown SELECT CAST(age AS TEXT), job, zip, illness FROM canary_table WHERE age = 61")
    assert [word for word in VALUES if word in written(secret, "internal")] == []
    secret.execute("DROP TABLE canary_table CASCADE")
    for readers in READERS:
        assert [word for word in VALUES if word in written(secret, readers)] == []
    assert [word for word in NAMES if word in written(secret, "public")] == []


# -- counts ------------------------------------------------------------------------------------------------


def numbers(text):
    """Every whole number that is read on the page, and those that drawings hold in words."""
    page = read(text)
    for section in page.all("section"):
        if section.attributes["id"] in ("certificate", "limits", "guarantees", "columns"):
            continue
        for one in section.walk():
            if one.tag in ("td", "desc", "b", "dd", "p"):
                yield from re.findall(r"(?<![\w.,])\d[\d,]*(?![\w.,]*%|\xa0%)", one.text)


def test_small_counts_are_not_counted_out_in_public(secret):
    """Twelve rows are left of a class structure of k = 8: nothing on the page is a count of 1 to 7."""
    secret.publish(TABLE)
    secret.execute("DELETE FROM shown WHERE age <> (SELECT MIN(age) FROM shown)")
    secret.execute("INSERT INTO shown SELECT '99', job, zip, illness FROM shown LIMIT 3")
    inside, public = written(secret, "internal"), written(secret, "public")
    assert "BROKEN" in public
    assert "fewer than 8" in public
    assert "fewer than 8" not in inside
    page = read(public)
    cells = page.by_id("guarantees").all("table")[0].rows()[1]
    assert cells[1:3] == ["fewer than 8", "fewer than 8"]
    assert "over 12.5\xa0%" in page.by_id("risk").text
    assert "100\xa0%" not in page.by_id("risk").text
    small = [found for found in numbers(public) if 0 < int(found.replace(",", "")) < 8 and not _is_size(page, found)]
    assert small == []


def _is_size(page, number):
    """The heads of the size table are sizes, not counts."""
    return any(number in row[0] for row in page.by_id("sizes").all("table")[0].rows()[1:])


@pytest.mark.wide
def test_what_was_left_out_cannot_be_told_from_a_difference(secret):
    """The source is a few rows larger than the release: its size, and that of its classes, stay inside."""
    secret.publish(TABLE)
    secret.execute("INSERT INTO canary_table SELECT * FROM canary_table WHERE age = 61")
    inside, public = written(secret, "internal"), written(secret, "public")
    assert "with 122 rows" in inside
    assert "122" not in read(public).all("main")[0].text.replace("\xa0", "")
    assert "all its rows" in public
    assert "Counts below 8 are given as “fewer than 8”." in public
