"""Which classes break a requirement: the statements of sql/checks/, bound to a real relation.

They are complete statements over stand-in names, so each is a dbt test or an audit as it stands; here they get
their columns and exact parameters.  The rows they return hold values of the data: show them only when asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from sqlglot import exp

from ppdm_sql.checks.class_table import printed_column, subquery
from ppdm_sql.checks.closeness import hierarchy_levels
from ppdm_sql.checks.exact_compare import ENTROPY_NEAR, entropy_reaches
from ppdm_sql.checks.measurement import Sensitive
from ppdm_sql.checks.part_ratios import logarithm_limit, ratio_limit
from ppdm_sql.engines.base import ColumnInfo, Engine, Row, Rows
from ppdm_sql.errors import PolicyError
from ppdm_sql.requirements import (
    About,
    AlphaShare,
    AverageRisk,
    BetaLikeness,
    Closeness,
    ConfidenceLimit,
    DeltaDisclosure,
    DistinctDiversity,
    EnhancedLikeness,
    EntropyDiversity,
    HookTable,
    KAnonymity,
    RecursiveDiversity,
    Requirement,
    SimpleDiversity,
    UniqueShare,
)
from ppdm_sql.source.encode import CODE, VALUE, canonical, make_lookup
from ppdm_sql.statements.load import bind, statement
from ppdm_sql.statements.names import Name, aliased, column, identifier

LOGARITHM_NEAR = 1e-9  # relative to a ratio; the rounding of six steps is below 1e-14
_SENSITIVE, _ENTITY = "ppdm_sensitive", "ppdm_entity"
Parameters = dict[str, Any]


@dataclass(frozen=True)
class BreachStatement:
    """A statement over the stand-ins source, quasi, sensitive and entity that returns the classes in breach.

    in_doubt_but_holds: whether the class of a returned row holds after all, where SQL alone cannot decide.
    """

    query: exp.Query
    params: Parameters
    in_doubt_but_holds: Callable[[Row], bool] | None = None


# (requirement, whether persons are counted) -> its statement
BREACH_STATEMENTS: HookTable[Callable[[Any, bool], BreachStatement]] = HookTable("checked by a single SQL statement")


def breaches(
    engine: Engine,
    relation: Name,
    requirement: Requirement,
    *,
    quasi: Sequence[ColumnInfo],
    sensitive: Sensitive | None = None,
    entity: ColumnInfo | None = None,
) -> Rows:
    """The classes that break a requirement: their quasi-identifiers, then the figures of the statement.

    An empty relation has no class, hence no breach; that it satisfies nothing is for measure() to say.
    """
    asked = _for_column(requirement, sensitive)
    with engine.workspace():
        hierarchy = None
        if asked.follows_hierarchy and sensitive is not None:
            hierarchy = _level_lines(engine, relation, sensitive)
        query, params = breach_query(
            engine, relation, asked, quasi=quasi, sensitive=sensitive, entity=entity, hierarchy=hierarchy
        )
        rows = engine.fetch(query, **params)
    holds = BREACH_STATEMENTS.of(asked)(asked, entity is not None).in_doubt_but_holds
    return rows if holds is None else [row for row in rows if not holds(row)]


def breach_query(
    engine: Engine,
    relation: Name,
    requirement: Requirement,
    *,
    quasi: Sequence[ColumnInfo],
    sensitive: Sensitive | None = None,
    entity: ColumnInfo | None = None,
    hierarchy: Name | None = None,
) -> tuple[exp.Query, Parameters]:
    """The statement that returns the breaches, and its parameters: for a dbt test, an audit or EXPLAIN.

    hierarchy: for the hierarchical distance, a relation as sql/checks/closeness_hierarchical.sql describes it.
    For entropy the statement also returns classes in doubt; breaches() decides them.
    """
    asked = _for_column(requirement, sensitive)
    found = BREACH_STATEMENTS.of(asked)(asked, entity is not None)
    params = dict(found.params)
    if sensitive is not None and asked.about is About.VALUES:
        params["null_is_value"] = int(sensitive.nulls_as_value)
    query = bind(found.query, columns={"quasi": [info.name for info in quasi]})
    for standin, real in (("sensitive", _SENSITIVE), ("entity", _ENTITY)):
        _put_column(query, standin, real)
    # Relations come last: the user's columns inside them may have a stand-in's name.
    _put_relation(query, "source", subquery(_source(engine, relation, quasi, sensitive, entity), "ppdm_source"))
    if hierarchy is not None:
        _put_relation(query, "hierarchy", hierarchy.table("hierarchy"))
    return query, params


def _for_column(requirement: Requirement, sensitive: Sensitive | None) -> Requirement:
    if requirement.about is not About.VALUES:
        return requirement
    if sensitive is None:
        raise PolicyError(f"{requirement} needs a SENSITIVE column")
    return requirement.for_column(sensitive.info, has_hierarchy=sensitive.hierarchy is not None)


def _fraction(name: str, value: Fraction) -> Parameters:
    return {f"{name}_numerator": value.numerator, f"{name}_denominator": value.denominator}


def _source(
    engine: Engine,
    relation: Name,
    quasi: Sequence[ColumnInfo],
    sensitive: Sensitive | None,
    entity: ColumnInfo | None,
) -> exp.Select:
    """The relation with its columns as they are compared: text by its bytes, quasi-identifiers as they print."""
    query = exp.Select().from_(relation.table())
    for info in quasi:
        query = query.select(aliased(canonical(engine, printed_column(info)), info.name))
    if sensitive is not None:
        query = query.select(aliased(canonical(engine, sensitive.info), _SENSITIVE))
    if entity is not None:
        query = query.select(aliased(canonical(engine, entity), _ENTITY))
    return query if query.expressions else query.select(aliased(exp.Literal.number(0), "ppdm_nothing"))


def _put_column(query: exp.Query, standin: str, real: str) -> None:
    """Replaces a stand-in that is one column.  A column of the user's that has its name is quoted already."""
    for found in query.find_all(exp.Column):
        if found.name == standin and not found.this.args.get("quoted"):
            found.set("this", identifier(real))


