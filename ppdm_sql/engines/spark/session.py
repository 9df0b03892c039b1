"""Starts Spark: quietly, privately, and with a catalog that the next process finds again.

spark:local[2]?warehouse=/srv/lake keeps data and metastore below that folder (default: ./spark-warehouse):

    /srv/lake/data         the stored tables, Parquet
    /srv/lake/metastore    which tables and views there are: Hive's metastore in an embedded Derby, both of
                           which are in PySpark's wheel
    /srv/lake/ppdm.lock    held by the one process that works here; Derby lets no second one in

warehouse=:memory: keeps both only until the engine closes.  spark://host:7077?warehouse=/mnt/lake keeps the same in a
folder of the cluster (cluster.py).
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

from ppdm_sql.engines.spark.cluster import check_shared, cluster_settings
from ppdm_sql.engines.spill import private_folder, wipe
from ppdm_sql.errors import DatabaseUnavailable, EngineError, PolicyError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOCAL = r"local(?:\[(?:\d+|\*)\])?"
_HOSTS = r"//[^/?,:@\s]+:\d+(?:,[^/?,:@\s]+:\d+)*"
_URL = re.compile(rf"spark:(?:(?P<master>{_LOCAL}|{_HOSTS})(?:\?(?P<options>.*))?|(?P<remote>sc://.+))")
_OPTIONS = ("warehouse",)
_CLUSTER_OPTIONS = ("warehouse", "cores", "memory")
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
        raise PolicyError(
            "a Spark URL is spark:local[2], spark:local[2]?warehouse=/path, spark://host:port?warehouse=/path "
            "or spark:sc://host:port"
        )
    if found["remote"] is not None:
        return _connect(found["remote"]), SparkPlace()
    master = found["master"] if found["master"].startswith("local") else f"spark:{found['master']}"
    cluster = master.startswith("spark:")
    given = _read_options(found["options"] or "", _CLUSTER_OPTIONS if cluster else _OPTIONS)
    warehouse = _warehouse(given, cluster)
    memory = {} if memory_limit is None else {"spark.driver.memory": _java_size(memory_limit)}
    if SparkContext._active_spark_context is not None:
        raise DatabaseUnavailable("Spark already runs in this process: pass its session instead of a URL")
    place = SparkPlace()
    try:
        folder = _claim(place, warehouse, lock_timeout)
        settings = _settings(master, folder, place) | memory
        if not cluster:
            return _launch(settings, place), place
        given = {name: _java_size(size) if name == "memory" else size for name, size in given.items()}
        session = _launch(settings | cluster_settings(master, given), place, defaults=True)
        assert place.data is not None  # _claim has set it
        check_shared(session, place.data)
        return session, place
    except BaseException:
        place.close()
        raise


def _read_options(text: str, known: tuple[str, ...]) -> dict[str, str]:
    given = dict(parse_qsl(text, keep_blank_values=True))
    unknown = [name for name in given if name not in known]
    if unknown:
        raise PolicyError(f"a Spark URL has no option {', '.join(unknown)}; valid options: {', '.join(known)}")
    return given


def _warehouse(given: dict[str, str], cluster: bool) -> str:
    warehouse = given.pop("warehouse", "" if cluster else "spark-warehouse")
    if cluster and warehouse in ("", _MEMORY):
        raise PolicyError("a cluster needs ?warehouse=/path: a folder that every worker reaches under the same path")
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


def _launch(settings: dict[str, str], place: SparkPlace, *, defaults: bool = False) -> SparkSession:
    """Starts the JVM and its session; with defaults, also with what spark-defaults.conf says."""
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False)
    for name, value in settings.items():
        conf.set(name, value)
    try:
        with _silence() as nowhere:
            # What the JVM prints are start-up notes, and errors that quote raw values.
            place.gateway = _gateways.launch_gateway(conf, popen_kwargs={"stdout": nowhere, "stderr": nowhere})
            if defaults:
                conf = SparkConf(_jvm=place.gateway.jvm)
            conf.setIfMissing("spark.sql.shuffle.partitions", "8")  # 200 is for clusters; adaptive execution merges
            context = SparkContext(conf=conf, gateway=place.gateway)
            session = SparkSession(context)
    except FAILURES:
        also = ", and a cluster of the same version of Spark" if defaults else ""
        raise DatabaseUnavailable(
            f"Spark could not be started: it needs Java 17 or 21 (is JAVA_HOME set?){also}"
        ) from None
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
