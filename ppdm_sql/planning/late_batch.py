"""One night of a growing release, before anything is written: which rows are new, changed or gone, and what becomes
of them.

    unseen     the rows of the source that are not out in this form, by their keys (row_changes.py)
    fresh      those that were never out
    touched    rows that are out and that the source no longer has in that form
    leaving    those of them that can leave: a part of a cohort that meets the requirements, and leaves one that does
    late       the rows that could be published tonight, as a source of their own; its cells go down the recoding
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sqlglot import exp

from ppdm_sql.catalog.growth import read_kept_recoding, rows_name, waiting_name
from ppdm_sql.catalog.manifest import GrowthRecord
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.catalog.store import sha256_of
from ppdm_sql.cells.aggregate import aggregate
from ppdm_sql.cells.cells import Cells
from ppdm_sql.cells.parts import DROPPED, Parts
from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.errors import RequirementBreached, SchemaDrifted
from ppdm_sql.methods.base import CellJob, Job, placed_rows
from ppdm_sql.methods.late_rows import LatePlan, LateRows, place_late_rows
from ppdm_sql.methods.plan import PERSON, CellPlan, TablePlan
from ppdm_sql.methods.recoding import Recoding, RecodingTree, read_recoding
from ppdm_sql.methods.shared.columns import cell_axis
from ppdm_sql.methods.shared.limits import Demands, Secret, secret_of
from ppdm_sql.planning import joint
from ppdm_sql.planning.cohorts import key_column, numbered
from ppdm_sql.planning.form_plan import with_forms
from ppdm_sql.planning.former_values import FormerVersions
from ppdm_sql.planning.leaving import LeavingParts, find_leaving
from ppdm_sql.planning.planner import Planner, as_drift
from ppdm_sql.planning.row_changes import RowChanges, find_changes
from ppdm_sql.policy.policy import Publish
from ppdm_sql.policy.words import many
from ppdm_sql.requirements import k_of_sets
from ppdm_sql.source.drift import check_drift
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.leaves import leaf_text
from ppdm_sql.source.lines import Ints
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.load import statement as sql_statement
from ppdm_sql.statements.names import Name, aliased, column

HISTORY = "ppdm_history"  # the part of a cohort that a row left tonight; 0: it was never out


@dataclass(frozen=True)
class Batch:
    """What one night does; plan is None where no row is published."""

    statement: Publish
    former: ReleaseRecord
    growth: GrowthRecord
    source: Source
    hierarchies: dict[str, Hierarchy]
    changes: RowChanges
    fresh: Name  # the keys of rows that were never out, with the night on which each was first seen
    leaving: LeavingParts
    plan: TablePlan | None
    new_rows: int

    @property
    def night(self) -> int:
        return self.growth.night + 1

    @property
    def first_cohort(self) -> int:
        """The number of tonight's first cohort."""
        return self.growth.cohorts + self.leaving.parts

    @property
    def cohorts(self) -> int:
        """How many numbers of cohorts are used after tonight."""
        return self.first_cohort + (0 if self.plan is None else self.plan.classes)


def plan_batch(planner: Planner, statement: Publish, former: ReleaseRecord) -> Batch:
    """Tonight's batch of a growing release; writes working tables only."""
    growth = former.roles.growing
    assert growth is not None
    with as_drift(statement, former):
        source = planner.source(statement)
    check_drift(former, source)
    source = replace(source, key=growth.key)
    with planner.explained_values(statement):
        batch = _Night(planner, statement, former, growth, source).plan()
    _refuse_empty(planner.engine, batch)
    return batch


def _refuse_empty(engine: Engine, batch: Batch) -> None:
    """Refuses to take away the last rows: a relation without rows keeps no promise, and may come of an empty source."""
    leaving = batch.leaving.count_rows(engine)
    if leaving and not batch.new_rows and leaving == batch.former.rows:
        name = batch.former.stated_name
        raise RequirementBreached(
            f"{name} would have no rows: the last {many(leaving, 'row')} would be withdrawn tonight, and no others can "
            "be published.  Nothing was changed, and they are still published: withdraw them with "
            f"DROP RELEASE {name}, or restore the source if it lost rows by mistake"
        )


