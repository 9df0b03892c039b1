"""What stands before the command's name, and how it becomes an open database."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ppdm_sql.session import Session
    from ppdm_sql.watching import Progress


@dataclass(frozen=True)
class GlobalOptions:
    db: str | None
    create: bool
    read_only: bool
    allow_dir: tuple[str, ...]
    memory_limit: str | None
    threads: int | None
    lock_timeout: float
    show_values: bool

    def session(
        self, *, writes: bool = True, out: str | None = None, progress: bool | Progress = True, file: str | None = None
    ) -> Session:
        """The database of --db, opened as the options say; file: an empty one in memory that can read this file.

        progress: what watches, or whether a bar is drawn.
        """
        from ppdm_sql.commands.progress import bar
        from ppdm_sql.session import connect

        if file is not None:
            return connect(
                ":memory:", allow=[str(Path(file).resolve().parent)], memory_limit=self.memory_limit,
                threads=self.threads, out=out, progress=bar() if progress else None,
            )  # fmt: skip
        if not self.db:
            raise click.UsageError("no database given: use --db clinic.duckdb, or set PPDM_DB")
        return connect(
            self.db,
            create=self.create,
            read_only=self.read_only or not (writes or self.create),
            allow=self.allow_dir,
            memory_limit=self.memory_limit,
            threads=self.threads,
            lock_timeout=self.lock_timeout,
            show_values=self.show_values,
            out=out,
            progress=bar() if progress is True else progress or None,
        )


def named_settings(given: tuple[str, ...]) -> dict[str, str]:
    """What --option NAME=VALUE says, by name."""
    found: dict[str, str] = {}
    for item in given:
        name, sign, value = item.partition("=")
        if not sign or not name.strip():
            raise click.UsageError("an option must be written NAME=VALUE, such as --option min_leaf=20")
        if name.strip() in found:
            raise click.UsageError(f"option {name.strip()} is given twice")
        found[name.strip()] = value.strip()
    return found


COMMAS = 'separated by commas, unusual names in double quotes: age,"last, first"'
_COLUMN = re.compile(r'\s*(?:"(?P<quoted>(?:[^"]|"")+)"|(?P<plain>[^,"][^,]*)|)\s*(?:,|$)')


def listed_columns(text: str) -> list[str]:
    """The columns of a list with commas between; an odd name stands in double quotes, as in SQL.

    >>> listed_columns('age, "last, first" ,"o""brien",')
    ['age', 'last, first', 'o"brien']
    """
    found: list[str] = []
    at = 0
    while at < len(text):
        item = _COLUMN.match(text, at)
        if item is None:
            raise click.UsageError(f"columns must be {COMMAS}")
        name = item["quoted"].replace('""', '"') if item["quoted"] else (item["plain"] or "").strip()
        found += [name] if name else []
        at = item.end()
    return found


pass_options = click.make_pass_decorator(GlobalOptions)
json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout, for scheduled jobs.")
inducer_option = click.option(
    "--inducer", default="c45", show_default=True,
    help="id3, c45, cart, naive_bayes or conjunctive_rules; regression for a number.",
)  # fmt: skip
settings_option = click.option(
    "--option", "settings", multiple=True, metavar="NAME=VALUE", callback=lambda _, __, given: named_settings(given),
    help="Option of the learner, such as min_leaf=20; may be repeated.",
)  # fmt: skip
sql_option = click.option("--show-sql", is_flag=True, help="Print every statement as it runs (to stderr with --json).")
