"""ppdm verify: is a release still what it was?"""

from __future__ import annotations

import click

from ppdm_sql.commands.options import GlobalOptions, json_option, pass_options, sql_option


@click.command("verify")
@click.argument("names", nargs=-1)
@click.option("--file", type=click.Path(exists=True), help="Verify this exported file or folder instead.")
@json_option
@sql_option
@pass_options
def command(options: GlobalOptions, names: tuple[str, ...], file: str | None, as_json: bool, show_sql: bool) -> int:
    """Measure releases (all current ones if none is named) or an exported file again, from the stored rows.

    Finds requirements that no longer hold, rows or columns changed afterwards, and an edited manifest.
    Exit status 1 if something is found.

    \b
    $ ppdm --db clinic.duckdb verify patients_open
    $ ppdm verify --file open.parquet
    """
    from ppdm_sql.commands import show

    if file is not None:
        from ppdm_sql.release.reverify import reverify_file

        found = [reverify_file(file)]
    else:
        with options.session() as session:
            if show_sql:
                session.engine.on_statement = show.print_sql(to_stderr=as_json)
            wanted = names or tuple(str(item.name) for item in session.releases())
            found = [session.verify(name) for name in wanted]
    if as_json:
        show.print_json({"releases": [item.as_json() for item in found]})
    else:
        for item in found:
            show.print_verified(item)
        if not found:
            show.console.print("there is no current release to verify")
    return 0 if all(item.holds for item in found) else 1