def _put_relation(query: exp.Query, standin: str, real: exp.Expr) -> None:
    for found in list(query.find_all(exp.Table)):
        if found.name == standin and not found.this.args.get("quoted"):
            found.replace(real.copy())


def _level_lines(engine: Engine, relation: Name, sensitive: Sensitive) -> Name:
    """The hierarchy of the values there are, as lines (value, level, node)."""
    assert sensitive.hierarchy is not None
    lookup = make_lookup(engine, relation, sensitive.info)
    values = [row[0] for row in lookup.values(engine)]
    nodes = hierarchy_levels(sensitive.hierarchy, values, lookup.null_code)
    level, code = (part.ravel().astype(np.int32) for part in np.indices(nodes.shape))
    coded = engine.work.load("lines", {CODE: code, "ppdm_level": level, "ppdm_node": nodes.ravel()}, analyze=True)
    query = exp.Select(expressions=[column(VALUE, "v"), column("ppdm_level", "n"), column("ppdm_node", "n")])
    same = exp.EQ(this=column(CODE, "v"), expression=column(CODE, "n"))
    query = query.from_(coded.table("n")).join(lookup.table.table("v"), on=same, join_type="left")
    return engine.work.table("hierarchy", query, analyze=True)


def _in_doubt_but_holds(row: Row, l: Fraction) -> bool:
    """A class of the entropy statement that floating point could not tell, and whole numbers can."""
    counts, entropy = row[-2], row[-1]
    if entropy is None or float(entropy) < math.log(l) - ENTROPY_NEAR:  # None: no value is known
        return False
    return entropy_reaches([int(count) for count in counts.split(",")], l)


def _near_but_below(row: Row) -> bool:
    """A class of the enhanced statement in which each value that floating point cannot tell is below its logarithm."""
    certain, near = row[-2:]
    if certain == 1 or near is None:
        return False
    cells = [[int(count) for count in cell.split(" ")] for cell in near.split(",")]
    return all(
        Fraction(here * rows, known * everywhere) <= logarithm_limit(rows, everywhere)
        for here, known, everywhere, rows in cells
    )


