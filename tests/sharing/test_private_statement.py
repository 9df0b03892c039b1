"""CREATE MODEL ... WITH SHARING: a site's file from a policy, with roles and the gate of drifted columns."""

from __future__ import annotations

import json

import pytest
from rounds import keys_of

import ppdm_sql
from ppdm_sql.errors import PolicyError, SchemaDrifted
from ppdm_sql.policy.grammar import parse
from ppdm_sql.sharing.private.draft import draft_codebook
from ppdm_sql.sharing.private.keys import write_keys
from ppdm_sql.statements.names import Name

STATEMENT = """CREATE MODEL ills AS SELECT {columns} FROM patients
WITH SHARING (CODEBOOK 'round.json' KEY 'north.key.json' OUT 'shared' TARGET (ill) ATTRIBUTES (age, sex){more})"""


@pytest.fixture
def site(tmp_path):
    """A site with its table, its key and the codebook, and a function that runs a statement there."""
    with ppdm_sql.connect(":memory:", out=tmp_path) as db:
        db.execute(
            "CREATE TABLE patients AS SELECT i AS nr, i % 80 AS age, CASE WHEN i % 2 = 0 THEN 'f' ELSE 'm' END AS sex,"
            " CASE WHEN i % 3 = 0 THEN 'yes' ELSE 'no' END AS ill FROM range(600) AS r(i)"
        )
        write_keys(keys_of("north"), tmp_path)
        with db.engine.workspace():
            db.execute("CREATE VIEW counted AS SELECT age, sex, ill FROM patients")
            book = draft_codebook(
                db.engine, Name("counted"), "ill", "r1", mode="masks", k=5, bins={"age": "20,40"},
                sites=[keys_of(name).public for name in ("north", "south", "west")],
            )  # fmt: skip
        (tmp_path / "round.json").write_text(book.to_text())

        def run(columns="age, sex, ill", more="", **changes):
            if changes:
                content = json.loads((tmp_path / "round.json").read_text()) | changes
                (tmp_path / "round.json").write_text(json.dumps(content))
            text = STATEMENT.format(columns=columns, more=more)
            return db.execute(text, file=str(tmp_path / "policy.sql"))[0]

        yield run


def test_the_statement_writes_the_file_of_the_site(site, tmp_path):
    done = site()
    assert (done.rows, done.site, done.round) == (600, "north", "r1")
    assert [path.name for path in (tmp_path / "shared").iterdir()] == ["north.counts.masked.ppdm"]
    assert done.as_json()["statement"] == "share"
    assert site("nr, age, sex, ill", " IDENTIFIER (nr)").rows == 600  # the same counts: the file once more


def test_a_column_without_a_role_or_of_another_type_stops_the_job(site, tmp_path):
    with pytest.raises(PolicyError, match='"nr" has no role'):
        site("*")
    with pytest.raises(SchemaDrifted, match='"age" was integer when the codebook was agreed on'):
        site("CAST(age AS DOUBLE) AS age, sex, ill")
    with pytest.raises(PolicyError, match='"nr" has no role'):
        site("nr, age, sex, ill")
    extra = {"name": "weight", "kind": "integer", "ordered": True}
    book = json.loads((tmp_path / "round.json").read_text())
    attributes = [*book["attributes"], {"column": extra, "boundaries": [{"decimal": "5"}], "nulls": False}]
    with pytest.raises(PolicyError, match='"weight" is only in the codebook'):
        site(attributes=attributes)
    assert not list((tmp_path / "shared").glob(".ppdm*"))


def test_a_new_round_with_the_same_name_is_refused(site):
    site()
    with pytest.raises(ppdm_sql.errors.PpdmError, match="with another codebook"):
        site(k=6)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("CREATE TABLE t AS SELECT a FROM p WITH SHARING (CODEBOOK 'x')", "WITH SHARING is for CREATE MODEL"),
        ("CREATE OR REPLACE MODEL t AS SELECT a FROM p WITH SHARING (CODEBOOK 'x')", "without OR REPLACE"),
        ("CREATE MODEL t AS SELECT a FROM p WITH SHARING (CODEBOK 'x')", "did you mean CODEBOOK"),
        ("CREATE MODEL t AS SELECT a FROM p WITH SHARING (KEY 'x' KEY 'y')", "KEY is written twice"),
        ("CREATE MODEL t AS SELECT a FROM p WITH SHARING (TARGET (a, b))", "TARGET takes one column"),
        ("CREATE MODEL t AS SELECT a FROM p WITH SHARING (TARGET (a))", "needs ATTRIBUTES"),
        ("CREATE MODEL t AS SELECT a FROM p WITH SHARING", "expected ( after WITH SHARING"),
    ],
)
def test_mistakes_are_named_at_their_place(text, told):
    with pytest.raises(PolicyError) as refused:
        parse(text)
    assert told in str(refused.value)
    assert all(mistake.line == 1 for mistake in refused.value.mistakes)
