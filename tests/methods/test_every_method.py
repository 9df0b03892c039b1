"""Every method publishes on every engine, and what it published verifies."""

from __future__ import annotations

import pytest

from ppdm_sql.methods.registry import model_methods, table_methods

COLUMNS = {"id": "INTEGER", "age": "INTEGER", "ward": "TEXT", "illness": "TEXT"}
ROWS = [(n, 20 + n * 7 % 40, "abc"[n % 3], "flu" if n % 5 < 3 else "gout") for n in range(60)]
ROLES = {"mondrian": "SENSITIVE (illness)", "ldm": "SENSITIVE (illness) TARGET (illness)"}
MORE = {"tpp": "PRESERVE (cart (max_leaves = 3)) ACCEPT RISK (boundaries)"}
METHODS = [*(("TABLE", name) for name in table_methods()), *(("MODEL", name) for name in model_methods())]


@pytest.mark.parametrize(("kind", "method"), METHODS, ids=lambda word: word.lower())
def test_a_release_of_every_method_verifies(engine, make_table, open_session, kind, method):
    make_table(engine, "people", COLUMNS, ROWS)
    session = open_session(engine)
    release = session.publish(
        f"CREATE {kind} people_open AS SELECT id, age, ward, illness FROM people WITH ANONYMIZATION (ALGORITHM {method} "
        f"REQUIRE k = 5 IDENTIFIER (id) QUASI IDENTIFIER (age, ward) {ROLES.get(method, 'TARGET (illness)')} "
        f"{MORE.get(method, '')} SEED 7)"
    )
    assert release.findings[0].holds
    assert session.verify("people_open").holds
