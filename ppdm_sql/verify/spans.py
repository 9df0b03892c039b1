"""The groups that an attacker can form with a published tree, judged from the model file and its table.

The second opinion on every model: it reads the exchange file's own words, not the tree that made it, and shares no
code with what grew it.  The span of a person is the set of leaves his public values allow (Friedman, Schuster, Wolff,
PKDD 2006, definition 5).  Here it is written as the numbers of the nodes he can come to: public tests choose one
branch, private ones take all.  People with the same numbers are one class, and a class is judged as a class of rows
is judged (relation.py).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from decimal import ROUND_CEILING, Decimal
from typing import Any

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.among import among
from ppdm_sql.statements.names import column
from ppdm_sql.statements.steps import Part, Steps, concatenation

_ZONELESS = re.compile(
    r"(?P<day>[+-]?\d{4,6}-\d\d-\d\d)(?P<clock>[ T]\d\d:\d\d(:\d\d(\.\d{1,9})?)?)?(?P<era> \(?BC\)?)?", re.ASCII
)

Document = Mapping[str, Any]  # the "model" of an exchange file of kind tree


def reached_nodes(engine: Engine, model: Document, public: Collection[str], steps: Steps) -> exp.Expr:
    """The numbers of the nodes a row's public values allow, as one text; read it with `steps.over`."""
    nodes: Sequence[Document] = model["nodes"]
    texts: dict[int, Part] = {}
    for node in reversed(nodes):
        own = exp.Literal.string(f"{node['number']} ")
        if "split" not in node:
            texts[node["number"]] = Part(own)
            continue
        children = [steps.flat(texts.pop(child)) for child in node["children"]]
        split = node["split"]
        asked = next(split[word] for word in ("cut", "bands", "group") if word in split)
        attribute = model["attributes"][asked]
        if attribute["name"] not in public:
            texts[node["number"]] = steps.around(
                concatenation([own, *(child.expression for child in children)]), children
            )
            continue
        value = _value(engine, attribute, steps.table)
        branches = [
            exp.If(this=condition, true=concatenation([own, child.expression]))
            for condition, child in zip(_conditions(attribute, split, value), children, strict=True)
            if condition is not None
        ]
        text = exp.Case(ifs=branches, default=own.copy()) if branches else own
        texts[node["number"]] = steps.around(text, children)
    return texts[0].expression


def _value(engine: Engine, attribute: Document, table: str) -> exp.Expr:
    plain = column(attribute["name"], table)
    return engine.exact_text(exp.cast(plain, "TEXT")) if attribute["kind"] in ("text", "uuid") else plain


def _conditions(attribute: Document, split: Document, value: exp.Expr) -> list[exp.Expr | None]:
    """Per branch which rows take it; NULL and what no branch names stop at the node, unless a branch takes them.

    >>> bands = {"bands": 0, "at": [{"decimal": "20"}, {"decimal": "40"}], "branches": [0, 1, 0], "nulls": 1}
    >>> for branch in _conditions({"name": "age", "kind": "integer"}, bands, column("age")):
    ...     print(branch.sql("duckdb"))
    "age" < 20 OR "age" >= 40
    "age" >= 20 AND "age" < 40 OR "age" IS NULL
    """
    missing = exp.Is(this=value.find(exp.Column) or value, expression=exp.Null())
    if "cut" in split or "bands" in split:
        sides = _sides(attribute, split, value)
        return [
            exp.Or(this=side, expression=missing.copy()) if split["nulls"] == place else side
            for place, side in enumerate(sides)
        ]
    named = [_among(attribute, group, value) for group in split["groups"]]
    conditions: list[exp.Expr | None] = []
    for place, group in enumerate(split["groups"]):
        found = named[place]
        if split["others"] == place:
            all_named = [one for one in named if one is not None]
            known = exp.Not(this=missing.copy())
            rest = exp.and_(known, *(exp.Not(this=exp.Paren(this=one.copy())) for one in all_named))
            found = rest if found is None else exp.Or(this=exp.Paren(this=rest), expression=found)
        if None in group:
            found = missing.copy() if found is None else exp.Or(this=exp.Paren(this=found), expression=missing.copy())
        conditions.append(found)
    return conditions


def _sides(attribute: Document, split: Document, value: exp.Expr) -> list[exp.Expr]:
    """Per branch of a cut or of bands which values it takes; a cut is two bands."""
    thresholds, to = ([split["at"]], [0, 1]) if "cut" in split else (split["at"], split["branches"])
    limits = [_limit(attribute, at) for at in thresholds]
    sides: dict[int, list[exp.Expr]] = {branch: [] for branch in range(max(to) + 1)}
    for band, branch in enumerate(to):
        ends: list[exp.Expr] = []
        if band > 0:
            ends.append(exp.GTE(this=value.copy(), expression=limits[band - 1].copy()))
        if band < len(limits):
            ends.append(exp.LT(this=value.copy(), expression=limits[band].copy()))
        sides[branch].append(exp.and_(*ends))
    return [exp.or_(*bands) for bands in sides.values()]


def _among(attribute: Document, group: Sequence[Any], value: exp.Expr) -> exp.Expr | None:
    literals = [_literal(attribute, item) for item in group if item is not None]
    return among(value, literals) if literals else None


def _literal(attribute: Document, item: Any) -> exp.Expr:
    if isinstance(item, bool):
        return exp.true() if item else exp.false()
    if isinstance(item, str):
        text = exp.Literal.string(item)
        return text if attribute["kind"] in ("text", "uuid") else _moment(attribute, item)
    ((kind, text),) = item.items()
    if kind == "float":
        return exp.cast(exp.Literal.string(text), "DOUBLE")
    return exp.Literal.number(text)


def _limit(attribute: Document, at: Mapping[str, str]) -> exp.Expr:
    if "moment" in at:
        return _moment(attribute, at["moment"])
    number = Decimal(at["decimal"])
    if attribute["kind"] == "float":
        return exp.cast(exp.Literal.string(repr(float(number))), "DOUBLE")
    if attribute["kind"] == "integer":  # x < 30.5 is x < 31 for whole numbers
        number = number.to_integral_value(ROUND_CEILING)
    return exp.Literal.number(format(number, "f"))


def _moment(attribute: Document, text: str) -> exp.Expr:
    written = in_no_session_zone(text) if attribute.get("zoned") else text
    return exp.cast(exp.Literal.string(written), _type_of(attribute))


def in_no_session_zone(text: str) -> str:
    """A moment of the file with the offset of UTC, which it is in: without one it is read in the session's zone.

    >>> [in_no_session_zone(text) for text in ("2020-06-01", "2020-06-01 12:30:00.5", "2020-06-01 12:30:00+02")]
    ['2020-06-01 00:00:00+00', '2020-06-01 12:30:00.5+00', '2020-06-01 12:30:00+02']
    """
    found = _ZONELESS.fullmatch(text)
    if found is None:  # it has its offset, or it is infinite
        return text
    return f"{found['day']}{found['clock'] or ' 00:00:00'}+00{found['era'] or ''}"


def _type_of(attribute: Document) -> str:
    kind = attribute["kind"]
    if kind == "timestamp":
        return "TIMESTAMPTZ" if attribute.get("zoned") else "TIMESTAMP"
    if kind not in ("date", "boolean"):
        raise PolicyError(f'column "{attribute["name"]}": a {kind} cannot be compared with a text')
    return str(kind).upper()