# -- one statement per requirement -------------------------------------------------------------------


def _from_file(name: str, params: Parameters) -> BreachStatement:
    return BreachStatement(statement(f"checks/{name}"), params)


def _undersized_classes(asked: KAnonymity, by_entity: bool) -> BreachStatement:
    return _from_file("undersized_classes" + ("_by_entity" if by_entity else ""), {"k": asked.k})


def _of_distinct(asked: DistinctDiversity, by_entity: bool) -> BreachStatement:
    return _from_file("distinct_diversity", {"l": asked.l})


def _of_simple(asked: SimpleDiversity, by_entity: bool) -> BreachStatement:
    return _from_file("simple_diversity", _fraction("l", asked.l))


def _of_confidence(asked: ConfidenceLimit | AlphaShare, by_entity: bool) -> BreachStatement:
    return _from_file("confidence_limit", _fraction("limit", asked.limit))


def _of_recursive(asked: RecursiveDiversity, by_entity: bool) -> BreachStatement:
    return _from_file("recursive_diversity", {**_fraction("c", asked.c), "l": asked.l})


def _of_entropy(asked: EntropyDiversity, by_entity: bool) -> BreachStatement:
    params = {**_fraction("l", asked.l), "tolerance": -ENTROPY_NEAR}
    query = statement("checks/entropy_diversity")
    return BreachStatement(query, params, lambda row: _in_doubt_but_holds(row, asked.l))


def _of_closeness(asked: Closeness, by_entity: bool) -> BreachStatement:
    return _from_file(f"closeness_{asked.distance}", _fraction("t", asked.t))


def _of_beta(asked: BetaLikeness, by_entity: bool) -> BreachStatement:
    return _from_file("beta_likeness", _fraction("beta", asked.beta))


def _of_enhanced_beta(asked: EnhancedLikeness, by_entity: bool) -> BreachStatement:
    params = {**_fraction("beta", asked.beta), "tolerance": LOGARITHM_NEAR}
    return BreachStatement(statement("checks/enhanced_beta_likeness"), params, _near_but_below)


def _of_delta(asked: DeltaDisclosure, by_entity: bool) -> BreachStatement:
    limit = _fraction("limit", ratio_limit(asked.delta))
    return _from_file("delta_disclosure", {name: str(number) for name, number in limit.items()})


def _of_average(asked: AverageRisk, by_entity: bool) -> BreachStatement:
    return _by_rows(asked, "average_risk", asked.limit, by_entity)


def _of_unique(asked: UniqueShare, by_entity: bool) -> BreachStatement:
    if asked.fraction is not None:
        raise PolicyError(f"{asked} is an estimate, which no SQL statement can check: leave FRACTION out")
    return _by_rows(asked, "unique_share", asked.limit, by_entity)


def _by_rows(asked: Requirement, name: str, limit: Fraction, by_entity: bool) -> BreachStatement:
    if by_entity:
        raise PolicyError(f"{asked} is checked by an SQL statement that counts rows: leave ENTITY out")
    return _from_file(name, _fraction("limit", limit))


BREACH_STATEMENTS.add(KAnonymity, _undersized_classes)
BREACH_STATEMENTS.add(AverageRisk, _of_average)
BREACH_STATEMENTS.add(UniqueShare, _of_unique)
BREACH_STATEMENTS.add(DistinctDiversity, _of_distinct)
BREACH_STATEMENTS.add(SimpleDiversity, _of_simple)
BREACH_STATEMENTS.add(ConfidenceLimit, _of_confidence)
BREACH_STATEMENTS.add(RecursiveDiversity, _of_recursive)
BREACH_STATEMENTS.add(EntropyDiversity, _of_entropy)
BREACH_STATEMENTS.add(Closeness, _of_closeness)
BREACH_STATEMENTS.add(AlphaShare, _of_confidence)
BREACH_STATEMENTS.add(BetaLikeness, _of_beta)
BREACH_STATEMENTS.add(EnhancedLikeness, _of_enhanced_beta)
BREACH_STATEMENTS.add(DeltaDisclosure, _of_delta)
