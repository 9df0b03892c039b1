"""A standalone cluster: this process is the driver, the workers hold working tables and write what is stored.

spark://host:7077?warehouse=/mnt/lake is the local form with another master.  The warehouse must be a folder that this
machine and every worker reach under the same path: Spark itself does not notice when it is not, each worker writes to a
disk of its own, and a stored table is empty.  So a few rows are written and read back before anything else happens.

Settings of the cluster (authentication, memory of executors) come from its spark-defaults.conf (SPARK_CONF_DIR).
"""

from __future__ import annotations

import shutil
import socket
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow.parquet as pq

from ppdm_sql.errors import DatabaseUnavailable
from ppdm_sql.statements.names import PREFIX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PROBE_ROWS = 8
_SECONDS = 5.0
_SETTINGS = {"cores": "spark.cores.max", "memory": "spark.executor.memory"}  # as a URL names them


def cluster_settings(master: str, given: dict[str, str]) -> dict[str, str]:
    """What a driver outside of the workers' machines needs, next to the settings of every own Spark."""
    address = _address_towards(master)
    return {
        "spark.driver.host": address,
        "spark.driver.bindAddress": address,
        "spark.io.encryption.enabled": "true",  # workers spill raw rows to disks that are not wiped from here
        **{_SETTINGS[name]: value for name, value in given.items()},
    }


def _address_towards(master: str) -> str:
    """The address of this machine that the master's network reaches; one of several masters is enough."""
    for place in master.removeprefix("spark://").split(","):
        host, port = place.rsplit(":", 1)
        try:
            with socket.create_connection((host, int(port)), timeout=_SECONDS) as tried:
                address: str = tried.getsockname()[0]
                return address
        except (OSError, OverflowError):  # Spark itself would try for a minute, and fail with other words
            continue
    raise DatabaseUnavailable(f"no Spark master answers at {master}")


def check_shared(session: SparkSession, data: Path) -> None:
    """Refuses a warehouse that the workers do not share with this machine."""
    folder = data / f"{PREFIX}probe_{uuid4().hex}"
    try:
        found = _written_rows(session, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if found != _PROBE_ROWS:
        raise DatabaseUnavailable(
            f"the workers do not share the warehouse: {_PROBE_ROWS} rows were written there, {found} arrived on this "
            "machine. Use a folder that all machines reach under the same path, writable for the workers' user"
        )


def _written_rows(session: SparkSession, folder: Path) -> int:
    session.range(0, _PROBE_ROWS, 1, _PROBE_ROWS).write.parquet(str(folder))
    return sum(pq.read_metadata(file).num_rows for file in folder.glob("part-*.parquet"))
