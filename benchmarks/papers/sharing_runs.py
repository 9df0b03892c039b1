"""A run of the experiments of Tian et al.: local trees, pseudo-rows or votes from them, what is said of test rows.

ppdm_paper_train, ppdm_paper_test   nine parts and the tenth
ppdm_paper_dealt_*                  the training rows, dealt to the sources
ppdm_paper_pool                     pseudo-rows of all sources
ppdm_paper_said_*                   row and class as a model says it, or as it is
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from benchmarks.papers.data import ROW
from ppdm_sql.classifiers import conjunctive_rules, naive_bayes
from ppdm_sql.classifiers.best_score import PREDICTED
from ppdm_sql.classifiers.votes import votes_query
from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.errors import RequirementBreached
from ppdm_sql.evaluate import folds
from ppdm_sql.induction.inducers import induce, settings
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.registry import method_named
from ppdm_sql.policy.policy import OptionValue, Policy, Roles
from ppdm_sql.pseudodata.domains import Bounds
from ppdm_sql.requirements import Requirement
from ppdm_sql.sharing.collect import SOURCE, Shared, pool
from ppdm_sql.source.relation import resolve
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import Name, Word, aliased, column, own
from ppdm_sql.trees.expression import CLASS
from ppdm_sql.trees.predict import predict
from ppdm_sql.trees.tree import Tree

TRAIN, TEST, POOL = (own(f"ppdm_paper_{word}") for word in ("train", "test", "pool"))
_DEALT, _VOTES = own("ppdm_paper_votes"), own("ppdm_paper_ballots")
_OPTIONS: dict[str, dict[str, OptionValue]] = {"atp": {}, "ldm": {"borders": "values"}}  # cuts as in the paper


@dataclass(frozen=True)
class Task:
    """A table of the paper: its columns without the row number, and which of them is the class."""

    name: str
    relation: Name
    columns: tuple[ColumnInfo, ...]
    target: str
    bounds: dict[str, Bounds]  # of numbers: as they would be declared

    @property
    def attributes(self) -> list[ColumnInfo]:
        return [info for info in self.columns if info.name != self.target]

    @property
    def names(self) -> list[str]:
        return [info.name for info in self.columns]


@dataclass(frozen=True)
class Way:
    """How pseudo-rows are made: times as many as the trees were learned from."""

    algorithm: str
    by_counts: bool = False
    times: int = 1

    def __str__(self) -> str:
        words = [self.algorithm.upper(), *(["counts"] if self.by_counts else [])]
        return " ".join([*words, *([f"x{self.times}"] if self.times > 1 else [])])


def bounds_of(engine: Engine, relation: Name, columns: Sequence[ColumnInfo]) -> dict[str, Bounds]:
    """The ends of the numbers of a public table, taken for what its publisher would declare."""
    found = {}
    for info in columns:
        if info.kind in (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT):
            ends = [exp.Min(this=column(info.name)), exp.Max(this=column(info.name))]
            low, high = engine.fetch_one(exp.Select(expressions=ends).from_(relation.table()))
            found[info.name] = (Fraction(low), Fraction(high) + 1)
    return found


# -- learning --------------------------------------------------------------------------------------------


def learned(engine: Engine, task: Task, relation: Name, leaf: int) -> Tree:
    """The paper's learner: ID3 without pruning, for local, base and global trees alike.

    leaf: rows that a leaf has at least; the paper does not tell its own.
    """
    chosen = settings("id3", {"rare": 1, "min_leaf": leaf})
    return induce(engine, relation, *_columns(engine, task, relation), chosen).tree


def _columns(engine: Engine, task: Task, relation: Name) -> tuple[list[ColumnInfo], ColumnInfo]:
    """Attributes and class as a relation has them: pseudo-rows lack what no tree asked for."""
    there = {info.name: info for info in engine.columns(relation)}
    return [there[info.name] for info in task.attributes if info.name in there], there[task.target]


def anonymous(engine: Engine, task: Task, relation: Name, method: str, asked: Requirement, leaf: int) -> Tree | None:
    """A tree whose leaves meet a requirement; None where the method finds none."""
    quasi = tuple(Word(info.name) for info in task.attributes)
    target = Word(task.target)
    options = {**_OPTIONS[method], "min_leaf": Fraction(leaf)}
    policy = Policy(method, (asked,), Roles(quasi=quasi, sensitive=(target,), target=target), options=options)
    infos = [info for info in engine.columns(relation) if info.name in task.names]
    source = resolve(relation, infos, policy, (task.name,))
    try:
        tree = method_named(method).model(Job(engine, source, policy, {})).tree
    except RequirementBreached:
        return None
    return None if tree.root.is_leaf else tree


def metric(trees: Sequence[Tree]) -> float:
    """The classification metric of their pseudo-rows by quota: those that are not of their leaf's commonest class."""
    leaves = [leaf for tree in trees for leaf in tree.leaves]
    rows = sum(leaf.rows for leaf in leaves)
    return (rows - sum(leaf.counts[leaf.majority] for leaf in leaves)) / rows


