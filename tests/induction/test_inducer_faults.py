"""Input that no tree, or only a small one, can be learned from: it works, or one sentence without a value says why."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.induction.inducers import induce, settings
from ppdm_sql.statements.names import own
from ppdm_sql.trees.tree import Cut, Groups

SOURCE = own("ppdm_source")
CLASSIFIERS = ("id3", "c45", "cart")
INDUCERS = (*CLASSIFIERS, "regression")
BOTH = ("c45", "regression")  # a tree of either kind, where inducers do not differ

# Words and numbers that occur in no message by chance.
YES, NO = "zqyes", "zqno"
NUMBER = 8675309


@pytest.fixture
def learn(engine, make_table):
    """learn(inducer, columns, rows, **options): the last column is the target."""

    def run(inducer, columns, rows, *, attributes=None, **options):
        make_table(engine, SOURCE, columns, rows, temporary=True)
        infos = engine.columns(SOURCE)
        return induce(
            engine, SOURCE, infos[:-1] if attributes is None else attributes, infos[-1], settings(inducer, options)
        )

    return run


def refusal(call, *arguments, never=(YES, NO, NUMBER), **options) -> str:
    """The one sentence in which a call is refused; it holds no value of the data."""
    with pytest.raises(PolicyError) as told:
        call(*arguments, **options)
    text = str(told.value)
    assert text.strip()
    assert "\n" not in text
    assert not [value for value in never if str(value) in text]
    return text


def check_whole(tree, rows: int) -> None:
    """Every row is somewhere: a node's rows are those of its children together."""
    assert tree.root.rows == rows
    for node in tree.nodes:
        assert node.is_leaf or node.rows == sum(child.rows for child in tree.children(node))
        assert node.rows > 0


def target_of(inducer: str, number: int):
    return number % 2 * NUMBER if inducer == "regression" else (NO, YES)[number % 2]


def target_type(inducer: str) -> str:
    return "INTEGER" if inducer == "regression" else "TEXT"


# -- targets ---------------------------------------------------------------------------------------------


def test_a_constant_target_is_one_leaf(learn):
    for inducer in INDUCERS:
        induced = learn(
            inducer, {"x": "INTEGER", "y": target_type(inducer)}, [(n, target_of(inducer, 1)) for n in range(9)]
        )
        assert [node.counts for node in induced.tree.nodes] == [(9,)]
        assert induced.tree.classes == (() if inducer == "regression" else (YES,))
        assert induced.tree.prediction(induced.tree.root) == target_of(inducer, 1)


@pytest.mark.parametrize("rows", [[], [(1, None)] * 8], ids=["empty", "all NULL"])
def test_without_a_known_target_nothing_can_be_learned(learn, rows):
    for inducer in BOTH:
        refusal(learn, inducer, {"x": "INTEGER", "y": target_type(inducer)}, rows)


def test_classes_that_are_all_rare_leave_nothing(learn):
    for inducer in ("c45", "cart"):
        rows = [(n, (YES, NO)[n % 2]) for n in range(8)]
        refusal(learn, inducer, {"x": "INTEGER", "y": "TEXT"}, rows)
        assert learn(inducer, {"x": "INTEGER", "y": "TEXT"}, rows, rare=4).tree.classes == (NO, YES)


def test_rare_classes_are_left_out_and_counted(learn):
    for inducer in ("c45", "cart"):
        rows = [(n, YES) for n in range(6)] + [(n, NO) for n in range(4)] + [(0, None)] * 2
        induced = learn(inducer, {"x": "INTEGER", "y": "TEXT"}, rows)
        assert (induced.rows, induced.left_out, induced.tree.classes) == (6, 6, (YES,))


def test_measurements_are_no_classes(learn):
    for inducer in ("c45", "cart"):
        rows = [(n, NUMBER + n / 7) for n in range(1200)]
        assert '"y"' in refusal(learn, inducer, {"x": "INTEGER", "y": "DOUBLE"}, rows, rare=1)


def test_a_word_is_no_response(learn):
    assert '"y"' in refusal(learn, "regression", {"x": "INTEGER", "y": "TEXT"}, [(n, YES) for n in range(20)])


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_a_response_that_is_not_finite_has_no_mean(learn, odd):
    rows = [(n, NUMBER + n / 2) for n in range(20)] + [(20, odd)]
    assert '"y"' in refusal(learn, "regression", {"x": "INTEGER", "y": "DOUBLE"}, rows)


