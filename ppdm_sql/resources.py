"""Finds sql/ and migrations/: inside the installed package, or at the top of a checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


@cache
def folder(name: str) -> Path:
    """The folder `sql` or `migrations`, wherever this installation keeps it."""
    for place in (_PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if place.is_dir():
            return place
    raise FileNotFoundError(f"ppdm_sql is installed without its {name} folder")


def sql_text(name: str) -> str:
    """The text of sql/<name>.sql."""
    return (folder("sql") / f"{name}.sql").read_text(encoding="utf-8")
