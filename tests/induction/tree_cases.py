"""Random small tables to grow trees from, and how a grown tree is held against the naive one."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from oracles import naive_tree as naive

from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.induction.inducers import Induced, induce, settings
from ppdm_sql.statements.names import own
from ppdm_sql.trees.tree import Cut, Groups, Tree

SOURCE = own("ppdm_source")
TYPES = {
    "text": "TEXT",
    "boolean": "BOOLEAN",
    "integer": "INTEGER",
    "decimal": "DECIMAL(9, 2)",
    "float": "DOUBLE",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}
NAMES = ['o"brien', "select", "a b", "ppdm", "x", "Ünï", "'; --", "ppdm_node", "ppdm_value", "%s", "count", "r", "l0"]
WORDS = ["a", "b", "B", "aa", "", " ", "NULL", "None", "é", "e\u0301", "Ω", "\U0001f600", "\ufffd", "ß", "'", '"', "%"]
NOT_OF_THE_ORACLE = {"exact_midpoints", "bins", "exact"}  # without effect on small tables, or on the gap


@dataclass(frozen=True)
class Case:
    """A table, and what to learn from it.  ordered: the columns that are said to be categories."""

    columns: dict[str, str]  # name -> kind, the target last
    rows: list[tuple]
    inducer: str
    options: dict[str, object]
    ordered: dict[str, bool]

    @property
    def target(self) -> str:
        return list(self.columns)[-1]

    @property
    def attributes(self) -> list[tuple[str, bool]]:
        found = []
        for name, kind in list(self.columns.items())[:-1]:
            found.append((name, self.ordered.get(name, Kind(kind).is_ordered)))
        return found

    def naive(self) -> naive.Grown:
        options = {name: value for name, value in self.options.items() if name not in NOT_OF_THE_ORACLE}
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return naive.grow(rows, self.attributes, self.target, naive.rules(self.inducer, **options))

    def induced(self, engine, make_table) -> Induced:
        words = {name: TYPES[kind] for name, kind in self.columns.items()}
        make_table(engine, SOURCE, words, self.rows, temporary=True)
        *attributes, target = [ColumnInfo(name, Kind(kind), words[name]) for name, kind in self.columns.items()]
        chosen = settings(self.inducer, self.options)
        return induce(engine, SOURCE, attributes, target, chosen, ordered=self.ordered or None)


# -- random tables ---------------------------------------------------------------------------------------


def domain_of(kind: str, rng: random.Random, many: int = 0) -> list:
    """Some values of a kind, in their order; few of them, so that there are ties."""
    many = many or rng.choice([2, 3, 4, 6, 9, 14])
    match kind:
        case "text":
            return sorted(rng.sample(WORDS, many))
        case "boolean":
            return [False, True]
        case "integer":
            wide = rng.choice([3, 20, 10_000, 2**30])
            return sorted({rng.randint(-wide, wide) for _ in range(many)})
        case "decimal":
            step = rng.choice([1, 10, 73])
            return [Decimal(step * number - 200).scaleb(-2) for number in range(many)]
        case "float":
            return float_domain(many, rng)
        case "date":
            start, step = date(1970, 1, 1) + timedelta(days=rng.randint(-9000, 18_000)), rng.choice([1, 9, 400])
            return [start + timedelta(days=step * number) for number in range(many)]
        case "timestamp":
            start, step = datetime(1999, 12, 31, 23, 59, 59), rng.choice([1, 10**6, 37 * 10**9])
            return [start + timedelta(microseconds=step * number) for number in range(many)]
    raise ValueError(kind)


def float_domain(many: int, rng: random.Random) -> list[float]:
    """Neighbours with nothing between, both zeros, both infinities, NaN; the great ones last."""
    one = rng.choice([0.1, 1.0, 1e-300, 3e17])
    plain = {one, math.nextafter(one, math.inf), *(rng.choice([0.1, 0.25, 3.7]) * rng.randint(-9, 99) for _ in "abcd")}
    odd = {-math.inf, -0.0, 0.0, math.inf}
    picked = sorted(rng.sample([*plain, *odd], min(many, len(plain) + len(odd))))
    return [*picked, math.nan] if rng.random() < 0.4 else picked


def random_column(kind: str, size: int, rng: random.Random) -> list:
    """Values of a kind with NULLs: many, some, none, or nothing else; now and then a constant."""
    domain = domain_of(kind, rng)
    if rng.random() < 0.06:
        domain = domain[:1]
    nulls = rng.choice([0, 0, 0, 0.1, 0.4]) if rng.random() > 0.05 else 1
    return [None if rng.random() < nulls else rng.choice(domain) for _ in range(size)]


def height(values: list, value: object) -> int:
    """How far up in its column a value stands: what makes targets that depend on columns."""
    return sorted({naive.place(other) for other in values}).index(naive.place(value))


def random_target(regression: bool, heights: list[int], rng: random.Random) -> tuple[str, list]:
    """A target that follows the heights of the rows, less some noise and some NULLs."""
    noise, nulls = rng.choice([0, 0.15, 0.15, 0.4]), rng.choice([0, 0, 0.1])
    if regression:
        kind = rng.choice(["integer", "decimal", "float"])
        unit = {"integer": 1, "decimal": Decimal("0.25"), "float": rng.choice([0.5, 1 / 3])}[kind]
        classes = [unit * rng.randint(-20, 99) for _ in range(rng.choice([1, 2, 4, 12, 12]))]
    else:
        kind = rng.choice(["text", "text", "boolean", "integer", "float", "date", "decimal"])
        domain = domain_of(kind, rng)
        classes = rng.sample(domain, min(len(domain), rng.choice([1, 2, 2, 3, 4])))
    found = []
    for number in heights:
        value = rng.choice(classes) if rng.random() < noise else classes[number % len(classes)]
        found.append(None if rng.random() < nulls else value)
    return kind, found


def random_options(inducer: str, rng: random.Random) -> dict[str, object]:
    """Options of an inducer: each is given now and then, so that the defaults are met as well."""
    known: dict[str, list] = {
        "min_leaf": [1, 2, 3, 5],
        "max_depth": [1, 2, 3, 4],
        "max_leaves": [2, 3, 4, 7],
        "min_gain": [0.013, 0.07, 0.21],
        "bins": [2, 10],
        "exact": [True, False],
        "exact_midpoints": [True, False],
    }
    if inducer == "cart":
        known["criterion"] = ["gini", "entropy", "entropy"]
    if inducer == "c45":
        known |= {"mdl": [False], "confidence": [0.1, 0.25, 0.43]}
    if inducer in ("cart", "regression"):
        known["complexity"] = [0, 0.0137, 0.0613, 0.213]
    often = {
        "min_leaf": 0.8,
        "min_gain": 0.1,
        "max_depth": 0.15,
        "criterion": 0.6,
        "mdl": 0.4,
        "complexity": 0.6,
        "confidence": 0.4,
    }
    options = {name: rng.choice(choices) for name, choices in known.items() if rng.random() < often.get(name, 0.2)}
    if inducer != "id3" and rng.random() < 0.4:
        options["prune"] = False
    if rng.random() < 0.8:
        options["rare"] = rng.choice([1, 1, 2, 3])
    return options


def random_case(seed: int) -> Case:
    """Every eighth: a cart over more categories than have all their subsets tried."""
    rng = random.Random(seed)
    wide = seed % 8 == 5
    inducer = "cart" if wide else rng.choice(["id3", "c45", "c45", "cart", "regression", "regression"])
    size = rng.choice([rng.randint(5, 15), rng.randint(16, 60), rng.randint(40, 60), rng.randint(40, 60)])
    kinds = [rng.choice(["text", "text", *TYPES]) for _ in range(rng.choice([1, 2, 3, 3, 4]))]
    columns = [(kind, random_column(kind, size, rng)) for kind in kinds]
    if wide:
        words = domain_of("text", rng, 13)
        columns[0] = ("text", [rng.choice(words) for _ in range(size)])
    asked = rng.sample(columns, rng.randint(1, min(2, len(columns))))
    heights = [sum(height(values, values[number]) for _, values in asked) for number in range(size)]
    if rng.random() < 0.3:  # the same column twice: every score is a tie
        columns.insert(rng.randrange(len(columns) + 1), rng.choice(columns))
    if rng.random() < 0.15:  # the same column upside down: ties whose thresholds differ
        columns += [(k, [v if v is None else -v for v in values]) for k, values in columns if k == "integer"][:1]
    columns.append(random_target(inducer == "regression", heights, rng))
    names = rng.sample(NAMES, len(columns))
    named = dict(zip(names, (kind for kind, _ in columns), strict=True))
    ordered = {n: False for n in names[:-1] if Kind(named[n]).is_ordered and rng.random() < 0.12}
    rows = list(zip(*(values for _, values in columns), strict=True))
    options = random_options(inducer, rng) | ({"rare": 1, "min_leaf": rng.choice([1, 2])} if wide else {})
    return Case(named, rows, inducer, options, ordered)


# -- a tree held against the naive one -------------------------------------------------------------------


def kept(value: object, kind: str) -> object:
    """A value as it is compared: NaN equals NaN, True is not 1, a moment is its text, read (engines cut zeros)."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, str) and kind in ("date", "timestamp"):
        return (date if kind == "date" else datetime).fromisoformat(value)
    return (type(value) is bool, value) if kind not in ("date", "timestamp") else value


