"""Whom an attacker can tell apart with a published tree: the linking attack on a model, as one aggregation.

Friedman, Schuster, Wolff: k-Anonymous Decision Tree Induction (PKDD 2006), definitions 5 to 7.  An attacker knows
the public columns of everybody in the table and not the private ones.  A public test sends a person one way, a
private test sends him all ways at once; the leaves he may be in are his span.  People of equal span cannot be told
apart, so the smallest span is the k of the model.  The size of a leaf says nothing about it: a leaf of one row can
be safe, and a tree whose leaves all have k rows can single a person out.

A span is computed as a text of the outcomes of all public tests that the person can come to.  A person who has several
models knows all their spans of a person: they are one text then.  Rows stay in the database; what comes back are
figures about spans.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sqlglot import exp

from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.source.encode import canonical
from ppdm_sql.source.persons import refuse_spellings
from ppdm_sql.source.relation import match
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import Name, Word, aliased, lacks
from ppdm_sql.statements.steps import Part, Steps, concatenation
from ppdm_sql.trees.audit_groups import AND, CLASS_FOLLOWS, STOPS, Group, class_number, smallest_groups
from ppdm_sql.trees.comparing import comparable_value
from ppdm_sql.trees.expression import bind, branch_conditions
from ppdm_sql.trees.tree import Tree

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
    not_asked: tuple[str, ...] = ()  # public columns that no question is about: they tell nobody apart
    groups: tuple[Group, ...] = ()  # the smallest first


def audit(
    engine: Engine,
    trees: Tree | Sequence[Tree],
    relation: Name,
    *,
    public: Collection[str] | None = None,
    class_is_public: bool = False,
    entity: str | None = None,
    k: int | None = None,
    groups: int | None = 0,
) -> Audit:
    """Groups the rows of a relation by what the tree, or several trees together, show of them.

    public: the columns the attacker knows (default: all that a tree looks at).  With an entity k counts persons.
    groups: of how many groups it is shown who they are; None: of all.  Classes are those of the first tree.
    """
    there = {info.name: info for info in engine.columns(relation)}
    fitting = [
        bind(engine, _rename_columns(tree, there), relation) for tree in ([trees] if isinstance(trees, Tree) else trees)
    ]
    known, not_asked = _known_columns(public, fitting, there, relation)
    targets = {tree.target.name for tree in fitting}
    class_is_public = class_is_public or not targets.isdisjoint(not_asked)
    if class_is_public and len(targets) > 1:
        raise PolicyError("the models have different targets: with a public class all models need the same target")
    with engine.workspace():
        spans = stored_spans(
            engine, fitting, relation, known, class_is_public=class_is_public, entity=entity, named=groups != 0
        )  # fmt: skip
        found = engine.fetch_one(statement("trees/span_figures", {"source": spans.table()}), k=k or 0)
        told = smallest_groups(engine, spans, fitting, known, groups) if groups != 0 else ()
    asked_for = tuple(name for name in not_asked if name not in targets)
    return replace(_audit(found, known, class_is_public, k), not_asked=asked_for, groups=told)


def _rename_columns(tree: Tree, there: Mapping[str, ColumnInfo]) -> Tree:
    """The tree with its columns named as the table writes them."""
    attributes = tuple(replace(one, name=match(Word(one.name), there) or one.name) for one in tree.attributes)
    target = replace(tree.target, name=match(Word(tree.target.name), there) or tree.target.name)
    return replace(tree, attributes=attributes, target=target)


def _known_columns(
    public: Collection[str] | None, trees: Sequence[Tree], there: Mapping[str, ColumnInfo], relation: Name
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that the attacker knows and a tree may ask for, and those of the table that no tree looks at."""
    names = {attribute.name: attribute for tree in trees for attribute in tree.attributes}
    if public is None:
        used = {tree.attributes[number].name for tree in trees for number in tree.used_attributes()}
        return tuple(name for name in names if name in used), ()
    known, others, unknown = [], [], []
    for name in public:
        if (asked := match(Word(name), names)) is not None:
            known.append(asked)
        elif (other := match(Word(name), there)) is not None:
            others.append(other)
        else:
            unknown.append(f'"{name}"')
    if unknown:
        raise PolicyError(f"the model has no attribute, and {lacks(relation)} {', '.join(unknown)}")
    return tuple(known), tuple(others)


