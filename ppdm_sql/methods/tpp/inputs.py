"""What TPP reads before it grows a tree: its options, its columns as codes, the trees, and what it cannot take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from ppdm_sql.cells.cells import Cells
from ppdm_sql.errors import OptionError, PolicyError
from ppdm_sql.methods.base import CellJob, Job, Prepared
from ppdm_sql.methods.shared.columns import Axis, cell_axis
from ppdm_sql.methods.shared.labels import marker
from ppdm_sql.methods.shared.limits import Demands, secret_of
from ppdm_sql.methods.tpp.columns import Column
from ppdm_sql.methods.tpp.preserved_trees import Preserved, preserved_trees, target_of, wanted_trees
from ppdm_sql.methods.tpp.recoding_check import Checker
from ppdm_sql.methods.tpp.stored_models import builder_of, check_source, find_models, is_model
from ppdm_sql.policy.forms import Form
from ppdm_sql.policy.options import Choice, Switch, Whole
from ppdm_sql.policy.policy import Policy
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.relation import Source

_ALL_SUBSETS = 10  # categories up to which a tree of more than two classes tries every subset


# -- options ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TppOptions:
    """numbers: what is published of numbers and moments; the options behind unused_numeric are for shifted ones."""

    max_leaves: Annotated[int | None, Whole(1)] = None
    numbers: Annotated[str, Choice("intervals", "shifted")] = "intervals"
    on_failure: Annotated[str, Choice("stop", "skip")] = "stop"
    unused_numeric: Annotated[str, Choice("null", "mean")] = "null"
    absorb: Annotated[bool, Switch()] = False
    paper: Annotated[bool, Switch()] = False

    @property
    def skip(self) -> bool:
        return self.on_failure == "skip"

    @property
    def mean(self) -> bool:
        return self.unused_numeric == "mean"

    @property
    def shifted(self) -> bool:
        """Whether numbers are the paper's stand-ins, which are no ranges of the source."""
        return self.numbers == "shifted"


def check_numbers(policy: Policy, options: TppOptions) -> None:
    """Refuses options about shifted numbers where intervals are published, and ranges of shifted numbers."""
    for name, given in (("unused_numeric", options.mean), ("absorb", options.absorb), ("paper", options.paper)):
        if given and not options.shifted:
            raise OptionError(name, f"{name} of ALGORITHM tpp is for shifted numbers: add numbers = shifted")
    ranges = [form for form in policy.roles.forms.values() if form is not Form.MIDPOINT]
    if ranges and options.shifted:
        told = f"numbers = shifted publishes stand-ins, which are no ranges: leave out AS {ranges[0].value}"
        raise OptionError("numbers", told)


def check_skipping(policy: Policy, options: TppOptions) -> None:
    """Refuses on_failure = skip where there is more than leaves of one tree to close."""
    if options.skip and len(policy.preserve) > 1:
        told = "on_failure = skip closes leaves of one tree; with several trees the search stops instead"
        raise OptionError("on_failure", told)
    if options.skip and any(map(is_model, policy.preserve)):
        told = "on_failure = skip closes leaves; a model in PRESERVE is kept whole or not at all"
        raise OptionError("on_failure", told)


# -- reading ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TppInputs:
    """What the search works on."""

    cells: Cells
    columns: dict[str, Column]
    trees: list[Preserved]
    checker: Checker
    fixed: tuple[str, ...]  # responses that are quasi-identifiers too
    marker: str


def prepare_tpp(job: Job) -> Prepared:
    """The models of PRESERVE, each grown again from the source, and the responses of all trees."""
    options = job.options(TppOptions)
    check_skipping(job.policy, options)
    check_numbers(job.policy, options)
    _check_roles(job.source, job.hierarchies)
    models = find_models(job.engine, job.policy)
    for model in models:
        if model is not None:
            check_source(job.engine, job.source, model, builder_of(model), job.progress)
    targets = tuple(target_of(one, job.source) for one in wanted_trees(job.policy, models))
    return Prepared(targets, people=True, models=models)


def read_inputs(job: CellJob, options: TppOptions) -> TppInputs:
    """Everything that the search works on, checked."""
    source, secret, cells = job.source, job.sensitive, job.cells
    wanted = wanted_trees(job.policy, job.models)
    targets = list(dict.fromkeys(target_of(one, source) for one in wanted))
    axes = {name: cell_axis(cells, name) for name in dict.fromkeys([*source.quasi, *targets, *secret])}
    fixed = tuple(name for name in source.quasi if name in targets)
    secrets = tuple(secret_of(job, axes[name], cells.total) for name in secret)
    _check_nulls([*targets, *secret], axes, cells.total)
    Demands(job.k, secrets).check_whole(cells.total, cells.units, job.counts_persons)
    least = max(job.k, 2)  # a value that one person holds is rare, whatever k is
    columns = {name: Column(axes[name], cells[name].held >= least) for name in dict.fromkeys([*source.quasi, *targets])}
    for name in source.quasi:
        columns[name].check_values(cells.total)
    trees = preserved_trees(wanted, source, {name: axes[name].size for name in targets}, options.max_leaves)
    for tree in trees:
        tree.begin(axes, cells.rows, job.progress)
        _check_subsets(tree, columns)
    codes = {name: cells[name].codes for name in axes}
    checker = Checker(cells, codes, job.k, secrets, fixed)
    return TppInputs(cells, columns, trees, checker, fixed, marker([axes[name] for name in source.quasi]))


def _check_roles(source: Source, hierarchies: Mapping[str, Hierarchy]) -> None:
    if not source.quasi:
        raise PolicyError("ALGORITHM tpp recodes quasi-identifiers: name some in QUASI IDENTIFIER (...)")
    along = [name for name in source.quasi if name in hierarchies]
    if along:
        raise PolicyError(
            f'ALGORITHM tpp groups values as the trees allow: leave out the HIERARCHY of column "{along[0]}"'
        )


def _check_nulls(names: Sequence[str], axes: Mapping[str, Axis], rows: int) -> None:
    for name in names:
        missing = rows - int(axes[name].rows.sum())
        if missing:
            raise PolicyError(
                f'column "{name}" has {missing} NULLs: ALGORITHM tpp needs a known response and known sensitive '
                "values in "
                "every row; replace them in the SELECT or exclude the rows"
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
                "tries all "
                f"subsets of up to {_ALL_SUBSETS} values only; preserve id3, or group the values first"
            )
