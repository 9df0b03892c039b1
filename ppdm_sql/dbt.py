"""A Python model of dbt that publishes a release: dbt stores the rows, ppdm_sql measures them and keeps the record.

    # models/patients_open.py
    import ppdm_sql.dbt

    def model(dbt, session):
        dbt.ref("patients")
        return ppdm_sql.dbt.release(dbt, session, "policies/patients.sql")

The policy is one CREATE ... WITH ANONYMIZATION, as a text or the path of a file.  Its name is that of the release in
the database; the table of the model is a copy of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ppdm_sql.engines.connect import inner_connection
from ppdm_sql.errors import PolicyError
from ppdm_sql.policy import grammar
from ppdm_sql.policy.policy import Publish, Refresh
from ppdm_sql.release.results import Published
from ppdm_sql.session import Session, connect

if TYPE_CHECKING:
    import pyarrow as pa


def release(dbt: Any, session: Any, policy: str | Path) -> pa.Table:
    """Publishes the policy, or its new rows where the release grows, and returns the rows for dbt to store.

    A refusal is an error of the model: dbt leaves its table as it was.
    """
    import pyarrow as pa

    # dbt is inside a transaction: a cursor has one of its own, and the release stays whatever dbt does.
    with connect(inner_connection(session).cursor()) as db:
        published = _publish(db, *_read(policy))
        return pa.Table.from_batches(list(db.engine.batches(published.query)))


def _read(policy: str | Path) -> tuple[str, str | None]:
    """The text of a policy, and the file it stands in."""
    is_file = isinstance(policy, Path) or ("\n" not in policy and policy.endswith(".sql"))
    if not is_file:
        return str(policy), None
    if not Path(policy).is_file():
        raise PolicyError(f"policy file {policy} does not exist (paths are relative to the dbt project)")
    return Path(policy).read_text(encoding="utf-8"), str(policy)


def _publish(db: Session, text: str, file: str | None) -> Published:
    statements = grammar.parse(text, file=file, dialect=db.engine.dialect)
    if len(statements) != 1 or not isinstance(statements[0], Publish):
        raise PolicyError("a dbt model takes one CREATE ... WITH ANONYMIZATION", file=file)
    statement = statements[0]
    name = db.engine.name(statement.name)
    if statement.growing and any(one.relation_name == name.last for one in db.releases()):
        published = db.run(Refresh(statement.name, statement.place))
    else:
        db.check_ahead(statements)
        published = db.run(statement)
    assert isinstance(published, Published)
    return published