def check_same(tree: Tree, grown: naive.Grown, case: Case) -> None:
    """Node for node: counts, kind of split, attribute, groups or gap, NULLs, others, children, numbers."""
    expected, step = grown.nodes(), grid_of(grown, case)
    numbers = {node: number for number, node in enumerate(expected)}
    kind, classes = case.columns[case.target], [naive.plain(value) for value in grown.table.classes]
    assert [kept(value, kind) for value in tree.classes] == [kept(value, kind) for value in classes]
    assert [(a.name, a.ordered) for a in tree.attributes] == case.attributes
    assert [node.counts for node in tree.nodes] == [grown.counts(node) for node in expected]
    for number, (node, right) in enumerate(zip(tree.nodes, expected, strict=True)):
        assert (node.number, node.depth) == (number, right.depth)
        assert node.children == tuple(numbers[child] for child in right.children)
        assert all(tree.nodes[child].parent == number for child in node.children)
        check_split(node.split, right.split, case)
        assert node.gain == pytest.approx(float(right.gain), rel=1e-9, abs=1e-9 + 30 * step * len(grown.root.rows))
        if not tree.classes:
            check_moments(node.moments, grown.response(right), step)
    assert tree.root.parent is None


def check_split(split: Cut | Groups | None, right: naive.Split | None, case: Case) -> None:
    if right is None:
        assert split is None
        return
    assert split is not None
    assert split.attribute == right.attribute
    kind = case.columns[case.attributes[right.attribute][0]]
    if isinstance(right, naive.Groups):
        assert isinstance(split, Groups)
        assert [[kept(v, kind) for v in group] for group in split.groups] == [
            [kept(v, kind) for v in group] for group in right.named
        ]
        assert split.others == right.others
    else:
        assert isinstance(split, Cut)
        assert split.nulls == right.nulls
        check_threshold(kind, split.at, *right.gap, exact=bool(case.options.get("exact_midpoints")))


