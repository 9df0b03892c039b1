"""Which parts a table is best parted into: a search, or several runs of one over accuracy and anonymity together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import RequirementBreached
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.dmpd.front import Attained, Point, attainment
from ppdm_sql.methods.dmpd.method import DMPD, LEAST_K, open_parting, search_parts
from ppdm_sql.methods.dmpd.options import Columns, DmpdOptions
from ppdm_sql.methods.dmpd.search import FoundParts, note_point
from ppdm_sql.policy.options import from_text
from ppdm_sql.policy.policy import OptionValue, PlacedWord, Publish
from ppdm_sql.policy.render import render_statement
from ppdm_sql.source.relation import open_source
from ppdm_sql.watching import Progress, silent

_OF_SEARCH = ("population", "generations", "patience", "folds", "max_seconds", "together", "apart", "inducer")


@dataclass(frozen=True)
class PartsAdvice:
    """The best parts of all runs with the statement to paste; of a front the points no other beats, and surfaces."""

    best: FoundParts
    statement: str
    runs: int
    points: tuple[tuple[int, float, tuple[Columns, ...]], ...] = ()  # K, accuracy, parts
    surfaces: tuple[Attained, ...] = ()

    def as_json(self) -> dict[str, Any]:
        best = self.best
        return {
            "statement": self.statement,
            "parts": [list(part) for part in best.parts],
            "accuracy": best.accuracy,
            "anonymity_level": best.level,
            "partitions": best.tried,
            "generations": best.generations,
            "seconds": best.seconds,
            "runs": self.runs,
            "front": [
                {"anonymity_level": level, "accuracy": accuracy, "parts": [list(part) for part in parts]}
                for level, accuracy, parts in self.points
            ],
            "attainment": [vars(one) for one in self.surfaces],
        }


def advise_parts(
    engine: Engine,
    statement: Publish,
    asked: Mapping[str, int],
    *,
    runs: int = 1,
    front: bool = False,
    seed: int | None = None,
    progress: Progress = silent,
) -> PartsAdvice:
    """Searches for parts, with other seeds in every run; asked: options of the search.  Publishes nothing."""
    wanted = _as_dmpd(statement, asked, seed)
    DMPD.check_requirements(wanted.policy)
    with engine.workspace():
        source = open_source(engine, wanted.query, wanted.policy, wanted.place, wanted.query_place)
        job = Job(engine, source, wanted.policy, {}, progress=progress)
        options = job.options(DmpdOptions)
        parting = open_parting(job, replace(options, parts=None))
        found = [search_parts(job, options, parting, front=front, seed=number) for number in range(runs)]
    points = _points(found)
    best = max(found, key=lambda one: one.accuracy)
    if front:
        best = _best_of_front(best, points, wanted.policy.k or LEAST_K)
    text = render_statement(_with_parts(wanted, best.parts), engine.dialect)
    surfaces = attainment([[(level, one.front[level][0]) for level in one.front] for one in found]) if front else []
    return PartsAdvice(best, text, runs, tuple(points), tuple(surfaces))


def _best_of_front(best: FoundParts, points: Sequence[tuple[int, float, tuple[Columns, ...]]], k: int) -> FoundParts:
    """The most accurate point that keeps k: what the statement can publish."""
    fitting = [one for one in points if one[0] >= k]
    if not fitting:
        raise RequirementBreached(f"the search found no parts with k = {k}: more generations, or a smaller k, may")
    level, accuracy, parts = max(fitting, key=lambda one: one[1])
    return replace(best, level=level, accuracy=accuracy, parts=parts)


def _as_dmpd(statement: Publish, asked: Mapping[str, int], seed: int | None) -> Publish:
    """The statement with this method, its own options where it has it already, and without parts."""
    policy = statement.policy
    own = dict(policy.options) if policy.algorithm == DMPD.name else {}
    own.pop("parts", None)
    changed = replace(policy, algorithm=DMPD.name, options={**own, **from_text(asked)}, preserve=())
    return replace(statement, kind="TABLE", policy=changed if seed is None else replace(changed, seed=seed))


def _with_parts(statement: Publish, parts: tuple[Columns, ...]) -> Publish:
    """What is to be published: the parts that were found, the columns in none of them in filter."""
    kept = {name: value for name, value in statement.policy.options.items() if name not in _OF_SEARCH}
    released = {name for part in parts for name in part}
    options: dict[str, OptionValue] = {**kept, "parts": tuple(tuple(map(_word, part)) for part in parts)}
    roles = statement.policy.roles
    every = [*roles.quasi, *roles.sensitive, *roles.insensitive]
    target = None if roles.target is None else roles.target.text.casefold()
    known = {name.casefold() for name in released}
    left = [word.text for word in every if word.text.casefold() not in known and word.text.casefold() != target]
    if left:
        options["filter"] = tuple(map(_word, dict.fromkeys(left)))
    return replace(statement, policy=replace(statement.policy, options=options))


def _word(name: str) -> PlacedWord:
    word = PlacedWord(name)
    word.quoted = not name.replace("_", "a").isalnum() or not name.isascii() or name[:1].isdigit()
    return word


def _points(found: list[FoundParts]) -> list[tuple[int, float, tuple[Columns, ...]]]:
    """Of all runs the points that no other beats, from the least anonymity on."""
    together: dict[int, tuple[float, tuple[Columns, ...]]] = {}
    for one in found:
        for level, (accuracy, parts) in one.front.items():
            note_point(together, level, accuracy, parts)
    return [(level, *together[level]) for level in sorted(together)]


__all__ = ["PartsAdvice", "Point", "advise_parts"]
