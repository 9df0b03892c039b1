"""The templates for dbt and SQLMesh are those that sql/checks gives, and are SQL once they are filled in."""

from __future__ import annotations

import re

import duckdb
import pytest
import sqlglot
from jinja2 import Environment
from sqlglot import exp

from integrations import generate

ROWS = [
    (34, "4711", "flu", 1),
    (34, "4711", "flu", 2),
    (34, "4711", "cold", 2),
    (51, "4790", "flu", 4),
    (62, None, None, 5),
]


def test_the_files_are_those_that_the_checks_give():
    for path, text in generate.files().items():
        assert path.read_text() == text, f"{path.name}: run python -m integrations.generate"
    there = {path for kind in ("dbt/macros", "sqlmesh/audits") for path in (generate.HERE / kind).iterdir()}
    assert {path.name for path in there - set(generate.files())} == {"stand_ins.sql"}


def filled(name, dialect):
    """A macro as dbt fills it in, with the macros of stand_ins.sql written in Python."""
    text = (generate.HERE / "dbt" / "macros" / f"{name}.sql").read_text()
    body = re.search(rf"macro {dialect}__{name}\(.*?%}}\n(.*?){{% endmacro", text, re.S)[1]

    class Macros:
        columns = staticmethod(lambda quasi: ", ".join(f'"{one}"' for one in quasi))
        number = staticmethod(str)
        fraction = staticmethod(lambda value: (int(value * 10), 10))

        @staticmethod
        def source(model, quasi, **others):
            more = [f'"{column}" AS ppdm_{one}' for one, column in others.items()]
            return f"(SELECT {', '.join([Macros.columns(quasi), *more])} FROM {model})"

    given = {"k": 3, "l": 2, "c": 1, "t": 0.5, "beta": 1, "share": 0.5, "null_is_value": 0, "tolerance": "1e-9"}
    given |= {"model": "patients", "quasi": ["age", "zip"], "sensitive": "illness", "entity": "person", "ppdm": Macros}
    return Environment(autoescape=False).from_string(body).render(given)


@pytest.mark.parametrize("name", sorted(generate.CHECKS))
def test_a_macro_is_one_query_in_each_dialect_and_finds_the_breaches_of_its_check(name):
    for adapter, dialect in generate.DIALECTS.items():
        quoted = filled(name, adapter).replace('"', "`") if dialect == "spark" else filled(name, adapter)
        (tree,) = sqlglot.parse(quoted, dialect=dialect)
        assert isinstance(tree, exp.Query)
    con = duckdb.connect()
    con.execute("CREATE TABLE patients (age INT, zip TEXT, illness TEXT, person INT)")
    con.executemany("INSERT INTO patients VALUES (?, ?, ?, ?)", ROWS)
    con.execute(
        "CREATE VIEW source AS SELECT ROW(age, zip) AS quasi, illness AS sensitive, person AS entity FROM patients"
    )
    check = (generate.HERE.parent / "sql" / "checks" / f"{generate.CHECKS[name]}.sql").read_text()
    holes = {"k": 3, "l": 2, "null_is_value": 0, "tolerance": 1e-9}
    for one, value in (("l", 2), ("c", 1), ("t", 0.5), ("beta", 1), ("limit", 0.5)):
        holes |= {f"{one}_numerator": int(value * 10), f"{one}_denominator": 10}
    needed = {hole: holes[hole] for hole in set(re.findall(r"\$(\w+)", re.sub("--.*", "", check)))}
    expected = sorted((*row[0], *row[1:]) for row in con.execute(check, needed).fetchall())
    found = con.execute(filled(name, "duckdb")).fetchall()
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert found, "a check that finds nothing proves nothing"


@pytest.mark.parametrize("name", sorted(generate.CHECKS))
def test_an_audit_is_one_query_with_its_own_parameters(name):
    text = (generate.HERE / "sqlmesh" / "audits" / f"{name}.sql").read_text()
    head, body = re.search(r"AUDIT \((.*?)\);\n(.*);\n$", text, re.S).groups()
    assert f"name {name}" in head
    (tree,) = sqlglot.parse(body, dialect="duckdb")
    assert isinstance(tree, exp.Query)
    assert "@this_model" in body
    assert not re.search(r"\bquasi\b(?<!@quasi)|\$\w", re.sub("@quasi", "", body))
