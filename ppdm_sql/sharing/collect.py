"""The miner's side: model files of several sources become one table of pseudo-rows, or one committee.

Tian, Zhang, Xu, Sharkey: each source publishes a tree that is safe on its own; the miner makes pseudo-rows from all
of them and learns any model from the rows.  The domains are pooled: a column that one source's tree does not ask for
is drawn from what the others name, so that the sources do not differ in what they leave out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from sqlglot import exp

from ppdm_sql.catalog.store import sha256_of
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError, Tampered
from ppdm_sql.pseudodata.domains import Bounds, Domain, domains_of
from ppdm_sql.pseudodata.generate import Order, generate
from ppdm_sql.pseudodata.paths import largest_remainder
from ppdm_sql.statements.names import Name, aliased, column, own
from ppdm_sql.statements.rowtext import hash_numbers
from ppdm_sql.trees.tree import Attribute, Tree, Value
from ppdm_sql.trees.tree_json import read_tree
from ppdm_sql.watching import Progress, silent

SOURCE = "ppdm_source"
_LARGEST = 64 * 1024 * 1024
_PART = "ppdm_shared_"


@dataclass(frozen=True)
class Shared:
    """A model file, checked against the manifest beside it."""

    file: str
    name: str
    tree: Tree
    findings: tuple[dict[str, Any], ...]


def read_shared(path: Path) -> Shared:
    """A published model file; one whose manifest is missing, does not fit, or promises nothing is refused."""
    beside = path.with_name(f"{path.name}.manifest.json")
    text, told = _text(path), _text(beside)
    try:
        content = json.loads(told)
        digest, findings = content["export"]["sha256"], content["findings"]
        holds = bool(findings) and all(item["holds"] is True for item in findings)
    except (ValueError, KeyError, TypeError):
        raise PolicyError(f"{beside.name} is not the manifest of a published model") from None
    if digest != sha256_of(text):
        raise Tampered(f"{path.name} is not the file its manifest was written for")
    if not holds:
        raise PolicyError(f"{path.name}: its manifest does not say that its requirements hold")
    tree, name = read_tree(text)
    if tree.is_regression:
        raise PolicyError(f"{path.name} holds a regression tree: only decision trees can be pooled")
    return Shared(path.name, name or path.stem, tree, tuple(findings))


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST:
            raise PolicyError(f"{path.name} is too large to be a model")
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise PolicyError(f"{path.name} cannot be read: EXPORT writes a model and its manifest side by side") from None


def check_fit(shared: Sequence[Shared]) -> None:
    """The sources must speak of the same thing: one target, and columns of one kind."""
    if not shared:
        raise PolicyError("no model file was given")
    first = shared[0].tree.target
    kinds: dict[str, Attribute] = {}
    for one in shared:
        target = one.tree.target
        if (target.name, target.kind) != (first.name, first.kind):
            raise PolicyError(f'{one.file} predicts "{target.name}", {shared[0].file} predicts "{first.name}"')
        for attribute in one.tree.attributes:
            known = kinds.setdefault(attribute.name, attribute)
            if (known.kind, known.ordered) != (attribute.kind, attribute.ordered):
                raise PolicyError(f'column "{attribute.name}" is of different kinds in the files')


def pooled_domains(shared: Sequence[Shared], declared: dict[str, Bounds]) -> dict[str, Domain]:
    """Per column the values or the widest bounds that any source's model names."""
    found: dict[str, Domain] = {}
    names = {attribute.name for one in shared for attribute in one.tree.attributes}
    unknown = [name for name in declared if name not in names]
    if unknown:
        raise PolicyError(f'domains: no model has a column "{unknown[0]}"')
    for one in shared:
        mine = {name: bounds for name, bounds in declared.items() if name in {a.name for a in one.tree.attributes}}
        for domain in domains_of(one.tree, mine).values():
            name = domain.attribute.name
            found[name] = _joined(found[name], domain) if name in found else domain
    return found


def _joined(one: Domain, two: Domain) -> Domain:
    if one.bounds is not None and two.bounds is not None:
        low, high = min(one.bounds[0], two.bounds[0]), max(one.bounds[1], two.bounds[1])
        return Domain(one.attribute, bounds=(low, high))
    values: dict[Value, None] = dict.fromkeys((*one.values, *two.values))
    return Domain(one.attribute, values=tuple(sorted(values, key=lambda value: (str(type(value)), value))))


@dataclass(frozen=True)
class Pooled:
    relation: str
    rows: int
    sources: int


def pool(
    engine: Engine,
    shared: Sequence[Shared],
    into: Name,
    *,
    rows: int | None = None,
    seed: int = 0,
    algorithm: str = "pgen",
    by_counts: bool = False,
    domains: dict[str, Bounds] | None = None,
    name_sources: bool = False,
    progress: Progress = silent,
) -> Pooled:
    """Writes one table of pseudo-rows from all sources: each in proportion to the rows its model was learned from.

    Whose model a row comes from is told only if asked for; neither does the order of the rows tell it.
    """
    check_fit(shared)
    engine.check_writable()
    if engine.relation_kind(into) is not None:
        raise PolicyError(f"there is a table {into} already: it will not be overwritten")
    common = pooled_domains(shared, domains or {})
    weights = [one.tree.root.rows for one in shared]
    sizes = weights if rows is None else largest_remainder(weights, rows)
    parts: list[exp.Query] = []
    for number, (one, size) in enumerate(zip(shared, sizes, strict=True)):
        progress("making rows", number, len(shared))
        if size:
            order = Order(algorithm, size, seed + number, by_counts=by_counts)
            parts.append(_part(engine, one, number, common, order))
    engine.create_table(into, _mixed(engine, reduce(_above, parts), list(common), shared[0], seed, name_sources))
    kind = engine.relation_kind(into) or "table"
    engine.comment(into, kind, f"ppdm_sql pseudo-data of {len(shared)} sources: made from models, describes nobody")
    for number in range(len(shared)):
        engine.drop_table(own(f"{_PART}{number}"), temporary=True)
    return Pooled(str(into), sum(sizes), len(shared))


def _part(engine: Engine, one: Shared, number: int, common: dict[str, Domain], order: Order) -> exp.Select:
    """The rows of one source in a working table, and the query that gives them with all columns."""
    places = {attribute.name: place for place, attribute in enumerate(one.tree.attributes)}
    mine = {places[name]: Domain(one.tree.attributes[places[name]], d.values, d.bounds)
            for name, d in common.items() if name in places}  # fmt: skip
    made = generate(engine, one.tree, order, mine)
    table = own(f"{_PART}{number}")
    engine.create_table(table, made.query, temporary=True)
    picked = [aliased(exp.cast(exp.Literal.number(number), "INT"), SOURCE)]
    there = {info.name: info for info in engine.columns(table)}
    for name in common:
        picked.append(aliased(column(name, "t") if name in there else exp.Null(), name))
    picked.append(aliased(column(one.tree.target.name, "t"), one.tree.target.name))
    return exp.Select(expressions=picked).from_(table.table("t"))


def _mixed(
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
