"""What the judge finds on the tables of a release whose columns were parted: each by itself, and all of them joined."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from ppdm_sql.catalog.manifest import PartRecord, ProjectionsRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PpdmError
from ppdm_sql.methods.plan import ENTITY, KEY, PART, PERSON, QUASI, Projection, Projections
from ppdm_sql.planning import composition, joint, residual_risks
from ppdm_sql.planning.joint import JointOutcome, StagedPart, worst_outcomes
from ppdm_sql.planning.measure_table import Measured, sensitive_columns
from ppdm_sql.planning.request import Request
from ppdm_sql.planning.staging import STAGE, build_stage
from ppdm_sql.planning.utility import utility_of
from ppdm_sql.requirements import About, Requirement
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.verify.combined import Combined, judge_combinations
from ppdm_sql.verify.content import content_hash, content_sums, hash_of_sums, same_content
from ppdm_sql.verify.projections import (
    Joined,
    StoredPart,
    combinations_of,
    grouped_parts,
    judge_join,
    number_groups,
    numbered_rows,
    part_column,
    person_counts,
)
from ppdm_sql.verify.relation import Finding, Judgement, judge, null_matches_all_k
from ppdm_sql.watching import Progress

LIST = ("part", "table_name", "column_name", "role")


@dataclass(frozen=True)
class MeasuredProjections(Measured):
    """With what a record of the tables says; numbered: the staged rows with their groups, combinations: of these."""

    whole: str
    projections: ProjectionsRecord
    numbered: Name
    combinations: Name

    @property
    def content_hash(self) -> str:
        """Of the list and all tables."""
        return self.whole


def part_columns(part: Projection, target: str) -> tuple[str, ...]:
    return (*part.columns, target)


def part_query(engine: Engine, part: Projection, target: str, seed: int) -> exp.Select:
    """The rows of one table, in the order of a hash of what it publishes: nothing depends on the source."""
    names = part_columns(part, target)
    query = exp.Select(expressions=[aliased(column(name, "s"), name) for name in names]).from_(STAGE.table("s"))
    return query.order_by(engine.order_hash([column(name, "s") for name in names], seed))


def list_rows(request: Request, projections: Projections, names: Sequence[str]) -> list[tuple[int, str, str, str]]:
    """(part, table, column, role) of every column of every table."""
    roles = dict.fromkeys(request.source.sensitive, "sensitive") | dict.fromkeys(
        request.source.quasi, "quasi-identifier"
    )
    rows = []
    for number, (part, table) in enumerate(zip(projections.parts, names, strict=True), start=1):
        rows += [(number, table, name, roles.get(name, "insensitive")) for name in part.columns]
        rows.append((number, table, projections.target, "target"))
    return rows


def list_query(rows: Iterable[tuple[int, str, str, str]]) -> exp.Query:
    """The list as a query over literals, in its order."""
    picked = []
    for number, *texts in rows:
        values = [exp.cast(exp.Literal.number(number), "INT"), *(exp.cast(exp.convert(text), "TEXT") for text in texts)]
        picked.append(exp.Select(expressions=[aliased(value, name) for name, value in zip(LIST, values, strict=True)]))
    return exp.union(*picked, distinct=False) if len(picked) > 1 else picked[0]


def preview_projections(engine: Engine, request: Request, progress: Progress) -> MeasuredProjections:
    """The same measurements on working tables; nothing is stored that outlives the session."""
    build_stage(engine, request.plan, request.statement.policy.seed)
    found = _projections(request)
    seed = request.statement.policy.seed
    tables = [engine.work.table("preview", part_query(engine, part, found.target, seed)) for part in found.parts]
    names = [f"{request.name.last}_{number}" for number in range(1, len(tables) + 1)]
    listed = engine.work.table("preview", list_query(list_rows(request, found, names)))
    return measure_projections(engine, request, listed, tables, progress)


def measure_projections(
    engine: Engine, request: Request, listed: Name, tables: Sequence[Name], progress: Progress
) -> MeasuredProjections:
    """listed: the list of columns; tables: the stored tables of the parts, in their order."""
    progress("verifying", 0, None)
    return _Measurement(engine, request, listed, tables).run()


def whole_hash(listed: str, parts: Iterable[str]) -> str:
    """One number for the list and all tables."""
    return hashlib.sha256(json.dumps([listed, *parts]).encode("ascii")).hexdigest()


def _projections(request: Request) -> Projections:
    assert request.plan.projections is not None
    return request.plan.projections


@dataclass(frozen=True)
class _Measurement:
    engine: Engine
    request: Request
    listed: Name
    tables: Sequence[Name]

    def run(self) -> MeasuredProjections:
        engine, request, found = self.engine, self.request, self._found
        self._check_content()
        judged = [self._judge(part) for part in self._parts]
        hashes = [content_hash(engine, part.table, (*part.columns, found.target)) for part in self._parts]
        numbers = number_groups(engine, self._parts, found.target)
        by_person = request.source.entity is not None
        kept = (*KEY, PERSON, QUASI, *((ENTITY,) if by_person else ()))
        numbered = numbered_rows(engine, STAGE, self._parts, numbers, found.target, kept)
        shown = grouped_parts(self._parts)
        combinations = combinations_of(engine, numbered, len(shown))
        self._check_numbers(combinations)
        counts = person_counts(engine, numbered, len(shown), ENTITY) if by_person else numbers.counts
        k = residual_risks.asked_k(request.statement.policy)
        joined = judge_join(engine, found.rejoin, combinations, counts, self._classes(numbers.classes), k)
        combined = judge_combinations(
            engine, combinations, numbers.counts, numbers.classes, self._required_of_target,
            nulls_as_value=found.target in request.source.nulls_as_value, name=found.target,
        )  # fmt: skip
        judgement = self._together(judged, joined, combined)
        record = self._record(judged, hashes, joined, combinations)
        columns = {info.name: info.declared for info in engine.columns(self.listed)}
        sums, names = content_sums(engine, self.listed, list(columns)), tuple(columns)
        return MeasuredProjections(
            judgement=judgement,
            joint=tuple(self._joint(numbered, hashes)),
            content_sums=sums,
            columns=columns,
            k_null_matches_all=self._null_matches_all(judged),
            utility=utility_of(
                engine, request.source, STAGE, request.hierarchies,
                rows=request.plan.rows, published=judgement.rows, classes=judgement.classes,
            ),
            stored=self.listed,
            published=names,
            whole=whole_hash(hash_of_sums(names, sums), hashes),
            projections=record,
            numbered=numbered,
            combinations=combinations,
        )  # fmt: skip

    @property
    def _found(self) -> Projections:
        return _projections(self.request)

    @property
    def _parts(self) -> list[StoredPart]:
        return [
            StoredPart(table, part.columns, part.quasi)
            for part, table in zip(self._found.parts, self.tables, strict=True)
        ]

    @property
    def _required_of_target(self) -> list[Requirement]:
        is_sensitive = self._found.target in self.request.source.sensitive
        return list(self.request.statement.policy.value_requirements) if is_sensitive else []

    # -- each table --------------------------------------------------------------------------------

    def _check_content(self) -> None:
        """Every table is a projection of the staged rows, none lost and none added."""
        for part in self._parts:
            if not same_content(self.engine, STAGE, part.table, (*part.columns, self._found.target)):
                raise PpdmError("the stored rows differ from the staged rows; nothing was published")

    def _judge(self, part: StoredPart) -> Judgement:
        """The table as any table: k of its quasi-identifiers, and what is required of the sensitive columns in it."""
        engine, source, policy = self.engine, self.request.source, self.request.statement.policy
        inside = {*part.columns, self._found.target}
        sensitive = [one for one in sensitive_columns(source, self.request.hierarchies) if one.name in inside]
        sizes = policy.size_requirements if part.quasi else ()
        values = policy.value_requirements if sensitive else ()
        found = judge(engine, part.table, quasi=part.quasi, sensitive=sensitive, requirements=(*sizes, *values))
        if not part.quasi:
            return found
        if source.entity is None:
            risks = residual_risks.few_persons(engine, policy, source, part.quasi)
            residual_risks.refuse_unaccepted(policy, risks)
            return found
        by_person = judge(engine, STAGE, quasi=part.quasi, sensitive=[], requirements=sizes, entity=ENTITY)
        others = [one for one in found.findings if one.requirement.about is not About.SIZE]
        return replace(found, findings=(*by_person.findings, *others))

    def _null_matches_all(self, judged: Sequence[Judgement]) -> int | None:
        found = [
            null_matches_all_k(self.engine, part.table, part.quasi, one.patterns)
            for part, one in zip(self._parts, judged, strict=True)
            if part.quasi
        ]
        return min((one for one in found if one is not None), default=None)

    # -- together ----------------------------------------------------------------------------------

    def _classes(self, classes: Name) -> int:
        counted = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(classes.table())
        return int(self.engine.fetch_one(counted)[0])

    def _check_numbers(self, combinations: Name) -> None:
        total = exp.Select(expressions=[exp.Sum(this=column("ppdm_rows"))]).from_(combinations.table())
        found = int(self.engine.fetch_one(total)[0] or 0)
        if found != self.request.plan.rows:
            raise PpdmError(f"expected {self.request.plan.rows} stored rows, found {found}; nothing was published")

    def _together(self, judged: Sequence[Judgement], joined: Joined, combined: Combined) -> Judgement:
        rows, classes = (
            judged[0].rows,
            sum(one.classes for one, part in zip(judged, self._parts, strict=True) if part.quasi),
        )
        every = [one for found in judged for one in found.findings]
        findings = []
        for finding in merge_findings([*every, *combined.findings]):
            findings.append(with_joined(finding, joined) if finding.requirement.about is About.SIZE else finding)
        nulls = {name: rows for found in judged for name, rows in found.nulls.items()}
        return Judgement(rows, classes, tuple(findings), nulls, None)

    def _record(
        self, judged: Sequence[Judgement], hashes: Sequence[str], joined: Joined, combinations: Name
    ) -> ProjectionsRecord:
        found, engine = self._found, self.engine
        names = [info.name for info in engine.columns(combinations)]
        parts = []
        for number, (part, one, content) in enumerate(zip(self._parts, judged, hashes, strict=True), start=1):
            columns = {info.name: info.declared for info in engine.columns(part.table)}
            parts.append(
                PartRecord(
                    f"{self.request.name.last}_{number}", columns, part.quasi, one.classes, _smallest(one), content
                )
            )
        return ProjectionsRecord(
            parts=tuple(parts), target=found.target, rejoin=found.rejoin, written=found.text, filtered=found.filtered,
            combinations=joined.combinations, joined_smallest=joined.smallest, certain_rows=joined.certain_rows,
            combinations_hash=content_hash(engine, combinations, names),
        )  # fmt: skip

    def _joint(self, numbered: Name, hashes: Sequence[str]) -> list[JointOutcome]:
        """Each table together with the other releases of the same people."""
        request, partition = self.request, tuple(part.quasi for part in grouped_parts(self._parts))
        contents = [content for part, content in zip(self._parts, hashes, strict=True) if part.quasi]
        outcomes: list[JointOutcome] = []
        for number, content in enumerate(contents, start=1):
            keys = [*(column(name) for name in (*KEY, PERSON, QUASI)), aliased(column(part_column(number)), PART)]
            rows = self.engine.work.table("joint_rows", exp.Select(expressions=keys).from_(numbered.table()))
            outcomes += composition.judge_jointly(
                self.engine, request.statement.policy, request.source, name=request.name, former=request.former,
                content=content, rows=rows, part=StagedPart(number, content, partition),
            )  # fmt: skip
            if not outcomes:
                break  # nothing else is out
        return worst_outcomes(outcomes)


def _smallest(judged: Judgement) -> int | None:
    sizes = [
        one.achieved for one in judged.findings if one.requirement.about is About.SIZE and one.achieved is not None
    ]
    return int(min(sizes)) if sizes else None


def merge_findings(findings: Iterable[Finding]) -> list[Finding]:
    """One finding for each requirement and column: the worst figure, and what breaks it in all tables."""
    merged: dict[tuple[str, str | None], Finding] = {}
    for one in findings:
        about = (str(one.requirement), one.column)
        merged[about] = one if about not in merged else _worse(merged[about], one)
    return list(merged.values())


def _worse(one: Finding, other: Finding) -> Finding:
    figures = [found.achieved for found in (one, other) if found.achieved is not None]
    pick = max if one.requirement.smaller_is_stricter else min
    return replace(
        one,
        holds=one.holds and other.holds,
        achieved=pick(figures) if len(figures) == 2 else None,
        breaching_classes=one.breaching_classes + other.breaching_classes,
        breaching_rows=one.breaching_rows + other.breaching_rows,
    )


def with_joined(finding: Finding, joined: Joined) -> Finding:
    """K of all tables, joined on the class as well."""
    if joined.smallest is None:
        return finding
    least = Fraction(joined.smallest)
    return replace(
        finding,
        holds=finding.holds and joined.holds,
        achieved=least if finding.achieved is None else min(Fraction(finding.achieved), least),
        breaching_classes=finding.breaching_classes + joined.breaching,
        breaching_rows=finding.breaching_rows + joined.breaching_rows,
    )


def link_rows(measured: MeasuredProjections) -> exp.Select:
    """Which row of whom has which combination of groups, and how many rows have that key."""
    places = [info for info in measured.projections.parts if info.quasi_identifiers]
    named = [part_column(place) for place in range(1, len(places) + 1)]
    keys = [*(column(name, "n") for name in (*KEY, PERSON, QUASI)), column(PART, "c")]
    counted = aliased(exp.Count(this=exp.Star()), joint.ROWS)
    same = [exp.EQ(this=column(name, "c"), expression=column(name, "n")) for name in named]
    query = exp.Select(expressions=[*keys, counted]).from_(measured.numbered.table("n"))
    return query.join(measured.combinations.table("c"), on=exp.and_(*same)).group_by(*(key.copy() for key in keys))
