"""The table of every row that a growing release ever published, and what is measured on it."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.catalog import growth
from ppdm_sql.engines.base import Engine
from ppdm_sql.methods.plan import PERSON
from ppdm_sql.planning import joint
from ppdm_sql.planning.cohorts import COHORT
from ppdm_sql.planning.measure_table import sensitive_columns
from ppdm_sql.planning.staging import public_columns
from ppdm_sql.policy.policy import Policy
from ppdm_sql.requirements import DistinctDiversity
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.load import statement as sql_statement
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.verify.relation import Judgement, judge

SINCE, UNTIL = "ppdm_since", "ppdm_until"
_ENTITY = "ppdm_entity"


def rows_out(rows: Name, columns: Sequence[str], night: int | None = None) -> exp.Select:
    """Columns of the rows that are out; night: of those that were published on it."""
    found = public_columns(rows, columns).where(exp.Is(this=column(UNTIL, "s"), expression=exp.Null()))
    if night is None:
        return found
    return found.where(exp.EQ(this=column(SINCE, "s"), expression=exp.Literal.number(night)))


def judge_cohorts(
    engine: Engine,
    rows: Name,
    source: Source,
    hierarchies: dict[str, Hierarchy],
    policy: Policy,
    night: int | None = None,
) -> Judgement:
    """Every requirement on every cohort that is out, on the stored rows; night: that was published on it."""
    quasi = [*source.release_quasi, COHORT]
    view = cohort_view(engine, rows, [*quasi, *source.sensitive], night)
    entity = _ENTITY if source.entity is not None else None
    sensitive = sensitive_columns(source, hierarchies)
    return judge(engine, view, quasi=quasi, sensitive=sensitive, requirements=policy.requirements, entity=entity)


def cohort_view(engine: Engine, rows: Name, columns: Sequence[str], night: int | None = None) -> Name:
    """The rows that are out as the judge reads them: with the person, who is NULL where nobody is known."""
    picked = rows_out(rows, list(dict.fromkeys(columns)), night)
    unknown = joint.nobody(engine)
    known = exp.Case(ifs=[exp.If(this=exp.NEQ(this=column(PERSON, "s"), expression=unknown), true=column(PERSON, "s"))])
    return engine.work.table("cohorts", picked.select(aliased(known, _ENTITY)))


def count_waiting(engine: Engine, growth_id: str, night: int) -> tuple[int, int]:
    """How many rows wait, and for how many refreshes the first of them has."""
    counted = exp.Select(expressions=[exp.Count(this=exp.Star()), exp.Min(this=column(SINCE))])
    rows, first = engine.fetch_one(counted.from_(growth.waiting_name(growth_id).table()))
    return int(rows), 0 if first is None else night - int(first) + 1


def measure_returning(
    engine: Engine, rows: Name, source: Source, policy: Policy, among: Name | None = None
) -> tuple[int | None, dict[str, int] | None]:
    """How many people have rows in several cohorts, and of how many a value that stays the same could be narrowed.

    among: a relation with all the persons who could have.
    """
    if source.entity is None:
        return None, None
    least = max((item.l for item in policy.requirements if isinstance(item, DistinctDiversity)), default=2)
    nobody = int(engine.fetch_one(exp.Select(expressions=[joint.nobody(engine)]))[0])
    narrowed, people = {}, 0
    for name in source.sensitive:
        held = rows_out(rows, [COHORT]).select(aliased(column(name, "s"), "ppdm_value"))
        there = rows_out(rows, [PERSON, COHORT])
        if among is not None:
            some = exp.Select(expressions=[column(PERSON, "f")]).from_(among.table("f"))
            there = there.where(exp.In(this=column(PERSON, "s"), query=some.subquery()))
        tables = {"grown": held.subquery("grown"), "people": there.subquery("people")}
        query = sql_statement("release/growing_returning", tables)
        people, few = map(int, engine.fetch_one(query, nobody=nobody, least=least))
        narrowed[name] = few
    return people, narrowed
