"""Texts of others never become part of the page: not its tags, not its style, not its direction."""

from __future__ import annotations

import re
import unicodedata

import duckdb
from hostile import quoted
from pages import Element, read

from ppdm_sql.catalog.manifest import FindingRecord, JointRecord
from ppdm_sql.release.results import Planned, Verified
from ppdm_sql.session import connect


def shape(page: Element) -> list[tuple[str, tuple[str, ...]]]:
    """Every tag with the names of its attributes, in order; drawings by their kinds of element only."""
    return [(one.tag, tuple(one.attributes)) for one in page.walk() if "svg" not in [one.tag, *one.above]]


def test_the_page_has_the_tags_of_a_harmless_one(both):
    plain, hostile = both
    assert plain.keys() == hostile.keys()
    assert len(plain) == 5
    for key in plain:
        assert shape(read(hostile[key])) == shape(read(plain[key])), key
        drawn = [{one.tag for one in svg.walk()} for svg in read(hostile[key]).all("svg")]
        assert drawn == [{one.tag for one in svg.walk()} for svg in read(plain[key]).all("svg")]
        assert all(tags <= {"svg", "g", "path", "rect", "line", "circle", "text", "title", "desc"} for tags in drawn)


def test_the_texts_are_on_the_page_as_they_are_written(both):
    """Escaping, not dropping: a DBA must recognise the column."""
    text = read(both[1]["table", "internal"]).text
    for word in ('"><script>alert(1)</script>', "</style><script>alert(2)</script>", "' onmouseover='alert(3)",
                 "javascript:alert(4)", "ill\\u202eness\\u2066<b>\\u200f", "<iframe src=javascript:alert(8)>"):  # fmt: skip
        assert word in text


def test_nothing_hidden_is_left_in_the_file(both):
    """No control character and no mark that turns the direction of writing."""
    for key, text in both[1].items():
        found = {character for character in text if unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp")}
        assert found <= {"\n"}, key


def test_texts_of_others_are_isolated(both):
    """Where a text could be Arabic or Hebrew, its direction ends at a border."""
    for text in both[1].values():
        page = read(text)
        for one in page.walk():
            inside = {one.tag, *one.above}
            told = "".join(child for child in one.children if isinstance(child, str))
            if re.search(r"alert\(|javascript:|\\u202e|7 \* 7", told):
                assert inside & {"bdi", "pre", "svg", "title", "meta"}, (one.tag, told)


def test_no_text_reaches_an_attribute_that_does_something(both):
    for text in both[1].values():
        for one in read(text).walk():
            for name, value in one.attributes.items():
                if re.search(r"alert\(", value):
                    assert name in ("content", "aria-label"), (one.tag, name)


def test_notebooks_show_the_same_care():
    word = '<script>alert(1)</script>"\u202e\x07'
    findings = (FindingRecord("k = 5", word, "7", True, 0, 0), FindingRecord(word, None, None, False, 3, 1200))
    verified = Verified(word, findings, (word,), 10, 2)
    planned = Planned(
        word, (word,), (word,), 10, 2, findings, (JointRecord((word,), 5, False, True, 1, 2),), ((word, word),)
    )
    for result in (verified, planned, _published(word)):
        text = result._repr_html_()
        page = read(text)
        assert {one.tag for one in page.walk()} <= {
            "document", "div", "p", "b", "bdi", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "strong"}  # fmt: skip
        assert all(set(one.attributes) <= {"scope"} for one in page.walk())
        assert not {c for c in text if unicodedata.category(c) in ("Cc", "Cf")}
        assert '<script>alert(1)</script>"\\u202e\\x07' in page.text
    assert "does NOT hold" in read(verified._repr_html_()).text
    assert "breached in 3 classes (1,200 rows)" in read(verified._repr_html_()).text
    assert "would be refused" in read(planned._repr_html_()).text


def _published(word):
    con = duckdb.connect()
    con.execute(f"CREATE TABLE t AS SELECT range % 3 AS a, 'x' || range % 2 AS {quoted(word)} FROM range(60)")
    with connect(con) as session:
        return session.publish(f"CREATE TABLE {quoted(word)} AS SELECT * FROM t WITH ANONYMIZATION (ALGORITHM mondrian "
                               f"REQUIRE k = 5, distinct_l = 2 QUASI IDENTIFIER (a) SENSITIVE ({quoted(word)}))")  # fmt: skip
