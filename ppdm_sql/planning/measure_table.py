"""What the judge finds on the rows of a table or view: on a working table, or on what was just stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from ppdm_sql.checks.weighted_risk import WeightedRisk, weighted_risk
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PpdmError, RequirementBreached
from ppdm_sql.methods.plan import ENTITY, PART, TablePlan
from ppdm_sql.planning import composition, joint, residual_risks
from ppdm_sql.planning.form_plan import labels_of_stage
from ppdm_sql.planning.populations import labelled_populations
from ppdm_sql.planning.request import Request
from ppdm_sql.planning.staging import STAGE, build_stage, public_columns
from ppdm_sql.planning.utility import Utility, utility_of
from ppdm_sql.policy.words import many
from ppdm_sql.requirements import About, AverageRisk, KAnonymity, Requirement, UniqueShare
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.relation import Source
from ppdm_sql.source.weights import WEIGHT
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.verify.content import Sums, content_sums, hash_of_sums, same_content
from ppdm_sql.verify.nulls import Pattern
from ppdm_sql.verify.pseudonyms import lonely_persons
from ppdm_sql.verify.relation import Judgement, SensitiveColumn, judge, null_matches_all_k
from ppdm_sql.verify.same_model import tree_differences
from ppdm_sql.watching import Progress

CLASS = "ppdm_class"


@dataclass(frozen=True)
class Measured:
    """What the judge found on the stored rows."""

    judgement: Judgement
    joint: tuple[joint.JointOutcome, ...]
    content_sums: Sums
    columns: Mapping[str, str]
    k_null_matches_all: int | None
    utility: Utility
    stored: Name
    published: tuple[str, ...]
    weighted: WeightedRisk | None = field(default=None, kw_only=True)  # where the policy names sampling weights

    @property
    def content_hash(self) -> str:
        return hash_of_sums(self.published, self.content_sums)


def preview(engine: Engine, request: Request, progress: Progress) -> Measured:
    """The same measurements on a working table; nothing is stored that outlives the session."""
    build_stage(engine, request.plan, request.statement.policy.seed)
    query = public_columns(STAGE, request.plan.published)
    return measure_stored(engine, request, engine.work.table("preview", query), progress)


def measure_stored(engine: Engine, request: Request, stored: Name, progress: Progress) -> Measured:
    source, policy = request.source, request.statement.policy
    progress("verifying", 0, None)
    sensitive = sensitive_columns(source, request.hierarchies)
    judgement = judge(
        engine,
        stored,
        quasi=source.release_quasi,
        sensitive=sensitive,
        requirements=policy.requirements,
        populations=labelled_populations(engine, request),
        with_labels=not source.forms,
    )
    _check_complete(request, judgement)
    _check_trees(engine, request, stored)
    published = request.plan.published
    others = set(published) - set(source.release_quasi)  # without them rows are as different as classes
    sums = content_sums(engine, stored, published, rows=judgement.rows if others else 0)
    content = hash_of_sums(published, sums)
    _check_pseudonyms(engine, request, stored)
    if request.plan.hides_labels:
        _check_stage(engine, request, stored)
    if source.entity is not None:
        judgement = _judged_by_person(engine, request, judgement, stored)
    else:
        residual_risks.refuse_unaccepted(
            policy, residual_risks.few_persons(engine, policy, source, source.release_quasi)
        )
    columns = {info.name: info.declared for info in engine.columns(stored) if info.name in published}
    return Measured(
        judgement,
        tuple(
            composition.judge_jointly(engine, policy, source, name=request.name, former=request.former, content=content)
        ),
        sums,
        columns,
        null_matches_all_k(engine, stored, source.release_quasi, judgement.patterns),
        utility_of(
            engine,
            source,
            labels_of_stage(engine, request.plan, source, stored),
            request.hierarchies,
            rows=request.plan.rows,
            published=judgement.rows,
            classes=judgement.classes,
            labels=judgement.labels,
        ),
        stored,
        published,
        weighted=_risk_with_weights(engine, request, stored),
    )


def sensitive_columns(source: Source, hierarchies: Mapping[str, Hierarchy]) -> list[SensitiveColumn]:
    """The sensitive columns of a source as the judge reads them."""
    return [
        SensitiveColumn(name, source.info(name).kind, leaf_levels(hierarchies.get(name)), name in source.nulls_as_value)
        for name in source.sensitive
    ]


def leaf_levels(hierarchy: Hierarchy | None) -> Mapping[str, tuple[str, ...]] | None:
    return None if hierarchy is None else {leaf: hierarchy.levels_of(leaf) for leaf in hierarchy.order}


def _check_complete(request: Request, judgement: Judgement) -> None:
    expected = request.plan.rows - request.plan.suppressed_rows
    if judgement.rows != expected:
        raise PpdmError(f"expected {expected} stored rows, found {judgement.rows}; nothing was published")


def _check_trees(engine: Engine, request: Request, stored: Name) -> None:
    """The trees that were to be preserved, grown again from what was stored."""
    different = tree_differences(engine, stored, request.plan.patterns)
    if different:
        raise PpdmError(f"the stored rows do not preserve the trees: {'; '.join(different)}; nothing was published")


def _check_pseudonyms(engine: Engine, request: Request, stored: Name) -> None:
    """K over all rows of a person, whom pseudonyms put together."""
    source, k = request.source, residual_risks.asked_k(request.statement.policy)
    if source.pseudonym is None:
        return
    persons, rows = lonely_persons(engine, stored, quasi=source.release_quasi, pseudonym=source.pseudonym, k=k)
    if persons:
        raise RequirementBreached(
            f"PSEUDONYM ({source.pseudonym}): {many(persons, 'person')} (in {many(rows, 'row')}) share the classes of "
            f"all their rows with fewer than {k - 1} others, and a pseudonym shows which rows are one person's; "
            "nothing was published.  Publish one row per person, ask for a smaller k, or leave the column out"
        )


def _check_stage(engine: Engine, request: Request, stored: Name) -> None:
    if not same_content(engine, STAGE, stored, request.plan.published):
        raise PpdmError("the stored rows differ from the staged rows; nothing was published")


def _risk_with_weights(engine: Engine, request: Request, stored: Name) -> WeightedRisk | None:
    """Risk with weights, on the stage: it is what was stored plus the weight, which does not leave."""
    if request.source.weight is None:
        return None
    _check_stage(engine, request, stored)
    infos = {info.name: info for info in engine.columns(STAGE)}
    quasi = [infos[name] for name in request.source.release_quasi]
    return weighted_risk(engine, STAGE, quasi, infos[WEIGHT])


def _judged_by_person(engine: Engine, request: Request, rows: Judgement, stored: Name) -> Judgement:
    """K by distinct persons, on the stage: it is what was stored plus the person, which does not leave."""
    _check_stage(engine, request, stored)
    quasi, asked = request.source.release_quasi, request.statement.policy.size_requirements
    numbered = numbered_classes(engine, request.plan, quasi, asked)
    if numbered is None:
        by_person = judge(engine, STAGE, quasi=quasi, sensitive=[], requirements=asked, entity=ENTITY)
    else:
        known = {0: Pattern(0, rows.classes, rows.rows)}
        by_person = judge(
            engine, numbered, quasi=[CLASS], sensitive=[], requirements=asked, entity=ENTITY, patterns=known
        )
    others = [finding for finding in rows.findings if finding.requirement.about is not About.SIZE]
    return replace(rows, findings=(*by_person.findings, *others))


def numbered_classes(
    engine: Engine, plan: TablePlan, quasi: Sequence[str], asked: Sequence[Requirement]
) -> Name | None:
    """The staged rows, each with its person and one number for all that is printed of its quasi-identifiers.

    Labels that are printed alike have one number, however many parts have them.  None where labels are not kept apart
    from the rows, or where something is asked of single quasi-identifiers.
    """
    labels = plan.labels
    if labels is None or plan.forms or not set(quasi) <= set(labels.columns):
        return None
    if any(not isinstance(one, KAnonymity | AverageRisk | UniqueShare) for one in asked):
        return None
    printed = [engine.exact_text(labels.columns[name].copy()) for name in quasi]
    least = exp.Window(this=exp.Min(this=column(PART, "l")), partition_by=printed)
    classes = exp.Select(expressions=[column(PART, "l"), aliased(least, CLASS)]).from_(labels.table.table("l"))
    same = exp.EQ(this=column(PART, "c"), expression=column(PART, "s"))
    rows = exp.Select(expressions=[column(CLASS, "c"), column(ENTITY, "s")]).from_(STAGE.table("s"))
    return engine.work.table("classes", rows.join(classes.subquery("c"), on=same))
