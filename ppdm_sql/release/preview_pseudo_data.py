"""What CREATE TABLE ... AS PSEUDO DATA would make, in words: from which model, how many rows, over which domains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction

from ppdm_sql.catalog import migrate
from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.models import library
from ppdm_sql.planning.joint import shown_name
from ppdm_sql.planning.target import find_target
from ppdm_sql.policy.policy import PseudoData
from ppdm_sql.policy.words import many
from ppdm_sql.pseudodata.categories import Listed
from ppdm_sql.pseudodata.domains import Declared, Domain, domains_of, match_columns
from ppdm_sql.pseudodata.generate import GenerationOrder, choices
from ppdm_sql.pseudodata.paths import recipes
from ppdm_sql.release.pseudo import read_order, released_model
from ppdm_sql.release.results import Planned
from ppdm_sql.statements.names import Name
from ppdm_sql.trees.show import rows_text, visible
from ppdm_sql.trees.tree import Attribute

_STORED = "store them under that name, and record in the catalog and in the table's comment that they describe nobody"


def preview_pseudo_data(engine: Engine, statement: PseudoData, coming: frozenset[Name] = frozenset()) -> Planned:
    """Refuses what the statement itself would refuse; coming: the models that statements before it will publish."""
    order = read_order(statement)
    find_target(engine, statement, release_id="")
    name = engine.name(statement.model)
    if name in coming:
        return _of_a_model_to_come(engine, statement, order, name)
    if not migrate.is_there(engine):
        raise PolicyError(f'there is no released model "{name}": nothing has been published in this database yet')
    record = released_model(engine, statement)
    tree = library.load(engine, record.relation_name).tree
    names = [attribute.name for attribute in tree.attributes]
    order = replace(order, domains=match_columns(order.domains or {}, names, "the model has no column"))
    domains = domains_of(tree, order.domains or {})
    rows = sum(recipe.rows for recipe in recipes(tree, domains, order.rows, order.seed, times=order.times))
    steps = (
        f"make {rows_text(rows)} from model {shown_name(record)}, which was trained on {rows_text(tree.root.rows)} "
        f"({_how(order)})",
        *(_column_step(domain, order) for domain in domains.values()),
        f"{visible(tree.target.name)}: {many(len(tree.classes), 'class', 'classes')} that the model names",
        _STORED,
    )
    return Planned(name=str(engine.name(statement.name)), steps=steps, statements=(), rows=rows, classes=1)


def _of_a_model_to_come(engine: Engine, statement: PseudoData, order: GenerationOrder, name: Name) -> Planned:
    size = rows_text(order.rows) if order.rows else f"{order.times} times as many rows as it was trained on"
    steps = (
        f"make {size} from model {name}, after the earlier statement has published it ({_how(order)})",
        *(f"{visible(name)}: {_declared_text(declared)}" for name, declared in (order.domains or {}).items()),
        "every other column that it uses: from its thresholds and categories",
        _STORED,
    )
    return Planned(name=str(engine.name(statement.name)), steps=steps, statements=(), rows=order.rows or 0)


def _how(order: GenerationOrder) -> str:
    classes = {"counts": "as counted", "quota": "by quota", "draw": "drawn"}[order.classes]
    chosen = [f"classes {classes}", *choices(order)] if order.algorithm == "pgen" else []
    return ", ".join([order.algorithm, f"seed {order.seed}", *chosen])


def _declared_text(declared: Declared) -> str:
    if isinstance(declared, Listed):
        return f"{_categories(len(declared.values))}, as declared"
    return "between the declared bounds"


def _categories(number: int) -> str:
    return many(number, "category", "categories")


def _column_step(domain: Domain, order: GenerationOrder) -> str:
    name = visible(domain.name)
    if domain.bounds is None:
        whence = ", as declared" if domain.is_declared else " that the model names"
        return f"{name}: {_categories(len(domain.values))}{whence}"
    low, high = _ends(domain.attribute, domain.bounds)
    whence = "as declared" if domain.name in (order.domains or {}) else "from the thresholds of the model"
    return f"{name}: from {low} to {high}, {whence}"


def _ends(attribute: Attribute, bounds: tuple[Fraction, Fraction]) -> Iterator[str]:
    return (_place_text(attribute.kind, place) for place in bounds)


def _place_text(kind: Kind, place: Fraction) -> str:
    """A place of a domain for people: days and seconds since 1970 as moments.

    >>> _place_text(Kind.DATE, Fraction(365)), _place_text(Kind.INTEGER, Fraction(120))
    ('1971-01-01', '120')
    """
    try:
        if kind is Kind.DATE:
            return (date(1970, 1, 1) + timedelta(days=int(place))).isoformat()
        if kind is Kind.TIMESTAMP:
            return (datetime(1970, 1, 1) + timedelta(seconds=float(place))).isoformat(sep=" ")
    except OverflowError:  # the end of the year 9999 is no moment of Python's
        return "the end of the year 9999"
    return str(place) if place.denominator == 1 else f"{float(place):.6g}"
