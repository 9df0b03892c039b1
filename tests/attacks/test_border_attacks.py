"""What the thresholds of published trees reveal of single people's numbers and days."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import Counter
from datetime import date, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from ppdm_sql.engines.base import ColumnInfo
from ppdm_sql.induction.borders import EngineBorders
from ppdm_sql.source.encode import make_lookup
from ppdm_sql.statements.names import Name
from ppdm_sql.trees.tree import Cut, attribute_of
from ppdm_sql.trees.tree_json import tree_text

K = 20


def people(seed: int, number: int = 1500) -> dict[str, list]:
    """Numbers that hardly two people share, and a class that goes by them."""
    draw = random.Random(seed)
    salary = [draw.randint(20_000, 90_000) for _ in range(number)]
    dose = [Decimal(draw.randint(100, 99_999)) / 100 for _ in range(number)]
    born = [date(1940, 1, 1) + timedelta(days=draw.randrange(25_000)) for _ in range(number)]
    age = [draw.randint(18, 80) for _ in range(number)]
    ill = [
        "yes" if draw.random() < (s > 61_237) * 0.5 + (d > 333) * 0.3 + 0.1 else "no"
        for s, d in zip(salary, dose, strict=True)
    ]
    return {"salary": salary, "dose": dose, "born": born, "age": age, "ill": ill}


def published(session, columns: dict[str, list], algorithm: str, more: str = "") -> list[tuple[str, object]]:
    """Column and threshold of every cut of the published tree."""
    session.engine.load(Name("people"), pa.table(columns), temporary=True)
    names = "salary, dose, born, age"
    session.execute(
        f"CREATE OR REPLACE MODEL m AS SELECT {names}, ill FROM people WITH ANONYMIZATION (ALGORITHM {algorithm} {more} "
        f"REQUIRE k = {K} QUASI IDENTIFIER ({names}) SENSITIVE (ill) TARGET (ill) ACCEPT RISK (joint))"
    )
    tree = session.model("m").tree
    cuts = [node.split for node in tree.nodes if isinstance(node.split, Cut)]
    return [(tree.attributes[cut.attribute].name, cut.at) for cut in cuts]


def read_off(cuts: list[tuple[str, object]]) -> list[tuple[str, object]]:
    """Who knows the method: a cut half a step off the grid has a value on either side, a day that is no first is one."""
    steps = {"salary": Decimal(1), "age": Decimal(1), "dose": Decimal("0.01")}
    found: list[tuple[str, object]] = []
    for name, at in cuts:
        if name == "born":
            found += [(name, date.fromisoformat(str(at)))] if not str(at).endswith("-01") else []
        elif (Decimal(str(at)) / steps[name]) % 1:
            found += [(name, Decimal(str(at)) - steps[name] / 2), (name, Decimal(str(at)) + steps[name] / 2)]
    return found


@pytest.mark.duckdb
@pytest.mark.parametrize("algorithm", ["kadet", "ldm"])
def test_no_threshold_tells_a_value_that_few_have(memory, algorithm):
    columns = people(1)
    held = {name: Counter(columns[name]) for name in ("salary", "dose", "born", "age")}
    cuts = published(memory, columns, algorithm)
    assert len(cuts) > 3
    assert {name for name, _ in cuts} >= {"salary", "dose"}
    assert [one for one in read_off(cuts) if 0 < held[one[0]][one[1]] < K] == []
    told = read_off(published(memory, columns, algorithm, "(borders = values)"))
    assert [one for one in told if 0 < held[one[0]][one[1]] < K], "the papers' thresholds do tell: the attack works"
    assert "borders" in memory.release("m").manifest["residual_risks"]


VALUES = {
    "INTEGER": [pa.int32(), lambda n: n],
    "DECIMAL(9,2)": [pa.decimal128(9, 2), lambda n: Decimal(n) / 100],
    "DOUBLE": [pa.float64(), lambda n: n / 7],
    "DATE": [pa.date32(), lambda n: date(1940, 1, 1) + timedelta(days=n)],
}


@pytest.mark.duckdb
@pytest.mark.parametrize("kind", VALUES)
def test_the_people_around_a_border_can_move_without_moving_it(duckdb_engine, kind):
    """The 2 (k - 1) nearest take any values between the k-th on either side; the border near them stays."""
    arrow, as_value = VALUES[kind]
    draw = random.Random(kind)
    numbers = sorted(draw.sample(range(20_000), 200))

    def border(given: list[int], place: int) -> tuple:
        duckdb_engine.load(Name("t"), pa.table({"x": pa.array([as_value(n) for n in given], arrow)}), temporary=True)
        info = next(one for one in duckdb_engine.columns(Name("t")) if one.name == "x")
        assert isinstance(info, ColumnInfo)
        lookup = make_lookup(duckdb_engine, Name("t"), info)
        rows = np.ones(len(given), dtype=np.int64)
        return EngineBorders(attribute_of(info), info.declared, rows, 8, duckdb_engine, lookup).around([place])

    for place in (20, 100, 177):
        before = border(numbers, place)
        assert len(before) == 1
        low, high = numbers[place - 8], numbers[place + 7]
        for _ in range(3):
            moved = list(numbers)
            moved[place - 7 : place + 7] = sorted(draw.sample(range(low + 1, high), 14))
            assert border(moved, place) == before
        assert bisect_left([as_value(n) for n in numbers], as_value(low)) < place


@pytest.mark.duckdb
@pytest.mark.parametrize("algorithm", ["kadet", "atp"])
@pytest.mark.parametrize("required", ["confidence = 85 %", "simple_l = 1.2", "distinct_l = 2"])
def test_without_k_no_value_is_named_that_one_person_has(memory, algorithm, required):
    draw = random.Random(3)
    ward = [draw.choice("NESW") for _ in range(400)]
    ward[17] = "canary"
    hobby = [draw.choice(["chess", "rowing"]) for _ in range(400)]
    hobby[23] = "falconry"
    ill = ["yes" if w in "NE" and draw.random() < 0.6 else draw.choice(["no", "yes", "no"]) for w in ward]
    memory.engine.load(Name("people"), pa.table({"ward": ward, "hobby": hobby, "ill": ill}), temporary=True)
    roles = "QUASI IDENTIFIER (ward) INSENSITIVE (hobby)" if algorithm == "kadet" else "QUASI IDENTIFIER (ward, hobby)"
    memory.execute(
        f"CREATE MODEL m AS SELECT ward, hobby, ill FROM people WITH ANONYMIZATION (ALGORITHM {algorithm} "
        f"REQUIRE {required} {roles} SENSITIVE (ill) TARGET (ill))"
    )
    text = tree_text(memory.model("m").tree, "m")
    assert "ward" in text
    assert "canary" not in text
    assert "falconry" not in text


# -- the ends of a column ----------------------------------------------------------------------------------


@pytest.mark.duckdb
@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("least", [2, 8, 40])
def test_enough_rows_lie_beyond_every_border(duckdb_engine, kind, least):
    """Outliers on both ends: the roundest number of a gap that reaches to one of them would reveal him."""
    arrow, as_value = VALUES[kind]
    draw = random.Random(f"{kind} {least}")
    numbers = sorted([3, 5, *(draw.randint(8_000, 9_000) for _ in range(150)), 19_111, 24_999])
    duckdb_engine.load(Name("t"), pa.table({"x": pa.array([as_value(n) for n in numbers], arrow)}), temporary=True)
    info = next(one for one in duckdb_engine.columns(Name("t")) if one.name == "x")
    lookup = make_lookup(duckdb_engine, Name("t"), info)
    rows = np.array(list(Counter(numbers).values()), dtype=np.int64)
    borders = EngineBorders(attribute_of(info), info.declared, rows, least, duckdb_engine, lookup)
    found = borders.around(range(1, len(rows)))
    assert found
    reached = np.concatenate([[0], np.cumsum(rows)])
    for place in borders.places(found):
        assert min(reached[place], len(numbers) - reached[place]) >= least


@pytest.mark.duckdb
@pytest.mark.parametrize("form", ["id3", "c45"])
def test_no_threshold_of_a_private_number_tells_the_greatest(memory, form):
    """One earns far more than all others and has a class of his own among the few: a cut would be worth it."""
    salary = [987_654, *(5_000 + 100 * n for n in range(1, 10)), *(1_000 + 10 * (n % 60) for n in range(10, 300))]
    plan = ["left", *["stays"] * 39, *("left" if n % 3 == 0 else "stays" for n in range(40, 300))]
    sex = ["fm"[n % 2] for n in range(300)]
    memory.engine.load(Name("staff"), pa.table({"sex": sex, "salary": salary, "plan": plan}), temporary=True)
    memory.execute(
        f"CREATE MODEL leave AS SELECT sex, salary, plan FROM staff WITH ANONYMIZATION (ALGORITHM kadet (form = {form}, "
        "prune = false) REQUIRE k = 10 QUASI IDENTIFIER (sex) INSENSITIVE (salary) SENSITIVE (plan) TARGET (plan))"
    )
    tree = memory.model("leave").tree
    cuts = [node.split.at for node in tree.nodes if isinstance(node.split, Cut)]
    assert cuts
    assert all(min(sum(s < at for s in salary), sum(s >= at for s in salary)) >= 10 for at in cuts)