def check_moments(moments, response: list[Fraction], step: float) -> None:
    n = len(response)
    mean = sum(response) / n
    variance = sum((value - mean) ** 2 for value in response) / n
    assert moments.rows == n
    assert float(moments.mean) == pytest.approx(float(mean), rel=1e-12, abs=1e-12 + step)
    assert moments.variance == pytest.approx(float(variance), rel=1e-12, abs=1e-12 + 4 * step * math.sqrt(variance))


def grid_of(grown: naive.Grown, case: Case) -> float:
    """How far a response may be moved so that sums are exact: floats are put on a grid, other numbers are not."""
    if case.inducer != "regression" or case.columns[case.target] != "float":
        return 0.0
    response = grown.response(grown.root)
    return float(max(response) - min(response)) / 10**7


def check_threshold(kind: str, at: object, low, high, *, exact: bool) -> None:
    """Strictly between the two values; the higher one where the type has nothing between; the middle if asked."""
    if kind in ("date", "timestamp"):
        assert isinstance(at, str)
        read, unit = (date, timedelta(days=1)) if kind == "date" else (datetime, timedelta(microseconds=1))
        moment = read.fromisoformat(at)
        assert low < moment < high or (moment == high == low + unit)
        assert not exact or abs((moment - low) - (high - moment)) <= unit
        return
    assert isinstance(at, Decimal)
    if kind == "float":
        check_float_threshold(at, low, high, exact=exact)
        return
    unit = 1 if kind == "integer" else Decimal("0.01")
    assert low < at < high or (not exact and at == high == low + unit)
    assert not exact or Fraction(at) == (Fraction(low) + Fraction(high)) / 2


def check_float_threshold(at: Decimal, low: float, high: float, *, exact: bool) -> None:
    read = float(at)  # what an engine compares with
    assert low < read
    assert math.isnan(high) or read < high or read == high == math.nextafter(low, math.inf)
    if exact and math.isfinite(low) and math.isfinite(high):
        assert read == pytest.approx(float((Fraction(low) + Fraction(high)) / 2), rel=1e-15)
