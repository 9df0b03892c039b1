"""<file>.recode.sql: rows that the release does not have, in its words, with nothing but the file."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from ppdm_sql.catalog.recodings import find_recoding
from ppdm_sql.errors import Tampered
from ppdm_sql.release.export.recode_rules import RecodeRules
from ppdm_sql.release.reverify import reverify_file
from tests.conftest import arrow_type

COLUMNS = {"id": "INTEGER", "age": "INTEGER", "light": "DECIMAL(6, 3)", "seen": "DATE", "sex": "TEXT", "job": "TEXT",
           "dead": "TEXT"}  # fmt: skip
JOBS = ("cook", "nurse", "o'brien; DROP TABLE people", "line\nbreak", "*")
OPEN = '"open ""people"""'
METHODS = ("mondrian", "kactus", "kactus2")


def people(rows: int, seed: int) -> list[tuple]:
    draw = random.Random(seed)
    found = []
    for number in range(rows):
        age = draw.randint(18, 90)
        found.append(
            (number, None if draw.random() < 0.05 else age, Decimal(draw.randint(0, 3000)) / 1000,
             date(2000, 1, 1) + timedelta(days=draw.randint(0, 2000)), draw.choice("FM"),
             "rare" if number % 150 == 7 else draw.choice(JOBS), "yes" if draw.random() < age / 100 else "no")
        )  # fmt: skip
    return found


@pytest.fixture
def tables(make_table):
    def filled(engine) -> None:
        make_table(engine, "people", COLUMNS, people(400, 1))

    return filled


def policy(method: str, quasi: str = "age, light, seen, sex, job") -> str:
    return f"""CREATE OR REPLACE TABLE {OPEN} AS SELECT id, age, light, seen, sex, job, dead FROM people
        WITH ANONYMIZATION (ALGORITHM {method} REQUIRE k = 5 INSENSITIVE (id) QUASI IDENTIFIER ({quasi})
        TARGET (dead) SUPERSEDES ALL ACCEPT RISK (undeclared) SEED 3)"""


def recoded(path: str, rows: list[tuple], columns: dict[str, str] = COLUMNS) -> tuple[list[str], dict[int, tuple]]:
    """By id what the file makes of rows of a recipient's own, in a plain DuckDB."""
    text = Path(f"{path}.recode.sql").read_text(encoding="utf-8")
    (macro,) = re.findall(r'CREATE OR REPLACE MACRO ("(?:[^"]|"")+")', text)
    with duckdb.connect() as connection:
        connection.execute(text)
        types = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
        connection.execute(f'CREATE TABLE "my rows" ({types})')
        kinds = map(arrow_type, columns.values())
        values = [pa.array(one, kind) for one, kind in zip(zip(*rows, strict=True), kinds, strict=True)]
        connection.register("given", pa.Table.from_arrays(values, names=list(columns)))
        connection.execute('INSERT INTO "my rows" FROM given')
        answer = connection.execute(f"FROM {macro}('\"my rows\"')")
        names = [one[0] for one in answer.description]
        return names, {row[names.index("id")]: row for row in answer.fetchall()}


FORMS = {
    "labels": "age, light, seen, sex, job",
    "ranges": "age AS RANGE, light AS MIDPOINT, seen AS RANGE, sex, job",
}
HIERARCHIES = {
    "rules": "age HIERARCHY INTERVALS (5, 10, 20), light, seen HIERARCHY CALENDAR (month, year) AS RANGE, sex, job",
}


@pytest.mark.parametrize(
    ("method", "quasi"),
    [*((method, quasi) for method in METHODS for quasi in FORMS.values()), ("mondrian", HIERARCHIES["rules"])],
)
def test_rows_of_the_table_get_the_labels_that_were_published_or_coarser_ones(duck, method, quasi):
    duck.publish(policy(method, quasi))
    done = duck.export('open "people"', "out.parquet")
    assert reverify_file(done.path).holds
    names, found = recoded(done.path, people(400, 1))
    published = [name for name in names if name not in ("id", "dead")]
    connection = duck.engine._connection
    listed = ", ".join(f'"{name}"' for name in ("id", *published))
    shown = {row[0]: row[1:] for row in connection.execute(f"SELECT {listed} FROM {OPEN}").fetchall()}
    assert len(found) == 400
    same = sum(tuple(found[number][names.index(name)] for name in published) == row for number, row in shown.items())
    assert same > (0.5 if method == "mondrian" else 0.3) * len(shown)
    _true_of_the_rows(names, found, people(400, 1))