@dataclass
class _Night:
    planner: Planner
    statement: Publish
    former: ReleaseRecord
    growth: GrowthRecord
    source: Source

    @property
    def engine(self) -> Engine:
        return self.planner.engine

    def plan(self) -> Batch:
        recoding = read_recoding(read_kept_recoding(self.engine, self.growth))
        hierarchies = self.planner.hierarchies(self.statement, self.source)
        _refuse_changed_hierarchies(self.former, recoding, hierarchies)
        changes = find_changes(self.engine, self.source, self.growth, self.planner.salt(), self.former.name)
        waiting = waiting_name(self.growth.growth_id).table()
        tables = {"keyed": changes.keyed.table(), "known": changes.known.table(), "waiting": waiting}
        night = self.growth.night + 1
        fresh = self.engine.work.table("fresh", sql_statement("release/growing_new", tables), night=night, analyze=True)
        leaving = find_leaving(self.engine, self.statement.policy, self.source, hierarchies, changes, self.growth)
        former = self._former(leaving)
        late, count = self._late(changes, fresh, leaving, former)
        batch = Batch(
            self.statement, self.former, self.growth, self.source, hierarchies, changes, fresh, leaving, None, 0
        )
        if not count:
            return batch
        return self._placed(batch, late, recoding, former)

    def _former(self, leaving: LeavingParts) -> FormerVersions:
        if not leaving.again or not self.statement.policy.value_requirements:
            return FormerVersions.none()
        return FormerVersions.find(self.engine, leaving.rows, self.growth, self.source.sensitive)

    def _late(
        self, changes: RowChanges, fresh: Name, leaving: LeavingParts, former: FormerVersions
    ) -> tuple[Source, int]:
        """The rows that could be published tonight, as a source; and how many they are."""
        tables = {"keyed": changes.keyed.table(), "fresh": fresh.table(), "leaving": leaving.rows.table()}
        picked = sql_statement("release/growing_picked", tables)
        same = [
            exp.EQ(this=column(name, "r"), expression=column(key_column(place), "p"))
            for place, name in enumerate(self.source.key)
        ]
        names = [*self.source.columns]
        person = self.planner.private_columns(self.source).columns[PERSON]
        history = exp.cast(column(HISTORY, "p"), "BIGINT")
        query = exp.Select(
            expressions=[*(column(name, "r") for name in names), aliased(person, PERSON), aliased(history, HISTORY)]
        )
        query = query.from_(changes.unseen.relation.table("r")).join(picked.subquery("p"), on=exp.and_(*same))
        late = self.engine.work.table("late", former.joined_to(query), analyze=True)
        if self.statement.policy.changes.returning == "wait" and self.source.entity is not None:
            tables = {"late": late.table(), "grown": rows_name(self.growth.growth_id).table()}
            nobody = int(self.engine.fetch_one(exp.Select(expressions=[joint.nobody(self.engine)]))[0])
            known = sql_statement("release/growing_known_people", tables)
            late = self.engine.work.table("late", known, nobody=nobody, analyze=True)
        counted = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(late.table())
        history_info = ColumnInfo(HISTORY, Kind.INTEGER, "BIGINT")
        columns = {**self.source.columns, HISTORY: history_info, **former.infos(self.source)}
        source = replace(self.source, relation=late, columns=columns, key=(*self.source.key, HISTORY))
        return source, int(self.engine.fetch_one(counted)[0])

    # -- the cells of late rows --------------------------------------------------------------------

    def _placed(self, batch: Batch, late: Source, recoding: Recoding, former: FormerVersions) -> Batch:
        policy, engine = self.statement.policy, self.engine
        private = self.planner.private_columns(self.source)
        job = Job(engine, late, policy, batch.hierarchies, private, self.planner.progress)
        names = (*late.quasi, *(name for name in job.sensitive if name not in late.quasi), HISTORY, *former.columns)
        self.planner.progress("counting combinations", 0, None)
        cells = aggregate(engine, late, names)
        secrets, codes = self._secrets(job, cells)
        past = cells[HISTORY]
        history = np.array([int(str(value)) for value in past.values], dtype=np.int64)[past.codes]
        node = recoding.place(cells, batch.hierarchies)
        told = former.read(cells, self.source, secrets)
        rows = LateRows(node, cells.rows, cells.counted, tuple(codes), history, told, self._turns(len(cells)))
        waits, due = policy.changes.late == "wait", self._is_due(batch.fresh)
        demands = Demands(k_of_sets(policy.requirements), tuple(secrets))
        placed = place_late_rows(recoding, rows, demands, due=waits and due)
        hold_back = waits and not due and placed.loss > policy.changes.most_loss
        leaving = batch.leaving.only(_published_whole(placed.parts.part, history))
        placed = _without(placed, history, leaving, hold_back)
        batch = replace(batch, leaving=leaving)
        if not placed.parts.classes:
            return batch
        plan = placed_rows(job, cells, CellPlan(placed.parts, placed.labels, nulled=frozenset(recoding.nulled)))
        plan = replace(
            plan, published=self.source.published, query=numbered(plan.query, self.source, batch.first_cohort)
        )
        plan = with_forms(plan, self.source, batch.hierarchies)
        return replace(batch, plan=plan, new_rows=plan.rows - plan.suppressed_rows)

    def _turns(self, cells: int) -> Ints:
        """An order of the cells that nobody knows without the salt of the database."""
        key = f"{self.planner.salt()}|{self.growth.growth_id}|{self.growth.night + 1}|turns"
        return np.random.default_rng(int(sha256_of(key), 16)).permutation(cells)

    def _secrets(self, job: Job, cells: Cells) -> tuple[list[Secret], list[Ints]]:
        """The sensitive columns; where classes are compared with the whole release, by the values of all of it."""
        view = CellJob(cells, job.source, job.policy, job.hierarchies)
        if not any(item.compares_with_table for item in job.value_requirements):
            found = [secret_of(view, cell_axis(cells, name), cells.total) for name in job.sensitive]
            return found, [cells[name].codes.astype(np.int64) for name in job.sensitive]
        whole = self._whole_release(job)
        secrets, codes = [], []
        for name in job.sensitive:
            secrets.append(secret_of(view, cell_axis(whole, name), whole.total))
            place = {leaf_text(value): code for code, value in enumerate(whole[name].values)}
            mine = [place[leaf_text(value)] for value in cells[name].values]
            null = [whole[name].null_code] if cells[name].null_code is not None else []
            codes.append(np.array([*mine, *null], dtype=np.int64)[cells[name].codes])
        return secrets, codes

    def _whole_release(self, job: Job) -> Cells:
        """How often each sensitive value is in the release, with the rows of tonight."""
        picked = [column(name) for name in job.sensitive]
        grown = exp.Select(expressions=picked).from_(rows_name(self.growth.growth_id).table())
        grown = grown.where(exp.Is(this=column("ppdm_until"), expression=exp.Null()))
        late = exp.Select(expressions=[one.copy() for one in picked]).from_(job.source.relation.table())
        both = exp.Union(this=grown, expression=late, distinct=False)
        every = exp.Select(expressions=[column(name, "u") for name in job.sensitive]).from_(both.subquery("u"))
        table = self.engine.work.table("release_values", every)
        source = replace(job.source, relation=table, quasi=(), entity=None)
        return aggregate(self.engine, source, job.sensitive)

    def _is_due(self, fresh: Name) -> bool:
        """Whether a row has waited as long as the policy allows."""
        first = exp.Select(expressions=[exp.Min(this=column("ppdm_since"))]).from_(fresh.table())
        oldest = self.engine.fetch_one(first)[0]
        most = self.statement.policy.changes.most_nights
        return oldest is not None and self.growth.night + 1 - int(oldest) >= most


