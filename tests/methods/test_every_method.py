"""Every method publishes on every engine, and what it published verifies."""

from __future__ import annotations

import pytest

from ppdm_sql.methods.base import Job
from ppdm_sql.methods.registry import method_named, model_methods, table_methods
from ppdm_sql.policy.grammar import parse
from ppdm_sql.source.relation import open_source

COLUMNS = {"id": "INTEGER", "age": "INTEGER", "ward": "TEXT", "illness": "TEXT"}
ROWS = [(n, 20 + n * 7 % 40, "abc"[n % 3], "flu" if n % 5 < 3 else "gout") for n in range(60)]
ROLES = {"mondrian": "SENSITIVE (illness)", "ldm": "SENSITIVE (illness) TARGET (illness)"}
MORE = {"tpp": "PRESERVE (cart (max_leaves = 3)) ACCEPT RISK (boundaries)"}
OPTIONS = {"dmpd": "(parts = ((age), (ward)))"}
NEEDS_TRANSACTIONS = {"dmpd"}
METHODS = [*(("TABLE", name) for name in table_methods()), *(("MODEL", name) for name in model_methods())]


@pytest.mark.parametrize(("kind", "method"), METHODS, ids=lambda word: word.lower())
def test_a_release_of_every_method_verifies(engine, make_table, open_session, kind, method):
    if method in NEEDS_TRANSACTIONS and not engine.has_transactions:
        pytest.skip(f"{method} publishes several tables in one transaction")
    make_table(engine, "people", COLUMNS, ROWS)
    session = open_session(engine)
    release = session.publish(
        f"CREATE {kind} people_open AS SELECT id, age, ward, illness FROM people WITH ANONYMIZATION (ALGORITHM {method} {OPTIONS.get(method, '')} "
        f"REQUIRE k = 5 IDENTIFIER (id) QUASI IDENTIFIER (age, ward) {ROLES.get(method, 'TARGET (illness)')} "
        f"{MORE.get(method, '')} SEED 7)"
    )
    assert release.findings[0].holds
    assert session.verify("people_open").holds


@pytest.mark.duckdb
@pytest.mark.parametrize("method", [name for name in table_methods() if name not in OPTIONS])
def test_how_many_statements_a_plan_takes_does_not_depend_on_the_table(duckdb_engine, make_table, method):
    """Rows are counted once, and everything else happens here."""
    taken = []
    for size in (60, 600):
        name = f"people_{size}"
        rows = [(n, 20 + n * 7 % 40, "abcdefgh"[n * n % 8], "flu" if n % 5 < 3 else "gout") for n in range(size)]
        make_table(duckdb_engine, name, COLUMNS, rows)
        text = (
            f"CREATE TABLE open AS SELECT id, age, ward, illness FROM {name} WITH ANONYMIZATION (ALGORITHM {method} {OPTIONS.get(method, '')} "
            f"REQUIRE k = 5 IDENTIFIER (id) QUASI IDENTIFIER (age, ward) {ROLES.get(method, 'TARGET (illness)')} SEED 7)"
        )
        statement = parse(text)[0]
        source = open_source(duckdb_engine, statement.query, statement.policy)
        said: list[str] = []
        duckdb_engine.on_statement = said.append
        plan = method_named(method).table(Job(duckdb_engine, source, statement.policy, {}))
        duckdb_engine.on_statement = None
        taken.append(len(said))
        assert (plan.recoding is not None) == method_named(method).labels_new_rows
    assert taken[0] == taken[1] <= 15
