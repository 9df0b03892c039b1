"""A07, A08: what somebody who knows the method learns from the choice of a node; each is measured, and declared."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations_with_replacement, permutations

import pyarrow as pa

from ppdm_sql.errors import RequirementBreached
from ppdm_sql.statements.names import Name

AREAS = ["a", "a", "b", "b", "b"]
LEAVES = {"a": "g", "b": "g", "c": "h", "d": "h"}


def publish(session, rows: pa.Table, required: str, roles: str, quasi: str):
    """The multiset of rows that is published, or None; and the names of the risks that are told."""
    session.engine.load(Name("t"), rows)
    statement = (
        f"CREATE TABLE t_open AS SELECT {', '.join(rows.column_names)} FROM t WITH ANONYMIZATION (ALGORITHM incognito "
        f"REQUIRE {required} QUASI IDENTIFIER ({quasi}) {roles})"
    )
    try:
        plan = session.plan(statement, rows=100)
        return Counter(plan.sample), {name for name, _ in plan.risks}
    except RequirementBreached:
        return None, set()
    finally:
        session.engine.drop_table(Name("t"))


def test_a07_minimality_is_measured_and_declared(memory):
    """All assignments of the illnesses that lead to the same release: how sure the attacker of a person's illness is."""
    worlds = sorted(set(permutations(["flu", "flu", "gout", "gout", "cold"])))
    by_output = defaultdict(list)
    for world in worlds:
        rows = pa.table({"area": AREAS, "illness": list(world)})
        found, risks = publish(memory, rows, "k = 2, simple_l = 2", "SENSITIVE (illness)", "area")
        if found is not None:
            by_output[frozenset(found.items())].append((world, risks))
    posterior = Fraction(0)
    for consistent in by_output.values():
        for person in range(len(AREAS)):
            counts = Counter(world[person] for world, _ in consistent)
            posterior = max(posterior, Fraction(max(counts.values()), len(consistent)))
        assert all("minimality" in risks for _, risks in consistent)
    assert len(by_output) > 1  # the choice depends on the illnesses: there is something to learn from it
    assert posterior > Fraction(2, 5)  # more than the class alone says, where it was made coarser; so it is declared


def test_a08_a_finer_value_is_never_the_same_in_every_world_unless_declared(memory, tmp_path):
    """All tables of four rows over a hierarchy of four leaves: which published labels stand for one value in every world."""
    memory.engine.load(Name("tree"), pa.table({"leaf": list(LEAVES), "one": list(LEAVES.values()), "all": ["*"] * 4}))
    by_output = defaultdict(list)
    for world in combinations_with_replacement(LEAVES, 4):
        found, risks = publish(memory, pa.table({"area": list(world)}), "k = 2", "", "area HIERARCHY tree ELSE 'x'")
        assert found is not None
        by_output[frozenset(found.items())].append((world, risks))
    pinned = cells = 0
    for output, consistent in by_output.items():
        for (label,), rows in output:
            cells += rows
            inside = {
                tuple(sorted(one for one in world if label in (one, LEAVES[one], "*"))) for world, _ in consistent
            }
            if label not in LEAVES and len(inside) == 1 and len(set(next(iter(inside)))) == 1:
                pinned += rows
                assert all("minimality" in risks for _, risks in consistent)
    assert cells
    assert pinned == 0
