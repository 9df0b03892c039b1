"""Pseudo-rows next to random() of the same shape, and the pruning of a large tree.

The bars: PGEN makes ten million rows in at most 5 times the time that CREATE TABLE AS SELECT random() takes for as many
rows and columns; ATP prunes a tree of 10,000 leaves in less than 2 seconds.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.model_cases import grown_tree

_LEAVES = 10_000


def pgen(database: str) -> Callable[[], object]:
    """PGEN from a tree of about 500 leaves, as many rows as the database has people, into a table."""
    return _made(database, "pgen")


def basegen(database: str) -> Callable[[], object]:
    """The same by BASEGEN."""
    return _made(database, "basegen")


def random_rows(database: str) -> Callable[[], object]:
    """The floor: as many rows and columns, every one plain random()."""
    from sqlglot import exp

    from ppdm_sql.statements.names import aliased, own

    session, tree, rows = _asked(database)
    columns = len(_generated(session, tree, 1, "pgen").columns)
    drawn = [aliased(exp.func("random"), f"c{number}") for number in range(columns)]
    query = exp.Select(expressions=drawn).from_(exp.func("range", exp.Literal.number(rows)))

    def stored() -> dict[str, float]:
        session.engine.create_table(own("ppdm_bench_random"), query, temporary=True)
        return {"columns": columns}

    return stored


def atp_prune(database: str) -> Callable[[], object]:
    """Merging alone, exact counts, k = 10 and simple_l = 2, on a random tree of 14 classes."""
    from fractions import Fraction

    from benchmarks.atp_speed import random_tree
    from ppdm_sql.methods.atp.node_labels import ByCounts
    from ppdm_sql.methods.atp.prune import leaves_of, prune
    from ppdm_sql.methods.shared.class_limits import ClassDemands
    from ppdm_sql.requirements import SimpleDiversity

    root = random_tree(_LEAVES)
    judge = ByCounts(ClassDemands(10, (SimpleDiversity(Fraction(2)),)))
    return lambda: {"leaves": sum(1 for _ in leaves_of(prune(root, judge).root))}


def _made(database: str, algorithm: str) -> Callable[[], object]:

    session, tree, rows = _asked(database)

    def stored() -> dict[str, float]:
        made = _generated(session, tree, rows, algorithm)
        made.store(session.engine, "bench_made")
        return {"columns": len(made.columns)}

    return stored


def _asked(database: str):
    """The session, a tree that asks for most columns, and how many rows to make."""
    from sqlglot import exp

    from ppdm_sql.statements.names import Name

    session, tree = grown_tree(database)
    count = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(Name("people").table())
    return session, tree, int(session.engine.fetch_one(count)[0])


def _generated(session, tree, rows: int, algorithm: str):
    from ppdm_sql.pseudodata.generate import GenerationOrder, generate

    return generate(session.engine, tree, GenerationOrder(algorithm, rows, seed=7))


PSEUDO_CASES: dict[str, Callable[[str], Callable[[], object]]] = {
    one.__name__: one for one in (random_rows, pgen, basegen, atp_prune)
}
FLOORS = {"pgen": "random_rows", "basegen": "random_rows"}
