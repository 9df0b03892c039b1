"""Is a release still what was published?  Asked of the stored rows, or of an exported file, and of nothing else."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ppdm_sql.catalog.manifest import (
    ExportRecord,
    FindingRecord,
    Levels,
    Manifest,
    PolicyRecord,
    RolesRecord,
    read_manifest,
)
from ppdm_sql.catalog.releases import DAMAGED, ReleaseRecord
from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.errors import PolicyError, PpdmError
from ppdm_sql.planning.joint import shown_name
from ppdm_sql.planning.manifest import finding_records, null_readings
from ppdm_sql.planning.residual_risks import LEAST_K
from ppdm_sql.policy.stored_requirements import requirements
from ppdm_sql.release.export.certificate import certificate
from ppdm_sql.release.export.open_file import RELEASE, open_export
from ppdm_sql.release.note_verdict import note_verdict
from ppdm_sql.release.publish import check_rows
from ppdm_sql.release.results import Verified
from ppdm_sql.requirements import About, Requirement, text_is_about
from ppdm_sql.statements.names import Name
from ppdm_sql.verify.content import content_hash
from ppdm_sql.verify.pseudonyms import lonely_persons
from ppdm_sql.verify.relation import Finding, Judgement, SensitiveColumn, judge
from ppdm_sql.verify.same_model import tree_differences


def reverify(engine: Engine, record: ReleaseRecord) -> Verified:
    """Re-measures a release in its database and notes the outcome in the catalog, if that can be written."""
    problems = content_problems(engine, record)
    judgement = _judge(engine, record) if engine.relation_kind(record.name) is not None else Judgement(0, 0, ())
    found = keep_person_findings(record, judgement.findings, unchanged=not problems)
    found += () if problems else (*_recorded_membership(record.manifest), *_recorded_loss(record.manifest))
    if judgement.rows:
        problems += tree_differences(engine, record.name, record.manifest.patterns)
    problems += pseudonym_problems(engine, record.name, record.manifest.policy, record.k_promised)
    outcome = Verified(
        shown_name(record),
        found,
        tuple(problems),
        judgement.rows,
        judgement.classes,
        reading_notes(record.roles, judgement),
        pseudo_model=record.manifest.pseudo_model,
    )
    return note_verdict(engine, record, outcome, check_rows(judgement.findings))


def reverify_damaged(engine: Engine, record: ReleaseRecord) -> Verified:
    """A release whose record cannot be read: nothing can be measured, and nothing holds."""
    problems = [] if record.manifest_is_intact else ["its manifest was edited in the catalog"]
    outcome = Verified(str(record.name), (), (DAMAGED, *problems), 0, 0, measured="not measured")
    return note_verdict(engine, record, outcome)


def content_problems(engine: Engine, record: ReleaseRecord) -> list[str]:
    """How the stored relation and its record differ; empty when they do not."""
    problems = [] if record.manifest_is_intact else ["its manifest was edited in the catalog"]
    columns = {info.name: info.declared for info in engine.columns(record.name)}
    if not columns:
        return [*problems, "the relation no longer exists"]
    if list(columns.items()) != list(record.columns.items()):
        return [*problems, "its columns differ from what was published"]
    if content_hash(engine, record.name, list(columns)) != record.content_hash:
        problems.append("its rows differ from what was published")
    if record.content_hash != record.manifest.content_hash:
        problems.append("its manifest and its record disagree")
    return problems


def pseudonym_problems(engine: Engine, relation: Name, policy: PolicyRecord, k: int | None) -> list[str]:
    """Whether k holds over all rows of a person, whom pseudonyms put together."""
    column = policy.pseudonym
    if column is None or not {column, *policy.quasi_identifiers} <= {info.name for info in engine.columns(relation)}:
        return []
    persons, rows = lonely_persons(engine, relation, quasi=policy.quasi_identifiers, pseudonym=column, k=k or LEAST_K)
    if not persons:
        return []
    return [f"{persons} persons (in {rows} rows) share the classes of all their rows with fewer than k - 1 others"]


def _judge(engine: Engine, record: ReleaseRecord) -> Judgement:
    roles = record.roles
    asked = [item for item in _requirements(record.requirements, record.manifest) if item.about is not About.MEMBERSHIP]
    stored = {info.name for info in engine.columns(record.name)}
    if not {*roles.published_quasi, *roles.sensitive} <= stored:
        return Judgement(0, 0, ())
    sensitive = sensitive_columns(roles.sensitive, roles.levels, roles.null_value_columns)
    return judge(engine, record.name, quasi=roles.published_quasi, sensitive=sensitive, requirements=asked)


def sensitive_columns(
    kinds: Mapping[str, Kind],
    levels: Levels,
    counting: Collection[str],
) -> list[SensitiveColumn]:
    """Sensitive columns for the judge; counting: those whose NULLs count as a value."""
    return [SensitiveColumn(name, kind, levels.get(name), name in counting) for name, kind in kinds.items()]


def reading_notes(roles: RolesRecord | PolicyRecord, judgement: Judgement) -> tuple[str, ...]:
    """How NULLs in sensitive columns were counted, where there are some."""
    if judgement.nulls and roles.nulls_as_value is None:
        listed = ", ".join(f'"{name}"' for name in judgement.nulls)
        return (f"NULL counts as a value in {listed}, because the version that published the release counted it so",)
    return tuple(null_readings(judgement.nulls, judgement.rows, roles.null_value_columns))


def keep_person_findings(
    record: ReleaseRecord, found: Sequence[Finding], *, unchanged: bool
) -> tuple[FindingRecord, ...]:
    """K by persons cannot be measured on rows without persons: the recorded finding stands while the rows do."""
    measured = finding_records(found)
    if not record.roles.counts_entities or not unchanged:
        return measured
    published = {item.requirement: item for item in record.manifest.findings}
    return tuple(
        published[item.requirement] if text_is_about(item.requirement, About.SIZE) else item for item in measured
    )


def _recorded_membership(content: Manifest) -> tuple[FindingRecord, ...]:
    """What was measured in a population stands while the rows do: only the publisher can label its people."""
    return tuple(one for one in content.findings if text_is_about(one.requirement, About.MEMBERSHIP))


def _recorded_loss(content: Manifest) -> tuple[FindingRecord, ...]:
    """What was required of the loss stands as it was measured, while the rows do: the source may be another by now."""
    return () if content.utility is None else content.utility.required


# -- files -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JudgedFile:
    """A file as a recipient can measure it, and the certificate that says how."""

    rows: int
    classes: int
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    content_hash: str
    certificate: str
    different_trees: tuple[str, ...] = ()  # where the promised trees no longer come out of it


def judged_file(
    path: Path,
    form: str,
    table: str,
    content: Manifest,
    levels: Levels | None = None,
) -> JudgedFile:
    """Measures what a manifest promises on the file itself."""
    policy = content.policy
    asked = _told_by_the_file(_requirements(policy.requirements, content), levels)
    with open_export(path, form, table, content.columns) as engine:
        kinds = {info.name: info.kind for info in engine.columns(RELEASE)}
        columns = {name: kinds[name] for name in policy.sensitive}
        sensitive = sensitive_columns(columns, levels or {}, policy.null_value_columns)
        judgement = judge(engine, RELEASE, quasi=policy.quasi_identifiers, sensitive=sensitive, requirements=asked)
        proof = certificate(engine, content, form=form, file=path.name, table=table, asked=asked, sensitive=sensitive)
        return JudgedFile(
            judgement.rows,
            judgement.classes,
            judgement.findings,
            reading_notes(policy, judgement),
            content_hash(engine, RELEASE, list(content.columns)),
            proof,
            tuple(tree_differences(engine, RELEASE, content.patterns)),
        )


def _requirements(texts: Sequence[str], content: Manifest) -> Sequence[Requirement]:
    """The requirements; only pseudo-data has none, because it speaks of nobody."""
    return () if not texts and content.pseudo_data is not None else requirements(texts)


def _told_by_the_file(asked: Sequence[Requirement], levels: Levels | None) -> list[Requirement]:
    """Leaves out what only the publisher can measure: along a hierarchy that is not published, or in a population."""
    return [item for item in asked if item.about is not About.MEMBERSHIP and (not item.follows_hierarchy or levels)]


def reverify_file(path: str | Path) -> Verified:
    """Re-measures an exported file against its manifest."""
    from ppdm_sql.release.export.parts import reverify_parts_file
    from ppdm_sql.release.export.write import file_sha256, manifest_path

    file = Path(path).resolve()
    content = _manifest_of(manifest_path(file))
    export = content.export
    assert export is not None  # read_manifest refuses a manifest without it
    if export.is_model:
        return _reverify_model_file(file, content)
    if content.projections is not None:
        return reverify_parts_file(file, content)
    problems = changed_companions(file, export)
    if file_sha256(file) != export.sha256:
        problems.append("the file differs from what was exported")
    try:
        judged = judged_file(file, export.format, str(export.table), content)
    except PolicyError as error:
        return Verified(file.name, (), (*problems, str(error)), 0, 0)
    if judged.content_hash != export.content_hash:
        problems.append("its rows differ from what was exported")
    if judged.rows != content.rows:
        problems.append("its number of rows differs from the manifest")
    if not export.spreadsheet_safe:  # escaped texts are other categories
        problems += judged.different_trees
    if {item.requirement for item in content.findings} != set(content.policy.requirements):
        problems.append("the findings in the manifest do not match its policy")
    return Verified(
        file.name,
        (
            *finding_records(judged.findings),
            *(() if problems else (*_recorded_membership(content), *_recorded_loss(content))),
        ),
        tuple(problems),
        judged.rows,
        judged.classes,
        judged.notes,
        pseudo_model=content.pseudo_model,
    )


def _reverify_model_file(file: Path, content: Manifest) -> Verified:
    """Whether a model file and its manifest fit, as the collector of models asks; the people were counted before."""
    from ppdm_sql.sharing.collect import read_shared

    assert content.export is not None
    try:
        found = read_shared(file).findings
    except PpdmError as error:
        return Verified(file.name, (), (str(error),), 0, 0, measured="not measured")
    problems = tuple(changed_companions(file, content.export))
    return Verified(
        file.name, found, problems, content.rows, content.classes, measured="measured when it was published"
    )


def changed_companions(file: Path, export: ExportRecord) -> list[str]:
    """The files handed over with this one that are there and are not those of the export."""
    from ppdm_sql.release.export.write import COMPANIONS, file_sha256

    known = {end: sha256 for end, sha256 in (export.companions or {}).items() if end in COMPANIONS}
    there = {end: file.with_name(f"{file.name}{end}") for end in known}
    return [
        f"{path.name} differs from what was exported with the file"
        for end, path in there.items()
        if path.is_file() and file_sha256(path) != known[end]
    ]


def _manifest_of(path: Path) -> Manifest:
    if not path.is_file():
        raise PolicyError(f"there is no {path.name} next to the file: export it again")
    return read_manifest(path.name, path.read_bytes())
