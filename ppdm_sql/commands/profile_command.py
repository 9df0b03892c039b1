"""ppdm profile: what a table holds about people, before there is a policy."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from ppdm_sql.commands.options import GlobalOptions, json_option, listed_columns, pass_options, sql_option
from ppdm_sql.policy.words import many

if TYPE_CHECKING:
    from ppdm_sql.profile.table_profile import TableProfile


@click.command("profile")
@click.argument("source", metavar="TABLE | SELECT | FILE")
@click.option("--quasi", default="", metavar="COLUMN,COLUMN",
              help="Columns an attacker may know.  [default: those that a draft would take]")  # fmt: skip
@click.option("--fraction", metavar="SHARE", help="The table is this share of the population, as in 0.1 or 10%.")
@click.option("--sample", type=click.IntRange(min=1000), metavar="ROWS",
              help="Rows to search column sets on.  [default: 200,000]")  # fmt: skip
@click.option("--html", "html_file", type=click.Path(dir_okay=False), metavar="FILE", help="Write one HTML page.")
@click.option("--force", is_flag=True, help="Overwrite FILE even if it is not a profile of this table.")
@json_option
@sql_option
@pass_options
def command(
    options: GlobalOptions, source: str, quasi: str, fraction: str | None, sample: int | None, html_file: str | None,
    force: bool, as_json: bool, show_sql: bool,
) -> int:  # fmt: skip
    """Show what a table, a SELECT or a file (CSV, Parquet, JSON) holds about people; changes nothing.

    Per column: values, NULLs, how many rows it makes unique, and whether its values look like names, e-mails, phones,
    ids, postcodes or birth dates.  Then the columns that determine others, the sets of columns that make the most rows
    unique, and the risk.  No value of the data is printed.  A file needs no database.

    \b
    $ ppdm --db clinic.duckdb profile patients
    $ ppdm profile patients.csv --fraction 10% --html patients.html
    """
    from ppdm_sql.commands import show
    from ppdm_sql.source.given import is_data_file

    share = None if fraction is None else _share(fraction)
    with options.session(writes=False, file=source if is_data_file(source) else None) as session:
        if show_sql:
            session.engine.on_statement = show.print_sql(to_stderr=as_json)
        found = session.profile(source, quasi=listed_columns(quasi), fraction=share, sample=sample)
    if html_file is not None:
        _write(found, Path(html_file), force=force)
    if as_json:
        show.print_json(found.as_json())
    else:
        _show(found)
        if html_file is not None:
            show.console.print(f"wrote {escape(html_file)}")
    return 0


def _share(text: str) -> Fraction:
    """A share as people write it."""
    from ppdm_sql.checks.population import check_fraction

    number, percent = text.strip().removesuffix("%").strip(), text.strip().endswith("%")
    try:
        share = Fraction(number) / (100 if percent else 1)
    except (ValueError, ZeroDivisionError):
        raise click.UsageError("--fraction is a share above 0 and up to 1, as in 0.1 or 10%") from None
    check_fraction(share)
    return share


def _write(found: TableProfile, file: Path, *, force: bool) -> None:
    from ppdm_sql.release.export.write import read_place
    from ppdm_sql.report.profile_page import profile_page
    from ppdm_sql.report.write import refuse_foreign_page, write_page

    target = read_place(file.name, file.absolute().parent, "a profile")
    page = profile_page(found)
    if not force:
        refuse_foreign_page(target, page)
    write_page(page, target)


# -- showing -----------------------------------------------------------------------------------------------


def _show(found: TableProfile) -> None:
    from ppdm_sql.commands import show
    from ppdm_sql.profile.columns import figure_text

    console = show.console
    console.print(f"[bold]{escape(found.name)}[/]: {many(found.rows, 'row')}, {many(len(found.columns), 'column')}")
    roles = {one.name: one for one in found.roles}
    table = show.plain_table(
        "column", "type", "distinct", "NULL", "unique rows", "distinction", "separation", "role", "reason"
    )
    for one in found.columns:
        table.add_row(
            escape(one.name), escape(one.info.shape), f"{one.distinct:,}", f"{one.nulls:,}",
            show.percent(one.unique_share), figure_text(one.distinction), figure_text(one.separation),
            roles[one.name].role.value.lower(), escape(roles[one.name].reason),
        )  # fmt: skip
    console.print(table)
    for name in found.unmeasured:
        console.print(f'column "{escape(name)}" has a nested type and was not measured', style="yellow")
    for determined in found.determined:
        console.print(f'"{escape(determined.by)}" determines {escape(", ".join(determined.columns))}')
    _show_sets(found)
    _show_risk(found)


def _show_sets(found: TableProfile) -> None:
    from ppdm_sql.commands import show

    if not found.sets:
        return
    where = f" (searched on a sample of {found.sampled:,} rows, counted on all)" if found.sampled else ""
    show.console.print(f"columns that make the most rows unique together{where}:")
    table = show.plain_table("columns", "unique rows", "share")
    for sets in found.sets.values():
        for one in sets:
            table.add_row(escape(", ".join(one.columns)), f"{one.unique_rows:,}", show.percent(one.unique_share))
    show.console.print(table)


def _show_risk(found: TableProfile) -> None:
    from ppdm_sql.commands import show

    if not found.rows or not found.quasi:
        return
    risk, console = found.risk, show.console
    console.print(f"risk by {escape(', '.join(found.quasi))}:")
    console.print(
        f"  {risk.unique_rows:,} of {many(found.rows, 'row')} unique; prosecutor {show.percent(risk.prosecutor_max)} "
        f"highest, {show.percent(risk.prosecutor_mean)} average; journalist {show.percent(risk.journalist_max)}; "
        f"marketer {show.percent(risk.marketer)}"
    )
    show.print_histogram(found.histogram)
    if found.population is not None:
        told = found.population
        console.print(
            f"  of a population of about {told.population:,} people, {show.percent(told.unique_share)} are expected to "
            f"be unique (Pitman {show.percent(told.pitman)}, Zayatz {show.percent(told.zayatz)}; {told.model} is the "
            "better estimate for this fraction)"
        )
