"""ppdm plan: what a policy would do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from ppdm_sql.commands.options import Options, json_option, pass_options, sql_option

if TYPE_CHECKING:
    from ppdm_sql.policy.policy import Statement
    from ppdm_sql.release.results import Planned
    from ppdm_sql.session import Session
    from ppdm_sql.statements.names import Name


@click.command("plan")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@json_option
@sql_option
@pass_options
def command(options: Options, file: str, as_json: bool, show_sql: bool) -> int:
    """Show what a policy would publish, measured on working tables; writes nothing.

    Exit status 1 when it would be refused.  --show-sql lists every statement.

    \b
    $ ppdm --db clinic.duckdb plan patients.sql
    """
    from ppdm_sql.commands import show
    from ppdm_sql.policy import grammar

    with options.session(writes=False) as session:
        statements = grammar.read(file, dialect=session.engine.dialect)
        session.check_ahead(statements, exports=False)
        plans = list(_plans(session, statements))
        if as_json:
            show.print_json({"plans": [plan.as_json() for plan in plans]})
        else:
            for plan in plans:
                show.planned(plan, statements=show_sql)
            if not plans:
                show.console.print(
                    "the file publishes nothing: no CREATE ... WITH ANONYMIZATION and no PSEUDO DATA in it"
                )
    return 0 if all(plan.holds for plan in plans) else 1


def _plans(session: Session, statements: Sequence[Statement]) -> Iterator[Planned]:
    """Pseudo-data of a model that the same file publishes is told without the model, which is not there yet."""
    from ppdm_sql.policy.policy import PseudoData, Publish
    from ppdm_sql.release.pseudo_planned import planned_pseudo

    coming: set[Name] = set()
    for statement in statements:
        if isinstance(statement, Publish):
            yield session.plan(statement)
            if statement.kind == "MODEL":
                coming.add(session.engine.name(statement.name))
        elif isinstance(statement, PseudoData):
            yield planned_pseudo(session.engine, statement, frozenset(coming))
