"""Are the tables of a parted release still what was published, and does joining them still give k?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from ppdm_sql.catalog.ledger import combinations_name
from ppdm_sql.catalog.manifest import ProjectionsRecord
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.planning.joint import shown_name
from ppdm_sql.planning.measure_projections import merge_findings, whole_hash, with_joined
from ppdm_sql.policy.stored_requirements import requirements
from ppdm_sql.release.note_verdict import note_verdict
from ppdm_sql.release.publish import check_rows
from ppdm_sql.release.results import Verified
from ppdm_sql.release.reverify import keep_person_findings, sensitive_columns
from ppdm_sql.requirements import About, Requirement, k_of
from ppdm_sql.statements.names import Name
from ppdm_sql.verify.combined import judge_combinations
from ppdm_sql.verify.content import content_hash
from ppdm_sql.verify.projections import Joined, StoredPart, judge_join, number_groups
from ppdm_sql.verify.relation import Finding, judge

LEAST_K = 2


def reverify_projections(engine: Engine, record: ReleaseRecord) -> Verified:
    """Re-measures every table and the join, and notes the outcome in the catalog."""
    found = record.manifest.projections
    assert found is not None
    problems = projection_problems(engine, record)
    if any("no longer exists" in one or "columns differ" in one for one in problems):
        return note_verdict(
            engine, record, Verified(shown_name(record), (), tuple(problems), 0, 0, measured="not measured")
        )
    findings, rows, classes = _measure(engine, record, found, joins=not problems)
    shown = keep_person_findings(record, findings, unchanged=not problems)
    outcome = Verified(shown_name(record), shown, tuple(problems), rows, classes)
    return note_verdict(engine, record, outcome, check_rows(findings))


def projection_problems(engine: Engine, record: ReleaseRecord) -> list[str]:
    """How the list, the tables and their record differ; empty when they do not."""
    found = record.manifest.projections
    assert found is not None
    problems = [] if record.manifest_is_intact else ["its manifest was edited in the catalog"]
    listed = _content(engine, record.name, record.columns)
    hashes = [listed]
    if isinstance(listed, list):
        problems += listed
    for part in found.parts:
        name = _table(record, part.table)
        content = _content(engine, name, part.columns)
        if isinstance(content, list):
            problems += content
        elif content != part.content_hash:
            problems.append(f"the rows of {name} differ from what was published")
        hashes.append(content)
    texts = [one for one in hashes if isinstance(one, str)]
    if len(texts) == len(hashes) and not problems and whole_hash(texts[0], texts[1:]) != record.content_hash:
        problems.append("its list of columns differs from what was published")
    return problems + _combination_problems(engine, record, found)


def _content(engine: Engine, name: Name, columns: Mapping[str, str]) -> str | list[str]:
    """The hash of a table, or why it has none."""
    there = {info.name: info.declared for info in engine.columns(name)}
    if not there:
        return [f"{name} no longer exists"]
    if list(there.items()) != list(columns.items()):
        return [f"{name}: its columns differ from what was published"]
    return content_hash(engine, name, list(there))


def _combination_problems(engine: Engine, record: ReleaseRecord, found: ProjectionsRecord) -> list[str]:
    table = combinations_name(record.release_id)
    names = [info.name for info in engine.columns(table)]
    if names and content_hash(engine, table, names) == found.combinations_hash:
        return []
    return ["the table of its combinations in schema ppdm was edited or dropped"]


def _table(record: ReleaseRecord, name: str) -> Name:
    return Name(*record.name.parts[:-1], name)


def stored_parts(record: ReleaseRecord, found: ProjectionsRecord) -> list[StoredPart]:
    return [
        StoredPart(
            _table(record, part.table),
            tuple(name for name in part.columns if name != found.target),
            part.quasi_identifiers,
        )
        for part in found.parts
    ]


# -- measuring -----------------------------------------------------------------------------------------------


def _measure(
    engine: Engine, record: ReleaseRecord, found: ProjectionsRecord, *, joins: bool
) -> tuple[list[Finding], int, int]:
    """Every table by itself and, where nothing was edited, what the join gives."""
    asked, roles = requirements(record.requirements), record.roles
    parts = stored_parts(record, found)
    every, rows, classes = judge_tables(engine, parts, found.target, asked, roles.sensitive, roles.null_value_columns)
    if not joins:
        return merge_findings(every), rows, classes
    joined, combined = _join(engine, record, found, parts, asked)
    merged = merge_findings([*every, *combined])
    return (
        [with_joined(one, joined) if one.requirement.about is About.SIZE else one for one in merged],
        rows,
        classes,
    )


def judge_tables(
    engine: Engine,
    parts: Sequence[StoredPart],
    target: str,
    asked: Sequence[Requirement],
    sensitive: Mapping[str, Kind],
    nulls_as_value: Sequence[str],
) -> tuple[list[Finding], int, int]:
    """The findings of every table, the rows of each, and the classes of all."""
    sizes = [item for item in asked if item.about is About.SIZE]
    values = [item for item in asked if item.about is About.VALUES]
    every: list[Finding] = []
    rows = classes = 0
    for part in parts:
        inside = {name: kind for name, kind in sensitive.items() if name in (*part.columns, target)}
        columns = sensitive_columns(inside, {}, tuple(nulls_as_value))
        wanted = (*(sizes if part.quasi else ()), *(values if columns else ()))
        one = judge(engine, part.table, quasi=part.quasi, sensitive=columns, requirements=wanted)
        every += one.findings
        rows, classes = one.rows, classes + (one.classes if part.quasi else 0)
    return every, rows, classes


def _join(
    engine: Engine,
    record: ReleaseRecord,
    found: ProjectionsRecord,
    parts: Sequence[StoredPart],
    asked: Sequence[Requirement],
) -> tuple[Joined, Sequence[Finding]]:
    numbers = number_groups(engine, parts, found.target)
    combinations = combinations_name(record.release_id)
    counted = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(numbers.classes.table())
    classes = int(engine.fetch_one(counted)[0])
    k = k_of(asked) or LEAST_K
    joined = judge_join(engine, found.rejoin, combinations, numbers.counts, classes, k)
    is_sensitive = found.target in record.roles.sensitive
    values = [item for item in asked if item.about is About.VALUES] if is_sensitive else []
    combined = judge_combinations(
        engine, combinations, numbers.counts, numbers.classes, values,
        nulls_as_value=found.target in record.roles.null_value_columns, name=found.target,
    )  # fmt: skip
    return joined, combined.findings
