"""Releases for the measures: a method run on a stored table, its rows in a working table, nothing published."""

from __future__ import annotations

from dataclasses import dataclass

from ppdm_sql.methods.base import Job
from ppdm_sql.methods.plan import TablePlan
from ppdm_sql.methods.registry import table_method
from ppdm_sql.planning.planner import Planner
from ppdm_sql.policy.grammar import parse
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import Name, own

RELEASED = own("ppdm_test_released")


@dataclass(frozen=True)
class Released:
    source: Source
    hierarchies: dict[str, Hierarchy]
    plan: TablePlan
    raw: Name
    relation: Name = RELEASED


def released(engine, columns, clause: str, table: str = "t") -> Released:
    """The plan of a statement over a table, and its rows in a working table."""
    picked = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
    text = f'CREATE TABLE open AS SELECT {picked} FROM "{table}" WITH ANONYMIZATION ({clause})'
    statement = parse(text, dialect=engine.dialect)[0]
    planner = Planner(engine)
    source = planner.source(statement)
    hierarchies = planner.hierarchies(statement, source)
    method = table_method(statement.policy.algorithm, statement.place)
    plan = method(Job(engine, source, statement.policy, hierarchies))
    engine.create_table(RELEASED, plan.wide(), temporary=True)
    return Released(source, hierarchies, plan, source.relation)
