"""What becomes of new rows of a kadet table: the table's own rows print what they printed, others nothing untrue."""

from __future__ import annotations

import json
import random

import pytest
from kadet_cases import random_case
from mondrian_labels import covers
from test_kadet_table import published
from test_recoding import check_chain, recode

from ppdm_sql.errors import RequirementBreached
from ppdm_sql.methods.recoding import read_recoding
from ppdm_sql.policy.grammar import parse
from tests.random_cases import domain
from tests.sizes import seeds

pytestmark = pytest.mark.duckdb


@seeds(small=6, full=60, nightly=300, block=30)
def test_own_rows_print_what_they_printed_and_others_what_is_true(duckdb_engine, make_table, seeds):
    asked = 0
    for seed in seeds:
        case = random_case(seed)
        try:
            found = published(case, duckdb_engine, make_table)
        except RequirementBreached:
            continue
        if case.class_is_public:
            assert found.plan.recoding is None
            continue
        recoding = read_recoding(json.loads(json.dumps(found.plan.recoding.to_json())))
        policy = parse(case.text.replace("CREATE MODEL m", "CREATE TABLE t"))[0].policy
        columns = {name: kind.lower() for name, kind in case.columns.items() if name != "id"}
        told = recode(duckdb_engine, recoding, policy, columns, bare(case.rows, columns), case.public, case.trees)
        assert told == [tuple(row[name] for name in case.public) for row in found.rows]
        named = {tree.name for tree in found.tree.attributes} - set(case.public)
        used = {found.tree.attributes[number].name for number in found.tree.used_attributes()}
        assert set(recoding.nulled) == {name for name in named - used if name not in case.sensitive}
        asked += recoding.size > 1
        check_chain(recoding)
        check_others(duckdb_engine, case, policy, columns, recoding, random.Random(seed))
    assert asked or len(seeds) < 5


def bare(rows, columns):
    return [{name: row[name] for name in columns} for row in rows]


def check_others(engine, case, policy, columns, recoding, rng):
    rows = []
    for _ in range(30):
        row = dict(rng.choice(case.rows))
        for name in case.public:
            if rng.random() < 0.4:
                row[name] = rng.choice([None, *domain(columns[name], rng)])
        rows.append(row)
    printed = recode(engine, recoding, policy, columns, bare(rows, columns), case.public, case.trees)
    for row, labels in zip(rows, printed, strict=True):
        for name, label in zip(case.public, labels, strict=True):
            value, levels = row[name], None
            if name in case.trees:
                known = value is not None and str(value) in case.trees[name].order
                levels = case.trees[name].levels_of(value) if known else ()
            assert set(label) == {"*"} or covers(label, value, levels=levels), (label, value)
