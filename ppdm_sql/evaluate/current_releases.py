"""What is out already from the same tables: advice is judged together with it, as its publication would be.

The joint check needs to know which row is in which class, which an evaluation does not keep: so the preferred ways
are planned once more, best first, until one can be published with the others or MOST_TRIED have been refused.
Without others nothing is done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ppdm_sql.catalog import migrate, releases
from ppdm_sql.catalog.evaluations import EvaluationPoint
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.methods import registry
from ppdm_sql.methods.base import Job
from ppdm_sql.planning.composition import joint_breach, judge_jointly
from ppdm_sql.planning.joint import shown_name
from ppdm_sql.planning.planner import Planner
from ppdm_sql.planning.staging import build_stage, private_columns
from ppdm_sql.planning.superseding import uncounted
from ppdm_sql.policy import grammar
from ppdm_sql.policy.policy import Publish
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import Name

MOST_TRIED = 8  # each is a plan of all rows; what comes after the best few would hardly be advised
Breach = tuple[str, str]
Choose = Callable[[Sequence[EvaluationPoint]], EvaluationPoint | None]  # the best, of what can be published at all


@dataclass(frozen=True)
class CurrentReleases:
    """What is out from the same tables, and what that means for the advice."""

    releases: tuple[str, ...]
    left_out: tuple[EvaluationPoint, ...] = ()  # preferred, but refused together with the releases
    breach: Breach | None = None  # why the advice itself would be refused, where everything tried would be
    tried: int = 0

    @property
    def holds(self) -> bool:
        return self.breach is None

    @property
    def in_words(self) -> str:
        """What to know before the advised statement is run."""
        out = f"Current releases of the same tables: {', '.join(self.releases)}."
        if self.breach is not None:
            why, ways_out = self.breach
            next_best = f" and the {self.tried - 1} next best that were tried" if self.tried > 1 else ""
            return f"{out} ppdm run would refuse the advised statement{next_best}: the release {why}. {ways_out}."
        ways = ", ".join(f"{one.algorithm} with {one.requirements_text}" for one in self.left_out)
        left = f" Excluded because ppdm run would refuse them together with these releases: {ways}." if ways else ""
        return f"{out} The advised statement can be published together with them.{left}"


def current_releases_of(engine: Engine, statement: Publish, source: Source) -> tuple[str, ...]:
    """The releases that a publication of the statement would be judged together with."""
    if not migrate.is_there(engine):
        return ()
    name, former = _named(engine, statement)
    gone = uncounted(engine, statement.policy.supersedes, name, source.tables, former)
    found = releases.live_from(engine, source.tables)
    return tuple(shown_name(record) for record in found if record.release_id not in gone)


def _named(engine: Engine, statement: Publish) -> tuple[Name, ReleaseRecord | None]:
    """The name of the statement's release, and the release that has it now."""
    name = engine.name(statement.name)
    return name, releases.current(engine, name)


def publishable(
    engine: Engine, statement: Publish, out: tuple[str, ...], points: Sequence[EvaluationPoint], choose: Choose
) -> tuple[EvaluationPoint, CurrentReleases]:
    """The first choice that is not refused together with the others; where all are, the first of all, and why."""
    left, refused = list(points), list[tuple[EvaluationPoint, Breach]]()
    rows = Planner(engine).source(statement).relation
    with engine.workspace({rows}):  # the rows are counted once for all of them
        while len(refused) < MOST_TRIED and (best := choose(left)) is not None:
            with engine.workspace():
                breach = _breach(engine, _statement_of(engine, statement, best), rows)
            if breach is None:
                return best, CurrentReleases(out, tuple(point for point, _ in refused))
            refused.append((best, breach))
            left.remove(best)
    first, why = refused[0]
    return first, CurrentReleases(out, breach=why, tried=len(refused))


def _statement_of(engine: Engine, statement: Publish, point: EvaluationPoint) -> Publish:
    """The statement of a point, with the folder its files are looked for in."""
    (stated,) = grammar.parse(str(point.statement), dialect=engine.dialect)
    assert isinstance(stated, Publish)
    return replace(stated, place=replace(stated.place, file=statement.place.file))


def _breach(engine: Engine, statement: Publish, rows: Name) -> Breach | None:
    """Why the statement would be refused together with the others; rows: what its query gives."""
    planner, policy = Planner(engine), statement.policy
    source = replace(planner.source(statement), relation=rows)
    method = registry.table_method(policy.algorithm, statement.place)
    private = private_columns(engine, source, releases.salt(engine))
    job = Job(engine, source, policy, planner.hierarchies(statement, source), private)
    build_stage(engine, method(job), policy.seed)
    name, former = _named(engine, statement)
    return joint_breach(policy, judge_jointly(engine, policy, source, name=name, former=former))
