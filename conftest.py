"""What pytest leaves alone when it looks for doctests."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

# Spark is an extra: without it its modules cannot be imported, and `make test-spark` brings it.
collect_ignore = [] if find_spec("pyspark") else ["ppdm_sql/engines/spark"]


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, Sequence[pytest.Collector], Sequence[pytest.Collector]]:
    """A file without an example is not searched for doctests: that takes longer than reading it."""
    found = yield
    if file_path.suffix != ".py" or b">>>" in file_path.read_bytes():
        return found
    return [one for one in found if type(one).__name__ != "DoctestModule"]
