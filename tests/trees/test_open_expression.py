"""A model's expression for a table that is not known: it sends every number and moment where `predict` sends it."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import duckdb
import hand
import pytest
from sqlglot import exp, parse_one

from ppdm_sql.engines.base import Kind
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.trees.expression import CLASS, create_predict_macro, open_expression, predict_select
from ppdm_sql.trees.show import as_sql
from ppdm_sql.trees.tree import Attribute, Bands, Cut, Node, Tree

NAN, INF = float("nan"), float("inf")
WHOLE = (-1, 0, 1, 24, 25, 30, 31, 100, None)
HUGE = (2**53, 2**53 + 1, 2**63 - 1, -(2**63))
FLOATS = (0.0, 0.1, 0.3, 0.1 + 0.2, 0.7, 24.9, 24.899999999999995, 30.0, 30.5, 30.6, 31.0, 16777216.0, NAN, None)
TYPES = {
    "SMALLINT": WHOLE,
    "INTEGER": (*WHOLE, 16777216, 16777217),
    "BIGINT": (*WHOLE, *HUGE),
    "REAL": (*FLOATS, INF, -INF),
    "DOUBLE": (*FLOATS, INF, -INF, 5e-324, 1e300),
    "DECIMAL(5, 1)": hand.decimals("24.8", "24.9", "30.4", "30.5", "30.6", "0.7", "0.0", "-0.5"),
    "DECIMAL(30, 18)": hand.decimals("30.499999999999999999", "30.5", "24.899999999999999999", "24.900000000000000001"),
}
CUTS = hand.decimals(
    "30.5", "30.50", "31", "24.9", "0.7", "0.1", "-0.5", "0", "0.30000000000000004", "16777216.5", "9007199254740992.5",
    "1e40", "-1e40", "Infinity",
)  # fmt: skip
KINDS = (
    Attribute("x", Kind.INTEGER, True),
    Attribute("x", Kind.DECIMAL, True, 1),
    Attribute("x", Kind.FLOAT, True),
)


def cut_tree(attribute: Attribute, at: Decimal | str) -> Tree:
    nodes = (Node(0, None, 0, (5, 5), Cut(0, at, None), (1, 2)), Node(1, 0, 1, (5, 0)), Node(2, 0, 1, (0, 5)))
    return Tree((attribute,), hand.TARGET, ("below", "from on"), nodes)


def told(engine, tree: Tree, relation: Name) -> tuple[dict, dict]:
    """What the expression and what a prediction say of each row."""
    query = exp.Select(expressions=[column("id"), aliased(open_expression(engine, tree), "e")]).from_(relation.table())
    predicted = predict_select(engine, tree, relation, ["id"])
    picked = exp.Select(expressions=[column("id", "p"), column(CLASS, "p")]).from_(predicted.subquery("p"))
    return dict(engine.fetch(query)), dict(engine.fetch(picked))


@pytest.mark.parametrize("declared", TYPES)
def test_numbers_of_every_type_go_where_a_prediction_sends_them(engine, make_table, declared):
    rows = list(enumerate(TYPES[declared]))
    relation = make_table(engine, "numbers", {"id": "INTEGER", "x": declared}, rows, temporary=True)
    for attribute in KINDS:
        for at in CUTS:
            said, expected = told(engine, cut_tree(attribute, at), relation)
            assert said == expected, (attribute.kind, at)


@pytest.mark.parametrize("declared", ["INTEGER", "REAL", "DOUBLE", "DECIMAL(30, 18)"])
def test_bands_too(engine, make_table, declared):
    rows = list(enumerate(TYPES[declared]))
    relation = make_table(engine, "numbers", {"id": "INTEGER", "x": declared}, rows, temporary=True)
    for nulls in (None, 0, 1):
        split = Bands(0, hand.decimals("0.7", "24.9", "30.5"), (0, 1, 0, 1), nulls)
        nodes = (Node(0, None, 0, (5, 4), split, (1, 2)), Node(1, 0, 1, (5, 0)), Node(2, 0, 1, (0, 4)))
        said, expected = told(engine, Tree(KINDS[:1], hand.TARGET, ("even", "odd"), nodes), relation)
        assert said == expected
        assert set(said.values()) == {"even", "odd"}


def test_the_threshold_is_that_of_the_file(engine):
    tree = cut_tree(KINDS[0], Decimal("30.5"))
    assert open_expression(engine, tree).sql(engine.dialect) == (
        "CASE WHEN \"x\" < 30.5 THEN 'below' WHEN \"x\" >= 30.5 THEN 'from on' ELSE 'below' END"
    ).replace('"', "`" if engine.dialect == "spark" else '"')
    assert "30.5" in as_sql(engine, tree)


MOMENTS = {
    "DATE": (date(2004, 1, 1), date(2004, 1, 2), date(2004, 1, 3), None),
    "TIMESTAMP": (datetime(2004, 1, 1, 23, 59), datetime(2004, 1, 2), datetime(2004, 1, 2, 3), None),
    "TIMESTAMPTZ": tuple(datetime(2004, 1, day, hour, tzinfo=UTC) for day, hour in ((1, 22), (1, 23), (2, 0), (2, 3))),
}
AT = ("2004-01-02", "2004-01-02 00:00:00", "2004-01-02 00:00:00+00", "2004-01-02 02:00:00+02")


@pytest.mark.duckdb
@pytest.mark.parametrize("declared", MOMENTS)
@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Tokyo"])
def test_moments_of_every_type_are_compared_in_utc(duckdb_engine, declared, zone):
    midnight = datetime(2004, 1, 2, tzinfo=UTC)
    expected = []
    for value in MOMENTS[declared]:
        moment = value if isinstance(value, datetime) or value is None else datetime(value.year, value.month, value.day)
        is_below = moment is None or moment.replace(tzinfo=UTC) < midnight
        expected.append("below" if is_below else "from on")
    with duckdb.connect() as con:  # another user's, in the zone of that place
        con.execute(f"SET TimeZone = '{zone}'")
        con.execute(f"CREATE TABLE moments (x {declared})")
        con.executemany("INSERT INTO moments VALUES (?)", [[value] for value in MOMENTS[declared]])
        for kind, zoned in ((Kind.DATE, False), (Kind.TIMESTAMP, False), (Kind.TIMESTAMP, True)):
            for at in AT[:1] if kind is Kind.DATE else AT:
                tree = cut_tree(Attribute("x", kind, True, None, zoned), at)
                found = con.execute(f"SELECT {as_sql(duckdb_engine, tree)} FROM moments").fetchall()
                assert [row[0] for row in found] == expected, (kind, zoned, at)


def test_a_prediction_reads_a_zoned_threshold_in_utc_too(engine, make_table):
    rows = list(enumerate(MOMENTS["TIMESTAMP"]))
    relation = make_table(engine, "moments", {"id": "INTEGER", "x": "TIMESTAMP"}, rows, temporary=True)
    tree = cut_tree(Attribute("x", Kind.TIMESTAMP, True, None, True), "2004-01-02 02:00:00+02")
    query = predict_select(engine, tree, relation, ["id"])
    assert [row[2] for row in sorted(engine.fetch(query))] == ["below", "from on", "from on", "below"]


@pytest.mark.duckdb
def test_infinite_moments_are_the_first_and_the_last(duckdb_engine):
    tree = cut_tree(Attribute("x", Kind.DATE, True), "2004-01-02")
    for declared in MOMENTS:
        source = f"SELECT * FROM (VALUES (CAST('-infinity' AS {declared})), ('infinity'), (NULL)) AS v(x)"
        query = exp.Select(expressions=[open_expression(duckdb_engine, tree)])
        found = duckdb_engine.fetch(query.from_(parse_one(source, dialect="duckdb").subquery("s")))
        assert [row[0] for row in found] == ["below", "from on", "below"]


@pytest.mark.duckdb
def test_a_macro_takes_whatever_number_comes(duckdb_engine):
    create_predict_macro(duckdb_engine, "m", cut_tree(KINDS[0], Decimal("30.5")))
    con = duckdb_engine._connection
    for written in ("30", "30.4", "30.4::DOUBLE", "30.4::FLOAT", "30.4999::DECIMAL(18, 4)", "30::UTINYINT"):
        assert con.execute(f"SELECT predict_m({written})").fetchone() == ("below",)
    for written in ("31", "30.5", "30.6::DOUBLE", "30.6::FLOAT", "30.5000::DECIMAL(18, 4)", "31::HUGEINT"):
        assert con.execute(f"SELECT predict_m({written})").fetchone() == ("from on",)
    with pytest.raises(Exception, match="Cannot compare"):
        con.execute("SELECT predict_m('30'::VARCHAR)").fetchone()
