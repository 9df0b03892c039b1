"""make papers: run the papers' experiments again and print the measured figures with the published ones."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.markup import escape

from benchmarks.papers import PAPERS, tables_of
from benchmarks.papers.tables import PaperTable
from ppdm_sql.commands import show
from ppdm_sql.commands.progress import bar
from ppdm_sql.errors import PpdmError
from ppdm_sql.watching import Progress


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("papers", nargs=-1, metavar="[PAPER]...")
@click.option("--data", envvar="PPDM_DATA", type=click.Path(file_okay=False), required=True, metavar="DIR",
              help="Folder with the public tables and their MANIFEST.json.  [environment: PPDM_DATA]")  # fmt: skip
@click.option("--quick", is_flag=True, help="Use fewer rows, repeats and sizes.")
@click.option("--csv", "csv_file", type=click.Path(dir_okay=False, writable=True), metavar="FILE",
              help="Also write every cell as a line of CSV.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(papers: Sequence[str], data: str, quick: bool, csv_file: str | None, as_json: bool) -> None:
    """Run the experiments of papers 000, 001, 002, 003 and 004 again; without an argument, all of them.

    The public tables are not part of the repository: --data names their folder.  Nothing is published.

    \b
    $ make papers PAPER=001 DATA=~/public_tables
    $ python -m benchmarks.papers 004 --quick --data ~/public_tables --csv kactus.csv
    """
    if csv_file is not None and not Path(csv_file).absolute().parent.is_dir():
        raise click.UsageError(f"the folder of {csv_file} does not exist")
    progress = bar() or print_steps()
    try:
        tables = [one for paper in papers or PAPERS for one in tables_of(paper, Path(data), progress, quick=quick)]
    except PpdmError as error:
        raise click.ClickException(str(error)) from error
    finally:
        progress("done", 1, 1)
    if csv_file is not None:
        Path(csv_file).write_text(cells_csv(tables), encoding="utf-8")
    if as_json:
        show.print_json({"quick": quick, "tables": [vars(one) for one in tables]})
        return
    for one in tables:
        print_table(one)


def print_steps() -> Progress:
    """Where stderr is no terminal, as in a log: one line when a step begins."""
    begun: list[str] = []

    def advance(step: str, done: int, total: int | None) -> None:
        if step not in begun and step != "done":
            begun.append(step)
            print(step, file=sys.stderr, flush=True)

    return advance


def print_table(table: PaperTable) -> None:
    show.console.print(f"[bold]{escape(table.title)}[/]")
    show.rows(table.columns, table.rows)
    for line in table.legend:
        show.console.print(f"  {escape(line)}", style="dim")


def cells_csv(tables: Sequence[PaperTable]) -> str:
    """Every cell of every table on a line of its own: paper, table, row, column, value."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("paper", "table", "row", "column", "value"))
    for one in tables:
        for number, row in enumerate(one.rows, start=1):
            writer.writerows((one.paper, one.title, number, *cell) for cell in zip(one.columns, row, strict=True))
    return text.getvalue()


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.papers")