def stored_spans(
    engine: Engine,
    trees: Sequence[Tree],
    relation: Name,
    public: Collection[str],
    *,
    class_is_public: bool,
    entity: str | None,
    named: bool = False,
    told: str | None = None,
) -> Name:
    """A working table (span, class, entity) with one row per row of the relation; named: with the class's number.

    told: a column whose values replace the class.
    """
    there = {info.name: info for info in engine.columns(relation)}
    missing = [f'"{tree.target.name}"' for tree in trees if tree.target.name not in there]
    if missing:
        raise PolicyError(f"{lacks(relation)} {missing[0]}, the target of the model")
    steps = Steps("r")
    spans = [span_expression(engine, tree, set(public), steps) for tree in trees]
    written = [piece for span in spans for piece in (exp.Literal.string(AND), span)][1:]
    target = exp.cast(canonical(engine, there[trees[0].target.name], "r"), "TEXT")
    if class_is_public:
        follows = exp.DPipe(this=exp.Literal.string(CLASS_FOLLOWS), expression=target.copy())
        written.append(exp.Coalesce(this=follows, expressions=[exp.Literal.string("")]))  # NULL and '' are two classes
    nobody = exp.Literal.number(-1)
    numbered = class_number(engine, trees[0], relation, "r") if named and not trees[0].is_regression else nobody
    picked: list[exp.Expr] = [
        aliased(concatenation(written), SPAN),
        aliased(target if told is None else exp.cast(canonical(engine, there[told], "r"), "TEXT"), CLASS),
        aliased(_person(engine, entity, there, relation), ENTITY),
        aliased(exp.cast(exp.Literal.number(int(entity is not None)), "INT"), "ppdm_has_entity"),
        aliased(exp.cast(numbered, "INT"), "ppdm_named"),
    ]
    query = steps.over(exp.Select(expressions=picked), relation.table())
    return engine.work.table("spans", query, analyze=True)


def _person(engine: Engine, entity: str | None, there: Mapping[str, ColumnInfo], relation: Name) -> exp.Expr:
    if entity is None:
        return exp.cast(exp.Null(), "TEXT")
    name = match(Word(entity), there)
    if name is None:
        raise PolicyError(f'{lacks(relation)} "{entity}"')
    refuse_spellings(engine, relation, there[name])
    return exp.cast(canonical(engine, there[name], "r"), "TEXT")


def span_expression(engine: Engine, tree: Tree, public: Collection[str], steps: Steps) -> exp.Expr:
    """The outcomes of all public tests a row can come to, as a text: equal exactly when the spans are.

    Every test writes its branch and a semicolon, and a test that is not come to writes nothing: which test wrote
    what follows from what was written before, so two rows with one text have taken the same ways.  Read it with
    `steps.over`.
    """
    written: dict[int, Part | None] = {}  # None: nothing to tell
    for node in reversed(tree.nodes):
        below = [part and steps.flat(part) for part in (written.pop(child) for child in node.children)]
        told = [part for part in below if part is not None]
        if node.split is None or not (told or tree.attributes[node.split.attribute].name in public):
            written[node.number] = None
            continue
        attribute = tree.attributes[node.split.attribute]
        if attribute.name not in public:
            written[node.number] = steps.around(concatenation([part.expression for part in told]), told)
            continue
        conditions = branch_conditions(tree, node, comparable_value(engine, attribute, steps.table))
        ifs = [
            exp.If(this=condition, true=concatenation(_answer(branch, part)))
            for branch, (condition, part) in enumerate(zip(conditions, below, strict=True))
            if condition is not None
        ]
        stops = exp.Literal.string(STOPS)
        written[node.number] = steps.around(exp.Case(ifs=ifs, default=stops) if ifs else stops, told)
    root = written[0]
    return exp.Literal.string("") if root is None else root.expression


def _answer(branch: int, below: Part | None) -> list[exp.Expr]:
    return [exp.Literal.string(f"{branch};"), *([] if below is None else [below.expression])]


def _audit(found: tuple[Any, ...], public: tuple[str, ...], class_is_public: bool, k: int | None) -> Audit:
    rows, spans, smallest, exposed, top, of, bits, below, rows_below = found
    if not rows:
        raise PolicyError("the table has no rows, so there is no one to tell apart")
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
