"""From a plan to rows: the private stage, and the query that lets its public columns out.

Rows leave in the order of a hash of what they publish and the seed.  That order is a function of the published rows
alone: it says nothing about the order of the source, and rows that are equal have no order among themselves that could
be seen.  It is the same for the same seed on the same engine.  Rows are put in order while they are narrow (the number
of a class instead of its labels), because a sort costs what its rows weigh.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.engines.workspace import STAGE as STAGE
from ppdm_sql.engines.workspace import STAGE_LABELS
from ppdm_sql.forms.form_tables import formed_rows
from ppdm_sql.methods.plan import ENTITY, KEY, PART, PERSON, QUASI, LabelTable, Private, TablePlan
from ppdm_sql.source.encode import canonical
from ppdm_sql.source.relation import Source
from ppdm_sql.source.weights import WEIGHT, exact_weight
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.statements.rowtext import hash_numbers

# From so many rows with persons on, putting them in order is a statement of its own: less has to be held at once.
_MANY = 3_000_000


def key_columns(source: Source) -> tuple[str, ...]:
    """The columns that say which row it is, for the joint check of several releases.

    Whose it is, as far as that is known, and the quasi-identifiers: a person with several rows has one key for each,
    and so have several people whom an identifier does not tell apart.
    """
    return (*person_columns(source), *sorted(source.quasi))


def person_columns(source: Source) -> tuple[str, ...]:
    """The column that says whose row it is; none when no column does."""
    return (source.entity,) if source.entity is not None else source.identifiers[:1]


def private_columns(engine: Engine, source: Source, salt: str) -> Private:
    """Keys as salted numbers: readers of the link tables learn no identifier from them.

    Identifiers by which k is counted too stay in the stage and need no hash.
    """

    def numbers(names: Sequence[str]) -> tuple[exp.Expr, exp.Expr]:
        return hash_numbers(engine, [column(name, "r") for name in names], salt=salt)

    whose = person_columns(source)
    row = numbers(key_columns(source))
    person = numbers(whose)[0] if whose else row[0].copy()
    quasi = numbers(sorted(source.quasi))[0] if whose else row[0].copy()
    named = identifier_columns(source)
    identifiers = {stored: canonical(engine, source.info(name), "r") for name, stored in named.items()}
    weight = {} if source.weight is None else {WEIGHT: exact_weight(source.info(source.weight), "r")}
    return Private({**dict(zip(KEY, row, strict=True)), PERSON: person, QUASI: quasi, **identifiers, **weight})


def identifier_columns(source: Source) -> dict[str, str]:
    """Where the stage has the identifiers by which k is counted too; none where an ENTITY says who it is."""
    if source.entity is not None:
        return {}
    return {name: f"ppdm_identifier{place}" for place, name in enumerate(source.identifiers)}


def build_stage(engine: Engine, plan: TablePlan, seed: int) -> None:
    """The plan's rows under the name STAGE: narrow rows in a table, in the order in which they leave, and labels."""
    names = plan.stored
    unordered = engine.work.table("unordered", plan.query) if ENTITY in names and plan.rows >= _MANY else None
    source = plan.query.subquery("q") if unordered is None else unordered.table("q")
    rows = exp.Select(expressions=[column(name, "q") for name in names]).from_(source)
    told = [name for name in names if name in plan.published or (name == PART and plan.labels is not None)]
    if told and plan.projections is None:  # tables of parts are put in order one by one
        rows = rows.order_by(engine.order_hash([column(name, "q") for name in told], seed))
    narrow = engine.work.table("narrow", rows)
    if unordered is not None:
        engine.work.drop(unordered)
    engine.working_view(STAGE, _with_forms(engine, plan, narrow))
    engine.work.adopt_view(STAGE)
    if plan.hides_labels:
        engine.working_view(STAGE_LABELS, plan.wide(narrow.table("q")))
        engine.work.adopt_view(STAGE_LABELS)


def _with_forms(engine: Engine, plan: TablePlan, narrow: Name) -> exp.Select:
    """The rows with what is published of them: labels, or what the forms make of labels."""
    if not plan.forms:
        return plan.wide(narrow.table("q"))
    if plan.labels is None or not set(plan.forms) <= set(plan.labels.columns):
        return formed_rows(engine, engine.work.table("labelled", plan.wide(narrow.table("q"))), plan.forms)
    told = [aliased(value.copy(), name) for name, value in plan.labels.columns.items()]
    labels = exp.Select(expressions=[column(PART, "l"), *told]).from_(plan.labels.table.table("l"))
    formed = engine.work.table("formed", formed_rows(engine, engine.work.table("labelled", labels), plan.forms))
    shown = {info.name: column(info.name, "l") for info in engine.columns(formed) if info.name != PART}
    return replace(plan, labels=LabelTable(formed, shown)).wide(narrow.table("q"))


def public_columns(relation: Name, columns: Sequence[str]) -> exp.Select:
    """The public columns of a relation, listed one by one."""
    return exp.Select(expressions=[aliased(column(name, "s"), name) for name in columns]).from_(relation.table("s"))


def published_query(engine: Engine, relation: Name, columns: Sequence[str], seed: int) -> exp.Select:
    """The public columns of a relation, listed one by one, in keyed-hash order."""
    picked = public_columns(relation, columns)
    first, second = hash_numbers(engine, [column(name, "s") for name in columns], salt=str(seed))
    return picked.order_by(first, second)
