"""The page as a file: below the folder it may go to, whole or not at all, and never over something else's file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import escape

from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.planning.joint import shown_name
from ppdm_sql.release.export.write import mapped_errors, private_folder, put_in_place, read_place, write_private
from ppdm_sql.release.notebook_html import visible_lines
from ppdm_sql.release.results import Verified
from ppdm_sql.report.audience import Audience
from ppdm_sql.report.elements import Page
from ppdm_sql.report.facts import gather
from ppdm_sql.report.page import page_of, render_page
from ppdm_sql.watching import Progress

_HEAD = 4096  # bytes in which a report says what it is


@dataclass(frozen=True)
class Reported:
    """A report that was written; holds says whether the release still does."""

    name: str
    path: str
    audience: str
    holds: bool
    problems: tuple[str, ...]
    bytes: int

    def as_json(self) -> dict[str, Any]:
        told = {key: value for key, value in vars(self).items() if key not in ("name", "problems")}
        return {"statement": "report", "release": self.name, **told, "problems": list(self.problems)}


def report(
    engine: Engine,
    record: ReleaseRecord,
    path: str,
    *,
    verify: Callable[[], Verified],
    out: Path,
    readers: str,
    force: bool,
    progress: Progress,
) -> Reported:
    """Measures a release and writes the page about it."""
    Audience.of(readers, None)  # a wrong word is refused before anything is measured
    target = read_place(path, out, "a report")
    if not force:
        with mapped_errors(target):
            _refuse_foreign(target, shown_name(record), readers)
    facts = gather(engine, record, verify, progress)
    page = page_of(facts, Audience.of(readers, facts.k))
    written = write_page(page, target)
    progress("done", 1, 1)
    return Reported(page.name, str(target), page.audience, page.holds, facts.verified.problems, written)


def write_page(page: Page, target: Path) -> int:
    """The page as a file, whole or not at all; how many bytes it has."""
    text = render_page(page)
    with private_folder(target) as work:
        write_private(work / target.name, text)
        put_in_place(work, [target])
    return len(text.encode())


def refuse_foreign_page(target: Path, page: Page) -> None:
    """Overwrites an earlier page about the same thing for the same readers, and nothing else."""
    with mapped_errors(target):
        _refuse_foreign(target, page.name, page.audience, generator=page.generator, what="such a page")


def _refuse_foreign(
    target: Path, name: str, readers: str, *, generator: str = Page.generator, what: str = "a report of this release"
) -> None:
    """Overwrites an earlier report of the same release for the same readers, and nothing else."""
    if not target.exists():
        return
    if target.is_file():
        with target.open("rb") as file:
            head = file.read(_HEAD).decode("utf-8", errors="replace")
        known = {"generator": generator, "ppdm-release": name, "ppdm-audience": readers}
        if all(f'<meta name="{key}" content="{_attribute(value)}">' in head for key, value in known.items()):
            return
    raise PolicyError(f"{target.name} already exists and is not {what} for {readers} readers: --force overwrites it")


def _attribute(value: str) -> str:
    """A text as the template writes it into an attribute."""
    return str(escape(visible_lines(value)))
