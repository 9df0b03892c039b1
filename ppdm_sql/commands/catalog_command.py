"""ppdm catalog: the version of what is remembered."""

from __future__ import annotations

import click

from ppdm_sql.commands.options import Options, json_option, pass_options
from ppdm_sql.policy.words import many


@click.group("catalog")
def command() -> None:
    """The catalog in schema ppdm: which migrations it has, and bringing it up to date.

    \b
    $ ppdm --db clinic.duckdb catalog status
    """


@command.command("status")
@json_option
@pass_options
def status(options: Options, as_json: bool) -> int:
    """Which migrations are applied; reads only.

    \b
    $ ppdm --db clinic.duckdb catalog status
    """
    from ppdm_sql.catalog import migrate
    from ppdm_sql.commands import show

    with options.session(writes=False) as session:
        states = migrate.status(session.engine)
    if as_json:
        show.print_json({"migrations": [dict(vars(state)) for state in states]})
    else:
        show.rows(
            ("number", "name", "applied (UTC)"),
            [(state.number, state.name, state.applied_at or "not yet") for state in states],
        )
    return 0


@command.command("migrate")
@json_option
@pass_options
def bring_up_to_date(options: Options, as_json: bool) -> int:
    """Apply the migrations that are missing, each in one transaction.

    \b
    $ ppdm --db clinic.duckdb catalog migrate
    """
    from ppdm_sql.catalog import migrate
    from ppdm_sql.commands import show

    with options.session() as session:
        session.engine.check_writable()
        applied = migrate.migrate(session.engine)
    if as_json:
        show.print_json({"applied": applied})
    else:
        show.console.print(f"applied {many(len(applied), 'migration')}" if applied else "the catalog is up to date")
    return 0
