"""The people of the populations that a policy names, under the labels of its plan: what the judge counts."""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.methods.base import Job, populations_of
from ppdm_sql.methods.shared.population_labels import people_by_label
from ppdm_sql.planning.request import Request
from ppdm_sql.requirements import PopulationRequirement
from ppdm_sql.statements.names import Name, Word, aliased, column

PEOPLE = "ppdm_people"


def labelled_populations(engine: Engine, request: Request) -> dict[tuple[Word, ...], Name]:
    """Per population a working table: the release's quasi-identifiers, and how many people have these labels."""
    import pyarrow as pa

    source, policy = request.source, request.statement.policy
    job = Job(engine, source, policy, request.hierarchies)
    cells, found = populations_of(job), {}
    for item in policy.requirements:
        if not isinstance(item, PopulationRequirement):
            continue
        held = people_by_label(
            item, request.plan.later_rows, cells[item.population], request.hierarchies, source.quasi, job.owner
        )
        columns = {f"ppdm_l{place}": pa.array(texts, pa.string()) for place, texts in enumerate(held.labels.values())}
        loaded = engine.work.load("people", pa.table({**columns, PEOPLE: pa.array(held.people, pa.int64())}))
        picked = [aliased(column(f"ppdm_l{place}"), name) for place, name in enumerate(held.labels)]
        query = exp.Select(expressions=[*picked, column(PEOPLE)]).from_(loaded.table())
        found[item.population] = engine.work.table("labelled_people", query)
    return found
