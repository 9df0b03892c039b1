"""The demo: a hospital's table, from its risk to a file that can be handed over.

Each step shows the command a reader would type.  Everything is made in one folder, from the
files of sql/demo/, which are good to copy from.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from ppdm_sql import resources
from ppdm_sql.checks.measure import Measures
from ppdm_sql.policy.policy import Publish
from ppdm_sql.release.export.write import COMPANIONS
from ppdm_sql.release.results import Result
from ppdm_sql.report.write import Reported
from ppdm_sql.session import Session, connect
from ppdm_sql.watching import Progress

DATABASE, POLICY, EXPORT, REPORT = "clinic.duckdb", "patients.sql", "open.duckdb", "report.html"
OLDEST = "v1.2.0"  # whose readers can open the export


def run_demo(
    folder: Path,
    *,
    say: Callable[[str, str | None], None],
    show: Callable[[Result | Measures | Reported], None],
    progress: Progress | None = None,
) -> None:
    """Runs the steps in a folder; say(text, command) announces each, show(result) prints what it gave."""
    _prepare(folder)
    database = str(folder / DATABASE)
    with connect(database, create=True, out=folder, progress=progress) as session:
        say("A hospital's table, made by this demo: 20,000 stays, with names, NULLs and people who came twice.", None)
        _load(session)
        show(session.execute("SELECT * FROM patients ORDER BY patient_id LIMIT 5")[0])
        policy = (folder / POLICY).read_text(encoding="utf-8")
        statement = next(s for s in session.parse(policy, str(folder / POLICY)) if isinstance(s, Publish))
        say("How risky is the raw table?", f"ppdm --db {database} check {folder / POLICY}")
        show(session.check(statement))
        say("The policy publishes it with a guarantee.", f"ppdm --db {database} run {folder / POLICY}")
        for result in session.execute(policy, file=str(folder / POLICY)):
            show(result)
        show(session.execute("SELECT * FROM patients_open LIMIT 5")[0])
        say(
            "The export: a new file that holds the released rows and nothing else.",
            f"ppdm --db {database} export patients_open {EXPORT} --storage-version {OLDEST} --out {folder}",
        )
        show(session.export("patients_open", EXPORT, {"storage_version": OLDEST}))
        say(
            "And an HTML report about it.",
            f"ppdm --db {database} report patients_open --out {folder / REPORT}",
        )
        show(session.report("patients_open", REPORT))


def _prepare(folder: Path) -> None:
    """An empty folder with the policy and its hierarchies; an earlier demo there is replaced."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = [f"{EXPORT}{end}" for end in (".manifest.json", *COMPANIONS)]
    for old in (DATABASE, f"{DATABASE}.wal", EXPORT, *beside, REPORT):
        (folder / old).unlink(missing_ok=True)
    for file in (resources.folder("sql") / "demo").iterdir():
        if file.name != "hospital.sql":
            shutil.copyfile(file, folder / file.name)


def _load(session: Session) -> None:
    session.execute(resources.sql_text("demo/hospital"))
