"""What all points of a grid share: the table is opened, dealt and described once, and every point works on that.

    whole      the source with one column per repeat that says which part a row is in
    train      the rows to learn from, and to publish for it, of one fold
    test       the rows to test with
    released, learned, asked    of one point: what it would publish, what is learned from and what is tested with

They are working tables: nothing of an evaluation outlives its session but the figures in the catalog.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from sqlglot import exp

from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.evaluate import folds
from ppdm_sql.evaluate.learners import LEARNERS, REGRESSION, Score, learn_and_test
from ppdm_sql.evaluate.protocol import Protocol
from ppdm_sql.evaluate.workload import Answered
from ppdm_sql.methods.plan import Private
from ppdm_sql.planning.planner import Planner
from ppdm_sql.policy.policy import Publish
from ppdm_sql.policy.words import did_you_mean, printable
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.verify.content import content_hash
from ppdm_sql.watching import Progress

Made = TypeVar("Made")
NO_LEARNER = "none"
_FEWEST = 10  # rows; with fewer there is nothing to learn
MOST_LEARNED = 200_000  # rows of the table; of one of twice as many or more, learners see a share as large as that
_MOST_COMPARED = 200_000  # rows; of more it is quicker to measure again than to compare
_MOST_CLASSES = 20  # a target of numbers with more values is predicted as a number, as by the methods


@dataclass(frozen=True)
class Opened:
    """A policy's source and its hierarchies, before anything is done with them."""

    statement: Publish
    source: Source
    hierarchies: Mapping[str, Hierarchy]
    rows: int
    content: str  # what the rows are: the same for the same rows

    @property
    def attributes(self) -> tuple[str, ...]:
        """What a learner may use: all that is published but the target."""
        return tuple(name for name in self.source.published if name != self.source.target)


def open_table(engine: Engine, statement: Publish, *, show_values: bool = False) -> Opened:
    """The source of a policy with its roles and hierarchies, checked as for publishing it."""
    planner = Planner(engine, show_values)
    source = planner.source(statement)
    hierarchies = planner.hierarchies(statement, source)
    rows = _count(engine, source.relation)
    if rows < _FEWEST:
        raise PolicyError(f"the source has {rows} rows; an evaluation needs at least {_FEWEST}")
    return Opened(statement, source, hierarchies, rows, content_hash(engine, source.relation, list(source.columns)))


def chosen_learner(engine: Engine, opened: Opened, wanted: str | None = None) -> str | None:
    """The learner that is asked for, or one that fits; None where there is nothing to learn.

    c45_spread takes a suppressed cell for unknown, as its reader would; a target of numbers gets a regression tree.
    """
    target = opened.source.target
    if wanted is not None and wanted not in (*LEARNERS, NO_LEARNER):
        raise PolicyError(f"--learner {printable(wanted)}: {did_you_mean(wanted, (*LEARNERS, NO_LEARNER))}")
    if target is None or target in opened.source.quasi or wanted == NO_LEARNER:
        return None
    return wanted or (REGRESSION if _is_numeric(engine, opened, target) else "c45_spread")


def _is_numeric(engine: Engine, opened: Opened, target: str) -> bool:
    if opened.source.info(target).kind not in (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT):
        return False
    distinct = exp.Count(this=exp.Distinct(expressions=[column(target)]))
    (values,) = engine.fetch_one(exp.Select(expressions=[distinct]).from_(opened.source.relation.table()))
    return int(values) > _MOST_CLASSES


@dataclass(frozen=True)
class Fold:
    """One division of the rows."""

    number: int
    mark: str  # the column of the bench with a row's part: the remainder of its number by `parts`
    part: int  # the one to test with
    parts: int
    train: Source
    test: Name

    def condition(self, *, test: bool) -> exp.Expr:
        rest = exp.Mod(this=column(self.mark), expression=exp.Literal.number(self.parts))
        here = exp.EQ(this=rest, expression=exp.Literal.number(self.part))
        return here if test else exp.Not(this=here)

    @property
    def training_filter(self) -> exp.Expr:
        """The training rows a learner sees: all, or of a large table the first share of every part."""
        return exp.and_(self.condition(test=False), self.first_share)

    @property
    def first_share(self) -> exp.Expr:
        return exp.LT(this=column(self.mark), expression=exp.Literal.number(self.parts))


