"""A night of a growing release: rows are added in cohorts, and parts of cohorts leave.

Everything is measured on what is stored, in one transaction; if anything fails, nothing changes.

Every row that was ever published is in the release's own table in schema ppdm, with its cohort and the nights from
which and until which it was out.  A row that left keeps its key and its cohort there, and nothing else; one that is
out again with other values keeps the sensitive ones that it had, as long as it is out (planning/former_values.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlglot import exp

from ppdm_sql.catalog import growth, ledger, releases
from ppdm_sql.catalog.manifest import GrownRecord, GrowthRecord, Manifest, SealedRecord
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.catalog.store import now
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PpdmError
from ppdm_sql.methods.plan import KEY, PART, PERSON, QUASI, ResidualRisk, TablePlan
from ppdm_sql.planning import composition, joint, manifest, residual_risks
from ppdm_sql.planning.cohorts import COHORT, QUICK, ROW, TOLD
from ppdm_sql.planning.form_plan import labels_of_stage, with_labels
from ppdm_sql.planning.late_batch import Batch, plan_batch
from ppdm_sql.planning.leaving import CHANGED, GONE, HOW, count_still_touched
from ppdm_sql.planning.measure_table import Measured
from ppdm_sql.planning.planner import Planner
from ppdm_sql.planning.request import Request, new_release_id
from ppdm_sql.planning.staging import STAGE, build_stage, key_columns, public_columns
from ppdm_sql.planning.utility import Utility, loss_text, refuse_loss, utility_of
from ppdm_sql.policy.policy import Policy, Publish
from ppdm_sql.release.grown_rows import (
    SINCE,
    UNTIL,
    count_waiting,
    judge_cohorts,
    measure_returning,
    rows_out,
)
from ppdm_sql.release.ledger_lock import publishing, still_current
from ppdm_sql.release.publish import check_rows, refuse_breaches, roles_record
from ppdm_sql.release.readers import note_readers
from ppdm_sql.release.sealed import plus, sealed_record, still_sealed, stored_sums, with_sealed
from ppdm_sql.release.supersede import hand_on_growth
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.load import statement as sql_statement
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.verify.content import content_sums, hash_of_sums, same_content
from ppdm_sql.verify.nulls import class_patterns, null_matches_all_k
from ppdm_sql.verify.printed import Stored
from ppdm_sql.verify.relation import Judgement

_KEPT = (*ROW, *KEY, PERSON, QUASI, COHORT)  # of a row that left
_PRIVATE = (*_KEPT, TOLD, QUICK)


# -- the table of rows -----------------------------------------------------------------------------------


def stored_rows(published: Sequence[str], night: int) -> exp.Select:
    """The staged rows in the form in which they are stored: what is published, and their keys."""
    picked = [aliased(column(name, "s"), name) for name in (*published, *_PRIVATE)]
    since = aliased(exp.cast(exp.Literal.number(night), "INT"), SINCE)
    until = aliased(exp.cast(exp.Null(), "INT"), UNTIL)
    return exp.Select(expressions=[*picked, since, until]).from_(STAGE.table("s"))


def no_waiting() -> exp.Select:
    """The table of keys that wait, while nobody does."""
    row = [aliased(exp.cast(exp.Literal.number(0), "BIGINT"), name) for name in ROW]
    since = aliased(exp.cast(exp.Literal.number(0), "INT"), SINCE)
    return exp.Select(expressions=[*row, since]).where(exp.false())


def _emptied(name: str) -> exp.EQ:
    return exp.EQ(this=column(name), expression=exp.Null())


def _insert(engine: Engine, into: Name, query: exp.Query, columns: Sequence[str]) -> None:
    listed = [exp.to_identifier(name, quoted=True) for name in columns]
    engine.execute(exp.Insert(this=exp.Schema(this=into.table(), expressions=listed), expression=query))


# -- a night ---------------------------------------------------------------------------------------------


def refresh(planner: Planner, statement: Publish, former: ReleaseRecord, run_id: str) -> ReleaseRecord:
    """Publishes tonight's rows of a growing release, or raises and leaves everything as it was."""
    batch = plan_batch(planner, statement, former)
    if batch.plan is not None:
        build_stage(planner.engine, batch.plan, statement.policy.seed)
    planner.progress("writing", 0, None)
    with publishing(planner.engine):
        still_current(planner.engine, former)
        return _Growing(planner, batch, run_id).store()


@dataclass(frozen=True)
class _Measured:
    judgement: Judgement
    only_tonight: bool  # whether tonight's cohorts alone were measured
    sealed: SealedRecord
    classes: int
    content: str
    joint: tuple[joint.JointOutcome, ...]
    utility: Utility
    tonight: Utility | None
    k_null_matches_all: int | None


