"""From a plan to rows: the private stage, and the query that lets its public columns out.

Rows leave in the order of a keyed hash of what they publish.  That order is a function of the published
rows alone: it says nothing about the order of the source, it is the same for the same seed on every
engine, and rows that are equal have no order among themselves that could be told.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.engines.workspace import STAGE as STAGE
from ppdm_sql.forms.form_tables import formed_rows
from ppdm_sql.methods.plan import KEY, PERSON, QUASI, Private, TablePlan
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.statements.rowtext import hash_numbers


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
    """Keys as salted numbers: who reads the link tables learns no identifier from them."""

    def numbers(names: Sequence[str]) -> tuple[exp.Expr, exp.Expr]:
        return hash_numbers(engine, [column(name, "r") for name in names], salt=salt)

    def known_number(name: str) -> exp.Expr:
        is_known = exp.Not(this=exp.Is(this=column(name, "r"), expression=exp.Null()))
        return exp.case().when(is_known, numbers([name])[0])

    row = numbers(key_columns(source))
    person = numbers(person_columns(source) or key_columns(source))[0]
    quasi = numbers(sorted(source.quasi))[0]
    identifiers = {stored: known_number(name) for name, stored in identifier_columns(source).items()}
    return Private({**dict(zip(KEY, row, strict=True)), PERSON: person, QUASI: quasi, **identifiers})


def identifier_columns(source: Source) -> dict[str, str]:
    """Where the stage has the identifiers by which k is counted too; none where an ENTITY says who it is."""
    if source.entity is not None:
        return {}
    return {name: f"ppdm_identifier{place}" for place, name in enumerate(source.identifiers)}


def build_stage(engine: Engine, plan: TablePlan) -> None:
    """Stores the rows of a plan, its columns in their forms."""
    query: exp.Query = plan.query
    if plan.forms:
        query = formed_rows(engine, engine.work.table("labelled", query), plan.forms)
    engine.create_table(STAGE, query, temporary=True)
    engine.analyze(STAGE)


def published_query(engine: Engine, relation: Name, columns: Sequence[str], seed: int) -> exp.Select:
    """The public columns of a relation, listed one by one, in keyed-hash order."""
    picked = exp.Select(expressions=[aliased(column(name, "s"), name) for name in columns]).from_(relation.table("s"))
    first, second = hash_numbers(engine, [column(name, "s") for name in columns], salt=str(seed))
    return picked.order_by(first, second)
