"""What an attacker with a TPP release, its trees and a table of names could do."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest

from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.statements.names import Name

TEXT = """CREATE OR REPLACE TABLE t_open AS SELECT {columns} FROM t WITH ANONYMIZATION (
    ALGORITHM tpp (numbers = shifted) REQUIRE {required} QUASI IDENTIFIER ({quasi}) SENSITIVE (s) TARGET (y)
    PRESERVE (cart (min_leaf = 1, max_leaves = 5)) {risk} SUPERSEDES ALL)"""


def policy(quasi: str, required: str = "k = 3", risk: str = "") -> str:
    return TEXT.format(columns=f"{quasi}, s, y", quasi=quasi, required=required, risk=risk)


ACCEPTED = "ACCEPT RISK (boundaries)"


def load(session, **columns) -> None:
    session.engine.load(Name("t"), pa.table(columns), temporary=True)


def rows(session) -> list[tuple]:
    return session.engine.fetch(session.release("t_open").query)


def random_columns(draw: random.Random) -> dict:
    size = draw.randint(10, 40)
    few = draw.choice([4, 12, 1000])
    made = {
        "n": pa.array([draw.randint(0, few) for _ in range(size)], pa.int32()),
        "f": pa.array([round(draw.gauss(0, 3), draw.choice([0, 2])) for _ in range(size)], pa.float64()),
        "w": pa.array(
            [draw.choice(["a", "b", "*", "{a, b}", "NULL", "", None, "é"]) for _ in range(size)], pa.string()
        ),
        "s": pa.array([draw.choice("xyz") for _ in range(size)], pa.string()),
    }
    made["y"] = pa.array([draw.choice("uv") if draw.random() < 0.4 else "uv"[n.as_py() % 2] for n in made["n"]])
    return made


def test_every_published_class_keeps_every_promise(memory):
    """The printed rows are counted; NULL apart from every text."""
    published = 0
    for number in range(4):
        draw = random.Random(f"tpp attack {number}")
        load(memory, **random_columns(draw))
        k, l = draw.choice([2, 3, 5]), Fraction(draw.choice(["1.2", "1.5"]))
        try:
            memory.publish(policy("n, f, w", f"k = {k}, simple_l = {float(l)}", ACCEPTED))
        except RequirementBreached:
            continue
        published += 1
        classes = defaultdict(list)
        for *quasi, secret, _ in rows(memory):
            classes[tuple("\0" if value is None else str(value) for value in quasi)].append(secret)
        for secrets in classes.values():
            assert len(secrets) >= k
            assert max(Counter(secrets).values()) * l <= len(secrets)
    assert published >= 2


def boundary_table(held: int) -> dict:
    """Ages below 40 are u, from 50 on v; the two ages at the cut are held by so many rows."""
    ages = [30] * 6 + [40] * held + [50] * held + [60] * 6
    return {
        "n": pa.array(ages, pa.int32()),
        "s": pa.array([("x", "y", "z")[place % 3] for place in range(len(ages))]),
        "y": pa.array(["u" if age <= 40 else "v" for age in ages]),
    }


@pytest.mark.parametrize("held", [1, 2, 3, 5])
def test_a_sum_of_two_values_that_few_hold_is_not_told_unasked(memory, held):
    """The threshold is (40 + 50) / 2; anyone who knows one of the two people knows the other."""
    load(memory, **boundary_table(held))
    if held < 3:
        with pytest.raises(RequirementBreached, match="2 of 2 values next to the thresholds"):
            memory.publish(policy("n"))
        memory.publish(policy("n", risk=ACCEPTED))
    else:
        memory.publish(policy("n"))
    manifest = memory._current(Name("t_open")).manifest.to_json()
    assert manifest["patterns"][0]["root"]["at"] == "45"
    assert ("boundaries" in manifest["policy"]["accepted_risks"]) == (held < 3)
    assert manifest["figures"]["boundary values held by few"] == (2 if held < 3 else 0)


@pytest.mark.parametrize("held", [2, 4])
def test_a_value_between_two_cuts_is_published_as_it_is_only_when_many_hold_it(memory, held):
    """50 is the only value between two cuts, so it cannot be moved."""
    ages = [30, 40, 60, 70] * 4 + [50] * held
    load(
        memory,
        n=pa.array(ages, pa.int32()),
        s=pa.array([("x", "y", "z")[place % 3] for place in range(len(ages))]),
        y=pa.array(["v" if age == 50 else "u" for age in ages]),
    )
    memory.publish(policy("n", "k = 3", ACCEPTED))
    shown = Counter(row[0] for row in rows(memory))
    assert shown.get(50, 0) == (held if held >= 3 else 0)
    assert min(shown.values()) >= 3


def test_every_published_number_is_that_of_k_people(memory):
    """Also the least and the greatest one, so who knows who has them finds a class and not a person."""
    for number in range(3):
        load(memory, **random_columns(random.Random(f"order {number}")))
        memory.publish(policy("n, f", "k = 4", ACCEPTED))
        for place in (0, 1):
            assert min(Counter(row[place] for row in rows(memory)).values()) >= 4


def test_a_number_that_is_unique_per_row_gives_no_threshold_unasked(memory):
    """Every threshold would be pinned by two single people."""
    size = 40
    load(
        memory,
        n=pa.array([Decimal(1000 + 7 * place) / 100 for place in range(size)], pa.decimal128(8, 2)),
        s=pa.array([("x", "y", "z")[place % 3] for place in range(size)]),
        y=pa.array(["uv"[place > 17] for place in range(size)]),
    )
    with pytest.raises(RequirementBreached, match="round the columns in the SELECT"):
        memory.publish(policy("n"))
    assert memory.releases() == []


def test_a_category_that_one_person_holds_is_named_nowhere(db, tmp_path):
    """The canary is in no row, no tree, no record, no byte of the exported file."""
    canary = "canary-7391"
    words = ["a", "b", "c", "d"] * 8 + [canary]
    load(
        db,
        w=pa.array(words),
        s=pa.array([("x", "y", "z")[place % 3] for place in range(len(words))]),
        y=pa.array(["u" if word in "ab" else "v" for word in words]),
    )
    db.publish(policy("w"))
    assert {row[0] for row in rows(db)} == {"{a, b}", "{c, d, ...}"}
    assert canary not in str(db._current(Name("t_open")).manifest)
    db.export("t_open", tmp_path / "out.duckdb")
    for file in tmp_path.iterdir():
        if file.name.startswith("out"):
            assert canary.encode() not in file.read_bytes()


def test_the_response_cannot_be_a_secret(memory):
    load(memory, **random_columns(random.Random(1)))
    with pytest.raises(PolicyError, match="SENSITIVE and the response"):
        memory.publish(policy("n").replace("SENSITIVE (s)", "SENSITIVE (s, y)"))
