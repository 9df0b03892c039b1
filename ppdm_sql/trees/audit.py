"""What a published tree lets somebody tell apart: the linking attack on a model, as one aggregation.

Friedman, Schuster, Wolff: k-Anonymous Decision Tree Induction (PKDD 2006), definitions 5 to 7.  An attacker knows
the public columns of everybody in the table and not the private ones.  A public test sends a person one way, a
private test sends him all ways at once; the leaves he may be in are his span.  People of equal span cannot be told
apart, so the smallest span is the k of the model.  The size of a leaf says nothing about it: a leaf of one row can
be safe, and a tree whose leaves all have k rows can single somebody out.

A span is computed as a text of the outcomes of all public tests that the person can come to.  Rows stay in the
database; what comes back are figures about spans.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.source.encode import canonical
from ppdm_sql.source.relation import match
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import Name, Word, aliased, own
from ppdm_sql.trees.comparing import compared
from ppdm_sql.trees.expression import bound, branch_conditions
from ppdm_sql.trees.tree import Tree

_SPANS = own("ppdm_spans")
SPAN, CLASS, ENTITY = "ppdm_span", "ppdm_class", "ppdm_entity"


@dataclass(frozen=True)
class Audit:
    """What the attacker gets: figures over the groups he can form."""

    rows: int
    spans: int
    k: int  # the smallest span, in rows or persons
    exposed_rows: int  # in spans of one class only: their class is certain
    confidence: Fraction  # the greatest share of one class in a span
    entropy_bits: float  # the least entropy of the classes in a span
    below: int | None = None  # spans smaller than the k that was asked for
    rows_below: int | None = None
    public: tuple[str, ...] = ()
    class_is_public: bool = False


def audit(
    engine: Engine,
    tree: Tree,
    relation: Name,
    *,
    public: Collection[str] | None = None,
    class_is_public: bool = False,
    entity: str | None = None,
    k: int | None = None,
) -> Audit:
    """Groups the rows of a relation by what the tree shows of them.

    public: the columns the attacker knows (default: all that the tree looks at).  With an entity k counts persons.
    """
    fitting = bound(engine, tree, relation)
    names = [fitting.attributes[number].name for number in fitting.used()]
    known = tuple(names) if public is None else _checked(public, tree)
    stored_spans(engine, fitting, relation, known, class_is_public=class_is_public, entity=entity)
    found = engine.fetch_one(statement("trees/span_figures", {"source": _SPANS.table()}), k=k or 0)
    engine.drop_table(_SPANS, temporary=True)
    return _audit(found, known, class_is_public, k)


def _checked(public: Collection[str], tree: Tree) -> tuple[str, ...]:
    names = {attribute.name: attribute for attribute in tree.attributes}
    unknown = [f'"{name}"' for name in public if match(Word(name), names) is None]
    if unknown:
        raise PolicyError(f"the model has no attribute {', '.join(unknown)}")
    return tuple(str(match(Word(name), names)) for name in public)


def stored_spans(
    engine: Engine,
    tree: Tree,
    relation: Name,
    public: Collection[str],
    *,
    class_is_public: bool,
    entity: str | None,
) -> Name:
    """A working table (span, class, entity) with one row per row of the relation."""
    there = {info.name: info for info in engine.columns(relation)}
    if tree.target.name not in there:
        raise PolicyError(f'{relation} has no column "{tree.target.name}", the target of the model')
    span = span_expression(engine, tree, set(public), "r")
    target = exp.cast(canonical(engine, there[tree.target.name], "r"), "TEXT")
    if class_is_public:
        span = exp.DPipe(this=exp.Coalesce(this=target.copy(), expressions=[exp.Literal.string("")]), expression=span)
    picked: list[exp.Expr] = [aliased(span, SPAN), aliased(target, CLASS)]
    if entity is None:
        person: exp.Expr = exp.cast(exp.Null(), "TEXT")
    elif entity in there:
        person = exp.cast(canonical(engine, there[entity], "r"), "TEXT")
    else:
        raise PolicyError(f'{relation} has no column "{entity}"')
    picked.append(aliased(person, ENTITY))
    has_entity = exp.Literal.number(int(entity is not None))
    picked.append(aliased(exp.cast(has_entity, "INT"), "ppdm_has_entity"))
    engine.create_table(_SPANS, exp.Select(expressions=picked).from_(relation.table("r")), temporary=True)
    engine.analyze(_SPANS)
    return _SPANS


def span_expression(engine: Engine, tree: Tree, public: Collection[str], table: str | None) -> exp.Expr:
    """The outcomes of all public tests a row can come to, as a text: equal exactly when the spans are.

    Every test writes its branch and a semicolon, and a test that is not come to writes nothing: which test wrote
    what follows from what was written before, so two rows with one text have taken the same ways.
    """
    written: dict[int, exp.Expr | None] = {}  # None: nothing to tell
    for node in reversed(tree.nodes):
        below = [written.pop(child) for child in node.children]
        if node.split is None:
            written[node.number] = None
            continue
        attribute = tree.attributes[node.split.attribute]
        if attribute.name not in public:
            told = [child for child in below if child is not None]
            written[node.number] = _joined(told)
            continue
        conditions = branch_conditions(tree, node, compared(engine, attribute, table))
        case = exp.Case(default=exp.Literal.string("."))  # it stops here
        for branch, (condition, child) in enumerate(zip(conditions, below, strict=True)):
            if condition is not None:
                told = [exp.Literal.string(f"{branch};"), *([] if child is None else [child])]
                case.append("ifs", exp.If(this=condition, true=_joined(told)))
        written[node.number] = case if case.args.get("ifs") else None
    return written[0] or exp.Literal.string("")


def _joined(texts: list[exp.Expr]) -> exp.Expr | None:
    whole: exp.Expr | None = None
    for text in texts:
        whole = text if whole is None else exp.DPipe(this=whole, expression=text)
    return None if whole is None else exp.Paren(this=whole)


def _audit(found: tuple[Any, ...], public: tuple[str, ...], class_is_public: bool, k: int | None) -> Audit:
    rows, spans, smallest, exposed, top, of, bits, below, rows_below = found
    if not rows:
        raise PolicyError("the table has no rows: there is nobody to tell apart")
    return Audit(
        rows=int(rows),
        spans=int(spans),
        k=int(smallest),
        exposed_rows=int(exposed),
        confidence=Fraction(int(top), int(of)),
        entropy_bits=max(0.0, float(bits)),
        below=None if k is None else int(below),
        rows_below=None if k is None else int(rows_below),
        public=public,
        class_is_public=class_is_public,
    )