class EvaluationBench:
    """The rows of a policy, dealt once, for every point to work on."""

    def __init__(self, engine: Engine, opened: Opened, protocol: Protocol, learner: str | None, seed: int) -> None:
        self.engine, self.opened, self.protocol, self.learner = engine, opened, protocol, learner
        self._seed = seed
        self._shares = max(opened.rows // MOST_LEARNED, 1)  # of every part; learners see the first
        self._work = engine.work  # what a point makes goes with the point, what all share goes with this
        self._tables: list[Name] = []
        self.whole = replace(opened.source, relation=self._name("bench"))
        self.released, self.learned, self.asked = (
            self._name(f"bench_{word}") for word in ("released", "learned", "asked")
        )
        self._folds: tuple[Fold, ...] | None = None
        self.unchanging: set[Name] = set()  # what is made of them is shared
        self._found: dict[tuple[object, ...], object] = {}
        self.queries: Sequence[Answered] = ()  # the analysts' own, with what the raw rows answer

    def _name(self, label: str) -> Name:
        self._tables.append(self._work.name(label))
        return self._tables[-1]

    @property
    def hierarchies(self) -> Mapping[str, Hierarchy]:
        return self.opened.hierarchies

    @property
    def marks(self) -> tuple[str, ...]:
        """The columns that say which part a row is in, one per repeat."""
        return tuple(f"{folds.FOLD}_{repeat}" for repeat in range(self.protocol.repeats))

    def mark_of(self, fold: Fold) -> Private:
        """The mark of a fold, where a learner is to see a share of what is released."""
        return Private({fold.mark: column(fold.mark, "r")}) if self._shares > 1 else Private()

    def deal(self, progress: Progress) -> None:
        """Makes the bench; persons stay together, because a learner must not be tested on people it has seen."""
        source = self.opened.source
        by = [source.entity] if source.entity is not None else []
        here, names = source.relation, list(source.columns)
        whole, dealt = self.whole.relation, self._work.name("bench_dealt")
        for repeat, mark in enumerate(self.marks):
            progress("splitting rows into folds", repeat, len(self.marks))
            parts = self.protocol.parts * self._shares
            folds.deal(self.engine, here, dealt, parts=parts, seed=self._seed, repeat=repeat, by=by)
            picked = [column(name) for name in names]
            query = exp.Select(expressions=[*picked, aliased(column(folds.FOLD), mark)]).from_(dealt.table())
            self.engine.create_table(whole, query, temporary=True)
            here, names = whole, [*names, mark]
        self._work.drop(dealt)
        self.engine.analyze(whole)
        self.unchanging.add(whole)

    @property
    def folds(self) -> tuple[Fold, ...]:
        """Every fold with its two tables, made when they are first asked for."""
        if self._folds is None:
            self._folds = tuple(self._fold(number, *one) for number, one in enumerate(self.protocol.folds))
        return self._folds

    def _fold(self, number: int, repeat: int, part: int) -> Fold:
        train, test = self._name("bench_train"), self._name("bench_test")
        source = replace(self.opened.source, relation=train)
        made = Fold(number, self.marks[repeat], part, self.protocol.parts, source, test)
        for name, is_test in ((train, False), (test, True)):
            names = {name: name for name in (*self.opened.source.columns, made.mark)}
            self.keep(self.whole.relation, name, names, made.condition(test=is_test))
        self.unchanging |= {train, test}
        return made

    def keep(self, relation: Name, into: Name, names: Mapping[str, str], condition: exp.Expr) -> None:
        """Some columns of some rows, in a working table; names: new -> old."""
        picked = [aliased(column(old), new) for new, old in names.items()]
        self._store(into, exp.Select(expressions=picked).from_(relation.table()).where(condition))

    def _store(self, into: Name, query: exp.Select) -> None:
        self.engine.create_table(into, query, temporary=True)
        self.engine.analyze(into)

    def once(self, released: Name, columns: Sequence[str], *about: object, work: Callable[[], Made]) -> Made:
        """What was found of a release: one that says the same as an earlier one is not measured again."""
        if self.opened.rows > _MOST_COMPARED:
            return work()
        key = (*about, content_hash(self.engine, released, columns))
        if key not in self._found:
            self._found[key] = work()
        return cast(Made, self._found[key])

    def score(self, train: Name, test: Name, fold: Fold | None = None) -> Score:
        """What the learner makes of one relation, on rows of another; with a fold, of its share of a large one."""
        assert self.opened.source.target is not None
        assert self.learner is not None
        with self.engine.workspace() as work:
            if fold is not None and self._shares > 1:
                names = {name: name for name in (*self.opened.attributes, self.opened.source.target)}
                share = work.name("bench_share")
                self.keep(train, share, names, fold.first_share)
                train = share
            return learn_and_test(
                self.engine, train=train, test=test, target=self.opened.source.target,
                attributes=self.opened.attributes, learner=self.learner,
            )  # fmt: skip

    def clear(self) -> None:
        """Drops what was made here."""
        for name in self._tables:
            self._work.drop(name)
        self._tables = []


def _count(engine: Engine, relation: Name) -> int:
    return int(engine.fetch_one(exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(relation.table()))[0])
