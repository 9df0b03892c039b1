"""The genetic algorithm itself, by pymoo: GA for accuracy alone, NSGA-II for accuracy and anonymity together."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ppdm_sql.methods.dmpd.search import need_pymoo

if TYPE_CHECKING:
    from ppdm_sql.methods.dmpd.search import Partition, PartsSearch

Judge = Callable[["Partition"], tuple[float, int]]


def evolve(search: PartsSearch, judge: Judge, *, front: bool, is_late: Callable[[], bool]) -> tuple[Partition, int]:
    """The best partition that was seen, and after how many generations the search ended."""
    need_pymoo()
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.algorithms.soo.nonconvex.ga import GA

    kinds = _operators(search, repairs=not front)
    problem = _problem(judge, front=front)
    options = search.options
    made = (NSGA2 if front else GA)(
        pop_size=options.population, sampling=kinds["sampling"], crossover=kinds["crossover"],
        mutation=kinds["mutation"], eliminate_duplicates=kinds["duplicates"],
    )  # fmt: skip
    made.setup(problem, termination=("n_gen", options.generations), seed=search.seed % (1 << 32), verbose=False)
    best, since, done = -np.inf, 0, 0
    while made.has_next():
        made.next()
        done += 1
        found = float(-made.pop.get("F")[:, 0].min())
        since = 0 if found > best + 1e-12 else since + 1
        best = max(best, found)
        search.progress(f"searching parts, best accuracy {best:.4f}", done, options.generations)
        if is_late() or (not front and since >= options.patience):
            break
    pop = made.pop
    order = np.lexsort(([str(one[0]) for one in pop.get("X")], pop.get("F")[:, 0]))
    return pop.get("X")[order[0]][0], done


def _problem(judge: Judge, *, front: bool) -> Any:
    from pymoo.core.problem import ElementwiseProblem

    class Partitions(ElementwiseProblem):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(n_var=1, n_obj=2 if front else 1, vtype=object)

        def _evaluate(self, x: Any, out: dict[str, Any], *_: Any, **__: Any) -> None:
            accuracy, level = judge(x[0])
            out["F"] = [-accuracy, -float(level)] if front else [-accuracy]

    return Partitions()


def _operators(search: PartsSearch, *, repairs: bool) -> dict[str, Any]:
    from pymoo.core.crossover import Crossover
    from pymoo.core.duplicate import DuplicateElimination
    from pymoo.core.mutation import Mutation
    from pymoo.core.sampling import Sampling

    def mended(partition: Partition) -> Partition:
        return search.repair(partition) if repairs else partition

    class RandomPartitions(Sampling):  # type: ignore[misc]
        def _do(self, problem: Any, n_samples: int, *_: Any, **__: Any) -> Any:
            made = np.empty((n_samples, 1), dtype=object)
            for place in range(n_samples):
                made[place, 0] = mended(search.random_partition())
            made[0, 0] = mended(search.finest())
            if n_samples > 1:
                made[1, 0] = mended((tuple(range(len(search.items))),))
            return made

    class GroupWise(Crossover):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(2, 2, prob=1.0)

        def _do(self, problem: Any, X: Any, *_: Any, **__: Any) -> Any:
            made = np.empty_like(X)
            for place in range(X.shape[1]):
                made[0, place, 0], made[1, place, 0] = search.offspring(X[0, place, 0], X[1, place, 0])
            return made

    class Moves(Mutation):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(prob=1.0)

        def _do(self, problem: Any, X: Any, *_: Any, **__: Any) -> Any:
            made = np.empty_like(X)
            for place in range(len(X)):
                made[place, 0] = mended(search.mutate(X[place, 0]))
            return made

    class Alike(DuplicateElimination):  # type: ignore[misc]
        def _do(self, pop: Any, other: Any, is_duplicate: Any) -> Any:
            seen = set() if other is None else {one.X[0] for one in other}
            for place in reversed(range(len(pop))):
                found = pop[place].X[0]
                is_duplicate[place] |= found in seen
                if other is None:
                    seen.add(found)
            return is_duplicate

    return {"sampling": RandomPartitions(), "crossover": GroupWise(), "mutation": Moves(), "duplicates": Alike()}