def test_rows_get_the_ranges_of_kadet_between_periods_of_a_calendar(duck):
    duck.publish(policy("kadet", HIERARCHIES["rules"]).replace("FROM people", "FROM people WHERE age IS NOT NULL"))
    rows = [row for row in people(400, 1) if row[1] is not None]
    names, found = recoded(duck.export('open "people"', "out.parquet").path, rows)
    _true_of_the_rows(names, found, rows)
    shown = duck.engine._connection.execute(f"SELECT id, seen_from, seen_to, age FROM {OPEN}").fetchall()
    assert any(start is not None or stop is not None for _, start, stop, _ in shown)
    places = [names.index(name) for name in ("id", "seen_from", "seen_to", "age")]
    assert all(tuple(found[row[0]][place] for place in places) == row for row in shown)


def _true_of_the_rows(names, found, rows) -> None:
    """Whatever is said of a row is true of it."""
    for number, age, _, seen, sex, job, dead in rows:
        row = dict(zip(names, found[number], strict=True))
        assert row["dead"] == dead
        if "age_from" in row and row["age_kind"] in ("exact", "range"):
            assert row["age_from"] is None or row["age_from"] <= age
            assert row["age_to"] is None or age < row["age_to"]
        if "age_from" in row and row["age_kind"] == "missing":
            assert age is None
        if "seen_from" in row and row["seen_kind"] in ("exact", "range"):
            assert row["seen_from"] is None or row["seen_from"] <= seen
            assert row["seen_to"] is None or seen < row["seen_to"]
        if "age" in row and row["age"] is not None and row["age"].startswith("["):
            low, high = map(int, row["age"][1:-1].split(", "))
            assert low <= age < high
        if row["sex"] in ("F", "M"):
            assert row["sex"] == sex
        if row["job"] in JOBS[:-1]:
            assert row["job"] == job


@pytest.mark.parametrize("method", METHODS)
def test_rows_that_nobody_published_get_words_of_the_release(duck, method):
    duck.publish(policy(method))
    done = duck.export('open "people"', "out.csv")
    fresh = [*people(300, 2), (900, 17, Decimal("9.999"), date(1950, 1, 1), "X", "astronaut", "no"),
             (901, None, None, None, None, None, "no")]  # fmt: skip
    names, found = recoded(done.path, fresh)
    assert len(found) == 302
    _true_of_the_rows(names, found, fresh[:300])
    connection = duck.engine._connection
    for name in ("age", "light", "seen", "sex", "job"):
        words = {row[0] for row in connection.execute(f'SELECT DISTINCT "{name}" FROM {OPEN}').fetchall()}
        mine = {row[names.index(name)] for row in found.values()}
        known = sum(row[names.index(name)] in words | {"*", "**"} for row in found.values())
        assert known > 0.5 * len(found), (name, mine - words)


@pytest.mark.parametrize(
    ("method", "quasi"), [*((method, FORMS["labels"]) for method in METHODS), ("mondrian", HIERARCHIES["rules"])]
)
def test_what_the_file_names_is_in_labels_or_held_by_k_people(duck, method, quasi):
    """A threshold between two neighbouring values is written as the upper one, which says the same."""
    duck.publish(policy(method, quasi))
    done = duck.export('open "people"', "out.parquet")
    rows = people(400, 1)
    for end in (".recode.sql", ".recode_postgres.sql"):
        text = Path(f"{done.path}{end}").read_text(encoding="utf-8")
        assert "rare" not in text
        held = Counter(str(row[2]) for row in rows)
        told = {value for value in re.findall(r"'(\d+\.\d+)'", text) if held[value] in range(1, 5)}
        found = duck.engine._connection.execute(f"SELECT DISTINCT light FROM {OPEN} WHERE light IS NOT NULL").fetchall()
        labels = {Decimal(one) for (label,) in found for one in re.findall(r"\d+(?:\.\d+)?", label)}
        hidden = {one for one in told if not any(Decimal(one) - Decimal("0.001") < at < Decimal(one) for at in labels)}
        assert hidden == set()


def test_the_files_are_listed_and_hashed_and_vanish_with_a_release_that_has_none(duck):
    duck.publish(policy("mondrian"))
    done = duck.export('open "people"', "out.parquet")
    assert [Path(one).name for one in done.recodes] == ["out.parquet.recode.sql", "out.parquet.recode_postgres.sql"]
    file = Path(done.recodes[0])
    file.chmod(0o600)
    file.write_text(file.read_text(encoding="utf-8") + "-- more\n", encoding="utf-8")
    told = reverify_file(done.path)
    assert not told.holds
    assert any("recode.sql differs" in one for one in told.problems)
    duck.publish(
        policy("tpp (numbers = shifted)", "sex, job")
        .replace("id, age, light, seen, sex", "id, sex")
        .replace("(undeclared)", "(undeclared, boundaries)")
    )
    done = duck.export('open "people"', "out.parquet")
    assert done.recodes == ()
    assert not file.exists()


