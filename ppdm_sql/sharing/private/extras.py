"""Packages that only private sharing needs: what is missing is said in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ppdm_sql.errors import PolicyError


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Imports that belong to an extra of the package; a missing one names the extra."""
    try:
        yield
    except ImportError as cause:
        package = (cause.name or "a package").partition(".")[0]
        raise PolicyError(f"package {package} is not installed: install ppdm-sql[{name}]") from None
