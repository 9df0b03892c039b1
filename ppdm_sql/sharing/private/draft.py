"""A codebook to start from: one site's columns, with what the others must agree to before anybody counts.

The draft goes to all sites, so it names only values that at least k rows have, and no number of the data: bins are
given in the call.  `other` and NULL are agreed on where this site has any: a site that has them where the codebook does
not allow it is refused when it counts, and proposes another codebook.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from ppdm_sql.classifiers.cells import count_cells, find_classes
from ppdm_sql.classifiers.document_reader import Reading
from ppdm_sql.classifiers.domains import CategoricalDomain, Domain, domain_from_dict
from ppdm_sql.classifiers.values import MOMENTS, checked_columns, value_from_dict
from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.words import did_you_mean
from ppdm_sql.sharing.private.codebook import AgreedAttribute, Codebook, Holdout, check_codebook
from ppdm_sql.sharing.private.keys import PublicKeys
from ppdm_sql.source.relation import match
from ppdm_sql.statements.names import Name, Word, column
from ppdm_sql.trees.tree import Attribute, Value

_WORDS = {Kind.BOOLEAN: "boolean", Kind.INTEGER: "integer", Kind.DECIMAL: "decimal", Kind.DATE: "date"}


def draft_codebook(
    engine: Engine,
    relation: Name,
    target: str,
    round_name: str,
    *,
    mode: str,
    k: int,
    sites: Sequence[PublicKeys],
    mixers: Sequence[PublicKeys] = (),
    bins: Mapping[str, str] | None = None,
    values: Mapping[str, str] | None = None,
    laplace: int = 1,
    holdout: Holdout | None = None,
) -> Codebook:
    """The codebook of a round over the columns of a relation."""
    columns = {info.name: info for info in engine.columns(relation)}
    wanted = _named(target, columns)
    given_bins, given_values = _by_column(bins or {}, columns), _by_column(values or {}, columns)
    attributes, aim = checked_columns([info for name, info in columns.items() if name != wanted], columns[wanted])
    _refuse_missing_bins([one.name for one in attributes if one.ordered and one.name not in given_bins])
    classes = _classes(engine, relation, columns[wanted], given_values.get(wanted), k)
    coded = [
        _coded(
            engine,
            relation,
            columns[one.name],
            one,
            columns[wanted],
            k,
            given_bins.get(one.name),
            given_values.get(one.name),
        )
        for one in attributes
    ]
    found = Codebook(
        round_name, mode, k, aim, classes, tuple(coded), tuple(sorted(sites, key=lambda site: site.name)),
        tuple(mixers), laplace, holdout,
    )  # fmt: skip
    check_codebook(found)
    return found


def _named(text: str, columns: Mapping[str, object]) -> str:
    found = match(Word(text), columns)
    if found is None:
        raise PolicyError(f"there is no column of this name: {did_you_mean(text, columns)}")
    return found


def _by_column(given: Mapping[str, str], columns: Mapping[str, object]) -> dict[str, str]:
    return {_named(name, columns): text for name, text in given.items()}


def _refuse_missing_bins(names: Sequence[str]) -> None:
    if names:
        listed = ", ".join(f'"{name}"' for name in names)
        raise PolicyError(
            f"the bins of {listed} are not given: agree on round limits, such as --bins {names[0]}=20,40,60; limits "
            "found in the data of one site would show its rows"
        )


def _classes(engine: Engine, relation: Name, target: ColumnInfo, given: str | None, k: int) -> tuple[Value, ...]:
    if given is None:
        return find_classes(engine, relation, target, k).values
    return tuple(_value(text, target.kind) for text in given.split("|"))


def _value(text: str, kind: Kind) -> Value:
    word = _WORDS.get(kind, "text")
    content: object = text == "true" if kind is Kind.BOOLEAN and text in ("true", "false") else text
    return value_from_dict(Reading({word: content}, f"--values, {word}"), kind)


def _coded(
    engine: Engine,
    relation: Name,
    info: ColumnInfo,
    attribute: Attribute,
    target: ColumnInfo,
    k: int,
    bins: str | None,
    values: str | None,
) -> AgreedAttribute:
    nulls = _has_nulls(engine, relation, info)
    if attribute.ordered:
        assert bins is not None
        return AgreedAttribute(attribute, _bins(attribute, bins), nulls=nulls)
    if values is not None:
        named = tuple(_value(text, attribute.kind) for text in values.split("|"))
        return AgreedAttribute(attribute, CategoricalDomain(named), other=False, nulls=nulls)
    with engine.workspace():
        cells = count_cells(engine, relation, info, attribute, find_classes(engine, relation, target, 1))
        domain, counts = cells.categories(k)
    return AgreedAttribute(attribute, domain, other=any(counts[-1]), nulls=nulls)


def _bins(attribute: Attribute, text: str) -> Domain:
    word = "moment" if attribute.kind in MOMENTS else "decimal"
    listed = [{word: part.strip()} for part in text.split(",") if part.strip()]
    return domain_from_dict(Reading({"boundaries": listed}, f'--bins, column "{attribute.name}"'), attribute)


def _has_nulls(engine: Engine, relation: Name, info: ColumnInfo) -> bool:
    missing = exp.Is(this=column(info.name, "r"), expression=exp.Null())
    query = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(relation.table("r")).where(missing)
    return bool(engine.fetch_one(query)[0])
