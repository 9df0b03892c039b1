"""Raw rows with the labels of a release, so that a learner finds in the test what it has seen."""

from __future__ import annotations

from datetime import date

import pytest
from evaluate_tables import COLUMNS, QUICK, TARGET, random_rows
from releases import released
from sqlglot import exp

from ppdm_sql.errors import PolicyError
from ppdm_sql.evaluate.learners import learn_and_test
from ppdm_sql.evaluate.relabel import relabel_rows
from ppdm_sql.source.hierarchy import build
from ppdm_sql.statements.names import column, own

TOLD = own("ppdm_test_told")


def fetched(engine, names):
    return [
        tuple(row) for row in engine.fetch(exp.Select(expressions=[column(name) for name in names]).from_(TOLD.table()))
    ]


@QUICK
def test_the_narrowest_label_is_told(engine, make_table):
    columns = {'a"ge': "INTEGER", "born": "DATE", "ward": "TEXT", "kept": "INTEGER"}
    days = [date(2024, 1, 5), date(1999, 1, 1), None, date(2030, 1, 1), None]
    cells = zip([5, 31, None, 99, 45], days, ["B1", "A1", "Z", None, "A1"], [1, 2, 3, None, 5], strict=True)
    rows = make_table(engine, "t", columns, list(cells))
    labels = [
        ("< 10", "[2024-01-01, 2024-02-01)", "B", 7), ("[30, 40)", "< 2000", "A1", 7), ("[30, 60)", "< 2000-01-01", "*", 7),
        ("[30, 60)", None, "B", 7), ("*", "2024-01-05", "B", 7),
    ]  # fmt: skip
    shown = make_table(engine, "open", dict.fromkeys(columns, "TEXT") | {"kept": "INTEGER"}, labels)
    wards = build("ward", [["B2", "B", "*"], ["A1", "A", "*"], ["B1", "B", "*"], ["Z", "Z", "*"]])
    relabel_rows(engine, rows, shown, TOLD, columns=list(columns), hierarchies={"ward": wards})
    assert sorted(fetched(engine, columns), key=str) == sorted(
        [
            ("< 10", "2024-01-05", "B", 1),
            ("[30, 40)", "< 2000-01-01", "A1", 2),
            (None, None, "Z", 3),
            ("99", "2030-01-01", None, None),
            ("[30, 60)", None, "A1", 5),
        ],
        key=str,
    )
    assert {info.name: info.kind.value for info in engine.columns(TOLD)}["kept"] == "integer"
    with pytest.raises(PolicyError, match='no column "x"'):
        relabel_rows(engine, rows, shown, TOLD, columns=["x"])


@QUICK
def test_every_published_row_is_told_as_it_was_published(engine, make_table):
    """kACTUS cuts a column once for all rows, so the words of a cell that was not suppressed are found again."""
    rows = random_rows(21, 150, nulls=0)
    make_table(engine, "t", COLUMNS | {TARGET: "TEXT"}, [tuple(row.values()) for row in rows])
    quasi = ", ".join('"' + name.replace('"', '""') + '"' for name in COLUMNS)
    made = released(
        engine, [*COLUMNS, TARGET], f'ALGORITHM kactus REQUIRE k = 5 QUASI IDENTIFIER ({quasi}) TARGET ("{TARGET}")'
    )
    relabel_rows(engine, made.raw, made.relation, TOLD, columns=[*COLUMNS, TARGET])
    used = 0
    for name in COLUMNS:
        query = exp.Select(expressions=[column(name)]).from_(made.relation.table()).distinct()
        published = {row[0] for row in engine.fetch(query)} - {"*"}  # suppressed
        assert published <= {row[0] for row in fetched(engine, [name])}, name
        used += bool(published)
    assert used >= 2
    score = learn_and_test(
        engine, train=made.relation, test=TOLD, target=TARGET, attributes=list(COLUMNS), learner="c45_spread"
    )
    assert score.rows == 150
    assert score.accuracy > 0.4