@pytest.mark.parametrize("great", [1.5e308, 5e-324])
def test_a_response_of_any_size_is_told_apart_or_refused(learn, great):
    """The distance of the first two is more than the greatest double, that of the others next to nothing."""
    rows = [(n // 10, (-great, great)[n // 10]) for n in range(20)]
    try:
        tree = learn("regression", {"x": "INTEGER", "y": "DOUBLE"}, rows).tree
    except PolicyError:
        return
    assert [float(node.moments.mean) for node in tree.nodes[1:]] == [pytest.approx(-great), pytest.approx(great)]


DAY, MOMENT = date(2024, 2, 28), datetime(2024, 2, 28, 23, 59, 59, 999_999)
PAIRS = {
    "BOOLEAN": (False, True),
    "SMALLINT": (-3, 12),
    "DECIMAL(9, 2)": (Decimal("-0.25"), Decimal("12.50")),
    "DOUBLE": (0.1, math.inf),
    "REAL": (0.5, math.nan),
    "DATE": (DAY, DAY + timedelta(days=1)),
    "TIMESTAMP": (MOMENT, MOMENT + timedelta(microseconds=1)),
}


def test_every_type_makes_classes(learn):
    for words, pair in PAIRS.items():
        tree = learn("c45", {"x": "INTEGER", "y": words}, [(n, pair[n % 2]) for n in range(20)]).tree
        assert len(tree.classes) == 2
        assert tree.root.counts == (10, 10)


@pytest.mark.parametrize("words", ["BOOLEAN", "DATE", "TIMESTAMP"])
def test_a_response_is_a_number(learn, words):
    rows = [(n, PAIRS[words][n % 2]) for n in range(20)]
    told = refusal(learn, "regression", {"x": "INTEGER", "y": words}, rows, never=("2024", "False", "True"))
    assert '"y"' in told


def test_a_decimal_response_keeps_its_digits(learn):
    rows = [(n // 10, Decimal("0.10") if n < 10 else Decimal("7.70")) for n in range(20)]
    tree = learn("regression", {"x": "INTEGER", "y": "DECIMAL(9, 2)"}, rows).tree
    means = [node.moments.mean for node in tree.nodes]
    assert [round(mean, 9) for mean in means] == [Decimal("3.9"), Decimal("0.1"), Decimal("7.7")]


# -- attributes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inducer", BOTH)
def test_a_column_of_nulls_asks_nothing(learn, inducer):
    for words in ("TEXT", *PAIRS):
        rows = [(None, target_of(inducer, n)) for n in range(20)]
        tree = learn(inducer, {"x": words, "y": target_type(inducer)}, rows).tree
        assert len(tree.nodes) == 1
        check_whole(tree, 20)


@pytest.mark.parametrize("inducer", BOTH)
def test_every_type_is_an_attribute(learn, inducer):
    """A neighbour of the value is distinguished from it, infinity and NaN from numbers."""
    for words, pair in PAIRS.items():
        rows = [(pair[n % 2], target_of(inducer, n)) for n in range(40)]
        tree = learn(inducer, {"x": words, "y": target_type(inducer)}, rows).tree
        assert [node.rows for node in tree.nodes] == [40, 20, 20]
        assert isinstance(tree.root.split, Groups if words == "BOOLEAN" else Cut)
        check_whole(tree, 40)


def test_nothing_is_between_infinity_and_nan(learn):
    for inducer in BOTH:
        rows = [((math.inf, math.nan)[n % 2], target_of(inducer, n)) for n in range(40)]
        assert len(learn(inducer, {"x": "DOUBLE", "y": target_type(inducer)}, rows).tree.nodes) == 1


def test_a_tree_asks_something(learn):
    for inducer in BOTH:
        rows = [(n, target_of(inducer, n)) for n in range(20)]
        refusal(learn, inducer, {"x": "INTEGER", "y": target_type(inducer)}, rows, attributes=[])


def test_the_target_is_no_attribute(learn):
    both = [ColumnInfo("x", Kind.INTEGER, "INTEGER"), ColumnInfo("y", Kind.TEXT, "TEXT")]
    for inducer in ("c45", "cart"):
        rows = [(n, target_of(inducer, n)) for n in range(20)]
        assert '"y"' in refusal(learn, inducer, {"x": "INTEGER", "y": "TEXT"}, rows, attributes=both)


def test_a_type_nobody_can_compare_is_refused(learn):
    rows = [(n, target_of("c45", n)) for n in range(20)]
    odd = [ColumnInfo("x", Kind.UNSUPPORTED, "INTEGER[]")]
    assert '"x"' in refusal(learn, "c45", {"x": "INTEGER", "y": "TEXT"}, rows, attributes=odd)


def test_names_of_persons_are_never_in_a_tree(learn):
    """A unique id of text is one rare category: no split, and no value in the tree."""
    for inducer in INDUCERS:
        rows = [(f"zq{n}", target_of(inducer, n)) for n in range(200)]
        tree = learn(inducer, {"id": "TEXT", "y": target_type(inducer)}, rows).tree
        assert len(tree.nodes) == 1
        assert "zq1" not in repr(tree)


def test_unique_numbers_are_cut(learn):
    for inducer in BOTH:
        rows = [(NUMBER + n, target_of(inducer, n // 100)) for n in range(200)]
        tree = learn(inducer, {"id": "INTEGER", "y": target_type(inducer)}, rows).tree
        assert [node.rows for node in tree.nodes] == [200, 100, 100]


@pytest.mark.duckdb
@pytest.mark.parametrize("inducer", ["c45", "cart"])
def test_ten_thousand_categories(duckdb_engine, make_table, inducer):
    """All named: as many branches as there are, or two."""
    rows = [(f"zq{n % 10_000:05}", target_of(inducer, n % 10_000 // 5000)) for n in range(20_000)]
    columns = {"x": "TEXT", "y": target_type(inducer)}
    make_table(duckdb_engine, SOURCE, columns, rows, temporary=True)
    *attributes, target = duckdb_engine.columns(SOURCE)

    def run(**options):
        return induce(duckdb_engine, SOURCE, attributes, target, settings(inducer, options)).tree

    assert len(run().nodes) == 1  # all of them are rare
    tree = run(rare=1, min_leaf=1)
    check_whole(tree, 20_000)
    assert len(tree.root.children) == (10_000 if inducer == "c45" else 2)
    assert all(max(leaf.counts) == leaf.rows for leaf in tree.leaves)


# -- options ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inducer", "written", "nearest"),
    [
        ("c45", "max_dept", "max_depth"),
        ("id3", "minleaf", "min_leaf"),
        ("cart", "complexty", "complexity"),
        ("cart", "criterium", "criterion"),
        ("c45", "confidense", "confidence"),
        ("regression", "exact_midpoint", "exact_midpoints"),
    ],
)
def test_an_unknown_option_tells_the_nearest(inducer, written, nearest):
    told = refusal(settings, inducer, {written: 1})
    assert written in told
    assert nearest in told


def test_an_unknown_inducer_tells_the_nearest():
    assert "c45" in refusal(settings, "c4.5", {})
    assert "regression" in refusal(settings, "regresion", {})


def test_an_unknown_criterion_tells_the_nearest():
    assert "entropy" in refusal(settings, "cart", {"criterion": "entropie"})


@pytest.mark.parametrize(
    ("inducer", "option", "value"),
    [
        ("id3", "max_depth", -1),
        ("id3", "max_depth", 2.5),
        ("id3", "max_depth", "deep"),
        ("id3", "min_leaf", 0),
        ("cart", "min_leaf", -7),
        ("cart", "max_leaves", 0),
        ("cart", "max_leaves", "many"),
        ("c45", "min_gain", -0.1),
        ("c45", "min_gain", math.nan),
        ("c45", "bins", 0),
        ("c45", "bins", 1.5),
        ("c45", "confidence", 0),
        ("c45", "confidence", 1.2),
        ("c45", "confidence", "high"),
        ("cart", "complexity", -0.001),
        ("regression", "complexity", math.inf),
        ("c45", "rare", 0),
        ("c45", "prune", "perhaps"),
        ("c45", "mdl", 7),
        ("cart", "criterion", 3),
        ("c45", "exact", "maybe"),
    ],
)
def test_an_option_out_of_range_is_told(inducer, option, value):
    assert option in refusal(settings, inducer, {option: value})
