"""Publish tables and models with a privacy guarantee that the database itself has measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Session", "__version__", "connect"]

if TYPE_CHECKING:
    from ppdm_sql.session import Session, connect


def __getattr__(name: str) -> Any:
    """The API is loaded at its first use: `ppdm --help` needs none of it."""
    if name in ("connect", "Session"):
        from ppdm_sql import session

        return getattr(session, name)
    raise AttributeError(f"module 'ppdm_sql' has no attribute {name!r}")
