"""The hierarchies next to the papers' tables all load, complete, with the levels their manifest lists."""

from __future__ import annotations

import json
from typing import Any

import duckdb
import pytest
from public_data import DATA, needs_data
from sqlglot import exp

from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.policy.policy import HierarchyFile
from ppdm_sql.source.encode import canonical
from ppdm_sql.source.hierarchy import load_hierarchy
from ppdm_sql.statements.names import Name

pytestmark = needs_data
FILES = {
    "adult": "adult_train.csv",
    "car": "car.csv",
    "cmc": "cmc.csv",
    "german_credit": "german_credit.csv",
    "nursery": "nursery.csv",
}


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    return json.loads((DATA / "MANIFEST.json").read_text("utf-8"))


@pytest.mark.parametrize("dataset", FILES)
def test_all_hierarchies_of_a_table_load(manifest: dict[str, Any], dataset: str) -> None:
    entry = next(each for each in manifest["datasets"] if each["file"] == FILES[dataset])
    types = {each["name"]: each["sql_type"] for each in entry["columns"]}
    listed = [each for each in manifest["hierarchies"] if each["dataset"] == dataset]
    assert listed
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT * FROM read_csv(?, header = true, columns = ?)",
            [str(DATA / entry["file"]), types],
        )
        engine = DuckDBEngine(connection)
        kinds = {info.name: info for info in engine.columns(Name("t"))}
        for hierarchy in listed:
            info = kinds[hierarchy["column"]]
            value = canonical(engine, info)
            counted = exp.Select(expressions=[value, exp.Count(this=exp.Star())]).from_(Name("t").table())
            rows = [row for row in engine.fetch(counted.group_by(value.copy())) if row[0] is not None]
            tree = load_hierarchy(
                HierarchyFile(hierarchy["file"]),
                column=info.name,
                kind=info.kind,
                values=[row[0] for row in rows],
                rows=[row[1] for row in rows],
                engine=engine,
                folder=DATA,
            )
            assert [len(nodes) for nodes in tree.levels] == hierarchy["labels_per_level"], hierarchy["file"]
