"""Persons with several rows: k counts them, not their rows.

Distinct persons do not add up over the parts of a span.  So one row of each person weighs 1 and the others nothing:
these weights do add up, and a part's sum is never more than the persons in it.  A person whose rows are in one span
counts there in full; one whose rows are in several spans counts in one of them, and the others must have k without
him.  What is published is judged by distinct persons (verify/).
"""

from __future__ import annotations

import numpy as np
from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.source.encode import CODE, ROWS, VALUE, canonical
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import aliased, column
from ppdm_sql.statements.rowtext import hash_numbers
from ppdm_sql.trees.coded_attribute import CodedAttribute
from ppdm_sql.trees.criteria import Ints


def weight(engine: Engine, source: Source) -> exp.Expr:
    """1 for one row of each person.  Which one follows from the rows alone; a row of nobody (NULL) weighs nothing.

    A public class parts people from the start, so a person has one such row in each of his classes.
    """
    person = _person(engine, source)
    apart = [person]
    if source.target is not None and source.target in source.quasi:
        apart.append(canonical(engine, source.info(source.target), "r"))
    order = [exp.Ordered(this=part) for part in hash_numbers(engine, [column(name, "r") for name in source.published])]
    place = exp.Window(this=exp.RowNumber(), partition_by=apart, order=exp.Order(expressions=order))
    counts = exp.And(
        this=exp.EQ(this=place, expression=exp.Literal.number(1)),
        expression=exp.Not(this=exp.Is(this=person.copy(), expression=exp.Null())),
    )
    return exp.Case(ifs=[exp.If(this=counts, true=exp.Literal.number(1))], default=exp.Literal.number(0))


def _person(engine: Engine, source: Source) -> exp.Expr:
    assert source.entity is not None
    return canonical(engine, source.info(source.entity), "r")


def persons_per_value(engine: Engine, source: Source, coded: CodedAttribute) -> Ints:
    """Per code of a categorical attribute, how many different persons have the value."""
    persons = exp.Count(this=exp.Distinct(expressions=[_person(engine, source)]))
    value = canonical(engine, coded.lookup.column, "r")
    query = (
        exp.Select(expressions=[aliased(column(CODE, "l"), CODE), aliased(persons, "ppdm_persons")])
        .from_(source.relation.table("r"))
        .join(coded.lookup.table.table("l"), on=exp.EQ(this=column(VALUE, "l"), expression=value))
        .group_by(column(CODE, "l"))
    )
    found = engine.arrays(query)
    held = np.zeros(coded.size, dtype=np.int64)
    held[found[CODE].astype(np.int64)] = found["ppdm_persons"]
    return held


def rows_of_persons(engine: Engine, source: Source, persons: int) -> int:
    """So many rows, wherever they are taken from, are of at least that many persons."""
    if source.entity is None:
        return persons
    rows = exp.Count(this=exp.Star())
    person = aliased(_person(engine, source), "ppdm_person")
    each = exp.Select(expressions=[person, aliased(rows, ROWS)]).from_(source.relation.table("r"))
    each = each.group_by(_person(engine, source))
    nobody = exp.Is(this=column("ppdm_person", "p"), expression=exp.Null())
    most = [
        exp.Case(ifs=[exp.If(this=which, true=column(ROWS, "p"))]) for which in (exp.Not(this=nobody), nobody.copy())
    ]
    query = exp.Select(expressions=[exp.Max(this=one) for one in most]).from_(each.subquery("p"))
    of_one, of_nobody = engine.fetch_one(query)
    return persons * int(of_one or 1) + int(of_nobody or 0)


def several_rows(engine: Engine, source: Source) -> tuple[int, int]:
    """How many rows there are, and how many different persons they are of."""
    persons = exp.Count(this=exp.Distinct(expressions=[_person(engine, source)]))
    query = exp.Select(expressions=[exp.Count(this=exp.Star()), persons]).from_(source.relation.table("r"))
    rows, people = engine.fetch_one(query)
    return int(rows), int(people)
