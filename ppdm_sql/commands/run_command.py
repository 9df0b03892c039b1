"""ppdm run: policy files, statement by statement."""

from __future__ import annotations

from typing import Any

import click

from ppdm_sql.commands.group import StoppedRun
from ppdm_sql.commands.options import Options, json_option, pass_options, sql_option


@click.command("run")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option("--out", type=click.Path(exists=True, file_okay=False), help="The folder that EXPORT writes below.")
@json_option
@sql_option
@pass_options
def command(options: Options, files: tuple[str, ...], out: str | None, as_json: bool, show_sql: bool) -> int:
    """Run policy files: publish what they ask for, or refuse and change nothing.

    The files are read and checked as a whole before their first statement runs.  Ordinary SQL in them goes
    to the database unchanged.  The first statement that is refused ends the run; what earlier ones did stays,
    and is listed, with --json under results.

    \b
    $ ppdm --db clinic.duckdb run patients.sql
    published patients_open: 20,000 rows in 812 classes
    asked         column     achieved  verdict
    k = 10                   10        holds
    simple_l = 2  diagnosis  2.143     holds
    """
    from ppdm_sql.commands import show
    from ppdm_sql.errors import PpdmError
    from ppdm_sql.policy import grammar

    done: list[dict[str, Any]] = []
    holds = True
    with options.session(out=out) as session:
        if show_sql:
            session.engine.on_statement = show.print_sql(to_stderr=as_json)
        try:
            statements = [one for file in files for one in grammar.read(file, dialect=session.engine.dialect)]
            session.check_ahead(statements)
            for statement in statements:
                outcome = session.run(statement)
                done.append(outcome.as_json())
                if not as_json:
                    show.result(outcome)
                holds = getattr(outcome, "holds", True)
                if not holds:
                    break
        except PpdmError as error:
            error.results = tuple(done)
            raise
        except (Exception, KeyboardInterrupt) as error:
            raise StoppedRun(done) from error
    if as_json:
        show.print_json({"results": done, "holds": holds})
    return 0 if holds else 1