def dealt(engine: Engine, task: Task, number: int, seed: int) -> list[Name]:
    """The training rows at so many sources."""
    return folds.sources(engine, TRAIN, number=number, seed=seed, columns=task.names)


def make_pool(engine: Engine, task: Task, trees: Sequence[Tree], way: Way, seed: int) -> None:
    """Pseudo-rows from every tree into ppdm_paper_pool."""
    engine.drop_table(POOL)
    shared = [Shared(f"source {place}", f"source {place}", tree, ()) for place, tree in enumerate(trees)]
    named = {attribute.name for tree in trees for attribute in tree.attributes}
    bounds = {name: ends for name, ends in task.bounds.items() if name in named}
    rows = way.times * sum(tree.root.rows for tree in trees)
    pool(
        engine,
        shared,
        POOL,
        rows=rows,
        seed=seed,
        algorithm=way.algorithm,
        classes="counts" if way.by_counts else "quota",
        domains=bounds,
    )
    assert SOURCE not in task.names


# -- what is said of the test rows -------------------------------------------------------------------------


def said(engine: Engine, tree: Tree, word: str) -> Name:
    """What a tree says of every test row."""
    into = own(f"ppdm_paper_said_{word}")
    with engine.workspace():
        _store(engine, predict(engine, tree, TEST, [ROW]), CLASS, into)
    return into


def said_by_bayes(engine: Engine, task: Task, relation: Name) -> Name:
    """What naive Bayes learned from a relation says of every test row."""
    model = naive_bayes.learn(engine, relation, *_columns(engine, task, relation), rare=1)
    into = own("ppdm_paper_said_bayes")
    _store(engine, naive_bayes.predict_query(model, TEST, [ROW], engine=engine), PREDICTED, into)
    return into


def said_by_rules(engine: Engine, task: Task, relation: Name) -> Name:
    """What conjunctive rules learned from a relation say of every test row."""
    model = conjunctive_rules.learn(engine, relation, *_columns(engine, task, relation), rare=1)
    into = own("ppdm_paper_said_rules")
    _store(engine, conjunctive_rules.predict_query(model, TEST, [ROW], engine=engine), PREDICTED, into)
    return into


def truth(engine: Engine, task: Task) -> Name:
    into = own("ppdm_paper_said_truth")
    _store(engine, exp.Select(expressions=[column(ROW), column(task.target)]).from_(TEST.table()), task.target, into)
    return into


def voted(engine: Engine, task: Task, trees: Sequence[Tree]) -> Name:
    """Bagging as the paper has it: the class that most local trees tell."""
    query = exp.Select(expressions=[column(ROW, "r")]).from_(TEST.table("r"))
    members = [f"ppdm_v{place}" for place in range(len(trees))]
    for place, (name, tree) in enumerate(zip(members, trees, strict=True)):
        ballot = own(f"{_VOTES.last}_{place}")
        with engine.workspace():
            engine.create_table(ballot, predict(engine, tree, TEST, [ROW]), temporary=True)
        same = exp.EQ(this=column(ROW, f"b{place}"), expression=column(ROW, "r"))
        query = query.join(ballot.table(f"b{place}"), on=same)
        query = query.select(aliased(column(CLASS, f"b{place}"), name))
    engine.create_table(_DEALT, query, temporary=True)
    lists = [tree.classes for tree in trees]
    into = own("ppdm_paper_said_votes")
    _store(engine, votes_query(trees[0].target, lists, _DEALT, members, [ROW], engine=engine), PREDICTED, into)
    for place in range(len(trees)):
        engine.drop_table(own(f"{_VOTES.last}_{place}"), temporary=True)
    engine.drop_table(_DEALT, temporary=True)
    return into


def _store(engine: Engine, query: exp.Select, told: str, into: Name) -> None:
    text = engine.exact_text(exp.cast(column(told, "p"), "TEXT"))
    picked = exp.Select(expressions=[aliased(column(ROW, "p"), "ppdm_row"), aliased(text, "ppdm_text")])
    engine.create_table(into, picked.from_(query.subquery("p", copy=False), copy=False), temporary=True)


def same(engine: Engine, first: Name, second: Name) -> float:
    """The share of test rows of which both say the same: accuracy if one is the truth, else class match."""
    sides: dict[str, exp.Expr] = {"first": first.table("first"), "second": second.table("second")}
    rows, alike = engine.fetch_one(statement("evaluate/class_match", sides))
    return int(alike) / int(rows)
