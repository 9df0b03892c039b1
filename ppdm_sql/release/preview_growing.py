"""What tonight's batch of a growing release would cost; made and measured on working tables."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from ppdm_sql.catalog.manifest import GrownRecord
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.methods.plan import ENTITY
from ppdm_sql.planning.cohorts import COHORT
from ppdm_sql.planning.form_plan import labels_of_stage
from ppdm_sql.planning.late_batch import Batch, plan_batch
from ppdm_sql.planning.manifest import finding_records
from ppdm_sql.planning.measure_table import sensitive_columns
from ppdm_sql.planning.planner import Planner
from ppdm_sql.planning.staging import STAGE, build_stage, public_columns
from ppdm_sql.planning.utility import utility_of
from ppdm_sql.policy.policy import Publish
from ppdm_sql.policy.words import many
from ppdm_sql.release.results import Planned
from ppdm_sql.requirements import Closeness
from ppdm_sql.statements.names import Name, column
from ppdm_sql.verify.relation import judge


def preview_refresh(planner: Planner, statement: Publish, former: ReleaseRecord) -> Planned:
    """Tonight's rows as they would be published, and what they lose; t is compared with the whole release later."""
    engine = planner.engine
    batch = plan_batch(planner, statement, former)
    found = Planned(str(former.name), _steps(planner, batch), (), columns=batch.source.release_columns)
    if batch.plan is None:
        return found
    build_stage(engine, batch.plan, statement.policy.seed)
    source = batch.source
    persons = [ENTITY] if source.entity is not None else []
    staged = engine.work.table("preview", public_columns(STAGE, [*source.release_columns, COHORT, *persons]))
    asked = [item for item in statement.policy.requirements if not isinstance(item, Closeness)]
    judgement = judge(
        engine, staged, quasi=[*source.release_quasi, COHORT], sensitive=sensitive_columns(source, batch.hierarchies),
        requirements=asked, entity=next(iter(persons), None),
    )  # fmt: skip
    utility = utility_of(
        engine, source, labels_of_stage(engine, batch.plan, source, staged), batch.hierarchies,
        rows=batch.new_rows, published=batch.new_rows, classes=judgement.classes,
    )  # fmt: skip
    picked = exp.Select(expressions=[column(name) for name in source.release_columns]).from_(staged.table())
    wanted = planner.preview_rows
    return replace(
        found,
        rows=batch.new_rows,
        classes=judgement.classes,
        findings=finding_records(judgement.findings),
        utility=utility.to_record(),
        sample=tuple(engine.fetch(picked.limit(wanted))) if wanted else (),
    )


def _steps(planner: Planner, batch: Batch) -> tuple[str, ...]:
    """What tonight would do, in words."""
    fresh, leaving = _count(planner, batch.fresh), len(batch.leaving.numbers)
    cohorts = 0 if batch.plan is None else batch.plan.classes
    waiting = fresh - batch.new_rows
    steps = [
        f"find the rows that are not published yet: {many(fresh, 'row')} on night {batch.night}",
        f"publish {many(batch.new_rows, 'row')} in {many(cohorts, 'cohort')} under the labels of the first night",
    ]
    if waiting > 0:
        steps.append(f"let {many(waiting, 'row')} wait for others")
    if leaving:
        steps.append(f"withdraw {many(leaving, 'part')} of cohorts whose rows were deleted or changed")
    return tuple(steps)


def _count(planner: Planner, table: Name) -> int:
    counted = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(table.table())
    return int(planner.engine.fetch_one(counted)[0])


def growth_lines(grown: GrownRecord) -> list[str]:
    """How a growing release stands, for people."""
    lost = []
    if grown.loss_tonight is not None:
        lost.append(f"the rows of this night lose {grown.loss_tonight}")
    if grown.loss_first is not None:
        lost.append(f"{'those' if lost else 'the rows'} of the first night {'' if lost else 'lose '}{grown.loss_first}")
    came = f"night {grown.night}: {many(grown.new_rows, 'new row')}, {many(grown.left_rows, 'row')} withdrawn"
    lines = [f"{came}; {', '.join(lost)}" if lost else came]
    if grown.waiting_rows:
        nights = many(grown.waiting_nights, "night")
        lines.append(f"{many(grown.waiting_rows, 'row')} of the source are waiting, the longest for {nights}")
    if grown.changed_rows or grown.gone_rows:
        lines.append(
            f"{many(grown.gone_rows, 'published row')} no longer in the source, {grown.changed_rows:,} changed there "
            "since they were published"
        )
    if grown.returning_people:
        narrowed = "; ".join(f'"{name}" could be narrowed for {few:,}' for name, few in (grown.narrowed or {}).items())
        people = many(grown.returning_people, "person has", "people have")
        lines.append(f"{people} rows in several cohorts: if a value stays the same for a person, {narrowed}")
    return lines
