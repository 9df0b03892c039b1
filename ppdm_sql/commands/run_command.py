"""ppdm run: policy files, statement by statement."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from ppdm_sql.commands.group import StoppedRun
from ppdm_sql.commands.options import GlobalOptions, json_option, pass_options, sql_option

if TYPE_CHECKING:
    from ppdm_sql.policy.policy import Statement


@click.command("run")
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("-c", "--command", "texts", multiple=True, metavar="SQL", help="Run this SQL; may be repeated.")
@click.option("--out", type=click.Path(exists=True, file_okay=False), help="The folder that EXPORT writes to.")
@click.option("--metrics", type=click.Path(dir_okay=False), metavar="FILE",
              help="Write the figures of the run as OpenMetrics text, also of one that failed.")  # fmt: skip
@json_option
@sql_option
@pass_options
def command(
    options: GlobalOptions,
    files: tuple[str, ...],
    texts: tuple[str, ...],
    out: str | None,
    metrics: str | None,
    as_json: bool,
    show_sql: bool,
) -> int:
    """Run policy files: publish the releases they define, or refuse and change nothing.

    The files are read and checked as a whole before their first statement runs.  Ordinary SQL in them goes
    to the database unchanged.  The first refused statement ends the run; effects of earlier ones
    remain and are listed, with --json under results.  The file - is standard input.  Texts of -c run after the files.

    \b
    $ ppdm --db clinic.duckdb run patients.sql
    published patients_open: 20,000 rows in 901 classes
    requirement   column     achieved  verdict
    k = 10                   10        holds
    simple_l = 2  diagnosis  2         holds
    $ ppdm --db clinic.duckdb run -c "VERIFY patients_open"
    $ sed 's/k = 10/k = 25/' patients.sql | ppdm --db clinic.duckdb run -
    $ ppdm --db clinic.duckdb run nightly.sql --json --metrics /var/lib/node_exporter/ppdm.prom
    """
    from ppdm_sql.commands import show
    from ppdm_sql.commands.metrics import RunMetrics
    from ppdm_sql.commands.written_files import check_folder

    if not files and not texts:
        raise click.UsageError("nothing to run: name a policy file, - for standard input, or -c SQL")
    if files.count("-") > 1:
        raise click.UsageError("standard input (-) can be read only once")
    check_folder(metrics)
    done: list[dict[str, Any]] = []
    with RunMetrics(metrics, done) as figures:
        holds = _run(options, files, texts, out, done, as_json=as_json, show_sql=show_sql)
        figures.exit_status = 0 if holds else 1
    if as_json:
        show.print_json({"results": done, "holds": holds})
    return 0 if holds else 1


def _run(
    options: GlobalOptions, files: Sequence[str], texts: Sequence[str], out: str | None, done: list[dict[str, Any]],
    *, as_json: bool, show_sql: bool,
) -> bool:  # fmt: skip
    """Runs the statements until one is refused or does not hold; done: takes what each of them did."""
    from ppdm_sql.commands import show
    from ppdm_sql.commands.progress import bar
    from ppdm_sql.errors import PpdmError
    from ppdm_sql.watching import StageClock, silent

    holds = True
    clock = StageClock(bar() or silent)
    with options.session(out=out, progress=clock) as session:
        if show_sql:
            session.engine.on_statement = show.print_sql(to_stderr=as_json)
        try:
            statements = list(_statements(files, texts, session.engine.dialect))
            clock.take()
            started = time.monotonic()
            for _, outcome in session.run_all(statements):
                told = outcome.as_json() | {"seconds": round(time.monotonic() - started, 3)}
                stages = clock.take()
                done.append(told | {"stages": stages} if told["statement"] == "publish" else told)
                if not as_json:
                    show.result(outcome)
                holds = getattr(outcome, "holds", True)
                if not holds:
                    break
                started = time.monotonic()
        except PpdmError as error:
            error.results = tuple(done)
            raise
        except (Exception, KeyboardInterrupt) as error:
            raise StoppedRun(done) from error
    return holds


def _statements(files: Sequence[str], texts: Sequence[str], dialect: str) -> Iterator[Statement]:
    """What the files and then the texts hold; a mistake in a text names it -c, or -c 2 where there are several."""
    from ppdm_sql.policy import grammar

    for file in files:
        if file == "-":
            yield from grammar.read_stream(sys.stdin.buffer, file="<stdin>", dialect=dialect)
        else:
            yield from grammar.read(file, dialect=dialect)
    for number, text in enumerate(texts, start=1):
        yield from grammar.parse(text, file="-c" if len(texts) == 1 else f"-c {number}", dialect=dialect)
