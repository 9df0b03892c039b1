"""The papers' experiments, run again: one module per paper, each gives its tables with the published figures.

The public tables they need are not part of the repository.  A folder holds them, with a MANIFEST.json that
describes them; a missing file is reported before anything runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from benchmarks.papers.tables import PaperTable
from ppdm_sql.errors import PolicyError
from ppdm_sql.watching import Progress

# Imported when asked for: each brings its own methods and learners.
PAPERS: Mapping[str, str] = MappingProxyType(
    {"000": "sharing_000", "001": "kadet_001", "002": "tpp_002", "003": "dmpd_003", "004": "kactus_004"}
)


def tables_of(paper: str, folder: Path, progress: Progress, *, quick: bool) -> list[PaperTable]:
    """The tables of a paper from the data in a folder; quick: fewer repeats and sizes, for a look.

    A module of a paper has FILES, what it reads below the folder, and tables(folder, progress, quick=...).
    """
    if paper not in PAPERS:
        raise PolicyError(f"unknown paper {paper}; valid papers: {', '.join(PAPERS)}")
    module = import_module(f"{__name__}.{PAPERS[paper]}")
    _check_files(paper, folder, module.FILES)
    found: list[PaperTable] = module.tables(folder, progress, quick=quick)
    return found


def _check_files(paper: str, folder: Path, files: tuple[str, ...]) -> None:
    if not folder.is_dir():
        raise PolicyError(f"paper {paper} needs {', '.join(files)}: the folder {folder} does not exist")
    missing = [name for name in files if not (folder / name).is_file()]
    if missing:
        raise PolicyError(f"paper {paper} needs {', '.join(missing)} in {folder}")
