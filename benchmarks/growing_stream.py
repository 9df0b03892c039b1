"""A table of visits that changes from night to night, and its growing release: 1 % new, 0.5 % changed, 0.3 % gone."""

from __future__ import annotations

import random
import time

import duckdb
import pyarrow as pa

import ppdm_sql
from ppdm_sql.catalog.manifest import GrownRecord
from ppdm_sql.session import Session
from ppdm_sql.statements.names import Name

COLUMNS = ("visit_id", "person", "age", "ward", "sex", "zip", "diagnosis")
WARDS = {"A1": 9, "A2": 7, "A3": 5, "B1": 4, "B2": 3, "C1": 2, "D1": 1}
ILLNESSES = ("flu", "cold", "asthma", "gout", "none")
_POLICY = """CREATE TABLE {name} {growing} AS SELECT {columns} FROM visits WITH ANONYMIZATION (ALGORITHM {method}
REQUIRE k = 10, distinct_l = 2 QUASI IDENTIFIER (age, ward, sex, zip) SENSITIVE (diagnosis) {target} ENTITY (person)
{key} (visit_id) {changes} SEED 7)"""


def visits(draw: random.Random, start: int, number: int) -> pa.Table:
    """Rows of new people; what they have depends on their age and ward, so that a tree has something to find."""
    rows = []
    for key in range(start, start + number):
        age = min(95, max(18, int(draw.gauss(55, 18))))
        (ward,) = draw.choices([*WARDS], [*WARDS.values()])
        zip_code = 10_000 + int(draw.random() ** 2 * 400)
        weights = [4 if age < 50 else 1, 6 if ward < "B" else 2, 3 if ward >= "B" else 1, 1 if age < 50 else 4, 2]
        (illness,) = draw.choices(ILLNESSES, weights)
        rows.append((key, key, age, ward, draw.choice("mf"), zip_code, illness))
    return pa.table({name: list(column) for name, column in zip(COLUMNS, zip(*rows, strict=True), strict=True)})


def policy(method: str, *, growing: bool, name: str = "visits_open", changes: str = "") -> str:
    target = "" if method in ("mondrian", "incognito") else "TARGET (diagnosis)"
    return _POLICY.format(
        name=name, growing="GROWING" if growing else "", columns=", ".join(COLUMNS), method=method, target=target,
        key="KEY" if growing else "IDENTIFIER", changes=changes,
    )  # fmt: skip


class Stream:
    """The table as it changes from night to night, and its release."""

    def __init__(
        self, people: int, method: str, *, seed: int = 1, changes: str = "", db: Session | None = None
    ) -> None:
        self.draw, self.method, self.people = random.Random(seed), method, people
        self.db = ppdm_sql.connect(duckdb.connect()) if db is None else db
        self.next = 0
        self.late: list[pa.Table] = []
        self.db.engine.load(Name("visits"), self._arrive(people), temporary=False)
        started = time.process_time()
        first = self.db.publish(policy(method, growing=True, changes=changes))
        self.publishing = time.process_time() - started  # seconds of the processor
        assert first.utility is not None
        self.first_loss = float(first.utility.loss)

    def _arrive(self, number: int) -> pa.Table:
        found = visits(self.draw, self.next, number)
        self.next += number
        return found

    def night(self) -> None:
        """1 % new, 0.5 % changed, 0.3 % gone."""
        new = self._arrive(self.people // 100)
        self.late.append(new)
        self.db.engine.load(Name("new_visits"), new, temporary=False)
        picked = self.draw.randrange(1_000)
        self.db.execute(
            f"""INSERT INTO visits SELECT * FROM new_visits;
            DROP TABLE new_visits;
            UPDATE visits SET age = age + 1 WHERE MOD(visit_id * 7919 + {picked}, 1000) < 5;
            DELETE FROM visits WHERE MOD(visit_id * 104729 + {picked}, 1000) < 3
                AND visit_id < {self.next - self.people // 50}"""
        )

    def refresh(self) -> GrownRecord:
        """What REFRESH says of the night."""
        grown: GrownRecord | None = self.db.run("REFRESH visits_open").record.manifest.growing
        assert grown is not None
        return grown

    def alone(self) -> float:
        """The loss of the rows that came since the last call, published by themselves with labels of their own."""
        rows, self.late = pa.concat_tables(self.late), []
        with ppdm_sql.connect(duckdb.connect()) as db:
            db.engine.load(Name("visits"), rows, temporary=False)
            release = db.publish(policy(self.method, growing=False))
            assert release.utility is not None
            return float(release.utility.loss)
