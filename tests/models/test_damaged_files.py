"""A file from anybody: it is refused with one sentence, or the database can be asked with what it says."""

from __future__ import annotations

import contextlib
import copy
import json
import random
from pathlib import Path

import pytest
from model_tables import OPTIONS, TABLE, TARGET, some_rows

from ppdm_sql.errors import PolicyError
from ppdm_sql.models import library
from ppdm_sql.statements.names import Name

ROWS = some_rows(8, rows=60)
SCHEMA = json.loads(
    (Path(__file__).resolve().parents[2] / "ppdm_sql" / "trees" / "model.schema.json").read_text(encoding="utf-8")
)
SOURCE = """SELECT "select", paid, "Größe 🙂", seen, "o""brien", "the 'class'" FROM people"""
GONE = object()
KINDS = ("bins", "gaussian", "rules")
each = pytest.mark.parametrize("which", KINDS)


@pytest.fixture(scope="module")
def files():
    """One file of each kind, as exported."""
    import pyarrow as pa

    from ppdm_sql.engines.duckdb import DuckDBEngine
    from tests.conftest import arrow_type

    columns = list(zip(*ROWS, strict=True))
    arrays = [pa.array(values, arrow_type(kind)) for values, kind in zip(columns, TABLE.values(), strict=True)]
    with DuckDBEngine.open(":memory:") as engine:
        engine.load(Name("people"), pa.table(dict(zip(TABLE, arrays, strict=True))), temporary=False)
        for name in KINDS:
            inducer, options = OPTIONS[name]
            library.train(engine, name, SOURCE, TARGET, inducer=inducer, options=options)
        return {name: json.loads(library.export_text(engine, name)[0]) for name in KINDS}


def places(content, way=()):
    inside = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, part in inside:
        yield (*way, key)
        yield from places(part, (*way, key))


def changed(content, way, junk):
    content = copy.deepcopy(content)
    inside = content
    for key in way[:-1]:
        inside = inside[key]
    if junk is GONE:
        del inside[way[-1]]
    else:
        inside[way[-1]] = junk
    return content


def is_refused_or_can_be_asked(engine, told) -> bool:
    """False: it was refused.  The statements that are made of it are prepared and run."""
    try:
        model = library.import_model(engine, json.dumps(told), "f", replace=True)
    except PolicyError:
        return False
    assert model.kind.text(model.learned)
    assert model.kind.sql(engine, model.learned)
    with contextlib.suppress(PolicyError):  # the columns may not fit
        engine.fetch(model.kind.query(engine, model.learned, Name("people"), ["key"]))
    return True


JUNK = [None, -1, 0, 1.5, 10**19, "", "NaN", "x", "9" * 1000, "a\0b", "1E999", [], {}, [[]], {"text": "x"}, True, GONE]


@pytest.mark.duckdb
@each
def test_a_damaged_file_is_refused_or_still_a_model(duckdb_engine, make_table, files, which):
    make_table(duckdb_engine, "people", TABLE, ROWS)
    dice, ways = random.Random(len(which)), list(places(files[which]))
    taken = [is_refused_or_can_be_asked(duckdb_engine, changed(files[which], dice.choice(ways), dice.choice(JUNK)))
             for _ in range(40)]  # fmt: skip
    assert taken.count(False) > 25


def ways_to(content, word):
    return [way for way in places(content) if way[-1] == word]


NASTY = {
    "decimal": ["1E999", "-1E999", "0.000000000000000000000000000000000000000000000001", "-0", "9" * 60],
    "moment": ["9999-12-31 23:59:59.999999+00", "0001-01-01", "2024-02-29 12:00:00-11:30", "infinity", "2024-02-30"],
    "text": ["'; DROP TABLE people; --", "\u202e", "\ud800"],
    "counts": [[[0, 0, 0]], [2**63, 0, 0]],
    "priors": [[0, 0, 0], [2**62, 2**62, 2**62]],
    "laplace": [2**63 - 1, 2**63],
    "exponent": [-1000, 1000, 1001],
    "zoned": [False],
    "name": ["select", "ppdm_class", ""],
}


@each
def test_numbers_and_moments_that_no_column_reaches(engine, make_table, files, which):
    make_table(engine, "people", TABLE, ROWS)
    dice, taken = random.Random(2), 0
    words = ("decimal", "exponent", "priors") if which == "gaussian" else NASTY  # the others are alike
    for word in words:
        values = NASTY[word]
        ways = ways_to(files[which]["model"], word)
        for value in values if ways else ():
            told = changed(files[which], ("model", *dice.choice(ways)), value)
            taken += is_refused_or_can_be_asked(engine, told)
    assert taken > 3
    assert is_refused_or_can_be_asked(engine, files[which])
    assert engine.relation_kind(Name("people")) == "table"


@pytest.mark.duckdb
@pytest.mark.parametrize(
    ("which", "way", "value", "message"),
    [
        ("bins", ("version",), 2, "a file of version 2 holds a tree"),
        ("bins", ("kind",), "rules", "format: must be one of ppdm conjunctive rules 1"),
        ("rules", ("kind",), "tree", "model has no"),
        ("rules", ("kind",), "forest", "kind must be one of"),
        ("bins", ("model", "more"), 1, "has an entry that this version does not know"),
        ("bins", ("model", "priors"), [1], "must have 3 entries"),
        ("bins", ("model", "priors", 0), 2**63, "larger than a database can count"),
        ("bins", ("model", "without_class"), -1, "less than 0"),
        ("bins", ("model", "attributes", 0, "column", "ordered"), False, "has no|does not know|ordered"),
        ("bins", ("model", "attributes", 1, "gaussian"), {}, "this version does not know"),
        ("rules", ("model", "rules", 0, "tests"), [], "does not end with the one rule that has no tests"),
        ("rules", ("model", "rules", 0, "tests"), [{"attribute": 0, "missing": True}] * 2, "tests an attribute twice"),
        ("rules", ("model", "classes"), [{"integer": str(n)} for n in range(1001)], "not a value|more than 1000"),
        ("gaussian", ("model", "attributes", 0, "gaussian", "exponent"), 5000, "a grid that no column needs"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(duckdb_engine, files, which, way, value, message):
    with pytest.raises(PolicyError, match=message):
        library.import_model(duckdb_engine, json.dumps(changed(files[which], way, value)), "f")
    assert library.list_models(duckdb_engine) == []


@pytest.mark.duckdb
def test_counts_beyond_what_a_database_can_hold_are_refused(duckdb_engine, files):
    told = changed(files["rules"], ("model", "rules", -1, "counts"), [2**63 - 1, 2**63 - 1, 0])
    with pytest.raises(PolicyError, match="counts more rows than a table has"):
        library.import_model(duckdb_engine, json.dumps(told), "f")


# -- the schema ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def validator():
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    return jsonschema.Draft202012Validator(SCHEMA)


@pytest.mark.duckdb
@each
def test_the_schema_takes_what_is_written_and_what_is_read(duckdb_engine, validator, files, which):
    validator.validate(files[which])
    dice, ways, refused = random.Random(5), list(places(files[which])), 0
    for _ in range(40):
        told = changed(files[which], dice.choice(ways), dice.choice(JUNK))
        try:
            library.import_model(duckdb_engine, json.dumps(told), "f", replace=True)
        except PolicyError:
            refused += not validator.is_valid(told)
            continue
        validator.validate(told)
    assert refused > 20
