"""Random nights of a growing release, and an attacker who holds all of them.

He distinguishes rows by the nights on which they were there, and under which labels.  What he cannot tell apart is found
here by brute force, from the rows that people could read each night.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import duckdb

import ppdm_sql
from ppdm_sql.errors import RequirementBreached

K, L = 3, 2
QUASI = ("age", "ward")
CHANGES = (
    "",
    "CHANGES (gone = together, changed = again)",
    "CHANGES (gone = withdraw)",
    "CHANGES (late = wait (loss = 0.4, nights = 3), gone = together)",
    "CHANGES (changed = again, show = cohort)",
    "CHANGES (returning = wait, gone = together)",
)
METHODS = ("mondrian", "kactus2", "incognito", "kadet", "tds")


@dataclass
class Counts:
    """What an attacker found: groups of rows that he cannot tell apart, and those that are too small."""

    nights: int = 0
    rows: int = 0
    groups: int = 0
    below_k: int = 0
    below_l: int = 0
    small_differences: int = 0  # of two nights that follow each other: fewer than k rows that left or came

    @property
    def finds_somebody(self) -> bool:
        return bool(self.below_k or self.below_l or self.small_differences)


@dataclass
class Stream:
    """A random table that changes every night, and everything an attacker saw of its release."""

    rng: random.Random
    con: duckdb.DuckDBPyConnection
    next_key: int = 0
    seen: dict = field(default_factory=lambda: defaultdict(dict))  # row -> night -> (labels, sensitive value)
    persons: dict = field(default_factory=dict)  # row -> person
    nulls: float = 0.03  # the share of ages that are missing

    def start(self, changes: str, method: str = "mondrian") -> None:
        self.con.execute("CREATE TABLE visits (visit_id INT, person INT, age INT, ward TEXT, diagnosis TEXT)")
        self.nulls = 0 if method == "kadet" else 0.03  # its first table may have none
        self.insert(self.rng.randint(40, 120))
        self.nulls = 0.03
        target = "" if method in ("mondrian", "incognito") else "TARGET (diagnosis)"
        self.db = ppdm_sql.connect(self.con)
        self.db.publish(
            f"""CREATE {self.rng.choice(["TABLE", "VIEW"])} visits_open GROWING AS
            SELECT visit_id, person, age, ward, diagnosis FROM visits WITH ANONYMIZATION (ALGORITHM {method}
            REQUIRE k = {K}, distinct_l = {L} QUASI IDENTIFIER (age, ward) SENSITIVE (diagnosis) {target} ENTITY (person)
            KEY (visit_id) {changes} SEED {self.rng.randrange(99)})"""
        )
        self.look(0)

    def insert(self, number: int) -> None:
        rows = []
        for _ in range(number):
            new = self.rng.random() < 0.8 or not self.next_key
            person = self.next_key + 1000 if new else self.rng.randrange(self.next_key) + 1000
            ward = self.rng.choices(["A", "B", "C", f"new{self.next_key % 4}"], [5, 3, 2, 1])[0]
            age = None if self.rng.random() < self.nulls else int(self.rng.triangular(15, 99, 40))
            value = self.rng.choices(["flu", "cold", "gout", "none"], [6, 3, 1, 1])[0]
            rows.append((self.next_key, person, age, ward, value))
            self.next_key += 1
        if rows:
            self.con.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?)", rows)

    def change(self) -> None:
        keys = [row[0] for row in self.con.execute("SELECT visit_id FROM visits").fetchall()]
        crowd = self.rng.random() < 0.4  # now and then many leave together, so that parts of cohorts can
        for key in self.rng.sample(keys, min(len(keys) // 2, self.rng.randint(0, 30 if crowd else 4))):
            self.con.execute("DELETE FROM visits WHERE visit_id = ?", [key])
        for key in self.rng.sample(keys, min(len(keys) // 3, self.rng.randint(0, 25 if crowd else 4))):
            self.con.execute("UPDATE visits SET age = ?, diagnosis = ? WHERE visit_id = ?",
                             [self.rng.randint(15, 99), self.rng.choice(["flu", "cold", "gout"]), key])  # fmt: skip
        if self.rng.random() < 0.3:  # a person who was deleted comes back under the key of old
            key = self.rng.randrange(self.next_key)
            if not self.con.execute("SELECT 1 FROM visits WHERE visit_id = ?", [key]).fetchall():
                self.con.execute("INSERT INTO visits VALUES (?, ?, ?, 'A', 'flu')", [key, key + 1000, 50])
        self.insert(self.rng.randint(0, 25))

    def look(self, night: int) -> None:
        """What is out: from the release, and from the private table which row each of them is."""
        printed = ", ".join((*QUASI, "diagnosis"))
        public = Counter(self.con.execute(f"SELECT {printed} FROM visits_open").fetchall())
        (storage,) = self.con.execute(
            "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'ppdm' AND table_name LIKE 'ppdm_release_%'"
        ).fetchall()[0]
        behind = self.con.execute(
            f"SELECT ppdm_row0, ppdm_row1, ppdm_person, {printed} FROM ppdm.{storage} WHERE ppdm_until IS NULL"
        ).fetchall()
        assert Counter(row[3:] for row in behind) == public  # the private table says nothing else
        for first, second, person, *values in behind:
            self.seen[first, second][night] = (tuple(values[:-1]), values[-1])
            self.persons[first, second] = person


def attack(stream: Stream, nights: int) -> Counts:
    """Groups below k and l, and differences of two nights that are about fewer than k rows."""
    alike = defaultdict(list)
    for row, told in stream.seen.items():
        alike[tuple(told[night][0] if night in told else None for night in range(nights))].append(row)
    found = Counts(nights, len(stream.seen), len(alike))
    for members in alike.values():
        found.below_k += len({stream.persons[row] for row in members}) < K
        for night in range(nights):
            values = {stream.seen[row][night][1] for row in members if night in stream.seen[row]}
            found.below_l += 0 < len(values) < L
    for night in range(1, nights):
        left, came = Counter(), Counter()
        for told in stream.seen.values():
            if night - 1 in told and night not in told:
                left[told[night - 1][0]] += 1
            if night in told and night - 1 not in told:
                came[told[night][0]] += 1
        found.small_differences += sum(rows < K for rows in (*left.values(), *came.values()))
    return found


def run_stream(seed: int, nights: int) -> tuple[Stream, Counts]:
    """The nights of a stream, and what the attacker found.  Each must be published, unless the last rows would leave."""
    stream = Stream(random.Random(seed), duckdb.connect(config={"threads": 1}))
    stream.start(CHANGES[seed % len(CHANGES)], METHODS[seed % len(METHODS)])
    for night in range(1, nights):
        stream.change()
        try:
            stream.db.run("REFRESH visits_open")
        except RequirementBreached as refusal:
            if "would have no rows" not in str(refusal):
                raise
        stream.look(night)
    assert stream.db.verify("visits_open").holds
    return stream, attack(stream, nights)
