"""Starts Spark: quietly, privately, and with a catalog that the next process finds again.

spark:local[2]?warehouse=/srv/lake keeps data and metastore below that folder (default: ./spark-warehouse):

    /srv/lake/data         the stored tables, Parquet
    /srv/lake/metastore    which tables and views there are: Hive's metastore in an embedded Derby, both of
                           which are in PySpark's wheel
    /srv/lake/ppdm.lock    held by the one process that works here; Derby lets no second one in

warehouse=:memory: keeps both only until the engine closes.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException

from ppdm_sql.engines.spill import private_folder, wipe
from ppdm_sql.errors import DatabaseUnavailable, EngineError, PolicyError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_URL = re.compile(r"spark:(?:(?P<master>local(?:\[(?:\d+|\*)\])?)(?:\?(?P<options>.*))?|(?P<remote>sc://.+))")
_MEMORY = ":memory:"
_gateways: Any = import_module("pyspark.java_gateway")  # has no types
FAILURES = (PySparkException, import_module("py4j.protocol").Py4JError)


@dataclass
class SparkPlace:
    """What belongs to an own Spark: closing it ends the JVM, which frees the metastore, and wipes what was spilled."""

    data: Path | None = None  # where stored tables lie, when that is a folder of this machine
    temp: Path | None = None
    lock: IO[str] | None = None
    gateway: Any = None

    def close(self) -> None:
        if self.gateway is not None:
            self.gateway.shutdown()
            SparkContext._gateway = None
            SparkContext._jvm = None
            self.gateway.proc.stdin.close()  # the JVM ends when its parent's pipe does
            self.gateway.proc.wait()
        if self.temp is not None:
            wipe(self.temp)
        if self.lock is not None:
            self.lock.close()


def start(url: str, lock_timeout: float, memory_limit: str | None) -> tuple[SparkSession, SparkPlace]:
    found = _URL.fullmatch(url)
    if found is None:
        raise PolicyError("a Spark URL is spark:local[2], spark:local[2]?warehouse=/path or spark:sc://host:port")
    if found["remote"] is not None:
        return _connect(found["remote"]), SparkPlace()
    warehouse = _warehouse(found["options"] or "")
    memory = {} if memory_limit is None else {"spark.driver.memory": _java_size(memory_limit)}
    if SparkContext._active_spark_context is not None:
        raise DatabaseUnavailable("Spark already runs in this process: pass its session instead of a URL")
    place = SparkPlace()
    try:
        folder = _claim(place, warehouse, lock_timeout)
        return _launch(_settings(found["master"], folder, place) | memory, place), place
    except BaseException:
        place.close()
        raise


def _warehouse(options: str) -> str:
    given = dict(parse_qsl(options, keep_blank_values=True))
    warehouse = given.pop("warehouse", "spark-warehouse")
    if given:
        raise PolicyError(f"a Spark URL has no option {', '.join(given)}; valid options: warehouse")
    if not warehouse or ";" in warehouse:
        raise PolicyError("warehouse must be the path of a folder, without ;")
    return warehouse


def _connect(remote: str) -> SparkSession:
    from pyspark.sql import SparkSession

    try:
        session: SparkSession = SparkSession.builder.remote(remote).getOrCreate()
        session.sql("SELECT 1").collect()
    except ImportError:
        raise PolicyError("Spark Connect needs more packages: pip install 'pyspark[connect]'") from None
    except Exception:  # the url can hold a token, and the error the url
        raise DatabaseUnavailable("Spark Connect does not answer at this host and port") from None
    return session


# -- the local form --------------------------------------------------------------------------------------


def _claim(place: SparkPlace, warehouse: str, lock_timeout: float) -> Path | None:
    """The warehouse, locked for this process; None when everything is to be forgotten."""
    if warehouse == _MEMORY:
        place.temp = private_folder()
        place.data = place.temp / "data"
        return None
    folder = Path(warehouse).resolve()
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        place.lock = (folder / "ppdm.lock").open("a+", encoding="ascii")
    except OSError as cause:
        raise DatabaseUnavailable(f"the warehouse {warehouse} cannot be created or written") from cause
    _wait_for(place.lock, warehouse, time.monotonic() + lock_timeout)
    place.temp = private_folder(str(folder / "spill"))
    place.data = folder / "data"
    return folder


def _wait_for(lock: IO[str], warehouse: str, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                lock.seek(0)
                raise DatabaseUnavailable(
                    f"{warehouse} is locked by process {lock.read().strip()}; gave up waiting (--lock-timeout). "
                    "Nothing was changed"
                ) from None
            time.sleep(0.1)
        else:
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
            return


def _settings(master: str, folder: Path | None, place: SparkPlace) -> dict[str, str]:
    settings = {
        "spark.master": master,
        "spark.app.name": "ppdm_sql",
        "spark.driver.host": "127.0.0.1",  # nobody outside this machine is to talk to it
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",  # its pages show statements and plans
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.local.dir": f"{place.temp}/spill",
        "spark.sql.warehouse.dir": str(place.data),
        "spark.sql.shuffle.partitions": "8",  # 200 is for clusters; adaptive execution merges small ones
        "spark.driver.extraJavaOptions": f'-Dderby.stream.error.file="{place.temp}/derby.log" '
        f'-Djava.io.tmpdir="{place.temp}"',
    }
    if folder is not None:
        settings |= {
            "spark.sql.catalogImplementation": "hive",
            "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/metastore;create=true",
            "spark.hadoop.hive.exec.scratchdir": f"{place.temp}/hive",
        }
    return settings


def _java_size(limit: str) -> str:
    """A size as Java writes it.

    >>> _java_size("4GB"), _java_size("512 MiB")
    ('4g', '512m')
    """
    found = re.fullmatch(r"(\d+)\s*([kmgt])(i?b)?", limit.strip(), re.IGNORECASE)
    if found is None:
        raise PolicyError("a memory limit must be a whole number and a unit: 4GB, 512MB")
    return f"{found[1]}{found[2].lower()}"


def _launch(settings: dict[str, str], place: SparkPlace) -> SparkSession:
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False)
    for name, value in settings.items():
        conf.set(name, value)
    try:
        with _silence() as nowhere:
            # What the JVM prints are start-up notes, and errors that quote raw values.
            place.gateway = _gateways.launch_gateway(conf, popen_kwargs={"stdout": nowhere, "stderr": nowhere})
            context = SparkContext(conf=conf, gateway=place.gateway)
            session = SparkSession(context)
    except FAILURES:
        raise DatabaseUnavailable("Spark could not be started: it needs Java 17 or 21 (is JAVA_HOME set?)") from None
    try:
        session.catalog.databaseExists("default")
    except FAILURES:  # not kept as the cause: its text is asked from the JVM, which ends now
        session.stop()
        raise DatabaseUnavailable("the metastore cannot be opened: is another Spark process using it?") from None
    return session


@contextlib.contextmanager
def _silence() -> Iterator[int]:
    """A hole to print into; PySpark's warning about new versions of pandas, which is not used, goes there too."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield nowhere
    finally:
        os.close(nowhere)


def check_stored_name(name: str) -> None:
    """Spark takes other names only for what it does not store, and notices after it has written the rows."""
    if not re.fullmatch(r"\w+", name, re.ASCII):
        raise EngineError(f"Spark allows only letters, digits and _ in the name of a relation, not {name}")
