"""A standalone master and two workers, as processes of this machine, and the command line as their driver."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
pytestmark = pytest.mark.spark

HOME = Path(pyspark.__file__).parent
PEOPLE = """
CREATE TABLE people AS SELECT id, 20 + id * 7 % 40 AS age, substr('abcdef', 1 + id % 6, 1) AS ward,
    CASE WHEN id % 5 < 3 THEN 'flu' ELSE 'gout' END AS illness FROM range(4000);
"""
POLICY = """
CREATE TABLE {name} AS SELECT id, age, ward, illness FROM people WITH ANONYMIZATION (ALGORITHM {method}
    REQUIRE k = {k} IDENTIFIER (id) QUASI IDENTIFIER (age, ward) TARGET (illness) ACCEPT RISK (joint) SEED 7);
"""


def start(folder, *arguments):
    environment = {
        **os.environ,
        "SPARK_LOCAL_DIRS": str(folder / "spill"),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_HOME": str(HOME),
    }
    with (folder / f"{len(list(folder.glob('*.log')))}.log").open("wb") as log:
        command = [HOME / "bin" / "spark-class", *arguments]
        return subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True), Path(
            log.name
        )


def said(log, pattern, seconds=90):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found[0]
        time.sleep(0.1)
    raise AssertionError(f"{pattern} not found in:\n{log.read_text(errors='replace')[-2000:]}")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The URL of the master, and the folder where everything lies."""
    folder = tmp_path_factory.mktemp("cluster")
    started = []
    try:
        daemon = "org.apache.spark.deploy"
        master, log = start(
            folder, f"{daemon}.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"
        )
        started.append(master)
        url = said(log, r"spark://127\.0\.0\.1:\d+")
        for number in range(2):
            work = ("--work-dir", str(folder / f"work{number}"), "--host", "127.0.0.1", "--webui-port", "0")
            worker, log = start(folder, f"{daemon}.worker.Worker", url, "--cores", "1", "--memory", "1g", *work)
            started.append(worker)
            said(log, "Successfully registered with master")
        yield f"{url}?warehouse={folder / 'lake'}", folder
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def command(url, *arguments):
    return [sys.executable, "-m", "ppdm_sql", "--db", url, *arguments]


def ppdm(url, *arguments):
    return subprocess.run(command(url, *arguments), capture_output=True, text=True, check=False)


def executors(folder):
    """The processes in which the workers run this driver's tasks."""
    found = []
    for status in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = status.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if "CoarseGrainedExecutorBackend" in text and str(folder) in text:
            found.append(int(status.parent.name))
    return found


def test_a_warehouse_must_be_shared(cluster):
    url, _ = cluster
    refused = ppdm(url.split("?")[0], "list")
    assert refused.returncode == 2
    assert "a cluster needs ?warehouse=/path" in refused.stderr


@pytest.mark.nightly  # minutes of processor time
def test_publications_on_a_cluster_and_one_that_loses_an_executor(cluster):
    url, folder = cluster
    first = folder / "people.sql"
    made = "".join(POLICY.format(name=f"open_{method}", method=method, k=5) for method in ("mondrian", "kactus2"))
    asked = "VERIFY open_mondrian;\nVERIFY open_kactus2;\nEXPORT open_mondrian TO 'open.parquet';\n"
    first.write_text(PEOPLE + made + asked)
    ran = ppdm(url, "run", str(first), "--out", str(folder))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.count("holds: 4,000 rows") == 2  # VERIFY of both
    assert (folder / "open.parquet").exists()
    checked = ppdm(url, "check", str(first))
    assert checked.returncode == 0, checked.stderr
    second = folder / "again.sql"
    again = POLICY.format(name="open_mondrian", method="mondrian", k=20).replace("CREATE", "CREATE OR REPLACE")
    second.write_text(again.replace("SEED", "SUPERSEDES SEED"))
    running = subprocess.Popen(
        command(url, "run", str(second)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    kill_one_executor(folder)
    _, errors = running.communicate(timeout=600)
    assert running.returncode in (0, 3), errors
    verified = ppdm(url, "verify", "open_mondrian")
    assert verified.returncode == 0, verified.stderr
    wanted = "k = 20" if running.returncode == 0 else "k = 5"
    assert re.search(rf"^{wanted} ", verified.stdout, re.MULTILINE), (running.returncode, errors, verified.stdout)


def kill_one_executor(folder, seconds=8):
    """In the middle: both executors have been there for some seconds."""
    deadline = time.monotonic() + 120
    while len(found := executors(folder)) < 2:
        assert time.monotonic() < deadline, "no executors"
        time.sleep(0.2)
    time.sleep(seconds)
    os.kill(found[0], signal.SIGKILL)
