"""Random tables on which checks/, verify/ and the definitions must say the same, with every bound at its mark.

k, every l, confidence and t by all three distances, over NULL, NaN, look-alike texts and hostile names.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from ppdm_sql.engines.base import Engine
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.requirements import EntropyDiversity, KAnonymity
from ppdm_sql.statements.names import Name
from ppdm_sql.verify.relation import SensitiveColumn, judge, null_matches_all_k
from tests import oracles
from tests.checks.tables import Data, boundary_requirements, figure, random_data, verdicts
from tests.checks.test_measure_random import compare
from tests.conftest import arrow_type
from tests.nightly.summary import Options, Part, in_blocks, table

PER_BLOCK = 20


def run(options: Options) -> Part:
    compared: Counter[str] = Counter()
    problems: list[str] = []
    for found, bad in in_blocks(compare_block, range(options.seed, options.seed + options.agree), PER_BLOCK, options):
        compared.update(found)
        problems += bad
        options.say(f"agree: {compared['tables']} of {options.agree} tables, {len(problems)} differences")
    words = [[word, count] for word, count in sorted(compared.items()) if word != "tables"]
    text = table(["judged three times", "verdicts"], [["tables", compared["tables"]], *words])
    return Part("agree", text, dict(compared), problems)


def compare_block(seeds: Iterable[int]) -> tuple[Counter[str], list[str]]:
    counted: Counter[str] = Counter()
    problems = []
    for seed in seeds:
        with DuckDBEngine.open(":memory:") as engine:
            try:
                counted.update(compare_one(engine, random_data(seed), seed))
            except Exception:  # an AssertionError, or anything a table with hostile names can bring about
                problems.append(f"seed {seed}: {traceback.format_exc(limit=-2)}")
        counted["tables"] += 1
    return counted, problems


def compare_one(engine: Engine, data: Data, seed: int) -> Counter[str]:
    """checks/ against the definitions, then verify/ against the definitions, by the same requirements."""
    relation = Name("t")
    arrays = {
        name: pa.array(values, arrow_type(data.columns[name]))
        for name, values in zip(data.columns, zip(*data.rows, strict=True), strict=True)
    }
    engine.load(relation, pa.table(arrays), temporary=False)
    compare(engine, relation, data, seed)  # checks/
    info = {column.name: column for column in engine.columns(relation)}
    counted: Counter[str] = Counter()
    for name, distance in ((data.words, "hierarchical"), (data.numbers, "ordered")):
        asked = list(dict.fromkeys(boundary_requirements(data, name, distance)))
        ways = data.ways if name == data.words else None
        column = SensitiveColumn(name, info[name].kind, ways, name in data.nulls_as_value)
        found = judge(engine, relation, quasi=data.quasi, sensitive=[column], requirements=asked)
        assert (found.rows, found.classes) == (len(data.rows), len(data.classes))
        assert len(found.findings) == len(asked)
        for finding in found.findings:
            _compare_finding(data, name, distance, finding)
            counted[finding.requirement.word] += 1
    assert null_matches_all_k(engine, relation, data.quasi) == oracles.null_matches_all_k(data.mappings, data.quasi)
    _compare_persons(engine, relation, data)
    return counted


def _compare_finding(data: Data, name: str, distance: str, finding: Any) -> None:
    requirement = finding.requirement
    meant = requirement
    if getattr(requirement, "distance", "") is None:
        meant = type(requirement)(requirement.t, distance)
    breaking = [key for key, holds in verdicts(data, name, meant).items() if not holds]
    assert finding.holds == (not breaking), requirement
    assert finding.breaching_classes == len(breaking), requirement
    assert finding.breaching_rows == sum(len(data.classes[key]) for key in breaking), requirement
    if not isinstance(requirement, EntropyDiversity):  # for people: a float near the exact figure
        worst = figure(data, name, meant)
        assert finding.achieved == (None if worst == float("inf") else worst), requirement


def _compare_persons(engine: Engine, relation: Name, data: Data) -> None:
    k = figure(data, None, KAnonymity(1), by_entity=True)
    for asked in (KAnonymity(max(k, 1)), KAnonymity(k + 1)):
        found = judge(
            engine, relation, quasi=data.quasi, sensitive=[], requirements=[asked], entity=data.entity
        ).findings[0]
        expected = verdicts(data, None, asked, by_entity=True)
        assert (found.holds, found.achieved) == (all(expected.values()), k), asked
        assert found.breaching_classes == sum(not holds for holds in expected.values()), asked
