"""ppdm plan: what a policy would do."""

from __future__ import annotations

import click

from ppdm_sql.commands.options import GlobalOptions, json_option, pass_options, sql_option
from ppdm_sql.commands.written_files import check_folder, write_file


@click.command("plan")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--rows", type=click.IntRange(0, 1000), default=5, metavar="N", help="Rows to show; 0 for none.")
@click.option("--svg", "svg_file", type=click.Path(dir_okay=False, writable=True), metavar="FILE",
              help="Draw quality against risk of the recodings that a method chose from (incognito).")  # fmt: skip
@json_option
@sql_option
@pass_options
def command(options: GlobalOptions, file: str, rows: int, svg_file: str | None, as_json: bool, show_sql: bool) -> int:
    """Show what a policy would publish, measured on working tables; writes nothing.

    Exit status 1 if it would be refused.  The rows are shown as they would be published, and only if nothing is
    refused.  --show-sql lists every statement.

    \b
    $ ppdm --db clinic.duckdb plan patients.sql
    $ ppdm --db clinic.duckdb plan patients.sql --svg recodings.svg
    """
    from ppdm_sql.commands import show
    from ppdm_sql.evaluate.curves import draw_choices
    from ppdm_sql.policy import grammar

    check_folder(svg_file)
    with options.session(writes=False) as session:
        statements = grammar.read(file, dialect=session.engine.dialect)
        session.check_ahead(statements, exports=False)
        plans = list(session.plan_all(statements, rows=rows))
        drawn = next((plan for plan in plans if plan.choices), None) if svg_file else None
        if drawn is not None:
            write_file(svg_file, draw_choices(drawn.name, drawn.choices))
        if as_json:
            show.print_json({"plans": [plan.as_json() for plan in plans]})
        else:
            for plan in plans:
                show.print_plan(plan, statements=show_sql)
            if not plans:
                show.console.print(
                    "the file publishes nothing: it has no CREATE ... WITH ANONYMIZATION and no PSEUDO DATA"
                )
            if svg_file and drawn is None:
                show.console.print("nothing to draw: no method of the file chooses from several recodings")
    return 0 if all(plan.holds for plan in plans) else 1
