"""ppdm check: how risky the source is."""

from __future__ import annotations

import click

from ppdm_sql.commands.options import GlobalOptions, json_option, pass_options, sql_option


@click.command("check")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@json_option
@sql_option
@pass_options
def command(options: GlobalOptions, file: str, as_json: bool, show_sql: bool) -> int:
    """Measure the source of a policy against its requirements, before anonymization; changes nothing.

    Exit status: 0 every requirement holds already, 1 one is breached, 2 the policy is wrong.

    \b
    $ ppdm --db clinic.duckdb check patients.sql
    """
    from ppdm_sql.commands import show
    from ppdm_sql.policy import grammar
    from ppdm_sql.policy.policy import Publish

    with options.session(writes=False) as session:
        if show_sql:
            session.engine.on_statement = show.print_sql(to_stderr=as_json)
        statements = grammar.read(file, dialect=session.engine.dialect)
        asked = [statement for statement in statements if isinstance(statement, Publish)]
        found = [session.check(statement) for statement in asked]
        if as_json:
            show.print_json({"sources": [item.as_json() for item in found]})
        else:
            for item in found:
                show.measures(item)
    return 0 if all(outcome.holds for item in found for outcome in item.outcomes) else 1
