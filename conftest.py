"""What pytest leaves alone when it looks for doctests in the package."""

from __future__ import annotations

from importlib.util import find_spec

# Spark is an extra: without it its modules cannot be imported, and `make test-spark` brings it.
collect_ignore = [] if find_spec("pyspark") else ["ppdm_sql/engines/spark"]
