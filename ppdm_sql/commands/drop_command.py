"""ppdm drop: take a release back."""

from __future__ import annotations

import click

from ppdm_sql.commands.options import GlobalOptions, json_option, pass_options, sql_option


@click.command("drop")
@click.argument("names", nargs=-1, required=True)
@json_option
@sql_option
@pass_options
def command(options: GlobalOptions, names: tuple[str, ...], as_json: bool, show_sql: bool) -> int:
    """Withdraw releases: drop the table, view or model, as DROP RELEASE does.

    A release that was exported, or that another role could read, still counts in later publications.
    All names are looked up first: if one is not a release, nothing is dropped.

    \b
    $ ppdm --db clinic.duckdb drop patients_open
    dropped patients_open
    """
    from ppdm_sql.commands import show
    from ppdm_sql.commands.group import StoppedRun
    from ppdm_sql.errors import PpdmError

    with options.session() as session:
        if show_sql:
            session.engine.on_statement = show.print_sql(to_stderr=as_json)
        for name in names:
            session.release(name)
        done = []
        try:
            for name in dict.fromkeys(names):
                dropped = session.drop(name)
                done.append(dropped.as_json())
                if not as_json:
                    show.result(dropped)
        except PpdmError as error:
            error.results = tuple(done)
            raise
        except KeyboardInterrupt as error:
            raise StoppedRun(done) from error
    if as_json:
        show.print_json({"results": done, "holds": True})
    return 0