def _published_whole(part: Ints, history: Ints) -> frozenset[int]:
    """The parts of cohorts whose rows are all published again."""
    left = set(history[part == DROPPED].tolist())
    return frozenset(set(history.tolist()) - left - {0})


def _without(placed: LatePlan, history: Ints, leaving: LeavingParts, hold_back: bool) -> LatePlan:
    """The same without rows that stay where they were, and without new rows where these wait."""
    kept = np.isin(history, [0, *leaving.again]) & ~((history == 0) & hold_back) & (placed.parts.part != DROPPED)
    if not kept.any():
        return LatePlan(Parts(np.full(len(history), DROPPED), 0), {name: [] for name in placed.labels}, 1.0)
    used, part = np.unique(placed.parts.part[kept], return_inverse=True)
    every = np.full(len(history), DROPPED)
    every[kept] = part
    labels = {name: [texts[place] for place in used.tolist()] for name, texts in placed.labels.items()}
    return LatePlan(Parts(every, len(used)), labels, placed.loss)


def _refuse_changed_hierarchies(former: ReleaseRecord, recoding: Recoding, hierarchies: dict[str, Hierarchy]) -> None:
    """Refuses a hierarchy that says something else of a value than it did on the first night."""
    if not isinstance(recoding, RecodingTree):
        return
    for one in recoding.columns:
        tree = hierarchies.get(one.name)
        if one.paths is None or tree is None:
            continue
        known = set(tree.order)
        changed = sum(tree.levels_of(leaf) != path for leaf, path in one.paths.items() if leaf in known)
        if changed:
            raise SchemaDrifted(
                f'{former.name}: the hierarchy of column "{one.name}" changed for {many(changed, "value")} since the '
                "first night, and labels of one release must mean the same every night; nothing was changed.  Publish "
                "it with CREATE OR REPLACE ... SUPERSEDES to start again with the new hierarchy"
            )
