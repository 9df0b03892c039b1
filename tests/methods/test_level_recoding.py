"""What a full-domain recoding says of rows: of those it was made from what was published, of others nothing untrue."""

from __future__ import annotations

import random

import pytest
from lattice_cases import random_case
from test_recoding import recode

from ppdm_sql.errors import RequirementBreached
from ppdm_sql.methods.recoding import read_recoding
from ppdm_sql.source.hierarchy import build
from tests.sizes import seeds

pytestmark = pytest.mark.duckdb


@seeds(small=8, full=60, nightly=400)
def test_rows_that_were_published_are_recoded_as_they_were(duckdb_engine, seeds):
    for seed in seeds:
        case = random_case(seed)
        try:
            plan, rows = case.run(duckdb_engine)
        except RequirementBreached:
            continue
        recoding = read_recoding(plan.recoding.to_json())
        trees = {name: build(name, lines) for name, lines in case.hierarchies.items()}
        source = {row["id"]: row for row in case.rows}
        kept = [source[row["ppdm_key0"]] for row in rows]
        found = recode(duckdb_engine, recoding, case.policy, case.columns, kept, case.quasi, trees)
        assert found == [tuple(row[name] for name in case.quasi) for row in rows]


@seeds(small=8, full=60, nightly=400)
def test_other_rows_get_labels_that_are_true_of_them(duckdb_engine, seeds):
    for seed in seeds:
        case, rng = random_case(seed), random.Random(seed)
        try:
            plan, _ = case.run(duckdb_engine)
        except RequirementBreached:
            continue
        ladders = {one.name: one for one in case.ladders()}
        pools = {name: list(ladders[name].labels) for name in case.quasi}
        rows = [
            {**rng.choice(case.rows), **{name: rng.choice(pool) for name, pool in pools.items()}} for _ in range(20)
        ]
        trees = {name: build(name, lines) for name, lines in case.hierarchies.items()}
        found = recode(duckdb_engine, plan.recoding, case.policy, case.columns, rows, case.quasi, trees)
        for row, labels in zip(rows, found, strict=True):
            for name, label in zip(case.quasi, labels, strict=True):
                own = ladders[name].labels[row[name]][plan.choices[0].levels[name]]
                told = None if own is None else own if own == "all" else own[1]
                assert label == told or label.strip("*") == ""
