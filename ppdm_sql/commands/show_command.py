"""ppdm show: one release in full."""

from __future__ import annotations

import click

from ppdm_sql.commands.options import GlobalOptions, json_option, pass_options


@click.command("show")
@click.argument("name")
@click.option("--policy", "part", flag_value="policy", help="Print the statement.")
@click.option("--manifest", "part", flag_value="manifest", help="Print the manifest as JSON.")
@click.option("--history", "part", flag_value="history", help="Print its events.")
@json_option
@pass_options
def command(options: GlobalOptions, name: str, part: str | None, as_json: bool) -> int:
    """Show one release: what was required, what was achieved, what is not promised.

    \b
    $ ppdm --db clinic.duckdb show patients_open
    $ ppdm --db clinic.duckdb show patients_open --policy
    """
    from ppdm_sql.catalog import releases
    from ppdm_sql.commands import show

    with options.session(writes=False) as session:
        found = session.release(name)
        events = releases.events(session.engine, found.record.release_id)
        readers = releases.readers(session.engine, found.record.release_id)
    if as_json or part == "manifest":
        print(found.record.manifest.to_text(), end="")
    elif part == "policy":
        print(found.record.policy_text)
    elif part == "history":
        show.rows(("when (UTC)", "what", "detail"), [(e.happened_at, e.event, e.detail or "") for e in events])
    else:
        show.release(found, readers)
    return 0
