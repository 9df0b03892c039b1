"""From a path, a url or an open connection to an engine; a driver is imported only when it is needed."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import duckdb

from ppdm_sql.engines.base import Engine
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import PolicyError

_POSTGRES = ("postgresql://", "postgres://")
_SPARK = "spark:"


def open_engine(database: object, **options: Any) -> Engine:
    """The engine of a DuckDB file or ':memory:', 'postgresql://...', 'spark:...', or an open connection.

    Options that are None, False or empty count as not given, so that a command line can pass all it has.
    """
    database = inner_connection(database)
    if isinstance(database, duckdb.DuckDBPyConnection):
        if options.get("allow"):
            raise PolicyError("allow goes with a path: an open connection reads what its own settings let it read")
        return DuckDBEngine(database)
    if _is_spark_session(database):
        return _engine("spark")(database)  # type: ignore[no-any-return]
    if not isinstance(database, str):
        raise PolicyError(f"expected a path, a URL or a DuckDB connection, got {type(database).__name__}")
    if database.startswith(_POSTGRES):
        return _open(_engine("postgres"), database, options)
    if database.startswith(_SPARK):
        return _open(_engine("spark"), database, options)
    if "://" in database:
        raise PolicyError(
            f"unknown scheme {database.split('://')[0]}://; use a DuckDB file, postgresql://, spark:local[2] or spark://"
        )
    return _open(DuckDBEngine, database, options)


def inner_connection(database: Any) -> Any:
    """The connection or cursor of DuckDB inside the wrappers that dbt hands to its models; anything else as it is."""
    inner = database
    while type(inner).__module__.startswith("dbt.") and hasattr(inner, "_cursor"):
        inner = inner._cursor
    return inner if isinstance(inner, duckdb.DuckDBPyConnection) else database


def _is_spark_session(database: object) -> bool:
    """Told by its class's home, because asking pyspark would import it."""
    home = type(database).__module__
    return type(database).__name__ == "SparkSession" and home.startswith("pyspark.sql.")


def _engine(extra: str) -> Any:
    module, name, package = {
        "postgres": ("ppdm_sql.engines.postgres.engine", "PostgresEngine", "psycopg"),
        "spark": ("ppdm_sql.engines.spark.engine", "SparkEngine", "pyspark"),
    }[extra]
    try:
        importlib.import_module(package)
    except ImportError:
        raise PolicyError(f"{package} is not installed: pip install 'ppdm-sql[{extra}]'") from None
    return getattr(importlib.import_module(module), name)


def _open(engine: Any, database: str, options: dict[str, Any]) -> Engine:
    given = {name: value for name, value in options.items() if not _is_left_out(value)}
    known = [name for name in inspect.signature(engine.open).parameters if name != "url" and name != "path"]
    unknown = [name for name in given if name not in known]
    if unknown:
        raise PolicyError(f"{engine.title} has no option {', '.join(unknown)}; valid options: {', '.join(known)}")
    opened: Engine = engine.open(database, **given)
    return opened


def _is_left_out(value: object) -> bool:
    return value is None or value is False or (isinstance(value, str | tuple | list | dict) and not value)
