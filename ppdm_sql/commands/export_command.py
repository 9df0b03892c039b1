"""ppdm export: hand a release over."""

from __future__ import annotations

import click

from ppdm_sql.commands.options import GlobalOptions, json_option, pass_options, sql_option


@click.command("export")
@click.argument("name")
@click.argument("path")
@click.option(
    "--format",
    "form",
    type=click.Choice(["duckdb", "parquet", "csv"]),
    help="File format.  [default: by the file's extension]",
)
@click.option("--spreadsheet-safe", is_flag=True, help="CSV: keep spreadsheets from evaluating cells like =1+1.")
@click.option("--storage-version", help="DuckDB: the oldest version that can read the file, such as v1.2.0.")
@click.option("--out", type=click.Path(exists=True, file_okay=False, readable=False),
              help="The folder that the file must be in.")  # fmt: skip
@json_option
@sql_option
@pass_options
def command(
    options: GlobalOptions,
    name: str,
    path: str,
    form: str | None,
    spreadsheet_safe: bool,
    storage_version: str | None,
    out: str | None,
    as_json: bool,
    show_sql: bool,
) -> int:
    """Write a release into a NEW file, measured again there, with a manifest and a certificate.

    For methods that can label other rows, recode.sql gives a recipient's own rows the labels of the release.

    \b
    $ ppdm --db clinic.duckdb export patients_open open.duckdb
    $ ppdm --db clinic.duckdb export patients_open open.parquet --out /srv/handover
    """
    from ppdm_sql.commands import show

    wanted: dict[str, object] = {}
    if form:
        wanted["format"] = form
    if spreadsheet_safe:
        wanted["spreadsheet_safe"] = True
    if storage_version:
        wanted["storage_version"] = storage_version
    with options.session(out=out) as session:
        if show_sql:
            session.engine.on_statement = show.print_sql(to_stderr=as_json)
        done = session.export(name, path, wanted)
    if as_json:
        show.print_json(done.as_json())
    else:
        show.result(done)
    return 0
