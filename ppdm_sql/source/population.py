"""The table of a population that a requirement names: its columns, and that everybody of the source is in it."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PopulationError
from ppdm_sql.policy.words import many
from ppdm_sql.requirements import PopulationRequirement
from ppdm_sql.source.encode import canonical
from ppdm_sql.source.relation import Source, match
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import Word, aliased, column


def open_population(engine: Engine, source: Source, asked: PopulationRequirement) -> Source:
    """The population with the columns of the source's quasi-identifiers, one row per person."""
    name = engine.name(asked.population)
    columns = {info.name: info for info in engine.columns(name)}
    if not columns:
        raise PopulationError(f"{asked}: there is no table {name}")
    for form in source.forms.values():
        raise PopulationError(f"{asked}: only labels can be looked up in a population: leave AS {form.value} out")
    found = {one: match(Word(one), columns) for one in source.quasi}
    lacking = [f'"{one}"' for one, there in found.items() if there is None]
    if lacking:
        raise PopulationError(f"{asked}: {name} has no column {', '.join(lacking)}, which is needed to find people")
    other = [
        f'"{one}" ({columns[there].kind.value} there, {source.info(one).kind.value} here)'
        for one, there in found.items()
        if there is not None and columns[there].kind is not source.info(one).kind
    ]
    if other:
        raise PopulationError(f"{asked}: {name} has other types in {', '.join(other)}: cast them in a view")
    picked = [aliased(column(there), one) for one, there in found.items() if there is not None]
    relation = engine.work.table("population", exp.Select(expressions=picked).from_(name.table()), analyze=True)
    infos = {info.name: info for info in engine.columns(relation)}
    people = replace(source, relation=relation, columns=infos, entity=None, key=(), sensitive=(), target=None)
    _refuse_strangers(engine, source, people, asked)
    return people


def _refuse_strangers(engine: Engine, source: Source, people: Source, asked: PopulationRequirement) -> None:
    """Refuses a population that lacks people of the source: its figures would promise too much."""
    here = _values(engine, source)
    if source.entity is not None:
        here = here.select(aliased(column(source.entity), "ppdm_entity")).distinct()
    relations = {"source": here.subquery("source"), "population": _values(engine, people).subquery("population")}
    names = [f"ppdm_q{place}" for place in range(len(source.quasi))]
    (lacking,) = engine.fetch_one(statement("release/population_lacks", relations, {"quasi": names}))
    if lacking:
        who = "row" if source.entity is None else "person"
        raise PopulationError(
            f"{asked}: the population lacks {many(int(lacking), who)} of the source: everybody who is published has to "
            "be in it, with the same quasi-identifiers"
        )


def _values(engine: Engine, source: Source) -> exp.Select:
    values = [canonical(engine, source.info(name)) for name in source.quasi]
    named = [aliased(value, f"ppdm_q{place}") for place, value in enumerate(values)]
    return exp.Select(expressions=named).from_(source.relation.table())
