"""A private folder for what an engine spills to disk.  Spilled rows are raw rows.

A process that is killed leaves them behind, readable (measured: 158,547 names, mode 644).  So every
engine spills into a folder of its own, mode 0700, named after its process; it is removed when the engine
closes, and the next process removes those of processes that have ended.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from pathlib import Path

_PRIVATE = 0o700


def private_folder(path: str | None = None) -> Path:
    """An empty folder of this engine, below '<path>.ppdm_tmp' or, where that cannot be, the system's folder."""
    while True:
        base = _base(path)
        try:
            for left in base.iterdir():
                if not _is_alive(left.name.split("_")[0]):
                    shutil.rmtree(left, ignore_errors=True)
            return Path(tempfile.mkdtemp(prefix=f"{os.getpid()}_", dir=base))
        except FileNotFoundError:  # another engine just left and took the empty base with it
            continue


def wipe(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):  # another engine still works there
        folder.parent.rmdir()


def _base(path: str | None) -> Path:
    system = Path(tempfile.gettempdir())
    wanted = Path(f"{path}.ppdm_tmp") if path is not None else system / f"ppdm_{os.getuid()}"
    if not os.access(wanted.parent, os.W_OK):  # a read-only place: spill elsewhere
        wanted = system / f"ppdm_{os.getuid()}"
    wanted.mkdir(mode=_PRIVATE, exist_ok=True)
    # The name can be guessed: another user may have made it first to read along.
    return wanted if _is_ours(wanted) else Path(tempfile.mkdtemp(prefix="ppdm_"))


def _is_ours(folder: Path) -> bool:
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and stat.S_IMODE(found.st_mode) == _PRIVATE


def _is_alive(pid: str) -> bool:
    if not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
