"""A grid, point by point: what is measured is kept at once, and what was measured before is not measured again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ppdm_sql import __version__
from ppdm_sql.catalog import evaluations, migrate
from ppdm_sql.catalog.evaluations import Evaluation, EvaluationPoint
from ppdm_sql.catalog.store import json_text, sha256_of
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PpdmError
from ppdm_sql.evaluate.bench import EvaluationBench, Opened, chosen_learner, open_table
from ppdm_sql.evaluate.grid import Point, points_of, read_grid, read_methods
from ppdm_sql.evaluate.points import baseline, majority, measure_point
from ppdm_sql.evaluate.protocol import Protocol, read_protocol
from ppdm_sql.evaluate.workload import Query, read_workload, true_answers
from ppdm_sql.policy.policy import Publish
from ppdm_sql.watching import silent


class Stopped(PpdmError):
    """An evaluation was stopped; what was measured until then is kept."""


@dataclass(frozen=True)
class GridProgress:
    """How far a grid is, before its next point is measured."""

    doing: str  # in words
    done: int
    total: int  # with the raw data
    seconds_left: float | None  # None: nothing is known yet


Watcher = Callable[[GridProgress], None]


def watch_nothing(standing: GridProgress) -> None:
    """For a grid that nobody watches."""


@dataclass(frozen=True)
class EvaluationRequest:
    """What is to be measured, and how."""

    points: tuple[Point, ...]
    methods: tuple[str, ...]
    grid: dict[str, list[str]]
    protocol: Protocol
    learner: str | None
    seed: int
    queries: tuple[Query, ...] = ()


def evaluate_policy(
    engine: Engine,
    statement: Publish,
    *,
    methods: Sequence[str] = (),
    grid: Sequence[str] = (),
    protocol: str = "holdout",
    learner: str | None = None,
    seed: int | None = None,
    workload: str | Path | None = None,
    again: bool = False,
    watch: Watcher = watch_nothing,
    show_values: bool = False,
) -> Evaluation:
    """A grid over the methods and requirements of a policy; those that are not given are the policy's own.

    learner: 'none' leaves accuracy out, as does a policy without TARGET.  workload: a file of queries to ask of the raw
    rows and of what each point would publish.
    """
    tried = read_methods(",".join(methods)) if methods else (statement.policy.algorithm,)
    axes, divided = read_grid(grid), read_protocol(protocol)
    points = points_of(statement, tried, axes, engine.dialect)
    queries = () if workload is None else tuple(read_workload(workload, dialect=engine.dialect))
    opened = open_table(engine, statement, show_values=show_values)
    asked = EvaluationRequest(
        points=tuple(points),
        methods=tried,
        grid={word: [str(one) for one in values] for word, values in axes.items()},
        protocol=divided,
        learner=chosen_learner(engine, opened, learner),
        seed=statement.policy.seed if seed is None else seed,
        queries=queries,
    )
    return evaluate(engine, opened, asked, again=again, watch=watch)


def evaluate(
    engine: Engine, opened: Opened, asked: EvaluationRequest, *, again: bool = False, watch: Watcher = watch_nothing
) -> Evaluation:
    """Measures every point that an evaluation of the same rows with the same questions has not measured yet."""
    engine.check_writable()
    answers = true_answers(engine, asked.queries, opened.source.relation)  # its mistakes come before anything is kept
    migrate.ensure(engine)
    found = _start_evaluation(engine, opened, asked, again=again)
    missing = [point for point in asked.points if point.position not in found.measured_positions]
    if not missing and found.baseline is not None:
        return found
    bench = EvaluationBench(engine, opened, asked.protocol, asked.learner, asked.seed)
    bench.queries = answers
    try:
        with engine.workspace(bench.unchanging):
            return _measure_missing(engine, bench, found, missing, watch)
    except KeyboardInterrupt:
        known = evaluations.points(engine, found.evaluation_id)
        total = len(asked.points) + 1
        raise Stopped(
            f"Stopped after {len(known)} of {total} points; results are saved. Run the same command again to continue."
        ) from None
    finally:
        bench.clear()


def _measure_missing(
    engine: Engine, bench: EvaluationBench, found: Evaluation, missing: Sequence[Point], watch: Watcher
) -> Evaluation:
    clock = Clock(found, missing)
    watch(clock.progress("splitting rows into folds"))
    bench.deal(silent)
    if found.baseline is None:
        watch(clock.progress("raw data"))
        commonest = majority(bench, found.planned + 1)  # behind the points of the grid
        if commonest is not None:
            evaluations.add_point(engine, found.evaluation_id, commonest)
        found = replace(found, baseline=baseline(bench), majority=commonest)
        assert found.baseline is not None
        evaluations.add_point(engine, found.evaluation_id, found.baseline)
        clock.note(found.baseline)
    for point in missing:
        watch(clock.progress(f"{point.algorithm}, {', '.join(point.requirements)}"))
        with engine.workspace():
            made = measure_point(bench, point)
        evaluations.add_point(engine, found.evaluation_id, made)
        clock.note(made)
        found = replace(found, points=(*found.points, made))
    return replace(found, points=tuple(sorted(found.points, key=lambda one: one.position)))


def _start_evaluation(engine: Engine, opened: Opened, asked: EvaluationRequest, *, again: bool) -> Evaluation:
    """The evaluation that asked the same, or a new one."""
    questions = {
        "policy": opened.statement.text,
        "points": [point.statement.text for point in asked.points],
        "protocol": asked.protocol.name,
        "learner": asked.learner,
        "seed": asked.seed,
        "queries": [query.text for query in asked.queries],
        "rows": opened.rows,
        "content": opened.content,
        "version": __version__,  # another version may measure something else
        "tested": "rows that were not published",  # figures that were measured otherwise are measured again
    }
    fingerprint = sha256_of(json_text(questions))
    same = None if again else evaluations.find_same(engine, fingerprint)
    if same is not None:
        return same
    name = engine.name(opened.statement.name)
    return evaluations.start(
        engine,
        Evaluation(
            fingerprint=fingerprint,
            schema_name=name.schema,
            relation_name=name.last,
            policy_text=opened.statement.text,
            methods=asked.methods,
            grid=asked.grid,
            protocol=asked.protocol.name,
            learner=asked.learner,
            seed=asked.seed,
            planned=len(asked.points),
            rows=opened.rows,
        ),
    )


class Clock:
    """How long the rest will take: by the points of the same method, or by all where there is none yet."""

    def __init__(self, found: Evaluation, missing: Sequence[Point]) -> None:
        self._missing = list(missing)
        self._done = len(found.measured_positions)
        self._total = found.planned + 1
        self._seconds: dict[str | None, list[float]] = {}
        for point in found.points:
            self._seconds.setdefault(point.algorithm, []).append(point.seconds)

    def note(self, point: EvaluationPoint) -> None:
        self._done += 1
        self._seconds.setdefault(point.algorithm, []).append(point.seconds)
        self._missing = [one for one in self._missing if one.position != point.position]

    def progress(self, doing: str) -> GridProgress:
        return GridProgress(doing, self._done, self._total, self.seconds_left())

    def seconds_left(self) -> float | None:
        known = [seconds for method, taken in self._seconds.items() if method is not None for seconds in taken]
        if not known:
            return None
        usual = sum(known) / len(known)
        return sum(self._usual(point.algorithm, usual) for point in self._missing)

    def _usual(self, method: str, otherwise: float) -> float:
        taken = self._seconds.get(method)
        return sum(taken) / len(taken) if taken else otherwise
