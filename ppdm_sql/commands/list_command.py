"""ppdm list: what is out."""

from __future__ import annotations

import click

from ppdm_sql.commands.options import GlobalOptions, json_option, pass_options


@click.command("list")
@click.option("--all", "everything", is_flag=True, help="Include dropped, replaced and superseded releases.")
@json_option
@pass_options
def command(options: GlobalOptions, everything: bool, as_json: bool) -> int:
    """List the releases of a database, newest first.

    \b
    $ ppdm --db clinic.duckdb list
    """
    from ppdm_sql.commands import show

    with options.session(writes=False) as session:
        found = session.releases(include_gone=everything)
    if as_json:
        show.print_json({"releases": [{**vars(item), "name": str(item.name)} for item in found]})
    elif found:
        show.summaries(found)
    else:
        show.console.print("no releases yet: ppdm run policy.sql publishes one")
    return 0
