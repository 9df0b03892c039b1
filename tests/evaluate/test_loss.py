"""What a release no longer says: labels against brute force, whole releases against what the methods know of them."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from datetime import date
from decimal import Decimal
from fractions import Fraction

import pytest
from evaluate_tables import COLUMNS, QUICK, TARGET, random_rows, store
from releases import released

from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.evaluate.loss import loss_of
from ppdm_sql.evaluate.risk import risks_of
from ppdm_sql.planning.displacement import displacement_of
from ppdm_sql.planning.label_coverage import Values
from ppdm_sql.source.hierarchy import build
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.names import Name
from tests import oracles
from tests.oracles import measures

QUASI = ", ".join('"' + name.replace('"', '""') + '"' for name in COLUMNS)


def plain_source(engine, relation, quasi, target=None):
    infos = {info.name: info for info in engine.columns(relation)}
    return Source(relation, infos, ("t",), quasi=tuple(quasi), target=target)


# -- labels -----------------------------------------------------------------------------------------------------

AGE, TOWN, BORN = (
    ColumnInfo("age", Kind.INTEGER, "INTEGER"),
    ColumnInfo("town", Kind.TEXT, "VARCHAR"),
    ColumnInfo("born", Kind.DATE, "DATE"),
)
WARDS = build("ward", [["B2", "B", "*"], ["A1", "A", "*"], ["B1", "B", "*"], ["C", "C", "*"]])


@pytest.mark.parametrize(
    ("info", "values", "label", "expected"),
    [
        (AGE, [1, 5, 9, 20], "5", {"5"}),
        (AGE, [1, 5, 9, 20], "< 9", {"1", "5"}),
        (AGE, [1, 5, 9, 20], ">= 9", {"9", "20"}),
        (AGE, [1, 5, 9, 20], "[5, 20)", {"5", "9"}),
        (AGE, [1, 5, 9, 20], "[5, 20]", {"5", "9", "20"}),
        (AGE, [1, 5, 9, 20], "[2.5, 3)", set()),
        (AGE, [-7, 5], "[-10, 0)", {"-7"}),
        (AGE, [1, 5], "(known)", {"1", "5"}),
        (AGE, [1, 5], "*", {"1", "5"}),
        (AGE, [1, 5], "about 3", None),
        (AGE, [1, 5], "[a, b)", None),
        (BORN, ["1999-12-31", "2000-01-01", "2024-02-29"], "[1999-12-01, 2000-01-02)", {"1999-12-31", "2000-01-01"}),
        (BORN, ["1999-12-31", "2000-01-01"], ">= 2000-01-01", {"2000-01-01"}),
        (TOWN, ["a", "b", "c"], "{a, c}", {"a", "c"}),
        (TOWN, ["a", "b", "c", "d"], "{b .. d}", {"b", "c", "d"}),
        (TOWN, ["Smith, {J}", "b"], r"{Smith\, \{J\}, b}", {"Smith, {J}", "b"}),
        (TOWN, ["", " ", "x"], "{,  }", {"", " "}),
        (TOWN, ["{a", "b"], r"{{\{a, b}}", {"{a", "b"}),
        (TOWN, ["{a, b}", "a", "b"], "{a, b}", {"{a, b}"}),
        (TOWN, ["a", "b"], "{a, z}", None),
        (TOWN, ["a", "*"], "*", {"*"}),
        (TOWN, ["a", "*"], "**", {"a", "*"}),
        (TOWN, ["a", "b"], "{a, b} #2", {"a", "b"}),
        (TOWN, ["a"], "swapped in", None),
    ],
)  # fmt: skip
def test_a_label_is_read_as_it_is_written(info, values, label, expected):
    known = Values.of(info, values, has_null=False)
    found = known.read_label(label)
    assert (None if found is None else {known.texts[place] for place in found.places}) == expected


def test_nulls_hidden_values_and_hierarchies():
    known = Values.of(TOWN, ["a", "b", "rare"], has_null=True)
    assert (known.read_label("{a, NULL}").null, known.read_label("{a, ...}").hidden) == (True, True)
    assert known.read_label("(missing)").null
    assert known.read_label("*").suppressed
    ward = Values.of(ColumnInfo("ward", Kind.TEXT, "TEXT"), ["B1", "A1", "B2"], has_null=False, hierarchy=WARDS)
    assert {ward.texts[place] for place in ward.read_label("B").places} == {"B1", "B2"}
    assert {ward.texts[place] for place in ward.read_label("A").places} == {"A1"}
    assert {ward.texts[place] for place in ward.read_label("{A1, B}").places} == {"A1", "B1", "B2"}
    assert ward.read_label("D") is None
    assert ward.read_label("{A1, D}") is None


# -- columns by brute force ----------------------------------------------------------------------------------------


def random_release(dice, count):
    """Rows before and after, and per cell how many values it leaves open, by making the labels from known sets."""
    ages, towns = sorted(dice.sample(range(-20, 80), 12)), ["a", "b", "c,d", "é", "{x}", "*", "", "Z"]
    wards = {"A": ["A1"], "B": ["B1", "B2"], "*": ["A1", "B1", "B2", "C"]}
    before, after, opened = [], [], {"age": [], "town": [], "ward": []}
    for _ in range(count):
        row = {
            "age": dice.choice(ages),
            "town": dice.choice(towns),
            "ward": dice.choice(["A1", "B1", "B2", "C"]),
            "y": dice.choice("pq"),
        }
        before.append(row)
        shown = {"y": row["y"]}
        low, high = dice.choice([row["age"], row["age"] - 7]), row["age"] + dice.choice([1, 9])
        shown["age"], covered = dice.choice([
            (str(row["age"]), 1), (f"[{low}, {high})", sum(low <= age < high for age in ages)),
            (f"< {high}", sum(age < high for age in ages)), (f">= {low}", sum(age >= low for age in ages)), (None, None),
        ])  # fmt: skip
        opened["age"].append(covered)
        members = sorted({row["town"], *dice.sample(towns, 3)})
        escaped = [text.replace(",", "\\,").replace("{", "\\{").replace("}", "\\}") for text in members]
        shown["town"], covered = dice.choice([
            (row["town"], 1), ("{{" + ", ".join(escaped) + "}}", len(members)), ("**", None),
        ])  # fmt: skip
        opened["town"].append(covered)
        node = dice.choice([name for name, leaves in wards.items() if row["ward"] in leaves])
        shown["ward"], covered = dice.choice([(row["ward"], 1), (node, None if node == "*" else len(wards[node]))])
        opened["ward"].append(covered)
        after.append(shown)
    return before, after, opened


@QUICK
@pytest.mark.parametrize("seed", range(4))
def test_generalization_and_classes_against_brute_force(engine, make_table, seed):
    dice = random.Random(seed)
    before, after, opened = random_release(dice, 150)
    dropped = dice.randrange(0, 9)
    more = [{"age": before[0]["age"], "town": "a", "ward": "C", "y": "p"}] * dropped
    columns = {"age": "INTEGER", "town": "TEXT", "ward": "TEXT", "y": "TEXT"}
    raw = store(engine, make_table, [*before, *more], "was", columns)
    shown = store(engine, make_table, after, "classes", columns | {"age": "TEXT"})
    quasi = ["age", "town", "ward"]
    found = loss_of(engine, plain_source(engine, raw, quasi, "y"), raw, shown, {"ward": WARDS})
    whole = [*before, *more]
    distinct = {name: len({row[name] for row in whole}) for name in quasi}
    lost = {
        name: [Fraction(1) if one is None else Fraction(one - 1, distinct[name] - 1) for one in opened[name]]
        for name in quasi
    }
    by_name = {one.column: one for one in found.columns}
    for name in quasi:
        assert by_name[name].generalization == sum(lost[name], Fraction(0)) / 150, name
        assert by_name[name].suppressed_cells == sum(one is None for one in opened[name]), name
        assert by_name[name].unread == 0
        assert by_name[name].distinct_before == distinct[name]
        assert by_name[name].distinct_after == len({row[name] for row in after})
    assert (by_name["y"].generalization, by_name["y"].changed) == (0, False)
    assert (found.rows, found.released_rows, found.suppressed_rows, found.cells) == (150 + dropped, 150, dropped, 450)
    assert found.information_loss == (sum(sum(lost[name], Fraction(0)) for name in quasi) / 3 + dropped) / (
        150 + dropped
    )
    assert found.classes == len(oracles.classes(after, quasi))
    assert found.discernibility == measures.discernibility(after, quasi, dropped)
    assert found.classification_metric == measures.classification_metric(after, quasi, "y", dropped)


# -- whole releases ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_every_label_of_mondrian_is_read(duckdb_engine, make_table, seed):
    rows = random_rows(seed, 150, nulls=0.1 * (seed % 2))
    make_table(duckdb_engine, "t", COLUMNS | {TARGET: "TEXT"}, [tuple(row.values()) for row in rows])
    made = released(
        duckdb_engine,
        [*COLUMNS, TARGET],
        f'ALGORITHM mondrian REQUIRE k = 4 QUASI IDENTIFIER ({QUASI}) TARGET ("{TARGET}")',
    )
    found = loss_of(duckdb_engine, made.source, made.raw, made.relation, made.hierarchies)
    for one in found.columns:
        if one.column != TARGET:
            assert 0 <= one.generalization <= 1, one.column
            assert one.unread == 0
    assert found.classes == made.plan.classes
    assert found.suppressed_rows == 0


@QUICK
def test_kactus_is_measured_as_it_measures_itself(engine, make_table):
    rows = random_rows(11, 200)
    make_table(engine, "t", COLUMNS | {TARGET: "TEXT"}, [tuple(row.values()) for row in rows])
    made = released(
        engine, [*COLUMNS, TARGET], f'ALGORITHM kactus2 REQUIRE k = 4 QUASI IDENTIFIER ({QUASI}) TARGET ("{TARGET}")'
    )
    found = loss_of(engine, made.source, made.raw, made.relation, {})
    assert found.cell_suppression == made.plan.figures["suppressed cells"] > 0
    assert found.suppressed_rows == made.plan.suppressed_rows
    assert found.classes == made.plan.classes
    assert not any(one.unread for one in found.columns)


@QUICK
def test_numbers_that_were_moved_stand_for_those_around_them(engine, make_table):
    columns = {"x": "INTEGER", "z": "DOUBLE", "born": "DATE"}
    days = [date(2024, 1, day) for day in (1, 2, 3, 4)]
    raw = make_table(engine, "t", columns, list(zip([10, 20, 30, 40], [0.5, 1.5, 2.5, 3.5], days, strict=True)))
    moved = make_table(
        engine, "moved", columns, [(15, 0.5, days[2]), (15, 1.5, days[2]), (35, 2.5, days[2]), (35, None, days[2])]
    )
    found = {one.column: one for one in loss_of(engine, plain_source(engine, raw, columns), raw, moved, {}).columns}
    assert (found["x"].generalization, found["x"].moved, found["x"].changed) == (Fraction(1, 3), Fraction(1, 6), True)
    assert (found["born"].generalization, found["born"].moved) == (1, Fraction(1, 3))  # one number stands for all
    assert found["z"].suppressed_cells == 1
    fewer = make_table(engine, "fewer", columns, [(10, 0.5, days[0]), (40, 3.5, days[3])])
    kept = loss_of(engine, plain_source(engine, raw, columns), raw, fewer, {})
    assert [(one.generalization, one.changed) for one in kept.columns] == [(0, False)] * 3
    assert (kept.suppressed_rows, kept.row_suppression, kept.information_loss) == (2, Fraction(1, 2), Fraction(1, 2))
    assert kept.cell_suppression == 0


@pytest.mark.parametrize("seed", range(20))
def test_moved_numbers_against_rows_matched_one_by_one(seed):
    """Both sides sorted, the k-th next to the k-th: what a method that keeps the order has done."""
    dice = random.Random(seed)
    before = sorted(dice.randrange(20) for _ in range(40))
    after = sorted(
        Fraction(sum(part), len(part)) for part in (before[n : n + 4] for n in range(0, 40, 4)) for _ in part
    )
    after = [float(round(value * 4)) / 4 for value in after]
    found = displacement_of(AGE, Counter(before), Counter(after))
    values = sorted(set(before))
    stands_for = defaultdict(set)
    for one, other in zip(before, after, strict=True):
        stands_for[other].add(one)
    opened = [Fraction(len(stands_for[value]) - 1, len(values) - 1) for value in after]
    assert found.open_share == sum(opened, Fraction(0)) / 40
    distance = sum((abs(Fraction(a) - b) for b, a in zip(before, after, strict=True)), Fraction(0)) / 40
    assert found.moved == distance / (values[-1] - values[0])


def test_tpp_is_read_from_what_it_prints(duckdb_engine, make_table):
    dice = random.Random(3)
    rows = [(x := dice.randrange(40), dice.choice("abcd"), "yes" if x > 20 else "no") for _ in range(200)]
    make_table(duckdb_engine, "t", {"x": "INTEGER", "w": "TEXT", "y": "TEXT"}, rows)
    made = released(
        duckdb_engine,
        ["x", "w", "y"],
        "ALGORITHM tpp (numbers = shifted) REQUIRE k = 5 QUASI IDENTIFIER (x, w) TARGET (y) PRESERVE (cart)",
    )
    found = {one.column: one for one in loss_of(duckdb_engine, made.source, made.raw, made.relation, {}).columns}
    assert 0 < found["x"].generalization < 1
    assert found["x"].moved > 0
    assert (found["w"].generalization, found["w"].suppressed_cells) == (1, 200)  # no tree looks at it
    assert not any(one.unread for one in found.values())


@QUICK
def test_null_is_kept_or_is_suppression(engine, make_table):
    """The same NULLs are a value where the source has as many, and suppressed cells where it has fewer."""
    raw = make_table(engine, "t", {"a": "TEXT", "b": "TEXT"}, [("x", None), ("y", "p"), ("z", "p"), (None, "q")])
    shown = make_table(
        engine, "s", {"a": "TEXT", "b": "TEXT"}, [("{x, y}", None), ("{x, y}", "p"), ("z", "p"), (None, None)]
    )
    found = {one.column: one for one in loss_of(engine, plain_source(engine, raw, ["a", "b"]), raw, shown, {}).columns}
    assert (found["a"].suppressed_cells, found["a"].generalization) == (0, Fraction(1, 6))  # two cells of 1/3
    assert (found["b"].suppressed_cells, found["b"].generalization) == (2, Fraction(1, 2))


@QUICK
def test_empty_tables_and_no_quasi_identifier(engine, make_table):
    raw = make_table(engine, "t", {"a": "TEXT"}, [("x",), ("y",)])
    none = make_table(engine, "none", {"a": "TEXT"}, [])
    gone = loss_of(engine, plain_source(engine, raw, ["a"], "a"), raw, none, {})
    assert (gone.information_loss, gone.discernibility, gone.classification_metric, gone.classes) == (1, 4, 1, 0)
    empty = loss_of(engine, plain_source(engine, none, ["a"], "a"), none, none, {})
    assert (empty.rows, empty.information_loss, empty.classification_metric) == (0, 0, None)
    free = loss_of(engine, plain_source(engine, raw, []), raw, raw, {})
    assert (free.classes, free.discernibility, free.information_loss, free.classification_metric) == (1, 4, 0, None)
    with pytest.raises(PolicyError, match="was not made from it"):
        loss_of(engine, plain_source(engine, raw, ["a"]), none, raw, {})
    other = make_table(engine, "other", {"b": "TEXT"}, [])
    with pytest.raises(PolicyError, match='column "a"'):
        loss_of(engine, plain_source(engine, raw, ["a"]), raw, other, {})


@QUICK
def test_risk_before_and_after_is_that_of_the_definitions(engine, make_table):
    rows = [{"a": number % 5, "b": Decimal(number % 3)} for number in range(23)]
    shown = [{"a": "*", "b": row["b"]} for row in rows]
    raw = store(engine, make_table, rows, "raw rows", {"a": "INTEGER", "b": "DECIMAL(4, 0)"})
    after = store(engine, make_table, shown, "open rows", {"a": "TEXT", "b": "DECIMAL(4, 0)"})
    found = risks_of(engine, ["a", "b"], raw, after)
    for told, held in ((found.before, rows), (found.after, shown)):
        assert told.prosecutor_max == oracles.highest_risk(held, ["a", "b"])
        assert told.marketer == pytest.approx(float(oracles.marketer_risk(held, ["a", "b"])))
    assert found.after.prosecutor_max < found.before.prosecutor_max
    with pytest.raises(PolicyError, match='no column "c"'):
        risks_of(engine, ["c"], Name("raw rows"), after)
