"""ppdm plan: what a policy would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ppdm_sql.commands.options import GlobalOptions, json_option, pass_options, sql_option

if TYPE_CHECKING:
    pass


@click.command("plan")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--rows", type=click.IntRange(0, 1000), default=5, metavar="N", help="Rows to show; 0 for none.")
@json_option
@sql_option
@pass_options
def command(options: GlobalOptions, file: str, rows: int, as_json: bool, show_sql: bool) -> int:
    """Show what a policy would publish, measured on working tables; writes nothing.

    Exit status 1 if it would be refused.  The rows are shown as they would be published, and only if nothing is
    refused.  --show-sql lists every statement.

    \b
    $ ppdm --db clinic.duckdb plan patients.sql
    """
    from ppdm_sql.commands import show
    from ppdm_sql.policy import grammar

    with options.session(writes=False) as session:
        statements = grammar.read(file, dialect=session.engine.dialect)
        session.check_ahead(statements, exports=False)
        plans = list(session.plan_all(statements, rows=rows))
        if as_json:
            show.print_json({"plans": [plan.as_json() for plan in plans]})
        else:
            for plan in plans:
                show.print_plan(plan, statements=show_sql)
            if not plans:
                show.console.print(
                    "the file publishes nothing: it has no CREATE ... WITH ANONYMIZATION and no PSEUDO DATA"
                )
    return 0 if all(plan.holds for plan in plans) else 1
