"""What TPP reads before it grows a tree: its options, its columns as codes, the trees, and what it cannot take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import OptionError, PolicyError
from ppdm_sql.methods.mondrian.method import secret_of
from ppdm_sql.methods.plan import ENTITY, Private
from ppdm_sql.methods.shared.columns import Axis, counted_axis, held_by
from ppdm_sql.methods.shared.labels import marker
from ppdm_sql.methods.shared.limits import Demands
from ppdm_sql.methods.tpp.columns import Column
from ppdm_sql.methods.tpp.preserved_trees import Preserved, preserved_trees, target_of, wanted_trees
from ppdm_sql.methods.tpp.recoding_check import Checker
from ppdm_sql.methods.tpp.stored_models import builder_of, check_source, is_model
from ppdm_sql.policy.options import unknown_option
from ppdm_sql.policy.policy import Policy
from ppdm_sql.requirements import KAnonymity
from ppdm_sql.source.encode import Coded, canonical, encode
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import column
from ppdm_sql.watching import Progress

_ALL_SUBSETS = 10  # categories up to which a tree of more than two classes tries every subset


# -- options ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    max_leaves: int | None = None
    skip: bool = False
    mean: bool = False
    absorb: bool = False
    paper: bool = False


def read_options(policy: Policy) -> Options:
    known = ("max_leaves", "on_failure", "unused_numeric", "absorb", "paper")
    given = policy.options
    for name in given:
        if name not in known:
            raise unknown_option("ALGORITHM tpp", name, known)
    most = given.get("max_leaves")
    if most is not None and not (isinstance(most, Fraction) and most.denominator == 1 and most >= 1):
        raise OptionError("max_leaves", "max_leaves of ALGORITHM tpp is a whole number from 1 on")
    for name, words in (("on_failure", ("stop", "skip")), ("unused_numeric", ("null", "mean"))):
        if str(given.get(name, words[0])).lower() not in words:
            raise OptionError(name, f"{name} of ALGORITHM tpp is {' or '.join(words)}")
    for name in ("absorb", "paper"):
        if not isinstance(given.get(name, False), bool):
            raise OptionError(name, f"{name} of ALGORITHM tpp is true or false")
    skip = str(given.get("on_failure", "stop")).lower() == "skip"
    if skip and len(policy.preserve) > 1:
        told = "on_failure = skip closes leaves of one tree; with several trees the search stops"
        raise OptionError("on_failure", told)
    if skip and any(map(is_model, policy.preserve)):
        told = "on_failure = skip closes leaves; a model of PRESERVE is kept whole or not at all"
        raise OptionError("on_failure", told)
    return Options(
        int(most) if isinstance(most, Fraction) else None,
        skip,
        str(given.get("unused_numeric", "null")).lower() == "mean",
        bool(given.get("absorb", False)),
        bool(given.get("paper", False)),
    )


# -- reading ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """The source as codes, the columns that trees may split, the trees, and the rules."""

    coded: Coded
    columns: Mapping[str, Column]  # of every quasi-identifier and response
    trees: Sequence[Preserved]
    checker: Checker
    fixed: tuple[str, ...]  # quasi-identifiers that are responses
    marker: str


def read(
    engine: Engine,
    source: Source,
    policy: Policy,
    hierarchies: Mapping[str, Hierarchy],
    private: Private,
    options: Options,
    progress: Progress,
) -> Table:
    _check_roles(source, hierarchies)
    wanted = wanted_trees(engine, policy)
    targets = list(dict.fromkeys(target_of(one, source) for one in wanted))
    demanding = [item for item in policy.requirements if not isinstance(item, KAnonymity)]
    k = max((item.k for item in policy.requirements if isinstance(item, KAnonymity)), default=1)
    secret = source.sensitive if demanding else ()
    axes = {}
    names = list(dict.fromkeys([*source.quasi, *targets, *secret]))
    for number, name in enumerate(names):
        progress("reading columns", number, len(names))
        axes[name] = counted_axis(engine, source, name)
    extra = dict(private.columns)
    if source.entity is not None:
        extra[ENTITY] = canonical(engine, source.info(source.entity), "r")
    fixed = tuple(name for name in source.quasi if name in targets)
    lookups = {name: axis.lookup for name, axis in axes.items()}
    progress("encoding", 0, None)
    coded = encode(engine, source.relation, lookups, (*source.passed, *fixed), extra=extra)
    secrets = tuple(
        secret_of(
            engine,
            axes[name],
            demanding,
            hierarchies.get(name),
            coded.rows,
            nulls_as_value=name in source.nulls_as_value,
        )
        for name in secret
    )
    _check_nulls([*targets, *secret], axes, coded.rows)
    Demands(k, secrets).check_whole(coded.rows, _persons(engine, source, coded), source.entity is not None)
    least = max(k, 2)  # a value that one person holds is rare, whatever k is
    columns = {
        name: Column(axes[name], held_by(engine, source, axes[name]) >= least)
        for name in dict.fromkeys([*source.quasi, *targets])
    }
    for name in source.quasi:
        columns[name].check_values(coded.rows)
    trees = preserved_trees(wanted, source, {name: axes[name].size for name in targets}, options.max_leaves)
    for tree in trees:
        tree.may_skip = options.skip
        _check_subsets(tree, columns)
        if tree.model is not None:
            check_source(engine, source, tree.model, builder_of(tree.model), progress)
    checker = Checker(engine, coded, k, secrets, source.entity is not None, fixed)
    return Table(coded, columns, trees, checker, fixed, marker([axes[name] for name in source.quasi]))


def _check_roles(source: Source, hierarchies: Mapping[str, Hierarchy]) -> None:
    if not source.quasi:
        raise PolicyError("ALGORITHM tpp recodes quasi-identifiers: name some in QUASI IDENTIFIER (...)")
    along = [name for name in source.quasi if name in hierarchies]
    if along:
        raise PolicyError(f'ALGORITHM tpp groups values as the trees allow: column "{along[0]}" needs no HIERARCHY')


def _check_nulls(names: Sequence[str], axes: Mapping[str, Axis], rows: int) -> None:
    for name in names:
        missing = rows - int(axes[name].rows.sum())
        if missing:
            raise PolicyError(
                f'column "{name}" has {missing} NULLs: a response or a sensitive column of ALGORITHM tpp must be known '
                "in every row; fill them in the SELECT or leave the rows out"
            )


def _check_subsets(tree: Preserved, columns: Mapping[str, Column]) -> None:
    """Among more than two classes only a search through all subsets finds the same one after recoding."""
    if tree.builder.inducer != "cart" or columns[tree.target.name].axis.size <= 2:
        return
    for info in tree.attributes:
        axis = columns[info.name].axis
        if not info.kind.is_ordered and axis.size > _ALL_SUBSETS:
            raise PolicyError(
                f'column "{info.name}" has {axis.size} values and "{tree.target.name}" more than two classes: cart '
                f"tries all subsets of up to {_ALL_SUBSETS} values only; preserve id3, or group the values first"
            )


def _persons(engine: Engine, source: Source, coded: Coded) -> int:
    """What k counts in the whole table."""
    if source.entity is None:
        return coded.rows
    counted = exp.Count(this=exp.Distinct(expressions=[column(ENTITY)]))
    return int(engine.fetch_one(exp.Select(expressions=[counted]).from_(coded.table.table()))[0])
