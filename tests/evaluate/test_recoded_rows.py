"""Test rows get the labels that the rules of a release have for them: its own rows what it prints, others true ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from evaluate_tables import QUICK, TARGET, random_rows, store
from sqlglot import exp

from ppdm_sql.evaluate.bench import open_table
from ppdm_sql.evaluate.recode import recode_rows
from ppdm_sql.methods import registry
from ppdm_sql.methods.base import Job
from ppdm_sql.policy.grammar import parse

POLICY = """CREATE TABLE o AS SELECT "o""brien", "source", quasi, "ppdm's class" FROM t WITH ANONYMIZATION (
    ALGORITHM {method} REQUIRE k = 4 QUASI IDENTIFIER ("o""brien", "source", quasi) TARGET ("ppdm's class") SEED 2)"""
KEPT = {'o"brien': "TEXT", "source": "INTEGER", "quasi": "DECIMAL(8, 2)", TARGET: "TEXT"}


@QUICK
@pytest.mark.parametrize("method", ["mondrian", "kactus", "kactus2"])
def test_the_rows_of_a_release_are_told_as_it_prints_them(engine, make_table, method):
    store(engine, make_table, random_rows(5), columns=KEPT)
    (statement,) = parse(POLICY.format(method=method), dialect=engine.dialect)
    opened = open_table(engine, statement)
    with engine.workspace() as work:
        plan = registry.method_named(method).table(Job(engine, opened.source, statement.policy, {}))
        released, again, other = (work.name(word) for word in ("released", "again", "other"))
        engine.create_table(released, plan.wide(), temporary=True)
        recode_rows(engine, opened.source, released, again, recoding=plan.recoding, hierarchies={})
        printed, told = (rows_of(engine, name, opened.source.published) for name in (released, again))
        # kactus drops some rows and completes leaves with others; mondrian moves none.
        assert sum((told & printed).values()) >= (1 if method == "mondrian" else 0.9) * sum(printed.values())
        new = store(engine, make_table, random_rows(6), name="n", columns=KEPT)
        source = replace(opened.source, relation=new)
        recode_rows(engine, source, released, other, recoding=plan.recoding, hierarchies={})
        labels = {tuple(row[:3]) for row in printed}
        assert sum(rows_of(engine, other, opened.source.published).values()) == 120  # no row is lost
        everything = {("*", "*", "*")}  # of a row that nobody in the release is like
        assert {tuple(row[:3]) for row in rows_of(engine, other, opened.source.published)} <= labels | everything


def rows_of(engine, name, columns) -> Counter:
    picked = exp.select(*(exp.column(one, quoted=True) for one in columns)).from_(name.table())
    return Counter(engine.fetch(picked))
