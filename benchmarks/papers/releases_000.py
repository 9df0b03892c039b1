"""The comparators of Tian et al. that publish tables: LDD and OPTI, next to the trees of ATP and LDM.

LDD is Incognito for recursive_l (full-domain recoding, no row left out) and the one-dimensional method for simple_l.
The paper takes Incognito's least general recoding and does not tell which of several; here it is the one with the least
sum of levels, and as a second column the one with the least classification metric.  OPTI is K-Optimize with the
classification metric, which may leave rows out.  Learners see a release of the training rows; test rows are recoded by
its rules, and those of the one-dimensional method, which has none, get the narrowest labels that cover them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from sqlglot import exp

from benchmarks.papers.sharing_runs import TEST, TRAIN, Task, learned
from benchmarks.papers.sharing_tables import PAPER, Figures, percentages
from benchmarks.papers.tables import PaperTable
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import RequirementBreached
from ppdm_sql.evaluate.learners import learn_and_test, score_of_tree
from ppdm_sql.evaluate.recode import recode_rows
from ppdm_sql.evaluate.relabel import relabel_rows
from ppdm_sql.methods.base import Job
from ppdm_sql.methods.plan import TablePlan
from ppdm_sql.methods.registry import method_named
from ppdm_sql.policy.policy import HierarchyFile, OptionValue, Policy, Roles
from ppdm_sql.requirements import RecursiveDiversity, Requirement
from ppdm_sql.source.hierarchy import Hierarchy, load_hierarchy
from ppdm_sql.source.relation import Source, resolve
from ppdm_sql.statements.names import Word, column, own

_RELEASE, _ASKED = own("ppdm_paper_release"), own("ppdm_paper_recoded")
_NODES, _BRANCHES, _SECONDS = Fraction(3000), Fraction(30), Fraction(60)  # of a search of LDD; of OPTI


@dataclass(frozen=True)
class Publisher:
    """A method of the paper with the algorithm that stands for it here."""

    name: str
    algorithm: str
    options: Mapping[str, OptionValue]
    suppress: Fraction | None = None


def publishers(asked: Requirement) -> tuple[Publisher, ...]:
    """LDD and OPTI for a requirement."""
    optimal = Publisher("OPTI", "koptimize", {"max_nodes": _BRANCHES, "max_seconds": _SECONDS}, Fraction(1))
    if not isinstance(asked, RecursiveDiversity):
        return Publisher("LDD", "hilbert", {}), optimal
    least = Publisher("LDD", "incognito", {"quality": "height", "max_nodes": _NODES})
    return least, Publisher("LDD by CM", "incognito", {"quality": "classification", "max_nodes": _NODES}), optimal


def add_releases(
    engine: Engine, task: Task, hierarchies: Mapping[str, Hierarchy], leaf: int, asked: Sequence[Requirement],
    into: Figures,
) -> None:  # fmt: skip
    """What can be learned from the releases of one source, by requirement."""
    for requirement in asked:
        key = (task.name, str(requirement))
        for one in publishers(requirement):
            for name, value in _of_release(engine, task, hierarchies, leaf, requirement, one).items():
                into.add(key, f"{one.name}{name}", value)


def _of_release(
    engine: Engine, task: Task, hierarchies: Mapping[str, Hierarchy], leaf: int, asked: Requirement, one: Publisher
) -> dict[str, float | None]:
    names = ("", " bayes", " metric", " left out", " classes", " proved")
    quasi, target = tuple(Word(info.name) for info in task.attributes), Word(task.target)
    roles = Roles(quasi=quasi, sensitive=(target,), target=target)
    policy = Policy(one.algorithm, (asked,), roles, options=one.options, suppress=one.suppress)
    infos = [info for info in engine.columns(TRAIN) if info.name in task.names]
    source = resolve(TRAIN, infos, policy, (task.name,))
    with engine.workspace():
        try:
            plan = method_named(one.algorithm).table(Job(engine, source, policy, hierarchies))
        except RequirementBreached:
            return dict.fromkeys(names)
        engine.create_table(_RELEASE, plan.wide(), temporary=True)
        engine.analyze(_RELEASE)
        _recode(engine, task, source, plan, hierarchies)
        rows, kept, minority = _sizes(engine, task)
        attributes = [info.name for info in task.attributes]
        tree = score_of_tree(engine, learned(engine, task, _RELEASE, leaf), _ASKED).accuracy
        bayes = learn_and_test(
            engine, train=_RELEASE, test=_ASKED, target=task.target, attributes=attributes, learner="naive_bayes"
        ).accuracy
        engine.drop_table(_ASKED, temporary=True)
        engine.drop_table(_RELEASE, temporary=True)
    proved = plan.figures.get("proved optimal") == "yes"
    shares = (float(tree), float(bayes), (rows - kept + minority) / rows, (rows - kept) / rows)
    return dict(zip(names, (*shares, float(plan.classes), float(proved)), strict=True))


def _recode(engine: Engine, task: Task, source: Source, plan: TablePlan, hierarchies: Mapping[str, Hierarchy]) -> None:
    """The test rows with the labels of the release."""
    if plan.recoding is not None:
        test = replace(source, relation=TEST)
        recode_rows(engine, test, _RELEASE, _ASKED, recoding=plan.recoding, hierarchies=hierarchies)
    else:
        relabel_rows(engine, TEST, _RELEASE, _ASKED, columns=task.names, hierarchies=hierarchies)


def _sizes(engine: Engine, task: Task) -> tuple[int, int, int]:
    """Training rows, released rows, and of these how many are not of the commonest class of their own."""
    labels = [column(info.name) for info in task.attributes]
    cells = exp.Select(expressions=[*labels, column(task.target), exp.alias_(exp.Count(this=exp.Star()), "ppdm_n")])
    cells = cells.from_(_RELEASE.table()).group_by(*labels, column(task.target))
    most = exp.alias_(exp.Max(this=exp.column("ppdm_n")), "ppdm_most")
    both = exp.Select(expressions=[exp.alias_(exp.Sum(this=exp.column("ppdm_n")), "ppdm_rows"), most])
    classes = both.from_(cells.subquery("c")).group_by(*(column(info.name) for info in task.attributes))
    sums = [exp.Sum(this=exp.column(name)) for name in ("ppdm_rows", "ppdm_most")]
    kept, common = engine.fetch_one(exp.Select(expressions=sums).from_(classes.subquery("g")))
    (rows,) = engine.fetch_one(exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(TRAIN.table()))
    return int(rows), int(kept or 0), int(kept or 0) - int(common or 0)


def hierarchies_of(engine: Engine, folder: Path, task: Task) -> dict[str, Hierarchy]:
    """Our own hierarchies of the text columns; numbers have the ladders of their methods."""
    found = {}
    for info in task.attributes:
        file = folder / "hierarchies" / task.name.lower() / f"{info.name}.csv"
        if info.kind.is_ordered or not file.is_file():
            continue
        known = exp.Not(this=exp.Is(this=column(info.name), expression=exp.Null()))
        distinct = exp.Select(expressions=[column(info.name)]).from_(task.relation.table()).where(known).distinct()
        found[info.name] = load_hierarchy(
            HierarchyFile(file.name), column=info.name, kind=info.kind,
            values=[row[0] for row in engine.fetch(distinct)], engine=engine, folder=file.parent,
        )  # fmt: skip
    return found


def releases_table(figures: Figures, used: Sequence[str]) -> PaperTable:
    """Trees of ATP and LDM, and what is learned from the tables of LDD and OPTI."""
    columns = [
        "ATP", "LDM", "LDD", "LDD by CM", "OPTI", "LDD bayes", "LDD by CM bayes", "OPTI bayes", "CM ATP", "CM LDM",
        "LDD metric", "LDD by CM metric", "OPTI metric", "OPTI left out", "LDD classes", "LDD by CM classes",
        "OPTI classes", "OPTI proved",
    ]  # fmt: skip
    titles = [f"CM {name.removesuffix(' metric')}" if name.endswith(" metric") else name for name in columns]
    return PaperTable(
        PAPER,
        "Tables published by LDD and OPTI, by requirement: one source",
        ("data", "requirement", *percentages(titles)),
        figures.lines(columns),
        (
            "ATP, LDM: the published tree. LDD, OPTI: ID3 learned from the published table, tested on recoded rows; "
            "leaves as coarse as those of the trees. bayes: naive Bayes.",
            "LDD: Incognito's recoding with the least sum of levels for recursive_l, the one-dimensional method for "
            "simple_l; by CM: Incognito's recoding with the least classification metric. No row is left out; "
            f"{_NODES} recodings are tested. Text "
            "columns have our own hierarchies.",
            "OPTI: K-Optimize, 12 cuts per column, any number of rows may be left out, at most "
            f"{_BRANCHES} branches or {_SECONDS} seconds; proved: how often that was enough to prove the optimum.",
            "CM of a table: rows that are left out or not of the commonest class of their own, as a share.",
            "The paper: ATP and LDM far above OPTI, OPTI above LDD (on Nursery for (c, l), ATP leads OPTI by about "
            "20 % and LDD by 40 %); LDD fails for simple_l above 7 on Adult.",
            "Not repeated: ten sources of LDD and OPTI. Each would print labels of its own.",
            *used,
        ),
    )
