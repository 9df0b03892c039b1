"""ppdm demo: everything once."""

from __future__ import annotations

import time
from pathlib import Path

import click


@click.command("demo")
@click.option("--dir", "folder", default="demo", show_default=True, type=click.Path(file_okay=False),
              help="Folder for the demo's database and files.")  # fmt: skip
def command(folder: str) -> int:
    """Run a demo: a hospital table, its risk, a policy, a verified release, an exported file, a report.

    \b
    $ ppdm demo
    """
    from rich.markup import escape

    from ppdm_sql.checks.measure import Measures
    from ppdm_sql.commands import show
    from ppdm_sql.commands.progress import bar
    from ppdm_sql.demo import DATABASE, EXPORT, POLICY, run_demo
    from ppdm_sql.release.results import Result
    from ppdm_sql.report.write import Reported

    started = time.monotonic()

    def say(text: str, typed: str | None) -> None:
        show.console.print(f"\n[bold]{escape(text)}[/]")
        if typed:
            show.console.print(f"[dim]$ {escape(typed)}[/]")

    def print_result(result: Result | Measures | Reported) -> None:
        if isinstance(result, Measures):
            show.measures(result)
        elif isinstance(result, Reported):
            show.print_reported(result)
        else:
            show.result(result)

    run_demo(Path(folder), say=say, show=print_result, progress=bar())
    base = f"ppdm --db {Path(folder) / DATABASE}"
    say(f"Done in {time.monotonic() - started:.1f} s.  What to try next:", None)
    for typed, why in (
        (f"{base} show patients_open", "what was required, what was achieved, and what is not promised"),
        (f"{base} verify", "measure every release again"),
        (f"{base} plan {Path(folder) / POLICY} --show-sql", "every statement it runs"),
        (
            f"(cd {Path(folder)} && duckdb < {EXPORT}.certificate.sql)",
            "the recipient's own proof, with DuckDB 1.2 or later",
        ),
        (f"{base} advise {Path(folder) / POLICY}", "which algorithm and k suit the table, measured on it"),
        (
            f"edit {Path(folder) / POLICY}",
            "ask for k = 25 or drop a quasi-identifier, add SUPERSEDES (it was exported), and run it again",
        ),
    ):
        show.console.print(f"  {escape(typed)}\n      [dim]{escape(why)}[/]")
    return 0