EDITS = {
    "another document": "UPDATE ppdm.release_recoding SET body = replace(body, '\"age\"', '\"agf\"')",
    "a space more": "UPDATE ppdm.release_recoding SET body = body || ' '",
    "no document": "DELETE FROM ppdm.release_recoding",
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_recoding_is_not_exported(duck, edit, tmp_path):
    duck.publish(policy("mondrian"))
    connection = duck.engine._connection
    assert connection.execute(f"{EDITS[edit]} RETURNING 1").fetchall() == [(1,)]
    with pytest.raises(Tampered, match=r"ppdm\.release_recoding"):
        duck.export('open "people"', "out.parquet")
    assert not list(tmp_path.glob("out.parquet*"))


def test_a_release_of_a_version_that_kept_no_hash_of_it_is_exported(duck):
    """Its roles say nothing about a recoding; the document is there, or there is none."""
    record = duck.publish(policy("mondrian")).record
    older = replace(record, roles=replace(record.roles, recoding_sha256=None))
    assert RecodeRules.from_json(find_recoding(duck.engine, older)).raw
    duck.engine._connection.execute("DROP TABLE ppdm.release_recoding")
    assert find_recoding(duck.engine, older) is None


@pytest.mark.postgres
def test_postgres_tells_the_same(duck, postgres_engine, make_table):
    duck.publish(policy("mondrian", FORMS["ranges"]))
    done = duck.export('open "people"', "out.parquet")
    fresh = people(200, 5)
    names, found = recoded(done.path, fresh)
    make_table(postgres_engine, "mine", COLUMNS, fresh)
    connection = postgres_engine._connection
    with connection.transaction():
        connection.execute("SET LOCAL search_path TO public")
        connection.execute("CREATE VIEW ppdm_rows AS SELECT * FROM mine")
        connection.execute(Path(done.recodes[1]).read_text(encoding="utf-8"))
        published = [name for name in names if name not in ("id", "dead")]
        listed = ", ".join(f'"{name}"' for name in published)
        rows = connection.execute(f"SELECT (ppdm_raw).id, {listed} FROM recode_open__people_").fetchall()
    assert len(rows) == 200
    for number, *values in rows:
        assert values == [found[number][names.index(name)] for name in published]


@pytest.mark.parametrize("method", ["mondrian", "kactus2"])
def test_a_model_of_the_release_works_on_raw_rows_that_the_file_recodes(
    duckdb_engine, make_table, open_session, method
):
    """On the same people as well as on their rows of the release, within a point.

    On other people it is at least as good, to a point, as a tree that learned from the raw rows.  What it is inside the
    release says less about them: the third of the rows that is the test there is a sample, too.
    """
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    make_table(duckdb_engine, "people", COLUMNS, people(3000, 3))
    session = open_session(duckdb_engine)
    session.publish(policy(method))
    done = session.export('open "people"', "out.parquet")
    names = ("age", "light", "seen", "sex", "job")
    listed = ", ".join(("id", "dead", *names))
    shown = {row[0]: row[1:] for row in duckdb_engine._connection.execute(f"SELECT {listed} FROM {OPEN}").fetchall()}

    def split(rows: dict[int, tuple], ids: list[int]) -> tuple[list[list[str]], list[str]]:
        return [[str(value) for value in rows[one][1:]] for one in ids], [rows[one][0] for one in ids]

    def told(rows: list[tuple]) -> dict[int, tuple]:
        columns, found = recoded(done.path, rows)
        return {one: tuple(row[columns.index(name)] for name in ("dead", *names)) for one, row in found.items()}

    learned, tested = ([one for one in sorted(shown) if (one % 3 == 0) is late] for late in (False, True))
    encoder = OneHotEncoder(handle_unknown="ignore")
    rows, classes = split(shown, learned)
    model = DecisionTreeClassifier(min_samples_leaf=20, random_state=1).fit(encoder.fit_transform(rows), classes)

    def accuracy(rows: dict[int, tuple], ids: list[int]) -> float:
        values, classes = split(rows, ids)
        return float(model.score(encoder.transform(values), classes))

    inside = accuracy(shown, tested)
    assert abs(accuracy(told(people(3000, 3)), tested) - inside) <= 0.01
    fresh = people(4000, 4)
    recoded_fresh = told(fresh)
    others = accuracy(recoded_fresh, sorted(recoded_fresh))
    majority = max(Counter(row[-1] for row in fresh).values()) / len(fresh)
    assert others > majority + 0.05

    def numbers(rows: list[tuple]) -> list[list[float]]:
        return [
            [-1 if age is None else age, float(light), seen.toordinal(), sex == "F", (*JOBS, "rare").index(job)]
            for _, age, light, seen, sex, job, _ in rows
        ]

    source = {row[0]: row for row in people(3000, 3)}
    raw = DecisionTreeClassifier(min_samples_leaf=20, random_state=1)
    raw.fit(numbers([source[one] for one in learned]), [source[one][-1] for one in learned])
    assert others >= raw.score(numbers(fresh), [row[-1] for row in fresh]) - 0.01
