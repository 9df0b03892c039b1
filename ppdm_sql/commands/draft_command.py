"""ppdm draft: a policy for a table that has none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from ppdm_sql.commands.options import GlobalOptions, json_option, listed_columns, pass_options, sql_option
from ppdm_sql.policy.words import many

if TYPE_CHECKING:
    from ppdm_sql.profile.draft import PolicyDraft


@click.command("draft")
@click.argument("table")
@click.option("--out", "folder", required=True, type=click.Path(file_okay=False), metavar="DIR",
              help="A new folder for the policy and its hierarchy files.")  # fmt: skip
@click.option("--k", type=click.IntRange(min=2), default=10, show_default=True, help="The smallest class allowed.")
@click.option("--sensitive", default="", metavar="COLUMN,COLUMN", help="Columns that must stay secret.")
@click.option("--target", metavar="COLUMN", help="The column to predict from the release.")
@click.option("--entity", metavar="COLUMN", help="The column that identifies the person; k then counts people.")
@click.option("--force", is_flag=True, help="Overwrite an earlier draft in DIR, including edits to it.")
@json_option
@sql_option
@pass_options
def command(
    options: GlobalOptions, table: str, folder: str, k: int, sensitive: str, target: str | None, entity: str | None,
    force: bool, as_json: bool, show_sql: bool,
) -> int:  # fmt: skip
    """Draft a policy for a table, with a reason for every role, and hierarchy files to edit.

    The policy runs unchanged.  What looks like a name, an e-mail, a phone, an id, an address or free text is dropped,
    and so is what is nearly unique; everything else that varies is a quasi-identifier until you say otherwise.
    Hierarchy files list the values of their columns and are readable by you alone.

    \b
    $ ppdm --db clinic.duckdb draft patients --out draft --k 10 --sensitive diagnosis
    $ ppdm --db clinic.duckdb plan draft/policy.sql
    """
    from ppdm_sql.commands import show

    target_folder = Path(folder)
    _check_folder(target_folder, force=force)
    with options.session(writes=False) as session:
        if show_sql:
            session.engine.on_statement = show.print_sql(to_stderr=as_json)
        found = session.draft(table, k=k, sensitive=listed_columns(sensitive), target=target, entity=entity)
    written = _write(found, target_folder)
    if as_json:
        show.print_json({**found.as_json(), "written": [str(file) for file in written]})
    else:
        _show(found, written)
    return 0


def _check_folder(folder: Path, *, force: bool) -> None:
    """Before anything is measured: a draft never overwrites what was edited, unless that is asked for."""
    from ppdm_sql.profile.draft import POLICY_FILE

    if not folder.absolute().parent.is_dir():
        raise click.UsageError(f"folder {folder.absolute().parent} does not exist")
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / POLICY_FILE).is_file():
            raise click.UsageError(f"folder {folder} is not empty and has no draft: choose a new one")
        if not force:
            raise click.UsageError(f"{folder} already has a draft: --force overwrites it")


def _write(found: PolicyDraft, folder: Path) -> list[Path]:
    """The hierarchy files first: a policy that is there has all its files."""
    from ppdm_sql.profile.draft import POLICY_FILE
    from ppdm_sql.release.export.write import write_private

    folder.mkdir(mode=0o700, exist_ok=True)
    written = []
    for name, text in (*found.files.items(), (POLICY_FILE, found.text)):
        file = folder / name
        file.unlink(missing_ok=True)  # a new file is private, whatever the mode of the former one was
        write_private(file, text)
        written.append(file)
    return written


def _show(found: PolicyDraft, written: list[Path]) -> None:
    from ppdm_sql.commands import show

    table = show.plain_table("column", "role", "reason")
    for one in found.roles:
        table.add_row(escape(one.name), one.role.value, escape(one.reason))
    show.console.print(table)
    files = many(len(written) - 1, "hierarchy file")
    show.console.print(f"wrote {escape(str(written[-1]))} and {files}; next: ppdm plan {escape(str(written[-1]))}")
