"""ppdm report: a release on one page."""

from __future__ import annotations

from pathlib import Path

import click

from ppdm_sql.commands.options import GlobalOptions, json_option, pass_options, sql_option


@click.command("report")
@click.argument("name")
@click.option("--out", default="report.html", show_default=True, type=click.Path(dir_okay=False), metavar="FILE",
              help="The HTML file to write.")  # fmt: skip
@click.option("--audience", type=click.Choice(["internal", "public"]), default="internal", show_default=True,
              help="public: without the statement, the source and small counts.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite FILE even if it is not a report of this release.")
@json_option
@sql_option
@pass_options
def command(
    options: GlobalOptions, name: str, out: str, audience: str, force: bool, as_json: bool, show_sql: bool
) -> int:
    """Write one HTML page about a release: requirements and results, risk before and after, how to verify it.

    The release is measured again; if it no longer holds, the page and this command say so.  The exit status is 0
    if the page was written, whatever the result: use ppdm verify in a scheduled job.  An earlier report of the
    same release for the same readers is overwritten, any other file is not.

    \b
    $ ppdm --db clinic.duckdb report patients_open --out patients_open.html
    $ ppdm --db clinic.duckdb report patients_open --audience public --out public.html
    """
    from ppdm_sql.commands import show

    target = Path(out)
    with options.session(writes=False, out=str(target.parent)) as session:
        if show_sql:
            session.engine.on_statement = show.print_sql(to_stderr=as_json)
        done = session.report(name, target.name, readers=audience, force=force)
    if as_json:
        show.print_json(done.as_json())
    else:
        show.print_reported(done)
    return 0
