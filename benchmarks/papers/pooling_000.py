"""Ten sources' anonymized trees as one model, in the ways this product has: by default, with more rows, by votes.

The paper does not tell how far its pseudo-rows are from the best they could give.  The limit is what any number of them
gives: at a place the class with the most rows per volume, summed over the trees' leaves there.  Each part is dealt to
the sources five times, because between two dealings naive Bayes moves by several points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from sqlglot import exp

from benchmarks.papers import sharing_runs as runs
from benchmarks.papers.data import ROW
from benchmarks.papers.sharing_runs import POOL, TEST, TRAIN, Task, Way
from benchmarks.papers.sharing_tables import PAPER, Figures, percentages
from benchmarks.papers.tables import PaperTable
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import RequirementBreached
from ppdm_sql.induction.inducers import induce, settings
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.registry import method_named
from ppdm_sql.policy.policy import OptionValue, Policy, Roles
from ppdm_sql.pseudodata.domains import Domain
from ppdm_sql.pseudodata.paths import Recipe, recipes
from ppdm_sql.requirements import Requirement
from ppdm_sql.sharing.collect import Shared, pooled_domains
from ppdm_sql.sharing.committee import RULES, vote
from ppdm_sql.source.relation import resolve
from ppdm_sql.statements.names import Word, column, own
from ppdm_sql.trees.expression import CLASS, NODE
from ppdm_sql.trees.predict import prediction_query
from ppdm_sql.trees.tree import Tree

_VOTED = own("ppdm_paper_voted")
_BINS: dict[str, dict[str, OptionValue]] = {"atp": {}, "ldm": {"bins": Fraction(6)}}  # the same cuts for both
WAYS = (Way("pgen", by_counts=True, times=4), Way("pgen", by_counts=True, times=16), Way("pgen"))
COLUMNS = (
    "one source", *(f"{way} {learner}" for way in WAYS for learner in ("c45", "bayes")), "limit",
    *RULES,
)  # fmt: skip


@dataclass(frozen=True)
class Dealings:
    """How often the rows are dealt, and to how many sources."""

    number: int = 5
    sources: int = 10


def add_pooled(
    engine: Engine, task: Task, asked: Sequence[Requirement], dealings: Dealings, part: int, into: Figures
) -> None:
    """Accuracy on the test rows, by requirement and method, one value per dealing."""
    true = runs.truth(engine, task)
    for requirement in asked:
        for method in ("atp", "ldm"):
            key = (task.name, str(requirement), method.upper())
            alone = on_same_cuts(engine, task, [TRAIN], method, requirement)
            for dealing in range(dealings.number):
                share = runs.same(engine, true, runs.said(engine, alone[0], "global")) if alone else None
                into.add(key, "one source", share)
                dealt = runs.dealt(engine, task, dealings.sources, 7_000 + 100 * part + dealing)
                trees = on_same_cuts(engine, task, dealt, method, requirement)
                for name, value in _of_trees(engine, task, trees, dealing).items():
                    into.add(key, name, value)


def on_same_cuts(
    engine: Engine, task: Task, relations: Sequence[object], method: str, asked: Requirement
) -> list[Tree]:
    """The trees of the sources that find one; numbers in six bins for both methods."""
    quasi, target = tuple(Word(info.name) for info in task.attributes), Word(task.target)
    roles = Roles(quasi=quasi, sensitive=(target,), target=target)
    policy = Policy(method, (asked,), roles, options=_BINS[method])
    found = []
    for relation in relations:
        infos = [info for info in engine.columns(relation) if info.name in task.names]  # type: ignore[arg-type]
        source = resolve(relation, infos, policy, (task.name,))  # type: ignore[arg-type]
        try:
            tree = method_named(method).model(Job(engine, source, policy, {})).tree
        except RequirementBreached:
            continue
        if not tree.root.is_leaf:
            found.append(tree)
    return found


def _of_trees(engine: Engine, task: Task, trees: Sequence[Tree], seed: int) -> dict[str, float | None]:
    true, told = runs.truth(engine, task), dict[str, float | None](dict.fromkeys(COLUMNS[1:]))
    if not trees:
        return told
    for way in WAYS:
        runs.make_pool(engine, task, trees, way, seed)
        there = {info.name: info for info in engine.columns(POOL)}
        attributes = [there[info.name] for info in task.attributes if info.name in there]
        tree = induce(engine, POOL, attributes, there[task.target], settings("c45", {"rare": 1})).tree
        told[f"{way} c45"] = runs.same(engine, true, runs.said(engine, tree, "global"))
        told[f"{way} bayes"] = runs.same(engine, true, runs.said_by_bayes(engine, task, POOL))
    told["limit"] = limit_of_pseudo_rows(engine, task, trees)
    for rule in RULES:
        told[rule] = _vote_share(engine, task, trees, rule)
    return told


def _vote_share(engine: Engine, task: Task, trees: Sequence[Tree], rule: str) -> float:
    """The share of test rows that the committee answers rightly; no answer is a wrong one."""
    engine.drop_table(_VOTED)
    vote(engine, _as_shared(trees), TEST, _VOTED, [ROW], rule)
    same = exp.EQ(this=column(ROW, "t"), expression=column(ROW, "v"))
    right = exp.EQ(this=column(CLASS, "v"), expression=column(task.target, "t"))
    counted = exp.Select(expressions=[exp.Count(this=exp.Star()), exp.CountIf(this=right)])
    rows, correct = engine.fetch_one(counted.from_(TEST.table("t")).join(_VOTED.table("v"), on=same))
    engine.drop_table(_VOTED)
    return int(correct) / int(rows)


def _as_shared(trees: Sequence[Tree]) -> list[Shared]:
    return [Shared(f"source {place}", f"source {place}", tree, ()) for place, tree in enumerate(trees)]


# -- the limit ---------------------------------------------------------------------------------------------


def limit_of_pseudo_rows(engine: Engine, task: Task, trees: Sequence[Tree]) -> float:
    """The accuracy of the class with the most rows per volume, summed over the leaves a row falls in."""
    used = {attribute.name for tree in trees for attribute in tree.attributes}
    common = pooled_domains(_as_shared(trees), {name: ends for name, ends in task.bounds.items() if name in used})
    classes = sorted({str(value) for tree in trees for value in tree.classes})
    score: np.ndarray | None = None
    truth: list[str] = []
    for tree in trees:
        weights = _densities(tree, common, classes)
        told = prediction_query(engine, tree, TEST, [ROW, task.target]).subquery("p", copy=False)
        text = exp.cast(column(task.target, "p"), "TEXT")
        query = exp.Select(expressions=[column(NODE, "p"), text]).from_(told).order_by(column(ROW, "p"))
        with engine.workspace():
            rows = engine.fetch(query)
        truth = [str(label) for _, label in rows]
        here = weights[[int(node) for node, _ in rows]]
        score = here if score is None else score + here
    assert score is not None
    best = score.argmax(axis=1)
    return float(np.mean([classes[place] == label for place, label in zip(best, truth, strict=True)]))


def _densities(tree: Tree, common: Mapping[str, Domain], classes: Sequence[str]) -> np.ndarray:
    """Per node and class its rows over the part of the common domain that the leaf covers."""
    mine = {number: common[one.name] for number, one in enumerate(tree.attributes) if one.name in common}
    found = np.zeros((len(tree.nodes), len(classes)))
    for recipe in recipes(tree, mine, None, 0):
        covered = volume(recipe, mine)
        for place, rows in enumerate(tree.nodes[recipe.leaf].counts):
            found[recipe.leaf, classes.index(str(tree.classes[place]))] = rows / covered
    return found


def volume(recipe: Recipe, domains: Mapping[int, Domain]) -> float:
    """The share of the common domain in a leaf: width over width, values over values."""
    share = Fraction(1)
    for number in recipe.asked:
        domain = domains[number]
        if domain.bounds is not None:
            width = domain.bounds[1] - domain.bounds[0]
            share *= sum((high - low for low, high in recipe.bounds[number]), Fraction(0)) / width
        else:
            share *= Fraction(len(recipe.values[number]), len(domain.values))
    return float(share) or 1e-12


def pooling_table(figures: Figures, dealings: Dealings, used: Sequence[str]) -> PaperTable:
    return PaperTable(
        PAPER,
        "Anonymized trees of ten sources as one model",
        ("data", "requirement", "method", *percentages(COLUMNS)),
        figures.lines(COLUMNS),
        (
            f"Mean of {dealings.number} dealings to {dealings.sources} sources in every part, with its standard error. "
            "ATP and LDM have the same cuts: six bins by frequency.",
            "PGEN counts x4 is what share collect does by default; c45 and bayes with their defaults learn from it. "
            "PGEN: the paper's one row per row, by quota.",
            "limit: the class with the most rows per volume in the leaves, which is what any number of pseudo-rows "
            "can give. plurality, majority, shares: share vote; without a majority the answer counts as wrong.",
            *used,
        ),
    )
