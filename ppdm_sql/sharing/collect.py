"""The miner's side: model files of several sources become one table of pseudo-rows, or one committee.

Tian, Zhang, Xu, Sharkey: each source publishes a tree that is safe on its own; the miner makes pseudo-rows from all
of them and learns any model from the rows.  The domains are pooled: a column that one source's tree does not ask for
is drawn from what the others name, so that the sources do not differ in what they leave out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

from sqlglot import exp

from ppdm_sql.catalog.manifest import FindingRecord
from ppdm_sql.catalog.mark import MARK
from ppdm_sql.catalog.store import sha256_of
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.pseudodata.categories import in_order
from ppdm_sql.pseudodata.domains import Declared, Domain, domains_of, match_columns, with_steps
from ppdm_sql.pseudodata.generate import GenerationOrder, choices, generate
from ppdm_sql.pseudodata.paths import CLASSES, MOST_ROWS, TIMES, largest_remainder
from ppdm_sql.sharing import manifest
from ppdm_sql.statements.names import PREFIX, SCHEMA, Name, aliased, column
from ppdm_sql.statements.rowtext import hash_numbers
from ppdm_sql.trees.exchange import read
from ppdm_sql.trees.tree import Attribute, Tree
from ppdm_sql.trees.tree_json import tree_of
from ppdm_sql.watching import Progress, silent

SOURCE = "ppdm_source"
_BESIDE = ".manifest.json"
_LARGEST = 64 * 1024 * 1024


@dataclass(frozen=True)
class Shared:
    """A model file, checked against its manifest."""

    file: str
    name: str
    tree: Tree
    findings: tuple[FindingRecord, ...]
    sha256: str = ""


def model_files(files: Sequence[str]) -> list[Path]:
    """The model files among those that shared/*.json names: manifests lie next to them and are read with them."""
    given = [Path(file) for file in files]
    kept = [path for path in given if not _is_manifest(path)]
    if not kept:
        raise PolicyError("no model file was given: a manifest alone is not enough")
    return kept


def _is_manifest(path: Path) -> bool:
    return path.name.endswith(_BESIDE) and path.with_name(path.name.removesuffix(_BESIDE)).exists()


def read_shared(path: Path) -> Shared:
    """A published model file; one whose manifest is missing, does not fit, or promises nothing is refused."""
    beside = path.with_name(f"{path.name}{_BESIDE}")
    text = _text(path)
    if not beside.exists():
        _tree(path, text)  # what no manifest could make good is said first
    content = manifest.read_model_manifest(beside.name, _text(beside))
    tree, name = _tree(path, text)
    manifest.refuse_other_file(path.name, content, text)
    with _told_of(path.name):
        manifest.refuse_other_model(path.name, content, tree)
    if not tree.root.rows:
        raise PolicyError(f"{path.name}: the model has no rows in any leaf, so nothing can be made from it")
    return Shared(path.name, name or path.stem, tree, content.findings, sha256_of(text))


def _tree(path: Path, text: str) -> tuple[Tree, str | None]:
    """The decision tree of a file; nothing else can be pooled."""
    with _told_of(path.name):
        document = read(text)
    if document.kind != "tree":
        raise PolicyError(f"{path.name} contains a model of kind {document.kind}: only decision trees can be pooled")
    with _told_of(path.name):
        tree = tree_of(document)
    if tree.is_regression:
        raise PolicyError(f"{path.name} contains a regression tree: only decision trees can be pooled")
    return tree, document.name


@contextmanager
def _told_of(file: str) -> Iterator[None]:
    """What is wrong with one of several files is said of that file."""
    try:
        yield
    except PolicyError as error:
        raise PolicyError(f"{file}: {error}") from None


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST:
            raise PolicyError(f"{path.name} is too large to be a model")
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise PolicyError(
            f"{path.name} cannot be read: EXPORT writes a model and its manifest into the same folder"
        ) from None


# -- do they fit together --------------------------------------------------------------------------------


def check_fit(shared: Sequence[Shared]) -> None:
    """The sources must speak of the same thing: one target, and columns of one spelling and one kind."""
    if not shared:
        raise PolicyError("no model file was given")
    _refuse_twins(shared)
    first, target = shared[0], shared[0].tree.target
    kinds: dict[str, tuple[Attribute, str]] = {target.name.casefold(): (target, first.file)}
    for one in shared:
        mine = one.tree.target
        if mine.name != target.name or _kind(mine) != _kind(target):
            raise PolicyError(
                f'{one.file} predicts "{mine.name}" ({_kind(mine)}), '
                f'{first.file} predicts "{target.name}" ({_kind(target)})'
            )
        for attribute in one.tree.attributes:
            _fit_in(one, attribute, kinds)


def _refuse_twins(shared: Sequence[Shared]) -> None:
    seen: dict[str, str] = {}
    for one in shared:
        if one.sha256 and one.sha256 in seen:
            raise PolicyError(f"{seen[one.sha256]} and {one.file} are the same file: the model of a source counts once")
        seen[one.sha256] = one.file


def _fit_in(one: Shared, attribute: Attribute, kinds: dict[str, tuple[Attribute, str]]) -> None:
    if attribute.name.casefold().startswith(PREFIX):
        raise PolicyError(
            f'{one.file} has a column "{attribute.name}": the prefix {PREFIX} is reserved for ppdm_sql; rename it '
            "with AS "
            "in the SELECT of the model"
        )
    known, file = kinds.setdefault(attribute.name.casefold(), (attribute, one.file))
    if known.name != attribute.name:
        raise PolicyError(
            f'column "{attribute.name}" of {one.file} is spelled "{known.name}" in {file}: '
            "rename one with AS in the SELECT of its model"
        )
    if _kind(known) != _kind(attribute):
        raise PolicyError(
            f'column "{attribute.name}" is {_kind(attribute)} in {one.file} and {_kind(known)} in {file}: '
            "cast it in the SELECT of one of the models"
        )


def _kind(attribute: Attribute) -> str:
    """The kind of a column in words."""
    words = f"{attribute.kind.value} with time zone" if attribute.zoned else attribute.kind.value
    return f"{words} as categories" if attribute.kind.is_ordered and not attribute.ordered else words


def pooled_domains(shared: Sequence[Shared], declared: Mapping[str, Declared]) -> dict[str, Domain]:
    """Per column the values or the widest bounds that any source's model names."""
    found: dict[str, Domain] = {}
    declared = _by_column(shared, declared)
    for one in shared:
        mine = {name: bounds for name, bounds in declared.items() if name in {a.name for a in one.tree.attributes}}
        with _told_of(one.file):
            domains = domains_of(one.tree, mine)
        for domain in domains.values():
            found[domain.name] = _join_domains(found[domain.name], domain) if domain.name in found else domain
    return found


def _by_column(shared: Sequence[Shared], declared: Mapping[str, Declared]) -> dict[str, Declared]:
    names = [attribute.name for one in shared for attribute in one.tree.attributes]
    return match_columns(declared, names, "no model has a column")


def _join_domains(one: Domain, two: Domain) -> Domain:
    attribute = _wider(one.attribute, two.attribute)
    if one.bounds is not None and two.bounds is not None:
        bounds = min(one.bounds[0], two.bounds[0]), max(one.bounds[1], two.bounds[1])
        steps = None if one.steps is None or two.steps is None else max(one.steps, two.steps)
        return with_steps(Domain(attribute, bounds=bounds, steps=steps))
    values = in_order(dict.fromkeys((*one.values, *two.values)))
    return Domain(attribute, values=values, is_declared=one.is_declared)


def _wider(one: Attribute, two: Attribute) -> Attribute:
    """Of two columns of DECIMALs one that holds the numbers of both."""
    known = one.scale is not None and two.scale is not None
    return replace(one, scale=max(one.scale or 0, two.scale or 0) if known else None)


# -- one table -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pooled:
    relation: str
    rows: int
    sources: int


def refuse_ours(table: Name) -> Name:
    """A name that the user may give to a new table."""
    if table.last.casefold().startswith(PREFIX) or (table.schema or "").casefold() == SCHEMA:
        raise PolicyError(f"{table}: names with the prefix {PREFIX}, and schema {SCHEMA}, are reserved for ppdm_sql")
    return table


def pool(
    engine: Engine,
    shared: Sequence[Shared],
    into: Name,
    *,
    rows: int | None = None,
    seed: int = 0,
    algorithm: str = "pgen",
    classes: str = CLASSES[0],
    domains: Mapping[str, Declared] | None = None,
    numbers: str = "uniform",
    bands: str = "even",
    name_sources: bool = False,
    progress: Progress = silent,
) -> Pooled:
    """Writes one table of pseudo-rows from all sources: each in proportion to the rows its model was learned from.

    Whose model a row comes from is shown only if asked for; neither does the order of the rows tell it.
    """
    check_fit(shared)
    engine.check_writable()
    if engine.relation_kind(into) is not None:
        raise PolicyError(f"table {into} already exists and will not be overwritten")
    domains = _by_column(shared, domains or {})
    common = pooled_domains(shared, domains)
    sizes = _sizes(shared, rows)
    order = GenerationOrder(algorithm, None, seed=seed, classes=classes, domains=domains, numbers=numbers, bands=bands)
    parts: list[exp.Query] = []
    target = reduce(_wider, (other.tree.target for other in shared))
    with engine.workspace():
        for number, (one, size) in enumerate(zip(shared, sizes, strict=True)):
            progress("making rows", number, len(shared))
            if size:
                tree = replace(one.tree, target=target)
                parts.append(_part(engine, tree, number, common, replace(order, rows=size, seed=seed + number)))
        query = _shuffle_query(engine, reduce(_above, parts), list(common), shared[0], seed, name_sources)
        engine.create_table(into, query)
    engine.comment(into, engine.relation_kind(into) or "table", _comment_text(shared, order, sum(sizes)))
    return Pooled(str(into), sum(sizes), len(shared))


def _sizes(shared: Sequence[Shared], rows: int | None) -> list[int]:
    weights = [one.tree.root.rows for one in shared]
    if not sum(weights):
        raise PolicyError("the models have no rows in any leaf, so nothing can be made from them")
    wanted = TIMES * sum(weights) if rows is None else rows
    if wanted > MOST_ROWS:
        raise PolicyError(f"more than {MOST_ROWS:,} pseudo-rows would be made: set the number with --rows")
    return largest_remainder(weights, wanted)


def _comment_text(shared: Sequence[Shared], order: GenerationOrder, rows: int) -> str:
    """What the table's comment says of where its rows come from."""
    chosen = [] if order.algorithm == "basegen" else [f"classes by {order.classes}", *choices(order)]
    names = ", ".join(f'"{name}"' for name in order.domains or {})
    made = ", ".join([order.algorithm, *chosen, f"{rows} rows", f"seed {order.seed}"])
    made += f"; domains declared for {names}" if names else ""
    files = ", ".join(f"{one.file} ({one.sha256 or 'no file'})" for one in shared)
    return (
        f"{MARK} of {len(shared)} sources: made from models, describes nobody; {made}; files and their sha256: {files}"
    )


def _part(engine: Engine, tree: Tree, number: int, common: Mapping[str, Domain], order: GenerationOrder) -> exp.Select:
    """The rows of one source in a working table, and the query that gives them with all columns.

    A column that its model does not have is one more that no question asks for: drawn from the common domain, so that
    it does not tell the source.
    """
    own_names = {attribute.name for attribute in tree.attributes}
    attributes = [common[one.name].attribute if one.name in common else one for one in tree.attributes]
    attributes += [domain.attribute for name, domain in common.items() if name not in own_names]
    places = {attribute.name: place for place, attribute in enumerate(attributes)}
    mine = {places[name]: domain for name, domain in common.items()}
    made = generate(engine, replace(tree, attributes=tuple(attributes)), order, mine)
    table = made.store(engine, "shared_rows")
    picked = [aliased(exp.cast(exp.Literal.number(number), "INT"), SOURCE)]
    picked += [aliased(column(name, "t"), name) for name in (*common, tree.target.name)]
    return exp.Select(expressions=picked).from_(table.table("t"))


def _shuffle_query(
    engine: Engine, rows: exp.Query, names: Sequence[str], one: Shared, seed: int, name_sources: bool
) -> exp.Select:
    """The rows of all sources in the order of a keyed hash of what they say."""
    kept = [*names, one.tree.target.name]
    picked = [column(name, "u") for name in ([SOURCE, *kept] if name_sources else kept)]
    first, second = hash_numbers(engine, [column(name, "u") for name in kept], salt=str(seed))
    whole = exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier("u")))
    return exp.Select(expressions=picked).from_(whole).order_by(first, second)


def _above(upper: exp.Query, lower: exp.Query) -> exp.Query:
    return exp.Union(this=upper, expression=lower, distinct=False)
