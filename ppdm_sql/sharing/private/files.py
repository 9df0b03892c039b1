"""Files of a round: written whole or not at all, and read with a limit."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ppdm_sql.errors import PolicyError

LARGEST = 64 * 1024 * 1024
_UNFINISHED = ".ppdm-unfinished-"


def write_whole(path: Path, content: bytes) -> None:
    """The file under its name holds all of the content or was not touched, also when the power fails."""
    unfinished = path.with_name(f"{_UNFINISHED}{secrets.token_hex(8)}")
    with _refusals_of(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            unfinished.replace(path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
        _settle(path.parent)


def _settle(folder: Path) -> None:
    """The new name is on the disk as well."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_whole(path: Path) -> bytes:
    with _refusals_of(path):
        if path.stat().st_size > LARGEST:
            raise PolicyError(f"{path.name} is larger than {LARGEST // (1024 * 1024)} MB")
        return path.read_bytes()


def files_in(folder: Path, ending: str) -> list[Path]:
    """The files of a folder that end so, in the order of their names; unfinished ones are nobody's."""
    with _refusals_of(folder):
        found = [path for path in folder.iterdir() if path.name.endswith(ending)]
    return sorted(path for path in found if not path.name.startswith(_UNFINISHED))


@contextmanager
def _refusals_of(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as cause:
        reason = (cause.strerror or type(cause).__name__).lower()
        raise PolicyError(f"{path.name or path}: {reason}") from None
