"""ppdm advise --method dmpd: parts to paste, the same for the same seed, and a front over anonymity and accuracy."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from ppdm_sql.errors import NotAvailable
from ppdm_sql.evaluate.advise_parts import advise_parts
from ppdm_sql.evaluate.curves import draw_front
from ppdm_sql.policy.grammar import parse
from tests.methods.test_dmpd import learnable

pytest.importorskip("pymoo")
POLICY = """CREATE TABLE open AS SELECT q1, q2, q3, y FROM t WITH ANONYMIZATION (ALGORITHM mondrian
    REQUIRE k = 8 QUASI IDENTIFIER (q1, q2, q3) INSENSITIVE (y) TARGET (y))"""
SMALL = {"population": 6, "generations": 3, "folds": 2}


@pytest.fixture
def statement(duckdb_engine, make_table):
    make_table(duckdb_engine, "t", dict.fromkeys(("q1", "q2", "q3", "y"), "TEXT"), learnable())
    return parse(POLICY.replace("INSENSITIVE (y) ", ""))[0]


def test_the_statement_that_is_printed_publishes_the_parts(duckdb_engine, open_session, statement):
    found = advise_parts(duckdb_engine, statement, SMALL)
    again = advise_parts(duckdb_engine, statement, SMALL)
    assert found.statement == again.statement
    release = open_session(duckdb_engine).publish(found.statement)
    recorded = release.record.manifest.projections
    assert [tuple(one for one in part.columns if one != "y") for part in recorded.parts] == list(found.best.parts)
    assert recorded.joined_smallest >= 8


def test_the_front_has_no_point_that_another_beats(duckdb_engine, statement):
    found = advise_parts(duckdb_engine, statement, SMALL, runs=2, front=True)
    levels, shares = [point[0] for point in found.points], [point[1] for point in found.points]
    assert levels == sorted(levels)
    assert shares == sorted(shares, reverse=True)
    for one in found.surfaces:
        told = [value for value in (one.best, one.median, one.worst) if value is not None]
        assert told == sorted(told, reverse=True)
    assert found.best.level >= 8
    drawing = draw_front("o<pen>", [point[:2] for point in found.points], found.surfaces)
    texts = [node.text for node in ET.fromstring(drawing).iter() if node.text]
    assert {"o<pen>: accuracy and anonymity", "anonymity level K", "best run", "worst run"} <= set(texts)
    assert json.loads(json.dumps(found.as_json()))["front"]


def test_without_pymoo_it_says_what_to_install(duckdb_engine, statement, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pymoo", None)
    with pytest.raises(NotAvailable, match=r"ppdm_sql\[dmpd\]"):
        advise_parts(duckdb_engine, statement, SMALL)
