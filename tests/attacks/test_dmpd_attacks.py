"""What an attacker does with several tables that share a class: join, match, intersect, remember."""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict

import pytest
from sqlglot import exp

from ppdm_sql.errors import RequirementBreached
from ppdm_sql.statements.names import Name
from tests.sizes import seeds

COLUMNS = {"id": "INTEGER", "a": "TEXT", "b": "TEXT", "c": "TEXT", "y": "TEXT"}
POLICY = """CREATE OR REPLACE TABLE {name} AS SELECT id, a, b, c, y FROM {source} WITH ANONYMIZATION (
    ALGORITHM dmpd (parts = {parts}) REQUIRE k = {k} IDENTIFIER (id) QUASI IDENTIFIER (a, b, c) TARGET (y) {more})"""


def policy(parts, k=3, name="open", source="t", more=""):
    return POLICY.format(parts=parts, k=k, name=name, source=source, more=more)


def rows_of(draw, size, classes=3):
    return [
        (n, draw.choice("pq"), draw.choice("rs"), draw.choice("uv"), f"y{draw.randrange(classes)}") for n in range(size)
    ]


def published(session, name="open"):
    """The tables as their columns and rows, found from the list as a reader finds them."""
    listed = session.engine.fetch(exp.select("part", "table_name").distinct().from_(Name(name).table()))
    tables = []
    for _, table in sorted(listed):
        names = [info.name for info in session.engine.columns(Name(table))]
        query = exp.Select(expressions=[exp.column(one, quoted=True) for one in names]).from_(Name(table).table())
        tables.append((names, session.engine.fetch(query)))
    return tables


def join_on_class(tables):
    """Every combination of rows of all tables with one class, counted: what the join gives."""
    by_class = []
    for _, rows in tables:
        found = defaultdict(Counter)
        for *values, said in rows:
            found[said][tuple(values)] += 1
        by_class.append(found)
    joined = Counter()
    for said in by_class[0]:
        for picked in itertools.product(*(found[said].items() for found in by_class)):
            values = tuple(value for one, _ in picked for value in one)
            size = 1
            for _, times in picked:
                size *= times
            joined[values] += size
    return joined


@seeds(small=5, full=20, nightly=500)
def test_nobody_is_in_a_joined_combination_below_k(duckdb_engine, make_table, open_session, seeds):
    """Random partitions, joined in Python: what is published has no combination of a person below k."""
    session = open_session(duckdb_engine)
    for seed in seeds:
        draw = random.Random(seed)
        source = rows_of(draw, draw.randint(20, 90), draw.randint(2, 4))
        make_table(duckdb_engine, f"t{seed}", COLUMNS, source)
        k, parts = draw.randint(2, 6), draw.choice(["((a), (b), (c))", "((a, b), (c))", "((a), (b, c))"])
        try:
            session.publish(policy(parts, k, f"open{seed}", f"t{seed}"))
        except RequirementBreached:
            continue
        joined = join_on_class(published(session, f"open{seed}"))
        assert min(joined[row[1:4]] for row in source) >= k


def test_certain_classes_are_counted(duck_session, make_table):
    """A person's class must occur in all of the groups; where one is left, the manifest counts the rows."""
    source = [
        (n, "p" if n < 40 else "q", "r" if n % 2 else "s", "u", "y0" if n < 40 else f"y{n % 3}") for n in range(120)
    ]
    make_table(duck_session.engine, "t", COLUMNS, source)
    found = duck_session.publish(policy("((a), (b), (c))", 5)).record.manifest
    assert found.projections.certain_rows == 40
    assert "of 40 rows the class is certain" in found.residual_risks["class"]
    with pytest.raises(RequirementBreached, match="confidence"):
        duck_session.publish(
            policy("((a), (b), (c))", 5, more="SENSITIVE (y)").replace("k = 5", "k = 5, confidence = 80 %")
        )


def test_a_second_partition_of_the_same_rows_is_refused(duck_session, make_table):
    """Two partitions overlap, and their tables join on what they share."""
    make_table(duck_session.engine, "t", COLUMNS, rows_of(random.Random(1), 60))
    duck_session.publish(policy("((a, b), (c))", 8))
    with pytest.raises(RequirementBreached, match="together with open"):
        duck_session.publish(policy("((a), (b, c))", 8, "second"))
    assert duck_session.engine.relation_kind(Name("second_1")) is None


def test_a_column_that_says_another_one_is_a_second_key(duck_session, make_table):
    draw = random.Random(2)
    source = [
        (n, one, one.upper(), draw.choice("uv"), draw.choice(["y0", "y1"]))
        for n in range(80)
        for one in [draw.choice("pqr")]
    ]
    make_table(duck_session.engine, "t", COLUMNS, source)
    with pytest.raises(RequirementBreached, match='"a" determines "b"'):
        duck_session.publish(policy("((a), (b), (c))"))
    found = duck_session.publish(policy("((a), (b), (c))", more="ACCEPT RISK (dependency)")).record.manifest
    assert "dependency" in found.residual_risks


def test_the_order_of_rows_says_nothing_of_the_source(duck_session, make_table):
    """Linkage by place: the same rows in another order of the source give the same tables, row by row."""
    source = rows_of(random.Random(3), 80)
    make_table(duck_session.engine, "t", COLUMNS, source)
    duck_session.publish(policy("((a), (b), (c))"))
    first = published(duck_session)
    duck_session.drop("open")
    make_table(duck_session.engine, "other", COLUMNS, list(reversed(source)))
    duck_session.publish(policy("((a), (b), (c))", source="other"))
    assert published(duck_session) == first


def test_no_identifier_and_no_dropped_value_is_in_any_table(duck_session, make_table, tmp_path):
    """Canaries: an id, a rare value that is folded, and a filtered column."""
    source = [(900_000 + n, "CANARYA" if n == 0 else "p", "r", "CANARYC", "y0") for n in range(30)]
    make_table(duck_session.engine, "t", COLUMNS, source)
    duck_session.publish(policy("((a), (b))").replace("(parts = ((a), (b)))", "(parts = ((a), (b)), filter = (c))"))
    duck_session.export("open", "open.csv")
    text = "".join(file.read_text() for file in (tmp_path / "open.csv").iterdir())
    text += (tmp_path / "open.csv.manifest.json").read_text() + (tmp_path / "open.csv.certificate.sql").read_text()
    assert not [canary for canary in ("CANARYA", "CANARYC", "900000", "900001") if canary in text]


@pytest.fixture
def duck_session(duckdb_engine, open_session):
    return open_session(duckdb_engine)