@dataclass
class _Growing:
    planner: Planner
    batch: Batch
    run_id: str

    @property
    def engine(self) -> Engine:
        return self.planner.engine

    @property
    def source(self) -> Source:
        return self.batch.source

    @property
    def policy(self) -> Policy:
        return self.batch.statement.policy

    @property
    def rows(self) -> Name:
        return growth.rows_name(self.batch.growth.growth_id)

    @property
    def name(self) -> Name:
        return self.batch.former.name

    @property
    def published(self) -> tuple[str, ...]:
        return self.source.release_columns

    def store(self) -> ReleaseRecord:
        engine, batch = self.engine, self.batch
        sealed = None if batch.leaving.numbers else batch.growth.sealed
        sealed = still_sealed(engine, sealed, self.policy, self.rows, self.published)
        left = self._leave()
        self._wait()
        self._renew_quick_numbers()
        if batch.plan is not None:
            query = stored_rows(self.published, batch.night)
            _insert(engine, self.rows, query, query.named_selects)
        if engine.relation_kind(self.name) == "table":
            self._append_to_table(left)
        self.planner.progress("verifying", 0, None)
        measured = self._measure(sealed)
        refuse_breaches(str(self.name), measured.judgement, self.source)
        refuse_loss(str(self.name), measured.utility.to_record(self.policy.loss_limits))
        composition.refuse_joint(str(self.name), self.policy, measured.joint)
        return self._record(measured, left)

    # -- writing -----------------------------------------------------------------------------------

    def _leave(self) -> int:
        """Takes away what leaves tonight; gives the number of rows."""
        engine, leaving = self.engine, self.batch.leaving
        if not leaving.numbers:
            return 0
        numbers = engine.work.load("numbers", {"ppdm_number": np.array(sorted(leaving.numbers), dtype=np.int64)})
        same = exp.EQ(this=column("ppdm_number", "n"), expression=column("ppdm_number", "l"))
        picked = exp.Select(expressions=[column(name, "l") for name in (*ROW, HOW, "ppdm_number")])
        picked = picked.from_(leaving.rows.table("l")).join(numbers.table("n"), on=same)
        rows = engine.work.table("who_leaves", picked)
        kept = set(self.source.sensitive) if self.policy.value_requirements else set()
        changed = [exp.EQ(this=column(UNTIL), expression=exp.Literal.number(self.batch.night))]
        changed.append(exp.EQ(this=column(COHORT), expression=column("ppdm_number", "b")))
        changed += [_emptied(name) for name in self.published if name not in kept]
        self._update_rows(rows, changed, exp.Is(this=column(UNTIL, "a"), expression=exp.Null()))
        for_good = exp.NEQ(this=column(HOW, "b"), expression=exp.Literal.number(CHANGED))
        self._update_rows(rows, [_emptied(name) for name in self.published], for_good)
        counted = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(rows.table())
        return int(engine.fetch_one(counted)[0])

    def _renew_quick_numbers(self) -> None:
        """Rows that are the same by their slow numbers alone get new quick ones."""
        changes = self.batch.changes
        if changes.missing_rows > self.batch.leaving.touched_rows:
            same = exp.EQ(this=column(TOLD, "a"), expression=column(TOLD, "b"))
            is_out = exp.Is(this=column(UNTIL, "a"), expression=exp.Null())
            renewed = exp.EQ(this=column(QUICK), expression=column(QUICK, "b"))
            self._update_rows(changes.keyed, [renewed], exp.and_(same, is_out))

    def _update_rows(self, rows: Name, changed: list[exp.EQ], where: exp.Expr) -> None:
        """Changes the rows ("a") that have the keys of these ("b")."""
        same_row = [exp.EQ(this=column(name, "a"), expression=column(name, "b")) for name in ROW]
        self.engine.execute(
            exp.Update(
                this=self.rows.table("a"),
                expressions=changed,
                from_=exp.From(this=rows.table("b")),
                where=exp.Where(this=exp.and_(*same_row, where)),
            )
        )

    def _wait(self) -> None:
        """Notes who waits from now on."""
        engine, table = self.engine, growth.waiting_name(self.batch.growth.growth_id)
        keys = exp.Select(expressions=[column(name) for name in (*ROW, SINCE)]).from_(self.batch.fresh.table())
        if self.batch.plan is not None:
            tables = {"fresh": self.batch.fresh.table(), "staged": STAGE.table()}
            keys_left = sql_statement("release/growing_waiting", tables)
        else:
            keys_left = keys
        engine.drop_table(table)
        engine.create_table(table, keys_left)

    def _append_to_table(self, left: int) -> None:
        """Brings the public table up to date: tonight's rows alone, unless rows left."""
        engine = self.engine
        if left:
            engine.execute(exp.Delete(this=self.name.table()))
            _insert(engine, self.name, rows_out(self.rows, self.published), self.published)
        elif self.batch.plan is not None:
            _insert(engine, self.name, public_columns(STAGE, self.published), self.published)

    # -- measuring ---------------------------------------------------------------------------------

    def _measure(self, sealed: SealedRecord | None) -> _Measured:
        engine, source, policy = self.engine, self.source, self.policy
        judgement, now_sealed = self._judge(sealed)
        content = hash_of_sums(self.published, now_sealed.content)
        if not same_content(engine, self._rows_out(), self.name, self.published):
            raise PpdmError("the relation does not show the stored rows; nothing was published")
        if source.entity is None and self.batch.plan is not None:
            cohort = [*source.release_quasi, COHORT]
            residual_risks.refuse_unaccepted(policy, residual_risks.few_persons(engine, policy, source, cohort))
        outcomes = composition.judge_jointly(
            engine, policy, source, name=self.name, former=None, content=content,
            rows=self._every_row(), grown_from=self.batch.former,
        )  # fmt: skip
        quasi = source.release_quasi
        patterns = class_patterns(engine, Stored.look_up(engine, self.name, quasi).source(quasi))
        classes = sum(one.classes for one in patterns.values())
        with engine.workspace(shares=[source.relation]):  # both are compared with the same source
            shown = with_labels(engine, source, self.name)
            utility = self._utility(shown, judgement.rows, classes, self._waiting()[0])
            tonight = self._tonight()
        return _Measured(
            judgement, sealed is not None, now_sealed, classes, content, tuple(outcomes), utility, tonight,
            null_matches_all_k(engine, self.name, quasi, patterns),
        )  # fmt: skip

    def _judge(self, sealed: SealedRecord | None) -> tuple[Judgement, SealedRecord]:
        """Every cohort that is out, or tonight's where the others are known to be what they were."""
        engine, night = self.engine, None if sealed is None else self.batch.night
        found = judge_cohorts(engine, self.rows, self.source, self.batch.hierarchies, self.policy, night)
        content = content_sums(engine, self._rows_out(night), self.published)
        stored = stored_sums(engine, self.rows, self.published, night)
        if sealed is not None:
            found = with_sealed(sealed, found)
            content, stored = plus(sealed.content, content), plus(sealed.stored, stored)
        return found, sealed_record(found, stored, content)

    def _rows_out(self, night: int | None = None) -> Name:
        query = self.engine.render(rows_out(self.rows, self.published, night))
        return self.engine.work.view_of_text("grown_rows", query)

    def _every_row(self, night: int | None = None) -> Name:
        """Every row that was ever out, by its cohort: what an attacker knows who holds all nights.

        night: those that were published on it.
        """
        names = [*KEY, PERSON, QUASI]
        query = exp.Select(expressions=[*(column(name) for name in names), aliased(column(COHORT), PART)])
        query = query.from_(self.rows.table())
        if night is not None:
            query = query.where(exp.EQ(this=column(SINCE), expression=exp.Literal.number(night)))
        return self.engine.work.view_of_text("every_row", self.engine.render(query))

    def _utility(self, labels: Name, rows: int, classes: int, missing: int = 0) -> Utility:
        engine, source = self.engine, self.source
        return utility_of(
            engine, source, labels, self.batch.hierarchies, rows=rows + missing, published=rows, classes=classes
        )

    def _tonight(self) -> Utility | None:
        """What the rows of tonight lose."""
        plan = self.batch.plan
        if plan is None:
            return None
        staged = self.engine.work.table("tonight", public_columns(STAGE, self.published))
        labels = labels_of_stage(self.engine, plan, self.source, staged)
        return self._utility(labels, self.batch.new_rows, plan.classes)

    def _waiting(self) -> tuple[int, int]:
        """How many rows wait, and for how many refreshes the first of them does."""
        return count_waiting(self.engine, self.batch.growth.growth_id, self.batch.night)

    # -- recording ---------------------------------------------------------------------------------

    def _record(self, measured: _Measured, left: int) -> ReleaseRecord:
        engine, batch, source, policy = self.engine, self.batch, self.source, self.policy
        former, at, release_id = batch.former, now(), new_release_id()
        bare = TablePlan(
            query=exp.Select(), published=self.published, classes=measured.classes, rows=measured.judgement.rows,
            notes=dict(former.manifest.column_notes or {}),
        )  # fmt: skip
        kept = former.manifest.residual_risks
        risks = [ResidualRisk(name, text) for name, text in kept.items()]
        content = manifest.build_manifest(
            release_id=release_id,
            name=former.stated_name,
            published_at=f"{at:%Y-%m-%dT%H:%M:%SZ}",
            engine=engine,
            source=source,
            policy=policy,
            plan=bare,
            judgement=measured.judgement,
            k_null_matches_all=measured.k_null_matches_all,
            content_hash=measured.content,
            columns=former.columns,
            risks=(*risks, *composition.risks_of(measured.joint)),
            joint=[outcome.to_record() for outcome in measured.joint],
            utility=measured.utility.to_record(policy.loss_limits),
        )
        content = replace(
            content, classes=measured.classes, suppressed_rows=self._waiting()[0], figures=former.manifest.figures,
            growing=self._grown(measured, left),
        )  # fmt: skip
        record = self._release_record(content, release_id, measured.sealed)
        self._link(release_id, only_tonight=measured.only_tonight)
        releases.record(engine, record, checks=check_rows(measured.judgement.findings))
        note_readers(engine, former)
        hand_on_growth(engine, former, record)
        kind = "table" if engine.relation_kind(self.name) == "table" else "view"
        engine.comment(self.name, kind, f"ppdm_sql release {release_id}")
        note_readers(engine, record)
        return record

    def _link(self, release_id: str, *, only_tonight: bool) -> None:
        """The link table of all cohorts there ever were: that of last night with tonight's rows, or made again."""
        engine, former, link = self.engine, self.batch.former.release_id, ledger.link_name(release_id)
        before = ledger.link_name(former)
        if not only_tonight or engine.relation_kind(before) is None or ledger.edited_links(engine, {former}):
            engine.create_table(link, joint.link_query(self._every_row()))
            return
        renamed = exp.AlterRename(this=exp.Table(this=exp.to_identifier(link.last, quoted=True)))
        engine.execute(exp.Alter(this=before.table(), kind="TABLE", actions=[renamed]))
        if self.batch.plan is not None:
            query = joint.link_query(self._every_row(self.batch.night))
            _insert(engine, link, query, query.named_selects)

    def _release_record(self, content: Manifest, release_id: str, sealed: SealedRecord) -> ReleaseRecord:
        batch, former = self.batch, self.batch.former
        here = replace(batch.growth, night=batch.night, cohorts=batch.cohorts, sealed=sealed)
        roles = roles_record(self.source, batch.hierarchies, batch.statement)
        return replace(
            former,
            release_id=release_id,
            run_id=self.run_id,
            roles=replace(roles, growing=here, cohort=self.source.cohort, recoding_sha256=former.roles.recoding_sha256),
            key_columns=key_columns(self.source),
            rows=content.rows,
            classes=content.classes,
            suppressed_rows=content.suppressed_rows,
            content_hash=content.content_hash,
            manifest=content,
            manifest_sha256=content.sha256,
            published_at=now(),
            state="live",
            sources=self.source.tables,
        )

    def _grown(self, measured: _Measured, left: int) -> GrownRecord:
        batch, before = self.batch, self.batch.former.manifest.growing
        rows, nights = self._waiting()
        # Where nobody had rows in several cohorts, only those can have who came tonight.
        known = measured.only_tonight and before is not None and before.returning_people == 0
        among = STAGE if known and batch.plan is not None else None
        people, narrowed = measure_returning(self.engine, self.rows, self.source, self.policy, among)
        kept = count_still_touched(self.engine, batch.leaving, batch.growth)
        return GrownRecord(
            night=batch.night,
            cohorts=measured.judgement.classes,
            new_rows=batch.new_rows,
            left_rows=left,
            waiting_rows=rows,
            waiting_nights=nights,
            changed_rows=kept.get(CHANGED, 0),
            gone_rows=kept.get(GONE, 0),
            loss_first=None if before is None else before.loss_first,
            loss_tonight=None if measured.tonight is None else loss_text(measured.tonight.loss),
            returning_people=people,
            narrowed=narrowed,
            cohort_column=self.source.cohort,
        )


def first_growth(engine: Engine, request: Request, measured: Measured, recoding_sha256: str) -> GrowthRecord:
    """Where a growing release stands after its first night; there every class is a cohort."""
    growth_id, plan = request.release_id, request.plan
    sealed = None
    if measured.judgement.classes == plan.classes:
        stored = stored_sums(engine, growth.rows_name(growth_id), plan.published)
        sealed = sealed_record(measured.judgement, stored, measured.content_sums)
    return GrowthRecord(growth_id, 0, plan.classes, request.source.key, recoding_sha256, sealed)
