"""Files that a command writes in addition to what it prints."""

from __future__ import annotations

from pathlib import Path

import click


def check_folder(path: object) -> None:
    """Before anything is measured: a grid must not be lost because its file cannot be written."""
    if path is not None and not Path(str(path)).absolute().parent.is_dir():
        raise click.UsageError(f"folder of {path} does not exist")


def write_file(path: object, text: str | None) -> None:
    if path is not None and text is not None:
        from ppdm_sql.release.export.write import write_private

        write_private(Path(str(path)), text, replace=True)
