"""What becomes of new rows of koptimize: the table's own rows print what they printed, others nothing untrue."""

from __future__ import annotations

import json
import random
import re
from fractions import Fraction

import pytest
from lattice_cases import random_case
from test_recoding import check_chain, recode

from ppdm_sql.errors import RequirementBreached
from ppdm_sql.methods.koptimize.method import KOPTIMIZE
from ppdm_sql.methods.recoding import read_recoding
from ppdm_sql.source.hierarchy import build
from tests.random_cases import WORDS
from tests.sizes import seeds

pytestmark = pytest.mark.duckdb


@seeds(small=10, full=80, nightly=400, block=40)
def test_own_rows_print_what_they_printed_and_others_what_is_true(duckdb_engine, seeds):
    divided = 0
    for seed in seeds:
        case = random_case(seed)
        case.algorithm, case.suppress, case.tunings = "koptimize", Fraction(0), {}
        case.options = {"cuts": Fraction(4)}
        case.columns["number"] = "integer"
        case.columns["y"] = "text"
        case.target = "y"
        rng = random.Random(seed)
        for row in case.rows:
            row["number"] = rng.choice([None, *range(9)]) if seed % 3 else rng.randrange(9)
            row["y"] = rng.choice("NY") if row["number"] is None else "NY"[row["number"] > 4]
        case.quasi.append("number")
        try:
            plan, rows = case.run(duckdb_engine, KOPTIMIZE)
        except RequirementBreached:
            continue
        recoding = read_recoding(json.loads(json.dumps(plan.recoding.to_json())))
        trees = {name: build(name, lines) for name, lines in case.hierarchies.items()}
        own = recode(duckdb_engine, recoding, case.policy, case.columns, case.rows, case.quasi, trees)
        expected = {row["ppdm_key0"]: tuple(row[name] for name in case.quasi) for row in rows}
        assert own == [expected[row["id"]] for row in case.rows], seed
        divided += recoding.size > 2
        check_chain(recoding)
        check_others(duckdb_engine, case, recoding, trees, rng)
    assert divided >= 0.3 * len(seeds)


def check_others(engine, case, recoding, trees, rng):
    known = {name: {row[name] for row in case.rows} for name in case.quasi}
    rows = []
    for _ in range(30):
        row = dict(rng.choice(case.rows))
        for name in case.quasi:
            if rng.random() < 0.4:
                row[name] = rng.choice([None, -5, 4, 99] if name == "number" else [None, *WORDS, "new"])
        rows.append(row)
    printed = recode(engine, recoding, case.policy, case.columns, rows, case.quasi, trees)
    for row, labels in zip(rows, printed, strict=True):
        for name, label in zip(case.quasi, labels, strict=True):
            assert is_true(label, row[name], trees.get(name), known[name]), (label, row[name])


def is_true(label, value, tree, known):
    if label is not None and not label.strip("*"):
        return True
    if label is None or value is None:
        return label is None and value is None
    words = [str(value), *(tree.levels_of(value) if tree is not None and str(value) in tree.order else ())]
    if label in words:
        return True
    if label.startswith("{"):
        braces = len(label) - len(label.lstrip("{"))
        inside = members(label[braces:-braces])
        return bool(set(words) & set(inside)) or "..." in inside or any(" .. " in one for one in inside)
    low, _, high = label.strip("[)").replace("< ", ", ").replace(">= ", "").partition(", ")
    return isinstance(value, int) and (not low or int(low) <= value) and (not high or value < int(high))


def members(inside):
    """What a list names; a backslash stands before what belongs to a value."""
    found = [""]
    for piece in re.findall(r"\\.|, |.", inside, re.DOTALL):
        if piece == ", ":
            found.append("")
        else:
            found[-1] += piece[-1] if piece.startswith("\\") else piece
    return found
